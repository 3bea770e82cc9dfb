"""Several files of one table: the rows of all, in the order of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from genperf.errors import TableError, listed
from genperf.table.aggregate import files_of
from genperf.table.source import Source, open_source


def open_files(sources: Sequence[str], delimiter: str | None = None) -> Source:
    """Read files, and patterns of files, of the same columns.

    Raises
    ------
    TableError
        Where a file has other columns than the first, or a pattern matches nothing.
    """
    files = [file for source in sources for file in ([source] if source == "-" else files_of(source))]
    first, *others = (open_source(file, delimiter) for file in files)
    if not others:
        return first
    names = list(map(str, first.cells))
    for other in others:
        if sorted(map(str, other.cells)) != sorted(names):
            raise TableError(
                f"has the columns {listed(list(map(str, other.cells)))}, and {first.name} has {listed(names)}",
                hint="files of one table have the same columns; genperf import reads the logs of other programs",
                where=other.name,
            )
    cells = {name: np.concatenate([np.asarray(one.cells[name], object) for one in (first, *others)]) for name in names}
    rows = len(cells[names[0]])
    ragged = tuple(rejection for one in (first, *others) for rejection in one.ragged)
    return replace(first, name=" ".join(sources), cells=cells, lines=np.arange(1, rows + 1), unit="row", ragged=ragged)
