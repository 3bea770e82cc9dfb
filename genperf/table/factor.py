"""Factors: columns that the measured quantity may depend on, with their measured range."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from genperf.arrays import AnyArray, Array

Role = Literal["intrinsic", "extrinsic", "categorical"]


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One factor of a table."""

    #: The column.
    name: str
    #: A property of the program; how it is run; a name without an order.
    role: Role
    #: `lower`, `upper`: the measured range, in the column's unit; 0 for a categorical factor.
    lower: float = 0.0
    upper: float = 0.0
    #: What the factor is divided by before fitting: the geometric mean over the distinct configurations; repeats count
    #: once. Where a value is zero or negative, the mean of the absolute values; 1 where that is zero, or the factor is
    #: categorical.
    centre: float = 1.0
    #: How many different values or levels were measured.
    distinct: int = 0
    #: Of a categorical factor: most frequent first, then by name. The first is the reference. Empty otherwise.
    levels: tuple[str, ...] = ()
    #: Whether all values are whole numbers.
    integer: bool = False
    #: Whether all values are above zero, so that powers and logarithms of the factor exist.
    positive: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the factor has values rather than levels."""
        return self.role != "categorical"


def measure(name: str, role: Role, values: Sequence[Any] | AnyArray) -> Factor:
    """Describe a factor by its values, one per distinct configuration: numbers, or levels of a categorical one.

    Examples
    --------
    >>> workers = measure("workers", "extrinsic", [1.0, 2.0, 4.0, 8.0])
    >>> workers.lower, workers.upper, round(workers.centre, 3), workers.integer
    (1.0, 8.0, 2.828, True)
    >>> measure("framework", "categorical", ["tensorflow", "mxnet", "pytorch", "mxnet"]).levels
    ('mxnet', 'pytorch', 'tensorflow')
    """
    if role == "categorical":
        counts = Counter(str(v) for v in values)
        levels = tuple(sorted(counts, key=lambda level: (-counts[level], level)))
        return Factor(name, role, distinct=len(levels), levels=levels)
    numbers = np.asarray(values, dtype=float)
    integer, positive = bool(np.all(numbers == np.floor(numbers))), bool(np.all(numbers > 0))
    lower, upper, distinct = float(numbers.min()), float(numbers.max()), len(np.unique(numbers))
    return Factor(name, role, lower, upper, _centre(numbers), distinct, integer=integer, positive=positive)


def _centre(numbers: Array) -> float:
    if np.all(numbers > 0):
        centre = float(np.exp(np.mean(np.log(numbers))))
        # exp(log(x)) is not x to the last digit; a factor of one value must be divided by that value.
        return float(np.clip(centre, numbers.min(), numbers.max()))
    # Dividing by the number of values first: the sum of large ones would overflow.
    return float(np.sum(np.abs(numbers) / len(numbers))) or 1.0
