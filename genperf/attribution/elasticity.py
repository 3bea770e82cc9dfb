"""By how many per cent the predicted value moves with one per cent of a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.draws import Ratios, quantiles, shares
from genperf.formula import Call, Node, names_in
from genperf.prediction import Query, central_times, stack_of
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: Functions that jump: their derivative tells nothing of the next step.
STEPS = frozenset({"ceil", "floor", "remainder"})

EXACT, DOUBLING = "derivative", "doubling"


def elasticity_table(
    result: FitResult, query: Query, shown: Sequence[str], levels: tuple[float, float]
) -> pd.DataFrame:
    """Return a row per configuration and numeric factor: elasticity, interval and method.

    `derivative` is ∂ln T/∂ln x, exact, all members by weight. Where T is a step function of the factor, or has a part
    that is not an expression, it is `doubling`: ln(T(2x)/T(x))/ln 2. That is the mean of the elasticity on the way from
    the factor's value to twice it.

    Parameters
    ----------
    query : Query
        The configurations.
    shown : sequence of str
        The factors that get a column.
    levels : tuple of float
        The quantiles of the interval's ends.
    """
    read = {name for m in result.members for name in m.expression.factors}
    stack = stack_of(result.members)
    read |= set(() if stack is None else stack.factors)
    names = [f.name for f in result.schema.factors if f.numeric and f.name in read]
    rows = query.rows
    frames = []
    for name in names:
        x = np.asarray(query.columns[name], float)
        method = EXACT if is_smooth(result, name) else DOUBLING
        value, (lower, upper) = (_derivative if method == EXACT else _doubled)(result, query.columns, name, levels)
        known = x > 0 if method == DOUBLING else np.ones(rows, bool)
        answer = {
            "factor": np.full(rows, name, dtype=object),
            "elasticity": np.where(known, value, np.nan),
            "lower": np.where(known, lower, np.nan),
            "upper": np.where(known, upper, np.nan),
            "method": np.full(rows, method, dtype=object),
        }
        given = {factor: query.columns[factor] for factor in shown if factor not in answer}
        frames.append(pd.DataFrame({**given, **answer}))
    columns = list(dict.fromkeys([*shown, "factor", "elasticity", "lower", "upper", "method"]))
    if not frames:
        return pd.DataFrame(columns=columns)
    together = pd.concat(frames)
    return together.sort_index(kind="stable").reset_index(drop=True)


def is_smooth(result: FitResult, name: str) -> bool:
    """Tell whether the prediction is the exact value of an expression without steps in a factor."""
    return stack_of(result.members) is None and all(
        m.discrepancy is None and not _steps(m.expression.node, name) for m in result.members
    )


def _steps(node: Node, name: str) -> bool:
    """Tell whether a function that jumps reads a factor."""
    if not isinstance(node, Call) or name not in names_in(node):
        return False
    return node.function in STEPS or any(_steps(a, name) for a in node.arguments)


def _derivative(
    result: FitResult, columns: Mapping[str, Any], name: str, levels: tuple[float, float]
) -> tuple[Array, Array]:
    """Return ∂ln T/∂ln x = (x/T)·∂T/∂x, and the ends of its interval."""
    x = np.asarray(columns[name], float)
    total = sum(m.weight for m in result.members)
    value = np.zeros(x.shape)
    drawn = []
    for member in result.members:
        for constants in (member.values, member.draw_values()):
            predicted, slopes = member.expression.gradient(columns, constants, [name])
            with np.errstate(all="ignore"):
                elasticity = slopes[name] * x / predicted
            if elasticity.ndim == 1:
                value = value + member.weight / total * elasticity
            else:
                drawn.append(elasticity)
    return value, quantiles(np.vstack(drawn), shares(result.members), levels)


def _doubled(
    result: FitResult, columns: Mapping[str, Any], name: str, levels: tuple[float, float]
) -> tuple[Array, Array]:
    """Return ln(T(2x)/T(x))/ln 2, and the ends of its interval."""
    twice = {**columns, name: 2.0 * np.asarray(columns[name], float)}
    both = {k: np.concatenate([np.atleast_1d(v), twice[k]]) for k, v in columns.items()}
    places = np.arange(len(twice[name]))
    with np.errstate(all="ignore"):
        value = np.log(central_times(result.members, twice) / central_times(result.members, columns))
        ends = Ratios.of(result, both, places + len(places), places).quantiles(levels)
    return value / np.log(2.0), ends / np.log(2.0)
