"""An answer in words: its sentences in the order in which they are read, and the few words of a card."""

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import median

from genperf.errors import listed
from genperf.facts import BestSplit, Expectation, Facts, Interval, Planned, Record, StepPart, are_whole
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.quantities import QUANTITIES, REPORTED_BESIDE
from genperf.vocabulary.names import counts_devices, noun_of
from genperf.words.growth import (
    SOUGHT,
    choice_text,
    expect_sentence,
    next_sentence,
    pays_judged,
    pays_sentence,
    plan_sentence,
    sure_sentence,
    training_sentence,
    turn_sentence,
)
from genperf.words.limit import limit_sentence
from genperf.words.numbers import (
    capitalised,
    count_text,
    ends_text,
    join_values,
    prose,
    rate_unit,
    suited_unit,
    texts_in_unit,
    three_digits,
    whole_percent,
    with_article,
    with_interval,
    with_unit,
)
from genperf.words.published import causes_sentence, exchange_sentence, normal_text
from genperf.words.verdict import BLIND, fits_text

#: A verdict → its colour, and its mark where there is no colour.
COLORS = {"ok": "green", "caution": "yellow", "extrapolating-blind": "red"}
MARKS = {"ok": "✓", "caution": "⚠", "extrapolating-blind": "✗"}
#: The chance that more workers do less, below which it is not reported. Half, double: experiments/results/settings.md.
LEAST_CHANCE = 0.25
#: Difference of two shares of a step from which on both are told.
LEAST_CHANGE = 0.05


def fastest_text(facts: Facts) -> str:
    """Return which of the measured counts is fastest, with the median of its runs; empty of what is no time or rate."""
    values = {count: median([v for n, v in facts.runs_along if n == count]) for count, _ in facts.runs_along}
    if len(values) < 2 or not facts.expected.is_time:
        return ""
    rated = facts.growth.rated
    count = (max if rated else min)(values, key=values.__getitem__)
    value = values[count]
    amount = with_unit(three_digits(value), rate_unit(facts.growth.sample)) if rated else " ".join(texts_in_unit(value))
    series = f" of {join_values(facts.series)}" if facts.series else ""
    return prose(f"the fastest of the measured counts{series} is {count_text(count, facts.growth.name)}: {amount}")


def sentences_of(facts: Facts) -> dict[str, str]:
    """Return the facts in words, by what each sentence is about, in the order in which they are read."""
    growth, turn, published = facts.growth, facts.turn(), facts.published()
    places, scales = join_values(facts.place), growth.target.count > growth.smallest.count
    units = {name: unit for name, unit in facts.further.items() if not isnan(facts.predicted[name])}
    further = [f"{name} {with_interval(facts.predicted, name, unit)}" for name, unit in units.items()]
    rows = {name: QUANTITIES[name] for name in REPORTED_BESIDE if name in facts.quantities}
    further += [f"{row.label} {with_interval(facts.quantities, name, row.unit)}" for name, row in rows.items()]
    likely = turn is not None and (turn.count.value < float("inf") or turn.reached >= LEAST_CHANCE)
    sentences = {
        "plan": "" if facts.plan is None else plan_sentence(facts.plan),
        "expect": prose(measured_text(facts, places), expect_sentence(facts.expected, growth, places, further)),
        "training": training_sentence(facts.training, facts.quantities, facts.plan),
        "sure": sure_sentence(facts.expected, growth, record_line(facts).replace(" %, ", " %. ")),
        "layout": "" if facts.split is None else split_line(facts.split),
        "pays": "" if facts.expected.fails else pays_sentence(growth, facts.expected, in_plan=facts.plan is not None),
        "best": turn_sentence(turn) if turn is not None and likely else "",
        "falls": "" if facts.falls is None else turn_sentence(facts.falls),
        "parts": parts_sentence(facts.parts, growth.name) if facts.parts else "",
        # Nothing is inferred of what was measured.
        "limit": "" if are_whole(facts.parts) else limit_sentence(facts.limit(), places),
        "normal": normal_text(published),
        "exchange": "" if published.exchange is None else exchange_sentence(published.exchange),
        "causes": causes_sentence(published.causes, published.sound) if published.causes and scales else "",
        "nodes": _nodes_wanted(facts),
        "next": _next(facts),
    }
    return {what: prose(text) for what, text in sentences.items() if text}


