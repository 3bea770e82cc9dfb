"""What doubling a factor does at each level: recovered from planted exponents, with intervals, in every output."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import shell_of

import genperf as gp
from genperf.attribution.elasticity import doublings, doublings_by_level

EXPONENTS = {"resnet": -0.9, "vgg": -0.5, "bert": -0.7}


def runs() -> pd.DataFrame:
    """T = batch·workers^e with an exponent for each network, and 1 % of noise."""
    rows = list(itertools.product(EXPONENTS, (8, 16, 32, 64), (2, 4, 8, 16)))
    frame = pd.DataFrame(rows, columns=["net", "batch", "workers"])
    noise = np.exp(np.random.default_rng(1).normal(0.0, 0.01, len(frame)))
    return frame.assign(t=0.01 * frame.batch * frame.workers ** frame.net.map(EXPONENTS) * noise)


@pytest.fixture(scope="module")
def result() -> gp.FitResult:
    table = gp.read_table(runs(), time="t", intrinsic="batch", extrinsic="workers", categorical="net")
    return gp.fit(table, "generic", draws=50)


@pytest.fixture(scope="module")
def by_level(result: gp.FitResult) -> pd.DataFrame:
    return doublings_by_level(result)


@pytest.mark.parametrize("net", EXPONENTS)
def test_a_level_has_the_doubling_of_its_exponent(by_level: pd.DataFrame, net: str) -> None:
    row = by_level.query(f"factor == 'workers' and level == '{net}'").iloc[0]
    assert row.times == pytest.approx(2.0 ** EXPONENTS[net], rel=0.02)
    assert row.lower <= row.times <= row.upper
    assert row.upper / row.lower < 1.2


def test_there_is_a_row_for_each_factor_and_level(by_level: pd.DataFrame) -> None:
    assert sorted(zip(by_level.factor, by_level.level, strict=True)) == sorted(
        itertools.product(("batch", "workers"), EXPONENTS)
    )


def test_a_level_agrees_with_the_doubling_of_its_run(result: gp.FitResult, by_level: pd.DataFrame) -> None:
    row = by_level.query("factor == 'workers' and level == 'vgg'").iloc[0]
    assert doublings(result, {"net": "vgg"})["workers"] == pytest.approx(row.times)


def test_without_categories_there_is_none() -> None:
    one = runs().query("net == 'vgg'").drop(columns="net")
    table = gp.read_table(one, time="t", intrinsic="batch", extrinsic="workers")
    explanation = gp.explain(gp.fit(table, "generic", draws=5))
    assert len(explanation.doublings) == 0
    assert "doublings" not in explanation.to_dict()


def test_explain_prints_and_writes_them(
    result: gp.FitResult, by_level: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gp.save_model(result, tmp_path / "model.json")
    shell = shell_of(capsys)
    status, printed, _ = shell("explain", str(tmp_path / "model.json"))
    assert status == 0
    assert "by what doubling a factor multiplies the time, at each level" in printed
    assert "net = vgg" in printed
    _, written, _ = shell("explain", str(tmp_path / "model.json"), "--json")
    assert len(json.loads(written)["doublings"]) == len(by_level)


def test_every_level_is_doubled_at_one_configuration() -> None:
    # Separable, but each framework was measured at other sizes: a level cannot change what a doubling does.
    rows = [(f, b, n) for f, batches in (("x", (8, 16, 32)), ("y", (64, 128, 256))) for b in batches for n in (1, 2, 4)]
    frame = pd.DataFrame(rows, columns=["framework", "batch", "workers"])
    frame["t"] = (0.3 + 0.01 * frame.batch) * frame.workers**0.1
    table = gp.read_table(frame, time="t", intrinsic="batch", extrinsic="workers", categorical="framework")
    found = doublings_by_level(gp.fit(table, "(c + a*batch)*workers**q", draws=5))
    for _, each in found.groupby("factor"):
        assert len({*each["from"]}) == 1
        assert each["times"].to_numpy() == pytest.approx(each["times"].iloc[0])
