"""Training-step times of a CNN and a decoder-only transformer on one device, over sampled configurations.

    python gpu_campaign.py --out-cnn gpu_cnn.csv --out-transformer gpu_transformer.csv --networks 150 --seconds 900
    python gpu_campaign.py --device cpu --out-cnn cnn.csv --networks 10

Needs PyTorch and nothing else: this folder can be copied to the machine that has the device. A row is one of three
windows of a configuration; times are in seconds, by CUDA events on a GPU. The same command goes on where it stopped:
after the time limit, Ctrl-C or a crash. Configurations that do not fit into memory are noted in NAME.skipped.csv, and
the rest goes on. On a processor the networks are tiny and one core computes: a try, not a campaign.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_design import FULL, NETWORKS, NEWER, TINY, Configuration, Design
from gpu_timing import REPEATS, Clock, EventClock, ProcessorClock, Window, windows
from problems import MeasureError
from record import Recorder

TIMES = ("step_time_s", "step_time_mean_s", "step_time_std_s", "forward_s", "backward_s", "update_s")
MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "cublas_status_alloc_failed")


@dataclass
class Part:
    """One network's share of the campaign.

    `same` is what all its rows have in common; `left` are the configurations that are neither in the table nor noted
    as impossible, `spent` the seconds given to it.
    """

    design: Design
    out: Path
    same: dict[str, str]
    left: list[Configuration] = field(default_factory=list)
    spent: float = 0.0

    def __post_init__(self) -> None:
        factors = [*self.same, *self.design.levels]
        columns = [*factors, "parameters", "forward_flops", "repeat", "steps", *TIMES]
        self.table = Recorder(self.out, columns, factors, REPEATS)
        self.notes = self.out.with_suffix(".skipped.csv")
        self.skipped = self._skipped() if self.notes.exists() else None

    def _skipped(self) -> Recorder:
        factors = [*self.same, *self.design.levels]
        return Recorder(self.notes, [*factors, "reason"], factors, 1)

    def plan(self, sample: Sequence[Configuration]) -> None:
        """See what of a sample is still to be measured."""
        held = [recorder for recorder in (self.table, self.skipped) if recorder is not None]
        self.left = [c for c in sample if not any(recorder.has({**self.same, **c}) for recorder in held)]

    def add(self, configuration: Configuration, timed: Sequence[Window]) -> None:
        """Write the rows of a configuration."""
        counts = {
            "parameters": self.design.parameters(configuration),
            "forward_flops": self.design.forward_flops(configuration),
        }
        self.table.add(
            {**self.same, **configuration, **counts, "repeat": repeat, "steps": window.steps, **times(window)}
            for repeat, window in enumerate(timed)
        )

    def skip(self, configuration: Configuration, reason: str) -> None:
        """Note that a configuration cannot be measured."""
        if self.skipped is None:
            self.skipped = self._skipped()
        self.skipped.add([{**self.same, **configuration, "reason": reason}])


def times(window: Window) -> dict[str, float]:
    held = (window.median, window.mean, window.deviation, window.forward, window.backward, window.update)
    return dict(zip(TIMES, held, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        torch = installed_torch()
        device = found_device(torch, options.device)
        parts = planned(options, torch, device)
        in_time = run(torch, device, parts, options.seconds)
    except (MeasureError, OSError) as error:
        show("")
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        show("")
        print("stopped; what was measured is in the tables, and the same command goes on from there", file=sys.stderr)
        return 130
    show("")
    print(provenance(torch, device, parts, options.seed))
    if not in_time:
        print("The time was up before all were measured; the same command goes on.")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0], allow_abbrev=False)
    for network in NETWORKS:
        parser.add_argument(f"--out-{network}", type=Path, metavar="CSV", help=f"measure the {network}, write here")
    parser.add_argument("--networks", type=positive, default=150, metavar="N", help="configurations of each (150)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--seconds", type=positive, default=900, metavar="S", help="time limit of this run (900)")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, …, or cpu for a try (cuda)")
    options = parser.parse_args(arguments)
    outs = [out for network in NETWORKS if (out := getattr(options, f"out_{network}")) is not None]
    if not outs:
        parser.error("nothing to measure: give --out-cnn CSV, --out-transformer CSV or both")
    if len({out.resolve() for out in outs}) < len(outs):
        parser.error("each network needs a file of its own")
    return options


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def installed_torch() -> Any:
    """Import PyTorch, late: all that it does not do can be used and tested without it."""
    try:
        import torch
    except ImportError as error:
        raise MeasureError(
            f"PyTorch cannot be imported by {sys.executable} ({error}): run python "
            f"{Path(__file__).with_name('environments.py')} pytorch, and this with .measure/pytorch/bin/python"
        ) from None
    return torch


def found_device(torch: Any, name: str) -> Any:
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in {"cuda", "cpu"}:
        raise MeasureError(f"--device {name}: only cuda, cuda:0, cuda:1, … and cpu are known")
    if device.type == "cpu":
        # Threads that wait for each other measure who else uses the machine.
        torch.set_num_threads(1)
        return device
    if not torch.cuda.is_available():
        raise MeasureError(
            f"no CUDA device is usable by PyTorch {torch.__version__} here (a CPU build, no driver or no GPU); "
            "for a try of tiny networks on the processor add --device cpu"
        )
    if (device.index or 0) >= torch.cuda.device_count():
        raise MeasureError(f"--device {name}: there are {torch.cuda.device_count()} CUDA devices, counted from 0")
    torch.cuda.set_device(device)
    torch.backends.cudnn.benchmark = True
    return device


def device_name(torch: Any, device: Any) -> str:
    return "cpu" if device.type == "cpu" else str(torch.cuda.get_device_name(device))


def planned(options: argparse.Namespace, torch: Any, device: Any) -> list[Part]:
    """Read the tables that are there, and see what of the sample they lack."""
    same = {"framework": "pytorch", "framework_version": torch.__version__, "device": device_name(torch, device)}
    parts = []
    for network in NETWORKS:
        out = getattr(options, f"out_{network}")
        if out is None:
            continue
        design = (TINY if device.type == "cpu" else FULL)[network]
        if device.type == "cuda" and torch.cuda.get_device_capability(device) < (8, 0):
            design = design.without("precision", NEWER)
        parts.append(Part(design, out, same))
        parts[-1].plan(design.sample(options.networks, options.seed))
    return parts


def run(torch: Any, device: Any, parts: Sequence[Part], seconds: float) -> bool:
    """Measure, the network first that had the least time, until all is measured or the time is up.

    Returns
    -------
    bool
        Whether all is measured.
    """
    clock = EventClock(torch.cuda) if device.type == "cuda" else ProcessorClock()
    begun, all_of_them = time.perf_counter(), sum(len(part.left) for part in parts)
    while open_parts := [part for part in parts if part.left]:
        start = time.perf_counter()
        if start - begun >= seconds:
            return False
        part = min(open_parts, key=lambda p: p.spent)
        measure(torch, device, clock, part, part.left[0])
        part.left.pop(0)
        part.spent += time.perf_counter() - start
        done = all_of_them - sum(len(p.left) for p in parts)
        show(f"{done} of {all_of_them} configurations, {time.perf_counter() - begun:.0f} of {seconds:.0f} s")
    return True


def show(text: str) -> None:
    """Replace the line of progress, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def measure(torch: Any, device: Any, clock: Clock, part: Part, configuration: Configuration) -> None:
    """Measure one configuration and write its rows, or note why it cannot be measured."""
    timed, failed = [], None
    try:
        timed = timings(part.design.network, configuration, device, clock)
    except (RuntimeError, MemoryError) as error:
        failed = reason(error)
    # Only here are the error and the tensors gone that it held in the frames it came through.
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    if failed is None:
        part.add(configuration, timed)
        return
    if not alive(torch, device):
        raise MeasureError(f"the device failed at {configuration} ({failed}); the same command goes on after it")
    part.skip(configuration, failed)


