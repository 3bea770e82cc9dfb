"""Synchronous training with a ring all-reduce, which hides behind the backward pass or follows it."""

from typing import Literal

from genperf.expression import Expression
from genperf.models.compose import SERIAL, SYNCHRONISATION, compose, measured_alone, partly_hidden
from genperf.models.family import Family
from genperf.panel import Panel, share

#: What of the ring hides behind the backward pass: all that is as long, all but a share, nothing.
Overlap = Literal["full", "part", "none"]

_EXCHANGE = "bandwidth + latency"
TOTALS: dict[Overlap, str | None] = {
    "full": f"forward + max(backward, {_EXCHANGE})",
    "part": f"forward + {partly_hidden('backward', _EXCHANGE)}",
    "none": None,
}


def build(factors: Panel, synchronised: bool = False, overlap: Overlap = "full") -> Expression:
    """Write one step of ring all-reduce.

        full   T = c + a·w/3 + max(t_b, t_c)
        part   T = c + a·w/3 + s·(t_b + t_c) + (1 − s)·max(t_b, t_c)
        none   T = c + a·w/3 + t_b + t_c

    with t_b = 2·a·w/3 and t_c = 2·β·M·(n−1)/n + 2·α·(n−1): the gradients are exchanged during the backward pass or
    after it. Of L equal layers one cannot hide, which is `part` with s = 1/L (`overlap.partly_hidden`). With
    `synchronised` there is a cost d of several workers that nothing hides and that one alone saves.

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    the ring keeps every link's traffic below 2·M bytes whatever n, and gradients travel while the backward pass
    computes the next. The formula is our derivation; backward takes twice the time of forward.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> panel = roles_of({"extrinsic": "workers, batch, bytes"}).panel
    >>> print(build(panel))
    a*batch/3 + max(2*a*batch/3, 2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1)) + c
    >>> print(build(panel, overlap="none"))
    a*batch/3 + 2*a*batch/3 + 2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1) + c
    """
    work, total = share(factors), TOTALS[overlap]
    extra = SYNCHRONISATION if synchronised else {}
    passes = {"forward": f"{work.of('a')}/3", "backward": f"{work.of('2*a')}/3"}
    ring = {"bandwidth": "2*beta*bytes*(1 - 1/workers)", "latency": "2*alpha*(workers - 1)"}
    whole = total and " + ".join([total, *extra, "constant"])
    terms = {**passes, **ring, **extra, "constant": "c"}
    return compose("ring-allreduce", terms, factors, whole, [SERIAL], spare={"constant": "forward"})


def candidates(factors: Panel) -> list[Expression]:
    """Return the expressions of the overlaps, without and with a cost that one worker alone saves.

    Only a table whose work per worker varies shows what an exchange hides behind. It shows the cost of several workers
    by runs of one worker, and where the work of a step is known: a fixed work that is shared falls as 1/n, as the part
    of the ring's traffic that depends on n.
    """
    work = share(factors)
    shown = measured_alone(factors) and work.known
    overlaps = [*TOTALS] if work.known and factors.varies(work.per_worker) else [*TOTALS][:1]
    return [build(factors, extra, overlap) for overlap in overlaps for extra in (False, True)[: 1 + shown]]


FAMILY = Family(
    name="ring-allreduce",
    equation=(
        "a·batch/3 + max(2·a·batch/3, 2·β·bytes·(workers − 1)/workers + 2·α·(workers − 1)) + c, their sum, or between"
    ),
    source="Alqahtani & Demirbas 2019",
    purpose="synchronous steps whose all-reduce overlaps the backward pass, all of it or in part, or follows it",
    uses=("batch", "work", "bytes"),
    build=candidates,
)
