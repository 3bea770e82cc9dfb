"""Runs that failed, as a user types it."""

import json
from pathlib import Path

import pytest
from helpers import Shell, shell_of

ROLES = ["--time", "seconds", "--extrinsic", "gpus", "--intrinsic", "micro"]
#: 120 GB of state over the GPUs and 5 GB a sample must stay below 80 GB: 8 samples fit from 4 GPUs on.
RUNS = "gpus,micro,seconds\n" + "".join(
    f"{n},{b},{'OOM' if 120 / n + 5 * b > 80 else round(1 + 0.5 * b + 8 / n, 3)}\n"
    for n in (1, 2, 4, 8, 16)
    for b in (1, 2, 4, 8, 16)
)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return shell_of(capsys)


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
    assert json.loads(shell("check", "runs.csv", *ROLES, "--json")[1])["failed"] == failed


def test_other_words_and_refusals(shell: Shell, folder: Path) -> None:
    (folder / "exit.csv").write_text("gpus,micro,seconds,exit\n1,1,9,0\n1,2,9,0\n2,1,5,0\n2,4,,137\n")
    assert "failed: 1 run\n" in shell("check", "exit.csv", *ROLES, "--failed", "exit=137")[1]
    status, _, err = shell("check", "exit.csv", *ROLES, "--failed", "exit=138")
    assert (status, "no cell of column 'exit' is '138'" in err, "its values are '0', '137'" in err) == (1, True, True)
    (folder / "all.csv").write_text("gpus,micro,seconds\n1,1,OOM\n2,1,OOM\n")
    status, _, err = shell("fit", "all.csv", *ROLES)
    assert (status, "all 2 runs failed" in err) == (1, True)
