"""Where a curve along the count of workers turns: each point in a sentence."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.words.numbers import WORDS, count_text, interval_note, range_text, with_article

#: What a point is → what happens there, and what does not where it is not reached.
POINTS = {
    "efficiency": ("efficiency falls {below} that at {of:g} at", "efficiency does not fall {below} that at {of:g}"),
    "efficiency of the best": (
        "efficiency falls {below} its largest (at {of:g}) at",
        "efficiency does not fall {below} its largest (at {of:g})",
    ),
    "slower": ("{timed} gets slower beyond", "{timed} does not get slower"),
    "throughput": ("throughput falls beyond", "throughput does not fall"),
}


def point_sentence(point: Mapping[str, Any], along: str, upto: float, interval: float, timed: str) -> str:
    """Return where the efficiency falls below a level, or where more workers stop to help.

    Parameters
    ----------
    point : mapping
        A row of `Scaling.points`; that of an efficiency with the count `of` which it is.
    upto : float
        The largest count that was evaluated.
    timed : str
        What a time is of: a step.

    Examples
    --------
    >>> slower = {"what": "slower", "level": np.nan, "count": np.nan, "lower": 32.0, "upper": np.inf, "reached": 0.2}
    >>> point_sentence(slower, "gpus", 64.0, 0.9, "step")
    'a step does not get slower up to 64 gpus (a chance of 20 % that it does)'
    """
    falls, stays = POINTS[point["what"]]
    below = f"below {100 * point['level']:g} % of"
    values = {"below": below, "of": point.get("of"), "timed": with_article(timed)}
    if np.isfinite(point["count"]):
        return f"{falls.format(**values)} {count_with_note(point, along, upto, interval)}"
    reached = point["reached"]
    chance = f" (a chance of {100 * reached:.0f} % that it does)" if reached >= WORDS.least_share else ""
    return f"{stays.format(**values)} up to {count_text(upto, along)}{chance}"


def count_with_note(point: Mapping[str, Any], along: str, upto: float, interval: float) -> str:
    """Return a count with its interval, whose ends may lie beyond the last one that was evaluated."""
    lower, upper = (range_text(point[end], point[end], upto) for end in ("lower", "upper"))
    return count_text(point["count"], along) + interval_note(interval, lower, upper, f"{point['count']:g}")
