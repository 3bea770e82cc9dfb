"""Bounded least squares: the optimality conditions hold, and the answers are those of other codes."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear, nnls

from genperf.solver import nonnegative, nonnegative_least_squares


def normal(B: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return BᵀB and Bᵀt of a batch."""
    transposed = np.swapaxes(B, 1, 2)
    return transposed @ B, (transposed @ t[:, :, None])[:, :, 0]


def residual(B: np.ndarray, t: np.ndarray, x: np.ndarray) -> float:
    return float(np.linalg.norm(B @ x - t) / np.linalg.norm(t))


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns of any size, some repeated or zero, a right-hand side of any size, bounds of every kind."""
    k = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    B = rng.standard_normal((1, draw(st.integers(1, 12)), k))
    for column in draw(st.lists(st.integers(0, k - 1), max_size=3)):
        B[:, :, column] = B[:, :, 0] * draw(st.sampled_from([0.0, 1.0, -2.0]))
    size = 10.0 ** rng.uniform(-4, 4, k)
    t = rng.standard_normal((1, B.shape[1])) * 10.0 ** draw(st.integers(-6, 6))
    unit = np.abs(t).max() / size
    bounds = {"+": (0.0, np.inf), "free": (-np.inf, np.inf), "box": (-0.2, 0.3), "-": (-np.inf, -0.1), "=": (0.1, 0.1)}
    chosen = [bounds[draw(st.sampled_from(sorted(bounds)))] for _ in range(k)]
    low, high = (np.array(side) * unit for side in zip(*chosen, strict=True))
    return B * size, t, low, high


@pytest.mark.parametrize("exchanges", [20, -100], ids=["exchanged", "one by one"])
@given(problem=problems())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_optimality_conditions(exchanges: int, problem: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]) -> None:
    B, t, low, high = problem
    gram, moment = normal(B, t)
    with patch.object(nonnegative, "EXTRA_EXCHANGES", exchanges):
        x = nonnegative_least_squares(gram, moment, low, high)[0]
    assert np.all((x >= low) & (x <= high))
    # Column and right-hand side brought to length one: the dual is a cosine.
    length = np.linalg.norm(B[0], axis=0)
    dual = (gram[0] @ x - moment[0]) / np.where(length > 0, length, 1.0) / np.linalg.norm(t)
    rounding = 1e-9 * (1.0 + float(np.sum(np.abs(x) * length)) / np.linalg.norm(t))
    assert np.all(dual[x > low] <= rounding)
    assert np.all(dual[x < high] >= -rounding)


@pytest.mark.parametrize("k", [1, 3, 8, 20])
@pytest.mark.parametrize("kind", ["random", "positive", "collinear", "powers"])
def test_same_residual_as_scipy(kind: str, k: int) -> None:
    rng = np.random.default_rng(k)
    B, t = rng.standard_normal((30, k + 5, k)), rng.standard_normal((30, k + 5))
    if kind == "positive":
        B, t = np.abs(B), np.abs(t)
    elif kind == "collinear":
        B[:, :, -1] = B[:, :, 0]
        B[:, :, k // 2] = 2.0 * B[:, :, 0]
    elif kind == "powers":  # all but collinear: x^p of one factor for many exponents
        B = np.linspace(0.1, 3.0, k + 5)[None, :, None] ** rng.uniform(-2, 3, (30, 1, k))
        t = np.exp(t)
    x = nonnegative_least_squares(*normal(B, t))
    for i in range(30):
        best = nnls(B[i], t[i], maxiter=10_000)[0]
        assert residual(B[i], t[i], x[i]) == pytest.approx(residual(B[i], t[i], best), abs=1e-8)


def test_same_as_scipy_in_a_box() -> None:
    rng = np.random.default_rng(5)
    B, t = rng.standard_normal((20, 12, 6)), rng.standard_normal((20, 12))
    low, high = np.array([-0.1, 0.0, -np.inf, 0.05, -0.3, -np.inf]), np.array([0.1, np.inf, np.inf, 0.2, 0.0, 0.1])
    x = nonnegative_least_squares(*normal(B, t), low, high)
    for i in range(20):
        np.testing.assert_allclose(x[i], lsq_linear(B[i], t[i], (low, high), method="bvls").x, atol=1e-8)


def test_free_variables_are_plain_least_squares() -> None:
    rng = np.random.default_rng(1)
    B, t = rng.standard_normal((4, 9, 3)), rng.standard_normal((4, 9))
    x = nonnegative_least_squares(*normal(B, t), -np.inf)
    for i in range(4):
        np.testing.assert_allclose(x[i], np.linalg.lstsq(B[i], t[i])[0], rtol=1e-8)


def test_one_free_beside_one_that_is_not() -> None:
    # ½·2x² + x and ½y² + 2y: alone −0.5 and −2; y may not be negative
    gram = np.diag([2.0, 1.0])[None]
    np.testing.assert_allclose(
        nonnegative_least_squares(gram, np.array([[-1.0, -2.0]]), np.array([-np.inf, 0.0])), [[-0.5, 0.0]]
    )


def test_each_problem_may_have_bounds_of_its_own() -> None:
    gram = np.broadcast_to(np.eye(2), (3, 2, 2))
    upper = np.array([[1.0, 9.0], [9.0, 1.0], [np.inf, np.inf]])
    x = nonnegative_least_squares(gram, np.full((3, 2), 5.0), 0.0, upper)
    np.testing.assert_allclose(x, [[1.0, 5.0], [5.0, 1.0], [5.0, 5.0]])


def test_variables_held_by_bounds_of_no_width() -> None:
    """Beside them the others are the least squares of what they leave."""
    B = np.random.default_rng(6).standard_normal((5, 9, 3))
    t = np.random.default_rng(7).standard_normal((5, 9))
    x = nonnegative_least_squares(*normal(B, t), np.array([-np.inf, 2.0, -np.inf]), np.array([np.inf, 2.0, np.inf]))
    assert np.all(x[:, 1] == 2.0)
    for i in range(5):
        rest = np.linalg.lstsq(B[i][:, [0, 2]], t[i] - 2.0 * B[i][:, 1])[0]
        np.testing.assert_allclose(x[i, [0, 2]], rest, rtol=1e-8)


@pytest.mark.parametrize("junk", [0.0, np.inf, np.nan])
def test_a_column_that_is_zero_or_not_finite_gets_nothing(junk: float) -> None:
    gram, moment = np.diag([2.0, junk, 1.0])[None], np.array([[4.0, junk, 3.0]])
    gram[0, 1, 2] = gram[0, 2, 1] = junk
    np.testing.assert_allclose(nonnegative_least_squares(gram, moment), [[2.0, 0.0, 3.0]])


def test_equal_columns_share_what_one_would_get() -> None:
    B, t = np.ones((1, 4, 3)), np.full((1, 4), 6.0)
    x = nonnegative_least_squares(*normal(B, t))
    assert np.all(x >= 0.0)
    assert x.sum() == pytest.approx(6.0)


def test_a_batch_is_its_problems_one_by_one() -> None:
    rng = np.random.default_rng(2)
    B, t = rng.standard_normal((50, 10, 6)), rng.standard_normal((50, 10))
    gram, moment = normal(B, t)
    together = nonnegative_least_squares(gram, moment)
    alone = np.vstack([nonnegative_least_squares(gram[i : i + 1], moment[i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(together, alone)


def test_nothing_to_find() -> None:
    assert nonnegative_least_squares(np.zeros((3, 0, 0)), np.zeros((3, 0))).shape == (3, 0)
