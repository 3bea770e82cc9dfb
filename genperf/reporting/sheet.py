"""The contents of the page for one model, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from genperf.arrays import Index
from genperf.attribution import Scaling
from genperf.attribution.elasticity import doublings_by_level, doublings_for_people
from genperf.attribution.ladder import Ladder
from genperf.attribution.terms import amounts_of, by_label
from genperf.panel.panel import Median
from genperf.panel.work import work_of_columns
from genperf.prediction import read_query
from genperf.prediction.predict import central_and_band
from genperf.reporting.answers import answers, growth_to, summary
from genperf.reporting.engine import Model, engine, judging
from genperf.reporting.place import PLACE, Place, short, slider, thinned
from genperf.result import FitResult
from genperf.table import Factor
from genperf.vocabulary.names import column_of
from genperf.words.numbers import samples_called
from genperf.words.quantity import constant_unit, heading


@dataclass(frozen=True)
class SheetSettings:
    """How much of a model the page holds."""

    #: Measured configurations of one group in the page: 300 points take 10 kB.
    max_measured: int = 300
    #: Measured values of a factor at which its slider stops.
    max_values: int = 40
    #: Constants in the table.
    max_constants: int = 60


SHEET = SheetSettings()


def sheet(place: Place, model: Model, live: bool) -> dict[str, Any]:
    """Return the contents of the page for one model; where it is not live, with predictions at the slider's counts."""
    result, interval, grown = place.result, place.question.interval, growth_to(place)
    schema, predicted = result.schema, summary(place, grown)
    names = [f.name for f in schema.factors]
    return {
        "model": result.model,
        "formula": result.best.expression.text(result.best.values),
        "answers": [vars(a) for a in answers(place, predicted["verdict"], grown)],
        "summary": predicted,
        "factors": [factor_of(f, schema.medians, i) for i, f in enumerate(schema.factors)],
        "at": [plain(place.values[n]) for n in names],
        "along": None if place.along is None else names.index(place.along.name),
        "path": None if place.scaling is None else _path(place.scaling.steps, names),
        "drawn": None if place.along is None else place.along.upper * PLACE.drawn,
        "efficiency": _efficiency(place.scaling),
        "measured": [
            [*m.values, short(m.value), short(m.lowest), short(m.highest), m.repeats]
            for m in schema.medians[: SHEET.max_measured]
        ],
        "engine": engine(model, interval) if live else None,
        "stops": None if live else stops(result, place, interval),
        "judging": judging(model),
        "constants": _constants(result, interval),
        "doublings": _doublings(result, interval),
        "members": [[entry.label, round(entry.weight, 4)] for entry in by_label(result.members)],
        "facts": _facts(result),
        "evidence": [_evidence(result, k) for k in range(len(result.evidence))],
        "notes": [str(n) for n in result.notes],
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
        "rate": rate_unit(result),
        "column": target.throughput or target.column,
        "first": "throughput" if target.work else "value",
    }


def rate_unit(result: FitResult) -> str:
    """Return the unit of the throughput: `images/s` of a column `images_per_s`, else samples.

    Where only the number of workers determines the work, it is the steps of one worker.
    """
    schema = result.schema
    if schema.target.throughput:
        return f"{samples_called(schema.target.throughput)}/s"
    of_group = {column_of(name, schema.group) for name in ("batch", "global_batch")}
    known = work_of_columns(result.panel) is not None or of_group != {None}
    return "samples/s" if known else "worker steps/s"


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    return value.item() if hasattr(value, "item") else value


def _finite(value: float | None, digits: int) -> float | None:
    """Round to some significant digits; None where there is no number."""
    return None if value is None or not np.isfinite(value) else short(value, digits)


def factor_of(factor: Factor, medians: Sequence[Median], index: int) -> dict[str, Any]:
    """Return what the page needs of a factor."""
    measured = sorted({float(m.values[index]) for m in medians}) if factor.numeric else []
    return {**msgspec.structs.asdict(factor), "numeric": factor.numeric, "measured": measured[: SHEET.max_values]}


def _path(path: Ladder, names: list[str]) -> dict[str, Any]:
    """Return the counts at which the slider stops, and the factors that follow them."""
    rows = slider(path.counts)
    follow = {
        names.index(n): [plain(v) for v in values[rows]]
        for n, values in path.columns.items()
        if n != path.along.name and n in names and len({plain(v) for v in values}) > 1
    }
    return {
        "counts": path.counts[rows].tolist(),
        "follow": {str(k): v for k, v in follow.items()},
        "work": None if path.work is None else [short(float(w), 9) for w in path.work[rows]],
        "drawn": _drawn(path).tolist(),
        "kind": path.kind,
    }


