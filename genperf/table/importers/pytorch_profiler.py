"""torch.profiler's Chrome traces: one row a `ProfilerStep#N`, with the phases that the trace records.

Times are in microseconds, as the trace gives them. A step is an annotation `ProfilerStep#N` of the host; what the host
does belongs to the step it starts in. What a device does belongs to the step, and the range, in which the host launched
it.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from genperf.errors import Note, TableError
from genperf.table.importers.imported import Cell, Imported, read_json
from genperf.vocabulary.names import PHASES

_STEP = re.compile(r"ProfilerStep#(\d{1,18})")
#: Categories of what a device does, in lower case: older traces capitalise them.
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
#: Categories of work in a step; a profiler that stops on the way leaves a step with none of them.
_WORK = frozenset({"cpu_op", "user_annotation", "operator"})


class Span(Struct, frozen=True):
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


class Trace(Struct, frozen=True, eq=False):
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
    """Sort a trace's events; those that are no complete events ("ph": "X") of a start and a length are passed over."""
    complete = []
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "X":
            times: tuple[Any, Any] = event.get("ts"), event.get("dur")
            if all(type(time) in (int, float) and -1e18 < time < 1e18 for time in times) and times[1] >= 0:
                complete.append(event)
    launches = {_correlation(e): float(e["ts"]) for e in complete if _category(e) not in _DEVICE}
    steps, host, device = list[Span](), list[Span](), list[Span]()
    for event in complete:
        category, name, start = _category(event), str(event.get("name", "")), float(event["ts"])
        if category in _DEVICE:
            launched = launches.get(_correlation(event), start) if _correlation(event) is not None else start
            device.append(Span(name, category, start, float(event["dur"]), launched))
        elif category in _WORK:
            span = Span(name, category, start, float(event["dur"]), start)
            (steps if _STEP.fullmatch(name) else host).append(span)
    steps.sort(key=lambda s: s.start)
    has_device = bool(device) or any(_category(e).endswith(("_runtime", "_driver")) for e in complete)
    spans_of_steps = Trace(steps).by_step(host)
    worked = [step for step, spans in zip(steps, spans_of_steps, strict=True) if spans]
    empty = [step for step, spans in zip(steps, spans_of_steps, strict=True) if not spans]
    return Trace(worked, empty, host, device, has_device)


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
    return int(step.name.partition("#")[2])


def _category(event: dict[str, Any]) -> str:
    return str(event.get("cat", "")).lower()


def _correlation(event: dict[str, Any]) -> int | None:
    arguments = event.get("args")
    number = arguments.get("correlation") if isinstance(arguments, dict) else None
    return number if isinstance(number, int) else None


def covered(spans: Iterable[Span], less: Iterable[Span] = ()) -> float:
    """Return the time in which at least one of some spans is under way, and none of some others, in microseconds."""
    held = list(spans)
    begin, last = min((s.start for s in held), default=0.0), max((s.end for s in held), default=0.0)
    without = [s for s in less if s.start < last and begin < s.end]
    both, outside = (math.fsum(length for *_, length in _merged(pieces)) for pieces in (without + held, without))
    return both - outside


def seconds(microseconds: float) -> float:
    """Return a time in seconds, to the nanosecond that traces are written to."""
    return round(microseconds / 1e6, 9)


#: Phase → what PyTorch calls its ranges on the host. Backward is what the autograd engine runs: waiting for an exchange
#: is no part of it.
_RANGES = {
    "input": r"enumerate\(DataLoader\)",
    "transfer": r"$",
    "forward": r".*DataParallel\.forward$",
    "backward": r"autograd::engine::evaluate_function",
    "exchange": r"(gloo|mpi|ucc):",
    "update": r"Optimizer\.step#",
}
#: The host's call of a collective, whatever executes it.
_CALL = "c10d::"


def phases_of(trace: Trace) -> tuple[list[dict[str, float]], list[str]]:
    """Return the seconds of each phase in each step, and the phases that are recorded in part.

    With a device in the trace, a phase is the time in which a kernel runs that was launched in the phase's range; a
    copy from the host is `transfer`, a kernel of NCCL or RCCL `exchange`, wherever they were launched; the input is
    what the host waits for. Without one, it is the time of the ranges themselves, less the calls of collectives in
    them.
    """
    spans: dict[str, list[Span]] = {}
    annotated = [span for span in trace.host if span.category == "user_annotation"]
    for phase, pattern in _RANGES.items():
        # The ranges that PyTorch marks itself, or else those that the program marks by one of the phase's names.
        marked = [span for span in trace.host if re.match(pattern, span.name)]
        named = [span for span in annotated if re.sub(r"[\s#_-]+", "_", span.name.lower()).strip("_") in PHASES[phase]]
        # DistributedDataParallel's forward leaves the loss out, so that a named one is better.
        spans[phase] = named or marked if phase == "forward" else marked or named
    calls = [span for span in trace.host if span.name.startswith(_CALL) and not trace.device]
    if trace.has_device:
        launched = {phase: _merged(spans[phase]) for phase in ("forward", "backward", "update")}
        # What the host does is to launch: only what it waits for is a time.
        spans = {"input": spans["input"]}
        for kernel in trace.device:
            spans.setdefault(_phase(kernel, launched), []).append(kernel)
    steps: list[dict[str, float]] = [{} for _ in trace.steps]
    partly_recorded, calls_by_step = [], trace.by_step(calls)
    for phase in PHASES:
        by_step = trace.by_step(spans.get(phase, ()))
        for step, phase_spans, collectives, times in zip(trace.steps, by_step, calls_by_step, steps, strict=True):
            if phase == "exchange" and len(phase_spans) < len(collectives):
                # A worker thread that the profiler did not follow.
                what = f"exchange ({len(phase_spans)} of {len(collectives)} collectives recorded)"
                partly_recorded += [f"step {number_of(step)}: {what}"] if phase_spans else []
            elif phase_spans:
                times[phase] = seconds(covered(phase_spans, () if phase == "exchange" else collectives))
    return steps, partly_recorded


