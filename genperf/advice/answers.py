"""What advice on the next measurements looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from genperf.attribution.answers import as_html, as_text, records


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Which configurations to measure next, so that the interval at a target narrows.

    Attributes
    ----------
    target : dict
        The configuration that the decision is about.
    time, lower, upper : float
        What is predicted there now, seconds; the confidence interval, of the mean time.
    interval : float
        Nominal coverage.
    chosen : DataFrame
        The batch to measure, in order: the factors, `time` (predicted seconds), `cost` (machine-seconds), `width`
        (half width of the target's interval afterwards, relative), `gain` (what the width falls by, relative),
        `gain_per_cost`.
    candidates : DataFrame
        Every candidate as if it were the next: the same columns, the best first.
    width : float
        Relative half width of the target's interval now.
    within : float or None
        The width that is asked for.
    met : bool
        Whether the target's interval meets `within` already; nothing is then suggested.
    said : str
        A sentence.
    """

    target: dict[str, Any]
    time: float
    lower: float
    upper: float
    interval: float
    chosen: pd.DataFrame
    candidates: pd.DataFrame
    width: float
    within: float | None
    met: bool
    said: str

    def frame(self) -> pd.DataFrame:
        """Return the batch to measure."""
        return self.chosen

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "target": self.target,
            "time": self.time,
            "lower": self.lower,
            "upper": self.upper,
            "interval": self.interval,
            "width": self.width,
            "within": self.within,
            "met": self.met,
            "chosen": records(self.chosen),
            "candidates": records(self.candidates),
            "said": self.said,
        }

    def __str__(self) -> str:
        return as_text("what to measure next", self.chosen, self.said)

    def _repr_html_(self) -> str:
        return as_html("what to measure next", self.chosen, self.said)
