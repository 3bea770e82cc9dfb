"""Figures along the number of workers: the prediction with its band, of groups as well, efficiency, and the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genperf.arrays import Array
from genperf.attribution import Scaling, explain
from genperf.attribution.terms import FORM, HIDDEN
from genperf.errors import GenperfError, counted
from genperf.panel.configurations import measured_along
from genperf.plots.style import (
    BLUE,
    FAINT,
    INK,
    PALETTE,
    STYLE,
    VERDICT_STYLE,
    VERMILION,
    banded,
    doubling_axis,
    legend,
    new_figure,
    plain_numbers,
    shown,
)
from genperf.prediction import central_times, read_query
from genperf.prediction.predict import THROUGHPUT
from genperf.result import FitResult, answering
from genperf.words.numbers import samples_called
from genperf.words.quantity import heading, only_for_times, term_column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genperf.table import Table


@dataclass(frozen=True)
class CurveSettings:
    """How much a figure along the workers shows."""

    #: Members of less weight in the ensemble are left out. A guess: at 0.01 they cannot move the band.
    least_weight: float = 0.01
    #: Terms with their own colour; smaller ones are drawn together. One less than the palette has.
    max_terms: int = 7
    #: Groups in one figure: colours times dashes that can be distinguished. A guess.
    max_groups: int = 16
    #: Per cent at which the axis of the efficiency ends, at most.
    highest_efficiency: float = 200.0


CURVES = CurveSettings()
#: Dashes, so that no colour is needed to distinguish groups.
_DASHES = ("-", "--", "-.", ":")


def scaling(
    result: FitResult, answer: Scaling, table: Table | None = None, predictions: pd.DataFrame | None = None
) -> Figure:
    """Draw the predicted value along the number of workers, of `explain`, on logarithmic axes, with its band.

    Families of the ensemble are grey. Of a time there is also perfect scaling. Measured configurations are those of
    `table`, or the ones that the model keeps; `predictions` of `predict` are coloured by verdict.
    """
    result = answering(result, answer.at)
    x = answer.curve[answer.along].to_numpy(float)
    target = answer.quantity
    # A measured throughput is drawn as such: its time is that of one unit of the work.
    rates = bool(target.throughput) and THROUGHPUT[0] in answer.curve
    columns = THROUGHPUT if rates else (target.name, "lower", "upper")
    value, lower, upper = (answer.curve[c].to_numpy(float) for c in columns)
    work = value * answer.curve[target.name].to_numpy(float) if rates else None
    figure, ax = new_figure()
    banded(ax, x, lower, upper, answer.interval)
    _families(ax, result, answer, work)
    if not answer.refusal:
        base = int(np.argmin(np.abs(x - answer.reference)))
        perfect = _perfect(answer, x) if work is None else work / _perfect(answer, x)
        ax.plot(x, value[base] * perfect / perfect[base], color=INK, linestyle=":", label="perfect")
    ax.plot(x, value, color=BLUE, linewidth=2.0, label=shown(result.model))
    points = measured_along(result.panel, answer.along, pd.DataFrame(answer.steps.columns), table)
    if points:
        at = [p.at for p in points]
        times = np.array([[p.value, p.lowest, p.highest] for p in points])
        if work is not None:
            there = np.exp(np.interp(np.log(at), np.log(x), np.log(work)))
            times = there[:, None] / times[:, [0, 2, 1]]
        measured = times[:, 0]
        ends = np.abs(times[:, 1:] - measured[:, None]).T
        ax.errorbar(at, measured, yerr=ends, fmt="o", color=INK, markersize=5, label="measured (median, range)")
    _verdicts(ax, answer, predictions, columns)
    plain_numbers(ax)
    largest = answer.steps.along.upper
    if x.max() > largest:
        ax.axvline(largest, color=FAINT, linestyle="--", linewidth=1.0)
        ax.annotate(
            "measured up to here", (largest, 1.0), xycoords=("data", "axes fraction"), xytext=(-4, -4),
            textcoords="offset points", rotation=90, ha="right", va="top", fontsize=7, color=FAINT,
        )  # fmt: skip
    _framed(ax, answer, x, f"{samples_called(target.throughput)}/s" if rates else shown(heading(target)))
    legend(ax)
    return figure


def _framed(ax: Any, answer: Scaling, x: Array, label: str) -> None:
    """Name the axes of a figure along the workers, and where it is drawn."""
    doubling_axis(ax, answer.along, x.tolist())
    ax.set_ylabel(label)
    ax.set_title(subtitle(answer), loc="left", fontsize=9, color=INK)


def subtitle(answer: Scaling) -> str:
    """Return the values of the other factors at which a curve is drawn."""
    others = [f"{shown(k, 16)} {v:g}" if isinstance(v, int | float) else f"{shown(k, 16)} {shown(v, 16)}"
            for k, v in answer.at.items()]  # fmt: skip
    text = (
        ("" if answer.kind == "unknown" else f"{answer.kind} ")
        + "scaling"
        + (f" at {', '.join(others)}" if others else "")
    )
    letters = 3 * STYLE.name_letters
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _perfect(answer: Scaling, x: Array) -> Array:
    """Return the time of perfect scaling, up to a factor: efficiency × time is what stays."""
    work = answer.curve["efficiency"].to_numpy(float) * answer.curve[answer.quantity.name].to_numpy(float)
    return work if np.all(np.isfinite(work)) else 1.0 / x


def _families(ax: Any, result: FitResult, answer: Scaling, work: Array | None) -> None:
    """Draw the members of an ensemble."""
    if len(result.members) < 2:
        return
    x = answer.curve[answer.along].to_numpy(float)
    columns = read_query(pd.DataFrame(answer.steps.columns), result.schema).columns
    name: str | None = "measured levels" if result.schema.substituted else "families"
    for member in result.members:
        if member.weight >= CURVES.least_weight:
            times = central_times([member], columns)
            drawn = times if work is None else work / times
            ax.plot(x, drawn, color=FAINT, linewidth=0.8, alpha=0.8, label=name)
            name = None


def _verdicts(ax: Any, answer: Scaling, predictions: pd.DataFrame | None, columns: Sequence[str]) -> None:
    """Draw predictions with their intervals, coloured by verdict."""
    if predictions is None or answer.along not in predictions:
        return
    name, lower, upper = columns
    for verdict, (color, marker) in VERDICT_STYLE.items():
        part = predictions[predictions["verdict"] == verdict]
        if len(part):
            bars = np.vstack([part[name] - part[lower], part[upper] - part[name]])
            ax.errorbar(
                part[answer.along].to_numpy(float), part[name], yerr=np.maximum(bars, 0.0), fmt=marker, color=color,
                markersize=7, capsize=3, label=f"predicted: {verdict}",
            )  # fmt: skip


def groups(answers: Mapping[tuple[str, ...], Scaling]) -> Figure:
    """Draw what `explain(…, knee=True)` predicts for groups along the number of workers; a throughput where measured.

    Raises
    ------
    GenperfError
        For no group, or more than can be distinguished.
    """
    if not 0 < len(answers) <= CURVES.max_groups:
        raise GenperfError(
            f"a figure holds up to {CURVES.max_groups} groups, and these are {counted(len(answers), 'group')}",
            hint="result[GROUP].plot()",
        )
    first = next(iter(answers.values()))
    rates = all(THROUGHPUT[0] in answer.curve for answer in answers.values()) and bool(first.quantity.throughput)
    columns = THROUGHPUT if rates else (first.quantity.name, "lower", "upper")
    figure, ax = new_figure()
    counts: set[float] = set()
    for place, (key, answer) in enumerate(answers.items()):
        x = answer.curve[answer.along].to_numpy(float)
        value, lower, upper = (answer.curve[name].to_numpy(float) for name in columns)
        color = PALETTE[place % len(PALETTE)]
        ax.fill_between(x, lower, upper, color=color, alpha=0.12, linewidth=0)
        ax.plot(x, value, color=color, linestyle=_DASHES[place // len(PALETTE)], label=shown(", ".join(key)))
        counts |= set(x.tolist())
    doubling_axis(ax, first.along, sorted(counts))
    plain_numbers(ax)
    ax.set_ylabel(shown(THROUGHPUT[0] if rates else heading(first.quantity)))
    ax.set_title(f"predicted, with {100 * first.interval:.0f} % bands", loc="left", fontsize=9, color=INK)
    legend(ax)
    return figure


def efficiency(answer: Scaling) -> Figure:
    """Draw the scaling efficiency with its band, and where it falls below a level."""
    if not answer.quantity.is_time:
        raise GenperfError(
            only_for_times("figures of the efficiency", answer.quantity), hint="explain --plot without --knee"
        )
    if answer.refusal:
        raise GenperfError(answer.refusal)
    curve = answer.curve
    x = curve[answer.along].to_numpy(float)
    figure, ax = new_figure()
    low, high = (100.0 * curve[f"efficiency_{end}"].to_numpy(float) for end in ("lower", "upper"))
    banded(ax, x, low, high, answer.interval)
    ax.axhline(100.0, color=INK, linestyle=":", label="perfect")
    ax.plot(x, 100.0 * curve["efficiency"].to_numpy(float), color=BLUE, linewidth=2.0, label="efficiency")
    for _, point in answer.points.iterrows():
        count = float(point["count"])
        if point["what"] == "efficiency" and np.isfinite(count):
            level = 100.0 * float(point["level"])
            ax.plot([count], [level], "D", color=VERMILION, markersize=7, label=f"{level:g} % at {count:.4g}")
    _framed(ax, answer, x, f"scaling efficiency (% of {shown(answer.along)} = {answer.reference:g})")
    ax.set_ylim(0.0, _highest(high))
    legend(ax)
    return figure


def speedup(answer: Scaling, rows: pd.DataFrame, limit: float) -> Figure:
    """Draw speed-up and efficiency side by side, what was measured as points and what is extrapolated dashed.

    Parameters
    ----------
    rows : DataFrame
        A row per count: the count, `kind` (measured or extrapolated), `speedup`, `efficiency`.
    limit : float
        The least efficiency, as a line.
    """
    figure, axes = new_figure(7.2, 3.1, ncols=2)
    curve = answer.curve[answer.curve[answer.along] <= rows[answer.along].max()]
    x, largest = curve[answer.along].to_numpy(float), answer.steps.along.upper
    measured = rows[rows["kind"] == "measured"]
    for ax, name, scale, by in ((axes[0], "speedup", 1.0, x / x[0]), (axes[1], "efficiency", 100.0, 1.0)):
        low, middle, high = (scale * by * curve[f"efficiency{end}"] for end in ("_lower", "", "_upper"))
        banded(ax, x, low, high, answer.interval)
        ax.plot(x, scale * by * np.ones_like(x), color=INK, linestyle=":", label="perfect")
        for part, style, label in ((x <= largest, "-", "fitted"), (x >= largest, "--", "extrapolated")):
            if part.sum() > 1:
                ax.plot(x[part], middle[part], color=BLUE, linewidth=2.0, linestyle=style, label=label)
        ax.plot(measured[answer.along], scale * measured[name], "o", color=INK, markersize=5, label="measured")
        doubling_axis(ax, answer.along, x.tolist())
    plain_numbers(axes[0])
    axes[0].set_ylabel(f"speed-up over {shown(answer.along)} = {answer.reference:g}")
    axes[1].axhline(100.0 * limit, color=VERMILION, linewidth=1.0, label=f"{100 * limit:g} %")
    axes[1].set_ylim(0.0, _highest(100.0 * curve["efficiency_upper"].to_numpy(float)))
    axes[1].set_ylabel("efficiency (%)")
    legend(axes[0])
    return figure


def _highest(percent: Array) -> float:
    """Return the end of an axis of efficiencies."""
    return max(105.0, min(CURVES.highest_efficiency, 1.05 * float(np.nanmax(percent))))


def terms(result: FitResult, answer: Scaling, interval: float = 0.9) -> Figure:
    """Draw the parts of the prediction along the number of workers: stacked, above, and as shares, below."""
    result = answering(result, answer.at)
    x, stack, hidden = term_stack(result, pd.DataFrame(answer.steps.columns), answer.along, interval)
    figure, axes = new_figure(7.2, 6.0, nrows=2, sharex=True, height_ratios=[3, 2])
    colors = [*PALETTE[: len(stack)], FAINT][: len(stack)]
    parts = np.array(list(stack.values()))
    target = answer.quantity
    names = [shown(n) for n in stack]
    axes[0].stackplot(x, parts, labels=names, colors=colors, alpha=0.85, linewidth=0)
    total = parts.sum(axis=0) + hidden
    axes[0].plot(x, total, color=INK, linewidth=1.6, label=shown(target.name))
    axes[1].stackplot(x, 100.0 * parts / parts.sum(axis=0), colors=colors, alpha=0.85, linewidth=0)
    axes[0].set_ylabel(shown(heading(target)))
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
    """Return the counts, the part of each term there, and what the prediction is beside their sum."""
    terms, column = explain(result, rows, interval).terms, term_column(result.schema.target)
    parts = {str(name): part[column].to_numpy(float) for name, part in terms.groupby("term", sort=False)}
    named = {name: part for name, part in parts.items() if np.all(part >= 0.0) and name not in (HIDDEN, FORM)}
    hidden = sum((part for name, part in parts.items() if name not in named), np.zeros(len(rows)))
    large = sorted(named, key=lambda n: -float(named[n].max()))
    kept = {n: named[n] for n in named if n in large[: CURVES.max_terms]}
    if len(named) > CURVES.max_terms:
        kept["smaller terms"] = np.asarray(sum(named[n] for n in large[CURVES.max_terms :]), float)
    return rows[along].to_numpy(float), kept, hidden
