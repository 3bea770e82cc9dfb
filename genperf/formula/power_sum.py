"""Sums of products of powers, the shape of most expressions: all their terms for many sets of constants at once.

A bound tree is walked node by node, with calls of numpy at each. Where it is

    T = Σ_t f_t · g_t · exp(Σ_k p_tk · L_tk)

with constants f and p, and g and L known from a table's columns, a few calls give all terms together: the time goes
into the arithmetic.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genperf.arrays import Array, Index

#: Stands for the position of the constant in a term without one.
NO_CONSTANT = -1


@dataclass(frozen=True, eq=False)
class PowerSum:
    """A sum of products of powers, in constants by their positions among `names`."""

    names: tuple[str, ...]
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
            for position in column.keys() & self._uses.keys():
                slope, ((k, among), *others) = column.pop(position), self._uses[position]
                np.einsum("str,tr->sr", terms[:, among], self.logarithms[among, k], out=slope)
                for k, among in others:
                    slope += np.einsum("str,tr->sr", terms[:, among], self.logarithms[among, k])
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
