"""Importers: what other tools write → rows of a table.

A format is a file with a `read(text, name)` and a line in `FORMATS`: the command line, whatever opens a file and the
tests read that.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from genperf.errors import GenperfError, attempted, counted
from genperf.table.cells import Source, source_of, step
from genperf.table.content import HEAD_BYTES, SIGNATURES
from genperf.table.importers import extra_p, hyperfine, nccl_tests, nsight, pytorch_profiler
from genperf.table.importers.imported import Imported


class Format(NamedTuple):
    """A format of another tool."""

    #: What is read, in a phrase.
    what: str
    #: Text and the name of its file → its measurements.
    read: Callable[[str, str], Imported]
    #: A regular expression that matches near the beginning of such a text, and of no other.
    signature: str
    #: Whether the file is no text; `read` then gets its path in the place of its text.
    binary: bool = False


_TRACES = "torch.profiler's Chrome traces: a row a step, with its phases"
_EXPORTS = "Nsight Systems' SQLite exports: a row a step, with its phases"
#: A signature stands with the reader, or where a table's own reader names the format.
FORMATS = {
    "hyperfine": Format("hyperfine --export-json, with parameter scans", hyperfine.read, hyperfine.SIGNATURE),
    "extra-p": Format("Extra-P's text, JSON and JSON Lines", extra_p.read, extra_p.SIGNATURE),
    "pytorch-profiler": Format(_TRACES, pytorch_profiler.read, SIGNATURES["pytorch-profiler"]),
    "nccl-tests": Format("what nccl-tests print: times of collectives", nccl_tests.read, nccl_tests.SIGNATURE),
    "nsight": Format(_EXPORTS, nsight.read, nsight.SIGNATURE, True),
}


def format_of(start: str) -> str | None:
    """Return the name of the format of a file that begins so; None for another file."""
    return next((name for name, format in FORMATS.items() if re.search(format.signature, start[:HEAD_BYTES])), None)


def source_of_format(text: str, name: str, start: str = "") -> Source | None:
    """Return the rows of a file of a format, as its importer reads them; None for another file.

    A file is given by its text, or of a format that is no text by its path and how it `start`s. One that only looks
    like a format is another file, unless nothing else reads the format.
    """
    format = format_of(start or text)
    if format is None or FORMATS[format].binary != bool(start):
        return None
    table = attempted(FORMATS[format].read, text, name)
    if isinstance(table, GenperfError):
        if format in SIGNATURES:
            raise table
        return None
    columns, units = table.columns, {table.time: table.unit} if table.unit else {}
    left_out = [f"{counted(len(table.left_out), 'run')} left out: {table.left_out[0]}"] if table.left_out else []
    steps = (f"read as the importer {format} reads it", *left_out)
    cells = [[row.get(column, "") for column in columns] for row in table.rows]
    notes = (*map(step, steps), *table.notes)
    return source_of(name, columns, cells, range(1, len(cells) + 1), "record", steps=notes, units=units)
