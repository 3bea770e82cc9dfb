"""Windows of timed training steps, on the clock of the device that computes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

REPEATS = 3
#: Before anything is timed: kernels are chosen, memory is allocated, clocks rise.
WARM_UP_STEPS, WARM_UP_S = 5, 0.2
#: A window holds this many steps, as many as fit into its time.
FEWEST, MOST, WINDOW_S = 5, 60, 0.25

Mark = Any
#: A training step that calls what it is given after its forward pass, its backward pass and its update.
Step = Callable[[Callable[[], None]], None]


class Clock(Protocol):
    """Marks on the device's time line, readable after a wait."""

    def mark(self) -> Mark:
        """Return a mark at this point of what the device was asked to do."""

    def wait(self) -> None:
        """Return when the device has done everything."""

    def seconds(self, start: Mark, end: Mark) -> float:
        """Return the seconds between two marks."""


class ProcessorClock:
    """A processor has done what it was asked to do when the call returns."""

    mark = staticmethod(time.perf_counter)

    def wait(self) -> None:
        """Return at once."""

    def seconds(self, start: float, end: float) -> float:
        """Return the difference."""
        return end - start


class EventClock:
    """Events in the stream of a CUDA device.

    The device is not waited for between the steps of a window, as training does not either: a step whose kernels are
    shorter than their launches then takes as long as the launches.

    Parameters
    ----------
    cuda : module
        `torch.cuda`.
    """

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda

    def mark(self) -> Mark:
        """Record an event."""
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self) -> None:
        """Wait for all streams."""
        self.cuda.synchronize()

    def seconds(self, start: Mark, end: Mark) -> float:
        """Return the time between two events, which the device counts in milliseconds."""
        return float(start.elapsed_time(end)) / 1e3


@dataclass(frozen=True)
class Window:
    """The times of the steps of one window, in seconds: of whole steps, and the median of each phase."""

    steps: int
    median: float
    mean: float
    deviation: float
    forward: float
    backward: float
    update: float


def window(step: Step, clock: Clock, steps: int) -> Window:
    """Time some steps in a row."""
    clock.wait()
    marks = [clock.mark()]
    for _ in range(steps):
        step(lambda: marks.append(clock.mark()))
    clock.wait()
    phases = [clock.seconds(a, b) for a, b in pairwise(marks)]
    forward, backward, update = (phases[k::3] for k in range(3))
    whole = [sum(parts) for parts in zip(forward, backward, update, strict=True)]
    middle = (statistics.median(times) for times in (forward, backward, update))
    deviation = statistics.stdev(whole) if steps > 1 else 0.0
    return Window(steps, statistics.median(whole), statistics.fmean(whole), deviation, *middle)


def windows(step: Step, clock: Clock, now: Callable[[], float] = time.perf_counter) -> Iterator[Window]:
    """Warm up, choose how many steps a window holds, and time the windows.

    Parameters
    ----------
    step : callable
    clock : Clock
    now : callable
        Time of the host, in seconds; how long to warm up.
    """
    begun, done = now(), 0
    while done < WARM_UP_STEPS or now() - begun < WARM_UP_S:
        step(lambda: None)
        clock.wait()
        done += 1
    one = window(step, clock, 3).mean
    steps = max(FEWEST, min(MOST, int(WINDOW_S / one))) if one > 0 else MOST
    for _ in range(REPEATS):
        yield window(step, clock, steps)
