"""The sizes of the process: the most probable ones of its marginal likelihood and their priors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from genperf.discrepancy.product import Axis, Product, distinct
from genperf.process.settings import SIZES

Array = npt.NDArray[np.float64]
#: The sizes of an axis that are searched, by its kind.
NAMES = {"level": ("linear", "rate"), "number": ("linear", "smooth", "length", "rate")}
NAMES["count"] = (*NAMES["number"], "walk", "step")


@dataclass(frozen=True, eq=False)
class Fit:
    """A process with its sizes."""

    kernel: Product
    #: Standard deviation of ln T of one configuration.
    noise: float
    #: Shape (rows,). By which a row's noise variance is multiplied.
    factors: Array


def names_of(axis: Axis) -> tuple[str, ...]:
    """Return the sizes of an axis that are searched."""
    names = NAMES["level" if axis.scale == "level" else "count" if axis.walk else "number"]
    return (*names, "each") if axis.each else names


def _deviation(axis: Axis, name: str) -> float:
    """Return the standard deviation of the prior of ln of a size."""
    if name == "length":
        return SIZES.length_deviation
    return SIZES.deviation if axis.walk or axis.scale == "level" else SIZES.number_deviation


class _Density:
    """The log-posterior of all sizes together, and its gradient, on some rows.

    With C = s²·P + l²·E + ν²·F and W = (C⁻¹y)(C⁻¹y)ᵀ − C⁻¹, the derivative by a size is ½·Σ W∘∂C. Those of an
    axis need W∘P/(1 + V/s²) only summed over its distinct values.
    """

    def __init__(self, kernel: Product, x: Sequence[npt.NDArray[Any]], y: Array, factors: Array) -> None:
        self.kernel, self.y, self.factors = kernel, y, factors
        pairs = [distinct(a) for a in x]
        self.values, self.places = [v for v, _ in pairs], [place for _, place in pairs]
        self.gathers = [_gather(place, len(v)) for v, place in zip(self.values, self.places, strict=True)]
        apart = [a.distance(v[:, None], v) for a, v in zip(kernel.axes, self.values, strict=True)]
        #: Shape (axes, rows, rows).
        self.distances = np.array([d[np.ix_(p, p)] for d, p in zip(apart, self.places, strict=True)])
        self.names = [names_of(axis) for axis in kernel.axes]
        medians = [[getattr(axis, n) for n in names] for axis, names in zip(kernel.axes, self.names, strict=True)]
        self.start = np.log([kernel.size, max(kernel.local, 1e-9), *(v for m in medians for v in m)])
        width = [_deviation(axis, n) for axis, names in zip(kernel.axes, self.names, strict=True) for n in names]
        self.width = np.array([SIZES.deviation, SIZES.deviation, *width, SIZES.deviation])

    def kernel_at(self, theta: Array) -> Product:
        """Return the kernel whose sizes' logarithms are given; the last entry, that of the noise, is not read."""
        sizes, axes, at = np.exp(theta), [], 2
        for axis, names in zip(self.kernel.axes, self.names, strict=True):
            axes.append(msgspec.structs.replace(axis, **dict(zip(names, map(float, sizes[at:]), strict=False))))
            at += len(names)
        return Product(tuple(axes), float(sizes[0]), float(sizes[1]))

    def __call__(self, theta: Array, median: Array) -> tuple[float, Array]:
        """Return the negative log-posterior and its gradient."""
        kernel, noise, n = self.kernel_at(theta), np.exp(2.0 * theta[-1]), len(self.y)
        square, local = kernel.size**2, kernel.local**2
        parts = [a.parts(v[:, None], v) for a, v in zip(kernel.axes, self.values, strict=True)]
        ratios = [1.0 + np.asarray(sum(p.values())) / square for p in parts]
        product = np.ones((n, n))
        for ratio, place in zip(ratios, self.places, strict=True):
            product *= ratio[place].take(place, axis=1)
        near = np.exp(-np.tensordot([a.rate for a in kernel.axes], self.distances, 1))
        covariance = square * product + local * near
        covariance[np.diag_indices(n)] += noise * self.factors
        try:
            factor = cho_factor(covariance, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return 1e12, np.zeros_like(theta)
        alpha = cho_solve(factor, self.y, check_finite=False)
        inverse, _ = dpotri(factor[0], lower=1)
        W = np.outer(alpha, alpha) - (np.tril(inverse) + np.tril(inverse, -1).T)
        value = -0.5 * float(self.y @ alpha) - float(np.log(np.diag(factor[0])).sum())
        gradient = np.zeros_like(theta)
        weighted, nearby = W * product, W * near
        farther = np.tensordot(self.distances, nearby, 2)
        gradient[0] = square * weighted.sum()
        gradient[1] = local * nearby.sum()
        gradient[-1] = noise * float(np.diag(W) @ self.factors)
        at = 2
        for j, axis in enumerate(kernel.axes):
            gathered = self.gathers[j](weighted) / ratios[j]
            gradient[0] -= float(np.sum(gathered * (ratios[j] - 1.0))) * square
            x = self.values[j]
            for k, name in enumerate(self.names[j]):
                if name == "rate":
                    slope = -0.5 * local * axis.rate * farther[j]
                elif name == "length":
                    across = (x[:, None] - x[None, :]) / axis.length
                    slope = 0.5 * float(np.sum(gathered * parts[j]["smooth"] * across**2))
                else:
                    slope = float(np.sum(gathered * parts[j][name]))
                gradient[at + k] = slope
            at += len(self.names[j])
        away = (theta - median) / self.width
        return -(value - 0.5 * float(away @ away)), -(gradient - away / self.width)


def _gather(place: npt.NDArray[np.intp], count: int) -> Callable[[Array], Array]:
    """Return a function that sums a matrix over rows and columns of the same value."""
    order = np.argsort(place, kind="stable")
    if count == len(place):
        return lambda m: m[np.ix_(order, order)]
    chosen = np.zeros((count, len(place)))
    chosen[place, np.arange(len(place))] = 1.0
    return lambda m: chosen @ m @ chosen.T


def fit_sizes(
    x: Sequence[npt.NDArray[Any]],
    y: Array,
    prior: Product,
    start: Fit | None = None,
) -> Fit:
    """Return the most probable sizes of a process, its noise Student's.

    Parameters
    ----------
    x : sequence of ndarray of shape (rows,)
        Coordinates along each axis.
    y : ndarray of shape (rows,)
        Residuals of ln T about a mean.
    prior : Product
        Whose sizes are the medians of the priors.
    start : Fit, optional
        Of another member: where the search begins.
    """
    # It takes a tenth of a second to import, and a series does not need it.
    from scipy.optimize import minimize

    factors = np.ones(len(y)) if start is None else start.factors
    density = _Density(prior if start is None else start.kernel, x, y, factors)
    begin = np.append(density.start, np.log(SIZES.noise if start is None else start.noise))
    median = np.append(_Density(prior, x, y, factors).start, np.log(SIZES.noise))
    bounds = [(m - 7.0, m + 5.0) for m in median]
    steps = SIZES.steps if start is None else SIZES.further_steps
    optimum = minimize(
        density,
        begin,
        args=(median,),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "ftol": SIZES.tolerance},
    )
    theta = np.asarray(optimum.x)
    kernel, noise = density.kernel_at(theta), float(np.exp(theta[-1]))
    return Fit(kernel, noise, _student(kernel, noise, x, y, factors))


def _student(kernel: Product, noise: float, x: Sequence[npt.NDArray[Any]], y: Array, factors: Array) -> Array:
    """Return each row's factor of the noise variance from its leave-one-out residual, (ν + z²)/(ν + 1)."""
    covariance = kernel.between([(a, a) for a in x]) + np.diag(noise**2 * factors)
    inverse = np.linalg.inv(covariance)
    spread = 1.0 / np.diag(inverse)
    residual = (inverse @ y) * spread
    # Where other rows say little of this one, its residual is no sign of a wild measurement.
    square = residual**2 / (spread + noise**2 * (1.0 - factors))
    return np.asarray((SIZES.freedom + square) / (SIZES.freedom + 1.0))
