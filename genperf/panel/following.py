"""Which factors follow others: nodes the devices on them, a global batch the workers, a layout its devices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from genperf.formula import quote_name
from genperf.panel.nodes import workers_of_node
from genperf.panel.panel import Panel
from genperf.table import Factor
from genperf.vocabulary.names import WAYS

if TYPE_CHECKING:
    from genperf.table import Table

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StepSamples:
    """How the samples of a step changed with the workers, in every run of a table."""

    #: The column that counts the workers, or the nodes where none does.
    count: str = ""
    #: The global batch of one of these, where it grew with their number; None elsewhere.
    each: float | None = None
    #: The samples of a step, where the passes of micro-batches fell as the number rose; None elsewhere.
    same: float | None = None


#: Columns of configurations by name, each of shape (rows,).
Columns = Mapping[str, npt.NDArray[Any]]


class Settlement(NamedTuple):
    """A count that others settle."""

    name: str
    #: The formula, with places for the count that settles it and for other factors.
    template: str
    by: str
    #: Further factors in the formula. Where one is not given, it has its one measured value.
    others: tuple[Factor, ...] = ()

    def formula(self, given: Collection[str]) -> str | None:
        """Return the formula where the given factors settle the count, None elsewhere."""
        known = all(f.name in given or f.distinct == 1 for f in self.others)
        if self.name in given or self.by not in given or not known:
            return None
        others = (quote_name(f.name) if f.name in given else f"{f.lower:g}" for f in self.others)
        return self.template.format(quote_name(self.by), *others)


def _rises_with(values: npt.NDArray[Any], others: npt.NDArray[Any]) -> bool:
    """Return whether each of other values has one value, which never falls as they rise."""
    levels, place = np.unique(others, return_inverse=True)
    pairs = np.unique(np.column_stack([place, np.asarray(values, float)]), axis=0)
    return len(pairs) == len(levels) and bool(np.all(np.diff(pairs[:, 1]) >= 0.0))


def follows(panel: Panel, name: str, other: str) -> bool:
    """Return whether a factor of the run grows with another in every run and is settled by it, as nodes by devices."""
    factor = next(f for f in panel.factors if f.name == name)
    return factor.role == "extrinsic" and _rises_with(panel.measured(name), panel.measured(other))


def falls_with(panel: Panel, name: str, other: str) -> bool:
    """Return whether a factor falls wherever another one rises in the measured runs, as a worker's share of a batch."""
    values = panel.measured(name)
    return len(np.unique(values)) > 1 and _rises_with(-values.astype(float), panel.measured(other))


def following_counts(table: Table) -> frozenset[str]:
    """Name the extrinsic factors that rise with another one of more levels, as the nodes with the devices.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"nodes": [1, 1, 2], "gpus": [4, 8, 16], "batch": [16, 8, 16], "t": [1.0, 1.1, 1.3]})
    >>> sorted(following_counts(read_table(runs, time="t", intrinsic="batch", extrinsic="nodes,gpus")))
    ['nodes']
    """
    counts = [f for f in table.factors if f.role == "extrinsic" and f.distinct > 1]
    pairs = ((f, g) for f in counts for g in counts if f.distinct < g.distinct)
    return frozenset(f.name for f, g in pairs if _rises_with(table.columns[f.name], table.columns[g.name]))


def grow_with_workers(panel: Panel, followers: Collection[str] = ()) -> dict[str, str]:
    """Return the factors that grow with the workers, as the nodes that hold them do, each with the workers' name.

    Where the workers follow the scale of a series, as one of its `followers`, they settle nothing.

    Examples
    --------
    >>> gpus, nodes = (Factor(n, "extrinsic", 1, 8, distinct=4, positive=True) for n in ("gpus", "nodes"))
    >>> grow_with_workers(Panel((gpus, nodes)))
    {'nodes': 'gpus'}
    """
    workers = panel.workers
    if workers is None or workers.name in followers:
        return {}
    growing = [factor.name for factor in (panel.nodes, panel.find("data_parallel")) if factor is not None]
    return {name: workers.name for name in growing if name not in (workers.name, *followers)}


