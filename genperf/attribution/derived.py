"""What follows from a prediction, with intervals: throughput, cost, formulas of them, and what growing brings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from genperf.arrays import AnyArray, Array, Columns
from genperf.attribution.answers import Scaling
from genperf.attribution.ladder import steps_along_workers
from genperf.attribution.scaling import KNEE_LEVEL, efficiency_at, scaling_along
from genperf.errors import FormulaError, GenperfError, counted
from genperf.facts import ENDS, Expectation, GrowthCounts, Interval, Paid, Stage, Training, ends_of
from genperf.formula import Formula, Name, Text, call, evaluate, parse
from genperf.formula.amounts import with_amounts
from genperf.gaussian import normal_probabilities
from genperf.normal.record import departs
from genperf.panel.panel import Panel, StepWork
from genperf.panel.quantities import ONE, QUANTITIES, Quantities, paid_for, quantities_of
from genperf.prediction import Query, read_query
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.verdict import RULES
from genperf.result import FitResult
from genperf.table.cells import source_of_columns
from genperf.vocabulary.headers import UNNAMED
from genperf.words.numbers import heading, only_for_times

#: What a formula may read of a prediction, beside the predicted value itself.
FOLLOWING = ("efficiency", *QUANTITIES)

#: Values between the ends of the predicted interval at which a formula is evaluated: its least and its largest
#: value there are its bounds. A formula that only rises or falls with time has its bounds at the ends.
INTERVAL_POINTS = 17
#: Configurations whose efficiency is computed; each takes about 20 ms.
MOST_EFFICIENCIES = 500
#: A further sample that costs at most so many times one at the smaller scale pays. A convention, as that of the
#: knee: half of the efficiency.
MOST_MARGINAL_COST = 2.0


def derived_columns(
    result: FitResult,
    predicted: Mapping[str, AnyArray],
    shows: Mapping[str, str],
    price: Paid | None = None,
    interval: float = 0.9,
    training: Mapping[str, float] | None = None,
    group: Mapping[str, str] | None = None,
) -> dict[str, Array]:
    """Return new columns by the formulas of `shows`, each with its interval: {"x": …, "x_lower": …, "x_upper": …}.

    `{"x": "time*2"}` reads what `predicted` has; a factor of the network may be that of a `group`.
    """
    factors = {f.name for f in result.schema.factors}
    inputs = {name for text in result.schema.derived.values() for name in parse(text).names}
    cells = {name: values for name, values in predicted.items() if name in factors | inputs}
    query = read_query(source_of_columns(cells, "predictions"), result.schema)
    quantities = quantities_of(result.panel.within(group or {}), training, price)
    if price is not None and not np.all(np.asarray(evaluate(quantities.node("machines"), query.columns)) > 0.0):
        text = price.per or "workers"
        what = "what is paid for is not above zero here"
        raise FormulaError(what, text=text, column=0, width=len(text), hint="--per workers")
    paths = _Paths(result, query, predicted, interval, quantities)
    columns: dict[str, Array] = {}
    # A throughput may be there already.
    taken_names = {*result.predicted_names, *predicted} - {*THROUGHPUT} | factors | {*result.further}
    text_factors = [f.name for f in result.schema.factors if not f.numeric]
    for name, text in shows.items():
        if name != text and (name in taken_names or not re.fullmatch(r"[^\W\d]\w*", name)):
            raise GenperfError(f"'{name}' cannot name a new column", hint="--show NAME=FORMULA with another name")
        # It may read what is predicted, what follows from that, and earlier new columns.
        formula = parse(with_amounts(text), [*paths.columns, *FOLLOWING], text_factors)
        if formula.logical or isinstance(formula.node, Text):
            what = f"'{name}' is to be a number, not a {'comparison' if formula.logical else 'text'}"
            hint = f'--show "{name}={result.schema.target.name}*2"'
            raise FormulaError(what, text=text, column=0, width=len(text), hint=hint)
        values = paths.value(formula)
        paths.columns[name] = values
        bounds = (values[0], values.min(axis=0), values.max(axis=0))
        columns |= {f"{name}{end}": column for end, column in zip(ENDS, bounds, strict=True)}
    return columns


class _Paths:
    """The columns that formulas read, over the predicted interval: of shape (1 + points·copies, rows)."""

    def __init__(
        self, result: FitResult, query: Query, predicted: Columns, interval: float, quantities: Quantities
    ) -> None:
        self.result, self.query, self.interval, self.quantities = result, query, interval, quantities
        target = result.schema.target.name
        #: Copies of the path: 1 of a quantity that runs from its lower end to the upper one, -1 of one that runs back.
        self.copies = [(1, *directions) for directions in product((1, -1), repeat=len(result.further))]
        self.columns: dict[str, Any] = dict(query.columns)
        # The columns of each quantity: its value and its two ends.
        bounds = {target: (target, "lower", "upper")}
        bounds |= {name: (name, f"{name}_lower", f"{name}_upper") for name in result.further}
        for place, (name, ends) in enumerate(bounds.items()):
            self.columns[name] = self._path([np.asarray(predicted[end], float) for end in ends], place)

    def _path(self, ends: Sequence[Array], place: int = 0) -> Array:
        """Return a path from one end to the other, evenly over the logarithm, below the central values."""
        center, start, end = ends
        along = np.linspace(0.0, 1.0, INTERVAL_POINTS)[:, None]
        with np.errstate(divide="ignore"):
            path = np.exp((1.0 - along) * np.log(start) + along * np.log(end))
        path[0], path[-1] = start, end
        # A step of -1 turns the path around.
        return np.vstack([center, *(path[:: directions[place]] for directions in self.copies)])

    def value(self, formula: Formula) -> Array:
        """Return a formula's values, of shape (1 + points·copies, rows)."""
        for name in [n for n in FOLLOWING if n in formula.names and n not in self.columns]:
            target = self.result.schema.target
            if not target.is_time:
                fault = f"'{name}' needs a model of a time, and this one predicts {heading(target)}"
                raise GenperfError(fault, hint=f"a formula over the factors and {target.name}")
            values = self._efficiency() if name == "efficiency" else evaluate(self.quantities.node(name), self.columns)
            self.columns[name] = values
        values = np.asarray(evaluate(formula.node, self.columns), float)
        if not np.all(np.isfinite(values)):
            text = f"{formula.text} is not finite everywhere that is asked for"
            raise GenperfError(text, hint="other values for --at")
        return np.array(np.broadcast_to(values, (1 + INTERVAL_POINTS * len(self.copies), self.query.rows)))

    def _efficiency(self) -> Array:
        """Return the path of the efficiency, highest where the time is lowest; computed once for each configuration."""
        factor, columns = self.result.panel.along(), self.query.columns
        if np.any(np.asarray(columns[factor.name], float) < factor.lower):
            fault = f"the efficiency is relative to {factor.name}={factor.lower:g}, the smallest measured count"
            raise GenperfError(fault, hint=f"--at {factor.name}={factor.lower:g} or more")
        rows = list(zip(*(cells.tolist() for cells in columns.values()), strict=True))
        distinct = dict.fromkeys(rows)
        if len(distinct) > MOST_EFFICIENCIES:
            requested = f"the efficiency of {counted(len(distinct), 'configuration')} is asked for"
            raise GenperfError(f"{requested}; at most {MOST_EFFICIENCIES} are computed", hint="ask for fewer values")
        efficiencies = {
            row: efficiency_at(self.result, dict(zip(columns, row, strict=True)), self.interval) for row in distinct
        }
        center, lower, upper = np.array([efficiencies[row] for row in rows]).T
        return self._path((center, upper, lower))


