"""scikit-learn's own checks, and what they do not look at."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

import genperf as gp
from genperf.errors import GenperfError
from genperf.estimator import GenericRegressor

pytestmark = pytest.mark.usefixtures("one_search")


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the constants twice, in tests that are not about intervals, which the draws are for."""
    monkeypatch.setattr("genperf.estimator.fit", partial(gp.fit, draws=2))


# The checks are about values and shapes: a sum that every table of theirs has the column of is as good as any law.
@parametrize_with_checks([GenericRegressor("c + a*x0", lam=1e-3)])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("few_draws")
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("few_draws")
def test_column_names_are_consistent() -> None:
    check_dataframe_column_names_consistency("GenericRegressor", GenericRegressor(structure="separable"))


def runs() -> tuple[pd.DataFrame, pd.Series]:
    grid = [(n, b, f) for n in (1, 2, 4, 8) for b in (8, 16, 32) for f in ("mxnet", "pytorch")]
    X = pd.DataFrame(grid, columns=["workers", "batch", "framework"])
    return X, 0.1 + 0.01 * X.batch * (1 + 0.5 * (X.framework == "mxnet")) + 0.02 * np.log2(X.workers)


def test_mixed_columns() -> None:
    X, y = runs()
    model = GenericRegressor(structure="per-term", extrinsic=["workers"], categorical=["framework"]).fit(X, y)
    assert model.score(X, y) > 0.95
    ends = model.predict_interval(X)
    assert (ends[:, 0] <= model.predict(X)).all()
    assert (model.predict(X) <= ends[:, 1]).all()


@pytest.mark.usefixtures("few_draws")
def test_works_in_searches() -> None:
    X, y = runs()
    model = GenericRegressor("a*batch**p + b*log2(workers) + c", extrinsic=["workers"], categorical=["framework"])
    search = GridSearchCV(model, {"loss": ["relative", "log"]}, cv=3, scoring="neg_mean_absolute_percentage_error")
    assert search.fit(X, y).best_score_ > -0.5
    assert len(cross_val_score(clone(model), X, y, cv=3)) == 3


def test_times_must_be_above_zero() -> None:
    X, y = runs()
    with pytest.raises(ValueError, match="above zero"):
        GenericRegressor().fit(X, -y)


def test_auto_predicts_with_intervals() -> None:
    X = pd.DataFrame({"workers": [1, 2, 4, 8]})
    model = GenericRegressor("auto", extrinsic=["workers"]).fit(X, 1 + 8 / X.workers)
    values, ends = model.predict(X, interval=0.9)
    assert values.tolist() == model.predict(X).tolist()
    assert ends.tolist() == model.predict_interval(X, 0.9).tolist()
    wider = model.predict(X, interval=0.99)[1]
    assert ((wider[:, 1] - wider[:, 0]) > (ends[:, 1] - ends[:, 0])).all()


@pytest.mark.parametrize("named", [True, False])
def test_centred_factors_name_their_scaler(named: bool) -> None:
    X = pd.DataFrame({"workers": [1.0, 2, 4, 8]}) - 3.75
    with pytest.raises(ValueError, match="leave StandardScaler out"):
        GenericRegressor().fit(X if named else X.to_numpy(), np.ones(4))


def test_the_largest_scales_are_held_out() -> None:
    X = np.array([[1, 8], [2, 8], [4, 8], [4, 16], [8, 8]])
    splits = [(train.tolist(), test.tolist()) for train, test in gp.ScaleSplit(0, 2).split(X)]
    assert splits == [([0, 1, 2, 3], [4]), ([0, 1], [2, 3])]
    assert gp.ScaleSplit(0, 2).get_n_splits() == 2


@pytest.mark.parametrize("n_splits", [0, 4])
def test_too_few_scales_are_refused(n_splits: int) -> None:
    with pytest.raises(GenperfError, match="counts of 'workers', and there are 4"):
        next(gp.ScaleSplit("workers", n_splits).split(pd.DataFrame({"workers": [1, 2, 4, 8]})))


def test_a_split_names_a_column_that_is_missing() -> None:
    with pytest.raises(GenperfError, match="no column 'nodes'"):
        next(gp.ScaleSplit("nodes").split(pd.DataFrame({"workers": [1, 2]})))


@pytest.mark.usefixtures("few_draws")
def test_splits_serve_cross_validation() -> None:
    X = pd.DataFrame({"workers": [1, 2, 4, 8, 16]})
    y = 1.0 + 8.0 / X.workers
    model, error = gp.GenericRegressor("a/workers + c", extrinsic=["workers"]), "neg_mean_absolute_percentage_error"
    assert (cross_val_score(model, X, y, cv=gp.ScaleSplit("workers", 2), scoring=error) > -0.02).all()


def test_deviations_and_constants_of_a_fit() -> None:
    X = pd.DataFrame({"workers": [1, 2, 4, 8, 16]})
    model = gp.GenericRegressor("a/workers + c", extrinsic=["workers"]).fit(X, [9.1, 4.9, 3.0, 2.1, 1.5])
    values, deviations = model.predict(X, return_std=True)
    assert values == pytest.approx(model.predict(X))
    ends = model.predict_interval(X, 0.6827)
    assert 2.0 * deviations == pytest.approx(ends[:, 1] - ends[:, 0])
    assert model.constants_["constant"].tolist() == ["a", "c"]
    with pytest.raises(GenperfError, match="an interval or a standard deviation"):
        model.predict(X, interval=0.9, return_std=True)


@pytest.mark.usefixtures("few_draws")
def test_columns_are_named_in_a_text_or_by_their_place() -> None:
    frame = pd.DataFrame({"batch": [8, 16] * 3, "workers": [1, 1, 2, 2, 4, 4], "nodes": [1, 1, 1, 1, 2, 2]})
    seconds = 0.01 * frame.batch + 0.1 * frame.workers
    predicted = [
        GenericRegressor("c + a*batch + b*workers", extrinsic=columns).fit(frame, seconds).predict(frame)
        for columns in ("workers, nodes", ["workers", "nodes"], [1, -1])
    ]
    np.testing.assert_array_equal(predicted[0], predicted[1])
    np.testing.assert_array_equal(predicted[0], predicted[2])
    with pytest.raises(ValueError, match="no column 3: X has columns 0 to 2"):
        GenericRegressor(extrinsic=[3]).fit(frame, seconds)
    by_place = [test.tolist() for rows in (frame, frame.to_numpy()) for _, test in gp.ScaleSplit(1).split(rows)]
    assert by_place == [[4, 5], [4, 5]]
    with pytest.raises(GenperfError, match="no column 'workers'"):
        list(gp.ScaleSplit("workers").split(frame.to_numpy()))


@pytest.mark.parametrize("kinds", [{"backend": "pyarrow"}, {"backend": "numpy_nullable"}, {"object": True}], ids=str)
def test_a_table_of_any_kinds_of_cells_is_fitted_alike(kinds: dict[str, Any]) -> None:
    X = pd.DataFrame({"net": ["a", "b"] * 4, "workers": [1, 1, 2, 2, 4, 4, 8, 8]})
    y = [(1 + (k % 2)) * (1 + 8 / n) for k, n in enumerate(X["workers"])]
    model = GenericRegressor("auto", extrinsic=["workers"], categorical=["net"])
    same = X.astype(object) if "object" in kinds else X.convert_dtypes(dtype_backend=kinds["backend"])
    np.testing.assert_array_equal(model.fit(same, y).predict(same), model.fit(X, y).predict(X))
    with pytest.raises(ValueError, match="fit: seed is a whole number, not 'x'"):
        model.set_params(seed="x").fit(X, y)
