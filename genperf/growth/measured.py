"""A table read as a series: what is scaled, how the work of one worker changes, and what the repeats say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Index, Mask
from genperf.errors import Note
from genperf.formula import values_of
from genperf.models.network import network_of
from genperf.panel import Panel, Table, limits
from genperf.panel.panel import WorkFormula, several_nodes
from genperf.panel.table import parting_notes
from genperf.prediction.schema import schema_of
from genperf.vocabulary.names import LEVELS, canonical_of

#: Configurations of a series at most: its covariance is taken apart whole. A larger table has a process.
MOST_CONFIGURATIONS = 256
#: A run so many standard deviations from its configuration's median is named: five, as in physics.
OUTLYING_DEVIATIONS = 5.0
#: And so far as a share, so that very quiet series name nothing. Half and double change no answer (settings.md).
OUTLYING_SHARE = 0.2
#: Variance of the median of three and more normal runs over that of their mean: π/2 for many runs.
MEDIAN_VARIANCE = np.pi / 2.0

_COUNTS = (*LEVELS, "devices_per_node")
_SCALES = (*_COUNTS, "batch", "global_batch")


class Anchors(Struct, frozen=True, eq=False):
    """What is known of ln T at larger counts beside the runs of a series or a table."""

    columns: dict[str, AnyArray]
    #: Shape (anchors,). Of ln T of a run.
    centre: Array
    variance: Array
    #: Shape (anchors, k). Equally likely values of ln T, rising, where its distribution is not a normal one.
    points: Array | None = None


class MeasuredSeries(Struct, frozen=True, eq=False, dict=True):
    """A measured series: configurations that differ in how far they are scaled."""

    factors: Panel
    scale: str  #: Canonical name: workers, or nodes where there is no column of workers.
    column: str  #: What the user calls the scale.
    columns: dict[str, Array]  #: Shape (configurations,). The factors' values.
    #: Shape (configurations,). ln seconds, and their variances as the repeats show them.
    logarithms: Array
    variances: Array
    works: tuple[WorkFormula, ...]  #: How one worker's work may change.
    in_seconds: bool = True  #: Whether the values are the seconds of a step, beside which a hinted exchange has a size.
    learned: bool = False  #: Whether the values are what a network has learned, in which no machine has a part.
    hinted: bool = False  #: Whether the user says how fast the network between nodes is (`--hint`).
    either_way: bool = False  #: Whether overheads may as well lower the values: those of neither a time nor a rate.
    #: Seconds in which two nodes exchange the message of a step, by the hint; None without one, or where the bytes are
    #: not known.
    exchange: float | None = None
    #: Counts of the scale beyond which more of it may only wait, each with its probability.
    limits: tuple[tuple[float, float], ...] = ()
    noise: float = 0.0  #: Standard deviation of ln T among repeats.
    anchors: Anchors | None = None  #: The last configurations where they are what other series show.

    @cached_property
    def _known(self) -> dict[str, Array]:
        """Formulas over canonical names that were evaluated so far -> their values at every configuration."""
        return {}

    def take(self, rows: Mask | Index) -> MeasuredSeries:
        """Return some of the configurations."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        some = replace(self, columns=columns, logarithms=self.logarithms[rows], variances=self.variances[rows])
        some._known.update({text: values[rows] for text, values in self._known.items()})
        return some

    def extended(self, anchors: Anchors) -> MeasuredSeries:
        """Return the series with anchors, ln T at larger counts by other series, behind its measured configurations."""
        return replace(
            self,
            columns={name: np.concatenate([values, anchors.columns[name]]) for name, values in self.columns.items()},
            logarithms=np.concatenate([self.logarithms, anchors.centre]),
            variances=np.concatenate([self.variances, anchors.variance]),
            anchors=anchors,
        )

    @property
    def nodes(self) -> Array | None:
        """The numbers of nodes; None where they are not known beside the workers."""
        return self.values("nodes") if self.factors.has("nodes") and self.factors.has("workers") else None

    @property
    def on_one_node(self) -> bool:
        """Whether the nodes are known, and it never left one."""
        return self.nodes is not None and not np.any(several_nodes(self.nodes))

    def values(self, text: str) -> Array:
        """Return a formula over canonical names at every configuration."""
        if text not in self._known:
            self._known[text] = values_of(self.factors.over_columns(text), self.columns)
        return self._known[text]


