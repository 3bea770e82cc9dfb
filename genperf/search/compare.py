"""`compare`: groups, levels of a factor or changes of a configuration, ranked, with the probability of being best."""

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Columns, Index, Mask
from genperf.attribution.answers import Line, PrintedAnswer, described
from genperf.attribution.draws import curves_of
from genperf.attribution.terms import term_contributions
from genperf.errors import GenperfError, attempted, did_you_mean
from genperf.facts import ENDS, Paid, Training, ends_of
from genperf.fitting import model_of
from genperf.formula import call, values_of
from genperf.formula.amounts import amount
from genperf.models import MODELS
from genperf.models.network import BANDWIDTH, HINTS
from genperf.panel import Table
from genperf.panel.configurations import kept_beside, left_open
from genperf.panel.legend import same
from genperf.panel.panel import StepWork, Target
from genperf.panel.quantities import (
    ONE,
    QUANTITIES,
    REPORTED,
    beside,
    paid_by_runs,
    paid_for,
    price_of,
    quantities_of,
    training_of,
)
from genperf.peaks import link_rate
from genperf.prediction import read_query
from genperf.prediction.predict import THROUGHPUT
from genperf.result import FitResult, GroupedResult, answering
from genperf.search.problem import JOINT_DRAWS, models_of, most_measured_group, winners
from genperf.table.cells import records
from genperf.table.clean import is_number, label
from genperf.table.shape import VARIANT, variants_of
from genperf.vocabulary.names import canonical_of
from genperf.words.growth import price_text, prices_text
from genperf.words.numbers import (
    heading,
    join_values,
    million_of,
    share_text,
    singular,
    suited_unit,
    taken_text,
    three_digits,
    with_article,
    with_unit,
)
from genperf.words.verdict import BLIND, LIKELY_TO_FIT, TRUST, fits_text, with_footnotes

#: The column that names an alternative, and the alternative that changes nothing.
CHANGE, NOTHING = "change", "as it is"
#: What it is called in a sentence.
UNCHANGED = "the given configuration"

#: The probability of being the best below which the first two are not told apart.
LEAST_LIKELY = 0.6
#: The probability of fitting below which a run most likely fails.
LEAST_FITTING = 0.5
#: Combinations of levels that are compared unasked, at most.
MOST_COMBINATIONS = 100
#: Relative difference of the work of a step below which steps do the same: of rounding.
SAME_WORK = 1e-9


class Ranking(PrintedAnswer, frozen=True, eq=False):
    """Alternatives at one configuration, the best first."""

    at: dict[str, Any]  #: The configuration, as it was given.
    names: tuple[str, ...]  #: The columns that tell the alternatives apart.
    #: A row per alternative: the names, the predicted value, `lower, upper`, `relative` (to the best), `best` (the
    #: probability of being the best), with a price and for changes `cost` (of a million samples, or of the work that
    #: all share) and `cheapest` (the probability that it is the least), `fits` where some may fail (those that most
    #: likely do stand last, and win nothing), `verdict`, `reason`. Where a throughput was
    #: measured, or the steps differ in their work, first `throughput, throughput_lower, throughput_upper`, by which
    #: they are ranked.
    table: pd.DataFrame
    sentence: str  #: The answer in words.
    #: Whether the interval of the difference between the first two excludes zero, and neither is blind.
    certain: bool
    quantity: Target
    notes: tuple[str, ...] = ()
    #: Whether the predicted value is that of a step: not where a throughput was measured and no work was given.
    steps: bool = True

    @property
    def telling(self) -> list[str]:
        """The columns of the names in which the alternatives differ."""
        return [name for name in self.names if len({*self.table[name]}) > 1]

    @property
    def lines(self) -> list[Line]:
        """The answer in words, the alternatives with three significant digits each, and the reasons as footnotes."""
        table, quantity = self.table, self.quantity
        rate_heads = zip(("throughput", "from", "to"), THROUGHPUT, strict=True)
        numbers = {head: table[name] for head, name in rate_heads if name in table}
        if self.steps or not numbers:
            # All times are in the unit that suits the best one.
            size, unit = suited_unit(table[quantity.name][0], quantity.unit)
            ends = {heading(replace(quantity, unit=unit)): quantity.name, "lower": "lower", "upper": "upper"}
            numbers |= {head: table[name] / size for head, name in ends.items()}
        numbers["x best"] = table["relative"]
        columns: dict[str, Any] = {name: table[name].map(str) for name in self.telling}
        columns |= {head: values.map(three_digits) for head, values in numbers.items()}
        for name in ("best", "cost", "cheapest", "fits"):
            if name in table:
                in_percent = (100 * table[name]).map("{:.0f} %".format)
                columns[name] = table[name].map(three_digits) if name == "cost" else in_percent
        # A throughput in tokens has a column.
        with_columns = {"tokens_per_s"} if quantity.samples == "tokens" else set()
        reported = {n: QUANTITIES[n] for n in REPORTED if n in table and n not in with_columns}
        for name, row in reported.items():
            head = f"{row.label} ({row.unit})" if row.unit else row.label
            columns[head] = table[name].map(share_text if row.is_share else three_digits)
        columns["verdict"], footnotes = with_footnotes(table["verdict"], table["reason"])
        same = join_values({name: table[name][0] for name in self.names if name not in self.telling})
        title = f"the best first; each with {same}" if same else "the best first"
        return [self.sentence, (title, pd.DataFrame(columns)), *footnotes]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {
            "quantity": described(self.quantity),
            "at": self.at,
            "ranking": records(self.table),
            "certain": self.certain,
            "sentence": self.sentence,
            "notes": list(self.notes),
        }

    @property
    def content(self) -> list[Line]:
        """The lines, and the notes."""
        return [*self.lines, *self.notes]


