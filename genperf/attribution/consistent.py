"""Curves that agree with what was measured: no sentence on scaling contradicts a measurement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.attribution.ladder import Ladder
from genperf.result import FitResult

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredSteps:
    """The configurations of a ladder that were measured."""

    #: Shape (measured,). Their places on the ladder, rising.
    places: npt.NDArray[np.int64]
    #: Shape (measured,). ln of the measured values.
    logarithms: Array

    def first_of_smallest(self, values: Array) -> int:
        """Return the place of the last of the smallest measured values; the first place where nothing was measured."""
        return int(self.places[len(values) - 1 - int(np.argmin(values[::-1]))]) if len(values) else 0

    def replaced(self, curves: Array, values: Array) -> Array:
        """Return curves, of shape (curves, steps), with the measured values in their places."""
        agreeing = np.array(curves)
        agreeing[:, self.places] = values
        return agreeing

    def kept_above(self, curves: Array, values: Array, level: float) -> Array:
        """Return curves that stay above a level between two neighbours whose measured values do.

        Parameters
        ----------
        curves : ndarray of shape (curves, steps)
        values : ndarray of shape (measured,)
        """
        agreeing = self.replaced(curves, values)
        for first, second in zip(range(len(values)), range(1, len(values)), strict=False):
            if min(values[first], values[second]) >= level:
                between = slice(self.places[first], self.places[second] + 1)
                agreeing[:, between] = np.maximum(agreeing[:, between], level)
        return agreeing


def measured_steps(result: FitResult, steps: Ladder) -> MeasuredSteps:
    """Return the steps of a ladder at which every factor was measured together."""
    names = [f.name for f in result.schema.factors]
    by_values = {m.values: float(np.log(m.value)) for m in result.schema.medians}
    columns = [steps.columns[name].tolist() for name in names]
    rows = [(place, by_values.get(values)) for place, values in enumerate(zip(*columns, strict=True))]
    measured = [(place, value) for place, value in rows if value is not None]
    return MeasuredSteps(
        np.array([place for place, _ in measured], dtype=np.int64), np.array([value for _, value in measured], float)
    )
