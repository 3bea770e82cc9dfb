"""The answers of `optimize` and `suggest`."""

import re
from pathlib import Path

import pandas as pd
import pytest
from helpers import Shell, csv_of, done, refusal, reply
from layouts import layout_runs

RUNS = "workers,batch,seconds\n" + "".join(
    f"{n},{b},{1 + 0.02 * b + 8 / n + 0.05 * n}\n" for n in (1, 2, 4, 8, 16) for b in (16, 32)
)
OVER = ["--over", "workers=1:64", "--over", "batch=16,32"]
FOLDER = {"runs.csv": RUNS}
ROLES = ("--time", "seconds", "--extrinsic", "workers,batch", "--model", "c + a*batch + p/workers + q*workers")
BEFORE = [("fit", "runs.csv", *ROLES, "-o", "m.json", "-q")]


def test_the_best_of_a_grid(shell: Shell) -> None:
    # 8/n + 0.05·n is least at √160 = 12.6: 13 workers.
    least_time = ("optimize", "m.json", *OVER, "--minimize", "time")
    found = reply(shell, *least_time)
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
    job = ["--samples", "300M", "--price", "2/h", "--deadline", "30d", "--top", "3"]
    assert done(shell, "optimize", "m.json", *OVER, *job).startswith("least cost of ")
    out = done(shell, "optimize", "m.json", *OVER, *job, "--minimize", "time")
    # What misses the deadline is not feasible.
    assert re.match(r"least time of [1-9]\d feasible of 128 configurations, 30 d kept by the upper end", out)
    first = out.splitlines()[2].split()
    # 300 million samples at 64·32 a step of 1 + 0.64 + 0.125 + 3.2 s: 8.4 days of 64 workers at 2 an hour.
    assert first[:2] == ["64", "413"]
    assert "8.42 d" in out
    assert "25,900" in out
    status, _, err = shell("optimize", "m.json", *OVER, "--steps", "9", "--samples", "9")
    assert (status, "either --steps or --samples" in err) == (2, True)


def test_levels_are_varied_where_nothing_is_given_and_epochs_are_counted(shell: Shell) -> None:
    rows = [
        (n, net, 8, 60 * k / n + 2) for n in (1, 2, 4, 8) for net, k in (("a", 1), ("b", 2)) if (n, net) != (4, "a")
    ]
    Path("epochs.csv").write_text(csv_of("gpus,net,batch_per_gpu,epoch_time_min", rows))
    job = ("optimize", "epochs.csv", "--categorical", "net", "--samples")
    found = reply(shell, *job, "90")
    assert {row["net"] for row in found["best"]} == {"a", "b"}
    assert found["best"][0]["total"] == pytest.approx(90 * found["best"][0]["time"])
    assert "--samples 90, of epochs; or --work 1281167" in refusal(shell, *job, "100M")
    sized = reply(shell, *job, "115305030", "--work", "1281167")["best"]
    assert sized[0]["total"] == pytest.approx(found["best"][0]["total"])


# --- the next run that `suggest` and `ask` propose: one that a cluster can make, and one wherever the verdict is blind


def test_what_stays_is_named_by_at_and_numbers_are_ranked_by_optimize(shell: Shell) -> None:
    rows = [f"{p},{t},{60 / p / t**0.5 + p:.2f}" for p in (1, 2, 4, 8) for t in (1, 2, 4)]
    Path("runs.csv").write_text("\n".join(("procs,threads,time_s", *rows)) + "\n")
    status, _, errors = shell("compare", "runs.csv", "--at", "procs=8", "--over", "threads=1,4")
    assert status == 1
    assert "try: genperf optimize --over threads=1,4 ranks numbers" in errors
    ranked = [
        reply(shell, "optimize", "runs.csv", fixed, "procs=8", "--over", "threads=1,4") for fixed in ("--at", "--over")
    ]
    assert ranked[0] == ranked[1]


def test_a_value_that_cannot_be_is_named_as_in_a_question(shell: Shell) -> None:
    for value, fault in (("0", "'0' is not above zero"), ("1,x", "'x' is not a number")):
        assert f"error: workers: {fault}" in refusal(shell, "optimize", "m.json", "--over", f"workers={value}")


def test_a_question_for_the_best_layout_is_answered_at_that_layout(shell: Shell) -> None:
    layout_runs().to_csv("layouts.csv", index=False)
    found = reply(shell, "optimize", "layouts.csv", "--devices", "16")["best"][0]
    for question in ("best layout on 16 gpus", "what tp and pp should I use on 16 gpus", "which mbs is best, 16 gpus"):
        answer = reply(shell, "ask", "layouts.csv", question, words=True)
        names = ("dp", "tp", "pp", "mbs")
        assert [answer["at"][name] for name in names] == [found[name] for name in names] == [1, 4, 4, 1], question
        assert answer["verdict"] == "ok"
        assert answer["sentences"]["layout"].startswith("dp=1, tp=4, pp=4, mbs=1 is best of "), question
    # What is named stays.
    answer = reply(shell, "ask", "layouts.csv", "--layout", "--at", "16 gpus tp=2")
    # By the law a further doubling of the stages, 8, takes 0.22 s less than two data ways of 4.
    assert [answer["at"][name] for name in ("dp", "tp", "pp")] == [1, 2, 8]
    assert "★ layout" in done(shell, "ask", "layouts.csv", "best layout on 16 gpus")
    # Without columns of ways nothing is split.
    assert "no columns show how devices are split" in refusal(shell, "ask", "runs.csv", "--layout", "--at", "workers=8")


def test_numbers_are_compared_as_levels_are_and_the_fastest_is_told(shell: Shell) -> None:
    rows = [(n, k, 32 * n * k / (0.1 * k + 0.08 * (n > 1) + 0.01 * n)) for n in (1, 2, 4, 8, 16) for k in (1, 2, 4, 8)]
    Path("passes.csv").write_text(csv_of("gpus,grad_accum,images_per_sec", rows))
    for question in ("which grad_accum is best on 16 gpus", "best grad_accum for 16 gpus"):
        answers = reply(shell, "ask", "passes.csv", question)
        assert [answer["at"]["grad_accum"] for answer in answers] == [1, 2, 4, 8], question
        assert "★ grad_accum=8 is fastest" in done(shell, "ask", "passes.csv", question)
    # More devices are faster, which tells nothing.
    assert "★" not in done(shell, "ask", "passes.csv", "8 or 16 gpus")


def test_a_measured_column_that_is_limited_is_fitted_beside(shell: Shell) -> None:
    rows = "".join(f"{n},{b},{n * b * 100 * (1 + b / 4):.0f},{30 + 10 * b}\n" for n in (8, 16, 32) for b in (1, 2, 4))
    Path("runs.csv").write_text(f"gpus,micro_batch,tokens_per_s,mem_gb\n{rows}")
    over = ("--over", "gpus=32,64", "--over", "micro_batch=1,2,4")
    by_capacity = reply(shell, "optimize", "runs.csv", *over, "--capacity", "mem_gb=55")
    assert {row["micro_batch"] for row in by_capacity["best"]} == {1.0, 2.0}
    by_condition = reply(shell, "optimize", "runs.csv", *over, "--where", "mem_gb <= 55")
    assert {row["micro_batch"] for row in by_condition["best"]} == {1.0, 2.0}
