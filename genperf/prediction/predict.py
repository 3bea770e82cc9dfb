"""Members × draws × noise → predictions with bands and verdicts.

A level that was not measured: the measured ones replace it, and their spread widens the interval.

`predict` puts measured levels in the place of a new one, row by row (`stand_ins`). What looks inside a model (terms,
elasticities, searches) needs members that take the new level themselves (`substituted_members`): a copy of each member
for every way to put measured levels in its place, with equal weights. The central value of such members, the weighted
geometric mean, is then the mean of ln T over the measured levels, as `predict` has it. A process answers for such a
level by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Columns, Index, Mask
from genperf.engine import doing
from genperf.errors import GenperfError, Note, TableError, did_you_mean
from genperf.facts import ENDS
from genperf.formula import Name, Node, Text, call
from genperf.panel.panel import evaluated
from genperf.prediction.bands import Band, MixtureForecast
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, Spread, central_times, forecast_of, stack_of
from genperf.prediction.schema import Query, Schema, query_of
from genperf.prediction.verdict import VERDICTS, Basis, Evidence, basis_of, distance_beyond, verdicts
from genperf.table import Factor
from genperf.table.cells import Source
from genperf.words.verdict import reasons as worded

#: By factor: levels that were not measured.
Levels = Mapping[str, tuple[str, ...]]

#: Ways to put measured levels in the place of new ones, at most: each is a prediction. Half and double
#: change no answer (experiments/results/settings.md).
MOST_STAND_INS = 300
#: Measured levels that a reason lists at most.
SHOWN_STAND_INS = 4
#: Draws of a copy of a member at least: one lies beyond each end of a 90 % interval. Together the copies keep as
#: many as the members have, if that leaves each so many.
LEAST_DRAWS_OF_A_WAY = 20

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


# --- levels that were not measured ------------------------------------------------------------------------------------


class StandIns(Struct, frozen=True, eq=False):
    """Rows, each once for every way to put measured levels in the place of those that were not."""

    new: dict[str, Mask]  #: By factor: which rows have a level that was not measured.
    columns: dict[str, AnyArray]  #: The columns of the ways.
    rows: Index  #: Shape (ways,). The row of each way, in order.
    fewest: Index  #: Shape (rows,). Measured levels of the factor with the fewest, of those with a new level.


def new_levels(schema: Schema, columns: Columns) -> dict[str, Mask]:
    """Return the rows in which a categorical factor has a level that was not measured, by the factor's name."""
    texts = (f for f in schema.factors if not f.numeric and f.name in columns)
    new = {f.name: ~np.isin(columns[f.name].astype(str), f.levels) for f in texts}
    return {name: rows for name, rows in new.items() if rows.any()}


def stand_ins(schema: Schema, columns: Columns, new: dict[str, Mask]) -> StandIns:
    """Repeat each row for every combination of measured levels in the place of its `new` ones."""
    count = len(next(iter(columns.values())))
    levels = {f.name: np.array(f.levels, dtype=object) for f in schema.factors if f.name in new}
    # Of each row, how many combinations of measured levels there are, and the fewest levels of a factor.
    combinations, fewest = np.ones(count, np.intp), np.full(count, np.iinfo(np.intp).max)
    for name, where in new.items():
        combinations = np.where(where, combinations * len(levels[name]), combinations)
        fewest = np.where(where, np.minimum(fewest, len(levels[name])), fewest)
    row = int(combinations.argmax())
    _refuse_many_stand_ins([name for name, where in new.items() if where[row]], int(combinations[row]))
    rows, columns_of_ways = np.arange(count), dict(columns)
    # Factor by factor: a row becomes one for each level, whose numbers begin anew in each row.
    for name, where in new.items():
        times = np.where(where[rows], len(levels[name]), 1)
        level_number = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        columns_of_ways = {column: values.repeat(times) for column, values in columns_of_ways.items()}
        rows = rows.repeat(times)
        columns_of_ways[name] = np.where(where[rows], levels[name][level_number], columns_of_ways[name])
    return StandIns(new, columns_of_ways, rows, fewest)


def _refuse_many_stand_ins(names: Sequence[str], combinations: int) -> None:
    """Refuse a row whose new levels have more than `MOST_STAND_INS` combinations of measured levels in their place."""
    if combinations > MOST_STAND_INS:
        of_names = f"levels that were never measured, of {' and '.join(names)}"
        fault = f"{of_names}, and {combinations} ways to put measured ones in their place"
        raise TableError(fault, hint="give measured levels for all but one of them")


