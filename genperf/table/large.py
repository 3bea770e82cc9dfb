"""A table that holds one row per configuration: a source that memory may not hold, counted and summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note, TableError, counted
from genperf.table.aggregate import STATISTICS, Aggregation, LargeSource
from genperf.table.assemble import assemble, columns_of, require
from genperf.table.cells import with_columns
from genperf.table.clean import numbers
from genperf.table.failures import FailureRule, failure_notes
from genperf.table.phases import phase_columns, shown_phases
from genperf.table.roles import ReadOptions
from genperf.table.source import Source
from genperf.table.table import REPEATS, FloatArray, Positions, Table
from genperf.table.target import Measurement


class AggregatedTable(Table):
    r"""A table whose rows were counted and summarised while they were read.

    The frame has a row per configuration: its measured value is the median, its weight the sum, and beside the
    columns of a `Table` it has `_repeats, _mean, _variance, _shortest, _longest` and the quantiles
    `_q05, _q25, _q75, _q95` of the measured values.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from genperf.table import read_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("workers,s\n1,0.9\n1,1.1\n")
    >>> _ = (folder / "b.csv").write_text("workers,s\n2,0.5\n")
    >>> table = read_table(folder / "*.csv", time="s", extrinsic="workers")
    >>> table.rows, table.measured.tolist(), round(table.noise(), 4)
    (3, [1.0, 0.5], 0.1414)
    """

    @property
    def rows(self) -> int:
        """How many rows were measured."""
        return int(self.repeats.sum())

    @cached_property
    def repeats(self) -> Positions:
        """Rows behind each configuration."""
        return self.frame[REPEATS].to_numpy(dtype=np.int64)

    @property
    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest measured value of each configuration, in the target's unit."""
        return tuple(self.frame[name].to_numpy(dtype=float) for name in ("_shortest", "_longest"))  # type: ignore[return-value]

    @cached_property
    def _medians(self) -> Table:
        return self

    def noise(self) -> float:
        """Return the relative standard deviation of repeats, pooled as `Table.noise` does."""
        freedom = self.repeats - 1
        if freedom.sum() == 0:
            return float("nan")
        mean, variance = (self.frame[name].to_numpy(dtype=float) for name in ("_mean", "_variance"))
        squares = np.where(freedom > 0, freedom * variance / mean**2, 0.0)
        return float(np.sqrt(np.sum(squares) / freedom.sum()))


#: The cell of a configuration's failed runs, and the rule that reads it.
FAILED_RUNS, FAILED_ONLY = "failed", FailureRule()
#: The column with the position of a row in the summary of DuckDB.
PLACE = "_place"
#: The power of the unit's factor that each statistic is multiplied by.
POWERS = {"_mean": 1, "_variance": 2, "_shortest": 1, "_longest": 1, "_q05": 1, "_q25": 1, "_q75": 1, "_q95": 1}


def read_large(large: LargeSource, options: ReadOptions) -> AggregatedTable:
    """Summarise the rows of each combination of settings, and check these as the rows of a small table are checked.

    Raises
    ------
    TableError, FormulaError
        As `read_table` does; bad rows are counted, and one is shown.
    """
    aggregation, unused = _aggregation(large, options)
    summary = large.summarise(aggregation).assign(**{PLACE: lambda f: np.arange(len(f), dtype=float)})
    cells, places = _cells(summary, aggregation)
    source = Source(large.name, cells, places, "configuration")
    # A row stands for all repeats of a configuration, and one more for its runs that failed.
    checked = assemble(source, replace(options, roles=replace(options.roles, repeat=None), failures=FAILED_ONLY))
    notes = [n for n in checked.notes if n.kind not in ("rows_rejected", "configuration_mixed", "runs_failed")]
    notes += failure_notes(int(summary["_failed"].sum()) if len(checked.failures) else 0)
    notes += _left_out(summary, checked, options)
    frame = _one_row_each(large, aggregation, summary, checked)
    fields_of_table = {f.name: getattr(checked, f.name) for f in fields(Table)}
    table = AggregatedTable(**{**fields_of_table, "frame": frame, "unused": tuple(unused), "notes": ()})
    rows, configurations = counted(table.rows, "row"), counted(len(table), "configuration")
    text = f"{rows} summarised as {configurations} while reading"
    if table.target.is_time and (phases := phase_columns(unused)):
        text += f"; columns of phases are dropped, {shown_phases(phases)}: --no-aggregate keeps them"
    return replace(table, notes=(Note(text, "aggregated"), *notes))


def _aggregation(large: LargeSource, options: ReadOptions) -> tuple[Aggregation, list[str]]:
    """Return the columns to aggregate by, and the columns in no role."""
    sample = large.sample()
    columns = columns_of(sample, options)
    roles = options.roles
    measurement = require(roles, columns)
    names = {*(name for name, _ in roles.factors), *roles.group, *options.derived}
    for text in (options.where, options.work):
        names |= columns.parse(text).names if text is not None else set()
    value = measurement.column
    read = columns.origins(names)
    if value in read or value in columns.derived:
        raise TableError(
            f"a filter or formula with '{value}' differs from row to row, and rows are summarised",
            hint="leave it out, or --no-aggregate for a table that memory holds",
            where=large.name,
        )
    keys = tuple(str(c) for c in sample.frame.columns if c in read)
    in_role = {*keys, value, roles.weight, roles.repeat, *options.failures.columns}
    unused = [str(c) for c in sample.frame.columns if c not in in_role]
    rule = options.failures
    if sample.frame[value].dtype.kind in "iuf" and rule.usual_words:
        rule = replace(rule, usual_words=False)  # a column of numbers holds no words
    failing = _failing(large, rule, value, columns.names)
    return Aggregation(keys, value, measurement.kind == "throughput", roles.weight, failing), unused


