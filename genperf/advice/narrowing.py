"""By how much a measurement at one configuration narrows the interval at another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genperf.arrays import Array
from genperf.attribution.draws import shares
from genperf.prediction import distance_beyond, forecasts, stack_of
from genperf.prediction.member import pooled, pooled_covariance
from genperf.result import FitResult


@dataclass(frozen=True)
class FormSettings:
    """What the model's form may miss beyond the data: a regime that begins there, such as a saturated link.

    Doublings i and j beyond the data have the covariance `new_regime·jump²·min(i, j)` of ln T: a measurement shows the
    regimes that begin before it, and none behind it.
    """

    #: The probability that a regime begins within a doubling, and by what it changes ln T there: a doubled time.
    #: Guesses; `docs/results/next-runs.md` holds the advice against the largest run that can be paid.
    new_regime: float = 0.1
    jump: float = 0.7


FORM = FormSettings()


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The uncertainty of the mean predictions T at some configurations."""

    #: Shape (rows, rows). Of ln T: over the draws of all members by weight (constants and families), plus that of each
    #: member's discrepancy, and of the regimes that may begin beyond the data (its form).
    covariance: Array
    #: Shape (rows,). Variance of one measurement of ln T around the mean there.
    noise: Array
    #: The squared correlation that independent draws reach by chance.
    chance: float

    def gains(self, target: int) -> Array:
        """Return the share of the target's variance that one measurement at each row is expected to take away.

        For jointly normal ln T, a measurement y = ln T(c) + ε leaves `Var(t) − Cov(t, c)²/(Var(c) + Var(ε))`; of the
        linear predictors of any other distribution it is the best. What independent draws would reach by chance is
        subtracted.
        """
        variance = np.diag(self.covariance)
        if variance[target] <= 0.0:
            return np.zeros(len(variance))
        there = self.covariance[target]
        with np.errstate(all="ignore"):
            share = there**2 / ((variance + self.noise) * variance[target])
        return np.asarray(np.clip(np.nan_to_num(share) - self.chance, 0.0, 1.0))

    def after(self, row: int) -> Knowledge:
        """Return the uncertainty once a row is measured."""
        along = self.covariance[row]
        total = along[row] + self.noise[row]
        left = self.covariance - np.outer(along, along) / total if total > 0.0 else self.covariance
        return Knowledge(left, self.noise, self.chance)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What the uncertainty of ln T at some configurations consists of."""

    #: Shape (draws, rows). ln T of every draw of every member.
    drawn: Array
    #: Shape (draws,). They add up to one.
    weights: Array
    #: Shape (rows, rows). The covariance that the draws do not hold: that of the discrepancy, and of the distance from
    #: the data.
    within: Array
    #: Shape (rows,). Variance of one measurement.
    noise: Array

    def joint_draws(self, count: int, seed: int) -> Array:
        """Return draws of ln T, each at all configurations together, shape (count, rows)."""
        generator = np.random.default_rng(seed)
        chosen = generator.choice(len(self.weights), count, p=self.weights)
        values, vectors = np.linalg.eigh(self.within)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.drawn[chosen] + generator.standard_normal((count, len(root))) @ root.T)


def knowledge(
    result: FitResult, columns: Mapping[str, Any], parts: Sequence[tuple[Array, Array]] | None = None
) -> Knowledge:
    """Return the uncertainty of a result at some configurations, with the chance that its form is wrong.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
    parts : sequence, optional
        The `forecasts` of the members there, where they are known.
    """
    now = uncertainty(result, columns, parts)
    centred = now.drawn - now.weights @ now.drawn
    between = (now.weights[:, None] * centred).T @ centred
    far = distance_beyond(result.schema, columns)
    regime = FORM.new_regime * FORM.jump**2 * np.minimum.outer(far, far)
    return Knowledge(between + now.within + regime, now.noise, _chance(now.weights))


def uncertainty(
    result: FitResult, columns: Mapping[str, Any], parts: Sequence[tuple[Array, Array]] | None = None
) -> Uncertainty:
    """Return what the uncertainty of a result at some configurations consists of, see `knowledge`."""
    rows = len(next(iter(columns.values())))
    if stack_of(result.members) is not None:
        centre, variance, run = pooled(result.members, columns)
        within = pooled_covariance(result.members, columns)
        return Uncertainty(centre[None, :], np.ones(1), within, run - variance)
    beyond = result.spread.per_doubling * distance_beyond(result.schema, columns)
    total = sum(m.weight for m in result.members)
    means, within, noise = [], np.zeros((rows, rows)), np.zeros(rows)
    parts = forecasts(result.members, columns) if parts is None else parts
    for member, (mean, _) in zip(result.members, parts, strict=True):
        means.append(mean)
        share = member.weight / total
        discrepancy = member.discrepancy
        if member.discrepancy is None:
            within += share * np.outer(beyond, beyond)
        if discrepancy is not None:
            within += share * discrepancy.covariance(columns).mean(axis=0)
        noise += share * member.run_variance(result.spread).mean()
    return Uncertainty(np.vstack(means), shares(result.members), within, noise)


def _chance(weights: Array) -> float:
    """Return the square of a correlation two standard deviations from none, for so many draws; 0 without several."""
    return 0.0 if len(weights) == 1 else float(4.0 * np.sum(weights**2))
