"""Polishing: from many starts, or under many weightings, to the nearest local optimum; and how many searches agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.solver.nonnegative import diagonal, nonnegative_least_squares
from genperf.solver.problem import Penalties, Problem

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PolishSettings:
    """Levenberg-Marquardt steps."""

    #: Steps of a set at most. The hardest problems of `tests/solver/test_polish.py` converge within them.
    max_steps: int = 200
    #: First damping μ, relative to the curvature: small, since starts are usually good.
    damping: float = 1e-3
    #: Share of the cost; a set has converged when a step promises and gains less.
    relative_tolerance: float = 1e-9
    #: Cost below which a fit is perfect: the square of the rounding of doubles, as costs are of the order of one.
    zero_cost: float = 1e-28
    #: `min_damping`, `max_damping`: range of μ. Beyond the upper end even a step down the gradient does not help: the
    #: cost has a kink there.
    min_damping: float = 1e-12
    max_damping: float = 1e8
    #: Gain divided by promised gain from which on the damping falls (Marquardt's rule).
    good_ratio: float = 0.25
    #: `decrease`, `increase`: factors of the damping after a good step, and after one that does not lower the cost. A
    #: guess.
    decrease: float = 0.2
    increase: float = 6.0
    #: Least curvature that is damped, as a share of the set's largest: keeps directions without curvature solvable.
    relative_floor: float = 1e-10


POLISH = PolishSettings()


@dataclass(frozen=True)
class Polished:
    """Polished sets of constants."""

    #: Shape (sets, n).
    constants: Array
    #: Shape (sets,).
    cost: Array
    #: Shape (sets,). Whether nothing was left to gain; otherwise the steps ran out.
    converged: npt.NDArray[np.bool_]
    #: Sets of constants whose cost was computed.
    evaluations: int


def polish(
    problem: Problem,
    starts: Array,
    weights: Array | None = None,
    steps: int = POLISH.max_steps,
    tolerance: float = POLISH.relative_tolerance,
    held: npt.NDArray[np.bool_] | None = None,
    watch: Callable[[float], None] | None = None,
    damping: float = POLISH.damping,
) -> Polished:
    """Levenberg-Marquardt within bounds, batched over sets of constants.

    Each step minimises `gᵀδ + ½ δᵀ(H + μD)δ` within the bounds, with the exact gradient g of loss and penalty, H their
    Gauss-Newton curvature and D its diagonal. H lacks the second derivatives of the prediction. A second step adds a
    symmetric rank-one secant estimate of them (Dennis, Gay & Welsch 1981), in the constants that the first step leaves
    off their bounds; the better step is taken. Without it, large residuals and losses that are not quadratic converge
    slowly. Bootstrap replicates, folds and restarts are sets that differ only in weights or start.

    Parameters
    ----------
    starts : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows), optional
        Weights for each set; by default the problem's weights for all.
    steps : int
        Steps of a set at most.
    tolerance : float
        Share of the cost; a set has converged when a step promises and gains less.
    held : ndarray of bool of shape (n,), optional
        Constants that keep the value of each set's start.
    watch : callable, optional
        Called with the least cost after every step.
    damping : float
        First damping; larger where the starts are far from any optimum.
    """
    settings = replace(POLISH, max_steps=steps, relative_tolerance=tolerance, damping=damping)
    fixed = np.zeros(starts.shape[1], bool) if held is None else held
    return _polish_all(problem, starts, _Conditions(weights, None), fixed, settings, watch)


def polish_apart(
    problem: Problem, starts: Array, weights: Array, penalties: Penalties, steps: int, tolerance: float
) -> Polished:
    """Polish sets whose weights and penalties differ, as `polish` does.

    Parameters
    ----------
    problem : Problem
        Its own penalty does not count.
    starts : ndarray of shape (sets, n)
    weights : ndarray of shape (sets, rows)
    penalties : Penalties
        Of each set.
    steps : int
        Steps of a set at most.
    tolerance : float
        Share of the cost.
    """
    settings = replace(POLISH, max_steps=steps, relative_tolerance=tolerance)
    nothing = np.zeros(starts.shape[1], bool)
    return _polish_all(problem, starts, _Conditions(weights, penalties), nothing, settings, None)


@dataclass(frozen=True, eq=False)
class _Conditions:
    """What sets of constants differ in beside their start."""

    #: Shape (sets, rows) or None.
    weights: Array | None
    penalties: Penalties | None

    def __getitem__(self, sets: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> _Conditions:
        """Return those of some sets."""
        weights, penalties = self.weights, self.penalties
        return _Conditions(None if weights is None else weights[sets], None if penalties is None else penalties[sets])


def _polish_all(
    problem: Problem,
    starts: Array,
    conditions: _Conditions,
    held: npt.NDArray[np.bool_],
    settings: PolishSettings,
    watch: Callable[[float], None] | None,
) -> Polished:
    """Polish sets of constants in blocks that fit in memory."""
    sets, n = starts.shape
    constants = np.clip(starts, problem.lower, problem.upper)
    cost, converged, evaluations = np.empty(sets), np.zeros(sets, bool), 0
    for block in problem.blocks(sets, problem.measured.size * (n + 2)):
        polished = _polish_block(problem, constants[block], conditions[block], held, settings, watch)
        constants[block], cost[block] = polished.constants, polished.cost
        converged[block] = polished.converged
        evaluations += polished.evaluations
    return Polished(constants, cost, converged, evaluations)


def _polish_block(
    problem: Problem,
    x: Array,
    conditions: _Conditions,
    held: npt.NDArray[np.bool_],
    settings: PolishSettings,
    watch: Callable[[float], None] | None,
) -> Polished:
    """Polish sets of constants that fit in memory together."""
    cost = problem.cost(x, conditions.weights, conditions.penalties)
    gradient, normal = problem.derivatives(x, conditions.weights, conditions.penalties)
    secant = np.zeros_like(normal)
    damping = np.full(len(x), settings.damping)
    converged = cost <= settings.zero_cost
    evaluations = len(x)
    for _ in range(settings.max_steps):
        active = np.flatnonzero(~converged)
        if active.size == 0:
            break
        active_conditions = conditions[active]
        model = _Quadratic(gradient[active], normal[active], secant[active], damping[active])
        trials, promised = _steps(problem, x[active], model, held)
        costs = _costs(problem, trials, active_conditions)
        trial = np.where((costs[1] < costs[0])[:, None], trials[1], trials[0])
        gain = cost[active] - costs.min(axis=0)
        evaluations += 2 * active.size
        improved = gain > 0.0
        ratio = gain / np.maximum(promised, 1e-300)
        small = settings.relative_tolerance * cost[active]
        no_gain_left = (promised <= small) & (gain <= small) & (damping[active] <= 1.0)
        moved = active[improved]
        if moved.size:
            before = x[moved], gradient[moved]
            x[moved], cost[moved] = trial[improved], costs.min(axis=0)[improved]
            moved_conditions = active_conditions[improved]
            gradient[moved], normal[moved] = problem.derivatives(
                x[moved], moved_conditions.weights, moved_conditions.penalties
            )
            step = (x[moved] - before[0]) / problem.scale
            secant[moved] = _rank_one(secant[moved], step, gradient[moved] - before[1], normal[moved])
        after_good = np.where(ratio > settings.good_ratio, settings.decrease, 1.0)
        damping[active] *= np.where(improved, after_good, settings.increase)
        converged[active] = (
            no_gain_left | (cost[active] <= settings.zero_cost) | (damping[active] > settings.max_damping)
        )
        damping = np.maximum(damping, settings.min_damping)
        if watch is not None:
            watch(float(cost.min()))
    return Polished(x, cost, converged, evaluations)


def _costs(problem: Problem, trials: Array, conditions: _Conditions) -> Array:
    """Return the cost of two trials of every set."""
    both = conditions[np.tile(np.arange(trials.shape[1]), 2)]
    return problem.cost(trials.reshape(-1, trials.shape[2]), both.weights, both.penalties).reshape(2, -1)


@dataclass(frozen=True)
class _Quadratic:
    """The model of the cost about some sets, by their scaled constants."""

    #: Shape (sets, n).
    gradient: Array
    #: Shape (sets, n, n). Gauss-Newton curvature H.
    normal: Array
    #: Shape (sets, n, n). Estimate of the curvature that H lacks.
    secant: Array
    #: Shape (sets,). μ.
    damping: Array


def _steps(problem: Problem, x: Array, model: _Quadratic, held: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """Take the two damped steps."""
    gradient, normal, secant = model.gradient, model.normal, model.secant
    curvature = diagonal(normal)
    floor = POLISH.relative_floor * np.maximum(curvature.max(axis=1, keepdims=True), 1e-30)
    H = normal.copy()
    diagonal(H)[:] += model.damping[:, None] * np.maximum(curvature, floor) + floor
    low, high = (np.where(held, 0.0, (end - x) / problem.scale) for end in (problem.lower, problem.upper))
    # A constant at a bound that the gradient pushes against is likely to stay there.
    sides = ((high == 0.0) & (gradient < 0.0)).astype(np.int8) - ((low == 0.0) & (gradient > 0.0)).astype(np.int8)
    first = nonnegative_least_squares(H, -gradient, low, high, sides)
    promised = -np.einsum("sn,sn->s", first, gradient + 0.5 * np.einsum("snm,sm->sn", H, first))
    free = (first > low) & (first < high)
    H = np.where(free[:, :, None] & free[:, None, :], H + secant, np.eye(x.shape[1]))
    # The gradient of the fuller model where the constants that are not free have taken their step.
    gradient = gradient + np.einsum("snm,sm->sn", normal + secant, np.where(free, 0.0, first))
    second = np.where(free, np.linalg.solve(H, -gradient[:, :, None])[:, :, 0], first)
    trials = np.stack([first, second]) * problem.scale + x
    return np.minimum(np.maximum(trials, problem.lower), problem.upper), promised


def _rank_one(secant: Array, step: Array, change: Array, normal: Array) -> Array:
    """Update the secant estimate S so that (H + S)·step is the change of the gradient."""
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


#: Called with the least cost of the sets at hand whenever costs were computed.
Watch: TypeAlias = Callable[[float], None]

#: Stands in the place of a search's number where the set was polished from a given start.
FROM_START = -1


@dataclass(frozen=True)
class AgreementSettings:
    """When two costs are counted as one optimum."""

    #: Share of the least cost within which another cost is the same optimum. A guess: a tenth of a per cent of the mean
    #: squared error changes no prediction that anyone measures.
    relative_cost: float = 1e-3
    #: Costs below it all mean a perfect fit; costs are of the order of one, so this is the rounding of doubles.
    zero_cost: float = 1e-15


AGREEMENT = AgreementSettings()


@dataclass(frozen=True)
class Optima:
    """Local optima that one or more searches ended in, one entry per polished set."""

    #: Shape (sets, n).
    constants: Array
    #: Shape (sets,).
    cost: Array
    #: Shape (sets,). Whether the polish converged.
    converged: npt.NDArray[np.bool_]
    #: Shape (sets,). Number of the search; `FROM_START` for a set that was polished from a given start.
    search: npt.NDArray[np.intp]
    #: Number of searches.
    searches: int
    #: Sets of constants whose cost was computed.
    evaluations: int

    @property
    def best_counts(self) -> npt.NDArray[np.intp]:
        """Number of sets of each search that have the least cost of all, shape (searches,)."""
        best = self.cost <= self.cost.min() * (1.0 + AGREEMENT.relative_cost) + AGREEMENT.zero_cost
        return np.bincount(self.search[best & (self.search != FROM_START)], minlength=self.searches)

    @property
    def agreed(self) -> int:
        """Number of searches that reached the least cost of all."""
        return int(np.count_nonzero(self.best_counts))

    def continued(self, later: Optima) -> Optima:
        """Return these optima and later ones of the same searches."""
        return Optima(
            np.vstack([self.constants, later.constants]),
            np.concatenate([self.cost, later.cost]),
            np.concatenate([self.converged, later.converged]),
            np.concatenate([self.search, later.search]),
            self.searches,
            self.evaluations + later.evaluations,
        )

    def joined(self, others: Optima) -> Optima:
        """Return these optima and those of other searches, whose numbers follow."""
        numbers = np.where(others.search == FROM_START, FROM_START, others.search + self.searches)
        return Optima(
            np.vstack([self.constants, others.constants]),
            np.concatenate([self.cost, others.cost]),
            np.concatenate([self.converged, others.converged]),
            np.concatenate([self.search, numbers]),
            self.searches + others.searches,
            self.evaluations + others.evaluations,
        )


def optima_of(polished: Polished, starts: int, searches: int, evaluations: int) -> Optima:
    """Return the optima of a polish, each with the number of its search.

    Parameters
    ----------
    polished : Polished
        First the sets that were polished from given starts, then equally many sets of every search.
    starts : int
        Number of given starts.
    searches : int
        Number of searches.
    evaluations : int
        Evaluations before the polish.
    """
    search = np.repeat(np.arange(searches), (len(polished.cost) - starts) // searches)
    search = np.concatenate([np.full(starts, FROM_START), search])
    return Optima(
        polished.constants,
        polished.cost,
        polished.converged,
        search,
        searches,
        evaluations + polished.evaluations,
    )
