"""Linear families solved many at once: exact, and the same numbers whatever is solved beside them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls

import genperf as gp
from genperf.estimate import FitOptions, at_once, estimate_alike
from genperf.estimate.alike import batch_of
from genperf.estimate.outcome import last_point_error, resampled
from genperf.estimate.problem import problem_of
from genperf.models import family_named
from genperf.prediction import central_times
from genperf.result import GroupedResult, dump_model
from genperf.solver import solve
from genperf.solver.problem import BLOCK_NUMBERS


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


@pytest.mark.parametrize("model", ["ernest", "amdahl", "usl", "logarithmic", "a/workers + b*sqrt(workers) + c"])
@pytest.mark.parametrize(
    "options",
    [{}, {"lam": "cv"}, {"loss": "squared", "lam": 0.0}, {"penalty": "l1", "lam": 0.01}, {"weight": "w", "seed": 3}],
    ids=str,
)
def test_a_series_has_the_bytes_it_has_alone(model: str, options: dict[str, Any]) -> None:
    given = dict(options)
    measured = table(MIXED, **({"weight": given.pop("weight")} if "weight" in given else {}))
    together = gp.fit(measured, model, draws=10, **given)
    assert isinstance(together, GroupedResult)
    assert len(together) == 5
    for key, part in measured.groups():
        alone = gp.fit(part, model, draws=10, **given)
        assert dump_model(alone) == dump_model(GroupedResult(("net",), {key: together[key]}))


def ernest(n: np.ndarray) -> np.ndarray:
    return np.stack([np.ones_like(n), 1 / n, np.log2(n), n], axis=1)


def test_the_fit_and_every_replicate_are_the_exact_nonnegative_solution() -> None:
    result = gp.fit(table(fleet(4)), "ernest", lam=0.0, draws=12)
    assert isinstance(result, GroupedResult)
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
    [
        ("a*workers**p + c", {}),
        ("ernest", {"loss": "log"}),
        ("ernest", {"solver": "de"}),
        ("max(a/workers, c)", {}),
    ],
)
def test_what_one_solution_does_not_settle_is_searched(model: str, options: dict[str, Any]) -> None:
    (_, part), *_ = table(fleet(1)).groups()
    result = gp.fit(part, model, draws=2, **options)
    assert isinstance(result, GroupedResult)
    assert result["net0"].best.status.evaluations > 10


def test_constants_held_at_a_value_are_taken_off_first() -> None:
    frame = pd.DataFrame({"net": "x", "workers": [1.0, 2, 4, 8], "s": 0.5 + 8 / np.array([1.0, 2, 4, 8])})
    result = gp.fit(table(frame), "amdahl", fix={"c": 0.5}, lam=0.0, draws=3)
    assert isinstance(result, GroupedResult)
    assert result["x"].best.values == pytest.approx({"a": 8.0}, rel=1e-10)


def test_looking_back_fits_the_smaller_scales_alone() -> None:
    frame = fleet(3)
    result = gp.fit(table(frame), "amdahl", lam=0.0, draws=3)
    smaller = gp.fit(table(frame[frame.workers < 16]), "amdahl", lam=0.0, draws=3)
    assert isinstance(result, GroupedResult)
    for key, part in table(frame).groups():
        (evidence,) = result[key].evidence
        measured = part.measured[-1]
        predicted = smaller[key].predict({"workers": 16})["time"].iloc[0]
        assert evidence.error == pytest.approx(abs(np.log(predicted / measured)), rel=1e-9)
        assert evidence.last_point == pytest.approx(abs(np.log(part.measured[-2] / measured)))


def test_a_partner_agrees_in_all_but_the_scale() -> None:
    frame = pd.DataFrame(
        {"n": [1, 2, 2, 1, 4, 4, 4], "b": [8, 8, 8, 16, 8, 16, 32], "s": [1.0, 2.0, 3.0, 5.0, 6.0, 10.0, 9.0]}
    )
    series = gp.read_table(frame, time="s", extrinsic="n", intrinsic="b")
    # 8 at 4 workers has two partners at 2, the later 3.0: ln 2; 16 has 5.0 at 1: ln 2; 32 has none.
    held = np.array([False] * 4 + [True] * 3)
    assert last_point_error(series, "n", held) == pytest.approx(np.log(2))


def test_values_that_cannot_be_finite_fail_alone() -> None:
    frame = pd.concat([fleet(1, (2, 4, 8, 16)), fleet(1, (1, 2, 4, 8)).assign(net="one")])
    result = gp.fit(table(frame), "a/(workers - 1) + c", draws=3)
    assert isinstance(result, GroupedResult)
    assert list(result.results) == [("net0",)]
    assert "finite" in result.failures[("one",)]


def test_a_constant_that_nothing_moves_is_named() -> None:
    result = gp.fit(table(fleet(1)), "a/workers + b*2/workers + c", draws=3)
    assert isinstance(result, GroupedResult)
    assert set(result["net0"].best.unidentified) == {"a", "b"}


def test_blocks_bound_the_memory_whatever_the_series() -> None:
    parts = [part for _, part in table(fleet(60)).groups()]
    (expression,) = family_named("ernest").expressions(parts[0].panel)
    medians = [p.medians() for p in parts]
    batch = batch_of(expression, medians, FitOptions(lam=0.0))
    sets = BLOCK_NUMBERS // 16 // 7
    blocks = batch.blocks(sets)
    assert [b.stop - b.start for b in blocks] == [7] * 8 + [4]
    assert sum(len(batch.take(b).measured) for b in blocks) == 60
