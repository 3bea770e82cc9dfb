"""A fixed bank of curves: possible sizes of the overheads of a series, drawn once in a process and only reweighted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from genperf.growth.prior import Prior, shipped
from genperf.growth.sobol import sobol

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class BankSettings:
    """How the bank is drawn."""

    #: 16k to 64k give the same figures; of 8k the mean error of P1 differs by 0.3 between seeds.
    curves: int = 16384
    #: Of the shift of the points around the cube.
    seed: int = 1


@dataclass(frozen=True)
class CentreSettings:
    """The prior of the central value, where it is not that of the interval: a heavy tail belongs to the upper bound."""

    #: Share of the networks of which nothing is known.
    unseen: float = 0.1
    #: Factor for each overhead between nodes that does not arise.
    absent: float = 2.0


CENTRE = CentreSettings()
#: Which overheads arise between nodes, in the order of the prior.
BETWEEN = np.array([False, False, False, True, True, True, True, False])
#: Places of some of them.
DOUBLING, STEP, LATENCY, CONSTANT = 1, 3, 5, 7


@dataclass(frozen=True, eq=False)
class Bank:
    """Curves of a prior."""

    prior: Prior
    #: Shape (curves, overheads). Relative to the computation at the largest scale; 0 where an overhead does not arise.
    sizes: Array
    #: Shape (curves,). Whether the step to the second node is that of an unseen network.
    unseen: Flags
    #: Shape (curves,). ln of the size of the step, and of the common strength, in the standard deviations of its prior.
    step: Array
    strength: Array
    #: Shape (curves, overheads).
    present: Flags
    #: Shape (curves,). The logarithm of a curve's weight is h·moved − h²·squared, where the overheads' logarithms are
    #: moved by h.
    moved: Array
    squared: Array

    @cached_property
    def central(self) -> Array:
        """Return the ratio of a curve's weight for the central value to that for the interval, shape (curves,)."""
        at = CENTRE
        unseen = self.prior.settings.unseen
        network = np.where(self.unseen, at.unseen / unseen, (1.0 - at.unseen) / (1.0 - unseen))
        network[~self.present[:, STEP]] = 1.0
        return np.asarray(network * at.absent ** np.sum(BETWEEN & ~self.present, axis=1))


@cache
def bank(prior: Prior | None = None, settings: BankSettings = BankSettings()) -> Bank:
    """Draw the bank of a prior, or of the shipped one: once in a process."""
    prior = prior or shipped()
    count = len(prior.names)
    points = sobol(settings.curves, 2 * count + 3)
    # The first points lie in one corner of the cube.
    points = (points + np.random.default_rng(settings.seed).random(points.shape[1])) % 1.0
    normal = ndtri(points[:, : count + 1])
    which = np.searchsorted(np.cumsum(prior.class_share)[:-1], points[:, count + 1])
    unseen = points[:, count + 2] < prior.settings.unseen
    present = points[:, count + 3 :] < prior.present[which]
    strength = normal[:, count]
    each = normal[:, :count]
    logarithms = np.log(prior.median) + prior.spread * each
    logarithms += prior.settings.strength * strength[:, None] * prior.strength
    heavy = prior.settings.unseen_median + prior.settings.unseen_spread * each[:, STEP]
    logarithms[:, STEP] = np.where(unseen, heavy, logarithms[:, STEP])
    moves = present * (prior.seconds / prior.spread)
    moves[unseen, STEP] = 0.0
    return Bank(
        prior,
        np.where(present, np.exp(logarithms), 0.0),
        unseen,
        logarithms[:, STEP],
        strength,
        present,
        np.sum(moves * each, axis=1),
        0.5 * np.sum(moves**2, axis=1),
    )
