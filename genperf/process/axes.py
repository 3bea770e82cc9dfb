"""The axes of the process: one for each factor, and for the work, the devices and the bubble of a transformer."""

import numpy as np
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.discrepancy.product import KernelAxis, usual_sizes
from genperf.formula import Node, names_in, quote_name, render, values_of
from genperf.panel import Table

#: What a transformer's step is in proportion to, where the table has no pipeline; and the pipeline's bubble.
WORK = ("parameters", "global_batch", "sequence")
COUNTS = ("workers", "micro_batches")


def axes_of(table: Table) -> tuple[KernelAxis, ...]:
    """Return an axis for each factor that varies or is a count, and for what a transformer's factors amount to."""
    axes = {}
    for f in table.factors:
        name, extrinsic = quote_name(f.name), f.role == "extrinsic" and f.numeric
        if not f.numeric and f.distinct > 1:
            axes[name] = KernelAxis(name, "level", **usual_sizes("level"))
        elif f.distinct > 1 or extrinsic:
            values = np.unique(table.columns[f.name].astype(float))
            axes[name] = _number(name, values, extrinsic and f.lower >= 1.0)
    for name, node in derived(table).items():
        with np.errstate(all="ignore"):
            values = values_of(node, table.columns)
        good = values.min() > 0.0 and values.max() < np.inf and values.max() > values.min() * (1.0 + 1e-9)
        if good and len(names_in(node)) > 1:
            # What several columns amount to has few values in common.
            axis = _number(render(node), values, name in COUNTS)
            axes.setdefault(render(node), replace(axis, each=0.0))
    return tuple(axes.values())


def derived(table: Table) -> dict[str, Node]:
    """Return work, bubble, devices and passes as formulas over the columns of a transformer's table; else nothing."""
    panel = table.panel
    if not all(map(panel.has, ("parameters", "global_batch", "workers"))):
        return {}
    formulas = {"work": "*".join(filter(panel.has, WORK)) + "/workers", "workers": "workers"}
    if panel.has("micro_batches"):
        if panel.has("pipeline_parallel"):
            formulas["bubble"] = "1 + (pipeline_parallel - 1)/micro_batches"
        formulas["micro_batches"] = "micro_batches"
    return {name: panel.over_columns(formula) for name, formula in formulas.items()}


def _number(formula: str, values: Array, count: bool) -> KernelAxis:
    """Return the axis of a number or a count with its prior sizes."""
    positive = bool(values.min() > 0.0)
    x = np.log(values) if positive else np.sign(values) * np.log1p(np.abs(values))
    centre = 0.0 if count else float(np.mean(x))
    return KernelAxis(
        formula, "ln" if positive else "ln1p", centre=centre, **usual_sizes("count" if count else "number")
    )
