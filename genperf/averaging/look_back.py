"""The larger counts of a table predicted from its smaller ones: how much of a trend holds, and what a doubling adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.averaging.effects import counts_of
from genperf.averaging.fitted import Fitted, columns_of, refitted
from genperf.averaging.kriging import ScaledKriging
from genperf.averaging.trend import Axis, Trend, share_of_trend, turns_of
from genperf.discrepancy import Discrepancy
from genperf.estimate.last_point import last_point_errors
from genperf.estimate.outcome import growth
from genperf.prediction import Evidence
from genperf.table import Table

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LookBackSettings:
    """How the smaller counts of a table are asked for the larger ones.

    Attributes
    ----------
    least_share : float
        Configurations, as a share of the table's, from which the rest may be predicted. Seven runs of a transformer had
        four at the most tensor-parallel ways: a fit to the other three erred by 155 %, one to five or six of them by
        9 and 13 %. A guess.
    """

    least_share: float = 0.5


LOOK_BACK = LookBackSettings()


@dataclass(frozen=True, eq=False)
class Past:
    """Predictions of some rows of a table by fits to others.

    Attributes
    ----------
    medians : Table
        One row per configuration.
    rows : ndarray of int of shape (judged,)
        The rows that the kriging was learned from.
    """

    fitted: Sequence[Fitted]
    medians: Table
    rows: npt.NDArray[np.intp]
    kriging: ScaledKriging

    def refitted(self, trains: Mask) -> list[Array]:
        """Return the constants of each expression, fitted to each of some parts, (parts, n)."""
        return [refitted(f, trains) for f in self.fitted]

    def logarithms(self, constants: Sequence[Array], columns: Mapping[str, npt.NDArray[Any]]) -> Array:
        """Return the mean over the expressions of ln T, shape (rows,).

        Parameters
        ----------
        constants : sequence of ndarray of shape (n,)
            Of each expression.
        columns : mapping of str to ndarray of shape (rows,)
        """
        values = []
        for f, c in zip(self.fitted, constants, strict=True):
            named = dict(zip(f.expression.constant_names, map(float, c), strict=True))
            with np.errstate(all="ignore"):
                values.append(np.log(f.expression.evaluate(columns, named)))
        return np.asarray(np.mean(values, axis=0))

    def change(self, constants: Sequence[Array], axis: Axis, train: Mask, held: Mask) -> Array:
        """Return the change of ln T from the largest counts of a training part to held-out rows, shape (held,).

        Parameters
        ----------
        constants : sequence of ndarray of shape (n,)
            Of each expression, fitted to the training part.
        train, held : ndarray of bool of shape (rows,)
        """
        columns = columns_of(self.medians, held)
        limits = axis.limits(columns_of(self.medians, train))
        there = self.logarithms(constants, axis.limited(columns, limits)) + axis.log_work_ratio(columns, limits)
        return np.asarray(self.logarithms(constants, columns) - there)

    def krige(self, constants: Sequence[Array], train: Mask) -> Discrepancy | None:
        """Carry the residuals of a training part to other configurations; None where nothing can be.

        Parameters
        ----------
        constants : sequence of ndarray of shape (n,)
            Of each expression, fitted to the training part.
        train : ndarray of bool of shape (rows,)
        """
        judged = np.zeros(len(self.medians), bool)
        judged[self.rows] = True
        residuals = np.log(self.medians.measured[judged]) - self.logarithms(constants, columns_of(self.medians, judged))
        return self.kriging.krige(residuals, train[judged])

    def share_of_trend(self, axis: Axis) -> float:
        """Return the share of the expressions' trend that the larger counts of the table followed."""
        turns = turns_of(axis, self.medians)
        sets = self.refitted(np.array([t.train for t in turns])) if turns else []
        changes, errors = [], []
        for k, turn in enumerate(turns):
            constants = [of_member[k] for of_member in sets]
            columns, measured = columns_of(self.medians, turn.held), self.medians.measured[turn.held]
            change = self.change(constants, axis, turn.train, turn.held)
            without = self.logarithms(constants, columns) - change
            discrepancy = self.krige(constants, turn.train)
            level = 0.0 if discrepancy is None else discrepancy.mean(columns)
            changes.append(change)
            errors.append(np.log(measured) - without - level)
        return share_of_trend(changes, errors, axis)


def look_back(past: Past, trend: Trend) -> tuple[list[Evidence], float]:
    """Predict the largest value of each count from those up to half of it.

    Where fewer than two values are at half of it and below, all smaller ones are taken. A count is left out whose
    smaller values are less than `LookBackSettings.least_share` of the configurations: their fit errs as of a smaller
    table. Where that leaves none, the count with the most configurations below is taken.

    Returns
    -------
    per_doubling : float
        Standard deviation of ln T that each doubling adds: the errors that misfit and kriging do not expect. Of several
        counts it is the root mean square, since variances of factors add up: the total is right where all go as far.
    """
    medians, kriging = past.medians, past.kriging
    counts = counts_of(medians.factors)
    if not counts:
        return [], kriging.error
    trains = np.array([_trained(medians.columns[factor.name]) for factor in counts])
    shares = trains.mean(axis=1)
    enough = np.flatnonzero(shares >= min(LOOK_BACK.least_share, shares.max()))
    counts, trains = [counts[k] for k in enough], trains[enough]
    sets = past.refitted(trains)
    evidence, steps = [], []
    for k, (factor, train) in enumerate(zip(counts, trains, strict=True)):
        values = medians.columns[factor.name]
        held = values == values.max()
        constants, columns = [of_member[k] for of_member in sets], columns_of(medians, held)
        predicted = past.logarithms(constants, columns)
        if trend.axis is not None and factor.name in trend.axis.names:
            predicted = predicted - (1.0 - trend.share) * past.change(constants, trend.axis, train, held)
        errors, expected = predicted - np.log(medians.measured[held]), kriging.misfit**2
        discrepancy = past.krige(constants, train)
        if discrepancy is not None:
            mean, variance = discrepancy.forecast(columns)
            errors, expected = errors + mean[0], expected + float(np.mean(variance))
        if not np.all(np.isfinite(errors)):
            continue
        doublings = float(np.log2(values.max() / values[train].max()))
        last = last_point_errors([medians.take(train | held)], factor.name, held[train | held][None, :])[0]
        error = float(np.mean(np.abs(errors)))
        evidence.append(Evidence(factor.name, float(values.max()), doublings, error, float(last)))
        steps.append(growth(float(np.sqrt(np.mean(errors**2))), float(np.sqrt(expected)), doublings))
    return evidence, float(np.sqrt(np.mean(np.square(steps)))) if steps else kriging.error


def _trained(values: Array) -> Mask:
    """Return the rows up to half of a count's largest value; up to the second largest where those have one value."""
    levels = np.unique(values)
    near = levels[levels <= levels[-1] / 2.0]
    return np.asarray(values <= (near[-1] if len(near) > 1 else levels[-2]))
