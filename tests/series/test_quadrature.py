"""The quadrature agrees with sums over a grid, and other points give the same forecasts."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import qmc, t

import genperf as gp
from genperf.estimate import FitOptions
from genperf.result import FitResult
from genperf.series import fit, quadrature, series_of
from genperf.series.prior import PRIOR
from genperf.series.quadrature import log_sum, weighted_points
from genperf.series.sobol import sobol, student_points
from genperf.series.tempering import tempered_points

SERIES = {
    "flat": ([1, 2, 4, 8, 16], [1, 1, 1, 1, 2], [1.0, 1.01, 1.02, 1.03, 1.08]),
    "steep": ([1, 2, 4, 8, 16, 32], [1, 1, 1, 2, 4, 8], [1.0, 1.4, 1.9, 3.5, 3.7, 4.1]),
    "hump": ([1, 2, 4, 8, 12, 16], [1, 1, 1, 2, 3, 4], [0.7, 0.71, 0.74, 2.53, 1.51, 1.76]),
    "inside": ([1, 2, 4], [1, 1, 1], [0.1, 0.19, 0.25]),
}


def table(name: str) -> gp.Table:
    devices, nodes, seconds = SERIES[name]
    frame = pd.DataFrame({"devices": devices, "nodes": nodes, "s": seconds, "batch": 32})
    return gp.read_table(frame, time="s", extrinsic="devices,nodes", intrinsic="batch")


def targets(name: str) -> list[quadrature.Targets]:
    series = series_of(table(name), FitOptions())
    assert series is not None
    problems = fit._problems(0, series, PRIOR)
    return [fit._targets([p for p in problems if len(p.units) == n], PRIOR) for n in {len(p.units) for p in problems}]


def test_sobol_points_are_the_known_ones() -> None:
    expected = qmc.Sobol(13, scramble=False).random(64)
    np.testing.assert_allclose(sobol(64, 13), expected + 0.5 / 64)


def test_student_points_have_their_distribution() -> None:
    points = student_points(1024, 2, 8.0, 2)
    for probability in (0.05, 0.5, 0.9):
        assert np.mean(points <= t.ppf(probability, 8.0)) == pytest.approx(probability, abs=0.01)


@pytest.mark.parametrize("name", SERIES)
def test_no_overhead_has_the_evidence_of_a_sum_over_a_grid(name: str) -> None:
    alone = next(x for x in targets(name) if x.shapes.shape[1] == 0)
    z = np.linspace(-8.0, 8.0, 4001)
    x = np.repeat(z[None, None, :], len(alone.work), axis=0)
    density = alone.log_likelihood(x) + alone.log_walks[:, None] - 0.5 * z**2 - 0.5 * np.log(2.0 * np.pi)
    expected = log_sum(density, axis=2) + np.log(z[1] - z[0])
    for points, evidence in zip(weighted_points(alone), expected, strict=True):
        assert points.evidence == pytest.approx(evidence, abs=0.02)


@pytest.mark.parametrize("name", SERIES)
def test_other_points_give_the_same_evidence(name: str) -> None:
    for each in targets(name):
        first, second = weighted_points(each), weighted_points(each, seed=7)
        for a, b in zip(first, second, strict=True):
            assert log_sum(a.evidence, 0) == pytest.approx(log_sum(b.evidence, 0), abs=0.5)


def test_the_evidence_is_that_of_tempering() -> None:
    for each in targets("flat"):
        for j, points in enumerate(weighted_points(each)):
            tempered = tempered_points(each.take(np.array([j])), 4000)
            assert log_sum(points.evidence, 0) == pytest.approx(log_sum(tempered.evidence, 0), abs=0.3)


def test_tempering_takes_over_where_the_sample_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = gp.fit(table("flat")).predict({"devices": 32, "nodes": 4, "batch": 32})
    monkeypatch.setattr(fit, "QUADRATURE", replace(quadrature.QUADRATURE, least_effective=1e9, points=4000))
    tempered = gp.fit(table("flat")).predict({"devices": 32, "nodes": 4, "batch": 32})
    assert tempered.time[0] == pytest.approx(usual.time[0], rel=0.01)


@pytest.mark.parametrize("name", ["flat", "steep", "hump"])
def test_other_points_move_no_forecast(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    devices, nodes, _ = SERIES[name]
    asked = {"devices": 4 * devices[-1], "nodes": 4 * nodes[-1], "batch": 32}
    first = gp.fit(table(name)).predict(asked)
    monkeypatch.setattr(fit, "weighted_points", partial(weighted_points, seed=11))
    second = gp.fit(table(name)).predict(asked)
    assert second.time[0] == pytest.approx(first.time[0], rel=0.02)
    assert second.lower[0] == pytest.approx(first.lower[0], rel=0.05)
    assert second.upper[0] == pytest.approx(first.upper[0], rel=0.10)


def test_a_seed_changes_nothing() -> None:
    first, second = (gp.fit(table("steep"), seed=seed) for seed in (0, 1))
    assert isinstance(first, FitResult)
    asked = {"devices": 128, "nodes": 32, "batch": 32}
    pd.testing.assert_frame_equal(first.predict(asked), second.predict(asked), check_exact=True)
