"""How every figure looks, and how one is written: no pyplot, no global state, the same bytes each time."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.arrays import Array
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


# How much text a figure contains.
#: A longer name is cut: 32 letters of the legend's size take a third of a figure of 7 inches.
NAME_LETTERS = 32
#: Counts written along an axis, at most.
MAX_TICKS = 9
#: Of PNG files.
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
        # Two thin axes and a faint grid are left.
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
    """Cut a text that is longer than so many names."""
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
    """Return ticks at powers of two, at most `MAX_TICKS` and one; with both ends where fewer than two lie inside."""
    lowest_power, last = int(np.ceil(np.log2(lowest) - 1e-9)), int(np.floor(np.log2(highest) + 1e-9))
    powers = [2.0**k for k in range(lowest_power, last + 1)]
    if len(powers) < 2:
        return sorted({lowest, *powers, highest})
    return powers[:: -(-len(powers) // MAX_TICKS)]


def plain_numbers(ax: Axes, across: bool = False) -> None:
    """Make the vertical axis logarithmic, with plain numbers; or the one across."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = ax.xaxis if across else ax.yaxis
    (ax.set_xscale if across else ax.set_yscale)("log")
    low, high = axis.get_view_interval()
    subs: tuple[float, ...] = (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)
    if high / low < 6 and not across:
        subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(LogLocator(base=10, subs=subs))
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
        raise GenperfError(
            f"cannot write a figure to '{path}'", hint=f"end it in {', '.join('.' + f for f in FORMATS)}"
        )
    return kind


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format of its path's ending: png, svg or pdf."""
    Path(path).write_bytes(image(figure, kind_of(path)))
