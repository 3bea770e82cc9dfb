"""A worker that does what comes before the first step: reads the data and joins the others. PyTorch over gloo.

worker_reading.py FOLDER RANK
"""

from __future__ import annotations

import os
import time

from meeting import STOP
from reading import Storage
from work import STARTED, Case, job

MEETING, JOB, RANK = job()
WORKERS: int = JOB["workers"]
os.environ.update(GLOO_SOCKET_IFNAME=JOB["interface"], MASTER_ADDR=JOB["addresses"][0])

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

STORAGE = Storage(JOB)


def start(case: Case, port: int) -> dict[str, float]:
    """Start as a job does, and return the seconds of each part; reading is the slowest worker's."""
    begun = time.perf_counter()
    samples = case["samples"] if case["reading"] == "whole" else case["samples"] // WORKERS
    STORAGE.read(samples * case["sample_bytes"])
    has_read = time.perf_counter()
    os.environ["MASTER_PORT"] = str(port)
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
imported = time.perf_counter() - STARTED
MEETING.put(f"ready-{RANK}", {"version": torch.__version__, "startup_s": imported})
port = JOB["port"]
for number, case in enumerate(JOB["cases"]):
    if MEETING.wait(f"go-{number}") == STOP:
        break
    # Once for nothing: the workers saw "go" at different moments.
    start({**case, "samples": 0}, port)
    port += 1
    found = []
    for _ in range(JOB["repeats"]):
        found.append({"import_s": imported, **start(case, port)})
        port += 1
    if RANK == 0:
        MEETING.put(f"result-{number}", found)
    MEETING.put(f"done-{number}-{RANK}", None)
