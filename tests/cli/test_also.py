"""`--also`: further quantities fitted beside the main one, through every command that reads them."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import Shell, csv_of, done, refusal, reply

import genperf as gp
from genperf.errors import GenperfError

#: Seconds of 0.02·batch + 0.4/gpus + 0.1; gigabytes of 10 + 1.2·batch + 20/gpus, none where a run failed.
CELLS = [
    (n, b, *((0.02 * b + 0.4 / n + 0.1, 10 + 1.2 * b + 20 / n) if 10 + 1.2 * b + 20 / n < 55 else ("OOM", "")))
    for n in (1, 2, 4, 8)
    for b in (4, 8, 16, 32, 64)
]
ROLES = ["--time", "step_s", "--extrinsic", "gpus", "--intrinsic", "batch", "--model", "a*batch + b/gpus + c"]
ALSO = ["--also", "memory=peak_gb:GB", "--also-model", "memory=m + k*batch + s/gpus"]
OVER = ["--over", "gpus=1:16:*2", "--over", "batch=4:64:*2"]
FOLDER = {"runs.csv": csv_of("gpus,batch,step_s,peak_gb", CELLS)}


@pytest.fixture
def fitted(shell: Shell) -> str:
    status, out, err = shell("fit", "runs.csv", *ROLES, *ALSO, "-o", "m.json")
    assert status == 0
    assert "memory: your formula; 14 configurations; held-out error " in out
    # The column of a further quantity has a role.
    assert "left out, in no role" not in err
    return "m.json"


def test_predict_writes_both_quantities_with_their_intervals(shell: Shell, fitted: str) -> None:
    rows = reply(shell, "predict", fitted, "--at", "gpus=2,16", "--at", "batch=16")["predictions"]
    assert [row["memory"] for row in rows] == pytest.approx([39.2, 30.45], rel=1e-3)
    assert all(row["memory_lower"] <= row["memory"] <= row["memory_upper"] for row in rows)
    assert list(rows[0])[2:8] == ["time", "lower", "upper", "memory", "memory_lower", "memory_upper"]
    # The main quantity is what it is without the other.
    shell("fit", "runs.csv", *ROLES, "-o", "alone.json")
    alone = reply(shell, "predict", "alone.json", "--at", "gpus=2,16", "--at", "batch=16")
    assert [row["time"] for row in rows] == [row["time"] for row in alone["predictions"]]


def test_a_capacity_bounds_the_upper_end_of_the_quantity(shell: Shell, fitted: str) -> None:
    best = reply(shell, "optimize", fitted, *OVER, "--capacity", "memory=40GB", "--top", "99")["best"]
    assert best
    assert all(row["memory_upper"] < 40.5 and row["memory"] <= 40 for row in best)
    every = reply(shell, "optimize", fitted, *OVER, "--top", "99")["best"]
    assert any(row["memory"] > 41 for row in every)
    assert "'memory <= 12' excludes most" in refusal(shell, "optimize", fitted, *OVER, "--capacity", "memory=12")
    assert "--also energy=COLUMN:UNIT" in refusal(shell, "optimize", fitted, *OVER, "--capacity", "energy=12")
    misspelt = refusal(shell, "optimize", fitted, *OVER, "--capacity", "memry=12")
    assert "this one predicts time (s), memory\n  try: did you mean 'memory'?" in misspelt


def test_check_says_what_was_measured_beside(shell: Shell) -> None:
    out = done(shell, "check", "runs.csv", *ROLES[:-2], *ALSO[:2])
    measured = [cells[3] for cells in CELLS if cells[2] != "OOM"]
    assert f"memory: peak_gb, {min(measured):.4g} to {max(measured):.4g} GB, {len(measured)} rows" in out
    partly = pd.read_csv("runs.csv").assign(peak_gb=lambda f: f.peak_gb.where(f.gpus > 1))
    partly.to_csv("partly.csv", index=False)
    err = shell("check", "partly.csv", *ROLES[:-2], *ALSO[:2])[2]
    assert f"note: memory was measured in {partly.peak_gb.notna().sum()} of {len(measured)} rows" in err


def test_groups_and_resume(shell: Shell) -> None:
    one = pd.read_csv("runs.csv")
    other = one.assign(net="b", peak_gb=np.nan)
    pd.concat([one.assign(net="a"), other]).to_csv("two.csv", index=False)
    command = ["fit", "two.csv", *ROLES, *ALSO, "--group", "net", "-o", "m.json"]
    status, out, _ = shell(*command)
    assert (status, "memory: fitted in 1 of 2 groups" in out) == (0, True)
    before = Path("m.json").read_bytes()
    rows = reply(shell, "predict", "m.json", "--at", "gpus=2", "--at", "batch=16")["predictions"]
    # The group without a measured memory has a time all the same.
    assert [row["memory"] is None for row in rows] == [False, True]
    assert rows[0]["time"] == rows[1]["time"]
    assert shell(*command, "--resume")[0] == 0
    assert Path("m.json").read_bytes() == before


def test_a_level_without_a_measurement_has_no_value() -> None:
    frame = pd.DataFrame([row for row in CELLS if row[2] != "OOM"], columns=["gpus", "batch", "step_s", "peak_gb"])
    frame = frame.astype(float)
    result = gp.fit(
        pd.concat([frame.assign(kind="a"), frame.assign(kind="b", peak_gb=np.nan)]),
        "generic",
        structure="separable",
        lam=1e-4,
        draws=5,
        time="step_s",
        extrinsic="gpus",
        intrinsic="batch",
        categorical="kind",
        also={"memory": "peak_gb:GB"},
        also_models={"memory": "m + k*batch + s/gpus"},
    )
    predicted = result.predict({"gpus": 4, "batch": 8, "kind": ["a", "b"]})
    assert predicted["memory"].isna().tolist() == [False, True]
    assert predicted["time"].notna().all()


def test_a_model_file_with_other_factors_beside_is_refused(shell: Shell, fitted: str) -> None:
    file = json.loads(Path(fitted).read_text())
    file["groups"][0]["model"]["further"]["memory"]["table"]["factors"][0]["name"] = "other"
    Path("bad.json").write_text(json.dumps(file))
    with pytest.raises(GenperfError, match="further"):
        gp.load_model("bad.json")


def test_ask_and_the_page_tell_further_quantities(shell: Shell, fitted: str) -> None:
    out = done(shell, "ask", "--full", "runs.csv", "--at", "gpus=16", "--at", "batch=16", *ALSO[:2])
    assert "memory" not in out.splitlines()[0]
    (expected,) = [line for line in out.splitlines() if line.startswith("Expect ")]
    assert re.search(r" Memory 3\d(\.\d)? GB \([\d.]+ to [\d.]+\)\.$", expected)
    assert shell("report", fitted, "-o", "page.html", "--target", "gpus=16", "--target", "batch=16")[0] == 0
    assert '["memory","30.4 GB","' in Path("page.html").read_text()


def test_the_pareto_front_keeps_a_capacity_as_the_answers_do(shell: Shell, fitted: str) -> None:
    job = [*OVER, "--samples", "100000", "--top", "99", "--json"]
    fronts = json.loads(shell("optimize", fitted, *job)[1])["front"]
    largest = max(fronts, key=lambda row: row["memory"])
    assert largest["memory_upper"] > largest["memory"]
    # What is predicted keeps it, the upper end of the interval does not.
    limit = largest["memory"] * (1 + 1e-9)
    told = json.loads(shell("optimize", fitted, *job, "--capacity", f"memory={limit}")[1])
    assert told["front"]
    assert all(row["memory_upper"] <= limit for row in told["front"])
    places = [(row["gpus"], row["batch"]) for row in told["best"]]
    assert all((row["gpus"], row["batch"]) in places for row in told["front"])
    assert told["front"][0]["total"] == min(row["total"] for row in told["best"])
