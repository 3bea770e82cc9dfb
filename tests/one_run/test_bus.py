"""The plateau of a test of collectives, in words or as nccl-tests print it, against its link."""

import json
from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, cases_in_text, reply

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
PRINTED = ROWS.format("2.54", "3.80")
UNRANKED = "".join(line for line in HEAD.splitlines(keepends=True) if "Rank" not in line) + PRINTED
LABELLED = "".join(f"[1,0]<stdout>:{line}" for line in (HEAD + PRINTED).splitlines(keepends=True))
FOLDER = {"all_reduce.txt": HEAD + PRINTED, "unranked.txt": UNRANKED, "no_row.txt": HEAD}
FOLDER["labelled.txt"] = LABELLED


def test_a_file_of_nccl_tests_is_compared_with_its_link(shell: Shell) -> None:
    answer = reply(shell, "ask", "all_reduce.txt", "--hint", "bandwidth=200Gbit/s")
    assert (answer["collective"], answer["devices"], answer["nodes"]) == ("all_reduce", 4, 2)
    # 3.8 GB/s of 25 GB/s: the small message is not on the plateau.
    assert (answer["busbw"], answer["share"]) == (3.8e9, pytest.approx(0.152))
    assert answer["normal"]["of"] == "busbw"
    _, out, _ = shell("ask", "all_reduce.txt")
    assert "the link is not known" in out
    assert "sockets in the place of RDMA" in out


@cases_in_text("words, said")
def test_a_test_is_compared_with_its_link_or_says_what_is_missing(shell: Shell, words: str, said: str) -> None:
    _, *printed = shell("ask", *words.split())
    assert said in "".join(printed)
    # A link that is used well needs no explanation, and more than it carries needs one.
    assert not (said.startswith(("104 %", "80 %")) and "less by" in printed[0])
    assert ("sums in a switch" in printed[0]) == said.startswith(("104 %", "108 %", "⚠         more than"))
    # An H800 has another link than the published H100.
    assert not (said.startswith("108 %") and "among" in printed[0])


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


@pytest.mark.parametrize("busbw", ["busbw_GBps,166", "busbw (GB/s),166", "bus_bw,1328Gbps", "algbw (GB/s),88.533"])
def test_a_table_of_one_test_answers_as_its_words(shell: Shell, busbw: str) -> None:
    name, value = busbw.split(",")
    Path("test.csv").write_text(f"gpu,nodes,gpus_per_node,test,{name}\nH100,2,8,all_reduce_perf,{value}\n")
    by_table, by_words = (
        reply(shell, "ask", *words) for words in (["test.csv"], ["2x8xh100", "all_reduce", "166GB/s"])
    )
    assert by_table.pop("sentences") != ""
    assert by_words.pop("sentences") != ""
    assert by_table.pop("busbw") == pytest.approx(by_words.pop("busbw"), rel=1e-5)
    assert by_table["nodes"] == by_words["nodes"] == 2.0
    assert by_table["devices"] == by_words["devices"] == 16.0


def test_a_test_has_the_nodes_that_its_devices_fill() -> None:
    row = {"gpu": "H100", "gpus": 16, "gpus_per_node": 4, "test": "all_reduce_perf", "busbw": "90GB/s"}
    assert gp.ask(pd.DataFrame([row])).to_dict()["nodes"] == 4.0


def test_python_answers_as_well(shell: Shell) -> None:
    assert gp.ask("8xh100 all_reduce 450GB/s").to_dict()["share"] == 1.0
    answer = gp.ask("unranked.txt").to_dict()
    assert [answer[name] for name in ("busbw", "devices", "nodes")] == [3.8e9, None, None]
    # An L4 has no NVLink.
    assert "NVLink" not in shell("ask", "8xl4", "all_reduce", "10GB/s")[1]


def test_over_two_devices_what_combines_is_an_all_reduce(shell: Shell) -> None:
    of_two = "".join(line for line in HEAD.splitlines(keepends=True) if "Rank  2" not in line and "Rank  3" not in line)
    Path("nccl.txt").write_text(of_two + ROWS.format("1.69", "2.53"))
    assert reply(shell, "ask", "nccl.txt")["collective"] == "all_reduce"
    Path("nccl.txt").write_text(
        (of_two + ROWS.format("1.69", "2.53")).replace("sum    ", "none   ").replace("-1", " 0")
    )
    assert reply(shell, "ask", "nccl.txt")["collective"] == "broadcast"
