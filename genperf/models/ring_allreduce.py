"""Synchronous training with a ring all-reduce, which hides behind the backward pass or follows it."""

from __future__ import annotations

from collections.abc import Sequence

from genperf.expression import Expression, coefficient
from genperf.models.alone import SYNCHRONISATION, SYNCHRONISATION_COST, measured_alone, synchronisation
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times


def build(factors: Factors, synchronised: bool = False, overlapped: bool = True) -> Expression:
    """Write one step of ring all-reduce.

        T = c + a·w/3 + max(2·a·w/3, 2·β·M·(n−1)/n + 2·α·(n−1))
        T = c + a·w + 2·β·M·(n−1)/n + 2·α·(n−1)

    with the gradients exchanged during the backward pass or after it, and with `synchronised` a cost d of several
    workers that nothing hides and that one alone saves.

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    the ring keeps every link's traffic below 2·M bytes whatever n, and gradients travel while the backward pass
    computes the next. The formula is our derivation; backward takes twice the time of forward.

    Parameters
    ----------
    factors : Factors
    synchronised : bool
        Whether several workers have a further cost.
    overlapped : bool
        Whether gradients travel during the backward pass.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("workers", "batch", "bytes")]
    >>> print(build(Factors(tuple(factors))))
    a*batch/3 + max(2*a*batch/3, 2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1)) + c
    >>> print(build(Factors(tuple(factors)), overlapped=False))
    a*batch/3 + 2*a*batch/3 + 2*beta*bytes*(1 - 1/workers) + 2*alpha*(workers - 1) + c
    """
    work = share(factors)
    message, unit = times(factors, "bytes")
    hidden = f"forward + max(backward, bandwidth + latency){f' + {SYNCHRONISATION}' * synchronised} + constant"
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
        total=hidden if overlapped else None,
        spare={"constant": "forward"},
    )


def candidates(factors: Factors) -> Sequence[Expression]:
    """Return the expressions with and without overlap, and with a cost that one worker alone saves.

    Only a table whose work per worker varies shows what an exchange hides behind. It shows the cost of several workers
    by runs of one worker, and where the work of a step is known: a fixed work that is shared falls as 1/n, as the part
    of the ring's traffic that depends on n.
    """
    work = share(factors)
    shown = measured_alone(factors) and work.known
    overlaps = (True, False) if work.known and factors.varies(work.per_worker) else (True,)
    return [build(factors, synchronised, hides) for hides in overlaps for synchronised in (False, True)[: 1 + shown]]


FAMILY = Family(
    name="ring-allreduce",
    equation="a·batch/3 + max(2·a·batch/3, 2·β·bytes·(workers − 1)/workers + 2·α·(workers − 1)) + c, or their sum",
    source="Alqahtani & Demirbas 2019",
    purpose="synchronous steps whose all-reduce overlaps the backward pass, or follows it",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("bytes", False)),
    build=build,
    candidates=candidates,
)
