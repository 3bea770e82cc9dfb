"""Choosing among expressions and penalties, inside the training part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError
from genperf.estimate.options import LAMBDA_PATH, FitOptions
from genperf.estimate.problem import problem_of
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.solver import Solution, polish, solve
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FOLDS = 5
#: A held-out row's error counts at most this much: one wild row decides nothing.
WILDEST = 2.0
#: Fewer configurations than this are not cut into folds.
FEWEST_ROWS = 4
#: Constants per configuration beyond which a larger expression is not tried.
MOST_CONSTANTS = 0.5
#: Larger candidates are no longer tried once this many in a row were worse than the best by this share.
PATIENCE, WORSE = 2, 0.02


@dataclass(frozen=True, eq=False)
class Candidate:
    """An expression with a penalty, fitted to the whole table, and how it predicted held-out configurations.

    Attributes
    ----------
    expression : Expression
    strength : float
        λ.
    solution : Solution
    error : float
        Mean |predicted/measured − 1| over held-out configurations; NaN where there were too few to hold any out.
    """

    expression: Expression
    strength: float
    solution: Solution
    error: float


def folds_of(rows: int, rng: np.random.Generator) -> Mask:
    """Cut configurations into folds: which rows each trains on, shape (folds, rows).

    Held-out folds, and not the largest scales, choose a structure also where the model is asked to extrapolate: over
    twelve extrapolations of `pytorch_cpu.csv` they chose better (`docs/decisions.md`).
    """
    if rows < FEWEST_ROWS:
        return np.ones((0, rows), bool)
    fold = rng.permutation(rows) % min(FOLDS, rows)
    return np.array([fold != k for k in range(fold.max() + 1)])


def candidates_of(expressions: Sequence[Expression], table: Table, options: FitOptions, seed: int) -> list[Candidate]:
    """Fit every expression with every λ that is asked for, and score each on held-out rows.

    The folds are one batch: sets of constants that differ only in their weights, each started from the fit to the
    whole table given and polished on its own part. λ goes from strong to weak, each fit starting from the one before.

    Parameters
    ----------
    expressions : sequence of Expression
        Simplest first; larger ones are no longer tried once some in a row were worse than the best.
    table : Table
        One row per configuration, the training part only.
    options : FitOptions
    seed : int

    Returns
    -------
    list of Candidate
        In the order tried.

    Raises
    ------
    FitError
        Where none can be fitted.
    """
    folds = folds_of(len(table), np.random.default_rng([seed, 2]))
    path = LAMBDA_PATH if options.lam in (None, "cv") else (options.strength,)
    found: list[Candidate] = []
    best, behind = np.inf, 0
    failure: FitError | None = None
    for expression in expressions:
        if len(expression.constants) > len(table) * MOST_CONSTANTS and found:
            break
        try:
            tried = _along_path(expression, table, folds, path, options, seed)
        except FitError as error:
            failure = error
            continue
        found += tried
        here = min(c.error for c in tried)
        behind = behind + 1 if here > best * (1.0 + WORSE) else 0
        best = min(best, here)
        if behind == PATIENCE:
            break
    if not found:
        raise failure or FitError("there is no expression to fit")
    return found


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate that predicted held-out configurations best; the first where none could be held out."""
    return min(candidates, key=lambda c: c.error if np.isfinite(c.error) else np.inf)


def _along_path(
    expression: Expression,
    table: Table,
    folds: Mask,
    path: Sequence[float],
    options: FitOptions,
    seed: int,
) -> list[Candidate]:
    loss = loss_named(options.loss)
    problem = problem_of(expression, table, loss, penalty_named(options.penalty, path[0]))
    whole = solve(problem, options.solver, seed)
    weights = np.where(folds, problem.weights, 0.0)
    starts = np.broadcast_to(whole.constants, (len(folds), whole.constants.size)).copy()
    out = []
    for strength in path:
        eased = replace(problem, penalty=penalty_named(options.penalty, strength))
        again = polish(eased, whole.constants[None, :])
        whole = replace(whole, constants=again.constants[0], cost=float(again.cost[0]), settled=bool(again.settled[0]))
        error = float("nan")
        if len(folds):
            starts = polish(eased, starts, weights).constants
            with np.errstate(all="ignore"):
                off = np.abs(eased.times(starts) / table.seconds - 1.0)
            error = float(np.mean(np.where(np.isfinite(off), np.minimum(off, WILDEST), WILDEST)[~folds]))
        out.append(Candidate(expression, strength, whole, error))
    return out
