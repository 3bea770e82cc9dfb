"""What to measure next, in a sentence."""

from genperf.facts import Interval, NextRun
from genperf.words.numbers import join_values, prose, three_digits, with_unit


def next_sentence(run: NextRun, unit: str, reported: Interval | None = None) -> str:
    """Return what to measure next, and how the interval at the configuration is expected to narrow."""
    where, now = join_values(run.target), reported or run.now
    if run.met:
        return f"the interval at {where} is {_range(now, unit)}, narrow enough: nothing needs measuring"
    if not run.places:
        return f"no candidate narrows the interval at {where}, {_range(now, unit)}"
    places = "; ".join(join_values(place) for place in run.places)
    if run.little:
        return f"no candidate narrows the interval at {where} noticeably; {places} does most for its cost"
    unknown = ", unless a new bottleneck appears" if run.beyond else ""
    text = f"the interval at {where} then narrows from {_range(now)} to {_range(run.narrowed(now), unit)}{unknown}"
    if run.within is None:
        return prose(f"measure {places}", text)
    enough = (
        "that is enough" if run.after <= run.within else f"a half width of {100 * run.within:.3g} % needs more runs"
    )
    return prose(f"measure {places}", text, enough)


def _range(value: Interval, unit: str = "") -> str:
    """Return the ends of an interval: `0.2–0.45 s`."""
    return with_unit(f"{three_digits(value.lower)}–{three_digits(value.upper)}", unit)
