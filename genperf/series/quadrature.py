"""Posteriors of a series' overheads by importance sampling: every family of a series in one batch, no random numbers.

The unknowns of a family are the logarithms u of its overheads' sizes, under a mixture of normal distributions (the
settings of the prior), and the loudness z of the walk, a standard normal number. A proposal is a mixture of Student-t
distributions, one a setting, first at the settings' modes (Laplace), then moved to where the weight is (Cappé et al.
2008). All rounds are weighed by the mixture of their proposals (Cornuet et al. 2012).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from genperf.series.sobol import student_points

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class QuadratureSettings:
    """How an importance sample is drawn.

    Attributes
    ----------
    points : int
        Points of a round, shared by the components of the proposal.
    rounds : int
        Rounds after the first, each with a proposal moved to where the weight was.
    freedom : float
        Degrees of freedom of the proposal: heavier tails than the posterior's, which bounds the weights.
    newton_steps : int
        Steps towards each setting's mode.
    damping : float
        Of the first step, relative to the precision; ten times less after a step that was taken.
    widened : float
        Standard deviations of a first proposal over those of the Laplace approximation.
    least_share : float
        Of a component of the proposal, which keeps every setting looked at.
    least_effective : float
        Effective points below which the tempered sampler takes over.
    """

    points: int = 384
    rounds: int = 2
    freedom: float = 8.0
    newton_steps: int = 10
    damping: float = 0.3
    widened: float = 1.15
    least_share: float = 0.05
    least_effective: float = 25.0


QUADRATURE = QuadratureSettings()


@dataclass(frozen=True, eq=False)
class Targets:
    """Posteriors to be sampled in one batch: `b` families, `k` anchors, `p` overheads, `s` settings, `r` walks.

    Attributes
    ----------
    logarithms : ndarray of shape (b, k)
    whiten, variances, one : ndarray of shape (b, r, k, k), (b, r, k) and (b, r, k)
        Of each walk, see `prediction.walk`: directions in which covariances are diagonal.
    anchored : ndarray of shape (b, k)
        1, or 0 where a family has fewer anchors than others of the batch.
    constants : ndarray of shape (b, r)
        The part of the log-density that depends on the anchors alone.
    work, shapes : ndarray of shape (b, k) and (b, p, k)
        Computation and overheads of size one, relative to the computation at the largest scale.
    medians, roots : ndarray of shape (b, s, p) and (b, s, p, p)
        Mean of u and the Cholesky factor of its covariance, in each setting.
    log_settings, log_walks : ndarray of shape (s,) and (r,)
        Logarithms of the prior shares.
    louder, quieter : float
        Standard deviation of the logarithm of the walk's size above and below one.
    """

    logarithms: Array
    whiten: Array
    variances: Array
    one: Array
    anchored: Array
    constants: Array
    work: Array
    shapes: Array
    medians: Array
    roots: Array
    log_settings: Array
    log_walks: Array
    louder: float
    quieter: float

    def take(self, which: int) -> Targets:
        """Return one of the targets."""
        one = slice(which, which + 1)
        arrays = {
            f.name: getattr(self, f.name)[one]
            for f in fields(self)
            if f.init and f.name not in ("log_settings", "log_walks", "louder", "quieter")
        }
        return replace(self, **arrays)

    def loudness(self, z: Array) -> Array:
        """Return the walk's size for standard normal numbers."""
        return np.asarray(np.exp(np.where(z > 0.0, self.louder, self.quieter) * z))

    def curves(self, u: Array) -> Array:
        """Return ln(work + overheads), up to a level, for u of shape (b, n, p)."""
        return np.asarray(np.log(self.work[:, None, :] + np.exp(u) @ self.shapes))

    def log_likelihood(self, x: Array) -> Array:
        """Return the log-density of the measured series, shape (b, r, n); x of shape (b, n, p + 1) is u and z."""
        away = self.logarithms[:, None, :] - self.curves(x[..., :-1])
        r = away[:, None] @ np.swapaxes(self.whiten, 2, 3)
        total = self.loudness(x[..., -1])[:, None, :, None] ** 2 + self.variances[:, :, None, :]
        inverse = self.anchored[:, None, None, :] / total
        weighted = r * inverse
        along = (weighted @ self.one[..., None])[..., 0]
        precision = (inverse @ (self.one**2)[..., None])[..., 0]
        logs = (np.log(total) @ self.anchored[:, None, :, None])[..., 0]
        square = np.sum(weighted * r, axis=-1) - along**2 / precision
        return np.asarray(self.constants[..., None] - 0.5 * (square + logs + np.log(precision)))

    def log_priors(self, x: Array) -> Array:
        """Return the log-density of u and z in each setting, shape (b, s, n)."""
        off = x[:, None, :, :-1] - self.medians[:, :, None, :]
        standard = off @ np.swapaxes(self._inverse_roots, 2, 3)
        square = np.sum(standard**2, axis=-1) + x[:, None, :, -1] ** 2
        return np.asarray(-0.5 * square + self._log_normal[..., None])

    def __post_init__(self) -> None:
        """Invert the roots once."""
        inverse = np.linalg.inv(self.roots) if self.roots.shape[-1] else self.roots
        object.__setattr__(self, "_inverse_roots", inverse)
        logs = np.log(np.diagonal(inverse, axis1=2, axis2=3)).sum(axis=-1)
        dimension = self.roots.shape[-1] + 1
        object.__setattr__(self, "_log_normal", logs - 0.5 * dimension * np.log(2.0 * np.pi))

    _inverse_roots: Array = field(init=False, repr=False)
    _log_normal: Array = field(init=False, repr=False)


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """An importance sample of each target.

    Attributes
    ----------
    u : ndarray of shape (b, n, p)
        Logarithms of the overheads' sizes.
    loudness : ndarray of shape (b, n)
        The walk's size.
    log_weights : ndarray of shape (b, r, n)
        Of each point with each walk; their exponentials add up to the evidence, prior shares included.
    effective : ndarray of shape (b,)
        Effective number of points.
    """

    u: Array
    loudness: Array
    log_weights: Array
    effective: Array

    @property
    def evidence(self) -> Array:
        """ln of the evidence with each walk, its prior share included; shape (b, r)."""
        return log_sum(self.log_weights, axis=-1)


