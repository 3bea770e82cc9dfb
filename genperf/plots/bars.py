"""Figures of bars: shares of the variance, why two configurations differ, the efficiency of published series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.attribution import Comparison, Sensitivity
from genperf.plots.style import BLUE, FAINT, GREEN, INK, SKY, VERMILION, new_figure, shown
from genperf.words.quantity import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_TITLES = {"inside": "inside a node", "second": "to the second node", "beyond": "beyond"}


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
