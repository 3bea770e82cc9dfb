"""What was measured, a line per configuration: enough to draw a model's data beside it, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from genperf.table import Table

#: A model keeps at most this many configurations.
MOST = 500


@dataclass(frozen=True)
class Median:
    """One measured configuration.

    Attributes
    ----------
    values : tuple of float or str
        In the order of the schema's factors.
    seconds : float
        Median of the repeats.
    shortest, longest : float
        Of the repeats, seconds.
    repeats : int
    """

    values: tuple[float | str, ...]
    seconds: float
    shortest: float
    longest: float
    repeats: int


def medians_of(table: Table, most: int = MOST) -> tuple[Median, ...]:
    """Return the configurations of a table, in order of first appearance; of more than `most`, evenly spaced ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 1, 2], "seconds": [1.0, 1.2, 0.6]})
    >>> medians_of(read_table(runs, time="seconds", extrinsic="workers"))[0]
    Median(values=(1.0,), seconds=1.1, shortest=1.0, longest=1.2, repeats=2)
    """
    middle = table.medians()
    kept = np.unique(np.linspace(0, len(middle) - 1, min(len(middle), most)).round().astype(int))
    repeats, (shortest, longest) = table.repeats, table.extremes
    columns = [middle.columns[f.name].tolist() for f in table.factors]
    return tuple(
        Median(
            tuple(column[i] for column in columns),
            float(middle.seconds[i]),
            float(shortest[i]),
            float(longest[i]),
            int(repeats[i]),
        )
        for i in kept.tolist()
    )
