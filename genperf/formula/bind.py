"""Binding: put a table's columns into a tree once and compute all that does not depend on the constants.

What is left of most expressions is a sum of products of powers, which `PowerSum` computes as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genperf.arrays import Array
from genperf.formula.evaluate import evaluate
from genperf.formula.nodes import Call, Column, Name, Node, Number, PowerProduct, Text, added, addends, chain, names_in
from genperf.formula.power_sum import NO_CONSTANT, PowerSum

#: Terms that a product of two sums is multiplied out to at most; more are left to the tree. A transformer needs 14.
MAX_TERMS = 32


def bind(node: Node, columns: Mapping[str, Any]) -> Node:
    """Return the tree with columns put in, and every part computed that depends on nothing else.

    Products of powers of positive columns become one `PowerProduct`: one matrix product for many sets of exponents.
    Parts that are the same are one node, which is computed once.

    Parameters
    ----------
    node : Node
        A parsed tree.
    columns : mapping of str to ndarray
        Values of shape (rows,) for some names in the tree.

    Returns
    -------
    Node
        An equivalent tree in the other names.

    Examples
    --------
    >>> from genperf.formula import names_in, parse
    >>> tree = bind(parse("a*(n/2)**p").node, {"n": np.array([2.0, 8.0])})
    >>> sorted(names_in(tree)), evaluate(tree, {"a": 3.0, "p": 0.5})
    (['a', 'p'], array([3., 6.]))
    """
    binder = _Binder(columns)
    return binder.fused(binder.folded(node))


class _Binder:
    """Binds one tree, and remembers what it has computed."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns
        #: By a name, or a function and its arguments, of which columns by their identity: all that are read are kept.
        self._columns: dict[Hashable, Column] = {}
        #: By the identities of columns, and by exponents.
        self._products: dict[Hashable, PowerProduct] = {}

    def folded(self, node: Node) -> Node:
        """Return a tree with columns put in, and what depends on nothing else computed."""
        match node:
            case Name(name) if name in self.columns:
                return self._known(name, lambda: Column(np.asarray(self.columns[name])))
            case Call(function, arguments):
                folded = tuple(self.folded(a) for a in arguments)
                value = Call(function, folded)
                if not all(isinstance(a, Column | Number | Text) for a in folded):
                    return value
                if any(isinstance(a, Column) for a in folded):
                    key = (function, *(id(a) if isinstance(a, Column) else a for a in folded))
                    return self._known(key, lambda: Column(np.asarray(evaluate(value, {}))))
                if any(isinstance(a, Text) for a in folded):
                    return value
                return Number(float(evaluate(value, {})))
            case _:
                return node

    def _known(self, key: Hashable, computed: Callable[[], Column]) -> Column:
        """Return a column that is computed once."""
        if key not in self._columns:
            self._columns[key] = computed()
        return self._columns[key]

    def fused(self, node: Node) -> Node:
        """Gather the powers of positive columns, and the exponentials of columns, of each product."""
        if not isinstance(node, Call):
            return node
        if node.function != "multiply" and not self._powers(node):
            return Call(node.function, tuple(self.fused(a) for a in node.arguments))
        powers: list[tuple[Column, Node]] = []
        others: list[Node] = []
        for factor in _factors(node):
            parts = self._powers(factor)
            if parts:
                powers += parts
            else:
                others.append(self.fused(factor))
        if powers:
            others.append(self._product(powers))
        return chain("multiply", others)

    def _product(self, powers: list[tuple[Column, Node]]) -> PowerProduct:
        key = tuple((id(column), exponent) for column, exponent in powers)
        if key not in self._products:
            logarithms = np.array([column.values.astype(float) for column, _ in powers])
            self._products[key] = PowerProduct(logarithms, tuple(self.fused(exponent) for _, exponent in powers))
        return self._products[key]

    def _powers(self, node: Node) -> list[tuple[Column, Node]]:
        """Return L and p of a node that is `exp(Σ L·p)` for columns L and p in the constants alone; none of another."""
        match node:
            case Call("power", (Column(values) as column, exponent)) if _varies(values) and not _holds_column(exponent):
                logarithm = self._logarithm(column)
                return [] if logarithm is None else [(logarithm, exponent)]
            case Call("exp", (inside,)):
                parts = [_multiple(addend) if sign > 0.0 else None for sign, addend in addends(inside)]
                return [part for part in parts if part is not None] if None not in parts else []
            case _:
                return []

    def _logarithm(self, column: Column) -> Column | None:
        """Return ln of a column, None where it is not positive throughout."""
        base = column.values.astype(float)
        return self._known(("log", id(column)), lambda: Column(np.log(base))) if np.all(base > 0) else None


