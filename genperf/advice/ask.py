"""`ask`: one configuration → plain sentences, from the prediction to the next run to make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from genperf.advice.normal import causes_of, exchange_of, normal_of, series_measured
from genperf.advice.plan import Plan, planned
from genperf.advice.suggest import suggest
from genperf.attribution import Scaling
from genperf.attribution.derived import training_sentence
from genperf.attribution.growth import Work, curve_of, growth_of
from genperf.attribution.limit import limit_of
from genperf.errors import GenperfError
from genperf.facts import Expectation, Growth, Interval, Paid, Training
from genperf.formula import render
from genperf.models.network import BANDWIDTH
from genperf.panel.configurations import following_workers
from genperf.panel.following import follows
from genperf.panel.nodes import NODE
from genperf.panel.work import work_of_columns, work_of_group
from genperf.prediction import Query
from genperf.result import FitResult, answering
from genperf.scaling import KINDS
from genperf.vocabulary.names import counts_devices, noun_of
from genperf.words.growth import expect_sentence, pays_sentence, sure_sentence
from genperf.words.limit import limit_sentence
from genperf.words.numbers import capitalised, join_values
from genperf.words.quantity import further_words


@dataclass(frozen=True)
class AskSettings:
    """What is worth a sentence."""

    #: The chance that more workers do less, below which it is not reported. A guess: one in four.
    least_chance: float = 0.25


ASK = AskSettings()


@dataclass(frozen=True)
class Question:
    """What is asked beside the configuration."""

    #: The samples of a step, a formula over the columns; from the batch columns where None.
    work: str | None = None
    #: What a sample is called: images, tokens.
    sample: str = "samples"
    price: Paid | None = None
    #: The column that counts what the price is for; that of the workers where None.
    per: str | None = None
    #: Columns of one value that are no factors, such as the batch of a group.
    constants: Mapping[str, float] = field(default_factory=dict)
    #: Nominal coverage.
    interval: float = 0.9
    #: Whether the time of a step means something: not where a throughput came without the work of a step.
    steps: bool = True
    #: Of a transformer: the tokens, and the peak of a device.
    training: Training = field(default_factory=Training)
    #: How much is to be done, by when and for how much: answered by how many workers that takes.
    plan: Plan | None = None
    #: Hints of the network, and words that tell what the series ran on: a framework, a network.
    hints: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """Sentences about one configuration, and the numbers in them."""

    #: The configuration.
    at: dict[str, Any]
    #: The part of it that was not given: the factors that vary and follow no given one.
    taken: dict[str, Any]
    #: `plan` and `training` where one is asked about, `expect`, `sure`, `pays`, `best` where more do less, `limit`,
    #: `normal`, `exchange` with hints, `causes` where the series is slow, `nodes` where these are not known, `next`.
    sentences: dict[str, str]
    #: The predicted value and its interval, and what is known of `throughput`, `efficiency`, `marginal_cost`, ….
    numbers: dict[str, Any]
    verdict: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        trust = {"verdict": self.verdict, "reason": self.reason}
        return {"at": self.at, "taken": self.taken, **self.numbers, **trust, "sentences": dict(self.sentences)}

    def __str__(self) -> str:
        return "\n".join(self.sentences.values())


def ask(result: FitResult, at: Mapping[str, Any], question: Question | None = None) -> Answer:
    """Answer what to expect of one configuration, how sure that is, whether it pays, what limits it, what to run next.

    Parameters
    ----------
    at : mapping
        The configuration; factors left out are those of a measured run (`typical_run`), the count of workers that of
        the plan. For a level that was not measured the measured ones stand (`genperf.result.answering`).

    Raises
    ------
    GenperfError
        For several configurations.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.10, 0.11, 0.12, 0.13]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="a + b*log2(gpus)")
    >>> print(ask(result, {"gpus": 64}, Question(work="32*gpus")).sentences["expect"])
    Expect 12,800 samples/s at gpus=64: 40 x that of 1 gpu, an efficiency of 62 %; a step takes 0.16 s.
    """
    question = question or Question()
    result = answering(result, at)
    work = work_of(result, question)
    plan = None
    if question.plan is not None:
        plan = planned(result, at, question.plan, work, question.price, question.per, question.interval)
        at = {**plan.at, **at}
    query = result.query(at)
    if query.rows != 1:
        raise GenperfError(f"ask answers for one configuration, not {query.rows}", hint="one value for each factor")
    target: dict[str, Any] = {name: cells[0] for name, cells in query.columns.items()}
    expected, predicted = expectation(result, query, question.interval)
    curve = curve_of(result, target, work, question.interval)
    growth = growth_of(result, curve, float(target[curve.along]), work, question.price, question.per)
    places = join_values({name: v for name, v in target.items() if name in at or name == growth.name})
    targets = {name: one.schema.target for name, one in result.further.items()}
    training, training_numbers = training_sentence(
        question.training, result, result.predict_columns(target, question.interval), question.price, question.interval
    )
    best_sentence, best_numbers = _best(curve, growth)
    beside, beside_numbers = reference(result, curve, growth.target.count, work, question)
    sentences = {
        "plan": "" if plan is None else plan.sentence,
        "expect": "; ".join([expect_sentence(expected, growth, places), *further_words(targets, predicted)]),
        "training": training,
        "sure": sure_sentence(expected, growth),
        "pays": pays_sentence(growth, expected),
        "best": best_sentence,
        "limit": limit_sentence(limit_of(result, query.columns, question.interval), places),
        **beside,
        "nodes": _nodes_wanted(result, growth, expected),
        "next": _next(result, at),
    }
    sentences = {what: capitalised(text) for what, text in sentences.items() if text}
    fits = {} if result.feasibility is None else {"fits": expected.fits}
    plans = {} if plan is None else plan.numbers
    numbers = {**_numbers(expected, growth), **fits, **training_numbers, **best_numbers, **beside_numbers, **plans}
    return Answer(target, _taken(result, target, at), sentences, numbers, expected.verdict, expected.reason)


def expectation(result: FitResult, query: Query, interval: float) -> tuple[Expectation, pd.Series[Any]]:
    """Return the prediction at one configuration, and the row of `predict`."""
    quantity = result.schema.target
    row = result.predict(pd.DataFrame(query.columns), interval).iloc[0]
    value = Interval(*(float(row[name]) for name in (quantity.name, "lower", "upper")))
    expected = Expectation(
        quantity.name,
        quantity.unit,
        quantity.is_time,
        value,
        interval,
        str(row["verdict"]),
        str(row["reason"]),
        float(row["fits"]),
        result.held_out_error,
        result.held_out_of,
    )
    return expected, row


def work_of(result: FitResult, question: Question) -> Work:
    """Return the samples of a step: what the user says, what a throughput was divided into, or what columns show."""
    target = result.schema.target
    known = question.work or target.work or work_of_columns(result.panel) or None
    kind = result.schema.scaling
    whole = target.is_time and kind is not None and KINDS[kind].shared and known is None
    group = {name: f"{value:.15g}" for name, value in question.constants.items()}
    if known is None and target.is_time and (node := work_of_group(result.panel, group)) is not None:
        known, whole = render(node), False
    formula = known if target.is_time else None
    sample = result.schema.timed if whole else question.sample
    return Work(formula, sample, question.constants, whole, question.steps)


def _numbers(expected: Expectation, growth: Growth) -> dict[str, Any]:
    """Return the numbers of an answer by name."""
    value = expected.value
    numbers: dict[str, Any] = {expected.name: value.value, "lower": value.lower, "upper": value.upper}
    target, efficiency = growth.target, growth.target.efficiency
    if efficiency is None:
        return numbers
    ends = {"efficiency_lower": efficiency.lower, "efficiency_upper": efficiency.upper}
    numbers.update(speedup=growth.speedup, efficiency=efficiency.value, **ends)
    if target.rate is not None and not growth.whole:
        numbers["throughput"] = target.rate
        work = target.rate * target.value
        numbers |= {"throughput_lower": work / value.upper, "throughput_upper": work / value.lower}
    if not growth.grows or growth.marginal is None:
        return numbers
    numbers["pays"] = growth.chance
    if growth.marginal.value == float("inf"):
        return {**numbers, "marginal_cost": None}
    numbers["marginal_cost_ratio"] = growth.marginal.value
    if growth.price is not None and growth.start.cost is not None:
        size, ending = (1.0, "") if growth.whole else (1e6, "_per_million")
        here, there = (size * (stage.cost or 0.0) for stage in (growth.start, target))
        numbers.update({f"cost{ending}": there, f"marginal_cost{ending}": here * growth.marginal.value})
    return numbers


def _best(curve: Scaling, growth: Growth) -> tuple[str, dict[str, Any]]:
    """Return the count beyond which the work in a second falls, where one is likely enough to be worth a sentence."""
    points = curve.points[curve.points["what"] == ("slower" if growth.whole else "throughput")]
    if points.empty:
        return "", {}
    point = points.iloc[0]
    ends = {end: _finite(float(point[end])) for end in ("count", "lower", "upper")}
    numbers = {"best": {**ends, "chance": float(point["reached"]), "upto": curve.upto}}
    worth = ends["count"] is not None or point["reached"] >= ASK.least_chance
    return str(point["sentence"]) if worth else "", numbers


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def reference(
    result: FitResult, curve: Scaling, count: float, work: Work, question: Question
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return how the series compares with published ones, what its exchange should cost, and why it is slow.

    Sentences and numbers by name; without those that are not known.

    Parameters
    ----------
    curve : Scaling
        The predictions along the count.
    count : float
        Of the target.
    """
    rows = curve.steps.columns
    series = series_measured(result, pd.DataFrame(rows), work.at)
    sentences: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    if series is not None:
        words = [*question.words, *(str(v[-1]) for v in rows.values() if v.dtype.kind in "OU")]
        words.append(question.hints.get(BANDWIDTH, ""))
        sentences["normal"], numbers = normal_of(series, count, words)
    if question.hints and curve.quantity.is_time:
        here = int(np.argmin(np.abs(curve.steps.counts - count)))
        target = {name: cells[here : here + 1] for name, cells in rows.items()}
        seconds = float(curve.curve[curve.quantity.name].iloc[here]) if question.steps and not work.whole else None
        sentences["exchange"], costs = exchange_of(result.panel, question.hints, target, seconds, series)
        numbers |= costs
    if series is not None:
        sentences["causes"], causes = causes_of(result, rows, numbers, question.work, question.hints)
        numbers |= causes
    return sentences, numbers


