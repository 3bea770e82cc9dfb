"""The bank's forecasts of a table's series, as further rows of the process."""

import itertools

import numpy as np
import pandas as pd
import pytest

import genperf as gp
from genperf.prediction import stack_of
from genperf.process.growth import growth_of

ROLES = {"time": "s", "extrinsic": "gpus,nodes", "intrinsic": "batch", "categorical": "net"}


def runs(counts: tuple[int, ...] = (1, 2, 4, 8, 16)) -> pd.DataFrame:
    """Two networks and three batches; a doubling costs a twentieth, and the network between nodes a tenth."""
    frame = pd.DataFrame(itertools.product(counts, (16, 32, 64), "ab"), columns=["gpus", "batch", "net"])
    nodes = np.maximum(1, frame.gpus // 4)
    slower = 1.0 + 0.05 * np.log2(frame.gpus) + 0.1 * (nodes > 1)
    return frame.assign(nodes=nodes, s=0.01 * frame.batch * slower * np.where(frame.net == "a", 1.0, 1.7))


def test_forecasts_lie_beyond_the_largest_count_with_the_nodes_that_hold_it() -> None:
    table = gp.read_table(runs(), **ROLES).medians()
    growth = growth_of(table, 0.0)
    # Series are rows that differ in their count alone.
    assert len(set(growth.series.tolist())) == 6
    assert (growth.along(["nodes"]), growth.along(["batch"])) == (True, False)
    anchors = growth.anchors(np.flatnonzero(np.asarray(table.columns["gpus"], float) <= 8.0))
    assert sorted(set(anchors.columns["gpus"].tolist())) == [16.0, 32.0, 64.0]
    assert anchors.columns["nodes"] == pytest.approx(anchors.columns["gpus"] / 4.0)
    grown = runs((16, 32, 64)).set_index(["gpus", "batch", "net"]).s
    there = zip(anchors.columns["gpus"], anchors.columns["batch"], anchors.columns["net"], strict=True)
    away = anchors.centre - np.log([grown[key] for key in there])
    assert np.all(np.abs(away) < 2.0 * np.sqrt(anchors.variance))
    # The farther, the less is known.
    assert np.all(np.diff(anchors.variance.reshape(-1, 3), axis=1) > 0.0)


@pytest.mark.parametrize(
    ("frame", "roles"),
    [
        (runs().assign(servers=lambda d: d.gpus), {"extrinsic": "servers"}),
        (runs((4,)), {"extrinsic": "gpus"}),
        # A memory does not grow as a time.
        (runs(), {"time": None, "quantity": "s:GB"}),
    ],
    ids=["servers", "one count", "memory"],
)
def test_no_growth(frame: pd.DataFrame, roles: dict[str, str | None]) -> None:
    assert growth_of(gp.read_table(frame, **{**ROLES, **roles}).medians(), 0.0) is None


def test_the_stack_has_a_part_that_knows_the_forecasts() -> None:
    result = gp.fit(runs(), **ROLES)
    stack = stack_of(result.members)
    rows = sorted({len(part.residuals) for part in stack.parts})
    assert rows == [30, 30 + 6 * 3]
    out = result.predict({"gpus": [32], "nodes": [8], "batch": [32], "net": ["a"]}).iloc[0]
    assert out.time == pytest.approx(runs((32,)).query("batch == 32 and net == 'a'").s.iloc[0], rel=0.1)
