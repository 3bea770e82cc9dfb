"""How many machines a piece of work takes: the cheapest count that keeps a deadline and a budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from genperf.attribution.derived import Work
from genperf.attribution.draws import curves_of
from genperf.attribution.ladder import ladder
from genperf.errors import GenperfError
from genperf.facts import ENDS, Interval, Paid
from genperf.formula import call
from genperf.formula.amounts import amount
from genperf.panel.quantities import paid_for, quantities_of
from genperf.prediction.verdict import VERDICTS
from genperf.result import FitResult
from genperf.search.evaluation import best_first, winners
from genperf.search.problem import Goal
from genperf.vocabulary.names import noun_of
from genperf.words.growth import price_text
from genperf.words.numbers import capitalised, count_text, durations_text, interval_note, singular, three_digits
from genperf.words.verdict import trust_text


@dataclass(frozen=True)
class Plan:
    """How much is to be done, by when, and for how much."""

    #: In the unit of the throughput or the batch; whole jobs where all workers share one.
    samples: float
    #: Seconds, and money in the unit of the price: both are kept by the upper end of the interval.
    deadline: float | None = None
    budget: float | None = None

    @property
    def limits(self) -> list[str]:
        """The limits as text."""
        limits = [] if self.deadline is None else [" ".join(("within", *durations_text(self.deadline)))]
        return limits + ([] if self.budget is None else [f"for {three_digits(self.budget)} at most"])


def plan_of(samples: str | None, deadline: str | None = None, budget: str | None = None) -> Plan | None:
    """Read a plan from numbers as people write them; None without samples.

    Raises
    ------
    GenperfError
        For a text that is no number above zero, and for limits of no work.

    Examples
    --------
    >>> plan_of("1.2B", "5d", "20k")
    Plan(samples=1200000000.0, deadline=432000.0, budget=20000.0)
    """
    texts = {"samples": samples, "deadline": deadline, "budget": budget}
    values = {name: None if text is None else amount(text) for name, text in texts.items()}
    for (name, value), example in zip(values.items(), ("1.2B", "5d", "20000"), strict=True):
        if texts[name] is not None and (value is None or not 0.0 < value < float("inf")):
            raise GenperfError(f"--{name} '{texts[name]}' is no number above zero", hint=f"--{name} {example}")
    size = values.pop("samples")
    if size is None and any(value is not None for value in values.values()):
        raise GenperfError("a deadline and a budget are those of the work in all", hint="--samples 1.2B")
    return None if size is None else Plan(size, **values)


@dataclass(frozen=True)
class Choice:
    """A count of workers that does the work in all."""

    count: float
    #: Seconds, and money (machine-hours without a price).
    total: Interval
    cost: Interval
    verdict: str

    def to_dict(self, name: str) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        both = {"total": self.total, "cost": self.cost}
        amounts = {f"{what}{end}": v for what, one in both.items() for end, v in zip(ENDS, one.ends, strict=True)}
        return {name: self.count, **amounts, "verdict": self.verdict}


@dataclass(frozen=True)
class Planned:
    """The cheapest count that keeps a plan."""

    plan: Plan
    #: The column that counts the workers, the smallest and the largest count that were tried.
    name: str
    tried: tuple[float, float]
    work: Work
    #: What is paid for, and its price; without one the cost is in machine-hours.
    paid: str
    price: Paid | None
    #: Nominal coverage.
    interval: float
    #: Of the question: the cheapest count, or twice the largest measured one where none keeps the plan.
    count: float
    #: The cheapest and the fastest count, of those that keep the plan where there are any.
    cheapest: Choice
    fastest: Choice
    #: The probability that no other count is cheaper; None where none keeps the plan.
    best: float | None = None
    #: Where none keeps the plan: whether each may fail, is late, is too dear.
    fails: bool = False
    late: bool = False
    dear: bool = False

    @property
    def at(self) -> dict[str, float]:
        """The count by the name of its factor."""
        return {self.name: self.count}

    @property
    def numbers(self) -> dict[str, Any]:
        """The counts, `total` and `cost` with their ends, `best` and `fastest`; None where none keeps the plan."""
        if self.best is None:
            return {"plan": None}
        fastest = self.fastest.to_dict(self.name)
        return {"plan": {**self.cheapest.to_dict(self.name), "best": self.best, "fastest": fastest}}

    @property
    def sentence(self) -> str:
        """It in words."""
        limits, name, (first, last) = self.plan.limits, self.name, self.tried
        what = f"for {three_digits(self.plan.samples)} {self.work.sample}{'s' if self.work.whole else ''}"
        aim = " ".join((what, " and ".join(limits))).strip()
        if self.best is None:
            return capitalised(f"{aim}, no count of {first:g} to {last:g} {noun_of(name)} is enough: {self._why}")
        keep = " that keeps " + ("both" if len(limits) > 1 else "it") if limits else ""
        text = (
            f"{aim}, the cheapest count of {first:g} to {last:g}{keep} is {count_text(self.count, name)}: "
            f"{self._shown(self.cheapest, notes=True)}; no other is cheaper with a probability of "
            f"{100 * self.best:.0f} %{_doubt(self.cheapest)}"
        )
        if self.fastest.count != self.count:
            fastest = count_text(self.fastest.count, name)
            text += f". The fastest{keep} is {fastest}: {self._shown(self.fastest)}{_doubt(self.fastest)}"
        return capitalised(text)

    @property
    def _money(self) -> str:
        """What one of the machines costs, behind an amount."""
        if self.price is None:
            return singular(self.paid) + "-hours"
        return f"at {price_text(self.price.text, self.paid)}"

    def _shown(self, one: Choice, notes: bool = False) -> str:
        """Return how long a choice takes and what it costs, perhaps with the intervals."""
        *times, unit = durations_text(*one.total.ends)
        costs = [three_digits(value) for value in one.cost.ends]
        intervals = (interval_note(self.interval, low, high, middle) for middle, low, high in (times, costs))
        of_time, of_cost = intervals if notes else ("", "")
        return f"{times[0]} {unit}{of_time} and {costs[0]}{of_cost} {self._money}"

    @property
    def _why(self) -> str:
        """Why no count keeps the plan: all may fail, or the fastest is late, or the cheapest too dear."""
        if self.fails:
            return f"each may fail with a probability above {100 * (1 - Goal.fits):.0f} %"
        texts = []
        if self.late:
            middle, _, most, unit = durations_text(*self.fastest.total.ends)
            texts.append(f"the fastest, {self.fastest.count:g}, takes {middle} {unit} and up to {most}")
        if self.dear:
            least, _, most = map(three_digits, self.cheapest.cost.ends)
            texts.append(f"the cheapest, {self.cheapest.count:g}, costs {least} and up to {most} {self._money}")
        return " and ".join(texts) or "none keeps both limits at once"


def _doubt(one: Choice) -> str:
    return f"; {trust_text(one.verdict)}" if one.verdict == VERDICTS[-1] else ""


#: The cheapest counts that are compared with each other in every draw.
COMPARED = 10


def planned(
    result: FitResult,
    at: Mapping[str, Any],
    plan: Plan,
    work: Work,
    price: Paid | None = None,
    per: str | None = None,
    interval: float = 0.9,
) -> Planned:
    """Return the cheapest count of workers that does a piece of work in time and within the budget.

    All counts of `ladder` are tried, those that fill whole nodes where nodes are counted. Without a price the cost is
    that of machine-hours.

    Parameters
    ----------
    at : mapping
        The configuration; its count of workers is not read.
    interval : float
        Nominal coverage, whose upper end keeps deadline and budget.

    Raises
    ------
    GenperfError
        Where the work of a step is not known, or nothing can keep such a limit.

    Examples
    --------
    Each GPU does 100 samples a second, and each further one costs a hundredth of a step.

    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.99, 1.0, 1.02, 1.06]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="a + b*gpus")
    >>> plan = Plan(samples=1e9, deadline=15 * 86400.0)
    >>> work = Work(gp.formula.parse("100*gpus").node)
    >>> print(planned(result, {}, plan, work).sentence)
    For 1 billion samples within 15 d, the cheapest count of 1 to 128 that keeps it is 9 gpus: 13.8 d (90 %: 13.1 to
    14.5) and 2,970 (90 %: 2,820 to 3,130) gpu-hours; no other is cheaper with a probability of 100 %. The fastest that
    keeps it is 128 gpus: 2.05 d and 6,290 gpu-hours; do not rely on it (extrapolating-blind).
    """
    Goal(deadline=plan.deadline, budget=plan.budget).check()
    if plan.budget is not None and price is None:
        raise GenperfError("a budget needs a price", hint="--price 2/h, with --per COLUMN for what it is paid")
    if work.node is None:
        raise GenperfError("a plan needs the work of a step", hint="--work '32*gpus', or a column of the batch")
    count = result.panel.along()
    steps = ladder(result, {name: value for name, value in at.items() if name != count.name}, full_nodes=True)
    columns, counts = steps.columns, steps.counts
    predicted = result.predict_columns(steps.source, interval)
    value, lower, upper = (np.asarray(predicted[end], float) for end in (result.schema.target.name, "lower", "upper"))
    spent = "machine_hours" if price is None else "cost"
    known = quantities_of(result.panel, {"steps": call("divide", plan.samples, work.node)}, price, per)
    follow = known.values(["total", spent], {**columns, result.schema.target.name: value})
    total, cost = follow["total"], follow[spent]
    late, dear = total * upper / value > (plan.deadline or np.inf), cost * upper / value > (plan.budget or np.inf)
    fails = np.zeros(len(counts), dtype=bool)
    if result.feasibility is not None:
        fails = result.feasibility.known_to_fail(columns) | (result.feasibility.probability(columns) < Goal.fits)
    ends = np.array([value, lower, upper]) / value

    def choice(place: int) -> Choice:
        totals, costs = (Interval(*(amount[place] * ends[:, place]).tolist()) for amount in (total, cost))
        return Choice(float(counts[place]), totals, costs, str(predicted["verdict"][place]))

    tried = float(counts[0]), float(counts[-1])
    about = (plan, count.name, tried, work, paid_for(result.panel, per)[0], price, interval)
    kept = np.flatnonzero(~(fails | late | dear))
    if not len(kept):
        cheapest, fastest = (choice(int(np.argmin(np.where(fails, np.inf, amount)))) for amount in (cost, total))
        lacks = bool(fails.all()), bool(late[~fails].all()), bool(dear[~fails].all())
        return Planned(*about, 2.0 * count.upper, cheapest, fastest, None, *lacks)
    first = kept[best_first(cost[kept], cost[kept])][:COMPARED]
    fastest = choice(int(kept[best_first(total[kept], cost[kept])][0]))
    curves = curves_of(result, {name: cells[first] for name, cells in columns.items()})
    drawn = np.exp(curves.paths) / value[first]
    possible = (drawn * total[first] <= (plan.deadline or np.inf)) & (drawn * cost[first] <= (plan.budget or np.inf))
    best = float((curves.weights @ winners(np.where(possible, drawn * cost[first], np.inf)))[0])
    return Planned(*about, float(counts[first[0]]), choice(first[0]), fastest, best)
