"""The bank's forecasts of a table's series, as further rows of the process."""

import itertools
from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of

import genperf as gp
from genperf.discrepancy.form import positions
from genperf.panel import read_table
from genperf.panel.configurations import each_doubled
from genperf.panel.table import one_at_a_time
from genperf.prediction import stack_of
from genperf.process.growth import growth_of
from genperf.process.means import Coefficients, SumBasis, means_of, terms_of

ROLES = {"time": "s", "extrinsic": "gpus,nodes", "intrinsic": "batch", "categorical": "net"}


def runs(counts: tuple[int, ...] = (1, 2, 4, 8, 16)) -> pd.DataFrame:
    """Two networks and three batches; a doubling costs a twentieth, and the network between nodes a tenth."""
    frame = pd.DataFrame(itertools.product(counts, (16, 32, 64), "ab"), columns=["gpus", "batch", "net"])
    nodes = np.maximum(1, frame.gpus // 4)
    slower = 1.0 + 0.05 * np.log2(frame.gpus) + 0.1 * (nodes > 1)
    return frame.assign(nodes=nodes, s=0.01 * frame.batch * slower * np.where(frame.net == "a", 1.0, 1.7))


def test_forecasts_lie_beyond_the_largest_count_with_the_nodes_that_hold_it() -> None:
    table = gp.read_table(runs(), **ROLES).medians()
    growth = growth_of(table, 0.0)
    # Series are rows that differ in their count alone.
    assert len(set(growth.series.tolist())) == 6
    assert (growth.along(["nodes"]), growth.along(["batch"])) == (True, False)
    anchors = growth.anchors(np.flatnonzero(np.asarray(table.columns["gpus"], float) <= 8.0))
    assert sorted(set(anchors.columns["gpus"].tolist())) == [16.0, 32.0, 64.0]
    assert anchors.columns["nodes"] == pytest.approx(anchors.columns["gpus"] / 4.0)
    grown = runs((16, 32, 64)).set_index(["gpus", "batch", "net"]).s
    there = zip(anchors.columns["gpus"], anchors.columns["batch"], anchors.columns["net"], strict=True)
    away = anchors.centre - np.log([grown[key] for key in there])
    assert np.all(np.abs(away) < 2.0 * np.sqrt(anchors.variance))
    # The farther, the less is known.
    assert np.all(np.diff(anchors.variance.reshape(-1, 3), axis=1) > 0.0)


@pytest.mark.parametrize(
    ("frame", "roles"),
    [
        (runs().assign(servers=lambda d: d.gpus), {"extrinsic": "servers"}),
        (runs((4,)), {"extrinsic": "gpus"}),
        # A memory does not grow as a time.
        (runs(), {"time": None, "quantity": "s:GB"}),
    ],
    ids=["servers", "one count", "memory"],
)
def test_no_growth(frame: pd.DataFrame, roles: dict[str, str | None]) -> None:
    assert growth_of(gp.read_table(frame, **{**ROLES, **roles}).medians(), 0.0) is None


def test_the_stack_has_a_part_that_knows_the_forecasts() -> None:
    result = gp.fit(runs(), **ROLES)
    stack = stack_of(result.members)
    rows = sorted({len(part.residuals) for part in stack.parts})
    assert rows == [30, 30 + 6 * 3]
    out = result.predict({"gpus": [32], "nodes": [8], "batch": [32], "net": ["a"]}).iloc[0]
    assert out.time == pytest.approx(runs((32,)).query("batch == 32 and net == 'a'").s.iloc[0], rel=0.1)


@pytest.mark.parametrize("seed", range(2))
def test_forecasts_of_series_are_not_so_many_proofs(seed: int) -> None:
    # The bank forecasts 12 series that grow alike, as one belief. Counted as 12, the upper end was 1.56 and 1.60.
    law = lambda f: 0.05 + 0.002 * f.batch * f.layers + 0.05 * f.layers * (1 - 1 / f.workers) + 0.03 * f.workers  # noqa: E731
    values = {"batch": (16, 32, 64, 128), "layers": (4, 8, 16), "workers": (1, 2, 4, 8)}
    runs = runs_of(law, values, noise=0.02, seed=seed)
    table = read_table(runs, time="s", intrinsic="batch,layers", extrinsic="workers")
    there = pd.DataFrame({"batch": [16], "layers": [8], "workers": [32]})
    answer = gp.fit(table).predict(there, band="confidence").iloc[0]
    assert answer.lower < law(there).iloc[0] < answer.upper < 2.0 * answer.lower


# --- runs of one factor at a time fit a sum of the effects as well as their product: both are members ----------------

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


# --- sums of products: constants that are known are recovered, and none is below zero --------------------------------


def no_powers(rows: int, columns: int) -> tuple[np.ndarray, ...]:
    none = np.zeros(0), np.zeros(0), np.zeros((0, 3), int), np.zeros((rows, 0))
    return np.zeros((rows, 0)), np.zeros((0, columns)), *none


def test_a_share_of_the_constant_holds_it_where_sizes_have_powers() -> None:
    # T = (0.3 + 0.5·(batch/32)^0.7)·(1.5 at level y in the second term alone), 2 % noise.
    batch, level = np.tile([8.0, 16.0, 32.0, 64.0, 128.0], 8), np.repeat(["x", "y"], 20)
    work = 0.5 * (batch / 32.0) ** 0.7 * np.where(level == "y", 1.5, 1.0)
    seconds = (0.3 + work) * np.exp(0.02 * np.random.default_rng(3).standard_normal(40))
    runs = pd.DataFrame({"batch": batch, "level": level, "layers": np.repeat([2.0, 4.0, 8.0, 16.0], 10), "s": seconds})
    table = read_table(runs, time="s", intrinsic="batch,layers", categorical="level")
    explained = gp.explain(gp.fit(table), {"batch": 32, "level": "x", "layers": 2})
    constant = explained.terms.set_index("term").loc["constant"]
    assert constant["lower"] < 0.3 < constant["upper"]
    assert constant["upper"] - constant["lower"] < 0.3


@pytest.mark.parametrize("seed", range(2))
def test_sizes_that_grow_together_are_carried_on_by_their_powers(seed: int) -> None:
    # T = 0.02 + 1e-8·batch·filters²·image^1.6, 2 % noise, asked at twice the largest of each: with powers of one alone
    # the upper end is 2.7 to 4.5 times the lower.
    law = lambda f: 0.02 + 1e-8 * f.batch * f.filters**2 * f.image**1.6  # noqa: E731
    sizes = {"batch": (8, 16, 32), "filters": (16, 32, 64), "image": (16, 32, 64)}
    table = read_table(runs_of(law, sizes, noise=0.02, seed=seed), time="s", intrinsic="batch,filters,image")
    beyond = pd.DataFrame({"batch": [64.0], "filters": [128.0], "image": [128.0]})
    answer = gp.fit(table).predict(beyond).iloc[0]
    assert answer.lower < law(beyond).iloc[0] < answer.upper < 2.0 * answer.lower


@pytest.mark.parametrize("power", [0.3, 0.6, 0.9])
def test_the_power_of_a_count_is_found_beside_a_constant(power: float) -> None:
    # T = 0.3 + 0.02·batch/n + 0.2·n^q: from a wrong power only small steps lead along the valley to the right one.
    rows = pd.DataFrame(list(product((1.0, 2.0, 4.0, 8.0, 16.0), (8, 16, 32, 64, 128))), columns=["workers", "batch"])
    seconds = 0.3 + 0.02 * rows.batch / rows.workers + 0.2 * rows.workers**power
    medians = read_table(rows.assign(s=seconds), time="s", intrinsic="batch", extrinsic="workers").medians()
    mean = terms_of(medians)
    assert mean is not None
    places = positions(medians.factors, medians.columns)
    found, _ = mean.drawn(mean.basis(medians.columns), np.log(medians.measured), places)
    constant = [column.name for column in mean.columns].index("constant")
    assert found.powers[-1] == pytest.approx(power, abs=0.1)
    assert mean.plainest(found).columns[constant] == pytest.approx(0.3, abs=0.07)


def test_what_growth_has_at_one_worker_is_one_share_with_the_constant() -> None:
    # T = 0.3 + 0.02·batch/n·(2 if b) + 0.1·log₂ n, 1 % noise: 0.3 beside a logarithm, less beside a power of n.
    levels = {"workers": (1.0, 2.0, 4.0, 8.0), "batch": (16, 32, 64, 128), "net": ("a", "b")}
    work = lambda f: 0.02 * f.batch / f.workers * np.where(f.net == "b", 2.0, 1.0)  # noqa: E731
    rows = runs_of(lambda f: 0.3 + work(f) + 0.1 * np.log2(f.workers), levels, noise=0.01, seed=1)
    table = read_table(rows, time="s", intrinsic="batch", extrinsic="workers", categorical="net")
    explained = gp.explain(gp.fit(table), {"workers": 4, "batch": 32, "net": "a"})
    constant = explained.terms.set_index("term").loc["constant"]
    assert constant["lower"] < 0.2 < 0.3 < constant["upper"]
    joint = next(row for row in explained.together.to_dict("records") if "constant" in row["terms"])
    assert "workers" in joint["terms"]
    assert joint["lower"] < 0.5 < joint["upper"]
    assert joint["upper"] - joint["lower"] < 0.05


def test_a_growing_column_has_the_slopes_of_its_formula() -> None:
    # φ·(nᵖ − 1)/p: by ln c and by both powers, beside differences of 1e-6.
    rows = pd.DataFrame(list(product((1.0, 2.0, 4.0, 8.0), (8, 32, 128))), columns=["workers", "batch"])
    medians = read_table(rows.assign(s=1.0 + rows.index), time="s", intrinsic="batch", extrinsic="workers").medians()
    mean = terms_of(medians)
    assert mean is not None
    basis, powers = mean.basis(medians.columns), np.array([0.8, 0.4])
    at = Coefficients(np.linspace(0.2, 1.0, len(mean.columns)), np.zeros(0), powers)
    slopes = basis.slopes(at)[:, len(mean.columns) :]
    for place, step in enumerate(1e-6 * np.eye(2)):
        ends = [basis.log_sum(at._replace(powers=powers + sign * step)) for sign in (-1.0, 1.0)]
        assert (ends[1] - ends[0]) / 2e-6 == pytest.approx(slopes[:, place], abs=1e-7)


def test_a_sum_and_levels_are_recovered() -> None:
    # T = exp(±0.3)·(1 + 8/n), the effects shrunk by one row of 40.
    n = np.tile([1.0, 2.0, 4.0, 8.0], 10)
    level = np.repeat([0.0, 1.0], 20)
    y = np.where(level == 1.0, 0.3, -0.3) + np.log(1.0 + 8.0 / n)
    columns, levels = np.column_stack([np.ones(40), 1.0 / n, n]), np.column_stack([1 - level, level])
    basis = SumBasis(columns, np.full(3, 1e-6), levels, *no_powers(40, 3), np.zeros(3))
    found = basis.fitted(y)
    # What both levels have in common is that of the columns as well: only their ratio and distance are known.
    assert found.columns / found.columns[0] == pytest.approx([1.0, 8.0, 0.0], rel=0.01, abs=1e-3)
    assert np.diff(found.levels) == pytest.approx(0.6, rel=0.1)
    assert basis.log_sum(found) == pytest.approx(y, abs=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_the_constant_has_all_that_runs_of_one_factor_at_a_time_allow(seed: int) -> None:
    # On these lines 0.3 is as well the sum of a part by batch alone and one by layers alone, less one by both.
    centre = {"batch": 64, "layers": 8, "workers": 4}
    values = {"batch": (8, 16, 32, 128, 256), "layers": (2, 4, 16, 32), "workers": (1, 2, 8, 16)}
    runs = pd.DataFrame([centre, *({**centre, name: value} for name in values for value in values[name])])
    noise = np.exp(0.02 * np.random.default_rng(seed).standard_normal(len(runs)))
    runs["s"] = (0.3 + 0.003 * runs["batch"] * runs["layers"] * runs["workers"] ** 0.3) * noise
    result = gp.fit(read_table(runs, time="s", intrinsic=["batch", "layers"], extrinsic="workers"))
    constant = gp.explain(result, centre).terms.set_index("term").loc["constant"]
    # Without a choice of its own in each draw the upper end is 0.08.
    assert constant["lower"] == 0.0
    assert 0.25 < constant["upper"] < 0.6


def table() -> pd.DataFrame:
    levels = {"workers": (1, 2, 4, 8), "batch": (8, 32), "net": ("a", "b")}
    return runs_of(lambda f: (0.1 + 0.01 * f.batch + 0.02 * f.workers) * np.where(f.net == "a", 1.0, 2.0), levels)


def test_terms_are_named_by_their_factors() -> None:
    medians = read_table(table(), time="s", extrinsic="workers", intrinsic="batch", categorical="net").medians()
    work, total, server = ([column.name for column in mean.columns] for mean in means_of(medians))
    assert work == ["constant"]
    assert total[:3] == ["constant", "batch", "1 / workers"]
    assert {"batch × workers", "batch / workers", "batch × (1 - 1/workers)"} <= set(total)
    assert not any("1 - 1" in name for name in server)
    # Growth with a count has to be shown.
    ridge = means_of(medians)[1].basis(medians.columns).ridge
    assert ridge[total.index("batch × workers")] > ridge[total.index("batch")]


def test_an_expression_is_what_was_fitted() -> None:
    medians = read_table(table(), time="s", extrinsic="workers", intrinsic="batch", categorical="net").medians()
    y = np.log(medians.measured)
    for mean in means_of(medians):
        basis = mean.basis(medians.columns)
        constants = basis.fitted(y)
        expression, _, values, _ = mean.expression(constants, set(medians.columns))
        named = dict(zip(expression.constant_names, values, strict=True))
        assert np.log(expression.evaluate(medians.columns, named)) == pytest.approx(basis.log_sum(constants))
        assert all(values[: len(expression.terms)] > 0.0)


def test_a_transformers_terms_are_the_familys() -> None:
    frame = pd.DataFrame({"dp": [1, 2, 4, 8] * 2, "tp": [1] * 4 + [2] * 4, "s": np.linspace(1, 2, 8)})
    frame = frame.assign(gbs=32, params=1e9, seq=1024)
    medians = read_table(frame, time="s", extrinsic="dp,tp,gbs", intrinsic="params,seq").medians()
    means = {m.kind: m for m in means_of(medians)}
    assert "matrix" in [column.name for column in means["physics"].columns]
    assert [column.name for column in means["work"].columns] == ["work"]
    # 6·P·s·b/(d·t) is in proportion to the work of a device.
    devices = medians.columns["dp"] * medians.columns["tp"]
    ratio = means["work"].basis(medians.columns).columns[:, 0] * devices
    assert np.ptp(ratio) == pytest.approx(0.0, abs=1e-9)
    shapes = {"layers": [4, 8, 4, 8], "hidden": [512] * 4, "seq": [512, 512, 1024, 1024], "batch": [8, 8, 8, 16]}
    of_one_device = read_table(pd.DataFrame({**shapes, "step_s": [0.1, 0.2, 0.19, 0.8]}))
    assert [m.label for m in means_of(of_one_device.medians())][::3] == ["work", "a transformer's terms"]
