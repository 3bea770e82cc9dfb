"""An epoch of a partitioned and replicated model with sharded parameter servers."""

from genperf.expression import Expression, exponent
from genperf.models.compose import compose
from genperf.models.family import Family
from genperf.panel import Panel

#: How well threads share the work: 0 not at all, 1 perfectly. By definition.
THREADS = exponent("eta", 0.0, 1.0, start=0.5)


def build(factors: Panel) -> Expression:
    """Write the time of an epoch on R replicas of P partitions with h threads each, and S servers.

        T = (N/R)·[a·W/(P·h^η) + κ·h·W/P + β_a·A·(P−1)/P + α_a·(P−1)] + N/(R·b)·[β_w·M·R/S + α_w]

    After Yan, Ruwase, He & Chilimbi (2015), "Performance modeling and scalability optimization of distributed deep
    learning systems" (Adam): N samples of W operations each, threads that contend for memory, activations of A bytes
    across the P − 1 cuts, M bytes of weights to the servers once in b samples. The formula is our derivation. The
    replicas are `workers`; W is `work/batch`, since `work` is that of one worker's step. A factor that is always
    the same, or that the table lacks, is in the coefficients.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> panel = roles_of({"extrinsic": "replicas, partitions, servers"}).panel
    >>> print(build(panel))
    a/replicas/partitions + alpha_a/replicas*(partitions - 1) + beta_w/servers
    """
    work = "*work/batch" if factors.has("work") and factors.has("batch") else ""
    contended, parted = factors.varies("threads"), factors.varies("partitions")
    # Each term, and whether some run has it.
    rows = (
        ("compute", f"a*samples{work}/workers/partitions" + "/threads**eta" * contended, True),
        ("memory contention", f"kappa*threads*samples{work}/workers/partitions", contended),
        ("activations", "beta_a*activations*samples/workers*(1 - 1/partitions)", parted and factors.has("activations")),
        ("cuts", "alpha_a*samples/workers*(partitions - 1)", parted),
        ("weights", "beta_w*bytes*samples/batch/servers", True),
        ("exchange", "alpha_w*samples/batch/workers", factors.varies("batch")),
    )
    return compose("adam", {name: text for name, text, there in rows if there}, factors, shapes=[THREADS])


FAMILY = Family(
    name="adam",
    equation=(
        "samples/workers·[a·W/(P·h^η) + κ·h·W/P + β_a·activations·(P − 1)/P + α_a·(P − 1)]"
        " + samples/batch·[β_w·bytes/servers + α_w/workers], P partitions, h threads, W = work/batch"
    ),
    source="Yan et al. 2015",
    purpose="epochs of replicated and partitioned models with sharded servers",
    uses=("partitions", "threads", "servers", "samples", "batch", "work", "activations", "bytes"),
    build=build,
)
