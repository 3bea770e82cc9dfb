"""A Gaussian process over groups, with a learned weight for every column in which groups may be alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from genperf.ensemble.positive_definite import inverse_of

Array = npt.NDArray[np.float64]

#: Log-normal prior of a column's weight: median, and standard deviation of the logarithm. Wide, so that a column can
#: come to nothing or part groups altogether; narrower where fewer donors than these say which columns matter.
WEIGHT, WEIGHT_SD, ENOUGH = 0.1, 1.5, 40
#: The same of the signal's standard deviation, in those of the values, and of the noise's.
SIGNAL_SD = 0.7
NOISE, NOISE_SD = 0.1, 1.0
#: Steps of the search: the first, and one that begins at a neighbouring problem's answer.
STEPS, WARM_STEPS = 80, 15
#: Every logarithm that is searched for stays within these.
BOUNDS = (-8.0, 6.0)
#: Fewer values than this say too little of their own spread: a fifth of their size is counted as one more of them.
FEW, PRIOR_SPREAD = 10, 0.2


@dataclass(frozen=True, eq=False)
class Process:
    """A fitted process: y_j = mean + f(group j) + noise.

    On the values brought to mean 0 and spread 1,

        cov(y_j, y_k) = 1 + s² exp(−Σ_c w_c d_c(j, k)) + σ² [j = k],

    where the 1 is the mean's own uncertainty. The weights w, s and σ are those of the largest posterior density.

    Attributes
    ----------
    logarithms : ndarray of shape (columns + 2,)
        ln w of every column, ln s, ln σ.
    mean, spread : float
        Of the values.
    inverse : ndarray of shape (donors, donors)
        Of the covariance.
    dual : ndarray of shape (donors,)
        Inverse × standardised values.
    """

    logarithms: Array
    mean: float
    spread: float
    inverse: Array
    dual: Array

    def predict(self, distances: Array) -> tuple[Array, Array, Array, Array]:
        """Predict new groups.

        Parameters
        ----------
        distances : ndarray of shape (columns, new, donors)

        Returns
        -------
        mean, sd : ndarray of shape (new,)
            With noise.
        share : ndarray of shape (new,)
            Of the prior variance of a group, what the donors took away.
        likeness : ndarray of shape (new, donors)
            1 where nothing that matters tells the two apart, toward 0 the more does.
        """
        signal, noise = np.exp(2.0 * self.logarithms[-2:])
        likeness = np.exp(-np.tensordot(np.exp(self.logarithms[:-2]), distances, 1))
        across = 1.0 + signal * likeness
        left = np.maximum(1.0 + signal - np.sum((across @ self.inverse) * across, axis=1), 0.0)
        mean = self.mean + self.spread * (across @ self.dual)
        return mean, self.spread * np.sqrt(left + noise), 1.0 - left / (1.0 + signal), likeness


def fit_process(distances: Array, values: Array, start: Array | None = None) -> Process:
    """Learn the weights of the columns from the donors.

    Parameters
    ----------
    distances : ndarray of shape (columns, donors, donors)
    values : ndarray of shape (donors,)
    start : ndarray of shape (columns + 2,), optional
        Answer of a neighbouring problem: begin there, and go a few steps only.

    Examples
    --------
    >>> kind = np.array([0, 0, 0, 1, 1, 1])
    >>> unlike = (kind[:, None] != kind).astype(float)[None]
    >>> process = fit_process(unlike, np.array([1.0, 1.1, 0.9, 5.0, 5.1, 4.9]))
    >>> process.predict(unlike[:, :1])[0].round(1)
    array([1.])
    """
    count = len(values)
    mean = float(values.mean())
    squares, freedom = float(np.sum((values - mean) ** 2)), count - 1
    if count < FEW:
        squares, freedom = squares + PRIOR_SPREAD**2 * float(np.mean(values**2)), freedom + 1
    spread = float(np.sqrt(squares / max(freedom, 1))) + 1e-12
    scaled = (values - mean) / spread
    begin = prior(len(distances), count)[0] if start is None else start
    found = minimize(
        cost,
        begin,
        (distances, scaled),
        jac=True,
        method="L-BFGS-B",
        bounds=[BOUNDS] * len(begin),
        options={"maxiter": STEPS if start is None else WARM_STEPS},
    )
    inverse, _ = inverse_of(_covariance(found.x, distances))
    return Process(found.x, mean, spread, inverse, inverse @ scaled)


def prior(columns: int, donors: int) -> tuple[Array, Array]:
    """Return the means and standard deviations of the logarithms, shape (columns + 2,) each."""
    mean = np.array([*[np.log(WEIGHT)] * columns, 0.0, np.log(NOISE)])
    return mean, np.array([*[WEIGHT_SD * min(1.0, donors / ENOUGH) ** 0.5] * columns, SIGNAL_SD, NOISE_SD])


def cost(logarithms: Array, distances: Array, scaled: Array) -> tuple[float, Array]:
    """Return −ln posterior density of the logarithms, up to a constant, and its gradient."""
    count = len(scaled)
    weights, noise = np.exp(logarithms[:-2]), np.exp(2.0 * logarithms[-1])
    signal = _signal(logarithms, distances)
    inverse, half_determinant = inverse_of(signal + 1.0 + noise * np.eye(count))
    dual = inverse @ scaled
    slope = 0.5 * (inverse - np.outer(dual, dual))
    pull = slope * signal
    mean, sd = prior(len(distances), count)
    off = (logarithms - mean) / sd
    gradient = np.empty_like(logarithms)
    gradient[:-2] = -weights * np.tensordot(distances, pull, 2)
    gradient[-2] = 2.0 * pull.sum()
    gradient[-1] = 2.0 * noise * np.trace(slope)
    return float(0.5 * scaled @ dual + half_determinant + 0.5 * off @ off), gradient + off / sd


def _signal(logarithms: Array, distances: Array) -> Array:
    return np.asarray(np.exp(2.0 * logarithms[-2] - np.tensordot(np.exp(logarithms[:-2]), distances, 1)))


def _covariance(logarithms: Array, distances: Array) -> Array:
    signal = _signal(logarithms, distances)
    return np.asarray(signal + 1.0 + np.exp(2.0 * logarithms[-1]) * np.eye(len(signal)))
