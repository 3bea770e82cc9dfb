"""Searching the constants of least cost without a good start: by variable projection, or by evolving all of them."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from genperf.arrays import Array, Index, Mask
from genperf.errors import FitError, known_name
from genperf.solver.polish import Optima, PolishSettings, polish
from genperf.solver.problem import IMPOSSIBLE_COST, Problem

# Searches of the non-linear constants (projected), and of all (direct), by scipy's differential evolution. The numbers
# of members meet the limits of `experiments/performance.md`: the least cost within 0.1 % of the best known, at least 50
# times faster than plain differential evolution. Where a population has converged is scipy's decision.
#: Population size divided by the number of constants that are searched.
PROJECTED_MEMBERS = 4
#: Members of the first population that are polished roughly; a population has at least twice as many.
ROUGH_MEMBERS = 12
#: Their polish: its first damping is larger than usual, since the starts are far from optima.
ROUGH_POLISH: PolishSettings = PolishSettings(max_steps=12, damping=0.1)
#: Members of every search that are polished until they converge: the best of the first population, and of the last
#: one the best, the middle and the worst, so that several basins are polished.
CONVERGED_MEMBERS = 3
#: Sets per search that must have the least cost of all for the evolution to be left out. One search alone needs all
#: `CONVERGED_MEMBERS`.
AGREEING_PER_SEARCH = 2
#: A constant is searched on a logarithmic scale where its bounds are positive and their ratio is at least this.
LOGARITHMIC_RATIO = 100.0
#: Share of its scale below which a coefficient is none: where the total is not a sum, its search begins there.
LEAST_COEFFICIENT = 1e-3
#: Population size divided by the number of constants. Storn & Price (1997) advise 5 to 10.
DIRECT_MEMBERS = 8
#: Range of the factor of the step between two members, drawn anew for every generation (dither): scipy's default,
#: about the 0.5 that Storn & Price (1997) begin with.
MUTATION: tuple[float, float] = (0.5, 1.0)
#: Chance of each coordinate to come from the mutant: scipy's default.
CROSSOVER = 0.7
#: Spread of the costs in a population below which all its members fit exactly: residuals of 1e-10, beyond the
#: digits of any timing. scipy's relative tolerance alone never ends on a cost of rounding errors.
EXACT_SPREAD = 1e-20
#: Width of the search, in scales of the constant, on a side where the constant has no bound. A coefficient of one
#: scale explains the whole mean value, so ten leave room for terms that cancel. Half and
#: double change no answer (experiments/results/settings.md).
UNBOUNDED_SCALES = 10.0
#: Searches of a fit. Their agreement shows whether there are several optima: the least number with a majority.
RESTARTS = 3
#: Rounds of `RESTARTS` searches at most: another is made while only one search, or none, reached the least cost.
#: Two and six change no answer (experiments/results/settings.md).
SEARCH_ROUNDS = 3


def projected_search(problem: Problem, rngs: Sequence[np.random.Generator]) -> Optima:
    """Search the non-linear constants, each with its best coefficients (variable projection)."""
    space = _space(problem)
    start, searches, n, d = problem.start[None, :], len(rngs), problem.start.size, space.positions.size
    if d == 0:
        # Only coefficients are left, and these one projection solves.
        return polish(problem, np.vstack([start, problem.projected(start)[0]])).of_searches(1, 1, 1)

    def cost(points: Array) -> Array:
        """Return the cost of points of the searched space with their best coefficients, (points, d) → (points,)."""
        return problem.projected(space.sets(points))[1]

    # Arrays have the shape (searches, members, n); a polish takes the members of all searches one after another.
    populations = _first_populations(space.box, rngs, PROJECTED_MEMBERS)
    first_sets, costs = problem.projected(space.sets(populations.reshape(-1, d)))
    costs = costs.reshape(searches, -1)
    best_sets = _ranked(first_sets.reshape(searches, -1, n), costs)[:, :ROUGH_MEMBERS].reshape(-1, n)
    # The first set of a polish is the problem's start, which belongs to no search.
    rough = polish(problem, np.vstack([start, best_sets]), settings=ROUGH_POLISH)
    members = _ranked(rough.constants[1:].reshape(searches, -1, n), rough.cost[1:].reshape(searches, -1))
    best = members[:, :CONVERGED_MEMBERS].reshape(-1, n)
    polished = polish(problem, np.vstack([rough.constants[:1], best]))
    optima = polished.of_searches(searches, 1, len(first_sets) + rough.evaluations)
    # A polish can stop at a kink of the total, so agreement proves little there.
    enough = max(CONVERGED_MEMBERS, AGREEING_PER_SEARCH * searches)
    if problem.linear and optima.agreed == searches and optima.best.sum() >= enough:
        return optima

    members[:, :CONVERGED_MEMBERS] = polished.constants[1:].reshape(searches, -1, n)
    # In each population the best points move to where their polish ended.
    populations = _ranked(populations, costs)
    populations[:, :ROUGH_MEMBERS] = space.points(members.reshape(-1, n)).reshape(searches, -1, d)
    last, evaluations = _evolved(cost, space.box, populations, rngs)
    polished = polish(problem, problem.projected(space.sets(last))[0])
    return optima.joined(polished.of_searches(searches, 0, evaluations), again=True)


class _Space(Struct, frozen=True):
    """The searched space: constants by their positions, some of them by their logarithms."""

    start: Array  #: Shape (n,). Values of the constants that are not searched.
    positions: Index  #: Shape (d,).
    logarithmic: Mask  #: Shape (d,).
    unit: Array  #: Shape (d,). A constant is divided by it before the logarithm is taken.
    box: Array  #: Shape (2, d). Lower and upper ends.

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
        return np.asarray(np.clip(points, *self.box))


def _space(problem: Problem) -> _Space:
    """Choose the constants that are searched and their scales; coefficients come last, where the total is no sum."""
    moving = problem.lower < problem.upper
    # Where the total is not a sum, the projection depends on where the coefficients begin: a term that a larger one
    # hides has no derivative.
    searched_coefficient = moving & problem.coefficient & (not problem.linear)
    positions = np.concatenate([np.flatnonzero(moving & ~problem.coefficient), np.flatnonzero(searched_coefficient)])
    unit = np.where(searched_coefficient, problem.scale, 1.0)
    coefficient_box = np.array([[LEAST_COEFFICIENT], [UNBOUNDED_SCALES]])
    box = np.where(searched_coefficient, coefficient_box, _box_of(problem))[:, positions]
    logarithmic = (box[0] > 0.0) & (box[1] >= LOGARITHMIC_RATIO * box[0])
    box[:, logarithmic] = np.log10(box[:, logarithmic])
    return _Space(problem.start, positions, logarithmic, unit[positions], box)


def direct_search(problem: Problem, rngs: Sequence[np.random.Generator]) -> Optima:
    """Search all constants by differential evolution, and polish the problem's start and some of the last members."""
    box = _box_of(problem)
    last, evaluations = _evolved(problem.cost, box, _first_populations(box, rngs, DIRECT_MEMBERS), rngs)
    return polish(problem, np.vstack([problem.start[None, :], last])).of_searches(len(rngs), 1, evaluations)


