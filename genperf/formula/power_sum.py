"""Sums of products of powers, the shape of most expressions: all their terms for many sets of constants at once.

A bound tree is walked node by node, with calls of numpy at each. Where it is

    T = Σ_t f_t · g_t · exp(Σ_k p_tk · L_tk)

with constants f and p, and g and L known from a table's columns, a few calls give all terms together: the time goes
into the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from genperf.arrays import Array, Index
from genperf.formula.nodes import Call, Column, Name, Node, Number, PowerProduct, Summed, added, addends, names_in

#: Stands for the position of the constant in a term without one.
NO_CONSTANT = -1
#: Terms that a product of two sums is multiplied out to at most; more are left to the tree. A transformer needs 14.
MAX_TERMS = 32


@dataclass(frozen=True, eq=False)
class PowerSum:
    """A sum of products of powers, in constants given by their positions."""

    #: Shape (rows,)). Terms without a power: the position of f_t (`NO_CONSTANT` where there is none), and g_t.
    plain: tuple[tuple[int, Array], ...]
    #: Shape (terms,). Positions of f_t in the terms with powers.
    factor: Index
    #: Shape (terms, rows), or None. g_t of these terms; None is one throughout.
    multiplier: Array | None
    #: Shape (terms,), or None. Which product of powers is that of each term, in order; None where each has one of its
    #: own.
    product: Index | None
    #: Shape (products, k). Positions of p_tk.
    exponent: Index
    #: Shape (products, k, rows). L_tk; zero where a product has fewer than k.
    logarithms: Array
    rows: int

    @property
    def terms(self) -> int:
        """The number of terms."""
        return len(self.plain) + len(self.factor)

    def values(self, constants: Array) -> Array:
        """Return the sum for each set of constants, (sets, n) → (sets, rows)."""
        with np.errstate(all="ignore"):
            total = np.einsum("st,str->sr", self._factors(constants), self._products(constants))
            return self._with_plain(total, constants)

    def derivatives(self, constants: Array, by: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the sum, (sets, rows), and its derivatives by the constants at some positions, (sets, by, rows)."""
        slopes = np.empty((len(constants), len(by), self.rows))
        column = {position: slopes[:, j] for j, position in enumerate(by)}
        with np.errstate(all="ignore"):
            for position, multiplier in self.plain:
                if position in column:
                    column.pop(position)[:] = multiplier
            terms = self._products(constants)
            for t, position in enumerate(self.factor.tolist()):
                if position in column:
                    column.pop(position)[:] = terms[:, t]
            terms *= self._factors(constants)[:, :, None]
            if self.product is not None:
                # From here on, the sum of the terms of each product of powers.
                terms = np.add.reduceat(terms, np.flatnonzero(np.diff(self.product, prepend=-1)), axis=1)
            for position, uses in self._uses.items():
                if position not in column:
                    continue
                slope = column.pop(position)
                for i, (k, among) in enumerate(uses):
                    part = slope if i == 0 else np.empty_like(slope)
                    np.einsum("str,tr->sr", terms[:, among], self.logarithms[among, k], out=part)
                    if i > 0:
                        slope += part
            for slope in column.values():
                slope[:] = 0.0
            return self._with_plain(terms.sum(axis=1), constants), slopes

    def _products(self, constants: Array) -> Array:
        products: Array = np.einsum("stk,tkr->str", constants[:, self.exponent], self.logarithms)
        np.exp(products, out=products)
        if self.product is not None:
            products = products[:, self.product]
        if self.multiplier is not None:
            products *= self.multiplier
        return products

    def _factors(self, constants: Array) -> Array:
        return np.asarray(np.where(self.factor == NO_CONSTANT, 1.0, constants[:, self.factor]))

    def _with_plain(self, total: Array, constants: Array) -> Array:
        for position, multiplier in self.plain:
            total += multiplier if position == NO_CONSTANT else constants[:, position, None] * multiplier
        return total

    @cached_property
    def _uses(self) -> dict[int, list[tuple[int, slice | Index]]]:
        """For each exponent's position, the k and the products where it is; a slice if they are consecutive."""
        uses: dict[int, list[tuple[int, slice | Index]]] = {}
        for k in range(self.exponent.shape[1]):
            used = self.logarithms[:, k].any(axis=1)
            for position in np.unique(self.exponent[used, k]):
                among = np.flatnonzero(used & (self.exponent[:, k] == position))
                run = slice(int(among[0]), int(among[-1]) + 1)
                uses.setdefault(int(position), []).append((k, run if among.size == run.stop - run.start else among))
        return uses


