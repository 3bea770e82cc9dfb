import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genperf.cli.output import cell, records, show_json, show_predictions, show_rows
from genperf.cli.writing import write_whole
from genperf.table.cells import csv_pieces


def test_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o640)
    write_whole(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "out.txt", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through")
    assert os.read(reader, 10) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_rows_align_numbers_right(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(["name", "error"], [["generic", "9.5"], ["svr", "14.25"]])
    assert capsys.readouterr().out.splitlines() == ["name     error", "generic    9.5", "svr      14.25"]


FRAME = pd.DataFrame(
    {
        "seconds": [0.1234567891234, np.nan, np.inf],
        "nodes": [1, 2, 3],
        "say": ['a "b", c', "", None],
        "whole": [True, False, True],
        "mixed": [1.23456789123, None, "x"],
        "day": pd.to_datetime(["2020-01-02", "2020-01-03", None]),
        "maybe": pd.array([1, None, 3], dtype="Int64"),
    }
)


def test_csv_is_what_pandas_writes() -> None:
    assert "".join(csv_pieces(FRAME)) == FRAME.to_csv(index=False, float_format="%.9g")
    assert "".join(csv_pieces(FRAME[["say"]])) == FRAME[["say"]].to_csv(index=False)


def test_what_json_has_no_type_for_is_text_and_what_is_missing_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    show_json(records(FRAME))
    last = json.loads(capsys.readouterr().out)[2]
    assert last == {"seconds": None, "nodes": 3, "say": None, "whole": True, "mixed": "x", "day": None, "maybe": 3}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (1e-9, "1e-09"),
        (12345.678, "12346"),
        (131072.0, "131072"),
        (4.2e12, "4.2e+12"),
        (-0.0, "0"),
        ("x", "x"),
    ],
)
def test_cell(value: object, text: str) -> None:
    assert cell(value) == text


def test_reasons_are_footnotes_where_lines_are_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "workers=64 is 2 doublings outside the measured 1 to 16; the interval is wide"
    table = {
        "workers": np.array([16.0, 64.0, 128.0]),
        "verdict": np.array(["ok", "caution", "caution"], dtype=object),
        "reason": np.array(["", reason, reason], dtype=object),
    }
    show_predictions(table)
    assert capsys.readouterr().out.splitlines() == [
        "workers  verdict",
        "     16  ok",
        "     64  caution [1]",
        "    128  caution [1]",
        f"[1] {reason}",
    ]
    show_predictions({**table, "reason": np.array(["", "far", "far"], dtype=object)})
    assert "far" in capsys.readouterr().out.splitlines()[2]
