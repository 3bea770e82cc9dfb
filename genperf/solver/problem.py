"""A fit as arrays: the function, its derivatives, the data, and what a set of constants costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.losses import PENALTY_ROUNDING, Loss, Penalty
from genperf.solver.nonnegative import diagonal, penalised_least_squares

Array = npt.NDArray[np.float64]

#: Numbers in one block of an evaluation: bounds the memory, whatever the population and the rows.
BLOCK = 2_000_000
#: Numbers in one block of derivatives: what stays in a core's cache.
CACHED = 250_000
#: Reweighted least-squares passes for the coefficients inside the projection.
PASSES = 6
#: Cost of a set of constants whose times are not finite.
IMPOSSIBLE = 1e30

# glibc gives large blocks back to the system as soon as they are freed, and writing to new ones then costs more than
# the arithmetic. What counts as large rises to the size of what was once freed.
np.empty(BLOCK)

#: Shares of the rows, (sets, rows) or (1, rows), and the weighted mean measured time of each set, seconds: a
#: replicate's cost is that of its own fit.
Weighing: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class Problem:
    """Times as a function of constants, and the measured times they should match.

    Attributes
    ----------
    times : callable
        Constants (sets, n) → predicted times (sets, rows), seconds.
    jacobian : callable
        Constants (sets, n) → (times, derivatives of shape (sets, rows, n)).
    measured : ndarray of shape (rows,)
        Seconds.
    weights : ndarray of shape (rows,)
        Not negative.
    lower, upper : ndarray of shape (n,)
        Bounds of the constants.
    scale : ndarray of shape (n,)
        A constant divided by its scale is what the penalty sees.
    penalised : ndarray of bool of shape (n,)
        Which constants the penalty sees.
    coefficient : ndarray of bool of shape (n,)
        The constants in which the times are homogeneous of degree one: found by least squares given the others.
    linear : bool
        Whether the times are linear in the coefficients (a sum of terms), not only homogeneous (max, p-norm).
    start : ndarray of shape (n,)
        Where a search without other knowledge begins.
    loss, penalty
        What is minimised.
    basis : callable, optional
        Constants (sets, n) → (times, derivatives by the coefficients alone, of shape (sets, rows, coefficients)): of
        what `jacobian` gives, for less work.
    """

    times: Callable[[Array], Array]
    jacobian: Callable[[Array], tuple[Array, Array]]
    measured: Array
    weights: Array
    lower: Array
    upper: Array
    scale: Array
    penalised: npt.NDArray[np.bool_]
    coefficient: npt.NDArray[np.bool_]
    linear: bool
    start: Array
    loss: Loss
    penalty: Penalty
    basis: Callable[[Array], tuple[Array, Array]] | None = None

    def reweighted(self, weights: Array) -> Problem:
        """Return the same problem with other weights of shape (rows,)."""
        return replace(self, weights=weights)

    def scaled(self, constants: Array) -> Array:
        """Return what the penalty sees of the constants."""
        return np.asarray(np.where(self.penalised, constants / self.scale, 0.0))

    def blocks(self, sets: int, numbers_per_set: int, most: int | None = None) -> list[slice]:
        """Cut a number of sets into blocks of bounded memory: `BLOCK` numbers, or fewer where that is asked for."""
        step = max(1, min(most or BLOCK, BLOCK) // max(1, numbers_per_set))
        return [slice(i, min(i + step, sets)) for i in range(0, sets, step)]

    def cost(self, constants: Array, weights: Array | None = None) -> Array:
        """Return the cost of each set of constants, shape (sets, n) → (sets,).

        Parameters
        ----------
        constants : ndarray of shape (sets, n)
        weights : ndarray of shape (sets, rows), optional
            Weights of each set's own; the problem's where omitted.
        """
        out = np.empty(len(constants))
        for block in self.blocks(len(constants), self.measured.size):
            out[block] = self._cost_of(self.times(constants[block]), constants[block], self._weighing(weights, block))
        return out

    def _weighing(self, weights: Array | None, block: slice = slice(None)) -> Weighing:
        return self._own_weighing if weights is None else _weighing(weights[block], self.measured)

    @cached_property
    def _own_weighing(self) -> Weighing:
        return _weighing(self.weights[None, :], self.measured)

    def _cost_of(self, times: Array, constants: Array, weighing: Weighing) -> Array:
        shares, mean = weighing
        with np.errstate(all="ignore"):
            each = self.loss.value(times, self.measured, mean)
            total = np.einsum("sr,sr->s", np.broadcast_to(shares, each.shape), each)
            total += self.penalty.value(self.scaled(constants))
        return np.asarray(np.where(np.isfinite(total), np.minimum(total, IMPOSSIBLE), IMPOSSIBLE))

    def derivatives(self, constants: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the cost's gradient and its Gauss-Newton curvature, both by the scaled constants.

        The gradient is exact. The curvature is `JᵀωJ` of the loss's ω plus the penalty's: exact where the loss is
        quadratic and the times are linear.

        Parameters
        ----------
        constants : ndarray of shape (sets, n)
            Not cut into blocks: the caller does.
        weights : ndarray of shape (sets, rows), optional

        Returns
        -------
        gradient : ndarray of shape (sets, n)
        curvature : ndarray of shape (sets, n, n)
        """
        n = self.scale.size
        gradient, curvature = np.empty((len(constants), n)), np.empty((len(constants), n, n))
        for block in self.blocks(len(constants), self.measured.size * (n + 2), CACHED):
            weighing = self._weighing(weights, block)
            gradient[block], curvature[block] = self._slopes(constants[block], weighing)
        scaled = self.scaled(constants)
        own = np.where(self.penalised, self.penalty.curvature(scaled), 0.0)
        diagonal(curvature)[:] += own
        return gradient + own * scaled, curvature

    @cached_property
    def _scales(self) -> Array:
        return 2.0 * np.outer(self.scale, self.scale)

    def _slopes(self, constants: Array, weighing: Weighing) -> tuple[Array, Array]:
        """Return the gradient and curvature of the loss by the scaled constants."""
        shares, mean = weighing
        times, J = self.jacobian(constants)
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(times, self.measured, mean)
            off = times - self.measured
            gradient, curvature = _moments(J, omega, off)
            if not (np.isfinite(gradient).all() and np.isfinite(curvature).all()):
                known = np.isfinite(omega) & np.isfinite(times)
                J = np.where(np.isfinite(J), J, 0.0)
                gradient, curvature = _moments(J, np.where(known, omega, 0.0), np.where(known, off, 0.0))
            return 2.0 * self.scale * gradient, self._scales * curvature

    def project(self, constants: Array, weights: Array | None = None) -> Array:
        """Return the sets with their coefficients replaced by the best ones for their other constants.

        The times are homogeneous of degree one in the coefficients c, so by Euler's theorem T = (∂T/∂c)·c: with the
        derivatives and the loss's curvature held, the best c solves a non-negative least-squares problem. One pass is
        exact where the loss is quadratic and the total is a sum; otherwise passes repeat.

        Parameters
        ----------
        constants : ndarray of shape (sets, n)
            The coefficients are read as the starting point of the passes where one is needed.
        weights : ndarray of shape (sets, rows), optional
        """
        return self.projected(constants, weights)[0]

    def projected(self, constants: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the sets that `project` returns, and their costs."""
        out, cost = constants.copy(), np.empty(len(constants))
        for block in self.blocks(len(constants), self.measured.size * (self.lower.size + 2)):
            out[block], cost[block] = self._project(constants[block], self._weighing(weights, block))
        return out, cost

    def _project(self, constants: Array, weighing: Weighing) -> tuple[Array, Array]:
        at_once = self.linear and self.loss.quadratic and not self._rounded.any()
        times, basis, rest = self._parts(constants)
        # The first pass knows no times yet: it takes the loss's curvature at a perfect fit.
        current = self._with_coefficients(constants, basis, rest, weighing, self.measured[None, :])
        best, best_cost = current, np.full(len(current), np.inf)
        for step in range(1 if at_once else PASSES):
            if self.linear:
                times = self._explained(basis, current) + rest
            else:
                times, basis, rest = self._parts(current)
            cost = self._cost_of(times, current, weighing)
            better = cost < best_cost
            best = np.where(better[:, None], current, best)
            best_cost = np.where(better, cost, best_cost)
            if step < PASSES - 1 and not at_once:
                current = self._with_coefficients(current, basis, rest, weighing, times)
        return best, best_cost

    def _parts(self, constants: Array) -> tuple[Array, Array, Array]:
        """Return the times, their derivatives B by the coefficients c, and what B·c leaves of them.

        Nothing but rounding is left, unless the expression has numbers in the place of coefficients.
        """
        if self.basis is not None:
            times, basis = self.basis(constants)
        else:
            times, J = self.jacobian(constants)
            basis = J[:, :, self.coefficient]
        with np.errstate(all="ignore"):
            return times, basis, times - self._explained(basis, constants)

    def _explained(self, basis: Array, constants: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.einsum("srk,sk->sr", basis, constants[:, self.coefficient]))

    @property
    def _rounded(self) -> npt.NDArray[np.bool_]:
        """Coefficients whose L1 penalty has a kink inside their bounds; for the others it is linear."""
        lasso = self.penalty.strength * self.penalty.l1_share > 0.0
        return np.asarray(lasso & self.penalised & self.coefficient & (self.lower < 0.0) & (self.upper > 0.0))

    def _with_coefficients(self, constants: Array, basis: Array, rest: Array, weighing: Weighing, at: Array) -> Array:
        """Return the sets with the coefficients that are best if the loss's curvature is what it is at these times."""
        which = self.coefficient
        shares, mean = weighing
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(at, self.measured, mean)
            moment, gram = _moments(basis, omega, self.measured - rest)
        scale, held = self.scale[which], constants[:, which]
        ridge = self.penalty.strength * (1.0 - self.penalty.l1_share)
        lasso = self.penalty.strength * self.penalty.l1_share
        kinked = self._rounded[which]
        own = ridge + np.where(kinked, lasso / np.hypot(held / scale, PENALTY_ROUNDING), 0.0)
        own = np.where(self.penalised[which], 0.5 * own / scale**2, 0.0)
        slope = np.where(self.penalised[which] & ~kinked, 0.5 * lasso / scale, 0.0)
        out = constants.copy()
        out[:, which] = penalised_least_squares(
            gram, moment, own, np.broadcast_to(slope, moment.shape), self.lower[which], self.upper[which]
        )
        return out


def _weighing(weights: Array, measured: Array) -> Weighing:
    shares = weights / weights.sum(axis=1, keepdims=True)
    return shares, np.sum(shares * measured, axis=1, keepdims=True)


def _moments(J: Array, omega: Array, values: Array) -> tuple[Array, Array]:
    """Return `Jᵀωv` and `JᵀωJ` of every set: J of shape (sets, rows, k), v of (sets, rows), ω of it or of (1, rows)."""
    weighted = np.swapaxes(J, 1, 2) * omega[:, None, :]
    return np.squeeze(weighted @ values[:, :, None], axis=2), weighted @ J
