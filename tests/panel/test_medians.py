"""Configurations kept with a model: medians, extremes and repeats; of very many, evenly spaced ones."""

import pandas as pd

from genperf.panel import read_table
from genperf.panel.panel import Median


def test_repeats_of_each_configuration() -> None:
    runs = pd.DataFrame({"n": [2, 1, 2, 2], "net": ["a", "b", "a", "a"], "t": [3.0, 5.0, 1.0, 2.0]})
    table = read_table(runs, time="t", extrinsic="n", categorical="net")
    assert table.median_runs() == (Median((2.0, "a"), 2.0, 1.0, 3.0, 3), Median((1.0, "b"), 5.0, 5.0, 5.0, 1))


def test_of_very_many_some_with_both_ends() -> None:
    runs = pd.DataFrame({"n": range(1, 1002), "t": range(1, 1002)})
    kept = read_table(runs, time="t", extrinsic="n").median_runs(3)
    assert [m.values[0] for m in kept] == [1.0, 501.0, 1001.0]
