"""Steps that one thing makes slower, in three frameworks: what `genperf explain --versus` is to find out.

A sound configuration, and five others that differ from it in one thing: slow storage, slow links, slow kernels, no
prefetching of the input, no overlap of the exchange. (A larger batch, the sixth, is in every one.) Computation, reading
and copying are waits; the exchange is real. The phases are timed one after another in steps of their own, the step as
the configuration has it. Needs root and the frameworks' environments (environments.py).

    python experiments/measure/causes.py --out data/causes.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaign import counts, finish, guarded, measure
from cluster import Link
from launch import Case, Job, Windows
from networks import BYTES_PER_PARAMETER
from record import Recorder
from stages import AFTERWARDS, LAYERS

HOSTS = (2, 4, 8)
BATCHES = (2, 4)
#: What a sample waits at each stage of the sound configuration, s, and its links, Mbit/s.
SOUND: Case = {
    "io_per_sample_s": 0.01,
    "h2d_per_sample_s": 0.0025,
    "forward_per_sample_s": 0.015,
    "backward_per_sample_s": 0.03,
    "prefetch": 1,
    "exchange": LAYERS,
    "link_mbit": 200.0,
}
#: What is different in the others.
PLANTED: dict[str, Case] = {
    "none": {},
    "slow storage": {"io_per_sample_s": 0.1},
    "slow kernel": {"forward_per_sample_s": 0.03, "backward_per_sample_s": 0.06},
    "no prefetch": {"prefetch": 0},
    "no overlap": {"exchange": AFTERWARDS},
    "slow link": {"link_mbit": 25.0},
}
#: Eight layers: what cannot be hidden is the exchange of one of them. Rings carry 1.3 MB and a server's links 0.33 MB.
LAYERS_OF = 8
HIDDEN = {"pytorch": 204, "tensorflow": 204, "mxnet": 102}
ARCHITECTURES = {"pytorch": "ring-allreduce", "tensorflow": "ring-allreduce", "mxnet": "parameter-server"}

FACTORS = ["framework", "architecture", "planted", "workers", "servers", "batch_per_worker", "layers", "hidden", *SOUND]
PHASES = ["io_s", "h2d_s", "forward_s", "backward_s", "exchange_s", "update_s"]
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "bytes", "repeat", "steps", "startup_s", *PHASES,
           "step_time_s", "step_time_mean_s", "step_time_std_s"]  # fmt: skip


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    size = BYTES_PER_PARAMETER * case["layers"] * case["hidden"] ** 2
    return {"framework": job.framework, "workers": job.workers, "servers": job.servers, **case, "bytes": size}


def jobs(hosts: Sequence[int], frameworks: Sequence[str], batches: Sequence[int], faster: float = 1.0) -> list[Job]:
    """Return one job for each framework and number of hosts; `faster` divides all waits."""

    def case(framework: str, cause: str, batch: int) -> Case:
        stages = {**SOUND, **PLANTED[cause]}
        stages = {name: value / faster if name.endswith("_sample_s") else value for name, value in stages.items()}
        return {"architecture": ARCHITECTURES[framework], "planted": cause, "batch_per_worker": batch,
                "layers": LAYERS_OF, "hidden": HIDDEN[framework], "phases": 1, **stages}  # fmt: skip

    return [
        Job(
            framework,
            workers,
            int(ARCHITECTURES[framework] == "parameter-server"),
            [case(framework, cause, batch) for cause in PLANTED for batch in batches],
            f"worker_stages_{framework}.py",
        )
        for framework in frameworks
        for workers in hosts
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/causes.csv"))
    parser.add_argument("--hosts", type=counts, default=HOSTS)
    parser.add_argument("--batches", type=counts, default=BATCHES)
    parser.add_argument("--frameworks", type=lambda t: tuple(t.split(",")), default=tuple(ARCHITECTURES))
    parser.add_argument("--faster", type=float, default=1.0, help="all waits shorter by this factor (default 1)")
    given = parser.parse_args()
    windows = Windows(repeats=2, seconds=0.3, steps=(2, 4))
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    planned = jobs(given.hosts, given.frameworks, given.batches, given.faster)
    link = Link(SOUND["link_mbit"])
    finish(measure(planned, recorder, link=link, windows=windows, describe=described), given.out)


if __name__ == "__main__":
    guarded(main)
