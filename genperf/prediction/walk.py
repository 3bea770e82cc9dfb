"""The random walk of a series: how far the truth may wander from a family's curve, given where it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.formula import parse

Array = npt.NDArray[np.float64]

#: Share of the noise at an anchor that every draw passes through.
EXACT = 1e-6


@dataclass(frozen=True, eq=False)
class Walk:
    """The discrepancy between a curve and a measured series, along the logarithm of the scale.

        ln T(n) = θ + f(n) + w(log2 n) + ε(n),   w a random walk of s·step per doubling, ε noise of s·noise

    f is the logarithm of an expression, θ its level, which is integrated out with a flat prior, so that only the shape
    of f counts. With the measured series as anchors this is universal kriging: the mean goes from the anchors to the
    curve's shape beyond them, and its variance grows with the distance. Each draw of the expression's constants has a
    size s of its own. An anchor's own variance (of its repeats, or of what was borrowed) is not multiplied by s.

    Attributes
    ----------
    axes : tuple of str
        Formulas of the factors along whose doublings the walk runs; the first is the scale.
    work : str
        Formula of the work of one worker, up to a constant.
    anchors : mapping of str to ndarray of shape (anchors,)
        The factors' values where the series was measured.
    logarithms, variances : ndarray of shape (anchors,)
        ln seconds there, and their own variances.
    step, noise : float
        Standard deviations of ln T: of a doubling's step, and of a configuration.
    trend : float
        Standard deviation of the slope per doubling beyond the anchors.
    sizes : ndarray of shape (draws,)
        s.
    offsets : ndarray of shape (draws, borrowed), optional
        Where the last anchors are borrowed from other series: what is added to their ln seconds in each draw. Every
        draw passes through them exactly, so that there the draws spread as what was borrowed.
    nodes : str
        Formula of the number of nodes; "1" where it is not known. The step to the second node is not guarded.

    Examples
    --------
    >>> flat = Walk(("n",), "1", {"n": np.array([1.0, 2.0, 4.0])}, np.zeros(3), np.zeros(3), 0.1, 0.01, 0.0, np.ones(1))
    >>> mean, variance = flat.forecast(np.zeros((1, 3)), np.zeros((1, 2)), {"n": np.array([8.0, 16.0])})
    >>> mean.round(3), np.sqrt(variance).round(3)
    (array([[0., 0.]]), array([[0.1  , 0.142]]))
    """

    axes: tuple[str, ...]
    work: str
    anchors: Mapping[str, Array]
    logarithms: Array
    variances: Array
    step: float
    noise: float
    trend: float
    sizes: Array
    offsets: Array | None = None
    nodes: str = "1"

    def log_density(self, curve: Array, sizes: Array) -> Array:
        """Return the log-density of the measured series, the level integrated out, shape (draws,).

        Parameters
        ----------
        curve : ndarray of shape (draws, anchors)
            f at the anchors.
        sizes : ndarray of shape (draws,)
        """
        g = self.directions
        r = (self.logarithms - curve) @ g.whiten.T
        total = sizes[:, None] ** 2 + g.variances
        along = (r / total) @ g.one
        precision = (1.0 / total) @ g.one**2
        square = np.sum(r * r / total, axis=1) - along * along / precision
        return np.asarray(g.constant - 0.5 * (square + np.sum(np.log(total), axis=1) + np.log(precision)))

    def level(self, curve: Array, sizes: Array) -> tuple[Array, Array]:
        """Return the level θ of each draw and its variance, each of shape (draws,)."""
        g = self.directions
        r = (self._at_anchors - curve) @ g.whiten.T
        total = sizes[:, None] ** 2 + g.variances
        precision = (1.0 / total) @ g.one**2
        return np.asarray((r / total) @ g.one / precision), np.asarray(1.0 / precision)

    def forecast(self, at_anchors: Array, asked: Array, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for each draw, without the noise of a new run.

        Beyond the anchors the curve may grow from the largest of them at most in proportion to the scale (a single
        serial resource is the worst case), times the growth of one worker's work. Where every anchor lies on one node,
        nothing bounds what the network costs beyond it.

        Parameters
        ----------
        at_anchors, asked : ndarray of shape (draws, anchors) and (draws, rows)
            f, up to a constant for each draw.
        columns : mapping of str to ndarray of shape (rows,)
            The factors' values that are asked for.

        Returns
        -------
        mean, variance : ndarray of shape (draws, rows)
        """
        g = self.directions
        asked = np.minimum(asked, at_anchors[:, g.last, None] + self._most_growth(columns))
        there = self._coordinates(columns)
        theta, theta_variance = self.level(at_anchors, self.sizes)
        square = self.sizes[:, None] ** 2
        total = square + g.variances
        r = (self._at_anchors - at_anchors - theta[:, None]) @ g.whiten.T
        near = g.whiten @ self._covariance(g.coordinates, there)
        here = np.array([self._covariance(c[None], c[None])[0, 0] for c in there])
        mean = asked + theta[:, None] + square * ((r / total) @ near)
        missing = 1.0 - square * ((g.one / total) @ near)
        variance = square * here - square**2 * ((1.0 / total) @ near**2) + missing**2 * theta_variance[:, None]
        slope = np.maximum(self.sizes, 1.0)[:, None] * self.trend * self.doublings_beyond(columns)
        return mean, np.maximum(variance, 0.0) + slope**2

    def covariance(self, columns: Mapping[str, Any]) -> Array:
        """Return the covariance of ln T between rows for each draw, shape (draws, rows, rows).

        Its diagonal is the variance that `forecast` gives.
        """
        g = self.directions
        there = self._coordinates(columns)
        square = self.sizes[:, None] ** 2
        total = square + g.variances
        near = g.whiten @ self._covariance(g.coordinates, there)
        missing = 1.0 - square * ((g.one / total) @ near)
        level = missing / np.sqrt((1.0 / total) @ g.one**2)[:, None]
        slope = np.maximum(self.sizes, 1.0)[:, None] * self.trend * self.doublings_beyond(columns)
        known = np.einsum("da,ar,as->drs", square**2 / total, near, near, optimize=True)
        walked = square[:, :, None] * self._covariance(there, there) - known
        return np.asarray(walked + level[:, :, None] * level[:, None, :] + slope[:, :, None] * slope[:, None, :])

    def run_variance(self, noise: float) -> Array:
        """Return the variance that one new run adds, shape (draws, 1); `noise` is that of the repeats."""
        return np.asarray((self.sizes[:, None] * self.noise) ** 2 + noise**2)

    @property
    def largest(self) -> int:
        """Which anchor is the largest in scale, and then in work."""
        return self.directions.last

    def geometry(self) -> dict[str, Any]:
        """Return what depends on the anchors alone, as plain values: with it a page does what `forecast` does.

        Whitened directions (`whiten`, `own`, `one`), the anchors' `coordinates` and `works`, where the walk starts
        (`start`), which anchor is the largest (`last`), and whether all lie on one node (`onOneNode`).
        """
        g = self.directions
        arrays = {
            "coordinates": g.coordinates,
            "whiten": g.whiten,
            "own": g.variances,
            "one": g.one,
            "start": self._start,
        }
        plain = {name: array.tolist() for name, array in arrays.items()}
        return {**plain, "works": self.work_of(self.anchors).tolist(), "last": g.last, "onOneNode": self.on_one_node}

    def with_sizes(self, sizes: Array) -> Walk:
        """Return the walk with other sizes; the directions, which do not depend on them, are not worked out again."""
        walk = replace(self, sizes=sizes)
        if self.offsets is None:
            vars(walk)["directions"] = self.directions
        return walk

    def kept(self, draws: npt.NDArray[Any]) -> Walk:
        """Return the walk of some of the draws, by position or mask."""
        offsets = None if self.offsets is None else self.offsets[draws]
        return replace(self, sizes=self.sizes[draws], offsets=offsets)

    @property
    def borrowed(self) -> dict[str, Array]:
        """The factors' values at the borrowed anchors; nothing without such."""
        if self.offsets is None:
            return {}
        return {name: values[len(values) - self.offsets.shape[1] :] for name, values in self.anchors.items()}

    @cached_property
    def _at_anchors(self) -> Array:
        """The ln seconds at the anchors, shape (anchors,), or (draws, anchors) where some are borrowed."""
        if self.offsets is None:
            return self.logarithms
        measured = len(self.logarithms) - self.offsets.shape[1]
        return self.logarithms + np.pad(self.offsets, ((0, 0), (measured, 0)))

    @cached_property
    def directions(self) -> Directions:
        """What depends on the anchors alone: directions in which covariances are diagonal."""
        here = self._coordinates(self.anchors)
        borrowed = 0 if self.offsets is None else self.offsets.shape[1]
        noise = np.r_[np.full(len(here) - borrowed, self.noise**2), np.full(borrowed, EXACT * self.noise**2)]
        K = self._covariance(here, here) + np.diag(noise)
        lower = np.linalg.inv(np.linalg.cholesky(K))
        # In the directions Q the walk (times s²) and the anchors' own variances are both diagonal.
        variances, Q = np.linalg.eigh(lower @ (self.variances[:, None] * lower.T))
        whiten = Q.T @ lower
        constant = float(np.log(np.diag(lower)).sum() - 0.5 * (len(here) - 1) * np.log(2.0 * np.pi))
        order = np.lexsort((self.work_of(self.anchors), here[:, 0]))
        return Directions(here, whiten, np.maximum(variances, 0.0), whiten.sum(axis=1), constant, int(order[-1]))

    def work_of(self, columns: Mapping[str, Any]) -> Array:
        """Return the work of one worker, up to a constant, shape (rows,)."""
        rows = len(next(iter(columns.values())))
        return np.broadcast_to(np.asarray(parse(self.work).evaluate(columns), float), (rows,))

    def _coordinates(self, columns: Mapping[str, Any]) -> Array:
        return np.stack([np.log2(np.asarray(parse(a).evaluate(columns), float)) for a in self.axes], axis=1)

    def _covariance(self, a: Array, b: Array) -> Array:
        """Return the walk's covariance for s = 1: from the first anchor on, both ways, along each axis by itself."""
        start = self._start
        x, y = a[:, None, :] - start, b[None, :, :] - start
        return np.asarray(0.5 * self.step**2 * np.sum(np.abs(x) + np.abs(y) - np.abs(x - y), axis=2))

    @cached_property
    def _start(self) -> Array:
        return np.asarray(self._coordinates(self.anchors).min(axis=0))

    def doublings_beyond(self, columns: Mapping[str, Any]) -> Array:
        """Return how many doublings each row lies outside the anchors, along an axis or in a worker's work."""
        here = np.column_stack([self.directions.coordinates, np.log2(self.work_of(self.anchors))])
        asked = np.column_stack([self._coordinates(columns), np.log2(self.work_of(columns))])
        outside = np.maximum(asked - here.max(axis=0), here.min(axis=0) - asked)
        return np.asarray(np.maximum(outside, 0.0).max(axis=1))

    def _most_growth(self, columns: Mapping[str, Any]) -> Array:
        last = self.directions.last
        grown = self._coordinates(columns)[:, 0] - self.directions.coordinates[last, 0]
        work = np.log(self.work_of(columns) / self.work_of(self.anchors)[last])
        guarded = (grown > 0.0) & ~(self.on_one_node & (self._nodes_of(columns) > 1.0))
        return np.where(guarded, grown * np.log(2.0) + np.maximum(work, 0.0), np.inf)

    @cached_property
    def on_one_node(self) -> bool:
        """Whether every anchor lies on one node."""
        return bool(np.all(self._nodes_of(self.anchors) <= 1.0))

    def _nodes_of(self, columns: Mapping[str, Any]) -> Array:
        rows = len(next(iter(columns.values())))
        return np.broadcast_to(np.asarray(parse(self.nodes).evaluate(columns), float), (rows,))


@dataclass(frozen=True, eq=False)
class Directions:
    """Whitened directions, in which the walk's covariance and the anchors' variances are both diagonal.

    Attributes
    ----------
    coordinates : ndarray of shape (anchors, axes)
        log2 of the axes' values.
    whiten : ndarray of shape (anchors, anchors)
        Turns values at the anchors into the directions.
    variances : ndarray of shape (anchors,)
        The anchors' variances along the directions, over the walk's.
    one : ndarray of shape (anchors,)
        A level of one along the directions.
    constant : float
        The part of the log-density that no curve changes.
    last : int
        The anchor largest in scale, and then in work.
    """

    coordinates: Array
    whiten: Array
    variances: Array
    one: Array
    constant: float
    last: int
