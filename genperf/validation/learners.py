"""Learners to compare with: the logarithm of the target on the logarithms of the factors, none of them tuned.

A learner takes the training part (a row per configuration), the configurations to predict, the nominal coverage, a
seed and the mapping of names, which `last-point` alone uses. scikit-learn and statsmodels are imported when used.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from msgspec import Struct

from genperf.arrays import Array, Integers
from genperf.errors import FitError
from genperf.formula import Node, call, evaluate
from genperf.panel import Panel, Table
from genperf.panel.panel import SECONDS
from genperf.panel.quantities import ONE
from genperf.table import Factor

# Numbers of the learners, chosen once and never tuned to a table.
#: Trees of the random forest and of gradient boosting. scikit-learn's 100, times 3 for a steadier mean: with 150 errors
#: move by 3 %, with 600 by less than 1 (experiments/results/settings.md).
FOREST_TREES = 300
#: C and ε of the support vector regression, the latter in logarithms: errors below 5 %
#: do not count. Half and double move its errors by 2 % (experiments/results/settings.md).
SVR_COST = 10.0
SVR_TOLERANCE = 0.05
#: Where the fit of white noise begins, over the variance of ln T. Half, double: experiments/results/settings.md.
NOISE_VARIANCE = 1e-2
#: Folds of the training part whose residuals make an interval. Five, as most use.
RESIDUAL_FOLDS = 5
#: Distances are sums of logarithms: those that differ by less are equal up to rounding.
NEAREST_TOLERANCE = 1e-9


class LearnerForecast(NamedTuple):
    """Predictions of a table's target."""

    #: Shape (rows,). In the target's unit; NaN where there is none.
    predicted: Array
    lower: Array
    upper: Array

    @classmethod
    def of_logarithms(cls, *logarithms: Array) -> LearnerForecast:
        """Return predictions and bounds from their logarithms; a value that overflows is no prediction."""
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [np.exp(column) for column in logarithms]
        return cls(*(np.where(np.isfinite(column), column, np.nan) for column in columns))


def read(factor: Factor, data: Mapping[str, Any] | pd.DataFrame) -> Array:
    """Return a factor as learners read it: ln x; ln(1 + x/centre) where one is zero; x/centre below zero."""
    values = np.asarray(data[factor.name], dtype=float)
    with np.errstate(all="ignore"):
        if factor.positive:
            return np.asarray(np.log(values))
        return np.asarray(values / factor.centre if factor.lower < 0 else np.log1p(values / factor.centre))


