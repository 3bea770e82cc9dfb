"""Measures training steps of one framework over workers, servers and networks, into one table.

    python experiments/measure/measure.py --framework pytorch --workers 1,2,4 --local --sample 10 --out steps.csv
    python experiments/measure/measure.py --framework mxnet --workers 1,2,4,8 --servers 1,2 --mbit 100,200 \
        --grid hidden=512,1024 --grid batch_per_worker=2 --out servers.csv

With --mbit the workers sit on an emulated cluster whose links are shaped to each speed in turn (needs root); with
--local they share the loopback interface, each on a core of its own while there are cores. Networks are the seeded
--sample, or the --grid of the factors named, the others as in networks.py. The same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaigns import CAMPAIGNS, FACTORS, described
from cluster import Link
from jobs import counts, finish, guarded, measure, speeds
from launch import Job, Limits, Windows
from networks import FACTORS as NETWORK_FACTORS
from networks import Network, grid, sample
from problems import MeasureError
from record import Recorder

ARCHITECTURES = {
    "pytorch": ("ring-allreduce", "peer-to-peer"),
    "tensorflow": ("ring-allreduce",),
    "mxnet": ("parameter-server",),
}


def levels(text: str) -> tuple[str, list[Any]]:
    """Read NAME=VALUE,VALUE."""
    name, _, values = text.partition("=")
    if name not in NETWORK_FACTORS or not values:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE,… with a NAME of {', '.join(NETWORK_FACTORS)}")
    kind = type(NETWORK_FACTORS[name][0])
    try:
        found = [kind(value) for value in values.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{values}': {name} takes whole numbers") from error
    if kind is int and min(found) < 1:
        raise argparse.ArgumentTypeError(f"'{values}': {name} is at least 1")
    if kind is str and (unknown := set(found) - set(NETWORK_FACTORS[name])):
        raise argparse.ArgumentTypeError(f"{name} is one of {', '.join(NETWORK_FACTORS[name])}, not {min(unknown)}")
    return name, found


def jobs(
    framework: str,
    architectures: Sequence[str],
    workers: Sequence[int],
    servers: Sequence[int],
    networks: Sequence[Network],
    mbit: Sequence[float] | None,
    latency_ms: float = 0.0,
) -> list[Job]:
    """Return one job for each number of workers and servers; `mbit` None means unshaped links."""
    links: list[dict[str, Any]] = [{}]
    if mbit is not None:
        links = [{"link_mbit": speed, "link_latency_ms": latency_ms} for speed in mbit]
    cases = [
        {"architecture": architecture, **link, **network}
        for architecture in architectures
        for link in links
        for network in networks
    ]
    on_servers = architectures == ("parameter-server",)
    return [Job(framework, count, behind, cases) for count in workers for behind in (servers if on_servers else (0,))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=list(ARCHITECTURES), required=True)
    parser.add_argument("--architecture", help="one or more of the framework's, with commas (default all)")
    parser.add_argument("--workers", type=counts, default=(1, 2))
    parser.add_argument("--servers", type=counts, default=(1,), help="parameter servers (default 1)")
    parser.add_argument("--sample", type=int, help="this many networks of a seeded sample")
    parser.add_argument("--grid", type=levels, action="append", help="NAME=VALUE,… of a factor; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--local", action="store_true", help="on this machine's loopback interface")
    where.add_argument("--mbit", type=speeds, help="on an emulated cluster with links of these speeds")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="one-way latency of the links (default 0)")
    parser.add_argument("--between-mbit", type=float, help="two racks, with a link of this speed between them")
    parser.add_argument("--repeats", type=int, default=3, help="timing windows (default 3)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a window (default 0.5)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds until a case is given up (default 300)")
    parser.add_argument("--port", type=int, default=29500, help="first port of the workers (default 29500)")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    offered = ARCHITECTURES[given.framework]
    architectures = tuple(given.architecture.split(",")) if given.architecture else offered
    if unknown := set(architectures) - set(offered):
        raise MeasureError(f"{given.framework} has no architecture '{min(unknown)}': one of {', '.join(offered)}")
    if given.sample is not None and given.grid:
        raise MeasureError("networks come from --sample or from --grid, not from both")
    networks = sample(given.sample, given.seed) if given.sample is not None else grid(dict(given.grid or []))
    windows = Windows(given.repeats, given.seconds, (2, 40))
    link = None if given.local else Link(given.mbit[0], given.latency_ms)
    report = measure(
        jobs(given.framework, architectures, given.workers, given.servers, networks, given.mbit, given.latency_ms),
        Recorder(given.out, CAMPAIGNS["allreduce_vs_server"].columns, FACTORS, windows.repeats),
        described,
        link=link,
        between=None if given.between_mbit is None else Link(given.between_mbit),
        windows=windows,
        limits=Limits(case_s=given.limit),
        port=given.port,
    )
    finish(report, given.out)


if __name__ == "__main__":
    guarded(main)
