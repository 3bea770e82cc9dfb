"""What was measured, a line per configuration: enough to draw a model's data beside it, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from genperf.table import Table

#: A model keeps at most this many configurations.
MOST = 500


class Median(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One measured configuration."""

    #: In the order of the schema's factors.
    values: tuple[float | str, ...]
    #: Median of the repeats.
    value: float
    #: `lowest`, `highest`: of the repeats.
    lowest: float
    highest: float
    repeats: int


def medians_of(table: Table, most: int = MOST) -> tuple[Median, ...]:
    """Return the configurations of a table, in order of first appearance; of more than `most`, evenly spaced ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 1, 2], "seconds": [1.0, 1.2, 0.6]})
    >>> medians_of(read_table(runs, time="seconds", extrinsic="workers"))[0]
    Median(values=(1.0,), value=1.1, lowest=1.0, highest=1.2, repeats=2)
    """
    middle = table.medians()
    kept = np.unique(np.linspace(0, len(middle) - 1, min(len(middle), most)).round().astype(int))
    repeats, (lowest, highest) = table.repeats, table.extremes
    columns = [middle.columns[f.name].tolist() for f in table.factors]
    return tuple(
        Median(
            tuple(column[i] for column in columns),
            float(middle.measured[i]),
            float(lowest[i]),
            float(highest[i]),
            int(repeats[i]),
        )
        for i in kept.tolist()
    )
