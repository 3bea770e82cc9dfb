"""What doubling each factor does to the predicted value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from genperf.attribution.configurations import completed
from genperf.formula import parse
from genperf.prediction import central_times, read_query
from genperf.result import FitResult
from genperf.table.cells import with_columns
from genperf.table.work import evaluated


def doublings(result: FitResult, at: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Return by what the predicted value is multiplied when a factor doubles and the others stay, largest change first.

    Where a throughput was measured, it is the throughput: the length of a step depends on the unit of its work.

    Parameters
    ----------
    result : FitResult
    at : mapping, optional
        The configuration; factors left out are those of a measured run (`typical_run`).

    Returns
    -------
    dict of str to float
        A number for each numeric factor above zero that was measured at several values.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [8.0, 4.0, 2.0, 1.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="a/workers")
    >>> round(doublings(result)["workers"], 3)
    0.5
    """
    frame = completed(result, at).iloc[:1]
    derived = result.schema.derived
    names = [f.name for f in result.schema.factors if f.numeric and f.positive and f.distinct > 1]
    names = [n for n in names if n not in derived and n in frame]
    ratios = {}
    for name in names:
        # A factor that is derived from columns which are no factors stays as it is.
        reads = {n: parse(text).names for n, text in derived.items() if n in frame}
        follow = [n for n, columns in reads.items() if name in columns and set(columns) <= set(frame)]
        both = pd.concat([frame, with_columns(frame, {name: 2.0 * float(frame[name].iloc[0])})], ignore_index=True)
        query = read_query(both.drop(columns=follow), result.schema)
        here, doubled = central_times(result.members, query.columns)
        ratio = float(doubled / here)
        if result.schema.target.work:
            first, second = evaluated(result.schema.target.work, query.columns, 2)
            ratio = float(second / first) / ratio
        ratios[name] = ratio
    return dict(sorted(ratios.items(), key=lambda item: -abs(np.log(max(item[1], 1e-300)))))
