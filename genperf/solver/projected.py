"""A search of the non-linear constants alone: the coefficients are solved for inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver.evolve import evolve
from genperf.solver.found import AGREE, Found, Watch, found
from genperf.solver.polish import polish
from genperf.solver.population import REACH, box, down_the_ranking, first_populations, ranked
from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]

#: Members of a population, for each constant that is searched.
SIZE = 4
#: Members of the first population that are polished roughly, by how many steps, and how those are damped at first.
ROUGH, ROUGH_STEPS, ROUGH_DAMPING = 12, 12, 0.1
#: The best of these are polished until they rest.
SETTLED = 3
#: So many for each search, and one in each at least, must have the least cost of all for nothing to be left to search;
#: of a single search all must.
AGREEING = 2
#: Members of the last population that are polished.
POLISHED = 8
#: A constant whose bounds are positive and this far apart, as a factor, is searched on a logarithmic scale.
DECADES = 100.0
#: So is where a coefficient begins, from its reach down to ten to this negative power of its scale.
LOG_REACH = 3.0


def projected_search(problem: Problem, rngs: Sequence[np.random.Generator], given: Array, watch: Watch) -> Found:
    """Search the non-linear constants, each point standing for its best coefficients (variable projection).

    The best of a first population are polished. Where the total is a sum and they agree, most of them and in every
    search, nothing is left to search. Otherwise differential evolution goes on from them until it rests, and some of
    its last population are polished. All searches are one batch: three cost little more than one.

    Parameters
    ----------
    problem : Problem
    rngs : sequence of Generator
        One for each search.
    given : ndarray of shape (sets, n)
        Polished beside.
    watch : callable
        Is told of costs as they are found.
    """
    space = _space(problem)
    searches, n, d = len(rngs), problem.start.size, space.lower.size
    if d == 0:
        only = problem.project(problem.start[None, :])
        return found(polish(problem, np.vstack([given, only]), watch=watch), len(given), 1, 1)

    def cost(x: Array) -> Array:
        costs = problem.projected(space.sets(x))[1]
        watch(float(costs.min()))
        return costs

    populations = first_populations(space.lower, space.upper, rngs, SIZE)
    first, costs = problem.projected(space.sets(populations.reshape(-1, d)))
    watch(float(costs.min()))
    costs = costs.reshape(searches, -1)
    starts = ranked(first.reshape(searches, -1, n), costs, ROUGH).reshape(-1, n)
    rough = polish(problem, np.vstack([given, starts]), steps=ROUGH_STEPS, damping=ROUGH_DAMPING, watch=watch)
    roughly = rough.constants[len(given) :].reshape(searches, -1, n)
    roughly = ranked(roughly, rough.cost[len(given) :].reshape(searches, -1), ROUGH)
    best = roughly[:, :SETTLED].reshape(-1, n)
    run = polish(problem, np.vstack([rough.constants[: len(given)], best]), watch=watch)
    settled = found(run, len(given), searches, len(first) + rough.evaluations)
    # A total with a kink may hold a polish fast, so that there agreement shows little.
    enough = max(SETTLED, AGREEING * searches)
    if problem.linear and settled.agreed == searches and settled.reached.sum() >= enough:
        return settled

    roughly[:, :SETTLED] = run.constants[len(given) :].reshape(searches, -1, n)
    populations = ranked(populations, costs, costs.shape[1])
    populations[:, :ROUGH] = space.points(roughly.reshape(-1, n)).reshape(searches, -1, d)
    costs = cost(populations.reshape(-1, d)).reshape(costs.shape)
    populations, costs, evaluations = evolve(cost, populations, costs, (space.lower, space.upper), rngs, AGREE)
    last = ranked(populations, costs, down_the_ranking(costs.shape[1], POLISHED)).reshape(-1, d)
    run = polish(problem, problem.project(space.sets(last)), watch=watch)
    return settled.gone_on(found(run, 0, searches, costs.size + evaluations))


@dataclass(frozen=True)
class _Space:
    """What is searched: constants by their positions, some of them by their logarithms.

    Attributes
    ----------
    start : ndarray of shape (n,)
        Of the constants that are not searched.
    positions : ndarray of int of shape (d,)
    logarithmic : ndarray of bool of shape (d,)
    unit : ndarray of shape (d,)
        What the logarithm is taken of is in this unit.
    lower, upper : ndarray of shape (d,)
    """

    start: Array
    positions: npt.NDArray[np.intp]
    logarithmic: npt.NDArray[np.bool_]
    unit: Array
    lower: Array
    upper: Array

    def sets(self, points: Array) -> Array:
        """Return sets of constants whose coefficients are yet to be solved for, (points, d) → (points, n)."""
        sets = np.repeat(self.start[None, :], len(points), axis=0)
        sets[:, self.positions] = points
        at = self.positions[self.logarithmic]
        sets[:, at] = self.unit[self.logarithmic] * 10.0 ** points[:, self.logarithmic]
        return sets

    def points(self, sets: Array) -> Array:
        """Return where sets of constants are in this space, (sets, n) → (sets, d)."""
        points = sets[:, self.positions]
        sizes = np.abs(points[:, self.logarithmic]) / self.unit[self.logarithmic]
        points[:, self.logarithmic] = np.log10(np.maximum(sizes, 1e-300))
        return np.asarray(np.clip(points, self.lower, self.upper))


def _space(problem: Problem) -> _Space:
    moving = problem.lower < problem.upper
    lower, upper = box(problem)
    searched = np.flatnonzero(moving & ~problem.coefficient)
    decades = (lower[searched] > 0.0) & (upper[searched] >= DECADES * lower[searched])
    low, high = lower[searched].copy(), upper[searched].copy()
    low[decades], high[decades] = np.log10(low[decades]), np.log10(high[decades])
    # Where the total is not a sum, what the passes of the projection reach depends on where the coefficients begin
    # (a term hidden by a larger one has no derivative).
    begun = np.flatnonzero(moving & problem.coefficient & (not problem.linear))
    return _Space(
        problem.start,
        np.concatenate([searched, begun]),
        np.concatenate([decades, np.ones(begun.size, bool)]),
        np.concatenate([np.ones(searched.size), problem.scale[begun]]),
        np.concatenate([low, np.full(begun.size, -LOG_REACH)]),
        np.concatenate([high, np.full(begun.size, np.log10(REACH))]),
    )
