"""`suggest`: which configurations to measure next, so that the interval at a target narrows most for its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Columns
from genperf.attribution.answers import Line, PrintedAnswer
from genperf.attribution.draws import curves_of
from genperf.discrepancy import Stack
from genperf.errors import FormulaError, GenperfError, listed
from genperf.errors import suggest as similar
from genperf.facts import Interval, NextRun
from genperf.formula import evaluate, names_in, parse, substitute, values_of
from genperf.panel.configurations import at_scale, divisible, forecast_at
from genperf.panel.panel import StepWork, Target, several_nodes
from genperf.panel.quantities import QUANTITIES, quantities_of
from genperf.prediction import (
    Band,
    Query,
    central_times,
    distance_beyond,
    forecasts,
    predicted_columns,
    read_query,
    stack_of,
)
from genperf.prediction.member import stacked
from genperf.prediction.schema import query_of
from genperf.prediction.verdict import VERDICTS
from genperf.result import FitResult, GroupedResult
from genperf.search.problem import models_of
from genperf.table.cells import source_of_columns
from genperf.words.growth import next_sentence
from genperf.words.numbers import join_values, rate_unit

# What the model's form may miss beyond the data: a regime that begins there, such as a saturated link.
# Doublings i and j beyond the data have the covariance `new_regime·jump²·min(i, j)` of ln T: a measurement shows the
# regimes that begin before it, and none behind it.
#: The probability that a regime begins within a doubling, and by what it changes ln T there: a doubled time.
#: Guesses; `experiments/results/next-runs.md` holds the advice against the largest run that can be paid.
NEW_REGIME = 0.1
REGIME_JUMP = 0.7

#: Share of the runs from which the variance of residuals is estimated at least.
LEAST_ERROR_FREEDOM = 0.2
#: Candidates are powers of two below 2 to this.
MOST_POWER = 64.0


class Knowledge(Struct, frozen=True, eq=False):
    """The uncertainty of the mean predictions T at some configurations."""

    #: Shape (rows, rows). Of ln T: over the draws of all members by weight (constants and families), plus that of each
    #: member's discrepancy, and of the regimes that may begin beyond the data (its form).
    covariance: Array
    noise: Array  #: Shape (rows,). Variance of one measurement of ln T around the mean there.
    chance: float  #: The squared correlation that independent draws reach by chance.
    regimes: Array  #: Shape (rows, rows). The part of the covariance that is of regimes.

    def gains(self, target: int) -> Array:
        """Return the share of Var(t) that a run at each row c takes away, Cov(t, c)²/(Var(t)·(Var(c) + Var(ε)))."""
        variance = np.diag(self.covariance)
        with_target = self.covariance[target]
        with np.errstate(all="ignore"):
            share = with_target**2 / ((variance + self.noise) * variance[target])
        return np.asarray(np.clip(np.nan_to_num(share) - self.chance, 0.0, 1.0))

    def after(self, row: int) -> Knowledge:
        """Return the uncertainty once a row c is measured: Cov − Cov(·, c)·Cov(c, ·)/(Var(c) + Var(ε))."""
        with_row = self.covariance[row]
        total = with_row[row] + self.noise[row]
        covariance = self.covariance - np.outer(with_row, with_row) / total if total > 0.0 else self.covariance
        return replace(self, covariance=covariance)


class StackKnowledge(Struct, frozen=True, eq=False, dict=True):
    """The uncertainty of stacked processes, which are updated by a row of the value that the pool predicts."""

    stack: Stack
    #: Shape (parts, rows). ln of each part's expression; the target is the last row.
    curves: Array
    columns: Columns
    places: Sequence[int]

    @cached_property
    def _pooled(self) -> tuple[Array, Array, Array]:
        """Ln T at the rows, and the variances of its mean and of a run."""
        return self.stack.pooled(self.curves, self.columns, self.places)

    @property
    def covariance(self) -> Array:
        """Shape (rows, rows). Variances of the mean of ln T on its diagonal."""
        return np.diag(self._pooled[1])

    @property
    def noise(self) -> Array:
        """Shape (rows,). Variance of one measurement of ln T around the mean there."""
        return np.asarray(self._pooled[2] - self._pooled[1])

    def gains(self, target: int) -> Array:
        """Return the share of the target's variance that one measurement at each row takes away."""
        now = float(self.covariance[target, target])
        variances_after = [float(self.after(row).covariance[target, target]) for row in range(self.curves.shape[1])]
        return np.clip(1.0 - np.array(variances_after) / max(now, np.finfo(float).tiny), 0.0, 1.0)

    def after(self, row: int) -> StackKnowledge:
        """Return the uncertainty once a row is measured: it is the first anchor of every process, and in range."""
        stack, at = self.stack, {name: np.asarray(values)[row : row + 1] for name, values in self.columns.items()}
        centre = self._pooled[0][row]
        anchors = {name: np.concatenate([at[name], values]) for name, values in stack.anchors.items()}
        residuals = [centre - curve[row] for curve in self.curves]
        residual_parts = tuple(
            replace(part, residuals=np.append(first, part.residuals), factors=np.append(1.0, part.factors))
            for part, first in zip(stack.parts, residuals, strict=True)
        )
        reached = [max(limit.upper, float(values_of(parse(limit.factor).node, at)[0])) for limit in stack.beyond]
        beyond = tuple(replace(limit, upper=upper) for limit, upper in zip(stack.beyond, reached, strict=True))
        return replace(self, stack=replace(stack, anchors=anchors, parts=residual_parts, beyond=beyond))


