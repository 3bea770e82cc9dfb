"""An execution-time expression with named terms and bounded constants; any other positive target may have one too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Array, Columns, Mask
from genperf.errors import ModelError, suggest
from genperf.formula import PowerSum, bind, evaluate, evaluate_with_gradient, latex, render, spread, values_of
from genperf.formula.bind import power_sum, with_sums
from genperf.formula.nodes import Call, Name, Node, Number, bind_values, chain, names_in, substitute

Kind = Literal["coefficient", "exponent", "level", "shape"]
Part = Literal["scale", "intrinsic", "extrinsic", "step", "level"]


class ConstantMeaning(NamedTuple):
    """The meaning of a constant for the factors, where its family has one."""

    #: The *scale* of a term, the power of an *intrinsic* or *extrinsic* factor, the *step* of a count between alone and
    #: together, or the *level* of a categorical factor.
    part: Part
    factor: str = ""  #: The factor of a power or step, or whose term it scales; empty for another.
    #: `categorical`, `level`: the level at which it holds, of which factor; of a combination with colons between.
    categorical: str = ""
    level: str = ""
    term: int = 0  #: The number of its product term; 0 where every term has it, or the terms are no products.

    @property
    def effect(self) -> str:
        """The factor whose effect it is: of a power that differs at a level the categorical one."""
        return self.categorical or self.factor


class Constant(Struct, frozen=True):
    """A constant of an expression, to be fitted."""

    name: str
    #: A *coefficient* multiplies a term: the total is homogeneous of degree one in all of them together. The others are
    #: non-linear: an *exponent* of a factor, the *level* of a categorical factor (its logarithmic effect), a *shape* of
    #: the total (such as the order of a p-norm).
    kind: Kind
    #: `lower`, `upper`: bounds; a coefficient has lower bound 0 unless it may have either sign.
    lower: float = 0.0
    upper: float = float("inf")
    start: float = 1.0  #: Where a search begins by default; for a coefficient, in units of its scale.
    penalised: bool = True  #: Whether the penalty pulls it towards zero.
    unit: str = ""  #: For printing; `s` for a coefficient of a time.
    #: What counts as one in the penalty, of a constant that is no coefficient: a smaller size is pulled harder.
    size: float = 1.0
    meaning: ConstantMeaning | None = None


def coefficient(name: str, unit: str = "s") -> Constant:
    """Return a coefficient that is not negative."""
    return Constant(name, "coefficient", unit=unit)


def exponent(name: str, lower: float, upper: float, start: float = 0.0) -> Constant:
    """Return an exponent within bounds; a search begins at `start` by default."""
    return Constant(name, "exponent", float(lower), float(upper), start)


class Term(Struct, frozen=True, dict=True):
    """A named part of the total, in the target's unit."""

    name: str
    node: Node

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the factors and constants it reads."""
        return names_in(self.node)

    @cached_property
    def text(self) -> str:
        """The term as text."""
        return render(self.node)


class Expression(Struct, frozen=True, dict=True):
    """An execution-time expression: `T = total(terms)`, by default their sum.

    >>> from genperf.formula import parse
    >>> amdahl = Expression(
    ...     "amdahl",
    ...     (Term("serial", parse("c").node), Term("parallel", parse("a/workers").node)),
    ...     (coefficient("c"), coefficient("a")),
    ... )
    >>> str(amdahl)
    'c + a/workers'
    >>> amdahl.evaluate({"workers": np.array([1.0, 4.0])}, {"c": 1.0, "a": 8.0})
    array([9., 3.])
    """

    family: str  #: Name of the family it belongs to, or `formula` for a user's formula.
    #: In the order they are printed.
    terms: tuple[Term, ...]
    constants: tuple[Constant, ...]
    #: A tree over the terms' names (`forward + max(backward, communication)`); None is the sum.
    total: Node | None = None

    @property
    def freedom(self) -> float:
        """The number of constants, each of which counts as its size: one that is held near zero counts little."""
        return sum(min(c.size, 1.0) for c in self.constants)

    @cached_property
    def node(self) -> Node:
        """The whole expression as one tree."""
        if self.total is None:
            return chain("add", [t.node for t in self.terms])
        return substitute(self.total, {t.name: t.node for t in self.terms})

    @cached_property
    def constant_names(self) -> tuple[str, ...]:
        """Names of the constants, in order."""
        return tuple(c.name for c in self.constants)

    def named(self, which: Mask) -> tuple[str, ...]:
        """Return the names of some of the constants."""
        return tuple(compress(self.constant_names, which))

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors it reads."""
        return tuple(sorted(names_in(self.node) - set(self.constant_names)))

    @property
    def is_sum(self) -> bool:
        """Whether the total is the sum of its terms."""
        return self.total is None

    @cached_property
    def is_linear(self) -> bool:
        """Whether the total is linear in the coefficients: a sum of terms, none of which has one inside a function."""
        names = frozenset(c.name for c in self.constants if c.kind == "coefficient")
        return self.is_sum and all(_is_linear(t.node, names) for t in self.terms)

    def __str__(self) -> str:
        return self.text()

    def text(self, constants: Mapping[str, float] | None = None, digits: int = 4) -> str:
        """Return the expression as text: `a + b/n`, or `0.5 + 2/n` with the constants' values, rounded to `digits`.

        With values, the terms of a sum that are zero are left out.
        """
        return render(self.filled(constants), f"{{:.{digits}g}}".format)

    def latex(self, constants: Mapping[str, float] | None = None, digits: int = 4) -> str:
        """Return the expression as LaTeX."""
        return "T = " + latex(self.filled(constants), lambda v: f"{v:.{digits}g}")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def filled(self, constants: Mapping[str, float] | None) -> Node:
        """Return the tree with the constants' values in their place, without terms that are zero."""
        return self.node if constants is None else bind_values(self.without_zeros(constants).node, constants)

    def without_zeros(self, constants: Mapping[str, float]) -> Expression:
        """Return a sum without the terms that are zero and the constants of these; any other total as it is."""
        coefficients = {c.name: constants[c.name] for c in self.constants if c.kind == "coefficient"}
        of_terms = [[value for name, value in coefficients.items() if name in t.names] for t in self.terms]
        stays = tuple(any(of_term) or not of_term for of_term in of_terms)
        if not (self.is_sum and any(stays)) or all(stays):
            return self
        terms = tuple(compress(self.terms, stays))
        read = {name for term in terms for name in term.names}
        return replace(self, terms=terms, constants=tuple(c for c in self.constants if c.name in read))

    def with_fixed(self, values: Mapping[str, float]) -> Expression:
        """Return the expression with some constants held at values."""
        for name in values:
            if name not in self.constant_names:
                hint = suggest(name, self.constant_names)
                raise ModelError(f"'{self.family}' has no constant '{name}' to fix", hint=hint)
        held = self.substituted({name: Number(float(value)) for name, value in values.items()})
        return replace(held, constants=tuple(c for c in self.constants if c.name not in values))

    def substituted(self, by: Mapping[str, Node]) -> Expression:
        """Return the expression with names replaced by trees."""
        terms = tuple(Term(t.name, substitute(t.node, by)) for t in self.terms)
        return replace(self, terms=terms, total=None if self.total is None else substitute(self.total, by))

    def evaluate(self, columns: Columns, constants: Mapping[str, Any]) -> Array:
        """Return the total in the target's unit, (rows,); (sets, rows) where the constants are of shape (sets, 1)."""
        return values_of(self.node, {**columns, **constants})

    def term_values(self, columns: Columns, constants: Mapping[str, Any]) -> dict[str, Array]:
        """Return the values of each term in the target's unit, shaped as `evaluate` does."""
        values = {**columns, **constants}
        return {term.name: values_of(term.node, values) for term in self.terms}

    def gradient(
        self, columns: Columns, constants: Mapping[str, Any], by: Sequence[str]
    ) -> tuple[Array, dict[str, Array]]:
        """Return the values of the total, shaped as `evaluate` does, and their exact derivatives by some names."""
        values = {**columns, **constants}
        total, slopes = evaluate_with_gradient(self.node, values, by)
        value_and_slopes = (total, *(slopes.get(name, 0.0) for name in by))
        value, *derivatives = (np.asarray(spread(array, values.values()), float) for array in value_and_slopes)
        return value, dict(zip(by, derivatives, strict=True))

    def bind(self, columns: Columns, rows: int | None = None) -> BoundExpression:
        """Put a table's columns, of shape (rows,), in: what is left is a function of the constants alone."""
        if rows is None:
            rows = max((len(c) for c in columns.values()), default=1)
        return BoundExpression(self, bind(self.node, columns), rows)


