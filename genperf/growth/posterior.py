"""The posterior of a series: weights of the bank's curves and of the walks, and draws of both, which forecast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct

from genperf.arrays import Array, Index
from genperf.discrepancy.series import evaluated, walk_from
from genperf.growth.bank import CONSTANT, LEAST_SLOPE, MEAN_SLOPE, SLOPE_SD, bank, prior
from genperf.prediction.bands import mixture_quantiles

# How series are weighed.
#: Draws of a posterior: the ends of its interval move by about 1 % with half as many.
POSTERIOR_DRAWS = 800
#: Share of the draws, in the middle of those along the growth, whose mean is the decomposition that is shown.
SHOWN_SHARE = 0.5
#: Layouts that are kept, of 1 MB each, and counts, of 130 kB each. A series without nodes and
#: its look-back have up to twelve layouts.
KEPT_LAYOUTS = 32
KEPT_COUNTS = 192
#: ln of the least weight, nothing beside the others: exp takes twenty times as long of numbers that underflow.
LEAST_LOGARITHM = -700.0
#: Least variance of a measured ln T, so that no covariance is singular.
LEAST_POSTERIOR_VARIANCE = 1e-12


class Counts(Struct, frozen=True, eq=False, dict=True):
    """Where a series is measured or asked about."""

    #: Shape (counts,).
    workers: Array
    nodes: Array
    #: Shape (counts,). Of one worker, over that at the largest measured count.
    work: Array

    @property
    def columns(self) -> dict[str, Array]:
        """The counts by name."""
        return {"workers": self.workers, "nodes": self.nodes, "work": self.work}

    @cached_property
    def key(self) -> tuple[tuple[float, float, float], ...]:
        """Equal for equal counts."""
        return tuple(zip(*(column.round(9).tolist() for column in self.columns.values()), strict=True))


class Series(Struct, frozen=True, eq=False):
    """The times of a series, as arrays."""

    #: Of different workers, or nodes, or work; the largest last.
    counts: Counts
    #: Shape (counts,). ln T, and its variance as repeats show it.
    logarithms: Array
    variances: Array
    #: Shape (curves,). ln of what the prior weights are multiplied by, where something is known beside the runs.
    tilt: Array | None = None


class Layout:
    """The counts of a series, and what depends on them alone, whatever its times: once for all series alike.

        ln p(y | walk, curve f) = −½(y − f)'·M·(y − f) − ½ln|K| − ½ln(1'K⁻¹1),   M = K⁻¹ − K⁻¹11'K⁻¹/(1'K⁻¹1)

    of the walk's covariance K, the level integrated out.

    The largest count is the last; `variances` are those of ln T at each, as repeats show them.
    """

    def __init__(self, counts: Counts, variances: Array) -> None:
        constants = prior()
        self.counts, self.variances = counts, variances
        self.constant = bool(np.ptp(counts.work) > 1e-9)
        #: Shape (counts, curves).
        self.curves = self.logarithms(counts)
        # What varies at one and the same count of workers is an axis of its own.
        same = [counts.workers == n for n in np.unique(counts.workers)]
        #: Those of the nodes and the work that do.
        self.beside = [n for n in ("nodes", "work") if any(np.ptp(counts.columns[n][rows]) > 1e-9 for rows in same)]
        #: A walk of step one from the smallest count.
        self.walk = walk_from(("workers", *self.beside), 1.0, counts.columns)
        #: Shape (walks, 1, 1). Standard deviations of the walks per doubling.
        self.steps = constants.walk_step[:, None, None]
        noise = constants.noise**2 * np.eye(len(variances))
        covariance = self.steps**2 * (self.walk.covariance(counts.columns, counts.columns) + noise) + np.diag(variances)
        #: K⁻¹ of shape (walks, counts, counts), the weights of the level (walks, counts), its precision (walks,).
        self.inverse = np.linalg.inv(covariance)
        row_sums = self.inverse.sum(axis=2)
        self.precision = row_sums.sum(axis=1)
        self.level = row_sums / self.precision[:, None]
        self._projected = self.inverse - row_sums[:, :, None] * self.level[:, None, :]
        constant = np.log(constants.walk_share) - 0.5 * (np.linalg.slogdet(covariance)[1] + np.log(self.precision))
        squares = [np.einsum("ac,ac->c", projected @ self.curves, self.curves) for projected in self._projected]
        self._squares = 0.5 * np.stack(squares) - constant[:, None]
        # As they grow to twice the workers on twice the nodes.
        n, m, work = (np.asarray(projected[-1:]) for projected in (counts.workers, counts.nodes, counts.work))
        there = self.logarithms(Counts(2.0 * n, 2.0 * m, work))
        #: Shape (curves,). The curves from the flattest to the steepest.
        self.order = np.argsort(there[0] - self.curves[-1], kind="stable")
        self._kriging: dict[tuple[tuple[float, float, float], ...], tuple[Array, Array, Array]] = {}

    def logarithms(self, counts: Counts, curve: Index | slice = slice(None)) -> Array:
        """Return ln(work + overheads) of some curves, shape (counts, curves)."""
        return np.stack([_logarithms(*configuration, self.constant)[curve] for configuration in counts.key])

    def kriging(self, counts: Counts) -> tuple[Array, Array, Array]:
        """Return the weights of the measured counts at others, the mean of the slope beyond them, and the variance.

        Of shapes (walks, measured, counts), (walks, counts) and (walks, counts).
        """
        if counts.key not in self._kriging:
            predicted, measured, steps = counts.columns, self.counts.columns, self.steps
            # In work as well: a batch that was not measured is far too.
            there, here = (np.log2(evaluated((*self.walk.axes, "work"), columns)) for columns in (predicted, measured))
            ahead = np.maximum(there - here.max(axis=0), 0.0)
            beyond = np.maximum(ahead, here.min(axis=0) - there).max(axis=1)
            near = steps**2 * self.walk.covariance(measured, predicted)
            gain = self.inverse @ near
            left = 1.0 - gain.sum(axis=1)
            before = self.walk.variance(predicted) + prior().noise ** 2
            variance = steps[:, 0] ** 2 * before - np.sum(gain * near, axis=1) + left**2 / self.precision[:, None]
            slope = np.maximum(SLOPE_SD * steps[:, 0], LEAST_SLOPE)
            variance += (slope * beyond) ** 2
            weights = gain + self.level[:, :, None] * left[:, None, :]
            self._kriging = {counts.key: (weights, MEAN_SLOPE * (slope * ahead.max(axis=1)), variance)}
        return self._kriging[counts.key]

    def log_densities(self, logarithms: Array) -> Array:
        """Return ln of the walks' prior shares times the density of ln T at the counts, shape (walks, curves)."""
        pulled = self._projected @ logarithms
        out = pulled @ self.curves
        out -= self._squares
        out -= 0.5 * (pulled @ logarithms)[:, None]
        return np.asarray(out)