def knowledge(
    result: FitResult, columns: Mapping[str, Any], predictions: Sequence[tuple[Array, Array]] | None = None
) -> Knowledge | StackKnowledge:
    """Return the uncertainty of a result at some configurations, with the chance that its form is wrong."""
    if stack_of(result.members) is not None:
        stack, curves, places = stacked(result.members, columns)
        return StackKnowledge(stack, curves, columns, places)
    ensemble = curves_of(result, columns, predictions=predictions, exact=True)
    # The covariance of what the draws expect, Σ w·(m − m̄)(m − m̄)ᵀ; `within` is that around what a draw expects.
    centred = ensemble.mean - ensemble.weights @ ensemble.mean
    between = (ensemble.weights[:, None] * centred).T @ centred
    total = sum(member.weight for member in result.members)
    of_runs = sum(member.weight / total * member.run_variance(result.spread).mean() for member in result.members)
    # The square of a correlation two standard deviations from none.
    chance = 0.0 if len(ensemble.weights) == 1 else float(4.0 * np.sum(ensemble.weights**2))
    noise, distances = np.full(len(between), float(of_runs)), distance_beyond(result.schema, columns)
    regimes = np.asarray(NEW_REGIME * REGIME_JUMP**2 * np.minimum.outer(distances, distances))
    return Knowledge(between + ensemble.within + regimes, noise, chance, regimes)


def _contained(start: Knowledge | StackKnowledge, result: FitResult) -> Knowledge | StackKnowledge:
    """Return the part of the uncertainty that intervals contain: no regimes that begin beyond the data."""
    if isinstance(start, StackKnowledge):
        return start
    noise = start.noise
    if result.panel.medians and all(member.discrepancy is None for member in result.members):
        measured = np.array([median.value for median in result.panel.medians])
        residuals = np.log(measured / central_times(result.members, result.panel.measured))
        constants = max(member.expression.freedom for member in result.members)
        freedom = max(len(measured) - constants, LEAST_ERROR_FREEDOM * len(measured))
        around_fit = max(float(residuals @ residuals / freedom), result.spread.noise**2)
        noise = np.minimum(noise, around_fit + result.spread.form**2)
    return replace(start, covariance=start.covariance - start.regimes, noise=noise)


