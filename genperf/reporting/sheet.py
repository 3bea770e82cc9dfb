"""The contents of the page for one model, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.ask import Question
from genperf.attribution import Scaling, scaling
from genperf.attribution.doublings import doublings_by_level, doublings_for_people
from genperf.attribution.ladder import Ladder, ladder
from genperf.attribution.members import by_label
from genperf.attribution.terms import amounts_of
from genperf.errors import GenperfError
from genperf.panel.medians import Median
from genperf.panel.typical import most_measured
from genperf.prediction import read_query
from genperf.prediction.predict import central_and_band
from genperf.prediction.query import checked_values
from genperf.reporting.answers import Summary, answers, growth_to, normal_answer, summary, unanswered
from genperf.reporting.measures import rate_unit
from genperf.result import FitResult
from genperf.table import Factor
from genperf.words.quantity import constant_unit, heading

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SheetSettings:
    """How far and how finely the page looks."""

    #: The answers are about this many times the largest measured count: one doubling, the nearest question there is.
    answered: float = 2.0
    #: The figures end at this many times the largest measured count: three doublings, one more than a verdict trusts.
    drawn: float = 8.0
    #: Efficiency and knee are looked for up to this many times the largest measured count, as `explain` does.
    evaluated: float = 16.0
    #: `drawn_steps`, `slider_steps`: counts per doubling in the figures, and on the slider. Guesses: a curve through 3
    #: looks smooth, and 8 leave stops 9 % apart.
    drawn_steps: int = 3
    slider_steps: int = 8
    #: The slider stops at every whole count up to this one.
    whole_stops: int = 16
    #: Measured configurations of one group in the page: 300 points take 10 kB.
    max_measured: int = 300
    #: Measured values of a factor at which its slider stops.
    max_values: int = 40
    #: Constants in the table.
    max_constants: int = 60


SHEET = SheetSettings()


@dataclass(frozen=True, eq=False)
class Place:
    """Where a model is evaluated: along which factor, and at which values of the others."""

    #: The factor that counts the workers.
    along: Factor | None
    #: Why there is none; empty where there is.
    why_not: str
    #: The configuration that the answers are about, by factor.
    values: dict[str, Any]
    #: The configurations along that factor.
    path: Ladder | None
    #: The predictions along it.
    scaling: Scaling | None
    #: One row: `values`.
    target: pd.DataFrame
    #: Whether the user gave the count of workers.
    target_given: bool = False


def place_of(result: FitResult, target: Mapping[str, Any] | None, along: str | None, interval: float) -> Place:
    """Choose a configuration: where most was measured, at twice the largest measured count unless a target is given."""
    given = checked_values(target or {}, result.schema)
    try:
        factor = ladder(result, _completed(result, given), along).along
    except GenperfError as error:
        if along is not None:
            raise
        return _without_scale(result, given, error.message)
    given = _counted(result, factor, given)
    at = _completed(result, {**most_measured(result.panel, factor.name), **given})
    upto = max(factor.upper * SHEET.evaluated, float(given.get(factor.name, 0.0)))
    if factor.name not in given:
        del at[factor.name]
    curve = scaling(result, at, along=factor.name, upto=upto, interval=interval)
    path = curve.steps
    count = float(given.get(factor.name, SHEET.answered * factor.upper))
    row = int(np.argmin(np.abs(np.log(path.counts / count))))
    values = {name: column[row] for name, column in path.columns.items()}
    frame = pd.DataFrame({k: [v] for k, v in values.items()})
    return Place(factor, "", values, path, curve, frame, factor.name in given)


def _counted(result: FitResult, along: Factor, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target with its count of workers, which a given count of nodes determines too."""
    nodes = result.panel.nodes
    if nodes is None or nodes == along or nodes.name not in given or nodes.distinct == 1:
        return dict(given)
    return {**given, along.name: float(given.get(along.name, float(given[nodes.name]) * along.upper / nodes.upper))}


def _completed(result: FitResult, at: Mapping[str, Any]) -> dict[str, Any]:
    filled = result.completed(at or None)
    if len(filled) != 1:
        raise GenperfError(f"a report is about one target, not {len(filled)}", hint="one value for each factor")
    return {str(name): value for name, value in filled.iloc[0].items()}


def _without_scale(result: FitResult, given: dict[str, Any], why: str) -> Place:
    """Return a place on no scale."""
    at = {k: v[0] for k, v in read_query(_completed(result, given), result.schema).columns.items()}
    return Place(None, why, at, None, None, pd.DataFrame({k: [v] for k, v in at.items()}))


