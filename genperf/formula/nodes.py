"""The tree a formula is: numbers, texts, names, and calls of the functions that a formula may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from genperf.arrays import Array, Index


class Number(Struct, frozen=True):
    """A literal number."""

    value: float


class Text(Struct, frozen=True):
    """A literal text, only ever compared with a text column."""

    value: str


class Name(Struct, frozen=True):
    """A column, a factor, a constant or a term, by its name."""

    name: str


class Call(Struct, frozen=True):
    """An operator or a function of `genperf.formula.nodes.FUNCTIONS` and its arguments."""

    function: str
    arguments: tuple[Node, ...]


class Column(Struct, frozen=True, eq=False):
    """A bound name's values: shape (rows,), or a scalar."""

    values: npt.NDArray[np.generic]


#: Stands for the position of the constant in a term without one.
NO_CONSTANT = -1


class PowerSum(Struct, frozen=True, eq=False, dict=True):
    """A sum of products of powers, in constants f and p by their positions among `names`: few calls give all terms.

    T = Σ_t f_t · g_t · exp(Σ_k p_tk · L_tk)
    """

    names: tuple[str, ...]
    #: Shape (rows,)). Terms without a power: the position of f_t (`NO_CONSTANT` where there is none), and g_t.
    plain: tuple[tuple[int, Array], ...]
    factor: Index  #: Shape (terms,). Positions of f_t in the terms with powers.
    multiplier: Array  #: Shape (terms, rows). g_t of these terms.
    product: Index  #: Shape (terms,). Which product of powers is that of each term, in order.
    exponent: Index  #: Shape (products, k). Positions of p_tk.
    #: Shape (products, k, rows). L_tk; zero where a product has fewer than k.
    logarithms: Array
    rows: int

    def values(self, constants: Array) -> Array:
        """Return the sum for each set of constants, (sets, n) → (sets, rows)."""
        with np.errstate(all="ignore"):
            total = np.einsum("st,str->sr", self._factors(constants), self._products(constants))
            return self._with_plain(total, constants)

    def derivatives(self, constants: Array, by: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the sum, (sets, rows), and its derivatives by the constants at some positions, (sets, by, rows)."""
        slopes = np.zeros((len(constants), len(by), self.rows))
        # By f_t a derivative is the term without f_t; by p_tk the sum of L_tk times the terms that have it.
        column = {position: slopes[:, j] for j, position in enumerate(by)}
        with np.errstate(all="ignore"):
            for position, multiplier in self.plain:
                if position in column:
                    column[position][:] = multiplier
            terms = self._products(constants)
            for t, position in enumerate(self.factor.tolist()):
                if position in column:
                    column[position][:] = terms[:, t]
            terms *= self._factors(constants)[:, :, None]
            if len(self.exponent) < len(self.product):
                # From here on, the sum of the terms of each product of powers.
                terms = np.add.reduceat(terms, np.flatnonzero(np.diff(self.product, prepend=-1)), axis=1)
            for position in column.keys() & self._exponent_places.keys():
                for k, products in self._exponent_places[position]:
                    column[position] += np.einsum("str,tr->sr", terms[:, products], self.logarithms[products, k])
            return self._with_plain(terms.sum(axis=1), constants), slopes

    def _products(self, constants: Array) -> Array:
        """Return each term's product of powers, Π x^e with its multiplier, at some constants: (sets, terms, rows)."""
        products: Array = np.einsum("stk,tkr->str", constants[:, self.exponent], self.logarithms)
        np.exp(products, out=products)
        return products[:, self.product] * self.multiplier

    def _factors(self, constants: Array) -> Array:
        """Return f_t of each term with powers, (sets, terms); 1 where it has none."""
        return np.asarray(np.where(self.factor == NO_CONSTANT, 1.0, constants[:, self.factor]))

    def _with_plain(self, total: Array, constants: Array) -> Array:
        """Return the sum of the terms with powers, to which those without one are added in place."""
        for position, multiplier in self.plain:
            total += multiplier if position == NO_CONSTANT else constants[:, position, None] * multiplier
        return total

    @cached_property
    def _exponent_places(self) -> dict[int, list[tuple[int, Index]]]:
        """The k and the products t of each p_tk, by the exponent's position among the constants."""
        places: dict[int, list[tuple[int, Index]]] = {}
        for k in range(self.exponent.shape[1]):
            used = self.logarithms[:, k].any(axis=1)
            for position in np.unique(self.exponent[used, k]):
                products = np.flatnonzero(used & (self.exponent[:, k] == position))
                places.setdefault(int(position), []).append((k, products))
        return places


Node: TypeAlias = Number | Text | Name | Call | Column | PowerSum


def call(function: str, *arguments: Node | float) -> Call:
    """Build a call; plain numbers become `Number`."""
    return Call(function, tuple(Number(float(a)) if isinstance(a, int | float) else a for a in arguments))


#: Operands that are applied one after another.
MOST_IN_A_CHAIN = 200


def chain(function: str, operands: Iterable[Node]) -> Node:
    """Return a function of two arguments applied from left to right: ((a + b) + c), of very many to parts of them."""
    nodes = [*operands]
    if len(nodes) > MOST_IN_A_CHAIN:
        # Walks of the tree are recursive.
        nodes = [chain(function, nodes[k : k + MOST_IN_A_CHAIN]) for k in range(0, len(nodes), MOST_IN_A_CHAIN)]
    return reduce(lambda chained, part: Call(function, (chained, part)), nodes)


def names_in(node: Node) -> frozenset[str]:
    """Return every name that occurs in the tree."""
    return frozenset(ordered_names(node))


def ordered_names(node: Node) -> list[str]:
    """Return the names in a tree in the order of their first occurrence."""
    match node:
        case Name(name):
            return [name]
        case Call(_, arguments):
            return list(dict.fromkeys(name for a in arguments for name in ordered_names(a)))
        case PowerSum(names):
            return list(names)
        case _:
            return []


def calls_in(node: Node) -> Iterator[Call]:
    """Yield every call in the tree, the outer ones first."""
    if isinstance(node, Call):
        yield node
        for argument in node.arguments:
            yield from calls_in(argument)


def addends(node: Node, sign: float = 1.0) -> list[tuple[float, Node]]:
    """Return the addends of a sum with their signs, from left to right; a tree that is no sum is its own."""
    match node:
        case Call("add", (left, right)):
            return addends(left, sign) + addends(right, sign)
        case Call("subtract", (left, right)):
            return addends(left, sign) + addends(right, -sign)
        case Call("negative", (inner,)):
            return addends(inner, -sign)
        case _:
            return [(sign, node)]


def added(signed_addends: Sequence[tuple[float, Node]]) -> Node:
    """Return the sum of addends, each with its sign: the tree that `addends` takes apart."""
    (sign, total), *addends_left = signed_addends
    if sign < 0.0:
        total = Call("negative", (total,))
    for sign, addend in addends_left:
        total = Call("add" if sign > 0.0 else "subtract", (total, addend))
    return total


def substitute(node: Node, by: Mapping[str, Node]) -> Node:
    """Return the tree with names replaced by trees."""
    match node:
        case Name(name):
            return by.get(name, node)
        case Call(function, arguments):
            return Call(function, tuple(substitute(a, by) for a in arguments))
        case _:
            return node


def bind_values(node: Node, values: Mapping[str, float]) -> Node:
    """Return the tree with some names fixed to numbers."""
    return substitute(node, {name: Number(float(v)) for name, v in values.items()})


Values = Sequence[Any]


class Function(Struct, frozen=True):
    """One operator or function."""

    value: Callable[..., Any]  #: Arrays in, array out.
    #: `(arguments, result) -> ` one array per argument, the derivative of the result by it; None where the result is a
    #: truth value.
    partials: Callable[[Values, Any], Sequence[Any]] | None
    #: `least`, `most`: range of the number of arguments.
    least: int
    most: int
    symbol: str | None = None  #: The operator's sign; None for a function written with brackets.
    precedence: int = 100  #: Binding strength of the sign, larger binds tighter.


def _extreme_partials(arguments: Values, result: Any) -> list[Any]:
    """Share the derivative between the arguments that attain the extreme value."""
    hits = [np.equal(a, result).astype(float) for a in arguments]
    return [h / np.maximum(sum(hits), 1.0) for h in hits]


def _power_partials(arguments: Values, result: Any) -> list[Any]:
    """Return the derivatives y·x^(y − 1) and x^y·ln x of x^y; the latter is 0 where x is not positive."""
    base, exponent = arguments
    by_base = exponent * np.power(base, exponent - 1.0)
    by_exponent = result * np.log(np.where(np.greater(base, 0.0), base, 1.0))
    return [by_base, by_exponent]


LN2 = float(np.log(2.0))

FUNCTIONS: dict[str, Function] = {
    "or": Function(np.logical_or, None, 2, 2, "or", 1),
    "and": Function(np.logical_and, None, 2, 2, "and", 2),
    "not": Function(np.logical_not, None, 1, 1, "not", 3),
    "less": Function(np.less, None, 2, 2, "<", 4),
    "less_equal": Function(np.less_equal, None, 2, 2, "<=", 4),
    "greater": Function(np.greater, None, 2, 2, ">", 4),
    "greater_equal": Function(np.greater_equal, None, 2, 2, ">=", 4),
    "equal": Function(np.equal, None, 2, 2, "==", 4),
    "not_equal": Function(np.not_equal, None, 2, 2, "!=", 4),
    "add": Function(np.add, lambda a, r: (1.0, 1.0), 2, 2, "+", 5),
    "subtract": Function(np.subtract, lambda a, r: (1.0, -1.0), 2, 2, "-", 5),
    "multiply": Function(np.multiply, lambda a, r: (a[1], a[0]), 2, 2, "*", 6),
    "divide": Function(np.divide, lambda a, r: (np.divide(1.0, a[1]), np.divide(-r, a[1])), 2, 2, "/", 6),
    "remainder": Function(np.remainder, lambda a, r: (1.0, -np.floor(np.divide(a[0], a[1]))), 2, 2, "%", 6),
    "negative": Function(np.negative, lambda a, r: (-1.0,), 1, 1, "-", 7),
    "power": Function(np.power, _power_partials, 2, 2, "**", 8),
    "log": Function(np.log, lambda a, r: (np.divide(1.0, a[0]),), 1, 1),
    "log2": Function(np.log2, lambda a, r: (np.divide(1.0, a[0] * LN2),), 1, 1),
    "sqrt": Function(np.sqrt, lambda a, r: (np.divide(0.5, r),), 1, 1),
    "exp": Function(np.exp, lambda a, r: (r,), 1, 1),
    "abs": Function(np.abs, lambda a, r: (np.sign(a[0]),), 1, 1),
    "min": Function(lambda *a: reduce(np.minimum, a), _extreme_partials, 2, 16),
    "max": Function(lambda *a: reduce(np.maximum, a), _extreme_partials, 2, 16),
    "ceil": Function(np.ceil, lambda a, r: (0.0,), 1, 1),
    "floor": Function(np.floor, lambda a, r: (0.0,), 1, 1),
    "where": Function(np.where, lambda a, r: (0.0, np.where(a[0], 1.0, 0.0), np.where(a[0], 0.0, 1.0)), 3, 3),
}

#: Names that may be written with brackets in a formula.
CALLABLE = tuple(name for name, f in FUNCTIONS.items() if f.symbol is None)

#: Functions whose result is true or false.
LOGICAL = frozenset(name for name, f in FUNCTIONS.items() if f.partials is None)
