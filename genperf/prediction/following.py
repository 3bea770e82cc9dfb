"""Which factors follow others: nodes follow the devices on them, a transformer's layout the devices and its ways."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from genperf.formula import quote_name
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.table.names import column_of
from genperf.table.samples import StepSamples
from genperf.table.transformer_names import WAYS


def follows(schema: Schema, j: int, place: int) -> bool:
    """Say whether a factor of the run grows with another and is settled by it, as nodes are by devices.

    Parameters
    ----------
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
    """What is taken of a node where no run went beyond one count of them."""

    #: Workers that one node may hold although fewer were measured: the devices of most servers.
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


def samples_of(schema: Schema) -> StepSamples:
    """Return how the samples of a step changed with the workers: in proportion, or not at all in fewer passes.

    Examples
    --------
    >>> from genperf.prediction.medians import Median
    >>> from genperf.table import Factor, Target
    >>> names = (("gpus", "extrinsic", 8, 32), ("global_batch", "extrinsic", 128, 512))
    >>> factors = tuple(Factor(*name, distinct=3, positive=True) for name in names)
    >>> runs = tuple(Median((n, 16 * n), 1.0, 1.0, 1.0, 1) for n in (8, 16, 32))
    >>> samples_of(Schema(factors, Target("s"), medians=runs)).each
    16.0
    """
    places, column = _columns(schema)
    workers = column["workers"] or column["nodes"]
    if workers is None or schema.factors[places[workers]].distinct < 2:
        return StepSamples()
    whole, one, passes = column["global_batch"], column["micro_batch"], column["micro_batches"]
    if column["batch"] not in (None, one):
        return StepSamples()
    split = any(column[c] is not None for c in WAYS)

    def measured(*names: str) -> list[tuple[float, ...]]:
        return [tuple(float(m.values[places[name]]) for name in names) for m in schema.medians]

    if whole is not None and schema.factors[places[whole]].distinct > 1 and not split:
        return StepSamples(workers, each=_one([samples / n for samples, n in measured(whole, workers)]))
    if whole is None and one is not None and passes is not None and not split and workers == column["workers"]:
        same = _one([n * batch * times for n, batch, times in measured(workers, one, passes)])
        return StepSamples(workers, same=same)
    return StepSamples()


def _one(values: list[float]) -> float | None:
    """Return the value that all of some numbers have; None where they differ, or there are none."""
    return values[0] if values and max(values) - min(values) <= 1e-9 * max(values) else None


def _columns(schema: Schema) -> tuple[dict[str, int], dict[str, str | None]]:
    """Return the places of the numeric factors, and the columns by the field's names."""
    places = {factor.name: j for j, factor in enumerate(schema.factors) if factor.numeric}
    free = [name for name in places if name not in schema.mapping.values()]
    named = ("workers", "nodes", "batch", "micro_batch", "micro_batches", "global_batch", *WAYS)
    return places, {c: schema.mapping.get(c) or column_of(c, free) for c in named}


def settled(schema: Schema, given: Collection[str]) -> dict[str, str]:
    """Return formulas for counts that others settle: the nodes by their devices, data-parallel ways by all others.

    Nodes are settled where each count of workers was measured on one count of nodes; `workers_of_node` tells how many
    each holds. The global batch and the passes of micro-batches are settled as `samples_of` says.

    Parameters
    ----------
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
    places, column = _columns(schema)
    formulas = _settled_samples(schema, column, given)
    workers, nodes, data = column["workers"], column["nodes"], column["data_parallel"]
    if workers is None or workers not in given:
        return formulas
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


def _settled_samples(schema: Schema, column: dict[str, str | None], given: Collection[str]) -> dict[str, str]:
    """Return formulas for the global batch, or the passes of micro-batches, where the given workers settle them."""
    samples = samples_of(schema)
    if samples.count not in given:
        return {}
    count = quote_name(samples.count)
    whole, one, passes = column["global_batch"], column["micro_batch"], column["micro_batches"]
    if samples.each is not None and whole is not None and whole not in given:
        return {whole: f"{samples.each:g}*{count}"}
    if samples.same is None or one is None or passes is None or passes in given:
        return {}
    batch = next(f for f in schema.factors if f.name == one)
    if one not in given and batch.distinct > 1:
        return {}
    at_once = f"{quote_name(one) if one in given else format(batch.lower, 'g')}*{count}"
    return {passes: f"max(1, {samples.same:g}/({at_once}))"}
