"""A level that was not measured: the measured ones replace it, and their spread widens the interval.

`predict` puts measured levels in the place of a new one, row by row (`stand_ins`). What looks inside a model (terms,
elasticities, searches) needs members that take the new level themselves (`substituted_members`): a copy of each member
for every way to put measured levels in its place, with equal weights. The central value of such members, the weighted
geometric mean, is then the mean of ln T over the measured levels, as `predict` has it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.errors import TableError
from genperf.expression import Expression, Term
from genperf.formula import Call, Name, Node, Text, substitute
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, stack_of
from genperf.prediction.query import Query
from genperf.prediction.schema import Schema
from genperf.table import Factor

Array = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
#: By factor: levels that were not measured.
Levels = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class NewLevelSettings:
    """How a level that was not measured is answered for."""

    #: Similarity of two spellings, from 0 to 1, from which on the nearest measured level is named. A guess.
    nearest: float = 0.6
    #: Ways to put measured levels in the place of new ones, at most. A guess: each is a prediction.
    most: int = 300
    #: Measured levels that a reason lists at most.
    shown: int = 4
    #: Draws of a copy of a member at least. Together the copies keep as many as the members have, if that leaves each
    #: so many. A guess.
    least_draws: int = 20


NEW_LEVELS = NewLevelSettings()


@dataclass(frozen=True, eq=False)
class StandIns:
    """Rows with new levels, each once for every way to put measured levels in their place."""

    query: Query
    #: Shape (ways,). Row of the given query that each replaces.
    rows: npt.NDArray[np.intp]
    #: Shape (ways,). Measured levels of the factor with the fewest, of those with a new level.
    levels: npt.NDArray[np.intp]


def new_levels(schema: Schema, query: Query) -> dict[str, Truth]:
    """Return the rows in which a categorical factor has a level that was not measured, by the factor's name."""
    new = {
        f.name: ~np.isin(query.columns[f.name].astype(str), f.levels)
        for f in schema.factors
        if not f.numeric and f.name in query.columns
    }
    return {name: rows for name, rows in new.items() if rows.any()}


def stand_ins(schema: Schema, query: Query, new: Mapping[str, Truth]) -> StandIns:
    """Put every measured level in the place of a new one; of several new ones in a row, every combination."""
    factors = {f.name: f for f in schema.factors}
    names = list(new)
    pattern = np.array([new[name] for name in names])
    kinds, kind = np.unique(pattern, axis=1, return_inverse=True)
    rows: list[npt.NDArray[np.intp]] = []
    levels: list[npt.NDArray[np.intp]] = []
    replaced: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in names}
    for k, which in enumerate(kinds.T):
        here = np.flatnonzero(kind.ravel() == k)
        varied = [name for name, one in zip(names, which, strict=True) if one]
        if not varied:
            continue
        ways = ways_of(factors, varied)
        each = np.repeat(here, len(ways))
        rows.append(each)
        levels.append(np.full(len(each), min(len(factors[name].levels) for name in varied)))
        for name in names:
            kept = query.columns[name][each]
            if name in varied:
                kept = np.tile(np.array([way[varied.index(name)] for way in ways], dtype=object), len(here))
            replaced[name].append(kept)
    places = np.concatenate(rows)
    columns = {name: values[places] for name, values in query.columns.items()}
    columns |= {name: np.concatenate(parts) for name, parts in replaced.items()}
    return StandIns(Query(len(places), columns), places, np.concatenate(levels))


