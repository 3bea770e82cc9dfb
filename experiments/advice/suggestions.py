"""Whether `suggest` finds the measurements that matter.

Every series of a bundled table begins with its three cheapest configurations. The others are measured one after
the other, in the order of the advisor, at random, or the smallest first, until the median over the series of the error
at the largest scale is below a level. What has been spent by then, in machine-seconds, is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import beside, markdown, page

LEVELS = (0.10, 0.05)
#: Further levels: shares of the way from the median error at the begin to that with all below the largest scale.
WAY = (0.25, 0.5, 0.75)
ORDERS = 200
WITHIN = 0.10
FEWEST = 5
START = 3

#: Bundled tables whose series are measured anew: the scale, and the roles of the other columns.
TABLES = {name: (table.pop("scale"), table) for name, table in beside(__file__).items()}

Step = tuple[int, float]


@dataclass(frozen=True)
class State:
    """What a model of some of the measurements says of the largest scale."""

    error: float
    width: float
    gains: dict[float, float]


@dataclass
class Series:
    """One group: its configurations by count, the cheapest of which are known to begin with."""

    table: gp.Table
    scale: str
    cost: dict[float, float]
    configurations: pd.DataFrame
    states: dict[frozenset[float], State] = field(default_factory=dict)

    @property
    def target(self) -> float:
        """The largest scale."""
        return max(self.cost)

    @property
    def start(self) -> list[float]:
        """What is known to begin with: the cheapest."""
        return sorted((c for c in self.cost if c != self.target), key=lambda c: self.cost[c])[:START]

    @property
    def rest(self) -> list[float]:
        """What can be measured."""
        return sorted(set(self.cost) - set(self.start))

    def state(self, more: frozenset[float]) -> State:
        """Fit what is known and ask about the largest scale; once for each set of measurements."""
        if more not in self.states:
            known = [*self.start, *more]
            fitted = gp.fit(self.table.take(self.table.frame[self.scale].isin(known).to_numpy()))
            (result,) = fitted.results.values()
            here = self.configurations.set_index(self.scale, drop=False)
            measured = float(here.loc[self.target, self.table.target.column])
            factors = here[[f.name for f in self.table.factors]]
            left = factors.loc[[c for c in self.rest if c not in more]].reset_index(drop=True)
            found = gp.suggest(result, factors.loc[self.target].to_dict(), candidates=left)
            gains = dict(zip(found.candidates[self.scale], found.candidates["gain_per_cost"], strict=True))
            self.states[more] = State(abs(found.value / measured - 1.0), found.width, gains)
        return self.states[more]

    def error(self, more: frozenset[float]) -> float:
        """Return the error at the largest scale: none once it was measured itself."""
        return 0.0 if self.target in more else self.state(more).error


def series_of(name: str) -> list[Series]:
    scale, options = TABLES[name]
    out = []
    for _, part in gp.datasets.load(name, **options).groups():
        medians = part.medians()
        counts = medians.columns[scale]
        if len(counts) >= FEWEST:
            cost = dict(zip(counts.tolist(), (counts * medians.measured).tolist(), strict=True))
            out.append(Series(part, scale, cost, medians.frame))
    return out


def advised(series: list[Series], choices: Callable[[Series], list[float]]) -> Iterator[Step]:
    """Measure where the gain per machine-second is largest, in series whose interval is not narrow enough yet."""
    known: list[frozenset[float]] = [frozenset() for _ in series]
    while True:
        gains = {
            (i, count): gain
            for i, one in enumerate(series)
            if one.target not in known[i] and one.state(known[i]).width > WITHIN
            for count, gain in one.state(known[i]).gains.items()
            if count in choices(one) and count not in known[i]
        }
        if not gains:
            return
        i, count = max(gains, key=gains.__getitem__)
        known[i] |= {count}
        yield i, count


def spent(series: list[Series], order: Iterable[Step], level: float) -> float:
    """Return the machine-seconds after which the median error is at the level; infinite where it never is."""
    known: list[frozenset[float]] = [frozenset() for _ in series]
    errors = np.array([one.error(known[i]) for i, one in enumerate(series)])
    total = 0.0
    if np.median(errors) <= level:
        return total
    for i, count in order:
        known[i] |= {count}
        total += series[i].cost[count]
        errors[i] = series[i].error(known[i])
        if np.median(errors) <= level:
            return total
    return float("inf")


def compare(series: list[Series], level: float, itself: bool, seed: int) -> dict[str, float]:
    def choices(one: Series) -> list[float]:
        return [c for c in one.rest if itself or c != one.target]

    steps = [(i, c) for i, one in enumerate(series) for c in choices(one)]
    rng = np.random.default_rng(seed)
    shuffled = [spent(series, [steps[j] for j in rng.permutation(len(steps))], level) for _ in range(ORDERS)]
    smallest = sorted(steps, key=lambda s: (s[1], series[s[0]].cost[s[1]]))
    return {
        "all": sum(series[i].cost[c] for i, c in steps),
        "advisor": spent(series, advised(series, choices), level),
        "random": float(np.mean(shuffled)),
        "smallest": spent(series, smallest, level),
    }


def ratio(found: dict[str, float], other: str) -> str:
    """Return what the advisor spent over what another order did."""
    there = 0.0 < found[other] < np.inf
    return f"{found['advisor'] / found[other]:.2f}" if there else "–"


def seconds(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else "not reached"


def verdict(found: dict[str, float]) -> str:
    if found["random"] == 0.0:
        return "reached before anything more is measured"
    if not np.isfinite(found["advisor"]):
        return "not reached by any order" if not np.isfinite(found["random"]) else "missed: not reached"
    half = found["advisor"] <= found["random"] / 2
    less = found["advisor"] < found["smallest"]
    said = [
        f"{'at most' if half else 'more than'} half of random",
        f"{'less' if less else 'not less'} than smallest first",
    ]
    return ("kept: " if half and less else "missed: ") + ", ".join(said)


HEAD = ["table", "largest scale may be measured", "level", "begin → end", "advisor", "random", "smallest first",
        "everything", "advisor / random", "the claim"]  # fmt: skip


def run(seed: int = 0) -> str:
    """Compare the orders on every table, and return the page."""
    rows, verdicts, between = [], [], []
    for name in TABLES:
        series = series_of(name)
        begin = float(np.median([one.error(frozenset()) for one in series]))
        # Everything below the largest scale, the most that can be known without measuring it.
        end = float(np.median([one.error(frozenset(one.rest) - {one.target}) for one in series]))
        for itself in (True, False):
            for level in LEVELS:
                found = compare(series, level, itself, seed)
                verdicts.append(verdict(found))
                spent_by = (seconds(found[order]) for order in ("advisor", "random", "smallest", "all"))
                rows.append([
                    f"`{name}`, {len(series)} series", "yes" if itself else "no",
                    f"{100 * level:.0f} %", f"{100 * begin:.2f} → {100 * end:.2f} %", *spent_by,
                    ratio(found, "random"), verdicts[-1],
                ])  # fmt: skip
            of_way = [compare(series, begin + share * (end - begin), itself, seed) for share in WAY]
            ratios = [f"{ratio(found, 'random')}, {ratio(found, 'smallest')}" for found in of_way]
            between.append([f"`{name}`", "yes" if itself else "no", *ratios])
    return page(
        "suggestions",
        globals(),
        table=markdown(HEAD, rows),
        between=markdown([*HEAD[:2], *(f"{share:g} of the way" for share in WAY)], between),
        kept=sum(v.startswith("kept") for v in verdicts),
        tried=sum(v.startswith(("kept", "missed")) for v in verdicts),
        less=sum(", less than" in v for v in verdicts),
    )
