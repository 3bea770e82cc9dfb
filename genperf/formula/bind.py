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
from genperf.formula.nodes import (
    NO_CONSTANT,
    Call,
    Column,
    Name,
    Node,
    Number,
    PowerSum,
    Text,
    added,
    addends,
    call,
    names_in,
)

#: Terms that a product of two sums is multiplied out to at most; more are left to the tree. A transformer needs 14.
MAX_TERMS = 32


def bind(node: Node, columns: Mapping[str, Any]) -> Node:
    """Return the tree with columns put in, and every part computed that depends on nothing else.

    Parts that are the same are computed once.
    """
    #: By a name, or a function and its arguments, of which columns by their identity: all that are read are kept.
    columns_by_node: dict[Hashable, Column] = {}

    def folded(node: Node) -> Node:
        match node:
            case Name(name) if name in columns:
                return columns_by_node.setdefault(name, Column(np.asarray(columns[name])))
            case Call(function, arguments):
                folded_arguments = tuple(map(folded, arguments))
                folded_call = Call(function, folded_arguments)
                if any(isinstance(a, Column) for a in folded_arguments) and all(
                    isinstance(a, _KNOWN) for a in folded_arguments
                ):
                    key = (function, *(id(a) if isinstance(a, Column) else a for a in folded_arguments))
                    if key not in columns_by_node:
                        columns_by_node[key] = Column(np.asarray(evaluate(folded_call, {})))
                    return columns_by_node[key]
                return (
                    Number(float(evaluate(folded_call, {})))
                    if all(isinstance(a, Number) for a in folded_arguments)
                    else folded_call
                )
            case _:
                return node

    return folded(node)


_KNOWN = (Column, Number, Text)


class _Term(Struct, frozen=True, eq=False, dict=True):
    """One addend."""

    #: Columns and numbers.
    multiplier: Array | float
    #: Position of the constant in front.
    constant: int = NO_CONSTANT
    #: Positions of exponents, and what each multiplies, of shape (rows,).
    powers: tuple[tuple[int, Array], ...] = ()

    @cached_property
    def same_powers(self) -> tuple[tuple[int, bytes], ...]:
        """What terms of the same powers have in common."""
        return tuple((position, values.tobytes()) for position, values in self.powers)

    def times(self, other: _Term) -> _Term:
        """Return a product, of which one has a constant at most."""
        if NO_CONSTANT not in (self.constant, other.constant):
            raise _NoSumError
        constant = max(self.constant, other.constant)
        return _Term(self.multiplier * other.multiplier, constant, self.powers + other.powers)


def power_sum(node: Node, names: Collection[str], rows: int) -> PowerSum | None:
    """Read a bound tree as a sum of products of powers; None where it is no such sum, or a constant is in two terms."""
    written = _read(node, {name: j for j, name in enumerate(names)})
    if written is None:
        return None
    terms = _merged(written)
    fronts = [t.constant for t in terms if t.constant != NO_CONSTANT]
    inside = {position for t in terms for position, _ in t.powers}
    if len(set(fronts)) < len(fronts) or not inside.isdisjoint(fronts):
        return None
    alike: dict[Hashable, list[_Term]] = {}
    for term in terms:
        if term.powers:
            alike.setdefault(term.same_powers, []).append(term)
    powered = [term for products in alike.values() for term in products]
    shape = (len(alike), max((len(t.powers) for t in powered), default=0))
    exponent, logarithms = np.zeros(shape, np.intp), np.zeros((*shape, rows))
    for i, (example, *_) in enumerate(alike.values()):
        for k, (position, values) in enumerate(example.powers):
            exponent[i, k], logarithms[i, k] = position, values
    beside = np.array([np.broadcast_to(t.multiplier, rows) for t in powered]).reshape(len(powered), rows)
    return PowerSum(
        tuple(names),
        tuple((t.constant, np.broadcast_to(t.multiplier, rows)) for t in terms if not t.powers),
        np.array([t.constant for t in powered], np.intp),
        None if np.all(beside == 1.0) else beside,
        None if len(alike) == len(powered) else np.repeat(np.arange(len(alike)), [*map(len, alike.values())]),
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
    plain, compound = [], []
    for sign, addend in addends(node):
        if _read(addend, dict.fromkeys(names_in(addend), 0)) is None:
            compound.append((sign, with_sums(addend, rows)))
        else:
            plain.append((sign, addend))
    together = _summed(plain, rows)
    return added(compound + plain) if together is None else added([(1.0, together), *compound])


def _summed(parts: list[tuple[float, Node]], rows: int) -> PowerSum | None:
    """Return a sum of addends as a `PowerSum`; None where it is none, or a single term without a power."""
    if not parts:
        return None
    total = power_sum(node := added(parts), sorted(names_in(node)), rows)
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
    """Write a tree as a sum of products, multiplied out."""
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
            return _terms(call("exp", call("multiply", exponent, Column(np.log(values)))), positions, sign)
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
        same_term = merged.get(key := (term.constant, term.same_powers))
        merged[key] = (
            term if same_term is None else replace(same_term, multiplier=same_term.multiplier + term.multiplier)
        )
    return list(merged.values())
