"""A step that grows or shrinks as a power of the workers."""

from genperf.expression import Expression, exponent
from genperf.models.compose import with_computation
from genperf.models.family import Family
from genperf.panel import Panel

#: Steeper than n² or 1/n² is no scaling that training shows. Half and double err as much
#: (experiments/results/settings.md).
EXPONENT = exponent("q", -2.0, 2.0, start=0.5)


def build(factors: Panel) -> Expression:
    """Write `T = c + a·w + b·n^q`, with the computation a·w where the table shows the work of one worker.

    Negative q is strong scaling (a fixed amount of work is shared), positive q a growing cost of working together.

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> print(build(roles_of({"extrinsic": "workers"}).panel))
    c + b*workers**q
    """
    power = {"power": "b*workers**q"}
    return with_computation("power-law", factors, power, job=True, known=True, shapes=[EXPONENT])


FAMILY = Family(
    name="power-law",
    equation="c + a·batch + b·workers^q",
    source="reference",
    purpose="growth or shrinkage of any power between −2 and 2",
    uses=("batch", "work", "samples"),
    build=build,
)
