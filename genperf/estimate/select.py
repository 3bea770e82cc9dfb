"""Choosing among expressions and penalties, inside the training part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, Note
from genperf.estimate.options import DEFAULTS, FitOptions
from genperf.estimate.problem import problem_of
from genperf.estimate.robust import huber_weights
from genperf.estimate.starts import spread_starts
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.models import Choice
from genperf.solver import Polished, Problem, polish
from genperf.solver.problem import IMPOSSIBLE_COST
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SelectionSettings:
    """Choosing a structure and λ by cross-validation inside the training part.

    Attributes
    ----------
    folds : int
        Folds of the cross-validation. Over twelve extrapolations of `pytorch_cpu.csv` the mean error was 15.1 % with
        folds and 18.3 % with inner extrapolation (explored; `docs/decisions.md`).
    min_rows : int
        Configurations from which on folds are made: fewer leave too little to train on.
    largest_error : float
        Relative error that a held-out row counts at most, so that one outlier does not decide.
    constants_per_row : float
        Constants per configuration, at most, of an expression that is one of many. A guess: two configurations for
        each constant.
    max_constants : int
        Constants of such an expression at most: a table of many levels would take minutes.
    patience : int
        Sizes in a row, smallest first, that may be worse than the best before larger expressions are not tried.
    worse : float
        Relative increase of the error from which on a size counts as worse.
    starts : int
        Starts from which every part is fitted with the weakest penalty. Of eight starts most reach the best optimum
        (explored; `docs/decisions.md`).
    kept_starts : int
        Best fits of each part that continue to the next λ.
    relative_tolerance : float
        Share of the cost that may be left to gain when a choice is made.
    max_steps : int
        Steps of the polish at most.
    robust_rounds : int
        Rounds of reweighting of a robust fit.
    max_rows : int
        Configurations that a choice is made on at most, drawn at random from a larger table: bounds the time.
    fit_digits : int
        Decimals of a relative error of fitted rows that are compared: expressions that fit exactly are equal.
    """

    folds: int = 5
    min_rows: int = 4
    largest_error: float = 2.0
    constants_per_row: float = 0.5
    max_constants: int = 160
    patience: int = 3
    worse: float = 0.02
    starts: int = 6
    kept_starts: int = 3
    relative_tolerance: float = 1e-5
    max_steps: int = 60
    robust_rounds: int = 2
    max_rows: int = 1000
    fit_digits: int = 6

    def limited(self, errors: Array) -> Array:
        """Return relative errors of at most `largest_error`; those that are not finite count as that."""
        limit = self.largest_error
        return np.where(np.isfinite(errors), np.minimum(errors, limit), limit)


SELECTION = SelectionSettings()


@dataclass(frozen=True, eq=False)
class Candidate:
    """An expression with a penalty, and its errors on held-out configurations.

    Attributes
    ----------
    expression : Expression
    strength : float
        λ.
    constants : ndarray of shape (n,)
        Fitted to the whole table.
    residuals : ndarray of shape (rows,)
        ln(measured/predicted) of each configuration when it was held out; NaN where none was.
    errors : ndarray of shape (rows,)
        |predicted/measured − 1| of the same, at most `SelectionSettings.largest_error`.
    folds : ndarray of bool of shape (folds, rows)
        Training rows of each fold.
    by_fold : ndarray of shape (folds, rows)
        ln of each fold's predictions of all rows.
    fit_error : float
        Mean of |fitted/measured − 1| over all rows.
    """

    expression: Expression
    strength: float
    constants: Array
    residuals: Array
    errors: Array
    folds: Mask
    by_fold: Array
    fit_error: float = 0.0

    @property
    def error(self) -> float:
        """Mean relative error over held-out configurations; NaN where there were too few to hold any out."""
        return float(np.mean(self.errors))


def folds_of(rows: int, rng: np.random.Generator) -> Mask:
    """Assign configurations to folds and return the training rows of each, shape (folds, rows).

    Folds at random choose a structure, also where the model is to extrapolate: over twelve extrapolations of
    `pytorch_cpu.csv` they chose better than the largest scales held out (`docs/decisions.md`).
    """
    if rows < SELECTION.min_rows:
        return np.ones((0, rows), bool)
    fold = rng.permutation(rows) % min(SELECTION.folds, rows)
    return np.array([fold != k for k in range(fold.max() + 1)])


def affordable(
    expressions: Sequence[Expression], configurations: int, choice: Choice = "search"
) -> tuple[list[Expression], list[Note]]:
    """Leave out the expressions with too many constants for the number of configurations.

    A single expression may have as many constants as there are configurations. Of a search over many, those with more
    than half as many are left out; of a few laws, those with as many. Of one law with fewer and fewer constants, the
    largest with fewer constants than configurations is left. The smallest expression is always kept.

    Parameters
    ----------
    expressions : sequence of Expression
    configurations : int
    choice : {"search", "laws", "largest"}
        What the expressions are; see `genperf.models.Choice`.

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
    most = int(configurations * SELECTION.constants_per_row) if choice == "search" else configurations - 1
    limit = min(max(most, fewest), max(SELECTION.max_constants, fewest))
    usable = [e for e in ordered if len(e.constants) <= limit]
    left_out = len(ordered) - len(usable)
    if choice == "largest":
        usable = usable[-1:]
    if not left_out:
        return usable, []
    too_few = limit < SELECTION.max_constants
    reason = f"{configurations} configurations are too few" if too_few else f"more than {limit} constants"
    if choice == "largest":
        fitted, whole = len(usable[0].constants), len(ordered[-1].constants)
        text = f"'{ordered[0].family}' is fitted with {fitted} of its {whole} constants: {reason} for more"
    else:
        larger = f"{left_out} larger structure{'s' * (left_out > 1)}"
        text = f"{larger} of '{ordered[0].family}' left out: {reason}"
    return usable, [Note(text, "fewer_terms")]


