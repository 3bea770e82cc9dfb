"""Kriging the residuals of a fit, checked on configurations that the fit had not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from genperf.ensemble.residuals import axes_of, fit_effects, krige
from genperf.estimate.outcome import UNKNOWN_MISFIT
from genperf.estimate.select import WILDEST, Candidate
from genperf.prediction import Axis, Effect, Kriging
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: Configurations that are kept at most: a model file stays small, and predictions fast.
MOST = 500
#: A new run is taken to be off by at least this share of the effects' variance: that nothing is left to noise is never
#: to be seen from residuals of which each is its own neighbour.
LEAST_NOISE = 0.01
#: From fewer residuals than this nothing is learned, and fewer than this are not carried anywhere.
FEWEST, FEWEST_KNOWN = 8, 4


@dataclass(frozen=True, eq=False)
class Residuals:
    """How a table's residuals depend on its factors.

    Attributes
    ----------
    table : Table
        One row per configuration.
    axes : tuple of Axis
    kept : ndarray of bool of shape (rows,)
        The rows that may be anchors.
    effects : tuple of Effect
        None where there is no kriging.
    """

    table: Table
    axes: tuple[Axis, ...]
    kept: Mask
    effects: tuple[Effect, ...]

    def krige(self, residuals: Array, known: Mask | None = None) -> Kriging | None:
        """Carry residuals, those of known rows alone, to other configurations; None where nothing can be.

        Parameters
        ----------
        residuals : ndarray of shape (rows,)
            ln(measured/fitted), of one fit or another.
        known : ndarray of bool of shape (rows,), optional
        """
        rows = self.kept & np.isfinite(residuals)
        rows = rows if known is None else rows & known
        if not self.effects or rows.sum() < FEWEST_KNOWN:
            return None
        return krige(self.effects, [replace(a, values=a.values[rows]) for a in self.axes], residuals[rows])

    def noise(self, kriging: Kriging) -> float:
        """Return the variance of ln T that a new run adds."""
        return kriging.variance * max(1.0, LEAST_NOISE * sum(e.size for e in self.effects))


def residuals_of(table: Table, residuals: Array, rng: np.random.Generator) -> Residuals:
    """Learn how residuals depend on the factors; of more than `MOST` configurations, from as many drawn at random."""
    kept = np.zeros(len(table), bool)
    kept[rng.permutation(np.flatnonzero(np.isfinite(residuals)))[:MOST]] = True
    effects = fit_effects(table.take(kept), residuals[kept]) if kept.sum() >= FEWEST else ()
    return Residuals(table, axes_of(table), kept, effects)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What configurations were off by that neither the fit nor the kriging had seen.

    Attributes
    ----------
    off : ndarray of shape (held out,)
        ln(measured/predicted).
    variance : ndarray of shape (held out,)
        What is said of it in advance, with a variance of the kriging that is yet to be scaled.
    """

    off: Array
    variance: Array

    @property
    def error(self) -> float:
        """Mean |predicted/measured − 1|, one wild configuration counting no more than `WILDEST`."""
        return float(np.mean(np.minimum(np.abs(np.expm1(-self.off)), WILDEST)))


def checked(chosen: Sequence[Candidate], found: Residuals) -> tuple[Residuals, HeldOut]:
    """Return what was found with its errors on held-out configurations, or nothing where that errs less."""
    seen = held_out(chosen, found)
    without = replace(found, effects=())
    plain = held_out(chosen, without)
    worse = seen.off.size and seen.error > plain.error
    return (without, plain) if worse else (found, seen)


def held_out(chosen: Sequence[Candidate], found: Residuals) -> HeldOut:
    """Krige the residuals of each fold's fits, and predict what the fold had not seen."""
    measured = np.log(found.table.measured)
    off, variance = [], []
    for k, train in enumerate(chosen[0].folds):
        residuals = measured - np.mean([c.by_fold[k] for c in chosen], axis=0)
        kriging = found.krige(residuals, train)
        mean, known = np.zeros(len(train)), np.full(len(train), np.mean(residuals[train] ** 2))
        if kriging is not None:
            mean, known = kriging.forecast(found.table.columns)
            known = known + found.noise(kriging)
        off.append((residuals - mean)[~train])
        variance.append(known[~train])
    together, told = np.concatenate([*off, []]), np.concatenate([*variance, []])
    finite = np.isfinite(together)
    return HeldOut(together[finite], told[finite])


@dataclass(frozen=True, eq=False)
class Kriged:
    """Kriging whose variance is what held-out configurations were off by.

    Attributes
    ----------
    found : Residuals
    scale : float
        By which a kriging's own variance is multiplied.
    misfit : float
        Standard deviation of ln T beside it, of a configuration that was not fitted.
    missed : float
        By how much held-out configurations were off: the misfit, and what the kriging said in advance.
    """

    found: Residuals
    scale: float
    misfit: float
    missed: float

    def krige(self, residuals: Array, known: Mask | None = None) -> Kriging | None:
        """Carry residuals to other configurations, as `Residuals.krige` does."""
        kriging = self.found.krige(residuals, known)
        return None if kriging is None else replace(kriging, variance=self.scale * kriging.variance)


def kriged(found: Residuals, residuals: Array, seen: HeldOut, drawn: float, noise: float) -> Kriged:
    """Scale the variance of kriging, so that it, the misfit and the draws err together as held-out configurations did.

    Parameters
    ----------
    found : Residuals
    residuals : ndarray of shape (rows,)
        Of the fit to all rows.
    seen : HeldOut
    drawn : float
        Variance of ln T that the draws hold already.
    noise : float
        Standard deviation of ln T of repeats: the misfit is no less.
    """
    if not seen.off.size:
        unknown = max(UNKNOWN_MISFIT, noise)
        return Kriged(replace(found, effects=()), 1.0, unknown, unknown)
    missed = float(np.sqrt(max(float(np.mean(seen.off**2)) - drawn, noise**2)))
    kriging, told = found.krige(residuals), float(np.mean(seen.variance))
    if kriging is None or not told > 0.0:
        return Kriged(replace(found, effects=()), 1.0, missed, missed)
    scale = missed**2 / told
    return Kriged(found, scale, float(np.sqrt(max(scale * found.noise(kriging), noise**2))), missed)
