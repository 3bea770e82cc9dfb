"""The answers of `optimize` and `suggest`."""

import json
import re
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, csv_of, done

RUNS = "workers,batch,seconds\n" + "".join(
    f"{n},{b},{1 + 0.02 * b + 8 / n + 0.05 * n}\n" for n in (1, 2, 4, 8, 16) for b in (16, 32)
)
OVER = ["--over", "workers=1:64", "--over", "batch=16,32"]


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """Work in a folder with a fitted model in it."""
    Path("runs.csv").write_text(RUNS)
    roles = ["--time", "seconds", "--extrinsic", "workers,batch", "--model", "c + a*batch + p/workers + q*workers"]
    done(shell, "fit", "runs.csv", *roles, "-o", "m.json", "-q")
    return shell


def test_the_cost_of_samples_is_that_of_a_million(shell: Shell) -> None:
    rows = ((n, 100 * n / (1 + 0.02 * n)) for n in (1, 2, 4, 8))
    Path("rates.csv").write_text(csv_of("gpus,images_per_s", rows))
    priced = ("optimize", "rates.csv", "--over", "gpus=4,8", "--price", "2/h")
    out, rows_of_best = done(shell, *priced), json.loads(done(shell, *priced, "--json"))["best"]
    assert "the cost of a million images" in out
    costs = {float(line.split()[4]) for line in out.splitlines() if line.split()[:1] == ["4"]}
    assert [*costs] == [pytest.approx(1e6 * row["cost"], rel=0.01) for row in rows_of_best if row["gpus"] == 4]


def test_the_best_of_a_grid(shell: Shell) -> None:
    # 8/n + 0.05·n is least at √160 = 12.6: 13 workers.
    least_time = ("optimize", "m.json", *OVER, "--minimize", "time")
    found = json.loads(done(shell, *least_time, "--json"))
    assert (found["best"][0]["workers"], found["best"][0]["batch"]) == (13, 16)
    assert found["configurations"] == found["feasible"] == 128
    assert len(found["best"]) == 10
    assert sum(row["wins"] for row in found["best"]) == pytest.approx(1.0)
    assert found["front"][0]["workers"] == 13
    status, out, err = shell(*least_time, "--where", "workers % 4 == 0", "--top", "2", "-o", "best.csv")
    assert status == 0
    assert "least time of 32 feasible of 128 configurations" in out
    assert "Pareto front" in out
    assert "for the time of N samples: --samples N" in err
    assert pd.read_csv("best.csv").workers.tolist() == [12, 16]


def test_the_work_in_all_makes_days_and_money(shell: Shell) -> None:
    status, out, err = shell("optimize", "m.json", *OVER, "--top", "3")
    first, head, *_ = out.splitlines()
    assert status == 0
    assert first == "most throughput of 128 feasible of 128 configurations; each with batch=32"
    assert head.split()[:2] == ["workers", "throughput"]
    assert "--minimize time is for the shortest step" in err
    job = ["--samples", "300M", "--price", "2/h", "--deadline", "30d", "--top", "3"]
    out = done(shell, "optimize", "m.json", *OVER, *job)
    # What misses the deadline is not feasible.
    assert re.match(r"least time of [1-9]\d feasible of 128 configurations, 30 d kept by the upper end", out)
    first = out.splitlines()[2].split()
    # 300 million samples at 64·32 a step of 1 + 0.64 + 0.125 + 3.2 s: 8.4 days of 64 workers at 2 an hour.
    assert first[:2] == ["64", "413"]
    assert "8.42 d" in out
    assert "25,900" in out
    status, _, err = shell("optimize", "m.json", *OVER, "--steps", "9", "--samples", "9")
    assert (status, "either --steps or --samples" in err) == (2, True)


# --- the next run that `suggest` and `ask` propose: one that a cluster can make, and one wherever the verdict is blind


