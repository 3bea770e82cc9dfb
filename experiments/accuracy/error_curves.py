"""A picture of what share of the series each model predicts within which error, a panel for each protocol."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from genperf.plots.figures import BLACK, BLUE, GREEN, INK, ORANGE, PINK, VERMILION, image, new_figure

#: Model → colour and dashes, so that neither is needed to tell the lines apart; the order of the legend.
LINES: dict[str, tuple[str, str | tuple[float, tuple[float, ...]]]] = {
    "auto": (BLUE, "-"),
    "last point": (BLACK, "--"),
    "1 + log n": (GREEN, "-."),
    "Ernest": (ORANGE, (0, (1, 1))),
    "random forest": (PINK, (0, (5, 1, 1, 1, 1, 1))),
    "Extra-P": (VERMILION, (0, (8, 2))),
}
#: Per cent. Errors below the first are counted from the left edge on, those beyond the last leave the panel.
TICKS = (0.3, 1, 3, 10, 30, 100)
LIMITS = (0.2, 150.0)


def draw_error_curves(panels: Mapping[str, Mapping[str, pd.Series]], path: str | Path) -> None:
    """Draw the cumulative distributions of absolute errors."""
    figure, axes = new_figure(7.8, 4.0, ncols=len(panels), sharey=True, squeeze=False)
    for ax, (title, errors) in zip(axes[0], panels.items(), strict=True):
        for name, (colour, dashes) in LINES.items():
            if name in errors:
                ordered = np.sort(errors[name].to_numpy())
                share = 100.0 * np.arange(1, len(ordered) + 1) / len(ordered)
                at, up = np.concatenate([[LIMITS[0] / 10], ordered]), np.concatenate([[0.0], share])
                width = 2.6 if name == "auto" else 1.6
                ax.step(np.maximum(at, LIMITS[0] / 10), up, where="post", color=colour, ls=dashes, lw=width, label=name)
        ax.set_xscale("log")
        ax.set_xlim(*LIMITS)
        ax.set_xticks(TICKS, [f"{t:g}" for t in TICKS])
        ax.set_xticks([], minor=True)
        ax.set_ylim(0, 101)
        ax.set_title(title, fontsize=9.5, color=INK)
        ax.set_xlabel("absolute error of a series, %", fontsize=9.5, color=INK)
    axes[0][0].set_ylabel("series predicted that well or better, %", fontsize=9.5, color=INK)
    handles, labels = axes[0][0].get_legend_handles_labels()
    style = {"frameon": False, "fontsize": 9, "handlelength": 3.0, "columnspacing": 1.4}
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), **style)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(image(figure, "png"))
