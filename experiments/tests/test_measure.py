"""The measuring harness without a framework: networks, the table, the launcher's watch over its workers."""

import csv
import socket
import subprocess
import sys
from pathlib import Path

import campaigns
import pace
import pytest
from cluster import ThisMachine
from environments import variable
from launch import Job, Limits, Windows, run
from networks import BASE, FACTORS, forward_flops, grid, parameter_count, sample
from problems import MeasureError
from record import Recorder
from stages import Loader, Waits, waits
from work import Stopwatch, steps_of, window

CAMPAIGNS = Path(campaigns.__file__)
WORKER = str(Path(__file__).parent / "workers" / "framework.py")
LONG = Limits(30, 30)
QUICK = Windows(repeats=2, seconds=0.01, steps=(2, 4))


# --- networks --------------------------------------------------------------------------------------------------------


def test_parameters_and_operations_of_a_network_counted_by_hand() -> None:
    network = {**BASE, "batch_per_worker": 2, "layers": 2, "filters": 4, "kernel_size": 3, "hidden": 5, "image_size": 8}
    # 3·4·9 + 4 = 112; 4·4·9 + 4 = 148; 4·5 + 5 = 25; 5·5 + 5 = 30; 5·10 + 10 = 60
    assert parameter_count(network) == 112 + 148 + 25 + 30 + 60
    # per sample: 2·64·9·4·3 = 13824; 2·64·9·4·4 = 18432; 2·(20 + 25 + 50) = 190
    assert forward_flops(network) == 2 * (13824 + 18432 + 190)


def test_a_sample_is_seeded_distinct_within_its_limit_and_begins_with_the_base() -> None:
    drawn = sample(30, 1)
    assert drawn == sample(30, 1) != sample(30, 2)
    assert drawn[0] == BASE
    assert len({tuple(n.values()) for n in drawn}) == 30
    assert all(forward_flops(n) <= 1e9 for n in drawn)
    assert all(n[f] in FACTORS[f] for n in drawn for f in FACTORS)


def test_a_grid_has_every_combination_and_the_base_for_the_rest() -> None:
    found = grid({"hidden": [8, 16], "layers": [1, 2, 4]})
    assert [(n["hidden"], n["layers"]) for n in found] == [(8, 1), (8, 2), (8, 4), (16, 1), (16, 2), (16, 4)]
    assert all(n["filters"] == BASE["filters"] for n in found)


# --- the table -------------------------------------------------------------------------------------------------------

COLUMNS = ("workers", "repeat", "step_time_s")


def recorder(path: Path) -> Recorder:
    return Recorder(path, COLUMNS, ["workers"], 2)


