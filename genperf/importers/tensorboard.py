"""TensorBoard's event files: one row a step that was logged.

The scalars that are read have the names that frameworks log. A file without any has the clock of each entry: a step
then took the time between two entries, over the steps between them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from genperf.errors import Note, TableError
from genperf.importers.imported import REPEAT, Cell, Imported

SIGNATURE = r"(?s)\A.{0,60}brain\.Event:"
T = TypeVar("T")
#: Name of a measured number, in small letters → column, and what the number is multiplied by. The first that a log has
#: is its time or throughput.
MEASURED = {
    "elapsed time per iteration (ms)": ("step_time_s", 1e-3),
    "elapsed_time_per_iteration_ms": ("step_time_s", 1e-3),
    "train_step_timing in s": ("step_time_s", 1.0),
    "currsamplespersec": ("samples_per_s", 1.0),
    "throughput/samples_per_sec": ("samples_per_s", 1.0),
    "tps": ("tokens_per_s_per_gpu", 1.0),
    "wps": ("tokens_per_s_per_gpu", 1.0),
    # In TensorBoard's events: Megatron-LM and torchtitan.
    "iteration-time": ("step_time_s", 1.0),
    "time_metrics/end_to_end(s)": ("step_time_s", 1.0),
    "throughput(tps)": ("tokens_per_s_per_gpu", 1.0),
    # Of Lightning's ThroughputMonitor.
    "global/samples_per_sec": ("samples_per_s", 1.0),
    "device/samples_per_sec": ("samples_per_s_per_gpu", 1.0),
}
#: Name of a setting, in small letters → column.
SETTINGS = {
    "world_size": "devices",
    "world size": "devices",
    "world-size": "devices",
    "data_parallel_size": "data_parallel",
    "data-parallel size": "data_parallel",
    "tensor_model_parallel_size": "tensor_parallel",
    "tensor-model-parallel size": "tensor_parallel",
    "pipeline_model_parallel_size": "pipeline_parallel",
    "pipeline-model-parallel size": "pipeline_parallel",
    "context_parallel_size": "context_parallel",
    "expert_model_parallel_size": "expert_parallel",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch",
    "global batch size": "global_batch",
    "batch-size": "global_batch",
    "seq_length": "seq_length",
    "num_layers": "num_layers",
    "hidden_size": "hidden_size",
    "num_attention_heads": "num_heads",
}
#: (step, when it was written in seconds, name, value)
Scalar = tuple[int, float, str, float]


def read(path: str, name: str) -> Imported:
    """Read an event file."""
    scalars = list(_scalars(path, name))
    if not scalars:
        hint = "name a file events.out.tfevents.… that has scalars"
        raise TableError("holds no scalar of TensorBoard", where=name, hint=hint)
    steps: dict[int, dict[str, Cell]] = defaultdict(dict)
    settings: dict[str, Cell] = {}
    for step, _, tag, value in scalars:
        put(tag.lower().replace("train/", ""), value, settings, steps[step])
    if any(steps.values()):
        return table_of([{**settings, **steps[step]} for step in sorted(steps) if steps[step]])
    times = _between(scalars)
    if not times:
        hint = "log iteration-time, or two steps of any scalar"
        raise TableError("has no time of a step, and no two steps to measure one between", where=name, hint=hint)
    note = Note("no time is logged: a step took the time between two entries, evaluations included", "clock")
    return table_of([{**settings, "step_time_s": seconds} for seconds in times], [note])


def _scalars(path: str, name: str) -> Iterator[Scalar]:
    """Yield the scalars of a file, as TensorBoard reads them."""
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError:
        hint = 'pip install "genperf[tensorboard]"'
        raise TableError("reading TensorBoard's events needs tensorboard", hint=hint, where=name) from None
    for event in EventFileLoader(path).Load():
        for entry in event.summary.value:
            if entry.metadata.plugin_data.plugin_name == "scalars":
                # The shortest number that is the same single-precision one.
                value = float(str(make_ndarray(entry.tensor)[()]))
                yield int(event.step), float(event.wall_time), str(entry.tag), value


def _between(scalars: list[Scalar]) -> list[float]:
    """Return the seconds of a step between successive entries of the scalar that was logged most often."""
    most = Counter(tag for _, _, tag, _ in scalars).most_common(1)[0][0]
    entries = sorted({step: wall for step, wall, tag, _ in scalars if tag == most}.items())
    return [(later - wall) / (after - step) for (step, wall), (after, later) in pairwise(entries) if later > wall]


def table_of(steps: Sequence[Mapping[str, Cell]], notes: Iterable[Note] = ()) -> Imported:
    """Return the steps of a run, each with its settings and measured numbers, as rows; where several, not the first.

    The first step compiles, allocates and fills caches.
    """
    warm_steps = steps[1:] or steps
    measured = next(column for column, _ in MEASURED.values() if any(column in step for step in warm_steps))
    rows = [
        {**{k: v for k, v in step.items() if k != measured}, REPEAT: number, measured: step[measured]}
        for number, step in enumerate(step for step in warm_steps if measured in step)
    ]
    warm = [Note("the first step that was logged is left out: it warms up", "warm_up")][: len(steps) - len(warm_steps)]
    factors = tuple(dict.fromkeys(column for column in SETTINGS.values() if any(column in row for row in rows)))
    rate = measured != "step_time_s"
    return Imported(tuple(rows), measured, REPEAT, factors, notes=(*warm, *notes), rate=rate)


def put(name: str, number: float, settings: dict[str, Cell], step: dict[str, Cell]) -> None:
    """Put a number that was logged under a name where it belongs: to the settings, to what a step measured, or none."""
    if column := named(name.lower(), SETTINGS):
        settings[column] = int(number) if number.is_integer() else number
    elif number > 0.0 and (measured := named(name.lower(), MEASURED)):
        step[measured[0]] = number * measured[1]


def named(key: str, names: Mapping[str, T]) -> T | None:
    """Return what a name stands for, also behind other words: `using world size`."""
    return next((value for name, value in names.items() if key == name or key.endswith(f" {name}")), None)
