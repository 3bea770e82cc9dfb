"""What must not change a prediction: the order of rows and columns, names, units, and where it is computed."""

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of

import genperf as gp
from genperf.cli.main import run
from genperf.result import dump_model

#: Largest relative difference where names change, and where constants are searched from other places.
SAME, SEARCHED = 1e-9, 1e-6


def law(frame: pd.DataFrame) -> pd.Series:
    speed = frame.framework.map({"tf": 1.0, "mxnet": 1.3, "torch": 0.9}) if "framework" in frame else 1.0
    batch = frame.batch if "batch" in frame else 32
    return speed * (0.2 + 0.01 * batch * (1 + 3 / frame.workers) + 0.05 * np.log2(frame.workers + 1))


COUNTS = (1, 2, 4, 8, 16)
SERIES = runs_of(law, {"workers": COUNTS}, noise=0.02, repeats=3)
FACTORS = runs_of(
    law, {"framework": ("tf", "mxnet", "torch"), "workers": COUNTS[:4], "batch": (16, 64)}, noise=0.02, repeats=2
)


#: Counts and sizes of several columns in one role, and phases beside the total.
LAYOUTS = runs_of(
    lambda f: 0.1 + 0.01 * f.batch * f.layers / (f.workers * f.threads**0.5) + 0.02 * np.log2(f.workers),
    {"workers": COUNTS[:4], "threads": (1, 2, 4), "batch": (16, 64), "layers": (12, 24)},
    noise=0.02,
)
PHASES = SERIES.assign(forward_s=0.3 * SERIES.s, comm_s=0.2 * SERIES.s * (SERIES.workers > 1) + 1e-4)


@dataclass(frozen=True)
class Case:
    """A table with a model."""

    table: pd.DataFrame
    model: str


CASES = {
    "series, auto": Case(SERIES, "auto"),
    "series, amdahl": Case(SERIES, "amdahl"),
    "series, formula": Case(SERIES, "a*workers**p + c/workers"),
    "factors, auto": Case(FACTORS, "auto"),
    "factors, generic": Case(FACTORS, "generic"),
    "factors, formula": Case(FACTORS, "c + a*batch*(1 + d/workers)"),
    "layouts, auto": Case(LAYOUTS, "auto"),
    "layouts, ernest": Case(LAYOUTS, "ernest"),
    "phases, s-sgd": Case(PHASES, "s-sgd"),
}
AT = {
    "framework": ["tf", "mxnet", "torch", "tf"],
    "workers": [4.0, 32.0, 3.0, 64.0],
    "batch": [32.0, 64.0, 24.0, 128.0],
    "threads": [1.0, 4.0, 8.0, 2.0],
    "layers": [12.0, 48.0, 24.0, 24.0],
}
ROLES = {"extrinsic": ("workers", "threads"), "intrinsic": ("batch", "layers"), "categorical": ("framework",)}


def predicted(table: pd.DataFrame, result: gp.FitResult, names: dict[str, str] | None = None) -> np.ndarray:
    """Return predictions at `AT` by the model of a table, some of whose columns may have another of `names`."""
    names = names or {}
    asked = {names.get(name, name): values for name, values in AT.items() if names.get(name, name) in table}
    return result.predict(pd.DataFrame(asked))[["time", "lower", "upper"]].to_numpy()


def fitted(
    table: pd.DataFrame, model: str, names: dict[str, str] | None = None, unit: str | None = None
) -> gp.FitResult:
    """Return the model of a table whose columns have their roles in the order in which they stand."""
    of_role = {role: [(names or {}).get(name, name) for name in listed] for role, listed in ROLES.items()}
    given = {role: [name for name in table.columns if name in listed] for role, listed in of_role.items()}
    return gp.fit(table, model, time="s", unit=unit, draws=20, **given)


@cache
def plain(name: str) -> gp.FitResult:
    """Return the model of a case."""
    return fitted(CASES[name].table, CASES[name].model)


