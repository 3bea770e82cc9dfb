"""The shipped prior: whole, and what it says where nothing was measured."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.estimate import FitOptions
from genperf.series import fit, series_of
from genperf.series.prior import NAMES, PRIOR, Prior, prior_of, setting_of


def test_shares_add_up_to_one() -> None:
    assert sum(setting.share for setting in PRIOR.settings) == pytest.approx(1.0)
    assert sum(share for _, share in PRIOR.noises) == pytest.approx(1.0, abs=1e-3)
    assert PRIOR.last + PRIOR.ideal + PRIOR.doubling < 1.0


@pytest.mark.parametrize("prior", [PRIOR, Prior()])
def test_a_prior_survives_its_file(prior: Prior) -> None:
    assert prior_of(prior.dump()) == prior


def test_a_common_strength_goes_with_its_loads() -> None:
    # Spreads 1 and 2, loads 1 and 3, strength 0.5: covariance diag(1, 4) + 0.25·[1 3; 3 9].
    root = np.array(setting_of(1.0, (1.0, 1.0), (1.0, 2.0), (1.0, 3.0), 0.5).root)
    np.testing.assert_allclose(root @ root.T, [[1.25, 0.75], [0.75, 6.25]])


def test_moments_of_some_overheads_are_those_of_all() -> None:
    names = ("latency", "inside nodes")
    medians, roots = PRIOR.moments(names, (False, False))
    at = [NAMES.index(name) for name in names]
    for setting, median, root in zip(PRIOR.settings, medians, roots, strict=True):
        whole = np.array(setting.root)
        np.testing.assert_allclose(np.exp(median), np.array(setting.medians)[at])
        np.testing.assert_allclose(root @ root.T, (whole @ whole.T)[np.ix_(at, at)])


def test_only_seconds_tell_by_their_size() -> None:
    n = np.array([1.0, 2.0, 4.0, 8.0])
    frame = pd.DataFrame({"devices": n, "nodes": np.maximum(n / 4.0, 1.0), "s": 0.1 + 0.005 * np.log2(n)})
    series = series_of(gp.read_table(frame, time="s", extrinsic="devices,nodes"), FitOptions())
    assert series is not None
    assert series.in_seconds
    slow = replace(series, logarithms=series.logarithms + np.log(3.0))
    unknown, as_slow = (replace(s, in_seconds=False) for s in (series, slow))
    medians = [fit._problems(0, s, PRIOR)[0].medians for s in (series, slow, unknown, as_slow)]
    assert np.any(medians[1] < medians[0] - 0.1)
    np.testing.assert_array_equal(medians[2], medians[3])


def test_the_network_beyond_one_node_is_not_known() -> None:
    """A step of 2.5 times, as many on T4 machines over TCP, is inside the interval; and the reason says what to do."""
    frame = pd.DataFrame({"devices": [1, 2, 4], "nodes": 1, "s": [0.70, 0.71, 0.74]})
    result = gp.fit(gp.read_table(frame, time="s", extrinsic="devices,nodes"))
    answer = result.predict({"devices": [4, 8], "nodes": [1, 2]})
    assert answer.upper[1] > 2.5 * 0.74
    assert answer.upper[0] < 0.8
    assert answer.time[1] < 1.5 * 0.74
    assert answer.verdict[1] == "extrapolating-blind"
    assert "no run beyond one node: measure 2 nodes" in answer.reason[1]


def test_after_the_first_node_growth_is_bounded() -> None:
    """Two nodes were measured: the interval at three holds the step, and no second one like it."""
    frame = pd.DataFrame({"devices": [1, 2, 4, 8], "nodes": [1, 1, 1, 2], "s": [0.70, 0.71, 0.74, 2.53]})
    result = gp.fit(gp.read_table(frame, time="s", extrinsic="devices,nodes"))
    answer = result.predict({"devices": [12, 16], "nodes": [3, 4]})
    assert np.all(answer.upper < 2.53 * 2.2)
    assert "no run beyond" not in answer.reason[1]
