"""Columns of cells, and a table of unchecked ones, each row with its line; no pandas until it is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Index, Integers, Objects
from genperf.errors import Note
from genperf.table.clean import Rejection, is_missing, number_in

if TYPE_CHECKING:
    import pandas as pd

#: The cells of one column, of shape (rows,): an array, or a Series of a DataFrame that was given.
Cells: TypeAlias = Union[AnyArray, "pd.Series[Any]"]
#: Different names in a column, or keys of JSON's records: more are of single runs. Half and double read the tables
#: of experiments/results/settings.md alike.
MOST_NAMES = 2000
#: What is written in quotes: other delimiters too, blanks around it, and what would be a comment.
_QUOTED = re.compile(r'[,;|\t"\r\n]|^\s|\s\Z|^#')
#: Rows whose text is made at once: a few MB.
_BLOCK = 10_000


def frame_of(columns: Mapping[str, Cells]) -> pd.DataFrame:
    """Return columns as a DataFrame; pandas finds the types of Python's values.

    Examples
    --------
    >>> frame_of({"workers": np.array([8, 64], dtype=object), "framework": np.array(["mxnet"] * 2)}).dtypes["workers"]
    dtype('int64')
    """
    import pandas as pd

    objects = {
        n: cells.tolist() for n, cells in columns.items() if isinstance(cells, np.ndarray) and cells.dtype == "O"
    }
    return pd.DataFrame({**columns, **objects})


def columns_of(frame: pd.DataFrame) -> dict[str, AnyArray]:
    """Return the columns of a DataFrame as arrays by name."""
    return {str(name): cells.to_numpy() for name, cells in frame.items()}


def neutral(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before it where it could be one.

    Examples
    --------
    >>> neutral("=1+1"), neutral("-1.5"), neutral("fp16")
    ("'=1+1", '-1.5', 'fp16')
    """
    formula = text.startswith(("=", "+", "-", "@", "\t", "\r")) and np.isnan(number_in(text))
    return f"'{text}" if formula else text


def csv_pieces(table: pd.DataFrame | Mapping[str, Cells], raw: bool = False, delimiter: str = ",") -> Iterator[str]:
    r"""Yield the text of a table as CSV, some rows at a time.

    Columns of floats have nine digits; a float among objects has as many as give the same number again. Unless `raw`,
    an apostrophe is put before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> table = {"nodes": np.array([2, 4]), "time": np.array([0.1, np.nan]), "reason": np.array(["far, wide", ""])}
    >>> list(csv_pieces(table))
    ['nodes,time,reason\n', '2,0.1,"far, wide"\n4,,\n']
    """
    columns = dict(table.items())
    yield delimiter.join(_quoted(str(name), raw) for name in columns) + "\n"
    for start in range(0, max(map(len, columns.values()), default=0), _BLOCK):
        block = [_texts(cells[start : start + _BLOCK], raw) for cells in columns.values()]
        # An empty line would be no row.
        yield "".join((delimiter.join(row) or '""') + "\n" for row in zip(*block, strict=True))


def _texts(cells: Cells, raw: bool) -> list[str]:
    """Return the text of a column's cells; what is missing is empty."""
    if cells.dtype.kind == "M":
        # A Series of days is written without their midnights; pandas before 3 writes a missing one as NaT.
        return ["" if is_missing(text) or text == "NaT" else text for text in cells.astype(str).tolist()]
    values = cells.tolist()
    if cells.dtype.kind == "f":
        texts = map("{:.9g}".format, values)
        return ["" if text == "nan" else text for text in texts]
    # Verdicts and levels repeat: of each text once.
    quoted_by_value = {value: _quoted(value, raw) for value in {*values} if isinstance(value, str)}
    return [
        quoted_by_value[v] if isinstance(v, str) else "" if is_missing(v) else _quoted(str(v), raw=True) for v in values
    ]


def _quoted(text: str, raw: bool) -> str:
    text = text if raw else neutral(text)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame with some columns added or replaced, whatever their names: `assign` cannot take `self`.

    Examples
    --------
    >>> import pandas as pd
    >>> with_columns(pd.DataFrame({"n": [1, 2]}), {"self": [3, 4]}).columns.tolist()
    ['n', 'self']
    """
    import pandas as pd

    # One frame of all at once: columns that are added one by one make it slow.
    together: dict[str, Any] = {str(name): cells for name, cells in frame.items()}
    return pd.DataFrame({**together, **columns}, index=frame.index)


def step(text: str) -> Note:
    """Return the report of one change of a table's shape."""
    return Note(text, "shape")


#: The numbers of a name by the words beside them, and what is left of the name.
Taken = tuple[dict[str, float], str]


