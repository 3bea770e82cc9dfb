"""What the series of a table show each other: the cluster they share, and how similar ones grew."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import GenperfError, Note
from genperf.growth.alike import CHANGES, Columns, Shown, shown_by_donors
from genperf.growth.bank import bank
from genperf.growth.cluster import Cluster, combined, shown
from genperf.growth.fit import Similar, Weighed, quantiles_at, weighed
from genperf.growth.measured import MeasuredSeries, nodes_of, on_one_node, series_of
from genperf.panel import Panel
from genperf.table import Table
from genperf.table.describe import number_rows

Array = npt.NDArray[np.float64]
Key = tuple[str, ...]


@dataclass(frozen=True)
class TableSettings:
    """Of which series a table learns."""

    #: Series that are weighed for the cluster, those of the largest scales first; no more than 15 count.
    most: int = 24
    #: Donors without which only the cluster is shared.
    fewest_donors: int = 8
    #: Donors that count at most: a process over them takes the cube of their number.
    most_donors: int = 200
    #: Counts at which a series is told from others at most.
    most_counts: int = 6
    #: Donors whose growth the bank predicts, to know what it says before any donor is known.
    predicted: int = 24
    #: Numbers whose standardised difference is below this are one.
    same: float = 1e-9


TABLES = TableSettings()


@dataclass(frozen=True, eq=False)
class TableShares:
    """What the series of a table show of the cluster they share."""

    #: The groups that were weighed.
    shown_by: Mapping[Key, Cluster] = field(default_factory=dict)
    #: Those of them that were measured on several nodes, some of which hold several workers.
    beyond: frozenset[Key] = frozenset()
    #: What similar series show of those that were measured less far.
    similar: Mapping[Key, Similar] = field(default_factory=dict)

    def of(self, key: Key) -> Cluster | None:
        """Return what the other series of the table show; None without any."""
        others = [each for other, each in self.shown_by.items() if other != key]
        return combined(bank(), others) if others else None

    def notes(self, key: Key, series: MeasuredSeries) -> tuple[Note, ...]:
        """Say whose network is in the interval of a group that never left its node."""
        others = len(self.beyond - {key})
        if not others or not on_one_node(series):
            return ()
        text = (
            f"{', '.join(key)}: no run goes beyond one node; what {others} other group{'s' * (others != 1)} "
            "of the table showed there is part of the interval"
        )
        return (Note(text, "table_prior"),)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what is shared: other series, other fits. Empty without any."""
        if not self.shown_by:
            return ""
        digest = hashlib.sha256()
        for key, each in self.shown_by.items():
            digest.update(repr(key).encode())
            digest.update(np.concatenate([each.step, each.strength, each.walks]).round(6).tobytes())
        return digest.hexdigest()[:12]


def table_shares(table: Table, mapping: Mapping[str, str], hints: Mapping[str, str]) -> TableShares:
    """Return what the series of a table show of their cluster; nothing without groups.

    Examples
    --------
    Three programs leave the node for a twentieth of their time; the fourth never left it:

    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> rows = [(p, n, max(1, n // 4), 1.0 + 0.05 * (n > 4)) for p in "abcd" for n in (1, 2, 4, 8, 16)]
    >>> runs = pd.DataFrame(rows, columns=["program", "gpus", "nodes", "seconds"])
    >>> runs = runs[(runs.program != "d") | (runs.nodes == 1)]
    >>> table = read_table(runs, time="seconds", extrinsic="gpus,nodes", group="program")
    >>> len(table_shares(table, {}, {}).beyond)
    3
    """
    if not table.group:
        return TableShares()
    try:
        chosen = table.take(_sampled_rows(table, mapping))
    except GenperfError:
        return TableShares()
    shown_by, beyond = {}, set()
    for key, part in chosen.groups():
        try:
            series = series_of(part, mapping, hints)
        except GenperfError:
            continue
        if series is not None:
            out = nodes_of(series) is not None and not on_one_node(series)
            shown_by[key] = _shown(weighed([series], bank())[0], out)
            if out:
                beyond.add(key)
    return TableShares(shown_by if len(shown_by) > 1 else {}, frozenset(beyond), similar_series(table, mapping, hints))


# --- similar series --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curve:
    """A group as a series, and what it is called."""

    key: Key
    series: MeasuredSeries
    #: Of the group columns and the levels of its categorical factors.
    labels: dict[str, str]
    #: Of the group columns that hold numbers.
    numbers: dict[str, float]

    @property
    def counts(self) -> list[tuple[float, float]]:
        """The scale and the nodes of every row; the nodes are 0 where they are not known."""
        nodes = nodes_of(self.series)
        scale = self.series.values(self.series.scale)
        return list(zip(scale.tolist(), (np.zeros(len(scale)) if nodes is None else nodes).tolist(), strict=True))

    @property
    def work(self) -> float:
        """Exponent of one worker's work along the scale, by the first reading of it; NaN of a single scale."""
        scale, work = self.series.values(self.series.scale), self.series.values(self.series.works[0][0])
        return (
            float("nan") if scale[0] == scale[-1] else float(np.log(work[-1] / work[0]) / np.log(scale[-1] / scale[0]))
        )

    def seconds(self, at: tuple[float, float]) -> float:
        """Return the measured time at a count."""
        return float(np.exp(self.series.logarithms[self.counts.index(at)]))

    def to(self, at: tuple[float, float]) -> MeasuredSeries:
        """Return the series up to a count."""
        return self.series.take(self.series.values(self.series.scale) <= at[0])


