"""Sums of products: constants that are known are recovered, and none is below zero."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of

import genperf as gp
from genperf.discrepancy.form import positions
from genperf.panel import read_table
from genperf.process.means import Coefficients, SumBasis, means_of, terms_of


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
    basis = SumBasis(columns, np.full(3, 1e-6), levels, *no_powers(40, 3))
    found = basis.fitted(y)
    # What both levels have in common is that of the columns as well: only their ratio and distance are known.
    assert found.columns / found.columns[0] == pytest.approx([1.0, 8.0, 0.0], rel=0.01, abs=1e-3)
    assert np.diff(found.levels) == pytest.approx(0.6, rel=0.1)
    assert basis.log_sum(found) == pytest.approx(y, abs=0.03)


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
    ratio = means["work"].basis(medians.columns).columns[:, 0] * frame.dp * frame.tp
    assert np.ptp(ratio) == pytest.approx(0.0, abs=1e-9)
    shapes = {"layers": [4, 8, 4, 8], "hidden": [512] * 4, "seq": [512, 512, 1024, 1024], "batch": [8, 8, 8, 16]}
    of_one_device = read_table(pd.DataFrame({**shapes, "step_s": [0.1, 0.2, 0.19, 0.8]}))
    assert [m.label for m in means_of(of_one_device.medians())][::3] == ["work", "a transformer's terms"]
