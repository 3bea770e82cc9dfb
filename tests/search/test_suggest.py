"""The next run to measure, of times and of memory."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from discrepancies import stacked, walk_along
from helpers import cases_in_text, memory_model
from msgspec.structs import replace

import genperf as gp
from genperf.attribution.draws import curves_of
from genperf.discrepancy import Discrepancy, KernelAxis
from genperf.expression import Expression, Term, coefficient, exponent
from genperf.formula import parse
from genperf.panel.panel import Median, Target
from genperf.prediction import Member, Schema, Spread, Status
from genperf.result import FitResult
from genperf.search import suggest
from genperf.search.suggest import knowledge, places_of
from genperf.table import Factor

WORKERS = Factor("gpus", "extrinsic", 1, 4, 2, 3, (), True, True)
BATCH = Factor("batch", "intrinsic", 8, 128, 32, 5, (), True, True)
LN2 = np.log(2.0)


@pytest.fixture(autouse=True)
def no_new_regime(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algebra of one form: no other regime begins beyond the data."""
    monkeypatch.setattr(import_module("genperf.search.suggest"), "NEW_REGIME", 0.0)


def normal(count: int, seed: int) -> np.ndarray:
    """Return quantiles of a standard normal in mixed order."""
    ordered = np.array([NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)])
    return np.random.default_rng(seed).permutation(ordered)


def member(draws: np.ndarray, weight: float = 1.0, walk: Discrepancy | None = None, label: str = "") -> Member:
    """Return T = a·gpus^p at a = 1, p = 0."""
    expression = Expression("power", (Term("t", parse("a*gpus**p").node),), (coefficient("a"), exponent("p", -4, 4)))
    status = Status("by hand", 0.0, True, 0, 1, 1)
    return Member(expression, np.array([1.0, 0.0]), draws, weight, status, label=label, discrepancy=walk)


def slope(sd: float = 0.1, level: float = 0.0, count: int = 4000) -> Member:
    """Return a member whose ln T is z₁·level + z₂·sd·log2(gpus), z standard normal."""
    return member(np.column_stack([np.exp(level * normal(count, 1)), sd / LN2 * normal(count, 2)]))


def model(
    *members: Member,
    noise: float = 0.1,
    per_doubling: float = 0.0,
    factors: Sequence[Factor] = (WORKERS,),
    measured: Sequence[float] = (1, 2, 4),
) -> FitResult:
    medians = tuple(Median((float(n), 32.0)[: len(factors)], 1.0, 1.0, 1.0, 1) for n in measured)
    schema = Schema(tuple(factors), Target("step_s"), configurations=3, lowest=1.0, highest=1.0, medians=medians)
    return FitResult(schema, members, Spread(noise, noise, per_doubling), (), "power", {}, 0, {})


def test_ranked_by_what_the_width_loses_per_machine_second() -> None:
    # T = 1 s anywhere: the cost is the count. The width (of ln T) loses 1 − √(1 − gain):
    # 8: 1 − √(1/10) = 0.684 for 8, 16: 0.757 for 16, 32: 0.804 for 32.
    found = suggest(model(slope()), {"gpus": 64})
    assert found.candidates["gpus"].tolist() == [8.0, 16.0, 32.0]
    assert found.candidates["cost"].tolist() == pytest.approx([8.0, 16.0, 32.0])
    # Shown is the interval of a new run, whose noise is 0.1.
    half = np.log(found.upper / found.lower) / 2
    assert half == pytest.approx(1.645 * np.hypot(0.6, 0.1), rel=0.01)
    now = np.sinh(np.arcsinh(found.width) * np.sqrt(0.1))
    assert found.candidates["width"].iloc[0] == pytest.approx(now, rel=0.01)
    assert found.to_dict()["chosen"][0]["gpus"] == 8.0
    assert found.to_dict()["met"] is False
    # A cost that is all the same prefers the nearest.
    assert suggest(model(slope()), {"gpus": 64}, cost="1/time").candidates["gpus"].tolist() == [32.0, 16.0, 8.0]
    assert suggest(model(slope()), {"gpus": 64}, cost="gpus**3*time").candidates["gpus"].iloc[0] == 8.0