class Suggestions(PrintedAnswer, frozen=True, eq=False):
    """Which configurations to measure next, so that the interval at a target narrows."""

    target: dict[str, Any]  #: The configuration that the decision is about.
    #: `value`, `lower`, `upper`: the prediction there now, in the quantity's unit, with the interval of a new run, as
    #: every answer has it.
    value: float
    lower: float
    upper: float
    interval: float  #: Nominal coverage.
    #: Relative half width now of the interval that a run narrows: by `band` that of the mean, or that of a new run.
    width: float
    within: float | None  #: The width that is enough.
    met: bool  #: Whether this width meets `within` already; nothing is then suggested.
    #: The batch to measure, in order: the factors, the predicted value in a column with the quantity's name (`time`),
    #: `throughput` where the one at the target is known, `cost` (machine-seconds), `width` (the one above, afterwards),
    #: `gain` (the share of the width that goes), `gain_per_cost`.
    chosen: pd.DataFrame
    candidates: pd.DataFrame  #: Every candidate as if it were the next: the same columns, the best first.
    quantity: Target  #: What is predicted.
    next_run: NextRun  #: What to measure next, as numbers.
    #: The throughput there, where the work of a step is known, and its unit.
    throughput: Interval | None = None
    rate_unit: str = ""

    @property
    def sentence(self) -> str:
        """The answer in words."""
        unit = self.quantity.unit if self.throughput is None else self.rate_unit
        return next_sentence(self.next_run, unit, self.throughput)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON; `value` has the quantity's name there, such as `time`."""
        plain = super().to_dict()
        # What these two hold is said by the sentence.
        del plain["next_run"], plain["rate_unit"]
        plain["throughput"] = None if self.throughput is None else self.throughput.value
        plain["sentence"] = self.sentence
        return {self.quantity.name if name == "value" else name: value for name, value in plain.items()}

    @property
    def content(self) -> list[Line]:
        """The batch to measure, and the answer in words."""
        return [("what to measure next", self.chosen), self.sentence]


