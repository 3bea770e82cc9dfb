"""The groups of a table as curves of time along the scale, and in what two of them may be alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.discrepancy.distances import Metric
from genperf.models import Scale, scale_of
from genperf.pooling.likeness import GroupColumns
from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Factors that say how large a run is, and may vary along a group's curve.
SIZES = ("workers", "nodes", "devices_per_node", "servers", "batch", "global_batch")


@dataclass(frozen=True)
class CurveSettings:
    """When values count as one.

    Attributes
    ----------
    same_batch : float
        Batches that differ by less than this ratio are one batch.
    same_number : float
        Standardised numbers nearer than this are one value.
    """

    same_batch: float = 1.01
    same_number: float = 1e-9


SETTINGS = CurveSettings()


@dataclass(frozen=True, eq=False)
class Curve:
    """The measured times of one group.

    Attributes
    ----------
    key : tuple of str
        Of the group.
    along : str
        The column of the scale.
    scale : ndarray of shape (scales,)
        Rising.
    logarithms : ndarray of shape (scales,)
        ln of the median time in seconds.
    columns : dict of str to ndarray
        Every numeric factor at those scales.
    labels : dict of str to str
        What the group is called in every column of names.
    """

    key: tuple[str, ...]
    along: str
    scale: Array
    logarithms: Array
    columns: dict[str, Array]
    labels: dict[str, str]

    @property
    def largest(self) -> float:
        """The largest measured scale."""
        return float(self.scale[-1])

    def spans(self, first: float, last: float) -> bool:
        """Whether both scales lie within the measured ones."""
        return bool(self.scale[0] <= first and last <= self.scale[-1])

    def time(self, scale: float) -> float:
        """Return the seconds at a scale within the measured ones, straight in log-log between them."""
        return float(np.exp(np.interp(np.log(scale), np.log(self.scale), self.logarithms)))

    def steady(self, name: str) -> bool:
        """Whether a factor is one and the same at every scale."""
        values = self.columns.get(name)
        return values is None or float(values.max()) == float(values.min())

    def column(self, name: str, scale: float) -> float:
        """Return a factor at a scale within the measured ones: measured, or straight in log-log between them."""
        values = self.columns[name]
        hit = np.flatnonzero(self.scale == scale)
        if len(hit):
            return float(values[hit[0]])
        if not np.all(values > 0):
            return float(np.interp(scale, self.scale, values))
        return float(np.exp(np.interp(np.log(scale), np.log(self.scale), np.log(values))))


def curves(table: Table, mapping: Mapping[str, str] | None = None) -> tuple[list[Curve], dict[tuple[str, ...], str]]:
    """Read the groups of a table as curves, in the order of their keys.

    Where a group was measured in several ways at one scale, the one with the fewest nodes is taken.

    Parameters
    ----------
    table : Table
        With group columns.
    mapping : mapping of str to str, optional
        Canonical factor name → column.

    Returns
    -------
    left_out : dict of tuple of str to str
        Groups that are not a curve, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"net": ["a", "a", "b"], "gpus": [1, 2, 1], "t": [1.0, 1.1, 2.0]})
    >>> groups, _ = curves(read_table(runs, time="t", extrinsic="gpus", group="net"))
    >>> [(curve.key, curve.scale.tolist()) for curve in groups]
    [(('a',), [1.0, 2.0]), (('b',), [1.0])]
    """
    scale = numeric_scale(table, mapping)
    sizes = {factor.name for name in SIZES if (factor := scale.factors.find(name)) is not None} | {scale.column}
    nodes = scale.factors.find("nodes")
    out: list[Curve] = []
    left_out: dict[tuple[str, ...], str] = {}
    numeric_groups = _numeric_groups(table)
    for key, part in sorted(table.groups(), key=lambda pair: pair[0]):
        if scale.column is None:
            left_out[key] = "no factor says how many workers or nodes there are"
            continue
        other = [f.name for f in part.factors if f.distinct > 1 and f.name not in sizes]
        if other:
            left_out[key] = f"it varies {', '.join(other)} besides the scale"
            continue
        medians = part.medians()
        columns = {f.name: medians.columns[f.name].astype(float) for f in medians.numeric}
        along = columns[scale.column]
        order = np.lexsort((columns[nodes.name] if nodes else medians.measured, along))
        _, first = np.unique(along[order], return_index=True)
        rows = order[first]
        if np.any(along[rows] <= 0):
            left_out[key] = f"{scale.column} goes down to zero"
            continue
        names = dict(zip(table.group, key, strict=True))
        values = {name: np.full(len(rows), float(names[name])) for name in numeric_groups}
        labels = {name: text for name, text in names.items() if name not in numeric_groups}
        labels |= {f.name: f.levels[0] for f in part.categorical}
        out.append(
            Curve(
                key,
                scale.column,
                along[rows],
                np.log(medians.measured[rows]),
                {**{name: column[rows] for name, column in columns.items()}, **values},
                labels,
            )
        )
    return out, left_out


def numeric_scale(table: Table, mapping: Mapping[str, str] | None = None) -> Scale:
    """Return the scale of a table's groups, from its numeric factors."""
    return scale_of(tuple(f for f in table.factors if f.numeric), mapping, table.group, kind=table.scaling)


