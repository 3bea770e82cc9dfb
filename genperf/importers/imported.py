"""The rows that an importer returns, the role of each column, and factors in the names of files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from genperf.errors import GenperfError, Note, TableError
from genperf.table.cells import neutral

#: A missing cell is one whose column the row does not have.
Cell = str | int | float
Row = Mapping[str, Cell]

#: The column of the file that a row is from.
SOURCE = "source"


class FormatError(TableError):
    """A file is not what its format's tool writes."""


@dataclass(frozen=True, eq=False)
class Imported:
    """Measurements of one file or several."""

    rows: tuple[Row, ...]
    #: The column of times, in seconds, or of a throughput.
    time: str
    #: The column that numbers the repeats of a configuration.
    repeat: str
    #: The columns that a time may depend on.
    factors: tuple[str, ...] = ()
    #: The columns that separate series which share no model.
    group: tuple[str, ...] = ()
    #: Measurements that cannot be used: where, and why.
    left_out: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    #: Whether `time` is a throughput.
    rate: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Every row's columns, in the order in which they turn up."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def values(self, column: str) -> set[Cell | None]:
        """Return the different cells of a column; None where a row has none."""
        return {row.get(column) for row in self.rows}

    def with_factors(self, values: Mapping[str, Cell], file: str) -> Imported:
        """Return the table with further factors in every row; a value that the file holds itself stays, with a note."""
        in_file = {name: self.values(name) - {None} for name in values}
        notes = [
            Note(
                f"{file}: '{name}' is {_shown(in_file[name])} in the file, so {values[name]} is not used",
                "factor_of_the_file",
            )
            for name in values
            if in_file[name] - {values[name]} and {str(cell) for cell in in_file[name]} != {str(values[name])}
        ]
        return replace(
            self,
            rows=tuple({**values, **row} for row in self.rows),
            factors=tuple(dict.fromkeys([*values, *self.factors])),
            notes=(*self.notes, *notes),
        )


def _shown(cells: Iterable[Cell | None]) -> str:
    texts = sorted(str(cell) for cell in cells)
    return ", ".join(texts[:3]) + (", …" if len(texts) > 3 else "")


def joined(parts: Sequence[Imported]) -> Imported:
    """Put files of one format together; a column that only some have stays empty in the others.

    Examples
    --------
    >>> one = Imported(({"workers": 1, "time_s": 9.0},), "time_s", "repeat", ("workers",))
    >>> two = Imported(({"batch": 8, "time_s": 5.0},), "time_s", "repeat", ("batch",))
    >>> both = joined([one, two])
    >>> both.columns, both.factors
    (('workers', 'time_s', 'batch'), ('workers', 'batch'))
    """

    def union(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for part in parts for value in getattr(part, name)))

    return replace(
        parts[0],
        rows=tuple(row for part in parts for row in part.rows),
        factors=union("factors"),
        group=union("group"),
        left_out=tuple(reason for part in parts for reason in part.left_out),
        notes=tuple({note.text: note for part in parts for note in part.notes}.values()),
    )


def csv_lines(table: Imported, raw: bool = False) -> Iterator[str]:
    r"""Yield the lines of a CSV that reads back exactly: floats in the fewest digits that give the same number again.

    Unless `raw`, an apostrophe is put before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> table = Imported(({"command": "a, b", "workers": 2, "time_s": 0.1}, {"command": "c"}), "time_s", "repeat")
    >>> print("".join(csv_lines(table)), end="")
    command,workers,time_s
    "a, b",2,0.1
    c,,
    """
    columns = table.columns
    yield ",".join(_cell(name, raw) for name in columns) + "\n"
    for row in table.rows:
        yield ",".join(_cell(row.get(name), raw) for name in columns) + "\n"


def _cell(value: Cell | None, raw: bool) -> str:
    if isinstance(value, str):
        return _quoted(value if raw else neutral(value))
    return "" if value is None else repr(value)


def _quoted(text: str) -> str:
    text = plain(text)
    # A line that starts with '#' would be a comment.
    if text.strip() == text and not text.startswith("#") and not any(c in text for c in ',;|\t"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def is_number(cell: Cell | None) -> bool:
    """Return whether a cell reads as a number.

    Examples
    --------
    >>> is_number(8), is_number("0.5"), is_number("gloo"), is_number(None)
    (True, True, False, False)
    """
    try:
        return cell is not None and math.isfinite(float(cell))
    except ValueError:
        return False


def exact(text: str, what: str, where: str) -> int | float:
    """Read a number; a whole number as an int.

    Examples
    --------
    >>> exact("16", "a point", "runs.txt"), exact("1.50", "a point", "runs.txt")
    (16, 1.5)
    """
    try:
        value = float(text)
    except ValueError:
        raise TableError(f"{what} must be a number, not '{shortened(text)}'", where=where) from None
    if not math.isfinite(value):
        raise TableError(f"{what} is '{shortened(text)}', which is not finite", where=where)
    return int(text) if text.strip().lstrip("+-").isdecimal() else value


def plain(text: str) -> str:
    r"""Return a text that can be written: half a surrogate pair, or a NUL, can be in a JSON string and in no file.

    Examples
    --------
    >>> plain("a\ud800b")
    'a?b'
    """
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def shortened(text: str) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "…"


def refuse_clashes(names: Iterable[str], columns: Iterable[str], where: str) -> None:
    """Refuse parameters of a file that are named as a column of the table."""
    taken = {SOURCE, *columns}
    for name in names:
        if not name.strip() or name in taken:
            what = (
                f"a parameter is named '{name}', as is a column of the table"
                if name.strip()
                else "a parameter has no name"
            )
            raise TableError(what, where=where, hint="rename it in the file")


_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
#: What a value is: a number or a word; or else, where no name like the pattern is made of those, anything.
_VALUES = (r"(\d+\.\d+|[^\W_]+)", r"(\d+\.\d+|[^/]+)")


def factors_from_name(pattern: str, path: str) -> dict[str, str]:
    """Read factors from a file's name.

    Examples
    --------
    >>> factors_from_name("run_{workers}_{batch}*.json", "traces/run_8_32.pt.trace.json")
    {'workers': '8', 'batch': '32'}
    >>> factors_from_name("gpus{workers}/*.json", "traces/gpus16/rank0.json")
    {'workers': '16'}
    """
    pieces = _PLACEHOLDER.split(pattern)
    names, between = [name.strip() for name in pieces[1::2]], "".join(pieces[::2])
    if not names or not all(names) or len(set(names)) < len(names) or "{" in between or "}" in between:
        raise GenperfError(
            f"'{pattern}' must name each factor once, in braces", where="--from-name", hint="run_{workers}_{batch}.json"
        )
    parts = "/".join(PurePath(path).parts[-(pattern.count("/") + 1) :])
    fixed = [re.escape(piece).replace(r"\*", "[^/]*") for piece in pieces[::2]]
    match = next(filter(None, (re.fullmatch(kind.join(fixed), parts) for kind in _VALUES)), None)
    if match is None:
        raise GenperfError(
            f"the file's name does not match '{pattern}' (--from-name)",
            where=path,
            hint="put * where anything may stand",
        )
    return {name: value.strip() for name, value in zip(names, match.groups(), strict=True)}
