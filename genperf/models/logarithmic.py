"""A step that grows with the logarithm of the workers, as collectives in a tree do."""

from __future__ import annotations

from genperf.expression import Expression, coefficient
from genperf.models.compose import compose
from genperf.models.family import Family, Need, Overhead
from genperf.panel import Panel, share


def build(factors: Panel) -> Expression:
    """Write `T = c + a·w + b·log2 n`, with the computation a·w where the table says how much one worker does.

    The fewest constants with which a step can grow slowly: a reference that the others should beat.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> print(build(Panel((Factor("workers", "extrinsic"),))))
    c + b*log2(workers)
    """
    work = share(factors, job=True)
    terms = {"constant": "c"}
    if work.known:
        terms["compute"] = work.of("a")
    return compose(
        "logarithmic",
        {**terms, "tree": "b*log2(workers)"},
        [coefficient("c"), coefficient("a", work.unit), coefficient("b")],
        factors,
        spare={"constant": "compute"},
    )


FAMILY = Family(
    name="logarithmic",
    equation="c + a·batch + b·log2(workers)",
    source="reference",
    purpose="a step that grows slowly: the fewest constants",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("samples", False)),
    build=build,
    overheads=(Overhead("per doubling", "delta", "delta*log2(workers)", "doubling"),),
)
