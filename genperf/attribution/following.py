"""Factors that follow from the count of workers: the nodes that hold them, the global batch that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.models import Factors
from genperf.prediction.following import workers_of_node
from genperf.table import Factor
from genperf.table.transformer_names import WAYS

Array = npt.NDArray[np.float64]


def following(
    factors: Factors,
    count: Factor,
    columns: Mapping[str, npt.NDArray[Any]],
    given: Collection[str] = (),
    per_node: float | Array | None = None,
) -> dict[str, Array]:
    """Return the columns that follow from the count of workers (or nodes), so that the configurations can exist.

    The devices of a node are as at the largest measured scale (`workers_of_node`). One node is filled before the next
    begins. The global batch is the batch per worker times the workers, or grows with them as in every measured run; a
    transformer's layout follows as `_layout` says.

    Parameters
    ----------
    count : Factor
        The factor that is varied.
    columns : mapping of str to ndarray of shape (rows,)
        With that factor, and the others as they are given.
    given : collection of str
        Factors that stay as they are.
    per_node : float or ndarray of shape (rows,), optional
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
        if nodes is not None and nodes.name not in given:
            devices = workers_of_node(count, nodes) if per_node is None else per_node
            least = nodes.lower if nodes.distinct == 1 else 1.0
            out[nodes.name] = np.maximum(least, np.ceil(counts / devices - 1e-9))
            if inside is not None and inside.name not in given:
                out[inside.name] = counts / out[nodes.name]
        elif inside is not None and nodes is None and inside.name not in given and inside.distinct > 1:
            out[inside.name] = np.minimum(counts, inside.upper)
    elif count == nodes and workers is not None and workers.name not in given:
        out[workers.name] = counts * (workers.upper / count.upper if per_node is None else per_node)
    whole, samples = factors.find("global_batch"), factors.samples
    grown = out.get(samples.count, columns.get(samples.count))
    if samples.each is not None and grown is not None and whole is not None and whole.name not in given:
        out[whole.name] = samples.each * np.asarray(grown, float)
    worker_counts = None if workers is None else out.get(workers.name, columns.get(workers.name))
    if worker_counts is None:
        return out
    batch, passes = factors.find("batch"), factors.find("micro_batch")
    if whole is not None and whole.name not in given and batch not in (None, passes) and batch.name in columns:
        out[whole.name] = np.asarray(columns[batch.name], float) * worker_counts
    return out | _layout(factors, {**columns, **out}, worker_counts, given)


def divisible(factors: Factors, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Tell which configurations can exist: a transformer's ways divide the devices; shape (rows,).

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)

    Examples
    --------
    >>> table = Factors(tuple(Factor(n, "extrinsic", 1, 64, distinct=6, positive=True) for n in ("gpus", "dp", "tp")))
    >>> divisible(table, {"gpus": np.array([2.0, 4.0, 6.0]), "dp": np.ones(3), "tp": np.full(3, 4.0)})
    array([False,  True, False])
    """
    workers, data = factors.find("workers"), factors.find("data_parallel")
    others = [factor for name in WAYS[1:] if (factor := factors.find(name)) is not None]
    whole = np.ones(len(next(iter(columns.values()))), bool)
    if workers is None or data is None or not others or any(f.name not in columns for f in (workers, *others)):
        return whole
    product = np.prod([np.asarray(columns[f.name], float) for f in others], axis=0)
    return np.asarray(np.asarray(columns[workers.name], float) % product == 0.0)


def _layout(
    factors: Factors, columns: Mapping[str, npt.NDArray[Any]], workers: Array, given: Collection[str]
) -> dict[str, Array]:
    """Return the columns of a transformer's layout that follow from its devices."""
    data = factors.find("data_parallel")
    named = {name: factors.find(name) for name in WAYS[1:]}
    others = [factor for factor in named.values() if factor is not None]
    one, whole, passes = (factors.find(name) for name in ("micro_batch", "global_batch", "micro_batches"))
    unsplit = data is None and not others and passes is not None
    if not unsplit and (data is None or not others or any(factor.name not in columns for factor in others)):
        return {}
    out: dict[str, Array] = {}
    ways = workers
    if data is not None:
        if data.name in given:
            ways = np.asarray(columns[data.name], float)
        else:
            ways = np.maximum(1.0, workers / np.prod([np.asarray(columns[f.name], float) for f in others], axis=0))
            out[data.name] = ways
    if one is None or one.name not in columns:
        return out
    at_once = ways * np.asarray(columns[one.name], float)
    if whole is not None and whole.name in columns:
        samples = np.asarray(columns[whole.name], float)
        if whole.name not in given:
            samples = out[whole.name] = np.maximum(samples, at_once)
    elif factors.samples.same is None:
        return out
    else:
        samples = np.full(len(workers), factors.samples.same)
    if passes is not None and passes.name not in given:
        out[passes.name] = np.maximum(1.0, samples / at_once)
    return out
