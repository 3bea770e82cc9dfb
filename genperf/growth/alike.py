"""How the change from one count to a larger one depends on what series are called and how large they are.

For donors j that were measured at both counts, v_j = √T_j(n*) − √T_j(n₀), between a change in seconds and one in
proportion to the time, and

    v ~ GP(μ₀, sp²·[c₀ + s²·exp(−Σ_c w_c·d_c) + l·l′ + σ²])

with d_c 0 or 1 between names and the squared difference of standardised numbers, l = ln √T(n₀) less its mean, and μ₀,
sp the median and spread of v that the bank predicts for donors from their own runs to n₀.
"""

import numpy as np

from genperf.arrays import Array, Index
from genperf.discrepancy.stack import NORMAL

# Priors of the process over series, and how much they show.
#: Log-normal priors of c₀, s², σ² and w: median, and standard deviation of the logarithm.
LEVEL_PRIOR: tuple[float, float] = (0.5, 1.0)
LIKENESS_PRIOR: tuple[float, float] = (0.3, 1.4)
NOISE_PRIOR: tuple[float, float] = (0.1, 2.0)
WEIGHT_PRIOR: tuple[float, float] = (0.1, 1.5)
#: With fewer donors the prior of the weights is narrower: they hardly show which columns matter.
ENOUGH_DONORS = 40
#: Bounds of the logarithms of all parameters.
PARAMETER_REACH = 9.0
#: What donors leave of the variance that was known before them, and of √T(n₀) the least √T(n*).
LEAST_LEFT, MOST_LEFT = 1e-6, 0.99
LEAST_SHARE = 0.03


