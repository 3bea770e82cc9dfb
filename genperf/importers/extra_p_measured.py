"""The content that Extra-P's formats share: the values measured at a point."""

from __future__ import annotations

from dataclasses import dataclass

#: The columns of what a value is of.
CALLPATH, METRIC = "callpath", "metric"


@dataclass(frozen=True)
class Measured:
    """Repeated values at one point.

    Attributes
    ----------
    series : dict of str to str
        Call path and metric, where they are given.
    point : tuple of float
        A coordinate for each parameter.
    """

    series: dict[str, str]
    point: tuple[int | float, ...]
    values: tuple[int | float, ...]