def compare(
    source: FitResult | GroupedResult | Table | str | Path | pd.DataFrame,
    at: Mapping[str, Any] | None = None,
    over: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    maximize: bool = False,
    price: Paid | str | None = None,
    per: str | None = None,
    work: str | None = None,
    tokens: str | float | None = None,
    peak: str | float | None = None,
    interval: float = 0.9,
    seed: int = 0,
    **configuration: Any,
) -> Ranking:
    """Rank groups, the levels of a categorical factor, or changes of one configuration.

    Parameters
    ----------
    source : FitResult, GroupedResult, Table, DataFrame or path
        A model or its file, or a table that is fitted. Of groups, each that `at` leaves is an alternative.
    at : mapping, optional
        The configuration, also as keywords; factors left out are those of a measured run. For a level that was not
        measured the measured ones stand.
    over : str, mapping or sequence of mapping, optional
        A categorical factor whose levels are alternatives, or a column of groups: those that differ in it alone. Where
        omitted and there are no groups, the levels of all that `at` leaves open, each with each. Or changes of the
        configuration, `{"gpus": 16}` or `[{"gpus": 16}, {"batch": 64}]`, which stand beside it as it is: factors,
        another group, and the `bandwidth` of another network where `at` has that of the runs.
    maximize : bool
        Whether the largest value is the best; else the smallest.
    price, per : str, optional
        Of a machine, `2/h`, and what counts the machines: then, and for changes, alternatives have the cost of their
        work and the probability that it is the least.
    work : str, optional
        The samples of a step, a formula over the columns; from the columns where omitted.
    tokens : str or float, optional
        Of a training of a transformer, `300B`: each alternative then has the days that it takes, and with a price its
        cost.
    peak : str or float, optional
        Of a transformer, `h100` or the operations per second of a device at most: each alternative then has its
        utilisation (MFU), a fraction.
    interval : float
        Nominal coverage.
    seed : int
        Of the joint draws. Groups are independent; levels and changes of one model share its draws.

    Raises
    ------
    GenperfError
        Where there are not two alternatives.

    Examples
    --------
    >>> runs = pd.DataFrame([(f, n, s / n + 1) for f, s in (("jax", 8), ("mxnet", 9)) for n in (1, 2, 4, 8)],
    ...                     columns=["framework", "workers", "seconds"])
    >>> table = gp.read_table(runs, time="seconds", extrinsic="workers", group="framework")
    >>> compare(gp.fit(table, model="a/workers + c"), workers=4).table[["framework", "time"]].round(2)
      framework  time
    0       jax  3.00
    1     mxnet  3.25

    Of groups by several columns those are compared that differ in one.

    >>> runs["precision"] = "fp32"
    >>> runs = pd.concat([runs, runs.query("framework == 'jax'").assign(precision="fp16")])
    >>> table = gp.read_table(runs, time="seconds", extrinsic="workers", group=["framework", "precision"])
    >>> answer = compare(gp.fit(table, model="a/workers + c"), workers=4, over="framework")
    >>> len(answer.table), answer.notes
    (2, ('jax, fp16 is not compared: no other group differs from it in that alone',))
    """
    at, over = {**(at or {}), **configuration}, [over] if isinstance(over, Mapping) else over
    factor, changes = (over, ()) if over is None or isinstance(over, str) else (None, tuple(over))
    # A table is read with what a question names as settings: the factor as well, though it has no value.
    fitted = model_of(source, {**({factor: ""} if factor else {}), **at})
    models, levels = models_of(fitted, at)
    groups, of_all = fitted.group, models
    if factor in groups:
        models, factor = _with_counterparts(models, factor), None
    changes = changes or _changes_by_name(answering(models[0][1], levels), factor, levels, groups)
    maximize |= models[0][1].schema.target.is_rate
    columns = (CHANGE,) if changes else _factors_over(answering(models[0][1], levels), factor, levels, groups)
    compared = _models_of_changes(fitted, models, changes, at)
    # What changes leave open is as in the runs of the first model.
    starts = compared[:1] if changes else compared
    shared_count = _shared_count([model for _, model, _ in starts], levels)
    levels = {**levels, **shared_count}
    setting = _shared_setting([(group, model) for group, model, _ in starts], levels, columns)
    training, paid = training_of(tokens, peak), price_of(price, per) if isinstance(price, str) else price
    question = _Question(columns, work, interval, training, paid, maximize, bool(changes), setting)
    outcomes, refusals = _outcomes(compared, levels, question, seed)
    table, draws = _joint_table(outcomes, question)
    if len(table) < 2:
        named = join_values({name: at[name] for name in groups if name in at})
        hint = f"{f'leave {named} out, or ' if named else ''}{_example_of_change(models[0][1], levels)}"
        raise GenperfError("there is one alternative, and nothing to compare it with", hint=hint)
    # Where groups alone are changed, they tell the alternatives apart.
    shown_factors = [name for name in columns if not groups or len({*table[name]}) > 1]
    names, schema = tuple(dict.fromkeys([*groups, *shown_factors])), outcomes[0].result.schema
    ranked, order = _ranking_table(table, names, schema.target, maximize)
    # ln of the second over the first, in the same draws: the order is certain where its interval is above zero.
    low, high = np.quantile(draws[:, order[1]] - draws[:, order[0]], ends_of(interval)).tolist()
    second_fails = bool(_fails(table)[order[1]])
    telling = [name for name in names if len({*ranked[name]}) > 1]
    sentence = _sentence(ranked, telling, schema.target, (low, high), interval, second_fails)
    sentence += _cost_sentence(outcomes, ranked, telling, question) if "cost" in ranked else ""
    # Beside levels that settle it, the value of each alternative.
    taken = [setting] if changes else [outcome.columns for outcome in outcomes]
    left = [name for name in setting if not changes or not all(name in change for change in changes)]
    cells = {name: [value for of_some in taken for value in np.atleast_1d(of_some[name])] for name in left}
    cells |= {name: [value] for name, value in shared_count.items()}
    notes = [taken_text(cells)] if cells else []
    notes += _notes(outcomes, ranked, groups)
    notes += [f"{', '.join(key)} was not fitted: {why}" for key, why in fitted.failures.items()]
    alone = [", ".join(group.values()) for group, _ in of_all if all(group != other for other, _ in models)]
    notes += [f"{name} is not compared: no other group differs from it in that alone" for name in alone]
    notes += refusals
    certain = (low > 0.0 or second_fails) and BLIND not in [*ranked["verdict"][: 1 if second_fails else 2]]
    at = {name: text if (value := amount(str(text))) is None else value for name, text in at.items()}
    return Ranking(at, names, ranked, sentence, certain, schema.target, tuple(notes), schema.of_steps)


