"""The families of a series: one worker's computation, and what scaling adds to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, Node, names_in, parse, substitute
from genperf.models.family import Factors
from genperf.series.prior import BETWEEN, DOUBLING, SERIAL, STEP, STEP_BESIDE_DOUBLING, Prior

#: Term name → constant, formula over canonical factors, and what the formula is divided by where a prior is set for it;
#: 0 stands for the largest measured number of nodes.
#: m nodes hold g = n/m workers each. Inside a node: the ring's share of bytes, and contention for what its workers
#: share. Between nodes: a step where the first is left, a ring's share of bytes, a latency per doubling, and messages
#: one after another. A cost per doubling of the workers makes no difference between inside and outside.
OVERHEADS: dict[str, tuple[str, str, float]] = {
    "constant": ("c", "c", 1.0),
    "inside nodes": ("beta_r", "beta_r*max(1 - nodes/workers, 0)", 1.0),
    "contention": ("kappa", "kappa*(workers/nodes - 1)**2", 64.0),
    "leaving the node": ("d", "d*where(nodes > 1, 1, 0)", 1.0),
    "between nodes": ("beta_n", "beta_n*(1 - 1/nodes)", 1.0),
    "latency": ("alpha", "alpha*log2(nodes)", 1.0),
    "one after another": ("gamma", "gamma*(nodes - 1)", 0.0),
    "per doubling": ("delta", "delta*log2(workers)", 1.0),
}
INSIDE = ("inside nodes", "contention")


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
    label : str
    expression : Expression
        The computation, then the overheads.
    overheads : tuple of str
    work : Work
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
    overheads: tuple[str, ...]
    work: Work
    share: float
    last: bool
    vague: bool
    free_constant: bool

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the overheads' priors: beside a cost per doubling, a step has another one."""
        if DOUBLING not in self.overheads:
            return self.overheads
        return tuple(STEP_BESIDE_DOUBLING if name == STEP else name for name in self.overheads)


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
    factors : Factors
    works : sequence of Work
        Possible ways in which the work changes, with their probabilities.
    layout : Layout
    prior : Prior
    """
    families: list[Family] = []

    def add(label: str, overheads: tuple[str, ...], work: Work, share: float, last: bool = False) -> None:
        if share <= 0.0:
            return
        free = work.from_table and not work.varies
        terms = (("constant",) if free else ()) + overheads
        expression = _expression(factors, work, terms, layout.nodes_known)
        vague = work.varies or not layout.nodes_known
        shown = label if len(works) == 1 else f"{label}, {'shared' if work.varies else 'constant'} work"
        families.append(Family(shown, expression, overheads, work, share, last, vague, free))

    doubling = prior.doubling if layout.nodes_known and layout.inside and not works[0].varies else 0.0
    several = 1.0 - prior.last - prior.ideal - doubling
    for work in works:
        overheads = (("constant",) if work.varies else ()) + (INSIDE if layout.inside else ()) + BETWEEN
        serial = prior.serial if layout.scales >= prior.fewest_for_serial else 0.0
        single = prior.single if work.varies else 0.0
        growing = (SERIAL,) if serial > 0.0 else ()
        together = several * work.share * (1.0 - single)
        add("overheads", overheads, work, together * (1.0 - serial))
        add("growing overheads", overheads + growing, work, together * serial)
        if layout.nodes_known and layout.inside and not work.varies:
            add("doublings", (DOUBLING, STEP), work, doubling * work.share)
        for name in overheads + growing:
            add(f"{name} alone", (name,), work, several * work.share * single / len(overheads + growing))
        add("no overhead", (), work, prior.ideal * work.share)
    steady = works[0] if works[0].share == 1.0 else next(w for w in works if not w.varies)
    add("last point", (), steady, prior.last, last=True)
    return families


def _expression(factors: Factors, work: Work, overheads: tuple[str, ...], nodes_known: bool) -> Expression:
    """Write the terms over the table's columns, also those that are zero in it: beyond one node, others begin.

    Parameters
    ----------
    factors : Factors
    work : Work
    overheads : tuple of str
    nodes_known : bool
    """
    names = ("workers", "nodes", *sorted(names_in(parse(work.each).node)))
    nodes = tuple((name, factors.node(name)) for name in dict.fromkeys(names))
    return _written(tuple(f.name for f in factors.factors), nodes, work.each, overheads, nodes_known)


@lru_cache(maxsize=1024)
def _written(
    columns: tuple[str, ...],
    nodes: tuple[tuple[str, Node | None], ...],
    each: str,
    overheads: tuple[str, ...],
    nodes_known: bool,
) -> Expression:
    """Write an expression, once for all series whose columns have the same names.

    Parameters
    ----------
    columns : tuple of str
        Names that constants must not have.
    nodes : tuple of (str, Node or None)
        What stands for a canonical name.
    each : str
        One worker's work.
    overheads : tuple of str
    nodes_known : bool
    """
    texts = {"computation": "a" if each == "1" else f"a*{each}".replace("a*1/", "a/")}
    for name in overheads:
        text = OVERHEADS[name][1]
        texts[name] = text if nodes_known else text.replace("nodes", "workers")
    constants = ["a", *(OVERHEADS[name][0] for name in overheads)]
    fresh = {name: _unlike(name, columns) for name in constants}
    known: dict[str, Node] = {old: Name(new) for old, new in fresh.items()}
    known |= {name: node for name, node in nodes if node is not None and name not in known}
    terms = tuple(Term(name, substitute(parse(text).node, known)) for name, text in texts.items())
    return Expression("series", terms, tuple(coefficient(name) for name in fresh.values()))


def _unlike(name: str, columns: Collection[str]) -> str:
    while name in columns:
        name += "_"
    return name
