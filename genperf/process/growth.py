"""Growth beyond the largest count: what the bank of curves forecasts of a table's series, as further rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.discrepancy.stack import NORMAL
from genperf.estimate.prepare import CONTENT_SEED
from genperf.formula import evaluate, parse
from genperf.growth.measured import Anchors, MeasuredSeries
from genperf.growth.readings import forecast_of
from genperf.growth.sharing import Curve, shared_by
from genperf.panel import Panel, possible_work
from genperf.panel.nodes import workers_of_node
from genperf.process.settings import GROWTH
from genperf.table import Factor, Table

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Growth:
    """The series of a table of many factors: rows that differ in nothing but their count."""

    table: Table
    panel: Panel
    #: Shape (rows,). The workers.
    workers: Array
    #: Canonical name and work of the scale, see `MeasuredSeries`.
    scale: str
    works: tuple[tuple[str, bool], ...]
    #: The columns that grow in proportion to the workers.
    scaled: tuple[str, ...]
    #: Shape (rows,). Which series each row belongs to.
    series: Rows
    #: Standard deviation of ln T of repeats.
    noise: float

    def along(self, names: Collection[str]) -> bool:
        """Whether one of some columns grows with the scale."""
        nodes = self.panel.nodes
        return bool({*names} & {*self.scaled, *([] if nodes is None else [nodes.name])})

    def anchors(self, rows: Rows, most: int = GROWTH.most_series) -> Anchors | None:
        """Return forecasts at twice the largest count of some rows and beyond, from some series among them."""
        parts = self._parts(rows)[:most]
        if not parts:
            return None
        curves = [self._curve(part) for part in parts]
        largest, there, forecasts = float(self.workers[rows].max()), [], []
        for part, curve, shared in zip(parts, curves, shared_by(curves), strict=False):
            there.append(self._beyond(int(part[-1]), largest))
            target = self._series(there[-1], np.zeros(len(GROWTH.ahead)))
            central, lower, upper = forecast_of(shared.readings(shared.beside(curve.series)), target).interval()
            forecasts.append((np.log(central), (np.log(upper / lower) / (2.0 * NORMAL)) ** 2))
        columns = {name: np.concatenate([each[name] for each in there]) for name in there[0]}
        centre, variance = (np.concatenate(each) for each in zip(*forecasts, strict=True))
        return Anchors(columns, centre, variance)

    def _parts(self, rows: Rows) -> list[Rows]:
        """Return the rows of the longest series among some, the largest count last."""
        ordered = rows[np.lexsort((self.workers[rows], self.series[rows]))]
        parts = np.split(ordered, np.flatnonzero(np.diff(self.series[ordered])) + 1)
        parts = [part for part in parts if len(np.unique(self.workers[part])) >= GROWTH.fewest_counts]
        mixed = np.random.default_rng([CONTENT_SEED, 5]).permutation(len(parts))
        parts = [parts[k] for k in mixed]
        parts.sort(key=lambda part: (-self.workers[part[-1]], -len(part)))
        return parts

    def _curve(self, part: Rows) -> Curve:
        """Return a series, and the levels that part it from others."""
        columns = {f.name: np.asarray(self.table.columns[f.name], float)[part] for f in self.table.numeric}
        labels = {f.name: str(self.table.columns[f.name][part[0]]) for f in self.table.categorical}
        return Curve((str(part[0]),), self._series(columns, np.log(self.table.measured[part])), labels, {})

    def _series(self, columns: Mapping[str, Array], logarithms: Array) -> MeasuredSeries:
        numeric = {f.name: columns[f.name] for f in self.table.numeric}
        variances = np.full(len(logarithms), max(self.noise, GROWTH.least_noise) ** 2)
        seconds = self.table.target.true_seconds
        return MeasuredSeries(
            self.panel, self.scale, self.scaled[0], numeric, logarithms, variances, self.works, seconds
        )

    def _beyond(self, row: int, largest: float) -> dict[str, npt.NDArray[Any]]:
        """Return a row's configuration at larger counts: its nodes follow, and all else stays."""
        grown = largest * np.array(GROWTH.ahead) / self.workers[row]
        out = {f.name: np.full(len(grown), self.table.columns[f.name][row]) for f in self.table.factors}
        out |= {name: np.asarray(out[name], float) * grown for name in self.scaled}
        nodes = self.panel.nodes
        if nodes is not None and nodes.name not in self.scaled:
            held = float(np.max(self.workers / np.asarray(self.table.columns[nodes.name], float)))
            if self.panel.workers is not None:
                held = workers_of_node(self.panel.workers, nodes)
            out[nodes.name] = np.maximum(1.0, np.ceil(self.workers[row] * grown / held - 1e-9))
            inside = self.panel.find("devices_per_node")
            if inside is not None:
                out[inside.name] = self.workers[row] * grown / out[nodes.name]
        return out


def growth_of(table: Table, mapping: Mapping[str, str], noise: float) -> Growth | None:
    """Return the series of a table of many factors; None where no count of workers or nodes varies.

    Parameters
    ----------
    noise : float
        Standard deviation of ln T of repeats.
    """
    panel = Panel(table.factors, mapping, scaling=table.scaling)
    counts_other, panel = panel.axis().counts_other, panel.with_axis
    whole = panel.find("global_batch") if panel.find("batch") or panel.find("micro_batch") else None
    counts = [panel.workers if panel.find("data_parallel") else panel.counted, panel.find("data_parallel")]
    scaled = [f for f in counts if f is not None]
    known = [f for f in (panel.nodes, panel.find("devices_per_node")) if f is not None]
    formula = panel.counted_node
    if not (table.target.is_time and scaled and formula is not None) or counts_other:
        return None
    if max(f.distinct for f in scaled) < 2 or min(f.lower for f in (*scaled, *known)) < 1.0:
        return None
    workers = np.broadcast_to(np.asarray(evaluate(formula, table.columns), float), (len(table),))
    works = possible_work(panel)
    if not all(np.all(np.asarray(parse(panel.over_columns(w.formula)).evaluate(table.columns)) > 0.0) for w in works):
        return None
    follow = {f.name for f in (*scaled, *known, *([] if whole is None else [whole]))}
    return Growth(
        table,
        panel,
        workers,
        "nodes" if panel.node("workers") is None else "workers",
        tuple((work.formula, work.from_table) for work in works),
        tuple(f.name for f in (*scaled, *([] if whole is None else [whole]))),
        numbered(table, [f for f in table.factors if f.name not in follow]),
        noise,
    )


def numbered(table: Table, factors: Sequence[Factor]) -> Rows:
    """Return a number for each row, equal where some factors are."""
    rows = list(zip(*(table.columns[f.name].tolist() for f in factors), strict=True)) or [()] * len(table)
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    return np.array([numbers[row] for row in rows], np.intp)
