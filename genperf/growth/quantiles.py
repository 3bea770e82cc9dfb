"""Quantiles of a mixture of normal distributions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Array = npt.NDArray[np.float64]


def quantiles(mean: Array, sd: Array, weights: Array, levels: Array, tolerance: float = 1e-5) -> Array:
    """Return quantiles of a mixture of normal distributions by Newton's method between safe ends.

    Parameters
    ----------
    mean, sd, weights : ndarray of shape (components,)
    levels : ndarray of shape (k,)
        Between 0 and 1.
    tolerance : float
        Of the quantile, over the standard deviation of the mixture.

    Examples
    --------
    >>> quantiles(np.array([0.0, 4.0]), np.ones(2), np.array([0.5, 0.5]), np.array([0.05, 0.5])).round(3)
    array([-1.282,  2.   ])
    """
    weights = weights / weights.sum()
    centre = float(weights @ mean)
    spread = float(np.sqrt(weights @ ((mean - centre) ** 2 + sd**2)))
    order = np.argsort(mean)
    held = np.cumsum(weights[order])
    out = np.empty(len(levels))
    for k, level in enumerate(levels):
        low, high = float((mean - 9.0 * sd).min()), float((mean + 9.0 * sd).max())
        at = float(mean[order[min(int(np.searchsorted(held, level)), len(order) - 1)]])
        for _ in range(100):
            z = (at - mean) / sd
            excess = float(weights @ ndtr(z)) - level
            low, high = (low, at) if excess > 0.0 else (at, high)
            density = float(weights @ (np.exp(-0.5 * z * z) / sd)) / np.sqrt(2.0 * np.pi)
            step = excess / density if density > 0.0 else np.inf
            then = at - step if low < at - step < high else 0.5 * (low + high)
            if abs(then - at) < tolerance * spread:
                at = then
                break
            at = then
        out[k] = at
    return out
