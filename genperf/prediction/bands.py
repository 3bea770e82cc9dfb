"""From draws and noise to a central value and its bands."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal

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
#: A search ends where so small a share of a row's points lies between its place and the quantile, or so few of all rows
#: together (putting some more in order takes less than another step), and after so many steps.
NEAR_SHARE = 5e-4
LARGEST_NEAR_SHARE = 5e-3
NEAR_POINTS = 400
SEARCH_STEPS = 40
#: A search begins where one draw in so many has the quantile, of so many draws and more.
THINNED = 8
MOST_UNTHINNED = 256
#: Factors by which the points that are put in order are taken from farther around it where the quantile lies beyond
#: them; after these, and of more points than so many, all points of a row are put in order.
WIDENING = (1.0, 8.0)
MOST_ORDERED = 2048


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

    The logarithms of draws have shape (draws, rows), their weights (draws,) or (draws, rows), their standard deviations
    (rows,) or (draws, rows); the quantiles at k levels between 0 and 1 have shape (k, rows).
    """
    shares, sd = weights / weights.sum(axis=0), np.atleast_2d(sd)
    out, spread = np.empty((len(levels), logarithms.shape[1])), sd.any(axis=0)
    if not spread.all():
        sure = np.flatnonzero(~spread)
        out[:, sure] = quantiles(logarithms[:, sure], _of_rows(shares, sure), levels)
    rows, block = np.flatnonzero(spread), max(BLOCK_DRAWS // len(shares), 1)
    for block_rows in (rows[start : start + block] for start in range(0, len(rows), block)):
        mixture = _Mixture(logarithms[:, block_rows], _of_rows(shares, block_rows), sd[:, block_rows])
        out[:, block_rows] = [mixture.quantile(level) for level in levels.tolist()]
    return np.asarray(np.exp(out))


def quantiles(points: Array, shares: Array, levels: Array) -> Array:
    """Return quantiles of weighted points: with the points in order, read between the middles of their shares.

    Of points of shape (draws, …) and shares of that shape or (draws,), they have the shape (levels, …).
    """
    flat = points.reshape(len(points), -1)
    order = np.argsort(flat, axis=0, kind="stable")
    ordered = np.take_along_axis(flat, order, axis=0)
    part = shares[order] if shares.ndim == 1 else np.take_along_axis(shares.reshape(flat.shape), order, axis=0)
    middle = np.cumsum(part, axis=0) - 0.5 * part
    columns = [np.interp(levels, places, values) for places, values in zip(middle.T, ordered.T, strict=True)]
    return np.stack(columns, axis=1).reshape(len(levels), *points.shape[1:])


def _of_rows(shares: Array, rows: Index | np.integer[Any]) -> Array:
    """Return the shares of the draws at some rows, or those of all rows, shape (draws,)."""
    return shares if shares.ndim == 1 else shares[:, rows]


def _sum(shares: Array, values: Array) -> Array:
    """Return the sum of values of the draws by their shares, shape (rows,)."""
    return np.asarray(shares @ values if shares.ndim == 1 else np.einsum("dr,dr->r", shares, values))


def _counted(table: Array, place: Array) -> Array:
    """Return how many points of each draw a table counts at a place among its cells, shape (draws, rows)."""
    return np.asarray(table.take(place.astype(np.intp), mode="clip"))


class _Mixture:
    """Rows of a mixture of normal distributions, each of which is 31 equally likely points.

    The centres have shape (draws, rows); the shares of the draws, (draws,) or (draws, rows), add up to one, and some
    draw of every row has a spread.
    """

    def __init__(self, centres: Array, shares: Array, sd: Array) -> None:
        self.centres, self.shares, self.sd = centres, shares, sd
        # The points of a draw without spread lie within one cell.
        self.per_cell = NORMAL_CELLS / (2.0 * _REACH) / np.maximum(sd, 1e-6 * sd.max(axis=0))
        # The place of the value 0 among the cells.
        self.origin = 0.5 * NORMAL_CELLS + 1.0 - centres * self.per_cell
        self.mean = _sum(shares, centres)
        self.scale = np.sqrt(_sum(shares, np.square(centres - self.mean) + np.square(sd)))
        self.thinned: _Mixture | None = None
        if len(centres) > MOST_UNTHINNED:
            centres, part, sd = (of if len(of) == 1 else of[THINNED // 2 :: THINNED] for of in (centres, shares, sd))
            if part.any(axis=0).all() and sd.any(axis=0).all():
                self.thinned = _Mixture(centres, part / part.sum(axis=0), sd)
        self.near = min(max(NEAR_SHARE, NEAR_POINTS / (POINTS * self.centres.size)), LARGEST_NEAR_SHARE)

    def quantile(self, level: float) -> Array:
        """Return a quantile of each row, shape (rows,): a search to a few points, which are put in order."""
        out = np.full(len(self.mean), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            place, width, _ = self._near(level)
            for factor in WIDENING:
                rows = np.flatnonzero(np.isnan(out))
                if rows.size:
                    out[rows] = self._between(level, place[rows], factor * width[rows], rows)
        for row in np.flatnonzero(np.isnan(out)):
            points = self.centres[:, row] + self.sd[:, row] * _NORMAL[:, None]
            shares = np.tile(_of_rows(self.shares, row), POINTS) / POINTS
            out[row] = quantiles(points.ravel(), shares, np.array([level]))[0]
        return out

    def _near(self, level: float) -> tuple[Array, Array, Array]:
        """Return a value near a quantile of each row, how far around it few points lie, and the density there.

        Each is of shape (rows,).
        """
        per_cell, origin, shares, rows = self.per_cell, self.origin, self.shares, np.arange(len(self.mean))
        away, odds = NormalDist().inv_cdf(level), np.sqrt((1.0 - level) / level)
        at, density = self.mean + away * self.scale, NormalDist().pdf(away) / self.scale
        # No quantile of a distribution lies farther from its mean (Cantelli's inequality).
        lower, upper = self.mean - odds * self.scale, self.mean + self.scale / odds
        if self.thinned is not None:
            there, _, slope = self.thinned._near(level)
            # The few may lie elsewhere.
            inside = (there > lower) & (there < upper) & (slope > 0.0) & (slope < np.inf)
            at, density = np.where(inside, there, at), np.where(inside, slope, density)
        farthest = upper - lower
        places, widths, densities = at.copy(), np.empty(len(at)), density.copy()
        before = at, np.full(len(at), np.nan)
        for _ in range(SEARCH_STEPS):
            missing = level - _sum(shares, _counted(_BELOW, at * per_cell + origin)) / POINTS
            slope = (before[1] - missing) / (at - before[0])
            density = np.where(np.isnan(slope), density, np.clip(slope, 0.125 * density, 8.0 * density))
            lower, upper = np.where(missing > 0.0, at, lower), np.where(missing > 0.0, upper, at)
            # A secant, where it stays between the ends.
            there = at + missing / density
            there = np.where((there > lower) & (there < upper), there, 0.5 * (lower + upper))
            places[rows], densities[rows] = there, density
            widths[rows] = np.minimum(np.abs(there - at) + 2.0 * self.near / density, farthest[rows])
            before, at, wide = (at, missing), there, np.flatnonzero(np.abs(missing) > self.near)
            if not wide.size:
                break
            if wide.size < len(rows):
                per_cell, origin, rows = per_cell[:, wide], origin[:, wide], rows[wide]
                shares = _of_rows(shares, wide)
                lower, upper, density, at = (of[wide] for of in (lower, upper, density, at))
                before = before[0][wide], before[1][wide]
        return places, widths, densities

    def _between(self, level: float, place: Array, width: Array, rows: Index) -> Array:
        """Return a quantile of some rows, NaN where it does not lie between two points so near to a place."""
        of_rows = (self.centres, np.broadcast_to(self.sd, self.centres.shape), self.per_cell, self.origin)
        centres, sd, per_cell, origin = of_rows if len(rows) == len(self.mean) else (of[:, rows] for of in of_rows)
        of_draws = _of_rows(self.shares, rows)
        here = (place - width) * per_cell + origin
        below = _counted(_BELOW, here)
        inside = _counted(_UP_TO, here + 2.0 * width * per_cell) - below
        inside[:, inside.sum(axis=0) > MOST_ORDERED] = 0.0
        row, draw = np.divmod(np.flatnonzero((inside > 0.0).T), len(inside))
        count = inside[draw, row].astype(np.intp)
        # Each row's points one after another, each draw's among them.
        number = np.arange(count.sum()) + np.repeat(below[draw, row].astype(np.intp) - np.cumsum(count) + count, count)
        draw, row = draw.repeat(count), row.repeat(count)
        size = np.bincount(row, minlength=len(rows))
        most = int(size.max()) + 1
        cells = np.arange(len(row)) + np.repeat(np.arange(len(rows)) * most - np.cumsum(size) + size, size)
        points, shares = np.full((len(rows), most), np.inf), np.zeros((len(rows), most))
        points.ravel()[cells] = centres[draw, row] + sd[draw, row] * _NORMAL[number]
        shares.ravel()[cells] = (of_draws[draw] if of_draws.ndim == 1 else of_draws[draw, row]) / POINTS
        order = np.argsort(points, axis=1, kind="stable") + np.arange(len(rows))[:, None] * most
        points, shares = points.ravel()[order], shares.ravel()[order]
        middle = np.cumsum(shares, axis=1) - 0.5 * shares + _sum(of_draws, below)[:, None] / POINTS
        right = np.sum((middle <= level) & (points < np.inf), axis=1)
        some = np.flatnonzero((right > 0) & (right < size))
        (left_point, left), (right_point, over) = (
            (points[some, at], middle[some, at]) for at in (right[some] - 1, right[some])
        )
        sure = (left_point > (place - width)[some]) & (right_point < (place + width)[some])
        value = left_point + (level - left) / (over - left) * (right_point - left_point)
        out = np.full(len(rows), np.nan)
        out[some[sure]] = value[sure]
        return out
