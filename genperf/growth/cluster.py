"""What the series of a table show of the cluster they share: three tilts of the weights of the bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from genperf.growth.bank import STEP, Bank

Array = npt.NDArray[np.float64]
Key = TypeVar("Key")


@dataclass(frozen=True)
class ClusterSettings:
    """How much of what varies between series is their cluster's."""

    #: `kinds`, `reach`: kinds of cluster that stand for a normal distribution, and how many standard deviations they
    #: reach.
    kinds: int = 15
    reach: float = 2.5
    #: `step`, `unseen_step`: share of the variance of the step to the second node that is the cluster's: of a network
    #: like those that were learned from, and of an unseen one.
    step: float = 0.71
    unseen_step: float = 0.9
    #: `strengths`, `strength`: the same of the common strength.
    strengths: int = 7
    strength: float = 1.0 / 6.0
    #: Series that the prior shares of the walks count as.
    walks: float = 6.0
    #: Series count as so many at most: their programs are alike.
    most: float = 15.0


CLUSTER = ClusterSettings()


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of cluster."""

    #: Shape (kinds,). Before any series is known.
    share: Array
    #: Shape (kinds, curves). Density of a curve in a cluster of each kind over that of the prior.
    ratio: Array


@cache
def step_kinds(bank: Bank) -> Kinds:
    """Return the kinds of step to the second node: plain ones first, then those of unseen networks."""
    prior, at = bank.prior, bank.prior.settings
    spread = float(np.hypot(prior.spread[STEP], at.strength * prior.strength[STEP]))
    plain = _kinds(bank.step - np.log(prior.median[STEP]), spread, CLUSTER.step, CLUSTER.kinds)
    heavy = _kinds(bank.step - at.unseen_median, at.unseen_spread, CLUSTER.unseen_step, CLUSTER.kinds)
    # A step that does not arise shows nothing but its absence.
    absent = ~bank.present[:, STEP]
    ratio = np.concatenate(
        [
            np.where(bank.unseen, 0.0, np.where(absent, 1.0, plain.ratio)) / (1.0 - at.unseen),
            np.where(bank.unseen, np.where(absent, 1.0, heavy.ratio), 0.0) / at.unseen,
        ]
    )
    share = np.concatenate([(1.0 - at.unseen) * plain.share, at.unseen * heavy.share])
    return Kinds(share, ratio)


@cache
def strength_kinds(bank: Bank) -> Kinds:
    """Return the kinds of common strength of communication."""
    return _kinds(bank.strength, 1.0, CLUSTER.strength, CLUSTER.strengths)


def _kinds(values: Array, spread: float, share: float, count: int) -> Kinds:
    """Part a normal distribution into equally spaced narrower ones, whose mixture it nearly is within their reach."""
    middle = np.linspace(-CLUSTER.reach, CLUSTER.reach, count)
    weight = np.exp(-0.5 * middle**2)
    weight /= weight.sum()
    inner = spread * np.sqrt(1.0 - share)
    away = (values - spread * np.sqrt(share) * middle[:, None]) / inner
    return Kinds(weight, np.exp(0.5 * (values / spread) ** 2 - 0.5 * away**2) * spread / inner)


@dataclass(frozen=True, eq=False)
class Cluster:
    """What is known of a cluster; arrays are logarithms of weights, relative to the prior's."""

    #: Shape (kinds,).
    step: Array
    strength: Array
    #: Shape (walks,).
    walks: Array

    def tilt(self, bank: Bank, weights: Array) -> Array:
        """Return the weights of walks and curves, moved by what is known of the cluster, shape (walks, curves)."""
        factor = np.ones(weights.shape[1])
        for kinds, known in ((step_kinds(bank), self.step), (strength_kinds(bank), self.strength)):
            posterior = kinds.share * np.exp(known - known.max())
            factor *= (posterior / posterior.sum()) @ kinds.ratio
        moved = weights * factor * np.exp(self.walks)[:, None]
        return np.asarray(moved / moved.sum())


def shown(bank: Bank, weights: Array, beyond: bool) -> Cluster:
    """Return what one series shows: log-likelihoods of the kinds, and in `walks` the shares of the walks.

    Parameters
    ----------
    weights : ndarray of shape (walks, curves)
        Of its posterior.
    beyond : bool
        Whether it was measured on several nodes: the step shows nowhere else.
    """
    curve = weights.sum(axis=0)
    step = step_kinds(bank)
    with np.errstate(divide="ignore"):
        steps = np.log(step.ratio @ curve) if beyond else np.zeros(len(step.share))
        return Cluster(np.maximum(steps, -700.0), np.log(strength_kinds(bank).ratio @ curve), weights.sum(axis=1))


def combined(bank: Bank, others: Sequence[Cluster]) -> Cluster:
    """Return what one or more series show together; of many alike no more than `ClusterSettings.most` count."""
    share, count = bank.prior.walk_share, len(others)
    scale = min(1.0, CLUSTER.most / count)
    # In order of size, so that no sum depends on the order of the series.
    parts = zip(*map(_parts, others), strict=True)
    step, strength, walks = (scale * np.sort(np.stack(each), axis=0).sum(axis=0) for each in parts)
    shares = (CLUSTER.walks * share + walks) / (CLUSTER.walks + scale * count)
    return Cluster(step, strength, np.log(shares / share))


def _parts(one: Cluster) -> tuple[Array, Array, Array]:
    """Return the arrays of what a series shows."""
    return one.step, one.strength, one.walks


def without(bank: Bank, shown_by: Mapping[Key, Cluster], key: Key) -> Cluster:
    """Return what the series of a table other than one show together."""
    return combined(bank, [each for other, each in shown_by.items() if other != key])
