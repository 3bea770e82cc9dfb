"""The plateau of a test of collectives, in words or as nccl-tests print it, against its link."""

import json
from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, reply

import genperf as gp

HEAD = """# nThread 1 nGpus 1 minBytes 1024 maxBytes 8589934592 step: 2(factor)
#  Rank  0 Group  0 Pid  11 on node-a device  0 [0x07] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid  12 on node-a device  1 [0x0f] NVIDIA A100-SXM4-80GB
#  Rank  2 Group  0 Pid  13 on node-b device  0 [0x07] NVIDIA A100-SXM4-80GB
#  Rank  3 Group  0 Pid  14 on node-b device  1 [0x0f] NVIDIA A100-SXM4-80GB
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
"""
ROWS = """   1048576      262144     float   sum    -1    620.1    1.69    {0}      0    618.0    1.70    2.55      0
4294967296    1073741824     float     sum      -1   1697610    2.53    {1}      0   1698420    2.53    3.79      0
8589934592    2147483648     float     sum      -1   3391211    2.53    {1}      0   3391400    2.53    3.80      0
# Avg bus bandwidth    : 3.37
"""
FOLDER = {"all_reduce.txt": HEAD + ROWS.format("2.54", "3.80")}


def test_a_file_of_nccl_tests_is_compared_with_its_link(shell: Shell) -> None:
    answer = reply(shell, "ask", "all_reduce.txt", "--hint", "bandwidth=200Gbit/s")
    assert (answer["collective"], answer["devices"], answer["nodes"]) == ("all_reduce", 4, 2)
    # 3.8 GB/s of 25 GB/s: the small message is not on the plateau.
    assert (answer["busbw"], answer["share"]) == (3.8e9, pytest.approx(0.152))
    assert answer["normal"]["of"] == "busbw"
    _, out, _ = shell("ask", "all_reduce.txt")
    assert "the link is not known" in out
    assert "sockets in the place of RDMA" in out


def test_words_are_compared_with_the_link_inside_the_node(shell: Shell) -> None:
    status, out, _ = shell("ask", "8xh100", "all_reduce", "470GB/s")
    assert (status, "104 % of nvlink-4" in out, "less by" in out) == (0, True, False)
    assert "no peer access" in shell("ask", "8xh100", "all_reduce", "200GB/s")[1]
    assert "needs its bus bandwidth" in shell("ask", "8xh100", "all_reduce")[2]
    assert "a collective of one A100 uses no link" in shell("ask", "1xa100", "all_reduce", "10GB/s")[2]


def test_a_link_that_is_used_well_needs_no_explanation(shell: Shell) -> None:
    # Published tests have faster links.
    _, out, _ = shell("ask", "2x8xh100", "all_reduce", "40GB/s", "--hint", "bandwidth=400Gbit/s")
    assert ("80 % of 400Gbit/s" in out, "median 471 GB/s" in out, "less by" in out) == (True, True, False)


def test_more_than_the_hinted_link_carries_is_another_link(shell: Shell) -> None:
    for link, wrong in (("25Gbit/s", True), ("400Gbit/s", False)):
        _, out, _ = shell("ask", "2x8xh100", "all_reduce", "40", "GB/s", "--hint", f"bandwidth={link}")
        assert ("more than the link carries: another link" in out) == wrong
    assert "may be 8 devices or 16" in shell("ask", "8xh100", "all_reduce", "40GB/s", "2", "nodes")[2]


def test_a_test_is_the_hint_of_a_training(shell: Shell) -> None:
    words = ("ask", "8xa100", "7B", "24000tok/s", "gbs=256", "seq=2048", "--tokens", "1T", "--at", "16", "--json")
    by_file, by_rate = (
        json.loads(shell(*words, "--hint", f"bandwidth={link}")[1])["training"]
        for link in ("all_reduce.txt", "3.8GB/s")
    )
    assert by_file == by_rate
    # And that of a table, in Python as well.
    runs = pd.DataFrame({"gpus": [1, 2, 4], "nodes": [1, 1, 1], "step_s": [0.30, 0.31, 0.32]})
    for_table = (
        gp.fit(runs, time="step_s", extrinsic="gpus,nodes", hints={"bandwidth": link, "parameters": "1B"})
        for link in ("all_reduce.txt", "3.8GB/s")
    )
    measured, stated = (float(fitted.predict({"gpus": 8, "nodes": 2})["time"].iloc[0]) for fitted in for_table)
    assert measured == stated


@pytest.mark.parametrize(
    ("rows", "called"),
    [(("2.54", "3.80"), "all_reduce"), (("1.27", "1.90"), "reduce_scatter"), (("1.69", "2.53"), "broadcast")],
)
def test_a_test_without_a_name_is_known_by_its_factor(shell: Shell, rows: tuple[str, str], called: str) -> None:
    Path("nccl.txt").write_text(HEAD + ROWS.format(*rows))
    assert reply(shell, "ask", "nccl.txt")["collective"] == called


def test_a_share_below_one_percent_is_none_of_zero_and_python_answers_as_well(shell: Shell) -> None:
    assert "bus       1.27 GB/s: 0.28 % of nvlink-4" in shell("ask", "8xh100", "all_reduce", "1.27GB/s")[1]
    assert gp.ask("8xh100 all_reduce 450GB/s").to_dict()["share"] == 1.0
    assert gp.ask("all_reduce.txt").to_dict()["busbw"] == 3.8e9
    # An L4 has no NVLink.
    assert "NVLink" not in shell("ask", "8xl4", "all_reduce", "10GB/s")[1]
