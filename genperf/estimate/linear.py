"""Families whose constants are all coefficients: many series, replicates and folds in one exact solve.

The prediction is `T = o + B·c`. The basis B and the offset o follow from the factors alone; o is not zero where
constants are held at values. For a quadratic loss the best c ≥ 0 is one non-negative least-squares problem. Series with
the same expression and the same number of configurations stand in one array. A full fit, a bootstrap replicate, a fold
and a look back differ in their weights alone. A single table is a batch of one: the numbers of a series do not depend
on which others are fitted beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.expression import Expression
from genperf.formula import evaluate_with_gradient
from genperf.losses import Loss, Penalty
from genperf.solver import penalised_least_squares
from genperf.solver.problem import EVALUATION
from genperf.table import Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """Series with the same linear expression and the same number of configurations."""

    expression: Expression
    #: Shape (series, rows, n). Derivative of the prediction by each coefficient.
    basis: Array
    #: Shape (series, rows). Prediction with every coefficient zero, in the target's unit.
    offset: Array
    #: Shape (series, rows).
    measured: Array
    weights: Array
    #: Shape (series, n). A coefficient divided by its scale is the share of the mean that it explains.
    scale: Array
    #: A quadratic one.
    loss: Loss
    #: Its kind; the strength is an argument of `fit` and `cost`.
    penalty: Penalty

    @property
    def lower(self) -> Array:
        """The coefficients' lower bounds, shape (n,)."""
        return np.array([c.lower for c in self.expression.constants], float)

    @property
    def upper(self) -> Array:
        """The coefficients' upper bounds, shape (n,)."""
        return np.array([c.upper for c in self.expression.constants], float)

    @property
    def penalised(self) -> npt.NDArray[np.bool_]:
        """The coefficients with a penalty, shape (n,)."""
        return np.array([c.penalised for c in self.expression.constants], bool)

    def take(self, series: npt.NDArray[np.int64] | slice) -> Batch:
        """Return some of the series."""
        held = {name: getattr(self, name)[series] for name in ("basis", "offset", "measured", "weights", "scale")}
        return replace(self, **held)

    def blocks(self, sets: int) -> list[slice]:
        """Cut the series into blocks of bounded memory, for a number of sets of weights each."""
        series, rows, n = self.basis.shape
        step = max(1, EVALUATION.block_numbers // max(1, sets * max(rows, n * n)))
        return [slice(i, min(i + step, series)) for i in range(0, series, step)]

    def fit(self, weights: Array, strength: Array) -> Array:
        """Return the best coefficients for every set of weights.

        Parameters
        ----------
        weights : ndarray of shape (series, sets, rows)
        strength : ndarray of shape (series,)
            λ.

        Returns
        -------
        ndarray of shape (series, sets, n)
        """
        series, sets, _ = weights.shape
        n = self.scale.shape[1]
        shares, size = self._shares(weights)
        target = self.measured - self.offset
        shape = np.broadcast_to(self.measured[:, None, :], weights.shape)
        omega = shares * self.loss.curvature(shape, shape, size)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = (self.basis[:, :, :, None] * self.basis[:, :, None, :]).reshape(series, -1, n * n)
        with np.errstate(all="ignore"):
            gram = (omega @ squares).reshape(series, sets, n, n)
            moment = omega @ (self.basis * target[:, :, None])
        lam, scale = strength[:, None, None], self.scale[:, None, :]
        ridge = np.where(self.penalised, 0.5 * lam * (1.0 - self.penalty.l1_share) / scale**2, 0.0)
        lasso = np.where(self.penalised, 0.5 * lam * self.penalty.l1_share / scale, 0.0)
        flat = (series * sets, n)
        coefficients = penalised_least_squares(
            gram.reshape(*flat, n),
            moment.reshape(flat),
            np.broadcast_to(ridge, moment.shape).reshape(flat),
            np.broadcast_to(lasso, moment.shape).reshape(flat),
            self.lower,
            self.upper,
        )
        return coefficients.reshape(series, sets, n)

    def predict(self, constants: Array) -> Array:
        """Return predicted values of shape (series, sets, rows) for constants of shape (series, sets, n)."""
        return np.asarray(self.offset[:, None, :] + constants @ np.swapaxes(self.basis, 1, 2))

    def cost(self, constants: Array, strength: Array) -> Array:
        """Return the cost of each series, (series, n) → (series,), with λ of shape (series,)."""
        shares, size = self._shares(self.weights[:, None, :])
        losses = self.loss.value(self.predict(constants[:, None, :]), self.measured[:, None, :], size)
        scaled = np.where(self.penalised, constants / self.scale, 0.0)
        unit = replace(self.penalty, strength=1.0).value(scaled)
        return np.asarray(np.sum(shares * losses, axis=2)[:, 0] + strength * unit)

    def _shares(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights as shares of one, and the weighted mean measured value of every set."""
        with np.errstate(invalid="ignore"):
            shares = weights / weights.sum(axis=2, keepdims=True)
        return shares, np.sum(shares * self.measured[:, None, :], axis=2, keepdims=True)


def solved_at_once(expression: Expression, loss: Loss, penalty: Penalty) -> bool:
    """Return whether one least-squares solution is the best fit of an expression.

    It is if all constants are coefficients, the prediction is linear in them, the loss is quadratic and an L1 penalty
    has no kink inside their bounds.
    """
    constants = expression.constants
    plain = all(c.kind == "coefficient" and c.lower < c.upper for c in constants)
    kinked = penalty.l1_share > 0.0 and any(c.lower < 0.0 < c.upper for c in constants)
    return bool(constants) and plain and loss.quadratic and expression.is_linear and not kinked


def batch_of(expression: Expression, medians: Sequence[Table], loss: Loss, penalty: Penalty) -> Batch:
    """Put series into one batch.

    Parameters
    ----------
    expression : Expression
        One that is `solved_at_once`.
    medians : sequence of Table
        One row per configuration, all of the same length.
    """
    rows = len(medians[0])
    shape = (len(medians), rows)
    columns = {name: np.stack([m.columns[name] for m in medians]) for name in expression.factors}
    measured = np.stack([m.measured for m in medians])
    weights = np.stack([m.weights for m in medians])
    names = expression.constant_names
    zeros = dict.fromkeys(names, 0.0)
    offset, slopes = evaluate_with_gradient(expression.node, {**columns, **zeros}, names)
    basis = np.empty((*shape, len(names)))
    for j, name in enumerate(names):
        basis[:, :, j] = slopes.get(name, 0.0)
    mean = np.sum(weights * measured, axis=1) / np.sum(weights, axis=1)
    sizes = _basis_sizes(expression, columns, shape)
    varies = np.isfinite(sizes) & (sizes > 0.0)
    scale = mean[:, None] / np.where(varies, sizes, 1.0)
    filled = np.array(np.broadcast_to(offset, shape), dtype=float)
    return Batch(expression, basis, filled, measured, weights, scale, loss, penalty)


def _basis_sizes(expression: Expression, columns: dict[str, Array], shape: tuple[int, int]) -> Array:
    """Return the mean size of each coefficient's basis function, summed over the terms."""
    names = expression.constant_names
    zeros = dict.fromkeys(names, 0.0)
    sizes = np.zeros((shape[0], len(names)))
    for term in expression.terms:
        _, slopes = evaluate_with_gradient(term.node, {**columns, **zeros}, names)
        for j, name in enumerate(names):
            size = np.mean(np.abs(np.broadcast_to(slopes.get(name, 0.0), shape)), axis=1)
            sizes[:, j] += np.where(np.isfinite(size), size, 0.0)
    return sizes
