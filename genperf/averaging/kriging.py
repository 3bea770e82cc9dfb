"""Kriging the residuals of a fit, checked on configurations that the fit did not train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import numpy.typing as npt

from genperf.averaging.effects import fit_effects, krige
from genperf.discrepancy import Discrepancy, Effect
from genperf.estimate.outcome import UNKNOWN_MISFIT
from genperf.estimate.select import SELECTION, Candidate
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class KrigingSettings:
    """When residuals are kriged.

    Attributes
    ----------
    most_anchors : int
        Configurations that are kept at most: a model file stays small, and predictions fast.
    most_learned : int
        Configurations from which rates and sizes are learned at most: the time grows with their cube. A guess that cost
        nothing on rubick (`docs/decisions/kriging-anchors.md`).
    least_noise : float
        Share of the effects' variance that a new run is off by at least. Residuals, each its own neighbour, never show
        that nothing is left to noise.
    fewest_learned, fewest_anchors : int
        From fewer residuals nothing is learned, and fewer are not carried anywhere. Guesses.
    """

    most_anchors: int = 500
    most_learned: int = 250
    least_noise: float = 0.01
    fewest_learned: int = 8
    fewest_anchors: int = 4


KRIGING = KrigingSettings()


@dataclass(frozen=True, eq=False)
class Residuals:
    """How a table's residuals depend on its factors.

    Attributes
    ----------
    table : Table
        One row per configuration.
    candidates : ndarray of bool of shape (rows,)
        The rows that may be anchors.
    effects : tuple of Effect
        None where there is no kriging.
    carried : tuple of str
        Factors beyond whose largest anchor residuals are carried on unchanged.
    """

    table: Table
    candidates: Mask
    effects: tuple[Effect, ...]
    carried: tuple[str, ...] = ()

    def krige(self, residuals: Array, train: Mask | None = None) -> Discrepancy | None:
        """Carry the residuals of training rows to other configurations; None where nothing can be.

        Parameters
        ----------
        residuals : ndarray of shape (rows,)
            ln(measured/fitted), of one fit or another.
        train : ndarray of bool of shape (rows,), optional
            All rows where omitted.
        """
        rows = self.candidates & np.isfinite(residuals)
        rows = rows if train is None else rows & train
        if not self.effects or rows.sum() < KRIGING.fewest_anchors:
            return None
        return krige(_factors_of(self.table, rows), self.effects, residuals[rows], self.carried)

    def noise(self, discrepancy: Discrepancy) -> float:
        """Return the variance of ln T that a new run adds."""
        variance = float(discrepancy.scales[0]) ** 2
        return variance * max(1.0, KRIGING.least_noise * sum(e.size for e in self.effects))


def _factors_of(table: Table, rows: Mask) -> Table:
    """Return some rows with the factors as they are described over all rows."""
    return replace(table.take(rows), factors=table.factors)


def residuals_of(table: Table, residuals: Array, rng: np.random.Generator, carried: tuple[str, ...] = ()) -> Residuals:
    """Learn how residuals depend on the factors; of very many configurations, from a random choice.

    Parameters
    ----------
    table : Table
        One row per configuration.
    residuals : ndarray of shape (rows,)
    carried : tuple of str
        See `Residuals`.
    """
    order = rng.permutation(np.flatnonzero(np.isfinite(residuals)))
    chosen = np.zeros(len(table), bool)
    chosen[order[: KRIGING.most_anchors]] = True
    learned = np.sort(order[: KRIGING.most_learned])
    enough = len(learned) >= KRIGING.fewest_learned
    effects = fit_effects(table.take(learned), residuals[learned]) if enough else ()
    return Residuals(table, chosen, effects, carried)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Errors on configurations on which neither the fit nor the kriging trained.

    Attributes
    ----------
    errors : ndarray of shape (held out,)
        ln(measured/predicted).
    variances : ndarray of shape (held out,)
        What the kriging expects of their squares, before it is scaled.
    rows : ndarray of int of shape (held out,)
        The configurations.
    """

    errors: Array
    variances: Array
    rows: npt.NDArray[np.intp]

    @property
    def mean_error(self) -> float:
        """Mean |predicted/measured − 1|, one wild configuration counting no more than `SELECTION.largest_error`."""
        return float(np.mean(np.minimum(np.abs(np.expm1(-self.errors)), SELECTION.largest_error)))


