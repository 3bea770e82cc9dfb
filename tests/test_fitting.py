"""The door: names, formulas, groups, refusals."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of

import genperf as gp
from genperf.attribution import Knee
from genperf.result import dump_model, parse_model
from genperf.search import Job


def law(n: Any) -> Any:
    return 1.0 + 8.0 / n


def table(frame: pd.DataFrame, **roles: Any) -> gp.Table:
    return gp.read_table(frame, time="s", extrinsic="workers", **roles)


SCALES = pd.DataFrame({"workers": [1, 2, 4, 8, 16]}).assign(s=lambda d: law(d.workers))


def test_the_submodule_does_not_shadow_the_function() -> None:
    import genperf.fitting

    assert callable(gp.fit)
    assert inspect.unwrap(gp.fit) is genperf.fitting.fit


def test_public_names_are_there() -> None:
    assert all(hasattr(gp, name) for name in gp.__all__)
    assert set(gp.__all__) <= set(dir(gp))
    with pytest.raises(AttributeError):
        gp.nothing  # noqa: B018


def test_a_fixed_constant_stays() -> None:
    result = gp.fit(table(SCALES), model="amdahl", fix={"c": 0.5}, lam=0.0)
    assert "c" not in result.best.values
    assert result.predict({"workers": 1e9}).time[0] == pytest.approx(0.5, rel=1e-6)


def test_weights_move_the_fit() -> None:
    frame = pd.concat([SCALES.assign(w=1.0), SCALES[-1:].assign(workers=32, s=5.0, w=0.0)])
    result = gp.fit(table(frame, weight="w"), model="amdahl", lam=0.0)
    assert result.best.values["a"] == pytest.approx(8.0, rel=1e-6)


# --- A table with other column names and a mapping gets the answers of one with the field's names --------------------

#: Columns of the one table → of the other.
COLUMNS = {"workers": "world", "batch": "mystery"}
RUNS = runs_of(
    lambda f: 0.01 + 0.003 * f.batch + 0.02 * (f.workers - 1) / f.workers + 0.0002 * f.run,
    {"workers": (1, 2, 4, 8), "batch": (16, 32), "run": (0, 1)},
)


def fitted(renamed: bool, model: str = "ring-allreduce") -> gp.FitResult:
    names = COLUMNS if renamed else {name: name for name in COLUMNS}
    table = gp.read_table(
        RUNS.rename(columns=names), time="s", extrinsic=names["workers"], intrinsic=names["batch"], repeat="run"
    )
    result = gp.fit(table, model, mapping=names)
    # The mapping must be in the model file.
    return parse_model(dump_model(result))


@pytest.fixture(scope="module")
def named() -> gp.FitResult:
    return fitted(renamed=False)


@pytest.fixture(scope="module")
def mapped() -> gp.FitResult:
    return fitted(renamed=True)


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    back = {column: name for name, column in COLUMNS.items()}
    renamed = other.rename(columns=back).replace(back, regex=True)
    pd.testing.assert_frame_equal(one, renamed, check_like=True)


def test_advice_knows_them_too(named: gp.FitResult, mapped: gp.FitResult) -> None:
    over = {"workers": "1:32:*2", "batch": [16, 32]}
    least, job = "time*50000/(workers*batch)", Job(steps="50000/(workers*batch)")
    one, other = (gp.optimize(result, over, "workers*batch <= 512", least, job=job) for result in (named, mapped))
    same(one.best, other.best)
    assert "cost" in other.best
    assert gp.optimize(mapped, {"world": "1:32:*2", "mystery": [16, 32]}).configurations == 12
    one, other = (gp.suggest(result, {"workers": 64}, cost="workers") for result in (named, mapped))
    same(one.candidates, other.candidates)


def test_either_name_is_answered(mapped: gp.FitResult, tmp_path: Path) -> None:
    expected = mapped.predict({"world": [16, 32], "mystery": 16})
    rows = pd.DataFrame({"workers": [16, 32], "mystery": [16, 16]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for data in ({"workers": [16, 32], "batch": 16}, rows, str(tmp_path / "rows.csv")):
        assert mapped.predict(data)["time"].tolist() == expected["time"].tolist()
    assert list(mapped.predict(rows).columns[:2]) == ["world", "mystery"]
    explanation = gp.explain(mapped, {"workers": 8, "batch": 16}, versus={"workers": 16}, knee=Knee(along="workers"))
    assert explanation.comparison is not None


@pytest.mark.parametrize("data", [{"workers": 8, "world": 16, "mystery": 16}, {"wrkers": 8}, {"nodes": 8}])
def test_two_names_of_one_factor_and_unknown_ones_are_refused(mapped: gp.FitResult, data: dict[str, float]) -> None:
    with pytest.raises(gp.GenperfError, match=r"are one factor|has no factor"):
        mapped.predict(data)
    with pytest.raises(gp.GenperfError, match=r"are one factor|has no factor"):
        gp.explain(mapped, data)


def test_a_column_of_the_tables_own_name_goes_before_the_mapping() -> None:
    runs = RUNS.rename(columns={"workers": "world"}).assign(workers=[3, 5] * 8)
    table = gp.read_table(runs, time="s", extrinsic="world,workers", intrinsic="batch")
    result = gp.fit(table, "a*batch + b/world + d*workers + c", mapping={"workers": "world"})
    assert result.predict({"workers": 3, "world": 2, "batch": 16})["workers"].tolist() == [3.0]


@pytest.mark.parametrize("mapping", [{"workers": "wrld"}, {"wrkers": "world"}])
@pytest.mark.parametrize("model", ["auto", "generic", "a/world + c"])
def test_a_mapping_that_is_none_is_refused_by_every_model(mapping: dict[str, str], model: str) -> None:
    table = gp.read_table(RUNS.rename(columns=COLUMNS), time="s", extrinsic="world", intrinsic="mystery")
    with pytest.raises(gp.GenperfError, match=r"no family has a factor|is not a factor of the table"):
        gp.fit(table, model, mapping=mapping)


def test_a_law_names_the_terms_that_the_runs_do_not_determine() -> None:
    runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "s": [3.1, 1.6, 0.85, 0.475, 0.2875]})
    notes = {n.kind: n.text for n in gp.fit(runs, "ring-allreduce", time="s", extrinsic="workers", scaling="job").notes}
    assert notes["undetermined"].startswith("these runs do not determine bandwidth and latency: other terms hide them")
    # Of what a table does not measure, the reading of the input is told where the law has it.
    assert "reading the input" not in notes["passes"]
    of_phases = gp.fit(runs, "s-sgd", time="s", extrinsic="workers", scaling="job", draws=5).notes
    assert "reading the input, where it is not hidden, is part of them" in {n.kind: n.text for n in of_phases}["passes"]


@pytest.mark.usefixtures("few_counts")
def test_numbers_that_underflow_raise_nothing() -> None:
    # Values that lie far apart beside a kernel's length: exp of minus their distance is zero.
    frame = gp.datasets.frame("dlperf_gpt").head(40)
    with np.errstate(all="raise"):
        result = gp.fit(gp.read_table(frame, **gp.datasets.roles("dlperf_gpt")), draws=20)
        assert np.isfinite(result.predict(nodes=8, devices=64).time[0])
        assert gp.ask(result, at={"nodes": 8, "devices": 64}).sentences
        gp.GenericRegressor("auto", extrinsic="workers").fit(SCALES[["workers"]], SCALES["s"])
