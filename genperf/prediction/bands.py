"""From draws and noise to a central value and its bands."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Index
from genperf.facts import ends_of

Band = Literal["prediction", "confidence"]

#: ln of the largest end of a band.
LARGEST = 690.0
#: Equally likely points that represent a normal distribution.
POINTS = 31
_NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)])


# How the quantiles of many rows are searched at once; the values do not depend on these settings.
#: Draws times rows of one block: 1 MB an array, which a core's cache holds.
BLOCK_DRAWS = 131_072
#: Cells in which a table counts the points of a normal distribution.
NORMAL_CELLS = 4096
#: A search ends where its bracket has this share of the points, or so few, and after
#: so many steps.
BRACKET_SHARE = 0.008
BRACKET_POINTS = 10
BRACKET_STEPS = 40


#: The cells reach from one end to the other of the normal distribution's points.
_REACH = 1.01 * _NORMAL[-1]
_EDGES = np.searchsorted(_NORMAL, np.linspace(-_REACH, _REACH, NORMAL_CELLS + 1)).astype(float)
#: Points below the left and the right edge of each cell; all of them beyond the last.
_BELOW = np.concatenate([[0.0], _EDGES])
_UP_TO = np.concatenate([_EDGES, [float(POINTS)]])


class MixtureForecast(Struct, frozen=True, eq=False):
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

    def at(self, rows: Index) -> MixtureForecast:
        """Return the forecast of some of the rows."""
        mean, variance, total = (array[:, rows] for array in (self.mean, self.variance, self.total))
        centre = None if self.centre is None else self.centre[rows]
        parts_there = [(of[:, rows], around[:, rows]) for of, around in self.parts]
        return replace(self, mean=mean, variance=variance, total=total, centre=centre, parts=parts_there)

    def central(self) -> Array:
        """Return the central value, shape (rows,), in the target's unit."""
        if self.centre is not None:
            return np.asarray(np.exp(self.centre))
        assert self.central_shares is not None
        median = np.array([0.5])
        return np.asarray(mixture_quantiles(self.mean, self.central_shares, np.sqrt(self.variance), median)[0])

    def interval(self, level: float = 0.9) -> tuple[Array, Array, Array]:
        """Return the central values and the ends of the interval of a new run, each of shape (rows,)."""
        lower, upper = self.band(level, "prediction", -LARGEST)
        return self.central(), lower, upper

    def band(self, interval: float, band: Band, floor: float) -> tuple[Array, Array]:
        """Return the lower and upper ends of a band, each of shape (rows,)."""
        levels, sd = ends_of(interval), np.sqrt(self.variance if band == "confidence" else self.total)
        if self.central_shares is None:
            away = NormalDist().inv_cdf(0.5 + 0.5 * interval) * sd[0]
            lower, upper = np.exp(np.clip([self.mean[0] - away, self.mean[0] + away], -LARGEST, LARGEST))
        else:
            mean = np.maximum(np.nan_to_num(self.mean, nan=floor, neginf=floor), floor)
            lower, upper = mixture_quantiles(mean, self.shares, sd, np.array(levels))
        return lower, upper


