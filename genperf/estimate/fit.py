"""One family on one table: choose, fit, draw replicates, look back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from genperf.arrays import Array, Mask
from genperf.errors import Note
from genperf.estimate.alike import at_once, estimate_alike
from genperf.estimate.candidates import SELECTION, Candidate, affordable, best_of, candidates_of
from genperf.estimate.grow import NO_GROWTH, Growth, huber_weights
from genperf.estimate.options import DEFAULTS, FitOptions
from genperf.estimate.outcome import Estimate, at_bounds, bootstrap, look_back_alone, spread_of, unidentified
from genperf.estimate.prepare import CONTENT_SEED, in_order
from genperf.estimate.problem import problem_of, spread_starts
from genperf.expression import Expression
from genperf.formula import render
from genperf.models import Choice
from genperf.models.generic import named_by_factors
from genperf.prediction import Member, Status
from genperf.solver import EVOLUTION, Problem, Solution, polish, polished_from, solve
from genperf.table import Table


def estimate(
    expressions: Sequence[Expression],
    table: Table,
    options: FitOptions,
    seed: int,
    choice: Choice = "search",
    growth: Growth = NO_GROWTH,
) -> Estimate:
    """Fit the best of some expressions to a table.

    Parameters
    ----------
    expressions : sequence of Expression
        Simplest first; of several the best is chosen by cross-validation.
    table : Table
        With its repeats: each configuration's median is fitted.
    choice : {"search", "laws", "largest"}
        What the expressions are, where there are several.
    growth : Growth
        Which of them may grow interactions.

    Raises
    ------
    FitError
        Where there are fewer configurations than the smallest expression has constants.
    """
    medians = table.medians()
    usable, notes = affordable(expressions, len(medians), choice)
    if len(usable) == 1 and at_once(usable[0], options):
        (fitted,) = estimate_alike(usable[0], [table], options, seed)
        if not isinstance(fitted, Estimate):
            raise fitted
        return replace(fitted, notes=tuple(notes))
    table = in_order(table, names=growth is NO_GROWTH)
    medians = table.medians()
    if len(usable) == 1 and options.lam != "cv" and not growth.offered:
        problem = problem_of(usable[0], medians, options)
        solved = _Solved(usable[0], medians, problem, solve(problem, options.solver, seed))
    else:
        candidates = candidates_of(usable, medians, options, seed, growth=growth)
        solved = _solved(best_of(candidates), medians, options, seed)
        if choice == "laws":
            solved = _reaching(solved, candidates, options, seed)
            notes += _chosen_total(solved.expression, usable)
    notes += _unreached(solved.solution)
    fitted = replace(_estimate_of(solved, table, options), notes=tuple(notes))
    if solved.candidate is None or not np.isfinite(solved.candidate.error):
        return fitted
    by = "cross-validation" if fitted.strength in DEFAULTS.lambda_path else "the noise of the residuals"
    return replace(fitted, held_out=solved.candidate.error, strength_by=by)


@dataclass(frozen=True, eq=False)
class _Solved:
    """A solved problem."""

    expression: Expression
    #: The rows of the problem.
    medians: Table
    problem: Problem
    solution: Solution
    #: What was chosen, where there was a choice.
    candidate: Candidate | None = None

    def refit(self, train: Mask) -> Array:
        """Return the constants fitted to some of the rows, from the solution on."""
        weights = np.where(train, self.problem.weights, 0.0)
        return np.asarray(polish(self.problem, self.solution.constants[None, :], weights[None, :]).constants[0])

    @property
    def reach(self) -> float:
        """The mean error at the largest scales, predicted from the smaller ones; 0 where there are too few scales."""
        errors = [evidence.error for evidence in look_back_alone(self.problem, self.medians, self.refit)]
        return float(np.mean(errors)) if errors else 0.0


def _solved(candidate: Candidate, medians: Table, options: FitOptions, seed: int) -> _Solved:
    """Fit a chosen expression to all rows, from the constants that it was chosen with."""
    problem = problem_of(candidate.expression, medians, options, candidate.strength)
    starts = candidate.constants[None, :]
    if candidate.robust:
        robust = huber_weights(problem.predict(starts), problem.measured, problem.weights[None, :])[0]
        problem = replace(problem, weights=robust)
    if options.solver == "de":
        solution = solve(problem, options.solver, seed, starts=starts)
    else:
        # The constants were searched when it was chosen.
        others = spread_starts(problem, SELECTION.last_starts, np.random.default_rng([seed, 4]))
        solution = polished_from(problem, np.vstack([starts, others]), options.solver)
    return _Solved(candidate.expression, medians, problem, solution, candidate)


#: Characters of a total that a note shows whole. Beyond it shows the overlap alone: a note has two lines of a screen.
MOST_SHOWN = 100


def _chosen_total(chosen: Expression, usable: Sequence[Expression]) -> list[Note]:
    """Return a note on how the terms of the chosen law make up the total, where the laws differ in that."""
    if len({e.total for e in usable}) == 1:
        return []
    total = " + ".join(t.name for t in chosen.terms) if chosen.total is None else render(chosen.total)
    overlap = total.find("max(")
    if len(total) > MOST_SHOWN:
        total = f"the other terms + {total[overlap:]}" if overlap > 0 else "the sum of all terms"
    how = f"how the terms of '{chosen.family}' overlap was chosen by the error on held-out runs"
    return [Note(f"{how}: T = {total}", "overlap_chosen")]


def _reaching(best: _Solved, candidates: Sequence[Candidate], options: FitOptions, seed: int) -> _Solved:
    """Return the best law, or the best of the smallest ones where that predicts the largest scales better."""
    fewest = min(c.expression.freedom for c in candidates)
    if best.expression.freedom == fewest:
        return best
    smallest = best_of([c for c in candidates if c.expression.freedom == fewest])
    smaller = _solved(smallest, best.medians, options, seed)
    return smaller if smaller.reach < best.reach else best


def _unreached(solution: Solution) -> list[Note]:
    """Return a note where no search reached the least cost."""
    if solution.agreed or not solution.population:
        return []
    text = (
        f"none of {solution.restarts} searches by differential evolution reached the least cost: the constants are "
        "a polish of those by which the structure was chosen"
    )
    return [Note(text, "unreached")]


def _estimate_of(solved: _Solved, table: Table, options: FitOptions) -> Estimate:
    """Estimate the errors of a solved problem's predictions: replicates, residuals, look back."""
    expression, problem, solution = solved.expression, solved.problem, solved.solution
    best = solution.constants
    draws, misfit = bootstrap(problem, best, options.draws, np.random.default_rng([CONTENT_SEED, 1]))
    residuals = np.log(problem.measured / problem.predict(best[None, :])[0])
    evidence = look_back_alone(problem, solved.medians, solved.refit)
    spread = spread_of(table, misfit, residuals, best.size, evidence)
    evolved = (EVOLUTION.mutation, EVOLUTION.crossover) if solution.population else ()
    status = Status(
        *(solution.solver, solution.cost, solution.converged, solution.evaluations),
        *(solution.restarts, solution.agreed, solution.population, *evolved),
    )
    held, unknown = at_bounds(problem, expression, best), unidentified(problem, expression, best)
    member = Member(named_by_factors(expression, best), best, draws, 1.0, status, held, unknown)
    return Estimate(member, problem.penalty.strength, spread, evidence)
