"""What holds of a series beyond its measured scales, whatever its curve says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.formula import parse

Array = npt.NDArray[np.float64]


class Extrapolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and doubts beyond the anchors of a series.

    A curve grows from the largest anchor at most in proportion to the scale, times the growth of one worker's work: a
    single serial resource is the worst case. Beyond the anchors the slope of ln T per doubling is uncertain.

    Attributes
    ----------
    axes : tuple of str
        Formulas over the factors, along which the series was measured. The first is the scale.
    work : str
        Formula of one worker's work, up to a constant.
    slope : float
        Standard deviation of the slope of ln T per doubling.
    """

    axes: tuple[str, ...]
    work: str
    slope: float

    def doublings(self, anchors: Mapping[str, Any], columns: Mapping[str, Any]) -> Array:
        """Return how many doublings each row lies beyond the anchors, along an axis or in work; shape (rows,)."""
        here, there = (self._coordinates(c) for c in (anchors, columns))
        outside = np.maximum(there - here.max(axis=0), here.min(axis=0) - there)
        return np.asarray(np.maximum(outside, 0.0).max(axis=1))

    def largest(self, anchors: Mapping[str, Any]) -> int:
        """Return which anchor is the largest in scale, and then in work."""
        here = self._coordinates(anchors)
        return int(np.lexsort((here[:, -1], here[:, 0]))[-1])

    def most_growth(self, anchors: Mapping[str, Any], columns: Mapping[str, Any]) -> Array:
        """Return the largest ln(T/T of the largest anchor) that a curve may reach, shape (rows,)."""
        here, there = self._coordinates(anchors)[self.largest(anchors)], self._coordinates(columns)
        grown, work = (there[:, 0] - here[0]) * np.log(2.0), (there[:, -1] - here[-1]) * np.log(2.0)
        return np.where(grown > 0.0, grown + np.maximum(work, 0.0), np.inf)

    def _coordinates(self, columns: Mapping[str, Any]) -> Array:
        """Return log2 of the axes and, last, of one worker's work; shape (rows, axes + 1)."""
        rows = len(next(iter(columns.values())))
        values = [np.asarray(parse(text).evaluate(columns), float) for text in (*self.axes, self.work)]
        return np.asarray(np.log2(np.stack([np.broadcast_to(v, (rows,)) for v in values], axis=1)))
