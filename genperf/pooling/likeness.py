"""How like two groups are: a Gaussian process over groups, with a learned weight for every column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.discrepancy import Discrepancy, Effect, Exponential
from genperf.discrepancy.distances import Metric, distances
from genperf.discrepancy.search import Search

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LikenessSettings:
    """Priors and limits of the process over groups; `docs/results/pooling-priors.md` has what others gave.

    Attributes
    ----------
    weight, weight_sd : float
        Log-normal prior of a column's weight: median, and standard deviation of the logarithm. Wide, so that a column
        can come to nothing or part groups altogether.
    enough_donors : int
        With fewer donors the prior of the weights is narrower: they hardly say which columns matter.
    signal_sd : float
        Standard deviation of the logarithm of the signal's standard deviation, whose median is that of the values.
    noise, noise_sd : float
        Log-normal prior of the noise's standard deviation, in standard deviations of the values.
    steps, warm_steps : int
        Iterations of a search, and of one that begins at a neighbouring problem's answer.
    tolerance : float
        Relative decrease of the cost at which a search ends: L-BFGS-B's own.
    lowest, highest : float
        Bounds of the logarithms of weights and standard deviations.
    few_values : int
        Fewer values than this say too little of their own spread.
    prior_spread : float
        The share of their size that is then counted as one more of them.
    """

    weight: float = 0.1
    weight_sd: float = 1.5
    enough_donors: int = 40
    signal_sd: float = 0.7
    noise: float = 0.1
    noise_sd: float = 1.0
    steps: int = 80
    warm_steps: int = 15
    tolerance: float = 2.2e-9
    lowest: float = -8.0
    highest: float = 6.0
    few_values: int = 10
    prior_spread: float = 0.2


LIKENESS = LikenessSettings()


@dataclass(frozen=True, eq=False)
class GroupColumns:
    """What groups are compared by: columns of names and of standardised numbers.

    Attributes
    ----------
    metrics : dict of str to Metric
        How two values of a column are apart: `level` for names, `squared` for numbers.
    values : dict of str to ndarray of shape (groups,)
    """

    metrics: dict[str, Metric]
    values: dict[str, npt.NDArray[Any]]

    def take(self, groups: npt.NDArray[np.intp]) -> GroupColumns:
        """Return some of the groups, by position."""
        return GroupColumns(self.metrics, {name: values[groups] for name, values in self.values.items()})

    def distances(self, other: GroupColumns | None = None) -> Array:
        """Return the distances to other groups, or to each other, shape (columns, groups, others)."""
        there = (self if other is None else other).values
        parts = [distances(self.values[name], there[name], metric) for name, metric in self.metrics.items()]
        rows, columns = (len(next(iter(v.values()))) for v in (self.values, there))
        return np.reshape(parts, (len(parts), rows, columns))


@dataclass(frozen=True, eq=False)
class GroupProcess:
    """A fitted process: y_j = mean + f(group j) + noise.

    On the values brought to mean 0 and spread 1,

        cov(y_j, y_k) = 1 + s²·exp(−Σ_c w_c·d_c(j, k)) + σ²·[j = k]

    The 1 is the uncertainty of the mean. The weights w, s and σ are those of the largest posterior density.

    Attributes
    ----------
    logarithms : ndarray of shape (columns + 2,)
        ln w of every column, ln s², ln σ².
    mean, spread : float
        Of the values.
    discrepancy : Discrepancy
        Of the standardised values; the donors are its anchors.
    """

    logarithms: Array
    mean: float
    spread: float
    discrepancy: Discrepancy

    def predict(self, groups: GroupColumns) -> tuple[Array, Array, Array]:
        """Predict new groups.

        Returns
        -------
        mean, sd : ndarray of shape (new,)
            With noise.
        share : ndarray of shape (new,)
            Of the prior variance of a group, the part that the donors took away.
        """
        mean, variance = (part[0] for part in self.discrepancy.forecast(groups.values))
        signal, noise = np.exp(self.logarithms[-2:])
        share = 1.0 - variance / (1.0 + signal)
        return self.mean + self.spread * mean, self.spread * np.sqrt(variance + noise), share

    def likeness(self, groups: GroupColumns, donors: GroupColumns) -> Array:
        """Return 1 where nothing that matters tells a group from a donor, toward 0 the more does; (groups, donors)."""
        far = np.tensordot(np.exp(self.logarithms[:-2]), groups.distances(donors), 1)
        return Exponential.correlation(far)


def fit_process(donors: GroupColumns, values: Array, start: Array | None = None) -> GroupProcess:
    """Learn the weights of the columns from the donors.

    Parameters
    ----------
    values : ndarray of shape (donors,)
    start : ndarray of shape (columns + 2,), optional
        Answer of a neighbouring problem: begin there, and go a few steps only.

    Examples
    --------
    >>> groups = GroupColumns({"net": "level"}, {"net": np.array([0, 0, 0, 1, 1, 1])})
    >>> process = fit_process(groups, np.array([1.0, 1.1, 0.9, 5.0, 5.1, 4.9]))
    >>> process.predict(groups.take(np.array([0])))[0].round(1)
    array([1.])
    """
    count = len(values)
    mean = float(values.mean())
    squares, freedom = float(np.sum((values - mean) ** 2)), count - 1
    if count < LIKENESS.few_values:
        squares, freedom = squares + LIKENESS.prior_spread**2 * float(np.mean(values**2)), freedom + 1
    spread = float(np.sqrt(squares / max(freedom, 1))) + 1e-12
    standardised = (values - mean) / spread
    search = search_of(donors.distances())
    steps = LIKENESS.steps if start is None else LIKENESS.warm_steps
    best = search.best(search.mean if start is None else start, standardised, steps, LIKENESS.tolerance)
    noise = float(np.exp(best[-1]))
    rates = dict(zip(donors.metrics, np.exp(best[:-2]).tolist(), strict=True))
    level, likeness = Effect(1.0 / noise, {}), Effect(float(np.exp(best[-2])) / noise, rates)
    kernel = Exponential(dict(donors.metrics), (level, likeness))
    zero = np.zeros(count)
    anchors = Discrepancy(kernel, dict(donors.values), standardised, zero, 1.0, np.array([np.sqrt(noise)]))
    return GroupProcess(best, mean, spread, anchors)


def search_of(distances: Array) -> Search:
    """Return the search for the weights of the columns.

    Parameters
    ----------
    distances : ndarray of shape (columns, donors, donors)
    """
    columns, donors = distances.shape[:2]
    weight_sd = LIKENESS.weight_sd * min(1.0, donors / LIKENESS.enough_donors) ** 0.5
    # The priors are of standard deviations; the search is over variances, whose logarithms are twice as large.
    return Search(
        shape=Exponential,
        distances=distances,
        correlations=np.zeros((0, donors, donors)),
        constant=1.0,
        mean=np.array([*[np.log(LIKENESS.weight)] * columns, 0.0, 2.0 * np.log(LIKENESS.noise)]),
        sd=np.array([*[weight_sd] * columns, 2.0 * LIKENESS.signal_sd, 2.0 * LIKENESS.noise_sd]),
        bounds=(
            *[(LIKENESS.lowest, LIKENESS.highest)] * columns,
            *[(2.0 * LIKENESS.lowest, 2.0 * LIKENESS.highest)] * 2,
        ),
        noise_known=True,
    )