def sheet(
    result: FitResult, place: Place, question: Question, judging: dict[str, Any], engine: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the contents of the page for one model."""
    interval = question.interval
    grown = growth_to(result, place.scaling, place.target, question)
    schema, predicted = result.schema, summary(result, place.scaling, place.target, interval, grown)
    if place.scaling is None:
        given = unanswered(place.why_not, result, place.target, interval)
    else:
        given = answers(
            result, place.scaling, place.target, question, predicted.verdict, grown, target_given=place.target_given
        )
        given += normal_answer(result, place.target)
    names = [f.name for f in schema.factors]
    return {
        "model": result.model,
        "formula": result.best.expression.text(result.best.values),
        "answers": [{**vars(a), "sentences": list(a.sentences), "marks": list(a.marks)} for a in given],
        "summary": _summary(predicted),
        "factors": [factor_of(f, schema.medians, i) for i, f in enumerate(schema.factors)],
        "at": [plain(place.values[n]) for n in names],
        "along": None if place.along is None else names.index(place.along.name),
        "path": None if place.path is None else _path(place, names),
        "drawn": None if place.along is None else place.along.upper * SHEET.drawn,
        "efficiency": _efficiency(place.scaling),
        "measured": [
            [*m.values, short(m.value), short(m.lowest), short(m.highest), m.repeats]
            for m in schema.medians[: SHEET.max_measured]
        ],
        "engine": engine,
        "stops": None if engine is not None else stops(result, place, interval),
        "judging": judging,
        "constants": _constants(result, interval),
        "doublings": _doublings(result, interval),
        "members": [[entry.label, round(entry.weight, 4)] for entry in by_label(result.members)],
        "facts": _facts(result),
        "evidence": [_evidence(result, k) for k in range(len(result.evidence))],
        "notes": [str(n) for n in result.notes],
    }


def _summary(prediction: Summary) -> dict[str, Any]:
    """Return the prediction at the configuration of the answers, as the page reads it."""
    return {
        **{end: short(getattr(prediction, end), 7) for end in ("value", "lower", "upper")},
        "efficiency": None if prediction.efficiency is None else short(prediction.efficiency, 3),
        "verdict": prediction.verdict,
        "sentence": prediction.sentence,
    }


def quantity_of(result: FitResult) -> dict[str, Any]:
    """Return what the page must know of the predicted quantity: of a measured throughput, that it is told first."""
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


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    return value.item() if hasattr(value, "item") else value


def short(value: float, digits: int = 6) -> float:
    """Round to some significant digits: what is only drawn needs no more."""
    return float(f"{value:.{digits}g}")


def _finite(value: float | None, digits: int) -> float | None:
    """Round to some significant digits; None where there is no number."""
    return None if value is None or not np.isfinite(value) else short(value, digits)


def factor_of(factor: Factor, medians: Sequence[Median], index: int) -> dict[str, Any]:
    """Return what the page must know of a factor."""
    measured = sorted({float(m.values[index]) for m in medians}) if factor.numeric else []
    return {
        "name": factor.name,
        "role": factor.role,
        "numeric": factor.numeric,
        "lower": factor.lower,
        "upper": factor.upper,
        "distinct": factor.distinct,
        "integer": factor.integer,
        "positive": factor.positive,
        "levels": list(factor.levels),
        "measured": measured[: SHEET.max_values],
    }


def _thinned(counts: Array, steps: int, keep: Array) -> npt.NDArray[np.int64]:
    """Return the places of about so many counts per doubling, with both ends and those to keep."""
    octaves = np.log2(counts / counts[0])
    wanted = np.arange(0.0, octaves[-1] + 1e-9, 1.0 / steps)
    near = np.abs(octaves[:, None] - wanted).argmin(axis=0)
    kept = [int(np.argmin(np.abs(counts - k))) for k in keep if counts[0] <= k <= counts[-1]]
    return np.unique([*near, *kept, len(counts) - 1]).astype(int)


def _slider(counts: Array) -> npt.NDArray[np.int64]:
    """Return the places of the counts at which the slider stops."""
    return _thinned(counts, SHEET.slider_steps, np.arange(1.0, SHEET.whole_stops + 1.0))


def _path(place: Place, names: list[str]) -> dict[str, Any]:
    """Return the counts at which the slider stops, and the factors that follow them."""
    path = place.path
    if path is None or place.along is None:
        raise TypeError("no path")
    rows = _slider(path.counts)
    counts = path.counts[rows]
    follow = {
        names.index(n): [plain(v) for v in values[rows]]
        for n, values in path.columns.items()
        if n != place.along.name and n in names and len({plain(v) for v in values}) > 1
    }
    drawn = _thinned(counts, SHEET.drawn_steps, np.array([place.along.upper]))
    return {
        "counts": [float(c) for c in counts],
        "follow": {str(k): v for k, v in follow.items()},
        "work": None if path.work is None else [short(float(w), 9) for w in path.work[rows]],
        "drawn": [int(i) for i in drawn if counts[i] <= place.along.upper * SHEET.drawn * 1.0001],
        "kind": path.kind,
    }


def _efficiency(scaling: Scaling | None) -> dict[str, Any] | None:
    """Return the curve of the efficiency; None where there is none."""
    if scaling is None or scaling.refusal:
        return None
    counts = scaling.curve[scaling.along].to_numpy(float)
    largest = scaling.upto * SHEET.drawn / SHEET.evaluated
    rows = [i for i in _thinned(counts, SHEET.drawn_steps, np.array([])) if counts[i] <= largest * 1.0001]
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
    """Return the predictions at the counts of the slider, or at the one place where there is none."""
    if place.path is None or place.along is None:
        query = read_query(place.target, result.schema)
    else:
        rows = _slider(place.path.counts)
        frame = pd.DataFrame({name: values[rows] for name, values in place.path.columns.items()})
        query = read_query(frame, result.schema)
    # Verdicts are about the 90 % interval, whatever is shown.
    value, lower, upper, log_width = central_and_band(result, query, interval)
    names, amounts = amounts_of(result, query.columns, value)
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
