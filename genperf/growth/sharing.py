"""What the series of a table show each other: the cluster they share, and how similar ones grew.

Groups, `--pool`, and levels whose rows form series (`genperf.process.growth`) all ask `shared_by`.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array
from genperf.discrepancy.product import KernelAxis
from genperf.errors import Note, attempted, counted
from genperf.gaussian import normal_quantiles
from genperf.growth.alike import CHANGES, WEIGHT_PRIOR, DonorChange, StandardisedNumber, shown_by_donors
from genperf.growth.cluster import Cluster, combined, shown
from genperf.growth.measured import Anchors, MeasuredSeries, series_of
from genperf.growth.readings import forecast_of, weighed
from genperf.panel import Table
from genperf.prediction.bands import mixture_quantiles, quantiles

Key = tuple[str, ...]
T = TypeVar("T")
#: The scale and the nodes of a row; no nodes (0) where they are not known.
Count = tuple[float, float]

#: Series that are weighed for the cluster, those of the largest scales first, and donors whose growth the bank
#: predicts, to know what it says before any donor is known.
MOST_WEIGHED_SERIES = 24
#: Donors without which only the cluster is shared.
FEWEST_DONORS = 8
#: Donors that count at most: a process over them takes the cube of their number.
MOST_DONORS = 200
#: Counts at which a series is told from others at most.
MOST_COUNTS = 6
#: Numbers whose standardised difference is below this are one.
SAME_STANDARDISED = 1e-9
#: Equally likely values that stand for a distribution of ln T.
QUANTILE_POINTS = 31


class NamedSeries(Struct, frozen=True, eq=False, dict=True):
    """A series, and what it is called."""

    key: Key
    series: MeasuredSeries
    labels: dict[str, str]  #: Of the group columns and the levels of its categorical factors.
    numbers: dict[str, float]  #: Of the group columns that hold numbers.

    @cached_property
    def rows(self) -> dict[Count, int]:
        """Count, (scale, nodes), → the first row of it: {(8.0, 1.0): 3}, the smallest count first."""
        scale = self.series.values(self.series.scale)
        nodes = np.zeros(len(scale)) if self.series.nodes is None else self.series.nodes
        rows: dict[Count, int] = {}
        for row, count in enumerate(zip(scale.tolist(), nodes.tolist(), strict=True)):
            rows.setdefault(count, row)
        return rows

    @property
    def last(self) -> Count:
        """The largest count."""
        return [*self.rows][-1]

    @property
    def work(self) -> float | None:
        """Exponent of one worker's work along the scale, by the first reading of it; None for a single scale."""
        scale, work = (np.log(self.series.values(text)) for text in (self.series.scale, self.series.works[0][0]))
        return round(float((work[-1] - work[0]) / (scale[-1] - scale[0])), 1) if scale[-1] > scale[0] else None

    def at(self, count: Count, name: str) -> float:
        """Return a numeric factor at a count, or a group column that holds numbers."""
        number = self.numbers.get(name)
        return float(self.series.columns[name][self.rows[count]]) if number is None else number

    def seconds(self, count: Count) -> float:
        """Return the measured time at a count."""
        return float(np.exp(self.series.logarithms[self.rows[count]]))


