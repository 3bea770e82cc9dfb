"""Replicates: the same fit on configurations drawn again, as many sets of weights polished at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver import Problem, polish

Array = npt.NDArray[np.float64]

#: Steps of the polish, and what may be left to gain: a replicate starts from the best constants and need not come
#: fully to rest.
STEPS, ENOUGH = 25, 1e-5


@dataclass(frozen=True, eq=False)
class Replicates:
    """Bootstrap replicates of a fit.

    Attributes
    ----------
    constants : ndarray of shape (replicates, n)
    misfit : float
        Root mean square of ln(measured/predicted) over the configurations a replicate did not see: what a prediction
        of a new configuration inside the measured range errs by. Within the range it holds noise and form.
    """

    constants: Array
    misfit: float


def resampled(rows: int, draws: int, rng: np.random.Generator) -> Array:
    """Return how often each configuration is drawn in each replicate, shape (draws, rows)."""
    counts = [np.bincount(rng.integers(rows, size=rows), minlength=rows) for _ in range(draws)]
    return np.array(counts, float).reshape(draws, rows)


def bootstrap(problem: Problem, best: Array, draws: int, rng: np.random.Generator) -> Replicates:
    """Draw configurations with replacement, and refit from the best constants.

    Parameters
    ----------
    problem : Problem
        One row per configuration.
    best : ndarray of shape (n,)
    draws : int
    rng : Generator

    Returns
    -------
    Replicates
    """
    counts = resampled(problem.measured.size, draws, rng)
    start = np.broadcast_to(best, (draws, best.size)).copy()
    found = polish(problem, start, drawn_weights(problem, counts), STEPS, ENOUGH).constants
    return Replicates(found, unseen_misfit(problem, found, counts))


def drawn_weights(problem: Problem, counts: Array) -> Array:
    """Return each replicate's weights, shape (draws, rows); the problem's own where nothing that counts was drawn."""
    weights = counts * problem.weights
    weights[weights.sum(axis=1) <= 0.0] = problem.weights
    return np.asarray(weights)


def unseen_misfit(problem: Problem, constants: Array, counts: Array) -> float:
    """Return the root mean square of ln(measured/predicted) where a replicate drew nothing; NaN where each saw all."""
    with np.errstate(all="ignore"):
        off = np.log(problem.measured / problem.times(constants))
    unseen = (counts == 0.0) & np.isfinite(off)
    return float(np.sqrt(np.mean(off[unseen] ** 2))) if unseen.any() else float("nan")
