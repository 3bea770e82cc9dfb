"""A bank of curves: overheads that a series may have, drawn once in a process from what is known before it is measured.

    1 + Σ_k z_k·exp(u_k)·φ_k(n, m),   u_k = μ_k + λ_k·strength + σ_k·e_k,   z_k ~ Bernoulli(p of the class)

with the overheads φ_k of `genperf.models` at their units, and z_k of classes of series: with overheads, with a cost per
doubling, with few overheads. `prior.json` holds the numbers and where they come from.
"""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from genperf.arrays import Array, Mask
from genperf.formula import Node, Number, evaluate, parse, substitute
from genperf.models import MODELS, Overhead
from genperf.sobol import sobol


@dataclass(frozen=True)
class BankSettings:
    """How the bank is drawn, and the parts of the prior that are not in `prior.json`."""

    #: 16k to 64k give the same figures; of 8k the mean error of P1 differs by 0.3 between seeds.
    curves: int = 16384
    #: Of the shift of the points around the cube.
    seed: int = 1
    #: Standard deviation of ln of the common strength of communication, in which the overheads take part.
    strength: float = 0.60
    #: Share of the networks between nodes of which nothing is known. Set, not learned: no corpus holds all networks.
    unseen: float = 0.4
    #: `unseen_median`, `unseen_spread`: of ln of such a network's step to the second node, relative to the computation.
    unseen_median: float = -2.3
    unseen_spread: float = 3.3
    #: `usual_time`, `usual_range`: overheads are about constant in seconds, thus relatively smaller for steps longer
    #: than the usual time; far from it, in units of ln, nothing is concluded.
    usual_time: float = 0.3
    usual_range: float = 1.8
    #: Standard deviation of the slope of ln T beyond the data per doubling, in units of the walk's step.
    slope: float = 0.75
    #: `central_unseen`, `central_absent`: of the central value: the share of unseen networks, and a factor for each
    #: overhead between nodes that does not arise. A heavy tail belongs to the upper bound.
    central_unseen: float = 0.1
    central_absent: float = 2.0


BANK = BankSettings()
#: Places of some overheads in `prior.json`; its last is the constant.
DOUBLING, STEP, LATENCY = 1, 3, 5


@dataclass(frozen=True, eq=False)
class Prior:
    """What `prior.json` holds of the overheads, in its order, and of the walk."""

    overheads: tuple[Overhead, ...]
    #: Shape (overheads,). What the formula of each is divided by to have the size one: eight workers, nine nodes.
    units: Array
    #: Shape (overheads,). Of each size relative to the computation at the largest scale: its median, the standard
    #: deviation of its logarithm, how much it takes part in the common strength, and how much `shorter` moves it.
    median: Array
    spread: Array
    strength: Array
    seconds: Array
    #: Shape (classes,), (classes, overheads). Of series, and the probability that an overhead arises.
    class_share: Array
    present: Array
    #: Shape (walks,). Standard deviation of ln T per doubling, and the prior share.
    walk_step: Array
    walk_share: Array
    #: Shape (). Standard deviation of one configuration, over that of its walk per doubling.
    noise: Array

    @cached_property
    def between(self) -> Mask:
        """Which overheads arise between nodes, shape (overheads,)."""
        return np.array([each.place in ("between", "growing") for each in self.overheads])

    @cached_property
    def formulas(self) -> tuple[Node, ...]:
        """The overheads over workers and nodes, their coefficients one."""
        return tuple(substitute(parse(o.formula).node, {o.constant: Number(1.0)}) for o in self.overheads)

    def shapes(self, workers: Array, nodes: Array) -> Array:
        """Return the overheads of size one at some counts of workers and nodes, shape (overheads, counts)."""
        out = np.empty((len(self.formulas), len(workers)))
        for row, formula, unit in zip(out, self.formulas, self.units, strict=True):
            row[:] = evaluate(formula, {"workers": workers, "nodes": nodes}) / unit
        return out


