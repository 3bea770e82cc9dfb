"""Series that are too short, out of order, of two clusters, or that turn: what the command line says of them."""

import json

import numpy as np
import pandas as pd
import pytest
from helpers import Shell

import genperf as gp

FIT = ["fit", "runs.csv", "--time", "t", "--extrinsic", "gpus,nodes", "-o", "model.json"]
COUNTS = [1, 2, 4, 8, 16]
NODES = [1, 1, 1, 2, 4]
TIMES = [0.9, 0.95, 1.0, 1.3, 1.4]


def fitted(shell: Shell, rows: pd.DataFrame) -> str:
    """Return what a fit prints, in one line."""
    rows.to_csv("runs.csv", index=False)
    status, out, errors = shell(*FIT)
    assert status == 0
    return (out + errors).replace("\n", " ")


def series(first: int = 0, last: int = 5) -> pd.DataFrame:
    rows = pd.DataFrame({"gpus": COUNTS, "nodes": NODES, "t": TIMES})
    return rows.iloc[first:last]


@pytest.mark.parametrize(("first", "verdict"), [(3, "extrapolating-blind"), (2, "caution")])
def test_two_and_three_scales_are_fitted_with_a_warning(first: int, verdict: str, shell: Shell) -> None:
    assert f"at twice the largest scale (gpus=32): {verdict}" in fitted(shell, series(first))


def test_two_clusters_along_one_series_are_named(shell: Shell) -> None:
    rows = series().assign(site=["old", "old", "old", "new", "new"])
    said = fitted(shell, rows)
    assert "'site' is old up to gpus=4 then new from 8" in said
    assert "--group site" in said
    assert "different machines" not in fitted(shell, rows.assign(site="old"))


def test_times_that_fall_then_rise_are_met_inside_and_rise_beyond(shell: Shell) -> None:
    rows = pd.DataFrame({"gpus": [1, 2, 4, 8, 16, 32], "nodes": [1, 1, 1, 2, 4, 8], "t": [10, 5.2, 3, 2.2, 2.6, 4.0]})
    fitted(shell, rows)
    _, far, _ = shell("predict", "model.json", "--at", "gpus=64", "--at", "nodes=16", "--json")
    (row,) = json.loads(far)["predictions"]
    # It rises on, and no faster than the workers.
    assert 4.0 < row["time"] < 8.0 < 1.5 * row["upper"]
    assert shell("predict", "model.json", "--data", "runs.csv", "-o", "back.csv")[0] == 0
    back = pd.read_csv("back.csv")
    assert back.time.to_numpy() == pytest.approx(rows.t.to_numpy(), rel=0.05)


def test_rows_in_any_order_are_one_series() -> None:
    """Four batches on four counts: work is relative to the largest batch of the largest count."""
    rows = pd.DataFrame({"gpus": [1, 2, 4, 8] * 4, "batch": np.repeat([8, 16, 32, 64], 4)})
    wander = 1.0 + 0.01 * np.sin(np.arange(16.0) ** 2)
    rows["t"] = (0.05 + 0.01 * rows.batch + 0.02 * np.log2(rows.gpus)) * wander
    answers = []
    for seed in (None, 3, 4):
        table = gp.read_table(rows.sample(frac=1.0, random_state=seed), time="t", extrinsic="gpus", intrinsic="batch")
        answers.append(gp.fit(table).predict({"gpus": [32], "batch": [128]})[["time", "lower", "upper"]].to_numpy())
    np.testing.assert_allclose(answers[1:], [answers[0]] * 2, rtol=1e-9)
