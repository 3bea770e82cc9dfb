"""Whether new runs are slower than what is known, at a rate of false alarms that is kept.

Runs are compared as ln T less the mean of their configuration. Three tests answer, each exact for normal noise:

- the *mean* of the new runs against those of earlier sessions (a day, a commit), or against single runs where nothing
  names sessions: Student's t of one-step-ahead errors e_s = m_s − level of the sessions before, which are independent
  (Brown, Durbin and Evans 1975);
- *each* run, by the step-up test of Simes (1986), on which Benjamini and Hochberg (1995) is built;
- runs of configurations that were never measured, against the model's prediction.

With K tests the alarm's probability is K times the least of theirs (Bonferroni).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

from genperf.arrays import Array, Index, Mask

#: Shares of each new session in a level that follows a drift; 0 is the mean of all (`experiments/advice/verify.py`).
FOLLOWING = (0.0, 0.2, 0.5)
#: A level follows a drift where that lowers the squared one-step errors to this share: of chance it rarely does.
LOWER = 0.8
#: Sessions, and degrees of freedom, below which they are no reference.
FEWEST_SESSIONS, FEWEST_FREEDOM = 6, 3


@dataclass(frozen=True, eq=False)
class History:
    """Earlier runs: ln T less the mean of their configuration."""

    #: Shape (configurations,). ln of the mean, and the number of runs.
    means: Array
    runs: Array
    #: Standard deviation of one run, and its degrees of freedom.
    sd: float
    freedom: float
    #: Shape (runs,). Residuals, and the session of each, from 0 in their order; none where no rows are known.
    residuals: Array = field(default_factory=lambda: np.empty(0))
    sessions: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Alarm:
    """Whether runs are slower."""

    #: The rate of false alarms that is kept.
    level: float
    #: The probability of such runs, or slower ones, if nothing has changed.
    probability: float
    #: That of each test by its name: mean, each, predicted.
    tests: dict[str, float]
    #: The new runs that are slower by themselves: Benjamini and Hochberg at the level.
    slower: tuple[int, ...]

    @property
    def raised(self) -> bool:
        """Whether the runs are slower than chance allows."""
        return self.probability <= self.level


def alarm_of(
    history: History | None,
    configuration: Index,
    logarithms: Array,
    predicted: tuple[Array, Array, Array],
    level: float,
) -> Alarm:
    """Return whether new runs are slower.

    Parameters
    ----------
    configuration : ndarray of shape (runs,)
        Of each new run among those of the history; −1 where it was never measured.
    logarithms : ndarray of shape (runs,)
        ln T of the new runs.
    predicted : tuple of ndarray, each of shape (runs,)
        ln of the predicted values, the standard deviations of a new run, and of these the part that runs share.
    level : float
        The rate of false alarms.

    Examples
    --------
    >>> history = History(np.zeros(1), np.array([20.0]), 0.02, 19.0)
    >>> nothing = (np.zeros(2), np.ones(2), np.zeros(2))
    >>> slow = alarm_of(history, np.zeros(2, dtype=int), np.array([0.08, 0.09]), nothing, 0.01)
    >>> slow.raised, slow.slower
    (True, (0, 1))
    """
    known = np.zeros(len(logarithms), dtype=bool) if history is None else configuration >= 0
    tests: dict[str, float] = {}
    single = np.ones(len(logarithms))
    if history is not None and known.any():
        places = configuration[known]
        residuals = logarithms[known] - history.means[places]
        mean, single[known] = _against(history, residuals, places)
        tests |= {"mean": mean, "each": simes(single[known])} if known.sum() > 1 else {"each": float(single[known][0])}
    if not known.all():
        centre, sd, shared = (values[~known] for values in predicted)
        freedom = np.inf if history is None else max(history.freedom, 1.0)
        residuals, count = logarithms[~known] - centre, (~known).sum()
        single[~known] = student.sf(residuals / sd, freedom)
        alone = np.maximum(sd**2 - shared**2, 0.0)
        spread = np.sqrt(np.mean(shared) ** 2 + alone.sum() / count**2)
        tests["predicted"] = float(student.sf(residuals.mean() / spread, freedom))
    probability = min(1.0, len(tests) * min(tests.values(), default=1.0))
    return Alarm(level, probability, tests, tuple(np.flatnonzero(_discovered(single, level)).tolist()))


def simes(probabilities: Array) -> float:
    """Return the probability of the least of some ordered p-values: min over k of n·p₍ₖ₎/k.

    Examples
    --------
    >>> simes(np.array([0.5, 0.01, 0.04]))
    0.03
    """
    ordered = np.sort(probabilities)
    return float(np.min(ordered * len(ordered) / np.arange(1, len(ordered) + 1)))


def _discovered(probabilities: Array, level: float) -> Mask:
    """Return which p-values Benjamini and Hochberg's procedure finds at a level."""
    order = np.argsort(probabilities)
    below = np.flatnonzero(probabilities[order] * len(order) <= level * np.arange(1, len(order) + 1))
    out = np.zeros(len(order), dtype=bool)
    out[order[: below[-1] + 1 if below.size else 0]] = True
    return out


