"""The few words of a card: why a verdict is what it is, what such forecasts were worth, what to do next."""

from genperf.facts import Facts, Record
from genperf.words.next_run import NOTICEABLE
from genperf.words.numbers import count_text, join_values, three_digits, with_unit

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
    names = (facts.growth.name,)
    places = "; ".join(
        count_text(float(place[names[0]]), names[0]) if {*place} == {*names} else join_values(place)
        for place in run.places
    )
    if run.after > (1.0 - NOTICEABLE) * run.width:
        return f"measure {places}, though it narrows the interval little"
    efficiency, rate = facts.growth.target.efficiency, facts.growth.throughput(run.now)
    if efficiency is not None and efficiency.lower < efficiency.upper:
        after = run.narrowed(efficiency)
        ends = [f"{100 * end:.0f}" for end in (efficiency.lower, efficiency.upper, after.lower, after.upper)]
        return f"measure {places}: {ends[0]} – {ends[1]} % becomes {ends[2]} – {ends[3]} %"
    now, unit = (run.now, facts.expected.unit) if rate is None else (rate, f"{facts.growth.sample}/s")
    after = run.narrowed(now)
    ends = [three_digits(end) for end in (now.lower, now.upper, after.lower, after.upper)]
    return f"measure {places}: {ends[0]} – {ends[1]} becomes {with_unit(f'{ends[2]} – {ends[3]}', unit)}"
