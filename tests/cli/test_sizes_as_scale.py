"""A table that varies a batch or another size of the program alone: it grows with the size, not along a count."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from helpers import Shell, done

BATCHES = (1, 2, 4, 8, 16, 32)


#: A table and a question → the answers.
Answered: TypeAlias = Callable[[str, str], list[dict[str, Any]]]


@pytest.fixture
def answered(shell: Shell) -> Answered:

    def of(table: str, at: str) -> list[dict[str, Any]]:
        Path("runs.csv").write_text(table)
        out = done(shell, "ask", "runs.csv", "--json", *(["--at", at] if at else []))
        return list(json.loads(out)["answers"])

    return of


def step(batch: float) -> float:
    return 0.02 + 0.004 * batch


#: The rows' header and cells, the quantity, and what it is at a batch.
CASES = {
    "time": ("gpus,batch_size,step_s", lambda b: f"8,{b},{step(b):.5f}", step),
    "throughput": ("batch_size,images_per_s", lambda b: f"{b},{b / step(b):.2f}", lambda b: b / step(b)),
    "memory": ("batch_size,memory_mb", lambda b: f"{b},{1800 + 55 * b}", lambda b: 1800 + 55 * b),
}


@pytest.mark.parametrize("quantity", CASES)
def test_twice_the_largest_batch_is_near_the_law(answered: Answered, quantity: str) -> None:
    header, row, law = CASES[quantity]
    table = "\n".join([header, *(row(b) for b in BATCHES)]) + "\n"
    (answer,) = answered(table, "batch_size=64")
    assert answer["value"] == pytest.approx(law(64), rel=0.1)
    assert answer["lower"] <= law(64) <= answer["upper"]
    # Without a question it is the next doubling.
    assert answered(table, "")[0]["value"] == pytest.approx(answer["value"])


def test_a_latency_beside_a_throughput_is_answered_too(answered: Answered) -> None:
    rows = [f"{b},{1000 * step(b):.3f},{b / step(b):.2f}" for b in BATCHES]
    answers = answered("\n".join(["batch_size,latency_ms,tokens_per_s", *rows]) + "\n", "batch_size=64")
    assert {a["quantity"] for a in answers} == {"latency_ms", "tokens_per_s"}
    latency = next(a for a in answers if a["quantity"] == "latency_ms")
    assert latency["value"] == pytest.approx(1000 * step(64), rel=0.1)


def test_each_quantity_of_a_size_is_answered(answered: Answered) -> None:
    rows = [f"{b},{b / step(b):.2f},{1800 + 55 * b},{3 + 0.4 * b}" for b in BATCHES]
    answers = answered("\n".join(["batch_size,images_per_s,memory_mb,load_s", *rows]) + "\n", "batch_size=64")
    assert {a["quantity"] for a in answers} == {"images_per_s", "memory_mb", "load_s"}