def similar_series(table: Table, mapping: Mapping[str, str], hints: Mapping[str, str]) -> dict[Key, Similar]:
    """Return what similar series show of those that others exceed."""
    scale = Panel(tuple(f for f in table.factors if f.numeric), mapping).axis().factor
    if scale is None or not _differ(table, scale.name):
        return {}
    curves = _curves(table, {**mapping}, hints)
    parts: dict[tuple[tuple[float, float], bool], list[Curve]] = {}
    for curve in curves:
        alone = not any(_siblings(curve, other) for other in curves if other.counts[-1][0] > curve.counts[-1][0])
        parts.setdefault((curve.counts[-1], alone), []).append(curve)
    out: dict[Key, Similar] = {}
    for (base, alone), listed in parts.items():
        donors = [curve for curve in curves if base in curve.counts and curve.counts[-1][0] > base[0]]
        for work in sorted({round(curve.work, 1) for curve in listed}):
            some = [curve for curve in listed if round(curve.work, 1) == work or work != work != curve.work]
            alike = [curve for curve in donors if work != work or round(curve.work, 1) == work]
            if len(alike) >= TABLES.fewest_donors:
                out |= _of_donors(some, alike, base, alone)
    return out


def _differ(table: Table, scale: str) -> bool:
    """Tell whether some groups of a table were measured to larger scales than others."""
    number = number_rows(table.frame, table.group)
    largest = np.zeros(int(number.max()) + 1)
    np.maximum.at(largest, number, table.columns[scale].astype(float))
    return len(largest) > TABLES.fewest_donors and float(np.ptp(largest)) > 0.0


def _curves(table: Table, mapping: dict[str, str], hints: Mapping[str, str]) -> list[Curve]:
    """Read the groups of a table as series, in the order of their keys."""
    numeric = {name for name in table.group if all(_positive(value) for value in table.frame[name].unique())}
    out = []
    for key, part in sorted(table.groups(), key=lambda pair: pair[0]):
        try:
            series = series_of(part, mapping, hints, single=True)
        except GenperfError:
            continue
        if series is not None:
            names = dict(zip(table.group, key, strict=True))
            labels = {name: text for name, text in names.items() if name not in numeric}
            labels |= {f.name: f.levels[0] for f in part.categorical}
            out.append(Curve(key, series, labels, {name: float(names[name]) for name in sorted(numeric)}))
    return out


def _positive(text: object) -> bool:
    """Tell whether a text is a number above zero."""
    try:
        return 0.0 < float(str(text)) < np.inf
    except ValueError:
        return False


def _siblings(one: Curve, other: Curve) -> bool:
    """Tell whether two series have the same names and differ in numbers alone."""
    return one is not other and one.labels == other.labels


def _of_donors(
    listed: Sequence[Curve], donors: Sequence[Curve], base: tuple[float, float], alone: bool
) -> dict[Key, Similar]:
    """Return what donors show of series that end at one count, at each count that enough donors reach."""
    reached = Counter(at for curve in donors for at in curve.counts if at[0] > base[0])
    counts = sorted(at for at, times in reached.items() if times >= TABLES.fewest_donors)
    # One number of nodes for each scale: the usual one.
    counts = [
        max((at for at in counts if at[0] == n), key=lambda at: reached[at]) for n in sorted({at[0] for at in counts})
    ]
    if len(counts) > TABLES.most_counts:
        counts = [counts[k] for k in np.unique(np.linspace(0, len(counts) - 1, TABLES.most_counts).round().astype(int))]
    known: dict[Key, list[tuple[dict[str, float], list[Shown]]]] = {curve.key: [] for curve in listed}
    for at in counts:
        some = [curve for curve in donors if at in curve.counts]
        some = [
            some[k] for k in np.unique(np.linspace(0, len(some) - 1, min(len(some), TABLES.most_donors)).astype(int))
        ]
        columns = _columns([*some, *listed], base)
        first, rest = np.arange(len(some)), np.arange(len(some), len(some) + len(listed))
        names = [tuple(sorted(curve.labels.items())) for curve in some]
        block = first if alone is False else np.array([names.index(name) for name in names])
        first_times, last_times, base_times = (
            np.array([curve.seconds(where) for curve in part])
            for part, where in ((some, base), (some, at), (listed, base))
        )
        times = (first_times, last_times, base_times)
        shown_here = shown_by_donors(columns.take(first), columns.take(rest), times, _predicted(some, base, at), block)
        for curve, each in zip(listed, shown_here, strict=True):
            known[curve.key].append((_factors(curve, some, base, at), each))
    near = _columns([*donors, *listed], base)
    order = near.take(np.arange(len(donors), len(donors) + len(listed))).distances(near.take(np.arange(len(donors))))
    nearest = np.argsort(order.sum(axis=0), axis=1, kind="stable")
    return {
        curve.key: Similar(base[0], tuple(known[curve.key]), tuple(donors[j].key for j in nearest[i, :5]), len(donors))
        for i, curve in enumerate(listed)
        if known[curve.key]
    }


