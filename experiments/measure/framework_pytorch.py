"""PyTorch with one thread, the process group of a job's workers, and the measured network of `networks.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from work import Case, job, serve

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
os.environ.update(GLOO_SOCKET_IFNAME=JOB["interface"], MASTER_ADDR=JOB["addresses"][0], MASTER_PORT=str(JOB["port"]))

torch.set_num_threads(1)

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU}
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-4),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=1e-4),
}


def gather() -> None:
    """Meet the other workers; a single one is alone."""
    if WORKERS > 1:
        dist.init_process_group("gloo", rank=RANK, world_size=WORKERS)
        dist.barrier()


def measure(build: Callable[[int, Case], object]) -> None:
    """Serve the launcher's cases until there are no more, and part."""
    serve(MEETING, JOB, RANK, torch.__version__, build)
    if WORKERS > 1:
        dist.destroy_process_group()


def network(case: dict[str, Any]) -> nn.Module:
    kernel, filters, hidden = case["kernel_size"], case["filters"], case["hidden"]
    activation = ACTIVATIONS[case["activation"]]
    blocks: list[nn.Module] = []
    for i in range(case["layers"]):
        blocks += [nn.Conv2d(3 if i == 0 else filters, filters, kernel, padding=kernel // 2), activation()]
    return nn.Sequential(
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(filters, hidden),
        activation(),
        nn.Linear(hidden, hidden),
        activation(),
        nn.Linear(hidden, 10),
    )