class _Question(Struct, frozen=True):
    """What is asked of the alternatives of every model."""

    columns: tuple[str, ...]  #: The factors whose levels they are, or the column of their changes.
    work: str | None
    interval: float
    training: Training
    price: Paid | None
    maximize: bool
    of_changes: bool
    setting: Mapping[str, Any]  #: What is not given, and the same for all alternatives.


class _Outcome(Struct, frozen=True, eq=False):
    """The predictions of the alternatives that one model answers for."""

    result: FitResult
    columns: Columns
    #: A row per alternative: its names, the predicted value, `lower, upper, verdict, reason`, what is reported beside.
    table: pd.DataFrame
    #: Shape (draws, rows). ln of the value, jointly.
    drawn: Array
    step: StepWork
    notes: list[str]  #: Which alternatives may fail.
    prices: tuple[Paid | None, ...]  #: That of the question, or what the runs of each alternative cost.

    @property
    def samples(self) -> Array | None:
        """The samples that the work of a step is in proportion to; None where they are not known."""
        return None if self.step.proportional is None else values_of(self.step.proportional, self.columns)

    @property
    def cost(self) -> Array | None:
        """Return what the seconds of a step are multiplied by to be the cost of a million samples; None if unknown."""
        panel, price, work = self.result.panel, self.prices[0], self.step.proportional or self.step.total
        if work is None or not self.result.schema.target.is_time or (price is None and panel.counted_node is None):
            return None
        # Where all steps do the same work, which nothing tells, it is the cost of one.
        steps = call("divide", 1.0 if work == ONE else 1e6, work)
        name = "machine_hours" if price is None else "cost"
        of_one = None if price is None else replace(price, per_second=1.0)
        values = quantities_of(panel, {"value": ONE, "steps": steps}, of_one).values([name], self.columns)[name]
        per_second = [1.0 if paid is None else paid.per_second for paid in self.prices]
        return np.asarray(values * per_second)


