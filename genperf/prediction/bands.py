"""From draws and noise to a central value and its bands."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Equally likely points that stand for a normal distribution.
POINTS = 31
_NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)])


def mixture_quantiles(logarithms: Array, weights: Array, sd: Array, levels: Array) -> Array:
    """Return quantiles of a mixture of log-normal distributions, in closed form up to a grid: no random numbers.

    Parameters
    ----------
    logarithms : ndarray of shape (draws, rows)
        Each draw's ln T.
    weights : ndarray of shape (draws,)
        Each draw's share.
    sd : ndarray of shape (rows,) or (draws, rows)
        Standard deviation of ln T around each draw.
    levels : ndarray of shape (k,)
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (k, rows)
        Seconds, always above zero.

    Examples
    --------
    >>> mixture_quantiles(np.zeros((1, 1)), np.ones(1), np.array([0.1]), np.array([0.05, 0.5, 0.95])).round(3).ravel()
    array([0.848, 1.   , 1.179])
    """
    draws, rows = logarithms.shape
    spread = np.broadcast_to(sd, (draws, rows))
    out = np.empty((len(levels), rows))
    share = np.repeat(weights / weights.sum(), POINTS) / POINTS
    for j in range(rows):
        if not spread[:, j].any():
            points, own = logarithms[:, j], weights / weights.sum()
        else:
            points, own = (logarithms[:, j, None] + spread[:, j, None] * _NORMAL).ravel(), share
        order = np.argsort(points, kind="stable")
        middle = np.cumsum(own[order]) - 0.5 * own[order]
        out[:, j] = np.interp(levels, middle, points[order])
    return np.asarray(np.exp(out))
