"""The contents of the page for one model, as plain data."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from genperf.arrays import Index
from genperf.attribution import Scaling
from genperf.attribution.answers import doublings_for_people
from genperf.attribution.elasticity import doublings_by_level
from genperf.attribution.equation import equation, written_lines
from genperf.attribution.ladder import Ladder
from genperf.attribution.terms import by_label, term_contributions
from genperf.errors import GenperfError, TableError
from genperf.formula import Name, Node, call, render
from genperf.panel import Panel
from genperf.panel.quantities import ONE, QUANTITIES, REPORTED_BESIDE, paid_for, quantities_of
from genperf.prediction import read_query
from genperf.prediction.predict import central_and_band, known_rows
from genperf.reporting.answers import answers, glance, ladder, summary
from genperf.reporting.engine import PageFormula, PageModel, engine, fitting, formula, judging
from genperf.reporting.place import (
    DRAWN_MULTIPLE,
    DRAWN_STEPS,
    EVALUATED_MULTIPLE,
    MAX_MEASURED,
    MAX_PAGE_CONSTANTS,
    MAX_VALUES,
    PageJob,
    Place,
    short,
    shorts,
    slider,
    thinned,
)
from genperf.result import FitResult
from genperf.search.problem import Goal, capacity_constraints
from genperf.search.space import split_columns
from genperf.table.cells import frame_of
from genperf.vocabulary.names import column_of
from genperf.words.growth import price_text
from genperf.words.numbers import rate_unit, samples_called
from genperf.words.quantity import constant_unit, heading


def sheet(place: Place, live: bool, group: Mapping[str, str], job: PageJob) -> dict[str, Any]:
    """Return the contents of the page for one model; where it is not live, with predictions at the slider's counts."""
    result, interval, model = place.result, place.question.interval, PageModel(place.result)
    names, target = [*model.places], result.schema.target
    symbol = "T" if target.is_time else target.name
    return {
        **_predicting(result, place, live),
        "model": result.model,
        "formula": "\n".join(written_lines(result)) or f"{symbol} = {result.best.expression.text(result.best.values)}",
        "latex": equation(result) if result.is_formula else None,
        "answers": [msgspec.structs.asdict(a) for a in answers(place)],
        "summary": summary(place),
        "glance": glance(place),
        "ladder": ladder(place),
        "at": [place.values[n] for n in names],
        "along": None if place.along is None else names.index(place.along.name),
        "counted": None if place.counted is None else names.index(place.counted.name),
        "path": None if place.scaling is None else _path(place.scaling.steps, names),
        "efficiency": _efficiency(place.scaling),
        "constants": _constants(result, interval),
        "doublings": _doublings(result, interval),
        "members": [[entry.label, round(entry.weight, 4)] for entry in by_label(result.members)],
        "facts": _facts(result),
        "notes": [str(n) for n in result.notes],
        "measures": _measures(model, group, job),
        "feasibility": fitting(model),
        "further": [
            {"name": name, "unit": further_result.schema.target.unit, **_predicting(further_result, place, live)}
            for name, further_result in result.further.items()
        ],
        "splits": _splits(model),
    }


def quantity_of(result: FitResult) -> dict[str, Any]:
    """Return what the page needs of the predicted quantity: of a measured throughput, that it comes first."""
    schema = result.schema
    target = schema.target
    return {
        "name": target.name,
        "unit": target.unit,
        "heading": heading(target),
        "isTime": target.is_time,
        "ofSteps": schema.of_steps,
        "rate": _rate_unit(result),
        "column": target.throughput or target.column,
        "first": "throughput" if target.work else "value",
        "beside": {name: [QUANTITIES[name].label, QUANTITIES[name].unit] for name in REPORTED_BESIDE},
    }


def _rate_unit(result: FitResult) -> str:
    """Return the unit of the throughput: `images/s` of `images_per_s`, else samples, or the steps of one worker."""
    schema = result.schema
    if schema.target.throughput:
        return rate_unit(samples_called(schema.target.throughput))
    of_group = {column_of(name, schema.group) for name in ("batch", "global_batch")}
    counts_samples = result.panel.step.known == "columns" or of_group != {None}
    return "samples/s" if counts_samples else "worker steps/s"


def _finite(value: float | None) -> float | None:
    """Round to four digits; None where there is no number."""
    return None if value is None or not np.isfinite(value) else short(value, 4)