def alike_in_work(curve: Curve, other: Curve, last: float, known: Sequence[str]) -> bool:
    """Whether two groups change the batch in the same way along the scales both were measured at.

    A group that halves its batch whenever it doubles its workers says nothing of one that keeps it.

    Parameters
    ----------
    last : float
        The largest scale that counts.
    known : sequence of str
        Columns of batches.
    """
    for name in known:
        if curve.steady(name) and other.steady(name):
            continue
        shared = [n for n in curve.scale if other.spans(n, last)]
        if name not in curve.columns or name not in other.columns or not shared:
            continue
        base = shared[-1]
        for n in shared:
            first, second = (c.column(name, n) / c.column(name, base) for c in (curve, other))
            if not 1.0 / SETTINGS.same_batch < first / second < SETTINGS.same_batch:
                return False
    return True


@dataclass(frozen=True, eq=False)
class Compared:
    """Groups, brought to columns in which they are compared.

    Attributes
    ----------
    names_between : ndarray of shape (donors, donors)
        In how many names two donors differ.
    names_across : ndarray of shape (borrowers, donors)
    """

    donors: GroupColumns
    borrowers: GroupColumns
    names_between: Array
    names_across: Array


def compare(donors: Sequence[Curve], borrowers: Sequence[Curve], base: float) -> Compared:
    """Bring groups to columns: names, and standardised logarithms of numbers, among them the time at the base scale.

    Columns that part the groups in the same way count once, and those that do not part them not at all.

    Parameters
    ----------
    donors, borrowers : sequence of Curve
        All measured at `base`.
    """
    rows = [*donors, *borrowers]
    names, numbers = _names(rows), _numbers(rows, base)
    columns: dict[str, npt.NDArray[Any]] = {**names, **numbers}
    if not columns:
        columns = names = {"group": np.zeros(len(rows), dtype=np.int64)}
    metrics: dict[str, Metric] = {name: "level" if name in names else "squared" for name in columns}
    groups = GroupColumns(metrics, columns)
    first, second = groups.take(np.arange(len(donors))), groups.take(np.arange(len(donors), len(rows)))
    count = len(names)
    return Compared(first, second, first.distances()[:count].sum(axis=0), second.distances(first)[:count].sum(axis=0))


def _names(rows: Sequence[Curve]) -> dict[str, npt.NDArray[np.int64]]:
    """Return the columns of names, numbered by first appearance."""
    columns = {}
    partitions: set[tuple[int, ...]] = set()
    for name in sorted({name for row in rows for name in row.labels}):
        numbers: dict[str, int] = {}
        partition = tuple(numbers.setdefault(row.labels.get(name, ""), len(numbers)) for row in rows)
        if len(numbers) > 1 and partition not in partitions:
            partitions.add(partition)
            columns[f"name {name}"] = np.array(partition)
    return columns


def _numbers(rows: Sequence[Curve], base: float) -> dict[str, Array]:
    """Return the columns of numbers, as standardised logarithms."""
    values = {"time": [row.time(base) for row in rows]}
    for name in sorted(set.intersection(*(set(row.columns) for row in rows))):
        column = [row.column(name, base) for row in rows]
        if min(column) > 0:
            values[f"number {name}"] = column
    columns: dict[str, Array] = {}
    for name, column in values.items():
        logarithms = np.log(column)
        spread = float(logarithms.std())
        if spread < SETTINGS.same_number:
            continue
        scaled = (logarithms - logarithms.mean()) / spread
        same = (abs(abs(float(scaled @ other)) / len(rows) - 1.0) < SETTINGS.same_number for other in columns.values())
        if not any(same):
            columns[name] = scaled
    return columns


def could_name(table: Table) -> list[str]:
    """Return the columns in no role that hold names, constant in every group and different between some.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"net": list("abc"), "host": list("xxy"), "gpus": [1, 2, 1], "t": [1.0, 1.1, 2.0]})
    >>> could_name(read_table(runs, time="t", extrinsic="gpus", group="net"))
    ['host']
    """
    groups = table.frame.groupby(list(table.group)).ngroups
    out = []
    for name in table.unused:
        cells = table.frame[name]
        if pd.api.types.is_numeric_dtype(cells):
            continue
        # As many combinations of group and cell as groups: one cell in each.
        alike = table.frame.groupby([*table.group, name], dropna=False).ngroups == groups
        if alike and 1 < len(cells.unique()) < groups:
            out.append(name)
    return out


def _numeric_groups(table: Table) -> set[str]:
    """Return the group columns whose every value is a number above zero."""
    return {name for name in table.group if all(_positive(value) for value in table.frame[name].unique())}


def _positive(text: object) -> bool:
    try:
        return 0.0 < float(str(text)) < math.inf
    except ValueError:
        return False
