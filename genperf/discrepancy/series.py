"""The discrepancy of a series: a random walk on ln T about its expression, and its limits beyond the data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.formula import parse
from genperf.table.axis import several_nodes

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Any]

#: Share of a configuration's noise at an anchor that every draw passes through: nothing but a safeguard of rounding.
EXACT = 1e-6


class RandomWalk(msgspec.Struct, frozen=True, tag="random-walk", forbid_unknown_fields=True):
    """A random walk along each axis, in doublings, independent between the axes.

        cov(w(x), w(y)) = ½·step²·Σ_a (|x_a − o_a| + |y_a − o_a| − |x_a − y_a|),   x_a = log2 of axis a

    The walk starts at the origin o, the smallest measured coordinate of each axis, and goes both ways from there.

    Examples
    --------
    >>> walk = RandomWalk(("workers",), 0.1, (0.0,))
    >>> walk.covariance({"workers": np.array([4.0])}, {"workers": np.array([2.0, 4.0, 8.0])}).round(3)
    array([[0.01, 0.02, 0.02]])
    """

    #: Formulas over the factors. The first is the scale.
    axes: tuple[str, ...]
    #: Standard deviation of ln T per doubling.
    step: float
    #: log2 of each axis where the walk starts.
    origin: tuple[float, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the covariance depends on."""
        return tuple(sorted({name for axis in self.axes for name in parse(axis).names}))

    def coordinates(self, columns: Mapping[str, Any]) -> Array:
        """Return log2 of the axes, shape (rows, axes)."""
        return np.stack([np.log2(np.asarray(parse(a).evaluate(columns), float)) for a in self.axes], axis=1)

    def covariance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> Array:
        """Return the covariance between two lists of configurations, shape (rows of a, rows of b)."""
        x = self.coordinates(a) - np.array(self.origin)
        y = x if b is a else self.coordinates(b) - np.array(self.origin)
        x, y = x[:, None, :], y[None, :, :]
        return np.asarray(0.5 * self.step**2 * np.sum(np.abs(x) + np.abs(y) - np.abs(x - y), axis=2))

    def variance(self, columns: Mapping[str, Any]) -> Array:
        """Return the diagonal of the covariance, shape (rows,)."""
        return np.asarray(self.step**2 * np.sum(np.abs(self.coordinates(columns) - np.array(self.origin)), axis=1))

    def fault(self, anchors: Mapping[str, npt.NDArray[Any]]) -> str | None:
        """Say what does not fit the anchors, of a kernel that was read from a file; None where all does.

        Raises
        ------
        FormulaError
            For an axis that is no formula over the anchors.
        """
        for axis in self.axes:
            parse(axis, set(anchors))
        whole = bool(self.axes) and len(self.axes) == len(self.origin) and self.step > 0.0
        return None if whole else "axes, origin and step do not match"


def walk_from(axes: tuple[str, ...], step: float, anchors: Mapping[str, Any]) -> RandomWalk:
    """Return the walk that starts at the smallest measured configuration.

    Parameters
    ----------
    anchors : mapping of str to ndarray of shape (anchors,)
        The measured configurations.
    """
    there = RandomWalk(axes, step, ()).coordinates(anchors)
    return RandomWalk(axes, step, tuple(there.min(axis=0).tolist()))


class Extrapolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and doubts beyond the anchors of a series.

    A curve grows from the largest anchor at most in proportion to the scale, times the growth of one worker's work: a
    single serial resource is the worst case. Where every anchor lies on one node, nothing bounds what the network costs
    beyond it. Beyond the anchors the slope of ln T per doubling is uncertain.
    """

    #: Formulas over the factors, along which the series was measured. The first is the scale.
    axes: tuple[str, ...]
    #: Formula of one worker's work, up to a constant.
    work: str
    #: Standard deviation of the slope of ln T per doubling.
    slope: float
    #: Formula of the number of nodes; "1" where it is not known.
    nodes: str = "1"

    def beyond(self, anchors: Anchors, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return what holds of rows beyond the anchors.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)

        Returns
        -------
        doublings : ndarray of shape (rows,)
            How many doublings each row lies beyond the anchors, along an axis or in work.
        growth : ndarray of shape (rows,)
            The largest ln(T/T of the largest anchor) that a curve may reach.
        """
        there = self._coordinates(columns)
        outside = np.maximum(there - anchors.coordinates.max(axis=0), anchors.coordinates.min(axis=0) - there)
        away = (there - anchors.coordinates[anchors.largest]) * np.log(2.0)
        leaves = anchors.on_one_node & several_nodes(self._nodes(columns))
        growth = np.where((away[:, 0] > 0.0) & ~leaves, away[:, 0] + np.maximum(away[:, -1], 0.0), np.inf)
        return np.maximum(outside, 0.0).max(axis=1), growth

    def at(self, columns: Mapping[str, Any]) -> Anchors:
        """Return what is needed of the anchors."""
        coordinates = self._coordinates(columns)
        largest = int(np.lexsort((coordinates[:, -1], coordinates[:, 0]))[-1])
        return Anchors(coordinates, largest, not np.any(several_nodes(self._nodes(columns))))

    def _nodes(self, columns: Mapping[str, Any]) -> Array:
        rows = len(next(iter(columns.values())))
        return np.broadcast_to(np.asarray(parse(self.nodes).evaluate(columns), float), (rows,))

    def _coordinates(self, columns: Mapping[str, Any]) -> Array:
        """Return log2 of the axes and, last, of one worker's work; shape (rows, axes + 1)."""
        rows = len(next(iter(columns.values())))
        values = [np.asarray(parse(text).evaluate(columns), float) for text in (*self.axes, self.work)]
        return np.asarray(np.log2(np.stack([np.broadcast_to(v, (rows,)) for v in values], axis=1)))


