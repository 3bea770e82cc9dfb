"""`ask`: the facts about one configuration, gathered once, and the sentences that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.advice.plan import Plan, planned
from genperf.advice.suggest import suggest
from genperf.attribution import Scaling
from genperf.attribution.comparison import single
from genperf.attribution.derived import Work, curve_of, derived_columns, growth_of
from genperf.attribution.terms import limit_of
from genperf.errors import GenperfError
from genperf.facts import Expectation, Growth, Interval, Paid, Training
from genperf.formula import Number, parse, substitute
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS
from genperf.normal.exchange import Exchange, exchange_of
from genperf.normal.series import AmongPublished, Normal, among_published, series_of, trains_networks
from genperf.panel.following import PANEL
from genperf.prediction import Query, predicted_columns
from genperf.prediction.bands import Forecast
from genperf.result import FitResult, answering
from genperf.scaling import KINDS
from genperf.vocabulary.names import counts_devices, noun_of
from genperf.words.growth import expect_sentence, pays_sentence, sure_sentence, training_sentence
from genperf.words.limit import limit_sentence
from genperf.words.numbers import capitalised, join_values
from genperf.words.quantity import further_words

if TYPE_CHECKING:
    from genperf.causes import Diagnosis


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


@dataclass(frozen=True)
class Beside:
    """How a measured series compares with published ones: what is known of it."""

    normal: AmongPublished | None = None
    exchange: Exchange | None = None
    #: Where its efficiency is low; None where nothing was diagnosed, or another series is asked about.
    causes: Diagnosis | None = None
    #: Whether a cause was looked for.
    training: bool = False

    @property
    def numbers(self) -> dict[str, Any]:
        """What is known, by name."""
        placed = None if self.normal is None else self.normal.placed
        numbers: dict[str, Any] = {"normal": placed.to_dict()} if isinstance(placed, Normal) else {}
        numbers |= {} if self.exchange is None else {"exchange": self.exchange.to_dict()}
        causes = [] if self.causes is None else self.causes.to_dict()["causes"]
        return {**numbers, **({"causes": causes} if self.training else {})}

    @property
    def sentences(self) -> dict[str, str]:
        """What is known, in words."""
        known = {"normal": self.normal, "exchange": self.exchange, "causes": self.causes}
        return {name: one.sentence for name, one in known.items() if one is not None}


@dataclass(frozen=True, eq=False)
class Answer:
    """What is known of one configuration, as numbers and in words."""

    #: The configuration.
    at: dict[str, Any]
    #: The part of it that was not given: the factors that vary and follow no given one.
    taken: dict[str, Any]
    #: Of the prediction.
    verdict: str
    reason: str
    #: The predicted value and its interval, and what is known of `throughput`, `efficiency`, `marginal_cost`, ….
    numbers: dict[str, Any]
    #: `plan` and `training` where one is asked about, `expect`, `sure`, `pays`, `best` where more do less, `limit`,
    #: `normal`, `exchange` with hints, `causes` where the series is slow, `nodes` where these are not known, `next`.
    sentences: dict[str, str]

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
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.10, 0.11, 0.12, 0.13]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="a + b*log2(gpus)")
    >>> print(ask(result, {"gpus": 64}, Question(work="32*gpus")).sentences["expect"])
    Expect 12,800 samples/s at gpus=64: 40 x that of 1 gpu, an efficiency of 62 %; a step takes 0.16 s.
    """
    question = question or Question()
    price, per, interval = question.price, question.per, question.interval
    result = answering(result, at)
    work = work_of(result, question)
    plan = None
    if question.plan is not None:
        plan = planned(result, at, question.plan, work, price, per, interval)
        at = {**plan.at, **at}
    query = result.query(at)
    target = single(query, "ask answers for one configuration")
    expected, predicted = expectation(result, query, interval)
    curve = curve_of(result, target, work, interval)
    growth = growth_of(curve, float(target[curve.along]), work, price, per)
    shows, given = question.training.shows(price is not None), question.training.given
    derived = derived_columns(result, {**query.columns, **predicted}, shows, price, interval, given)
    training = {name: float(cells[0]) for name, cells in derived.items()}
    beside = beside_published(result, curve, growth.target.count, work, question)
    # The count beyond which more do less, where the work is known.
    points = curve.points[curve.points["what"] == ("slower" if growth.whole else "throughput")].to_dict("records")
    likely = points and (np.isfinite(points[0]["count"]) or points[0]["reached"] >= ASK.least_chance)
    places = join_values({name: v for name, v in target.items() if name in at or name == growth.name})
    further = {name: one.schema.target for name, one in result.further.items()}
    expect = [expect_sentence(expected, growth, places)]
    expect += further_words(further, {name: cells[0] for name, cells in predicted.items()})
    sentences = {
        "plan": "" if plan is None else plan.sentence,
        "expect": "; ".join(expect),
        "training": training_sentence(question.training, training),
        "sure": sure_sentence(expected, growth),
        "pays": pays_sentence(growth, expected),
        "best": points[0]["sentence"] if likely else "",
        "limit": limit_sentence(limit_of(result, query.columns, interval), places),
        **beside.sentences,
        "nodes": _nodes_wanted(result, growth, expected),
        "next": _next(result, at),
    }
    numbers = _numbers(expected, growth) | ({} if result.feasibility is None else {"fits": expected.fits}) | training
    if points:
        ends = {end: float(points[0][end]) for end in ("count", "lower", "upper")}
        best: dict[str, float | None] = {end: value if np.isfinite(value) else None for end, value in ends.items()}
        numbers["best"] = {**best, "chance": float(points[0]["reached"]), "upto": curve.upto}
    return Answer(
        at=target,
        taken=_taken(result, target, at),
        verdict=expected.verdict,
        reason=expected.reason,
        numbers={**numbers, **beside.numbers, **({} if plan is None else plan.numbers)},
        sentences={what: capitalised(text) for what, text in sentences.items() if text},
    )


