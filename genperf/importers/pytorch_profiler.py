"""torch.profiler's Chrome traces: one row a `ProfilerStep#N`, with the phases that the trace records."""

from __future__ import annotations

from typing import Any

from genperf.errors import Note, TableError
from genperf.importers.imported import Cell, FormatError, Imported
from genperf.importers.json_text import parse_json
from genperf.importers.trace import number_of, seconds, step_times, trace_of
from genperf.importers.trace_phases import phases_of

#: Columns. The host's time of a step is added where a device did the work.
TIME, HOST, REPEAT = "step_time_s", "host_step_s", "step"


def read(text: str, name: str) -> Imported:
    """Read a trace.

    `distributedInfo` gives the count of workers (`world_size`) and the rank, `deviceProperties` the device, as far as
    the trace has them. The time of a profiled step includes what recording it took.

    Parameters
    ----------
    name : str
        What messages call the file.

    Raises
    ------
    TableError
        Where it is no such trace, or has no steps.

    Examples
    --------
    >>> step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 0, "dur": 5000}
    >>> update = {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SGD.step", "ts": 4000, "dur": 500}
    >>> import json
    >>> trace = {"distributedInfo": {"world_size": 8, "rank": 0}, "traceEvents": [step, update]}
    >>> read(json.dumps(trace), "trace.json").rows
    ({'workers': 8, 'rank': 0, 'step': 3, 'step_time_s': 0.005, 'update_s': 0.0005},)
    """
    file = parse_json(text, name)
    events = file.get("traceEvents") if isinstance(file, dict) else file
    if not isinstance(events, list) or not any(isinstance(event, dict) and "ph" in event for event in events):
        hint = "prof.export_chrome_trace(FILE), or tensorboard_trace_handler(FOLDER)"
        raise FormatError("is JSON, but no trace of torch.profiler", where=name, hint=hint)
    trace = trace_of(events)
    if not trace.steps:
        hint = "give profile(…) a schedule, and call prof.step() after each step"
        raise TableError("has no 'ProfilerStep#N' in which something was done", where=name, hint=hint)
    run = _run(file) if isinstance(file, dict) else {}
    phases, unsure = phases_of(trace)
    left_out = [f"{name}: {step.name}: nothing was done in it (the profiler stopped)" for step in trace.empty]
    rows: list[dict[str, Cell]] = []
    for step, took, times in zip(trace.steps, step_times(trace), phases, strict=True):
        if took is None:
            left_out.append(
                f"{name}: {step.name}: the device was still at work at its start, and the step before is not recorded"
            )
            continue
        host = {HOST: seconds(step.length)} if trace.has_device else {}
        shown = {f"{phase}_s": spent for phase, spent in times.items()}
        rows.append({**run, REPEAT: number_of(step), TIME: seconds(took), **host, **shown})
    if not rows:
        raise TableError(
            left_out[-1].partition(": ")[2], where=name, hint="record two steps or more: schedule(active=3, …)"
        )
    notes = [Note(f"{name}: {text}: left empty", "partly_recorded") for text in unsure]
    if trace.has_device and not trace.device:
        notes.append(Note(f"{name}: a device was used and not recorded, so the times are the host's", "no_device"))
    factors = tuple(column for column in run if column != "rank")
    return Imported(tuple(rows), TIME, REPEAT, factors, (), tuple(left_out), tuple(notes))


def _run(file: dict[str, Any]) -> dict[str, Cell]:
    """Return the run's device, workers, backend and rank, as far as the trace has them."""
    columns: dict[str, Cell] = {}
    distributed, devices = file.get("distributedInfo"), file.get("deviceProperties")
    if isinstance(distributed, dict):
        for key, column in (("world_size", "workers"), ("backend", "backend"), ("rank", "rank")):
            value = distributed.get(key)
            if isinstance(value, str if key == "backend" else int) and not isinstance(value, bool):
                columns[column] = value
    first = devices[0] if isinstance(devices, list) and devices else None
    if isinstance(first, dict) and isinstance(first.get("name"), str):
        columns = {"device": first["name"], **columns}
    return columns
