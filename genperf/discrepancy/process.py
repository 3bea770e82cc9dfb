"""The discrepancy: a Gaussian process on ln T whose mean is the expression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.discrepancy.extrapolation import Anchors, Extrapolation
from genperf.discrepancy.kernels import Kernel

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Any]

#: Share of a configuration's noise at an anchor that every draw passes through: nothing but a safeguard of rounding.
EXACT = 1e-6


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

    >>> from genperf.discrepancy.kernels import RandomWalk
    >>> walk = RandomWalk(("n",), 0.1, (0.0,))
    >>> zero = np.zeros(3)
    >>> flat = Discrepancy(walk, {"n": np.array([1.0, 2.0, 4.0])}, zero, zero, 0.01, np.ones(1))
    >>> mean, variance = flat.forecast({"n": np.array([8.0, 16.0])}, np.zeros((1, 3)), np.zeros((1, 2)))
    >>> mean.round(3), np.sqrt(variance).round(3)
    (array([[0., 0.]]), array([[0.1  , 0.142]]))
    """

    kernel: Kernel
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

    def log_density(self, curve: Array, scales: Array) -> Array:
        """Return the log-density of the anchors, the level integrated out, shape (draws,).

        Parameters
        ----------
        curve : ndarray of shape (draws, anchors)
            f at the anchors.
        scales : ndarray of shape (draws,)
        """
        g = self.geometry
        residual = (self.logarithms - curve) @ g.whiten.T
        total = scales[:, None] ** 2 + g.variances
        along = (residual / total) @ g.ones
        precision = (1.0 / total) @ g.ones**2
        square = np.sum(residual * residual / total, axis=1) - along * along / precision
        return np.asarray(g.constant - 0.5 * (square + np.sum(np.log(total), axis=1) + np.log(precision)))

    def level(self, curve: Array, scales: Array) -> tuple[Array, Array]:
        """Return the level θ of each draw and its variance, each of shape (draws,).

        Parameters
        ----------
        curve : ndarray of shape (draws, anchors)
        scales : ndarray of shape (draws,)
        """
        g = self.geometry
        total = scales[:, None] ** 2 + g.variances
        precision = (1.0 / total) @ g.ones**2
        # A curve that is zero at an anchor has no level: NaN.
        with np.errstate(invalid="ignore"):
            residual = (self._targets - curve) @ g.whiten.T
        return np.asarray((residual / total) @ g.ones / precision), np.asarray(1.0 / precision)

    def at_rows(self, columns: Columns) -> AtRows:
        """Return what a forecast of a series needs of the rows, whatever the draws and the noise are.

        Discrepancies with the same kernel, anchors and extrapolation can share it.
        """
        rows = len(next(iter(columns.values())))
        doublings, growth = np.zeros(rows), np.full(rows, np.inf)
        if self.extrapolation is not None:
            doublings, growth = self.extrapolation.beyond(self._ends, columns)
        return AtRows(self._across(columns), self.kernel.variance(columns), doublings, growth)

    def forecast(
        self,
        columns: Columns,
        at_anchors: Array,
        curve: Array,
        at_rows: AtRows | None = None,
    ) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for each draw, without the noise of a new run.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            The factors where the forecast is made.
        at_anchors, curve : ndarray of shape (draws, anchors) and (draws, rows)
            f at the anchors and at the rows, per draw.
        at_rows : AtRows, optional
            Of the rows, where it is known from another discrepancy.

        Returns
        -------
        mean, variance : ndarray of shape (draws, rows)
            Of ln T per draw.
        """
        g, gain, at_rows = self.geometry, self._gain, at_rows or self.at_rows(columns)
        curve = self._limited(at_rows.growth, at_anchors, curve)
        theta, theta_variance = self.level(at_anchors, self.scales)
        with np.errstate(invalid="ignore"):
            residual = (self._targets - at_anchors - theta[:, None]) @ g.whiten.T
        near = g.whiten @ at_rows.across
        square = self.scales[:, None] ** 2
        mean = curve + theta[:, None] + (gain * residual) @ near
        unexplained = 1.0 - (gain * g.ones) @ near
        variance = square * (at_rows.variance - gain @ near**2) + unexplained**2 * theta_variance[:, None]
        return mean, np.maximum(variance, 0.0) + self._slope(at_rows.doublings) ** 2

    def covariance(self, columns: Columns) -> Array:
        """Return the covariance of ln T between rows, shape (draws, rows, rows); its diagonal is `forecast`'s."""
        g, gain = self.geometry, self._gain
        at_rows = self.at_rows(columns)
        near = g.whiten @ at_rows.across
        explained = np.einsum("da,ar,as->drs", gain, near, near, optimize=True)
        spread = self.scales[:, None, None] ** 2 * (self.kernel.covariance(columns, columns) - explained)
        total = self.scales[:, None] ** 2 + g.variances
        level = (1.0 - (gain * g.ones) @ near) / np.sqrt((1.0 / total) @ g.ones**2)[:, None]
        slope = self._slope(at_rows.doublings)
        return np.asarray(spread + level[:, :, None] * level[:, None, :] + slope[:, :, None] * slope[:, None, :])

    def run_variance(self, noise: float) -> Array:
        """Return the variance of ln T that a new run adds, shape (draws, 1); `noise` is that of repeats."""
        return np.asarray((self.scales[:, None] * self.noise) ** 2 + noise**2)

    @property
    def largest(self) -> int:
        """Which anchor of a series is the largest in scale, and then in work."""
        return self._ends.largest

    def doublings_beyond(self, columns: Columns) -> Array:
        """Return how many doublings each row lies beyond the anchors of a series, shape (rows,)."""
        return self.at_rows(columns).doublings

    def with_scales(self, scales: Array) -> Discrepancy:
        """Return the discrepancy of draws with other scales; what depends on the anchors alone is kept."""
        scaled = self._changed(scales=scales)
        if self.offsets is None:
            vars(scaled)["geometry"] = self.geometry
        return scaled

    def with_noise(self, noise: float) -> Discrepancy:
        """Return the discrepancy of the same kernel and anchors with another noise."""
        return self._changed(noise=noise)

    def _changed(self, **fields: Any) -> Discrepancy:
        """Return the discrepancy with other fields, which the ends of a series do not depend on."""
        changed = msgspec.structs.replace(self, **fields)
        if self.extrapolation is not None:
            vars(changed)["_ends"] = self._ends
        return changed

    def standing(self, stands: Mapping[str, Mapping[str, str]]) -> Discrepancy:
        """Return the discrepancy that reads a measured level where another stands.

        Parameters
        ----------
        stands : mapping of str to mapping of str to str
            By factor: a level that is no anchor's → the measured one.
        """
        changed = self._changed(kernel=self.kernel.standing(stands))
        vars(changed)["geometry"] = self.geometry
        return changed

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
        constant = float(np.log(np.diag(lower)).sum() - 0.5 * (count - 1) * np.log(2.0 * np.pi))
        if not self.variances.any():
            return Geometry(lower, np.zeros(count), lower.sum(axis=1), constant)
        # In the directions Q the process (times s²) and the anchors' own variances are both diagonal.
        variances, Q = np.linalg.eigh(lower @ (self.variances[:, None] * lower.T))
        whiten = Q.T @ lower
        return Geometry(whiten, np.maximum(variances, 0.0), whiten.sum(axis=1), constant)

    @cached_property
    def _ends(self) -> Anchors:
        """What the extrapolation needs of the anchors of a series."""
        assert self.extrapolation is not None
        return self.extrapolation.at(self.anchors)

    @cached_property
    def _targets(self) -> Array:
        """The logarithms at the anchors, shape (anchors,), or (draws, anchors) where some are borrowed."""
        if self.offsets is None:
            return self.logarithms
        measured = len(self.logarithms) - self.offsets.shape[1]
        return self.logarithms + np.pad(self.offsets, ((0, 0), (measured, 0)))

    @property
    def _gain(self) -> Array:
        """The share of each whitened residual that belongs to the process, shape (draws, anchors)."""
        square, variances = self.scales[:, None] ** 2, self.geometry.variances
        return np.divide(square, square + variances, out=np.ones((len(square), len(variances))), where=variances > 0.0)

    def _across(self, columns: Columns) -> Array:
        return self.kernel.covariance(self.anchors, columns)

    def _limited(self, growth: Array, at_anchors: Array, curve: Array) -> Array:
        """Return the curve, beyond the anchors no higher than it may grow."""
        if self.extrapolation is None:
            return curve
        largest = at_anchors[:, self.largest, None]
        # A draw whose curve is zero at the anchors (-inf) is limited nowhere, also where growth is not (inf).
        limit = np.add(largest, growth, out=np.full(curve.shape, np.inf), where=np.isfinite(largest))
        return np.asarray(np.minimum(curve, limit))

    def _slope(self, doublings: Array) -> Array:
        """Return the standard deviation that the unknown slope beyond the anchors adds, shape (draws, rows)."""
        slope = 0.0 if self.extrapolation is None else self.extrapolation.slope
        return np.asarray(np.maximum(self.scales, 1.0)[:, None] * slope * doublings)


class AtRows(msgspec.Struct, frozen=True, eq=False):
    """What a forecast of a series needs of its rows, whatever the draws and the noise are."""

    #: Shape (anchors, rows). Covariances of the kernel.
    across: Array
    #: Shape (rows,). Of the kernel.
    variance: Array
    #: Shape (rows,). See `Extrapolation.beyond`.
    doublings: Array
    growth: Array


class Geometry(msgspec.Struct, frozen=True, eq=False):
    """Whitened directions, in which the process and the anchors' own variances are both diagonal."""

    #: Shape (anchors, anchors).
    whiten: Array
    #: Shape (anchors,). The anchors' own variances in these directions, in units of s².
    variances: Array
    #: Shape (anchors,). A level of 1 at every anchor.
    ones: Array
    #: What the log-density holds of the anchors alone.
    constant: float
