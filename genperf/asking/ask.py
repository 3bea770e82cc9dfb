"""`ask`: the facts about one configuration, each gathered once, in the order in which they rest on each other.

A question of a table stands under its columns, read by the rules of a row; of a single configuration the runs answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Index, Mask
from genperf.asking.answer import Answer, answer_of
from genperf.attribution import Scaling
from genperf.attribution.derived import curve_of, growth_of, reported_of
from genperf.attribution.draws import curves_of
from genperf.attribution.ladder import steps_along_workers
from genperf.attribution.terms import limit_of
from genperf.errors import GenperfError, ModelError, TableError, attempted, counted, known_name, listed
from genperf.facts import (
    BestSplit,
    Cause,
    Choice,
    Curve,
    Expectation,
    Facts,
    GrowthCounts,
    Interval,
    Limit,
    NextRun,
    Paid,
    Plan,
    Planned,
    Published,
    PublishedPlace,
    Record,
    Training,
    are_whole,
)
from genperf.formula import Node, call, parse, values_of
from genperf.formula.amounts import amount, with_amounts
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS, checked_hints
from genperf.normal.exchange import minimum_exchange
from genperf.normal.record import record_like
from genperf.normal.runs import place_of_run
from genperf.normal.series import among_published, series_of, trains_networks
from genperf.panel.configurations import left_open, part_given
from genperf.panel.legend import Legend
from genperf.panel.machine import PLACES, SPLITS, Growth
from genperf.panel.meanings import MEMORY_IN_NAME
from genperf.panel.panel import Panel, StepWork, several_nodes
from genperf.panel.phrases import LAYOUT, OF_STEPS, OF_THE_DEVICE
from genperf.panel.quantities import LACKS, paid_by_runs, paid_for, parameters_of, price_of, quantities_of, training_of
from genperf.panel.question import ABSENT
from genperf.panel.read import Recognised
from genperf.panel.reading import Reading, column_named
from genperf.peaks import device_in, devices
from genperf.prediction import Query, predicted_columns
from genperf.prediction.bands import MixtureForecast
from genperf.prediction.verdict import VERDICTS
from genperf.result import FitResult, answering
from genperf.search.optimize import optimize
from genperf.search.problem import Goal, best_first, most_measured_group, winners
from genperf.search.space import layouts, split_columns
from genperf.search.suggest import Decision, next_runs
from genperf.table.cells import Source, source_of_columns
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import LEVELS, LOAD, column_of, meant_by, words_in
from genperf.words.limit import COMPUTATION
from genperf.words.numbers import join_values, rate_unit, three_digits, with_unit
from genperf.words.verdict import LIKELY_TO_FIT

#: Models, each after the levels of its group.
Groups: TypeAlias = Sequence[tuple[dict[str, str], FitResult]]
#: Relative difference up to which a count is the one that was measured: rounding errors.
EXACTLY = 1e-9
#: The cheapest counts that are compared with each other in every draw.
COMPARED = 10


class Question(Struct, frozen=True):
    """What is asked beside the configuration."""

    work: str | None = None  #: The samples of a step, a formula over the columns; from the batch columns where None.
    #: What a sample is called: images, tokens; empty where what was measured is the time of no step.
    sample: str = "samples"
    price: Paid | None = None
    per: str | None = None  #: The column that counts what the price is for; that of the workers where None.
    #: Columns of one value that are no factors, such as the batch of a group.
    constants: Mapping[str, float] = field(default_factory=dict)
    interval: float = 0.9  #: Nominal coverage.
    #: Whether the time of a step means something: not where a throughput came without the work of a step.
    steps: bool = True
    training: Training = field(default_factory=Training)  #: Of a transformer: the tokens, and the peak of a device.
    #: How much is to be done, by when and for how much: answered by how many workers that takes.
    plan: Plan | None = None
    #: Hints of the network, and words that name what the series ran on: a framework, a network.
    hints: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()  #: What is asked about by name: normal, why.
    requested: tuple[str, ...] = ()  #: What its words ask for, by the section `requested`, and rates: cost, tokens/s.
    #: What the first quantity may be at most, such as the memory of a device, `80GB`: whether it stays below is told.
    limit: str = ""
    level: float | None = None  #: The efficiency below which it may fall at some count.
    #: How many times as fast a count is sought as the configuration, or as the largest of the runs.
    times: float | None = None
    match: str = ""  #: A configuration that a count is sought to be as fast as: `64xA100`.

    def paid_by(self, legend: Legend | None, levels: Mapping[str, str]) -> Paid | None:
        """Return the price that a table has for runs of some levels; None where the hours of machines are asked for."""
        return None if "gpu-hours" in self.requested else paid_by_runs(legend, levels, self.per)

    def about(self, result: FitResult, group: Mapping[str, str]) -> Self:
        """Return the question about the model of a group, whose batch is that of its steps."""
        legend = result.panel.legend or Legend()
        return replace(
            self.on_device([*group.values(), *legend.constants.values()]),
            price=self.price or self.paid_by(result.panel.legend, group),
            sample=result.schema.target.samples,
            steps=self.work is not None or result.schema.of_steps,
            constants={**result.panel.within(group).constants, **self.constants},
            words=tuple(map(str, group.values())),
        )

    def with_words(self, options: Mapping[str, str]) -> Self:
        """Return the question with options that stand among its words; work that is given in both ways is refused."""
        texts: dict[str, Any] = {name: text for name, text in options.items() if text}
        of_words = question_of(**texts)
        works = [bool(question.plan or question.training.tokens) for question in (self, of_words)]
        if (self.price and of_words.price) or all(works):
            what = f"{listed([f'--{name}' for name in options])} in words stand beside options"
            raise GenperfError(what, hint="give all of it in words, or none")
        tokens, peak = of_words.training.tokens or self.training.tokens, of_words.training.peak or self.training.peak
        training = replace(self.training, tokens=tokens, peak=peak)
        price, plan = self.price or of_words.price, self.plan or of_words.plan
        # The best count of a job is that of its plan.
        topics = (*self.topics, *(name for name in options if name != "best" or plan is None))
        topics += ("fastest",) if options.get("best") == "fastest" and plan is None else ()
        limit = of_words.limit or self.limit
        level, times = of_words.level or self.level, of_words.times or self.times
        question = replace(self, price=price, plan=plan, training=training, topics=topics)
        question = replace(question, limit=limit, level=level, times=times)
        return replace(question, match=of_words.match.replace("/", " "), requested=of_words.requested)

    def as_fast_as(self, other: Answer) -> Self:
        """Return the question with the plan to be as fast as the configuration of another answer."""
        facts, rate = other.facts, other.throughput
        if absent := [note for note in other.notes if note.startswith(ABSENT)]:
            raise GenperfError(f"{self.match} is {absent[0]}", hint="a configuration of the runs")
        if facts is None or not facts.expected.is_time:
            raise GenperfError(f"no speed of {self.match} is known", hint="--samples 1000 --deadline 1s is a speed")
        of_job = Plan(1.0, deadline=facts.expected.value.value, of_job=True)
        return replace(self, plan=of_job if rate is None else Plan(rate, deadline=1.0), match="")

    def on_device(self, cells: Collection[str]) -> Self:
        """Return the question with the memory and the peak of the only device that cells name, where these are asked.

        A peak that no cell names is refused, and nothing fits or not where no memory is known.
        """
        question = self
        if self.limit == OF_THE_DEVICE:
            # What is sold as GB are powers of 1024.
            sizes = {f"{match[1]}GiB" for cell in cells if (match := MEMORY_IN_NAME.search(cell))}
            question = replace(question, limit=sizes.pop() if len(sizes) == 1 else "")
        if "peak" in self.topics and self.training.peak is None:
            peaks = {device.rates["16-bit"] for cell in cells if (device := device_in(cell)) is not None}
            if len(peaks) != 1:
                raise ModelError("an MFU needs the peak of a device, and no column names one", hint=LACKS["peak"][1])
            question = replace(question, training=replace(self.training, peak=peaks.pop()))
        return question


#: The options that may stand among the words of a question.
OPTIONS_OF_WORDS = (
    *("tokens", "samples", "deadline", "budget", "price", "peak", "limit", "efficiency", "best", "multiple"),
    *("match", "requested", "each", "highest_value", "lowest_value"),
)


def question_of(
    *,
    price: str | None = None,
    per: str | None = None,
    work: str | None = None,
    tokens: object = None,
    peak: object = None,
    hints: Mapping[str, str | float] | None = None,
    **plan: object,
) -> Question:
    """Read a question from numbers and texts as people write them; `plan` has its samples, deadline and budget."""
    for name in plan:
        known_name("option among words", f"--{name}", [f"--{option}" for option in OPTIONS_OF_WORDS])
    return Question(
        hints=checked_hints(hints) if hints else {},
        plan=plan_of(plan.get("samples"), plan.get("deadline"), plan.get("budget"), tokens, plan.get("best")),
        price=None if price is None else price_of(price, per),
        training=training_of(tokens, peak),
        per=per,
        work=with_amounts(work) if work else work,
        limit=str(plan.get("limit") or ""),
        level=float(str(plan["efficiency"]).rstrip("%")) / 100.0 if plan.get("efficiency") else None,
        times=float(str(plan["multiple"])) if plan.get("multiple") else None,
        match=str(plan.get("match") or ""),
        requested=tuple(filter(None, str(plan.get("requested") or "").split(", "))),
    )


def work_of(result: FitResult, question: Question) -> StepWork:
    """Return the work of a step: what the user says, what a throughput was divided into, or what columns show."""
    panel = result.panel.within(question.constants) if question.constants else result.panel
    return panel.work_of_step(question.work, question.sample) if question.sample else StepWork()


def expectation(
    result: FitResult, query: Query, interval: float, forecast: MixtureForecast | None = None
) -> tuple[Expectation, dict[str, npt.NDArray[Any]]]:
    """Return the prediction at one configuration and the columns of `predict` there; `forecast` may be given."""
    quantity = result.schema.target
    row = predicted_columns(result, query, interval, "prediction", forecast)
    value = Interval(*(float(row[name][0]) for name in (quantity.name, "lower", "upper")))
    expected = Expectation(
        name=quantity.name,
        unit=quantity.unit,
        is_time=quantity.is_time,
        value=value,
        interval=interval,
        verdict=str(row["verdict"][0]),
        reason=str(row["reason"][0]),
        fits=float(row["fits"][0]),
        held_out=result.held_out_error,
        held_out_of=result.held_out_of,
    )
    return expected, row


def compared_with_published(
    result: FitResult, curve: Scaling, count: float, work: StepWork, question: Question
) -> Published:
    """Return whether a count scales as published series do, what the hints say of its exchange, and why it is low."""
    rows, hints, panel = curve.steps.columns, question.hints, result.panel
    levels = {name: cells[-1] for name, cells in rows.items() if cells.dtype.kind in "OU"}
    legend = panel.legend or Legend()
    constant_texts = [text for name, text in legend.constants.items() if not legend.columns[name].numeric]
    # What may name a framework, a network between nodes, or that networks are trained.
    words = [*question.words, *constant_texts, *map(str, levels.values()), hints.get(BANDWIDTH, "")]
    shows_training = {MESSAGE, PARAMETERS} & {*hints} or trains_networks(panel, [*words, *question.constants])
    # Published series are of devices in nodes, and not of the cores of one machine.
    series = series_of(panel, rows, work.at) if shows_training and panel.one_machine is None else None
    normal = None if series is None else among_published(series, count, words)
    exchange = None
    if hints and curve.quantity.is_time:
        nearest = curve.steps.nearest(count)
        target = {name: cells[nearest : nearest + 1] for name, cells in rows.items()}
        seconds = float(curve.curve[curve.quantity.name].iloc[nearest]) if question.steps and not work.whole else None
        exchange = minimum_exchange(panel, hints, target, seconds, {} if series is None else series.kept)
    causes: tuple[Cause, ...] = ()
    no_cause = 0.0
    step_parts = () if panel.legend is None else panel.legend.parts
    is_parted = any(are_whole([p for p in step_parts if p.levels == first.levels]) for first in step_parts)
    if series is not None and (normal is None or normal.low) and not is_parted:
        # A usual efficiency has no cause to look for, and measured parts of the whole step need none.
        from genperf.causes import why

        # One configuration, or levels of a run that is still to be made, have no diagnosis.
        with suppress(GenperfError):
            diagnosis = why(result, levels, work=question.work, hints=hints)
            causes, no_cause = diagnosis.causes if diagnosis.needed else (), diagnosis.none
    return Published(normal, exchange, causes, no_cause, training=series is not None)


def utilisation_placed(
    panel: Panel, query: Query, quantities: Mapping[str, float], peak: float | None
) -> PublishedPlace | None:
    """Return where the utilisation at a configuration lies among published runs; None where it is not known."""
    parameters, share = parameters_of(panel), quantities.get("mfu")
    if share is None or parameters is None or not 0.0 < share <= 1.0:
        return None
    rates = ((device, precision) for device in devices().values() for precision in device.rates)
    # What has the peak that was given; nothing narrows the comparison where none has.
    at_peak = ((device.family, precision) for device, precision in rates if device.rates[precision] == peak)
    family, precision = next(at_peak, ("", "16-bit"))
    return place_of_run(share, family, float(values_of(parameters, query.columns)[0]), precision)


ONE = "ask answers for one configuration"


def ask(result: FitResult, at: Mapping[str, Any], question: Question | None = None) -> Answer:
    """Answer what to expect of one configuration, how sure that is, whether it pays, what limits it, what to run next.

    Factors left out are those of a measured run (`typical_run`), the count of workers that of the plan. For a level
    that was not measured the measured ones stand (`genperf.result.answering`).
    """
    return answer_of(facts_at(result, at, question or Question()))


def facts_at(result: FitResult, at: Mapping[str, Any], question: Question) -> Facts:
    """Return the facts about one configuration as it is named, see `ask`."""
    result = answering(result, at)
    plan: Planned | None = None
    split: BestSplit | None = None
    # What the plan, or the split, fixes beside what the question names.
    named, beside = dict[str, Any](), dict[str, Any]()
    kind: Growth | None = None
    if question.price is None and result.panel.legend is not None and result.panel.legend.prices:
        levels = {n: level for n, level in result.query(at).single(ONE).items() if isinstance(level, str)}
        question = replace(question, price=question.paid_by(result.panel.legend, levels))
    if question.times is not None:
        question = replace(question, plan=plan_of_times(result, at, question))
        at = {name: value for name, value in at.items() if name not in kept_by_plan(result.panel, at)[0]}
    if question.plan is not None:
        named, kind = kept_by_plan(result.panel, at)
        plan = planned(result, result.query(at).single(ONE), question, named, kind)
        if not named:
            beside = kept_open(result.panel, plan, at)
            nodes = result.panel.machine.columns.get("nodes")
            named = {plan.name: plan.sought.count}
            if nodes is not None and nodes.name in beside:
                named[nodes.name] = beside[nodes.name]
        at = {**named, **at}
    if LAYOUT in question.topics:
        split, beside = best_split(result, at)
        at = {**at, **split.ways}
        if plan is not None:
            # What the work takes is that of the best split.
            plan = planned(result, result.query({**at, **beside}).single(ONE), question, {**named, **split.ways}, kind)
    query = result.query({**at, **beside})
    curve = curve_of(result, query.single(ONE), work_of(result, question), question.interval, question.level)
    return replace(facts_of(result, question, query, curve, at, plan), split=split)


def best_split(result: FitResult, at: Mapping[str, Any]) -> tuple[BestSplit, dict[str, Any]]:
    """Return how the devices of a configuration are split best, of all ways that it leaves open, and what else it does.

    All splits have the same of what is left open beside them, such as the network.
    """
    panel, columns, devices = result.panel, split_columns(result), result.panel.node("workers")
    if columns is None or devices is None:
        raise GenperfError("no columns show how devices are split", hint="columns such as gpus, dp, tp and pp")
    target = result.query(at)
    count = int(values_of(devices, target.columns)[0])
    meanings = {name: part_given(panel, panel.meant(name)) for name in (*at, *target.columns)}
    fixed = {name: value for name, value in at.items() if meanings[name] not in LEVELS}
    proposed = layouts(result, count, fixed)
    # The passes of a step follow from its batches.
    settled = {*proposed.over, *(name for name, part in meanings.items() if part in (*PLACES, "micro_batches"))}
    opened = left_open(panel, target.single(ONE), at)
    beside_split = {name: value for name, value in opened.items() if name not in settled}
    over = {**proposed.over, **beside_split}
    trusted = attempted(partial(optimize, result, over, proposed.where, goal=Goal(trusted=True)))
    optimum = optimize(result, over, proposed.where) if isinstance(trusted, GenperfError) else trusted
    names = [name for name in proposed.over if name not in fixed and meanings.get(name) not in LEVELS]
    chosen = {way.name for way in columns.ways.values()}.union(names)
    ways = {name: value for name, value in optimum.configuration.items() if name in chosen}
    return BestSplit(ways, optimum.feasible, optimum is trusted, float(optimum.best["wins"].iloc[0])), beside_split


def facts_of(
    result: FitResult, question: Question, query: Query, curve: Scaling, at: Mapping[str, Any], plan: Planned | None
) -> Facts:
    """Return the facts about one configuration, with what was requested `at` it, on a curve that forecasts it.

    What not every answer shows (turn, limit, published series, curve, advice) is a function that is called when read.
    """
    panel, interval = result.panel, question.interval
    target, work = query.single(ONE), work_of(result, question)
    # Where measured levels replace another one there is no forecast of all draws.
    nearest = np.array([curve.steps.nearest(float(query.columns[curve.along][0]))])
    forecast = None if result.schema.substituted else curve.forecast.at(nearest)
    expected, row = expectation(result, query, interval, forecast)
    (run,) = panel.runs_at(query.columns)
    is_of_all = not words_in(result.schema.target.throughput or "").isdisjoint(words_of("headers.of_all"))
    is_open = work.known == "measured" and "let" not in dict(result.schema.reading) and not is_of_all
    of_steps = question.steps and work.known != "elapsed"
    growth = growth_of(curve, float(target[curve.along]), work, question.price, question.per, of_steps, is_open)
    steps = curve.steps
    measured, log_times = steps.measured
    reported = np.exp(log_times)
    if (samples := work.at(steps.columns) if growth.rated else None) is not None:
        reported = samples[measured] / reported
    runs_along = tuple(zip(steps.counts[measured].tolist(), reported.tolist(), strict=True))
    unmeasured = {name: level for name, levels in result.schema.substituted.items() for level in levels}
    step_parts = () if panel.legend is None else panel.legend.parts
    in_group = panel.within(question.constants) if question.constants else panel
    wants_tokens = expected.is_time and any(header_of(name).counted == "tokens" for name in question.requested)
    per_second = wants_tokens and quantities_of(in_group).has("tokens_per_s")
    training = replace(question.training, per_second=True) if per_second else question.training
    quantities = reported_of(result, in_group, query, expected, training, question.price)

    def limit() -> Limit:
        """Return what limits the configuration; computation of a larger share than the efficiency was slowed down."""
        limiting, efficiency = limit_of(result, query.columns, interval, forecast), growth.target.efficiency
        if not limiting.parts or limiting.parts[0].label != COMPUTATION or efficiency is None:
            return limiting
        return replace(limiting, slowed=limiting.parts[0].share.lower > efficiency.upper)

    def published() -> Published:
        """Return how the series and its use of the devices compare with published ones."""
        compared = compared_with_published(result, curve, growth.target.count, work, question)
        return replace(compared, utilisation=utilisation_placed(in_group, query, quantities, training.peak))

    return Facts(
        at=target,
        given=frozenset(map(str, at)),
        taken=left_open(panel, target, at),
        expected=expected,
        predicted={name: cells[0] for name, cells in row.items()},
        source=Path(result.schema.source).name or "runs",
        runs=result.schema.rows,
        counts=(steps.along.lower, steps.along.upper),
        growth=growth,
        runs_along=runs_along,
        turn=cache(lambda: curve.turn("slower" if growth.whole else "throughput")),
        limit=cache(limit),
        published=cache(published),
        predicted_by=lambda: (result, query.columns),
        curve=cache(lambda: _curve_for_picture(curve, growth, runs_along, samples, result.floor)),
        advice=cache(lambda: _advice(result, query, at, expected, forecast)),
        record=_track_record(result.options, panel, query, curve, growth, expected.verdict),
        unmeasured=unmeasured,
        can_fail=result.feasibility is not None,
        machines={n: float(values_of(node, query.columns)[0]) for n in LEVELS if (node := panel.node(n)) is not None},
        training=training,
        quantities=quantities,
        further={name: further_result.schema.target.unit for name, further_result in result.further.items()},
        measured=None if run is None else (Interval(run.value, run.lowest, run.highest), run.repeats),
        plan=plan,
        falls=None if question.level is None else curve.turn("efficiency"),
        # A group is known by its values, which are words of the question.
        parts=tuple([p for p in step_parts if {*p.levels.values()} <= {*question.words}]),
    )


def _track_record(
    options: Mapping[str, Any], panel: Panel, query: Query, curve: Scaling, growth: GrowthCounts, verdict: str
) -> Record | None:
    """Return how often `auto` was right on published series that were predicted like this one; None for no series."""
    is_series = options.get("approach") == "series" and LOAD.fullmatch(curve.along) is None
    # Times and rates were judged, and neither memories nor accuracies.
    if not is_series or curve.quantity.either_way or options.get("pooled_share") is not None:
        return None
    ratio, nodes = growth.target.count / curve.steps.along.upper, panel.only_node
    leaves_node = nodes is not None and bool(several_nodes(query.columns[nodes])[0])
    return record_like(min(ratio, Record.longest), leaves_node, verdict)


def _advice(
    result: FitResult, query: Query, at: Mapping[str, Any], expected: Expectation, forecast: MixtureForecast | None
) -> tuple[NextRun | None, str]:
    """Return the next run to measure, or why there is none; neither without a forecast."""
    if forecast is None:
        return None, ""
    if expected.fits < 0.5:
        return None, "it most likely fails there"
    lower, upper = (float(end[0]) for end in forecast.band(0.9, "confidence", result.floor))
    value = expected.value.value
    confidence = Interval(value, min(lower, value), max(upper, value))
    decision = Decision(at, query, confidence, confidence, expected.verdict == VERDICTS[-1])
    advice = attempted(next_runs, result, decision)
    return (None, advice.message) if isinstance(advice, GenperfError) else (advice[0], "")


def _curve_for_picture(
    curve: Scaling, growth: GrowthCounts, runs: tuple[tuple[float, float], ...], samples: AnyArray | None, floor: float
) -> Curve:
    """Return the curve up to the configuration, as throughputs where `samples`, of a step at each count, are known."""
    steps = curve.steps
    # But for rounding, up to the configuration or the largest run.
    places = np.flatnonzero(steps.counts <= max(growth.target.count, steps.largest) * 1.0001)
    forecast = curve.forecast.at(places)
    middle, (lower, upper) = forecast.central(), forecast.band(curve.interval, "prediction", floor)
    lower, upper = np.minimum(lower, middle), np.maximum(upper, middle)
    if samples is not None:
        # The longest time is the smallest throughput.
        middle, lower, upper = (samples[places] / end for end in (middle, upper, lower))
    return Curve(
        along=curve.along,
        name="throughput" if growth.rated else curve.quantity.name,
        unit=rate_unit(growth.sample) if growth.rated else curve.quantity.unit,
        interval=curve.interval,
        counts=tuple(steps.counts[places].tolist()),
        values=tuple(Interval(*row) for row in np.stack([middle, lower, upper]).T.tolist()),
        measured=runs,
    )


# --- how many machines a piece of work takes --------------------------------------------------------------------------


def plan_of(samples: object, deadline: object, budget: object, tokens: object, best: object = None) -> Plan | None:
    """Read a plan from numbers as people write them; None without samples, a deadline or a budget.

    Of tokens whose `best` count is asked for, in a word such as `cheapest`, it needs no limit.
    """
    is_limited = deadline is not None or budget is not None
    of_tokens = samples is None and tokens is not None and (bool(best) or is_limited)
    of_steps = isinstance(samples, str) and samples.endswith(OF_STEPS)
    work = tokens if of_tokens else str(samples).removesuffix(OF_STEPS) if of_steps else samples
    numbers = dict[str, float | None]()
    for name, text, example in (("samples", work, "1.2B"), ("deadline", deadline, "5d"), ("budget", budget, "20000")):
        numbers[name] = number = None if text is None else amount(str(text))
        if text is not None and (number is None or not 0.0 < number < float("inf")):
            raise GenperfError(f"--{name} '{text}' is no number above zero", hint=f"--{name} {example}")
    size = numbers.pop("samples")
    of_job = size is None and is_limited
    if size is None and not of_job:
        return None
    fastest = best == "fastest"
    return Plan(size or 1.0, **numbers, of_tokens=of_tokens, of_steps=of_steps, of_job=of_job, fastest=fastest)


def plan_of_times(result: FitResult, at: Mapping[str, Any], question: Question) -> Plan:
    """Return the plan of a speed so many times that of a configuration, of the largest count where none is named."""
    axis, work = result.panel.along(), work_of(result, question)
    named, _ = kept_by_plan(result.panel, at)
    query = result.query({**at, **({} if named else {axis.name: axis.upper})})
    seconds = float(predicted_columns(result, query, question.interval, "prediction")[result.schema.target.name][0])
    if work.whole:
        return Plan(1.0, deadline=seconds / float(question.times or 1.0), of_job=True)
    if (samples := work.at(query.columns)) is None:
        raise GenperfError("a speed needs the work of a step", hint=result.panel.work_option)
    return Plan(float(question.times or 1.0) * float(samples[0]) / seconds, deadline=1.0)


def steps_of_plan(panel: Panel, plan: Plan, work: StepWork, of_steps: bool) -> Node:
    """Return the steps of a plan, a formula over the factors: those named, or its samples or tokens over a step's."""
    if plan.of_job and not work.whole:
        hint = "--samples 1.2B, or --tokens 1T; of one run --tokens alone says how long it takes"
        raise GenperfError("a deadline and a budget are those of the work in all", hint=hint)
    if plan.of_steps:
        check_steps(work, of_steps)
        return parse(f"{plan.samples!r}").node
    if work.total is None:
        raise GenperfError("a plan needs the work of a step", hint=panel.work_option)
    work.check_sized(None if plan.of_tokens else plan.samples)
    of_a_step = quantities_of(panel, {"work": work.total, "value": 1.0})
    if plan.of_tokens and not of_a_step.has("tokens_per_s"):
        what = f"the runs count {work.unit}, and a deadline or a budget of tokens needs how many {work.unit} they are"
        raise GenperfError(what, hint="--samples 1.2B, or a column such as seq_length")
    return call("divide", plan.samples, of_a_step.node("tokens_per_s") if plan.of_tokens else work.total)