def candidates_of(
    expressions: Sequence[Expression], table: Table, options: FitOptions, seed: int, robust: bool = False
) -> list[Candidate]:
    """Fit every expression with every requested λ, and compute its errors on held-out rows.

    The whole table and the training rows of each fold are one batch: sets of constants that differ in their weights.
    Each part is fitted from starts that do not depend on held-out rows. λ goes from weak to strong, and the best fits
    of each part continue.

    Parameters
    ----------
    expressions : sequence of Expression
        Fewest constants first; larger ones are not tried once `SelectionSettings.patience` sizes in a row were worse
        than the best.
    table : Table
        One row per configuration, the training part only.
    options : FitOptions
    seed : int
    robust : bool
        Whether the rows have Huber's weights too, from the residuals of each part.

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
    path = DEFAULTS.lambda_path if options.lam in (None, "cv") else (options.strength,)
    candidates: list[Candidate] = []
    best, worse_sizes = np.inf, 0
    for _, of_one_size in groupby(expressions, key=lambda e: len(e.constants)):
        error = np.inf
        for expression in of_one_size:
            along_path = _along_path(expression, table, parts, _Path(path, options, seed, robust))
            candidates += along_path
            error = min([error, *(c.error for c in along_path)])
        worse_sizes = worse_sizes + 1 if error > best * (1.0 + SELECTION.worse) else 0
        best = min(best, error)
        if worse_sizes == SELECTION.patience:
            break
    if not candidates:
        raise FitError("no constants within the bounds give finite values", hint="check the formula and its bounds")
    return candidates


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the simplest candidate whose held-out errors are as small as the best one's.

    As small: the mean error is larger by no more than the standard error of the difference over the configurations
    (the one-standard-error rule of Breiman et al. 1984, paired). Simplest: the fewest constants, of these the
    strongest penalty, and of these the smallest error. Where no row was held out, the candidates with the constants
    and the penalty of the first one are compared by how well they fit.
    """
    best = ranked(candidates)[0]
    if not np.isfinite(best.error):
        alike = [c for c in candidates if _simplicity(c) == _simplicity(best)]
        return min(alike, key=lambda c: round(c.fit_error, SELECTION.fit_digits))
    close = []
    for candidate in candidates:
        excess = candidate.errors - best.errors
        if np.mean(excess) <= np.std(excess) / np.sqrt(excess.size):
            close.append(candidate)
    return min(close, key=lambda c: (_simplicity(c), c.error))


