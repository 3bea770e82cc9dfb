"""What the counts of a series determine, whatever its times: curves and whitening, once for all series alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from genperf.growth.bank import CONSTANT, Bank

Array = npt.NDArray[np.float64]
#: What the overheads' formulas in `genperf.models` are divided by to have the size one: eight workers, nine nodes.
UNITS = (1.0, 1.0, 49.0, 1.0, 1.0, 1.0, 8.0, 1.0)
#: Width of a bin of means, over the least standard deviation of the forecasts in it.
BIN = 0.4
#: Targets that a layout keeps: 1 MB for each count.
TARGETS = 4


def shapes(workers: Array, nodes: Array) -> Array:
    """Return the overheads of size one, in the order of the prior, shape (overheads, counts).

    Parameters
    ----------
    workers, nodes : ndarray of shape (counts,)
        n workers on m nodes, g = n/m on each.

    Examples
    --------
    >>> shapes(np.array([8.0, 16.0]), np.array([1.0, 2.0])).round(3)[:4]
    array([[0.875, 0.875],
           [3.   , 4.   ],
           [1.   , 1.   ],
           [0.   , 1.   ]])
    """
    n, m = np.asarray(workers, float), np.asarray(nodes, float)
    g = n / m
    return np.stack(
        [
            np.maximum(1.0 - 1.0 / g, 0.0),
            np.log2(n),
            (g - 1.0) ** 2 / UNITS[2],
            np.where(m > 1.0, 1.0, 0.0),
            1.0 - 1.0 / m,
            np.log2(m),
            (m - 1.0) / UNITS[6],
            np.ones_like(n),
        ]
    )


@dataclass(frozen=True, eq=False)
class Counts:
    """Where a series is measured or asked about."""

    #: Shape (counts,).
    workers: Array
    nodes: Array
    #: Shape (counts,). Of one worker, over that at the largest measured count.
    work: Array

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Counts:
        """Return some of the counts."""
        return Counts(self.workers[rows], self.nodes[rows], self.work[rows])

    @property
    def key(self) -> bytes:
        """Equal for equal counts."""
        return np.stack([self.workers, self.nodes, self.work]).round(9).tobytes()


@dataclass(frozen=True, eq=False)
class Target:
    """What a forecast at some counts needs, whatever the times of the series are.

    A component is a walk with a curve: its mean is gains·ln T + shape, its variance that of its walk.
    """

    #: Shape (walks, curves, counts).
    shape: Array
    #: Shape (walks, measured, counts). Weights of the measured logarithms; they add up to one.
    gains: Array
    #: Shape (walks, counts, counts). Of ln T, without the noise of a new run.
    covariances: Array
    _bins: dict[bytes, tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]] = field(default_factory=dict)

    def bins(self, at: int, sd: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Put near means of each walk together at one count; the same deviations are prepared once.

        Parameters
        ----------
        sd : ndarray of shape (walks,)
            Of the forecasts: a bin is a part of it wide.

        Returns
        -------
        place : ndarray of shape (walks * curves,)
            The bin of each component.
        walk : ndarray of shape (bins,)
            The walk of each bin.
        """
        key = np.r_[float(at), sd].tobytes()
        if key not in self._bins:
            means = self.shape[:, :, at]
            place = ((means - means.min(axis=1)[:, None]) / (BIN * sd)[:, None]).astype(np.intp)
            size = place.max(axis=1) + 1
            place += (np.cumsum(size) - size)[:, None]
            self._bins[key] = place.ravel(), np.repeat(np.arange(len(size)), size)
        return self._bins[key]


