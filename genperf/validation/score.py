"""The scores of a validation: errors and intervals of every model, and every held-out configuration."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from genperf.errors import Note
from genperf.metrics import coverage, mape, median_ape, r2, relative_width, rmse
from genperf.table import Target
from genperf.table.target import TIME

_METRICS = ("mape", "median_ape", "rmse", "r2", "coverage", "width")


@dataclass(frozen=True)
class NoteSettings:
    """How many reasons for missing predictions are printed."""

    #: Different reasons in the message of a model that predicted nothing. A guess: a line of text.
    max_failures: int = 3
    #: Notes on single reasons of a model that predicted some configurations; the others are counted together. A guess:
    #: a few lines.
    max_reasons: int = 5


NOTES = NoteSettings()
#: The target of a validation that names none.
TIME_TARGET = Target(TIME)


@dataclass(frozen=True)
class HeldOut:
    """One held-out configuration and a model's prediction of it."""

    #: Groups first, then factors.
    values: Mapping[str, float | str]
    #: The name of the split.
    fold: str
    #: Median of the repeats, in the target's unit.
    measured: float
    #: `predicted`, `lower`, `upper`: prediction and bounds, in the target's unit; None where the model gives none.
    predicted: float | None = None
    lower: float | None = None
    upper: float | None = None
    #: The verdict on the prediction (``ok``, ``caution``, ``extrapolating-blind``); None for a learner.
    verdict: str | None = None

    def to_dict(self, target: str = TIME) -> dict[str, Any]:
        """Return it flat, the prediction under the target's name.

        A column with the name of one of these keys gets a trailing `_`.

        Examples
        --------
        >>> HeldOut({"n": 8.0, "fold": "a"}, "1", measured=2.0, predicted=2.1).to_dict()
        {'n': 8.0, 'fold_': 'a', 'fold': '1', 'measured': 2.0, 'time': 2.1, 'lower': None, 'upper': None,
         'verdict': None}
        """
        results = {
            "fold": self.fold,
            "measured": self.measured,
            target: self.predicted,
            "lower": self.lower,
            "upper": self.upper,
            "verdict": self.verdict,
        }
        return {**{name + "_" * (name in results): value for name, value in self.values.items()}, **results}


@dataclass(frozen=True)
class ModelScore:
    """How well one model predicted held-out configurations.

    Examples
    --------
    >>> points = HeldOut({"n": 8.0}, "1", 2.0, 2.2, 1.9, 2.4), HeldOut({"n": 16.0}, "1", 1.0, 1.3)
    >>> score = ModelScore("ernest", points)
    >>> round(score.mape, 6), score.coverage, round(score.width, 6)
    (20.0, 100.0, 25.0)
    """

    model: str
    #: One per held-out configuration, in the order of the folds; empty if the model failed.
    predictions: tuple[HeldOut, ...]
    #: Wall time of all its fits and predictions.
    seconds: float = 0.0
    #: Which configurations it left unpredicted, and why.
    notes: tuple[Note, ...] = ()
    #: Why it predicted nothing at all.
    failed: str | None = None
    #: `mape`, `median_ape`, `rmse`, `r2`, `coverage`, `width`: over the configurations it predicted: mean and median
    #: absolute error (%), root mean squared error (in the target's unit), coefficient of determination, share of
    #: measured values inside their intervals (%), median width of the intervals relative to the measured value (%).
    #: None where there is nothing to compute it from.
    mape: float | None = field(init=False, default=None)
    median_ape: float | None = field(init=False, default=None)
    rmse: float | None = field(init=False, default=None)
    r2: float | None = field(init=False, default=None)
    coverage: float | None = field(init=False, default=None)
    width: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        points = [(p.predicted, p.measured) for p in self.predictions if p.predicted is not None]
        if points:
            predicted, measured = (list(v) for v in zip(*points, strict=True))
            for name, metric in (("mape", mape), ("median_ape", median_ape), ("rmse", rmse), ("r2", r2)):
                object.__setattr__(self, name, finite(metric(predicted, measured)))
        bands = [
            (p.lower, p.upper, p.measured) for p in self.predictions if p.lower is not None and p.upper is not None
        ]
        if bands:
            lower, upper, measured = (list(v) for v in zip(*bands, strict=True))
            object.__setattr__(self, "coverage", finite(coverage(lower, upper, measured)))
            object.__setattr__(self, "width", finite(relative_width(lower, upper, measured)))

    @property
    def predicted(self) -> int:
        """How many configurations it predicted."""
        return sum(p.predicted is not None for p in self.predictions)

    def to_dict(self, *, timing: bool = True, target: str = TIME) -> dict[str, Any]:
        """Return model, metrics, seconds and predictions; `notes` and `failed` only where there are any."""
        score: dict[str, Any] = {"model": self.model, **{name: getattr(self, name) for name in _METRICS}}
        if timing:
            score["seconds"] = finite(self.seconds)
        score["predictions"] = [p.to_dict(target) for p in self.predictions]
        if self.notes:
            score["notes"] = [str(n) for n in self.notes]
        if self.failed is not None:
            score["failed"] = self.failed
        return score


