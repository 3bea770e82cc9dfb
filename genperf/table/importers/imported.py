"""The rows that an importer returns and the roles of columns; JSON whose faults have a place; factors in file names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from msgspec import Struct, field

from genperf.errors import GenperfError, Note, TableError, listed
from genperf.table.cells import csv_pieces
from genperf.table.clean import is_number, shortened
from genperf.table.records import json_values

#: A missing cell is one whose column the row does not have.
Cell = str | int | float
Row = Mapping[str, Cell]

#: The column of the file that a row is from, and the one that numbers repeats.
SOURCE, REPEAT = "source", "repeat"


class Imported(Struct, eq=False):
    """Measurements of one file or several."""

    rows: list[Row]
    #: The column of times, in seconds.
    time: str
    #: The column that numbers the repeats of a configuration.
    repeat: str = REPEAT
    #: The columns that a time may depend on, in order.
    factors: list[str] = field(default_factory=list)
    #: The columns that separate series which share no model.
    group: list[str] = field(default_factory=list)
    #: Measurements that cannot be used: where, and why.
    left_out: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    #: The unit of the column of times; empty where it holds other quantities.
    unit: str = "s"
    #: How many rows `add` has added of each configuration.
    repeats: Counter[tuple[Cell, ...]] = field(default_factory=Counter)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every row's columns, in the order in which they turn up."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def values(self, column: str) -> set[Cell | None]:
        """Return the different cells of a column; None where a row has none."""
        return {row.get(column) for row in self.rows}

    def add(self, factors: Row, measured: Row) -> None:
        """Add a row, with the number of its repeat between the factors and what was measured."""
        key = tuple(factors.values())
        self.rows.append({**factors, self.repeat: self.repeats[key], **measured})
        self.repeats[key] += 1
        self.factors += [name for name in factors if name not in (*self.factors, *self.group)]

    def filled(self, where: str, empty: str, hint: str | None = None) -> Imported:
        """Return the table; refuse an empty one."""
        if not self.rows:
            raise TableError(empty, where=where, hint=hint)
        return self

    def with_factors(self, values: Mapping[str, Cell], file: str) -> Imported:
        """Return the table with its file and further factors in every row; a value of the file stays, with a note."""
        for name, value in values.items():
            cells = sorted({str(cell) for cell in self.values(name) - {None}})
            if cells not in ([], [str(value)]):
                text = f"{file}: '{name}' is {listed(cells, 3)} in the file, so {value} is not used"
                self.notes.append(Note(text, "factor_of_the_file"))
        self.rows = [{SOURCE: file, **values, **row} for row in self.rows]
        self.factors = [*dict.fromkeys((*values, *self.factors))]
        return self


def joined(tables: Sequence[Imported]) -> Imported:
    """Put files of one format together; a column that only some have stays empty in the others."""
    combined, *others = tables
    for table in others:
        combined.rows += table.rows
        combined.left_out += table.left_out
        combined.notes += [note for note in table.notes if note not in combined.notes]
        combined.factors += [name for name in table.factors if name not in combined.factors]
        combined.group += [name for name in table.group if name not in combined.group]
    return combined


def csv_lines(table: Imported, raw: bool = False) -> Iterator[str]:
    """Yield the text of a CSV that reads back exactly, floats in the fewest digits that do; `raw`: see `csv_pieces`."""
    columns = {name: [row.get(name) for row in table.rows] for name in table.columns}
    written = {n: [plain(cell) if isinstance(cell, str) else cell for cell in cells] for n, cells in columns.items()}
    return csv_pieces({plain(name): np.array(cells, dtype=object) for name, cells in written.items()}, raw)


def plain(text: str) -> str:
    """Return a text that can be written: half a surrogate pair, or a NUL, can be in a JSON string and in no file."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def refuse_clashes(names: Iterable[str], columns: Iterable[str], where: str) -> None:
    """Refuse parameters of a file that are named as a column of the table."""
    taken = {SOURCE, *columns}
    for name in names:
        if not name.strip() or name in taken:
            named = f"a parameter is named '{name}', as is a column of the table"
            what = named if name.strip() else "a parameter has no name"
            raise TableError(what, where=where, hint="rename it in the file")


_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
#: What a value is: a number or a word; or else, where no name like the pattern is made of those, anything.
_VALUES = (r"(\d+\.\d+|[^\W_]+)", r"([^/]+)")


