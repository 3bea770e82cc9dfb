"""Searching: the constants of least cost, without a good start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, suggest
from genperf.solver.direct import DIRECT, direct_search
from genperf.solver.optima import Optima, Watch
from genperf.solver.population import members_of
from genperf.solver.problem import IMPOSSIBLE_COST, Problem
from genperf.solver.projected import projected_search

Array = npt.NDArray[np.float64]
Solver: TypeAlias = Callable[[Problem, Sequence[np.random.Generator], Array, Watch], Optima]


@dataclass(frozen=True)
class SearchSettings:
    """Searches from different seeds."""

    #: Searches of a fit. Their agreement shows whether there are several optima: the least number with a majority.
    restarts: int = 3
    #: Rounds of `restarts` searches at most: another is made while only one search, or none, reached the least cost. A
    #: guess.
    rounds: int = 3


SEARCH = SearchSettings()


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
    watch: Watch | None = None,
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
    watch : callable, optional
        Called with the least cost whenever costs were computed, for benchmarks.

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
        return SOLVERS[solver](problem, rngs, given, watch or _ignore)

    optima = search()
    rounds = SEARCH.rounds if restarts > 1 else 1
    for _ in range(1, rounds):
        if optima.agreed > 1:
            break
        optima = optima.joined(search())
    best = int(optima.cost.argmin())
    cost = float(optima.cost[best])
    if not cost < 0.1 * IMPOSSIBLE_COST:
        raise FitError("no constants within the bounds give finite values", hint="check the formula and its bounds")
    return Solution(
        optima.constants[best],
        cost,
        bool(optima.converged[best]),
        optima.evaluations,
        optima.searches,
        optima.agreed,
        solver,
        members_of(problem.lower.size, DIRECT.members_per_constant) if solver == "de" else 0,
    )


def _ignore(cost: float) -> None:
    """Do nothing with a cost."""


SOLVERS: dict[str, Solver] = {"projected": projected_search, "de": direct_search}