def _predicting(result: FitResult, place: Place, live: bool) -> dict[str, Any]:
    """Return what the page needs to predict a quantity, live or at the slider's counts, and what was measured."""
    model, interval, medians = PageModel(result), place.question.interval, result.schema.medians
    is_measured = result is place.result or bool(known_rows(result, place.query.columns, 1).all())
    factors = []
    for index, factor in enumerate(result.schema.factors):
        measured = sorted({float(m.values[index]) for m in medians})[:MAX_VALUES] if factor.numeric else []
        factors.append({**msgspec.structs.asdict(factor), "numeric": factor.numeric, "measured": measured})
    return {
        "factors": factors,
        "measured": [[*m.values, *shorts([m.value, m.lowest, m.highest]), m.repeats] for m in medians[:MAX_MEASURED]],
        "engine": engine(model, interval) if live else None,
        "stops": _stops(result, place, interval) if is_measured and not live else None,
        "judging": judging(model),
    }


def _path(path: Ladder, names: list[str]) -> dict[str, Any]:
    """Return the counts at which the slider stops, and the factors that follow them."""
    rows = slider(path.counts)
    return {
        "counts": path.counts[rows].tolist(),
        "follow": {
            str(names.index(n)): values[rows].tolist()
            for n, values in path.columns.items()
            if n != path.along.name and n in names and len({*values.tolist()}) > 1
        },
        "work": None if path.work is None else shorts(path.work[rows], 9),
        "drawn": _drawn(path).tolist(),
    }


def _drawn(path: Ladder) -> Index:
    """Return which stops of the slider are in the figures."""
    counts = path.counts[slider(path.counts)]
    drawn = thinned(counts, DRAWN_STEPS, np.array([path.along.upper]))
    return np.asarray(drawn[counts[drawn] <= path.along.upper * DRAWN_MULTIPLE * 1.0001])


def _efficiency(scaling: Scaling | None) -> dict[str, Any] | None:
    """Return the curve of the efficiency; None where there is none."""
    if scaling is None or scaling.refusal:
        return None
    counts = scaling.curve[scaling.along].to_numpy(float)
    largest = scaling.upto * DRAWN_MULTIPLE / EVALUATED_MULTIPLE
    rows = [i for i in thinned(counts, DRAWN_STEPS, np.empty(0)) if counts[i] <= largest * 1.0001]
    rows_of_curve = scaling.curve.iloc[rows]
    points = scaling.points[scaling.points["what"] == "efficiency"]
    return {
        "counts": rows_of_curve[scaling.along].tolist(),
        "middle": shorts(rows_of_curve["efficiency"], 4),
        "lower": shorts(rows_of_curve["efficiency_lower"], 4),
        "upper": shorts(rows_of_curve["efficiency_upper"], 4),
        "knees": [[short(c), level] for c, level in points[["count", "level"]].dropna().to_numpy().tolist()],
        "reference": scaling.reference,
    }


def _stops(result: FitResult, place: Place, interval: float) -> dict[str, Any]:
    """Return the predictions at the counts of the slider with the terms of those drawn, or at the one place."""
    columns, drawn, forecast = place.query.columns, np.arange(1), None
    if place.scaling is not None:
        steps, rows = place.scaling.steps, slider(place.scaling.steps.counts)
        columns, drawn = {name: values[rows] for name, values in steps.columns.items()}, _drawn(steps)
        forecast = place.forecast.at(rows) if result is place.result and place.forecast is not None else None
    if result is not place.result:
        columns = read_query(frame_of(columns), result.schema).columns
    # Verdicts are about the 90 % interval, whatever is shown.
    value, lower, upper, log_width = central_and_band(result, columns, interval, forecast=forecast)
    columns_drawn = {name: values[drawn] for name, values in columns.items()}
    term_parts = term_contributions(
        result, columns_drawn, None if forecast is None else forecast.at(drawn), drawn=False
    )
    return {
        "value": shorts(value, 12),
        "lower": shorts(np.minimum(lower, value), 7),
        "upper": shorts(np.maximum(upper, value), 7),
        "logWidth": shorts(log_width, 7),
        "terms": {n: shorts(row, 4) for n, row in zip(term_parts.names, term_parts.amounts, strict=True) if row.any()},
    }


def _constants(result: FitResult, interval: float) -> list[list[Any]]:
    """Return a row per constant: member, constant, value, lower, upper, unit, state."""
    target = result.schema.target
    heaviest = {entry.places[0] for entry in by_label(result.members)}
    places = [k for k, member in enumerate(result.members) for _ in member.expression.constants]
    rows = zip(places, result.constants(interval).to_numpy().tolist(), strict=True)
    return [
        [member, name, *shorts(ends, 5), constant_unit(unit, target), state]
        for place, (member, name, *ends, unit, state) in rows
        if place in heaviest
    ][:MAX_PAGE_CONSTANTS]


