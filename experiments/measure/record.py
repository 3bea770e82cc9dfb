"""The table of a campaign: rows are written whole, one case at a time, and what is there is not measured again."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from problems import MeasureError


def text(value: Any) -> str:
    """Write a cell: measured times to six digits, everything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Recorder:
    """Appends rows to a CSV and knows which cases it holds."""

    def __init__(self, path: str | Path, columns: Sequence[str], key: Sequence[str], repeats: int) -> None:
        self.path, self.columns, self.key = Path(path), list(columns), list(key)
        try:
            self._held = self._mend(repeats)
        except OSError as error:
            raise MeasureError(f"{self.path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise MeasureError(f"{self.path} is not a table of a campaign; name another file") from error

    def has(self, case: Mapping[str, Any]) -> bool:
        """Tell whether a case is there already."""
        return self._of(case) in self._held

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the rows of one case, at once."""
        written = [{name: text(row.get(name, "")) for name in self.columns} for row in rows]
        with self.path.open("a", newline="") as file:
            file.write(self._lines(written))
            file.flush()
            os.fsync(file.fileno())
        self._held |= {self._of(row) for row in written}

    def _of(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(text(row.get(name, "")) for name in self.key)

    def _lines(self, rows: Iterable[Mapping[str, str]], *, header: bool = False) -> str:
        lines = io.StringIO()
        writer = csv.DictWriter(lines, self.columns, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
        return lines.getvalue()

    def _mend(self, repeats: int) -> set[tuple[str, ...]]:
        before = self.path.read_text() if self.path.exists() else ""
        header = self._lines([], header=True)
        if header.startswith(before):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(header)
            return set()
        reader = csv.DictReader(io.StringIO(before[: before.rfind("\n") + 1]))
        if reader.fieldnames != self.columns:
            raise MeasureError(f"{self.path} has other columns than this campaign writes; name another file")
        rows = list(reader)
        counts: dict[tuple[str, ...], int] = {}
        for row in rows:
            counts[self._of(row)] = counts.get(self._of(row), 0) + 1
        whole = {case for case, count in counts.items() if count >= repeats}
        after = self._lines([row for row in rows if self._of(row) in whole], header=True)
        if after != before:
            new = self.path.with_name(f".{self.path.name}.new")
            new.write_text(after)
            new.replace(self.path)
        return whole
