"""Choosing among expressions and penalties, inside the training part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, Note
from genperf.estimate.options import LAMBDA_PATH, FitOptions
from genperf.estimate.problem import problem_of
from genperf.estimate.robust import huber_weights
from genperf.estimate.starts import spread_starts
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.solver import Problem, polish
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FOLDS = 5
#: A held-out row's error counts at most this much: one wild row decides nothing.
WILDEST = 2.0
#: Fewer configurations than this are not cut into folds.
FEWEST_ROWS = 4
#: Of several expressions, one with more constants per configuration than this is not tried,
MOST_CONSTANTS = 0.5
#: nor one with more constants than this: a table of many levels would take minutes.
MOST_IN_ALL = 160
#: Larger candidates are no longer tried once this many sizes in a row were worse than the best by this share.
PATIENCE, WORSE = 3, 0.02
#: Places from which every part is fitted with the weakest penalty, and how many of the best go on to the next.
STARTS, KEPT = 6, 3
#: What is left to gain when a choice is made, and the steps until then.
LOOSE, STEPS = 1e-5, 60
#: Rounds of reweighting where the fit is robust.
ROUNDS = 2
#: The choice is made on this many configurations, drawn at random, where there are more.
MOST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Candidate:
    """An expression with a penalty, and how it predicted held-out configurations.

    Attributes
    ----------
    expression : Expression
    strength : float
        λ.
    constants : ndarray of shape (n,)
        Fitted to the whole table.
    unseen : ndarray of shape (rows,)
        ln(measured/predicted) of each configuration, by the fold that did not see it; NaN where none was held out.
    off : ndarray of shape (rows,)
        |predicted/measured − 1| of the same, at most `WILDEST`.
    folds : ndarray of bool of shape (folds, rows)
        Which rows each fold trained on.
    by_fold : ndarray of shape (folds, rows)
        ln of the seconds that each fold predicts, of all rows.
    """

    expression: Expression
    strength: float
    constants: Array
    unseen: Array
    off: Array
    folds: Mask
    by_fold: Array

    @property
    def error(self) -> float:
        """Mean error over held-out configurations; NaN where there were too few to hold any out."""
        return float(np.mean(self.off))


def folds_of(rows: int, rng: np.random.Generator) -> Mask:
    """Cut configurations into folds: which rows each trains on, shape (folds, rows).

    Held-out folds, and not the largest scales, choose a structure also where the model is asked to extrapolate: over
    twelve extrapolations of `pytorch_cpu.csv` they chose better (`docs/decisions.md`).
    """
    if rows < FEWEST_ROWS:
        return np.ones((0, rows), bool)
    fold = rng.permutation(rows) % min(FOLDS, rows)
    return np.array([fold != k for k in range(fold.max() + 1)])


def affordable(expressions: Sequence[Expression], configurations: int) -> tuple[list[Expression], list[Note]]:
    """Leave out the expressions with too many constants, and say so.

    One expression may have as many constants as there are configurations; of several to choose from, those with more
    than half as many are left out, as long as a smaller one is there.

    Returns
    -------
    usable : list of Expression
        Fewest constants first.
    notes : list of Note

    Raises
    ------
    FitError
        Where there are fewer configurations than the smallest expression has constants: how many are needed.
    """
    ordered = sorted(expressions, key=lambda e: len(e.constants))
    fewest = len(ordered[0].constants)
    if fewest > configurations:
        raise FitError(
            f"{configurations} configuration{'s' * (configurations != 1)} cannot determine the {fewest} constants of "
            f"'{ordered[0].family}'",
            hint=f"measure at least {fewest} configurations, or name fewer factors",
        )
    if len(ordered) == 1:
        return ordered, []
    most = min(max(int(configurations * MOST_CONSTANTS), fewest), max(MOST_IN_ALL, fewest))
    usable = [e for e in ordered if len(e.constants) <= most]
    left_out = len(ordered) - len(usable)
    if not left_out:
        return usable, []
    larger = f"{left_out} larger structure{'s' * (left_out > 1)}"
    few = f"{configurations} configurations are too few" if most < MOST_IN_ALL else f"more than {most} constants"
    return usable, [Note(f"{larger} of '{ordered[0].family}' left out: {few}", "fewer_terms")]


def candidates_of(
    expressions: Sequence[Expression], table: Table, options: FitOptions, seed: int, robust: bool = False
) -> list[Candidate]:
    """Fit every expression with every λ that is asked for, and score each on held-out rows.

    The whole table and what is left of it without each fold are one batch: sets of constants that differ in their
    weights. Each part is fitted from places of its own and never from what was fitted to rows that it must not see.
    λ goes from weak to strong, the best fits of each part going on.

    Parameters
    ----------
    expressions : sequence of Expression
        Fewest constants first; larger ones are no longer tried once some sizes in a row were worse than the best.
    table : Table
        One row per configuration, the training part only.
    options : FitOptions
    seed : int
    robust : bool
        Whether Huber's weights, from each part's own residuals, are put on top of the loss.

    Returns
    -------
    list of Candidate
        In the order tried.

    Raises
    ------
    FitError
        Where none can be fitted.
    """
    rng = np.random.default_rng([seed, 2])
    table = table.take(judged_rows(len(table), rng))
    folds = folds_of(len(table), rng)
    parts = np.vstack([np.ones((1, len(table)), bool), folds])
    path = LAMBDA_PATH if options.lam in (None, "cv") else (options.strength,)
    found: list[Candidate] = []
    best, behind = np.inf, 0
    for _, alike in groupby(expressions, key=lambda e: len(e.constants)):
        here = np.inf
        for expression in alike:
            tried = _along_path(expression, table, parts, path, options, seed, robust)
            found += tried
            here = min([here, *(c.error for c in tried)])
        behind = behind + 1 if here > best * (1.0 + WORSE) else 0
        best = min(best, here)
        if behind == PATIENCE:
            break
    if not found:
        raise FitError("no constants within the bounds give finite times", hint="check the formula and its bounds")
    return found


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the simplest candidate that predicted held-out configurations as well as the best one.

    As well: its mean error is larger by no more than the standard error of the difference, taken over the
    configurations (the one-standard-error rule of Breiman et al. 1984, paired). Simplest: the fewest constants, and
    of these the strongest penalty. Where none could be held out it is the first.
    """
    best = ranked(candidates)[0]
    if not np.isfinite(best.error):
        return best
    close = []
    for candidate in candidates:
        more = candidate.off - best.off
        if np.mean(more) <= np.std(more) / np.sqrt(more.size):
            close.append(candidate)
    return min(close, key=lambda c: (len(c.expression.constants), -c.strength))


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, best first."""
    return sorted(candidates, key=lambda c: c.error if np.isfinite(c.error) else np.inf)


def judged_rows(rows: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return the rows that a choice is made on: all, or of more than `MOST_ROWS` as many, drawn at random."""
    return np.arange(rows) if rows <= MOST_ROWS else np.sort(rng.permutation(rows)[:MOST_ROWS])


