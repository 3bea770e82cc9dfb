"""Predictions: the configuration that is asked, bands, combinations, and the samples of a step."""

from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import genperf as gp
from genperf.asking import Question, ask
from genperf.errors import TableError
from genperf.panel.panel import Target
from genperf.prediction import Schema, mixture_quantiles, read_query, schema_of
from genperf.prediction.bands import POINTS
from genperf.prediction.verdict import Basis, apart
from genperf.table import Factor

SCHEMA = Schema(
    (
        Factor("workers", "extrinsic", 1, 16, distinct=5, integer=True, positive=True),
        Factor("batch", "intrinsic", 32, 32, distinct=1, integer=True, positive=True),
        Factor("flops", "intrinsic", 10, 20, distinct=2, positive=True),
        Factor("framework", "categorical", distinct=2, levels=("mxnet", "pytorch")),
    ),
    Target("step_s"),
    derived={"flops": "10*layers"},
)
FULL = {"workers": 2, "flops": 10, "framework": "mxnet"}


@pytest.mark.parametrize("values", [[2, 4], (2, 4), np.array([2, 4]), pd.Series([2, 4], index=[7, 5])])
def test_several_values_combine_each_with_each(values: Any) -> None:
    query = read_query({**FULL, "workers": values, "flops": [10, 20]}, SCHEMA)
    pairs = list(zip(query.columns["workers"], query.columns["flops"], strict=True))
    assert pairs == [(2, 10), (2, 20), (4, 10), (4, 20)]


def test_a_question_is_completed() -> None:
    query = read_query(FULL, SCHEMA)
    assert query.columns["batch"].tolist() == [32.0]
    # A derived factor is derived again; two names of one factor agree.
    assert read_query({"workers": 2, "layers": 2, "framework": "mxnet"}, SCHEMA).columns["flops"].tolist() == [20.0]
    query = read_query({**FULL, "workers": [2, 4], "gpus": [2.0, 4.0]}, SCHEMA)
    assert query.columns["workers"].tolist() == [2.0, 4.0]
    # Text cells become numbers, and other columns stay.
    frame = pd.DataFrame({"workers": ["2", "4"], "flops": [10, 20], "framework": ["mxnet"] * 2, "note": ["x", "y"]})
    query = read_query(frame, SCHEMA)
    assert query.columns["workers"].tolist() == [2.0, 4.0]
    assert query.given == ("workers", "flops", "framework", "note")
    assert query.take(np.array([False, True])).columns["flops"].tolist() == [20.0]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({**FULL, "workers": float("nan")}, "workers"),
        ({**FULL, "workers": []}, "nothing is requested"),
        ({**FULL, "workers": [2, 4], "gpus": [2, 8]}, "'workers' and 'gpus' are one factor"),
        ({**FULL, "flops": None}, "flops"),
        ({"flops": 10, "framework": "mxnet"}, "measured from 1 to 16"),
        ({"flops": 10, "workers": 1}, "one of mxnet, pytorch"),
        (pd.DataFrame({"workers": []}), "no row"),
    ],
)
def test_refused(question: Any, said: str) -> None:
    with pytest.raises(TableError) as caught:
        read_query(question, SCHEMA)
    assert said in str(caught.value)


LEVELS = np.array([0.05, 0.5, 0.95])
Array = npt.NDArray[np.float64]


def test_quantiles_by_hand() -> None:
    # Of one log-normal, of draws without spread, and never zero or below.
    exact = np.exp([NormalDist(np.log(2.0), 0.3).inv_cdf(p) for p in LEVELS])
    assert np.allclose(mixture_quantiles(np.log([[2.0]]), np.ones(1), np.array([0.3]), LEVELS)[:, 0], exact, rtol=0.01)
    draws = np.log(np.linspace(1.0, 2.0, 1001))[:, None]
    found = mixture_quantiles(draws, np.ones(1001), np.zeros(1), LEVELS)[:, 0]
    assert np.allclose(found, [1.05, 1.5, 1.95], atol=2e-3)
    assert (mixture_quantiles(np.full((3, 2), -300.0), np.ones(3), np.array([5.0, 0.0]), LEVELS) > 0).all()
    # Nine tenths of the weight at 1 s and one tenth at 10 s: the 95 % quantile is at 10 s, the median at 1 s.
    found = mixture_quantiles(np.log([[1.0], [10.0]]), np.array([0.9, 0.1]), np.array([1e-3]), LEVELS)[:, 0]
    assert np.allclose(found, [1.0, 1.0, 10.0], rtol=5e-3)


