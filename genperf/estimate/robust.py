"""Weights under which a few wild configurations do not rule a fit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: A residual counts in full up to so many robust standard deviations, linearly beyond (Huber's k).
HUBER = 1.0
#: Makes the median of |r| of normal residuals their standard deviation.
MAD = 1.4826


def robust_sd(residuals: Array, counted: npt.NDArray[np.bool_] | None = None) -> Array:
    """Return 1.4826 · median |r| along the last axis, over the residuals that count.

    Examples
    --------
    >>> robust_sd(np.array([[-0.1, 0.1, 0.1, 9.0]])).round(3)
    array([0.148])
    """
    size = np.abs(residuals)
    if counted is not None:
        size = np.where(counted, size, np.nan)
    return np.asarray(MAD * np.nanmedian(size, axis=-1))


def huber_weights(times: Array, measured: Array, weights: Array) -> Array:
    """Return weights under which least squares takes a step of Huber's estimate, its scale taken from the residuals.

        w_i · min(1, k·s/|r_i|),  r = T/t − 1,  s = 1.4826·median |r|

    (Huber 1981, "Robust Statistics", with the scale of Hampel.) Repeated, this is the Huber loss whose bend is where
    this table's own residuals become wild, and not at a fixed percentage.

    Parameters
    ----------
    times : ndarray of shape (sets, rows)
        As fitted so far.
    measured : ndarray of shape (rows,)
    weights : ndarray of shape (sets, rows)
        Zero where a row does not count.

    Returns
    -------
    ndarray of shape (sets, rows)

    Examples
    --------
    >>> huber_weights(np.array([[1.1, 0.9, 1.1, 3.0]]), np.ones(4), np.ones((1, 4))).round(2)
    array([[1.  , 1.  , 1.  , 0.07]])
    """
    with np.errstate(all="ignore"):
        off = np.abs(times / measured - 1.0)
    off = np.where(np.isfinite(off), off, np.inf)
    bend = HUBER * robust_sd(off, weights > 0.0)[:, None] + 1e-12
    return np.asarray(weights * np.minimum(1.0, bend / np.maximum(off, bend)))
