"""Records: JSON, and lines of `name=value` → rows.

JSON: lines, arrays, records by name, columns by name; nested objects are flattened to `memory.peak`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any

from genperf.errors import TableError, counted, listed
from genperf.table.cells import MOST_NAMES, Source, source_of, step
from genperf.table.facts import is_result, names_a_count, source_of_records, summary
from genperf.vocabulary import late, words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import COUNTED, LEVELS, canonical_of, counts_scale, meant_by

#: How JSON begins that may hold records.
JSON = late(r'\s*(?:\{\s*["}]|\[\s*(?:\[\s*["\d\[\]{-]|\{\s*["}]))')
#: Between two values of JSON.
_BETWEEN = late(r"[\s,\ufeff]*")
#: Between two pairs of a line, tried in this order.
_SEPARATORS = (r"[;|]", r",", r"\s+(?=[^\s=]+=)")
#: What has a name of its own, `VGG: 1 GPU`, is no name of a value.
_KEYED = late(r":[\s*]+\S")
#: `gpus=4 | 3.2 it/s`, `DP=2 (256 GPUs): 141 TFLOPS/GPU`: behind a value a result without a name.
_NAMELESS = late(r"\||:\s+[\d.]")
#: Objects in JSON objects that are flattened: settings nest thrice. Half, double: experiments/results/settings.md.
MAX_DEPTH = 8


#: Relative difference up to which a rate is one over a time.
ROUNDED = 0.01


def read_records(text: str, name: str) -> Source | None:
    """Read the records of a JSON text, or lines of `name=value`; None for another text."""
    if JSON.match(text) is None:
        pairs = pairs_of_lines(text)
        return None if pairs is None else record_rows(name, [*pairs.values()], [*pairs], "line", "lines of name=value")
    values = json_values(text, name, "an array of objects, or an object per line")
    records = [value for value, _ in values] if len(values) > 1 else _records_in(values[0][0])
    if not all(isinstance(record, dict) for record in records):
        raise TableError("holds JSON lines that are no records", hint="an object per line", where=name)
    if not records:
        hint = "an array of objects, an object per line, or genperf import for the files of a tool"
        raise TableError("is JSON without records of runs", hint=hint, where=name)
    unit = "line" if len(values) > 1 else "record"
    lines = [line for _, line in values] if len(values) > 1 else [*range(1, len(records) + 1)]
    left_out = Counter[str]()
    if len(values) > 1 or len(records) > 1:
        records = [run for record in records for run in _runs_within(record)]
        lines = [*range(1, len(records) + 1)] if len(records) > len(lines) else lines
    flat = _with_last_names([dict(_flattened(_with_seconds(record), "", 0, left_out)) for record in records])
    if len(flat) > 1 and (run := source_of_records([_as_fact(record) for record in flat], name)) is not None:
        return run
    source = record_rows(name, flat, lines, unit, "records of JSON" if len(flat) > 1 else "record of JSON")
    if not source.cells:
        raise TableError("is JSON without a number or a text in its records", where=name, hint="a record per run")
    if len(source.cells) > MOST_NAMES:
        what = f"is JSON whose records hold {len(source.cells):,} different keys"
        hint = "write a record per run, each with the same keys"
        raise TableError(f"{what}; at most {MOST_NAMES:,} are columns", hint=hint, where=name)
    if not left_out:
        return source
    keys_text = listed([f"'{key}'" for key in left_out], 4)
    return source.changed(f"{counted(left_out.total(), 'list')} of {keys_text} left out")


def _with_seconds(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the median time for statistics of which the rate, `ops`, is one over the mean seconds."""
    with_times = dict(record)
    for key, item in record.items():
        statistics = item if isinstance(item, dict) else {}
        of_item: list[Any] = [statistics.get("ops"), statistics.get("mean"), statistics.get("median")]
        rate, mean, median = of_item if _are_numbers(of_item) else (0.0, 0.0, 0.0)
        if abs(rate * mean - 1.0) < ROUNDED:
            with_times[key] = {"time_s": median}
    return with_times


