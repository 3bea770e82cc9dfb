"""Searching: where the constants of least cost are, from nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, OptimizeResult, differential_evolution

from genperf.errors import FitError, suggest
from genperf.solver.polish import Polished, polish
from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]

#: Searches from different seeds; how many of them agree tells whether there are many optima.
RESTARTS = 3
#: Costs within this share of each other are the same optimum.
AGREE = 1e-3
#: A search stops when the best cost has not fallen by `AGREE` in this many generations.
PATIENCE = 12
#: Members of the first population of a projected search that are polished before it, and by how many steps.
SEEDS = 12
SEED_STEPS = 15
MOST_GENERATIONS = 400
#: Members of the last population that are polished.
POLISHED = 8
#: Where a constant has no bound of its own, a search goes to this many times its scale.
REACH = 10.0
#: And where its beginning is searched on a logarithmic scale, down to ten to this negative power of its scale.
LOG_REACH = 3.0


@dataclass(frozen=True)
class Solution:
    """What a search returned.

    Attributes
    ----------
    constants : ndarray of shape (n,)
    cost : float
    settled : bool
        Whether the polish came to rest.
    evaluations : int
        Sets of constants whose cost was computed.
    restarts, agreed : int
        Searches made, and how many of them reached the best cost.
    solver : str
    """

    constants: Array
    cost: float
    settled: bool
    evaluations: int
    restarts: int
    agreed: int
    solver: str


def solve(
    problem: Problem,
    solver: str = "projected",
    seed: int = 0,
    restarts: int = RESTARTS,
    starts: Array | None = None,
) -> Solution:
    """Find the constants of least cost.

    Parameters
    ----------
    problem : Problem
    solver : {"projected", "de"}
        `de` lets `scipy.optimize.differential_evolution` search every constant, as published. `projected` lets it
        search only the non-linear constants, from a population whose best are already part polished, and solves the
        coefficients inside by non-negative least squares (variable projection): the same cost, far less work. Both
        end with a polish.
    seed : int
    restarts : int
        Independent searches; the best is returned, with how many reached it.
    starts : ndarray of shape (sets, n), optional
        Constants from which to polish beside the search.

    Returns
    -------
    Solution

    Raises
    ------
    FitError
        For an unknown solver, or where no constants give finite times.
    """
    if solver not in SOLVERS:
        raise FitError(f"unknown solver '{solver}'", hint=suggest(solver, list(SOLVERS)) or "projected or de")
    given = problem.start[None, :] if starts is None else np.vstack([starts, problem.start[None, :]])
    if solver == "projected" and problem.linear and not np.any(~problem.coefficient & (problem.lower < problem.upper)):
        restarts = 1  # nothing is searched, so nothing depends on the seed
    runs = []
    spent = 0
    for child in np.random.SeedSequence(seed).spawn(max(1, restarts)):
        candidates, evaluations = SOLVERS[solver](problem, np.random.default_rng(child), given)
        spent += evaluations
        runs.append(polish(problem, candidates))
    return _best(runs, solver, spent)


def _best(runs: list[Polished], solver: str, spent: int) -> Solution:
    costs = np.array([run.cost.min() for run in runs])
    if not costs.min() < 1e29:
        raise FitError("no constants within the bounds give finite times", hint="check the formula and its bounds")
    run = runs[int(costs.argmin())]
    at = int(run.cost.argmin())
    agreed = int(np.sum(costs <= costs.min() * (1.0 + AGREE) + 1e-15))
    evaluations = spent + sum(r.evaluations for r in runs)
    return Solution(
        run.constants[at], float(run.cost[at]), bool(run.settled[at]), evaluations, len(runs), agreed, solver
    )


def _evolve(
    cost: Callable[[Array], Array],
    lower: Array,
    upper: Array,
    rng: np.random.Generator,
    start: Array,
    per_dimension: int,
) -> tuple[Array, int]:
    """Run differential evolution until its best cost rests; return the population, best first."""
    population = _first_population(lower, upper, rng, start, per_dimension)
    history: list[float] = []
    last: dict[str, Array] = {}

    def watch(intermediate_result: OptimizeResult) -> None:
        history.append(float(intermediate_result.fun))
        last["population"] = np.array(intermediate_result.population)
        last["energies"] = np.array(intermediate_result.population_energies)
        if len(history) > PATIENCE and history[-1] > (1.0 - AGREE) * history[-1 - PATIENCE]:
            raise StopIteration

    evaluations = 0

    def vectorised(x: Any, /) -> Any:
        nonlocal evaluations
        evaluations += x.shape[1]
        return cost(np.asarray(x, float).T)

    result = differential_evolution(
        vectorised,
        Bounds(lower, upper),
        init=population,
        maxiter=MOST_GENERATIONS,
        mutation=(0.4, 0.9),
        recombination=0.8,
        tol=AGREE,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=rng,
        callback=watch,
    )
    order = np.argsort(last["energies"], kind="stable")
    return np.vstack([result.x[None, :], last["population"][order]]), evaluations


def _first_population(lower: Array, upper: Array, rng: np.random.Generator, start: Array, per_dimension: int) -> Array:
    """Spread a population over the box, Latin hypercube, with the starts in it."""
    size = max(24, per_dimension * lower.size)
    cells = (np.argsort(rng.random((lower.size, size)), axis=1).T + rng.random((size, lower.size))) / size
    population = lower + cells * (upper - lower)
    kept = np.clip(start[: size // 2], lower, upper)
    population[: len(kept)] = kept
    return np.asarray(population)


def _projected(problem: Problem, rng: np.random.Generator, given: Array) -> tuple[Array, int]:
    moving = problem.lower < problem.upper
    searched = np.flatnonzero(moving & ~problem.coefficient)
    # Where the total is not a sum, what the passes of the projection reach depends on where the coefficients begin
    # (a term hidden by a larger one has no derivative), so that is searched too, on a logarithmic scale.
    begun = np.flatnonzero(moving & problem.coefficient & (not problem.linear))
    unit = problem.scale[begun]
    lower, upper = _box(problem)
    low = np.concatenate([lower[searched], np.full(begun.size, -LOG_REACH)])
    high = np.concatenate([upper[searched], np.full(begun.size, np.log10(REACH))])

    def fill(x: Array) -> Array:
        sets = np.broadcast_to(problem.start, (len(x), problem.start.size)).copy()
        sets[:, searched] = x[:, : searched.size]
        sets[:, begun] = unit * 10.0 ** x[:, searched.size :]
        return problem.project(sets)

    def read(sets: Array) -> Array:
        return np.hstack([sets[:, searched], np.log10(np.maximum(np.abs(sets[:, begun]) / unit, 10.0**-LOG_REACH))])

    if low.size == 0:
        return np.vstack([fill(np.zeros((1, 0))), given]), 1
    first = fill(_first_population(low, high, rng, read(given), 4))
    best = np.argsort(problem.cost(first), kind="stable")[:SEEDS]
    seeds = polish(problem, first[best], steps=SEED_STEPS)
    population, evaluations = _evolve(lambda x: problem.cost(fill(x)), low, high, rng, read(seeds.constants), 4)
    return np.vstack([fill(_spread(population)), given]), evaluations + seeds.evaluations + len(first)


def _direct(problem: Problem, rng: np.random.Generator, given: Array) -> tuple[Array, int]:
    population, evaluations = _evolve(problem.cost, *_box(problem), rng, given, 8)
    return _spread(population), evaluations


def _box(problem: Problem) -> tuple[Array, Array]:
    """Return bounds that are finite: a search has to begin somewhere."""
    reach = REACH * problem.scale
    lower = np.where(np.isfinite(problem.lower), problem.lower, np.minimum(problem.upper, 0.0) - reach)
    upper = np.where(np.isfinite(problem.upper), problem.upper, np.maximum(problem.lower, 0.0) + reach)
    return lower, upper


def _spread(population: Array) -> Array:
    """Take the best member and others down the ranking, so that several basins are polished."""
    return np.asarray(population[np.unique(np.linspace(0, len(population) - 1, POLISHED).astype(int))])


SOLVERS: dict[str, Callable[[Problem, np.random.Generator, Array], tuple[Array, int]]] = {
    "projected": _projected,
    "de": _direct,
}
