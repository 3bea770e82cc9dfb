"""Members × draws × noise → predictions with bands and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genperf.discrepancy.stack import NORMAL
from genperf.engine.phases import doing
from genperf.errors import GenperfError, Note
from genperf.panel.following import falls_with
from genperf.panel.nodes import single_node
from genperf.prediction.bands import mixture_quantiles
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, Spread, forecasts, log_times, pooled, stack_of
from genperf.prediction.new_levels import combined, new_levels, not_measured, stand_ins, substituted_feasibility
from genperf.prediction.new_levels import reasons as new_level_reasons
from genperf.prediction.query import Query, read_query
from genperf.prediction.schema import Schema
from genperf.prediction.verdict import STEP, VERDICTS, Basis, Evidence, distance_beyond, verdicts
from genperf.table import Target
from genperf.table.axis import several_nodes
from genperf.table.cells import Source
from genperf.table.clean import labels
from genperf.table.work import evaluated

Array = npt.NDArray[np.float64]
Band = Literal["prediction", "confidence"]

#: How far a prediction can be trusted, and the probability that a run does not fail.
JUDGED = ("verdict", "reason", "fits")
#: Columns that come first where a throughput was measured.
THROUGHPUT = ("throughput", "throughput_lower", "throughput_upper")
#: Behind the name of a further quantity: its value and the ends of its interval.
ENDS = {"": None, "_lower": "lower", "_upper": "upper"}


@dataclass(frozen=True)
class PredictionSettings:
    """How many configurations are predicted at once."""

    #: One takes about 2 kB for each hundred draws, 50 MB at most for the 1,000 draws of a series. Twice as many take a
    #: third longer for a family, whose arrays a core's cache then has no room for. Half as many take a third less for a
    #: series, and a third more for a table of many factors.
    rows: int = 1_000
    #: Rows whose verdicts are given at once: one takes 2 kB at most, of the texts and the distances to measured runs.
    judged: int = 20_000
    #: ln of the largest end of a band.
    largest: float = 690.0


PREDICTION = PredictionSettings()
#: No prediction lies below this share of the smallest measured value: a logarithm must exist.
FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class Ensemble:
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


@dataclass(frozen=True, eq=False)
class Fitted:
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
    further: Mapping[str, Fitted] = field(default_factory=dict, kw_only=True)

    @property
    def further_names(self) -> list[str]:
        """The columns that a prediction has of further quantities."""
        return [f"{name}{end}" for name in self.further for end in ENDS]

    @property
    def predicted_names(self) -> list[str]:
        """The columns that a prediction adds, in order."""
        rates = THROUGHPUT if self.schema.target.work else ()
        return [*rates, self.schema.target.name, "lower", "upper", *self.further_names, *JUDGED]


def throughputs(target: Target, columns: Mapping[str, Any], values: Mapping[str, Array]) -> dict[str, Array]:
    """Return the throughput and its band, where the model was fitted to one: the work of a step over its time.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        Empty where a time was measured.
    """
    if not target.work:
        return {}
    work = evaluated(target.work, columns, len(values[target.name]))
    # The longest time is the smallest throughput.
    return {name: work / values[end] for name, end in zip(THROUGHPUT, (target.name, "upper", "lower"), strict=True)}


def central_times(members: Sequence[Member], columns: Mapping[str, Any]) -> Array:
    """Return the central predictions, shape (rows,), in the target's unit.

    They are the weighted geometric mean of the members' values. Where each draw of a member has a discrepancy of its
    own, they are the median of all draws; of stacked members, their pool.
    """
    if stack_of(members) is not None:
        return np.asarray(np.exp(pooled(members, columns)[0]))
    if any(m.discrepancy is not None for m in members):
        return _medians(members, _mixture(members, columns))
    weights = np.array([m.weight for m in members])
    return np.asarray(np.exp(weights @ log_times(members, columns) / weights.sum()))


def central_of_each(members: Sequence[Member], columns: Mapping[str, Any]) -> Array:
    """Return the central predictions of every member by itself, shape (members, rows): the draws are evaluated once."""
    series = [m for m in members if m.discrepancy is not None]
    medians = iter(forecasts(series, columns))
    others = iter(np.exp(log_times([m for m in members if m.discrepancy is None], columns)))
    return np.array(
        [
            next(others) if m.discrepancy is None else _medians([m], (*next(medians), np.ones(len(m.draws))))
            for m in members
        ]
    )


def _medians(members: Sequence[Member], forecast: tuple[Array, Array, Array]) -> Array:
    """Return the median of all draws of `_mixture` by their shares for the central value, shape (rows,)."""
    mean, variance, shares = forecast
    shares = shares * np.concatenate([np.ones(len(m.draws)) if m.central is None else m.central for m in members])
    return np.asarray(mixture_quantiles(mean, shares, np.sqrt(variance), np.array([0.5]))[0])


def central_and_band(
    model: Fitted, query: Query, interval: float, band: Band = "prediction"
) -> tuple[Array, Array, Array, Array]:
    """Return the central value, the ends of a band, and ln(upper/lower) of the 90 % prediction interval.

    Each is of shape (rows,). The draws are evaluated once for all of them.
    """
    if stack_of(model.members) is not None:
        centre, mean, run = pooled(model.members, query.columns)
        deviation = np.sqrt(mean if band == "confidence" else run)
        away = NormalDist().inv_cdf(0.5 + 0.5 * interval) * deviation
        width = 2.0 * NORMAL * np.sqrt(run)
        lower, upper = (
            np.exp(np.clip(end, -PREDICTION.largest, PREDICTION.largest)) for end in (centre - away, centre + away)
        )
        return np.exp(centre), lower, upper, width
    forecast = _mixture(model.members, query.columns)
    series = any(m.discrepancy is not None for m in model.members)
    value = _medians(model.members, forecast) if series else central_times(model.members, query.columns)
    lower, upper = _band(model, query, forecast, interval, band)
    same = (interval, band) == (0.9, "prediction")
    low90, high90 = (lower, upper) if same else _band(model, query, forecast, 0.9, "prediction")
    with np.errstate(divide="ignore"):
        return value, lower, upper, np.log(high90 / low90)


def _mixture(members: Sequence[Member], columns: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return every draw's mean and variance of ln T, each of shape (draws, rows), and its share, of shape (draws,)."""
    parts = forecasts(members, columns)
    shares = np.concatenate([np.full(len(m.draws), m.weight / len(m.draws)) for m in members])
    variances = [parts[0][1][:1]] if _alike(members) else [variance for _, variance in parts]
    return np.vstack([mean for mean, _ in parts]), np.vstack(variances), shares


