"""Combinations of values that were measured, and those that were not."""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import genperf as gp
from genperf.prediction.distance import apart, corners
from genperf.prediction.query import read_query
from genperf.prediction.schema import Schema, schema_of
from genperf.prediction.verdict import Basis, verdicts
from genperf.result import FitResult
from genperf.words.verdict import reasons


def schema_of_runs(runs: pd.DataFrame, **roles: str) -> Schema:
    return schema_of(gp.read_table(runs.assign(s=np.arange(1.0, len(runs) + 1.0)), time="s", **roles))


def doublings(schema: Schema, **at: object) -> float:
    return float(shortfalls_of(schema, dict(at))[0])


def shortfalls_of(schema: Schema, at: object) -> npt.NDArray[np.float64]:
    query = read_query(at, schema)
    return apart(schema.factors, corners(schema), query.columns, query.rows)[0]


@pytest.fixture(scope="module")
def models() -> Schema:
    """Return models of 1, 8 and 32 units; the larger a model, the smaller its largest micro-batch: 128, 16, 2."""
    rows = [(p, m, g) for p, most in ((1, 128), (8, 16), (32, 2)) for m in (1, 2, 4, 16, 128) if m <= most
            for g in (8, 16, 32)]  # fmt: skip
    return schema_of_runs(
        pd.DataFrame(rows, columns=["params", "micro", "gpus"]), intrinsic="params,micro", extrinsic="gpus"
    )


@pytest.mark.parametrize(
    ("params", "micro", "expected"),
    [
        (8, 16, 0.0),  # measured
        (6, 12, 0.0),  # 8 with 16 reaches further in both
        (8, 32, 1.0),  # one doubling from 8 with 16
        (32, 8, 2.0),  # from 32 with 2, as far as from 8 with 16
        (32, 32, 3.0),  # from 8 with 16: 2 + 1
        (32, 128, 5.0),  # from 1 with 128: 5; from 8 with 16: 2 + 3
        (64, 2, 0.0),  # beyond the range of one factor only: that is judged by its range
        (64, 128, 5.0),
    ],
)
def test_distance_from_the_runs(models: Schema, params: float, micro: float, expected: float) -> None:
    assert doublings(models, params=params, micro=micro, gpus=8) == expected


def test_the_nearest_run_is_named(models: Schema) -> None:
    query = read_query({"params": 32, "micro": 16, "gpus": 64}, models)
    _, marks = verdicts(Basis(models, several_forms=True), query.columns, np.array([0.1]))
    assert "apart" in [mark.about for mark in marks]
    text = "params=32 and micro=16 were never measured together; nearest run: params=8, micro=16, gpus=32"
    assert text in reasons(marks, 1)[0]


def test_a_full_factorial_design_has_no_such_corner() -> None:
    grid = pd.MultiIndex.from_product([[1, 64], [1, 8, 128], ["a", "b"]], names=["gpus", "batch", "net"])
    schema = schema_of_runs(grid.to_frame(index=False), intrinsic="batch", extrinsic="gpus", categorical="net")
    assert corners(schema) == []


def test_a_random_design_keeps_its_interior() -> None:
    rng = np.random.default_rng(1)
    names = ["gpus", "batch", "layers", "filters", "size"]
    draw = pd.DataFrame(2.0 ** rng.uniform(0, 5, (240, 5)), columns=names)
    schema = schema_of_runs(draw[:200], intrinsic="batch,layers,filters,size", extrinsic="gpus")
    ends = {f.name: (f.lower, f.upper) for f in schema.factors}
    inside = draw[200:].apply(lambda column: column.clip(*ends[str(column.name)]))
    assert (shortfalls_of(schema, inside) > 1).mean() == 0.0


def test_levels_that_never_met() -> None:
    runs = pd.DataFrame({"net": ["a", "a", "b"], "precision": ["half", "full", "full"]})
    schema = schema_of_runs(runs, categorical="net,precision")
    assert doublings(schema, net="b", precision="half") == 1.5
    assert doublings(schema, net="a", precision="half") == 0.0


def test_a_level_at_a_scale_where_only_others_were_measured() -> None:
    runs = pd.DataFrame([(f, n) for f, most in (("a", 4), ("b", 64)) for n in (1, 2, 4, 16, 64) if n <= most],
                        columns=["net", "gpus"])  # fmt: skip
    schema = schema_of_runs(runs, categorical="net", extrinsic="gpus")
    assert [doublings(schema, net="a", gpus=n) for n in (4, 8, 64)] == [0.0, 1.0, 1.5]


def test_nodes_that_follow_and_derived_factors_are_not_combined() -> None:
    runs = pd.DataFrame({"gpus": [1, 64, 4096], "nodes": [1, 8, 512], "s": [3.0, 2.0, 1.0]})
    assert corners(schema_of(gp.read_table(runs, time="s", extrinsic="gpus,nodes"))) == []
    grid = pd.DataFrame([(b, n, 1.0 + b / n) for b in (1, 64) for n in (1, 64)], columns=["batch", "gpus", "s"])
    table = gp.read_table(grid, time="s", intrinsic="batch,work", extrinsic="gpus", let={"work": "batch*gpus"})
    assert corners(schema_of(table)) == []


def test_a_model_that_keeps_some_configurations_only_is_not_judged(models: Schema) -> None:
    import msgspec

    assert corners(models)
    assert corners(msgspec.structs.replace(models, configurations=len(models.medians) + 1)) == []


def test_a_fit_says_so() -> None:
    rows = [(p, m, n, 0.1 + p * m / n) for p, most in ((1, 64), (4, 16), (16, 4)) for m in (1, 4, 16, 64) if m <= most
            for n in (1, 2, 4)]  # fmt: skip
    runs = pd.DataFrame(rows, columns=["params", "micro", "gpus", "s"])
    table = gp.read_table(runs, time="s", intrinsic="params,micro", extrinsic="gpus")
    result = gp.fit(table, "c + a*params*micro/gpus", draws=20)
    assert isinstance(result, FitResult)
    shown = result.predict({"params": [4, 16], "micro": [16, 64], "gpus": 2})
    # 4 with 64 and 16 with 16 are two doublings from a run, 16 with 64 is four.
    assert shown["verdict"].tolist() == ["ok", "caution", "caution", "extrapolating-blind"]
    assert "nearest run: params=" in shown["reason"].iloc[3]


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
