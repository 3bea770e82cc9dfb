"""Binding: put a table's columns into a tree once and compute all that does not depend on the constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.formula.evaluate import evaluate
from genperf.formula.nodes import Call, Column, Name, Node, Number, PowerProduct, Text, names_in, substitute


def bind(node: Node, columns: Mapping[str, Any]) -> Node:
    """Return the tree with columns put in, and every part computed that depends on nothing else.

    Products of powers of positive columns become one `PowerProduct`: one matrix product for many sets of exponents.

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
    >>> from genperf.formula import parse
    >>> tree = bind(parse("a*(n/2)**p").node, {"n": np.array([2.0, 8.0])})
    >>> sorted(names_in(tree)), evaluate(tree, {"a": 3.0, "p": 0.5})
    (['a', 'p'], array([3., 6.]))
    """
    return _fuse(_fold(node, columns))


def bind_values(node: Node, values: Mapping[str, float]) -> Node:
    """Return the tree with some names fixed to numbers.

    Examples
    --------
    >>> from genperf.formula import parse, render
    >>> render(bind_values(parse("a*n + c").node, {"c": 0.5}))
    'a*n + 0.5'
    """
    return substitute(node, {name: Number(float(v)) for name, v in values.items()})


def _fold(node: Node, columns: Mapping[str, Any]) -> Node:
    match node:
        case Name(name):
            return Column(np.asarray(columns[name])) if name in columns else node
        case Call(function, arguments):
            folded = Call(function, tuple(_fold(a, columns) for a in arguments))
            if names_in(folded):
                return folded
            if any(isinstance(a, Column) for a in folded.arguments):
                return Column(np.asarray(evaluate(folded, {})))
            if any(isinstance(a, Text) for a in folded.arguments):
                return folded
            return Number(float(evaluate(folded, {})))
        case _:
            return node


def _fuse(node: Node) -> Node:
    """Gather the powers of positive columns, and the exponentials of columns, of each product into a `PowerProduct`."""
    if not isinstance(node, Call):
        return node
    if node.function != "multiply" and not _power(node):
        return Call(node.function, tuple(_fuse(a) for a in node.arguments))
    powers: list[tuple[Column, Node]] = []
    others: list[Node] = []
    for factor in _factors(node):
        power = _power(factor)
        if power:
            powers.append(power)
        else:
            others.append(_fuse(factor))
    if powers:
        logarithms = np.array([column.values.astype(float) for column, _ in powers])
        others.append(PowerProduct(logarithms, tuple(_fuse(exponent) for _, exponent in powers)))
    product = others[0]
    for factor in others[1:]:
        product = Call("multiply", (product, factor))
    return product


def _factors(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.function == "multiply":
        return [f for a in node.arguments for f in _factors(a)]
    return [node]


def _power(node: Node) -> tuple[Column, Node] | None:
    """Return L and p of a node that is `exp(L·p)` for a column L and p in the constants alone.

    Both `column**p`, for a column that is positive throughout (L is its logarithm), and `exp(p*column)` are.
    """
    match node:
        case Call("power", (Column(values), exponent)) if _varies(values) and not _holds_column(exponent):
            base = values.astype(float)
            return (Column(np.log(base)), exponent) if bool(np.all(base > 0)) else None
        case Call("exp", (Call("multiply", (Column(values) as column, other)),)) if _varies(values):
            return None if _holds_column(other) else (column, other)
        case Call("exp", (Call("multiply", (other, Column(values) as column)),)) if _varies(values):
            return None if _holds_column(other) else (column, other)
        case _:
            return None


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