def _drawn(path: Ladder) -> Index:
    """Return which stops of the slider are in the figures."""
    counts = path.counts[slider(path.counts)]
    drawn = thinned(counts, PLACE.drawn_steps, np.array([path.along.upper]))
    return np.asarray(drawn[counts[drawn] <= path.along.upper * PLACE.drawn * 1.0001])


def _efficiency(scaling: Scaling | None) -> dict[str, Any] | None:
    """Return the curve of the efficiency; None where there is none."""
    if scaling is None or scaling.refusal:
        return None
    counts = scaling.curve[scaling.along].to_numpy(float)
    largest = scaling.upto * PLACE.drawn / PLACE.evaluated
    rows = [i for i in thinned(counts, PLACE.drawn_steps, np.empty(0)) if counts[i] <= largest * 1.0001]
    part = scaling.curve.iloc[rows]
    points = scaling.points[scaling.points["what"] == "efficiency"]
    return {
        "counts": part[scaling.along].tolist(),
        **{
            end: [short(v, 4) for v in part[name]]
            for end, name in (("middle", "efficiency"), ("lower", "efficiency_lower"), ("upper", "efficiency_upper"))
        },
        "knees": [[short(float(c)), float(v)] for c, v in zip(points["count"], points["level"], strict=True) if c == c],
        "reference": scaling.reference,
    }


def stops(result: FitResult, place: Place, interval: float) -> dict[str, Any]:
    """Return the predictions at the counts of the slider with the terms of those drawn, or at the one place."""
    columns = read_query(place.frame, result.schema).columns
    drawn, forecast = np.arange(1), None
    if place.scaling is not None:
        steps, rows = place.scaling.steps, slider(place.scaling.steps.counts)
        along = pd.DataFrame({name: values[rows] for name, values in steps.columns.items()})
        columns, drawn = read_query(along, result.schema).columns, _drawn(steps)
        if result is place.result:
            known = place.scaling.curve[result.schema.target.name].to_numpy(float)[rows]
            forecast = replace(place.scaling.forecast.at(rows), centre=np.log(known))
    # Verdicts are about the 90 % interval, whatever is shown.
    value, lower, upper, log_width = central_and_band(result, columns, interval, forecast=forecast)
    names, amounts = amounts_of(result, {name: values[drawn] for name, values in columns.items()}, value[drawn])
    return {
        "value": [float(f"{v:.12g}") for v in value],
        "lower": [short(v, 7) for v in np.minimum(lower, value)],
        "upper": [short(v, 7) for v in np.maximum(upper, value)],
        "logWidth": [short(v, 7) for v in log_width],
        "terms": {
            name: [short(v, 4) for v in part]
            for name, part in zip(names, amounts, strict=True)
            if np.any(np.abs(part) > 0)
        },
    }


def _constants(result: FitResult, interval: float) -> list[list[Any]]:
    """Return a row per constant: member, constant, value, lower, upper, unit, state."""
    target = result.schema.target
    heaviest = {entry.places[0] for entry in by_label(result.members)}
    places = [k for k, member in enumerate(result.members) for _ in member.expression.constants]
    rows = zip(places, result.constants(interval).to_numpy().tolist(), strict=True)
    return [
        [member, name, *(short(float(v), 5) for v in ends), constant_unit(unit, target), state]
        for place, (member, name, *ends, unit, state) in rows
        if place in heaviest
    ][: SHEET.max_constants]


def _doublings(result: FitResult, interval: float) -> dict[str, Any] | None:
    """Return by what doubling each factor multiplies the value at each level; None where no categorical one varies."""
    by_level = doublings_by_level(result, interval=interval)
    if by_level.empty:
        return None
    shown = doublings_for_people(by_level).fillna("–")
    return {"head": list(shown.columns), "rows": shown.to_numpy().tolist()}


def _facts(result: FitResult) -> dict[str, Any]:
    schema = result.schema
    return {
        "source": schema.source,
        "column": schema.target.column,
        "rows": schema.rows,
        "configurations": schema.configurations,
        "rejected": schema.rejected,
        "noise": _finite(schema.noise, 4),
        "smallest": short(schema.lowest),
        "largest": short(schema.highest),
        "sha256": schema.sha256,
        "metrics": {k: _finite(v, 4) for k, v in result.metrics.items()},
        "options": {k: v for k, v in result.options.items() if v is not None and k != "request"},
        "seed": result.seed,
    }


def _evidence(result: FitResult, k: int) -> list[Any]:
    """Return how the largest scale was predicted from the smaller ones, errors in %."""
    evidence = result.evidence[k]
    last = None if evidence.last_point is None else 100.0 * float(np.expm1(evidence.last_point))
    error = short(100.0 * float(np.expm1(evidence.error)), 4)
    return [evidence.factor, evidence.held_out, error, _finite(last, 4)]
