"""The single-device campaign: its sample, timing and errors without a framework, and a tiny real run with one."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import gpu_campaign
import pytest
from environments import interpreter, variable
from gpu_design import FULL, NETWORKS, NEWER, PASSES, TINY, Configuration, Design
from gpu_timing import FEWEST, MOST, REPEATS, EventClock, window, windows
from problems import MeasureError

import genperf as gp

SCRIPT = Path(gpu_campaign.__file__)


def python_with_torch() -> str:
    """Return this interpreter if it has PyTorch, or the one of the measuring environments; empty where neither is."""
    if importlib.util.find_spec("torch"):
        return sys.executable
    try:
        return str(interpreter("pytorch"))
    except MeasureError:
        return ""


PYTHON = python_with_torch()
needs_torch = pytest.mark.skipif(not PYTHON, reason=f"no PyTorch; {variable('pytorch')} names a python that has it")
DESIGNS = [*FULL.values(), *TINY.values()]


# --- the sample ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", DESIGNS)
def test_a_sample_is_seeded_distinct_and_within_its_limit(design: Design) -> None:
    drawn = design.sample(40, seed=3)
    assert len({tuple(c.values()) for c in drawn}) == 40
    assert drawn == design.sample(40, seed=3)
    assert drawn != design.sample(40, seed=4)
    assert all(PASSES * design.forward_flops(c) <= design.limit[str(c["precision"])] for c in drawn)
    assert all(c[factor] in levels for c in drawn for factor, levels in design.levels.items())


def test_a_longer_sample_begins_with_the_shorter() -> None:
    assert FULL["cnn"].sample(50, seed=0)[:20] == FULL["cnn"].sample(20, seed=0)


def test_a_sample_ends_where_the_design_does() -> None:
    fixed = {factor: levels[:1] for factor, levels in TINY["cnn"].levels.items()}
    design = Design("cnn", {**fixed, "hidden": (8, 16, 10**9)}, TINY["cnn"].limit)
    # Of three widths the largest is beyond the limit.
    assert sorted(c["hidden"] for c in design.sample(10, seed=0)) == [8, 16]


def test_every_level_of_the_large_designs_is_drawn() -> None:
    for design in FULL.values():
        drawn = design.sample(300, seed=0)
        assert {f: {c[f] for c in drawn} for f in design.levels} == {f: set(v) for f, v in design.levels.items()}


def test_older_devices_are_measured_in_single_precision_only() -> None:
    drawn = FULL["transformer"].without("precision", NEWER).sample(20, seed=0)
    assert {c["precision"] for c in drawn} == {"fp32"}


def test_counts_of_a_small_cnn_by_hand() -> None:
    c: Configuration = {"batch_per_device": 2, "layers": 2, "filters": 4, "kernel_size": 3, "pool_size": 2, "hidden": 8}
    c["image_size"] = 16
    # 3·3·3·4 + 4 and 3·3·4·4 + 4; 8·8·4 inputs to 8 units; 8 to 10 classes.
    assert FULL["cnn"].parameters(c) == 112 + 148 + (256 * 8 + 8) + (8 * 10 + 10)
    # Both convolutions stand before the pooling, on 16 × 16.
    assert FULL["cnn"].forward_flops(c) == 2 * 2 * (256 * 9 * 4 * (3 + 4) + 256 * 8 + 8 * 10)


def test_counts_of_a_small_transformer_by_hand() -> None:
    c: Configuration = {"batch_per_device": 1, "layers": 1, "d_model": 64, "sequence": 16, "vocabulary": 100}
    # Tokens, scores and positions; query, key, value, output; the dense part; three normalisations.
    attention, dense = 64 * 192 + 192 + 64 * 64 + 64, 64 * 256 + 256 + 256 * 64 + 64
    assert FULL["transformer"].parameters(c) == (100 + 100 + 16) * 64 + attention + dense + 3 * 128
    # 12·64² weights a token; scores and sums over half of 16 tokens on average; 64·100 to the vocabulary.
    assert FULL["transformer"].forward_flops(c) == 2 * 16 * (12 * 64**2 + 2 * 8 * 64 + 64 * 100)


# --- the timing ------------------------------------------------------------------------------------------------------


class Ticks:
    """A clock that a step moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def mark(self) -> float:
        return self.now

    def wait(self) -> None: ...

    def seconds(self, start: float, end: float) -> float:
        return end - start


