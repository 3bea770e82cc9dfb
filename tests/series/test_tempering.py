"""The sampler finds a posterior that is known, and its evidence."""

import numpy as np
import pytest

from genperf.series.tempering import sample

#: Measurements y = A z + e of two quantities, e of standard deviation SD: posterior and evidence are in closed form.
A = np.array([[1.0, 0.5], [0.0, 2.0], [1.0, -1.0]])
Y = np.array([1.0, 3.0, -2.0])
SD = 0.3


def log_likelihood(z: np.ndarray) -> np.ndarray:
    off = Y - z @ A.T
    return -0.5 * np.sum(off**2, axis=1) / SD**2 - len(Y) * np.log(SD * np.sqrt(2 * np.pi))


def test_gaussian_posterior_and_evidence() -> None:
    precision = np.eye(2) + A.T @ A / SD**2
    mean = np.linalg.solve(precision, A.T @ Y / SD**2)
    marginal = A @ A.T + SD**2 * np.eye(3)
    evidence = -0.5 * (Y @ np.linalg.solve(marginal, Y) + np.linalg.slogdet(2 * np.pi * marginal)[1])
    found = sample(log_likelihood, 2, 4000, np.random.default_rng(1))
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.abs(found.particles.mean(axis=0) - mean).max() < 0.1 * sd.min()
    assert np.cov(found.particles.T) == pytest.approx(np.linalg.inv(precision), rel=0.15, abs=2e-3)
    assert found.evidence == pytest.approx(evidence, abs=0.15)


def test_two_modes_keep_their_shares() -> None:
    def two(z: np.ndarray) -> np.ndarray:
        return np.logaddexp(-0.5 * ((z[:, 0] - 1.5) / 0.1) ** 2, -0.5 * ((z[:, 0] + 1.5) / 0.1) ** 2)

    found = sample(two, 1, 4000, np.random.default_rng(2))
    assert np.mean(found.particles > 0) == pytest.approx(0.5, abs=0.1)
    assert np.abs(found.particles).mean() == pytest.approx(1.5 / 1.01, abs=0.02)


def test_no_data_gives_the_prior() -> None:
    found = sample(lambda z: np.zeros(len(z)), 3, 2000, np.random.default_rng(3))
    assert found.evidence == 0.0
    assert found.particles.std(axis=0) == pytest.approx(np.ones(3), abs=0.08)


def test_same_generator_same_particles() -> None:
    first, again = (sample(log_likelihood, 2, 200, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first.particles, again.particles)
