"""Configurations that name some of the factors, completed with values for the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.formula import parse
from genperf.panel.following import following
from genperf.prediction.measured import ratio_at_the_largest, typical_run
from genperf.prediction.query import combine, known_names, model_names
from genperf.prediction.schema import Schema
from genperf.result import FitResult
from genperf.table import Factor
from genperf.table.cells import frame_of, with_columns
from genperf.table.clean import numbers

Array = npt.NDArray[np.float64]


def typical_of(result: FitResult) -> dict[str, Any]:
    """Return the measured run nearest to the centre of the measured range: see `genperf.prediction.measured`."""
    return typical_run(result.schema, {})


def completed(result: FitResult, at: Mapping[str, Any] | pd.DataFrame | None) -> pd.DataFrame:
    """Return the given configurations with values for the factors that were left out.

    The values are those of a measured run: of the largest given scale, with the levels that were measured most often
    with the given ones, and otherwise nearest to the centre of the measured range (`typical_run`).
    A given count of workers settles the nodes that hold them, and a given count of nodes the workers on them. A factor
    that is derived from columns which are given is not filled in.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame([(n, max(1, n // 8), 1 + 1 / n) for n in (1, 8, 16, 32)], columns=["gpus", "nodes", "t"])
    >>> result = gp.fit(gp.read_table(runs, time="t", extrinsic="gpus,nodes"), model="a/gpus + c")
    >>> completed(result, {"gpus": [8, 64]})["nodes"].tolist()
    [1.0, 8.0]
    >>> completed(result, {"nodes": [8]})["gpus"].tolist()
    [64.0]
    """
    if at is None or (isinstance(at, Mapping) and not at):
        return pd.DataFrame([typical_of(result)])
    if isinstance(at, Mapping):
        frame = frame_of(combine(known_names(at, result.schema)))
    else:
        frame = at.rename(columns=model_names(map(str, at), result.schema)).reset_index(drop=True)
    names = {str(name) for name in frame.columns}
    derived = result.schema.derived
    follow = {n for n, text in derived.items() if names & set(parse(text).names) and n not in names}
    missing = [f.name for f in result.schema.factors if f.name not in names and f.name not in follow]
    out = with_columns(frame, _measured(result.schema, frame, missing))
    # Where the nodes are given and the workers are not, it is the nodes that settle the workers.
    count = next((f for c in ("workers", "nodes") if (f := result.panel.find(c)) is not None and f.name in names), None)
    if count is not None:
        columns = {str(k): out[k].to_numpy() for k in out}
        columns[count.name], bad = numbers(out[count.name])
        if not bad:
            after = following(result.panel, count, columns, names, _devices_per_node(result, out))
            out = with_columns(out, {k: v for k, v in after.items() if k in missing})
    return out


def _measured(schema: Schema, frame: pd.DataFrame, missing: Collection[str]) -> dict[str, list[Any]]:
    """Return values for the factors that are missing, from a measured run with the given levels; one run a level."""
    given = [f.name for f in schema.factors if not f.numeric and f.name in frame]
    numeric = {f.name: _representative(frame[f.name], f) for f in schema.factors if f.numeric and f.name in frame}
    at = {name: value for name, value in numeric.items() if value is not None}
    rows = list(frame[given].itertuples(index=False, name=None)) if given else [()] * len(frame)
    known = {row: typical_run(schema, {**at, **dict(zip(given, row, strict=True))}) for row in set(rows)}
    return {name: [known[row][name] for row in rows] for name in missing}


def _devices_per_node(result: FitResult, frame: pd.DataFrame) -> Array | None:
    """Return the devices of a node at the largest measured scale of each row's levels, shape (rows,)."""
    workers, nodes = result.panel.workers, result.panel.nodes
    if workers is None or nodes is None:
        return None
    names = [f.name for f in result.schema.factors if not f.numeric and f.name in frame]
    rows = list(frame[names].astype(str).itertuples(index=False, name=None)) if names else [()] * len(frame)
    levels = {row: dict(zip(names, row, strict=True)) for row in set(rows)}
    full = {row: ratio_at_the_largest(result.schema, at, workers.name, nodes.name) for row, at in levels.items()}
    return np.array([full[row] or workers.upper / nodes.upper for row in rows])


def _representative(values: pd.Series[Any], factor: Factor) -> float | None:
    """Return the number that stands for a column: the largest scale, else the middle; None where one is no number."""
    given, bad = numbers(values)
    if bad or not len(given):
        return None
    return float(np.max(given) if factor.role == "extrinsic" else np.median(given))
