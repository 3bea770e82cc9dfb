"""The local optima that searches ended in, and how many searches ended in the best one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from genperf.solver.polish import Polished

Array = npt.NDArray[np.float64]
#: Called with the least cost of the sets at hand whenever costs were computed.
Watch: TypeAlias = Callable[[float], None]

#: Stands in the place of a search's number where the set was polished from a given start.
FROM_START = -1


@dataclass(frozen=True)
class AgreementSettings:
    """When two costs are counted as one optimum."""

    #: Share of the least cost within which another cost is the same optimum. A guess: a tenth of a per cent of the mean
    #: squared error changes no prediction that anyone measures.
    relative_cost: float = 1e-3
    #: Costs below it all mean a perfect fit; costs are of the order of one, so this is the rounding of doubles.
    zero_cost: float = 1e-15


AGREEMENT = AgreementSettings()


@dataclass(frozen=True)
class Optima:
    """Local optima that one or more searches ended in, one entry per polished set."""

    #: Shape (sets, n).
    constants: Array
    #: Shape (sets,).
    cost: Array
    #: Shape (sets,). Whether the polish converged.
    converged: npt.NDArray[np.bool_]
    #: Shape (sets,). Number of the search; `FROM_START` for a set that was polished from a given start.
    search: npt.NDArray[np.intp]
    #: Number of searches.
    searches: int
    #: Sets of constants whose cost was computed.
    evaluations: int

    @property
    def best_counts(self) -> npt.NDArray[np.intp]:
        """Number of sets of each search that have the least cost of all, shape (searches,)."""
        best = self.cost <= self.cost.min() * (1.0 + AGREEMENT.relative_cost) + AGREEMENT.zero_cost
        return np.bincount(self.search[best & (self.search != FROM_START)], minlength=self.searches)

    @property
    def agreed(self) -> int:
        """Number of searches that reached the least cost of all."""
        return int(np.count_nonzero(self.best_counts))

    def continued(self, later: Optima) -> Optima:
        """Return these optima and later ones of the same searches."""
        return Optima(
            np.vstack([self.constants, later.constants]),
            np.concatenate([self.cost, later.cost]),
            np.concatenate([self.converged, later.converged]),
            np.concatenate([self.search, later.search]),
            self.searches,
            self.evaluations + later.evaluations,
        )

    def joined(self, others: Optima) -> Optima:
        """Return these optima and those of other searches, whose numbers follow."""
        numbers = np.where(others.search == FROM_START, FROM_START, others.search + self.searches)
        return Optima(
            np.vstack([self.constants, others.constants]),
            np.concatenate([self.cost, others.cost]),
            np.concatenate([self.converged, others.converged]),
            np.concatenate([self.search, numbers]),
            self.searches + others.searches,
            self.evaluations + others.evaluations,
        )


def optima_of(polished: Polished, starts: int, searches: int, evaluations: int) -> Optima:
    """Return the optima of a polish, each with the number of its search.

    Parameters
    ----------
    polished : Polished
        First the sets that were polished from given starts, then equally many sets of every search.
    starts : int
        Number of given starts.
    searches : int
        Number of searches.
    evaluations : int
        Evaluations before the polish.
    """
    search = np.repeat(np.arange(searches), (len(polished.cost) - starts) // searches)
    search = np.concatenate([np.full(starts, FROM_START), search])
    return Optima(
        polished.constants,
        polished.cost,
        polished.converged,
        search,
        searches,
        evaluations + polished.evaluations,
    )
