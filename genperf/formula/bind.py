"""Binding: put a table's columns into a tree once and compute all that does not depend on the constants."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from genperf.formula.evaluate import evaluate
from genperf.formula.nodes import (
    Call,
    Column,
    Name,
    Node,
    Number,
    PowerProduct,
    Text,
    added,
    addends,
    chain,
    substitute,
)


def bind(node: Node, columns: Mapping[str, Any]) -> Node:
    """Return the tree with columns put in, and every part computed that depends on nothing else.

    Products of powers of positive columns become one `PowerProduct`: one matrix product for many sets of exponents.
    Parts that are the same are computed once, and a `PowerProduct` of several addends of a sum is taken out of it.

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


def bind_values(node: Node, values: Mapping[str, float]) -> Node:
    """Return the tree with some names fixed to numbers.

    Examples
    --------
    >>> from genperf.formula import parse, render
    >>> render(bind_values(parse("a*n + c").node, {"c": 0.5}))
    'a*n + 0.5'
    """
    return substitute(node, {name: Number(float(v)) for name, v in values.items()})


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
        if node.function in ("add", "subtract"):
            return self._sum(node)
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

    def _sum(self, node: Node) -> Node:
        """Return a sum with its addends fused, those that have a `PowerProduct` in common added up before it."""
        groups: dict[PowerProduct | int, list[tuple[float, Node]]] = {}
        for k, (sign, addend) in enumerate(addends(node)):
            part = self.fused(addend)
            groups.setdefault(_product_in(part) or k, []).append((sign, part))
        parts: list[tuple[float, Node]] = []
        for common, group in groups.items():
            if isinstance(common, int) or len(group) == 1:
                parts += group
                continue
            # It is the last factor of each.
            others = [(sign, chain("multiply", _factors(part)[:-1] or [Number(1.0)])) for sign, part in group]
            parts.append((1.0, Call("multiply", (added(others), common))))
        return added(parts)

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


def _product_in(node: Node) -> PowerProduct | None:
    """Return the `PowerProduct` of a fused product, which is its last factor."""
    last = node.arguments[-1] if isinstance(node, Call) and node.function == "multiply" else node
    return last if isinstance(last, PowerProduct) else None


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
