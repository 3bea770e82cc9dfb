"""Figures of a model's errors and constants, of sensitivities and comparisons, and of published series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.arrays import Array
from genperf.attribution import Comparison, Sensitivity
from genperf.errors import GenperfError
from genperf.plots.style import (
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PALETTE,
    SKY,
    VERMILION,
    calm,
    doubling_axis,
    legend,
    new_figure,
    plain_numbers,
    shown,
)
from genperf.result import FitResult
from genperf.validation import Validation
from genperf.words.quantity import constant_unit, heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genperf.table import Table

_MARKERS = "osD^vPX*"
_TITLES = {"inside": "inside a node", "second": "to the second node", "beyond": "beyond"}


@dataclass(frozen=True)
class QualitySettings:
    """How much a figure shows; more cannot be distinguished."""

    #: Models in one figure.
    max_models: int = 5
    #: Rows of constants in one figure.
    max_constants: int = 40
    #: A factor whose largest value is so many times its smallest has a logarithmic axis.
    least_doublings_ratio: float = 4.0


QUALITY = QualitySettings()


def fitted_rows(result: FitResult, table: Table | None = None) -> tuple[pd.DataFrame, Array]:
    """Return the factors of the measured configurations and their values: of a table, or as the model keeps them."""
    if table is not None:
        medians = table.medians()
        return medians.frame[[f.name for f in medians.factors]], medians.measured
    kept = result.schema.medians
    if not kept:
        raise GenperfError("the model file has no measured configurations", hint="give the table, or fit again")
    frame = pd.DataFrame([m.values for m in kept], columns=[f.name for f in result.schema.factors])
    return frame, np.array([m.value for m in kept])


def predicted_against_measured(
    what: FitResult | Validation, table: Table | None = None, interval: float = 0.9
) -> Figure:
    """Draw predicted over measured values, of a model or of several that were held out; on the diagonal they agree.

    A model is drawn at the configurations of `table`, or at those it was fitted to.

    Examples
    --------
    >>> import genperf as gp
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8], "seconds": [9.0, 5.0, 3.0, 2.0]})
    >>> result = gp.fit(gp.read_table(runs, time="seconds", extrinsic="workers"), model="amdahl")
    >>> predicted_against_measured(result).axes[0].get_xlabel()
    'measured time (s)'
    """
    if isinstance(what, Validation):
        parts, target = _held_out(what), what.target if table is None else table.target
    else:
        parts, target = [_fitted(what, table, interval)], what.schema.target
    quantity = heading(target)
    figure, ax = new_figure(5.4, 5.2)
    for k, (name, measured, predicted, lower, upper) in enumerate(parts):
        error = float(np.median(np.abs(predicted / measured - 1.0))) * 100.0
        bars = np.vstack([np.maximum(predicted - lower, 0.0), np.maximum(upper - predicted, 0.0)])
        ax.errorbar(
            measured,
            predicted,
            yerr=np.nan_to_num(bars),
            fmt=_MARKERS[k],
            color=PALETTE[k],
            ecolor=PALETTE[k],
            elinewidth=0.8,
            markersize=5,
            alpha=0.8,
            label=f"{shown(name)}: median error {error:.1f} %",
        )
    everything = np.concatenate([np.concatenate([m, p]) for _, m, p, _, _ in parts])
    ends = np.array([everything.min() / 1.2, everything.max() * 1.2])
    ax.plot(ends, ends, color=INK, linewidth=1.0, zorder=1, label="predicted = measured")
    ax.set_xscale("log")
    ax.set_xlim(*ends)
    plain_numbers(ax)
    plain_numbers(ax, across=True)
    ax.set_xlabel(shown(f"measured {quantity}"))
    ax.set_ylabel(shown(f"predicted {quantity}"))
    title = "Configurations held out" if isinstance(what, Validation) else "Configurations of the fit"
    ax.set_title(title, loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=8)
    return figure


_Part = tuple[str, Array, Array, Array, Array]


def _fitted(result: FitResult, table: Table | None, interval: float) -> _Part:
    """Return a model's predictions of measured configurations."""
    rows, measured = fitted_rows(result, table)
    predicted = result.predict(rows, interval)
    value, lower, upper = (predicted[c].to_numpy() for c in (result.schema.target.name, "lower", "upper"))
    return result.model, measured, value, lower, upper


