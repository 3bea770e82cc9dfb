"""A large source, the columns' roles and formulas → a checked table of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np
import pandas as pd

from genperf.errors import Note, TableError
from genperf.table.aggregate import STATISTICS, Asked, LargeSource
from genperf.table.aggregated import AggregatedTable
from genperf.table.assemble import assemble, columns_of, require
from genperf.table.clean import above_zero, numbers
from genperf.table.phases import phase_columns, shown_phases
from genperf.table.roles import Roles
from genperf.table.source import Source
from genperf.table.table import Table

#: Where a row of the table stands in what DuckDB returned.
PLACE = "_place"
#: How each statistic of a time grows with the work of which it is the time.
POWERS = {"_mean": 1, "_variance": 2, "_shortest": 1, "_longest": 1, "_q05": 1, "_q25": 1, "_q75": 1, "_q95": 1}


def read_large(
    large: LargeSource,
    roles: Roles,
    lets: Mapping[str, str],
    work: str | None,
    where: str | None,
    skip_bad_rows: bool,
) -> AggregatedTable:
    """Summarise the rows of each combination of settings, and check these as the rows of a small table are checked.

    Raises
    ------
    TableError, FormulaError
        As `read_table` does; bad rows are counted, and one is shown.
    """
    asked, unused = _asked(large, roles, lets, work, where)
    found = large.summarise(asked).assign(**{PLACE: lambda f: np.arange(len(f), dtype=float)})
    source = Source(large.name, _cells(found, asked), np.arange(len(found), dtype=np.int64), "configuration")
    # Which repeat a row is says nothing any more.
    checked = assemble(source, replace(roles, repeat=None), lets, work, where, skip_bad_rows)
    notes = [n for n in checked.notes if n.kind not in ("rows_rejected", "configuration_mixed")]
    notes += _left_out(found, checked, asked, large.name, skip_bad_rows)
    frame = _one_row_each(large, asked, found, checked)
    held = {f.name: getattr(checked, f.name) for f in fields(Table)}
    made = AggregatedTable(**{**held, "frame": frame, "unused": tuple(unused), "notes": ()})
    said = f"{made.rows} rows were summarised as {len(made)} configurations while they were read"
    if phases := phase_columns(unused):
        said += f"; of what they took the whole is kept, not {shown_phases(phases)}, which --no-aggregate keeps"
    return replace(made, notes=(Note(said, "aggregated"), *notes))


def _asked(
    large: LargeSource, roles: Roles, lets: Mapping[str, str], work: str | None, where: str | None
) -> tuple[Asked, list[str]]:
    """Say which columns tell configurations apart, and which are in no role."""
    sample = large.sample()
    columns = columns_of(sample, roles, lets)
    require(roles, columns)
    names = {*(name for name, _ in roles.factors), *roles.group, *lets}
    for text in (where, work):
        names |= columns.parse(text).names if text is not None else set()
    value = roles.time or roles.throughput
    assert value is not None
    read = columns.origins(names)
    if value in read or value in columns.derived:
        raise TableError(
            f"what is computed from or compared with '{value}' differs from row to row, and rows are summarised",
            hint="leave it out, or --no-aggregate for a table that memory holds",
            where=large.name,
        )
    keys = tuple(str(c) for c in sample.frame.columns if c in read)
    in_role = {*keys, value, roles.weight, roles.repeat}
    unused = [str(c) for c in sample.frame.columns if c not in in_role]
    return Asked(keys, value, roles.throughput is not None, roles.weight), unused


def _cells(found: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Return what is checked: settings with their median, or where no row has a usable value with one such value."""
    middle = found[asked.value].to_numpy(dtype=float, na_value=np.nan)
    # The door divides the work by the speed: of the median time of a unit of work.
    cells = pd.Series(1.0 / middle if asked.inverse else middle, dtype=object)
    empty = found["_repeats"].to_numpy() == 0
    cells[empty] = found["_example"].to_numpy(dtype=object)[empty]
    return found.drop(columns=["_unusable", "_example"]).assign(**{asked.value: cells.to_numpy()})


def _left_out(found: pd.DataFrame, checked: Table, asked: Asked, name: str, skip: bool) -> list[Note]:
    """Count the rows that cannot be used: some of a configuration's, or all."""
    place = checked.frame[PLACE].to_numpy(dtype=int)
    some = found.iloc[place]
    bad = int(some["_unusable"].sum())
    lines = sorted({r.line for r in checked.rejected})
    gone = int(found.iloc[lines][["_repeats", "_unusable"]].to_numpy().sum())
    if not bad + gone:
        return []
    examples = [_complaint(asked.value, e) for e in some.loc[some["_unusable"] > 0, "_example"]]
    examples += [r.complaint for r in checked.rejected]
    total = int(found[["_repeats", "_unusable"]].to_numpy().sum())
    if bad and not skip:
        raise TableError(
            f"{bad} of {total} rows cannot be used\n  {examples[0]}",
            hint="--skip-bad-rows goes on without them",
            where=name,
        )
    text = f"{bad + gone} of {total} rows left out because they cannot be used; for example: {examples[0]}"
    return [Note(text, "rows_rejected")]


def _complaint(column: str, cell: object) -> str:
    values, reasons = numbers([cell])
    why = {**above_zero(values, "a measurement"), **reasons}.get(0, "cannot be used")
    return f"column '{column}': '{'' if cell is None else cell}' {why}"


def _one_row_each(large: LargeSource, asked: Asked, found: pd.DataFrame, checked: Table) -> pd.DataFrame:
    """Return the frame with one row per configuration, its statistics in seconds."""
    frame = checked.frame
    place = frame[PLACE].to_numpy(dtype=int)
    statistics = frame[list(STATISTICS)].reset_index(drop=True)
    seconds = checked.measured
    work = seconds / found[asked.value].to_numpy(dtype=float)[place]
    first = np.unique(checked.configuration, return_index=True)[1]
    if len(first) < len(frame):
        # Settings that differ in the file are the same configuration: they are summarised together.
        keys = found.iloc[place][list(asked.keys)]
        together = large.summarise_by(asked, keys, checked.configuration)
        statistics = together[list(STATISTICS)]
        frame, work = frame.iloc[first], work[first]
        seconds = together[asked.value].to_numpy(dtype=float) * work
        if asked.weight:
            frame = frame.assign(**{asked.weight: together[asked.weight].to_numpy(dtype=float)})
    scaled = {
        name: statistics[name].to_numpy(dtype=float) * work ** POWERS[name] if name in POWERS else statistics[name]
        for name in STATISTICS
    }
    frame = frame.drop(columns=[PLACE, *STATISTICS]).reset_index(drop=True)
    return frame.assign(**{checked.target.column: seconds}, **{k: np.asarray(v) for k, v in scaled.items()})
