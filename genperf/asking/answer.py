"""The answer to a question: facts about one configuration, and the numbers and sentences that they make."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from genperf.asking.plan import Planned
from genperf.asking.published import Beside
from genperf.errors import GenperfError
from genperf.facts import Expectation, Growth, Limit, Training
from genperf.panel.following import PANEL
from genperf.panel.quantities import QUANTITIES
from genperf.panel.target import Target
from genperf.prediction.predict import THROUGHPUT
from genperf.search.suggest import Suggestions
from genperf.vocabulary.names import counts_devices, noun_of
from genperf.words.growth import expect_sentence, pays_sentence, sure_sentence, training_sentence
from genperf.words.limit import limit_sentence
from genperf.words.numbers import capitalised, join_values
from genperf.words.quantity import further_words, with_interval

#: The chance that more workers do less, below which it is not reported: one in four. Half and double change no answer
#: (experiments/results/settings.md).
LEAST_CHANCE = 0.25


@dataclass(frozen=True, eq=False)
class Answer:
    """What is known of one configuration, as numbers and in words."""

    #: The configuration.
    at: dict[str, Any]
    #: The factors of it that were given.
    given: Collection[str]
    #: Those that were not: the factors that vary and follow no given one.
    taken: dict[str, Any]
    expected: Expectation
    #: What growing to the configuration brings.
    growth: Growth
    #: Where more workers do less, a row of `Scaling.points`; and the largest count that was evaluated.
    turn: Mapping[str, Any] | None
    upto: float
    limit: Limit
    beside: Beside
    #: What to measure next, or why nothing is proposed; None with levels that no measured run shows.
    advice: Suggestions | GenperfError | None
    unmeasured: Mapping[str, str]
    #: Whether some run of the table failed, and whether its columns show the nodes.
    can_fail: bool
    nodes_known: bool
    #: What is asked about a training, and the numbers that answer it.
    training: Training
    trained: Mapping[str, float]
    #: Further quantities, and the columns of `predict` at the configuration.
    further: Mapping[str, Target]
    predicted: Mapping[str, Any]
    plan: Planned | None = None

    @property
    def verdict(self) -> str:
        """Of the prediction."""
        return self.expected.verdict

    @property
    def reason(self) -> str:
        """Of the verdict."""
        return self.expected.reason

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The predicted value and its interval, and what is known of `throughput`, `efficiency`, `marginal_cost`, …."""
        numbers = self._growing | ({"fits": self.expected.fits} if self.can_fail else {}) | dict(self.trained)
        if self.turn is not None:
            ends = {end: float(self.turn[end]) for end in ("count", "lower", "upper")}
            known = {end: value if np.isfinite(value) else None for end, value in ends.items()}
            numbers["best"] = {**known, "chance": float(self.turn["reached"]), "upto": self.upto}
        return {**numbers, **self.beside.numbers, **({} if self.plan is None else self.plan.numbers)}

    @property
    def _growing(self) -> dict[str, Any]:
        """What is predicted and what growing to it brings, by name."""
        expected, growth, value = self.expected, self.growth, self.expected.value
        numbers: dict[str, Any] = {expected.name: value.value, "lower": value.lower, "upper": value.upper}
        efficiency = growth.target.efficiency
        if efficiency is None:
            return numbers
        ends = {"efficiency_lower": efficiency.lower, "efficiency_upper": efficiency.upper}
        numbers.update(speedup=growth.speedup, efficiency=efficiency.value, **ends)
        if (rate := growth.throughput(value)) is not None:
            numbers |= dict(zip(THROUGHPUT, rate.ends, strict=True))
        if not growth.grows or growth.marginal is None:
            return numbers
        numbers["pays"] = growth.chance
        if growth.marginal.value == float("inf"):
            return {**numbers, "marginal_cost": None}
        numbers["marginal_cost_ratio"] = growth.marginal.value
        if growth.costs is not None:
            (here, there), ending = growth.costs, "" if growth.whole else "_per_million"
            numbers |= {f"cost{ending}": there, f"marginal_cost{ending}": here * growth.marginal.value}
        return numbers

    @cached_property
    def sentences(self) -> dict[str, str]:
        """The facts in words.

        `plan` and `training` where one is asked about, `expect`, `sure`, `pays`, `best` where more do less, `limit`,
        `normal`, `exchange` with hints, `causes` where the series is slow, `nodes` where these are not known, `next`.
        """
        growth, turn = self.growth, self.turn
        places = join_values({n: v for n, v in self.at.items() if n in self.given or n == growth.name})
        expect = [expect_sentence(self.expected, growth, places), *further_words(self.further, self.predicted)]
        expect += [
            f"{row.label} {with_interval(self.trained, name, row.unit)}"
            for name, row in QUANTITIES.items()
            if row.reported == "beside" and name in self.trained
        ]
        likely = turn is not None and (np.isfinite(turn["count"]) or turn["reached"] >= LEAST_CHANCE)
        sentences = {
            "plan": "" if self.plan is None else self.plan.sentence,
            "expect": "; ".join(expect),
            "training": training_sentence(self.training, self.trained),
            "sure": sure_sentence(self.expected, growth),
            "pays": pays_sentence(growth, self.expected),
            "best": turn["sentence"] if turn is not None and likely else "",
            "limit": limit_sentence(self.limit, places),
            **self.beside.sentences,
            "nodes": self._nodes_wanted,
            "next": self._next,
        }
        return {what: capitalised(text) for what, text in sentences.items() if text}

    @property
    def _nodes_wanted(self) -> str:
        """The request for the nodes, where no column counts them and they decide on the prediction."""
        growth = self.growth
        few = growth.start.count <= PANEL.usual_devices < growth.target.count
        if self.verdict == "ok" or not few or not counts_devices(growth.name) or self.nodes_known:
            return ""
        text = f"no column counts the nodes, and nobody knows whether {noun_of(growth.name)} of several were measured"
        return f'{text}: --hint "devices per node=8" or a column of nodes says it'

    @property
    def _next(self) -> str:
        """What to measure next."""
        if self.advice is None:
            return f"measure a run with {join_values(self.unmeasured)}: no measured run shows it"
        if isinstance(self.advice, GenperfError):
            return f"no next run is proposed: {self.advice.message}"
        return self.advice.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        trust = {"verdict": self.verdict, "reason": self.reason}
        return {"at": self.at, "taken": self.taken, **self.numbers, **trust, "sentences": dict(self.sentences)}

    def __str__(self) -> str:
        return "\n".join(self.sentences.values())
