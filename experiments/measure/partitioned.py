"""A transformer divided among devices, in PyTorch: replicas, pipeline stages and tensor shards.

As Megatron-LM divides it: of two matrices in a row the first is cut by columns and the second by rows, with an
all-reduce of activations in each pass. Stages send activations forward and gradients back, one forward and one backward
pass in turn. Replicas take the mean of their gradients after the last backward pass. Embedding, positions and norms are
whole in every shard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from pace import Pace
from partition_design import Layout, Shape
from torch import nn
from torch.nn import functional
from torch.nn.utils import parameters_to_vector, vector_to_parameters


class Groups:
    """The process groups of layouts: made once, by all devices in the same order."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int, int], list[Any]] = {}
        # A direction each: with one group for both, a sender could wait for a receiver that waits to send to it.
        everyone = range(dist.get_world_size()) if dist.is_initialized() else ()
        self.directions = [dist.new_group(list(everyone)) for _ in range(2)] if len(everyone) > 1 else []

    def of(self, layout: Layout, rank: int) -> tuple[Any, Any]:
        """Return the groups of a device's shards and of its replicas; None where it is the only one."""
        key = (layout.replicas, layout.stages, layout.shards)
        if key not in self._of:
            shards = [
                [layout.rank(p, r, t) for t in range(layout.shards)]
                for p in range(layout.stages)
                for r in range(layout.replicas)
            ]
            replicas = [
                [layout.rank(p, r, t) for r in range(layout.replicas)]
                for p in range(layout.stages)
                for t in range(layout.shards)
            ]
            self._of[key] = [_joined(members, rank) for members in (shards, replicas)]
        shards_group, replicas_group = self._of[key]
        return shards_group, replicas_group


def _joined(groups: Sequence[list[int]], rank: int) -> Any:
    """Make groups, which all devices do together, and return the one of a device."""
    joined = None
    for members in groups:
        if len(members) > 1:
            group = dist.new_group(members)
            if rank in members:
                joined = group
    return joined


