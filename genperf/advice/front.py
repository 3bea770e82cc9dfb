"""The Pareto front of two quantities that should both be small."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int64]


class Front:
    """The points than which no other point is smaller in one quantity and not larger in the other.

    Points are added block by block.

    Attributes
    ----------
    first, second : ndarray of shape (points,)
        The quantities: `first` rising, `second` falling.
    positions : ndarray of shape (points,)
        Where the points came from; of equal points the first.

    Examples
    --------
    >>> front = Front()
    >>> front.add(np.array([1.0, 2.0, 3.0]), np.array([9.0, 9.5, 4.0]), np.arange(3))
    >>> front.add(np.array([2.5]), np.array([5.0]), np.array([3]))
    >>> front.positions
    array([0, 3, 2])
    """

    def __init__(self) -> None:
        self.first: Array = np.empty(0)
        self.second: Array = np.empty(0)
        self.positions: Positions = np.empty(0, dtype=np.int64)

    def add(self, first: Array, second: Array, positions: Positions) -> None:
        """Take in a block of points, whose positions are larger than those of the blocks before.

        Parameters
        ----------
        first, second : ndarray of shape (points,)
            The two quantities.
        positions : ndarray of shape (points,)
            Where the points come from.
        """
        # Most points of a later block are beaten by the front there is: they need no sorting.
        left = np.searchsorted(self.first, first, side="right") - 1
        least = np.where(left >= 0, self.second[np.maximum(left, 0)] if self.second.size else np.inf, np.inf)
        kept = second < least
        x = np.concatenate([self.first, first[kept]])
        y = np.concatenate([self.second, second[kept]])
        where = np.concatenate([self.positions, positions[kept]])
        order = np.lexsort((where, y, x))
        falling = y[order]
        best_before = np.concatenate([[np.inf], np.minimum.accumulate(falling)[:-1]]) if falling.size else falling
        chosen = order[falling < best_before]
        self.first, self.second, self.positions = x[chosen], y[chosen], where[chosen]