def _samples_of(panel: Panel) -> StepSamples:
    """Return how the samples of a step changed with the workers: in proportion, or not at all in fewer passes."""
    count = panel.counted
    whole, one, passes = (panel.find(name) for name in ("global_batch", "micro_batch", "micro_batches"))
    split = panel.find("batch") not in (None, one) or any(panel.find(way) is not None for way in WAYS)
    if count is None or count.distinct < 2 or not panel.medians or split:
        return StepSamples()
    counts = panel.measured(count.name)
    if whole is not None and whole.distinct > 1:
        return StepSamples(count.name, each=_one(panel.measured(whole.name) / counts))
    if whole is None and one is not None and passes is not None and count == panel.workers:
        return StepSamples(count.name, same=_one(counts * panel.measured(one.name) * panel.measured(passes.name)))
    return StepSamples()


def _shared_batch(panel: Panel, batch: Factor) -> float | None:
    """Return the samples of a step that the workers shared in every run, so that each had fewer; None elsewhere."""
    if panel.workers is None or not panel.medians or batch.distinct < 2 or panel.workers.distinct < 2:
        return None
    return _one(panel.measured(batch.name) * panel.measured(panel.workers.name))


def _one(values: Array) -> float | None:
    """Return the value that all of some numbers have; None where they differ."""
    return float(values[0]) if float(np.ptp(values)) <= 1e-9 * float(values.max()) else None


def settlements(panel: Panel) -> tuple[Settlement, ...]:
    """Return the counts that others settle: the nodes by their devices, data-parallel ways by all others.

    Nodes are settled where each count of workers was measured on one count of nodes, each of which holds
    `workers_of_node`; the global batch and the passes of micro-batches as `_samples_of` shows.

    Examples
    --------
    >>> from genperf.panel.panel import Median
    >>> gpus = Factor("gpus", "extrinsic", 1, 32, distinct=4, positive=True)
    >>> nodes = Factor("nodes", "extrinsic", 1, 4, distinct=3, positive=True)
    >>> runs = tuple(Median((n, max(1, n // 8)), 1.0, 1.0, 1.0, 1) for n in (1, 8, 16, 32))
    >>> settled(settlements(Panel((gpus, nodes), medians=runs)), ["gpus"])
    {'nodes': 'max(1, ceil(gpus/8 - 1e-09))'}
    """
    out, samples = [], _samples_of(panel)
    whole, one, passes = (panel.find(name) for name in ("global_batch", "micro_batch", "micro_batches"))
    if samples.each is not None and whole is not None:
        out.append(Settlement(whole.name, f"{samples.each:g}*{{0}}", samples.count))
    if samples.same is not None and one is not None and passes is not None:
        out.append(Settlement(passes.name, f"max(1, {samples.same:g}/({{1}}*{{0}}))", samples.count, (one,)))
    workers, nodes, data = panel.workers, panel.nodes, panel.find("data_parallel")
    if workers is None:
        return tuple(out)
    if nodes is not None and follows(panel, nodes.name, workers.name):
        held = f"{workers_of_node(workers, nodes):g}"
        out.append(Settlement(nodes.name, f"max({_fewest(nodes):g}, ceil({{0}}/{held} - 1e-09))", workers.name))
    others, each = _other_ways(panel), _workers_of_way(panel)
    if data is not None and others:
        split = "".join(f"/{{{place}}}" for place in range(1, len(others) + 1))
        out.append(Settlement(data.name, "{0}" + split, workers.name, tuple(others)))
    elif data is not None and each is not None:
        out.append(Settlement(data.name, f"{{0}}/{each:g}", workers.name))
    return tuple(out)


def settled(rules: Iterable[Settlement], given: Collection[str]) -> dict[str, str]:
    """Return formulas for the counts that the given factors settle."""
    return {rule.name: text for rule in rules if (text := rule.formula(given)) is not None}


def _workers_of_way(panel: Panel) -> float | None:
    """Return the workers of one data-parallel way, where no column splits it and every run has the same."""
    workers, data = panel.workers, panel.find("data_parallel")
    if workers is None or data is None or data == workers or not panel.medians:
        return None
    return _one(panel.measured(workers.name) / panel.measured(data.name))


