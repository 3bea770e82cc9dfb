"""Searching the constants of least cost without a good start: by variable projection, or by evolving all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from genperf.arrays import Array, Index, Mask
from genperf.errors import FitError, suggest
from genperf.solver.polish import POLISH, Optima, PolishSettings, polish
from genperf.solver.problem import IMPOSSIBLE_COST, Problem

Box: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class SearchSettings:
    """Searches of the non-linear constants (projected), and of all (direct), by differential evolution.

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
    #: Members of the last population that are polished, spread over its ranking. A guess.
    last_members: int = 8
    #: A constant is searched on a logarithmic scale where its bounds are positive and their ratio is at least this.
    logarithmic_ratio: float = 100.0
    #: Decades below its scale from which a coefficient begins, where the total is not a sum.
    coefficient_decades: float = 3.0
    #: Population size divided by the number of constants. Storn & Price (1997) advise 5 to 10.
    direct_members: int = 8
    #: Least number of members, so that problems of one or two constants are covered too. A guess.
    min_members: int = 24
    #: Range of the factor of the step between two members; drawn anew for every generation (dither). scipy's default is
    #: 0.5 to 1; a little lower converges sooner. A guess.
    mutation: tuple[float, float] = (0.4, 0.9)
    #: Chance of each coordinate to come from the mutant. Large values speed convergence (Storn & Price 1997). A guess.
    crossover: float = 0.8
    #: Generations without a lower best cost after which a population has converged. A guess.
    patience: int = 12
    #: Bounds the time; populations converge long before. A guess.
    max_generations: int = 400
    #: Width of the search, in scales of the constant, on a side where the constant has no bound. A coefficient of one
    #: scale explains the whole mean value, so ten leave room for terms that cancel. A guess.
    unbounded_scales: float = 10.0
    #: Searches of a fit. Their agreement shows whether there are several optima: the least number with a majority.
    restarts: int = 3
    #: Rounds of `restarts` searches at most: another is made while only one search, or none, reached the least cost. A
    #: guess.
    rounds: int = 3


SEARCH = SearchSettings()


def projected_search(problem: Problem, rngs: Sequence[np.random.Generator]) -> Optima:
    """Search the non-linear constants; each point has its best coefficients (variable projection).

    The best members of a first population are polished. The search ends there if the total is a sum and enough of
    them agree in every search. Otherwise differential evolution continues from them until it has converged, and some
    members of its last population are polished.
    """
    space = _space(problem)
    start, searches, n, d = problem.start[None, :], len(rngs), problem.start.size, space.lower.size
    if d == 0:
        return polish(problem, np.vstack([start, problem.projected(start)[0]])).of_searches(1, 1, 1)

    def cost(x: Array) -> Array:
        return problem.projected(space.sets(x))[1]

    populations = _first_populations(space.lower, space.upper, rngs, SEARCH.projected_members)
    first, costs = problem.projected(space.sets(populations.reshape(-1, d)))
    costs = costs.reshape(searches, -1)
    starts = _ranked(first.reshape(searches, -1, n), costs)[:, : SEARCH.rough_members].reshape(-1, n)
    rough = polish(problem, np.vstack([start, starts]), settings=SEARCH.rough)
    members = _ranked(rough.constants[1:].reshape(searches, -1, n), rough.cost[1:].reshape(searches, -1))
    best = members[:, : SEARCH.converged_members].reshape(-1, n)
    polished = polish(problem, np.vstack([rough.constants[:1], best]))
    optima = polished.of_searches(searches, 1, len(first) + rough.evaluations)
    # A polish can stop at a kink of the total, so agreement proves little there.
    enough = max(SEARCH.converged_members, SEARCH.agreeing_per_search * searches)
    if problem.linear and optima.agreed == searches and optima.best_counts.sum() >= enough:
        return optima

    members[:, : SEARCH.converged_members] = polished.constants[1:].reshape(searches, -1, n)
    populations = _ranked(populations, costs)
    populations[:, : SEARCH.rough_members] = space.points(members.reshape(-1, n)).reshape(searches, -1, d)
    last, evaluations = _evolved(cost, (space.lower, space.upper), populations, rngs)
    polished = polish(problem, problem.projected(space.sets(last))[0])
    return optima.joined(polished.of_searches(searches, 0, evaluations), again=True)


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
    lower, upper = _box_of(problem)
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
        np.concatenate([high, np.full(started.size, np.log10(SEARCH.unbounded_scales))]),
    )


def direct_search(problem: Problem, rngs: Sequence[np.random.Generator]) -> Optima:
    """Search all constants."""
    box = _box_of(problem)
    last, evaluations = _evolved(problem.cost, box, _first_populations(*box, rngs, SEARCH.direct_members), rngs)
    return polish(problem, np.vstack([problem.start[None, :], last])).of_searches(len(rngs), 1, evaluations)


def _box_of(problem: Problem) -> Box:
    """Return finite lower and upper bounds of the constants: a search needs a box to begin in."""
    width = SEARCH.unbounded_scales * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 0.0) - width)
    upper = np.where(np.isfinite(problem.upper), problem.upper, np.maximum(problem.lower, 0.0) + width)
    return lower, upper


