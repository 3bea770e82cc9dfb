"""A table of many counts and batches has a process: a series is taken apart whole."""

import numpy as np
import pandas as pd

import genperf as gp
from genperf.growth.measured import MOST_CONFIGURATIONS, series_of


def test_many_configurations_are_no_series() -> None:
    count = MOST_CONFIGURATIONS
    batch = 8.0 + np.arange(count + 1)
    runs = pd.DataFrame({"workers": 2.0 ** (np.arange(count + 1) % 5), "batch": batch, "t": 0.01 * batch})
    table = gp.read_table(runs, time="t", extrinsic="workers", intrinsic="batch")
    assert series_of(table, {}) is None
    assert series_of(table.take(np.arange(count)), {}) is not None
    result = gp.fit(table)
    assert isinstance(result, gp.FitResult)
    assert result.options["approach"] == "process"
