"""The core experiment: its sample, the pace of a slow device, and a tiny run in each framework that is there."""

from collections import Counter
from pathlib import Path

import core_experiment
import pace
import pandas as pd
import pytest
from core_design import EXTRINSIC, INTRINSIC, WORKERS, Design, configurations
from environments import REQUIREMENTS
from networks import forward_flops
from test_campaigns import needs, ran

import genperf as gp


def test_the_sample_is_that_of_the_protocol() -> None:
    sample = configurations()
    assert sample == configurations(Design())
    assert sample != configurations(Design(seed=16))
    assert len({tuple(case.values()) for case in sample}) == len(sample) == 160
    assert max(map(forward_flops, sample)) <= 120e6
    levels = {**INTRINSIC, **EXTRINSIC, "workers": WORKERS}
    assert {name: {case[name] for case in sample} for name in levels} == {n: set(v) for n, v in levels.items()}
    # Each of 40 networks on four different counts of workers.
    assert Counter(case["network"] for case in sample) == dict.fromkeys(range(40), 4)
    assert len({(case["network"], case["workers"]) for case in sample}) == 160


def test_every_framework_measures_the_same_configurations() -> None:
    planned = core_experiment.jobs(Design(), ("pytorch", "mxnet"), WORKERS)
    of = {name: [(job.workers, job.cases) for job in planned if job.framework == name] for name in ("pytorch", "mxnet")}
    assert of["pytorch"] == of["mxnet"]
    assert sum(len(cases) for _, cases in of["mxnet"]) == 160
    assert {job.servers for job in planned if job.framework == "mxnet"} == {2}


def test_chunks_divide_the_batch() -> None:
    assert all(case["batch_per_worker"] % case["data_chunks"] == 0 for case in configurations())


class Clock:
    """A clock that stands in for the module `time`: sleeping moves it on, and takes a little too long."""

    late = 0.001

    def __init__(self) -> None:
        self.now = self.used = 0.0
        self.slept: list[float] = []

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds + self.late

    def compute(self, processor: float, elapsed: float) -> None:
        self.used += processor
        self.now += elapsed


@pytest.mark.parametrize(
    ("elapsed", "slept"),
    [
        (1.0, [7.0]),  # a core of its own: 8 s less the second that has passed
        (4.0, [4.0]),  # a core shared by four
        (9.0, []),  # later than the device would be
    ],
)
def test_a_slow_device_takes_so_many_times_the_processor_time(
    monkeypatch: pytest.MonkeyPatch, elapsed: float, slept: list[float]
) -> None:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    with pace.Pace(8.0, lambda: clock.used):
        clock.compute(1.0, elapsed)
    assert clock.slept == pytest.approx(slept)


def test_what_a_sleep_took_too_long_is_taken_off_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    slow = pace.Pace(2.0, lambda: clock.used)
    for _ in range(3):
        with slow:
            clock.compute(0.01, 0.01)
    assert clock.slept == pytest.approx([0.01, 0.009, 0.009])
    # Three steps of twice 10 ms; only the last one's millisecond is still to be made up for.
    assert clock.now == pytest.approx(0.061)


@pytest.mark.usefixtures("emulation")
@pytest.mark.parametrize("framework", [pytest.param(name, marks=needs(name)) for name in REQUIREMENTS])
def test_two_networks_on_one_and_two_hosts(tmp_path: Path, framework: str) -> None:
    out = tmp_path / "t.csv"
    arguments = ["--out", out, "--frameworks", framework, "--workers", "1,2", "--networks", 1, "--seconds", 0.02]
    ran("core_experiment.py", *arguments)
    frame = pd.read_csv(out)
    assert frame.groupby("workers").repeat.count().to_dict() == {1: 3, 2: 3}
    # One worker alone exchanges with servers only.
    assert frame[frame.workers == 1].exchange_s.isna().all() == (framework != "mxnet")
    phases = frame[["computation_s", "exchange_s", "update_s"]].fillna(0).sum(axis=1)
    assert (phases > 0).all()
    table = gp.read_table(out, time="step_time_s", extrinsic=["workers"], repeat="repeat")
    assert len(table.medians()) == 2