def _is_linear(node: Node, names: frozenset[str]) -> bool:
    """Return whether a tree is linear in some names together."""
    match node:
        case Call("add" | "subtract" | "negative", arguments):
            return all(_is_linear(argument, names) for argument in arguments)
        case Call("multiply", (left, right)) if names.isdisjoint(names_in(left)):
            return _is_linear(right, names)
        case Call("multiply" | "divide", (left, right)) if names.isdisjoint(names_in(right)):
            return _is_linear(left, names)
        case _:
            return isinstance(node, Name) or names.isdisjoint(names_in(node))


class BoundExpression(Struct, frozen=True, dict=True):
    """An expression with a table's columns put in: constants (sets, n) → predicted values (sets, rows)."""

    expression: Expression
    node: Node
    rows: int

    @cached_property
    def _tree(self) -> Node:
        """The whole as one sum of products of powers, where it is one; else with the sums inside it so."""
        sum_of_products = power_sum(self.node, self.expression.constant_names, self.rows)
        return sum_of_products or with_sums(self.node, self.rows)

    def _values(self, constants: Array) -> dict[str, Array]:
        """Return each constant by name, shape (sets, 1)."""
        return {name: constants[:, j : j + 1] for j, name in enumerate(self.expression.constant_names)}

    def predict(self, constants: Array) -> Array:
        """Return predicted values of shape (sets, rows)."""
        # A sum of products of powers has all its terms in few calls.
        if isinstance(self._tree, PowerSum):
            return self._tree.values(constants)
        value = evaluate(self._tree, self._values(constants))
        return np.asarray(np.broadcast_to(value, (len(constants), self.rows)), float)

    def jacobian(self, constants: Array) -> tuple[Array, Array]:
        """Return predicted values (sets, rows) and their exact derivatives (sets, rows, n)."""
        # Each derivative is contiguous in memory; the returned view has the constants last.
        if isinstance(self._tree, PowerSum):
            predicted, slopes = self._tree.derivatives(constants, tuple(range(constants.shape[1])))
            return predicted, np.swapaxes(slopes, 1, 2)
        names = self.expression.constant_names
        value, gradient = evaluate_with_gradient(self._tree, self._values(constants), names)
        slopes = np.zeros((len(constants), len(names), self.rows))
        for j, name in enumerate(names):
            slopes[:, j, :] = gradient.get(name, 0.0)
        value = np.broadcast_to(value, (len(constants), self.rows))
        return np.asarray(value, float), np.swapaxes(slopes, 1, 2)