def reported_of(
    result: FitResult, panel: Panel, query: Query, expected: Expectation, training: Training, price: Paid | None = None
) -> dict[str, float]:
    """Return the quantities that answers report of one configuration and of a training, each with its ends."""
    shows = training.shows(price is not None)
    if shows and not expected.is_time:
        raise GenperfError(only_for_times(" and ".join(shows), result.schema.target))
    if not expected.is_time or not (shows or any(row.reported == "beside" for row in QUANTITIES.values())):
        return {}
    quantities = quantities_of(panel, training.given, price)
    names = [*shows]
    if "days" in shows and price is None and quantities.has("machines"):
        # Without a price a training costs the hours of its machines.
        names.append("training_hours")
    names += quantities.reported("beside")
    ends = [np.array([end]) for end in expected.value.ends]
    return {n: float(values[0]) for n, values in quantities.intervals(names, query.columns, ends).items()}


def curve_of(
    result: FitResult, target: Mapping[str, Any], work: StepWork, interval: float, level: float | None = None
) -> Scaling:
    """Return the predictions along the workers, up to a configuration and where a verdict is blind."""
    factor = result.panel.along()
    count = float(target[factor.name])
    doublings = RULES.blind if level is None else 2.0 * RULES.blind
    steps = steps_along_workers(result, target, factor.name, max(count, 2.0**doublings * factor.upper), work=work)
    return scaling_along(result, steps, level or KNEE_LEVEL, interval, np.unique(steps.of_growth(count)))


