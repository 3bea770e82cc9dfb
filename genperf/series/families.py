"""The families of a series: one worker's computation, and the overheads that scaling adds to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, Node, names_in, parse, substitute
from genperf.models import MODELS, Factors, Overhead
from genperf.series.prior import DOUBLING, NAMES, STEP, STEP_BESIDE_DOUBLING, Prior


def registered_overheads() -> dict[str, Overhead]:
    """Return the overheads of all families of `genperf.models` by name, in the order of the prior; new ones last."""
    overheads = {o.name: o for family in MODELS.values() for o in family.overheads}
    learned = {name: overheads[name] for name in NAMES if name in overheads}
    return learned | overheads


@dataclass(frozen=True)
class Work:
    """How one worker's work changes along a series.

    Attributes
    ----------
    each : str
        One worker's work, as a formula over canonical names.
    share : float
        Prior probability.
    varies : bool
        Whether it changes between the measured configurations.
    from_table : bool
        Whether it is a factor that can be asked about, so that a constant beside it means something.
    """

    each: str
    share: float
    varies: bool
    from_table: bool


@dataclass(frozen=True)
class Family:
    """A family of the ensemble.

    Attributes
    ----------
    expression : Expression
        The computation, then the overheads.
    share : float
        Prior probability.
    last : bool
        Whether it is "it stays as it was".
    vague : bool
        Whether the prior of the overheads between nodes is the wider one.
    free_constant : bool
        Whether a constant stands beside work that did not vary: the two are told apart by the prior alone.
    """

    label: str
    expression: Expression
    overheads: tuple[Overhead, ...]
    work: Work
    share: float
    last: bool
    vague: bool
    free_constant: bool

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the overheads' priors: beside a cost per doubling, a step has another one."""
        names = tuple(overhead.name for overhead in self.overheads)
        if DOUBLING not in names:
            return names
        return tuple(STEP_BESIDE_DOUBLING if name == STEP else name for name in names)

    @property
    def beyond(self) -> tuple[bool, ...]:
        """Whether each overhead is one of leaving a node."""
        return tuple(overhead.place in ("between", "growing") for overhead in self.overheads)


@dataclass(frozen=True)
class Layout:
    """What a series tells of the machines it ran on.

    Attributes
    ----------
    nodes_known : bool
        Whether the table tells nodes from workers; every worker counts as a node where it does not.
    inside : bool
        Whether some node holds more than one worker.
    scales : int
        Distinct counts of nodes.
    """

    nodes_known: bool
    inside: bool
    scales: int


def families(factors: Factors, works: Sequence[Work], layout: Layout, prior: Prior) -> list[Family]:
    """Write down the families for a series.

    Parameters
    ----------
    works : sequence of Work
        Possible ways in which the work changes, with their probabilities.
    """
    families: list[Family] = []

    def add(label: str, overheads: tuple[Overhead, ...], work: Work, share: float, last: bool = False) -> None:
        if share <= 0.0:
            return
        free = work.from_table and not work.varies
        terms = ((registered["constant"],) if free else ()) + overheads
        expression = _written(columns, nodes[work.each], work.each, terms)
        vague = work.varies or not layout.nodes_known
        shown = label if len(works) == 1 else f"{label}, {'shared' if work.varies else 'constant'} work"
        families.append(Family(shown, expression, overheads, work, share, last, vague, free))

    registered = registered_overheads()
    nodes_inside = layout.nodes_known and layout.inside
    columns = tuple(f.name for f in factors.factors)
    nodes = {work.each: _nodes(factors, work, layout.nodes_known) for work in works}
    for work in works:
        new = _unlearned(work, layout)
        doubling = prior.doubling if nodes_inside and not works[0].varies else 0.0
        unlearned = prior.unlearned if new else 0.0
        several = 1.0 - prior.last - prior.ideal - doubling - unlearned
        possible = [o for o in registered.values() if o.name in NAMES and _arises(o, work, layout)]
        overheads = tuple(o for o in possible if o.place in ("constant", "inside", "between"))
        serial = prior.serial if layout.scales >= prior.fewest_for_serial else 0.0
        single = prior.single if work.varies else 0.0
        growing = tuple(o for o in possible if o.place == "growing") if serial > 0.0 else ()
        together = several * work.share * (1.0 - single)
        add("overheads", overheads, work, together * (1.0 - serial))
        add("growing overheads", overheads + growing, work, together * serial)
        if nodes_inside and not work.varies:
            add("doublings", (registered[DOUBLING], registered[STEP]), work, doubling * work.share)
        for overhead in overheads + growing:
            share = several * work.share * single / len(overheads + growing)
            add(f"{overhead.name} alone", (overhead,), work, share)
        for name, terms in new.items():
            add(name, terms, work, unlearned * work.share / len(new))
        add("no overhead", (), work, prior.ideal * work.share)
    steady = works[0] if works[0].share == 1.0 else next(w for w in works if not w.varies)
    add("last point", (), steady, prior.last, last=True)
    return families


def _arises(overhead: Overhead, work: Work, layout: Layout) -> bool:
    """Tell whether an overhead can be told from the computation, on machines laid out so."""
    if overhead.place == "constant":
        return work.varies
    return layout.inside or overhead.place != "inside"


def _unlearned(work: Work, layout: Layout) -> dict[str, tuple[Overhead, ...]]:
    """Return the overheads of the registered families that the prior was not learned for, by the family's name."""
    new = {
        family.name: tuple(overhead for overhead in family.overheads if _arises(overhead, work, layout))
        for family in MODELS.values()
        if any(overhead.name not in NAMES for overhead in family.overheads)
    }
    return {name: overheads for name, overheads in new.items() if any(o.name not in NAMES for o in overheads)}


def _nodes(factors: Factors, work: Work, nodes_known: bool) -> tuple[tuple[str, Node | None], ...]:
    """Return what stands for the canonical names that the terms read, over the table's columns."""
    names = ("workers", "nodes", *sorted(names_in(parse(work.each).node)))
    nodes = {name: factors.node(name) for name in dict.fromkeys(names)}
    if not nodes_known:
        nodes["nodes"] = nodes["workers"]
    return tuple(nodes.items())


@lru_cache(maxsize=1024)
def _written(
    columns: tuple[str, ...],
    nodes: tuple[tuple[str, Node | None], ...],
    each: str,
    overheads: tuple[Overhead, ...],
) -> Expression:
    """Write the terms over the table's columns, also those that are zero in it: beyond one node, others begin."""
    computation = Overhead("computation", "a", "a" if each == "1" else f"a*{each}".replace("a*1/", "a/"), "constant")
    known = {name: node for name, node in nodes if node is not None}
    constants: list[str] = []
    terms = []
    for overhead in (computation, *overheads):
        constants.append(_unlike(overhead.constant, (*columns, *constants)))
        formula = substitute(parse(overhead.formula).node, {**known, overhead.constant: Name(constants[-1])})
        terms.append(Term(overhead.name, formula))
    return Expression("series", tuple(terms), tuple(coefficient(name) for name in constants))


def _unlike(name: str, columns: Collection[str]) -> str:
    while name in columns:
        name += "_"
    return name
