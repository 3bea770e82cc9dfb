"""A series that borrows: the pool's answers at the donors' scales, the group's own families between and beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from genperf import metrics
from genperf.ensemble.pool import POINTS, Borrowed, Loan, pool
from genperf.ensemble.pool_groups import could_name, factors_of
from genperf.errors import FitError, Note
from genperf.estimate import FitOptions
from genperf.prediction import Member, Spread, central_times, schema_of
from genperf.result import FitResult, GroupedResult
from genperf.series import Series, series_of, shortened, weigh
from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Where the points of a loan lie in its distribution.
LEVELS = (np.arange(POINTS) + 0.5) / POINTS
#: Columns that a note names.
SHOWN = 8


def with_pool(table: Table, fitted: GroupedResult, options: FitOptions, seed: int) -> GroupedResult:
    """Let the groups of a fitted table borrow from each other.

    Groups that are measured as far as any other stay as they are; of those that could not borrow a note says why.

    Parameters
    ----------
    table : Table
        With group columns.
    fitted : GroupedResult
        Its groups, each by itself, by `auto`.
    options : FitOptions
    seed : int

    Raises
    ------
    FitError
        For a table without group columns.
    """
    if not table.group:
        raise FitError("pooling is between groups, and the table has no group columns", hint="--group A,B")
    loans = pool(table, options.mapping)
    unnamed = () if table.categorical else could_name(table)
    results: dict[tuple[str, ...], FitResult] = {}
    failures: dict[tuple[str, ...], str] = {}
    mapping = factors_of(table, options.mapping).mapping
    named = replace(options, mapping=mapping)
    for key, part in table.groups():
        borrowed, alone = loans[key], fitted.results.get(key)
        series = series_of(part, named, borrowing=True) if borrowed.loans else None
        if series is not None:
            pooled = borrow(part, series, alone or _unfitted(part, options, seed), borrowed, seed)
            results[key] = replace(pooled, notes=(*pooled.notes, *_advice(unnamed)))
        elif alone is not None:
            results[key] = replace(alone, notes=(*alone.notes, *borrowed.notes))
        elif key in fitted.failures:
            failures[key] = fitted.failures[key]
    return GroupedResult(fitted.group, results, failures)


def _unfitted(table: Table, options: FitOptions, seed: int) -> FitResult:
    """Return what is known of a group that cannot be fitted by itself: it was measured at one scale."""
    noise = table.noise()
    spread = Spread(noise=noise if np.isfinite(noise) else 0.0)
    used = {"approach": "series", "asked": options.asked}
    # Its scale has one value here, but not where it borrows.
    notes = tuple(note for note in table.notes if note.kind != "factor_constant")
    schema = replace(schema_of(table), mapping=dict(options.mapping))
    return FitResult("auto", schema, (), spread, (), used, seed, {}, notes)


def borrow(table: Table, series: Series, alone: FitResult, borrowed: Borrowed, seed: int) -> FitResult:
    """Fit a series that borrows.

    The families are sampled and weighed with the borrowed times beside the measured ones, as measurements of so much
    less precision. Then every draw is led exactly through one quantile of what was borrowed, flat curves through the
    low ones: at the donors' scales the draws spread as the pool says, whatever the families hold.

    Parameters
    ----------
    table : Table
    series : Series
        Of the table.
    alone : FitResult
        What the series says by itself.
    borrowed : Borrowed
        With at least one loan.
    seed : int
    """
    loans = borrowed.loans
    columns = {name: np.array([loan.columns[name] for loan in loans]) for name in series.columns}
    middles = np.array([np.median(loan.points) for loan in loans])
    both = series.with_borrowed(columns, middles, np.array([loan.variance for loan in loans]))
    members = tuple(_led(member, loans, alone.spread.noise) for member in weigh(both))
    last = loans[-1]
    options = {
        **alone.options,
        # A pooled group depends on the others too: no later run may keep it for its own rows alone.
        "asked": f"{alone.options.get('asked')}, pooled",
        "pooled_share": round(last.share, 3),
        "borrowed_to": last.scale,
        "donors": "; ".join(", ".join(donor) for donor in last.donors),
    }
    medians = table.medians()
    predicted = central_times(members, medians.columns)
    found = {
        "mape": metrics.mape(predicted, medians.measured),
        "median_ape": metrics.median_ape(predicted, medians.measured),
        "rmse": metrics.rmse(predicted, medians.measured),
        "r2": metrics.r2(predicted, medians.measured),
    }
    notes = (*alone.notes, *borrowed.notes, _note(borrowed))
    return replace(alone, members=members, options=options, metrics=found, notes=notes)


def _led(member: Member, loans: Sequence[Loan], noise: float) -> Member:
    """Lead the draws of a member through what was borrowed."""
    walk = member.walk
    assert walk is not None
    ranks = (np.arange(len(member.draws)) + 0.5) / len(member.draws)
    # What a new run adds is in the loans already: the draws spread by so much less.
    run = float(np.mean(walk.run_variance(noise)))
    offsets = []
    for loan in loans:
        kept = np.sqrt(max(0.0, 1.0 - run / max(loan.variance, 1e-300)))
        offsets.append(kept * np.interp(ranks, LEVELS, loan.points - np.median(loan.points)))
    variances = np.concatenate([walk.variances[: -len(loans)], np.zeros(len(loans))])
    return replace(member, walk=replace(walk, variances=variances, offsets=shortened(np.stack(offsets, axis=1))))


def _note(borrowed: Borrowed) -> Note:
    last = borrowed.loans[-1]
    scales = ", ".join(f"{loan.scale:g}" for loan in borrowed.loans)
    named = "; ".join(", ".join(donor) for donor in last.donors[:3])
    return Note(
        f"beyond {borrowed.along}={borrowed.base:g} its times, at {scales}, are borrowed from {last.among} "
        f"group{'s' * (last.among != 1)} (most like it: {named}); pooled share {100.0 * last.share:.0f} %",
        "pooled",
    )


def _advice(unnamed: Sequence[str]) -> tuple[Note, ...]:
    if not unnamed:
        return ()
    shown = ",".join(unnamed[:SHOWN])
    text = f"the pool was not told of columns in which groups may be alike: --categorical {shown} would let it see them"
    return (Note(text, "similarity"),)
