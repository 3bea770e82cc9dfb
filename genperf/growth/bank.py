"""A bank of curves: overheads that a series may have, drawn once in a process from what is known before it is measured.

    1 + Σ_k z_k·exp(u_k)·φ_k(n, m),   u_k = μ_k + λ_k·strength + σ_k·e_k,   z_k ~ Bernoulli(p of the class)

with the overheads φ_k of `genperf.models`, their coefficients one, and z_k of classes of series: with overheads, with a
cost per doubling, with few overheads. `prior.json` holds the numbers and where they come from.
"""

import json
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct

from genperf.arrays import AnyArray, Array, Mask
from genperf.formula import Node, Number, evaluate, parse, substitute
from genperf.gaussian import normal_quantiles
from genperf.models import MODELS, Overhead

#: 16k to 64k give the same figures; of 8k the mean error of P1 differs by 0.3 between seeds.
BANK_CURVES = 16384
#: Of the shift of the points around the cube.
BANK_SEED = 1
#: Standard deviation of ln of the common strength of communication, in which the overheads take part.
COMMON_STRENGTH_SD = 0.60
#: Share of the networks between nodes of which nothing is known: learned on halves of 25 sources and DLPerf, of
#: which 0.1 to 0.2 serve both alike (`experiments/results/growth.md`).
UNSEEN_NETWORKS = 0.14
#: Share of the curves that are drawn with such a network, weighed as the share above: a hint asks for their tail.
UNSEEN_DRAWN = 0.3
#: Of ln of such a network's step to the second node, relative to the computation.
UNSEEN_MEDIAN = -2.3
UNSEEN_SPREAD = 3.0
#: Standard deviation of the slope of ln T beyond the data per doubling, in units of the walk's step, and at least: a
#: quiet series shows nothing of the laws that begin beyond it.
SLOPE_SD = 0.75
LEAST_SLOPE = 0.03
#: Mean of that slope towards larger counts, in its standard deviations: laws that begin beyond the data add time. It
#: helps either half of the sources (`experiments/results/growth.md`).
MEAN_SLOPE = 0.1
#: Both, where each device is known to have a node of its own: all exchange passes its link or a server, which saturate
#: (`experiments/decisions/growth-of-a-series.md`).
APART_LEAST_SLOPE = 0.1
APART_MEAN_SLOPE = 0.4
#: Places of some overheads in `prior.json`; its last is the constant.
DOUBLING, STEP, LATENCY = 1, 3, 5


class Prior(Struct, frozen=True, eq=False, dict=True):
    """What `prior.json` holds of the overheads, in its order, and of the walk."""

    overheads: tuple[Overhead, ...]
    shape: Array  #: Shape (overheads, 2). Between which values the exponent or the limit of each lies, log-uniformly.
    #: Shape (overheads,). Of each size relative to the computation at the largest scale: its median, the standard
    #: deviation of its logarithm, and how much it takes part in the common strength.
    median: Array
    spread: Array
    strength: Array
    #: Shape (classes,), (classes, overheads). Of series, and the probability that an overhead arises.
    class_share: Array
    present: Array
    #: Shape (walks,). Standard deviation of ln T per doubling, and the prior share.
    walk_step: Array
    walk_share: Array
    noise: Array  #: Shape (). Standard deviation of one configuration, over that of its walk per doubling.

    @cached_property
    def between(self) -> Mask:
        """Which overheads arise between nodes, shape (overheads,)."""
        return np.array([overhead.place in ("between", "growing") for overhead in self.overheads])

    @cached_property
    def formulas(self) -> tuple[Node, ...]:
        """The overheads over workers and nodes, their coefficients one."""
        return tuple(substitute(parse(o.formula).node, {o.constant: Number(1.0)}) for o in self.overheads)

    @cached_property
    def shaped(self) -> list[int]:
        """The places of the overheads of which each curve has an exponent or a limit of its own."""
        return [place for place, overhead in enumerate(self.overheads) if overhead.shape]

    def values(self, place: int, workers: float, nodes: float, shape: Array | float = 1.0) -> AnyArray:
        """Return an overhead whose coefficient is one at some counts, by its exponents or limits."""
        columns = {"workers": workers, "nodes": nodes, self.overheads[place].shape: shape}
        return np.asarray(evaluate(self.formulas[place], columns))


