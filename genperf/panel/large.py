"""Tables too large for memory: one row per configuration, counted and summarised where the rows are.

DuckDB reads the files in parallel and a part at a time. Exact medians of very many rows take two passes: the first
brackets each configuration's median and the second reads only the values between, so that a few per cent of the values
are held at once.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import fields, replace

from genperf.arrays import Array, Integers
from genperf.errors import Note, TableError, counted
from genperf.panel.assemble import Columns, assemble, require
from genperf.panel.options import FailureRule, Roles, lacks_memory, phase_columns, shown_phases
from genperf.panel.table import REPEATS, Table
from genperf.table.cells import Source, source_of_frame, with_columns
from genperf.table.clean import LARGEST, SMALLEST
from genperf.table.content import files_of, head_of
from genperf.table.text import FIRST_ROWS, guess_delimiter

# When rows are aggregated, and what the aggregation may hold.
#: Files larger than this together are aggregated without a request: in memory a table takes about ten times as
#: much, which is most of what DuckDB may hold instead (`MEMORY_LIMIT`).
MIN_BYTES = 64_000_000
#: And a Parquet file of more rows, whose size shows little: a column of one value takes nothing. A text of
#: `MIN_BYTES` has about as many. A summary has at most as many configurations, and a column as many texts that may
#: report how runs ended.
AGGREGATION_MIN_ROWS = 2_000_000
#: Rows up to which every value of a configuration is held for its median; above it, that takes a second
#: pass. 10⁷ rows took 0.34 GB (docs/dependencies.md).
MAX_EXACT_ROWS = 20_000_000
#: How far from the middle the first pass brackets a median, as a share of the rows. DuckDB's approximate medians of
#: 10⁴ values were within 0.007 of the middle, of 10⁵ to 5·10⁶ within 0.0007; one outside is computed by itself.
MEDIAN_BRACKET = 0.01
#: What DuckDB may hold at once; what does not fit goes to temporary files.
MEMORY_LIMIT = "1GB"
#: Digits kept of means and variances: sums of many numbers depend on the order in which threads add them from the
#: sixteenth digit on.
SIGNIFICANT_DIGITS = 12

#: What is known of the values of a configuration beside their median, with the power of their unit in each.
STATISTICS = {"_mean": 1, "_variance": 2, "_shortest": 1, "_longest": 1}
#: The cell of a configuration's failed runs, and the column with the place of a configuration in DuckDB's summary.
FAILED, PLACE = "failed", "_place"


def worth_aggregating(source: str | Path) -> bool:
    """Tell whether the files that a path names are large."""
    files = [name for name in files_of(source) if Path(name).is_file()]
    large = sum(map(os.path.getsize, files)) > MIN_BYTES or sum(map(_parquet_rows, files)) > AGGREGATION_MIN_ROWS
    return large and find_spec("duckdb") is not None


def _parquet_rows(path: str) -> int:
    """Return the rows that a Parquet file says it has; 0 for another file."""
    # A file that cannot be read is refused with its reason later.
    with contextlib.suppress(OSError, ImportError, ValueError, TableError):
        if head_of(path)[:4] == b"PAR1":
            return int(import_module("pyarrow.parquet").read_metadata(path).num_rows)
    return 0


class Aggregation(Struct, frozen=True, eq=False):
    """The columns of an aggregation."""

    keys: tuple[str, ...]  #: Columns whose combinations of values are the configurations.
    value: str  #: The measured column.
    inverse: bool  #: Whether 1/value is summarised: of a throughput, the time per unit of work.
    weight: str | None  #: A column that is summed.
    failing: Mapping[str, Sequence[str]]  #: The cells of columns that say that a run failed.


class LargeSource:
    """Files of rows, read by SQL that is written here alone; the delimiter of texts is recognised where omitted."""

    def __init__(self, source: str | Path, delimiter: str | None = None) -> None:
        #: What messages call it.
        self.name = str(source)
        try:
            import duckdb
        except ImportError:
            hint = 'pip install "genperf[large]"'
            raise TableError("reading several or large files needs DuckDB", hint=hint, where=self.name) from None
        # A path that names a server would make it fetch an extension, and the file.
        local = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        self._connection: Any = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, **local})
        # It would be drawn on standard output, where results stand.
        self._run("set enable_progress_bar = false")
        files = files_of(source)
        listed, heads = f"[{', '.join(map(_text, files))}]", [head_of(name) for name in files]
        parquet = [head[:4] == b"PAR1" for head in heads]
        reader = f"read_parquet({listed}, union_by_name=true)"
        if len({*parquet}) > 1:
            raise TableError("some files are Parquet and some are text", hint="name one kind", where=self.name)
        if not any(parquet):
            # Text stays text, so that every cell is judged by the same rules as in small files.
            first_line = heads[0].decode("utf-8", "replace")
            separator = delimiter or ("," if heads[0][:2] == b"\x1f\x8b" else guess_delimiter(first_line))
            options = "header=true, all_varchar=true, union_by_name=true, comment='#', strict_mode=true"
            reader = f"read_csv({listed}, delim={_text(separator)}, {options})"
        self._run(f"create view rows as select * from {reader}")

    def _run(self, query: str) -> Any:
        """Run a query; what DuckDB cannot read is an error that names the table."""
        import duckdb

        try:
            return self._connection.execute(query)
        except duckdb.Error as error:
            first_line = str(error).split("\n")[0]
            raise TableError(f"cannot be read as one table ({first_line})", where=self.name) from None

    def sample(self) -> Source:
        """Return the first rows, from which the kinds of columns are recognised."""
        frame = self._run(f"select * from rows limit {FIRST_ROWS}").df()
        if frame.empty:
            raise TableError("the table has columns and no rows", where=self.name)
        return source_of_frame(self.name, frame)

    def texts(self, column: str, numbers: bool) -> list[str]:
        """Return the different texts of a column that are no numbers, sorted; with `numbers` those of all its cells.

        Very many texts are cut off, or with `numbers` refused.
        """
        cell = f"cast(rows.{_name(column)} as varchar)"
        where = "" if numbers else f"where try_cast({cell} as double) is null"
        limit = AGGREGATION_MIN_ROWS + 1
        distinct = self._run(f"select distinct {cell} as t from rows {where} limit {limit}").fetchall()
        if numbers and len(distinct) == limit:
            what = f"column '{column}' says how runs ended in more than {AGGREGATION_MIN_ROWS:,} different texts"
            raise TableError(what, hint="--status with a column of few words", where=self.name)
        return sorted(text for (text,) in distinct if text is not None)

    def summarise(self, aggregation: Aggregation, same: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return a row per combination of the keys' values, sorted by them, or per `number` of `same`.

        `same` has combinations, in the order of the keys, and a `number`: those of one number are summarised as one.
        Columns: the keys; the value's column with its median; the weight's with its sum; `_repeats`; `STATISTICS`;
        `_failed`, the count of runs that failed; `_unusable`, that of other rows whose value is not above zero and
        finite, and `_example`, one such value.
        """
        keys = [f"rows.{_name(key)}" for key in aggregation.keys]
        names, join = [f"k{place}" for place in range(len(keys))], ""
        if same is not None:
            self._connection.register("same", same.set_axis([*names, "number"], axis=1))
            equal = [f"{key} is not distinct from same.{name}" for key, name in zip(keys, names, strict=True)]
            join = f"join same on {' and '.join(equal)}"
            keys, names = ["same.number"], ["number"]
        cell = f"rows.{_name(aggregation.value)}"
        number = f"try_cast({cell} as double)"
        weight = f"try_cast(rows.{_name(aggregation.weight)} as double)" if aggregation.weight else "1.0"
        failing = {_name(n): ", ".join(map(_text, texts)) for n, texts in aggregation.failing.items() if texts}
        says_failed = [f"coalesce(cast(rows.{n} as varchar) in ({texts}), false)" for n, texts in failing.items()]
        failed = f"({' or '.join(says_failed) or 'false'})"
        usable = f"({number} between {SMALLEST!r} and {LARGEST!r}) is true and not {failed}"
        # Of each row its key, whether it counts or failed, the number x to summarise, its weight w, and the cell.
        self._run(
            "create or replace temp view measured as select "
            + "".join(f"{key} as {name}, " for key, name in zip(keys, names, strict=True))
            + f"{usable} as good, {failed} as failed, {'1.0 / ' if aggregation.inverse else ''}{number} as x, "
            # A row of no weight is as if left out.
            f"{weight} as w, {cell} as cell from rows {join} where {weight} is distinct from 0.0"
        )
        summary = self._statistics(names)
        called = {"x": aggregation.value, **({"w": aggregation.weight} if aggregation.weight else {})}
        called |= dict(zip(names, aggregation.keys, strict=True)) if same is None else {}
        return summary.rename(columns=called)

    def _statistics(self, names: Sequence[str]) -> pd.DataFrame:
        """Return what `summarise` does, by columns of the view `measured`."""
        exact = self._run("select count(*) from rows").fetchone()[0] <= MAX_EXACT_ROWS
        function, beside = ("quantile_cont", 0.0) if exact else ("approx_quantile", MEDIAN_BRACKET)
        by = ", ".join(names)
        # 8 before 16, also where they are text.
        order = ", ".join(f"try_cast(cast({name} as varchar) as double), {name}" for name in names)
        self._run(
            f"create or replace temp table summary as select {by}, count(*) filter (good) as _repeats, "
            "avg(x) filter (good) as _mean, var_samp(x) filter (good) as _variance, min(x) filter (good) as _shortest, "
            f"max(x) filter (good) as _longest, {function}(x, {0.5 - beside}) filter (good) as x, "
            f"{function}(x, {0.5 + beside}) filter (good) as high, "
            "sum(w) filter (good) as w, count(*) filter (not good and not failed) as _unusable, "
            "count(*) filter (failed) as _failed, "
            "cast(any_value(cell) filter (not good and not failed) as varchar) as _example "
            f"from measured group by {by} order by {order}"
        )
        count = self._run("select count(*) from summary").fetchone()[0]
        if count > AGGREGATION_MIN_ROWS:
            what = "a column that differs from row to row is named as a factor or a group"
            raise TableError(f"{count} different settings: {what}", hint="name only what was set", where=self.name)
        summary: pd.DataFrame = self._run("select * from summary").df()
        for name in ("_mean", "_variance"):
            values = summary[name].to_numpy(dtype=float, na_value=np.nan)
            summary[name] = [float(f"{v:.{SIGNIFICANT_DIGITS - 1}e}") for v in values]
        high = summary.pop("high")
        return summary if exact else summary.assign(x=self._medians(summary.assign(high=high), names))

    def _medians(self, summary: pd.DataFrame, names: Sequence[str]) -> Array:
        """Return exact medians in a second pass over the view `measured`, those between `x` and `high`."""
        inside = summary[[*names]].assign(lo=summary["x"], hi=summary["high"], place=np.arange(len(summary)))
        self._connection.register("bracket", inside)
        matched = " and ".join(f"measured.{n} is not distinct from bracket.{n}" for n in names)
        joined = f"from measured join bracket on {matched} where good"
        between = self._run(
            "select place, count(*) filter (x < lo) as below, list_sort(list(x) filter (x between lo and hi)) as v "
            f"{joined} group by place"
        ).fetchall()
        medians = np.full(len(summary), np.nan)
        repeats = summary["_repeats"].to_numpy()
        for place, below, values in between:
            # The places of the middle value, or of the two of an even number, among those inside the bracket.
            low, high = (repeats[place] - 1) // 2 - below, repeats[place] // 2 - below
            if values is not None and low >= 0 and high < len(values):
                medians[place] = 0.5 * (values[low] + values[high])
            else:
                exact = f"select quantile_cont(x, 0.5) {joined} and place = {int(place)}"
                medians[place] = self._run(exact).fetchone()[0]
        return medians


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class AggregatedTable(Table, frozen=True, eq=False, dict=True):
    r"""A table whose rows were counted and summarised while they were read.

    The frame has a row per configuration: its measured value is the median, its weight the sum, and beside the
    columns of a `Table` it has `_repeats, _mean, _variance, _shortest, _longest` of the measured values.
    """

    @cached_property
    def repeats(self) -> Integers:
        """Rows behind each configuration."""
        return self.frame[REPEATS].to_numpy(dtype=np.int64)

    @property
    def extremes(self) -> tuple[Array, Array]:
        """The smallest and the largest measured value of each configuration, in the target's unit."""
        return self.frame["_shortest"].to_numpy(dtype=float), self.frame["_longest"].to_numpy(dtype=float)

    def medians(self) -> Table:
        """Return the table itself, which has one row per configuration."""
        return self

    @property
    def _scatter(self) -> Array:
        """The squared deviations of each configuration's repeats from their mean, relative to it, summed."""
        mean, variance = (self.frame[name].to_numpy(dtype=float) for name in ("_mean", "_variance"))
        return np.where(self.repeats > 1, (self.repeats - 1) * variance / mean**2, 0.0)


