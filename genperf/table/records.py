"""JSON, or lines of `name=value` → rows.

JSON: lines, arrays, records by name, columns by name; nested objects are flattened to `memory.peak`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genperf.errors import TableError, counted, listed
from genperf.table.cells import Source, source_of, step


@dataclass(frozen=True)
class RecordSettings:
    """Limits of reading JSON."""

    #: Objects inside objects that are flattened; what is deeper is left out. A guess: settings are nested
    #: thrice.
    max_depth: int = 8
    #: Columns of a table. A guess: metrics of a run are hundreds.
    max_columns: int = 2000


RECORDS = RecordSettings()
_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{])')


#: Between two pairs of a line, tried in this order.
_SEPARATORS = (r"[;|]", r",", r"\s+(?=[^\s=]+=)")


def read_records(text: str, name: str) -> Source | None:
    """Read the records of a JSON text, or lines of `name=value`; None of another text."""
    if _JSON.match(text) is None:
        pairs = pairs_of_lines(text)
        return None if pairs is None else _source(name, [*pairs.values()], [*pairs], "line", "lines of name=value")
    records, lines, unit = _records(text, name)
    left_out, lengths = Counter[str](), Counter[str]()
    flat = [dict(_flattened(record, "", 0, left_out, lengths)) for record in records]
    source = _source(name, flat, lines, unit, "records of JSON" if len(flat) > 1 else "record of JSON")
    if not source.cells:
        raise TableError("is JSON without a number or a text in its records", where=name, hint="a record per run")
    if len(source.cells) > RECORDS.max_columns:
        what = f"is JSON whose records hold {len(source.cells):,} different keys"
        hint = "write a record per run, each with the same keys"
        raise TableError(f"{what}; at most {RECORDS.max_columns:,} are columns", hint=hint, where=name)
    steps = [*source.steps]
    for lists, done in ((lengths, "replaced by how many they name"), (left_out, "left out")):
        if lists:
            shown = listed([f"'{key}'" for key in lists], 4)
            steps.append(step(f"{counted(lists.total(), 'list')} of {shown} {done}"))
    return replace(source, steps=tuple(steps))


def _source(name: str, records: Sequence[Mapping[str, Any]], lines: list[int], unit: str, what: str) -> Source:
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows = [[record.get(column, "") for column in columns] for record in records]
    done = step(f"{len(rows)} {what} read as rows, {counted(len(columns), 'column')}")
    return source_of(name, columns, rows, lines, unit, steps=(done,))


def pairs_of_lines(text: str) -> dict[int, dict[str, str]] | None:
    r"""Return the pairs of each line by its number; None where a line is anything else, or has fewer than two.

    Examples
    --------
    >>> pairs_of_lines("gpus=8, step time=0.25 s\ngpus=16, step time=0.31 s\n")
    {1: {'gpus': '8', 'step time': '0.25 s'}, 2: {'gpus': '16', 'step time': '0.31 s'}}
    """
    records = {}
    for number, line in enumerate((match[0] for match in re.finditer("^.*$", text, re.MULTILINE)), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            pairs = _pairs(re.sub(r"\s*=\s*", "=", line.strip(" \t,;|")))
            if pairs is None:
                return None
            records[number] = pairs
    return records or None


def _pairs(line: str) -> dict[str, str] | None:
    """Return the pairs of a line by the first separator that leaves nothing else."""
    for separator in _SEPARATORS:
        pieces = [piece.strip().split("=") for piece in re.split(separator, line)]
        if len({piece[0] for piece in pieces} - {""}) == len(pieces) > 1 and all(len(piece) == 2 for piece in pieces):
            return dict(pieces)
    return None


def _records(text: str, name: str) -> tuple[list[dict[str, Any]], list[int], str]:
    """Return the records of a text, the line or the number of each, and which of them it is."""
    values: list[Any] = []
    starts: list[int] = []
    at = _after_blanks(text, 0)
    while at < len(text):
        starts.append(at)
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except json.JSONDecodeError as error:
            where = f"{name}: line {error.lineno}, column {error.colno}"
            raise TableError(f"is JSON with a fault ({error.msg})", hint="a record per line", where=where) from None
        except RecursionError:
            raise TableError("is JSON nested too deeply", hint="a record per run", where=name) from None
        values.append(value)
        at = _after_blanks(text, at)
    if len(values) > 1:
        if not all(isinstance(value, dict) for value in values):
            raise TableError("holds JSON lines that are no records", hint="an object per line", where=name)
        ends = [match.start() for match in re.finditer("\n", text)]
        return values, (np.searchsorted(ends, starts) + 1).tolist(), "line"
    records = _records_in(values[0]) if values else None
    if not records:
        hint = "an array of objects, an object per line, or genperf import for the files of a tool"
        raise TableError("is JSON without records of runs", hint=hint, where=name)
    return records, [*range(1, len(records) + 1)], "record"


def _after_blanks(text: str, at: int) -> int:
    return re.compile(r"[\s,\ufeff]*").match(text, at).end()  # type: ignore[union-attr]


def _records_in(value: Any) -> list[dict[str, Any]] | None:
    """Return the records that an array or an object holds; None where it holds none."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) for item in value):
            return value
        if len(value) < 2 or not all(isinstance(row, list) and len(row) == len(value[0]) for row in value):
            return None
        head, *rows = value
        return [dict(zip(head, row, strict=True)) for row in rows] if all(isinstance(n, str) for n in head) else None
    if not isinstance(value, dict) or not value:
        return None
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [dict(zip(map(str, names), row, strict=False)) for row in data]
    plain = {key: item for key, item in value.items() if not isinstance(item, list | dict)}
    arrays = {key: item for key, item in value.items() if isinstance(item, list)}
    if len(arrays) == 1:
        (rows,) = arrays.values()
        if rows and all(isinstance(row, dict) for row in rows):
            return [{**plain, **row} for row in rows]
    nested = any(isinstance(cell, list | dict) for item in arrays.values() for cell in item)
    if len(arrays) > 1 and not nested and len(set(map(len, arrays.values()))) == 1:
        return [dict(zip(arrays, row, strict=True)) | plain for row in zip(*arrays.values(), strict=True)]
    objects = [item for item in value.values() if isinstance(item, dict)]
    shared = set.intersection(*map(set, objects)) if len(objects) == len(value) > 1 else set()
    if shared and not any(isinstance(item[key], dict) for item in objects for key in shared):
        return [{"name": key, **item} for key, item in value.items()]
    return [value]


def _numbers_devices(item: list[Any]) -> bool:
    """Tell whether a list names devices by number: 0, 1, 2."""
    return bool(item) and all(type(c) is int for c in item) and item == sorted({*item}) and item[-1] < 1000


def _flattened(
    value: Mapping[str, Any], prefix: str, depth: int, left_out: Counter[str], lengths: Counter[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the scalars of a record under their paths; lists are counted or left out."""
    for key, item in value.items():
        path = f"{prefix}{' '.join(str(key).split())}"
        if isinstance(item, Mapping) and depth < RECORDS.max_depth:
            yield from _flattened(item, f"{path}.", depth + 1, left_out, lengths)
        elif isinstance(item, list) and _numbers_devices(item):
            lengths[path] += 1
            yield path, str(len(item))
        elif isinstance(item, list | Mapping):
            left_out[path] += 1
        else:
            yield path, "" if item is None else json.dumps(item) if isinstance(item, bool | float | int) else item
