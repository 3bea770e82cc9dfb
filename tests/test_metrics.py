"""Metrics against numbers worked by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from genperf.metrics import absolute_percentage_errors, coverage, mape, median_ape, r2, relative_width, rmse


@pytest.mark.parametrize(
    ("metric", "predicted", "measured", "expected"),
    [
        # errors 10, 25, 100 %
        (mape, [1.1, 3.0, 4.0], [1.0, 4.0, 2.0], 45.0),
        (median_ape, [1.1, 3.0, 4.0], [1.0, 4.0, 2.0], 25.0),
        # √((0.1² + 1² + 2²)/3)
        (rmse, [1.1, 3.0, 4.0], [1.0, 4.0, 2.0], 1.292285),
        # mean 3, squares about it 4 + 1 + 9 = 14; squared errors 1 + 1 + 1
        (r2, [2.0, 1.0, 7.0], [1.0, 2.0, 6.0], 1.0 - 3.0 / 14.0),
        # predicting the mean explains nothing
        (r2, [3.0, 3.0, 3.0], [1.0, 2.0, 6.0], 0.0),
        (mape, [2.0, 3.0], [2.0, 3.0], 0.0),
        (rmse, [2.0, 3.0], [2.0, 3.0], 0.0),
        (r2, [2.0, 3.0], [2.0, 3.0], 1.0),
    ],
)
def test_error(
    metric: Callable[[list[float], list[float]], float],
    predicted: list[float],
    measured: list[float],
    expected: float,
) -> None:
    assert metric(predicted, measured) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_r2_of_equal_times_is_not_a_number() -> None:
    assert np.isnan(r2([1.0, 2.0], [3.0, 3.0]))


def test_errors_are_relative_to_the_measured_time() -> None:
    np.testing.assert_allclose(absolute_percentage_errors([1.0, 4.0], [4.0, 1.0]), [75.0, 300.0])


@pytest.mark.parametrize(
    ("lower", "upper", "measured", "expected"),
    [
        ([1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [0.9, 1.0, 2.0, 2.1], 50.0),  # both ends belong
        ([0.0], [9.0], [5.0], 100.0),
        ([0.0], [9.0], [10.0], 0.0),
    ],
)
def test_coverage(lower: list[float], upper: list[float], measured: list[float], expected: float) -> None:
    assert coverage(lower, upper, measured) == expected


def test_relative_width_is_the_median_of_the_widths() -> None:
    # widths 0.2/1, 1/2, 8/4
    assert relative_width([0.9, 1.5, 1.0], [1.1, 2.5, 9.0], [1.0, 2.0, 4.0]) == pytest.approx(50.0)