@dataclass(frozen=True, eq=False)
class _Term:
    """The parts of one addend."""

    #: Columns and numbers.
    multiplier: Array | float
    #: Position of the constant in front.
    constant: int = NO_CONSTANT
    #: Shape (rows,)). Positions of exponents, and what they multiply.
    powers: tuple[tuple[int, Array], ...] = ()
    #: Where the powers are from: the same ones mean the same powers.
    products: tuple[PowerProduct, ...] = ()

    @property
    def same_powers(self) -> tuple[int, ...]:
        """What terms of the same powers have in common."""
        return tuple(map(id, self.products))

    @property
    def key(self) -> tuple[int, tuple[int, ...]]:
        """What terms have in common that can be added up."""
        return self.constant, self.same_powers

    def times(self, other: _Term) -> _Term | None:
        """Return a product; None where both have a constant."""
        if NO_CONSTANT not in (self.constant, other.constant):
            return None
        return _Term(
            self.multiplier * other.multiplier,
            max(self.constant, other.constant),
            self.powers + other.powers,
            self.products + other.products,
        )


def power_sum(node: Node, positions: Mapping[str, int], rows: int) -> PowerSum | None:
    """Read a bound tree as a sum of products of powers.

    Parameters
    ----------
    node : Node
        From `bind`: its names are all constants.
    positions : mapping of str to int
        Position of each constant in a set.
    rows : int
        Rows of the bound table.

    Returns
    -------
    PowerSum or None
        None where the tree has another shape, or a constant multiplies two terms.

    Examples
    --------
    >>> from genperf.formula import bind, parse
    >>> tree = bind(parse("c + a*n**p").node, {"n": np.array([2.0, 4.0])})
    >>> total = power_sum(tree, {"c": 0, "a": 1, "p": 2}, 2)
    >>> total.values(np.array([[1.0, 3.0, 0.5], [0.0, 1.0, 2.0]])).round(3)
    array([[ 5.243,  7.   ],
           [ 4.   , 16.   ]])
    >>> power_sum(bind(parse("max(a, b)").node, {}), {"a": 0, "b": 1}, 2) is None
    True
    """
    written = _terms(node, positions)
    if written is None:
        return None
    terms = _merged(written)
    fronts = [t.constant for t in terms if t.constant != NO_CONSTANT]
    inside = {position for t in terms for position, _ in t.powers}
    if len(set(fronts)) < len(fronts) or not inside.isdisjoint(fronts):
        return None
    places: dict[tuple[int, ...], int] = {}
    for term in terms:
        if term.powers:
            places.setdefault(term.same_powers, len(places))
    powered = sorted((t for t in terms if t.powers), key=lambda t: places[t.same_powers])
    product = np.array([places[t.same_powers] for t in powered], np.intp)
    first = np.flatnonzero(np.diff(product, prepend=-1))
    max_powers = max((len(t.powers) for t in powered), default=0)
    exponent = np.zeros((len(first), max_powers), np.intp)
    logarithms = np.zeros((len(first), max_powers, rows))
    for i, t in enumerate(first.tolist()):
        for k, (position, values) in enumerate(powered[t].powers):
            exponent[i, k], logarithms[i, k] = position, values
    beside = np.array([np.broadcast_to(t.multiplier, rows) for t in powered]).reshape(len(powered), rows)
    return PowerSum(
        tuple((t.constant, np.broadcast_to(t.multiplier, rows)) for t in terms if not t.powers),
        np.array([t.constant for t in powered], np.intp),
        None if np.all(beside == 1.0) else beside,
        None if len(first) == len(powered) else product,
        exponent,
        logarithms,
        rows,
    )


