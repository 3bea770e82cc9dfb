"""`read_table`: a source, the columns' roles and formulas → a checked `Table`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from genperf.errors import TableError
from genperf.table.aggregate import LargeSource, worth_aggregating
from genperf.table.assemble import assemble
from genperf.table.content import files_of
from genperf.table.failures import rule_of
from genperf.table.large import read_large
from genperf.table.roles import (
    Names,
    ReadOptions,
    Roles,
    aggregated_options_for,
    further_notes,
    further_of,
    lets_of,
    options_for,
    refuse_taken_names,
    roles_of,
    rows_with,
)
from genperf.table.source import Source
from genperf.table.table import Table
from genperf.table.target import TIME_UNITS, measurement_of
from genperf.table.understood import understood


def read_table(
    source: str | Path | pd.DataFrame | Source,
    *,
    time: str | None = None,
    throughput: str | None = None,
    quantity: str | None = None,
    unit: str | None = None,
    work: str | None = None,
    scaling: str | None = None,
    intrinsic: Names = (),
    extrinsic: Names = (),
    categorical: Names = (),
    group: Names = (),
    weight: str | None = None,
    repeat: str | None = None,
    let: Mapping[str, str] | Names | None = None,
    where: str | None = None,
    skip_bad_rows: bool = False,
    delimiter: str | None = None,
    aggregate: bool | None = None,
    status: str | None = None,
    failed: Mapping[str, Names] | Names | None = None,
    also: Mapping[str, str] | Names | None = None,
) -> Table:
    """Read measurements, given which column plays which part.

    Parameters
    ----------
    source : path or DataFrame
        Delimited text, also compressed; Parquet; a pattern of such files (`logs/*.csv`); "-" for standard input; or a
        DataFrame.
    time : str, optional
        The column of times, in seconds or in `unit`.
    throughput, work : str, optional
        Instead of `time`: the column of speeds (samples/s) and a formula for the work of a step (samples). The time
        is then work / throughput, in a column "time". Without `work` it is a column of a global batch, or one worker's
        batch (one sample where no column has it) times the workers; a note of kind "work" says which. The predicted
        throughput does not depend on the unit of the work.
    scaling : {"weak", "strong", "job"}, optional
        Whether the work of one worker or that of all stays as the workers grow, where no column and no `work` tells.
    quantity : str, optional
        Instead of `time`: the column of another positive quantity, as `"memory_gb"` or with its unit as
        `"memory_gb:GB"`. Its values stay as they are, and predictions have its name.
    unit : str, optional
        With `time`, what the column is in: s, ms, us (µs), ns, min or h. Its values become seconds under the same name,
        and a note of kind "unit" says so; formulas and filters read the column as it stands in the source. With
        `quantity`, its unit.
    intrinsic, extrinsic, categorical : str or sequence of str
        The factors: properties of the program, how it is run, and names without an order. "a,b" or ["a", "b"].
    group : str or sequence of str
        Columns that split the table; they may be factors as well.
    weight : str, optional
        A column of weights ≥ 0.
    repeat : str, optional
        The column that tells the repeats of a configuration apart.
    let : mapping of str to str, or "name=formula" or a sequence of such
        Derived columns, in order; a later one may use an earlier one.
    where : str, optional
        A comparison: only the rows for which it holds are used, and only they are checked.
    skip_bad_rows : bool
        Leave out the rows that cannot be used, and record them in `Table.rejected`, instead of raising.
    delimiter : str, optional
        Recognised where omitted. One character, or "tab", "space", "comma", "semicolon", "pipe".
    aggregate : bool, optional
        Count and summarise the rows of each configuration while they are read, in bounded memory: an
        `AggregatedTable`. Where omitted, several files and files of more than 64 MB are.
    status : str, optional
        A column that says how each run ended. A run failed where it, or the measured column, says so: OOM, out of
        memory, failed, killed, timeout, … Its settings are kept in `Table.failures`.
    failed : "COLUMN=VALUE,…", sequence of such or mapping, optional
        The values of runs that failed, in place of the usual words.
    also : "NAME=COLUMN:UNIT", sequence of such or mapping, optional
        Further positive quantities with the same factors, such as `"memory=peak_gb:GB"`: each is a table of its own in
        `Table.further`, of the rows in which it was measured.

    Raises
    ------
    TableError
        Naming file, line, column and value, with what to try.
    FormulaError
        If a formula is refused, with a caret under the place.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "batch": [32, 32, 32], "images_per_s": [320.0, 600.0, 1100.0]})
    >>> table = read_table(runs, throughput="images_per_s", work="batch*gpus", extrinsic="gpus", let="total=batch*gpus")
    >>> table.target.column, table.measured.round(4)
    ('time', array([0.1   , 0.1067, 0.1164]))
    >>> table = read_table(runs.assign(ms=[100.0, 107.0, 116.0]), time="ms", unit="ms", extrinsic="gpus")
    >>> table.measured
    array([0.1  , 0.107, 0.116])
    >>> print(table.notes[0])
    'ms' is converted from ms to seconds (1 ms = 0.001 s); filters and formulas read it as it stands in the table
    >>> read_table(runs.replace({"images_per_s": {600.0: -1.0}}), time="images_per_s", extrinsic="gpus")
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: DataFrame: 1 of 3 rows cannot be used
      row 1, column 'images_per_s': '-1.0' is negative (time must be above zero)
      try: --skip-bad-rows goes on without them
    >>> runs = pd.DataFrame({"batch": [8, 16, 32], "seconds": [1.0, 1.9, "CUDA out of memory"]})
    >>> read_table(runs, time="seconds", intrinsic="batch").failures
       batch
    0   32.0
    """
    roles = roles_of(
        {"intrinsic": intrinsic, "extrinsic": extrinsic, "categorical": categorical},
        group,
        measurement_of(time, throughput, quantity, unit),
        weight,
        repeat,
    )
    further = further_of(also)
    rule = rule_of(status, failed)
    options = ReadOptions(roles, lets_of(let), work, where, skip_bad_rows, rule, scaling, further)
    refuse_taken_names(list(further), options)
    if aggregate and (isinstance(source, pd.DataFrame | Source) or str(source) == "-"):
        raise TableError("only files are aggregated while they are read", hint="name a file or a pattern")
    if aggregate or (aggregate is None and not isinstance(source, Source) and worth_aggregating(source)):
        with LargeSource(str(source), files_of(str(source)), delimiter) as large:
            table: Table = read_large(large, options)
            parts = {n: read_large(large, aggregated_options_for(m, options)) for n, m in further.items()}
            return _beside(table, parts, options)
    named = {*(name for name, _ in roles.named), *rule.columns, *(m.column for m in further.values())}
    units = {time: unit} if time and unit else None
    opened = source if isinstance(source, Source) else understood(source, delimiter, named, units)
    _refuse_other_unit(roles, opened)
    options = replace(options, roles=_with_unit(roles, opened))
    return _with_further(assemble(opened, options), opened, options)


def _with_unit(roles: Roles, opened: Source) -> Roles:
    """Give a quantity without a unit the one in its cells."""
    measured = roles.measurement
    if measured is None or measured.kind != "quantity" or measured.unit:
        return roles
    return replace(roles, measurement=replace(measured, unit=opened.units.get(measured.column, "")))


def _refuse_other_unit(roles: Roles, opened: Source) -> None:
    """Refuse a time whose cells are in a unit of something else."""
    measured = roles.measurement
    unit = opened.units.get(measured.column, "s") if measured and measured.kind == "time" else "s"
    if measured and unit not in TIME_UNITS:
        raise TableError(
            f"the cells of '{measured.column}' are in {unit}, which is no unit of time",
            hint=f"--quantity '{measured.column}:{unit}'",
            where=opened.name,
        )


def _with_further(table: Table, opened: Source, options: ReadOptions) -> Table:
    """Return a table with one more for each further quantity."""
    if not options.further:
        return table
    parts = {
        name: assemble(rows_with(measurement, opened, options), options_for(measurement, options))
        for name, measurement in options.further.items()
    }
    return _beside(table, parts, options)


def _beside(table: Table, parts: Mapping[str, Table], options: ReadOptions) -> Table:
    """Return a table with those of its further quantities."""
    notes = [*table.notes, *(note for name, p in parts.items() for note in further_notes(name, p.rows, table.rows))]
    tables = {name: replace(part, failures=part.failures.iloc[:0], reading=()) for name, part in parts.items()}
    measured = {m.column for m in options.further.values()}
    unused = tuple(name for name in table.unused if name not in measured)
    return replace(table, further=tables, notes=tuple(notes), unused=unused)
