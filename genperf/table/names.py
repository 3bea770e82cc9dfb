"""The field's names for the columns of a table."""

from __future__ import annotations

import re

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


#: Canonical names of what is counted, from zero on.
COUNTED = ("workers", "nodes", "devices_per_node", "servers")


def counted_by(column: str) -> str | None:
    """Return what a column counts by its name, as its canonical name; None where it counts none of `COUNTED`.

    Examples
    --------
    >>> counted_by("GPUs"), counted_by("temperature")
    ('workers', None)
    """
    name = plain_name(column)
    return next((canonical for canonical in COUNTED if name in ALIASES[canonical]), None)
