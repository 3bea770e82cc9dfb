"""A table and an expression as the solver's arrays."""

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
    table : Table
        One row per configuration (`Table.medians`).

    Returns
    -------
    Problem
        A coefficient's scale is the mean measured value over the mean size of its basis function. A coefficient over
        its scale is thus the share of the mean that it explains. The scale of any other
        constant is its size, 1 as a rule.
    """
    constants = expression.constants
    measured = table.measured
    start = np.array([c.start for c in constants], float)
    is_coefficient = np.array([c.kind == "coefficient" for c in constants], bool)
    scale = np.array([c.size for c in constants], float)
    mean = float(np.average(measured, weights=table.weights))
    sizes = _basis_sizes(expression, table, dict(zip(expression.constant_names, start, strict=True)))
    scale[is_coefficient] = [mean / sizes.get(c.name, 1.0) for c in constants if c.kind == "coefficient"]
    bound = expression.bind({name: table.columns[name] for name in expression.factors}, len(table))
    return Problem(
        predict=bound.predict,
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


def _basis_sizes(expression: Expression, table: Table, start: dict[str, float]) -> dict[str, float]:
    """Return the mean size of each coefficient's basis function, where it is not zero throughout."""
    names = [c.name for c in expression.constants if c.kind == "coefficient"]
    sizes: dict[str, float] = {}
    for term in expression.terms:
        _, slopes = evaluate_with_gradient(term.node, {**table.columns, **start}, names)
        for name, slope in slopes.items():
            size = float(np.mean(np.abs(np.broadcast_to(slope, len(table)))))
            if np.isfinite(size) and size > 0.0:
                sizes[name] = sizes.get(name, 0.0) + size
    return sizes
