"""The walk agrees with the multivariate normal distribution it stands for, computed directly."""

import numpy as np
import pytest

from genperf.discrepancy import Discrepancy, Extrapolation
from genperf.discrepancy.series import walk_from

N = np.array([1.0, 2.0, 4.0, 16.0])
Y = np.log([1.0, 1.3, 1.35, 1.9])
OWN = np.array([0.0, 0.01, 0.0004, 0.02]) ** 2
ASKED = np.array([0.5, 2.0, 6.0, 16.0, 64.0])
STEP, NOISE = 0.05, 0.02
SIZES = np.array([0.4, 1.0, 2.5])
#: Each draw's curve at N and at ASKED.
SLOPES = np.array([0.0, 0.1, 0.25])[:, None]


def walk(trend: float = 0.0, work: str = "1", step: float = STEP) -> Discrepancy:
    kernel, beyond = walk_from(("n",), step, {"n": N}), Extrapolation(("n",), work, trend)
    return Discrepancy(kernel, {"n": N}, Y, OWN, NOISE, SIZES, extrapolation=beyond)


def curve(n: np.ndarray) -> np.ndarray:
    return SLOPES * np.log2(n)


def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of a Brownian motion in log2 n that starts far below everything."""
    return STEP**2 * np.minimum.outer(np.log2(a) + 10.0, np.log2(b) + 10.0)


@pytest.mark.parametrize("draw", range(3))
def test_forecast_solves_the_kriging_system(draw: int) -> None:
    s = SIZES[draw]
    C = s**2 * (covariance(N, N) + NOISE**2 * np.eye(4)) + np.diag(OWN)
    near = s**2 * covariance(N, ASKED)
    # Weights λ that are unbiased (Σλ = 1) and have the least variance; μ is the multiplier of that condition.
    system = np.block([[C, np.ones((4, 1))], [np.ones((1, 4)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([near, np.ones(len(ASKED))]))
    mean = curve(ASKED)[draw] + (Y - curve(N)[draw]) @ solved[:4]
    variance = s**2 * np.diag(covariance(ASKED, ASKED)) - np.sum(
        np.vstack([near, np.ones(len(ASKED))]) * solved, axis=0
    )
    forecast, spread = walk().forecast({"n": ASKED}, curve(N), curve(ASKED))
    assert forecast[draw] == pytest.approx(mean, abs=1e-9)
    assert spread[draw] == pytest.approx(variance, abs=1e-12)
    covariance_of_draws = walk().covariance({"n": ASKED}, walk().scales)
    assert np.diag(covariance_of_draws[draw]) == pytest.approx(variance, abs=1e-12)
    assert np.linalg.eigvalsh(covariance_of_draws).min() > -1e-12


def test_growth_is_at_most_that_of_a_serial_resource() -> None:
    steep = 3.0 * np.log(ASKED)[None, :] * np.ones((3, 1))
    at_anchors = 3.0 * np.log(N)[None, :] * np.ones((3, 1))
    mean, _ = walk().forecast({"n": ASKED}, at_anchors, walk().limited({"n": ASKED}, at_anchors, steep))
    at_end, _ = walk().forecast({"n": ASKED}, curve(N) * 0.0, curve(ASKED) * 0.0)
    # From 16 to 64 a time may grow four-fold at most, besides what the walk adds at the end.
    assert np.all(mean[:, 4] - mean[:, 3] <= np.log(4.0) + 1e-9 + np.abs(at_end[:, 4] - at_end[:, 3]))


def test_noise_of_a_run_is_its_own_and_the_series() -> None:
    assert walk().run_variance(0.03)[:, 0] == pytest.approx((SIZES * NOISE) ** 2 + 0.03**2)
