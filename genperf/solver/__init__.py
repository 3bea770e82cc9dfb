"""Arrays in, constants out: the search for the constants of least cost. It reads no table and no formula."""

from genperf.solver.nonnegative import nonnegative_least_squares, penalised_least_squares
from genperf.solver.polish import POLISH, ROUGHLY, PolishSettings, polish
from genperf.solver.problem import IMPOSSIBLE_COST, Problem, blocks
from genperf.solver.search import SOLVERS, Solution, descended, no_values, solution_of, solve, solver_named
