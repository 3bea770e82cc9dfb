"""Sums of products of powers, the shape of most expressions: all their terms for many sets of constants at once.

A bound tree is walked node by node, with calls of numpy at each. Where it is

    T = Σ_t f_t · g_t · exp(Σ_k p_tk · L_tk)

with constants f and p, and g and L known from a table's columns, a few calls give all terms together: the time goes
into the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from genperf.formula.nodes import Call, Column, Name, Node, Number, PowerProduct

Array = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

#: Stands for the position of the constant in a term without one.
NO_CONSTANT = -1


@dataclass(frozen=True, eq=False)
class PowerSum:
    """A sum of products of powers, in constants given by their positions.

    Attributes
    ----------
    plain : tuple of (int, ndarray of shape (rows,))
        Terms without a power: the position of f_t (`NO_CONSTANT` where there is none), and g_t.
    factor : ndarray of int of shape (terms,)
        Positions of f_t in the terms with powers.
    multiplier : ndarray of shape (terms, rows), or None
        g_t of these terms; None is one throughout.
    exponent : ndarray of int of shape (terms, k)
        Positions of p_tk.
    logarithms : ndarray of shape (terms, k, rows)
        L_tk; zero where a term has fewer than k.
    rows : int
    """

    plain: tuple[tuple[int, Array], ...]
    factor: Positions
    multiplier: Array | None
    exponent: Positions
    logarithms: Array
    rows: int

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
            for t, first, count in self._runs:
                at = by.index(first) if first in column else len(by)
                if by[at : at + count] == tuple(range(first, first + count)):
                    np.multiply(terms[:, t, None, :], self.logarithms[t, :count], out=slopes[:, at : at + count])
                    for position in range(first, first + count):
                        del column[position]
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
    def _runs(self) -> list[tuple[int, int, int]]:
        """The terms whose exponents stand in no other term and follow each other: term, first position, count."""
        counts = self.logarithms.any(axis=2).sum(axis=1)
        used = [self.exponent[t, :count].tolist() for t, count in enumerate(counts)]
        everywhere = [position for positions in used for position in positions]
        out = []
        for t, positions in enumerate(used):
            whole = bool(self.logarithms[t, : len(positions)].any(axis=1).all())
            alone = all(everywhere.count(position) == 1 for position in positions)
            if positions and whole and alone and positions == list(range(positions[0], positions[0] + len(positions))):
                out.append((t, positions[0], len(positions)))
        return out

    @cached_property
    def _uses(self) -> dict[int, list[tuple[int, slice | Positions]]]:
        """For each exponent's position, the k and the terms where it stands; a slice if the terms are consecutive."""
        uses: dict[int, list[tuple[int, slice | Positions]]] = {}
        for k in range(self.exponent.shape[1]):
            used = self.logarithms[:, k].any(axis=1)
            for position in np.unique(self.exponent[used, k]):
                among = np.flatnonzero(used & (self.exponent[:, k] == position))
                run = slice(int(among[0]), int(among[-1]) + 1)
                uses.setdefault(int(position), []).append((k, run if among.size == run.stop - run.start else among))
        return uses


@dataclass
class _Term:
    """The parts of one addend: a constant, columns and numbers, and powers."""

    sign: float
    constant: int = NO_CONSTANT
    multiplier: Array | float = 1.0
    powers: list[tuple[int, Array]] = field(default_factory=list)


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
        None where the tree has another shape, or a constant stands in front of two terms.

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
    terms: list[_Term] = []
    for sign, addend in _addends(node, 1.0):
        term = _Term(sign)
        if not _gather(addend, positions, term):
            return None
        terms.append(term)
    fronts = [t.constant for t in terms if t.constant != NO_CONSTANT]
    inside = {position for t in terms for position, _ in t.powers}
    if len(set(fronts)) < len(fronts) or not inside.isdisjoint(fronts):
        return None
    multipliers = [np.broadcast_to(t.sign * np.asarray(t.multiplier, float), rows) for t in terms]
    powered = [t for t in terms if t.powers]
    max_powers = max((len(t.powers) for t in powered), default=0)
    exponent = np.zeros((len(powered), max_powers), np.intp)
    logarithms = np.zeros((len(powered), max_powers, rows))
    for i, term in enumerate(powered):
        for k, (position, values) in enumerate(term.powers):
            exponent[i, k], logarithms[i, k] = position, values
    beside = np.array([m for m, t in zip(multipliers, terms, strict=True) if t.powers]).reshape(len(powered), rows)
    return PowerSum(
        tuple((t.constant, m) for m, t in zip(multipliers, terms, strict=True) if not t.powers),
        np.array([t.constant for t in powered], np.intp),
        None if np.all(beside == 1.0) else beside,
        exponent,
        logarithms,
        rows,
    )


def _addends(node: Node, sign: float) -> list[tuple[float, Node]]:
    match node:
        case Call("add", (left, right)):
            return _addends(left, sign) + _addends(right, sign)
        case Call("subtract", (left, right)):
            return _addends(left, sign) + _addends(right, -sign)
        case Call("negative", (inner,)):
            return _addends(inner, -sign)
        case _:
            return [(sign, node)]


def _gather(node: Node, positions: Mapping[str, int], term: _Term) -> bool:
    """Add a product's factors to a term.

    Parameters
    ----------
    node : Node
    positions : mapping of str to int
        Position of each constant in a set.
    term : _Term
        Changed in place.

    Returns
    -------
    bool
        Whether the product has no factors but a constant, columns, numbers and powers.
    """
    match node:
        case Call("multiply", (left, right)):
            return _gather(left, positions, term) and _gather(right, positions, term)
        case Call("divide", (left, Column(values) | Number(values))):
            term.multiplier = term.multiplier / np.asarray(values, float)
            return _gather(left, positions, term)
        case Column(values) | Number(values):
            term.multiplier = term.multiplier * np.asarray(values, float)
            return True
        case Name(name) if term.constant == NO_CONSTANT:
            term.constant = positions[name]
            return True
        case PowerProduct(logarithms, exponents):
            names = [e.name for e in exponents if isinstance(e, Name)]
            term.powers += [(positions[name], row) for name, row in zip(names, logarithms, strict=False)]
            return len(names) == len(exponents)
        case _:
            return False
