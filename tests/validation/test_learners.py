import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from genperf.errors import FitError
from genperf.panel import Table, read_table
from genperf.validation import LEARNERS
from genperf.validation.learners import features, half_width, read

FITTED = [name for name in LEARNERS if name != "last-point"]


def power_law(noise: float = 0.0, **roles: str) -> tuple[pd.DataFrame, Table]:
    """T = 0.01·b^0.5·n^−0.25, times 2 for framework b."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        [(f, b, n) for f in "ab" for b in (8, 16, 32, 64) for n in (1, 2, 4, 8, 16)], columns=["framework", "b", "n"]
    )
    clean = 0.01 * frame.b**0.5 * frame.n**-0.25 * np.where(frame.framework == "b", 2.0, 1.0)
    frame["t"] = clean * np.exp(noise * rng.normal(size=len(frame)))
    return frame, read_table(frame, time="t", intrinsic="b", extrinsic="n", categorical="framework", **roles)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.usefixtures("all_trees")
def test_a_smooth_law_is_learned(name: str) -> None:
    frame, table = power_law()
    keep = np.arange(len(frame)) % 7 != 3
    forecast = LEARNERS[name](table.take(keep), frame[~keep], 0.9, 0)
    error = np.abs(forecast.predicted / frame.t[~keep] - 1)
    assert error.mean() < {"linear": 1e-9, "gaussian-process": 0.02, "svr": 0.06}.get(name, 0.15)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_bounds_hold_the_time_and_widen_with_the_interval(name: str) -> None:
    frame, table = power_law(noise=0.1)
    keep = np.arange(len(frame)) % 7 != 3
    narrow, wide = (LEARNERS[name](table.take(keep), frame[~keep], i, 0) for i in (0.5, 0.9))
    assert np.array_equal(narrow.predicted, wide.predicted)
    assert (narrow.upper - narrow.lower < wide.upper - wide.lower).all()
    assert ((wide.lower > 0) & (wide.lower <= wide.predicted) & (wide.predicted <= wide.upper)).all()


@pytest.mark.parametrize("name", list(LEARNERS))
def test_the_seed_decides(name: str) -> None:
    frame, table = power_law(noise=0.1)
    first, again = (LEARNERS[name](table, frame, 0.9, 3) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_zeros_constants_and_negative_numbers_are_read(name: str) -> None:
    frame, _ = power_law()
    frame = frame.assign(zero=frame.n - 1, constant=3, negative=frame.n - 8)
    table = read_table(frame, time="t", intrinsic="b", extrinsic="n,zero,constant,negative", categorical="framework")
    forecast = LEARNERS[name](table, frame, 0.9, 0)
    assert np.isfinite(forecast.predicted).all()


@pytest.mark.parametrize("name", list(LEARNERS))
def test_a_single_configuration_predicts_itself_or_is_refused_in_words(name: str) -> None:
    frame, table = power_law()
    forecast = LEARNERS[name](table.take([0]), frame.iloc[[0]], 0.9, 0)
    assert forecast.predicted == pytest.approx(frame.t[:1])


@pytest.mark.parametrize("name", FITTED)
def test_a_value_that_has_no_logarithm_is_left_unpredicted(name: str) -> None:
    frame, table = power_law()
    asked = frame.iloc[[0, 1]].assign(n=[0.0, 2.0])
    forecast = LEARNERS[name](table, asked, 0.9, 0)
    assert np.isnan([forecast.predicted[0], forecast.lower[0], forecast.upper[0]]).all()
    assert np.isfinite(forecast.predicted[1])
    assert np.isnan(LEARNERS[name](table, asked.iloc[[0]], 0.9, 0).predicted).all()


@pytest.mark.parametrize("name", FITTED)
def test_rows_of_weight_zero_do_not_count(name: str) -> None:
    frame, _ = power_law()
    frame["w"] = np.where(frame.index % 7 == 3, 0.0, 2.0)
    spoiled = frame.assign(t=frame.t.where(frame.w > 0, 50.0))
    one, other = (
        read_table(f, time="t", intrinsic="b", extrinsic="n", categorical="framework", weight="w")
        for f in (frame, spoiled)
    )
    assert np.array_equal(*(LEARNERS[name](t, frame, 0.9, 0).predicted for t in (one, other)))


def test_linear_regression_finds_exponents_and_the_width_of_a_new_run() -> None:
    frame, table = power_law(noise=0.05)
    forecast = LEARNERS["linear"](table, frame.iloc[[0, 4]], 0.9, 0)
    # From 1 to 16 n with b and framework as they are: T falls by 16^−0.25 = 1/2, and the exponent's standard error is
    # 0.05/√(40·2·ln²2): 40 rows, ln n is 0 … 4 times ln 2 with variance 2·ln²2.
    error = np.log(16) * 0.05 / np.sqrt(40 * 2 * np.log(2) ** 2)
    assert abs(np.log(forecast.predicted[1] / forecast.predicted[0]) + np.log(2)) < 4 * error
    # ±1.69 standard deviations, Student's t of 36 degrees of freedom, of a noise of 0.05.
    assert np.log(forecast.upper / forecast.predicted) == pytest.approx(1.69 * 0.05, rel=0.3)


def test_as_many_coefficients_as_configurations_give_no_interval_and_more_are_refused() -> None:
    frame = pd.DataFrame({"n": [1, 2], "b": [8, 16], "t": [1.0, 2.0]})
    exact = LEARNERS["linear"](read_table(frame, time="t", extrinsic="n"), pd.DataFrame({"n": [4]}), 0.9, 0)
    assert exact.predicted == pytest.approx([4.0])
    assert np.isnan(exact.lower).all()
    with pytest.raises(FitError, match="3 coefficients, and there are 2 configurations"):
        LEARNERS["linear"](read_table(frame, time="t", extrinsic="n,b"), frame, 0.9, 0)


@pytest.mark.parametrize(
    ("values", "asked", "expected"),
    [
        ([1.0, 4.0], [2.0, 0.0], [np.log(2), -np.inf]),
        ([0.0, 4.0], [0.0, 2.0], [0.0, np.log(2)]),  # centre is the mean, 2
        ([-3.0, 1.0], [-2.0, 4.0], [-1.0, 2.0]),  # centre is the mean absolute value, 2
    ],
)
def test_a_factor_is_read_as_logarithms_where_there_are(
    values: list[float], asked: list[float], expected: list[float]
) -> None:
    table = read_table(pd.DataFrame({"x": values, "t": 1.0}), time="t", extrinsic="x")
    assert read(table.factor("x"), {"x": asked}) == pytest.approx(expected)


def test_factors_of_one_value_are_no_columns() -> None:
    _, table = power_law()
    frame = table.frame
    # b, n, two frameworks; one, b, n, the second framework.
    assert features(table, frame).shape == features(table, frame, plain=True).shape == (len(frame), 4)
    some = table.take((table.frame.n == 1).to_numpy() & (table.frame.framework == "a").to_numpy())
    assert features(some, frame).shape == (len(frame), 1)
    assert not features(some.take([0]), frame).any()


@pytest.mark.parametrize(
    ("count", "interval", "expected"),
    [(9, 0.9, 9.0), (8, 0.9, np.nan), (99, 0.9, 90.0), (4, 0.5, 3.0), (0, 0.5, np.nan)],
)
def test_half_width_is_the_conformal_rank(count: int, interval: float, expected: float) -> None:
    residuals = np.arange(1.0, count + 1) * np.where(np.arange(count) % 2, -1, 1)
    assert half_width(residuals, interval) == pytest.approx(expected, nan_ok=True)


def test_importing_the_room_imports_no_heavy_library() -> None:
    code = (
        "import sys, genperf.validation\n"
        "heavy = ('sklearn', 'statsmodels', 'scipy.stats', 'joblib', 'matplotlib')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
