"""An emulated cluster: hosts are network namespaces of this machine, and every link between them is shaped.

Each host hangs on a switch by a link of a given bandwidth in either direction (`tc … tbf`), and, if asked for, of a
given latency (`delay.py`). A real network stack carries real frameworks; computation shares the machine's cores, so
keep it small beside communication.

Needs root and iproute2. Everything lies in namespaces whose names begin with PREFIX: taking those down takes everything
down, and nothing else of the machine's network is touched.

    python experiments/measure/cluster.py --hosts 4 --mbit 200         up, until Ctrl-C
    python experiments/measure/cluster.py --clean                      what a crash has left
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from problems import MeasureError

PREFIX = "gpm-"
SWITCH = f"{PREFIX}switch"
INTERFACE = "e0"

#: The largest piece the hosts send as one, bytes. The kernel's own 64 kB would need a link that lets as much pass at
#: once; packets of 1500 take more computing than 16 hosts find on 2 cores.
SEGMENT = 32768
#: What may pass a link at once after a pause: a segment, and small beside the messages that are measured.
BURST = "36kb"
#: How the hosts' TCP shares a link. A kernel's default may be BBR, which probes: with it four peers took 1.2 to 1.5
#: times what the links need, unevenly, where Reno took 1.05.
CONGESTION = "reno"
#: How long a packet may wait in a link's queue before it is dropped.
QUEUE = "400ms"


@dataclass(frozen=True)
class Link:
    #: Bandwidth in each direction, Mbit/s, with the packets' headers.
    mbit: float
    #: What a packet waits on its way from a host to the switch, ms.
    latency_ms: float = 0.0

    def __post_init__(self) -> None:
        if not (self.mbit > 0 and self.latency_ms >= 0):
            raise MeasureError(f"a link needs a bandwidth above 0 and a latency of at least 0, not {self}")


class Cluster:
    """Namespaces up on entering, down on leaving, whatever happened between."""

    interface = INTERFACE

    def __init__(self, hosts: int, link: Link) -> None:
        if not 1 <= hosts <= 200:
            raise MeasureError(f"{hosts} hosts: 1 to 200 can be emulated")
        self.hosts, self.link = hosts, link
        self._lock: IO[str] | None = None
        self._delay: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Cluster:
        check_machine()
        self._lock = _only_one()
        clean()
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        clean()
        if self._delay is not None:
            self._delay.communicate()
        if self._lock is not None:
            self._lock.close()

    def address(self, host: int) -> str:
        return f"10.77.0.{host + 1}"

    def name(self, host: int) -> str:
        """Return the name of a host's namespace."""
        return f"{PREFIX}h{host}"

    def command(self, host: int) -> Sequence[str]:
        """Return what to write before a command so that it runs on a host."""
        return ("ip", "netns", "exec", self.name(host))

    def check_port(self, port: int) -> None:
        """Do nothing: in a namespace of its own every port is free."""

    def shape(self, mbit: float, hosts: Sequence[int] | None = None) -> None:
        """Give links another bandwidth, Mbit/s, while everything runs."""
        for host in range(self.hosts) if hosts is None else hosts:
            _shape(self.name(host), INTERFACE, mbit)
            _shape(SWITCH, f"p{host}", mbit)

    def _build(self) -> None:
        _ip("netns", "add", SWITCH)
        _ip("-n", SWITCH, "link", "add", "br0", "type", "bridge")
        _ip("-n", SWITCH, "link", "set", "br0", "up")
        for host in range(self.hosts):
            _ip("netns", "add", self.name(host))
        self._cable()
        for host in range(self.hosts):
            _ip("-n", SWITCH, "link", "set", f"p{host}", "master", "br0", "up")
            _ip("-n", SWITCH, "link", "set", f"p{host}", "gso_max_size", str(SEGMENT))
            _ip("-n", self.name(host), "link", "set", INTERFACE, "gso_max_size", str(SEGMENT))
            _run(*self.command(host), "sh", "-c", f"echo {CONGESTION} > /proc/sys/net/ipv4/tcp_congestion_control")
            _ip("-n", self.name(host), "addr", "add", f"{self.address(host)}/24", "dev", INTERFACE)
            _ip("-n", self.name(host), "link", "set", INTERFACE, "up")
            _ip("-n", self.name(host), "link", "set", "lo", "up")
        self.shape(self.link.mbit)

    def _cable(self) -> None:
        """Lay a cable from each host (e0) to the switch (p and the host's number)."""
        if not self.link.latency_ms:
            for host in range(self.hosts):
                _ip(*f"link add {INTERFACE} netns {self.name(host)} type veth peer p{host} netns {SWITCH}".split())
            return
        script = Path(__file__).with_name("delay.py")
        self._delay = subprocess.Popen(
            ["ip", "netns", "exec", SWITCH, sys.executable, script, str(self.link.latency_ms), str(self.hosts), PREFIX],
            stdout=subprocess.PIPE,
        )
        assert self._delay.stdout is not None
        if self._delay.stdout.readline().strip() != b"ready":
            raise MeasureError(
                "links with a latency need /dev/net/tun, which this kernel does not offer; use a latency of 0"
            )


