"""Polishing: from many starts, or under many weightings, to the nearest local optimum; and how many searches agree."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index, Mask
from genperf.solver.nonnegative import diagonal, nonnegative_least_squares
from genperf.solver.problem import Conditions, Problem, blocks

#: Factor of the damping after a good step. Half errs 2 % more, double as much (experiments/results/settings.md).
DECREASE = 0.2
#: And after one that does not lower the cost.
INCREASE = 6.0
#: Gain divided by promised gain from which on the damping falls (Marquardt's rule).
GOOD_RATIO = 0.25
#: Range of the damping. Beyond the upper end even a step down the gradient does not help: the cost has a kink there.
LEAST_DAMPING, MOST_DAMPING = 1e-12, 1e8
#: Least curvature that is damped, as a share of the set's largest: keeps directions without curvature solvable.
RELATIVE_FLOOR = 1e-10
#: Cost below which a fit is perfect: the square of the rounding of doubles, as costs are of the order of one.
ZERO_COST = 1e-28
#: Share of the least cost within which another cost is the same optimum: how near the best known cost a search is
#: to come (`experiments/performance.md`); and the rounding of doubles, below which costs are one whatever their ratio.
SAME_COST, BOTH_ZERO = 1e-3, 1e-15


class PolishSettings(Struct, frozen=True):
    """Levenberg-Marquardt steps."""

    #: Steps of a set at most. The hardest problems of `tests/solver/test_search.py` converge within them.
    max_steps: int = 200
    damping: float = 1e-3  #: First damping μ, relative to the curvature: small, since starts are usually good.
    relative_tolerance: float = 1e-9  #: Share of the cost; a set has converged when a step promises and gains less.


POLISH = PolishSettings()
#: Where a choice is made between fits, and not yet a fit: what is left to gain changes no choice.
ROUGHLY = PolishSettings(max_steps=60, relative_tolerance=1e-5)

#: Stands in the place of a search's number where the set was polished from a given start.
FROM_START = -1


class Optima(Struct, frozen=True):
    """Local optima that sets of constants were polished to, and the searches that these are from."""

    constants: Array  #: Shape (sets, n).
    cost: Array  #: Shape (sets,).
    converged: Mask  #: Shape (sets,). Whether nothing was left to gain; otherwise the steps ran out.
    evaluations: int  #: Sets of constants whose cost was computed.
    search: Index  #: Shape (sets,). Number of the search; `FROM_START` for a set that was polished from a given start.

    @property
    def searches(self) -> int:
        """Number of searches."""
        return int(self.search.max()) + 1

    @property
    def best(self) -> Mask:
        """Which sets of the searches have the least cost of all, shape (sets,)."""
        least = self.cost <= self.cost.min() * (1.0 + SAME_COST) + BOTH_ZERO
        return np.asarray(least & (self.search != FROM_START))

    @property
    def agreed(self) -> int:
        """Number of searches that reached the least cost of all."""
        return len(np.unique(self.search[self.best]))

    def joined(self, later: Optima, again: bool = False) -> Optima:
        """Return these optima and later ones: of the same searches (`again`), or of others, whose numbers follow."""
        offset = 0 if again else self.searches
        return Optima(
            np.vstack([self.constants, later.constants]),
            np.concatenate([self.cost, later.cost]),
            np.concatenate([self.converged, later.converged]),
            self.evaluations + later.evaluations,
            np.concatenate([self.search, np.where(later.search == FROM_START, FROM_START, later.search + offset)]),
        )

    def of_searches(self, searches: int, starts: int, evaluations: int) -> Optima:
        """Return these optima as equally many of each search, behind some from given starts; with its evaluations."""
        numbers = np.repeat(np.arange(searches), (len(self.cost) - starts) // searches)
        search = np.concatenate([np.full(starts, FROM_START), numbers])
        return replace(self, search=search, evaluations=evaluations + self.evaluations)


def polish(
    problem: Problem,
    starts: Array,
    weights: Array | None = None,
    settings: PolishSettings = POLISH,
    held: Mask | bool = False,
    penalties: tuple[Array, Array] | None = None,
    drawn: tuple[Array, Array] | None = None,
) -> Optima:
    """Minimise a cost from many starts, (sets, n), by Levenberg-Marquardt within bounds; held constants stay."""
    sets, n = starts.shape
    constants = np.clip(starts, problem.lower, problem.upper)
    cost, converged, evaluations = np.empty(sets), np.zeros(sets, bool), 0
    conditions = problem.conditions(weights, penalties, drawn)
    # Of each set the n derivatives, the prediction and its error in every row.
    for block in blocks(sets, problem.measured.size * (n + 2)):
        constants[block], cost[block], converged[block], evaluated = _polish_block(
            problem, constants[block], conditions[block], held, settings
        )
        evaluations += evaluated
    return Optima(constants, cost, converged, evaluations, np.arange(sets))


def _polish_block(
    problem: Problem, x: Array, conditions: Conditions, held: Mask | bool, settings: PolishSettings
) -> tuple[Array, Array, Mask, int]:
    """Polish sets of constants that fit in memory together: constants, costs, which converged, and evaluations.

    Each step minimises `gᵀδ + ½ δᵀ(H + μD)δ` within the bounds, with the exact gradient g of loss and penalty, H their
    Gauss-Newton curvature and D its diagonal. H lacks the second derivatives of the prediction. A second step adds a
    symmetric rank-one secant estimate of them (Dennis, Gay & Welsch 1981), in the constants that the first step leaves
    off their bounds; the better step is taken. Without it, large residuals and losses that are not quadratic converge
    slowly.
    """
    cost = problem.cost(x, conditions)
    # Of every set g, H and the secant estimate; `active` are the places of those that have not converged.
    gradient, normal = problem.derivatives(x, conditions)
    secant = np.zeros_like(normal)
    damping = np.full(len(x), settings.damping)
    converged = cost <= ZERO_COST
    evaluations = len(x)
    for _ in range(settings.max_steps):
        active = np.flatnonzero(~converged)
        if active.size == 0:
            break
        trials, promised = _steps(
            problem, x[active], gradient[active], normal[active], secant[active], damping[active], held
        )
        costs = problem.cost(trials.reshape(-1, trials.shape[2]), conditions[np.tile(active, 2)]).reshape(2, -1)
        trial = np.where((costs[1] < costs[0])[:, None], trials[1], trials[0])
        gain = cost[active] - costs.min(axis=0)
        evaluations += 2 * active.size
        improved = gain > 0.0
        ratio = gain / np.maximum(promised, 1e-300)
        small = settings.relative_tolerance * cost[active]
        # A strongly damped step is short, and promises little also far from an optimum.
        no_gain_left = (promised <= small) & (gain <= small) & (damping[active] <= 1.0)
        moved = active[improved]
        if moved.size:
            x_before, gradient_before = x[moved], gradient[moved]
            x[moved], cost[moved] = trial[improved], costs.min(axis=0)[improved]
            gradient[moved], normal[moved] = problem.derivatives(x[moved], conditions[moved])
            step = (x[moved] - x_before) / problem.scale
            secant[moved] = _rank_one(secant[moved], step, gradient[moved] - gradient_before, normal[moved])
        after_good = np.where(ratio > GOOD_RATIO, DECREASE, 1.0)
        damping[active] *= np.where(improved, after_good, INCREASE)
        converged[active] = no_gain_left | (cost[active] <= ZERO_COST) | (damping[active] > MOST_DAMPING)
        damping = np.maximum(damping, LEAST_DAMPING)
    return x, cost, converged, evaluations


def _steps(
    problem: Problem, x: Array, gradient: Array, normal: Array, secant: Array, damping: Array, held: Mask | bool
) -> tuple[Array, Array]:
    """Return where steps by `normal` and by `normal` + `secant` lead, (2, sets, n), and what the first promises."""
    curvature = diagonal(normal)
    floor = RELATIVE_FLOOR * np.maximum(curvature.max(axis=1, keepdims=True), 1e-30)
    H = normal.copy()
    diagonal(H)[:] += damping[:, None] * np.maximum(curvature, floor) + floor
    low, high = (np.where(held, 0.0, (end - x) / problem.scale) for end in (problem.lower, problem.upper))
    # A constant at a bound that the gradient pushes against is likely to stay there.
    sides = ((high == 0.0) & (gradient < 0.0)).astype(np.int8) - ((low == 0.0) & (gradient > 0.0)).astype(np.int8)
    newton = nonnegative_least_squares(H, -gradient, low, high, sides)
    promised = -np.einsum("sn,sn->s", newton, gradient + 0.5 * np.einsum("snm,sm->sn", H, newton))
    free = (newton > low) & (newton < high)
    H = np.where(free[:, :, None] & free[:, None, :], H + secant, np.eye(x.shape[1]))
    # The gradient of the fuller model where the constants that are not free have taken their step.
    gradient = gradient + np.einsum("snm,sm->sn", normal + secant, np.where(free, 0.0, newton))
    second = np.where(free, np.linalg.solve(H, -gradient[:, :, None])[:, :, 0], newton)
    trials = np.stack([newton, second]) * problem.scale + x
    return np.minimum(np.maximum(trials, problem.lower), problem.upper), promised


def _rank_one(secant: Array, step: Array, change: Array, normal: Array) -> Array:
    """Update the secant estimate S so that (H + S)·s is the change y of the gradient, along the step s.

        S ← τS + r·rᵀ/(rᵀs),    r = (y − Hs) − τSs,    τ = min(1, |sᵀ(y − Hs)|/|sᵀSs|)

    τ shrinks an estimate that is larger than the last step shows. Nothing is added where rᵀs is rounding.
    """
    with np.errstate(all="ignore"):
        wanted = change - np.einsum("snm,sm->sn", normal, step)
        current = np.einsum("snm,sm->sn", secant, step)
        size = np.abs(np.einsum("sn,sn->s", step, wanted)) / np.abs(np.einsum("sn,sn->s", step, current))
        shrink = np.where(np.isfinite(size), np.minimum(size, 1.0), 1.0)
        missing = wanted - shrink[:, None] * current
        along = np.einsum("sn,sn->s", missing, step)
        safe = along**2 > 1e-16 * np.einsum("sn,sn->s", missing, missing) * np.einsum("sn,sn->s", step, step)
        update = missing[:, :, None] * missing[:, None, :] / np.where(safe, along, 1.0)[:, None, None]
    return np.asarray(shrink[:, None, None] * secant + np.where(safe[:, None, None], update, 0.0))
