import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genperf.table.factor import measure


@pytest.mark.parametrize(
    ("values", "centre"),
    [
        ([1.0, 4.0, 16.0], 4.0),  # geometric
        ([0.0, 1.0, 5.0], 2.0),  # a zero: arithmetic
        ([-3.0, 1.0], 2.0),  # a negative: of the absolute values
        ([0.0, 0.0], 1.0),  # nothing to divide by
        ([3.0, 3.0, 3.0], 3.0),
        ([1.7e308, 0.0, 1.7e308], 2 * (1.7e308 / 3)),
    ],
)
def test_centre(values, centre):
    assert measure("n", "intrinsic", values).centre == pytest.approx(centre, rel=1e-14)


@given(st.floats(1e-300, 1e300), st.integers(1, 9))
def test_the_centre_of_one_value_is_that_value(value, count):
    assert measure("n", "extrinsic", [value] * count).centre == value


@given(st.lists(st.floats(1e-300, 1e300), min_size=1))
def test_the_centre_lies_in_the_range(values):
    factor = measure("n", "extrinsic", values)
    assert factor.lower <= factor.centre <= factor.upper


def test_whole_positive_and_distinct():
    assert measure("n", "extrinsic", [1.0, 2.0, 2.0]).integer
    assert not measure("n", "extrinsic", [1.0, 2.5]).integer
    assert measure("n", "extrinsic", [0.5]).positive
    assert not measure("n", "extrinsic", [0.0, 1.0]).positive
    assert measure("n", "extrinsic", [1.0, 2.0, 2.0]).distinct == 2


def test_levels_are_ordered_by_frequency_then_name():
    factor = measure("fw", "categorical", np.array(["c", "b", "c", "a", "a", "d"], dtype=object))
    assert factor.levels == ("a", "c", "b", "d")
    assert factor.distinct == 4
    assert not factor.numeric
    # Finite, so that a model file can hold them.
    assert (factor.lower, factor.upper, factor.centre) == (0.0, 0.0, 1.0)
