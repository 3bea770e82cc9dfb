"""The posterior of a series: weights of the bank's curves and of the walks, and the forecast that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from genperf.growth.bank import Bank, bank
from genperf.growth.cluster import Cluster, shown, without
from genperf.growth.layout import Counts, Layout
from genperf.growth.quantiles import quantiles
from genperf.table.axis import several_nodes

Array = npt.NDArray[np.float64]
#: Series of one layout that are weighed at once: 8 take 8 MB.
BATCH = 8
#: Least variance of a measured ln T, so that no covariance is singular.
LEAST_VARIANCE = 1e-12
#: Bins of less weight move no quantile.
LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class Series:
    """The times of a series, as arrays."""

    #: Of different workers, or nodes, or work; the largest last.
    counts: Counts
    #: Shape (counts,). ln T, and its variance as repeats show it.
    logarithms: Array
    variances: Array
    #: Whether T is in seconds, so that its absolute size shows something.
    in_seconds: bool = True
    #: Shape (curves,). ln of what the prior weights are multiplied by, where something is known beside the runs.
    tilt: Array | None = None

    @property
    def beyond(self) -> bool:
        """Whether the series was measured on several nodes."""
        return bool(np.any(several_nodes(self.counts.nodes)))


@dataclass(frozen=True, eq=False)
class Posterior:
    """A series with its weighted curves."""

    series: Series
    layout: Layout
    #: Shape (walks, curves). They add up to one.
    weights: Array
    #: Log-density of the series, the level integrated out.
    log_evidence: float

    @property
    def effective(self) -> float:
        """Effective number of curves."""
        return float(1.0 / np.sum(self.weights.sum(axis=0) ** 2))

    def tilted(self, cluster: Cluster) -> Posterior:
        """Return the posterior beside what is known of the cluster."""
        return replace(self, weights=cluster.tilt(self.layout.bank, self.weights))

    def forecast(self, counts: Counts) -> Forecast:
        """Return the forecast of ln T at other counts."""
        return Forecast(self, counts)


class Forecast:
    """ln T at some counts: a mixture of normal distributions, a component for each walk and curve.

    Examples
    --------
    A tenth more with each doubling, and 16 workers on two nodes of eight:

    >>> n = np.array([1.0, 2.0, 4.0, 8.0])
    >>> runs = Series(Counts(n, np.ones(4), np.ones(4)), np.log(1.0 + 0.1 * np.log2(n)), np.zeros(4))
    >>> there = posteriors([runs])[0].forecast(Counts(np.array([16.0]), np.array([2.0]), np.ones(1)))
    >>> central, lower, upper = there.interval()
    >>> bool(1.3 < central[0] < 1.6), bool(upper[0] > 1.7)
    (True, True)
    """

    def __init__(self, posterior: Posterior, counts: Counts) -> None:
        self.posterior, self.target = posterior, posterior.layout.target(counts)
        prior = posterior.layout.bank.prior
        self.level = np.einsum("wat,a->wt", self.target.gains, posterior.series.logarithms)
        self.run = (prior.walk_step * prior.walk_noise) ** 2

    def moments(self) -> tuple[Array, Array]:
        """Return the mean of ln T and its covariance between the counts, without the noise of a new run."""
        weights = self.posterior.weights
        mean = self.level[:, None, :] + self.target.shape
        centre = np.einsum("wc,wct->t", weights, mean)
        away = (mean - centre).reshape(-1, len(centre))
        spread = (weights.ravel()[:, None] * away).T @ away
        return centre, spread + np.einsum("w,wts->ts", weights.sum(axis=1), self.target.covariances)

    def components(self, at: int, weights: Array, noise: float = 0.0) -> tuple[Array, Array, Array]:
        """Return means, standard deviations and weights at one count; near means of a walk are put together."""
        variance = self.target.covariances[:, at, at] + self.run + noise**2
        sd = np.sqrt(variance)
        place, walk = self.target.bins(at, sd)
        held = np.bincount(place, weights.ravel(), len(walk))
        some = np.flatnonzero(held > LEAST_WEIGHT)
        mean = np.bincount(place, (weights * self.target.shape[:, :, at]).ravel(), len(walk))[some] / held[some]
        return mean + self.level[walk[some], at], sd[walk[some]], np.asarray(held[some], float)

    def interval(self, level: float = 0.9, noise: float = 0.0) -> tuple[Array, Array, Array]:
        """Return the central value and the ends of the interval of a new run, seconds, each of shape (counts,).

        Parameters
        ----------
        level : float
            Nominal coverage.
        noise : float
            Standard deviation of ln T of repeats.
        """
        return interval_of([self], [1.0], level, noise)


def interval_of(
    forecasts: Sequence[Forecast], shares: Sequence[float], level: float = 0.9, noise: float = 0.0
) -> tuple[Array, Array, Array]:
    """Return central values and interval of a mixture of forecasts at the same counts; see `Forecast.interval`."""
    tail = 0.5 * (1.0 - level)
    out = np.empty((3, forecasts[0].level.shape[1]))
    ends, middle = np.array([tail, 1.0 - tail]), np.array([0.5])
    for t in range(out.shape[1]):
        mean, sd, weights = together(forecasts, shares, t, noise)
        out[1:, t] = quantiles(mean, sd, weights, ends)
        value = quantiles(*together(forecasts, shares, t, noise, central=True), middle)[0]
        out[0, t] = np.clip(value, out[1, t], out[2, t])
    central_value, lower, upper = np.exp(out)
    return central_value, lower, upper


def together(
    forecasts: Sequence[Forecast], shares: Sequence[float], at: int, noise: float = 0.0, central: bool = False
) -> tuple[Array, Array, Array]:
    """Return the components of a mixture of forecasts at one of their counts; see `Forecast.components`."""
    parts = []
    for forecast, share in zip(forecasts, shares, strict=True):
        weights = share * forecast.posterior.weights
        if central:
            weights = weights * forecast.posterior.layout.bank.central
        parts.append(forecast.components(at, weights, noise))
    mean, sd, held = (np.concatenate(each) for each in zip(*parts, strict=True))
    return mean, sd, held


def posteriors(series: Sequence[Series], drawn: Bank | None = None) -> list[Posterior]:
    """Return the posterior of each series by itself; those of equal counts are weighed in one batch."""
    drawn = drawn or bank()
    members: dict[Layout, list[int]] = {}
    for i, each in enumerate(series):
        layout = _layout(drawn, each.counts.key, len(each.logarithms), _rounded(each.variances).tobytes())
        members.setdefault(layout, []).append(i)
    out: dict[int, Posterior] = {}
    for layout, places in members.items():
        for start in range(0, len(places), BATCH):
            some = places[start : start + BATCH]
            log = layout.log_densities(np.stack([series[i].logarithms for i in some]))
            for row, i in zip(log, some, strict=True):
                out[i] = _posterior(layout, series[i], row)
    return [out[i] for i in range(len(series))]


def _rounded(variances: Array) -> Array:
    """Return variances in steps of √2, which changes no interval by its digits: series then have equal layouts."""
    return np.asarray(2.0 ** (0.5 * np.round(2.0 * np.log2(np.maximum(variances, LEAST_VARIANCE)))))


@lru_cache(maxsize=8)
def _layout(drawn: Bank, key: bytes, counts: int, variances: bytes) -> Layout:
    """Return a layout; the last ones are kept, which groups of a table share."""
    return Layout(drawn, Counts(*np.frombuffer(key).reshape(3, counts)), np.frombuffer(variances))


def _posterior(layout: Layout, series: Series, log: Array) -> Posterior:
    """Weigh the curves of a series by their densities, shape (walks, curves)."""
    prior = layout.bank.prior
    log += np.log(prior.walk_share)[:, None]
    if series.in_seconds:
        h = float(prior.settings.shorter(np.exp(series.logarithms[-1])))
        log += h * layout.bank.moved - h**2 * layout.bank.squared
    if series.tilt is not None:
        log += series.tilt
    top = float(log.max())
    weights = np.exp(log - top)
    total = float(weights.sum())
    return Posterior(series, layout, weights / total, top + float(np.log(total / weights.shape[1])))


def shared_posteriors(series: Sequence[Series], drawn: Bank | None = None) -> list[Posterior]:
    """Return the posterior of each series of a table beside what the others show of the cluster they share."""
    drawn = drawn or bank()
    alone = posteriors(series, drawn)
    if len(alone) < 2:
        return alone
    clusters = {i: shown(drawn, each.weights, each.series.beyond) for i, each in enumerate(alone)}
    return [each.tilted(without(drawn, clusters, i)) for i, each in enumerate(alone)]
