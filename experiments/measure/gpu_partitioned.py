"""Two transformers in every layout on the accelerators of one host, over NCCL.

Replicas, pipeline stages, tensor shards and micro-batches, with the most memory that a device held. The layouts and the
columns are those of partitioned_campaign.py. The same command goes on where it stopped. A layout that does not fit into
memory is named and left out.

    python experiments/measure/gpu_partitioned.py --out gpu_partitioned.csv
    python experiments/measure/gpu_partitioned.py --device cpu --devices 1,2 --out try.csv      a tiny transformer
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

from campaign import counts, finish, guarded, measure
from launch import Case, Job, Windows
from partition_design import DEVICES, LARGE, TINY, cases
from partitioned_campaign import COLUMNS, FACTORS, SEED, described
from problems import MeasureError
from record import Recorder

#: Emulated hosts have a link and a pace; accelerators have a name.
EMULATED = ("link_mbit", "slowdown")


def accelerators() -> list[str]:
    """Return the names of this host's accelerators."""
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    listed = subprocess.run(query, capture_output=True, text=True, check=False)
    return listed.stdout.strip().splitlines() if listed.returncode == 0 else []


def placed(names: list[str]) -> list[str]:
    """Return the columns of emulated hosts with the device in the place of the link and the pace."""
    return ["device" if name == EMULATED[0] else name for name in names if name != EMULATED[1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--devices", type=counts, default=DEVICES, help="those that the host has not are left out")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a try on processors")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a timing window (default 0.5)")
    parser.add_argument("--port", type=int, default=29500)
    given = parser.parse_args()
    names = accelerators()
    if given.device == "cuda" and not names:
        raise MeasureError("nvidia-smi lists no accelerator; for a try on processors add --device cpu")
    shapes = LARGE if given.device == "cuda" else TINY
    common: dict[str, Any] = {"device": names[0]} if given.device == "cuda" else {"device": "cpu", "slowdown": 1.0}
    windows = Windows(repeats=3, seconds=given.seconds, steps=(2, 20))
    jobs = []
    for devices in given.devices:
        if given.device == "cuda" and devices > len(names):
            continue
        planned = cases(shapes, devices)
        random.Random(SEED).shuffle(planned)
        jobs.append(
            Job("pytorch", devices, 0, [{**common, **case} for case in planned], "worker_partitioned_pytorch.py")
        )

    def with_device(job: Job, case: Case) -> dict[str, Any]:
        return {name: value for name, value in described(job, case).items() if name not in EMULATED}

    recorder = Recorder(given.out, placed(COLUMNS), placed(FACTORS), windows.repeats)
    finish(measure(jobs, recorder, windows=windows, describe=with_device, port=given.port), given.out)


if __name__ == "__main__":
    guarded(main)
