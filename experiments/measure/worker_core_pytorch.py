"""A PyTorch worker of the core experiment: chunks of a batch at the pace of a slow device, then a real all-reduce.

worker_core_pytorch.py FOLDER RANK
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from framework_pytorch import OPTIMIZERS, WORKERS, gather, measure, network
from pace import Pace
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from work import Case, Step, Stopwatch


def exchange(parameters: list[nn.Parameter]) -> None:
    """Replace the gradients by their mean over the workers: one all-reduce of all."""
    gradients = [p.grad for p in parameters]
    flat = parameters_to_vector(gradients)
    dist.all_reduce(flat)
    vector_to_parameters(flat / WORKERS, gradients)


def build(number: int, case: Case) -> Step:
    torch.manual_seed(0)
    model = network(case)
    parameters = list(model.parameters())
    optimizer = OPTIMIZERS[case["optimizer"]](parameters)
    loss_of = nn.CrossEntropyLoss()
    batch, count = case["batch_per_worker"], case["data_chunks"]
    images = torch.randn(batch, 3, case["image_size"], case["image_size"]).chunk(count)
    labels = torch.randint(0, 10, (batch,)).chunk(count)
    pace = Pace(case["slowdown"])

    def step() -> dict[str, float]:
        watch = Stopwatch()
        with pace:
            optimizer.zero_grad()
            for x, y in zip(images, labels, strict=True):
                (loss_of(model(x), y) / count).backward()
        watch.lap("computation")
        if WORKERS > 1:
            exchange(parameters)
            watch.lap("exchange")
        with pace:
            optimizer.step()
        watch.lap("update")
        return watch.seconds

    return step


gather()
measure(build)