def test_a_table_knows_what_it_holds_and_times_have_six_digits(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.csv"
    recorder(path).add([{"workers": 2, "repeat": i, "step_time_s": 0.123456789} for i in range(2)])
    again = recorder(path)
    assert again.has({"workers": 2})
    assert not again.has({"workers": 4})
    assert path.read_text() == "workers,repeat,step_time_s\n2,0,0.123457\n2,1,0.123457\n"


HEADER = "workers,repeat,step_time_s\n"
WHOLE = f"{HEADER}2,0,0.1\n2,1,0.1\n"


@pytest.mark.parametrize(
    ("kept", "cut"),
    [*((WHOLE, cut) for cut in ("4,0,0.5\n", "4,0,0.5\n4,1,0.", "4,0", "4")), (HEADER, ""), ("", "workers,rep")],
)
def test_what_a_crash_cut_off_is_taken_away_and_measured_again(tmp_path: Path, kept: str, cut: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(kept + cut)
    found = recorder(path)
    assert (found.has({"workers": 2}), found.has({"workers": 4})) == (kept == WHOLE, False)
    assert path.read_text() == (kept or HEADER)


@pytest.mark.parametrize(
    ("content", "said"), [(b"a,b\n1,2\n", "other columns"), (b"\xff\xfe\x00", "not a table of a c")]
)
def test_a_table_of_another_campaign_is_refused_and_left_alone(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(MeasureError, match=said):
        recorder(path)
    assert path.read_bytes() == content


# --- a worker --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "steps"), [(0.1, 5), (10.0, 2), (1e-9, 30), (0.0, 30)])
def test_a_window_has_as_many_steps_as_fit_within_bounds(one: float, steps: int) -> None:
    assert steps_of(one, 0.5, [2, 30]) == steps


def test_a_window_gives_medians_of_steps_and_of_phases() -> None:
    forward = iter([1.0, 5.0, 3.0])
    found = window(lambda: {"forward": next(forward)}, 3)
    assert (found["steps"], found["forward_s"]) == (3, 3.0)
    assert 0 <= found["step_time_s"] < 1


def test_a_lap_that_ended_before_the_last_one_is_empty() -> None:
    watch = Stopwatch()
    watch.lap("forward")
    watch.lap("backward", at=0.0)
    watch.lap("exchange")
    assert watch.seconds["backward"] == 0
    assert list(watch.seconds) == ["forward", "backward", "exchange"]


class Fed:
    """A step that takes as long as its batch lets it; its phases take a hundredth of a second."""

    def __init__(self, prefetch: bool) -> None:
        self.loader = Loader(Waits(io=0.03, h2d=0.0, forward=0.0, backward=0.0), prefetch)
        self.taken: list[str] = []

    def __call__(self) -> dict[str, float]:
        self.loader.batch()
        self.taken.append("step")
        return {}

    def profile(self) -> dict[str, float]:
        self.taken.append("profile")
        return {"forward": 0.01}


def test_phases_are_timed_before_the_steps_of_a_window_and_one_step_lies_between() -> None:
    fed = Fed(prefetch=True)
    found = window(fed, 3)
    assert fed.taken == ["profile", *["step"] * 4]
    assert found["forward_s"] == 0.01
    # Only the batch of the step between can be there at once; the others are read for 0.03 s.
    assert found["step_time_s"] >= 0.02


@pytest.mark.parametrize("prefetch", [False, True])
def test_a_loader_reads_one_batch_ahead_where_it_prefetches(prefetch: bool) -> None:
    loader = Loader(Waits(io=0.05, h2d=0.05, forward=0.0, backward=0.0), prefetch)
    read = []
    loader.read = lambda: read.append("read")  # type: ignore[method-assign]
    loader.batch()
    loader.batch()
    if loader.prefetch:
        loader.batch()
        assert len(read) >= 3
    else:
        assert len(read) == 2


def test_a_batch_waits_for_each_of_its_samples_and_a_layer_its_part() -> None:
    case = {"batch_per_worker": 4, "layers": 8, "forward_per_sample_s": 0.02, "backward_per_sample_s": 0.04}
    assert waits(case) == Waits(io=0.0, h2d=0.0, forward=0.01, backward=0.02)


# --- the pace of a slow device ---


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


# --- the launcher ----------------------------------------------------------------------------------------------------


@pytest.fixture
def framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable("pytorch"), sys.executable)


def launched(hidden: list[int], workers: int = 2, limits: Limits = LONG) -> tuple[list[int], list[str]]:
    """Run cases of the worker that computes nothing; return those that gave rows, and the report."""
    report: list[str] = []
    job = Job("pytorch", workers, 0, [{"hidden": h} for h in hidden], WORKER)
    measured = []
    for case, rows in run(job, ThisMachine(), QUICK, report, limits, 29871):
        assert [row["repeat"] for row in rows] == [0, 1]
        assert all(2 <= row["steps"] <= 4 and row["step_time_s"] >= 0.001 for row in rows)
        assert all(row["framework_version"] == "1.0" and row["startup_s"] > 0 for row in rows)
        measured.append(case["hidden"])
    return measured, report


HANGS = "pytorch, 1 workers: worker 0 has not finished the case within 0.5 s"
#: What the cases of a job do → workers, limits, the cases that are measured, and what is said of the others.
JOBS: dict[str, tuple[list[int], int, Limits, list[int], list[str]]] = {
    "every case is measured": ([1, 1, 1], 2, LONG, [1, 1, 1], []),
    "a worker that dies costs its case only, and its last words are kept": (
        [1, 2, 1], 2, LONG, [1, 1], ["worker 1 died (out of luck)", '{"hidden": 2}'],
    ),
    "a worker that hangs costs its case only": ([3, 1], 1, Limits(30, 0.5), [1], [HANGS]),
    "workers that never get ready cost the job and no more": (
        [4, 1], 1, Limits(0.5, 30), [], ["worker 0 has not started within 0.5 s; none of its 2 cases was measured"],
    ),
}  # fmt: skip


@pytest.mark.usefixtures("framework")
@pytest.mark.parametrize("job", JOBS)
def test_the_cases_of_a_job(job: str) -> None:
    hidden, workers, limits, expected, said = JOBS[job]
    measured, report = launched(hidden, workers, limits)
    assert measured == expected
    assert len(report) == bool(said)
    assert all(words in report[0] for words in said)


@pytest.mark.usefixtures("framework")
def test_a_port_in_use_is_said_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 29871))
        taken.listen()
        with pytest.raises(MeasureError, match="port 29871 is in use"):
            launched([1])


def test_a_framework_that_is_not_installed_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable("pytorch"), "/nowhere/python")
    with pytest.raises(MeasureError, match=r"pytorch is not installed .* run python environments.py pytorch"):
        launched([1])


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value"), [("--hosts", "1,two"), ("--hosts", "0"), ("--mbit", "-1"), ("--mbit", "fast")]
)
def test_wrong_arguments_are_usage_errors(argument: str, value: str) -> None:
    done = run_campaign("allreduce_vs_server", argument, value)
    assert done.returncode == 2
    assert "numbers above 0" in done.stderr


def run_campaign(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, CAMPAIGNS, *arguments], capture_output=True, text=True, check=False)


def test_a_framework_missing_leaves_the_table_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable("pytorch"), "/nowhere/python")
    out = tmp_path / "t.csv"
    done = run_campaign("allreduce_vs_server", "--frameworks", "pytorch", "--local", "--out", str(out))
    assert done.returncode == 1
    assert done.stderr.startswith("error: pytorch is not installed")
    assert done.stderr.count("\n") == 1
    with out.open() as file:
        assert list(csv.DictReader(file)) == []


def test_without_links_each_case_is_measured_once() -> None:
    jobs = campaigns.unlinked(campaigns.allreduce_vs_server(hosts=(1, 2), hidden=(16,), frameworks=("pytorch",)))
    # Two speeds and a latency of the links become one; either architecture stays.
    assert [(job.workers, [case["architecture"] for case in job.cases]) for job in jobs] == [
        (1, ["ring-allreduce", "peer-to-peer"]),
        (2, ["ring-allreduce", "peer-to-peer"]),
    ]