def _failing(large: LargeSource, rule: FailureRule, value: str, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the cells that say that a run failed, by column."""
    failing: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys([*rule.columns, *([value] if rule.usual_words else [])]):
        if name not in names:
            # The rule itself says that there is no such column.
            rule.failed(pd.DataFrame(columns=list(names)), [value], large.name)
        given = rule.values.get(name)
        one = FailureRule(None if given else name, {name: given} if given else {}, usual_words=False)
        texts = large.texts(name, numbers=name != value)
        mask = one.failed(pd.DataFrame({name: texts}, dtype=object), [value], large.name)
        failing[name] = tuple(text for text, failed in zip(texts, mask, strict=True) if failed)
    return failing


def _cells(summary: pd.DataFrame, aggregation: Aggregation) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Return the cells to check, with the row of the summary that each is from."""
    middle = summary[aggregation.value].to_numpy(dtype=float, na_value=np.nan)
    # `assemble` divides the work by the speed, and the median is of the time of a unit of work.
    cells = pd.Series(1.0 / middle if aggregation.inverse else middle, dtype=object)
    empty = summary["_repeats"].to_numpy() == 0
    cells[empty] = summary["_example"].to_numpy(dtype=object)[empty]
    rows = summary.drop(columns=["_unusable", "_example", "_failed"])
    rows = with_columns(rows, {aggregation.value: cells.to_numpy()})
    failed = np.flatnonzero(summary["_failed"].to_numpy() > 0)
    measured = np.flatnonzero(summary[["_repeats", "_unusable"]].to_numpy().sum(axis=1) > 0)
    lost = with_columns(rows.iloc[failed], {aggregation.value: FAILED_RUNS})
    both = pd.concat([rows.iloc[measured], lost], ignore_index=True).astype({aggregation.value: object})
    return both, np.concatenate([measured, failed])


def _left_out(summary: pd.DataFrame, checked: Table, options: ReadOptions) -> list[Note]:
    """Count the rows that cannot be used: some of a configuration's, or all."""
    used = summary.iloc[checked.frame[PLACE].to_numpy(dtype=int)]
    bad = int(used["_unusable"].sum())
    lines = sorted({r.line for r in checked.rejected})
    gone = int(summary.iloc[lines][["_repeats", "_unusable"]].to_numpy().sum())
    if not bad + gone:
        return []
    measurement = options.roles.measurement
    examples = [_complaint(measurement, cell) for cell in used.loc[used["_unusable"] > 0, "_example"] if measurement]
    examples += [r.complaint for r in checked.rejected]
    total = int(summary[["_repeats", "_unusable"]].to_numpy().sum())
    if bad and not options.skip_bad_rows:
        raise TableError(
            f"{bad} of {total} rows cannot be used\n  {examples[0]}",
            hint="--skip-bad-rows goes on without them",
            where=checked.source,
        )
    text = f"{bad + gone} of {total} rows left out because they cannot be used; for example: {examples[0]}"
    return [Note(text, "rows_rejected")]


def _complaint(measurement: Measurement, cell: object) -> str:
    values, reasons = numbers([cell])
    why = {**measurement.faults(values), **reasons}.get(0, "cannot be used")
    return f"column '{measurement.column}': '{'' if cell is None else cell}' {why}"


def _one_row_each(large: LargeSource, aggregation: Aggregation, summary: pd.DataFrame, checked: Table) -> pd.DataFrame:
    """Return the frame with one row per configuration, its statistics in the target's unit."""
    frame = checked.frame
    place = frame[PLACE].to_numpy(dtype=int)
    statistics = frame[list(STATISTICS)].reset_index(drop=True)
    median = checked.measured
    # The measured column's unit in the target's: the work of a throughput, or 0.001 s in a millisecond.
    factor = median / summary[aggregation.value].to_numpy(dtype=float)[place]
    first = np.unique(checked.configuration, return_index=True)[1]
    if len(first) < len(frame):
        # Settings that differ in the file are the same configuration: they are summarised together.
        keys = summary.iloc[place][list(aggregation.keys)]
        together = large.summarise_by(aggregation, keys, checked.configuration)
        statistics = together[list(STATISTICS)]
        frame, factor = frame.iloc[first], factor[first]
        median = together[aggregation.value].to_numpy(dtype=float) * factor
        if aggregation.weight:
            frame = with_columns(frame, {aggregation.weight: together[aggregation.weight].to_numpy(dtype=float)})
    scaled = {
        name: statistics[name].to_numpy(dtype=float) * factor ** POWERS[name] if name in POWERS else statistics[name]
        for name in STATISTICS
    }
    frame = frame.drop(columns=[PLACE, *STATISTICS]).reset_index(drop=True)
    return with_columns(frame, {checked.target.column: median, **{k: np.asarray(v) for k, v in scaled.items()}})
