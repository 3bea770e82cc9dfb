"""Where parameter servers begin to hold up their workers: MXNet workers that compute for a given time.

A worker's computation is a wait, as for an accelerator that computes while its host does nothing, so that sixteen fit
on a few cores. Then gradients go to the servers and weights come back. Needs root and MXNet's environment.

    python experiments/measure/server_knee.py --out data/server_knee.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

from allreduce_vs_server import networks
from campaign import COLUMNS, FACTORS, counts, finish, guarded, measure
from cluster import Link
from launch import Job, Windows
from record import Recorder

HOSTS = (1, 2, 3, 4, 6, 8, 12, 16)
SERVERS = (1, 2)
#: Seconds a worker computes in a step.
COMPUTE_S = (0.3, 0.6)
HIDDEN = (500,)
MBIT = 200.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/server_knee.csv"))
    parser.add_argument("--hosts", type=counts, default=HOSTS)
    parser.add_argument("--servers", type=counts, default=SERVERS)
    given = parser.parse_args()
    windows = Windows(repeats=3, seconds=0.5, steps=(2, 10))
    cases = [
        {"architecture": "parameter-server", "link_mbit": MBIT, "link_latency_ms": 0.0, "compute_s": seconds, **network}
        for seconds in COMPUTE_S
        for network in networks(HIDDEN)
    ]
    jobs = [Job("mxnet", workers, servers, cases) for workers in given.hosts for servers in given.servers]
    factors = [*FACTORS, "compute_s"]
    after = COLUMNS.index("bytes")
    recorder = Recorder(given.out, [*COLUMNS[:after], "compute_s", *COLUMNS[after:]], factors, windows.repeats)
    finish(measure(jobs, recorder, link=Link(MBIT), windows=windows), given.out)


if __name__ == "__main__":
    guarded(main)
