"""The rows of a table in an order that only their content decides, so that what is drawn from them does too."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.table import Table

#: Seed of what is drawn from the rows of a table in order: folds, replicates, the rows that a choice is made on. The
#: seed of a fit is for its searches alone.
CONTENT_SEED = 0


def in_order(table: Table, names: bool = True) -> Table:
    """Return a table with its rows sorted by the factors, then by the measured value.

    Folds and replicates are drawn by position. In order, they are the same however the rows were written.

    Parameters
    ----------
    names : bool
        Whether levels are sorted by their names. Otherwise by their places among the factor's levels, which are known
        by content alone after `levels_by_content`.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"net": ["b", "a", "a"], "n": [1, 2, 1], "t": [3.0, 2.0, 1.0]})
    >>> in_order(read_table(runs, time="t", extrinsic="n", categorical="net")).measured.tolist()
    [1.0, 2.0, 3.0]
    """
    keys: list[npt.NDArray[np.generic]] = [table.weights, table.measured]
    for factor in table.factors:
        values = table.columns[factor.name]
        if not factor.numeric and not names:
            places = {level: place for place, level in enumerate(factor.levels)}
            values = np.array([places[str(value)] for value in values])
        keys.append(values.astype(str) if values.dtype == object else values)
    order = np.lexsort(keys)
    return table if np.array_equal(order, np.arange(len(order))) else table.take(order)


def levels_by_content(table: Table) -> Table:
    """Return a table with the levels of each categorical factor in an order that their names do not decide.

    The most frequent level comes first, of equally frequent ones that with the least median. The first level is the one
    that the shared constants tell, so that a name would decide what a penalty pulls towards.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"net": ["a", "a", "b", "b"], "n": [1, 2, 1, 2], "t": [3.0, 2.0, 2.0, 1.0]})
    >>> levels_by_content(read_table(runs, time="t", extrinsic="n", categorical="net")).factors[-1].levels
    ('b', 'a')
    """
    medians = table.medians()
    factors = []
    for factor in table.factors:
        if not factor.numeric:
            column = medians.columns[factor.name].astype(str)
            counts = Counter(column.tolist())
            middle = {level: float(np.median(medians.measured[column == level])) for level in counts}
            levels = sorted(counts, key=lambda one: (-counts[one], middle[one], one))
            factor = msgspec.structs.replace(factor, levels=tuple(levels))
        factors.append(factor)
    return replace(table, factors=tuple(factors))
