"""Amdahl's law: a serial part that stays and a parallel part that the workers share."""

from __future__ import annotations

from genperf.expression import Expression, coefficient
from genperf.models.family import Factors, Family, Need, compose


def build(found: Factors) -> Expression:
    """Write `T = serial + parallel·work/workers`; with a batch per worker the work is what one worker does.

    Examples
    --------
    >>> from genperf.table import Factor
    >>> print(build(Factors((Factor("workers", "extrinsic"),))))
    c + a/workers
    """
    return compose(
        "amdahl",
        {"serial": "c", "parallel": "a/workers"},
        [coefficient("c"), coefficient("a")],
        found,
    )


FAMILY = Family(
    name="amdahl",
    equation="c + a/workers",
    source="Amdahl 1967",
    purpose="strong scaling with a serial part and no communication",
    needs=(Need("workers"),),
    build=build,
)
