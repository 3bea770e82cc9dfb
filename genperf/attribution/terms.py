"""Seconds and shares of the terms, of each member and of all by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution.draws import log_paths, quantiles, shares
from genperf.prediction import Member, Query, central_times
from genperf.result import FitResult

Array = npt.NDArray[np.float64]

#: Row that makes the terms of a `max` total add up: time that one term hides behind another.
HIDDEN = "hidden by overlap"
#: Row for what the prediction knows beside the expression: how the measurements depart from its form.
FORM = "form error"
#: Draws of two terms that move against each other by more than this correlation cannot be told apart.
ALIASED = -0.95
#: Members of less weight have no say in what is aliased.
LIGHT = 0.05


@dataclass(frozen=True, eq=False)
class Parts:
    """What the time is made of, at some configurations.

    Attributes
    ----------
    names : tuple of str
        The terms of all members, then `HIDDEN` and `FORM` where they are needed.
    shares : ndarray of shape (members, terms, rows)
        Of each member's own time; zero for a term that the member does not have. They add up to one over the terms.
    drawn : ndarray of shape (draws, terms, rows)
        Seconds of every draw of every member, adding up to the draw's time.
    times : ndarray of shape (members, rows)
    central : ndarray of shape (rows,)
        The predicted time.
    weights : ndarray of shape (members,)
    draw_shares : ndarray of shape (draws,)
    """

    names: tuple[str, ...]
    shares: Array
    drawn: Array
    times: Array
    central: Array
    weights: Array
    draw_shares: Array

    @property
    def seconds(self) -> Array:
        """Seconds of each term, all members by weight, shape (terms, rows); they add up to the predicted time."""
        return np.asarray(np.einsum("m,mtr->tr", self.weights, self.shares) * self.central)


def parts_of(result: FitResult, columns: Mapping[str, Any]) -> Parts:
    """Take the predicted times apart.

    Parameters
    ----------
    result : FitResult
    columns : mapping of str to ndarray of shape (rows,)
    """
    members = result.members
    rows = len(next(iter(columns.values())))
    own = list(dict.fromkeys(t.name for m in members for t in m.expression.terms))
    hides = any(not m.expression.is_sum for m in members)
    departs = any(m.discrepancy is not None for m in members)
    names = (*own, *([HIDDEN] if hides else []), *([FORM] if departs else []))
    paths = np.exp(log_paths(result, columns)) if departs else None
    times = np.array([central_times([m], columns) for m in members])
    best = np.zeros((len(members), len(names), rows))
    drawn = np.zeros((sum(len(m.draws) for m in members), len(names), rows))
    start = 0
    for k, member in enumerate(members):
        stop = start + len(member.draws)
        best[k] = _split(member, columns, member.values, times[k] if departs else None, names)
        drawn[start:stop] = np.swapaxes(
            _split(member, columns, member.draw_values(), None if paths is None else paths[start:stop], names), 0, 1
        )
        start = stop
    weights = np.array([m.weight for m in members])
    return Parts(
        names,
        best / times[:, None, :],
        drawn,
        times,
        central_times(members, columns),
        weights / weights.sum(),
        shares(members),
    )


def _split(
    member: Member, columns: Mapping[str, Any], constants: Mapping[str, Any], whole: Array | None, names: Sequence[str]
) -> Array:
    """Return the seconds by term, first axis; `whole` is the time that they add up to, where it is not the total."""
    terms = member.expression.term_values(columns, constants)
    total = member.expression.evaluate(columns, constants)
    out = np.zeros((len(names), *total.shape))
    for name, seconds in terms.items():
        out[names.index(name)] = seconds
    if not member.expression.is_sum:
        out[names.index(HIDDEN)] = total - out[: len(names)].sum(axis=0)
    if whole is not None:
        out[names.index(FORM)] = whole - total
    return out


def ensemble_table(parts: Parts, query: Query, shown: Sequence[str], levels: tuple[float, float]) -> pd.DataFrame:
    """Return a row per configuration and term: seconds, interval and share, all members by weight."""
    ends = quantiles(parts.drawn, parts.draw_shares, levels)
    return _table(parts.names, parts.seconds, ends, parts.central, query, shown)


def member_tables(
    result: FitResult, parts: Parts, query: Query, shown: Sequence[str], levels: tuple[float, float]
) -> pd.DataFrame:
    """Return the same for each member by itself, the heaviest first; nothing where there is one member."""
    if len(result.members) == 1:
        return pd.DataFrame()
    starts = np.cumsum([0, *(len(m.draws) for m in result.members)])
    tables = []
    for k in np.argsort(-parts.weights, kind="stable").tolist():
        member = result.members[k]
        own = {t.name for t in member.expression.terms} | {FORM} | (set() if member.expression.is_sum else {HIDDEN})
        has = [j for j, name in enumerate(parts.names) if name in own]
        drawn = parts.drawn[starts[k] : starts[k + 1]][:, has]
        table = _table(
            [parts.names[j] for j in has],
            parts.shares[k, has] * parts.times[k],
            quantiles(drawn, np.ones(len(drawn)), levels),
            parts.times[k],
            query,
            shown,
        )
        table.insert(0, "member", member.name)
        table.insert(1, "weight", float(parts.weights[k]))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _table(
    names: Sequence[str], seconds: Array, ends: Array, whole: Array, query: Query, shown: Sequence[str]
) -> pd.DataFrame:
    rows = np.repeat(np.arange(len(whole)), len(names))
    given = {name: query.columns[name][rows] for name in shown if name not in ("term", "seconds", "share")}
    columns = {
        "term": np.tile(np.array(names, dtype=object), len(whole)),
        "seconds": seconds.T.ravel(),
        # As in predict, the interval holds the value that stands beside it.
        "lower": np.minimum(ends[0], seconds).T.ravel(),
        "upper": np.maximum(ends[1], seconds).T.ravel(),
        "share": (seconds / whole).T.ravel(),
    }
    return pd.DataFrame({**given, **columns})


def aliased(result: FitResult, columns: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Name pairs of terms whose draws trade seconds against each other at every configuration asked for.

    In every member of weight that has both.
    """
    total = sum(m.weight for m in result.members)
    verdicts: dict[tuple[str, str], bool] = {}
    for member in result.members:
        if member.weight < LIGHT * total:
            continue
        drawn = member.expression.term_values(columns, member.draw_values())
        names = list(drawn)
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                pair = (a, b) if (b, a) not in verdicts else (b, a)
                trades = _trade(drawn[a], drawn[b])
                verdicts[pair] = verdicts.get(pair, True) and trades
    return tuple(pair for pair, trades in verdicts.items() if trades)


def _trade(x: Array, y: Array) -> bool:
    moving = (x.std(axis=0) > 1e-9 * np.abs(x).max()) & (y.std(axis=0) > 1e-9 * np.abs(y).max())
    together = [np.corrcoef(x[:, j], y[:, j])[0, 1] for j in np.flatnonzero(moving)]
    return bool(together) and max(together) < ALIASED
