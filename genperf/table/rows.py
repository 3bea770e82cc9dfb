"""What a text is read as before anything is understood of it: named columns, and for each row its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from genperf.errors import Note
from genperf.table.clean import Rejection


@dataclass(frozen=True)
class Rows:
    """Rows of unchecked cells, each with the line or record that it starts in."""

    columns: list[str]
    rows: list[list[Any]]
    lines: list[int]
    unit: str = "line"
    ragged: tuple[Rejection, ...] = ()
    steps: tuple[Note, ...] = ()
    delimiter: str = ""


def step(text: str) -> Note:
    """Return the report of one change of a table's shape."""
    return Note(text, "shape")
