"""The search of the constants, and its polish."""

import numpy as np
import pytest
from msgspec.structs import replace
from solver_problems import ERNEST, GENERIC, MAXIMUM, Case, problem_of, with_bounds

from genperf.errors import FitError
from genperf.losses import LOSSES, Penalty
from genperf.solver import SOLVERS, PolishSettings, Problem, polish, search, solve
from genperf.solver.polish import Optima


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", [GENERIC, MAXIMUM], ids=["sum", "max"])
def test_both_solvers_reach_the_same_cost(case: Case, loss: str) -> None:
    problem = problem_of(case, loss, Penalty(1e-4), noise=0.05)
    direct, projected = (solve(problem, solver, restarts=1) for solver in ("de", "projected"))
    assert projected.cost == pytest.approx(direct.cost, rel=0.005)
    assert projected.evaluations < direct.evaluations
    # The truth is one of the candidates: the least cost cannot be above its own.
    assert projected.cost <= problem.cost(np.array([case.truth])).item()


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_restart_reaches_one_optimum_and_the_seed_decides(solver: str) -> None:
    problem = problem_of(GENERIC, noise=0.1)
    first, again, other = (solve(problem, solver, seed, restarts=4) for seed in (3, 3, 4))
    assert (first.restarts, first.agreed, first.converged) == (4, 4, True)
    assert first.constants.tobytes() == again.constants.tobytes()
    assert (first.cost, first.evaluations) == (again.cost, again.evaluations)
    assert first.constants.tobytes() != other.constants.tobytes()
    assert first.cost == pytest.approx(other.cost, rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_and_signs_are_kept(solver: str) -> None:
    problem = with_bounds(problem_of(GENERIC, noise=0.05), [0, 0, -1, 0.1, -2, 0.1], [0.3, np.inf, 0.9, 0.5, 3, 0.1])
    constants = solve(problem, solver).constants
    assert np.all((constants >= problem.lower) & (constants <= problem.upper))
    assert (constants[5], constants[2]) == (0.1, 0.9)
    made = Case(ERNEST.expression, (5.0, 4.0, -0.3))
    problem = problem_of(made)
    free = with_bounds(problem, [-np.inf] * 3, [np.inf] * 3)
    np.testing.assert_allclose(solve(free, solver).constants, made.truth, rtol=1e-5)
    assert solve(problem, solver).constants[2] == 0.0


def test_a_term_that_the_start_hides_is_found() -> None:
    # At the start the backward pass hides all communication, whose derivative is then zero.
    problem = problem_of(MAXIMUM)
    hidden = replace(problem, start=np.array([1.0, 50.0, 1e-3, 0.0]))
    gradient, _ = hidden.derivatives(hidden.start[None])
    assert gradient[0, 2:].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(solve(hidden).constants, MAXIMUM.truth, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sum_of_known_shapes_needs_no_search(loss: str) -> None:
    solution = solve(problem_of(ERNEST, loss))
    np.testing.assert_allclose(solution.constants, ERNEST.truth, rtol=1e-6)
    assert (solution.restarts, solution.agreed) == (1, 1)
    assert solution.evaluations < 1000


def wavy() -> Problem:
    """Minima near every whole number, the least of them at 0: residuals x/10, sin(πx), and one of −0.1 throughout."""

    def jacobian(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = [np.full(x.shape, 0.1), np.pi * np.cos(np.pi * x), np.zeros(x.shape)]
        return predict(x), np.stack(slopes, axis=1)

    def predict(x: np.ndarray) -> np.ndarray:
        return np.hstack([1.0 + 0.1 * x, 1.0 + np.sin(np.pi * x), np.full(x.shape, 0.9)])

    bare = problem_of(GENERIC)
    return replace(
        bare,
        predict=predict,
        jacobian=jacobian,
        measured=np.ones(3),
        weights=np.ones(3),
        lower=np.array([-5.4]),
        upper=np.array([5.4]),
        scale=np.ones(1),
        penalised=np.array([False]),
        coefficient=np.array([False]),
        start=np.array([4.1]),
    )


def test_many_optima_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Four searches that end near 0, 3, −1 and 0: two of them reach the least cost.
    ends = np.array([[0.2], [3.1], [-0.9], [-0.1]])
    monkeypatch.setitem(SOLVERS, "de", lambda problem, rngs: polish(problem, ends).of_searches(4, 0, 10))
    solution = solve(wavy(), "de", restarts=4)
    assert (solution.restarts, solution.agreed) == (4, 2)
    assert solution.constants == pytest.approx([0.0], abs=1e-6)
    assert solution.cost == pytest.approx(0.1**2 / 3)
    assert solution.evaluations > 10


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_least_of_many_optima_is_found(solver: str) -> None:
    problem = wavy()
    assert polish(problem, problem.start[None]).constants[0, 0] == pytest.approx(4.0, abs=0.1)
    assert solve(problem, solver).constants == pytest.approx([0.0], abs=1e-6)


def test_where_the_first_places_agree_nothing_is_evolved(monkeypatch: pytest.MonkeyPatch) -> None:
    evolved, evolve = [], search._evolved
    monkeypatch.setattr(search, "_evolved", lambda *given: evolved.append(given) or evolve(*given))
    assert solve(problem_of(GENERIC, noise=0.02)).agreed == 3
    assert not evolved
    # At a kink a polish may be held fast, so that its agreement shows little.
    assert solve(problem_of(MAXIMUM, noise=0.02)).agreed == 3
    assert len(evolved) == 1


@pytest.mark.parametrize(("reaching", "agreed"), [([2], 2), ([1, 1], 2), ([0, 3], 3), ([1, 0, 0], 1)], ids=str)
def test_one_search_alone_is_not_believed(reaching: list[int], agreed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each three searches so many end where the cost is least; the others end each at another optimum."""
    rounds = iter(reaching)

    def three(problem: Problem, rngs: list[np.random.Generator]) -> Optima:
        assert len(rngs) == 3
        ends = np.where(np.arange(3) < next(rounds), 0.1, 2.1 + np.arange(3.0))[:, None]
        return polish(problem, ends)

    monkeypatch.setitem(SOLVERS, "projected", three)
    solution = solve(wavy(), "projected")
    assert (solution.restarts, solution.agreed) == (3 * len(reaching), agreed)
    assert solution.constants == pytest.approx([0.0], abs=1e-6)


def test_refused() -> None:
    with pytest.raises(FitError, match="unknown solver 'anneal'"):
        solve(problem_of(ERNEST), "anneal")
    problem = problem_of(ERNEST)
    nowhere = replace(problem, predict=lambda x: np.full((len(x), 40), np.nan))
    with pytest.raises(FitError, match="finite values"):
        solve(nowhere, restarts=1)


# --- the polish ends where other codes do, within bounds, for many sets at once --------------------------------------

START = np.array([[0.3, 1.5, 1.0, 0.4, 0.5, 0.1]])


@pytest.mark.parametrize(
    ("lower", "upper", "at"),
    [
        # the optimum without them is near C = 0.5, p = 1.3, q = 0.7
        ([0, 0, -1, 0, -2, -1], [0.2, np.inf, 4, np.inf, 3, 1], {0: 0.2}),
        ([0, 0, -1, 0, -2, -1], [np.inf, np.inf, 1, np.inf, 0.4, 1], {2: 1.0, 4: 0.4}),
        ([0.9, 0, -1, 0, -2, 0], [np.inf, np.inf, 4, np.inf, 3, 0], {0: 0.9, 5: 0.0}),
    ],
)
def test_bounds_are_kept_and_reached(lower: list[float], upper: list[float], at: dict[int, float]) -> None:
    problem = with_bounds(problem_of(GENERIC, noise=0.02), lower, upper)
    polished = polish(problem, START)
    assert polished.converged.all()
    assert np.all((polished.constants >= problem.lower) & (polished.constants <= problem.upper))
    assert {j: polished.constants[0, j] for j in at} == at
    gradient, _ = problem.derivatives(polished.constants)
    inside = (polished.constants[0] > problem.lower) & (polished.constants[0] < problem.upper)
    np.testing.assert_allclose(gradient[0, inside], 0.0, atol=1e-5)
    between = problem.lower < problem.upper
    assert np.all(gradient[0, between & (polished.constants[0] <= problem.lower)] >= -1e-5)
    assert np.all(gradient[0, between & (polished.constants[0] >= problem.upper)] <= 1e-5)


def test_nothing_near_the_result_costs_less() -> None:
    problem = problem_of(GENERIC, "absolute", Penalty(1e-4, 0.5), noise=0.1)
    polished = polish(problem, START)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-3, 1e-4):
        near = polished.constants + size * problem.scale * rng.standard_normal((500, 6))
        near = np.clip(near, problem.lower, problem.upper)
        assert problem.cost(near).min() >= polished.cost[0] * (1.0 - 1e-6)


def test_never_worse_than_the_start_and_no_steps_is_the_start() -> None:
    problem = problem_of(GENERIC, "absolute", noise=0.1)
    starts = problem.lower + np.random.default_rng(0).random((20, 6)) * np.array([5, 5, 5, 5, 5, 2.0])
    cost = problem.cost(starts)
    np.testing.assert_array_equal(polish(problem, starts, settings=PolishSettings(max_steps=0)).constants, starts)
    assert np.all(polish(problem, starts, settings=PolishSettings(max_steps=3)).cost < cost)
    # A start outside the bounds is brought in.
    outside = np.array([[-1.0, 9.0, 99.0, -1.0, -99.0, 5.0]])
    inside = polish(problem, outside, settings=PolishSettings(max_steps=0)).constants
    np.testing.assert_array_equal(inside, [[0.0, 9.0, 4.0, 0.0, -2.0, 1.0]])
    # Without the secant estimate these two are still moving after 200 steps.
    for noise in (0.3, 1.0):
        assert polish(problem_of(GENERIC, "absolute", noise=noise), START).converged.all()
