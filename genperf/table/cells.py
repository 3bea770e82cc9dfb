"""Columns of cells, and a table of unchecked ones, each row with its line; no pandas until it is wanted.

Cells as people write them → numbers: units, ±, brackets, footnotes, thousands, decimal commas, lists. Factors: columns
that the measured quantity may depend on, with their measured range.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Index, Integers, Objects
from genperf.errors import Note, counted
from genperf.table.clean import (
    MISSING,
    Rejection,
    finite,
    is_missing,
    is_number,
    label,
    number_in,
    seconds_of,
    text_numbers,
)
from genperf.vocabulary import late, section, words_of
from genperf.vocabulary.headers import MULTIPLES, TIME_UNITS, canonical_time, header_of, is_other_word, unit_of
from genperf.vocabulary.names import LEVELS, meant_by, words_in

if TYPE_CHECKING:
    import pandas as pd


#: The cells of one column, of shape (rows,): an array, or a Series of a DataFrame that was given.
Cells: TypeAlias = Union[AnyArray, "pd.Series[Any]"]
#: Different names in a column, or keys of JSON's records: more are of single runs. Half and double read the tables
#: of experiments/results/settings.md alike.
MOST_NAMES = 2000
#: What is written in quotes: other delimiters too, blanks around it, and what would be a comment.
_QUOTED = late(r'[,;|\t"\r\n]|^\s|\s\Z|^#')
#: Rows whose text is made at once: a few MB.
_BLOCK = 10_000


def frame_of(columns: Mapping[str, Cells]) -> pd.DataFrame:
    """Return columns as a DataFrame; pandas finds the types of Python's values."""
    import pandas as pd

    lists = {n: cells.tolist() for n, cells in columns.items() if isinstance(cells, np.ndarray) and cells.dtype == "O"}
    return pd.DataFrame({**columns, **lists})


