"""Runs of one factor at a time fit a sum of the effects as well as their product: both are members."""

import itertools

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.panel.configurations import each_doubled
from genperf.panel.table import one_at_a_time

LINES = {"batch": (8, 16, 32, 64, 128, 256), "layers": (2, 4, 8, 16, 32), "workers": (1, 2, 4, 8, 16)}
CORNER = {"batch": 256, "layers": 32, "workers": 16}


def fitted_to(law: str, model: str, counts: str = "workers") -> gp.FitResult:
    """Return a model of runs of one factor at a time that follow a law within 1 %; nodes follow from workers."""
    centre = {"batch": 64, "layers": 8, "workers": 4}
    rows = pd.DataFrame([{**centre, n: v} for n, values in LINES.items() for v in values]).drop_duplicates()
    rows["s"] = rows.eval(law) * np.exp(0.01 * np.random.default_rng(0).standard_normal(len(rows)))
    table = gp.read_table(rows.eval("nodes = (workers + 3)//4"), time="s", intrinsic="batch,layers", extrinsic=counts)
    return gp.fit(table, model, seed=0, draws=60)


@pytest.fixture(scope="module", params=["auto", "generic", "auto workers,nodes"])
def fitted(request: pytest.FixtureRequest) -> gp.FitResult:
    # 6.72 s at the far corner; the product of the effects is 28.
    return fitted_to("0.01*batch + 0.08*layers + 0.1*workers", *request.param.split())


def test_the_interval_holds_both_forms(fitted: gp.FitResult) -> None:
    corner = fitted.predict(CORNER).iloc[0]
    assert corner["lower"] < 6.72
    assert corner["upper"] > 15.0
    assert corner["verdict"] != "ok"
    assert len({member.name for member in fitted.members if member.weight > 0.2}) > 1
    near = fitted.predict({"batch": 128, "layers": 16, "workers": 8}).iloc[0]
    assert near["lower"] <= 3.36 <= near["upper"]
    notes = " ".join(map(str, fitted.notes))
    assert fitted.model != "auto" or "measure batch=256 and layers=32" in notes


def test_one_run_decides(fitted: gp.FitResult) -> None:
    run = gp.suggest(fitted, CORNER).chosen.iloc[0]
    assert (run[["batch", "layers"]] == [256, 32]).all()
    assert run["gain"] > 0.5


def test_a_change_of_one_factor_is_held(fitted: gp.FitResult) -> None:
    change = gp.explain(fitted, {"batch": 64, "layers": 8, "workers": 4}, versus={"workers": 8}).comparison
    assert change.lower < 0.4 < change.upper


def test_work_that_the_workers_divide_is_a_form() -> None:
    law = "0.1 + 0.002*batch*layers/workers + 0.1*sqrt(workers)"
    result = fitted_to(law, "auto")
    weights = {member.name: member.weight for member in result.members}
    assert weights["divided work"] == pytest.approx(weights["a sum of products"])
    # 0.1 + 4.096/16 + 0.4 = 0.756 s: a sum and a product of the effects exceed it.
    corner = {"batch": 64, "layers": 32, "workers": 16}
    (told,) = result.predict(corner).to_dict("records")
    assert told["lower"] < pd.DataFrame([corner]).eval(law).item() < told["upper"]


@pytest.mark.parametrize("law", ["work + 0.03*nodes**0.6", "(work + 0.03)*nodes**0.6"])
def test_a_grid_of_one_node_and_a_sweep_of_nodes_hold_a_sum_and_a_product(law: str) -> None:
    cells = [*itertools.product((10, 20, 40), (32, 64, 128), [1]), *((20, 64, nodes) for nodes in (2, 4, 8))]
    rows, law = pd.DataFrame(cells, columns=["layers", "batch", "nodes"]), law.replace("work", "layers*batch/64000")
    rows["step_s"] = rows.eval(law) * np.exp(0.01 * np.random.default_rng(0).standard_normal(len(rows)))
    result, corner = gp.fit(gp.read_table(rows), "auto", seed=0), {"layers": 40, "batch": 128, "nodes": 4}
    (told,) = result.predict(corner).to_dict("records")
    assert told["lower"] < pd.DataFrame([corner]).eval(law).item() < told["upper"]
    assert "no run varies layers or batch together with another factor" in " ".join(map(str, result.notes))


def test_devices_of_a_node_and_nodes_are_each_one_factor() -> None:
    cells = [*((20, 64, 1, gpus) for gpus in (1, 2, 4, 8)), *((20, 64, nodes, 4 * nodes) for nodes in (2, 4, 8))]
    rows = pd.DataFrame([*cells, (20, 16, 1, 4), (40, 64, 1, 4)], columns=["layers", "batch_per_gpu", "nodes", "gpus"])
    table = gp.read_table(rows.assign(step_s=0.1 + 0.01 * rows.nodes))
    assert one_at_a_time(table.medians())
    fuller = {name: np.array([value]) for name, value in zip(rows, (20.0, 64.0, 4.0, 32.0), strict=True)}
    assert [*each_doubled(table.panel, fuller)["batch_per_gpu"]] == ["batch_per_gpu"]
