"""Model files of schema version 1, brought to the present layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from genperf.discrepancy.kernels.random_walk import walk_from
from genperf.errors import ModelError

Plain = dict[str, Any]
#: Of a model of many factors as `auto` once was.
FIT_AGAIN = (
    "is a model of many factors by an earlier version of auto, which this genperf does not read",
    "fit it again: genperf fit TABLE … -o model.json",
)


def refuse_kriging(file: Plain) -> None:
    """Refuse a file of version 2 whose residuals are kriged.

    Raises
    ------
    ModelError
        Saying to fit again.
    """
    models = [group.get("model") for group in file.get("groups", []) if isinstance(group, dict)]
    while models:
        model = models.pop()
        if not isinstance(model, dict):
            continue
        known = model.get("discrepancies")
        if isinstance(known, list) and any(isinstance(d, dict) and not d.get("per_draw") for d in known):
            raise ModelError(FIT_AGAIN[0], hint=FIT_AGAIN[1])
        further = model.get("further")
        models += list(further.values()) if isinstance(further, dict) else []


def upgraded(file: Plain) -> Plain:
    """Return the plain values of a file of version 1 as those of version 2.

    Raises
    ------
    ModelError
        Where a part is missing, or of another kind.
    """
    try:
        groups = [{**group, "model": _model(group["model"])} for group in file["groups"]]
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        where = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else "a part is of another kind"
        raise ModelError(f"is not a whole model file: {where}") from None
    return {**file, "schema_version": 2, "groups": groups}


def _model(model: Plain) -> Plain:
    if model.get("krigings") or any(member.get("shift") for member in model["members"]):
        raise ModelError(FIT_AGAIN[0], hint=FIT_AGAIN[1])
    discrepancies: list[Plain] = []
    members = [_member(member, discrepancies) for member in model["members"]]
    kept = {k: v for k, v in model.items() if k not in ("table", "members", "krigings", "metrics", "options")}
    options = {("request" if k == "asked" else k): v for k, v in model["options"].items()}
    return {
        **kept,
        "table": _table(model["table"]),
        "members": members,
        "options": options,
        "metrics": {k: v for k, v in model["metrics"].items() if v is not None},
        "discrepancies": discrepancies,
    }


def _table(table: Plain) -> Plain:
    changed = ("time", "unit", "shortest", "longest", "medians")
    lines = [[line[:-4], *line[-4:-1], int(line[-1])] for line in table.get("medians", [])]
    return {
        **{k: v for k, v in table.items() if k not in changed},
        "target": {"column": table["time"], "name": "time", "unit": "s", "positive": True},
        "lowest": table["shortest"],
        "highest": table["longest"],
        "medians": lines,
    }


def _member(member: Plain, discrepancies: list[Plain]) -> Plain:
    kept = {k: v for k, v in member.items() if k not in ("walk", "kriging", "shift")}
    place = None
    if member.get("walk") is not None:
        discrepancies.append(_walk(member["walk"]))
        place = len(discrepancies) - 1
    return {**kept, "discrepancy": place}


def _walk(walk: Plain) -> Plain:
    anchors = {name: np.array(values, dtype=float) for name, values in walk["anchors"].items()}
    kernel = walk_from(tuple(walk["axes"]), walk["step"], anchors)
    return {
        "kernel": {"type": "random-walk", "axes": walk["axes"], "step": walk["step"], "origin": list(kernel.origin)},
        "anchors": walk["anchors"],
        "logarithms": walk["logarithms"],
        "variances": walk["variances"],
        "noise": walk["noise"],
        "scales": walk["sizes"],
        "per_draw": True,
        "extrapolation": {"axes": walk["axes"], "work": walk["work"], "slope": walk["trend"]},
        "offsets": walk.get("offsets"),
    }