@cache
def prior() -> Prior:
    """Return the prior that is shipped: the overheads of the file, others of the families, and the constant last.

    An overhead that the file does not name has the mean of the numbers of those in its place (`Overhead.place`).
    """
    plain = json.loads(Path(__file__).with_name("prior.json").read_text(encoding="utf-8"))
    registered = {o.name: o for family in MODELS.values() for o in family.overheads}
    *named, constant = in_file = [registered[name] for name in plain["overheads"]]
    overheads = (*named, *(o for o in registered.values() if o not in in_file), constant)
    classes, walks = plain["classes"].values(), plain["walks"]
    # For each overhead the mask of those in the file whose mean it has: itself, or all in its place.
    stand_ins = [[o is one or (one not in named and o.place == one.place) for o in in_file] for one in overheads]

    def each_of(values: list[float]) -> Array:
        """Return for each overhead the mean of the values that the file has of its stand-ins."""
        return np.array([np.mean(np.array(values)[mask]) for mask in stand_ins])

    return Prior(
        overheads,
        shape=np.array([plain["shape"].get(o.name, [1.0, 1.0]) for o in overheads]),
        **{name: each_of(plain[name]) for name in ("median", "spread", "strength")},
        class_share=np.array([class_record["share"] for class_record in classes]),
        present=np.array([each_of(class_record["present"]) for class_record in classes]),
        walk_step=np.array(walks["step"]),
        walk_share=np.array(walks["share"]),
        noise=np.array(walks["noise"]),
    )


#: Whether there is one device a node → the least deviation of the slope beyond the data, and its mean.
SLOPE_BEYOND = {False: (LEAST_SLOPE, MEAN_SLOPE), True: (APART_LEAST_SLOPE, APART_MEAN_SLOPE)}
#: The place of the constant among the overheads.
CONSTANT = len(prior().overheads) - 1


class Bank(Struct, frozen=True, eq=False, dict=True):
    """Curves of the prior."""

    #: Shape (curves, overheads). Relative to the computation at the largest scale; 0 where an overhead does not arise.
    sizes: Array
    shapes: Array  #: Shape (curves, shaped overheads). Their exponents and limits, in the order of `Prior.shaped`.
    logarithms: Array  #: Shape (curves,). ln of the prior weights, whose mean is one.
    #: Shape (curves,). Whether the step to the second node is that of an unseen network, and ln of its size.
    unseen: Mask
    step: Array
    strength: Array  #: Shape (curves,). The common strength, in the standard deviations of its prior.

    @cached_property
    def present(self) -> Mask:
        """Which overheads arise, shape (curves, overheads)."""
        return self.sizes > 0.0


def _sobol(points: int, dimension: int) -> Array:
    """Return points of a Sobol' sequence, a power of two, each moved to the middle of its cell, (points, dimension)."""
    # Direction numbers of 64 dimensions, of 30 binary digits (Joe & Kuo 2008): scipy takes half a second to import.
    directions = np.array(json.loads(Path(__file__).with_name("sobol.json").read_text("utf-8")), np.int64).T
    before = np.arange(points - 1)
    # The lowest zero bit of the number before is the one that changes in Gray-code order.
    lowest = np.log2(~before & (before + 1)).astype(int)
    steps = np.concatenate([np.zeros((1, dimension), np.int64), directions[lowest, :dimension]])
    return np.asarray(np.bitwise_xor.accumulate(steps, axis=0) / 2.0 ** len(directions) + 0.5 / points)


@cache
def bank(curves: int = BANK_CURVES) -> Bank:
    """Draw the bank, once in a process, at the points of a Sobol sequence.

    Their coordinates are, for each curve: e_k of the overheads, the common strength, the class, whether its network is
    an unseen one, whether each overhead arises, and the exponents or limits.
    """
    constants = prior()
    count = len(constants.overheads)
    points = _sobol(curves, 2 * count + 3 + len(constants.shaped))
    # Shifted around the cube, as the first points lie in one corner of it.
    points += np.random.default_rng(BANK_SEED).random(points.shape[1])
    points -= points >= 1.0
    which = np.searchsorted(np.cumsum(constants.class_share)[:-1], points[:, count + 1])
    unseen = points[:, count + 2] < UNSEEN_DRAWN
    present = points[:, count + 3 : 2 * count + 3] < constants.present[which]
    low, high = np.log(constants.shape[constants.shaped]).T
    # Quantiles take most of the time: those of sizes that are never used, of overheads that do not arise, are left out.
    # The step is used by `Bank.step` in every curve, and so is the strength, the last column.
    used = np.column_stack([present, np.ones(curves, bool)])
    used[:, STEP] = True
    normal = np.zeros(used.shape)
    normal[used] = normal_quantiles(points[:, : count + 1][used])
    samples = normal[:, :count]
    # u_k = μ_k + σ_k·e_k + λ_k·strength; that of an unseen network's step is by itself.
    logarithms = np.log(constants.median) + constants.spread * samples
    logarithms += COMMON_STRENGTH_SD * normal[:, count, None] * constants.strength
    heavy = UNSEEN_MEDIAN + UNSEEN_SPREAD * samples[:, STEP]
    logarithms[:, STEP] = np.where(unseen, heavy, logarithms[:, STEP])
    return Bank(
        # Curve after curve of one overhead: sums over the overheads take half the time.
        np.asfortranarray(np.where(present, np.exp(logarithms), 0.0)),
        np.exp(low + (high - low) * points[:, 2 * count + 3 :]),
        np.log(np.where(unseen, UNSEEN_NETWORKS / UNSEEN_DRAWN, (1.0 - UNSEEN_NETWORKS) / (1.0 - UNSEEN_DRAWN))),
        unseen,
        logarithms[:, STEP],
        normal[:, count],
    )
