"""MLPerf training logs (`:::MLLOG` lines): one row a throughput that was logged, or else a row an epoch or block.

Keys are those of `mlperf_logging.mllog.constants`. `tracked_stats` with a `throughput`, in samples per second of all
accelerators, is what submissions log beside them, and `:::SYSJSON` the system description some write into the log.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from genperf.errors import Note, TableError
from genperf.importers.imported import Cell, Imported, Json, Rows, read_json

TIME, THROUGHPUT = "step_time_s", "throughput"
_LINE = re.compile(r":::(MLLOG|SYSJSON)\s+(.*)")
#: Keys of what a step's time may depend on; the column is the key, without this prefix.
_PREFIX = "submission_"
_SETTINGS = (
    *("submission_benchmark", "submission_org", "submission_division", "submission_platform"),
    *("global_batch_size", "local_batch_size", "micro_batch_size", "gradient_accumulation_steps"),
    *("max_sequence_length", "opt_name"),
    *("tensor_parallelism", "pipeline_parallelism", "context_parallelism", "expert_parallelism"),
)
#: What a step is, an epoch being the finer where a log has both.
_INTERVALS = (("epoch_start", "epoch_stop"), ("block_start", "block_stop"))


class _Event(NamedTuple):
    where: str
    key: str
    milliseconds: int | float
    value: Any
    metadata: dict[str, Any]


def read(text: str, name: str) -> Imported:
    """Read a log.

    The time of a step is `global_batch_size / throughput`. A throughput that is logged after `run_stop` is an average,
    and is used where there is no other. Where none is logged, it is the samples of an epoch or block over its time,
    less the evaluations in it.
    """
    rows = Rows(TIME)
    events, system = _events(text, name, rows.left_out)
    # The first value of each setting, in the order of `_SETTINGS`.
    earliest = {event.key: event.value for event in reversed(events) if type(event.value) in (str, int, float)}
    settings: dict[str, Cell] = {
        **system,
        **{key.removeprefix(_PREFIX): earliest[key] for key in _SETTINGS if key in earliest},
    }
    batch = settings.get("global_batch_size")
    if not isinstance(batch, int | float) or batch <= 0:
        raise TableError("logs no 'global_batch_size', so the time of a step is not known", where=name)
    # The throughputs of the run, or else those after it.
    stop = next((place for place, event in enumerate(events) if event.key == "run_stop"), len(events))
    stats: list[Any] = [
        e.value.get(THROUGHPUT) if e.key == "tracked_stats" and isinstance(e.value, dict) else 0 for e in events
    ]
    logged = ([x for x in xs if type(x) in (int, float) and 0 < x < math.inf] for xs in (stats[:stop], stats[stop:]))
    speeds, notes = next(filter(None, logged), []), []
    if not speeds:
        speeds, skipped = _timed(events)
        rows.left_out += skipped
        notes = [
            Note("no throughput is logged: it is the samples of each interval over its time, less the evaluations")
        ]
    for speed in speeds:
        rows.add(settings, {THROUGHPUT: speed, TIME: batch / speed})
    hint = "log tracked_stats with a throughput, or the samples_count of each block"
    return rows.table(name, "logs neither a throughput nor the samples of an epoch or block", hint, notes)


def _events(text: str, name: str, left_out: list[str]) -> tuple[list[_Event], dict[str, Cell]]:
    """Read the lines; a line that two processes wrote into each other is named among those left out."""
    events = []
    system: dict[str, Cell] = {}
    for number, line in enumerate(text.split("\n"), 1):
        tagged = _LINE.search(line)
        if not tagged:
            continue
        where = f"{name}: line {number}"
        try:
            entry = read_json(tagged[2], name, number)
            if tagged[1] == "SYSJSON":
                system = system or _system(entry)
                continue
            key, milliseconds = entry.member("key").text(), entry.member("time_ms").number()
            metadata = entry.value.get("metadata")
            event_metadata = metadata if isinstance(metadata, dict) else {}
            events.append(_Event(where, key, milliseconds, entry.value.get("value"), event_metadata))
        except TableError as error:
            left_out.append(f"{error.where}: {error.message}")
    if not events:
        hint = "name the log of mlperf_logging"
        raise TableError("holds no ':::MLLOG' line that can be read", where=name, hint=hint)
    return events, system


def _system(entry: Json) -> dict[str, Cell]:
    """Return the scale and the kind of the machine, from a submission's system description: its numbers are texts."""
    values = entry.value if isinstance(entry.value, dict) else {}
    texts = (str(values.get(key, "")) for key in ("number_of_nodes", "accelerators_per_node"))
    nodes, per_node = (int(text) if text.isdecimal() and len(text) < 10 else 0 for text in texts)
    counts = {"nodes": nodes, "accelerators": nodes * per_node}
    kinds = {key: values.get(key) for key in ("accelerator_model_name", "framework")}
    columns: dict[str, Cell] = {key: count for key, count in counts.items() if count}
    return columns | {key: text for key, text in kinds.items() if isinstance(text, str) and text}


def _timed(events: list[_Event]) -> tuple[list[float], list[str]]:
    """Return the throughput of each epoch, or else each block, and those that give none."""
    epoch_samples = next((e.value for e in events if e.key == "train_samples" and isinstance(e.value, int)), None)
    for start, stop in _INTERVALS:
        speeds, left_out = [], []
        for begun, ended in _pairs(events, start, stop):
            inside = [e for e in events if begun.milliseconds <= e.milliseconds <= ended.milliseconds]
            evaluated = sum(b.milliseconds - a.milliseconds for a, b in _pairs(inside, "eval_start", "eval_stop"))
            trained = ended.milliseconds - begun.milliseconds - evaluated
            samples = _samples(begun, ended, epoch_samples)
            if samples > 0 and trained > 0:
                speeds.append(samples / (trained / 1e3))
            else:
                left_out.append(f"{begun.where}: {start}: how many samples it took is not known")
        if speeds:
            return speeds, left_out
    return [], []


def _pairs(events: list[_Event], start: str, stop: str) -> Iterator[tuple[_Event, _Event]]:
    """Yield each start with the stop that follows; of several processes' starts, the first."""
    begun = None
    for event in events:
        if event.key == start:
            begun = begun or event
        elif event.key == stop and begun is not None:
            yield begun, event
            begun = None


def _samples(begun: _Event, ended: _Event, whole: int | None) -> float:
    """Return the samples between two events: those counted, or else whole epochs of the training set."""
    begin_count, last = begun.metadata.get("samples_count"), ended.metadata.get("samples_count")
    if isinstance(begin_count, int | float) and isinstance(last, int | float):
        return float(last - begin_count)
    # An epoch that ends under another number than it began was stopped on its way.
    stopped = begun.metadata.get("epoch_num") != ended.metadata.get("epoch_num")
    epochs = 0 if stopped else begun.metadata.get("epoch_count", 1 if "epoch_num" in begun.metadata else 0)
    return float(whole * epochs) if whole and isinstance(epochs, int) else 0.0
