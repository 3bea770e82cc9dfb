"""Unchecked cells of a table, each row with its line, and what is understood of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.errors import Note
from genperf.table.cells import Cells
from genperf.table.clean import Rejection

if TYPE_CHECKING:
    import pandas as pd

    from genperf.table.level_factors import Names


@dataclass(frozen=True, eq=False)
class Source:
    """Unchecked cells, and what is understood of them."""

    #: What messages call it.
    name: str
    #: The columns as they are written: text from a delimited file, as they are from a DataFrame.
    cells: dict[str, npt.NDArray[Any]] | pd.DataFrame
    #: For each row the line it starts in, from 1; for a DataFrame or Parquet its position, from 0.
    lines: npt.NDArray[np.int64]
    #: "line", "row" or "record".
    unit: str = "line"
    #: Rows with too few or too many fields, which are not in `cells`.
    ragged: tuple[Rejection, ...] = ()
    #: Between the columns of a text; empty of others.
    delimiter: str = ""
    #: What was done to read it as a table, in order.
    steps: tuple[Note, ...] = ()
    #: Columns whose cells are numbers beside units, ± or footnotes, without these.
    numbers: Mapping[str, npt.NDArray[np.object_]] = field(default_factory=dict)
    #: The units that stood in cells.
    units: Mapping[str, str] = field(default_factory=dict)
    #: Columns read from the names in another.
    made: Mapping[str, npt.NDArray[np.object_]] = field(default_factory=dict)
    #: Columns of names that hold numbers, with what each name says.
    names: Mapping[str, Names] = field(default_factory=dict)
    #: Columns that are empty, or number the rows and have no name.
    idle: tuple[str, ...] = ()
    #: Of a column that was several in the file: for each row the header there.
    headers: Mapping[str, npt.NDArray[np.object_]] = field(default_factory=dict)

    @cached_property
    def columns(self) -> dict[str, Cells]:
        """The cells of each column as they are understood: numbers without units, also those that names hold."""
        written = {str(name): cells for name, cells in self.cells.items() if name not in self.idle}
        return {**written, **self.numbers, **self.made}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells as they are written, as a DataFrame: of text, dtype object."""
        if not isinstance(self.cells, dict):
            return self.cells
        import pandas as pd

        return pd.DataFrame(self.cells, dtype=object)

    def take(self, rows: npt.NDArray[np.intp]) -> Source:
        """Return the rows at some positions; each keeps its line."""
        cells = self.cells
        taken = _each(cells, rows) if isinstance(cells, dict) else cells.take(rows).reset_index(drop=True)
        numbers, made, headers = (_each(columns, rows) for columns in (self.numbers, self.made, self.headers))
        return replace(self, cells=taken, lines=self.lines[rows], numbers=numbers, made=made, headers=headers)

    def renamed(self, names: dict[str, str]) -> Source:
        """Return the cells with some columns named otherwise."""
        cells, made, numbers = self.cells, *(_named(cells, names) for cells in (self.made, self.numbers))
        written = _named(cells, names) if isinstance(cells, dict) else cells.rename(columns=names)
        return replace(self, cells=written, made=made, numbers=numbers)

    def rejection(self, row: int, column: str, value: Any, reason: str) -> Rejection:
        """Return the rejection of a cell.

        Parameters
        ----------
        row : int
            Position in `cells`, from 0.
        value : object
            What the cell holds.
        reason : str
            Why it cannot be used.
        """
        shown = "" if value is None else str(value)
        header = str(self.headers[column][row]) if column in self.headers else column
        return Rejection(self.name, int(self.lines[row]), header, shown, reason, self.unit)


def _each(cells: Mapping[str, npt.NDArray[Any]], rows: npt.NDArray[np.intp]) -> dict[str, npt.NDArray[Any]]:
    return {name: column.take(rows) for name, column in cells.items()}


def _named(cells: Mapping[str, npt.NDArray[Any]], names: Mapping[str, str]) -> dict[str, npt.NDArray[Any]]:
    return {names.get(name, name): column for name, column in cells.items()}


def source_of(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    lines: Iterable[int],
    unit: str = "line",
    **more: Any,
) -> Source:
    """Return rows of cells as a source.

    Parameters
    ----------
    rows : sequence of shape (rows, columns)
    lines : iterable of int
        Where each row starts.
    **more
        Other fields of `Source`.
    """
    cells = np.empty((len(rows), len(columns)), dtype=object)
    for place, row in enumerate(rows):
        cells[place] = row
    return Source(name, dict(zip(columns, cells.T, strict=True)), np.array([*lines], dtype=np.int64), unit, **more)
