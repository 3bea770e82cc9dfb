"""A table and an expression as the arrays the solver knows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from genperf.expression import Expression
from genperf.formula import evaluate_with_gradient
from genperf.losses import Loss, Penalty
from genperf.solver import Problem
from genperf.table import Table

Array = npt.NDArray[np.float64]


def problem_of(expression: Expression, table: Table, loss: Loss, penalty: Penalty) -> Problem:
    """Bind an expression to a table's rows.

    Parameters
    ----------
    expression : Expression
    table : Table
        One row per configuration (`Table.medians`).
    loss, penalty
        What is minimised.

    Returns
    -------
    Problem
        A coefficient's scale is the mean time over the mean of what it multiplies, so that a coefficient on its scale
        is the share of the mean time that it explains; other constants are their own scale.
    """
    constants = expression.constants
    measured = table.measured
    start = np.array([c.start for c in constants], float)
    is_coefficient = np.array([c.kind == "coefficient" for c in constants], bool)
    scale = np.ones(len(constants))
    mean_time = float(np.average(measured, weights=table.weights))
    reach = _reach(expression, table, dict(zip(expression.constant_names, start, strict=True)))
    scale[is_coefficient] = [mean_time / reach.get(c.name, 1.0) for c in constants if c.kind == "coefficient"]
    bound = expression.bind({name: table.columns[name] for name in expression.factors}, len(table))
    return Problem(
        times=bound.times,
        jacobian=bound.jacobian,
        basis=bound.basis,
        measured=measured,
        weights=table.weights,
        lower=np.array([c.lower for c in constants], float),
        upper=np.array([c.upper for c in constants], float),
        scale=scale,
        penalised=np.array([c.penalised for c in constants], bool),
        coefficient=is_coefficient,
        linear=expression.is_linear,
        start=np.where(is_coefficient, start * scale, start),
        loss=loss,
        penalty=penalty,
    )


def _reach(expression: Expression, table: Table, start: dict[str, float]) -> dict[str, float]:
    """Return the mean of what each coefficient multiplies, where it is not zero throughout."""
    names = [c.name for c in expression.constants if c.kind == "coefficient"]
    reach: dict[str, float] = {}
    for term in expression.terms:
        _, slopes = evaluate_with_gradient(term.node, {**table.columns, **start}, names)
        for name, slope in slopes.items():
            size = float(np.mean(np.abs(np.broadcast_to(slope, len(table)))))
            if np.isfinite(size) and size > 0.0:
                reach[name] = reach.get(name, 0.0) + size
    return reach
