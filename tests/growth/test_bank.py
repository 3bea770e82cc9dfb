"""The bank of curves is its prior, its posterior is that of a Gaussian process, and a table knows its cluster."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from genperf.growth import Counts, Draws, Layout, Posterior, bank, forecast, posterior_of
from genperf.growth.bank import LEAST_SLOPE, MEAN_SLOPE, SLOPE_SD, UNSEEN_DRAWN, UNSEEN_NETWORKS, prior
from genperf.growth.cluster import combined, shown

N = np.array([1.0, 2.0, 4.0, 8.0])
INSIDE = Counts(N, np.ones(4), np.ones(4))
BEYOND = Counts(2.0 * N, N, np.ones(4))


def posterior(times: list[float], counts: Counts = INSIDE, variance: float = 0.0) -> Posterior:
    return posterior_of(counts, np.log(times), np.full(len(times), variance))


def test_bank_is_its_prior():
    drawn = bank()
    arises = prior().class_share @ prior().present
    assert_allclose(drawn.present.mean(axis=0), arises, atol=0.02)
    plain = drawn.present[:, 0]
    assert_allclose(np.median(drawn.sizes[plain, 0]), prior().median[0], rtol=0.05)
    assert_allclose(drawn.unseen.mean(), UNSEEN_DRAWN, atol=0.01)
    weights = np.exp(drawn.logarithms) / len(drawn.unseen)
    assert_allclose([weights.sum(), weights[drawn.unseen].sum()], [1.0, UNSEEN_NETWORKS], atol=0.01)
    assert (drawn.sizes >= 0.0).all()
    # The same each time.
    assert drawn is bank()
    bank.cache_clear()
    assert_allclose(bank().sizes, drawn.sizes, rtol=0.0)


def test_overheads_by_hand():
    # Sixteen workers on two nodes, eight each.
    known, exponents = prior(), np.array([1.0, 2.0])
    found = {o.name: known.values(place, 16.0, 2.0, exponents) for place, o in enumerate(known.overheads)}
    assert found["one after another"].tolist() == [1 / 8, 1 / 64]
    # Eight workers of a node, the first one or two without contention.
    assert_allclose(found["contention"], [7.0, 6.0])
    # Limits of eight and of thirty-two workers, which count from the second node on.
    assert known.values(8, 16.0, 2.0, np.array([8.0, 32.0])).tolist() == [1.0, 0.0]
    assert float(known.values(8, 16.0, 1.0, 8.0)) == 0.0
    del found["one after another"], found["saturation"], found["contention"]
    assert [float(v) for v in found.values()] == [0.875, 4.0, 1.0, 0.5, 1.0, 0.5, 1.0]


def test_densities_and_forecasts_are_those_of_a_gaussian_process():
    variances = np.array([0.01, 0.0, 0.02, 0.005])
    layout = Layout(INSIDE, variances)
    y = np.log([1.0, 1.2, 1.3, 1.9])
    found = np.log(layout.weights(y)[0]) - bank().logarithms
    there, vague = Counts(np.array([16.0, 64.0]), np.array([2.0, 8.0]), np.ones(2)), 1e4
    x, z, curves = np.log2(N), np.array([4.0, 6.0]), np.arange(16)
    noise = prior().noise
    for w, step in enumerate(prior().walk_step):
        whole = step**2 * np.minimum.outer(x, x) + np.diag((step * noise) ** 2 + variances) + vague
        density = [multivariate_normal.logpdf(y - curve, cov=whole) for curve in layout.curves[:, :16].T]
        # A flat level and one of a large variance differ by a constant.
        assert_allclose(np.diff(found[w, :16]), np.diff(density), rtol=1e-5, atol=1e-5)
        across = step**2 * np.minimum.outer(z, x) + vague
        gain = np.linalg.solve(whole, across.T).T
        one = Posterior(y, layout, np.ones((4, layout.curves.shape[1])), 0.0)
        mean, _, variance = Draws(one, np.full(16, w), curves).forecast(there)
        expected = layout.logarithms(there, curves) + gain @ (y[:, None] - layout.curves[:, :16])
        slope = max(SLOPE_SD * step, LEAST_SLOPE) * np.array([1.0, 3.0])
        assert_allclose(mean, expected.T + MEAN_SLOPE * slope, rtol=1e-4, atol=1e-4)
        left = np.diag(step**2 * np.minimum.outer(z, z) + vague - gain @ across.T)
        assert_allclose(variance[0], left + slope**2 + (step * noise) ** 2, rtol=1e-4, atol=1e-6)


def test_an_unseen_network_widens_upwards_only():
    flat = posterior([1.0, 1.0, 1.0, 1.0])
    inside = forecast([flat.draws()], [1.0], [Counts(np.array([16.0]), np.array([1.0]), np.ones(1))]).interval()
    beyond = forecast([flat.draws()], [1.0], [Counts(np.array([16.0]), np.array([2.0]), np.ones(1))]).interval()
    # Of 14 % of the networks nothing is known. Of 40 %, as once, the upper end was above 1.5.
    assert beyond[2][0] > 1.4 * inside[2][0]
    assert beyond[1][0] > 0.8 * inside[1][0]


def test_a_table_knows_its_cluster():
    # Nineteen programs take a tenth longer on the second node; one never left its node.
    slow = [posterior([1.0, 1.1 + 0.001 * k, 1.12, 1.13], BEYOND) for k in range(19)]
    lone = posterior([1.0, 1.01, 1.02, 1.03])
    far = Counts(np.array([16.0]), np.array([2.0]), np.ones(1))
    alone = forecast([lone.draws()], [1.0], [far]).interval()
    known = combined([shown(each.weights, beyond=True) for each in slow])
    shared = forecast([replace(lone, tilt=known.tilt).draws()], [1.0], [far]).interval()
    assert shared[2][0] < alone[2][0]
    assert 1.05 < shared[0][0] < 1.25
    assert combined([]) is None