def log_sum(values: Array, axis: int) -> Array:
    """Return the logarithm of a sum of exponentials.

    Parameters
    ----------
    values : ndarray
        Logarithms of the addends.
    axis : int
        Along which they are added up.

    Returns
    -------
    ndarray
    """
    top = np.max(values, axis=axis, keepdims=True)
    return np.asarray(np.log(np.sum(np.exp(values - top), axis=axis)) + np.squeeze(top, axis))


def weighted_points(targets: Targets, seed: int = 0, settings: QuadratureSettings = QUADRATURE) -> WeightedPoints:
    """Draw an importance sample of each target.

    Parameters
    ----------
    targets : Targets
    seed : int
        Of the points' shifts; fits use 0, error estimates others.
    settings : QuadratureSettings

    Returns
    -------
    WeightedPoints
    """
    means, roots = _laplace(targets, settings)
    roots = roots * settings.widened
    b, s, d = means.shape
    shares = np.full((b, s), 1.0 / s)
    rounds: list[tuple[Array, Array, Array]] = []
    points, likelihoods, densities = [], [], []
    each = settings.points // s
    for k in range(settings.rounds + 1):
        standard = student_points(each, d, settings.freedom, s, seed + 1000 * k)
        # Each component has equally many points, whose weights make up for its share.
        drawn = means[:, :, None, :] + standard @ np.swapaxes(roots, 2, 3)
        x = drawn.reshape(b, s * each, d)
        rounds.append((means, roots, np.log(shares)))
        points.append(x)
        likelihood = targets.log_likelihood(x)
        prior = log_sum(targets.log_priors(x) + targets.log_settings[None, :, None], axis=1)
        likelihoods.append(likelihood + targets.log_walks[None, :, None] + prior[:, None, :])
        densities.append(np.repeat(shares, each, axis=1) / each)
        x, joint = np.concatenate(points, axis=1), np.concatenate(likelihoods, axis=2)
        # One density for all rounds: the mean of their mixtures, where component shares weigh the points.
        proposals = np.stack([_log_mixture(x, proposal, settings.freedom) for proposal in rounds], axis=1)
        mixture = log_sum(proposals, axis=1) - np.log(len(rounds))
        prior_weights = np.log(np.concatenate(densities, axis=1)) - np.log(len(rounds))
        log_weights = joint - mixture[:, None, :] + prior_weights[:, None, :]
        total = log_sum(log_weights, axis=1)
        weights = np.exp(total - total.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        if k < settings.rounds:
            means, roots, shares = _moved(x, weights, rounds[-1], settings)
    effective = 1.0 / np.sum(weights**2, axis=1)
    return WeightedPoints(x[..., :-1], targets.loudness(x[..., -1]), log_weights, effective)


def _log_student(x: Array, means: Array, roots: Array, freedom: float) -> Array:
    """Return the log-density of each component, up to a constant of d and freedom; shape (b, s, n)."""
    inverse = np.linalg.inv(roots)
    standard = (x[:, None] - means[:, :, None, :]) @ np.swapaxes(inverse, 2, 3)
    d = x.shape[-1]
    logs = np.log(np.diagonal(inverse, axis1=2, axis2=3)).sum(axis=-1)
    square = np.sum(standard**2, axis=-1)
    return np.asarray(logs[..., None] - 0.5 * (freedom + d) * np.log1p(square / freedom))


def _log_mixture(x: Array, proposal: tuple[Array, Array, Array], freedom: float) -> Array:
    """Return the log-density of a mixture of Student-t distributions, shape (b, n)."""
    from scipy.special import gammaln

    means, roots, log_shares = proposal
    d = x.shape[-1]
    constant = gammaln(0.5 * (freedom + d)) - gammaln(0.5 * freedom) - 0.5 * d * np.log(freedom * np.pi)
    return log_sum(_log_student(x, means, roots, freedom) + log_shares[..., None], axis=1) + constant


def _moved(
    x: Array, weights: Array, proposal: tuple[Array, Array, Array], settings: QuadratureSettings
) -> tuple[Array, Array, Array]:
    """Move the components of a proposal to where the weight is.

    Parameters
    ----------
    x : ndarray of shape (b, n, d)
    weights : ndarray of shape (b, n)
        Add up to one.
    proposal : tuple of ndarray
        Means (b, s, d), roots (b, s, d, d) and logarithms of shares (b, s).
    settings : QuadratureSettings

    Returns
    -------
    means, roots, shares : ndarray
    """
    means, roots, log_shares = proposal
    logs = _log_student(x, means, roots, settings.freedom) + log_shares[..., None]
    part = np.exp(logs - log_sum(logs, axis=1)[:, None, :]) * weights[:, None, :]
    shares = part.sum(axis=2)
    # What the old proposal says counts like a few points more, so that a component without weight stays as it was.
    trust = 0.02 + 1e-9
    total = shares + trust * np.exp(log_shares)
    centre = (part @ x + (total - shares)[..., None] * means) / total[..., None]
    off = x[:, None] - centre[:, :, None, :]
    spread = np.swapaxes(off * part[..., None], 2, 3) @ off
    before = roots @ np.swapaxes(roots, 2, 3) + (means - centre)[..., None] * (means - centre)[..., None, :]
    # A Student-t distribution's covariance is larger than its scale.
    covariance = (spread + (total - shares)[..., None, None] * before) / total[..., None, None]
    diagonal = np.einsum("bsii->bsi", covariance)
    diagonal += 1e-6
    s = means.shape[1]
    shares = np.maximum(shares, settings.least_share)
    return centre, np.linalg.cholesky(covariance), shares / shares.sum(axis=1, keepdims=True) if s > 1 else shares * 0 + 1.0


def _laplace(targets: Targets, settings: QuadratureSettings) -> tuple[Array, Array]:
    """Return each setting's mode and the Cholesky factor of its covariance, by damped Fisher scoring.

    Parameters
    ----------
    targets : Targets
    settings : QuadratureSettings

    Returns
    -------
    means, roots : ndarray of shape (b, s, d) and (b, s, d, d)
    """
    b, s, p = targets.medians.shape
    walk = targets.whiten.shape[1] // 2
    whiten, variances = targets.whiten[:, None, walk], targets.variances[:, None, walk]
    one, anchored = targets.one[:, None, walk], targets.anchored[:, None]
    d = p + 1
    root = np.zeros((b, s, d, d))
    root[..., :p, :p] = targets.roots
    root[..., p, p] = 1.0
    z = np.zeros((b, s, d))
    damping = np.full((b, s), settings.damping)

    def evaluate(z: Array) -> tuple[Array, Array, Array]:
        """Return minus the log-posterior, its gradient and its Fisher information, in standard normal units."""
        u = targets.medians + (targets.roots @ z[..., :p, None])[..., 0]
        parts = np.exp(u)[..., None] * targets.shapes[:, None]
        whole = targets.work[:, None] + parts.sum(axis=2)
        slopes = parts / whole[..., None, :]
        r = (whiten @ (targets.logarithms[:, None] - np.log(whole))[..., None])[..., 0]
        size = np.where(z[..., p] > 0.0, targets.louder, targets.quieter)
        square = np.exp(2.0 * size * z[..., p])
        total = square[..., None] + variances
        inverse = anchored / total
        precision = np.sum(inverse * one**2, axis=-1)
        r = r - one * (np.sum(r * inverse * one, axis=-1) / precision)[..., None]
        value = 0.5 * (np.sum(r * r * inverse + anchored * np.log(total), axis=-1) + np.log(precision))
        value += 0.5 * np.sum(z * z, axis=-1)
        J = (slopes @ np.swapaxes(whiten, 2, 3)) if p else np.zeros((b, s, 0, len(r[0, 0])))
        J = np.swapaxes(targets.roots, 2, 3) @ J
        pull = inverse * one / np.sqrt(precision)[..., None]
        gradient = np.empty_like(z)
        gradient[..., :p] = -(J @ (r * inverse)[..., None])[..., 0]
        change = square[..., None] * inverse
        log_change = np.sum(change * (1.0 - r * r * inverse), axis=-1)
        log_change -= np.sum(change * inverse * one**2, axis=-1) / precision
        gradient[..., p] = size * log_change
        gradient += z
        information = np.zeros((b, s, d, d))
        along = (J @ pull[..., None])[..., 0]
        information[..., :p, :p] = (J * inverse[..., None, :]) @ np.swapaxes(J, 2, 3) - along[..., None] * along[..., None, :]
        information[..., p, p] = 2.0 * size**2 * np.sum(change**2, axis=-1)
        information += np.eye(d)
        return value, gradient, information

    value, gradient, information = evaluate(z)
    diagonal = np.eye(d)
    for _ in range(settings.newton_steps):
        damped = information + damping[..., None, None] * diagonal * np.einsum("bsii->bsi", information)[..., None]
        step = np.linalg.solve(damped, -gradient[..., None])[..., 0]
        step *= np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=-1), 1e-12))[..., None]
        tried = evaluate(z + step)
        better = tried[0] <= value
        z = np.where(better[..., None], z + step, z)
        value = np.where(better, tried[0], value)
        gradient = np.where(better[..., None], tried[1], gradient)
        information = np.where(better[..., None, None], tried[2], information)
        damping = np.where(better, 0.1 * damping, 4.0 * damping + 0.01)
        if np.all(np.abs(step).max(axis=-1) < 0.03):
            break
    lower = np.linalg.inv(np.linalg.cholesky(information))
    covariance_root = np.swapaxes(lower, 2, 3)
    # The covariance of (u, z) is root·lowerᵀ·lower·rootᵀ; its own Cholesky factor keeps the proposal triangular.
    spread = root @ covariance_root
    covariance = spread @ np.swapaxes(spread, 2, 3)
    means = (root @ z[..., None])[..., 0]
    means[..., :p] += targets.medians
    return means, np.linalg.cholesky(covariance)