def _against(history: History, residuals: Array, places: Index) -> tuple[float, Array]:
    """Return the p-values of the mean of new residuals and of each, given the places of their configurations."""
    sessions = history.sessions
    count = 0 if not sessions.size else int(sessions.max()) + 1
    if count < FEWEST_SESSIONS:
        shares = np.bincount(places, minlength=len(history.runs)) / len(residuals)
        spread = history.sd * np.sqrt(1.0 / len(residuals) + np.sum(shares**2 / history.runs))
        each = student.sf(residuals / (history.sd * np.sqrt(1.0 + 1.0 / history.runs[places])), history.freedom)
        return float(student.sf(residuals.mean() / spread, history.freedom)), each
    sizes = np.bincount(sessions)
    means = np.bincount(sessions, weights=history.residuals) / sizes
    errors, level = one_step_errors(means)
    inside = history.residuals - means[sessions]
    variance = float(np.sum(inside**2)) / max(len(inside) - count, 1)
    # A session of fewer runs than usual has a mean that varies more.
    between = float(np.mean(errors**2))
    least = between * min(1.0, float(np.mean(sizes)) / len(residuals))
    of_mean = max(between + variance * (1.0 / len(residuals) - float(np.mean(1.0 / sizes))), least)
    new = residuals - level
    mean = float(student.sf(new.mean() / np.sqrt(of_mean), len(errors)))
    of_run = between + variance * (1.0 - np.mean(1.0 / sizes))
    return mean, np.asarray(student.sf(new / np.sqrt(of_run), len(errors)))


def one_step_errors(means: Array) -> tuple[Array, float]:
    """Return the errors of predicting each session's mean from those before, and the level for the next one.

    A level is the mean of all sessions, or an exponential average, which follows a drift, where that errs clearly less.
    The errors are scaled to the variance of the next session's error.

    Examples
    --------
    >>> errors, level = one_step_errors(np.array([0.0, 0.2, 0.1, 0.1]))
    >>> len(errors), round(level, 3)
    (3, 0.1)
    """
    count = len(means)
    best: tuple[Array, float] | None = None
    for share in FOLLOWING:
        level, errors = float(means[0]), []
        for earlier, value in enumerate(means[1:], 1):
            scale = np.sqrt((1.0 + 1.0 / count) / (1.0 + 1.0 / earlier)) if share == 0.0 else 1.0
            errors.append((value - level) * scale)
            level += (value - level) * (1.0 / (earlier + 1.0) if share == 0.0 else share)
        scaled = np.array(errors)
        if best is None or np.mean(scaled**2) < LOWER * np.mean(best[0] ** 2):
            best = (scaled, float(level))
    assert best is not None
    return best
