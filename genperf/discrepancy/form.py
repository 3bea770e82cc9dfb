"""How far ln T may lie from a fitted expression between its runs: a stationary process, and its size from residuals.

    κ(x, z) = f²·exp(−½·Σ_j (ln x_j − ln z_j)²/ℓ²)·Π_c ρ^[x_c ≠ z_c]

The expression was fitted, so the process has mean zero. It does not know the residuals: an expression does not
interpolate.
"""

from collections.abc import Sequence

import numpy as np

from genperf.arrays import Array, Columns
from genperf.discrepancy.product import logarithms
from genperf.table import Factor

#: ℓ, e-folds: over two thirds of a doubling a form departs by itself. With 1.0 elasticities of the laws of
#: `experiments/accuracy/factors_told.py` are covered in 86 % (c: 74 %), with 0.5 in 90 % (83 %) at a third more width.
LENGTH = 0.5
#: ρ: what two levels of a factor have in common of the form's error. Of the tuning laws `auto` holds the share of the
#: constant in 89 % (with 0.5: 84) and `generic` *versus* beyond in 87 (84); of the fresh ones in 84 (81) and 84 (86).
LEVELS = 0.85
#: f² over the variance of independent errors: the sizes that are weighed by their likelihood.
RATIOS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
#: Rows from which the size is estimated at most: the time grows with their cube.
MOST_ROWS = 300
#: Random features of many rows: with 128 the standard error of a covariance is 9 % of the variance.
FEATURES = 128


def positions(factors: Sequence[Factor], columns: Columns) -> Array:
    """Return where configurations lie, shape (rows, axes), so that κ/f² = exp(−½·distance²).

    A number has the axis ln x/ℓ, a factor of labels an axis √(−ln ρ)·1[x = level] for each level.
    """
    # Without a factor that varies all lie at one place.
    axes = [np.zeros(len(next(iter(columns.values()))))]
    for factor in (f for f in factors if f.distinct > 1):
        if factor.numeric:
            axes.append(logarithms(np.asarray(columns[factor.name], float), factor.positive) / LENGTH)
        else:
            label = np.asarray(columns[factor.name]).astype(str)
            axes += [np.sqrt(-np.log(LEVELS)) * (label == level) for level in factor.levels]
    return np.column_stack(axes)


def covariance(places: Array) -> Array:
    """Return κ/f² between configurations at some `positions`, (rows, axes) → (rows, rows)."""
    square = np.sum(places**2, axis=1)
    # |x − z|² = x² + z² − 2·x·z, which rounding alone takes below zero.
    return np.asarray(np.exp(-0.5 * np.maximum(square[:, None] + square - 2.0 * places @ places.T, 0.0)))


def features(places: Array) -> Array:
    """Return Φ of shape (rows, k) with Φ·Φᵀ = κ/f², of `positions`.

    Of many rows by random features (Rahimi & Recht 2007): (cos ω·x, sin ω·x)/√m with m directions ω ~ N(0, I).
    """
    if len(places) <= MOST_ROWS:
        # Exact, and whatever the order of levels; the small diagonal makes it positive definite.
        return np.asarray(np.linalg.cholesky(covariance(places) + 1e-8 * np.eye(len(places))), float)
    directions = np.random.default_rng(0).standard_normal((places.shape[1], FEATURES // 2))
    angles = places @ directions
    return np.asarray(np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(FEATURES // 2))


def form_and_noise(residuals: Array, slopes: Array, places: Array) -> tuple[float, float]:
    """Return f and σ from the residuals of a fit in ln T, by restricted maximum likelihood (Patterson & Thompson 1971).

        f² = Σ_ρ ρ·σ²_ρ·L_ρ / Σ_ρ L_ρ,   L_ρ the likelihood of Cᵀ·residuals ~ N(0, σ²_ρ·(I + ρ·Cᵀ·(κ/f²)·C))

    and σ² = Σ_ρ σ²_ρ·L_ρ / Σ_ρ L_ρ, over the sizes ρ of `RATIOS`, σ²_ρ the likeliest variance of independent errors.
    The contrasts C are what no change of the constants moves; `slopes` are those of ln T by the constants, shape
    (rows, n), `places` the `positions`.
    """
    rows = np.random.default_rng(0).permutation(len(residuals))[:MOST_ROWS]
    left, singular, _ = np.linalg.svd(slopes[rows], full_matrices=True)
    contrasts = left[:, int(np.sum(singular > 1e-8 * singular.max(initial=0.0))) :]
    freedom = contrasts.shape[1]
    if not freedom:
        # As many constants as rows: nothing tells an error of the form from noise.
        return (float(np.sqrt(np.mean(residuals**2))),) * 2
    # In these directions the contrasts are independent.
    sizes, directions = np.linalg.eigh(contrasts.T @ covariance(places[rows]) @ contrasts)
    squares = (directions.T @ (contrasts.T @ residuals[rows])) ** 2
    spread = 1.0 + np.array(RATIOS)[:, None] * np.maximum(sizes, 0.0)
    noise = np.maximum(np.sum(squares / spread, axis=1) / freedom, 1e-300)
    likelihood = -0.5 * np.sum(np.log(spread), axis=1) - 0.5 * freedom * np.log(noise)
    weight = np.exp(likelihood - likelihood.max())
    variances = np.array([weight @ (np.array(RATIOS) * noise), weight @ noise]) / weight.sum()
    f, sd = np.sqrt(variances).tolist()
    return f, sd
