"""Where a curve along the count of workers turns: each point in a sentence."""

import numpy as np

from genperf.facts import Interval, Turn
from genperf.words.numbers import LEAST_DECIDED, WORDS_LEAST_SHARE, count_text, interval_note, range_text, with_article

#: What a point is → what turns, what it then does, what it does not, and from where.
POINTS = {
    "efficiency": ("efficiency", "falls", "does not fall", " {below} that at {of:g}"),
    "efficiency of the best": ("efficiency", "falls", "does not fall", " {below} its largest (at {of:g})"),
    "slower": ("{timed}", "gets slower", "does not get slower", ""),
    "throughput": ("throughput", "falls", "does not fall", ""),
}
#: What stands before the count at which it happens.
BEYOND = {"efficiency": "at", "efficiency of the best": "at", "slower": "beyond", "throughput": "beyond"}


def turn_sentence(turn: Turn) -> str:
    """Return where the efficiency falls below a level, or where more workers stop to help."""
    subject, falls, stays, where = POINTS[turn.what]
    values = {"below": f"below {100 * turn.level:g} % of", "of": turn.of}
    subject, where = subject.format(timed=with_article(turn.timed)), where.format(**values)
    upto = f"up to {count_text(turn.upto, turn.along)}"
    chance = f"(a chance of {100 * turn.reached:.0f} %"
    if np.isfinite(turn.count.value):
        if turn.reached <= LEAST_DECIDED:
            return f"{subject} likely {stays}{where} {upto} {chance} that it does)"
        return f"{subject} {falls}{where} {BEYOND[turn.what]} {count_with_note(turn.count, turn)}"
    if turn.reached < WORDS_LEAST_SHARE:
        return f"{subject} {stays}{where} {upto}"
    if turn.reached <= LEAST_DECIDED:
        return f"{subject} {stays}{where} {upto} {chance} that it does)"
    if turn.reached >= 1.0 - LEAST_DECIDED:
        return f"{subject} likely {falls}{where} {upto} {chance})"
    return f"whether {subject} {falls}{where} {upto} is undecided {chance})"


def crossover_sentence(before: str, after: str, turn: Turn) -> str:
    """Return where the largest term changes, or that it does not."""
    if before == after:
        return f"'{before}' stays the largest term up to {count_text(turn.upto, turn.along)}"
    return f"the largest term changes from '{before}' to '{after}' at {count_with_note(turn.count, turn)}"


def count_with_note(count: Interval, turn: Turn) -> str:
    """Return a count with its interval, whose ends may lie beyond the last one that was evaluated."""
    lower, upper = (range_text(end, end, turn.upto) for end in (count.lower, count.upper))
    return count_text(count.value, turn.along) + interval_note(turn.interval, lower, upper, f"{count.value:g}")
