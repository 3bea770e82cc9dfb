"""Many small non-negative least-squares problems at once, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Added to the unit diagonal of the scaled normal equations: keeps collinear columns solvable.
RIDGE = 1e-12
#: Rounding allowed in the optimality conditions, on the scaled equations.
TOLERANCE = 1e-10


def nonnegative_least_squares(gram: Array, moment: Array, free: npt.NDArray[np.bool_] | None = None) -> Array:
    """Minimise `½ xᵀGx − hᵀx` over x ≥ 0 for every problem of a batch.

    Block principal pivoting (Portugal, Júdice & Vicente 1994; Kim & Park 2011): all problems exchange the
    variables that violate the optimality conditions at once, and single ones where that cycles, so the answer is the
    exact solution and not the limit of an iteration. The conditions are x ≥ 0, Gx − h ≥ 0, xᵀ(Gx − h) = 0.

    Parameters
    ----------
    gram : ndarray of shape (problems, k, k)
        Symmetric positive semidefinite matrices G = BᵀWB (plus a penalty).
    moment : ndarray of shape (problems, k)
        h = BᵀWt.
    free : ndarray of shape (k,), optional
        True where a variable may have either sign.

    Returns
    -------
    ndarray of shape (problems, k)

    Examples
    --------
    >>> G = np.array([[[2.0, 0.0], [0.0, 1.0]]])
    >>> nonnegative_least_squares(G, np.array([[4.0, -1.0]]))
    array([[2., 0.]])
    """
    problems, k = moment.shape
    if k == 0:
        return np.zeros((problems, 0))
    size = np.sqrt(np.maximum(np.einsum("pkk->pk", gram), 0.0))
    empty = ~(size > 0.0) | ~np.isfinite(size)
    size = np.where(empty, 1.0, size)
    G = np.where(np.isfinite(gram), gram, 0.0) / (size[:, :, None] * size[:, None, :])
    h = np.where(empty | ~np.isfinite(moment), 0.0, moment / size)
    G = G + RIDGE * np.eye(k)
    G[:, range(k), range(k)] = np.where(empty, 1.0, G[:, range(k), range(k)])
    unbounded = np.zeros(k, bool) if free is None else free

    x = np.zeros((problems, k))
    passive = np.ones((problems, k), bool)
    fewest = np.full(problems, k + 1)
    patience = np.full(problems, 3)
    left = np.arange(problems)
    for _ in range(8 * k + 50):
        x[left], dual = _solve_passive(G[left], h[left], passive[left])
        wrong = np.where(passive[left], (x[left] < -TOLERANCE) & ~unbounded, dual < -TOLERANCE)
        count = wrong.sum(axis=1)
        open_ = count > 0
        left, wrong, count = left[open_], wrong[open_], count[open_]
        if left.size == 0:
            break
        better = count < fewest[left]
        patience[left] = np.where(better, 3, patience[left] - 1)
        fewest[left] = np.minimum(fewest[left], count)
        # Where exchanging all violators no longer helps, exchange only the last: that cannot cycle.
        single = patience[left] < 0
        last = k - 1 - np.argmax(wrong[:, ::-1], axis=1)
        only = np.zeros_like(wrong)
        only[np.arange(left.size), last] = True
        passive[left] ^= np.where(single[:, None], only, wrong)
    x = np.where(unbounded, x, np.maximum(x, 0.0))
    return np.asarray(np.where(empty, 0.0, x / size))


def _solve_passive(G: Array, h: Array, passive: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """Solve for the passive variables with the others at zero; return x and Gx − h."""
    both = passive[:, :, None] & passive[:, None, :]
    masked = np.where(both, G, 0.0)
    k = h.shape[1]
    masked[:, range(k), range(k)] = np.where(passive, G[:, range(k), range(k)], 1.0)
    x = np.linalg.solve(masked, np.where(passive, h, 0.0)[:, :, None])[:, :, 0]
    x = np.where(passive, x, 0.0)
    return x, np.einsum("pkl,pl->pk", G, x) - h
