"""The sizes of a process: the most probable ones of its marginal likelihood and their priors."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from genperf.arrays import AnyArray, Array, Index
from genperf.discrepancy.product import SIZES, KernelAxis, Product
from genperf.gaussian import STUDENT_FREEDOM
from genperf.solver import descended

# The search for the sizes, and what their prior has beside the medians in `genperf.discrepancy.product`.
#: Standard deviation of ln of a size, of that of a number that is no count, and of a length. A number has many values,
#: which show its sizes; a wide prior of those of a count carries noise beyond the largest.
SIZE_DEVIATION, NUMBER_DEVIATION, LENGTH_DEVIATION = 1.0, 2.0, 0.7
#: Median of the standard deviation of one configuration.
CONFIGURATION_NOISE = 0.03
#: Of the search for the first member's sizes, and of the others', which starts there.
SIZE_STEPS, FURTHER_SIZE_STEPS = 80, 25
#: Effect of each value of a number from which the sizes are searched once more: of few networks an odd one bends the
#: slope by one optimum, and has an effect of its own by another, which a search from the medians does not reach.
ODD_VALUES = 0.3
#: Share of the log-posterior below which a gain ends the search: smaller ones move no prediction by 1 %.
GAIN_TOLERANCE = 1e-5


class Fit(NamedTuple):
    """A process with its sizes."""

    kernel: Product
    noise: float  #: Standard deviation of ln T of one configuration.
    factors: Array  #: Shape (rows,). By which a row's noise variance is multiplied.
    covariance: Array  #: Shape (rows, rows). Of the process, without noise.

    @property
    def freedom(self) -> float:
        """The residuals that the process leaves to the noise: the trace of ν²F·(K + ν²F)⁻¹."""
        noise = self.noise**2 * self.factors
        return float(noise @ np.diag(np.linalg.inv(self.covariance + np.diag(noise))))


def deviations_of(axis: KernelAxis) -> dict[str, float]:
    """Return the sizes of an axis that are searched, and of the prior of ln of each its standard deviation."""
    usual = NUMBER_DEVIATION if axis.kind == "number" else SIZE_DEVIATION
    sizes = [n for n, size in SIZES.items() if axis.kind in size.usual and getattr(axis, size.within or n)]
    return {name: LENGTH_DEVIATION if name == "length" else usual for name in sizes}


class _Density:
    """The negative log-posterior of all sizes together, and its gradient, on some rows.

        ½·yᵀ·C⁻¹·y + ½·ln|C| + ½·Σ ((θ − median)/width)²,   C = s²·P + l²·E + ν²·F
        P = Π_j r_j,   r_j = 1 + V_j/s²,   E = exp(−Σ_j rate_j·d_j),   F = diag(factors)        (`Product`)

    θ are the logarithms of s, l, the sizes of each axis and ν. The first two terms have the gradient −½·Σ W∘∂C/∂θ with
    W = (C⁻¹y)(C⁻¹y)ᵀ − C⁻¹. Of symmetric matrices the lower half is computed, each pair of rows once.
    """

    def __init__(
        self, prior: Product, x: Sequence[AnyArray], y: Array, factors: Array, noise: float, width: Sequence[float]
    ) -> None:
        self.prior, self.y, self.factors = prior, y, factors
        row, column = np.tril_indices(len(y))
        #: Of each pair of rows, its place in a matrix, and how often the whole matrix has it.
        self.half, self.often = row * len(y) + column, 2.0 - (row == column)
        #: Of each axis, its distinct values, and the place of each pair of rows among the pairs of these values.
        self.values, self.pairs, distances = list[AnyArray](), list[AnyArray](), []
        for axis, cells in zip(prior.axes, x, strict=True):
            values, places = np.unique(cells, return_inverse=True)
            pairs = places[row] * len(values) + places[column]
            distances.append(axis.distance(values[:, None], values).ravel().take(pairs))
            self.values.append(values)
            self.pairs.append(pairs)
        #: Shape (axes, pairs).
        self.distances = np.array(distances)
        self.deviations = [deviations_of(axis) for axis in prior.axes]
        #: Of the prior: s, l, the sizes of each axis, noise.
        self.median = self.logarithms(prior, noise)
        deviations = [deviation for axis in self.deviations for deviation in axis.values()]
        self.width = np.array(width or [SIZE_DEVIATION, SIZE_DEVIATION, *deviations, SIZE_DEVIATION])

    def logarithms(self, kernel: Product, noise: float) -> Array:
        """Return ln of the sizes of a kernel and of the noise."""
        axis_sizes = [getattr(a, name) for a, names in zip(kernel.axes, self.deviations, strict=True) for name in names]
        return np.log([kernel.size, max(kernel.local, 1e-9), *axis_sizes, noise])

    def kernel_at(self, theta: Array) -> Product:
        """Return the kernel whose sizes' logarithms are given; the last entry, that of the noise, is not read."""
        size, local, *sizes = np.exp(theta).tolist()
        left = iter(sizes)
        sizes_by_axis = [{name: next(left) for name in names} for names in self.deviations]
        axes = [replace(a, **s) for a, s in zip(self.prior.axes, sizes_by_axis, strict=True)]
        return Product(tuple(axes), size, local)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the negative log-posterior and its gradient."""
        kernel, noise, n = self.kernel_at(theta), np.exp(2.0 * theta[-1]), len(self.y)
        square, local = kernel.size**2, kernel.local**2
        # The parts of V_j, and r_j, between the distinct values of axis j.
        axis_parts = [a.parts(v[:, None], v) for a, v in zip(kernel.axes, self.values, strict=True)]
        ratios = [np.asarray(1.0 + sum(p.values()) / square) for p in axis_parts]
        P = np.ones(len(self.half))
        for ratio, pairs in zip(ratios, self.pairs, strict=True):
            P *= ratio.take(pairs)
        E = np.exp(-np.array([a.rate for a in kernel.axes]) @ self.distances)
        C = np.zeros((n, n))
        np.put(C, self.half, square * P + local * E)
        C[np.diag_indices(n)] += noise * self.factors
        try:
            factor = cho_factor(C, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            # No covariance at these sizes: the search steps back from so poor a value.
            return 1e12, np.zeros_like(theta)
        alpha = cho_solve(factor, self.y, check_finite=False)
        away = (theta - self.median) / self.width
        value = 0.5 * float(self.y @ alpha) + float(np.log(np.diag(factor[0])).sum()) + 0.5 * float(away @ away)
        inverse, _ = dpotri(factor[0], lower=1)
        W = self.often * (np.outer(alpha, alpha) - inverse).take(self.half)
        by_size, *by_axes = self._slopes_of_product(kernel, W * P, W * E, axis_parts, ratios)
        by_noise = noise * float((alpha**2 - np.diag(inverse)) @ self.factors)
        gradient = np.array([square * by_size, local * (W * E).sum(), *by_axes, by_noise])
        return value, away / self.width - gradient

    def _slopes_of_product(
        self, kernel: Product, WP: Array, WE: Array, axis_parts: Sequence[dict[str, Array]], ratios: Sequence[Array]
    ) -> list[float]:
        """Return ½·Σ W∘∂C by ln s, over s², and then by ln of the sizes of each axis; WP is W∘P, and WE is W∘E.

            ½·∂C/∂ln s = s²·(P − Σ_j (P/r_j)·(r_j − 1)),   ½·∂C/∂ln v = (P/r_j)∘(the part of V_j with the size v)
            ½·∂C/∂ln length = (P/r_j)∘(the smooth part)·½·((x − z)/length)²,   ½·∂C/∂ln rate_j = −½·l²·rate_j·d_j∘E

        W∘P/r_j is summed over the pairs of rows that have the same two values of axis j.
        """
        slopes, farther = [WP.sum()], self.distances @ WE
        for j, axis in enumerate(kernel.axes):
            ratio, x = ratios[j], self.values[j]
            summed = np.bincount(self.pairs[j], WP, ratio.size).reshape(ratio.shape) / ratio
            slopes[0] -= float(np.sum(summed * (ratio - 1.0)))
            for name in self.deviations[j]:
                if name == "rate":
                    slopes.append(-0.5 * kernel.local**2 * axis.rate * farther[j])
                elif name == "length":
                    across = (x[:, None] - x) / axis.length
                    slopes.append(0.5 * float(np.sum(summed * axis_parts[j]["smooth"] * across**2)))
                else:
                    slopes.append(float(np.sum(summed * axis_parts[j][name])))
        return slopes


def fit_sizes(
    x: Sequence[AnyArray],
    y: Array,
    prior: Product,
    rows: Index,
    start: Fit | None = None,
    usual_noise: float = CONFIGURATION_NOISE,
    width: Sequence[float] = (),
) -> Fit:
    """Return the most probable sizes θ of a process of mean zero, y ~ N(0, K(θ; x) + noise²·diag(factors)).

    The sizes of `prior` and `usual_noise` are the medians of θ, which some `rows` determine; `width` has the standard
    deviations of its prior where they are not the usual ones, in the order of `_Density.median`. The search begins at
    `start`, the fit of another mean; without it, at the medians, and with `ODD_VALUES`. Noise is Student's: the search
    takes the factors of `start` (1 without it), and the result has those of the residuals (`_student`).
    """
    factors = np.ones(len(y)) if start is None else start.factors
    density = _Density(prior, [a[rows] for a in x], y[rows], factors[rows], usual_noise, width)
    if start is None:
        odd = replace(prior, axes=tuple(replace(a, each=ODD_VALUES) if a.each else a for a in prior.axes))
        initial = [density.logarithms(kernel, usual_noise) for kernel in dict.fromkeys([prior, odd])]
    else:
        initial = [density.logarithms(start.kernel, start.noise)]
    steps = SIZE_STEPS if start is None else FURTHER_SIZE_STEPS
    bounds = [(m - 7.0, m + 5.0) for m in density.median]
    optima = [descended(density, at, bounds, maxiter=steps, ftol=GAIN_TOLERANCE) for at in initial]
    theta, _ = min(optima, key=lambda optimum: optimum[1])
    kernel, noise = density.kernel_at(theta), float(np.exp(theta[-1]))
    covariance, student_factors = kernel.between([(a, a) for a in x]), np.ones(len(y))
    student_factors[rows] = _student(covariance[np.ix_(rows, rows)], noise**2 * factors[rows], y[rows], factors[rows])
    return Fit(kernel, noise, student_factors, covariance)


def _student(covariance: Array, noise: Array, y: Array, factors: Array) -> Array:
    """Return each row's factor of the noise variance from its leave-one-out residual, (ν + z²)/(ν + 1).

    Without its row, y is forecast with the variance S = 1/(C⁻¹)_ii and the error (C⁻¹y)_i·S, C = `covariance` + noise.
    z is the error over √S, with the usual noise in place of the row's own, which has the factor of before.
    """
    inverse = np.linalg.inv(covariance + np.diag(noise))
    spread = 1.0 / np.diag(inverse)
    residual = (inverse @ y) * spread
    # Where other rows say little of this one, its residual is no sign of a wild measurement.
    square = residual**2 / (spread - noise + noise / factors)
    return np.asarray((STUDENT_FREEDOM + square) / (STUDENT_FREEDOM + 1.0))
