"""A whole job on a cluster: every node reads the data, then one server serves all workers in every iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from genperf.expression import Expression, coefficient, exponent
from genperf.models.alone import measured_alone, together
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times

#: Bounds of q, how reading slows down as more workers share the storage: 0 not at all, 1 one after another. A guess: 2
#: leaves room for storage that thrashes.
CONTENTION = (0.0, 2.0)
#: What an iteration has of the server: the longer of its time and the workers', or both.
Server = Literal["queue", "sum"]


def build(factors: Factors, server: Server = "queue", job: bool = True, alone: bool = True) -> Expression:
    """Write the time of a whole job.

        T = i0 + i1·D·n^q + K·max(a·w + c, s·n)
        T = i0 + i1·D·n^q + K·(a·w + c + s·n)

    with D samples in the data set, K iterations and one worker's work w in each. After Hashemi et al. (2016),
    "Performance modeling of distributed deep neural networks" (CNTK): initialisation reads the data on every worker
    through shared storage, and a server serves the n workers one after another, so that it is what an iteration waits
    for beyond the knee n* = (a·w + c)/s. The formula is our derivation. Asynchronous workers queue at the server while
    others compute; synchronous ones compute first and then wait for it, so that the two times add up, and beyond n*
    the server takes the larger part. S servers share the load, n/S each; with fewer workers than servers the workers'
    links carry it, as in `parameter-server`.

    Without iterations their number is in the coefficients, and follows from the samples and the batch where these are
    there; c is left out where it is always the same.

    Parameters
    ----------
    factors : Factors
    server : {"queue", "sum"}
        Asynchronous workers, or synchronous ones.
    job : bool
        Whether a row is a whole job; otherwise it is one iteration of it.
    alone : bool
        Whether one worker alone exchanges with the server.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("workers", "samples", "iterations", "batch")]
    >>> print(build(Factors(tuple(factors))))
    i0 + i1*samples*workers**q + max(iterations*a*batch + iterations*c, iterations*s*workers)
    >>> print(build(Factors(tuple(factors[::3])), "sum", job=False))
    a*batch + c + s*workers
    """
    work = share(factors)
    data, data_unit = times(factors, "samples")
    iterations, _ = times(factors, "iterations") if job else ("", "")
    served = f"{iterations}s*" + ("max(workers/servers, 1)" if factors.has("servers") else "workers")
    initialisation = {"initialisation": "i0", "reading": f"i1*{data}workers**q"} if job else {}
    start = " + ".join([*initialisation, ""])
    return compose(
        "cntk",
        {
            **initialisation,
            "compute": f"{iterations}{work.of('a')}",
            "overhead": f"{iterations}c",
            "server": served if alone else together(served),
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
        total=f"{start}max(compute + overhead, server)" if server == "queue" else None,
        spare={"overhead": "overhead" if job else "compute"},
    )


def candidates(factors: Factors) -> Sequence[Expression]:
    """Return the expressions of both servers, for jobs and, where the table does not show jobs, for single iterations.

    Where neither samples nor iterations vary, reading cannot be separated from a server whose time adds up.
    """
    whole_jobs = any(factors.has(name) and factors.varies(name) for name in ("samples", "iterations"))
    sums = (True, False) if measured_alone(factors) else (True,)
    queues = [build(factors), *([] if whole_jobs else [build(factors, job=False)])]
    return [*queues, *(build(factors, "sum", job=whole_jobs, alone=alone) for alone in sums)]


FAMILY = Family(
    name="cntk",
    equation="i0 + i1·samples·workers^q + iterations·max(a·batch + c, s·workers), or the sum of the two",
    source="Hashemi et al. 2016",
    purpose="whole jobs: initialisation that does not scale, and a server with a knee",
    needs=(
        Need("workers"),
        Need("samples", False),
        Need("iterations", False),
        Need("batch", False),
        Need("work", False),
        Need("servers", False),
    ),
    build=build,
    candidates=candidates,
)
