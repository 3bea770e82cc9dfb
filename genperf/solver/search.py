"""Searching: where the constants of least cost are, from nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, suggest
from genperf.solver.direct import direct_search
from genperf.solver.found import Found, Watch
from genperf.solver.problem import IMPOSSIBLE, Problem
from genperf.solver.projected import projected_search

Array = npt.NDArray[np.float64]
Solver: TypeAlias = Callable[[Problem, Sequence[np.random.Generator], Array, Watch], Found]

#: Searches from different seeds; how many of them agree tells whether there are many optima.
RESTARTS = 3
#: Where no second search reached the best cost, as many more are made: so many times in all at most.
ROUNDS = {"projected": 3}


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
    watch: Watch | None = None,
) -> Solution:
    """Find the constants of least cost.

    Parameters
    ----------
    problem : Problem
    solver : {"projected", "de"}
        `de` lets `scipy.optimize.differential_evolution` search every constant, as published. `projected` searches only
        the non-linear constants and solves the coefficients inside by non-negative least squares (variable
        projection): the same cost, far less work. Both end with a polish.
    seed : int
    restarts : int
        Independent searches; the best is returned, with how many reached it. Of several projected searches one that
        alone reached the best cost is not believed: as many more are made, twice at most.
    starts : ndarray of shape (sets, n), optional
        Constants from which to polish beside the searches, which do not know of them.
    watch : callable, optional
        Is told the least cost of what is at hand whenever costs were computed, for benchmarks.

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
    seeds = np.random.SeedSequence(seed)

    def search() -> Found:
        rngs = [np.random.default_rng(child) for child in seeds.spawn(max(1, restarts))]
        return SOLVERS[solver](problem, rngs, given, watch or _unwatched)

    found = search()
    for _ in range(1, ROUNDS.get(solver, 1) if restarts > 1 else 1):
        if found.agreed > 1:
            break
        found = found.beside(search())
    at = int(found.cost.argmin())
    cost = float(found.cost[at])
    if not cost < 0.1 * IMPOSSIBLE:
        raise FitError("no constants within the bounds give finite times", hint="check the formula and its bounds")
    settled = bool(found.settled[at])
    return Solution(found.constants[at], cost, settled, found.evaluations, found.searches, found.agreed, solver)


def _unwatched(cost: float) -> None:
    """Do nothing with it."""


SOLVERS: dict[str, Solver] = {"projected": projected_search, "de": direct_search}