def suggest(
    result: FitResult | GroupedResult,
    target: Mapping[str, Any] | None = None,
    *,
    cost: str = "workers",
    candidates: str | Path | pd.DataFrame | None = None,
    k: int = 1,
    within: float | None = None,
    interval: float = 0.9,
    band: Band = "confidence",
    work: str | None = None,
) -> Suggestions:
    """Return what to measure next: the candidates that narrow the interval at a target most for their cost.

    A candidate's *gain* is the share of its width that the target's interval is expected to lose by one measurement
    there (see `Knowledge.gains`). It counts the uncertainty of the constants, of the family and of the form, with the
    chance of a new regime beyond the data, and needs no measurement.

    Parameters
    ----------
    result : FitResult or GroupedResult
        A model; of several groups the target names one.
    target : mapping, optional
        The configuration that the decision is about; factors left out are those of a measured run. Where it names no
        count of what is scaled, twice the largest.
    cost : str
        What a second costs, a formula over the factors: `workers` counts machine-seconds. One that reads the predicted
        quantity (`time`) is the whole cost, as is every formula where the model predicts no time.
    candidates : path or DataFrame, optional
        What could be measured, a column a factor; by default powers of two below the target's count of workers.
    k : int
        How many to measure before the next fit: each is chosen as if those before it had been measured.
    within : float, optional
        The relative half width that is enough, such as 0.1, of the interval of `band`; no more is suggested than
        reaches it. While the verdict at the target is blind, a run is suggested all the same.
    interval : float
        Nominal coverage of the target's interval.
    band : {"confidence", "prediction"}
        Of which interval widths and gains are: that of the mean, or that of a new run, whose noise no measurement takes
        away. The interval that is shown is that of a new run, narrowed as this one.
    work : str, optional
        The samples of a step, a formula over the columns: the answer is then about the throughput, and costs read it.

    Raises
    ------
    GenperfError
        For several targets, a `k` or `within` that is not positive, or where there is nothing to measure.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.1, 4.9, 3.2, 2.1]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> advice = suggest(result, {"workers": 64})
    >>> sorted(advice.candidates["workers"]), len(advice.chosen)
    ([16.0, 32.0], 1)
    """
    models, target = models_of(result, target or {})
    if len(models) > 1:
        hint = f"result[GROUP], or in the target {join_values(models[0][0])}"
        raise GenperfError("suggest takes one model, and this holds those of several groups", hint=hint)
    ((_, result),) = models
    if not isinstance(k, int) or k < 1:
        raise GenperfError(f"{k} is not a number of measurements", hint="1 or more")
    if within is not None and not (np.isfinite(within) and within > 0):
        raise GenperfError(f"an interval cannot be within {within:g}", hint="0.1 is 10 %")
    target = forecast_at(result.panel, target)
    query = result.query(target)
    if query.rows != 1:
        raise GenperfError(f"suggest takes one target, got {query.rows}", hint="one value for each factor")
    expected, blind = _predicted(result, query, interval, "prediction")
    interval_now, _ = _predicted(result, query, interval, band)
    quantity, step = result.schema.target, result.panel.work_of_step(work)
    is_known = step.total is not None and step.known not in ("shared", "elapsed", "assumed")
    rated_step = step if quantity.is_time and (work is not None or is_known) else None
    decision = Decision(
        target, query, interval_now, expected, blind, cost, candidates, k, within, band, work, rated_step
    )
    next_run, chosen, ranked = next_runs(result, decision)
    samples = None if rated_step is None else rated_step.at(query.columns)
    rate = None if samples is None else next_run.now.dividing(float(samples[0]))
    return Suggestions(
        target={name: cells[0] for name, cells in query.columns.items()},
        value=expected.value,
        lower=expected.lower,
        upper=expected.upper,
        interval=interval,
        width=next_run.width,
        within=within,
        met=next_run.met,
        chosen=pd.DataFrame(chosen).drop(columns="place"),
        candidates=pd.DataFrame(ranked, index=ranked["place"].astype(int)).drop(columns="place"),
        quantity=quantity,
        next_run=next_run,
        throughput=rate,
        rate_unit=rate_unit(step.unit) if rate else "",
    )


class Decision(Struct, frozen=True, eq=False):
    """A configuration that is decided about, and by what runs are chosen: the parameters of `suggest`."""

    named: Mapping[str, Any]  #: What a question says of the configuration.
    query: Query
    now: Interval  #: The prediction there with the interval of `band`.
    expected: Interval  #: The same with the interval of a new run.
    blind: bool  #: Whether the verdict there is blind.
    cost: str = "workers"
    candidates: str | Path | pd.DataFrame | None = None
    k: int = 1
    within: float | None = None
    band: Band = "confidence"
    work: str | None = None
    rated_step: StepWork | None = None  #: The work of a step, where throughputs are shown.


