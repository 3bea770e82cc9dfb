"""Two small transformers in every layout on 1 to 8 emulated hosts.

Replicas, pipeline stages, tensor shards and micro-batches: real partitioned training in PyTorch. What is emulated, and
what will be asked: experiments/protocols/partitioned.md. Needs root and PyTorch's environment. The same command goes
on where it stopped.

    python experiments/measure/partitioned_campaign.py --out data/partitioned.csv
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from campaign import counts, finish, guarded, measure
from cluster import Link
from launch import Case, Job, Windows
from partition_design import DEVICES, FULL, TINY, cases, of_case
from record import Recorder

#: A host's device takes so many seconds for one of a core. 8 hosts share 2 cores: 4 would leave no time.
SLOWDOWN = 6.0
MBIT = 200.0
#: Of the order in which layouts are measured: what drifts is not mistaken for a layout.
SEED = 14
SHAPE = ["model", "num_layers", "hidden_size", "num_heads", "seq_length", "vocab_size", "global_batch"]
LAYOUT = ["devices", "data_parallel", "tensor_parallel", "pipeline_parallel", "micro_batch"]
FACTORS = ["framework", "link_mbit", "slowdown", *SHAPE, *LAYOUT]
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "grad_accumulation", "params", "repeat", "steps",
           "startup_s", "memory_mb", "step_time_s", "step_time_mean_s", "step_time_std_s"]  # fmt: skip


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    shape, layout = of_case(case)
    return {
        "framework": job.framework,
        "devices": job.workers,
        **case,
        "grad_accumulation": shape.batch // (layout.replicas * layout.micro),
        "params": shape.parameters(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/partitioned.csv"))
    parser.add_argument("--devices", type=counts, default=DEVICES)
    parser.add_argument("--tiny", action="store_true", help="one tiny transformer, to try the campaign")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a timing window (default 0.1)")
    given = parser.parse_args()
    windows = Windows(repeats=3, seconds=given.seconds, steps=(2, 5))
    jobs = []
    for devices in given.devices:
        planned = cases(TINY if given.tiny else FULL, devices)
        random.Random(SEED).shuffle(planned)
        common = {"link_mbit": MBIT, "slowdown": SLOWDOWN}
        script = "worker_partitioned_pytorch.py"
        jobs.append(Job("pytorch", devices, 0, [{**common, **case} for case in planned], script))
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    finish(measure(jobs, recorder, link=Link(MBIT), windows=windows, describe=described), given.out)


if __name__ == "__main__":
    guarded(main)
