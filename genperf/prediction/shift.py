"""The level effects of a count: how a table's times lie off the expression at each measured scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shift:
    """A factor on the time that depends on one count alone.

        T(n)·exp(u(n)),   u(n) = Σ_k w_k·exp(−|log2 n − log2 n_k| / length)

    over the measured levels n_k: the mean of a Gaussian process with an exponential covariance (kriging), so that u
    dies away between and beyond the levels, and beyond the largest nothing but the expression speaks.

    Attributes
    ----------
    factor : str
        The column of the count.
    levels : ndarray of shape (levels,)
        Measured values, above zero.
    weights : ndarray of shape (levels,)
    length : float
        Doublings in which an effect falls to 1/e.

    Examples
    --------
    >>> shift = Shift("workers", np.array([1.0, 8.0]), np.array([0.1, 0.0]), 0.5)
    >>> shift.logarithm({"workers": np.array([1.0, 2.0, 64.0])}).round(4)
    array([0.1   , 0.0135, 0.    ])
    """

    factor: str
    levels: Array
    weights: Array
    length: float

    def logarithm(self, columns: Mapping[str, Any]) -> Array:
        """Return u at the asked values, shape (rows,); zero where a value is not above zero."""
        values = np.asarray(columns[self.factor], dtype=float)
        return kernel(values, self.levels, self.length) @ self.weights


def kernel(values: Array, levels: Array, length: float) -> Array:
    """Return exp(−|log2 value − log2 level| / length), shape (values, levels)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log2(values)[:, None] - np.log2(levels)[None, :])
    return np.asarray(np.exp(-np.where(np.isnan(apart), np.inf, apart) / length))
