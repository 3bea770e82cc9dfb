"""A level that was not measured: the mean of the measured ones, an interval that holds their spread, and a sentence."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import genperf as gp
from genperf.errors import TableError
from genperf.prediction.query import TYPING_ERROR, misspelt

#: How long a step takes on each device, in units of a law over the workers.
SPEEDS = {"A100": 1.0, "H100": 0.5, "V100": 2.0}


def runs(noise: float = 0.01) -> pd.DataFrame:
    frame = pd.DataFrame(itertools.product(SPEEDS, ("fp16", "fp32"), (1, 2, 4, 8)), columns=["gpu", "bits", "workers"])
    scatter = np.exp(np.random.default_rng(0).normal(0.0, noise, len(frame)))
    return frame.assign(s=frame.gpu.map(SPEEDS) * (0.1 + 0.8 / frame.workers) * scatter)


@pytest.fixture(scope="module")
def model() -> gp.FitResult:
    return gp.fit(runs(), "generic", time="s", extrinsic="workers", categorical="gpu,bits", draws=50)


def test_it_is_the_mean_of_the_measured_levels(model: gp.FitResult) -> None:
    at = {"bits": "fp32", "workers": [2, 8]}
    measured = np.array([model.predict({"gpu": gpu, **at}).time for gpu in SPEEDS])
    new = model.predict({"gpu": "B200", **at})
    assert new.time.to_numpy() == pytest.approx(np.exp(np.log(measured).mean(axis=0)))
    assert list(new.verdict) == ["extrapolating-blind"] * 2
    assert "gpu=B200 was not measured: the mean of the 3 measured levels (A100, H100, V100)" in new.reason[0]
    assert "differ 4.1-fold" in new.reason[0]


def test_the_interval_holds_the_spread_between_levels(model: gp.FitResult) -> None:
    # ln 0.5, ln 1, ln 2 have a standard deviation of ln 2; of three levels, a fourth lies in t(2)·s·√(1 + 1/3).
    new = model.predict({"gpu": "B200", "bits": "fp32", "workers": [4]}).iloc[0]
    half = student.ppf(0.95, 2) * np.log(2.0) * np.sqrt(4.0 / 3.0)
    assert np.log(new.upper / new.time) == pytest.approx(half, rel=0.1)
    assert np.log(new.time / new.lower) == pytest.approx(half, rel=0.1)
    narrow = model.predict({"gpu": "B200", "bits": "fp32", "workers": [4]}, interval=0.5).iloc[0]
    assert narrow.upper < new.upper


def test_measured_rows_beside_it_are_as_without_it(model: gp.FitResult) -> None:
    rows = pd.DataFrame({"gpu": ["A100", "B200", "V100"], "bits": "fp16", "workers": [2.0, 4.0, 8.0]})
    both, alone = model.predict(rows), model.predict(rows.iloc[[0, 2]])
    columns = ["time", "lower", "upper", "verdict", "reason"]
    pd.testing.assert_frame_equal(both.iloc[[0, 2]][columns].reset_index(drop=True), alone[columns])


def test_two_new_levels_in_a_row(model: gp.FitResult) -> None:
    # What the precision adds is noise: both are named.
    new = model.predict({"gpu": "B200", "bits": "tf19", "workers": [4]}).iloc[0]
    assert "gpu=B200 was not measured" in new.reason
    assert "bits=tf19 was not measured" in new.reason


@pytest.mark.parametrize("gpu", ["a100", "A10", "H1000"])
def test_a_typing_error_is_refused_and_named(model: gp.FitResult, gpu: str) -> None:
    with pytest.raises(TableError, match="never measured") as refused:
        model.predict({"gpu": gpu, "bits": "fp32", "workers": [4]})
    assert "did you mean" in str(refused.value.hint)


def test_nothing_stands_for_an_empty_cell_or_a_factor_of_one_level(model: gp.FitResult) -> None:
    with pytest.raises(TableError):
        model.predict(pd.DataFrame({"gpu": [""], "bits": ["fp32"], "workers": [4.0]}))
    one = gp.fit(runs().query("gpu == 'A100'"), "generic", time="s", extrinsic="workers", categorical="gpu", draws=5)
    with pytest.raises(TableError, match="never measured"):
        one.predict({"gpu": "B200", "workers": [4]})


def test_other_commands_refuse_it(model: gp.FitResult) -> None:
    with pytest.raises(gp.GenperfError, match="never measured"):
        gp.explain(model, at={"gpu": "B200", "bits": "fp32"})


def test_auto_answers_it_too() -> None:
    result = gp.fit(runs(), "auto", time="s", extrinsic="workers", categorical="gpu,bits", draws=50)
    new = result.predict({"gpu": "B200", "bits": "fp32", "workers": [4]}).iloc[0]
    assert 0.5 * 0.3 < new.time < 2.0 * 0.3
    assert new.verdict == "extrapolating-blind"


def test_how_near_a_spelling_is() -> None:
    assert 0.75 < TYPING_ERROR <= 0.8
    assert misspelt("tensroflow", ["tensorflow", "mxnet"])
    assert not misspelt("H100", ["A100"])
