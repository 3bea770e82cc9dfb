"""A level that was not measured: the mean of the measured ones, an interval that holds their spread, and a sentence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of
from scipy.stats import t as student

import genperf as gp
from genperf.asking import ask
from genperf.errors import TableError
from genperf.result import answering, save_model
from genperf.search import optimize

#: How long a step takes on each device, in units of a law over the workers.
SPEEDS = {"A100": 1.0, "H100": 0.5, "V100": 2.0}


def runs(noise: float = 0.01) -> pd.DataFrame:
    levels = {"gpu": [*SPEEDS], "bits": ("fp16", "fp32"), "workers": (1, 2, 4, 8)}
    return runs_of(lambda f: f.gpu.map(SPEEDS) * (0.1 + 0.8 / f.workers), levels, noise=noise)


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


@pytest.mark.parametrize(
    ("gpu", "command"),
    [("a100", gp.FitResult.predict), ("A10", gp.FitResult.predict), ("H1000", gp.FitResult.predict),
     ("a100", gp.explain), ("a100", ask)],
)  # fmt: skip
def test_a_typing_error_is_refused_and_named(model: gp.FitResult, gpu: str, command: Callable[..., object]) -> None:
    with pytest.raises(TableError, match="never measured") as refused:
        command(model, {"gpu": gpu, "bits": "fp32", "workers": 4})
    assert "did you mean" in str(refused.value.hint)


def test_nothing_stands_for_an_empty_cell_or_a_factor_of_one_level(model: gp.FitResult) -> None:
    with pytest.raises(TableError):
        model.predict(pd.DataFrame({"gpu": [""], "bits": ["fp32"], "workers": [4.0]}))
    one = gp.fit(runs().query("gpu == 'A100'"), "generic", time="s", extrinsic="workers", categorical="gpu", draws=5)
    with pytest.raises(TableError, match="never measured"):
        one.predict({"gpu": "B200", "workers": [4]})


AT = {"gpu": "B200", "bits": "fp32", "workers": 4}


@pytest.fixture(scope="module", params=["generic", "auto"])
def either(request: pytest.FixtureRequest) -> gp.FitResult:
    return gp.fit(runs(), request.param, time="s", extrinsic="workers", categorical="gpu,bits", draws=50)


def test_explain_takes_the_prediction_apart(either: gp.FitResult) -> None:
    predicted = either.predict({name: [value] for name, value in AT.items()}).iloc[0]
    told = gp.explain(either, AT, knee=True)
    assert told.terms["seconds"].sum() == pytest.approx(predicted.time)
    assert told.terms["share"].sum() == pytest.approx(1.0)
    (note,) = [text for text in told.notes if "was not measured" in text]
    assert note.startswith("gpu=B200 was not measured: ")
    assert "the 3 measured levels (A100, H100, V100)" in note
    # The spread between the devices, of 1:4, is in the interval of the term that differs, or of what none explains.
    assert (told.terms.upper - told.terms.lower).max() > 0.5 * predicted.time
    assert told.scaling.curve.set_index("workers").time[4.0] == pytest.approx(predicted.time)
    measured = [gp.explain(either, {**AT, "gpu": gpu}).elasticities.elasticity[0] for gpu in SPEEDS]
    # A process weighs its means anew at each level.
    assert told.elasticities.elasticity[0] == pytest.approx(np.mean(measured), abs=2e-3)


def test_ask_says_that_it_was_not_measured(either: gp.FitResult) -> None:
    answer = ask(either, AT)
    assert answer.verdict == "extrapolating-blind"
    assert "gpu=B200 was not measured" in answer.sentences["sure"]
    assert answer.sentences["next"] == "Measure a run with gpu=B200: no measured run shows it."


def test_optimize_searches_at_a_new_level_beside_a_measured_one(either: gp.FitResult) -> None:
    best = optimize(either, {"gpu": "B200,V100", "bits": "fp32", "workers": "1:8:*2"}).best
    assert len(best) == 8
    assert dict(zip(best.gpu, best.verdict, strict=True)) == {"B200": "extrapolating-blind", "V100": "ok"}
    predicted = either.predict(best[["gpu", "bits", "workers"]])
    assert best.objective.to_numpy() == pytest.approx(predicted.time.to_numpy())


def test_a_new_level_is_not_known_to_fit() -> None:
    frame = runs().assign(batch=8.0)
    out_of_memory = frame.assign(batch=64.0, s="OOM")
    fits = pd.concat([frame, out_of_memory[out_of_memory.gpu == "V100"]]).astype({"s": str})
    result = gp.fit(fits, "generic", time="s", extrinsic="workers,batch", categorical="gpu,bits", draws=5)
    assert result.feasibility is not None
    there = {"bits": "fp32", "workers": [4.0], "batch": [32.0]}
    stood = answering(result, {"gpu": "B200"}).feasibility
    at = {"bits": np.array(["fp32"]), "workers": np.ones(1), "batch": np.array([32.0])}
    each = {gpu: float(stood.probability({"gpu": np.array([gpu]), **at})[0]) for gpu in (*SPEEDS, "B200")}
    assert each["B200"] == pytest.approx(min(each[gpu] for gpu in SPEEDS))
    assert result.predict({"gpu": "B200", **there}).fits[0] < 1.0


def test_a_further_quantity_is_answered_where_the_model_is() -> None:
    frame = runs().assign(memory=lambda d: d.gpu.map({"A100": 40.0, "H100": 80.0, "V100": 20.0}))
    frame.loc[frame.bits == "fp16", "memory"] = np.nan
    roles = {"time": "s", "extrinsic": "workers", "categorical": "gpu,bits", "also": "memory:GB"}
    result = gp.fit(frame, "generic", draws=20, **roles)
    asked = pd.DataFrame({"gpu": ["A100", "B200", "A100"], "bits": ["fp32", "fp32", "fp16"], "workers": 4.0})
    measured, new, unknown = result.predict(asked).memory
    assert measured == pytest.approx(40.0, rel=0.02)
    assert new == pytest.approx(40.0, rel=0.1)
    # fp16 was measured of the time alone, and no verdict would tell that its memory is a guess.
    assert np.isnan(unknown)
    best = optimize(result, {"gpu": "B200", "bits": "fp32", "workers": "1:8:*2"}).best
    assert best.memory.to_numpy() == pytest.approx(np.full(len(best), new), rel=0.02)


def test_what_cannot_answer_says_who_does(model: gp.FitResult) -> None:
    with pytest.raises(gp.GenperfError, match="never measured") as refused:
        gp.suggest(model, {"gpu": "B200", "bits": "fp32", "workers": 16})
    assert "predict, explain, ask, compare and optimize answer for it" in str(refused.value.hint)


def test_one_model_answers_for_several_new_levels(model: gp.FitResult, tmp_path: Path) -> None:
    both = answering(model, {"gpu": ["B200", "TPU"], "bits": "tf19"})
    assert both.schema.substituted == {"gpu": ("B200", "TPU"), "bits": ("tf19",)}
    assert len(both.members) == 6 * len(model.members)
    assert sum(m.weight for m in both.members) == pytest.approx(1.0)
    assert answering(both, {"gpu": "B200"}) is both
    assert answering(model, {"gpu": "A100"}, None) is model
    # Both are named; a file holds no level that stands.
    reason = model.predict({"gpu": "B200", "bits": "tf19", "workers": [4]}).reason[0]
    assert "gpu=B200 was not measured" in reason
    assert "bits=tf19 was not measured" in reason
    with pytest.raises(gp.GenperfError, match="B200"):
        save_model(answering(model, {"gpu": "B200"}), tmp_path / "m.json")