def _held_out(validation: Validation) -> list[_Part]:
    """Return the held-out predictions of each model; a missing end of an interval is the prediction itself."""
    parts: list[_Part] = []
    for score in validation.models:
        points = score.predictions.dropna(subset=["predicted"])
        if len(points) and len(parts) < QUALITY.max_models:
            measured, value, lower, upper = points[["measured", "predicted", "lower", "upper"]].to_numpy().T
            lower, upper = (np.where(np.isnan(end), value, end) for end in (lower, upper))
            parts.append((score.model, measured, value, lower, upper))
    if not parts:
        raise GenperfError("no model predicted anything, so there is nothing to draw")
    return parts


def residuals(result: FitResult, table: Table | None = None, along: str | None = None) -> Figure:
    """Draw how far predictions are from the measured values (%), along a factor: the first extrinsic one that varies.

    The configurations are those of `table`, or those the model was fitted to.
    """
    rows, measured = fitted_rows(result, table)
    target = result.schema.target
    predicted = result.predict(rows)[target.name].to_numpy()
    off = (predicted / measured - 1.0) * 100.0
    name = along or _first_scale(result)
    figure, ax = new_figure()
    ax.axhline(0.0, color=INK, linewidth=1.0)
    noise = 100.0 * max(result.spread.misfit, result.spread.noise)
    ax.axhspan(-noise, noise, color=BLUE, alpha=0.10, linewidth=0, label="spread of a configuration (1 s.d.)")
    if name is None or name not in rows:
        ax.plot(predicted, off, "o", color=BLUE, markersize=5, alpha=0.8, label="configuration")
        ax.set_xlabel(shown(f"predicted {heading(target)}"))
        ax.set_xscale("log")
    else:
        x = rows[name].to_numpy(float)
        ax.plot(x, off, "o", color=BLUE, markersize=5, alpha=0.8, label="configuration")
        middle = pd.Series(off).groupby(x).median()
        ax.plot(middle.index, middle, "_", color=ORANGE, markersize=18, markeredgewidth=2.5, label="median")
        if x.min() > 0 and x.max() / x.min() >= QUALITY.least_doublings_ratio:
            doubling_axis(ax, name, x.tolist())
        ax.set_xlabel(shown(name))
    ax.set_ylabel("predicted − measured (% of measured)")
    legend(ax)
    return figure


def _first_scale(result: FitResult) -> str | None:
    varying = [f for f in result.schema.varying if f.numeric]
    return next((f.name for f in [*(v for v in varying if v.role == "extrinsic"), *varying]), None)


def constants(result: FitResult, interval: float = 0.9) -> Figure:
    """Draw each constant of the heaviest member with its interval, one per row: units differ.

    Coefficients are drawn on a logarithmic axis where they are positive, the other constants on a linear one.
    """
    table = result.constants(interval)
    member, target = result.best, result.schema.target
    kinds = {c.name: c.kind for c in member.expression.constants}
    of_member = table[table["member"] == member.name].drop_duplicates("constant")
    of_member = of_member.assign(unit=[constant_unit(str(u), target) for u in of_member["unit"]])
    coefficient = np.array([kinds[c] == "coefficient" for c in of_member["constant"]], bool)
    title = f"coefficients ({target.unit})" if target.unit else "coefficients"
    groups = [(title, of_member[coefficient]), ("exponents, levels and shapes", of_member[~coefficient])]
    groups = [(title, part.head(QUALITY.max_constants)) for title, part in groups if len(part)]
    heights = [len(part) for _, part in groups]
    figure, axes = new_figure(
        7.2, 1.4 + 0.3 * sum(heights), nrows=len(groups), height_ratios=heights or [1], squeeze=False
    )
    for ax, (title, part) in zip(axes[:, 0], groups, strict=True):
        _constants_on(ax, title, part, target.unit)
    return figure


def _constants_on(ax: Any, title: str, part: pd.DataFrame, unit: str) -> None:
    """Draw constants as points with intervals."""
    calm(ax)
    at = np.arange(len(part))[::-1]
    value, lower, upper = (part[c].to_numpy(float) for c in ("value", "lower", "upper"))
    lower, upper = np.minimum(lower, value), np.maximum(upper, value)
    loose = np.array([bool(s) for s in part["state"]])
    for mask, color, marker, name in (
        (~loose, BLUE, "o", "determined"),
        (loose, FAINT, "D", "at its bound, or not determined"),
    ):
        if mask.any():
            bars = np.vstack([(value - lower)[mask], (upper - value)[mask]])
            ax.errorbar(value[mask], at[mask], xerr=bars, fmt=marker, color=color, markersize=5, label=name)
    names = [
        f"{shown(c)} ({shown(u)})" if u and u != unit else shown(c)
        for c, u in zip(part["constant"], part["unit"], strict=True)
    ]
    ax.set_yticks(at, names)
    ax.set_ylim(-0.7, len(part) - 0.3)
    positive = value[value > 0]
    if title.startswith("coefficients") and len(positive):
        ax.set_xscale("symlog", linthresh=float(positive.min()) / 10.0)
    else:
        ax.axvline(0.0, color=FAINT, linewidth=0.8)
    ax.set_xlabel(title)
    legend(ax)


