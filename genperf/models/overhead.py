"""What scaling adds to the computation of one worker: the terms that `auto` weighs on a series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Where an overhead arises; see `Overhead`.
Place = Literal["constant", "inside", "between", "growing", "doubling"]


@dataclass(frozen=True)
class Overhead:
    """A term of a series beside its computation, with one coefficient above zero.

    m nodes hold g = n/m workers each. `auto` (`genperf.growth`) draws a bank of curves from the overheads that
    `prior.json` names.
    """

    #: Of the term, as attribution prints it; unique among all families.
    name: str
    #: Name of the coefficient.
    constant: str
    #: Over the coefficient and the canonical names `workers` and `nodes`.
    formula: str
    #: The same at every scale; among the workers of a node; from the second node on; in proportion to the nodes; with
    #: every doubling of the workers, inside a node and beyond.
    place: Place
    #: What the formula is divided by where its size relative to the computation is expected; 0 stands for the largest
    #: measured number of nodes.
    divisor: float = 1.0
