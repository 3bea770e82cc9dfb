"""The answers in plain sentences: efficiency band, knee, largest part, what to measure next."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from genperf.asking.answer import heads_of, rows_of
from genperf.attribution import Scaling
from genperf.attribution.scaling import changes
from genperf.attribution.terms import limit_of
from genperf.errors import GenperfError, attempted
from genperf.facts import ENDS, Facts, are_whole
from genperf.reporting.place import Place, ladder_rows, ladder_table, page_ladder, short
from genperf.search import suggest
from genperf.words.answer import decision_sentence, next_line, record_line, verdict_line
from genperf.words.growth import next_sentence, pays_judged, percent_text, plan_in_short, turn_sentence, turn_short
from genperf.words.limit import is_determined, limit_sentence, limit_short
from genperf.words.numbers import (
    capitalised,
    count_text,
    join_values,
    only_for_times,
    prose,
    singular,
    whole_percent,
    with_article,
)
from genperf.words.published import cause_named
from genperf.words.verdict import fits_text


class Section(Struct, frozen=True):
    """One of the answers."""

    question: str
    short: str  #: The answer in a few words.
    sentences: tuple[str, ...]  #: What the answer rests on.
    verdict: str = ""  #: The verdict of the prediction that it rests on; empty where it rests on none.
    #: The ends of nine in ten, the median and the value, in %; empty where nothing is drawn.
    marks: tuple[float, ...] = ()


BAND, KNEE, NEXT = "How well does it scale?", "Where is the knee?", "What to measure next?"
NORMAL, WHY, PLAN = "Is this normal?", "Why is it slow?", "What does the work take?"
PAYS, ALSO = "Does growing pay?", "What else is known?"
#: Sentences of `ask` that sections of the page have, or its first screen.
SECTIONED = frozenset(
    ["plan", "expect", "sure", "pays", "best", "limit", "parts", "normal", "exchange", "causes", "next", "training"]
)


def answers(place: Place) -> list[Section]:
    """Return the answers about one model, those about scaling with the reason where there are none."""
    curve, target = place.scaling, place.result.schema.target
    if not target.is_time:
        scales = [Section(BAND, "left out", (capitalised(only_for_times("efficiency and knee", target)),))]
    elif curve is None or curve.refusal:
        scales = [Section(BAND, "not known", (capitalised(place.why_not if curve is None else curve.refusal),))]
    else:
        scales = [_band(place, curve), _knee(curve)]
    facts, expected = place.facts, place.expected
    sentences = {} if facts is None else place.answer.sentences
    sections = scales + ([] if place.only is not None else [_largest_part(place)])
    growth = None if facts is None else facts.growth
    grows = growth is not None and growth.target.rate is not None and growth.target.machines > growth.start.machines
    # Of a run that most likely fails nothing is said of growing.
    if growth is not None and grows and "pays" in sentences:
        sections.append(Section(PAYS, pays_judged(growth, expected.interval), (sentences["pays"],), expected.verdict))
    if facts is not None and (planned := facts.plan) is not None:
        verdict = "" if planned.best is None and planned.named is None else planned.chosen.verdict
        sections.append(Section(PLAN, plan_in_short(planned), (sentences["plan"],), verdict))
    sections += [_next(place), *([] if facts is None else _normal(facts, sentences))]
    texts = [capitalised(str(note)) for note in place.result.notes if note.kind == "earlier_predictions"]
    texts += [text for name, text in sentences.items() if name not in SECTIONED]
    return [*sections, *([Section(ALSO, "", tuple(texts))] if texts else [])]


def summary(place: Place) -> dict[str, Any]:
    """Return the prediction at one configuration with its efficiency, for the table of groups."""
    expected, efficiency, facts = place.expected, None, place.facts
    rate = None if facts is None or not expected.is_time else facts.growth.throughput(expected.value)
    if place.scaling is not None and not place.scaling.refusal:
        efficiency = place.scaling.efficiency(place.count)
    return {
        **dict(zip(("value", "lower", "upper"), (short(v, 7) for v in expected.value.ends), strict=True)),
        "efficiency": None if efficiency is None else short(100.0 * efficiency.value, 3),
        "efficiencyUpper": None if efficiency is None else short(100.0 * efficiency.upper, 3),
        "rate": None if rate is None else short(rate.value, 7),
        "verdict": expected.verdict,
        "at": place.shown,
    }


def glance(place: Place) -> dict[str, Any]:
    """Return what the first screen shows: what to decide in a sentence, and the card of `ask` as texts by name."""
    facts, answer = place.facts, place.answer
    rows = rows_of(answer)
    name, value, _, beside = rows[0][:4]
    return {
        "taken": f"of {join_values(place.settings)}" if place.settings else "",
        "decision": decision_sentence(place.expected, facts, place.shown, name, value, beside),
        "fits": fits_text(place.expected.fits),
        "heads": heads_of(facts, place.question.interval),
        "rows": [[*row[:4]] for row in rows],
        "why": verdict_line(answer.reason),
        "record": "" if facts is None else record_line(facts),
        "next": "" if facts is None else next_line(facts),
        "measure": "throughput" if facts is not None and facts.growth.rated else "value",
    }


def ladder(place: Place) -> list[Any]:
    """Return the head and the rows of the table of measured counts and those beyond; empty without efficiencies."""
    scaling = place.scaling
    if scaling is None or scaling.refusal or scaling.steps.work is None:
        return []
    places = page_ladder(place.count, scaling.steps)
    machine, rows = ladder_rows(place.result, scaling, places, place.question)
    hours, price = f"{machine}-hours", place.question.price
    if price is not None and "machine_hours" in rows:
        ends = [f"machine_hours{end}" for end in ENDS]
        rows[ends], hours = rows[ends] * 3600.0 * price.per_second, f"cost {price.currency}".strip()
    return [*ladder_table(rows, hours, place.question.interval)]


def _normal(facts: Facts, sentences: Mapping[str, str]) -> list[Section]:
    """Return how the measured efficiency compares with published series, and why it is low; nothing if not known."""
    published = facts.published()
    if published.normal is None:
        return []
    compared = published.normal.placed
    marks = [round(100.0 * rank) for rank in (compared.low, compared.median, compared.high, compared.value)]
    texts = [sentences[name] for name in ("normal", "exchange") if name in sentences]
    of_each = {"beyond": " a doubling", "second": " of one node's"}.get(compared.step.kind, "")
    sections = [Section(NORMAL, f"{marks[-1]} %{of_each}: {compared.judged}", tuple(texts), marks=tuple(marks))]
    if published.causes:
        likeliest, *others = published.causes
        reasons = (likeliest.supports, f"against it: {likeliest.against}", f"to decide: {likeliest.decide_by}")
        after = (f"After it: {', '.join(map(cause_named, others))}.",) if others else ()
        sections.append(Section(WHY, cause_named(likeliest), (*map(capitalised, reasons), *after)))
    return sections


def _band(place: Place, answer: Scaling) -> Section:
    """Return the answer about the efficiency."""
    count, largest, verdict = place.count, answer.steps.along.upper, place.expected.verdict
    efficiency_there = percent_text(answer.efficiency(count), answer.interval)
    reference = count_text(answer.reference, answer.along)
    ratio, a_worker = count / largest, with_article(singular(answer.along))
    beyond = f", {ratio:.3g} times the largest measured count," if ratio > 1 else ""
    assumption = "" if place.facts is None else place.facts.growth.assumption
    does = f"is predicted to do {efficiency_there} of the work that it does at {reference} ({answer.kind} scaling)"
    sentences = [prose(assumption, f"At {place.shown}{beyond} {a_worker} {does}")]
    # The whole interval lies above 100 % somewhere, as it is printed.
    if round(100.0 * float(np.nanmax(answer.curve["efficiency_lower"]))) > 100:
        sentences.append(
            f"More than 100 % means that {a_worker} does more than it did at {reference}: the smallest run was slow "
            "(too little memory, warm-up, another configuration), or a share of the work fits a cache."
        )
    return Section(BAND, f"{efficiency_there.split(' (')[0]} at {place.shown}", tuple(sentences), verdict)


def _knee(answer: Scaling) -> Section:
    """Return the answer about the knee."""
    # With work that grows with the workers every step gets longer; what may fall is what they do together.
    turns = {turn.what: turn for turn in answer.turns}
    knee, falling = turns["efficiency"], "throughput" if answer.kind == "weak" else "slower"
    sentences = [prose(turn_sentence(turns[what])) for what in ("efficiency", falling)]
    rule = f"A curve is past its knee where the efficiency is below {100 * knee.level:g} %."
    return Section(KNEE, turn_short(knee), (rule, *sentences))


def _largest_part(place: Place) -> Section:
    """Return what the value is made of, or what it depends on where no term has a name of the field."""
    result, answer, target, facts = place.result, place.scaling, place.result.schema.target, place.facts
    limit = limit_of(result, place.query.columns, place.question.interval) if facts is None else facts.limit()
    parts = () if facts is None else facts.parts
    about = "What takes the time?" if target.is_time else f"What makes up {target.name}?"
    text = "" if are_whole(parts) else limit_sentence(limit, place.shown)
    sentences = [*filter(None, [place.answer.sentences.get("parts", ""), prose(text)])]
    if are_whole(parts):
        largest = max(parts, key=lambda part: part.shares[1])
        return Section(about, f"{largest.column}: {whole_percent(largest.shares[1])} %", tuple(sentences))
    # Of parts that the runs do not tell apart none stays the largest.
    if answer is not None and limit.parts and is_determined(limit.parts[0]):
        sentences += map(prose, answer.decided_changes(changes(result, answer.steps, answer.interval)))
    return Section(about, limit_short(limit), tuple(sentences))


def _next(place: Place) -> Section:
    """Return the answer about the next measurement: the one that narrows the interval at the configuration most."""
    if place.only is not None:
        return Section(NEXT, place.shown, (f"Measure {place.shown}: one count does not show how it scales.",))
    if place.facts is None:
        advice = attempted(suggest, place.result, dict(place.values))
        run, refusal = (None, advice) if isinstance(advice, GenperfError) else (advice.next_run, None)
        why = "" if refusal is None else prose(refusal.message, f"try: {refusal.hint}" if refusal.hint else "")
        text = why if run is None else next_sentence(run, place.result.schema.target.unit)
    else:
        run, text = place.facts.advice()[0], place.answer.sentences["next"]
    if run is None or run.met or not run.places:
        return Section(NEXT, "no advice" if run is None else "nothing", (prose(text),))
    return Section(NEXT, join_values(run.target if run.little else run.places[0]), (prose(text),))
