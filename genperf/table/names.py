"""The field's names for the columns of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from genperf.table.transformer_names import TRANSFORMER

#: Names that tables of any program use. `batch` is one worker's samples in a step, `work` one worker's operations in a
#: step, `samples` the whole data set.
GENERAL: dict[str, tuple[str, ...]] = {
    "workers": ("workers", "devices", "gpus", "accelerators", "ranks", "processes", "chips", "replicas", "world_size"),
    "nodes": ("nodes", "hosts", "machines"),
    "devices_per_node": ("devices_per_node", "gpus_per_node", "workers_per_node", "local_workers"),
    "servers": ("servers", "parameter_servers"),
    "batch": (
        "batch",
        "batch_per_worker",
        "batch_per_device",
        "batch_per_gpu",
        "local_batch",
        "local_batch_size",
        "micro_batch",
        "batch_size",
    ),
    "global_batch": (
        "global_batch",
        "global_batch_size",
        "total_batch",
        "total_batch_size",
        "train_batch_size",
        "gbs",
    ),
    "bytes": ("bytes", "message_bytes", "gradient_bytes", "model_bytes"),
    "parameters": ("parameters", "params", "num_parameters", "parameter_count", "num_params", "n_params"),
    "samples": ("samples", "dataset_size", "data_size"),
    "iterations": ("iterations", "steps_total"),
    "partitions": ("partitions", "model_partitions"),
    "threads": ("threads", "threads_per_worker"),
    "activations": ("activations", "activation_bytes"),
    "work": ("work", "flops", "forward_flops"),
}

#: The field's names for a factor, the canonical one first. Families use the canonical one.
ALIASES: dict[str, tuple[str, ...]] = {**GENERAL, **TRANSFORMER}


@lru_cache(maxsize=10_000)
def plain_name(column: str) -> str:
    """Return a column's name as the lists of names spell it: an option of a launcher, a key of a settings file.

    Examples
    --------
    >>> plain_name("GPUs"), plain_name("--tensor-model-parallel-size"), plain_name("model.micro_batch_size")
    ('gpus', 'tensor_model_parallel_size', 'micro_batch_size')
    >>> plain_name("zero_optimization.stage"), plain_name("fp16.enabled")
    ('zero_stage', 'fp16.enabled')
    """
    name = re.sub(r"[\s-]+", "_", column.strip().lower().removeprefix("--"))
    name = re.sub(r"^zero_optimization\.", "zero_", name)
    section, _, last = name.rpartition(".")
    known = section and any(last in names for names in TRANSFORMER.values())
    return last if known else name


def column_of(canonical: str, columns: Iterable[str]) -> str | None:
    """Return which column has one of the field's names for a factor; None where none has.

    A column may also have such a name behind `num_` or before `_count`, if no other column has it as it is.

    Parameters
    ----------
    canonical : str
        The field's name.
    columns : iterable of str

    Examples
    --------
    >>> column_of("workers", ["num_gpus", "batch"]), column_of("workers", ["num_workers", "GPUs"])
    ('num_gpus', 'GPUs')
    >>> column_of("nodes", ["node_count"]), column_of("nodes", ["colour"])
    ('node_count', None)
    """
    listed = list(columns)
    for spelled in (_as_it_is, _as_a_count):
        by_name = {name: column for column in reversed(listed) for name in spelled(column)}
        column = next((by_name[alias] for alias in ALIASES[canonical] if alias in by_name), None)
        if column is not None:
            return column
    return None


def canonical_of(column: str) -> str | None:
    """Return the field's name for a column's name; None for another name.

    Examples
    --------
    >>> canonical_of("GPUs"), canonical_of("num_gpus"), canonical_of("gpu_count"), canonical_of("colour")
    ('workers', 'workers', 'workers', None)
    """
    return next((canonical for canonical in ALIASES if column_of(canonical, [column]) is not None), None)


def _as_it_is(column: str) -> set[str]:
    return {plain_name(column)}


def _as_a_count(column: str) -> set[str]:
    """Return the names without the words that say that something is counted, in the singular and the plural."""
    whole = plain_name(column)
    plain = re.sub(r"^(num|number_of|n|no_of)_|_(count|num)$", "", whole)
    return set() if plain == whole else {plain, f"{plain}s"}


#: Canonical names of what is counted, from zero on.
COUNTED = ("workers", "nodes", "devices_per_node", "servers")


def counted_by(column: str) -> str | None:
    """Return what a column counts by its name, as its canonical name; None where it counts none of `COUNTED`.

    Examples
    --------
    >>> counted_by("GPUs"), counted_by("temperature")
    ('workers', None)
    """
    canonical = canonical_of(column)
    return canonical if canonical in COUNTED else None