class Names(Struct, frozen=True):
    """A column of names that was taken apart."""

    #: The word beside each number, and the column that has the numbers.
    columns: Mapping[str, str]
    #: For each name the numbers that it holds, by the word.
    values: Mapping[str, dict[str, float]]
    #: For each name what is left of it without its numbers.
    kind: Mapping[str, str]
    kind_column: str
    #: Takes a name apart.
    read: Callable[[str], Taken | None]

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that hold what the names say."""
        return (*self.columns.values(), *([self.kind_column] if self.kind_column else []))

    def of(self, name: str) -> dict[str, float | str]:
        """Return what a name says, measured or not: its numbers by column, and its kind; empty where it says nothing.

        Examples
        --------
        >>> from genperf.table.shape import names_of
        >>> taken = names_of("run", ["baseline", "pipeline-1", "pipeline-2", "pipeline-4"])
        >>> taken.of("pipeline-8"), taken.of("other")
        ({'pipeline': 8.0, 'run kind': 'pipeline'}, {})
        """
        read_name = (self.values[name], self.kind.get(name, "")) if name in self.values else self.read(name)
        if read_name is None or not read_name[0] or not {*self.columns} >= {*read_name[0]}:
            return {}
        numbers = {self.columns[word]: value for word, value in read_name[0].items()}
        return {**numbers, **({self.kind_column: read_name[1]} if self.kind_column else {})}


class Source(Struct, frozen=True, eq=False, dict=True):
    """Unchecked cells, and what is understood of them."""

    #: What messages call it.
    name: str
    #: The columns as they are written: text from a delimited file, of a DataFrame objects where they are no numbers.
    cells: dict[str, AnyArray]
    #: For each row the line it starts in, from 1; for a DataFrame or Parquet its position, from 0.
    lines: Integers
    #: "line", "row" or "record".
    unit: str = "line"
    #: Rows with too few or too many fields, which are not in `cells`.
    ragged: tuple[Rejection, ...] = ()
    #: Between the columns of a text; empty of others.
    delimiter: str = ""
    #: What was done to read it as a table, in order.
    steps: tuple[Note, ...] = ()
    #: The title above the table.
    caption: str = ""
    #: What is read from the cells: numbers without their units, ± or footnotes, and columns made from names in others.
    read: Mapping[str, Objects] = field(default_factory=dict)
    #: The units that stood in cells.
    units: Mapping[str, str] = field(default_factory=dict)
    #: Columns of names that hold numbers, with what each name says.
    names: Mapping[str, Names] = field(default_factory=dict)
    #: Columns that are empty, or number the rows and have no name.
    idle: tuple[str, ...] = ()
    #: Of a column that was several in the file: for each row the header there.
    headers: Mapping[str, Objects] = field(default_factory=dict)
    #: Whether each row is a run that was read from a log, a record or a file of its own.
    runs: bool = False
    #: Other names of columns: those that had the same cells.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: Of columns measured in the steps of a run: for each row how many, and their 5 and 95 % quantiles.
    steady: Mapping[str, AnyArray] = field(default_factory=dict)
    #: How many rows of the file each row stands for; one where omitted.
    counts: Integers | None = None

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def columns(self) -> dict[str, AnyArray]:
        """The cells of each column as they are understood: numbers without units, also those that names hold."""
        return {**{name: cells for name, cells in self.cells.items() if name not in self.idle}, **self.read}

    def take(self, rows: Index) -> Source:
        """Return the rows at some positions; each keeps its line."""
        columns_by_kind = {"cells": self.cells, "read": self.read, "headers": self.headers, "steady": self.steady}
        taken: Any = {
            kind: {n: column[rows] for n, column in columns.items()} for kind, columns in columns_by_kind.items()
        }
        return replace(self, lines=self.lines[rows], **taken)

    def renamed(self, names: Mapping[str, str]) -> Source:
        """Return the cells with some columns named otherwise."""
        kinds = {"cells": self.cells, "read": self.read, "units": self.units, "steady": self.steady}
        renamed: Any = {kind: {names.get(n, n): item for n, item in items.items()} for kind, items in kinds.items()}
        return replace(self, **renamed)

    def rejection(self, row: int, column: str, value: Any, reason: str) -> Rejection:
        """Return the rejection of a cell: its position, from 0, what it holds, and why it cannot be used."""
        cell_text = "" if value is None else str(value)
        header = str(self.headers[column][row]) if column in self.headers else column
        return Rejection(self.name, int(self.lines[row]), header, cell_text, reason, self.unit, self.count([row]))

    def count(self, rows: npt.ArrayLike) -> int:
        """Return how many rows of the file some rows, a mask or positions, stand for."""
        counts = np.ones(len(self), dtype=np.int64) if self.counts is None else self.counts
        return int(counts[np.asarray(rows)].sum())


def source_of(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    lines: Iterable[int],
    unit: str = "line",
    **more: Any,
) -> Source:
    """Return rows of cells as a source; `lines` are where the rows start, `more` other fields of `Source`."""
    cells = np.array(rows, dtype=object).reshape(len(rows), len(columns))
    return Source(name, dict(zip(columns, cells.T, strict=True)), np.array([*lines], dtype=np.int64), unit, **more)


def source_of_frame(name: str, frame: pd.DataFrame, unit: str = "row") -> Source:
    """Return a DataFrame as a source; cells that are no numbers become objects."""
    cells = {str(n): (c if c.dtype.kind in "iufb" else c.astype(object)).to_numpy() for n, c in frame.items()}
    return source_of_columns(cells, name, unit)


def source_of_columns(columns: Mapping[str, AnyArray], name: str = "DataFrame", unit: str = "row") -> Source:
    """Return arrays of one length by name as a source."""
    rows = len(next(iter(columns.values()), ()))
    return Source(name, dict(columns), np.arange(rows, dtype=np.int64), unit)