def next_runs(result: FitResult, decision: Decision) -> tuple[NextRun, Columns, Columns]:
    """Return what to measure next, its rows, and all candidates, the best first; each with its `place` of these."""
    query, within = decision.query, decision.within
    quantity = result.schema.target
    width = (decision.now.upper - decision.now.lower) / (2.0 * decision.now.value)
    is_met = within is not None and width <= within and not decision.blind
    is_measured = decision.candidates is None and result.panel.runs_at(query.columns)[0] is not None
    names = ("place", *query.columns, quantity.name, "cost", "width", "gain", "gain_per_cost")
    ranked: Columns = dict.fromkeys(names, np.empty(0))
    chosen = ranked
    # Where no run below the target narrows it, the target itself does, unless it was measured.
    below = None if is_met else _candidates(result, query, decision.candidates)
    itself = None if is_met or is_measured or decision.candidates is not None else query
    for possible in filter(None, (below, itself)):
        ranking = _ranking_of(result, possible, width, decision)
        ranked = ranking.best_first(ranking.start, ranking.contained)
        chosen = ranking.batch(ranked, decision.k, within)
        if len(chosen["width"]):
            break
    values, counted = {name: cells[0] for name, cells in query.columns.items()}, result.panel.counted
    # A target without a count is that of a measured run.
    target_columns = {*({counted.name} if counted else ()), *(result.panel.meant(str(name)) for name in decision.named)}
    named_values = {name: value for name, value in values.items() if name in target_columns} or values
    # A run of the configuration itself shows what appears there.
    is_other = any(np.all(chosen[name] != value) for name, value in values.items())
    next_run = NextRun(
        named_values,
        places_of(values, named_values, chosen),
        # What is narrow enough is the interval that a run narrows; else it is shown as every answer shows it.
        decision.now if is_met else decision.expected,
        width,
        float(np.append(width, chosen["width"])[-1]),
        within,
        is_met,
        is_other and bool(distance_beyond(result.schema, query.columns)[0] > 0.0),
        is_measured,
    )
    if is_measured and next_run.little:
        next_run, chosen = replace(next_run, places=()), {name: cells[:0] for name, cells in chosen.items()}
    # Called by its count, as in every answer.
    return next_run if counted is None else next_run.differing(values, counted.name), chosen, ranked


def _predicted(result: FitResult, query: Query, interval: float, band: Band) -> tuple[Interval, bool]:
    """Return the prediction of one configuration with the interval of a band, and whether it is blind."""
    predicted = predicted_columns(result, query, interval, band)
    ends = (float(predicted[name][0]) for name in (result.schema.target.name, "lower", "upper"))
    return Interval(*ends), predicted["verdict"][0] == VERDICTS[-1]


#: Candidates with less than this share of the largest gain stand behind the others, however little they cost. With a
#: half, the largest run that could be paid was better for most laws (`experiments/results/next-runs.md`).
LEAST_SHARE = 0.75


class _Ranking(Struct, frozen=True, eq=False):
    """The candidates, and what one measurement at each would do to the target's interval."""

    options: Columns  #: Shape (candidates,). The factors, the predicted value, `cost`.
    start: Knowledge | StackKnowledge  #: The uncertainty now, at the candidates and then at the target.
    contained: Knowledge | StackKnowledge  #: The part of it that the intervals contain.
    width: float  #: Relative half width of the target's interval now.
    run: float  #: Variance of ln T that stays whatever is measured: the noise of a new run.

    def _narrowed(self, now: Knowledge | StackKnowledge, start: Knowledge | StackKnowledge) -> tuple[Array, Array]:
        """Return the relative half width at the target after each measurement, and the share of today's that goes."""
        target = len(now.noise) - 1
        # Where the target is certain, nothing narrows.
        total_variance = max(start.covariance[target, target] + self.run, np.finfo(float).tiny)
        before, taken_away = now.covariance[target, target], now.gains(target)[:-1]
        # First without a measurement, then after each: the variance of ln T over that at the start.
        ratios = (before * (1.0 - np.append(0.0, taken_away)) + self.run) / total_variance
        widths = np.sinh(np.arcsinh(self.width) * np.sqrt(np.maximum(ratios, 0.0)))
        width_now, widths_after = widths[0], widths[1:]
        return widths_after, 1.0 - widths_after / width_now if width_now > 0.0 else 0.0 * widths_after

    def best_first(self, now: Knowledge | StackKnowledge, contained: Knowledge | StackKnowledge) -> Columns:
        """Return the candidates with their `place` by the gain of measuring each next, the best first."""
        widths, promised = self._narrowed(contained, self.contained)
        # The intervals of a stack contain all of its uncertainty.
        gain = promised if contained is now else self._narrowed(now, self.start)[1]
        per_cost = gain / self.options["cost"]
        places = {"place": np.arange(len(widths))}
        columns = {**places, **self.options, "width": widths, "gain": promised, "gain_per_cost": per_cost}
        # A cheap run that narrows next to nothing is no advice: those with a good part of the largest gain come first.
        narrows_little = gain < LEAST_SHARE * gain.max(initial=0.0)
        # Of equal gains, such as none, the cheaper first.
        order = np.lexsort((self.options["cost"], -per_cost, narrows_little))
        return {name: cells[order] for name, cells in columns.items()}

    def batch(self, ranked: Columns, k: int, within: float | None) -> Columns:
        """Return up to k candidates in order, each chosen as if those before it had been measured."""
        now, contained = self.start, self.contained
        rows = [{name: cells[:0] for name, cells in ranked.items()}]
        while len(remaining := np.flatnonzero(~np.isin(ranked["place"], [row["place"] for row in rows[1:]]))):
            best = {name: cells[remaining[:1]] for name, cells in ranked.items()}
            if best["gain_per_cost"][0] <= 0.0:
                break
            rows.append(best)
            if len(rows) > k or (within is not None and best["width"][0] <= within):
                break
            after = now.after(int(best["place"][0]))
            now, contained = after, after if contained is now else contained.after(int(best["place"][0]))
            ranked = self.best_first(now, contained)
        return {name: np.concatenate([row[name] for row in rows]) for name in ranked}


