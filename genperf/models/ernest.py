"""Ernest: computation shared by the workers, a tree of messages, and a cost per worker."""

from genperf.expression import Expression
from genperf.models.compose import with_computation
from genperf.models.family import Family, Overhead
from genperf.panel import Panel


def build(factors: Panel) -> Expression:
    """Write Ernest's four terms.

        T = c + a·w + b·log2 n + d·n

    Venkataraman et al. (2016), "Ernest: efficient performance prediction for large-scale advanced analytics",
    equation 1: a fixed cost, the data divided by the machines (here w, one worker's work), aggregation in a tree, and
    costs for each machine. Fitted by non-negative least squares there and here.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "nodes"}, mapping={"workers": "nodes"}).panel))
    c + a/nodes + b*log2(nodes) + d*nodes
    """
    exchange = {"tree": "b*log2(workers)", "per worker": "d*workers"}
    return with_computation("ernest", factors, exchange, job=True)


FAMILY = Family(
    name="ernest",
    equation="c + a·batch + b·log2(workers) + d·workers, or a/workers",
    source="Venkataraman et al. 2016",
    purpose="jobs and steps whose communication is a tree or one message per worker",
    uses=("batch", "work", "samples"),
    build=build,
    overheads=(
        Overhead("constant", "c", "c", "constant"),
        # One message after another, or faster: sharded optimizers on hundreds of nodes. Its size is that on nine nodes.
        Overhead("one after another", "gamma", "gamma*((nodes - 1)/8)**p", "growing", shape="p"),
    ),
)