def with_sums(node: Node, rows: int) -> Node:
    """Return a bound tree whose largest parts that are sums of products of powers are computed by `PowerSum`.

    Parameters
    ----------
    node : Node
        From `bind`.
    rows : int
        Rows of the bound table.

    Examples
    --------
    >>> from genperf.formula import bind, evaluate, parse
    >>> tree = with_sums(bind(parse("a + b*n + max(0, a*n**p - b*n)").node, {"n": np.array([1.0, 4.0])}), 2)
    >>> [type(part).__name__ for part in tree.arguments]
    ['Summed', 'Call']
    >>> evaluate(tree, {"a": 2.0, "b": 1.0, "p": 0.5})
    array([[4., 6.]])
    """
    if not isinstance(node, Call):
        return node
    if (whole := _summed([(1.0, node)], rows)) is not None:
        return whole
    if node.function not in ("add", "subtract"):
        return Call(node.function, tuple(with_sums(a, rows) for a in node.arguments))
    parts = addends(node)
    names = {name: 0 for _, part in parts for name in names_in(part)}
    plain = [(sign, part) for sign, part in parts if _terms(part, names) is not None]
    others = [(sign, with_sums(part, rows)) for sign, part in parts if _terms(part, names) is None]
    together = _summed(plain, rows)
    return added(others + plain) if together is None else added([(1.0, together), *others])


def _summed(parts: list[tuple[float, Node]], rows: int) -> Summed | None:
    """Return a sum of addends as one `Summed`; None where it is none, or has a single term."""
    if not parts:
        return None
    node = added(parts)
    names = tuple(sorted(names_in(node)))
    total = power_sum(node, {name: j for j, name in enumerate(names)}, rows)
    return None if total is None or total.terms < 2 else Summed(names, total.values, total.derivatives)


def _terms(node: Node, positions: Mapping[str, int], sign: float = 1.0) -> list[_Term] | None:
    """Write a tree as a sum of products, multiplied out; None where it is no such sum."""
    match node:
        case Call("add" | "subtract" | "negative"):
            each = [_terms(addend, positions, s) for s, addend in addends(node, sign)]
            return None if None in each else [term for terms in each if terms for term in terms]
        case Call("multiply", (left, right)):
            lefts, rights = _terms(left, positions, sign), _terms(right, positions)
            if lefts is None or rights is None or len(lefts) * len(rights) > MAX_TERMS:
                return None
            products = [a.times(b) for a in lefts for b in rights]
            return None if None in products else [term for term in products if term is not None]
        case Call("divide", (left, Column(values) | Number(values))):
            terms = _terms(left, positions, sign)
            if terms is not None:
                terms = [replace(term, multiplier=term.multiplier / np.asarray(values, float)) for term in terms]
            return terms
        case Column(values) | Number(values):
            return [_Term(sign * np.asarray(values, float))]
        case Name(name):
            return [_Term(sign, positions[name])]
        case PowerProduct(logarithms, exponents) if all(isinstance(e, Name) for e in exponents):
            names = [e.name for e in exponents if isinstance(e, Name)]
            powers = zip(names, logarithms, strict=True)
            return [_Term(sign, NO_CONSTANT, tuple((positions[n], row) for n, row in powers), (node,))]
        case _:
            return None


def _merged(terms: list[_Term]) -> list[_Term]:
    """Add up the multipliers of terms that have the same constant and the same powers."""
    merged: dict[tuple[int, tuple[int, ...]], _Term] = {}
    for term in terms:
        known = merged.get(term.key)
        merged[term.key] = term if known is None else replace(known, multiplier=known.multiplier + term.multiplier)
    return list(merged.values())
