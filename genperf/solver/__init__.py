"""Arrays in, constants out: the search for the constants of least cost. It reads no table and no formula."""

from genperf.solver.nonnegative import nonnegative_least_squares, penalised_least_squares
from genperf.solver.polish import ROUGHLY, Polished, PolishSettings, polish
from genperf.solver.problem import IMPOSSIBLE_COST, Penalties, Problem, blocks
from genperf.solver.search import SOLVERS, Solution, no_values, solve

__all__ = [
    "IMPOSSIBLE_COST",
    "ROUGHLY",
    "SOLVERS",
    "Penalties",
    "PolishSettings",
    "Polished",
    "Problem",
    "Solution",
    "blocks",
    "no_values",
    "nonnegative_least_squares",
    "penalised_least_squares",
    "polish",
    "solve",
]