def factors_from_name(pattern: str, path: str) -> dict[str, str]:
    """Read factors from a file's name: `run_{workers}.json` and `logs/run_8.json` give `{"workers": "8"}`."""
    # The texts around the names, one more than these: `run_` and `.json` around `workers`.
    texts, names = _PLACEHOLDER.split(pattern)[::2], [name.strip() for name in _PLACEHOLDER.findall(pattern)]
    if not names or not all(names) or len(set(names)) < len(names) or re.search("[{}]", "".join(texts)):
        hint = "run_{workers}_{batch}.json"
        raise GenperfError(f"'{pattern}' must name each factor once, in braces", where="--from-name", hint=hint)
    # Of the path as many parts as the pattern has.
    path_text = "/".join(PurePath(path).parts[-(pattern.count("/") + 1) :])
    expressions = (value.join(map(_with_wildcards, texts)) for value in _VALUES)
    match = next(filter(None, (re.fullmatch(expression, path_text) for expression in expressions)), None)
    if match is None:
        hint = "put * where anything may stand"
        raise GenperfError(f"the file's name does not match '{pattern}' (--from-name)", where=path, hint=hint)
    return {name: value.strip() for name, value in zip(names, match.groups(), strict=True)}


def _with_wildcards(piece: str) -> str:
    """Return a regular expression of a text in which `*` is anything: all but the last one end as soon as they can."""
    # What is matched once is not tried again: a pattern of many `*` would take for ever.
    before, *between = map(re.escape, re.split(r"\*+", piece))
    wildcards = [f"(?>[^/]*?{text})" for text in between[:-1]] + [f"[^/]*{text}" for text in between[-1:]]
    return before + "".join(wildcards)


#: What the types of JSON's values are called.
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
_KINDS |= dict.fromkeys((int, float), "a number")


def read_json(text: str, name: str) -> Json:
    """Read JSON of one value."""
    value, *further_values = read_values(text, name)
    if further_values:
        raise TableError("holds several values of JSON in the place of one", where=name)
    return value


def read_values(text: str, name: str) -> list[Json]:
    """Read JSON of one value or several, each of which has its line."""
    values = json_values(text, name)
    if not values:
        raise TableError("the file is empty", where=name, hint="export it again")
    return [Json(value, name, f"line {at}" if len(values) > 1 else "") for value, at in values]


class Json(Struct, frozen=True):
    """A value of a JSON file and its place there."""

    value: Any
    file: str
    path: str = ""

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.file}: {self.path}" if self.path else self.file

    def has(self, key: str) -> bool:
        """Return whether this is an object with such a member."""
        return isinstance(self.value, dict) and key in self.value

    def member(self, key: str) -> Json:
        """Return a member of an object."""
        if key not in self._of(dict):
            has = ", ".join(shortened(plain(k)) for k in list(self.value)[:6]) or "nothing"
            raise TableError(f"has no '{key}' (it has {has})", where=self.where)
        return Json(self.value[key], self.file, f"{self.path}.{key}" if self.path else key)

    def object(self) -> dict[str, Json]:
        """Return an object's members."""
        dot = f"{self.path}." if self.path else ""
        named = {plain(key): value for key, value in self._of(dict).items()}
        return {key: Json(value, self.file, f"{dot}{shortened(key)}") for key, value in named.items()}

    def list(self) -> list[Json]:
        """Return a list's items."""
        return [Json(value, self.file, f"{self.path}[{i}]") for i, value in enumerate(self._of(list))]

    def text(self) -> str:
        """Return a text."""
        return plain(self._of(str))

    def number(self) -> int | float:
        """Return a finite number."""
        value: int | float = self._of(int, float)
        if not is_number(value):
            raise TableError("is not a finite number", where=self.where)
        return value

    def numbers(self) -> tuple[int | float, ...]:
        """Return a list's finite numbers."""
        return tuple(item.number() for item in self.list())

    def _of(self, *kinds: type) -> Any:
        """Return the value, which is of one of some types."""
        kind = type(self.value)
        if kind not in kinds:
            quoted = f" ('{shortened(plain(self.value))}')" if kind is str else ""
            raise TableError(f"{_KINDS[kinds[0]]} is expected here, not {_KINDS[kind]}{quoted}", where=self.where)
        return self.value
