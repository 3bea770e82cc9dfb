"""Factors that follow from the count of workers: the nodes that hold them, the global batch that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.models import Factors
from genperf.table import Factor
from genperf.table.layout import WAYS

Array = npt.NDArray[np.float64]
#: Data-, tensor- and pipeline-parallel ways must all be factors: else their product is not known.
LEAST_WAYS = 3


def following(
    factors: Factors,
    count: Factor,
    columns: Mapping[str, npt.NDArray[Any]],
    given: Collection[str] = (),
    per_node: float | None = None,
) -> dict[str, Array]:
    """Return the columns that follow from the count of workers (or nodes), so that the configurations can exist.

    The devices of a node are as at the largest measured scale. One node is filled before the next begins. The global
    batch is the batch per worker times the workers. Where tensor- and pipeline-parallel ways are factors, the
    data-parallel ones are what these leave of the devices.

    Parameters
    ----------
    factors : Factors
    count : Factor
        The factor that is varied.
    columns : mapping of str to ndarray of shape (rows,)
        With that factor, and the others as they are given.
    given : collection of str
        Factors that stay as they are.
    per_node : float, optional
        Devices of a node, where they are not those of the largest measured scale.

    Examples
    --------
    >>> workers = Factor("gpus", "extrinsic", 1, 32, distinct=6, positive=True)
    >>> nodes = Factor("nodes", "extrinsic", 1, 4, distinct=3, positive=True)
    >>> following(Factors((workers, nodes)), workers, {"gpus": np.array([4.0, 12.0, 64.0])})
    {'nodes': array([1., 2., 8.])}
    """
    workers, nodes, inside = factors.find("workers"), factors.find("nodes"), factors.find("devices_per_node")
    counts = np.asarray(columns[count.name], float)
    out: dict[str, Array] = {}
    if count == workers:
        if nodes is not None and nodes.name not in given and nodes.distinct > 1:
            devices = count.upper / nodes.upper if per_node is None else per_node
            out[nodes.name] = np.maximum(1.0, np.ceil(counts / devices - 1e-9))
            if inside is not None and inside.name not in given:
                out[inside.name] = counts / out[nodes.name]
        elif inside is not None and nodes is None and inside.name not in given and inside.distinct > 1:
            out[inside.name] = np.minimum(counts, inside.upper)
    elif count == nodes and workers is not None and workers.name not in given:
        out[workers.name] = counts * workers.upper / count.upper
    ways = [f for name in WAYS if (f := factors.find(name)) is not None]
    data = factors.find(WAYS[0])
    if workers is not None and data is not None and data.name not in given and len(ways) >= LEAST_WAYS:
        # The data-parallel copies are what the other ways leave of the devices.
        split = np.prod([np.asarray(columns[f.name], float) for f in ways if f != data], axis=0)
        worker_counts = out.get(workers.name, columns.get(workers.name))
        if worker_counts is not None:
            out[data.name] = np.maximum(1.0, np.asarray(worker_counts, float) / split)
    batch, whole = factors.find("batch"), factors.find("global_batch")
    if workers is not None and batch is not None and whole is not None and whole.name not in given:
        worker_counts = out.get(workers.name, columns.get(workers.name))
        if worker_counts is not None and batch.name in columns:
            out[whole.name] = np.asarray(columns[batch.name], float) * worker_counts
    return out
