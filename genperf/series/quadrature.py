"""Posteriors of a series' overheads by importance sampling: every family of a series in one batch, no random numbers.

The unknowns of a family are the logarithms u of its overheads' sizes, under a mixture of normal distributions (the
settings of the prior), and the loudness z of the walk, a standard normal number. A proposal is a mixture of Student-t
distributions, one a setting, first at the settings' modes (Laplace), then moved to where the weight is (Cappé et al.
2008). All rounds are weighed by the mixture of their proposals (Cornuet et al. 2012).

Arrays of points have the points last, shape (…, unknowns, n): a sum over few unknowns or anchors then adds long rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

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
        Most rounds; each but the first has a proposal moved to where the weight was.
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
    trust : float
        Weight of the old proposal, over that of all points, when it is moved.
    enough_effective : float
        Effective points that end the rounds.
    """

    points: int = 512
    rounds: int = 6
    freedom: float = 8.0
    newton_steps: int = 10
    damping: float = 0.3
    widened: float = 1.15
    least_share: float = 0.05
    least_effective: float = 25.0
    trust: float = 0.02
    enough_effective: float = 300.0


QUADRATURE = QuadratureSettings()
#: Variances whose product is taken before its logarithm: each is far from 10^±30, so that the product is a double.
_FACTORS = 8


@dataclass(frozen=True, eq=False)
class Targets:
    """Posteriors to be sampled in one batch: `b` families, `k` anchors, `p` overheads, `s` settings, `r` walks.

    Attributes
    ----------
    logarithms : ndarray of shape (b, k)
    whiten, variances, one : ndarray of shape (b, r, k, k), (b, r, k) and (b, r, k)
        Of each walk, see `genperf.discrepancy.Geometry`: directions in which covariances are diagonal.
    anchored : ndarray of shape (b, k)
        1, or 0 where a family has fewer anchors than others of the batch.
    constants : ndarray of shape (b, r)
        The part of the log-density that depends on the anchors alone.
    work, shapes : ndarray of shape (b, k) and (b, p, k)
        Computation and overheads of size one, relative to the computation at the largest scale.
    effective : ndarray of shape (b, v, p)
        1 for the overheads that matter in each variant of the proposal, 0 for those that are too small to: the data
        bound such an overhead from above only, which no mode with it shows.
    largest : ndarray of int, shape (b,)
        The anchor at the largest scale.
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
    effective: Array
    largest: npt.NDArray[np.intp]
    medians: Array
    roots: Array
    log_settings: Array
    log_walks: Array
    louder: float
    quieter: float

    def take(self, which: npt.NDArray[np.intp]) -> Targets:
        """Return some of the targets."""
        arrays = {
            f.name: getattr(self, f.name)[which]
            for f in fields(self)
            if f.init and f.name not in ("log_settings", "log_walks", "louder", "quieter")
        }
        return replace(self, **arrays)

    def loudness(self, z: Array) -> Array:
        """Return the walk's size for standard normal numbers."""
        return np.asarray(np.exp(np.where(z > 0.0, self.louder, self.quieter) * z))

    def curves(self, u: Array) -> Array:
        """Return ln(work + overheads), up to a level, shape (b, k, n), for u of shape (b, p, n)."""
        return np.asarray(np.log(self.work[:, :, None] + np.swapaxes(self.shapes, 1, 2) @ np.exp(u)))

    def log_likelihood(self, x: Array) -> Array:
        """Return the log-density of the measured series, shape (b, r, n); x of shape (b, p + 1, n) is u and z."""
        away = self.logarithms[:, :, None] - self.curves(x[:, :-1])
        r = self.whiten @ away[:, None]
        square = self.loudness(x[:, -1]) ** 2
        # An anchor that is there for the shape of the batch alone has variance 1, and no residual.
        present = self.anchored[:, None, :, None]
        total = square[:, None, None, :] * present + (self.variances[..., None] + (1.0 - present))
        inverse = 1.0 / total
        weighted = r * inverse
        along = (self.one[:, :, None, :] @ weighted)[:, :, 0]
        precision = ((self.one**2)[:, :, None, :] @ inverse)[:, :, 0]
        several = np.multiply.reduceat(total, np.arange(0, total.shape[2], _FACTORS), axis=2)
        logs = np.log(several).sum(axis=2)
        square = np.sum(weighted * r, axis=2) - along**2 / precision
        return np.asarray(self.constants[..., None] - 0.5 * (square + logs + np.log(precision)))

    def log_priors(self, x: Array) -> Array:
        """Return the log-density of u and z in each setting, shape (b, s, n); x of shape (b, p + 1, n)."""
        standard = self._inverse_roots @ (x[:, None, :-1] - self.medians[..., None])
        square = np.sum(standard**2, axis=2) + x[:, None, -1] ** 2
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
class Straightened:
    """Coordinates in which a series constrains one number: the overheads' total at the largest scale.

    With a_j = exp(u_j)·shape_j(largest), the coordinates are T = ln Σ_j a_j and orthonormal contrasts of ln a_j; an
    overhead that is zero there keeps its u. In u itself the same constraint is a curved sheet, which no Student-t
    distribution covers well. The Jacobian is constant.

    Attributes
    ----------
    present : ndarray of shape (b, p)
        1 for an overhead that is not zero at the largest scale.
    basis : ndarray of shape (b, p, p)
        Orthonormal; its first column is proportional to `present`.
    offsets : ndarray of shape (b, p)
        ln shape_j(largest), 0 where it is zero.
    log_jacobian : ndarray of shape (b,)
    """

    present: Array
    basis: Array
    offsets: Array
    log_jacobian: Array

    def take(self, which: npt.NDArray[np.intp]) -> Straightened:
        """Return the coordinates of some targets."""
        return Straightened(self.present[which], self.basis[which], self.offsets[which], self.log_jacobian[which])

    def overheads(self, y: Array) -> Array:
        """Return u for coordinates of shape (b, p, n)."""
        if y.shape[1] == 0:
            return y
        contrasts = self.basis[..., 1:] @ y[:, 1:]
        total = np.log(self.present[:, None] @ np.exp(contrasts))
        level = y[:, :1] - total
        return np.asarray(contrasts + level * self.present[..., None] - self.offsets[..., None])

    def coordinates(self, u: Array) -> tuple[Array, Array]:
        """Return the coordinates of u, shape (b, s, p), and the derivatives of u by them, shape (b, s, p, p)."""
        v = u + self.offsets[:, None]
        contrasts = v @ self.basis[:, :, 1:]
        parts = np.exp(v) * self.present[:, None]
        total = parts.sum(axis=2)
        shares = parts / total[..., None]
        rest = np.broadcast_to(self.basis[:, None, :, 1:], (*u.shape, u.shape[-1] - 1))
        along = shares[..., None, :] @ rest
        slopes = np.empty((*u.shape, u.shape[-1]))
        slopes[..., 0] = self.present[:, None]
        slopes[..., 1:] = rest - self.present[:, None, :, None] * along
        return np.concatenate([np.log(total)[..., None], contrasts], axis=2), slopes