def following(
    panel: Panel, count: Factor, columns: Columns, given: Collection[str] = (), per_node: float | Array | None = None
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
    >>> following(Panel((workers, nodes)), workers, {"gpus": np.array([4.0, 12.0, 64.0])})
    {'nodes': array([1., 2., 8.])}
    """
    workers, nodes, inside = panel.workers, panel.nodes, panel.find("devices_per_node")
    counts = np.asarray(columns[count.name], float)
    out: dict[str, Array] = {}
    if count == workers:
        if nodes is not None and nodes.name not in given:
            devices = workers_of_node(count, nodes) if per_node is None else per_node
            out[nodes.name] = np.maximum(_fewest(nodes), np.ceil(counts / devices - 1e-9))
            if inside is not None and inside.name not in given:
                out[inside.name] = counts / out[nodes.name]
        elif inside is not None and nodes is None and inside.name not in given and inside.distinct > 1:
            out[inside.name] = np.minimum(counts, inside.upper)
    elif count == nodes and workers is not None and workers.name not in given:
        out[workers.name] = counts * (workers.upper / count.upper if per_node is None else per_node)
    whole, samples = panel.find("global_batch"), _samples_of(panel)
    grown = out.get(samples.count, columns.get(samples.count))
    if samples.each is not None and grown is not None and whole is not None and whole.name not in given:
        out[whole.name] = samples.each * np.asarray(grown, float)
    worker_counts = None if workers is None else out.get(workers.name, columns.get(workers.name))
    if worker_counts is None:
        return out
    batch, passes = panel.find("batch"), panel.find("micro_batch")
    if batch is not None and batch != passes and batch.name in columns:
        shared = _shared_batch(panel, batch)
        if shared is not None and not {batch.name, *([whole.name] if whole is not None else [])} & {*given}:
            out[batch.name] = shared / worker_counts
        elif whole is not None and whole.name not in given:
            out[whole.name] = np.asarray(columns[batch.name], float) * worker_counts
    return out | _layout(panel, {**columns, **out}, worker_counts, given, samples.same)


def divisible(panel: Panel, columns: Columns) -> npt.NDArray[np.bool_]:
    """Return which configurations can exist: a transformer's ways divide the devices; shape (rows,).

    Examples
    --------
    >>> table = Panel(tuple(Factor(n, "extrinsic", 1, 64, distinct=6, positive=True) for n in ("gpus", "dp", "tp")))
    >>> divisible(table, {"gpus": np.array([2.0, 4.0, 6.0]), "dp": np.ones(3), "tp": np.full(3, 4.0)})
    array([False,  True, False])
    """
    workers, others = panel.workers, _other_ways(panel)
    known = workers is not None and others and all(f.name in columns for f in (workers, *others))
    if workers is None or not known or panel.find("data_parallel") is None:
        return np.ones(len(next(iter(columns.values()))), bool)
    return np.asarray(np.asarray(columns[workers.name], float) % _product(others, columns) == 0.0)


def _layout(
    panel: Panel, columns: Columns, workers: Array, given: Collection[str], same_samples: float | None
) -> dict[str, Array]:
    """Return the columns of a transformer's layout that follow from its devices."""
    data, others = panel.find("data_parallel"), _other_ways(panel)
    one, whole, passes = (panel.find(name) for name in ("micro_batch", "global_batch", "micro_batches"))
    unsplit = data is None and not others and passes is not None
    each: float | Array | None = None if others else _workers_of_way(panel)
    if others and all(f.name in columns for f in others):
        each = _product(others, columns)
    if not unsplit and (data is None or each is None):
        return {}
    out: dict[str, Array] = {}
    ways = workers
    if data is not None and data.name in given:
        ways = np.asarray(columns[data.name], float)
    elif data is not None and each is not None:
        ways = out[data.name] = np.maximum(1.0, workers / each)
    if one is None or one.name not in columns:
        return out
    at_once = ways * np.asarray(columns[one.name], float)
    samples = None if same_samples is None else np.full(len(workers), same_samples)
    if whole is not None and whole.name in columns:
        samples = np.asarray(columns[whole.name], float)
        if whole.name not in given:
            samples = out[whole.name] = np.maximum(samples, at_once)
    if samples is not None and passes is not None and passes.name not in given:
        out[passes.name] = np.maximum(1.0, samples / at_once)
    return out


def _fewest(nodes: Factor) -> float:
    """Return the fewest nodes of a configuration: one, or the only measured count."""
    return nodes.lower if nodes.distinct == 1 else 1.0


def _other_ways(panel: Panel) -> list[Factor]:
    """Return a transformer's ways beside the data-parallel ones."""
    return [factor for way in WAYS[1:] if (factor := panel.find(way)) is not None]


def _product(factors: Collection[Factor], columns: Columns) -> Array:
    """Return the product of some columns."""
    return np.asarray(np.prod([np.asarray(columns[f.name], float) for f in factors], axis=0))