def _predicted(
    donors: Sequence[Curve], base: tuple[float, float], at: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return the median and spread of the donors' changes that the bank predicts from their runs up to a count."""
    some = [
        donors[k] for k in np.unique(np.linspace(0, len(donors) - 1, min(len(donors), TABLES.predicted)).astype(int))
    ]
    levels: Array = np.asarray((np.arange(15) + 0.5) / 15.0)
    earlier = weighed([curve.to(base) for curve in some], bank())
    first, last = [], []
    for curve, each in zip(some, earlier, strict=True):
        there = curve.series.take(np.array([count == at for count in curve.counts]))
        last.append(quantiles_at(each, there, levels))
        first.append(np.full(len(levels), curve.seconds(base)))
    out = []
    for change in CHANGES:
        low, middle, high = np.quantile(change.of(np.concatenate(first), np.concatenate(last)), [0.16, 0.5, 0.84])
        out.append((float(middle), max(0.5 * float(high - low), 1e-12)))
    return out


def _columns(curves: Sequence[Curve], base: tuple[float, float]) -> Columns:
    """Return names and standardised logarithms of numbers; columns that part the series alike count once."""
    names: dict[tuple[int, ...], None] = {}
    for name in sorted({name for curve in curves for name in curve.labels}):
        number_of: dict[str, int] = {}
        places = tuple(number_of.setdefault(curve.labels.get(name, ""), len(number_of)) for curve in curves)
        if len(number_of) > 1:
            names[places] = None
    rows = [curve.counts.index(base) for curve in curves]
    values = [[float(curve.series.logarithms[row]) for curve, row in zip(curves, rows, strict=True)]]
    shared = set.intersection(*(set(curve.series.columns) | set(curve.numbers) for curve in curves))
    for name in sorted(shared):
        column = [
            curve.numbers[name] if name in curve.numbers else float(curve.series.columns[name][row])
            for curve, row in zip(curves, rows, strict=True)
        ]
        if min(column) > 0.0:
            values.append(np.log(column).tolist())
    numbers: list[Array] = []
    for each in map(np.array, values):
        spread = float(each.std())
        scaled = (each - each.mean()) / spread if spread > TABLES.same else None
        if scaled is not None and all(abs(abs(float(scaled @ n)) / len(n) - 1.0) > TABLES.same for n in numbers):
            numbers.append(scaled)
    count = len(curves)
    return Columns(np.array(list(names), dtype=float).reshape(-1, count).T, np.array(numbers).reshape(-1, count).T)


def _factors(
    curve: Curve, donors: Sequence[Curve], base: tuple[float, float], at: tuple[float, float]
) -> dict[str, float]:
    """Return the numeric factors of a series at a larger count: they grow as the median donor's do."""
    here = curve.counts.index(base)
    out = {}
    for name, values in curve.series.columns.items():
        grown = [
            donor.series.columns[name][donor.counts.index(at)] / donor.series.columns[name][donor.counts.index(base)]
            for donor in donors
            if name in donor.series.columns and donor.series.columns[name][donor.counts.index(base)] > 0.0
        ]
        out[name] = float(values[here]) * (float(np.median(grown)) if grown else 1.0)
    return out


# --- the cluster -----------------------------------------------------------------------------------------------------


def _shown(readings: list[Weighed], beyond: bool) -> Cluster:
    """Return what a series shows of its cluster, all readings by weight."""
    weights = np.sum([each.share * each.posterior.weights for each in readings], axis=0)
    return shown(bank(), weights, beyond)


def _sampled_rows(table: Table, mapping: Mapping[str, str]) -> npt.NDArray[np.bool_]:
    """Choose the rows of the groups that are weighed: those that reach the largest scales."""
    number = number_rows(table.frame, table.group)
    count = int(number.max()) + 1
    if count <= TABLES.most:
        return np.ones(len(number), bool)
    scale = Panel(table.factors, mapping).axis().factor
    largest = np.zeros(count)
    if scale is not None:
        np.maximum.at(largest, number, table.columns[scale.name].astype(float))
    first = np.unique(number, return_index=True)[1]
    names = table.frame[list(table.group)].iloc[first].astype(str).agg("|".join, axis=1)
    # Neighbours in a table are alike: the order of hashes takes groups from all over it.
    hashes = np.array([hashlib.sha256(name.encode()).hexdigest() for name in names])
    chosen = np.lexsort((hashes, -largest))[: TABLES.most]
    return np.asarray(np.isin(number, chosen))


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
