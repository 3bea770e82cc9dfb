"""How many machines a piece of work takes: the cheapest count that keeps a deadline and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genperf.advice.goal import Goal
from genperf.advice.objective import Job
from genperf.advice.optimize import optimize
from genperf.attribution.growth import Work
from genperf.attribution.ladder import ladder
from genperf.errors import GenperfError
from genperf.facts import Paid
from genperf.formula import Number, call, render
from genperf.formula.amounts import amount
from genperf.panel.derived import paid_for
from genperf.panel.following import settled
from genperf.prediction.verdict import VERDICTS
from genperf.result import FitResult
from genperf.table.axis import several_nodes
from genperf.vocabulary.names import noun_of
from genperf.words.growth import price_text
from genperf.words.numbers import capitalised, count_text, durations_text, interval_note, singular, three_digits


@dataclass(frozen=True)
class Plan:
    """How much is to be done, by when, and for how much."""

    #: In the unit of the throughput or the batch; whole jobs where all workers share one.
    samples: float
    #: Seconds, and money in the unit of the price: both are kept by the upper end of the interval.
    deadline: float | None = None
    budget: float | None = None


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
class Planned:
    """The cheapest count that keeps a plan, in words and numbers."""

    #: The count by the name of its factor: twice the largest measured one where none keeps the plan.
    at: dict[str, float]
    sentence: str
    #: `at`, `total`, `cost` with their ends, `best` (the probability that no other count is cheaper), `verdict`, and
    #: the `fastest` that keeps the plan; None where none does.
    numbers: dict[str, Any]


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
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.99, 1.0, 1.02, 1.06]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="a + b*gpus")
    >>> plan = Plan(samples=1e9, deadline=15 * 86400.0)
    >>> print(planned(result, {}, plan, Work("100*gpus")).sentence)
    For 1 billion samples within 15 d, the cheapest count of 1 to 128 that keeps it is 9 gpus: 13.8 d (90 %: 13.1 to
    14.5) and 2,970 (90 %: 2,820 to 3,130) gpu-hours; no other is cheaper with a probability of 100 %. The fastest that
    keeps it is 128 gpus: 2.05 d and 6,290 gpu-hours; do not rely on it (extrapolating-blind).
    """
    goal = Goal(deadline=plan.deadline, budget=plan.budget)
    if plan.budget is not None and price is None:
        raise GenperfError("a budget needs a price", hint="--price 2/h, with --per COLUMN for what it is paid")
    if work.node is None:
        raise GenperfError("a plan needs the work of a step", hint="--work '32*gpus', or a column of the batch")
    steps = ladder(result, {name: value for name, value in at.items() if name != result.panel.along().name})
    name, counts = steps.along.name, steps.counts[_whole_nodes(result, steps.columns)]
    follow = {name, *settled(result.schema.settlements, {name})}
    others = {f.name: steps.columns[f.name][-1] for f in result.schema.factors if f.name not in follow}
    paid_name, paid = paid_for(result.panel, per)
    job = Job(
        steps=render(call("divide", Number(plan.samples), work.node)),
        per=render(paid),
        price=1.0 / 3600.0 if price is None else price.per_second,
        price_text="" if price is None else price.text,
    )
    over = {name: counts, **others}
    limits = [] if plan.deadline is None else [" ".join(("within", *durations_text(plan.deadline)))]
    limits += [] if plan.budget is None else [f"for {three_digits(plan.budget)} at most"]
    many = f"{three_digits(plan.samples)} {work.sample}{'s' if work.whole else ''}"
    aim = " ".join((f"for {many}", " and ".join(limits))).strip()
    try:
        best = optimize(result, over, minimize="cost", job=job, goal=goal, interval=interval).best
        fast = optimize(result, over, minimize="total", job=job, goal=goal, interval=interval, top=1).best
    except GenperfError as error:
        sentence = f"{aim}, no count of {counts[0]:g} to {counts[-1]:g} {noun_of(name)} is enough: {error.message}"
        hint = f"; try {error.hint}" if error.hint else ""
        return Planned({name: 2.0 * steps.along.upper}, capitalised(sentence + hint), {"plan": None})
    money = singular(paid_name) + "-hours" if price is None else f"at {price_text(price.text, paid_name)}"
    first, fastest = (_row(frame, name, result.schema.target.name) for frame in (best, fast))
    numbers = {**first, "best": float(best["wins"].iloc[0]), "fastest": fastest}
    texts = [_cost_text(row, money, interval, short) for row, short in ((first, False), (fastest, True))]
    keep = " that keeps " + ("both" if len(limits) > 1 else "it") if limits else ""
    sentence = (
        f"{aim}, the cheapest count of {counts[0]:g} to {counts[-1]:g}{keep} is {count_text(first[name], name)}: "
        f"{texts[0]}; no other is cheaper with a probability of {100 * numbers['best']:.0f} %"
    )
    blind = VERDICTS[-1]
    doubts = [f"; do not rely on it ({blind})" if row["verdict"] == blind else "" for row in (first, fastest)]
    sentence += doubts[0]
    if fastest[name] != first[name]:
        sentence += f". The fastest{keep} is {count_text(fastest[name], name)}: {texts[1]}{doubts[1]}"
    return Planned({name: first[name]}, capitalised(sentence), {"plan": numbers})


def _whole_nodes(result: FitResult, columns: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which configurations are on one node or fill their nodes; all where nodes or workers are not counted."""
    nodes, workers = result.panel.nodes, result.panel.workers
    if nodes is None or workers is None or nodes == workers:
        return np.ones(len(next(iter(columns.values()))), dtype=bool)
    most = max(result.panel.measured(workers.name) / result.panel.measured(nodes.name))
    full = columns[workers.name] == most * columns[nodes.name]
    return np.asarray(~several_nodes(columns[nodes.name]) | full)


def _row(frame: pd.DataFrame, name: str, value: str) -> dict[str, Any]:
    """Return the first configuration with its time in all and its cost, whose ends are as far as those of a step."""
    row = frame.iloc[0]
    ends = {"": 1.0, **{f"_{end}": float(row[end] / row[value]) for end in ("lower", "upper")}}
    amounts = {f"{what}{end}": float(row[what]) * by for what in ("total", "cost") for end, by in ends.items()}
    return {name: float(row[name]), **amounts, "verdict": str(row["verdict"])}


def _cost_text(row: Mapping[str, Any], money: str, interval: float, short: bool) -> str:
    """Return how long it takes and what it costs, with the intervals unless it is short."""
    middle, low, high, unit = durations_text(*(row[f"total{end}"] for end in ("", "_lower", "_upper")))
    cost, least, most = (three_digits(row[f"cost{end}"]) for end in ("", "_lower", "_upper"))
    if short:
        return f"{middle} {unit} and {cost} {money}"
    times, costs = interval_note(interval, low, high, middle), interval_note(interval, least, most, cost)
    return f"{middle} {unit}{times} and {cost}{costs} {money}"
