"""A fit as arrays: the function, its derivatives, the data, and what a set of constants costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from genperf.losses import Loss, Penalty
from genperf.solver.nonnegative import nonnegative_least_squares

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
    time_scale: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_scale", float(np.average(self.measured, weights=self.weights)))

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Coefficients that may have either sign."""
        return np.asarray(np.isneginf(self.lower[self.coefficient]))

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
            out[block] = self._cost_of(self.times(constants[block]), self._weights(weights, block))
        return np.asarray(out + self.penalty.value(self.scaled(constants)))

    def _weights(self, weights: Array | None, block: slice) -> Array:
        w = self.weights[None, :] if weights is None else weights[block]
        return np.asarray(w / w.sum(axis=1, keepdims=True))

    def _cost_of(self, times: Array, shares: Array) -> Array:
        with np.errstate(all="ignore"):
            each = self.loss.value(times, self.measured, self.time_scale)
            total = np.sum(shares * each, axis=1)
        return np.asarray(np.where(np.isfinite(total), np.minimum(total, IMPOSSIBLE), IMPOSSIBLE))

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
        k = int(self.coefficient.sum())
        for block in self.blocks(len(constants), self.measured.size * (k + 2)):
            out[block] = self._project(constants[block], self._weights(weights, block))
        return out

    def _project(self, constants: Array, shares: Array) -> Array:
        passes = 1 if self.linear and self.loss.quadratic else PASSES
        current = constants.copy()
        best, best_cost = current, np.full(len(current), np.inf)
        basis: Array | None = None
        for step in range(passes + 1):
            if basis is None or not self.linear:
                _, slopes = self.jacobian(current)
                basis = slopes[:, :, self.coefficient]
            held = current[:, self.coefficient]
            times = np.einsum("srk,sk->sr", basis, held)
            if passes > 1:
                cost = self._cost_of(times, shares) + self.penalty.value(self.scaled(current))
                better = cost < best_cost
                best = np.where(better[:, None], current, best)
                best_cost = np.where(better, cost, best_cost)
            if step == passes:
                break
            # The first pass knows no times yet: it takes the loss's curvature at a perfect fit.
            at = times if step > 0 else np.broadcast_to(self.measured, times.shape)
            current = current.copy()
            current[:, self.coefficient] = self._coefficients(basis, shares, at, held)
        return current if passes == 1 else best

    def _coefficients(self, basis: Array, shares: Array, at: Array, held: Array) -> Array:
        with np.errstate(all="ignore"):
            omega = shares * self.loss.curvature(at, self.measured, self.time_scale)
            weighted = basis * omega[:, :, None]
            gram = np.swapaxes(weighted, 1, 2) @ basis
            moment = np.einsum("srk,r->sk", weighted, self.measured)
        scale = self.scale[self.coefficient]
        seen = self.penalised[self.coefficient]
        if self.penalty.strength > 0.0:
            # For coefficients that cannot be negative L1 is linear, so it needs no reweighting.
            ridge, lasso = 1.0 - self.penalty.l1_share, self.penalty.l1_share
            own = np.where(seen, 0.5 * self.penalty.strength * ridge / scale**2, 0.0)
            if self.free.any():
                rounded = 0.5 * self.penalty.strength * lasso / (np.hypot(held / scale, 1e-4) * scale**2)
                own = own + np.where(seen & self.free, rounded, 0.0)
            gram = gram + own[..., None] * np.eye(len(scale))
            moment = moment - np.where(seen & ~self.free, 0.5 * self.penalty.strength * lasso / scale, 0.0)
        found = nonnegative_least_squares(gram, moment, self.free)
        return np.minimum(found, self.upper[self.coefficient])
