"""`explain`: the parts of a predicted value, and how the factors move it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from genperf.attribution.answers import Explanation
from genperf.attribution.comparison import compare, single
from genperf.attribution.elasticity import DOUBLING, SLOPE, Sobol, doublings_by_level, elasticity_table, sensitivity
from genperf.attribution.scaling import Knee, scaling
from genperf.attribution.terms import TERMS_BLOCK_ROWS, aliased, term_tables
from genperf.errors import GenperfError
from genperf.facts import ends_of
from genperf.panel.configurations import kept_beside
from genperf.panel.quantities import beside
from genperf.prediction import substitution_notes
from genperf.prediction.schema import known_names
from genperf.result import FitResult, answering
from genperf.table.cells import frame_of


def explain(
    result: FitResult,
    at: Mapping[str, Any] | pd.DataFrame | None = None,
    interval: float = 0.9,
    *,
    versus: Mapping[str, Any] | None = None,
    knee: bool | Knee = False,
    sobol: bool | Sobol = False,
) -> Explanation:
    """Return the parts of a predicted value, term by term, and how the factors move it.

    Parameters
    ----------
    at : mapping or DataFrame, optional
        Configurations to explain; factors left out are those of a measured run (`typical_run`). For a level that was
        not measured the measured ones stand (`genperf.result.answering`).
    interval : float
        Nominal coverage of the intervals, which hold the uncertainty of the constants and families.
    versus : mapping, optional
        Factors in which a second configuration differs from `at`: why its predicted value differs, term by term.
    knee : bool or Knee
        Also the efficiency's band, the count at which it falls below a level (0.5), the count beyond which adding
        workers makes a step slower, and the crossovers of the largest term. A `Knee` gives another level, along which
        factor, how far, and which kind of scaling. Where the model does not predict a time, the answer holds the
        predicted values along the count of workers and the crossovers.
    sobol : bool or Sobol
        Also the Sobol indices of the variance of T. A `Sobol` gives ln T in its place, the domain and the samples.

    Returns
    -------
    Explanation
        Shares add up to one: for a total with `max`, the row `hidden by overlap` is negative and makes them do so;
        where the prediction follows the measurements away from the expression, the row `unexplained` does. An
        elasticity is ∂ln T/∂ln x: 1 means that doubling the factor doubles T.

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
        raise GenperfError("explain takes one model, and this holds those of several groups", hint="result[GROUP]")
    levels = ends_of(interval)
    at = known_names(at, result.schema) if isinstance(at, Mapping) else at
    fitted, result = result, answering(result, at, versus)
    query = result.query(at)
    varying = tuple(f.name for f in result.schema.factors if f.name in query.given)
    starts = range(0, query.rows, TERMS_BLOCK_ROWS)
    blocks = [query.take(np.arange(start, min(start + TERMS_BLOCK_ROWS, query.rows))) for start in starts]
    tables_of_blocks = [
        (*term_tables(result, b, varying, levels), elasticity_table(result, b, varying, levels)) for b in blocks
    ]
    terms, members, elasticities = (
        pd.concat(tables, ignore_index=True) for tables in zip(*tables_of_blocks, strict=True)
    )
    for name, option, kind in (("knee", knee, Knee), ("sobol", sobol, Sobol)):
        if not isinstance(option, bool | kind):
            raise GenperfError(f"{name} is True or a {kind.__name__}, and not {option!r}")
    one = single(query, "a knee and a comparison are those of one configuration") if versus or knee else {}
    base = dict(at) if isinstance(at, Mapping) else {name: one[name] for name in query.given if name in one}
    # A count that nobody gave is no point of the curve.
    counts = {f.name for f in result.panel.counts}
    there = one if at is not None and counts & base.keys() else {n: v for n, v in one.items() if n not in counts}
    about = vars(Knee() if knee is True else knee) if knee else {}
    predicted = result.predict_columns(frame_of(query.columns), interval)
    judged = [*varying, result.schema.target.name, "lower", "upper", "verdict", "reason"]
    ends = [np.asarray(predicted[name], float) for name in (result.schema.target.name, "lower", "upper")]
    beside_those = beside(result.panel, query.columns, ends)
    return Explanation(
        model=result.model,
        quantity=result.schema.target,
        terms=terms,
        elasticities=elasticities,
        aliased=aliased(fitted, query.columns),
        members=members,
        scaling=scaling(result, there, interval=interval, **about) if knee else None,
        sensitivity=sensitivity(result, None if sobol is True else sobol, interval) if sobol else None,
        comparison=compare(
            result,
            base,
            kept_beside(result.panel, base, versus) | known_names(versus, result.schema),
            interval=interval,
        )
        if versus
        else None,
        notes=(*(str(note) for note in query.notes), *_notes(result, elasticities)),
        doublings=doublings_by_level(result, at, interval),
        verdicts=pd.DataFrame({name: predicted[name] for name in dict.fromkeys(judged)} | beside_those),
    )


def _notes(result: FitResult, elasticities: pd.DataFrame) -> list[str]:
    """Return what a reader of the elasticities should know."""
    notes = substitution_notes(result.schema, result.members)
    steps = {DOUBLING: "of the step from the value to twice it", SLOPE: "the mean over the doubling about the value"}
    methods = {*elasticities["method"]}
    notes += [f"the elasticities marked '{method}' are {text}" for method, text in steps.items() if method in methods]
    named = set(elasticities["factor"])
    return notes + [
        f"{f.name} was measured at {f.lower:g} only: its elasticity is the model's assumption, not the data's"
        for f in result.schema.factors
        if f.distinct == 1 and f.name in named
    ]