def read_large(large: LargeSource, roles: Roles) -> AggregatedTable:
    """Summarise the rows of each combination of settings, and check these as the rows of a small table are checked."""
    aggregation, unused = _aggregation(large, roles)
    summary = large.summarise(aggregation)
    # Repeats are counted in the summary, and in place of a failed run's cells stands one word.
    summarised = replace(roles, repeat="", failures=FailureRule())
    checked = assemble(_cells_of_summary(large.name, summary, aggregation), summarised)
    frame = _row_per_configuration(large, aggregation, summary, checked)
    rows, configurations = counted(int(frame[REPEATS].sum()), "row"), counted(len(frame), "configuration")
    text = f"{rows} summarised as {configurations} while reading"
    if checked.target.is_time and (phases := phase_columns(unused)):
        text += f"; columns of phases are dropped, {shown_phases(phases)}: --no-aggregate keeps them"
    # A row stands for all repeats of a configuration.
    notes = (Note(text, "aggregated"), *(note for note in checked.notes if note.kind != "configuration_mixed"))
    lacked = any(lacks_memory(f"{name} {text}") for name, texts in aggregation.failing.items() for text in texts)
    changed = {"frame": frame, "unused": tuple(unused), "notes": notes, "lacked_memory": lacked}
    return AggregatedTable(**{f.name: getattr(checked, f.name) for f in fields(Table)} | changed)


