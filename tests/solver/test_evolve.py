"""Several populations evolve at once, each as if it were alone."""

import numpy as np
import pytest

from genperf.solver.evolve import EVOLUTION, evolve

BOX = np.array([-5.0, -5.0, -5.0]), np.array([5.0, 5.0, 5.0])


def bumpy(x: np.ndarray) -> np.ndarray:
    """Minima near every whole number, the least of them, 1, at 0."""
    return np.asarray(1.0 + np.sum(x**2 + 2.0 * (1.0 - np.cos(2.0 * np.pi * x)), axis=1))


def populations(seeds: list[int], size: int = 30) -> tuple[np.ndarray, np.ndarray]:
    members = np.stack([np.random.default_rng(seed).uniform(*BOX, (size, 3)) for seed in seeds])
    return members, bumpy(members.reshape(-1, 3)).reshape(len(seeds), size)


def run(seeds: list[int]) -> tuple[np.ndarray, np.ndarray, int]:
    members, costs = populations(seeds)
    return evolve(bumpy, members, costs, BOX, [np.random.default_rng(100 + seed) for seed in seeds], 1e-3)


def test_the_least_of_many_minima_is_found() -> None:
    members, costs, _ = run([0, 1, 2])
    assert np.all(costs.min(axis=1) < 1.05)
    np.testing.assert_allclose(costs, bumpy(members.reshape(-1, 3)).reshape(3, -1))


def test_each_population_does_what_it_does_alone() -> None:
    members, costs, evaluations = run([0, 1, 2])
    alone = [run([seed]) for seed in (0, 1, 2)]
    for i, (population, cost, _) in enumerate(alone):
        np.testing.assert_array_equal(members[i], population[0])
        np.testing.assert_array_equal(costs[i], cost[0])
    assert evaluations == sum(spent for *_, spent in alone)


def test_nothing_gets_worse_and_nothing_leaves_the_box() -> None:
    before = populations([4])[1]
    members, costs, _ = run([4])
    assert np.all(costs <= before)
    assert np.all((members >= BOX[0]) & (members <= BOX[1]))


@pytest.mark.parametrize("level", [0.0, 3.0])
def test_a_plain_is_left_at_once(level: float) -> None:
    members, _ = populations([0, 1])
    rngs = [np.random.default_rng(i) for i in range(2)]
    flat = np.full((2, 30), level)
    assert evolve(lambda x: np.full(len(x), level), members, flat, BOX, rngs, 1e-3)[2] == 2 * 30


def test_a_population_rests_when_its_best_does() -> None:
    # Costs that never agree and never fall: the best rests as many generations as it is waited for.
    members, _ = populations([0])
    unlike = np.arange(1.0, 31.0)[None]
    spent = evolve(lambda x: np.full(len(x), 1e3), members, unlike, BOX, [np.random.default_rng(0)], 1e-3)[2]
    assert spent == 30 * EVOLUTION.patience
    assert EVOLUTION.patience < EVOLUTION.max_generations
