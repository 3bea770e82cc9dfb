"""Where a table comes from: a file, standard input or a DataFrame → unchecked cells, each row with its line."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.errors import TableError
from genperf.table.cells import Cells
from genperf.table.clean import Rejection
from genperf.table.content import decoded, read_content, refuse_marked_up

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = (",", ";", "\t", "|")
#: The first line by which a spreadsheet names the delimiter.
_NAMED_DELIMITER = re.compile(r"\"?sep=(.)\"?\r?$", re.IGNORECASE | re.MULTILINE)
_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


@dataclass(frozen=True)
class TextSettings:
    """Limits of reading delimited text."""

    #: A cell may hold a long command line; only a quote that is never closed makes a larger one. A guess: 1 MiB.
    max_cell_bytes: int = 1 << 20
    #: Cells of a Parquet file that are read into memory, whatever its size: a column of one value takes nothing in the
    #: file. A cell takes 8 to 60 bytes.
    max_parquet_cells: int = 50_000_000
    #: Rows from which the delimiter is guessed. A guess: more do not change it.
    delimiter_rows: int = 200
    #: Lines of comments before the first row in which a header is looked for. A guess: licences are shorter.
    max_comments: int = 200


TEXT = TextSettings()


@dataclass(frozen=True, eq=False)
class Source:
    """Unchecked cells."""

    #: What messages call it.
    name: str
    #: Shape (rows,), or DataFrame. The columns: text from a delimited file, as they are from a DataFrame.
    cells: dict[str, npt.NDArray[Any]] | pd.DataFrame
    #: For each row the line it starts in, from 1; for a DataFrame or Parquet its position, from 0.
    lines: npt.NDArray[np.int64]
    #: "line" or "row".
    unit: str = "line"
    #: Rows with too few or too many fields, which are not in `cells`.
    ragged: tuple[Rejection, ...] = ()

    @cached_property
    def columns(self) -> dict[str, Cells]:
        """The cells of each column."""
        return {str(name): cells for name, cells in self.cells.items()}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells as a DataFrame: of text, dtype object."""
        if not isinstance(self.cells, dict):
            return self.cells
        import pandas as pd

        return pd.DataFrame(self.cells, dtype=object)

    def take(self, rows: npt.NDArray[np.intp]) -> Source:
        """Return the rows at some positions; each keeps its line."""
        if isinstance(self.cells, dict):
            return replace(self, cells={k: v.take(rows) for k, v in self.cells.items()}, lines=self.lines[rows])
        return replace(self, cells=self.cells.take(rows).reset_index(drop=True), lines=self.lines[rows])

    def renamed(self, names: dict[str, str]) -> Source:
        """Return the cells with some columns named otherwise."""
        if not isinstance(self.cells, dict):
            return replace(self, cells=self.cells.rename(columns=names))
        return replace(self, cells={names.get(name, name): cells for name, cells in self.cells.items()})

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
        return Rejection(self.name, int(self.lines[row]), column, shown, reason, self.unit)


