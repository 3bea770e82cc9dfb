"""Names for the arrays that functions take and return, whose docstrings give the shapes, and the front of two."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
#: Positions.
Index: TypeAlias = npt.NDArray[np.intp]
#: Counts, and numbers of rows.
Integers: TypeAlias = npt.NDArray[np.int64]
#: Texts, or what else cells may be.
Objects: TypeAlias = npt.NDArray[np.object_]
AnyArray: TypeAlias = npt.NDArray[Any]
#: Columns of one length by name.
Columns: TypeAlias = Mapping[str, AnyArray]


def front_of(first: Array, second: Array) -> Index:
    """Return the places of a Pareto front of two numbers to be small, by the first; of equal points the earliest."""
    order = np.lexsort((second, first))
    # A point is on the front where its second number is below all before it.
    least = np.minimum.accumulate(second[order])
    return np.asarray(order[least < np.append(np.inf, least[:-1])])
