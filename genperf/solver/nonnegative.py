"""Many small least-squares problems with bounds at once, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Sides = npt.NDArray[np.int8]

#: Added to the unit diagonal of the scaled normal equations: keeps collinear columns solvable.
RIDGE = 1e-12
#: Rounding allowed in the optimality conditions, on the scaled equations.
TOLERANCE = 1e-10
#: Exchanges of all violators that may fail to lower their number before single ones are made.
PATIENCE = 3


def diagonal(matrices: Array) -> Array:
    """Return the diagonals of matrices, (problems, k, k) → (problems, k): a view that can be written to."""
    return np.asarray(np.einsum("pkk->pk", matrices))


def nonnegative_least_squares(
    gram: Array,
    moment: Array,
    lower: npt.ArrayLike = 0.0,
    upper: npt.ArrayLike = np.inf,
    sides: Sides | None = None,
) -> Array:
    """Minimise `½ xᵀGx − hᵀx` over lower ≤ x ≤ upper for every problem of a batch.

    Block principal pivoting (Portugal, Júdice & Vicente 1994; Kim & Park 2011): all problems exchange the
    variables that violate the optimality conditions at once, and single ones where that cycles, so the answer is the
    exact solution and not the limit of an iteration. The conditions, with the dual y = Gx − h: y = 0 where x is
    inside its bounds, y ≥ 0 where it is at the lower, y ≤ 0 where it is at the upper.

    Parameters
    ----------
    gram : ndarray of shape (problems, k, k)
        Symmetric positive semidefinite matrices G = BᵀWB (plus a penalty).
    moment : ndarray of shape (problems, k)
        h = BᵀWt.
    lower, upper : array_like, broadcast to (problems, k)
        Infinite where a variable is free; equal where it is held.
    sides : ndarray of int8 of shape (problems, k), optional
        Where the variables are thought to be: −1 at the lower bound, 1 at the upper, 0 between. A good guess saves
        exchanges and changes nothing else.

    Returns
    -------
    ndarray of shape (problems, k)

    Examples
    --------
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
    low = np.broadcast_to(lower, moment.shape) / unit
    high = np.broadcast_to(upper, moment.shape) / unit
    side = np.zeros(moment.shape, np.int8) if sides is None else sides
    x, solved = _exchange(G, h, low, high, side)
    if not solved.all():
        x[~solved] = _descend(G[~solved], h[~solved], low[~solved], high[~solved])
    return np.where(x <= low, lower, np.where(x >= high, upper, x * unit))


def penalised_least_squares(
    gram: Array, moment: Array, ridge: Array, lasso: Array, lower: Array, upper: Array
) -> Array:
    """Minimise `½ xᵀGx − hᵀx + ½ Σ ridge·x² + Σ lasso·|x|` within bounds on one side of zero, for every problem.

    Parameters
    ----------
    gram : ndarray of shape (problems, k, k)
    moment : ndarray of shape (problems, k)
    ridge, lasso : ndarray, broadcast to (problems, k)
    lower, upper : ndarray of shape (k,)
        Where the lasso is not zero, both of one sign: |x| is then linear.

    Returns
    -------
    ndarray of shape (problems, k)

    Examples
    --------
    >>> G, h, nothing = np.eye(2)[None], np.array([[4.0, 0.5]]), np.zeros(2)
    >>> penalised_least_squares(G, h, nothing + 1.0, nothing + 1.0, nothing, nothing + np.inf)
    array([[1.5, 0. ]])
    """
    G = gram.copy()
    diagonal(G)[:] += ridge
    return nonnegative_least_squares(G, moment - np.where(upper > 0.0, lasso, -lasso), lower, upper)


