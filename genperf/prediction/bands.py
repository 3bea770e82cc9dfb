"""From draws and noise to a central value and its bands."""

from __future__ import annotations

import math
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

# How the quantiles of many rows are searched at once; the values depend on these settings by rounding errors alone.
#: Draws times rows of one block: 1 MB an array, which a core's cache holds.
BLOCK_DRAWS = 131_072
#: Cells in which a table counts the points of a normal distribution.
NORMAL_CELLS = 4096
#: A search ends where so small a share of a row's points lies between its place and the quantile, or so few of them,
#: and after so many steps: then a single point has a larger share, and all points of the row are put in order.
NEAR_SHARE = 5e-4
NEAR_POINTS = 4
SEARCH_STEPS = 20
#: Of more points than so many around the place, and where the quantile lies beyond these, all of a row are ordered.
MOST_ORDERED = 2048

#: The cells reach from one end to the other of the normal distribution's points.
_REACH = 1.01 * _NORMAL[-1]
_EDGES = np.searchsorted(_NORMAL, np.linspace(-_REACH, _REACH, NORMAL_CELLS + 1)).astype(float)
#: Points below the left and the right edge of each cell; all of them beyond the last.
_BELOW = np.concatenate([[0.0], _EDGES])
_UP_TO = np.concatenate([_EDGES, [float(POINTS)]])


class MixtureForecast(Struct, frozen=True, eq=False):
    """ln T of some rows, a mixture of normal distributions: one for each draw, or a single one."""

    mean: Array  #: Shape (draws, rows).
    shares: Array  #: Shape (draws,). Each draw's share.
    #: `variance`, `total`: of the mean, and of a new run; of shape (draws or 1, rows).
    variance: Array
    total: Array
    centre: Array | None  #: Shape (rows,). The central value; where it is None, it is the median of the draws.
    #: Shape (draws,). The shares for that median; None for a single normal distribution, whose quantiles are exact.
    central_shares: Array | None = None
    #: Mean and variance of each member, (draws, rows) or (1, rows), without what the distance from the data adds.
    parts: Sequence[tuple[Array, Array]] = ()
    #: The most that the quantity can be, in the target's unit.
    ceiling: float = math.inf

    def at(self, rows: Index) -> MixtureForecast:
        """Return the forecast of some of the rows."""
        mean, variance, total = (array[:, rows] for array in (self.mean, self.variance, self.total))
        centre = None if self.centre is None else self.centre[rows]
        of_members = [(of_mean[:, rows], of_variance[:, rows]) for of_mean, of_variance in self.parts]
        return replace(self, mean=mean, variance=variance, total=total, centre=centre, parts=of_members)

    def central(self) -> Array:
        """Return the central value, shape (rows,), in the target's unit."""
        if self.centre is not None:
            return np.asarray(np.minimum(np.exp(self.centre), self.ceiling))
        assert self.central_shares is not None
        (median,) = mixture_quantiles(self.mean, self.central_shares, np.sqrt(self.variance), np.array([0.5]))
        return np.asarray(np.minimum(median, self.ceiling))

    def interval(self, level: float = 0.9) -> tuple[Array, Array, Array]:
        """Return the central values and the ends of the interval of a new run, each of shape (rows,)."""
        lower, upper = self.band(level, "prediction", -LARGEST)
        return self.central(), lower, upper

    def band(self, interval: float, band: Band, floor: float) -> tuple[Array, Array]:
        """Return the lower and upper ends of a band, (rows,). Draws of ln T below `floor`, or NaN, are put there."""
        levels = ends_of(interval)
        sd = np.sqrt(self.variance if band == "confidence" else self.total)
        if self.central_shares is None:
            away = NormalDist().inv_cdf(0.5 + 0.5 * interval) * sd[0]
            lower, upper = np.exp(np.clip([self.mean[0] - away, self.mean[0] + away], -LARGEST, LARGEST))
        else:
            mean = np.maximum(np.nan_to_num(self.mean, nan=floor, neginf=floor), floor)
            lower, upper = mixture_quantiles(mean, self.shares, sd, np.array(levels))
        return np.minimum(lower, self.ceiling), np.minimum(upper, self.ceiling)


