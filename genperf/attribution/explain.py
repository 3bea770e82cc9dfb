"""`explain`: what a fitted model's time is made of, and how the factors move it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from genperf.attribution.answers import Explanation
from genperf.attribution.comparison import compare
from genperf.attribution.configurations import completed
from genperf.attribution.elasticity import DOUBLING, elasticity_table
from genperf.attribution.ladder import Kind
from genperf.attribution.scaling import LEVEL, scaling
from genperf.attribution.sensitivity import Of, sensitivity
from genperf.attribution.terms import aliased, ensemble_table, member_tables, parts_of
from genperf.errors import GenperfError
from genperf.prediction import Query, read_query
from genperf.prediction.query import known_names
from genperf.result import FitResult

#: Configurations that are taken apart at once.
BLOCK = 200


def explain(
    result: FitResult,
    at: Mapping[str, Any] | pd.DataFrame | None = None,
    interval: float = 0.9,
    *,
    versus: Mapping[str, Any] | None = None,
    knee: bool | float = False,
    sobol: bool | Of = False,
    along: str | None = None,
    upto: float | None = None,
    kind: Kind | None = None,
    within: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Explanation:
    """Say what a fitted model's time is made of.

    Parameters
    ----------
    result : FitResult
    at : mapping or DataFrame, optional
        Configurations to explain; factors left out are at the centre of the measured range.
    interval : float
        Nominal coverage of the intervals, which hold the uncertainty of the constants and families.
    versus : mapping, optional
        Factors in which a second configuration differs from `at`: why it takes longer, term by term.
    knee : bool or float
        Also the efficiency's band, the count at which it falls below a level (0.5, or the one given), the count beyond
        which adding workers makes a step slower, and the crossovers of the largest term.
    sobol : bool, "time" or "log"
        Also the Sobol indices, of the variance of T or of ln T.
    along, upto, kind
        For the knee, see `genperf.attribution.scaling`.
    within : mapping, optional
        The domain of the Sobol indices, see `genperf.attribution.sensitivity`.
    seed : int
        Of the Sobol indices' samples.

    Returns
    -------
    Explanation
        Shares add up to one: for a total with `max`, the row `hidden by overlap` is negative and makes them do so;
        where the prediction follows the measurements away from the expression, the row `form error` does. An elasticity
        is ∂ln T/∂ln x: 1 means that doubling the factor doubles the time.

    Raises
    ------
    TableError
        Where a factor is not one of the model's, or a value is not one the model can take.
    GenperfError
        For an interval outside (0, 1), or several configurations where one is needed.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> gp.explain(result, {"workers": 8}).terms[["term", "share"]].round(2)
           term  share
    0  constant    0.5
    1  parallel    0.5
    """
    if not isinstance(result, FitResult):
        raise GenperfError("explains one model, and this is several groups'", hint="result[GROUP]")
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    at = known_names(at, result.schema) if isinstance(at, Mapping) else at
    query = read_query(completed(result, at), result.schema)
    tail = (1.0 - interval) / 2.0
    levels = (tail, 1.0 - tail)
    varying = [f.name for f in result.schema.factors if f.name in query.given]
    blocks = [_take(query, start) for start in range(0, query.rows, BLOCK)]
    parts = [parts_of(result, block.columns) for block in blocks]
    pairs = list(zip(parts, blocks, strict=True))
    elasticities = pd.concat([elasticity_table(result, b, varying, levels) for b in blocks], ignore_index=True)
    notes = [str(note) for note in query.notes]
    if (elasticities["method"] == DOUBLING).any():
        notes.append("the elasticities marked 'doubling' are those of the step from the value to twice it")
    asked = set(elasticities["factor"])
    notes += [
        f"{f.name} was only ever {f.lower:g}: its elasticity is the model's assumption, not the data's"
        for f in result.schema.factors
        if f.distinct == 1 and f.name in asked
    ]
    one = _one(query) if versus or knee else {}
    base = dict(at) if isinstance(at, Mapping) else {name: one[name] for name in query.given if name in one}
    given = frozenset(at) if isinstance(at, Mapping) else frozenset(query.given if at is not None else ())
    return Explanation(
        model=result.model,
        terms=pd.concat([ensemble_table(p, b, varying, levels) for p, b in pairs], ignore_index=True),
        elasticities=elasticities,
        aliased=aliased(result, query.columns),
        members=pd.concat([member_tables(result, p, b, varying, levels) for p, b in pairs], ignore_index=True),
        scaling=scaling(
            result,
            one,
            along=along,
            level=LEVEL if knee is True else float(knee),
            upto=upto,
            kind=kind,
            interval=interval,
            given=given,
        )
        if knee
        else None,
        sensitivity=sensitivity(result, within, of="time" if sobol is True else sobol, seed=seed, interval=interval)
        if sobol
        else None,
        comparison=compare(result, base, {**base, **known_names(versus, result.schema)}, interval=interval)
        if versus
        else None,
        notes=tuple(notes),
    )


def _take(query: Query, start: int) -> Query:
    rows = np.zeros(query.rows, bool)
    rows[start : start + BLOCK] = True
    return query.take(rows)


def _one(query: Query) -> dict[str, Any]:
    if query.rows != 1:
        raise GenperfError(f"this asks about one configuration, not {query.rows}", hint="one value for each factor")
    return {name: values[0] for name, values in query.columns.items()}
