"""A search of the non-linear constants alone: the coefficients are solved for inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver.evolve import evolve
from genperf.solver.optima import AGREEMENT, Optima, Watch, optima_of
from genperf.solver.polish import polish
from genperf.solver.population import POPULATION, box, down_the_ranking, first_populations, ranked
from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ProjectedSettings:
    """The search of the non-linear constants.

    The numbers of members are guesses that were kept because the limits of `docs/performance.md` are met with them:
    the least cost within 0.1 % of the best known, at least 50 times faster than plain differential evolution.
    """

    #: Population size divided by the number of constants that are searched.
    members_per_constant: int = 4
    #: Members of the first population that are polished roughly.
    rough_members: int = 12
    #: Steps of the rough polish.
    rough_steps: int = 12
    #: First damping of the rough polish: larger than `PolishSettings.damping`, since the starts are far from optima.
    rough_damping: float = 0.1
    #: Best members of every search that are polished until they converge.
    converged_members: int = 3
    #: Sets per search that must have the least cost of all for the evolution to be left out. One search alone needs all
    #: `converged_members`.
    agreeing_per_search: int = 2
    #: Members of the last population that are polished.
    last_members: int = 8
    #: A constant is searched on a logarithmic scale where its bounds are positive and their ratio is at least this.
    logarithmic_ratio: float = 100.0
    #: Decades below its scale from which a coefficient begins, where the total is not a sum.
    coefficient_decades: float = 3.0


PROJECTED = ProjectedSettings()


def projected_search(problem: Problem, rngs: Sequence[np.random.Generator], given: Array, watch: Watch) -> Optima:
    """Search the non-linear constants; each point stands for its best coefficients (variable projection).

    The best members of a first population are polished. The search ends there if the total is a sum and enough of
    them agree in every search. Otherwise differential evolution continues from them until it has converged, and some
    members of its last population are polished. All searches are one batch: three cost little more than one.

    Parameters
    ----------
    rngs : sequence of Generator
        One for each search.
    given : ndarray of shape (sets, n)
        Starts that are polished beside the searches.
    watch : callable
        Called with the least cost whenever costs were computed.
    """
    space = _space(problem)
    searches, n, d = len(rngs), problem.start.size, space.lower.size
    if d == 0:
        solution = problem.project(problem.start[None, :])
        return optima_of(polish(problem, np.vstack([given, solution]), watch=watch), len(given), 1, 1)

    def cost(x: Array) -> Array:
        costs = problem.projected(space.sets(x))[1]
        watch(float(costs.min()))
        return costs

    populations = first_populations(space.lower, space.upper, rngs, PROJECTED.members_per_constant)
    first, costs = problem.projected(space.sets(populations.reshape(-1, d)))
    watch(float(costs.min()))
    costs = costs.reshape(searches, -1)
    starts = ranked(first.reshape(searches, -1, n), costs, PROJECTED.rough_members).reshape(-1, n)
    rough = polish(
        problem,
        np.vstack([given, starts]),
        steps=PROJECTED.rough_steps,
        damping=PROJECTED.rough_damping,
        watch=watch,
    )
    members = rough.constants[len(given) :].reshape(searches, -1, n)
    members = ranked(members, rough.cost[len(given) :].reshape(searches, -1), PROJECTED.rough_members)
    best = members[:, : PROJECTED.converged_members].reshape(-1, n)
    polished = polish(problem, np.vstack([rough.constants[: len(given)], best]), watch=watch)
    optima = optima_of(polished, len(given), searches, len(first) + rough.evaluations)
    # A polish can stop at a kink of the total, so agreement proves little there.
    enough = max(PROJECTED.converged_members, PROJECTED.agreeing_per_search * searches)
    if problem.linear and optima.agreed == searches and optima.best_counts.sum() >= enough:
        return optima

    members[:, : PROJECTED.converged_members] = polished.constants[len(given) :].reshape(searches, -1, n)
    populations = ranked(populations, costs, costs.shape[1])
    populations[:, : PROJECTED.rough_members] = space.points(members.reshape(-1, n)).reshape(searches, -1, d)
    costs = cost(populations.reshape(-1, d)).reshape(costs.shape)
    populations, costs, evaluations = evolve(
        cost, populations, costs, (space.lower, space.upper), rngs, AGREEMENT.relative_cost
    )
    last = ranked(populations, costs, down_the_ranking(costs.shape[1], PROJECTED.last_members)).reshape(-1, d)
    polished = polish(problem, problem.project(space.sets(last)), watch=watch)
    return optima.continued(optima_of(polished, 0, searches, costs.size + evaluations))


@dataclass(frozen=True)
class _Space:
    """The searched space: constants by their positions, some of them by their logarithms."""

    #: Shape (n,). Values of the constants that are not searched.
    start: Array
    #: Shape (d,).
    positions: npt.NDArray[np.intp]
    #: Shape (d,).
    logarithmic: npt.NDArray[np.bool_]
    #: Shape (d,). A constant is divided by it before the logarithm is taken.
    unit: Array
    #: Shape (d,).
    lower: Array
    upper: Array

    def sets(self, points: Array) -> Array:
        """Return the constants of points before the coefficients are solved for, (points, d) → (points, n)."""
        sets = np.repeat(self.start[None, :], len(points), axis=0)
        sets[:, self.positions] = points
        at = self.positions[self.logarithmic]
        sets[:, at] = self.unit[self.logarithmic] * 10.0 ** points[:, self.logarithmic]
        return sets

    def points(self, sets: Array) -> Array:
        """Return the points of sets of constants, (sets, n) → (sets, d)."""
        points = sets[:, self.positions]
        sizes = np.abs(points[:, self.logarithmic]) / self.unit[self.logarithmic]
        points[:, self.logarithmic] = np.log10(np.maximum(sizes, 1e-300))
        return np.asarray(np.clip(points, self.lower, self.upper))


def _space(problem: Problem) -> _Space:
    """Choose the constants that are searched, and which of them on a logarithmic scale."""
    moving = problem.lower < problem.upper
    lower, upper = box(problem)
    searched = np.flatnonzero(moving & ~problem.coefficient)
    decades = (lower[searched] > 0.0) & (upper[searched] >= PROJECTED.logarithmic_ratio * lower[searched])
    low, high = lower[searched].copy(), upper[searched].copy()
    low[decades], high[decades] = np.log10(low[decades]), np.log10(high[decades])
    # Where the total is not a sum, the projection depends on where the coefficients begin: a term that a larger one
    # hides has no derivative.
    started = np.flatnonzero(moving & problem.coefficient & (not problem.linear))
    return _Space(
        problem.start,
        np.concatenate([searched, started]),
        np.concatenate([decades, np.ones(started.size, bool)]),
        np.concatenate([np.ones(searched.size), problem.scale[started]]),
        np.concatenate([low, np.full(started.size, -PROJECTED.coefficient_decades)]),
        np.concatenate([high, np.full(started.size, np.log10(POPULATION.unbounded_scales))]),
    )
