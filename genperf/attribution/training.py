"""A transformer's training: tokens per second, days and cost of so many tokens, and the share of the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from genperf.attribution.derived import derived_columns
from genperf.facts import Paid
from genperf.result import FitResult
from genperf.words.numbers import durations_text, three_digits


@dataclass(frozen=True)
class Training:
    """What is asked about a training."""

    #: How many it has.
    tokens: float | None = None
    #: Operations per second of a device at most (`genperf.peaks`).
    peak: float | None = None

    def shows(self, priced: bool) -> dict[str, str]:
        """Return the quantities of its answers, for `derived_columns`; none where nothing is asked.

        Examples
        --------
        >>> Training(tokens=3e11).shows(priced=True)
        {'tokens_per_s': 'tokens_per_s', 'days': 'days', 'training_cost': 'training_cost'}
        """
        names = ["tokens_per_s"] if self.given else []
        if self.tokens is not None:
            names += ["days", "training_cost"] if priced else ["days"]
        if self.peak is not None:
            names.append("mfu")
        return {name: name for name in names}

    @property
    def given(self) -> dict[str, float]:
        """What formulas read of it."""
        return {name: value for name, value in (("tokens", self.tokens), ("peak", self.peak)) if value is not None}

    def sentence(
        self,
        result: FitResult,
        predicted: Mapping[str, Any],
        price: Paid | None = None,
        interval: float = 0.9,
    ) -> tuple[str, dict[str, float]]:
        """Return the answers as a sentence, and as numbers; nothing where nothing is asked.

        Parameters
        ----------
        predicted : mapping of str to ndarray of shape (1,)
            One configuration, as `predict_columns` returns it.
        interval : float
            Nominal coverage.
        """
        shows = self.shows(price is not None)
        if not shows:
            return "", {}
        arrays = {name: np.asarray(values) for name, values in predicted.items()}
        columns = derived_columns(result, arrays, shows, price, interval, self.given)
        numbers = {name: float(values[0]) for name, values in columns.items()}
        text = f"{_amount(numbers['tokens_per_s'])} tokens/s"
        if self.tokens is not None:
            seconds = (86400.0 * numbers[f"days{end}"] for end in ("", "_lower", "_upper"))
            middle, least, most, unit = durations_text(*seconds)
            text = f"{_amount(self.tokens)} tokens take {middle} {unit} ({least} to {most} {unit}) at {text}"
            if price is not None:
                text += f", and cost {_amount(numbers['training_cost'])}"
        if self.peak is not None:
            text += f"; MFU is {100.0 * numbers['mfu']:.0f} %"
        return f"{text}.", numbers


def _amount(value: float) -> str:
    """Return a number as people write it: 1.5T, 300B, 80,500."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if value >= size:
            return f"{three_digits(value / size)}{letter}"
    return three_digits(value)
