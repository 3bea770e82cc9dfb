"""The nodes under the workers: how many workers a node holds, and whether the runs lie on one node."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.formula import evaluate
from genperf.panel.panel import Panel
from genperf.table import Factor
from genperf.table.axis import several_nodes

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NodeSettings:
    """What is taken of a node where no run went beyond one count of them."""

    #: Workers that one node may hold although fewer were measured: the devices of most servers.
    usual_devices: float = 8.0


NODE = NodeSettings()


def devices_and_nodes(panel: Panel, columns: Mapping[str, Any]) -> tuple[Array, Array, float | None]:
    """Return the devices and the nodes of configurations, and the devices taken for a node where none is counted."""
    count, node = panel.along(), panel.node("nodes")
    devices = np.asarray(columns[(panel.workers or count).name], float)
    if panel.workers is None and panel.nodes is not None:
        return np.ones(len(devices)), devices, None
    if node is None:
        return devices, np.ceil(devices / NODE.usual_devices), NODE.usual_devices
    return devices, np.broadcast_to(np.ceil(np.asarray(evaluate(node, columns), float)), devices.shape), None


def on_one_node(panel: Panel) -> bool:
    """Return whether the nodes are counted, and no run has more than one.

    Examples
    --------
    >>> gpus = Factor("gpus", "extrinsic", 1, 8, distinct=4, positive=True)
    >>> nodes = Factor("nodes", "extrinsic", 1, 1, distinct=1, positive=True)
    >>> on_one_node(Panel((gpus, nodes))), on_one_node(Panel((gpus,)))
    (True, False)
    """
    return panel.nodes is not None and not several_nodes(panel.nodes.upper)


def leaves_node(panel: Panel, columns: Mapping[str, Any]) -> bool:
    """Return whether a configuration, columns of shape (1,), is on several nodes where every run lies on one."""
    return panel.nodes is not None and on_one_node(panel) and bool(several_nodes(columns[panel.nodes.name])[0])


def single_node(panel: Panel, followers: Collection[str]) -> str | None:
    """Return the follower of a scale that counts the nodes, where every run lies on one; None otherwise.

    Examples
    --------
    >>> nodes = Factor("nodes", "extrinsic", 1, 1, distinct=1, positive=True)
    >>> single_node(Panel((nodes,)), ("nodes",))
    'nodes'
    """
    nodes = panel.nodes
    return nodes.name if nodes is not None and nodes.name in followers and on_one_node(panel) else None


def workers_of_node(workers: Factor, nodes: Factor) -> float:
    """Return how many workers one node holds: those of the largest measured scale; of one count of nodes, 8 at least.

    Examples
    --------
    >>> gpus, nodes = Factor("gpus", "extrinsic", 1, 4, distinct=3), Factor("nodes", "extrinsic", 1, 1, distinct=1)
    >>> workers_of_node(gpus, nodes)
    8.0
    """
    held = workers.upper / nodes.upper
    return held if nodes.distinct > 1 else max(held, NODE.usual_devices)


def devices_on_several(panel: Panel, columns: Mapping[str, Any], count: Factor) -> float | None:
    """Return how many workers a full node holds at a configuration on several nodes; None elsewhere.

    Its columns have shape (1,), and `count` is the factor of the workers. The last node need not be full.
    """
    nodes = panel.nodes
    if nodes is None or nodes == count or not several_nodes(columns[nodes.name])[0]:
        return None
    workers, held = float(columns[count.name][0]), float(columns[nodes.name][0])
    usual = workers_of_node(count, nodes)
    return usual if math.ceil(workers / usual) == held else float(math.ceil(workers / held))
