"""Distances between configurations along one factor."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
#: How two values of a factor are apart. *doublings*: |log2 a − log2 b|. *difference*: |a − b|, for factors with values
#: of zero or below. *squared doublings*, *squared*: the squares of both. *level*: 1 for two different levels, 0 for
#: the same.
Metric = Literal["doublings", "squared doublings", "difference", "squared", "level"]


def distances(a: npt.NDArray[Any], b: npt.NDArray[Any], metric: Metric) -> Array:
    """Return the distances between two lists of values.

    A factor has few different values. Each pair of values is compared once.

    Parameters
    ----------
    a, b : ndarray of shape (n,) and (m,)
        Numbers, or the labels of levels.
    metric : {"doublings", "squared doublings", "difference", "squared", "level"}
        A value of zero or below is infinitely many doublings away.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> distances(np.array([2.0]), np.array([1.0, 8.0]), "doublings")
    array([[1., 2.]])
    >>> distances(np.array(["fp32"]), np.array(["fp16", "fp32"]), "level")
    array([[1., 0.]])
    """
    rows, row = np.unique(a, return_inverse=True)
    columns, column = np.unique(b, return_inverse=True)
    between = _between(rows, columns, metric)
    return np.asarray(between[row[:, None], column[None, :]])


def _between(a: npt.NDArray[Any], b: npt.NDArray[Any], metric: Metric) -> Array:
    """Return the distances between values, each of which stands once; shape (n, m)."""
    if metric == "level":
        return np.asarray(a[:, None] != b[None, :], dtype=float)
    x, y = np.asarray(a, dtype=float)[:, None], np.asarray(b, dtype=float)[None, :]
    if metric == "difference":
        return np.asarray(np.abs(x - y))
    if metric == "squared":
        return np.asarray((x - y) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms = [np.where(v > 0.0, np.log2(v), -np.inf) for v in (x, y)]
        between = np.abs(logarithms[0] - logarithms[1])
    return np.asarray(between**2 if metric == "squared doublings" else between)


def width_of(values: npt.NDArray[Any], metric: Metric) -> float:
    """Return the distance along a factor that counts as one: its standard deviation, squared for squared distances.

    It is one for levels, and for a factor of one value.

    Parameters
    ----------
    values : ndarray of shape (rows,)

    Examples
    --------
    >>> width_of(np.array([1.0, 16.0]), "doublings"), width_of(np.array([1.0, 16.0]), "squared doublings")
    (2.0, 4.0)
    """
    if metric == "level":
        return 1.0
    numbers = np.asarray(values, float)
    numbers = np.log2(numbers) if metric in ("doublings", "squared doublings") else numbers
    spread = float(np.var(numbers) if metric in ("squared", "squared doublings") else np.std(numbers))
    return spread if spread > 0.0 else 1.0
