"""Figures along the workers, of errors, constants, sensitivities, comparisons and published series, and their look."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array
from genperf.attribution import Comparison, Explanation, Scaling, Sensitivity, sensitivity
from genperf.attribution.answers import FORM
from genperf.attribution.terms import HIDDEN, term_contributions
from genperf.errors import GenperfError, counted
from genperf.facts import Curve
from genperf.panel import read_table
from genperf.panel.configurations import medians_along
from genperf.prediction import central_times
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.schema import roles_of
from genperf.result import FitResult, answering
from genperf.table.content import write_file
from genperf.validation import Validation, validate
from genperf.words.numbers import constant_unit, heading, only_for_times, rate_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from genperf.panel import Table


#: Okabe & Ito (2008), distinguished with any kind of colour vision; the order of use.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
BLUE, ORANGE, GREEN, PINK, SKY, VERMILION, YELLOW, BLACK = PALETTE
INK, FAINT, GRID = "#1f2328", "#8a9099", "#e3e6ea"
#: Colour and marker of each verdict, so that neither is needed to read it.
VERDICT_STYLE = {"ok": (GREEN, "o"), "caution": (ORANGE, "s"), "extrapolating-blind": (VERMILION, "X")}
#: So that twice as many groups can be distinguished as there are colours.
DASHES = ("-", "--")

#: Kinds of files, and what of each tells the date or the writer.
FORMATS = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}

#: A longer name is cut: 32 letters of the legend's size take a third of a figure of 7 inches.
NAME_LETTERS = 32
#: Counts written along an axis, at most.
MAX_TICKS = 9
#: Resolution of PNG files.
DOTS_PER_INCH = 150


def new_figure(width: float = 7.2, height: float = 4.4, **subplots: Any) -> tuple[Figure, Any]:
    """Return a figure and its axes; not shown, and known to nothing else."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise GenperfError("plots need matplotlib", hint='pip install "genperf[plots]"') from None
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(**subplots)
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(FAINT)
        ax.tick_params(colors=INK, labelsize=9)
        ax.grid(visible=True, color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def shown(name: object, letters: int = NAME_LETTERS) -> str:
    """Write a name so that matplotlib takes it as text: no mathematics, no hidden label, not too long."""
    text = cut(" ".join(str(name).split()), letters / NAME_LETTERS).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def cut(text: str, names: float) -> str:
    """Cut a text that is longer than so many names of `NAME_LETTERS`."""
    letters = round(names * NAME_LETTERS)
    return text if len(text) <= letters else text[: letters - 1] + "…"


def around(value: Array, lower: Array, upper: Array) -> Array:
    """Return how far the ends of intervals are below and above values, shape (2, values); 0 where unknown."""
    return np.asarray(np.maximum(np.nan_to_num([value - lower, upper - value]), 0.0))


def banded(ax: Axes, x: Any, lower: Any, upper: Any, interval: float) -> None:
    """Draw the interval around a curve."""
    ax.fill_between(x, lower, upper, color=BLUE, alpha=0.16, linewidth=0, label=f"{100 * interval:.0f} % band")


def legend(ax: Axes, **options: Any) -> None:
    """Add a legend where there is something to distinguish."""
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(frameon=False, fontsize=8, **options)


def doubling_axis(ax: Axes, name: str, counts: Array) -> None:
    """Make the horizontal axis logarithmic, with ticks at round counts written out."""
    ax.set_xscale("log", base=2)
    ticks = ticks_between(float(counts.min()), float(counts.max()))
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(shown(name))


def ticks_between(lowest: float, highest: float) -> list[float]:
    """Return ticks at powers of two, `MAX_TICKS` at most; where fewer than two lie inside, with both ends."""
    lowest_power, last = int(np.ceil(np.log2(lowest) - 1e-9)), int(np.floor(np.log2(highest) + 1e-9))
    powers = [2.0**k for k in range(lowest_power, last + 1)]
    if len(powers) < 2:
        return sorted({lowest, *powers, highest})
    return powers[:: math.ceil(len(powers) / MAX_TICKS)]


def plain_numbers(ax: Axes, across: bool = False) -> None:
    """Make the vertical axis, or with `across` the horizontal one, logarithmic, with ticks as `0.5`, `20`, `1000`."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = ax.xaxis if across else ax.yaxis
    (ax.set_xscale if across else ax.set_yscale)("log")
    low, high = axis.get_view_interval()
    # The longer an axis, the fewer ticks in a decade.
    ticks: tuple[float, ...] = (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)
    if high / low < 6 and not across:
        ticks = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(LogLocator(base=10, subs=ticks))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def image(figure: Figure, kind: str) -> bytes:
    """Return a figure as `png`, `svg` or `pdf`: the same figure, the same bytes."""
    import matplotlib as mpl

    silent = {FORMATS[kind_of(f"figure.{kind}")]: None}
    out = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "genperf"}), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; that is no reason to stop.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(out, format=kind, dpi=DOTS_PER_INCH, metadata=silent)
    return out.getvalue()


def kind_of(path: str | Path) -> str:
    """Return the kind of figure of a path's ending."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        endings = ", ".join(f".{ending}" for ending in FORMATS)
        raise GenperfError(f"cannot write a figure to '{path}'", hint=f"end it in {endings}")
    return kind


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of its path's ending: png, svg or pdf."""
    write_file(path, image(figure, kind_of(path)))


_MARKERS = "osD^vPX*"
_TITLES = {"inside": "inside a node", "second": "to the second node", "beyond": "beyond"}

#: Terms with their own colour; smaller ones are drawn together. One less than the palette has.
FIGURE_MAX_TERMS = len(PALETTE) - 1
#: Groups in one figure: colours times dashes.
MAX_GROUPS = len(PALETTE) * len(DASHES)
#: Per cent at which the axis of the efficiency ends, at most.
HIGHEST_EFFICIENCY = 200.0
#: Configurations from which predictions of a paper's figure are held out.
LEAST_HELD_OUT = 10
#: Models in one figure.
MAX_MODELS = 5
#: Rows of constants in one figure.
MAX_DRAWN_CONSTANTS = 40
#: A factor whose largest value is so many times its smallest has a logarithmic axis.
LEAST_DOUBLINGS_RATIO = 4.0


def _arrays(frame: pd.DataFrame, *names: str) -> Array:
    """Return columns as numbers, shape (columns, rows)."""
    return frame[[*names]].to_numpy(float).T


def answer_curve(curve: Curve) -> Figure:
    """Draw the picture of an answer: the measured runs, and the predicted band along the count of workers."""
    figure, ax = new_figure()
    counts = np.array(curve.counts)
    value, lower, upper = np.array([interval.ends for interval in curve.values]).T
    banded(ax, counts, lower, upper, curve.interval)
    ax.plot(counts, value, color=BLUE, linewidth=2.0, label="predicted")
    if curve.measured:
        ax.plot(*np.array(curve.measured).T, "o", color=INK, markersize=5, label="measured")
    plain_numbers(ax)
    doubling_axis(ax, curve.along, counts)
    ax.set_ylabel(f"{curve.name} ({curve.unit})" if curve.unit else curve.name)
    legend(ax)
    return figure


def scaling(
    result: FitResult, answer: Scaling, table: Table | None = None, predictions: pd.DataFrame | None = None
) -> Figure:
    """Draw the predicted value along the number of workers, of `explain`, on logarithmic axes, with its band.

    Families of the ensemble are grey. Of a time there is also perfect scaling. Measured configurations are those of
    `table`, or the ones that the model keeps; `predictions` of `predict` are coloured by verdict.
    """
    result = answering(result, answer.at)
    target, columns = answer.quantity, _drawn_columns([answer])
    x, times, value, lower, upper = _arrays(answer.curve, answer.along, target.name, *columns)
    rates = columns is THROUGHPUT
    work = value * times if rates else None
    figure, ax = new_figure()
    banded(ax, x, lower, upper, answer.interval)
    _families(ax, result, answer, work)
    if not answer.refusal:
        # An efficiency is what perfect scaling would take, as a share of what is predicted.
        efficiency = answer.curve["efficiency"].to_numpy(float)
        perfect = value * efficiency if work is None else value / efficiency
        base = int(np.argmin(np.abs(x - answer.reference)))
        ax.plot(x, value[base] * perfect / perfect[base], color=INK, linestyle=":", label="perfect")
    ax.plot(x, value, color=BLUE, linewidth=2.0, label=shown(result.model))
    medians = medians_along(result.panel, answer.along, answer.steps.columns, table)
    if medians:
        position = [f.name for f in (result.panel if table is None else table).factors].index(answer.along)
        at = [float(m.values[position]) for m in medians]
        measured, low, high = np.array([[m.value, m.lowest, m.highest] for m in medians]).T
        if work is not None:
            work_at = np.exp(np.interp(np.log(at), np.log(x), np.log(work)))
            measured, low, high = work_at / [measured, high, low]
        bars = around(measured, low, high)
        ax.errorbar(at, measured, yerr=bars, fmt="o", color=INK, markersize=5, label="measured (median, range)")
    if predictions is not None and answer.along in predictions:
        for verdict, rows in predictions.groupby("verdict", sort=False):
            (color, marker), (at_counts, *values) = VERDICT_STYLE[str(verdict)], _arrays(rows, answer.along, *columns)
            style = {"fmt": marker, "color": color, "markersize": 7, "capsize": 3}
            ax.errorbar(at_counts, values[0], yerr=around(*values), label=f"predicted: {verdict}", **style)
    plain_numbers(ax)
    largest = answer.steps.along.upper
    if x.max() > largest:
        ax.axvline(largest, color=FAINT, linestyle="--", linewidth=1.0)
        ax.annotate(
            "measured up to here", (largest, 1.0), xycoords=("data", "axes fraction"), xytext=(-4, -4),
            textcoords="offset points", rotation=90, ha="right", va="top", fontsize=7, color=FAINT,
        )  # fmt: skip
    doubling_axis(ax, answer.along, x)
    ax.set_ylabel(rate_unit(target.samples) if rates else shown(heading(target)))
    _subtitled(ax, answer)
    legend(ax)
    return figure


def _drawn_columns(answers: Sequence[Scaling]) -> tuple[str, str, str]:
    """Return the columns of curves that are drawn, a value and its ends: the throughput where all measured one."""
    target = answers[0].quantity
    rates = bool(target.throughput) and all(THROUGHPUT[0] in answer.curve for answer in answers)
    return THROUGHPUT if rates else (target.name, "lower", "upper")


def _subtitled(ax: Any, answer: Scaling) -> None:
    """Write the values of the other factors at which a curve is drawn."""
    levels = {shown(k, 16): f"{v:g}" if isinstance(v, int | float) else shown(v, 16) for k, v in answer.at.items()}
    at = ", ".join(f"{name} {value}" for name, value in levels.items())
    kind = "scaling" if answer.kind == "unknown" else f"{answer.kind} scaling"
    ax.set_title(cut(f"{kind} at {at}" if at else kind, 3), loc="left", fontsize=9, color=INK)


def _families(ax: Any, result: FitResult, answer: Scaling, work: Array | None) -> None:
    """Draw the members of an ensemble; one lighter than the tail of the band may lie outside it, and is left out."""
    if len(result.members) < 2:
        return
    likely_members = [m for m in result.members if m.weight >= (1.0 - answer.interval) / 2.0] or result.members
    times = np.array([central_times([member], answer.steps.columns) for member in likely_members]).T
    drawn = times if work is None else work[:, None] / times
    lines = ax.plot(answer.curve[answer.along], drawn, color=FAINT, linewidth=0.8, alpha=0.8)
    lines[0].set_label("measured levels" if result.schema.substituted else "families")


def groups(answers: Mapping[tuple[str, ...], Scaling]) -> Figure:
    """Draw what `explain(…, knee=True)` predicts for groups along the workers; a throughput where measured."""
    if not 0 < len(answers) <= MAX_GROUPS:
        fault = f"a figure holds up to {MAX_GROUPS} groups, and these are {counted(len(answers), 'group')}"
        raise GenperfError(fault, hint="result[GROUP].plot()")
    any_answer = next(iter(answers.values()))
    columns = _drawn_columns([*answers.values()])
    figure, ax = new_figure()
    for place, (key, answer) in enumerate(answers.items()):
        x, value, lower, upper = _arrays(answer.curve, answer.along, *columns)
        color = PALETTE[place % len(PALETTE)]
        ax.fill_between(x, lower, upper, color=color, alpha=0.12, linewidth=0)
        ax.plot(x, value, color=color, linestyle=DASHES[place // len(PALETTE)], label=shown(", ".join(key)))
    doubling_axis(ax, any_answer.along, np.concatenate([answer.curve[answer.along] for answer in answers.values()]))
    plain_numbers(ax)
    ax.set_ylabel(shown(THROUGHPUT[0] if columns is THROUGHPUT else heading(any_answer.quantity)))
    ax.set_title(f"predicted, with {100 * any_answer.interval:.0f} % bands", loc="left", fontsize=9, color=INK)
    legend(ax)
    return figure


def efficiency(answer: Scaling) -> Figure:
    """Draw the scaling efficiency with its band, and where it falls below a level."""
    if not answer.quantity.is_time:
        text = only_for_times("figures of the efficiency", answer.quantity)
        raise GenperfError(text, hint="explain --plot without --knee")
    if answer.refusal:
        raise GenperfError(answer.refusal)
    names = ("efficiency", "efficiency_lower", "efficiency_upper")
    (x,) = _arrays(answer.curve, answer.along)
    value, low, high = 100.0 * _arrays(answer.curve, *names)
    figure, ax = new_figure()
    banded(ax, x, low, high, answer.interval)
    ax.axhline(100.0, color=INK, linestyle=":", label="perfect")
    ax.plot(x, value, color=BLUE, linewidth=2.0, label="efficiency")
    for count, level in answer.points.loc[answer.points["what"] == "efficiency", ["count", "level"]].to_numpy(float):
        if np.isfinite(count):
            label = f"{100.0 * level:g} % at {count:.4g}"
            ax.plot([count], [100.0 * level], "D", color=VERMILION, markersize=7, label=label)
    doubling_axis(ax, answer.along, x)
    ax.set_ylabel(f"scaling efficiency (% of {shown(answer.along)} = {answer.reference:g})")
    _subtitled(ax, answer)
    ax.set_ylim(0.0, _upper_limit(high))
    legend(ax)
    return figure


def speedup(answer: Scaling, rows: pd.DataFrame, limit: float) -> Figure:
    """Draw speed-up and efficiency side by side, what was measured as points and what is extrapolated dashed.

    `rows` have the count, `kind` (measured or extrapolated), `speedup` and `efficiency`; the limit, the least
    efficiency, is a line.
    """
    figure, axes = new_figure(7.2, 3.1, ncols=2)
    curve = answer.curve[answer.curve[answer.along] <= rows[answer.along].max()]
    x, largest = curve[answer.along].to_numpy(float), answer.steps.along.upper
    measured = rows[rows["kind"] == "measured"]
    # Both are the efficiency times what perfect scaling has: the count over the first one, or 100 %.
    perfect_scaling = {"speedup": x / x[0], "efficiency": np.full_like(x, 100.0)}
    for ax, (name, perfect) in zip(axes, perfect_scaling.items(), strict=True):
        low, middle, high = (perfect * curve[f"efficiency{end}"] for end in ("_lower", "", "_upper"))
        banded(ax, x, low, high, answer.interval)
        ax.plot(x, perfect, color=INK, linestyle=":", label="perfect")
        for selected, style, label in ((x <= largest, "-", "fitted"), (x >= largest, "--", "extrapolated")):
            if selected.sum() > 1:
                ax.plot(x[selected], middle[selected], color=BLUE, linewidth=2.0, linestyle=style, label=label)
        shown_values = measured[name] * (100.0 if name == "efficiency" else 1.0)
        ax.plot(measured[answer.along], shown_values, "o", color=INK, markersize=5, label="measured")
        doubling_axis(ax, answer.along, x)
    plain_numbers(axes[0])
    axes[0].set_ylabel(f"speed-up over {shown(answer.along)} = {answer.reference:g}")
    axes[1].axhline(100.0 * limit, color=VERMILION, linewidth=1.0, label=f"{100 * limit:g} %")
    axes[1].set_ylim(0.0, _upper_limit(100.0 * curve["efficiency_upper"].to_numpy(float)))
    axes[1].set_ylabel("efficiency (%)")
    legend(axes[0])
    return figure


def _upper_limit(percent: Array) -> float:
    """Return where an axis of efficiencies ends: 105 per cent, or as far above as `HIGHEST_EFFICIENCY`."""
    return max(105.0, min(HIGHEST_EFFICIENCY, 1.05 * float(np.nanmax(percent))))


def terms(result: FitResult, answer: Scaling) -> Figure:
    """Draw the parts of the prediction along the number of workers: stacked, above, and as shares, below."""
    result = answering(result, answer.at)
    split, x = term_contributions(result, answer.steps.columns, drawn=False), answer.steps.counts
    amounts = dict(zip(split.names, split.amounts, strict=True))
    # Only parts above zero can be stacked; the line of the whole has what the others take off.
    positive = {name: part for name, part in amounts.items() if np.all(part >= 0.0) and name not in (HIDDEN, FORM)}
    hidden = sum((part for name, part in amounts.items() if name not in positive), np.zeros(len(split.central)))
    large = sorted(positive, key=lambda name: -float(positive[name].max()))
    stack = {name: positive[name] for name in positive if name in large[:FIGURE_MAX_TERMS]}
    if len(positive) > FIGURE_MAX_TERMS:
        stack["smaller terms"] = np.asarray(sum(positive[name] for name in large[FIGURE_MAX_TERMS:]), float)
    figure, axes = new_figure(7.2, 6.0, nrows=2, sharex=True, height_ratios=[3, 2])
    stacked = np.array(list(stack.values()))
    total = stacked.sum(axis=0)
    style = {"colors": PALETTE, "alpha": 0.85, "linewidth": 0}
    axes[0].stackplot(x, stacked, labels=[shown(name) for name in stack], **style)
    axes[0].plot(x, total + hidden, color=INK, linewidth=1.6, label=shown(answer.quantity.name))
    axes[1].stackplot(x, 100.0 * stacked / total, **style)
    axes[0].set_ylabel(shown(heading(answer.quantity)))
    axes[0].set_ylim(bottom=0.0)
    axes[1].set_ylabel("share (%)")
    axes[1].set_ylim(0.0, 100.0)
    doubling_axis(axes[1], answer.along, x)
    _subtitled(axes[0], answer)
    legend(axes[0], reverse=True, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def fitted_rows(result: FitResult, table: Table | None = None) -> tuple[pd.DataFrame, Array]:
    """Return the factors of the measured configurations and their values: of a table, or as the model keeps them."""
    medians = result.schema.medians if table is None else table.median_runs(table.rows)
    if not medians:
        raise GenperfError("the model file has no measured configurations", hint="give the table, or fit again")
    frame = pd.DataFrame([m.values for m in medians], columns=[f.name for f in result.schema.factors])
    return frame, np.array([m.value for m in medians])


def predicted_against_measured(what: FitResult | Validation, interval: float = 0.9) -> Figure:
    """Draw predicted over measured values: of a model at its own runs, or of several models at held-out ones."""
    columns = "measured", "predicted", "lower", "upper"
    if isinstance(what, Validation):
        target, title = what.target, "held out"
        points = {score.model: score.predictions.dropna(subset=["predicted"]) for score in what.models}
        arrays_by_name = {name: _arrays(frame, *columns) for name, frame in points.items() if len(frame)}
        if not arrays_by_name:
            raise GenperfError("no model predicted anything, so there is nothing to draw")
    else:
        target, title = what.schema.target, "of the fit"
        rows, values = fitted_rows(what)
        predictions = _arrays(what.predict(rows, interval), target.name, "lower", "upper")
        arrays_by_name = {what.model: np.vstack([values, predictions])}
    figure, ax = new_figure(5.4, 5.2)
    arrays_by_name = dict([*arrays_by_name.items()][:MAX_MODELS])
    for (name, (measured, *predicted)), marker, color in zip(arrays_by_name.items(), _MARKERS, PALETTE, strict=False):
        error = float(np.median(np.abs(predicted[0] / measured - 1.0))) * 100.0
        style = {"fmt": marker, "color": color, "elinewidth": 0.8, "alpha": 0.8, "markersize": 5}
        label = f"{shown(name)}: median error {error:.1f} %"
        ax.errorbar(measured, predicted[0], yerr=around(*predicted), label=label, **style)
    all_values = np.hstack([*arrays_by_name.values()])[:2]
    ends = np.array([all_values.min() / 1.2, all_values.max() * 1.2])
    ax.plot(ends, ends, color=INK, linewidth=1.0, zorder=1, label="predicted = measured")
    ax.set_xscale("log")
    ax.set_xlim(*ends)
    plain_numbers(ax)
    plain_numbers(ax, across=True)
    ax.set_xlabel(shown(f"measured {heading(target)}"))
    ax.set_ylabel(shown(f"predicted {heading(target)}"))
    ax.set_title(f"Configurations {title}", loc="left", fontsize=10)
    legend(ax)
    return figure


def residuals(result: FitResult, table: Table | None = None, along: str | None = None) -> Figure:
    """Draw how far predictions are from measured values (%), of a table or of the fit, along a factor."""
    rows, measured = fitted_rows(result, table)
    target = result.schema.target
    predicted = result.predict(rows)[target.name].to_numpy()
    off = (predicted / measured - 1.0) * 100.0
    varying = sorted((f for f in result.schema.varying if f.numeric), key=lambda f: f.role != "extrinsic")
    name = along or next((f.name for f in varying), None)
    figure, ax = new_figure()
    ax.axhline(0.0, color=INK, linewidth=1.0)
    noise = 100.0 * max(result.spread.misfit, result.spread.noise)
    ax.axhspan(-noise, noise, color=BLUE, alpha=0.10, linewidth=0, label="spread of a configuration (1 s.d.)")
    along_factor = name is not None and name in rows
    x = rows[name].to_numpy(float) if along_factor else predicted
    ax.plot(x, off, "o", color=BLUE, markersize=5, alpha=0.8, label="configuration")
    ax.set_xlabel(shown(name if along_factor else f"predicted {heading(target)}"))
    if along_factor:
        middle = pd.Series(off).groupby(x).median()
        ax.plot(middle.index, middle, "_", color=ORANGE, markersize=18, markeredgewidth=2.5, label="median")
        if x.min() > 0 and x.max() / x.min() >= LEAST_DOUBLINGS_RATIO:
            doubling_axis(ax, str(name), x)
    else:
        ax.set_xscale("log")
    ax.set_ylabel("predicted − measured (% of measured)")
    legend(ax)
    return figure


def constants(result: FitResult, interval: float = 0.9) -> Figure:
    """Draw each constant of the heaviest member with its interval, one per row: units differ."""
    member, target = result.best, result.schema.target
    kinds = {c.name: c.kind for c in member.expression.constants}
    table = result.constants(interval)
    table = table[table["member"] == member.name].drop_duplicates("constant")
    coefficients = table["constant"].map(kinds) == "coefficient"
    title = f"coefficients ({target.unit})" if target.unit else "coefficients"
    groups = {title: table[coefficients], "exponents, levels and shapes": table[~coefficients]}
    groups = {title: rows.head(MAX_DRAWN_CONSTANTS) for title, rows in groups.items() if len(rows)}
    heights = [len(rows) for rows in groups.values()]
    height = 1.4 + 0.3 * sum(heights)
    figure, axes = new_figure(7.2, height, nrows=len(groups), height_ratios=heights or [1], squeeze=False)
    for ax, (title, rows) in zip(axes[:, 0], groups.items(), strict=True):
        at, (value, *ends) = np.arange(len(rows))[::-1], _arrays(rows, "value", "lower", "upper")
        bars, undetermined = around(value, *ends), rows["state"].to_numpy(str) != ""
        states = (~undetermined, BLUE, "o", "determined"), (undetermined, FAINT, "D", "at its bound, or not determined")
        for mask, color, marker, name in states:
            if mask.any():
                style = {"fmt": marker, "color": color, "markersize": 5, "label": name}
                ax.errorbar(value[mask], at[mask], xerr=bars[:, mask], **style)
        units = [constant_unit(str(unit), target) for unit in rows["unit"]]
        unit_notes = [f" ({shown(unit)})" if unit not in ("", target.unit) else "" for unit in units]
        ax.set_yticks(at, [shown(name) + note for name, note in zip(rows["constant"], unit_notes, strict=True)])
        ax.set_ylim(-0.7, len(rows) - 0.3)
        positive = value[value > 0]
        if title.startswith("coefficients") and len(positive):
            ax.set_xscale("symlog", linthresh=float(positive.min()) / 10.0)
        else:
            ax.axvline(0.0, color=FAINT, linewidth=0.8)
        ax.set_xlabel(title)
        legend(ax)
    return figure


def elasticities(explanation: Explanation) -> Figure:
    """Draw each factor's elasticity at the first configuration of an explanation, with its interval."""
    rows = explanation.elasticities.drop_duplicates("factor").iloc[::-1]
    figure, ax = new_figure(7.2, 1.3 + 0.4 * max(len(rows), 1))
    value, *ends = _arrays(rows, "elasticity", "lower", "upper")
    at = np.arange(len(rows))
    ax.axvline(0.0, color=FAINT, linewidth=0.8)
    ax.errorbar(value, at, xerr=around(value, *ends), fmt="o", color=BLUE, markersize=5)
    ax.set_yticks(at, [shown(name) for name in rows["factor"]])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(f"elasticity of the {shown(explanation.quantity.name)}")
    return figure


def paper(result: FitResult, explanation: Explanation, interval: float = 0.9, seed: int = 0) -> dict[str, Figure]:
    """Draw the figures that a paper has of a fitted model, by name, in one style.

    Constants with their intervals (of a formula), elasticities, predicted over measured values and the sensitivity to
    each factor. Where the model has all of its configurations, and ten at least, predictions are held out in five
    folds; else they are those of the fit.
    """
    figures = {"constants": constants(result, interval)} if result.is_formula else {}
    if len(explanation.elasticities):
        figures["elasticities"] = elasticities(explanation)
    schema = result.schema
    if len(schema.medians) == schema.configurations >= LEAST_HELD_OUT:
        frame, values = fitted_rows(result)
        target = replace(schema.target, column="_value", throughput="")
        roles: dict[str, Any] = {**roles_of(replace(schema, target=target, group=()))}
        table = read_table(frame.assign(_value=values), **roles)
        figures["predicted"] = predicted_against_measured(validate(table, [result.model], "kfold:5", seed=seed))
    else:
        figures["predicted"] = predicted_against_measured(result, interval=interval)
    with suppress(GenperfError):
        figures["sensitivity"] = sobol(explanation.sensitivity or sensitivity(result, interval=interval))
    return figures


def sobol(sensitivity: Sensitivity) -> Figure:
    """Draw each factor's share of the prediction's variance: alone, and with its interactions."""
    indices = sensitivity.indices.sort_values("total", kind="stable")
    figure, ax = new_figure(7.2, 1.5 + 0.55 * len(indices))
    at = np.arange(len(indices))
    orders = ("total", -0.19, SKY, "with interactions (total)"), ("first", 0.19, BLUE, "alone (first order)")
    for name, shift, color, what in orders:
        value, *ends = _arrays(indices, name, f"{name}_lower", f"{name}_upper")
        ax.barh(at + shift, value, height=0.36, color=color, xerr=around(value, *ends), ecolor=INK, label=what)
    ax.set_yticks(at, [shown(f) for f in indices["factor"]])
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    name = shown(sensitivity.quantity.name)
    of = f"ln {name}" if sensitivity.of == "log" else f"the {name}" if sensitivity.quantity.is_time else name
    ax.set_xlabel(f"share of the variance of {of}")
    legend(ax, loc="lower right")
    return figure


def waterfall(comparison: Comparison) -> Figure:
    """Draw why A and B differ: the value of A, each term's change, the value of B."""
    bars = comparison.waterfall()
    figure, ax = new_figure(7.2, 1.2 + 0.42 * len(bars))
    at = np.arange(len(bars))[::-1]
    start, end = _arrays(bars, "start", "end")
    change = end - start
    is_total = np.isin(at, [0, len(bars) - 1])
    quantity = comparison.quantity
    words = ("slower", "faster") if quantity.is_time else ("more", "less")
    rises, falls = ~is_total & (change > 0), ~is_total & (change <= 0)
    kinds = (is_total, BLUE, shown(quantity.name)), (rises, VERMILION, words[0]), (falls, GREEN, words[1])
    for mask, color, what in kinds:
        if mask.any():
            ax.barh(at[mask], change[mask], left=start[mask], height=0.62, color=color, label=what)
    for y, value, begin, is_whole in zip(at, change, np.maximum(start, end), is_total, strict=True):
        text = f"{value:.4g}" if is_whole else f"{value:+.3g}"
        ax.annotate(text, (begin, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    for upper, lower, level in zip(at[:-1], at[1:], end[:-1], strict=True):
        ax.plot([level, level], [upper - 0.31, lower + 0.31], color=FAINT, linewidth=0.8)
    ax.set_yticks(at, [shown(b) for b in bars["bar"]])
    ax.set_xlim(0.0, 1.16 * float(np.maximum(start, end).max()))
    ax.set_xlabel(shown(heading(quantity)))
    legend(ax)
    return figure


def published(steps: Mapping[str, AnyArray]) -> Figure:
    """Draw the efficiency of a doubling on each cluster by the kind of step: the median, and nine in ten of them."""
    clusters = np.unique(steps["cluster"])[::-1]
    per_doubling = 100.0 * steps["efficiency"] ** (1.0 / steps["doublings"])
    figure, axes = new_figure(9.6, 1.2 + 0.22 * len(clusters), ncols=len(_TITLES), sharey=True, sharex=True)
    for ax, (kind, title) in zip(axes, _TITLES.items(), strict=True):
        for place, cluster in enumerate(clusters):
            values = per_doubling[(steps["kind"] == kind) & (steps["cluster"] == cluster)]
            if len(values):
                low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
                ax.plot([low, high], [place, place], color=BLUE, linewidth=3, alpha=0.35, solid_capstyle="butt")
                ax.plot(middle, place, "o", color=BLUE, markersize=4)
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xlabel("efficiency of a doubling, %")
    axes[0].set_yticks(range(len(clusters)), [shown(c) for c in clusters])
    return figure
