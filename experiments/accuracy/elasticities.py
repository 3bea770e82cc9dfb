"""Elasticities of the generic expression beside those of measured neighbours that it was not fitted to.

    python -m experiments elasticities

Neighbours are two configurations that differ in one numeric factor alone. Their elasticity ln(T₂/T₁)/ln(x₂/x₁) is
measured, and predicted by a fit that has neither of them. Writes elasticities.md. The same command writes the same
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

import genperf as gp
from experiments.accuracy import three_frameworks
from experiments.shared import markdown
from genperf.attribution.draws import curves_of, quantiles, shares
from genperf.prediction import read_query

COMMAND = "python -m experiments elasticities"
#: Parts of the lines of neighbours, each held out by itself; an elasticity within so much of the measured one is close.
FOLDS, CLOSE = 5, 0.1
#: Factors with fewer pairs are left out.
FEWEST = 10
DRAWS, INTERVAL = 50, 0.9

Pair = tuple[int, int]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Slopes:
    """Elasticities between neighbours."""

    #: `measured`, `predicted`, `lower`, `upper`: Of one pair: as measured, by the fit, and the ends of its
    #: interval.
    measured: float
    predicted: float
    lower: float
    upper: float
    #: Standard deviation of the measured one, from the scatter of repeats.
    noise: float

    def inside(self, deviations: float) -> bool:
        """Return whether the measured one lies in the interval, widened by so many deviations of its noise."""
        below, above = (np.hypot(end - self.predicted, deviations * self.noise) for end in (self.lower, self.upper))
        return bool(self.predicted - below <= self.measured <= self.predicted + above)


def neighbours(table: gp.Table, factor: str) -> list[list[Pair]]:
    """Return the pairs of rows that are next to each other along a factor, a list for each line of such rows."""
    names = [f.name for f in table.factors if f.distinct > 1]
    others = [name for name in names if name != factor]
    frame = table.frame[names].reset_index(drop=True)
    lines = []
    for _, line in frame.groupby(others, sort=True):
        rows = line.sort_values(factor, kind="stable").index.to_numpy()
        if len(rows) > 1:
            lines.append([(int(a), int(b)) for a, b in pairwise(rows)])
    return lines


def slopes_without(table: gp.Table, factor: str, pairs: Sequence[Pair], held: Mask, noise: float) -> list[Slopes]:
    """Return the elasticities of pairs by a fit that has none of the held rows."""
    result = gp.fit(table.take(~held), "generic", seed=0, draws=DRAWS)
    frame = table.frame[[f.name for f in table.factors]]
    known = [
        (a, b)
        for a, b in pairs
        if all(str(frame[f.name].iloc[row]) in f.levels for row in (a, b) for f in result.schema.factors if f.levels)
    ]
    if not known:
        return []
    first, second = (read_query(frame.iloc[[p[side] for p in known]], result.schema).columns for side in (0, 1))
    distance = np.log(np.asarray(second[factor], float) / np.asarray(first[factor], float))
    member = result.best
    fitted = [np.log(member.expression.evaluate(columns, member.values)) for columns in (first, second)]
    drawn = (curves_of(result, second).paths - curves_of(result, first).paths) / distance
    tail = (1.0 - INTERVAL) / 2.0
    lower, upper = quantiles(drawn, shares(result.members), (tail, 1.0 - tail))
    measured = np.log([table.measured[b] / table.measured[a] for a, b in known]) / distance
    spread = np.sqrt(2.0) * noise / np.abs(distance)
    predicted = (fitted[1] - fitted[0]) / distance
    return [Slopes(*map(float, one)) for one in zip(measured, predicted, lower, upper, spread, strict=True)]


def held_out(table: gp.Table, factor: str) -> list[Slopes]:
    """Return the elasticities of all neighbours along a factor, each by a fit without them."""
    noise = table.noise()
    medians = table.medians()
    lines = neighbours(medians, factor)
    fold = np.random.default_rng(0).permutation(len(lines)) % FOLDS
    found = []
    for k in range(FOLDS):
        # Every second pair at a time, so that the line is not held out as a whole.
        for parity in (0, 1):
            pairs = [pair for line, of in zip(lines, fold, strict=True) if of == k for pair in line[parity::2]]
            held = np.zeros(len(medians), bool)
            held[[row for pair in pairs for row in pair]] = True
            if pairs:
                found += slopes_without(medians, factor, pairs, held, noise if np.isfinite(noise) else 0.0)
    return found


def rows() -> list[list[str]]:
    """Return a line for each table and factor."""
    tables = {"pytorch_cpu": gp.datasets.load("pytorch_cpu")}
    tables |= {f"core_experiment, {name}": three_frameworks.table_of(name) for name in three_frameworks.FRAMEWORKS}
    lines = []
    for title, table in tables.items():
        for factor in (f.name for f in table.factors if f.numeric and f.positive and f.distinct > 1):
            if sum(map(len, neighbours(table.medians(), factor))) < FEWEST:
                continue
            found = held_out(table, factor)
            measured, predicted = (np.array([getattr(s, name) for s in found]) for name in ("measured", "predicted"))
            off = np.abs(predicted - measured)
            inside = np.array([s.inside(0.0) for s in found])
            with_noise = np.array([s.inside(NormalDist().inv_cdf(0.5 + 0.5 * INTERVAL)) for s in found])
            sign = np.sign(measured) == np.sign(predicted)
            middles = (np.median(v) for v in (measured, predicted, off, [s.noise for s in found]))
            parts = (100.0 * np.mean(v) for v in (off <= CLOSE, sign, inside, with_noise))
            lines.append([title, factor, str(len(found)), *(f"{v:.2f}" for v in middles), *(f"{v:.0f}" for v in parts)])
            print(" ".join(lines[-1]), flush=True)
    return lines


def run() -> str:
    """Return the page."""
    head = ["table", "factor", "pairs", "median measured", "median predicted", "median off", "noise"]
    head += [f"% within {CLOSE:g}", "% sign right", "% inside", "% with noise"]
    reading = f"""# Are elasticities those of measured neighbours?

Made by `{COMMAND}`. Neighbours are configurations that differ in one factor alone. Their elasticity
ln(T₂/T₁)/ln(x₂/x₁) is measured, and predicted by a `generic` fit that has neither (every second pair
of a fifth of the lines at a time). `noise` is the standard deviation of a measured one that repeats
explain (median over the pairs). `inside` tells how many lie in the 90 % interval of the fit, which
holds no noise of the measurement, and `with noise` in one that is widened by it.
Factors with fewer than {FEWEST} pairs are left out.
"""
    return f"{reading}\n{markdown(head, rows())}"
