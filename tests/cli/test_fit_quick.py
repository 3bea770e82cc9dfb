"""The first look of `fit --quick`."""

import json
from pathlib import Path

import pytest
from helpers import Shell, runs_of

import genperf as gp
from genperf.reporting.place import command_of


@pytest.fixture
def shell(shell: Shell) -> Shell:
    levels = {"workers": (1, 2, 4, 8), "batch": (8, 16, 32), "layers": (2, 4)}
    runs = runs_of(lambda f: 0.02 * f.batch + 0.1 * f.layers + 1 / f.workers, levels, noise=0.02)
    runs.to_csv("runs.csv", index=False)
    return shell


ROLES = ["--time", "s", "--extrinsic", "workers", "--intrinsic", "batch,layers"]


def test_a_first_look_is_told_apart_and_repeated_by_its_command(shell: Shell) -> None:
    assert shell("fit", "runs.csv", *ROLES, "--model", "generic", "--quick", "-o", "quick.json")[0] == 0
    assert shell("fit", "runs.csv", *ROLES, "--model", "generic", "-o", "whole.json")[0] == 0
    quick, whole = (gp.load_model(f"{name}.json") for name in ("quick", "whole"))
    assert len(quick.best.draws) < len(whole.best.draws)
    assert "--quick" in command_of(quick).split()
    assert "--quick" not in command_of(whole).split()
    # The page's command makes the same bytes again.
    again = [word.replace("model.json", "again.json") for word in command_of(quick).split()[1:]]
    assert shell(*again)[0] == 0
    assert Path("again.json").read_bytes() == Path("quick.json").read_bytes()
    rows = [json.loads(shell("predict", f"{n}.json", "--at", "workers=8", "--at", "batch=16", "--at", "layers=4",
                             "--json")[1])["predictions"][0]["time"] for n in ("quick", "whole")]  # fmt: skip
    assert rows[0] == pytest.approx(rows[1], rel=0.3)
