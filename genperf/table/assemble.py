"""Unchecked cells and the columns' roles → a checked `Table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note, TableError
from genperf.formula import quote_name
from genperf.table.clean import Rejection, above_zero, mostly_numbers, not_negative
from genperf.table.columns import Columns
from genperf.table.describe import constant_notes, measure_factors, number_rows
from genperf.table.roles import Roles
from genperf.table.source import Source
from genperf.table.table import Table
from genperf.table.target import Target

_SHOWN = 5
# A column of more values than this is a measurement of its own rather than a setting of the run.
_MOST_SETTINGS = 20


def assemble(
    opened: Source, roles: Roles, lets: Mapping[str, str], work: str | None, where: str | None, skip_bad_rows: bool
) -> Table:
    """Check, derive and filter the cells of a source.

    Raises
    ------
    TableError, FormulaError
        As `read_table` does.
    """
    columns = columns_of(opened, roles, lets)
    require(roles, columns)
    time_column = _add_time(roles, work, columns)
    keep, read_by_filter = columns.filter(where)
    if not keep.any() and not opened.ragged:
        raise TableError(f"no row fulfils the filter {where}", hint="loosen --where", where=opened.name)

    frame = _checked(roles, time_column, columns)
    usable = keep & columns.usable()
    rejected = sorted([*columns.rejections(keep), *opened.ragged], key=lambda r: r.line)
    if rejected and not (skip_bad_rows and usable.any()):
        raise _bad_rows(rejected, int(keep.sum()) + len(opened.ragged), opened)
    read = {*read_by_filter, *columns.origins(columns.derived)}
    return _assemble(roles, time_column, columns, frame, usable, rejected, read)


def columns_of(opened: Source, roles: Roles, lets: Mapping[str, str]) -> Columns:
    """Return the columns of a source with those derived from them."""
    columns = Columns(opened, [name for name, role in roles.factors if role == "categorical"])
    for name, text in lets.items():
        if name in opened.frame:
            raise TableError(
                f"'{name}' is a column already", hint="give the derived column a new name", where=opened.name
            )
        columns.derive(name, text)
    return columns


def require(roles: Roles, columns: Columns) -> None:
    """Check that the columns named are there, and that enough of them are named."""
    where = columns.source.name
    for name, role in roles.named:
        if name not in columns.names:
            raise columns.missing(name, role)
    if roles.time is None and roles.throughput is None:
        raise TableError(
            "no column of times is named", hint="--time COL, or --throughput COL with --work FORMULA", where=where
        )
    if not roles.factors:
        taken = {name for name, _ in roles.named}
        frame = columns.source.frame
        candidates = [
            c for c in columns.names if c not in taken and (c in columns.derived or mostly_numbers(frame[c].tolist()))
        ]
        hint = f"--intrinsic or --extrinsic with some of {', '.join(candidates)}" if candidates else "--categorical COL"
        raise TableError("no factor is named: what may the time depend on?", hint=hint, where=where)


def _add_time(roles: Roles, work: str | None, columns: Columns) -> str:
    """Return the name of the column of seconds, made from the speeds if need be."""
    if roles.throughput is None:
        if work is not None:
            raise TableError("a work formula goes with a throughput", hint="--throughput COL --work FORMULA")
        assert roles.time is not None
        columns.reject(roles.time, above_zero(columns.number(roles.time), "a time"))
        return roles.time
    if work is None:
        raise TableError(
            "a throughput needs the work of a step to give a time",
            hint='--work "batch*workers", the samples of one step',
            where=columns.source.name,
        )
    if "time" in dict(roles.named) or "time" in columns.derived:
        raise TableError("the time made from a throughput is named 'time'", hint="name the other column otherwise")
    columns.reject(roles.throughput, above_zero(columns.number(roles.throughput), "a speed"))
    columns.parse(work)  # a caret belongs under the user's own text, not under the quotient
    values = columns.derive("time", f"({work})/{quote_name(roles.throughput)}")
    columns.reject("time", above_zero(np.where(columns.unusable["time"], np.nan, values), "a time"))
    return "time"


def _checked(roles: Roles, time: str, columns: Columns) -> pd.DataFrame:
    """Return the columns in a role, of the types the table promises."""
    frame: dict[str, Any] = {}
    for name, role in roles.factors:
        frame[name] = columns.label(name) if role == "categorical" else columns.number(name)
    for name in [*roles.group, *([roles.repeat] if roles.repeat else [])]:
        if name not in frame:
            frame[name] = columns.label(name)
    if roles.weight is not None:
        frame[roles.weight] = columns.number(roles.weight)
        columns.reject(roles.weight, not_negative(frame[roles.weight], "a weight"))
    frame[time] = columns.number(time)
    return pd.DataFrame(frame)


def _bad_rows(rejected: Sequence[Rejection], total: int, source: Source) -> TableError:
    lines = len({r.line for r in rejected})
    shown = [f"  {r.complaint}" for r in rejected[:_SHOWN]]
    if len(rejected) > _SHOWN:
        shown.append(f"  and {len(rejected) - _SHOWN} more")
    message = "\n".join([f"{lines} of {total} row{'s' * (total != 1)} cannot be used", *shown])
    if lines == total:
        hint = "no row would be left; check which columns are named"
    else:
        hint = "--skip-bad-rows goes on without them"
    if any("true or false" in r.reason for r in rejected):
        hint += "; --categorical takes true and false"
    return TableError(message, hint=hint, where=source.name)


def _assemble(
    roles: Roles,
    time: str,
    columns: Columns,
    frame: pd.DataFrame,
    usable: npt.NDArray[np.bool_],
    rejected: Sequence[Rejection],
    read: set[str],
) -> Table:
    for name in columns.derived:
        if name not in frame:
            frame[name] = columns.number(name)
    rest = [c for c in columns.source.frame.columns if c not in frame]
    frame = pd.concat([frame, columns.source.frame[rest]], axis=1)[usable].reset_index(drop=True)
    factors = measure_factors(frame, roles.factors, roles.group)
    unused = tuple(c for c in rest if c not in read)
    notes: list[Note] = []
    if rejected:
        count = len({r.line for r in rejected})
        first = rejected[0].complaint
        notes.append(
            Note(
                f"{count} row{'s' * (count != 1)} left out because they cannot be used; the first: {first}",
                "rows_rejected",
            )
        )
    table = Table(
        frame=frame,
        target=Target(time),
        factors=factors,
        group=roles.group,
        weight=roles.weight,
        repeat=roles.repeat,
        source=columns.source.name,
        rejected=tuple(rejected),
        unused=unused,
        derived=dict(columns.derived),
        notes=tuple(notes) + constant_notes(factors),
    )
    _ = table.weights  # all zero is an error of the file, to be said now
    return _with_mixture_note(table)


def _with_mixture_note(table: Table) -> Table:
    """Say where rows that count as repeats differ in a setting that is in no role."""
    names = [*(f.name for f in table.factors), *table.group, *([table.repeat] if table.repeat else [])]
    same = number_rows(table.frame, names)
    unexplained = [c for c in table.unused if c not in table.phases.values()]
    settings = [c for c in unexplained if table.frame[c].nunique(dropna=False) <= _MOST_SETTINGS]
    mixed = [c for c in settings if table.frame[c].groupby(same).nunique(dropna=False).max() > 1]
    if not mixed:
        return table
    shown = ", ".join(f"'{c}'" for c in mixed[:6]) + (", …" if len(mixed) > 6 else "")
    text = (
        f"rows with equal factors, taken for repeats, differ in {shown}: name what matters as a factor or --group"
        + ("" if table.repeat is not None else ", or the number of the run as --repeat")
    )
    return replace(table, notes=(*table.notes, Note(text, "configuration_mixed")))
