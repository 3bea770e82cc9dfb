"""Kriging of ln T itself, beside the residuals of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy.kernels import Exponential

Array = npt.NDArray[np.float64]


#: By what the share of a surface is divided with each doubling outside the measured range. A guess that kept what the
#: surface gains inside, and GPT's larger nodes near what they were without it (`docs/decisions/surface.md`).
FADING = 4.0


class Surface(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A process on ln T about a constant, with a share of the prediction.

        ln T(x) = (1 − v)·(ln f(x) + r(x)) + v·(m + g(c) + ln f(x) − ln f(c)),   v = w·4^−d(x)

    f is an expression, r the process on its residuals, g the process on ln T − m. c is x with every number inside the
    measured range. Beyond it, by d doublings, the surface follows the expression from the edge on, and its share fades.

    Attributes
    ----------
    weight : float
        w.
    level : float
        m.
    kernel : Exponential
        Of g. Its anchors are those of the discrepancy that the surface belongs to.
    logarithms : ndarray of shape (anchors,)
        ln T − m at the anchors.
    scale : float
        Standard deviation of ln T of one configuration's noise.
    ranges : dict of str to (float, float)
        Smallest and largest measured value of each number: of the process, and of others that f has.
    """

    weight: float
    level: float
    kernel: Exponential
    logarithms: Array
    scale: float
    ranges: dict[str, tuple[float, float]]

    def inside(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns with every number inside the measured range.

        Examples
        --------
        >>> surface = Surface(0.5, 0.0, Exponential({}, ()), np.zeros(0), 0.1, {"n": (1.0, 8.0)})
        >>> surface.inside({"n": np.array([0.5, 4.0, 64.0])})
        {'n': array([1., 4., 8.])}
        """
        ranges = {name: ends for name, ends in self.ranges.items() if name in columns}
        return {**columns, **{name: np.clip(np.asarray(columns[name], float), *ends) for name, ends in ranges.items()}}

    def share(self, columns: Mapping[str, Any]) -> Array:
        """Return v, shape (rows,): a quarter of w with each doubling outside the measured range.

        Of a number that may be zero or below, the width of its range counts as a doubling, or 1 where it has none.

        Examples
        --------
        >>> surface = Surface(0.8, 0.0, Exponential({}, ()), np.zeros(0), 0.1, {"n": (1.0, 8.0)})
        >>> surface.share({"n": np.array([4.0, 16.0])})
        array([0.8, 0.2])
        """
        away = np.zeros(len(next(iter(columns.values()))))
        for name, (low, high) in self.ranges.items():
            if name in columns:
                values = np.asarray(columns[name], float)
                edge = np.clip(values, low, high)
                with np.errstate(all="ignore"):
                    away = away + np.abs(np.log2(values / edge) if low > 0.0 else (values - edge) / (high - low or 1.0))
        return np.asarray(self.weight * FADING**-away)

    def fault(self, anchors: Mapping[str, npt.NDArray[Any]]) -> str | None:
        """Say what does not fit the anchors, of a surface that was read from a file; None where all does."""
        if self.logarithms.shape != (len(next(iter(anchors.values()))),):
            return "its logarithms do not match the anchors"
        if not 0.0 <= self.weight <= 1.0 or not self.scale >= 0.0:
            return "its weight or its scale is out of range"
        if any(not low <= high for low, high in self.ranges.values()):
            return "its ranges are empty"
        if any(anchors.get(name) is None or anchors[name].dtype == object for name in self.ranges):
            return "its ranges do not match the anchors"
        return self.kernel.fault(anchors)
