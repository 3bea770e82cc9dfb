"""The seconds of each phase of a step, as far as a trace records them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence

from genperf.importers.trace import Span, Trace, covered, seconds
from genperf.table import PHASES

_Test = Callable[[Span], bool]


def _starts(prefix: str) -> _Test:
    return lambda span: span.name.startswith(prefix)


def _named(phase: str) -> _Test:
    words = frozenset(PHASES[phase])

    def test(span: Span) -> bool:
        return span.category == "user_annotation" and re.sub(r"[\s#_-]+", "_", span.name.lower()).strip("_") in words

    return test


#: Phase → how its ranges are recognised on the host, the surest first: what PyTorch marks itself, before what the
#: program marks by `record_function` under one of the names of `PHASES`. Backward is what the autograd engine runs:
#: waiting for an exchange is no part of it. DistributedDataParallel's own forward leaves the loss out, so that a named
#: one is better.
_RANGES: dict[str, tuple[_Test, ...]] = {
    "input": (_starts("enumerate(DataLoader)"), _named("input")),
    "transfer": (_named("transfer"),),
    "forward": (_named("forward"), lambda span: span.name.endswith("DataParallel.forward")),
    "backward": (_starts("autograd::engine::evaluate_function"), _named("backward")),
    "exchange": (lambda span: span.name.startswith(("gloo:", "mpi:", "ucc:")), _named("exchange")),
    "update": (_starts("Optimizer.step#"), _named("update")),
}
#: The host's call of a collective, whatever carries it out.
_CALL = "c10d::"


def phases_of(trace: Trace) -> tuple[list[dict[str, float]], list[str]]:
    """Return the seconds of each phase in each step, and the phases that are recorded in part.

    With a device in the trace, a phase is the time in which a kernel runs that was launched in the phase's range; a
    copy from the host is `transfer`, a kernel of NCCL or RCCL `exchange`, wherever they were launched; the input is
    what the host waits for. Without one, it is the time of the ranges themselves, less the calls of collectives in
    them.

    Returns
    -------
    phases : list of dict of str to float
        One a step; a phase that the step does not show has no entry.
    unsure : list of str
        The steps of which a phase is not whole.
    """
    ranges = {phase: _matching(trace.host, tests) for phase, tests in _RANGES.items()}
    if trace.device:
        return _on_device(trace, ranges), []
    if trace.has_device:
        # What the host does is to launch: only what it waits for is a time.
        return _on_host(trace, {"input": ranges["input"]})
    return _on_host(trace, ranges)


def _matching(host: Sequence[Span], tests: tuple[_Test, ...]) -> list[Span]:
    """Return the ranges that match the first test that any range matches."""
    return next((ranges for test in tests if (ranges := [span for span in host if test(span)])), [])


def _on_host(trace: Trace, ranges: dict[str, list[Span]]) -> tuple[list[dict[str, float]], list[str]]:
    calls = trace.by_step(span for span in trace.host if span.name.startswith(_CALL))
    steps: list[dict[str, float]] = [{} for _ in trace.steps]
    unsure = []
    for phase, spans in ranges.items():
        for step, held, call, times in zip(trace.steps, trace.by_step(spans), calls, steps, strict=True):
            if phase == "exchange" and len(held) < len(call):
                # A worker thread that the profiler did not follow.
                unsure += [f"{step.name}: exchange ({len(held)} of {len(call)} collectives recorded)"] if held else []
            elif held:
                times[phase] = seconds(covered(held, () if phase == "exchange" else call))
    return steps, unsure


def _on_device(trace: Trace, ranges: dict[str, list[Span]]) -> list[dict[str, float]]:
    launched = _Ranges({phase: spans for phase, spans in ranges.items() if phase in ("forward", "backward", "update")})
    steps: list[dict[str, float]] = []
    for kernels, inputs in zip(trace.by_step(trace.device), trace.by_step(ranges["input"]), strict=True):
        held: dict[str, list[Span]] = {"input": inputs}
        for kernel in kernels:
            held.setdefault(_phase(kernel, launched), []).append(kernel)
        steps.append({phase: seconds(covered(held[phase])) for phase in PHASES if held.get(phase)})
    return steps


def _phase(kernel: Span, launched: _Ranges) -> str:
    if "nccl" in kernel.name.lower():
        return "exchange"
    if "HtoD" in kernel.name:
        return "transfer"
    return launched.at(kernel.launched)


class _Ranges:
    """Ranges of several phases: of nested ranges, a moment lies in the innermost."""

    def __init__(self, ranges: dict[str, list[Span]]) -> None:
        self._held = {phase: _merged(spans) for phase, spans in ranges.items()}

    def at(self, moment: float) -> str:
        """Return the phase of a moment, or nothing."""
        best, since = "", float("-inf")
        for phase, merged in self._held.items():
            at = bisect_right(merged, (moment, float("inf"))) - 1
            if at >= 0 and moment < merged[at][1] and merged[at][0] > since:
                best, since = phase, merged[at][0]
        return best


def _merged(spans: Sequence[Span]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for span in sorted(spans, key=lambda s: s.start):
        if merged and span.start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span.end))
        else:
            merged.append((span.start, span.end))
    return merged
