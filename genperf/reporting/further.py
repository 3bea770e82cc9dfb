"""What a page shows beside its main quantity: further quantities, the capacities they must keep, other splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.advice.goal import Goal, capacity_constraints
from genperf.advice.layouts import split_columns
from genperf.errors import GenperfError
from genperf.panel.medians import Median
from genperf.prediction.predict import known_rows
from genperf.reporting.engine import Formulas, Model, engine, judging
from genperf.reporting.sheet import Place, factor_of, short, stops
from genperf.result import FitResult


def further_of(
    result: FitResult, formulas: Formulas, place: Place, interval: float, *, live: bool
) -> list[dict[str, Any]]:
    """Return what the page needs to predict the further quantities of a model."""
    shown = []
    for name, one in result.further.items():
        columns = {factor: np.array([value]) for factor, value in place.values.items()}
        known = live or bool(known_rows(one, columns, 1).all())
        shown.append(
            {
                "name": name,
                "unit": one.schema.target.unit,
                "factors": [factor_of(f, one.schema.medians, i) for i, f in enumerate(one.schema.factors)],
                "engine": engine(one, formulas, interval) if live else None,
                "stops": stops(one, place, interval) if known and not live else None,
                "judging": judging(one, formulas),
                "measured": [_measured(median) for median in one.schema.medians],
            }
        )
    return shown


def _measured(median: Median) -> list[Any]:
    return [*median.values, short(median.value), median.repeats]


def splits_of(model: Model) -> dict[str, Any] | None:
    """Return what the page needs to propose other splits of the same devices; None for a model without ways."""
    columns = split_columns(model.result)
    if columns is None or len(columns.varied) < 2:
        return None
    places = {name: index for index, name in enumerate(model.factors)}
    tensor = columns.ways.get("tensor_parallel")
    data = columns.ways.get("data_parallel")
    return {
        "ways": [places[way.name] for way in columns.ways.values()],
        "varied": [places[way.name] for way in columns.varied],
        "tensor": None if tensor is None else places[tensor.name],
        "data": None if data is None else places[data.name],
        "workers": None if columns.workers is None else places[columns.workers.name],
        "nodes": None if columns.nodes is None else places[columns.nodes.name],
        "inside": columns.inside,
        "conditions": [model.formula(text) for text in columns.conditions],
    }


def capacity_of(result: FitResult, capacity: Mapping[str, float]) -> dict[str, float | None]:
    """Return the capacity of each quantity that may have one: None where the user gave none.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"workers": [1, 2, 4], "gb": [9.0, 5.0, 3.0]})
    >>> table = gp.read_table(runs, quantity="gb:GB", extrinsic="workers")
    >>> capacity_of(gp.fit(table, "a + b/workers", draws=5), {"gb": 16})
    {'gb': 16.0}
    """
    Goal(capacity=capacity).check()
    capacity_constraints(capacity, result.schema, result.further)
    target = result.schema.target
    bounded = [name for name in (target.name, *result.further) if name != target.name or not target.is_time]
    if unbounded := [name for name in capacity if name not in bounded]:
        raise GenperfError(
            f"a page compares no {unbounded[0]} with a capacity", hint="--capacity memory=80, of a further quantity"
        )
    return {name: float(capacity[name]) if name in capacity else None for name in bounded}
