"""Kriging: by how much measured configurations lie off an expression, carried to the configurations near them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
#: How two values of a factor are apart: in doublings; by their difference, where there are values of zero or below; or
#: as two levels are, by one.
Kind = Literal["doublings", "difference", "level"]

#: Rows × anchors that are held at once.
BLOCK = 2_000_000


@dataclass(frozen=True, eq=False)
class Axis:
    """A factor along which configurations are apart, with its values where they were measured.

    Attributes
    ----------
    factor : str
    kind : {"doublings", "difference", "level"}
    values : ndarray of shape (anchors,)
        Numbers, or the labels of levels.

    Examples
    --------
    >>> Axis("workers", "doublings", np.array([1.0, 8.0])).distances(np.array([2.0]))
    array([[1., 2.]])
    >>> Axis("precision", "level", np.array(["fp16", "fp32"])).distances(np.array(["fp32"]))
    array([[1., 0.]])
    """

    factor: str
    kind: Kind
    values: npt.NDArray[Any]

    def distances(self, asked: npt.NDArray[Any]) -> Array:
        """Return how far some values are from the measured ones, shape (rows, anchors).

        In doublings, a value of zero or below is infinitely far away.
        """
        if self.kind == "level":
            return np.asarray(asked[:, None] != self.values[None, :], dtype=float)
        if self.kind == "difference":
            return np.asarray(np.abs(asked[:, None] - self.values[None, :]), dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            there = np.log2(np.asarray(asked, dtype=float))
        there = np.where(np.isnan(there), -np.inf, there)
        return np.asarray(np.abs(there[:, None] - np.log2(self.values)[None, :]))

    @property
    def coded(self) -> tuple[list[str], Array]:
        """The labels of levels, and the values as numbers: of levels, the places of their labels."""
        if self.kind != "level":
            return [], np.asarray(self.values, dtype=float)
        labels, places = np.unique(self.values.astype(str), return_inverse=True)
        return labels.tolist(), places.astype(float)


@dataclass(frozen=True)
class Effect:
    """A part of what the expression misses, which depends on some of the factors.

    Attributes
    ----------
    size : float
        Its variance, in units of that of what depends on none.
    rates : mapping of str to float
        By factor: how fast configurations become unlike each other with the distance, above zero.
    """

    size: float
    rates: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Kriging:
    """What the measured times lie off an expression by, carried to other configurations: a factor on the time.

        ln(T/expression) = Σ_k u_k(x) + e,   cov(u_k(x), u_k(y)) = σ²·s_k·exp(−Σ_j ρ_kj·d_j(x, y)),   var(e) = σ²

    Gaussian processes with exponential covariances around a trend (regression kriging). The mean at x is
    Σ_i w_i·κ(x, x_i) over the anchors, the measured x_i, with κ = Σ_k cov(u_k)/σ² and w the solution of
    (κ + 1)·w = residuals. It dies away with the distance: far from everything measured the expression speaks alone, and
    the variance is that of the effects.

    Attributes
    ----------
    axes : tuple of Axis
    effects : tuple of Effect
    weights : ndarray of shape (anchors,)
    variance : float
        σ²; zero where nothing but the mean is known.

    Examples
    --------
    >>> axis = Axis("n", "doublings", np.array([1.0, 8.0]))
    >>> near = Kriging((axis,), (Effect(1.0, {"n": 2.0}),), np.array([0.1, 0.0]), 0.04)
    >>> mean, variance = near.forecast({"n": np.array([1.0, 2.0, 64.0])})
    >>> mean.round(4), np.sqrt(variance).round(3)
    (array([0.1   , 0.0135, 0.    ]), array([0.141, 0.199, 0.2  ]))
    """

    axes: tuple[Axis, ...]
    effects: tuple[Effect, ...]
    weights: Array
    variance: float

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that anything depends on."""
        return tuple(a.factor for a in self.axes if any(a.factor in e.rates for e in self.effects))

    def mean(self, columns: Mapping[str, Any]) -> Array:
        """Return the mean of ln(T/expression), shape (rows,)."""
        return np.concatenate([self._near(block) @ self.weights for block in self._blocks(columns)])

    def forecast(self, columns: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return the mean and variance of ln(T/expression) without the noise of a new run, shape (rows,) each."""
        mean, variance = [], []
        for block in self._blocks(columns):
            near = self._near(block)
            mean.append(near @ self.weights)
            left = self._size - np.sum((near @ self._whiten.T) ** 2, axis=1)
            variance.append(self.variance * np.maximum(left, 0.0))
        return np.concatenate(mean), np.concatenate(variance)

    def covariance(self, columns: Mapping[str, Any]) -> Array:
        """Return the covariance of ln(T/expression) between rows, shape (rows, rows); `forecast` has its diagonal."""
        asked = [Axis(a.factor, a.kind, np.asarray(columns[a.factor])) for a in self.axes]
        known = self._near(columns) @ self._whiten.T
        return np.asarray(self.variance * (likeness(asked, self.effects, columns) - known @ known.T))

    @property
    def _size(self) -> float:
        return sum(e.size for e in self.effects)

    def _near(self, columns: Mapping[str, Any]) -> Array:
        return likeness(self.axes, self.effects, columns)

    def _blocks(self, columns: Mapping[str, Any]) -> Iterator[dict[str, npt.NDArray[Any]]]:
        own = {a.factor: np.asarray(columns[a.factor]) for a in self.axes}
        rows, block = len(next(iter(own.values()))), max(1, BLOCK // len(self.weights))
        for start in range(0, max(rows, 1), block):
            yield {name: values[start : start + block] for name, values in own.items()}

    @cached_property
    def _whiten(self) -> Array:
        """The inverse of the Cholesky factor of κ + 1 between the anchors."""
        here = self._near({a.factor: a.values for a in self.axes})
        return np.asarray(np.linalg.inv(np.linalg.cholesky(here + np.eye(len(here)))))


def likeness(axes: Sequence[Axis], effects: Sequence[Effect], columns: Mapping[str, Any]) -> Array:
    """Return κ between some configurations and the anchors, shape (rows, anchors).

    A factor's values are mostly few, and each is compared with the anchors once.
    """
    apart = {a.factor: _compared(a, np.asarray(columns[a.factor])) for a in axes}
    rows, anchors = len(columns[axes[0].factor]), len(axes[0].values)
    total = np.zeros((rows, anchors))
    for effect in effects:
        part = np.full((1, anchors), effect.size)
        # Factors at one value first: they cost a line.
        for factor in sorted(effect.rates, key=lambda name: len(apart[name][0])):
            distances, row = apart[factor]
            alike = np.exp(-effect.rates[factor] * distances)
            part = part * (alike if len(alike) == 1 else alike[row])
        total += part
    return total


def _compared(axis: Axis, asked: npt.NDArray[Any]) -> tuple[Array, npt.NDArray[np.intp]]:
    values, row = np.unique(asked, return_inverse=True)
    return axis.distances(values), row
