"""Rows that count as repeats of a configuration, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note
from genperf.table.describe import number_rows
from genperf.table.table import Table


@dataclass(frozen=True)
class RepeatSettings:
    """When rows with equal factors are hardly repeats."""

    #: A column in no role with more values than this is taken for a measurement, and not for a setting of the run that
    #: was forgotten. A guess: settings have few values, measurements as many as rows.
    max_setting_values: int = 20
    #: Columns that a note lists. A guess: they fit on a line.
    max_shown_columns: int = 6
    #: The largest of a configuration's values over the smallest, in the median of the configurations, from which on
    #: something else than noise parts them. A guess.
    apart: float = 2.0


REPEATS = RepeatSettings()


def with_repeat_notes(table: Table) -> Table:
    """Say where rows that count as repeats differ in a setting that is in no role, or by more than noise.

    Examples
    --------
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 1, 2, 2], "s": [1.0, 3.1, 1.1, 3.3]})
    >>> [note.kind for note in read_table(runs, time="s", extrinsic="gpus").notes]
    ['repeats_apart']
    """
    names = [*(f.name for f in table.factors), *table.group, *([table.repeat] if table.repeat else [])]
    _, first, configuration = np.unique(number_rows(table.frame, names), return_index=True, return_inverse=True)
    if len(first) == len(table.frame):
        return table
    notes = (*_mixture_note(table, first, configuration), *_spread_note(table, configuration))
    return replace(table, notes=(*table.notes, *notes))


def _mixture_note(table: Table, first: npt.NDArray[np.intp], configuration: npt.NDArray[np.intp]) -> tuple[Note, ...]:
    """Name the columns in no role in which repeats of a configuration differ."""
    mixed = []
    for name in table.unused:
        if name not in table.phases.values():
            codes, values = pd.factorize(table.frame[name], use_na_sentinel=False)
            differs = codes != codes[first][configuration]
            if len(values) <= REPEATS.max_setting_values and differs.any():
                mixed.append(name)
    if not mixed:
        return ()
    shown = ", ".join(f"'{c}'" for c in mixed[: REPEATS.max_shown_columns])
    shown += ", …" if len(mixed) > REPEATS.max_shown_columns else ""
    text = (
        f"rows with equal factors, taken for repeats, differ in {shown}: name what matters as a factor or --group"
        + ("" if table.repeat is not None else ", or the number of the run as --repeat")
    )
    return (Note(text, "configuration_mixed"),)


def _spread_note(table: Table, configuration: npt.NDArray[np.intp]) -> tuple[Note, ...]:
    """Say that repeats differ by far more than noise."""
    values = table.frame[table.target.column].groupby(configuration)
    ratio = float((values.max() / values.min())[values.size() > 1].median())
    if ratio < REPEATS.apart:
        return ()
    text = (
        f"repeats of a configuration differ by a factor of {ratio:.2g} in the median: if the table holds runs of two "
        "clusters or programs, name the column that tells them apart (--group), or add one"
    )
    return (Note(text, "repeats_apart"),)
