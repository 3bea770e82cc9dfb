"""The least time in which nodes exchange a message, as the links' rate allows it, beside what the exchange costs."""

from collections.abc import Mapping

import numpy as np

from genperf.arrays import Columns
from genperf.facts import Exchange
from genperf.formula import values_of
from genperf.models.network import network_of
from genperf.panel import Panel
from genperf.panel.panel import several_nodes


def least_exchange(
    message: float, bandwidth: float, nodes: float, devices_per_node: float = 1.0, latency: float = 0.0
) -> dict[str, float]:
    """Return the least seconds in which all devices of several nodes sum a message, by three ways at the nominal rate.

        ring           2·(n − 1)/n·M/B + 2·(n − 1)·α     over all n = g·m devices, one link a node
        hierarchical   2·(m − 1)/m·M/B + 2·(m − 1)·α     a ring of the m nodes; the part inside them is free
        server         2·m·M/B + 2·α                     one server takes in m messages, then sends m

    The ring is that of Patarasuk & Yuan (2009), "Bandwidth optimal all-reduce algorithms for clusters of workstations";
    no exchange of whole messages moves fewer than 2·(m − 1)/m·M bytes over a node's link. The server is that of Li et
    al. (2014), "Scaling distributed machine learning with the parameter server", with one server. The message M is in
    bytes, the bandwidth B of a node's link in bytes per second each way, the latency α in seconds.

    >>> {way: round(seconds, 3) for way, seconds in least_exchange(100e6, 1.25e9, 2, 8).items()}
    {'ring': 0.15, 'hierarchical': 0.08, 'server': 0.32}
    """
    seconds, devices = message / bandwidth, nodes * devices_per_node
    return {
        "ring": 2.0 * (devices - 1.0) / devices * seconds + 2.0 * (devices - 1.0) * latency,
        "hierarchical": 2.0 * (nodes - 1.0) / nodes * seconds + 2.0 * (nodes - 1.0) * latency,
        "server": 2.0 * nodes * seconds + 2.0 * latency,
    }


def minimum_exchange(
    panel: Panel, hints: Mapping[str, str], columns: Columns, seconds: float | None, efficiencies: dict[float, float]
) -> Exchange | None:
    """Return the exchange at one configuration; None where hints do not determine it, and on one node."""
    network, node, workers = network_of(hints), panel.node("nodes"), panel.workers
    message = None if network is None else network.message_at(panel, columns)
    if network is None or node is None or message is None:
        return None
    nodes = float(np.ceil(values_of(node, columns)[0]))
    if not several_nodes(nodes):
        return None
    devices = nodes if workers is None else float(columns[workers.name][0])
    least = least_exchange(message, network.bandwidth, nodes, max(devices / nodes, 1.0), network.latency)
    cost = seconds * (1.0 - efficiencies[nodes]) if seconds is not None and nodes in efficiencies else None
    return Exchange(least, nodes, message, seconds, cost)
