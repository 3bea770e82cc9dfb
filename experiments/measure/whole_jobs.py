"""Whole jobs: every worker reads the data set from one storage host, then all iterate against one server.

This is the situation of the CNTK paper (Hashemi et al. 2016), with a server at which workers wait for each other or do
not. Computation is a wait. Needs root and MXNet's environment.

    python experiments/measure/whole_jobs.py --out data/whole_jobs.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaign import counts, finish, guarded, measure
from cluster import Link
from initialisation import SAMPLE_BYTES
from launch import Case, Job, Windows
from networks import BYTES_PER_PARAMETER
from record import Recorder

HOSTS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
SERVER = ("synchronous", "asynchronous")
#: What a sample computes, s; gradients of 0.5 MB keep a link of 200 Mbit/s busy for 0.02 s.
COMPUTE_S, HIDDEN, MBIT = 0.06, 354, 200.0
#: Jobs: batch, iterations, samples of the data set (1.2 and 4.9 MB). None of them shares the work below.
JOBS = ((2, 5, 400), (2, 10, 400), (2, 5, 1600), (1, 5, 400), (4, 5, 400))
#: Jobs that share a work: iterations of all workers together, with batches of 2. All of HOSTS divide it.
WORK, WORK_BATCH, WORK_SAMPLES = 48, 2, (400, 1600)

FACTORS = ["framework", "server", "workers", "batch_per_worker", "iterations", "samples", "sample_bytes",
           "compute_per_sample_s", "hidden", "link_mbit"]  # fmt: skip
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "bytes", "repeat", "initialisation_s",
           "iterations_s", "job_s"]  # fmt: skip


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    return {
        "framework": job.framework,
        "workers": job.workers,
        **case,
        "bytes": BYTES_PER_PARAMETER * case["hidden"] ** 2,
    }


def cases(server: str, workers: int, samples_scale: int = 1, work: int = WORK) -> list[Case]:
    """Return the jobs of so many workers; `samples_scale` divides the data set, `work` is shared."""
    every = [*JOBS, *((WORK_BATCH, work // workers, samples) for samples in WORK_SAMPLES)]
    return [
        {"server": server, "batch_per_worker": batch, "iterations": iterations, "samples": samples // samples_scale,
         "sample_bytes": SAMPLE_BYTES, "compute_per_sample_s": COMPUTE_S, "hidden": HIDDEN, "link_mbit": MBIT}
        for batch, iterations, samples in dict.fromkeys(every)
    ]  # fmt: skip


def jobs(hosts: Sequence[int], servers: Sequence[str], samples_scale: int = 1, work: int = WORK) -> list[Job]:
    """Return one job for each kind of server and number of workers."""
    program, beside = "worker_job_mxnet.py", "storage.py"
    return [
        Job("mxnet", workers, 1, cases(server, workers, samples_scale, work), program, beside)
        for server in servers
        for workers in hosts
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/whole_jobs.csv"))
    parser.add_argument("--hosts", type=counts, default=HOSTS)
    parser.add_argument("--servers", type=lambda t: tuple(t.split(",")), default=SERVER)
    parser.add_argument("--samples-scale", type=int, default=1, help="data sets smaller by this factor (default 1)")
    parser.add_argument("--work", type=int, default=WORK, help=f"iterations of all workers together (default {WORK})")
    given = parser.parse_args()
    windows = Windows(repeats=2)
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    planned = jobs(given.hosts, given.servers, given.samples_scale, given.work)
    finish(measure(planned, recorder, link=Link(MBIT), windows=windows, describe=described), given.out)


if __name__ == "__main__":
    guarded(main)
