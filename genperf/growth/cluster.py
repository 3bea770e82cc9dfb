"""What the series of a table show of the cluster they share: three tilts of the weights of the bank.

A cluster of a kind has steps to the second node about one size, and communication about one strength; the series of a
table wander alike.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from genperf.arrays import Array
from genperf.growth.bank import COMMON_STRENGTH_SD, STEP, UNSEEN_NETWORKS, bank, prior

#: Kinds of cluster that stand for a normal distribution, and how many standard deviations they reach.
CLUSTER_KINDS = 15
CLUSTER_REACH = 2.5
#: Share of the variance that is the cluster's: of the step to the second node in a usual network, of the strength.
STEP_SHARE, STRENGTH_SHARE = 0.71, 1.0 / 6.0
#: Series that the prior shares of the walks count as.
WALK_SERIES = 6.0


class Kinds(NamedTuple):
    """Kinds of cluster, by their step to the second node or by the common strength."""

    share: Array  #: Shape (kinds,). Before any series is known.
    ratio: Array  #: Shape (kinds, curves). Density of a curve in a cluster of each kind over that of the prior.


@cache
def step_kinds() -> Kinds:
    """Return the kinds of step to the second node in a usual network, and last that of an unseen one."""
    drawn, beliefs = bank(), prior()
    spread = float(np.hypot(beliefs.spread[STEP], COMMON_STRENGTH_SD * beliefs.strength[STEP]))
    usual, share = _kinds(drawn.step - np.log(beliefs.median[STEP]), spread, STEP_SHARE), 1.0 - UNSEEN_NETWORKS
    # A step that does not arise shows nothing but its absence.
    ratio = np.where(drawn.present[:, STEP], usual.ratio, 1.0) * ~drawn.unseen / share
    ratio_of_unseen = drawn.unseen / UNSEEN_NETWORKS
    return Kinds(np.append(share * usual.share, UNSEEN_NETWORKS), np.vstack([ratio, ratio_of_unseen]))


@cache
def strength_kinds() -> Kinds:
    """Return the kinds of common strength of communication."""
    return _kinds(bank().strength, 1.0, STRENGTH_SHARE)


def _kinds(values: Array, spread: float, share: float) -> Kinds:
    """Part N(0, s²), s the `spread`, into equally spaced narrower ones, whose mixture it nearly is.

    A `share` ρ of the variance is between them: kind k is N(s·√ρ·z_k, (1 − ρ)·s²), with z_k its `middle`. Its ratio is
    its density over that of N(0, s²) at each of the values.
    """
    middle = np.linspace(-CLUSTER_REACH, CLUSTER_REACH, CLUSTER_KINDS)
    weight = np.exp(-0.5 * middle**2)
    inner = spread * np.sqrt(1.0 - share)
    away = (values - spread * np.sqrt(share) * middle[:, None]) / inner
    return Kinds(weight / weight.sum(), np.exp(0.5 * (values / spread) ** 2 - 0.5 * away**2) * spread / inner)


class Cluster(Struct, frozen=True, eq=False, dict=True):
    """What one series or several show of their cluster."""

    #: Log-likelihoods of the kinds of step and of the kinds of strength, and the shares of the walks, summed.
    sums: tuple[Array, Array, Array]
    series: float = 1.0  #: Series that count.

    @cached_property
    def tilt(self) -> tuple[Array, Array]:
        """What the weights of walks and curves of another series are multiplied by, shapes (walks,) and (curves,)."""
        *log_likelihoods, walks = self.sums
        shares = (WALK_SERIES * prior().walk_share + walks) / (WALK_SERIES + self.series)
        curves = np.ones(len(bank().step))
        for kinds, log in zip((step_kinds(), strength_kinds()), log_likelihoods, strict=True):
            # The mean density ratio of a curve over the kinds, by their probabilities after the series.
            posterior = kinds.share * np.exp(log - log.max())
            curves *= (posterior / posterior.sum()) @ kinds.ratio
        return shares / prior().walk_share, curves


def shown(weights: Array, beyond: bool) -> Cluster:
    """Return what the weights of one series, (walks, curves), show of its cluster; the step only beyond one node.

    The likelihood of a kind is the mean of its density ratio over the curves by their weights.
    """
    walks = weights.sum(axis=1) / weights.sum()
    curve, step = weights.sum(axis=0) / weights.sum(), step_kinds()
    ratios = step.ratio @ curve if beyond else np.ones(len(step.share))
    strength = np.log(strength_kinds().ratio @ curve)
    return Cluster((np.log(np.maximum(ratios, 1e-300)), strength, walks))


def combined(others: Sequence[Cluster]) -> Cluster | None:
    """Return what several series show of their cluster together; None without a series."""
    if not others:
        return None
    # In order of size, so that no sum depends on the order of the series.
    by_kind = zip(*(c.sums for c in others), strict=True)
    step, strength, walks = (np.sort(np.stack(sums), axis=0).sum(axis=0) for sums in by_kind)
    return Cluster((step, strength, walks), len(others))
