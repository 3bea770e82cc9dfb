"""The field's names for the columns of a table."""

from __future__ import annotations

#: The field's names for a factor, the canonical one first. Families use the canonical one. `batch` is one worker's
#: samples in a step, `work` one worker's operations in a step, `samples` the whole data set.
ALIASES: dict[str, tuple[str, ...]] = {
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
    "global_batch": ("global_batch", "global_batch_size", "total_batch"),
    "bytes": ("bytes", "message_bytes", "gradient_bytes", "model_bytes"),
    "parameters": ("parameters", "params", "num_parameters", "parameter_count"),
    "samples": ("samples", "dataset_size", "data_size"),
    "iterations": ("iterations", "steps_total"),
    "partitions": ("partitions", "model_partitions"),
    "threads": ("threads", "threads_per_worker"),
    "activations": ("activations", "activation_bytes"),
    "work": ("work", "flops", "forward_flops"),
}
