"""Arrays in, constants out: the search for the constants of least cost. Knows nothing of tables or formulas."""

from genperf.solver.nonnegative import nonnegative_least_squares, penalised_least_squares
from genperf.solver.polish import Polished, polish, polish_apart
from genperf.solver.problem import Penalties, Problem
from genperf.solver.search import SOLVERS, Solution, solve

__all__ = [
    "SOLVERS",
    "Penalties",
    "Polished",
    "Problem",
    "Solution",
    "nonnegative_least_squares",
    "penalised_least_squares",
    "polish",
    "polish_apart",
    "solve",
]