def in_order(logarithms: Array, weights: Array, sd: Array) -> Array:
    """Quantiles row by row, with every point of the mixture put in order."""
    normal = np.array([NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)])
    out = np.empty((len(LEVELS), logarithms.shape[1]))
    for j in range(logarithms.shape[1]):
        points, shares = logarithms[:, j], weights / weights.sum()
        if sd[:, j].any():
            points, shares = (points[:, None] + sd[:, j, None] * normal).ravel(), np.repeat(shares, POINTS) / POINTS
        order = np.argsort(points, kind="stable")
        middle = np.cumsum(shares[order]) - 0.5 * shares[order]
        out[:, j] = np.interp(LEVELS, middle, points[order])
    return np.exp(out)


@pytest.mark.parametrize(("rows", "draws"), [(1, 400), (8, 1), (300, 12)])
@pytest.mark.parametrize("kind", ["neighbours", "unrelated", "two heaps", "some without spread", "one for all draws"])
def test_rows_searched_together_are_those_put_in_order(kind: str, draws: int, rows: int) -> None:
    """1e-9 of the time, whatever stands in the neighbouring rows."""
    rng = np.random.default_rng([draws, rows])
    weights = rng.random(draws) ** 3 + 1e-3
    place = np.linspace(0.0, 5.0, rows)
    logarithms = rng.normal(0.0, 0.1, (draws, 1)) * (1.0 + place) - place
    sd = np.abs(rng.normal(0.05, 0.02, (draws, 1))) * (1.0 + place)
    if kind == "unrelated":
        logarithms, sd = logarithms + rng.normal(0.0, 9.0, rows), sd * np.exp(rng.normal(0.0, 1.0, rows))
    elif kind == "two heaps":
        logarithms = logarithms + 40.0 * (rng.random((draws, rows)) < 0.5)
    elif kind == "some without spread":
        sd = sd * (rng.random((draws, rows)) < 0.5) * (rng.random(rows) < 0.8)
    elif kind == "one for all draws":
        sd = np.broadcast_to(sd[:1], (draws, rows))
    found = mixture_quantiles(logarithms, weights, sd[0] if kind == "one for all draws" else sd, LEVELS)
    np.testing.assert_allclose(found, in_order(logarithms, weights, sd), rtol=1e-9)


# --- combinations of values that were measured, and those that were not ----------------------------------------------


def schema_of_runs(runs: pd.DataFrame, **roles: str) -> Schema:
    return schema_of(gp.read_table(runs.assign(s=np.arange(1.0, len(runs) + 1.0)), time="s", **roles))


def doublings(schema: Schema, **at: object) -> float:
    return float(shortfalls_of(schema, dict(at))[0])


def shortfalls_of(schema: Schema, at: object) -> npt.NDArray[np.float64]:
    query = read_query(at, schema)
    return apart(schema.factors, Basis(schema).corners, query.columns, query.rows)[0]


def test_levels_that_never_met() -> None:
    runs = pd.DataFrame({"net": ["a", "a", "b"], "precision": ["half", "full", "full"]})
    schema = schema_of_runs(runs, categorical="net,precision")
    assert [doublings(schema, net=net, precision="half") for net in "ba"] == [1.5, 0.0]
    # A level at a scale where only others were measured.
    runs = pd.DataFrame([(f, n) for f, most in (("a", 4), ("b", 64)) for n in (1, 2, 4, 16, 64) if n <= most],
                        columns=["net", "gpus"])  # fmt: skip
    schema = schema_of_runs(runs, categorical="net", extrinsic="gpus")
    assert [doublings(schema, net="a", gpus=n) for n in (4, 8, 64)] == [0.0, 1.0, 1.5]


