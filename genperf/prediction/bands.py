"""From draws and noise to a central value and its bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np

from genperf.arrays import Array, Index

Band = Literal["prediction", "confidence"]

#: ln of the largest end of a band.
LARGEST = 690.0
#: Equally likely points that stand for a normal distribution.
POINTS = 31
_NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)])


@dataclass(frozen=True)
class SearchSettings:
    """How the quantiles of many rows are searched at once; the values do not depend on these settings."""

    #: Cells in which a table counts the points of a normal distribution.
    cells: int = 4096
    #: Draws times rows of one block: 1 MB an array, which a core's cache holds.
    numbers: int = 131_072
    #: `inside`, `fewest`: share of the points that a bracket holds when its search ends, and their number at least.
    inside: float = 0.008
    fewest: int = 10
    #: Most steps of that search.
    steps: int = 40
    #: Half the width of a bracket at least, in standard deviations over the number of points: it then holds about ten
    #: of them at the 5 % quantile and forty at the median.
    points: float = 50.0
    #: How many times as wide a bracket is in which a value is looked for that was not there, and how often that is done
    #: before a row is put in order whole.
    again: float = 8.0
    tries: int = 2


SEARCH = SearchSettings()
#: The cells reach from one end to the other of the normal distribution's points.
_REACH = 1.01 * _NORMAL[-1]
_PER_UNIT = SEARCH.cells / (2.0 * _REACH)
_EDGES = np.searchsorted(_NORMAL, np.linspace(-_REACH, _REACH, SEARCH.cells + 1)).astype(float)
#: Points below the left and the right edge of each cell; all of them beyond the last.
_BELOW = np.concatenate([[0.0], _EDGES])
_UP_TO = np.concatenate([_EDGES, [float(POINTS)]])


@dataclass(frozen=True, eq=False)
class Forecast:
    """ln T of some rows, a mixture of normal distributions: one for each draw, or a single one."""

    #: Shape (draws, rows).
    mean: Array
    #: Shape (draws,). Each draw's share.
    shares: Array
    #: `variance`, `total`: of the mean, and of a new run; of shape (draws or 1, rows).
    variance: Array
    total: Array
    #: Shape (rows,). The central value; where it is None, it is the median of the draws.
    centre: Array | None
    #: Shape (draws,). The shares for that median; None of a single normal distribution, whose quantiles are exact.
    central_shares: Array | None = None
    #: Mean and variance of each member, (draws, rows) or (1, rows), without what the distance from the data adds.
    parts: Sequence[tuple[Array, Array]] = ()

    def at(self, rows: Index) -> Forecast:
        """Return the forecast of some of the rows."""
        mean, variance, total = (each[:, rows] for each in (self.mean, self.variance, self.total))
        centre = None if self.centre is None else self.centre[rows]
        parts = [(of[:, rows], around[:, rows]) for of, around in self.parts]
        return replace(self, mean=mean, variance=variance, total=total, centre=centre, parts=parts)

    def central(self) -> Array:
        """Return the central value, shape (rows,), in the target's unit."""
        if self.centre is not None:
            return np.asarray(np.exp(self.centre))
        assert self.central_shares is not None
        median = np.array([0.5])
        return np.asarray(mixture_quantiles(self.mean, self.central_shares, np.sqrt(self.variance), median)[0])

    def band(self, interval: float, band: Band, floor: float) -> tuple[Array, Array]:
        """Return the lower and upper ends of a band, each of shape (rows,).

        The *confidence* band contains the mean: families and their constants, and how far the query lies beyond the
        data. The *prediction* band contains a new run: misfit and noise on top.

        Parameters
        ----------
        interval : float
            Nominal coverage.
        floor : float
            The least ln T of a draw: a logarithm must exist.
        """
        tail, sd = (1.0 - interval) / 2.0, np.sqrt(self.variance if band == "confidence" else self.total)
        if self.central_shares is None:
            away = NormalDist().inv_cdf(0.5 + 0.5 * interval) * sd[0]
            ends = np.clip([self.mean[0] - away, self.mean[0] + away], -LARGEST, LARGEST)
            lower, upper = np.exp(ends)
        else:
            mean = np.maximum(np.nan_to_num(self.mean, nan=floor, neginf=floor), floor)
            lower, upper = mixture_quantiles(mean, self.shares, sd, np.array([tail, 1.0 - tail]))
        return lower, upper


