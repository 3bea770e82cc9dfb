"""Held-out errors of models and learners, and the importance of factors."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from helpers import cases_in_text

from genperf.errors import GenperfError, ModelError
from genperf.panel import Table, read_table
from genperf.prediction import schema_of
from genperf.validation import LEARNERS, importance, run, validate
from genperf.validation.run import ModelScore

SIMPLE = "last-point,linear"


def frame(repeats: int = 2) -> pd.DataFrame:
    rows = [
        (net, b, n, r, 0.01 * b / n + 0.02 * k * n**0.5 + 0.001 * r)
        for k, net in enumerate(("x", "y", "z"), start=1)
        for b in (16, 32)
        for n in (1, 2, 4, 8)
        for r in range(repeats)
    ]
    return pd.DataFrame(rows, columns=["net", "batch", "workers", "repeat", "t"])


def table(data: pd.DataFrame | None = None, **roles: str) -> Table:
    roles = {"categorical": "net", **roles}
    data = frame() if data is None else data
    return read_table(data, time="t", intrinsic="batch", extrinsic="workers", repeat="repeat", **roles)


def unpredicted(score: ModelScore) -> list[bool]:
    return score.predictions["predicted"].isna().tolist()


class Fits:
    """Stands in for `fit`: remembers what it was given; predicts the mean of the training part."""

    def __init__(self) -> None:
        self.asked: list[tuple[Table, str, dict[str, Any]]] = []

    def __call__(self, table: Table, model: str = "auto", **options: Any) -> "Fits":
        if model == "amdahl":
            raise ModelError("family 'amdahl' says no", hint="ask another")
        self.asked.append((table, model, options))
        self.schema = schema_of(table)
        self.results = defaultdict(lambda: self)
        self.failures: dict[tuple[str, ...], str] = {}
        return self

    def predict(self, data: pd.DataFrame, interval: float = 0.9) -> pd.DataFrame:
        self.interval = interval
        mean = float(self.asked[-1][0].measured.mean())
        return data.assign(
            **{self.schema.target.name: mean}, lower=mean / 2, upper=mean * 2, verdict="caution", reason="it is a mean"
        )


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fits]:
    stand_in = Fits()
    monkeypatch.setattr(run, "fit", stand_in)
    return stand_in


def test_the_metrics_are_those_of_the_held_out_medians() -> None:
    data = pd.DataFrame({"n": [1, 1, 1, 2, 4, 4], "t": [1.0, 2.0, 9.0, 4.0, 5.0, 5.0], "repeat": [0, 1, 2, 0, 0, 1]})
    validation = validate(read_table(data, time="t", extrinsic="n", repeat="repeat"), ["last-point"], "leave-one-out")
    score = validation["last-point"]
    # 1 from 2: 4 against the median 2; 2 from 4 (as near as 1, and larger): 5 against 4; 4 from 2: 4 against 5.
    assert score.predictions["measured"].tolist() == [2.0, 4.0, 5.0]
    assert score.predictions["predicted"].tolist() == pytest.approx([4.0, 5.0, 4.0])
    assert score.mape == pytest.approx((100 + 25 + 20) / 3)
    assert score.median_ape == pytest.approx(25)
    assert score.rmse == pytest.approx(np.sqrt((4 + 1 + 1) / 3))
    assert score.r2 == pytest.approx(1 - 6 / (42 / 9))
    assert score.coverage is None
    assert score.width is None


def test_a_model_sees_the_training_part_alone(fits: Fits) -> None:
    t = table()
    validation = validate(t, ["generic"], "kfold:4", seed=7, interval=0.5, lam=0.1, structure="product")
    assert len(fits.asked) == 4
    assert (fits.interval, validation.interval) == (0.5, 0.5)
    held_out = list(validation.configurations[["net", "batch", "workers"]].itertuples(index=False, name=None))
    assert len(set(held_out)) == 24
    for (train, model, options), part in zip(fits.asked, np.split(np.arange(24), 4), strict=True):
        assert (model, options) == ("generic", {"seed": 7, "lam": 0.1, "structure": "product"})
        trained = set(zip(train.frame.net, train.frame.batch, train.frame.workers, strict=True))
        assert len(train) == 36
        assert not trained & {held_out[i] for i in part}


def test_a_single_fit_of_many_groups_gets_the_workers(fits: Fits) -> None:
    validate(table(group="net", categorical=""), "generic", "extrapolate:workers", workers=2)
    assert fits.asked[0][2] == {"seed": 0, "workers": 2, "engine": "local", "address": None}


def test_every_scheme_gives_one_entry_per_held_out_configuration(fits: Fits) -> None:
    for scheme, count in (("kfold:5", 24), ("leave-one-out", 24), ("leave-group-out:batch", 24),
                          ("extrapolate:workers", 6), ("extrapolate:workers:2", 12)):  # fmt: skip
        assert len(validate(table(), "generic", scheme)["generic"].predictions) == count


def test_the_dictionary_is_the_contract(fits: Fits) -> None:
    contract = validate(table(), ["generic", "last-point"], "extrapolate:workers").to_dict()
    assert (contract.pop("quantity"), contract.pop("unit")) == ("time", "s")
    assert json.loads(json.dumps(contract, allow_nan=False)) == contract
    assert list(contract) == ["models"]
    generic, last = contract["models"]
    keys = ["model", "mape", "median_ape", "rmse", "r2", "coverage", "width", "seconds", "predictions"]
    assert list(generic) == list(last) == keys
    assert (generic["model"], last["model"]) == ("generic", "last-point")
    first = generic["predictions"][0]
    assert list(first) == ["batch", "workers", "net", "fold", "measured", "time", "lower", "upper", "verdict"]
    assert (first["net"], first["batch"], first["workers"], first["fold"]) == ("x", 16.0, 8.0, "workers > 4")
    assert first["measured"] == pytest.approx(0.01 * 2 + 0.02 * 8**0.5 + 0.0005)
    assert first["verdict"] == "caution"
    assert last["predictions"][0]["verdict"] is None
    assert "seconds" not in validate(table(), "last-point").to_dict(timing=False)["models"][0]


def test_an_unseen_level_is_left_unpredicted_where_one_alone_was_trained(fits: Fits) -> None:
    data = frame().query("net == 'y' or (net == 'z' and workers == 8)")
    validation = validate(table(data), ["generic", *LEARNERS], "extrapolate:workers")
    for score in validation.models:
        assert unpredicted(score) == (validation.configurations["net"] == "z").tolist()
        assert score.predicted == 2
        assert [str(n) for n in score.notes] == [
            "2 of 4 configurations left unpredicted: level 'z' of 'net' is not in the training part, which has one"
        ]
    assert validation.to_dict()["models"][0]["notes"] == [str(validation.models[0].notes[0])]
    assert f"note: generic: {validation.models[0].notes[0]}" in str(validation)
    assert str(validation).splitlines()[1].split()[:3] == ["model", "predicted", "mape"]
    assert str(validation).splitlines()[2].split()[:2] == ["generic", "2"]


def test_trained_levels_stand_for_an_unseen_one_in_every_model() -> None:
    # A law without a batch, whose nets differ by 1, 2 and 4: the mean of two of them is known.
    data = frame().assign(t=lambda d: d.net.map({"x": 1.0, "y": 2.0, "z": 4.0}) * (1.0 + d.workers / 8))
    validation = validate(table(data), ["generic", *LEARNERS], "leave-group-out:net", draws=20)
    for score in validation.models:
        assert score.predicted == 24
        ratios = (score.predictions["predicted"] / score.predictions["measured"])[
            validation.configurations["net"] == "x"
        ]
        assert ratios.tolist() == pytest.approx([np.sqrt(2.0 * 4.0)] * 8, rel=0.25)
    generic = validation["generic"].predictions
    assert set(generic["verdict"]) == {"extrapolating-blind"}
    assert generic["measured"].between(generic["lower"], generic["upper"]).all()


def test_levels_and_groups_that_the_training_part_lacks() -> None:
    # A level must be known in its own group.
    data = frame().assign(cluster=lambda d: np.where(d.net == "x", "one", "two"))
    data = data.query("net != 'z' or workers == 8")
    validation = validate(table(data, group="cluster"), "last-point", "extrapolate:workers")
    assert validation.configurations["net"][unpredicted(validation.models[0])].tolist() == ["z", "z"]
    validation = validate(table(data, group="net", categorical=""), SIMPLE, "extrapolate:workers:4")
    assert validation.configurations["net"][unpredicted(validation["linear"])].tolist() == ["z", "z"]
    assert "its group has no configuration in the training part" in str(validation)
    # A group with nothing held out is passed over.
    lacking = table(frame().query("net != 'x' or workers == 1"), group="net", categorical="")
    assert set(validate(lacking, SIMPLE, "extrapolate:workers").configurations["net"]) == {"y", "z"}
    # Levels are told apart, however near their spelling.
    near = frame().assign(net=lambda d: d.net.map({"x": "resnet50", "y": "resnet101", "z": "resnet152"}))
    assert validate(table(near), "generic", "leave-group-out:net", draws=2)["generic"].predicted == 24


def test_a_model_that_fails_is_reported_and_the_others_go_on(fits: Fits) -> None:
    validation = validate(table(), "amdahl,last-point", "kfold:3")
    amdahl, last = validation.to_dict()["models"]
    assert amdahl["failed"] == "family 'amdahl' says no"
    assert amdahl["predictions"] == []
    assert amdahl["mape"] is None
    assert last["mape"] > 0
    assert "amdahl failed: family 'amdahl' says no" in str(validation)
    assert validation.frame().failed.tolist() == ["family 'amdahl' says no", ""]
    # If all fail, the first says why.
    with pytest.raises(GenperfError) as error:
        validate(table(), "amdahl", "kfold:3")
    assert (error.value.message, error.value.hint) == ("family 'amdahl' says no", "ask another")


def test_what_a_library_cannot_use_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise ValueError("the matrix is not positive definite")

    monkeypatch.setitem(LEARNERS, "svr", broken)
    validation = validate(table(), "svr,last-point")
    assert validation["svr"].failed == "svr cannot use this data: the matrix is not positive definite"
    assert validation["last-point"].failed is None


def test_all_is_every_learner_and_every_family_that_applies() -> None:
    chosen, notes = run.choose_models("all", table())
    assert chosen[: len(LEARNERS) + 1] == ["auto", *LEARNERS]
    assert {"generic", "amdahl"} <= set(chosen)
    unnamed = read_table(frame().rename(columns={"workers": "w"}), time="t", extrinsic="w", repeat="repeat")
    chosen, notes = run.choose_models("all", unnamed)
    assert "amdahl" not in chosen
    assert any(str(n).startswith("left out for lack of 'workers': amdahl, usl") for n in notes)
    assert "amdahl" in run.choose_models("all", unnamed.mapped({"workers": "w"}))[0]


@cases_in_text("models, options, message, hint")
def test_what_cannot_be_asked_is_refused_with_advice(
    models: Any, options: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(GenperfError) as error:
        validate(table(), models, **options)
    assert error.value.message == message
    assert hint in (error.value.hint or "")


def test_the_bytes_do_not_depend_on_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(workers: int) -> str:
        models = ["amdahl", "linear", "gaussian-process"]
        result = validate(table(), models, "kfold:2", workers=workers, seed=5, progress=lambda *n: fits.append(n))
        return json.dumps(result.to_dict(timing=False)) + result.headline

    fits: list[tuple[int, ...]] = []
    of_two, fits = printed(2), []
    # One worker starts no process.
    monkeypatch.setattr(joblib, "Parallel", None)
    assert printed(1) == of_two
    assert fits == [(i, 6) for i in range(1, 7)]


def test_it_is_shown_as_text_and_as_a_page(fits: Fits) -> None:
    validation = validate(table(), "generic,last-point", "extrapolate:workers")
    assert str(validation).splitlines()[0] == (
        "extrapolate:workers, time of 6 held-out configurations; errors in %, intervals of 90 %"
    )
    assert validation._repr_html_().count("<tr") == 3
    assert validation.frame().columns.tolist() == [
        "model", "mape", "median_ape", "rmse", "r2", "coverage", "width", "seconds", "predicted", "failed"
    ]  # fmt: skip
    held_out = validation.predictions()
    assert len(held_out) == 12
    assert held_out.columns[0] == "model"
    with pytest.raises(KeyError):
        validation["svr"]


def test_a_family_that_cannot_fit_one_group_predicts_the_others() -> None:
    data = frame().query("net != 'z' or workers in (4, 8) and batch == 16")
    validation = validate(table(data, group="net", categorical=""), "amdahl", "extrapolate:workers")
    (score,) = validation.models
    assert unpredicted(score) == (validation.configurations["net"] == "z").tolist()
    assert "every factor has one value" in str(score.notes[0])
    assert set(score.predictions["verdict"].dropna()) <= {"ok", "caution", "extrapolating-blind"}


# --- permutation importance where the answer is known ----------------------------------------------------------------


def test_errors_of_a_throughput_are_those_of_the_time_of_a_step_and_are_called_so() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4], "rate": [100.0, 180.0, 300.0]})
    given = {"extrinsic": "gpus", "throughput": "rate", "work": "32*gpus"}
    answer = validate(read_table(runs, **given), "last-point", "extrapolate:gpus:2")
    # 64 samples took 64/180 s of two gpus, and 128 took 128/300 s of four.
    assert answer["last-point"].mape == pytest.approx(100 * (1 - (64 / 180) / (128 / 300)))
    assert next(str(note) for note in answer.notes).startswith("errors of the time of a step, 32*gpus over 'rate'")


def table_of_importance(**roles: str) -> Table:
    grid = [(x, y, k) for x in (1, 2, 4, 8) for y in (1, 2, 4) for k in ("a", "b")]
    runs = pd.DataFrame(grid, columns=["x", "y", "kind"]).assign(t=lambda f: f["x"] ** 1.0)
    return read_table(runs, time="t", **{"intrinsic": "x,y", "categorical": "kind", **roles})


def test_only_what_the_time_depends_on_counts() -> None:
    scores = importance(table_of_importance(), "linear,svr").frame().set_index(["model", "factor"])["importance"]
    # T = x: shuffled, the mean of |ln(x/x′)| over 1, 2, 4, 8 at random is 1.25·ln 2, so the error grows to about 138 %.
    assert scores["linear", "x"] == pytest.approx(100 * (np.exp(1.25 * np.log(2)) - 1), rel=0.25)
    for name in ("y", "kind"):
        assert scores["linear", name] == pytest.approx(0.0, abs=1e-6)
        assert abs(scores["svr", name]) < 0.1 * scores["svr", "x"]
    # A family can stand beside.
    answer = importance(table_of_importance(categorical=""), "a*x + c", folds=3, repeats=2)
    assert answer.scores["importance"].tolist() == [pytest.approx(138, rel=0.3), pytest.approx(0.0, abs=1e-6)]
    assert answer.to_dict()["scores"][0]["factor"] == "x"


@pytest.mark.parametrize(
    ("changes", "models", "message"),
    [({"group": "kind", "categorical": ""}, "svr", "for one group"), ({}, "forest", "no model 'forest'")],
)
def test_what_cannot_be_asked_is_refused(changes: dict, models: str, message: str) -> None:
    with pytest.raises(GenperfError, match=message):
        importance(table_of_importance(**changes), models)
