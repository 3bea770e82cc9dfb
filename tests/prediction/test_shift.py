"""Level effects: what kriging promises."""

import numpy as np

from genperf.prediction import Shift
from genperf.prediction.shift import kernel

LEVELS = np.array([1.0, 2.0, 4.0, 16.0])
SHIFT = Shift("workers", LEVELS, np.array([0.2, -0.1, 0.0, 0.05]), 0.5)


def test_a_worked_number() -> None:
    # One level away from 2: half a doubling to 2√2, so e^(−0.5/0.5) of its weight.
    alone = Shift("n", np.array([2.0]), np.array([0.3]), 0.5)
    assert np.allclose(alone.logarithm({"n": np.array([2.0, 2.0 * np.sqrt(2.0)])}), [0.3, 0.3 * np.exp(-1.0)])


def test_effects_die_away_beyond_the_levels() -> None:
    size = np.abs(SHIFT.logarithm({"workers": np.array([32.0, 64.0, 1024.0])}))
    assert np.all(np.diff(size) < 0.0)
    assert size[-1] < 1e-5


def test_a_value_that_has_no_logarithm_is_not_shifted() -> None:
    assert SHIFT.logarithm({"workers": np.array([0.0, -1.0])}).tolist() == [0.0, 0.0]


def test_a_row_does_not_depend_on_the_others() -> None:
    many = np.geomspace(0.5, 100.0, 50)
    whole = SHIFT.logarithm({"workers": many})
    assert np.allclose(whole, [SHIFT.logarithm({"workers": many[i : i + 1]})[0] for i in range(50)], rtol=1e-12)


def test_the_kernel_is_a_covariance() -> None:
    K = kernel(LEVELS, LEVELS, 0.5)
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > 0.0
    assert np.allclose(np.diag(K), 1.0)
