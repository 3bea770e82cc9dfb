"""A fitted model as data and formulas that a page evaluates: the same numbers as `predict`.

The page's side of it is `assets/engine.js`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.attribution import completed
from genperf.formula import Node, javascript, parse
from genperf.prediction import Kriging, Member, Walk, krigings_of, read_query, verdict, which_kriging
from genperf.prediction.bands import POINTS
from genperf.prediction.predict import SHORTEST, standing_of
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: Digits that a 4-byte number keeps of any decimal one.
SHORT_DIGITS = 6


class Formulas:
    """The formulas of all groups of a page, each written once.

    Examples
    --------
    >>> from genperf.formula import Name
    >>> formulas = Formulas()
    >>> formulas.add(parse("a/workers").node, {"workers": "x[0]"}, {"a": "c[0]"})
    0
    >>> formulas.add(Name("workers"), {"workers": "x[0]"})
    1
    >>> print(formulas.script())
    const FORMULAS=[
    (x,c,t)=>(c[0]/x[0]),
    (x,c,t)=>x[0]];
    """

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def add(self, node: Node, *names: Mapping[str, str]) -> int:
        """Take a formula up and return its number; later mappings of names win."""
        text = javascript(node, {k: v for part in names for k, v in part.items()})
        return self._index.setdefault(text, len(self._index))

    def script(self) -> str:
        """Return the JavaScript that defines them: functions of the factors x, the constants c and the terms t."""
        return "const FORMULAS=[\n" + ",\n".join(f"(x,c,t)=>{text}" for text in self._index) + "];"


def engine(result: FitResult, formulas: Formulas, interval: float) -> dict[str, Any]:
    """Return what the page needs to predict as `result.predict` does.

    Parameters
    ----------
    result : FitResult
    formulas : Formulas
        Takes the model's formulas up.
    interval : float
        Nominal coverage of the page's intervals.
    """
    factors = {f.name: f"x[{i}]" for i, f in enumerate(result.schema.factors)}
    walks: list[dict[str, Any]] = []
    krigings = krigings_of(result.members)
    members = [_member(m, result, factors, formulas, walks, krigings) for m in result.members]
    spread = result.spread
    schema = result.schema
    tail = (1.0 - interval) / 2.0
    return {
        "members": members,
        "walks": walks,
        "krigings": [_kriging(k, list(factors)) for k in krigings],
        "noise": spread.noise,
        "misfit": max(spread.misfit, spread.noise),
        "perDoubling": spread.per_doubling,
        "floor": float(np.log(SHORTEST * schema.lowest)) if schema.lowest > 0 else None,
        "levels": [tail, 1.0 - tail],
        "derived": [
            [i, formulas.add(parse(schema.derived[f.name]).node, factors)]
            for i, f in enumerate(schema.factors)
            if f.name in schema.derived and set(parse(schema.derived[f.name]).names) <= set(factors)
        ],
    }


def judging(result: FitResult, formulas: Formulas) -> dict[str, Any]:
    """Return what the verdicts need to know of a model, see `genperf.prediction.verdict`."""
    query = read_query(completed(result, None), result.schema)
    standing = standing_of(result.members, result.schema, query)
    factors = {f.name: f"x[{i}]" for i, f in enumerate(result.schema.factors)}
    shapes: dict[str, int] = {}
    for member in result.members:
        if member.walk is None:
            continue
        constants = {name: f"c[{j}]" for j, name in enumerate(member.expression.constant_names)}
        ones = dict.fromkeys(member.expression.constant_names, 1.0)
        there = member.expression.term_values(member.walk.anchors, ones)
        shapes.update(
            {
                t.name: formulas.add(t.node, factors, constants)
                for t in member.expression.terms
                if not there[t.name].any()
            }
        )
    return {
        "severalForms": standing.several_forms,
        "followers": list(standing.followers),
        "unseen": [list(shape) for shape in shapes.items()],
        "unidentified": list(standing.unidentified),
        "evidence": [
            [e.factor, e.held_out, e.error, e.last_point if np.isfinite(e.last_point) else None]
            for e in result.evidence
        ],
        # Ranges up to what was borrowed from other groups; nothing where the group stands for itself.
        "borrowed": [
            {k: getattr(f, k) for k in ("name", "role", "numeric", "positive", "lower", "upper", "distinct")}
            for f in verdict.reaching(result.schema, standing.borrowed).factors
            if standing.borrowed
        ],
    }


def rules() -> dict[str, Any]:
    """Return the numbers by which every prediction is judged, and the points of a normal distribution."""
    return {
        "near": verdict.NEAR,
        "blind": verdict.BLIND,
        "wide": [verdict.WIDE, verdict.VERY_WIDE],
        "wideBeyond": [verdict.WIDE_BEYOND, verdict.VERY_WIDE_BEYOND],
        "missed": verdict.MISSED,
        "missedByFar": verdict.MISSED_BY_FAR,
        "nearer": verdict.NEARER,
        "fewest": verdict.FEWEST_SCALES,
        "verdicts": list(verdict.VERDICTS),
        "normal": [NormalDist().inv_cdf((i + 0.5) / POINTS) for i in range(POINTS)],
    }


def _member(
    member: Member,
    result: FitResult,
    factors: Mapping[str, str],
    formulas: Formulas,
    walks: list[dict[str, Any]],
    krigings: Sequence[Kriging],
) -> dict[str, Any]:
    expression = member.expression
    constants = {name: f"c[{j}]" for j, name in enumerate(expression.constant_names)}
    terms = {t.name: f"t[{j}]" for j, t in enumerate(expression.terms)}
    out: dict[str, Any] = {
        "name": member.name,
        "weight": member.weight,
        "terms": [[t.name, formulas.add(t.node, factors, constants)] for t in expression.terms],
        "total": None if expression.total is None else formulas.add(expression.total, factors, constants, terms),
        "constants": [float(v) for v in member.constants],
        "draws": packed(member.draws),
        "count": len(member.draws),
    }
    if member.kriging is not None:
        out["kriging"] = which_kriging(member, krigings)
    if member.walk is not None:
        described = _walk(member.walk, result, factors, formulas)
        if described not in walks:
            walks.append(described)
        out["walk"] = walks.index(described)
        out["sizes"] = packed(member.walk.sizes)
        if member.walk.offsets is not None:
            out["offsets"] = packed(member.walk.offsets)
    return out


def _walk(walk: Walk, result: FitResult, factors: Mapping[str, str], formulas: Formulas) -> dict[str, Any]:
    order = [f.name for f in result.schema.factors]
    rows = len(walk.logarithms)
    anchors = [[_plain(walk.anchors[n][i]) if n in walk.anchors else None for n in order] for i in range(rows)]
    return {
        "axes": [formulas.add(parse(a).node, factors) for a in walk.axes],
        "work": formulas.add(parse(walk.work).node, factors),
        "nodes": formulas.add(parse(walk.nodes).node, factors),
        "anchors": anchors,
        "logarithms": walk.logarithms.tolist(),
        "step": walk.step,
        "noise": walk.noise,
        "trend": walk.trend,
        **walk.geometry(),
    }


def _kriging(kriging: Kriging, order: Sequence[str]) -> dict[str, Any]:
    axes = []
    for axis in kriging.axes:
        labels, values = axis.coded
        axes.append({"at": order.index(axis.factor), "kind": axis.kind, "labels": labels, "values": packed(values)})
    places = {axis.factor: j for j, axis in enumerate(kriging.axes)}
    return {
        "axes": axes,
        "effects": [
            {"size": e.size, "rates": [[places[name], rate] for name, rate in e.rates.items()]} for e in kriging.effects
        ],
        "weights": packed(kriging.weights),
        "variance": kriging.variance,
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def packed(values: npt.ArrayLike) -> dict[str, Any]:
    """Write numbers as base64: in 4 bytes where their decimal digits come back from that, else in 8.

    Examples
    --------
    >>> packed([0.1, 2.5])["bytes"], packed([1 / 3])["bytes"]
    (4, 8)
    """
    flat = np.ascontiguousarray(values, dtype="<f8").ravel()
    short = flat.astype("<f4")
    exact = bool(np.all(np.isfinite(short))) and digits_again(short) == flat.tolist()
    held = short if exact else flat
    return {"bytes": held.itemsize, "data": base64.b64encode(held.tobytes()).decode()}


def digits_again(short: Sequence[float] | npt.NDArray[np.float32]) -> list[float]:
    """Return the decimal numbers that 4-byte ones stand for, as the page reads them back."""
    return [float(f"{v:.{SHORT_DIGITS}g}") for v in np.asarray(short, dtype=float).tolist()]
