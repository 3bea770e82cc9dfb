"""A fit as arrays: the function, its derivatives, the data and the cost of a set of constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.losses import Loss, Penalty
from genperf.solver.nonnegative import diagonal, penalised_least_squares

Array = npt.NDArray[np.float64]

#: Cost of a set of constants whose predicted values are not finite.
IMPOSSIBLE_COST = 1e30


@dataclass(frozen=True)
class EvaluationSettings:
    """How costs of many sets of constants are computed."""

    #: Doubles in one block of an evaluation: 16 MB, whatever the population and the rows.
    block_numbers: int = 2_000_000
    #: Doubles in one block of derivatives: 2 MB, which stays in a core's cache.
    cached_numbers: int = 250_000
    #: Reweighted least-squares passes for the coefficients inside the projection. A guess: the polish that follows does
    #: what is left.
    projection_passes: int = 6


EVALUATION = EvaluationSettings()

# glibc returns large blocks to the system as soon as they are freed, and writing to new ones then costs more than the
# arithmetic. Its limit for large rises to the size of a block that was once freed.
np.empty(EVALUATION.block_numbers)

#: Shares of the rows, (sets, rows) or (1, rows), and the weighted mean measured value of each set: a replicate's cost
#: is that of a fit with the replicate's weights.
Weighing: TypeAlias = tuple[Array, Array]


def blocks(count: int, numbers: int, max_numbers: int | None = None) -> list[slice]:
    """Cut a count of sets, of some doubles each, into blocks of bounded memory."""
    limit = min(max_numbers or EVALUATION.block_numbers, EVALUATION.block_numbers)
    step = max(1, limit // max(1, numbers))
    return [slice(i, min(i + step, count)) for i in range(0, count, step)]


@dataclass(frozen=True, eq=False)
class Penalties:
    """A strength of the penalty and scales of the constants for each set of constants."""

    #: Shape (sets, n).
    scale: Array
    #: Shape (sets,). λ.
    strength: Array

    def __getitem__(self, sets: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Penalties:
        """Return those of some sets."""
        return Penalties(self.scale[sets], self.strength[sets])


@dataclass(frozen=True)
class Problem:
    """Predicted values as a function of constants, and the measured values they should match."""

    #: Constants (sets, n) → predicted values (sets, rows), in the target's unit.
    predict: Callable[[Array], Array]
    #: Constants (sets, n) → (predicted values, derivatives of shape (sets, rows, n)).
    jacobian: Callable[[Array], tuple[Array, Array]]
    #: Shape (rows,). In the target's unit.
    measured: Array
    #: Shape (rows,). Not negative.
    weights: Array
    #: Shape (n,). Bounds of the constants.
    lower: Array
    upper: Array
    #: Shape (n,). The penalty is on constants divided by their scales.
    scale: Array
    #: Shape (n,). The constants with a penalty.
    penalised: npt.NDArray[np.bool_]
    #: Shape (n,). The constants in which the prediction is homogeneous of degree one: solved by least squares given the
    #: others.
    coefficient: npt.NDArray[np.bool_]
    #: Whether the prediction is linear in the coefficients (a sum of terms), not only homogeneous (max, p-norm).
    linear: bool
    #: Shape (n,). Where a search begins by default.
    start: Array
    loss: Loss
    penalty: Penalty
    #: Constants (sets, n) → (predicted values, derivatives by the coefficients alone, of shape (sets, rows, k)): a part
    #: of the jacobian, for less work.
    basis: Callable[[Array], tuple[Array, Array]] | None = None

    def reweighted(self, weights: Array) -> Problem:
        """Return the same problem with other weights of shape (rows,)."""
        return replace(self, weights=weights)

    @cached_property
    def _unit_penalty(self) -> Penalty:
        return replace(self.penalty, strength=1.0)

    @cached_property
    def _penalties(self) -> Penalties:
        """The problem's penalty, as one for any number of sets."""
        return Penalties(self.scale[None, :], np.array([self.penalty.strength]))

    def _scaled(self, constants: Array, penalties: Penalties) -> Array:
        """Return the constants on their scales, zero where there is no penalty."""
        return np.asarray(np.where(self.penalised, constants / penalties.scale, 0.0))

    def cost(self, constants: Array, weights: Array | None = None, penalties: Penalties | None = None) -> Array:
        """Return the cost of each set of constants, shape (sets, n) → (sets,).

        Weights, of shape (sets, rows), and penalties are those of each set; by default the problem's for all.
        """
        out = np.empty(len(constants))
        for block in blocks(len(constants), self.measured.size):
            of_block = self._penalties if penalties is None else penalties[block]
            weighing = self._weighing(weights, block)
            out[block] = self._cost_of(self.predict(constants[block]), constants[block], weighing, of_block)
        return out

    def _weighing(self, weights: Array | None, block: slice = slice(None)) -> Weighing:
        return self._default_weighing if weights is None else _weighing(weights[block], self.measured)

    @cached_property
    def _default_weighing(self) -> Weighing:
        return _weighing(self.weights[None, :], self.measured)

    def _cost_of(self, predicted: Array, constants: Array, weighing: Weighing, penalties: Penalties) -> Array:
        """Return the cost of sets whose predictions are known."""
        shares, mean = weighing
        with np.errstate(all="ignore"):
            losses = self.loss.value(predicted, self.measured, mean)
            total = np.einsum("sr,sr->s", np.broadcast_to(shares, losses.shape), losses)
            total += penalties.strength * self._unit_penalty.value(self._scaled(constants, penalties))
        return np.asarray(np.where(np.isfinite(total), np.minimum(total, IMPOSSIBLE_COST), IMPOSSIBLE_COST))

    def derivatives(
        self, constants: Array, weights: Array | None = None, penalties: Penalties | None = None
    ) -> tuple[Array, Array]:
        """Return the cost's gradient and its Gauss-Newton curvature, both by the scaled constants.

        The gradient is exact. The curvature is `JᵀωJ` of the loss's ω plus the penalty's: exact where the loss is
        quadratic and the prediction is linear.

        Shapes (sets, n) and (sets, n, n), for as many sets as fit in memory; weights and penalties as in `cost`.
        """
        n = self.scale.size
        gradient, curvature = np.empty((len(constants), n)), np.empty((len(constants), n, n))
        for block in blocks(len(constants), self.measured.size * (n + 2), EVALUATION.cached_numbers):
            weighing = self._weighing(weights, block)
            gradient[block], curvature[block] = self._slopes(constants[block], weighing)
        penalties = penalties or self._penalties
        scaled = self._scaled(constants, penalties)
        of_penalty = np.where(self.penalised, self._unit_penalty.curvature(scaled) * penalties.strength[:, None], 0.0)
        # The chain rule from these scales to the problem's.
        ratio = self.scale / penalties.scale
        diagonal(curvature)[:] += of_penalty * ratio**2
        return gradient + of_penalty * ratio * scaled, curvature

    @cached_property
    def _scales(self) -> Array:
        return 2.0 * np.outer(self.scale, self.scale)

    def _slopes(self, constants: Array, weighing: Weighing) -> tuple[Array, Array]:
        """Return the gradient and curvature of the loss by the scaled constants."""
        shares, mean = weighing
        predicted, J = self.jacobian(constants)
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(predicted, self.measured, mean)
            error = predicted - self.measured
            gradient, curvature = _moments(J, omega, error)
            if not (np.isfinite(gradient).all() and np.isfinite(curvature).all()):
                finite = np.isfinite(omega) & np.isfinite(predicted)
                J = np.where(np.isfinite(J), J, 0.0)
                gradient, curvature = _moments(J, np.where(finite, omega, 0.0), np.where(finite, error, 0.0))
            return 2.0 * self.scale * gradient, self._scales * curvature

    def project(self, constants: Array, weights: Array | None = None) -> Array:
        """Return the sets with their coefficients replaced by the best ones for their other constants.

        The prediction T is homogeneous of degree one in the coefficients c, so by Euler's theorem T = (∂T/∂c)·c. With
        the derivatives and the loss's curvature held, the best c solves a non-negative least-squares problem. One pass
        is exact where the loss is quadratic and the total is a sum; otherwise passes repeat, from the coefficients on.
        """
        return self.projected(constants, weights)[0]

    def projected(self, constants: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the sets that `project` returns, and their costs."""
        out, cost = constants.copy(), np.empty(len(constants))
        for block in blocks(len(constants), self.measured.size * (self.lower.size + 2)):
            out[block], cost[block] = self._project(constants[block], self._weighing(weights, block))
        return out, cost

    def _project(self, constants: Array, weighing: Weighing) -> tuple[Array, Array]:
        """Return the sets with their best coefficients, and their costs."""
        one_pass = self.linear and self.loss.quadratic
        passes = 1 if one_pass else EVALUATION.projection_passes
        predicted, basis, offset = self._parts(constants)
        # There is no prediction before the first pass: take the loss's curvature at a perfect fit.
        current = self._with_coefficients(constants, (basis, offset), weighing, self.measured[None, :])
        best, best_cost = current, np.full(len(current), np.inf)
        for step in range(passes):
            if self.linear:
                predicted = self._combined(basis, current) + offset
            else:
                predicted, basis, offset = self._parts(current)
            cost = self._cost_of(predicted, current, weighing, self._penalties)
            better = cost < best_cost
            best = np.where(better[:, None], current, best)
            best_cost = np.where(better, cost, best_cost)
            if step < passes - 1:
                current = self._with_coefficients(current, (basis, offset), weighing, predicted)
        return best, best_cost

    def _parts(self, constants: Array) -> tuple[Array, Array, Array]:
        """Return the prediction T, its derivatives B by the coefficients c, and the offset T − B·c."""
        if self.basis is not None:
            predicted, basis = self.basis(constants)
        else:
            predicted, J = self.jacobian(constants)
            basis = J[:, :, self.coefficient]
        with np.errstate(all="ignore"):
            return predicted, basis, predicted - self._combined(basis, constants)

    def _combined(self, basis: Array, constants: Array) -> Array:
        """Return B·c of every set, shape (sets, rows)."""
        with np.errstate(all="ignore"):
            return np.asarray(np.einsum("srk,sk->sr", basis, constants[:, self.coefficient]))

    def _with_coefficients(
        self, constants: Array, parts: tuple[Array, Array], weighing: Weighing, predicted: Array
    ) -> Array:
        """Return the sets with the coefficients that are best for the loss's curvature at a prediction."""
        which = self.coefficient
        basis, offset = parts
        shares, mean = weighing
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(predicted, self.measured, mean)
            moment, gram = _moments(basis, omega, self.measured - offset)
        scale = self.scale[which]
        ridge = self.penalty.strength * (1.0 - self.penalty.l1_share)
        lasso = self.penalty.strength * self.penalty.l1_share
        squared = np.broadcast_to(np.where(self.penalised[which], 0.5 * ridge / scale**2, 0.0), moment.shape)
        linear = np.broadcast_to(np.where(self.penalised[which], 0.5 * lasso / scale, 0.0), moment.shape)
        out = constants.copy()
        out[:, which] = penalised_least_squares(gram, moment, squared, linear, self.lower[which], self.upper[which])
        return out


def _weighing(weights: Array, measured: Array) -> Weighing:
    """Return each set's weights as shares of one, and its weighted mean measured value."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    return shares, np.sum(shares * measured, axis=1, keepdims=True)


def _moments(J: Array, omega: Array, values: Array) -> tuple[Array, Array]:
    """Return `Jᵀωv` and `JᵀωJ` of every set."""
    weighted = np.swapaxes(J, 1, 2) * omega[:, None, :]
    return np.squeeze(weighted @ values[:, :, None], axis=2), weighted @ J
