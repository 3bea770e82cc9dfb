"""The sentences of an answer: each from facts, in the order in which they are read."""

from genperf.facts import Facts, Record
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.quantities import QUANTITIES, REPORTED_BESIDE
from genperf.vocabulary.names import counts_devices, noun_of
from genperf.words.growth import expect_sentence, pays_sentence, sure_sentence, training_sentence, turn_sentence
from genperf.words.limit import limit_sentence
from genperf.words.numbers import join_values, prose, rate_unit, three_digits, with_unit
from genperf.words.plan import next_sentence, plan_sentence
from genperf.words.published import causes_sentence, exchange_sentence, normal_sentence, worth_text
from genperf.words.quantity import further_words, with_interval

#: The chance that more workers do less, below which it is not reported: one in four. Half and double change no answer
#: (experiments/results/settings.md).
LEAST_CHANCE = 0.25


def sentences_of(facts: Facts) -> dict[str, str]:
    """Return the facts in words.

    `plan` and `training` where one is asked about, `expect`, `sure`, `pays`, `best` where more do less, `limit`,
    `normal`, `exchange` with hints, `causes` where the series is slow, `nodes` where these are not known, `next`.
    """
    growth, turn, published = facts.growth, facts.turn, facts.published
    # Beyond what was judged, the record is that of shorter forecasts.
    unjudged = growth.target.count > Record.far * growth.start.count
    places = join_values({n: v for n, v in facts.at.items() if n in facts.given or n == growth.name})
    further = further_words(facts.further, facts.predicted) + [
        f"{QUANTITIES[name].label} {with_interval(facts.quantities, name, QUANTITIES[name].unit)}"
        for name in REPORTED_BESIDE
        if name in facts.quantities
    ]
    likely = turn is not None and (turn.count.value < float("inf") or turn.reached >= LEAST_CHANCE)
    sentences = {
        "plan": "" if facts.plan is None else plan_sentence(facts.plan),
        "expect": prose(measured_text(facts, places), expect_sentence(facts.expected, growth, places, further)),
        "training": training_sentence(facts.training, facts.quantities),
        "sure": sure_sentence(facts.expected, growth, "" if unjudged else worth_text(facts.record)),
        "pays": pays_sentence(growth, facts.expected),
        "best": turn_sentence(turn) if turn is not None and likely else "",
        "limit": limit_sentence(facts.limit, places),
        "normal": "" if published.normal is None else normal_sentence(published.normal),
        "exchange": "" if published.exchange is None else exchange_sentence(published.exchange),
        "causes": causes_sentence(published.causes, published.sound) if published.causes else "",
        "nodes": _nodes_wanted(facts),
        "next": _next(facts),
    }
    return {what: prose(text) for what, text in sentences.items() if text}


def measured_text(facts: Facts, places: str) -> str:
    """Return what was measured at the configuration; empty where nothing was."""
    if facts.measured is None:
        return ""
    (ends, runs), growth = facts.measured, facts.growth
    numbers, unit = ends.ends, facts.expected.unit
    if growth.target.rate is not None and not growth.whole:
        work = growth.target.rate * growth.target.value
        numbers, unit = (work / ends.value, work / ends.upper, work / ends.lower), rate_unit(growth.sample)
    middle, low, high = map(three_digits, numbers)
    note = f"median of {runs} runs, {low} to {high}" if runs > 1 else "one run"
    return f"measured: {with_unit(middle, unit)} at {places} ({note})"


def _nodes_wanted(facts: Facts) -> str:
    """Return the request for the nodes, where no column counts them and they decide on the prediction."""
    growth = facts.growth
    few = growth.start.count <= USUAL_DEVICES < growth.target.count
    if facts.expected.verdict == "ok" or not few or not counts_devices(growth.name) or facts.nodes_known:
        return ""
    text = f"no column counts the nodes: were {noun_of(growth.name)} of several measured?"
    return f'{text} --hint "devices per node=8" or a column of nodes says it'


def _next(facts: Facts) -> str:
    """Return what to measure next."""
    if facts.unmeasured:
        return f"measure a run with {join_values(facts.unmeasured)}: no measured run shows it"
    if facts.next_run is None:
        return f"no next run is proposed: {facts.no_run}"
    rate = facts.growth.throughput(facts.next_run.now)
    run = facts.next_run.differing(facts.at, facts.growth.name)
    return next_sentence(run, rate_unit(facts.growth.sample) if rate else facts.expected.unit, rate)
