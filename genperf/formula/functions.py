"""The allow-list: every operator and function a formula may use, with its value and exact derivatives.

One row per function: parsing, evaluation, differentiation and printing all read this table, so a new
function is one new row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Function:
    """One operator or function."""

    #: Arrays in, array out.
    value: Callable[..., Any]
    #: `(arguments, result) -> ` one array per argument, the derivative of the result by it; None where the result is a
    #: truth value.
    partials: Callable[[Values, Any], Sequence[Any]] | None
    #: `least`, `most`: range of the number of arguments.
    least: int
    most: int
    #: The operator's sign; None for a function written with brackets.
    symbol: str | None = None
    #: Binding strength of the sign, larger binds tighter.
    precedence: int = 100


def _extreme_partials(arguments: Values, result: Any) -> list[Any]:
    """Share the derivative between the arguments that attain the extreme value."""
    hits = [np.equal(a, result).astype(float) for a in arguments]
    total = sum(hits[1:], hits[0])
    return [h / np.maximum(total, 1.0) for h in hits]


def _power_partials(arguments: Values, result: Any) -> list[Any]:
    base, exponent = arguments
    by_base = exponent * np.power(base, exponent - 1.0)
    by_exponent = result * np.log(np.where(np.greater(base, 0.0), base, 1.0))
    return [by_base, by_exponent]


def _reduce(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def over(*arguments: Any) -> Any:
        result = arguments[0]
        for a in arguments[1:]:
            result = operation(result, a)
        return result

    return over


def _zero(arguments: Values, _: Any) -> list[float]:
    return [0.0 for _ in arguments]


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
    "min": Function(_reduce(np.minimum), _extreme_partials, 2, 16),
    "max": Function(_reduce(np.maximum), _extreme_partials, 2, 16),
    "ceil": Function(np.ceil, _zero, 1, 1),
    "floor": Function(np.floor, _zero, 1, 1),
    "where": Function(
        np.where,
        lambda a, r: (0.0, np.where(a[0], 1.0, 0.0), np.where(a[0], 0.0, 1.0)),
        3,
        3,
    ),
}

#: Names that may be written with brackets in a formula.
CALLABLE = tuple(name for name, f in FUNCTIONS.items() if f.symbol is None)

#: Functions whose result is true or false.
LOGICAL = frozenset(name for name, f in FUNCTIONS.items() if f.partials is None)
