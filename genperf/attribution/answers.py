"""What attribution answers with: frozen, printable, and plain values for JSON. Definitions: docs/attribution.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows as plain values; what is not there is None."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(k): v for k, v in row.items()} for row in plain.to_dict("records")]


def as_html(title: str, frame: pd.DataFrame, *notes: str) -> str:
    """Return a titled table as HTML; names in it are text, never markup."""
    from html import escape

    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<p><strong>{escape(title)}</strong></p>{frame.to_html(index=False, border=0, na_rep='–')}{said}"


def as_text(title: str, frame: pd.DataFrame, *notes: str) -> str:
    """Return a titled table as text."""
    return "\n".join([title, frame.to_string(index=False, na_rep="–") if len(frame) else "–", *notes])


@dataclass(frozen=True, eq=False)
class Scaling:
    """How well more workers are used, and where that ends.

    Attributes
    ----------
    along : str
        The factor that counts the workers.
    kind : {"weak", "strong", "mixed"}
        Whether one worker's work stays as it is, falls as 1/n, or neither.
    at : dict
        The values of the other factors.
    reference, best, upto : float
        The count that efficiency is relative to, the count of the largest efficiency, and how far was looked.
    interval : float
        Nominal coverage of the intervals.
    curve : DataFrame
        A row per count: the factor, `time, lower, upper` (seconds), `speedup` (in the rate of work, relative to the
        reference), `efficiency, efficiency_lower, efficiency_upper`.
    points : DataFrame
        A row per question: `what` (`efficiency`, `efficiency of the best`, `slower`, `throughput`), `level`, `count`
        (NaN: not reached), `lower`, `upper` (infinite: beyond `upto`), `reached` (the share of the draws that reach
        it), `said` (a sentence).
    crossovers : DataFrame
        A row per change of the largest term along the factor: `member, weight, before, after, count, lower, upper,
        reached, said`.
    """

    along: str
    kind: str
    at: dict[str, Any]
    reference: float
    best: float
    upto: float
    interval: float
    curve: pd.DataFrame
    points: pd.DataFrame
    crossovers: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """Return the curve."""
        return self.curve

    def sentences(self) -> list[str]:
        """Return the answers in words."""
        return [*self.points["said"], *self.crossovers["said"]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "along": self.along,
            "kind": self.kind,
            "at": self.at,
            "reference": self.reference,
            "best": self.best,
            "upto": self.upto,
            "interval": self.interval,
            "curve": records(self.curve),
            "points": records(self.points),
            "crossovers": records(self.crossovers),
        }

    def _title(self) -> str:
        held = ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.at.items())
        return f"{self.kind} scaling along {self.along}" + (f" at {held}" if held else "")

    def __str__(self) -> str:
        return as_text(self._title(), self.curve, *self.sentences())

    def _repr_html_(self) -> str:
        return as_html(self._title(), self.curve, *self.sentences())


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How much of the time's variance over a domain each factor makes (Sobol indices).

    Attributes
    ----------
    of : {"time", "log"}
        Variance of T, or of ln T.
    indices : DataFrame
        A row per factor: `factor, first, first_lower, first_upper, total, total_lower, total_upper, over`.
    samples : int
    notes : tuple of str
    """

    of: str
    indices: pd.DataFrame
    samples: int
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return the indices."""
        return self.indices

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "of": self.of,
            "samples": self.samples,
            "indices": records(self.indices),
            "notes": list(self.notes),
        }

    def _title(self) -> str:
        return f"shares of the variance of {'T' if self.of == 'time' else 'ln T'} (Sobol indices)"

    def __str__(self) -> str:
        return as_text(self._title(), self.indices, *self.notes)

    def _repr_html_(self) -> str:
        return as_html(self._title(), self.indices, *self.notes)


@dataclass(frozen=True, eq=False)
class Importance:
    """How much worse a learner predicts when a factor's values are shuffled.

    Attributes
    ----------
    scores : DataFrame
        A row per model and factor: `model, factor, importance, deviation, error`; in per cent.
    folds, repeats : int
    """

    scores: pd.DataFrame
    folds: int
    repeats: int

    def frame(self) -> pd.DataFrame:
        """Return the scores."""
        return self.scores

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {"folds": self.folds, "repeats": self.repeats, "scores": records(self.scores)}

    def __str__(self) -> str:
        return as_text("permutation importance, in % of error", self.scores)

    def _repr_html_(self) -> str:
        return as_html("permutation importance, in % of error", self.scores)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Why configuration B takes longer than A, or less long.

    Attributes
    ----------
    a, b : dict
        The two configurations (with the group, where two models are compared).
    name_a, name_b : str
        What messages call them: what differs.
    terms : DataFrame
        A row per term, the largest change first: `term, a, b, change, lower, upper, share`; seconds, and the share of
        the whole change.
    time_a, time_b, change : float
        Seconds; `change` is `time_b − time_a`, the sum of the terms' changes.
    lower, upper : float
        Interval of the change.
    said : str
        A sentence.
    """

    a: dict[str, Any]
    b: dict[str, Any]
    name_a: str
    name_b: str
    terms: pd.DataFrame
    time_a: float
    time_b: float
    change: float
    lower: float
    upper: float
    said: str

    def frame(self) -> pd.DataFrame:
        """Return the terms."""
        return self.terms

    def waterfall(self) -> pd.DataFrame:
        """Return the bars of a waterfall: `bar, start, end` in seconds, from A over the terms to B."""
        bars = [(self.name_a, 0.0, self.time_a)]
        level = self.time_a
        for term, change in zip(self.terms["term"], self.terms["change"], strict=True):
            bars.append((term, level, level + change))
            level += change
        return pd.DataFrame([*bars, (self.name_b, 0.0, self.time_b)], columns=["bar", "start", "end"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "a": {"name": self.name_a, "at": self.a, "time": self.time_a},
            "b": {"name": self.name_b, "at": self.b, "time": self.time_b},
            "change": self.change,
            "lower": self.lower,
            "upper": self.upper,
            "terms": records(self.terms),
            "said": self.said,
        }

    def __str__(self) -> str:
        return as_text(f"{self.name_b} against {self.name_a}", self.terms, self.said)

    def _repr_html_(self) -> str:
        return as_html(f"{self.name_b} against {self.name_a}", self.terms, self.said)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a predicted time is made of.

    Attributes
    ----------
    model : str
    terms : DataFrame
        A row per configuration and term: the factors, `term, seconds, lower, upper, share`, all members by weight.
    elasticities : DataFrame
        A row per configuration and numeric factor: the factors, `factor, elasticity, lower, upper, method`.
    aliased : tuple of tuple of str
        Pairs of terms that the data cannot tell apart.
    members : DataFrame
        The terms of each member by itself: `member, weight` and the columns of `terms`. Empty for a single member.
    scaling : Scaling, optional
    sensitivity : Sensitivity, optional
    comparison : Comparison, optional
    importance : Importance, optional
    notes : tuple of str
    """

    model: str
    terms: pd.DataFrame
    elasticities: pd.DataFrame
    aliased: tuple[tuple[str, str], ...] = ()
    members: pd.DataFrame = field(default_factory=pd.DataFrame)
    scaling: Scaling | None = None
    sensitivity: Sensitivity | None = None
    comparison: Comparison | None = None
    importance: Importance | None = None
    notes: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return the terms."""
        return self.terms

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        further = {
            "scaling": self.scaling,
            "sensitivity": self.sensitivity,
            "comparison": self.comparison,
            "importance": self.importance,
        }
        return {
            "model": self.model,
            "terms": records(self.terms),
            "elasticities": records(self.elasticities),
            "aliased": [list(pair) for pair in self.aliased],
            "members": records(self.members),
            **{name: part.to_dict() for name, part in further.items() if part is not None},
            "notes": list(self.notes),
        }

    def _said(self) -> list[str]:
        pairs = [f"'{a}' and '{b}' cannot be told apart by this data; their sum can" for a, b in self.aliased]
        return [*pairs, *self.notes]

    def _further(self) -> list[Scaling | Sensitivity | Comparison | Importance]:
        parts = (self.scaling, self.sensitivity, self.comparison, self.importance)
        return [part for part in parts if part is not None]

    def __str__(self) -> str:
        lines = [f"model {self.model}", self.terms.to_string(index=False), self.elasticities.to_string(index=False)]
        return "\n".join([*lines, *self._said(), *(str(part) for part in self._further())])

    def _repr_html_(self) -> str:
        return "".join(
            [
                as_html(f"{self.model}: what the time is made of", self.terms),
                as_html("elasticities", self.elasticities, *self._said()),
                *(part._repr_html_() for part in self._further()),
            ]
        )