def series_of(table: Table, hints: Mapping[str, str], single: bool = False) -> MeasuredSeries | None:
    """Read a table as a series, if all that varies in it is how far it is scaled; None for other tables.

    None also where only the batch varies, where a count is below one (a share of a worker exchanges nothing), and of
    more than `MOST_CONFIGURATIONS`. Where it is `single`, one scale is enough: similar series show how it grows.
    """
    axis, panel = table.panel.axis, table.panel.with_axis
    if axis.factor is None or axis.counts_other:
        return None
    column, varying = axis.factor.name, {f.name for f in table.factors if f.distinct > 1}
    # What may vary in a series: the scale, counts of its machine, batches, and what the scale settles of these.
    settled = panel.machine.settled({axis.canonical}) if "workers" in panel.machine.columns else ()
    following = {panel.machine.columns[part].name for part in settled if part in panel.machine.columns}
    # A time has the work of a batch; how a memory or a utilization changes with it, runs show.
    scales = _COUNTS if table.target.either_way else _SCALES
    may_vary = {f.name for f in map(panel.find, scales) if f is not None} | {column} | following
    if not (column in varying or single) or not varying <= may_vary:
        return None
    medians, counts = table.medians(), [f for f in map(panel.find, _COUNTS) if f is not None]
    if len(medians) > MOST_CONFIGURATIONS or any(f.lower < 1.0 for f in counts):
        return None
    columns = {f.name: medians.columns[f.name] for f in medians.numeric}
    nodes, workers = panel.nodes, panel.workers
    if nodes is not None and workers is not None and np.any(columns[nodes.name] > columns[workers.name]):
        # More nodes than workers: these are the workers of a node, or the nodes do something else.
        return None
    # By all columns, so that the last configuration, to which work is relative, is the same whatever the order of rows.
    order = np.lexsort([*(columns[name] for name in sorted(columns) if name != column), columns[column]])
    network, works, counted = network_of(hints) if hints else None, panel.work_of_worker, panel.counted_as
    at, measured = columns[column], medians.measured
    rises = float(np.mean(measured[at == at.max()])) > float(np.mean(measured[at == at.min()]))
    if table.target.either_way and counted == axis.canonical and rises:
        # A power or a memory that rises may be that of all workers together.
        of_each, of_table, _ = works[0]
        works = (*works, WorkFormula(counted if of_each == "1" else f"{of_each}*{counted}", of_table))
    repeats, noise = table.repeats, float(np.nan_to_num(table.noise()))
    series = MeasuredSeries(
        panel,
        scale=axis.canonical,
        column=column,
        columns={name: values[order] for name, values in columns.items()},
        logarithms=np.log(medians.measured)[order],
        # The median of one or two runs is their mean.
        variances=(noise**2 * np.where(repeats > 2, MEDIAN_VARIANCE, 1.0) / repeats)[order],
        works=works,
        either_way=table.target.either_way,
        learned=table.target.is_learned,
        in_seconds=network is None or (table.target.is_time and schema_of(table).of_steps),
        hinted=network is not None,
        exchange=None if network is None else network.exchange(table),
        limits=limits(panel, columns[column]),
        noise=noise,
    )
    return series if single or len(np.unique(series.values(series.scale))) > 1 else None


def notes_of(table: Table, series: MeasuredSeries) -> list[Note]:
    """Name the scale where it is assumed, runs far from their repeats, and columns that may part the series."""
    notes = []
    if canonical_of(series.column) not in LEVELS:
        text = f"'{series.column}' is taken as the number of workers; --map workers=COLUMN says otherwise"
        notes.append(Note(text, "scale"))
    away = np.log(table.measured / table.medians().measured[table.configuration])
    far = np.abs(away) > max(OUTLYING_DEVIATIONS * series.noise, np.log1p(OUTLYING_SHARE))
    for row in np.flatnonzero(far & (np.bincount(table.configuration)[table.configuration] > 2)):
        at = ", ".join(f"{f.name}={table.frame[f.name].iloc[row]:g}" for f in table.numeric if f.distinct > 1)
        times = f"{np.exp(away[row]):.2g}"
        notes.append(Note(f"a run at {at} took {times} times the median of its repeats; the median is used", "outlier"))
    return [*notes, *parting_notes(table, series.column)]
