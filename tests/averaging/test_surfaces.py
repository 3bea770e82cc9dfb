"""Kriging of ln T beside the expressions: what it weighs, and that everything that predicts knows it."""

from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.averaging.surfaces import SURFACE, _share
from genperf.discrepancy import Discrepancy, Effect, Exponential, Surface
from genperf.errors import ModelError
from genperf.expression import Expression, Term, coefficient
from genperf.formula import parse
from genperf.prediction import Member, Status, central_times, forecasts
from genperf.result import dump_model
from genperf.result.file import parse_model

ANCHORS = {"gpus": np.array([1.0, 2.0, 4.0])}
SMOOTH = Exponential({"gpus": "squared doublings"}, (Effect(1e6, {"gpus": 0.1}),))
#: Hardly any noise: the surface passes through 3, 5 and 4 seconds.
SURFACE_OF_THREE = Surface(0.5, np.log(4.0), SMOOTH, np.log([3.0, 5.0, 4.0]) - np.log(4.0), 0.1, {"gpus": (1.0, 4.0)})
PLAIN = Discrepancy(
    Exponential({"gpus": "doublings"}, (Effect(1e-9, {"gpus": 1.0}),)),
    ANCHORS,
    np.zeros(3),
    np.zeros(3),
    1.0,
    np.ones(1),
)
LINEAR = Expression("mine", (Term("step", parse("a*gpus").node),), (coefficient("a"),))


def member(discrepancy: Discrepancy) -> Member:
    draws = np.array([[1.0], [2.0]])
    return Member(LINEAR, np.array([2.0]), draws, 1.0, Status("projected", 0.0, True, 1, 1, 1), discrepancy=discrepancy)


def test_half_of_it_is_the_mean_of_the_expression_and_the_surface() -> None:
    half = member(msgspec.structs.replace(PLAIN, surface=SURFACE_OF_THREE))
    # The expression has 2, 4 and 8 seconds; the surface 3, 5 and 4; the prediction their geometric mean.
    assert central_times([half], ANCHORS) == pytest.approx(np.sqrt([6.0, 20.0, 32.0]), rel=1e-3)
    # Beyond the range both grow as the expression does: at 8, a doubling out, an eighth of 4·2 and the rest of 16.
    assert central_times([half], {"gpus": np.array([8.0])}) == pytest.approx([8.0**0.125 * 16.0**0.875], rel=1e-3)
    ((mean, variance),) = forecasts([half], ANCHORS)
    # Draws have the halves and the same of the expression's seconds: the surface's half does not move with them.
    assert mean[1] - mean[0] == pytest.approx(0.5 * np.log(2.0))
    assert np.all(variance[0] == variance[1])


def test_a_number_of_one_measured_value_is_the_expressions_alone() -> None:
    """All runs had one stage: asked for four, two doublings away, the surface fades and has the expression's effect."""
    staged = replace(LINEAR, terms=(Term("step", parse("a*gpus*stages").node),))
    anchors = {**ANCHORS, "stages": np.ones(3)}
    surface = msgspec.structs.replace(SURFACE_OF_THREE, ranges={"gpus": (1.0, 4.0), "stages": (1.0, 1.0)})
    discrepancy = msgspec.structs.replace(PLAIN, anchors=anchors, surface=surface)
    half = replace(member(discrepancy), expression=staged)
    one, four = central_times([half], {"gpus": np.full(2, 2.0), "stages": np.array([1.0, 4.0])})
    assert one == pytest.approx(np.sqrt(20.0), rel=1e-3)
    assert four == pytest.approx(4.0 * 4.0 * (5.0 / 4.0) ** (0.5 / 16.0), rel=1e-3)


def test_auto_goes_on_as_its_family_does_where_a_factor_had_one_value() -> None:
    rng = np.random.default_rng(0)
    ways = rng.choice([1.0, 2.0, 4.0, 8.0], (2, 40))
    runs = pd.DataFrame({"dp": ways[0], "tp": ways[1], "pp": 1.0, "mbs": rng.choice([1.0, 2.0, 4.0], 40)})
    runs = runs.assign(layers=rng.choice([12.0, 24.0], 40), gas=1.0)
    runs["s"] = runs.layers * runs.mbs * (0.02 / runs.tp + 0.002 * (1 - 1 / runs.tp)) + 0.1 * (1 - 1 / runs.dp) + 0.05
    runs["s"] *= np.exp(0.03 * rng.standard_normal(40))
    fitted = gp.fit(runs, "auto", time="s", intrinsic="layers,mbs,gas", extrinsic="dp,tp,pp", draws=20)
    assert fitted.options["surface"] > 0.0
    assert {"pp", "gas"} <= set(fitted.members[0].discrepancy.surface.ranges)
    at = {"dp": 4.0, "tp": 4.0, "pp": 1.0, "mbs": 2.0, "layers": 24.0, "gas": np.array([1.0, 32.0])}
    few, many = fitted.predict(pd.DataFrame(at))["time"]
    assert 10.0 < many / few < 32.0
    again = parse_model(dump_model(fitted), "again").predict(pd.DataFrame(at))["time"]
    assert again.to_list() == pytest.approx([few, many], rel=1e-6)


