"""What a predicted value is made of, or what it depends on where its terms have no name of the field."""

from __future__ import annotations

from dataclasses import dataclass

from genperf.facts.growth import Interval


@dataclass(frozen=True)
class Part:
    """A term of the predicted value, or several of one shape."""

    label: str
    terms: tuple[str, ...]
    #: Of the predicted value.
    share: Interval


@dataclass(frozen=True)
class Doubling:
    """By what the value is multiplied when a factor doubles, with the factors that follow it."""

    factor: str
    followers: tuple[str, ...]
    ratio: float


@dataclass(frozen=True)
class Limit:
    """What limits a configuration: the largest parts, or the strongest factors where no part has a name."""

    #: The predicted quantity, and what is reported first of it (a throughput where one was measured).
    name: str
    value_name: str
    #: Nominal coverage.
    interval: float
    #: The largest first; empty where the terms have no names of the field.
    parts: tuple[Part, ...] = ()
    #: The strongest first; empty where there are parts.
    doublings: tuple[Doubling, ...] = ()
    #: Whether nodes count the workers: terms are then named after nodes.
    counts_nodes: bool = True
    #: What one of the workers is called.
    worker: str = "workers"
