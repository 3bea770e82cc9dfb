from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from genperf.prediction import mixture_quantiles
from genperf.prediction.bands import POINTS

LEVELS = np.array([0.05, 0.5, 0.95])

Array = npt.NDArray[np.float64]


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


def in_order(logarithms: Array, weights: Array, sd: Array) -> Array:
    """Quantiles row by row, with every point of the mixture put in order."""
    normal = np.array([NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)])
    out = np.empty((len(LEVELS), logarithms.shape[1]))
    for j in range(logarithms.shape[1]):
        points, shares = logarithms[:, j], weights / weights.sum()
        if sd[:, j].any():
            points, shares = (points[:, None] + sd[:, j, None] * normal).ravel(), np.repeat(shares, POINTS) / POINTS
        order = np.argsort(points, kind="stable")
        middle = np.cumsum(shares[order]) - 0.5 * shares[order]
        out[:, j] = np.interp(LEVELS, middle, points[order])
    return np.exp(out)


@pytest.mark.parametrize("rows", [1, 8, 300])
@pytest.mark.parametrize("draws", [1, 12, 400])
@pytest.mark.parametrize("kind", ["neighbours", "unrelated", "two heaps", "some without spread", "one for all draws"])
def test_rows_searched_together_are_those_put_in_order(kind: str, draws: int, rows: int) -> None:
    """1e-9 of the time, whatever stands in the neighbouring rows."""
    rng = np.random.default_rng([draws, rows])
    weights = rng.random(draws) ** 3 + 1e-3
    place = np.linspace(0.0, 5.0, rows)
    logarithms = rng.normal(0.0, 0.1, (draws, 1)) * (1.0 + place) - place
    sd = np.abs(rng.normal(0.05, 0.02, (draws, 1))) * (1.0 + place)
    if kind == "unrelated":
        logarithms, sd = logarithms + rng.normal(0.0, 9.0, rows), sd * np.exp(rng.normal(0.0, 1.0, rows))
    elif kind == "two heaps":
        logarithms = logarithms + 40.0 * (rng.random((draws, rows)) < 0.5)
    elif kind == "some without spread":
        sd = sd * (rng.random((draws, rows)) < 0.5) * (rng.random(rows) < 0.8)
    elif kind == "one for all draws":
        sd = np.broadcast_to(sd[:1], (draws, rows))
    found = mixture_quantiles(logarithms, weights, sd[0] if kind == "one for all draws" else sd, LEVELS)
    np.testing.assert_allclose(found, in_order(logarithms, weights, sd), rtol=1e-9)
