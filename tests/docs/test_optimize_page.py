"""The worked example of docs/optimize.md: its commands print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from helpers import Shell

PAGE = (Path(__file__).parents[2] / "docs" / "optimize.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return text


def test_a_deadline_and_a_budget_in_whole_nodes(shell: Shell) -> None:
    Path("runs.csv").write_text(block("csv"))
    for command in block("sh").replace("\\\n", " ").splitlines():
        status, out, errors = shell(*shlex.split(command)[1:])
        assert status == 0, errors
    assert "cost is at 10 per node-hour" in errors
    assert re.sub(r"[\d.,]+ ?", "# ", out).split() == re.sub(r"[\d.,]+ ?", "# ", block("text")).split()
    shown = [[float(n) for n in re.findall(r"\d[\d,.]*\b", t.replace(",", ""))] for t in (out, block("text"))]
    assert shown[0] == pytest.approx(shown[1], rel=0.15, abs=10)
    # The cheapest of those whose interval ends before the deadline, in whole nodes and within the budget.
    gpus, _, least, _, _, cost = map(float, re.findall(r"[\d.]+", out.splitlines()[2].replace(",", ""))[:6])
    assert gpus % 4 == 0
    assert 1e8 / least <= 8 * 3600
    assert cost <= 550
