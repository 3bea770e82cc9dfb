"""Sums of products as means: non-negative coefficients and levels, fitted in ln T by damped Gauss–Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from genperf.process.settings import SUMS
from genperf.solver.nonnegative import nonnegative_least_squares

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Basis:
    """The columns of a sum, at the rows of a table.

    ln m = Σ_l d_l·1[level l] + ln Σ_j c_j·φ_j,   c ≥ 0
    """

    #: Shape (rows, columns). φ.
    columns: Array
    #: Shape (columns,). Of each column at unit length.
    ridge: Array
    #: Shape (rows, levels). Ones where a row has a level.
    levels: Array


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The constants of a sum: c of each column and d of each level."""

    columns: Array
    levels: Array


def fit_sum(basis: Basis, y: Array, start: Coefficients | None = None) -> Coefficients:
    """Return the constants of a sum nearest to ln T.

    Parameters
    ----------
    y : ndarray of shape (rows,)
        ln T.
    start : Coefficients, optional
        Of a fit to more rows: its coefficients are where the steps begin.
    """
    levels = np.zeros(basis.levels.shape[1]) if start is None else start.levels
    if start is None:
        c = _solved(basis, np.exp(-y)[:, None] * basis.columns, np.ones(len(y)), np.zeros(basis.columns.shape[1]))
        steps = SUMS.steps
    else:
        c, steps = start.columns, SUMS.refits
    error = _loss(basis, c, levels, y)
    for _ in range(steps):
        levels = _levels(basis, y - _log(basis, c))
        shifted = y - basis.levels @ levels
        f = np.exp(_log(basis, c))
        target = shifted - np.log(f) + 1.0
        wanted = _solved(basis, basis.columns / f[:, None], target, c)
        error, step = _loss(basis, c, levels, y), 1.0
        while step > 0.05:
            tried = c + step * (wanted - c)
            after = _loss(basis, tried, levels, y)
            if after < error:
                break
            step *= 0.5
        else:
            break
        small = error - after < 1e-4 * error
        c = tried
        if small:
            break
    return Coefficients(c, levels)


def without_traces(basis: Basis, constants: Coefficients, y: Array) -> Coefficients:
    """Return the constants of a sum without the columns that are a trace of the time everywhere, fitted again."""
    shares = basis.columns * constants.columns / np.exp(_log(basis, constants.columns))[:, None]
    kept = np.flatnonzero(shares.max(axis=0) >= SUMS.trace)
    if not len(kept):
        return constants
    part = Basis(basis.columns[:, kept], basis.ridge[kept], basis.levels)
    fitted = fit_sum(part, y, Coefficients(constants.columns[kept], constants.levels))
    columns = np.zeros_like(constants.columns)
    columns[kept] = fitted.columns
    return Coefficients(columns, fitted.levels)


def log_sum(basis: Basis, constants: Coefficients) -> Array:
    """Return ln m at the rows of a basis."""
    return np.asarray(_log(basis, constants.columns) + basis.levels @ constants.levels)


def _log(basis: Basis, c: Array) -> Array:
    """Return ln Σ c·φ; where all is zero, that of the smallest number."""
    return np.asarray(np.log(np.maximum(basis.columns @ c, 1e-300)))


def _solved(basis: Basis, A: Array, target: Array, start: Array) -> Array:
    """Return c ≥ 0 that minimises |A·c − target|² with the ridge on columns of unit length; a few enter at a time."""
    length = np.linalg.norm(A, axis=0)
    length = np.where(length > 0.0, length, 1.0)
    A, x, used = A / length, np.zeros(A.shape[1]), np.flatnonzero(start)
    while True:
        part = A[:, used]
        gram = part.T @ part + np.diag(basis.ridge[used])
        x[:] = 0.0
        x[used] = nonnegative_least_squares(gram[None], (part.T @ target)[None])[0]
        slope = A.T @ (target - part @ x[used]) - basis.ridge * x
        slope[used] = 0.0
        steepest = np.argsort(-slope, kind="stable")[: SUMS.entering]
        entering = steepest[slope[steepest] > 1e-9 * len(target)]
        if not len(entering):
            return np.asarray(x / length)
        used = np.append(np.flatnonzero(x), entering)


def _levels(basis: Basis, residual: Array) -> Array:
    """Return the levels' effects, each shrunk toward zero, by ridge regression."""
    L = basis.levels
    if not L.shape[1]:
        return np.zeros(0)
    return np.asarray(np.linalg.solve(L.T @ L + SUMS.level_ridge * np.eye(L.shape[1]), L.T @ residual))


def _loss(basis: Basis, c: Array, levels: Array, y: Array) -> float:
    """Return the squared error in ln T with the ridge, on coefficients as shares of the mean time."""
    f = np.exp(_log(basis, c))
    used = np.flatnonzero(c)
    share = np.sum((basis.columns[:, used] * c[used] / f[:, None]) ** 2, axis=0)
    away = y - np.log(f) - basis.levels @ levels
    return float(away @ away + basis.ridge[used] @ share)