def _multiple(node: Node) -> tuple[Column, Node] | None:
    """Return the column and the other factor of a product of a column and of constants alone; None of another."""
    match node:
        case Call("multiply", (Column(values) as column, other)) | Call("multiply", (other, Column(values) as column)):
            return (column, other) if _varies(values) and not _holds_column(other) else None
        case _:
            return None


def _factors(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.function == "multiply":
        return [f for a in node.arguments for f in _factors(a)]
    return [node]


def _varies(values: np.ndarray[Any, Any]) -> bool:
    return values.ndim == 1


def _holds_column(node: Node) -> bool:
    match node:
        case Column() | PowerProduct():
            return True
        case Call(_, arguments):
            return any(_holds_column(a) for a in arguments)
        case _:
            return False


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


def power_sum(node: Node, names: Collection[str], rows: int) -> PowerSum | None:
    """Read a bound tree as a sum of products of powers.

    Parameters
    ----------
    node : Node
        From `bind`: its names are all constants.
    names : collection of str
        The constants, in the order of a set of them.
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
    >>> total = power_sum(tree, ["c", "a", "p"], 2)
    >>> total.values(np.array([[1.0, 3.0, 0.5], [0.0, 1.0, 2.0]])).round(3)
    array([[ 5.243,  7.   ],
           [ 4.   , 16.   ]])
    >>> power_sum(bind(parse("max(a, b)").node, {}), ["a", "b"], 2) is None
    True
    """
    written = _terms(node, {name: j for j, name in enumerate(names)})
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
        tuple(names),
        tuple((t.constant, np.broadcast_to(t.multiplier, rows)) for t in terms if not t.powers),
        np.array([t.constant for t in powered], np.intp),
        None if np.all(beside == 1.0) else beside,
        None if len(first) == len(powered) else product,
        exponent,
        logarithms,
        rows,
    )


def with_sums(node: Node, names: Collection[str], rows: int) -> Node:
    """Return a bound tree as one `PowerSum`, or with one for each of its largest parts that are sums of several terms.

    Parameters
    ----------
    node : Node
        From `bind`.
    names : collection of str
        The constants, in the order of a set of them.
    rows : int
        Rows of the bound table.

    Examples
    --------
    >>> from genperf.formula import parse
    >>> tree = bind(parse("a + b*n + max(0, a*n**p - b*n)").node, {"n": np.array([1.0, 4.0])})
    >>> tree = with_sums(tree, ["a", "b", "p"], 2)
    >>> [type(part).__name__ for part in tree.arguments]
    ['PowerSum', 'Call']
    >>> evaluate(tree, {"a": 2.0, "b": 1.0, "p": 0.5})
    array([[4., 6.]])
    """
    return power_sum(node, names, rows) or _with_sums(node, rows)


def _with_sums(node: Node, rows: int) -> Node:
    """Return a tree with its largest sums of several terms as each a `PowerSum`."""
    if not isinstance(node, Call):
        return node
    if (whole := _summed([(1.0, node)], rows)) is not None:
        return whole
    if node.function not in ("add", "subtract"):
        return Call(node.function, tuple(_with_sums(a, rows) for a in node.arguments))
    parts = addends(node)
    positions = dict.fromkeys(names_in(node), 0)
    plain = [(sign, part) for sign, part in parts if _terms(part, positions) is not None]
    others = [(sign, _with_sums(part, rows)) for sign, part in parts if _terms(part, positions) is None]
    together = _summed(plain, rows)
    return added(others + plain) if together is None else added([(1.0, together), *others])


def _summed(parts: list[tuple[float, Node]], rows: int) -> PowerSum | None:
    """Return a sum of addends as a `PowerSum`; None where it is none, or has a single term."""
    if not parts:
        return None
    total = power_sum(node := added(parts), sorted(names_in(node)), rows)
    return None if total is None or total.terms < 2 else total


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
