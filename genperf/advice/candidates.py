"""Which configurations could be measured next, and what measuring them costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.errors import FormulaError, GenperfError, suggest
from genperf.formula import Node, evaluate, parse_number, substitute
from genperf.panel.following import divisible, following
from genperf.panel.nodes import devices_on_several
from genperf.prediction import Query, read_query
from genperf.result import FitResult

Array = npt.NDArray[np.float64]


def read_candidates(
    result: FitResult, target: Query, candidates: str | Path | pd.DataFrame | None, blind: bool = False
) -> Query:
    """Return the configurations that could be measured.

    Parameters
    ----------
    target : Query
        The one configuration that the decision is about.
    candidates : path or DataFrame, optional
        By default the powers of two from the smallest measured count of workers to below the target's, in whole nodes,
        all else as at the target. Left out are those that were measured or are known to fail, and
        those that a transformer's split does not divide.
    blind : bool
        Whether the prediction at the target is blind: where nothing is left below it, the target is measured.

    Raises
    ------
    GenperfError
        Where there is none.
    """
    if candidates is not None:
        return read_query(candidates, result.schema)
    factor = result.panel.along()
    last = float(target.columns[factor.name][0])
    per_node = devices_on_several(result.panel, target.columns, factor)
    counts = _doublings(factor.lower, last, per_node)
    columns: dict[str, npt.NDArray[Any]] = {k: np.repeat(v, len(counts)) for k, v in target.columns.items()}
    columns[factor.name] = counts
    columns.update(following(result.panel, factor, columns, per_node=per_node))
    exists = divisible(result.panel, columns)
    names = [f.name for f in result.schema.factors]
    known = {median.values for median in result.schema.medians}
    failing = None if result.feasibility is None else result.feasibility.known_to_fail
    fails = np.zeros(len(counts), bool) if failing is None else failing(columns)
    new = [
        i for i in np.flatnonzero(exists & ~fails).tolist() if tuple(columns[name][i] for name in names) not in known
    ]
    if not new and blind and not (failing is not None and failing(target.columns)[0]):
        return target
    if not new:
        raise GenperfError(
            _all_measured(factor.name, counts, last)
            + (", or known to fail" if fails.any() else "")
            + ("" if exists.all() else ", or no multiple of the target's split"),
            hint="--candidates CSV, with the configurations that could be",
        )
    return read_query(pd.DataFrame({k: v[new] for k, v in columns.items()}), result.schema)


def _all_measured(name: str, counts: Array, last: float) -> str:
    """Return that there is no new candidate; any name of a column reads well before an equals sign."""
    texts = [f"{count:g}" for count in counts]
    if not texts:
        return f"no power of two that could be measured is below {name} = {last:g}"
    together = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    runs, verb = ("runs", "were") if len(texts) > 1 else ("run", "was")
    return f"the {runs} at {name} = {together} {verb} measured already"


def _doublings(first: float, last: float, per_node: float | None) -> Array:
    """Return powers of two from one count to below another, those on several nodes times the workers of a full node."""
    counts = 2.0 ** np.arange(np.ceil(np.log2(first) - 1e-9), 64.0)
    if per_node is not None:
        counts = np.concatenate([counts[counts < per_node], per_node * 2.0 ** np.arange(64.0)])
    return np.asarray(counts[(counts >= first) & (counts < last)])


def costs(result: FitResult, query: Query, predicted: Array, cost: str) -> Array:
    """Return what measuring each configuration costs.

    For a model of a time it is the formula times the predicted seconds. A formula that reads the predicted quantity by
    its name (`time`) is the whole cost, as is every formula for another quantity: how long a run takes is not known.

    Parameters
    ----------
    query : Query
        The configurations.
    predicted : ndarray of shape (rows,)
        The predicted values, such as seconds of a step.
    cost : str
        Formula over the factors, by their columns' names or the field's; `workers` makes machine-seconds.

    Returns
    -------
    ndarray of shape (rows,)

    Raises
    ------
    FormulaError
        For a name that is no factor.
    GenperfError
        Where a cost is not above zero.
    """
    quantity = result.schema.target
    formula = parse_number(cost, None, [f.name for f in result.schema.factors if not f.numeric], logical=False)
    nodes: dict[str, Node] = {}
    for name in formula.names:
        if name in query.columns or name == quantity.name:
            continue
        node = result.panel.formula(name)
        if node is None:
            known = [*query.columns, quantity.name]
            raise FormulaError(
                f"'{name}' is not a factor of the model",
                text=cost,
                column=max(cost.find(name), 0),
                width=len(name),
                hint=suggest(name, known) or f"one of {', '.join(known)}",
            )
        nodes[name] = node
    columns: Mapping[str, Any] = {**query.columns, quantity.name: predicted}
    value = np.broadcast_to(np.asarray(evaluate(substitute(formula.node, nodes), columns), float), predicted.shape)
    whole = value if quantity.name in formula.names or not quantity.is_time else value * predicted
    if not np.all(np.isfinite(whole) & (whole > 0)):
        row = int(np.argmin(np.isfinite(whole) & (whole > 0)))
        given = ", ".join(f"{k}={v[row]}" for k, v in query.columns.items())
        raise GenperfError(f"the cost '{cost}' is {whole[row]:g} at {given}", hint="a cost is above zero")
    return np.asarray(whole)