def _aggregation(large: LargeSource, roles: Roles) -> tuple[Aggregation, list[str]]:
    """Return the columns to aggregate by, and the columns in no role."""
    sample, rule = large.sample(), roles.failures
    columns = Columns(sample, roles)
    measurement = require(roles, columns)
    names = {*(f.name for f in roles.factors), *roles.group, *roles.derived}
    for text in (roles.where, roles.work):
        names |= columns.parse(text).names if text else set()
    value = measurement.column
    read = columns.origins(names)
    if value in read or value in columns.derived:
        what = f"a filter or formula with '{value}' differs from row to row, and rows are summarised"
        raise TableError(what, hint="leave it out, or --no-aggregate for a table that memory holds", where=large.name)
    keys = tuple(c for c in sample.cells if c in read)
    in_role = {*keys, value, roles.weight, roles.repeat, *rule.columns}
    # A column of numbers holds no words.
    words = [] if sample.cells[value].dtype.kind in "iuf" else [value]
    failing = {}
    for name in rule.columns_of(sample.cells, words, large.name):
        texts = np.array(large.texts(name, numbers=name != value), dtype=object)
        failing[name] = texts[rule.says(name, texts, large.name)].tolist()
    inverse = measurement.kind == "throughput"
    unused = [c for c in sample.cells if c not in in_role]
    return Aggregation(keys, value, inverse, roles.weight or None, failing), unused