def _alike(members: Sequence[Member]) -> bool:
    """Tell whether all draws of all members have one variance: they have no discrepancy."""
    return all(m.discrepancy is None for m in members)


def _band(
    model: Fitted, query: Query, forecast: tuple[Array, Array, Array], interval: float, band: Band
) -> tuple[Array, Array]:
    """Return the lower and upper ends of a band, each of shape (rows,).

    The *confidence* band contains the mean: families and their constants, and how far the query lies beyond the data.
    The *prediction* band contains a new run: misfit and noise on top.
    """
    schema = model.schema
    far = distance_beyond(schema, query.columns)
    floor = np.log(FLOOR * schema.lowest) if schema.lowest > 0 else -np.inf
    mean, shares = np.maximum(np.nan_to_num(forecast[0], nan=floor, neginf=floor), floor), forecast[2]
    tail = (1.0 - interval) / 2.0
    levels, above = np.array([tail, 1.0 - tail]), np.sqrt(_variances(model, forecast[1], far, band))
    lower, upper = mixture_quantiles(mean, shares, above, levels)
    return lower, upper


def _variances(model: Fitted, variance: Array, far: Array, band: Band) -> Array:
    """Return the variance of ln T of each draw, with what is added to that of the draws, shape (draws, rows)."""
    variance = variance.copy()
    start = 0
    for member in model.members[:1] if len(variance) == 1 else model.members:
        draws = slice(start, start + len(member.draws))
        variance[draws] += member.mean_variance(model.spread, far)
        if band == "prediction":
            variance[draws] += member.run_variance(model.spread)
        start = draws.stop
    return variance


def basis_of(members: Sequence[Member], schema: Schema, query: Query) -> Basis:
    """Gather what the verdict needs of the members."""
    constants = {c for m in members if m.discrepancy is None for c in m.undetermined}
    several = len(members) > 1
    # The constants of one formula are known by their names; of an average only the factors whose effects they are.
    effects = {c.meaning.effect for c in constants if c.meaning is not None}
    unidentified = (
        [f.name for f in schema.factors if f.name in effects] if several else sorted({c.name for c in constants})
    )
    series = [(m, m.discrepancy) for m in members if m.discrepancy is not None]
    if not series:
        names = [f.name for f in schema.factors]
        nodes = single_node(schema.panel, names if stack_of(members) is not None else ())
        unseen = {} if nodes is None else {STEP: several_nodes(query.columns[nodes])}
        unseen = {name: rows for name, rows in unseen.items() if rows.any()}
        # The series weighed several forms, and the interval is theirs.
        return Basis(several, (), unseen, unidentified)
    read = {name for _, discrepancy in series for name in discrepancy.factors}
    # A batch that falls as the workers grow is work that no run had: it is counted by itself.
    scale = schema.panel.axis().factor
    followers = [
        f.name
        for f in schema.factors
        if f.numeric and f.name not in read and (scale is None or not falls_with(schema.panel, f.name, scale.name))
    ]
    unmeasured: dict[str, npt.NDArray[np.bool_]] = {}
    for member, names in zip(members, unmeasured_terms(members), strict=True):
        here = member.expression.term_values(query.columns, dict.fromkeys(member.expression.constant_names, 1.0))
        unmeasured.update({name: here[name] > 0.0 for name in names})
    unmeasured = {name: rows for name, rows in unmeasured.items() if rows.any()}
    return Basis(True, followers, unmeasured, unidentified, series[0][1].borrowed)


