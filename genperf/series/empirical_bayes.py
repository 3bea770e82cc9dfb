"""What the series of a table show of their cluster, as counts that move a prior (empirical Bayes).

The posterior of each series, under the prior learned from many clusters, is summed to expected counts: where the
logarithms z of the overheads' sizes lie in units of their prior, how loud the walk is, and how often each noise holds.
One step of expectation and maximisation, in which the prior counts as some series that were measured before, gives the
prior of the table:

    mean = Σ z/(κ + n),   variance = v·(1 + 1/(κ + n)),   v = (ν·κ/(1 + κ) + Σ (z − mean)²)/(ν + n)

The prior's variance of z is one: 1/(1 + κ) between clusters, the rest between series of a cluster. Where a series was
measured on one node, it says nothing of the network. Where n series show it, the network is no longer an unseen one:
the share of the settings beyond the first falls by the factor τ/(τ + n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from genperf.series.fit import Posterior, longer_than_usual, moments_of, posteriors_of
from genperf.series.measured import Series
from genperf.series.prior import NAMES, STEP, STEP_BESIDE_DOUBLING, Prior, Setting

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UpdateSettings:
    """How far the series of a table move its prior: as how many series the prior counts.

    Set on the corpus, each source under the prior learned without it (`docs/decisions/table-prior.md`).

    Attributes
    ----------
    mean : float
        κ of the overheads and of the loudness.
    step : float
        κ of the step to the second node. Networks differ far more between clusters than within one.
    spread : float
        ν.
    noise : float
        For the shares of the noises.
    network : float
        τ.
    most : float
        The series of a table count as at most so many independent ones: programs of one cluster are alike.
    """

    mean: float = 5.0
    step: float = 0.4
    spread: float = 6.0
    noise: float = 6.0
    network: float = 1.5
    most: float = 15.0


UPDATE = UpdateSettings()
#: Places of the steps to the second node among the overheads.
STEPS = [NAMES.index(name) for name in (STEP, STEP_BESIDE_DOUBLING)]


@dataclass(frozen=True, eq=False)
class Counts:
    """Expected counts of one series, or of several.

    Attributes
    ----------
    series : float
        How many series were counted.
    sizes : ndarray of shape (names, 3)
        Of each overhead's z, standardised by the first setting: Σ 1, Σ z and Σ z², by the posterior's weights.
    loudness : ndarray of shape (3,)
        The same of ln s of the walk.
    noises : ndarray of shape (noises,)
        The posterior's share of each noise.
    """

    series: float
    sizes: Array
    loudness: Array
    noises: Array

    def plus(self, other: Counts, times: float = 1.0) -> Counts:
        """Return the sum of two counts, the second one so many times."""
        return Counts(*(getattr(self, f.name) + times * getattr(other, f.name) for f in fields(self)))


def counts_of(series: Series, prior: Prior) -> Counts:
    """Return the expected counts of a series under a prior."""
    posteriors = posteriors_of(series, prior)
    top = max(float(posterior.log_weights.max()) for posterior in posteriors)
    weights = [np.exp(posterior.log_weights - top) for posterior in posteriors]
    evidence = sum(float(part.sum()) for part in weights)
    total = Counts(1.0, np.zeros((len(NAMES), 3)), np.zeros(3), np.zeros(len(prior.noises)))
    noises = [noise for noise, _ in prior.noises]
    longer = longer_than_usual(series, posteriors[0].walk.largest, prior)
    for posterior, part in zip(posteriors, weights, strict=True):
        share = part / evidence
        total.noises[noises.index(posterior.walk.noise)] += share.sum()
        logarithms = np.log(posterior.loudness)
        total.loudness[:] += _sums(logarithms / np.where(logarithms > 0.0, prior.louder, prior.quieter), share)
        _add_sizes(total.sizes, posterior, share, moments_of(posterior.family, prior, longer))
    return total


def informed(prior: Prior, counts: Counts) -> Prior:
    """Return a prior that was moved by the counts of other series."""
    if counts.series <= 0.0:
        return prior
    times = min(1.0, UPDATE.most / counts.series)
    network = times * float(counts.sizes[STEPS, 0].sum())
    first = _moved_setting(prior.settings[0], times * counts.sizes)
    unseen = UPDATE.network / (UPDATE.network + network)
    others = [_moved_along(setting, prior.settings[0], first, unseen) for setting in prior.settings[1:]]
    usual = replace(first, share=1.0 - sum(setting.share for setting in others))
    mean, spread = (float(value) for value in _moved(times * counts.loudness, UPDATE.mean))
    louder = float(np.exp(0.5 * (prior.louder + prior.quieter) * mean))
    shares = UPDATE.noise * np.array([share for _, share in prior.noises]) + times * counts.noises
    shares = shares / shares.sum()
    return replace(
        prior,
        settings=(usual, *others),
        noises=tuple((noise * louder, float(share)) for (noise, _), share in zip(prior.noises, shares, strict=True)),
        step=prior.step * louder,
        step_of_last=prior.step_of_last * louder,
        louder=prior.louder * spread,
        quieter=prior.quieter * spread,
    )


def _add_sizes(sizes: Array, posterior: Posterior, weights: Array, moments: tuple[Array, Array]) -> None:
    """Add the overheads of a family with one walk to the counts of its series."""
    means, roots = moments
    for j, name in enumerate(posterior.family.sizes):
        # An overhead that is zero wherever the series was measured keeps its prior.
        if name in NAMES and np.any(posterior.shapes[j] > 0.0):
            z = (posterior.u[:, j] - means[0, j]) / np.linalg.norm(roots[0, j])
            sizes[NAMES.index(name)] += _sums(z, weights)


def _sums(z: Array, weights: Array) -> Array:
    """Return Σ 1, Σ z and Σ z² by weights."""
    return np.array([weights.sum(), weights @ z, weights @ z**2])


def _moved(sums: Array, mean: float | Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of z after counts, 0 and 1 before any."""
    n, first, second = np.moveaxis(sums, -1, 0)
    moved = first / (mean + n)
    scatter = second - 2.0 * moved * first + n * moved**2
    within = (UPDATE.spread * mean / (1.0 + mean) + scatter) / (UPDATE.spread + n)
    return np.asarray(moved), np.sqrt(within * (1.0 + 1.0 / (mean + n)))


def _moved_setting(setting: Setting, sizes: Array) -> Setting:
    """Return a setting with the medians and spreads that a table shows."""
    trust = np.full(len(NAMES), float(UPDATE.mean))
    trust[STEPS] = UPDATE.step
    mean, spread = _moved(sizes, trust)
    root = np.array(setting.root)
    medians = np.array(setting.medians) * np.exp(np.linalg.norm(root, axis=1) * mean)
    return replace(setting, medians=tuple(medians.tolist()), root=_rows(root * spread[:, None]))


def _moved_along(setting: Setting, usual: Setting, moved: Setting, times: float) -> Setting:
    """Return another setting: where it is as the usual one, it moves along."""
    differs = np.array(setting.medians) != np.array(usual.medians)
    differs |= np.any(np.array(setting.root) != np.array(usual.root), axis=1)
    medians = np.where(differs, setting.medians, moved.medians)
    root = _rows(np.where(differs[:, None], setting.root, moved.root))
    return Setting(times * setting.share, tuple(medians.tolist()), root)


def _rows(root: Array) -> tuple[tuple[float, ...], ...]:
    rows: Sequence[Sequence[float]] = root.tolist()
    return tuple(tuple(row) for row in rows)