def _outcomes(
    compared: Sequence[tuple[Mapping[str, str], FitResult, Mapping[str, Mapping[str, Any]]]],
    at: Mapping[str, Any],
    question: _Question,
    seed: int,
) -> tuple[list[_Outcome], list[str]]:
    """Return what each group's model answers of its changes, and a note of each group that cannot be compared."""
    outcomes, refused = list[_Outcome](), dict[str, GenperfError]()
    for place, (group, model, changes) in enumerate(compared):
        outcome = attempted(_outcome, model, group, at, changes, question, seed + place)
        if isinstance(outcome, _Outcome):
            outcomes.append(outcome)
        else:
            refused[join_values(group)] = outcome
    if refused and (question.of_changes or sum(len(outcome.table) for outcome in outcomes) < 2):
        raise next(iter(refused.values()))
    return outcomes, [f"{group} is not compared: {error.message}" for group, error in refused.items()]


def _joint_table(outcomes: Sequence[_Outcome], question: _Question) -> tuple[pd.DataFrame, Array]:
    """Return the alternatives of all models, and in joint draws ln of what is least for the best, (draws, rows)."""
    quantity, ln_values = outcomes[0].result.schema.target, np.hstack([outcome.drawn for outcome in outcomes])
    table = pd.concat([outcome.table for outcome in outcomes], ignore_index=True)
    # What most likely fails is neither the best nor the cheapest.
    failing = np.where(_fails(table), np.inf, 0.0)
    priced = {price is not None for outcome in outcomes for price in outcome.prices}
    if priced == {True} or (question.of_changes and priced == {False}):
        cost = _concatenated([outcome.cost for outcome in outcomes])
        if cost is not None:
            cheapest = winners(ln_values + np.log(cost) + failing).mean(axis=0)
            table = table.assign(cost=table[quantity.name] * cost, cheapest=cheapest)
    samples = _concatenated([outcome.samples for outcome in outcomes])
    least_is_best = ln_values
    if question.maximize:
        least_is_best = -ln_values
    elif samples is not None and (quantity.throughput or np.ptp(np.log(samples)) > SAME_WORK):
        least_is_best = ln_values - np.log(samples)
        ends = zip(THROUGHPUT, (quantity.name, "upper", "lower"), strict=True)
        table = table.assign(**{name: samples / table[end] for name, end in ends})
    return table.assign(best=winners(least_is_best + failing).mean(axis=0)), least_is_best


def _fails(table: pd.DataFrame) -> Mask:
    """Return which alternatives most likely fail; none where all do."""
    fails = table["fits"].to_numpy(float) < LEAST_FITTING
    return fails & ~fails.all()


def _ranking_table(
    table: pd.DataFrame, names: tuple[str, ...], quantity: Target, maximize: bool
) -> tuple[pd.DataFrame, Index]:
    """Return the alternatives as `Ranking.table` has them, the best first, and their places in the given table."""
    by_work = THROUGHPUT[0] in table
    values = table[THROUGHPUT[0] if by_work else quantity.name].to_numpy(float)
    order = np.lexsort((-values if by_work or maximize else values, _fails(table)))
    reported = [f"{name}{end}" for name in REPORTED for end in ENDS]
    columns = [*names, *THROUGHPUT, quantity.name, "lower", "upper", "relative", "best", "cost", "cheapest", *reported]
    columns += ["fits"] if (table["fits"] < LIKELY_TO_FIT).any() else []
    ranked = table.assign(relative=values / values[order[0]])
    ranked = ranked[[name for name in (*columns, "verdict", "reason") if name in ranked]]
    return ranked.iloc[order].reset_index(drop=True), order


def _notes(outcomes: Sequence[_Outcome], ranked: pd.DataFrame, groups: tuple[str, ...]) -> list[str]:
    """Return which alternatives may fail, and what is supposed of their work."""
    notes = [note for outcome in outcomes for note in outcome.notes]
    if THROUGHPUT[0] in ranked:
        assumed = [(o.step.assumption, o.result.panel.work_option) for o in outcomes if o.step.assumption]
        return notes + list(dict.fromkeys(f"{text}; {option} says otherwise" for text, option in assumed))
    # Groups may be those of a batch.
    differing = [n for n in groups if canonical_of(n) in ("batch", "global_batch") and len(set(ranked[n])) > 1]
    not_alike = "so a step of one is not the work of another"
    return notes + [f"the alternatives differ in {name}, {not_alike}: --at {name}=VALUE" for name in differing]


def _with_counterparts(
    models: Sequence[tuple[dict[str, str], FitResult]], over: str
) -> list[tuple[dict[str, str], FitResult]]:
    """Return the groups from which another differs in the column `over` alone; all where there are none."""
    rest = [tuple(level for name, level in group.items() if name != over) for group, _ in models]
    return [pair for pair, levels in zip(models, rest, strict=True) if rest.count(levels) > 1] or [*models]


