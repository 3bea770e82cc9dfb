"""Synchronous training with a ring all-reduce that hides behind the backward pass."""

from __future__ import annotations

from collections.abc import Sequence

from genperf.expression import Expression, coefficient
from genperf.models.alone import SYNCHRONISATION, SYNCHRONISATION_COST, measured_alone, synchronisation
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times


def build(factors: Factors, synchronised: bool = False) -> Expression:
    """Write one step of ring all-reduce.

        T = c + a·w/3 + max(2·a·w/3, 2·β·M·(n−1)/n + 2·α·(n−1))

    and with `synchronised` a cost d of several workers that nothing hides and that one alone saves.

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    the ring keeps every link's traffic below 2·M bytes whatever n, and gradients travel while the backward pass
    computes the next. The formula is our derivation; backward takes twice the time of forward.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("workers", "batch", "bytes")]
    >>> print(build(Factors(tuple(factors))))
    a*batch/3 + max(2*a*batch/3, 2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1)) + c
    """
    work = share(factors)
    message, unit = times(factors, "bytes")
    return compose(
        "ring-allreduce",
        {
            "forward": f"{work.of('a')}/3",
            "backward": f"{work.of('2*a')}/3",
            "bandwidth": f"2*beta*{message}(1 - 1/workers)",
            "latency": "2*alpha*(workers - 1)",
            **(synchronisation() if synchronised else {}),
            "constant": "c",
        },
        [
            coefficient("a", work.unit),
            coefficient("beta", unit),
            coefficient("alpha"),
            SYNCHRONISATION_COST,
            coefficient("c"),
        ],
        factors,
        total=f"forward + max(backward, bandwidth + latency){f' + {SYNCHRONISATION}' * synchronised} + constant",
        spare={"constant": "forward"},
    )


def candidates(factors: Factors) -> Sequence[Expression]:
    """Return the expressions without and with a cost that one worker alone saves, where the table can show it.

    A table shows it by runs of one worker, and where the work of a step is known: a fixed work that is shared falls as
    1/n, as the part of the ring's traffic that depends on n.
    """
    shown = measured_alone(factors) and share(factors).known
    return [build(factors, synchronised) for synchronised in (False, True)[: 1 + shown]]


FAMILY = Family(
    name="ring-allreduce",
    equation="a·batch/3 + max(2·a·batch/3, 2·β·bytes·(workers − 1)/workers + 2·α·(workers − 1)) + c",
    source="Alqahtani & Demirbas 2019",
    purpose="synchronous steps whose all-reduce overlaps the backward pass",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("bytes", False)),
    build=build,
    candidates=candidates,
)
