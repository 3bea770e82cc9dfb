"""Which factors follow others: nodes follow the devices on them, data-parallel ways the devices and the other ways."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from genperf.formula import quote_name
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.table.names import column_of
from genperf.table.transformer_names import WAYS


def follows(schema: Schema, j: int, place: int) -> bool:
    """Say whether a factor of the run grows with another and is settled by it, as nodes are by devices.

    Parameters
    ----------
    schema : Schema
    j, place : int
        Places of the factor and of the other one.
    """
    values = {m.values[place]: m.values[j] for m in schema.medians}
    if any(values[m.values[place]] != m.values[j] for m in schema.medians) or not schema.factors[j].numeric:
        return False
    in_order = [float(values[key]) for key in sorted(values)]
    return schema.factors[j].role == "extrinsic" and bool(np.all(np.diff(in_order) >= 0.0))


@dataclass(frozen=True)
class NodeSettings:
    """What is taken of a node where no run went beyond one count of them.

    Attributes
    ----------
    usual_devices : float
        Workers that one node may hold although fewer were measured: the devices of most servers.
    """

    usual_devices: float = 8.0


NODE = NodeSettings()


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


def settled(schema: Schema, given: Collection[str]) -> dict[str, str]:
    """Return formulas for counts that others settle: the nodes by their devices, data-parallel ways by all others.

    Nodes are settled where each count of workers was measured on one count of nodes; `workers_of_node` tells how many
    each holds.

    Parameters
    ----------
    schema : Schema
    given : collection of str
        The factors that are given.

    Examples
    --------
    >>> from genperf.prediction.medians import Median
    >>> from genperf.table import Factor, Target
    >>> gpus = Factor("gpus", "extrinsic", 1, 32, distinct=4, positive=True)
    >>> nodes = Factor("nodes", "extrinsic", 1, 4, distinct=3, positive=True)
    >>> runs = tuple(Median((n, max(1, n // 8)), 1.0, 1.0, 1.0, 1) for n in (1, 8, 16, 32))
    >>> settled(Schema((gpus, nodes), Target("s"), medians=runs), ["gpus"])
    {'nodes': 'max(1, ceil(gpus/8 - 1e-09))'}
    """
    places = {factor.name: j for j, factor in enumerate(schema.factors) if factor.numeric}
    free = [name for name in places if name not in schema.mapping.values()]
    column = {c: schema.mapping.get(c) or column_of(c, free) for c in ("workers", "nodes", *WAYS)}
    workers, nodes, data = column["workers"], column["nodes"], column["data_parallel"]
    if workers is None or workers not in given:
        return {}
    formulas = {}
    if nodes is not None and nodes not in given and follows(schema, places[nodes], places[workers]):
        several = schema.factors[places[nodes]]
        held = workers_of_node(schema.factors[places[workers]], several)
        least = several.lower if several.distinct == 1 else 1.0
        formulas[nodes] = f"max({least:g}, ceil({quote_name(workers)}/{held:g} - 1e-09))"
    others = [schema.factors[places[name]] for c in WAYS[1:] if (name := column[c]) is not None]
    known = all(f.name in given or f.distinct == 1 for f in others)
    if data is not None and data not in given and others and known:
        ways = [quote_name(f.name) if f.name in given else f"{f.lower:g}" for f in others]
        formulas[data] = "/".join([quote_name(workers), *ways])
    return formulas
