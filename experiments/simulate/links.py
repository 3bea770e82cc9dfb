"""Links and other servers that do one thing after another."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

Process = Generator[simpy.Event, Any, Any]


class Link:
    """A first-come, first-served server: a network port, a storage server, a memory bus.

    Examples
    --------
    >>> link = Link(100.0)
    >>> link.accept(0.0, 50.0), link.accept(0.2, 10.0), link.accept(9.0, 10.0)
    ((0.0, 0.5), (0.5, 0.6), (9.0, 9.1))
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.free_at = 0.0
        self.carried = 0.0

    def accept(self, now: float, size: float) -> tuple[float, float]:
        """Queue some bytes, and return when they begin and end to be served."""
        start = max(now, self.free_at)
        self.free_at = start + size / self.rate
        self.carried += size
        return start, self.free_at


def send(env: simpy.Environment, out: Link, into: Link, size: float, latency: float = 0.0) -> Process:
    """Send a message through a switch: it queues at the sender's port, and again at the receiver's.

    The switch is cut-through with room enough: the receiver's port begins when the first byte arrives. A message alone
    takes `latency + size/rate`; k senders to one receiver take k times the transfer.
    """
    start, sent = out.accept(env.now, size)
    yield env.timeout(start + latency - env.now)
    _, received = into.accept(env.now, size)
    # A slower port of the sender holds the last byte back.
    yield env.timeout(max(received, sent + latency) - env.now)
