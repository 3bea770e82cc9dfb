"""The axes of the process: one for each factor, and for the work, the devices and the bubble of a transformer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from genperf.discrepancy.product import Axis
from genperf.formula import Node, evaluate, names_in, parse, quote_name, render, substitute
from genperf.panel import Panel
from genperf.process.settings import SIZES
from genperf.table import Factor, Table

#: What a transformer's step is in proportion to, where the table has no pipeline; and the pipeline's bubble.
WORK = ("parameters", "global_batch", "sequence")
COUNTS = ("workers", "micro_batches")


def axes_of(table: Table, mapping: Mapping[str, str]) -> tuple[Axis, ...]:
    """Return an axis for each factor that varies or is a count, and for what a transformer's factors amount to."""
    axes = [_axis(f, table) for f in table.factors if f.distinct > 1 or (f.role == "extrinsic" and f.numeric)]
    known = {axis.formula for axis in axes}
    for name, node in derived(table, mapping).items():
        with np.errstate(all="ignore"):
            x = np.log(np.broadcast_to(np.asarray(evaluate(node, table.columns), float), (len(table),)))
        text, varies = render(node), bool(np.all(np.isfinite(x))) and float(np.ptp(x)) > 1e-9
        if text not in known and varies and len(names_in(node)) > 1:
            axes.append(_number(text, True, 0.0 if name in COUNTS else float(np.mean(x)), name in COUNTS))
            known.add(text)
    return tuple(axes)


def derived(table: Table, mapping: Mapping[str, str]) -> dict[str, Node]:
    """Return work, bubble, devices and passes as formulas over the columns of a transformer's table; else nothing."""
    factors = Panel(table.factors, mapping)
    parts = {name: factors.node(name) for name in (*WORK, *COUNTS, "pipeline_parallel")}
    if any(parts[name] is None for name in ("parameters", "global_batch", "workers")):
        return {}
    known = {name: node for name, node in parts.items() if node is not None}
    text = "*".join(name for name in WORK if name in known) + "/workers"
    out = {"work": substitute(parse(text).node, known), "workers": known["workers"]}
    if "pipeline_parallel" in known and "micro_batches" in known:
        out["bubble"] = substitute(parse("1 + (pipeline_parallel - 1)/micro_batches").node, known)
    if "micro_batches" in known:
        out["micro_batches"] = known["micro_batches"]
    return out


def _axis(factor: Factor, table: Table) -> Axis:
    """Return a factor's axis with its prior sizes."""
    name = quote_name(factor.name)
    if not factor.numeric:
        return Axis(name, "level", SIZES.level, SIZES.level_rate)
    count = factor.role == "extrinsic" and factor.positive and factor.lower >= 1.0
    values = np.asarray(table.columns[factor.name], float)
    x = np.log(values) if factor.positive else np.sign(values) * np.log1p(np.abs(values))
    return _number(
        name, factor.positive, 0.0 if count else float(np.mean(np.unique(x))), count, 0.0 if count else SIZES.each
    )


def _number(formula: str, positive: bool, centre: float, count: bool, each: float = 0.0) -> Axis:
    """Return the axis of a number or a count."""
    s = SIZES
    walk, step = (s.walk, s.step) if count else (0.0, 0.0)
    linear = s.count_linear if count else s.linear
    return Axis(formula, "ln" if positive else "ln1p", linear, s.rate, s.smooth, s.length, walk, step, each, centre)
