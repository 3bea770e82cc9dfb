"""A step that grows with the logarithm of the workers, as collectives in a tree do."""

from genperf.expression import Expression
from genperf.models.compose import with_computation
from genperf.models.family import Family, Overhead
from genperf.panel import Panel


def build(factors: Panel) -> Expression:
    """Write `T = c + a·w + b·log2 n`, with the computation a·w where the table shows the work of one worker.

    The fewest constants with which a step can grow slowly: a reference that the others should beat.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "workers"}).panel))
    c + b*log2(workers)
    """
    return with_computation("logarithmic", factors, {"tree": "b*log2(workers)"}, job=True, known=True)


FAMILY = Family(
    name="logarithmic",
    equation="c + a·batch + b·log2(workers)",
    source="reference",
    purpose="a step that grows slowly: the fewest constants",
    uses=("batch", "work", "samples"),
    build=build,
    overheads=(Overhead("per doubling", "delta", "delta*log2(workers)", "doubling"),),
)
