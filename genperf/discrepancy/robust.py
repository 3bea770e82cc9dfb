"""Residuals without wild values: each is held against what the others say of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.discrepancy.positive_definite import inverse_of

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClipSettings:
    """When a residual is cut.

    Attributes
    ----------
    limit : float
        Robust standard deviations from what the other residuals say, beyond which one is cut. Customary.
    size : float
        Variance of the effects, in units of the noise, that is supposed in the first rounds. A larger one takes every
        wild run for an effect; a guess that held on the DLPerf tables.
    first_rounds, rounds : int
        Rounds with the supposed size, and with the size that was learned. Later rounds changed nothing.
    """

    limit: float = 3.0
    size: float = 10.0
    first_rounds: int = 3
    rounds: int = 3


CLIP = ClipSettings()


def robust_sd(values: Array) -> Array:
    """Return 1.4826 times the median absolute value along the last axis: a normal distribution's standard deviation.

    Examples
    --------
    >>> robust_sd(np.array([-1.0, 0.5, 1.0, 100.0])).round(3)
    np.float64(1.483)
    """
    return np.asarray(1.4826 * np.median(np.abs(values), axis=-1))[()]


def clipped(residuals: Array, inverse: Array, rounds: int, start: Array | None = None) -> Array:
    """Cut residuals that lie far from what the others say of them.

    The mean of one given the others is r − (K⁻¹r)/diag(K⁻¹), and its variance is 1/diag(K⁻¹) in units of the noise.
    The median of all distances tells how far is far.

    Parameters
    ----------
    residuals : ndarray of shape (rows,)
    inverse : ndarray of shape (rows, rows)
        K⁻¹, of their covariance.
    start : ndarray of shape (rows,), optional
        Residuals as cut before.
    """
    current = residuals if start is None else start
    precision = np.sqrt(np.diag(inverse))
    for _ in range(rounds):
        expected = current - (inverse @ current) / precision**2
        away = (residuals - expected) * precision
        limit = CLIP.limit * float(robust_sd(away))
        current = expected + np.clip(away, -limit, limit) / precision
    return np.asarray(current)


def clipped_with(residuals: Array, covariance: Array) -> Array:
    """Cut residuals of a known covariance: first as if the effects were smaller, then as they are.

    Parameters
    ----------
    residuals : ndarray of shape (rows,)
    covariance : ndarray of shape (rows, rows)
        With the noise's variance, 1, on its diagonal.
    """
    noise = np.eye(len(residuals))
    smaller = min(1.0, CLIP.size / float(covariance[0, 0] - 1.0))
    inverse = inverse_of(smaller * (covariance - noise) + noise)[0]
    first = clipped(residuals, inverse, CLIP.first_rounds)
    return clipped(residuals, inverse_of(covariance)[0], CLIP.rounds, first)