def open_source(source: str | Path | pd.DataFrame, delimiter: str | None = None) -> Source:
    """Read the cells of a file, of standard input ("-") or of a DataFrame.

    Delimited text in UTF-8 (UTF-16 with its mark), also compressed (gzip, bz2, xz, zstd), or Parquet: told apart by
    content, not by name. Lines that start with `#` are comments.

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
    refuse_marked_up(text, name)
    return _from_text(text, name, delimiter)


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


def _from_text(text: str, name: str, delimiter: str | None) -> Source:
    """Read delimited text."""
    if not text.strip():
        raise TableError("the file is empty", hint="a header line and a line per run are needed", where=name)
    marked = _NAMED_DELIMITER.match(text)
    if marked:
        # As a comment it keeps its line, which messages count.
        text, delimiter = f"#{text}", delimiter or marked[1]
    separator = guess_delimiter(text) if delimiter is None else _DELIMITER_NAMES.get(delimiter, delimiter)
    if len(separator) != 1 or separator in '"\r\n':
        raise TableError(f"the delimiter must be one character, not {delimiter!r}", hint="for example --delimiter ';'")
    records = _records(_with_header(text, separator), separator, name)
    head = next(records, None)
    if head is None:
        raise TableError("the file holds only comments", hint="a header line is needed", where=name)
    columns = _column_names(head[1], name, head[0])
    rows: list[list[str]] = []
    lines: list[int] = []
    ragged: list[Rejection] = []
    for line, record in records:
        if len(record) == len(columns):
            rows.append(record)
            lines.append(line)
        else:
            fields = f"{len(record)} field" + ("" if len(record) == 1 else "s")
            reason = f"{fields} where the header has {len(columns)}"
            ragged.append(Rejection(name, line, "", separator.join(record), reason))
    if not rows and not ragged:
        raise TableError("a header and no rows", hint="a line per run is needed below it", where=name)
    cells = np.array(rows, dtype=object).reshape(len(rows), len(columns)).T
    named = dict(zip(columns, cells, strict=True))
    return Source(name, named, np.array(lines, dtype=np.int64), "line", tuple(ragged))


def _with_header(text: str, delimiter: str) -> str:
    r"""Return the text with its header as such, where that is the last comment: `numpy.savetxt` writes it so."""
    comment = cells = None
    start = 0
    for line in itertools.islice(io.StringIO(text, newline=""), TEXT.max_comments):
        if line.lstrip().startswith("#"):
            comment = (start, line)
        elif line.strip():
            cells = line.strip().split(delimiter)
            break
        start += len(line)
    if comment is None or cells is None or len(cells) < 2:
        return text
    place, header = comment
    names = header.strip().lstrip("#").strip().split(delimiter)
    numeric = sum(_is_number(cell) for cell in cells)
    if len(names) != len(cells) or numeric < len(cells) / 2.0 or any(map(_is_number, names)):
        return text
    at = place + header.index("#")
    return text[:at] + text[at + 1 :]


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().strip('"'))
    except ValueError:
        return False
    return True


def _records(text: str, delimiter: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line it starts in; quoted line ends, blank lines and comments do not shift it."""
    line, first, between = 0, 0, True

    def feed() -> Iterator[str]:
        nonlocal line, first, between
        for physical in io.StringIO(text, newline=""):
            line += 1
            if between:
                if not physical.strip() or physical.lstrip().startswith("#"):
                    continue
                first, between = line, False
            yield physical.strip(" \r\n") + "\n" if delimiter == " " else physical

    before = csv.field_size_limit(TEXT.max_cell_bytes)
    try:
        # Blanks after a delimiter are padding, also before a quote.
        for record in csv.reader(feed(), delimiter=delimiter, skipinitialspace=True, strict=True):
            yield first, record
            between = True
    except csv.Error as error:
        reason = str(error)
        message = f"a quote stands in the wrong place ({reason})"
        if "unexpected end" in reason:
            message = "a quote is opened here and not closed"
        elif "field limit" in reason:
            message = f"a cell holds more than {TEXT.max_cell_bytes / 2**20:g} MB, or a quote is not closed"
        raise TableError(
            message,
            hint='double a quote inside a quoted cell: ""',
            where=f"{name}: line {first}",
        ) from None
    finally:
        csv.field_size_limit(before)


def guess_delimiter(text: str) -> str:
    r"""Return the delimiter that cuts most of the first rows into as many fields as the header.

    `csv.Sniffer` is not used: it also takes letters and digits for delimiters.

    Examples
    --------
    >>> guess_delimiter("workers;time\n1;0,5\n2;0,7\n"), guess_delimiter("workers time\n1   0.5\n")
    (';', ' ')
    """

    def agreement(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            for _, record in _records(text, delimiter, ""):
                widths.append(len(record))
                if len(widths) > TEXT.delimiter_rows:
                    break
        except TableError:
            pass  # a quote in the wrong place for this delimiter; what was read before it counts
        if not widths or widths[0] < 2:
            return 0.0, 0
        return Counter(widths)[widths[0]] / len(widths), widths[0]

    best = max(DELIMITERS, key=agreement)
    if agreement(best)[1]:
        return best
    return " " if agreement(" ")[1] else ","


def _column_names(cells: list[str], name: str, line: int) -> list[str]:
    """Return the columns' names."""
    # A spreadsheet or `DataFrame.to_csv` leaves the name of an index column empty.
    columns = [one_line(cell) or f"column {i}" for i, cell in enumerate(cells, 1)]
    _refuse_duplicates(columns, f"{name}: line {line}")
    return columns


def one_line(name: str) -> str:
    r"""Return a column's name on one line: a formula, an option and a message have one.

    Examples
    --------
    >>> one_line(" work\ners ")
    'work ers'
    """
    return re.sub(r"[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029]+", " ", name).strip()


def _refuse_duplicates(columns: list[str], where: str) -> None:
    twice = [c for c, count in Counter(columns).items() if count > 1]
    if twice:
        at = [str(i) for i, c in enumerate(columns, 1) if c == twice[0]]
        places = ", ".join(at[:-1]) + f" and {at[-1]}"
        raise TableError(f"columns {places} are both named '{twice[0]}'", hint="rename one of them", where=where)


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
        if cells > TEXT.max_parquet_cells:
            raise TableError(
                f"holds {counts.num_rows:,} rows of {counts.num_columns} columns; at most "
                f"{TEXT.max_parquet_cells:,} cells are read into memory",
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
    columns = [one_line(str(c)) for c in frame.columns]
    _refuse_duplicates(columns, name)
    if not columns:
        raise TableError("the table has no columns", where=name)
    if not len(frame):
        raise TableError("the table has columns and no rows", where=name)
    frame = frame.set_axis(pd.Index(columns), axis=1).reset_index(drop=True)
    return Source(name, frame, np.arange(len(frame), dtype=np.int64), "row")
