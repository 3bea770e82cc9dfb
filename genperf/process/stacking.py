"""Stacking: members weighed by the density of held-out rows, inside the range by folds, beyond it by look-backs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from genperf.growth.measured import Anchors
from genperf.process.growth import Growth, numbered
from genperf.process.means import Mean
from genperf.process.settings import GROWTH, SIZES, STACK
from genperf.process.sizes import Fit
from genperf.process.sums import Basis, Coefficients, fit_sum, log_sum
from genperf.table import Table

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mean with its process, fitted to all rows."""

    #: Of its prior weight: that of the mean, or `growth` where anchors are beside the rows.
    kind: str
    mean: Mean
    basis: Basis
    constants: Coefficients
    fit: Fit
    #: Of each axis, the coordinates of the rows, shape (rows,).
    x: list[npt.NDArray[Any]]
    #: Shape (rows, rows). Of the process, without noise.
    covariance: Array

    @property
    def label(self) -> str:
        """What messages call it."""
        return "growth of its series" if self.kind == "growth" else self.mean.label

    def held_out(
        self, y: Array, train: Rows, test: Rows, anchors: Anchors | None = None
    ) -> tuple[Array, Array, Coefficients]:
        """Return the mean and standard deviation of ln T of new runs at test rows, and the mean's constants.

        The constants of the mean are fitted to the training rows, and the sizes of the process are kept.
        """
        b, kernel, noise = self.basis, self.fit.kernel, self.fit.noise**2
        constants = fit_sum(Basis(b.columns[train], b.ridge, b.levels[train]), y[train], self.constants)
        curve = log_sum(b, constants)
        residual, variance = y[train] - curve[train], noise * self.fit.factors[train]
        centre = float(residual.mean())
        if anchors is None or self.kind != "growth":
            K, across = self.covariance[np.ix_(train, train)], self.covariance[np.ix_(train, test)]
        else:
            residual = np.append(residual, self.residual(anchors, constants))
            variance = np.append(variance, anchors.variance)
            ahead = [axis.coordinates(anchors.columns) for axis in kernel.axes]
            known = [np.concatenate([x[train], z]) for x, z in zip(self.x, ahead, strict=True)]
            K = kernel.between([(z, z) for z in known])
            across = kernel.between([(z, x[test]) for z, x in zip(known, self.x, strict=True)])
        K[np.diag_indices(len(K))] += variance
        factor = cho_factor(K, lower=True, check_finite=False)
        solved = cho_solve(factor, np.column_stack([residual - centre, across]), check_finite=False)
        mean = curve[test] + centre + across.T @ solved[:, 0]
        left = np.diag(self.covariance)[test] - np.sum(across * solved[:, 1:], axis=0)
        return mean, np.sqrt(np.maximum(left, 0.0) + noise), constants

    def residual(self, anchors: Anchors, constants: Coefficients) -> Array:
        """Return ln T of anchors over the mean with some constants."""
        return anchors.centre - log_sum(self.mean.basis(anchors.columns), constants)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What the members predicted of held-out rows."""

    #: Shape (held out,).
    rows: Rows
    #: Shape (held out,). ln T.
    y: Array
    #: Shape (held out, members). Of ln T of a new run.
    mean: Array
    sd: Array
    #: Shape (held out,). Number of the fold or look-back.
    part: Rows
    #: Of each part and member.
    constants: list[list[Coefficients]]

    def kept(self, rows: npt.NDArray[np.bool_]) -> HeldOut:
        """Return the predictions of some of the rows."""
        kept = {name: getattr(self, name)[rows] for name in ("rows", "y", "mean", "sd", "part")}
        return replace(self, **kept)

    def log_density(self) -> Array:
        """Return Student's log-density of each row under each member up to a constant, shape (held out, members)."""
        z, v = (self.y[:, None] - self.mean) / self.sd, SIZES.freedom
        return np.asarray(-np.log(self.sd) - 0.5 * (v + 1.0) * np.log1p(z * z / v))

    def errors(self, weights: Array) -> tuple[Array, Array]:
        """Return by how much the pool is above ln T, and the pool's standard deviation, each of shape (held out,)."""
        share = weights / self.sd
        share = share / share.sum(axis=1, keepdims=True)
        centre = np.sum(share * self.mean, axis=1)
        apart = self.sd**2 + (self.mean - centre[:, None]) ** 2
        return centre - self.y, np.sqrt(np.sum(share * apart, axis=1))