def neutral(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before it where it could be one."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) and np.isnan(number_in(text)) else text


def records(table: pd.DataFrame | Mapping[str, Cells]) -> list[dict[str, Any]]:
    """Return the rows of a table as plain values by name; what is missing or not finite is None."""
    names, columns = [*map(str, table)], [cells.tolist() for _, cells in table.items()]
    # A frame without columns has rows as well.
    rows = [*zip(*columns, strict=True)] if names else [()] * len(table)
    return [{n: None if is_missing(v) else finite(v) for n, v in zip(names, row, strict=True)} for row in rows]


def csv_pieces(table: pd.DataFrame | Mapping[str, Cells], raw: bool = False, delimiter: str = ",") -> Iterator[str]:
    r"""Yield the text of a table as CSV, some rows at a time.

    Columns of floats have nine digits; a float among objects has as many as give the same number again. Unless `raw`,
    an apostrophe is put before a text that a spreadsheet would take for a formula.
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
        return ["" if text == "nan" else text for text in map("{:.9g}".format, values)]
    # Verdicts and levels repeat: of each text once.
    quoted_by_value = {value: _quoted(value, raw) for value in {*values} if isinstance(value, str)}
    return [
        quoted_by_value[v] if isinstance(v, str) else "" if is_missing(v) else _quoted(str(v), raw=True) for v in values
    ]


def _quoted(text: str, raw: bool) -> str:
    """Return a text as a cell of CSV, in quotes where needed; unless `raw` no spreadsheet runs it as a formula."""
    text = text if raw else neutral(text)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame with some columns added or replaced, whatever their names: `assign` cannot take `self`."""
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
        """Return what a name says, measured or not: its numbers by column, and its kind; nothing where it says none."""
        read_name = (self.values[name], self.kind.get(name, "")) if name in self.values else self.read(name)
        if read_name is None or not read_name[0] or not {*self.columns} >= {*read_name[0]}:
            return {}
        if " " in name and read_name[1] not in ("", *self.kind.values()):
            return {}  # `64 gpus fp32` is no name like `gpus8`
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
    #: Between the columns of a text; empty for another source.
    delimiter: str = ""
    #: What was done to read it as a table, in order.
    steps: tuple[Note, ...] = ()
    #: The title above the table.
    caption: str = ""
    #: The other tables of the text, which a question may mean.
    tables: tuple[Source, ...] = ()
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

    def changed(self, report: str, **fields: Any) -> Source:
        """Return the cells with some fields changed, and with the step that reports it."""
        return replace(self, steps=(*self.steps, step(report)), **fields)

    def in_rows(self, want: str, at: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
        """Return what is wanted by a header that became rows, `7B tok/s`, as the column there is, with its settings."""
        for value, headers in self.headers.items():
            rows = np.flatnonzero(headers == want)
            of_rows = {n: {*map(label, cells[rows])} for n, cells in self.columns.items() if n not in self.headers}
            settings = {n: min(t) for n, t in of_rows.items() if len(t) == 1 < len({*map(label, self.columns[n])})}
            if rows.size and settings:
                return value, {**settings, **at}
        return want, at

    def take(self, rows: Index) -> Source:
        """Return the rows at some positions; each keeps its line."""
        columns = {kind: getattr(self, kind) for kind in ("cells", "read", "headers", "steady")}
        taken: Any = {kind: {n: cells[rows] for n, cells in of_kind.items()} for kind, of_kind in columns.items()}
        return replace(self, lines=self.lines[rows], **taken)

    def renamed(self, names: Mapping[str, str]) -> Source:
        """Return the cells with some columns named otherwise."""
        kinds = {"cells": self.cells, "read": self.read, "units": self.units, "steady": self.steady}
        renamed: Any = {kind: {names.get(n, n): item for n, item in items.items()} for kind, items in kinds.items()}
        return replace(self, **renamed)

    def without(self, names: Collection[str]) -> Source:
        """Return the cells without some columns."""
        kinds = {"cells": self.cells, "read": self.read}
        rest: Any = {kind: {n: c for n, c in columns.items() if n not in names} for kind, columns in kinds.items()}
        return replace(self, **rest)

    def rejection(self, row: int, column: str, value: Any, reason: str) -> Rejection:
        """Return the rejection of a cell: its position, from 0, what it holds, and why it cannot be used."""
        cell_text = "" if value is None else (label(value) if isinstance(value, float) else "") or str(value)
        header = str(self.headers[column][row]) if column in self.headers else column
        return Rejection(self.name, int(self.lines[row]), header, cell_text, reason, self.unit, self.count([row]))

    def count(self, rows: npt.ArrayLike) -> int:
        """Return how many rows of the file some rows, a mask or positions, stand for."""
        counts = np.ones(len(self), dtype=np.int64) if self.counts is None else self.counts
        return int(counts[np.asarray(rows)].sum())


def source_of(
    name: str, columns: Sequence[str], rows: Sequence[Any], lines: Iterable[int], unit: str = "line", **more: Any
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


def as_csv(source: Source) -> str:
    """Return the table as it is understood, as a CSV text that is understood alike; units stand behind the numbers."""

    def text_of(cell: Any, unit: str | None) -> str:
        """Return a number with its unit, and any other cell so that no spreadsheet runs it as a formula."""
        text = label(cell)
        is_numeric = isinstance(cell, float) or is_number(text)
        return f"{text} {unit}" if unit and is_numeric else neutral(text)

    columns = {
        name: np.array([text_of(cell, source.units.get(name)) for cell in cells], dtype=object)
        for name, cells in source.columns.items()
    }
    # `raw`, as `neutral` is applied to what needs it. Between semicolons '1,904' may be a decimal: it stays what it is.
    return "".join(csv_pieces(columns, raw=True, delimiter=";" if source.delimiter == ";" else ","))


# --- factors ----------------------------------------------------------------------------------------------------------


Role = Literal["intrinsic", "extrinsic", "categorical"]


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One factor of a table."""

    #: The column.
    name: str
    #: A property of the program; how it is run; a name without an order.
    role: Role
    #: `lower`, `upper`: the measured range, in the column's unit; 0 for a categorical factor.
    lower: float = 0.0
    upper: float = 0.0
    #: What the factor is divided by before fitting: the geometric mean over the distinct configurations; repeats count
    #: once. Where a value is zero or negative, the mean of the absolute values; 1 where that is zero, or the factor is
    #: categorical.
    centre: float = 1.0
    #: How many different values or levels were measured.
    distinct: int = 0
    #: Of a categorical factor: most frequent first, then by name. The first is the reference. Empty otherwise.
    levels: tuple[str, ...] = ()
    #: Whether all values are whole numbers.
    integer: bool = False
    #: Whether all values are above zero, so that powers and logarithms of the factor exist.
    positive: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the factor has values rather than levels."""
        return self.role != "categorical"


def measure(name: str, role: Role, values: Sequence[Any] | AnyArray) -> Factor:
    """Describe a factor by its values, one per distinct configuration: numbers, or levels of a categorical one."""
    if role == "categorical":
        counts = Counter(str(v) for v in values)
        levels = tuple(sorted(counts, key=lambda level: (-counts[level], level)))
        return Factor(name, role, distinct=len(levels), levels=levels)
    numbers = np.sort(np.asarray(values, dtype=float))
    integer, positive = bool(np.all(numbers == np.floor(numbers))), bool(np.all(numbers > 0))
    lower, upper, distinct = float(numbers.min()), float(numbers.max()), len(np.unique(numbers))
    if positive:
        # exp(log(x)) is not x to the last digit; a factor of one value must be divided by that value.
        centre = float(np.clip(float(np.exp(np.mean(np.log(numbers)))), lower, upper))
    else:
        # Dividing by the number of values first: the sum of large ones would overflow.
        centre = float(np.sum(np.abs(numbers) / len(numbers))) or 1.0
    return Factor(name, role, lower, upper, centre, distinct, integer=integer, positive=positive)


# --- cells as people write them ---------------------------------------------------------------------------------------


_BLANKS = "'’\u00a0\u2009\u202f"
_NUMBER = (
    rf"[+\-−]?(?:[0-9]{{1,3}}(?:[ {_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?|[0-9](?:[0-9.,]*[0-9])?(?:\.(?![^\W\d_]))?"
    r"|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_UNIT = r"(?![eE][+-]?\d)[^\W\d_²³¹][^\W\d_.µμ]*\.?(?:\s?[/·]\s?(?:[^\W\d_]+|\([^()]*\)))*|/\s?[^\W\d_]+|[%‰$€£×]|[µμ]s"
#: A number, what it varies by, its unit, a second value in brackets, a footnote.
_CELL = late(
    rf"(?:\*\*)?(?P<about>[~≈=↑↓]|(?:ca|approx|about)\b\.?)?\s*(?P<before>[$€£])?\s*(?P<number>{_NUMBER})\s*(?P<first>{_UNIT})?"
    rf"(?P<spread>\s*\(?\s*(?:±|\+/[-−]|\+[-−])\s*{_NUMBER}\s*(?P<common>{_UNIT})?\s*\)?)?"
    rf"\s*(?P<unit>{_UNIT})?(?:(?P<second>\s*[(\[{{](?!\^)[^()\[\]{{}}]*[)\]}}])\s*(?P<last>{_UNIT})?)?(?P<note>\s*(?:\[\^?\w+\]|[*†‡¹²³]+|(?<=\s)#\s.*))?"
)
#: What stands beside or in a number, and how it is reported that it was taken out.
_EXTRAS = {
    "±": "± and what follows removed from",
    "second value": "second value in brackets removed from",
    "footnote": "footnote removed from",
    "−": "minus sign of typesetting read in",
    ",": "separator of thousands removed from",
    "~": "sign before the number removed from",
}
#: What parts thousands.
SEPARATOR = late(f"[, {_BLANKS}]")
_SERIES = late(r"[\[(][\d.eE+\-\s,;]+[\])]")
#: `12.8–13.7`
_RANGE = late(r"(\d+(?:\.\d+)?)\s*[–—]\s*(\d+(?:\.\d+)?)")
#: `~1.5–2 hours`, `20 to 30 s`, `~9-10`
_RANGE_OF_UNITS = late(
    rf"(?P<about>[~≈])?\s*(?P<low>\d+(?:\.\d+)?)(?:\s*[–—-]\s*|\s+to\s+)(?P<high>\d+(?:\.\d+)?)\s*(?P<unit>(?(about)(?:{_UNIT})?|(?:{_UNIT})))"
)
#: `62.65*2`, what one of several gave and how many, and `10.35+0.78`, what parts add up to.
_PRODUCT = late(r"(\d+\.\d+)\s?(?:(\+)|[*×])\s?(\d+(?:\.\d+)?)")
_LIST = late(r"\[?\s*[0-9]{1,3}(?:\s*[,;]\s*[0-9]{1,3})*\s*\]?")
#: `hh:mm` and `min:sec` in a header, and such a cell.
_TWO_PARTS = late(r"(?<![\w:])(?:(h{1,2}|hours?)|m{1,2}|min):(?:m{1,2}|min|s{1,2}|sec)(?![\w:])")
#: Words of a time that goes by, and is none of the day; without them `4:25` is not read.
_GOES_BY = {*words_of("headers.whole"), *words_of("headers.plain")} - {"time", "seconds"}
_OF_TWO_PARTS = late(r"\d+:[0-5]\d(?:\.\d+)?")
_GROUPS = late(r"[+\-−]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
#: `24,706 ± 296`: what stands before a comma that may part thousands, and a scatter without one.
_SCATTERED = late(r"([1-9][0-9]{0,2}),[0-9]{3}(?![0-9,])[^±\d]{0,20}(?:±|\+/[-−])\s*([0-9]+)(?![0-9.,])")
#: Points part thousands, and a comma decimals: `1.904,5`.
EUROPEAN_GROUPS = late(r"[+\-−]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]*)?")


class Parts(Struct, frozen=True):
    """A cell taken apart; `extras` are the keys of what stands beside or in the number."""

    number: str
    unit: str = ""
    extras: tuple[str, ...] = ()


@lru_cache(maxsize=100_000)
def parts_of(text: str) -> Parts | None:
    """Split a cell into its number, its unit and the marks beside it; None where it is no number.

    >>> parts_of("406 ms +/- 2"), parts_of("47.29 GiB (74%)"), parts_of("8[^2126]")
    (Parts(number='406', unit='ms', extras=('±',)), Parts(number='47.29', unit='GiB', extras=('second value',)), \
Parts(number='8', unit='', extras=('footnote',)))
    >>> parts_of("180/s").unit, parts_of("**1,000**").number, parts_of("12.5k tok/s").unit
    ('/s', '1,000', 'k tok/s')
    >>> parts_of("406 ± 2 ms").unit, parts_of("406 (2) ms").unit
    ('ms', 'ms')
    >>> parts_of("A100 80GB") is None, parts_of("2x V100") is None
    (True, True)
    """
    match = _CELL.fullmatch(text)
    if match is None or (match["first"] and match["unit"] and match["first"] not in MULTIPLES):
        return None
    if match["last"] and (match["unit"] or is_other_word(match["last"])):
        return None
    second = match["second"] or ""
    note = bool(match["note"] or re.fullmatch(r"\s*\[\d+\]", second))
    number = match["number"]
    # Which of `_EXTRAS` the cell has, in their order.
    has = (match["spread"], second and not note, note, "−" in number, SEPARATOR.search(number), match["about"])
    # `12.5k tok/s` and `1.2M/s`: a multiple of a unit.
    units = match["first"], match["unit"] or match["last"]
    # `406 ± 2 ms` are both in ms.
    unit = re.sub(r"^[kKMG](?=/s)", r"\g<0> ", " ".join(filter(None, units)) or match["common"] or "")
    return Parts(number, match["before"] or unit, tuple(itertools.compress(_EXTRAS, has)))


#: Cells without a value: none, or that of a run that failed.
_WITHOUT_VALUE = frozenset({*MISSING, "", *words_of("cells.failed")})
#: Numbers in letters, as counts may be: `Two`.
_DIGITS = {word: float(digits) for digits, words in section("numbers").items() for word in words}


def parsed_column(
    name: str,
    cells: Sequence[Any],
    delimiter: str = "",
    unit: str | None = None,
    comma: bool = False,
    points: bool = False,
) -> tuple[Objects, str, tuple[Note, ...]] | None:
    """Read the cells of a column as numbers where more than half can be, all in one unit; None where they are plain.

    Returned are the numbers, the text where a cell is none, their unit and what was done. Times are converted into the
    `unit`, or else that of the header, or seconds. A `delimiter` of the file other than the comma leaves that to
    decimals; `comma` is whether the headers are of a language with a decimal comma (`1,904` is 1.904 where no cell
    shows otherwise), `points` whether another column shows that points part thousands (`1.904` is 1904 where all may).
    """
    unique = Counter(cell.strip() for cell in cells if isinstance(cell, str))
    # `N=1024` beside `2048` in a column `N`.
    bare = {
        text: text[len(name) :].lstrip(" =:") for text in unique if re.match(rf"{re.escape(name)} ?[=:] ?[\d.]", text)
    }
    bare = bare if len(bare) < len(unique) else {}
    middles = {t: middle for t in unique if not is_number(t) and (middle := _middle_of_range(t))}
    later_notes: tuple[Note, ...] = ()
    if replaced := bare | middles:
        cells = [replaced.get(cell.strip(), cell) if isinstance(cell, str) else cell for cell in cells]
        reports = ((bare, f"the name removed from '{name}'"), (middles, f"ranges of '{name}' are their middle"))
        later_notes = tuple(
            step(f"{counted(sum(unique[text] for text in texts), 'cell')}: {how}") for texts, how in reports if texts
        )
        unique = Counter(cell.strip() for cell in cells if isinstance(cell, str))
    with_point = [text for text in unique if "." in text]
    # `666` beside `1.232`, in a language with a decimal comma: decimals would be as many in all cells.
    points |= comma and any(len(text) == 3 and text.isdecimal() for text in unique)
    points = points and bool(with_point) and all(EUROPEAN_GROUPS.fullmatch(text.split()[0]) for text in with_point)
    if not points and text_numbers([*unique]) is not None:
        return (np.array(cells, dtype=object), "", later_notes) if later_notes else None
    # A run that failed shows nothing of how the others are written.
    filled = [text for text in unique if text.lower() not in _WITHOUT_VALUE]
    odd = with_point if points else [text for text in filled if not is_number(text)]
    if not odd:
        return None
    devices = _listed_devices(unique)
    if devices is not None:
        total = counted(sum(unique[text] for text in devices), "cell")
        note = step(f"{total}: lists of '{name}' replaced by how many they name")
        parsed: _Parsed | None = (devices, "", (note,))
    else:
        numbers = sum(bool(label(cell)) for cell in cells if not isinstance(cell, str))
        needed = (numbers + sum(unique[text] for text in filled)) / 2 - numbers
        decimals = (delimiter, comma, points)
        parsed = _parsed_texts(name, unique, odd, needed, unit, decimals)
    if parsed is None or not parsed[2]:
        return None
    values, column_unit, steps = parsed
    out = np.empty(len(cells), dtype=object)
    # Beside lists of devices a number is that of one.
    out[:] = [values.get(cell.strip(), cell) if isinstance(cell, str) else 1.0 if devices else cell for cell in cells]
    return out, column_unit, (*later_notes, *steps)


#: The numbers by text, the unit of the column, and what was done.
_Parsed = tuple[dict[str, float], str, tuple[Note, ...]]


def _parsed_texts(
    name: str,
    unique: Counter[str],
    odd: Sequence[str],
    needed: float,
    unit: str | None,
    decimals: tuple[str, bool, bool],
) -> _Parsed | None:
    """Return the numbers in texts such as `5 ms`, `1:05:30`, `[3, 4, 5]`, `two`; None without more than are needed."""
    delimiter, comma, points = decimals
    parts_by_text = {text: parts for text in unique if (parts := parts_of(text)) is not None}
    medians = {text: value for text in odd if not text.isdecimal() and (value := median_of(text)) is not None}
    # `Two` in a column of GPUs.
    is_count = meant_by(name) in LEVELS
    in_letters = {text: _DIGITS[text.lower()] for text in odd if is_count and text.lower() in _DIGITS}
    seconds = {text: value for text, value in zip(odd, seconds_of(odd), strict=True) if not isinstance(value, str)}
    # A clock with a part of a second is no time of day.
    durations = {text: value for text, value in seconds.items() if ":" not in text or re.search(r"\.\d", text)}
    durations |= _clock_of(name, odd, seconds)
    in_numbers = {**parts_by_text, **durations, **medians, **in_letters}
    if sum(unique[text] for text in in_numbers) <= needed:
        return None
    # Beside `IB-HDR` in several rows `10GbE` and `25GbE` are names as well.
    is_name = any(unique[text] > 1 for text in odd if text not in in_numbers)
    if is_name and all(parts.unit and is_other_word(parts.unit) for parts in parts_by_text.values()):
        return None
    parts_by_text = {text: parts for text, parts in parts_by_text.items() if text not in durations}
    # In `24,706 ± 296` a decimal comma would make the number less than its scatter.
    scattered = [match for match in map(_SCATTERED.match, parts_by_text) if match is not None]
    separator = "" if any(int(match[1]) < int(match[2]) for match in scattered) else delimiter
    decimal_comma = points or _decimal_comma([parts.number for parts in parts_by_text.values()], separator, comma)
    if decimal_comma is None:
        return None
    header = header_of(name)
    of_durations = header.unit if header.kind == "time" and header.unit in ("h", "min") else "s"
    converted = _in_one_unit(name, parts_by_text, unique, of_durations if durations else unit, decimal_comma)
    if converted is None or (durations and converted[1] not in (of_durations, "")):
        return None
    values, column_unit, steps = converted
    column_unit = of_durations if durations else column_unit
    values |= medians | in_letters
    values |= {text: value / TIME_UNITS[column_unit][0] for text, value in durations.items()}
    total = counted(sum(unique[text] for text in durations), "cell")
    clock = f"{total}: hours, minutes and seconds of '{name}' converted to '{column_unit}'"
    of_two_parts = all(_OF_TWO_PARTS.fullmatch(text) and "." not in text for text in durations)
    if of_two_parts and header.unit == "s" and not _TWO_PARTS.search(name.lower()):
        example = next(iter(durations), "")
        clock = f"{example} of '{name}' is taken for minutes and seconds; a header '{name} (h:mm)' says otherwise"
    done = (
        (medians, f"{counted(len(medians), 'cell')}: lists, ranges, sums or products of '{name}' read as one number"),
        (in_letters, f"numbers in letters of '{name}' replaced by digits"),
        (points, f"points between thousands removed from '{name}'"),
        (durations, clock),
    )
    return values, column_unit, (*steps, *(step(text) for applies, text in done if applies))


def _in_one_unit(
    name: str, parts: dict[str, Parts], unique: Counter[str], unit: str | None, decimal_comma: bool
) -> tuple[dict[str, float], str, tuple[Note, ...]] | None:
    """Return the numbers of `5 ms` and `1 s` in one unit, the unit and the report; None of `5 ms` and `3 GB`."""
    units = Counter[str]()
    if header_of(name).kind == "time" and all(part.unit == "m" for part in parts.values()):
        # `7m` of a time are minutes.
        parts = {text: replace(part, unit="min") for text, part in parts.items()}
    for text, number_and_unit in parts.items():
        units[number_and_unit.unit] += unique[text]
    named = [u for u in units if u]
    # Behind a blank a letter may be a unit, but for a rate, whose unit the header has.
    after_blank = header_of(name).kind != "rate" and any(re.search(r"\s", t) for t in parts)
    multiples = all(u in MULTIPLES for u in named) and not after_blank
    # Kind, numerator and denominator of each unit: ms is ("s", 1, 1000).
    sizes = {u: ("", MULTIPLES.get(u, 1.0), 1.0) if multiples or not u else unit_of(u) for u in units}
    kinds = {sizes[u][0] for u in named} or {""}
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    if kind not in ("", "s") and "" in units and header_of(name).kind == "time":
        return None  # a stray letter beside one number of a time is no unit of all
    target, over, under = _target(name, units, kind, unit)
    if kind and "" in units and any(sizes[u][1:] != (over, under) or is_other_word(u) for u in named):
        return None  # whether a plain number beside '5 ms' is in ms or s is not known
    values = {}
    for text, number_and_unit in parts.items():
        digits = re.sub(f"[ {_BLANKS}]", "", number_and_unit.number).replace("−", "-")
        digits = digits.replace(".", "").replace(",", ".") if decimal_comma else digits.replace(",", "")
        value, (_, numerator, denominator) = number_in(digits), sizes[number_and_unit.unit]
        converted = number_and_unit.unit and (numerator, denominator) != (over, under)
        values[text] = value * (numerator * under) / (denominator * over) if converted else value
    # Shares in fewer than half of the cells are no unit of the others.
    column_unit = "" if kind in ("%", "x") and 2 * units[""] > units.total() else target
    return values, column_unit, _removed(name, parts, unique, target, decimal_comma)


def _target(name: str, units: Counter[str], kind: str, unit: str | None) -> tuple[str, float, float]:
    """Return the unit that the cells of a column are converted to, with its size as numerator and denominator."""
    if not kind:
        return "", 1.0, 1.0
    if kind == "s":
        header, spelled = header_of(name), {canonical_time(u) for u in units if u}
        # Of cells in one unit that is the column's, unless its header or the user names another.
        alone = next(iter(spelled)) if len(spelled) == 1 and "" not in units else None
        by_name = header.unit if header.kind == "time" and header.unit != "s" else ""
        target = canonical_time(unit or by_name) or alone or "s"
    else:
        target = header_of(name).unit
        if unit_of(target)[0] != kind:
            # The header names no such unit: it is the most frequent one of the cells, or the base unit for a multiple.
            target = max((u for u in units if u), key=lambda u: units[u])
            is_multiple = " " in target  # `k tok/s`
            target = kind if is_multiple or unit_of(target)[1:] == (1.0, 1.0) else target
    return (target, *unit_of(target)[1:])


def _decimal_comma(tokens: Sequence[str], delimiter: str, comma: bool) -> bool | None:
    """Return whether the comma is the decimal sign; None where the numbers contradict or may be either."""
    if any(t.count(".") > 1 or -1 < t.rfind(".") < t.rfind(",") for t in tokens):
        groups = [t for t in tokens if "." in t or t.count(",") > 1]
        return all(map(EUROPEAN_GROUPS.fullmatch, groups)) or None
    with_comma = [t for t in tokens if "," in t]
    no_decimals = any("." in t or t.count(",") > 1 for t in tokens)
    if not all(map(_GROUPS.fullmatch, with_comma)):
        return None if no_decimals else True
    if not with_comma or no_decimals:
        return False
    return comma or (None if delimiter == ";" else False)


def _removed(
    name: str, parts: dict[str, Parts], unique: Counter[str], target: str, decimal_comma: bool
) -> tuple[Note, ...]:
    """Report what was taken out of the cells of a column, a line for each kind."""
    reports, cells_with = [], Counter[str]()
    for text, taken in parts.items():
        cells_with.update(dict.fromkeys((*taken.extras, *(["unit"] if taken.unit else [])), unique[text]))
    if cells_with["unit"]:
        count = counted(cells_with["unit"], "cell")
        unit, *further_units = units = list(dict.fromkeys(taken.unit for taken in parts.values() if taken.unit))
        units_text = " and ".join(f"'{u}'" for u in units)
        if target in (unit, unit_of(unit)[0]) and not further_units and unit_of(target) == unit_of(unit):
            reports.append(f"{count}: unit {units_text} removed from '{name}'")
        elif target:
            reports.append(f"{count}: {units_text} of '{name}' converted to '{target}'")
        else:
            reports.append(f"{count}: {units_text} of '{name}' written out as thousands, millions or billions")
    for extra, words in _EXTRAS.items():
        if cells_with[extra]:
            change = "decimal comma read in" if decimal_comma and extra == "," else words
            reports.append(f"{counted(cells_with[extra], 'cell')}: {change} '{name}'")
    return tuple(map(step, reports))


def either_reading(texts: Collection[str]) -> str:
    """Return the first of some cells whose comma may part thousands or decimals; empty where others are no number."""
    numbers = {text: parts.number for text in texts if (parts := parts_of(text)) is not None}
    either = [text for text, number in numbers.items() if "," in number and _GROUPS.fullmatch(number)]
    return either[0] if either and len(numbers) == len(texts) else ""


def median_of(text: str) -> float | None:
    """Return the median of numbers listed in brackets, the steps of a run; the middle of a range; a product; a sum."""
    if (product := _PRODUCT.fullmatch(text)) is not None:
        first, second = float(product[1]), float(product[3])
        return first + second if product[2] else first * second
    ends = _RANGE.fullmatch(text)
    listed = text.strip("[()]").replace(";", ",").split(",") if "." in text and _SERIES.fullmatch(text) else []
    listed = list(ends.groups()) if ends is not None and float(ends[1]) < float(ends[2]) else listed
    numbers = [number_in(number.strip()) for number in listed]
    return statistics.median(numbers) if len(numbers) > 1 and all(map(math.isfinite, numbers)) else None


def _middle_of_range(text: str) -> str:
    """Return the middle of a range with a unit or a sign, `~20-30 mins` → `25 mins`; empty for another, `2-4 GPUs`."""
    ends = _RANGE_OF_UNITS.fullmatch(text)
    if ends is None or (ends["unit"] and is_other_word(ends["unit"])) or float(ends["low"]) >= float(ends["high"]):
        return ""
    return f"{(float(ends['low']) + float(ends['high'])) / 2:.10g} {ends['unit']}".rstrip()


def _clock_of(name: str, texts: Sequence[str], durations: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of `41:10`: of hours or minutes as the header or `1:05:30` beside it says, else of minutes."""
    match, header = _TWO_PARTS.search(name.lower()), header_of(name)
    goes_by = bool(durations or header.of or not _GOES_BY.isdisjoint(words_in(name)))
    if match is not None:
        size = 3600.0 if match[1] else 60.0
    elif header.kind == "time" and (goes_by or header.unit in ("h", "min")):
        size = 3600.0 if header.unit == "h" and not durations else 60.0
    else:
        return {}
    pairs = {text: map(float, text.split(":")) for text in texts if _OF_TWO_PARTS.fullmatch(text)}
    seconds = {text: size * before + size / 60.0 * behind for text, (before, behind) in pairs.items()}
    return {**seconds, **durations} if match is None and (seconds or header.unit in ("h", "min")) else seconds


def devices_in(text: str) -> list[int]:
    """Return the numbers of the devices that a text lists, ascending: `0`, `0,1,2`, `[0, 1]`; [] for another text."""
    devices = [int(n) for n in re.findall(r"\d+", text)] if _LIST.fullmatch(text) else []
    return devices if devices == sorted({*devices}) else []


def lists_devices(text: str) -> bool:
    """Tell whether a text lists several devices by numbers near each other."""
    devices = devices_in(text)
    return len(devices) > 1 and devices[-1] - devices[0] < 2 * len(devices)


def _listed_devices(unique: Counter[str]) -> dict[str, float] | None:
    """Return how many devices each cell lists, where a column lists them by number: `0`, `0,1`, `0,1,2`."""
    counts = {text: len(devices_in(text)) for text in unique if text and text.lower() not in MISSING}
    # 0,1 alone may be a decimal: a list of three, or brackets, show that it is none.
    certain = any(count > 2 and lists_devices(text) for text, count in counts.items())
    certain = certain or all(text.startswith("[") for text in counts)
    several = all(counts.values()) and max(counts.values(), default=0) > 1
    return {text: float(count) for text, count in counts.items()} if several and certain else None