def timings(network: str, configuration: Configuration, device: Any, clock: Clock) -> list[Window]:
    from gpu_networks import training_step

    return list(windows(training_step(network, configuration, device), clock))


def reason(error: BaseException) -> str:
    """Say in one line why a configuration cannot be measured."""
    text = str(error).strip() or type(error).__name__
    full = isinstance(error, MemoryError) or any(words in text.lower() for words in MEMORY)
    return "out of memory" if full else text.splitlines()[0]


def alive(torch: Any, device: Any) -> bool:
    """Return whether the device still computes: some errors leave it unusable for all that follows."""
    try:
        return bool((torch.ones(2, device=device) + 1).sum().item() == 4)
    except RuntimeError:
        return False


def provenance(torch: Any, device: Any, parts: Sequence[Part], seed: int) -> str:
    """Return what the description of the tables has to say, as text."""
    with_what = [f"PyTorch {torch.__version__}", f"Python {platform.python_version()}"]
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        with_what += [f"CUDA {torch.version.cuda}", f"cuDNN {torch.backends.cudnn.version()}"]
        where = f"{device_name(torch, device)}, {properties.total_memory / 2**30:.0f} GiB"
    else:
        where = f"one core of a processor ({platform.machine()})"
    lines = [f"Measured on {datetime.now(UTC):%Y-%m-%d} on {where}, with {', '.join(with_what)}; seed {seed}."]
    for part in parts:
        count, skipped = len(part.table), len(part.skipped or ())
        text = f"{part.out.name}: {count} configurations, {count * REPEATS} rows"
        lines.append(text + (f"; {skipped} not measured, see {part.notes.name}." if skipped else "."))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
