"""Why one configuration takes longer than another, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.answers import Comparison
from genperf.attribution.configurations import completed
from genperf.attribution.draws import quantiles
from genperf.attribution.terms import Parts, parts_of
from genperf.errors import GenperfError
from genperf.prediction import Query, read_query
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: Draws with which two models, whose draws have nothing to do with each other, are compared.
PAIRS = 2000


def compare(
    result: FitResult,
    a: Mapping[str, Any] | pd.DataFrame,
    b: Mapping[str, Any] | pd.DataFrame,
    *,
    other: FitResult | None = None,
    names: tuple[str, str] | None = None,
    interval: float = 0.9,
) -> Comparison:
    """Say why configuration B takes longer than A, or less long: `change = T(B) − T(A)`, term by term.

    Two configurations of one model, such as 64 workers against 8, or one framework against another on the same
    network; or one configuration under two models, such as two groups of a fit.

    Parameters
    ----------
    result : FitResult
        The model of A.
    a, b : mapping or DataFrame
        One configuration each; factors left out are at the centre of the measured range.
    other : FitResult, optional
        The model of B; the same where omitted.
    names : tuple of str, optional
        What to call the two; what differs where omitted.
    interval : float
        Nominal coverage of the intervals of the changes. Under one model, a draw's A is compared with its own B;
        under two, draws are paired by chance.

    Raises
    ------
    GenperfError
        Where more than one configuration is given, or both are the same.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> compare(result, {"workers": 2}, {"workers": 8}).terms[["term", "a", "b", "change"]].round(2)
           term    a    b  change
    0  parallel  4.0  1.0    -3.0
    1  constant  1.0  1.0     0.0
    """
    query_a, query_b = _one(a, result), _one(b, other or result)
    if other is None and all(query_a.columns[k][0] == query_b.columns[k][0] for k in query_a.columns):
        raise GenperfError("both configurations are the same", hint="--versus FACTOR=VALUE, with another value")
    if other is None:
        both = {k: np.concatenate([query_a.columns[k], query_b.columns[k]]) for k in query_a.columns}
        parts = parts_of(result, both)
        terms, seconds = list(parts.names), parts.seconds.T
        changes, weights = parts.drawn[:, :, 1] - parts.drawn[:, :, 0], parts.draw_shares
        times = parts.central
    else:
        pair = (parts_of(result, query_a.columns), parts_of(other, query_b.columns))
        terms = list(dict.fromkeys([*pair[0].names, *pair[1].names]))
        seconds = np.stack([_aligned(p.seconds[:, 0], p, terms) for p in pair])
        drawn = [_aligned(p.drawn[_spread(p, k), :, 0], p, terms) for k, p in enumerate(pair)]
        changes, weights = drawn[1] - drawn[0], np.full(PAIRS, 1.0 / PAIRS)
        times = np.array([p.central[0] for p in pair])
    return _answer(
        query_a, query_b, terms, seconds, times, changes, weights, names or _named(query_a, query_b), interval
    )


def _answer(
    query_a: Query,
    query_b: Query,
    terms: list[str],
    seconds: Array,
    times: Array,
    changes: Array,
    weights: Array,
    names: tuple[str, str],
    interval: float,
) -> Comparison:
    tail = (1.0 - interval) / 2.0
    lower, upper = quantiles(changes, weights, (tail, 1.0 - tail))
    change = seconds[1] - seconds[0]
    whole = float(times[1] - times[0])
    table = pd.DataFrame(
        {
            "term": terms,
            "a": seconds[0],
            "b": seconds[1],
            "change": change,
            "lower": np.minimum(lower, change),
            "upper": np.maximum(upper, change),
            "share": change / whole if whole else np.full(len(terms), np.nan),
        }
    )
    order = np.argsort(-np.abs(change), kind="stable")
    low, high = quantiles(changes.sum(axis=1), weights, (tail, 1.0 - tail))
    ends = (min(float(low), whole), max(float(high), whole))
    return Comparison(
        a={k: v[0] for k, v in query_a.columns.items()},
        b={k: v[0] for k, v in query_b.columns.items()},
        name_a=names[0],
        name_b=names[1],
        terms=table.iloc[order].reset_index(drop=True),
        time_a=float(times[0]),
        time_b=float(times[1]),
        change=whole,
        lower=ends[0],
        upper=ends[1],
        said=_said(names, times, terms, change, ends, interval),
    )


def _said(
    names: tuple[str, str], times: Array, terms: list[str], change: Array, ends: tuple[float, float], interval: float
) -> str:
    whole = float(times[1] - times[0])
    if whole == 0.0:
        return f"{names[1]} takes as long as {names[0]}"
    way = "longer" if whole > 0 else "less long"
    text = (
        f"{names[1]} takes {abs(whole):.3g} s {way} than {names[0]} "
        f"({100 * interval:g} %: {ends[0]:+.3g} to {ends[1]:+.3g} s)"
    )
    same_way = np.where(np.sign(change) == np.sign(whole), np.abs(change), 0.0)
    main = int(np.argmax(same_way))
    return f"{text}; '{terms[main]}' makes {change[main]:+.3g} s of it"


def _one(at: Mapping[str, Any] | pd.DataFrame, result: FitResult) -> Query:
    query = read_query(completed(result, at), result.schema)
    if query.rows != 1:
        raise GenperfError(
            f"one configuration is compared with one other, not {query.rows}", hint="one value for each factor"
        )
    return query


def _named(a: Query, b: Query) -> tuple[str, str]:
    """Return what differs, as text."""
    differing = [k for k in a.columns if k in b.columns and a.columns[k][0] != b.columns[k][0]]
    texts = [", ".join(f"{k}={_shown(q.columns[k][0])}" for k in differing) for q in (a, b)]
    return (texts[0] or "A", texts[1] or "B")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _aligned(values: Array, parts: Parts, terms: list[str]) -> Array:
    """Return values by term, last axis, for terms some of which the parts may not have."""
    out = np.zeros((*values.shape[:-1], len(terms)))
    out[..., [terms.index(name) for name in parts.names]] = values
    return out


def _spread(parts: Parts, seed: int) -> npt.NDArray[np.int64]:
    """Return draws by their shares, in an order that has nothing to do with that of another model's."""
    places = (np.arange(PAIRS) + 0.5) / PAIRS
    chosen = np.searchsorted(np.cumsum(parts.draw_shares), places)
    return np.random.default_rng(seed).permutation(np.minimum(chosen, len(parts.draw_shares) - 1))
