"""The least time of an exchange, by hand."""

from __future__ import annotations

import pytest

from genperf.normal import least_exchange


def test_one_node_exchanges_nothing() -> None:
    assert least_exchange(1e9, 1e9, 1).seconds == 0.0


@pytest.mark.parametrize(("nodes", "least"), [(2, 1.0), (4, 1.5), (1000, 1.998)])
def test_a_ring_of_nodes_moves_less_than_twice_the_message(nodes: float, least: float) -> None:
    # 1 GB at 1 GB/s: 2·(m − 1)/m seconds.
    assert least_exchange(1e9, 1e9, nodes).seconds == pytest.approx(least)


def test_the_ways_by_hand() -> None:
    # 2 nodes of 4, 1 GB at 1 GB/s, 10 ms: 2·7/8 + 14·0.01; 2·1/2 + 2·0.01; 4 + 2·0.01.
    found = least_exchange(1e9, 1e9, 2, 4, 0.01)
    assert (found.ring, found.hierarchical, found.server) == pytest.approx((1.89, 1.02, 4.02))
    assert (found.way, found.seconds) == ("hierarchical", found.hierarchical)


def test_one_device_a_node_makes_the_ring_hierarchical() -> None:
    found = least_exchange(1e8, 1e9, 8, 1, 1e-3)
    assert found.ring == pytest.approx(found.hierarchical)


def test_a_server_is_least_where_the_latency_of_many_nodes_counts() -> None:
    assert least_exchange(1e3, 1e9, 64, 1, 0.01).way == "server"
