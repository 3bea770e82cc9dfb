"""Runs that failed, as a user types it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import Shell, done, reply

ROLES = ["--time", "seconds", "--extrinsic", "gpus", "--intrinsic", "micro"]
#: 120 GB of state over the GPUs and 5 GB a sample must stay below 80 GB: 8 samples fit from 4 GPUs on.
RUNS = "gpus,micro,seconds\n" + "".join(
    f"{n},{b},{'OOM' if 120 / n + 5 * b > 80 else round(1 + 0.5 * b + 8 / n, 3)}\n"
    for n in (1, 2, 4, 8, 16)
    for b in (1, 2, 4, 8, 16)
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a table in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(RUNS)
    return tmp_path


def test_check_counts_them(shell: Shell) -> None:
    status, out, err = shell("check", "runs.csv", *ROLES)
    failed = RUNS.count("OOM")
    assert (status, f"failed: {failed} runs" in out, f"note: {failed} runs failed" in err) == (0, True, True)
    assert reply(shell, "check", "runs.csv", *ROLES)["failed"] == failed


@pytest.fixture
def fitted(shell: Shell) -> str:
    assert shell("fit", "runs.csv", *ROLES, "--model", "a*micro + p/gpus + c", "-o", "m.json", "-q")[0] == 0
    return "m.json"


OVER = ["--over", "gpus=1,2,4,8,16", "--over", "micro=1,2,4,8,16"]


def best_of(shell: Shell, *options: str) -> dict[str, Any]:
    out = done(shell, "optimize", *options, "--json", "--top", "100")
    return json.loads(out)


def test_optimize_leaves_failed_runs_out(shell: Shell, fitted: str) -> None:
    answer = best_of(shell, fitted, *OVER, "--maximize", "gpus*micro/time")
    rows = {(row["gpus"], row["micro"]) for row in answer["best"]}
    measured = {tuple(map(float, line.split(",")[:2])) for line in RUNS.splitlines()[1:] if "OOM" not in line}
    # Every pair was measured: those that ran are the answers, and none of the others.
    assert rows == measured
    assert (8, 16) not in rows
    assert answer["feasible"] == len(measured)
    assert all(row["fits"] >= 0.95 for row in answer["best"])
    objectives = [row["objective"] for row in answer["best"]]
    assert answer["maximize"] == "gpus*micro/time"
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[0] > 0.0
    _, out, err = shell("optimize", fitted, *OVER, "--maximize", "micro")
    left_out = 25 - len(measured)
    assert f"note: {left_out} configurations left out: a run fits with a probability below 0.95" in err
    assert "most micro of" in out


def test_no_answer_keeps_quiet_about_a_run_that_fails(shell: Shell, fitted: str) -> None:
    at = ["--at", "gpus=1", "--at", "micro=64"]
    out = done(shell, "ask", "--full", "runs.csv", *at)
    assert "Such a run most likely fails (it succeeds with a probability of less than 1 %). If it does not" in out
    # Nobody relies on its time, or grows to it.
    assert "relied on" not in out
    assert "pays" not in out
    beside = done(shell, "ask", "runs.csv", "--at", "gpus=1", "--at", "micro=1,64")
    assert re.search("^✗ 1 gpu, micro=64 ", beside, re.MULTILINE)
    assert "fails" not in shell("ask", "--full", "runs.csv", "--at", "gpus=8", "--at", "micro=1")[1]
    lines = [f"{line},{kind}" for line in RUNS.splitlines()[1:] for kind in "ab"]
    Path("kinds.csv").write_text("\n".join(["gpus,micro,seconds,kind", *lines]))
    assert shell("fit", "kinds.csv", *ROLES, "--group", "kind", "--model", "a*micro + c", "-o", "k.json", "-q")[0] == 0
    status, _, err = shell("compare", "k.json", *at)
    assert status == 0
    assert "note: kind=a: such a run most likely fails" in err
