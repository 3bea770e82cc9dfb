"""What follows what: nodes the devices on them, a global batch the workers, a layout its devices, each as a formula."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from genperf.arrays import AnyArray
from genperf.formula import Name, Node, Number, call, chain, substitute
from genperf.table import Factor
from genperf.vocabulary.names import WAYS

#: In a rule, the devices of a node (or the workers of one): no column has this name.
PER_NODE = ""


@dataclass(frozen=True)
class PanelSettings:
    """What is taken of nodes, and what is kept of the runs."""

    #: Workers that one node may hold although fewer were measured, where no run went beyond one count of nodes: the
    #: devices of most servers.
    usual_devices: float = 8.0
    #: Configurations that a model keeps, at most: enough to draw its data beside it.
    medians: int = 500


PANEL = PanelSettings()


@dataclass(frozen=True)
class Rule:
    """A column that follows from the count of workers or of nodes."""

    name: str
    #: Over the columns, and `PER_NODE`.
    node: Node
    #: The only count along which the rule holds; along any where None.
    along: str | None = None
    #: A column that keeps the rule from holding where it is given, and one that has to be given.
    unless: str | None = None
    beside: str | None = None
    #: What stands for `PER_NODE` where no other number does.
    per_node: float = 1.0
    #: What a question takes for the column where it leaves that out; None where it has to give it.
    settles: Node | None = None


def rises_with(values: AnyArray, others: AnyArray) -> bool:
    """Return whether each of other values has one value, which never falls as they rise."""
    levels, place = np.unique(others, return_inverse=True)
    pairs = np.unique(np.column_stack([place, np.asarray(values, float)]), axis=0)
    return len(pairs) == len(levels) and bool(np.all(np.diff(pairs[:, 1]) >= 0.0))


def rules_of(
    columns: Mapping[str, Factor],
    runs: Mapping[str, AnyArray],
    settled_by: Mapping[str, Collection[str]],
    held: float | None,
) -> tuple[Rule, ...]:
    """Return what follows from the count of workers, or else of nodes, in the order in which it does.

    One node is filled before the next begins. The global batch grows in proportion to the count where it did so in
    every run, and otherwise with the batch of each worker. The samples of a step that were the same in every run stay
    so: each worker has fewer, or fewer passes. A transformer has its devices over its other ways as data-parallel ones,
    and as many passes as its samples take.

    Parameters
    ----------
    columns : mapping of str to Factor
        By the field's names.
    runs : mapping of str to ndarray of shape (configurations,)
        What was measured, by column; empty where nothing was.
    settled_by : mapping of str to collection of str
        The columns of which each measured value has one value of a column (`Panel.settled_by`).
    held : float or None
        The workers of a full node (`Panel.node_size`).
    """
    workers, nodes, inside, data = map(columns.get, ("workers", "nodes", "devices_per_node", "data_parallel"))
    whole, batch, one, passes = map(columns.get, ("global_batch", "batch", "micro_batch", "micro_batches"))
    others = [columns[way] for way in WAYS[1:] if way in columns]
    batch = None if batch == one else batch

    def constant(*factors: Factor | None, over: Factor | None = None) -> Number | None:
        """Return the product of some columns, over another one, where it was the same in every run."""
        if not runs or any(f is None for f in factors):
            return None
        values = np.prod([np.asarray(runs[f.name], float) for f in factors if f is not None], axis=0)
        values = values if over is None else values / runs[over.name]
        return Number(float(values[0])) if float(np.ptp(values)) <= 1e-9 * float(values.max()) else None

    rules: list[Rule] = []
    count = workers or nodes
    plain = count is not None and count.distinct > 1 and batch is None and not others and data is None
    if workers is not None and nodes is not None and held is not None:
        ratio = workers.upper / nodes.upper
        fewest = nodes.lower if nodes.distinct == 1 else 1.0
        full = call("ceil", call("subtract", call("divide", Name(workers.name), Name(PER_NODE)), 1e-9))
        needed = call("max", fewest, full)
        known = workers.name in settled_by.get(nodes.name, ())
        settles = substitute(needed, {PER_NODE: Number(held)}) if known else None
        rules.append(Rule(workers.name, call("multiply", Name(nodes.name), Name(PER_NODE)), nodes.name, per_node=ratio))
        rules.append(Rule(nodes.name, needed, workers.name, per_node=held, settles=settles))
    if workers is not None and inside is not None and inside.distinct > 1:
        at_most = call("min", Name(workers.name), inside.upper)
        over = at_most if nodes is None else call("divide", Name(workers.name), Name(nodes.name))
        rules.append(Rule(inside.name, over, workers.name, unless=None if nodes is None else nodes.name))
    each = constant(whole, over=count) if plain and whole is not None and whole.distinct > 1 else None
    if each is not None and whole is not None and count is not None:
        grown = call("multiply", each, Name(count.name))
        rules.append(Rule(whole.name, grown, settles=grown))
    if workers is None:
        return tuple(rules)
    if batch is not None:
        shared = constant(batch, workers) if min(batch.distinct, workers.distinct) > 1 else None
        if shared is not None:
            less = call("divide", shared, Name(workers.name))
            rules.append(Rule(batch.name, less, unless=None if whole is None else whole.name))
        if whole is not None:
            all_of_them = call("multiply", Name(batch.name), Name(workers.name))
            rules.append(Rule(whole.name, all_of_them, beside=None if shared is None else batch.name))
    same = constant(workers, one, passes) if plain and whole is None else None
    each = None if others or data is None or data == workers else constant(workers, over=data)
    parts: list[Node] = [Name(f.name) for f in others] or ([] if each is None else [each])
    if data is not None and parts:
        # A transformer has at least one data-parallel way.
        split = call("max", 1.0, call("divide", Name(workers.name), chain("multiply", parts)))
        rules.append(Rule(data.name, split, settles=chain("divide", [Name(workers.name), *parts])))
    elif data is not None or others or passes is None:
        return tuple(rules)
    if one is None:
        return tuple(rules)
    at_once = call("multiply", Name(one.name), Name((data or workers).name))
    if whole is not None:
        rules.append(Rule(whole.name, call("max", Name(whole.name), at_once)))
    samples = same if whole is None else Name(whole.name)
    if samples is not None and passes is not None:
        needed = call("max", 1.0, call("divide", samples, at_once))
        rules.append(Rule(passes.name, needed, settles=None if same is None else needed))
    return tuple(rules)