class Shared(Struct, frozen=True, eq=False, dict=True):
    """What the other series of a table show of one of them."""

    cluster: Cluster | None = None  #: Of their cluster; None beside similar series, which show more.
    beyond: int = 0  #: How many were measured on several nodes.
    #: The numeric factors at larger counts, and what similar series show of the change to each.
    columns: Mapping[str, Array] = field(default_factory=dict)
    changes: tuple[list[DonorChange], ...] = ()
    #: `nearest`, `donors`: the keys of the series most like it, and the number of all.
    nearest: tuple[str, ...] = ()
    donors: int = 0

    def beside(self, series: MeasuredSeries) -> MeasuredSeries:
        """Return the series with ln T at larger counts: its own forecast, weighed by what similar series show.

        p(x) is Σ_k share_k·p_alone(x)·p_k(x | donors)/p_k(x) over the ways k to count a change, each of mass share_k.
        """
        if not self.changes:
            return series
        readings = weighed(series)
        levels = (np.arange(QUANTILE_POINTS) + 0.5) / QUANTILE_POINTS
        columns = {name: self.columns[name] for name in series.columns}
        alone = forecast_of(readings, replace(series, columns=columns, logarithms=np.zeros(len(self.changes))))
        points = []
        # At each larger count x are values of ln T by the runs alone, equally likely within a draw. Each way weighs
        # them, and their mixture is kept by its quantiles.
        for mean, variance, listed in zip(alone.mean.T, alone.total.T, self.changes, strict=True):
            x = (mean[:, None] + np.sqrt(variance)[:, None] * normal_quantiles(levels)).ravel()
            share = np.zeros(len(x))
            for candidate in listed:
                log = candidate.log_ratio(float(np.exp(series.logarithms[-1])), x)
                weights = np.exp(log - log.max()) * np.repeat(alone.shares, len(levels))
                share += candidate.share * weights / weights.sum()
            points.append(quantiles(x, share, levels))
        values = np.stack(points)
        return series.extended(Anchors(columns, np.median(values, axis=1), values.var(axis=1), values))

    def notes(self, name: str, series: MeasuredSeries) -> tuple[dict[str, str | float | None], list[Note]]:
        """Return what a model file keeps of similar series, and from which the growth and the network are."""
        notes: list[Note] = []
        options: dict[str, str | float | None] = {}
        if self.changes:
            reached = self.columns[series.column]
            # Of the variance of the change to the largest count, the part that similar series took away.
            share = 1.0 - sum(change.share * min(change.sd / change.prior_sd, 1.0) ** 2 for change in self.changes[-1])
            options = {"pooled_share": round(share, 3), "borrowed_to": float(reached[-1])}
            options["donors"] = "; ".join(self.nearest)
            text = (
                f"not measured beyond {series.column}={series.values(series.scale)[-1]:g}: at "
                f"{', '.join(f'{n:g}' for n in reached)} the growth is estimated from {self.donors} similar groups "
                f"(most like it: {'; '.join(self.nearest[:3])}); pooled share {100.0 * share:.0f} %"
            )
            notes.append(Note(text, "pooled"))
        if self.beyond and series.on_one_node:
            others = counted(self.beyond, "other group")
            shown_there = f"what {others} of the table showed there is part of the interval"
            text = f"{name}: no run goes beyond one node; {shown_there}"
            notes.append(Note(text, "table_prior"))
        return options, notes

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what other series share, which differs where they would make another fit; empty without any."""
        arrays = [] if self.cluster is None else [*self.cluster.sums]
        arrays += [*self.columns.values(), *(np.array(item) for listed in self.changes for item in listed)]
        return hashlib.sha256(np.concatenate(arrays).round(6).tobytes()).hexdigest()[:12] if arrays else ""


#: Of a series that stands alone.
ALONE = Shared()


def shared_by(curves: Sequence[NamedSeries]) -> list[Shared]:
    """Return for each series what the others show of it, in order, and last what all of them show of a new one.

    Only series of several counts show something, those of the largest counts first.
    """
    grown = [k for k, curve in enumerate(curves) if next(iter(curve.rows))[0] < curve.last[0]]
    # By a hash, because neighbours in a table are alike.
    hashes = {k: hashlib.sha256("|".join(curves[k].key).encode()).hexdigest() for k in grown}
    chosen = sorted(grown, key=lambda k: (-curves[k].last[0], hashes[k]))[:MOST_WEIGHED_SERIES]
    beyond = {k for k in chosen if curves[k].series.nodes is not None and not curves[k].series.on_one_node}
    clusters = {}
    for k in chosen:
        # The weights of walks and curves by all readings, each by its share.
        weights = [r.share / r.posterior.weights.sum() * r.posterior.weights for r in weighed(curves[k].series)]
        clusters[k] = shown(np.sum(weights, axis=0), k in beyond)

    def shown_without(place: int | None) -> Shared:
        """Return what all series but one show of that one."""
        others = [cluster for k, cluster in clusters.items() if k != place]
        return Shared(combined(others), len(beyond - {place}))

    by_all = shown_without(None)
    shares = {k: shown_without(k) for k in clusters}
    # What similar series show takes the place of the cluster.
    shares |= {k: replace(shared, beyond=shares.get(k, by_all).beyond) for k, shared in _similar_shown(curves).items()}
    return [*(shares.get(k, by_all) for k in range(len(curves))), by_all]


class TableShares(Struct, frozen=True):
    """What the groups of a table show each other."""

    groups: Mapping[Key, Shared] = field(default_factory=dict)
    others: Shared = ALONE  #: Of the other groups.
    series: bool = False  #: Whether every group is a series.

    def of(self, key: Key) -> Shared:
        """Return what the others show of one group."""
        return self.groups.get(key, self.others)


def table_shares(table: Table, hints: Mapping[str, str]) -> TableShares:
    """Return what the groups of a table show each other; nothing without groups, or with fewer than two series."""
    if not table.group:
        return TableShares()
    # Group columns of numbers above zero tell groups apart by their logarithm, the others by name.
    values = {name: pd.to_numeric(table.frame[name], errors="coerce") for name in table.group}
    numeric = {name for name, numbers in values.items() if ((numbers > 0.0) & (numbers < np.inf)).all()}
    curves = []
    groups = sorted(table.groups(), key=lambda pair: pair[0])
    for key, group_table in groups:
        series = attempted(series_of, group_table, hints, True)
        if isinstance(series, MeasuredSeries):
            names = dict(zip(table.group, key, strict=True))
            labels = {name: text for name, text in names.items() if name not in numeric}
            labels |= {f.name: f.levels[0] for f in group_table.categorical}
            curves.append(NamedSeries(key, series, labels, {name: float(names[name]) for name in sorted(numeric)}))
    all_series = len(curves) == len(groups)
    if len(curves) < 2:
        return TableShares(series=all_series)
    *shares, new_group = shared_by(curves)
    return TableShares(dict(zip((curve.key for curve in curves), shares, strict=True)), new_group, all_series)


def _similar_shown(curves: Sequence[NamedSeries]) -> dict[int, Shared]:
    """Return what similar series show of each series that others exceed, by its place among the curves."""
    # By the last count, whether no longer series has the same names, and the exponent of the work.
    places_by_base: dict[tuple[Count, bool, float | None], list[int]] = {}
    for k, curve in enumerate(curves):
        farther = [longer for longer in curves if longer.last[0] > curve.last[0]]
        # Series of the same names, which differ in numbers alone, are the best donors: without any, others are judged.
        unlike = all(longer.labels != curve.labels for longer in farther)
        works = Counter(longer.work for longer in farther if curve.last in longer.rows)
        if works:
            work = curve.work if curve.work is not None else works.most_common(1)[0][0]
            places_by_base.setdefault((curve.last, unlike, work), []).append(k)
    out: dict[int, Shared] = {}
    for (base, unlike, work), places in places_by_base.items():
        donors = [c for c in curves if c.last[0] > base[0] and c.work == work and base in c.rows]
        # `_donor_changes` is empty where too few donors reach any further count.
        out |= dict(zip(places, _donor_changes([curves[k] for k in places], donors, base, unlike), strict=False))
    return out


def _donor_changes(
    listed: Sequence[NamedSeries], donors: Sequence[NamedSeries], base: Count, unlike: bool
) -> list[Shared]:
    """Return for each listed series, all of which end at `base`, how the time changes to larger counts of donors."""
    donors_at = Counter(count for curve in donors for count in curve.rows if count[0] > base[0])
    # One number of nodes for each scale: the usual one.
    usual = {count[0]: count for count, _ in reversed(donors_at.most_common())}
    counts = _evenly_chosen(sorted(count for count in usual.values() if donors_at[count] >= FEWEST_DONORS), MOST_COUNTS)
    if not counts:
        return []
    columns, changes = [], []
    for count in counts:
        reaching = _evenly_chosen([curve for curve in donors if count in curve.rows], MOST_DONORS)
        labels = [tuple(sorted(curve.labels.items())) for curve in reaching]
        block = np.array([labels.index(label) for label in labels]) if unlike else np.arange(len(reaching))
        before, after = (np.array([curve.seconds(at) for curve in reaching]) for at in (base, count))
        predicted = _predicted(reaching, base, count)
        changes.append(shown_by_donors(*_axes(reaching, listed, base), (before, after), predicted, block))
        columns.append(_factors_beyond(listed, reaching, base, count))
    # By the sum of the distances along all axes.
    named = _evenly_chosen(donors, MOST_DONORS)
    split = len(named)
    far = [axis.distance(x[split:, None], x[:split]) for axis, x in zip(*_axes(named, listed, base), strict=True)]
    nearest = np.argsort(np.sum(far, axis=0), axis=1, kind="stable")
    return [
        Shared(
            columns={name: np.array([of_count[name][i] for of_count in columns]) for name in columns[0]},
            changes=tuple(of_count[i] for of_count in changes),
            nearest=tuple(", ".join(named[j].key) for j in nearest[i, :5]),
            donors=len(donors),
        )
        for i in range(len(listed))
    ]


def _evenly_chosen(listed: Sequence[T], most: int) -> list[T]:
    """Return at most so many entries of a list, evenly spread over it."""
    return [listed[k] for k in np.unique(np.linspace(0, len(listed) - 1, min(len(listed), most)).round().astype(int))]


def _predicted(donors: Sequence[NamedSeries], base: Count, at: Count) -> list[tuple[float, float]]:
    """Return for each of `CHANGES` the median and spread of donors' changes, as the bank predicts them from `base`."""
    some = _evenly_chosen(donors, MOST_WEIGHED_SERIES)
    levels = np.array([(k + 0.5) / 15.0 for k in range(15)])
    last = []
    for curve in some:
        earlier = weighed(curve.series.take(curve.series.values(curve.series.scale) <= base[0]))
        alone = forecast_of(earlier, curve.series.take(np.array([curve.rows[at]])))
        last.append(mixture_quantiles(alone.mean, alone.shares, np.sqrt(alone.total), levels)[:, 0])
    base_seconds = np.repeat([curve.seconds(base) for curve in some], len(levels))
    changes = [change.of(base_seconds, np.concatenate(last)) for change in CHANGES]
    quantiles_of = [np.quantile(change, [0.16, 0.5, 0.84]).tolist() for change in changes]
    return [(middle, max(0.5 * (high - low), 1e-12)) for low, middle, high in quantiles_of]