def _with_last_names(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records whose counts have the last name of their path where only one ends so: `cluster.total_gpus`."""
    last_names = {path: path.rpartition(".")[2] for record in records for path in record}
    ends = Counter(last_names.values())
    alone = {path: last for path, last in last_names.items() if ends[last] == 1 and canonical_of(path) is None}
    counts = {path: last for path, last in alone.items() if canonical_of(last) in (*LEVELS, "devices_per_node")}
    return [{counts.get(path, path): cell for path, cell in record.items()} for record in records]


def record_rows(name: str, records: Sequence[Mapping[str, Any]], lines: list[int], unit: str, what: str) -> Source:
    """Return records as rows, each with its line; a column that a record does not have is empty there."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows = [[record.get(column, "") for column in columns] for record in records]
    done = step(f"{len(rows)} {what} read as rows, {counted(len(columns), 'column')}")
    return source_of(name, columns, rows, lines, unit, steps=(done,))


def pairs_of_lines(text: str) -> dict[int, dict[str, str]] | None:
    """Return the pairs by the number of their line, from a line 2 `gpus=8 s=1`: {2: {"gpus": "8", "s": "1"}}.

    None where a line is anything else, `VGG: 1 GPU = 120 img/s, …`, or has fewer than two pairs; and where each line
    has a key of its own, as those of a log that begin with the time of day do.
    """
    records = dict[int, dict[str, str]]()
    for number, line in enumerate((match[0] for match in re.finditer("^.*$", text, re.MULTILINE)), 1):
        if records and line.lstrip().startswith("#"):
            return None  # a heading between runs
        if line.strip() and not line.lstrip().startswith("#"):
            # `step_time = 1.3 s (gpus=16, tp=4)`
            listed_behind = re.sub(r" \(([^()]*=[^()]*)\)$", r", \1", line.strip(" \t,;|"))
            pairs = _pairs(re.sub(r"\s*=\s*", "=", listed_behind))
            if pairs is None:
                return None
            records[number] = pairs
    lines_by_key = Counter(key for pairs in records.values() for key in pairs)
    is_log = len(records) > 2 and all(any(lines_by_key[key] == 1 for key in pairs) for pairs in records.values())
    return None if is_log else records or None


def runs_in_blocks(text: str, name: str) -> Source | None:
    """Return runs in blocks of lines `name: value` between empty lines, a row each; None for another text."""
    blocks = list[dict[str, str]]()
    for block in re.split(r"\n[ \t]*\n\s*", text.strip()):
        pairs = [line.partition(":") for line in block.splitlines()]
        if len(pairs) < 2 or not all(key.strip() and value[:1] == " " for key, _, value in pairs):
            return None
        blocks.append({key.strip(): value.strip() for key, _, value in pairs})
    of_one_kind = len(blocks) > 1 and all(next(iter(block)) == next(iter(blocks[0])) for block in blocks)
    lines = [*range(1, len(blocks) + 1)]
    return record_rows(name, blocks, lines, "record", "blocks of lines") if of_one_kind else None


def _pairs(line: str) -> dict[str, str] | None:
    """Return the pairs of a line by the first separator that leaves nothing else."""
    for separator in _SEPARATORS:
        pieces = [piece.strip().split("=") for piece in re.split(separator, line)]
        if len({piece[0] for piece in pieces} - {""}) == len(pieces) > 1 and all(len(piece) == 2 for piece in pieces):
            nameless = any(_KEYED.search(key) or _NAMELESS.search(value) for key, value in pieces)
            return None if nameless else dict(pieces)
    return None


def json_values(text: str, name: str, hint: str | None = None) -> list[tuple[Any, int]]:
    """Return the values of a JSON text, with control characters in strings, and their lines; else try the `hint`."""
    values, line, before, decoder = list[tuple[Any, int]](), 1, 0, json.JSONDecoder(strict=False)
    at = _after_blanks(text, 0)
    while at < len(text):
        line += text.count("\n", before, at)
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            place = f"{name}: line {error.lineno}, column {error.colno}"
            # Python names the start of a string that has no end.
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
                raise TableError("the file is cut off here", where=place, hint="export it again") from None
            what = "is JSON with a fault" if values or error.pos > at else "this is not JSON"
            raise TableError(f"{what} ({error.msg})", where=place, hint=hint) from None
        except RecursionError:
            raise TableError("is JSON that is nested too deeply", where=name, hint=hint) from None
        except ValueError as error:
            # Python refuses whole numbers of thousands of digits.
            raise TableError(f"holds a number that cannot be read ({error})", where=name) from None
        values.append((value, line))
        before, at = at, _after_blanks(text, end)
    return values


def behind_json(text: str) -> str:
    """Return what stands behind the values of JSON at the beginning of a text; empty where that is JSON as well."""
    at, decoder = 0, json.JSONDecoder(strict=False)
    while (begin := _after_blanks(text, at)) < len(text):
        try:
            at = decoder.raw_decode(text, begin)[1]
        except (ValueError, RecursionError):
            return text[begin:] if at and text[begin] not in "{[" else ""
    return ""


def _after_blanks(text: str, at: int) -> int:
    """Return the place behind the blanks and commas that begin at a place of a text."""
    return _BETWEEN.match(text, at).end()  # type: ignore[union-attr]


def _records_in(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    """Return the records that an array or an object holds, by the first form that fits; none where it holds none."""
    if isinstance(value, list):
        return _rows_in(value)
    if not isinstance(value, dict) or not value:
        return []
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and (rows := _rows_in([[*map(str, names)], *data])):
        return rows
    scalars = {key: item for key, item in value.items() if not isinstance(item, list | dict)}
    arrays = {key: item for key, item in value.items() if isinstance(item, list)}
    objects = {key: item for key, item in value.items() if isinstance(item, dict)}
    by_counts = [key for key, item in objects.items() if _are_by_count(item, dict)]
    if 1 < len(by_counts) < len(objects) and not arrays:
        # What stands beside runs by counts are the settings of all, which a record has by itself.
        scalars |= {key: objects.pop(key) for key in [*objects] if key not in by_counts}
    by_name: list[dict[str, Any]] = []
    are_numbered = not arrays and all(re.search(r"\d", key) for key in objects) and not any(map(is_result, scalars))
    if len(objects) > 1 and (are_numbered or len(objects) in (len(value), len(by_counts))):
        numbers = [str(row) for row in range(len(next(iter(objects.values()))))]
        if numbers and all([*cells] == numbers for cells in objects.values()):
            return _records_in({key: [*cells.values()] for key, cells in objects.items()}, depth)
        if set.intersection(*map(set, objects.values())):
            name_key = _COUNT if all(map(str.isdecimal, objects)) else "name"
            by_name = [{name_key: name, **scalars, **item} for name, item in objects.items()]
            rows_by_name = [*map(_rows_of_counts, objects.values())]
            if all(rows_by_name):
                # `{"ring": {"nodes": [1, 2, 4], "step_ms": [210, 231, 262]}, …}`
                named_rows = zip(objects, rows_by_name, strict=True)
                # Of `{"7b": {"8gpu": {…}, "16gpu": {…}}, …}` both levels name the runs.
                called = {name_key: "setting"}
                return [
                    {name_key: name, **scalars, **{called.get(n, n): cell for n, cell in row.items()}}
                    for name, rows in named_rows
                    for row in rows
                ]
    if by_name and are_numbered:
        return [run for record in by_name for run in _runs_within(record)]
    lists = {key: items for key, items in arrays.items() if _are_runs(items)}
    runs = max(lists.values(), key=len, default=None)
    if len(lists) > 1 and len({frozenset(run) for items in lists.values() for run in items}) == 1:
        # Runs of the same keys in several lists have the name of theirs.
        runs = [{"name": key, **run} for key, items in lists.items() for run in items]
    if runs is not None:
        # The results beside a list of runs sum them up.
        settings = {key: item for key, item in value.items() if key in scalars or key in objects}
        settings = {key: item for key, item in settings.items() if not any(map(is_result, _keys_of({key: item})))}
        return [{**settings, **run} for run in runs]
    if results := {key: cells for key, cells in objects.items() if is_result(key) and _are_by_count(cells)}:
        # `{"throughput": {"8 GPUs": 100, "16 GPUs": 190}}`
        counts = dict.fromkeys(count for cells in results.values() for count in cells)
        name_key = _COUNT if all(map(str.isdecimal, counts)) else "name"
        of_counts = {n: {key: cells[n] for key, cells in results.items() if n in cells} for n in counts}
        return [{name_key: count, **scalars, **cells} for count, cells in of_counts.items()]
    if any(map(is_result, _keys_of(value))):
        return [value]
    records = _records_of_arrays(scalars, arrays, objects)
    if records is not None:
        return records
    if by_name:
        return by_name
    inside = {key: _records_in(item, depth + 1) for key, item in objects.items()} if depth < MAX_DEPTH else {}
    several = [(key, rows) for key, rows in inside.items() if len(rows) > 1]
    if len(several) != 1:
        return [value]
    # Beside the runs stand the settings that they share; of `{"gpus": {"1": {…}, "2": {…}}}` the numbers are `gpus`.
    ((key, rows),) = several
    shared = {name: item for name, item in value.items() if name != key}
    count_key = key if meant_by(key) is not None else _COUNT
    return [{**shared, **{count_key if n == _COUNT else n: cell for n, cell in row.items()}} for row in rows]


def _are_by_count(cells: Mapping[str, Any], kinds: type | UnionType = int | float) -> bool:
    """Tell whether an object holds numbers by counts, `8`, `8 GPUs` or `gpus_8`, and not by percentiles, `p99`."""
    nouns = [re.sub(r"[\d\W_]+", "", key) for key in cells if re.search(r"\d", key)]
    are_counts = len(nouns) == len(cells) > 1 and (
        all(not noun or meant_by(noun) in COUNTED for noun in nouns) or all(map(names_a_count, cells))
    )
    return are_counts and all(isinstance(cell, kinds) for cell in cells.values())


def _runs_within(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the runs in the lists of a record, alone or by name, with what stands around them; of others itself.

    A `value` in the only list of a record has the name of that list.
    """
    held: dict[str, list[tuple[dict[str, str], Any]]] = {
        key: [({key: name}, rows) for name, rows in item.items()] if isinstance(item, dict) else [({}, item)]
        for key, item in record.items()
    }
    records = {
        k: of
        for k, of in held.items()
        if of and all(isinstance(rows, list) and {*map(type, rows)} == {dict} for _, rows in of)
    }
    around = {key: item for key, item in record.items() if key not in records and not isinstance(item, list)}
    several_by_name = sum(isinstance(record[key], dict) for key in records) > 1
    if not records or any(map(is_result, _keys_of(around))) or several_by_name:
        return [dict(record)]
    only = {"value": next(iter(records))} if [*map(len, records.values())] == [1] else {}
    runs = [{**around, **name, **row} for of in records.values() for name, rows in of for row in rows]
    runs = [{only.get(key, key): cell for key, cell in run.items()} for run in runs]
    return runs if all(any(map(is_result, run.keys() - around.keys())) for run in runs) else [dict(record)]


def _records_of_arrays(
    scalars: Mapping[str, Any], arrays: Mapping[str, list[Any]], objects: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]] | None:
    """Return the rows of arrays of one length, or the longest array of records; None where an object has neither."""
    columns = dict(arrays)
    # Beside an array of counts there may be an object of arrays for each program.
    of_objects = {f"{key} {name}": item for key, object_ in objects.items() for name, item in object_.items()}
    if arrays and of_objects and all(isinstance(item, list) for item in of_objects.values()):
        columns |= of_objects
    nested = any(isinstance(cell, list | dict) for item in columns.values() for cell in item)
    if len(columns) > 1 and not nested and len(set(map(len, columns.values()))) == 1:
        return [dict(zip(columns, row, strict=True)) | dict(scalars) for row in zip(*columns.values(), strict=True)]
    fewest = 1 if len(columns) == 1 else 2
    lists = [rows for rows in columns.values() if len(rows) >= fewest and all(isinstance(row, dict) for row in rows)]
    # The longest list has the runs; the others sum them up.
    return [{**scalars, **row} for row in max(lists, key=len)] if lists else None


def _rows_of_counts(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a record's arrays of one length where one counts what a run had, or its runs by counts."""
    if _are_by_count(record, dict):
        return _records_in(record) if any(is_result(key) for item in record.values() for key in _keys_of(item)) else []
    arrays = {key: item for key, item in record.items() if isinstance(item, list)}
    scalars = {key: item for key, item in record.items() if not isinstance(item, list | dict)}
    counts = any(map(counts_scale, arrays)) and any(map(is_result, arrays))
    return (_records_of_arrays(scalars, arrays, {}) or []) if counts else []


def _are_runs(rows: Sequence[Any]) -> bool:
    """Tell whether objects of a list are runs: each has a result, and a setting of the field's differs between them."""
    if len(rows) < 2 or not all(isinstance(row, dict) and any(map(is_result, row)) for row in rows):
        return False
    settings = {key for row in rows for key in row if canonical_of(key) is not None and not is_result(key)}
    return any(len({str(row.get(key)) for row in rows}) > 1 for key in settings)


#: What records by bare numbers have these as: `{"1": {…}, "2": {…}}`.
_COUNT = "count"


def _rows_in(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the records of an array: objects, arrays below one of names, arrays of numbers alone; else none."""
    if rows and all(isinstance(row, dict) for row in rows):
        return list(rows)
    if len(rows) < 2 or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        return []
    head, *records = rows
    if all(map(_are_numbers, rows)):
        head, records = [f"column{n}" for n in range(1, len(head) + 1)], list(rows)
    return [dict(zip(head, row, strict=True)) for row in records] if all(isinstance(n, str) for n in head) else []


#: Under what a record has the name of a fact.
_NAMES = ("name", "key", "metric")


def _keys_of(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield the names of the numbers that an object holds, also in objects inside it."""
    for key, item in value.items():
        if isinstance(item, dict) and depth < MAX_DEPTH and not set(map(type, item.values())) <= {dict}:
            yield from _keys_of(item, depth + 1)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield key


def _as_fact(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record of one fact, `{"name": "loss", "value": 2.5}`, under its name; another one as it is."""
    record = _with_named_value(record)
    names = [key for key in _NAMES if isinstance(record.get(key), str)]
    values = [key for key, item in record.items() if key.endswith("value") and not isinstance(item, list | dict)]
    if len(names) != 1 or len(values) != 1:
        return record
    steps = {key: item for key, item in record.items() if key in words_of("log.step") or key.endswith("_step")}
    return {str(record[names[0]]): record[values[0]], **steps}


def _with_named_value(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with `metric_value` and its `metric_unit` under what `metric_name` says."""
    names = {key.removesuffix("name"): item for key, item in record.items() if key.endswith("_name")}
    names = {begin: name for begin, name in names.items() if type(record.get(f"{begin}value")) in (int, float)}
    if len(names) != 1:
        return record
    ((begin, name),) = names.items()
    value, unit = record[f"{begin}value"], record.get(f"{begin}unit")
    others = {key: item for key, item in record.items() if key.removeprefix(begin) not in ("name", "value", "unit")}
    return {**others, str(name): f"{value} {unit}" if isinstance(unit, str) and is_result("", unit) else value}


def _are_numbers(item: Any) -> bool:
    return isinstance(item, list) and len(item) > 1 and {*map(type, item)} <= {int, float}


def _flattened(value: Mapping[str, Any], prefix: str, depth: int, left_out: Counter[str]) -> Iterator[tuple[str, Any]]:
    """Yield the scalars of a record, under paths such as `memory.peak`, lists of devices, medians of listed times."""
    value = _with_named_value(value)
    for key, item in value.items():
        path = f"{prefix}{' '.join(str(key).split())}"
        if isinstance(item, list):
            facts = [_as_fact(cell) for cell in item if isinstance(cell, Mapping)]
            is_devices = {*map(type, item)} == {int} and item == sorted({*item}) and item[-1] < 1000
            if facts and len(facts) == len(item) and all(len(fact) == 1 for fact in facts):
                # Settings as a list of names with their values.
                settings = {name: setting for fact in facts for name, setting in fact.items()}
                yield from _flattened(settings, prefix, depth + 1, left_out)
            elif header_of(path).kind in ("time", "rate") and _are_numbers(item):
                yield path, json.dumps(summary([float(number) for number in item])[0])
            elif is_devices:
                yield path, json.dumps(item)
            else:
                left_out[path] += 1
        elif not isinstance(item, Mapping):
            yield path, "" if item is None else item if isinstance(item, str) else json.dumps(item)
        elif key in words_of("log.machine"):
            continue  # what there was, and not what was used
        elif isinstance(unit := item.get("unit"), str) and is_result("", unit):
            # A quantity with its unit: `{"value": 8.1, "std": 0.2, "unit": "s"}`.
            numbers = {name: f"{cell} {unit}" for name, cell in item.items() if type(cell) in (int, float)}
            for name, cell in numbers.items():
                yield path if name == "value" or len(numbers) == 1 else f"{path}.{name}", cell
        elif {name for name, cell in item.items() if cell not in (None, "")} == {"value"}:
            # A setting with its description: `{"desc": null, "value": 8}`.
            yield from _flattened({key: item["value"]}, prefix, depth + 1, left_out)
        elif depth < MAX_DEPTH:
            yield from _flattened(item, f"{path}.", depth + 1, left_out)
        else:
            left_out[path] += 1