def _models_of_changes(
    fitted: FitResult | GroupedResult,
    models: Sequence[tuple[dict[str, str], FitResult]],
    changes: Sequence[Mapping[str, Any]],
    at: Collection[str],
) -> list[tuple[dict[str, str], FitResult, dict[str, Mapping[str, Any]]]]:
    """Return the groups that answer, each with its model and its changes by name."""
    are_values = len(changes) > 1 and len({frozenset(change) for change in changes}) == 1
    by_name: dict[str, Mapping[str, Any]] = {join_values(change): change for change in changes}
    if changes and not (are_values and {*at}.isdisjoint(changes[0])):
        by_name = {NOTHING: {}, **by_name}
    into_groups = {name: change for name, change in by_name.items() if not change.keys().isdisjoint(fitted.group)}
    within_group = {name: change for name, change in by_name.items() if name not in into_groups}
    if not into_groups:
        return [(group, model, within_group) for group, model in models]
    # One group is changed into others: the first is none of these.
    new_levels = [{n: label(v) for n, v in change.items() if n in fitted.group} for change in into_groups.values()]
    others = [pair for pair in models if not any(levels.items() <= pair[0].items() for levels in new_levels)]
    first_group, first_model = most_measured_group(others or models)
    answering_models = [(first_group, first_model, within_group)] if within_group else []
    for change in into_groups.values():
        group = {n: label(change.get(n, level)) for n, level in first_group.items()}
        of_factors = {n: value for n, value in change.items() if n not in fitted.group}
        model = fitted.of_group(tuple(group.values()))
        answering_models.append((group, model, {join_values(of_factors) if of_factors else NOTHING: of_factors}))
    return answering_models


def _outcome(
    result: FitResult,
    group: Mapping[str, str],
    at: Mapping[str, Any],
    changes: Mapping[str, Mapping[str, Any]],
    question: _Question,
    seed: int,
) -> _Outcome:
    """Predict the alternatives of one model: their table, joint draws of ln T, and notes on what may not fit."""
    result, interval = answering(result, at, *changes.values()), question.interval
    alternatives, frame, rates = _alternatives(result, at, question.columns, changes, question.setting)
    columns, target = read_query(frame, result.schema).columns, result.schema.target.name
    panel = result.panel.within(group)
    ln_network_ratio = _ln_network_ratio(result, columns, rates, seed)
    predicted = result.predict(frame, interval)[[target, "lower", "upper", "verdict", "reason", "fits"]]
    predicted = _on_network(predicted, target, rates != 1.0, ln_network_ratio, interval).reset_index(drop=True)
    names = pd.DataFrame([{**group, **dict(zip(question.columns, key, strict=True))} for key in alternatives])
    texts = [fits_text(probability) for probability in predicted["fits"].tolist()]
    called = names[CHANGE].replace(NOTHING, UNCHANGED) if changes else map(join_values, records(names))
    notes = [f"{name}: {text}" for name, text in zip(called, texts, strict=True) if text]
    ends = [predicted[end].to_numpy(float) for end in (target, "lower", "upper")]
    levels = [name for name, cells in columns.items() if cells.dtype.kind in "OU"]
    rows = [{**group, **{name: str(columns[name][row]) for name in levels}} for row in range(len(frame))]
    prices = tuple(question.price or paid_by_runs(panel.legend, row) for row in rows)
    quantities = beside(panel, columns, ends, question.training, prices[0] if len({*prices}) == 1 else None)
    table = pd.concat([names, predicted.assign(**quantities)], axis=1)
    drawn = curves_of(result, columns, exact=True).joint_draws(JOINT_DRAWS, seed) + ln_network_ratio
    return _Outcome(result, columns, table, drawn, panel.work_of_step(question.work), notes, prices)


def _on_network(predicted: pd.DataFrame, name: str, is_other: Mask, ln_ratio: Array, interval: float) -> pd.DataFrame:
    """Return predictions times the ratio of another network's times, with the errors of both, taken as independent."""
    if not is_other.any():
        return predicted
    low_level, high_level = ends_of(interval)
    low, middle, high = np.quantile(ln_ratio, (low_level, 0.5, high_level), axis=0)
    value = predicted[name].to_numpy(float)
    below, above = np.log(value / predicted["lower"]), np.log(predicted["upper"] / value)
    ends = np.exp(middle - np.hypot(below, middle - low)), np.exp(middle + np.hypot(above, high - middle))
    network_reason = "no run used that network: what arises between nodes falls with its rate, in part or wholly"
    reasons = predicted["reason"].map(lambda reason: "; ".join(filter(None, (reason, network_reason))))
    return predicted.assign(
        **{name: value * np.exp(middle), "lower": value * ends[0], "upper": value * ends[1]},
        verdict=predicted["verdict"].where(~is_other | (predicted["verdict"] != "ok"), "caution"),
        reason=predicted["reason"].where(~is_other, reasons),
    )


