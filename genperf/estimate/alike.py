"""Series fitted with one linear expression, all at once: constants, λ, replicates, look back, diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError
from genperf.estimate.bootstrap import resampled
from genperf.estimate.diagnose import DIAGNOSIS, near_bounds, undetermined
from genperf.estimate.last_point import last_point_errors
from genperf.estimate.linear import Batch, batch_of
from genperf.estimate.options import DEFAULTS, FitOptions
from genperf.estimate.order import in_order
from genperf.estimate.outcome import Estimate, spread_of
from genperf.estimate.select import SELECTION, folds_of, judged_rows
from genperf.expression import Expression
from genperf.losses import loss_named, penalty_named
from genperf.prediction import Evidence, Member, Status
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def estimate_alike(
    expression: Expression, tables: Sequence[Table], options: FitOptions, seed: int
) -> list[Estimate | FitError]:
    """Fit one expression that is `solved_at_once` to many tables of equally many configurations.

    The steps are those of `estimate`: the full fit with the λ that is given or chosen by cross-validation, bootstrap
    replicates, the look back, and the diagnosis of the constants. Here each step is the same least-squares problem
    with other weights.

    Parameters
    ----------
    tables : sequence of Table
        With their repeats.

    Returns
    -------
    list of Estimate or FitError
        In the order of the tables; an error where a table's predictions are not finite within the bounds.
    """
    medians = [in_order(table.medians()) for table in tables]
    batch = batch_of(expression, medians, loss_named(options.loss), penalty_named(options.penalty, options.strength))
    strength = np.full(len(tables), options.strength)
    solutions = 1
    if options.lam == "cv":
        strength, solutions = _chosen_strength(batch, seed)
    best = batch.fit(batch.weights[:, None, :], strength)[:, 0]
    with np.errstate(all="ignore"):
        cost = batch.cost(best, strength)
        residuals = np.log(batch.measured / batch.predict(best[:, None, :])[:, 0])
    draws, misfit = _replicates(batch, strength, options.draws, seed)
    evidence = _look_back(batch, strength, medians)
    held, flat = near_bounds(best, (batch.lower, batch.upper), batch.scale), _undetermined(batch, best)
    names = expression.constant_names
    out: list[Estimate | FitError] = []
    for i, table in enumerate(tables):
        if not np.isfinite(cost[i]):
            out.append(
                FitError("no constants within the bounds give finite values", hint="check the formula and its bounds")
            )
            continue
        member = Member(
            expression,
            best[i],
            draws[i],
            1.0,
            Status(options.solver, float(cost[i]), True, solutions, 1, 1),
            tuple(name for name, at in zip(names, held[i], strict=True) if at),
            tuple(name for name, is_flat in zip(names, flat[i], strict=True) if is_flat),
        )
        spread = spread_of(table, float(misfit[i]), residuals[i], len(names), evidence[i])
        out.append(Estimate(member, float(strength[i]), spread, tuple(evidence[i])))
    return out


def _chosen_strength(batch: Batch, seed: int) -> tuple[Array, int]:
    """Choose λ by cross-validation for every series: the rule of `best_of`."""
    series, rows = batch.measured.shape
    rng = np.random.default_rng([seed, 2])
    path = DEFAULTS.lambda_path
    chosen = judged_rows(rows, rng)
    folds = folds_of(len(chosen), rng)
    if not len(folds):
        return np.full(series, path[0]), 1
    train = np.zeros((len(folds), rows), bool)
    train[:, chosen] = folds
    held = np.zeros((len(folds), rows), bool)
    held[:, chosen] = ~folds
    errors = np.empty((series, len(path), len(chosen)))
    for block in batch.blocks(len(folds)):
        part = batch.take(block)
        weights = np.where(train, part.weights[:, None, :], 0.0)
        for k, strength in enumerate(path):
            with np.errstate(all="ignore"):
                predicted = part.predict(part.fit(weights, np.full(len(part.measured), strength)))
                held_out = np.sum(np.where(held, predicted, 0.0), axis=1)
                errors[block, k] = SELECTION.limited(np.abs(held_out / part.measured - 1.0)[:, chosen])
    best = np.argmin(errors.mean(axis=2), axis=1)
    excess = errors - np.take_along_axis(errors, best[:, None, None], axis=1)
    close = excess.mean(axis=2) <= SELECTION.standard_errors * excess.std(axis=2) / np.sqrt(len(chosen))
    return np.max(np.where(close, path, -np.inf), axis=1), len(folds) * len(path) + 1


def _replicates(batch: Batch, strength: Array, draws: int, seed: int) -> tuple[Array, Array]:
    """Draw bootstrap replicates of every series, the same configurations in each."""
    series, rows = batch.measured.shape
    counts = resampled(rows, draws, np.random.default_rng([seed, 1]))
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    which = which.reshape(draws)
    constants = np.empty((series, draws, batch.scale.shape[1]))
    misfit = np.empty(series)
    for block in batch.blocks(draws):
        part = batch.take(block)
        weights = distinct * part.weights[:, None, :]
        empty = weights.sum(axis=2, keepdims=True) <= 0.0
        weights = np.where(empty, part.weights[:, None, :], weights)
        solutions = part.fit(weights, strength[block])
        constants[block] = solutions[:, which]
        with np.errstate(all="ignore"):
            residuals = np.log(part.measured[:, None, :] / part.predict(solutions))[:, which]
        held_out = (counts == 0.0) & np.isfinite(residuals)
        with np.errstate(all="ignore"):
            # Along one axis: over two, the order of the sum would depend on the number of series.
            squares = np.where(held_out, residuals**2, 0.0).reshape(len(residuals), -1)
            misfit[block] = np.sqrt(squares.sum(axis=1) / held_out.reshape(len(residuals), -1).sum(axis=1))
    return constants, misfit


def _look_back(batch: Batch, strength: Array, medians: Sequence[Table]) -> list[list[Evidence]]:
    """Predict the largest scale of each extrinsic factor from the smaller ones, in every series."""
    out: list[list[Evidence]] = [[] for _ in medians]
    for factor in medians[0].numeric:
        if factor.role != "extrinsic":
            continue
        values = np.stack([m.columns[factor.name] for m in medians])
        ordered = np.sort(values, axis=1)
        distinct = 1 + np.sum(np.diff(ordered, axis=1) > 0.0, axis=1)
        largest = ordered[:, -1]
        below = np.max(np.where(values < largest[:, None], values, -np.inf), axis=1)
        judged = np.flatnonzero((distinct >= 3) & (below > 0.0))
        if not judged.size:
            continue
        part = batch.take(judged)
        held = values[judged] == largest[judged, None]
        constants = part.fit(np.where(held, 0.0, part.weights)[:, None, :], strength[judged])
        with np.errstate(all="ignore"):
            residuals = np.abs(np.log(part.predict(constants)[:, 0] / part.measured))
            error = np.sum(np.where(held, residuals, 0.0), axis=1) / held.sum(axis=1)
        last = last_point_errors([medians[i] for i in judged.tolist()], factor.name, held)
        for j, i in enumerate(judged.tolist()):
            if np.isfinite(error[j]):
                doublings = float(np.log2(largest[i] / below[i]))
                out[i].append(Evidence(factor.name, float(largest[i]), doublings, float(error[j]), float(last[j])))
    return out


def _undetermined(batch: Batch, best: Array) -> Mask:
    """Return which constants the data does not determine, shape (series, n)."""
    size = np.maximum(np.abs(best), DIAGNOSIS.least_size * batch.scale)
    return undetermined(batch.basis * size[:, None, :] / batch.measured[:, :, None])
