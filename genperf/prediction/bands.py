"""From draws and noise to a central value and its bands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Band = Literal["prediction", "confidence"]

#: ln of the largest end of a band.
LARGEST = 690.0
#: Equally likely points that stand for a normal distribution.
POINTS = 31
#: Boxes of equal width that points are put in before a few of them are put in order.
BOXES = 1024
_NORMAL = np.array([NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)])


@dataclass(frozen=True)
class SearchSettings:
    """How the quantiles of many rows are searched at once; the values do not depend on these settings."""

    #: Cells in which a table counts the points of a normal distribution.
    cells: int = 4096
    #: Draws times rows of one block: 1 MB an array, which a core's cache holds.
    numbers: int = 131_072
    #: Of so many rows one is searched by itself, and the others from their neighbours.
    stride: int = 16
    #: Half the width of a bracket around a cubic guess, in standard deviations over the number of points: it then holds
    #: about ten of them at the 5 % quantile and forty at the median.
    points: float = 50.0
    #: Added to that half width: this share of how far the cubic lies from the straight line.
    bend: float = 0.1
    #: How many times as wide the bracket is in which a value is searched that was not there.
    again: float = 16.0
    #: Share of the points that a bracket holds when its search ends: as many are put in order.
    inside: float = 0.008
    #: Most steps of that search. Rows that need more are put in order whole.
    steps: int = 40
    #: Points in all up to which a row is put in order at once.
    few: int = 310
    #: Rows below which each is taken by itself: so few do not make up for the search's fixed cost.
    fewest: int = 8


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
    block = max(SEARCH.numbers // draws, SEARCH.stride)
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
    if len(shares) * POINTS <= SEARCH.few:
        out[:, spread] = _in_order(*mixture.points(), levels)
    elif spread.sum() < SEARCH.fewest:
        points, each = mixture.points()
        out[:, spread] = np.array([quantiles(row, each, levels) for row in np.ascontiguousarray(points.T)]).T
    else:
        out[:, spread] = [mixture.quantile(level) for level in levels.tolist()]
    return out


def _in_order(points: Array, shares: Array, levels: Array) -> Array:
    """Return quantiles of the weighted points of each row, all of which are put in order, shape (k, rows)."""
    order = np.argsort(points, axis=0, kind="stable")
    ordered, held = np.take_along_axis(points, order, axis=0), shares[order]
    middle = np.cumsum(held, axis=0) - 0.5 * held
    columns = zip(middle.T, ordered.T, strict=True)
    return np.array([np.interp(levels, m, o) for m, o in columns]).reshape(-1, len(levels)).T


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

    def take(self, rows: npt.NDArray[np.intp] | slice) -> Mixture:
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

    def quantile(self, level: float) -> Array:
        """Return a quantile of each row, shape (rows,).

        Rows beside each other are alike: some are searched, and what lies between is looked for near a cubic through
        their values. Where it is not there, it is searched.
        """
        between, ends = _interpolation(self.centres.shape[1]), self.ends
        some = between.some
        searched = self.take(some).search(level, ends[0][some], ends[1][some])
        middle, scale = self.moments
        standard = (searched - middle[some]) / scale[some]
        smooth, straight = between.smooth(standard), between.straight(standard)
        guess = middle + scale * smooth
        # Enough points on either side, and a share of what the cubic bends the straight line.
        near = SEARCH.points / (len(self.shares) * POINTS) + SEARCH.bend * np.abs(smooth - straight)
        out = self.between(level, guess - scale * near, guess + scale * near)
        unbracketed = np.flatnonzero(np.isnan(out))
        if unbracketed.size:
            wide = (scale * (SEARCH.again * near))[unbracketed]
            lower = np.maximum(guess[unbracketed] - wide, ends[0][unbracketed])
            upper = np.minimum(guess[unbracketed] + wide, ends[1][unbracketed])
            out[unbracketed] = self.take(unbracketed).search(level, np.minimum(lower, upper), upper)
        return out

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Mean and standard deviation of each row, each of shape (rows,)."""
        middle = self.shares @ self.centres
        return middle, np.sqrt(self.shares @ (np.square(self.centres - middle) + np.square(self.sd)))

    def search(self, level: float, lower: Array, upper: Array) -> Array:
        """Return a quantile of each row, shape (rows,): regula falsi and bisection to a few points, put in order.

        Parameters
        ----------
        lower, upper : ndarray of shape (rows,)
            Where to look first.
        """
        below, above = self.share_below(lower), self.share_below(upper)
        outside = (below >= level) | (above <= level)
        if outside.any():
            ends = self.ends
            lower, upper = np.where(outside, ends[0], lower), np.where(outside, ends[1], upper)
            below, above = np.where(outside, 0.0, below), np.where(outside, 1.0, above)
        bracket = np.array([lower, upper, below, above])
        wide, part = np.arange(bracket.shape[1]), self
        for step in range(SEARCH.steps):
            kept = bracket[3, wide] - bracket[2, wide] > SEARCH.inside
            if not kept.any():
                break
            if not kept.all():
                part, wide = part.take(np.flatnonzero(kept)), wide[kept]
            first, last, below, above = bracket[:, wide]
            # Of every third step the middle, where the shares are no guide.
            place = 0.5 if step % 3 == 2 else np.clip((level - below) / (above - below), 0.05, 0.95)
            at = first + place * (last - first)
            here = part.share_below(at)
            bracket[:, wide] = np.where(here < level, [at, last, here, above], [first, at, below, here])
        margin = 0.25 * (bracket[1] - bracket[0])
        out = self.between(level, bracket[0] - margin, bracket[1] + margin)
        for row in np.flatnonzero(np.isnan(out)).tolist():
            points, shares = self.take(slice(row, row + 1)).points()
            out[row] = quantiles(points[:, 0], shares, np.array([level]))[0]
        return out

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