def combined(stand_ins: StandIns, answers: Iterable[Array], interval: float) -> list[Array]:
    """Return the answers of each row, of which those for levels that were not measured are put together.

        ln T = mean_l ln T_l,   half² = mean_l half_l² + t²·s²·(1 + 1/L)

    with T_l the prediction at measured level l of L, half_l the half of its band on either side, s the standard
    deviation of ln T_l, and t Student's quantile with L − 1 degrees of freedom: a level drawn from where the measured
    ones come from.
    """
    unknown = np.any([np.zeros(len(stand_ins.fewest), dtype=bool), *stand_ins.new.values()], axis=0)
    answers_of_ways = list(answers)
    answers_of_rows = [answer[np.searchsorted(stand_ins.rows, np.arange(len(unknown)))] for answer in answers_of_ways]
    if not unknown.any():
        return answers_of_rows
    from scipy.special import stdtrit

    is_stand_in = unknown[stand_ins.rows]
    value, lower, upper, *further_values = (answer[is_stand_in] for answer in answers_of_ways)
    # Which unknown row each way is of, and how many ways each has.
    _, place, size = np.unique(stand_ins.rows[is_stand_in], return_inverse=True, return_counts=True)

    def mean(values: Array) -> Array:
        return np.asarray(np.bincount(place, values, len(size)) / size)

    logarithms = np.log(value)
    centre, count = mean(logarithms), stand_ins.fewest[unknown].astype(float)
    variance = mean((logarithms - centre[place]) ** 2) * size / np.maximum(size - 1.0, 1.0)
    between = stdtrit(count - 1.0, 0.5 + 0.5 * interval) ** 2 * variance * (1.0 + 1.0 / count)
    below = np.sqrt(mean((logarithms - np.log(lower)) ** 2) + between)
    above = np.sqrt(mean((np.log(upper) - logarithms) ** 2) + between)
    of_unknown = [np.exp(centre), np.exp(centre - below), np.exp(centre + above), *map(mean, further_values)]
    for column, values_of_unknown in zip(answers_of_rows, of_unknown, strict=True):
        column[unknown] = values_of_unknown
    return answers_of_rows


def reasons(schema: Schema, columns: Columns, new: Mapping[str, Mask], ways: StandIns, value: Array) -> dict[int, str]:
    """Return by row why a prediction with a new level is doubtful: which level, and how far measured ones differ."""
    factors = {f.name: f for f in schema.factors}
    relation = "the mean of" if ways.new else "estimated from"
    texts_of_row = dict[int, list[str]]()
    for name, where in new.items():
        for row in np.flatnonzero(where).tolist():
            text = not_measured(factors[name], str(columns[name][row]), relation)
            texts_of_row.setdefault(row, []).append(text)
    if ways.new:
        for row, texts in texts_of_row.items():
            there = value[ways.rows == row]
            texts.append(f"predictions at measured levels differ {there.max() / there.min():.2g}-fold here")
    return {row: "; ".join(texts) for row, texts in texts_of_row.items()}


def not_measured(factor: Factor, level: str, how: str = "the mean of") -> str:
    """Return that a level was not measured, how the answer is made of the others, and which level it may be."""
    near = did_you_mean(level, factor.levels)
    levels_text = ", ".join(factor.levels[:SHOWN_STAND_INS]) + (", …" if len(factor.levels) > SHOWN_STAND_INS else "")
    text = f"{factor.name}={level} was not measured: {how} the {len(factor.levels)} measured levels ({levels_text})"
    return f"{text}, or {near}" if near else text


