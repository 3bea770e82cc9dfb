"""`predict --show`, `--price`, amounts and ranges."""

import pytest
from helpers import Shell, csv_of, refusal, reply

LAW = ["--model", "c + a/workers"]
COUNTS, NOISE = (1, 2, 4, 8, 16), (1.01, 0.99, 1.02, 0.98, 1.0)
NOISY = [*zip(COUNTS, NOISE, strict=True)]
#: Times of 1 + 8/n, throughputs that lose 10 % at once, and times of batches.
FOLDER = {
    "times.csv": csv_of("workers,s", ((n, (8 / n + 1) * e) for n, e in NOISY)),
    "speeds.csv": csv_of("gpus,speed", ((n, 400 * n * (0.9 if n > 1 else 1) * e) for n, e in NOISY)),
    "batches.csv": csv_of(
        "workers,batch,net,s", ((n, b, net, (b / 32 + 1) * e) for n, e in NOISY for b in (16, 32) for net in "ab")
    ),
}
OF_BATCHES = ("--intrinsic", "batch", "--group", "net", "--model", "c + a*batch")
BEFORE = [
    ("fit", "times.csv", "--time", "s", "--extrinsic", "workers", "--scaling", "strong", *LAW, "-o", "times.json"),
    ("fit", "speeds.csv", "--throughput", "speed", "--extrinsic", "gpus", "-o", "speeds.json"),
    ("fit", "batches.csv", "--time", "s", "--extrinsic", "workers", *OF_BATCHES, "-o", "batches.json"),
]


def rows_of(shell: Shell, *arguments: str) -> list[dict[str, float]]:
    return reply(shell, "predict", *arguments)["predictions"]


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
