"""What every worker does, whatever its framework: take the cases in turn, warm up, agree on steps, time windows.

A framework hands over `build(case) -> step`. A step returns when its result is there, with the seconds of its phases
where the framework tells them cheaply (an empty dict where not). Where phases go on at the same time, they are timed
by the `profile` of the step, one after another.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from meeting import STOP, Meeting

Case = dict[str, Any]
Step = Callable[[], dict[str, float]]
Rows = list[dict[str, float]]

STARTED = time.perf_counter()
#: Steps of a window whose phases are timed one after another: they take as long as other steps, and scatter less.
PROFILED_STEPS = 1


def job() -> tuple[Meeting, dict[str, Any], int]:
    """Return the meeting, the job and this worker's rank, from the command line: FOLDER RANK."""
    meeting = Meeting(sys.argv[1])
    return meeting, meeting.get("job.json"), int(sys.argv[2])


def serve_cases(
    meeting: Meeting,
    job: dict[str, Any],
    rank: int,
    version: str,
    measure: Callable[[int, Case], list[dict[str, float]]],
) -> None:
    """Measure the cases of a job, until there is none left or the launcher says stop; worker 0 says what was found."""
    meeting.put(f"ready-{rank}", {"version": version, "startup_s": time.perf_counter() - STARTED})
    for number, case in enumerate(job["cases"]):
        if meeting.wait(f"go-{number}") == STOP:
            return
        found = measure(number, case)
        if rank == 0:
            meeting.put(f"result-{number}", found)
        meeting.put(f"done-{number}-{rank}", None)


def serve(meeting: Meeting, job: dict[str, Any], rank: int, version: str, build: Callable[[int, Case], Step]) -> None:
    """Time windows of the steps of each case."""

    def measure(number: int, case: Case) -> Rows:
        step = build(number, case)
        step()
        begun = time.perf_counter()
        step()
        one = time.perf_counter() - begun
        if rank == 0:
            meeting.put(f"steps-{number}", steps_of(one, job["seconds"], job["steps"]))
        steps = meeting.wait(f"steps-{number}")
        windows = [window(step, steps) for _ in range(job["repeats"])]
        # What a step tells of the whole case, such as its memory; all workers tell it at once.
        figures = getattr(step, "figures", dict)()
        return [{**one, **figures} for one in windows]

    serve_cases(meeting, job, rank, version, measure)


def steps_of(one: float, seconds: float, bounds: list[int]) -> int:
    """Return how many steps of `one` second each make a window of `seconds`, within bounds."""
    return int(max(bounds[0], min(bounds[1], seconds / max(one, 1e-6))))


def window(step: Step, steps: int) -> dict[str, float]:
    """Time some steps; the medians are of single steps."""
    times: list[float] = []
    phases: list[dict[str, float]] = []
    profiled = [step.profile() for _ in range(PROFILED_STEPS)] if hasattr(step, "profile") else []
    # What was read ahead while the phases were timed is used up by steps that are not.
    for _ in profiled:
        step()
    for _ in range(steps):
        begun = time.perf_counter()
        phases.append(step())
        times.append(time.perf_counter() - begun)
    found: dict[str, float] = {
        "steps": steps,
        "step_time_s": statistics.median(times),
        "step_time_mean_s": statistics.fmean(times),
        "step_time_std_s": statistics.stdev(times) if steps > 1 else 0.0,
    }
    phases = profiled or phases
    for phase in phases[0]:
        found[f"{phase}_s"] = statistics.median(p[phase] for p in phases)
    return found


class Stopwatch:
    """The phases of one step, each from the end of the one before."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str, at: float | None = None) -> None:
        """End a phase, now or at a moment that has passed."""
        now = time.perf_counter() if at is None else max(at, self._last)
        self.seconds[phase] = now - self._last
        self._last = now

    def skip(self) -> None:
        """Leave out what has passed since the last phase."""
        self._last = time.perf_counter()
