"""A level that was not measured: the measured ones replace it, and their spread widens the interval.

`predict` puts measured levels in the place of a new one, row by row (`stand_ins`). What looks inside a model (terms,
elasticities, searches) needs members that take the new level themselves (`substituted_members`): a copy of each member
for every way to put measured levels in its place, with equal weights. The central value of such members, the weighted
geometric mean, is then the mean of ln T over the measured levels, as `predict` has it. A process answers for such a
level by itself.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Columns, Index, Mask
from genperf.errors import TableError, did_you_mean
from genperf.formula import Name, Node, Text, call
from genperf.prediction.member import Member, stack_of
from genperf.prediction.schema import Schema
from genperf.table import Factor

#: By factor: levels that were not measured.
Levels = Mapping[str, tuple[str, ...]]


# How a level that was not measured is answered for.
#: Ways to put measured levels in the place of new ones, at most: each is a prediction. Half and double
#: change no answer (experiments/results/settings.md).
MOST_STAND_INS = 300
#: Measured levels that a reason lists at most.
SHOWN_STAND_INS = 4
#: Draws of a copy of a member at least: one lies beyond each end of a 90 % interval. Together the copies keep as
#: many as the members have, if that leaves each so many.
LEAST_DRAWS_OF_A_WAY = 20


class StandIns(Struct, frozen=True, eq=False):
    """Rows, each once for every way to put measured levels in the place of those that were not."""

    #: By factor: which rows have a level that was not measured.
    new: dict[str, Mask]
    #: The columns of the ways.
    columns: dict[str, AnyArray]
    #: Shape (ways,). The row of each way, in order.
    rows: Index
    #: Shape (rows,). Measured levels of the factor with the fewest, of those with a new level.
    fewest: Index

    @property
    def unknown(self) -> Mask:
        """Which rows have a new level, shape (rows,)."""
        return np.asarray(np.any([np.zeros(len(self.fewest), dtype=bool), *self.new.values()], axis=0))


def new_levels(schema: Schema, columns: Columns) -> dict[str, Mask]:
    """Return the rows in which a categorical factor has a level that was not measured, by the factor's name."""
    texts = (f for f in schema.factors if not f.numeric and f.name in columns)
    new = {f.name: ~np.isin(columns[f.name].astype(str), f.levels) for f in texts}
    return {name: rows for name, rows in new.items() if rows.any()}


def stand_ins(schema: Schema, columns: Columns, new: dict[str, Mask]) -> StandIns:
    """Put every measured level in the place of a new one; of several new ones in a row, every combination."""
    count = len(next(iter(columns.values())))
    levels = {f.name: np.array(f.levels, dtype=object) for f in schema.factors if f.name in new}
    ways, fewest = np.ones(count, np.intp), np.full(count, np.iinfo(np.intp).max)
    for name, where in new.items():
        ways = np.where(where, ways * len(levels[name]), ways)
        fewest = np.where(where, np.minimum(fewest, len(levels[name])), fewest)
    row = int(ways.argmax())
    _refuse_many([name for name, where in new.items() if where[row]], int(ways[row]))
    rows, out = np.arange(count), dict(columns)
    for name, where in new.items():
        times = np.where(where[rows], len(levels[name]), 1)
        place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        out = {column: values.repeat(times) for column, values in out.items()}
        rows = rows.repeat(times)
        out[name] = np.where(where[rows], levels[name][place], out[name])
    return StandIns(new, out, rows, fewest)


def _refuse_many(names: Sequence[str], ways: int) -> None:
    if ways > MOST_STAND_INS:
        of_names = f"levels that were never measured, of {' and '.join(names)}"
        fault = f"{of_names}, and {ways} ways to put measured ones in their place"
        raise TableError(fault, hint="give measured levels for all but one of them")


