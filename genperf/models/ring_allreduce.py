"""Synchronous training with a ring all-reduce that hides behind the backward pass."""

from __future__ import annotations

from genperf.expression import Expression, coefficient
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times


def build(factors: Factors) -> Expression:
    """Write one step of ring all-reduce.

        T = c + a·w/3 + max(2·a·w/3, 2·β·M·(n−1)/n + 2·α·(n−1))

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
            "constant": "c",
        },
        [coefficient("a", work.unit), coefficient("beta", unit), coefficient("alpha"), coefficient("c")],
        factors,
        total="forward + max(backward, bandwidth + latency) + constant",
        spare={"constant": "forward"},
    )


FAMILY = Family(
    name="ring-allreduce",
    equation="a·batch/3 + max(2·a·batch/3, 2·β·bytes·(workers − 1)/workers + 2·α·(workers − 1)) + c",
    source="Alqahtani & Demirbas 2019",
    purpose="synchronous steps whose all-reduce overlaps the backward pass",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("bytes", False)),
    build=build,
)
