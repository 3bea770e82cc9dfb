"""The rows of a table in an order that only their content decides, so that what is drawn from them does too."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from genperf.table import Table

#: Seed of what is drawn from the rows of a table in order: folds, replicates, the rows that a choice is made on. The
#: seed of a fit is for its searches alone.
CONTENT_SEED = 0


def in_order(table: Table) -> Table:
    """Return a table with its rows sorted by the factors, then by the measured value.

    Folds and replicates are drawn by position. In order, they are the same however the rows were written.

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
        keys.append(values.astype(str) if values.dtype == object else values)
    return table.take(np.lexsort(keys))