def checked(chosen: Sequence[Candidate], residuals: Residuals) -> tuple[Residuals, HeldOut]:
    """Return the residuals with their errors on held-out configurations; without effects where that errs less."""
    kriged = held_out(chosen, residuals)
    without = replace(residuals, effects=())
    plain = held_out(chosen, without)
    worse = kriged.errors.size and kriged.mean_error > plain.mean_error
    return (without, plain) if worse else (residuals, kriged)


def held_out(chosen: Sequence[Candidate], residuals: Residuals) -> HeldOut:
    """Krige the residuals of each fold's fits, and predict the configurations that the fold held out."""
    measured = np.log(residuals.table.measured)
    errors, variances, rows = [], [], []
    for k, train in enumerate(chosen[0].folds):
        fold = measured - np.mean([c.by_fold[k] for c in chosen], axis=0)
        discrepancy = residuals.krige(fold, train)
        mean, variance = np.zeros(len(train)), np.full(len(train), np.mean(fold[train] ** 2))
        if discrepancy is not None:
            forecast = discrepancy.forecast(residuals.table.columns)
            mean, variance = forecast[0][0], forecast[1][0] + residuals.noise(discrepancy)
        errors.append((fold - mean)[~train])
        variances.append(variance[~train])
        rows.append(np.flatnonzero(~train))
    together, expected = np.concatenate([*errors, []]), np.concatenate([*variances, []])
    finite = np.isfinite(together)
    return HeldOut(
        together[finite], expected[finite], np.concatenate([*rows, np.zeros(0, np.intp)])[finite].astype(np.intp)
    )


@dataclass(frozen=True, eq=False)
class ScaledKriging:
    """Kriging whose variance is that of the errors on held-out configurations.

    Attributes
    ----------
    scale : float
        By which a kriging's own variance is multiplied.
    misfit : float
        Standard deviation of ln T beside it, of a configuration that was not fitted.
    error : float
        Root mean square of held-out errors: the misfit, and what the kriging expects.
    """

    residuals: Residuals
    scale: float
    misfit: float
    error: float

    def krige(self, residuals: Array, train: Mask | None = None) -> Discrepancy | None:
        """Carry residuals to other configurations, as `Residuals.krige` does."""
        discrepancy = self.residuals.krige(residuals, train)
        if discrepancy is None:
            return None
        return msgspec.structs.replace(discrepancy, scales=np.sqrt(self.scale) * discrepancy.scales)


def scaled(learned: Residuals, residuals: Array, errors: HeldOut, drawn: float, noise: float) -> ScaledKriging:
    """Scale the variance of kriging, so that it, the misfit and the draws err together as held-out configurations did.

    Parameters
    ----------
    residuals : ndarray of shape (rows,)
        Of the fit to all rows.
    drawn : float
        Variance of ln T that the draws hold already.
    noise : float
        Standard deviation of ln T of repeats: the misfit is no less.
    """
    without = replace(learned, effects=())
    if not errors.errors.size:
        unknown = max(UNKNOWN_MISFIT, noise)
        return ScaledKriging(without, 1.0, unknown, unknown)
    error = float(np.sqrt(max(float(np.mean(errors.errors**2)) - drawn, noise**2)))
    discrepancy, expected = learned.krige(residuals), float(np.mean(errors.variances))
    if discrepancy is None or not expected > 0.0:
        return ScaledKriging(without, 1.0, error, error)
    scale = error**2 / expected
    misfit = float(np.sqrt(max(scale * learned.noise(discrepancy), noise**2)))
    return ScaledKriging(learned, scale, misfit, error)
