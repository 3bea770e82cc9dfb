from statistics import NormalDist

import numpy as np
import pytest

from genperf.prediction import mixture_quantiles
from genperf.prediction.bands import quantiles

LEVELS = np.array([0.05, 0.5, 0.95])


def test_one_log_normal() -> None:
    exact = np.exp([NormalDist(np.log(2.0), 0.3).inv_cdf(p) for p in LEVELS])
    assert np.allclose(mixture_quantiles(np.log([[2.0]]), np.ones(1), np.array([0.3]), LEVELS)[:, 0], exact, rtol=0.01)


def test_without_spread_the_quantiles_are_those_of_the_draws() -> None:
    draws = np.log(np.linspace(1.0, 2.0, 1001))[:, None]
    found = mixture_quantiles(draws, np.ones(1001), np.zeros(1), LEVELS)[:, 0]
    assert np.allclose(found, [1.05, 1.5, 1.95], atol=2e-3)


def test_weights_count() -> None:
    # Nine tenths of the weight at 1 s and one tenth at 10 s: the 95 % quantile is at 10 s, the median at 1 s.
    found = mixture_quantiles(np.log([[1.0], [10.0]]), np.array([0.9, 0.1]), np.array([1e-3]), LEVELS)[:, 0]
    assert np.allclose(found, [1.0, 1.0, 10.0], rtol=5e-3)


def test_never_zero_or_below() -> None:
    assert (mixture_quantiles(np.full((3, 2), -300.0), np.ones(3), np.array([5.0, 0.0]), LEVELS) > 0).all()


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("count", [1, 2, 5, 4000])
def test_quantiles_are_those_of_all_points_in_order(count: int, scale: float) -> None:
    """Weighted points with ties and far outliers, against sorting every one of them."""
    rng = np.random.default_rng(count)
    points = scale * np.round(rng.standard_cauchy(count), 2)
    shares = rng.random(count) ** 4
    shares /= shares.sum()
    levels = np.array([0.0, 1e-6, 0.05, 0.5, 0.95, 1.0])
    order = np.argsort(points, kind="stable")
    middle = np.cumsum(shares[order]) - 0.5 * shares[order]
    expected = np.interp(levels, middle, points[order])
    np.testing.assert_allclose(quantiles(points, shares, levels), expected, rtol=1e-9, atol=1e-12 * scale)
