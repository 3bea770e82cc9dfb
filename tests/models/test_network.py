"""Hints of the network between nodes: what is read, and what is refused."""

from __future__ import annotations

import pandas as pd
import pytest

import genperf as gp
from genperf.errors import FitError, GenperfError
from genperf.models.network import checked_hints, network_of, with_devices_per_node


@pytest.mark.parametrize(
    ("hints", "seconds"),
    [
        # 100 MB at 8 Gbit/s, which are 1 GB/s.
        ({"bandwidth": "8Gbit/s", "message": "100MB"}, 0.1),
        ({"link": "1GB/s", "message bytes": "100e6"}, 0.1),
        # 25 million gradients of four bytes.
        ({"network": "8000Mbps", "parameters": "25M"}, 0.1),
        ({"Bandwidth_between_nodes": "8Gb/s", "parameters": "weights"}, 0.1),
        # A message to the other node, and one back.
        ({"bandwidth": "8Gbit/s", "message": "100MB", "latency": "5ms"}, 0.11),
        ({"bandwidth": "8Gbit/s"}, None),
        # A link by its name: 12.5 GB/s.
        ({"network": "InfiniBand EDR", "message": "1.25GB"}, 0.1),
    ],
)
def test_exchange_of_two_nodes(hints: dict[str, str], seconds: float | None) -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "weights": [25e6] * 3, "s": [0.30, 0.31, 0.32]})
    table = gp.read_table(runs, time="s", extrinsic="gpus")
    network = network_of(checked_hints(hints))
    assert network is not None
    assert network.exchange(table) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({"bandwith": "25Gbit/s"}, "unknown hint 'bandwith'"),
        ({"bandwidth": "25"}, "'25' is no bandwidth"),
        ({"bandwidth": "0Gbit/s"}, "no bandwidth"),
        ({"network": "InfiniBand ZDR"}, "'InfiniBand ZDR' is no bandwidth"),
        ({"bandwidth": "25Gbit/s", "network": "1Gbit/s"}, "hinted twice"),
        ({"parameters": "110M"}, "says nothing alone"),
        ({"bandwidth": "25Gbit/s", "latency": "-1ms"}, "no latency"),
        ({"bandwidth": "25Gbit/s", "message": "0"}, "no number of message bytes"),
        ({"bandwidth": "25Gbit/s", "message": "1MB", "parameters": "1M"}, "both hinted"),
        ({"devices per node": "2.5"}, "no number of devices per node"),
        ({"devices per node": "1e999"}, "no number of devices per node"),
    ],
)
def test_refused_hints(hints: dict[str, str], message: str) -> None:
    with pytest.raises(GenperfError, match=message):
        checked_hints(hints)


def test_an_exchange_of_more_than_an_hour_is_refused() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "s": [0.30, 0.31, 0.32]})
    with pytest.raises(FitError, match="more than an hour"):
        gp.fit(runs, time="s", extrinsic="gpus", hints={"bandwidth": "1bit/s", "parameters": "1M"})


def test_a_message_that_changes_along_a_series_is_refused() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "grads": [1e6, 2e6, 2e6], "s": [0.30, 0.31, 0.32]})
    with pytest.raises(FitError, match="changes along the series"):
        gp.fit(runs, time="s", extrinsic="gpus", hints={"bandwidth": "1Gbit/s", "message": "grads"})


def test_devices_per_node_tell_the_nodes_of_a_prediction() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "s": [0.30, 0.31, 0.32]})
    result = gp.fit(runs, time="s", extrinsic="gpus", hints={"devices per node": "4"})
    answer = result.predict({"gpus": [4, 8]})
    assert answer["verdict"].tolist() == ["ok", "extrapolating-blind"]
    assert "no run beyond one node" in answer["reason"].iloc[1]


def test_the_table_counts_where_devices_per_node_contradict_it() -> None:
    runs = pd.DataFrame({"gpus": [2, 4, 8, 16], "nodes": [1, 1, 1, 2], "s": [0.30, 0.31, 0.32, 0.4]})
    table = gp.read_table(runs, time="s", extrinsic="gpus,nodes")
    told = with_devices_per_node(table, {"devices per node": "4"})
    assert told.notes[-1].kind == "hint_contradicted"
    assert [f.name for f in told.factors] == ["gpus", "nodes"]
    assert with_devices_per_node(table, {"devices per node": "8"}) is table


def test_only_auto_reads_the_bandwidth() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.30, 0.31, 0.32, 0.4]})
    with pytest.raises(FitError, match="only auto reads hints"):
        gp.fit(runs, "amdahl", time="s", extrinsic="gpus", hints={"bandwidth": "1Gbit/s"})
    compared = gp.validate(
        gp.read_table(runs, time="s", extrinsic="gpus"),
        models=["auto", "logarithmic", "last-point"],
        scheme="extrapolate:gpus",
        hints={"bandwidth": "1Gbit/s", "parameters": "1M", "devices per node": "4"},
    )
    assert len(compared.models) == 3
