"""Elasticities against cases worked by hand."""

import numpy as np
import pytest
from discrepancies import walk_along
from worked_models import BATCH, WORKERS, member, model

from genperf.attribution import explain


def of(result, at) -> dict:
    return explain(result, at).elasticities.set_index("factor")[["elasticity", "method"]].T.to_dict("list")


def test_of_a_power_it_is_the_exponent() -> None:
    power = model(member({"work": "a*batch**p/workers"}, {"a": 3.0, "p": 0.7}), factors=(WORKERS, BATCH))
    assert of(power, {"workers": 3, "batch": 16}) == {
        "workers": [pytest.approx(-1.0), "derivative"],
        "batch": [pytest.approx(0.7), "derivative"],
    }


def test_of_a_sum_it_is_that_of_the_terms_by_share() -> None:
    # T = 1 + 8/n at 8: half of it falls as 1/n.
    assert of(model(member({"c": "c", "a": "a/workers"}, {"c": 1.0, "a": 8.0})), {"workers": 8})["workers"][0] == -0.5


def test_of_several_members_it_is_the_mean_by_weight() -> None:
    members = [
        member({"t": "a*workers**p"}, {"a": a, "p": p}, weight=w) for a, p, w in ((1, 1.0, 0.25), (5, -1.0, 0.75))
    ]
    assert of(model(*members), {"workers": 7})["workers"][0] == pytest.approx(-0.5)


def test_the_interval_is_that_of_the_draws() -> None:
    draws = [[1.0, p] for p in np.linspace(-1, 1, 201)]
    found = explain(model(member({"t": "a*workers**p"}, {"a": 1.0, "p": 0.0}, draws)), {"workers": 5}, interval=0.5)
    assert found.elasticities[["lower", "upper"]].to_numpy() == pytest.approx(np.array([[-0.5, 0.5]]), abs=0.01)


def test_of_steps_it_is_that_of_doubling_and_said() -> None:
    # Nodes of 4: at 2 workers one node, at 4 one, at 8 two: doubling 4 doubles the time, doubling 2 does nothing.
    steps = model(member({"nodes": "a*ceil(workers/4)"}, {"a": 2.0}))
    assert of(steps, {"workers": 4})["workers"] == [pytest.approx(1.0), "doubling"]
    assert of(steps, {"workers": 2})["workers"] == [pytest.approx(0.0), "doubling"]
    assert "doubling" in " ".join(explain(steps, {"workers": 2}).notes)


def test_of_what_follows_the_measurements_it_is_that_of_the_prediction() -> None:
    # The curve is flat, the measurements double from 1 to 2 workers.
    anchors = [1.0, 2.0]
    walk = walk_along("workers", anchors, np.log([1.0, 2.0]), step=1.0, noise=1e-6)
    found = of(model(member({"constant": "c*workers**0"}, {"c": 1.0}, discrepancy=walk)), {"workers": 1})["workers"]
    assert found == [pytest.approx(1.0, abs=1e-3), "doubling"]


def test_at_one_worker_the_step_from_alone_to_together_is_included() -> None:
    # T doubles with the second worker and is constant from there on: the derivative at one worker is zero.
    step = model(member({"t": "c*exp(d*where(workers > 1, 1, 0))"}, {"c": 1.0, "d": np.log(2.0)}))
    assert of(step, {"workers": 1})["workers"] == [pytest.approx(1.0), "doubling"]
    assert of(step, {"workers": 4})["workers"] == [pytest.approx(0.0), "derivative"]
