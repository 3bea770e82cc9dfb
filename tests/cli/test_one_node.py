"""Runs on one node, and eight nodes in mind: not to know the nodes is no reason for a narrower interval."""

import json
from pathlib import Path

import pytest
from helpers import Shell

RUNS = "gpus,batch_per_gpu,step_s\n1,64,0.2113\n2,64,0.2161\n4,64,0.2188\n8,64,0.2240\n"
NODE = ("--hint", "devices per node=8")


@pytest.fixture
def shell(shell: Shell) -> Shell:
    Path("node.csv").write_text(RUNS)
    return shell


def interval(shell: Shell, *hints: str, gpus: int = 64) -> tuple[float, float, float, dict[str, str]]:
    found = json.loads(shell("ask", "node.csv", "--at", f"gpus={gpus}", *hints, "--json")[1])
    return found["time"], found["lower"], found["upper"], found["sentences"]


def test_the_interval_is_no_narrower_where_nobody_counts_the_nodes(shell: Shell) -> None:
    _, lower, upper, sentences = interval(shell)
    _, known_lower, known_upper, of_one_node = interval(shell, *NODE)
    # With eight devices of a node the step to the second is certain, and without them its place is not: measured 6 %.
    assert upper / lower >= known_upper / known_lower * 0.9
    assert "No column counts the nodes" in sentences["nodes"]
    assert '--hint "devices per node=8"' in sentences["nodes"]
    assert "nodes" not in of_one_node


def test_the_expectation_follows_a_large_exchange(shell: Shell) -> None:
    """440 MB at 1 Gbit/s are 3.52 s, of which a step of 0.22 s hides little; at 100 Gbit/s they are hidden."""
    network = (*NODE, "--hint", "parameters=110M", "--hint")
    slow, quick = (interval(shell, *network, f"bandwidth={rate}Gbit/s", gpus=16)[0] for rate in (1, 100))
    assert slow > 3.52
    assert 0.22 < quick < 0.3