def test_runs_on_several_nodes_fill_them(shell: Shell) -> None:
    """12 gpus a node: on the way to 1024 gpus lie 192, 384 and 768, and no 512 on 43 nodes."""
    rows = "".join(f"{12 * m},{m},12,8,{2 + 0.05 * k}\n" for k, m in enumerate((1, 2, 4, 8)))
    Path("runs.csv").write_text("gpus,nodes,gpus_per_node,batch_per_gpu,step_time_s\n" + rows)
    assert shell("fit", "runs.csv", "-o", "m.json", "--quiet")[0] == 0
    proposed = json.loads(shell("suggest", "m.json", "--target", "gpus=1024", "--json")[1])["candidates"]
    assert {(row["gpus"], row["nodes"]) for row in proposed} == {(192, 16), (384, 32), (768, 64)}
    sentence = shell("ask", "--full", "runs.csv", "--at", "gpus=1024")[1].splitlines()[-1]
    assert any(f"Measure gpus={12 * m}, nodes={m}. " in sentence for m in (16, 32, 64)), sentence


def test_explain_and_suggest_take_a_group_from_the_configuration(shell: Shell) -> None:
    rows = [f"{name},{n},{work / n + 0.2}" for name, work in (("a", 1.0), ("b", 2.0)) for n in (1, 2, 4, 8)]
    Path("groups.csv").write_text("\n".join(["framework,gpus,step_time_s", *rows]))
    fit = ("--time", "step_time_s", "--extrinsic", "gpus", "--group", "framework", "--model", "amdahl")
    assert shell("fit", "groups.csv", *fit, "-o", "groups.json")[0] == 0
    for command in (("suggest", "groups.json", "--target", "gpus=64"), ("explain", "groups.json", "--at", "gpus=64")):
        status, out, errors = shell(*command, command[-2], "framework=b")
        assert (status, out) == shell(*command, "--group", "b")[:2], errors
        assert shell(*command)[:2] == shell(*command, "--group", "a")[:2]


def test_without_a_price_the_machine_time_is_named_with_its_unit(shell: Shell) -> None:
    unpriced = done(shell, "optimize", "m.json", *OVER)
    assert "worker-seconds" in unpriced
    assert "cost" not in unpriced
    assert done(shell, "optimize", "m.json", *OVER, "--minimize", "cost").startswith("least worker-seconds of ")
    # One for a second is a price as well.
    for price in ("2/h", "1/s"):
        priced = done(shell, "optimize", "m.json", *OVER, "--price", price)
        assert "worker-seconds" not in priced
        assert "cost" in priced


def test_what_stays_is_named_by_at_and_numbers_are_ranked_by_optimize(shell: Shell) -> None:
    rows = [f"{p},{t},{60 / p / t**0.5 + p:.2f}" for p in (1, 2, 4, 8) for t in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(("procs,threads,time_s", *rows)) + "\n")
    status, _, errors = shell("compare", "runs.csv", "--at", "procs=8", "--over", "threads=1,4")
    assert status == 1
    assert "try: genperf optimize --over threads=1,4 ranks numbers" in errors
    ranked = [
        json.loads(shell("optimize", "runs.csv", fixed, "procs=8", "--over", "threads=1,4", "--json")[1])
        for fixed in ("--at", "--over")
    ]
    assert ranked[0] == ranked[1]


def test_factors_that_are_not_given_are_those_that_ask_takes(shell: Shell) -> None:
    grid = product((1, 2, 4, 8), (16, 32), (2, 4))
    rows = ((n, batch, layers, 0.1 * layers + batch * 0.01 + 0.02 * n) for n, batch, layers in grid)
    Path("grid.csv").write_text(csv_of("gpus,batch_per_gpu,layers,step_s", rows))
    best = json.loads(done(shell, "optimize", "grid.csv", "--over", "gpus=16", "--json", "--quiet"))["best"][0]
    answer = json.loads(done(shell, "ask", "grid.csv", "--at", "gpus=16", "--json"))
    assert best["time"] == pytest.approx(answer["answers"][0]["value"], rel=1e-9)
    for name in ("batch_per_gpu", "layers"):
        assert best[name] == answer["taken"][name]
    _, _, errors = shell("optimize", "grid.csv", "--over", "gpus=16")
    assert "not given, and taken at: batch_per_gpu=" in errors or "taken at: layers=" in errors
