"""Extra-P's JSON formats: the present one, the older one with ids, and JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from genperf.errors import TableError
from genperf.importers.extra_p_measured import CALLPATH, METRIC, Measured
from genperf.importers.imported import FormatError
from genperf.importers.json_text import Json, parse_json

Read = tuple[list[str], list[Measured]]
Held = TypeVar("Held")


def measurements_of(text: str, name: str) -> Read:
    """Return the parameters' names and what was measured.

    Raises
    ------
    TableError
        By place.
    """
    lines = [line.strip() for line in text.split("\n")]
    # As Extra-P tells them apart: a file that opens a bracket on every line is no JSON as a whole.
    if all(line.startswith("{") for line in lines if line) and len([line for line in lines if line]) > 1:
        return _of_lines(lines, name)
    file = Json(parse_json(text, name), name)
    if file.has("params"):
        return _of_lines(lines, name)
    if not file.has("measurements") or not file.has("parameters"):
        hint = "it needs 'parameters' and 'measurements', or a line of 'params' and 'value' for each measurement"
        raise FormatError("is JSON, but not as Extra-P writes it", where=name, hint=hint)
    return _with_ids(file) if file.has("callpaths") else _nested(file)


def _nested(file: Json) -> Read:
    """Read call path → metric → points with values."""
    parameters = [p.text() for p in file.member("parameters").list()]
    measured = []
    for callpath, metrics in file.member("measurements").object().items():
        for metric, points in metrics.object().items():
            for point in points.list():
                at = tuple(c.number() for c in point.member("point").list())
                if len(at) != len(parameters):
                    wanted = f"a coordinate for each of {', '.join(parameters)} is expected"
                    raise TableError(f"{wanted}, not {len(at)}", where=point.member("point").where)
                values = tuple(v.number() for v in point.member("values").list())
                measured.append(Measured({CALLPATH: callpath, METRIC: metric}, at, values))
    return parameters, measured


def _with_ids(file: Json) -> Read:
    """Read parameters, call paths, metrics, coordinates and values that name each other by id."""
    parameters = _by_id(file, "parameters", "name")
    callpaths, metrics = _by_id(file, "callpaths", "name"), _by_id(file, "metrics", "name")
    order = sorted(parameters)
    points: dict[int | float, tuple[int | float, ...]] = {}
    for coordinate in file.member("coordinates").list():
        pairs = coordinate.member("parameter_value_pairs").list()
        values = {p.member("parameter_id").number(): p.member("parameter_value").number() for p in pairs}
        if sorted(values) != order:
            raise TableError("does not give one value for each parameter", where=coordinate.where)
        points[coordinate.member("id").number()] = tuple(values[i] for i in order)
    measured = []
    for one in file.member("measurements").list():
        series = {CALLPATH: _named(one, "callpath_id", callpaths), METRIC: _named(one, "metric_id", metrics)}
        measured.append(Measured(series, _named(one, "coordinate_id", points), (one.member("value").number(),)))
    return [parameters[i] for i in order], measured


def _by_id(file: Json, key: str, what: str) -> dict[int | float, str]:
    """Return a text of each item of a list, by the item's id."""
    return {item.member("id").number(): item.member(what).text() for item in file.member(key).list()}


def _named(one: Json, key: str, known: Mapping[int | float, Held]) -> Held:
    """Return what a measurement names by an id."""
    number = one.member(key).number()
    if number not in known:
        raise TableError(f"'{key}' is {number}, and no item has that id", where=one.where)
    return known[number]


def _of_lines(lines: list[str], name: str) -> Read:
    """Read a measurement a line."""
    parameters: list[str] = []
    measured: list[Measured] = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        one = Json(parse_json(line, name, number), f"{name}: line {number}")
        if not one.has("params") and not measured:
            raise FormatError("is not as Extra-P writes it (no 'params')", where=one.where)
        given = one.member("params").object()
        parameters = parameters or list(given)
        if set(given) != set(parameters):
            raise TableError(f"gives {', '.join(given)}, not {', '.join(parameters)}", where=one.where)
        value = one.member("value")
        values = value.list() if isinstance(value.value, list) else [value]
        series = {key: one.member(key).text() for key in (CALLPATH, METRIC) if one.has(key)}
        point = tuple(given[p].number() for p in parameters)
        measured.append(Measured(series, point, tuple(v.number() for v in values)))
    return parameters, measured
