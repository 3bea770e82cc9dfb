"""How the change from one count to a larger one depends on what series are called and how large they are.

For donors j that were measured at both counts, v_j = g(T_j(n*)) − g(T_j(n₀)) for three ways g to count a change, and

    v ~ GP(μ₀, sp²·[c₀ + s²·exp(−Σ_c w_c·d_c) + σ²])

with d_c 0 or 1 between names and the squared difference of standardised numbers, and μ₀, sp the median and spread of v
that the bank predicts for donors from their own runs to n₀.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from genperf.arrays import Array, Index
from genperf.solver import descended

#: Log-normal priors of c₀, s², σ² and w: median, and standard deviation of the logarithm.
LEVEL_PRIOR: tuple[float, float] = (0.5, 1.0)
LIKENESS_PRIOR: tuple[float, float] = (0.3, 1.4)
NOISE_PRIOR: tuple[float, float] = (0.1, 2.0)
WEIGHT_PRIOR: tuple[float, float] = (0.1, 1.5)
#: Changes below about twice this share of T(n₀) are counted in seconds by the last g, larger ones by logarithm.
SECONDS_SHARE = 0.03
#: A way to count weighs as its error on held-out blocks, `LEAST_BLOCK_ERROR` added, to this power.
ERROR_POWER = 8.0
LEAST_BLOCK_ERROR = 0.005
#: The calibration of the width counts as the held-out blocks are against this many.
CALIBRATING_BLOCKS = 20.0
#: Bounds of the logarithms of all parameters.
PARAMETER_REACH = 9.0


class Change(Struct, frozen=True):
    """A way to count the change from a time to a later one: (first, second) → change, and (first, change) → second."""

    of: Callable[[Array, Array], Array]
    onto: Callable[[Array, Array], Array]


#: Seconds, square roots, and logarithms of large changes: asinh(Δ/2u) + ln u, u a share of the first time.
CHANGES = (
    Change(lambda first, second: second - first, lambda first, change: first + change),
    Change(
        lambda first, second: np.asarray(2.0 * (np.sqrt(second) - np.sqrt(first))),
        lambda first, change: np.asarray(np.maximum(np.sqrt(first) + 0.5 * change, 0.0) ** 2),
    ),
    Change(
        lambda t, second: np.asarray(np.arcsinh((second - t) / (2.0 * SECONDS_SHARE * t)) + np.log(SECONDS_SHARE * t)),
        lambda t, v: t + 2.0 * SECONDS_SHARE * t * np.sinh(np.clip(v - np.log(SECONDS_SHARE * t), -50.0, 50.0)),
    ),
)


class DonorProcess:
    """The process over donors, at its largest posterior density, in units of sp: (v − μ₀)/sp ~ N(0, K).

    `distances` are d_c between the donors, shape (columns, donors, donors), `values` v, `middle` and `spread` μ₀ and
    sp. `logarithms` are those of c₀, s², σ² and w, `inverse` is K⁻¹ and `dual` K⁻¹·(v − μ₀)/sp.
    """

    def __init__(self, distances: Array, values: Array, middle: float, spread: float) -> None:
        self.distances, self.middle, self.spread = distances, middle, spread
        self.away = (values - middle) / spread
        medians, self._sd = np.array([LEVEL_PRIOR, LIKENESS_PRIOR, NOISE_PRIOR, *[WEIGHT_PRIOR] * len(distances)]).T
        self._mean = np.log(medians)
        bounds = list(zip(self._mean - PARAMETER_REACH, self._mean + PARAMETER_REACH, strict=True))
        self.logarithms, _ = descended(self._cost, self._mean, bounds, maxiter=60)
        self.inverse = np.linalg.inv(self._covariance(self.logarithms)[0])
        self.dual = self.inverse @ self.away

    def _covariance(self, logarithms: Array) -> tuple[Array, Array]:
        """Return K = c₀ + A + σ²·I, and its part A = s²·exp(−Σ_c w_c·d_c)."""
        level, likeness, noise = np.exp(logarithms[:3])
        alike = likeness * np.exp(-np.tensordot(np.exp(logarithms[3:]), self.distances, 1))
        return np.asarray(level + alike + (noise + 1e-9) * np.eye(len(alike))), np.asarray(alike)

    def _cost(self, logarithms: Array) -> tuple[float, Array]:
        """Return ½·y′·K⁻¹·y + ½·ln|K| + ½·Σ z² of the parameters, z by their prior, and its gradient."""
        total, alike = self._covariance(logarithms)
        lower = np.linalg.cholesky(total)
        inverse = np.linalg.inv(total)
        dual = inverse @ self.away
        z = (logarithms - self._mean) / self._sd
        cost = 0.5 * float(self.away @ dual) + float(np.log(np.diag(lower)).sum()) + 0.5 * float(z @ z)
        # ½(K⁻¹ − K⁻¹yy'K⁻¹), by which the cost grows with K; then by ln of c₀, s², σ² and the weights.
        by_covariance = 0.5 * (inverse - np.outer(dual, dual))
        level, _, noise = np.exp(logarithms[:3])
        by_alike = by_covariance * alike
        by_weight = -np.exp(logarithms[3:]) * np.einsum("cij,ij->c", self.distances, by_alike)
        gradient = np.r_[level * by_covariance.sum(), np.sum(by_alike), noise * np.trace(by_covariance), by_weight]
        return cost, gradient + z / self._sd

    def predict(self, distances: Array) -> tuple[Array, Array, float]:
        """Return the mean and standard deviation of other series' changes v, and that before any donor is known.

            mean = μ₀ + sp·k′·K⁻¹·(v_donors − μ₀)/sp,   sd² = sp²·(κ − k′·K⁻¹·k),   before² = sp²·κ

        `distances` has the shape (columns, series, donors).
        """
        level, likeness, noise = np.exp(self.logarithms[:3])
        far = np.tensordot(np.exp(self.logarithms[3:]), distances, 1)
        across = level + likeness * np.exp(-far)
        before = level + likeness + noise
        left = before - np.einsum("sd,de,se->s", across, self.inverse, across)
        sd = self.spread * np.sqrt(np.maximum(left, 1e-9))
        return self.middle + self.spread * (across @ self.dual), sd, self.spread * float(np.sqrt(before))

    def held_out(self, block: Index) -> tuple[Array, Array]:
        """Return the mean and standard deviation of each donor, predicted without its block, the parameters kept.

        Of the rows B of a block, with K the covariance and y all changes: y_B − S·(K⁻¹y)_B and S = ((K⁻¹)_BB)⁻¹.
        """
        mean, sd = np.empty(len(block)), np.empty(len(block))
        for k in np.unique(block):
            rows = np.flatnonzero(block == k)
            S = np.linalg.inv(self.inverse[np.ix_(rows, rows)])
            mean[rows] = self.away[rows] - S @ self.dual[rows]
            sd[rows] = np.sqrt(np.maximum(np.diag(S), 1e-12))
        return self.middle + self.spread * mean, self.spread * sd


class DonorChange(NamedTuple):
    """What the donors show of a series' change, by one way to count it: one term of a mixture."""

    change: int  #: Place in `CHANGES`.
    share: float  #: Of the mixture.
    #: `mean`, `sd`: of the change, by the donors.
    mean: float
    sd: float
    #: `middle`, `prior_sd`: the same before any donor is known.
    middle: float
    prior_sd: float

    def log_ratio(self, first: float, logarithms: Array) -> Array:
        """Return ln of the density by the donors over that before them, at values of ln T of the larger count."""
        v = CHANGES[self.change].of(np.full(len(logarithms), first), np.exp(logarithms))
        after, before = ((v - self.mean) / self.sd) ** 2, ((v - self.middle) / self.prior_sd) ** 2
        return np.asarray(0.5 * (before - after) + np.log(self.prior_sd / self.sd))


