"""Faults of the machine: two writers of one file, a full disk, no memory, a clock that steps back."""

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import Shell, done

from genperf.cli.writing import write_whole
from genperf.fitting.model import Model

TABLE = ("--time", "seconds", "--extrinsic", "workers", "--group", "net", "--model", "amdahl")
ROWS = "".join(f"g{g},{n},{(8 / n + 1) * (1 + g)}\n" for g in range(3) for n in (1, 2, 4, 8))
#: Writes a file over and over, whole each time.
WRITER = """
import sys
from genperf.cli.writing import write_whole
for _ in range(30):
    write_whole(sys.argv[1], sys.argv[2] * 1_000_000)
"""
#: Runs a command that may write no more than some bytes to a file, as on a disk that is nearly full.
LITTLE_ROOM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from genperf.cli.main import run
sys.exit(run(sys.argv[1:]))
"""
FOLDER = {"runs.csv": f"net,workers,seconds\n{ROWS}"}


def test_two_writers(tmp_path: Path) -> None:
    target = tmp_path / "m.json"
    write_whole(target, "C" * 1_000_000)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(target), letter]) for letter in "AB"]
    states = set()
    while any(writer.poll() is None for writer in writers):
        text = target.read_text()
        assert len(text) == 1_000_000
        states.add(text[0] + text[-1])
    assert states <= {"AA", "BB", "CC"}
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_a_full_disk(shell: Shell, tmp_path: Path) -> None:
    assert shell("fit", "runs.csv", *TABLE, "-q", "-o", "m.json")[0] == 0
    (tmp_path / "old.csv").write_text("before")
    # With -B: a compiled module that is written in part would end every later import of it.
    predict = ["predict", "m.json", "--at", "workers=1,2,4,8,16", "-o", "old.csv"]
    command = [sys.executable, "-B", "-c", LITTLE_ROOM, *predict]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "old.csv: could not be written; the file that was there is unchanged" in done.stderr
    assert (tmp_path / "old.csv").read_text() == "before"
    assert not list(tmp_path.glob(".old*"))


def test_no_memory_for_one_group(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit, calls = Model.groups, itertools.count()

    def third_fails(self, tables, seed):
        if next(calls) == 2:
            raise MemoryError
        return fit(self, tables, seed)

    with monkeypatch.context() as patch:
        patch.setattr(Model, "groups", third_fails)
        status, _, errors = shell("fit", "runs.csv", *TABLE[:6], "-o", "m.json")
    assert status == 1
    assert "needs more memory" in errors
    assert len(json.loads((tmp_path / "m.json").read_text())["groups"]) == 2
    done(shell, "fit", "runs.csv", *TABLE[:6], "-o", "m.json", "--resume")
    assert len(json.loads((tmp_path / "m.json").read_text())["groups"]) == 3


def test_a_clock_that_steps_back(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell("fit", "runs.csv", *TABLE, "-q", "-o", "a.json")[0] == 0
    steps = itertools.count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 1e9 - 3600.0 * next(steps))
        assert shell("fit", "runs.csv", *TABLE, "-q", "-o", "b.json")[0] == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
