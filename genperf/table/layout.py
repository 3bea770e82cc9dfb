"""A transformer's layout in a table: its ways multiply to the devices, or the row is wrong."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from genperf.table.clean import Reasons, mostly_numbers, numbers
from genperf.table.columns import Columns
from genperf.vocabulary.names import WAYS, column_of


def refuse_contradictions(columns: Columns, factors: Collection[str]) -> None:
    """Mark the rows whose data-, tensor-, pipeline- and context-parallel ways do not multiply to their devices.

    Nothing is marked where none of the ways is a factor, or where one of the first three has no column.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"dp": [1, 2], "tp": [2, 2], "pp": [2, 4], "gpus": [4, 8], "s": [1.0, 2.0]})
    >>> read_table(runs, time="s", extrinsic="dp,tp,pp,gpus")
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: DataFrame: 1 of 2 rows cannot be used
      row 1, column 'gpus': '8' is not dp × tp × pp = 2 × 2 × 4 = 16
      try: --skip-bad-rows goes on without them
    """
    devices = _named(columns, "workers")
    named = {way: _named(columns, way) for way in WAYS}
    ways = [name for name in named.values() if name is not None]
    if devices is None or None in [named[way] for way in WAYS[:3]] or not {*ways} & {*factors}:
        return
    # Read without a check: a cell of a column in no role may be empty.
    values = {name: numbers(columns.source.columns[name])[0] for name in [*ways, devices]}
    product = np.prod([values[name] for name in ways], axis=0)
    wrong = np.flatnonzero(np.isfinite(product) & np.isfinite(values[devices]) & (product != values[devices]))
    reasons: Reasons = {}
    for row in wrong.tolist():
        factors = " × ".join(f"{values[name][row]:g}" for name in ways)
        reasons[row] = f"is not {' × '.join(ways)} = {factors} = {product[row]:g}"
    columns.reject(devices, reasons)


def _named(columns: Columns, canonical: str) -> str | None:
    """Return the column of numbers with one of the field's names, or None."""
    name = column_of(canonical, columns.names)
    if name is None or name in columns.texts or name in columns.derived:
        return None
    return name if mostly_numbers(columns.source.columns[name].tolist()) else None
