"""Growing an expression by interactions, and learning how large the constants of each kind are.

ln T is linear in the interactions' constants where the shares of the terms are held. So all interactions are offered at
once to a linear fit that learns how large each kind of them is (`_shrunk`); those that come to nothing are pruned,
and the expression with the others is polished. In the same way the sizes of an expression's exponents and levels are
learned, where none are offered: a factor that matters little then has small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Index, Mask
from genperf.estimate.prepare import LEAST_FREEDOM
from genperf.expression import Expression
from genperf.formula import evaluate, values_of
from genperf.models.generic import CONSTANT_TERM, LEVEL_BOUNDS, Interaction, constant_place, kinds_of, with_interactions
from genperf.panel import Table
from genperf.solver import ROUGHLY, Problem, polish

# Huber's estimate, learned sizes, growing and pruning; experiments/decisions/learned-sizes.md has the figures.
#: Standard deviation of normal residuals over the median of their |r|.
MAD_TO_SD = 1.4826
#: Huber's k, in robust standard deviations: beyond it a residual counts linearly. Lower than the usual 1.345, since
#: the tails of timings are long: 1 is the minimax choice where one row in seven is from any other distribution
#: (Huber 1964, "Robust estimation of a location parameter", 1/(1 − ε) = 2Φ(k) − 1 + 2φ(k)/k).
HUBER_BEND = 1.0
#: What a size is supposed to be before any row is seen: 2 % of the time. Half errs 4 % more, double as much
#: (experiments/results/settings.md).
USUAL_SIZE = 0.02
#: Change of ln T that counts as none: no size is smaller, and an interaction that changes it by less is pruned.
LEAST_EFFECT = 0.003
#: No size is larger.
MOST_SIZE = 1.0
#: Updates of the sizes at most.
SIZE_ROUNDS = 30
#: Relative change of every size below which the updates end.
SIZES_SETTLED = 0.02
#: Of the noise: far below any measurement's.
LEAST_SIZE_VARIANCE = 1e-8
#: Size at which every interaction begins.
START_SIZE = 0.05
#: Size at which every kind of an expression's constants begins: a usual exponent. Half and double err as much
#: (experiments/results/settings.md).
KIND_SIZE = 0.5
#: Times the interactions' sizes are learned, each time about the last polish.
SIZE_CYCLES = 2
#: The same for the sizes of an expression's constants, which change the shares of the terms.
KIND_CYCLES = 4
#: Standard deviation of a coefficient beforehand, in units of its scale or its value, whichever is larger.
COEFFICIENT_REACH = 3.0
#: λ at least: below it the polish of a perfect fit does not end.
LEAST_STRENGTH = 1e-7


def huber_weights(predicted: Array, measured: Array, weights: Array) -> Array:
    """Return weights with which least squares takes a step of Huber's estimate.

        w_i · min(1, k·s/|r_i|),  r = T/t − 1,  s = 1.4826·median |r|

    (Huber 1981, "Robust Statistics", with the scale of Hampel.) Repeated, this is a Huber loss that bends at k
    standard deviations of this table's residuals, not at a fixed percentage. The predictions T and the weights w have
    shape (fits, rows), the measured times t shape (rows,); each fit has its own s, of the rows with a weight.

    >>> huber_weights(np.array([[1.1, 0.9, 1.1, 3.0]]), np.ones(4), np.ones((1, 4))).round(2)
    array([[1.  , 1.  , 1.  , 0.07]])
    """
    with np.errstate(all="ignore"):
        residuals = np.abs(predicted / measured - 1.0)
    residuals = np.where(np.isfinite(residuals), residuals, np.inf)
    middle = np.nanmedian(np.where(weights > 0.0, residuals, np.nan), axis=1, keepdims=True)
    # A perfect fit has no scale, and every row its weight.
    bend = HUBER_BEND * MAD_TO_SD * middle + 1e-12
    return np.asarray(weights * np.minimum(1.0, bend / np.maximum(residuals, bend)))


def _shrunk(
    design: Array, target: Array, weights: Array, groups: Index, prior_sd: Array, sizes: Array
) -> tuple[Array, Array, float]:
    """Fit y = Xθ + e, and learn how large the constants of each group are.

        e_i ~ N(0, σ²/w_i),   θ_j ~ N(0, s_g²) for j in group g
        γ_j = 1 − Σ_jj/s_g²,   s_g² = (Σ_j θ_j² + s₀²) / (Σ_j γ_j + 1),
        σ² = Σ w_i r_i² / (n − Σ γ_j)

    with Σ the covariance of θ given the rows. These are MacKay's updates toward the sizes of largest evidence
    ("Bayesian interpolation", 1992), with a supposed size s₀ that counts as one constant: unit information (Kass &
    Wasserman 1995). A group that explains nothing ends near s₀, where its constants change nothing.

    X is `design`, y is `target`; the weights have a mean of 1. A group of −1 is that of a constant with a size of its
    own, `prior_sd`. Returns the constants, the sizes of the groups, and the variance of the noise.
    """
    free = groups < 0
    # A place in `sizes` for every constant; that of a free one is not used.
    member = np.where(free, 0, groups)
    count = sizes.size
    square = (design * weights[:, None]).T @ design
    moment = (design * weights[:, None]).T @ target
    # What the constants without a group leave is a start for the noise.
    root = np.sqrt(weights)
    solution = np.linalg.lstsq(design[:, free] * root[:, None], target * root, rcond=None)[0]
    unexplained = target - design[:, free] @ solution
    variance = max(float(np.average(unexplained**2, weights=weights)), LEAST_SIZE_VARIANCE)
    constants = np.zeros(design.shape[1])
    for _ in range(SIZE_ROUNDS):
        prior = np.where(free, prior_sd**2, sizes[member] ** 2 if count else 1.0)
        precision = square / variance
        precision[np.diag_indices_from(precision)] += 1.0 / prior
        covariance = np.linalg.inv(precision)
        constants = covariance @ moment / variance
        freedoms = np.clip(1.0 - np.diag(covariance) / prior, 0.0, 1.0)
        residuals = target - design @ constants
        freedom_left = max(target.size - freedoms.sum(), LEAST_FREEDOM * target.size)
        last_sizes, last_variance = sizes, variance
        variance = max(float(np.sum(weights * residuals**2) / freedom_left), LEAST_SIZE_VARIANCE)
        squares = np.bincount(member[~free], constants[~free] ** 2, count)
        freedom_of_group = np.bincount(member[~free], freedoms[~free], count)
        learned = np.sqrt((squares + USUAL_SIZE**2) / (freedom_of_group + 1.0))
        sizes = np.clip(learned, LEAST_EFFECT, MOST_SIZE)
        settled = np.all(np.abs(sizes / last_sizes - 1.0) < SIZES_SETTLED)
        if settled and abs(variance / last_variance - 1.0) < SIZES_SETTLED:
            break
    return constants, sizes, variance


class GrowthRules(Struct, frozen=True):
    """Which expressions may grow, and by what."""

    #: Fewest terms first.
    bases: tuple[Expression, ...] = ()
    offered: tuple[Interaction, ...] = ()
    alone: bool = False  #: Whether an expression that has grown is wanted, and none without interactions.
    sized: tuple[Expression, ...] = ()  #: Expressions whose constants' sizes may be learned, fewest terms first.


NO_GROWTH = GrowthRules()


class GrowthProblem(Struct, frozen=True, eq=False, dict=True):
    """An expression on a table: the interactions that it may grow, or without any the sizes that it may learn."""

    base: Expression
    #: Of the expression alone.
    problem: Problem
    offered: Sequence[Interaction]
    table: Table

    @cached_property
    def columns(self) -> list[Array]:
        """Shape (rows, effects). Of each interaction."""
        columns = self.table.columns
        return [np.column_stack([values_of(node, columns) for _, node, _ in effects]) for effects in self.offered]

    @cached_property
    def kinds(self) -> Index:
        """Shape (m,). Number of each constant's kind, whose size is learned; −1 where a constant keeps its size."""
        names = [""] * len(self.base.constants) if self.offered else kinds_of(self.base)
        learned = sorted(set(names) - {""})
        return np.array([learned.index(kind) if kind else -1 for kind in names], np.intp)

    @cached_property
    def counts(self) -> Index:
        """How many effects each interaction has."""
        return np.array([columns.shape[1] for columns in self.columns], np.intp)

    @cached_property
    def learned(self) -> int:
        """The number of kinds."""
        return int(self.kinds.max(initial=-1)) + 1

    @cached_property
    def constant(self) -> tuple[int | None, float]:
        """The place of the constant that is the constant term; None where it is held, and then its value."""
        place = constant_place(self.base)
        held = next(term.node for term in self.base.terms if term.name == CONSTANT_TERM)
        return place, 0.0 if place is not None else float(evaluate(held, {}))

    def scales(self, scale: Array, interactions: Index, sizes: Array) -> Array:
        """Return the scales of the expression's constants and of its interactions', learned sizes in their place."""
        of_base = np.where(self.kinds >= 0, sizes[self.kinds], scale) if sizes.size else scale
        return np.concatenate([of_base, np.repeat(sizes[self.learned :], self.counts[interactions])])

    def expression(self, fold: GrownFold) -> Expression:
        """Return the expression with a fold's interactions; all constants have their learned sizes."""
        enlarged = with_interactions(self.base, [self.offered[k] for k in fold.interactions])
        sizes = self.scales(np.array([c.size for c in self.base.constants]), fold.interactions, fold.sizes)
        sized = [replace(c, size=float(size)) for c, size in zip(enlarged.constants, sizes, strict=True)]
        return replace(enlarged, constants=tuple(sized))


