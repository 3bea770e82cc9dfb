"""`ask` says whether an efficiency is normal, and what the exchange between nodes should cost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import Shell, asked, refusal

TWO = "gpus,nodes,images_per_sec\n8,1,2900\n16,2,3540\n"
STEPS = "gpus,nodes,step_s\n8,1,0.20\n16,2,0.55\n"
#: 440 MB at 3.125 GB/s: 2·1/2·0.1408 s.
HINTS = ("--hint", "bandwidth=25Gbit/s", "--hint", "parameters=110M")


def test_two_numbers_get_a_verdict(shell: Shell) -> None:
    given = asked(shell, TWO, "--at", "gpus=16", words=True)
    normal, text = given["normal"], given["sentences"]["normal"]
    assert normal["of"] == "efficiency"
    assert normal["value"] == pytest.approx(3540 / 2900 / 2, abs=1e-3)
    assert normal["low"] < normal["median"] < normal["high"]
    # 61 % at two nodes is below what nine in ten keep that hold each device's batch.
    assert normal["value"] < normal["low"]
    assert 0.0 < normal["percentile"] < 5.0
    assert normal["series"] >= 30
    assert normal["clusters"] >= 3
    assert text.startswith("At 2 nodes the efficiency is 61 %, which is low. Nine in ten of ")
    assert re.search(r"\. \d+ % of them keep less than this one\.$", text)


@pytest.mark.parametrize(
    ("runs", "at", "step", "words"),
    [
        ("gpus,nodes,img_s\n1,1,100\n8,1,760\n", "gpus=8", "inside", "At 8 gpus the efficiency is 95 %"),
        # 3600 on 32 of 1800 on 16 is all; from one node to four the efficiency was not measured at once.
        (
            "gpus,nodes,img_s\n8,1,980\n16,2,1800\n32,4,3600\n", "gpus=32", "beyond",
            "From 2 to 4 nodes each doubling keeps",
        ),
        ("nodes,img_s\n1,100\n2,190\n", "nodes=2", "second", "At 2 nodes the efficiency is 95 %"),
        # Nothing counts the nodes: eight devices are taken for one.
        ("gpus,img_s\n8,800\n16,1500\n", "gpus=16", "second", "At 2 nodes the efficiency is 94 %"),
        # What was measured is compared, not what is predicted.
        ("gpus,nodes,img_s\n1,1,100\n4,1,360\n", "gpus=64", "inside", "At 4 gpus the efficiency is 90 %"),
    ],
)  # fmt: skip
def test_each_kind_of_step(shell: Shell, runs: str, at: str, step: str, words: str) -> None:
    given = asked(shell, runs, "--at", at, words=True)
    assert given["normal"]["step"] == step
    assert given["sentences"]["normal"].startswith(words)


def test_hints_show_what_the_exchange_should_cost(shell: Shell) -> None:
    given = asked(shell, STEPS, "--at", "gpus=16", *HINTS, words=True)
    exchange = given["exchange"]
    assert exchange["least"] == pytest.approx(0.1408)
    # A ring over 16 devices, and one server of two nodes.
    assert (exchange["ring"], exchange["server"]) == pytest.approx((2 * 15 / 16 * 0.1408, 4 * 0.1408))
    # A device does 0.2/0.55 of what it did: the rest of the predicted step is the cost.
    assert exchange["cost"] == pytest.approx(given["time"] * (1 - 0.2 / 0.55), rel=1e-3)
    assert "he network is used at 40 %, or nothing overlaps" in given["sentences"]["exchange"]


def test_a_link_is_hinted_by_its_name(shell: Shell) -> None:
    given = asked(shell, STEPS, "--at", "gpus=16", "--hint", "network=25GbE", "--hint", "parameters=110M")
    assert given["exchange"]["least"] == pytest.approx(0.1408)


def test_without_several_nodes_nothing_is_exchanged_between_them(shell: Shell) -> None:
    assert "exchange" not in asked(shell, "gpus,nodes,step_s\n4,1,0.2\n8,1,0.21\n", "--at", "gpus=8", *HINTS)


def test_a_network_that_is_not_known_gets_the_nearest_names(shell: Shell) -> None:
    Path("runs.csv").write_text(STEPS)
    errors = refusal(shell, "ask", "runs.csv", "--at", "gpus=16", "--hint", "network=HRD", "--hint", "parameters=110M")
    assert "'HRD' is no bandwidth" in errors
    assert "25Gbit/s" in errors
