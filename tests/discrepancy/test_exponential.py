"""A shared discrepancy with exponential effects, against cases worked by hand and the textbook's matrices."""

import msgspec
import numpy as np
import pytest

from genperf.discrepancy import Discrepancy, Effect, Exponential, process
from genperf.discrepancy.distances import Metric

RNG = np.random.default_rng(0)
COLUMNS = {
    "workers": RNG.choice([1.0, 2.0, 4.0, 16.0], 30),
    "offset": RNG.choice([-1.0, 0.0, 0.5], 30),
    "net": RNG.choice(np.array(["vgg", "resnet", "bert"], dtype=object), 30),
}
METRICS: dict[str, Metric] = {"workers": "doublings", "offset": "difference", "net": "level"}
EFFECTS = (Effect(3.0, {"workers": 0.3, "offset": 0.5, "net": 1.2}), Effect(0.5, {"workers": 2.0}))
ASKED = {
    "workers": RNG.uniform(0.5, 40.0, 50),
    "offset": RNG.uniform(-2.0, 2.0, 50),
    "net": RNG.choice(np.array(["vgg", "resnet", "bert"], dtype=object), 50),
}


KERNEL = Exponential(METRICS, EFFECTS)
RESIDUALS = RNG.normal(0.0, 0.1, 30)
#: σ = 0.1.
KRIGING = Discrepancy(KERNEL, COLUMNS, RESIDUALS, np.zeros(30), 1.0, np.array([0.1]))


def along(n: np.ndarray, size: float, residuals: np.ndarray, sigma: float) -> Discrepancy:
    """A discrepancy along one factor, at rate 2 per doubling."""
    kernel = Exponential({"n": "doublings"}, (Effect(size, {"n": 2.0}),))
    return Discrepancy(kernel, {"n": n}, residuals, np.zeros(len(n)), 1.0, np.array([sigma]))


def test_one_anchor_by_hand() -> None:
    # A residual of 0.4 with effects of three times the noise: three quarters are believed, 0.3; σ²·(3 − 9/4) is left.
    # Half a doubling away at rate 2 the likeness is 3/e: 0.3/e, and σ²·(3 − 9/(4e²)).
    one = along(np.array([2.0]), 3.0, np.array([0.4]), 0.1)
    (mean,), (variance,) = one.forecast({"n": np.array([2.0, 2.0 * np.sqrt(2.0)])})
    assert np.allclose(mean, [0.3, 0.3 / np.e])
    assert np.allclose(variance, [0.0075, 0.01 * (3.0 - 2.25 / np.e**2)])


def test_the_covariance_is_the_formula() -> None:
    covariance = KERNEL.covariance(ASKED, COLUMNS)
    for i, j in ((0, 0), (7, 3), (49, 29)):
        apart = abs(np.log2(ASKED["workers"][i] / COLUMNS["workers"][j]))
        far = 0.3 * apart + 0.5 * abs(ASKED["offset"][i] - COLUMNS["offset"][j])
        far += 1.2 * (ASKED["net"][i] != COLUMNS["net"][j])
        assert covariance[i, j] == pytest.approx(3.0 * np.exp(-far) + 0.5 * np.exp(-2.0 * apart))


def test_it_is_a_covariance() -> None:
    K = KERNEL.covariance(COLUMNS, COLUMNS)
    assert np.allclose(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert np.allclose(np.diag(K), 3.5)
    assert np.allclose(KERNEL.variance(COLUMNS), 3.5)


def test_mean_and_variance_are_the_textbooks() -> None:
    inverse = np.linalg.inv(KERNEL.covariance(COLUMNS, COLUMNS) + np.eye(30))
    near = KERNEL.covariance(ASKED, COLUMNS)
    (mean,), (variance,) = KRIGING.forecast(ASKED)
    assert np.allclose(mean, near @ inverse @ RESIDUALS)
    assert np.allclose(variance, 0.01 * (3.5 - np.diag(near @ inverse @ near.T)))
    assert np.allclose(np.diag(KRIGING.covariance(ASKED)[0]), variance)
    assert np.array_equal(mean, KRIGING.mean(ASKED))


def test_far_away_the_expression_speaks_alone() -> None:
    scales = {**{k: v[:1].repeat(4) for k, v in ASKED.items()}, "workers": 2.0 ** np.array([6.0, 10.0, 20.0, 60.0])}
    (mean,), (variance,) = KRIGING.forecast(scales)
    assert np.all(np.diff(np.abs(mean)) < 0.0)
    assert abs(mean[-1]) < 1e-7
    assert np.all(np.diff(variance) > 0.0)
    assert variance[-1] == pytest.approx(0.01 * 3.5)


def test_many_measurements_of_one_place_settle_it() -> None:
    same = along(np.full(1000, 2.0), 1.0, np.full(1000, 0.1), 1.0)
    assert same.forecast({"n": np.array([2.0])})[1][0, 0] == pytest.approx(1.0 / 1001.0)


def test_a_value_that_has_no_logarithm_is_like_none() -> None:
    nowhere = {**{k: v[:2] for k, v in ASKED.items()}, "workers": np.array([0.0, -1.0])}
    (mean,), (variance,) = KRIGING.forecast(nowhere)
    assert mean.tolist() == [0.0, 0.0]
    assert np.allclose(variance, 0.035)


def test_a_row_does_not_depend_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.array(KRIGING.forecast(ASKED))
    monkeypatch.setattr(process, "BLOCK", 90)
    assert np.allclose(whole, KRIGING.forecast(ASKED), rtol=1e-12)
    alone = [np.array(KRIGING.forecast({k: v[i : i + 1] for k, v in ASKED.items()})) for i in range(50)]
    assert np.allclose(whole, np.concatenate(alone, axis=2), rtol=1e-12)


def test_no_rows() -> None:
    assert [part.shape for part in KRIGING.forecast({k: v[:0] for k, v in ASKED.items()})] == [(1, 0), (1, 0)]


def test_without_a_variance_the_mean_is_all() -> None:
    assert KRIGING.factors == ("workers", "offset", "net")
    alone = msgspec.structs.replace(KRIGING, scales=np.zeros(1))
    (mean,), variance = alone.forecast(ASKED)
    assert np.allclose(mean, KRIGING.mean(ASKED))
    assert not variance.any()


def test_beyond_the_largest_anchor_a_carried_process_stays_as_it_is_there() -> None:
    kernel = Exponential(METRICS, EFFECTS, {"workers": 16.0})
    carried = replace_kernel(KRIGING, kernel)
    beyond = {**ASKED, "workers": np.full(50, 1024.0)}
    largest = {**ASKED, "workers": np.full(50, 16.0)}
    assert carried.mean(beyond) == pytest.approx(KRIGING.mean(largest))
    assert np.allclose(carried.forecast(beyond), carried.forecast(largest))
    within = {**ASKED, "workers": np.minimum(ASKED["workers"], 16.0)}
    assert carried.mean(within) == pytest.approx(KRIGING.mean(within))


def test_only_numbers_are_carried() -> None:
    assert Exponential(METRICS, EFFECTS, {"net": 1.0}).fault(COLUMNS) == "a factor that is carried on has no numbers"
    assert Exponential(METRICS, EFFECTS, {"workers": 16.0}).fault(COLUMNS) is None


def replace_kernel(discrepancy: Discrepancy, kernel: Exponential) -> Discrepancy:
    return msgspec.structs.replace(discrepancy, kernel=kernel)