def _doublings(result: FitResult, interval: float) -> dict[str, Any] | None:
    """Return by what doubling each factor multiplies the value at each level; None where no categorical one varies."""
    by_level = doublings_by_level(result, interval=interval)
    if by_level.empty:
        return None
    printed = doublings_for_people(by_level).fillna("–")
    return {"head": list(printed.columns), "rows": printed.to_numpy().tolist()}


#: Options of a fit that the page shows as the command and the held-out error.
SHOWN_APART = ("request", "held_out_error")


def _facts(result: FitResult) -> dict[str, Any]:
    schema, error = result.schema, result.held_out_error
    return {
        **{name: getattr(schema, name) for name in ("rows", "configurations", "rejected", "sha256")},
        "column": schema.target.column,
        "noise": _finite(schema.noise),
        "smallest": short(schema.lowest),
        "largest": short(schema.highest),
        "error": _finite(result.metrics.get("mape")),
        "options": {k: v for k, v in result.options.items() if v is not None and k not in SHOWN_APART},
        "heldOut": "not known" if error is None else f"{error:.1f} % ({result.held_out_of})",
        "seed": result.seed,
    }


#: What the page's formulas read beside the factors → the number that the script passes for it.
GIVEN = {"value": "c[0]", "price": "c[1]", "samples": "c[2]"}


def _measures(model: PageModel, group: Mapping[str, str], job: PageJob) -> dict[str, Any]:
    """Return what the page needs for each quantity, as formulas; None where it is unknown."""
    panel = model.result.panel.within(group)
    paid, known_work = _paid(panel, job), panel.step
    work = None if known_work.known == "assumed" else known_work.proportional
    formulas: dict[str, Node | None] = {name: Name(name) for name in ("value", "price")}
    if work is not None:
        formulas["steps"] = call("divide", Name("samples"), work)
    quantities = quantities_of(panel, {**formulas, "machines": paid})

    def written(name: str, needs: Node | None = work) -> PageFormula | None:
        """Return a formula where it is known."""
        if needs is None or not quantities.has(name):
            return None
        return formula(quantities.node(name), model.factors, GIVEN)

    of_samples = _rate_unit(model.result) == "samples/s"
    name = "" if paid is None else render(paid).replace("`", "")
    return {
        "throughput": written("throughput"),
        "tokens": written("tokens_per_s") if of_samples else None,
        "cost": written("cost"),
        "duration": written("total"),
        "beside": {name: written(name, ONE) for name in REPORTED_BESIDE},
        "paid": written("machines", ONE),
        "paidName": name,
        "paidUnit": price_text("1/h", name).removeprefix("1"),
    }


def _paid(panel: Panel, job: PageJob) -> Node | None:
    """Return what counts that which is paid for, a formula over the factors; None where nothing does."""
    try:
        return paid_for(panel, job.per)[1] if panel.target is not None and panel.target.is_time else None
    except TableError:
        if job.price is not None or job.per is not None:
            raise
        return None


def _splits(model: PageModel) -> dict[str, Any] | None:
    """Return what the page needs to propose other splits of the same devices; None for a model without ways."""
    columns = split_columns(model.result)
    if columns is None or len(columns.varied) < 2:
        return None
    ways, more = columns.ways, {"workers": columns.workers, "nodes": columns.nodes}
    single = {"tensor": ways.get("tensor_parallel"), "data": ways.get("data_parallel"), **more}
    return {
        "ways": [model.places[way.name] for way in ways.values()],
        "varied": [model.places[way.name] for way in columns.varied],
        **{name: None if column is None else model.places[column.name] for name, column in single.items()},
        "inside": columns.inside,
        "conditions": [model.formula(text) for text in columns.conditions],
    }


def capacity_of(result: FitResult, capacity: Mapping[str, float]) -> dict[str, float | None]:
    """Return the capacity of each quantity that may have one: None where the user gave none."""
    Goal(capacity=capacity).check()
    capacity_constraints(capacity, result.schema, result.further)
    target = result.schema.target
    bounded = [name for name in (target.name, *result.further) if name != target.name or not target.is_time]
    if unbounded := [name for name in capacity if name not in bounded]:
        raise GenperfError(
            f"a page compares no {unbounded[0]} with a capacity", hint="--capacity memory=80, of a further quantity"
        )
    return {name: float(capacity[name]) if name in capacity else None for name in bounded}
