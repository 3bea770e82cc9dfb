"""The tree a formula is: numbers, texts, names, and calls of allow-listed functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text, only ever compared with a text column."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A column, a factor, a constant or a term, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function of `genperf.formula.functions.FUNCTIONS` and its arguments."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A bound name's values: shape (rows,), or a scalar."""

    values: npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True, eq=False)
class PowerProduct:
    """`Π_k x_k^p_k` over positive columns, as `exp(Σ_k p_k·ln x_k)`: one matrix product for all rows.

    `logarithms` has shape (k, rows); `exponents` holds one tree per column.
    """

    logarithms: npt.NDArray[np.float64]
    exponents: tuple[Node, ...]


class Total(Protocol):
    """What computes a `Summed`: `genperf.formula.power_sum.PowerSum`."""

    def values(self, constants: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]:
        """Return the values for sets of constants, (sets, n) → (sets, rows)."""
        ...

    def derivatives(
        self, constants: npt.NDArray[np.float64], by: tuple[int, ...], /
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the values and their derivatives by some of the constants, (sets, by, rows)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """A sum of products of powers whose terms are computed all together, of the constants `names`."""

    names: tuple[str, ...]
    total: Total


Node: TypeAlias = Number | Text | Name | Call | Column | PowerProduct | Summed


def call(function: str, *arguments: Node | float) -> Call:
    """Build a call; plain numbers become `Number`.

    Examples
    --------
    >>> call("multiply", 2, Name("workers"))
    Call(function='multiply', arguments=(Number(value=2.0), Name(name='workers')))
    """
    return Call(function, tuple(Number(float(a)) if isinstance(a, int | float) else a for a in arguments))


def names_in(node: Node) -> frozenset[str]:
    """Return every name that occurs in the tree.

    Examples
    --------
    >>> sorted(names_in(call("add", Name("a"), call("log2", Name("n")))))
    ['a', 'n']
    """
    match node:
        case Name(name):
            return frozenset((name,))
        case Call(_, arguments) | PowerProduct(_, arguments):
            return frozenset().union(*(names_in(a) for a in arguments))
        case Summed(names):
            return frozenset(names)
        case _:
            return frozenset()


def addends(node: Node, sign: float = 1.0) -> list[tuple[float, Node]]:
    """Return the addends of a sum with their signs, from left to right; a tree that is no sum is its own.

    Examples
    --------
    >>> addends(call("subtract", Name("a"), call("add", Name("b"), Name("c"))))
    [(1.0, Name(name='a')), (-1.0, Name(name='b')), (-1.0, Name(name='c'))]
    """
    match node:
        case Call("add", (left, right)):
            return addends(left, sign) + addends(right, sign)
        case Call("subtract", (left, right)):
            return addends(left, sign) + addends(right, -sign)
        case Call("negative", (inner,)):
            return addends(inner, -sign)
        case _:
            return [(sign, node)]


def added(parts: Sequence[tuple[float, Node]]) -> Node:
    """Return the sum of addends with their signs: what `addends` takes apart.

    Examples
    --------
    >>> added([(1.0, Name("a")), (-1.0, Name("b"))])
    Call(function='subtract', arguments=(Name(name='a'), Name(name='b')))
    """
    (sign, whole), *others = parts
    if sign < 0.0:
        whole = Call("negative", (whole,))
    for sign, part in others:
        whole = Call("add" if sign > 0.0 else "subtract", (whole, part))
    return whole


def substitute(node: Node, by: Mapping[str, Node]) -> Node:
    """Return the tree with names replaced by trees.

    Examples
    --------
    >>> substitute(Name("n"), {"n": Name("workers")})
    Name(name='workers')
    """
    match node:
        case Name(name):
            return by.get(name, node)
        case Call(function, arguments):
            return Call(function, tuple(substitute(a, by) for a in arguments))
        case PowerProduct(logarithms, exponents):
            return PowerProduct(logarithms, tuple(substitute(e, by) for e in exponents))
        case _:
            return node