def ways_of(factors: Mapping[str, Factor], varied: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every way to put measured levels in the place of new ones: the levels in the order of the factors."""
    ways = list(product(*(factors[name].levels for name in varied)))
    if len(ways) > NEW_LEVELS.most:
        raise TableError(
            f"levels that were never measured, of {' and '.join(varied)}, and {len(ways)} ways to put measured ones "
            "in their place",
            hint="give measured levels for all but one of them",
        )
    return ways


def combined(
    stand: StandIns, rows: npt.NDArray[np.intp], answers: Sequence[npt.NDArray[Any]], interval: float
) -> tuple[Array, Array, Array, Array]:
    """Return the value, the ends of the band and the probability of fitting for a level that was not measured.

        ln T = mean_l ln T_l,   half² = mean_l half_l² + t²·s²·(1 + 1/L)

    with T_l the prediction at measured level l of L, half_l the half of its band on either side, s the standard
    deviation of ln T_l, and t Student's quantile with L − 1 degrees of freedom: a level drawn from where the measured
    ones come from.

    Parameters
    ----------
    answers : sequence of ndarray of shape (ways,)
        Value, lower, upper and probability of fitting of each way.

    Returns
    -------
    tuple of ndarray of shape (rows,)
    """
    from scipy.special import stdtrit

    value, lower, upper, fits = answers
    place = np.searchsorted(rows, stand.rows)
    ways = np.bincount(place, minlength=len(rows)).astype(float)

    def mean(values: Array) -> Array:
        return np.asarray(np.bincount(place, values, len(rows)) / ways)

    logarithms = np.log(value)
    centre = mean(logarithms)
    variance = mean((logarithms - centre[place]) ** 2) * ways / np.maximum(ways - 1.0, 1.0)
    count = mean(stand.levels.astype(float))
    between = stdtrit(count - 1.0, 0.5 + 0.5 * interval) ** 2 * variance * (1.0 + 1.0 / count)
    below = np.sqrt(mean((logarithms - np.log(lower)) ** 2) + between)
    above = np.sqrt(mean((np.log(upper) - logarithms) ** 2) + between)
    return np.exp(centre), np.exp(centre - below), np.exp(centre + above), mean(fits)


def reasons(
    schema: Schema, query: Query, new: Mapping[str, Truth], stand: StandIns, rows: npt.NDArray[np.intp], value: Array
) -> list[str]:
    """Return for each row which level was not measured, and what the answer is.

    Parameters
    ----------
    value : ndarray of shape (ways,)
        The prediction of each way.
    """
    factors = {f.name: f for f in schema.factors}
    place = np.searchsorted(rows, stand.rows)
    largest, smallest = np.zeros(len(rows)), np.full(len(rows), np.inf)
    np.maximum.at(largest, place, value)
    np.minimum.at(smallest, place, value)
    out = []
    for row, ratio in zip(rows, largest / smallest, strict=True):
        of_row = [name for name, where in new.items() if where[row]]
        texts = [not_measured(factors[name], str(query.columns[name][row])) for name in of_row]
        out.append("; ".join([*texts, f"predictions at measured levels differ {ratio:.2g}-fold here"]))
    return out


def not_measured(factor: Factor, level: str, how: str = "the mean of") -> str:
    """Return that a level was not measured, how the answer is made of the others, and which level it may be.

    Examples
    --------
    >>> not_measured(Factor("gpu", "categorical", levels=("A100", "H100"), distinct=2), "B200")
    'gpu=B200 was not measured: the mean of the 2 measured levels (A100, H100)'
    """
    near = difflib.get_close_matches(level.casefold(), [one.casefold() for one in factor.levels], 1, NEW_LEVELS.nearest)
    spelled = next((one for one in factor.levels if near and one.casefold() == near[0]), None)
    shown = ", ".join(factor.levels[: NEW_LEVELS.shown]) + (", …" if len(factor.levels) > NEW_LEVELS.shown else "")
    text = f"{factor.name}={level} was not measured: {how} the {len(factor.levels)} measured levels ({shown})"
    return text if spelled is None else f"{text}, or did you mean '{spelled}'?"


def substituted_members(schema: Schema, members: Sequence[Member], new: Levels) -> tuple[Member, ...]:
    """Return a copy of each member for every way to put measured levels in the place of new ones."""
    if stack_of(members) is not None:
        # A process answers for a level that was not measured by itself.
        return tuple(members)
    ways = ways_of({f.name: f for f in schema.factors}, tuple(new))
    out = []
    for k, way in enumerate(ways):
        stands = {name: dict.fromkeys(new[name], level) for name, level in zip(new, way, strict=True)}
        for member in members:
            step = max(1, min(len(ways), len(member.draws) // NEW_LEVELS.least_draws))
            draws = np.arange(k % step, len(member.draws), step)
            copied = replace(
                member, expression=_substituted_expression(member.expression, stands), weight=member.weight / len(ways)
            )
            out.append(copied.kept(draws))
    return tuple(out)


def substituted_feasibility(feasibility: Feasibility | None, new: Levels) -> Feasibility | None:
    """Return the probability of fitting in which a new level needs as much as the most demanding measured one."""
    if feasibility is None:
        return None
    offsets = {
        name: {**levels, **dict.fromkeys(new.get(name, ()), max(levels.values(), default=0.0))}
        for name, levels in feasibility.offsets.items()
    }
    return msgspec.structs.replace(feasibility, offsets=offsets)


def substitution_notes(schema: Schema, members: Sequence[Member] = ()) -> list[str]:
    """Return which levels were not measured, which replace them, and what their intervals contain."""
    new = [(f, level) for f in schema.factors for level in schema.substituted.get(f.name, ())]
    if stack_of(members) is not None:
        return [not_measured(*one, "estimated from") for one in new]
    texts = [not_measured(*one) for one in new]
    return [f"{text}; intervals here contain their differences; those of predict are wider" for text in texts]


def _substituted_expression(expression: Expression, stands: Mapping[str, Mapping[str, str]]) -> Expression:
    """Return an expression that reads a measured level in the place of a new one."""
    by = {name: _level_read(name, levels) for name, levels in stands.items()}
    terms = tuple(Term(t.name, substitute(t.node, by)) for t in expression.terms)
    total = None if expression.total is None else substitute(expression.total, by)
    return replace(expression, terms=terms, total=total)


def _level_read(name: str, levels: Mapping[str, str]) -> Node:
    """Return a factor's level, or the measured level that replaces it."""

    def beside(whole: Node, stand: tuple[str, str]) -> Node:
        return Call("where", (Call("equal", (Name(name), Text(stand[0]))), Text(stand[1]), whole))

    whole: Node = Name(name)
    return reduce(beside, levels.items(), whole)