def parts_sentence(parts: Sequence[StepPart], count: str) -> str:
    """Return what a step was made of at the largest count that was measured, and where it was another share before."""
    (least, largest), texts = parts[0].counts, list[str]()
    for part in parts:
        percent_before, percent = map(whole_percent, part.shares)
        before = f" ({percent_before} % at {least:g})" if abs(part.shares[1] - part.shares[0]) >= LEAST_CHANGE else ""
        texts.append(f"{percent} % {part.column}{before}")
    return f"of a step measured at {count}={largest:g}, {listed(texts)}"


def split_line(split: BestSplit) -> str:
    """Return how the best split of the devices stands among the others."""
    ways = join_values(split.ways)
    if split.splits < 2:
        return f"{ways} is the only split that is possible"
    doubt = "" if split.trusted else "; none of them can be relied on"
    return f"{ways} is best of {split.splits} splits, with {whole_percent(split.chance)} % probability{doubt}"


def measured_text(facts: Facts, places: str) -> str:
    """Return what was measured at the configuration; empty where nothing was."""
    if facts.measured is None:
        return ""
    (ends, runs), growth, unit = facts.measured, facts.growth, facts.expected.unit
    if growth.target.rate is not None and not growth.whole:
        ends, unit = ends.dividing(growth.target.rate * growth.target.value), rate_unit(growth.sample)
    middle, low, high, unit = texts_in_unit(*ends.ends, unit=unit)
    note = f"median of {runs} runs, {low} to {high}" if runs > 1 else "one run"
    return f"measured: {with_unit(middle, unit)} at {places} ({note})"


def _nodes_wanted(facts: Facts) -> str:
    """Return the request for the nodes, where no column counts them and they decide on the prediction."""
    growth = facts.growth
    few = growth.start.count <= USUAL_DEVICES < growth.target.count
    if facts.expected.verdict == "ok" or not few or not counts_devices(growth.name) or "nodes" in facts.machines:
        return ""
    text = f"no column counts the nodes: were {noun_of(growth.name)} of several measured?"
    return f'{text} --hint "devices per node=8" or a column of nodes says it'


def _reported(facts: Facts) -> tuple[str, Interval, str]:
    """Return what an answer reports of the predicted value, with its unit: a throughput where one is known."""
    value = facts.expected.value
    rate = facts.growth.throughput(value)
    of_value = facts.expected.name, facts.expected.unit, 1.0
    of_rate = "throughput", rate_unit(facts.growth.sample), 1.0
    name, unit, factor = facts.column or (of_value if rate is None else of_rate)
    ends = value if rate is None else rate
    size, unit = suited_unit(factor * ends.value, unit)
    return name, Interval(*(factor * end / size for end in ends.ends)), unit


def _next(facts: Facts) -> str:
    """Return what to measure next."""
    if facts.unmeasured:
        return f"measure a run with {join_values(facts.unmeasured)}: no measured run shows it"
    run, why_none = facts.advice()
    if run is None:
        return f"no next run is proposed: {why_none}"
    _, now, unit = _reported(facts)
    return next_sentence(run.differing(facts.at, facts.growth.name), unit, now)


def verdict_line(reason: str) -> str:
    """Return the first of the reasons of a verdict, which semicolons part."""
    return reason.partition(";")[0].strip()


def record_line(facts: Facts) -> str:
    """Return what forecasts like this one were worth elsewhere; empty where none was judged."""
    record = facts.record
    if record is None:
        return ""
    measured = max((count for count, _ in facts.runs_along), default=facts.growth.smallest.count)
    error = f"median error {record.median_error:.0f} %"
    held = f"{record.coverage:.0f} % of intervals held"
    if facts.growth.target.count / measured > Record.longest:
        return f"no record this far; to {Record.longest:g} x: {error}, {held}"
    return f"on {record.clusters} published clusters: {error}, {held} the truth"


def next_line(facts: Facts) -> str:
    """Return what to measure next: `measure 32 gpus: narrows efficiency to 57 – 66 %`; empty where nothing is."""
    run, _ = facts.advice()
    if facts.unmeasured:
        return f"measure a run with {join_values(facts.unmeasured)}: no measured run shows it"
    if run is not None and run.met:
        return "nothing: the interval is narrow enough"
    if run is None or not run.places:
        return ""
    name, efficiency = facts.growth.name, facts.growth.target.efficiency
    places = "; ".join(
        count_text(float(place[name]), name) if {*place} == {name} else join_values(place)
        for place in run.differing(facts.at, name).places
    )
    # What the run narrows, where its ends are printed otherwise: the efficiency, else what is reported.
    quantities = [(*_reported(facts), three_digits)]
    if facts.column is None and efficiency is not None:
        quantities = [("efficiency", efficiency, "%", whole_percent), *quantities]
    if not run.little:
        for what, value, unit, digits in quantities:
            ends_and_expected = ([digits(end) for end in of.ends[1:]] for of in (value, run.narrowed(value)))
            now, then = (ends_text(lower, upper, " – ") for lower, upper in ends_and_expected)
            if now != then:
                return f"measure {places}: narrows {what} to {with_unit(then, unit)}"
    return f"measure {count_text(facts.growth.target.count, name)} itself: no other run narrows this noticeably"


