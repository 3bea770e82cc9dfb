"""Sums of products as means: non-negative coefficients and levels, fitted in ln T by damped Gauss–Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from genperf.process.settings import SUMS
from genperf.solver.nonnegative import nonnegative_least_squares

Array = npt.NDArray[np.float64]


class Coefficients(NamedTuple):
    """The constants of a sum: c of each column and d of each level."""

    columns: Array
    levels: Array


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

    def take(self, rows: npt.NDArray[Any]) -> Basis:
        """Return the basis at some of the rows."""
        return Basis(self.columns[rows], self.ridge, self.levels[rows])

    def log_sum(self, constants: Coefficients) -> Array:
        """Return ln m; where all is zero, that of the smallest number."""
        return np.asarray(self._log(constants.columns) + self.levels @ constants.levels)

    def fitted(self, y: Array, start: Coefficients | None = None) -> Coefficients:
        """Return the constants nearest to ln T, from those of a fit to more rows where they are given."""
        if start is None:
            steps, levels = SUMS.steps, np.zeros(self.levels.shape[1])
            c = self._solved(np.exp(-y)[:, None] * self.columns, np.ones(len(y)), np.zeros(self.columns.shape[1]))
        else:
            steps, (c, levels) = SUMS.refits, start
        for _ in range(steps):
            log = self._log(c)
            levels = self._effects(y - log)
            target = y - self.levels @ levels - log + 1.0
            wanted = self._solved(self.columns / np.exp(log)[:, None], target, c)
            error, step = self._loss(c, levels, y), 1.0
            while (after := self._loss(tried := c + step * (wanted - c), levels, y)) >= error:
                step *= 0.5
                if step < SUMS.least_step:
                    return Coefficients(c, levels)
            c = tried
            if error - after < SUMS.least_gain * error:
                break
        return Coefficients(c, levels)

    def without_traces(self, constants: Coefficients, y: Array) -> Coefficients:
        """Return the constants without the columns that are a trace of the time everywhere, fitted again."""
        shares = self.columns * constants.columns / np.exp(self._log(constants.columns))[:, None]
        kept = np.flatnonzero(shares.max(axis=0) >= SUMS.trace)
        if not len(kept):
            return constants
        part = Basis(self.columns[:, kept], self.ridge[kept], self.levels)
        fitted = part.fitted(y, Coefficients(constants.columns[kept], constants.levels))
        columns = np.zeros_like(constants.columns)
        columns[kept] = fitted.columns
        return Coefficients(columns, fitted.levels)

    def _log(self, c: Array) -> Array:
        """Return ln Σ c·φ."""
        return np.asarray(np.log(np.maximum(self.columns @ c, 1e-300)))

    def _solved(self, A: Array, target: Array, start: Array) -> Array:
        """Return c ≥ 0 that minimises |A·c − target|², the ridge on columns of unit length; a few enter at a time."""
        length = np.linalg.norm(A, axis=0)
        length = np.where(length > 0.0, length, 1.0)
        A, x, used = A / length, np.zeros(A.shape[1]), np.flatnonzero(start)
        while True:
            part = A[:, used]
            gram = part.T @ part + np.diag(self.ridge[used])
            x[:] = 0.0
            x[used] = nonnegative_least_squares(gram[None], (part.T @ target)[None])[0]
            slope = A.T @ (target - part @ x[used]) - self.ridge * x
            slope[used] = 0.0
            steepest = np.argsort(-slope, kind="stable")[: SUMS.entering]
            entering = steepest[slope[steepest] > 1e-9 * len(target)]
            if not len(entering):
                return np.asarray(x / length)
            used = np.append(np.flatnonzero(x), entering)

    def _effects(self, residual: Array) -> Array:
        """Return the levels' effects, each shrunk toward zero, by ridge regression."""
        L = self.levels
        return np.asarray(np.linalg.solve(L.T @ L + SUMS.level_ridge * np.eye(L.shape[1]), L.T @ residual))

    def _loss(self, c: Array, levels: Array, y: Array) -> float:
        """Return the squared error in ln T with the ridge, on coefficients as shares of the mean time."""
        log, used = self._log(c), np.flatnonzero(c)
        share = np.sum((self.columns[:, used] * c[used] / np.exp(log)[:, None]) ** 2, axis=0)
        away = y - log - self.levels @ levels
        return float(away @ away + self.ridge[used] @ share)
