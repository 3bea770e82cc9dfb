"""Learning a kernel: the rates and sizes of largest posterior density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from genperf.discrepancy.positive_definite import inverse_of

Array = npt.NDArray[np.float64]


class Shape(Protocol):
    """How the correlation of a kernel falls with the distance."""

    @staticmethod
    def correlation(distance: Array) -> Array:
        """Return g, 1 at distance 0."""

    @staticmethod
    def slope(distance: Array) -> Array:
        """Return dg/d(distance)."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search for the parameters of a covariance, in their logarithms.

        C = σ²·(e^{φ_1}·g(Σ_r e^{ρ_r}·D_r) + Σ_k e^{φ_k}·C_k + c + e^{ψ}·I)

    g is the correlation of the kernel at a distance. The parameters are the rates ρ, the sizes φ and, where it has a
    prior, the noise ψ. Without a prior of the noise ψ is zero and σ² has its most likely value. With one σ² is 1.

    Attributes
    ----------
    shape : Shape
        g and its derivative.
    distances : ndarray of shape (rates, rows, rows)
        D: along each group of factors that shares a rate.
    correlations : ndarray of shape (effects, rows, rows)
        C_k: of further effects, whose rates are fixed.
    constant : float
        c: variance of a level that all rows share.
    mean, sd : ndarray of shape (parameters,)
        Of the normal prior of the logarithms; an infinite sd is a flat prior.
    bounds : tuple of (float, float)
        One pair for each parameter.
    noise_known : bool
        Whether the noise is a parameter with a prior (σ² = 1), or the unit in which the sizes count.
    """

    shape: Shape
    distances: Array
    correlations: Array
    constant: float
    mean: Array
    sd: Array
    bounds: tuple[tuple[float, float], ...]
    noise_known: bool

    def parts(self, logarithms: Array) -> Array:
        """Return the effects' covariances, shape (effects, rows, rows)."""
        rates = len(self.distances)
        whole = np.exp(logarithms[rates]) * self.shape.correlation(self._distance(logarithms))
        sizes = logarithms[rates + 1 : rates + 1 + len(self.correlations)]
        return np.concatenate([whole[None], np.exp(sizes[:, None, None]) * self.correlations])

    def _distance(self, logarithms: Array) -> Array:
        """Return Σ_r e^{ρ_r}·D_r, shape (rows, rows)."""
        return np.asarray(np.tensordot(np.exp(logarithms[: len(self.distances)]), self.distances, 1))

    def noise(self, logarithms: Array) -> float:
        """Return the variance of the noise, 1 where it is the unit."""
        return float(np.exp(logarithms[-1])) if self.noise_known else 1.0

    def covariance(self, logarithms: Array) -> Array:
        """Return C for σ² = 1, shape (rows, rows)."""
        parts = self.parts(logarithms)
        return np.asarray(parts.sum(axis=0) + self.constant + self.noise(logarithms) * np.eye(parts.shape[1]))

    def best(self, start: Array, values: Array, steps: int, tolerance: float) -> Array:
        """Return the logarithms of largest posterior density.

        Parameters
        ----------
        start : ndarray of shape (parameters,)
        values : ndarray of shape (rows,)
        steps : int
            Iterations of L-BFGS-B at most.
        tolerance : float
            Relative decrease of the cost at which the search ends.
        """
        # It takes a quarter of a second to import, and only tables of several factors need it.
        from scipy.optimize import minimize

        options: Any = {"maxiter": steps, "ftol": tolerance}
        optimum = minimize(
            self.cost, start, (values,), jac=True, method="L-BFGS-B", bounds=list(self.bounds), options=options
        )
        return np.asarray(optimum.x)

    def cost(self, logarithms: Array, values: Array) -> tuple[float, Array]:
        """Return −ln posterior density up to a constant, and its gradient.

        Parameters
        ----------
        logarithms : ndarray of shape (parameters,)
        values : ndarray of shape (rows,)
        """
        rates, rows = len(self.distances), len(values)
        parts = self.parts(logarithms)
        noise = self.noise(logarithms)
        inverse, half_determinant = inverse_of(parts.sum(axis=0) + self.constant + noise * np.eye(rows))
        dual = inverse @ values
        square = float(values @ dual)
        away = (logarithms - self.mean) / self.sd
        unit = 1.0 if self.noise_known else rows / square
        slope = 0.5 * (inverse - np.outer(dual, dual) * unit)
        pull = slope * parts
        gradient = away / self.sd
        steepness = np.exp(logarithms[rates]) * self.shape.slope(self._distance(logarithms))
        gradient[:rates] += np.exp(logarithms[:rates]) * np.tensordot(self.distances, slope * steepness, 2)
        gradient[rates : rates + len(parts)] += pull.sum(axis=(1, 2))
        if self.noise_known:
            gradient[-1] += noise * np.trace(slope)
        fit = 0.5 * square if self.noise_known else 0.5 * rows * np.log(square / rows)
        return float(fit + half_determinant + 0.5 * away @ away), gradient

    def explains(self, logarithms: Array, values: Array) -> bool:
        """Say whether values are likelier with the effects than as noise alone."""
        inverse, half_determinant = inverse_of(self.covariance(logarithms))
        left = float(values @ inverse @ values) / float(values @ values)
        return bool(0.5 * len(values) * np.log(left) + half_determinant < 0.0)
