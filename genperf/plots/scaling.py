"""Figures along the number of workers: time with its band, efficiency, and what the time is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.attribution import Scaling, completed, explain
from genperf.attribution.ladder import ladder
from genperf.attribution.terms import FORM, HIDDEN
from genperf.plots.style import (
    BLUE,
    FAINT,
    INK,
    LONGEST_NAME,
    PALETTE,
    VERDICT_STYLE,
    VERMILION,
    doubling_axis,
    legend,
    new_figure,
    plain_seconds,
    shown,
)
from genperf.prediction import central_times, read_query
from genperf.prediction.measured import measured_along
from genperf.result import FitResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genperf.table import Table

Array = npt.NDArray[np.float64]

#: Families lighter than this are left out of a figure.
LEAST_WEIGHT = 0.01
#: Terms with a colour of their own; smaller ones are drawn together.
MOST_TERMS = 7


def rows_of(result: FitResult, answer: Scaling) -> pd.DataFrame:
    """Return the configurations of a scaling curve, a column per factor; those that follow the count do so."""
    kind = answer.kind if answer.kind in ("weak", "strong") else None
    at = {str(name): value for name, value in completed(result, answer.at or None).iloc[0].items()}
    steps = ladder(result, at, answer.along, answer.upto, kind, frozenset(answer.at))  # type: ignore[arg-type]
    return pd.DataFrame(steps.columns)


def scaling(
    result: FitResult, answer: Scaling, table: Table | None = None, asked: pd.DataFrame | None = None
) -> Figure:
    """Draw the time along the number of workers, on logarithmic axes.

    The curve with its band; families of the ensemble in grey; perfect scaling; measured configurations with
    the range of their repeats; where the measured range ends.

    Parameters
    ----------
    result : FitResult
    answer : Scaling
        From `explain`.
    table : Table, optional
        Measured configurations to draw; those the model keeps where omitted.
    asked : DataFrame, optional
        Predictions to mark, coloured by verdict, as `predict` returns them.

    Returns
    -------
    matplotlib Figure
    """
    x = answer.curve[answer.along].to_numpy(float)
    time, lower, upper = (answer.curve[c].to_numpy(float) for c in ("time", "lower", "upper"))
    figure, ax = new_figure()
    ax.fill_between(x, lower, upper, color=BLUE, alpha=0.16, linewidth=0, label=f"{answer.interval:.0%} band")
    _families(ax, result, answer, x)
    base = int(np.argmin(np.abs(x - answer.reference)))
    ax.plot(x, time[base] * _perfect(answer, x) / _perfect(answer, x)[base], color=INK, linestyle=":", label="perfect")
    ax.plot(x, time, color=BLUE, linewidth=2.0, label=shown(result.model))
    points = measured_along(result.schema, answer.along, rows_of(result, answer), table)
    if points:
        measured = np.array([p.value for p in points])
        ends = np.array([[p.value - p.lowest, p.highest - p.value] for p in points]).T
        at = [p.at for p in points]
        ax.errorbar(at, measured, yerr=ends, fmt="o", color=INK, markersize=5, label="measured (median, range)")
    _verdicts(ax, answer.along, asked)
    doubling_axis(ax, answer.along, x.tolist())
    plain_seconds(ax)
    factor = next(f for f in result.schema.factors if f.name == answer.along)
    if x.max() > factor.upper:
        ax.axvline(factor.upper, color=FAINT, linestyle="--", linewidth=1.0)
        ax.annotate(
            "measured up to here", (factor.upper, 1.0), xycoords=("data", "axes fraction"), xytext=(-4, -4),
            textcoords="offset points", rotation=90, ha="right", va="top", fontsize=7, color=FAINT,
        )  # fmt: skip
    ax.set_ylabel("time (s)")
    ax.set_title(subtitle(answer), loc="left", fontsize=9, color=INK)
    legend(ax)
    return figure


def subtitle(answer: Scaling) -> str:
    """Say at which values of the other factors a curve is drawn."""
    held = [f"{shown(k, 16)} {v:g}" if isinstance(v, int | float) else f"{shown(k, 16)} {shown(v, 16)}"
            for k, v in answer.at.items()]  # fmt: skip
    text = f"{answer.kind} scaling" + (f" at {', '.join(held)}" if held else "")
    return text if len(text) <= 3 * LONGEST_NAME else text[: 3 * LONGEST_NAME - 1] + "…"


def _perfect(answer: Scaling, x: Array) -> Array:
    """Return the time of perfect scaling, up to a factor: efficiency × time is what stays."""
    work = answer.curve["efficiency"].to_numpy(float) * answer.curve["time"].to_numpy(float)
    return work if np.all(np.isfinite(work)) else 1.0 / x


def _families(ax: Any, result: FitResult, answer: Scaling, x: Array) -> None:
    if len(result.members) < 2:
        return
    columns = read_query(rows_of(result, answer), result.schema).columns
    name: str | None = "families"
    for member in result.members:
        if member.weight >= LEAST_WEIGHT:
            ax.plot(x, central_times([member], columns), color=FAINT, linewidth=0.8, alpha=0.8, label=name)
            name = None


def _verdicts(ax: Any, along: str, asked: pd.DataFrame | None) -> None:
    if asked is None or along not in asked:
        return
    for verdict, (color, marker) in VERDICT_STYLE.items():
        part = asked[asked["verdict"] == verdict]
        if len(part):
            bars = np.vstack([part["time"] - part["lower"], part["upper"] - part["time"]])
            ax.errorbar(
                part[along].to_numpy(float), part["time"], yerr=np.maximum(bars, 0.0), fmt=marker, color=color,
                markersize=7, capsize=3, label=f"predicted: {verdict}",
            )  # fmt: skip


def efficiency(answer: Scaling) -> Figure:
    """Draw the scaling efficiency with its band, and where it falls below a level.

    Parameters
    ----------
    answer : Scaling
        From `explain`.

    Returns
    -------
    matplotlib Figure
    """
    curve = answer.curve
    x = curve[answer.along].to_numpy(float)
    figure, ax = new_figure()
    low, high = (100.0 * curve[f"efficiency_{end}"].to_numpy(float) for end in ("lower", "upper"))
    ax.fill_between(x, low, high, color=BLUE, alpha=0.16, linewidth=0, label=f"{answer.interval:.0%} band")
    ax.axhline(100.0, color=INK, linestyle=":", label="perfect")
    ax.plot(x, 100.0 * curve["efficiency"].to_numpy(float), color=BLUE, linewidth=2.0, label="efficiency")
    for _, point in answer.points.iterrows():
        count = float(point["count"])
        if point["what"] == "efficiency" and np.isfinite(count):
            level = 100.0 * float(point["level"])
            ax.plot([count], [level], "D", color=VERMILION, markersize=7, label=f"{level:g} % at {count:.4g}")
    doubling_axis(ax, answer.along, x.tolist())
    ax.set_ylim(0.0, max(105.0, min(200.0, 1.05 * float(np.nanmax(high)))))
    ax.set_ylabel(f"scaling efficiency (% of {shown(answer.along)} = {answer.reference:g})")
    ax.set_title(subtitle(answer), loc="left", fontsize=9, color=INK)
    legend(ax)
    return figure


def terms(result: FitResult, answer: Scaling, interval: float = 0.9) -> Figure:
    """Draw what the time is made of along the number of workers: seconds stacked, above, and shares, below.

    Parameters
    ----------
    result : FitResult
    answer : Scaling
        Says where.
    interval : float
        Nominal coverage, of `explain`.

    Returns
    -------
    matplotlib Figure
    """
    x, stack, hidden = term_stack(result, rows_of(result, answer), answer.along, interval)
    figure, axes = new_figure(7.2, 6.0, nrows=2, sharex=True, height_ratios=[3, 2])
    colors = [*PALETTE[: len(stack)], FAINT][: len(stack)]
    seconds = np.array(list(stack.values()))
    names = [shown(n) for n in stack]
    axes[0].stackplot(x, seconds, labels=names, colors=colors, alpha=0.85, linewidth=0)
    total = seconds.sum(axis=0) + hidden
    axes[0].plot(x, total, color=INK, linewidth=1.6, label="time")
    axes[1].stackplot(x, 100.0 * seconds / seconds.sum(axis=0), colors=colors, alpha=0.85, linewidth=0)
    axes[0].set_ylabel("time (s)")
    axes[0].set_ylim(bottom=0.0)
    axes[1].set_ylabel("share (%)")
    axes[1].set_ylim(0.0, 100.0)
    doubling_axis(axes[1], answer.along, x.tolist())
    axes[0].set_title(subtitle(answer), loc="left", fontsize=9, color=INK)
    legend(axes[0], reverse=True, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def term_stack(
    result: FitResult, rows: pd.DataFrame, along: str, interval: float = 0.9
) -> tuple[Array, dict[str, Array], Array]:
    """Return the counts, each term's seconds there (small ones together), and what the time is beside their sum.

    That is what overlap hides and what the measurements know better than the expression: rows that may be negative.
    """
    found = explain(result, rows, interval).terms
    wide = found.assign(_row=found.groupby("term", sort=False).cumcount()).pivot_table(
        index="_row", columns="term", values="seconds", sort=False
    )
    hidden = np.zeros(len(rows))
    named: dict[str, Array] = {}
    for name in wide.columns:
        seconds = wide[name].to_numpy(float)
        if np.any(seconds < 0.0) or name in (HIDDEN, FORM):
            hidden = hidden + seconds
        else:
            named[str(name)] = seconds
    large = sorted(named, key=lambda n: -float(named[n].max()))
    kept = {n: named[n] for n in named if n in large[:MOST_TERMS]}
    if len(named) > MOST_TERMS:
        kept["smaller terms"] = np.asarray(sum(named[n] for n in large[MOST_TERMS:]), float)
    return rows[along].to_numpy(float), kept, hidden
