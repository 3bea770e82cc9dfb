"""Growing interactions: planted ones are recovered, others are pruned, and the arrays agree with the expression."""

import itertools

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.estimate import FitOptions
from genperf.estimate.grow import START_SIZE, USUAL_SIZE, GrowthProblem, _shrunk, grow
from genperf.estimate.problem import problem_of
from genperf.expression import Expression
from genperf.models.generic import Structure, generic, kinds_of
from genperf.models.interactions import interactions
from genperf.solver import Problem, solve

GRID = list(itertools.product([8.0, 16.0, 32.0, 64.0, 128.0], ("bert", "resnet", "vgg"), ("fp16", "fp32")))


def runs(slow: float = 1.0, noise: float = 0.01) -> gp.Table:
    """T = 0.01·batch^0.8, half of it with fp16, and `slow` times as long for vgg with fp16."""
    frame = pd.DataFrame(GRID, columns=["batch", "net", "precision"])
    time = 0.01 * frame.batch**0.8 * frame.precision.map({"fp16": 0.5, "fp32": 1.0})
    time = time * np.where((frame.net == "vgg") & (frame.precision == "fp16"), slow, 1.0)
    time = time * np.exp(np.random.default_rng(0).normal(0.0, noise, len(frame)))
    return gp.read_table(frame.assign(t=time), time="t", intrinsic="batch", categorical="net,precision")


def base_of(table: gp.Table) -> tuple[Expression, Problem]:
    base = generic(table.factors, Structure("product", 1))
    options = FitOptions()
    return base, problem_of(base, table, options)


def test_the_arrays_are_the_values_of_the_expression() -> None:
    table = runs(1.5)
    base, problem = base_of(table)
    start = problem.projected(problem.start[None, :])[0][0]
    growing = GrowthProblem(base, problem, interactions(table.factors, table.columns), table)
    grown = grow(growing, start[None], np.ones((1, len(table)), bool))[0]
    expression = growing.expression(grown)
    values = dict(zip(expression.constant_names, grown.constants, strict=True))
    predicted = expression.evaluate(table.columns, values)
    assert grown.problem.predict(grown.constants[None, :])[0] == pytest.approx(predicted, rel=1e-12)
    _, exact = expression.bind(table.columns).jacobian(grown.constants[None, :])
    assert grown.problem.jacobian(grown.constants[None, :])[1] == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_a_combination_that_differs_grows_and_is_predicted() -> None:
    table = runs(1.5)
    result = gp.fit(table, "generic", structure="grown", draws=5)
    interacting = [c for c in result.best.expression.constants if c.size < 1.0]
    assert "d_net:precision[vgg:fp16]" in [c.name for c in interacting]
    held_out = gp.validate(table, "generic", "kfold:5", structure="grown", draws=5).models[0]
    plain = gp.validate(table, "generic", "kfold:5", structure="separable", draws=5).models[0]
    assert held_out.mape is not None
    assert plain.mape is not None
    assert held_out.mape < 2.5 < plain.mape


def test_what_explains_nothing_is_pruned() -> None:
    table = runs()
    base, problem = base_of(table)
    start = problem.projected(problem.start[None, :])[0][0]
    offered = interactions(table.factors, table.columns)
    grown = grow(GrowthProblem(base, problem, offered, table), start[None], np.ones((1, len(table)), bool))[0]
    assert len(grown.kept) < len(offered)
    assert np.all(grown.sizes < 2.0 * USUAL_SIZE)


def test_rows_that_do_not_count_change_nothing() -> None:
    table = runs(1.5)
    base, problem = base_of(table)
    start = problem.projected(problem.start[None, :])[0][0]
    counted = np.arange(len(table)) % 5 != 0
    offered = interactions(table.factors, table.columns)
    first = grow(GrowthProblem(base, problem, offered, table), start[None], counted[None])[0]
    # Only the scale of the coefficients, which hardly are penalised, knows the other rows.
    wild = gp.read_table(
        table.frame.assign(t=np.where(counted, table.frame.t, 1.2 * table.frame.t)),
        time="t",
        intrinsic="batch",
        categorical="net,precision",
    )
    second = grow(GrowthProblem(base, base_of(wild)[1], offered, wild), start[None], counted[None])[0]
    assert second.kept.tolist() == first.kept.tolist()
    assert second.constants == pytest.approx(first.constants, abs=1e-3)


def test_a_constant_that_is_fixed_stays() -> None:
    result = gp.fit(runs(1.5), "generic", structure="grown", fix={"C": 0.002}, draws=5)
    assert "C" not in result.best.expression.constant_names
    assert str(result.best.expression).startswith("0.002 + ")


