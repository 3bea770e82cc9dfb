"""What is asked: values of the factors, checked against what the model knows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import Note, TableError, suggest
from genperf.formula import parse
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.table.clean import labels, numbers
from genperf.table.source import Source, open_source

#: More combinations than this are refused: they are a job for `optimize`.
MOST_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class Query:
    """Rows to predict.

    Attributes
    ----------
    frame : DataFrame
        The columns as they were given, with the factors as numbers or labels.
    columns : dict of str to ndarray
        Every factor's values, of shape (rows,).
    notes : tuple of Note
        What was filled in or left aside.
    """

    frame: pd.DataFrame
    columns: dict[str, npt.NDArray[Any]]
    notes: tuple[Note, ...] = ()

    def take(self, rows: npt.NDArray[np.bool_]) -> Query:
        """Return some of the rows."""
        return Query(self.frame[rows].reset_index(drop=True), {k: v[rows] for k, v in self.columns.items()}, self.notes)


def read_query(data: str | Path | pd.DataFrame | Mapping[str, Any], schema: Schema) -> Query:
    """Check the rows that are asked for.

    Parameters
    ----------
    data : path, DataFrame or mapping
        A table with a column per factor; or values by name, lists being combined each with each. A factor with one
        value in the model's table may be left out, as may one that was derived from columns that are given.
    schema : Schema
        Of the table the model was fitted to.

    Raises
    ------
    TableError
        Where a factor is missing or unknown, or a value is not one the model can take.

    Examples
    --------
    >>> workers = Factor("workers", "extrinsic", 1, 16, distinct=5, positive=True)
    >>> read_query({"workers": [32, 64]}, Schema((workers,), "seconds")).columns
    {'workers': array([32., 64.])}
    """
    if isinstance(data, Mapping):
        check_names(data, schema)
        source = open_source(combine(data))
    else:
        source = open_source(data)
    if source.ragged:
        raise TableError(f"{source.ragged[0].complaint}", where=source.name, hint="give every row the same columns")
    if source.frame.empty:
        raise TableError("there is no row to predict", where=source.name)
    frame = source.frame.reset_index(drop=True)
    notes: list[Note] = []
    columns: dict[str, npt.NDArray[Any]] = {}
    for factor in schema.factors:
        columns[factor.name] = _values(factor, source, frame, schema, notes)
    shown = frame.copy()
    for name, values in columns.items():
        if name in frame.columns:
            shown[name] = values
    return Query(shown, columns, tuple(notes))


def combine(values: Mapping[str, Any]) -> pd.DataFrame:
    """Combine values by name, each with each."""
    lists = {k: list(v) if _is_list(v) else [v] for k, v in values.items()}
    rows = int(np.prod([len(v) for v in lists.values()], dtype=float)) if lists else 0
    if rows > MOST_ROWS:
        raise TableError(f"{rows} combinations are asked for; at most {MOST_ROWS} are", hint="ask for fewer values")
    if rows == 0:
        raise TableError("nothing is asked for", hint="give values of the factors: workers=32,64")
    return pd.DataFrame(list(itertools.product(*lists.values())), columns=list(lists))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray | pd.Series) and not isinstance(value, str)


def check_names(values: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a name that the model does not know, where a typing error would otherwise go unnoticed."""
    known = [f.name for f in schema.factors]
    inputs = {name for text in schema.derived.values() for name in parse(text).names}
    for name in values:
        if name not in known and name not in schema.group and name not in inputs:
            raise TableError(
                f"the model has no factor '{name}'", hint=suggest(name, known) or f"one of {', '.join(known)}"
            )


def _values(factor: Factor, source: Source, frame: pd.DataFrame, schema: Schema, notes: list[Note]) -> npt.NDArray[Any]:
    if factor.name in frame.columns:
        return _checked(factor, source, frame[factor.name])
    if factor.name in schema.derived:
        formula = parse(schema.derived[factor.name])
        given = {name: numbers(frame[name])[0] for name in formula.names if name in frame.columns}
        if len(given) == len(formula.names):
            return np.asarray(formula.evaluate(given), float)
    if factor.distinct == 1:
        notes.append(Note(f"'{factor.name}' is taken as {_only(factor)}, its one measured value", "filled"))
        filled = factor.lower if factor.numeric else factor.levels[0]
        return np.full(len(frame), filled, dtype=float if factor.numeric else object)
    raise TableError(
        f"factor '{factor.name}' is missing",
        where=source.name if source.name != "DataFrame" else None,
        hint=f"--at {factor.name}=VALUE, or a column of that name "
        + (f"(measured from {factor.lower:g} to {factor.upper:g})" if factor.numeric else f"({_shown(factor)})"),
    )


def _only(factor: Factor) -> str:
    return f"{factor.lower:g}" if factor.numeric else f"'{factor.levels[0]}'"


def _shown(factor: Factor) -> str:
    return "one of " + ", ".join(factor.levels[:8]) + (", …" if len(factor.levels) > 8 else "")


def _checked(factor: Factor, source: Source, cells: pd.Series) -> npt.NDArray[Any]:
    if not factor.numeric:
        texts = labels(cells)
        unknown = np.flatnonzero(~np.isin(texts.astype(str), factor.levels))
        if unknown.size:
            value = str(texts[unknown[0]])
            raise TableError(
                source.rejection(int(unknown[0]), factor.name, value, "is a level that was never measured").complaint,
                hint=suggest(value, factor.levels) or _shown(factor),
            )
        return texts
    values, reasons = numbers(cells)
    if reasons:
        row, reason = min(reasons.items())
        raise TableError(source.rejection(row, factor.name, cells.iloc[row], reason).complaint)
    if factor.positive and np.any(values <= 0):
        row = int(np.argmax(values <= 0))
        raise TableError(source.rejection(row, factor.name, cells.iloc[row], "is not above zero").complaint)
    return values
