"""`--at` finds a model's column however its name is written, in every command as in `ask`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TABLE = "framework,1 GPU,2 GPUs,4 GPUs,8 GPUs\na,100,196,380,720\nb,90,178,350,690\n"


@pytest.mark.parametrize("command", ["compare", "predict"])
def test_small_letters_are_understood(tmp_path: Path, command: str) -> None:
    (tmp_path / "runs.csv").write_text(TABLE)
    genperf = [sys.executable, "-m", "genperf"]
    fit = [*genperf, "fit", "runs.csv", "--throughput", "value", "--extrinsic", "GPUs", "--group", "framework"]
    subprocess.run([*fit, "-o", "m.json"], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [*genperf, command, "m.json", "--at", "gpus=16"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    refused = subprocess.run(
        [*genperf, command, "m.json", "--at", "apples=16"], cwd=tmp_path, capture_output=True, text=True
    )
    assert refused.returncode == 1
    assert "apples" in refused.stderr
