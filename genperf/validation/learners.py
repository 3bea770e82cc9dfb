"""Learners to compare with: the logarithm of the target on the logarithms of the factors, none of them tuned.

A learner takes the training part (a row per configuration), the configurations to predict, the nominal coverage, a
seed and the mapping of names, which `last-point` alone uses. scikit-learn and statsmodels are imported when used.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.arrays import Array, Mask
from genperf.errors import FitError
from genperf.formula import Node, Number, call, evaluate
from genperf.panel import Panel
from genperf.scaling import is_whole
from genperf.table import Factor, Table
from genperf.table.target import SECONDS


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
    #: Rows whose distances to all training rows `last-point` has in memory at a time: a block and 100 000 training rows
    #: take 200 MB for each array of distances.
    block: int = 256
    #: Distances are sums of logarithms: those that differ by less are equal up to rounding.
    relative_tolerance: float = 1e-9


LEARNER = LearnerSettings()


class Forecast(NamedTuple):
    """Predictions of a table's target."""

    #: Shape (rows,). In the target's unit; NaN where there is none.
    predicted: Array
    lower: Array
    upper: Array

    @classmethod
    def of_logarithms(cls, *logarithms: Array) -> Forecast:
        """Return predictions and bounds from their logarithms; a value that overflows is no prediction.

        Examples
        --------
        >>> Forecast.of_logarithms(np.log([2.0]), np.zeros(1), np.log([4.0])).upper.round(6)
        array([4.])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [np.exp(column) for column in logarithms]
        return cls(*(np.where(np.isfinite(column), column, np.nan) for column in columns))


@dataclass(frozen=True)
class Axis:
    """How one numeric factor is read."""

    name: str
    #: ln x where all values are above zero; ln(1 + x/centre) where one is zero; x/centre where one is negative.
    scale: Literal["log", "log1p", "linear"]
    #: The factor's centre (see `Factor`).
    centre: float

    @classmethod
    def of(cls, factor: Factor) -> Axis:
        """Return the axis of a numeric factor."""
        scale: Literal["log", "log1p", "linear"] = "log" if factor.positive else "log1p"
        return cls(factor.name, "linear" if factor.lower < 0 else scale, factor.centre)

    def read(self, data: Mapping[str, Any] | pd.DataFrame) -> Array:
        """Return the values; not finite where the factor has none on this scale.

        Examples
        --------
        >>> Axis("servers", "log1p", 2.0).read({"servers": [0, 2]}).round(3)
        array([0.   , 0.693])
        """
        values = np.asarray(data[self.name], dtype=float)
        with np.errstate(all="ignore"):
            if self.scale == "log":
                return np.asarray(np.log(values))
            return np.asarray(np.log1p(values / self.centre) if self.scale == "log1p" else values / self.centre)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Factors → matrix, learned from the training part alone."""

    #: The numeric factors with more than one value.
    axes: tuple[Axis, ...]
    #: Categorical factor and level, a column of 0 and 1 each.
    levels: tuple[tuple[str, str], ...]
    #: Shape (axes,). The mean and the standard deviation of each axis: it is shifted by the one and divided by the
    #: other.
    shift: Array
    spread: Array

    @classmethod
    def of(cls, train: Table, plain: bool = False) -> Encoder:
        """Learn the encoding of a table; a plain one is not standardised, and has no column of the first level."""
        axes = tuple(Axis.of(f) for f in train.numeric if f.distinct > 1)
        levels = tuple((f.name, level) for f in train.categorical if f.distinct > 1 for level in f.levels[plain:])
        shift, spread = np.zeros(len(axes)), np.ones(len(axes))
        if axes and not plain:
            read = np.stack([a.read(train.frame) for a in axes], axis=1)
            shift, spread = read.mean(axis=0), read.std(axis=0)
        return cls(axes, levels, shift, np.where(spread > 0, spread, 1.0))

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [a.name for a in self.axes] + [f"{factor}={level}" for factor, level in self.levels]

    def matrix(self, data: pd.DataFrame) -> Array:
        """Return the matrix, shape (rows, columns).

        Examples
        --------
        >>> from genperf.table import read_table
        >>> runs = pd.DataFrame({"n": [1, 4], "net": ["a", "b"], "t": [4.0, 1.0]})
        >>> Encoder.of(read_table(runs, time="t", extrinsic="n", categorical="net")).matrix(runs)
        array([[-1.,  1.,  0.],
               [ 1.,  0.,  1.]])
        """
        parts = [(a.read(data) - m) / s for a, m, s in zip(self.axes, self.shift, self.spread, strict=True)]
        parts += [(data[factor] == level).to_numpy(dtype=float) for factor, level in self.levels]
        return np.stack(parts, axis=1) if parts else np.zeros((len(data), 0))