def mixture_quantiles(logarithms: Array, weights: Array, sd: Array, levels: Array) -> Array:
    """Return quantiles of a mixture of log-normal distributions, in closed form up to a grid: no random numbers.

    Each draw's distribution is 31 equally likely points. Many rows are searched at once.

    Parameters
    ----------
    logarithms : ndarray of shape (draws, rows)
        Each draw's ln T.
    weights : ndarray of shape (draws,)
        Each draw's share.
    sd : ndarray of shape (rows,) or (draws, rows)
        Standard deviation of ln T around each draw.
    levels : ndarray of shape (k,)
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (k, rows)
        Seconds, always above zero.

    Examples
    --------
    >>> mixture_quantiles(np.zeros((1, 1)), np.ones(1), np.array([0.1]), np.array([0.05, 0.5, 0.95])).round(3).ravel()
    array([0.848, 1.   , 1.179])
    """
    draws, rows = logarithms.shape
    shares = weights / weights.sum()
    out = np.empty((len(levels), rows))
    block = max(SEARCH.numbers // draws, 1)
    for start in range(0, rows, block):
        part = slice(start, start + block)
        out[:, part] = _block(logarithms[:, part], shares, np.atleast_2d(sd)[:, part], levels)
    return np.asarray(np.exp(out))


def _block(centres: Array, shares: Array, sd: Array, levels: Array) -> Array:
    """Return the quantiles of some rows, shape (k, rows)."""
    out = np.empty((len(levels), centres.shape[1]))
    spread = sd.any(axis=0)
    if not spread.all():
        out[:, ~spread] = _in_order(centres[:, ~spread], shares, levels)
    if not spread.any():
        return out
    mixture = Mixture(centres[:, spread], shares, sd[:, spread])
    out[:, spread] = [mixture.quantile(level) for level in levels.tolist()]
    return out


def quantiles(points: Array, shares: Array, levels: Array) -> Array:
    """Return quantiles of weighted points: with the points in order, read between the middles of their shares.

    Parameters
    ----------
    points, shares : ndarray of shape (n,)
        The shares add up to one.
    levels : ndarray of shape (k,)

    Returns
    -------
    ndarray of shape (k,)

    Examples
    --------
    >>> quantiles(np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.25, 0.25]), np.array([0.125, 0.5, 0.99])).round(3)
    array([1.   , 2.333, 3.   ])
    """
    order = np.argsort(points, kind="stable")
    middle = np.cumsum(shares[order]) - 0.5 * shares[order]
    return np.asarray(np.interp(levels, middle, points[order]))


def _in_order(points: Array, shares: Array, levels: Array) -> Array:
    """Return the quantiles of each row's points, all of which are put in order, shape (k, rows)."""
    rows = [quantiles(row, shares, levels) for row in np.ascontiguousarray(points.T)]
    return np.array(rows).reshape(-1, len(levels)).T


class Mixture:
    """Rows of a mixture of normal distributions, each of which is 31 equally likely points.

    Parameters
    ----------
    centres : ndarray of shape (draws, rows)
    shares : ndarray of shape (draws,)
        They add up to one.
    sd : ndarray of shape (1, rows) or (draws, rows)
        Above zero for some draw of every row.
    """

    def __init__(self, centres: Array, shares: Array, sd: Array) -> None:
        self.centres, self.shares, self.sd = np.ascontiguousarray(centres), shares, np.ascontiguousarray(sd)
        # The points of a draw without spread lie within one cell.
        self.per_cell = _PER_UNIT / np.maximum(self.sd, 1e-9 * self.sd.max(axis=0))

    def take(self, rows: Index | slice) -> Mixture:
        """Return some of the rows."""
        return Mixture(self.centres[:, rows], self.shares, self.sd[:, rows])

    @cached_property
    def ends(self) -> tuple[Array, Array]:
        """Values below and above all points of each row, each of shape (rows,)."""
        reach = 1.01 * _REACH * self.sd
        return (self.centres - reach).min(axis=0), (self.centres + reach).max(axis=0)

    def points(self) -> tuple[Array, Array]:
        """Return all points, shape (draws times 31, rows), and their shares."""
        points = self.centres[:, None, :] + self.sd[:, None, :] * _NORMAL[:, None]
        return points.reshape(-1, self.centres.shape[1]), np.repeat(self.shares, POINTS) / POINTS

    @cached_property
    def origin(self) -> Array:
        """The place of the value 0 among the cells of the table, shape (draws, rows)."""
        return np.asarray(0.5 * SEARCH.cells + 1.0 - self.centres * self.per_cell)

    def points_at(self, table: Array, place: Array) -> Array:
        """Return how many points of each draw a table counts at a place among its cells, shape (draws, rows)."""
        return np.asarray(table.take(place.astype(np.intp), mode="clip"))

    def share_below(self, at: Array) -> Array:
        """Return the share of the points below a value of each row, up to the width of a cell, shape (rows,)."""
        counted = self.points_at(_BELOW, at * self.per_cell + self.origin)
        return np.asarray(self.shares @ counted / POINTS)

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Mean and standard deviation of each row, each of shape (rows,)."""
        middle = self.shares @ self.centres
        return middle, np.sqrt(self.shares @ (np.square(self.centres - middle) + np.square(self.sd)))

    def quantile(self, level: float) -> Array:
        """Return a quantile of each row, shape (rows,): regula falsi to a few points, which are put in order."""
        with np.errstate(invalid="ignore"):
            bracket, scale = self._bracket(level), self.moments[1]
            lower, upper, below, above = bracket
            middle = lower + np.clip((level - below) / np.maximum(above - below, 1e-9), 0.0, 1.0) * (upper - lower)
            least = SEARCH.points * scale / (POINTS * len(self.shares))
            half = np.maximum(1.1 * np.maximum(middle - lower, upper - middle), least)
            out, rows = np.full(len(scale), np.nan), np.arange(len(scale))
            for _ in range(1 + SEARCH.tries):
                part = self if len(rows) == len(scale) else self.take(rows)
                out[rows] = part.between(level, (middle - half)[rows], (middle + half)[rows])
                rows, half = np.flatnonzero(np.isnan(out)), SEARCH.again * half
                if not rows.size:
                    return out
        out[rows] = _in_order(*self.take(rows).points(), np.array([level]))[0]
        return out

    def _bracket(self, level: float) -> Array:
        """Return two values around a quantile of each row, and the shares of the points below each, shape (4, rows)."""
        normal, (middle, scale), (first, last) = NormalDist(), self.moments, self.ends
        few = max(SEARCH.inside, SEARCH.fewest / (POINTS * len(self.shares)))
        bracket = np.array([first, last, np.zeros(len(first)), np.ones(len(first))])
        part, rows, at = self, np.arange(len(first)), middle + normal.inv_cdf(level) * scale
        for step in range(SEARCH.steps):
            here = part.share_below(at)
            lower, upper, below, above = bracket[:, rows]
            bracket[:, rows] = np.where(here < level, [at, upper, here, above], [lower, at, below, here])
            wide = np.flatnonzero(bracket[3, rows] - bracket[2, rows] > few)
            if not wide.size:
                break
            if step == 0:
                # As far again as a normal distribution would have it, and somewhat more: beyond the quantile.
                slope = normal.pdf(normal.inv_cdf(level)) / scale
                at = at + (2.0 * (level - here) + np.copysign(0.5 * few, level - here)) / slope
                at = np.clip(at, first, last)
                continue
            if 2 * wide.size < len(rows):
                part, rows = part.take(wide), rows[wide]
            lower, upper, below, above = bracket[:, rows]
            # Of every third step the middle, where the shares are no guide.
            place = 0.5 if step % 3 == 2 else np.clip((level - below) / np.maximum(above - below, 1e-9), 0.05, 0.95)
            at = lower + place * (upper - lower)
        return bracket

    def between(self, level: float, lower: Array, upper: Array) -> Array:
        """Return a quantile of each row, NaN where it does not lie between two points of its bracket.

        Parameters
        ----------
        lower, upper : ndarray of shape (rows,)
            The bracket.
        """
        place = lower * self.per_cell + self.origin
        first = self.points_at(_BELOW, place)
        place += (upper - lower) * self.per_cell
        held = self.points_at(_UP_TO, place) - first
        some = np.flatnonzero(held > 0.0)
        draw, row = np.divmod(some, len(lower))
        count, start = held.ravel()[some].astype(np.intp), first.ravel()[some].astype(np.intp)
        if (count > 1).any():
            step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            draw, row, start = np.repeat(draw, count), np.repeat(row, count), np.repeat(start, count) + step
        sd = self.sd[draw if len(self.sd) > 1 else 0, row]
        points = self.centres[draw, row] + sd * _NORMAL[start]
        # One key puts them in order by row, then by place in the bracket; beyond its ends the order does not matter.
        key = row + np.clip((points - lower[row]) / (1.001 * (upper - lower))[row], -0.0005, 0.9985)
        order = np.argsort(key, kind="stable")
        points, row, shares = points[order], row[order], self.shares[draw[order]] / POINTS
        size = np.bincount(row, minlength=len(lower))
        begin = np.cumsum(size) - size
        total = np.concatenate([[0.0], np.cumsum(shares)])
        below = self.shares @ first / POINTS
        middle = total[1:] - 0.5 * shares + (below - total[begin])[row]
        reached = np.bincount(row, middle <= level, len(lower)).astype(np.intp)
        inside = np.flatnonzero((reached > 0) & (reached < size))
        left = begin[inside] + reached[inside] - 1
        right = left + 1
        sure = (points[left] > lower[inside]) & (points[right] < upper[inside])
        inside, left, right = inside[sure], left[sure], right[sure]
        part = (level - middle[left]) / (middle[right] - middle[left])
        out = np.full(len(lower), np.nan)
        out[inside] = points[left] + part * (points[right] - points[left])
        return out