@pytest.mark.usefixtures("few_counts")
@pytest.mark.parametrize("name", CASES)
def test_order_of_rows_and_columns(name: str) -> None:
    case = CASES[name]
    rows = case.table.sample(frac=1.0, random_state=1)
    mixed = fitted(rows[case.table.columns[::-1]], case.model)
    np.testing.assert_array_equal(predicted(rows, mixed), predicted(case.table, plain(name)))
    # So are the bytes of the file, but for the order in which the columns are named.
    assert dump_model(fitted(rows.reset_index(drop=True), case.model)) == dump_model(plain(name))


@pytest.mark.parametrize("model", ["auto", "generic", "amdahl"])
def test_a_row_of_weight_zero_is_as_if_left_out(model: str, tmp_path: Path) -> None:
    weighted = SERIES.assign(w=np.where(SERIES.workers == 4, 0.0, 1.0 + SERIES.workers % 3))
    # Its cells are not checked either.
    weighted.loc[weighted.w == 0.0, "s"] = -1.0
    results = [
        gp.fit(table, model, time="s", extrinsic="workers", weight="w")
        for table in (weighted, weighted[weighted.w > 0])
    ]
    left_out, without = (result.predict({"workers": [4, 64]}) for result in results)
    pd.testing.assert_frame_equal(left_out, without, check_exact=True)
    assert "3 rows left out, of 'w' 0" in [note.text for note in results[0].notes]
    # The same holds where rows are summarised while they are read.
    files = [tmp_path / "all.csv", tmp_path / "some.csv"]
    SERIES.assign(w=weighted.w).to_csv(files[0], index=False)
    weighted[weighted.w > 0].to_csv(files[1], index=False)
    summaries = [gp.read_table(path, time="s", extrinsic="workers", weight="w", aggregate=True) for path in files]
    assert summaries[0].sha256 == summaries[1].sha256


@pytest.mark.usefixtures("few_counts")
@pytest.mark.parametrize("name", CASES)
def test_names_of_columns(name: str) -> None:
    case = CASES[name]
    # Another name of the field for the workers, and a name that says nothing.
    names = {"workers": "gpus", "framework": "zz top"}
    model = case.model.replace("workers", "gpus")
    renamed = case.table.rename(columns=names)
    forecast = predicted(renamed, fitted(renamed, model, names), names)
    np.testing.assert_allclose(forecast, predicted(case.table, plain(name)), rtol=SAME)


@pytest.mark.usefixtures("few_counts")
@pytest.mark.parametrize("name", CASES)
def test_unit_of_the_time(name: str) -> None:
    case = CASES[name]
    scaled = case.table.assign(s=case.table.s * 1e3)
    forecast = predicted(scaled, fitted(scaled, case.model, unit="ms"))
    np.testing.assert_allclose(forecast, predicted(case.table, plain(name)), rtol=SEARCHED)


def test_hash_seed_and_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FACTORS.to_csv(tmp_path / "runs.csv", index=False)
    columns = ["--time", "s", "--extrinsic", "workers", "--intrinsic", "batch", "--categorical", "framework"]
    roles = [*columns, "--model", "generic"]
    # In this process with one thread, and in one with two threads and another seed than is drawn here.
    monkeypatch.chdir(tmp_path)
    assert run(["fit", "runs.csv", *roles, "-q", "-o", "here.json"]) == 0
    command = [sys.executable, "-m", "genperf", "fit", "runs.csv", *roles, "-q", "-o", "there.json"]
    variables = {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    subprocess.run(command, env={**os.environ, **variables}, check=True, capture_output=True)
    assert Path("here.json").read_bytes() == Path("there.json").read_bytes()


def test_columns_that_the_count_settles_move_no_answer() -> None:
    """A layout whose data-parallel ways and passes follow from the devices is the series of these."""
    runs = pd.DataFrame({"gpus": [8, 16, 32, 64], "gbs": 512, "step_s": [8.1, 4.12, 2.14, 1.15]})
    layout = runs.assign(tp=4, dp=runs["gpus"] // 4, mbs=1, grad_accum=2048 // runs["gpus"])
    alone, beside = (gp.ask(table, gpus=256).answers[0] for table in (runs, layout))
    assert [beside.value, beside.lower, beside.upper] == pytest.approx(
        [alone.value, alone.lower, alone.upper], rel=0.02
    )
    assert beside.verdict == alone.verdict
