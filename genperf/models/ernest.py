"""Ernest: computation shared by the workers, a tree of messages, and a cost per worker."""

from __future__ import annotations

from genperf.expression import Expression, coefficient
from genperf.models.compose import compose
from genperf.models.family import Family, Need, Overhead
from genperf.panel import Panel, share


def build(factors: Panel) -> Expression:
    """Write Ernest's four terms.

        T = c + a·w + b·log2 n + d·n

    Venkataraman et al. (2016), "Ernest: efficient performance prediction for large-scale advanced analytics",
    equation 1: a fixed cost, the data divided by the machines (here w, one worker's work), aggregation in a tree, and
    costs for each machine. Fitted by non-negative least squares there and here.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> print(build(Panel((Factor("nodes", "extrinsic"),), {"workers": "nodes"})))
    c + a/nodes + b*log2(nodes) + d*nodes
    """
    work = share(factors, job=True)
    return compose(
        "ernest",
        {"constant": "c", "compute": work.of("a"), "tree": "b*log2(workers)", "per worker": "d*workers"},
        [coefficient("c"), coefficient("a", work.unit), coefficient("b"), coefficient("d")],
        factors,
        spare={"constant": "compute"},
    )


FAMILY = Family(
    name="ernest",
    equation="c + a·batch + b·log2(workers) + d·workers, or a/workers",
    source="Venkataraman et al. 2016",
    purpose="jobs and steps whose communication is a tree or one message per worker",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("samples", False)),
    build=build,
    overheads=(
        Overhead("constant", "c", "c", "constant"),
        Overhead("one after another", "gamma", "gamma*(nodes - 1)", "growing", 0.0),
    ),
)