def _straightened(targets: Targets) -> Straightened:
    b, p, _ = targets.shapes.shape
    if p == 0:
        return Straightened(np.zeros((b, 0)), np.zeros((b, 0, 0)), np.zeros((b, 0)), np.zeros(b))
    at = targets.shapes[np.arange(b), :, targets.largest]
    present = (at > 0.0).astype(float)
    # Where none is there, the first stands for itself.
    present[present.sum(axis=1) == 0.0, 0] = 1.0
    basis = np.empty((b, p, p))
    for j in range(b):
        # Householder: the reflection that takes the first axis to the direction of all that are present.
        direction = present[j] / np.linalg.norm(present[j])
        first = int(np.argmax(present[j]))
        normal = direction.copy()
        normal[first] -= 1.0
        square = normal @ normal
        reflected = np.eye(p) - (2.0 / square) * np.outer(normal, normal) if square > 0.0 else np.eye(p)
        basis[j] = np.concatenate([reflected[:, first : first + 1], np.delete(reflected, first, axis=1)], axis=1)
    offsets = np.log(np.where(at > 0.0, at, 1.0))
    return Straightened(present, basis, offsets, 0.5 * np.log(present.sum(axis=1)))


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """An importance sample of one target.

    Attributes
    ----------
    u : ndarray of shape (n, p)
        Logarithms of the overheads' sizes.
    loudness : ndarray of shape (n,)
        The walk's size.
    log_weights : ndarray of shape (r, n)
        Of each point with each walk; their exponentials add up to the evidence, prior shares included.
    effective : float
        Effective number of points.
    """

    u: Array
    loudness: Array
    log_weights: Array
    effective: float

    @property
    def evidence(self) -> Array:
        """Ln of the evidence with each walk, its prior share included; shape (r,)."""
        return log_sum(self.log_weights, axis=-1)


def log_sum(values: Array, axis: int) -> Array:
    """Return the logarithm of a sum of exponentials.

    Parameters
    ----------
    values : ndarray
        Logarithms of the addends.
    axis : int
        Along which they are added up.
    """
    top = np.max(values, axis=axis, keepdims=True)
    return np.asarray(np.log(np.sum(np.exp(values - top), axis=axis)) + np.squeeze(top, axis))


