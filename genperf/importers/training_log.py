"""Logs of training frameworks: one row a step that was logged, with the settings that the log prints.

Megatron-LM, NeMo, nanotron and DeepSpeed print a step as a line of names and numbers between bars or commas, torchtitan
between blanks, Composer one name a line. Their names are those of these projects' sources of 2025.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from genperf.errors import Note, TableError
from genperf.importers.imported import REPEAT, Cell, Imported

T = TypeVar("T")
SIGNATURE = (
    r"(?i)elapsed[ _]time[ _]per[ _]iteration[ _(ms)]*:|train_step_timing in s[:=]|CurrSamplesPerSec=|"
    r"\b[tw]ps: +[\d,]+ |throughput/samples_per_sec: "
)

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
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_NUMBER = r"[-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?"
_PAIR = re.compile(rf"([A-Za-z_][\w/() -]*?) ?(?:[:=]|\.{{3,}}) *({_NUMBER})([KMG]?)(?![\w.])")
_THOUSANDS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}


def read(text: str, name: str) -> Imported:
    """Read a log.

    Examples
    --------
    >>> log = '''using world size: 8, data-parallel size: 8
    ...  iteration  10/ 100 | elapsed time per iteration (ms): 950.0 | global batch size:  64 | lm loss: 9.1E+00 |
    ...  iteration  20/ 100 | elapsed time per iteration (ms): 812.5 | global batch size:  64 | lm loss: 8.7E+00 |'''
    >>> table = read(log, "train.log")
    >>> table.rows
    ({'devices': 8, 'data_parallel': 8, 'global_batch': 64, 'repeat': 0, 'step_time_s': 0.8125},)
    """
    settings: dict[str, Cell] = {}
    steps: list[dict[str, Cell]] = []
    unread = 0
    for line in _ESCAPE.sub("", text).splitlines():
        step: dict[str, Cell] = {}
        for key, digits, unit in _PAIR.findall(line):
            # 1.02K is a rounded number: no setting.
            put(key.strip(), float(digits.replace(",", "")) * _THOUSANDS[unit], {} if unit else settings, step)
        if step:
            steps.append({**settings, **step})
        else:
            unread += bool(re.search(SIGNATURE, line))
    if not steps:
        hint = f"the names that are read: {', '.join(list(MEASURED)[:7])}, …"
        raise TableError("holds no line of a step with its time or throughput", where=name, hint=hint)
    notes = [Note(f"{unread} lines look like steps and have no number that can be read", "lines_unread")]
    return table_of(steps, notes if unread else [])


def table_of(steps: Sequence[Mapping[str, Cell]], notes: Iterable[Note] = ()) -> Imported:
    """Return the steps of a run, each with its settings and measured numbers, as rows; where several, not the first.

    The first step compiles, allocates and fills caches.
    """
    kept = steps[1:] or steps
    measured = next(column for column, _ in MEASURED.values() if any(column in step for step in kept))
    rows = [
        {**{k: v for k, v in step.items() if k != measured}, REPEAT: number, measured: step[measured]}
        for number, step in enumerate(step for step in kept if measured in step)
    ]
    warm = [Note("the first step that was logged is left out: it warms up", "warm_up")][: len(steps) - len(kept)]
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
