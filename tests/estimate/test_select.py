"""The choice of structure and penalty, alone and for many series alike."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of
from msgspec.structs import replace
from scipy.optimize import nnls

import genperf as gp
from genperf.errors import FitError, ModelError
from genperf.estimate import FitOptions, affordable, at_once, estimate_alike
from genperf.estimate.candidates import CONSTANTS_PER_ROW, MAX_CONSTANTS, best_of, candidates_of, folds_of
from genperf.estimate.outcome import resampled
from genperf.estimate.problem import problem_of
from genperf.models import family_named
from genperf.models.generic import MAX_TERM_LEVELS, Structure, generic
from genperf.prediction import central_times
from genperf.result import GroupedResult, dump_model
from genperf.solver import solve
from genperf.table import Factor


def runs(rows: int = 60, noise: float = 0.02, seed: int = 0) -> pd.DataFrame:
    """T = 0.1 + 0.4·(layers/8)^1.2·(batch/32)·(workers/4)^−0.5, on distinct configurations."""
    levels = {"layers": (2.0, 4.0, 8.0, 16.0), "batch": (8.0, 16.0, 32.0, 64.0), "workers": (1.0, 2.0, 4.0, 8.0, 16.0)}
    law = lambda f: 0.1 + 0.4 * (f.layers / 8) ** 1.2 * (f.batch / 32) * (f.workers / 4) ** -0.5  # noqa: E731
    return runs_of(law, levels, column="t", noise=noise, sample=rows, seed=seed)


def read(frame: pd.DataFrame, **roles: str) -> gp.Table:
    return gp.read_table(frame, **{"time": "t", "intrinsic": "layers,batch", "extrinsic": "workers", **roles})


TABLE = read(runs())
PRODUCTS = [generic(TABLE.factors, Structure("product", k)) for k in (1, 2, 3)]


def test_folds_hold_every_configuration_out_once_and_too_few_are_not_cut() -> None:
    folds = folds_of(13, np.random.default_rng(0))
    assert (~folds).sum(axis=0).tolist() == [1] * 13
    few = TABLE.take(np.arange(3))
    (amdahl,) = gp.MODELS["amdahl"].expressions(few.panel)
    candidates = candidates_of([amdahl], few, FitOptions(), 0)
    assert all(np.isnan(c.error) for c in candidates)
    assert best_of(candidates) is candidates[0]


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


def of_nets(count: int) -> list[Factor]:
    """Return the factors of the table, and a name of so many levels."""
    levels = tuple(f"net{i}" for i in range(count))
    return [*TABLE.factors, Factor("net", "categorical", distinct=count, levels=levels)]


def test_structures_larger_than_the_table_are_left_out() -> None:
    usable, notes = affordable(PRODUCTS, 20)
    assert usable == PRODUCTS[:1]
    assert "2 larger structures" in notes[0].text
    assert len(usable[0].constants) <= 20 * CONSTANTS_PER_ROW
    usable, notes = affordable([generic(of_nets(50), Structure("product", k)) for k in (1, 2, 3, 4)], 1000)
    assert len(usable) == 2
    assert str(MAX_CONSTANTS) in notes[0].text
    with pytest.raises(FitError, match="3 configurations cannot determine the") as caught:
        affordable(PRODUCTS, 3)
    assert f"at least {len(PRODUCTS[0].constants)}" in str(caught.value.hint)
    with pytest.raises(ModelError, match="at most 200") as caught:
        generic(of_nets(MAX_TERM_LEVELS + 1))
    assert "--group net" in str(caught.value.hint)


# --- growing interactions: planted ones are recovered, others are pruned, and the arrays agree with the expression ---

GRID = list(itertools.product([8.0, 16.0, 32.0, 64.0, 128.0], ("bert", "resnet", "vgg"), ("fp16", "fp32")))


def runs_of_grow(slow: float = 1.0, noise: float = 0.01) -> gp.Table:
    """T = 0.01·batch^0.8, half of it with fp16, and `slow` times as long for vgg with fp16."""
    frame = pd.DataFrame(GRID, columns=["batch", "net", "precision"])
    time = 0.01 * frame.batch**0.8 * frame.precision.map({"fp16": 0.5, "fp32": 1.0})
    time = time * np.where((frame.net == "vgg") & (frame.precision == "fp16"), slow, 1.0)
    time = time * np.exp(np.random.default_rng(0).normal(0.0, noise, len(frame)))
    return gp.read_table(frame.assign(t=time), time="t", intrinsic="batch", categorical="net,precision")


def test_a_combination_that_differs_grows_and_is_predicted() -> None:
    table = runs_of_grow(1.5)
    # A constant that is fixed stays.
    best = gp.fit(table, "generic", structure="grown", fix={"C": 0.002}, draws=2).best
    assert "d_precision:net[fp16:vgg]" in [c.name for c in best.expression.constants if c.size < 1.0]
    assert "C" not in best.expression.constant_names
    assert str(best.expression).startswith("0.002 + ")
    grown, separable = (
        gp.validate(table, "generic", "kfold:3", structure=structure, draws=2).models[0].mape
        for structure in ("grown", "separable")
    )
    assert grown < 2.5 < separable
    # Without categories it is a product.
    plain = read(runs(20))
    assert all(c.size == 1.0 for c in gp.fit(plain, "generic", structure="grown", draws=2).best.expression.constants)


# --- linear families solved many at once: exact, and the same numbers whatever is solved beside them -----------------


def fleet(series: int, scales: tuple[int, ...] = (1, 2, 4, 8, 16), repeats: int = 1, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(series):
        n = np.repeat(np.array(scales, float), repeats)
        c, a, b, d = rng.uniform(0.1, 1.0, 4) * (1.0, 10.0, 0.1, 0.01)
        noise = np.exp(rng.normal(0.0, 0.03, n.size))
        parts.append(pd.DataFrame({"net": f"net{k}", "workers": n, "s": (c + a / n + b * np.log2(n) + d * n) * noise}))
    return pd.concat(parts, ignore_index=True)


def table(frame: pd.DataFrame, **roles: Any) -> gp.Table:
    return gp.read_table(frame, time="s", extrinsic="workers", group="net", **roles)


MIXED = pd.concat(
    [fleet(3), fleet(2, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32), 3, 1).assign(net=lambda d: "long" + d.net)],
    ignore_index=True,
).assign(w=lambda d: 1.0 + d.index % 3)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        *((model, {}) for model in ("ernest", "amdahl", "usl", "logarithmic", "a/workers + b*sqrt(workers) + c")),
        ("usl", {"lam": "cv"}),
        ("ernest", {"lam": "cv"}),
        ("amdahl", {"loss": "squared", "lam": 0.0}),
        ("a/workers + b*sqrt(workers) + c", {"penalty": "l1", "lam": 0.01}),
        ("ernest", {"weight": "w", "seed": 3}),
    ],
)
def test_a_series_has_the_bytes_it_has_alone(model: str, options: dict[str, Any]) -> None:
    given = dict(options)
    measured = table(MIXED, **({"weight": given.pop("weight")} if "weight" in given else {}))
    together = gp.fit(measured, model, draws=10, **given)
    assert len(together) == 5
    for key, part in measured.groups():
        alone = gp.fit(part, model, draws=10, **given)
        assert dump_model(alone) == dump_model(GroupedResult(("net",), {key: together[key]}))


def ernest(n: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(n), 1 / n, np.log2(n), n], axis=1)


def test_the_fit_and_every_replicate_are_the_exact_nonnegative_solution() -> None:
    result = gp.fit(table(fleet(4)), "ernest", lam=0.0, draws=12)
    counts = resampled(5, 12)
    for key, part in table(fleet(4)).groups():
        n, t = part.columns["workers"], part.measured
        member = result[key].best
        assert member.expression.constant_names == ("c", "a", "b", "d")
        for weights, constants in [(np.ones(5), member.constants), *zip(counts, member.draws, strict=True)]:
            rows = np.sqrt(weights) / t
            exact, least = nnls(ernest(n) * rows[:, None], t * rows)
            # Where the rows determine no single minimum, the least residual still is one.
            here = np.linalg.norm((ernest(n) @ constants - t) * rows)
            assert here == pytest.approx(least, rel=1e-6, abs=1e-6)
            if np.count_nonzero(weights) >= 4:
                assert constants == pytest.approx(exact, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("loss", ["relative", "squared"])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic-net"])
def test_search_and_polish_reach_no_lower_cost(loss: str, penalty: str) -> None:
    (_, part), *_ = table(fleet(1, (1, 2, 4, 8, 16, 32))).groups()
    (expression,) = family_named("ernest").expressions(part.panel)
    options = FitOptions(loss=loss, penalty=penalty, lam=0.01, draws=2)
    assert at_once(expression, options)
    (fitted,) = estimate_alike(expression, [part], options)
    assert not isinstance(fitted, Exception)
    problem = problem_of(expression, part.medians(), FitOptions(loss=loss, penalty=penalty, lam=0.01))
    searched = solve(problem)
    (member,) = fitted.members
    ours = problem.cost(member.constants[None, :])[0]
    # The L1 penalty that the search sees is rounded off near zero, by less than 1e-4 a constant.
    room = 1e-6 if penalty == "l2" else 4 * 1e-4 * 0.01
    assert ours <= searched.cost * (1 + 1e-6) + room
    assert central_times([member], part.columns) == pytest.approx(
        problem.predict(searched.constants[None])[0], rel=2e-3
    )


@pytest.mark.parametrize(
    ("model", "options"),
    [("a*workers**p + c", {}), ("ernest", {"loss": "log"}), ("ernest", {"solver": "de"}), ("max(a/workers, c)", {})],
)
def test_what_one_solution_does_not_settle_is_searched(model: str, options: dict[str, Any]) -> None:
    result = gp.fit(table(fleet(1)), model, draws=2, **options)
    assert result["net0"].best.status.evaluations > 10  # type: ignore[index]


def test_constants_that_are_held_that_nothing_moves_and_that_cannot_be_finite() -> None:
    frame = pd.DataFrame({"net": "x", "workers": [1.0, 2, 4, 8], "s": 0.5 + 8 / np.array([1.0, 2, 4, 8])})
    held = gp.fit(table(frame), "amdahl", fix={"c": 0.5}, lam=0.0, draws=3)
    assert held["x"].best.values == pytest.approx({"a": 8.0}, rel=1e-10)
    alike = gp.fit(table(fleet(1)), "a/workers + b*2/workers + c", draws=3)
    assert set(alike["net0"].best.unidentified) == {"a", "b"}
    frame = pd.concat([fleet(1, (2, 4, 8, 16)), fleet(1, (1, 2, 4, 8)).assign(net="one")])
    result = gp.fit(table(frame), "a/(workers - 1) + c", draws=3)
    assert list(result.results) == [("net0",)]
    assert "finite" in result.failures[("one",)]
