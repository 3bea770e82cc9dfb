"""How large the constants of a group are, learned from the rows that they explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ShrinkageSettings:
    """Learning the sizes of groups of constants; `docs/decisions/learned-sizes.md` has the figures."""

    #: What a size is supposed to be before any row is seen: 2 % of the time. A guess.
    usual_size: float = 0.02
    #: How many constants that supposition counts as. A guess: one.
    trust: float = 1.0
    #: `least_size`, `most_size`: bounds of a size.
    least_size: float = 0.003
    most_size: float = 1.0
    #: Updates of the sizes at most.
    rounds: int = 30
    #: Relative change of every size below which the updates end.
    settled: float = 0.02
    #: Share of the rows that the variance of the noise is estimated from at least.
    least_freedom: float = 0.2
    #: Of the noise: far below any measurement's.
    least_variance: float = 1e-8


SHRINKAGE = ShrinkageSettings()


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A linear fit whose groups of constants have learned sizes."""

    #: Shape (n,).
    constants: Array
    #: Shape (groups,). Standard deviation of a group's constants about zero.
    sizes: Array
    #: Of the noise.
    variance: float


def shrunk(design: Array, target: Array, weights: Array, groups: Index, prior_sd: Array, sizes: Array) -> Shrunk:
    """Fit y = Xθ + e, and learn how large the constants of each group are.

        e_i ~ N(0, σ²/w_i),   θ_j ~ N(0, s_g²) for j in group g
        γ_j = 1 − Σ_jj/s_g²,   s_g² = (Σ_j θ_j² + ν s₀²) / (Σ_j γ_j + ν),
        σ² = Σ w_i r_i² / (n − Σ γ_j)

    with Σ the covariance of θ given the rows. These are MacKay's updates toward the sizes of largest evidence
    ("Bayesian interpolation", 1992), with a supposed size s₀ that counts as ν constants. A group that explains nothing
    ends near s₀, where its constants change nothing.

    Parameters
    ----------
    design : ndarray of shape (rows, n)
        X.
    target : ndarray of shape (rows,)
        y.
    weights : ndarray of shape (rows,)
        With a mean of 1.
    groups : ndarray of int of shape (n,)
        Group of each constant; −1 for one that has a size of its own.
    prior_sd : ndarray of shape (n,)
        That size; not read elsewhere.
    sizes : ndarray of shape (groups,)
        Where the updates begin.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 10))
    >>> y = X[:, :5] @ np.array([0.4, -0.5, 0.3, 0.6, -0.4]) + 0.1 * rng.normal(size=100)
    >>> fitted = shrunk(X, y, np.ones(100), np.repeat([0, 1], 5), np.ones(10), np.array([0.05, 0.05]))
    >>> bool(fitted.sizes[0] > 0.3), bool(fitted.sizes[1] < 0.03)
    (True, True)
    """
    free = groups < 0
    member = np.where(free, 0, groups)
    count = sizes.size
    square = (design * weights[:, None]).T @ design
    moment = (design * weights[:, None]).T @ target
    variance = _variance_without(design[:, free], target, weights)
    constants = np.zeros(design.shape[1])
    for _ in range(SHRINKAGE.rounds):
        prior = np.where(free, prior_sd**2, sizes[member] ** 2 if count else 1.0)
        precision = square / variance
        precision[np.diag_indices_from(precision)] += 1.0 / prior
        covariance = np.linalg.inv(precision)
        constants = covariance @ moment / variance
        freedoms = np.clip(1.0 - np.diag(covariance) / prior, 0.0, 1.0)
        residuals = target - design @ constants
        left = max(target.size - freedoms.sum(), SHRINKAGE.least_freedom * target.size)
        before = sizes, variance
        variance = max(float(np.sum(weights * residuals**2) / left), SHRINKAGE.least_variance)
        squares = np.bincount(member[~free], constants[~free] ** 2, count)
        freedom_of_group = np.bincount(member[~free], freedoms[~free], count)
        supposed = SHRINKAGE.trust * SHRINKAGE.usual_size**2
        learned = np.sqrt((squares + supposed) / (freedom_of_group + SHRINKAGE.trust))
        sizes = np.clip(learned, SHRINKAGE.least_size, SHRINKAGE.most_size)
        settled = np.all(np.abs(sizes / before[0] - 1.0) < SHRINKAGE.settled)
        if settled and abs(variance / before[1] - 1.0) < SHRINKAGE.settled:
            break
    return Shrunk(constants, sizes, variance)


def _variance_without(design: Array, target: Array, weights: Array) -> float:
    """Return the variance of what the constants without a group leave, a start for that of the noise."""
    root = np.sqrt(weights)
    solution = np.linalg.lstsq(design * root[:, None], target * root, rcond=None)[0] if design.size else np.zeros(0)
    residuals = target - design @ solution
    return max(float(np.average(residuals**2, weights=weights)), SHRINKAGE.least_variance)
