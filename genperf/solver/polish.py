"""Polishing: from good constants to the nearest best ones, for many starts or many weightings at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.solver.problem import Problem

Array = npt.NDArray[np.float64]

MOST_STEPS = 200
#: A set is done when a step lowers its cost by less than this share.
SETTLED = 1e-9


@dataclass(frozen=True)
class Polished:
    """What polishing returned, one entry per set.

    Attributes
    ----------
    constants : ndarray of shape (sets, n)
    cost : ndarray of shape (sets,)
    settled : ndarray of bool of shape (sets,)
        Whether the last steps moved nothing.
    evaluations : int
        Sets × evaluations made.
    """

    constants: Array
    cost: Array
    settled: npt.NDArray[np.bool_]
    evaluations: int


def polish(problem: Problem, starts: Array, weights: Array | None = None, steps: int = MOST_STEPS) -> Polished:
    """Levenberg-Marquardt within bounds, batched over sets of constants.

    Each step solves `(H + P + μD)·δ = −g` with the exact gradient g of loss and penalty, the Gauss-Newton H = JᵀωJ of
    the loss's curvature ω, the penalty's curvature P and D = diag(H + P); constants held at a bound by their gradient
    stay there. Bootstrap replicates, folds and restarts are sets that differ only in their weights or start.

    Parameters
    ----------
    problem : Problem
    starts : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows), optional
        Each set's own weights; the problem's where omitted.
    steps : int
        At most this many.

    Returns
    -------
    Polished
    """
    sets, n = starts.shape
    rows = problem.measured.size
    constants = np.clip(starts, problem.lower, problem.upper)
    cost = np.empty(sets)
    settled = np.zeros(sets, bool)
    evaluations = 0
    for block in problem.blocks(sets, rows * (n + 2)):
        own = problem.weights[None, :].repeat(block.stop - block.start, 0) if weights is None else weights[block]
        found = _polish_block(problem, constants[block], own, steps)
        constants[block], cost[block], settled[block] = found.constants, found.cost, found.settled
        evaluations += found.evaluations
    return Polished(constants, cost, settled, evaluations)


def _polish_block(problem: Problem, x: Array, weights: Array, steps: int) -> Polished:
    x = x.copy()
    shares = weights / weights.sum(axis=1, keepdims=True)
    cost = problem.cost(x, weights)
    damping = np.full(len(x), 1e-3)
    calm = np.zeros(len(x), int)
    active = np.arange(len(x))
    evaluations = len(x)
    for _ in range(steps):
        if active.size == 0:
            break
        trial = x[active] + _step(problem, x[active], shares[active], damping[active])
        trial = np.clip(trial, problem.lower, problem.upper)
        trial_cost = problem.cost(trial, weights[active])
        evaluations += 2 * active.size
        lower = trial_cost < cost[active]
        gain = np.where(lower, cost[active] - trial_cost, 0.0)
        small = gain <= SETTLED * np.abs(cost[active])
        x[active] = np.where(lower[:, None], trial, x[active])
        cost[active] = np.where(lower, trial_cost, cost[active])
        damping[active] = np.clip(np.where(lower, damping[active] * 0.2, damping[active] * 6.0), 1e-12, 1e12)
        # Calm only counts where the step was taken nearly whole, or where even a tiny one does not help.
        calm[active] = np.where(small & (lower | (damping[active] > 1e6)), calm[active] + 1, 0)
        active = active[(calm[active] < 2) & (cost[active] > 1e-28)]
    done = np.ones(len(x), bool)
    done[active] = False
    return Polished(x, cost, done, evaluations)


def _step(problem: Problem, x: Array, shares: Array, damping: Array) -> Array:
    times, J = problem.jacobian(x)
    with np.errstate(all="ignore"):
        omega = shares * problem.loss.curvature(times, problem.measured, problem.time_scale)
        omega = np.where(np.isfinite(omega), omega, 0.0)
        off = np.where(np.isfinite(times), times - problem.measured, 0.0)
    J = np.where(np.isfinite(J), J, 0.0) * problem.scale
    weighted = J * omega[:, :, None]
    hessian = 2.0 * np.swapaxes(weighted, 1, 2) @ J
    gradient = 2.0 * np.einsum("srn,sr->sn", weighted, off)
    scaled = problem.scaled(x)
    own = np.where(problem.penalised, problem.penalty.curvature(scaled), 0.0)
    n = x.shape[1]
    hessian[:, range(n), range(n)] += own
    gradient = gradient + own * scaled
    held = ((x <= problem.lower) & (gradient > 0.0)) | ((x >= problem.upper) & (gradient < 0.0))
    gradient = np.where(held, 0.0, gradient)
    hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, hessian)
    diagonal = np.einsum("snn->sn", hessian)
    floor = 1e-10 * np.maximum(diagonal.max(axis=1, keepdims=True), 1e-30)
    hessian[:, range(n), range(n)] += damping[:, None] * np.maximum(diagonal, floor) + floor
    hessian[:, range(n), range(n)] = np.where(held, 1.0, hessian[:, range(n), range(n)])
    step = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    return np.asarray(step * problem.scale)
