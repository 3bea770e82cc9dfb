"""What an exchange during the backward pass hides: rings, peers and one server on an emulated cluster of 1 to 16 hosts.

The passes are waits, layer by layer, so that sixteen hosts on a few cores have something to hide an exchange behind;
backward waits twice as long as forward. PyTorch DistributedDataParallel with a bucket a layer, with one bucket for all
layers, and with `no_sync` and an exchange by hand after the backward pass; peers and MXNet's server, layer by layer and
after the pass. Needs root and the frameworks' environments (environments.py).

    python experiments/measure/overlap.py --out data/overlap.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaign import counts, finish, guarded, measure, speeds
from cluster import Link
from launch import Case, Job, Windows
from networks import BYTES_PER_PARAMETER
from record import Recorder
from stages import AFTERWARDS, LAYERS, ONE_BUCKET

HOSTS = (1, 2, 4, 8, 12, 16)
MBIT = (200.0,)
LAYERS_OF = 4
#: A layer of 0.33 MB is what every architecture exchanges; rings also exchange layers of 1.3 MB.
HIDDEN = {"ring-allreduce": (289, 578), "peer-to-peer": (289,), "parameter-server": (289,)}
#: Samples of a batch and the waits of one, s: the backward pass takes 0.12 and 0.24 s, a ring of 16 hosts about 0.1 and
#: 0.4 s, so that either is the longer one in some configurations.
BATCHES = (2, 4)
FORWARD_S, BACKWARD_S = 0.03, 0.06

FACTORS = ["framework", "architecture", "exchange", "workers", "servers", "batch_per_worker", "layers", "hidden",
           "forward_per_sample_s", "backward_per_sample_s", "link_mbit"]  # fmt: skip
COLUMNS = ["framework", "framework_version", *FACTORS[1:], "parameters", "bytes", "repeat", "steps", "startup_s",
           "step_time_s", "step_time_mean_s", "step_time_std_s"]  # fmt: skip


def described(job: Job, case: Case) -> dict[str, Any]:
    """Return the factors of a case, as columns."""
    parameters = case["layers"] * case["hidden"] ** 2
    counted = {"parameters": parameters, "bytes": BYTES_PER_PARAMETER * parameters}
    return {"framework": job.framework, "workers": job.workers, "servers": job.servers, **case, **counted}


def jobs(
    hosts: Sequence[int],
    mbit: Sequence[float],
    frameworks: Sequence[str],
    hidden: Sequence[int] | None = None,
    batches: Sequence[int] = BATCHES,
) -> list[Job]:
    """Return the jobs: rings on all hosts, then the others."""

    def cases(architecture: str, exchanges: Sequence[str]) -> list[Case]:
        return [
            {"architecture": architecture, "exchange": exchange, "batch_per_worker": batch, "layers": LAYERS_OF,
             "hidden": width, "forward_per_sample_s": FORWARD_S, "backward_per_sample_s": BACKWARD_S,
             "link_mbit": speed}
            for exchange in exchanges
            for speed in mbit
            for batch in batches
            for width in hidden or HIDDEN[architecture]
        ]  # fmt: skip

    found: list[Job] = []
    if "pytorch" in frameworks:
        program = "worker_stages_pytorch.py"
        rings = cases("ring-allreduce", (LAYERS, ONE_BUCKET, AFTERWARDS))
        found += [Job("pytorch", workers, 0, rings, program) for workers in hosts]
        peers = cases("peer-to-peer", (LAYERS, AFTERWARDS))
        found += [Job("pytorch", workers, 0, peers, program) for workers in hosts if workers > 1]
    if "mxnet" in frameworks:
        served = cases("parameter-server", (LAYERS, AFTERWARDS))
        found += [Job("mxnet", workers, 1, served, "worker_stages_mxnet.py") for workers in hosts]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/overlap.csv"))
    parser.add_argument("--hosts", type=counts, default=HOSTS)
    parser.add_argument("--mbit", type=speeds, default=MBIT)
    parser.add_argument("--hidden", type=counts, help="widths of the layers, for every architecture")
    parser.add_argument("--batches", type=counts, default=BATCHES)
    parser.add_argument("--frameworks", type=lambda t: tuple(t.split(",")), default=("pytorch", "mxnet"))
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a timing window (default 0.3)")
    given = parser.parse_args()
    windows = Windows(repeats=3, seconds=given.seconds, steps=(2, 6))
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    planned = jobs(given.hosts, given.mbit, given.frameworks, given.hidden, given.batches)
    link = Link(given.mbit[0])
    finish(measure(planned, recorder, link=link, windows=windows, describe=described), given.out)


if __name__ == "__main__":
    guarded(main)
