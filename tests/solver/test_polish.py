"""The polish ends where other codes do, within bounds, for many sets at once."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from solver_problems import GENERIC, MAXIMUM, P_NORM, Case, problem_of, with_bounds

from genperf.losses import HUBER_DELTA, LOSSES, Penalty
from genperf.solver import PolishSettings, Problem, polish

START = np.array([[0.3, 1.5, 1.0, 0.4, 0.5, 0.1]])


def scipy_optimum(problem: Problem, loss: str, start: np.ndarray) -> tuple[np.ndarray, float]:
    """Minimise the same cost with `least_squares`: residuals whose squares add up to it."""
    t, size = problem.measured, problem.measured.size
    ridge = np.sqrt(problem.penalty.strength / 2.0)

    def residuals(scaled: np.ndarray) -> np.ndarray:
        predicted = problem.predict((scaled * problem.scale)[None])[0]
        fit = {
            "relative": lambda: predicted / t - 1.0,
            "huber": lambda: predicted / t - 1.0,
            "log": lambda: np.log(np.maximum(predicted / t, 1e-6)),
            "squared": lambda: (predicted - t) / t.mean(),
        }[loss]()
        return np.concatenate([fit / np.sqrt(size), ridge * scaled])

    bounds = (problem.lower / problem.scale, problem.upper / problem.scale)
    robust = {"loss": "huber", "f_scale": HUBER_DELTA / np.sqrt(size)} if loss == "huber" else {}
    optimum = least_squares(
        residuals, start / problem.scale, bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-13, max_nfev=5000, **robust
    )
    return optimum.x * problem.scale, problem.cost((optimum.x * problem.scale)[None]).item()


@pytest.mark.parametrize("loss", ["relative", "log", "squared", "huber"])
@pytest.mark.parametrize("strength", [0.0, 1e-3])
def test_same_optimum_as_scipy(loss: str, strength: float) -> None:
    # scipy's Huber would bend the penalty's residuals too; these stay below its δ only without a penalty.
    strength = 0.0 if loss == "huber" else strength
    problem = problem_of(GENERIC, loss, Penalty(strength), noise=0.1)
    expected, cost = scipy_optimum(problem, loss, START[0])
    polished = polish(problem, START)
    assert polished.converged.all()
    assert polished.cost[0] == pytest.approx(cost, rel=1e-7)
    np.testing.assert_allclose(polished.constants[0], expected, rtol=1e-3, atol=1e-4)


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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", [GENERIC, MAXIMUM, P_NORM], ids=["sum", "max", "p-norm"])
def test_exact_data_gives_back_the_constants(case: Case, loss: str) -> None:
    problem = problem_of(case, loss)
    polished = polish(problem, np.array([case.truth]) * 1.05)
    assert polished.converged.all()
    np.testing.assert_allclose(polished.constants[0], case.truth, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_near_the_result_costs_less(loss: str) -> None:
    problem = problem_of(GENERIC, loss, Penalty(1e-4, 0.5), noise=0.1)
    polished = polish(problem, START)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-3, 1e-4):
        near = polished.constants + size * problem.scale * rng.standard_normal((500, 6))
        near = np.clip(near, problem.lower, problem.upper)
        assert problem.cost(near).min() >= polished.cost[0] * (1.0 - 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_replicates_as_weights_are_separate_fits(loss: str) -> None:
    problem = problem_of(GENERIC, loss, Penalty(1e-4), noise=0.05)
    weights = np.random.default_rng(4).multinomial(40, np.full(40, 1 / 40), 4).astype(float)
    together = polish(problem, np.repeat(START, 4, axis=0), weights)
    alone = [polish(replace(problem, weights=w), START) for w in weights]
    assert len(np.unique(together.cost.round(9))) == 4
    np.testing.assert_array_equal(together.cost, [a.cost[0] for a in alone])
    np.testing.assert_array_equal(together.constants, [a.constants[0] for a in alone])


@pytest.mark.parametrize("l1_share", [0.0, 0.5])
def test_sets_with_penalties_of_their_own_are_separate_fits(l1_share: float) -> None:
    problem = problem_of(GENERIC, penalty=Penalty(1e-4, l1_share), noise=0.05)
    strength = np.array([1e-6, 1e-3, 1e-2])
    scale = problem.scale * np.array([[1.0], [0.3], [2.0]])
    starts, weights = np.repeat(START, 3, axis=0), np.tile(problem.weights, (3, 1))
    together = polish(problem, starts, weights, penalties=(scale, strength))
    alone = [replace(problem, penalty=Penalty(s, l1_share), scale=one) for s, one in zip(strength, scale, strict=True)]
    each = [polish(one, START) for one in alone]
    assert len(np.unique(together.cost.round(9))) == 3
    np.testing.assert_allclose(together.cost, [a.cost[0] for a in each], rtol=1e-7)
    np.testing.assert_allclose(together.constants, [a.constants[0] for a in each], rtol=1e-3, atol=1e-4)


def test_large_residuals_and_a_loss_with_a_kink_come_to_rest() -> None:
    # Without the secant estimate these two are still moving after 200 steps.
    for noise in (0.3, 1.0):
        assert polish(problem_of(GENERIC, "absolute", noise=noise), START).converged.all()


def test_never_worse_than_the_start_and_no_steps_is_the_start() -> None:
    problem = problem_of(GENERIC, "absolute", noise=0.1)
    starts = problem.lower + np.random.default_rng(0).random((20, 6)) * np.array([5, 5, 5, 5, 5, 2.0])
    cost = problem.cost(starts)
    np.testing.assert_array_equal(polish(problem, starts, settings=PolishSettings(max_steps=0)).constants, starts)
    assert np.all(polish(problem, starts, settings=PolishSettings(max_steps=3)).cost < cost)


def test_what_is_held_stays_in_each_set_where_it_starts() -> None:
    problem = problem_of(GENERIC, noise=0.02)
    starts = np.repeat(START, 3, axis=0)
    starts[:, 0] = 0.1, 0.4, 0.7
    held = np.arange(starts.shape[1]) == 0
    polished = polish(problem, starts, held=held)
    assert polished.constants[:, 0].tolist() == [0.1, 0.4, 0.7]
    for k, value in enumerate(starts[:, 0]):
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[0] = upper[0] = value
        pinned = polish(with_bounds(problem, lower, upper), starts[k : k + 1])
        assert polished.cost[k] == pytest.approx(pinned.cost[0], rel=1e-6)
    assert polish(problem, starts[:1]).cost[0] < polished.cost.min()


def test_a_start_outside_the_bounds_is_brought_in() -> None:
    problem = problem_of(GENERIC, noise=0.1)
    polished = polish(problem, np.array([[-1.0, 9.0, 99.0, -1.0, -99.0, 5.0]]), settings=PolishSettings(max_steps=0))
    np.testing.assert_array_equal(polished.constants, [[0.0, 9.0, 4.0, 0.0, -2.0, 1.0]])


def test_few_steps_are_said_to_be_few() -> None:
    problem = problem_of(GENERIC, noise=0.1)
    assert not polish(problem, START, settings=PolishSettings(max_steps=1)).converged.any()
    assert polish(problem, START).converged.all()
