"""`--throughput`, `--work` and `--scaling` through the commands."""

import json
from pathlib import Path

import pytest
from helpers import Shell, done, refusal

RUNS = "gpus,throughput\n1,410.2\n2,792.5\n4,1530\n8,2905.4\n"


@pytest.fixture
def shell(tmp_path: Path, shell: Shell) -> Shell:
    (tmp_path / "runs.csv").write_text(RUNS)
    (tmp_path / "times.csv").write_text("gpus,s\n1,1.0\n2,0.6\n4,0.4\n8,0.3\n")
    return shell


SPEED = ["--throughput", "throughput", "--extrinsic", "gpus"]


def at_64(shell: Shell, *options: str) -> dict[str, float]:
    assert shell("fit", "runs.csv", *SPEED, *options, "-o", "m.json")[0] == 0
    (row,) = json.loads(shell("predict", "m.json", "--at", "gpus=64", "--json")[1])["predictions"]
    return row


def test_the_unit_of_the_work_changes_no_throughput(shell: Shell) -> None:
    rows = {work: at_64(shell, "--work", work) for work in ("gpus", "2*gpus", "32*gpus", "1000*gpus")}
    alone = at_64(shell)
    for work, row in rows.items():
        assert row["throughput"] == pytest.approx(alone["throughput"], rel=1e-9), work
        for name in ("throughput_lower", "throughput_upper"):
            assert row[name] == pytest.approx(alone[name], rel=1e-8), (work, name)
    assert rows["32*gpus"]["time"] == pytest.approx(32 * rows["gpus"]["time"], rel=1e-9)
    assert alone["throughput_lower"] < alone["throughput"] < alone["throughput_upper"]
    names = list(alone)
    assert names[1:4] == ["throughput", "throughput_lower", "throughput_upper"]
    assert names[4:] == ["time", "lower", "upper", "verdict", "reason", "fits"]
    # The four runs scale at 89 % of perfect; nothing near 64 × 410 is promised, and nothing far below either.
    assert 0.6 < alone["throughput"] / (64 * 410.2) < 1.0


def test_the_knee_of_weak_scaling(shell: Shell) -> None:
    shell("fit", "runs.csv", *SPEED, "--work", "32*gpus", "-o", "m.json")
    out = done(shell, "explain", "m.json", "--knee")
    assert "weak scaling along gpus, relative to 1" in out
    assert "throughput does not fall up to 128 gpus" in out
    assert "throughput falls" not in out
    err = refusal(shell, "explain", "m.json", "--knee", "--scaling", "strong")
    assert "the scaling is given as strong, and with the work '32*gpus' of a step it is weak" in err


def test_efficiency_is_refused_until_the_scaling_is_told(shell: Shell, tmp_path: Path) -> None:
    times = ["times.csv", "--time", "s", "--extrinsic", "gpus", "--model", "amdahl"]
    shell("fit", *times, "-o", "m.json")
    out = done(shell, "explain", "m.json", "--knee")
    assert "is the scaling along gpus weak or strong?" in out
    assert "efficiency falls" not in out
    told = json.loads(shell("explain", "m.json", "--knee", "--json")[1])["scaling"]
    assert told["kind"] == "unknown"
    assert "weak or strong?" in told["refusal"]
    assert "strong scaling along gpus" in shell("explain", "m.json", "--knee", "--scaling", "strong")[1]
    shell("report", "m.json", "-o", "page.html")
    assert "whether scaling along gpus is weak or strong" in (tmp_path / "page.html").read_text()
    shell("report", "m.json", "--scaling", "strong", "-o", "page.html")
    assert "whether scaling along gpus is weak or strong" not in (tmp_path / "page.html").read_text()
    shell("fit", *times, "--scaling", "weak", "-o", "m.json")
    assert "weak scaling along gpus" in shell("explain", "m.json", "--knee")[1]


def test_a_scaling_that_the_work_contradicts(shell: Shell) -> None:
    err = refusal(shell, "fit", "runs.csv", *SPEED, "--work", "32*gpus", "--scaling", "strong")
    assert "with the work '32*gpus' of a step it is weak" in err
