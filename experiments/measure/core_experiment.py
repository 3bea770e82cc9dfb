"""The core experiment: sampled networks on 1 to 8 workers of an emulated cluster, the same in three frameworks.

What is real and what is not, the sample and what will be asked of it: experiments/protocols/core-experiment.md. Needs
root and the frameworks' environments (environments.py). The same command goes on where it stopped.

    python experiments/measure/core_experiment.py --out data/core_experiment.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from campaign import counts, finish, guarded, measure
from cluster import Link
from core_design import EXTRINSIC, INTRINSIC, WORKERS, Design, configurations
from launch import Job, Windows
from record import Recorder

FRAMEWORKS = ("pytorch", "tensorflow", "mxnet")
FACTORS = ["framework", "workers", "servers", "link_mbit", "slowdown", "network", *INTRINSIC, "image_size", *EXTRINSIC]
PHASES = ["computation_s", "exchange_s", "update_s"]
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "parameters", "bytes", "forward_flops", "repeat", "steps",
           "startup_s", *PHASES, "step_time_s", "step_time_mean_s", "step_time_std_s"]  # fmt: skip


def jobs(design: Design, frameworks: Sequence[str], workers: Sequence[int]) -> list[Job]:
    """Return one job for each framework and count of workers: the frameworks in turn, the counts rising.

    Parameters
    ----------
    design : Design
    frameworks : sequence of str
    workers : sequence of int
    """
    common = {"link_mbit": design.link_mbit, "slowdown": design.slowdown}
    sample = configurations(design, workers)
    planned = []
    for count in sorted(workers):
        cases = [
            {**common, **{name: value for name, value in case.items() if name != "workers"}}
            for case in sample
            if case["workers"] == count
        ]
        for framework in frameworks:
            servers = design.servers if framework == "mxnet" else 0
            planned.append(Job(framework, count, servers, cases, f"worker_core_{framework}.py"))
    return planned


def main() -> None:
    design = Design()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/core_experiment.csv"))
    parser.add_argument("--frameworks", type=lambda t: tuple(t.split(",")), default=FRAMEWORKS)
    parser.add_argument("--workers", type=counts, default=WORKERS)
    parser.add_argument("--networks", type=int, default=design.networks, help=f"sampled (default {design.networks})")
    parser.add_argument("--seed", type=int, default=design.seed)
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a timing window (default 0.2)")
    given = parser.parse_args()
    design = replace(design, networks=given.networks, seed=given.seed)
    windows = Windows(repeats=3, seconds=given.seconds, steps=(3, 6))
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    planned = jobs(design, given.frameworks, given.workers)
    finish(measure(planned, recorder, link=Link(design.link_mbit), windows=windows), given.out)


if __name__ == "__main__":
    guarded(main)
