"""Synchronous SGD phase by phase: input, transfer, forward, backward, exchange and update, overlapped or not."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from msgspec.structs import replace

from genperf.expression import Expression
from genperf.models.compose import LEAST_COUNTS, SERIAL, compose
from genperf.models.exchanges import among_peers, through_servers
from genperf.models.family import Family
from genperf.panel import Panel, Share, share

Overlap = Literal["full", "part", "input", "gradients", "gradients-part", "none"]

PASSES = ("forward", "backward")
READING = ("input", "transfer")

_TOTAL = "max(t_io + t_h2d, t_f + max(t_b, t_c) + t_u)"
_PART = "s·(t_b + t_c) + (1 − s)·max(t_b, t_c)"


class _Law(NamedTuple):
    """The time of a step by what hides behind what."""

    equation: str
    hides: str  #: Behind "phases of a step", in a purpose.
    #: As that of a `Family`: a column of the input, or of the exchange, shows what it hides behind.
    shown_by: tuple[tuple[str, ...], ...] = ()


_EXCHANGED = (("backward",), ("exchange",))
_LAWS: dict[Overlap, _Law] = {
    "full": _Law(_TOTAL, "; input prefetched, gradients exchanged during the backward pass"),
    "part": _Law(
        f"max(t_io + t_h2d, t_f + {_PART} + t_u)",
        "; input prefetched, gradients of all but the last layer exchanged during the backward pass",
        _EXCHANGED,
    ),
    "input": _Law("max(t_io + t_h2d, t_f + t_b + t_c + t_u)", "; only the input is prefetched"),
    "gradients": _Law(
        "t_io + t_h2d + t_f + max(t_b, t_c) + t_u",
        "; only gradients are exchanged during the backward pass",
        (READING,),
    ),
    "gradients-part": _Law(
        f"t_io + t_h2d + t_f + {_PART} + t_u",
        "; only gradients of all but the last layer are exchanged during the backward pass",
        (READING, *_EXCHANGED),
    ),
    "none": _Law("t_io + t_f + t_b + t_c + t_u", ", one after another"),
}


def _in_rings(factors: Panel) -> dict[str, str]:
    """Return the terms of an all-reduce, a ring inside the nodes and one between them."""
    terms = {"ring": "2*beta_n*bytes*(1 - 1/workers)"}
    if factors.has("nodes"):
        inside, between = "2*beta_r*bytes*(1 - nodes/workers)", "2*beta_n*bytes*(1 - 1/nodes)"
        terms = {"inside nodes": inside, "between nodes": between}
    return {**terms, "latency": "2*alpha*(workers - 1)"}


#: The terms of what carries the gradients: rings, the usual one, servers or peers.
Exchange = Callable[[Panel], dict[str, str]]
_EXCHANGES: tuple[Exchange, ...] = (_in_rings, through_servers, among_peers)


def build(
    factors: Panel,
    overlap: Overlap = "full",
    family: str = "s-sgd",
    by: Exchange = _in_rings,
    updated: bool = True,
    work: Share | None = None,
) -> Expression:
    """Write one iteration of synchronous SGD on m nodes of g = n/m devices, by one of the equations of `_LAWS`.

    After Shi, Wang & Chu (2018), "Performance modeling and evaluation of distributed deep learning frameworks on
    GPUs": frameworks differ in whether they prefetch the input, and whether they exchange gradients during the backward
    pass. In `part` and `gradients-part` those of the layer that is computed last have nothing to hide behind. What the
    phases depend on is our derivation, with w one worker's work:

        t_io = i·g·w    the devices of a node share its storage
        t_h2d = h·w     host to device
        t_f = a·w/3, t_b = 2·a·w/3
        t_c = 2·β_r·M·(g−1)/g + 2·β_n·M·(m−1)/m + 2·α·(n−1)
        t_u = u

    Where w is always the same, t_u is left in t_f, and t_h2d in t_io. Without overlap t_h2d is in t_f. Without nodes
    t_io has no g and is one with t_h2d, and t_c is one ring of n. A phase with a measured column has separate terms,
    the passes t_f = a_f·w + c_f and t_b = a_b·w + c_b; a measured exchange may be one with servers or among peers
    (`by`). Without `updated` there is no t_u. Without `work`, w is what the columns show.
    """
    work = work or share(factors)
    exchange, reading, passes = by(factors), _input_terms(factors, work, overlap), _passes(factors, work)
    update = {"update": "u"} if updated else {}
    terms, total = {**reading, **passes, **exchange, **update}, _total(overlap, reading, exchange, update)
    # Term → the one beside which, where that is constant, it is left out: a fit cannot separate two constants.
    unmeasured = [name for name in PASSES if name not in factors.phases]
    spare = {"update": unmeasured[0]} if unmeasured and "update" not in factors.phases else {}
    if "input" in reading and factors.phases.isdisjoint(READING):
        spare["transfer"] = "transfer"  # the input stands for both where it is constant
    return compose(family, terms, factors, total, [SERIAL], spare)


def _total(overlap: Overlap, *phases: Mapping[str, str]) -> str | None:
    """Return a law over the names of terms of the input, the exchange and the update; None for a sum of all terms."""
    if overlap == "none":
        return None
    text = _LAWS[overlap].equation
    for symbol, phase in zip(("t_io + t_h2d", "t_c", "t_u"), phases, strict=True):
        terms = " + ".join(f"`{name}`" for name in phase)
        text = text.replace(symbol, terms) if terms else text.replace(f" + {symbol}", "")
    for symbol, name in {"t_f": "forward", "t_b": "backward", "s·": "serial*", "− s)·": "- serial)*"}.items():
        text = text.replace(symbol, name)
    return text


def laws(factors: Panel, overlap: Overlap, family: str) -> Sequence[Expression]:
    """Return the expressions of an overlap for measured phases, by each exchange, update and work left open."""
    shared = share(factors)
    works = (shared,) if shared.known or not factors.phases & {*READING, *PASSES} else (shared, Share("1", "workers"))
    distinguishable = "exchange" in factors.phases and factors.varies("workers", LEAST_COUNTS)
    updates = (True,) if "update" in factors.phases or not factors.phases else (False, True)
    carriers = _EXCHANGES if distinguishable else _EXCHANGES[:1]
    return [
        build(factors, overlap, family, by, updated, work) for by in carriers for updated in updates for work in works
    ]


def candidates(factors: Panel) -> Sequence[Expression]:
    """Return the expressions of the overlaps that the measured phases can show."""
    return [build(factors, overlap) for overlap, family in OVERLAPS.items() if family.shown(factors.phases)]


def _input_terms(factors: Panel, work: Share, overlap: Overlap) -> dict[str, str]:
    """Return the terms of reading the input and of its transfer, as far as measurements separate them."""
    measured, nodes = factors.phases, factors.has("nodes")
    # The devices of a node share its storage.
    terms = {"input": work.of("i") + ("*(workers/nodes)" if nodes else ""), "transfer": work.of("h")}
    inseparable = set[str]()
    if not nodes and measured.isdisjoint(READING):
        # Both are in proportion to the work of one worker: the transfer stands for both.
        inseparable = {"input"}
    if overlap == "none" and not measured.issuperset(PASSES):
        # A pass that is not measured is in proportion to the work as well, and stands for both.
        inseparable = ({"transfer"} if nodes else {*READING}) - measured
    return {name: text for name, text in terms.items() if name not in inseparable}


def _passes(factors: Panel, work: Share) -> dict[str, str]:
    """Return the passes, a·w/3 forward and 2·a·w/3 backward; where one is measured, a_f·w + c_f and a_b·w + c_b."""
    if not factors.phases & {"forward", "backward"}:
        return {"forward": f"{work.of('a')}/3", "backward": f"{work.of('2*a')}/3"}
    fixed = not factors.varies(work.per_worker if work.known else "workers")
    constants = {name: f" + c_{name[0]}" if name in factors.phases and not fixed else "" for name in PASSES}
    return {name: work.of(f"a_{name[0]}") + constants[name] for name in PASSES}


FAMILY = Family(
    name="s-sgd",
    equation=f"{_TOTAL}, or with less overlap",
    source="Shi, Wang & Chu 2018",
    purpose="phases of a step, with the overlap that predicts held-out runs best",
    uses=("nodes", "batch", "work", "bytes"),
    build=candidates,
    phases={
        **{name: (name,) for name in (*READING, *PASSES, "update")},
        "exchange": ("inside nodes", "between nodes", "ring", "latency", "bandwidth", "requests", "messages"),
    },
    overlaps=tuple(f"s-sgd-{overlap}" for overlap in _LAWS),
)


#: The families that combine the phases of a step in one way: `FAMILY` with the law of one overlap.
OVERLAPS: dict[Overlap, Family] = {
    overlap: replace(
        FAMILY,
        name=(name := f"s-sgd-{overlap}"),
        equation=law.equation,
        purpose=f"phases of a step{law.hides}",
        build=partial(laws, overlap=overlap, family=name),
        overlaps=tuple(other for other in FAMILY.overlaps if other != name),
        shown_by=law.shown_by,
    )
    for overlap, law in _LAWS.items()
}
