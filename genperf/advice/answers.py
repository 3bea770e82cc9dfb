"""The answer of `suggest`: which configurations to measure next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from genperf.attribution.answers import Shown, described, records
from genperf.table import Target


@dataclass(frozen=True, eq=False)
class Suggestions(Shown):
    """Which configurations to measure next, so that the interval at a target narrows."""

    #: The configuration that the decision is about.
    target: dict[str, Any]
    #: `value`, `lower`, `upper`: the prediction there now, in the quantity's unit; the confidence interval, of the
    #: mean.
    value: float
    lower: float
    upper: float
    #: Nominal coverage.
    interval: float
    #: The batch to measure, in order: the factors, the predicted value in a column with the quantity's name (`time`),
    #: `cost` (machine-seconds), `width` (half width of the target's interval afterwards, relative), `gain` (the share
    #: of the width that goes), `gain_per_cost`.
    chosen: pd.DataFrame
    #: Every candidate as if it were the next: the same columns, the best first.
    candidates: pd.DataFrame
    #: Relative half width of the target's interval now.
    width: float
    #: The width that is enough.
    within: float | None
    #: Whether the target's interval meets `within` already; nothing is then suggested.
    met: bool
    #: The answer in words.
    sentence: str
    #: What is predicted.
    quantity: Target

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "quantity": described(self.quantity),
            "target": self.target,
            self.quantity.name: self.value,
            "lower": self.lower,
            "upper": self.upper,
            "interval": self.interval,
            "width": self.width,
            "within": self.within,
            "met": self.met,
            "chosen": records(self.chosen),
            "candidates": records(self.candidates),
            "sentence": self.sentence,
        }

    @property
    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """The batch to measure."""
        return [("what to measure next", self.chosen)]

    @property
    def remarks(self) -> list[str]:
        """The answer in words."""
        return [self.sentence]
