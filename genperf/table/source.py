"""Where a table comes from: a file, standard input or a DataFrame → unchecked cells, each row with its line."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.errors import Note, TableError
from genperf.table.cells import Cells
from genperf.table.clean import Rejection
from genperf.table.content import CONTENT, decoded, read_content, refuse_other_text
from genperf.table.delimited import column_names, read_delimited
from genperf.table.records import looks_like_json, read_records

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


def open_source(source: str | Path | pd.DataFrame, delimiter: str | None = None) -> Source:
    """Read the cells of a file, of standard input ("-") or of a DataFrame, before anything is understood of them.

    Delimited text in UTF-8 (UTF-16 with its mark), a drawn table, or JSON, also compressed (gzip, bz2, xz, zstd), or
    Parquet: told apart by content, not by name. Lines that start with `#` are comments.

    Raises
    ------
    TableError
        If there is nothing to read, or it is not a table.
    """
    if not isinstance(source, str | Path):
        import pandas as pd

        if isinstance(source, pd.DataFrame):
            return _from_frame(source, "DataFrame")
        raise TableError(f"a table is read from a path or a DataFrame, not from {type(source).__name__}")
    name, data = read_content(source)
    if data[:4] == b"PAR1":
        return _from_parquet(data, name)
    text = decoded(data, name)
    refuse_other_text(text, name)
    json = delimiter is None and looks_like_json(text)
    read = read_records(text, name) if json else read_delimited(text, name, delimiter)
    cells = np.array(read.rows, dtype=object).reshape(len(read.rows), len(read.columns)).T
    named = dict(zip(read.columns, cells, strict=True))
    lines = np.array(read.lines, dtype=np.int64)
    return Source(name, named, lines, read.unit, read.ragged, delimiter=read.delimiter, steps=read.steps)


def source_of_runs(runs: Sequence[Sequence[str]]) -> Source:
    """Return a table of counts of workers with the throughput of each.

    Examples
    --------
    >>> source_of_runs([("1", "410"), ("2", "792")]).columns["throughput"].tolist()
    ['410', '792']
    """
    cells = np.array([list(run) for run in runs], dtype=object).reshape(len(runs), 2).T
    return Source("runs", dict(zip(("workers", "throughput"), cells, strict=True)), np.arange(1, len(runs) + 1), "run")


def read_text(source: str | Path) -> tuple[str, str]:
    """Read a text file of any kind, or standard input ("-"): compressed or not, UTF-8, or UTF-16 with its mark.

    Returns
    -------
    name : str
        What messages call it.

    Raises
    ------
    TableError
        If it cannot be read, or is not text.
    """
    name, data = read_content(source)
    return name, decoded(data, name)


def _from_parquet(data: bytes, name: str) -> Source:
    try:
        import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise TableError("reading Parquet needs pyarrow", hint='pip install "genperf[parquet]"', where=name) from None
    import pandas as pd

    read: Callable[[Any], pd.DataFrame] = pd.read_parquet
    try:
        counts = parquet.read_metadata(io.BytesIO(data))
        cells = counts.num_rows * counts.num_columns
        if cells > CONTENT.max_parquet_cells:
            raise TableError(
                f"holds {counts.num_rows:,} rows of {counts.num_columns} columns; at most "
                f"{CONTENT.max_parquet_cells:,} cells are read into memory",
                hint='--aggregate summarises them while they are read, with pip install "genperf[large]"',
                where=name,
            )
        frame = read(io.BytesIO(data))
    except TableError:
        raise
    except Exception as error:  # pyarrow's errors have no common class of their own
        reason = str(error).split("\n")[0]
        raise TableError(f"is not a Parquet file that can be read ({reason})", where=name) from None
    return _from_frame(frame, name)


def _from_frame(frame: pd.DataFrame, name: str) -> Source:
    import pandas as pd

    # A named index is data (as after groupby or set_index); a row number is not, nor what is a column as well.
    twice = [label for label in frame.index.names if label is not None and label in frame.columns]
    if twice:
        frame = frame.reset_index(level=twice, drop=True)
    if any(label is not None for label in frame.index.names):
        frame = frame.reset_index()
    if not len(frame.columns):
        raise TableError("the table has no columns", where=name)
    columns = column_names([str(c) for c in frame.columns], name)
    if not len(frame):
        raise TableError("the table has columns and no rows", where=name)
    frame = frame.set_axis(pd.Index(columns), axis=1).reset_index(drop=True)
    return Source(name, frame, np.arange(len(frame), dtype=np.int64), "row")
