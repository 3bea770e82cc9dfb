"""A fit as arrays: the function, its derivatives, the data, and what a set of constants costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.losses import PENALTY_ROUNDING, Loss, Penalty
from genperf.solver.nonnegative import penalised_least_squares

Array = npt.NDArray[np.float64]

#: Numbers in one block of an evaluation: bounds the memory, whatever the population and the rows.
BLOCK = 2_000_000
#: Reweighted least-squares passes for the coefficients inside the projection.
PASSES = 6
#: Cost of a set of constants whose times are not finite.
IMPOSSIBLE = 1e30


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
        Constants (sets, n) → derivatives by the coefficients alone, of shape (sets, rows, coefficients): what
        `jacobian` also gives, for less work.
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
    basis: Callable[[Array], Array] | None = None

    def reweighted(self, weights: Array) -> Problem:
        """Return the same problem with other weights of shape (rows,)."""
        return replace(self, weights=weights)

    def scaled(self, constants: Array) -> Array:
        """Return what the penalty sees of the constants."""
        return np.asarray(np.where(self.penalised, constants / self.scale, 0.0))

    def blocks(self, sets: int, numbers_per_set: int) -> list[slice]:
        """Cut a number of sets into blocks of bounded memory."""
        step = max(1, BLOCK // max(1, numbers_per_set))
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
            out[block] = self._cost_of(self.times(constants[block]), constants[block], self._shares(weights, block))
        return out

    def _shares(self, weights: Array | None, block: slice = slice(None)) -> Array:
        w = self.weights[None, :] if weights is None else weights[block]
        return np.asarray(w / w.sum(axis=1, keepdims=True))

    def _cost_of(self, times: Array, constants: Array, shares: Array) -> Array:
        with np.errstate(all="ignore"):
            each = self.loss.value(times, self.measured, self._time_scale(shares))
            total = np.sum(shares * each, axis=1) + self.penalty.value(self.scaled(constants))
        return np.asarray(np.where(np.isfinite(total), np.minimum(total, IMPOSSIBLE), IMPOSSIBLE))

    def _time_scale(self, shares: Array) -> Array:
        """Return the weighted mean measured time of each set: a replicate's cost is that of its own fit."""
        return np.asarray(np.sum(shares * self.measured, axis=1, keepdims=True))

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
        shares = self._shares(weights)
        times, J = self.jacobian(constants)
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(times, self.measured, self._time_scale(shares))
            known = np.isfinite(omega) & np.isfinite(times)
            J = np.where(np.isfinite(J), J, 0.0) * self.scale
            weighted = J * np.where(known, omega, 0.0)[:, :, None]
            curvature = 2.0 * (np.swapaxes(weighted, 1, 2) @ J)
            off = np.where(known, times - self.measured, 0.0)
            gradient = 2.0 * np.squeeze(np.swapaxes(weighted, 1, 2) @ off[:, :, None], axis=2)
            scaled = self.scaled(constants)
            own = np.where(self.penalised, self.penalty.curvature(scaled), 0.0)
            curvature[:, range(len(self.scale)), range(len(self.scale))] += own
            return gradient + own * scaled, curvature

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
        out = constants.copy()
        for block in self.blocks(len(constants), self.measured.size * (self.lower.size + 2)):
            out[block] = self._project(constants[block], self._shares(weights, block))
        return out

    def _project(self, constants: Array, shares: Array) -> Array:
        at_once = self.linear and self.loss.quadratic and not self._rounded.any()
        basis = self._basis(constants)
        # The first pass knows no times yet: it takes the loss's curvature at a perfect fit.
        current = self._with_coefficients(constants, basis, shares, self.measured[None, :])
        if at_once:
            return current
        best, best_cost = current, np.full(len(current), np.inf)
        for step in range(PASSES):
            if not self.linear:
                basis = self._basis(current)
            with np.errstate(all="ignore"):
                times = np.squeeze(basis @ current[:, self.coefficient, None], axis=2)
            cost = self._cost_of(times, current, shares)
            better = cost < best_cost
            best = np.where(better[:, None], current, best)
            best_cost = np.where(better, cost, best_cost)
            if step < PASSES - 1:
                current = self._with_coefficients(current, basis, shares, times)
        return best

    def _basis(self, constants: Array) -> Array:
        return self.jacobian(constants)[1][:, :, self.coefficient] if self.basis is None else self.basis(constants)

    @property
    def _rounded(self) -> npt.NDArray[np.bool_]:
        """Coefficients whose L1 penalty has a kink inside their bounds; for the others it is linear."""
        lasso = self.penalty.strength * self.penalty.l1_share > 0.0
        return np.asarray(lasso & self.penalised & self.coefficient & (self.lower < 0.0) & (self.upper > 0.0))

    def _with_coefficients(self, constants: Array, basis: Array, shares: Array, at: Array) -> Array:
        """Return the sets with the coefficients that are best if the loss's curvature is what it is at these times."""
        which = self.coefficient
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(at, self.measured, self._time_scale(shares))
            weighted = basis * np.broadcast_to(omega, basis.shape[:2])[:, :, None]
            gram = np.swapaxes(weighted, 1, 2) @ basis
            moment = np.swapaxes(weighted, 1, 2) @ self.measured
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
