"""What the page shows of one model, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution import Scaling, completed, scaling
from genperf.attribution.ladder import Ladder, ladder
from genperf.attribution.terms import parts_of
from genperf.errors import GenperfError
from genperf.prediction import band_of, central_times, read_query
from genperf.prediction.measured import most_measured
from genperf.prediction.query import known_names
from genperf.reporting.answers import answers, unanswered
from genperf.result import FitResult
from genperf.table import Factor

Array = npt.NDArray[np.float64]

#: The answers are about this many times the largest measured count, and the figures go so far beyond it.
ASKED, DRAWN, LOOKED = 2.0, 8.0, 16.0
#: Counts to the octave, in the figures and on the slider.
DRAWN_STEPS, SLIDER_STEPS = 3, 8
#: Measured configurations of one group in the page, and constants.
MOST_MEASURED, MOST_CONSTANTS = 300, 60


@dataclass(frozen=True, eq=False)
class Place:
    """Where a model is looked at: along which factor, and at which values of the others."""

    along: Factor | None
    why_not: str
    values: dict[str, Any]
    path: Ladder | None
    scaling: Scaling | None
    target: pd.DataFrame


def place_of(result: FitResult, target: Mapping[str, Any] | None, along: str | None, interval: float) -> Place:
    """Choose where to look: where most was measured, at twice the largest measured count unless told otherwise.

    Raises
    ------
    GenperfError
        Where the target names a factor that is not there.
    """
    asked = known_names(target or {}, result.schema)
    try:
        factor = ladder(result, _completed(result, asked), along).along
    except GenperfError as error:
        if along is not None:
            raise
        return _without_scale(result, asked, error.message)
    at = _completed(result, {**most_measured(result.schema, factor.name), **asked})
    upto = max(factor.upper * LOOKED, float(asked.get(factor.name, 0.0)))
    given = frozenset(asked) - {factor.name}
    path = ladder(result, at, factor.name, upto, given=given)
    found = scaling(result, at, along=factor.name, upto=upto, interval=interval, given=given)
    count = float(asked.get(factor.name, ASKED * factor.upper))
    row = int(np.argmin(np.abs(np.log(path.counts / count))))
    here = {name: values[row] for name, values in path.columns.items()}
    return Place(factor, "", here, path, found, pd.DataFrame({k: [v] for k, v in here.items()}))


def _completed(result: FitResult, at: Mapping[str, Any]) -> dict[str, Any]:
    filled = completed(result, at or None)
    if len(filled) != 1:
        raise GenperfError(f"a report is about one target, not {len(filled)}", hint="one value for each factor")
    return {str(name): value for name, value in filled.iloc[0].items()}


def _without_scale(result: FitResult, asked: dict[str, Any], why: str) -> Place:
    at = {k: v[0] for k, v in read_query(_completed(result, asked), result.schema).columns.items()}
    return Place(None, why, at, None, None, pd.DataFrame({k: [v] for k, v in at.items()}))


def sheet(
    result: FitResult, place: Place, interval: float, judging: dict[str, Any], engine: dict[str, Any] | None
) -> dict[str, Any]:
    """Return everything the page shows of one model.

    Parameters
    ----------
    result : FitResult
    place : Place
    interval : float
        Nominal coverage.
    judging : dict
        What the verdicts need to know.
    engine : dict or None
        From `genperf.reporting.engine`; without one, predictions are written down at the counts of the slider.
    """
    schema = result.schema
    if place.scaling is None:
        said = unanswered(_capital(place.why_not), result, place.target, interval)
    else:
        said = answers(result, place.scaling, place.target, interval)
    names = [f.name for f in schema.factors]
    return {
        "model": result.model,
        "formula": result.best.expression.text(result.best.values),
        "answers": [
            {"question": a.question, "short": a.short, "said": list(a.said), "verdict": a.verdict} for a in said
        ],
        "factors": [_factor(f, schema.medians, i) for i, f in enumerate(schema.factors)],
        "at": [plain(place.values[n]) for n in names],
        "along": None if place.along is None else names.index(place.along.name),
        "path": None if place.path is None else _path(place, names),
        "drawn": None if place.along is None else place.along.upper * DRAWN,
        "efficiency": None if place.scaling is None else _efficiency(place.scaling),
        "measured": [
            [*m.values, short(m.value), short(m.lowest), short(m.highest), m.repeats]
            for m in schema.medians[:MOST_MEASURED]
        ],
        "engine": engine,
        "stops": None if engine is not None else stops(result, place, interval),
        "judging": judging,
        "constants": _constants(result, interval),
        "members": [[m.name, round(m.weight, 4)] for m in result.members],
        "facts": _facts(result),
        "evidence": [_evidence(result, k) for k in range(len(result.evidence))],
        "notes": [str(n) for n in result.notes],
    }


def plain(value: Any) -> Any:
    """Return what JSON can hold."""
    return value.item() if hasattr(value, "item") else value


def short(value: float, digits: int = 6) -> float:
    """Round to some significant digits: what is only drawn needs no more."""
    return float(f"{value:.{digits}g}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _factor(factor: Factor, medians: Any, index: int) -> dict[str, Any]:
    seen = sorted({m.values[index] for m in medians}, key=str) if factor.numeric else []
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
        "measured": sorted(seen)[:40] if factor.numeric else [],
    }


def _thinned(counts: Array, steps: int, keep: Array) -> npt.NDArray[np.int64]:
    """Return places of about so many counts to the octave, with both ends and those to keep."""
    octaves = np.log2(counts / counts[0])
    wanted = np.arange(0.0, octaves[-1] + 1e-9, 1.0 / steps)
    near = np.abs(octaves[:, None] - wanted).argmin(axis=0)
    kept = [int(np.argmin(np.abs(counts - k))) for k in keep if counts[0] <= k <= counts[-1]]
    return np.unique([*near, *kept, len(counts) - 1]).astype(int)


def _path(place: Place, names: list[str]) -> dict[str, Any]:
    """Return the counts that the slider stops at, and the factors that follow them."""
    path = place.path
    if path is None or place.along is None:
        raise TypeError("no path")
    rows = _thinned(path.counts, SLIDER_STEPS, np.arange(1.0, 17.0))
    counts = path.counts[rows]
    follow = {
        names.index(n): [plain(v) for v in values[rows]]
        for n, values in path.columns.items()
        if n != place.along.name and n in names and len({plain(v) for v in values}) > 1
    }
    drawn = _thinned(counts, DRAWN_STEPS, np.array([place.along.upper]))
    return {
        "counts": [float(c) for c in counts],
        "follow": {str(k): v for k, v in follow.items()},
        "work": [short(float(w), 9) for w in path.work[rows]],
        "drawn": [int(i) for i in drawn if counts[i] <= place.along.upper * DRAWN * 1.0001],
        "kind": path.kind,
    }


def _efficiency(found: Scaling) -> dict[str, Any]:
    counts = found.curve[found.along].to_numpy(float)
    largest = found.upto * DRAWN / LOOKED
    rows = [i for i in _thinned(counts, DRAWN_STEPS, np.array([])) if counts[i] <= largest * 1.0001]
    part = found.curve.iloc[rows]
    points = found.points[found.points["what"] == "efficiency"]
    return {
        "counts": part[found.along].tolist(),
        **{
            end: [short(v, 4) for v in part[name]]
            for end, name in (("middle", "efficiency"), ("lower", "efficiency_lower"), ("upper", "efficiency_upper"))
        },
        "knees": [[short(float(c)), float(v)] for c, v in zip(points["count"], points["level"], strict=True) if c == c],
        "reference": found.reference,
    }


def stops(result: FitResult, place: Place, interval: float) -> dict[str, Any]:
    """Return predictions written down: at the counts of the slider, or at the one place where there is none."""
    if place.path is None or place.along is None:
        query = read_query(place.target, result.schema)
    else:
        rows = _thinned(place.path.counts, SLIDER_STEPS, np.arange(1.0, 17.0))
        frame = pd.DataFrame({name: values[rows] for name, values in place.path.columns.items()})
        query = read_query(frame, result.schema)
    time = central_times(result.members, query.columns)
    lower, upper = band_of(result, query, interval, "prediction")
    # Verdicts are about the 90 % interval, whatever is shown.
    low90, high90 = (lower, upper) if interval == 0.9 else band_of(result, query, 0.9, "prediction")
    parts = parts_of(result, query.columns)
    return {
        "time": [float(f"{t:.12g}") for t in time],
        "lower": [short(v, 7) for v in np.minimum(lower, time)],
        "upper": [short(v, 7) for v in np.maximum(upper, time)],
        "logWidth": [short(v, 7) for v in np.log(high90 / low90)],
        "terms": {
            name: [short(v, 4) for v in parts.seconds[j]]
            for j, name in enumerate(parts.names)
            if np.any(np.abs(parts.seconds[j]) > 0)
        },
    }


def _constants(result: FitResult, interval: float) -> list[list[Any]]:
    found = result.constants(interval).head(MOST_CONSTANTS)
    return [
        [member, name, *(short(float(v), 5) for v in (value, lower, upper)), unit, state]
        for member, name, value, lower, upper, unit, state in found.to_numpy().tolist()
    ]


def _facts(result: FitResult) -> dict[str, Any]:
    schema = result.schema
    return {
        "source": schema.source,
        "time": schema.target.column,
        "rows": schema.rows,
        "configurations": schema.configurations,
        "rejected": schema.rejected,
        "noise": short(schema.noise, 4) if schema.noise is not None else None,
        "shortest": short(schema.lowest),
        "longest": short(schema.highest),
        "sha256": schema.sha256,
        "metrics": {k: short(v, 4) if np.isfinite(v) else None for k, v in result.metrics.items()},
        "options": {k: v for k, v in result.options.items() if v is not None and k != "asked"},
        "seed": result.seed,
    }


def _evidence(result: FitResult, k: int) -> list[Any]:
    seen = result.evidence[k]
    last = short(100.0 * float(np.expm1(seen.last_point)), 4) if seen.last_point is not None else None
    return [seen.factor, seen.held_out, short(100.0 * float(np.expm1(seen.error)), 4), last]