def ticking(clock: Ticks, *, scale: float = 1.0, slow: int = -1) -> Callable[[Callable[[], None]], None]:
    """Return a step of 1, 2 and 4 ms, one of which takes ten times as long."""
    steps = count()

    def step(mark: Callable[[], None]) -> None:
        times = scale * (10 if next(steps) == slow else 1)
        for seconds in (0.001, 0.002, 0.004):
            clock.now += times * seconds
            mark()

    return step


def test_a_window_takes_medians_of_steps_and_phases() -> None:
    clock = Ticks()
    found = window(ticking(clock, slow=1), clock, 5)
    assert (found.forward, found.backward, found.update) == pytest.approx((0.001, 0.002, 0.004))
    assert found.median == pytest.approx(0.007)
    assert found.mean == pytest.approx((4 * 0.007 + 0.07) / 5)


@pytest.mark.parametrize(("scale", "steps"), [(1.0, 35), (0.01, MOST), (1000.0, FEWEST)])
def test_windows_hold_as_many_steps_as_fit(scale: float, steps: int) -> None:
    # A step of 7 ms fits 35 times into a quarter of a second.
    clock, seconds = Ticks(), count()
    found = list(windows(ticking(clock, scale=scale), clock, now=lambda: float(next(seconds))))
    assert [w.steps for w in found] == [steps] * REPEATS


def test_events_count_in_milliseconds() -> None:
    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing
            self.at = next(ticks)

        def record(self) -> None: ...

        def elapsed_time(self, other: "Event") -> float:
            return 250.0 * (other.at - self.at)

    class Cuda:
        synchronize = staticmethod(lambda: None)

    ticks, Cuda.Event = count(), Event  # type: ignore[attr-defined]
    clock = EventClock(Cuda)
    assert clock.seconds(clock.mark(), clock.mark()) == 0.25


# --- the command -----------------------------------------------------------------------------------------------------


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_nothing_to_measure_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        gpu_campaign.main([])
    assert stopped.value.code == 2
    assert "--out-cnn" in capsys.readouterr().err


def test_the_tables_of_two_networks_are_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu_campaign.main(["--out-cnn", "a.csv", "--out-transformer", "./a.csv"])
    assert "a file of its own" in capsys.readouterr().err


def test_a_missing_framework_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert gpu_campaign.main(["--out-cnn", "a.csv"]) == 1
    said = capsys.readouterr().err
    assert "environments.py pytorch" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB\nmore"), "out of memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "out of memory"),
        (MemoryError(), "out of memory"),
        (RuntimeError("no kernel for this shape\nframes"), "no kernel for this shape"),
    ],
)
def test_why_a_configuration_is_left_out(error: BaseException, said: str) -> None:
    assert gpu_campaign.reason(error) == said


class Works:
    """Stands in for PyTorch where only its device is asked whether it still works."""

    working = True

    def ones(self, *shape: object, device: object) -> "Works":
        if not self.working:
            raise RuntimeError("an illegal memory access was encountered")
        return self

    def __add__(self, other: object) -> "Works":
        return self

    def sum(self) -> "Works":
        return self

    def item(self) -> float:
        return 4.0


def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, error: Exception) -> gpu_campaign.Part:
    """Return three configurations to measure, of which one fails."""
    sample = TINY["cnn"].sample(3, 0)
    part = gpu_campaign.Part(TINY["cnn"], tmp_path / "t.csv", {"device": "cpu"}, list(sample))

    def timings(network: str, configuration: Configuration, device: object, clock: object) -> list[object]:
        if configuration == sample[failing]:
            raise error
        ticks = Ticks()
        return [window(ticking(ticks), ticks, 5)] * REPEATS

    monkeypatch.setattr(gpu_campaign, "timings", timings)
    return part


class Processor:
    type = "cpu"


