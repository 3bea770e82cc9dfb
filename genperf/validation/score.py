"""The scores of a validation: errors and intervals of every model, and every held-out configuration."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from msgspec import Struct

from genperf.attribution.answers import records
from genperf.errors import LISTED, Note
from genperf.metrics import coverage, mape, median_ape, r2, relative_width, rmse
from genperf.panel.target import TIME, Target

_METRICS = ("mape", "median_ape", "rmse", "r2", "coverage", "width")
#: The target of a validation that names none.
TIME_TARGET = Target(TIME)


@dataclass(frozen=True, eq=False)
class ModelScore:
    """How well one model predicted held-out configurations."""

    model: str
    #: A row per held-out configuration, in the order of the folds; none if the model failed. `fold`; `measured`, the
    #: median of the repeats, and `predicted`, `lower`, `upper`, in the target's unit, NaN where the model gives none;
    #: `verdict` (``ok``, ``caution``, ``extrapolating-blind``), None for a learner.
    predictions: pd.DataFrame
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
        points, bands = (self.predictions.dropna(subset=names) for names in (["predicted"], ["lower", "upper"]))
        values: dict[str, float] = {}
        if len(points):
            errors = (mape, median_ape, rmse, r2)
            values |= {metric.__name__: metric(points["predicted"], points["measured"]) for metric in errors}
        if len(bands):
            ends = bands["lower"], bands["upper"], bands["measured"]
            values |= {"coverage": coverage(*ends), "width": relative_width(*ends)}
        for name, value in values.items():
            object.__setattr__(self, name, value if math.isfinite(value) else None)

    @property
    def predicted(self) -> int:
        """How many configurations it predicted."""
        return int(self.predictions["predicted"].count())

    @property
    def metrics(self) -> dict[str, float | None]:
        """The metrics by name."""
        return {name: getattr(self, name) for name in _METRICS}


class Validation(Struct, frozen=True, eq=False):
    """The scores of several models on the same held-out configurations.

    Examples
    --------
    >>> point = pd.DataFrame({"fold": "n > 4", "measured": [2.0], "predicted": 2.2, "lower": 1.9, "upper": 2.4})
    >>> score, held_out = ModelScore("ernest", point, seconds=0.1), pd.DataFrame({"n": [8.0]})
    >>> validation = Validation((score,), held_out, "extrapolate:n:4", target=Target("peak_gb", "memory", "GB"))
    >>> print(validation)
    extrapolate:n:4, memory of 1 held-out configuration; errors in %, intervals of 90 %
       model mape median_ape   rmse r2 coverage width seconds
      ernest 10.0       10.0 0.2 GB  -    100.0  25.0    0.10
    >>> validation.to_dict(timing=False)["models"][0]["mape"].__round__(6)
    10.0
    """

    #: In the requested order.
    models: tuple[ModelScore, ...]
    #: Groups and factors of the held-out configurations, a row for each of the predictions.
    configurations: pd.DataFrame
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
        models = []
        for m in self.models:
            score: dict[str, Any] = {"model": m.model, **m.metrics, **({"seconds": m.seconds} if timing else {})}
            score |= {"predictions": records(self._held_out(m))}
            score |= {"notes": [str(n) for n in m.notes]} if m.notes else {}
            models.append(score | ({} if m.failed is None else {"failed": m.failed}))
        return {"models": models}

    def frame(self, *, timing: bool = True) -> pd.DataFrame:
        """Return a row per model: model, the metrics, seconds, predicted (configurations), failed."""
        rows = [
            {"model": m.model, **m.metrics, "seconds": m.seconds, "predicted": m.predicted, "failed": m.failed or ""}
            for m in self.models
        ]
        return pd.DataFrame(rows).astype(dict.fromkeys(_METRICS, float)).drop(columns=[] if timing else "seconds")

    def predictions(self) -> pd.DataFrame:
        """Return a row per model and held-out configuration; a factor named as another column gets a trailing `_`."""
        frames = {m.model: self._held_out(m).rename(columns={"model": "model_"}) for m in self.models if not m.failed}
        return pd.concat(frames, names=["model"]).reset_index("model").reset_index(drop=True)

    def _held_out(self, score: ModelScore) -> pd.DataFrame:
        """Return the held-out configurations beside a model's predictions of them."""
        results = score.predictions.rename(columns={"predicted": self.target.name})
        values = self.configurations.rename(columns=lambda name: name + "_" * (name in results))
        return values.join(results, how="inner")

    def table(self, *, timing: bool = True) -> str:
        """Return the summary as plain text; without `timing` the same input and seed give the same bytes."""
        lines = self.summary(timing=timing).to_string(index=False).splitlines()
        notes = (f"note: {text}" for text in self._messages())
        return "\n".join([self.headline, *(f"  {line.rstrip()}" for line in lines), *notes])

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
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
            for name, value in m.metrics.items():
                digits = {"rmse": ".3g", "r2": ".3f"}.get(name, ".1f")
                row[name] = "-" if value is None else f"{value:{digits}}{unit if name == 'rmse' else ''}"
            rows.append({**row, **({"seconds": f"{m.seconds:.2f}"} if timing else {})})
        return pd.DataFrame(rows)

    def _messages(self) -> list[str]:
        """Return the failures, then the notes on single models, then those on the choice of models."""
        failures = [f"{m.model} failed: {m.failed}" for m in self.models if m.failed is not None]
        notes = [f"{m.model}: {note}" for m in self.models for note in m.notes]
        return [*failures, *notes, *(str(note) for note in self.notes)]


def reasons_in_words(reasons: Sequence[str], total: int) -> tuple[Note, ...]:
    """Count why configurations were left unpredicted, one note a reason, the most frequent first."""
    counts = Counter(reasons).most_common()
    notes = [f"{n} of {total} configurations left unpredicted: {r}" for r, n in counts[:LISTED]]
    unlisted = sum(n for _, n in counts[LISTED:])
    notes += [f"{unlisted} of {total} configurations left unpredicted for other reasons"] if unlisted else []
    return tuple(Note(text, "unpredicted") for text in notes)


def first_reasons(reasons: Sequence[str]) -> str:
    """Return the first different reasons in a line, and how many more there are."""
    distinct = list(dict.fromkeys(reasons))
    unlisted = len(distinct) - LISTED
    return "; ".join(distinct[:LISTED]) + (f"; and {unlisted} more" if unlisted > 0 else "")
