"""The draws of constants: predictive of the constants that made the table, wide where the data say nothing."""

import numpy as np
import pytest
from helpers import runs_of

import genperf as gp


def separable(values: dict[str, tuple[float, ...]], seed: int, noise: float) -> gp.Table:
    """T = 0.1 + (0.4·(batch/32)^0.8 + 0.3·(layers/8)^1.2)·(workers/4)^0.3."""
    sizes = lambda f: 0.4 * (f.batch / 32) ** 0.8 + 0.3 * (f.layers / 8) ** 1.2  # noqa: E731
    law = lambda f: 0.1 + sizes(f) * (f.workers / 4) ** 0.3  # noqa: E731
    runs = runs_of(law, values, column="t", noise=noise, seed=seed)
    return gp.read_table(runs, time="t", intrinsic="batch,layers", extrinsic="workers")


GRID = {"batch": (8.0, 16.0, 32.0, 64.0), "layers": (4.0, 8.0, 16.0), "workers": (1.0, 2.0, 4.0, 8.0)}


@pytest.mark.parametrize(("lam", "least"), [(None, 0.8), (0.01, 0.84)])
def test_intervals_of_constants_hold_those_that_made_the_table(lam: float | None, least: float) -> None:
    truth = {"p_batch": 0.8, "p_layers": 1.2, "q_workers": 0.3, "C": 0.1}
    held = []
    for seed in range(4):
        fitted = gp.fit(separable(GRID, seed, 0.03), "generic", structure="separable", lam=lam, draws=60).best
        ends = dict(zip(fitted.expression.constant_names, fitted.constant_interval(0.9), strict=True))
        held += [ends[name][0] <= value <= ends[name][1] for name, value in truth.items()]
    # Of 16 nominal 90 % intervals. A penalty of 0.01 moves exponents by a quarter; a bootstrap of rows holds a quarter.
    assert np.mean(held) >= least


def test_a_constant_that_the_law_lacks_has_an_interval_from_zero() -> None:
    levels = {name: GRID[name] for name in ("batch", "workers")}
    runs = runs_of(lambda f: 0.004 * f.batch * (1.0 + 0.03 * f.workers), levels, column="t", noise=0.03)
    constants = gp.fit(gp.read_table(runs, time="t", intrinsic="batch", extrinsic="workers"), "generic").constants()
    assert (constants["lower"] <= constants["value"]).all()
    assert (constants["value"] <= constants["upper"]).all()
    assert constants.set_index("constant").loc["C", "lower"] == 0.0


def test_a_product_that_can_stand_for_the_constant_leaves_it_wide() -> None:
    # C + a·l·(b + k) + w·(n − 1)/n: of n = 1, 2, 4, 8 a power with a step makes C + w·(n − 1)/n by itself.
    law = lambda f: 0.2 + 0.001 * f.layers * (f.batch + 50.0) + 0.3 * (f.workers - 1.0) / f.workers  # noqa: E731
    runs = runs_of(law, GRID, column="t", noise=0.015)
    result = gp.fit(gp.read_table(runs, time="t", intrinsic="batch,layers", extrinsic="workers"), "generic", draws=60)
    fitted = result.best
    assert fitted.values["C"] < 0.01
    _, upper = dict(zip(fitted.expression.constant_names, fitted.constant_interval(0.9), strict=True))["C"]
    # It may be nearly all that the law has, and no more than the shortest run takes.
    assert 0.19 < upper < 1.01 * runs["t"].min()
    shown = str(gp.explain(result, {"batch": 8.0, "layers": 4.0, "workers": 1.0}))
    assert any(line.split()[:1] == ["constant"] for line in shown.splitlines())
