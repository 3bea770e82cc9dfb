"""Members × draws × noise → predictions with bands and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from msgspec import Struct

from genperf.arrays import AnyArray, Array, Columns, Index, Mask
from genperf.engine import doing
from genperf.errors import GenperfError, Note
from genperf.facts import ENDS
from genperf.panel.work import evaluated
from genperf.prediction.bands import Band, MixtureForecast
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, Spread, central_times, forecast_of, stack_of
from genperf.prediction.new_levels import combined, new_levels, reasons, stand_ins
from genperf.prediction.schema import Query, Schema, query_of
from genperf.prediction.verdict import VERDICTS, Basis, Evidence, basis_of, distance_beyond, verdicts
from genperf.table.cells import Source
from genperf.words.verdict import reasons as worded

#: How far a prediction can be trusted, and the probability that a run does not fail.
JUDGED = ("verdict", "reason", "fits")
#: Columns that come first where a throughput was measured.
THROUGHPUT = ("throughput", "throughput_lower", "throughput_upper")
#: Configurations that are predicted at once. One takes about 2 kB for each hundred draws, 50 MB at most for the 1,000
#: draws of a series. Twice as many take a third longer for a family, whose arrays a core's cache then has no room for.
#: Half as many take a third less for a series, and a third more for a table of many factors.
ROWS = 1_000
#: No prediction lies below this share of the smallest measured value: a logarithm must exist.
FLOOR = 1e-6


class Ensemble(Struct, frozen=True, eq=False):
    """Fitted members with their weights, and what is known of their errors."""

    #: Weights add up to one.
    members: tuple[Member, ...]
    #: The spread beside the members' draws and discrepancies.
    spread: Spread
    #: How the whole ensemble, not one member, predicted the largest measured scale from the smaller ones.
    evidence: tuple[Evidence, ...] = ()
    #: What was chosen, for the model file: texts and finite numbers.
    options: dict[str, str | float | None] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    #: The central and the measured values of the configurations, where the fit has them.
    fitted: tuple[Array, Array] | None = None


@dataclass(frozen=True, eq=False)
class PredictedFrom:
    """What a prediction reads of a fitted model."""

    #: The table it was fitted to, without its rows.
    schema: Schema
    #: The fitted expressions with their weights; one unless the model is an ensemble.
    members: tuple[Member, ...]
    #: The spread beside the constants' uncertainty.
    spread: Spread
    #: How it predicted the largest measured scale from the smaller ones.
    evidence: tuple[Evidence, ...]
    #: The probability that a run does not fail; None where no run of the table failed.
    feasibility: Feasibility | None = field(default=None, kw_only=True)
    #: Models of further quantities with the same factors (`--also`), by name.
    further: Mapping[str, PredictedFrom] = field(default_factory=dict, kw_only=True)

    @property
    def further_names(self) -> list[str]:
        """The columns that a prediction has of further quantities."""
        return [f"{name}{end}" for name in self.further for end in ENDS]

    @property
    def predicted_names(self) -> list[str]:
        """The columns that a prediction adds, in order."""
        rates = THROUGHPUT if self.schema.target.work else ()
        return [*rates, self.schema.target.name, "lower", "upper", *self.further_names, *JUDGED]

    @cached_property
    def basis(self) -> Basis:
        """What its verdicts rest on."""
        return basis_of(self.members, self.schema, self.evidence)

    @property
    def floor(self) -> float:
        """The least ln of a prediction."""
        return float(np.log(FLOOR * self.schema.lowest)) if self.schema.lowest > 0 else -np.inf


def predict(
    model: PredictedFrom, source: Source, interval: float = 0.9, band: Band = "prediction"
) -> dict[str, AnyArray]:
    """Predict the target.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        The factors that were given, as numbers or labels. Then the target by its name, `lower` and `upper` in its unit,
        `verdict`, `reason`, and `fits`: the probability that such a run does not fail. Where a throughput was measured,
        it comes before the time with its own bounds; further quantities come behind the bounds as `NAME`, `NAME_lower`
        and `NAME_upper`.
    """
    if band not in ("prediction", "confidence"):
        raise GenperfError(f"unknown band '{band}'", hint="prediction or confidence")
    query, names = query_of(source, model.schema, new_levels=True), model.predicted_names
    predicted = predicted_columns(model, query, interval, band)
    factor_columns = {n: query.columns[n] for n in query.given if n in query.columns and n not in names}
    return {**factor_columns, **{name: predicted[name] for name in names}}


def predicted_columns(
    model: PredictedFrom, query: Query, interval: float, band: Band, forecast: MixtureForecast | None = None
) -> dict[str, AnyArray]:
    """Predict the rows of a query: each configuration once, in five steps; `forecast` is that of one row, if known."""
    schema, target = model.schema, model.schema.target
    distinct, repeated = distinct_rows(query)
    columns = {name: values[distinct] for name, values in query.columns.items()}
    # 1. Levels that were not measured: a process answers for them by itself, elsewhere measured ones replace them.
    new = new_levels(schema, columns)
    ways = stand_ins(schema, columns, new if stack_of(model.members) is None else {})
    # 2. What all draws predict, and the bands of their mixture.
    batches = []
    for start in range(0, len(ways.rows), ROWS):
        doing("predicting configurations", start, len(ways.rows))
        block = {name: values[start : start + ROWS] for name, values in ways.columns.items()}
        batches.append(central_and_band(model, block, interval, band, forecast))
    value, lower, upper, width = np.hstack(batches)
    usable = np.isfinite(value) & (value > 0.0)
    if not usable.all():
        row = int(np.argmin(usable))
        at = ", ".join(f"{name}={cells[row]}" for name, cells in ways.columns.items())
        what = f"the model has no finite {target.name} above zero at {at}"
        raise GenperfError(what, hint="predict nearer to the data")
    # 3. Whether such a run fits.
    fits = np.ones(len(value)) if model.feasibility is None else model.feasibility.probability(ways.columns)
    answers = (value, np.minimum(lower, value), np.maximum(upper, value), fits, width)
    *numbers, log_width = combined(ways, answers, interval)
    # 4. How far it can be trusted.
    measured = {f.name: np.where(new[f.name], f.levels[0], columns[f.name]) for f in schema.factors if f.name in new}
    grades, marks = verdicts(model.basis, {**columns, **measured}, log_width)
    # 5. In words.
    verdict, reason = np.array(VERDICTS, dtype=object)[grades], np.array(worded(marks, len(grades)), dtype=object)
    for row, text in reasons(schema, columns, new, ways, value).items():
        verdict[row], reason[row] = VERDICTS[-1], text
    names = (target.name, "lower", "upper", "fits", "verdict", "reason")
    out = {n: cells[repeated] for n, cells in zip(names, (*numbers, verdict, reason), strict=True)}
    if (divided := schema.panel.measured_work) is not None:
        work = evaluated(divided, query.columns, query.rows)
        # The longest time is the smallest throughput.
        out |= {n: work / out[end] for n, end in zip(THROUGHPUT, (target.name, "upper", "lower"), strict=True)}
    return {**out, **_further(model, query, interval, band)}


def central_and_band(
    model: PredictedFrom,
    columns: Columns,
    interval: float,
    band: Band = "prediction",
    forecast: MixtureForecast | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the central value, the ends of a band, and ln(upper/lower) of the 90 % prediction interval.

    Each is of shape (rows,). The draws are evaluated once for all of them, unless their forecast is known.
    """
    if forecast is None:
        forecast = forecast_of(model.members, model.spread, columns, distance_beyond(model.schema, columns))
    lower, upper = forecast.band(interval, band, model.floor)
    same = (interval, band) == (0.9, "prediction")
    low90, high90 = (lower, upper) if same else forecast.band(0.9, "prediction", model.floor)
    with np.errstate(all="ignore"):
        return forecast.central(), lower, upper, np.log(high90 / low90)


