"""`predict --show`, `--price`, amounts and ranges."""

import json
from pathlib import Path

import pytest
from helpers import Shell, done, refusal

LAW = ["--model", "c + a/workers"]


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """Run a command beside models of T = 1 + 8/n, and of throughputs that lose 10 % at once."""
    noise = (1.01, 0.99, 1.02, 0.98, 1.0)
    counts = (1, 2, 4, 8, 16)
    rows = [f"{n},{(8 / n + 1) * e}" for n, e in zip(counts, noise, strict=True)]
    Path("times.csv").write_text("\n".join(["workers,s", *rows]))
    speeds = [f"{n},{400 * n * (0.9 if n > 1 else 1) * e}" for n, e in zip(counts, noise, strict=True)]
    Path("speeds.csv").write_text("\n".join(["gpus,speed", *speeds]))
    batches = [f"{n},{b},{net},{(b / 32 + 1) * e}" for n, e in zip(counts, noise, strict=True)
               for b in (16, 32) for net in "ab"]  # fmt: skip
    Path("batches.csv").write_text("\n".join(["workers,batch,net,s", *batches]))
    roles = ["--time", "s", "--extrinsic", "workers", "--scaling", "strong"]
    assert shell("fit", "times.csv", *roles, *LAW, "-o", "times.json")[0] == 0
    assert shell("fit", "speeds.csv", "--throughput", "speed", "--extrinsic", "gpus", "-o", "speeds.json")[0] == 0
    roles = ["--time", "s", "--extrinsic", "workers", "--intrinsic", "batch", "--group", "net"]
    assert shell("fit", "batches.csv", *roles, "--model", "c + a*batch", "-o", "batches.json")[0] == 0
    return shell


def rows_of(shell: Shell, *arguments: str) -> list[dict[str, float]]:
    out = done(shell, "predict", *arguments, "--json")
    return json.loads(out)["predictions"]


def test_formulas_have_intervals(shell: Shell) -> None:
    (row,) = rows_of(shell, "times.json", "--at", "workers=8", "--show", "days=time*43.2k/1d", "--show", "rate=1h/time")
    # A step of 2 s, 43,200 of them: one day. 1,800 steps in an hour.
    assert row["days"] == pytest.approx(1.0, rel=0.03)
    assert (row["days_lower"], row["days_upper"]) == pytest.approx((row["lower"] / 2, row["upper"] / 2))
    # What falls as the time rises has its bounds swapped.
    assert row["rate"] == pytest.approx(3600 / row["time"])
    assert (row["rate_lower"], row["rate_upper"]) == pytest.approx((3600 / row["upper"], 3600 / row["lower"]))
    assert list(row)[-2:] == ["verdict", "reason"]


def test_a_turn_within_the_interval_is_a_bound(shell: Shell) -> None:
    (row,) = rows_of(shell, "times.json", "--at", "workers=8", "--show", "off=abs(time - 2)")
    assert row["lower"] < 2 < row["upper"]
    assert row["off_lower"] < 0.5 * row["off_upper"]
    assert row["off_lower"] < min(abs(row["lower"] - 2), abs(row["upper"] - 2))


def test_an_efficiency_is_shown_with_its_interval(shell: Shell) -> None:
    rows = rows_of(shell, "times.json", "--at", "workers=1,8", "--show", "efficiency")
    # (1 + 8)/(8·(1 + 1))
    assert [r["efficiency"] for r in rows] == pytest.approx([1.0, 9 / 16], rel=0.05)
    assert rows[1]["efficiency_lower"] <= rows[1]["efficiency"] <= rows[1]["efficiency_upper"]


def test_throughput_of_a_measured_time_needs_a_batch(shell: Shell) -> None:
    rows = rows_of(shell, "batches.json", "--at", "workers=4", "--at", "batch=32", "--show", "throughput")
    assert {r["net"] for r in rows} == {"a", "b"}
    for row in rows:
        assert row["throughput"] == pytest.approx(4 * 32 / row["time"])
    err = refusal(shell, "predict", "times.json", "--at", "workers=4", "--show", "throughput")
    assert "'throughput' needs the work of a step" in err


def test_ranges_and_amounts_are_understood(shell: Shell) -> None:
    rows = rows_of(shell, "times.json", "--at", "workers=16:128:*2,1k")
    assert [r["workers"] for r in rows] == [16, 32, 64, 128, 1000]
    # A group that is named as a range or an amount stays a name.
    assert shell("predict", "batches.json", "--at", "net=a", "--at", "workers=1:3", "--at", "batch=0.016k")[0] == 0