def substituted_members(schema: Schema, members: Sequence[Member], new: Levels) -> tuple[Member, ...]:
    """Return a copy of each member for every way to put measured levels in the place of new ones."""
    if stack_of(members) is not None:
        return tuple(members)
    levels = {f.name: f.levels for f in schema.factors}
    count = math.prod(len(levels[name]) for name in new)
    _refuse_many_stand_ins(list(new), count)
    substituted = []
    for number, measured_levels in enumerate(product(*(levels[name] for name in new))):
        node_of_factor = dict[str, Node]()
        for name, measured_level in zip(new, measured_levels, strict=True):
            node_of_factor[name] = Name(name)
            for level in new[name]:
                is_new = call("equal", Name(name), Text(level))
                node_of_factor[name] = call("where", is_new, Text(measured_level), node_of_factor[name])
        for member in members:
            step = max(1, min(count, len(member.draws) // LEAST_DRAWS_OF_A_WAY))
            # Of so many copies in a row each has another part of the member's draws.
            draws = np.arange(number % step, len(member.draws), step)
            expression = member.expression.substituted(node_of_factor)
            substituted.append(replace(member, expression=expression, weight=member.weight / count).kept(draws))
    return tuple(substituted)


def substitution_notes(schema: Schema, members: Sequence[Member] = ()) -> list[str]:
    """Return which levels were not measured, which replace them, and what their intervals contain."""
    new = [(f, level) for f in schema.factors for level in schema.substituted.get(f.name, ())]
    if stack_of(members) is not None:
        return [not_measured(f, level, "estimated from") for f, level in new]
    wider = "; intervals here contain their differences; those of predict are wider"
    return [not_measured(f, level) + wider for f, level in new]


# --- predictions ------------------------------------------------------------------------------------------------------


class Ensemble(Struct, frozen=True, eq=False):
    """Fitted members with their weights, and what is known of their errors."""

    members: tuple[Member, ...]  #: Weights add up to one.
    spread: Spread  #: The spread beside the members' draws and discrepancies.
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

    schema: Schema  #: The table it was fitted to, without its rows.
    members: tuple[Member, ...]  #: The fitted expressions with their weights; one unless the model is an ensemble.
    spread: Spread  #: The spread beside the constants' uncertainty.
    evidence: tuple[Evidence, ...]  #: How it predicted the largest measured scale from the smaller ones.
    #: The probability that a run does not fail; None where no run of the table failed.
    feasibility: Feasibility | None = field(default=None, kw_only=True)
    #: Models of further quantities with the same factors (`--also`), by name.
    further: Mapping[str, PredictedFrom] = field(default_factory=dict, kw_only=True)
    #: What a question names and no run shows, in words: no prediction is to be relied on then.
    unheeded: tuple[str, ...] = field(default=(), kw_only=True)

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
        return replace(basis_of(self.members, self.schema, self.evidence), unheeded=self.unheeded)

    @property
    def floor(self) -> float:
        """The least ln of a prediction."""
        return float(np.log(FLOOR * self.schema.lowest)) if self.schema.lowest > 0 else -np.inf


def predict(
    model: PredictedFrom, source: Source, interval: float = 0.9, band: Band = "prediction", fill: bool = False
) -> dict[str, AnyArray]:
    """Predict the target of a source's rows into columns; with `fill`, open factors are those of a measured run."""
    if band not in ("prediction", "confidence"):
        raise GenperfError(f"unknown band '{band}'", hint="prediction or confidence")
    query = query_of(source, model.schema, new_levels=True, fill=fill)
    names = model.predicted_names
    predicted = predicted_columns(model, query, interval, band)
    # A factor of one value is no answer to what was left open, unless it follows to another one.
    of_one_value = (f for f in model.schema.factors if fill and f.distinct == 1 and f.name not in source.columns)
    unvaried = {f.name for f in of_one_value if not f.numeric or np.all(query.columns[f.name] == f.upper)}
    left_out = {*names, *unvaried}
    factor_columns = {n: query.columns[n] for n in query.given if n in query.columns and n not in left_out}
    return {**factor_columns, **{name: predicted[name] for name in names}}


def predicted_columns(
    model: PredictedFrom, query: Query, interval: float, band: Band, forecast: MixtureForecast | None = None
) -> dict[str, AnyArray]:
    """Predict the rows of a query: each configuration once, in six steps; `forecast` is that of one row, if known."""
    schema, target = model.schema, model.schema.target
    distinct, repeated = distinct_rows(query)
    columns = {name: values[distinct] for name, values in query.columns.items()}
    # 1. Levels that were not measured: a process answers for them by itself, elsewhere measured ones replace them.
    new = new_levels(schema, columns)
    ways = stand_ins(schema, columns, new if stack_of(model.members) is None else {})
    # 2. What all draws predict, and the bands of their mixture.
    value, lower, upper, width = central_and_band(model, ways.columns, interval, band, forecast)
    # 3. Whether such a run fits.
    fits = np.ones(len(value)) if model.feasibility is None else model.feasibility.probability(ways.columns)
    *numbers, log_width = combined(ways, (value, lower, upper, fits, width), interval)
    numbers[:3] = [np.minimum(end, schema.ceiling) for end in numbers[:3]]
    # 4. How far it can be trusted.
    measured = {f.name: np.where(new[f.name], f.levels[0], columns[f.name]) for f in schema.factors if f.name in new}
    grades, marks = verdicts(model.basis, {**columns, **measured}, log_width)
    # 5. In words.
    verdict, reason = np.array(VERDICTS, dtype=object)[grades], np.array(worded(marks, len(grades)), dtype=object)
    for row, text in reasons(schema, columns, new, ways, value).items():
        verdict[row], reason[row] = VERDICTS[-1], text
    names = (target.name, "lower", "upper", "fits", "verdict", "reason")
    out = {name: cells[repeated] for name, cells in zip(names, (*numbers, verdict, reason), strict=True)}
    if (divided := schema.panel.measured_work) is not None:
        work = evaluated(divided, query.columns, query.rows)
        # The longest time is the smallest throughput.
        out |= {name: work / out[end] for name, end in zip(THROUGHPUT, (target.name, "upper", "lower"), strict=True)}
    # 6. Further quantities; NaN where a level is unknown to them and was measured of the model itself.
    for name, further_model in model.further.items():
        has_levels = known_rows(further_model, query.columns, query.rows, main=schema)
        ends = {further_model.schema.target.name: name, "lower": f"{name}_lower", "upper": f"{name}_upper"}
        out |= {column: np.full(query.rows, np.nan) for column in ends.values()}
        if has_levels.any():
            block = predicted_columns(further_model, query.take(has_levels), interval, band)
            for end, column in ends.items():
                out[column][has_levels] = block[end]
    return out


def central_and_band(
    model: PredictedFrom, columns: Columns, interval: float, band: Band, forecast: MixtureForecast | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return the central value, the ends of a band that holds it, and ln(upper/lower) of a new run at 90 %."""
    rows = len(next(iter(columns.values())))
    blocks = list[tuple[Array, Array, Array, Array]]()
    for start in range(0, rows, ROWS):
        doing("predicting configurations", start, rows)
        if forecast is None or start:
            block = {name: values[start : start + ROWS] for name, values in columns.items()}
            forecast = forecast_of(model.members, model.spread, block, distance_beyond(model.schema, block))
            forecast = replace(forecast, ceiling=model.schema.ceiling)
        lower, upper = ends = forecast.band(interval, band, model.floor)
        if (interval, band) != (0.9, "prediction"):
            ends = forecast.band(0.9, "prediction", model.floor)
        with np.errstate(all="ignore"):
            blocks.append((forecast.central(), lower, upper, np.log(ends[1] / ends[0])))
    value, lower, upper, log_width = np.hstack(blocks)
    usable = np.isfinite(value) & (value > 0.0)
    if not usable.all():
        row = int(np.argmin(usable))
        at = ", ".join(f"{name}={cells[row]}" for name, cells in columns.items())
        what = f"the model has no finite {model.schema.target.name} above zero at {at}"
        raise GenperfError(what, hint="predict nearer to the data")
    return value, np.minimum(lower, value), np.maximum(upper, value), log_width


def distinct_rows(query: Query) -> tuple[Index, Index]:
    """Return the first row of each configuration, and for every row which of these it repeats."""
    code = np.zeros(query.rows, dtype=np.int64)
    # By name: sums over rows in another order differ in their last digit.
    for _, values in sorted(query.columns.items()):
        _, places = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
        # The codes are made small again, so that no product overflows.
        _, code = np.unique(code * (int(places.max(initial=0)) + 1) + places, return_inverse=True)
    _, first_row, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first_row, inverse


def central_values(model: PredictedFrom, columns: Columns, rows: int) -> dict[str, Array]:
    """Return the central predictions of further quantities by name; NaN where a level is unknown."""
    out: dict[str, Array] = {}
    for name, further_model in model.further.items():
        has_levels = known_rows(further_model, columns, rows)
        out[name] = np.full(rows, np.nan)
        if has_levels.any():
            out[name][has_levels] = central_times(further_model.members, {n: v[has_levels] for n, v in columns.items()})
    return out


def known_rows(model: PredictedFrom, columns: Columns, rows: int, main: Schema | None = None) -> Mask:
    """Return the rows whose levels were measured or are replaced; beside a `main` schema also those new to both."""
    measured_rows = np.ones(rows, dtype=bool)
    levels_of_main = {} if main is None else {f.name: f.levels for f in main.factors}
    for factor in model.schema.factors:
        if not factor.numeric and factor.name in columns:
            levels = columns[factor.name].astype(str)
            measured = np.isin(levels, [*factor.levels, *model.schema.substituted.get(factor.name, ())])
            # One level alone has no spread to answer with.
            if factor.name in levels_of_main and len(factor.levels) > 1:
                measured |= ~np.isin(levels, levels_of_main[factor.name])
            measured_rows &= measured
    return measured_rows
