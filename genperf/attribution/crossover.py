"""The counts of workers at which the largest term changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.draws import count_quantiles, shares
from genperf.attribution.ladder import Ladder
from genperf.attribution.terms import MEMBERS, by_label
from genperf.prediction import Member
from genperf.result import FitResult
from genperf.words.numbers import count_text, interval_note, range_text

Array = npt.NDArray[np.float64]

COLUMNS = ("member", "weight", "before", "after", "count", "lower", "upper", "reached", "sentence")


def crossovers(result: FitResult, steps: Ladder, levels: tuple[float, float]) -> pd.DataFrame:
    """Return a row per change of the largest term, for every label of some weight, the heaviest first.

    Terms of different families are different things, so that each label stands for itself. A label whose largest term
    does not change has a row that says so, with no count.
    """
    labels = by_label(result.members)
    rows = []
    for entry in labels:
        if entry.weight < MEMBERS.least_weight:
            continue
        prefix = f"{entry.label}: " if len(labels) > 1 else ""
        changes = _changes([result.members[k] for k in entry.places], steps, levels, prefix)
        rows += [{"member": entry.label, "weight": entry.weight, **row} for row in changes]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _changes(
    members: Sequence[Member], steps: Ladder, levels: tuple[float, float], prefix: str
) -> list[dict[str, str | float]]:
    """Return the changes of one label."""
    first = members[0]
    best = first.expression.term_values(steps.columns, first.values)
    names = list(best)
    if len(names) < 2:
        return []
    values = np.stack(list(best.values()))
    largest = values.argmax(axis=0)
    changes = np.flatnonzero(np.diff(largest)) + 1
    name, last = steps.along.name, steps.counts[-1]
    if not changes.size:
        sentence = f"{prefix}'{names[largest[0]]}' stays the largest term up to {count_text(last, name)}"
        none = {"count": np.nan, "lower": np.nan, "upper": np.nan, "reached": 0.0}
        return [{"before": names[largest[0]], "after": names[largest[0]], **none, "sentence": sentence}]
    same = [m for m in members if {t.name for t in m.expression.terms} == set(names)]
    by_member = [m.expression.term_values(steps.columns, m.draw_values()) for m in same]
    weights = shares(same)
    rows: list[dict[str, str | float]] = []
    for j in changes.tolist():
        before, after = names[largest[j - 1]], names[largest[j]]
        lead = np.vstack([(best[after] - best[before])[None], *(d[after] - d[before] for d in by_member)])
        counts = _overtakes(steps.counts, lead, j, steps.along.integer)
        lower, upper = count_quantiles(counts[1:], weights, levels)
        shown = range_text(lower, upper, last)
        note = interval_note(levels[1] - levels[0], shown, shown, f"{counts[0]:g}")
        rows.append(
            {
                "before": before,
                "after": after,
                "count": float(counts[0]),
                "lower": lower,
                "upper": upper,
                "reached": float(weights[np.isfinite(counts[1:])].sum()),
                "sentence": f"{prefix}the largest term changes from '{before}' to '{after}' at "
                f"{count_text(counts[0], name)}{note}",
            }
        )
    return rows


def _overtakes(counts: Array, lead: Array, step: int, whole: bool) -> Array:
    """Return the count at which each row's lead turns positive; infinite where it never does."""
    ahead, rows = lead > 0.0, np.arange(len(lead))
    turns = ahead[:, 1:] & ~ahead[:, :-1]
    # The turn that is nearest to that of the central values, which are the first row.
    at = 1 + np.where(turns, np.abs(np.arange(1, len(counts)) - step), np.inf).argmin(axis=1)
    at[0] = step
    y0, y1 = lead[rows, at - 1], lead[rows, at]
    with np.errstate(all="ignore"):
        part = np.clip(np.where(y1 > y0, -y0 / (y1 - y0), 1.0), 0.0, 1.0)
    place = counts[at - 1] + part * (counts[at] - counts[at - 1])
    place = np.minimum(np.floor(place + 1e-9) + 1.0, counts[at]) if whole else place
    return np.where(turns.any(axis=1) | (rows == 0), place, np.where(ahead[:, 0], counts[0], np.inf))
