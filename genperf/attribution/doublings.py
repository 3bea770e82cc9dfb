"""What doubling each factor does to the predicted value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from genperf.attribution.configurations import completed
from genperf.attribution.following import following
from genperf.formula import parse
from genperf.models import Factors
from genperf.prediction import central_times, read_query
from genperf.result import FitResult
from genperf.table.cells import with_columns
from genperf.table.work import evaluated


def doublings(result: FitResult, at: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Return by what the predicted value is multiplied when a factor doubles, largest change first.

    The other factors stay, but for those that follow: the nodes and the data-parallel ways grow with the workers, and
    are no factors of their own here. Where a throughput was measured, it is the throughput: the length of a step
    depends on the unit of its work.

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
    moved = {name: _doubled(result.named, frame, name) for name in names}
    ratios = {}
    for name in [n for n in names if n not in following_the_count(result, frame)]:
        # A factor that is derived from columns which are no factors stays as it is.
        reads = {n: parse(text).names for n, text in derived.items() if n in frame}
        follow = [n for n, columns in reads.items() if {*moved[name]} & {*columns} and set(columns) <= set(frame)]
        both = pd.concat([frame, with_columns(frame, moved[name])], ignore_index=True)
        query = read_query(both.drop(columns=follow), result.schema)
        here, doubled = central_times(result.members, query.columns)
        ratio = float(doubled / here)
        if result.schema.target.work:
            first, second = evaluated(result.schema.target.work, query.columns, 2)
            ratio = float(second / first) / ratio
        ratios[name] = ratio
    return dict(sorted(ratios.items(), key=lambda item: -abs(np.log(max(item[1], 1e-300)))))


def following_the_count(result: FitResult, at: pd.DataFrame) -> tuple[str, ...]:
    """Return the factors that grow with the workers at a configuration, such as the nodes that hold them.

    Parameters
    ----------
    result : FitResult
    at : DataFrame of one row
    """
    workers = result.named.find("workers")
    if workers is None or workers.name not in at:
        return ()
    return tuple(n for n in _doubled(result.named, at, workers.name) if n != workers.name)


def _doubled(factors: Factors, frame: pd.DataFrame, name: str) -> dict[str, float]:
    """Return the columns that change where one doubles, with their values.

    Parameters
    ----------
    factors : Factors
    frame : DataFrame of one row
    name : str
    """
    double = {name: 2.0 * float(frame[name].iloc[0])}
    workers, nodes = factors.find("workers"), factors.find("nodes")
    if workers is None or workers.name not in frame:
        return double
    columns = {str(n): np.asarray([double.get(str(n), frame[n].iloc[0])]) for n in frame}
    per_node = None
    given = {name}
    if nodes is not None and nodes.name in frame:
        count, held = (float(frame[f.name].iloc[0]) for f in (workers, nodes))
        per_node = count / held if held > 1.0 else None
        given |= set() if name == workers.name else {nodes.name}
    follow = following(factors, workers, columns, given, per_node)
    changed = {n: float(v[0]) for n, v in follow.items() if n in frame and float(v[0]) != float(frame[n].iloc[0])}
    return double | changed