def _members_of(dimensions: int, per_dimension: int) -> int:
    """Return the size of a population."""
    return max(SEARCH.min_members, per_dimension * dimensions)


def _first_populations(lower: Array, upper: Array, rngs: Sequence[np.random.Generator], per_dimension: int) -> Array:
    """Draw a Latin hypercube over a box for each generator: shape (populations, members, d)."""
    d = lower.size
    size = _members_of(d, per_dimension)
    cells = np.stack([np.argsort(rng.random((d, size)), axis=1).T + rng.random((size, d)) for rng in rngs])
    return np.asarray(lower + cells / size * (upper - lower))


def _ranked(members: Array, costs: Array) -> Array:
    """Return the members of every population, (populations, size, d), by their costs, (populations, size)."""
    return np.take_along_axis(members, np.argsort(costs, axis=1, kind="stable")[:, :, None], axis=1)


def _evolved(
    cost: Callable[[Array], Array], box: Box, populations: Array, rngs: Sequence[np.random.Generator]
) -> tuple[Array, int]:
    """Evolve populations, each until its best cost stops falling: best/1/bin with dither (Storn & Price 1997).

    Returns members of the last ones, evenly spread from the best to the worst so that several basins are polished, one
    population after the other, and the number of evaluations.
    """
    # It takes a quarter of a second to import, and few fits need it.
    from scipy.optimize import Bounds, OptimizeResult, differential_evolution

    def objective(points: Any, /) -> Any:
        return cost(np.asarray(points, float).T)

    size, last, evaluations = populations.shape[1], [], 0
    places = np.unique(np.linspace(0, size - 1, SEARCH.last_members).astype(np.intp))
    history: list[float] = []

    def after_generation(intermediate_result: OptimizeResult) -> None:
        history.append(intermediate_result.fun)
        before = history[-1 - SEARCH.patience] if len(history) > SEARCH.patience else np.inf
        if history[-1] > (1.0 - POLISH.same_cost) * before:
            raise StopIteration

    for population, rng in zip(populations, rngs, strict=True):
        history.clear()
        result = differential_evolution(
            objective,
            Bounds(*box),
            init=population,
            maxiter=SEARCH.max_generations,
            mutation=SEARCH.mutation,
            recombination=SEARCH.crossover,
            tol=POLISH.same_cost,
            polish=False,
            vectorized=True,
            updating="deferred",
            rng=rng,
            callback=after_generation,
        )
        last.append(_ranked(result.population[None], result.population_energies[None])[0][places])
        evaluations += size * (len(history) + 1)
    return np.vstack(last), evaluations


#: Called with one generator for each search; the problem's start is polished beside the searches.
Solver: TypeAlias = Callable[[Problem, Sequence[np.random.Generator]], Optima]


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
    #: Members of the population of each search of `de`; 0 where nothing was evolved.
    population: int = 0


def solve(problem: Problem, solver: str = "projected", seed: int = 0, restarts: int = SEARCH.restarts) -> Solution:
    """Search the constants of least cost.

    Parameters
    ----------
    solver : {"projected", "de"}
        `de` lets `scipy.optimize.differential_evolution` search every constant, as published. `projected` searches only
        the non-linear constants and solves the coefficients inside by non-negative least squares (variable
        projection): the same cost for far less work. Both end with a polish.
    restarts : int
        Independent searches. If at most one of several reached the least cost, as many more are made, twice at most.

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
        raise FitError(f"unknown solver '{solver}'", hint=suggest(solver, SOLVERS))
    if solver == "projected" and problem.linear and not np.any(~problem.coefficient & (problem.lower < problem.upper)):
        restarts = 1  # nothing is searched, so nothing depends on the seed
    seeds = np.random.SeedSequence(seed)
    optima: Optima | None = None
    for _ in range(SEARCH.rounds if restarts > 1 else 1):
        reached = SOLVERS[solver](problem, [np.random.default_rng(child) for child in seeds.spawn(max(1, restarts))])
        optima = reached if optima is None else optima.joined(reached)
        if optima.agreed > 1:
            break
    if optima is None or not optima.cost.min() < 0.1 * IMPOSSIBLE_COST:
        raise no_values()
    population = _members_of(problem.lower.size, SEARCH.direct_members) if solver == "de" else 0
    return solution_of(optima, population)


def solution_of(optima: Optima, population: int = 0) -> Solution:
    """Return the best of some optima."""
    best = int(optima.cost.argmin())
    cost, converged = float(optima.cost[best]), bool(optima.converged[best])
    counts = optima.evaluations, optima.searches, optima.agreed
    return Solution(optima.constants[best], cost, converged, *counts, population)


def no_values() -> FitError:
    """Return the error of a fit in which no constants give finite values."""
    return FitError("no constants within the bounds give finite values", hint="check the formula and its bounds")


SOLVERS: dict[str, Solver] = {"projected": projected_search, "de": direct_search}