def sobol(sensitivity: Sensitivity) -> Figure:
    """Draw each factor's share of the prediction's variance: alone, and with its interactions."""
    indices = sensitivity.indices.sort_values("total", kind="stable")
    figure, ax = new_figure(7.2, 1.5 + 0.55 * len(indices))
    at = np.arange(len(indices))
    for name, shift, color, what in (
        ("total", -0.19, SKY, "with interactions (total)"),
        ("first", 0.19, BLUE, "alone (first order)"),
    ):
        value = indices[name].to_numpy(float)
        low = np.nan_to_num(value - indices[f"{name}_lower"].to_numpy(float))
        high = np.nan_to_num(indices[f"{name}_upper"].to_numpy(float) - value)
        bars = np.maximum(np.vstack([low, high]), 0.0)
        ax.barh(at + shift, value, height=0.36, color=color, xerr=bars, ecolor=INK, label=what)
    ax.set_yticks(at, [shown(f) for f in indices["factor"]])
    ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    ax.set_xlabel(f"share of the variance of {_variance_of(sensitivity)}")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _variance_of(sensitivity: Sensitivity) -> str:
    """Return what varies: "the time", "memory_gb", or the logarithm of either."""
    if sensitivity.of == "time" and sensitivity.quantity.is_time:
        return f"the {shown(sensitivity.quantity.name)}"
    return shown(sensitivity.of_what)


def waterfall(comparison: Comparison) -> Figure:
    """Draw why A and B differ: the value of A, each term's change, the value of B."""
    bars = comparison.waterfall()
    figure, ax = new_figure(7.2, 1.2 + 0.42 * len(bars))
    at = np.arange(len(bars))[::-1]
    start, end = bars["start"].to_numpy(float), bars["end"].to_numpy(float)
    change = end - start
    whole = np.zeros(len(bars), bool)
    whole[[0, -1]] = True
    quantity = comparison.quantity
    words = ("slower", "faster") if quantity.is_time else ("more", "less")
    for mask, color, what in (
        (whole, BLUE, shown(quantity.name)),
        (~whole & (change > 0), VERMILION, words[0]),
        (~whole & (change <= 0), GREEN, words[1]),
    ):
        if mask.any():
            ax.barh(at[mask], change[mask], left=start[mask], height=0.62, color=color, label=what)
    for y, value, first, is_whole in zip(at, change, np.maximum(start, end), whole, strict=True):
        text = f"{value:.4g}" if is_whole else f"{value:+.3g}"
        ax.annotate(text, (first, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=INK)
    for upper, lower, level in zip(at[:-1], at[1:], end[:-1], strict=True):
        ax.plot([level, level], [upper - 0.31, lower + 0.31], color=FAINT, linewidth=0.8)
    ax.set_yticks(at, [shown(b) for b in bars["bar"]])
    ax.set_xlim(0.0, 1.16 * float(np.maximum(start, end).max()))
    ax.set_xlabel(shown(heading(quantity)))
    ax.legend(frameon=False, fontsize=8)
    return figure


def published(steps: Mapping[str, npt.NDArray[Any]]) -> Figure:
    """Draw the efficiency of a doubling on each cluster by the kind of step: the median, and nine in ten of them."""
    clusters = np.unique(steps["cluster"])[::-1]
    each = 100.0 * steps["efficiency"] ** (1.0 / steps["doublings"])
    figure, axes = new_figure(9.6, 1.2 + 0.22 * len(clusters), ncols=len(_TITLES), sharey=True, sharex=True)
    for ax, (kind, title) in zip(axes, _TITLES.items(), strict=True):
        for place, cluster in enumerate(clusters):
            values = each[(steps["kind"] == kind) & (steps["cluster"] == cluster)]
            if len(values):
                low, middle, high = np.quantile(values, (0.05, 0.5, 0.95))
                ax.plot([low, high], [place, place], color=BLUE, linewidth=3, alpha=0.35, solid_capstyle="butt")
                ax.plot(middle, place, "o", color=BLUE, markersize=4)
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xlabel("efficiency of a doubling, %")
    axes[0].set_yticks(range(len(clusters)), [shown(c) for c in clusters])
    return figure
