"""Learners to compare with: the logarithm of the target on the logarithms of the factors, none of them tuned.

A learner takes the training part (a row per configuration), the configurations to predict, the nominal coverage, a
seed and the mapping of names, which `last-point` alone uses. scikit-learn and statsmodels are imported when used.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import FitError
from genperf.table import Table
from genperf.validation.features import Array, Encoder, Forecast, exponentials, forecast, half_width
from genperf.validation.last_point import last_point

Learner = Callable[[Table, pd.DataFrame, float, int, Mapping[str, str] | None], Forecast]


@dataclass(frozen=True)
class LearnerSettings:
    """Numbers of the learners, chosen once and never tuned to a table."""

    #: Of the random forest and of gradient boosting. scikit-learn's 100, times 3 for a steadier mean: a guess.
    trees: int = 300
    #: `svr_cost`, `svr_tolerance`: c and ε of the support vector regression, the latter in logarithms: errors below 5 %
    #: do not count. A guess.
    svr_cost: float = 10.0
    svr_tolerance: float = 0.05
    #: Where the fit of the Gaussian process's white noise begins, relative to the variance of the logarithms. A guess.
    noise_variance: float = 1e-2
    #: Folds of the training part whose residuals make an interval. Five, as most use.
    residual_folds: int = 5


LEARNER = LearnerSettings()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Features of a training part and of the configurations to predict."""

    #: Shape (training rows, features).
    x: Array
    #: Shape (training rows,). Logarithms of the target.
    y: Array
    #: Shape (training rows,).
    weights: Array
    #: Shape (usable rows, features).
    new: Array
    interval: float
    seed: int


def _regression(logarithms: Callable[[_Rows], Sequence[Array]]) -> Learner:
    """Return the learner of a regression: its central logarithms and those of the bounds, at the usable rows."""

    @functools.wraps(logarithms)
    def learner(
        train: Table, data: pd.DataFrame, interval: float, seed: int, mapping: Mapping[str, str] | None = None
    ) -> Forecast:
        encoder = Encoder.of(train)
        x, new = encoder.matrix(train.frame), encoder.matrix(data)
        if x.shape[1] == 0:
            # Nothing varies in the training part: the learners still need a column.
            x, new = np.zeros((len(x), 1)), np.zeros((len(new), 1))
        usable, counts = np.isfinite(new).all(axis=1), train.weights > 0
        columns = np.full((3, len(data)), np.nan)
        if usable.any():
            y, weights = np.log(train.measured[counts]), train.weights[counts]
            columns[:, usable] = logarithms(_Rows(x[counts], y, weights, new[usable], interval, seed))
        return exponentials(*columns)

    return learner


def linear(
    train: Table, data: pd.DataFrame, interval: float, seed: int, mapping: Mapping[str, str] | None = None
) -> Forecast:
    """Predict by linear regression (statsmodels), with its interval of a new run.

    ln T = c + Σ p_j·ln x_j + Σ d_level, weighted by the table's weights.
    """
    encoder = Encoder.of(train, standardise=False, reference=False)
    model = _least_squares(train, encoder)
    new = encoder.matrix(data)
    usable = np.isfinite(new).all(axis=1)
    if not usable.any():
        return forecast(np.full(len(data), np.nan))
    design = np.column_stack([np.ones(int(usable.sum())), new[usable]])
    logarithm, half = np.full(len(data), np.nan), np.full(len(data), np.nan)
    logarithm[usable] = design @ model.params
    if model.df_resid > 0:
        bounds = model.get_prediction(design).conf_int(obs=True, alpha=1.0 - interval)
        half[usable] = (bounds[:, 1] - bounds[:, 0]) / 2.0
    return forecast(logarithm, half)


def linear_coefficients(table: Table, interval: float = 0.9) -> pd.DataFrame:
    """Return the coefficients of the `linear` learner with their standard errors.

    The estimate of a numeric factor is its elasticity, ∂ln T/∂ln x; that of a level its log ratio to the
    reference.

    Returns
    -------
    DataFrame
        coefficient, estimate, standard_error, lower, upper.

    Examples
    --------
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"n": [1.0, 2.0, 4.0, 8.0], "t": [8.0, 4.0, 2.0, 1.0]})
    >>> linear_coefficients(read_table(runs, time="t", extrinsic="n")).estimate.round(6).tolist()
    [2.079442, -1.0]
    """
    train = table.medians()
    encoder = Encoder.of(train, standardise=False, reference=False)
    model = _least_squares(train, encoder)
    known = model.df_resid > 0
    bounds = model.conf_int(alpha=1.0 - interval) if known else np.full((len(model.params), 2), np.nan)
    return pd.DataFrame(
        {
            "coefficient": ["constant", *encoder.names],
            "estimate": model.params,
            "standard_error": model.bse if known else np.nan,
            "lower": bounds[:, 0],
            "upper": bounds[:, 1],
        }
    )


