"""The product over factors: a covariance, its gradient, and cases worked by hand."""

import numpy as np
import pytest

from genperf.discrepancy import KernelAxis, Product
from genperf.discrepancy.product import usual_sizes
from genperf.discrepancy.sizes import fit_sizes
from genperf.process.fit import LEVEL_SIZE, LOCAL_PART

RNG = np.random.default_rng(0)
ROWS = {
    "workers": RNG.choice([1.0, 2.0, 4.0, 16.0], 40),
    "batch": RNG.choice([8.0, 32.0, 128.0], 40),
    "offset": RNG.choice([-1.0, 0.0, 2.0], 40),
    "net": RNG.choice(np.array(["vgg", "bert"], dtype=object), 40),
}
AXES = (
    KernelAxis("workers", "ln", 0.1, 0.4, 0.2, 1.5, 0.1, 0.1),
    KernelAxis("batch", "ln", 0.5, 0.4, 0.2, 1.5, each=0.05, centre=3.0),
    KernelAxis("offset", "ln1p", 0.5, 0.4, 0.2, 1.5),
    KernelAxis("net", "level", 0.3, 1.0),
    KernelAxis("batch/workers", "ln", 0.2, 0.1, 0.1, 2.0),
)
KERNEL = Product(AXES, 2.0, 0.1)


def test_two_levels_by_hand() -> None:
    # 4·(1 + 0.09/4) for the same level and 4 for another; 0.01 and 0.01/e of the local part.
    kernel = Product((KernelAxis("net", "level", 0.3, 1.0),), 2.0, 0.1)
    nets = {"net": np.array(["a", "b"], dtype=object)}
    assert kernel.covariance(nets, nets) == pytest.approx(np.array([[4.1, 4 + 0.01 / np.e], [4 + 0.01 / np.e, 4.1]]))


def test_a_count_is_anchored_at_one_worker() -> None:
    # Alone, neither walk nor step: at 2 and 4 the walk shares ln 2.
    kernel = Product((KernelAxis("n", "ln", 0.0, 1.0, walk=0.5, step=0.2),), 1.0, 0.0)
    found = kernel.covariance({"n": np.array([1.0, 2.0])}, {"n": np.array([1.0, 4.0])})
    assert found == pytest.approx(np.array([[1.0, 1.0], [1.0, 1.0 + 0.25 * np.log(2.0) + 0.04]]))


def test_a_product_of_one_plus_each_holds_every_interaction() -> None:
    K = KERNEL.covariance(ROWS, ROWS)
    assert np.allclose(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert np.allclose(np.diag(K), KERNEL.variance(ROWS))
    # Of two factors: s² + V₁ + V₂ + V₁·V₂/s².
    two = Product(AXES[2:4], 2.0, 0.0)
    parts = [sum(a.parts(a.coordinates(ROWS)[:, None], a.coordinates(ROWS)).values()) for a in two.axes]
    assert two.covariance(ROWS, ROWS) == pytest.approx(4.0 + parts[0] + parts[1] + parts[0] * parts[1] / 4.0)


def test_sizes_that_drew_the_rows_are_near_the_optimum() -> None:
    # One level effect of 0.5 between two nets and noise of 0.02: both within a factor of two.
    nets = {"net": np.repeat(np.array(list("abcdefgh"), dtype=object), 8)}
    y = np.repeat(RNG.normal(0.0, 0.5, 8), 8) + RNG.normal(0.0, 0.02, 64)
    axis = KernelAxis("net", "level", **usual_sizes("level"))
    fit = fit_sizes([axis.coordinates(nets)], y - y.mean(), Product((axis,), LEVEL_SIZE, LOCAL_PART), np.arange(len(y)))
    assert 0.25 < fit.kernel.axes[0].linear < 1.0
    assert 0.01 < fit.noise < 0.04
    # Student's noise: one row of 64 is off by e¹, and its variance is multiplied while the others' are not.
    y[5] += 1.0
    fit = fit_sizes([axis.coordinates(nets)], y - y.mean(), Product((axis,), LEVEL_SIZE, LOCAL_PART), np.arange(len(y)))
    assert int(np.argmax(fit.factors)) == 5
    assert fit.factors[5] > 5.0 * np.median(fit.factors)
