"""Where a polish may begin, when the search is a polish from many places."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from genperf.solver import Problem

Array = npt.NDArray[np.float64]

#: Share of the non-linear constants that a start moves away from where they begin.
MOVED = 0.6
#: How far towards its lower and its upper bound such a constant is moved at most: an exponent within −2 … 4 begins
#: within −0.5 … 2.
DOWN, UP = 0.25, 0.5


def spread_starts(problem: Problem, count: int, rng: np.random.Generator) -> Array:
    """Return places from which to polish, the first being the problem's own start.

    The non-linear constants are drawn about where they begin, the coefficients are the best for them. With a little
    L2 penalty on the exponents the generic expression has few optima: of eight such starts most reach the best one
    (`docs/decisions.md`).

    Parameters
    ----------
    problem : Problem
    count : int
    rng : Generator

    Returns
    -------
    ndarray of shape (count, n); of shape (1, n) where only coefficients are to be found
    """
    searched = ~problem.coefficient & (problem.lower < problem.upper)
    if not searched.any():
        return problem.project(problem.start[None, :].copy())
    begin = problem.start[searched]
    with np.errstate(invalid="ignore"):
        low = DOWN * (problem.lower[searched] - begin)
        high = UP * (problem.upper[searched] - begin)
    low, high = np.where(np.isfinite(low), low, -1.0), np.where(np.isfinite(high), high, 1.0)
    shape = (count, begin.size)
    steps = rng.uniform(low, high, shape) * (rng.random(shape) < MOVED)
    steps[0] = 0.0
    starts = np.broadcast_to(problem.start, (count, problem.start.size)).copy()
    starts[:, searched] = begin + steps
    return problem.project(starts)