def _box_of(problem: Problem) -> Array:
    """Return finite lower and upper bounds of the constants, shape (2, n): a search needs a box to begin in."""
    width = UNBOUNDED_SCALES * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 0.0) - width)
    upper = np.where(np.isfinite(problem.upper), problem.upper, np.maximum(problem.lower, 0.0) + width)
    return np.stack([lower, upper])


def _members_of(dimensions: int, per_dimension: int) -> int:
    """Return the size of a population that searches so many constants."""
    return max(2 * ROUGH_MEMBERS, per_dimension * dimensions)


def _first_populations(box: Array, rngs: Sequence[np.random.Generator], per_dimension: int) -> Array:
    """Draw a Latin hypercube over a box for each generator: shape (populations, members, d)."""
    d = box.shape[1]
    size = _members_of(d, per_dimension)
    # Along each axis the members take the cells in a random order, and a random place within their cell.
    cells = np.stack([np.argsort(rng.random((d, size)), axis=1).T + rng.random((size, d)) for rng in rngs])
    return np.asarray(box[0] + cells / size * (box[1] - box[0]))


def _ranked(members: Array, costs: Array) -> Array:
    """Return the members of every population, (populations, size, d), by their costs, (populations, size)."""
    return np.take_along_axis(members, np.argsort(costs, axis=1, kind="stable")[:, :, None], axis=1)


