"""How far a prediction can be trusted, in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from genperf.prediction.query import Query
from genperf.prediction.schema import Schema
from genperf.table import Factor

Verdict = Literal["ok", "caution", "extrapolating-blind"]
VERDICTS: tuple[Verdict, ...] = ("ok", "caution", "extrapolating-blind")

#: Doublings beyond the measured range up to which a prediction is near, and beyond which it is blind.
NEAR, BLIND = 1.0, 2.0
#: ln(upper/lower) of the 90 % prediction interval above which a prediction is at most `caution`, and blind: inside the
#: measured range, where a width is noise that was seen, and beyond it, where it is not knowing.
WIDE, VERY_WIDE = 0.6, 2.0
WIDE_BEYOND, VERY_WIDE_BEYOND = 0.25, 0.7
#: Mean |ln(predicted/measured)| at the largest scale above which one form is at most `caution`, and blind.
MISSED, MISSED_BY_FAR = 0.1, 0.3
#: "As at the largest scale" has won if it was nearer by more than this.
NEARER = 0.02
#: Scales a factor must have been measured at before anything is said beyond them.
FEWEST_SCALES = 3


#: The term that appears with the second node, and what is said where no run shows it.
STEP, NO_RUN_BEYOND = "leaving the node", "no run beyond one node: measure 2 nodes"


@dataclass(frozen=True)
class Evidence:
    """What predicting the largest measured scale from the smaller ones showed.

    Attributes
    ----------
    factor : str
        The extrinsic factor along which it was done.
    held_out : float
        The scale that was predicted.
    doublings : float
        From the largest scale before it.
    error : float
        Mean |ln(predicted/measured)| of the model there.
    last_point : float
        The same for "it stays as it was at the largest scale before"; NaN where no rows can be compared.
    """

    factor: str
    held_out: float
    doublings: float
    error: float
    last_point: float


def doublings_beyond(factor: Factor, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how many doublings each value lies outside the measured range of a factor, 0 inside.

    A factor that has values of zero or below is measured in shares of its range instead.

    Examples
    --------
    >>> doublings_beyond(Factor("workers", "extrinsic", 1, 16, positive=True), np.array([8.0, 64.0, 0.5]))
    array([0., 2., 1.])
    """
    if factor.positive and factor.lower > 0 and np.all(values > 0):
        above, below = np.log2(values / factor.upper), np.log2(factor.lower / values)
    else:
        width = max(factor.upper - factor.lower, abs(factor.upper), 1e-300)
        above, below = (values - factor.upper) / width, (factor.lower - values) / width
    return np.maximum(np.maximum(above, below), 0.0) + 0.0


@dataclass(frozen=True)
class Standing:
    """What the members say of themselves.

    Attributes
    ----------
    several_forms : bool
        Whether several forms were weighed by how they predict, so that the interval holds the form too.
    followers : collection of str
        Factors that follow the scale of a series (nodes beside devices) and are not counted beside it.
    unseen : mapping of str to ndarray of shape (rows,)
        Terms that are zero wherever the series was measured, and where they are asked for.
    unidentified : sequence of str
        Constants the data does not determine.
    borrowed : mapping of str to ndarray
        Values of the factors at which times were borrowed from other groups.
    """

    several_forms: bool = False
    followers: Collection[str] = ()
    unseen: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    unidentified: Sequence[str] = ()
    borrowed: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


