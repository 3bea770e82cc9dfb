"""How the change from one count to a larger one depends on what series are called and how large they are.

For donors j that were measured at both counts, v_j = g(T_j(n*)) − g(T_j(n₀)) for three ways g to count a change, and

    v ~ GP(μ₀, sp²·[c² + s²·exp(−Σ_a w_a·d_a) + σ²])

with d_a 0 or 1 between names and the squared difference of standardised numbers, and μ₀, sp the median and spread of v
that the bank predicts for donors from their own runs to n₀.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from genperf.arrays import AnyArray, Array, Index
from genperf.discrepancy.product import KernelAxis, Product
from genperf.engine import one_blas_thread

#: Log-normal priors of c, s, σ and w: median, and standard deviation of the logarithm.
LEVEL_PRIOR, LIKENESS_PRIOR, NOISE_PRIOR, WEIGHT_PRIOR = (0.707, 0.5), (0.548, 0.7), (0.316, 1.0), (0.1, 1.5)
#: Changes below about twice this share of T(n₀) are counted in seconds by the last g, larger ones by logarithm.
SECONDS_SHARE = 0.03
#: A way to count weighs as its error on held-out blocks, `LEAST_BLOCK_ERROR` added, to this power.
ERROR_POWER = 8.0
LEAST_BLOCK_ERROR = 0.005
#: The calibration of the width counts as the held-out blocks are against this many.
CALIBRATING_BLOCKS = 20.0


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


class StandardisedNumber(KernelAxis, frozen=True):
    """A number along which the likeness of series falls with the square of their distance."""

    def distance(self, x: AnyArray, z: AnyArray) -> Array:
        """Return (x − z)², for coordinates that are broadcast."""
        return np.asarray((x - z) ** 2, float)


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
    axes: Sequence[KernelAxis],
    x: Sequence[AnyArray],
    times: tuple[Array, Array],
    predicted: Sequence[tuple[float, float]],
    block: Index,
) -> list[list[DonorChange]]:
    """Return what donors show of the changes of some series, a term for each way to count.

    `x` are the coordinates of the donors, then of the series, on each axis; `times` are T(n₀) and T(n*) of the donors;
    `predicted` is (μ₀, sp) for each of `CHANGES`. Donors of one number in `block` are held out together: ways to count
    whose held-out errors are small weigh more, and too narrow ones are widened.
    """
    donor_start, donor_last = times
    blocks = len(np.unique(block))
    # Of each way to count, its weight, and mean, sd, middle and prior_sd of each series' change.
    weights, answers = [], []
    for change, (middle, spread) in zip(CHANGES, predicted, strict=True):
        v = (change.of(donor_start, donor_last) - middle) / spread
        (held_out, held_out_sd), (mean, sd, prior_sd) = _forecasts(axes, x, v, block)
        errors = np.abs(change.onto(donor_start, middle + spread * held_out) / donor_last - 1.0)
        weights.append(float(np.exp(np.mean(np.log(errors + LEAST_BLOCK_ERROR)))) ** -ERROR_POWER)
        # Nine in ten of normal errors are within 1.645 standard deviations.
        misfit = float(np.quantile(np.abs(v - held_out) / held_out_sd, 0.9)) / 1.645
        widening = max(misfit, 1.0) ** (blocks / (blocks + CALIBRATING_BLOCKS))
        numbers = middle + spread * mean, spread * sd * widening, np.full_like(sd, middle), spread * prior_sd
        answers.append(np.array(numbers))
    shares = (np.array(weights) / sum(weights)).tolist()
    of_series = np.array(answers).transpose(2, 0, 1).tolist()
    return [[DonorChange(k, shares[k], *numbers) for k, numbers in enumerate(ways)] for ways in of_series]


def _forecasts(
    axes: Sequence[KernelAxis], x: Sequence[AnyArray], v: Array, block: Index
) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
    """Return the mean and standard deviation of each donor without its block, and of each series with and without all.

        a block B of donors    v_B − S·(K⁻¹v)_B,  √diag(S),   S = ((K⁻¹)_BB)⁻¹
        a series               k′·K⁻¹·v,  √(κ − k′·K⁻¹·k),    √κ before any donor is known

    v is in units of sp about μ₀, and K, of the most probable sizes, the donors' covariance with the noise.
    """
    # Only where there are donors: it loads the linear algebra of scipy.
    from genperf.discrepancy.sizes import fit_sizes

    count, prior = len(v), Product(tuple(axes), LEVEL_PRIOR[0], LIKENESS_PRIOR[0])
    width = [LEVEL_PRIOR[1], LIKENESS_PRIOR[1], *[WEIGHT_PRIOR[1]] * len(axes), NOISE_PRIOR[1]]
    donors, series = [of_axis[:count] for of_axis in x], [of_axis[count:] for of_axis in x]
    with one_blas_thread():
        fit = fit_sizes(donors, v, prior, np.arange(count), usual_noise=NOISE_PRIOR[0], width=width)
    inverse = np.linalg.inv(fit.covariance + (fit.noise**2 + 1e-9) * np.eye(count))
    dual, mean, sd = inverse @ v, np.empty(count), np.empty(count)
    for rows in (np.flatnonzero(block == k) for k in np.unique(block)):
        S = np.linalg.inv(inverse[np.ix_(rows, rows)])
        mean[rows] = v[rows] - S @ dual[rows]
        sd[rows] = np.sqrt(np.maximum(np.diag(S), 1e-12))
    across = fit.kernel.between(list(zip(series, donors, strict=True)))
    before = np.full(len(across), fit.kernel.size**2 + fit.kernel.local**2 + fit.noise**2)
    left = np.maximum(before - np.einsum("sd,de,se->s", across, inverse, across), 1e-9)
    return (mean, sd), (across @ dual, np.sqrt(left), np.sqrt(before))