def _ranking_of(result: FitResult, candidates: Query, width: float, decision: Decision) -> _Ranking:
    """Return the candidates with predictions, costs and rates, and what is known of them and the target."""
    # One row per candidate, and the target last.
    columns = {n: np.concatenate([candidates.columns[n], cells]) for n, cells in decision.query.columns.items()}
    predictions = forecasts(result.members, columns)
    central = central_times(result.members, columns, predictions)[:-1]
    prices = _costs(result, candidates, central, decision.cost, decision.work)
    start = knowledge(result, columns, predictions)
    run_variance = float(start.noise[-1]) if decision.band == "prediction" else 0.0
    samples = None if decision.rated_step is None else decision.rated_step.at(candidates.columns)
    rates = {} if samples is None else {"throughput": samples / central}
    options = {**candidates.columns, result.schema.target.name: central, **rates, "cost": prices}
    return _Ranking(options, start, _contained(start, result), width, run_variance)


def places_of(target: Mapping[str, Any], named: Mapping[str, Any], chosen: Columns) -> tuple[dict[str, Any], ...]:
    """Return the chosen configurations as {factor: value}, with the factors that differ from the target's values.

    Where none of those is among what the question `named`, these stand before them.
    """
    differing = [n for n in target if np.any(chosen[n] != target[n])] or list(target)
    if not {*differing} & {*named}:
        differing = [*named, *(n for n in differing if n not in named)]
    rows = zip(*(chosen[n].tolist() for n in differing), strict=True)
    return tuple(dict(zip(differing, row, strict=True)) for row in rows)


