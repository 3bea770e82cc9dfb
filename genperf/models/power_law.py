"""A step that grows or shrinks as a power of the workers."""

from __future__ import annotations

from genperf.expression import Expression, coefficient, exponent
from genperf.models.compose import compose
from genperf.models.family import Family, Need
from genperf.panel import Panel, share

#: Bounds of q. A guess: steeper than n² or 1/n² is no scaling that training shows.
EXPONENTS = (-2.0, 2.0)


def build(factors: Panel) -> Expression:
    """Write `T = c + a·w + b·n^q`, with the computation a·w where the table says how much one worker does.

    Negative q is strong scaling (a fixed amount of work is shared), positive q a growing cost of working together.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> print(build(Panel((Factor("workers", "extrinsic"),))))
    c + b*workers**q
    """
    work = share(factors, job=True)
    terms = {"constant": "c"}
    if work.known:
        terms["compute"] = work.of("a")
    return compose(
        "power-law",
        {**terms, "power": "b*workers**q"},
        [
            coefficient("c"),
            coefficient("a", work.unit),
            coefficient("b"),
            exponent("q", *EXPONENTS, start=0.5),
        ],
        factors,
        spare={"constant": "compute"},
    )


FAMILY = Family(
    name="power-law",
    equation="c + a·batch + b·workers^q",
    source="reference",
    purpose="growth or shrinkage of any power between −2 and 2",
    needs=(Need("workers"), Need("batch", False), Need("work", False), Need("samples", False)),
    build=build,
)
