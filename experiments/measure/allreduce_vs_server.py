"""Ring all-reduce, parameter servers and peer-to-peer exchange on an emulated cluster of 1 to 16 hosts.

Three sizes of a network whose computation is small beside its communication, two speeds of the links, three frameworks.
Needs root (the cluster is made of network namespaces) and the frameworks' environments (environments.py).

    python experiments/measure/allreduce_vs_server.py --out data/allreduce_vs_server.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from campaign import COLUMNS, FACTORS, counts, finish, guarded, measure, speeds
from cluster import Link
from launch import Job, Windows
from networks import BASE, Network
from record import Recorder

HOSTS = (1, 2, 3, 4, 6, 8, 12, 16)
SERVERS = (1, 2, 4)
MBIT = (100.0, 200.0)
#: Widths of the dense layers. A ring carries about 1, 2 and 4 MB: less would measure the machine's cores at 16 hosts.
#: Servers and peers, whose traffic grows with the hosts, carry 0.5, 1 and 2 MB: more would take hours.
HIDDEN = {"ring-allreduce": (500, 708, 1000), "peer-to-peer": (354, 500, 708), "parameter-server": (354, 500, 708)}
#: One-way latency of each host's link in the part of the campaign that has one, ms, and what is measured there.
LATENCY_MS = 10.0
LATENCY_HOSTS = (2, 4, 8)


def networks(hidden: Sequence[int]) -> list[Network]:
    """Return networks that compute next to nothing."""
    small = {"batch_per_worker": 2, "layers": 1, "filters": 8, "kernel_size": 3, "image_size": 8}
    return [{**BASE, **small, "hidden": width} for width in hidden]


def jobs(
    hosts: Sequence[int],
    servers: Sequence[int],
    mbit: Sequence[float],
    frameworks: Sequence[str],
    hidden: Sequence[int] | None = None,
    latency_ms: float = 0.0,
) -> list[Job]:
    """Return one job for each number of hosts, framework and number of servers."""
    found = []

    def add(framework: str, workers: int, servers: int, architectures: Sequence[str]) -> None:
        cases = [
            {"architecture": architecture, "link_mbit": speed, "link_latency_ms": latency_ms, **network}
            for architecture in architectures
            for speed in mbit
            for network in networks(hidden or HIDDEN[architecture])
        ]
        found.append(Job(framework, workers, servers, cases))

    for workers in hosts:
        if "pytorch" in frameworks:
            add("pytorch", workers, 0, ("ring-allreduce", "peer-to-peer"))
        if "tensorflow" in frameworks:
            add("tensorflow", workers, 0, ("ring-allreduce",))
        if "mxnet" in frameworks:
            for count in servers:
                add("mxnet", workers, count, ("parameter-server",))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/allreduce_vs_server.csv"))
    parser.add_argument("--hosts", type=counts, default=HOSTS)
    parser.add_argument("--servers", type=counts, default=SERVERS)
    parser.add_argument("--mbit", type=speeds, default=MBIT)
    parser.add_argument("--hidden", type=counts, help="widths of the dense layers, for every architecture")
    parser.add_argument("--frameworks", type=lambda t: tuple(t.split(",")), default=("pytorch", "tensorflow", "mxnet"))
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a timing window (default 0.5)")
    given = parser.parse_args()
    windows = Windows(repeats=3, seconds=given.seconds, steps=(2, 10))
    recorder = Recorder(given.out, COLUMNS, FACTORS, windows.repeats)
    planned = jobs(given.hosts, given.servers, given.mbit, given.frameworks, given.hidden)
    report = measure(planned, recorder, link=Link(given.mbit[0]), windows=windows)
    if "pytorch" in given.frameworks:
        late = [count for count in LATENCY_HOSTS if count in given.hosts]
        planned = jobs(late, (), given.mbit[-1:], ("pytorch",), given.hidden, LATENCY_MS)
        report.lines += measure(planned, recorder, link=Link(given.mbit[-1], LATENCY_MS), windows=windows).lines
    finish(report, given.out)


if __name__ == "__main__":
    guarded(main)