def unmeasured_terms(members: Sequence[Member]) -> list[list[str]]:
    """Return the terms of each member that are zero at every measured count, as no member reads these otherwise."""
    values = []
    for member in members:
        series = member.discrepancy
        ones = dict.fromkeys(member.expression.constant_names, 1.0)
        values.append({} if series is None else member.expression.term_values(series.anchors, ones))
    measured = {name for there in values for name, value in there.items() if value.any()}
    return [[name for name in there if name not in measured] for there in values]


def predict(
    model: Fitted, source: Source, interval: float = 0.9, band: Band = "prediction"
) -> dict[str, npt.NDArray[Any]]:
    """Predict the target.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        The factors that were given, as numbers or labels. Then the target by its name, `lower` and `upper` in its unit,
        `verdict`, `reason`, and `fits`: the probability that such a run does not fail. Where a throughput was measured,
        it comes before the time with its own bounds; further quantities come behind the bounds as `NAME`, `NAME_lower`
        and `NAME_upper`.
    """
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    if band not in ("prediction", "confidence"):
        raise GenperfError(f"unknown band '{band}'", hint="prediction or confidence")
    schema, names = model.schema, model.predicted_names
    whole = read_query(source, schema, new_levels=True)
    first, inverse = distinct_rows(whole)
    query = whole.take(first)
    new = new_levels(schema, query)
    judged = _with_new_levels(model, query, new, interval, band) if new else _judged(model, query, interval, band)
    answers = [column[inverse] for column in judged]
    predicted = dict(zip((schema.target.name, "lower", "upper", *JUDGED), answers, strict=True))
    predicted |= {**throughputs(schema.target, whole.columns, predicted), **_further(model, source, interval, band)}
    read = {n: whole.columns[n] for n in whole.given if n in whole.columns and n not in names}
    return {**read, **{name: predicted[name] for name in names}}


def _judged(
    model: Fitted, query: Query, interval: float, band: Band, worded: Query | None = None
) -> list[npt.NDArray[Any]]:
    """Return the value, the ends of the band, the verdict, the reason and the probability of fitting of each row."""
    parts = []
    for start in range(0, query.rows, PREDICTION.rows):
        doing("predicting configurations", start, query.rows)
        rows = np.arange(start, min(start + PREDICTION.rows, query.rows))
        parts.append(_answers(model, query.take(rows), interval, band))
    value, lower, upper, fits, log_width = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    verdict, reason = _words(model, query if worded is None else worded, log_width)
    return [value, lower, upper, verdict, reason, fits]


def _with_new_levels(
    model: Fitted, query: Query, new: Mapping[str, npt.NDArray[np.bool_]], interval: float, band: Band
) -> list[npt.NDArray[Any]]:
    """Return what `_judged` does, where some rows have levels that were not measured: those are answered blind."""
    unknown = np.any(list(new.values()), axis=0)
    rows = np.flatnonzero(unknown)
    if stack_of(model.members) is not None:
        return _beside_levels(model, query, new, interval, band)
    stand = stand_ins(model.schema, query, new)
    value, lower, upper, _, _, fits = _judged(model, stand.query, interval, band)
    answers = combined(stand, rows, (value, lower, upper, fits), interval)
    texts = np.array(new_level_reasons(model.schema, query, new, stand, rows, value), dtype=object)
    blind = np.full(len(rows), VERDICTS[-1], dtype=object)
    filled = [*answers[:3], blind, texts, answers[3]]
    if unknown.all():
        return filled
    known = _judged(model, query.take(~unknown), interval, band)
    out = []
    for with_known, with_new in zip(known, filled, strict=True):
        column = np.empty(query.rows, dtype=with_known.dtype)
        column[~unknown], column[unknown] = with_known, with_new
        out.append(column)
    return out


