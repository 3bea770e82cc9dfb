"""Members in which measured levels stand for a level that was not measured.

`predict` puts measured levels in the place of a new one, row by row (`new_levels`). What looks inside a model (terms,
elasticities, searches) needs members that take the new level themselves: a copy of each member for every way to put
measured levels in its place, with equal weights. The central value of such members, the weighted geometric mean, is
then the mean of ln T over the measured levels, as `predict` has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import msgspec
import numpy as np

from genperf.discrepancy import Discrepancy
from genperf.expression import Expression, Term
from genperf.formula import Call, Name, Node, Text, substitute
from genperf.prediction.feasibility import Feasibility
from genperf.prediction.member import Member, stack_of
from genperf.prediction.new_levels import between, not_measured, ways_of
from genperf.prediction.schema import Schema

#: By factor: the levels that were not measured.
New = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class StandingSettings:
    """How many draws the members keep."""

    #: Draws of a copy at least. Together the copies keep as many as the members have, if that leaves each so many. A
    #: guess.
    least_draws: int = 20


STANDING = StandingSettings()


def standing_members(schema: Schema, members: Sequence[Member], new: New) -> tuple[Member, ...]:
    """Return a copy of each member for every way to put measured levels in the place of new ones.

    Parameters
    ----------
    new : mapping of str to tuple of str
        The new levels by factor. Those of one factor are alike.

    Raises
    ------
    TableError
        Where the ways are too many.
    """
    if stack_of(members) is not None:
        # A process answers for a level that was not measured by itself.
        return tuple(members)
    ways = ways_of({f.name: f for f in schema.factors}, tuple(new))
    out = []
    for k, way in enumerate(ways):
        stands = {name: dict.fromkeys(new[name], level) for name, level in zip(new, way, strict=True)}
        # Members that share a discrepancy go on sharing it.
        discrepancies: dict[int, Discrepancy] = {}
        for member in members:
            step = max(1, min(len(ways), len(member.draws) // STANDING.least_draws))
            draws = np.arange(k % step, len(member.draws), step)
            discrepancy = member.discrepancy
            if discrepancy is not None:
                if id(discrepancy) not in discrepancies:
                    discrepancies[id(discrepancy)] = discrepancy.standing(stands)
                discrepancy = discrepancies[id(discrepancy)]
            copied = replace(
                member,
                expression=_standing_expression(member.expression, stands),
                weight=member.weight / len(ways),
                discrepancy=discrepancy,
            )
            out.append(copied.kept(draws))
    return tuple(out)


def standing_feasibility(feasibility: Feasibility | None, new: New) -> Feasibility | None:
    """Return the probability of fitting in which a new level asks for as much as the most demanding measured one."""
    if feasibility is None:
        return None
    offsets = {
        name: {**levels, **dict.fromkeys(new.get(name, ()), max(levels.values(), default=0.0))}
        for name, levels in feasibility.offsets.items()
    }
    return msgspec.structs.replace(feasibility, offsets=offsets)


def standing_notes(schema: Schema, members: Sequence[Member] = ()) -> list[str]:
    """Return which levels were not measured, which stand for them, and what their intervals hold."""
    if stack_of(members) is not None:
        return [between(f, level) for f in schema.factors for level in schema.standing.get(f.name, ())]
    texts = [not_measured(f, level) for f in schema.factors for level in schema.standing.get(f.name, ())]
    return [f"{text}; intervals here hold what these differ by, those of predict are wider" for text in texts]


def _standing_expression(expression: Expression, stands: Mapping[str, Mapping[str, str]]) -> Expression:
    """Return an expression that reads a measured level where a new one stands."""
    by = {name: _level_read(name, levels) for name, levels in stands.items()}
    terms = tuple(Term(t.name, substitute(t.node, by)) for t in expression.terms)
    total = None if expression.total is None else substitute(expression.total, by)
    return replace(expression, terms=terms, total=total)


def _level_read(name: str, levels: Mapping[str, str]) -> Node:
    """Return a factor's level, or the measured level that stands for it."""

    def beside(whole: Node, stand: tuple[str, str]) -> Node:
        return Call("where", (Call("equal", (Name(name), Text(stand[0]))), Text(stand[1]), whole))

    whole: Node = Name(name)
    return reduce(beside, levels.items(), whole)
