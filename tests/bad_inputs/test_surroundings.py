"""Odd surroundings: pipes, no home, narrow terminals, other locales, places that cannot be written."""

import json
import locale
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cases import RUNS, TABLE
from helpers import Shell, refusal, reply

from genperf.table import content

FOLDER = {"runs.csv": RUNS}
BEFORE = [("fit", "runs.csv", *TABLE, "--model", "amdahl", "-q", "-o", "m.json")]


def test_a_pipe_is_read_and_written(shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    writer = threading.Thread(target=(tmp_path / "in").write_text, args=(RUNS,))
    writer.start()
    status, out, _ = shell("check", "in", *TABLE, "--json")
    writer.join()
    assert (status, json.loads(out)["rows"]) == (0, 5)
    os.mkfifo(tmp_path / "out")
    text: list[str] = []
    reader = threading.Thread(target=lambda: text.append((tmp_path / "out").read_text()))
    reader.start()
    assert shell("predict", "m.json", "--at", "workers=4", "-o", "out")[0] == 0
    reader.join()
    assert text[0].startswith("workers,time,")


def test_a_pipe_without_its_other_end_is_refused(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    for command in (
        ("check", "pipe", *TABLE),
        ("predict", "pipe", "--at", "workers=4"),
        ("predict", "m.json", "--data", "pipe"),
        ("--config", "pipe", "models"),
    ):
        status, _, errors = shell(*command)
        assert (status, "pipe that no process writes to" in errors) == (1, True), errors
    assert "pipe that no process reads" in refusal(shell, "predict", "m.json", "--at", "workers=4", "-o", "pipe")


def test_a_slow_writer_is_waited_for(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "PIPE_SECONDS", 0.05)
    os.mkfifo(tmp_path / "slow")

    def write() -> None:
        with open(tmp_path / "slow", "w") as pipe:
            time.sleep(0.3)
            pipe.write(RUNS[:20])
            pipe.flush()
            time.sleep(0.1)
            pipe.write(RUNS[20:])

    writer = threading.Thread(target=write)
    writer.start()
    status, out, _ = shell("check", "slow", *TABLE, "--json")
    writer.join()
    assert (status, json.loads(out)["rows"]) == (0, 5)


def test_no_home(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    assert shell("check", "runs.csv", *TABLE)[0] == 0
    assert "Traceback" not in refusal(shell, "check", "~nobody-of-this-name/runs.csv", *TABLE)


def test_a_comma_for_the_decimal_sign(shell: Shell) -> None:
    _, plain, _ = shell("predict", "m.json", "--at", "workers=3", "--json")
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            assert shell("predict", "m.json", "--at", "workers=3", "--json") == (0, plain, "")
        finally:
            locale.setlocale(locale.LC_ALL, before)
        return
    pytest.skip("no locale with a decimal comma is installed")


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "TMPDIR": "/absent"},
        {"LC_ALL": "de_DE.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "PYTHONHASHSEED": "7"},
    ],
    ids=str,
)
def test_other_variables(shell: Shell, tmp_path: Path, variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", "genperf", "predict", "m.json", "--at", "workers=4,64"]
    plain = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    done = subprocess.run(command, cwd=tmp_path, env={**plain, **variables}, capture_output=True)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "cannot be written" in refusal(shell, "predict", "m.json", "--at", "workers=4", "-o", "locked/x.csv")


@pytest.mark.parametrize("name", ["__index_level_0__", "self", "wo`rk", "x=y", "wo\nrk", "lambda", "log", "a b"])
def test_a_column_of_any_name(shell: Shell, tmp_path: Path, name: str) -> None:
    rows = "".join(f"{n},{w},{n * (8 / w + 1)!r}\n" for n in (1, 2, 4) for w in (1, 2, 4))
    (tmp_path / "named.csv").write_text(f'"{name}",workers,seconds\n{rows}')
    shown = name.replace("\n", " ")
    fit = ("--intrinsic", shown, "--model", "generic", "--structure", "product", "-o", "named.json")
    assert shell("fit", "named.csv", *TABLE, *fit)[0] == 0
    assert shown in reply(shell, "predict", "named.json", "--at", f"{shown}=8", "--at", "workers=4")["predictions"][0]