def features(train: Table, data: pd.DataFrame, plain: bool = False) -> Array:
    """Return what regressions read of some configurations: standardised, or plain behind a column of ones."""
    varied = [f for f in train.numeric if f.distinct > 1]
    values, trained = (
        np.column_stack([np.empty((len(frame), 0)), *(read(f, frame) for f in varied)]) for frame in (data, train.frame)
    )
    if not plain:
        spread = trained.std(axis=0)
        values = (values - trained.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    levels = list[Any]()
    for factor in (f for f in train.categorical if f.distinct > 1):
        # Beside a column of ones the first level needs none.
        levels += [data[factor.name] == level for level in (factor.levels[1:] if plain else factor.levels)]
    matrix = np.column_stack([np.ones((len(data), 1 if plain else 0)), values, *levels])
    return matrix if matrix.shape[1] else np.zeros((len(data), 1))


def half_width(residuals: Array, interval: float) -> float:
    """Return the rank ⌈(n + 1)·interval⌉ of the n absolute residuals (split conformal prediction), or NaN."""
    absolute = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    rank = int(np.ceil((len(absolute) + 1) * interval - 1e-9))
    return float(absolute[rank - 1]) if 0 < rank <= len(absolute) else float("nan")


Learner = Callable[[Table, pd.DataFrame, float, int], LearnerForecast]


class _Rows(Struct, frozen=True, eq=False):
    """Features of a training part and of the configurations to predict."""

    x: Array  #: Shape (training rows, features).
    y: Array  #: Shape (training rows,). Logarithms of the target.
    weights: Array  #: Shape (training rows,).
    #: Shape (rows, features).
    new: Array
    interval: float
    seed: int
    source: str  #: The name of the table, for messages.


def _regression(logarithms: Callable[[_Rows], Sequence[Array]], plain: bool = False) -> Learner:
    """Return the learner of a regression, which gives the logarithms of predictions and bounds at usable rows."""

    @functools.wraps(logarithms)
    def learner(train: Table, data: pd.DataFrame, interval: float, seed: int) -> LearnerForecast:
        """Train on usable rows and predict usable ones; others have no prediction."""
        new = features(train, data, plain)
        usable = np.isfinite(new).all(axis=1)
        columns = np.full((3, len(data)), np.nan)
        if plain or usable.any():
            weighs = train.weights > 0
            x, y = features(train, train.frame, plain)[weighs], np.log(train.measured[weighs])
            rows = _Rows(x, y, train.weights[weighs], new[usable], interval, seed, train.source)
            columns[:, usable] = logarithms(rows)
        return LearnerForecast.of_logarithms(*columns)

    return learner


@functools.partial(_regression, plain=True)
def linear(rows: _Rows) -> Sequence[Array]:
    """Return ln T and both ends of its interval by weighted linear regression: ln T = c + Σ p_j·ln x_j + Σ d_level."""
    from statsmodels.regression.linear_model import WLS

    count, coefficients = rows.x.shape
    if count < coefficients:
        what = f"linear regression has {coefficients} coefficients, and there are {count} configurations"
        raise FitError(what, hint="fewer factors, or more measurements", where=rows.source)
    with warnings.catch_warnings():
        # Factors that follow from each other share their effect: no news to the reader of a baseline.
        warnings.simplefilter("ignore")
        model = WLS(rows.y, rows.x, weights=rows.weights).fit()
    centre, half_width = rows.new @ model.params, np.full(len(rows.new), np.nan)
    if model.df_resid > 0 and len(rows.new):
        bounds = model.get_prediction(rows.new).conf_int(obs=True, alpha=1.0 - rows.interval)
        half_width = (bounds[:, 1] - bounds[:, 0]) / 2.0
    return centre, centre - half_width, centre + half_width


@_regression
def random_forest(rows: _Rows) -> Sequence[Array]:
    """Predict by a random forest of 300 trees, scikit-learn's without its checks; interval by spread of the trees."""
    import sklearn
    from sklearn.tree import DecisionTreeRegressor

    (x, new), y = (np.ascontiguousarray(part, np.float32) for part in (rows.x, rows.new)), rows.y[:, None]
    tree, count, grown, trees = DecisionTreeRegressor(), len(y), dict[tuple[bytes, int], Array](), list[Array]()
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        for seed in np.random.RandomState(rows.seed).randint(np.iinfo(np.int32).max, size=FOREST_TREES).tolist():
            drawn = np.random.RandomState(seed).choice(count, count, p=rows.weights / rows.weights.sum())
            often = np.bincount(drawn, minlength=count)
            # Rows settle a tree of one feature; of several its seed decides between equal splits.
            key = often.tobytes(), seed if x.shape[1] > 1 else 0
            if key not in grown:
                tree.random_state = seed
                grown[key] = tree.fit(x, y, often, check_input=False).tree_.predict(new)[:, 0]
            trees.append(grown[key])
    ends = np.quantile(trees, [(1.0 - rows.interval) / 2.0, (1.0 + rows.interval) / 2.0], axis=0)
    return [np.mean(trees, axis=0), *ends]


@_regression
def gradient_boosting(rows: _Rows) -> Sequence[Array]:
    """Predict by gradient boosting, 300 trees of depth 3; interval from folds of the training part."""
    from sklearn.ensemble import GradientBoostingRegressor

    return _with_residuals(GradientBoostingRegressor(n_estimators=FOREST_TREES, random_state=rows.seed), rows)


@_regression
def svr(rows: _Rows) -> Sequence[Array]:
    """Predict by support vector regression, Gaussian kernel, C = 10, ε = 0.05; interval as for gradient boosting."""
    from sklearn.svm import SVR

    return _with_residuals(SVR(C=SVR_COST, epsilon=SVR_TOLERANCE), rows)


@_regression
def gaussian_process(rows: _Rows) -> Sequence[Array]:
    """Predict by a Gaussian process, a length scale a factor and white noise; the table's weights are not used."""
    from scipy.special import ndtri
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.ones(rows.x.shape[1])) + WhiteKernel(NOISE_VARIANCE)
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
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    count, weighted, half = len(rows.y), {"sample_weight": rows.weights}, float("nan")
    if count > 1:
        place = np.argsort(np.random.default_rng(rows.seed).permutation(count))
        fold = place % min(count, RESIDUAL_FOLDS)
        held_out = cross_val_predict(model, rows.x, rows.y, cv=PredefinedSplit(fold), params=weighted)
        half = half_width(rows.y - held_out, rows.interval)
    centre = model.fit(rows.x, rows.y, **weighted).predict(rows.new)
    return centre, centre - half, centre + half


