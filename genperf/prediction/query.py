"""What is requested: values of the factors, checked against those that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.arrays import AnyArray, Index, Mask
from genperf.errors import Note, TableError, did_you_mean, misspelt, suggest
from genperf.formula import parse
from genperf.formula.amounts import amount
from genperf.panel.configurations import completed, levels_text
from genperf.panel.machine import PARTS
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.table.cells import Source, source_of_columns
from genperf.table.clean import faults_of, labels, numbers
from genperf.table.opened import open_source, understood

if TYPE_CHECKING:
    import pandas as pd

#: More combinations than this are refused: they are a job for `optimize`.
MOST_ROWS = 1_000_000
#: What a user may do instead, where a level that was not measured has no answer.
ANSWERED = "; predict, explain, ask, compare and optimize answer for it by the spread of these"


@dataclass(frozen=True, eq=False)
class Query:
    """Rows to predict."""

    rows: int
    #: Every factor's values, of shape (rows,).
    columns: dict[str, AnyArray]
    #: The columns that were given, factors or not; other factors were filled in or derived.
    given: tuple[str, ...] = ()
    #: What was filled in or left aside.
    notes: tuple[Note, ...] = ()

    def take(self, rows: Mask | Index) -> Query:
        """Return some of the rows: those of a mask, or at some positions."""
        count = int(rows.sum()) if rows.dtype == bool else len(rows)
        return replace(self, rows=count, columns={k: v[rows] for k, v in self.columns.items()})


def cells_of(data: Source | str | Path | pd.DataFrame | Mapping[str, Any], schema: Schema) -> Source:
    """Return the unchecked cells of the requested rows, as `read_query` takes them."""
    if isinstance(data, Source):
        return data
    if isinstance(data, Mapping):
        return source_of_columns(combine(known_names(data, schema)))
    factors = {factor.name for factor in schema.factors}
    if isinstance(data, str | Path):
        source = understood(data, named=factors)
        source = replace(source, read={n: c for n, c in source.read.items() if n in factors or n in source.cells})
    else:
        source = open_source(data)
    if source.ragged:
        raise TableError(f"{source.ragged[0].complaint}", where=source.name, hint="give every row the same columns")
    mapped = {name: schema.column(name) for name in source.columns}
    if not factors <= {*mapped}:
        # A column that the model lacks may name a part of the machine.
        mapped = {name: schema.panel.meant(name) for name in source.columns}
    taken = {*source.columns}
    mapped = {name: name if column in taken else column for name, column in mapped.items()}
    return source if list(mapped) == list(mapped.values()) else source.renamed(mapped)


def read_query(
    data: Source | str | Path | pd.DataFrame | Mapping[str, Any],
    schema: Schema,
    new_levels: bool = False,
    possible: bool = True,
) -> Query:
    """Check the requested rows.

    Parameters
    ----------
    data : path, DataFrame, mapping or Source
        A table with a column per factor; or values by name, lists being combined each with each. A factor with one
        value in the model's table may be left out, as may one that was derived from columns that are given, and parts
        of a machine and its work that the given ones settle.
    schema : Schema
        Of the table the model was fitted to.
    new_levels : bool
        Whether a level that was not measured is let through. One that is spelled nearly as a measured one never is, nor
        one of a factor with a single level.
    possible : bool
        Whether machines that cannot exist are refused.

    Examples
    --------
    >>> from genperf.panel.target import Target
    >>> workers = Factor("workers", "extrinsic", 1, 16, distinct=5, positive=True)
    >>> read_query({"workers": [32, 64]}, Schema((workers,), Target("step_s"))).columns
    {'workers': array([32., 64.])}
    """
    return query_of(cells_of(data, schema), schema, new_levels, refuse=possible)


def query_of(
    source: Source, schema: Schema, new_levels: bool = False, fill: bool = False, refuse: bool = True
) -> Query:
    """Check the cells of requested rows; see `read_query`. With `fill` open factors are those of a measured run."""
    source_columns, derived, factors = source.columns, schema.panel.inputs, {f.name for f in schema.factors}
    inputs = {
        read
        for name, reads in derived.items()
        if name not in source_columns
        for read in reads
        if read in source_columns
    }
    columns: dict[str, AnyArray] = {name: numbers(source_columns[name])[0] for name in sorted(inputs - factors)}
    columns |= {f.name: _checked(f, source, schema, new_levels) for f in schema.factors if f.name in source_columns}
    if not factors <= {*source_columns}:
        machine_parts = [n for n in source_columns if n in PARTS and n not in factors and schema.panel.machine.means(n)]
        columns |= {name: _checked(_part(name), source, schema) for name in machine_parts}
    where = source.name if source.name != "DataFrame" else None
    columns, taken = completed(schema.panel, columns, len(source.lines), where, fill, refuse)
    follow = [name for name, how in taken.items() if isinstance(how, np.ndarray)]
    notes = tuple(Note(f"'{name}' is taken as {_how(how)}", "filled") for name, how in taken.items())
    return Query(
        len(source.lines), columns, tuple(columns) if fill else (*source_columns, *follow), () if fill else notes
    )


def _part(name: str) -> Factor:
    """Return a part of a machine as a factor: a number above zero."""
    return Factor(name, "extrinsic", distinct=0, positive=True)


def _how(taken: AnyArray | float | str) -> str:
    """Return how a factor that was left out has its value."""
    if isinstance(taken, np.ndarray):
        return f"{', '.join(f'{value:g}' for value in np.unique(taken)[:3])}, as it follows in the runs"
    value_text = f"'{taken}'" if isinstance(taken, str) else f"{taken:g}"
    return f"{value_text}, its one measured value"


def combine(values: Mapping[str, Any]) -> dict[str, AnyArray]:
    """Combine values by name, each with each, the last name's values changing fastest."""
    lists = {k: list(v) if _is_list(v) else [v] for k, v in values.items()}
    rows = math.prod(len(v) for v in lists.values()) if lists else 0
    if rows > MOST_ROWS:
        raise TableError(f"{rows} combinations are requested, {MOST_ROWS} at most", hint="give fewer values")
    if rows == 0:
        raise TableError("nothing is requested", hint="give values of the factors: workers=32,64")
    columns = zip(*product(*lists.values()), strict=True)
    return {name: np.fromiter(cells, object, rows) for name, cells in zip(lists, columns, strict=True)}


