"""Synchronous SGD phase by phase: input, transfer, forward, backward, exchange and update, overlapped or not."""

from __future__ import annotations

from typing import Literal

from genperf.expression import Expression, coefficient
from genperf.models.family import Factors, Family, Need, compose, share, times

Overlap = Literal["full", "input", "none"]

TOTALS: dict[Overlap, str | None] = {
    "full": "max({input}, forward + max(backward, {exchange}) + update)",
    "input": "max({input}, forward + backward + {exchange} + update)",
    "none": None,
}


def build(found: Factors, overlap: Overlap = "full") -> Expression:
    """Write one iteration of synchronous SGD on m nodes of g = n/m devices.

        none    T = t_io + t_f + t_b + t_c + t_u
        input   T = max(t_io + t_h2d, t_f + t_b + t_c + t_u)
        full    T = max(t_io + t_h2d, t_f + max(t_b, t_c) + t_u)

    After Shi, Wang & Chu (2018), "Performance modeling and evaluation of distributed deep learning frameworks on GPUs":
    frameworks differ in whether they prefetch the input, and whether they exchange gradients during the backward pass
    (wait-free back-propagation). What the phases depend on is our derivation:

        t_io = i·g·w    the devices of a node share its storage
        t_h2d = h·w     host to device
        t_f = a·w/3, t_b = 2·a·w/3
        t_c = 2·β_r·M·(g−1)/g + 2·β_n·M·(m−1)/m + 2·α·(n−1)
        t_u = u

    with w one worker's work. Where that is always the same, t_u is left in t_f, and t_h2d in t_io. Without overlap
    t_h2d cannot be told from t_f and is left in it. Without nodes t_io has no g and is one with t_h2d, and t_c is one
    ring of n.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("workers", "nodes", "batch", "bytes")]
    >>> print(build(Factors(tuple(factors)), "input").total is None)
    False
    >>> print(build(Factors(tuple(factors[::2])), "none"))
    a*batch/3 + 2*a*batch/3 + 2*beta_n*(1 - 1/workers) + 2*alpha*(workers - 1) + u
    """
    work = share(found)
    message, unit = times(found, "bytes")
    ring, latency = f"2*beta_n*{message}", "2*alpha*(workers - 1)"
    if found.has("nodes"):
        reading = {"input": f"{work.of('i')}*(workers/nodes)", "transfer": work.of("h")}
        exchange = {"inside nodes": f"2*beta_r*{message}(1 - nodes/workers)", "between nodes": f"{ring}(1 - 1/nodes)"}
    else:
        reading = {"transfer": work.of("h")}
        exchange = {"ring": f"{ring}(1 - 1/workers)"}
    exchange["latency"] = latency
    if overlap == "none":
        reading.pop("transfer")
    phases = {"forward": f"{work.of('a')}/3", "backward": f"{work.of('2*a')}/3"}
    total = TOTALS[overlap]
    return compose(
        NAMES[overlap],
        {**reading, **phases, **exchange, "update": "u"},
        [
            coefficient("i", work.unit),
            coefficient("h", work.unit),
            coefficient("a", work.unit),
            coefficient("beta_r", unit),
            coefficient("beta_n", unit),
            coefficient("alpha"),
            coefficient("u"),
        ],
        found,
        total and total.format(input=_sum(reading), exchange=_sum(exchange)),
        spare={"update": "forward", **({"transfer": "transfer"} if "input" in reading else {})},
    )


def _sum(terms: dict[str, str]) -> str:
    return " + ".join(f"`{name}`" for name in terms)


NAMES: dict[Overlap, str] = {"full": "s-sgd", "input": "s-sgd-input", "none": "s-sgd-none"}
_NEEDS = (Need("workers"), Need("nodes", False), Need("batch", False), Need("work", False), Need("bytes", False))

FAMILY = Family(
    name=NAMES["full"],
    equation="max(t_io + t_h2d, t_f + max(t_b, t_c) + t_u)",
    source="Shi, Wang & Chu 2018",
    purpose="phases of a step; input prefetched, gradients exchanged during the backward pass",
    needs=_NEEDS,
    build=build,
)
INPUT = Family(
    name=NAMES["input"],
    equation="max(t_io + t_h2d, t_f + t_b + t_c + t_u)",
    source="Shi, Wang & Chu 2018",
    purpose="phases of a step; only the input is prefetched",
    needs=_NEEDS,
    build=lambda found: build(found, "input"),
)
NONE = Family(
    name=NAMES["none"],
    equation="t_io + t_f + t_b + t_c + t_u",
    source="Shi, Wang & Chu 2018",
    purpose="phases of a step, one after another",
    needs=_NEEDS,
    build=lambda found: build(found, "none"),
)
