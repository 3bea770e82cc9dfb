"""The best configurations of all groups: comparable work, one ranking, honest shares of wins."""

import re

import pandas as pd
import pytest

import genperf as gp
from genperf.errors import GenperfError
from genperf.result import GroupedResult
from genperf.search import Goal, Job

#: Seconds of a step: x overlaps well and y does not; a batch of 64 takes less than twice one of 32.
LAWS = {("x", 32): (0.10, 0.01), ("x", 64): (0.18, 0.01), ("y", 32): (0.09, 0.04)}
RUNS = pd.DataFrame(
    [
        (framework, batch, n, a + b * n**0.5)
        for (framework, batch), (a, b) in LAWS.items()
        for n in (1, 2, 4, 8, 16)
    ],
    columns=["framework", "batch", "workers", "s"],
)  # fmt: skip
OVER = {"workers": "1:64:*2"}


@pytest.fixture(scope="module")
def fitted() -> GroupedResult:
    return gp.fit(RUNS, "a + b*workers**0.5", draws=20, time="s", extrinsic="workers", group="framework,batch", seed=1)


def test_throughput_counts_the_batch_of_each_group(fitted: GroupedResult) -> None:
    found = gp.optimize(fitted, OVER, top=99)
    assert found.maximized
    expected = {
        (f, str(b), n): b * n / (a + c * n**0.5) for (f, b), (a, c) in LAWS.items() for n in (1, 2, 4, 8, 16, 32, 64)
    }
    keys = list(found.best[["framework", "batch", "workers"]].itertuples(index=False, name=None))
    assert found.configurations == found.feasible == len(keys) == 21
    assert found.best["throughput"].tolist() == pytest.approx([expected[key] for key in keys], rel=1e-3)
    assert found.best["throughput"].is_monotonic_decreasing
    # The shortest step is that of a small batch, which is not the best.
    assert keys[0] == ("x", "64", 64)
    assert gp.optimize(fitted, OVER, minimize="time").configuration["batch"] == "32"
    assert found.best["wins"].sum() == pytest.approx(1.0)
    hours = found.front["cost"] * found.front["throughput"]
    assert (3600 * hours).tolist() == pytest.approx(found.front["workers"].tolist())


def test_groups_may_be_named_and_read(fitted: GroupedResult) -> None:
    found = gp.optimize(fitted, {**OVER, "framework": "y"})
    assert set(found.best["framework"]) == {"y"}
    dear = gp.optimize(fitted, OVER, minimize="cost", job=Job(samples=1e6, price="where(framework == 'x', 9, 1)"))
    assert dear.configuration["framework"] == "y"
    with pytest.raises(GenperfError, match="the groups are x, 32; x, 64"):
        gp.optimize(fitted, {**OVER, "framework": "z"})


def test_a_group_without_an_answer_is_named(fitted: GroupedResult) -> None:
    # y needs 0.23 s of 12 workers and more.
    found = gp.optimize(fitted, {"workers": [16, 32]}, goal=Goal(maximize="throughput"), where="time < 0.2")
    assert set(found.best["framework"]) == {"x"}
    assert [n.kind for n in found.notes] == ["group_infeasible", "group_infeasible"]
    with pytest.raises(GenperfError, match="excludes most"):
        gp.optimize(fitted, OVER, "time < 0.01")


def test_where_no_group_has_an_answer_each_says_how_near_it_comes(fitted: GroupedResult) -> None:
    with pytest.raises(GenperfError) as raised:
        gp.optimize(fitted, OVER, job=Job(samples=1e9), goal=Goal(deadline=1.0))
    assert (
        len(re.findall(r"[xy], (32|64): no configuration is done within 1 s: the fastest takes", str(raised.value)))
        == 3
    )


def test_groups_of_different_scaling_are_compared_by_their_time() -> None:
    """Only the steps of slow, which hardly change, keep the work of each: their throughput is no other group's."""
    seconds = {"slow": (0.130, 0.131, 0.137), "fast": (0.0535, 0.0365, 0.0300)}
    rows = [(group, n, s) for group, of in seconds.items() for n, s in zip((1, 2, 4), of, strict=True)]
    runs = pd.DataFrame(rows, columns=["framework", "nodes", "step_s"])
    table = gp.read_table(runs, time="step_s", extrinsic="nodes", group="framework", scaling="group")
    found = gp.optimize(gp.fit(table, seed=0), {"nodes": "1:8:*2"})
    assert (found.minimize, found.configuration["framework"]) == ("time", "fast")
    assert found.best.select_dtypes("number").notna().all(axis=None)


def test_a_difference_above_the_double_is_a_multiple(fitted: GroupedResult) -> None:
    """Two that cannot be told apart have no best one, and what takes twice as long is not told in per cent."""
    rows = [(group, n, s / n + 0.1) for group, s in (("a", 10.0), ("b", 50.0)) for n in (1, 2, 4, 8)]
    runs = pd.DataFrame(rows, columns=["framework", "workers", "seconds"])
    told = gp.compare(gp.read_table(runs, time="seconds", extrinsic="workers", group="framework"), workers=8)
    assert re.match(
        r"a is faster: b takes 4\.[5-9]\d* x as long \(90 %: [\d.]+ to [\d.]+\)\. a is the best", told.sentence
    )
    alike = gp.compare(fitted, workers=8, framework="x,y", batch=32).sentence
    assert "% longer" in alike