@lru_cache(maxsize=KEPT_COUNTS)
def _logarithms(workers: float, nodes: float, work: float, constant: bool) -> Array:
    """Return ln(work + overheads) of every curve at one count, with a constant overhead or without, shape (curves,)."""
    constants, drawn, total = prior(), bank(), np.full(len(bank().step), work)
    for place in range(CONSTANT + constant):
        shape = drawn.shapes[:, constants.shaped.index(place)] if place in constants.shaped else 1.0
        if np.any(values := constants.values(place, workers, nodes, shape)):
            total += drawn.sizes[:, place] * values
    return np.asarray(np.log(total))


@lru_cache(maxsize=KEPT_LAYOUTS)
def _layout(key: tuple[tuple[float, float, float], ...], variances: tuple[float, ...]) -> Layout:
    """Return a layout; the last ones are kept, which groups of a table share."""
    return Layout(Counts(*np.array(key).T), np.array(variances))


class Posterior(Struct, frozen=True, eq=False):
    """A series with its weighted curves."""

    series: Series
    layout: Layout
    #: Shape (walks, curves). They add up to one.
    weights: Array
    #: Log-density of the series, the level integrated out.
    log_evidence: float

    def draws(self, count: int = POSTERIOR_DRAWS) -> Draws:
        """Return so many equally likely pairs of a walk and a curve, from the flattest curve to the steepest."""
        order = self.layout.order
        reached = np.cumsum(self.weights.sum(axis=0)[order])
        target = (np.arange(count) + 0.5) / count * reached[-1]
        place = np.searchsorted(reached, target)
        curve = order[place]
        # Of each curve from the quietest walk to the loudest.
        inside = target - np.where(place > 0, reached[place - 1], 0.0)
        walk = np.sum(np.cumsum(self.weights[:-1, curve], axis=0) < inside, axis=0)
        return Draws(self, walk, curve)


