"""ln T kriged by itself: how smooth it is over the factors, and which share of a prediction it gets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.averaging.fitted import columns_of
from genperf.averaging.kriging import HeldOut, Residuals
from genperf.discrepancy import Discrepancy, Effect, Exponential, Surface
from genperf.discrepancy.distances import Metric, distances, width_of
from genperf.discrepancy.positive_definite import inverse_of
from genperf.discrepancy.search import Search
from genperf.estimate.order import CONTENT_SEED
from genperf.estimate.select import SELECTION
from genperf.table import Factor, Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SurfaceSettings:
    """How a surface is learned, and what it weighs (`docs/decisions/surface.md`).

    Attributes
    ----------
    rate, rate_sd, rate_reach : float
        Median and standard deviation of the log-normal prior of the rates, and how far from the median a rate may go:
        those of the residuals' kriging. Per squared standard deviation of a number, and for another level.
    start_size : float
        Variance of the surface at which the search begins, in units of the noise's.
    smallest_size, largest_size : float
        Bounds of the variance: times are often known to a thousandth of what they vary by.
    most_learned : int
        Configurations from which rates are learned at most: the time grows with their cube.
    steps, tolerance
        Iterations of the search at most, and the relative decrease of the cost at which it ends.
    weights : int
        Weights that are compared: from 0 to 1 in so many steps.
    least : float
        A weight below this is none: the surface is left out.
    """

    rate: float = 0.5
    rate_sd: float = 1.5
    rate_reach: float = 6.0
    start_size: float = 10.0
    smallest_size: float = 1e-4
    largest_size: float = 1e6
    most_learned: int = 150
    steps: int = 60
    tolerance: float = 1e-7
    weights: int = 4
    least: float = 0.05


SURFACE = SurfaceSettings()


@dataclass(frozen=True, eq=False)
class Stacked:
    """A surface, and the errors of what it predicts together with the kriged expressions.

    Attributes
    ----------
    kernel : Exponential or None
        None where the surface has no share.
    scale : float
        By which the surface's variance is multiplied, so that it is that of the errors.
    errors : HeldOut
        Of both together; the variances are those of the kriged expressions.
    """

    kernel: Exponential | None
    weight: float
    scale: float
    errors: HeldOut

    def attached(self, discrepancy: Discrepancy | None, table: Table, known: Collection[str]) -> Discrepancy | None:
        """Return a discrepancy of residuals with the surface beside it.

        Parameters
        ----------
        discrepancy : Discrepancy or None
            Shared by all draws.
        table : Table
            The configurations of which its anchors are some.
        known : collection of str
            Factors of the expressions. One with a single measured value is none of the surface's: elsewhere the
            surface goes on as the expressions do, as it does outside a range.
        """
        if discrepancy is None or self.kernel is None:
            return discrepancy
        rows = _rows_of(discrepancy.anchors, table)
        process, level = _process(self.kernel, discrepancy.anchors, np.log(table.measured[rows]))
        ranges = {f.name: (f.lower, f.upper) for f in table.numeric if f.distinct > 1 or f.name in known}
        anchors = {name: discrepancy.anchors.get(name, table.columns[name][rows]) for name in ranges}
        scale = float(np.sqrt(self.scale) * process.scales[0])
        surface = Surface(self.weight, level, self.kernel, process.logarithms, scale, ranges)
        return msgspec.structs.replace(discrepancy, surface=surface, anchors={**discrepancy.anchors, **anchors})


def stacked(residuals: Residuals, folds: Mask, kriged: HeldOut) -> Stacked:
    """Learn a surface, and its share from the errors on held-out configurations.

    A share's weight falls with the paired standard errors by which it errs more than the best one: exp(−t²/2). The
    shares are averaged by it.

    Parameters
    ----------
    residuals : Residuals
        Whose candidates are the anchors.
    folds : ndarray of bool of shape (folds, rows)
        Training rows of each.
    kriged : HeldOut
        Errors of the kriged expressions.
    """
    without = Stacked(None, 0.0, 1.0, kriged)
    if not residuals.effects or not kriged.errors.size or np.ptp(residuals.table.measured) == 0.0:
        return without
    table = residuals.table
    kernel = _learned(table, np.flatnonzero(residuals.candidates))
    measured = np.log(table.measured)
    errors, variances = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for train in folds:
        used, held = train & residuals.candidates, ~train
        process, level = _process(kernel, columns_of(table, used), measured[used])
        mean, variance = process.forecast(columns_of(table, held))
        errors[held] = measured[held] - level - mean[0]
        variances[held] = variance[0] + process.scales[0] ** 2
    errors, variances = errors[kriged.rows], variances[kriged.rows]
    weight = _share(kriged.errors, errors)
    if not np.all(np.isfinite(errors)) or weight < SURFACE.least:
        return without
    together = (1.0 - weight) * kriged.errors + weight * errors
    return Stacked(kernel, weight, float(np.mean(together**2) / np.mean(variances)), replace(kriged, errors=together))


def _share(kriged: Array, surface: Array) -> float:
    """Return the share of the surface."""
    weights = np.linspace(0.0, 1.0, SURFACE.weights + 1)
    with np.errstate(all="ignore"):
        errors = SELECTION.limited(np.abs(np.expm1(-((1.0 - weights[:, None]) * kriged + weights[:, None] * surface))))
    excess = errors - errors[int(np.argmin(errors.mean(axis=1)))]
    sd = np.std(excess, axis=1) / np.sqrt(excess.shape[1])
    distance = np.divide(excess.mean(axis=1), sd, out=np.zeros(len(weights)), where=sd > 0.0)
    likely = np.exp(-0.5 * distance**2)
    # More digits than two are those of the search, which ends where the cost hardly changes.
    return round(float(likely @ weights / likely.sum()), 2)


def _learned(table: Table, candidates: npt.NDArray[np.intp]) -> Exponential:
    """Return the kernel of largest posterior density, from some of the configurations."""
    rng = np.random.default_rng([CONTENT_SEED, 6])
    rows = np.sort(rng.permutation(candidates)[: SURFACE.most_learned])
    metrics = {f.name: _metric(f) for f in _varying(table)}
    columns = {name: table.columns[name][rows] for name in metrics}
    widths = {name: width_of(table.columns[name], metric) for name, metric in metrics.items()}
    between = [distances(columns[n], columns[n], metric) / widths[n] for n, metric in metrics.items()]
    values = np.log(table.measured[rows])
    median, count = float(np.log(SURFACE.rate)), len(metrics)
    sizes = (float(np.log(SURFACE.smallest_size)), float(np.log(SURFACE.largest_size)))
    search = Search(
        shape=Exponential,
        distances=np.stack(between),
        correlations=np.zeros((0, len(rows), len(rows))),
        constant=0.0,
        mean=np.r_[np.full(count, median), 0.0],
        sd=np.r_[np.full(count, SURFACE.rate_sd), np.inf],
        bounds=(*[(median - SURFACE.rate_reach, median + SURFACE.rate_reach)] * count, sizes),
        noise_known=False,
    )
    start = np.r_[np.full(count, median), np.log(SURFACE.start_size)]
    best = np.exp(search.best(start, values - values.mean(), SURFACE.steps, SURFACE.tolerance))
    rates = {name: float(rate) / widths[name] for name, rate in zip(metrics, best, strict=False)}
    return Exponential(metrics, (Effect(float(best[-1]), rates),))


def _process(kernel: Exponential, columns: Mapping[str, Any], values: Array) -> tuple[Discrepancy, float]:
    """Return the process at some configurations, and the level about which it is."""
    anchors = {name: columns[name] for name in kernel.metrics}
    level = float(np.mean(values))
    # Single precision, as the residuals: a model file packs it in half the bytes.
    away = (values - level).astype(np.float32).astype(float)
    covariance = kernel.covariance(anchors, anchors) + np.eye(len(away))
    scale = np.sqrt(float(away @ inverse_of(covariance)[0] @ away) / len(away))
    return Discrepancy(kernel, anchors, away, np.zeros(len(away)), 1.0, np.array([scale])), level


def _varying(table: Table) -> list[Factor]:
    return [f for f in table.factors if f.distinct > 1]


def _metric(factor: Factor) -> Metric:
    if not factor.numeric:
        return "level"
    return "squared doublings" if factor.positive and factor.lower > 0.0 else "squared"


def _rows_of(anchors: Mapping[str, npt.NDArray[Any]], table: Table) -> npt.NDArray[np.intp]:
    """Return the rows of a table of configurations that are anchors, in the anchors' order."""
    places = {values: row for row, values in enumerate(zip(*(table.columns[n].tolist() for n in anchors), strict=True))}
    return np.array([places[values] for values in zip(*(v.tolist() for v in anchors.values()), strict=True)])