def last_point(train: Table, data: pd.DataFrame, interval: float, seed: int) -> LearnerForecast:
    """Predict each configuration by the nearest measured one: T = T'·b/b', b a worker's batch, or 1/n of a job."""
    scales = [read(f, train.frame) for f in train.numeric if f.role == "extrinsic"]
    # Of configurations equally far away the first is taken.
    train = train.take(np.argsort(-sum(scales, np.zeros(len(train))), kind="stable"))
    panel = train.panel
    # What a time is proportional to: a worker's batch, and 1/n of a job; else one.
    work: Node = ONE
    if train.target.unit == SECONDS:
        workers = panel.counted_node if panel.of_jobs else None
        work = (panel.node("batch") or ONE) if workers is None else call("divide", ONE, workers)

    def samples(frame: pd.DataFrame) -> Array:
        columns = {f.name: frame[f.name].to_numpy(dtype=float) for f in train.numeric}
        return np.broadcast_to(np.asarray(evaluate(work, columns), dtype=float), (len(frame),))

    def logarithms(frame: pd.DataFrame, apart: bool = False) -> Array:
        """Return ln(T'·b/b') of rows; `apart`: of the training rows, each from its nearest other one."""
        nearest = _nearest(train, panel, frame, apart)
        with np.errstate(all="ignore"):
            ratio = samples(frame) / samples(train.frame)[nearest]
        usable = (ratio > 0) & np.isfinite(ratio)
        return np.asarray(np.log(train.measured[nearest]) + np.log(np.where(usable, ratio, 1.0)))

    centre, half = logarithms(data), float("nan")
    if len(train) > 1:
        half = half_width(np.log(train.measured) - logarithms(train.frame, apart=True), interval)
    return LearnerForecast.of_logarithms(centre, centre - half, centre + half)


def _nearest(train: Table, panel: Panel, data: pd.DataFrame, apart: bool) -> Integers:
    """Return the training row nearest to each row, by levels, then intrinsic, extrinsic and batch distances in ln."""
    batches = {f.name for f in (panel.find("batch"), panel.find("global_batch")) if f is not None}
    #: The logarithms of each factor, of the rows and of the training rows, in the order in which they decide.
    logarithms: dict[str, list[tuple[Array, Array]]] = {"intrinsic": [], "extrinsic": [], "batch": []}
    for f in (f for f in train.numeric if f.distinct > 1):
        logarithms["batch" if f.name in batches else f.role].append((read(f, data), read(f, train.frame)))
    levels = [(data[f.name].to_numpy(), train.frame[f.name].to_numpy()) for f in train.categorical]
    nearest, none, tolerance = np.empty(len(data), dtype=np.int64), np.zeros(len(train)), NEAREST_TOLERANCE
    # Of each row the distances to all training rows, one kind after the other: what is not nearest by one is left out.
    for row in range(len(data)):
        distances = [sum((wanted[row] != measured for wanted, measured in levels), none)]
        for of_kind in logarithms.values():
            squares = sum(((wanted[row] - measured) ** 2 for wanted, measured in of_kind), none)
            distances.append(np.sqrt(np.nan_to_num(squares, posinf=1e300)))
        candidates = np.arange(len(train)) != row if apart else np.ones(len(train), dtype=bool)
        for distance in distances:
            candidates &= distance <= distance[candidates].min() * (1 + tolerance) + tolerance
        nearest[row] = candidates.argmax()
    return nearest


#: The learners by name.
LEARNERS: dict[str, Learner] = {
    "last-point": last_point,
    "linear": linear,
    "random-forest": random_forest,
    "gradient-boosting": gradient_boosting,
    "svr": svr,
    "gaussian-process": gaussian_process,
}
