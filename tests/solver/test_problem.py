"""Problems of constants: costs and derivatives, and batched non-negative least squares."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.optimize import minimize, nnls
from solver_problems import ERNEST, GENERIC, MAXIMUM, P_NORM, Case, problem_of, with_bounds

from genperf.losses import LOSSES, PENALTIES, Penalty, penalty_named
from genperf.solver import nonnegative, nonnegative_least_squares

#: Away from the optimum, from bounds and from the kinks of `max`.
POINTS = {
    "generic": (GENERIC, [0.7, 1.5, 0.9, 0.3, 0.5, 0.1]),
    "max": (MAXIMUM, [0.7, 1.1, 0.6, 0.9]),
    "p-norm": (P_NORM, [0.7, 1.1, 0.6, 0.9, 2.5]),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradient_is_that_of_the_cost(loss: str, penalty: str, name: str) -> None:
    case, at = POINTS[name]
    problem = problem_of(case, loss, penalty_named(penalty, 0.05), noise=0.1)
    point = np.array([at])
    step = 1e-6 * problem.scale * np.eye(len(at))
    differences = (problem.cost(point + step) - problem.cost(point - step)) / 2e-6
    gradient, _ = problem.derivatives(point)
    np.testing.assert_allclose(gradient[0], differences, rtol=2e-5, atol=1e-7)
    # Projection knows what it costs.
    projected, costs = problem.projected(point)
    np.testing.assert_allclose(costs, problem.cost(projected), rtol=1e-12)


def test_weights_are_shares_and_repeat_rows() -> None:
    problem = problem_of(GENERIC, noise=0.1)
    at = np.array([GENERIC.truth])
    weights = np.arange(40.0) % 3
    each = [problem.cost(at, problem.conditions(np.eye(40)[i : i + 1])).item() for i in range(40)]
    weighed = problem.cost(at, problem.conditions(weights[None])).item()
    assert weighed == pytest.approx(np.repeat(each, weights.astype(int)).mean())
    assert replace(problem, weights=7.0 * weights).cost(at).item() == pytest.approx(weighed)
    # A basis that is given or read from the Jacobian is the same.
    bare = type(problem)(**{f: getattr(problem, f) for f in problem.__struct_fields__ if f != "basis"})
    np.testing.assert_allclose(problem.projected(at)[0], bare.projected(at)[0], rtol=1e-12)
    # The curvature of a quadratic cost is the change of its gradient.
    problem = problem_of(ERNEST, "relative", Penalty(0.1))
    at, step = np.array([[0.6, 3.0, 0.3]]), np.array([[0.1, -0.2, 0.05]])
    (before, curvature), (after, _) = problem.derivatives(at), problem.derivatives(at + step * problem.scale)
    np.testing.assert_allclose(after - before, (curvature @ step[:, :, None])[:, :, 0], rtol=1e-9)


def test_values_that_are_not_finite_are_impossible_not_an_error() -> None:
    problem = problem_of(GENERIC)
    at = np.array([[1.0, 1.0, 1e6, 1.0, 0.0, 0.0], GENERIC.truth])
    cost = problem.cost(at)
    assert cost[0] >= 1e29
    assert cost[1] < 1e-20
    assert np.all(np.isfinite(problem.derivatives(at)[0]))


def best_coefficients(problem: object, others: np.ndarray) -> float:
    """Return the least cost over the coefficients alone, from scipy."""
    free = np.flatnonzero(problem.coefficient)

    def cost(c: np.ndarray) -> float:
        x = others.copy()
        x[free] = c * problem.scale[free]
        return problem.cost(x[None]).item()

    bounds = np.stack([problem.lower[free], problem.upper[free]], axis=1) / problem.scale[free, None]
    starts = [np.clip(np.full(free.size, s), *bounds.T) for s in (0.05, 0.3, 1.0)]
    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 5000, "maxfun": 50_000}
    return min(minimize(cost, s, bounds=bounds, method="L-BFGS-B", options=options).fun for s in starts)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bounds", [(0.0, np.inf), (0.3, 0.7)], ids=["not negative", "in a box"])
def test_projection_finds_the_best_coefficients(bounds: tuple[float, float], loss: str, penalty: str) -> None:
    problem = problem_of(GENERIC, loss, penalty_named(penalty, 0.01), noise=0.2)
    low, high = np.where(problem.coefficient, bounds[0], problem.lower), problem.upper.copy()
    high[problem.coefficient] = bounds[1]
    problem = with_bounds(problem, list(low), list(high))
    others = np.array([1.0, 1.0, 1.1, 1.0, 0.4, 0.3])
    projected = problem.projected(others[None])[0]
    np.testing.assert_array_equal(projected[0, ~problem.coefficient], others[~problem.coefficient])
    assert np.all((projected >= low) & (projected <= high))
    # Exact where one least-squares solution is; a few reweighted passes otherwise (the polish does the rest).
    share = 1e-4 if loss in ("relative", "squared") else 0.01
    assert problem.cost(projected).item() <= best_coefficients(problem, others) * (1.0 + share)


@pytest.mark.parametrize("case", [MAXIMUM, P_NORM], ids=["max", "p-norm"])
def test_projection_through_a_total_that_is_not_a_sum(case: Case) -> None:
    problem = problem_of(case)
    begun = np.array(case.truth) * np.where(problem.coefficient, 1.4, 1.0)
    np.testing.assert_allclose(problem.projected(begun[None])[0][0], case.truth, rtol=1e-3)
    # A coefficient that cannot be positive.
    made = Case(ERNEST.expression, (5.0, 4.0, -0.3))
    problem = with_bounds(problem_of(made, penalty=Penalty(0.02)), [0, 0, -np.inf], [np.inf, np.inf, 0])
    projected = problem.projected(problem.start[None])[0]
    assert projected[0, 2] < -0.1
    assert problem.cost(projected).item() <= best_coefficients(problem, problem.start) * (1.0 + 1e-6)


# --- bounded least squares: the optimality conditions hold, and the answers are those of other codes -----------------


def normal(B: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return BᵀB and Bᵀt of a batch."""
    transposed = np.swapaxes(B, 1, 2)
    return transposed @ B, (transposed @ t[:, :, None])[:, :, 0]


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