@dataclass(frozen=True)
class Validation:
    """The scores of several models on the same held-out configurations.

    Examples
    --------
    >>> score = ModelScore("ernest", (HeldOut({"n": 8.0}, "n > 4", 2.0, 2.2, 1.9, 2.4),), seconds=0.1)
    >>> validation = Validation((score,), "extrapolate:n:4", target=Target("peak_gb", "memory", "GB"))
    >>> print(validation)
    extrapolate:n:4, memory of 1 held-out configuration; errors in %, intervals of 90 %
       model mape median_ape   rmse r2 coverage width seconds
      ernest 10.0       10.0 0.2 GB  -    100.0  25.0    0.10
    >>> validation.to_dict(timing=False)["models"][0]["mape"].__round__(6)
    10.0
    """

    #: In the requested order.
    models: tuple[ModelScore, ...]
    scheme: str
    #: Nominal coverage of the intervals.
    interval: float = 0.9
    seed: int = 0
    #: Where the table comes from.
    source: str = ""
    #: On the choice of models.
    notes: tuple[Note, ...] = ()
    #: The measured quantity.
    target: Target = TIME_TARGET

    def __getitem__(self, model: str) -> ModelScore:
        """Return the score of a model by name."""
        for score in self.models:
            if score.model == model:
                return score
        raise KeyError(model)

    def to_dict(self, *, timing: bool = True) -> dict[str, Any]:
        """Return what strict JSON can hold; without `timing` the same input and seed give the same bytes."""
        return {"models": [m.to_dict(timing=timing, target=self.target.name) for m in self.models]}

    def frame(self, *, timing: bool = True) -> pd.DataFrame:
        """Return a row per model: model, the metrics, seconds, predicted (configurations), failed."""
        rows = [
            {
                "model": m.model,
                **{name: _or_nan(getattr(m, name)) for name in _METRICS},
                **({"seconds": m.seconds} if timing else {}),
                "predicted": m.predicted,
                "failed": m.failed or "",
            }
            for m in self.models
        ]
        return pd.DataFrame(rows)

    def predictions(self) -> pd.DataFrame:
        """Return a row per model and held-out configuration, with the model in the first column."""
        return pd.DataFrame(
            [{"model": m.model, **p.to_dict(self.target.name)} for m in self.models for p in m.predictions]
        )

    def table(self, *, timing: bool = True) -> str:
        """Return the summary as plain text; without `timing` the same input and seed give the same bytes."""
        lines = self.summary(timing=timing).to_string(index=False).splitlines()
        notes = (f"note: {text}" for text in self._messages())
        return "\n".join([self.headline, *(f"  {line.rstrip()}" for line in lines), *notes])

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<li>{escape(n)}</li>" for n in self._messages())
        table = self.summary().to_html(index=False, border=0)
        return f"<p>{escape(self.headline)}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")

    @property
    def headline(self) -> str:
        """The scheme, the target and the number of held-out configurations, in a line."""
        held_out = max((len(m.predictions) for m in self.models), default=0)
        return (
            f"{self.scheme}, {self.target.name} of {held_out} held-out configuration{'s' * (held_out != 1)}; "
            f"errors in %, intervals of {100 * self.interval:g} %"
        )

    def summary(self, *, timing: bool = True) -> pd.DataFrame:
        """Return a row per model with rounded numbers as text, the root mean squared error with the target's unit."""
        unit = f" {self.target.unit}".rstrip()
        rows = []
        # Errors over different configurations do not compare: the number of each model's is a column then.
        partial = any(m.predicted < len(m.predictions) for m in self.models)
        for m in self.models:
            row = {"model": m.model, **({"predicted": str(m.predicted)} if partial else {})}
            for name in _METRICS:
                value = getattr(m, name)
                digits = {"rmse": ".3g", "r2": ".3f"}.get(name, ".1f")
                row[name] = "-" if value is None else f"{value:{digits}}{unit if name == 'rmse' else ''}"
            rows.append({**row, **({"seconds": f"{m.seconds:.2f}"} if timing else {})})
        return pd.DataFrame(rows)

    def _messages(self) -> list[str]:
        """Return the failures, then the notes on single models, then those on the choice of models."""
        failures = [f"{m.model} failed: {m.failed}" for m in self.models if m.failed is not None]
        notes = [f"{m.model}: {note}" for m in self.models for note in m.notes]
        return [*failures, *notes, *(str(note) for note in self.notes)]


def finite(value: float | None) -> float | None:
    """Return a number that strict JSON can hold, or None.

    Examples
    --------
    >>> finite(1.5), finite(float("nan")), finite(None)
    (1.5, None, None)
    """
    return float(value) if value is not None and math.isfinite(value) else None


def reasons_in_words(reasons: Sequence[str], total: int) -> tuple[Note, ...]:
    """Count why configurations were left unpredicted, one note a reason, the most frequent first.

    Examples
    --------
    >>> print(*reasons_in_words(["no level 'a'", "no level 'a'"], 8))
    2 of 8 configurations left unpredicted: no level 'a'
    """
    counts = Counter(reasons).most_common()
    notes = [f"{n} of {total} configurations left unpredicted: {r}" for r, n in counts[: NOTES.max_reasons]]
    others = sum(n for _, n in counts[NOTES.max_reasons :])
    notes += [f"{others} of {total} configurations left unpredicted for other reasons"] if others else []
    return tuple(Note(text, "unpredicted") for text in notes)


def first_reasons(reasons: Sequence[str]) -> str:
    """Return the first different reasons in a line, and how many more there are.

    Examples
    --------
    >>> first_reasons(["a", "b", "a", "c", "d"])
    'a; b; c; and 1 more'
    """
    distinct = list(dict.fromkeys(reasons))
    others = len(distinct) - NOTES.max_failures
    return "; ".join(distinct[: NOTES.max_failures]) + (f"; and {others} more" if others > 0 else "")


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
