"""Series that are too short, out of order, of two clusters, or that turn: what the command line says of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import genperf as gp
from genperf.cli.main import cli

FIT = ["fit", "runs.csv", "--time", "t", "--extrinsic", "gpus,nodes", "-o", "model.json"]
COUNTS = [1, 2, 4, 8, 16]
NODES = [1, 1, 1, 2, 4]
TIMES = [0.9, 0.95, 1.0, 1.3, 1.4]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fitted(rows: pd.DataFrame, *more: str) -> Result:
    rows.to_csv("runs.csv", index=False)
    return CliRunner().invoke(cli, [*FIT, *more])


def series(first: int = 0, last: int = 5) -> pd.DataFrame:
    rows = pd.DataFrame({"gpus": COUNTS, "nodes": NODES, "t": TIMES})
    return rows.iloc[first:last]


@pytest.mark.parametrize(("first", "verdict"), [(3, "extrapolating-blind"), (2, "caution")])
def test_two_and_three_scales_are_fitted_with_a_warning(first: int, verdict: str) -> None:
    result = fitted(series(first))
    assert result.exit_code == 0
    assert f"at twice the largest scale (gpus=32): {verdict}" in result.output


def test_two_clusters_along_one_series_are_named() -> None:
    rows = series().assign(site=["old", "old", "old", "new", "new"])
    assert "'site' is old up to gpus=4 then new from 8" in fitted(rows).output.replace("\n", " ")
    assert "--group site" in fitted(rows).output
    assert "different machines" not in fitted(rows.assign(site="old")).output


def test_two_clusters_at_the_same_counts_are_named() -> None:
    both = pd.concat([series().assign(site="old"), series().assign(site="new", t=[t * 2 for t in TIMES])])
    assert "differ in 'site'" in fitted(both).output


def test_times_that_fall_then_rise_are_met_inside_and_rise_beyond() -> None:
    rows = pd.DataFrame({"gpus": [1, 2, 4, 8, 16, 32], "nodes": [1, 1, 1, 2, 4, 8], "t": [10, 5.2, 3, 2.2, 2.6, 4.0]})
    result = fitted(rows)
    assert result.exit_code == 0
    far = CliRunner().invoke(cli, ["predict", "model.json", "--at", "gpus=64", "--at", "nodes=16", "--json"]).output
    (row,) = json.loads(far)["predictions"]
    # It rises on, and no faster than the workers.
    assert 4.0 < row["time"] < 8.0 < 1.5 * row["upper"]
    ask = ["predict", "model.json", "--data", "runs.csv", "-o", "back.csv"]
    assert CliRunner().invoke(cli, ask).exit_code == 0
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