def distinct_rows(query: Query) -> tuple[Index, Index]:
    """Return the first row of each configuration, and for every row which of these it repeats.

    Configurations follow those that differ in one factor: every second run of a factor's values is turned round.
    """
    code = np.zeros(query.rows, dtype=np.int64)
    for values in query.columns.values():
        _, places = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
        last = int(places.max(initial=0))
        places = np.where(code % 2 == 1, last - places, places)
        # The codes are made small again, so that no product overflows.
        _, code = np.unique(code * (last + 1) + places, return_inverse=True)
    _, first_row, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first_row, inverse


def _further(model: PredictedFrom, query: Query, interval: float, band: Band) -> dict[str, Array]:
    """Predict further quantities; NaN where a level is unknown to them and was measured of the model itself."""
    columns = {name: np.full(query.rows, np.nan) for name in model.further_names}
    for name, further_model in model.further.items():
        has_levels = known_rows(further_model, query.columns, query.rows, new_levels=model.schema)
        if has_levels.any():
            block = predicted_columns(further_model, query.take(has_levels), interval, band)
            for end, column in zip(ENDS, (further_model.schema.target.name, "lower", "upper"), strict=True):
                columns[f"{name}{end}"][has_levels] = block[column]
    return columns


def central_values(model: PredictedFrom, columns: Columns, rows: int) -> dict[str, Array]:
    """Return the central predictions of further quantities by name; NaN where a level is unknown."""
    out: dict[str, Array] = {}
    for name, further_model in model.further.items():
        has_levels = known_rows(further_model, columns, rows)
        out[name] = np.full(rows, np.nan)
        if has_levels.any():
            out[name][has_levels] = central_times(further_model.members, {n: v[has_levels] for n, v in columns.items()})
    return out


def known_rows(model: PredictedFrom, columns: Columns, rows: int, new_levels: Schema | None = None) -> Mask:
    """Return the rows whose levels were all measured, or have measured ones that replace them, shape (rows,).

    With the schema of another model, levels that are new to that model too are let through where this one can answer.
    """
    measured_rows = np.ones(rows, dtype=bool)
    elsewhere = {} if new_levels is None else {f.name: f.levels for f in new_levels.factors}
    for factor in model.schema.factors:
        if not factor.numeric and factor.name in columns:
            levels = columns[factor.name].astype(str)
            measured = np.isin(levels, [*factor.levels, *model.schema.substituted.get(factor.name, ())])
            if factor.name in elsewhere and len(factor.levels) > 1:
                measured |= ~np.isin(levels, elsewhere[factor.name])
            measured_rows &= measured
    return measured_rows