def test_a_surface_of_no_weight_changes_nothing() -> None:
    none = member(msgspec.structs.replace(PLAIN, surface=msgspec.structs.replace(SURFACE_OF_THREE, weight=0.0)))
    asked = {"gpus": np.array([1.0, 3.0, 64.0])}
    assert central_times([none], asked) == pytest.approx(central_times([member(PLAIN)], asked))
    assert np.allclose(forecasts([none], asked)[0][1], forecasts([member(PLAIN)], asked)[0][1])


def test_an_expression_that_says_no_time_at_all_says_so_without_a_warning() -> None:
    # One of two draws has a coefficient of zero: its logarithm is −∞ inside the range and outside.
    half = member(msgspec.structs.replace(PLAIN, surface=SURFACE_OF_THREE))
    nothing = replace(half, constants=np.zeros(1), draws=np.array([[0.0], [2.0]]))
    asked = {"gpus": np.array([1.0, 8.0])}
    assert np.all(central_times([nothing], asked) == 0.0)
    ((mean, _),) = forecasts([nothing], asked)
    assert np.all(np.isneginf(mean[0]))
    assert mean[1] == pytest.approx(forecasts([half], asked)[0][0][1])


def test_the_covariance_has_the_variances_of_the_forecast() -> None:
    both = msgspec.structs.replace(PLAIN, surface=SURFACE_OF_THREE)
    asked = {"gpus": np.array([1.0, 3.0, 4.0])}
    covariance = both.covariance(asked)[0]
    assert np.diag(covariance) == pytest.approx(both.forecast(asked)[1][0])
    assert np.linalg.eigvalsh(covariance).min() > -1e-12


def test_the_share_is_that_of_the_smaller_errors() -> None:
    errors = np.random.default_rng(0).normal(0.0, 0.1, 200)
    other = np.random.default_rng(1).normal(0.0, 0.1, 200)
    assert _share(errors, 5.0 * errors) < SURFACE.least
    assert _share(5.0 * errors, errors) > 0.95
    # Independent errors of the same size: half of each errs least.
    assert _share(errors, other) == pytest.approx(0.5, abs=0.1)


def smooth() -> gp.Table:
    """Return steps that are smooth in the factors, and no sum of powers."""
    levels = {"batch": (8, 16, 32, 64), "gpus": (1, 2, 4, 8, 16), "net": ("a", "b")}
    frame = pd.MultiIndex.from_product(list(levels.values()), names=list(levels)).to_frame(index=False)
    wave = 0.5 * np.sin(np.log2(frame.batch) + 0.7 * np.log2(frame.gpus)) * np.where(frame.net == "a", 1.0, -1.0)
    return gp.read_table(
        frame.assign(t=0.01 * frame.batch * np.exp(wave)),
        time="t",
        intrinsic="batch",
        extrinsic="gpus",
        categorical="net",
    )


FITTED = gp.fit(smooth(), draws=20)


def test_what_is_smooth_is_predicted_by_the_surface() -> None:
    assert FITTED.options["surface"] > 0.2
    assert FITTED.best.discrepancy is not None
    assert FITTED.best.discrepancy.surface is not None
    table = smooth()
    held = np.arange(len(table)) % 4 == 1
    train = gp.fit(table.take(~held), draws=20)
    found = train.predict(table.take(held).frame[["batch", "gpus", "net"]])
    # The law is off by up to 65 % either way from any product of powers.
    assert np.median(np.abs(found.time / table.measured[held] - 1.0)) < 0.06


def test_the_model_file_holds_it() -> None:
    text = dump_model(FITTED)
    again = parse_model(text)
    assert dump_model(again) == text
    asked = {"batch": [16, 48], "gpus": [4, 64], "net": "a"}
    pd.testing.assert_frame_equal(again.predict(asked), FITTED.predict(asked))


@pytest.mark.parametrize(
    ("found", "changed", "message"),
    [('"weight":', '"weight":7', "weight or its scale"), ('"ranges":{"', '"ranges":{"x', "ranges do not match")],
)
def test_a_spoilt_surface_is_refused(found: str, changed: str, message: str) -> None:
    head, mark, rest = dump_model(FITTED).partition('"surface":{')
    with pytest.raises(ModelError, match=message):
        parse_model(head + mark + rest.replace(found, changed, 1))