def test_what_does_not_fit_is_noted_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = campaign(tmp_path, monkeypatch, 1, RuntimeError("CUDA out of memory."))
    failing = part.left[1]
    assert gpu_campaign.run(Works(), Processor(), [part], 60)
    written = (tmp_path / "t.csv").read_text().splitlines()
    assert len(written) == 1 + 2 * REPEATS
    assert ",0,5,0.007,0.007," in written[1]
    assert written[1].endswith(",0.001,0.002,0.004")
    noted = (tmp_path / "t.skipped.csv").read_text().splitlines()
    assert noted[1:] == [",".join(["cpu", *map(str, failing.values()), "out of memory"])]


def test_neither_what_is_measured_nor_what_is_noted_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = campaign(tmp_path, monkeypatch, 1, RuntimeError("CUDA out of memory."))
    gpu_campaign.run(Works(), Processor(), [part], 60)
    again = gpu_campaign.Part(part.design, part.out, part.same)
    again.plan(part.design.sample(5, 0))
    assert again.left == part.design.sample(5, 0)[3:]
    # On another device nothing of it is measured.
    other = gpu_campaign.Part(part.design, part.out, {"device": "NVIDIA H200"})
    other.plan(part.design.sample(5, 0))
    assert len(other.left) == 5


def test_a_device_that_failed_ends_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = campaign(tmp_path, monkeypatch, 1, RuntimeError("an illegal memory access was encountered"))
    torch = Works()
    torch.working = False
    with pytest.raises(MeasureError, match="illegal memory access"):
        gpu_campaign.run(torch, Processor(), [part], 60)
    # What failed is neither measured nor noted as too large: it is tried again.
    assert (len(part.table), part.notes.exists()) == (1, False)


def test_no_configuration_is_begun_after_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = campaign(tmp_path, monkeypatch, 1, RuntimeError("unused"))
    assert not gpu_campaign.run(Works(), Processor(), [part], 0)
    assert len(part.left) == 3


@needs_torch
def test_a_tiny_campaign_runs_goes_on_and_can_be_read(tmp_path: Path) -> None:
    command = [str(SCRIPT), "--device", "cpu", "--out-cnn", "cnn.csv", "--out-transformer", "transformer.csv"]
    first = run(tmp_path, *command, "--networks", "1")
    assert (first.returncode, first.stderr) == (0, "")
    assert "cnn.csv: 1 configurations, 3 rows." in first.stdout
    before = {network: (tmp_path / f"{network}.csv").read_bytes() for network in NETWORKS}
    second = run(tmp_path, *command, "--networks", "2")
    assert (second.returncode, second.stderr) == (0, "")
    for network in NETWORKS:
        path = tmp_path / f"{network}.csv"
        assert path.read_bytes().startswith(before[network])
        table = gp.read_table(path, time="step_time_s", intrinsic=["batch_per_device", "layers"], repeat="repeat")
        assert list(table.frame["repeat"].astype(int)) == [0, 1, 2] * 2
        assert table.phases == {"forward": "forward_s", "backward": "backward_s", "update": "update_s"}
        assert (table.frame[["step_time_s", *table.phases.values()]].astype(float) > 0).all(axis=None)


COUNTED = """
import torch
import gpu_networks
from gpu_design import TINY

for network, design in TINY.items():
    for configuration in design.sample(4, seed=1):
        model = gpu_networks.MODELS[network](configuration)
        inputs, wanted = gpu_networks.batch(network, configuration, torch.device("cpu"))
        parameters = sum(p.numel() for p in model.parameters())
        print(network, parameters == design.parameters(configuration), len(model(inputs)) == len(wanted))
"""


@needs_torch
def test_the_counts_are_those_of_the_networks() -> None:
    found = run(SCRIPT.parent, "-c", COUNTED)
    assert found.stderr == ""
    assert found.stdout.splitlines() == [f"{network} True True" for network in TINY for _ in range(4)]


@needs_torch
def test_without_a_cuda_device_it_says_how_to_try(tmp_path: Path) -> None:
    found = run(tmp_path, str(SCRIPT), "--out-cnn", "a.csv", CUDA_VISIBLE_DEVICES="")
    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert "--device cpu" in found.stderr
    assert not (tmp_path / "a.csv").exists()


@needs_torch
def test_a_table_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = run(tmp_path, str(SCRIPT), "--device", "cpu", "--out-cnn", "file/a.csv")
    assert (found.returncode, found.stderr.count("\n")) == (1, 1)
    assert "file/a.csv" in found.stderr
