"""How far an ensemble follows its expressions beyond the largest measured counts."""

import numpy as np
import pandas as pd
import pytest
from helpers import noisy, runs_of

import genperf as gp
from genperf.averaging import fit_factors
from genperf.averaging.trend import TREND, Axis, Trend, axis_of, share_of_trend, turns_of
from genperf.estimate import FitOptions
from genperf.expression import Expression, Term, coefficient
from genperf.formula import Name, parse
from genperf.prediction import Member, Status, central_times

COUNTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
WORK = Axis(("gpus",), Name("batch"))


def table_of(frame: pd.DataFrame, intrinsic: str = "batch", extrinsic: str = "gpus") -> gp.Table:
    return gp.read_table(frame, time="s", intrinsic=intrinsic, extrinsic=extrinsic)


def member(formula: str) -> Member:
    expression = Expression("mine", (Term("step", parse(formula).node),), (coefficient("a"),))
    draws = np.linspace(1.0, 2.0, 6)[:, None]
    return Member(expression, np.array([2.0]), draws, 1.0, Status("projected", 0.0, True, 1, 1, 1), label="mine")


def test_the_mean_follows_its_share_of_the_trend() -> None:
    members = Trend(WORK, 0.25).members([member("a*gpus")], {"gpus": COUNTS})
    assert [m.weight for m in members] == [0.25, 0.75]
    assert sum(len(m.draws) for m in members) == 6
    assert members[1].name == "mine, flat beyond gpus = 16"
    # Up to 16 nothing changes; at 64, four times as many, the time is 4^0.25 times as long.
    columns = {"gpus": np.array([8.0, 16.0, 64.0])}
    assert central_times(members, columns) == pytest.approx([16.0, 32.0, 32.0 * 4**0.25])


def test_the_last_point_of_shared_work_falls_with_the_work() -> None:
    shared = Axis(("gpus",), parse("global_batch/gpus").node)
    flat = shared.flattened(member("a*global_batch/gpus").expression, {"gpus": 16.0})
    columns = {"gpus": np.array([8.0, 16.0, 64.0]), "global_batch": np.full(3, 64.0)}
    assert flat.evaluate(columns, {"a": 1.0}) == pytest.approx([8.0, 4.0, 1.0])


def test_a_trend_that_held_is_followed_and_one_that_did_not_is_not() -> None:
    change, off = np.linspace(0.1, 0.4, 24), 0.02 * np.sin(np.arange(24.0))
    assert share_of_trend([change], [change + off], WORK) == 1.0
    assert share_of_trend([change], [off], WORK) == 0.0
    # One wild run in 24 changes little.
    wild = 0.5 * change + off
    wild[3] += 5.0
    assert share_of_trend([change], [wild], WORK) == pytest.approx(0.5, abs=0.05)


def test_without_evidence_the_share_is_the_prior_where_the_work_is_known() -> None:
    assert share_of_trend([], [], WORK) == TREND.prior
    assert share_of_trend([], [], Axis(("gpus",), None)) == 1.0


def test_turns_need_two_counts_above_one_and_the_nodes_of_the_training_part() -> None:
    frame = runs_of(lambda f: f.batch + 0.0 * f.gpus, {"batch": (8, 16, 32), "gpus": COUNTS})
    frame["nodes"] = np.maximum(1.0, frame.gpus / 8.0)
    table = table_of(frame, extrinsic="gpus,nodes")
    axis = axis_of(table)
    assert axis is not None
    assert axis.names == ("gpus", "nodes")
    held = [sorted(set(table.columns["gpus"][turn.held])) for turn in turns_of(axis, table)]
    # 16 gpus are two nodes, and up to 8 there is one; 4 would be predicted from 1 and 2.
    assert held == [[8.0]]
    assert turns_of(Axis(("gpus",), None), table)[0].held.sum() == 3


def jumping() -> pd.DataFrame:
    """Return nets whose steps jump at the largest measured count, by as much as no power of the count does."""
    frame = runs_of(
        lambda f: 0.01 * f.batch + 0.0 * f.gpus, {"net": list("abcd"), "batch": (8, 16, 32), "gpus": COUNTS}
    )
    jump = np.where(frame.gpus >= 16.0, frame.net.map({"a": 1.0, "b": 1.5, "c": 2.0, "d": 3.0}), 1.0)
    return noisy(frame.assign(s=frame.s * jump), "s", 0.01)


def test_what_a_cell_shows_at_its_largest_count_is_carried_on() -> None:
    table = gp.read_table(jumping(), time="s", intrinsic="batch", extrinsic="gpus", categorical="net")
    ensemble = fit_factors(table, FitOptions(draws=40), 0)
    assert 0.0 <= float(ensemble.options["trend"]) <= 1.0
    nets = np.array(list("abcd"), dtype=object)
    found, far = (
        central_times(ensemble.members, {"net": nets, "batch": np.full(4, 16.0), "gpus": np.full(4, count)})
        for count in (16.0, 32.0)
    )
    # Each net is off as at 16: the ratio between nets stays, while a process that reverts would lose it.
    assert far / far[0] == pytest.approx(found / found[0], rel=0.02)


def test_a_law_of_the_count_is_followed_beyond_it() -> None:
    def law(f: pd.DataFrame) -> pd.Series:
        return 0.01 * f.batch * f.layers / 4 + 0.02 * f.gpus

    levels = {"batch": (8, 16, 32), "layers": (2, 4, 8), "gpus": COUNTS}
    fitted = gp.fit(table_of(runs_of(law, levels, noise=0.01), "batch,layers"), draws=40)
    assert fitted.options["trend"] == 1.0
    assert fitted.predict({"batch": 16, "layers": 4, "gpus": 64})["time"][0] == pytest.approx(0.16 + 1.28, rel=0.15)
