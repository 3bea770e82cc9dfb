"""Tempered sequential Monte Carlo: from a standard normal prior to a posterior, with its evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from genperf.series.quadrature import Targets, WeightedPoints, log_sum

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TemperingSettings:
    """How particles are led from the prior to the posterior.

    Attributes
    ----------
    effective : float
        A temperature step keeps at least this share of the particles effective; a half is customary.
    moves : int
        Metropolis moves after each temperature step.
    stride : float
        How far one goes along the difference of two other particles, in units of 1/√dimension: the customary 1.7/√2.
    shorter : float
        Every other move is shorter by this factor, for where the posterior is narrow.
    jitter : float
        Standard deviation added to a move, so that particles which came from one do not stay one.
    least_step : float
        The smallest step of temperature, which bounds their number.
    """

    effective: float = 0.5
    moves: int = 4
    stride: float = 1.44
    shorter: float = 0.4
    jitter: float = 1e-3
    least_step: float = 1e-4


TEMPERING = TemperingSettings()


@dataclass(frozen=True, eq=False)
class Posterior:
    """Equally weighted particles of a posterior.

    Attributes
    ----------
    particles : ndarray of shape (particles, dimension)
        In units of the standard normal prior.
    evidence : float
        ln ∫ likelihood · prior.
    evaluations : int
        Of the likelihood.
    """

    particles: Array
    evidence: float
    evaluations: int


def sample(
    log_likelihood: Callable[[Array], Array], dimension: int, particles: int, rng: np.random.Generator
) -> Posterior:
    """Sample a posterior under independent standard normal priors.

    The likelihood enters in powers from 0 to 1 (Del Moral, Doucet & Jasra 2006), each as large as the effective number
    of particles allows; they are then resampled systematically and moved by Metropolis steps along the differences
    of pairs of particles (ter Braak 2006), which fit themselves to the posterior's shape.

    Parameters
    ----------
    log_likelihood : callable
        (particles, dimension) → (particles,).

    Examples
    --------
    A measurement 1 ± 1 of a standard normal quantity: the posterior is 0.5 ± 0.71, the evidence −(1 + 2·ln 2)/4.

    >>> posterior = sample(lambda z: -0.5 * (z[:, 0] - 1.0) ** 2, 1, 4000, np.random.default_rng(0))
    >>> posterior.particles.mean().round(1), posterior.particles.std().round(1), round(posterior.evidence, 1)
    (np.float64(0.5), np.float64(0.7), -0.6)
    """
    z = rng.standard_normal((particles, dimension))
    known = log_likelihood(z)
    evaluations, power, evidence = particles, 0.0, 0.0
    while power < 1.0:
        step = _step(known, 1.0 - power)
        weights = np.exp(step * (known - known.max()))
        evidence += float(np.log(weights.mean()) + step * known.max())
        power = min(1.0, power + step)
        places = (np.arange(particles) + rng.random()) / particles
        chosen = np.minimum(np.searchsorted(np.cumsum(weights / weights.sum()), places), particles - 1)
        z, known = z[chosen], known[chosen]
        for move in range(TEMPERING.moves):
            stride = TEMPERING.stride / np.sqrt(dimension) * (TEMPERING.shorter if move % 2 == 0 else 1.0)
            proposed = z + stride * (z[rng.permutation(particles)] - z[rng.permutation(particles)])
            proposed += TEMPERING.jitter * rng.standard_normal(z.shape)
            value = log_likelihood(proposed)
            gain = power * (value - known) - 0.5 * np.sum(proposed**2 - z**2, axis=1)
            taken = np.log(rng.random(particles)) < gain
            z[taken], known[taken] = proposed[taken], value[taken]
            evaluations += particles
    return Posterior(z, evidence, evaluations)


def _step(known: Array, left: float) -> float:
    """Return the largest step of temperature that keeps enough particles effective."""

    def effective(step: float) -> float:
        weights = np.exp(step * (known - known.max()))
        return float(weights.sum() ** 2 / np.sum(weights**2) / len(known))

    if effective(left) >= TEMPERING.effective:
        return left
    low, high = 0.0, left
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if effective(middle) < TEMPERING.effective else (middle, high)
    return min(max(low, TEMPERING.least_step), left)


def tempered_points(target: Targets, points: int) -> WeightedPoints:
    """Sample one target by tempering, where importance sampling reaches too few effective points.

    Parameters
    ----------
    target : Targets
        Of one family.

    Returns
    -------
    WeightedPoints
        With equal weights.
    """
    p = target.medians.shape[-1]
    log_share = log_sum(target.log_settings, 0)
    reached = np.cumsum(np.exp(target.log_settings - log_share))

    def unknowns(z: Array) -> Array:
        # One more normal number chooses the setting.
        setting = np.minimum(np.searchsorted(reached, ndtr(z[:, p + 1])), len(reached) - 1)
        turned = np.einsum("nij,nj->ni", target.roots[0][setting], z[:, :p])
        return np.hstack([target.medians[0][setting] + turned, z[:, p : p + 1]])

    def with_each_walk(x: Array) -> Array:
        return np.asarray(target.log_likelihood(x.T[None])[0] + target.log_walks[:, None])

    posterior = sample(lambda z: log_sum(with_each_walk(unknowns(z)), axis=0), p + 2, points, np.random.default_rng(p))
    x = unknowns(posterior.particles)
    parts = with_each_walk(x)
    log_weights = posterior.evidence + float(log_share) - np.log(points) + parts - log_sum(parts, axis=0)
    return WeightedPoints(x[:, :-1], target.loudness(x[:, -1]), log_weights, float(points))
