"""The posterior of a series: weights of the bank's curves and of the walks, and draws of both, which forecast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index
from genperf.discrepancy import Discrepancy, Extrapolation
from genperf.discrepancy.series import walk_from
from genperf.growth.bank import CONSTANT, SLOPE_BEYOND, SLOPE_SD, bank, prior
from genperf.prediction.bands import MixtureForecast

#: Of the central value: a factor for each overhead between nodes that does not arise, and the power of a walk's step.
#: A heavy tail and a loud walk belong to the ends of the interval (`experiments/decisions/growth-of-a-series.md`).
CENTRAL_ABSENT, CENTRAL_POWER = 1.25, -0.25
#: Draws of a posterior: the ends of its interval move by about 1 % with half as many.
POSTERIOR_DRAWS = 800
#: Share of the draws, in the middle of those along the growth, whose mean is the decomposition that is shown.
SHOWN_SHARE = 0.5
#: Posteriors that are kept, of 0.5 MB each, layouts, of 1 MB each, and counts, of 130 kB each. A series without nodes
#: and its look-back have up to twelve layouts; the folds of a table of factors share about half of their posteriors.
KEPT_POSTERIORS, KEPT_COUNTS = 96, 192
#: ln of the least weight, nothing beside the others: exp takes twenty times as long of numbers that underflow.
LEAST_LOGARITHM = -700.0
#: Least count or work, relative to the largest: sizes of a message span more decades than counts are told apart by.
LEAST_COUNT = 1e-9
#: Least variance of a measured ln T, so that no covariance is singular.
LEAST_POSTERIOR_VARIANCE = 1e-12


class Counts(Struct, frozen=True, eq=False, dict=True):
    """Where a series is measured or asked about."""

    #: Shape (counts,).
    workers: Array
    nodes: Array
    work: Array  #: Shape (counts,). Of one worker, over that at the largest measured count.

    @property
    def columns(self) -> dict[str, Array]:
        """The counts by name."""
        return {"workers": self.workers, "nodes": self.nodes, "work": self.work}

    @cached_property
    def key(self) -> tuple[tuple[float, float, float], ...]:
        """(workers, nodes, work) of each count, equal for equal counts but for rounding, and above zero."""
        rounded = (np.maximum(column.round(9), LEAST_COUNT).tolist() for column in self.columns.values())
        return tuple(zip(*rounded, strict=True))


class Layout:
    """The counts of a series, and what depends on them alone, whatever its times: once for all series alike.

        ln p(y | walk, curve f) = −½(y − f)'·M·(y − f) − ½ln|K| − ½ln(1'K⁻¹1),   M = K⁻¹ − K⁻¹11'K⁻¹/(1'K⁻¹1)

    of the walk's covariance K, the level integrated out. ln p is a sum of products, of the parts of y and of f:

        ln p = (M·y)'·f + [−½·f'·M·f − ½·ln|K| − ½·ln(1'K⁻¹1)] − ½·y'·M·y

    The largest count is the last; `variances` are those of ln T at each, as repeats show them. Beyond it devices that
    are known to be `apart`, one a node, add more (`SLOPE_BEYOND`).
    """

    def __init__(self, counts: Counts, variances: Array, apart: bool = False) -> None:
        constants = prior()
        least_slope, mean_slope = SLOPE_BEYOND[apart]
        self.counts, self.variances = counts, variances
        self.constant = bool(np.ptp(counts.work) > 1e-9)
        curves = self.logarithms(counts)
        rows_of_counts = [counts.workers == workers for workers in np.unique(counts.workers)]
        columns = [(name, counts.columns[name]) for name in ("nodes", "work")]
        #: What varies at one and the same count of workers is an axis of the walk by itself.
        self.beside = [name for name, values in columns if any(np.ptp(values[of]) > 1e-9 for of in rows_of_counts)]
        axes = ("workers", *self.beside)
        #: A walk of step one from the smallest count, which has the scales of the prior's walks.
        self.process = Discrepancy(
            walk_from(axes, 1.0, counts.columns),
            counts.columns,
            np.zeros(len(variances)),
            variances,
            float(constants.noise),
            constants.walk_step,
            # In work as well: a batch that was not measured is far too.
            Extrapolation(axes, "work", SLOPE_SD, quietest=least_slope / SLOPE_SD, mean=mean_slope),
        )
        # W with W·K·W' = diag(step² + noise), the noise in each whitened direction, and W·1.
        whiten, noise, row_sums = self.process.geometry
        # Shape (walks, counts). Of the whitened ln T.
        total_variance = constants.walk_step[:, None] ** 2 + noise
        #: The precision of the level, 1'K⁻¹1, (walks,), and its weights, 1'K⁻¹/(1'K⁻¹1), (walks, counts).
        self.precision = (1.0 / total_variance) @ row_sums**2
        self.level = (row_sums / total_variance) @ whiten / self.precision[:, None]
        inverse = (whiten.T / total_variance[:, None, :]) @ whiten
        #: Shape (walks, counts, counts). M.
        self._projected = inverse - self.precision[:, None, None] * self.level[:, :, None] * self.level[:, None, :]
        # ln|K|, of each walk, and ln p without f and y, with the prior share of the walk.
        determinant = np.log(total_variance).sum(axis=1) - 2.0 * np.linalg.slogdet(whiten)[1]
        constant = np.log(constants.walk_share) - 0.5 * (determinant + np.log(self.precision))
        # f'·M·f of each walk by the whitened f: one product of the counts by themselves, whatever the number of walks.
        squares = (1.0 / total_variance) @ (whiten @ curves) ** 2 - self.precision[:, None] * (self.level @ curves) ** 2
        alone = constant[:, None] + bank().logarithms - 0.5 * squares
        #: Shape (counts + walks + 1, curves). What ln p is a sum of: f, each walk's part without y, and 1.
        self._sums = np.vstack([curves, alone, np.ones(alone.shape[1])])
        #: Shape (counts, curves).
        self.curves = self._sums[: len(curves)]
        # As they grow to twice the workers on twice the nodes.
        workers, nodes, work = (column[-1:] for column in (counts.workers, counts.nodes, counts.work))
        doubled = self.logarithms(Counts(2.0 * workers, 2.0 * nodes, work))
        #: Shape (curves,). The curves from the flattest to the steepest.
        self.order = np.argsort(doubled[0] - self.curves[-1], kind="stable")

    def logarithms(self, counts: Counts, curve: Index | slice = slice(None)) -> Array:
        """Return ln(work + overheads) of some curves, shape (counts, curves)."""
        return np.stack([_logarithms(*configuration, self.constant)[curve] for configuration in counts.key])

    def weights(self, logarithms: Array, tilt: Array | None = None) -> tuple[Array, float]:
        """Return the weights of walks and curves by ln T at the counts, and the log-evidence of ln T.

        The weights are of shape (walks, curves), and relative to the largest.
        """
        pulled = self._projected @ logarithms
        # One product of matrices, (walks, counts + walks + 1)·(counts + walks + 1, curves): passes over all walks and
        # curves take the time of a series. The walk's own row of the middle is taken by the identity.
        log = np.hstack([pulled, np.eye(len(pulled)), -0.5 * (pulled @ logarithms)[:, None]]) @ self._sums
        if tilt is not None:
            log += tilt
        top = float(log.max())
        log -= top
        weights = np.exp(np.clip(log, LEAST_LOGARITHM, 0.0, out=log), out=log)
        return weights, top + float(np.log(weights.sum() / weights.shape[1]))


@lru_cache(maxsize=KEPT_COUNTS)
def _logarithms(workers: float, nodes: float, work: float, constant: bool) -> Array:
    """Return ln(work + Σ size·value) over the overheads, with the constant (the last) or without, of each curve."""
    constants, drawn, total = prior(), bank(), np.full(len(bank().step), work)
    for place in range(CONSTANT + constant):
        shape = drawn.shapes[:, constants.shaped.index(place)] if place in constants.shaped else 1.0
        values = constants.values(place, workers, nodes, shape)
        if np.any(values):
            total += drawn.sizes[:, place] * values
    return np.asarray(np.log(total))


@lru_cache(maxsize=KEPT_POSTERIORS)
def _layout(key: tuple[tuple[float, float, float], ...], variances: tuple[float, ...], apart: bool) -> Layout:
    """Return a layout; the last ones are kept, which groups of a table share."""
    workers, nodes, work = np.array(key).T
    return Layout(Counts(workers, nodes, work), np.array(variances), apart)


class Posterior(Struct, frozen=True, eq=False):
    """A series with its weighted curves."""

    #: Shape (counts,). ln T.
    logarithms: Array
    layout: Layout
    weights: Array  #: Shape (walks, curves). Relative to the largest.
    log_evidence: float  #: Log-density of the series, the level integrated out.
    #: Shapes (walks,) and (curves,). What the weights of walks and of curves are multiplied by where other series are
    #: known.
    tilt: tuple[Array, Array] | None = None

    def draws(self, count: int = POSTERIOR_DRAWS) -> Draws:
        """Return so many equally likely pairs of a walk and a curve, from the flattest curve to the steepest."""
        walks, curves = self.tilt or (np.ones(len(self.weights)), np.ones(self.weights.shape[1]))
        # Evenly spaced along the sum of the weights, the curves in their order, and inside each the walks in theirs,
        # from the quietest to the loudest.
        reached = np.cumsum((walks @ self.weights * curves)[self.layout.order])
        target = (np.arange(count) + 0.5) / count * reached[-1]
        place = np.searchsorted(reached, target)
        curve = self.layout.order[place]
        # How far into the curve's own weight each lies: the walks' weights of the curve add up to it.
        inside = (target - np.where(place > 0, reached[place - 1], 0.0)) / curves[curve]
        walk, quieter = np.zeros(count, np.intp), np.zeros(count)
        for share, weights in zip(walks[:-1], self.weights[:-1], strict=True):
            quieter += share * weights[curve]
            walk += quieter < inside
        return Draws(self, walk, curve)


class Draws(Struct, frozen=True, eq=False):
    """Equally likely curves of a posterior, each with a walk."""

    posterior: Posterior
    #: Shape (draws,).
    walk: Index
    curve: Index

    @property
    def level(self) -> tuple[Array, Array]:
        """The level of ln T of each draw and its standard deviation, each of shape (draws,)."""
        layout = self.posterior.layout
        away = self.posterior.logarithms - layout.curves[:, self.curve].T
        return np.sum(layout.level[self.walk] * away, axis=1), layout.precision[self.walk] ** -0.5

    @property
    def central(self) -> Array:
        """The ratio of each draw's weight for the central value to that for the interval, mean one, shape (draws,)."""
        absent = np.sum(prior().between & ~bank().present[self.curve], axis=1)
        ratio = CENTRAL_ABSENT**absent * prior().walk_step[self.walk] ** CENTRAL_POWER
        return np.asarray(ratio / ratio.mean())

    def forecast(self, counts: Counts) -> tuple[Array, Array, Array]:
        """Return the mean of ln T (`Discrepancy.forecast`), its variance and a new run's, without the noise of repeats.

        Each is of shape (draws, counts).
        """
        layout = self.posterior.layout
        scales, logarithms = layout.process.scales[self.walk], self.posterior.logarithms
        process = replace(layout.process, scales=scales, logarithms=logarithms)
        at_runs, there = layout.curves[:, self.curve].T, layout.logarithms(counts, self.curve).T
        mean, variance = process.forecast(counts.columns, at_runs, there)
        return mean, variance, variance + process.run_variance(0.0)


def forecast(parts: Sequence[Draws], shares: Sequence[float], counts: Sequence[Counts]) -> MixtureForecast:
    """Return the mixture of what readings forecast, by their shares, each at its counts."""
    forecasts = [part.forecast(at) for part, at in zip(parts, counts, strict=True)]
    mean, variance, total = map(np.concatenate, zip(*forecasts, strict=True))
    weights = np.concatenate([np.full(len(p.curve), s / len(p.curve)) for p, s in zip(parts, shares, strict=True)])
    return MixtureForecast(mean, weights, variance, total, None, weights * np.concatenate([p.central for p in parts]))


def posterior_of(
    counts: Counts, logarithms: Array, variances: Array, tilt: Array | None = None, apart: bool = False
) -> Posterior:
    """Return the posterior of a series by itself.

    Its counts differ in workers, or nodes, or work, the largest last; ln T there has variances as repeats show them.
    The tilt is ln of what the prior weights of the curves are multiplied by, where something is known beside the runs.
    Devices are `apart` where each is known to have a node of its own.
    """
    # In steps of √2, which changes no interval by its digits: series then have equal layouts.
    variances = 2.0 ** (0.5 * np.round(2.0 * np.log2(np.maximum(variances, LEAST_POSTERIOR_VARIANCE))))
    layout = _layout(counts.key, tuple(variances.tolist()), apart)
    if tilt is None:
        return _posterior(layout, tuple(logarithms.tolist()))
    return Posterior(logarithms, layout, *layout.weights(logarithms, tilt))


@lru_cache(maxsize=KEPT_POSTERIORS)
def _posterior(layout: Layout, logarithms: tuple[float, ...]) -> Posterior:
    """Return a posterior without a tilt; the last ones are kept: folds and readings of a table share most of theirs."""
    return Posterior(np.array(logarithms), layout, *layout.weights(np.array(logarithms)))
