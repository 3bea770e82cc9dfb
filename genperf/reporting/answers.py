"""The four answers in plain sentences: efficiency band, knee, bottleneck, what to measure next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genperf.advice import suggest
from genperf.attribution import Scaling, explain
from genperf.attribution.terms import FORM, HIDDEN
from genperf.errors import GenperfError
from genperf.result import FitResult

#: Advice is about at least this many times the largest measured count: nearer, there is nothing left between.
FURTHER = 4.0


@dataclass(frozen=True)
class Answer:
    """One of the four.

    Attributes
    ----------
    question : str
    short : str
        The answer in a few words.
    said : tuple of str
        The sentences behind it.
    verdict : str
        Of the prediction it rests on; empty where it rests on none.
    """

    question: str
    short: str
    said: tuple[str, ...]
    verdict: str = ""


BAND, KNEE, BOTTLENECK, NEXT = (
    "How well does it scale?",
    "Where is the knee?",
    "What takes the time?",
    "What to measure next?",
)


def answers(result: FitResult, answer: Scaling, target: pd.DataFrame, interval: float) -> tuple[Answer, ...]:
    """Return the four answers about one model.

    Parameters
    ----------
    result : FitResult
    answer : Scaling
    target : DataFrame
        One row: the configuration that the answers are about.
    interval : float
        Nominal coverage.
    """
    predicted = result.predict(target, interval).iloc[0]
    return (
        _band(result, answer, float(target[answer.along].iloc[0]), str(predicted["verdict"])),
        _knee(answer),
        _bottleneck(result, answer, target, interval),
        _next(result, _further(result, answer, target), answer.along, interval),
    )


def _further(result: FitResult, answer: Scaling, target: pd.DataFrame) -> dict[str, Any]:
    """Return the target of the advice: the one asked about, but no nearer than two doublings beyond the data."""
    largest = next(f.upper for f in result.schema.factors if f.name == answer.along)
    return {**answer.at, answer.along: max(float(target[answer.along].iloc[0]), FURTHER * largest)}


def unanswered(why: str, result: FitResult, target: pd.DataFrame, interval: float) -> tuple[Answer, ...]:
    """Return the four answers where no factor counts the workers: two of them say why not."""
    return (
        Answer(BAND, "not asked", (why,)),
        Answer(KNEE, "not asked", (why,)),
        _bottleneck(result, None, target, interval),
        _next(result, {str(k): v for k, v in target.iloc[0].items()}, "", interval),
    )


def _band(result: FitResult, answer: Scaling, count: float, verdict: str) -> Answer:
    largest = next(f.upper for f in result.schema.factors if f.name == answer.along)
    here, there = (_efficiency(answer, n) for n in (largest, count))
    times = count / largest
    beyond = f", {times:g} times the most that was measured," if times > 1 else ""
    said = [
        f"At {count:g} {answer.along}{beyond} each is predicted to do {there} of the work that it does at "
        f"{answer.reference:g} ({answer.kind} scaling).",
        *([f"At {largest:g}, the largest count that was measured, it is {here}."] if times > 1 else []),
    ]
    return Answer(BAND, f"{there.split(' (')[0]} at {count:g} {answer.along}", tuple(said), verdict)


def _efficiency(answer: Scaling, count: float) -> str:
    counts = answer.curve[answer.along].to_numpy(float)
    middle, low, high = (
        100.0 * float(np.interp(np.log(count), np.log(counts), answer.curve[name].to_numpy(float)))
        for name in ("efficiency", "efficiency_lower", "efficiency_upper")
    )
    return f"{middle:.0f} % ({100 * answer.interval:g} % interval: {low:.0f} to {high:.0f} %)"


def _knee(answer: Scaling) -> Answer:
    # With work that grows with the workers every step gets longer; what may fall is what they do together.
    turn = "throughput" if answer.kind == "weak" else "slower"
    points = {what: answer.points[answer.points["what"] == what] for what in ("efficiency", turn)}
    knee, level = (float(points["efficiency"][name].iloc[0]) for name in ("count", "level"))
    short = f"{knee:g} {answer.along}" if np.isfinite(knee) else f"none up to {answer.upto:g} {answer.along}"
    said = [_sentence(str(point["said"].iloc[0])) for point in points.values()]
    return Answer(KNEE, short, (f"A curve is past its knee where the efficiency is below {100 * level:g} %.", *said))


def _bottleneck(result: FitResult, answer: Scaling | None, target: pd.DataFrame, interval: float) -> Answer:
    found = explain(result, target, interval)
    terms = found.terms[~found.terms["term"].isin([HIDDEN, FORM])].sort_values("share", ascending=False, kind="stable")
    first = terms.iloc[0]
    where = f"At {float(target[answer.along].iloc[0]):g} {answer.along}" if answer else "At the centre of the data"
    said = [
        f"{where}, '{first['term']}' takes {first['seconds']:.3g} s of the time, {100 * first['share']:.0f} % "
        f"({100 * interval:g} % interval: {first['lower']:.3g} to {first['upper']:.3g} s)."
    ]
    if len(terms) > 1:
        second = terms.iloc[1]
        said.append(f"Next is '{second['term']}' with {second['seconds']:.3g} s, {100 * second['share']:.0f} %.")
    said += [_sentence(text) for text in (answer.crossovers["said"].head(1) if answer is not None else ())]
    said += [f"'{a}' and '{b}' cannot be told apart by this data; their sum can." for a, b in found.aliased[:2]]
    return Answer(BOTTLENECK, f"{first['term']}: {100 * first['share']:.0f} %", tuple(said))


def _next(result: FitResult, at: dict[str, Any], along: str, interval: float) -> Answer:
    try:
        found = suggest(result, at, interval=interval)
    except GenperfError as error:
        return Answer(NEXT, "no advice", (_sentence(error.message), *([f"Try: {error.hint}."] if error.hint else [])))
    if found.met or found.chosen.empty:
        return Answer(NEXT, "nothing", (_sentence(found.said),))
    first = found.chosen.iloc[0]
    names = [f.name for f in result.schema.varying if f.name in found.chosen]
    differs = sorted((n for n in names if first[n] != at.get(n)), key=lambda n: n != along) or names[:1]
    name = differs[0]
    short = f"{name} {first[name]}" if isinstance(first[name], str) else f"{first[name]:g} {name}"
    return Answer(NEXT, short, (_sentence(found.said),))


def _sentence(text: str) -> str:
    """Begin with a capital, end with a full stop."""
    text = text.strip()
    return (text[:1].upper() + text[1:]).rstrip(".") + "."
