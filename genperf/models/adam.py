"""An epoch of a partitioned and replicated model with sharded parameter servers."""

from __future__ import annotations

from genperf.expression import Expression, coefficient, exponent
from genperf.models.compose import compose
from genperf.models.family import Family, Need, ratio
from genperf.panel import Panel

#: Bounds of η, how well threads share the work: 0 not at all, 1 perfectly. By definition.
THREADS = (0.0, 1.0)


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
    samples, activations, message, batch = (_listed(factors, n) for n in ("samples", "activations", "bytes", "batch"))
    parted, threads, servers = (_listed(factors, n) for n in ("partitions", "threads", "servers"))
    work = ["work"] if batch and factors.has("work") else []
    contended = factors.varies("threads")
    parts = {
        "compute": ratio("a", samples + work, batch * len(work) + ["workers"] + parted),
        "memory contention": ratio("kappa", threads + samples + work, batch * len(work) + ["workers"] + parted),
        "activations": ratio("beta_a", activations + samples, ["workers"]),
        "cuts": ratio("alpha_a", samples, ["workers"]),
        "weights": ratio("beta_w", message + samples, batch + servers),
        "exchange": ratio("alpha_w", samples, [*batch, "workers"]),
    }
    written = {name: text for name, (text, _) in parts.items()}
    if contended:
        written["compute"] += "/threads**eta"
    written["activations"] += "*(1 - 1/partitions)"
    written["cuts"] += "*(partitions - 1)"
    needs = {
        "memory contention": contended,
        "activations": bool(activations) and factors.varies("partitions"),
        "cuts": factors.varies("partitions"),
        "exchange": factors.varies("batch"),
    }
    kept = {name: text for name, text in written.items() if needs.get(name, True)}
    names = ("a", "kappa", "beta_a", "alpha_a", "beta_w", "alpha_w")
    constants = [coefficient(name, unit) for name, (_, unit) in zip(names, parts.values(), strict=True)]
    return compose("adam", kept, [*constants, exponent("eta", *THREADS, start=0.5)], factors)


def _listed(factors: Panel, name: str) -> list[str]:
    """Return the name alone where the table has the factor, and nothing where it lacks it."""
    return [name] if factors.has(name) else []


FAMILY = Family(
    name="adam",
    equation=(
        "samples/workers·[a·W/(P·h^η) + κ·h·W/P + β_a·activations·(P − 1)/P + α_a·(P − 1)]"
        " + samples/batch·[β_w·bytes/servers + α_w/workers], P partitions, h threads, W = work/batch"
    ),
    source="Yan et al. 2015",
    purpose="epochs of replicated and partitioned models with sharded servers",
    needs=(
        Need("workers"),
        Need("partitions", False),
        Need("threads", False),
        Need("servers", False),
        Need("samples", False),
        Need("batch", False),
        Need("work", False),
        Need("activations", False),
        Need("bytes", False),
    ),
    build=build,
)
