"""Where the largest term changes as workers are added."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.draws import count_quantiles, said_range
from genperf.attribution.ladder import Ladder
from genperf.prediction import Member
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: Members of less weight are not asked.
LIGHT = 0.05
COLUMNS = ("member", "weight", "before", "after", "count", "lower", "upper", "reached", "said")


def crossovers(result: FitResult, steps: Ladder, levels: tuple[float, float]) -> pd.DataFrame:
    """Return a row per change of the largest term, for every member of weight, the heaviest first.

    Terms of different families are different things, so that each member is asked by itself. A member whose largest
    term does not change has a row that says so, with no count.
    """
    total = sum(m.weight for m in result.members)
    rows = []
    for member in sorted(result.members, key=lambda m: -m.weight):
        weight = member.weight / total
        if weight >= LIGHT:
            several = len(result.members) > 1
            rows += [
                {"member": member.name, "weight": weight, **row}
                for row in _of_member(member, steps, levels, f"{member.name}: " if several else "")
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_member(member: Member, steps: Ladder, levels: tuple[float, float], prefix: str) -> list[dict[str, str | float]]:
    best = member.expression.term_values(steps.columns, member.values)
    names = list(best)
    if len(names) < 2:
        return []
    values = np.stack(list(best.values()))
    largest = values.argmax(axis=0)
    changes = np.flatnonzero(np.diff(largest)) + 1
    name, last = steps.along.name, steps.counts[-1]
    if not changes.size:
        said = f"{prefix}'{names[largest[0]]}' stays the largest term up to {last:g} {name}"
        none = {"count": np.nan, "lower": np.nan, "upper": np.nan, "reached": 0.0}
        return [{"before": names[largest[0]], "after": names[largest[0]], **none, "said": said}]
    drawn = member.expression.term_values(steps.columns, member.draw_values())
    rows: list[dict[str, str | float]] = []
    for j in changes.tolist():
        before, after = names[largest[j - 1]], names[largest[j]]
        lead = np.vstack([(best[after] - best[before])[None], drawn[after] - drawn[before]])
        found = _overtakes(steps.counts, lead, j, steps.along.integer)
        ends = count_quantiles(found[1:], np.ones(len(drawn[after])), levels)
        shown = said_range(ends[0], ends[1], last)
        rows.append(
            {
                "before": before,
                "after": after,
                "count": float(found[0]),
                "lower": ends[0],
                "upper": ends[1],
                "reached": float(np.isfinite(found[1:]).mean()),
                "said": f"{prefix}the largest term changes from '{before}' to '{after}' at {found[0]:g} {name} "
                f"({100 * (levels[1] - levels[0]):g} %: {shown})",
            }
        )
    return rows


def _overtakes(counts: Array, lead: Array, step: int, whole: bool) -> Array:
    """Return where each row's lead last turns positive, the first row's at a given step; infinite where it never does.

    A lead that is positive all along began before the first count, which is then the answer.
    """
    out = np.full(len(lead), np.inf)
    for i, row in enumerate(lead):
        ahead = row > 0.0
        starts = np.flatnonzero(ahead[1:] & ~ahead[:-1]) + 1
        if i == 0:
            at = step
        elif starts.size:
            # Of several, the one nearest to the best curve's.
            at = int(starts[np.argmin(np.abs(starts - step))])
        elif ahead[0]:
            out[i] = counts[0]
            continue
        else:
            continue
        y0, y1 = row[at - 1], row[at]
        part = -y0 / (y1 - y0) if y1 > y0 else 1.0
        place = counts[at - 1] + min(max(part, 0.0), 1.0) * (counts[at] - counts[at - 1])
        out[i] = min(np.floor(place + 1e-9) + 1.0, counts[at]) if whole else place
    return out
