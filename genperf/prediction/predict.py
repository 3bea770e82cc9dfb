"""Members × draws × noise → predicted times with bands and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from genperf.errors import GenperfError
from genperf.formula import parse
from genperf.prediction.bands import mixture_quantiles
from genperf.prediction.member import Member, forecasts, log_times
from genperf.prediction.query import Query, read_query
from genperf.prediction.schema import Schema
from genperf.prediction.verdict import Evidence, Standing, all_doublings, verdicts
from genperf.table.cells import Cells
from genperf.table.source import Source

Array = npt.NDArray[np.float64]
Band = Literal["prediction", "confidence"]

#: Columns a prediction adds, in order.
PREDICTED = ("time", "lower", "upper", "verdict", "reason")
#: A time is never taken to be shorter than this share of the shortest measured one.
SHORTEST = 1e-6


@dataclass(frozen=True)
class Spread:
    """Standard deviations of ln T that the constants' uncertainty does not hold.

    Attributes
    ----------
    noise : float
        Of repeats of one configuration.
    misfit : float
        Of a configuration inside the measured range that was not fitted: noise and form together, less what kriging
        says of it.
    per_doubling : float
        What each doubling beyond the measured range adds, from predicting the largest scale from the smaller ones.
    """

    noise: float = 0.0
    misfit: float = 0.0
    per_doubling: float = 0.0


def central_times(members: Sequence[Member], columns: Mapping[str, Any]) -> Array:
    """Return the central times, shape (rows,), seconds.

    They are the weighted geometric mean of the members' times; of members that walk, the median of all draws.
    """
    if any(m.walk is not None for m in members):
        mean, variance, shares = _mixture(members, columns)
        return np.asarray(mixture_quantiles(mean, shares, np.sqrt(variance), np.array([0.5]))[0])
    weights = np.array([m.weight for m in members])
    return np.asarray(np.exp(weights @ log_times(members, columns) / weights.sum()))


def _mixture(members: Sequence[Member], columns: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return every draw's mean and variance of ln T, (draws, rows), and its share, (draws,)."""
    found = forecasts(members, columns)
    shares = [np.full(len(m.draws), m.weight / len(m.draws)) for m in members]
    return np.vstack([f[0] for f in found]), np.vstack([f[1] for f in found]), np.concatenate(shares)


def band_of(
    members: Sequence[Member],
    query: Query,
    schema: Schema,
    spread: Spread,
    interval: float,
    band: Band,
) -> tuple[Array, Array]:
    """Return the lower and upper ends of a band, each of shape (rows,).

    The *confidence* band holds the mean time: families and their constants, and how far beyond the data it is asked.
    The *prediction* band holds a new run: the misfit and noise on top. A member that walks knows of itself how far its
    curve may be off, and kriging how far its mean may be.
    """
    far = all_doublings(schema, query)
    floor = np.log(SHORTEST * schema.lowest) if schema.lowest > 0 else -np.inf
    mean, variance, shares = _mixture(members, query.columns)
    start = 0
    for member in members:
        own = slice(start, start + len(member.draws))
        if member.walk is None:
            variance[own] += (spread.per_doubling * far) ** 2
            variance[own] += max(spread.misfit, spread.noise) ** 2 if band == "prediction" else 0.0
        elif band == "prediction":
            variance[own] += member.walk.run_variance(spread.noise)
        start = own.stop
    mean = np.maximum(np.nan_to_num(mean, nan=floor, neginf=floor), floor)
    tail = (1.0 - interval) / 2.0
    lower, upper = mixture_quantiles(mean, shares, np.sqrt(variance), np.array([tail, 1.0 - tail]))
    return lower, upper


def standing_of(members: Sequence[Member], schema: Schema, query: Query) -> Standing:
    """Gather what the verdict must know of the members."""
    unidentified = sorted({name for m in members if m.walk is None for name in m.unidentified})
    walking = [m for m in members if m.walk is not None]
    if not walking:
        return Standing(len(members) > 1, (), {}, unidentified)
    read = {name for m in walking if m.walk for axis in m.walk.axes for name in parse(axis).names}
    followers = [f.name for f in schema.factors if f.numeric and f.name not in read]
    unseen: dict[str, npt.NDArray[np.bool_]] = {}
    for member in walking:
        ones = dict.fromkeys(member.expression.constant_names, 1.0)
        there = member.expression.term_values(member.walk.anchors, ones) if member.walk else {}
        here = member.expression.term_values(query.columns, ones)
        unseen.update({name: here[name] > 0.0 for name, values in there.items() if not values.any()})
    borrowed = walking[0].walk.borrowed if walking[0].walk else {}
    return Standing(True, followers, {n: rows for n, rows in unseen.items() if rows.any()}, unidentified, borrowed)


def predict(
    members: Sequence[Member],
    schema: Schema,
    spread: Spread,
    evidence: Sequence[Evidence],
    source: Source,
    interval: float = 0.9,
    band: Band = "prediction",
) -> dict[str, npt.NDArray[Any]]:
    """Predict times.

    Parameters
    ----------
    members : sequence of Member
    schema : Schema
    spread : Spread
    evidence : sequence of Evidence
    source : Source
        Values of the factors, as `cells_of` returns them.
    interval : float
        Nominal coverage, above 0 and below 1.
    band : {"prediction", "confidence"}
        Of a new run, or of the mean.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        The factors that were given, as numbers or labels, and `time, lower, upper, verdict, reason`; seconds.

    Raises
    ------
    GenperfError
        For an interval outside (0, 1), an unknown band, or a query that `read_query` refuses.
    """
    if not 0.0 < interval < 1.0:
        raise GenperfError(f"the interval must lie between 0 and 1, not {interval}", hint="--interval 0.9")
    if band not in ("prediction", "confidence"):
        raise GenperfError(f"unknown band '{band}'", hint="prediction or confidence")
    query = read_query(source, schema)
    time = central_times(members, query.columns)
    if not np.all(np.isfinite(time)):
        row = int(np.argmin(np.isfinite(time)))
        given = ", ".join(f"{k}={v[row]}" for k, v in query.columns.items())
        raise GenperfError(f"the model has no finite time at {given}", hint="ask nearer to the measured range")
    lower, upper = band_of(members, query, schema, spread, interval, band)
    low90, high90 = band_of(members, query, schema, spread, 0.9, "prediction")
    with np.errstate(divide="ignore"):
        log_width = np.log(high90 / low90)
    verdict, reason = verdicts(schema, query, evidence, standing_of(members, schema, query), log_width)
    words = (np.array(verdict, dtype=object), np.array(reason, dtype=object))
    answers = (time, np.minimum(lower, time), np.maximum(upper, time), *words)
    read = {n: query.columns[n] for n in query.given if n in query.columns and n not in PREDICTED}
    return read | dict(zip(PREDICTED, answers, strict=True))


def beside(source: Source, predicted: Mapping[str, Cells]) -> dict[str, Cells]:
    """Return a prediction's columns behind those that were given and are in no role."""
    given = {name: cells for name, cells in source.columns.items() if name not in PREDICTED}
    return given | dict(predicted)
