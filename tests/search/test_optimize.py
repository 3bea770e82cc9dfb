"""The optimizer: exact over the grid, constraints and objectives as formulas, and words where nothing is feasible."""

import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.errors import GenperfError
from genperf.prediction import read_query
from genperf.search import Goal, Job

#: T = 1 + 0.02·batch + 8/workers + 0.05·workers, off by up to 3 % either way.
RUNS = pd.DataFrame(itertools.product([1.0, 2.0, 4.0, 8.0, 16.0], [16.0, 32.0, 64.0]), columns=["workers", "batch"])
RUNS["seconds"] = 1.0 + 0.02 * RUNS.batch + 8.0 / RUNS.workers + 0.05 * RUNS.workers
RUNS["seconds"] *= 1 + 0.03 * np.sin(7.0 * np.arange(len(RUNS)))
LAW = "c + a*batch + p/workers + q*workers"


@pytest.fixture(scope="module")
def result() -> gp.FitResult:
    table = gp.read_table(RUNS, time="seconds", intrinsic="batch", extrinsic="workers")
    return gp.fit(table, LAW, draws=20)


@pytest.fixture(scope="module")
def levels() -> gp.FitResult:
    """A model with a categorical factor, a derived one, and one of a single value."""
    runs = pd.concat([RUNS.assign(gpu="v100", nodes=1.0), RUNS.assign(gpu="a100", nodes=1.0, seconds=RUNS.seconds / 2)])
    roles = {"intrinsic": "load", "extrinsic": "workers,nodes", "categorical": "gpu"}
    table = gp.read_table(runs, time="seconds", let="load=2*batch", **roles)
    return gp.fit(table, "generic", structure="separable", lam=1e-4, draws=10)


def brute_force(result: gp.FitResult, over: Mapping[str, Any]) -> pd.DataFrame:
    """Every combination, by `predict`."""
    frame = pd.DataFrame(list(itertools.product(*over.values())), columns=list(over))
    return frame.assign(time=result.predict(frame)["time"].to_numpy())


OVER = {"batch": [8.0, 16.0, 24.0, 48.0], "workers": [float(n) for n in range(1, 41)]}


@pytest.mark.parametrize(
    ("minimize", "formula"),
    [
        ("time", lambda f: f.time),
        ("cost", lambda f: f.time * f.workers / 3600),
        ("time*50000/(workers*batch)", lambda f: f.time * 50000 / (f.workers * f.batch)),
        ("-workers", lambda f: -f.workers),
    ],
)
def test_the_best_are_those_of_brute_force(result: gp.FitResult, minimize: str, formula: Any) -> None:
    all_of_them = brute_force(result, OVER)
    # Those that no constraint excludes, in the order of the objective; the grid's order breaks ties.
    kept = all_of_them[(all_of_them.workers * all_of_them.batch <= 600) & (all_of_them.workers % 3 != 1)]
    expected = kept.assign(objective=formula(kept)).sort_values("objective", kind="stable").head(10)
    found = gp.optimize(result, OVER, ["workers*batch <= 600 and workers % 3 != 1"], minimize, interval=0.8)
    assert found.feasible == len(kept)
    for column in ("batch", "workers", "time"):
        assert found.best[column].tolist() == expected[column].tolist()
    assert found.best["objective"].tolist() == pytest.approx(expected["objective"].tolist(), rel=1e-12)
    told = result.predict(found.best[["batch", "workers"]], interval=0.8)
    # No run failed: that each fits goes without saying.
    assert (told.pop("fits") == 1.0).all()
    pd.testing.assert_frame_equal(found.best[list(told.columns)], told)