def _phase(kernel: Span, ranges: Mapping[str, list[tuple[float, float, float]]]) -> str:
    """Return the phase of a kernel, or nothing: of nested `ranges`, by `_merged`, it was launched in the innermost."""
    if "nccl" in kernel.name.lower():
        return "exchange"
    # What CUDA calls a copy from the host to the device.
    if "HtoD" in kernel.name:
        return "transfer"
    # Of the ranges around the launch the innermost is the last to start.
    starts = {"": -math.inf}
    for phase, of_phase in ranges.items():
        started = bisect_right(of_phase, (kernel.launched, math.inf, 0.0))
        if started > 0:
            start, end, _ = of_phase[started - 1]
            if kernel.launched < end:
                starts[phase] = start
    return max(starts, key=lambda phase: starts[phase])


def _merged(spans: Iterable[Span]) -> list[tuple[float, float, float]]:
    """Return when at least one of some spans is under way: starts, ends and lengths."""
    merged: list[tuple[float, float, float]] = []
    for span in sorted(spans, key=lambda s: s.start):
        start, end, length = merged[-1] if merged else (0.0, -math.inf, 0.0)
        if span.start < end:
            merged[-1] = (start, max(end, span.end), length + max(0.0, span.end - end))
        else:
            # Its length as it was written is no difference of two large times.
            merged.append((span.start, span.end, span.length))
    return merged


#: Columns. The host's time of a step is added where a device did the work.
TIME, HOST, REPEAT = "step_time_s", "host_step_s", "step"


def read(text: str, name: str) -> Imported:
    """Read a trace.

    `distributedInfo` gives the count of workers (`world_size`) and the rank, `deviceProperties` the device, as far as
    the trace has them. The time of a profiled step includes what recording it took.

    >>> step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 0, "dur": 5000}
    >>> update = {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SGD.step", "ts": 4000, "dur": 500}
    >>> import json
    >>> trace = {"distributedInfo": {"world_size": 8, "rank": 0}, "traceEvents": [step, update]}
    >>> read(json.dumps(trace), "trace.json").rows
    [{'workers': 8, 'rank': 0, 'step': 3, 'step_time_s': 0.005, 'update_s': 0.0005}]
    """
    file = read_json(text, name).value
    events = file.get("traceEvents") if isinstance(file, dict) else file
    if not isinstance(events, list) or not any(isinstance(event, dict) and "ph" in event for event in events):
        hint = "prof.export_chrome_trace(FILE), or tensorboard_trace_handler(FOLDER)"
        raise TableError("is JSON, but no trace of torch.profiler", where=name, hint=hint)
    return table_of(events, _run(file) if isinstance(file, dict) else {}, name)


def table_of(events: Sequence[Any], run: Mapping[str, Cell], name: str) -> Imported:
    """Return the steps of a trace as rows, each with what is known of its run."""
    trace = trace_of(events)
    if not trace.steps:
        hint = "give profile(…) a schedule, and call prof.step() after each step"
        raise TableError("has no 'ProfilerStep#N' in which something was done", where=name, hint=hint)
    phases, partly_recorded = phases_of(trace)
    table = Imported([], TIME, REPEAT, factors=[column for column in run if column != "rank"])
    idle = "nothing was done in it (the profiler stopped)"
    table.left_out += [f"{name}: step {number_of(step)}: {idle}" for step in trace.empty]
    for step, duration, times in zip(trace.steps, step_times(trace), phases, strict=True):
        if duration is None:
            why = "the device was still at work at its start, and the step before is not recorded"
            table.left_out.append(f"{name}: step {number_of(step)}: {why}")
            continue
        host = {HOST: seconds(step.length)} if trace.has_device else {}
        phase_columns = {f"{phase}_s": spent for phase, spent in times.items()}
        table.rows.append({**run, REPEAT: number_of(step), TIME: seconds(duration), **host, **phase_columns})
    table.notes += [Note(f"{name}: {text}: left empty", "partly_recorded") for text in partly_recorded]
    if trace.has_device and not trace.device:
        text = f"{name}: a device was used and not recorded, so the times are the host's"
        table.notes.append(Note(text, "no_device"))
    why_empty = "".join(table.left_out[-1:]).partition(": ")[2]
    return table.filled(name, why_empty, hint="record two steps or more: schedule(active=3, …)")


def _run(file: dict[str, Any]) -> dict[str, Cell]:
    """Return the run's device, workers, backend and rank, as far as the trace has them."""
    run, devices = file.get("distributedInfo"), file.get("deviceProperties")
    device = devices[0] if isinstance(devices, list) and devices else None
    places = (device, "name", str), (run, "world_size", int), (run, "backend", str), (run, "rank", int)
    fields = zip(("device", "workers", "backend", "rank"), places, strict=True)
    return {n: of[key] for n, (of, key, kind) in fields if isinstance(of, dict) and type(of.get(key)) is kind}
