"""Factors that follow from the count of workers: the nodes that hold them, the global batch that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.models import Factors
from genperf.result import FitResult
from genperf.table import Factor

Array = npt.NDArray[np.float64]


def count_of(result: FitResult) -> Factor | None:
    """Return the factor that counts the workers by the field's names, or the nodes where there is none."""
    found = result.named
    return found.find("workers") or found.find("nodes")


def following(
    found: Factors,
    count: Factor,
    columns: Mapping[str, npt.NDArray[Any]],
    given: Collection[str] = (),
    per_node: float | None = None,
) -> dict[str, Array]:
    """Return the columns that follow from the count of workers (or nodes), so that configurations can exist.

    The devices of a node are as at the largest measured scale, and one node is filled before the next begins; the
    global batch is the batch per worker times the workers.

    Parameters
    ----------
    found : Factors
    count : Factor
        The factor that is varied.
    columns : mapping of str to ndarray of shape (rows,)
        With that factor, and the others as they stand.
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
    workers, nodes, inside = found.find("workers"), found.find("nodes"), found.find("devices_per_node")
    counts = np.asarray(columns[count.name], float)
    out: dict[str, Array] = {}
    if count == workers:
        if nodes is not None and nodes.name not in given and nodes.distinct > 1:
            held = count.upper / nodes.upper if per_node is None else per_node
            out[nodes.name] = np.maximum(1.0, np.ceil(counts / held - 1e-9))
            if inside is not None and inside.name not in given:
                out[inside.name] = counts / out[nodes.name]
        elif inside is not None and nodes is None and inside.name not in given and inside.distinct > 1:
            out[inside.name] = np.minimum(counts, inside.upper)
    elif count == nodes and workers is not None and workers.name not in given:
        out[workers.name] = counts * workers.upper / count.upper
    batch, whole = found.find("batch"), found.find("global_batch")
    if workers is not None and batch is not None and whole is not None and whole.name not in given:
        here = out.get(workers.name, columns.get(workers.name))
        if here is not None and batch.name in columns:
            out[whole.name] = np.asarray(columns[batch.name], float) * here
    return out
