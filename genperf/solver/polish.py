"""Polishing: from good constants to the nearest best ones, for many starts or many weightings at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver.nonnegative import diagonal, nonnegative_least_squares
from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]

MOST_STEPS = 200
#: How much steps are damped at first, unless it is said: where a good start is known, hardly.
DAMPING = 1e-3
#: A set is done when its model of the cost promises less than this share of it, unless another is asked for.
SETTLED = 1e-9
#: Costs are of the order of one; below this there is nothing left to lower.
EXACT = 1e-28
#: Damping beyond which even a step down the gradient does not help: the cost has a kink there.
MOST_DAMPING = 1e8


@dataclass(frozen=True)
class Polished:
    """What polishing returned, one entry per set.

    Attributes
    ----------
    constants : ndarray of shape (sets, n)
    cost : ndarray of shape (sets,)
    settled : ndarray of bool of shape (sets,)
        Whether nothing was left to gain; otherwise the steps ran out.
    evaluations : int
        Sets of constants whose cost was computed.
    """

    constants: Array
    cost: Array
    settled: npt.NDArray[np.bool_]
    evaluations: int


def polish(
    problem: Problem,
    starts: Array,
    weights: Array | None = None,
    steps: int = MOST_STEPS,
    tolerance: float = SETTLED,
    held: npt.NDArray[np.bool_] | None = None,
    watch: Callable[[float], None] | None = None,
    damping: float = DAMPING,
) -> Polished:
    """Levenberg-Marquardt within bounds, batched over sets of constants.

    Each step minimises `gᵀδ + ½ δᵀ(H + μD)δ` within the bounds, with the exact gradient g of loss and penalty, H their
    Gauss-Newton curvature and D its diagonal. Beside it a second step, in the constants which the first leaves off
    their bounds, adds to H a symmetric rank-one secant estimate of what it leaves out (Dennis, Gay & Welsch 1981),
    without which large residuals and losses that are not quadratic converge slowly; the better is taken. Bootstrap
    replicates, folds and restarts are sets that differ only in weights or start.

    Parameters
    ----------
    problem : Problem
    starts : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows), optional
        Each set's own weights; the problem's where omitted.
    steps : int
        At most this many.
    tolerance : float
        Share of the cost below which nothing is left to gain.
    held : ndarray of bool of shape (n,), optional
        Constants that stay, in each set, where its start has them.
    watch : callable, optional
        Is told the least cost after every step.
    damping : float
        At first; larger where the starts are far from any optimum.

    Returns
    -------
    Polished
    """
    sets, n = starts.shape
    constants = np.clip(starts, problem.lower, problem.upper)
    cost = np.empty(sets)
    settled = np.zeros(sets, bool)
    evaluations = 0
    stay = np.zeros(n, bool) if held is None else held
    for block in problem.blocks(sets, problem.measured.size * (n + 2)):
        own = None if weights is None else weights[block]
        found = _polish_block(problem, constants[block], own, steps, tolerance, stay, watch, damping)
        constants[block], cost[block], settled[block] = found.constants, found.cost, found.settled
        evaluations += found.evaluations
    return Polished(constants, cost, settled, evaluations)


def _polish_block(
    problem: Problem,
    x: Array,
    weights: Array | None,
    steps: int,
    tolerance: float,
    held: npt.NDArray[np.bool_],
    watch: Callable[[float], None] | None,
    first_damping: float,
) -> Polished:
    cost = problem.cost(x, weights)
    gradient, normal = problem.derivatives(x, weights)
    secant = np.zeros_like(normal)
    damping = np.full(len(x), first_damping)
    settled = cost <= EXACT
    evaluations = len(x)
    for _ in range(steps):
        a = np.flatnonzero(~settled)
        if a.size == 0:
            break
        own = None if weights is None else weights[a]
        trials, promised = _steps(problem, x[a], gradient[a], normal[a], secant[a], damping[a], held)
        costs = _costs(problem, trials, own)
        trial = np.where((costs[1] < costs[0])[:, None], trials[1], trials[0])
        gain = cost[a] - costs.min(axis=0)
        evaluations += 2 * a.size
        lower = gain > 0.0
        ratio = gain / np.maximum(promised, 1e-300)
        small = tolerance * cost[a]
        rest = (promised <= small) & (gain <= small) & (damping[a] <= 1.0)
        moved = a[lower]
        if moved.size:
            before = x[moved], gradient[moved]
            x[moved], cost[moved] = trial[lower], costs.min(axis=0)[lower]
            gradient[moved], normal[moved] = problem.derivatives(x[moved], None if own is None else own[lower])
            s = (x[moved] - before[0]) / problem.scale
            secant[moved] = _rank_one(secant[moved], s, gradient[moved] - before[1], normal[moved])
        damping[a] *= np.where(lower, np.where(ratio > 0.25, 0.2, 1.0), 6.0)
        settled[a] = rest | (cost[a] <= EXACT) | (damping[a] > MOST_DAMPING)
        damping = np.maximum(damping, 1e-12)
        if watch is not None:
            watch(float(cost.min()))
    return Polished(x, cost, settled, evaluations)


def _costs(problem: Problem, trials: Array, weights: Array | None) -> Array:
    """Return the cost of two trials of every set, (2, sets, n) → (2, sets)."""
    if weights is None:
        return problem.cost(trials.reshape(-1, trials.shape[2])).reshape(2, -1)
    return np.stack([problem.cost(trial, weights) for trial in trials])


def _steps(
    problem: Problem,
    x: Array,
    gradient: Array,
    normal: Array,
    secant: Array,
    damping: Array,
    held: npt.NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Return where the two damped steps lead, shape (2, sets, n), and how much the first promises to lower the cost."""
    curved = diagonal(normal)
    floor = 1e-10 * np.maximum(curved.max(axis=1, keepdims=True), 1e-30)
    H = normal.copy()
    diagonal(H)[:] += damping[:, None] * np.maximum(curved, floor) + floor
    low, high = (np.where(held, 0.0, (end - x) / problem.scale) for end in (problem.lower, problem.upper))
    # A constant at a bound that the gradient pushes against is likely to stay there.
    sides = ((high == 0.0) & (gradient < 0.0)).astype(np.int8) - ((low == 0.0) & (gradient > 0.0)).astype(np.int8)
    plain = nonnegative_least_squares(H, -gradient, low, high, sides)
    promised = -np.einsum("sn,sn->s", plain, gradient + 0.5 * np.einsum("snm,sm->sn", H, plain))
    free = (plain > low) & (plain < high)
    H = np.where(free[:, :, None] & free[:, None, :], H + secant, np.eye(x.shape[1]))
    rest = gradient + np.einsum("snm,sm->sn", normal + secant, np.where(free, 0.0, plain))
    other = np.where(free, np.linalg.solve(H, -rest[:, :, None])[:, :, 0], plain)
    both = np.stack([plain, other]) * problem.scale + x
    return np.minimum(np.maximum(both, problem.lower), problem.upper), promised


def _rank_one(secant: Array, step: Array, change: Array, normal: Array) -> Array:
    """Update the secant estimate so that (normal + secant)·step is the change of the gradient."""
    with np.errstate(all="ignore"):
        wanted = change - np.einsum("snm,sm->sn", normal, step)
        had = np.einsum("snm,sm->sn", secant, step)
        size = np.abs(np.einsum("sn,sn->s", step, wanted)) / np.abs(np.einsum("sn,sn->s", step, had))
        shrink = np.where(np.isfinite(size), np.minimum(size, 1.0), 1.0)
        off = wanted - shrink[:, None] * had
        along = np.einsum("sn,sn->s", off, step)
        safe = along**2 > 1e-16 * np.einsum("sn,sn->s", off, off) * np.einsum("sn,sn->s", step, step)
        update = off[:, :, None] * off[:, None, :] / np.where(safe, along, 1.0)[:, None, None]
    return np.asarray(shrink[:, None, None] * secant + np.where(safe[:, None, None], update, 0.0))
