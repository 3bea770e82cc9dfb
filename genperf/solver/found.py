"""What searches found, polished, and how many of them agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.solver.polish import Polished

Array = npt.NDArray[np.float64]
#: Is told the least cost of what is at hand, whenever costs were computed.
Watch: TypeAlias = Callable[[float], None]

#: In the place of the search that found something, where it was given.
GIVEN = -1
#: Costs within this share of each other are the same optimum,
AGREE = 1e-3
#: and so are costs of a perfect fit.
PERFECT = 1e-15


@dataclass(frozen=True)
class Found:
    """What one or more searches found, one entry per set.

    Attributes
    ----------
    constants : ndarray of shape (sets, n)
    cost : ndarray of shape (sets,)
    settled : ndarray of bool of shape (sets,)
        Whether the polish came to rest.
    search : ndarray of int of shape (sets,)
        Which search found it; `GIVEN` where none did.
    searches : int
    evaluations : int
    """

    constants: Array
    cost: Array
    settled: npt.NDArray[np.bool_]
    search: npt.NDArray[np.intp]
    searches: int
    evaluations: int

    @property
    def reached(self) -> npt.NDArray[np.intp]:
        """How many sets of each search have the least cost of all."""
        there = self.cost <= self.cost.min() * (1.0 + AGREE) + PERFECT
        return np.bincount(self.search[there & (self.search != GIVEN)], minlength=self.searches)

    @property
    def agreed(self) -> int:
        """How many searches reached the least cost of all."""
        return int(np.count_nonzero(self.reached))

    def gone_on(self, other: Found) -> Found:
        """Return this and what the same searches found later."""
        return Found(
            np.vstack([self.constants, other.constants]),
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.settled, other.settled]),
            np.concatenate([self.search, other.search]),
            self.searches,
            self.evaluations + other.evaluations,
        )

    def beside(self, other: Found) -> Found:
        """Return this and what other searches found."""
        numbered = np.where(other.search == GIVEN, GIVEN, other.search + self.searches)
        both = self.gone_on(Found(other.constants, other.cost, other.settled, numbered, 0, other.evaluations))
        return Found(
            both.constants, both.cost, both.settled, both.search, self.searches + other.searches, both.evaluations
        )


def found(run: Polished, given: int, searches: int, spent: int) -> Found:
    """Say of a polish which of its sets came from which search.

    Parameters
    ----------
    run : Polished
        First what was given, then as many sets of every search.
    given, searches : int
        How many.
    spent : int
        Evaluations before the polish.
    """
    search = np.repeat(np.arange(searches), (len(run.cost) - given) // searches)
    search = np.concatenate([np.full(given, GIVEN), search])
    return Found(run.constants, run.cost, run.settled, search, searches, spent + run.evaluations)
