"""Columns that measure one phase of a step: their names, and their times in seconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.table.clean import MISSING, Reasons, label, not_negative, numbers
from genperf.vocabulary import section

#: The phases of a step of synchronous SGD, and what a column of each is called before its unit.
PHASES = section("phases")
#: The ending of a phase's column is its unit, seconds: a column `forward` may hold anything.
UNITS = ("s", "seconds")


def phase_columns(names: Collection[str]) -> dict[str, str]:
    """Return the column that measures each phase: the first of the phase's names among the columns, case ignored.

    Examples
    --------
    >>> phase_columns(["workers", "Comm_s", "io_s", "update_ms"])
    {'input': 'io_s', 'exchange': 'Comm_s'}
    """
    there = {name.lower(): name for name in reversed(list(names))}
    columns = {}
    for phase, words in PHASES.items():
        known = [f"{word}_{unit}" for word in words for unit in UNITS]
        column = next((there[name] for name in known if name in there), None)
        if column is not None:
            columns[phase] = column
    return columns


def phase_seconds(cells: pd.Series) -> tuple[npt.NDArray[np.float64], Reasons]:
    """Read a phase's times.

    An empty cell is no fault: the phase was not measured in that row. A cell that is no time is one.

    Returns
    -------
    seconds : ndarray of shape (rows,)
        NaN where the phase has no usable time.
    faults : dict of int to str
        For each cell that cannot be used, why.

    Examples
    --------
    >>> phase_seconds(pd.Series(["0.5", "", "oom", "-1", "0"]))
    (array([0.5, nan, nan, nan, 0. ]), {2: 'is not a number', 3: 'is negative (a time must not be)'})
    """
    held = list(cells)
    seconds, reasons = numbers(held)
    faults = {i: why for i, why in reasons.items() if label(held[i]).lower() not in {"", *MISSING}}
    below = not_negative(seconds, "a time")
    seconds[list(below)] = np.nan
    return seconds, {**faults, **below}


def shown_phases(phases: Mapping[str, str]) -> str:
    """Write the columns with the phases that they measure.

    Examples
    --------
    >>> shown_phases({"input": "io_s", "exchange": "comm_s"})
    'io_s (input), comm_s (exchange)'
    """
    return ", ".join(f"{column} ({phase})" for phase, column in phases.items())
