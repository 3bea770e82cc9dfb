"""Families whose constants are all coefficients: many series, replicates and folds in one exact solve.

The time is `T = o + B·c` with the basis B and the offset o known from the factors alone (o is not zero where constants
are held at values). For a quadratic loss the best c ≥ 0 is one non-negative least-squares problem. Series with the same
expression and the same number of configurations stand in one array, and what differs between a full fit, a bootstrap
replicate, a fold and a look back is the weights alone. A single table is a batch of one: the numbers of a series do
not depend on which others are fitted beside it.
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
from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Numbers in the largest array of one block: bounds the memory, whatever the series, the sets and the rows.
BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Series with the same linear expression and the same number of configurations.

    Attributes
    ----------
    expression : Expression
    basis : ndarray of shape (series, rows, n)
        Seconds per unit of each coefficient.
    offset : ndarray of shape (series, rows)
        Seconds with every coefficient zero.
    measured, weights : ndarray of shape (series, rows)
    scale : ndarray of shape (series, n)
        A coefficient divided by its scale is the share of the mean time that it explains.
    loss : Loss
        A quadratic one.
    penalty : Penalty
        Its strength is handed to each solve.
    """

    expression: Expression
    basis: Array
    offset: Array
    measured: Array
    weights: Array
    scale: Array
    loss: Loss
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
        """Which coefficients the penalty sees, shape (n,)."""
        return np.array([c.penalised for c in self.expression.constants], bool)

    def take(self, series: npt.NDArray[np.int64] | slice) -> Batch:
        """Return some of the series."""
        held = {name: getattr(self, name)[series] for name in ("basis", "offset", "measured", "weights", "scale")}
        return replace(self, **held)

    def blocks(self, sets: int) -> list[slice]:
        """Cut the series so that arrays of so many sets of weights each stay bounded."""
        series, rows, n = self.basis.shape
        step = max(1, BLOCK // max(1, sets * max(rows, n * n)))
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
        each = (series * sets, n)
        found = penalised_least_squares(
            gram.reshape(*each, n),
            moment.reshape(each),
            np.broadcast_to(ridge, moment.shape).reshape(each),
            np.broadcast_to(lasso, moment.shape).reshape(each),
            self.lower,
            self.upper,
        )
        return found.reshape(series, sets, n)

    def times(self, constants: Array) -> Array:
        """Return seconds of shape (series, sets, rows) for constants of shape (series, sets, n)."""
        return np.asarray(self.offset[:, None, :] + constants @ np.swapaxes(self.basis, 1, 2))

    def cost(self, constants: Array, strength: Array) -> Array:
        """Return the cost with the series' own weights, shape (series,), for constants of shape (series, n)."""
        shares, size = self._shares(self.weights[:, None, :])
        each = self.loss.value(self.times(constants[:, None, :]), self.measured[:, None, :], size)
        scaled = np.where(self.penalised, constants / self.scale, 0.0)
        unit = replace(self.penalty, strength=1.0).value(scaled)
        return np.asarray(np.sum(shares * each, axis=2)[:, 0] + strength * unit)

    def _shares(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights as shares of one, and the weighted mean time of every set."""
        with np.errstate(invalid="ignore"):
            shares = weights / weights.sum(axis=2, keepdims=True)
        return shares, np.sum(shares * self.measured[:, None, :], axis=2, keepdims=True)


def solved_at_once(expression: Expression, loss: Loss, penalty: Penalty) -> bool:
    """Tell whether one least-squares solution is the best fit of an expression.

    So it is where nothing but coefficients is to be found, the time is linear in them, the loss is quadratic and an
    L1 penalty has no kink inside their bounds.
    """
    constants = expression.constants
    plain = all(c.kind == "coefficient" and c.lower < c.upper for c in constants)
    kinked = penalty.l1_share > 0.0 and any(c.lower < 0.0 < c.upper for c in constants)
    return bool(constants) and plain and loss.quadratic and expression.is_linear and not kinked


def batch_of(expression: Expression, medians: Sequence[Table], loss: Loss, penalty: Penalty) -> Batch:
    """Put tables of one row per configuration, all of the same length, into one batch."""
    rows = len(medians[0])
    shape = (len(medians), rows)
    columns = {name: np.stack([m.columns[name] for m in medians]) for name in expression.factors}
    measured = np.stack([m.measured for m in medians])
    weights = np.stack([m.weights for m in medians])
    names = expression.constant_names
    nothing = {c.name: 0.0 for c in expression.constants}
    offset, slopes = evaluate_with_gradient(expression.node, {**columns, **nothing}, names)
    basis = np.empty((*shape, len(names)))
    for j, name in enumerate(names):
        basis[:, :, j] = slopes.get(name, 0.0)
    mean = np.sum(weights * measured, axis=1) / np.sum(weights, axis=1)
    reach = _reach(expression, columns, shape)
    seen = np.isfinite(reach) & (reach > 0.0)
    scale = mean[:, None] / np.where(seen, reach, 1.0)
    filled = np.array(np.broadcast_to(offset, shape), dtype=float)
    return Batch(expression, basis, filled, measured, weights, scale, loss, penalty)


def _reach(expression: Expression, columns: dict[str, npt.NDArray[np.float64]], shape: tuple[int, int]) -> Array:
    """Return the mean of what each coefficient multiplies, summed over the terms, shape (series, n)."""
    names = expression.constant_names
    nothing = dict.fromkeys(names, 0.0)
    reach = np.zeros((shape[0], len(names)))
    for term in expression.terms:
        _, slopes = evaluate_with_gradient(term.node, {**columns, **nothing}, names)
        for j, name in enumerate(names):
            size = np.mean(np.abs(np.broadcast_to(slopes.get(name, 0.0), shape)), axis=1)
            reach[:, j] += np.where(np.isfinite(size), size, 0.0)
    return reach
