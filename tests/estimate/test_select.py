"""The choice of structure and λ: inside the training part, the same every time, and the right one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import FitError, ModelError
from genperf.estimate import FitOptions, affordable
from genperf.estimate.candidates import (
    CONSTANTS_PER_ROW,
    MAX_CONSTANTS,
    MAX_SELECTION_ROWS,
    PROMISING_ERROR,
    Candidate,
    best_of,
    candidates_of,
    folds_of,
    judged_rows,
)
from genperf.estimate.grow import huber_weights
from genperf.estimate.problem import continued_starts, problem_of, spread_starts
from genperf.expression import Expression
from genperf.models.generic import MAX_TERM_LEVELS, Structure, generic
from genperf.table import Factor


def runs(rows: int = 60, noise: float = 0.02, seed: int = 0) -> pd.DataFrame:
    """T = 0.1 + 0.4·(layers/8)^1.2·(batch/32)·(workers/4)^−0.5, on distinct configurations."""
    rng = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product(
        [[2.0, 4.0, 8.0, 16.0], [8.0, 16.0, 32.0, 64.0], [1.0, 2.0, 4.0, 8.0, 16.0]],
        names=["layers", "batch", "workers"],
    ).to_frame(index=False)
    chosen = grid.sample(rows, random_state=seed).reset_index(drop=True)
    time = 0.1 + 0.4 * (chosen.layers / 8) ** 1.2 * (chosen.batch / 32) * (chosen.workers / 4) ** -0.5
    return chosen.assign(t=time * np.exp(rng.normal(0.0, noise, rows)))


def read(frame: pd.DataFrame, **roles: str) -> gp.Table:
    return gp.read_table(frame, **{"time": "t", "intrinsic": "layers,batch", "extrinsic": "workers", **roles})


TABLE = read(runs())
PRODUCTS = [generic(TABLE.factors, Structure("product", k)) for k in (1, 2, 3)]


def test_folds_hold_every_configuration_out_once() -> None:
    folds = folds_of(13, np.random.default_rng(0))
    assert (~folds).sum(axis=0).tolist() == [1] * 13


def test_too_few_configurations_are_not_cut() -> None:
    assert folds_of(3, np.random.default_rng(0)).shape == (0, 3)
    few = TABLE.take(np.arange(3))
    (amdahl,) = gp.MODELS["amdahl"].expressions(few.panel)
    candidates = candidates_of([amdahl], few, FitOptions(), 0)
    assert all(np.isnan(c.error) for c in candidates)
    assert best_of(candidates) is candidates[0]


def test_the_true_structure_predicts_best() -> None:
    candidates = candidates_of(PRODUCTS, TABLE, FitOptions(), 0)
    best = best_of(candidates)
    assert best.expression is PRODUCTS[0]
    # The noise is 2 %, whose mean absolute value is 1.6 %.
    assert best.error < 0.03


def test_an_exact_law_is_predicted_exactly() -> None:
    exact = read(runs(noise=0.0))
    candidates = candidates_of(PRODUCTS[:1], exact, FitOptions(lam=1e-9), 0)
    assert candidates[0].error < 1e-3


def test_half_a_standard_error_prefers_the_simple() -> None:
    errors = np.full(10, 0.1)
    spread = np.tile([0.025, -0.02], 5)

    def candidate(expression: Expression, strength: float, errors: np.ndarray) -> Candidate:
        problem = problem_of(expression, TABLE, FitOptions(lam=strength))
        return Candidate(expression, problem, problem.start[None, None], errors, np.ones((0, 10), bool))

    simple = candidate(PRODUCTS[0], 1e-4, errors + spread)
    stronger = candidate(PRODUCTS[0], 1e-3, errors + spread)
    complex_ = candidate(PRODUCTS[1], 1e-4, errors)
    worse = candidate(PRODUCTS[0], 1e-2, errors + 0.05)
    assert best_of([simple, stronger, complex_, worse]) is stronger
    assert best_of([complex_, worse]) is complex_


def test_held_out_times_do_not_change_the_fit() -> None:
    frame = runs()
    train = (np.arange(len(frame)) % 3 > 0) & (frame.workers < 16)
    one = read(frame).take(train.to_numpy())
    other = read(frame.assign(t=frame.t.where(train, 100.0 * frame.t))).take(train.to_numpy())
    for model in ("generic", "auto"):
        a, b = gp.fit(one, model, draws=10), gp.fit(other, model, draws=10)
        assert [m.values for m in a.members] == [m.values for m in b.members]


def test_a_fold_never_reads_its_held_out_rows() -> None:
    """The prediction of a held-out configuration is the same whatever was measured there."""
    before = candidates_of(PRODUCTS[:1], TABLE, FitOptions(lam=1e-4), 0)[0]
    frame = TABLE.frame.copy()
    fold = ~folds_of(len(frame), np.random.default_rng([0, 2]))[0]
    frame.loc[fold, "t"] *= 1.5
    after = candidates_of(PRODUCTS[:1], replace(TABLE, frame=frame), FitOptions(lam=1e-4), 0)[0]
    # The prediction over the first time, by both errors; the scale of the penalty is the whole table's mean time.
    assert np.allclose(np.abs(1.5 * (1.0 - after.errors[fold]) - 1.0), before.errors[fold], atol=2e-3)
    assert np.abs(before.constants / after.constants - 1.0).max() > 0.01


def test_folds_are_those_of_the_content() -> None:
    first, again, other = (candidates_of(PRODUCTS[:2], TABLE, FitOptions(), s) for s in (0, 0, 1))
    assert [c.error for c in first] == [c.error for c in again]
    assert [c.folds.tolist() for c in first] == [c.folds.tolist() for c in other]


@pytest.mark.parametrize("model", ["generic", "auto"])
def test_neither_the_order_of_rows_nor_the_seed_moves_a_prediction(model: str) -> None:
    frame = runs(40)
    at = {"layers": [4.0, 8.0], "batch": 32, "workers": [4.0, 32.0]}
    shuffled = frame.sample(frac=1.0, random_state=3)
    first = gp.fit(read(frame), model, draws=20, seed=0).predict(at)
    columns = ["time", "lower", "upper"]
    other = gp.fit(read(shuffled), model, draws=20, seed=0).predict(at)
    assert np.array_equal(first[columns].to_numpy(), other[columns].to_numpy())
    seeded = gp.fit(read(frame), model, draws=20, seed=1).predict(at)
    assert np.allclose(first[columns].to_numpy(), seeded[columns].to_numpy(), rtol=0.05)


def test_huber_weights_by_hand() -> None:
    # |r| = 0.1, 0.1, 0.1, 0.5: s = 0.14826, so only the last is cut, to 0.14826/0.5.
    predicted, measured = np.array([[1.1, 0.9, 1.1, 1.5]]), np.ones(4)
    assert np.allclose(huber_weights(predicted, measured, np.ones((1, 4))), [[1.0, 1.0, 1.0, 0.29652]])


def test_huber_weights_leave_out_what_does_not_count() -> None:
    predicted = np.array([[1.1, 0.9, 1.1, 9.0, np.inf]])
    weights = np.array([[1.0, 1.0, 1.0, 0.0, 1.0]])
    robust = huber_weights(predicted, np.ones(5), weights)
    assert robust[0, 3] == 0.0
    assert robust[0, 4] == 0.0
    # The scale is that of the rows that count: 1.4826·0.1 over |r| = 0.1 leaves these as they are.
    assert robust[0, :3].tolist() == [1.0, 1.0, 1.0]


def test_starts_stay_in_bounds_and_begin_with_the_given_one() -> None:
    problem = problem_of(PRODUCTS[1], TABLE, FitOptions())
    starts = spread_starts(problem, 20, np.random.default_rng(0))
    assert np.all((starts >= problem.lower) & (starts <= problem.upper))
    moved = ~problem.coefficient
    assert np.array_equal(starts[0, moved], problem.start[moved])
    assert len(np.unique(starts[:, moved], axis=0)) > 10


def test_a_linear_expression_needs_one_start() -> None:
    (ernest,) = gp.MODELS["ernest"].expressions(TABLE.panel)
    problem = problem_of(ernest, TABLE, FitOptions(lam=0.0))
    assert spread_starts(problem, 20, np.random.default_rng(0)).shape == (1, len(ernest.constants))


def test_larger_structures_are_left_out_and_noted() -> None:
    usable, notes = affordable(PRODUCTS, 20)
    assert [len(e.constants) for e in usable] == [len(PRODUCTS[0].constants)]
    assert "2 larger structures" in notes[0].text
    assert all(len(e.constants) <= 20 * CONSTANTS_PER_ROW for e in usable)


def test_too_few_configurations_say_how_many_are_needed() -> None:
    with pytest.raises(FitError, match="3 configurations cannot determine the") as caught:
        affordable(PRODUCTS, 3)
    assert f"at least {len(PRODUCTS[0].constants)}" in str(caught.value.hint)


def test_many_levels_limit_the_terms() -> None:
    levels = tuple(f"net{i}" for i in range(50))
    factors = [*TABLE.factors, Factor("net", "categorical", distinct=50, levels=levels)]
    usable, notes = affordable([generic(factors, Structure("product", k)) for k in (1, 2, 3, 4)], 1000)
    assert len(usable) == 2
    assert str(MAX_CONSTANTS) in notes[0].text


def test_too_many_levels_are_refused_with_advice() -> None:
    levels = tuple(f"net{i}" for i in range(MAX_TERM_LEVELS + 1))
    with pytest.raises(ModelError, match="at most 200") as caught:
        generic([*TABLE.factors, Factor("net", "categorical", distinct=len(levels), levels=levels)])
    assert "--group net" in str(caught.value.hint)


def test_large_tables_are_thinned_for_the_choice_alone() -> None:
    some = judged_rows(MAX_SELECTION_ROWS + 200, np.random.default_rng(0))
    assert len(set(some.tolist())) == MAX_SELECTION_ROWS
    assert np.all(np.diff(some) > 0)
    assert judged_rows(MAX_SELECTION_ROWS, np.random.default_rng(0)).tolist() == list(range(MAX_SELECTION_ROWS))


def test_a_factor_with_one_value_is_noted_and_left_out() -> None:
    frame = runs().assign(layers=4.0)
    result = gp.fit(read(frame), "generic", draws=2)
    assert "layers" not in result.best.expression.factors
    assert any("'layers' has one value" in str(n) for n in result.notes)


def test_both_solvers_reach_the_same_cost() -> None:
    table = gp.datasets.load("pytorch_cpu")
    fits = [gp.fit(table, "generic", structure="per-term", solver=s, draws=2) for s in ("de", "projected")]
    assert fits[0].best.status.cost == pytest.approx(fits[1].best.status.cost, rel=0.005)


def test_a_further_term_continues_the_terms_before_it() -> None:
    problem = problem_of(PRODUCTS[1], TABLE, FitOptions())
    one = candidates_of(PRODUCTS[:1], TABLE, FitOptions(lam=1e-4), 0)[0]
    known = PRODUCTS[0], one.constants[None]
    starts = continued_starts(problem, PRODUCTS[1], *known, np.ones((1, len(TABLE))), np.random.default_rng(0))
    alone = problem_of(PRODUCTS[0], TABLE, FitOptions())
    assert starts.shape == (1, 2, len(PRODUCTS[1].constants))
    # A second term that is no use has a coefficient of zero, and costs the penalty of its exponents alone.
    assert problem.cost(starts[0]).min() < alone.cost(one.constants[None]).item() * 1.5


def test_only_promising_expressions_go_on_to_stronger_penalties() -> None:
    rng = np.random.default_rng(0)
    frame = runs(80)
    product = read(frame.assign(t=(frame.layers * frame.batch / frame.workers) * np.exp(rng.normal(0.0, 0.02, 80))))
    separable = generic(product.factors, Structure("separable"))
    candidates = candidates_of([separable, PRODUCTS[0]], product, FitOptions(), 0)
    errors = {c.expression: [d.error for d in candidates if d.expression is c.expression] for c in candidates}
    assert len(errors[separable]) == 1
    assert errors[separable][0] > (1.0 + PROMISING_ERROR) * errors[PRODUCTS[0]][0]
    assert len(errors[PRODUCTS[0]]) > 1
