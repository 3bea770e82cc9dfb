"""A table whose columns are recognised: the one place where cells, given roles and a question become a reading."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genperf.errors import TableError, suggest
from genperf.panel.assemble import Columns
from genperf.panel.large import LargeSource, worth_aggregating
from genperf.panel.options import MEASURED, OF_THE_MEASURED, ColumnRoles, further_of, lets_of
from genperf.panel.read import read_with_roles
from genperf.panel.reading import Reading, measured_roles, read_columns
from genperf.panel.table import Table
from genperf.table.cells import Cells, Source
from genperf.table.opened import understood

if TYPE_CHECKING:
    import pandas as pd

#: What `read_with_roles` takes beside the source.
OPTIONS = tuple(inspect.signature(read_with_roles).parameters)[1:]


@dataclass(frozen=True, eq=False)
class Recognised:
    """A table with the meaning of its columns, which is looked for only where no option names what was measured."""

    source: Source
    #: Roles and how rows are read, as `read_with_roles` takes them, where they were given.
    given: Mapping[str, Any] = field(default_factory=dict)
    mapping: Mapping[str, str] = field(default_factory=dict)
    #: The configuration and the quantity of a question: its columns are settings.
    at: Mapping[str, str] = field(default_factory=dict)
    want: str | None = None
    #: The files of a table that is summarised while it is read; `source` has its first rows.
    files: str = ""

    @cached_property
    def reading(self) -> Reading:
        """What each column is."""
        return self._read(alone=False)

    @cached_property
    def alone(self) -> Reading:
        """What each column is, where the table may be of a single run."""
        return self._read(alone=True)

    def _read(self, alone: bool) -> Reading:
        names = {column: taken.made for column, taken in self.source.names.items()}
        units = self.source.units
        return read_columns(self.columns, self.given, self.mapping, self.at, self.want, units, alone, names)

    @cached_property
    def columns(self) -> dict[str, Cells]:
        """The cells as they are understood, with derived columns and without further quantities."""
        derived = lets_of(self.given.get("let"))
        columns = Columns(self.source, derived=derived)
        lets = {name: columns.number(name) for name in derived}
        further = {measured.column for measured in further_of(self.given.get("also")).values()}
        return {name: cells for name, cells in {**self.source.columns, **lets}.items() if name not in further}

    @property
    def line(self) -> str:
        """How the table was read, as options that can be copied."""
        return f"read as: {self.reading.options}"

    def table(self) -> Table:
        """Return the checked table, which keeps what its counts are called."""
        named = any(self.given.get(kind) for kind in MEASURED)
        roles = dict(self.given) if named else self.arguments()
        mapping = self.mapping if named else self.reading.mapping
        return read_with_roles(self.files or self.source, **roles).mapped(mapping)

    def arguments(self, quantity: str | None = None) -> dict[str, Any]:
        """Return the arguments of `read_with_roles` for a measured column, the likeliest where omitted."""
        reading, lets = self.reading, lets_of(self.given.get("let"))
        roles, derived = {**self.given, **reading.roles.options}, reading.derived
        if quantity not in (None, *reading.quantities[:1]):
            given = {name: value for name, value in self.given.items() if name not in (*MEASURED, "unit")}
            kept = {name: value for name, value in reading.roles.options.items() if name not in OF_THE_MEASURED}
            measured, other = measured_roles(reading, str(quantity), reading.scale, self.given)
            roles = {**given, **kept, **measured}
            derived = {name: text for name, text in derived.items() if name == reading.scale} | other
        failed = {"failed": (reading.roles.failed,)} if reading.roles.failed else {}
        work = roles.get("work") if roles.get("throughput") else None
        return {**roles, **failed, "work": work, "let": {**lets, **derived} or None}


def recognised(
    table: str | Path | pd.DataFrame | Source,
    given: Mapping[str, Any] | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Recognised:
    """Read the cells of a table of any shape, whose columns are to be recognised; given options win."""
    roles = {name: value for name, value in (given or {}).items() if value not in (None, "", ())}
    columns = ColumnRoles.of(roles)
    roles, named = {**roles, **columns.options}, columns.columns
    if isinstance(table, str | Path) and (roles.get("aggregate") or worth_aggregating(table)):
        return Recognised(LargeSource(table, roles.get("delimiter")).sample(), roles, mapping or {}, files=str(table))
    units = {roles["time"]: roles["unit"]} if {"time", "unit"} <= {*roles} else None
    return Recognised(understood(table, roles.get("delimiter"), named, units), roles, mapping or {})


def read_table(source: str | Path | pd.DataFrame, *, mapping: Mapping[str, str] | None = None, **roles: Any) -> Table:
    """Read measurements; the roles of the columns are recognised where none is measured by name.

    Parameters
    ----------
    source : path or DataFrame
        As `read_with_roles` reads it, of any shape.
    mapping : mapping of str to str, optional
        Field's name → column, such as `{"workers": "p"}`.
    **roles
        As `genperf.panel.read.read_with_roles` takes them: `time="seconds", extrinsic="workers"`.

    Raises
    ------
    TableError
        Where nothing was measured, nothing is scaled, or an option is unknown; naming file, line, column and value.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "images/s": [410.2, 792.5, 1530.0]})
    >>> read_table(runs)
    <Table DataFrame: 3 rows, 3 configurations; time 'time' 0.002438 to 0.002614 s>
    """
    unknown = next((name for name in roles if name not in OPTIONS), None)
    if unknown is not None:
        raise TableError(f"read_table has no option '{unknown}'", hint=suggest(unknown, OPTIONS))
    return recognised(source, roles, mapping).table()


def table_of(source: Table | str | Path | pd.DataFrame) -> Table:
    """Return a table as it is, or read with its columns recognised; rows that cannot be read are left out."""
    return source if isinstance(source, Table) else read_table(source, skip_bad_rows=True)
