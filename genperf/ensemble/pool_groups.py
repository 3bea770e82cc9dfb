"""The groups of a table as curves of time along the scale, and in what two of them may be alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.models import Factors
from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Factors that say how large a run is, and may vary along a group's curve.
SCALES = ("workers", "nodes", "devices_per_node", "servers", "batch", "global_batch")
#: What a curve may run along, in order of preference.
ALONG = ("workers", "nodes", "servers")
#: Batches that differ by less than this ratio are one batch.
SAME = 1.01
#: Standardised numbers nearer than this are one value.
ONE_VALUE = 1e-9


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

    Returns
    -------
    curves : list of Curve
    left_out : dict of tuple of str to str
        Groups that are not a curve, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"net": ["a", "a", "b"], "gpus": [1, 2, 1], "t": [1.0, 1.1, 2.0]})
    >>> found, _ = curves(read_table(runs, time="t", extrinsic="gpus", group="net"))
    >>> [(curve.key, curve.scale.tolist()) for curve in found]
    [(('a',), [1.0, 2.0]), (('b',), [1.0])]
    """
    matched = factors_of(table, mapping)
    along = next((found.name for name in ALONG if (found := matched.find(name)) is not None), None)
    known = {found.name for name in SCALES if (found := matched.find(name)) is not None}
    nodes = matched.find("nodes")
    out: list[Curve] = []
    left_out: dict[tuple[str, ...], str] = {}
    numeric_groups = _numeric_groups(table)
    for key, part in sorted(table.groups(), key=lambda pair: pair[0]):
        if along is None:
            left_out[key] = "no factor says how many workers or nodes there are"
            continue
        other = [f.name for f in part.factors if f.distinct > 1 and f.name not in known]
        if other:
            left_out[key] = f"it varies {', '.join(other)} besides the scale"
            continue
        medians = part.medians()
        columns = {f.name: medians.columns[f.name].astype(float) for f in medians.numeric}
        order = np.lexsort((columns[nodes.name] if nodes else medians.measured, columns[along]))
        _, first = np.unique(columns[along][order], return_index=True)
        rows = order[first]
        if np.any(columns[along][rows] <= 0):
            left_out[key] = f"{along} goes down to zero"
            continue
        named = dict(zip(table.group, key, strict=True))
        values = {name: np.full(len(rows), float(named[name])) for name in numeric_groups}
        labels = {name: text for name, text in named.items() if name not in numeric_groups}
        labels |= {f.name: f.levels[0] for f in part.categorical}
        out.append(
            Curve(
                key,
                along,
                columns[along][rows],
                np.log(medians.measured[rows]),
                {**{name: column[rows] for name, column in columns.items()}, **values},
                labels,
            )
        )
    return out, left_out


def factors_of(table: Table, mapping: Mapping[str, str] | None = None) -> Factors:
    """Find the canonical factors; the only extrinsic one is the workers, whatever it is called."""
    numeric = tuple(f for f in table.factors if f.numeric)
    matched = Factors(numeric, mapping or {})
    extrinsic = [f for f in numeric if f.role == "extrinsic"]
    if len(extrinsic) == 1 and extrinsic[0].positive and not any(matched.find(name) for name in SCALES):
        return Factors(numeric, {**(mapping or {}), "workers": extrinsic[0].name})
    return matched


def alike_in_work(curve: Curve, other: Curve, last: float, known: Sequence[str]) -> bool:
    """Whether two groups change the batch in the same way along the scales both were measured at.

    A group that halves its batch whenever it doubles its workers says nothing of one that keeps it.
    """
    for name in known:
        if curve.steady(name) and other.steady(name):
            continue
        shared = [n for n in curve.scale if other.spans(n, last)]
        if name not in curve.columns or name not in other.columns or not shared:
            continue
        base = shared[-1]
        for n in shared:
            mine, theirs = (c.column(name, n) / c.column(name, base) for c in (curve, other))
            if not 1.0 / SAME < mine / theirs < SAME:
                return False
    return True


@dataclass(frozen=True, eq=False)
class Unlike:
    """How unlike groups are.

    Attributes
    ----------
    between : ndarray of shape (columns, donors, donors)
    across : ndarray of shape (columns, askers, donors)
    names_between : ndarray of shape (donors, donors)
        In how many names they differ.
    names_across : ndarray of shape (askers, donors)
    """

    between: Array
    across: Array
    names_between: Array
    names_across: Array


def distances(donors: Sequence[Curve], askers: Sequence[Curve], base: float) -> Unlike:
    """Return how unlike groups are, column by column.

    0 or 1 for names; the squared difference of the standardised logarithm for numbers, among them the time at the
    base scale. Columns that part the groups in the same way count once, and those that do not part them not at all.

    Parameters
    ----------
    donors, askers : sequence of Curve
        All measured at `base`.
    base : float
    """
    rows = [*donors, *askers]
    count = len(donors)
    found: list[Array] = []
    seen: set[tuple[int, ...]] = set()
    names = []
    for name in sorted({name for row in rows for name in row.labels}):
        numbers: dict[str, int] = {}
        parts = tuple(numbers.setdefault(row.labels.get(name, ""), len(numbers)) for row in rows)
        if len(numbers) > 1 and parts not in seen:
            seen.add(parts)
            part = np.array(parts)
            names.append((part[:, None] != part[:count]).astype(float))
    columns = [[row.time(base) for row in rows]]
    for name in sorted(set.intersection(*(set(row.columns) for row in rows))):
        values = [row.column(name, base) for row in rows]
        if min(values) > 0:
            columns.append(values)
    kept: list[Array] = []
    for values in columns:
        logarithms = np.log(values)
        spread = float(logarithms.std())
        if spread < ONE_VALUE:
            continue
        scaled = (logarithms - logarithms.mean()) / spread
        if any(abs(abs(float(scaled @ other)) / len(rows) - 1.0) < ONE_VALUE for other in kept):
            continue
        kept.append(scaled)
        found.append((scaled[:, None] - scaled[:count]) ** 2)
    whole = np.reshape([*names, *found], (-1, len(rows), count))
    unlike = np.sum(whole[: len(names)], axis=0)
    return Unlike(whole[:, :count], whole[:, count:], unlike[:count], unlike[count:])


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
