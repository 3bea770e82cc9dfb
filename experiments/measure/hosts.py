"""Where the workers of a job run: on this machine's loopback interface, or on an emulated cluster's hosts."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from collections.abc import Sequence
from typing import Protocol

from problems import MeasureError


class Hosts(Protocol):
    """Hosts that processes can be started on and that reach each other."""

    #: The network interface the hosts have in common.
    interface: str

    def address(self, host: int) -> str:
        """Return the address of a host."""

    def command(self, host: int) -> Sequence[str]:
        """Return what to write before a command so that it runs on a host."""

    def check_port(self, host: int, port: int) -> None:
        """Raise MeasureError if something listens there already."""


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

    def check_port(self, host: int, port: int) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise MeasureError(f"port {port} is in use; free it, or name others with --port") from error
                raise