class Draws(Struct, frozen=True, eq=False, dict=True):
    """Equally likely curves of a posterior, each with a walk."""

    posterior: Posterior
    #: Shape (draws,).
    walk: Index
    curve: Index

    @cached_property
    def away(self) -> Array:
        """The distances of ln T from each curve at the measured counts, shape (draws, counts)."""
        return self.posterior.series.logarithms - self.posterior.layout.curves[:, self.curve].T

    @property
    def level(self) -> tuple[Array, Array]:
        """The level of ln T of each draw and its standard deviation, each of shape (draws,)."""
        layout = self.posterior.layout
        return np.sum(layout.level[self.walk] * self.away, axis=1), layout.precision[self.walk] ** -0.5

    def forecast(self, counts: Counts) -> tuple[Array, Array]:
        """Return the mean and variance of ln T of a new run, without the noise of repeats: universal kriging.

            E = f(x*) + θ + k'·K⁻¹·(y − f − θ) + MEAN_SLOPE·slope·ahead,
            var = κ − k'·K⁻¹·k + (1 − 1'·K⁻¹·k)²/(1'·K⁻¹·1) + (slope·beyond)² + noise²

        Each is of shape (draws, counts).
        """
        weights, ahead, variance = self.posterior.layout.kriging(counts)
        mean = self.posterior.layout.logarithms(counts, self.curve).T
        mean = mean + np.einsum("da,daq->dq", self.away, weights[self.walk])
        return mean + ahead[self.walk], variance[self.walk]


class Forecast(Struct, frozen=True, eq=False):
    """ln T of a new run at some counts: normal distributions, one of each draw of some readings."""

    #: Shape (draws, counts).
    mean: Array
    variance: Array
    #: Shape (draws,). Of the interval, and of the central value.
    weights: Array
    central: Array

    def quantiles(self, levels: Sequence[float], central: bool = False) -> Array:
        """Return quantiles of T, shape (levels, counts), of the interval or where draws count as for its centre."""
        weights = self.central if central else self.weights
        return mixture_quantiles(self.mean, weights, np.sqrt(self.variance), np.asarray(levels))

    def interval(self, level: float = 0.9) -> tuple[Array, Array, Array]:
        """Return central values and interval of T, each of shape (counts,)."""
        tail = 0.5 * (1.0 - level)
        lower, upper = self.quantiles([tail, 1.0 - tail])
        return np.clip(self.quantiles([0.5], central=True)[0], lower, upper), lower, upper


def forecast(parts: Sequence[Draws], shares: Sequence[float], counts: Sequence[Counts]) -> Forecast:
    """Return what some readings forecast by their shares, each with the counts as it has them."""
    forecasts = [component.forecast(at) for component, at in zip(parts, counts, strict=True)]
    mean, variance = (np.concatenate(values) for values in zip(*forecasts, strict=True))
    weights = np.concatenate([np.full(len(p.curve), s / len(p.curve)) for p, s in zip(parts, shares, strict=True)])
    return Forecast(mean, variance, weights, weights * bank().central[np.concatenate([p.curve for p in parts])])


def posterior_of(series: Series) -> Posterior:
    """Return the posterior of a series by itself."""
    # In steps of √2, which changes no interval by its digits: series then have equal layouts.
    variances = 2.0 ** (0.5 * np.round(2.0 * np.log2(np.maximum(series.variances, LEAST_POSTERIOR_VARIANCE))))
    layout = _layout(series.counts.key, tuple(variances.tolist()))
    log = layout.log_densities(series.logarithms)
    log += bank().logarithms
    if series.tilt is not None:
        log += series.tilt
    top = float(log.max())
    log -= top
    weights = np.exp(np.maximum(log, LEAST_LOGARITHM, out=log), out=log)
    total = float(weights.sum())
    weights /= total
    return Posterior(series, layout, weights, top + float(np.log(total / weights.shape[1])))