def combined(ways: StandIns, answers: Iterable[Array], interval: float) -> list[Array]:
    """Return the answers of each row, of which those for levels that were not measured are put together.

        ln T = mean_l ln T_l,   half² = mean_l half_l² + t²·s²·(1 + 1/L)

    with T_l the prediction at measured level l of L, half_l the half of its band on either side, s the standard
    deviation of ln T_l, and t Student's quantile with L − 1 degrees of freedom: a level drawn from where the measured
    ones come from.
    """
    unknown = ways.unknown
    answers_of_ways = list(answers)
    out = [answer[np.searchsorted(ways.rows, np.arange(len(unknown)))] for answer in answers_of_ways]
    if not unknown.any():
        return out
    from scipy.special import stdtrit

    several = unknown[ways.rows]
    value, lower, upper, *further_values = (answer[several] for answer in answers_of_ways)
    _, place, size = np.unique(ways.rows[several], return_inverse=True, return_counts=True)

    def mean(values: Array) -> Array:
        return np.asarray(np.bincount(place, values, len(size)) / size)

    logarithms = np.log(value)
    centre, count = mean(logarithms), ways.fewest[unknown].astype(float)
    variance = mean((logarithms - centre[place]) ** 2) * size / np.maximum(size - 1.0, 1.0)
    between = stdtrit(count - 1.0, 0.5 + 0.5 * interval) ** 2 * variance * (1.0 + 1.0 / count)
    below = np.sqrt(mean((logarithms - np.log(lower)) ** 2) + between)
    above = np.sqrt(mean((np.log(upper) - logarithms) ** 2) + between)
    together = [np.exp(centre), np.exp(centre - below), np.exp(centre + above), *map(mean, further_values)]
    for column, filled in zip(out, together, strict=True):
        column[unknown] = filled
    return out


def reasons(schema: Schema, columns: Columns, new: Mapping[str, Mask], ways: StandIns, value: Array) -> dict[int, str]:
    """Return for each row with a new level which one was not measured, and how far the measured ones differ."""
    factors = {f.name: f for f in schema.factors}
    largest, smallest = np.zeros(len(ways.fewest)), np.full(len(ways.fewest), np.inf)
    np.maximum.at(largest, ways.rows, value)
    np.minimum.at(smallest, ways.rows, value)
    out = {}
    for row in np.flatnonzero(np.any(list(new.values()), axis=0)) if new else ():
        how = "the mean of" if ways.new else "estimated from"
        texts = [not_measured(factors[n], str(columns[n][row]), how) for n, where in new.items() if where[row]]
        differ = f"predictions at measured levels differ {largest[row] / smallest[row]:.2g}-fold here"
        out[int(row)] = "; ".join([*texts, differ] if ways.new else texts)
    return out


def not_measured(factor: Factor, level: str, how: str = "the mean of") -> str:
    """Return that a level was not measured, how the answer is made of the others, and which level it may be."""
    near = did_you_mean(level, factor.levels)
    levels_text = ", ".join(factor.levels[:SHOWN_STAND_INS]) + (", …" if len(factor.levels) > SHOWN_STAND_INS else "")
    text = f"{factor.name}={level} was not measured: {how} the {len(factor.levels)} measured levels ({levels_text})"
    return f"{text}, or {near}" if near else text


def substituted_members(schema: Schema, members: Sequence[Member], new: Levels) -> tuple[Member, ...]:
    """Return a copy of each member for every way to put measured levels in the place of new ones."""
    if stack_of(members) is not None:
        return tuple(members)
    levels = {f.name: f.levels for f in schema.factors}
    count = math.prod(len(levels[name]) for name in new)
    _refuse_many(list(new), count)
    out = []
    for k, way in enumerate(product(*(levels[name] for name in new))):
        by = dict[str, Node]()
        for name, measured in zip(new, way, strict=True):
            by[name] = Name(name)
            for level in new[name]:
                by[name] = call("where", call("equal", Name(name), Text(level)), Text(measured), by[name])
        for member in members:
            step = max(1, min(count, len(member.draws) // LEAST_DRAWS_OF_A_WAY))
            draws = np.arange(k % step, len(member.draws), step)
            expression = member.expression.substituted(by)
            out.append(replace(member, expression=expression, weight=member.weight / count).kept(draws))
    return tuple(out)


def substitution_notes(schema: Schema, members: Sequence[Member] = ()) -> list[str]:
    """Return which levels were not measured, which replace them, and what their intervals contain."""
    new = [(f, level) for f in schema.factors for level in schema.substituted.get(f.name, ())]
    if stack_of(members) is not None:
        return [not_measured(*pair, "estimated from") for pair in new]
    return [
        f"{not_measured(*pair)}; intervals here contain their differences; those of predict are wider" for pair in new
    ]