def decision_sentence(
    expected: Expectation, facts: Facts | None, where: str, name: str, value: str, beside: str
) -> str:
    """Return what to decide in one sentence; `name`, `value` and `beside` are texts of the card's first row.

    Its reasons come in this order: a plan, a run that fails, growth that does not pay, a blind verdict, the prediction.
    """
    if facts is not None and facts.plan is not None:
        return capitalised(_plan_decision(facts.plan))
    if fails := fits_text(expected.fits):
        return capitalised(f"at {where}, {fails}")
    growth = None if facts is None else facts.growth
    judged = "" if growth is None or not growth.grows else pays_judged(growth, expected.interval)
    if growth is not None and growth.peak is not None and judged in ("does not pay", "hardly pays"):
        return capitalised(f"growing to {where} {judged}: {growth.peak:g} did most of all that were measured")
    if expected.verdict == BLIND:
        text = f"do not decide on {where} yet"
        run = None if facts is None else facts.advice()[0]
        place = run.places[0] if run is not None and run.places and not run.little else {}
        along = "" if facts is None else facts.growth.name
        measure_first = f": measure {count_text(float(place[along]), along)} first" if along in place else ""
        return capitalised(text + measure_first)
    prediction = value if name == "throughput" else f"{with_article(name)} of {value}"
    if growth is not None and growth.gain is not None and not (growth.rated or growth.whole):
        # Each worker keeps its work: the longer step is that of more work.
        start = count_text(growth.start.count, growth.name)
        prediction = f"{three_digits(growth.gain.value)} x the work of {start}, {prediction}"
    else:
        prediction += f" instead of {beside}" if beside else ""
    if growth is None or not judged or growth.marginal is None:
        return capitalised(f"at {where} expect {prediction}")
    if judged == "undecided":
        return capitalised(f"whether growing to {where} pays is undecided: expect {prediction}")
    return capitalised(f"growing to {where} {judged}: expect {prediction}")


def _plan_decision(planned: Planned) -> str:
    """Return what the machine that is named takes, or the best count that keeps a plan; or that none does."""
    chosen = planned.chosen
    count, job = count_text(chosen.count, planned.name), "a step" if planned.plan.is_of_a_step else "the whole job"
    if planned.named is None and planned.best is None:
        return f"no count up to {count_text(planned.tried[1], planned.name)} keeps the plan"
    if chosen.verdict == BLIND:
        return f"do not decide on {count} yet: the forecast of {job} cannot be relied on"
    takes = choice_text(planned, chosen)
    if planned.named is None:
        return f"take {count}, the {SOUGHT[planned.plan.aim]}: {job} takes {takes}"
    return f"{job} takes {takes} on {count}{': the plan is not kept' if planned.breaks else ''}"


def first_of_groups(efficiencies: Mapping[str, tuple[float, float, str]], rates: Mapping[str, float]) -> str:
    """Return which series to look at first, of efficiencies, upper ends and configurations by name.

    Where none stands out it is the fastest one, of the `rates` by name.
    """
    name, (value, upper, at) = min(efficiencies.items(), key=lambda series: series[1][0])
    middle = sorted(efficiency for efficiency, _, _ in efficiencies.values())[len(efficiencies) // 2]
    if upper < middle:
        reached = f"its efficiency at {at} is {value:.0f} %; half of the series reach {middle:.0f} %"
        return f"Look at {name} first: {reached}."
    least = f"the least efficient is {name} with {value:.0f} %"
    if len(rates) > 1:
        best, second, *_ = sorted(rates, key=lambda series: -rates[series])
        times = three_digits(rates[best] / rates[second])
        return f"At {at} {best} is the fastest, {times} x as fast as {second}; {least}."
    return f"No series is clearly less efficient than the others; {least} at {at}."
