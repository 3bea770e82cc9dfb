"""What is normal among published series."""

from typing import Any

import numpy as np
import pytest
from helpers import cases_in_text

from genperf.normal.exchange import least_exchange
from genperf.normal.record import FEWEST_VOTES, record_like
from genperf.normal.series import NARROWED_SERIES, Step, placed, published, step_to

SECOND = Step("second", (8.0, 1.0), (16.0, 2.0), 0.5)


def made(efficiencies: list[float], clusters: int = 4, **known: Any) -> dict[str, Any]:
    """Steps to the second node, one a series, dealt to clusters of one source each."""
    count = len(efficiencies)
    cluster = np.arange(count) % clusters
    steps = {
        "kind": np.full(count, "second"),
        "series": np.arange(count),
        "cluster": cluster,
        "source": cluster,
        "doublings": np.ones(count),
        "efficiency": np.asarray(efficiencies),
    }
    for name in ("devices_per_node", "between", "framework"):
        steps[name] = np.resize(np.asarray(known.get(name, [""])), count)
    return steps


def test_steps_begin_where_their_kind_says() -> None:
    devices, nodes = np.array([1.0, 4.0, 8.0, 16.0, 64.0]), np.array([1.0, 1.0, 1.0, 2.0, 8.0])
    rates = np.array([10.0, 38.0, 72.0, 115.2, 368.64])
    assert step_to(devices, nodes, rates, 0) is None
    # 38 of 4 times 10; 115.2 of twice 72; 368.64 of 4 times 115.2.
    assert [step_to(devices, nodes, rates, at) for at in (1, 3, 4)] == [
        Step("inside", (1.0, 1.0), (4.0, 1.0), pytest.approx(0.95)),
        Step("second", (8.0, 1.0), (16.0, 2.0), pytest.approx(0.8)),
        Step("beyond", (16.0, 2.0), (64.0, 8.0), pytest.approx(0.8)),
    ]


def test_the_percentile_is_the_share_of_series_below() -> None:
    # 0.01, 0.02, … 1.00: 49 are below 0.5, one equals it.
    found = placed(SECOND, {}, made([j / 100 for j in range(1, 101)]))
    assert found.percentile == pytest.approx(49.5)
    assert (found.low, found.median, found.high) == pytest.approx((0.055, 0.505, 0.955))
    assert (found.series, found.clusters) == (100, 4)


def test_a_step_over_more_doublings_is_compared_by_the_efficiency_of_one() -> None:
    four = Step("second", (8.0, 1.0), (32.0, 4.0), 0.25)
    one, two = (placed(step, {}, made([0.3, 0.4, 0.5, 0.6, 0.7] * 8)) for step in (SECOND, four))
    assert two.percentile == one.percentile
    assert (two.value, two.median) == pytest.approx((0.25, one.median**2))


def test_series_count_once() -> None:
    steps = made([0.9] * 30 + [0.1] * 60)
    # Sixty steps of one series below: it weighs as one.
    steps["series"] = np.append(np.arange(30), np.full(60, 30))
    found = placed(SECOND, {}, steps)
    assert found.percentile == pytest.approx(100.0 / 31.0)
    assert found.series == 31


@pytest.mark.parametrize(("clusters", "narrowed"), [(10, ("doublings", "between")), (8, ("doublings",))])
def test_what_is_known_narrows_while_enough_sources_are_left(clusters: int, narrowed: tuple[str, ...]) -> None:
    # Every second source has rdma: five of ten are enough, four of eight are not.
    steps = made([0.9, 0.4] * 120, clusters, between=["rdma", "ethernet"])
    found = placed(SECOND, {"between": "rdma"}, steps)
    assert found.narrowed == narrowed
    assert found.median == pytest.approx(0.9 if "between" in narrowed else 0.65)


def test_the_published_series_are_a_reference() -> None:
    steps = published()
    assert len({len(values) for values in steps.values()}) == 1
    assert np.all((steps["efficiency"] > 0.0) & (steps["efficiency"] <= 1.15))
    for kind in ("inside", "second", "beyond"):
        mine = steps["kind"] == kind
        # An end of "nine in ten" is the second of thirty.
        assert len(np.unique(steps["series"][mine])) >= 30
        assert len(np.unique(steps["cluster"][mine])) >= 3


def test_the_published_series_are_narrowed_only_to_enough_of_them() -> None:
    every = placed(SECOND, {})
    for known in (
        {"devices_per_node": 8},
        {"between": "rdma"},
        {"framework": "pytorch"},
        {"between": "carrier pigeon"},
    ):
        found = placed(SECOND, known)
        assert NARROWED_SERIES <= found.series <= every.series
        assert set(found.narrowed) <= {"doublings", *known}


# --- the least time of an exchange, by hand --------------------------------------------------------------------------


def test_the_ways_by_hand() -> None:
    # 2 nodes of 4, 1 GB at 1 GB/s, 10 ms: 2·7/8 + 14·0.01; 2·1/2 + 2·0.01; 4 + 2·0.01.
    found = least_exchange(1e9, 1e9, 2, 4, 0.01)
    assert found == pytest.approx({"ring": 1.89, "hierarchical": 1.02, "server": 4.02})


# --- the shipped record of the benchmark: what it holds, and which part of it a prediction is like -------------------


@cases_in_text("ratio, leaves_node, protocol")
def test_which_record_a_prediction_is_like(ratio: float, leaves_node: bool, protocol: str | None) -> None:
    record = record_like(ratio, leaves_node, "caution")
    assert (record.protocol if record else None) == protocol


def test_a_verdict_of_few_clusters_has_the_record_of_all_verdicts() -> None:
    far, near = (record_like(ratio, False, "ok") for ratio in (4.0, 2.0))
    assert far is not None
    assert near is not None
    assert (far.verdict, near.verdict) == ("", "ok")
    assert min(far.clusters, near.clusters) >= FEWEST_VOTES
