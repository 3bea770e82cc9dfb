"""`ask`: one configuration → plain sentences, from the prediction to the next run to make."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.normal import exchange_of, normal_of, series_measured
from genperf.advice.suggest import suggest
from genperf.attribution.alike import LABELS, alike_terms
from genperf.attribution.derived import Price
from genperf.attribution.doublings import doublings
from genperf.attribution.ladder import ladder
from genperf.attribution.terms import FORM, parts_of
from genperf.attribution.training import Training
from genperf.errors import GenperfError, TableError
from genperf.formula import parse, quote_name, render
from genperf.models.network import BANDWIDTH
from genperf.panel.configurations import following_workers
from genperf.panel.following import divisible, follows
from genperf.panel.typical import values_with_levels
from genperf.panel.work import work_of_columns, work_of_group
from genperf.prediction import read_query
from genperf.result import FitResult, answering
from genperf.scaling import KINDS
from genperf.table import Factor
from genperf.table.names import noun_of
from genperf.words.numbers import (
    capitalised,
    count_text,
    duration_text,
    durations_text,
    interval_note,
    join_values,
    three_digits,
    with_article,
)
from genperf.words.quantity import further_words, value_name
from genperf.words.verdict import fits_text

Array = npt.NDArray[Any]

#: Terms of a series and of a transformer → what they are in plain words.
_PLAIN = {
    "computation": "computation",
    "constant": "a part that stays the same at every scale",
    "inside nodes": "communication inside a node",
    "contention": "contention inside a node",
    "leaving the node": "the cost of using a second node",
    "between nodes": "communication between nodes",
    "latency": "latency that grows with each doubling",
    "per doubling": "a cost that each doubling adds",
    "one after another": "work that nodes do one after another",
    "matrix": "matrix multiplication",
    "attention": "attention",
    "kernels": "the overhead of small products",
    "recomputation": "recomputation",
    "bubble": "the pipeline's bubble",
    "pipeline": "the traffic between stages",
    "tensor": "the exchange between tensor-parallel devices",
    "tensor latency": "the latency between tensor-parallel devices",
    "tensor between nodes": "tensor parallelism across nodes",
    "data": "the exchange of gradients inside a node",
    "data between nodes": "the exchange of gradients between nodes",
    "gather": "gathering the weights",
    "update": "the update of the weights",
    "offload": "the offload to the host",
}


@dataclass(frozen=True)
class AskSettings:
    """When growing pays."""

    #: A further sample that costs at most so many times one at the smaller scale pays. A convention, as that of the
    #: knee: half of the efficiency.
    most_marginal_cost: float = 2.0
    #: Samples whose price is told: that of one has too many zeros.
    sample_count: float = 1e6
    #: Above it an efficiency is doubted: caches and batches give a tenth more than in proportion, not more. A guess.
    most_efficiency: float = 1.15
    #: A smaller part of a step is not named: it would be written as 0 %.
    least_share: float = 0.005
    #: Factors that are told where a step has no named parts: they fit in a sentence.
    max_factors: int = 3


ASK = AskSettings()


@dataclass(frozen=True)
class Question:
    """What is asked beside the configuration."""

    #: The samples of a step, a formula over the columns; from the batch columns where None.
    work: str | None = None
    #: What a sample is called: images, tokens.
    sample: str = "samples"
    price: Price | None = None
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
    #: `expect`, `training` where one is asked about, `sure`, `pays`, `limit`, `normal`, `exchange` with hints, `next`.
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
        The configuration; factors left out are those of a measured run (`typical_run`). For a level that was not
        measured the measured ones stand (`genperf.result.answering`).

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
    query = result.query(at)
    if query.rows != 1:
        raise GenperfError(f"ask answers for one configuration, not {query.rows}", hint="one value for each factor")
    target: dict[str, Any] = {name: cells[0] for name, cells in query.columns.items()}
    frame = pd.DataFrame([target])
    curve = _Curve(result, target, frozenset(map(str, at)), question)
    quantity = result.schema.target
    predicted = result.predict(frame, question.interval).iloc[0]
    value, lower, upper = (float(predicted[c]) for c in (quantity.name, "lower", "upper"))
    targets = {name: one.schema.target for name, one in result.further.items()}
    verdict, reason = str(predicted["verdict"]), str(predicted["reason"])
    shown = {name: v for name, v in target.items() if name in at or name == curve.count.name}
    places = join_values(shown)
    numbers: dict[str, Any] = {quantity.name: value, "lower": lower, "upper": upper, "fits": float(predicted["fits"])}
    fits = fits_text(float(predicted["fits"]))
    training, training_numbers = question.training.sentence(
        result, result.predict_columns(target, question.interval), question.price, question.interval
    )
    sentences = {
        "expect": "; ".join(
            [
                _expect(curve, places, value, numbers),
                *further_words(targets, predicted),
            ]
        ),
        "training": training,
        "sure": "; ".join(filter(None, [fits, _sure(result, (lower, upper), curve, verdict, reason)])),
        "pays": _pays(curve, question, numbers),
        "limit": _limit(result, query.columns, places, question.interval),
        **_reference(curve, numbers),
        "next": _next(result, at),
    }
    sentences = {what: capitalised(text) for what, text in sentences.items() if text}
    return Answer(target, _taken(result, target, at), sentences, {**numbers, **training_numbers}, verdict, reason)


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


class _Curve:
    """The predicted values at the smallest and largest measured counts and at the target.

    Parameters
    ----------
    target : mapping
        Every factor of the target configuration.
    given : frozenset of str
        The factors that the user gave.
    """

    def __init__(self, result: FitResult, target: Mapping[str, Any], given: frozenset[str], question: Question) -> None:
        self.result, self.question = result, question
        self.count: Factor = result.panel.along()
        self.quantity = result.schema.target
        wanted = float(target[self.count.name])
        # Smaller counts fill the nodes as the measured ones did, also where the target's nodes were given.
        smaller = ladder(result, target, upto=max(wanted, self.count.upper * 2.0), given=frozenset({self.count.name}))
        measured = values_with_levels(result.panel, target, self.count.name)
        ends = [measured[0], measured[-1]]
        # A transformer's split needs so many devices at least.
        possible = np.flatnonzero(divisible(result.panel, smaller.columns) & (smaller.counts >= ends[0]))
        rows = [int(np.argmin(np.abs(smaller.counts - n))) for n in ends]
        if len(possible) and smaller.counts[possible[0]] <= ends[-1]:
            rows[0] = int(possible[0])
            ends[0] = float(smaller.counts[rows[0]])
        columns = {k: np.append(v[rows], target[k]) for k, v in smaller.columns.items()}
        frame = pd.DataFrame(columns)
        #: Counts of workers: the smallest measured or possible, the largest measured, and the target.
        self.counts = np.array([*ends, wanted])
        self.values = result.predict(frame)[self.quantity.name].to_numpy(float)
        self.columns = read_query(frame, result.schema).columns
        self.work = self.work_of(self.columns)

    @property
    def rates(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """Samples per second at the counts; None where the work of a step is not known."""
        return None if self.work is None else self.work / self.values

    @property
    def start(self) -> int:
        """Where growing to the target begins: the largest measured count, or the smallest for a target inside."""
        return 1 if self.counts[2] > self.counts[1] else 0

    @property
    def fixed(self) -> bool:
        """Whether all workers share one amount of work whose samples nobody tells: an epoch, a job, a step."""
        kind = self.result.schema.scaling
        known = self.question.work or self.quantity.work or work_of_columns(self.result.panel)
        return self.quantity.is_time and kind is not None and KINDS[kind].shared and known is None

    @property
    def sample(self) -> str:
        """What is paid for, in the singular: a sample, or the whole amount of work."""
        return self.result.schema.timed if self.fixed else self.question.sample.removesuffix("s")

    def work_of(self, columns: Mapping[str, Array]) -> Array | None:
        """Return the samples of a step at configurations; None where neither the user nor a column tells them."""
        rows = len(columns[self.count.name])
        if not self.quantity.is_time:
            return None
        text = self.question.work or self.quantity.work or work_of_columns(self.result.panel)
        group = {name: f"{value:.15g}" for name, value in self.question.constants.items()}
        if text is None and (node := work_of_group(self.result.panel, group)) is not None:
            text = render(node)
        if text is None:
            return np.ones(rows) if self.fixed else None
        columns = {**{k: np.full(rows, v) for k, v in self.question.constants.items()}, **columns}
        formula = parse(text, list(columns))
        return np.broadcast_to(np.asarray(formula.evaluate(columns), float), (rows,))

    def machines(self) -> tuple[str, Any]:
        """Return the name and the counts of what a price is for."""
        per = self.question.per
        if per is None or per == self.count.name:
            return self.count.name, self.counts
        factor = self.result.panel.find(per) if per in ("workers", "nodes", "servers") else None
        name = factor.name if factor is not None else self.result.schema.column(per)
        if name not in self.columns or isinstance(self.columns[name][0], str):
            counts = ", ".join(f.name for f in self.result.schema.factors if f.role == "extrinsic")
            raise TableError(f"'{per}' counts nothing that has a price", hint=f"--per {counts or self.count.name}")
        return name, np.asarray(self.columns[name], float)


def _expect(curve: _Curve, places: str, value: float, numbers: dict[str, Any]) -> str:
    """Return the prediction in words: a throughput where the work of a step is known."""
    quantity = curve.quantity
    plain = duration_text(value) if curve.fixed else f"{three_digits(value)} {quantity.unit}".strip()
    if not quantity.is_time:
        return f"expect a {quantity.name} of {plain} at {places}"
    if curve.rates is None:
        question = f"the work of a step: --work '32*{quote_name(curve.count.name)}' or --work 1024"
        return f"expect a step of {plain} at {places}; throughput and efficiency need {question}"
    reference = count_text(curve.counts[0], curve.count.name)
    first, rate = curve.rates[0], curve.rates[2]
    speedup = rate / first
    efficiency = speedup * curve.counts[0] / curve.counts[2]
    numbers.update(speedup=speedup, efficiency=efficiency)
    judged = f"an efficiency of {100 * efficiency:.0f} %"
    if efficiency > ASK.most_efficiency:
        judged += f", which is hardly so: the runs say little of what {noun_of(curve.count.name)} alone change"
    if curve.fixed:
        text = f"expect {with_article(curve.sample)} of {plain} at {places}"
        faster = f": {three_digits(speedup)} x as fast as on {reference}, {judged}"
        return text + (faster if curve.counts[2] > curve.counts[0] else "")
    numbers["throughput"] = rate
    text = f"expect {three_digits(rate)} {curve.question.sample}/s at {places}"
    if curve.counts[2] > curve.counts[0]:
        text += f": {three_digits(speedup)} x that of {reference}, {judged}"
    return f"{text}; a step takes {plain}" if curve.question.steps else text


def _reference(curve: _Curve, numbers: dict[str, Any]) -> dict[str, str]:
    """Return what the series looks like beside published ones, and what its exchange should cost, by the hints."""
    question, panel = curve.question, curve.result.panel
    series = series_measured(curve.result, pd.DataFrame(curve.columns), curve.work_of)
    sentences = {}
    if series is not None:
        words = [*question.words, *(str(v[-1]) for v in curve.columns.values() if v.dtype.kind in "OU")]
        words.append(question.hints.get(BANDWIDTH, ""))
        sentences["normal"], placed = normal_of(series, float(curve.counts[2]), words)
        numbers |= placed
    if question.hints and curve.quantity.is_time:
        target = {name: cells[-1:] for name, cells in curve.columns.items()}
        seconds = float(curve.values[2]) if question.steps and not curve.fixed else None
        sentences["exchange"], costs = exchange_of(panel, question.hints, target, seconds, series)
        numbers |= costs
    return sentences


def _sure(result: FitResult, ends: tuple[float, float], curve: _Curve, verdict: str, reason: str) -> str:
    """Return how sure the prediction is, and why."""
    unit = f" {curve.quantity.unit}".rstrip()
    if curve.work is not None and not curve.fixed:
        ends = (curve.work[2] / ends[1], curve.work[2] / ends[0])
        unit = f" {curve.question.sample}/s"
    error = result.held_out_error
    tested = "nothing could be held out to test it" if error is None else f"the held-out error is {error:.1f} %"
    percent = f"{100 * curve.question.interval:g} %"
    trust = {"ok": "it can be trusted", "caution": "be careful"}.get(verdict, "do not rely on it")
    reason = reason.strip().rstrip(".")
    low, high = map(three_digits, ends)
    if curve.fixed:
        _, low, high, unit = durations_text(float(curve.values[2]), *ends)
        unit = f" {unit}"
    return (
        f"a new run lies between {low} and {high}{unit} ({percent} interval); {tested}; "
        f"{trust} ({verdict}){f': {reason}' if reason else ''}"
    )


def _pays(curve: _Curve, question: Question, numbers: dict[str, Any]) -> str:
    """Return the marginal cost of a sample, in money where there is a price, else in times one at the smaller scale."""
    if not curve.quantity.is_time:
        return f"a price is paid for time, and this predicts {curve.quantity.name}" if question.price else ""
    name, machines = curve.machines()
    here, there = curve.start, 2
    small, large = count_text(curve.counts[here], curve.count.name), count_text(curve.counts[there], curve.count.name)
    if curve.counts[there] <= curve.counts[here]:
        return f"nothing smaller than {large} was measured to compare its cost with"
    if curve.rates is None:
        ratio = curve.values[there] * machines[there] / (curve.values[here] * machines[here])
        one = count_text(1.0, name).removeprefix("1 ")
        return (
            f"whether it pays needs the work of a step (--work); a step uses {three_digits(ratio)} x the {one}-seconds"
        )
    rates = curve.rates
    average = machines[here] / rates[here]
    gained = rates[there] - rates[here]
    sample = curve.sample
    if gained <= 0:
        numbers["marginal_cost"] = None
        loss = f"the throughput falls by {three_digits(-gained)} {sample}s/s"
        return f"growing from {small} to {large} does not pay: {f'{sample}s take longer' if curve.fixed else loss}"
    marginal = (machines[there] - machines[here]) / gained
    ratio = marginal / average
    numbers["marginal_cost_ratio"] = ratio
    judged = "pays" if ratio <= ASK.most_marginal_cost else "hardly pays"
    text = f"growing from {small} to {large} {judged}: a further {sample} costs {three_digits(ratio)} x one at {small}"
    if question.price is None:
        return text
    scale = question.price.per_second * (1.0 if curve.fixed else ASK.sample_count)
    cost, further = scale * machines[there] / rates[there], scale * marginal
    ending = "" if curve.fixed else "_per_million"
    numbers.update({f"cost{ending}": cost, f"marginal_cost{ending}": further})
    paid = f"{with_article(sample)} costs" if curve.fixed else f"a million {sample}s cost"
    return (
        f"{text}; at {question.price.text} for each of the {noun_of(name)}, {paid} "
        f"{three_digits(scale * average)} at {small}, {three_digits(cost)} at {large}, "
        f"and {'a further one' if curve.fixed else 'the further ones'} {three_digits(further)}"
    )


def _limit(result: FitResult, columns: Mapping[str, Any], places: str, interval: float) -> str:
    """Return what the predicted value is made of: the largest part, then the largest of the others."""
    name = result.schema.target.name
    parts, groups = parts_of(result, columns), alike_terms(result, columns)
    terms, parts = parts.names, parts.together(groups)
    amounts = parts.amounts[:, 0].tolist()
    shares = {term: share for term, share in zip(parts.names, amounts, strict=True) if term != FORM}
    if not {"computation", "matrix"} & {*terms}:
        ratios = doublings(result, {factor: cells[0] for factor, cells in columns.items()})
        workers, moved = result.panel.workers, following_workers(result.panel, columns)
        with_it = {workers.name: f" (and {' and '.join(moved)} with it)"} if workers is not None and moved else {}
        effects = [
            f"{factor}{with_it.get(factor, '')} makes it x {three_digits(ratio)}"
            for factor, ratio in list(ratios.items())[: ASK.max_factors]
        ]
        name = value_name(result.schema.target)
        return f"what the {name} depends on at {places}: doubling {', '.join(effects)}" if effects else ""
    first, *others = sorted(shares.items(), key=lambda item: -item[1])
    whole = float(parts.central[0])
    largest = parts.names.index(first[0])
    # Where the terms add up to more than the value, the largest is told as all of it.
    low, high, middle = np.minimum([*parts.share_quantiles(largest, interval)[:, 0], first[1] / whole], 1.0)
    note = interval_note(interval, f"{100 * low:.0f}", f"{100 * high:.0f}", f"{100 * middle:.0f}", "%")
    text = f"at {places}, {_in_words(first[0], groups, result)} makes {100 * middle:.0f} % of the {name}{note}"
    if not others or others[0][1] / whole < ASK.least_share:
        # Where no term explains much of the rest, nothing is claimed of it.
        explained = sum(shares.values()) / whole
        return text if abs(1.0 - explained) > ASK.least_share else f"{text}: nothing else limits it"
    return f"{text}; next comes {_in_words(others[0][0], groups, result)} ({100 * others[0][1] / whole:.0f} %)"


def _in_words(label: str, groups: Mapping[str, Sequence[str]], result: FitResult) -> str:
    """Return what a term of a series is, or several of one shape; without nodes, a worker counts as one."""
    if label in LABELS:
        return label
    text = " and ".join(_PLAIN.get(term, term) for term in groups.get(label, (label,)))
    if result.panel.has("nodes"):
        return text
    count = noun_of(result.panel.along().name)
    return text.replace("second node", f"second of the {count}").replace("nodes", count)


def _next(result: FitResult, at: Mapping[str, Any]) -> str:
    new = {name: level for name, levels in result.schema.standing.items() for level in levels}
    if new:
        return f"measure a run with {join_values(new)}: no measured run shows it"
    try:
        return suggest(result, at).sentence
    except GenperfError as error:
        return f"no next run is proposed: {error.message}"
