"""A step at the node boundary: rings inside the nodes, a ring between them, and a latency per doubling."""

from genperf.expression import Expression
from genperf.models.compose import with_computation
from genperf.models.family import Family, Overhead
from genperf.panel import Panel


def build(factors: Panel) -> Expression:
    """Write a hierarchical all-reduce on m nodes of g = n/m devices.

        T = c + a·w + β_r·M·(g−1)/g + β_n·M·(m−1)/m + α·log2 m

    Our derivation: the bandwidth-optimal ring of k members moves 2·M·(k−1)/k bytes over each link (Patarasuk & Yuan
    2009), once inside the nodes and once between them; the factor 2 is in the coefficients. The second ring appears
    as a step when the second node is added, and flattens as (m−1)/m does. The latency is left out where the nodes have
    two values: it cannot be separated from the ring then.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "gpus, nodes"}).panel))
    c + a/gpus + beta_r*(1 - nodes/gpus) + beta_n*(1 - 1/nodes) + alpha*log2(nodes)
    """
    exchange = {"inside nodes": "beta_r*bytes*(1 - nodes/workers)", "between nodes": "beta_n*bytes*(1 - 1/nodes)"}
    if factors.varies("nodes", 3) or factors.varies("bytes"):
        exchange["latency"] = "alpha*log2(nodes)"
    return with_computation("topology", factors, exchange)


FAMILY = Family(
    name="topology",
    equation="c + a·batch + β_r·bytes·(g − 1)/g + β_n·bytes·(m − 1)/m + α·log2 m, m nodes of g devices",
    source="Patarasuk & Yuan 2009",
    purpose="a step where training leaves the first node",
    requires=("workers", "nodes"),
    uses=("batch", "work", "bytes"),
    build=build,
    overheads=(
        Overhead("inside nodes", "beta_r", "beta_r*max(1 - nodes/workers, 0)", "inside"),
        # What the second node costs at once, whatever the bytes: another transport, another path through the host.
        Overhead("leaving the node", "d", "d*where(nodes > 1, 1, 0)", "between"),
        Overhead("between nodes", "beta_n", "beta_n*(1 - 1/nodes)", "between"),
        Overhead("latency", "alpha", "alpha*log2(nodes)", "between"),
    ),
)
