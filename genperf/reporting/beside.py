"""What a page shows beside the predicted value: costs, durations, further quantities with capacities, other splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from genperf.advice.layouts import split_columns
from genperf.advice.plan import Plan, plan_of
from genperf.advice.problem import Goal, capacity_constraints
from genperf.attribution.derived import price_of
from genperf.errors import GenperfError, TableError
from genperf.formula import Name, Node, call, parse, render
from genperf.panel import Panel
from genperf.panel.derived import ONE, paid_for, quantities_of
from genperf.panel.panel import Median
from genperf.panel.work import work_of_step
from genperf.prediction.predict import known_rows
from genperf.reporting.engine import Formulas, Model, engine, judging
from genperf.reporting.place import Place, short
from genperf.reporting.sheet import factor_of, rate_unit, stops
from genperf.result import FitResult
from genperf.words.growth import price_text


@dataclass(frozen=True)
class Job:
    """What the page takes as price and as work in all; both can be changed on it."""

    #: Of one worker, or of what `per` counts: `2/h`.
    price: str | None = None
    #: A column, or a formula over the factors.
    per: str | None = None
    #: The work in all, in the unit of the throughput or of the batch: `300B`.
    samples: str | None = None
    #: Of the work in all: done within `5d`, for so much money at most.
    deadline: str | None = None
    budget: str | None = None

    @property
    def plan(self) -> Plan | None:
        """What is to be done, by when and for how much; None where nothing says how much there is."""
        return plan_of(self.samples, self.deadline, self.budget)

    def shown(self) -> dict[str, float | None]:
        """Return the numbers: money for an hour, and the work in all."""
        hourly = None if self.price is None else price_of(self.price).per_second * 3600.0
        return {"price": hourly, "size": None if self.plan is None else self.plan.samples}


#: What the page's formulas read beside the factors → the number that the script passes for it.
GIVEN = {"value": "c[0]", "price": "c[1]", "samples": "c[2]"}


def measures_of(model: Model, group: Mapping[str, str], job: Job) -> dict[str, Any]:
    """Return what the page needs for each quantity, as numbers of formulas; None where it is unknown."""
    panel = model.result.panel
    paid = _paid(panel, job)
    given: dict[str, Node | None] = {name: Name(name) for name in ("value", "price")}
    work = work_of_step(panel, group)
    if work is not None:
        given["steps"] = call("divide", Name("samples"), work)
    known = quantities_of(panel, {**given, "machines": None if paid is None else parse(paid).node}, group)

    def number(name: str, needs: Node | None = work) -> int | None:
        """Take a formula up where it is known."""
        if needs is None or not known.has(name):
            return None
        return model.formulas.add(known.node(name), model.factors, GIVEN)

    of_samples = rate_unit(model.result) == "samples/s"
    name = (paid or "").replace("`", "")
    return {
        "throughput": number("throughput"),
        "tokens": number("tokens_per_s") if of_samples else None,
        "cost": number("cost"),
        "duration": number("total"),
        "paid": number("machines", ONE),
        "paidName": name,
        "paidUnit": price_text("1/h", name).removeprefix("1"),
    }


def _paid(panel: Panel, job: Job) -> str | None:
    """Return what counts that which is paid for, a formula over the factors; None where nothing does."""
    if panel.target is None or not panel.target.is_time:
        return None
    try:
        return render(paid_for(panel, job.per)[1])
    except TableError:
        if job.price is None and job.per is None:
            return None
        raise


def further_of(place: Place, formulas: Formulas, live: bool) -> list[dict[str, Any]]:
    """Return what the page needs to predict the further quantities of a model, live or at the slider's counts."""
    result, interval = place.result, place.question.interval
    shown = []
    for name, one in result.further.items():
        columns = {factor: np.array([value]) for factor, value in place.values.items()}
        model = Model(one, formulas)
        known = live or bool(known_rows(one, columns, 1).all())
        shown.append(
            {
                "name": name,
                "unit": one.schema.target.unit,
                "factors": [factor_of(f, one.schema.medians, i) for i, f in enumerate(one.schema.factors)],
                "engine": engine(model, interval) if live else None,
                "stops": stops(one, place, interval) if known and not live else None,
                "judging": judging(model),
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