def _candidates(result: FitResult, target: Query, candidates: str | Path | pd.DataFrame | None) -> Query | None:
    """Return what could be measured, as given, or doublings up to the target; None where none is left."""
    if candidates is not None:
        return read_query(candidates, result.schema)
    if result.panel.axis.factor is None:
        return _toward(result, target)
    factor = result.panel.along()
    target_count = float(target.columns[factor.name][0])
    panel, at = result.panel.scaled_along(factor), {name: cells[0] for name, cells in target.columns.items()}
    over_nodes = panel.nodes is not None and panel.nodes != factor and bool(several_nodes(at[panel.nodes.name]))
    node_size = panel.machine.size(at, as_it_is=True)
    # Powers of two from the smallest count on, but for rounding, up to more than any cluster has; then whole nodes.
    doublings = 2.0 ** np.arange(np.ceil(np.log2(factor.lower) - 1e-9), MOST_POWER)
    if over_nodes and node_size is not None:
        doublings = np.concatenate([doublings[doublings < node_size], node_size * 2.0 ** np.arange(MOST_POWER)])
    counts = np.append(doublings[(doublings >= factor.lower) & (doublings < target_count)], target_count)
    columns = at_scale(panel, factor, counts, at, None, node_size)
    divides, feasibility = divisible(result.panel, columns), result.feasibility
    fails = np.zeros(len(counts), bool) if feasibility is None else feasibility.known_to_fail(columns)
    measured = np.array([run is not None for run in result.panel.runs_at(columns)])
    possible = np.flatnonzero(divides & ~fails & ~measured)
    # The last count is the target's.
    below = possible[possible < len(counts) - 1]
    proposed = below if below.size else possible
    if not proposed.size and measured[-1]:
        return None
    if not proposed.size:
        tried = listed([f"{count:g}" for count in dict.fromkeys(counts.tolist())])
        fault = f"the runs at {factor.name} = {tried} were measured already"
        fault += ", or known to fail" if fails.any() else ""
        fault += "" if divides.all() else ", or no multiple of the target's split"
        raise GenperfError(fault, hint="--candidates CSV, with the configurations that could be")
    return query_of(source_of_columns({name: cells[proposed] for name, cells in columns.items()}), result.schema)


def _toward(result: FitResult, target: Query) -> Query | None:
    """Return a target beyond the measured sizes and runs on the way, by doublings; None where all were measured."""
    at = {name: cells[0] for name, cells in target.columns.items()}
    beyond = {f.name: f.upper for f in result.panel.factors if f.numeric and float(at[f.name]) > f.upper}
    steps = max((np.ceil(np.log2(float(at[name]) / upper)) for name, upper in beyond.items() if upper > 0.0), default=0)
    multiples = 2.0 ** np.arange(steps + 1.0)
    columns = {name: np.full(len(multiples), cell) for name, cell in at.items()}
    columns |= {name: np.minimum(upper * multiples, float(at[name])) for name, upper in beyond.items()}
    possible = np.flatnonzero([run is None for run in result.panel.runs_at(columns)])
    if not possible.size:
        return None
    return query_of(source_of_columns({name: cells[possible] for name, cells in columns.items()}), result.schema)


def _costs(result: FitResult, query: Query, predicted: Array, cost: str, work: str | None) -> Array:
    """Return the cost of each configuration: the formula, times the predicted seconds unless it reads these."""
    quantity, panel = result.schema.target, result.panel
    formula = parse(cost, None, [f.name for f in panel.factors if not f.numeric], value="number")
    columns: dict[str, Any] = {**query.columns, quantity.name: predicted}
    quantities = quantities_of(panel, None if work is None else {"work": panel.work_of_step(work).total})
    nodes = {}
    for name in formula.names - {*columns}:
        node = quantities.node(name) if name in QUANTITIES and quantities.has(name) else panel.formula(name)
        if node is None:
            what, place = f"'{name}' is not a factor of the model", max(cost.find(name), 0)
            raise FormulaError(what, text=cost, column=place, width=len(name), hint=similar(name, columns))
        nodes[name] = node
    written_out = substitute(formula.node, nodes)
    costs = np.broadcast_to(np.asarray(evaluate(written_out, columns), float), predicted.shape)
    if quantity.is_time and quantity.name not in names_in(written_out):
        costs = costs * predicted
    possible = np.isfinite(costs) & (costs > 0)
    if not possible.all():
        row = int(np.argmin(possible))
        configuration = ", ".join(f"{name}={cells[row]}" for name, cells in query.columns.items())
        raise GenperfError(f"the cost '{cost}' is {costs[row]:g} at {configuration}", hint="a cost is above zero")
    return np.asarray(costs)