def test_without_categories_a_grown_structure_is_a_product() -> None:
    frame = pd.DataFrame(list(itertools.product([1, 2, 4, 8], [8, 16, 32])), columns=["workers", "batch"])
    frame["t"] = 0.1 + 0.01 * frame.batch / frame.workers
    table = gp.read_table(frame, time="t", intrinsic="batch", extrinsic="workers")
    grown = gp.fit(table, "generic", structure="grown", draws=5)
    assert all(c.size == 1.0 for c in grown.best.expression.constants)


def test_sizes_are_learned_the_same_in_any_order_of_the_rows() -> None:
    rng = np.random.default_rng(3)
    design, noise = rng.normal(size=(40, 6)), 0.1 * rng.normal(size=40)
    target = design[:, 0] + 0.5 * design[:, 1] + noise
    groups = np.array([-1, 0, 0, 1, 1, 1])
    order = rng.permutation(40)
    one, other = (
        _shrunk(design[rows], target[rows], np.ones(40), groups, np.ones(6), np.full(2, START_SIZE))
        for rows in (np.arange(40), order)
    )
    for ours, theirs in zip(other, one, strict=True):
        assert ours == pytest.approx(theirs)


def test_the_exponents_of_a_factor_that_changes_nothing_are_learned_small() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.choice([1.0, 2.0, 4.0, 8.0, 16.0], (120, 3)), columns=["batch", "hidden", "idle"])
    frame["kernel"] = rng.choice(["a", "b", "c", "d"], 120)
    frame["t"] = (0.1 * frame.batch**0.8 + 0.3 * frame.hidden**1.1) * np.exp(rng.normal(0.0, 0.1, 120))
    table = gp.read_table(frame, time="t", intrinsic="batch,hidden,idle", categorical="kernel")
    base = generic(table.factors, Structure("product", 2))
    options = FitOptions()
    problem = problem_of(base, table, options)
    kinds = kinds_of(base)
    start = solve(problem, seed=0).constants
    growing = GrowthProblem(base, problem, (), table)
    grown = grow(growing, start[None], np.ones((1, len(table)), bool))[0]
    plain = [c.size for c in growing.expression(grown).constants]
    size = dict(zip(kinds, plain, strict=True))
    assert size["p_idle"] < 0.1 < 0.3 < min(size["p_batch"], size["p_hidden"])
    assert max(size["d1_kernel[]"], size["d2_kernel[]"]) < 0.1
    # A coefficient keeps its size, and the noise gives λ.
    assert [s for kind, s in zip(kinds, plain, strict=True) if not kind] == [1.0] * kinds.count("")
    assert grown.problem.penalty.strength == pytest.approx(2.0 * 0.1**2 / len(table), rel=0.5)


def test_parts_of_the_rows_learn_sizes_by_themselves() -> None:
    table = runs(1.5, noise=0.1)
    base, problem = base_of(table)
    start = solve(problem, seed=0).constants
    number = np.arange(len(table))
    rows = np.array([number % 3 != 0, number % 3 != 1, number >= 0])
    growing = GrowthProblem(base, problem, (), table)
    together = grow(growing, np.tile(start, (3, 1)), rows)
    alone = [grow(growing, start[None], counted[None])[0] for counted in rows]
    for one, other in zip(together, alone, strict=True):
        assert one.constants == pytest.approx(other.constants, rel=1e-6, abs=1e-8)
        assert one.sizes == pytest.approx(other.sizes, rel=1e-6)
        assert one.problem.penalty.strength == pytest.approx(other.problem.penalty.strength, rel=1e-6)
    first, second = (one.problem.penalty.strength for one in together[:2])
    assert first != pytest.approx(second, rel=1e-3)


def test_learned_sizes_err_less_where_most_factors_change_nothing() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.choice([1.0, 2.0, 4.0, 8.0], (80, 4)), columns=["batch", "hidden", "layers", "filters"])
    for name in ("activation", "optimizer"):
        frame[name] = rng.choice(["a", "b", "c", "d"], 80)
    frame["t"] = (0.1 * frame.batch + 0.2 * frame.hidden**1.5) * np.exp(rng.normal(0.0, 0.15, 80))
    roles = {"time": "t", "intrinsic": "batch,hidden,layers,filters", "categorical": "activation,optimizer"}
    table = gp.read_table(frame, **roles)
    learned, fixed = (
        gp.validate(table, "generic", "kfold:2", draws=2, structure=structure).models[0].mape
        for structure in ("auto", "product")
    )
    assert learned is not None
    assert fixed is not None
    assert learned < fixed
