"""`suggest`: which configurations to measure next, so that a decision's interval narrows most for its cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.answers import Suggestions
from genperf.advice.candidates import costs, read_candidates
from genperf.advice.narrowing import Knowledge, knowledge
from genperf.attribution import completed
from genperf.errors import GenperfError
from genperf.prediction import Band, Query, central_times, read_query
from genperf.result import FitResult

Array = npt.NDArray[np.float64]


def suggest(
    result: FitResult,
    target: Mapping[str, Any],
    *,
    cost: str = "workers",
    candidates: str | Path | pd.DataFrame | None = None,
    k: int = 1,
    within: float | None = None,
    interval: float = 0.9,
    band: Band = "confidence",
) -> Suggestions:
    """Say what to measure next.

    A candidate's *gain* is the share of its width that the target's interval is expected to lose by one measurement
    there (see `Knowledge.gains`), and candidates are ranked by gain per cost. It counts what is not known of the
    constants, of the family and of the form; it needs no measurement, only the fitted model.

    Parameters
    ----------
    result : FitResult
    target : mapping
        The configuration that is to be decided about; factors left out are at the centre of the measured range.
    cost : str
        What a second costs, a formula over the factors: `workers` counts machine-seconds. One that reads `time` (the
        predicted seconds) is the whole cost.
    candidates : path or DataFrame, optional
        What could be measured, a column a factor; by default powers of two below the target's count of workers.
    k : int
        How many to measure before asking again: each is chosen as if those before it had been measured.
    within : float, optional
        The relative half width of the target's interval that is enough, such as 0.1. No more is suggested than is
        expected to reach it.
    interval : float
        Nominal coverage of the target's interval.
    band : {"confidence", "prediction"}
        Of the mean time, or of a new run, whose noise no measurement takes away.

    Returns
    -------
    Suggestions

    Raises
    ------
    GenperfError
        For a target of several configurations, a `k` or `within` that is none, or where there is nothing to measure.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.1, 4.9, 3.2, 2.1]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> found = suggest(result, {"workers": 64})
    >>> sorted(found.candidates["workers"]), len(found.chosen)
    ([16.0, 32.0], 1)
    """
    if not isinstance(result, FitResult):
        raise GenperfError("suggests for one model, and this is several groups'", hint="result[GROUP]")
    if not isinstance(k, int) or k < 1:
        raise GenperfError(f"{k} is not a number of measurements", hint="1 or more")
    if within is not None and not (np.isfinite(within) and within > 0):
        raise GenperfError(f"an interval cannot be within {within:g}", hint="0.1 is 10 %")
    query = read_query(completed(result, target), result.schema)
    if query.rows != 1:
        raise GenperfError(f"one target is decided about, not {query.rows}", hint="one value for each factor")
    predicted = result.predict({n: v[0] for n, v in query.columns.items()}, interval, band).iloc[0]
    known = {n: v[0] for n, v in query.columns.items()}
    time, lower, upper = (float(predicted[c]) for c in ("time", "lower", "upper"))
    width = (upper - lower) / (2.0 * time)
    if within is not None and width <= within:
        said = f"the interval at {_shown(known)} is ±{100 * width:.3g} % already: nothing needs measuring"
        nothing = pd.DataFrame(columns=[*query.columns, "time", "cost", "width", "gain", "gain_per_cost"])
        return Suggestions(known, time, lower, upper, interval, nothing, nothing, width, within, True, said)
    options = read_candidates(result, query, candidates)
    times = central_times(result.members, options.columns)
    prices = costs(result, options, times, cost)
    both = {n: np.concatenate([options.columns[n], query.columns[n]]) for n in query.columns}
    start = knowledge(result, both)
    run = start.noise[-1] if band == "prediction" else 0.0
    ranked = _ranked(start, prices, options, times, width, run, start)
    chosen = _batch(start, prices, options, times, width, run, k, within)
    said = _said(known, chosen, width, within, list(options.columns))
    return Suggestions(known, time, lower, upper, interval, chosen, ranked, width, within, False, said)


def _ranked(
    now: Knowledge, prices: Array, options: Query, times: Array, width: float, run: float, start: Knowledge
) -> pd.DataFrame:
    """Return every candidate as if it were the next, the best first."""
    target = len(now.covariance) - 1
    share = now.gains(target)[:-1]
    # Of a target about which nothing is in doubt, nothing narrows.
    whole = max(start.covariance[target, target] + run, np.finfo(float).tiny)
    before = now.covariance[target, target]
    widths = np.array([_width(width, (before * (1.0 - s) + run) / whole) for s in share])
    held = _width(width, (before + run) / whole)
    gain = 1.0 - widths / held if held > 0 else np.zeros(len(widths))
    frame = pd.DataFrame({**options.columns, "time": times, "cost": prices})
    frame = frame.assign(width=widths, gain=gain, gain_per_cost=gain / prices)
    # Of equal gains, as of none, the cheaper first.
    return frame.sort_values(["gain_per_cost", "cost"], ascending=[False, True], kind="stable")


def _batch(
    start: Knowledge,
    prices: Array,
    options: Query,
    times: Array,
    width: float,
    run: float,
    k: int,
    within: float | None,
) -> pd.DataFrame:
    """Choose one after the other, each as if those before it had been measured."""
    now, left = start, np.ones(len(prices), bool)
    rows: list[pd.DataFrame] = []
    while left.any() and len(rows) < k:
        ranked = _ranked(now, prices, options, times, width, run, start)
        best = ranked[left[ranked.index]].iloc[:1]
        if not best["gain"].iloc[0] > 0.0:
            break
        rows.append(best)
        left[best.index[0]] = False
        now = now.after(int(best.index[0]))
        if within is not None and best["width"].iloc[0] <= within:
            break
    if not rows:
        return _ranked(start, prices, options, times, width, run, start).iloc[:0]
    return pd.concat(rows, ignore_index=True)


def _width(width: float, ratio: float) -> float:
    """Return the relative half width when the variance of ln T falls to a share: sinh of the half width of ln T."""
    return float(np.sinh(np.arcsinh(width) * np.sqrt(max(ratio, 0.0))))


def _said(target: Mapping[str, Any], chosen: pd.DataFrame, width: float, within: float | None, names: list[str]) -> str:
    where, now = _shown(target), f"±{100 * width:.3g} %"
    if chosen.empty:
        return f"no candidate says anything of {where}, where the interval is {now}: measure nearer to it"
    differing = [n for n in names if not (chosen[n] == target[n]).all()] or names
    places = "; ".join(_shown({n: row[n] for n in differing}) for row in chosen[differing].to_dict("records"))
    after = float(chosen["width"].iloc[-1])
    text = f"measure {places}: the interval at {where} is expected to narrow from {now} to ±{100 * after:.3g} %"
    if within is None:
        return text
    return text + (f", within {100 * within:.3g} %" if after <= within else f"; {100 * within:.3g} % needs more")


def _shown(at: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in at.items())
