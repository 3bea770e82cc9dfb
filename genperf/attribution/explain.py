"""What a time is made of: terms and shares, elasticities, and where efficiency falls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.answers import Explanation
from genperf.errors import GenperfError
from genperf.prediction import Member, Query, read_query
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: Row that makes the terms of a `max` total add up: time that one term hides behind another.
HIDDEN = "hidden by overlap"
#: Draws of two terms that move against each other by more than this correlation cannot be told apart.
ALIASED = -0.95


def explain(
    result: FitResult, at: Mapping[str, Any] | pd.DataFrame | None = None, interval: float = 0.9
) -> Explanation:
    """Say what a fitted model's time is made of.

    Parameters
    ----------
    result : FitResult
    at : mapping or DataFrame, optional
        Configurations to explain; the centre of the measured range where omitted.
    interval : float
        Nominal coverage of the intervals, which hold the uncertainty of the constants.

    Returns
    -------
    Explanation
        Shares add up to one; for a total with `max`, the row `hidden by overlap` is negative and makes them do so. An
        elasticity is ∂ln T/∂ln x, exact: 1 means that doubling the factor doubles the time.

    Raises
    ------
    TableError
        Where a factor is missing, or a value is not one the model can take.
    GenperfError
        For an interval outside (0, 1).

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
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    query = read_query(centre_of(result) if at is None else at, result.schema)
    tail = (1.0 - interval) / 2.0
    member = result.best
    varying = [f.name for f in result.schema.factors if f.name in query.frame.columns]
    return Explanation(
        result.model,
        _terms(member, query, varying, (tail, 1.0 - tail)),
        _elasticities(member, result, query, varying, (tail, 1.0 - tail)),
        tuple(_aliased(member, query)),
    )


def centre_of(result: FitResult) -> dict[str, Any]:
    """Return the centre of the measured range: geometric means, rounded where only whole numbers were measured."""
    at: dict[str, Any] = {}
    for f in result.schema.factors:
        centre = float(round(f.centre)) if f.integer else f.centre
        at[f.name] = min(max(centre, f.lower), f.upper) if f.numeric else f.levels[0]
    return at


def _terms(member: Member, query: Query, shown: Sequence[str], levels: tuple[float, float]) -> pd.DataFrame:
    whole = member.times(query.columns)
    best = member.expression.term_values(query.columns, member.values)
    drawn = member.expression.term_values(query.columns, member.draw_values())
    if not member.expression.is_sum:
        best = {**best, HIDDEN: whole - sum(best.values())}
        drawn = {**drawn, HIDDEN: member.time_draws(query.columns) - sum(drawn.values())}
    parts = []
    for row in range(len(query.frame)):
        given = {name: query.columns[name][row] for name in shown}
        for name, seconds in best.items():
            lower, upper = np.quantile(drawn[name][:, row], levels)
            share = float(seconds[row] / whole[row])
            parts.append(
                {**given, "term": name, "seconds": seconds[row], "lower": lower, "upper": upper, "share": share}
            )
    return pd.DataFrame(parts)


def _elasticities(
    member: Member, result: FitResult, query: Query, shown: Sequence[str], levels: tuple[float, float]
) -> pd.DataFrame:
    names = [f.name for f in result.schema.factors if f.numeric and f.name in member.expression.factors]
    best, slopes = member.expression.gradient(query.columns, member.values, names)
    times, drawn = member.expression.gradient(query.columns, member.draw_values(), names)
    parts = []
    for row in range(len(query.frame)):
        given = {name: query.columns[name][row] for name in shown}
        for name in names:
            x = query.columns[name][row]
            lower, upper = np.quantile(drawn[name][:, row] * x / times[:, row], levels)
            parts.append(
                {
                    **given,
                    "factor": name,
                    "elasticity": float(slopes[name][row] * x / best[row]),
                    "lower": lower,
                    "upper": upper,
                }
            )
    columns = [*shown, "factor", "elasticity", "lower", "upper"]
    return _without_clash(parts, columns)


def _without_clash(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(dict.fromkeys(columns)))


def _aliased(member: Member, query: Query) -> list[tuple[str, str]]:
    """Name pairs of terms whose draws trade seconds against each other at every configuration asked for."""
    drawn = member.expression.term_values(query.columns, member.draw_values())
    names = list(drawn)
    found = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            x, y = drawn[a], drawn[b]
            moving = (x.std(axis=0) > 1e-9 * np.abs(x).max()) & (y.std(axis=0) > 1e-9 * np.abs(y).max())
            if not moving.any():
                continue
            together = [np.corrcoef(x[:, j], y[:, j])[0, 1] for j in np.flatnonzero(moving)]
            if max(together) < ALIASED:
                found.append((a, b))
    return found
