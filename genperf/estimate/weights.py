"""Weights of configurations: drawn again for bootstrap replicates, and lowered for outliers (Huber)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver import PolishSettings, Problem, blocks, polish

Array = npt.NDArray[np.float64]


#: The polish of bootstrap replicates, which start near their optimum, from the best constants of the fit. What may be
#: left to gain is far below the spread of the replicates; a thousand take 11 to 13 times one fit, see
#: `docs/performance.md`.
BOOTSTRAP = PolishSettings(max_steps=15, relative_tolerance=1e-4)


def resampled(rows: int, draws: int, rng: np.random.Generator) -> Array:
    """Draw configurations with replacement: how often each is drawn in each replicate, shape (draws, rows)."""
    counts = [np.bincount(rng.integers(rows, size=rows), minlength=rows) for _ in range(draws)]
    return np.array(counts, float).reshape(draws, rows)


def bootstrap(problem: Problem, best: Array, draws: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Draw configurations with replacement, and refit from the best constants, shape (n,).

    Returns the constants, shape (draws, n), and the root mean square of ln(measured/predicted) over the configurations
    that a replicate did not draw: the error of predictions inside the measured range, with noise and lack of fit.
    """
    counts = resampled(problem.measured.size, draws, rng)
    start = np.broadcast_to(best, (draws, best.size)).copy()
    weights = drawn_weights(problem, counts)
    constants = polish(problem, start, weights, BOOTSTRAP).constants
    return constants, held_out_misfit(problem, constants, counts)


def drawn_weights(problem: Problem, counts: Array) -> Array:
    """Return each replicate's weights, shape (draws, rows); the problem's where all drawn rows have weight zero."""
    weights = counts * problem.weights
    weights[weights.sum(axis=1) <= 0.0] = problem.weights
    return np.asarray(weights)


def held_out_misfit(problem: Problem, constants: Array, counts: Array) -> float:
    """Return the root mean square of ln(measured/predicted) over the rows that replicates did not draw.

    Constants have the shape (draws, n), counts (draws, rows); NaN where every replicate drew every row.
    """
    total, count = 0.0, 0
    for block in blocks(len(constants), problem.measured.size):
        with np.errstate(all="ignore"):
            residuals = np.log(problem.measured / problem.predict(constants[block]))
        held_out = (counts[block] == 0.0) & np.isfinite(residuals)
        total += float(np.sum(residuals[held_out] ** 2))
        count += int(held_out.sum())
    return float(np.sqrt(total / count)) if count else float("nan")


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
