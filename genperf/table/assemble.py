"""Unchecked cells and the columns' roles → a checked `Table`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note, TableError
from genperf.formula import quote_name
from genperf.scaling import Scaling
from genperf.table.cells import with_columns
from genperf.table.clean import (
    Reasons,
    Rejection,
    above_zero,
    mostly_numbers,
    not_negative,
    numbers,
    too_large,
    too_small,
)
from genperf.table.columns import Columns
from genperf.table.describe import constant_notes, measure_factors, zero_count_notes
from genperf.table.design import with_repeat_notes
from genperf.table.failures import failure_notes, groups_that_only_failed, refuse_only_failures
from genperf.table.jobs import by_header, by_times
from genperf.table.roles import ReadOptions, Roles
from genperf.table.source import Source
from genperf.table.table import Table
from genperf.table.target import TIME, Measurement
from genperf.table.work import assumed_work, checked_scaling, counted_column, kind_of_work, work_notes
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import WAYS, column_of, counted_by


@dataclass(frozen=True)
class AssemblySettings:
    """What is reported of the rows of a table."""

    #: Bad rows that an error lists before it counts the others. A guess: they fit on a screen.
    max_shown_faults: int = 5


ASSEMBLY = AssemblySettings()


def assemble(opened: Source, options: ReadOptions) -> Table:
    """Check, derive and filter the cells of a source.

    Raises
    ------
    TableError, FormulaError
        As `read_table` does.
    """
    roles = options.roles
    columns = columns_of(opened, options)
    measurement = require(roles, columns)
    # A column that is derived holds the words of those that it is made from.
    measured = columns.origins([measurement.column]) - {name for name, _ in roles.factors}
    failed = options.failures.failed(opened.frame, sorted(measured), opened.name)
    refuse_only_failures(failed, np.ones(len(failed), dtype=bool), opened.name)
    work = _add_target(measurement, options, columns)
    keep, read_by_filter = columns.filter(options.where)
    if not keep.any() and not opened.ragged:
        raise TableError(f"no row fulfils the filter {options.where}", hint="loosen --where", where=opened.name)

    refuse_only_failures(failed, keep, opened.name)

    frame = _checked(roles, measurement, columns)
    settings = [*(name for name, _ in roles.factors), *roles.group]
    columns.excuse(failed, settings)
    usable = keep & columns.usable() & ~failed
    rejected = sorted([*columns.rejections(keep), *opened.ragged], key=lambda r: r.line)
    if rejected and not (options.skip_bad_rows and usable.any()):
        raise _bad_rows(rejected, int(keep.sum()) + len(opened.ragged), opened)
    remaining = [c for c in opened.frame.columns if c not in frame and c not in columns.derived]
    for name in columns.derived:
        if name not in frame:
            frame[name] = columns.number(name)
    failures = frame.loc[keep & columns.usable(settings) & failed, list(dict.fromkeys(settings))]
    failures = failures.reset_index(drop=True)
    kept = with_columns(
        opened.frame[remaining], {name: opened.numbers[name] for name in remaining if name in opened.numbers}
    )
    frame = pd.concat([frame, kept], axis=1)[usable].reset_index(drop=True)
    read = {*read_by_filter, *columns.origins(columns.derived), *options.failures.columns}
    kind = _kind_of_work(roles, columns, usable)
    factors = measure_factors(frame, roles.factors, roles.group)
    notes = work_notes(work, options.work is not None, kind) if work else ()
    table = Table(
        frame=frame,
        target=measurement.target(work),
        factors=factors,
        group=roles.group,
        weight=roles.weight,
        repeat=roles.repeat,
        source=opened.name,
        rejected=tuple(rejected),
        unused=tuple(c for c in remaining if c not in read),
        derived=dict(columns.derived),
        reading=options.beside_roles(),
        notes=(
            *opened.steps,
            *measurement.notes(),
            *_rejection_notes(rejected),
            *failure_notes(len(failures)),
            *groups_that_only_failed(failures, frame, roles.group),
            *constant_notes(factors),
            *zero_count_notes(factors),
            *notes,
        ),
        failures=failures,
        scaling=checked_scaling(options.scaling, kind, work),
    )
    _ = table.weights  # that all are zero is an error of the file, and is raised now
    return with_repeat_notes(_with_job(table))


def columns_of(opened: Source, options: ReadOptions) -> Columns:
    """Return the columns of a source with those derived from them."""
    columns = Columns(opened, [name for name, role in options.roles.factors if role == "categorical"])
    for name, text in options.derived.items():
        if name in opened.frame:
            raise TableError(
                f"'{name}' is a column already", hint="give the derived column a new name", where=opened.name
            )
        columns.derive(name, text)
    return columns


def require(roles: Roles, columns: Columns) -> Measurement:
    """Return the measurement, once the columns named are known to be there and enough of them are named.

    Raises
    ------
    TableError
        Where a column is missing, or no measurement or no factor is named.
    """
    where = columns.source.name
    for name, role in roles.named:
        if name not in columns.names:
            raise columns.missing(name, role)
    if roles.measurement is None:
        raise TableError(
            "no measured column is named",
            hint="--time COL, --throughput COL, or --quantity COL:UNIT",
            where=where,
        )
    if not roles.factors:
        taken = {name for name, _ in roles.named}
        frame = columns.source.frame
        candidates = [
            c for c in columns.names if c not in taken and (c in columns.derived or mostly_numbers(frame[c].tolist()))
        ]
        hint = f"--intrinsic or --extrinsic with some of {', '.join(candidates)}" if candidates else "--categorical COL"
        name = roles.measurement.target().name
        raise TableError(f"no factor is named: what may the {name} depend on?", hint=hint, where=where)
    return roles.measurement


def _add_target(measurement: Measurement, options: ReadOptions, columns: Columns) -> str:
    """Check the measured column, and derive the time of a step from a throughput; return the work of a step."""
    column, work = measurement.column, options.work
    if measurement.kind != "throughput" and work is not None:
        raise TableError("a work formula goes with a throughput", hint="--throughput COL --work FORMULA")
    if measurement.kind == "throughput" and (TIME in dict(options.roles.named) or TIME in columns.derived):
        raise TableError("the time made from a throughput is named 'time'", hint="name the other column otherwise")
    in_seconds = measurement.kind == "time" and not measurement.converted
    columns.reject(column, measurement.faults(columns.number(column, durations=in_seconds)))
    if measurement.kind != "throughput":
        return ""
    if work is None:
        work = assumed_work(options.roles, columns.source.name, header_of(column).counted == "tokens")
    columns.parse(work)  # a caret belongs under the user's own text, not under the quotient
    values = columns.derive(TIME, f"({work})/{quote_name(column)}")
    usable = np.where(columns.unusable[TIME], np.nan, values)
    columns.reject(TIME, {**too_small(usable), **too_large(usable), **above_zero(usable, TIME)})
    return work


def _kind_of_work(roles: Roles, columns: Columns, rows: npt.NDArray[np.bool_]) -> Scaling | None:
    """Return the kind of scaling that the work of a step tells; None for a measured time, or where it tells none."""
    measurement, counted = roles.measurement, counted_column(roles)
    if measurement is None or measurement.kind != "throughput" or counted is None:
        return None
    work = columns.number(TIME)[rows] * columns.number(measurement.column)[rows]
    return kind_of_work(work, columns.number(counted)[rows])


def _checked(roles: Roles, measurement: Measurement, columns: Columns) -> pd.DataFrame:
    """Return the columns in a role, of the types the table promises."""
    frame: dict[str, Any] = {}
    for name, role in roles.factors:
        frame[name] = columns.label(name) if role == "categorical" else columns.number(name)
        if role != "categorical":
            columns.reject(name, too_large(frame[name]))
            if (counted := counted_by(name)) is not None:
                columns.reject(name, not_negative(frame[name], f"a count of {counted}"))
    for name in [*roles.group, *([roles.repeat] if roles.repeat else [])]:
        if name not in frame:
            frame[name] = columns.label(name)
    if roles.weight is not None:
        frame[roles.weight] = columns.number(roles.weight)
        weights = frame[roles.weight]
        columns.reject(roles.weight, {**too_large(weights), **not_negative(weights, "a weight")})
    target = measurement.target().column
    frame[target] = measurement.in_target_unit(columns.number(target))
    _refuse_contradictions(columns, [name for name, _ in roles.factors])
    return pd.DataFrame(frame)


def _bad_rows(rejected: Sequence[Rejection], total: int, source: Source) -> TableError:
    """Return the error that lists the first bad rows and says how to go on."""
    lines = len({r.line for r in rejected})
    shown = [f"  {r.complaint}" for r in rejected[: ASSEMBLY.max_shown_faults]]
    if len(rejected) > len(shown):
        shown.append(f"  and {len(rejected) - len(shown)} more")
    message = "\n".join([f"{lines} of {total} row{'s' * (total != 1)} cannot be used", *shown])
    if lines == total:
        hint = "no row would be left; check which columns are named"
    else:
        hint = "--skip-bad-rows goes on without them"
    if any("true or false" in r.reason for r in rejected):
        hint += "; --categorical takes true and false"
    return TableError(message, hint=hint, where=source.name)


def _rejection_notes(rejected: Sequence[Rejection]) -> tuple[Note, ...]:
    count = len({r.line for r in rejected})
    if not count:
        return ()
    rows = "1 row left out because it" if count == 1 else f"{count} rows left out because they"
    text = f"{rows} cannot be used{'; the first' if count > 1 else ''}: {rejected[0].complaint}"
    return (Note(text, "rows_rejected"),)


def _with_job(table: Table) -> Table:
    """Take times of epochs and whole jobs as such, where the user says nothing of the scaling."""
    note = by_header(table) if table.scaling is None else None
    if note is not None:
        return replace(table, scaling="job", notes=(*table.notes, note))
    likely = by_times(table)
    return table if likely is None else replace(table, notes=(*table.notes, likely))


def _refuse_contradictions(columns: Columns, factors: Collection[str]) -> None:
    """Mark the rows whose data-, tensor-, pipeline- and context-parallel ways do not multiply to their devices."""
    devices = _named(columns, "workers")
    named = {way: _named(columns, way) for way in WAYS}
    ways = [name for name in named.values() if name is not None]
    if devices is None or None in [named[way] for way in WAYS[:3]] or not {*ways} & {*factors}:
        return
    # Read without a check: a cell of a column in no role may be empty.
    values = {name: numbers(columns.source.columns[name])[0] for name in [*ways, devices]}
    product = np.prod([values[name] for name in ways], axis=0)
    wrong = np.flatnonzero(np.isfinite(product) & np.isfinite(values[devices]) & (product != values[devices]))
    reasons: Reasons = {}
    for row in wrong.tolist():
        factors = " × ".join(f"{values[name][row]:g}" for name in ways)
        reasons[row] = f"is not {' × '.join(ways)} = {factors} = {product[row]:g}"
    columns.reject(devices, reasons)


def _named(columns: Columns, canonical: str) -> str | None:
    """Return the column of numbers with one of the field's names, or None."""
    name = column_of(canonical, columns.names)
    if name is None or name in columns.texts or name in columns.derived:
        return None
    return name if mostly_numbers(columns.source.columns[name].tolist()) else None
