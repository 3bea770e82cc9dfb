"""The model file: JSON with a schema version. Reading one never runs anything from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from genperf.errors import FormulaError, ModelError
from genperf.result import layout
from genperf.result.convert import model_of, result_of
from genperf.result.fit_result import FitResult, GroupedResult

VERSION = 1
#: Stands for a line of numbers while the text around it is written: no cell or name holds a NUL.
HELD = "\0"
_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def dump_model(result: FitResult | GroupedResult) -> str:
    """Return the model file's text: the same result gives the same bytes.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> again = parse_model(dump_model(result))
    >>> bool((again.predict({"workers": 16}).time == result.predict({"workers": 16}).time).all())
    True
    """
    return "".join(model_pieces(result))


def model_pieces(result: FitResult | GroupedResult) -> Iterator[str]:
    """Yield the model file's text piece by piece, a group at a time: of a fleet the whole is large."""
    whole = result if isinstance(result, GroupedResult) else GroupedResult((), {(): result})
    file = layout.File(
        program="genperf",
        schema_version=VERSION,
        group=list(whole.group),
        groups=[],
        failures=[layout.Failure(key=list(key), reason=why) for key, why in whole.failures.items()],
    )
    head, tail = _text(file.model_dump(mode="json")).split(' "groups": []')
    yield head + ' "groups": ['
    between = "\n  "
    for key, held in whole.results.items():
        yield between + _group_text(list(key), held).replace("\n", "\n  ")
        between = ",\n  "
    yield ("\n ]" if whole.results else "]") + tail + "\n"


def _group_text(key: list[str], result: FitResult) -> str:
    """Write a group. Numbers by the thousand are written a line at a time, by the encoder that is fast."""
    group = layout.Group(key=key, model=model_of(result)).model_dump(mode="json")
    table, members = group["model"]["table"], group["model"]["members"]
    held = [_rows([_LINE.encode(row) for row in table["medians"]], 4)]
    table["medians"] = HELD
    for member in members:
        # Nothing but numbers: encoded at once, the lines are cut apart again.
        held.append(_rows([f"[{line}]" for line in _LINE.encode(member["draws"])[2:-2].split("], [")], 5))
        member["draws"] = HELD
    written = iter(held)
    return re.sub(json.dumps(HELD).replace("\\", r"\\"), lambda _: next(written), _in_line(_text(group)))


def _rows(lines: list[str], depth: int) -> str:
    """Write a list of lists, one to a line."""
    between = "\n" + " " * depth
    return f"[{between}" + f",{between}".join(lines) + f"{between[:-1]}]" if lines else "[]"


def _text(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


def _in_line(text: str) -> str:
    """Write short lists of numbers on one line."""
    return re.sub(r"\[\n\s+(-?[\d.eE+-]+(?:,\n\s+-?[\d.eE+-]+)*)\n\s+\]", _one_line, text)


def _one_line(match: re.Match[str]) -> str:
    return "[" + ", ".join(part.strip() for part in match[1].split(",")) + "]"


def parse_model(text: str, where: str = "model") -> FitResult | GroupedResult:
    """Read a model file's text.

    Parameters
    ----------
    text : str
    where : str
        What messages call it.

    Raises
    ------
    ModelError
        For a file that is cut off, of another program, of a newer schema, or not whole.
    """
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        hint = "it may be cut off: fit again with -o, or restore it"
        raise ModelError("is not a whole model file", where=where, hint=hint) from None
    if not isinstance(read, dict) or read.get("program") != "genperf":
        raise ModelError("is not a genperf model", where=where, hint="make one with genperf fit TABLE … -o model.json")
    version = read.get("schema_version")
    if isinstance(version, int) and version > VERSION:
        raise ModelError(
            f"has schema version {version}; this genperf reads up to {VERSION}", where=where, hint="update genperf"
        )
    try:
        file = layout.File.model_validate(read)
        results = {tuple(g.key): result_of(g.model) for g in file.groups}
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(p) for p in first["loc"])
        raise ModelError(
            f"is not a whole model file: {place}: {first['msg'].lower()} ({error.error_count()} faults)", where=where
        ) from None
    except FormulaError as error:
        raise ModelError(f"holds a formula that is refused: {error}", where=where) from None
    if not file.group:
        if len(results) != 1:
            raise ModelError("holds no model", where=where)
        return next(iter(results.values()))
    return GroupedResult(tuple(file.group), results, {tuple(f.key): f.reason for f in file.failures})


def save_model(result: FitResult | GroupedResult, path: str | Path) -> None:
    """Write a model file.

    Parameters
    ----------
    result : FitResult or GroupedResult
    path : str or Path
    """
    Path(path).write_text(dump_model(result), encoding="utf-8")


def load_model(path: str | Path) -> FitResult | GroupedResult:
    """Read a model file.

    Raises
    ------
    ModelError
        Where there is none, or it cannot be used.
    """
    where = str(path)
    try:
        return parse_model(Path(path).read_text(encoding="utf-8"), where)
    except FileNotFoundError:
        raise ModelError("no such file", where=where, hint="make one with genperf fit TABLE … -o model.json") from None
    except IsADirectoryError:
        raise ModelError("is a directory, not a model", where=where) from None
    except UnicodeDecodeError:
        raise ModelError("is not a genperf model (not text)", where=where) from None
