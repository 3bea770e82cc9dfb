"""Patterns of files for `ask`, as many rows as `--top` names, and figures that cannot be drawn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from helpers import Shell, shell_of

from genperf.errors import GenperfError

COUNTS = (1, 2, 4, 8)
TABLE = ("--time", "step_time_s", "--extrinsic", "gpus")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    rows = [f"{n},{8 / n + 1}\n" for n in COUNTS]
    (tmp_path / "runs.csv").write_text("gpus,step_time_s\n" + "".join(rows))
    for n, row in zip(COUNTS, rows, strict=True):
        (tmp_path / "logs" / f"run{n}").mkdir(parents=True)
        (tmp_path / "logs" / f"run{n}" / "console.log").write_text(f"gpus,step_time_s\n{row}")
    return shell_of(capsys)


def test_files_of_a_pattern_are_one_table(shell: Shell) -> None:
    whole = json.loads(shell("ask", "runs.csv", "--at", "gpus=16", "--json")[1])
    for files in (["logs/*/console.log"], [f"logs/run{n}/console.log" for n in COUNTS]):
        status, out, errors = shell("ask", *files, "--at", "gpus=16", "--json")
        assert status == 0, errors
        assert json.loads(out)["answers"] == whole["answers"]


def test_files_that_are_no_table_together_are_refused(shell: Shell, tmp_path: Path) -> None:
    status, _, errors = shell("ask", "--full", "logs/*/train.log", "--at", "gpus=16")
    assert (status, "logs/*/train.log: no file matches" in errors) == (1, True), errors
    (tmp_path / "logs" / "run2" / "console.log").write_text("nodes,step_time_s\n2,5\n")
    status, _, errors = shell("ask", "--full", "logs/*/console.log", "--at", "gpus=16")
    assert status == 1
    assert "run2/console.log: has the columns nodes, step_time_s, and logs/run1/console.log has gpus, step" in errors
    status, _, errors = shell("ask", "--full", "runs.csv", "4:1530", "--at", "gpus=16")
    assert (status, "'runs.csv' is not a run" in errors) == (1, True), errors


def test_as_many_rows_as_top(shell: Shell) -> None:
    rows = [f"{n},{b},{b * (0.1 + 1 / n) + 0.05 * n}\n" for n in COUNTS for b in (8, 16, 32)]
    Path("grid.csv").write_text("gpus,batch,s\n" + "".join(rows))
    fit = ["--time", "s", "--extrinsic", "gpus", "--intrinsic", "batch", "--model", "a*batch/gpus + b*batch + c*gpus"]
    assert shell("fit", "grid.csv", *fit, "-o", "m.json")[0] == 0
    over = ["--over", "gpus=1:64", "--over", "batch=8", "--price", "gpus", "--minimize", "time"]
    for top in (3, 5):
        status, out, _ = shell("optimize", "m.json", *over, "--top", str(top))
        best, front = out.split("Pareto front of time against cost")
        assert status == 0
        assert front.startswith(f", {top} of ")
        assert [sum(line.split()[0].isdigit() for line in part.splitlines() if line) for part in (best, front)] == [
            top,
            top,
        ]


@pytest.mark.parametrize("command", [["validate", "runs.csv", *TABLE], ["predict", "m.json", "--at", "gpus=16"]])
def test_a_missing_matplotlib_is_found_before_the_work(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    # Nothing is read: not even that there is no model.
    status, _, errors = shell(*command, "--plot", "figure.png")
    assert status == 1
    assert 'plots need matplotlib\n  try: pip install "genperf[plots]"' in errors


def test_a_table_is_printed_before_its_figure_is_drawn(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def undrawn(*given: object) -> None:
        raise GenperfError("no figure today")

    monkeypatch.setattr("genperf.plots.image", undrawn)
    status, out, errors = shell(
        "validate", "runs.csv", *TABLE, "--models", "amdahl", "--scheme", "leave-one-out", "--plot", "f.png"
    )
    assert (status, "no figure today" in errors) == (1, True), errors
    assert "errors of the predicted time" in out
    assert shell("fit", "runs.csv", *TABLE, "--model", "amdahl", "-o", "m.json")[0] == 0
    status, out, errors = shell("predict", "m.json", "--at", "gpus=16", "--plot", "figure.png")
    assert (status, "no figure today" in errors, "16" in out) == (1, True, True)