def test_the_front_holds_what_nothing_beats(result: gp.FitResult, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gp.optimize(result, OVER, minimize="time", job=Job(price="2 + batch / 16"))
    every = brute_force(result, OVER)
    every["cost"] = every.workers * every.time * (2 + every.batch / 16)
    beaten = [bool(((every.time <= t) & (every.cost <= c) & ((every.time < t) | (every.cost < c))).any())
              for t, c in zip(every.time, every.cost, strict=True)]  # fmt: skip
    expected = every[~np.array(beaten)].sort_values("time")
    assert 1 < len(expected) < len(every)
    np.testing.assert_allclose(found.front["cost"], expected["cost"])
    assert found.front["workers"].tolist() == expected["workers"].tolist()
    # Blocks do not change the answer.
    monkeypatch.setattr("genperf.search.problem.BLOCK_ROWS", 7)
    in_blocks = gp.optimize(result, OVER, minimize="time", job=Job(price="2 + batch / 16"))
    pd.testing.assert_frame_equal(in_blocks.best, found.best)
    pd.testing.assert_frame_equal(in_blocks.front, found.front)


def test_a_deadline_is_kept_by_the_upper_end(result: gp.FitResult) -> None:
    every = brute_force(result, OVER)
    upper = result.predict(every[["batch", "workers"]])["upper"].to_numpy()
    # One that the cheapest configuration keeps with its central time, and not with the upper end.
    every["cost"] = every.time * every.workers / 3600.0
    cheapest = int(every.cost.argmin())
    deadline = float(every.time[cheapest] + upper[cheapest]) / 2
    keeps = every[upper <= deadline]
    found = gp.optimize(result, OVER, minimize="cost", goal=Goal(deadline=deadline))
    assert found.best["cost"].tolist() == pytest.approx(sorted(keeps.cost)[:10])
    # Beside a deadline the aim is the cost, in hours of the workers.
    assert gp.optimize(result, OVER, goal=Goal(deadline=deadline)).best.equals(found.best)
    assert found.best["cost"].iloc[0] > every.cost[cheapest]
    assert (found.best["upper"] <= deadline).all()
    assert any(re.fullmatch(r"left out by the deadline, by .+ [12] of the \d+ best", str(n)) for n in found.notes)


def test_steps_make_time_cost_and_deadline_those_of_the_job(result: gp.FitResult) -> None:
    found = gp.optimize(result, {**OVER, "samples": 50000}, job=Job("samples/(workers*batch)", price=0.5), top=200)
    every = brute_force(result, OVER)
    every["total"] = every.time * 50000 / (every.workers * every.batch)
    assert found.best["total"].tolist() == pytest.approx(sorted(every.total))
    assert found.best["cost"].to_numpy() == pytest.approx(0.5 * found.best.workers * found.best.total)
    deadline = float(every.total.min()) * 1.01
    with pytest.raises(GenperfError, match="fastest"):
        gp.optimize(
            result, {**OVER, "samples": 50000}, job=Job("samples/(workers*batch)"), goal=Goal(deadline=deadline / 2)
        )
    # Samples make the job without a formula of steps, where the work of a step is known.
    by_samples = gp.optimize(result, OVER, job=Job(samples=50000.0, price=0.5), top=200)
    for column in ("workers", "batch", "total", "cost"):
        assert by_samples.best[column].to_numpy() == pytest.approx(found.best[column].to_numpy())
    plain = gp.fit(RUNS, "a/workers + c", time="seconds", extrinsic="workers")
    with pytest.raises(GenperfError, match="the work of a step is not known"):
        gp.optimize(plain, {"workers": "1:8"}, job=Job(samples=1e6))
    # A time of a step is pointed at.
    assert [n.kind for n in gp.optimize(result, OVER, minimize="time").notes] == ["per_step"]
    assert [n.kind for n in gp.optimize(result, {**OVER, "workers": 8, "batch": 16}, minimize="cost").notes] == []
    assert gp.optimize(result, OVER, job=Job("1e6/(workers*batch)")).notes == ()


def test_shares_of_wins_are_those_of_the_draws(result: gp.FitResult) -> None:
    found = gp.optimize(result, {"workers": [10, 12, 14], "batch": 32}, minimize="time")
    query = read_query(found.best[["workers", "batch"]], result.schema)
    drawn = np.exp(result.members[0].log_draws(query.columns))
    # Inside the measured range a draw's curve is that of its constants alone.
    assert 0 < found.best["wins"].min() < 1
    assert found.best["wins"].tolist() == pytest.approx([np.mean(drawn.argmin(axis=1) == j) for j in range(3)])
    tied = gp.optimize(result, {"workers": [10, 12], "batch": 32}, minimize="0*workers")
    # Equal ones share the wins, which add up to one, and the cheaper stands first.
    assert tied.best["wins"].tolist() == pytest.approx([0.5, 0.5])
    cheap = gp.optimize(result, {"workers": [12, 10], "batch": 32}, minimize="0*workers", job=Job(price="0.1"))
    assert cheap.best["cost"].is_monotonic_increasing
    assert cheap.best["workers"].tolist() == [10, 12]


def test_a_configuration_wins_no_draw_in_which_a_condition_fails(result: gp.FitResult) -> None:
    """One whose central efficiency is a half keeps 'at least a half' in about half of the draws."""
    over = {"workers": "1:16", "batch": 32}
    free = gp.optimize(result, over, minimize="-workers", top=1).best["wins"][0]
    efficiencies = gp.optimize(result, over, minimize="time_1/(workers*time)", top=16).best
    level = float(efficiencies["objective"][efficiencies["workers"] == 8].iloc[0]) * (1.0 - 1e-6)
    bound = gp.optimize(result, over, f"time_1/(workers*time) >= {level!r}", minimize="-workers", top=1)
    assert free == pytest.approx(1.0)
    assert bound.configuration["workers"] == 8
    assert 0.2 < bound.best["wins"][0] < 0.8
    assert bound.regret == np.inf
    assert "it misses a condition" in bound.reason
    # An efficiency is a constraint; what excludes is counted.
    found = gp.optimize(result, {"workers": "1:16", "batch": 16}, "time_1/(workers*time) >= 0.6", "-workers")
    times = brute_force(result, {"workers": range(1, 17), "batch": [16]})["time"].to_numpy()
    efficiency = times[0] / (np.arange(1, 17) * times)
    assert found.configuration["workers"] == 1 + np.flatnonzero(efficiency >= 0.6).max()
    assert 1 < found.feasible < 16
    # workers > 2 fails for 4; the product exceeds 128 for none of 16·8 and four of 32·(5…8).
    found = gp.optimize(result, {"workers": "1:8", "batch": "16,32"}, ["workers > 2", "workers*batch <= 128"])
    constraints = {"constraint": ["workers > 2", "workers*batch <= 128"], "excludes": [4, 4], "alone": [4, 4]}
    assert (found.excluded.to_dict("list"), found.feasible) == (constraints, 8)


def test_levels_derived_and_single_valued_factors(levels: gp.FitResult) -> None:
    over = {"workers": "2:16:2", "batch": "16,64", "gpu": "v100,a100"}
    found = gp.optimize(levels, over, "gpu == 'v100' or workers < 9", "cost", top=100,
                        job=Job(per="workers", price="where(gpu == 'v100', 3, 12)"))  # fmt: skip
    frame = found.best[["workers", "batch", "gpu"]]
    assert len(frame) == 8 * 2 + 4 * 2
    assert found.best["time"].tolist() == levels.predict(frame)["time"].tolist()
    rates = found.best.gpu.map({"v100": 3.0, "a100": 12.0})
    assert found.best["cost"].to_numpy() == pytest.approx(found.best.workers * found.best.time * rates)
    # Without a word on what is paid for, it is a worker.
    best = gp.optimize(levels, over).best
    assert best["cost"].tolist() == pytest.approx((best["time"] * best["workers"] / 3600).tolist())
    # A cost needs machines.
    runs = pd.DataFrame({"layers": [1.0, 2.0, 4.0, 8.0], "seconds": [1.1, 2.1, 4.1, 8.1]})
    result = gp.fit(gp.read_table(runs, time="seconds", intrinsic="layers"), "c + a*layers", draws=5)
    for minimize, said in (("cost", "--per"), ("time/time_1", "time_1")):
        with pytest.raises(GenperfError, match=said):
            gp.optimize(result, {"layers": "1:8"}, minimize=minimize)
    found = gp.optimize(result, {"layers": "1:8"})
    assert (len(found.front), "cost" in found.best) == (0, False)


def test_a_throughput_is_what_is_optimised() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8, 16], "rate": [410.0, 790.0, 1530.0, 2905.0, 5300.0]})
    fitted = [
        gp.fit(runs, "a + b*log2(2*gpus)", throughput="rate", extrinsic="gpus", **work)
        for work in ({}, {"work": "32*gpus"}, {"work": "1000*gpus"})
    ]
    best = []
    for one in fitted:
        found = gp.optimize(one, {"gpus": "1:64:*2"}, job=Job(price=2.0))
        assert found.configuration == {"gpus": 64.0}
        best.append(found.best[["throughput", "cost"]].to_numpy())
        with pytest.raises(GenperfError, match="--samples N"):
            gp.optimize(one, {"gpus": "1:64"}, goal=Goal(deadline=60.0))
        days = gp.optimize(one, {"gpus": "1:64:*2"}, job=Job(samples=1e9), goal=Goal(deadline=1e9))
        assert days.best["total"][0] == pytest.approx(1e9 / days.best["throughput"][0])
    # The unit of the work moves neither the throughput nor the cost of its unit.
    assert best[0] == pytest.approx(best[1], rel=1e-6)
    assert best[0] == pytest.approx(best[2], rel=1e-6)


