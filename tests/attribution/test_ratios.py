"""Ratios of predictions: what both share cancels, and the interval is that of the draws."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from worked_models import member, model

import genperf as gp
from genperf.asking import Question, ask
from genperf.attribution.draws import curves_of, quantiles, shares
from genperf.prediction import Spread

LEVELS = (0.05, 0.95)


def test_an_error_of_the_level_cancels() -> None:
    # T = a·n with a uncertain by a factor: T(8)/T(2) is 4 in every draw.
    draws = [[a] for a in np.geomspace(0.5, 2.0, 101)]
    result = model(member({"all": "a*workers"}, {"a": 1.0}, draws))
    ratio = curves_of(result, {"workers": np.array([2.0, 8.0])}).ratios(1, 0)
    assert np.exp(ratio.quantiles(LEVELS)).ravel() == pytest.approx([4.0, 4.0])
    assert ratio.chance_below(np.log([3.9, 4.1])) == pytest.approx([0.0, 1.0])


def test_distance_from_the_data_moves_both_rows_of_a_draw() -> None:
    # One doubling beyond 16 adds 10 %, two add 20 %, by one z: the ratio has 10 %, and its ends are 1.645 of it away.
    result = model(member({"all": "a"}, {"a": 1.0}, [[1.0]] * 50), spread=Spread(per_doubling=0.1))
    ratio = curves_of(result, {"workers": np.array([32.0, 64.0])}).ratios(1, 0)
    assert ratio.quantiles(LEVELS).ravel() == pytest.approx([-0.1645, 0.1645], rel=0.02)


@pytest.fixture(scope="module")
def uncounted() -> gp.FitResult:
    """Return a fit to runs on one to eight devices, whose nodes no column counts."""
    table = pd.DataFrame({"gpus": [1, 2, 4, 8], "step_s": [0.30, 0.32, 0.33, 0.35]})
    return gp.fit(gp.read_table(table, time="step_s", extrinsic="gpus", scaling="weak"))


def test_the_closed_form_is_that_of_the_paths(uncounted: gp.FitResult) -> None:
    columns = {"gpus": np.array([8.0, 16.0])}
    paths = curves_of(uncounted, columns).paths
    ends = curves_of(uncounted, columns).ratios(1, 0).quantiles(LEVELS).ravel()
    drawn = quantiles(paths[:, 1] - paths[:, 0], shares(uncounted.members), LEVELS)
    assert ends == pytest.approx(drawn, abs=0.05)


def test_each_draw_has_the_covariance_of_its_own_scale(uncounted: gp.FitResult) -> None:
    columns = {"gpus": np.array([8.0, 16.0, 64.0])}
    one = max(uncounted.members, key=lambda m: len(np.unique(m.discrepancy.scales)) if m.discrepancy else 0)
    assert one.discrepancy is not None
    assert len(np.unique(one.discrepancy.scales)) > 1
    covariance = one.discrepancy.covariance(columns)
    variance = covariance[:, 2, 2] + covariance[:, 0, 0] - 2.0 * covariance[:, 0, 2]
    far = np.array([0.0, 1.0, 3.0])
    shared = np.sqrt(one.mean_variance(uncounted.spread, far))
    expected = np.sqrt(variance + np.ravel(shared[..., 2] - shared[..., 0]) ** 2)
    assert curves_of(uncounted, columns, [one]).ratios(2, 0).deviation[:, 0] == pytest.approx(expected)


def test_intervals_of_ratios_at_measured_counts_hold() -> None:
    """T = 0.3 + 0.02·log2 n with 2 % of noise: the errors of two times do not cancel."""
    counts, held = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), []
    truth = 0.3 + 0.02 * np.log2(counts)
    for seed in range(20):
        seconds = truth * np.exp(0.02 * np.random.default_rng(seed).standard_normal(5))
        runs = pd.DataFrame({"gpus": counts, "nodes": np.ceil(counts / 4.0), "s": seconds})
        result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus,nodes", scaling="weak"))
        columns = {"gpus": counts, "nodes": np.ceil(counts / 4.0)}
        lower, upper = curves_of(result, columns).ratios(np.array([3, 4, 4]), np.array([0, 0, 3])).quantiles(LEVELS)
        ratio = np.log(truth[[3, 4, 4]] / truth[[0, 0, 3]])
        held += list((lower <= ratio) & (ratio <= upper))
    assert 0.8 <= np.mean(held) <= 0.98


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        (lambda n: 0.3 + 0.05 * (n - 1) / n, "Growing from 16 gpus to 64 gpus pays: "),
        # A server whose link is full from ten workers on; one run shows it.
        (
            lambda n: np.maximum(0.3, 0.03 * n) + 0.01,
            "Growing from 16 gpus to 64 gpus hardly pays: ",
        ),
    ],
)
def test_growing_pays_where_the_data_decide_it(law: Callable[[np.ndarray], np.ndarray], sentence: str) -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    runs = pd.DataFrame({"gpus": counts, "nodes": np.ceil(counts / 4.0), "s": law(counts)})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus,nodes", scaling="weak"))
    assert ask(result, {"gpus": 64.0}, Question(work="gpus")).sentences["pays"].startswith(sentence)


def test_far_efficiencies_are_blind(uncounted: gp.FitResult) -> None:
    explained = gp.explain(uncounted, {"gpus": 8}, knee=True)
    assert explained.scaling is not None
    curve = explained.scaling.curve.set_index("gpus")
    assert explained.trust == ["it can be relied on (ok): inside the measured range"]
    assert curve["verdict"][8.0] == "ok"
    assert set(curve["verdict"][curve.index >= 64.0]) == {"extrapolating-blind"}
    assert "the verdict is extrapolating-blind" in str(explained.scaling)
