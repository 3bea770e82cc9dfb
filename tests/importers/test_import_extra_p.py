"""Extra-P's formats say the same; what does not fit together is named by its place."""

import json
from pathlib import Path

import pandas as pd
import pytest

from genperf.errors import TableError
from genperf.importers.extra_p import read

DATA = Path(__file__).parent / "data"
FILES = ("extra_p.txt", "extra_p.json", "extra_p_ids.json", "extra_p.jsonl")
TWO = "PARAMETER p q\nPOINTS {}\nREGION r\nDATA 1\nDATA 2\n"


@pytest.mark.parametrize("file", FILES)
def test_every_format_gives_the_measured_values(file: str) -> None:
    measured = pd.read_csv(Path(__file__).parents[2] / "data" / "pytorch_cpu.csv")
    network = {"batch_per_worker": 16, "layers": 4, "filters": 32, "kernel_size": 3, "hidden": 1024}
    rows = measured[(measured[list(network)] == pd.Series(network)).all(axis=1)].sort_values(["workers", "repeat"])
    table = read((DATA / file).read_text(), file)
    assert [row["value"] for row in table.rows] == rows["step_time_s"].tolist()
    assert [row["workers"] for row in table.rows] == rows["workers"].tolist()
    assert [row["repeat"] for row in table.rows] == [0, 1, 2] * 8
    assert table.values("callpath") == {"step"}
    assert table.values("metric") == {"time"}
    assert (table.factors, table.group) == (("workers",), ("callpath", "metric"))


@pytest.mark.parametrize("points", ["(1 2) (3 4)", "( 1 2 )( 3 4 )", "((1) (2)) ((3) (4))", "(1 2)\nPOINTS (3 4)"])
def test_points_are_written_in_several_ways(points: str) -> None:
    rows = read(TWO.format(points), "runs.txt").rows
    assert [(row["p"], row["q"]) for row in rows] == [(1, 2), (3, 4)]


def test_points_start_again_with_each_region_and_metric() -> None:
    text = (
        "# a comment\nPARAMETER n\nPOINTS 1 2\nMETRIC time\nREGION a->b\nDATA 5\nDATA 6.5 7\nREGION c\nDATA 8\nDATA 9\n"
    )
    rows = read(text, "runs.txt").rows
    assert [(row["callpath"], row["n"], row["repeat"], row["value"]) for row in rows] == [
        ("a->b", 1, 0, 5),
        ("a->b", 2, 0, 6.5),
        ("a->b", 2, 1, 7),
        ("c", 1, 0, 8),
        ("c", 2, 0, 9),
    ]
    assert {row["metric"] for row in rows} == {"time"}


def test_lines_may_hold_lists_and_leave_call_path_and_metric_out() -> None:
    table = read('{"params": {"n": 4}, "value": [0.5, 0.25]}\n\n{"params": {"n": 4}, "value": 1}\n', "runs.jsonl")
    assert [dict(row) for row in table.rows] == [
        {"n": 4, "repeat": 0, "value": 0.5},
        {"n": 4, "repeat": 1, "value": 0.25},
        {"n": 4, "repeat": 2, "value": 1},
    ]
    assert table.group == ()
    assert len(read('{"params": {"n": 4}, "value": [0.5, 0.25]}', "one.jsonl").rows) == 2


def ids(**changes: object) -> str:
    whole = json.loads((DATA / "extra_p_ids.json").read_text())
    return json.dumps({**whole, **changes})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n", "the file is empty"),
        ("hello world", "f: line 1: 'hello' is none of PARAMETER, POINTS"),
        ("PARAMETER n\nPOINT 1", "f: line 2: 'POINT' is none of"),
        ("POINTS 1 2", "f: line 1: POINTS come before any PARAMETER"),
        (TWO.format("(1 2) (3)"), "f: line 2: point (3) does not give one coordinate for each of p, q"),
        (TWO.format("(1 2) (3 4"), "f: line 2: the brackets of the points do not match"),
        (TWO.format("(1 2) )3 4("), "f: line 2: the brackets of the points do not match"),
        (TWO.format("(1 x) (3 4)"), "f: line 2: a coordinate must be a finite number, not 'x'"),
        (TWO.format("(1 2)"), "f: line 5: more DATA lines than 1 point"),
        (TWO.format("(1 2) (3 4) (5 6)"), "f: line 3: 2 DATA lines for 3 points"),
        ("PARAMETER n\nPOINTS 1\nDATA", "f: line 3: no number follows the keyword"),
        ("PARAMETER n\nPOINTS 1\nDATA inf", "f: line 3: a value must be a finite number, not 'inf'"),
        ("PARAMETER n\nPOINTS 1\n", "holds no measurement"),
        ("PARAMETER repeat\nPOINTS 1\nDATA 1", "a parameter is named 'repeat'"),
        ('{"a": 1}', "is JSON, but not as Extra-P writes it"),
        (
            '{"parameters": ["n"], "measurements": {"r": {"t": [{"point": [1]}]}}}',
            "measurements.r.t[0]: has no 'values'",
        ),
        (
            '{"parameters": ["n"], "measurements": {"r": {"t": [{"point": [1, 2], "values": [1]}]}}}',
            "f: measurements.r.t[0].point: a coordinate for each of n is expected, not 2",
        ),
        ('{"parameters": ["n"], "measurements": {"r"', "f: line 1, column 43: the file is cut off here"),
        (ids(callpaths=[]), "f: measurements[0]: 'callpath_id' is 1, and no item has that id"),
        (ids(coordinates=[{"id": 1, "parameter_value_pairs": []}]), "f: coordinates[0]: does not give one value"),
        ('{"params": {"n": 1}, "value": 1}\n{"params": {"m": 1}, "value": 1}', "f: line 2: gives m, not n"),
        (
            '{"params": {"n": 1}, "value": 1}\n{"params": {"n": 1}, "val',
            "f: line 2, column 22: the file is cut off here",
        ),
        ('{"x": 1}\n{"x": 2}', "f: line 1: is not as Extra-P writes it"),
    ],
)
def test_what_does_not_fit_is_named(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read(text, "f")
    assert said in str(caught.value)
