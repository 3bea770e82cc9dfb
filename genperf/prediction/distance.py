"""How far rows lie from what was measured: beyond the range of each factor, and from every combination of values.

A point can lie in the range of every factor and yet far from every run: 30 billion parameters were measured, and so was
a micro-batch of 128, but never both. For two factors and a direction in each, such as large and large, the runs make a
staircase. The *shortfall* of a point x is how far the nearest run stops short of it in these directions:

    shortfall(x) = min over runs r of Σ over both factors f of max(0, s_f (x_f − r_f)),

with s_f = ±1 and the positions x_f in doublings. It is zero where a run is at least as extreme in both factors, so
everywhere inside a full factorial design.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from genperf.arrays import AnyArray, Array, Columns, Index, Integers
from genperf.prediction.schema import Schema
from genperf.table import Factor


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


def doublings_beyond(factor: Factor, values: Array) -> Array:
    """Return how many doublings each value lies outside the measured range of a factor, 0 inside.

    A factor that has values of zero or below is measured in shares of its range instead.
    """
    if factor.positive and factor.lower > 0 and np.all(values > 0):
        above, below = np.log2(values / factor.upper), np.log2(factor.lower / values)
    else:
        width = max(factor.upper - factor.lower, abs(factor.upper), 1e-300)
        above, below = (values - factor.upper) / width, (factor.lower - values) / width
    return np.maximum(np.maximum(above, below), 0.0) + 0.0


def doublings(factors: Iterable[Factor], columns: Columns) -> dict[str, Array]:
    """Return how many doublings each row lies outside the range of each numeric factor, by its name."""
    return {f.name: doublings_beyond(f, np.asarray(columns[f.name], float)) for f in factors if f.numeric}


def distance_beyond(schema: Schema, columns: Columns) -> Array:
    """Return how far each row lies outside the data in doublings, shape (rows,): what an interval widens with.

    The errors of extrapolating different factors are independent of each other, so that it is the root of the sum of
    squares. Factors that grow with the workers are not counted beside them: of these and the workers the farthest
    counts.

    Examples
    --------
    >>> from genperf.panel.target import Target
    >>> names = ("gpus", "nodes", "batch")
    >>> factors = tuple(Factor(n, "extrinsic", 1, 8, distinct=4, positive=True) for n in names)
    >>> columns = {"gpus": np.array([64.0]), "nodes": np.array([16.0]), "batch": np.array([128.0])}
    >>> distance_beyond(Schema(factors, Target("s")), columns)
    array([5.])
    """
    far, growing = doublings(schema.factors, columns), schema.panel.growing
    for name, workers in growing.items():
        far[workers] = np.maximum(far[workers], far[name])
    alone = [values for name, values in far.items() if name not in growing]
    return np.asarray(np.linalg.norm(alone, axis=0)) if alone else np.zeros(len(next(iter(columns.values()))))


def doublings_in_all(far: Mapping[str, Array], together: Collection[str], rows: int) -> Array:
    """Return the sum of distances, shape (rows,), of which those that go together count once: the farthest of them."""
    alone = sum((values for name, values in far.items() if name not in together), np.zeros(rows))
    return np.asarray(np.maximum.reduce([alone, *(far[name] for name in far if name in together)]))


class Corner(NamedTuple):
    """Two directions in which no run reaches the ends of both ranges."""

    #: Of the two factors, in the schema.
    places: tuple[int, int]
    #: 1 towards large values, -1 towards small ones, 0 for levels.
    signs: tuple[int, int]
    #: Shape (runs, 2). Positions of the runs of the staircase.
    runs: Array


def positions(factor: Factor, values: AnyArray) -> Array:
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
    towards = {i: (1, -1) if schema.factors[i].numeric else (0,) for i in places}
    names = [f.name for f in schema.factors]
    # Nodes are settled by the devices on them; any other two that were measured along a diagonal were set.
    panel = schema.panel
    settled = [{name, of} for name, of in panel.growing.items() if of in panel.settled_by.get(name, ())]
    out = []
    for i, j in combinations(places, 2):
        if {names[i], names[j]} in settled:
            continue
        pair = np.unique(np.column_stack([columns[i], columns[j]]), axis=0)
        for signs in product(towards[i], towards[j]):
            corner = Corner((i, j), signs, pair[_staircase(pair, signs)])
            # The shortfall grows towards the corner: the worst point of the ranges is there.
            ends = [np.unique(pair[:, k]) if s == 0 else [(s * pair[:, k]).max() * s] for k, s in enumerate(signs)]
            worst = shortfalls(np.array(list(product(*ends)), float), corner)
            if worst.max() > COMBINATIONS.largest_untested:
                out.append(corner)
    return out


def _measured(schema: Schema, place: int) -> Array:
    return positions(schema.factors[place], np.array([m.values[place] for m in schema.medians], dtype=object))


def _staircase(pair: Array, signs: tuple[int, int]) -> Integers:
    """Return the places of the pairs that no other pair exceeds in both directions."""
    order = np.lexsort((-signs[1] * pair[:, 1], -signs[0] * pair[:, 0]))
    if 0 in signs:
        return np.sort(order)
    rising = np.maximum.accumulate(signs[1] * pair[order, 1])
    return np.sort(order[np.concatenate([[True], rising[1:] > rising[:-1]])])


def shortfalls(points: Array, corner: Corner) -> Array:
    """Return how far every run stops short of each point in a corner, shape (points,).

    Parameters
    ----------
    points : ndarray of shape (points, 2)
        Positions along the two factors.
    """
    distance = np.zeros((len(points), len(corner.runs)))
    for k, sign in enumerate(corner.signs):
        apart = points[:, k, None] - corner.runs[None, :, k]
        distance += COMBINATIONS.level * (apart != 0) if sign == 0 else np.maximum(0.0, sign * apart)
    return np.asarray(np.round(distance.min(axis=1), COMBINATIONS.digits))


def apart(factors: Sequence[Factor], tested: Sequence[Corner], columns: Columns, rows: int) -> tuple[Array, Array]:
    """Return how far the combinations of each row lie from every run, and in which of the corners, each (rows,).

    What lies outside the range of a factor is judged by that range: here it counts as the end of the range.
    """
    far, worst = np.zeros(rows), np.zeros(rows)
    at = {}
    for i in {i for corner in tested for i in corner.places}:
        factor, values = factors[i], columns[factors[i].name]
        at[i] = positions(factor, np.clip(values, factor.lower, factor.upper) if factor.numeric else values)
    for k, corner in enumerate(tested):
        short = shortfalls(np.column_stack([at[i] for i in corner.places]), corner)
        worst = np.where(short > far, k, worst)
        far = np.maximum(far, short)
    return far, worst


def nearest_runs(schema: Schema, places: Sequence[int], columns: Columns, rows: Index) -> list[int]:
    """Return the place of the run nearest to each of some rows, over the factors at some places."""
    nearest: list[int] = []
    measured = [(schema.factors[i], _measured(schema, i)) for i in places if len(rows)]
    block = max(1, COMBINATIONS.numbers // max(len(schema.medians), 1))
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        distance = np.zeros((len(part), len(schema.medians)))
        for factor, runs in measured:
            gap = np.abs(positions(factor, columns[factor.name][part])[:, None] - runs)
            distance += gap if factor.numeric else COMBINATIONS.level * (gap != 0)
        nearest += np.argmin(np.round(distance, COMBINATIONS.digits), axis=1).tolist()
    return nearest
