"""Extra-P's measurements, in its text format and its three JSON formats: one row a repeated value.

The formats are those of `docs/file-formats.md` of Extra-P 4.2. A row has the parameters of its point, its call path and
metric where they are given, and a `value`: seconds, where the metric is a time.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from genperf.errors import TableError, counted
from genperf.table.clean import is_number, shortened
from genperf.table.content import SIGNATURES
from genperf.table.importers.imported import REPEAT, Imported, Json, read_values, refuse_clashes
from genperf.vocabulary.headers import header_of

#: The columns of what a value is of, and of the value.
CALLPATH, METRIC, VALUE = "callpath", "metric", "value"
SIGNATURE = rf'{SIGNATURES["extra-p"]}|\A\s*\{{\s*"params"\s*:'

Numbers = tuple[int | float, ...]
#: Call path and metric, where they are given; a coordinate for each parameter; repeated values at this point.
Measured = tuple[dict[str, str], Numbers, Numbers]

#: What opens a line of the text format.
_KEYWORDS = ("PARAMETER", "POINTS", "METRIC", "REGION", "DATA")
#: A point in brackets, perhaps with brackets around each coordinate.
_POINT = r"\(((?:[^()]|\([^()]*\))*)\)"


def read(text: str, name: str) -> Imported:
    r"""Read measurements.

    >>> runs = "PARAMETER workers\nPOINTS 2 4\nREGION main\nMETRIC time\nDATA 5.0 5.1\nDATA 3.0\n"
    >>> for row in read(runs, "runs.txt").rows:
    ...     print(row)
    {'callpath': 'main', 'metric': 'time', 'workers': 2, 'repeat': 0, 'value': 5.0}
    {'callpath': 'main', 'metric': 'time', 'workers': 2, 'repeat': 1, 'value': 5.1}
    {'callpath': 'main', 'metric': 'time', 'workers': 4, 'repeat': 0, 'value': 3.0}
    """
    # JSON's reader refuses an empty text as well.
    as_json = not text.strip() or text.lstrip().startswith(("{", "["))
    parameters, measured = measurements_of(text, name) if as_json else _of_text(text, name)
    refuse_clashes(parameters, (CALLPATH, METRIC, REPEAT, VALUE), name)
    of_times = all(header_of(series.get(METRIC, "time")).kind == "time" for series, _, _ in measured)
    columns = dict.fromkeys(column for series, _, _ in measured for column in series)
    table = Imported([], VALUE, group=[*columns], unit="s" if of_times else "")
    for series, point, values in measured:
        for value in values:
            table.add({**series, **dict(zip(parameters, point, strict=True))}, {VALUE: value})
    return table.filled(name, "holds no measurement")


def _of_text(text: str, name: str) -> tuple[list[str], list[Measured]]:
    """Read the text format: each REGION or METRIC starts again at the first of the points."""
    parameters: list[str] = []
    points: list[Numbers] = []
    measured: list[Measured] = []
    series: dict[str, str] = {}
    begun = at = 0

    def finish() -> None:
        if at not in (0, len(points)):
            what = f"{counted(at, 'DATA line')} for {counted(len(points), 'point')}"
            raise TableError(what, where=f"{name}: line {begun}", hint="write one a point")

    for number, line in enumerate(text.split("\n"), 1):
        keyword, words = [*line.split(None, 1), "", ""][:2]
        if not keyword or keyword.startswith("#"):
            continue
        where = f"{name}: line {number}"
        if keyword not in _KEYWORDS:
            raise TableError(f"'{shortened(keyword)}' is none of {', '.join(_KEYWORDS)}", where=where)
        if keyword == "PARAMETER":
            if points:
                raise TableError("PARAMETER comes after POINTS", where=where, hint="write every PARAMETER first")
            parameters += words.split()
        elif keyword == "POINTS":
            points += _points(words, parameters, where)
        elif keyword == "DATA":
            if at >= len(points):
                what = f"more DATA lines than {counted(len(points), 'point')}"
                raise TableError(what, where=where, hint="add the POINTS")
            measured.append((dict(series), points[at], _numbers(words.split(), "a value", where)))
            at += 1
        else:
            finish()
            series[CALLPATH if keyword == "REGION" else METRIC] = words.strip()
            begun, at = number, 0
    finish()
    return parameters, measured


def _points(text: str, parameters: Sequence[str], where: str) -> list[Numbers]:
    """Read points: in brackets, also around each coordinate, or bare where there is one parameter."""
    if not parameters:
        raise TableError("POINTS come before any PARAMETER", where=where)
    if not re.fullmatch(rf"[^()]*|(\s*{_POINT})*\s*", text):
        raise TableError("the brackets of the points do not match", where=where)
    groups = [re.findall(r"[^\s()]+", group) for group in re.findall(_POINT, text)] or [[word] for word in text.split()]
    points = [_numbers(group, "a coordinate", where) for group in groups or [[]]]
    for point in points:
        if len(point) != len(parameters):
            held, wanted = " ".join(str(c) for c in point), ", ".join(parameters)
            raise TableError(f"point ({held}) does not give one coordinate for each of {wanted}", where=where)
    return points


def _numbers(words: Sequence[str], what: str, where: str) -> Numbers:
    """Read the numbers of a line; whole ones as int."""
    if not words:
        raise TableError("no number follows the keyword", where=where, hint="write numbers with blanks between")
    wrong = next((word for word in words if not is_number(word)), None)
    if wrong is not None:
        raise TableError(f"{what} must be a finite number, not '{shortened(wrong)}'", where=where)
    return tuple(int(word) if word.lstrip("+-").isdecimal() else float(word) for word in words)


Read = tuple[list[str], list[Measured]]
Held = TypeVar("Held")


def measurements_of(text: str, name: str) -> Read:
    """Return the parameters' names and what was measured."""
    file, *further_values = read_values(text, name)
    if further_values or file.has("params"):
        return _of_lines([file, *further_values])
    if not file.has("measurements") or not file.has("parameters"):
        hint = "it needs 'parameters' and 'measurements', or a line of 'params' and 'value' for each measurement"
        raise TableError("is JSON, but not as Extra-P writes it", where=name, hint=hint)
    return _with_ids(file) if file.has("callpaths") else _nested(file)


