"""Runs that failed, as a user types it."""

import json
from pathlib import Path

import pytest
from helpers import Shell, shell_of

import genperf as gp

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


@pytest.fixture
def fitted(shell: Shell) -> str:
    assert shell("fit", "runs.csv", *ROLES, "--model", "a*micro + p/gpus + c", "-o", "m.json", "-q")[0] == 0
    return "m.json"


def test_predict_tells_what_fits(shell: Shell, folder: Path, fitted: str) -> None:
    at = ["--at", "gpus=2,8", "--at", "micro=1,8,16"]
    rows = json.loads(shell("predict", fitted, *at, "--json")[1])["predictions"]
    assert [round(row["fits"]) for row in rows] == [1, 0, 0, 1, 1, 0]
    assert list(rows[0])[2:] == ["time", "lower", "upper", "fits", "verdict", "reason"]
    assert shell("predict", fitted, *at, "-o", "p.csv", "-q")[0] == 0
    assert (folder / "p.csv").read_text().splitlines()[0] == "gpus,micro,time,lower,upper,fits,verdict,reason"
    predicted = gp.load_model("m.json").predict({"gpus": 8, "micro": [8, 16]})
    assert (predicted.fits > 0.5).tolist() == [True, False]


def test_one_where_nothing_failed(shell: Shell, folder: Path) -> None:
    (folder / "good.csv").write_text("\n".join(line for line in RUNS.splitlines() if "OOM" not in line) + "\n")
    assert shell("fit", "good.csv", *ROLES, "--model", "a*micro + p/gpus + c", "-o", "good.json", "-q")[0] == 0
    rows = json.loads(shell("predict", "good.json", "--at", "gpus=1", "--at", "micro=64", "--json")[1])["predictions"]
    assert rows[0]["fits"] == 1.0


def test_groups_learn_their_runs(shell: Shell, folder: Path) -> None:
    lines = RUNS.splitlines()
    (folder / "groups.csv").write_text(
        "\n".join(
            [
                f"host,{lines[0]}",
                *(f"small,{x}" for x in lines[1:]),
                *(f"large,{x}" for x in lines[1:] if "OOM" not in x),
            ]
        )
    )
    options = ["--group", "host", "--model", "a*micro + p/gpus + c", "-o", "groups.json", "-q"]
    assert shell("fit", "groups.csv", *ROLES, *options)[0] == 0
    rows = json.loads(shell("predict", "groups.json", "--at", "gpus=8", "--at", "micro=16", "--json")[1])["predictions"]
    assert [(row["host"], round(row["fits"])) for row in rows] == [("small", 0), ("large", 1)]


def test_the_file_is_the_same_again(shell: Shell, folder: Path, fitted: str) -> None:
    first = (folder / fitted).read_text()
    assert shell("fit", "runs.csv", *ROLES, "--model", "a*micro + p/gpus + c", "-o", fitted, "-q")[0] == 0
    assert (folder / fitted).read_text() == first
    plain = json.loads(first)
    plain["groups"][0]["model"]["feasibility"]["demands"].pop("micro")
    (folder / "broken.json").write_text(json.dumps(plain))
    status, _, err = shell("predict", "broken.json", "--at", "gpus=8", "--at", "micro=8")
    assert (status, "feasibility: its factors are not those of the table" in err) == (1, True)
    # A file of before this was known is read.
    plain["groups"][0]["model"].pop("feasibility")
    (folder / "older.json").write_text(json.dumps(plain))
    rows = json.loads(shell("predict", "older.json", "--at", "gpus=8", "--at", "micro=16", "--json")[1])["predictions"]
    assert rows[0]["fits"] == 1.0
