"""Whether new runs are slower than what is known, at a rate of false alarms that is kept.

Runs are compared as ln T less the mean of their configuration. The *mean* of the new runs, and *each* of them (Simes
1986), are held against the level that earlier sessions (a day, a commit) predict, or against single runs where nothing
names sessions; runs of a configuration that was never measured against what a model *predicted*. These tests are
combined as Cauchy variables (Liu and Xie 2020), which loses little where they agree. The level is that of a random walk
with a deviation of each session (the local level model of Harvey 1989), over sessions s with n_s runs:

    m_s = level_s + δ_s + ε_s,   level_s − level_{s−1} ~ N(0, q·σ²),   δ_s ~ N(0, d·σ²),   ε_s ~ N(0, σ²/n_s)

Student's t of the next session is averaged over the ratios d and q by their posterior probability.
"""

from functools import cached_property
from itertools import product

import numpy as np
from msgspec import Struct
from scipy.stats import cauchy, false_discovery_control
from scipy.stats import t as student

from genperf.arrays import Array, Index

#: Ratios d and q to the variance of a run, and the prior probability that one is zero; the others share the rest. With
#: 0.8 false alarms of sessions that drift come near 1.5 %, with 0.5 less is found (`experiments/advice/verify.py`).
DEVIATIONS, WALKS, NONE = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0), (0.0, 0.03, 0.1, 0.3, 1.0), 0.7
#: Sessions below which they are no reference, degrees of freedom below which runs are none, and the last sessions that
#: are used.
FEWEST_SESSIONS, FEWEST_FREEDOM, MOST_SESSIONS = 3, 3, 200
#: Deviation of ln T below which times are taken for rounded, and not for exact.
LEAST_NOISE = 1e-4
#: The weight of *each* beside the *mean*, a run, and at most: a guess of how often one run alone is slower, with which
#: two runs that are slower by three times the noise are found in 95 %.
EACH, MOST_EACH = 1.0 / 16.0, 0.5
#: A test that finds runs faster does not outweigh one that finds them slower.
MOST_PROBABILITY = 0.99
_NO_RUNS, _NO_SESSIONS = np.empty(0), np.empty(0, dtype=np.int64)


class History(Struct, frozen=True, eq=False, dict=True):
    """Earlier runs: ln T less the mean of their configuration. Without arguments: nothing is known of how runs vary."""

    means: Array = _NO_RUNS  #: Shape (configurations,): ln of the mean.
    runs: Array = _NO_RUNS  #: Shape (configurations,): the number of runs.
    sd: float = 0.0  #: Of one run.
    freedom: float = np.inf  #: Degrees of freedom of `sd`.
    residuals: Array = _NO_RUNS  #: Shape (runs,); none where no rows are known.
    sessions: Index = _NO_SESSIONS  #: Shape (runs,): the session of each, from 0 in their order.

    def slower(self, values: Array, runs: int, configurations: Array) -> Array:
        """Return the probability of means of so many runs, or slower; with the variance of their `configurations`."""
        centre, variance, spread, weight = self.next_level
        scale = np.sqrt(variance * (spread + 1.0 / runs + np.maximum(configurations - 1.0 / self.runs.sum(), 0.0)))
        return np.asarray(student.sf((values - centre) / scale, self.freedom).T @ weight)

    @cached_property
    def next_level(self) -> tuple[Array, Array, Array, Array]:
        """The level of the next session, shape (ratios, 1): centre, variance of a run, its own over that, weight."""
        oldest = max(int(self.sessions.max(initial=-1)) + 1 - MOST_SESSIONS, 0)
        recent = self.sessions >= oldest
        sessions, residuals = self.sessions[recent] - oldest, self.residuals[recent]
        sizes = np.bincount(sessions).astype(float)
        count, unit = len(sizes), np.ones((1, 1))
        if count < FEWEST_SESSIONS:
            return 0.0 * unit, max(self.sd, LEAST_NOISE) ** 2 * unit, unit / self.runs.sum(), unit[0]
        d, q = np.array([*product(DEVIATIONS, WALKS)]).T
        prior = np.prod([np.where(r == 0.0, NONE, (1.0 - NONE) / (len({*r}) - 1)) for r in (d, q)], axis=0)
        means, place = np.bincount(sessions, weights=residuals) / sizes, np.arange(1.0, count + 1.0)
        covariance = q[:, None, None] * np.minimum.outer(place, place) + np.eye(count) * d[:, None, None]
        covariance += np.diag(1.0 / sizes)
        # Of the constant, the means, and the covariance with the next session.
        right = np.stack([np.ones_like(place), means, place])
        products = right @ np.linalg.solve(covariance, right.T[None])
        information, walked = products[:, 0, 0], q * products[:, 0, 2]
        mean = products[:, 0, 1] / information
        centre = mean + q * products[:, 1, 2] - walked * mean
        spread = d + q * (count + 1.0) - q**2 * products[:, 2, 2] + (1.0 - walked) ** 2 / information
        freedom = max(self.freedom - len(self.residuals) + len(residuals), 1.0)
        squares = np.sum((residuals - means[sessions]) ** 2) + products[:, 1, 1] - information * mean**2
        squares = np.maximum(squares, freedom * LEAST_NOISE**2)
        evidence = np.log(prior) - 0.5 * (np.linalg.slogdet(covariance)[1] + np.log(information))
        evidence -= 0.5 * freedom * np.log(squares)
        weight = np.exp(evidence - evidence.max())
        return centre[:, None], squares[:, None] / freedom, spread[:, None], weight / weight.sum()


