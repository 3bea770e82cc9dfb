"""What to measure next, in a sentence."""

from genperf.facts import Interval, NextRun
from genperf.words.numbers import join_values, three_digits, with_unit

#: Relative narrowing below which no run is worth its name. Half and double change no answer
#: (experiments/results/settings.md).
NOTICEABLE = 0.05


def next_sentence(run: NextRun, unit: str, reported: Interval | None = None) -> str:
    """Return what to measure next, and how the interval at the configuration is expected to narrow.

    Parameters
    ----------
    unit : str
        Of the interval.
    reported : Interval, optional
        What is reported of the configuration, such as its throughput; the predicted mean where omitted.

    Examples
    --------
    >>> run = NextRun({"gpus": 64}, ({"gpus": 32},), Interval(0.3, 0.2, 0.45), 0.41, 0.2, beyond=True)
    >>> print(next_sentence(run, "s"))
    measure gpus=32: the interval at gpus=64 is expected to narrow from 0.2–0.45 s to 0.245–0.367 s, unless a new
    bottleneck appears
    """
    where, now = join_values(run.target), reported or run.now
    if run.met:
        return f"the interval at {where} is {_range(now, unit)}, narrow enough: nothing needs measuring"
    if not run.places:
        return f"no candidate narrows the interval at {where}, {_range(now, unit)}: measure nearer to it"
    places = "; ".join(join_values(place) for place in run.places)
    if run.after > (1.0 - NOTICEABLE) * run.width:
        return f"no candidate narrows the interval at {where} noticeably; the most for its cost has {places}"
    text = f"measure {places}: the interval at {where} is expected to narrow from {_range(now, unit)} to "
    text += _range(run.narrowed(now), unit)
    unknown = ", unless a new bottleneck appears" if run.beyond else ""
    if run.within is None:
        return text + unknown
    reached = ", which is enough" if run.after <= run.within else f"; ±{100 * run.within:.3g} % needs more"
    return text + reached + unknown


def _range(value: Interval, unit: str) -> str:
    """Return the ends of an interval: `0.2–0.45 s`."""
    return with_unit(f"{three_digits(value.lower)}–{three_digits(value.upper)}", unit)
