"""A PyTorch worker of the core experiment: chunks of a batch at the pace of a slow device, then a real all-reduce.

worker_core_pytorch.py FOLDER RANK
"""

from __future__ import annotations

import os

from pace import Pace
from work import Case, Step, Stopwatch, job, serve

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
os.environ.update(
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    GLOO_SOCKET_IFNAME=JOB["interface"],
    MASTER_ADDR=JOB["addresses"][0],
    MASTER_PORT=str(JOB["port"]),
)

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from network_pytorch import network  # noqa: E402
from pytorch_choices import OPTIMIZERS  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(1)


def exchange(parameters: list[nn.Parameter]) -> None:
    """Replace the gradients by their mean over the workers: one all-reduce of all."""
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat)
    flat /= WORKERS
    for p, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        p.grad.copy_(part.view_as(p))


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


if WORKERS > 1:
    dist.init_process_group("gloo", rank=RANK, world_size=WORKERS)
    dist.barrier()
serve(MEETING, JOB, RANK, torch.__version__, build)
if WORKERS > 1:
    dist.destroy_process_group()