class GrownFold(Struct, frozen=True, eq=False):
    """How far an expression has grown on all rows, or on the training rows of a fold."""

    train: Mask  #: Shape (rows,). Those on which it is fitted.
    interactions: Index  #: Shape (interactions,). Places of its interactions among those that are offered.
    sizes: Array  #: Shape (kinds + interactions,).
    problem: Problem  #: Of the training rows, with their robust weights, λ and the sizes.
    polished: Array  #: Shape (m,). The expression's own constants at the last polish.
    constants: Array  #: Shape (n,). The expression's own constants as they were learned since, then the interactions'.


def grow(growing: GrowthProblem, constants: Array, train: Mask) -> list[GrownFold]:
    """Grow an expression on the rows of each fold, shape (folds, rows), from the constants of a fit to them."""
    offered = np.arange(len(growing.offered))
    sizes = np.concatenate([np.full(growing.learned, KIND_SIZE), np.full(offered.size, START_SIZE)])
    no_effects, folds = np.zeros(int(growing.counts.sum())), []
    for base, rows in zip(constants, train, strict=True):
        weights = np.where(rows, growing.problem.weights, 0.0)
        problem = _problem(growing, offered, sizes, weights, growing.problem.penalty.strength)
        folds.append(GrownFold(rows, offered, sizes, problem, base, np.concatenate([base, no_effects])))
    for _ in range(KIND_CYCLES if growing.learned else SIZE_CYCLES):
        folds = polish_folds(growing, [_relearned(growing, fold) for fold in folds])
    return folds


