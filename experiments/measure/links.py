"""What an emulated link gives a plain TCP connection: the check that `tc` and the latency do what they were told.

python experiments/measure/links.py --out data/links.csv
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from cluster import Cluster, Link
from jobs import finish, guarded
from problems import MeasureError
from record import Recorder

LINKS = (Link(100), Link(200), Link(200, 10.0))
COLUMNS = ["link_mbit", "link_latency_ms", "bytes", "repeat", "round_trip_s", "transfer_s"]
BYTES = 8_000_000
REPEATS = 5

#: Takes a connection, returns a byte for a byte, then a byte for each transfer that has come whole.
SERVER = f"""
import socket
listening = socket.create_server(("", 5000)); print("up", flush=True)
c = listening.accept()[0]; c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range({REPEATS}):
    c.sendall(c.recv(1))
    left = {BYTES}
    while left:
        left -= len(c.recv(min(left, 1 << 20)))
    c.sendall(b"x")
"""
CLIENT = f"""
import socket, sys, time
c = socket.create_connection((sys.argv[1], 5000)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
data = bytes({BYTES})
for _ in range({REPEATS}):
    begun = time.perf_counter(); c.sendall(b"x"); c.recv(1); trip = time.perf_counter() - begun
    begun = time.perf_counter(); c.sendall(data); c.recv(1); print(trip, time.perf_counter() - begun, flush=True)
"""


def checked(link: Link) -> list[dict[str, float]]:
    with Cluster(2, link) as hosts:
        listening = subprocess.Popen([*hosts.command(0), sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
        assert listening.stdout is not None
        listening.stdout.readline()
        command = [*hosts.command(1), sys.executable, "-c", CLIENT, hosts.address(0)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired as error:
            raise MeasureError(f"{link}: nothing has come within 120 s") from error
    if done.returncode:
        raise MeasureError(f"{link}: {done.stderr.strip().splitlines()[-1]}")
    described = {"link_mbit": link.mbit, "link_latency_ms": link.latency_ms, "bytes": BYTES}
    found = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    return [{**described, "repeat": i, "round_trip_s": trip, "transfer_s": t} for i, (trip, t) in enumerate(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("data/links.csv"))
    given = parser.parse_args()
    recorder = Recorder(given.out, COLUMNS, COLUMNS[:3], REPEATS)
    for link in LINKS:
        rows = checked(link)
        if not recorder.has(rows[0]):
            recorder.add(rows)
    finish([], given.out)


if __name__ == "__main__":
    guarded(main)
