"""Robust weights: a few outlying configurations do not rule a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Standard deviation of normal residuals over the median of their |r|.
MAD_TO_SD = 1.4826


@dataclass(frozen=True)
class RobustSettings:
    """Huber's estimate."""

    #: Huber's k, in robust standard deviations: beyond it a residual counts linearly. Lower than the usual 1.345, since
    #: the tails of timings are long. A guess.
    bend: float = 1.0


ROBUST = RobustSettings()


def robust_sd(residuals: Array, counted: npt.NDArray[np.bool_] | None = None) -> Array:
    """Return the robust standard deviation 1.4826 · median |r| along the last axis, over the counted residuals.

    Examples
    --------
    >>> robust_sd(np.array([[-0.1, 0.1, 0.1, 9.0]])).round(3)
    array([0.148])
    """
    size = np.abs(residuals)
    if counted is not None:
        size = np.where(counted, size, np.nan)
    return np.asarray(MAD_TO_SD * np.nanmedian(size, axis=-1))


def huber_weights(predicted: Array, measured: Array, weights: Array) -> Array:
    """Return weights with which least squares takes a step of Huber's estimate.

        w_i · min(1, k·s/|r_i|),  r = T/t − 1,  s = 1.4826·median |r|

    (Huber 1981, "Robust Statistics", with the scale of Hampel.) Repeated, this is a Huber loss that bends at k
    standard deviations of this table's residuals, not at a fixed percentage.

    Parameters
    ----------
    predicted : ndarray of shape (sets, rows)
        Of the fit so far.
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
        residuals = np.abs(predicted / measured - 1.0)
    residuals = np.where(np.isfinite(residuals), residuals, np.inf)
    bend = ROBUST.bend * robust_sd(residuals, weights > 0.0)[:, None] + 1e-12
    return np.asarray(weights * np.minimum(1.0, bend / np.maximum(residuals, bend)))
