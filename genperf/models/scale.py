"""The scale of a table: the column that counts its workers, its nodes, and the work of one worker."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genperf.formula import names_in, parse, render, substitute
from genperf.models.family import UNITS, Factors
from genperf.table import Factor, Table
from genperf.table.names import ALIASES, GENERAL, canonical_of, column_of
from genperf.table.target import Scaling

#: Canonical names of amounts: a column of such a name never counts the workers.
AMOUNTS = frozenset({*UNITS, "parameters", "iterations"})


@dataclass(frozen=True)
class Work:
    """A possible formula of the work that one worker does in a step."""

    #: Over canonical names; ``1`` is work that stays constant as the scale grows.
    formula: str
    #: Whether a column of the table gives it. Otherwise it is an assumption, and its prior probability is for the
    #: reader of the scale to choose.
    from_table: bool


@dataclass(frozen=True)
class Scale:
    """How the runs of a table are scaled."""

    #: The column that counts the workers, or the nodes where no column counts workers. None where neither is there.
    column: str | None
    #: What that column counts.
    canonical: Literal["workers", "nodes"]
    #: Whether the column counts the workers only because no other extrinsic column does: neither its name nor the
    #: mapping says so.
    assumed: bool
    #: The table's factors, whose mapping names an assumed column as the workers.
    factors: Factors
    #: The nodes, as a formula over the table's columns.
    nodes: str | None
    #: Possible work of one worker, most specific first. A single entry where the table decides.
    works: tuple[Work, ...]

    @property
    def counts_other(self) -> bool:
        """Whether the column counts servers, threads or devices of a node by its name, and nothing counts workers."""
        return self.assumed and self.column is not None and canonical_of(self.column) in GENERAL

    def over_columns(self, formula: str) -> str:
        """Return a formula over canonical names as one over the table's columns.

        Examples
        --------
        >>> factors = (Factor("gpus", "extrinsic"), Factor("global_batch", "extrinsic"))
        >>> scale_of(factors).over_columns("global_batch/workers")
        'global_batch/gpus'
        """
        node = parse(formula).node
        columns = {name: self.factors.node(name) for name in names_in(node) if name in ALIASES}
        return render(substitute(node, {name: column for name, column in columns.items() if column is not None}))


def scale_of(
    factors: Sequence[Factor],
    mapping: Mapping[str, str] | None = None,
    group: Collection[str] = (),
    varying: Collection[str] | None = None,
    kind: Scaling | None = None,
) -> Scale:
    """Find the scale column, the nodes and one worker's work.

    The scale is the first of these columns that varies:

    1. the workers, by the mapping or by the field's names (`genperf.models.ALIASES`);
    2. the nodes, likewise;
    3. the only extrinsic column above zero whose name has no other meaning: it counts the workers whatever its name.

    If none of them varies, it is the column of the workers or of the nodes. Without such a column, it is the only
    extrinsic column above zero, which may also count servers, threads or the devices of a node; never an amount (a
    batch, bytes). The only column is the only one that varies, or else the only one at all. Workers that the mapping
    names exclude an assumed column.

    One worker's work is decided in this order; that of an epoch or a whole job is shared, ``1/workers``:

    1. a column of the global batch: ``global_batch/workers``;
    2. a column of one worker's batch: ``batch``;
    3. a group column with one of the names of a global batch: every group shares a fixed amount, ``1/workers``;
    4. a group column with one of the names of one worker's batch: it is constant, ``1``;
    5. otherwise the kind of scaling, where it is known;
    6. otherwise both constant work, ``1``, and shared work, ``1/workers``, are possible.

    Where only nodes are counted, a node takes the place of a worker.

    Parameters
    ----------
    factors : sequence of Factor
        Of a table or of a model's schema.
    mapping : mapping of str to str, optional
        Canonical name → column.
    group : collection of str
        The columns whose values name the groups, each of one value within a group.
    varying : collection of str, optional
        The columns that vary: those that do within some group, for example. Where omitted, the factors of several
        values; a factor that is not measured yet counts as one.
    kind : {"weak", "strong", "job"}, optional
        Of the scaling, where the user or the work of a step tells it: weak and strong decide where 1 to 4 do not, job
        before them.

    Raises
    ------
    ModelError
        For a mapping that names an unknown factor or column.

    Examples
    --------
    >>> cores = Factor("cores", "extrinsic", 1.0, 8.0, distinct=4, positive=True)
    >>> batch = Factor("batch", "intrinsic", 32.0, 32.0, distinct=1, positive=True)
    >>> scale = scale_of((cores, batch))
    >>> scale.column, scale.canonical, scale.assumed, scale.works
    ('cores', 'workers', True, (Work(formula='batch', from_table=True),))
    """
    mapping = mapping or {}
    matched = Factors(tuple(factors), mapping)
    if varying is None:
        varying = {f.name for f in factors if f.distinct != 1}
    workers, nodes = matched.find("workers"), matched.find("nodes")
    counts = [] if "workers" in mapping else _counts(matched)
    unnamed = _only(_unnamed(counts), varying)
    column = next((f for f in (workers, nodes, unnamed) if f is not None and f.name in varying), None)
    column = column or workers or nodes or _only(counts, varying) or unnamed
    if column is None:
        return Scale(None, "workers", False, matched, _text(matched, "nodes"), _works(matched, group, kind))
    if column == nodes:
        fixed = workers is not None
        works = _works(matched, group, kind, fixed)
        return Scale(column.name, "nodes", False, matched, _text(matched, "nodes"), works)
    assumed = column != workers
    if assumed:
        matched = Factors(matched.factors, {**mapping, "workers": column.name})
    works = _works(matched, group, kind)
    return Scale(column.name, "workers", assumed, matched, _text(matched, "nodes"), works)


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
    following = set()
    for f in counts:
        for g in counts:
            pairs = np.unique(np.column_stack([table.columns[g.name], table.columns[f.name]]), axis=0)
            rises = bool(np.all(np.diff(pairs[:, 1]) >= 0.0))
            if f.distinct < g.distinct and len(pairs) == g.distinct and rises:
                following.add(f.name)
    return frozenset(following)


def _counts(factors: Factors) -> list[Factor]:
    """Return the extrinsic columns above zero that may count something: no amount, and none that the mapping names."""
    return [
        factor
        for factor in factors.factors
        if factor.role == "extrinsic"
        and (factor.positive or factor.distinct == 0)
        and canonical_of(factor.name) not in AMOUNTS
        and factor.name not in factors.mapping.values()
    ]


def _unnamed(counts: Sequence[Factor]) -> list[Factor]:
    """Return the counts whose names are none of the field's."""
    return [factor for factor in counts if canonical_of(factor.name) not in GENERAL]


