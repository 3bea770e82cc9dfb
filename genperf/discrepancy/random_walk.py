"""A random walk along the logarithm of the scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.formula import names_in, parse

Array = npt.NDArray[np.float64]


class RandomWalk(msgspec.Struct, frozen=True, tag="random-walk", forbid_unknown_fields=True):
    """A random walk along each axis, in doublings, independent between the axes.

        cov(w(x), w(y)) = ½·step²·Σ_a (|x_a − o_a| + |y_a − o_a| − |x_a − y_a|),   x_a = log2 of axis a

    The walk starts at the origin o, the smallest measured coordinate of each axis, and goes both ways from there.

    Examples
    --------
    >>> walk = RandomWalk(("workers",), 0.1, (0.0,))
    >>> walk.covariance({"workers": np.array([4.0])}, {"workers": np.array([2.0, 4.0, 8.0])}).round(3)
    array([[0.01, 0.02, 0.02]])
    """

    #: Formulas over the factors. The first is the scale.
    axes: tuple[str, ...]
    #: Standard deviation of ln T per doubling.
    step: float
    #: log2 of each axis where the walk starts.
    origin: tuple[float, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the covariance depends on."""
        return tuple(sorted({name for axis in self.axes for name in names_in(parse(axis).node)}))

    def coordinates(self, columns: Mapping[str, Any]) -> Array:
        """Return log2 of the axes, shape (rows, axes)."""
        return np.stack([np.log2(np.asarray(parse(a).evaluate(columns), float)) for a in self.axes], axis=1)

    def covariance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> Array:
        """Return the covariance between two lists of configurations, shape (rows of a, rows of b)."""
        x = self.coordinates(a) - np.array(self.origin)
        y = x if b is a else self.coordinates(b) - np.array(self.origin)
        x, y = x[:, None, :], y[None, :, :]
        return np.asarray(0.5 * self.step**2 * np.sum(np.abs(x) + np.abs(y) - np.abs(x - y), axis=2))

    def variance(self, columns: Mapping[str, Any]) -> Array:
        """Return the diagonal of the covariance, shape (rows,)."""
        return np.asarray(self.step**2 * np.sum(np.abs(self.coordinates(columns) - np.array(self.origin)), axis=1))

    def fault(self, anchors: Mapping[str, npt.NDArray[Any]]) -> str | None:
        """Say what does not fit the anchors, of a kernel that was read from a file; None where all does.

        Raises
        ------
        FormulaError
            For an axis that is no formula over the anchors.
        """
        for axis in self.axes:
            parse(axis, set(anchors))
        whole = bool(self.axes) and len(self.axes) == len(self.origin) and self.step > 0.0
        return None if whole else "axes, origin and step do not match"

    def numbered(self, places: Mapping[str, int], formula: Callable[[str], int]) -> dict[str, Any]:
        """Return the kernel as plain data, for a page that knows factors and formulas by number.

        Parameters
        ----------
        places : mapping of str to int
            Of the factors.
        formula : callable
            Text → number.
        """
        return {"axes": [formula(axis) for axis in self.axes], "step": self.step, "origin": list(self.origin)}


def walk_from(axes: tuple[str, ...], step: float, anchors: Mapping[str, Any]) -> RandomWalk:
    """Return the walk that starts at the smallest measured configuration.

    Parameters
    ----------
    anchors : mapping of str to ndarray of shape (anchors,)
        The measured configurations.
    """
    there = RandomWalk(axes, step, ()).coordinates(anchors)
    return RandomWalk(axes, step, tuple(there.min(axis=0).tolist()))
