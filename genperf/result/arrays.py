"""Arrays as JSON: short ones as lists, long ones packed."""

import base64
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.arrays import Array

#: Size of a number in a model file. Tables hold numbers up to 1e30; their products and squares are far below.
LARGEST = 1e100
#: Numbers up to which an array is written as a list, which a person can read.
LISTED = 16
#: The largest half-precision number of a column; the format itself reaches 2¹⁶.
HALF_RANGE = 2.0**14


def packed(values: npt.ArrayLike) -> dict[str, Any]:
    """Pack numbers as base64: in 4 bytes where that keeps every digit, else in 8."""
    exact = np.ascontiguousarray(values, dtype="<f8")
    with np.errstate(over="ignore"):
        short = exact.astype("<f4")
    name, held = ("float32", short) if np.array_equal(short.astype(float), exact) else ("float64", exact)
    return {"shape": list(exact.shape), name: base64.b64encode(held.tobytes()).decode()}


def in_half_precision(values: Array) -> Array:
    """Round the columns of a matrix to half precision, each in units of its largest number: by 2⁻¹¹ at most."""
    matrix = values.reshape(len(values), -1)
    return _in_halves(matrix, _largest_magnitudes(matrix))[1].reshape(values.shape)


def in_single_precision(values: Array) -> Array:
    """Round to single precision, which a model file packs in four bytes; numbers beyond its range stay as they are."""
    with np.errstate(over="ignore"):
        short = values.astype(np.float32).astype(float)
    outside = ~np.isfinite(short) | ((short == 0.0) & (values != 0.0))
    return np.asarray(np.where(outside, values, short))


def _largest_magnitudes(matrix: Array) -> Array:
    """Return the largest magnitude in each column, and 1 for a column of zeros, so that it can be divided by."""
    # Along contiguous numbers, which is five times as fast as along the rows of a few columns.
    largest = np.abs(np.ascontiguousarray(matrix.T)).max(axis=1, initial=0.0)
    return np.where(largest > 0.0, largest, 1.0)


def _in_halves(matrix: Array, largest: Array) -> tuple[npt.NDArray[np.float16], Array]:
    """Return columns in half precision, the largest number being `HALF_RANGE`, and the numbers that these represent."""
    halves = (matrix / largest * HALF_RANGE).astype("<f2")
    return halves, _from_halves(halves, largest)


def _from_halves(halves: npt.NDArray[Any], largest: Array) -> Array:
    """Return the numbers that half-precision ones represent, by the largest magnitude of each column."""
    return np.asarray(halves.astype(float) / HALF_RANGE * largest)


def unpacked(value: object) -> npt.NDArray[Any]:
    """Read an array that `encoded` wrote.

    >>> unpacked(packed([[0.5], [2.5]])).tolist(), unpacked({"labels": ["a", "b"], "places": [1, 0]}).tolist()
    ([[0.5], [2.5]], ['b', 'a'])
    """
    if isinstance(value, list):
        try:
            numbers = np.array(value, dtype=float)
        except (ValueError, TypeError):
            raise ValueError("Expected numbers in rows of one length") from None
        if not np.all(np.abs(numbers) <= LARGEST):
            raise ValueError("Expected finite numbers")
        return numbers
    if not isinstance(value, dict):
        raise ValueError("Expected an array")
    if set(value) == {"labels", "places"}:
        labels, places = value["labels"], value["places"]
        if not isinstance(labels, list) or not isinstance(places, list) or not all(isinstance(v, str) for v in labels):
            raise ValueError("Expected labels and places")
        if not all(isinstance(k, int) and 0 <= k < len(labels) for k in places):
            raise ValueError("Expected places of the labels")
        return np.array([*labels, None], dtype=object)[:-1][places]
    if set(value) == {"shape", "float16", "largest"}:
        halves, largest = _packed_numbers(value["shape"], value["float16"], "<f2"), unpacked(value["largest"])
        columns = halves.shape[1] if halves.ndim == 2 else 1
        if halves.ndim not in (1, 2) or largest.shape != (columns,):
            raise ValueError("Expected the largest number of each column")
        return _from_halves(halves.reshape(len(halves), columns), largest).reshape(halves.shape)
    kinds = {"float32": "<f4", "float64": "<f8"}
    kind = next((k for k in kinds if set(value) == {"shape", k}), None)
    if kind is None:
        raise ValueError("Expected an array")
    return _packed_numbers(value["shape"], value[kind], kinds[kind])


def _packed_numbers(shape: object, text: object, kind: str) -> Array:
    """Return the numbers of a shape that a base64 text holds in a format, such as `<f4`; else a `ValueError`."""
    if not isinstance(shape, list) or not all(isinstance(n, int) and 0 <= n < 2**31 for n in shape):
        raise ValueError("Expected the lengths of an array")
    try:
        held = np.frombuffer(base64.b64decode(str(text), validate=True), dtype=kind)
    except ValueError:
        raise ValueError("Expected packed numbers") from None
    if len(held) != math.prod(shape) or not np.all(np.abs(held.astype(float)) <= LARGEST):
        raise ValueError(f"Expected {math.prod(shape)} finite numbers")
    return held.astype(float).reshape(shape)


def encoded(values: npt.NDArray[Any]) -> object:
    """Return a vector or a matrix as plain values: a list, packed numbers, or labels with their places."""
    if values.dtype == object:
        labels, places = np.unique(values.astype(str), return_inverse=True)
        return {"labels": labels.tolist(), "places": places.tolist()}
    if values.size <= LISTED:
        return values.tolist()
    matrix = values.reshape(len(values), -1)
    largest = _largest_magnitudes(matrix)
    # Numbers of another precision show that in the first rows; then all are compared, and these `halves` are written.
    for rows in (matrix[:2], matrix):
        halves, rounded = _in_halves(rows, largest)
        if not np.array_equal(rounded, rows):
            return packed(values)
    text = base64.b64encode(halves.tobytes()).decode()
    return {"shape": list(values.shape), "float16": text, "largest": encoded(largest)}
