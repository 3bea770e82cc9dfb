"""All groups of a model along the number of workers, in one figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from genperf.attribution import Scaling
from genperf.errors import GenperfError, counted
from genperf.plots.style import INK, PALETTE, doubling_axis, legend, new_figure, plain_numbers, shown
from genperf.prediction.predict import THROUGHPUT
from genperf.words.quantity import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Dashes, so that no colour is needed to tell groups apart.
_DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class GroupFigureSettings:
    """How many groups a figure holds."""

    #: Colours times dashes that can be told apart. A guess.
    max_groups: int = 16


SETTINGS = GroupFigureSettings()


def groups(answers: Mapping[tuple[str, ...], Scaling]) -> Figure:
    """Draw the predicted value of groups along the number of workers, each with its band; a throughput where measured.

    Parameters
    ----------
    answers : mapping of tuple of str to Scaling
        By the group's values, from `explain(…, knee=True).scaling`.

    Raises
    ------
    GenperfError
        For no group, or more than can be told apart.
    """
    if not 0 < len(answers) <= SETTINGS.max_groups:
        raise GenperfError(
            f"a figure holds up to {SETTINGS.max_groups} groups, and these are {counted(len(answers), 'group')}",
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