class ThisMachine:
    """Every host is this machine: the workers differ by their ports, and each keeps to one core."""

    interface = "lo"

    def address(self, host: int) -> str:
        return "127.0.0.1"

    def command(self, host: int) -> Sequence[str]:
        """Return what keeps a command to one core: the last for the first worker, the system likes the others."""
        if shutil.which("taskset") is None:
            return ()
        cores = sorted(os.sched_getaffinity(0), reverse=True)
        return ("taskset", "--cpu-list", str(cores[host % len(cores)]))

    def check_port(self, port: int) -> None:
        """Raise MeasureError if something listens there already."""
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.address(0), port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise MeasureError(f"port {port} is in use; free it") from error
                raise

    def shape(self, mbit: float) -> None:
        raise MeasureError("the loopback interface has no bandwidth to set: measure on an emulated cluster")


#: Where the workers of a job run.
Hosts = Cluster | ThisMachine


def check_machine() -> None:
    """Raise MeasureError unless this machine can emulate a cluster."""
    if sys.platform != "linux":
        raise MeasureError("a cluster is emulated with Linux's network namespaces; measure on Linux, or with --local")
    if os.geteuid() != 0:
        raise MeasureError("an emulated cluster needs root: run with sudo, or with --local on the loopback interface")
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            raise MeasureError(f"no command '{tool}': install iproute2 (apt-get install iproute2)")


def clean() -> None:
    """End every process in namespaces of ours and take the namespaces down."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    for name in [line.split()[0] for line in listed.splitlines() if line.startswith(PREFIX)]:
        running = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
        for process in running.split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", name], check=False)


def _only_one() -> IO[str]:
    """Take the lock that says an emulated cluster is up; a crash lets go of it."""
    lock = (Path(tempfile.gettempdir()) / f"{PREFIX}cluster.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise MeasureError("another emulated cluster is up on this machine; wait for it, or stop it") from error
    return lock


def _shape(namespace: str, interface: str, mbit: float) -> None:
    _run("tc", "-n", namespace, "qdisc", "replace", "dev", interface, "root", "tbf",
         "rate", f"{mbit:g}mbit", "burst", BURST, "latency", QUEUE)  # fmt: skip


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise MeasureError(f"'{' '.join(command)}' failed: {said}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Emulate a cluster on this machine.")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--mbit", type=float, default=200.0, help="bandwidth of each host's link (default 200)")
    parser.add_argument("--latency-ms", type=float, default=0.0, help="latency of each host's link (default 0)")
    parser.add_argument("--clean", action="store_true", help="take down what a crash has left, and leave")
    given = parser.parse_args()
    try:
        if given.clean:
            check_machine()
            _only_one()
            clean()
            return
        with Cluster(given.hosts, Link(given.mbit, given.latency_ms)) as cluster:
            # A shell that starts a program in the background lets it ignore Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print(f"{given.hosts} hosts, {cluster.name(0)} ({cluster.address(0)}) and so on; Ctrl-C takes them down")
            print(f"for example: {' '.join(cluster.command(0))} bash", flush=True)
            while True:
                time.sleep(3600)
    except MeasureError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
