"""`--throughput`, `--work`, `--scaling`, `--price` through the commands: real seconds, one meaning of a price."""

from pathlib import Path

import pytest
from helpers import Shell, csv_of, done, refusal, reply

RUNS = "gpus,throughput\n1,410.2\n2,792.5\n4,1530\n8,2905.4\n"
FOLDER = {"runs.csv": RUNS, "times.csv": "gpus,s\n1,1.0\n2,0.6\n4,0.4\n8,0.3\n"}


SPEED = ["--throughput", "throughput", "--extrinsic", "gpus"]


def test_the_knee_of_weak_scaling(shell: Shell) -> None:
    shell("fit", "runs.csv", *SPEED, "--work", "32*gpus", "-o", "m.json")
    out = done(shell, "explain", "m.json", "--knee")
    assert "weak scaling along gpus, relative to 1" in out
    assert "throughput likely does not fall up to 128 gpus" in out
    assert "throughput falls" not in out
    err = refusal(shell, "explain", "m.json", "--knee", "--scaling", "strong")
    assert "the scaling is given as strong, and with the work '32*gpus' of a step it is weak" in err


def test_efficiency_is_refused_until_the_scaling_is_told(shell: Shell, tmp_path: Path) -> None:
    times = ["times.csv", "--time", "s", "--extrinsic", "gpus", "--model", "amdahl"]
    shell("fit", *times, "-o", "m.json")
    out = done(shell, "explain", "m.json", "--knee")
    assert "is the scaling along gpus weak or strong?" in out
    assert "efficiency falls" not in out
    told = reply(shell, "explain", "m.json", "--knee")["scaling"]
    assert told["kind"] == "unknown"
    assert "weak or strong?" in told["refusal"]
    assert "strong scaling along gpus" in shell("explain", "m.json", "--knee", "--scaling", "strong")[1]
    shell("report", "m.json", "-o", "page.html")
    assert "is the scaling along gpus weak or strong?" in (tmp_path / "page.html").read_text()
    shell("report", "m.json", "--scaling", "strong", "-o", "page.html")
    assert "weak or strong?" not in (tmp_path / "page.html").read_text()
    shell("fit", *times, "--scaling", "weak", "-o", "m.json")
    assert "weak scaling along gpus" in shell("explain", "m.json", "--knee")[1]


def test_a_scaling_that_the_work_contradicts(shell: Shell) -> None:
    err = refusal(shell, "fit", "runs.csv", *SPEED, "--work", "32*gpus", "--scaling", "strong")
    assert "with the work '32*gpus' of a step it is weak" in err


# --- seconds that are seconds: a throughput of tokens beside a batch of samples --------------------------------------


@pytest.mark.parametrize("sequence", [",1024", ""])
def test_tokens_are_samples_times_the_sequence_or_no_seconds(shell: Shell, sequence: str) -> None:
    """8 samples of 1024 tokens a gpu; a step takes 2 s and 0.05 s more for each doubling."""
    rows = ((n, 8, f"{8 * n * 1024 / (2 + 0.05 * k)}{sequence}") for k, n in enumerate((1, 2, 4, 8)))
    more = ",seq_len" if sequence else ""
    Path("tokens.csv").write_text(csv_of(f"gpus,batch_per_gpu,tokens_per_s{more}", rows))
    roles = ("--throughput", "tokens_per_s", "--extrinsic", "gpus", "--intrinsic", f"batch_per_gpu{more}")
    status, out, err = shell("fit", "tokens.csv", *roles, "--scaling", "weak", "-o", "m.json")
    assert status == 0, err
    if sequence:
        assert "(gpus=8 predicted from the smaller ones; the final fit includes it)" in out + err
        (row,) = reply(shell, "predict", "m.json", "--at", "gpus=8")["predictions"]
        assert row["time"] == pytest.approx(2.15, rel=0.05)
    else:
        out = shell("explain", "m.json", "--at", "gpus=8")[1]
        assert "no seconds: tokens_per_s counts tokens" in out
        assert "seconds and share" not in out


# --- `ask`, `predict` and `optimize` cost a worker unless --per says otherwise, and say so ---------------------------


@pytest.fixture
def priced(shell: Shell) -> Shell:
    """8 gpus a node, 64 samples a gpu."""
    rows = ((n, max(1, n // 8), 64, 0.2 + 0.01 * k) for k, n in enumerate((1, 2, 4, 8, 16, 32)))
    Path("priced.csv").write_text(csv_of("gpus,nodes,batch_per_gpu,step_s", rows))
    roles = ("--time", "step_s", "--extrinsic", "gpus,nodes", "--intrinsic", "batch_per_gpu")
    done(shell, "fit", "priced.csv", *roles, "-o", "m.json")
    return shell