def _beside_levels(
    model: Fitted, query: Query, new: Mapping[str, npt.NDArray[np.bool_]], interval: float, band: Band
) -> list[npt.NDArray[Any]]:
    """Return what `_judged` does, where the process answers for levels that were not measured: those are blind."""
    unseen = {name: tuple(sorted(set(query.columns[name][rows].tolist()))) for name, rows in new.items()}
    factors = {f.name: f for f in model.schema.factors}
    known = {name: np.where(rows, factors[name].levels[0], query.columns[name]) for name, rows in new.items()}
    worded = Query(query.rows, {**query.columns, **known})
    levelled = replace(model, feasibility=substituted_feasibility(model.feasibility, unseen))
    value, lower, upper, verdict, reason, fits = _judged(levelled, query, interval, band, worded)
    for row in np.flatnonzero(np.any(list(new.values()), axis=0)):
        texts = [
            not_measured(factors[name], str(query.columns[name][row]), "estimated from")
            for name, rows in new.items()
            if rows[row]
        ]
        verdict[row], reason[row] = VERDICTS[-1], "; ".join(texts)
    return [value, lower, upper, verdict, reason, fits]


def distinct_rows(query: Query) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the first row of each configuration, and for every row which of these it repeats.

    Configurations follow those that differ in one factor: every second run of a factor's values is turned round.

    Examples
    --------
    >>> rows = {"workers": np.array([8.0, 64.0, 8.0, 64.0, 8.0]), "batch": np.array([1.0, 1.0, 2.0, 2.0, 1.0])}
    >>> first, inverse = distinct_rows(Query(5, rows))
    >>> first.tolist(), inverse.tolist()
    ([0, 2, 3, 1], [0, 3, 1, 2, 0])
    """
    code = np.zeros(query.rows, dtype=np.int64)
    for values in query.columns.values():
        _, places = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
        last = int(places.max(initial=0))
        places = np.where(code % 2 == 1, last - places, places)
        # The codes are made small again, so that no product overflows.
        _, code = np.unique(code * (last + 1) + places, return_inverse=True)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse


def _answers(model: Fitted, query: Query, interval: float, band: Band) -> tuple[npt.NDArray[Any], ...]:
    """Return the value, the ends of the band, the probability of fitting, and the 90 % width in ln T."""
    schema = model.schema
    value, lower, upper, log_width = central_and_band(model, query, interval, band)
    usable = np.isfinite(value) & (value > 0.0)
    if not usable.all():
        row = int(np.argmin(usable))
        given = ", ".join(f"{k}={v[row]}" for k, v in query.columns.items())
        raise GenperfError(
            f"the model has no finite {schema.target.name} above zero at {given}", hint="predict nearer to the data"
        )
    fits = np.ones(query.rows) if model.feasibility is None else model.feasibility.probability(query.columns)
    return value, np.minimum(lower, value), np.maximum(upper, value), fits, log_width


def _words(model: Fitted, query: Query, log_width: Array) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the verdict and the reason of each row, each of shape (rows,)."""
    words = np.empty((2, query.rows), dtype=object)
    for start in range(0, query.rows, PREDICTION.judged):
        rows = np.arange(start, min(start + PREDICTION.judged, query.rows))
        part = query.take(rows)
        basis = basis_of(model.members, model.schema, part)
        words[:, rows] = verdicts(model.schema, part, model.evidence, basis, log_width[rows])
    return words[0], words[1]


def _further(model: Fitted, source: Source, interval: float, band: Band) -> dict[str, Array]:
    """Predict further quantities; NaN where a level is unknown to them and was measured of the model itself."""
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
    """Return the central predictions of further quantities by name; NaN where a level is unknown."""
    out: dict[str, Array] = {}
    for name, one in model.further.items():
        known = known_rows(one, columns, rows)
        out[name] = np.full(rows, np.nan)
        if known.any():
            out[name][known] = central_times(one.members, {n: v[known] for n, v in columns.items()})
    return out


def known_rows(
    model: Fitted, columns: Mapping[str, Any], rows: int, new_levels: Schema | None = None
) -> npt.NDArray[np.bool_]:
    """Return the rows whose levels were all measured, or have measured ones that replace them, shape (rows,).

    With the schema of another model, levels that are new to that model too are let through where this one can answer.
    """
    known = np.ones(rows, dtype=bool)
    elsewhere = {} if new_levels is None else {f.name: f.levels for f in new_levels.factors}
    for factor in model.schema.factors:
        if not factor.numeric and factor.name in columns:
            levels = labels(columns[factor.name]).astype(str)
            measured = np.isin(levels, [*factor.levels, *model.schema.substituted.get(factor.name, ())])
            if factor.name in elsewhere and len(factor.levels) > 1:
                measured |= ~np.isin(levels, elsewhere[factor.name])
            known &= measured
    return known
