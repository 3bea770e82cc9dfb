"""Files of other tools and of any kind, with factors from outside, as one table: what `genperf import` writes.

The formats that have a meaning of their own are those of `table/importers/`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from genperf.errors import GenperfError, Note, TableError, attempted, listed, suggest
from genperf.table.cells import Source
from genperf.table.clean import is_number
from genperf.table.content import HEAD_BYTES, OF_TABLES, STANDARD_INPUT, files_of, head_of, read_content, read_text
from genperf.table.facts import source_of_steps
from genperf.table.importers import FORMATS, Format, format_of
from genperf.table.importers.imported import SOURCE, Imported, factors_from_name, joined
from genperf.table.opened import joined as joined_files
from genperf.table.opened import open_source, understood

#: Formats that had an importer, and are read by their shape now: naming one stays possible.
READ_BY_SHAPE = ("training-log", "trainer-state", "lightning", "serving", "mlperf", "tensorboard", "pytest-benchmark")


def import_sources(files: Sequence[str], settings: Mapping[str, str], from_name: str | None) -> Source:
    """Read whatever a person has of their runs as one table: files, patterns and folders of tables, logs and records.

    `settings` are columns of all rows, unless the runs hold them; `from_name` is the pattern of columns in a file's
    name (`factors_from_name`).
    """

    def opened(path: str) -> Source:
        source = open_source(path)
        factors = factors_from_name(from_name, path) if from_name else {}
        if factors:
            # A name says the factors of one run: a log of its steps is one row.
            source = source_of_steps(source) or source
        return _with_columns(source, factors)

    paths = list(dict.fromkeys(path for file in files for path in files_of(file)))
    source = opened(paths[0]) if len(paths) == 1 else joined_files(paths, " ".join(files), opened)
    return understood(_with_columns(source, settings))


def _with_columns(source: Source, values: Mapping[str, str]) -> Source:
    """Return a source with further columns of one value."""
    further = {n: np.full(len(source), value, dtype=object) for n, value in values.items() if n not in source.cells}
    return replace(source, cells={**further, **source.cells})


def import_files(
    format: str, files: Sequence[str], settings: Mapping[str, str] | None = None, from_name: str | None = None
) -> Imported:
    """Read files of one of `FORMATS`, given by paths, patterns of paths, or "-" for standard input.

    `settings` are factors of all files, unless a file holds them; `from_name` is the pattern of factors in a file's
    name (`factors_from_name`).
    """
    if format not in FORMATS:
        raise GenperfError(f"there is no format '{format}'", hint=suggest(format, FORMATS))
    paths = list(dict.fromkeys(path for file in files for path in files_of(file)))
    if not paths:
        raise GenperfError("no file is named", hint=f"genperf import {format} FILE… -o table.csv")
    imported = []
    for path in paths:
        file_runs = _read(FORMATS[format], path)
        factors = {**(settings or {}), **(factors_from_name(from_name, path) if from_name else {})}
        if taken := {SOURCE, file_runs.time, file_runs.repeat} & {*factors}:
            raise GenperfError(f"'{min(taken)}' is a column of the table itself", hint="give the factor another name")
        name = STANDARD_INPUT if path == "-" else path
        imported.append(file_runs.with_factors(factors, name))
    table = joined(imported)
    # A table needs its factors in every row.
    for name in table.factors:
        lacking = list(dict.fromkeys(str(row[SOURCE]) for row in table.rows if row.get(name) is None))
        if lacking and any(is_number(cell) for cell in table.values(name)):
            text = f"'{name}' is missing in {listed(lacking, 3)}: --set or --from-name fills it in"
            table.notes.append(Note(text, "factor_missing"))
    return table


def format_of_files(files: Sequence[str]) -> str | None:
    """Return the name of the one of `FORMATS` that all files have, by their content; None where they have none."""
    formats = (format_of(_start_of(path)) for file in files for path in files_of(file) if path != "-")
    common = next(formats, None)
    return common if common and all(format == common for format in formats) else None


def _start_of(path: str) -> str:
    """Return how a file begins, decompressed; empty where it cannot be read."""
    start = attempted(head_of, path)
    if isinstance(start, bytes) and start.startswith(OF_TABLES):
        start = attempted(lambda: read_content(path)[1][:HEAD_BYTES])
    return start.decode("utf-8", "replace") if isinstance(start, bytes) else ""


def _read(format: Format, path: str) -> Imported:
    """Read a file; the error for a file of another format names that one."""
    start = ""
    try:
        if format.binary:
            if not Path(path).is_file():
                from_files = "this format is read from files, not from standard input"
                raise TableError("is no file", hint=from_files, where=path)
            return format.read(path, path)
        name, text = read_text(path)
        start = text[:HEAD_BYTES]
        return format.read(text, name)
    except TableError as error:
        if re.search(format.signature, start):
            raise
        if not start and Path(path).is_file():
            start = head_of(path).decode("utf-8", "replace")
        better = next((key for key, f in FORMATS.items() if f is not format and re.search(f.signature, start)), None)
        hint = f"genperf import {better} {path}" if better else error.hint
        raise TableError(error.message, where=error.where, hint=hint) from None