def _only(candidates: Sequence[Factor], varying: Collection[str]) -> Factor | None:
    """Return the only candidate that varies, or else the only one at all; None where there are several."""
    changing = [factor for factor in candidates if factor.name in varying]
    for choice in (changing, candidates):
        if len(choice) == 1:
            return choice[0]
    return None


def _text(factors: Factors, canonical: str) -> str | None:
    node = factors.node(canonical)
    return None if node is None else render(node)


def _works(
    factors: Factors, group: Collection[str], kind: Scaling | None = None, fixed_workers: bool = False
) -> tuple[Work, ...]:
    """Decide what one worker's work may be."""
    counted = "workers" if factors.has("workers") else "nodes"
    if kind == "job" and factors.has(counted) and not fixed_workers:
        return (Work(f"1/{counted}", True),)
    if factors.find("global_batch") is not None and factors.has(counted):
        return (Work(f"global_batch/{counted}", True),)
    if factors.find("batch") is not None:
        return (Work("batch", True),)
    constant, shared = Work("1", False), Work(f"1/{counted}", False)
    shared_batch, worker_batch = (column_of(name, group) is not None for name in ("global_batch", "batch"))
    if fixed_workers or not factors.has(counted):
        return (constant,)
    if kind is not None and not (shared_batch or worker_batch):
        return (constant,) if kind == "weak" else (shared,)
    if shared_batch:
        return (shared,)
    if worker_batch:
        return (constant,)
    return (constant, shared)