def _evolved(
    cost: Callable[[Array], Array], box: Array, populations: Array, rngs: Sequence[np.random.Generator]
) -> tuple[Array, int]:
    """Evolve populations, each until its costs are alike: best/1/bin with dither (Storn & Price 1997)."""
    # It takes a quarter of a second to import, and few fits need it.
    from scipy.optimize import Bounds, differential_evolution

    def objective(points: Any, /) -> Any:
        return cost(np.asarray(points, float).T)

    size, last, evaluations = populations.shape[1], [], 0
    places = np.linspace(0, size - 1, CONVERGED_MEMBERS).astype(np.intp)
    for population, rng in zip(populations, rngs, strict=True):
        result = differential_evolution(
            objective,
            Bounds(*box),
            init=population,
            mutation=MUTATION,
            recombination=CROSSOVER,
            polish=False,
            vectorized=True,
            updating="deferred",
            atol=EXACT_SPREAD,
            rng=rng,
        )
        last.append(_ranked(result.population[None], result.population_energies[None])[0][places])
        evaluations += size * (result.nit + 1)
    return np.vstack(last), evaluations


def descended(
    cost: Callable[[Array], tuple[float, Array]], start: Array, bounds: Any = None, **ends: float
) -> tuple[Array, float]:
    """Return the point of least cost near a start inside pairs of bounds, and its cost: L-BFGS-B (Byrd et al. 1995)."""
    # It takes a quarter of a second to import, and a series needs none.
    from scipy.optimize import minimize

    options: Any = ends
    answer = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(answer.x, float), float(answer.fun)


#: Called with one generator for each search; the problem's start is polished beside the searches.
Solver: TypeAlias = Callable[[Problem, Sequence[np.random.Generator]], Optima]


class Solution(Struct, frozen=True):
    """The constants of least cost, and how the searches ended."""

    #: Shape (n,).
    constants: Array
    cost: float
    converged: bool  #: Whether the polish converged.
    evaluations: int  #: Sets of constants whose cost was computed.
    #: `restarts`, `agreed`: searches made, and how many of them reached the least cost.
    restarts: int
    agreed: int
    population: int = 0  #: Members of the population of each search of `de`; 0 where nothing was evolved.


def solve(problem: Problem, solver: str = "projected", seed: int = 0, restarts: int = RESTARTS) -> Solution:
    """Return the constants of least cost, by more searches while fewer than two reached it; a `FitError` without."""
    search = solver_named(solver)
    if solver == "projected" and problem.linear and not np.any(~problem.coefficient & (problem.lower < problem.upper)):
        # Nothing is searched, so nothing depends on the seed.
        restarts = 1
    seeds = np.random.SeedSequence(seed)
    optima: Optima | None = None
    for _ in range(SEARCH_ROUNDS if restarts > 1 else 1):
        reached = search(problem, [np.random.default_rng(child) for child in seeds.spawn(max(1, restarts))])
        optima = reached if optima is None else optima.joined(reached)
        if optima.agreed > 1:
            break
    if optima is None or not optima.cost.min() < 0.1 * IMPOSSIBLE_COST:
        raise no_values()
    population = _members_of(problem.lower.size, DIRECT_MEMBERS) if solver == "de" else 0
    return solution_of(optima, population)


def solution_of(optima: Optima, population: int = 0) -> Solution:
    """Return the optimum of least cost as a solution, with the size of a search's population, 0 where none evolved."""
    best = int(optima.cost.argmin())
    cost, converged = float(optima.cost[best]), bool(optima.converged[best])
    restarts, agreed = optima.searches, optima.agreed
    return Solution(optima.constants[best], cost, converged, optima.evaluations, restarts, agreed, population)


def no_values() -> FitError:
    """Return the error of a fit in which no constants give finite values."""
    return FitError("no constants within the bounds give finite values", hint="check the formula and its bounds")


SOLVERS: dict[str, Solver] = {"projected": projected_search, "de": direct_search}


def solver_named(name: str) -> Solver:
    """Return a solver; a `FitError` names those that there are."""
    return SOLVERS[known_name("solver", name, SOLVERS, FitError)]
