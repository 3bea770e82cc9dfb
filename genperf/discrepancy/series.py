"""The discrepancy of a series: a random walk on ln T about its expression, and its limits beyond the data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from genperf.arrays import AnyArray, Array, Columns
from genperf.formula import parse, values_of
from genperf.panel.panel import several_nodes

#: Share of a configuration's noise at an anchor that every draw passes through: nothing but a safeguard of rounding.
EXACT = 1e-6
#: Layouts of series whose whitened directions are kept.
KEPT_GEOMETRIES = 64
#: Columns, their numbers as bytes.
Cells = tuple[tuple[str, bytes], ...]


class RandomWalk(msgspec.Struct, frozen=True, tag="random-walk", forbid_unknown_fields=True):
    """A random walk along each axis, in doublings, independent between the axes.

        cov(w(x), w(y)) = ½·step²·Σ_a (|x_a − o_a| + |y_a − o_a| − |x_a − y_a|),   x_a = log2 of axis a

    The walk starts at the origin o, the smallest measured coordinate of each axis, and goes both ways from there.

    >>> walk = RandomWalk(("workers",), 0.1, (0.0,))
    >>> walk.covariance({"workers": np.array([4.0])}, {"workers": np.array([2.0, 4.0, 8.0])}).round(3)
    array([[0.01, 0.02, 0.02]])
    """

    axes: tuple[str, ...]  #: Formulas over the factors. The first is the scale.
    step: float  #: Standard deviation of ln T per doubling.
    origin: tuple[float, ...]  #: log2 of each axis where the walk starts.

    def covariance(self, a: Columns, b: Columns) -> Array:
        """Return the covariance between two lists of configurations, shape (rows of a, rows of b)."""
        x, y = self._away(a)[:, None, :], self._away(b)[None, :, :]
        return np.asarray(0.5 * self.step**2 * np.sum(np.abs(x) + np.abs(y) - np.abs(x - y), axis=2))

    def variance(self, columns: Columns) -> Array:
        """Return the diagonal of the covariance, shape (rows,)."""
        return np.asarray(self.step**2 * np.sum(np.abs(self._away(columns)), axis=1))

    def _away(self, columns: Columns) -> Array:
        """Return how far rows are from where the walk starts, shape (rows, axes)."""
        return np.asarray(np.log2(evaluated(self.axes, columns)) - np.array(self.origin))


def evaluated(formulas: Sequence[str], columns: Columns) -> Array:
    """Return the values of formulas over the factors, shape (rows, formulas)."""
    # Most are the name of a column.
    values = [columns[text] if text in columns else values_of(parse(text).node, columns) for text in formulas]
    return np.stack(values, axis=1, dtype=float)


def walk_from(axes: tuple[str, ...], step: float, anchors: Columns) -> RandomWalk:
    """Return the walk that starts at the smallest measured configuration."""
    return RandomWalk(axes, step, tuple(np.log2(evaluated(axes, anchors)).min(axis=0).tolist()))


class Extrapolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits and doubts beyond the anchors of a series.

    A curve grows from the largest anchor at most in proportion to the scale, times the growth of one worker's work: a
    single serial resource is the worst case. Where every anchor lies on one node, nothing bounds what the network costs
    beyond it. Beyond the anchors the slope of ln T per doubling is uncertain.
    """

    axes: tuple[str, ...]  #: Formulas over the factors, along which the series was measured. The first is the scale.
    work: str  #: Formula of one worker's work, up to a constant.
    slope: float  #: Standard deviation of the slope of ln T per doubling.
    nodes: str = "1"  #: Formula of the number of nodes; "1" where it is not known.
    quietest: float = 1.0  #: The slope of a draw of a smaller scale is as uncertain as that of this scale.
    mean: float = 0.0  #: Mean of the slope towards larger values of the axes, in its standard deviations.