def half_width(residuals: Array, interval: float) -> float:
    """Return what to add and subtract so that a share `interval` of new residuals of the same kind lies within.

    The rank ⌈(n + 1)·interval⌉ of the n absolute residuals (split conformal prediction); NaN where n is too small.

    Examples
    --------
    >>> half_width(np.array([0.1, -0.2, 0.3, -0.4]), 0.8), half_width(np.array([0.1]), 0.9)
    (0.4, nan)
    """
    absolute = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    rank = int(np.ceil((len(absolute) + 1) * interval - 1e-9))
    return float(absolute[rank - 1]) if 0 < rank <= len(absolute) else float("nan")


Learner = Callable[[Table, pd.DataFrame, float, int, Mapping[str, str] | None], Forecast]


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
    #: Of the table, for messages.
    source: str


def _regression(logarithms: Callable[[_Rows], Sequence[Array]], plain: bool = False) -> Learner:
    """Return the learner of a regression, which gives the logarithms of predictions and bounds at usable rows.

    A plain one has logarithms as they are, and no column for the first level of a factor.
    """

    @functools.wraps(logarithms)
    def learner(
        train: Table, data: pd.DataFrame, interval: float, seed: int, mapping: Mapping[str, str] | None = None
    ) -> Forecast:
        encoder = Encoder.of(train, plain)
        x, new = encoder.matrix(train.frame), encoder.matrix(data)
        if x.shape[1] == 0 and not plain:
            # Nothing varies in the training part: the learners still need a column.
            x, new = np.zeros((len(x), 1)), np.zeros((len(new), 1))
        usable, counts = np.isfinite(new).all(axis=1), train.weights > 0
        columns = np.full((3, len(data)), np.nan)
        if plain or usable.any():
            y, weights = np.log(train.measured[counts]), train.weights[counts]
            columns[:, usable] = logarithms(_Rows(x[counts], y, weights, new[usable], interval, seed, train.source))
        return Forecast.of_logarithms(*columns)

    return learner


def _linear(rows: _Rows) -> Sequence[Array]:
    """Predict by linear regression (statsmodels), with its interval of a new run.

    ln T = c + Σ p_j·ln x_j + Σ d_level, weighted by the table's weights.
    """
    model = _least_squares(rows)
    design = np.column_stack([np.ones(len(rows.new)), rows.new])
    centre, half = design @ model.params, np.full(len(design), np.nan)
    if model.df_resid > 0 and len(design):
        bounds = model.get_prediction(design).conf_int(obs=True, alpha=1.0 - rows.interval)
        half = (bounds[:, 1] - bounds[:, 0]) / 2.0
    return centre, centre - half, centre + half


linear = _regression(_linear, plain=True)


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
    encoder, counts = Encoder.of(train, plain=True), train.weights > 0
    x, y = encoder.matrix(train.frame)[counts], np.log(train.measured[counts])
    model = _least_squares(_Rows(x, y, train.weights[counts], x, interval, 0, train.source))
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


def _least_squares(rows: _Rows) -> Any:
    from statsmodels.regression.linear_model import WLS

    design = np.column_stack([np.ones(len(rows.x)), rows.x])
    if len(design) < design.shape[1]:
        raise FitError(
            f"linear regression has {design.shape[1]} coefficients, and there are {len(design)} configurations",
            hint="fewer factors, or more measurements",
            where=rows.source,
        )
    with warnings.catch_warnings():
        # Factors that follow from each other share their effect: no news to the reader of a baseline.
        warnings.simplefilter("ignore")
        return WLS(rows.y, design, weights=rows.weights).fit()


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

    def predicted(use: Mask, at: Array) -> Array:
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


