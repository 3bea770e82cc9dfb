"""A PyTorch worker over gloo whose computation is waits: rings with and without overlap, and peers with and without.

worker_stages_pytorch.py FOLDER RANK
"""

# No postponed annotations here: torch reads those of its functions.
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from framework_pytorch import RANK, WORKERS, gather, measure
from stages import AFTERWARDS, LAYERS, ONE_BUCKET, Staged, built, wait, waits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from work import Case

_MIB = 1 << 20


class Wait(torch.autograd.Function):
    """Waits in both passes. It stands behind a layer, so that in the backward pass it comes before its gradients."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, forward_s: float, backward_s: float) -> torch.Tensor:
        ctx.seconds = backward_s
        wait(forward_s)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        wait(ctx.seconds)
        return gradient, None, None


class Network(nn.Module):
    """Equal dense layers, each with its waits."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        width = case["hidden"]
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(case["layers"]))
        self.waiting = waits(case)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = Wait.apply(layer(x), self.waiting.forward, self.waiting.backward)
        return x


class Alone(Staged):
    """One worker: nothing is exchanged."""

    def __init__(self, case: Case) -> None:
        super().__init__(case, shares=WORKERS > 1)
        torch.manual_seed(0)
        self.model: nn.Module = Network(case)
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-6)
        self.x = torch.randn(case["batch_per_worker"], case["hidden"])

    def train(self) -> None:
        self.optimizer.zero_grad()
        self.gradients()
        self.update()

    def gradients(self) -> None:
        """Compute the gradients of a step, and exchange them."""
        self.model(self.x).sum().backward()

    def forward(self) -> None:
        self.optimizer.zero_grad()
        self.loss = self.model(self.x).sum()

    def backward(self) -> None:
        self.loss.backward()

    def meet(self) -> None:
        dist.barrier()

    def update(self) -> None:
        self.optimizer.step()


class Ring(Alone):
    """DistributedDataParallel."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        sizes = [4 * p.numel() for p in self.parameters]
        self.when = case["exchange"]
        # A bucket is full as soon as it holds so much: a layer, or more than there is.
        bucket = 0.99 * min(sizes) if self.when == LAYERS else 2 * sum(sizes)
        self.model = DistributedDataParallel(self.model, bucket_cap_mb=bucket / _MIB)

    def unshared(self) -> AbstractContextManager[Any]:
        return self.model.no_sync()

    def gradients(self) -> None:
        if self.when != AFTERWARDS:
            return super().gradients()
        with self.unshared():
            super().gradients()
        self.exchange()

    def exchange(self) -> None:
        """Reduce the gradients, last layer first; all in one where there is one bucket."""
        gradients = [p.grad for p in reversed(self.parameters)]
        if self.when == ONE_BUCKET:
            gradients = [torch.cat([g.flatten() for g in gradients])]
        pending = [dist.all_reduce(g, async_op=True) for g in gradients]
        for work in pending:
            work.wait()
        for gradient in gradients:
            gradient.div_(WORKERS)


class Peers(Alone):
    """Each worker sends a layer's gradients to each other one, and takes the mean of all."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.others = [rank for rank in range(WORKERS) if rank != RANK]
        self.came = [[torch.empty_like(p) for _ in self.others] for p in self.parameters]
        self.pending: list[dist.Work] = []
        self.hooked = True
        for number, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(lambda p, number=number: self._ready(number))

    def unshared(self) -> AbstractContextManager[Any]:
        self.hooked = False
        return nullcontext()

    def gradients(self) -> None:
        self.hooked = self.at_once
        super().gradients()
        self._finish(() if self.at_once else reversed(range(len(self.parameters))))

    def exchange(self) -> None:
        self._finish(reversed(range(len(self.parameters))))

    def _ready(self, number: int) -> None:
        if self.hooked:
            self._send(number)

    def _send(self, number: int) -> None:
        gradient = self.parameters[number].grad
        for where, rank in zip(self.came[number], self.others, strict=True):
            self.pending.append(dist.irecv(where, rank, tag=number))
        self.pending += [dist.isend(gradient, rank, tag=number) for rank in self.others]

    def _finish(self, layers: Iterable[int]) -> None:
        for number in layers:
            self._send(number)
        for work in self.pending:
            work.wait()
        self.pending.clear()
        for parameter, came in zip(self.parameters, self.came, strict=True):
            parameter.grad = torch.stack([parameter.grad, *came]).mean(0)


EXCHANGES = {"ring-allreduce": Ring, "peer-to-peer": Peers}

gather()
measure(lambda number, case: built((EXCHANGES[case["architecture"]] if WORKERS > 1 else Alone)(case)))