def verdicts(
    schema: Schema,
    query: Query,
    evidence: Sequence[Evidence],
    standing: Standing,
    log_width: npt.NDArray[np.float64],
) -> tuple[list[Verdict], list[str]]:
    """Judge every row.

    Parameters
    ----------
    schema : Schema
    query : Query
    evidence : sequence of Evidence
    standing : Standing
    log_width : ndarray of shape (rows,)
        ln(upper/lower) of the 90 % prediction interval.

    Returns
    -------
    verdicts, reasons : list of str
    """
    rows = query.rows
    grade = np.zeros(rows, int)
    reasons: list[list[str]] = [[] for _ in range(rows)]

    def mark(where: npt.NDArray[np.bool_], level: int, text: Sequence[str] | str) -> None:
        for row in np.flatnonzero(where).tolist():
            grade[row] = max(grade[row], level)
            reasons[row].append(text if isinstance(text, str) else text[row])

    near = 0 if standing.several_forms and not standing.borrowed else 1
    outside = all_doublings(schema, query, standing.followers) > 0
    own = schema
    schema = reaching(schema, standing.borrowed)
    total = all_doublings(schema, query, standing.followers)
    next_ones: list[tuple[Factor, npt.NDArray[np.float64]]] = []
    for factor in schema.factors:
        if not factor.numeric:
            continue
        values = query.columns[factor.name]
        far = doublings_beyond(factor, values)
        if factor.distinct == 1:
            mark(far > 0, 2, f"{factor.name} was only ever {factor.lower:g}: its effect was not seen")
            continue
        if factor.name in standing.followers:
            continue
        seen_as = "measured and borrowed" if standing.borrowed else "measured"
        told = [
            f"{factor.name}={v:g} is {_doublings(d)} outside the {seen_as} {factor.lower:g} to {factor.upper:g}"
            for v, d in zip(values, far, strict=True)
        ]
        mark(far > 0, near, told)
        mark((far > 0) & (factor.distinct < FEWEST_SCALES), 2, _few(factor))
        if factor.role == "extrinsic":
            next_ones.append((factor, far))
    mark((total > NEAR) & (total <= BLIND), 1, [f"{_doublings(t)} outside the data" for t in total])
    mark(total > BLIND, 2, [f"{_doublings(t)} outside the data in all" for t in total])
    for name, where in standing.unseen.items():
        if name == STEP:
            mark(where, 2, NO_RUN_BEYOND)
        else:
            mark(where & (grade < 2), 2, f"nothing measured shows '{name}'")
    for seen in evidence:
        beyond = np.any([far > 0 for factor, far in next_ones if factor.name == seen.factor] or [total > 0], axis=0)
        _by_evidence(seen, standing.several_forms, beyond, mark)
    for factor in own.factors if standing.borrowed else ():
        if factor.numeric and factor.role == "extrinsic" and factor.name not in standing.followers:
            text = f"measured to {factor.name}={factor.upper:g}; beyond, it is borrowed from other groups"
            mark(outside & (query.columns[factor.name] > factor.upper), 0, text)
    wide = np.where(outside, WIDE_BEYOND, WIDE)
    very = np.where(outside, VERY_WIDE_BEYOND, VERY_WIDE)
    mark((log_width > wide) & (log_width <= very), 1, "the interval is wide")
    mark(log_width > very, 2, "the interval is very wide")
    if standing.unidentified:
        named = standing.unidentified
        shown = ", ".join(named[:4]) + (", …" if len(named) > 4 else "")
        mark(total > NEAR, 1, f"not determined by the data: {shown}")
    for factor, far in next_ones:
        following = 2.0 * factor.upper
        asked = query.columns[factor.name]
        mark((grade > 0) & (far > NEAR) & (asked > following), 0, f"measure {factor.name}={following:g} first")
    chosen: list[Verdict] = [VERDICTS[g] for g in grade]
    return chosen, ["; ".join(dict.fromkeys(r)) if r else "inside the measured range" for r in reasons]


def all_doublings(schema: Schema, query: Query, followers: Collection[str] = ()) -> npt.NDArray[np.float64]:
    """Return how many doublings each row lies outside the data in all, shape (rows,).

    Factors that follow the scale of a series are not counted beside it: of them and the scale the farthest counts.
    """
    total = np.zeros(query.rows)
    followed = np.zeros(query.rows)
    for factor in schema.factors:
        if not factor.numeric:
            continue
        far = doublings_beyond(factor, query.columns[factor.name])
        if factor.name in followers:
            followed = np.maximum(followed, far)
        else:
            total = total + far
    return np.maximum(total, followed)


def reaching(schema: Schema, borrowed: Mapping[str, npt.NDArray[np.float64]]) -> Schema:
    """Return the schema with the ranges up to what was borrowed."""
    factors = []
    for factor in schema.factors:
        more = borrowed.get(factor.name, np.empty(0))
        more = more[(more > factor.upper) | (more < factor.lower)]
        if len(more):
            more = np.unique(more)
            lower, upper = min(factor.lower, float(more[0])), max(factor.upper, float(more[-1]))
            factor = replace(factor, lower=lower, upper=upper, distinct=factor.distinct + len(more))
        factors.append(factor)
    return replace(schema, factors=tuple(factors))


def _by_evidence(
    seen: Evidence,
    several_forms: bool,
    beyond: npt.NDArray[np.bool_],
    mark: Callable[[npt.NDArray[np.bool_], int, str], None],
) -> None:
    """Judge by the largest measured scale; of several forms the interval holds already what they miss."""
    text = f"predicting {seen.factor}={seen.held_out:g} from smaller scales, the model erred by {_percent(seen.error)}"
    if seen.last_point == seen.last_point and seen.error > seen.last_point + NEARER:
        lost = f"{text}, and 'as at the largest scale' by {_percent(seen.last_point)}"
        mark(beyond, 1 if several_forms else 2, lost)
    elif seen.error > MISSED and not several_forms:
        mark(beyond, 2 if seen.error > MISSED_BY_FAR else 1, text)


def _few(factor: Factor) -> str:
    return f"{factor.name} was measured at {factor.distinct} values only: measure a third"


def _doublings(count: float) -> str:
    shown = f"{count:.1f}".removesuffix(".0")
    return f"{shown} doubling" + ("" if shown == "1" else "s")


def _percent(logarithm: float) -> str:
    return f"{100.0 * float(np.expm1(logarithm)):.0f} %"
