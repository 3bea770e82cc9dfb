"""Values and exact derivatives of a tree, for many rows and many sets of constants at once.

A value is a scalar, an array of shape (rows,) for a column, or (sets, 1) for a constant with many sets; numpy
broadcasts them. Derivatives are forward mode: exact, also through `max`, which shares its derivative between tied
arguments.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from genperf.arrays import AnyArray, Array
from genperf.formula.nodes import FUNCTIONS, Call, Column, Function, Name, Node, Number, PowerSum, Text

Gradient = dict[str, Any]


def spread(value: Any, inputs: Iterable[Any]) -> AnyArray:
    """Return a value with the shape that it and its inputs have together; a view where it is an array."""
    value, shapes = np.asarray(value), {np.shape(array) for array in inputs}
    is_in_shape = shapes <= {value.shape}
    return value if is_in_shape else np.broadcast_to(value, np.broadcast_shapes(value.shape, *shapes))


def evaluate(node: Node, values: Mapping[str, Any]) -> Any:
    """Return the value of a parsed or bound tree, broadcast; division by zero gives an infinity, no warning.

    >>> from genperf.formula import parse
    >>> evaluate(parse("a + b*log2(n)").node, {"a": 1.0, "b": 0.5, "n": np.array([1.0, 8.0])})
    array([1. , 2.5])
    """
    with np.errstate(all="ignore"):
        return _value(node, values)


def values_of(node: Node, columns: Mapping[str, Any]) -> Array:
    """Return the numbers of the tree over some columns of one shape, in that shape."""
    return np.array(spread(evaluate(node, columns), columns.values()), float)


def _stacked(values: Iterable[Any]) -> Array:
    """Return values, each a number or of shape (sets, 1), as columns of one array; of numbers alone, it has one row."""
    arrays = [np.asarray(value, float) for value in values]
    stacked = np.empty((max(a.shape[0] if a.ndim else 1 for a in arrays), len(arrays)))
    for k, array in enumerate(arrays):
        stacked[:, k] = array[:, 0] if array.ndim else array
    return stacked


def evaluate_with_gradient(node: Node, values: Mapping[str, Any], by: Collection[str]) -> tuple[Any, Gradient]:
    """Return the value, and its exact derivatives by those of the names in `by` that the tree depends on."""
    with np.errstate(all="ignore"):
        return _walk(node, values, frozenset(by))


def _value(node: Node, values: Mapping[str, Any]) -> Any:
    """Return a node's value."""
    # Of each search hundreds of thousands: tests of the type are faster than patterns.
    if isinstance(node, Call):
        return FUNCTIONS[node.function].value(*[_value(argument, values) for argument in node.arguments])
    if isinstance(node, Name):
        return values[node.name]
    if isinstance(node, PowerSum):
        return node.values(_stacked(values[name] for name in node.names))
    return node.values if isinstance(node, Column) else node.value


def _walk(node: Node, values: Mapping[str, Any], differentiated: frozenset[str]) -> tuple[Any, Gradient]:
    """Return a node's value and derivatives (forward mode)."""
    match node:
        case Call(function, arguments):
            return _chain(FUNCTIONS[function], [_walk(argument, values, differentiated) for argument in arguments])
        case Name(name):
            return values[name], ({name: 1.0} if name in differentiated else {})
        case Number(value) | Text(value) | Column(value):
            return value, {}
        case PowerSum(names):
            constants = _stacked(values[name] for name in names)
            places = tuple(j for j, name in enumerate(names) if name in differentiated)
            if not places:
                return node.values(constants), {}
            result, slopes = node.derivatives(constants, places)
            return result, {names[j]: slopes[:, i] for i, j in enumerate(places)}


def _chain(function: Function, duals: list[tuple[Any, Gradient]]) -> tuple[Any, Gradient]:
    """Return a value, and Σ of its derivative by each argument times that of the argument."""
    arguments = [value for value, _ in duals]
    result = function.value(*arguments)
    gradient: Gradient = {}
    if function.partials is None or not any(argument_gradient for _, argument_gradient in duals):
        return result, gradient
    for partial, (_, argument_gradient) in zip(function.partials(arguments, result), duals, strict=True):
        for name, slope in argument_gradient.items():
            through_argument = partial * slope
            gradient[name] = gradient[name] + through_argument if name in gradient else through_argument
    return result, gradient