def _nodes_wanted(result: FitResult, growth: Growth, expected: Expectation) -> str:
    """Return the request for the nodes, where no column counts them and they decide on the prediction."""
    few = growth.start.count <= PANEL.usual_devices < growth.target.count
    if expected.verdict == "ok" or not few or not counts_devices(growth.name) or result.panel.node("nodes") is not None:
        return ""
    text = f"no column counts the nodes, and nobody knows whether {noun_of(growth.name)} of several were measured"
    return f'{text}: --hint "devices per node=8" or a column of nodes says it'


def expectation(
    result: FitResult, query: Query, interval: float, forecast: Forecast | None = None
) -> tuple[Expectation, dict[str, Any]]:
    """Return the prediction at one configuration, whose forecast may be known, and the columns of `predict` there."""
    quantity = result.schema.target
    row = predicted_columns(result, query, interval, "prediction", forecast)
    value = Interval(*(float(row[name][0]) for name in (quantity.name, "lower", "upper")))
    trust = str(row["verdict"][0]), str(row["reason"][0]), float(row["fits"][0])
    held_out = result.held_out_error, result.held_out_of
    return Expectation(quantity.name, quantity.unit, quantity.is_time, value, interval, *trust, *held_out), row


def work_of(result: FitResult, question: Question) -> Work:
    """Return the samples of a step: what the user says, what a throughput was divided into, or what columns show."""
    panel, kind = result.panel.within(question.constants), result.schema.scaling
    if not result.schema.target.is_time:
        return Work(None, question.sample, False, question.steps)
    known = parse(question.work).node if question.work else panel.measured_work or panel.samples
    if known is None and kind is not None and KINDS[kind].shared:
        return Work(None, result.schema.timed, True, question.steps)
    constants = {name: Number(value) for name, value in question.constants.items()}
    return Work(None if known is None else substitute(known, constants), question.sample, False, question.steps)


def _numbers(expected: Expectation, growth: Growth) -> dict[str, Any]:
    """Return what is predicted and what follows from it, by name."""
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


def beside_published(result: FitResult, curve: Scaling, count: float, work: Work, question: Question) -> Beside:
    """Return how the series compares with published ones, what its exchange should cost, and why it is slow.

    Parameters
    ----------
    curve : Scaling
        The predictions along the count.
    count : float
        Of the target.
    """
    rows, hints, panel = curve.steps.columns, question.hints, result.panel
    levels = {name: cells[-1] for name, cells in rows.items() if cells.dtype.kind in "OU"}
    words = [*question.words, *map(str, levels.values()), hints.get(BANDWIDTH, "")]
    series = None
    if {MESSAGE, PARAMETERS} & {*hints} or trains_networks(panel, [*words, *question.constants]):
        series = series_of(panel, rows, work.at)
    normal = None if series is None else among_published(series, count, words)
    exchange = None
    if hints and curve.quantity.is_time:
        here = int(np.argmin(np.abs(curve.steps.counts - count)))
        target = {name: cells[here : here + 1] for name, cells in rows.items()}
        seconds = float(curve.curve[curve.quantity.name].iloc[here]) if question.steps and not work.whole else None
        exchange = exchange_of(panel, hints, target, seconds, {} if series is None else series.kept)
    slow = series is not None and (normal is None or normal.low)
    causes = _causes(result, levels, question) if slow else None
    return Beside(normal, exchange, causes, series is not None)


def _causes(result: FitResult, levels: Mapping[str, Any], question: Question) -> Diagnosis | None:
    """Return why a series is slow; None where no cause is likelier than none."""
    # A usual efficiency has no cause to look for.
    from genperf.causes import why

    try:
        diagnosis = why(result, levels, work=question.work, hints=question.hints)
    except GenperfError:
        # One configuration, or levels of a run that is still to be made.
        return None
    return diagnosis if diagnosis.needed else None


def _taken(result: FitResult, target: Mapping[str, Any], at: Collection[str]) -> dict[str, Any]:
    """Return the factors that vary, were not given and follow no given one, with the values they are taken at."""
    panel = result.panel
    factors = {f.name: f for f in panel.factors}
    given = {result.schema.column(name) for name in at}
    # Of one measured count, it is those that the target goes beyond.
    left = [f.name for f in panel.factors if f.distinct > 1 and f.name not in given]
    left += [f.name for f in panel.factors if f.distinct == 1 and f.numeric and target[f.name] != f.lower]
    settled = {n for n in left if not given.isdisjoint(panel.settled_by.get(n, ()))}
    if panel.workers is not None and panel.workers.name in given:
        settled |= panel.followers.intersection(left)
    varied = {n for n in settled if factors[n].distinct > 1}
    return {name: target[name] for name in left if name not in given and name not in varied}


def _next(result: FitResult, at: Mapping[str, Any]) -> str:
    new = {name: level for name, levels in result.schema.substituted.items() for level in levels}
    if new:
        return f"measure a run with {join_values(new)}: no measured run shows it"
    try:
        return suggest(result, at).sentence
    except GenperfError as error:
        return f"no next run is proposed: {error.message}"