def _taken(result: FitResult, target: Mapping[str, Any], at: Collection[str]) -> dict[str, Any]:
    """Return the factors that vary, were not given and follow no given one, with the values they are taken at."""
    schema = result.schema
    given = {schema.column(name) for name in at}
    places = {f.name: j for j, f in enumerate(schema.factors)}
    left = [f.name for f in schema.factors if f.distinct > 1 and f.name not in given]
    known = [name for name in given if name in places]
    # Nodes of one measured count that the target goes beyond are told as well.
    left += [f.name for f in schema.factors if f.distinct == 1 and f.numeric and target[f.name] != f.lower]
    left = [name for name in left if name not in given]
    workers = result.panel.workers
    if workers is not None and workers.name in given:
        follow = following_workers(result.panel, {n: np.array([v]) for n, v in target.items()})
        left = [name for name in left if name not in follow or schema.factors[places[name]].distinct == 1]
    varied = {name for name in left if schema.factors[places[name]].distinct > 1}
    settled = {name for name in varied if any(follows(result.panel, name, other) for other in known)}
    return {name: target[name] for name in left if name not in settled}


def _nodes_wanted(result: FitResult, growth: Growth, expected: Expectation) -> str:
    """Return the request for the nodes, where no column counts them and they decide on the prediction; else nothing."""
    devices = counts_devices(growth.name)
    few = growth.start.count <= NODE.usual_devices < growth.target.count
    if expected.verdict == "ok" or result.panel.node("nodes") is not None or not (devices and few):
        return ""
    name = noun_of(growth.name)
    text = f"no column counts the nodes, and nobody knows whether {name} of several were measured"
    return f'{text}: --hint "devices per node=8" or a column of nodes says it'


def _next(result: FitResult, at: Mapping[str, Any]) -> str:
    new = {name: level for name, levels in result.schema.substituted.items() for level in levels}
    if new:
        return f"measure a run with {join_values(new)}: no measured run shows it"
    try:
        return suggest(result, at).sentence
    except GenperfError as error:
        return f"no next run is proposed: {error.message}"
