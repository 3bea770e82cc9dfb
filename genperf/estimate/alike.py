"""Families whose constants are all coefficients: many series, replicates and folds in one exact solve.

The prediction is `T = o + B·c`. The basis B and the offset o follow from the factors alone; o is not zero where
constants are held at values. For a quadratic loss the best c ≥ 0 is one non-negative least-squares problem. Series with
the same expression and the same number of configurations are in one array. A full fit, a bootstrap replicate
and a look back differ in their weights alone. A single table is a batch of one: the numbers of a series do not depend
on which others are fitted beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index, Integers, Mask
from genperf.errors import FitError
from genperf.estimate.options import FitOptions
from genperf.estimate.outcome import at_bounds, look_back, of_one, resampled, spread_of, undetermined
from genperf.estimate.problem import basis_sizes
from genperf.expression import Expression
from genperf.formula import evaluate_with_gradient
from genperf.losses import Loss, Penalty, loss_named, penalty_named
from genperf.panel import Table
from genperf.prediction import Ensemble, Member, Status
from genperf.result.arrays import in_single_precision
from genperf.solver import blocks, no_values, penalised_least_squares
from genperf.solver.search import LEAST_COEFFICIENT


class Batch(Struct, frozen=True, eq=False):
    """Series with the same linear expression and the same number of configurations."""

    basis: Array  #: Shape (series, rows, n). Derivative of the prediction by each coefficient.
    offset: Array  #: Shape (series, rows). Prediction with every coefficient zero, in the target's unit.
    #: Shape (series, rows).
    measured: Array
    weights: Array
    scale: Array  #: Shape (series, n). A coefficient divided by its scale is the share of the mean that it explains.
    #: A quadratic one.
    loss: Loss
    penalty: Penalty
    bounds: tuple[Array, Array]  #: Shape (n,). Lower and upper bounds of the coefficients.
    penalised: Mask  #: Shape (n,). The coefficients with a penalty.

    def take(self, series: Integers | slice) -> Batch:
        """Return some of the series."""
        held = {name: getattr(self, name)[series] for name in ("basis", "offset", "measured", "weights", "scale")}
        return replace(self, **held)

    def fit(self, weights: Array) -> Array:
        """Return the best coefficients for every set of weights, (series, sets, rows) → (series, sets, n)."""
        series, sets, _ = weights.shape
        n = self.scale.shape[1]
        shares, size = self._shares(weights)
        target = self.measured - self.offset
        # The curvature of a quadratic loss is the same at every prediction.
        measured = np.broadcast_to(self.measured[:, None, :], weights.shape)
        omega = shares * self.loss.curvature(measured, measured, size)
        # BᵀωB and Bᵀω(t − o) of every set; the products of two columns of B are the same for all sets of a series.
        with np.errstate(all="ignore"):
            squares = (self.basis[:, :, :, None] * self.basis[:, :, None, :]).reshape(series, -1, n * n)
            gram = (omega @ squares).reshape(series, sets, n, n)
            moment = omega @ (self.basis * target[:, :, None])
        scale = self.scale[:, None, :]
        return penalised_least_squares(gram, moment, self.penalty, scale, self.penalised, self.bounds)

    def predict(self, constants: Array) -> Array:
        """Return predicted values of shape (series, sets, rows) for constants of shape (series, sets, n)."""
        return np.asarray(self.offset[:, None, :] + constants @ np.swapaxes(self.basis, 1, 2))

    def cost(self, constants: Array) -> Array:
        """Return the cost of each series, (series, n) → (series,)."""
        shares, size = self._shares(self.weights[:, None, :])
        losses = self.loss.value(self.predict(constants[:, None, :]), self.measured[:, None, :], size)
        scaled = np.where(self.penalised, constants / self.scale, 0.0)
        return np.asarray(np.sum(shares * losses, axis=2)[:, 0] + self.penalty.value(scaled))

    def _shares(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights as shares of one, and the weighted mean measured value, (series, sets, 1)."""
        with np.errstate(invalid="ignore"):
            shares = weights / weights.sum(axis=2, keepdims=True)
        return shares, np.sum(shares * self.measured[:, None, :], axis=2, keepdims=True)


def at_once(expression: Expression, options: FitOptions) -> bool:
    """Return whether all constants are free coefficients of a linear sum, the loss is quadratic, and λ is given."""
    plain = all(c.kind == "coefficient" and c.lower < c.upper for c in expression.constants)
    exact = loss_named(options.loss).quadratic and options.solver == "projected" and options.lam != "cv"
    return bool(expression.constants) and plain and exact and expression.is_linear