@cache
def _interpolation(rows: int) -> Interpolation:
    """Return how values at some of the rows are interpolated."""
    count = max(math.ceil((rows - 1) / SEARCH.stride) + 1, 4)
    some = np.linspace(0.0, rows - 1.0, count).round().astype(np.intp)
    at = np.arange(float(rows))
    cell = np.clip(np.searchsorted(some, at, side="right") - 1, 0, count - 2)
    left, right = some[cell], some[cell + 1]
    part = (at - left) / (right - left)
    places = np.clip(cell - 1, 0, count - 4)[:, None] + np.arange(4)
    nodes = some[places]
    weights = np.ones(nodes.shape)
    for i in range(4):
        for j in range(4):
            if i != j:
                # Lagrange: one at its own node, zero at the others.
                weights[:, i] *= (at - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    return Interpolation(some, cell, part, places, weights)


class Interpolation(NamedTuple):
    """Interpolation from some rows to all, by straight lines and by cubics through the four nearest."""

    #: Shape (k,). The rows whose values are known.
    some: npt.NDArray[np.intp]
    #: Shape (rows,). The place in `some` of the known row before each.
    cell: npt.NDArray[np.intp]
    #: Shape (rows,). How far each row is on the way to the next known one, 0 to 1.
    part: Array
    #: Shape (rows, 4). The places in `some` of the nearest known rows.
    places: npt.NDArray[np.intp]
    #: Shape (rows, 4). Their weights in the cubic.
    weights: Array

    def straight(self, values: Array) -> Array:
        """Return values of all rows by straight lines, shape (rows,)."""
        return np.asarray((1.0 - self.part) * values[self.cell] + self.part * values[self.cell + 1])

    def smooth(self, values: Array) -> Array:
        """Return values of all rows by cubics, shape (rows,)."""
        return np.asarray((self.weights * values[self.places]).sum(axis=1))


def quantiles(points: Array, shares: Array, levels: Array) -> Array:
    """Return quantiles of weighted points: with the points in order, read between the middles of their shares.

    Only the points next to a level are put in order, which is the same and for many thousands ten times as fast.

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
    low, high = points.min(), points.max()
    if len(points) <= BOXES or not 0.0 < high - low < np.inf:
        return _between_middles(points, shares, levels)
    box = ((points - low) * ((BOXES - 0.5) / (high - low))).astype(np.intp)
    held = np.bincount(box, shares, BOXES)
    full = np.flatnonzero(np.bincount(box, minlength=BOXES))
    reached = np.cumsum(held[full])
    out = np.empty(len(levels))
    for k, level in enumerate(levels):
        here = min(int(np.searchsorted(reached, level)), len(full) - 1)
        first, last = max(here - 1, 0), min(here + 1, len(full) - 1)
        near = np.flatnonzero((box >= full[first]) & (box <= full[last]))
        before = reached[first - 1] if first else 0.0
        out[k] = _between_middles(points[near], shares[near], levels[k : k + 1] - before)[0]
    return out


def _between_middles(points: Array, shares: Array, levels: Array) -> Array:
    """Return quantiles of weighted points, all of which are put in order."""
    order = np.argsort(points, kind="stable")
    middle = np.cumsum(shares[order]) - 0.5 * shares[order]
    return np.asarray(np.interp(levels, middle, points[order]))
