"""Training in which every worker sends its gradients to every other."""

from collections.abc import Sequence

from genperf.expression import Expression
from genperf.models.compose import SYNCHRONISATION, measured_alone, with_computation
from genperf.models.family import Family
from genperf.panel import Panel


def build(factors: Panel, synchronised: bool = False) -> Expression:
    """Write one step with all-to-all exchange.

        T = c + a·w + β·M·(n−1) + α·(n−1)

    and with `synchronised` a cost d of several workers that one alone saves.

    After Alqahtani & Demirbas (2019), "Performance analysis and comparison of distributed machine learning systems":
    each worker's link carries M bytes to each of the n − 1 others. The formula is our derivation. Without bytes that
    vary the two terms of the exchange are one.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "workers", "intrinsic": "parameters"}).panel))
    c + a/workers + beta*(4*parameters)*(workers - 1) + alpha*(workers - 1)
    """
    return with_computation("peer-to-peer", factors, among_peers(factors) | (SYNCHRONISATION if synchronised else {}))


def among_peers(factors: Panel) -> dict[str, str]:
    """Return the terms of an exchange of every worker with every other.

        t_c = β·M·(n−1) + α·(n−1)

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> among_peers(roles_of({"extrinsic": "workers"}).panel)
    {'bandwidth': 'beta*bytes*(workers - 1)'}
    """
    bandwidth = {"bandwidth": "beta*bytes*(workers - 1)"}
    return bandwidth | ({"messages": "alpha*(workers - 1)"} if factors.varies("bytes") else {})


def candidates(factors: Panel) -> Sequence[Expression]:
    """Return the expressions without and with a cost that one worker alone saves, where the table has runs of it."""
    return [build(factors, synchronised) for synchronised in (False, True)[: 1 + measured_alone(factors)]]


FAMILY = Family(
    name="peer-to-peer",
    equation="c + a·batch + β·bytes·(workers − 1) + α·(workers − 1)",
    source="Alqahtani & Demirbas 2019",
    purpose="every worker sends to every other",
    uses=("batch", "work", "bytes"),
    build=candidates,
)