def _is_list(value: Any) -> bool:
    # A Series is known by its dimension: nothing need be imported for it.
    return (isinstance(value, Sequence) and not isinstance(value, str)) or getattr(value, "ndim", 0) == 1


def model_names(names: Iterable[str], schema: Schema) -> dict[str, str]:
    """Return each name with the model's name for it."""
    columns: dict[str, str] = {}
    for name in names:
        column = schema.panel.meant(name)
        other = next((n for n, held in columns.items() if held == column), None)
        if other is not None:
            raise TableError(f"'{other}' and '{name}' are one factor of the model", hint="give one of them")
        columns[name] = column
    return columns


def known_names(values: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return values by the model's names."""
    factor_names = [f.name for f in schema.factors]
    inputs = {name for text in schema.derived.values() for name in parse(text).names}
    # Two names of one factor with one value mean it once.
    meant = dict[tuple[str, str], str]()
    for name, value in values.items():
        meant.setdefault((schema.panel.meant(name), str(_amounts(value))), name)
    values = {name: values[name] for name in meant.values()}
    columns = model_names(values, schema)
    for name in columns.values():
        part = name in PARTS and schema.panel.machine.means(name)
        if name not in factor_names and name not in schema.group and name not in inputs and not part:
            raise TableError(f"the model has no factor '{name}'", hint=suggest(name, factor_names))
    return {columns[name]: value for name, value in values.items()}


def _amounts(value: Any) -> list[float | str]:
    """Return one or several values as numbers, where they are some, or texts: 64, "64" and 64.0 are alike."""
    cells = map(str, value if _is_list(value) else [value])
    return [cell if (number := amount(cell)) is None else number for cell in cells]


def checked_values(values: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return single values by the model's names, numbers and measured levels; a list stays as it is."""
    values_by_factor = known_names(values, schema)
    for factor in schema.factors:
        if factor.name in values_by_factor and not _is_list(values_by_factor[factor.name]):
            source = source_of_columns({factor.name: np.array([values_by_factor[factor.name]], dtype=object)})
            (values_by_factor[factor.name],) = _checked(factor, source, schema).tolist()
    return values_by_factor


def answered(factor: Factor, level: str) -> bool:
    """Tell whether a level that was not measured is answered by the spread of those that were.

    A factor needs two measured levels to have a spread, and a near spelling is taken for a typing error.
    """
    return len(factor.levels) > 1 and level != "" and not misspelt(level, factor.levels)


def _checked(factor: Factor, source: Source, schema: Schema, new_levels: bool = False) -> AnyArray:
    """Return the given cells of a factor as numbers or labels that the model can take."""
    values: AnyArray
    cells = source.columns[factor.name]
    if factor.numeric:
        values, faults = numbers(cells)
        faults |= faults_of(values)
        # Each cell is a number, and then one that a count can have.
        faults = faults or dict.fromkeys(np.flatnonzero(factor.positive & (values <= 0)).tolist(), "is not above zero")
    else:
        values, levels = labels(cells), [*factor.levels, *schema.substituted.get(factor.name, ())]
        unknown = np.flatnonzero(~np.isin(values.astype(str), levels)).tolist()
        refused = {level for level in {values[row] for row in unknown} if not new_levels or not answered(factor, level)}
        faults = {row: "is a level that was never measured" for row in unknown if values[row] in refused}
    if faults:
        row, reason = min(faults.items())
        hint, cell = None, cells[row]
        if not factor.numeric:
            cell = values[row]
            among = levels_text(factor) + (ANSWERED if answered(factor, cell) else "")
            hint = did_you_mean(cell, factor.levels) or among
        raise TableError(source.rejection(row, factor.name, cell, reason).complaint, hint=hint)
    return values
