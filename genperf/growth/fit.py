"""`auto` on a series: the bank of curves, reweighted by its runs, as members that predict."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from genperf.discrepancy import Discrepancy, Extrapolation
from genperf.discrepancy.series import walk_from
from genperf.errors import Note
from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, Node, names_in, parse, substitute
from genperf.growth.alike import Shown
from genperf.growth.bank import BETWEEN, CONSTANT, DOUBLING, LATENCY, Bank, bank
from genperf.growth.cluster import Cluster
from genperf.growth.hints import hint_notes, hint_tilt
from genperf.growth.measured import MeasuredSeries, mixture_notes, outliers, repeat_noise, scale_note
from genperf.growth.posterior import (
    POSTERIOR,
    UNITS,
    Counts,
    Draws,
    Posterior,
    Series,
    central_of,
    mixture,
    posteriors,
)
from genperf.models import MODELS, Overhead
from genperf.panel.work import LIMIT
from genperf.prediction import Ensemble, Evidence, Member, Spread, Status, mixture_quantiles
from genperf.prediction.bands import quantiles
from genperf.table import Table
from genperf.vocabulary.names import noun_of

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FitSettings:
    """How a series is read where its table is silent, and what is kept of its posterior."""

    #: Prior share of work that the workers share, where the table does not show how one worker's work changes.
    shared_work: float = 0.5
    #: Numbers of nodes over the workers, and their prior shares, where no column counts the nodes: a worker each, eight
    #: workers, all workers on one.
    node_sizes: tuple[tuple[str, float], ...] = (("workers", 0.5), ("max(workers/8, 1)", 0.25), ("1", 0.25))
    #: What columns of devices count, of which as many as `largest_start` may share a node: up to there nobody knows
    #: whether several nodes were measured.
    devices: str = r"gpus?|devices?|accelerators?|[tn]pus?|cards?|chips?"
    #: The share of the interval, not of the central value, that one node then has: it is as wide as if that were known.
    unknown_node: float = 0.995
    #: A smallest count above it, of a scale whose nodes are not counted, is the unit: 256 environments and twice as
    #: many grow as one worker and two do. Eight devices are one node of most clusters.
    largest_start: float = 8.0
    #: Readings of less weight are left out: they would move a 90 % interval by less than its digits.
    least_reading: float = 2e-3
    #: Share of the draws, in the middle of those along the growth, whose mean is the decomposition that is shown.
    central: float = 0.5
    #: Equally likely values that stand for a distribution of ln T.
    points: int = 31


FIT = FitSettings()


@dataclass(frozen=True)
class Reading:
    """How the counts of a series may be meant."""

    #: `workers`, `nodes`, `work`: over canonical names: the workers, their nodes, the work of one worker.
    workers: str
    nodes: str
    work: str
    #: Prior probability.
    share: float
    #: Whether a constant stands beside work that did not vary: the two are told apart by the prior alone.
    free_constant: bool
    #: Whether all runs lie on one node by it, and nobody knows better: the interval is at least as wide.
    one_node: bool = False

    def counts(self, series: MeasuredSeries) -> tuple[Counts, float]:
        """Return the counts of a series, and the work of one worker at the largest."""
        work = series.values(self.work)
        return Counts(series.values(self.workers), series.values(self.nodes), work / work[-1]), float(work[-1])


def readings_of(series: MeasuredSeries) -> list[Reading]:
    """Return how the counts of a series may be meant, the likeliest first."""
    factors = series.factors
    workers = "workers" if factors.node("workers") is not None else "nodes"
    nodes: tuple[tuple[str, float], ...] = FIT.node_sizes
    counted, unknown = factors.node("nodes") is not None, False
    if counted and bool(np.all(series.values("nodes") <= series.values(workers))):
        nodes = (("nodes", 1.0),)
    elif not counted and (start := float(series.values(workers).min())) > FIT.largest_start:
        workers = f"workers/{start:.15g}"
        nodes = tuple((size.replace("workers", workers), part) for size, part in nodes)
    elif not counted and float(series.values(workers).max()) <= FIT.largest_start:
        unknown = re.fullmatch(FIT.devices, noun_of(series.column).lower()) is not None
    out = []
    for work, from_table in series.works:
        varies = bool(np.ptp(np.log(series.values(work))) > 1e-9)
        share = 1.0 if len(series.works) == 1 else FIT.shared_work if varies else 1.0 - FIT.shared_work
        out += [
            Reading(workers, size, work, share * part, from_table and not varies, unknown and size.startswith("max("))
            for size, part in nodes
        ]
        if not series.limits:
            continue
        # What ends is that of one machine.
        alone, count = replace(out[-1], share=share), "workers" if factors.node("workers") is not None else "nodes"
        ends = [(limit, chance, *power) for limit, chance in series.limits for power in LIMIT.powers]
        waits = [(f"max(1, {count}/{limit:.4g})**{power:g}", chance * part) for limit, chance, power, part in ends]
        unlimited = 1.0 - sum(chance for _, chance in waits)
        out[-len(nodes) :] = [replace(each, share=each.share * unlimited) for each in out[-len(nodes) :]]
        out += [
            replace(alone, work=wait if work == "1" else f"{work}*{wait}", share=share * chance)
            for wait, chance in waits
        ]
    return out


@dataclass(frozen=True, eq=False)
class Weighed:
    """A reading of a series with its posterior."""

    reading: Reading
    posterior: Posterior
    #: Posterior probability of the reading.
    share: float
    #: Work of one worker at the largest count.
    unit: float

    @cached_property
    def draws(self) -> Draws:
        """Draws of the posterior, the more the likelier the reading."""
        return self.posterior.draws(max(POSTERIOR.least_draws, round(POSTERIOR.draws * self.share)))

    def counts(self, series: MeasuredSeries) -> Counts:
        """Return the counts of another series, whose times are not looked at."""
        there, unit = self.reading.counts(series)
        return replace(there, work=there.work * unit / self.unit)


def weighed(parts: Sequence[MeasuredSeries], drawn: Bank, cluster: Cluster | None = None) -> list[list[Weighed]]:
    """Return the readings of each series with their posteriors, beside what is known of the cluster."""
    listed = [
        (k, reading, *reading.counts(series)) for k, series in enumerate(parts) for reading in readings_of(series)
    ]
    tilts = [hint_tilt(drawn, series) for series in parts]
    # Readings that differ beyond the measured counts alone have one posterior.
    runs = {
        (k, counts.key): Series(counts, parts[k].logarithms, parts[k].variances, parts[k].in_seconds, tilts[k])
        for k, _, counts, _ in listed
    }
    known = dict(zip(runs, posteriors(list(runs.values()), drawn), strict=True))
    readings: list[list[Weighed]] = [[] for _ in parts]
    for k, reading, counts, unit in listed:
        posterior = known[k, counts.key]
        readings[k].append(Weighed(reading, posterior, posterior.log_evidence + float(np.log(reading.share)), unit))
    return [_normalised(each, cluster) for each in readings]


def _normalised(listed: Sequence[Weighed], cluster: Cluster | None) -> list[Weighed]:
    """Turn log-weights of readings into probabilities; those of hardly any weight are left out."""
    weights = np.exp(np.array([each.share for each in listed]) - max(each.share for each in listed))
    least = FIT.least_reading * weights.sum()
    kept_anyway = [each.reading.one_node for each in listed]
    weights = np.where(weights >= least, weights, np.where(kept_anyway, least, 0.0))
    kept = [(each, float(w / weights.sum())) for each, w in zip(listed, weights, strict=True) if w > 0.0]
    return [
        replace(each, share=w, posterior=each.posterior if cluster is None else each.posterior.tilted(cluster))
        for each, w in kept
    ]


def fit_series(
    table: Table, series: MeasuredSeries, cluster: Cluster | None = None, similar: Similar | None = None
) -> Ensemble:
    """Reweight the bank by the runs of a series.

    Parameters
    ----------
    series : MeasuredSeries
        Of the table, see `series_of`.
    cluster : Cluster, optional
        What the other series of the table show of the cluster they share.
    similar : Similar, optional
        What similar series show of larger counts; they say more of these than the cluster does.
    """
    noise = float(np.sqrt(repeat_noise(table)[0]))
    smaller = _without_largest(series)
    loans = None if similar is None else _loans(series, similar)
    whole = series if loans is None else series.extended(loans.columns, loans.medians, loans.variances)
    known = None if similar is not None else cluster
    readings = weighed([whole] if smaller is None else [whole, smaller[0]], bank(), known)
    shown = readings[0] if loans is not None else _as_wide_as_one_node(readings[0])
    members = tuple(_member(whole, wide, len(shown) > 1) for wide in shown)
    members = tuple(
        replace(member, central=None if member.central is None else member.central * (each.share / wide.share))
        for member, each, wide in zip(members, readings[0], shown, strict=True)
    )
    if loans is not None:
        members = tuple(_through(member, loans, noise) for member in members)
    evidence = () if smaller is None else (_look_back(series, *smaller, readings[1]),)
    options: dict[str, str | float | None] = {"approach": "series", "scale": series.column}
    notes = [*scale_note(series), *outliers(table), *mixture_notes(table, series), *hint_notes(series)]
    if similar is not None:
        options |= {
            "pooled_share": similar.share,
            "borrowed_to": similar.counts(series.column)[-1],
            "donors": similar.nearest(5),
        }
        notes.append(similar.note(series.column))
    return Ensemble(members, Spread(noise=noise), evidence, options, tuple(notes))


def _as_wide_as_one_node(readings: Sequence[Weighed]) -> Sequence[Weighed]:
    """Return the readings by their shares of the interval: nearly all is that of one node, where that is not known."""
    one = sum(each.share for each in readings if each.reading.one_node)
    if not 0.0 < one < FIT.unknown_node:
        return readings
    parts = {True: FIT.unknown_node / one, False: (1.0 - FIT.unknown_node) / (1.0 - one)}
    return [replace(each, share=each.share * parts[each.reading.one_node]) for each in readings]


def _without_largest(series: MeasuredSeries) -> tuple[MeasuredSeries, MeasuredSeries] | None:
    """Part a series into its smaller scales and the largest one; None where fewer than two would be left."""
    scale = series.values(series.scale)
    scales = np.unique(scale)
    if len(scales) < 3:
        return None
    return series.take(scale < scales[-1]), series.take(scale == scales[-1])


def _look_back(
    series: MeasuredSeries, smaller: MeasuredSeries, largest: MeasuredSeries, readings: Sequence[Weighed]
) -> Evidence:
    """Predict the largest scale from the smaller ones."""
    counts = [each.counts(largest) for each in readings]
    central = central_of([each.draws for each in readings], [each.share for each in readings], counts)
    work = series.works[0][0] if len(series.works) == 1 else "1"
    last = smaller.logarithms[-1] + np.log(largest.values(work) / smaller.values(work)[-1])
    scales = np.unique(series.values(series.scale))
    return Evidence(
        series.column,
        float(scales[-1]),
        float(np.log2(scales[-1] / scales[-2])),
        float(np.mean(np.abs(np.log(central) - largest.logarithms))),
        float(np.mean(np.abs(last - largest.logarithms))),
    )


# --- similar series --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Similar:
    """What similar series show of one that was measured less far."""

    #: The largest scale of the series.
    base: float
    #: For each larger count the numeric factors there, and what the donors show of the change to it.
    known: tuple[tuple[dict[str, float], list[Shown]], ...]
    #: The series most like it.
    donors: tuple[tuple[str, ...], ...]
    #: Donors in all.
    among: int

    @property
    def share(self) -> float:
        """Of the variance of the change to the largest count, the part that the donors took away."""
        left = sum(each.share * min(each.sd / each.prior_sd, 1.0) ** 2 for each in self.known[-1][1])
        return round(1.0 - float(left), 3)

    def counts(self, column: str) -> list[float]:
        """Return the larger counts."""
        return [factors[column] for factors, _ in self.known]

    def nearest(self, most: int) -> str:
        """Name the series most like it."""
        return "; ".join(", ".join(donor) for donor in self.donors[:most])

    def note(self, column: str) -> Note:
        """Say from which series the growth is estimated."""
        scales = ", ".join(f"{n:g}" for n in self.counts(column))
        text = (
            f"not measured beyond {column}={self.base:g}: at {scales} the growth is estimated from {self.among} "
            f"similar groups (most like it: {self.nearest(3)}); pooled share {100.0 * self.share:.0f} %"
        )
        return Note(text, "pooled")


@dataclass(frozen=True, eq=False)
class Loans:
    """ln T at larger counts, as similar series and the runs of the series together have it."""

    #: Shape (counts,).
    columns: dict[str, Array]
    #: Shape (counts, k). Equally likely values of ln T, rising.
    points: Array

    @property
    def medians(self) -> Array:
        """Of ln T, shape (counts,)."""
        return np.asarray(np.median(self.points, axis=1))

    @property
    def variances(self) -> Array:
        """Of ln T, shape (counts,)."""
        return np.asarray(self.points.var(axis=1))


def mixture_at(readings: Sequence[Weighed], there: MeasuredSeries) -> tuple[Array, Array, Array]:
    """Return means and standard deviations of ln T of a new run, of all draws of all readings, and their weights."""
    draws, shares = [each.draws for each in readings], [each.share for each in readings]
    mean, variance, weights = mixture(draws, shares, [each.counts(there) for each in readings])
    return mean, np.sqrt(variance), weights


def quantiles_at(readings: Sequence[Weighed], there: MeasuredSeries, levels: Array) -> Array:
    """Return quantiles of the time of a new run at the one count of another series, shape (levels,)."""
    mean, sd, weights = mixture_at(readings, there)
    return mixture_quantiles(mean, weights, sd, levels)[:, 0]


def _loans(series: MeasuredSeries, similar: Similar) -> Loans:
    """Return ln T at the larger counts: the bank's distribution by the series' own runs, times what the donors show."""
    readings = weighed([series], bank())[0]
    first = float(np.exp(series.logarithms[-1]))
    levels = (np.arange(FIT.points) + 0.5) / FIT.points
    points, columns = [], {name: np.array([factors[name] for factors, _ in similar.known]) for name in series.columns}
    for k, (_, shown) in enumerate(similar.known):
        here = {name: values[k : k + 1] for name, values in columns.items()}
        mean, sd, weights = mixture_at(
            readings, replace(series.take(np.arange(len(series.logarithms)) == 0), columns=here)
        )
        x = (mean + sd * ndtri(levels)).ravel()
        share = np.zeros(len(x))
        for each in shown:
            log = each.log_ratio(first, x) + np.log(np.repeat(weights, FIT.points))
            part = np.exp(log - log.max())
            share += each.share * part / part.sum()
        points.append(quantiles(x, share, levels))
    return Loans(columns, np.stack(points))


def _through(member: Member, loans: Loans, noise: float) -> Member:
    """Let every draw pass through one quantile of what similar series show, flat curves through the low ones."""
    discrepancy = member.discrepancy
    assert discrepancy is not None
    ranks = (np.arange(len(member.draws)) + 0.5) / len(member.draws)
    levels = (np.arange(FIT.points) + 0.5) / FIT.points
    # What a new run adds is in the loans already: the draws spread by so much less.
    run = float(np.mean(discrepancy.run_variance(noise)))
    offsets = []
    for points, variance in zip(loans.points, loans.variances, strict=True):
        share = np.sqrt(max(0.0, 1.0 - run / max(float(variance), 1e-300)))
        offsets.append(share * np.interp(ranks, levels, points - np.median(points)))
    variances = np.concatenate([discrepancy.variances[: -len(offsets)], np.zeros(len(offsets))])
    corrected = msgspec.structs.replace(discrepancy, variances=variances, offsets=np.stack(offsets, axis=1))
    return replace(member, discrepancy=corrected, central=None)


# --- members ---------------------------------------------------------------------------------------------------------


def _member(series: MeasuredSeries, one: Weighed, several: bool) -> Member:
    """Return the draws of a reading, each a curve with its walk, as a member."""
    drawn = one.draws
    reading, layout = one.reading, one.posterior.layout
    walk, curve = drawn.walk, drawn.curve
    overheads, expression = written(series, reading)
    level, sd = drawn.level
    level = np.exp(level + sd * _normal(len(walk)))
    places = [layout.bank.prior.names.index(overhead.name) for overhead in overheads]
    sizes = layout.bank.sizes[curve]
    if reading.nodes == reading.workers:
        # A doubling of the workers is one of the nodes.
        sizes[:, LATENCY] += sizes[:, DOUBLING]
    constants = level[:, None] * sizes[:, places] / np.array([UNITS[j] for j in places])
    computation = level / one.unit
    if reading.free_constant:
        # Work that did not vary: how much of its time is a constant, the prior alone says.
        whole = 1.0 + sizes[:, CONSTANT]
        computation = computation / whole
        constants[:, places.index(CONSTANT)] /= whole
    constants = np.column_stack([computation, constants])
    quarter = round(0.5 * (1.0 - FIT.central) * len(walk))
    central = drawn.central
    inner = slice(quarter, len(walk) - quarter)
    best = np.average(constants[inner], axis=0, weights=central[inner])
    axes = series.axes(reading.work)
    step = float(layout.bank.prior.walk_step.min())
    discrepancy = Discrepancy(
        walk_from(axes, step, series.columns),
        series.columns,
        series.logarithms,
        layout.variances,
        layout.bank.prior.noise * step,
        layout.bank.prior.walk_step[walk] / step,
        extrapolation=Extrapolation(
            axes,
            series.over_columns(reading.work),
            layout.bank.prior.settings.slope * step,
            series.over_columns(reading.nodes),
        ),
    )
    return Member(
        expression,
        best,
        constants,
        one.share,
        Status("reweighted", -one.posterior.log_evidence, True, len(layout.curves), 1, 1),
        unidentified=expression.constant_names[:2] if reading.free_constant else (),
        label=_label(series, reading) if several else "overheads",
        discrepancy=discrepancy,
        central=central / central.mean(),
    )


def _label(series: MeasuredSeries, reading: Reading) -> str:
    """Say how the counts of a reading are meant, where there are several."""
    parts = ["overheads"]
    if len(series.works) > 1:
        parts.append("constant work" if reading.work == "1" else "shared work")
    if reading.nodes.startswith("max("):
        parts.append("eight a node")
    return ", ".join([*parts, "one node"] if reading.nodes == "1" else parts)


def _normal(count: int) -> Array:
    """Return evenly spread normal numbers in an order that goes with nothing else (a Kronecker sequence)."""
    return np.asarray(ndtri((0.5 + 0.7548776662466927 * np.arange(1, count + 1)) % 1.0))


def overheads_of(names: Sequence[str]) -> list[Overhead]:
    """Return the registered overheads of the names of a prior."""
    registered = {o.name: o for family in MODELS.values() for o in family.overheads}
    return [registered[name] for name in names]


def written(series: MeasuredSeries, reading: Reading) -> tuple[tuple[Overhead, ...], Expression]:
    """Write the computation and the overheads that may arise over the columns of a series."""
    prior = bank().prior
    varies = bool(np.ptp(np.log(series.values(reading.work))) > 1e-9)
    apart, beyond = reading.nodes != reading.workers, reading.nodes != "1"
    chosen = tuple(
        overhead
        for overhead, between in zip(overheads_of(prior.names), BETWEEN.tolist(), strict=True)
        if (overhead.place != "constant" or varies or reading.free_constant)
        and (overhead.place not in ("inside", "doubling") or apart)
        and (not between or beyond)
    )
    # The constant beside the computation, as the two are told apart.
    chosen = tuple(sorted(chosen, key=lambda overhead: overhead.place != "constant"))
    known = {name: series.factors.node(name) for name in names_in(parse(reading.work).node)}
    # The work is that of one worker, also where the smallest count is the unit of the exchange.
    work = tuple((name, node) for name, node in known.items() if node is not None)
    axes = [("workers", reading.workers), ("nodes", reading.nodes)]
    parsed = tuple((name, parse(series.over_columns(text)).node) for name, text in axes)
    names = tuple(f.name for f in series.factors.factors)
    return chosen, _expression(names, work, (*work, *parsed), reading.work, chosen)


@lru_cache(maxsize=64)
def _expression(
    columns: tuple[str, ...],
    work_nodes: tuple[tuple[str, Node], ...],
    nodes: tuple[tuple[str, Node], ...],
    work: str,
    overheads: tuple[Overhead, ...],
) -> Expression:
    """Return the sum of the computation and the overheads over a table's columns."""
    computation = Overhead("computation", "a", "a" if work == "1" else f"a*{work}".replace("a*1/", "a/"), "constant")
    constants: list[str] = []
    terms = []
    for overhead in (computation, *overheads):
        constants.append(_unlike(overhead.constant, (*columns, *constants)))
        columns_of = dict(work_nodes if overhead is computation else nodes)
        formula = substitute(parse(overhead.formula).node, {**columns_of, overhead.constant: Name(constants[-1])})
        terms.append(Term(overhead.name, formula))
    return Expression("series", tuple(terms), tuple(coefficient(name) for name in constants))


def _unlike(name: str, columns: Collection[str]) -> str:
    """Return a name that no column has."""
    while name in columns:
        name += "_"
    return name
