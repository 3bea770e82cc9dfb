"""Exponents of levels: recovered, printed, kept in the model file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import shell_of

import genperf as gp
from genperf.attribution.written import level_exponents
from genperf.result import dump_model, parse_model


def runs() -> pd.DataFrame:
    """T = 0.02·batch^0.8, and batch^1.1 for vgg, with 1 % of noise."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [(b, n) for n in ("resnet", "vgg", "bert") for b in (4, 8, 16, 32, 64, 128)], columns=["b", "net"]
    )
    exponents = frame.net.map({"resnet": 0.8, "vgg": 1.1, "bert": 0.8})
    return frame.assign(t=0.02 * frame.b**exponents * np.exp(rng.normal(0.0, 0.01, len(frame))))


def test_the_level_that_differs_is_named() -> None:
    result = gp.fit(gp.read_table(runs(), time="t", intrinsic="b", categorical="net"), "generic", draws=20)
    first = level_exponents(result)[0]
    assert (first.level, first.factor) == ("vgg", "b")
    assert 1.05 < first.exponent < 1.15
    again = parse_model(dump_model(result))
    assert isinstance(again, gp.FitResult)
    assert again.best.expression == result.best.expression


def test_fit_prints_the_exponents_of_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs().to_csv(tmp_path / "runs.csv", index=False)
    roles = ["--time", "t", "--intrinsic", "b", "--categorical", "net"]
    status, printed, _ = shell_of(capsys)("fit", str(tmp_path / "runs.csv"), *roles, "--model", "generic", "--verbose")
    assert status == 0
    assert "vgg (net): b exponent 1.0" in printed


def test_families_have_no_exponents_of_levels() -> None:
    one = runs().query("net == 'vgg'").drop(columns="net").rename(columns={"b": "workers"})
    assert level_exponents(gp.fit(gp.read_table(one, time="t", extrinsic="workers"), "amdahl", draws=5)) == []