def test_a_batch_is_chosen_one_after_the_other() -> None:
    # The slope's variance is 0.01. After 8 (noise 0.1) it is 0.001, then 16 adds 16/0.01 to its reciprocal, 32 25/0.01.
    found = suggest(model(slope()), {"gpus": 64}, k=3)
    assert found.chosen["gpus"].tolist() == [8.0, 16.0, 32.0]
    sds = 6 * np.sqrt([1e-3, 1 / (1 / 1e-3 + 16 / 0.01), 1 / (1 / 1e-3 + 16 / 0.01 + 25 / 0.01)])
    half = np.arcsinh(found.chosen["width"].to_numpy())
    assert half / half[0] == pytest.approx(sds / sds[0], rel=0.02)


def test_no_more_is_suggested_than_is_enough() -> None:
    result = model(slope())
    once = suggest(result, {"gpus": 64}, k=3).chosen["width"]
    found = suggest(result, {"gpus": 64}, k=3, within=float(once[1]) * 1.001)
    assert len(found.chosen) == 2
    assert "That is enough." in found.sentence
    enough = suggest(model(slope(0.02)), {"gpus": 8}, k=3, within=2.0)
    assert enough.met
    assert enough.chosen.empty
    assert "nothing needs measuring" in enough.sentence
    assert suggest(result, {"gpus": 64}, within=0.001).sentence.endswith("A half width of 0.1 % needs more runs.")


