"""Configurations that name some of the factors, completed with values for the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from genperf.attribution.following import following
from genperf.formula import parse
from genperf.prediction.measured import measured_levels
from genperf.prediction.query import combine, known_names, model_names
from genperf.prediction.schema import Schema
from genperf.result import FitResult
from genperf.table.cells import frame_of
from genperf.table.clean import numbers


def centre_of(result: FitResult) -> dict[str, Any]:
    """Return the centre of the measured range: geometric means, rounded where only whole numbers were measured.

    Levels are those that were measured together most often.
    """
    at: dict[str, Any] = {}
    levels = measured_levels(result.schema, {})
    for f in result.schema.factors:
        centre = float(round(f.centre)) if f.integer else f.centre
        at[f.name] = min(max(centre, f.lower), f.upper) if f.numeric else levels[f.name]
    return at


def completed(result: FitResult, at: Mapping[str, Any] | pd.DataFrame | None) -> pd.DataFrame:
    """Return the given configurations with values for the factors that were left out.

    These are at the centre of the measured range; levels are those that were measured most often with the given ones.
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
    centre = centre_of(result)
    if at is None or (isinstance(at, Mapping) and not at):
        return pd.DataFrame([centre])
    if isinstance(at, Mapping):
        frame = frame_of(combine(known_names(at, result.schema)))
    else:
        frame = at.rename(columns=model_names(map(str, at), result.schema)).reset_index(drop=True)
    names = {str(name) for name in frame.columns}
    derived = result.schema.derived
    follow = {n for n, text in derived.items() if names & set(parse(text).names) and n not in names}
    missing = {k: v for k, v in centre.items() if k not in names and k not in follow}
    out = frame.assign(**missing)
    out = out.assign(**_levels(result.schema, frame, list(missing)))
    # Where the nodes are given and the workers are not, it is the nodes that settle the workers.
    count = next((f for c in ("workers", "nodes") if (f := result.named.find(c)) is not None and f.name in names), None)
    if count is not None:
        columns = {str(k): out[k].to_numpy() for k in out}
        columns[count.name], bad = numbers(out[count.name])
        if not bad:
            after = following(result.named, count, columns, names)
            out = out.assign(**{k: v for k, v in after.items() if k in missing})
    return out


def _levels(schema: Schema, frame: pd.DataFrame, missing: Collection[str]) -> dict[str, list[str]]:
    """Return levels for the categorical factors that are missing, which were measured with those that are given.

    Parameters
    ----------
    schema : Schema
    frame : DataFrame
        Configurations that name some of the factors.
    missing : collection of str
        Names of factors that are left out.
    """
    names = [f.name for f in schema.factors if not f.numeric]
    open_, given = [n for n in names if n in missing], [n for n in names if n not in missing]
    if not open_ or not given:
        return {}
    rows = list(frame[given].itertuples(index=False, name=None))
    known = {row: measured_levels(schema, dict(zip(given, row, strict=True))) for row in set(rows)}
    return {name: [known[row][name] for row in rows] for name in open_}
