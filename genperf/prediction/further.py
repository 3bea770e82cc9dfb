"""Further quantities of a fitted model: what their models predict, where they know the levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.prediction.predict import Band, Fitted, central_times, predict
from genperf.prediction.schema import Schema
from genperf.table.clean import labels
from genperf.table.source import Source

Array = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
#: Behind the name of a further quantity: its value and the ends of its interval.
ENDS = {"": None, "_lower": "lower", "_upper": "upper"}


def further_names(model: Fitted) -> list[str]:
    """Return the columns that a prediction has of further quantities."""
    return [f"{name}{end}" for name in model.further for end in ENDS]


def further_columns(model: Fitted, source: Source, interval: float, band: Band) -> dict[str, Array]:
    """Predict further quantities: of each its value, `NAME_lower` and `NAME_upper`; NaN where a level is unknown.

    A level that is new to the model itself is answered of further quantities too: the verdict of the row says so.

    Parameters
    ----------
    band : {"prediction", "confidence"}
    """
    columns: dict[str, Array] = {}
    for name, one in model.further.items():
        known = known_rows(one, source.columns, len(source.lines), new_levels=model.schema)
        parts = predict(one, source.take(np.flatnonzero(known)), interval, band) if known.any() else {}
        for end, column in ENDS.items():
            values = np.full(len(known), np.nan)
            if known.any():
                values[known] = parts[column or one.schema.target.name]
            columns[f"{name}{end}"] = values
    return columns


def central_values(model: Fitted, columns: Mapping[str, Any], rows: int) -> dict[str, Array]:
    """Return the central predictions of further quantities by name; NaN where a level is unknown.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        All factors.
    """
    out: dict[str, Array] = {}
    for name, one in model.further.items():
        known = known_rows(one, columns, rows)
        out[name] = np.full(rows, np.nan)
        if known.any():
            out[name][known] = central_times(one.members, {n: v[known] for n, v in columns.items()})
    return out


def known_rows(model: Fitted, columns: Mapping[str, Any], rows: int, new_levels: Schema | None = None) -> Truth:
    """Return the rows whose levels were all measured, or have measured ones that stand for them, shape (rows,).

    Parameters
    ----------
    new_levels : Schema, optional
        Of a model whose new levels are let through too, where this one can answer them.
    """
    known = np.ones(rows, dtype=bool)
    elsewhere = {} if new_levels is None else {f.name: f.levels for f in new_levels.factors}
    for factor in model.schema.factors:
        if not factor.numeric and factor.name in columns:
            levels = labels(columns[factor.name]).astype(str)
            measured = np.isin(levels, [*factor.levels, *model.schema.standing.get(factor.name, ())])
            if factor.name in elsewhere and len(factor.levels) > 1:
                measured |= ~np.isin(levels, elsewhere[factor.name])
            known &= measured
    return known
