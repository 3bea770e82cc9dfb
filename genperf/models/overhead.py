"""What scaling adds to the computation of one worker: the terms that `auto` weighs on a series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Where an overhead arises; see `Overhead`.
Place = Literal["constant", "inside", "between", "growing", "doubling"]


@dataclass(frozen=True)
class Overhead:
    """A term of a series beside its computation, with one coefficient above zero.

    m nodes hold g = n/m workers each. `auto` (`genperf.series`) builds the families of a series from the overheads of
    all registered families. One that its prior was learned for stands beside the others of its place. One that it was
    not learned for stands in a member of its own, with the other overheads of its family, until
    `experiments/learn_prior.py` has learned its size.
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
