"""Model files of schema version 1, brought to the present layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from genperf.discrepancy import Effect, Exponential
from genperf.discrepancy.kernels.random_walk import walk_from
from genperf.errors import ModelError
from genperf.result.arrays import encoded

Plain = dict[str, Any]


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
    krigings = model.get("krigings", [])
    discrepancies = [_kriging(k) for k in krigings]
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
    place = member.get("kriging")
    if member.get("walk") is not None:
        discrepancies.append(_walk(member["walk"]))
        place = len(discrepancies) - 1
    elif member.get("shift") is not None:
        shift = member["shift"]
        axis = {"factor": shift["factor"], "kind": "doublings", "labels": [], "values": shift["levels"]}
        effect = {"size": 1.0, "rates": {shift["factor"]: 1.0 / shift["length"]}}
        old = {"axes": [axis], "effects": [effect], "weights": shift["weights"], "variance": 0.0}
        discrepancies.append(_kriging(old))
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


def _kriging(kriging: Plain) -> Plain:
    """Return a discrepancy from its weights (κ + 1)⁻¹·r: the residuals r are the weights times κ + 1."""
    anchors, metrics = {}, {}
    for axis in kriging["axes"]:
        values: Any = np.array(axis["values"], dtype=float)
        if axis["kind"] == "level":
            values = np.array([*axis["labels"], None], dtype=object)[:-1][values.astype(int)]
        anchors[axis["factor"]], metrics[axis["factor"]] = values, axis["kind"]
    if not anchors:
        raise ValueError("a kriging without an axis")
    effects = tuple(Effect(e["size"], dict(e["rates"])) for e in kriging["effects"])
    weights = np.array(kriging["weights"], dtype=float)
    across = Exponential(metrics, effects).covariance(anchors, anchors)
    return {
        "kernel": {
            "type": "exponential",
            "metrics": metrics,
            "effects": [{"size": e.size, "rates": e.rates} for e in effects],
        },
        "anchors": {name: encoded(values) for name, values in anchors.items()},
        "logarithms": (across @ weights + weights).tolist(),
        "variances": [0.0] * len(weights),
        "noise": 1.0,
        "scales": [float(np.sqrt(kriging["variance"]))],
    }