class DonorProcess:
    """The process over donors, at its largest posterior density.

    `distances` are d_c between the donors, shape (columns, donors, donors), `middle` and `spread` μ₀ and sp, and `size`
    is l of each donor.
    """

    def __init__(self, distances: Array, values: Array, middle: float, spread: float, size: Array) -> None:
        # It takes a tenth of a second to import, and only groups need it.
        from scipy.optimize import minimize

        self.distances, self.middle, self.spread, self.size = distances, middle, spread, size
        self.away = (values - middle) / spread
        columns, count = distances.shape[:2]
        narrow = WEIGHT_PRIOR[1] * min(1.0, (count / ENOUGH_DONORS) ** 0.5)
        self._mean = np.log([LEVEL_PRIOR[0], LIKENESS_PRIOR[0], NOISE_PRIOR[0], *[WEIGHT_PRIOR[0]] * columns])
        self._sd = np.array([LEVEL_PRIOR[1], LIKENESS_PRIOR[1], NOISE_PRIOR[1], *[narrow] * columns])
        bounds = list(zip(self._mean - PARAMETER_REACH, self._mean + PARAMETER_REACH, strict=True))
        best = minimize(self._cost, self._mean, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
        self.logarithms = best.x
        self.inverse = np.linalg.inv(self._covariance(best.x)[0])
        self.dual = self.inverse @ self.away

    def _covariance(self, logarithms: Array) -> tuple[Array, Array]:
        """Return the covariance of the donors in units of sp, and its part by likeness."""
        level, likeness, noise = np.exp(logarithms[:3])
        alike = likeness * np.exp(-np.tensordot(np.exp(logarithms[3:]), self.distances, 1))
        total = level + alike + np.outer(self.size, self.size)
        return np.asarray(total + (noise + 1e-9) * np.eye(len(alike))), np.asarray(alike)

    def _cost(self, logarithms: Array) -> tuple[float, Array]:
        """Return −ln of the posterior density of the parameters, and its gradient."""
        total, alike = self._covariance(logarithms)
        lower = np.linalg.cholesky(total)
        inverse = np.linalg.inv(total)
        dual = inverse @ self.away
        z = (logarithms - self._mean) / self._sd
        cost = 0.5 * float(self.away @ dual) + float(np.log(np.diag(lower)).sum()) + 0.5 * float(z @ z)
        pull = 0.5 * (inverse - np.outer(dual, dual))
        level, _, noise = np.exp(logarithms[:3])
        by_weight = -np.exp(logarithms[3:]) * np.einsum("cij,ij->c", self.distances, pull * alike)
        gradient = np.r_[level * pull.sum(), np.sum(pull * alike), noise * np.trace(pull), by_weight]
        return cost, gradient + z / self._sd

    def predict(self, distances: Array, size: Array) -> tuple[Array, Array, Array]:
        """Return the mean and standard deviation of the change of other series, and that before any donor is known.

        `distances` has the shape (columns, series, donors).
        """
        level, likeness, noise = np.exp(self.logarithms[:3])
        far = np.tensordot(np.exp(self.logarithms[3:]), distances, 1)
        across = level + likeness * np.exp(-far) + np.outer(size, self.size)
        before = level + likeness + noise + size**2
        left = before - np.einsum("sd,de,se->s", across, self.inverse, across)
        sd = self.spread * np.sqrt(np.maximum(left, 1e-9))
        return self.middle + self.spread * (across @ self.dual), sd, self.spread * np.sqrt(before)

    def held_out(self, block: Index) -> tuple[Array, Array]:
        """Return the mean and standard deviation of each donor, predicted without its block, the parameters kept."""
        mean, sd = np.empty(len(block)), np.empty(len(block))
        for k in np.unique(block):
            rows = np.flatnonzero(block == k)
            row_block = np.linalg.inv(self.inverse[np.ix_(rows, rows)])
            mean[rows] = self.away[rows] - row_block @ self.dual[rows]
            sd[rows] = np.sqrt(np.maximum(np.diag(row_block), 1e-12))
        return self.middle + self.spread * mean, self.spread * sd


def shown_by_donors(
    distances: Array, times: tuple[Array, Array, Array], predicted: tuple[float, float], block: Index
) -> tuple[Array, Array, Array]:
    """Return what donors show of ln T(n*) of some series: centre, variance, and the share of the variance they took.

    ln T(n*) is about N(after, sd²) by the donors, N(before, prior²) without them, and the one over the other is

        N(m, s²),   s² = prior²·left/(1 − left),   m = (after − left·before)/(1 − left),   left = sd²/prior²

    an observation beside the runs of a series, which has no part of what was known before. `distances` has the shape
    (columns, donors + series, donors); `times` are T(n₀), T(n*) of donors and T(n₀) of the series; `predicted` is (μ₀,
    sp). Donors of one number in `block` are held out together: an sd that is too narrow for them is widened.
    """
    donor_start, donor_last, series_start = map(np.sqrt, times)
    among_donors, to_donors = np.split(distances, [len(donor_start)], axis=1)
    values, usual = donor_last - donor_start, np.log(donor_start).mean()
    process = DonorProcess(among_donors, values, *predicted, np.log(donor_start) - usual)
    mean, sd = process.held_out(block)
    widening = max(float(np.sqrt(np.mean(((values - mean) / sd) ** 2))), 1.0)
    mean, sd, prior_sd = process.predict(to_donors, np.log(series_start) - usual)
    after, sd = _logarithm(series_start, mean, widening * sd)
    before, prior_sd = _logarithm(series_start, process.middle, prior_sd)
    left = np.clip((sd / prior_sd) ** 2, LEAST_LEFT, MOST_LEFT)
    return (after - left * before) / (1.0 - left), prior_sd**2 * left / (1.0 - left), 1.0 - left


def _logarithm(start: Array, change: Array | float, sd: Array) -> tuple[Array, Array]:
    """Return ln of (start + change)² and its standard deviation, by the ends of a 90 % interval."""
    ends = np.maximum(start + change + sd * np.array([[-NORMAL], [0.0], [NORMAL]]), LEAST_SHARE * start)
    low, centre, high = 2.0 * np.log(ends)
    return centre, (high - low) / (2.0 * NORMAL)
