"""`--at` finds a model's column however its name is written, in every command as in `ask`."""

from __future__ import annotations

from pathlib import Path

from helpers import Shell

TABLE = "framework,1 GPU,2 GPUs,4 GPUs,8 GPUs\na,100,196,380,720\nb,90,178,350,690\n"


def test_small_letters_are_understood(shell: Shell) -> None:
    Path("runs.csv").write_text(TABLE)
    roles = ("--throughput", "value", "--extrinsic", "GPUs", "--group", "framework")
    assert shell("fit", "runs.csv", *roles, "-o", "m.json")[0] == 0
    for command in ("compare", "predict"):
        status, _, errors = shell(command, "m.json", "--at", "gpus=16")
        assert status == 0, errors
        status, _, errors = shell(command, "m.json", "--at", "apples=16")
        assert status == 1
        assert "apples" in errors