class Alarm(Struct, frozen=True):
    """Whether runs are slower; the fields of the JSON."""

    level: float  #: The rate of false alarms that is kept.
    probability: float  #: Of such runs, or slower ones, if nothing has changed.
    tests: dict[str, float]  #: The probability of each test by its name.
    slower: tuple[int, ...]  #: The runs that are slower by themselves: Benjamini and Hochberg at the level.
    raised: bool


def alarm_of(
    history: History, configuration: Index, logarithms: Array, predicted: tuple[Array, Array, Array], level: float
) -> Alarm:
    """Return whether new runs are slower, at a rate `level` of false alarms.

    A `configuration` is a place in the history, −1 where it was never measured; `predicted` are ln of the prediction,
    the standard deviation of a new run, and the part of it that runs share.
    """
    measured = configuration >= 0
    places, count = configuration[measured], int(measured.sum())
    tests, single = dict[str, float](), np.ones(len(logarithms))
    if count:
        residuals = logarithms[measured] - history.means[places]
        single[measured] = history.slower(residuals, 1, 1.0 / history.runs[places])
        if count > 1:
            shares = np.bincount(places, minlength=len(history.runs)) / count
            of_mean = np.array([np.sum(shares**2 / history.runs)])
            tests["mean"] = float(history.slower(residuals.mean(keepdims=True), count, of_mean)[0])
        tests["each"] = float(false_discovery_control(single[measured]).min())
    if not measured.all():
        centre, sd, shared = (values[~measured] for values in predicted)
        residuals, alone = logarithms[~measured] - centre, np.maximum(sd**2 - shared**2, 0.0)
        single[~measured] = student.sf(residuals / sd, history.freedom)
        spread = np.sqrt(np.mean(shared) ** 2 + alone.sum() / len(residuals) ** 2)
        tests["predicted"] = float(student.sf(residuals.mean() / spread, history.freedom))
    slower = tuple(np.flatnonzero(false_discovery_control(single) <= level).tolist())
    probability = combined(tests, min(EACH * count, MOST_EACH))
    return Alarm(level, probability, tests, slower, probability <= level)


def combined(tests: dict[str, float], each: float) -> float:
    """Return the probability of some tests together: that of the weighted mean of their Cauchy quantiles."""
    if len(tests) == 1:
        return next(iter(tests.values()))
    weights = [each if name == "each" and "mean" in tests else 1.0 - each for name in tests]
    return float(cauchy.sf(np.average(cauchy.isf(np.minimum([*tests.values()], MOST_PROBABILITY)), weights=weights)))