def _nested(file: Json) -> Read:
    """Read call path → metric → points with values."""
    parameters = [p.text() for p in file.member("parameters").list()]
    measured = []
    for callpath, metrics in file.member("measurements").object().items():
        for metric, points in metrics.object().items():
            for point in points.list():
                at = point.member("point").numbers()
                if len(at) != len(parameters):
                    wanted = f"a coordinate for each of {', '.join(parameters)} is expected"
                    raise TableError(f"{wanted}, not {len(at)}", where=point.member("point").where)
                measured.append(({CALLPATH: callpath, METRIC: metric}, at, point.member("values").numbers()))
    return parameters, measured


def _with_ids(file: Json) -> Read:
    """Read parameters, call paths, metrics, coordinates and values that name each other by id."""
    parameters, callpaths, metrics = (
        {item.member("id").number(): item.member("name").text() for item in file.member(key).list()}
        for key in ("parameters", "callpaths", "metrics")
    )
    order = sorted(parameters)
    points: dict[int | float, Numbers] = {}
    for coordinate in file.member("coordinates").list():
        pairs = coordinate.member("parameter_value_pairs").list()
        values = {p.member("parameter_id").number(): p.member("parameter_value").number() for p in pairs}
        if sorted(values) != order:
            raise TableError("does not give one value for each parameter", where=coordinate.where)
        points[coordinate.member("id").number()] = tuple(values[i] for i in order)
    measured: list[Measured] = []
    for item in file.member("measurements").list():
        series = {CALLPATH: _named(item, "callpath_id", callpaths), METRIC: _named(item, "metric_id", metrics)}
        measured.append((series, _named(item, "coordinate_id", points), (item.member("value").number(),)))
    return [parameters[i] for i in order], measured


def _named(item: Json, key: str, items_by_id: Mapping[int | float, Held]) -> Held:
    """Return what a measurement names by an id."""
    number = item.member(key).number()
    if number not in items_by_id:
        raise TableError(f"'{key}' is {number}, and no item has that id", where=item.where)
    return items_by_id[number]


def _of_lines(lines: Iterable[Json]) -> Read:
    """Read a measurement a line."""
    parameters: list[str] = []
    measured: list[Measured] = []
    for line in lines:
        if not line.has("params") and not measured:
            raise TableError("is not as Extra-P writes it (no 'params')", where=line.where)
        values_by_name = line.member("params").object()
        parameters = parameters or list(values_by_name)
        if set(values_by_name) != set(parameters):
            raise TableError(f"gives {', '.join(values_by_name)}, not {', '.join(parameters)}", where=line.where)
        value = line.member("value")
        values = value.numbers() if isinstance(value.value, list) else (value.number(),)
        series = {key: line.member(key).text() for key in (CALLPATH, METRIC) if line.has(key)}
        measured.append((series, tuple(values_by_name[p].number() for p in parameters), values))
    return parameters, measured