def weighted_points(targets: Targets, seed: int = 0, settings: QuadratureSettings = QUADRATURE) -> list[WeightedPoints]:
    """Draw an importance sample of each target, round after round until it is large enough.

    Parameters
    ----------
    seed : int
        Of the points' shifts; fits use 0, error estimates others.

    Returns
    -------
    list of WeightedPoints
        One a target.
    """
    straight = _straightened(targets)
    means, roots = _laplace(targets, straight, settings)
    b, s, d = means.shape
    proposal = Proposal(means, roots * settings.widened, np.full((b, s), 1.0 / s), settings.freedom)
    state = _Rounds(targets, straight, [], [], np.empty((b, 0, 0)), np.empty((b, s, 0)))
    done: list[WeightedPoints | None] = [None] * b
    open_targets = np.arange(b)
    for k in range(settings.rounds):
        state.draw(proposal, student_points(settings.points // s, d, settings.freedom, s, seed + 1000 * k))
        log_weights = state.log_weights()
        total = log_sum(log_weights, axis=1)
        weights = np.exp(total - log_sum(total, axis=1)[:, None])
        effective = 1.0 / np.sum(weights**2, axis=1)
        enough = (effective >= settings.enough_effective) | (k == settings.rounds - 1)
        for j in np.flatnonzero(enough).tolist():
            x = np.concatenate([drawn.unknowns[j] for drawn in state.drawn], axis=1)
            loudness = state.targets.loudness(x[-1])
            done[open_targets[j]] = WeightedPoints(x[:-1].T, loudness, log_weights[j], float(effective[j]))
        left = np.flatnonzero(~enough)
        if len(left) == 0:
            break
        open_targets, state = open_targets[left], state.take(left)
        proposal = state.moved(weights[left], settings)
    return [points for points in done if points is not None]


@dataclass(frozen=True, eq=False)
class Proposal:
    """A mixture of Student-t distributions for each target.

    Attributes
    ----------
    means, roots : ndarray of shape (b, s, d) and (b, s, d, d)
        Of the components; a root is the Cholesky factor of a covariance.
    shares : ndarray of shape (b, s)
    """

    means: Array
    roots: Array
    shares: Array
    freedom: float

    def take(self, which: npt.NDArray[np.intp]) -> Proposal:
        """Return the proposals of some targets."""
        return Proposal(self.means[which], self.roots[which], self.shares[which], self.freedom)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.roots))

    def log_parts(self, y: Array) -> Array:
        """Return the log-density of each component times its share, shape (b, s, n), at y of shape (b, d, n)."""
        d, freedom = y.shape[1], self.freedom
        standard = self._inverse @ (y[:, None] - self.means[..., None])
        square = np.einsum("bsdn,bsdn->bsn", standard, standard)
        logs = np.log(np.diagonal(self._inverse, axis1=2, axis2=3)).sum(axis=-1) + np.log(self.shares)
        logs += gammaln(0.5 * (freedom + d)) - gammaln(0.5 * freedom) - 0.5 * d * np.log(freedom * np.pi)
        return np.asarray(logs[..., None] - 0.5 * (freedom + d) * np.log1p(square / freedom))


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The points of one round.

    Attributes
    ----------
    coordinates, unknowns : ndarray of shape (b, d, n)
        Straightened ones; u and z.
    joint : ndarray of shape (b, r, n)
        Log-posterior with each walk.
    shares : ndarray of shape (b, n)
        Logarithm of the share of a point's component over its number of points.
    """

    coordinates: Array
    unknowns: Array
    joint: Array
    shares: Array

    def take(self, which: npt.NDArray[np.intp]) -> _Drawn:
        """Return the points of some targets."""
        return _Drawn(self.coordinates[which], self.unknowns[which], self.joint[which], self.shares[which])


@dataclass
class _Rounds:
    """The rounds drawn so far of some targets.

    Attributes
    ----------
    proposals : list of Proposal
        Of each round.
    drawn : list of _Drawn
        Of each round.
    densities : ndarray of shape (b, rounds, n)
        Log-density of each round's proposal at all points.
    parts : ndarray of shape (b, s, n)
        `Proposal.log_parts` of the last round's proposal at all points.
    """

    targets: Targets
    straight: Straightened
    proposals: list[Proposal]
    drawn: list[_Drawn]
    densities: Array
    parts: Array

    @property
    def coordinates(self) -> Array:
        """Those of all points, shape (b, d, n)."""
        return np.concatenate([drawn.coordinates for drawn in self.drawn], axis=2)

    def draw(self, proposal: Proposal, standard: Array) -> None:
        """Draw one more round."""
        b, s, d = proposal.means.shape
        each = standard.shape[1]
        y = proposal.means[..., None] + proposal.roots @ np.swapaxes(standard, 1, 2)
        y = np.swapaxes(y, 1, 2).reshape(b, d, s * each)
        x = np.concatenate([self.straight.overheads(y[:, :-1]), y[:, -1:]], axis=1)
        prior = log_sum(self.targets.log_priors(x) + self.targets.log_settings[None, :, None], axis=1)
        joint = self.targets.log_likelihood(x) + self.targets.log_walks[None, :, None]
        joint = joint + (prior + self.straight.log_jacobian[:, None])[:, None, :]
        before, points = self.densities.shape[1:]
        densities = np.empty((b, before + 1, points + s * each))
        densities[:, :before, :points] = self.densities
        for k, earlier in enumerate(self.proposals):
            densities[:, k, points:] = log_sum(earlier.log_parts(y), axis=1)
        self.proposals.append(proposal)
        # Each component has equally many points, whose weights make up for its share.
        shares = np.repeat(np.log(proposal.shares) - np.log(each), each, axis=1)
        self.drawn.append(_Drawn(y, x, joint, shares))
        self.parts = proposal.log_parts(self.coordinates)
        densities[:, before] = log_sum(self.parts, axis=1)
        self.densities = densities

    def log_weights(self) -> Array:
        """Return each point's log-weight with each walk, shape (b, r, n): over the mean of all rounds' mixtures."""
        joint = np.concatenate([drawn.joint for drawn in self.drawn], axis=2)
        shares = np.concatenate([drawn.shares for drawn in self.drawn], axis=1)
        return np.asarray(joint + (shares - log_sum(self.densities, axis=1))[:, None, :])

    def take(self, which: npt.NDArray[np.intp]) -> _Rounds:
        """Return the rounds of some targets."""
        proposals, drawn = [p.take(which) for p in self.proposals], [d.take(which) for d in self.drawn]
        targets, straight = self.targets.take(which), self.straight.take(which)
        return _Rounds(targets, straight, proposals, drawn, self.densities[which], self.parts[which])

    def moved(self, weights: Array, settings: QuadratureSettings) -> Proposal:
        """Return the last proposal with its components moved to where the weight is."""
        last, x = self.proposals[-1], self.coordinates
        part = np.exp(self.parts - self.densities[:, -1:]) * weights[:, None, :]
        # The old proposal counts like a few points, so that a component without weight stays as it was.
        trusted = settings.trust * last.shares
        total = part.sum(axis=2) + trusted
        centre = (part @ np.swapaxes(x, 1, 2) + trusted[..., None] * last.means) / total[..., None]
        off = x[:, None] - centre[..., None]
        spread = (off * part[:, :, None]) @ np.swapaxes(off, 2, 3)
        moved = (last.means - centre)[..., None] * (last.means - centre)[..., None, :]
        covariance = spread + trusted[..., None, None] * (last.roots @ np.swapaxes(last.roots, 2, 3) + moved)
        covariance = covariance / total[..., None, None] + 1e-6 * np.eye(x.shape[1])
        shares = np.maximum(total, settings.least_share)
        return Proposal(
            centre, np.linalg.cholesky(covariance), shares / shares.sum(axis=1, keepdims=True), last.freedom
        )


def _laplace(targets: Targets, straight: Straightened, settings: QuadratureSettings) -> tuple[Array, Array]:
    """Return each setting's mode and the Cholesky factor of its covariance, by damped Fisher scoring."""
    v = targets.effective.shape[1]
    b, s, p = targets.medians.shape
    medians = np.repeat(targets.medians, v, axis=1)
    prior_roots = np.repeat(targets.roots, v, axis=1)
    shapes = targets.shapes[:, None] * np.tile(targets.effective, (1, s, 1))[..., None]
    s *= v
    walk = targets.whiten.shape[1] // 2
    whiten, variances = targets.whiten[:, None, walk], targets.variances[:, None, walk]
    one, anchored = targets.one[:, None, walk], targets.anchored[:, None]
    d = p + 1
    root = np.zeros((b, s, d, d))
    root[..., :p, :p] = prior_roots
    root[..., p, p] = 1.0
    z = np.zeros((b, s, d))
    damping = np.full((b, s), settings.damping)

    def evaluate(z: Array) -> tuple[Array, Array, Array]:
        """Return minus the log-posterior, its gradient and its Fisher information, in standard normal units."""
        u = medians + (prior_roots @ z[..., :p, None])[..., 0]
        parts = np.exp(u)[..., None] * shapes
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
        J = np.swapaxes(prior_roots, 2, 3) @ J
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
        information[..., :p, :p] = (J * inverse[..., None, :]) @ np.swapaxes(J, 2, 3) - along[..., None] * along[
            ..., None, :
        ]
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
    means[..., :p] += medians
    if p:
        means[..., :p], slopes = straight.coordinates(means[..., :p])
        turn = np.zeros_like(covariance)
        turn[..., :p, :p] = np.linalg.inv(slopes)
        turn[..., p, p] = 1.0
        covariance = turn @ covariance @ np.swapaxes(turn, 2, 3)
    return means, np.linalg.cholesky(covariance)
