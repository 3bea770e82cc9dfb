"""Synchronous data-parallel training: steps of workers that exchange gradients over a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import simpy

from experiments.simulate.links import Link, Process, send

Architecture = Literal["ring", "server", "peer"]


@dataclass(frozen=True)
class Layer:
    """A part of the network whose gradients travel together."""

    #: `forward`, `backward`: Seconds per sample.
    forward: float
    backward: float
    #: Bytes of its gradients.
    size: float


@dataclass(frozen=True)
class Hardware:
    """What the workers run on."""

    #: `bandwidth`, `latency`: Of the port of a node, bytes/s, and of a message, s.
    bandwidth: float
    latency: float = 20e-6
    #: Workers of a node, which share its port and its storage.
    per_node: int = 1
    #: Bytes/s between workers of one node.
    inside: float = 10e9
    #: Bytes/s of a node's storage.
    storage: float = float("inf")
    #: Standard deviation of the logarithm of a computation's time.
    jitter: float = 0.03


@dataclass(frozen=True)
class Program:
    """How a framework trains."""

    layers: tuple[Layer, ...]
    #: Seconds of every step that no sample makes.
    fixed: float = 0.0
    #: Seconds to apply the gradients.
    update: float = 0.0
    #: Read from storage for a sample.
    sample_bytes: float = 0.0
    #: Whether the next batch is read while this one is computed.
    prefetch: bool = True
    #: Whether a layer's gradients leave as soon as they are there.
    overlap: bool = True


@dataclass(eq=False)
class Run:
    """One simulated run."""

    #: Mean seconds of a step after the first.
    step: float
    #: Bytes through the busiest port and direction in a step.
    busiest: float


def train(
    architecture: Architecture,
    program: Program,
    hardware: Hardware,
    workers: int,
    batch: int,
    rng: np.random.Generator,
    servers: int = 1,
    steps: int = 5,
) -> Run:
    """Simulate some steps.

    Examples
    --------
    >>> program = Program((Layer(0.01, 0.02, 4e6),), fixed=0.1)
    >>> round(train("ring", program, Hardware(1e9, jitter=0.0), 1, 10, np.random.default_rng(0)).step, 6)
    0.4
    """
    cluster = _Cluster(architecture, program, hardware, workers, batch, rng, servers, steps)
    cluster.env.run(cluster.finished)
    ends = np.array(cluster.ends)
    return Run(float((ends[-1] - ends[0]) / (len(ends) - 1)), cluster.busiest() / steps)


@dataclass(eq=False)
class _Cluster:
    architecture: Architecture
    program: Program
    hardware: Hardware
    workers: int
    batch: int
    rng: np.random.Generator
    servers: int
    steps: int
    ends: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.env = simpy.Environment()
        nodes = -(-self.workers // self.hardware.per_node)
        self.out = [Link(self.hardware.bandwidth) for _ in range(nodes)]
        self.into = [Link(self.hardware.bandwidth) for _ in range(nodes)]
        self.own = [Link(self.hardware.inside) for _ in range(self.workers)]
        self.storage = [Link(self.hardware.storage) for _ in range(nodes)]
        self.server_out = [Link(self.hardware.bandwidth) for _ in range(self.servers)]
        self.server_into = [Link(self.hardware.bandwidth) for _ in range(self.servers)]
        self.arrived: Counter[tuple[int, ...]] = Counter()
        self.events: dict[tuple[int, ...], simpy.Event] = {}
        exchange = {"ring": self.ring, "server": self.server, "peer": self.peer}[self.architecture]
        self.exchange = exchange
        running = [self.env.process(self.worker(i)) for i in range(self.workers)]
        self.finished = self.env.all_of(running)

    def busiest(self) -> float:
        """Return the bytes through the busiest port of a node or server."""
        return max(link.carried for link in (*self.out, *self.into, *self.server_out, *self.server_into))

    def event(self, *key: int) -> simpy.Event:
        """Return the event of a name."""
        if key not in self.events:
            self.events[key] = self.env.event()
        return self.events[key]

    def taken(self, seconds: float) -> float:
        """Return how long a computation takes this time."""
        if self.hardware.jitter == 0.0:
            return seconds
        return float(seconds * self.rng.lognormal(0.0, self.hardware.jitter))

    def node(self, worker: int) -> int:
        """Return the node of a worker."""
        return worker // self.hardware.per_node

    def worker(self, i: int) -> Process:
        """Run all steps of a worker."""
        loaded = simpy.Store(self.env, capacity=1)
        if self.program.prefetch:
            self.env.process(self.loader(i, loaded))
        depth = len(self.program.layers)
        for step in range(self.steps):
            if self.program.prefetch:
                yield loaded.get()
            else:
                yield from self.load(i)
            forward = self.program.fixed + self.batch * sum(layer.forward for layer in self.program.layers)
            yield self.env.timeout(self.taken(forward))
            for at in reversed(range(depth)):
                yield self.env.timeout(self.taken(self.batch * self.program.layers[at].backward))
                if self.program.overlap:
                    self.env.process(self.exchange(i, step, at))
            if not self.program.overlap:
                for at in reversed(range(depth)):
                    self.env.process(self.exchange(i, step, at))
            yield self.env.all_of([self.event(i, step, at) for at in range(depth)])
            yield self.env.timeout(self.program.update)
            self.arrived[-1, step] += 1
            if self.arrived[-1, step] == self.workers:
                self.ends.append(self.env.now)

    def load(self, i: int) -> Process:
        """Read a batch from the storage of the node."""
        size = self.batch * self.program.sample_bytes
        _, end = self.storage[self.node(i)].accept(self.env.now, size)
        yield self.env.timeout(end - self.env.now)

    def loader(self, i: int, loaded: simpy.Store) -> Process:
        """Read batches ahead."""
        for step in range(self.steps):
            yield from self.load(i)
            yield loaded.put(step)

    def message(self, source: int, target: int, size: float) -> Process:
        """Send from one worker to another: over the ports of their nodes, or inside the node."""
        if self.hardware.per_node > 1 and self.node(source) == self.node(target):
            return send(self.env, self.own[source], self.own[target], size, 0.1 * self.hardware.latency)
        return send(self.env, self.out[self.node(source)], self.into[self.node(target)], size, self.hardware.latency)

    def ring(self, i: int, step: int, at: int) -> Process:
        """Reduce one layer around the ring: in each round a worker passes on the part that it got in the one before."""
        n = self.workers
        part = self.program.layers[at].size / n
        following = (i + 1) % n
        for turn in range(2 * (n - 1)):
            self.env.process(self.pass_on(i, following, part, (step, at, turn, following)))
            yield self.event(step, at, turn, i)
        self.event(i, step, at).succeed()

    def pass_on(self, source: int, target: int, size: float, key: tuple[int, ...]) -> Process:
        """Send, and say so on arrival."""
        yield from self.message(source, target, size)
        self.event(*key).succeed()

    def peer(self, i: int, step: int, at: int) -> Process:
        """Send one layer's gradients to every other worker, each beginning with its neighbour."""
        size = self.program.layers[at].size
        self.count(i, step, at, self.workers)
        for k in range(1, self.workers):
            self.env.process(self.deliver(i, (i + k) % self.workers, size, step, at))
        yield self.event(i, step, at)

    def deliver(self, source: int, target: int, size: float, step: int, at: int) -> Process:
        """Send, and count on arrival."""
        yield from self.message(source, target, size)
        self.count(target, step, at, self.workers)

    def server(self, i: int, step: int, at: int) -> Process:
        """Push one layer's gradients, a part to each server; the last worker's push sends the weights to all."""
        part = self.program.layers[at].size / self.servers
        for s in range(self.servers):
            self.env.process(self.push(i, s, part, step, at))
        yield self.event(i, step, at)

    def push(self, i: int, s: int, size: float, step: int, at: int) -> Process:
        """Send to a server."""
        yield from send(self.env, self.out[self.node(i)], self.server_into[s], size, self.hardware.latency)
        self.arrived[-2, s, step, at] += 1
        if self.arrived[-2, s, step, at] == self.workers:
            for worker in range(self.workers):
                self.env.process(self.pull(worker, s, size, step, at))

    def pull(self, i: int, s: int, size: float, step: int, at: int) -> Process:
        """Send from a server."""
        yield from send(self.env, self.server_out[s], self.into[self.node(i)], size, self.hardware.latency)
        self.count(i, step, at, self.servers)

    def count(self, i: int, step: int, at: int, wanted: int) -> None:
        """Count an arrival; the last completes the layer."""
        self.arrived[i, step, at] += 1
        if self.arrived[i, step, at] == wanted:
            self.event(i, step, at).succeed()


def layers_of(depth: int, seconds: float, size: float) -> tuple[Layer, ...]:
    """Cut a network into equal layers, forward : backward = 1 : 2, whose sizes double from each to the next."""
    shares: Iterable[float] = 2.0 ** np.arange(depth)
    whole = float(sum(shares))
    return tuple(Layer(seconds / 3 / depth, 2 * seconds / 3 / depth, size * s / whole) for s in shares)
