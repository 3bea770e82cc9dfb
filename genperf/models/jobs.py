"""Whole jobs and epochs: every node reads the data and one server serves all, or replicas of a partitioned model."""

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from genperf.expression import Constant, Expression, exponent
from genperf.models.compose import compose, measured_alone, together
from genperf.models.family import Family, Overhead
from genperf.panel import Panel, share

#: How reading slows down as more workers share the storage: 0 not at all, 1 one after another; 2 leaves room for
#: storage that thrashes. Half errs as much, and double changes no answer (experiments/results/settings.md).
CONTENTION = exponent("q", 0.0, 2.0, start=1.0)
#: Rounds in which asynchronous workers are in step after a common start. One is enough where a server takes one after
#: another; on links that all share at once it took four (`data/whole_jobs.csv`). A guess: 20 leaves room.
IN_STEP = Constant("rounds", "shape", 0.0, 20.0, start=1.0, penalised=False)
#: What an iteration has of the server: the longer of its time and the workers', or both. A `queue` has workers that are
#: never in step; in a `started queue` they begin so.
Server = Literal["queue", "started queue", "sum"]


def cntk(
    factors: Panel,
    server: Server = "queue",
    job: bool = True,
    on_one_worker: bool = True,
    counted: bool = True,
    whole: bool = False,
) -> Expression:
    """Write the time of a whole job; without `job`, that of an iteration (K = 1, i0 = i1 = 0).

        queue           T = i0 + i1·D·n^q + K·max(t_w, s·n)
        started queue   T = i0 + i1·D·n^q + k·(t_w + s·n) + (K − k)·max(t_w + s, s·n),      k = min(r, K)
        sum             T = i0 + i1·D·n^q + K·(t_w + s·n)

    with D samples, K iterations (in the coefficients where the table lacks them), and t_w = a·w + c of one worker's
    work w in each. After Hashemi et al. (2016), "Performance modeling of distributed deep neural networks" (CNTK):
    initialisation reads the data on every worker through shared storage, and a server serves the n workers one after
    another, so that an iteration waits for it beyond the knee n* = t_w/s. The formula is our derivation.

    Asynchronous workers queue while others compute; synchronous ones compute first and then wait, so that the times add
    up. Asynchronous workers that start together are like synchronous ones for r rounds, and a worker's round alone is
    t_w + s. S servers share the load, n/S each; with fewer workers than servers the workers' links carry it. Unless it
    is used `on_one_worker`, a single worker has no server term. Unless the iterations are `counted`, they are in the
    coefficients. With `whole`, c is kept beside an i0 from which only runs on both sides of the knee tell it.
    """
    iterations = "iterations" if job and counted and factors.has("iterations") else ""
    K = f"{iterations}*" if iterations else ""
    load = "max(workers/servers, 1)" if factors.has("servers") else "workers"
    served = f"{K}s*{load}"
    start = {"initialisation": "i0", "reading": "i1*samples*workers**q"} if job else {}
    terms = {
        **start,
        "compute": f"{K}{share(factors).of('a')}",
        "overhead": f"{K}c",
        "server": served if on_one_worker else together(served),
    }
    if server == "sum":
        total = None  # that of all terms
    elif server == "queue":
        total = " + ".join([*start, "max(compute + overhead, server)"])
    else:
        # The terms contain K, so that k/K of the iterations are in step; only jobs with iterations have this server.
        share_in_step = f"min({IN_STEP.name}/{iterations}, 1)"
        queue = f"max(compute + overhead + server/{load}, server)"
        in_step, queued = f"{share_in_step}*(compute + overhead + server)", f"(1 - {share_in_step})*{queue}"
        total = " + ".join([*start, in_step, queued])
    # A constant overhead cannot be told from a job's initialisation, nor from an iteration's constant computation: it
    # is left out where the term beside its name here, of a job itself, is constant over the rows.
    spare = {} if whole else {"overhead": "overhead" if job else "compute"}
    return compose("cntk", terms, factors, total, [CONTENTION, IN_STEP], spare)