class Discrepancy(msgspec.Struct, frozen=True, eq=False, dict=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an expression cannot say: the distance of the truth from its curve, learned at the anchors.

        ln T(x) = f(x) + θ + s·w(x) + s·ν·e(x),   cov(w(x), w(y)) = κ(x, y),   var(e) = 1

    f is the logarithm of the expression, κ the kernel, e independent between configurations. An anchor's value has
    a variance of its own beside that (its repeats, or what was borrowed), which is not multiplied by s².

    The anchors hold ln T. Each draw of the constants has a curve f and a scale s. The level θ is integrated
    out with a flat prior: only the shape of f counts. This is universal kriging: the mean passes from the anchors
    to the shape of the curve beyond them.

    A flat curve, measured at 1, 2 and 4, with 10 % per doubling:

    >>> walk, limits, zero = RandomWalk(("n",), 0.1, (0.0,)), Extrapolation(("n",), "1", 0.0), np.zeros(3)
    >>> flat = Discrepancy(walk, {"n": np.array([1.0, 2.0, 4.0])}, zero, zero, 0.01, np.ones(1), limits)
    >>> mean, variance = flat.forecast({"n": np.array([8.0, 16.0])}, np.zeros((1, 3)), np.zeros((1, 2)))
    >>> mean.round(3), np.sqrt(variance).round(3)
    (array([[0., 0.]]), array([[0.1  , 0.142]]))
    """

    kernel: RandomWalk
    #: Shape (anchors,). The factors where the process was measured: numbers, or labels of levels.
    anchors: dict[str, Array]
    logarithms: Array  #: Shape (anchors,). ln T.
    variances: Array  #: Shape (anchors,). The anchors' own variances of ln T.
    noise: float  #: ν: standard deviation of one configuration, in units of s.
    #: Shape (draws,). s.
    scales: Array
    extrapolation: Extrapolation
    #: Shape (draws, borrowed). Where the last anchors are borrowed from other series: what is added to their ln T in
    #: each draw. Every draw passes through them exactly, so that there the draws spread as what was borrowed.
    offsets: Array | None = None

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that the discrepancy depends on."""
        return tuple(sorted({name for axis in self.kernel.axes for name in parse(axis).names}))

    def forecast(self, columns: Columns, at_anchors: Array, curve: Array) -> tuple[Array, Array]:
        """Return the mean and variance of ln T for each draw, without the noise of a new run; shape (draws, rows).

            mean = f(x) + θ + kᵀ·G·Q·(y − f − θ) + mean slope,   θ the weighted mean of y − f at the anchors
            variance = s²·(κ − kᵀ·G·k) + m²/precision + slope²        (`covariance`, `geometry`)

        f is given at the anchors, shape (draws, anchors), and as `curve` at the rows, shape (draws, rows).
        """
        there, (whiten, _, row_sums) = self._at(columns), self.geometry
        total, near, gain, mean_weight, precision = self._solved(there, self.scales)
        # What a draw adds to ln T at its borrowed anchors, (draws, anchors): nothing at the measured ones before.
        borrowed = 0.0 if self.offsets is None else np.pad(self.offsets, ((0, 0), (self._measured, 0)))
        # A curve that is zero at an anchor has no level: NaN.
        with np.errstate(invalid="ignore"):
            residual = (self.logarithms + borrowed - at_anchors) @ whiten.T
            level = (residual / total) @ row_sums / precision
            mean = curve + level[:, None]
            mean += (gain * (residual - level[:, None] * row_sums)) @ near
        mean += self.extrapolation.mean * self._slope(there.ahead, self.scales)
        variance = self.scales[:, None] ** 2 * (there.variance - gain @ near**2)
        variance += mean_weight**2 / precision[:, None]
        return mean, np.maximum(variance, 0.0) + self._slope(there.beyond, self.scales) ** 2

    def limited(self, columns: Columns, at_anchors: Array, curve: Array) -> Array:
        """Return `curve` at some rows, (draws, rows), growing no more than in proportion to the scale: `Extrapolation`.

        `at_anchors` has the same curves at the anchors, shape (draws, anchors).
        """
        there = self._at(columns)
        largest = at_anchors[:, there.largest, None]
        # A draw whose curve is zero at the anchors (-inf) is limited nowhere, also where growth is not (inf).
        limit = np.add(largest, there.growth, out=np.full(curve.shape, np.inf), where=np.isfinite(largest))
        return np.asarray(np.minimum(curve, limit))

    def covariance(self, columns: Columns, scales: Array) -> Array:
        """Return the covariance of ln T between rows, shape (scales, rows, rows); its diagonal is `forecast`'s.

            s²·(κ − kᵀ·G·k) + m·mᵀ + b·bᵀ,   m = (1 − kᵀ·G·1)/√precision

        with the whitened covariances k between the anchors and the rows, their gains G = diag(s²/(s² + variance)), the
        uncertain level, of which rows keep m, and b the uncertain slope beyond the anchors.
        """
        there = self._at(columns)
        _, k, gain, mean_weight, precision = self._solved(there, scales)
        m, b = mean_weight / np.sqrt(precision)[:, None], self._slope(there.beyond, scales)
        explained = (gain[:, None, :] * k.T) @ k
        spread = scales[:, None, None] ** 2 * (self.kernel.covariance(columns, columns) - explained)
        return np.asarray(spread + m[:, :, None] * m[:, None, :] + b[:, :, None] * b[:, None, :])

    def run_variance(self, noise: float) -> Array:
        """Return the variance of ln T that a new run adds, shape (draws, 1); `noise` is that of repeats."""
        return np.asarray((self.scales[:, None] * self.noise) ** 2 + noise**2)

    def kept(self, draws: AnyArray) -> Discrepancy:
        """Return the discrepancy of some of the draws, by position or mask."""
        offsets = None if self.offsets is None else self.offsets[draws]
        return msgspec.structs.replace(self, scales=self.scales[draws], offsets=offsets)

    @property
    def borrowed(self) -> dict[str, Array]:
        """The factors at the borrowed anchors; nothing without such."""
        if self.offsets is None:
            return {}
        return {name: values[self._measured :] for name, values in self.anchors.items()}

    @property
    def _measured(self) -> int:
        """The number of anchors that are not borrowed."""
        return len(self.logarithms) - (0 if self.offsets is None else self.offsets.shape[1])

    @property
    def geometry(self) -> tuple[Array, Array, Array]:
        """What `_geometry` keeps of the anchors, whose numbers are its keys as bytes."""
        return _geometry(*self._layout, self.variances.tobytes(), self.noise, self._measured)

    @cached_property
    def _layout(self) -> tuple[RandomWalk, Cells]:
        """The kernel and the anchors' numbers as bytes: what `_geometry` and `_rows` read of every such series."""
        return self.kernel, _cells(self.anchors, self.anchors)

    def _at(self, columns: Columns) -> PlacedRows:
        """Return the covariance of some rows with the anchors, and how far beyond these they lie."""
        return _rows(*self._layout, self.extrapolation, _cells(columns, self.anchors))

    def _solved(self, there: PlacedRows, scales: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return what `forecast` and `covariance` have in common, at some scales s.

        - s² + V, the variances of the whitened residuals, (scales, anchors)
        - k = Q·K(anchors, rows), (anchors, rows), and the gains G = s²/(s² + V), (scales, anchors)
        - m = 1 − kᵀ·G·Q·1, what a row keeps of the level's error, (scales, rows), and the level's precision, (scales,)
        """
        whiten, variances, row_sums = self.geometry
        total = scales[:, None] ** 2 + variances
        near = whiten @ there.near
        gain = scales[:, None] ** 2 / total
        return total, near, gain, 1.0 - (gain * row_sums) @ near, (1.0 / total) @ row_sums**2

    def _slope(self, far: Array, scales: Array) -> Array:
        """Return the standard deviation that the unknown slope beyond the anchors adds, shape (scales, rows)."""
        return np.asarray(np.maximum(scales, self.extrapolation.quietest)[:, None] * self.extrapolation.slope * far)


class PlacedRows(NamedTuple):
    """Where some rows lie beside the anchors, which series with the same counts share."""

    #: Shape (anchors, rows), (rows,). Covariance with the anchors, and variance.
    near: Array
    variance: Array
    #: Shape (rows,). Doublings beyond the anchors, and above them.
    beyond: Array
    ahead: Array
    #: Place of the anchor that is the largest in scale and then in work; the most that ln of a curve may grow from it.
    largest: int
    growth: Array


def _cells(columns: Columns, anchors: Columns) -> Cells:
    """Return the columns of numbers at anchors as bytes, which can be compared at once."""
    names = [name for name, cells in anchors.items() if cells.dtype != object and name in columns]
    return tuple((name, np.asarray(columns[name], float).tobytes()) for name in names)


@lru_cache(maxsize=KEPT_GEOMETRIES)
def _rows(kernel: RandomWalk, at_anchors: Cells, extrapolation: Extrapolation, at_rows: Cells) -> PlacedRows:
    """Return how far rows lie from the anchors of a series; the columns of both are given by their bytes."""
    anchors, rows = ({name: np.frombuffer(cells) for name, cells in at} for at in (at_anchors, at_rows))
    formulas = (*extrapolation.axes, extrapolation.work, extrapolation.nodes)
    of_runs, of_rows = evaluated(formulas, anchors), evaluated(formulas, rows)
    at_runs, positions = np.log2(of_runs[:, :-1]), np.log2(of_rows[:, :-1])
    ahead = np.maximum(positions - at_runs.max(axis=0), 0.0)
    beyond = np.maximum(ahead, at_runs.min(axis=0) - positions).max(axis=1)
    # The last key is the first to sort by: the scale, then the work.
    largest = int(np.lexsort((at_runs[:, -1], at_runs[:, 0]))[-1])
    from_largest = (positions - at_runs[largest]) * np.log(2.0)
    # The last formula is the number of nodes.
    leaves_node = ~np.any(several_nodes(of_runs[:, -1])) & several_nodes(of_rows[:, -1])
    bounded = (from_largest[:, 0] > 0.0) & ~leaves_node
    # ln of the growth of the scale times that of the work, which bounds nothing where it falls.
    growth = np.where(bounded, from_largest[:, 0] + np.maximum(from_largest[:, -1], 0.0), np.inf)
    near = kernel.covariance(anchors, rows)
    return PlacedRows(near, kernel.variance(rows), beyond, ahead.max(axis=1), largest, growth)


@lru_cache(maxsize=KEPT_GEOMETRIES)
def _geometry(
    kernel: RandomWalk, at_anchors: Cells, variances: bytes, noise: float, measured: int
) -> tuple[Array, Array, Array]:
    """Return Q, the diagonal of Q·V·Qᵀ, and Q·1, of shapes (anchors, anchors), (anchors,) and (anchors,).

        Q·(K + ν²·I)·Qᵀ = I,   cov(y) = s²·(K + ν²·I) + V,   V = diag(variances)

    In these directions both parts of the anchors' covariance are diagonal. ν² is that of the first anchors, which were
    `measured`; draws pass through the borrowed ones behind. With the Cholesky factor C of K + ν²·I, Q = Uᵀ·C⁻¹ has the
    eigenvectors U of C⁻¹·V·C⁻ᵀ.
    """
    anchors, at_variances = {name: np.frombuffer(cells) for name, cells in at_anchors}, np.frombuffer(variances)
    share = np.where(np.arange(len(at_variances)) < measured, 1.0, EXACT)
    covariance = kernel.covariance(anchors, anchors) + np.diag(noise**2 * share)
    lower = np.linalg.inv(np.linalg.cholesky(covariance))
    sizes, U = np.linalg.eigh(lower @ (at_variances[:, None] * lower.T))
    whiten = U.T @ lower
    return whiten, np.maximum(sizes, 0.0), whiten.sum(axis=1)