def mixture_quantiles(logarithms: Array, weights: Array, sd: Array, levels: Array) -> Array:
    """Return quantiles, (levels, rows), of log-normal draws, (draws, rows), each 31 equally likely points."""
    shares = weights / weights.sum()
    sd = np.atleast_2d(sd)
    out = np.empty((len(levels), logarithms.shape[1]))
    sure, rows = np.flatnonzero(~sd.any(axis=0)), np.flatnonzero(sd.any(axis=0))
    if len(sure):
        # Draws without spread are points.
        out[:, sure] = quantiles(logarithms[:, sure], shares, levels)
    block = max(BLOCK_DRAWS // len(shares), 1)
    for start in range(0, len(rows), block):
        block_rows = rows[start : start + block]
        mixture = _Mixture(logarithms[:, block_rows], shares, sd[:, block_rows])
        out[:, block_rows] = [mixture.quantile(level) for level in levels.tolist()]
    return np.asarray(np.exp(out))


def quantiles(points: Array, weights: Array, levels: Sequence[float] | Array) -> Array:
    """Return quantiles, (levels, …), of weighted points, (draws, …), read between the middles of their shares."""
    flat = points.reshape(len(points), -1)
    order = np.argsort(flat, axis=0, kind="stable")
    ordered = np.take_along_axis(flat, order, axis=0)
    shares = (weights / weights.sum())[order]
    middles = np.cumsum(shares, axis=0) - 0.5 * shares
    columns = [np.interp(levels, of_column, points) for of_column, points in zip(middles.T, ordered.T, strict=True)]
    return np.stack(columns, axis=1).reshape(len(levels), *points.shape[1:])


class _Mixture:
    """Rows of a mixture of normal distributions, each of which is 31 equally likely points."""

    def __init__(self, centres: Array, shares: Array, sd: Array) -> None:
        self.centres, self.shares, self.sd = centres, shares, sd
        # The points of a draw without spread lie within one cell.
        self.per_cell = NORMAL_CELLS / (2.0 * _REACH) / np.maximum(sd, 1e-6 * sd.max(axis=0))
        # The place of the value 0 among the cells.
        self.origin = 0.5 * NORMAL_CELLS + 1.0 - centres * self.per_cell
        self.mean = shares @ centres
        self.scale = np.sqrt(shares @ (np.square(centres - self.mean) + np.square(sd)))
        self.near = max(NEAR_SHARE, NEAR_POINTS / (POINTS * len(centres)))

    def quantile(self, level: float) -> Array:
        """Return a quantile of each row, shape (rows,): a search to a few points, which are put in order."""
        with np.errstate(invalid="ignore", divide="ignore"):
            out = self._interpolated(level, *self._search(level))
        for row in np.flatnonzero(np.isnan(out)):
            points = self.centres[:, row] + self.sd[:, row] * _NORMAL[:, None]
            out[row] = quantiles(points.ravel(), np.tile(self.shares, POINTS), [level])[0]
        return out

    def _search(self, level: float) -> tuple[Array, Array]:
        """Return a value x near a quantile of each row and how far from x it should lie at most, shape (rows,).

        Where it lies farther, `_interpolated` has no value, and `quantile` puts all points in order.
        Secants between bounds solve F(x) = level, F being the share of the row's points below x:

            x ← x + (level − F(x))/f,   f = ΔF/Δx      until |level − F(x)| ≤ near
        """
        per_cell, origin, rows = self.per_cell, self.origin, np.arange(len(self.mean))
        z, odds = NormalDist().inv_cdf(level), np.sqrt((1.0 - level) / level)
        x, density = self.mean + z * self.scale, NormalDist().pdf(z) / self.scale
        # No quantile of a distribution lies farther from its mean (Cantelli's inequality).
        lower, upper = self.mean - odds * self.scale, self.mean + self.scale / odds
        largest_width = upper - lower
        values, widths = x.copy(), np.empty(len(x))
        x_before, missing_before = x, np.full(len(x), np.nan)
        for _ in range(SEARCH_STEPS):
            below = _BELOW.take((x * per_cell + origin).astype(np.intp), mode="clip")
            missing = level - self.shares @ below / POINTS
            # The first step has no secant (NaN) and takes the normal density; a slope changes by eight times at most.
            slope = (missing_before - missing) / (x - x_before)
            changed = np.minimum(np.maximum(slope, 0.125 * density), 8.0 * density)
            density, is_below = np.where(np.isnan(slope), density, changed), missing > 0.0
            lower, upper = np.where(is_below, x, lower), np.where(is_below, upper, x)
            # A secant, where it stays between the bounds; else their middle.
            x_next = x + missing / density
            x_next = np.where((x_next > lower) & (x_next < upper), x_next, 0.5 * (lower + upper))
            values[rows] = x_next
            widths[rows] = np.minimum(np.abs(x_next - x) + 2.0 * self.near / density, largest_width[rows])
            x_before, missing_before, x = x, missing, x_next
            far = np.flatnonzero(np.abs(missing) > self.near)
            if not far.size:
                break
            if far.size < len(rows):
                # The search goes on in the rows that are not near yet.
                per_cell, origin, rows = per_cell[:, far], origin[:, far], rows[far]
                of_rows = lower, upper, density, x, x_before, missing_before
                lower, upper, density, x, x_before, missing_before = (array[far] for array in of_rows)
        else:
            widths[rows] = largest_width[rows]
        return values, widths

    def _interpolated(self, level: float, centre: Array, width: Array) -> Array:
        """Return a quantile of each row from its points at centre ± width, in order; NaN where it lies beyond them.

        It lies between the points x_k whose m_k enclose the level, m_k being the share of all points below x_k with
        half of its own:

            q = x_k + (level − m_k)/(m_{k+1} − m_k)·(x_{k+1} − x_k)
        """
        # Of each draw: how many points lie below centre − width, and how many between both ends; (draws, rows).
        left_cell = (centre - width) * self.per_cell + self.origin
        below = _BELOW.take(left_cell.astype(np.intp), mode="clip")
        inside = _UP_TO.take((left_cell + 2.0 * width * self.per_cell).astype(np.intp), mode="clip") - below
        inside[:, inside.sum(axis=0) > MOST_ORDERED] = 0.0
        # The points themselves: row after row, and in a row draw after draw.
        row, draw = np.divmod(np.flatnonzero((inside > 0.0).T), len(inside))
        count = inside[draw, row].astype(np.intp)
        number = np.arange(count.sum()) + np.repeat(below[draw, row].astype(np.intp) - np.cumsum(count) + count, count)
        draw, row = draw.repeat(count), row.repeat(count)
        # The points of a row are a row of an array, filled up with infinite points of no share.
        size = np.bincount(row, minlength=len(centre))
        column = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
        points = np.full((len(centre), int(size.max()) + 1), np.inf)
        shares = np.zeros(points.shape)
        sd = np.broadcast_to(self.sd, inside.shape)[draw, row]
        points[row, column] = self.centres[draw, row] + sd * _NORMAL[number]
        shares[row, column] = self.shares[draw] / POINTS
        order = np.argsort(points, axis=1, kind="stable")
        x, shares = np.take_along_axis(points, order, axis=1), np.take_along_axis(shares, order, axis=1)
        m = np.cumsum(shares, axis=1) - 0.5 * shares + (self.shares @ below)[:, None] / POINTS
        right = np.sum((m <= level) & (x < np.inf), axis=1)
        enclosed = np.flatnonzero((right > 0) & (right < size))
        left, right = right[enclosed] - 1, right[enclosed]
        x_left, x_right, m_left, m_right = (array[enclosed, k] for array in (x, m) for k in (left, right))
        is_known = (x_left > (centre - width)[enclosed]) & (x_right < (centre + width)[enclosed])
        quantile = x_left + (level - m_left) / (m_right - m_left) * (x_right - x_left)
        out = np.full(len(centre), np.nan)
        out[enclosed[is_known]] = quantile[is_known]
        return out