def _simplicity(candidate: Candidate) -> tuple[int, float]:
    """Return what makes a candidate simpler than others, smallest first: its constants, then its penalty."""
    return len(candidate.expression.constants), -candidate.strength


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates by held-out error, best first."""
    return sorted(candidates, key=lambda c: c.error if np.isfinite(c.error) else np.inf)


def judged_rows(rows: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Return the rows that a choice is made on: all, or `SelectionSettings.max_rows` of them, drawn at random."""
    return np.arange(rows) if rows <= SELECTION.max_rows else np.sort(rng.permutation(rows)[: SELECTION.max_rows])


def fit_parts(problem: Problem, starts: Array, weights: Array) -> tuple[Array, Array]:
    """Fit every part of the rows from several starts, roughly.

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
    polished = _polished(problem, starts.reshape(-1, n), np.repeat(weights, count, axis=0))
    cost = polished.cost.reshape(parts, count)
    order = np.argsort(cost, axis=1, kind="stable")
    constants = np.take_along_axis(polished.constants.reshape(starts.shape), order[:, :, None], axis=1)
    return constants, np.take_along_axis(cost, order, axis=1)


def _polished(problem: Problem, starts: Array, weights: Array) -> Polished:
    """Polish until a choice can be made.

    Parameters
    ----------
    problem : Problem
    starts : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows)

    Returns
    -------
    Polished
    """
    return polish(problem, starts, weights, SELECTION.max_steps, SELECTION.relative_tolerance)


def reweighted(
    problem: Problem, constants: Array, weights: Array, rounds: int = SELECTION.robust_rounds
) -> tuple[Array, Array]:
    """Refit constants with Huber's weights, for each set from its residuals.

    Parameters
    ----------
    problem : Problem
    constants : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows)
    rounds : int
        Rounds of new weights and a polish.

    Returns
    -------
    constants : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows)
        Of the last round.
    """
    robust = weights
    for _ in range(rounds):
        robust = huber_weights(problem.predict(constants), problem.measured, weights)
        constants = _polished(problem, constants, robust).constants
    return constants, robust


@dataclass(frozen=True)
class _Path:
    """How an expression is fitted along the path of λ.

    Attributes
    ----------
    strengths : sequence of float
        λ, weakest first.
    options : FitOptions
    seed : int
    robust : bool
    """

    strengths: Sequence[float]
    options: FitOptions
    seed: int
    robust: bool


def _along_path(expression: Expression, table: Table, parts: Mask, path: _Path) -> list[Candidate]:
    """Fit an expression with every λ of a path, to the whole table and to each fold's training rows.

    Parameters
    ----------
    expression : Expression
    table : Table
        One row per configuration.
    parts : ndarray of bool of shape (1 + folds, rows)
        Training rows: all of them first, then each fold's.
    path : _Path

    Returns
    -------
    list of Candidate
        One for each λ; none where no constants within the bounds give finite values.
    """
    options = path.options
    penalty = penalty_named(options.penalty, path.strengths[0])
    problem = problem_of(expression, table, loss_named(options.loss), penalty)
    weights = np.where(parts, problem.weights, 0.0)
    starts = spread_starts(problem, SELECTION.starts, np.random.default_rng([path.seed, 3]))
    sets = np.broadcast_to(starts, (len(parts), *starts.shape))
    candidates = []
    for strength in path.strengths:
        penalised = replace(problem, penalty=penalty_named(options.penalty, strength))
        sets, cost = fit_parts(penalised, sets, weights)
        if not cost[0, 0] < 0.1 * IMPOSSIBLE_COST:
            return []
        sets = sets[:, : SELECTION.kept_starts]
        fitted = reweighted(penalised, sets[:, 0], weights)[0] if path.robust else sets[:, 0]
        with np.errstate(all="ignore"):
            predicted = penalised.predict(fitted)
        fit_error = float(np.mean(np.abs(predicted[0] / table.measured - 1.0)))
        held_out = np.full(len(table), np.nan)
        for train, of_fold in zip(parts[1:], predicted[1:], strict=True):
            held_out[~train] = of_fold[~train]
        errors = np.abs(held_out / table.measured - 1.0)
        if len(parts) > 1:
            errors = SELECTION.limited(errors)
        with np.errstate(all="ignore"):
            residuals, by_fold = np.log(table.measured / held_out), np.log(predicted[1:])
        candidates.append(Candidate(expression, strength, fitted[0], residuals, errors, parts[1:], by_fold, fit_error))
    return candidates
