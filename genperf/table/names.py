"""The field's names for the columns of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from genperf.table.headers import bare
from genperf.table.transformer_names import TRANSFORMER, WAYS

#: Names that tables of any program use. `batch` is one worker's samples in a step, `work` one worker's operations in a
#: step, `samples` the whole data set.
GENERAL: dict[str, tuple[str, ...]] = {
    "workers": (
        *("workers", "devices", "gpus", "accelerators", "ranks", "processes", "chips", "replicas", "world_size"),
        *("tpus", "npus", "cards", "procs", "np", "nproc", "tasks", "ntasks", "mpi_ranks", "slurm_ntasks"),
        *("ngpus", "ngpu", "total_gpus", "total_devices", "卡数", "số_gpu", "prozesse", "procesos", "processus"),
    ),
    "nodes": (
        *("nodes", "hosts", "machines", "nnodes", "vms", "instance_count", "slurm_nnodes"),
        *("nodos", "knoten", "noeuds", "nœuds", "nodi", "节点", "节点数"),
    ),
    "devices_per_node": (
        *("devices_per_node", "gpus_per_node", "workers_per_node", "local_workers"),
        *("gpus_per_host", "gpus_per_machine", "processes_per_node", "nproc_per_node"),
    ),
    "servers": ("servers", "parameter_servers", "ps", "param_servers"),
    "batch": (
        "batch",
        "batch_per_worker",
        "batch_per_device",
        "batch_per_gpu",
        "local_batch",
        "local_batch_size",
        "micro_batch",
        "batch_size",
        "batch_size_per_worker",
        "per_worker_batch_size",
        "train_batch_size_per_worker",
        "train_batch_size_per_device",
        "train_batch_size_per_gpu",
        "samples_per_gpu",
        "images_per_gpu",
        "imgs_per_gpu",
    ),
    "global_batch": (
        "global_batch",
        "global_batch_size",
        "total_batch",
        "total_batch_size",
        "train_batch_size",
        "global_train_batch_size",
        "effective_batch_size",
        "overall_batch_size",
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

#: Where one of these is known, the batch of a pass is not that of a worker.
_BESIDE_A_PASS = ("global_batch", "micro_batches", *WAYS[1:])
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
    >>> plain_name("# GPUs"), plain_name("peak memory (GB)"), plain_name("batch size (per GPU)")
    ('num_gpus', 'peak_memory', 'batch_size_per_gpu')
    """
    words = re.sub(r"[()\[\]]", " ", bare(column)).strip().lower().removeprefix("--")
    name = re.sub(r"[\s-]+", "_", words)
    name = re.sub(r"^zero_optimization\.", "zero_", name)
    section, _, last = name.rpartition(".")
    known = section and any(last in names for names in TRANSFORMER.values())
    return last if known else name


def column_of(canonical: str, columns: Iterable[str]) -> str | None:
    """Return which column has one of the field's names for a factor; None where none has.

    If no column has such a name as it is, one may have it behind `num_` or before `_count`, or in other words for a
    batch and for what it is of (`bs_per_gpu`, `batchSize`). The batch of a pass is that of a worker, where no column
    tells of several passes, of a batch of all, or of another split than that of the samples.

    Parameters
    ----------
    canonical : str
        The field's name.

    Examples
    --------
    >>> column_of("workers", ["num_gpus", "batch"]), column_of("workers", ["num_workers", "GPUs"])
    ('num_gpus', 'GPUs')
    >>> column_of("nodes", ["node_count"]), column_of("nodes", ["colour"])
    ('node_count', None)
    >>> column_of("batch", ["bs_per_gpu"]), column_of("global_batch", ["globalBatchSize"])
    ('bs_per_gpu', 'globalBatchSize')
    >>> column_of("batch", ["gpus", "mbs"]), column_of("batch", ["gpus", "mbs", "grad_accumulation"])
    ('mbs', None)
    """
    listed = list(columns)
    for spelled in _SPELLINGS:
        by_name = {name: column for column in reversed(listed) for name in spelled(column)}
        column = next((by_name[alias] for alias in ALIASES[canonical] if alias in by_name), None)
        if column is not None:
            return column
    if canonical == "batch" and not any(column_of(name, listed) for name in _BESIDE_A_PASS):
        return column_of("micro_batch", listed)
    return None


@lru_cache(maxsize=10_000)
def canonical_of(column: str) -> str | None:
    """Return the field's name for a column's name; None for another name.

    Examples
    --------
    >>> canonical_of("GPUs"), canonical_of("num_gpus"), canonical_of("gpu_count"), canonical_of("colour")
    ('workers', 'workers', 'workers', None)
    """
    names = {name for spelled in _SPELLINGS for name in spelled(column)}
    return next((canonical for canonical, known in ALIASES.items() if not names.isdisjoint(known)), None)


@lru_cache(maxsize=10_000)
def _as_it_is(column: str) -> frozenset[str]:
    return frozenset({plain_name(column)})


@lru_cache(maxsize=10_000)
def _as_a_count(column: str) -> frozenset[str]:
    """Return the names without the words that say that something is counted, in the singular and the plural."""
    whole = plain_name(column)
    plain = re.sub(r"^(num|number_of|n|no_of)_|_(count|num)$", "", whole)
    return frozenset() if plain == whole else frozenset({plain, f"{plain}s"})


@lru_cache(maxsize=10_000)
def _in_other_words(column: str) -> frozenset[str]:
    """Return the name with one word for a batch and for a worker, and with capitals inside it as new words."""
    apart = plain_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", column))
    name = re.sub(r"(?<![a-z])(mini_?)?(bs|bsz|batch_?size|batch)(?![a-z])", "batch_size", apart)
    name = re.sub(
        r"(?<![a-z])per_(device|gpu|rank|chip|accelerator|replica|process|card|tpu|core)(?![a-z])", "per_worker", name
    )
    return frozenset({apart, name}) | _as_a_count(apart)


#: A name as it is comes first, then the others.
_SPELLINGS = (_as_it_is, _as_a_count, _in_other_words)


def noun_of(column: str) -> str:
    """Return what a column counts, in the plural, as it stands in a sentence; another column's name as it is.

    Examples
    --------
    >>> noun_of("num_gpus"), noun_of("# GPUs"), noun_of("world_size"), noun_of("node_count"), noun_of("cores")
    ('gpus', 'GPUs', 'workers', 'nodes', 'cores')
    >>> noun_of("NTasks"), noun_of("config.num_gpus")
    ('Tasks', 'gpus')
    """
    canonical = counted_by(column)
    if canonical not in ("workers", "nodes", "servers"):
        return column
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", bare(column))
    words = r"^(num|number[ _]of|n|no[ _]of|total)[ _]|^n(?=(nodes|tasks|procs|gpus|ranks)$)|[ _](count|num)$"
    counted = re.sub(words, "", plain, flags=re.IGNORECASE)
    for noun in (counted, f"{counted}s"):
        if noun.lower().endswith("s") and column_of(canonical, [noun]) is not None and " " not in noun:
            return noun
    return canonical


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
