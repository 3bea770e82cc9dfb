"""A whole job on a cluster: every node reads the data, then one server serves all workers in every iteration."""

from __future__ import annotations

from genperf.expression import Expression, coefficient, exponent
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times

#: Bounds of q, how reading slows down as more workers share the storage: 0 not at all, 1 one after another. A guess: 2
#: leaves room for storage that thrashes.
CONTENTION = (0.0, 2.0)


def build(factors: Factors) -> Expression:
    """Write the time of a whole job.

        T = i0 + i1·D·n^q + K·max(a·w + c, s·n)

    with D samples in the data set, K iterations and one worker's work w in each. After Hashemi et al. (2016),
    "Performance modeling of distributed deep neural networks" (CNTK): initialisation reads the data on every worker
    through shared storage, and a server serves the n workers one after another, so that it is what an iteration waits
    for beyond the knee n* = (a·w + c)/s. The formula is our derivation. Without iterations their number is in the
    coefficients, and follows from the samples and the batch where these are there; c is left out where it is always
    the same.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("workers", "samples", "iterations", "batch")]
    >>> print(build(Factors(tuple(factors))))
    i0 + i1*samples*workers**q + max(iterations*a*batch + iterations*c, iterations*s*workers)
    """
    work = share(factors)
    data, data_unit = times(factors, "samples")
    iterations, _ = times(factors, "iterations")
    return compose(
        "cntk",
        {
            "initialisation": "i0",
            "reading": f"i1*{data}workers**q",
            "compute": f"{iterations}{work.of('a')}",
            "overhead": f"{iterations}c",
            "server": f"{iterations}s*workers",
        },
        [
            coefficient("i0"),
            coefficient("i1", data_unit),
            exponent("q", *CONTENTION, start=1.0),
            coefficient("a", work.unit),
            coefficient("c"),
            coefficient("s"),
        ],
        factors,
        total="initialisation + reading + max(compute + overhead, server)",
        spare={"overhead": "overhead"},
    )


FAMILY = Family(
    name="cntk",
    equation="i0 + i1·samples·workers^q + iterations·max(a·batch + c, s·workers)",
    source="Hashemi et al. 2016",
    purpose="whole jobs: initialisation that does not scale, and a server with a knee",
    needs=(
        Need("workers"),
        Need("samples", False),
        Need("iterations", False),
        Need("batch", False),
        Need("work", False),
    ),
    build=build,
)