def shown_by_donors(
    distances: Array, times: tuple[Array, Array], predicted: Sequence[tuple[float, float]], block: Index
) -> list[list[DonorChange]]:
    """Return what donors show of the changes of some series, a term for each way to count.

    `distances` has the shape (columns, donors + series, donors); `times` are T(n₀) and T(n*) of the donors;
    `predicted` is (μ₀, sp) for each of `CHANGES`. Donors of one number in `block` are held out together: ways to count
    whose held-out errors are small weigh more, and too narrow ones are widened.
    """
    donor_start, donor_last = times
    among_donors, to_donors = np.split(distances, [len(donor_start)], axis=1)
    blocks = len(np.unique(block))
    # Of each way to count, its weight, and mean, sd, middle and prior_sd of each series' change.
    weights, answers = [], []
    for change, (middle, spread) in zip(CHANGES, predicted, strict=True):
        values = change.of(donor_start, donor_last)
        process = DonorProcess(among_donors, values, middle, spread)
        mean, sd = process.held_out(block)
        errors = np.abs(change.onto(donor_start, mean) / donor_last - 1.0)
        weights.append(float(np.exp(np.mean(np.log(errors + LEAST_BLOCK_ERROR)))) ** -ERROR_POWER)
        # Nine in ten of normal errors are within 1.645 standard deviations.
        misfit = float(np.quantile(np.abs(values - mean) / sd, 0.9)) / 1.645
        widening = max(misfit, 1.0) ** (blocks / (blocks + CALIBRATING_BLOCKS))
        mean, sd, prior_sd = process.predict(to_donors)
        answers.append(np.array([mean, sd * widening, np.full_like(sd, middle), np.full_like(sd, prior_sd)]))
    shares = (np.array(weights) / sum(weights)).tolist()
    of_series = np.array(answers).transpose(2, 0, 1).tolist()
    return [[DonorChange(k, shares[k], *numbers) for k, numbers in enumerate(ways)] for ways in of_series]
