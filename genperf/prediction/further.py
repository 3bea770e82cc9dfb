"""Further quantities of a fitted model: what their models predict, where they know the levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.prediction.predict import Band, Fitted, central_times, predict
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

    Parameters
    ----------
    model : Fitted
    source : Source
    interval : float
    band : {"prediction", "confidence"}
    """
    columns: dict[str, Array] = {}
    for name, one in model.further.items():
        known = known_rows(one, source.columns, len(source.lines))
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
    model : Fitted
    columns : mapping of str to ndarray of shape (rows,)
        All factors.
    rows : int
    """
    out: dict[str, Array] = {}
    for name, one in model.further.items():
        known = known_rows(one, columns, rows)
        out[name] = np.full(rows, np.nan)
        if known.any():
            out[name][known] = central_times(one.members, {n: v[known] for n, v in columns.items()})
    return out


def known_rows(model: Fitted, columns: Mapping[str, Any], rows: int) -> Truth:
    """Return the rows whose levels were all measured, shape (rows,).

    Parameters
    ----------
    model : Fitted
    columns : mapping of str to cells
    rows : int
    """
    known = np.ones(rows, dtype=bool)
    for factor in model.schema.factors:
        if not factor.numeric and factor.name in columns:
            known &= np.isin(labels(columns[factor.name]).astype(str), factor.levels)
    return known
