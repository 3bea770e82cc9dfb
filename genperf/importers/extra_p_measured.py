"""The content that Extra-P's formats share: the values measured at a point."""

from __future__ import annotations

from dataclasses import dataclass

#: The columns of what a value is of.
CALLPATH, METRIC = "callpath", "metric"


@dataclass(frozen=True)
class Measured:
    """Repeated values at one point."""

    #: Call path and metric, where they are given.
    series: dict[str, str]
    #: A coordinate for each parameter.
    point: tuple[int | float, ...]
    values: tuple[int | float, ...]
