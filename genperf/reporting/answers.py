"""The answers in plain sentences: efficiency band, knee, largest part, what to measure next."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from genperf.asking.plan import planned
from genperf.asking.published import beside_published
from genperf.attribution import Scaling
from genperf.attribution.scaling import changes, of_each_kind
from genperf.attribution.terms import aliased, limit_of
from genperf.errors import GenperfError
from genperf.normal.record import Record, record_like
from genperf.normal.series import Normal, judged
from genperf.panel.axis import several_nodes
from genperf.prediction.predict import THROUGHPUT
from genperf.reporting.place import PAGE, Place, short, with_intervals
from genperf.search import suggest
from genperf.words.growth import first_sentence, pays_judged, pays_sentence, percent_text
from genperf.words.limit import limit_sentence, limit_short
from genperf.words.numbers import capitalised, count_text, samples_called, three_digits, with_article, with_unit
from genperf.words.quantity import further_words, only_for_times
from genperf.words.verdict import TRUST, fits_text


@dataclass(frozen=True)
class Answer:
    """One of the answers."""

    question: str
    #: The answer in a few words.
    short: str
    #: What the answer rests on.
    sentences: tuple[str, ...]
    #: Of the prediction it rests on; empty where it rests on none.
    verdict: str = ""
    #: The ends of nine in ten, the median and the value, in %; empty where nothing is drawn.
    marks: tuple[float, ...] = ()


BAND, KNEE, NEXT = "How well does it scale?", "Where is the knee?", "What to measure next?"
NORMAL, WHY, PLAN = "Is this normal?", "Why is it slow?", "How many does the work take?"
PAYS = "Does growing pay?"


def answers(place: Place) -> list[Answer]:
    """Return the answers about one model, those about scaling with the reason where there are none."""
    curve, target = place.scaling, place.result.schema.target
    if not target.is_time:
        scales = [Answer(BAND, "left out", (capitalised(only_for_times("efficiency and knee", target)),))]
    elif curve is None:
        scales = [Answer(BAND, "not known", (capitalised(place.why_not),))]
    else:
        scales = _of_each_kind(place, curve) if curve.refusal else [_band(place, curve), _knee(place, curve)]
    parts = [] if place.only is not None else [_largest_part(place)]
    return [*scales, *parts, *_pays(place), *_plan(place), _next(place), *_normal(place)]


def summary(place: Place) -> dict[str, Any]:
    """Return the prediction at one configuration, and a sentence: whether growing to it pays, where that is known."""
    result, interval, quantity = place.result, place.question.interval, place.result.schema.target
    expected, row = place.expected
    value, lower, upper = expected.value.ends
    efficiency = None
    if place.scaling is not None and "efficiency" in place.scaling.curve:
        efficiency = 100.0 * place.scaling.efficiency(place.count).value
    if place.growth is not None:
        parts = [first_sentence(place.growth, expected)]
    else:
        name, verb = (with_article(result.schema.timed), "take") if quantity.is_time else (quantity.name, "be")
        text = f"{name} is expected to {verb} {with_unit(f'{value:.3g}', quantity.unit)}"
        ends = with_unit(f"{lower:.3g} to {upper:.3g}", quantity.unit)
        if quantity.throughput and "throughput" in row:
            # Of a measured throughput the time is that of one unit of its work, which is no step.
            rate, low, high = (three_digits(float(row[name][0])) for name in THROUGHPUT)
            text, ends = f"expect {rate} {samples_called(quantity.throughput)}/s", f"{low} to {high}"
        share = "" if efficiency is None else f", at {efficiency:.0f} % efficiency"
        parts = [f"at {place.shown}, {text} ({100 * interval:g} % interval: {ends}){share}"]
    further, at = {n: f.schema.target for n, f in result.further.items()}, {n: cells[0] for n, cells in row.items()}
    parts += [*further_words(further, at), fits_text(expected.fits), TRUST[expected.verdict]]
    return {
        **{end: short(v, 7) for end, v in (("value", value), ("lower", lower), ("upper", upper))},
        "efficiency": None if efficiency is None else short(efficiency, 3),
        "verdict": expected.verdict,
        "sentence": capitalised("; ".join(filter(None, parts))),
    }


def _normal(place: Place) -> list[Answer]:
    """Return how the measured efficiency compares with published series, and why it is low; nothing if not known."""
    if place.scaling is None:
        return []
    beside = beside_published(place.result, place.scaling, place.count, place.work, place.question)
    if beside.normal is None or not isinstance(beside.normal.placed, Normal):
        return []
    compared, causes = beside.normal.placed, beside.numbers["causes"]
    marks = [round(100.0 * part, 1) for part in (compared.low, compared.median, compared.high, compared.value)]
    known = [one.sentence for one in (beside.normal, beside.exchange) if one is not None]
    short = f"{marks[-1]:.0f} %: {judged(compared.percentile)}"
    answer = Answer(NORMAL, short, tuple(map(capitalised, known)), marks=tuple(marks))
    return [answer, *([_why(causes)] if causes else [])]


def _why(causes: list[dict[str, Any]]) -> Answer:
    """Return the likeliest cause of a low efficiency with what decides, and the names of the others."""
    first, *others = causes
    names = ", ".join(f"{cause['cause']} ({100.0 * min(cause['probability'], 0.99):.0f} %)" for cause in others)
    sentences = (f"{first['for']}.", f"Against it: {first['against']}.", f"To decide: {first['decide_by']}.")
    after = (f"After it: {names}.",) if names else ()
    short = f"{first['cause']} ({100.0 * min(first['probability'], 0.99):.0f} %)"
    return Answer(WHY, short, (*map(capitalised, sentences), *after))


def _band(place: Place, answer: Scaling) -> Answer:
    """Return the answer about the efficiency."""
    count, largest, verdict = place.count, answer.steps.along.upper, place.expected[0].verdict
    there, measured = (percent_text(answer.efficiency(n), answer.interval) for n in (count, largest))
    at, reference = (count_text(n, answer.along) for n in (largest, answer.reference))
    ratio = count / largest
    beyond = f", {ratio:g} times the largest measured count," if ratio > 1 else ""
    sentences = [
        f"At {place.shown}{beyond} a worker is predicted to do {there} of the work that it does at "
        f"{reference} ({answer.kind} scaling)."
    ]
    if ratio > 1:
        sentences.append(f"At {at}, the largest measured count, it is {measured}.")
    # The whole interval lies above 100 % somewhere, as it is printed.
    if round(100.0 * float(np.nanmax(answer.curve["efficiency_lower"]))) > 100:
        sentences.append(
            f"More than 100 % means that a worker does more than it did at {reference}: the smallest run was slow "
            "(too little memory, warm-up, another configuration), or a share of the work fits a cache."
        )
    sentences += _record(place, ratio, verdict)
    return Answer(BAND, f"{there.split(' (')[0]} at {place.shown}", tuple(sentences), verdict)


def _of_each_kind(place: Place, unknown: Scaling) -> list[Answer]:
    """Return the answers about scaling for weak and for strong, with these names, where nothing shows which it is."""
    along = unknown.along
    each = of_each_kind(place.result, unknown, places=with_intervals(place.count, unknown.steps))
    why = f"Nothing shows whether scaling along {along} is weak or strong: --scaling weak or --scaling strong says it."
    out = []
    for answered in (_band, _knee):
        named = {one.kind: answered(place, one) for one in each}
        first = next(iter(named.values()))
        shorts = "; ".join(f"{kind}: {answer.short}" for kind, answer in named.items())
        alike = set.intersection(*({*answer.sentences} for answer in named.values()))
        differ = [f"If {kind}: {s}" for kind, answer in named.items() for s in answer.sentences if s not in alike]
        same = [s for s in first.sentences if s in alike]
        out.append(replace(first, short=shorts, sentences=(why, *differ, *same)))
    return out


def _record(place: Place, ratio: float, verdict: str) -> list[str]:
    """Return how often `auto` was right on published series that were predicted like this one."""
    options = place.result.options
    if options.get("approach") != "series" or options.get("pooled_share") is not None:
        return []
    nodes = place.result.panel.only_node
    leaves = nodes is not None and bool(several_nodes(place.query.columns[nodes])[0])
    record = record_like(min(ratio, Record.far), leaves, verdict if ratio <= Record.far else "")
    if record is None:
        return []
    unknown = f"No prediction at {ratio:.3g} times the largest measured count was ever compared with a run."
    return [unknown, record.sentence(shorter=True)] if ratio > Record.far else [record.sentence()]


def _knee(place: Place, answer: Scaling) -> Answer:
    """Return the answer about the knee."""
    # With work that grows with the workers every step gets longer; what may fall is what they do together.
    turn = "throughput" if answer.kind == "weak" else "slower"
    points: dict[Any, Any] = {point["what"]: point for point in answer.points.to_dict("records")}
    knee, level = (points["efficiency"][name] for name in ("count", "level"))
    sentences = [capitalised(points[what]["sentence"]) for what in ("efficiency", turn)]
    rule = f"A curve is past its knee where the efficiency is below {100 * level:g} %."
    largest = answer.steps.along.upper
    unknown = () if np.isfinite(knee) and knee <= largest else (f"Nothing above {largest:g} was measured.",)
    short = count_text(knee, answer.along) if np.isfinite(knee) else "none found"
    return Answer(KNEE, short, (rule, *sentences, *unknown))


def _largest_part(place: Place) -> Answer:
    """Return what the value is made of, or what it depends on where no term has a name of the field."""
    result, answer, target = place.result, place.scaling, place.result.schema.target
    columns = place.query.columns
    limit = limit_of(result, columns, place.question.interval, place.forecast_there)
    about = "What takes the time?" if target.is_time else f"What makes up {target.name}?"
    text = limit_sentence(limit, place.shown)
    sentences = [capitalised(text)] if text else []
    crossed: Iterable[dict[str, Any]] = ()
    if answer is not None and limit.parts:
        crossed = islice(changes(result, answer.steps, answer.interval), 1)
    # The member's name belongs to the expert parts.
    sentences += [capitalised(one["sentence"].removeprefix(f"{one['member']}: ")) for one in crossed]
    groups = [{*part.terms} for part in limit.parts]
    pairs = [pair for pair in aliased(result, columns) if not any({*pair} <= group for group in groups)]
    sentences += [
        f"'{a}' and '{b}' cannot be told apart by this data; their sum can."
        for a, b in (pairs if limit.parts else [])[: PAGE.aliased_pairs]
    ]
    return Answer(about, limit_short(limit), tuple(sentences))


def _pays(place: Place) -> list[Answer]:
    """Return whether growing to the target pays; nothing where that is not known."""
    growth, expected = place.growth, place.expected[0]
    if growth is None:
        return []
    judged = pays_judged(growth, expected.interval)
    return [Answer(PAYS, judged, (capitalised(pays_sentence(growth, expected)),), expected.verdict)]


def _plan(place: Place) -> list[Answer]:
    """Return the cheapest count that does the work in all; nothing where that is not asked for."""
    result, question = place.result, place.question
    if question.plan is None or place.scaling is None or place.scaling.refusal:
        return []
    plan = planned(result, place.values, question.plan, place.work, question.price, question.per, question.interval)
    cheapest = plan.numbers["plan"]
    short = "no count is enough" if cheapest is None else " ".join(count_text(n, name) for name, n in plan.at.items())
    return [Answer(PLAN, short, (plan.sentence,), "" if cheapest is None else cheapest["verdict"])]


def _next(place: Place) -> Answer:
    """Return the answer about the next measurement: the one that narrows the interval at the configuration most."""
    if place.only is not None:
        return Answer(NEXT, place.shown, (f"Measure {place.shown}: one count does not show how it scales.",))
    at, along = dict(place.values), ""
    if place.scaling is not None:
        along = place.scaling.along
        at = {**place.scaling.at, along: place.count}
    try:
        advice = suggest(place.result, at, interval=place.question.interval)
    except GenperfError as error:
        hint = [f"Try: {error.hint}."] if error.hint else []
        return Answer(NEXT, "no advice", (capitalised(error.message), *hint))
    if advice.met or advice.chosen.empty:
        return Answer(NEXT, "nothing", (capitalised(advice.sentence),))
    first = advice.chosen.iloc[0]
    names = [f.name for f in place.result.schema.varying if f.name in advice.chosen]
    name = min(names, key=lambda n: (first[n] == at.get(n), n != along))
    short = f"{name} {first[name]}" if isinstance(first[name], str) else count_text(float(first[name]), name)
    return Answer(NEXT, short, (capitalised(advice.sentence),))
