"""Level effects learned from residuals: how much of them is there is for the data to say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from genperf.estimate.robust import robust_sd
from genperf.prediction.shift import Shift, kernel
from genperf.table import Factor, Table

Array = npt.NDArray[np.float64]

#: Doublings in which an effect falls to 1/e: neighbouring counts share a seventh of it.
LENGTH = 0.5
#: Ratios of the effects' variance to a residual's among which the likelihood chooses; 0 is no effect at all.
RATIOS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
#: Robust standard deviations at which a residual is cut.
FAR = 2.0
#: A count with fewer levels has no level effects.
FEWEST_LEVELS = 3


def fit_shift(table: Table, residuals: Array) -> Shift | None:
    """Learn level effects of the extrinsic count that has most of them.

        r = u(level) + e,   cov(u) = g·σ²·exp(−|Δ log2 n| / length),   var(e) = σ²

    g and σ² are those of largest likelihood, over a grid of g with 0 in it.

    Parameters
    ----------
    table : Table
        One row per configuration.
    residuals : ndarray of shape (rows,)
        ln(measured/fitted).

    Returns
    -------
    Shift or None
        None where no count is better explained with effects than without.
    """
    cut = FAR * float(robust_sd(residuals))
    clipped = np.clip(residuals, -cut, cut)
    best: tuple[float, Shift] | None = None
    for factor in counts_of(table.factors):
        found = _one_count(factor, table.columns[factor.name], clipped)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return None if best is None else best[1]


def counts_of(factors: Sequence[Factor]) -> list[Factor]:
    """Return the extrinsic factors above zero with enough levels to tell one from the others."""
    return [f for f in factors if f.role == "extrinsic" and f.positive and f.distinct >= FEWEST_LEVELS]


def _one_count(factor: Factor, values: Array, residuals: Array) -> tuple[float, Shift] | None:
    """Return the gain in log-likelihood, and the effects, where there are any."""
    levels, at = np.unique(values, return_inverse=True)
    rows = np.bincount(at).astype(float)
    means = np.bincount(at, residuals) / rows
    within = float(np.sum((residuals - means[at]) ** 2))
    across = kernel(levels, levels, LENGTH)
    fits = []
    for ratio in RATIOS:
        # The level means' covariance over σ².
        V = np.diag(1.0 / rows) + ratio * across
        dual = np.linalg.solve(V, means)
        variance = (within + float(means @ dual)) / len(residuals)
        if variance <= 0.0:
            return None
        likelihood = -0.5 * (len(residuals) * np.log(variance) + np.linalg.slogdet(V)[1] + np.sum(np.log(rows)))
        fits.append((float(likelihood), Shift(factor.name, levels, ratio * dual, LENGTH)))
    best = max(range(len(fits)), key=lambda k: fits[k][0])
    return None if best == 0 else (fits[best][0] - fits[0][0], fits[best][1])
