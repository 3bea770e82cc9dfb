"""A worker that does what comes before the first step: reads the data and joins the others. PyTorch over gloo.

worker_reading.py FOLDER RANK
"""

from __future__ import annotations

import itertools
import os
import time

from storage import Storage
from work import STARTED, Case, job, serve_cases

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
os.environ.update(GLOO_SOCKET_IFNAME=JOB["interface"], MASTER_ADDR=JOB["addresses"][0])

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

STORAGE = Storage(JOB)
#: Each start meets at a port of its own.
PORTS = itertools.count(JOB["port"])


def start(case: Case) -> dict[str, float]:
    """Start as a job does, and return the seconds of each part; reading is the slowest worker's."""
    begun = time.perf_counter()
    samples = case["samples"] if case["reading"] == "whole" else case["samples"] // WORKERS
    STORAGE.read(samples * case["sample_bytes"])
    has_read = time.perf_counter()
    os.environ["MASTER_PORT"] = str(next(PORTS))
    dist.init_process_group("gloo", rank=RANK, world_size=WORKERS)
    dist.barrier()
    joined = time.perf_counter()
    slowest = torch.tensor(has_read - begun, dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    # Together, so that all begin the next time at once.
    dist.barrier()
    dist.destroy_process_group()
    reading = float(slowest)
    return {"read_s": reading, "rendezvous_s": joined - begun - reading, "startup_s": joined - begun}


STORAGE.until_there()
IMPORTED = time.perf_counter() - STARTED


def measure(number: int, case: Case) -> list[dict[str, float]]:
    # Once for nothing: the workers saw "go" at different moments.
    start({**case, "samples": 0})
    return [{"import_s": IMPORTED, **start(case)} for _ in range(JOB["repeats"])]


serve_cases(MEETING, JOB, RANK, torch.__version__, measure)