def _relearned(growing: GrowthProblem, fold: GrownFold) -> GrownFold:
    """Learn the sizes and constants about the last polish, and prune the interactions that come to nothing."""
    m, kinds, constants = len(fold.polished), growing.learned, fold.constants
    weights = np.where(fold.train, growing.problem.weights, 0.0)
    robust = huber_weights(fold.problem.predict(constants[None, :]), fold.problem.measured, weights[None, :])[0]
    # The place of each constant's size among those of the kinds and of the interactions, or −1.
    interaction_of = np.repeat(np.arange(fold.interactions.size), growing.counts[fold.interactions])
    groups = np.concatenate([growing.kinds, kinds + interaction_of])
    problem = replace(fold.problem, weights=robust)
    constants, effects, sizes, variance = _learn_linearised(problem, constants, groups, fold.sizes)
    alive = effects[kinds:] >= LEAST_EFFECT
    constants = np.concatenate([constants[:m], constants[m:][alive[interaction_of]]])
    interactions, sizes = fold.interactions[alive], np.concatenate([sizes[:kinds], sizes[kinds:][alive]])
    strength = max(2.0 * variance / fold.train.sum(), LEAST_STRENGTH)
    problem = _problem(growing, interactions, sizes, robust, strength)
    return GrownFold(fold.train, interactions, sizes, problem, fold.polished, constants)


def polish_folds(growing: GrowthProblem, folds: Sequence[GrownFold]) -> list[GrownFold]:
    """Polish each fold from the learned constants and from those of the last polish, and take the end of less cost."""
    m = len(folds[0].polished)
    starts = [np.vstack([fold.constants, np.concatenate([fold.polished, fold.constants[m:]])]) for fold in folds]
    if any(fold.interactions.size for fold in folds):
        ends = [polish(fold.problem, pair, None, ROUGHLY) for fold, pair in zip(folds, starts, strict=True)]
        best = [end.constants[end.cost.argmin()] for end in ends]
    else:
        # The folds of one expression, which differ in their weights and sizes only, are one batch.
        scales = np.repeat([fold.problem.scale for fold in folds], 2, axis=0)
        strengths = np.repeat([fold.problem.penalty.strength for fold in folds], 2)
        weights = np.repeat([fold.problem.weights for fold in folds], 2, axis=0)
        end = polish(growing.problem, np.vstack(starts), weights, ROUGHLY, penalties=(scales, strengths))
        best = list(end.constants[end.cost.reshape(-1, 2).argmin(axis=1) + 2 * np.arange(len(folds))])
    return [replace(fold, polished=end[:m], constants=end) for fold, end in zip(folds, best, strict=True)]