def cntk_candidates(factors: Panel) -> Sequence[Expression]:
    """Return the expressions of the servers, for jobs and, where the table shows none, for single iterations."""
    lengths = factors.has("iterations") and factors.varies("iterations")
    whole_jobs = lengths or (factors.has("samples") and factors.varies("samples"))
    #: Whether a single worker, where one was measured, uses the server as well.
    on_one_worker = (True, False) if measured_alone(factors) else (True,)
    if factors.header_times == "step":
        return [cntk(factors, job=False), *(cntk(factors, "sum", False, used) for used in on_one_worker)]
    #: Whether K is the iterations of each job, and not in the coefficients.
    counted = (True,) if factors.find("iterations") or not lengths else (True, False)
    return [
        *(cntk(factors, counted=k) for k in counted),
        *(cntk(factors, counted=k, whole=True) for k in counted if not (k and lengths)),
        *([cntk(factors, "started queue")] if lengths else []),
        *([] if whole_jobs else [cntk(factors, job=False)]),
        *(cntk(factors, "sum", whole_jobs, used, k) for used in on_one_worker for k in counted),
    ]


CNTK = Family(
    name="cntk",
    equation="i0 + i1·samples·workers^q + iterations·max(a·batch + c, s·workers), after some in step, or the sum",
    source="Hashemi et al. 2016",
    purpose="whole jobs: initialisation that does not scale, and a server with a knee",
    uses=("samples", "iterations", "batch", "work", "servers"),
    build=cntk_candidates,
    # A server, storage or an oversubscribed switch: beyond its limit the workers wait.
    # What slows the workers of one node is contention for its own bus, which further nodes do not add to.
    overheads=(
        Overhead(
            "saturation", "sigma", "sigma*where(nodes > 1, max(workers/limit - 1, 0), 0)", "anywhere", shape="limit"
        ),
    ),
)


#: How well threads share the work: 0 not at all, 1 perfectly. By definition.
THREADS = exponent("eta", 0.0, 1.0, start=0.5)


def adam(factors: Panel) -> Sequence[Expression]:
    """Write the time of an epoch on R replicas of P partitions with h threads each, and S servers.

        T = (N/R)·[a·W/(P·h^η) + κ·h·W/P + β_a·A·(P−1)/P + α_a·(P−1)] + N/(R·b)·[β_w·M·R/S + α_w]

    After Yan, Ruwase, He & Chilimbi (2015), "Performance modeling and scalability optimization of distributed deep
    learning systems" (Adam): N samples of W operations each, threads that contend for memory, activations of A bytes
    across the P − 1 cuts, M bytes of weights to the servers once in b samples. The formula is our derivation. The
    replicas are `workers`; W is `work/batch`, since `work` is that of one worker's step. A factor that is always
    the same, or that the table lacks, is in the coefficients.
    """
    work = "*work/batch" if factors.has("work") and factors.has("batch") else ""
    contended, parted = factors.varies("threads"), factors.varies("partitions")
    # Each term, and whether the runs can show it.
    terms_of_names = {
        "compute": (f"a*samples{work}/workers/partitions" + ("/threads**eta" if contended else ""), True),
        "memory contention": (f"kappa*threads*samples{work}/workers/partitions", contended),
        "activations": ("beta_a*activations*samples/workers*(1 - 1/partitions)", parted),
        "cuts": ("alpha_a*samples/workers*(partitions - 1)", parted),
        "weights": ("beta_w*bytes*samples/batch/servers", True),
        "exchange": ("alpha_w*samples/batch/workers", factors.varies("batch") or contended or parted),
    }
    terms = {name: text for name, (text, is_shown) in terms_of_names.items() if is_shown}
    # What the runs of some tables cannot tell from other terms is left out where the fit predicts as well without it.
    separate = {"activations": factors.has("activations"), "exchange": factors.varies("batch")}
    unsure = [name for name in terms if not separate.get(name, True)]
    # Without threads, activations and an exchange of one batch are a sum.
    fewest = 0 if contended or len(unsure) < 2 else 1
    left_out = [names for count in range(fewest, len(unsure) + 1) for names in combinations(unsure, count)]
    written = [{name: text for name, text in terms.items() if name not in names} for names in left_out]
    return [compose("adam", law, factors, shapes=[THREADS]) for law in written]


ADAM = Family(
    name="adam",
    equation=(
        "samples/workers·[a·W/(P·h^η) + κ·h·W/P + β_a·activations·(P − 1)/P + α_a·(P − 1)]"
        " + samples/batch·[β_w·bytes/servers + α_w/workers], P partitions, h threads, W = work/batch"
    ),
    source="Yan et al. 2015",
    purpose="epochs of replicated and partitioned models with sharded servers",
    uses=("partitions", "threads", "servers", "samples", "batch", "work", "activations", "bytes"),
    build=adam,
)