def _concatenated(numbers: Sequence[Array | None]) -> Array | None:
    """Return the numbers of all models in one array; None where those of any model are not known."""
    present = [values for values in numbers if values is not None]
    return np.concatenate(present) if len(present) == len(numbers) else None


def of_variants(result: FitResult) -> bool:
    """Tell whether the headers of a table name what could be compared, and no column of the model does."""
    has_levels = bool(result.schema.group) or any(len(factor.levels) > 1 for factor in result.schema.factors)
    if has_levels or result.panel.legend is None or result.panel.legend.parts:
        # Parts of a step are no variants of its time.
        return False
    measured = result.schema.target.throughput or result.schema.target.column
    columns = {name: entry.values or entry.ends or entry.levels for name, entry in result.panel.legend.columns.items()}
    return any(measured in names.values() for names in variants_of(columns).values())


def _changes_by_name(
    result: FitResult, over: str | None, at: Mapping[str, Any], groups: tuple[str, ...]
) -> tuple[dict[str, str], ...]:
    """Return what each name of a column says, `gpt-1.3b` and `gpt-6.7b`, where no levels or groups can be compared."""
    legend = result.panel.legend
    has_levels = bool(groups) or any(len(f.levels) > 1 for f in result.schema.factors)
    if legend is None or (over is None and has_levels):
        return ()
    settings = {
        column: [legend.cells_of_name(column, name) for name in legend.columns[column].levels]
        for column in legend.names
        if over in (None, column)
    }
    settings = {c: of_names for c, of_names in settings.items() if {*at}.isdisjoint(set().union(*of_names))}
    return tuple(next(iter(settings.values()))) if len(settings) == 1 else ()


def _example_of_change(result: FitResult, at: Mapping[str, Any]) -> str:
    """Return the hint to compare a configuration with another count: the largest one, or twice that."""
    axis = result.panel.axis.factor
    if axis is None:
        return "a change of the configuration: --or FACTOR=VALUE"
    count = axis.upper * (2.0 if same(str(at.get(axis.name, "")), label(axis.upper)) else 1.0)
    return f"a change of the configuration: --or {shlex.quote(f'{axis.name}={label(count)}')}"


