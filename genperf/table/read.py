"""`read_table`: a source, the columns' roles and formulas → a checked `Table`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note, TableError
from genperf.formula import quote_name
from genperf.table.clean import Rejection, above_zero, mostly_numbers, not_negative
from genperf.table.columns import Columns
from genperf.table.factor import Role
from genperf.table.source import Source, open_source
from genperf.table.table import Table, constant_notes, measure_factors, number_rows

Names = str | Sequence[str]

_SHOWN = 5
# A column of more values than this is a measurement of its own rather than a setting of the run.
_MOST_SETTINGS = 20


@dataclass(frozen=True)
class _Roles:
    """Which column plays which part."""

    factors: tuple[tuple[str, Role], ...]
    group: tuple[str, ...]
    time: str | None
    throughput: str | None
    weight: str | None
    repeat: str | None

    @property
    def named(self) -> list[tuple[str, str]]:
        """Every column that was named, with its role in words."""
        single = [
            (self.time, "time"),
            (self.throughput, "throughput"),
            (self.weight, "weight"),
            (self.repeat, "repeat"),
        ]
        return [
            *self.factors,
            *((name, "group") for name in self.group),
            *((name, role) for name, role in single if name is not None),
        ]


def read_table(
    source: str | Path | pd.DataFrame,
    *,
    time: str | None = None,
    throughput: str | None = None,
    work: str | None = None,
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
) -> Table:
    """Read measurements and say which column plays which part.

    Parameters
    ----------
    source : path or DataFrame
        Delimited text (the delimiter is found), also compressed; Parquet; "-" for standard input; or a DataFrame.
    time : str, optional
        The column of times, in seconds.
    throughput, work : str, optional
        Instead of `time`: the column of speeds (samples/s) and a formula for the work of a step (samples). The time
        is then work / throughput, in a column "time".
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
        One character, or "tab", "space", "comma", "semicolon", "pipe".

    Returns
    -------
    Table

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
    >>> table.time, table.seconds.round(4)
    ('time', array([0.1   , 0.1067, 0.1164]))
    >>> read_table(runs.replace({"images_per_s": {600.0: -1.0}}), time="images_per_s", extrinsic="gpus")
    Traceback (most recent call last):
    ...
    genperf.errors.TableError: DataFrame: 1 of 3 rows cannot be used
      row 1, column 'images_per_s': '-1.0' is negative (a time must be above zero)
      try: --skip-bad-rows goes on without them
    """
    roles = _roles(intrinsic, extrinsic, categorical, group, time, throughput, weight, repeat)
    lets = _lets(let)
    opened = open_source(source, delimiter)
    columns = Columns(opened, [name for name, role in roles.factors if role == "categorical"])
    for name, text in lets.items():
        if name in opened.frame:
            raise TableError(
                f"'{name}' is a column already", hint="give the derived column a new name", where=opened.name
            )
        columns.derive(name, text)
    _require(roles, columns)
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


def _roles(intrinsic: Names, extrinsic: Names, categorical: Names, group: Names, *single: str | None) -> _Roles:
    time, throughput, weight, repeat = (s.strip() if s else None for s in single)
    given = dict(zip(get_args(Role), (intrinsic, extrinsic, categorical), strict=True))
    factors: list[tuple[str, Role]] = [(name, role) for role, names in given.items() for name in _list(names)]
    roles = _Roles(tuple(factors), tuple(_list(group)), time, throughput, weight, repeat)
    taken: dict[str, str] = {}
    for name, role in roles.named:
        # A group may be a factor as well; every other pair of roles contradicts itself.
        if role == "group" and taken.get(name) in get_args(Role):
            continue
        if name in taken:
            twice = f"twice as {role}" if taken[name] == role else f"both as {taken[name]} and as {role}"
            raise TableError(f"column '{name}' is named {twice}", hint="give it one role")
        taken[name] = role
    if time is not None and throughput is not None:
        raise TableError("time and throughput are both named", hint="name the one that was measured")
    return roles


def _list(names: Names) -> list[str]:
    """Return "a,b" or a sequence as a list of names."""
    return [n.strip() for n in (names.split(",") if isinstance(names, str) else names) if n.strip()]


def _lets(let: Mapping[str, str] | Names | None) -> dict[str, str]:
    if let is None:
        return {}
    if isinstance(let, Mapping):
        pairs = [(str(name).strip(), str(text).strip()) for name, text in let.items()]
    else:
        pairs = []
        for item in [let] if isinstance(let, str) else let:
            name, equals, text = item.partition("=")
            # "a==b" is a comparison that somebody forgot to name.
            if not equals or not name.strip() or text.startswith("="):
                raise TableError(f"'{item}' is not of the form name=formula", hint='for example "flops=batch*layers"')
            pairs.append((name.strip().strip("`"), text.strip()))
    names = [name for name, _ in pairs]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise TableError(f"'{twice}' is derived twice", hint="give each derived column its own name")
    return dict(pairs)


def _require(roles: _Roles, columns: Columns) -> None:
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


def _add_time(roles: _Roles, work: str | None, columns: Columns) -> str:
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


def _checked(roles: _Roles, time: str, columns: Columns) -> pd.DataFrame:
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
    roles: _Roles,
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
        time=time,
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
    settings = [c for c in table.unused if table.frame[c].nunique(dropna=False) <= _MOST_SETTINGS]
    mixed = [c for c in settings if table.frame[c].groupby(same).nunique(dropna=False).max() > 1]
    if not mixed:
        return table
    shown = ", ".join(f"'{c}'" for c in mixed[:6]) + (", …" if len(mixed) > 6 else "")
    text = (
        f"rows with equal factors, taken for repeats, differ in {shown}: name what matters as a factor or --group"
        + ("" if table.repeat is not None else ", or the number of the run as --repeat")
    )
    return replace(table, notes=(*table.notes, Note(text, "configuration_mixed")))