def _cells_of_summary(name: str, summary: pd.DataFrame, aggregation: Aggregation) -> Source:
    """Return the cells to check: for each configuration a row of its good runs, of its failed and its unusable ones."""
    median = summary[aggregation.value].to_numpy(dtype=float, na_value=np.nan)
    # `assemble` divides the work by the speed, and the median is of the time of a unit of work.
    good = 1.0 / median if aggregation.inverse else median
    configurations = summary[[*aggregation.keys, *([aggregation.weight] if aggregation.weight else [])]]
    place, blocks = np.arange(len(summary), dtype=float), []
    for count, cells in (("_repeats", good), ("_failed", FAILED), ("_unusable", summary["_example"])):
        block = with_columns(configurations, {aggregation.value: cells, PLACE: place, "rows": summary[count]})
        blocks.append(block[block["rows"] > 0].astype({aggregation.value: object}))
    rows = pd.concat(blocks).sort_values(PLACE, kind="stable")
    counts = rows.pop("rows").to_numpy(dtype=np.int64)
    return replace(source_of_frame(name, rows, "configuration"), counts=counts)


def _row_per_configuration(
    large: LargeSource, aggregation: Aggregation, summary: pd.DataFrame, checked: Table
) -> pd.DataFrame:
    """Return the frame with one row per configuration, its statistics in the target's unit."""
    frame, median = checked.frame, checked.measured
    statistics = summary.iloc[frame[PLACE].to_numpy(dtype=int)]
    # The measured column's unit in the target's: the work of a throughput, or 0.001 s in a millisecond.
    factor = median / statistics[aggregation.value].to_numpy(dtype=float)
    first_row = np.unique(checked.configuration, return_index=True)[1]
    if len(first_row) < len(frame):
        # Settings that differ in the file are the same configuration: they are summarised together.
        same = statistics[[*aggregation.keys]].assign(number=checked.configuration)
        statistics, frame, factor = large.summarise(aggregation, same), frame.iloc[first_row], factor[first_row]
        median = statistics[aggregation.value].to_numpy(dtype=float) * factor
    columns = {name: statistics[name].to_numpy(dtype=float) * factor**power for name, power in STATISTICS.items()}
    if aggregation.weight:
        columns[aggregation.weight] = statistics[aggregation.weight].to_numpy(dtype=float)
    columns |= {checked.target.column: median, REPEATS: statistics[REPEATS].to_numpy()}
    return with_columns(frame.drop(columns=PLACE).reset_index(drop=True), columns)