def _factors_over(
    result: FitResult, over: str | None, at: Mapping[str, Any], groups: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the factor whose levels are compared, or all that are left open; none for groups alone."""
    with_levels = [f.name for f in result.schema.factors if not f.numeric and len(f.levels) > 1]
    if over in groups or (over is None and groups):
        return ()
    free = [name for name in with_levels if name not in at]
    if over is None and not free:
        hint = f"fit with --group {VARIANT}" if of_variants(result) else _example_of_change(result, at)
        raise GenperfError("no factor of the model has levels to compare", hint=hint)
    if over is None and math.prod(len(f.levels) for f in result.schema.factors if f.name in free) > MOST_COMBINATIONS:
        raise GenperfError("several factors have many levels", hint=f"--over {free[0]}, and --at of the others")
    if over in at:
        raise GenperfError(f"'{over}' is compared over and given a value", hint=f"leave --at {over} out")
    if over is not None and over not in with_levels:
        numbers = [f.name for f in result.schema.factors if f.numeric]
        hint = did_you_mean(over, with_levels) or f"one of {', '.join(with_levels) or 'no factor with levels'}"
        if over.partition("=")[0] in numbers:
            text = f"MODEL --over {over}=… finds the best number" if over in numbers else f"--over {over} ranks numbers"
            hint = f"genperf optimize {text}"
        elif "=" in over:
            hint = f"--over {over.partition('=')[0]}, of which all levels are compared"
        raise GenperfError(f"'{over}' is no categorical factor with several levels", hint=hint)
    return tuple(free) if over is None else (over,)


def _sentence(
    ranked: pd.DataFrame,
    names: Sequence[str],
    quantity: Target,
    ends: tuple[float, float],
    interval: float,
    second_fails: bool,
) -> str:
    """Return the answer in words, `jax is faster: …`; the ends are of ln of the second alternative over the first."""
    winner, second = (_alternative_name(ranked[[*names]].iloc[row].to_dict()) for row in (0, 1))
    by_work = THROUGHPUT[0] in ranked
    values = ranked[THROUGHPUT[0] if by_work else quantity.name].to_numpy()[:2]
    ratio, (low, high) = values.max() / values.min(), np.exp(ends)
    better = "faster" if quantity.is_time else "better"
    best = float(ranked["best"][0])
    is_blind = BLIND in [*ranked["verdict"][: 1 if second_fails else 2]]
    if (ends[0] > 0.0 or second_fails) and not is_blind:
        judged = f"{winner} is {better}"
    elif best >= LEAST_LIKELY:
        judged = f"{winner} is likely {better}"
    else:
        judged = f"{winner} and {second} cannot be told apart"
    # A difference above 100 % is read more easily as a multiple.
    is_multiple = quantity.is_time and high > 2.0
    by, *between = (three_digits(v) if is_multiple else f"{100.0 * (v - 1.0):z.0f} %" for v in (ratio, low, high))
    longer = f"takes {by} {'x as long' if is_multiple else 'longer'}"
    behind = f"{second} {longer if quantity.is_time else f'differs by {by}'}{' for the same work' if by_work else ''}"
    behind += f" ({100 * interval:g} %: {' to '.join(between).replace(' % to', ' to')})"
    text = f"{judged}: {f'{second} most likely fails' if second_fails else behind}."
    if best >= LEAST_LIKELY or second_fails:
        text += f" {winner} is the best of {len(ranked)} with a probability of {100 * best:.0f} %."
    text += f" {TRUST[BLIND].capitalize()} ({BLIND})." if is_blind else ""
    # Levels stay as they are spelled.
    return text.replace(UNCHANGED, UNCHANGED.capitalize()) if winner == UNCHANGED else text


def _alternative_name(levels: Mapping[Any, object]) -> str:
    """Return what a sentence calls the alternative of some levels: `jax, batch=64`, or `the given configuration`."""
    texts = {name: str(value) for name, value in levels.items() if value != NOTHING}
    return ", ".join(f"{name}={text}" if is_number(text) else text for name, text in texts.items()) or UNCHANGED


def _cost_sentence(
    outcomes: Sequence[_Outcome], ranked: pd.DataFrame, names: Sequence[str], question: _Question
) -> str:
    """Return which alternative does the work for the least cost, and the price."""
    result, price = outcomes[0].result, outcomes[0].prices[0]
    paid = paid_for(result.panel, None, price)[0]
    unit = f"{singular(paid)}-hours" if price is None else price.currency
    work_paid = with_article(result.schema.panel.timed)
    if not question.maximize and all(outcome.samples is not None for outcome in outcomes):
        # Work that is known but for its unit is counted in steps of one device.
        in_samples = all(outcome.step.total is not None or outcome.step.of_one_a_node for outcome in outcomes)
        counted_worker = result.panel.counted
        worker = "worker" if counted_worker is None else singular(counted_worker.name)
        work_paid = million_of(result.schema.target.samples if in_samples else f"steps of one {worker}")
    cheapest = ranked.iloc[int(ranked["cost"].where(ranked["cheapest"] > 0.0, np.inf).argmin())]
    name = _alternative_name(cheapest[[*names]].to_dict())
    sentence = f" The work costs least with {name}: {with_unit(three_digits(cheapest['cost']), unit)} for {work_paid}"
    unchanged_costs = ranked["cost"][ranked[CHANGE] == NOTHING] if CHANGE in ranked else pd.Series(dtype=float)
    if len(unchanged_costs) == 1 and name != UNCHANGED:
        sentence += f", in place of {three_digits(unchanged_costs.iloc[0])}"
    sentence += f" (the cheapest with a probability of {100 * cheapest['cheapest']:.0f} %)."
    if price is None:
        return sentence
    prices = [price_text(price.text, paid) for outcome in outcomes for price in outcome.prices if price is not None]
    return f"{sentence} The price is {prices_text(prices)}."


#: The terms of a series that arise between nodes.
BETWEEN = frozenset(o.name for family in MODELS.values() for o in family.overheads if o.place == "between")


def _shared_count(models: Sequence[FitResult], at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the count that most alternatives ran at, the largest of several, where their nodes differ in size."""
    factor = models[0].panel.axis.factor
    if factor is None or at or len({model.panel.node_size for model in models}) < 2:
        return {}
    ran = [{run.get(factor.name) for run in model.panel.runs} for model in models]
    if min(map(len, ran)) < 2:
        # A machine that ran at one count is compared as it was measured.
        return {}
    counts = Counter(count for of_model in ran for count in of_model)
    count = max((count for count in counts if count is not None), key=lambda of: (counts[of], of), default=None)
    return {} if count is None or counts[count] < 2 else {factor.name: count}


def _shared_setting(
    models: Sequence[tuple[dict[str, str], FitResult]], at: Mapping[str, Any], columns: Sequence[str]
) -> dict[str, Any]:
    """Return values for the factors that a question leaves open: those measured together in most alternatives' runs."""
    first_model = models[0][1]
    query, complete = _completed(first_model, at, bandwidth_of_runs(first_model, at))
    names = {*query, *({*columns} & {*complete})}
    opened = {name: value for name, value in left_open(first_model.panel, complete, query).items() if name not in names}
    # What the levels settle goes with them.
    typical = left_open(first_model.panel, complete, names)
    # By setting, the alternative of each run that has it.
    alternatives = defaultdict[tuple[Any, ...], list[tuple[Any, ...]]](list)
    for group, model in models:
        for run in model.panel.runs:
            if typical.keys() <= run.keys():
                of_run = *group.values(), *map(run.get, columns)
                alternatives[tuple(run[name] for name in typical)].append(of_run)
    if not alternatives:
        return opened
    ranks = {
        setting: (-len({*of_runs}), setting != (*typical.values(),), -len(of_runs), str(setting))
        for setting, of_runs in alternatives.items()
    }
    chosen = min(ranks, key=ranks.__getitem__)
    return opened | dict(zip(typical, chosen, strict=True))


def _completed(
    result: FitResult, at: Mapping[str, Any], network: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a question gives of a model's factors, without the network of the runs, and all of them."""
    query = {name: value for name, value in at.items() if name not in network}
    return query, result.query(query).single("alternatives are compared at one configuration")


def _alternatives(
    result: FitResult,
    at: Mapping[str, Any],
    columns: Sequence[str],
    changes: Mapping[str, Mapping[str, Any]],
    setting: Mapping[str, Any],
) -> tuple[list[tuple[str, ...]], pd.DataFrame, Array]:
    """Return the alternatives by the cells of some columns, their configurations, and the rates of their networks."""
    levels = {factor.name: factor.levels for factor in result.schema.factors}
    # A group by itself is one alternative, without a name beside its group's.
    keys = [*product(changes)] if changes else [*product(*(levels[name] for name in columns))]
    change_of = {key: changes[key[0]] if changes else dict(zip(columns, key, strict=True)) for key in keys}
    # A bandwidth that is no factor of the model is that of the network of the runs.
    network = bandwidth_of_runs(result, at) if changes else {}
    rows, rates = [], []
    query, complete = _completed(result, at, network)
    complete |= setting
    for change in change_of.values():
        other_network = bandwidth_of_runs(result, change)
        if other_network and not network:
            raise GenperfError(
                "another network is compared with that of the runs, which is not given",
                hint="--at bandwidth=25Gbit/s beside --or bandwidth=100Gbit/s",
            )
        settings = {n: value for n, value in change.items() if n not in other_network}
        settings = {**kept_beside(result.panel, query, complete, settings), **settings}
        rows.append(pd.DataFrame(result.query(settings).columns))
        rates.append(_rate(other_network or network) / _rate(network))
    return [*change_of], pd.concat(rows, ignore_index=True), np.array(rates)


def _rate(network: Mapping[str, Any]) -> float:
    """Return the rate of a network, as its bandwidth is written; one where none is."""
    return link_rate(str(next(iter(network.values())))) if network else 1.0


def _ln_network_ratio(result: FitResult, columns: Mapping[str, Any], rates: Array, seed: int) -> Array:
    """Return ln of what another network multiplies the time by at the alternatives, shape (draws, rows).

        T'/T = 1 − s·(1 − r^−e),   s the share of what arises between nodes, r the ratio of rates, e in [0, 1]

    How much of it follows the rate is not known, so e is uniform: latency and waiting do not, a large message does.
    """
    generator, changed = np.random.default_rng((result.seed, seed)), rates != 1.0
    if not changed.any():
        return np.zeros((JOINT_DRAWS, len(changed)))
    contributions = term_contributions(result, columns)
    between = [j for j, name in enumerate(contributions.names) if name in BETWEEN or "between nodes" in name]
    share = contributions.drawn[:, between].sum(axis=1) / contributions.drawn.sum(axis=1)
    if np.any(share[:, changed].max(axis=0, initial=0.0) <= 0.0):
        raise GenperfError(
            "the model has nothing between nodes at this configuration, which another network would change",
            hint="runs on several nodes, with a column of nodes; before: genperf ask --hint bandwidth=100Gbit/s",
        )
    draws = generator.choice(len(contributions.draw_shares), JOINT_DRAWS, p=contributions.draw_shares)
    exponent = generator.uniform(size=(JOINT_DRAWS, 1))
    return np.asarray(np.log1p(np.clip(share[draws], 0.0, 1.0) * (rates**-exponent - 1.0)))


def bandwidth_of_runs(result: FitResult, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bandwidth of a network by the name it is given, where that has a rate and names no factor."""
    factors = {f.name for f in result.schema.factors}
    named = {n: v for n, v in at.items() if n in (BANDWIDTH, *HINTS[BANDWIDTH])}
    rates = {n: v for n, v in named.items() if "bandwidth" in n or isinstance(attempted(link_rate, str(v)), float)}
    return {n: v for n, v in rates.items() if result.panel.column(n) not in factors}
