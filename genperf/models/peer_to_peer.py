"""Training in which every worker sends its gradients to every other."""

from __future__ import annotations

from genperf.expression import Expression, coefficient
from genperf.models.compose import compose
from genperf.models.family import Factors, Family, Need, share, times


def build(factors: Factors) -> Expression:
    """Write one step with all-to-all exchange.

        T = c + a·w + β·M·(n−1) + α·(n−1)

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    each worker's link carries M bytes to each of the n − 1 others. The formula is our derivation. Without bytes that
    vary the two terms of the exchange are one.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> print(build(Factors((Factor("workers", "extrinsic"), Factor("parameters", "intrinsic")))))
    c + a/workers + beta*(4*parameters)*(workers - 1) + alpha*(workers - 1)
    """
    work = share(factors)
    message, unit = times(factors, "bytes")
    terms = {"constant": "c", "compute": work.of("a"), "bandwidth": f"beta*{message}(workers - 1)"}
    if factors.varies("bytes"):
        terms["messages"] = "alpha*(workers - 1)"
    return compose(
        "peer-to-peer",
        terms,
        [coefficient("c"), coefficient("a", work.unit), coefficient("beta", unit), coefficient("alpha")],
        factors,
        spare={"constant": "compute"},
    )


FAMILY = Family(
    name="peer-to-peer",
    equation="c + a·batch + β·bytes·(workers − 1) + α·(workers − 1)",
    source="Alqahtani & Demirbas 2019",
    purpose="every worker sends to every other",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("bytes", False)),
    build=build,
)