class Anchors(msgspec.Struct, frozen=True, eq=False):
    """What an extrapolation needs of the anchors."""

    #: Shape (anchors, axes + 1). log2 of the axes and, last, of one worker's work.
    coordinates: Array
    #: Which anchor is the largest in scale, and then in work.
    largest: int
    #: Whether every anchor lies on one node.
    on_one_node: bool


class Discrepancy(msgspec.Struct, frozen=True, eq=False, dict=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an expression cannot say: the distance of the truth from its curve, learned at the anchors.

        ln T(x) = f(x) + θ + s·w(x) + s·ν·e(x),   cov(w(x), w(y)) = κ(x, y),   var(e) = 1

    f is the logarithm of the expression, κ the kernel, e independent between configurations. An anchor's value has
    a variance of its own beside that (its repeats, or what was borrowed), which is not multiplied by s².

    The anchors hold ln T. Each draw of the constants has a curve f and a scale s. The level θ is integrated
    out with a flat prior: only the shape of f counts. This is universal kriging: the mean passes from the anchors
    to the shape of the curve beyond them.

    Examples
    --------
    A flat curve, measured at 1, 2 and 4, with 10 % per doubling:

    >>> from genperf.discrepancy import RandomWalk
    >>> walk = RandomWalk(("n",), 0.1, (0.0,))
    >>> zero = np.zeros(3)
    >>> flat = Discrepancy(walk, {"n": np.array([1.0, 2.0, 4.0])}, zero, zero, 0.01, np.ones(1))
    >>> mean, variance = flat.forecast({"n": np.array([8.0, 16.0])}, np.zeros((1, 3)), np.zeros((1, 2)))
    >>> mean.round(3), np.sqrt(variance).round(3)
    (array([[0., 0.]]), array([[0.1  , 0.142]]))
    """

    kernel: RandomWalk
    #: Shape (anchors,). The factors where the process was measured: numbers, or labels of levels.
    anchors: dict[str, Array]
    #: Shape (anchors,). ln T.
    logarithms: Array
    #: Shape (anchors,). The anchors' own variances of ln T.
    variances: Array
    #: ν: standard deviation of one configuration, in units of s.
    noise: float
    #: Shape (draws,). s.
    scales: Array
    #: What holds beyond the anchors of a series.
    extrapolation: Extrapolation | None = None
    #: Shape (draws, borrowed). Where the last anchors are borrowed from other series: what is added to their ln T in
    #: each draw. Every draw passes through them exactly, so that there the draws spread as what was borrowed.
    offsets: Array | None = None

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the discrepancy depends on."""
        return self.kernel.factors

    def forecast(self, columns: Columns, at_anchors: Array, curve: Array) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for each draw, without the noise of a new run.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            The factors where the forecast is made.
        at_anchors, curve : ndarray of shape (draws, anchors) and (draws, rows)
            f at the anchors and at the rows, per draw.

        Returns
        -------
        mean, variance : ndarray of shape (draws, rows)
            Of ln T per draw.
        """
        g = self.geometry
        doublings, growth = self._beyond(columns)
        near, gain, rest, precision = self._solved(columns)
        # A curve that is zero at an anchor has no level: NaN.
        with np.errstate(invalid="ignore"):
            residual = (self._targets - at_anchors) @ g.whiten.T
            level = (residual / self._total) @ g.ones / precision
            mean = self._limited(growth, at_anchors, curve) + level[:, None]
            mean += (gain * (residual - level[:, None] * g.ones)) @ near
        variance = self.scales[:, None] ** 2 * (self.kernel.variance(columns) - gain @ near**2)
        variance += rest**2 / precision[:, None]
        return mean, np.maximum(variance, 0.0) + self._slope(doublings) ** 2

    def covariance(self, columns: Columns) -> Array:
        """Return the covariance of ln T between rows, shape (draws, rows, rows); its diagonal is `forecast`'s."""
        near, gain, rest, precision = self._solved(columns)
        explained = np.einsum("da,ar,as->drs", gain, near, near, optimize=True)
        spread = self.scales[:, None, None] ** 2 * (self.kernel.covariance(columns, columns) - explained)
        level, slope = rest / np.sqrt(precision)[:, None], self._slope(self.doublings_beyond(columns))
        return np.asarray(spread + level[:, :, None] * level[:, None, :] + slope[:, :, None] * slope[:, None, :])

    def run_variance(self, noise: float) -> Array:
        """Return the variance of ln T that a new run adds, shape (draws, 1); `noise` is that of repeats."""
        return np.asarray((self.scales[:, None] * self.noise) ** 2 + noise**2)

    def doublings_beyond(self, columns: Columns) -> Array:
        """Return how many doublings each row lies beyond the anchors of a series, shape (rows,)."""
        return self._beyond(columns)[0]

    def kept(self, draws: npt.NDArray[Any]) -> Discrepancy:
        """Return the discrepancy of some of the draws, by position or mask."""
        offsets = None if self.offsets is None else self.offsets[draws]
        return msgspec.structs.replace(self, scales=self.scales[draws], offsets=offsets)

    @property
    def borrowed(self) -> dict[str, Array]:
        """The factors at the borrowed anchors; nothing without such."""
        if self.offsets is None:
            return {}
        return {name: values[len(values) - self.offsets.shape[1] :] for name, values in self.anchors.items()}

    @cached_property
    def geometry(self) -> Geometry:
        """What depends on the anchors alone."""
        borrowed = 0 if self.offsets is None else self.offsets.shape[1]
        count = len(self.logarithms)
        noise = np.r_[np.full(count - borrowed, self.noise**2), np.full(borrowed, EXACT * self.noise**2)]
        lower = np.linalg.inv(np.linalg.cholesky(self.kernel.covariance(self.anchors, self.anchors) + np.diag(noise)))
        # In the directions Q the process (times s²) and the anchors' own variances are both diagonal.
        variances, Q = np.linalg.eigh(lower @ (self.variances[:, None] * lower.T))
        whiten = Q.T @ lower
        return Geometry(whiten, np.maximum(variances, 0.0), whiten.sum(axis=1))

    @cached_property
    def _ends(self) -> Anchors | None:
        """What the extrapolation needs of the anchors of a series."""
        return None if self.extrapolation is None else self.extrapolation.at(self.anchors)

    def _beyond(self, columns: Columns) -> tuple[Array, Array]:
        """Return how far rows lie beyond the anchors and how much a curve may grow to them; see `Extrapolation`."""
        if self.extrapolation is None or self._ends is None:
            rows = len(next(iter(columns.values())))
            return np.zeros(rows), np.full(rows, np.inf)
        return self.extrapolation.beyond(self._ends, columns)

    @cached_property
    def _targets(self) -> Array:
        """The logarithms at the anchors, shape (anchors,), or (draws, anchors) where some are borrowed."""
        if self.offsets is None:
            return self.logarithms
        measured = len(self.logarithms) - self.offsets.shape[1]
        return self.logarithms + np.pad(self.offsets, ((0, 0), (measured, 0)))

    @property
    def _total(self) -> Array:
        """The variance of each whitened residual, shape (draws, anchors)."""
        return np.asarray(self.scales[:, None] ** 2 + self.geometry.variances)

    def _solved(self, columns: Columns) -> tuple[Array, Array, Array, Array]:
        """Return whitened covariances with the rows, gains, what the level keeps of one, and its precision.

        Of shapes (anchors, rows), (draws, anchors), (draws, rows) and (draws,).
        """
        g = self.geometry
        near = g.whiten @ self.kernel.covariance(self.anchors, columns)
        gain = self.scales[:, None] ** 2 / self._total
        return near, gain, 1.0 - (gain * g.ones) @ near, (1.0 / self._total) @ g.ones**2

    def _limited(self, growth: Array, at_anchors: Array, curve: Array) -> Array:
        """Return the curve, beyond the anchors no higher than it may grow."""
        if self._ends is None:
            return curve
        largest = at_anchors[:, self._ends.largest, None]
        # A draw whose curve is zero at the anchors (-inf) is limited nowhere, also where growth is not (inf).
        limit = np.add(largest, growth, out=np.full(curve.shape, np.inf), where=np.isfinite(largest))
        return np.asarray(np.minimum(curve, limit))

    def _slope(self, doublings: Array) -> Array:
        """Return the standard deviation that the unknown slope beyond the anchors adds, shape (draws, rows)."""
        slope = 0.0 if self.extrapolation is None else self.extrapolation.slope
        return np.asarray(np.maximum(self.scales, 1.0)[:, None] * slope * doublings)


class Geometry(msgspec.Struct, frozen=True, eq=False):
    """Whitened directions, in which the process and the anchors' own variances are both diagonal."""

    #: Shape (anchors, anchors).
    whiten: Array
    #: Shape (anchors,). The anchors' own variances in these directions, in units of s².
    variances: Array
    #: Shape (anchors,). A level of 1 at every anchor.
    ones: Array
