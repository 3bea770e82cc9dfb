"""Replicas of a partitioned model that push to sharded parameter servers, each replica at its own pace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import simpy

from experiments.simulate.links import Link, Process, send

#: Parts of a network between which partitions exchange activations.
STAGES = 2


@dataclass(frozen=True)
class System:
    """A model and the machines to train it on."""

    #: Seconds per sample on one thread with the memory to itself.
    compute: float
    #: Share of a thread's time that it needs the memory bus, on which threads queue.
    memory: float
    #: `activations`, `weights`: Bytes per sample that a partition needs of the others, and of the model.
    activations: float
    weights: float
    #: `samples`, `batch`: Of an epoch, and of a mini-batch of a replica.
    samples: int
    batch: int
    #: `port`, `latency`: Bytes/s of a machine's port, seconds of a message.
    port: float
    latency: float
    #: Bytes/s at which a server applies gradients.
    applying: float
    #: Standard deviation of the logarithm of a computation's time.
    jitter: float = 0.03


def thread_speed(system: System, threads: int, bursts: int = 60) -> float:
    """Return how many times faster a machine is with some threads than with one, by simulating the memory bus.

    Examples
    --------
    >>> alone = System(1.0, 0.25, 0.0, 0.0, 1, 1, 1.0, 0.0, 1.0)
    >>> thread_speed(alone, 1)
    1.0
    >>> 3.8 < thread_speed(alone, 16) <= 4.0  # the bus is busy a quarter of the time with one: four at most
    True
    """
    env, bus = simpy.Environment(), Link(1.0)

    def thread() -> Process:
        for _ in range(bursts):
            yield env.timeout(1.0 - system.memory)
            _, end = bus.accept(env.now, system.memory)
            yield env.timeout(end - env.now)

    env.run(env.all_of([env.process(thread()) for _ in range(threads)]))
    return threads * bursts / float(env.now)


def epoch(
    system: System,
    replicas: int,
    partitions: int,
    servers: int,
    speed: float,
    rng: np.random.Generator,
    batches: int = 4,
) -> float:
    """Return the seconds of an epoch, from simulating some mini-batches of every replica."""
    env = simpy.Environment()
    ports = [[(Link(system.port), Link(system.port)) for _ in range(partitions)] for _ in range(replicas)]
    shards = [(Link(system.port), Link(system.port), Link(system.applying)) for _ in range(servers)]
    stage = system.batch * system.compute / (STAGES * partitions * speed)
    part = system.batch * system.activations / (STAGES * partitions)
    piece = system.weights / (partitions * servers)

    def compute() -> Process:
        yield env.timeout(stage * rng.lognormal(0.0, system.jitter))

    def exchange(machine: tuple[Link, Link], shard: tuple[Link, Link, Link]) -> Process:
        yield from send(env, machine[0], shard[1], piece, system.latency)
        _, applied = shard[2].accept(env.now, piece)
        yield env.timeout(applied - env.now)
        yield from send(env, shard[0], machine[1], piece, system.latency)

    def replica(own: list[tuple[Link, Link]]) -> Process:
        for _ in range(batches):
            for _ in range(STAGES):
                yield env.all_of([env.process(compute()) for _ in own])
                yield env.all_of(
                    [
                        env.process(send(env, source[0], own[(i + k) % partitions][1], part, system.latency))
                        for i, source in enumerate(own)
                        for k in range(1, partitions)
                    ]
                )
            yield env.all_of([env.process(exchange(machine, shard)) for machine in own for shard in shards])

    env.run(env.all_of([env.process(replica(own)) for own in ports]))
    return float(env.now) / batches * system.samples / (replicas * system.batch)
