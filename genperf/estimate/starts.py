"""Starts of a polish, where the search is a polish from many places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver import Problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StartSettings:
    """Random starts about the problem's start.

    With these, most of eight starts of the generic expression reach the best optimum (explored; `docs/decisions.md`).

    Attributes
    ----------
    moved_share : float
        Share of the non-linear constants that a start moves away from their default.
    toward_lower, toward_upper : float
        Largest move, as a share of the distance to the lower and the upper bound: an exponent within −2 … 4 begins
        within −0.5 … 2.
    """

    moved_share: float = 0.6
    toward_lower: float = 0.25
    toward_upper: float = 0.5


STARTS = StartSettings()


def spread_starts(problem: Problem, count: int, rng: np.random.Generator) -> Array:
    """Return starts of a polish; the first is the problem's start.

    The non-linear constants are drawn about their default, the coefficients are the best for them.

    Parameters
    ----------
    problem : Problem
    count : int
    rng : Generator

    Returns
    -------
    ndarray of shape (count, n); of shape (1, n) where there are only coefficients to fit
    """
    searched = ~problem.coefficient & (problem.lower < problem.upper)
    if not searched.any():
        return problem.project(problem.start[None, :].copy())
    default = problem.start[searched]
    with np.errstate(invalid="ignore"):
        low = STARTS.toward_lower * (problem.lower[searched] - default)
        high = STARTS.toward_upper * (problem.upper[searched] - default)
    low, high = np.where(np.isfinite(low), low, -1.0), np.where(np.isfinite(high), high, 1.0)
    shape = (count, default.size)
    steps = rng.uniform(low, high, shape) * (rng.random(shape) < STARTS.moved_share)
    steps[0] = 0.0
    starts = np.broadcast_to(problem.start, (count, problem.start.size)).copy()
    starts[:, searched] = default + steps
    return problem.project(starts)
