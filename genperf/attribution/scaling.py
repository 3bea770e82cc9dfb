"""Efficiency and its band, the knee, and the count beyond which more workers make it slower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.answers import Scaling
from genperf.attribution.crossover import crossovers
from genperf.attribution.draws import count_quantiles, log_paths, quantiles, said_range, shares
from genperf.attribution.ladder import Kind, Ladder, ladder
from genperf.errors import GenperfError
from genperf.prediction import central_times
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: The share of perfect scaling below which a curve is past its knee.
LEVEL = 0.5
#: Times closer than this are the same.
SAME = 1e-12
#: A logarithm of an efficiency this near to a level is at the level, not below it.
TOUCHES = 1e-9


def scaling(
    result: FitResult,
    at: Mapping[str, Any],
    *,
    along: str | None = None,
    level: float = LEVEL,
    upto: float | None = None,
    kind: Kind | None = None,
    interval: float = 0.9,
    given: frozenset[str] = frozenset(),
) -> Scaling:
    """Say how well more workers are used, and where that ends.

    With W(n) one worker's work and n₀ the smallest measured count, the efficiency is the work done per second and
    worker, relative to that at n₀: `W(n)/W(n₀) · T(n₀)/T(n)`. With a batch per worker that stays as it is (weak
    scaling) this is T(n₀)/T(n), with work that is shared (strong scaling) n₀·T(n₀)/(n·T(n)).

    Parameters
    ----------
    result : FitResult
    at : mapping
        A value for every other factor.
    along : str, optional
        The factor that counts the workers; found by the field's names where omitted.
    level : float
        The efficiency below which a curve is past its knee.
    upto : float, optional
        How far to look; 16 times the largest measured count where omitted.
    kind : {"weak", "strong"}, optional
        See `genperf.attribution.ladder.ladder`.
    interval : float
        Nominal coverage.
    given : frozenset of str
        The factors that the user gave, which do not follow the count of workers.

    Returns
    -------
    Scaling
        Every count comes with an interval over the draws of all members; "not reached" is said with how far was looked.

    Raises
    ------
    TableError
        Where no factor counts the workers.
    GenperfError
        For a level outside (0, 1).

    Examples
    --------
    T = 1 + 8/n: the efficiency 9/(n + 8) is below 0.55 from n = 9 on.

    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> found = scaling(result, {}, level=0.55)
    >>> print(found.points["said"][0])
    efficiency falls below 55 % of that at 1 at 9 workers (90 %: 9 to 9)
    """
    if not 0.0 < level < 1.0:
        raise GenperfError(f"an efficiency level lies between 0 and 1, not {level:g}", hint="0.5")
    steps = ladder(result, at, along, upto, kind, given)
    weights = shares(result.members)
    tail = (1.0 - interval) / 2.0
    levels = (tail, 1.0 - tail)
    central = central_times(result.members, steps.columns)
    paths = log_paths(result, steps.columns)
    work = np.log(steps.work)
    best = work - np.log(central)
    drawn = work - paths
    efficiency, efficiencies = best - best[0], drawn - drawn[:, :1]
    time_ends = np.exp(quantiles(paths, weights, levels))
    ends = np.exp(quantiles(efficiencies, weights, levels))
    counts = steps.counts
    name = steps.along.name
    curve = pd.DataFrame(
        {
            name: counts,
            "time": central,
            "lower": np.minimum(time_ends[0], central),
            "upper": np.maximum(time_ends[1], central),
            "speedup": np.exp(efficiency) * counts / counts[0],
            "efficiency": np.exp(efficiency),
            "efficiency_lower": np.minimum(ends[0], np.exp(efficiency)),
            "efficiency_upper": np.maximum(ends[1], np.exp(efficiency)),
        }
    )
    asked = _Asked(steps, weights, levels, interval)
    rate, rates = efficiency + np.log(counts), efficiencies + np.log(counts)
    share = f"{100 * level:g} %"
    first, top = f"{counts[0]:g}", f"{counts[int(np.argmax(efficiency))]:g}"
    points = [
        asked.below("efficiency", level, efficiency, efficiencies, f"below {share} of that at {first}"),
        asked.below(
            "efficiency of the best",
            level,
            efficiency - efficiency.max(),
            efficiencies - efficiencies.max(axis=1, keepdims=True),
            f"below {share} of its largest (at {top})",
        ),
        asked.turn("slower", central, np.exp(paths), "a step gets slower", "a step does not get slower"),
        asked.turn("throughput", np.exp(-rate), np.exp(-rates), "throughput falls", "throughput does not fall"),
    ]
    return Scaling(
        along=name,
        kind=steps.kind,
        at=steps.at,
        reference=float(counts[0]),
        best=float(counts[int(np.argmax(efficiency))]),
        upto=float(counts[-1]),
        interval=interval,
        curve=curve,
        points=pd.DataFrame(points),
        crossovers=crossovers(result, steps, levels),
    )


class _Asked:
    """Where a curve, and every draw of it, crosses a level or turns."""

    def __init__(self, steps: Ladder, weights: Array, levels: tuple[float, float], interval: float) -> None:
        self.steps, self.weights, self.levels, self.interval = steps, weights, levels, interval

    def below(self, what: str, level: float, curve: Array, draws: Array, text: str) -> dict[str, Any]:
        """Answer where the logarithm of an efficiency, from its largest on or from the first, falls below a level."""
        whole = self.steps.along.integer
        found = first_below(self.steps.counts, np.vstack([curve, draws]), np.log(level), whole, what != "efficiency")
        return self._answer(
            what, level, found[0], found[1:], f"efficiency falls {text} at", f"efficiency does not fall {text}"
        )

    def turn(self, what: str, curve: Array, draws: Array, text: str, never: str) -> dict[str, Any]:
        """Answer beyond which count something that should fall rises."""
        found = last_smallest(self.steps.counts, np.vstack([curve, draws]))
        return self._answer(what, float("nan"), found[0], found[1:], f"{text} beyond", never)

    def _answer(self, what: str, level: float, count: float, draws: Array, text: str, never: str) -> dict[str, Any]:
        lower, upper = count_quantiles(draws, self.weights, self.levels)
        reached = float(self.weights[np.isfinite(draws)].sum() / self.weights.sum())
        name, last = self.steps.along.name, self.steps.counts[-1]
        if np.isfinite(count):
            said = f"{text} {count:g} {name} ({100 * self.interval:g} %: {said_range(lower, upper, last)})"
        else:
            said = f"{never} up to {last:g} {name} (in {100 * reached:.0f} % of the draws it does)"
        return {
            "what": what,
            "level": level,
            "count": count if np.isfinite(count) else np.nan,
            "lower": lower,
            "upper": upper,
            "reached": reached,
            "said": said,
        }


def first_below(counts: Array, curves: Array, level: float, whole: bool, from_largest: bool = False) -> Array:
    """Return the first count at which each curve is below a level, shape (curves,); infinite where none is.

    Between two counts the curve is taken as straight over the logarithm of the count. Whole counts are rounded up.

    Examples
    --------
    >>> first_below(np.array([1.0, 2.0, 4.0]), np.array([[0.0, -1.0, -3.0], [0.0, 0.0, 0.0]]), -2.0, True)
    array([ 3., inf])
    """
    under = curves < level - TOUCHES
    if from_largest:
        under = under & (np.arange(len(counts)) > curves.argmax(axis=1)[:, None])
    at = under.argmax(axis=1)
    rows = np.arange(len(curves))
    before = np.maximum(at - 1, 0)
    y0, y1 = curves[rows, before], curves[rows, at]
    with np.errstate(all="ignore"):
        part = np.where(at > 0, (y0 - level) / (y0 - y1), 1.0)
    place = np.exp(np.log(counts[before]) + np.clip(part, 0.0, 1.0) * np.log(counts[at] / counts[before]))
    if whole:
        # A curve that touches the level at a whole count is below it at the next.
        place = np.clip(np.floor(place + 1e-9) + 1.0, counts[before] + (at > 0), counts[at])
    return np.where(under.any(axis=1), place, np.inf)


def last_smallest(counts: Array, curves: Array) -> Array:
    """Return the largest count at which each curve is as small as anywhere; infinite where that is the last count.

    Examples
    --------
    >>> last_smallest(np.array([1.0, 2.0, 4.0]), np.array([[3.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    array([ 2., inf])
    """
    low = curves <= curves.min(axis=1, keepdims=True) * (1.0 + SAME)
    last = curves.shape[1] - 1 - low[:, ::-1].argmax(axis=1)
    return np.where(last == curves.shape[1] - 1, np.inf, counts[last])