def last_point(
    train: Table, data: pd.DataFrame, interval: float, seed: int, mapping: Mapping[str, str] | None = None
) -> Forecast:
    """Predict each configuration by the nearest measured one, with the same value per sample.

    T = T' · b/b'

    with T' and b' the measured value and the batch per worker of the nearest measured configuration, and b the batch
    per worker of the predicted one; of a job, 1/n in the place of b. It is T' where the table has no such factor, or
    where the target is not a time: a memory is not proportional to the batch. Nearest is, in this order: the fewest
    categorical factors that differ; the smallest distance in the intrinsic factors; in the extrinsic ones; in the
    batch. So along a series it is the largest measured configuration below the predicted one, and in a table of many
    programs it is the same program at the nearest scale. Distances are Euclidean in the factors' logarithms; of two
    scales equally far away, the larger is used.

    The interval comes from predicting each configuration of the training part from its others.

    Examples
    --------
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4], "batch": [32, 32, 32], "t": [1.0, 1.1, 1.2]})
    >>> table = read_table(runs, time="t", extrinsic="workers", intrinsic="batch")
    >>> last_point(table, pd.DataFrame({"workers": [8, 8], "batch": [32, 16]}), 0.9, 0).predicted
    array([1.2, 0.6])
    """
    order = np.argsort(-_size(train), kind="stable")
    train = train.take(order)
    batch = _one_worker(train, mapping or {})

    def samples(frame: pd.DataFrame) -> Array:
        if batch is None:
            return np.ones(len(frame))
        columns = {f.name: frame[f.name].to_numpy(dtype=float) for f in train.numeric}
        return np.broadcast_to(np.asarray(evaluate(batch, columns), dtype=float), (len(frame),))

    measured = samples(train.frame)

    def logarithms(frame: pd.DataFrame, apart: bool = False) -> Array:
        nearest = _nearest(train, frame, mapping, apart)
        with np.errstate(all="ignore"):
            ratio = samples(frame) / measured[nearest]
        usable = (ratio > 0) & np.isfinite(ratio)
        return np.asarray(np.log(train.measured[nearest]) + np.log(np.where(usable, ratio, 1.0)))

    centre, half = logarithms(data), float("nan")
    if len(train) > 1:
        half = half_width(np.log(train.measured) - logarithms(train.frame, apart=True), interval)
    return Forecast.of_logarithms(centre, centre - half, centre + half)


def _one_worker(train: Table, mapping: Mapping[str, str]) -> Node | None:
    """Return the work of one worker as a formula; None where the time stays as it is."""
    factors = Panel(train.factors, mapping)
    if train.target.unit != SECONDS:
        return None
    if is_whole(train.scaling) and (workers := factors.counted_node) is not None:
        return call("divide", Number(1.0), workers)
    return factors.node("batch")


def _nearest(train: Table, data: pd.DataFrame, mapping: Mapping[str, str] | None, apart: bool) -> npt.NDArray[np.int64]:
    """Return the number of the training row nearest to each row of data."""
    factors = Panel(train.factors, mapping or {})
    batches = {f.name for f in (factors.find("batch"), factors.find("global_batch")) if f is not None}
    tiers = [
        [f for f in train.numeric if f.role == "intrinsic" and f.name not in batches],
        [f for f in train.numeric if f.role == "extrinsic" and f.name not in batches],
        [f for f in train.numeric if f.name in batches],
    ]
    axes = [[Axis.of(f) for f in tier if f.distinct > 1] for tier in tiers]
    measured = [[a.read(train.frame) for a in tier] for tier in axes]
    wanted = [[a.read(data) for a in tier] for tier in axes]
    nearest = np.empty(len(data), dtype=np.int64)
    for start in range(0, len(data), LEARNER.block):
        rows = slice(start, min(start + LEARNER.block, len(data)))
        different = np.zeros((rows.stop - start, len(train)))
        for f in train.categorical:
            different += data[f.name].to_numpy()[rows, None] != train.frame[f.name].to_numpy()[None, :]
        distances = [different]
        for tier, training in zip(wanted, measured, strict=True):
            squares = [(x[rows, None] - y[None, :]) ** 2 for x, y in zip(tier, training, strict=True)]
            distances.append(np.sqrt(np.nan_to_num(sum(squares, np.zeros_like(different)), posinf=1e300)))
        candidates = np.ones_like(different, dtype=bool)
        if apart:
            candidates[np.arange(rows.stop - start), np.arange(start, rows.stop)] = False
        for distance in distances:
            minimum = np.where(candidates, distance, np.inf).min(axis=1, keepdims=True)
            tolerance = LEARNER.relative_tolerance
            candidates &= distance <= minimum * (1 + tolerance) + tolerance
        nearest[rows] = candidates.argmax(axis=1)
    return nearest


def _size(table: Table) -> Array:
    """Return the sum of the logarithms of each row's extrinsic factors, shape (rows,)."""
    axes = [Axis.of(f) for f in table.numeric if f.role == "extrinsic"]
    return np.asarray(sum((a.read(table.frame) for a in axes), np.zeros(len(table))))


#: The learners by name.
LEARNERS: dict[str, Learner] = {
    "last-point": last_point,
    "linear": linear,
    "random-forest": random_forest,
    "gradient-boosting": gradient_boosting,
    "svr": svr,
    "gaussian-process": gaussian_process,
}
