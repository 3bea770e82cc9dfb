"""PyTorch with one thread and, among the workers of a job, their process group."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
import torch.distributed as dist
from work import Case, job, serve

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
os.environ.update(
    GLOO_SOCKET_IFNAME=JOB["interface"],
    MASTER_ADDR=JOB["addresses"][0],
    MASTER_PORT=str(JOB["port"]),
)

torch.set_num_threads(1)


def gather(backend: str = "gloo") -> None:
    """Meet the other workers; a single one is alone."""
    if WORKERS > 1:
        dist.init_process_group(backend, rank=RANK, world_size=WORKERS)
        dist.barrier()


def measure(build: Callable[[int, Case], object]) -> None:
    """Serve the launcher's cases until there are no more, and part."""
    serve(MEETING, JOB, RANK, torch.__version__, build)
    if WORKERS > 1:
        dist.destroy_process_group()