def _exchange(G: Array, h: Array, low: Array, high: Array, side: Sides) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Exchange the variables that violate their conditions until none does; return x, and where that came to rest."""
    problems, k = h.shape
    x = np.empty((problems, k))
    pinned = low >= high
    side = np.where(pinned, np.int8(-1), side)
    left = np.arange(problems)
    fewest = np.full(problems, k + 1)
    patience = np.full(problems, PATIENCE)
    for _ in range(k + 20):
        at, dual = _solve(G, h, side, low, high)
        x[left] = at
        inside = side == 0
        below, above = inside & (at < low - TOLERANCE), inside & (at > high + TOLERANCE)
        wrong = below | above | ((side * dual > TOLERANCE) & ~pinned)
        count = wrong.sum(axis=1)
        more = count > 0
        if not more.all():
            left = left[more]
            if left.size == 0:
                break
            G, h, low, high, pinned, side = G[more], h[more], low[more], high[more], pinned[more], side[more]
            fewest, patience, count = fewest[more], patience[more], count[more]
            wrong, below, above = wrong[more], below[more], above[more]
        patience = np.where(count < fewest, PATIENCE, patience - 1)
        fewest = np.minimum(fewest, count)
        # Where exchanging all violators no longer helps, exchange only the last: that cannot cycle.
        stuck = patience < 0
        if stuck.any():
            last = k - 1 - np.argmax(wrong[:, ::-1], axis=1)
            wrong &= ~(stuck[:, None] & (np.arange(k) != last[:, None]))
        side = np.where(wrong, above.astype(np.int8) - below.astype(np.int8), side)
    solved = np.ones(problems, bool)
    solved[left] = False
    return x, solved


def _descend(G: Array, h: Array, low: Array, high: Array) -> Array:
    """Free one variable at a time and never leave the bounds (Lawson & Hanson 1974; Stark & Parker 1995 for boxes).

    Slower than exchanging, but the objective falls with every step: for the rare problem whose columns are so nearly
    collinear that the exchanges do not come to rest.
    """
    problems, k = h.shape
    x = np.clip(np.zeros((problems, k)), low, high)
    side = np.where(np.isneginf(low) & np.isposinf(high), 0, np.where(x <= low, -1, 1)).astype(np.int8)
    pinned = low >= high
    left = np.arange(problems)
    for _ in range(10 * k + 50):
        at, lo, hi = x[left], low[left], high[left]
        to, dual = _solve(G[left], h[left], side[left], lo, hi)
        inside = side[left] == 0
        with np.errstate(all="ignore"):
            room = np.where(to < lo - TOLERANCE, (at - lo) / (at - to), 1.0)
            room = np.where(to > hi + TOLERANCE, (hi - at) / (to - at), room)
        share = np.where(inside, np.clip(room, 0.0, 1.0), 1.0).min(axis=1, keepdims=True)
        x[left] = np.clip(at + share * (to - at), lo, hi)
        blocked = inside & (share < 1.0) & (room <= share)
        arrived = share[:, 0] == 1.0
        wrong = np.where(arrived[:, None] & ~pinned[left], np.maximum(side[left] * dual, 0.0), 0.0)
        freed = (wrong > TOLERANCE) & (np.arange(k) == wrong.argmax(axis=1)[:, None])
        side[left] = np.where(freed, 0, np.where(blocked, np.where(to < at, -1, 1), side[left]))
        left = left[~arrived | freed.any(axis=1)]
        if left.size == 0:
            break
    return x


def _scaled(gram: Array, moment: Array) -> tuple[Array, Array, Array]:
    """Bring the equations to a unit diagonal and a unit right-hand side; return them and the unit of x."""
    size = np.sqrt(np.maximum(diagonal(gram), 0.0))
    empty = ~((size > 0.0) & np.isfinite(size))
    if empty.any() or not (np.isfinite(gram).all() and np.isfinite(moment).all()):
        size = np.where(empty, 1.0, size)
        gram = np.where(np.isfinite(gram) & ~empty[:, :, None] & ~empty[:, None, :], gram, 0.0)
        diagonal(gram)[empty] = 1.0
        moment = np.where(empty | ~np.isfinite(moment), 0.0, moment)
    G = gram / (size[:, :, None] * size[:, None, :])
    diagonal(G)[:] += RIDGE
    h = moment / size
    most = np.abs(h).max(axis=1, keepdims=True)
    most[most == 0.0] = 1.0
    return G, h / most, most / size


def _solve(G: Array, h: Array, side: Sides, low: Array, high: Array) -> tuple[Array, Array]:
    """Solve for the variables between their bounds, the others at theirs; return x and Gx − h."""
    k = h.shape[1]
    inside = side == 0
    x = np.where(side < 0, low, np.where(side > 0, high, 0.0))
    rest = h - np.einsum("pkl,pl->pk", G, x) if x.any() else h
    if not inside.all():
        rest = np.where(inside, rest, 0.0)
        x += np.linalg.solve(np.where(inside[:, :, None] & inside[:, None, :], G, np.eye(k)), rest[:, :, None])[:, :, 0]
    else:
        x += np.linalg.solve(G, rest[:, :, None])[:, :, 0]
    return x, np.einsum("pkl,pl->pk", G, x) - h
