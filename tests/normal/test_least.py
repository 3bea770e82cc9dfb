"""The least time of an exchange, by hand."""

from __future__ import annotations

import pytest

from genperf.normal.exchange import least_exchange


@pytest.mark.parametrize(("nodes", "least"), [(2, 1.0), (4, 1.5), (1000, 1.998)])
def test_a_ring_of_nodes_moves_less_than_twice_the_message(nodes: float, least: float) -> None:
    # 1 GB at 1 GB/s: 2·(m − 1)/m seconds.
    assert min(least_exchange(1e9, 1e9, nodes).values()) == pytest.approx(least)


def test_the_ways_by_hand() -> None:
    # 2 nodes of 4, 1 GB at 1 GB/s, 10 ms: 2·7/8 + 14·0.01; 2·1/2 + 2·0.01; 4 + 2·0.01.
    found = least_exchange(1e9, 1e9, 2, 4, 0.01)
    assert found == pytest.approx({"ring": 1.89, "hierarchical": 1.02, "server": 4.02})


def test_one_device_a_node_makes_the_ring_hierarchical() -> None:
    found = least_exchange(1e8, 1e9, 8, 1, 1e-3)
    assert found["ring"] == pytest.approx(found["hierarchical"])


def test_a_server_is_least_where_the_latency_of_many_nodes_counts() -> None:
    found = least_exchange(1e3, 1e9, 64, 1, 0.01)
    assert min(found, key=found.__getitem__) == "server"
