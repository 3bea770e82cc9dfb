"""What limits a configuration, in a sentence and in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from genperf.facts import Limit, Part
from genperf.words.numbers import interval_note, three_digits
from genperf.words.terms import in_words


@dataclass(frozen=True)
class NamedSettings:
    """Which parts are named."""

    #: A smaller share is not: it would be written as 0 %.
    least_share: float = 0.005


NAMED = NamedSettings()


def limit_sentence(limit: Limit, places: str) -> str:
    """Return the largest part and the next, or what doubling the strongest factors does; empty where neither is known.

    Parameters
    ----------
    places : str
        The configuration.

    Examples
    --------
    >>> from genperf.facts import Doubling
    >>> print(limit_sentence(Limit("time", "time", 0.9, doublings=(Doubling("gpus", ("nodes",), 0.55),)), "gpus=8"))
    what the time depends on at gpus=8: doubling gpus (and nodes with it) makes it x 0.55
    """
    if not limit.parts:
        follow = {d: f" (and {' and '.join(d.followers)} with it)" if d.followers else "" for d in limit.doublings}
        effects = [f"{d.factor}{text} makes it x {three_digits(d.ratio)}" for d, text in follow.items()]
        return f"what the {limit.value_name} depends on at {places}: doubling {', '.join(effects)}" if effects else ""
    first, *others = limit.parts
    low, high, middle = (f"{100 * v:.0f}" for v in (first.share.lower, first.share.upper, first.share.value))
    note = interval_note(limit.interval, low, high, middle, "%")
    text = f"at {places}, {_called(first, limit)} makes {middle} % of the {limit.name}{note}"
    if not others or others[0].share.value < NAMED.least_share:
        # Where no term explains much of the rest, nothing is claimed of it.
        explained = sum(part.share.value for part in limit.parts)
        return text if abs(1.0 - explained) > NAMED.least_share else f"{text}: nothing else limits it"
    return f"{text}; next comes {_called(others[0], limit)} ({100 * others[0].share.value:.0f} %)"


def limit_short(limit: Limit) -> str:
    """Return the largest part, or the strongest factor, in a few words."""
    if limit.parts:
        return f"{_called(limit.parts[0], limit)}: {100 * limit.parts[0].share.value:.0f} %"
    if limit.doublings:
        return f"doubling {limit.doublings[0].factor}: x {three_digits(limit.doublings[0].ratio)}"
    return "not known"


def _called(part: Part, limit: Limit) -> str:
    return in_words(part.label, part.terms, limit.counts_nodes, limit.worker)
