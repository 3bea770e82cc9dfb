"""Which combinations of values were measured, and how far a point lies from all of them.

A point can lie in the range of every factor and yet far from every run: 30 billion parameters were measured, and so was
a micro-batch of 128, but never both. For two factors and a direction in each, such as large and large, the runs make a
staircase. The *shortfall* of a point x is how far the nearest run stops short of it in these directions:

    shortfall(x) = min over runs r of Σ over both factors f of max(0, s_f (x_f − r_f)),

with s_f = ±1 and the positions x_f in doublings. It is zero where a run is at least as extreme in both factors, so
everywhere inside a full factorial design.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from genperf.panel.following import follows, grow_with_workers
from genperf.prediction.query import Query
from genperf.prediction.schema import Schema
from genperf.table import Factor
from genperf.words.verdict import reason

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CombinationSettings:
    """How distances between combinations are counted."""

    #: Doublings that another level of a categorical factor counts as. More than one and less than two: two levels that
    #: were never measured together are a reason for caution, and alone no reason to call a prediction blind.
    level: float = 1.5
    #: Shortfall in doublings up to which a combination counts as measured: no less than the usual step of a grid.
    largest_untested: float = 1.0
    #: Factors of the nearest run that are named, at most.
    named: int = 4
    #: Decimal places of a distance that are compared: the page computes with other logarithms.
    digits: int = 9
    #: Rows times runs whose distances are computed at once: 8 MB an array.
    numbers: int = 1_000_000


COMBINATIONS = CombinationSettings()


class Corner(NamedTuple):
    """Two directions in which no run reaches the ends of both ranges."""

    #: Of the two factors, in the schema.
    places: tuple[int, int]
    #: 1 towards large values, -1 towards small ones, 0 for levels.
    signs: tuple[int, int]
    #: Shape (runs, 2). Positions of the runs of the staircase.
    runs: Array


def positions(factor: Factor, values: npt.NDArray[Any]) -> Array:
    """Return where values lie along a factor: in doublings, in shares of its range, or the places of its levels."""
    if not factor.numeric:
        place = {level: number for number, level in enumerate(factor.levels)}
        return np.array([place[str(v)] for v in values], float)
    numbers = np.asarray(values, float)
    if factor.positive and factor.lower > 0:
        return np.asarray(np.log2(numbers))
    return numbers / max(factor.upper - factor.lower, abs(factor.upper), 1e-300)


def judged_places(schema: Schema, followers: Collection[str] = ()) -> list[int]:
    """Return the places of the factors whose combinations count: those that vary and are set by hand.

    Left out are followers of a series' scale, factors computed from others, and models that keep only some of their
    configurations: what they leave out may have been measured.
    """
    if not schema.medians or schema.configurations > len(schema.medians):
        return []
    left_out = {*followers, *schema.derived}
    return [i for i, f in enumerate(schema.factors) if f.distinct > 1 and f.name not in left_out]


def corners(schema: Schema, followers: Collection[str] = ()) -> list[Corner]:
    """Return the pairs of directions in which some point of the ranges lies far from every run."""
    places = judged_places(schema, followers)
    columns = {i: _measured(schema, i) for i in places}
    panel, names = schema.panel, [f.name for f in schema.factors]
    # Nodes are settled by the devices on them; any other two that were measured along a diagonal were set.
    settled = [(name, of) for name, of in grow_with_workers(panel).items() if follows(panel, name, of)]
    out = []
    for i, j in combinations(places, 2):
        if (names[i], names[j]) in settled or (names[j], names[i]) in settled:
            continue
        pair = np.unique(np.column_stack([columns[i], columns[j]]), axis=0)
        for signs in product(_signs(schema.factors[i]), _signs(schema.factors[j])):
            runs = pair[_staircase(pair, signs)]
            if _largest_shortfall(runs, pair, signs) > COMBINATIONS.largest_untested:
                out.append(Corner((i, j), signs, runs))
    return out


def _measured(schema: Schema, place: int) -> Array:
    return positions(schema.factors[place], np.array([m.values[place] for m in schema.medians], dtype=object))


def _signs(factor: Factor) -> tuple[int, ...]:
    return (1, -1) if factor.numeric else (0,)


def _staircase(pair: Array, signs: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Return the places of the pairs that no other pair exceeds in both directions."""
    order = np.lexsort((-signs[1] * pair[:, 1], -signs[0] * pair[:, 0]))
    if 0 in signs:
        return np.sort(order)
    rising = np.maximum.accumulate(signs[1] * pair[order, 1])
    return np.sort(order[np.concatenate([[True], rising[1:] > rising[:-1]])])


