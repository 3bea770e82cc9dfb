"""Series fitted with one linear expression, all at once: constants, λ, replicates, look back, diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError
from genperf.estimate.bootstrap import resampled
from genperf.estimate.diagnose import undetermined
from genperf.estimate.last_point import last_point_errors
from genperf.estimate.linear import Batch, batch_of
from genperf.estimate.options import LAMBDA_PATH, FitOptions
from genperf.estimate.outcome import Estimate, spread_of
from genperf.estimate.select import MOST_ROWS, WILDEST, folds_of
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

    What is done is what `estimate` does for any expression: the full fit with the λ that is given or chosen by
    cross-validation, bootstrap replicates, the largest scale predicted from the smaller ones, and which constants the
    data determines. Here every one of these is the same least-squares problem with other weights.

    Parameters
    ----------
    expression : Expression
    tables : sequence of Table
        With their repeats.
    options : FitOptions
    seed : int

    Returns
    -------
    list of Estimate or FitError
        In the order of the tables; an error where a table's times are not finite within the bounds.
    """
    medians = [table.medians() for table in tables]
    batch = batch_of(expression, medians, loss_named(options.loss), penalty_named(options.penalty, options.strength))
    strength = np.full(len(tables), options.strength)
    spent = 1
    if options.lam == "cv":
        strength, spent = _chosen_strength(batch, seed)
    best = batch.fit(batch.weights[:, None, :], strength)[:, 0]
    with np.errstate(all="ignore"):
        cost = batch.cost(best, strength)
        residual = np.log(batch.measured / batch.times(best[:, None, :])[:, 0])
    draws, misfit = _replicates(batch, strength, options.draws, seed)
    seen = _look_back(batch, strength, medians)
    held, flat = _at_bounds(batch, best), _undetermined(batch, best)
    names = expression.constant_names
    out: list[Estimate | FitError] = []
    for i, table in enumerate(tables):
        if not np.isfinite(cost[i]):
            out.append(
                FitError("no constants within the bounds give finite times", hint="check the formula and its bounds")
            )
            continue
        member = Member(
            expression,
            best[i],
            draws[i],
            1.0,
            Status(options.solver, float(cost[i]), True, spent, 1, 1),
            tuple(name for name, at in zip(names, held[i], strict=True) if at),
            tuple(name for name, is_flat in zip(names, flat[i], strict=True) if is_flat),
        )
        spread = spread_of(table, float(misfit[i]), residual[i], len(names), seen[i])
        out.append(Estimate(member, float(strength[i]), spread, tuple(seen[i])))
    return out


def _chosen_strength(batch: Batch, seed: int) -> tuple[Array, int]:
    """Choose λ by cross-validation for every series; return it, and the solutions made for each.

    The strongest whose mean held-out error is within one standard error of the best one's, as `best_of` chooses.
    """
    series, rows = batch.measured.shape
    rng = np.random.default_rng([seed, 2])
    chosen = np.arange(rows) if rows <= MOST_ROWS else np.sort(rng.permutation(rows)[:MOST_ROWS])
    folds = folds_of(len(chosen), rng)
    if not len(folds):
        return np.full(series, LAMBDA_PATH[0]), 1
    train = np.zeros((len(folds), rows), bool)
    train[:, chosen] = folds
    held = np.zeros((len(folds), rows), bool)
    held[:, chosen] = ~folds
    off = np.empty((series, len(LAMBDA_PATH), len(chosen)))
    for block in batch.blocks(len(folds)):
        part = batch.take(block)
        weights = np.where(train, part.weights[:, None, :], 0.0)
        for k, strength in enumerate(LAMBDA_PATH):
            with np.errstate(all="ignore"):
                times = part.times(part.fit(weights, np.full(len(part.measured), strength)))
                unseen = np.sum(np.where(held, times, 0.0), axis=1)
                wrong = np.abs(unseen / part.measured - 1.0)[:, chosen]
            off[block, k] = np.where(np.isfinite(wrong), np.minimum(wrong, WILDEST), WILDEST)
    best = np.argmin(off.mean(axis=2), axis=1)
    more = off - np.take_along_axis(off, best[:, None, None], axis=1)
    close = more.mean(axis=2) <= more.std(axis=2) / np.sqrt(len(chosen))
    return np.max(np.where(close, LAMBDA_PATH, -np.inf), axis=1), len(folds) * len(LAMBDA_PATH) + 1


def _replicates(batch: Batch, strength: Array, draws: int, seed: int) -> tuple[Array, Array]:
    """Return the bootstrap's constants (series, draws, n), and the misfit on unseen configurations (series,)."""
    series, rows = batch.measured.shape
    counts = resampled(rows, draws, np.random.default_rng([seed, 1]))
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    which = which.reshape(draws)
    found = np.empty((series, draws, batch.scale.shape[1]))
    misfit = np.empty(series)
    for block in batch.blocks(draws):
        part = batch.take(block)
        weights = distinct * part.weights[:, None, :]
        empty = weights.sum(axis=2, keepdims=True) <= 0.0
        weights = np.where(empty, part.weights[:, None, :], weights)
        constants = part.fit(weights, strength[block])
        found[block] = constants[:, which]
        with np.errstate(all="ignore"):
            off = np.log(part.measured[:, None, :] / part.times(constants))[:, which]
        unseen = (counts == 0.0) & np.isfinite(off)
        with np.errstate(all="ignore"):
            # Along one axis: over two, the order of the sum would depend on how many series there are.
            squares = np.where(unseen, off**2, 0.0).reshape(len(off), -1)
            misfit[block] = np.sqrt(squares.sum(axis=1) / unseen.reshape(len(off), -1).sum(axis=1))
    return found, misfit


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
        asked = np.flatnonzero((distinct >= 3) & (below > 0.0))
        if not asked.size:
            continue
        part = batch.take(asked)
        held = values[asked] == largest[asked, None]
        constants = part.fit(np.where(held, 0.0, part.weights)[:, None, :], strength[asked])
        with np.errstate(all="ignore"):
            off = np.abs(np.log(part.times(constants)[:, 0] / part.measured))
            error = np.sum(np.where(held, off, 0.0), axis=1) / held.sum(axis=1)
        last = last_point_errors([medians[i] for i in asked.tolist()], factor.name, held)
        for j, i in enumerate(asked.tolist()):
            if np.isfinite(error[j]):
                doublings = float(np.log2(largest[i] / below[i]))
                seen = Evidence(factor.name, float(largest[i]), doublings, float(error[j]), float(last[j]))
                out[i].append(seen)
    return out


def _at_bounds(batch: Batch, best: Array) -> Mask:
    lower, upper = batch.lower, batch.upper
    room = 1e-6 * np.where(np.isfinite(upper - lower), upper - lower, batch.scale)
    return np.asarray((best <= lower + room) | (best >= upper - room))


def _undetermined(batch: Batch, best: Array) -> Mask:
    size = np.maximum(np.abs(best), 1e-3 * batch.scale)
    return undetermined(batch.basis * size[:, None, :] / batch.measured[:, :, None])
