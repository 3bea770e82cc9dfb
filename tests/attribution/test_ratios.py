"""Ratios of predictions: what both share cancels, and the interval is that of the draws."""

import numpy as np
import pandas as pd
import pytest
from worked_models import member, model

import genperf as gp
from genperf.attribution.draws import Ratios, log_paths, quantiles, shares
from genperf.prediction import Spread

LEVELS = (0.05, 0.95)


def test_an_error_of_the_level_cancels() -> None:
    # T = a·n with a uncertain by a factor: T(8)/T(2) is 4 in every draw.
    draws = [[a] for a in np.geomspace(0.5, 2.0, 101)]
    result = model(member({"all": "a*workers"}, {"a": 1.0}, draws))
    ratio = Ratios.of(result, {"workers": np.array([2.0, 8.0])}, 1, 0)
    assert np.exp(ratio.quantiles(LEVELS)).ravel() == pytest.approx([4.0, 4.0])
    assert ratio.chance_below(np.log([3.9, 4.1])) == pytest.approx([0.0, 1.0])


def test_distance_from_the_data_moves_both_rows_of_a_draw() -> None:
    # One doubling beyond 16 adds 10 %, two add 20 %, by one z: the ratio has 10 %, and its ends are 1.645 of it away.
    result = model(member({"all": "a"}, {"a": 1.0}, [[1.0]] * 50), spread=Spread(per_doubling=0.1))
    ratio = Ratios.of(result, {"workers": np.array([32.0, 64.0])}, 1, 0)
    assert ratio.quantiles(LEVELS).ravel() == pytest.approx([-0.1645, 0.1645], rel=0.02)


@pytest.fixture(scope="module")
def uncounted() -> gp.FitResult:
    """Return a fit to runs on one to eight devices, whose nodes no column counts."""
    table = pd.DataFrame({"gpus": [1, 2, 4, 8], "step_s": [0.30, 0.32, 0.33, 0.35]})
    return gp.fit(gp.read_table(table, time="step_s", extrinsic="gpus", scaling="weak"))


def test_the_closed_form_is_that_of_the_paths(uncounted: gp.FitResult) -> None:
    columns = {"gpus": np.array([8.0, 16.0])}
    paths = log_paths(uncounted, columns)
    ends = Ratios.of(uncounted, columns, 1, 0).quantiles(LEVELS).ravel()
    drawn = quantiles(paths[:, 1] - paths[:, 0], shares(uncounted.members), LEVELS)
    assert ends == pytest.approx(drawn, abs=0.05)