class Device:
    """One device of a layout: where it stands, and how it reaches the others."""

    def __init__(self, layout: Layout, rank: int, groups: Groups, pace: Pace, where: torch.device) -> None:
        self.layout, self.groups, self.pace, self.where = layout, groups, pace, where
        self.stage, self.replica, self.shard = layout.place(rank)
        self._shards, self._replicas = groups.of(layout, rank)
        self._sent: list[tuple[Any, torch.Tensor]] = []

    @property
    def first(self) -> bool:
        return self.stage == 0

    @property
    def last(self) -> bool:
        return self.stage == self.layout.stages - 1

    def sum_of_shards(self, x: torch.Tensor) -> torch.Tensor:
        if self._shards is None:
            return x
        x = x.contiguous().clone()
        self._unpaced(dist.all_reduce, x, group=self._shards)
        return x

    def mean_of_replicas(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace gradients by their means over the replicas."""
        if self._replicas is None:
            return
        gradients = [p.grad for p in parameters]
        flat = parameters_to_vector(gradients)
        self._unpaced(dist.all_reduce, flat, group=self._replicas)
        vector_to_parameters(flat / self.layout.replicas, gradients)

    def send(self, x: torch.Tensor, stages: int) -> None:
        """Send a tensor so many stages ahead (1) or back (−1), without waiting for its arrival."""
        x = x.contiguous()
        self._sent.append((self._unpaced(dist.isend, x, self._at(stages), group=self._direction(stages)), x))

    def receive(self, shape: Sequence[int], stages: int) -> torch.Tensor:
        """Wait for a tensor from so many stages ahead (1) or back (−1)."""
        x = torch.empty(tuple(shape), device=self.where)
        self._unpaced(dist.recv, x, self._at(stages), group=self._direction(-stages))
        return x

    def arrived(self) -> None:
        """Wait until everything that was sent has arrived."""
        self.pace.end()
        for work, _ in self._sent:
            work.wait()
        self._sent.clear()
        self.pace.begin()

    def _unpaced(self, exchange: Callable[..., Any], *arguments: Any, **group: Any) -> Any:
        """Return what an exchange does: its time is no computation of the device."""
        self.pace.end()
        done = exchange(*arguments, **group)
        self.pace.begin()
        return done

    def _at(self, stages: int) -> int:
        return self.layout.rank(self.stage + stages, self.replica, self.shard)

    def _direction(self, stages: int) -> Any:
        return self.groups.directions[0 if stages > 0 else 1]


class _Enter(torch.autograd.Function):
    """Into the shards: the identity, whose gradient is the sum over the shards."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, device: Device) -> torch.Tensor:
        ctx.device = device
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.device.sum_of_shards(gradient), None


class _Leave(torch.autograd.Function):
    """Out of the shards: the sum over them, whose gradient is the identity."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, device: Device) -> torch.Tensor:
        return device.sum_of_shards(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


class Block(nn.Module):
    """A shard of causal self-attention and of a dense part of four times the width, each with a shortcut."""

    def __init__(self, shape: Shape, device: Device) -> None:
        super().__init__()
        width, shards = shape.width, device.layout.shards
        self.device, self.heads = device, shape.heads // shards
        self.before_attention, self.before_dense = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward = nn.Linear(width, 3 * width // shards)
        self.outward = nn.Linear(width // shards, width, bias=False)
        self.wider, self.narrower = nn.Linear(width, 4 * width // shards), nn.Linear(4 * width // shards, width, False)
        self.biases = nn.ParameterList([torch.zeros(width), torch.zeros(width)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, length, width) to the same shape."""
        batch, length, _ = x.shape
        split = self.inward(_Enter.apply(self.before_attention(x), self.device))
        query, key, value = split.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        part = self.outward(mixed.transpose(1, 2).reshape(batch, length, -1))
        x = x + _Leave.apply(part, self.device) + self.biases[0]
        part = self.narrower(functional.gelu(self.wider(_Enter.apply(self.before_dense(x), self.device))))
        return x + _Leave.apply(part, self.device) + self.biases[1]


class Stage(nn.Module):
    """The layers of one device."""

    def __init__(self, shape: Shape, device: Device) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*[Block(shape, device) for _ in range(shape.layers // device.layout.stages)])
        self.tokens = nn.Embedding(shape.vocabulary, shape.width) if device.first else None
        self.positions = nn.Parameter(torch.zeros(shape.sequence, shape.width)) if device.first else None
        self.norm = nn.LayerNorm(shape.width) if device.last else None
        self.scores = nn.Linear(shape.width, shape.vocabulary, bias=False) if device.last else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tokens, or what the stage before hands on, to what the next one takes, or to scores."""
        if self.tokens is not None:
            x = self.tokens(x) + self.positions
        x = self.blocks(x)
        return x if self.norm is None or self.scores is None else self.scores(self.norm(x))


class Training:
    """One device's part in training steps."""

    def __init__(self, shape: Shape, device: Device) -> None:
        torch.manual_seed(device.stage)
        layout = device.layout
        with device.where:
            self.stage = Stage(shape, device)
            count = shape.batch // layout.replicas
            tokens = torch.randint(0, shape.vocabulary, (2, count, shape.sequence))
        self.inputs, self.wanted = tokens[0].split(layout.micro), tokens[1].split(layout.micro)
        self.device, self.between = device, (layout.micro, shape.sequence, shape.width)
        self.parameters = list(self.stage.parameters())
        self.optimizer = torch.optim.Adam(self.parameters, lr=1e-4)
        self._waiting: deque[tuple[torch.Tensor, torch.Tensor]] = deque()

    def step(self) -> None:
        """Train one step: forward and backward in turn, as soon as the stages are filled."""
        device, count = self.device, len(self.inputs)
        device.pace.begin()
        self.optimizer.zero_grad()
        ahead = min(device.layout.stages - device.stage - 1, count)
        for number in range(ahead):
            self._forward(number)
        for number in range(ahead, count):
            self._forward(number)
            self._backward()
        for _ in range(ahead):
            self._backward()
        if device.layout.stages > 1:
            device.arrived()
        device.mean_of_replicas(self.parameters)
        self.optimizer.step()
        device.pace.end()

    def _forward(self, number: int) -> None:
        first = self.device.first
        x = self.inputs[number] if first else self.device.receive(self.between, -1).requires_grad_()
        y = self.stage(x)
        if self.device.last:
            y = functional.cross_entropy(y.flatten(0, 1), self.wanted[number].flatten()) / len(self.inputs)
        else:
            self.device.send(y.detach(), 1)
        self._waiting.append((x, y))

    def _backward(self) -> None:
        x, y = self._waiting.popleft()
        if self.device.last:
            y.backward()
        else:
            y.backward(self.device.receive(self.between, 1))
        if not self.device.first:
            self.device.send(x.grad, -1)


def largest(value: float, where: torch.device) -> float:
    """Return the largest of a value over all devices."""
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return value
    shared = torch.tensor([value], dtype=torch.float64, device=where)
    dist.all_reduce(shared, op=dist.ReduceOp.MAX)
    return float(shared.item())