def _least_squares(train: Table, encoder: Encoder) -> Any:
    from statsmodels.regression.linear_model import WLS

    counts = train.weights > 0
    x = encoder.matrix(train.frame)[counts]
    design = np.column_stack([np.ones(len(x)), x])
    if len(design) < design.shape[1]:
        raise FitError(
            f"linear regression has {design.shape[1]} coefficients, and there are {len(design)} configurations",
            hint="fewer factors, or more measurements",
            where=train.source,
        )
    with warnings.catch_warnings():
        # Factors that follow from each other share their effect: no news to the reader of a baseline.
        warnings.simplefilter("ignore")
        return WLS(np.log(train.measured[counts]), design, weights=train.weights[counts]).fit()


@_regression
def random_forest(rows: _Rows) -> Sequence[Array]:
    """Predict by a random forest of 300 trees; the interval is the spread of the trees."""
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(n_estimators=LEARNER.trees, random_state=rows.seed)
    model.fit(rows.x, rows.y, sample_weight=rows.weights)
    trees = np.stack([tree.predict(rows.new) for tree in model.estimators_])
    return [trees.mean(axis=0), *np.quantile(trees, [(1.0 - rows.interval) / 2.0, (1.0 + rows.interval) / 2.0], axis=0)]


@_regression
def gradient_boosting(rows: _Rows) -> Sequence[Array]:
    """Predict by gradient boosting, 300 trees of depth 3; interval from folds of the training part."""
    from sklearn.ensemble import GradientBoostingRegressor

    return _with_residuals(GradientBoostingRegressor(n_estimators=LEARNER.trees, random_state=rows.seed), rows)


@_regression
def svr(rows: _Rows) -> Sequence[Array]:
    """Predict by support vector regression, Gaussian kernel, C = 10, ε = 0.05; interval as for gradient boosting."""
    from sklearn.svm import SVR

    return _with_residuals(SVR(C=LEARNER.svr_cost, epsilon=LEARNER.svr_tolerance), rows)


@_regression
def gaussian_process(rows: _Rows) -> Sequence[Array]:
    """Predict by a Gaussian process, one length scale a factor and white noise, with the interval of its posterior.

    The table's weights are not used.
    """
    from scipy.special import ndtri
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.ones(rows.x.shape[1])) + WhiteKernel(LEARNER.noise_variance)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=rows.seed)
    with warnings.catch_warnings():
        # A length scale at its bound is a factor without effect: no news to the reader of a baseline.
        warnings.simplefilter("ignore")
        model.fit(rows.x, rows.y)
        mean, deviation = model.predict(rows.new, return_std=True)
    half = deviation * float(ndtri((1.0 + rows.interval) / 2.0))
    return mean, mean - half, mean + half


def _with_residuals(model: Any, rows: _Rows) -> Sequence[Array]:
    """Fit and predict; the interval is that of the residuals of folds of the training part."""
    from sklearn.base import clone

    def predicted(use: npt.NDArray[np.bool_], at: Array) -> Array:
        fitted = clone(model).fit(rows.x[use], rows.y[use], sample_weight=rows.weights[use])
        return np.asarray(fitted.predict(at), dtype=float)

    count = len(rows.y)
    folds, residuals = min(LEARNER.residual_folds, count), np.full(count, np.nan)
    fold = np.empty(count, dtype=np.int64)
    fold[np.random.default_rng(rows.seed).permutation(count)] = np.arange(count) % folds
    for k in range(folds) if count > 1 else ():
        residuals[fold == k] = rows.y[fold == k] - predicted(fold != k, rows.x[fold == k])
    centre, half = predicted(np.ones(count, dtype=bool), rows.new), half_width(residuals, rows.interval)
    return centre, centre - half, centre + half


#: The learners by name.
LEARNERS: dict[str, Learner] = {
    "last-point": last_point,
    "linear": linear,
    "random-forest": random_forest,
    "gradient-boosting": gradient_boosting,
    "svr": svr,
    "gaussian-process": gaussian_process,
}
