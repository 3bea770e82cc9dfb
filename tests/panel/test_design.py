"""What the design of a table leaves unknown is named, through the command line too."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of, shell_of

import genperf as gp
from genperf.panel.table import SHOWN_LEVELS, design_notes


def runs() -> pd.DataFrame:
    return runs_of(
        lambda f: 0.01 * f.batch + 0.02 * f.workers,
        {"batch": (8, 16, 32), "workers": (1, 2, 4), "net": ["a", "b"]},
    )


def notes(frame: pd.DataFrame, intrinsic: str = "batch", categorical: str = "net") -> list[str]:
    table = gp.read_table(frame, time="s", intrinsic=intrinsic, extrinsic="workers", categorical=categorical)
    return [str(note) for note in design_notes(table)]


def test_a_full_design_has_nothing_to_name() -> None:
    assert notes(runs()) == []


def test_levels_that_one_configuration_has_are_named() -> None:
    once = pd.DataFrame([(8, 2, f"net{k}", 0.3) for k in range(5)], columns=["batch", "workers", "net", "s"])
    (note,) = notes(pd.concat([runs(), once]))
    assert "net0, net1, net2, … (5 in all)" in note
    assert SHOWN_LEVELS == 3


def test_a_factor_that_varies_at_one_level_is_named() -> None:
    frame = runs()
    (note,) = notes(frame.assign(chunks=np.where(frame.net == "a", 4, frame.workers * 3)), "batch,chunks")
    assert note.startswith("'chunks' varies only where net = b")


def test_pairs_that_rise_together_are_named() -> None:
    frame = runs()
    wobble = 1.0 + 1e-3 * np.sin(np.arange(len(frame)))
    (note,) = notes(frame.assign(bytes=4000.0 * frame.batch**2 * wobble), "batch,bytes")
    assert note.startswith("'batch' and 'bytes' rise together (correlation 1.000)")
    (note,) = notes(frame.assign(rest=1.0 / frame.batch), "batch,rest")
    assert "one falls as the other rises" in note


@pytest.mark.parametrize("model", ["auto", "generic"])
def test_fit_and_its_answer_name_them(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = runs()
    path = tmp_path / "runs.csv"
    frame.assign(id=[f"run{k}" for k in range(len(frame))], tokens=128 * frame.batch).to_csv(path, index=False)
    roles = ["--time", "s", "--intrinsic", "batch,tokens", "--extrinsic", "workers", "--categorical", "net,id"]
    shell = shell_of(capsys)
    status, out, err = shell("fit", str(path), *roles, "--model", model, "-o", str(tmp_path / "model.json"))
    assert status == 0
    assert "'batch' and 'tokens' rise together" in out + err
    # As many levels as configurations: the column is left out, and the fit goes on without it.
    assert "'id' has another level in each configuration" in out + err
    assert "left out id" in out + err


def test_check_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.csv"
    runs().assign(bytes=lambda f: 4000 * f.batch).to_csv(path, index=False)
    roles = ["--time", "s", "--intrinsic", "batch,bytes", "--extrinsic", "workers", "--categorical", "net"]
    status, out, err = shell_of(capsys)("check", str(path), *roles)
    assert status == 0
    assert "'batch' and 'bytes' rise together" in out + err


def test_nodes_rise_with_the_workers_that_fill_them() -> None:
    runs = pd.DataFrame({"gpus": [8, 16, 32, 64], "nodes": [1, 2, 4, 8], "t": [1.0, 1.1, 1.3, 1.7]})
    assert design_notes(gp.read_table(runs, time="t", extrinsic="gpus,nodes")) == []
