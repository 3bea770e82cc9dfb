"""One family on one table: choose, fit, draw replicates, look back."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from genperf.errors import FitError, Note
from genperf.estimate.alike import at_once, estimate_alike
from genperf.estimate.candidates import STARTS_BESIDE, Candidate, affordable, best_of, candidates_of
from genperf.estimate.grow import NO_GROWTH, GrowthRules, huber_weights
from genperf.estimate.options import LAMBDA_PATH, FitOptions
from genperf.estimate.outcome import Fitted, at_the_largest, estimated
from genperf.estimate.problem import problem_of, spread_starts
from genperf.expression import Expression
from genperf.formula import render
from genperf.models import Choice
from genperf.models.generic import products_of
from genperf.panel import Table
from genperf.prediction import Ensemble
from genperf.solver import polish, solution_of, solve


def estimate(
    expressions: Sequence[Expression],
    table: Table,
    options: FitOptions,
    seed: int,
    choice: Choice = "search",
    growth: GrowthRules = NO_GROWTH,
) -> Ensemble:
    """Fit the expressions that a table can afford, and return the one with the least error on held-out rows."""
    medians = table.medians()
    usable, notes = affordable(expressions, len(medians), choice)
    if len(usable) == 1 and at_once(usable[0], options):
        (alone,) = estimate_alike(usable[0], [table], options)
        if isinstance(alone, FitError):
            raise alone
        return replace(alone, notes=tuple(notes))
    if len(usable) == 1 and options.lam != "cv" and not growth.offered:
        problem = problem_of(usable[0], medians, options)
        fitted = Fitted(usable[0], problem, solve(problem, options.solver, seed))
    else:
        candidates = candidates_of(usable, medians, options, seed, growth=growth)
        fitted = _fitted(best_of(candidates), medians, options, seed)
        fitted = replace(fitted, chosen=len(usable) > 1 or growth is not NO_GROWTH)
        if choice == "laws":
            fitted = _better_at_the_largest(fitted, candidates, medians, options, seed)
            notes += _chosen_total(fitted.expression, usable)
    status = fitted.status(options.solver)
    if status.population and not status.agreed:
        searches = f"none of {status.restarts} searches by differential evolution reached the least cost"
        text = f"{searches}: the constants are a polish of those by which the structure was chosen"
        notes = [*notes, Note(text, "unreached")]
    out = estimated(fitted, table, medians, options, notes)
    if fitted.held_out is None:
        return out
    on_path = fitted.problem.penalty.strength in LAMBDA_PATH
    chosen = {"lambda_by": "cross-validation" if on_path else "the noise of the residuals"}
    # Of a series the largest scale shows more: what is predicted lies beyond it.
    several = sum(f.distinct > 1 for f in table.factors) > 1
    held_out: dict[str, str | float] = {"held_out_error": 100.0 * fitted.held_out} if several else {}
    if growth is not NO_GROWTH:
        held_out["structures"] = _compared(candidates)
    return replace(out, options={**out.options, **chosen, **held_out})


def _fitted(candidate: Candidate, medians: Table, options: FitOptions, seed: int) -> Fitted:
    """Fit a chosen expression to all rows, from the constants that it was chosen with."""
    problem = problem_of(candidate.expression, medians, options, candidate.strength)
    start = candidate.constants[None, :]
    if candidate.robust:
        robust = huber_weights(problem.predict(start), problem.measured, problem.weights[None, :])[0]
        problem = replace(problem, weights=robust)
    if options.solver == "de":
        solution = solve(replace(problem, start=candidate.constants), options.solver, seed)
    else:
        # The constants were searched when it was chosen.
        further_starts = spread_starts(problem, STARTS_BESIDE, np.random.default_rng([seed, 4]))
        solution = solution_of(polish(problem, np.vstack([start, further_starts])))
    error = candidate.error if np.isfinite(candidate.error) else None
    return Fitted(candidate.expression, problem, solution, held_out=error)


def _compared(candidates: Sequence[Candidate]) -> str:
    """Return the least error of each structure on the same held-out configurations, as a text."""
    errors: dict[str, float] = {}
    for candidate in candidates:
        constants = [c.meaning for c in candidate.expression.constants if c.meaning is not None]
        products = products_of(candidate.expression)
        # A separable structure has one exponent of each extrinsic factor, others have one in each term.
        scaled_by = [m.factor for m in constants if m.part == "extrinsic"]
        plain = "separable" if len(scaled_by) == len({*scaled_by}) else "per-term"
        label = f"product {products}" if products else plain
        errors[label] = min(errors.get(label, np.inf), candidate.error)
    return ", ".join(f"{label} {100.0 * error:.1f} %" for label, error in errors.items())


def _chosen_total(chosen: Expression, usable: Sequence[Expression]) -> list[Note]:
    """Return a note on how the terms of the chosen law make up the total, where the laws differ in that."""
    if len({e.total for e in usable}) == 1:
        return []
    total = " + ".join(t.name for t in chosen.terms) if chosen.total is None else render(chosen.total)
    overlap = total.find("max(")
    # A note has two lines of a screen at most.
    if len(total) > 100:
        total = f"the other terms + {total[overlap:]}" if overlap > 0 else "the sum of all terms"
    how = f"how the terms of '{chosen.family}' overlap was chosen by the error on held-out runs"
    return [Note(f"{how}: T = {total}", "overlap_chosen")]


def _better_at_the_largest(
    best: Fitted, candidates: Sequence[Candidate], medians: Table, options: FitOptions, seed: int
) -> Fitted:
    """Return the best law, or the best of those with fewest constants if it predicts the largest scales better."""
    fewest = min(c.expression.freedom for c in candidates)
    if best.expression.freedom == fewest:
        return best
    simplest = best_of([c for c in candidates if c.expression.freedom == fewest])
    simple = _fitted(simplest, medians, options, seed)
    # Errors at the largest scales, predicted from the smaller ones; 0 where there are too few scales.
    evidence = (at_the_largest(law.look_back(medians)) for law in (simple, best))
    simple_error, best_error = (np.mean([scale.error for scale in scales] or [0.0]) for scales in evidence)
    return simple if simple_error < best_error else best
