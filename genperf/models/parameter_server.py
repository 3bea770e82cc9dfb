"""Training with parameter servers, whose links carry every worker's gradients and weights."""

from __future__ import annotations

from genperf.expression import Expression, coefficient
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times


def build(factors: Factors) -> Expression:
    """Write one step with S parameter servers.

        T = c + a·w + 2·β·M·n/S + α·n/S

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    each server takes in the gradients of its share of the model from all n workers and sends the weights back. The
    formula is our derivation. Without a column of servers their number is in the coefficients; without bytes that
    vary the two terms of the servers are one.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> factors = [Factor(n, "extrinsic") for n in ("workers", "servers", "batch", "bytes")]
    >>> print(build(Factors(tuple(factors))))
    c + a*batch + 2*beta*bytes*workers/servers + alpha*workers/servers
    """
    work = share(factors)
    message, unit = times(factors, "bytes")
    load = "workers/servers" if factors.has("servers") else "workers"
    terms = {"constant": "c", "compute": work.of("a"), "bandwidth": f"2*beta*{message}{load}"}
    if factors.varies("bytes"):
        terms["requests"] = f"alpha*{load}"
    return compose(
        "parameter-server",
        terms,
        [coefficient("c"), coefficient("a", work.unit), coefficient("beta", unit), coefficient("alpha")],
        factors,
        spare={"constant": "compute"},
    )


FAMILY = Family(
    name="parameter-server",
    equation="c + a·batch + 2·β·bytes·workers/servers + α·workers/servers",
    source="Alqahtani & Demirbas 2019",
    purpose="parameter servers that congest as workers are added",
    needs=(
        Need("workers"),
        Need("servers", False),
        Need("batch", False),
        Need("work", False),
        Need("bytes", False),
    ),
    build=build,
)
