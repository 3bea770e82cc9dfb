"""The cost, its derivatives, and the coefficients that are best given the other constants."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from solver_problems import ERNEST, GENERIC, MAXIMUM, P_NORM, Case, problem_of, with_bounds

from genperf.losses import LOSSES, PENALTIES, Penalty, penalty_named

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


@pytest.mark.parametrize("penalty", ["l2", "elastic-net"])
def test_curvature_of_a_quadratic_cost_is_the_change_of_its_gradient(penalty: str) -> None:
    problem = problem_of(ERNEST, "relative", penalty_named(penalty, 0.0 if penalty != "l2" else 0.1))
    at, step = np.array([[0.6, 3.0, 0.3]]), np.array([[0.1, -0.2, 0.05]])
    before, curvature = problem.derivatives(at)
    after, _ = problem.derivatives(at + step * problem.scale)
    np.testing.assert_allclose(after - before, (curvature @ step[:, :, None])[:, :, 0], rtol=1e-9)


def test_weights_are_shares_and_repeat_rows() -> None:
    problem = problem_of(GENERIC, noise=0.1)
    at = np.array([GENERIC.truth])
    weights = np.arange(40.0) % 3
    each = [problem.cost(at, problem.conditions(np.eye(40)[i : i + 1])).item() for i in range(40)]
    weighed = problem.cost(at, problem.conditions(weights[None])).item()
    assert weighed == pytest.approx(np.repeat(each, weights.astype(int)).mean())
    assert replace(problem, weights=7.0 * weights).cost(at).item() == pytest.approx(weighed)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_replicate_costs_what_its_own_problem_costs(loss: str) -> None:
    problem = problem_of(GENERIC, loss, Penalty(0.01), noise=0.1)
    at = np.tile(problem.start, (3, 1))
    weights = np.random.default_rng(0).multinomial(40, np.full(40, 1 / 40), 3).astype(float)
    alone = [replace(problem, weights=w).cost(at[:1]).item() for w in weights]
    np.testing.assert_allclose(problem.cost(at, problem.conditions(weights)), alone, rtol=1e-12)


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

    bounds = list(
        zip(problem.lower[free] / problem.scale[free], problem.upper[free] / problem.scale[free], strict=True)
    )
    starts = [np.clip(np.full(free.size, s), *np.array(bounds, float).T) for s in (0.05, 0.3, 1.0)]
    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 5000, "maxfun": 50_000}
    return min(minimize(cost, s, bounds=bounds, method="L-BFGS-B", options=options).fun for s in starts)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "bounds",
    [(0.0, np.inf), (0.3, 0.7)],
    ids=["not negative", "in a box"],
)
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


@pytest.mark.parametrize("penalty", PENALTIES)
def test_projection_with_a_coefficient_that_cannot_be_positive(penalty: str) -> None:
    made = Case(ERNEST.expression, (5.0, 4.0, -0.3))
    problem = with_bounds(problem_of(made, penalty=penalty_named(penalty, 0.02)), [0, 0, -np.inf], [np.inf, np.inf, 0])
    projected = problem.projected(problem.start[None])[0]
    assert projected[0, 2] < -0.1
    assert problem.cost(projected).item() <= best_coefficients(problem, problem.start) * (1.0 + 1e-6)


@pytest.mark.parametrize("case", [MAXIMUM, P_NORM], ids=["max", "p-norm"])
def test_projection_through_a_total_that_is_not_a_sum(case: Case) -> None:
    problem = problem_of(case)
    begun = np.array(case.truth) * np.where(problem.coefficient, 1.4, 1.0)
    np.testing.assert_allclose(problem.projected(begun[None])[0][0], case.truth, rtol=1e-3)


def test_basis_given_or_read_from_the_jacobian_is_the_same() -> None:
    problem = problem_of(GENERIC, "log", noise=0.1)
    bare = type(problem)(**{f: getattr(problem, f) for f in problem.__dataclass_fields__ if f != "basis"})
    at = np.tile(problem.start, (2, 1))
    np.testing.assert_allclose(problem.projected(at)[0], bare.projected(at)[0], rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_projection_beside_a_term_that_is_known(loss: str) -> None:
    """A number in the place of a coefficient: the others explain what it leaves of the values."""
    known = Case(GENERIC.expression.with_fixed({"C": 0.5}), GENERIC.truth[1:])
    problem = problem_of(known, loss, noise=0.1)
    others = np.array([1.0, 1.1, 1.0, 0.4, 0.3])
    share = 1e-4 if loss in ("relative", "squared") else 0.01
    projected = problem.projected(others[None])[0]
    assert problem.cost(projected).item() <= best_coefficients(problem, others) * (1.0 + share)
    if LOSSES[loss].quadratic:
        np.testing.assert_allclose(problem.projected(projected)[0], projected, rtol=1e-9)


@pytest.mark.parametrize("loss", ["relative", "log"])
@pytest.mark.parametrize("case", [GENERIC, MAXIMUM, P_NORM], ids=["sum", "max", "p-norm"])
def test_projection_knows_what_it_costs(case: Case, loss: str) -> None:
    problem = problem_of(case, loss, Penalty(0.01), noise=0.1)
    sets = problem.start * np.random.default_rng(0).uniform(0.5, 2.0, (5, problem.start.size))
    projected, costs = problem.projected(np.clip(sets, problem.lower, problem.upper))
    np.testing.assert_allclose(costs, problem.cost(projected), rtol=1e-12)
