"""The scikit-learn adaptor: genperf's models in pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from genperf.arrays import Array, Index
from genperf.errors import GenperfError, checked
from genperf.fitting import fit as fit_of_any
from genperf.panel import read_table

#: scikit-learn hands on what a search gives, of any type.
fit = checked(fit_of_any)
_TARGET, _WEIGHT = "_target", "_weight"
#: What `genperf.fit` takes as it is.
_OPTIONS = ("structure", "loss", "penalty", "lam", "solver", "seed")
#: The part of a normal distribution within one standard deviation.
ONE_DEVIATION = 0.6827


class GenericRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A genperf model as a scikit-learn regressor.

    `y` is a time, or another quantity above zero; its unit is that of the predictions. Factors are not negative. Arrays
    without names have columns x0, x1, ….

    Parameters
    ----------
    model : str
        `auto`, a family, or a formula over the columns' names.
    structure, loss, penalty, lam, solver
        As in `genperf.fit`.
    extrinsic, categorical : str or sequence of str or int, optional
        Columns of how a run is executed, and columns of names without an order, by name (`"workers,nodes"`) or number;
        others are intrinsic.

    Examples
    --------
    >>> X = pd.DataFrame({"batch": [8, 8, 16, 16, 32, 32], "workers": [1, 4, 1, 4, 1, 4]})
    >>> y = 0.01 * X.batch + 0.02 * np.log2(X.workers) + 0.1
    >>> model = GenericRegressor("a*batch + b*log2(workers) + c", extrinsic=["workers"]).fit(X, y)
    >>> model.predict(pd.DataFrame({"batch": [64], "workers": [8]})).round(2)
    array([0.8])
    """

    def __init__(
        self,
        model: str = "generic",
        *,
        structure: str = "auto",
        loss: str = "relative",
        penalty: str = "l2",
        lam: float | Literal["cv"] | None = None,
        solver: str = "projected",
        extrinsic: str | Sequence[str | int] = (),
        categorical: str | Sequence[str | int] = (),
        seed: int = 0,
    ) -> None:
        self.model = model
        self.structure = structure
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.solver = solver
        self.extrinsic = extrinsic
        self.categorical = categorical
        self.seed = seed

    @np.errstate(under="ignore")
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GenericRegressor:
        """Fit the model to measured values above zero, shape (rows,); a row of weight w counts as w rows.

        Raises
        ------
        ValueError
            For values that are not above zero, fewer than two rows, or a model that cannot be fitted to them.
        """
        # scikit-learn's check returns both X and y.
        (_, measured), frame = self._checked(X, y=y, y_numeric=True)
        if (frame.select_dtypes("number") < 0).any(axis=None):
            # Of a pipeline, most often those that StandardScaler centred.
            hint = "factors are counts and sizes: leave StandardScaler out, a model has its scales itself"
            raise ValueError(f"Negative values in data passed to GenericRegressor: {hint}")
        if np.any(measured <= 0):
            raise ValueError("y must be above zero; it has values of zero or below")
        if len(frame) < 2:
            raise ValueError(f"n_samples={len(frame)}: at least two configurations are needed")
        names = list(frame.columns)
        extrinsic, categorical = _chosen(names, self.extrinsic), _chosen(names, self.categorical)
        intrinsic = [n for n in names if n not in extrinsic and n not in categorical]
        # A row of weight w is w rows: rows of weight 0 are left out.
        frame[_TARGET], frame[_WEIGHT] = measured.astype(float), _check_sample_weight(sample_weight, frame)
        frame = frame[frame[_WEIGHT] > 0].reset_index(drop=True)
        roles: dict[str, Any] = {"intrinsic": intrinsic, "extrinsic": extrinsic, "categorical": categorical}
        options: dict[str, Any] = {name: getattr(self, name) for name in _OPTIONS}
        try:
            self.result_ = fit(read_table(frame, time=_TARGET, weight=_WEIGHT, **roles), self.model, **options).first
        except GenperfError as error:
            raise ValueError(str(error)) from error
        return self

    def predict(self, X: Any, interval: float | None = None, return_std: bool = False) -> Any:
        """Return the predictions, shape (rows,), in the unit of `y`; with an interval or a deviation also that.

        Parameters
        ----------
        interval : float, optional
            Nominal coverage, between 0 and 1. The answer is then `(predictions, ends)`, as of `predict_interval`.
        return_std : bool
            Whether the answer is `(predictions, standard deviations)`, as of scikit-learn's Gaussian processes: half
            the width of the interval that covers 68 %.

        Examples
        --------
        >>> X = pd.DataFrame({"workers": [1, 2, 4, 8]})
        >>> model = GenericRegressor("auto", extrinsic=["workers"]).fit(X, [9.0, 5.0, 3.0, 2.0])
        >>> values, ends = model.predict(pd.DataFrame({"workers": [16]}), interval=0.9)
        >>> _, deviations = model.predict(pd.DataFrame({"workers": [16]}), return_std=True)
        >>> bool(ends[0, 0] < values[0] < ends[0, 1]), bool(0.0 < deviations[0] < ends[0, 1] - ends[0, 0])
        (True, True)
        """
        if return_std and interval is not None:
            raise GenperfError("predict returns an interval or a standard deviation", hint="give one of the two")
        values, ends = self._predicted(X, ONE_DEVIATION if interval is None else interval)
        if return_std:
            return values, (ends[:, 1] - ends[:, 0]) / 2.0
        return values if interval is None else (values, ends)

    @property
    def constants_(self) -> pd.DataFrame:
        """The fitted constants with their units and intervals, a row each."""
        check_is_fitted(self)
        return pd.DataFrame(self.result_.constants())

    def predict_interval(self, X: Any, interval: float = 0.9) -> Array:
        """Return both ends of the intervals of a nominal coverage, shape (rows, 2), in the unit of `y`."""
        return self._predicted(X, interval)[1]

    def _predicted(self, X: Any, interval: float) -> tuple[Array, Array]:
        """Return the predictions and the ends of their intervals."""
        check_is_fitted(self)
        frame = self.result_.predict(self._checked(X, reset=False)[1], interval)
        return frame[self.result_.schema.target.name].to_numpy(float), frame[["lower", "upper"]].to_numpy(float)

    def _checked(self, X: Any, **checks: Any) -> tuple[Any, pd.DataFrame]:
        """Return the checked input, and its rows by the columns' names, or x0, x1, … where they have none."""
        # Named columns may be of mixed kinds.
        named = isinstance(X, pd.DataFrame) and all(isinstance(c, str) for c in X.columns)
        if named:
            # scikit-learn takes names that no number of numpy stands for, such as Arrow's, as objects.
            names = [name for name, cells in X.items() if cells.dtype.kind not in "iufb"]
            X = X.astype(dict.fromkeys(names, object)).infer_objects()
        validated = validate_data(self, X, dtype=None if named else "numeric", **checks)
        if named:
            return validated, X.reset_index(drop=True)
        return validated, pd.DataFrame(validated[0] if "y" in checks else validated).add_prefix("x")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = tags.input_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags


def _chosen(names: list[str], wanted: str | Sequence[str | int]) -> list[str]:
    """Return the names of columns that are given by name, as a text with commas between them, or by number."""
    columns = [name.strip() for name in wanted.split(",") if name.strip()] if isinstance(wanted, str) else wanted
    for column in columns:
        if isinstance(column, int) and not -len(names) <= column < len(names):
            raise ValueError(f"there is no column {column}: X has columns 0 to {len(names) - 1}")
    return [names[column] if isinstance(column, int) else column for column in columns]


class ScaleSplit(BaseCrossValidator):  # type: ignore[misc]
    """Hold out the largest scales: each of `n_splits` predicts one count of a column from all smaller ones.

    Examples
    --------
    >>> X = pd.DataFrame({"workers": [1, 1, 2, 4, 8, 8]})
    >>> [(train.tolist(), test.tolist()) for train, test in ScaleSplit("workers", 2).split(X)]
    [([0, 1, 2, 3], [4, 5]), ([0, 1, 2], [3])]
    """

    def __init__(self, column: str | int, n_splits: int = 1) -> None:
        self.column = column
        self.n_splits = n_splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Index, Index]]:
        """Yield the numbers of the rows to train on and to predict; an error where a column has too few counts."""
        rows = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        names = list(rows.columns)
        # A number is a place where no column has it as its name.
        is_place = isinstance(self.column, int) and -len(names) <= self.column < len(names)
        if self.column not in names and not is_place:
            raise GenperfError(f"there is no column '{self.column}'", hint=f"one of {', '.join(map(str, names))}")
        values = np.asarray(rows[self.column] if self.column in names else rows.iloc[:, int(self.column)])
        counts = np.unique(values)
        if not (isinstance(self.n_splits, int) and 1 <= self.n_splits < len(counts)):
            needed = f"{self.n_splits} splits need {self.n_splits + 1} counts of '{self.column}'"
            raise GenperfError(f"{needed}, and there are {len(counts)}")
        for count in counts[::-1][: self.n_splits]:
            yield np.flatnonzero(values < count), np.flatnonzero(values == count)
