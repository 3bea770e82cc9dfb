"""A table as it is understood: one fixed order of changes to its shape, each reported in one line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genperf.errors import Note
from genperf.table.cells import neutral
from genperf.table.clean import label, labels
from genperf.table.level_factors import with_factors
from genperf.table.opened import open_source
from genperf.table.parsed import parsed_column
from genperf.table.source import Source
from genperf.table.wide import alike_headers, melted
from genperf.vocabulary import words_of

if TYPE_CHECKING:
    import pandas as pd

_DECIMAL_COMMA = frozenset(words_of("headers.decimal_comma"))


def understood(
    source: str | Path | pd.DataFrame | Source,
    delimiter: str | None = None,
    named: Collection[str] = (),
    units: Mapping[str, str] | None = None,
) -> Source:
    """Read a source of any shape: rows, then wide to long, numbers without units, factors inside names.

    Parameters
    ----------
    delimiter : str, optional
        Recognised where omitted.
    named : collection of str
        Columns that the user named. Wide columns among them stay columns.
    units : mapping of str to str, optional
        The unit of time that the user gave for a column: cells with units are converted to it.

    Returns
    -------
    source : Source
        `columns` are the cells as they are understood, `steps` what was done, `units` what stood in cells, `names`
        what names say; `frame` and messages have the cells as they are written.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"run": ["baseline", "pipe-2", "pipe-4"], "Time": ["8 s", "5 s", "3000 ms"]})
    >>> source = understood(runs)
    >>> list(source.columns), list(source.columns["Time"]), list(source.columns["pipe"])
    (['run', 'Time', 'pipe', 'run kind'], [8.0, 5.0, 3.0], [1, 2, 4])
    >>> print(source.steps[0])
    3 cells: 's' and 'ms' of 'Time' converted to 's'
    >>> source.names["run"].of("pipe-8")
    {'pipe': 8.0, 'run kind': 'pipe'}
    """
    opened = source if isinstance(source, Source) else open_source(source, delimiter)
    return _with_names(_with_numbers(_long(_without_idle(opened, named), named), units or {}))


def _without_idle(source: Source, named: Collection[str]) -> Source:
    """Set aside the columns without a filled cell, and one without a name that numbers the rows."""
    if not len(source.lines):
        return source
    idle = []
    for position, (name, cells) in enumerate(source.columns.items()):
        if name in named or cells.dtype.kind in "iufb":
            continue
        nameless = name == "column 1" or re.fullmatch(r"(Unnamed: ?)?[\W\d]*", name)
        numbered = position == 0 and nameless and _numbers_rows(labels(cells).tolist())
        if numbered or not any(map(label, cells)):
            idle.append(name)
    return replace(source, idle=tuple(idle)) if idle and len(idle) < len(source.cells) else source


def _numbers_rows(texts: list[str]) -> bool:
    return any(texts == [str(i) for i in range(first, first + len(texts))] for first in (0, 1))


def _long(source: Source, named: Collection[str]) -> Source:
    """Turn wide columns into rows."""
    if not alike_headers(source.columns):
        return source
    cells = {name: np.asarray(column, dtype=object) for name, column in source.columns.items()}
    long = melted(cells, named)
    if long is None:
        return source
    return replace(
        source,
        cells=long.cells,
        lines=source.lines[long.rows],
        headers=long.headers,
        steps=(*source.steps, *long.steps),
        idle=(),
    )


def _with_numbers(source: Source, units: Mapping[str, str]) -> Source:
    """Read numbers beside units, ±, brackets and footnotes."""
    steps: list[Note] = []
    numbers, written_units = {}, {}
    words = re.split(r"[\W\d_]+", " ".join(source.columns).lower())
    comma = not _DECIMAL_COMMA.isdisjoint(words)
    for name, cells in source.columns.items():
        if cells.dtype.kind in "iufbM":
            continue
        parsed = parsed_column(name, cells.tolist(), source.delimiter, units.get(name), comma)
        if parsed is not None:
            numbers[name] = parsed.cells
            steps += parsed.steps
            if parsed.unit:
                written_units[name] = parsed.unit
    return replace(source, numbers=numbers, units=written_units, steps=(*source.steps, *steps)) if numbers else source


def _with_names(source: Source) -> Source:
    """Read the counts that names hold into columns beside them."""
    made, names, steps = with_factors(source.columns)
    return replace(source, made=made, names=names, steps=(*source.steps, *steps)) if names else source


def as_csv(source: Source) -> str:
    """Return the table as it is understood, as a CSV text that is understood alike; units stand behind the numbers."""
    out = io.StringIO()
    # Between semicolons '1,904' may be a decimal: it stays what it is.
    writer = csv.writer(out, delimiter=";" if source.delimiter == ";" else ",", lineterminator="\n")
    writer.writerow(source.columns)
    columns = []
    for name, cells in source.columns.items():
        unit = source.units.get(name, "")
        columns.append([_written(cell, unit if name in source.numbers else "") for cell in cells])
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _written(cell: object, unit: str) -> str:
    text = label(cell)
    return f"{text} {unit}" if unit and isinstance(cell, float) else neutral(text)
