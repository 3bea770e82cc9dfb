"""One family on one table: choose, fit, draw replicates, and see how it extrapolates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from genperf.errors import Note
from genperf.estimate.alike import estimate_alike
from genperf.estimate.bootstrap import bootstrap
from genperf.estimate.diagnose import at_bounds, unidentified
from genperf.estimate.linear import solved_at_once
from genperf.estimate.look_back import Mask, look_back
from genperf.estimate.options import FitOptions
from genperf.estimate.outcome import Estimate, spread_of
from genperf.estimate.problem import problem_of
from genperf.estimate.select import Candidate, affordable, best_of, candidates_of
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.prediction import Member, Status
from genperf.solver import Problem, Solution, polish, solve
from genperf.table import Table

Array = npt.NDArray[np.float64]


def estimate(expressions: Sequence[Expression], table: Table, options: FitOptions, seed: int) -> Estimate:
    """Fit the best of some expressions to a table.

    Parameters
    ----------
    expressions : sequence of Expression
        Simplest first; one is simply fitted, of several the best is chosen by cross-validation.
    table : Table
        With its repeats: each configuration's median is fitted.
    options : FitOptions
    seed : int

    Returns
    -------
    Estimate

    Raises
    ------
    FitError
        Where there are fewer configurations than the smallest expression has constants.
    """
    medians = table.medians()
    usable, notes = affordable(expressions, len(medians))
    if len(usable) == 1 and at_once(usable[0], options):
        (found,) = estimate_alike(usable[0], [table], options, seed)
        if not isinstance(found, Estimate):
            raise found
        return replace(found, notes=tuple(notes))
    if len(usable) == 1 and options.lam != "cv":
        problem = _problem(usable[0], medians, options, options.strength)
        solution, strength = solve(problem, options.solver, seed), options.strength
    else:
        best = best_of(candidates_of(usable, medians, options, seed))
        solution, strength = _refined(best, medians, options, seed)
        problem = _problem(best.expression, medians, options, strength)
        usable = [best.expression]
    return _finish(usable[0], problem, solution, strength, table, medians, options, seed, notes)


def at_once(expression: Expression, options: FitOptions) -> bool:
    """Tell whether `estimate_alike` fits an expression, to one table or to many."""
    loss, penalty = loss_named(options.loss), penalty_named(options.penalty, options.strength)
    return options.solver == "projected" and solved_at_once(expression, loss, penalty)


def _problem(expression: Expression, medians: Table, options: FitOptions, strength: float) -> Problem:
    return problem_of(expression, medians, loss_named(options.loss), penalty_named(options.penalty, strength))


def _refined(best: Candidate, medians: Table, options: FitOptions, seed: int) -> tuple[Solution, float]:
    """Search once more with the chosen λ, from the constants found on the path too."""
    problem = _problem(best.expression, medians, options, best.strength)
    return solve(problem, options.solver, seed, starts=best.constants[None, :]), best.strength


def _finish(
    expression: Expression,
    problem: Problem,
    solution: Solution,
    strength: float,
    table: Table,
    medians: Table,
    options: FitOptions,
    seed: int,
    notes: list[Note],
) -> Estimate:
    best = solution.constants
    rng = np.random.default_rng([seed, 1])
    replicates = bootstrap(problem, best, options.draws, rng)
    residual = np.log(problem.measured / problem.times(best[None, :])[0])
    evidence = tuple(look_back(problem, medians, lambda train: _without(problem, best, train)))
    spread = spread_of(table, replicates.misfit, residual, best.size, evidence)
    member = Member(
        expression,
        best,
        replicates.constants,
        1.0,
        Status(
            solution.solver,
            solution.cost,
            solution.settled,
            solution.evaluations,
            solution.restarts,
            solution.agreed,
        ),
        at_bounds(problem, expression, best),
        unidentified(problem, expression, best),
    )
    return Estimate(member, strength, spread, evidence, tuple(notes))


def _without(problem: Problem, best: Array, train: Mask) -> Array:
    """Fit again to some of the rows."""
    weights = np.where(train, problem.weights, 0.0)
    return np.asarray(polish(problem, best[None, :], weights[None, :]).constants[0])
