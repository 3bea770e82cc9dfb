"""Searching the constants of least cost without a good start: by variable projection, or by evolving all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from genperf.arrays import Array, Index, Mask
from genperf.errors import FitError, suggest
from genperf.solver.evolve import (
    EVOLUTION,
    box_of,
    down_the_ranking,
    evolve,
    first_populations,
    members_of,
    ranked,
)
from genperf.solver.polish import AGREEMENT, Optima, PolishSettings, polish
from genperf.solver.problem import IMPOSSIBLE_COST, Problem


@dataclass(frozen=True)
class SearchSettings:
    """Searches of the non-linear constants (projected), and of all by differential evolution (direct).

    The numbers of members are guesses that were kept because the limits of `docs/performance.md` are met with them:
    the least cost within 0.1 % of the best known, at least 50 times faster than plain differential evolution.
    """

    #: Population size divided by the number of constants that are searched.
    projected_members: int = 4
    #: Members of the first population that are polished roughly.
    rough_members: int = 12
    #: Their polish: its first damping is larger than usual, since the starts are far from optima.
    rough: PolishSettings = field(default_factory=lambda: PolishSettings(max_steps=12, damping=0.1))
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
    #: Population size divided by the number of constants. Storn & Price (1997) advise 5 to 10.
    direct_members: int = 8
    #: Members of the last population that are polished, spread over its ranking. A guess.
    polished_members: int = 8
    #: Searches of a fit. Their agreement shows whether there are several optima: the least number with a majority.
    restarts: int = 3
    #: Rounds of `restarts` searches at most: another is made while only one search, or none, reached the least cost. A
    #: guess.
    rounds: int = 3


SEARCH = SearchSettings()


def projected_search(problem: Problem, rngs: Sequence[np.random.Generator], given: Array) -> Optima:
    """Search the non-linear constants; each point has its best coefficients (variable projection).

    The best members of a first population are polished. The search ends there if the total is a sum and enough of
    them agree in every search. Otherwise differential evolution continues from them until it has converged, and some
    members of its last population are polished. All searches are one batch: three cost little more than one.
    """
    space = _space(problem)
    searches, n, d = len(rngs), problem.start.size, space.lower.size
    if d == 0:
        solution = problem.project(problem.start[None, :])
        return polish(problem, np.vstack([given, solution])).of_searches(1, len(given), 1)

    def cost(x: Array) -> Array:
        return problem.projected(space.sets(x))[1]

    populations = first_populations(space.lower, space.upper, rngs, SEARCH.projected_members)
    first, costs = problem.projected(space.sets(populations.reshape(-1, d)))
    costs = costs.reshape(searches, -1)
    starts = ranked(first.reshape(searches, -1, n), costs, SEARCH.rough_members).reshape(-1, n)
    rough = polish(problem, np.vstack([given, starts]), settings=SEARCH.rough)
    members = rough.constants[len(given) :].reshape(searches, -1, n)
    members = ranked(members, rough.cost[len(given) :].reshape(searches, -1), SEARCH.rough_members)
    best = members[:, : SEARCH.converged_members].reshape(-1, n)
    polished = polish(problem, np.vstack([rough.constants[: len(given)], best]))
    optima = polished.of_searches(searches, len(given), len(first) + rough.evaluations)
    # A polish can stop at a kink of the total, so agreement proves little there.
    enough = max(SEARCH.converged_members, SEARCH.agreeing_per_search * searches)
    if problem.linear and optima.agreed == searches and optima.best_counts.sum() >= enough:
        return optima

    members[:, : SEARCH.converged_members] = polished.constants[len(given) :].reshape(searches, -1, n)
    populations = ranked(populations, costs, costs.shape[1])
    populations[:, : SEARCH.rough_members] = space.points(members.reshape(-1, n)).reshape(searches, -1, d)
    costs = cost(populations.reshape(-1, d)).reshape(costs.shape)
    populations, costs, evaluations = evolve(
        cost, populations, costs, (space.lower, space.upper), rngs, AGREEMENT.relative_cost
    )
    last = ranked(populations, costs, down_the_ranking(costs.shape[1], SEARCH.last_members)).reshape(-1, d)
    polished = polish(problem, problem.project(space.sets(last)))
    return optima.joined(polished.of_searches(searches, 0, costs.size + evaluations), again=True)


@dataclass(frozen=True)
class _Space:
    """The searched space: constants by their positions, some of them by their logarithms."""

    #: Shape (n,). Values of the constants that are not searched.
    start: Array
    #: Shape (d,).
    positions: Index
    #: Shape (d,).
    logarithmic: Mask
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
    lower, upper = box_of(problem)
    searched = np.flatnonzero(moving & ~problem.coefficient)
    decades = (lower[searched] > 0.0) & (upper[searched] >= SEARCH.logarithmic_ratio * lower[searched])
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
        np.concatenate([low, np.full(started.size, -SEARCH.coefficient_decades)]),
        np.concatenate([high, np.full(started.size, np.log10(EVOLUTION.unbounded_scales))]),
    )


def direct_search(problem: Problem, rngs: Sequence[np.random.Generator], given: Array) -> Optima:
    """Search all constants with `scipy.optimize.differential_evolution` and polish some of the last population."""
    box = box_of(problem)
    populations = first_populations(*box, rngs, SEARCH.direct_members)
    evolved = [_evolved(problem, box, rng, population) for rng, population in zip(rngs, populations, strict=True)]
    polished = polish(problem, np.vstack([given, *(members for members, _ in evolved)]))
    return polished.of_searches(len(rngs), len(given), sum(evaluations for _, evaluations in evolved))


def _evolved(
    problem: Problem, box: tuple[Array, Array], rng: np.random.Generator, population: Array
) -> tuple[Array, int]:
    """Evolve one population until its best cost stops falling; return members of the last and the evaluations."""
    # It takes a quarter of a second to import, and only this solver needs it.
    from scipy.optimize import Bounds, OptimizeResult, differential_evolution

    history: list[OptimizeResult] = []

    def after_generation(intermediate_result: OptimizeResult) -> None:
        history.append(intermediate_result)
        before = history[-1 - EVOLUTION.patience].fun if len(history) > EVOLUTION.patience else np.inf
        if intermediate_result.fun > (1.0 - AGREEMENT.relative_cost) * before:
            raise StopIteration

    def cost(x: Any, /) -> Any:
        return problem.cost(np.asarray(x, float).T)

    result = differential_evolution(
        cost,
        Bounds(*box),
        init=population,
        maxiter=EVOLUTION.max_generations,
        mutation=EVOLUTION.mutation,
        recombination=EVOLUTION.crossover,
        tol=AGREEMENT.relative_cost,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=rng,
        callback=after_generation,
    )
    places = down_the_ranking(len(population), SEARCH.polished_members)
    members = ranked(result.population[None], result.population_energies[None], places)[0]
    return members, len(population) * (len(history) + 1)


#: Called with one generator for each search, and starts of shape (sets, n) that are polished beside the searches.
Solver: TypeAlias = Callable[[Problem, Sequence[np.random.Generator], Array], Optima]


@dataclass(frozen=True)
class Solution:
    """The constants of least cost, and how the searches ended."""

    #: Shape (n,).
    constants: Array
    cost: float
    #: Whether the polish converged.
    converged: bool
    #: Sets of constants whose cost was computed.
    evaluations: int
    #: `restarts`, `agreed`: searches made, and how many of them reached the least cost.
    restarts: int
    agreed: int
    solver: str
    #: Members of the population of each search; 0 where nothing was evolved.
    population: int = 0


def solve(
    problem: Problem,
    solver: str = "projected",
    seed: int = 0,
    restarts: int = SEARCH.restarts,
    starts: Array | None = None,
) -> Solution:
    """Search the constants of least cost.

    Parameters
    ----------
    solver : {"projected", "de"}
        `de` lets `scipy.optimize.differential_evolution` search every constant, as published. `projected` searches only
        the non-linear constants and solves the coefficients inside by non-negative least squares (variable
        projection): the same cost for far less work. Both end with a polish.
    restarts : int
        Independent searches. If at most one of several reached the least cost, as many more are made, twice at most.
    starts : ndarray of shape (sets, n), optional
        Constants that are polished beside the searches and do not influence them.

    Raises
    ------
    FitError
        For an unknown solver, or where no constants give finite values.

    Examples
    --------
    >>> x, measured = np.array([1.0, 2.0, 4.0]), np.array([3.0, 6.0, 12.0])
    >>> from genperf.losses import Penalty, loss_named
    >>> line = Problem(
    ...     predict=lambda c: c * x,
    ...     jacobian=lambda c: (c * x, np.tile(x[None, :, None], (len(c), 1, 1))),
    ...     measured=measured,
    ...     weights=np.ones(3),
    ...     lower=np.zeros(1),
    ...     upper=np.full(1, np.inf),
    ...     scale=np.ones(1),
    ...     penalised=np.array([False]),
    ...     coefficient=np.array([True]),
    ...     linear=True,
    ...     start=np.ones(1),
    ...     loss=loss_named("relative"),
    ...     penalty=Penalty(),
    ... )
    >>> solve(line).constants.round(6)
    array([3.])
    """
    if solver not in SOLVERS:
        raise FitError(f"unknown solver '{solver}'", hint=suggest(solver, list(SOLVERS)) or "projected or de")
    given = problem.start[None, :] if starts is None else np.vstack([starts, problem.start[None, :]])
    if solver == "projected" and problem.linear and not np.any(~problem.coefficient & (problem.lower < problem.upper)):
        restarts = 1  # nothing is searched, so nothing depends on the seed
    seeds = np.random.SeedSequence(seed)

    def search() -> Optima:
        rngs = [np.random.default_rng(child) for child in seeds.spawn(max(1, restarts))]
        return SOLVERS[solver](problem, rngs, given)

    optima = search()
    rounds = SEARCH.rounds if restarts > 1 else 1
    for _ in range(1, rounds):
        if optima.agreed > 1:
            break
        optima = optima.joined(search())
    if not optima.cost.min() < 0.1 * IMPOSSIBLE_COST:
        raise no_values()
    return _solution(optima, solver, members_of(problem.lower.size, SEARCH.direct_members) * (solver == "de"))


def polished_from(problem: Problem, starts: Array, solver: str) -> Solution:
    """Return the best of some starts, (sets, n), once polished; each counts as a search of the solver."""
    return _solution(polish(problem, starts), solver, 0)


def _solution(optima: Optima, solver: str, population: int) -> Solution:
    """Return the best of some optima."""
    best = int(optima.cost.argmin())
    cost, converged = float(optima.cost[best]), bool(optima.converged[best])
    counts = optima.evaluations, optima.searches, optima.agreed
    return Solution(optima.constants[best], cost, converged, *counts, solver, population)


def no_values() -> FitError:
    """Return the error of a fit in which no constants give finite values."""
    return FitError("no constants within the bounds give finite values", hint="check the formula and its bounds")


SOLVERS: dict[str, Solver] = {"projected": projected_search, "de": direct_search}
