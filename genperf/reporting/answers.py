"""The answers in plain sentences: efficiency band, knee, largest part, what to measure next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from genperf.advice import suggest
from genperf.advice.ask import Question, expectation, work_of
from genperf.advice.normal import normal_at
from genperf.attribution import Scaling
from genperf.attribution.growth import growth_of
from genperf.attribution.limit import limit_of
from genperf.attribution.terms import aliased
from genperf.errors import GenperfError
from genperf.facts import Expectation, Growth
from genperf.growth.record import RECORDS, record_like
from genperf.normal.sentences import judged
from genperf.panel.nodes import leaves_node
from genperf.prediction import read_query
from genperf.prediction.predict import THROUGHPUT
from genperf.result import FitResult
from genperf.table import Factor, Target
from genperf.table.cells import columns_of
from genperf.words.growth import first_sentence, pays_judged, pays_sentence
from genperf.words.limit import limit_sentence, limit_short
from genperf.words.numbers import capitalised, count_text, samples_called, three_digits, with_article
from genperf.words.quantity import further_words, only_for_times, with_unit
from genperf.words.verdict import TRUST, fits_text


@dataclass(frozen=True)
class AnswerSettings:
    """What the answers are about."""

    #: Advice is about at least this many times the largest measured count: nearer, no power of two is left between.
    advice_beyond: float = 4.0
    #: Pairs of terms that cannot be told apart which are named, at most.
    aliased_pairs: int = 2
    #: Points of efficiency above 100 % that are worth a word: less is the noise of a good run. A guess.
    above_perfect: float = 3.0


ANSWERS = AnswerSettings()


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


@dataclass(frozen=True)
class Questions:
    """The questions about a predicted quantity."""

    target: Target
    band = "How well does it scale?"
    knee = "Where is the knee?"
    next = "What to measure next?"
    normal = "Is this normal?"
    pays = "Does growing pay?"

    @property
    def largest_part(self) -> str:
        """The question after the largest term."""
        return "What takes the time?" if self.target.is_time else f"What makes up {self.target.name}?"

    @property
    def all(self) -> list[str]:
        """The questions, in order; only a time has a knee."""
        return [self.band, *([self.knee] if self.target.is_time else []), self.largest_part, self.next]


def answers(
    result: FitResult,
    answer: Scaling,
    target: pd.DataFrame,
    question: Question,
    verdict: str,
    grown: tuple[Growth, Expectation] | None = None,
    *,
    target_given: bool = False,
) -> tuple[Answer, ...]:
    """Return the answers about one model whose scale is known, in the order of `Questions.all`."""
    interval = question.interval
    further = {**answer.at, answer.along: float(target[answer.along].iloc[0])}
    if not target_given:
        further = _further(result, answer, target)
    part, following = _largest_part(result, answer, target, interval), _next(result, further, answer.along, interval)
    if not answer.quantity.is_time:
        return (*_left_out(only_for_times("efficiency and knee", answer.quantity), result), part, following)
    if answer.refusal:
        return (*_left_out(answer.refusal, result), part, following)
    count = float(target[answer.along].iloc[0])
    band = _band(result, answer, count, verdict)
    band = replace(band, sentences=(*band.sentences, *_record(result, answer.along, target, band.verdict)))
    knee = _knee(answer, _largest_measured(result, answer.along))
    return (band, knee, part, *([] if grown is None else [_pays(*grown)]), following)


@dataclass(frozen=True)
class Summary:
    """The prediction at the configuration that the answers are about."""

    #: `value`, `lower`, `upper`: the predicted quantity with its interval.
    value: float
    lower: float
    upper: float
    #: In %; None where there is none.
    efficiency: float | None
    verdict: str
    #: All of it, for somebody who reads one line.
    sentence: str


def summary(
    result: FitResult,
    answer: Scaling | None,
    target: pd.DataFrame,
    interval: float,
    grown: tuple[Growth, Expectation] | None = None,
) -> Summary:
    """Return the prediction at one configuration, and a sentence: whether growing to it pays, where that is known."""
    quantity = result.schema.target
    row = result.predict(target, interval).iloc[0]
    value, lower, upper = (float(row[name]) for name in (quantity.name, "lower", "upper"))
    efficiency, place = None, "at the centre of the data"
    if answer is not None:
        count = float(target[answer.along].iloc[0])
        place = f"at {count_text(count, answer.along)}"
        efficiency = _efficiencies(answer, count)[0] if "efficiency" in answer.curve else None
    subject, verb = (with_article(result.schema.timed), "to take") if quantity.is_time else (quantity.name, "to be")
    ends = with_unit(f"{lower:.3g} to {upper:.3g}", quantity)
    words = [f"{place}, {subject} is expected {verb} {with_unit(f'{value:.3g}', quantity)}"]
    if quantity.throughput and "throughput" in row:
        # Of a measured throughput the time is that of one unit of its work, which is no step.
        rate, low, high = (three_digits(float(row[name])) for name in THROUGHPUT)
        unit = f"{samples_called(quantity.throughput)}/s"
        words, ends = [f"{place}, expect {rate} {unit}"], f"{low} to {high}"
    words.append(f" ({100 * interval:g} % interval: {ends})")
    words += [] if efficiency is None else [f", at {efficiency:.0f} % efficiency"]
    if grown is not None:
        words = [first_sentence(*grown)]
    words += [f"; {text}" for text in further_words({n: f.schema.target for n, f in result.further.items()}, row)]
    fits = fits_text(float(row["fits"]))
    words += [f"; {fits}" if fits else "", f"; {TRUST[str(row['verdict'])]}"]
    return Summary(value, lower, upper, efficiency, str(row["verdict"]), capitalised("".join(words)))


def unanswered(why: str, result: FitResult, target: pd.DataFrame, interval: float) -> tuple[Answer, ...]:
    """Return the answers where no factor counts the workers: those about scaling give the reason."""
    values = {str(k): v for k, v in target.iloc[0].items()}
    return (
        *_left_out(why, result),
        _largest_part(result, None, target, interval),
        _next(result, values, "", interval),
    )


def normal_answer(result: FitResult, target: pd.DataFrame) -> tuple[Answer, ...]:
    """Return where the measured efficiency stands among published series; nothing where that is not known."""
    text, numbers = normal_at(result, target)
    if "normal" not in numbers:
        return ()
    place = numbers["normal"]
    low, median, high, value = (round(100.0 * place[name], 1) for name in ("low", "median", "high", "value"))
    short = f"{value:.0f} %: {judged(place['percentile'])}"
    return (Answer(Questions.normal, short, (capitalised(text),), marks=(low, median, high, value)),)


def _left_out(why: str, result: FitResult) -> list[Answer]:
    """Return the answers about scaling where there are none."""
    scaling = [q for q in Questions(result.schema.target).all if q in (Questions.band, Questions.knee)]
    return [Answer(question, "left out", (capitalised(why),)) for question in scaling]


def _largest_measured(result: FitResult, name: str) -> float:
    factor: Factor = next(f for f in result.schema.factors if f.name == name)
    return factor.upper


def _further(result: FitResult, answer: Scaling, target: pd.DataFrame) -> dict[str, Any]:
    """Return the target of the advice where none was given: no nearer than two doublings beyond the data."""
    far = ANSWERS.advice_beyond * _largest_measured(result, answer.along)
    return {**answer.at, answer.along: max(float(target[answer.along].iloc[0]), far)}


def _band(result: FitResult, answer: Scaling, count: float, verdict: str) -> Answer:
    """Return the answer about the efficiency."""
    largest = _largest_measured(result, answer.along)
    measured, there = (_efficiency(answer, n) for n in (largest, count))
    ratio = count / largest
    beyond = f", {ratio:g} times the most that was measured," if ratio > 1 else ""
    at = count_text(count, answer.along)
    sentences = [
        f"At {at}{beyond} each is predicted to do {there} of the work that it does at {answer.reference:g} "
        f"({answer.kind} scaling).",
        *([f"At {largest:g}, the largest count that was measured, it is {measured}."] if ratio > 1 else []),
        *_above_perfect(answer, max(_efficiencies(answer, n)[0] for n in (largest, count))),
    ]
    return Answer(Questions.band, f"{there.split(' (')[0]} at {at}", tuple(sentences), verdict)


def _record(result: FitResult, along: str, target: pd.DataFrame, verdict: str) -> list[str]:
    """Say how often `auto` was right on published series that were predicted like this one."""
    if result.options.get("approach") != "series" or result.options.get("pooled_share") is not None:
        return []
    leaves = leaves_node(result.panel, columns_of(target))
    ratio = float(target[along].iloc[0]) / _largest_measured(result, along)
    record = record_like(min(ratio, RECORDS.far), leaves, verdict if ratio <= RECORDS.far else "")
    if record is None:
        return []
    if ratio <= RECORDS.far:
        return [record.sentence]
    unknown = f"Nobody has judged predictions at {ratio:.3g} times the largest measured {along}, as this one is."
    return [unknown, record.sentence.replace("this was right", "shorter reaches were right")]


def _above_perfect(answer: Scaling, efficiency: float) -> list[str]:
    """Say what an efficiency above 100 % means; nothing where there is none."""
    if efficiency <= 100.0 + ANSWERS.above_perfect:
        return []
    return [
        f"More than 100 % means that a worker does more than it did at {answer.reference:g}: the smallest run was slow "
        "(too little memory, warm-up, another configuration), or a share of the work fits a cache."
    ]


def _efficiencies(answer: Scaling, count: float) -> tuple[float, float, float]:
    """Return the efficiency at a count and the ends of its interval, in %."""
    counts = np.log(answer.curve[answer.along].to_numpy(float))
    middle, low, high = (
        100.0 * float(np.interp(np.log(count), counts, answer.curve[name].to_numpy(float)))
        for name in ("efficiency", "efficiency_lower", "efficiency_upper")
    )
    return middle, low, high


def _efficiency(answer: Scaling, count: float) -> str:
    """Return the efficiency at a count with its interval, in %; of an interval of one value only the value."""
    middle, low, high = (f"{value:.0f}" for value in _efficiencies(answer, count))
    if low == middle == high:
        return f"{middle} %"
    return f"{middle} % ({100 * answer.interval:g} % interval: {low} to {high} %)"


def _knee(answer: Scaling, largest: float) -> Answer:
    # With work that grows with the workers every step gets longer; what may fall is what they do together.
    turn = "throughput" if answer.kind == "weak" else "slower"
    points = {what: answer.points[answer.points["what"] == what] for what in ("efficiency", turn)}
    knee, level = (float(points["efficiency"][name].iloc[0]) for name in ("count", "level"))
    sentences = [capitalised(str(point["sentence"].iloc[0])) for point in points.values()]
    rule = f"A curve is past its knee where the efficiency is below {100 * level:g} %."
    unknown = () if np.isfinite(knee) and knee <= largest else (f"Nothing above {largest:g} was measured.",)
    short = count_text(knee, answer.along) if np.isfinite(knee) else "none found"
    return Answer(Questions.knee, short, (rule, *sentences, *unknown))


def _largest_part(result: FitResult, answer: Scaling | None, target: pd.DataFrame, interval: float) -> Answer:
    """Return what the value is made of, or what it depends on where no term has a name of the field."""
    columns = read_query(result.completed(target), result.schema).columns
    limit = limit_of(result, columns, interval)
    place = "the centre of the data"
    if answer is not None:
        place = count_text(float(target[answer.along].iloc[0]), answer.along)
    sentences = [capitalised(limit_sentence(limit, place))] if limit_sentence(limit, place) else []
    crossed = answer.crossovers.head(1) if answer is not None and limit.parts else None
    if crossed is not None and len(crossed):
        # Which member says so belongs to the expert parts.
        prefix, text = f"{crossed['member'].iloc[0]}: ", str(crossed["sentence"].iloc[0])
        sentences.append(capitalised(text.removeprefix(prefix)))
    groups = [{*part.terms} for part in limit.parts]
    pairs = [pair for pair in aliased(result, columns) if not any({*pair} <= group for group in groups)]
    sentences += [
        f"'{a}' and '{b}' cannot be told apart by this data; their sum can."
        for a, b in (pairs if limit.parts else [])[: ANSWERS.aliased_pairs]
    ]
    return Answer(Questions(result.schema.target).largest_part, limit_short(limit), tuple(sentences))


def growth_to(
    result: FitResult, answer: Scaling | None, target: pd.DataFrame, question: Question
) -> tuple[Growth, Expectation] | None:
    """Return what growing to the target brings, and the prediction there; None where that is not known."""
    if answer is None or answer.refusal or not answer.quantity.is_time:
        return None
    expected, _ = expectation(result, read_query(result.completed(target), result.schema), question.interval)
    work = work_of(result, question)
    growth = growth_of(result, answer, float(target[answer.along].iloc[0]), work, question.price, question.per)
    return None if growth.target.rate is None or not growth.grows else (growth, expected)


def _pays(growth: Growth, expected: Expectation) -> Answer:
    """Return whether growing to the target pays."""
    judged = pays_judged(growth, (1.0 - expected.interval) / 2.0)
    return Answer(Questions.pays, judged, (capitalised(pays_sentence(growth, expected)),), expected.verdict)


def _next(result: FitResult, at: dict[str, Any], along: str, interval: float) -> Answer:
    """Return the answer about the next measurement."""
    question = Questions.next
    try:
        advice = suggest(result, at, interval=interval)
    except GenperfError as error:
        hint = [f"Try: {error.hint}."] if error.hint else []
        return Answer(question, "no advice", (capitalised(error.message), *hint))
    if advice.met or advice.chosen.empty:
        return Answer(question, "nothing", (capitalised(advice.sentence),))
    first = advice.chosen.iloc[0]
    names = [f.name for f in result.schema.varying if f.name in advice.chosen]
    differs = sorted((n for n in names if first[n] != at.get(n)), key=lambda n: n != along) or names[:1]
    name = differs[0]
    short = f"{name} {first[name]}" if isinstance(first[name], str) else count_text(float(first[name]), name)
    return Answer(question, short, (capitalised(advice.sentence),))
