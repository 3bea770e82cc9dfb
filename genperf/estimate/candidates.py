"""Fitting every expression that is worth trying, and predicting held-out configurations with each.

The search halves: every expression is fitted with the weakest penalty, and those that predict held-out configurations
nearly as well as the best one continue along the path of λ. Some may grow interactions before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from genperf.estimate.grow import NO_GROWTH, Growth, grow, growth_problem
from genperf.estimate.options import DEFAULTS, FitOptions
from genperf.estimate.prepare import CONTENT_SEED
from genperf.estimate.problem import continued_starts, problem_of, smaller_of, spread_starts
from genperf.estimate.select import SELECTION, Candidate, folds_of, judged_rows
from genperf.expression import Expression
from genperf.losses import penalty_named
from genperf.models.interactions import Interaction
from genperf.solver import IMPOSSIBLE_COST, ROUGHLY, Problem, no_values, polish
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HalvingSettings:
    """How the candidates are searched; `docs/decisions/halving.md` has the figures."""

    #: Starts from which every part is fitted with the weakest penalty, where no smaller expression is continued.
    starts: int = 4
    #: Such starts of an expression that continues a smaller one.
    beside: int = 2
    #: Starts that continue the fit of a smaller expression.
    continued: int = 2
    #: Best fits of each part that continue to the next λ.
    kept_starts: int = 2
    #: How much more than the best one an expression may err, as a share, to continue along the path of λ.
    promising: float = 0.15
    #: Relative increase of the error from which on a larger expression counts as worse.
    worse: float = 0.02
    #: Relative increase of the error from which on no stronger penalty is tried: as far as an average reaches.
    too_strong: float = 0.1
    #: Sizes in a row, smallest first, that may be worse than the best before larger expressions are not tried.
    patience: int = 3


HALVING = HalvingSettings()


def candidates_of(
    expressions: Sequence[Expression], table: Table, options: FitOptions, seed: int, growth: Growth = NO_GROWTH
) -> list[Candidate]:
    """Fit expressions with the requested λ, and compute their errors on held-out rows.

    The table has one row per configuration; the whole of it and the training rows of each fold are one batch: sets of
    constants that differ in their weights. Each part is fitted from starts that do not depend on held-out rows: some at
    random, and those that continue the part's fit of a smaller expression. λ goes from weak to strong, from the best
    fits of each part on, until the error rises. Larger expressions are not tried once `HalvingSettings.patience` sizes
    in a row were worse than the best.
    """
    rng = np.random.default_rng([CONTENT_SEED, 2])
    table = table.take(judged_rows(len(table), rng))
    folds = folds_of(len(table), rng)
    parts = _Parts(table, np.vstack([np.ones((1, len(table)), bool), folds]), options, seed)
    path = DEFAULTS.lambda_path if options.lam in (None, "cv") else (options.strength,)
    first = _with_the_weakest(expressions, parts, path[0])
    if not first:
        raise no_values()
    grown = _enlarged(first, parts, [(base, ()) for base in growth.bases if growth.offered], growth.offered)
    if growth.alone and grown:
        return list(grown.values())
    sized = _enlarged(first, parts, growth.sized)
    # One that has grown is also the one without interactions: their sizes may come to nothing.
    judged = [grown.get(id(f.candidate.expression), f.candidate) for f in first] + list(sized.values())
    limit = min(c.error for c in judged) * (1.0 + HALVING.promising)
    candidates = []
    for fitted in first:
        if id(fitted.candidate.expression) in grown:
            continue
        candidates.append(fitted.candidate)
        # Without folds there is no error, and nothing is chosen. Learned sizes take the place of a stronger penalty.
        if fitted.candidate.error <= limit and id(fitted.candidate.expression) not in sized:
            candidates += _stronger(fitted, parts, path[1:])
    return candidates + list(sized.values()) + list(grown.values())


@dataclass(frozen=True, eq=False)
class _Parts:
    """The rows that the candidates are fitted to, and how."""

    #: One row per configuration.
    table: Table
    #: Shape (1 + folds, rows). Training rows: all of them first, then each fold's.
    rows: Mask
    options: FitOptions
    seed: int


@dataclass(frozen=True, eq=False)
class _Fitted:
    """An expression fitted to every part with one λ."""

    problem: Problem
    #: Shape (parts, kept, n). Best fits of each part.
    sets: Array
    candidate: Candidate


def _with_the_weakest(expressions: Sequence[Expression], parts: _Parts, strength: float) -> list[_Fitted]:
    """Fit expressions with one λ, each continuing the largest one that it contains."""
    out: list[_Fitted] = []
    best, worse_sizes = np.inf, 0
    for _, of_one_size in groupby(expressions, key=lambda e: e.freedom):
        error = np.inf
        for expression in of_one_size:
            fitted = _first_fit(expression, parts, strength, out)
            if fitted is not None:
                out.append(fitted)
                error = min(error, fitted.candidate.error)
        worse_sizes = worse_sizes + 1 if error > best * (1.0 + HALVING.worse) else 0
        best = min(best, error)
        if worse_sizes == HALVING.patience:
            break
    return out


def _first_fit(expression: Expression, parts: _Parts, strength: float, before: Sequence[_Fitted]) -> _Fitted | None:
    """Fit an expression to every part; None where no constants within the bounds give finite values."""
    problem = problem_of(expression, parts.table, parts.options, strength)
    rng = np.random.default_rng([parts.seed, 3])
    weights = np.where(parts.rows, problem.weights, 0.0)
    smaller = None
    for fitted in before:
        smaller = smaller_of(fitted.candidate.expression, expression, fitted.sets[:, 0]) or smaller
    spread = spread_starts(problem, HALVING.starts if smaller is None else HALVING.beside, rng)
    sets = np.broadcast_to(spread, (len(parts.rows), *spread.shape))
    if smaller is not None:
        continued = continued_starts(problem, smaller, weights, HALVING.continued, rng)
        sets = np.concatenate([continued, sets], axis=1)
    return _fit(expression, problem, sets, parts)


def _enlarged(
    first: Sequence[_Fitted],
    parts: _Parts,
    bases: Sequence[tuple[Expression, tuple[str, ...]]],
    offered: tuple[Interaction, ...] = (),
) -> dict[int, Candidate]:
    """Let expressions grow, or learn the sizes of their constants, until one with more terms errs more; by identity."""
    out: dict[int, Candidate] = {}
    fitted = {id(f.candidate.expression): f for f in first}
    for base, kinds in bases:
        if id(base) not in fitted:
            continue
        out[id(base)] = _grown_candidate(fitted[id(base)], parts, offered, kinds)
        if out[id(base)].error > min(c.error for c in out.values()) * (1.0 + HALVING.worse):
            break
    return out


def _grown_candidate(
    fitted: _Fitted, parts: _Parts, offered: Sequence[Interaction], kinds: Sequence[str] = ()
) -> Candidate:
    """Let an expression grow on every part of the rows, and predict what each holds out."""
    base, table = fitted.candidate.expression, parts.table
    growing = growth_problem(base, fitted.problem, offered, table, kinds)
    grown = grow(growing, fitted.sets[:, 0], parts.rows)
    with np.errstate(all="ignore"):
        predicted = np.vstack([one.problem.predict(one.constants[None, :]) for one in grown])
    whole = grown[0]
    judged = _judged(whole.expression(base), whole.problem.penalty.strength, whole.constants, predicted, parts)
    return replace(judged, robust=True)


def _stronger(fitted: _Fitted, parts: _Parts, strengths: Sequence[float]) -> list[Candidate]:
    """Fit an expression with stronger penalties, from its fits on, until it errs more."""
    out: list[Candidate] = []
    best, last = fitted.candidate.error, fitted
    for strength in strengths:
        penalty = penalty_named(parts.options.penalty, strength)
        now = _fit(fitted.candidate.expression, replace(last.problem, penalty=penalty), last.sets, parts)
        if now is None:
            break
        out.append(now.candidate)
        if now.candidate.error > best * (1.0 + HALVING.too_strong):
            break
        best, last = min(best, now.candidate.error), now
    return out


def _fit(expression: Expression, problem: Problem, sets: Array, parts: _Parts) -> _Fitted | None:
    """Fit every part of the rows, and predict what each holds out."""
    weights = np.where(parts.rows, problem.weights, 0.0)
    sets, cost = _fit_parts(problem, sets, weights)
    if not cost[0, 0] < 0.1 * IMPOSSIBLE_COST:
        return None
    fitted = sets[:, 0]
    with np.errstate(all="ignore"):
        predicted = problem.predict(fitted)
    candidate = _judged(expression, problem.penalty.strength, fitted[0], predicted, parts)
    return _Fitted(problem, sets[:, : HALVING.kept_starts], candidate)


def _judged(expression: Expression, strength: float, constants: Array, predicted: Array, parts: _Parts) -> Candidate:
    """Return a candidate with its errors on the rows that each fold holds out."""
    measured = parts.table.measured
    fit_error = float(np.mean(np.abs(predicted[0] / measured - 1.0)))
    held_out = np.full(len(measured), np.nan)
    for train, of_fold in zip(parts.rows[1:], predicted[1:], strict=True):
        held_out[~train] = of_fold[~train]
    errors = np.abs(held_out / measured - 1.0)
    if len(parts.rows) > 1:
        errors = SELECTION.limited(errors)
    return Candidate(expression, strength, constants, errors, parts.rows[1:], fit_error)


def _fit_parts(problem: Problem, starts: Array, weights: Array) -> tuple[Array, Array]:
    """Polish each part of the rows from several starts; constants (parts, starts, n), the best first, and costs."""
    parts, count, n = starts.shape
    polished = polish(problem, starts.reshape(-1, n), np.repeat(weights, count, axis=0), ROUGHLY)
    cost = polished.cost.reshape(parts, count)
    order = np.argsort(cost, axis=1, kind="stable")
    constants = np.take_along_axis(polished.constants.reshape(starts.shape), order[:, :, None], axis=1)
    return constants, np.take_along_axis(cost, order, axis=1)
