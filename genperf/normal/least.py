"""The least time in which nodes exchange a message, as the links' rate allows it."""

from __future__ import annotations

from dataclasses import dataclass

from genperf.table.axis import several_nodes


@dataclass(frozen=True)
class LeastSettings:
    """What published clusters reach of the nominal rate."""

    #: Of the nominal rate, what the step to the second node used on four published clusters whose links are known: the
    #: median of the exchange over the step's cost, overlap included (`docs/results/hints.md`).
    typical: float = 0.25


LEAST = LeastSettings()


@dataclass(frozen=True)
class Least:
    """Seconds of one exchange by three ways, at the nominal rate."""

    ring: float
    hierarchical: float
    server: float

    @property
    def seconds(self) -> float:
        """The least of the three."""
        return min(self.ring, self.hierarchical, self.server)

    @property
    def way(self) -> str:
        """Which of the three that is; the hierarchical one where they are equal."""
        ways = {"hierarchical": self.hierarchical, "ring": self.ring, "server": self.server}
        return min(ways, key=lambda name: ways[name])


def least_exchange(
    message: float, bandwidth: float, nodes: float, devices_per_node: float = 1.0, latency: float = 0.0
) -> Least:
    """Return the least times in which all devices sum a message.

        ring           2·(n − 1)/n·M/B + 2·(n − 1)·α     over all n = g·m devices, one link a node
        hierarchical   2·(m − 1)/m·M/B + 2·(m − 1)·α     a ring of the m nodes; the part inside them is free
        server         2·m·M/B + 2·α                     one server takes in m messages, then sends m

    The ring is that of Patarasuk & Yuan (2009), "Bandwidth optimal all-reduce algorithms for clusters of workstations";
    no exchange of whole messages moves fewer than 2·(m − 1)/m·M bytes over a node's link. The server is that of Li et
    al. (2014), "Scaling distributed machine learning with the parameter server", with one server.

    Parameters
    ----------
    message : float
        Bytes.
    bandwidth : float
        Bytes per second of a node's link, each way.
    latency : float
        Seconds of a message.

    Examples
    --------
    >>> round(least_exchange(100e6, 1.25e9, 2).hierarchical, 3), least_exchange(100e6, 1.25e9, 2, 8).way
    (0.08, 'hierarchical')
    """
    seconds, devices = message / bandwidth, nodes * devices_per_node
    if not several_nodes(nodes):
        return Least(0.0, 0.0, 0.0)
    ring = 2.0 * (devices - 1.0) / devices * seconds + 2.0 * (devices - 1.0) * latency
    hierarchical = 2.0 * (nodes - 1.0) / nodes * seconds + 2.0 * (nodes - 1.0) * latency
    return Least(ring, hierarchical, 2.0 * nodes * seconds + 2.0 * latency)