@pytest.mark.parametrize(
    ("over", "options", "said"),
    [
        ({}, {}, "nothing is varied"),
        ({"workers": "1:8", "batch": 16}, {"top": 0}, "at least one configuration"),
        ({"workers": "1:8", "batch": 16}, {"goal": Goal(deadline=2.75)}, "upper end of the 90 % interval"),
    ],
)
def test_what_python_alone_can_ask_is_refused(
    result: gp.FitResult, over: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(GenperfError, match=said):
        gp.optimize(result, over, **options)


def test_tokens_that_were_measured_are_not_multiplied_by_the_sequence() -> None:
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "seq_len": 2048, "tokens_per_s": [10000, 19000, 36000, 68000]})
    best = gp.optimize(gp.fit(gp.read_table(runs)), {"gpus": [16]}, minimize="1/tokens_per_s").best
    assert best["throughput"][0] == pytest.approx(gp.ask(runs, gpus=16).throughput)
    assert best["objective"][0] == pytest.approx(1.0 / best["throughput"][0])


def test_a_table_of_one_device_is_suggested_for() -> None:
    grid = itertools.product([2, 4, 8], [16, 32, 64])
    runs = pd.DataFrame([{"layers": n, "batch": b, "step_s": 0.01 + 1e-3 * n * b} for n, b in grid])
    advice = gp.suggest(gp.fit(gp.read_table(runs)), {"layers": 32, "batch": 128})
    assert advice.candidates[["layers", "batch"]].sort_values("layers").to_numpy().tolist() == [[16, 128], [32, 128]]
