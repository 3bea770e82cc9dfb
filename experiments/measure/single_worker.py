"""Training steps of sampled networks in three frameworks, one worker on one core.

python experiments/measure/single_worker.py --out data/single_worker.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from campaign import NETWORK, TIMES, finish, guarded, measure
from launch import Case, Job, Windows
from networks import forward_flops, parameter_count, sample
from record import Recorder

FRAMEWORKS = ("pytorch", "tensorflow", "mxnet")
NETWORKS = 64
SEED = 0
FACTORS = ["framework", *NETWORK]
COLUMNS = ["framework", "framework_version", *NETWORK, "parameters", "forward_flops",
           *(name for name in TIMES if name != "exchange_s")]  # fmt: skip


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    return {
        "framework": job.framework,
        **case,
        "parameters": parameter_count(case),
        "forward_flops": forward_flops(case),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/single_worker.csv"))
    parser.add_argument("--networks", type=int, default=NETWORKS, help=f"networks sampled (default {NETWORKS})")
    parser.add_argument("--frameworks", type=lambda t: tuple(t.split(",")), default=FRAMEWORKS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--seconds", type=float, default=0.4, help="length of a timing window (default 0.4)")
    given = parser.parse_args()
    windows = Windows(repeats=3, seconds=given.seconds, steps=(3, 40))
    networks = sample(given.networks, given.seed)
    jobs = [Job(framework, 1, 0, networks) for framework in given.frameworks]
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    finish(measure(jobs, recorder, windows=windows, describe=described), given.out)


if __name__ == "__main__":
    guarded(main)
