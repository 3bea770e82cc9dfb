"""Permutation importance where the answer is known."""

import numpy as np
import pandas as pd
import pytest

from genperf.errors import GenperfError
from genperf.panel import Table, read_table
from genperf.validation import importance


def table(**roles: str) -> Table:
    grid = [(x, y, k) for x in (1, 2, 4, 8) for y in (1, 2, 4) for k in ("a", "b")]
    runs = pd.DataFrame(grid, columns=["x", "y", "kind"]).assign(t=lambda f: f["x"] ** 1.0)
    return read_table(runs, time="t", **{"intrinsic": "x,y", "categorical": "kind", **roles})


def test_only_what_the_time_depends_on_counts() -> None:
    scores = importance(table(), "linear,svr").frame().set_index(["model", "factor"])["importance"]
    # T = x: shuffled, the mean of |ln(x/x′)| over 1, 2, 4, 8 at random is 1.25·ln 2, so the error grows to about 138 %.
    assert scores["linear", "x"] == pytest.approx(100 * (np.exp(1.25 * np.log(2)) - 1), rel=0.25)
    for name in ("y", "kind"):
        assert scores["linear", name] == pytest.approx(0.0, abs=1e-6)
        assert abs(scores["svr", name]) < 0.1 * scores["svr", "x"]


def test_a_family_can_stand_beside() -> None:
    answer = importance(table(categorical=""), "a*x + c", folds=3, repeats=2)
    assert answer.scores["importance"].tolist() == [pytest.approx(138, rel=0.3), pytest.approx(0.0, abs=1e-6)]
    assert answer.to_dict()["scores"][0]["factor"] == "x"


@pytest.mark.parametrize(
    ("changes", "models", "message"),
    [({"group": "kind", "categorical": ""}, "svr", "for one group"), ({}, "forest", "no model 'forest'")],
)
def test_what_cannot_be_asked_is_refused(changes: dict, models: str, message: str) -> None:
    with pytest.raises(GenperfError, match=message):
        importance(table(**changes), models)
