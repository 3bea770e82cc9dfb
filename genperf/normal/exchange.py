"""The least time in which nodes exchange a message, as the links' rate allows it, beside what the exchange costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from genperf.formula import values_of
from genperf.models.network import network_of
from genperf.panel import Panel
from genperf.panel.axis import several_nodes
from genperf.words.numbers import three_digits


def least_exchange(
    message: float, bandwidth: float, nodes: float, devices_per_node: float = 1.0, latency: float = 0.0
) -> dict[str, float]:
    """Return the least seconds in which all devices of several nodes sum a message, by three ways at the nominal rate.

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
    >>> {way: round(seconds, 3) for way, seconds in least_exchange(100e6, 1.25e9, 2, 8).items()}
    {'ring': 0.15, 'hierarchical': 0.08, 'server': 0.32}
    """
    seconds, devices = message / bandwidth, nodes * devices_per_node
    return {
        "ring": 2.0 * (devices - 1.0) / devices * seconds + 2.0 * (devices - 1.0) * latency,
        "hierarchical": 2.0 * (nodes - 1.0) / nodes * seconds + 2.0 * (nodes - 1.0) * latency,
        "server": 2.0 * nodes * seconds + 2.0 * latency,
    }


@dataclass(frozen=True)
class Exchange:
    """The least time of the exchange between nodes, beside what the step to several nodes cost."""

    #: Of the nominal rate, what the step to the second node used on four published clusters whose links are known: the
    #: median of the exchange over the step's cost, overlap included (`experiments/results/hints.md`).
    typical: ClassVar[float] = 0.25
    #: Seconds at the nominal rate, as `least_exchange` returns them.
    ways: dict[str, float]
    nodes: float
    #: Bytes.
    message: float
    #: Seconds of a step on several nodes, and by how much it is longer than one node's, where they are known.
    step: float | None
    cost: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.ways, "least": min(self.ways.values()), "cost": self.cost}

    @property
    def sentence(self) -> str:
        """It in words.

        Examples
        --------
        >>> ways = {"ring": 0.26, "hierarchical": 0.14, "server": 0.56}
        >>> print(Exchange(ways, 2, 440e6, 0.55, 0.35).sentence)
        the exchange of 440 MB between 2 nodes needs at least 0.14 s of a step of 0.55 s at the hinted rate
        (hierarchical; ring 0.26 s, one server 0.56 s); a step is 0.35 s longer than one node's, 0.21 s more than the
        exchange needs: the network is used at 40 %, or nothing overlaps; published clusters use about 25 % of a nominal
        rate
        """
        cost = self.cost
        ways = {name.replace("server", "one server"): time for name, time in self.ways.items()}
        # The hierarchical way, where it is as quick as a ring.
        way = min(ways, key=lambda name: (ways[name], name != "hierarchical"))
        seconds = ways.pop(way)
        beside = ", ".join(f"{name} {three_digits(time)} s" for name, time in ways.items())
        whole = "each step" if self.step is None else f"a step of {three_digits(self.step)} s"
        text = (
            f"the exchange of {three_digits(self.message / 1e6)} MB between {self.nodes:g} nodes needs at least "
            f"{three_digits(seconds)} s of {whole} at the hinted rate ({way}; {beside})"
        )
        if cost is None:
            unknown = f"{text}; how long a step takes is not known: --work gives its samples"
            return unknown if self.step is None else text
        if cost <= 0.0:
            return f"{text}; a step is no longer than one node's: the exchange is hidden, or the hint too low"
        longer = f"{text}; a step is {three_digits(cost)} s longer than one node's"
        if cost < seconds:
            hidden = f"{100.0 * (1.0 - cost / seconds):.0f} % of the exchange is hidden behind computation"
            return f"{longer}: {hidden}, or the hint is too low"
        return (
            f"{longer}, {three_digits(cost - seconds)} s more than the exchange needs: the network is used at "
            f"{100.0 * seconds / cost:.0f} %, or nothing overlaps; published clusters use about "
            f"{100.0 * self.typical:.0f} % of a nominal rate"
        )


def exchange_of(
    panel: Panel, hints: Mapping[str, str], columns: Mapping[str, Any], seconds: float | None, kept: dict[float, float]
) -> Exchange | None:
    """Return the exchange at a configuration; None where hints do not determine it, and on one node.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (1,)
        The configuration.
    seconds : float, optional
        Of one step there.
    kept : dict of float to float
        What a device did on each measured count of nodes, as a part of what it did on one.
    """
    network, node, workers = network_of(hints), panel.node("nodes"), panel.workers
    message = None if network is None else network.message_at(panel, columns)
    if network is None or node is None or message is None:
        return None
    nodes = float(np.ceil(values_of(node, columns)[0]))
    if not several_nodes(nodes):
        return None
    devices = nodes if workers is None else float(columns[workers.name][0])
    least = least_exchange(message, network.bandwidth, nodes, max(devices / nodes, 1.0), network.latency)
    cost = seconds * (1.0 - kept[nodes]) if seconds is not None and nodes in kept else None
    return Exchange(least, nodes, message, seconds, cost)