def _axes(
    donors: Sequence[NamedSeries], listed: Sequence[NamedSeries], base: Count
) -> tuple[list[KernelAxis], list[AnyArray]]:
    """Return by what donors and series may differ, as axes, and the coordinates of both on each."""
    curves = [*donors, *listed]
    # By which series have equal names, as bytes.
    names: dict[bytes, AnyArray] = {}
    for name in sorted({name for curve in curves for name in curve.labels}):
        places = pd.factorize(np.array([curve.labels.get(name, "") for curve in curves], object))[0]
        if places.max() > 0:
            names.setdefault(places.tobytes(), places)
    shared = set.intersection(*({*curve.series.columns, *curve.numbers} for curve in curves))
    rows = np.array([[curve.seconds(base), *(curve.at(base, name) for name in sorted(shared))] for curve in curves]).T
    numbers: list[Array] = []
    for logarithms in np.log(rows[rows.min(axis=1) > 0.0]):
        spread = float(logarithms.std())
        scaled = (logarithms - logarithms.mean()) / max(spread, SAME_STANDARDISED)
        # A correlation of ±1 is the same column but for unit and sign.
        correlations = [abs(float(scaled @ other)) / len(other) for other in numbers]
        is_new = spread > SAME_STANDARDISED and all(abs(c - 1.0) > SAME_STANDARDISED for c in correlations)
        # The time is an axis even where it is one.
        numbers += [scaled] if is_new or not numbers else []
    axes = [KernelAxis("name", "level", 0.0, WEIGHT_PRIOR[0])] * len(names)
    axes += [StandardisedNumber("number", "ln", 0.0, WEIGHT_PRIOR[0])] * len(numbers)
    return axes, [*names.values(), *numbers]


def _factors_beyond(
    listed: Sequence[NamedSeries], donors: Sequence[NamedSeries], base: Count, at: Count
) -> dict[str, Array]:
    """Return the numeric factors of series at a larger count, where they grow as the median donor's do."""
    out = {}
    for name in listed[0].series.columns:
        have = [donor for donor in donors if name in donor.series.columns and donor.at(base, name) > 0.0]
        grown = float(np.median([donor.at(at, name) / donor.at(base, name) for donor in have])) if have else 1.0
        out[name] = grown * np.array([curve.at(base, name) for curve in listed])
    return out
