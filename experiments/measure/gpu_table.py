"""The CSV of a campaign that may be stopped at any moment: configurations stand in it whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Row = Mapping[str, object]
Key = tuple[str, ...]


class TableError(Exception):
    """A file that cannot be continued; the message says why and what to do."""


def line(cells: Iterable[object]) -> str:
    """Return one line of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


class Table:
    """The rows of one campaign, and beside them (`NAME.skipped.csv`) the configurations that could not be measured.

    Parameters
    ----------
    path : Path
        Created with its header where it is not there. A half-written last line and configurations that lack a repeat,
        as an interruption leaves them, are taken out of it.
    columns : sequence of str
    factors : sequence of str
        The columns that tell configurations apart.
    repeats : int
        Rows of a configuration.
    fixed : mapping of str to str
        Columns with one value throughout: what rows of another device or version must not be mixed with.

    Raises
    ------
    TableError
        If the file has other columns or other fixed values, or cannot be read or written.
    """

    def __init__(
        self, path: Path, columns: Sequence[str], factors: Sequence[str], repeats: int, fixed: Mapping[str, str]
    ) -> None:
        self.path, self.columns, self.factors = path, list(columns), list(factors)
        self.repeats, self.fixed = repeats, dict(fixed)
        self.notes = path.with_suffix(".skipped.csv")
        try:
            self.measured = self._continue()
            self.skipped = {tuple(cells[:-1]) for cells in whole_lines(self.notes, [*self.factors, "reason"])[1:]}
        except (OSError, UnicodeError, csv.Error) as error:
            raise TableError(f"{path} cannot be used: {error}") from None

    def key(self, row: Row) -> Key:
        """Return what tells a configuration apart, as the file has it."""
        return tuple(str(row[factor]) for factor in self.factors)

    def done(self, configuration: Row) -> bool:
        """Return whether a configuration was measured, or could not be."""
        return self.key(configuration) in self.measured or self.key(configuration) in self.skipped

    def add(self, rows: Sequence[Row]) -> None:
        """Write all rows of one configuration in one piece."""
        append(self.path, "".join(line({**self.fixed, **row}[column] for column in self.columns) for row in rows))
        self.measured.add(self.key(rows[0]))

    def skip(self, configuration: Row, reason: str) -> None:
        """Note that a configuration could not be measured, and why."""
        head = "" if self.notes.exists() and self.notes.stat().st_size else line([*self.factors, "reason"])
        append(self.notes, head + line([*self.key(configuration), reason]))
        self.skipped.add(self.key(configuration))

    def _continue(self) -> set[Key]:
        """Read what is there, take out what is not whole, and return the configurations measured."""
        there, rows, found = whole_lines(self.path, self.columns), [], defaultdict(set)
        for number, cells in enumerate(there[1:], start=2):
            if len(cells) != len(self.columns):
                raise TableError(
                    f"{self.path}, line {number}: {len(cells)} cells instead of {len(self.columns)}: mend or remove it"
                )
            row = dict(zip(self.columns, cells, strict=True))
            for column, value in self.fixed.items():
                if row[column] != value:
                    raise TableError(
                        f"{self.path}, line {number}: {column} is {row[column]}, here it is {value}: "
                        "give another name, the two cannot be compared"
                    )
            rows.append((self.key(row), cells))
            found[self.key(row)].add(row["repeat"])
        wanted = {str(repeat) for repeat in range(self.repeats)}
        whole = {key for key, repeats in found.items() if wanted <= repeats}
        kept = [cells for key, cells in rows if key in whole]
        if not there or len(kept) < len(rows):
            replaced = self.path.with_name(self.path.name + ".part")
            replaced.write_text("".join(map(line, [self.columns, *kept])), encoding="utf-8")
            os.replace(replaced, self.path)
        return whole


def whole_lines(path: Path, columns: Sequence[str]) -> list[list[str]]:
    """Return the cells of a file's lines, its header first, and cut off a line that was not written to its end.

    Raises
    ------
    TableError
        If the file has other columns: it is left as it is.
    """
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    lines = list(csv.reader(io.StringIO(whole.decode())))
    if (lines and lines[0] != list(columns)) or (not lines and not line(columns).encode().startswith(data)):
        raise TableError(f"{path} is not a table of this campaign, its columns are others: give another name")
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return lines


def append(path: Path, text: str) -> None:
    """Write text at the end of a file, and have it on the disk before going on."""
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
