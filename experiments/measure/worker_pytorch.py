"""A PyTorch worker over gloo: DistributedDataParallel (ring all-reduce), or gradients sent from each to each.

worker_pytorch.py FOLDER RANK
"""

# No postponed annotations here: torch reads those of the communication hook.
import time

import torch
import torch.distributed as dist
from framework_pytorch import OPTIMIZERS, RANK, WORKERS, gather, measure, network
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from work import Case, Step, Stopwatch


class Alone:
    """One worker: nothing is exchanged."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def backward(self, loss: torch.Tensor, watch: Stopwatch) -> None:
        loss.backward()
        watch.lap("backward")


class Ring(Alone):
    """DistributedDataParallel; notes when the last bucket of gradients was handed to the all-reduce."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(DistributedDataParallel(model))
        self.model.register_comm_hook(None, self._hook)
        self.last_bucket = 0.0

    def _hook(self, state: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        self.last_bucket = time.perf_counter()
        return allreduce_hook(state, bucket)

    def backward(self, loss: torch.Tensor, watch: Stopwatch) -> None:
        """Compute the gradients while the full buckets travel; the exchange is what is waited for after the last."""
        loss.backward()
        watch.lap("backward", self.last_bucket)
        watch.lap("exchange")


class PeerToPeer(Alone):
    """Each worker sends its gradients to each other one, and takes the mean of all."""

    def backward(self, loss: torch.Tensor, watch: Stopwatch) -> None:
        super().backward(loss, watch)
        gradients = [p.grad for p in self.model.parameters()]
        own = parameters_to_vector(gradients)
        others = [rank for rank in range(WORKERS) if rank != RANK]
        came = [torch.empty_like(own) for _ in others]
        pending = [dist.irecv(where, rank) for where, rank in zip(came, others, strict=True)]
        pending += [dist.isend(own, rank) for rank in others]
        for work in pending:
            work.wait()
        vector_to_parameters(torch.stack([own, *came]).mean(0), gradients)
        watch.lap("exchange")


EXCHANGES = {"ring-allreduce": Ring, "peer-to-peer": PeerToPeer}


def build(number: int, case: Case) -> Step:
    torch.manual_seed(0)
    model = network(case)
    exchange = EXCHANGES[case["architecture"]](model) if WORKERS > 1 else Alone(model)
    optimizer = OPTIMIZERS[case["optimizer"]](model.parameters())
    loss_of = nn.CrossEntropyLoss()
    x = torch.randn(case["batch_per_worker"], 3, case["image_size"], case["image_size"])
    y = torch.randint(0, 10, (case["batch_per_worker"],))

    def step() -> dict[str, float]:
        optimizer.zero_grad()
        watch = Stopwatch()
        loss = loss_of(exchange.model(x), y)
        watch.lap("forward")
        exchange.backward(loss, watch)
        optimizer.step()
        watch.lap("update")
        return watch.seconds

    return step


gather()
measure(build)
