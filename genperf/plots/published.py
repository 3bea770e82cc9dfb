"""The published series: what each cluster keeps of its efficiency in a doubling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from genperf.plots.style import BLUE, new_figure, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES = {"inside": "inside a node", "second": "to the second node", "beyond": "beyond"}


def published(steps: Mapping[str, npt.NDArray[Any]]) -> Figure:
    """Draw the efficiency of a doubling on each cluster by the kind of step: the median, and nine in ten of its steps.

    Parameters
    ----------
    steps : mapping of str to ndarray of shape (steps,)
        As `genperf.normal.published` returns them.
    """
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