def check_steps(work: StepWork, of_steps: bool) -> None:
    """Refuse steps of runs that count other work."""
    is_other = work.known in ("shared", "elapsed") or (work.known == "measured" and not of_steps)
    if is_other and work.unit not in words_of("headers.step"):
        unit = f"{work.unit.removesuffix('s')}s"
        raise GenperfError(f"the runs count {unit}, and no steps", hint=f"so many {unit}")


def kept_by_plan(panel: Panel, at: Mapping[str, Any]) -> tuple[dict[str, Any], Growth | None]:
    """Return the machine that a question names and a plan keeps, and how the work of a step goes on along the counts.

    Splits that settle no count leave it open. A batch of all that is named stays, and with one of a device it grows.
    """
    part_of = {name: part_given(panel, panel.meant(name)) for name in at}
    machine_parts = {*part_of.values()}
    named = {name: at[name] for name, part in part_of.items() if part in PLACES}
    if machine_parts & {*PLACES} <= {*SPLITS} and "workers" not in panel.machine.settled(machine_parts):
        named = {}
    if "global_batch" in machine_parts:
        return named, "strong"
    return named, "weak" if "batch" in machine_parts else None


def kept_open(panel: Panel, plan: Planned, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a question leaves open as a plan had it at the count that it seeks."""
    return {name: value for name, value in left_open(panel, plan.sought.at, at).items() if name != plan.name}


def group_of_question(models: Groups, at: Mapping[str, Any], question: Question) -> tuple[dict[str, str], FitResult]:
    """Return the group that answers: of several with a plan that which does it best, else the most measured one."""
    rank_of = dict[int, tuple[float, float]]()
    if question.plan is not None and len(models) > 1:
        for place, (group, result) in enumerate(models):
            with suppress(GenperfError):
                named, kind = kept_by_plan(result.panel, at)
                of_group = question.about(result, group)
                rank_of[place] = planned(result, result.query(at).single(ONE), of_group, named, kind).rank
    return models[min(rank_of, key=rank_of.__getitem__)] if rank_of else most_measured_group(models)


class _Tried(Struct, frozen=True, eq=False):
    """Counts of workers, the last one perhaps that of a named machine, with what a plan takes at each."""

    columns: dict[str, AnyArray]
    counts: Array
    #: The predicted value, and the verdict.
    central: Array
    verdicts: AnyArray
    amounts: dict[str, Array]  #: `total`, `cost`, each with its ends.
    limits: dict[str, Mask]  #: By limit, which counts break it.

    def choice(self, place: int) -> Choice:
        """Return what the plan takes at one of the counts."""
        row = {name: values[place] for name, values in self.amounts.items()}
        at = {name: cells.tolist()[place] for name, cells in self.columns.items()}
        total, cost = Interval.named(row, "total"), Interval.named(row, "cost")
        return Choice(float(self.counts[place]), total, cost, str(self.verdicts[place]), at)

    def best_first(self, aim: str) -> Index:
        """Return the places of the counts that keep the plan, the best by the aim first, and of these the cheapest."""
        possible = np.flatnonzero(~np.any([*self.limits.values()], axis=0))
        return possible[best_first(self.amounts[aim][possible], self.amounts["cost"][possible])]


def planned(
    result: FitResult, at: Mapping[str, Any], question: Question, named: Mapping[str, Any], kind: Growth | None
) -> Planned:
    """Return the best count of workers, by the aim of its plan, that does the plan of a question within its limits.

    All counts of `ladder` are tried, then those beside the best one; counts that fill whole nodes where nodes are
    counted. Without a price the cost is that of machine-hours. The count of the configuration `at` is not read, unless
    the question `named` it: how long it takes there comes first. The upper ends of the intervals keep the limits.
    """
    plan, work, price, per = question.plan, work_of(result, question), question.price, question.per
    assert plan is not None
    if not (target := result.schema.target).is_time:
        raise GenperfError(
            f"how long it takes does not follow from '{target.name}'",
            hint="a column with the time of a step, or a rate",
        )
    Goal(deadline=plan.deadline, budget=plan.budget).check()
    if plan.budget is not None and price is None:
        raise GenperfError("a budget needs a price", hint="--price 2/h, with --per COLUMN for what it is paid")
    of_plan = steps_of_plan(result.panel, plan, work, question.steps)
    quantities = quantities_of(result.panel, {"steps": of_plan}, price, per)
    count, deadline, budget = result.panel.along(), plan.deadline or np.inf, plan.budget or np.inf
    spent = "machine_hours" if price is None else "cost"

    def tried_with(further: Sequence[float] = ()) -> _Tried:
        """Return what the plan takes at the counts of the ladder and further ones; a named machine is the last row."""
        columns = steps_along_workers(result, at, kind=kind, whole=True, further=further).columns
        if named:
            columns = {n: np.append(cells, np.array([at[n]], cells.dtype)) for n, cells in columns.items()}
        predicted = result.predict_columns(source_of_columns(columns), question.interval)
        ends = [np.asarray(predicted[end], float) for end in (result.schema.target.name, "lower", "upper")]
        intervals = quantities.intervals(["total", spent], columns, ends)
        amounts = {name.replace(spent, "cost"): values for name, values in intervals.items()}
        may_fail = np.zeros(len(ends[0]), dtype=bool)
        if (feasibility := result.feasibility) is not None:
            may_fail = feasibility.known_to_fail(columns) | (feasibility.probability(columns) < LIKELY_TO_FIT)
        late, too_dear = amounts["total_upper"] > deadline, amounts["cost_upper"] > budget
        limits = {"it may fail": may_fail, "late": late, "too dear": too_dear}
        return _Tried(columns, columns[count.name], ends[0], np.asarray(predicted["verdict"]), amounts, limits)

    tried = tried_with()
    counts = tried.counts[: len(tried.counts) - bool(named)]
    planned_with = partial(
        Planned,
        plan=plan,
        name=count.name,
        tried=(float(counts[0]), float(counts[-1])),
        sample="tokens" if plan.of_tokens else "steps" if plan.of_steps else work.unit,
        whole=work.whole,
        paid=paid_for(result.panel, per, price)[0],
        price=price,
        interval=question.interval,
    )
    if named:
        breaks = tuple(limit for limit, broken in tried.limits.items() if broken[-1])
        planned_with = partial(planned_with, named=tried.choice(-1), named_at=tuple(named.items()), breaks=breaks)
        # It is no count that is tried.
        tried.limits["it may fail"][-1] = True
    ranked = tried.best_first(plan.aim)
    if not len(ranked):
        runs = ~tried.limits["it may fail"]
        total, cost = tried.amounts["total"], tried.amounts["cost"]
        # Nearest comes the cheapest that likely keeps the limits, else the cheapest and the fastest one.
        likely = runs & (total <= deadline) & (cost <= budget)
        if likely.any():
            cheapest = fastest = tried.choice(int(np.argmin(np.where(likely, cost, np.inf))))
        else:
            cheapest, fastest = (tried.choice(int(np.argmin(np.where(runs, of, np.inf)))) for of in (cost, total))
        late, dear = (bool(tried.limits[limit][runs].all()) for limit in ("late", "too dear"))
        return planned_with(cheapest=cheapest, fastest=fastest, fails=not runs.any(), late=late, dear=dear)
    beside = np.searchsorted(counts, tried.counts[ranked[0]]) + np.array([-1, 1])
    lower, upper = counts[np.clip(beside, 0, len(counts) - 1)]
    if count.integer and upper - lower > 2.0:
        tried = tried_with(np.arange(lower + 1.0, upper).tolist())
        tried.limits["it may fail"][-1] |= bool(named)
        ranked = tried.best_first(plan.aim)
    compared, amounts = ranked[:COMPARED], tried.amounts
    cheapest, fastest = (tried.choice(int(tried.best_first(aim)[0])) for aim in ("cost", "total"))
    # Of the best counts, the share of the draws in which the first one is the best that keeps the limits.
    curves = curves_of(result, {name: cells[compared] for name, cells in tried.columns.items()})
    drawn = np.exp(curves.likely) / tried.central[compared]
    total, cost = (drawn * amounts[name][compared] for name in ("total", "cost"))
    aims = {"total": total, "cost": cost}
    keeps_limits = (total <= deadline) & (cost <= budget)
    best = float((curves.weights @ winners(np.where(keeps_limits, aims[plan.aim], np.inf)))[0])
    return planned_with(cheapest=cheapest, fastest=fastest, best=best)


# --- what the runs measured -------------------------------------------------------------------------------------------

#: A value, its ends, and how it is known.
Measured = tuple[float, float, float, str]


def reading_of_one_configuration(opened: Recognised) -> Reading | None:
    """Return the reading of a table whose runs are all of one configuration, or are scaled by nothing; else None."""
    try:
        reading = opened.reading
    except TableError:
        # Nothing is scaled: the table can be read as runs by themselves, if it is one of runs, one row, or repeats.
        alone = replace(opened, alone=True).reading
        repeated = {*alone.quantities, *alone.names_in_role("repeat")}
        others = [c for name, c in alone.columns.items() if name not in repeated and not c.header.kind]
        if not opened.source.runs and len(opened.source) > 1 and any(column.varies for column in others):
            raise
        return alone
    varied = [n for n in reading.names_in_role("setting", "kind") if reading.columns[n].varies]
    return None if varied or not (opened.source.runs or len(opened.source) == 1) else reading


def in_names_of_files(name: str) -> str:
    """Return how runs of a file each can say a count that their logs lack."""
    return f"no log says it: put it into the names of the files, {name}_1.log, {name}_4.log, and ask the folder"


def rows_with(reading: Reading, at: Mapping[str, str], of_files: bool = False) -> Mask:
    """Return which rows have the values `at` of columns, shape (rows,); what no run has is refused."""
    columns = reading.columns
    rows = np.ones(len(next(iter(columns.values())).texts), dtype=bool)
    for name, text in at.items():
        column = reading.scale if name == "count" else column_named(name, columns)
        nodes, of_a_node = (column_of(part, columns) for part in ("nodes", "devices_per_node"))
        if column is None and meant_by(name) == "workers" and nodes and of_a_node:
            # 2 nodes of 8 devices are 16.
            devices = columns[nodes].values * columns[of_a_node].values
            same, levels, column = devices == amount(text), [f"{count:g}" for count in np.unique(devices)], name
        elif column is None:
            what = f"the runs are of one configuration, and no column is '{name}'"
            several = f"measure a second scale and name both: genperf ask RUN1 RUN2 --at {name}={text}"
            raise TableError(what, hint=in_names_of_files(name) if of_files else several)
        else:
            same, levels = columns[column].rows_with(text, EXACTLY), [*columns[column].levels]
        if not same.any():
            measured_levels = ", ".join(levels[:4]) or "nothing"
            what = f"{column} was {measured_levels} in every run: nothing shows how {column}={text} does"
            raise TableError(what, hint=f"measure a second scale, such as {column}={text}, and name both")
        rows &= same
    return rows


def measured(source: Source, reading: Reading, name: str, rows: Mask) -> Measured | None:
    """Return the median of some rows in a column, with its ends and how it is known; None where none has a value."""
    values = reading.columns[name].values
    failed, _, _ = reading.roles.failures.endings(source.columns, len(values), (), source.name)
    measured_rows = rows & np.isfinite(values) & ~failed
    if not measured_rows.any():
        return None
    value = float(np.median(values[measured_rows]))
    if measured_rows.sum() > 1:
        low, high = float(values[measured_rows].min()), float(values[measured_rows].max())
        return value, low, high, f"median of {counted(int(measured_rows.sum()), 'run')}"
    if name in source.steady and source.steady[name][measured_rows][0][0] > 0:
        steps, low, high, slow = source.steady[name][measured_rows][0].tolist()
        outliers = f", {int(slow)} over twice it" if slow else ""
        return value, low, high, f"median of {counted(int(steps), 'step')}{outliers}, nine in ten"
    return value, value, value, "one value"


def measured_text(quantity: str, unit: str, measurement: Measured, at: Mapping[str, Any]) -> str:
    """Return what was measured: `Measured: step_s of 0.5 s at gpus=8 (median of 3 runs from 0.4 to 0.6 s).`."""
    value, low, high, how = measurement
    place = f" at {join_values(at)}" if at else ""
    low_text, high_text = three_digits(low), three_digits(high)
    # Where nine in ten of many steps are printed alike, there is no spread to speak of.
    median_of, nine_in_ten, _ = how.partition(", nine in ten")
    spread = "" if low_text == high_text else f"{nine_in_ten} from {low_text} to {with_unit(high_text, unit)}"
    return f"Measured: {quantity} of {with_unit(three_digits(value), unit)}{place} ({median_of}{spread})."