@pytest.mark.parametrize("model", ["usl", "generic"])
@pytest.mark.parametrize("factor", ["batch", "layers"])
def test_the_far_corner_of_a_diagonal_was_not_measured(model: str, factor: str) -> None:
    n = np.repeat([1.0, 2, 4, 8, 16, 32], 2)
    runs = pd.DataFrame({"workers": n, factor: 4 * n, "s": 9 / n + 0.5 + 0.01 * n})
    result = gp.fit(runs, model, time="s", extrinsic="workers", intrinsic=factor, draws=20)
    predicted = result.predict(pd.DataFrame({"workers": [1.0, 32, 32], factor: [128.0, 4, 128]}))
    assert predicted.verdict.tolist()[:2] == ["extrapolating-blind"] * 2
    assert "were never measured together" in predicted.reason[0]
    assert "never" not in predicted.reason[2]


# --- what a question leaves open is taken as it was in every run: the global batch grows, or the passes fall ---------

#: 16 samples a worker in every run, and 256 samples a step in passes of four.
GROWING = pd.DataFrame({"gpus": [8, 16, 32], "global_batch": [128, 256, 512], "s": [1.52, 1.56, 1.61]})
PASSES = pd.DataFrame(
    {"world_size": [8, 16, 32], "micro_batch": [4, 4, 4], "grad_accum": [8, 4, 2], "s": [3.12, 1.59, 0.84]}
)


def fitted(runs: pd.DataFrame, **roles: str) -> gp.FitResult:
    return gp.fit(runs, time="s", **roles)


def test_the_global_batch_grows_with_the_workers() -> None:
    result = fitted(GROWING, extrinsic="gpus,global_batch")
    assert result.predict({"gpus": 64})["global_batch"].tolist() == [1024.0]
    # Given, it is as it is given.
    assert result.predict({"gpus": 64, "global_batch": 512})["global_batch"].tolist() == [512.0]
    answer = ask(result, {"gpus": 64}, Question())
    assert not answer.taken
    assert 0.85 < answer.numbers["efficiency"] < 1.0


def test_passes_fall_as_the_workers_grow() -> None:
    result = fitted(PASSES, extrinsic="world_size", intrinsic="micro_batch,grad_accum")
    assert result.predict({"world_size": [16, 64, 256]})["grad_accum"].tolist() == [4.0, 1.0, 1.0]
    answer = ask(result, {"world_size": 64}, Question())
    # 256 samples at either count.
    assert answer.numbers["throughput"] == pytest.approx(256 / answer.numbers["time"])
    assert 0.7 < answer.numbers["efficiency"] <= 1.0


@pytest.mark.parametrize(
    "changed",
    [
        # A batch that grew less than the workers, by far: nothing follows.
        GROWING.assign(global_batch=[128, 192, 192]),
        # Both at every count: the ranges alone would say that they grow together.
        pd.concat([GROWING, GROWING.assign(global_batch=[512, 256, 128], s=[5.9, 1.57, 0.6])]),
    ],
)
def test_a_batch_that_was_free_is_not_taken_to_follow(changed: pd.DataFrame) -> None:
    result = fitted(changed, extrinsic="gpus,global_batch")
    with pytest.raises(gp.GenperfError, match="'global_batch' is missing"):
        result.predict(pd.DataFrame({"gpus": [64]}))
    # A question is answered as `ask` does, at what a measured run had.
    answer = gp.ask(result, gpus=64)
    there = result.predict({"gpus": 64})
    assert there["global_batch"].tolist() == [dict(answer.facts.at)["global_batch"]]
    assert there["time"].tolist() == [pytest.approx(answer.facts.expected.value.value)]
