"""The events of a Chrome trace that torch.profiler wrote: its steps, and what ran where.

Times are in microseconds, as the trace gives them. A step is an annotation `ProfilerStep#N` of the host; what the host
does belongs to the step it starts in. What a device does belongs to the step, and the range, in which the host launched
it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

_STEP = re.compile(r"ProfilerStep#(\d{1,18})")
#: Categories of what a device does, in lower case: older traces capitalise them.
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
#: Categories that say that a step did something; a profiler that stops on the way leaves a step with none of them.
_WORK = frozenset({"cpu_op", "user_annotation", "operator"})


@dataclass(frozen=True)
class Span:
    """An operation with its start and length."""

    name: str
    category: str
    #: `start`, `length`: in microseconds.
    start: float
    length: float
    #: When the host launched it; for an operation of the host, its start.
    launched: float

    @property
    def end(self) -> float:
        """When it ended, in microseconds."""
        return self.start + self.length


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace's events."""

    #: The steps with at least one operation, in order.
    steps: list[Span]
    #: The others.
    empty: list[Span] = field(default_factory=list)
    #: `host`, `device`: operators and annotations; kernels and copies.
    host: list[Span] = field(default_factory=list)
    device: list[Span] = field(default_factory=list)
    #: Whether the host launches something on a device, recorded or not.
    has_device: bool = False

    def by_step(self, spans: Iterable[Span]) -> list[list[Span]]:
        """Return, for each step, the spans that the host launched in it."""
        starts = [step.start for step in self.steps]
        by_step: list[list[Span]] = [[] for _ in self.steps]
        for span in spans:
            at = bisect_right(starts, span.launched) - 1
            if at >= 0 and span.launched < self.steps[at].end:
                by_step[at].append(span)
        return by_step


def trace_of(events: Sequence[Any]) -> Trace:
    """Sort a trace's events; those that are no complete events ("ph": "X") of a start and a length are passed over.

    Examples
    --------
    >>> step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 10.0, "dur": 5.0}
    >>> work = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 11.0, "dur": 2.0}
    >>> later = {**step, "name": "ProfilerStep#4", "ts": 15.0, "dur": 0.5}
    >>> trace = trace_of([later, step, work])
    >>> [s.name for s in trace.steps], [s.name for s in trace.empty]
    (['ProfilerStep#3'], ['ProfilerStep#4'])
    """
    complete = [e for e in events if isinstance(e, dict) and e.get("ph") == "X" and _is_timed(e)]
    launches = {_correlation(e): float(e["ts"]) for e in complete if _category(e) not in _DEVICE}
    steps: list[Span] = []
    host: list[Span] = []
    device: list[Span] = []
    for event in complete:
        category, name, start = _category(event), str(event.get("name", "")), float(event["ts"])
        if category in _DEVICE:
            launched = launches.get(_correlation(event), start) if _correlation(event) is not None else start
            device.append(Span(name, category, start, float(event["dur"]), launched))
        elif category in _WORK:
            span = Span(name, category, start, float(event["dur"]), start)
            (steps if _STEP.fullmatch(name) else host).append(span)
    steps.sort(key=lambda s: s.start)
    done = Trace(steps).by_step(host)
    return Trace(
        [step for step, inside in zip(steps, done, strict=True) if inside],
        [step for step, inside in zip(steps, done, strict=True) if not inside],
        host,
        device,
        bool(device) or any(_category(e).endswith(("_runtime", "_driver")) for e in complete),
    )


def step_times(trace: Trace) -> list[float | None]:
    """Return how long each step took, in microseconds; None where the trace does not record it.

    Without a device, it is how long the host took. With one, the host may run ahead: it is the time from the end of the
    step before on the device to the end of the step there. The first step has none before it: where the device is done
    when the host is, the host's time is taken.
    """
    times: list[float | None] = []
    before: tuple[int, float] | None = None
    for step, held in zip(trace.steps, trace.by_step(trace.device), strict=True):
        number, end = number_of(step), max((span.end for span in held), default=step.end)
        if held and before is not None and before[0] == number - 1:
            times.append(end - before[1])
        else:
            times.append(step.length if end <= step.end else None)
        before = (number, end) if held else None
    return times


def number_of(step: Span) -> int:
    """Return a step's number."""
    match = _STEP.fullmatch(step.name)
    return int(match[1]) if match else 0


def _is_timed(event: dict[str, Any]) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and -1e18 < value < 1e18
        for value in (event.get("ts"), event.get("dur"))
    ) and bool(event["dur"] >= 0)


def _category(event: dict[str, Any]) -> str:
    return str(event.get("cat", "")).lower()


def _correlation(event: dict[str, Any]) -> int | None:
    arguments = event.get("args")
    number = arguments.get("correlation") if isinstance(arguments, dict) else None
    return number if isinstance(number, int) else None


def covered(spans: Iterable[Span], less: Iterable[Span] = ()) -> float:
    """Return the time in which at least one of some spans goes on, and none of some others, in microseconds.

    Examples
    --------
    >>> a, b, c = (Span("", "", start, length, start) for start, length in ((0.0, 4.0), (1.0, 2.0), (3.0, 4.0)))
    >>> covered([a, b, c]), covered([a, b], less=[c])
    (7.0, 3.0)
    """
    held = list(spans)
    first, last = min((s.start for s in held), default=0.0), max((s.end for s in held), default=0.0)
    without = [s for s in less if s.start < last and first < s.end]
    return _union(without + held) - _union(without)


def seconds(microseconds: float) -> float:
    """Return a time in seconds, to the nanosecond that traces are written to.

    Examples
    --------
    >>> seconds(152.289), 152.289 / 1e6
    (0.000152289, 0.00015228899999999998)
    """
    return float(Decimal(repr(round(microseconds, 3))).scaleb(-6))


def _union(spans: Iterable[Span]) -> float:
    reach, lengths = -math.inf, []
    for span in sorted(spans, key=lambda s: s.start):
        # A span that overlaps no other gives its length as it was written, not a difference of two large times.
        lengths.append(span.length if span.start >= reach else max(0.0, span.end - reach))
        reach = max(reach, span.end)
    return math.fsum(lengths)