class Layout:
    """The counts of a series, and what depends on them alone.

    Parameters
    ----------
    counts : Counts
        The largest last.
    variances : ndarray of shape (counts,)
        Of ln T, as repeats show them.
    """

    def __init__(self, bank: Bank, counts: Counts, variances: Array) -> None:
        self.bank, self.counts, self.variances = bank, counts, variances
        self.constant = bool(np.ptp(counts.work) > 1e-9)
        self.curves = self.logarithms(counts)
        # What varies at one and the same count of workers is an axis of its own.
        alike = len(np.unique(counts.workers)) < len(counts.workers)
        self._beside = [alike and _varies(counts.workers, each) for each in (counts.nodes, counts.work)]
        self.x = self.coordinates(counts)
        self.origin = self.x.min(axis=0)
        self._targets: dict[bytes, Target] = {}
        self._walks = [
            _Walk(step, self.covariance(self.x, self.x, step) + np.diag((step * noise) ** 2 + variances))
            for step, noise in zip(bank.prior.walk_step, bank.prior.walk_noise, strict=True)
        ]
        self.residuals = [self.curves @ walk.projected.T for walk in self._walks]
        self.squares = np.array([0.5 * np.einsum("ca,ca->c", r, r) for r in self.residuals])

    def logarithms(self, counts: Counts) -> Array:
        """Return ln(work + overheads) of every curve, shape (curves, counts)."""
        last = CONSTANT + self.constant
        return np.asarray(np.log(counts.work + self.bank.sizes[:, :last] @ shapes(counts.workers, counts.nodes)[:last]))

    def coordinates(self, counts: Counts) -> Array:
        """Return log₂ of the axes of the walk, shape (counts, axes)."""
        beside = (each for each, used in zip((counts.nodes, counts.work), self._beside, strict=True) if used)
        return np.log2(np.stack([counts.workers, *beside], axis=1))

    def covariance(self, x: Array, z: Array, step: float) -> Array:
        """Return the covariance of a walk from the smallest count, which goes both ways."""
        a, b = (x - self.origin)[:, None, :], (z - self.origin)[None, :, :]
        return np.asarray(0.5 * step**2 * np.sum(np.abs(a) + np.abs(b) - np.abs(a - b), axis=2))

    def log_densities(self, logarithms: Array) -> Array:
        """Return the log-density of ln T of some series, the level integrated out, shape (series, walks, curves).

        Parameters
        ----------
        logarithms : ndarray of shape (series, counts)
        """
        out = np.empty((len(logarithms), *self.squares.shape))
        for w, (walk, residual) in enumerate(zip(self._walks, self.residuals, strict=True)):
            y = logarithms @ walk.projected.T
            np.matmul(y, residual.T, out=out[:, w])
            out[:, w] += (walk.constant - 0.5 * np.sum(y**2, axis=1))[:, None]
        out -= self.squares
        return out

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The curves from the flattest to the steepest, as they grow to twice the workers on twice the nodes."""
        last = self.counts.take(np.array([len(self.curves[0]) - 1]))
        there = self.logarithms(Counts(2.0 * last.workers, 2.0 * last.nodes, last.work))
        return np.argsort(there[:, 0] - self.curves[:, -1], kind="stable")

    def level(self, logarithms: Array, walk: npt.NDArray[np.intp], curve: npt.NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the level of ln T of some components, and its standard deviation, each of shape (components,)."""
        rows = np.stack([each.white.T @ each.level / each.precision for each in self._walks])[walk]
        sd = np.array([each.precision**-0.5 for each in self._walks])
        return np.sum(rows * (logarithms - self.curves[curve]), axis=1), sd[walk]

    def target(self, counts: Counts) -> Target:
        """Return what a forecast at other counts needs; the same counts are prepared once."""
        if counts.key not in self._targets:
            if len(self._targets) >= TARGETS:
                self._targets.clear()
            self._targets[counts.key] = self._target(counts)
        return self._targets[counts.key]

    def _target(self, counts: Counts) -> Target:
        """Prepare a forecast: universal kriging of each walk."""
        x, slope = self.coordinates(counts), self.bank.prior.settings.slope
        # In work as well: a batch that was not measured is far too.
        there, here = (np.column_stack([at, np.log2(of.work)]) for at, of in ((x, counts), (self.x, self.counts)))
        beyond = np.maximum(np.maximum(there - here.max(axis=0), here.min(axis=0) - there), 0.0).max(axis=1)
        curves = self.logarithms(counts)
        shape, gains, covariances = [], [], []
        for walk in self._walks:
            near = walk.white @ self.covariance(self.x, x, walk.step)
            rest = 1.0 - walk.level @ near
            gain = walk.white.T @ (near + np.outer(walk.level, rest) / walk.precision)
            left = self.covariance(x, x, walk.step) - near.T @ near + np.outer(rest, rest) / walk.precision
            shape.append(curves - self.curves @ gain)
            gains.append(gain)
            covariances.append(left + (slope * walk.step) ** 2 * np.outer(beyond, beyond))
        return Target(np.stack(shape), np.stack(gains), np.stack(covariances))


def _varies(workers: Array, values: Array) -> bool:
    """Tell whether values vary at one and the same count of workers."""
    return any(float(np.ptp(values[workers == n])) > 1e-9 for n in np.unique(workers))


@dataclass(frozen=True, eq=False)
class _Walk:
    """A walk at the measured counts: whitened, and whitened without the level."""

    step: float
    matrix: Array
    white: Array = field(init=False)
    level: Array = field(init=False)
    precision: float = field(init=False)
    projected: Array = field(init=False)
    constant: float = field(init=False)

    def __post_init__(self) -> None:
        white = np.linalg.inv(np.linalg.cholesky(self.matrix))
        level = white.sum(axis=1)
        precision = float(level @ level)
        along = np.eye(len(level)) - np.outer(level, level) / precision
        constant = float(np.log(np.diag(white)).sum() - 0.5 * np.log(precision))
        values = {"white": white, "level": level, "precision": precision, "projected": along @ white}
        for name, value in {**values, "constant": constant}.items():
            object.__setattr__(self, name, value)
