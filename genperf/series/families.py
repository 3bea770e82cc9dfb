"""The families of a series: one worker's computation, and what scaling adds to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, Node, parse, substitute
from genperf.models.family import Factors
from genperf.series.prior import Expectations, Sizes

#: Term name → constant, formula over canonical factors, and what the formula is divided by where a prior is set for it;
#: 0 stands for the largest measured number of nodes.
#: m nodes hold g = n/m workers each. Inside a node: the ring's share of bytes, and contention for what its workers
#: share. Between nodes: a step where the first is left, a ring's share of bytes, a latency per doubling, and messages
#: one after another.
OVERHEADS: dict[str, tuple[str, str, float]] = {
    "constant": ("c", "c", 1.0),
    "inside nodes": ("beta_r", "beta_r*max(1 - nodes/workers, 0)", 1.0),
    "contention": ("kappa", "kappa*(workers/nodes - 1)**2", 64.0),
    "leaving the node": ("d", "d*where(nodes > 1, 1, 0)", 1.0),
    "between nodes": ("beta_n", "beta_n*(1 - 1/nodes)", 1.0),
    "latency": ("alpha", "alpha*log2(nodes)", 1.0),
    "one after another": ("gamma", "gamma*(nodes - 1)", 0.0),
}
INSIDE = ("inside nodes", "contention")
BETWEEN = ("leaving the node", "between nodes", "latency")
SERIAL = "one after another"


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
class Scaling:
    """A family of the ensemble.

    Attributes
    ----------
    label : str
    expression : Expression
        The computation, then the overheads.
    overheads : tuple of str
    work : Work
    sizes : Sizes
        Of the overheads' priors.
    share : float
        Prior probability.
    last : bool
        Whether it is "it stays as it was".
    vague : bool
        Whether the prior of the overheads between nodes is the wider one.
    free_constant : bool
        Whether a constant stands beside work that did not vary: the two are told apart by the prior alone.
    nodes : {"nodes", "workers"}
        What is counted as nodes.
    """

    label: str
    expression: Expression
    overheads: tuple[str, ...]
    work: Work
    sizes: Sizes
    share: float
    last: bool
    vague: bool
    free_constant: bool
    nodes: str


def families(
    found: Factors, works: Sequence[Work], nodes_known: bool, inside: bool, scales: int, given: Expectations
) -> list[Scaling]:
    """Write down the families for a series.

    Parameters
    ----------
    found : Factors
    works : sequence of Work
        Possible ways in which the work changes, with their probabilities.
    nodes_known : bool
        Whether the table tells nodes from workers; every worker counts as a node where it does not.
    inside : bool
        Whether some node holds more than one worker.
    scales : int
        Distinct counts of nodes.
    given : Expectations
    """
    out: list[Scaling] = []

    def add(label: str, overheads: tuple[str, ...], work: Work, sizes: Sizes, share: float, last: bool = False) -> None:
        if share <= 0.0:
            return
        free = work.from_table and not work.varies
        terms = (("constant",) if free else ()) + overheads
        expression = _expression(found, work, terms, nodes_known)
        vague = work.varies or not nodes_known
        shown = label if len(works) == 1 else f"{label}, {'shared' if work.varies else 'constant'} work"
        nodes = "nodes" if nodes_known else "workers"
        out.append(Scaling(shown, expression, overheads, work, sizes, share, last, vague, free, nodes))

    rest = 1.0 - given.last - given.ideal
    for work in works:
        overheads = (("constant",) if work.varies else ()) + (INSIDE if inside else ()) + BETWEEN
        serial = given.serial if scales >= given.fewest_for_serial else 0.0
        single = given.single if work.varies else 0.0
        growing = (SERIAL,) if serial > 0.0 else ()
        for setting, (share, sizes) in enumerate(given.settings):
            mark = "" if setting == 0 else f" ({setting + 1})"
            all_ = rest * work.share * share
            add(f"overheads{mark}", overheads, work, sizes, all_ * (1.0 - single) * (1.0 - serial))
            add(f"growing overheads{mark}", overheads + growing, work, sizes, all_ * (1.0 - single) * serial)
        for name in overheads + growing:
            share = rest * work.share * single / len(overheads + growing)
            add(f"{name} alone", (name,), work, given.settings[0][1], share)
        add("no overhead", (), work, given.settings[0][1], given.ideal * work.share)
    steady = works[0] if works[0].share == 1.0 else next(w for w in works if not w.varies)
    add("last point", (), steady, given.settings[0][1], given.last, last=True)
    return out


def _expression(found: Factors, work: Work, overheads: Sequence[str], nodes_known: bool) -> Expression:
    """Write the terms over the table's columns, also those that are zero in it: beyond one node, others begin."""
    texts = {"computation": "a" if work.each == "1" else f"a*{work.each}".replace("a*1/", "a/")}
    for name in overheads:
        text = OVERHEADS[name][1]
        texts[name] = text if nodes_known else text.replace("nodes", "workers")
    columns = {f.name for f in found.factors}
    constants = ["a", *(OVERHEADS[name][0] for name in overheads)]
    fresh = {name: _unlike(name, columns) for name in constants}
    known: dict[str, Node] = {old: Name(new) for old, new in fresh.items()}
    for text in texts.values():
        for name in parse(text).names:
            node = None if name in known else found.node(name)
            if node is not None:
                known[name] = node
    terms = tuple(Term(name, substitute(parse(text).node, known)) for name, text in texts.items())
    return Expression("series", terms, tuple(coefficient(name) for name in fresh.values()))


def _unlike(name: str, columns: Collection[str]) -> str:
    while name in columns:
        name += "_"
    return name
