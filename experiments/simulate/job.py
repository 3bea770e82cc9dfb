"""A whole job on a cluster: every worker reads the data through shared storage, then one server serves all workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import simpy

from experiments.simulate.links import Link, Process, send


@dataclass(frozen=True)
class Cluster:
    """What a job runs on."""

    #: Seconds until a worker is up.
    start: float
    #: `storage`, `port`: Bytes/s of the shared storage, and of a worker's port.
    storage: float
    port: float
    #: Seconds of the server for one worker's update.
    service: float
    #: `compute`, `fixed`: Seconds per sample, and of every iteration.
    compute: float
    fixed: float
    #: Standard deviation of the logarithm of a computation's time.
    jitter: float = 0.05


@dataclass(frozen=True)
class Job:
    """One simulated job: seconds of all of it, and until the last worker had read its data."""

    total: float
    initialisation: float


def run_job(cluster: Cluster, workers: int, batch: int, iterations: int, data: float, rng: np.random.Generator) -> Job:
    """Simulate a job.

    Examples
    --------
    One worker waits for nobody: 1 + 100/10 to read, 4 iterations of 2·0.5 + 0.25 s and 0.125 s at the server.

    >>> run_job(Cluster(1.0, 10.0, 1e9, 0.125, 0.5, 0.25, 0.0), 1, 2, 4, 100.0, np.random.default_rng(0)).total
    16.5
    """
    env = simpy.Environment()
    storage, server = Link(cluster.storage), Link(1.0)
    ready = []

    def worker() -> Process:
        yield env.timeout(cluster.start * rng.lognormal(0.0, cluster.jitter))
        port, chunks = Link(cluster.port), 64
        for _ in range(chunks):
            yield from send(env, storage, port, data / chunks)
        ready.append(env.now)
        for _ in range(iterations):
            seconds = batch * cluster.compute + cluster.fixed
            yield env.timeout(seconds * rng.lognormal(0.0, cluster.jitter))
            # The server's unit of work is a second.
            _, end = server.accept(env.now, cluster.service)
            yield env.timeout(end - env.now)

    env.run(env.all_of([env.process(worker()) for _ in range(workers)]))
    return Job(float(env.now), max(ready))