def weights_of(densities: Array, row_weights: Array, prior: Array, rounds: int = 300) -> Array:
    """Return the weights that maximise Σ ω ln Σ w·p + Σ π ln w, by expectation and maximisation."""
    p = np.exp(densities - densities.max(axis=1, keepdims=True))
    w = prior / prior.sum()
    for _ in range(rounds):
        share = p * w
        share /= share.sum(axis=1, keepdims=True)
        after = row_weights @ share + prior
        after /= after.sum()
        if np.max(np.abs(after - w)) < 1e-6:
            return np.asarray(after)
        w = after
    return np.asarray(w)


def row_weights(back: HeldOut, folds: int) -> Array:
    """Return ω of look-backs, all of which count as one, and of the rows of the folds, which count as one more."""
    cuts = len(np.unique(back.part))
    each = len(back.rows) / cuts / folds
    return np.concatenate([np.full(len(back.rows), 1.0 / cuts), np.full(folds, each)])


def fold_numbers(count: int, rng: np.random.Generator) -> Rows:
    """Deal rows into folds."""
    folds = np.empty(count, np.intp)
    folds[rng.permutation(count)] = np.arange(count) % min(STACK.folds, count)
    return folds


def cuts_of(values: Array) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows up to each of the largest values but the last, and those within reach beyond it, last first."""
    levels = np.unique(values)
    for cut in levels[-2 : -2 - STACK.cuts : -1] if len(levels) > 2 else ():
        train = np.flatnonzero(values <= cut)
        following = levels[levels > cut][0]
        test = np.flatnonzero((values > cut) & (values <= max(cut * STACK.reach, following)))
        if len(train) >= STACK.fewest_rows and len(np.unique(values[train])) > 1:
            yield train, test


def within_measured_nodes(back: HeldOut, cuts: Sequence[tuple[Rows, Rows]], several: npt.NDArray[np.bool_]) -> HeldOut:
    """Return look-backs without the rows on several nodes that were predicted from one node alone.

    Where the table has several nodes, no question takes that step again. All are kept where nothing else is.
    """
    first = np.array([not several[train].any() for train, _ in cuts])[back.part] & several[back.rows]
    return back if first.all() else back.kept(~first)


def common_error(back: HeldOut, weights: Array, table: Table) -> float:
    """Return the correlation of look-backs' errors between rows that differ in their levels alone, from 0 to 1.

    r = 2·Σ z_i·z_j / Σ (z_i² + z_j²) over pairs of one look-back; pseudo-pairs have half an error in common
    """
    z = np.divide(*back.errors(weights))
    levels, others = (
        numbered(table, [f for f in table.factors if f.numeric is kind])[back.rows] for kind in (False, True)
    )
    same = (back.part[:, None] == back.part) & (others[:, None] == others) & (levels[:, None] < levels)
    i, j = np.nonzero(same)
    square = z[i] ** 2 + z[j] ** 2
    least = STACK.pseudo * float(np.mean(z**2))
    return float(np.clip((2.0 * np.sum(z[i] * z[j]) + least) / (np.sum(square) + 2.0 * least), 0.0, 1.0))


def predict_held_out(
    candidates: Sequence[Candidate], y: Array, parts: Sequence[tuple[Rows, Rows]], growth: Growth | None = None
) -> HeldOut:
    """Predict the test rows of some splits by every member.

    Parameters
    ----------
    growth : Growth, optional
        Where the splits go beyond a count.
    """
    answers, number = [], np.repeat(np.arange(len(parts)), [len(test) for _, test in parts])
    for train, test in parts:
        anchors = None if growth is None else growth.anchors(train, GROWTH.most_looked_back)
        answers.append([c.held_out(y, train, test, anchors) for c in candidates])
    mean = np.vstack([np.column_stack([a[0] for a in each]) for each in answers])
    sd = np.vstack([np.column_stack([a[1] for a in each]) for each in answers])
    rows = np.concatenate([test for _, test in parts])
    return HeldOut(rows, y[rows], mean, sd, number, [[a[2] for a in each] for each in answers])
