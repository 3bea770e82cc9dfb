"""How constants were found and what they are, as the command line prints them."""

import math
import re

import numpy as np
import pytest
from helpers import Shell, done, refusal, reply

from genperf.solver import SOLVERS, Problem
from genperf.solver.polish import FROM_START, Optima, polish

COUNTS = (1, 2, 4, 8, 16)
#: The second framework takes 20 times as long or more: its level ends at its bound.
ROWS = [
    f"{f},{n},{b},{speed * b * (0.01 + 0.2 / n) * (1 + 0.01 * (k % 3)):.6g}\n"
    for f, speed in (("torch", 1), ("mxnet", 40))
    for k, n in enumerate(COUNTS)
    for b in (8, 16, 32)
]
FIT = ["fit", "runs.csv", "--time", "s", "--extrinsic", "gpus", "--intrinsic", "batch", "--categorical", "framework"]
SEPARABLE = [*FIT, "--model", "generic", "--structure", "separable"]
FOLDER = {"runs.csv": "framework,gpus,batch,s\n" + "".join(ROWS)}


@pytest.mark.usefixtures("all_searches")
def test_differential_evolution_is_reported(shell: Shell) -> None:
    out = done(shell, *SEPARABLE, "--solver", "de", "--seed", "3", "--verbose")
    # Five constants times eight members.
    assert "search: differential evolution, 3 searches of 40 members, mutation 0.5 to 1, crossover 0.7\n" in out
    assert re.search(r"\n3 of 3 searches reached the least cost; \d+ sets of constants tried, cost \S+, seed 3\n", out)
    assert "\nλ = 0.0001, from default\n" in out
    content = reply(shell, *SEPARABLE, "--solver", "de", "--lambda", "0.01")
    (group,) = content["groups"]
    (member,) = group["model"]["members"]
    search = {"population": 40, "mutation": [0.5, 1.0], "crossover": 0.7, "restarts": 3, "agreed": 3}
    assert search.items() <= member["status"].items()
    assert member["status"]["evaluations"] > 3 * 40
    assert (group["model"]["options"]["lambda"], group["model"]["options"]["lambda_by"]) == (0.01, "given")
    assert all(c["lower"] == -3.0 and c["upper"] == 3.0 for c in member["constants"] if c["kind"] == "level")


@pytest.mark.usefixtures("all_searches")
def test_where_no_search_reached_the_least_cost_a_note_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(problem: Problem, rngs: list[object]) -> Optima:
        start = polish(problem, problem.start[None, :])
        nowhere = np.repeat(problem.start[None, :] * 0.0, len(rngs), axis=0)
        return Optima(
            np.vstack([start.constants, nowhere]),
            np.concatenate([start.cost, np.full(len(rngs), 9.0)]),
            np.concatenate([start.converged, np.zeros(len(rngs), bool)]),
            0,
            np.concatenate([[FROM_START], np.arange(len(rngs))]),
        )

    monkeypatch.setitem(SOLVERS, "de", lost)
    status, out, errors = shell(*SEPARABLE, "--solver", "de", "--lambda", "cv", "--verbose")
    assert status == 0
    assert "0 of 9 searches reached the least cost" in out
    assert "from cross-validation" in out
    assert (
        "note: none of 9 searches by differential evolution reached the least cost: the constants are a polish"
        in errors
    )


def test_constants_as_a_reviewer_reads_them(shell: Shell) -> None:
    out = shell(*SEPARABLE, "--verbose", "-o", "m.json")[1]
    assert "\nreference levels: framework torch\n" in out
    (head,) = [line for line in out.splitlines() if line.startswith("constant ")]
    assert re.split(" {2,}", head) == [
        *("constant", "value", "as factor", "90 % lower", "90 % upper", "bounds", "unit", "state")
    ]
    (level,) = [line for line in out.splitlines() if line.startswith("d_framework[mxnet]")]
    assert re.search(rf" 3 +x {math.exp(3):.3g} .* -3 to 3 +at its bound", level)


def test_terms_are_named_by_what_drives_them(shell: Shell) -> None:
    product = ("--model", "generic", "--structure", "product")
    printed = shell(*FIT, *product, "--verbose", "-o", "m.json")[1]
    explained = shell("explain", "m.json", "--at", "gpus=4", "--at", "batch=16")[1]
    assert re.search(r"\nbatch / gpus +[\d.]+", explained)
    compared = shell("explain", "m.json", "--at", "gpus=1", "--versus", "gpus=16")[1]
    assert "'batch / gpus' changes by" in compared
    assert not re.search(r"\bterm \d", printed + explained + compared)


def test_a_formula_for_latex(shell: Shell) -> None:
    assert shell(*FIT[:-2], "--where", "framework == 'mxnet'", "--model", "generic", "-o", "m.json")[0] == 0
    out = done(shell, "explain", "m.json", "--latex")
    assert out.startswith(r"\begin{aligned}")
    assert re.search(r"\\mathrm\{batch\}\^\{[\d.]+\}", out)
    assert shell(*FIT[:-2], "--where", "framework == 'mxnet'", "-o", "auto.json")[0] == 0
    assert "has no formula" in refusal(shell, "explain", "auto.json", "--latex")
