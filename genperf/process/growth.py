"""Growth beyond the largest count: what the bank of curves forecasts of a table's series, as further rows."""

from collections.abc import Collection

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Index
from genperf.discrepancy.stack import NORMAL
from genperf.estimate.prepare import CONTENT_SEED
from genperf.growth.measured import Anchors, MeasuredSeries
from genperf.growth.readings import forecast_of, weighed
from genperf.growth.sharing import NamedSeries, shared_by
from genperf.panel import Table
from genperf.panel.configurations import moved
from genperf.panel.table import number_rows

#: Times the largest count at which the bank of curves forecasts the series of a table.
FORECAST_MULTIPLES: tuple[float, ...] = (2.0, 4.0, 8.0)
#: Series that are forecast, those of the largest counts first.
MOST_SERIES = 24
#: Standard deviation of ln T of a run where repeats show less, or there are none.
LEAST_RUN_NOISE = 0.01


class FactorSeries(Struct, frozen=True, eq=False):
    """The series of a table of many factors: rows that differ in nothing but their count."""

    table: Table
    rows: MeasuredSeries  #: All rows, as if they were one series.
    scaled: tuple[str, ...]  #: The columns that grow in proportion to the workers.
    series: Index  #: Shape (rows,). Which series each row belongs to.

    def along(self, names: Collection[str]) -> bool:
        """Whether one of some columns grows with the scale."""
        return bool({*names} & {*self.scaled, *(f.name for f in self.rows.factors.counts)})

    def anchors(self, rows: Index, most: int = MOST_SERIES) -> Anchors | None:
        """Return forecasts of ln T at `FORECAST_MULTIPLES` of the largest count of some rows; None without series.

        They are of `most` series among the rows at most, each with the variance of its 90 % interval.
        """
        workers = self.rows.values(self.rows.scale)
        # The rows of each series, the smallest count first; series of one count are left out.
        ordered = rows[np.lexsort((workers[rows], self.series[rows]))]
        series_rows = np.split(ordered, np.flatnonzero(np.diff(self.series[ordered])) + 1)
        series_rows = [run for run in series_rows if len(np.unique(workers[run])) > 1]
        # Those of the largest counts, then of most rows, then at random.
        mixed = np.random.default_rng([CONTENT_SEED, 5]).permutation(len(series_rows))
        series_rows = sorted((series_rows[k] for k in mixed), key=lambda run: (-workers[run[-1]], -len(run)))[:most]
        if not series_rows:
            return None
        levels = {f.name: self.table.columns[f.name] for f in self.table.categorical}
        curves = []
        for run in series_rows:
            labels = {name: str(column[run[0]]) for name, column in levels.items()}
            curves.append(NamedSeries((str(run[0]),), self.rows.take(run), labels, {}))
        configurations, forecasts = [], []
        for run, curve, shared in zip(series_rows, curves, shared_by(curves), strict=False):
            beyond = self._beyond(int(run[-1]), float(workers[rows].max()))
            columns = {name: beyond[name] for name in self.rows.columns}
            target = replace(self.rows, columns=columns, logarithms=np.zeros(len(FORECAST_MULTIPLES)))
            central, lower, upper = forecast_of(weighed(shared.beside(curve.series), shared.cluster), target).interval()
            configurations.append(beyond)
            forecasts.append((np.log(central), (np.log(upper / lower) / (2.0 * NORMAL)) ** 2))
        columns = {name: np.concatenate([of[name] for of in configurations]) for name in configurations[0]}
        centre, variance = (np.concatenate(values) for values in zip(*forecasts, strict=True))
        return Anchors(columns, centre, variance)

    def _beyond(self, row: int, largest: float) -> dict[str, AnyArray]:
        """Return a row's configuration at larger counts: its nodes follow, and all else stays."""
        panel, workers = self.rows.factors, self.rows.values(self.rows.scale)
        grown = largest * np.array(FORECAST_MULTIPLES) / workers[row]
        here = {f.name: np.full(len(grown), self.table.columns[f.name][row]) for f in self.table.factors}
        full = None if panel.nodes is None else float(np.max(workers / self.rows.values("nodes")))
        return moved(panel, here, {name: here[name] * grown for name in self.scaled}, panel.node_size() or full)


def growth_of(table: Table, noise: float) -> FactorSeries | None:
    """Return the series of a table, `noise` being the standard deviation of ln T among repeats.

    None where the target is no time, no count of workers varies, one is below 1, or a formula of the work is not above
    zero. A series is rows alike in all but what is scaled and the parts of the machine that follow.
    """
    counts_other, panel = table.panel.axis.counts_other, table.panel.with_axis
    # A global batch grows with the workers where the batch of one is a factor too.
    global_batch = panel.find("global_batch") if panel.find("batch") or panel.find("micro_batch") else None
    # Of a split the ways of data grow, and the devices with them.
    ways = panel.find("data_parallel")
    scaled = [f for f in (panel.workers if ways else panel.counted, ways) if f is not None]
    machine_factors = [f for f in (panel.nodes, panel.find("devices_per_node")) if f is not None]
    if not (table.target.is_time and scaled and panel.counted_node is not None) or counts_other:
        return None
    if max(f.distinct for f in scaled) < 2 or min(f.lower for f in (*scaled, *machine_factors)) < 1.0:
        return None
    works = panel.work_of_worker
    rows = MeasuredSeries(
        panel,
        panel.counted_as or "workers",
        scaled[0].name,
        {f.name: np.asarray(table.columns[f.name], float) for f in table.numeric},
        np.log(table.measured),
        np.full(len(table), max(noise, LEAST_RUN_NOISE) ** 2),
        works,
    )
    if not all(np.all(rows.values(work.formula) > 0.0) for work in works):
        return None
    scaled_names = [f.name for f in (*scaled, global_batch) if f is not None]
    factors_of_series = [f.name for f in table.factors if f not in machine_factors and f.name not in scaled_names]
    return FactorSeries(table, rows, tuple(scaled_names), number_rows(table.frame, factors_of_series))
