"""How many machines a piece of work takes: the cheapest count that keeps a deadline and a budget."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.attribution.draws import curves_of
from genperf.attribution.ladder import ladder
from genperf.errors import GenperfError
from genperf.facts import Choice, Interval, Paid, Plan, Planned
from genperf.formula import call
from genperf.formula.amounts import amount
from genperf.panel.panel import StepWork
from genperf.panel.quantities import paid_for, quantities_of
from genperf.result import FitResult
from genperf.search.evaluation import best_first, winners
from genperf.search.problem import Goal
from genperf.table.cells import source_of_columns


def plan_of(samples: str | None, deadline: str | None = None, budget: str | None = None) -> Plan | None:
    """Read a plan from numbers as people write them; None without samples."""
    texts = {"samples": samples, "deadline": deadline, "budget": budget}
    values = {name: None if text is None else amount(text) for name, text in texts.items()}
    for (name, value), example in zip(values.items(), ("1.2B", "5d", "20000"), strict=True):
        if texts[name] is not None and (value is None or not 0.0 < value < float("inf")):
            raise GenperfError(f"--{name} '{texts[name]}' is no number above zero", hint=f"--{name} {example}")
    size = values.pop("samples")
    if size is None and any(value is not None for value in values.values()):
        raise GenperfError("a deadline and a budget are those of the work in all", hint="--samples 1.2B")
    return None if size is None else Plan(size, **values)


#: The cheapest counts that are compared with each other in every draw.
COMPARED = 10


def planned(
    result: FitResult,
    at: Mapping[str, Any],
    plan: Plan,
    work: StepWork,
    price: Paid | None = None,
    per: str | None = None,
    interval: float = 0.9,
    named: Mapping[str, Any] | None = None,
) -> Planned:
    """Return the cheapest count of workers that does a piece of work in time and within the budget.

    All counts of `ladder` are tried, those that fill whole nodes where nodes are counted. Without a price the cost is
    that of machine-hours.

    Parameters
    ----------
    at : mapping
        The configuration; its count of workers is not read, unless it is fixed.
    interval : float
        Nominal coverage, whose upper end keeps deadline and budget.
    named : mapping, optional
        What a question fixes of a machine: how long it takes there comes first.

    Raises
    ------
    GenperfError
        Where the work of a step is not known, or nothing can keep such a limit.

    Examples
    --------
    Each GPU does 100 samples a second, and each further one costs a hundredth of a step.

    >>> import genperf as gp
    >>> import pandas as pd
    >>> from genperf.words.plan import plan_sentence
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.99, 1.0, 1.02, 1.06]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="a + b*gpus")
    >>> plan = Plan(samples=1e9, deadline=15 * 86400.0)
    >>> work = StepWork(gp.formula.parse("100*gpus").node)
    >>> print(plan_sentence(planned(result, {}, plan, work)))
    For 1 billion samples within 15 d, the cheapest count of 1 to 128 that keeps it is 9 gpus. It takes 13.8 d
    (90 %: 13.1 to 14.5) and 2,970 gpu-hours (90 %: 2,820 to 3,130). No other is cheaper with a probability of 100 %.
    The fastest that keeps it is 128 gpus: 2.05 d and 6,290 gpu-hours. Do not rely on it (extrapolating-blind).
    """
    Goal(deadline=plan.deadline, budget=plan.budget).check()
    if plan.budget is not None and price is None:
        raise GenperfError("a budget needs a price", hint="--price 2/h, with --per COLUMN for what it is paid")
    if work.total is None:
        raise GenperfError("a plan needs the work of a step", hint="--work '32*gpus', or a column of the batch")
    count = result.panel.along()
    steps = ladder(result, at, full_nodes=True)
    # The machine of the question is the last row.
    columns = {n: np.append(c, np.array([at[n]], c.dtype)) if named else c for n, c in steps.columns.items()}
    counts = columns[count.name]
    predicted = result.predict_columns(source_of_columns(columns), interval)
    value, lower, upper = (np.asarray(predicted[end], float) for end in (result.schema.target.name, "lower", "upper"))
    spent = "machine_hours" if price is None else "cost"
    known = quantities_of(result.panel, {"steps": call("divide", plan.samples, work.total)}, price, per)
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

    tried = float(steps.counts[0]), float(steps.counts[-1])
    here: dict[str, Any] = {}
    if named:
        limits = {"it may fail": fails, "late": late, "too dear": dear}
        breaks = tuple(what for what, broken in limits.items() if broken[-1])
        here = {"named": choice(len(counts) - 1), "named_at": tuple(named.items()), "breaks": breaks}
        fails[-1] = True
    about = (plan, count.name, tried, work.unit, work.whole, paid_for(result.panel, per)[0], price, interval)
    kept = np.flatnonzero(~(fails | late | dear))
    if not len(kept):
        cheapest, fastest = (choice(int(np.argmin(np.where(fails, np.inf, amount)))) for amount in (cost, total))
        lacks = bool(fails.all()), bool(late[~fails].all()), bool(dear[~fails].all())
        return Planned(*about, 2.0 * count.upper, cheapest, fastest, None, *lacks, **here)
    first = kept[best_first(cost[kept], cost[kept])][:COMPARED]
    fastest = choice(int(kept[best_first(total[kept], cost[kept])][0]))
    curves = curves_of(result, {name: cells[first] for name, cells in columns.items()})
    drawn = np.exp(curves.paths) / value[first]
    possible = (drawn * total[first] <= (plan.deadline or np.inf)) & (drawn * cost[first] <= (plan.budget or np.inf))
    best = float((curves.weights @ winners(np.where(possible, drawn * cost[first], np.inf)))[0])
    return Planned(*about, float(counts[first[0]]), choice(first[0]), fastest, best, **here)