def fit_parts(problem: Problem, starts: Array, weights: Array) -> tuple[Array, Array]:
    """Fit every part from several places, roughly.

    Parameters
    ----------
    problem : Problem
    starts : ndarray of shape (parts, starts, n)
    weights : ndarray of shape (parts, rows)

    Returns
    -------
    constants : ndarray of shape (parts, starts, n)
        Best first.
    cost : ndarray of shape (parts, starts)
    """
    parts, count, n = starts.shape
    run = polish(problem, starts.reshape(-1, n), np.repeat(weights, count, axis=0), STEPS, LOOSE)
    cost = run.cost.reshape(parts, count)
    order = np.argsort(cost, axis=1, kind="stable")
    constants = np.take_along_axis(run.constants.reshape(starts.shape), order[:, :, None], axis=1)
    return constants, np.take_along_axis(cost, order, axis=1)


def reweighted(problem: Problem, constants: Array, weights: Array, rounds: int = ROUNDS) -> tuple[Array, Array]:
    """Go on from fitted constants with Huber's weights, each set's from its own residuals.

    Parameters
    ----------
    problem : Problem
    constants : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows)
    rounds : int

    Returns
    -------
    constants : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows)
        Of the last round.
    """
    own = weights
    for _ in range(rounds):
        own = huber_weights(problem.times(constants), problem.measured, weights)
        constants = polish(problem, constants, own, STEPS, LOOSE).constants
    return constants, own


def _along_path(
    expression: Expression,
    table: Table,
    parts: Mask,
    path: Sequence[float],
    options: FitOptions,
    seed: int,
    robust: bool,
) -> list[Candidate]:
    problem = problem_of(expression, table, loss_named(options.loss), penalty_named(options.penalty, path[0]))
    weights = np.where(parts, problem.weights, 0.0)
    starts = spread_starts(problem, STARTS, np.random.default_rng([seed, 3]))
    sets = np.broadcast_to(starts, (len(parts), *starts.shape))
    out = []
    for strength in path:
        eased = replace(problem, penalty=penalty_named(options.penalty, strength))
        sets, cost = fit_parts(eased, sets, weights)
        if not cost[0, 0] < 1e29:
            return []
        sets = sets[:, :KEPT]
        fitted = reweighted(eased, sets[:, 0], weights)[0] if robust else sets[:, 0]
        with np.errstate(all="ignore"):
            times = eased.times(fitted)[1:]
        held_out = np.full(len(table), np.nan)
        for fold, predicted in zip(parts[1:], times, strict=True):
            held_out[~fold] = predicted[~fold]
        off = np.abs(held_out / table.measured - 1.0)
        if len(parts) > 1:
            off = np.where(np.isfinite(off), np.minimum(off, WILDEST), WILDEST)
        with np.errstate(all="ignore"):
            unseen, by_fold = np.log(table.measured / held_out), np.log(times)
        out.append(Candidate(expression, strength, fitted[0], unseen, off, parts[1:], by_fold))
    return out
