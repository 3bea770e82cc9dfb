"""Tables too large for memory: one row per configuration, counted and summarised where the rows are.

DuckDB reads the files in parallel and a part at a time. Exact medians of very many rows take two passes: the first
brackets each configuration's median and the second reads only the values between, so that a few per cent of the values
are held at once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note, TableError, counted
from genperf.table.assemble import assemble, columns_of, require
from genperf.table.cells import Source, source_of_frame, with_columns
from genperf.table.clean import NUMBERS, numbers
from genperf.table.content import files_of
from genperf.table.delimited import guess_delimiter
from genperf.table.failures import FailureRule, failure_notes, no_failure_column
from genperf.table.roles import ReadOptions
from genperf.table.table import REPEATS, FloatArray, Positions, Table
from genperf.table.target import Measurement, phase_columns, shown_phases


@dataclass(frozen=True)
class AggregationSettings:
    """When rows are aggregated, and what the aggregation may hold."""

    #: Files larger than this together are aggregated without a request. A guess: pandas holds about ten times as much.
    min_bytes: int = 64_000_000
    #: And a Parquet file of more rows, whose size tells little: a column of one value takes nothing. A text of
    #: `min_bytes` has about as many.
    min_rows: int = 2_000_000
    #: Rows up to which every value of a configuration is held for its quantiles; above it, the median takes a second
    #: pass. 10⁷ rows took 0.34 GB (docs/dependencies.md).
    max_exact_rows: int = 20_000_000
    #: How far from the middle the first pass brackets a median, as a share of the rows. A guess: ten times the error of
    #: DuckDB's approximate quantiles; a median outside it is computed by itself.
    median_bracket: float = 0.01
    #: What DuckDB may hold at once; what does not fit goes to temporary files.
    memory_limit: str = "1GB"
    #: More combinations of values are no settings of runs but a measurement named as a factor. A guess.
    max_configurations: int = 1_000_000
    #: Digits kept of means and variances: sums of many numbers depend on the order in which threads add them from the
    #: sixteenth digit on.
    significant_digits: int = 12
    #: Rows from which the columns' kinds are recognised. A guess.
    sample_rows: int = 1000
    #: Different texts of a column that may say how runs ended. A guess: log lines are more.
    max_texts: int = 10_000


AGGREGATION = AggregationSettings()
#: The quantiles that are kept beside the median.
QUANTILES = {"_q05": 0.05, "_q25": 0.25, "_q75": 0.75, "_q95": 0.95}
STATISTICS = ("_repeats", "_mean", "_variance", "_shortest", "_longest", *QUANTILES)


def worth_aggregating(source: Any) -> bool:
    """Tell whether a source names several files or a large one."""
    if not isinstance(source, str | Path) or str(source) == "-":
        return False
    files = files_of(source)
    sizes = [Path(name).stat().st_size for name in files if Path(name).is_file()]
    large = sum(sizes) > AGGREGATION.min_bytes or sum(map(_parquet_rows, files)) > AGGREGATION.min_rows
    return len(files) > 1 or (large and find_spec("duckdb") is not None)


def _parquet_rows(path: str) -> int:
    """Return the rows that a Parquet file says it has; 0 of another file."""
    # A file that cannot be read is refused with its reason later. A pipe that is opened loses what is written to it.
    with contextlib.suppress(OSError, ImportError, ValueError):
        if Path(path).is_file() and _head(path)[:4] == b"PAR1":
            return int(import_module("pyarrow.parquet").read_metadata(path).num_rows)
    return 0


@dataclass(frozen=True, eq=False)
class Aggregation:
    """The columns of an aggregation."""

    #: Columns whose combinations of values are the configurations.
    keys: tuple[str, ...]
    #: The measured column.
    value: str
    #: Whether 1/value is summarised: of a throughput, the time per unit of work.
    inverse: bool = False
    #: A column that is summed.
    weight: str | None = None
    #: The cells of columns that say that a run failed.
    failing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class LargeSource:
    """Files of rows, read by SQL that is written here alone."""

    #: What messages call it.
    name: str
    files: list[str]
    #: Of text files; recognised where omitted.
    delimiter: str | None = None
    _connection: Any = field(default=None, init=False)

    def __enter__(self) -> LargeSource:
        try:
            import duckdb
        except ImportError:
            hint = 'pip install "genperf[large]"'
            raise TableError("reading several or large files needs DuckDB", hint=hint, where=self.name) from None
        # A path that names a server would make it fetch an extension, and the file.
        local = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        self._connection = duckdb.connect(config={"memory_limit": AGGREGATION.memory_limit, **local})
        # It would be drawn on standard output, where results stand.
        self._run("set enable_progress_bar = false")
        self._rows()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def _rows(self) -> None:
        """Make the view `rows`: text files as text, so that every cell is judged by the same rules as in small ones."""
        listed = "[" + ", ".join(_text(name) for name in self.files) + "]"
        heads = [_head(name) for name in self.files]
        parquet = [head[:4] == b"PAR1" for head in heads]
        reader = f"read_parquet({listed}, union_by_name=true)"
        if any(parquet) and not all(parquet):
            raise TableError("some files are Parquet and some are text", hint="name one kind", where=self.name)
        if not any(parquet):
            first = heads[0].decode("utf-8", "replace")
            separator = self.delimiter or ("," if heads[0][:2] == b"\x1f\x8b" else guess_delimiter(first))
            options = "header=true, all_varchar=true, union_by_name=true, comment='#', strict_mode=true"
            reader = f"read_csv({listed}, delim={_text(separator)}, {options})"
        self._run(f"create view rows as select * from {reader}")

    def _run(self, query: str) -> Any:
        import duckdb

        try:
            return self._connection.execute(query)
        except duckdb.Error as error:
            first_line = str(error).split("\n")[0]
            raise TableError(f"cannot be read as one table ({first_line})", where=self.name) from None

    def sample(self) -> Source:
        """Return the first rows, from which the kinds of columns are recognised."""
        frame = self._run(f"select * from rows limit {AGGREGATION.sample_rows}").df()
        if frame.empty:
            raise TableError("the table has columns and no rows", where=self.name)
        return source_of_frame(self.name, frame)

    def texts(self, column: str, numbers: bool) -> list[str]:
        """Return the different texts of a column; with `numbers` also those of numbers, and no more than are judged."""
        cell = f"cast(rows.{_name(column)} as varchar)"
        where = "" if numbers else f"where try_cast({cell} as double) is null"
        limit = AGGREGATION.max_texts + 1
        distinct = self._run(f"select distinct {cell} as t from rows {where} limit {limit}").fetchall()
        if numbers and len(distinct) == limit:
            what = f"column '{column}' says how runs ended in more than {AGGREGATION.max_texts:,} different texts"
            raise TableError(what, hint="--status with a column of few words", where=self.name)
        return sorted(text for (text,) in distinct if text is not None)

    def summarise(self, aggregation: Aggregation) -> pd.DataFrame:
        """Return a row per combination of the keys' values, sorted by them.

        Columns: the keys; the value's column with its median; the weight's with its sum; `STATISTICS`; `_failed`, the
        count of runs that failed; `_unusable`, that of other rows whose value is not above zero and finite, and
        `_example`, one such value.
        """
        self._select(aggregation, ", ".join(f"{_name(k)} as k{i}" for i, k in enumerate(aggregation.keys)), "")
        names = [f"k{i}" for i in range(len(aggregation.keys))]
        summary = self._statistics(aggregation, names)
        return summary.rename(columns=dict(zip(names, aggregation.keys, strict=True)))

    def summarise_by(self, aggregation: Aggregation, keys: pd.DataFrame, number: npt.NDArray[np.int64]) -> pd.DataFrame:
        """Return a row per number, which is equal where the keys, as files write them, are one setting: 8 and 8.0."""
        same = keys.set_axis([f"c{i}" for i in range(keys.shape[1])], axis=1).assign(k0=number)
        self._connection.register("same", same)
        matched = " and ".join(
            f"rows.{_name(k)} is not distinct from same.c{i}" for i, k in enumerate(aggregation.keys)
        )
        self._select(aggregation, "same.k0", f"join same on {matched}")
        return self._statistics(aggregation, ["k0"]).drop(columns="k0")

    def _select(self, aggregation: Aggregation, keys: str, join: str) -> None:
        """Make the view `measured`: the keys, the value `x`, the weight `w`, whether it is usable, its cell."""
        number = f"try_cast(rows.{_name(aggregation.value)} as double)"
        weight = f"try_cast(rows.{_name(aggregation.weight)} as double)" if aggregation.weight else "1.0"
        usable = f"{number} between {NUMBERS.smallest!r} and {NUMBERS.largest!r}"
        words = {f"rows.{_name(n)}": ", ".join(map(_text, texts)) for n, texts in aggregation.failing.items() if texts}
        cells = [f"coalesce(cast({cell} as varchar) in ({texts}), false)" for cell, texts in words.items()]
        failed = " or ".join(cells) or "false"
        self._run(
            f"create or replace temp view measured as select {keys}, {usable} is true and not ({failed}) as good, "
            f"({failed}) as failed, "
            f"{'1.0 / ' if aggregation.inverse else ''}{number} as x, {weight} as w, "
            f"rows.{_name(aggregation.value)} as cell from rows {join}"
        )

    def _statistics(self, aggregation: Aggregation, names: Sequence[str]) -> pd.DataFrame:
        """Return what `summarise` does, by columns of the view `measured`."""
        rows = int(self._run("select count(*) from rows").fetchone()[0])
        exact = rows <= AGGREGATION.max_exact_rows
        shares = [0.5, *QUANTILES.values()]
        ends = [] if exact else [0.5 - AGGREGATION.median_bracket, 0.5 + AGGREGATION.median_bracket]
        function = "quantile_cont" if exact else "approx_quantile"
        by = ", ".join(names)
        self._run(
            f"create or replace temp table summary as select {by}, count(*) filter (good) as _repeats, "
            "avg(x) filter (good) as _mean, var_samp(x) filter (good) as _variance, min(x) filter (good) as _shortest, "
            f"max(x) filter (good) as _longest, {function}(x, {shares + ends}) filter (good) as q, "
            "sum(w) filter (good) as weight, count(*) filter (not good and not failed) as _unusable, "
            "count(*) filter (failed) as _failed, "
            "cast(any_value(cell) filter (not good and not failed) as varchar) as _example "
            f"from measured group by {by} order by {by}"
        )
        count = self._run("select count(*) from summary").fetchone()[0]
        if count > AGGREGATION.max_configurations:
            what = "a column that differs from row to row is named as a factor or a group"
            raise TableError(f"{count} different settings: {what}", hint="name only what was set", where=self.name)
        summary: pd.DataFrame = self._run("select * from summary").df()
        summary = summary.sort_values(list(names), kind="stable", key=_in_order).reset_index(drop=True)
        nothing = [np.nan] * len(shares + ends)
        quantiles = np.array([nothing if np.ndim(q) == 0 else q for q in summary.pop("q")], float)
        middle = quantiles[:, 0] if exact else self._medians(summary, quantiles[:, -2:], names)
        columns = {aggregation.value: middle, **{name: quantiles[:, j] for j, name in enumerate(QUANTILES, start=1)}}
        for name in ("_mean", "_variance"):
            columns[name] = _rounded(summary[name].to_numpy(dtype=float, na_value=np.nan))
        weight = summary.pop("weight")
        return with_columns(summary, {**columns, **({aggregation.weight: weight} if aggregation.weight else {})})

    def _medians(
        self, summary: pd.DataFrame, brackets: npt.NDArray[np.float64], names: Sequence[str]
    ) -> npt.NDArray[np.float64]:
        """Return exact medians in a second pass over the view `measured`."""
        inside = summary[list(names)].assign(lo=brackets[:, 0], hi=brackets[:, 1], number=np.arange(len(summary)))
        self._connection.register("bracket", inside)
        matched = " and ".join(f"measured.{n} is not distinct from bracket.{n}" for n in names)
        joined = f"from measured join bracket on {matched} where good"
        between = self._run(
            "select number, count(*) filter (x < lo) as below, list_sort(list(x) filter (x between lo and hi)) as v "
            f"{joined} group by number"
        ).fetchall()
        medians = np.full(len(summary), np.nan)
        repeats = summary["_repeats"].to_numpy()
        for number, below, values in between:
            low, high = (repeats[number] - 1) // 2 - below, repeats[number] // 2 - below
            if values is not None and low >= 0 and high < len(values):
                medians[number] = 0.5 * (values[low] + values[high])
            else:
                exact = f"select quantile_cont(x, 0.5) {joined} and number = {int(number)}"
                medians[number] = self._run(exact).fetchone()[0]
        return medians


def _head(name: str) -> bytes:
    if os.path.exists(name) and not os.path.isdir(name) and not os.path.isfile(name):
        hint = "leave --aggregate out, or write it to a file first"
        raise TableError("is a pipe or a device, which cannot be read twice", hint=hint, where=name)
    try:
        with open(name, "rb") as file:
            return file.read(1 << 16)
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror or error})", where=name) from None


def _in_order(cells: pd.Series) -> pd.Series:
    """Return what cells are sorted by: 8 before 16, also where they are text."""
    as_numbers = pd.to_numeric(cells, errors="coerce")
    return cells.astype(str) if as_numbers.isna().any() else as_numbers


def _rounded(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.array([float(f"{v:.{AGGREGATION.significant_digits - 1}e}") for v in values])


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


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
        return self.frame["_shortest"].to_numpy(dtype=float), self.frame["_longest"].to_numpy(dtype=float)

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
    """Summarise the rows of each combination of settings, and check these as the rows of a small table are checked."""
    aggregation, unused = _aggregation(large, options)
    summary = large.summarise(aggregation).assign(**{PLACE: lambda f: np.arange(len(f), dtype=float)})
    cells, places = _cells(summary, aggregation)
    source = replace(source_of_frame(large.name, cells, "configuration"), lines=places)
    # A row stands for all repeats of a configuration, and one more for its runs that failed.
    checked = assemble(source, replace(options, roles=replace(options.roles, repeat=None), failures=FAILED_ONLY))
    notes = [n for n in checked.notes if n.kind not in ("rows_rejected", "configuration_mixed", "runs_failed")]
    notes += failure_notes(int(summary["_failed"].sum()) if len(checked.failures) else 0)
    notes += _left_out(summary, checked, options)
    frame = _one_row_each(large, aggregation, summary, checked)
    rows, configurations = counted(int(frame[REPEATS].sum()), "row"), counted(len(frame), "configuration")
    text = f"{rows} summarised as {configurations} while reading"
    if checked.target.is_time and (phases := phase_columns(unused)):
        text += f"; columns of phases are dropped, {shown_phases(phases)}: --no-aggregate keeps them"
    changed = {"frame": frame, "unused": tuple(unused), "notes": (Note(text, "aggregated"), *notes)}
    return AggregatedTable(**{**{f.name: getattr(checked, f.name) for f in fields(Table)}, **changed})


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
        what = f"a filter or formula with '{value}' differs from row to row, and rows are summarised"
        hint = "leave it out, or --no-aggregate for a table that memory holds"
        raise TableError(what, hint=hint, where=large.name)
    keys = tuple(c for c in sample.cells if c in read)
    in_role = {*keys, value, roles.weight, roles.repeat, *options.failures.columns}
    unused = [c for c in sample.cells if c not in in_role]
    # A column of numbers holds no words.
    words = options.failures.usual_words and sample.cells[value].dtype.kind not in "iuf"
    rule = replace(options.failures, usual_words=words)
    failing = _failing(large, rule, value, columns.names)
    return Aggregation(keys, value, measurement.kind == "throughput", roles.weight, failing), unused


def _failing(large: LargeSource, rule: FailureRule, value: str, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the cells that say that a run failed, by column."""
    failing: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys([*rule.columns, *([value] if rule.usual_words else [])]):
        if name not in names:
            raise no_failure_column(name, names, large.name)
        given = rule.values.get(name)
        one = FailureRule(None if given else name, {name: given} if given else {}, usual_words=False)
        texts = large.texts(name, numbers=name != value)
        mask = one.failed({name: np.array(texts, dtype=object)}, len(texts), [value], large.name)
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
        hint = "--skip-bad-rows goes on without them"
        raise TableError(f"{bad} of {total} rows cannot be used\n  {examples[0]}", hint=hint, where=checked.source)
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
    statistics, median = frame, checked.measured
    # The measured column's unit in the target's: the work of a throughput, or 0.001 s in a millisecond.
    factor = median / summary[aggregation.value].to_numpy(dtype=float)[place]
    first = np.unique(checked.configuration, return_index=True)[1]
    if len(first) < len(frame):
        # Settings that differ in the file are the same configuration: they are summarised together.
        keys = summary.iloc[place][list(aggregation.keys)]
        statistics = large.summarise_by(aggregation, keys, checked.configuration)
        frame, factor = frame.iloc[first], factor[first]
        median = statistics[aggregation.value].to_numpy(dtype=float) * factor
        if aggregation.weight:
            frame = with_columns(frame, {aggregation.weight: statistics[aggregation.weight].to_numpy(dtype=float)})
    scaled = {name: statistics[name].to_numpy(dtype=float) * factor**power for name, power in POWERS.items()}
    counts = {REPEATS: statistics[REPEATS].to_numpy()}
    frame = frame.drop(columns=[PLACE, *STATISTICS]).reset_index(drop=True)
    return with_columns(frame, {checked.target.column: median, **counts, **scaled})