def growth_of(
    curve: Scaling,
    count: float,
    work: StepWork,
    price: Paid | None = None,
    per: str | None = None,
    of_steps: bool = True,
    of_all_or_each: bool = False,
) -> GrowthCounts:
    """Return what growing to a count brings, from the largest measured count or, inside these, the smallest."""
    counts, panel = curve.steps.counts, curve.steps.panel
    #: The places of the start and of the target among the counts.
    _, start_place, target_place, *_ = curve.steps.of_growth(count)
    # The cost is that of one sample: of 1/W steps.
    steps = None if work.total is None else call("divide", ONE, work.total)
    formulas = {"work": work.total, "steps": steps, "value": Name(curve.quantity.name)}
    quantities = quantities_of(panel, formulas, price, per)
    columns = {**curve.steps.columns, curve.quantity.name: curve.curve[curve.quantity.name].to_numpy(float)}
    # A million of what nothing names has no price.
    priced = [] if work.unit == UNNAMED else ["cost"]
    names = [name for name in ("machines", "work", "throughput", *priced) if quantities.has(name)]
    amounts = {name: np.broadcast_to(v, counts.shape) for name, v in quantities.values(names, columns).items()}
    # Where nothing counts what is paid for, what is scaled stands for it.
    amounts.setdefault("machines", counts)
    machines, samples = amounts["machines"], amounts.get("work")
    work_option = panel.work_option if samples is None else ""
    if samples is None and curve.steps.work is not None:
        # Of work that is not known by its samples, what counts is how it grows.
        samples = curve.steps.work * counts / counts[0]
    smallest, start, target = (_stage(curve, place, amounts) for place in (0, start_place, target_place))
    gain, marginal, chance, peak = None, None, 0.0, None
    if samples is not None and machines[target_place] > machines[start_place]:
        gain, marginal, chance = _marginal(curve, start_place, target_place, machines, samples)
        # Where the series departs from what is known of series, it pays with a probability of one half.
        departing = departs(np.log2(counts[target_place] / curve.steps.largest))
        chance = (1.0 - departing) * chance + 0.5 * departing
        # The largest measured throughput, where a larger count and the start come behind it.
        measured, log_times = curve.steps.measured
        best = measured[int(np.argmax(samples[measured] / np.exp(log_times)))] if len(measured) else target_place
        peak = float(counts[best]) if best < max(measured, default=0) and best < start_place else None
    return GrowthCounts(
        name=curve.along,
        paid_name=paid_for(panel, per, price)[0] if quantities.has("machines") else curve.along,
        smallest=smallest,
        start=start,
        target=target,
        sample=work.unit,
        whole=work.whole,
        of_steps=of_steps,
        of_all_or_each=of_all_or_each,
        timed=panel.timed,
        assumption=curve.steps.assumption,
        work_option=work_option,
        gain=gain,
        marginal=marginal,
        chance=chance,
        price=price,
        peak=peak,
    )


def _stage(curve: Scaling, place: int, amounts: Mapping[str, Array]) -> Stage:
    """Return one count of a curve with its prediction, efficiency and `amounts`: machines, throughput, cost."""
    row = curve.curve.iloc[place]
    at_place = {name: float(values[place]) for name, values in amounts.items()}
    count, value = float(curve.steps.counts[place]), float(row[curve.quantity.name])
    efficiency = Interval.named(row, "efficiency") if "efficiency_lower" in row else None
    return Stage(count, value, at_place.get("throughput"), efficiency, at_place["machines"], at_place.get("cost"))


def _marginal(
    curve: Scaling, start: int, target: int, machines: Array, samples: Array
) -> tuple[Interval, Interval, float]:
    """Return the gain in throughput, the cost of a further sample over that at the start, and the chance that it pays.

    Machines m and samples of a step s are at each count of the curve; the start is 1, the target 2, and t are seconds:

        gain r₂/r₁ = (s₂/s₁)/(t₂/t₁),   cost (m₂ - m₁)/(r₂ - r₁) · r₁/m₁ = (m₂/m₁ - 1)/(gain - 1), or ∞ where gain ≤ 1
    """
    times = curve.curve[curve.quantity.name].to_numpy(float)
    more_machines, more_work = machines[target] / machines[start] - 1.0, float(samples[target] / samples[start])
    # ln t₂/t₁ of each draw: one column, of this pair of counts.
    log_ratios = curve.curves.ratios(target, start)
    shortest, longest = (float(end[0]) for end in np.exp(log_ratios.quantiles(ends_of(curve.interval))))
    gains = [more_work * times[start] / times[target], more_work / longest, more_work / shortest]
    costs = [more_machines / (gain - 1.0) if gain > 1.0 else float("inf") for gain in gains]
    gain, cost = (Interval(values[0], min(values), max(values)) for values in (gains, costs))
    # cost < MOST_MARGINAL_COST, solved for ln t₂/t₁.
    paying = np.log(more_work / (1.0 + more_machines / MOST_MARGINAL_COST))
    chances = normal_probabilities((paying - log_ratios.mean) / np.maximum(log_ratios.deviation, 1e-300))
    return gain, cost, float((log_ratios.weights @ chances)[0])