def _problem(growing: GrowthProblem, interactions: Index, sizes: Array, weights: Array, strength: float) -> Problem:
    """Return the problem of the expression with some interactions.

        T = C + (T₀ − C)·e^(X·d)

    T₀ is the expression's own prediction by its m constants and C its constant term; X are the columns of the
    interactions, and d, behind the m constants, are their effects.
    """
    base, m = growing.problem, growing.problem.lower.size
    scale = growing.scales(base.scale, interactions, sizes)
    weighed = replace(base, weights=weights, scale=scale, penalty=replace(base.penalty, strength=strength))
    if not interactions.size:
        return weighed
    X = np.hstack([growing.columns[k] for k in interactions])
    place, held_value = growing.constant

    def constant_term(constants: Array) -> Array:
        return np.full((len(constants), 1), held_value) if place is None else constants[:, place : place + 1]

    def predict(constants: Array) -> Array:
        C = constant_term(constants)
        return np.asarray(C + (base.predict(constants[:, :m]) - C) * np.exp(constants[:, m:] @ X.T))

    def jacobian(constants: Array) -> tuple[Array, Array]:
        """Return T and its derivatives by the m constants and by d."""
        T0, by_base = base.jacobian(constants[:, :m])
        C, growth = constant_term(constants), np.exp(constants[:, m:] @ X.T)
        T, by_base = C + (T0 - C) * growth, by_base * growth[:, :, None]
        if place is not None:
            by_base[:, :, place] = 1.0
        return T, np.concatenate([by_base, (T - C)[:, :, None] * X], axis=2)

    def with_effects(of_base: AnyArray, of_effect: float) -> AnyArray:
        """Return what holds of each of the m constants, and behind them what holds of every effect."""
        return np.concatenate([of_base, np.full(X.shape[1], of_effect, of_base.dtype)])

    return replace(
        weighed,
        predict=predict,
        jacobian=jacobian,
        lower=with_effects(base.lower, LEVEL_BOUNDS[0]),
        upper=with_effects(base.upper, LEVEL_BOUNDS[1]),
        penalised=with_effects(base.penalised, True),
        coefficient=with_effects(base.coefficient, False),
        start=with_effects(base.start, 0.0),
    )


def _learn_linearised(problem: Problem, start: Array, groups: Index, sizes: Array) -> tuple[Array, Array, Array, float]:
    """Learn constants, their sizes by group and the variance of the noise, with ln T linear about θ₀, the `start`.

        ln t ≈ ln T(θ₀) + X·(θ − θ₀),   X = ∂ln T/∂θ

    Returned are the constants, how much those of each group change ln T (root mean square), the sizes and the variance.
    """
    rows = problem.weights > 0.0
    predicted, slopes = (array[0][rows] for array in problem.jacobian(start[None, :]))
    measured = problem.measured[rows]
    weights = problem.weights[rows] / problem.weights[rows].mean()
    # The loss of a row in units of its relative error, at a perfect fit.
    mean = float(np.average(measured, weights=weights))
    weights = weights * problem.loss.curvature(measured[None, :], measured, mean)[0] * measured**2
    X = slopes / predicted[:, None]
    # A constant at its bound stays there, unless its size is learned.
    free = ((start > problem.lower) & (start < problem.upper)) | (groups >= 0)
    target = np.log(measured / predicted) + X[:, free] @ start[free]
    reach = COEFFICIENT_REACH * np.maximum(problem.scale, np.abs(start))
    prior_sd = np.where(problem.coefficient, reach, problem.scale)
    fitted, sizes, variance = _shrunk(X[:, free], target, weights, groups[free], prior_sd[free], sizes)
    constants = start.copy()
    constants[free] = fitted
    constants = np.clip(constants, problem.lower, problem.upper)
    changes = [X[:, groups == k] @ constants[groups == k] for k in range(len(sizes))]
    effects = np.array([np.sqrt(np.mean(change**2)) for change in changes])
    return constants, effects, sizes, variance
