"""What the overlaps of a total hide, one by one: each `max` of it hides the shorter of its branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.terms import Parts
from genperf.expression import Expression
from genperf.formula import Call, Node, evaluate, names_in
from genperf.prediction import Member, Query

Array = npt.NDArray[np.float64]
#: The columns of `hidden_changes`.
COLUMNS = ["overlap", "a", "b", "change"]


def hidden_changes(a: tuple[Sequence[Member], Parts, Query], b: tuple[Sequence[Member], Parts, Query]) -> pd.DataFrame:
    """Return how much each overlap hides at two configurations.

    Parameters
    ----------
    a, b : tuple
        The members of a model, the parts of its prediction, and the configuration.

    Returns
    -------
    DataFrame
        `overlap, a, b, change`: a row for each `max` of a total, called after its branches. Amounts are at most zero,
        as those of the row `hidden by overlap`, and add up to it. A model without that overlap hides nothing there.
    """
    amounts = [_hidden(members, parts, query) for members, parts, query in (a, b)]
    names = list(dict.fromkeys([*amounts[0], *amounts[1]]))
    rows = [(name, amounts[0].get(name, 0.0), amounts[1].get(name, 0.0)) for name in names]
    return pd.DataFrame([(name, x, y, y - x) for name, x, y in rows], columns=COLUMNS)


def branches_of(label: str) -> tuple[frozenset[str], ...]:
    """Return the terms of each branch of an overlap, from what `hidden_changes` calls it.

    Examples
    --------
    >>> [sorted(branch) for branch in branches_of("backward | ring + latency")]
    [['backward'], ['latency', 'ring']]
    """
    return tuple(frozenset(branch.split(" + ")) for branch in label.split(" | "))


def _hidden(members: Sequence[Member], parts: Parts, query: Query) -> dict[str, float]:
    """Return what each overlap hides, all members by weight."""
    amounts: dict[str, float] = {}
    for member, weight, value in zip(members, parts.weights, parts.of_members[:, 0], strict=True):
        for label, seconds in _of_expression(member.expression, query.columns, member.values):
            share = weight * float(seconds[0]) / float(value)
            amounts[label] = amounts.get(label, 0.0) + share * float(parts.central[0])
    return amounts


def _of_expression(
    expression: Expression, columns: Mapping[str, Any], constants: Mapping[str, Any]
) -> Iterator[tuple[str, Array]]:
    """Yield the name of each overlap of a total, and what it hides."""
    if expression.total is None:
        return
    values = {**constants, **expression.term_values(columns, constants)}
    order = [term.name for term in expression.terms]
    maxima = list(_maxima(expression.total))
    before = np.asarray(evaluate(_added(expression.total, maxima), values))
    # From the innermost on: what is hidden there is not there to be hidden again.
    for place in reversed(range(len(maxima))):
        after = np.asarray(evaluate(_added(expression.total, maxima[:place]), values))
        used = [names_in(branch) for branch in maxima[place].arguments]
        yield " | ".join(" + ".join(name for name in order if name in names) for names in used), after - before
        before = after


def _maxima(node: Node) -> Iterator[Call]:
    """Yield the maxima of a total, the outer ones first."""
    if isinstance(node, Call):
        if node.function == "max":
            yield node
        for argument in node.arguments:
            yield from _maxima(argument)


def _added(node: Node, maxima: Sequence[Call]) -> Node:
    """Return a total in which the branches of some maxima are added up, as if they did not overlap."""
    if not isinstance(node, Call):
        return node
    arguments = tuple(_added(argument, maxima) for argument in node.arguments)
    if any(node is one for one in maxima):
        return reduce(lambda left, right: Call("add", (left, right)), arguments)
    return Call(node.function, arguments)
