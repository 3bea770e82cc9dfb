"""The few words of a card: why a verdict is what it is, what such forecasts were worth, what to do next."""

from genperf.facts import Expectation, Facts, Planned, Record
from genperf.words.growth import pays_judged
from genperf.words.next_run import NOTICEABLE
from genperf.words.numbers import (
    capitalised,
    count_text,
    durations_text,
    join_values,
    singular,
    three_digits,
    with_article,
    with_unit,
)
from genperf.words.verdict import BLIND, fits_text

#: Words of a reason that a card has room for.
MOST_WORDS = 12
#: A verdict → its colour, and its mark where there is no colour.
COLORS = {"ok": "green", "caution": "yellow", "extrapolating-blind": "red"}
MARKS = {"ok": "✓", "caution": "⚠", "extrapolating-blind": "✗"}


def verdict_line(reason: str) -> str:
    """Return the first of some reasons, in at most twelve words.

    Examples
    --------
    >>> print(verdict_line("workers=64 is 2 doublings outside the measured 1 to 16; the interval is very wide"))
    workers=64 is 2 doublings outside the measured 1 to 16
    """
    first = reason.split(";")[0].strip()
    words = first.split()
    return first if len(words) < MOST_WORDS else " ".join(words[: MOST_WORDS - 1]).rstrip(",") + " …"


def count_header(count: float) -> str:
    """Return the head of the column of a count: `at 16`."""
    return f"at {count:g}"


def record_line(facts: Facts) -> str:
    """Return what forecasts like this one were worth elsewhere; empty where none was judged."""
    record = facts.record
    if record is None:
        return ""
    measured = max((count for count, _ in facts.curve.measured), default=facts.growth.smallest.count)
    further = "shorter ones" if facts.growth.target.count / measured > Record.far else "such forecasts"
    held = 100.0 * record.covered / record.predictions
    return f"elsewhere {further} erred by {record.median_error:.0f} % (median); {held:.0f} % of the intervals held"


def next_line(facts: Facts) -> str:
    """Return what to measure next, and how what is asked about narrows by it."""
    run = facts.next_run
    if facts.unmeasured:
        return f"measure a run with {join_values(facts.unmeasured)}: no measured run shows it"
    if run is None:
        return facts.no_run
    if run.met or not run.places:
        return "the interval is narrow enough" if run.met else "measure nearer to what is asked"
    name = facts.growth.name
    differing = [{n: v for n, v in place.items() if n == name or v != facts.at.get(n)} for place in run.places]
    places = "; ".join(count_text(float(p[name]), name) if {*p} == {name} else join_values(p) for p in differing)
    if run.after > (1.0 - NOTICEABLE) * run.width:
        return f"measure {places}, though it narrows the interval little"
    efficiency, rate = facts.growth.target.efficiency, facts.growth.throughput(run.now)
    if efficiency is not None and efficiency.lower < efficiency.upper:
        after = run.narrowed(efficiency)
        ends = [f"{100 * end:.0f}" for end in (efficiency.lower, efficiency.upper, after.lower, after.upper)]
        return f"measure {places}: efficiency {ends[0]} – {ends[1]} % becomes {ends[2]} – {ends[3]} %"
    now, unit = (run.now, facts.expected.unit) if rate is None else (rate, f"{facts.growth.sample}/s")
    after = run.narrowed(now)
    ends = [three_digits(end) for end in (now.lower, now.upper, after.lower, after.upper)]
    return f"measure {places}: {ends[0]} – {ends[1]} becomes {with_unit(f'{ends[2]} – {ends[3]}', unit)}"


def decision_sentence(expected: Expectation, facts: Facts | None, shown: str, value: str) -> str:
    """Return what to decide, in one sentence of at most three numbers.

    Parameters
    ----------
    facts : Facts, optional
        What is known of the configuration; nothing where no factor counts the workers.
    shown, value : str
        The configuration, `64 workers`, and the first row of the card there, `step of 0.47 s`.
    """
    if facts is not None and facts.plan is not None:
        return capitalised(_plan_decision(facts.plan))
    if fails := fits_text(expected.fits):
        return capitalised(f"at {shown}, {fails}")
    if expected.verdict == BLIND:
        text = f"do not decide on {shown} yet"
        run = None if facts is None else facts.next_run
        first = run.places[0] if run is not None and run.places else {}
        name = "" if facts is None else facts.growth.name
        return capitalised(f"{text}: measure {count_text(float(first[name]), name)} first" if name in first else text)
    if facts is None or not expected.is_time:
        return capitalised(f"at {shown} expect {with_article(value)}")
    growth = facts.growth
    rate = growth.throughput(expected.value)
    if rate is not None:
        before = growth.start.rate
        there, here = (f"{three_digits(rate.value)} {growth.sample}/s", three_digits(before) if before else "")
    else:
        middle, start, unit = durations_text(expected.value.value, growth.start.value)
        there, here = f"{with_article(growth.sample if growth.whole else 'step')} of {middle} {unit}", start
    beside = f" instead of {here}" if growth.grows and here else ""
    judged = pays_judged(growth, expected.interval)
    if not growth.grows or growth.marginal is None:
        return capitalised(f"at {shown} expect {there}{beside}")
    if judged == "undecided":
        return capitalised(f"whether growing to {shown} pays is undecided: expect {there}{beside}")
    return capitalised(f"growing to {shown} {judged}: expect {there}{beside}")


def _plan_decision(planned: Planned) -> str:
    """Return what the machine that is named takes, or the cheapest count that keeps a plan; or that none does."""
    chosen = planned.cheapest if planned.named is None else planned.named
    count = count_text(chosen.count, planned.name)
    if planned.named is None and planned.best is None:
        return f"no count up to {count_text(planned.tried[1], planned.name)} keeps the plan"
    if chosen.verdict == BLIND:
        return f"do not decide on {count} yet: the forecast of the whole job cannot be relied on"
    middle, unit = durations_text(chosen.total.value)
    paid = planned.price.currency if planned.price is not None else f"{singular(planned.paid)}-hours"
    takes = f"{middle} {unit} and {with_unit(three_digits(chosen.cost.value), paid)}"
    if planned.named is None:
        return f"take {count}, the cheapest: the whole job takes {takes}"
    return f"the whole job takes {takes} on {count}{': the plan is not kept' if planned.breaks else ''}"


def first_of_groups(efficiencies: dict[str, tuple[float, float, str]]) -> str:
    """Return which of several series to look at first: the least efficient, where it is clearly below half of them.

    Parameters
    ----------
    efficiencies : dict
        Name of a series → its efficiency in %, the upper end of the interval, and where it is; the least first.
    """
    (name, (value, upper, at)), *_ = efficiencies.items()
    middle = sorted(one for one, _, _ in efficiencies.values())[len(efficiencies) // 2]
    if upper < middle:
        return f"Look at {name} first: it keeps {value:.0f} % at {at}, half of the series {middle:.0f} %."
    return f"No series is clearly less efficient than the others; the least is {name}, {value:.0f} % at {at}."