def batch_of(expression: Expression, medians: Sequence[Table], options: FitOptions) -> Batch:
    """Stack tables of equally many configurations into one batch of least-squares problems T = offset + basis·θ."""
    shape = (len(medians), len(medians[0]))
    columns = {name: np.stack([m.columns[name] for m in medians]) for name in expression.factors}
    measured, weights = np.stack([m.measured for m in medians]), np.stack([m.weights for m in medians])
    names = expression.constant_names
    zero_constants = dict.fromkeys(names, 0.0)
    offset, slopes = evaluate_with_gradient(expression.node, {**columns, **zero_constants}, names)
    basis = np.stack([np.broadcast_to(slopes.get(name, 0.0), shape) for name in names], axis=2)
    mean = np.sum(weights * measured, axis=1) / np.sum(weights, axis=1)
    scale = mean[:, None] / basis_sizes(expression, columns, zero_constants, shape)
    constant_part = np.array(np.broadcast_to(offset, shape), dtype=float)
    loss, penalty = loss_named(options.loss), penalty_named(options.penalty, options.strength)
    bounds = tuple(np.array([[c.lower, c.upper] for c in expression.constants], float).T)
    penalised = np.array([c.penalised for c in expression.constants], bool)
    return Batch(np.ascontiguousarray(basis), constant_part, measured, weights, scale, loss, penalty, bounds, penalised)


def estimate_alike(expression: Expression, tables: Sequence[Table], options: FitOptions) -> list[Ensemble | FitError]:
    """Fit one expression that is solved `at_once` to many tables of equally many configurations, as `estimate` does."""
    medians = [table.medians() for table in tables]
    batch = batch_of(expression, medians, options)
    best = batch.fit(batch.weights[:, None, :])[:, 0]
    with np.errstate(all="ignore"):
        cost = batch.cost(best)
        predicted = batch.predict(best[:, None, :])[:, 0]
        residuals = np.log(batch.measured / predicted)
    draws, misfit = _replicates(batch, options.draws)

    def errors_of(series: Index, held: Mask, below: Mask) -> Array:
        """Return the mean error of some series at held-out rows of a refit to the rows below."""
        selection = batch.take(series)
        constants = selection.fit(np.where(below, selection.weights, 0.0)[:, None, :])
        errors = np.abs(np.log(selection.predict(constants)[:, 0] / selection.measured))
        return np.asarray(np.sum(np.where(held, errors, 0.0), axis=1) / held.sum(axis=1))

    look_backs = look_back(medians, errors_of)
    size = np.maximum(np.abs(best), LEAST_COEFFICIENT * batch.scale)
    undetermined_of = undetermined(batch.basis * size[:, None, :] / batch.measured[:, :, None])
    at_bounds_of = at_bounds(best, batch.bounds, batch.scale)
    ensembles: list[Ensemble | FitError] = []
    for i, table in enumerate(tables):
        if not np.isfinite(cost[i]):
            ensembles.append(no_values())
            continue
        status = Status(options.solver, float(cost[i]), True, 1, 1, 1)
        bounded, undetermined_names = expression.named(at_bounds_of[i]), expression.named(undetermined_of[i])
        member = Member(expression, best[i], draws[i], 1.0, status, bounded, undetermined_names)
        spread = spread_of(table, float(misfit[i]), residuals[i], best.shape[1], look_backs[i])
        ensemble = of_one(member, spread, look_backs[i], options, options.strength)
        ensembles.append(replace(ensemble, fitted=(predicted[i], batch.measured[i])))
    return ensembles


def _replicates(batch: Batch, draws: int) -> tuple[Array, Array]:
    """Return the coefficients of bootstrap replicates, (series, draws, n), and each series' misfit."""
    series, rows = batch.measured.shape
    counts = resampled(rows, draws)
    # Replicates that draw the same configurations are solved once.
    distinct, which = np.unique(counts, axis=0, return_inverse=True)
    which = which.reshape(draws)
    constants, misfit = np.empty((series, draws, batch.scale.shape[1])), np.empty(series)
    # Blocks of bounded memory.
    for block in blocks(series, draws * max(rows, batch.scale.shape[1] ** 2)):
        taken = batch.take(block)
        weights = distinct * taken.weights[:, None, :]
        empty = weights.sum(axis=2, keepdims=True) <= 0.0
        solutions = taken.fit(np.where(empty, taken.weights[:, None, :], weights))
        constants[block] = solutions[:, which]
        with np.errstate(all="ignore"):
            # Along one axis: over two, the order of the sum would depend on the number of series.
            residuals = np.log(taken.measured[:, None, :] / taken.predict(solutions))[:, which]
            residuals = residuals.reshape(len(weights), draws * rows)
            held_out = (counts == 0.0).ravel() & np.isfinite(residuals)
            misfit[block] = np.sqrt(np.where(held_out, residuals**2, 0.0).sum(axis=1) / held_out.sum(axis=1))
    return in_single_precision(constants), misfit