FLAT, RISING = (member(np.tile([1.0, p], (200, 1)), 0.5, label=str(p)) for p in (0.0, 0.5))
#: A random walk of 0.1 a doubling from the last anchor at 4.
WALK = walk_along("gpus", [1.0, 2.0, 4.0], np.zeros(3), noise=1e-4, scales=np.ones(50))
KNOWLEDGE = {
    # ln T(n) = 0.1·log2(n)·z. At 64: sd 0.6. Measured at 16 with noise 0.1: of the variance, 0.4²/(0.4² + 0.1²) = 16/17
    # goes; at 8 (0.3): 9/10; at 32 (0.5): 25/26.
    "linear regression": (([slope()], {}), [8.0, 16.0, 32.0, 64.0], 0.6, [9 / 10, 16 / 17, 25 / 26], 2e-3),
    # One says flat, one says T = n^½; each is certain. ln T(n) is 0 or ½·ln n, by half: sd ¼·ln n. Measured at 8 almost
    # nothing is left in doubt: 0.52²/(0.52² + 0.01²).
    "families that differ": (([FLAT, RISING], {"noise": 0.01}), [8.0, 64.0], np.log(64) / 4, [1.0], 0.02),
    # Certain constants, and 0.2 for each doubling beyond 4: 0.2 at 8, 0.8 at 64. At 8 with noise 0.2 half is known.
    "the error of form": (
        ([member(np.tile([1.0, 0.0], (200, 1)))], {"noise": 0.2, "per_doubling": 0.2}), [2.0, 8.0, 64.0], 0.8,
        [0.0, 0.5], 1e-6,
    ),
    # 64 is 4 doublings off, 16 is 2 of them.
    "a walk": (
        ([member(np.tile([1.0, 0.0], (50, 1)), walk=WALK)], {"noise": 0.0}), [2.0, 16.0, 64.0], 0.2, [0.0, 0.5], 1e-3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_what_a_run_tells_of_the_last_count(name: str) -> None:
    (members, options), counts, sd, gains, tolerance = KNOWLEDGE[name]
    known = knowledge(model(*members, **options), {"gpus": np.array(counts)})
    assert np.sqrt(known.covariance[-1, -1]) == pytest.approx(sd, rel=0.01)
    found = known.gains(len(counts) - 1)[:-1]
    # A chance of correlation is taken off each.
    expected = [max(0.0, gain - known.chance) for gain in gains]
    assert found == pytest.approx(expected, rel=max(tolerance, 2e-3), abs=tolerance)


def test_a_process_tells_of_the_configurations_near() -> None:
    # One anchor at 1; variance 0.04 whose likeness is 1/e a doubling, and noise of 0.04 at the anchor.
    # Left at 4 and 8 (2 and 3 doublings off): 0.04·(1 − e⁻⁴/2) and 0.04·(1 − e⁻⁶/2), between them 0.04·(e⁻¹ − e⁻⁵/2).
    axis = KernelAxis("gpus", "ln", 0.0, 1.0 / np.log(2.0))
    processes = stacked({"gpus": [1.0]}, [0.0], [axis], local=0.2, noise=0.2, weights=(0.3, 0.7))
    exact = member(np.array([[1.0, 0.0]] * 50))
    both = [replace(exact, weight=p.stack.parts[p.place].weight, process=p) for p in processes]
    columns = {"gpus": np.array([4.0, 8.0])}
    known = knowledge(model(*both), columns)
    shared = np.exp(-1.0) - 0.5 * np.exp(-5.0)
    expected = [[1.0 - 0.5 * np.exp(-4.0), shared], [shared, 1.0 - 0.5 * np.exp(-6.0)]]
    assert curves_of(model(*both), columns).within == pytest.approx(0.04 * np.array(expected))
    assert np.diag(known.covariance) == pytest.approx(0.04 * np.diag(expected))
    assert known.noise == pytest.approx(0.04)


def test_candidates_of_ones_own_and_the_words_of_the_answer(tmp_path: Path) -> None:
    (tmp_path / "can.csv").write_text("gpus,batch,price\n48,32,1\n6,32,1\n")
    result = model(slope(), factors=(WORKERS, BATCH))
    found = suggest(result, {"gpus": 64}, candidates=tmp_path / "can.csv")
    assert found.candidates["gpus"].tolist() == [6.0, 48.0]
    assert found.target == {"gpus": 64.0, "batch": 32.0}
    assert suggest(result, {"gpus": 64}, candidates=pd.DataFrame({"gpus": [8], "batch": [8]})).chosen["batch"][0] == 8
    # The sentence names what was asked about.
    assert "The interval at gpus=64 then narrows" in suggest(result, {"gpus": 64}).sentence
    assert "The interval at gpus=64, batch=32 then narrows" in suggest(result, {"gpus": 64, "batch": 32}).sentence
    # Nearly all of a new run's interval is its noise, which no measurement takes away.
    sentence = suggest(model(slope(0.012), noise=1.0), {"gpus": 64}, band="prediction").sentence
    assert sentence.startswith("no other run narrows the interval at gpus=64")
    assert "noticeably" in sentence


def test_the_advice_names_what_was_asked_about_where_only_what_follows_from_it_differs() -> None:
    target = {"data_parallel": 64.0, "nodes": 16.0}
    chosen = pd.DataFrame({"data_parallel": [64.0], "nodes": [8.0], "width": [0.1]})
    assert places_of(target, {"data_parallel": 64.0}, chosen) == ({"data_parallel": 64.0, "nodes": 8.0},)


def test_a_run_shows_the_regimes_that_begin_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another uncertainty, doublings i and j of 3 beyond the data share min(i, j) of the regimes' variance."""
    monkeypatch.setattr(import_module("genperf.search.suggest"), "NEW_REGIME", 1.0)
    monkeypatch.setattr(import_module("genperf.search.suggest"), "REGIME_JUMP", 1.0)
    known = knowledge(model(slope(0.0)), {"gpus": np.array([2.0, 8.0, 16.0, 32.0])})
    assert known.covariance == pytest.approx(
        np.array([[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]), abs=1e-6
    )
    assert known.gains(3)[:3] == pytest.approx([0.0, 1.0 / 3.0, 2.0 / 3.0], abs=0.05)


def test_a_run_is_proposed_wherever_the_verdict_is_blind() -> None:
    """Of all smaller powers of two measured, the target itself is left; a narrow interval is no reason to stop."""
    runs = pd.DataFrame({"gpus": [1, 2, 4, 8, 16], "s": [1.0, 1.0, 1.0, 1.0, 9.0]})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="amdahl")
    assert result.predict(gpus=24)["verdict"][0] == "extrapolating-blind"
    advice = suggest(result, {"gpus": 24}, within=1e3)
    assert not advice.met
    assert advice.chosen["gpus"].tolist() == [24.0]


def test_where_no_smaller_run_tells_of_the_target_it_is_proposed_itself() -> None:
    """Of counts below it only one inside the node was not measured, and two nodes and more cost what it does not."""
    runs = pd.DataFrame({"gpus": [1, 4, 8, 16, 32], "nodes": [1, 1, 2, 4, 8], "s": [0.1, 0.11, 0.3, 0.37, 0.41]})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus,nodes"))
    assert suggest(result, {"gpus": 64}).chosen["gpus"].tolist() == [64.0]


@pytest.mark.parametrize("counts", [[1, 2, 4, 8], [1, 2, 8]])
def test_a_configuration_that_was_measured_is_proposed_no_more(counts: list[int]) -> None:
    """Whether or not a smaller count is left: `ask` and `suggest` say the same."""
    runs = pd.DataFrame({"gpus": counts, "s": [0.1 + 0.01 * n for n in counts]})
    advice = suggest(gp.fit(gp.read_table(runs, time="s", extrinsic="gpus")), {"gpus": 8})
    assert (len(advice.chosen), advice.sentence) == (0, "nothing to measure: gpus=8 was measured")
    answer = gp.ask(runs, gpus=8)
    assert answer.sentences["next"] == "Nothing to measure: gpus=8 was measured."
    assert answer.to_dict()["next"] == {"runs": [], "reason": advice.sentence}


# --- advice for a model of memory: formulas read it by its name, and what needs a time is refused in words -----------


OVER = {"workers": "1:16", "batch": [8, 16, 32]}


def test_the_least_memory_and_memory_in_formulas() -> None:
    memory = memory_model((8, 16, 32))
    found = gp.optimize(memory, OVER)
    assert found.configuration == {"workers": 16.0, "batch": 8.0}
    assert found.title == "least memory_gb (GB) of 48 feasible of 48 configurations"
    assert found.best["memory_gb"].iloc[0] == pytest.approx(7.0, rel=0.02)
    assert not {"time", "total", "cost"} & set(found.best.columns)
    assert (len(found.front), found.notes) == (0, ())
    # The largest batch that leaves memory free on as few workers as may be: 4 + 8 + 16/n <= 16.5 from n = 4 on.
    found = gp.optimize(memory, OVER, "memory_gb <= 16.5 and batch == 32", "workers")
    assert found.configuration == {"workers": 4.0, "batch": 32.0}
    assert gp.optimize(memory, OVER, "memory_gb < 0.6*memory_gb_1", "workers").feasible > 0
    assert gp.optimize(memory, OVER, "machines*memory_gb > 60", "machines").feasible > 0


def test_what_to_measure_next() -> None:
    memory = memory_model((8, 16, 32))
    found = suggest(memory, {"workers": 64, "batch": 8})
    # Without a time, the formula of the cost is the whole cost: the count of workers.
    assert found.candidates["cost"].tolist() == found.candidates["workers"].tolist()
    assert found.candidates["memory_gb"].between(4.0, 9.0).all()
    assert found.to_dict()["memory_gb"] == found.value == pytest.approx(6.25, rel=0.03)
    words = f"{found} {found._repr_html_()} {found.to_dict()}"
    assert "time" not in words
    assert "seconds" not in words
    squared = suggest(memory, {"workers": 64, "batch": 8}, cost="memory_gb**2")
    assert squared.candidates["cost"].to_numpy() == pytest.approx(squared.candidates["memory_gb"].to_numpy() ** 2)


@cases_in_text("target, options, message")
def test_what_python_alone_can_ask_is_refused(target: dict, options: dict, message: str) -> None:
    with pytest.raises(gp.GenperfError, match=message):
        suggest(model(slope(count=50)), target, **options)


def test_without_a_target_twice_the_largest_count_is_what_is_decided_about() -> None:
    frame = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.1, 4.9, 3.2, 2.1]})
    assert gp.suggest(frame).target == gp.suggest(frame, {"workers": 16}).target == {"workers": 16.0}
