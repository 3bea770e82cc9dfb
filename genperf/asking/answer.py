"""The answer to a question: facts, and the numbers, sentences and pictures that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.asking.card import html, plain
from genperf.errors import GenperfError, listed
from genperf.facts import Facts, GrowthCounts
from genperf.panel.reading import Reading
from genperf.prediction.predict import THROUGHPUT
from genperf.words.answer import sentences_of
from genperf.words.numbers import three_digits, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Value:
    """The predicted value of one measured column, in the column's unit."""

    quantity: str
    unit: str
    value: float
    lower: float
    upper: float
    verdict: str
    reason: str
    at: dict[str, Any]
    #: The sentences, which are made when they are read.
    words: Callable[[Value], dict[str, str]] = lambda _: {}

    @cached_property
    def sentences(self) -> dict[str, str]:
        """What is known of it, in words."""
        return self.words(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "words"}
        return {**plain, "sentences": dict(self.sentences)}

    @property
    def line(self) -> str:
        """The quantity, its value and interval on a line."""
        return f"{self.quantity}: {self.ends}"

    @property
    def ends(self) -> str:
        """The value, its interval and its verdict."""
        value, lower, upper = map(three_digits, (self.value, self.lower, self.upper))
        return f"{with_unit(value, self.unit)} ({lower} to {upper}; {self.verdict})"


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What is known of one configuration: the likeliest quantity in sentences, every measured one as a value."""

    #: The quantities, the likeliest first.
    answers: tuple[Value, ...]
    #: Of the first one; None where its answer is no more than a value.
    facts: Facts | None = None
    #: How the table was read; None of a model.
    reading: Reading | None = None
    #: What was done to read the table, and what its rows show.
    notes: tuple[str, ...] = ()
    #: The factors that the question leaves open, as they are taken.
    taken: dict[str, Any] = field(default_factory=dict)
    #: Lines of the same quantity in the other series that the question may mean.
    others: tuple[str, ...] = ()
    #: Without a count in the question: the first quantity at eight times the largest one.
    beyond: str = ""
    #: In one line, where the runs came from and which rows are left out; empty of a table that is read as it is.
    read_back: str = ""
    #: What the runs measured where it is asked; empty where there is none.
    measured: str = ""
    #: Columns that no part of the answer reads.
    left_out: tuple[str, ...] = ()

    @property
    def sentences(self) -> dict[str, str]:
        """What is known of the first quantity, in words (`genperf.words.answer`)."""
        return self.answers[0].sentences

    @property
    def verdict(self) -> str:
        """Of the first prediction: ok, caution, extrapolating-blind."""
        return self.answers[0].verdict

    @property
    def reason(self) -> str:
        """Of the verdict."""
        return self.answers[0].reason

    @property
    def value(self) -> float:
        """The first quantity, in its own unit."""
        return self.answers[0].value

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of its interval for a new run."""
        return self.answers[0].lower, self.answers[0].upper

    @property
    def throughput(self) -> float | None:
        """Samples a second of all workers; None where the work of a step is not known."""
        rate = None if self.facts is None else self.facts.growth.throughput(self.facts.expected.value)
        return None if rate is None else rate.value

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The predicted value and its interval, and what is known of `throughput`, `efficiency`, `marginal_cost`, …."""
        facts = self.facts
        if facts is None:
            return {}
        numbers = _growing(facts) | ({"fits": facts.expected.fits} if facts.can_fail else {}) | dict(facts.quantities)
        if (turn := facts.turn) is not None:
            ends = zip(("count", "lower", "upper"), turn.count.ends, strict=True)
            best = {end: value if np.isfinite(value) else None for end, value in ends}
            numbers["best"] = {**best, "chance": turn.reached, "upto": turn.upto}
        return {**numbers, **facts.published.numbers, **({} if facts.plan is None else facts.plan.numbers)}

    @property
    def read_as(self) -> str:
        """How the table was read, as options that can be copied; empty of a model."""
        left = f"; left out: {listed(self.left_out)}" if self.left_out else ""
        return "" if self.reading is None else f"read as: {self.reading.options}{left}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        reading, source = self.reading, dict[str, Any]()
        first: dict[str, Any] = {"at": self.answers[0].at}
        if reading is not None:
            source = {"roles": reading.roles.texts, "mapping": reading.mapping, "read_as": reading.read_as()}
            source |= {"left_out": list(self.left_out), "notes": list(self.notes)}
        if self.facts is not None:
            trust = {"verdict": self.facts.expected.verdict, "reason": self.facts.expected.reason}
            first = {"at": dict(self.facts.at), "taken": self.taken, **self.numbers, **trust}
            first["sentences"] = dict(self.sentences)
        return {**source, **first, "taken": self.taken, "answers": [answer.to_dict() for answer in self.answers]}

    def card(self, width: int = 80) -> str:
        """Return the answer at a glance, in at most 14 lines."""
        return plain(self, width)

    def __repr__(self) -> str:
        return self.card()

    def _repr_html_(self) -> str:
        return html(self)

    def plot(self) -> Figure:
        """Draw the measured runs and the predicted band along the count of workers, with matplotlib."""
        import genperf as gp

        if self.facts is None:
            raise GenperfError("one value has no curve to draw", hint="measure a second count")
        figure: Figure = gp.plots.answer_curve(self.facts.curve)
        return figure

    def __str__(self) -> str:
        lines = list(self.sentences.values())
        if len(self.answers) > 1:
            lines += ["Also measured:", *(f"  {answer.line}" for answer in self.answers[1:])]
        if self.beyond:
            lines.append(self.beyond)
        if self.others:
            lines += ["The table has other series:", *(f"  {line}" for line in self.others)]
        return "\n".join(lines)


def answer_of(facts: Facts) -> Answer:
    """Return the answer of a model: its predicted quantity, with all that is known of the configuration."""
    expected, at = facts.expected, dict(facts.at)
    trust = expected.verdict, expected.reason
    value = Value(expected.name, expected.unit, *expected.value.ends, *trust, at, lambda _: sentences_of(facts))
    return Answer((value,), facts, taken=dict(facts.taken))


def _growing(facts: Facts) -> dict[str, Any]:
    """Return what is predicted and what growing to it brings, by name."""
    expected, growth, value = facts.expected, facts.growth, facts.expected.value
    numbers: dict[str, Any] = {expected.name: value.value, "lower": value.lower, "upper": value.upper}
    efficiency = growth.target.efficiency
    if efficiency is None:
        return numbers
    ends = {"efficiency_lower": efficiency.lower, "efficiency_upper": efficiency.upper}
    numbers.update(speedup=growth.speedup, efficiency=efficiency.value, **ends)
    if (rate := growth.throughput(value)) is not None:
        numbers |= dict(zip(THROUGHPUT, rate.ends, strict=True))
    return numbers | _costs(growth)


def _costs(growth: GrowthCounts) -> dict[str, Any]:
    """Return whether growing pays, and what it costs, by name."""
    if not growth.grows or growth.marginal is None:
        return {}
    if growth.marginal.value == float("inf"):
        return {"pays": growth.chance, "marginal_cost": None}
    numbers = {"pays": growth.chance, "marginal_cost_ratio": growth.marginal.value}
    if growth.costs is not None:
        (here, there), ending = growth.costs, "" if growth.whole else "_per_million"
        numbers |= {f"cost{ending}": there, f"marginal_cost{ending}": here * growth.marginal.value}
    return numbers