def _largest_shortfall(runs: Array, pair: Array, signs: tuple[int, int]) -> float:
    """Return the shortfall at the worst point of the ranges: it grows towards the corner."""
    ends = [np.unique(pair[:, k]) if s == 0 else [(s * pair[:, k]).max() * s] for k, s in enumerate(signs)]
    worst = np.array(list(product(*ends)), float)
    return float(shortfalls(worst, Corner((0, 1), signs, runs)).max())


def shortfalls(points: Array, corner: Corner) -> Array:
    """Return how far every run stops short of each point in a corner, shape (points,).

    Parameters
    ----------
    points : ndarray of shape (points, 2)
        Positions along the two factors.

    Examples
    --------
    >>> corner = Corner((0, 1), (1, 1), np.array([[5.0, 1.0], [0.0, 7.0]]))
    >>> shortfalls(np.array([[5.0, 7.0], [4.0, 1.0]]), corner)
    array([5., 0.])
    """
    distance = np.zeros((len(points), len(corner.runs)))
    for k, sign in enumerate(corner.signs):
        apart = points[:, k, None] - corner.runs[None, :, k]
        distance += COMBINATIONS.level * (apart != 0) if sign == 0 else np.maximum(0.0, sign * apart)
    return np.asarray(np.round(distance.min(axis=1), COMBINATIONS.digits))


@dataclass(frozen=True)
class Apart:
    """The combinations of rows that lie farthest from all runs."""

    #: Shape (rows,). The largest shortfall; 0 where every pair of values lies among the runs.
    doublings: Array
    #: Places of rows → for each of them the pair of factors and the nearest run.
    texts: Callable[[npt.NDArray[np.intp]], list[str]]


def apart(schema: Schema, query: Query, followers: Collection[str] = ()) -> Apart:
    """Return how far the combinations of each row lie from every run.

    What lies outside the range of a factor is judged by that range: here it counts as the end of the range.
    """
    far = np.zeros(query.rows)
    tested = corners(schema, followers)
    if not tested:
        return Apart(far, lambda rows: [""] * len(rows))
    worst = np.zeros(query.rows, int)
    at = {i: _clipped(schema.factors[i], query) for i in {i for c in tested for i in c.places}}
    for k, corner in enumerate(tested):
        short = shortfalls(np.column_stack([at[i] for i in corner.places]), corner)
        worst = np.where(short > far, k, worst)
        far = np.maximum(far, short)

    def texts(rows: npt.NDArray[np.intp]) -> list[str]:
        places = judged_places(schema, followers)
        pairs = zip(rows.tolist(), _nearest(schema, query, rows, places).tolist(), strict=True)
        return [_text(schema, query, pair, tested[worst[pair[0]]].places, places) for pair in pairs]

    return Apart(far, texts)


def _clipped(factor: Factor, query: Query) -> Array:
    values = query.columns[factor.name]
    return positions(factor, np.clip(values, factor.lower, factor.upper) if factor.numeric else values)


def _nearest(schema: Schema, query: Query, rows: npt.NDArray[np.intp], judged: Sequence[int]) -> npt.NDArray[np.intp]:
    """Return the place of the run nearest to each row, over all judged factors."""
    nearest = np.zeros(len(rows), np.intp)
    measured = [(schema.factors[i], _measured(schema, i)) for i in judged]
    block = max(1, COMBINATIONS.numbers // max(len(schema.medians), 1))
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        distance = np.zeros((len(part), len(schema.medians)))
        for factor, runs in measured:
            gap = np.abs(positions(factor, query.columns[factor.name][part])[:, None] - runs)
            distance += gap if factor.numeric else COMBINATIONS.level * (gap != 0)
        nearest[start : start + block] = np.argmin(np.round(distance, COMBINATIONS.digits), axis=1)
    return nearest


def _text(
    schema: Schema, query: Query, row_and_run: tuple[int, int], pair: tuple[int, int], judged: Sequence[int]
) -> str:
    """Return which values were never measured together, and the nearest run."""
    row, run = row_and_run
    values, names = schema.medians[run].values, [f.name for f in schema.factors]
    point = [query.columns[n][row] for n in names]
    others = [i for i in judged if i not in pair and values[i] != point[i]]
    pair_text = " and ".join(f"{names[i]}={_shown(point[i])}" for i in pair)
    nearest = ", ".join(f"{names[i]}={_shown(values[i])}" for i in [*pair, *others][: COMBINATIONS.named])
    return reason("apart", pair=pair_text, nearest=nearest)


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, str) else f"{value:g}"
