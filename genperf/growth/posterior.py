"""The posterior of a series: weights of the bank's curves and of the walks, and draws of both, which forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from genperf.growth.bank import BANK, CONSTANT, bank, prior, shorter
from genperf.prediction.bands import mixture_quantiles
from genperf.table.axis import several_nodes

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PosteriorSettings:
    """How series are weighed."""

    #: Draws of a posterior: the ends of its interval move by about 1 % with half as many.
    draws: int = 800
    #: Draws of a reading that counts at all.
    least_draws: int = 24
    #: Layouts that are kept, of 4 MB each: a series without nodes and its look-back have up to twelve.
    layouts: int = 16
    #: Series of one layout that are weighed at once: 8 take 8 MB.
    batch: int = 8
    #: Least variance of a measured ln T, so that no covariance is singular.
    least_variance: float = 1e-12


POSTERIOR = PosteriorSettings()


@dataclass(frozen=True, eq=False)
class Counts:
    """Where a series is measured or asked about."""

    #: Shape (counts,).
    workers: Array
    nodes: Array
    #: Shape (counts,). Of one worker, over that at the largest measured count.
    work: Array

    @property
    def key(self) -> bytes:
        """Equal for equal counts."""
        return np.stack([self.workers, self.nodes, self.work]).round(9).tobytes()


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


class _Walk:
    """A walk at the measured counts: whitened, and whitened without the level."""

    def __init__(self, step: float, matrix: Array) -> None:
        self.step = step
        self.white = np.linalg.inv(np.linalg.cholesky(matrix))
        self.level = self.white.sum(axis=1)
        self.precision = float(self.level @ self.level)
        self.projected = self.white - np.outer(self.level, self.level @ self.white) / self.precision
        self.constant = float(np.log(np.diag(self.white)).sum() - 0.5 * np.log(self.precision))


class Layout:
    """The counts of a series, and what depends on them alone, whatever its times: once for all series alike.

    Parameters
    ----------
    counts : Counts
        The largest last.
    variances : ndarray of shape (counts,)
        Of ln T, as repeats show them.
    """

    def __init__(self, counts: Counts, variances: Array) -> None:
        self.counts, self.variances = counts, variances
        self.constant = bool(np.ptp(counts.work) > 1e-9)
        self.curves = self.logarithms(counts)
        # What varies at one and the same count of workers is an axis of its own.
        alike = len(np.unique(counts.workers)) < len(counts.workers)
        self._beside = [alike and _varies(counts.workers, each) for each in (counts.nodes, counts.work)]
        self.x = self.coordinates(counts)
        self.origin = self.x.min(axis=0)
        self.walks = [
            _Walk(step, self.covariance(self.x, self.x, step) + np.diag((step * prior().noise) ** 2 + variances))
            for step in prior().walk_step
        ]
        self.residuals = [self.curves @ walk.projected.T for walk in self.walks]
        self.squares = np.array([0.5 * np.einsum("ca,ca->c", r, r) for r in self.residuals])

    def logarithms(self, counts: Counts, curve: Places | slice = slice(None)) -> Array:
        """Return ln(work + overheads) of some curves, shape (curves, counts)."""
        last = CONSTANT + self.constant
        shapes = prior().shapes(counts.workers, counts.nodes)[:last]
        return np.asarray(np.log(counts.work + bank().sizes[curve, :last] @ shapes))

    def coordinates(self, counts: Counts) -> Array:
        """Return log₂ of the axes of the walk, shape (counts, axes)."""
        beside = (each for each, used in zip((counts.nodes, counts.work), self._beside, strict=True) if used)
        return np.log2(np.stack([counts.workers, *beside], axis=1))

    def covariance(self, x: Array, z: Array, step: float) -> Array:
        """Return the covariance of a walk from the smallest count, which goes both ways."""
        a, b = (x - self.origin)[:, None, :], (z - self.origin)[None, :, :]
        return np.asarray(0.5 * step**2 * np.sum(np.abs(a) + np.abs(b) - np.abs(a - b), axis=2))

    def log_densities(self, logarithms: Array) -> Array:
        """Return the log-density of ln T of some series, the level integrated out, shape (series, walks, curves).

        Parameters
        ----------
        logarithms : ndarray of shape (series, counts)
        """
        out = np.empty((len(logarithms), *self.squares.shape))
        for w, (walk, residual) in enumerate(zip(self.walks, self.residuals, strict=True)):
            y = logarithms @ walk.projected.T
            np.matmul(y, residual.T, out=out[:, w])
            out[:, w] += (walk.constant - 0.5 * np.sum(y**2, axis=1))[:, None]
        out -= self.squares
        return out

    @cached_property
    def order(self) -> Places:
        """The curves from the flattest to the steepest, as they grow to twice the workers on twice the nodes."""
        n, m, work = (np.asarray(each[-1:]) for each in (self.counts.workers, self.counts.nodes, self.counts.work))
        there = self.logarithms(Counts(2.0 * n, 2.0 * m, work))
        return np.argsort(there[:, 0] - self.curves[:, -1], kind="stable")


def _varies(workers: Array, values: Array) -> bool:
    """Tell whether values vary at one and the same count of workers."""
    return any(float(np.ptp(values[workers == n])) > 1e-9 for n in np.unique(workers))


@dataclass(frozen=True, eq=False)
class Posterior:
    """A series with its weighted curves."""

    series: Series
    layout: Layout
    #: Shape (walks, curves). They add up to one.
    weights: Array
    #: Log-density of the series, the level integrated out.
    log_evidence: float

    def draws(self, count: int = POSTERIOR.draws) -> Draws:
        """Return so many equally likely pairs of a walk and a curve, from the flattest curve to the steepest."""
        walks, order = len(self.weights), self.layout.order
        # Of each curve from the quietest walk to the loudest.
        reached = np.cumsum(self.weights[:, order].T)
        place = np.searchsorted(reached, (np.arange(count) + 0.5) / count * reached[-1])
        return Draws(self, place % walks, order[place // walks])


@dataclass(frozen=True, eq=False)
class Draws:
    """Equally likely curves of a posterior, each with a walk.

    Examples
    --------
    A tenth more with each doubling, and 16 workers on two nodes of eight:

    >>> n = np.array([1.0, 2.0, 4.0, 8.0])
    >>> runs = Series(Counts(n, np.ones(4), np.ones(4)), np.log(1.0 + 0.1 * np.log2(n)), np.zeros(4))
    >>> draws = posteriors([runs])[0].draws()
    >>> there = Counts(np.array([16.0]), np.array([2.0]), np.ones(1))
    >>> central, lower, upper = forecast([draws], [1.0], [there]).interval()
    >>> bool(1.3 < central[0] < 1.6), bool(upper[0] > 1.7)
    (True, True)
    """

    posterior: Posterior
    #: Shape (draws,).
    walk: Places
    curve: Places

    @cached_property
    def level(self) -> tuple[Array, Array]:
        """The level of ln T of each draw and its standard deviation, each of shape (draws,)."""
        layout = self.posterior.layout
        rows = np.stack([each.white.T @ each.level / each.precision for each in layout.walks])[self.walk]
        sd = np.array([each.precision**-0.5 for each in layout.walks])
        away = self.posterior.series.logarithms - layout.curves[self.curve]
        return np.sum(rows * away, axis=1), sd[self.walk]

    def forecast(self, counts: Counts) -> tuple[Array, Array]:
        """Return the mean and variance of ln T of a new run, without the noise of repeats: universal kriging.

            E = f(x*) + θ + k'·K⁻¹·(y − f − θ),  var = κ − k'·K⁻¹·k + (1 − 1'·K⁻¹·k)²/(1'·K⁻¹·1) + (slope·step·beyond)²
            + noise²

        Returns
        -------
        mean, variance : ndarray of shape (draws, counts)
        """
        layout, noise = self.posterior.layout, prior().noise
        x = layout.coordinates(counts)
        # In work as well: a batch that was not measured is far too.
        there, here = (
            np.column_stack([at, np.log2(w)]) for at, w in ((x, counts.work), (layout.x, layout.counts.work))
        )
        beyond = np.maximum(np.maximum(there - here.max(axis=0), here.min(axis=0) - there), 0.0).max(axis=1)
        away = self.posterior.series.logarithms - layout.curves[self.curve]
        mean = layout.logarithms(counts, self.curve)
        variance = np.empty_like(mean)
        for w in np.unique(self.walk):
            walk, rows = layout.walks[w], self.walk == w
            near = walk.white @ layout.covariance(layout.x, x, walk.step)
            rest = 1.0 - walk.level @ near
            mean[rows] += away[rows] @ (walk.white.T @ (near + np.outer(walk.level, rest) / walk.precision))
            before = walk.step**2 * np.sum(np.abs(x - layout.origin), axis=1)
            left = before - np.sum(near**2, axis=0) + rest**2 / walk.precision
            variance[rows] = left + (BANK.slope * walk.step * beyond) ** 2 + (walk.step * noise) ** 2
        return mean, variance


@dataclass(frozen=True, eq=False)
class Forecast:
    """ln T of a new run at some counts: normal distributions, one of each draw of some readings."""

    #: Shape (draws, counts).
    mean: Array
    variance: Array
    #: Shape (draws,). Of the interval, and of the central value.
    weights: Array
    central: Array

    def quantiles(self, levels: Array) -> Array:
        """Return quantiles of T, shape (levels, counts)."""
        return mixture_quantiles(self.mean, self.weights, np.sqrt(self.variance), levels)

    @property
    def middle(self) -> Array:
        """The median of T where draws count as they do for the central value, shape (counts,)."""
        return np.asarray(mixture_quantiles(self.mean, self.central, np.sqrt(self.variance), np.array([0.5]))[0])

    def interval(self, level: float = 0.9) -> tuple[Array, Array, Array]:
        """Return central values and interval of T, each of shape (counts,)."""
        tail = 0.5 * (1.0 - level)
        lower, upper = self.quantiles(np.array([tail, 1.0 - tail]))
        return np.clip(self.middle, lower, upper), lower, upper


def forecast(parts: Sequence[Draws], shares: Sequence[float], counts: Sequence[Counts]) -> Forecast:
    """Return what some readings forecast by their shares, each with the counts as it has them."""
    mean, variance = (
        np.concatenate(each)
        for each in zip(*(part.forecast(at) for part, at in zip(parts, counts, strict=True)), strict=True)
    )
    weights = np.repeat([s / len(p.curve) for s, p in zip(shares, parts, strict=True)], [len(p.curve) for p in parts])
    return Forecast(mean, variance, weights, weights * bank().central[np.concatenate([p.curve for p in parts])])


def posteriors(series: Sequence[Series]) -> list[Posterior]:
    """Return the posterior of each series by itself; those of equal counts are weighed in one batch."""
    members: dict[Layout, list[int]] = {}
    for i, each in enumerate(series):
        # In steps of √2, which changes no interval by its digits: series then have equal layouts.
        variances = 2.0 ** (0.5 * np.round(2.0 * np.log2(np.maximum(each.variances, POSTERIOR.least_variance))))
        layout = _layout(each.counts.key, len(each.logarithms), np.asarray(variances).tobytes())
        members.setdefault(layout, []).append(i)
    out: dict[int, Posterior] = {}
    for layout, places in members.items():
        for start in range(0, len(places), POSTERIOR.batch):
            some = places[start : start + POSTERIOR.batch]
            log = layout.log_densities(np.stack([series[i].logarithms for i in some]))
            out |= {i: _posterior(layout, series[i], row) for row, i in zip(log, some, strict=True)}
    return [out[i] for i in range(len(series))]


@lru_cache(maxsize=POSTERIOR.layouts)
def _layout(key: bytes, counts: int, variances: bytes) -> Layout:
    """Return a layout; the last ones are kept, which groups of a table share."""
    return Layout(Counts(*np.frombuffer(key).reshape(3, counts)), np.frombuffer(variances))


def _posterior(layout: Layout, series: Series, log: Array) -> Posterior:
    """Weigh the curves of a series by their densities, shape (walks, curves)."""
    log += np.log(prior().walk_share)[:, None]
    if series.in_seconds:
        h = shorter(float(np.exp(series.logarithms[-1])))
        log += h * bank().moved - h**2 * bank().squared
    if series.tilt is not None:
        log += series.tilt
    top = float(log.max())
    weights = np.exp(log - top)
    total = float(weights.sum())
    return Posterior(series, layout, weights / total, top + float(np.log(total / weights.shape[1])))
