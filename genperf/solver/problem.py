"""A fit as arrays: the function, its derivatives, the data and the cost of a set of constants."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Mask
from genperf.losses import Loss, Penalty
from genperf.solver.nonnegative import diagonal, penalised_least_squares

#: Cost of a set of constants whose predicted values are not finite.
IMPOSSIBLE_COST = 1e30

#: Doubles in one block of an evaluation: 16 MB, whatever the population and the rows.
BLOCK_NUMBERS = 2_000_000
#: Reweighted least-squares passes for the coefficients inside the projection: the polish that follows does what is
#: left. Half and double change no answer (experiments/results/settings.md).
PROJECTION_PASSES = 6


def blocks(count: int, doubles: int) -> list[slice]:
    """Return the slices that part a count of sets into blocks of bounded memory; each set needs so many doubles."""
    step = max(1, BLOCK_NUMBERS // max(1, doubles))
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]


class Conditions(Struct, frozen=True, eq=False):
    """What the cost of a set of constants counts: one row for each set, or one for all."""

    shares: Array  #: Shape (sets, rows). Weights of the rows, as shares of one.
    mean: Array  #: Shape (sets, 1). Weighted mean measured value: a replicate's cost is that of a fit with its weights.
    scale: Array  #: Shape (sets, n). Scales of the constants in the penalty.
    strength: Array  #: Shape (sets,). λ.
    measured: Array  #: Shape (sets, rows). Measured values.
    #: Shape (sets, n). Scaled constants that the penalty pulls towards: zero, but where a replicate draws them.
    centre: Array

    def __getitem__(self, sets: slice | AnyArray) -> Conditions:
        """Return those of some sets."""
        arrays = self.shares, self.mean, self.scale, self.strength, self.measured, self.centre
        return Conditions(*(array if len(array) == 1 else array[sets] for array in arrays))


class Problem(Struct, frozen=True, dict=True):
    """Predicted values as a function of constants, and the measured values they should match."""

    predict: Callable[[Array], Array]  #: Constants (sets, n) → predicted values (sets, rows), in the target's unit.
    #: Constants (sets, n) → (predicted values, derivatives of shape (sets, rows, n)).
    jacobian: Callable[[Array], tuple[Array, Array]]
    measured: Array  #: Shape (rows,). In the target's unit.
    weights: Array  #: Shape (rows,). Not negative.
    #: Shape (n,). Bounds of the constants.
    lower: Array
    upper: Array
    scale: Array  #: Shape (n,). The penalty is on constants divided by their scales.
    penalised: Mask  #: Shape (n,). The constants with a penalty.
    #: Shape (n,). The constants in which the prediction is homogeneous of degree one: solved by least squares given the
    #: others.
    coefficient: Mask
    #: Whether the prediction is linear in the coefficients (a sum of terms), not only homogeneous (max, p-norm).
    linear: bool
    #: Shape (n,). Where a search begins by default.
    start: Array
    loss: Loss
    penalty: Penalty

    @cached_property
    def _unit_penalty(self) -> Penalty:
        return replace(self.penalty, strength=1.0)

    def conditions(
        self,
        weights: Array | None = None,
        penalties: tuple[Array, Array] | None = None,
        drawn: tuple[Array, Array] | None = None,
    ) -> Conditions:
        """Return the weights, penalties (scales and λ), drawn values and centres of sets, or the problem's."""
        weights = self.weights[None, :] if weights is None else weights
        shares = weights / weights.sum(axis=1, keepdims=True)
        scale, strength = penalties or (self.scale[None, :], np.array([self.penalty.strength]))
        measured, centre = drawn or (self.measured[None, :], np.zeros((1, self.scale.size)))
        mean = np.sum(shares * measured, axis=1, keepdims=True)
        return Conditions(shares, mean, scale, strength, measured, centre)

    def cost(self, constants: Array, conditions: Conditions | None = None) -> Array:
        """Return the cost of each set of constants, (sets, n) → (sets,), under the problem's conditions or others."""
        conditions = conditions or self.conditions()
        out = np.empty(len(constants))
        for block in blocks(len(constants), self.measured.size):
            out[block] = self._cost_of(self.predict(constants[block]), constants[block], conditions[block])
        return out

    def _cost_of(self, predicted: Array, constants: Array, conditions: Conditions) -> Array:
        """Return the cost of sets whose predictions are known."""
        with np.errstate(all="ignore"):
            losses = self.loss.value(predicted, conditions.measured, conditions.mean)
            total = np.einsum("sr,sr->s", np.broadcast_to(conditions.shares, losses.shape), losses)
            scaled = np.where(self.penalised, constants / conditions.scale - conditions.centre, 0.0)
            total += conditions.strength * self._unit_penalty.value(scaled)
        return np.asarray(np.where(np.isfinite(total), np.minimum(total, IMPOSSIBLE_COST), IMPOSSIBLE_COST))

    def derivatives(self, constants: Array, conditions: Conditions | None = None) -> tuple[Array, Array]:
        """Return the cost's gradient and its Gauss-Newton curvature, both by the constants over the problem's scales s.

            gradient = 2·s·Jᵀω(T − t) + λ·φ(z)·z·s/s',    curvature = 2·s·sᵀ·JᵀωJ + diag(λ·φ(z)·(s/s')²)

        with the predictions T, the measured times t, ω the loss's curvature by each row's share of the weights, φ the
        penalty's, s' the scales of the conditions and z = θ/s' less their centre. The gradient is exact; the curvature
        where the loss is quadratic and the prediction linear.

        Shapes (sets, n) and (sets, n, n), with n constants; conditions as in `cost`.
        """
        conditions = conditions or self.conditions()
        predicted, J = self.jacobian(constants)
        with np.errstate(all="ignore"):
            omega = conditions.shares * self.loss.curvature(predicted, conditions.measured, conditions.mean)
            error = predicted - conditions.measured
            slope, gram = _moments(J, omega, error)
            if not (np.isfinite(slope).all() and np.isfinite(gram).all()):
                # A row whose prediction is not finite adds nothing, nor does a derivative that is not.
                finite = np.isfinite(omega) & np.isfinite(predicted)
                J = np.where(np.isfinite(J), J, 0.0)
                slope, gram = _moments(J, np.where(finite, omega, 0.0), np.where(finite, error, 0.0))
        gradient, curvature = 2.0 * self.scale * slope, 2.0 * np.outer(self.scale, self.scale) * gram
        z = np.where(self.penalised, constants / conditions.scale - conditions.centre, 0.0)
        of_penalty = np.where(self.penalised, self._unit_penalty.curvature(z) * conditions.strength[:, None], 0.0)
        ratio = self.scale / conditions.scale
        diagonal(curvature)[:] += of_penalty * ratio**2
        return gradient + of_penalty * ratio * z, curvature

    def projected(self, constants: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the sets with their coefficients replaced by the best ones for their other constants, and their costs.

        The prediction T is homogeneous of degree one in the coefficients c, so by Euler's theorem T = (∂T/∂c)·c. With
        the derivatives and the loss's curvature held, the best c solves a non-negative least-squares problem. One pass
        is exact where the loss is quadratic and the total is a sum; otherwise passes repeat, from the coefficients on.
        """
        out, cost, conditions = constants.copy(), np.empty(len(constants)), self.conditions(weights)
        for block in blocks(len(constants), self.measured.size * (self.lower.size + 2)):
            out[block], cost[block] = self._project(constants[block], conditions[block])
        return out, cost

    def _project(self, constants: Array, conditions: Conditions) -> tuple[Array, Array]:
        """Return the sets with their best coefficients, and their costs."""
        passes = 1 if self.linear and self.loss.quadratic else PROJECTION_PASSES
        predicted, basis, offset = self._linearised(constants)
        # There is no prediction before the first pass: take the loss's curvature at a perfect fit.
        current = self._with_coefficients(constants, basis, offset, conditions, self.measured[None, :])
        best, best_cost = current, np.full(len(current), np.inf)
        for step in range(passes):
            if self.linear:
                predicted = self._combined(basis, current) + offset
            else:
                predicted, basis, offset = self._linearised(current)
            cost = self._cost_of(predicted, current, conditions)
            better = cost < best_cost
            best = np.where(better[:, None], current, best)
            best_cost = np.where(better, cost, best_cost)
            if step < passes - 1:
                current = self._with_coefficients(current, basis, offset, conditions, predicted)
        return best, best_cost

    def _linearised(self, constants: Array) -> tuple[Array, Array, Array]:
        """Return the prediction T, its derivatives B by the coefficients c, and the offset T − B·c."""
        predicted, J = self.jacobian(constants)
        # Each derivative is contiguous in memory, as in the jacobian.
        basis = np.swapaxes(np.swapaxes(J, 1, 2)[:, self.coefficient], 1, 2)
        with np.errstate(all="ignore"):
            return predicted, basis, predicted - self._combined(basis, constants)

    def _combined(self, basis: Array, constants: Array) -> Array:
        """Return B·c of every set, shape (sets, rows)."""
        with np.errstate(all="ignore"):
            return np.asarray(np.einsum("srk,sk->sr", basis, constants[:, self.coefficient]))

    def _with_coefficients(
        self, constants: Array, basis: Array, offset: Array, conditions: Conditions, predicted: Array
    ) -> Array:
        """Return the sets with the coefficients c of least Σω(measured − offset − B·c)² + penalty within bounds."""
        which = self.coefficient
        with np.errstate(all="ignore"):
            omega = conditions.shares * self.loss.curvature(predicted, self.measured, conditions.mean)
            moment, gram = _moments(basis, omega, self.measured - offset)
        bounds, scale, penalised = (self.lower[which], self.upper[which]), self.scale[which], self.penalised[which]
        out = constants.copy()
        out[:, which] = penalised_least_squares(gram, moment, self.penalty, scale, penalised, bounds)
        return out


def _moments(J: Array, omega: Array, values: Array) -> tuple[Array, Array]:
    """Return `Jᵀωv` and `JᵀωJ` of every set."""
    weighted = np.swapaxes(J, 1, 2) * omega[:, None, :]
    return np.squeeze(weighted @ values[:, :, None], axis=2), weighted @ J