@pytest.mark.parametrize("junk", [0.0, np.inf, np.nan])
def test_a_column_that_is_zero_or_not_finite_gets_nothing(junk: float) -> None:
    gram, moment = np.diag([2.0, junk, 1.0])[None], np.array([[4.0, junk, 3.0]])
    gram[0, 1, 2] = gram[0, 2, 1] = junk
    np.testing.assert_allclose(nonnegative_least_squares(gram, moment), [[2.0, 0.0, 3.0]])


def test_a_batch_is_its_problems_one_by_one() -> None:
    rng = np.random.default_rng(2)
    # All but collinear in the second half: x^p of one factor for many exponents.
    powers = np.linspace(0.1, 3.0, 10)[None, :, None] ** rng.uniform(-2, 3, (25, 1, 6))
    B, t = np.concatenate([rng.standard_normal((25, 10, 6)), powers]), rng.standard_normal((50, 10))
    gram, moment = normal(B, t)
    together = nonnegative_least_squares(gram, moment)
    alone = np.vstack([nonnegative_least_squares(gram[i : i + 1], moment[i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(together, alone)
    for i in range(50):
        residual = np.linalg.norm(B[i] @ together[i] - t[i]) / np.linalg.norm(t[i])
        assert residual == pytest.approx(nnls(B[i], t[i], maxiter=10_000)[1] / np.linalg.norm(t[i]), abs=1e-8)
    # Each problem may have bounds of its own, and there may be nothing to find.
    gram, upper = np.broadcast_to(np.eye(2), (3, 2, 2)), np.array([[1.0, 9.0], [9.0, 1.0], [np.inf, np.inf]])
    x = nonnegative_least_squares(gram, np.full((3, 2), 5.0), 0.0, upper)
    np.testing.assert_allclose(x, [[1.0, 5.0], [5.0, 1.0], [5.0, 5.0]])
    assert nonnegative_least_squares(np.zeros((3, 0, 0)), np.zeros((3, 0))).shape == (3, 0)
