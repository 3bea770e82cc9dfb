"""What to measure next, and how many machines a piece of work takes, in sentences."""

from genperf.facts import Choice, Interval, NextRun, Plan, Planned
from genperf.vocabulary.names import noun_of
from genperf.words.growth import price_text
from genperf.words.numbers import (
    count_text,
    durations_text,
    ends_text,
    interval_note,
    join_values,
    prose,
    singular,
    three_digits,
    with_unit,
)
from genperf.words.verdict import BLIND, LIKELY_TO_FIT, trust_text


def limits_text(plan: Plan) -> list[str]:
    """Return the limits of a plan as text."""
    limits = [] if plan.deadline is None else [" ".join(("within", *durations_text(plan.deadline)))]
    return limits + ([] if plan.budget is None else [f"for {three_digits(plan.budget)} at most"])


def plan_sentence(planned: Planned) -> str:
    """Return the cheapest count that keeps a plan, or why none does."""
    there = [] if planned.named is None else [_named_text(planned, planned.named)]
    limits, name, (smallest, last) = limits_text(planned.plan), planned.name, planned.tried
    what = f"for {three_digits(planned.plan.samples)} {planned.sample}{'s' if planned.whole else ''}"
    aim = " ".join((what, " and ".join(limits))).strip()
    if planned.best is None:
        return prose(*there, f"{aim}, no count of {smallest:g} to {last:g} {noun_of(name)} is enough", *_why(planned))
    keep = " that keeps " + ("both" if len(limits) > 1 else "it") if limits else ""
    texts = [
        *there,
        f"{aim}, the cheapest count of {smallest:g} to {last:g}{keep} is {count_text(planned.count, name)}",
        f"it takes {_choice_text(planned, planned.cheapest, notes=True)}",
        *_doubt(planned.cheapest),
        f"the price is {price_text(planned.price.text, planned.paid)}" if planned.price is not None else "",
        f"no other is cheaper with a probability of {100 * planned.best:.0f} %",
    ]
    if planned.fastest.count != planned.count:
        fastest = count_text(planned.fastest.count, name)
        choice = _choice_text(planned, planned.fastest)
        texts += [f"the fastest{keep} is {fastest}: {choice}", *_doubt(planned.fastest)]
    return prose(*texts)


def _named_text(planned: Planned, one: Choice) -> str:
    """Return what the work takes on the machine that the question names, and whether that keeps the plan."""
    many = f"{three_digits(planned.plan.samples)} {planned.sample}{'s' if planned.whole else ''}"
    limits = limits_text(planned.plan)
    keeps = f"it keeps {'both limits' if len(limits) > 1 else 'the limit'}" if limits else ""
    return prose(
        f"{many} take {_choice_text(planned, one, notes=True)} at {join_values(dict(planned.named_at))}",
        *_doubt(one),
        " and ".join(planned.breaks) or keeps,
    )


def _money(planned: Planned) -> str:
    """Return the unit of what a choice costs: money, or hours of the machines."""
    return f"{singular(planned.paid)}-hours" if planned.price is None else planned.price.currency


def _choice_text(planned: Planned, one: Choice, notes: bool = False) -> str:
    """Return how long a choice takes and what it costs, perhaps with the intervals."""
    *times, unit = durations_text(*one.total.ends)
    costs = [three_digits(value) for value in one.cost.ends]
    intervals = (interval_note(planned.interval, low, high, middle) for middle, low, high in (times, costs))
    of_time, of_cost = intervals if notes else ("", "")
    return f"{times[0]} {unit}{of_time} and {with_unit(costs[0], _money(planned))}{of_cost}"


def _why(planned: Planned) -> list[str]:
    """Return why no count keeps a plan: all may fail, or the fastest is late, or the cheapest too dear."""
    if planned.fails:
        return [f"each may fail with a probability above {100 * (1 - LIKELY_TO_FIT):.0f} %"]
    texts = []
    if planned.late:
        middle, _, most, unit = durations_text(*planned.fastest.total.ends)
        texts.append(f"the fastest, {planned.fastest.count:g}, takes {middle} {unit} and up to {most}")
    if planned.dear:
        least, _, most = map(three_digits, planned.cheapest.cost.ends)
        texts.append(
            f"the cheapest, {planned.cheapest.count:g}, costs {with_unit(least, _money(planned))} and up to {most}"
        )
    return texts or ["none keeps both limits at once"]


def _doubt(one: Choice) -> list[str]:
    return [trust_text(one.verdict)] if one.verdict == BLIND else []


def next_sentence(run: NextRun, unit: str, reported: Interval | None = None) -> str:
    """Return what to measure next, and how the interval at the configuration is expected to narrow."""
    where, now = join_values(run.target), reported or run.now
    if run.met:
        return f"the interval at {where} is {_range(now, unit)}, narrow enough: nothing needs measuring"
    if not run.places:
        return f"no candidate narrows the interval at {where}, {_range(now, unit)}"
    places = "; ".join(join_values(place) for place in run.places)
    narrowed = run.narrowed(now)
    if run.little or _range(now) == _range(narrowed):
        return f"no candidate narrows the interval at {where} noticeably; {places} does most for its cost"
    unknown = ", unless a new bottleneck appears" if run.beyond else ""
    text = f"the interval at {where} then narrows from {_range(now)} to {_range(narrowed, unit)}{unknown}"
    if run.within is None:
        return prose(f"measure {places}", text)
    enough = (
        "that is enough" if run.after <= run.within else f"a half width of {100 * run.within:.3g} % needs more runs"
    )
    return prose(f"measure {places}", text, enough)


def _range(value: Interval, unit: str = "") -> str:
    """Return the ends of an interval: `0.2–0.45 s`."""
    return with_unit(ends_text(three_digits(value.lower), three_digits(value.upper)), unit)
