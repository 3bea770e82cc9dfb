"""hyperfine's exports: what is in them, and what is said of those that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from genperf.errors import TableError
from genperf.importers.hyperfine import read

DATA = Path(__file__).parent / "data"


def export(**changes: Any) -> str:
    result = {"command": "train", "times": [0.5, 0.25], "exit_codes": [0, 0], **changes}
    return json.dumps({"results": [{k: v for k, v in result.items() if v is not None}]})


def test_a_scan_has_a_row_for_each_run_and_its_parameters() -> None:
    text = (DATA / "hyperfine_scan.json").read_text()
    table = read(text, "scan.json")
    times = [time for result in json.loads(text)["results"] for time in result["times"]]
    assert [row["time_s"] for row in table.rows] == times
    assert [(row["workers"], row["batch"]) for row in table.rows[::3]] == [
        ("1", "8"),
        ("2", "8"),
        ("1", "16"),
        ("2", "16"),
    ]
    assert [row["repeat"] for row in table.rows] == [0, 1, 2] * 4
    assert table.factors == ("batch", "workers")
    assert not table.left_out


def test_runs_that_failed_are_named_and_left_out() -> None:
    text = (DATA / "hyperfine_failures.json").read_text()
    codes = json.loads(text)["results"][0]["exit_codes"]
    table = read(text, "runs.json")
    assert {0, 1} == set(codes)
    assert [row["repeat"] for row in table.rows] == [i for i, code in enumerate(codes) if code == 0]
    assert len(table.left_out) == sum(codes)
    assert all("exit code 1" in reason for reason in table.left_out)
    assert table.factors == ("command",)


def test_memory_of_newer_versions_and_no_codes_of_older_ones() -> None:
    newer = read(export(memory_usage_byte=[1024, 2048], exit_codes=[0, None]), "runs.json")
    assert newer.rows[0]["memory_bytes"] == 1024
    assert newer.left_out == ("runs.json: results[0], run 1 of 'train': ended by a signal",)
    assert len(read(export(exit_codes=None), "runs.json").rows) == 2


def test_characters_that_no_file_can_hold_are_replaced() -> None:
    odd = read(export(command="a\ud800\0", exit_codes=[0, 2], parameters={"n\udfff": "1"}), "runs.json")
    assert odd.rows[0]["command"] == "a?\N{REPLACEMENT CHARACTER}"
    assert odd.factors == ("n?",)
    assert odd.left_out[0].encode()


def test_commands_that_only_differ_beside_the_scan_are_noted() -> None:
    results = [
        {"command": name, "times": [1.0], "exit_codes": [0], "parameters": {"n": "2"}} for name in ("a 2", "b 2")
    ]
    (note,) = read(json.dumps({"results": results}), "runs.json").notes
    assert "several commands" in note.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "runs.json: the file is empty"),
        ('{"results": [{"command": "a", "times": [1.0', "runs.json: line 1, column 44: the file is cut off here"),
        ("no JSON", "runs.json: line 1, column 1: this is not JSON"),
        ("[1, 2]", "is JSON, but no export of hyperfine"),
        ('{"results": {}}', "runs.json: results: a list is expected here, not an object"),
        ('{"results": []}', "holds no run"),
        ('{"results": [3]}', "runs.json: results[0]: an object is expected here, not a number"),
        ('{"results": [{"times": [1]}]}', "runs.json: results[0]: has no 'command' (it has times)"),
        (export(times=["fast"]), "runs.json: results[0].times[0]: a number is expected here, not text ('fast')"),
        (export(times=[float("nan"), 1.0]), "runs.json: results[0].times[0]: is not a finite number"),
        (export().replace("0.25", "1e999"), "results[0].times[1]: is not a finite number"),
        (export().replace("0.25", "9" * 400), "results[0].times[1]: is not a finite number"),
        (export().replace("0.25", "9" * 5000), "holds a number that cannot be read"),
        (export().replace("0.25", "[" * 10**5 + "]" * 10**5), "is nested too deeply"),
        (export(exit_codes=[0]), "holds 2 'times' and 1 'exit_codes'"),
        (export(exit_codes=[1, 2]), "holds no run that ended well"),
        (export(parameters={"time_s": "4"}), "a parameter is named 'time_s', as is a column of the table"),
        (export(parameters={" ": "4"}), "a parameter has no name"),
    ],
)
def test_what_is_no_export_is_said_to_be_none(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read(text, "runs.json")
    assert said in str(caught.value)