@cache
def prior() -> Prior:
    """Return the prior that is shipped; an overhead that it does not name has the mean of those in its place."""
    plain = json.loads(Path(__file__).with_name("prior.json").read_text(encoding="utf-8"))
    registered = {o.name: o for family in MODELS.values() for o in family.overheads}
    *named, constant = (registered[name] for name in plain["overheads"])
    overheads = (*named, *(o for o in registered.values() if o not in (*named, constant)), constant)
    alike = [[o is one or (one not in named and o.place == one.place) for o in (*named, constant)] for one in overheads]
    classes, walks = plain["classes"].values(), plain["walks"]

    def each_of(values: list[float]) -> Array:
        return np.array([np.mean(np.array(values)[which]) for which in alike])

    return Prior(
        overheads,
        **{name: each_of(plain[name]) for name in ("units", "median", "spread", "strength", "seconds")},
        class_share=np.array([each["share"] for each in classes]),
        present=np.array([each_of(each["present"]) for each in classes]),
        walk_step=np.array(walks["step"]),
        walk_share=np.array(walks["share"]),
        noise=np.array(walks["noise"]),
    )


#: The place of the constant among the overheads.
CONSTANT = len(prior().overheads) - 1


def shorter(seconds: float) -> float:
    """Return how far ln of an overhead's relative size is moved: −τ·exp(−½(τ/range)²), τ = ln(T/usual)."""
    tau = float(np.log(seconds / BANK.usual_time))
    return -tau * float(np.exp(-0.5 * (tau / BANK.usual_range) ** 2))


@dataclass(frozen=True, eq=False)
class Bank:
    """Curves of the prior."""

    #: Shape (curves, overheads). Relative to the computation at the largest scale; 0 where an overhead does not arise.
    sizes: Array
    #: Shape (curves,). Whether the step to the second node is that of an unseen network, and ln of its size.
    unseen: Mask
    step: Array
    #: Shape (curves,). The common strength, in the standard deviations of its prior.
    strength: Array
    #: Shape (curves, overheads).
    present: Mask
    #: Shape (curves,). The logarithm of a curve's weight is h·moved − h²·squared, where the overheads' logarithms are
    #: moved by h.
    moved: Array
    squared: Array

    @cached_property
    def central(self) -> Array:
        """Return the ratio of a curve's weight for the central value to that for the interval, shape (curves,)."""
        usual = (1.0 - BANK.central_unseen) / (1.0 - BANK.unseen)
        network = np.where(self.unseen, BANK.central_unseen / BANK.unseen, usual)
        network[~self.present[:, STEP]] = 1.0
        return np.asarray(network * BANK.central_absent ** np.sum(prior().between & ~self.present, axis=1))


@cache
def bank(curves: int = BANK.curves) -> Bank:
    """Draw the bank: once in a process."""
    known = prior()
    count = len(known.overheads)
    points = sobol(curves, 2 * count + 3)
    # The first points lie in one corner of the cube.
    points = (points + np.random.default_rng(BANK.seed).random(points.shape[1])) % 1.0
    normal = ndtri(points[:, : count + 1])
    which = np.searchsorted(np.cumsum(known.class_share)[:-1], points[:, count + 1])
    unseen = points[:, count + 2] < BANK.unseen
    present = points[:, count + 3 :] < known.present[which]
    each = normal[:, :count]
    logarithms = np.log(known.median) + known.spread * each
    logarithms += BANK.strength * normal[:, count, None] * known.strength
    heavy = BANK.unseen_median + BANK.unseen_spread * each[:, STEP]
    logarithms[:, STEP] = np.where(unseen, heavy, logarithms[:, STEP])
    moves = present * (known.seconds / known.spread)
    moves[unseen, STEP] = 0.0
    return Bank(
        np.where(present, np.exp(logarithms), 0.0),
        unseen,
        logarithms[:, STEP],
        normal[:, count],
        present,
        np.sum(moves * each, axis=1),
        0.5 * np.sum(moves**2, axis=1),
    )