def mixture_quantiles(logarithms: Array, weights: Array, sd: Array, levels: Array) -> Array:
    """Return quantiles of a mixture of log-normal distributions, in closed form up to a grid: no random numbers.

    Each draw's distribution is 31 equally likely points. Many rows are searched at once.

    The logarithms of draws have shape (draws, rows), their weights (draws,), their standard deviations (rows,) or
    (draws, rows); the quantiles at k levels between 0 and 1 have shape (k, rows).

    Examples
    --------
    >>> mixture_quantiles(np.zeros((1, 1)), np.ones(1), np.array([0.1]), np.array([0.05, 0.5, 0.95])).round(3).ravel()
    array([0.848, 1.   , 1.179])
    """
    shares, sd = weights / weights.sum(), np.atleast_2d(sd)
    out, spread = np.empty((len(levels), logarithms.shape[1])), sd.any(axis=0)
    for row in np.flatnonzero(~spread):
        out[:, row] = quantiles(logarithms[:, row], shares, levels)
    rows, block = np.flatnonzero(spread), max(BLOCK_DRAWS // len(shares), 1)
    for block_rows in (rows[start : start + block] for start in range(0, len(rows), block)):
        mixture = _Mixture(logarithms[:, block_rows], shares, sd[:, block_rows])
        out[:, block_rows] = [mixture.quantile(level) for level in levels.tolist()]
    return np.asarray(np.exp(out))


def quantiles(points: Array, shares: Array, levels: Array) -> Array:
    """Return quantiles of weighted points: with the points in order, read between the middles of their shares."""
    order = np.argsort(points, kind="stable")
    middle = np.cumsum(shares[order]) - 0.5 * shares[order]
    return np.asarray(np.interp(levels, middle, points[order]))


def _counted(table: Array, place: Array) -> Array:
    """Return how many points of each draw a table counts at a place among its cells, shape (draws, rows)."""
    return np.asarray(table.take(place.astype(np.intp), mode="clip"))


class _Mixture:
    """Rows of a mixture of normal distributions, each of which is 31 equally likely points.

    The centres have shape (draws, rows); the shares of the draws add up to one; some draw of every row has a spread.
    """

    def __init__(self, centres: Array, shares: Array, sd: Array) -> None:
        self.centres, self.shares, self.sd = centres, shares, sd
        # The points of a draw without spread lie within one cell.
        self.per_cell = NORMAL_CELLS / (2.0 * _REACH) / np.maximum(sd, 1e-9 * sd.max(axis=0))
        # The place of the value 0 among the cells.
        self.origin = 0.5 * NORMAL_CELLS + 1.0 - centres * self.per_cell
        self.mean = shares @ centres
        self.scale = np.sqrt(shares @ (np.square(centres - self.mean) + np.square(sd)))
        reach = 1.01 * _REACH * sd
        self.ends = (centres - reach).min(axis=0), (centres + reach).max(axis=0)

    def quantile(self, level: float) -> Array:
        """Return a quantile of each row, shape (rows,): a search to a few points, which are put in order."""
        with np.errstate(invalid="ignore"):
            out = self._between(level, *self._bracket(level))
        for row in np.flatnonzero(np.isnan(out)):
            points = self.centres[:, row] + self.sd[:, row] * _NORMAL[:, None]
            out[row] = quantiles(points.ravel(), np.tile(self.shares, POINTS) / POINTS, np.array([level]))[0]
        return out

    def _bracket(self, level: float) -> Array:
        """Return two values around a quantile of each row with a few of its points between them, shape (2, rows)."""
        few = max(BRACKET_SHARE, BRACKET_POINTS / (POINTS * len(self.shares)))
        per_cell, origin, rows = self.per_cell, self.origin, np.arange(len(self.mean))
        # Two values, and the share of the points below each.
        bracket = np.array([*self.ends, np.zeros(len(rows)), np.ones(len(rows))])
        at = np.clip(self.mean + NormalDist().inv_cdf(level) * self.scale, *self.ends)
        for step in range(BRACKET_STEPS):
            here = self.shares @ _counted(_BELOW, at * per_cell + origin) / POINTS
            lower, upper, below, above = bracket[:, rows]
            bracket[:, rows] = np.where(here < level, [at, upper, here, above], [lower, at, below, here])
            wide = np.flatnonzero(bracket[3, rows] - bracket[2, rows] > few)
            if not wide.size:
                break
            if 2 * wide.size < len(rows):
                per_cell, origin, rows = per_cell[:, wide], origin[:, wide], rows[wide]
            lower, upper, below, above = bracket[:, rows]
            # Of every third step the middle, where the shares are no guide.
            place = 0.5 if step % 3 == 2 else np.clip((level - below) / np.maximum(above - below, 1e-9), 0.05, 0.95)
            at = lower + place * (upper - lower)
        lower, upper = bracket[:2]
        # The next points to the quantile may lie beyond. The least room has about five points at the 5 % quantile.
        room = np.maximum(0.3 * (upper - lower), 25.0 * self.scale / (POINTS * len(self.shares)))
        return np.array([lower - room, upper + room])

    def _between(self, level: float, lower: Array, upper: Array) -> Array:
        """Return a quantile of each row, NaN where it does not lie between two points of its bracket."""
        place = lower * self.per_cell + self.origin
        below = _counted(_BELOW, place)
        inside = _counted(_UP_TO, place + (upper - lower) * self.per_cell) - below
        draw, row = np.nonzero(inside)
        count = inside[draw, row].astype(np.intp)
        # Each draw's points of the bracket, one after another.
        number = np.arange(count.sum()) + np.repeat(below[draw, row].astype(np.intp) - np.cumsum(count) + count, count)
        draw, row = draw.repeat(count), row.repeat(count)
        points = self.centres[draw, row] + np.broadcast_to(self.sd, below.shape)[draw, row] * _NORMAL[number]
        order = np.lexsort((points, row))
        points, row, shares = points[order], row[order], self.shares[draw[order]] / POINTS
        size = np.bincount(row, minlength=len(lower))
        begin, total = np.cumsum(size) - size, np.concatenate([[0.0], np.cumsum(shares)])
        middle = total[1:] - 0.5 * shares + (self.shares @ below / POINTS - total[begin])[row]
        reached = np.bincount(row, middle <= level, len(lower)).astype(np.intp)
        rows = np.flatnonzero((reached > 0) & (reached < size))
        right = begin[rows] + reached[rows]
        left = right - 1
        fraction, out = (level - middle[left]) / (middle[right] - middle[left]), np.full(len(lower), np.nan)
        sure = (points[left] > lower[rows]) & (points[right] < upper[rows])
        out[rows[sure]] = (points[left] + fraction * (points[right] - points[left]))[sure]
        return out
