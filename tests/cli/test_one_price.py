"""One meaning of a price: `ask`, `predict` and `optimize` cost a worker unless --per says otherwise, and say so."""

import json
from pathlib import Path

import pytest
from helpers import Shell

#: 8 gpus a node, 64 samples a gpu.
RUNS = "gpus,nodes,batch_per_gpu,step_s\n" + "".join(
    f"{n},{max(1, n // 8)},64,{0.2 + 0.01 * k}\n" for k, n in enumerate((1, 2, 4, 8, 16, 32))
)


@pytest.fixture
def shell(shell: Shell) -> Shell:
    Path("runs.csv").write_text(RUNS)
    roles = ("--time", "step_s", "--extrinsic", "gpus,nodes", "--intrinsic", "batch_per_gpu")
    assert shell("fit", "runs.csv", *roles, "-o", "m.json")[0] == 0
    return shell


def test_three_commands_cost_a_worker(shell: Shell) -> None:
    """A step at 16 gpus costs 16 * 2.5/3600 * its seconds, whatever the table counts beside."""
    at = ("--at", "gpus=16")
    predicted = json.loads(shell("predict", "m.json", *at, "--price", "2.5/h", "--json")[1])["predictions"][0]
    assert predicted["cost"] == pytest.approx(16 * 2.5 / 3600 * predicted["time"])
    asked = json.loads(shell("ask", "runs.csv", *at, "--price", "2.5/h", "--json")[1])
    assert asked["cost_per_million"] == pytest.approx(predicted["cost"] / (64 * 16) * 1e6, rel=0.05)
    over = ("--over", "gpus=16", "--over", "nodes=2", "--over", "batch_per_gpu=64", "--minimize", "cost")
    best = json.loads(shell("optimize", "m.json", *over, "--price", "2.5/h", "--json")[1])["best"][0]
    assert best["cost"] == pytest.approx(predicted["cost"])
    nodes = json.loads(shell("optimize", "m.json", *over, "--price", "2.5/h", "--machines", "nodes", "--json")[1])
    assert nodes["best"][0]["cost"] == pytest.approx(predicted["cost"] / 8)


def test_a_price_is_printed_with_its_unit(shell: Shell) -> None:
    over = ("--over", "gpus=16", "--over", "nodes=2", "--over", "batch_per_gpu=64", "--minimize", "cost")
    assert "2.5 per gpu-hour" in "".join(map(str, shell("optimize", "m.json", *over, "--price", "2.5/h")))
    assert "2.5 per gpu-hour" in shell("ask", "--full", "runs.csv", "--at", "gpus=64", "--price", "2.5/h")[1]
    assert "2.5 per gpu-hour" in shell("predict", "m.json", "--at", "gpus=64", "--price", "2.5/h")[2]
