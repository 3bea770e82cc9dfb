"""Importers: measurements of other tools → rows of a table.

A format is a file with a `read(text, name)` and a line in `FORMATS`: the command line and the tests read that.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from genperf.errors import GenperfError, Note, TableError, listed, suggest
from genperf.importers import (
    extra_p,
    hyperfine,
    lightning,
    mlperf,
    nccl_tests,
    nsight,
    pytest_benchmark,
    pytorch_profiler,
    serving,
    tensorboard,
    trainer_state,
    training_log,
)
from genperf.importers.imported import SOURCE, FormatError, Imported, csv_lines, factors_from_name, is_number, joined
from genperf.table.content import SIGNATURES, files_of
from genperf.table.opened import read_text


@dataclass(frozen=True)
class Format:
    """A format of another tool."""

    #: What is read, in a phrase.
    what: str
    #: Text and the name of its file → its measurements.
    read: Callable[[str, str], Imported]
    #: A regular expression that matches near the beginning of such a text. An error names the format by it, where
    #: another one was expected.
    signature: str
    #: Whether the file is no text; `read` then gets its path in the place of its text.
    binary: bool = False


_READ: dict[str, tuple[str, ModuleType]] = {
    "hyperfine": ("hyperfine --export-json, with parameter scans", hyperfine),
    "extra-p": ("Extra-P's text, JSON and JSON Lines", extra_p),
    "pytorch-profiler": ("torch.profiler's Chrome traces: a row a step, with its phases", pytorch_profiler),
    "mlperf": ("logs of MLPerf training", mlperf),
    "training-log": ("logs of Megatron-LM, NeMo, nanotron, DeepSpeed, torchtitan, Composer", training_log),
    "trainer-state": ("trainer_state.json of Hugging Face's Trainer", trainer_state),
    "lightning": ("metrics.csv of PyTorch Lightning's CSVLogger", lightning),
    "nccl-tests": ("what nccl-tests print: times of collectives", nccl_tests),
    "serving": ("results of vLLM's and SGLang's serving benchmarks", serving),
    "pytest-benchmark": ("pytest-benchmark's JSON", pytest_benchmark),
    "tensorboard": ("TensorBoard's event files: a row a logged step", tensorboard),
    "nsight": ("Nsight Systems' SQLite exports: a row a step, with its phases", nsight),
}
#: A signature stands with the reader, or where a table's own reader names the format.
FORMATS = {
    name: Format(
        what, module.read, getattr(module, "SIGNATURE", "") or SIGNATURES[name], module in (tensorboard, nsight)
    )
    for name, (what, module) in _READ.items()
}


def import_files(
    format: str, files: Sequence[str], settings: Mapping[str, str] | None = None, from_name: str | None = None
) -> Imported:
    """Read files of a format.

    Parameters
    ----------
    format : str
        One of `FORMATS`.
    files : sequence of str
        Paths, patterns of paths, or "-" for standard input; compressed ones as well.
    settings : mapping of str to str, optional
        Factors of all files; a factor that a file holds itself stays as it is there.
    from_name : str, optional
        The pattern of factors in a file's name (`factors_from_name`).

    Raises
    ------
    GenperfError
        Where the format does not exist, or a file is not of it.
    """
    if format not in FORMATS:
        raise GenperfError(f"there is no format '{format}'", hint=suggest(format, FORMATS))
    paths = list(dict.fromkeys(path for given in files for path in ([given] if given == "-" else files_of(given))))
    if not paths:
        raise GenperfError("no file is named", hint=f"genperf import {format} FILE… -o table.csv")
    parts = []
    for path in paths:
        part = _read(FORMATS[format], path)
        given = {**(settings or {}), **(factors_from_name(from_name, path) if from_name else {})}
        if taken := {SOURCE, part.time, part.repeat} & {*given}:
            raise GenperfError(f"'{min(taken)}' is a column of the table itself", hint="give the factor another name")
        name = "standard input" if path == "-" else path
        part = part.with_factors(given, name)
        parts.append(replace(part, rows=tuple({SOURCE: name, **row} for row in part.rows)))
    return _with_gaps_noted(joined(parts))


def _with_gaps_noted(table: Imported) -> Imported:
    """Note the factors with numbers that some files lack: a table needs them in every row."""
    notes = list(table.notes)
    for name in table.factors:
        lacking = list(dict.fromkeys(str(row[SOURCE]) for row in table.rows if row.get(name) is None))
        if lacking and any(is_number(cell) for cell in table.values(name)):
            text = f"'{name}' is missing in {listed(lacking, 3)}: --set or --from-name fills it in"
            notes.append(Note(text, "factor_missing"))
    return replace(table, notes=tuple(notes))


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
        start = text[:100_000]
        return format.read(text, name)
    except TableError as error:
        if not isinstance(error, FormatError) and re.search(format.signature, start):
            raise
        start = start or _beginning(path)
        other = next((key for key, f in FORMATS.items() if f is not format and re.search(f.signature, start)), None)
        hint = f"genperf import {other} {path}" if other else error.hint
        raise TableError(error.message, where=error.where, hint=hint) from None


def _beginning(path: str) -> str:
    """Return how a file begins, by which its format is recognised, whatever it is."""
    if not Path(path).is_file():
        return ""
    with open(path, "rb") as file:
        return file.read(100_000).decode("utf-8", "replace")
