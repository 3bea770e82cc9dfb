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
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("replicas", "partitions", "servers")]
    >>> print(build(Panel(tuple(factors))))
    a/replicas/partitions + alpha_a/replicas*(partitions - 1) + beta_w/servers
    """

    def given(*names: str) -> list[str]:
        return [name for name in names if factors.has(name)]

    per_batch = given("batch") if factors.has("work") else []
    work = given("work") if per_batch else []
    shared = [*per_batch, "workers", *given("partitions")]
    contended, parted = factors.varies("threads"), factors.varies("partitions")
    cut = factors.has("activations") and parted
    # Each term's coefficient, the factors above and below the line, what else it has, and whether some run has it.
    rows = (
        ("compute", "a", [*given("samples"), *work], shared, "/threads**eta" * contended, True),
        ("memory contention", "kappa", [*given("threads", "samples"), *work], shared, "", contended),
        ("activations", "beta_a", given("activations", "samples"), ["workers"], "*(1 - 1/partitions)", cut),
        ("cuts", "alpha_a", given("samples"), ["workers"], "*(partitions - 1)", parted),
        ("weights", "beta_w", given("bytes", "samples"), given("batch", "servers"), "", True),
        ("exchange", "alpha_w", given("samples"), [*given("batch"), "workers"], "", factors.varies("batch")),
    )
    terms = {
        name: "*".join([coefficient, *above]) + "".join(f"/{factor}" for factor in below) + further
        for name, coefficient, above, below, further, there in rows
        if there
    }
    return compose("adam", terms, factors, shapes=[THREADS])


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
