"""Many small least-squares problems with bounds at once, exactly."""

from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.arrays import Array, Mask
from genperf.losses import Penalty

#: Where a variable is: −1 at its lower bound, 0 between both, 1 at the upper.
Sides = npt.NDArray[np.int8]

# Block principal pivoting.
#: Added to the unit diagonal of the scaled normal equations, so that collinear columns can be solved. Far above the
#: rounding of doubles (2e-16), far below any penalty in use (1e-4).
NORMAL_RIDGE = 1e-12
#: Rounding allowed in the optimality conditions of the scaled equations.
OPTIMALITY_TOLERANCE = 1e-10
#: Exchanges of all violators in a row that may fail to lower their number, before single ones are exchanged. Kim &
#: Park (2011) use 3.
EXCHANGE_PATIENCE = 3
#: Exchanges allowed beyond one for each variable, before the rare unsolved problem is left to scipy.
EXTRA_EXCHANGES = 20


def diagonal(matrices: Array) -> Array:
    """Return a writable view of the diagonals of matrices, (…, k, k) → (…, k)."""
    return np.asarray(np.einsum("...kk->...k", matrices))


def nonnegative_least_squares(
    gram: Array, moment: Array, lower: npt.ArrayLike = 0.0, upper: npt.ArrayLike = np.inf, sides: Sides | None = None
) -> Array:
    """Minimise `½ xᵀGx − hᵀx` over bounds of each problem, exactly: block principal pivoting (Kim & Park 2011).

    >>> G = np.array([[[2.0, 0.0], [0.0, 1.0]]])
    >>> nonnegative_least_squares(G, np.array([[4.0, -1.0]]))
    array([[2., 0.]])
    >>> nonnegative_least_squares(G, np.array([[4.0, -1.0]]), lower=-np.inf, upper=1.5)
    array([[ 1.5, -1. ]])
    """
    problems, k = moment.shape
    if k == 0:
        return np.zeros((problems, 0))
    G, h, unit = _scaled(gram, moment)
    low, high = np.divide(lower, unit), np.divide(upper, unit)
    side = np.zeros(moment.shape, np.int8) if sides is None else sides
    x, solved = _exchange(G, h, low, high, side)
    if not solved.all():
        x[~solved] = _one_by_one(G[~solved], h[~solved], low[~solved], high[~solved])
    return np.where(x <= low, lower, np.where(x >= high, upper, x * unit))


def penalised_least_squares(
    gram: Array, moment: Array, penalty: Penalty, scale: Array, penalised: Mask, bounds: tuple[Array, Array]
) -> Array:
    """Minimise `½ xᵀGx − hᵀx + ½ penalty(x/scale)` within bounds on one side of zero, for every problem.

    >>> G, h, ones, zeros = np.eye(2)[None], np.array([[4.0, 0.5]]), np.ones(2), np.zeros(2)
    >>> penalised_least_squares(G, h, Penalty(4.0, 0.5), ones, ones > 0.0, (zeros, zeros + np.inf))
    array([[1.5, 0. ]])
    """
    lower, upper = bounds
    half = 0.5 * penalty.strength
    ridge = np.where(penalised, half * (1.0 - penalty.l1_share) / scale**2, 0.0)
    lasso = np.where(penalised, half * penalty.l1_share / scale, 0.0)
    G = gram.copy()
    diagonal(G)[:] += ridge
    h = moment - np.where(upper > 0.0, lasso, -lasso)
    k, problems = moment.shape[-1], int(np.prod(moment.shape[:-1]))
    solved = nonnegative_least_squares(G.reshape(problems, k, k), h.reshape(problems, k), lower, upper)
    return solved.reshape(moment.shape)


