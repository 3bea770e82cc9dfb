"""What validation found: per model the errors, the intervals and every held-out configuration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from genperf.errors import Note
from genperf.metrics import coverage, mape, median_ape, r2, relative_width, rmse

_RESULTS = ("fold", "measured", "time", "lower", "upper", "verdict")
_REASONS = 5
_METRICS = ("mape", "median_ape", "rmse", "r2", "coverage", "width")


@dataclass(frozen=True)
class HeldOut:
    """One held-out configuration and what a model said about it.

    Attributes
    ----------
    values : dict of str to float or str
        Groups first, then factors.
    fold : str
        The name of the split.
    measured : float
        Median of the repeats, in seconds.
    time, lower, upper : float or None
        Predicted time and bounds, in seconds; None where the model gives none.
    verdict : str or None
        What the model says of its own prediction; None where it says nothing.
    """

    values: Mapping[str, float | str]
    fold: str
    measured: float
    time: float | None = None
    lower: float | None = None
    upper: float | None = None
    verdict: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it flat; a column that is named like one of the results gets a trailing `_`.

        Examples
        --------
        >>> HeldOut({"n": 8.0, "fold": "a"}, "1", measured=2.0, time=2.1).to_dict()
        {'n': 8.0, 'fold_': 'a', 'fold': '1', 'measured': 2.0, 'time': 2.1, 'lower': None, 'upper': None,
         'verdict': None}
        """
        given = {name + "_" * (name in _RESULTS): value for name, value in self.values.items()}
        return {**given, **{name: getattr(self, name) for name in _RESULTS}}


@dataclass(frozen=True)
class ModelScore:
    """How well one model predicted what it had not seen.

    Attributes
    ----------
    model : str
    predictions : tuple of HeldOut
        One per held-out configuration, in the order of the folds; empty if the model failed.
    seconds : float
        Wall time of all its fits and predictions.
    notes : tuple of Note
        Which configurations it left unpredicted, and why.
    failed : str or None
        Why it predicted nothing at all.
    mape, median_ape, rmse, r2, coverage, width : float or None
        Over the configurations it predicted: mean and median absolute error (%), root mean squared error (s),
        coefficient of determination, share of measured times inside their intervals (%), median width of the
        intervals relative to the measured time (%). None where there is nothing to compute it from.

    Examples
    --------
    >>> points = HeldOut({"n": 8.0}, "1", 2.0, 2.2, 1.9, 2.4), HeldOut({"n": 16.0}, "1", 1.0, 1.3)
    >>> score = ModelScore("ernest", points)
    >>> round(score.mape, 6), score.coverage, round(score.width, 6)
    (20.0, 100.0, 25.0)
    """

    model: str
    predictions: tuple[HeldOut, ...]
    seconds: float = 0.0
    notes: tuple[Note, ...] = ()
    failed: str | None = None
    mape: float | None = field(init=False, default=None)
    median_ape: float | None = field(init=False, default=None)
    rmse: float | None = field(init=False, default=None)
    r2: float | None = field(init=False, default=None)
    coverage: float | None = field(init=False, default=None)
    width: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        points = [(p.time, p.measured) for p in self.predictions if p.time is not None]
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
        return sum(p.time is not None for p in self.predictions)

    def to_dict(self, *, timing: bool = True) -> dict[str, Any]:
        """Return model, metrics, seconds and predictions; `notes` and `failed` only where there are any."""
        found: dict[str, Any] = {"model": self.model, **{name: getattr(self, name) for name in _METRICS}}
        if timing:
            found["seconds"] = finite(self.seconds)
        found["predictions"] = [p.to_dict() for p in self.predictions]
        if self.notes:
            found["notes"] = [str(n) for n in self.notes]
        if self.failed is not None:
            found["failed"] = self.failed
        return found


@dataclass(frozen=True)
class Validation:
    """The scores of several models on the same held-out configurations.

    Attributes
    ----------
    models : tuple of ModelScore
        In the order asked for.
    scheme : str
    interval : float
        Nominal coverage of the intervals.
    seed : int
    source : str
        Where the table comes from.
    notes : tuple of Note
        What concerns all models.

    Examples
    --------
    >>> score = ModelScore("ernest", (HeldOut({"n": 8.0}, "n > 4", 2.0, 2.2, 1.9, 2.4),), seconds=0.1)
    >>> found = Validation((score,), "extrapolate:n:4")
    >>> print(found)
    extrapolate:n:4, 1 held-out configuration; errors in %, intervals of 90 %
       model mape median_ape  rmse r2 coverage width seconds
      ernest 10.0       10.0 0.2 s  -    100.0  25.0    0.10
    >>> found.to_dict(timing=False)["models"][0]["mape"].__round__(6)
    10.0
    """

    models: tuple[ModelScore, ...]
    scheme: str
    interval: float = 0.9
    seed: int = 0
    source: str = ""
    notes: tuple[Note, ...] = ()

    def __getitem__(self, model: str) -> ModelScore:
        """Return the score of a model by name."""
        for score in self.models:
            if score.model == model:
                return score
        raise KeyError(model)

    def to_dict(self, *, timing: bool = True) -> dict[str, Any]:
        """Return what strict JSON can hold; without `timing` the same input and seed give the same bytes."""
        return {"models": [m.to_dict(timing=timing) for m in self.models]}

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
        return pd.DataFrame([{"model": m.model, **p.to_dict()} for m in self.models for p in m.predictions])

    def table(self, *, timing: bool = True) -> str:
        """Return the summary as plain text; without `timing` the same input and seed give the same bytes."""
        lines = self._shown(timing).to_string(index=False).splitlines()
        return "\n".join(
            [self._headline(), *(f"  {line.rstrip()}" for line in lines), *(f"note: {n}" for n in self._said())]
        )

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<li>{escape(n)}</li>" for n in self._said())
        table = self._shown().to_html(index=False, border=0)
        return f"<p>{escape(self._headline())}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")

    def _headline(self) -> str:
        held_out = max((len(m.predictions) for m in self.models), default=0)
        return (
            f"{self.scheme}, {held_out} held-out configuration{'s' * (held_out != 1)}; "
            f"errors in %, intervals of {100 * self.interval:g} %"
        )

    def _shown(self, timing: bool = True) -> pd.DataFrame:
        """Return the summary with numbers as one would write them."""
        rows = []
        # Errors over different configurations do not compare: say over how many each is.
        partial = any(m.predicted < len(m.predictions) for m in self.models)
        for m in self.models:
            row = {"model": m.model, **({"predicted": str(m.predicted)} if partial else {})}
            for name in _METRICS:
                value = getattr(m, name)
                text = {"rmse": "{:.3g} s", "r2": "{:.3f}"}.get(name, "{:.1f}")
                row[name] = "-" if value is None else text.format(value)
            rows.append({**row, **({"seconds": f"{m.seconds:.2f}"} if timing else {})})
        return pd.DataFrame(rows)

    def _said(self) -> list[str]:
        own = [f"{m.model}: {n}" for m in self.models for n in m.notes]
        failed = [f"{m.model} failed: {m.failed}" for m in self.models if m.failed is not None]
        return [*failed, *own, *(str(n) for n in self.notes)]


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
    notes = [f"{n} of {total} configurations left unpredicted: {r}" for r, n in counts[:_REASONS]]
    rest = sum(n for _, n in counts[_REASONS:])
    notes += [f"{rest} of {total} configurations left unpredicted for other reasons"] if rest else []
    return tuple(Note(text, "unpredicted") for text in notes)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
