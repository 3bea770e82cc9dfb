"""Binding: put a table's columns into a tree once and compute all that does not depend on the constants.

What is left of most expressions is a sum of products of powers, which `PowerSum` computes as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.formula.evaluate import evaluate
from genperf.formula.nodes import NO_CONSTANT, Call, Column, Name, Node, Number, PowerSum, added, addends, names_in

#: Terms that a product of two sums is multiplied out to at most; more are left to the tree. A transformer needs 14.
MAX_TERMS = 32


def bind(node: Node, columns: Mapping[str, Any]) -> Node:
    """Return the tree with columns put in, and every part computed that depends on nothing else."""
    match node:
        case Name(name) if name in columns:
            return Column(np.asarray(columns[name]))
        case Call(function, arguments):
            bound = Call(function, tuple(bind(argument, columns) for argument in arguments))
            kinds = {type(argument) for argument in bound.arguments}
            if kinds == {Number}:
                return Number(float(evaluate(bound, {})))
            if Column in kinds and kinds.isdisjoint({Name, Call, PowerSum}):
                return Column(np.asarray(evaluate(bound, {})))
            return bound
        case _:
            return node


class _Term(Struct, frozen=True, eq=False, dict=True):
    """One addend."""

    multiplier: Array | float  #: Columns and numbers.
    constant: int = NO_CONSTANT  #: Position of the constant in front.
    powers: tuple[tuple[int, Array], ...] = ()  #: Positions of exponents, and what each multiplies, of shape (rows,).

    @cached_property
    def same_powers(self) -> tuple[tuple[int, bytes], ...]:
        """What terms of the same powers have in common."""
        return tuple((position, values.tobytes()) for position, values in self.powers)

    def times(self, other: _Term) -> _Term:
        """Return a product, of which one has a constant at most."""
        if NO_CONSTANT not in (self.constant, other.constant):
            raise _NoSumError
        # The position that there is, as `NO_CONSTANT` is below all.
        constant = max(self.constant, other.constant)
        return _Term(self.multiplier * other.multiplier, constant, self.powers + other.powers)


def power_sum(node: Node, names: Collection[str], rows: int) -> PowerSum | None:
    """Read a bound tree as Σ c·m·Π e^(θ·ln x), each constant c or θ in one term; None where it is no such sum."""
    unmerged = _read(node, {name: j for j, name in enumerate(names)})
    if unmerged is None:
        return None
    terms = _merged(unmerged)
    coefficients = [term.constant for term in terms if term.constant != NO_CONSTANT]
    exponents = {position for term in terms for position, _ in term.powers}
    if len(set(coefficients)) < len(coefficients) or not exponents.isdisjoint(coefficients):
        return None
    # Terms of the same product of powers are neighbours, and the product is computed once.
    by_powers: dict[Hashable, list[_Term]] = {}
    for term in terms:
        if term.powers:
            by_powers.setdefault(term.same_powers, []).append(term)
    powered = [term for products in by_powers.values() for term in products]
    # As many powers in each product as the longest has: further ones have the logarithm 0, whatever the exponent.
    shape = (len(by_powers), max((len(term.powers) for term in powered), default=0))
    exponent, logarithms = np.zeros(shape, np.intp), np.zeros((*shape, rows))
    for i, (any_term, *_) in enumerate(by_powers.values()):
        for k, (position, values) in enumerate(any_term.powers):
            exponent[i, k], logarithms[i, k] = position, values
    multipliers = np.array([np.broadcast_to(term.multiplier, rows) for term in powered]).reshape(len(powered), rows)
    return PowerSum(
        tuple(names),
        tuple((term.constant, np.broadcast_to(term.multiplier, rows)) for term in terms if not term.powers),
        np.array([term.constant for term in powered], np.intp),
        multipliers,
        np.repeat(np.arange(len(by_powers)), [*map(len, by_powers.values())]),
        exponent,
        logarithms,
        rows,
    )


def with_sums(node: Node, rows: int) -> Node:
    """Return a tree with its largest sums of several terms, or of powers, as each a `PowerSum`."""
    if not isinstance(node, Call):
        return node
    as_sum = _summed([(1.0, node)], rows)
    if as_sum is not None:
        return as_sum
    if node.function not in ("add", "subtract"):
        return Call(node.function, tuple(with_sums(a, rows) for a in node.arguments))
    # The addends that are sums of powers are computed together, the others each by its tree.
    of_powers, others = [], []
    for sign, addend in addends(node):
        if _read(addend, dict.fromkeys(names_in(addend), 0)) is None:
            others.append((sign, with_sums(addend, rows)))
        else:
            of_powers.append((sign, addend))
    together = _summed(of_powers, rows)
    return added(others + of_powers) if together is None else added([(1.0, together), *others])


def _summed(addends: list[tuple[float, Node]], rows: int) -> PowerSum | None:
    """Return a sum of addends as a `PowerSum`; None where it is none, or a single term without a power."""
    if not addends:
        return None
    node = added(addends)
    total = power_sum(node, sorted(names_in(node)), rows)
    return total if total is not None and (len(total.plain) > 1 or total.factor.size) else None


class _NoSumError(Exception):
    """A tree is no sum of products of powers."""


def _read(node: Node, positions: Mapping[str, int]) -> list[_Term] | None:
    """Write a tree as a sum of products of powers; None where it is no such sum."""
    try:
        return _terms(node, positions)
    except _NoSumError:
        return None


def _terms(node: Node, positions: Mapping[str, int], sign: float = 1.0) -> list[_Term]:
    """Write a tree, or its negative, as a sum of products, multiplied out; `_NoSumError` where it is none."""
    match node:
        case Call("add" | "subtract" | "negative"):
            return [term for s, addend in addends(node, sign) for term in _terms(addend, positions, s)]
        case Call("multiply", (left, right)):
            lefts, rights = _terms(left, positions, sign), _terms(right, positions)
            if len(lefts) * len(rights) <= MAX_TERMS:
                return [a.times(b) for a in lefts for b in rights]
        case Call("divide", (left, Column(values) | Number(values))):
            divisor = np.asarray(values, float)
            return [replace(t, multiplier=t.multiplier / divisor) for t in _terms(left, positions, sign)]
        case Column(values) | Number(values):
            return [_Term(sign * np.asarray(values, float))]
        case Name(name):
            return [_Term(sign, positions[name])]
        case Call("power", (Column(values), exponent)) if values.ndim and np.all(np.greater(values, 0)):
            return _terms(Call("exp", (Call("multiply", (exponent, Column(np.log(values)))),)), positions, sign)
        case Call("exp", (inside,)):
            # A power where it is linear in constants.
            linear = _terms(inside, positions)
            if not any(term.constant == NO_CONSTANT or term.powers for term in linear):
                return [_Term(sign, powers=tuple((term.constant, np.asarray(term.multiplier)) for term in linear))]
    raise _NoSumError


def _merged(terms: list[_Term]) -> list[_Term]:
    """Add up the multipliers of terms that have the same constant and the same powers."""
    merged: dict[Hashable, _Term] = {}
    for term in terms:
        key = (term.constant, term.same_powers)
        earlier = merged.get(key)
        merged[key] = term if earlier is None else replace(earlier, multiplier=earlier.multiplier + term.multiplier)
    return list(merged.values())
