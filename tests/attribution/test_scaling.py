"""Scaling curves, doublings and ratios, of times and of throughputs."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import runs_of
from hypothesis import given, settings
from hypothesis import strategies as st
from worked_models import BATCH, GLOBAL, NODES, WORKERS, member, model

import genperf as gp
from genperf.asking import Question, ask
from genperf.attribution import Knee, Scaling, scaling
from genperf.attribution.elasticity import doublings_at, doublings_by_level
from genperf.table import Factor
from genperf.words.growth import turn_sentence

AMDAHL = {"serial": "c", "parallel": "a/workers"}


@dataclass(frozen=True)
class Case:
    """Terms with their constants, a question, and what is told of some counts and of the turning points."""

    terms: dict[str, str]
    constants: dict[str, float]
    factors: tuple[Factor, ...] = (WORKERS,)
    at: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = "strong"
    curve: dict[str, dict[int, float]] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)
    slower: str = ""


RING = {"compute": "a*batch", "ring": "b*(workers - 1)"}
TURNING = {"p": "a/workers", "c": "b*workers"}
SHARED = {"compute": "a*global_batch/workers"}
NODE_COUNT = {"network": "a*nodes"}
CASES = {
    # T = 1 + 8/n. E(n) = T(1)/(n·T(n)) = 9/(n + 8): E(4) = ¾, below ½ from 11 on. T falls for ever, as does n·W/T rise.
    "strong": Case(
        AMDAHL, {"c": 1.0, "a": 8.0}, options={"upto": 64, "kind": "strong"},
        curve={"efficiency": {4: 0.75}, "speedup": {4: 3.0}},
        points={"efficiency": 11, "efficiency of the best": 11, "slower": np.nan, "throughput": np.nan},
        slower="a step does not get slower up to 64 workers",
    ),
    # A batch per worker stays: T = 0.1·32 + 0.4·(n − 1), E(n) = T(1)/T(n) = 3.2/(2.8 + 0.4·n), below ½ beyond n = 9.
    # Throughput n/T rises to its limit; a step is slowest to begin with at once.
    "weak": Case(
        RING, {"a": 0.1, "b": 0.4}, (WORKERS, BATCH), {"batch": 32}, kind="weak",
        curve={"efficiency": {9: 0.5}}, points={"efficiency": 10, "slower": 1, "throughput": np.nan},
    ),
    "a global batch is shared": Case(
        SHARED, {"a": 0.1}, (WORKERS, GLOBAL), {"global_batch": 256}, curve={"efficiency": {16: 1.0}}
    ),
    # Grown with the workers, each one's part stays and so does the time: of equal times none is the least.
    "a global batch grown": Case(
        SHARED, {"a": 0.1}, (WORKERS, GLOBAL), {"global_batch": 64}, {"kind": "weak"}, "weak",
        {"time": {1: 6.4, 16: 6.4, 64: 6.4}}, {"slower": np.nan},
    ),
    # 3.2/n + 0.8: at 4 workers 1.6 s against 4 s, 2.5 times as fast.
    "a batch per worker can be shared": Case(
        {"compute": "a*batch", "serial": "c"}, {"a": 0.1, "c": 0.8}, (WORKERS, BATCH), {"batch": 32},
        {"kind": "strong"}, curve={"efficiency": {4: 2.5 / 4}},
    ),
    # T = 64/n + n has its least at 8, and the rate 1/T its most. E(n) = 65/(64 + n²) is below ½ beyond √66, at 9.
    "more workers make it slower": Case(
        TURNING, {"a": 64.0, "b": 1.0}, options={"kind": "strong"},
        points={"efficiency": 9, "efficiency of the best": 9, "slower": 8, "throughput": 8},
    ),
    # Weak scaling of T = 16/n + n: E = 17/(16/n + n), largest at 4, 17/8. Half of that, 17/16, it is below where
    # n + 16/n > 16: beyond n = 8 + √48 = 14.93. Half of E(1): 16/n + n = 34, n = 17 + √273 = 33.5.
    "the best need not be the first": Case(
        TURNING, {"a": 16.0, "b": 1.0}, options={"kind": "weak"}, kind="weak",
        points={"efficiency of the best": 15, "efficiency": 34},
    ),
    # 4 workers a node: 16 on 4 nodes.
    "nodes follow the workers": Case(
        NODE_COUNT, {"a": 1.0}, (WORKERS, NODES), {"nodes": 2}, {"kind": "strong"},
        curve={"time": {1: 1, 4: 1, 5: 2, 16: 4, 64: 16}},
    ),
    "a given configuration stands at its count": Case(
        NODE_COUNT, {"a": 1.0}, (WORKERS, NODES), {"workers": 5, "nodes": 5}, {"kind": "strong"},
        curve={"time": {1: 1, 4: 1, 5: 5, 16: 4}},
    ),
    "a global batch beside a batch follows the workers": Case(
        {"update": "a*global_batch"}, {"a": 1.0}, (WORKERS, BATCH, GLOBAL), {"batch": 8, "global_batch": 64},
        kind="weak", curve={"time": {16: 128.0}},
    ),
    "a step that rises from the first count on": Case(
        {"ring": "b*workers"}, {"b": 1.0}, options={"kind": "strong"}, slower="a step gets slower beyond 1 worker"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_curve_and_its_turning_points(name: str) -> None:
    case = CASES[name]
    found = scaling(model(member(case.terms, case.constants), factors=case.factors), case.at, **case.options)
    assert found.kind == case.kind
    curve, points = found.curve.set_index("workers"), found.points.set_index("what")["count"]
    assert {column: {n: curve[column][n] for n in at} for column, at in case.curve.items()} == {
        column: pytest.approx(at) for column, at in case.curve.items()
    }
    assert points[list(case.points)].to_dict() == pytest.approx(case.points, nan_ok=True)
    assert not case.slower or turn_sentence(found.turns[2]) == case.slower
    assert name != "the best need not be the first" or found.best == 4


def test_intervals_are_those_of_the_draws() -> None:
    # c from 0.5 to 1.5 evenly, T = c + 8/n, E = (c + 8)/(c·n + 8), below ½ beyond n = 2 + 8/c: for c = 0.6 (the least
    # tenth) 15.33, so 16; for c = 1.4, 7.71, so 8.
    draws = [[c, 8.0] for c in np.linspace(0.5, 1.5, 1001)]
    found = scaling(model(member(AMDAHL, {"c": 1.0, "a": 8.0}, draws)), {}, interval=0.8, kind="strong")
    assert found.points.loc[0, ["lower", "upper"]].tolist() == [8.0, 16.0]
    assert found.points.loc[0, "reached"] == 1.0


def test_not_reached_is_said_with_the_share_of_draws_that_do() -> None:
    # Up to 12, only draws with c > 0.8 come below one half (2 + 8/c < 12).
    draws = [[c, 8.0] for c in np.linspace(0.0, 1.0, 1001)]
    found = scaling(model(member(AMDAHL, {"c": 0.5, "a": 8.0}, draws)), {}, upto=12, kind="strong")
    assert np.isnan(found.points.loc[0, "count"])
    assert found.points.loc[0, "reached"] == pytest.approx(0.2, abs=0.002)
    assert found.points.loc[0, "upper"] == np.inf
    stays = "likely does not fall below 50 % up to 12 workers (a chance of 20 % that it does)"
    assert stays in turn_sentence(found.turns[0])
    assert found.to_dict()["points"][0]["count"] is None


@pytest.mark.parametrize(
    ("terms", "constants", "draws", "options", "row", "sentence"),
    [
        # 64/n against 2·n: equal at √32 = 5.66, so at 6; with b from 1 to 4, at 8 (beyond which n > 8) to 4.
        (
            {"compute": "a/workers", "network": "b*workers"}, {"a": 64.0, "b": 2.0},
            [[64.0, b] for b in np.geomspace(1.0, 4.0, 1001)], {"interval": 0.98},
            [6.0, 5.0, 8.0, 1.0], "the largest term changes from 'compute' to 'network' at 6 workers (98 %: 5 to 8)",
        ),
        (
            {"a": "a/workers", "b": "b"}, {"a": 8.0, "b": 1.0}, [[8.0, 0.001]] * 4, {"upto": 32},
            [9.0, 9.0, np.inf, 0.0], "'a' stays the largest term up to 32 workers",
        ),
    ],
    ids=["between counts", "that no draw reaches"],
)  # fmt: skip
def test_the_largest_term_changes(
    terms: dict, constants: dict, draws: list, options: dict, row: list[float], sentence: str
) -> None:
    found = scaling(model(member(terms, constants, draws)), {}, **options)
    assert found.crossovers.loc[0, ["count", "lower", "upper", "reached"]].tolist() == row
    assert found.crossover_sentences == [sentence]


# --- what doubling a factor does at each level: recovered from planted exponents, with intervals, in every output ----

EXPONENTS = {"resnet": -0.9, "vgg": -0.5, "bert": -0.7}


def runs() -> pd.DataFrame:
    """T = batch·workers^e with an exponent for each network, and 1 % of noise."""
    levels = {"net": [*EXPONENTS], "batch": (8, 16, 32, 64), "workers": (2, 4, 8, 16)}
    law = lambda f: 0.01 * f.batch * f.workers ** f.net.map(EXPONENTS)  # noqa: E731
    return runs_of(law, levels, column="t", noise=0.01, seed=1)


@pytest.fixture(scope="module")
def result() -> gp.FitResult:
    table = gp.read_table(runs(), time="t", intrinsic="batch", extrinsic="workers", categorical="net")
    return gp.fit(table, "generic", draws=50)


@pytest.fixture(scope="module")
def by_level(result: gp.FitResult) -> pd.DataFrame:
    return doublings_by_level(result)


def test_a_level_has_the_doubling_of_its_exponent(result: gp.FitResult, by_level: pd.DataFrame) -> None:
    rows = by_level.set_index(["factor", "level"])
    assert sorted(rows.index) == sorted(itertools.product(("batch", "workers"), EXPONENTS))
    workers = rows.loc["workers"]
    assert workers.times.to_dict() == pytest.approx({net: 2.0**e for net, e in EXPONENTS.items()}, rel=0.02)
    assert ((workers.lower <= workers.times) & (workers.times <= workers.upper)).all()
    assert (workers.upper / workers.lower < 1.2).all()
    (of_workers,) = (d for d in doublings_at(result, result.query({"net": "vgg"}).columns) if d.factor == "workers")
    assert of_workers.ratio == pytest.approx(workers.times["vgg"])


def test_every_level_is_doubled_at_one_configuration() -> None:
    # Separable, but each framework was measured at other sizes: a level cannot change what a doubling does.
    rows = [(f, b, n) for f, batches in (("x", (8, 16, 32)), ("y", (64, 128, 256))) for b in batches for n in (1, 2, 4)]
    frame = pd.DataFrame(rows, columns=["framework", "batch", "workers"])
    frame["t"] = (0.3 + 0.01 * frame.batch) * frame.workers**0.1
    table = gp.read_table(frame, time="t", intrinsic="batch", extrinsic="workers", categorical="framework")
    found = doublings_by_level(gp.fit(table, "(c + a*batch)*workers**q", draws=5))
    for _, each in found.groupby("factor"):
        assert len({*each["from"]}) == 1
        assert each["times"].to_numpy() == pytest.approx(each["times"].iloc[0])


# --- ratios of predictions: what both share cancels, and the interval is that of the draws ---------------------------


@pytest.mark.usefixtures("all_draws")
@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        (lambda n: 0.3 + 0.05 * (n - 1) / n, "Growing from 16 to 64 gpus pays. "),
        # A server whose link is full from ten workers on; one run shows it.
        (lambda n: np.maximum(0.3, 0.03 * n) + 0.01, "Growing from 16 to 64 gpus likely does not pay "),
    ],
)
def test_growing_pays_where_the_data_decide_it(law: Callable[[np.ndarray], np.ndarray], sentence: str) -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    runs = pd.DataFrame({"gpus": counts, "nodes": np.ceil(counts / 4.0), "s": law(counts)})
    result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus,nodes", scaling="weak"))
    assert ask(result, {"gpus": 64.0}, Question(work="gpus")).sentences["pays"].startswith(sentence)


# --- no efficiency, knee or sentence contradicts a measured throughput -----------------------------------------------

COUNTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])


def knee_of(counts: np.ndarray, speeds: np.ndarray, work: str, model: str, level: float = 0.5) -> Scaling:
    """Fit a model to throughputs and return what `explain` tells of scaling."""
    runs = pd.DataFrame({"gpus": counts, "speed": speeds})
    result = gp.fit(gp.read_table(runs, throughput="speed", work=work, extrinsic="gpus"), model=model)
    return gp.explain(result, {"gpus": 4}, knee=Knee(level=level)).scaling


def assert_agreement(answer: Scaling, counts: np.ndarray, speeds: np.ndarray, level: float, tolerance: float) -> None:
    """Compare an answer with the measured throughputs, and efficiencies within a relative tolerance."""
    rows = answer.curve.set_index("gpus").loc[counts]
    measured = speeds / counts / (speeds[0] / counts[0])
    assert rows["efficiency"].to_numpy() == pytest.approx(measured, rel=tolerance)
    # Throughput, efficiency and speed-up are one statement, against what was measured at the smallest count.
    assert rows["speedup"].iloc[0] == 1.0
    assert (rows["throughput"] / speeds[0]).to_numpy()[1:] == pytest.approx(rows["speedup"].to_numpy()[1:])
    points = answer.points.set_index("what")
    sentences = {turn.what: turn_sentence(turn) for turn in answer.turns}
    if (falls := re.match(r"throughput falls beyond (\d+)", sentences["throughput"])) is not None:
        beyond = counts > float(falls[1])
        assert not beyond.any() or speeds[beyond].max() <= speeds[~beyond].max()
    knee = points.loc["efficiency", "count"]
    below = counts[measured < level * (1 - 1e-6)]
    if np.isfinite(knee):
        # Just before the knee nothing measured is below the level, and at it nothing measured is above.
        assert not (below < knee).any()
        assert measured[counts == knee] < level * (1 + 1e-6) if knee in counts else True
    else:
        assert not len(below)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.floats(0.3, 1.05), min_size=3, max_size=4),
    st.sampled_from(["gpus", "32*gpus", "64"]),
    st.sampled_from([0.5, 0.8]),
)
def test_sentences_agree_with_any_measured_throughputs(steps: list[float], work: str, level: float) -> None:
    # Every doubling keeps this share of the efficiency, so that speeds rise, stay or fall. The law fits them badly,
    # which must not show in a sentence.
    counts = COUNTS[: len(steps) + 1]
    speeds = 400.0 * counts * np.cumprod([1.0, *steps])
    answer = knee_of(counts, speeds, work, "c/gpus + a" if work == "64" else "c + a*gpus", level)
    assert answer.kind == ("strong" if work == "64" else "weak")
    assert_agreement(answer, counts, speeds, level, tolerance=np.inf)


@settings(max_examples=3, deadline=None)
@given(st.floats(0.0, 0.6), st.floats(0.0, 0.2), st.booleans())
def test_efficiency_is_the_ratio_of_throughputs(serial: float, growing: float, weak: bool) -> None:
    # Of one worker's step: 1 s, with an overhead that appears at once and one that grows.
    overhead = serial * (COUNTS > 1) + growing * np.log2(COUNTS)
    speeds = COUNTS / (1.0 + overhead) if weak else 1.0 / (1.0 / COUNTS + overhead)
    answer = knee_of(COUNTS, speeds, "gpus" if weak else "1", "auto")
    # `auto` smooths: where the time turns at the last count but one, the last one is up to 11 % off the measured value.
    assert_agreement(answer, COUNTS, speeds, 0.5, tolerance=0.15)


def test_where_the_longest_branch_of_an_overlap_changes() -> None:
    """The knee of a server: 3 + 2 s of computation against 1·n, so beyond 5 workers; with 2·n, beyond 2.5."""
    terms, constants = {"compute": "a", "overhead": "b", "server": "s*workers"}, {"a": 3.0, "b": 2.0, "s": 1.0}
    busy = member(terms, constants, [[3.0, 2.0, s] for s in (1.0, 2.0)], total="max(compute + overhead, server)")
    found = scaling(model(busy), {})
    overlaps = found.crossovers[found.crossovers["what"] == "overlap"]
    assert overlaps[["before", "after", "count", "lower"]].to_numpy().tolist() == [
        ["compute + overhead", "server", 6.0, 3.0]
    ]
    sentence = "of what overlaps, 'server' takes longer than 'compute + overhead' from 6 workers (90 %: 3 to 6) on"
    assert found.crossover_sentences[-1] == sentence