def _exchange(G: Array, h: Array, low: Array, high: Array, side: Sides) -> tuple[Array, Mask]:
    """Exchange variables beyond a bound, or with a wrong dual at one, until none is; return x and what is solved."""
    problems, k = h.shape
    x = np.empty((problems, k))
    pinned = low >= high
    side = np.where(pinned, np.int8(-1), side)
    # All arrays below have a row for each of these problems only.
    remaining = np.arange(problems)
    # The fewest violators so far, and how many exchanges may still fail to lower them.
    least = np.full(problems, k + 1)
    patience = np.full(problems, EXCHANGE_PATIENCE)
    for _ in range(k + EXTRA_EXCHANGES):
        current, dual = _solve(G, h, side, (low, high))
        x[remaining] = current
        inside = side == 0
        below = inside & (current < low - OPTIMALITY_TOLERANCE)
        above = inside & (current > high + OPTIMALITY_TOLERANCE)
        violating = below | above | ((side * dual > OPTIMALITY_TOLERANCE) & ~pinned)
        count = np.einsum("pk->p", violating.view(np.int8), dtype=np.intp)
        unsolved = np.flatnonzero(count)
        if len(unsolved) < len(count):
            remaining = remaining[unsolved]
            if remaining.size == 0:
                break
            arrays = G, h, side, low, high, pinned, least, patience, count, violating, below, above
            taken: list[Any] = [array.take(unsolved, axis=0) for array in arrays]
            G, h, side, low, high, pinned, least, patience, count, violating, below, above = taken
        patience = np.where(count < least, EXCHANGE_PATIENCE, patience - 1)
        least = np.minimum(least, count)
        # Where exchanging all violators no longer helps, exchange only the last: that cannot cycle.
        stuck = patience < 0
        if stuck.any():
            last = k - 1 - np.argmax(violating[:, ::-1], axis=1)
            violating &= ~(stuck[:, None] & (np.arange(k) != last[:, None]))
        side = np.where(violating, above.astype(np.int8) - below.astype(np.int8), side)
    solved = np.ones(problems, bool)
    solved[remaining] = False
    return x, solved


def _one_by_one(G: Array, h: Array, low: Array, high: Array) -> Array:
    """Minimise ½‖Lᵀx − L⁻¹h‖² with G = L·Lᵀ, each problem by itself with scipy's solver (Stark & Parker 1995)."""
    from scipy.optimize import lsq_linear

    x = np.clip(np.zeros(h.shape), low, high)
    for i in np.flatnonzero((low < high).any(axis=1)):
        free = low[i] < high[i]
        L = np.linalg.cholesky(G[i][np.ix_(free, free)])
        target = np.linalg.solve(L, h[i][free] - G[i][np.ix_(free, ~free)] @ x[i][~free])
        ends = low[i][free], high[i][free]
        answer = lsq_linear(L.T, target, ends, "bvls", max_iter=100 * len(L))
        # What is at a bound may be short of it by rounding.
        x[i][free] = np.select([answer.active_mask < 0, answer.active_mask > 0], ends, answer.x)
    return x


def _scaled(gram: Array, moment: Array) -> tuple[Array, Array, Array]:
    """Return G/(s·sᵀ), h/(s·m) and the unit m/s, s = √diag(G), m = max |h/s|; x is 0 without a diagonal."""
    size = np.sqrt(np.maximum(diagonal(gram), 0.0))
    empty = ~((size > 0.0) & np.isfinite(size))
    if empty.any() or not (np.isfinite(gram).all() and np.isfinite(moment).all()):
        size = np.where(empty, 1.0, size)
        gram = np.where(np.isfinite(gram) & ~empty[:, :, None] & ~empty[:, None, :], gram, 0.0)
        diagonal(gram)[empty] = 1.0
        moment = np.where(empty | ~np.isfinite(moment), 0.0, moment)
    G = gram / (size[:, :, None] * size[:, None, :])
    diagonal(G)[:] += NORMAL_RIDGE
    h = moment / size
    largest = np.abs(h).max(axis=1, keepdims=True)
    largest[largest == 0.0] = 1.0
    return G, h / largest, largest / size


def _solve(G: Array, h: Array, side: Sides, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return x, by G_ff·x_f = h_f − G_fb·x_b between the bounds and else at them, and the dual Gx − h."""
    k = h.shape[1]
    low, high = bounds
    inside = side == 0
    x = np.where(side < 0, low, np.where(side > 0, high, 0.0))
    moment = np.where(inside, h - np.einsum("pkl,pl->pk", G, x) if x.any() else h, 0.0)
    G_inside = G if inside.all() else np.where(inside[:, :, None] & inside[:, None, :], G, np.eye(k))
    x += np.linalg.solve(G_inside, moment[:, :, None])[:, :, 0]
    return x, np.einsum("pkl,pl->pk", G, x) - h
