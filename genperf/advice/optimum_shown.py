"""An optimum as a person reads it: three digits, durations, and what is the same in every row once, above the table."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from genperf.prediction.predict import THROUGHPUT
from genperf.table import Target
from genperf.words.numbers import duration_text, three_digits


def for_people(frame: pd.DataFrame, target: Target, settings: Collection[str]) -> tuple[pd.DataFrame, str]:
    """Return a table of configurations to print, and what is the same in all of them.

    Parameters
    ----------
    frame : DataFrame
        As `Search.answers` returns it.
    target : Target
        The predicted quantity.
    settings : collection of str
        The columns that are the configuration: given numbers keep all their digits.

    Examples
    --------
    >>> rows = pd.DataFrame({"gpus": [8, 16], "batch": [32, 32], "objective": [-2.0, -1.0], "time": [0.51234, 0.7]})
    >>> rows = rows.assign(lower=[0.5, 0.6], upper=0.9, total=[7.3e5, 9e3])
    >>> table, same = for_people(rows, Target("s"), ["gpus", "batch"])
    >>> print(table.to_string(index=False))
    gpus objective  time lower upper  total
       8        -2 0.512   0.5   0.9 8.45 d
      16        -1   0.7   0.6   0.9  2.5 h
    >>> same
    'batch=32'
    """
    shown = frame.drop(columns=_redundant(frame, target))
    same = {
        name: _cell(name, shown[name].iloc[0], settings)
        for name in (*settings, "fits")
        if name in shown and len(shown) > 1 and len(set(shown[name])) == 1
    }
    shown = shown.drop(columns=list(same))
    cells = {str(name): [_cell(str(name), value, settings) for value in shown[name]] for name in shown.columns}
    # That every run fits goes without a word.
    constants_shown = [f"{name}={value}" for name, value in same.items() if (name, value) != ("fits", "1")]
    return pd.DataFrame(cells), ", ".join(constants_shown)


def _redundant(frame: pd.DataFrame, target: Target) -> list[str]:
    """Return the columns that say again what another says, or mean nothing to a person."""
    gone = ["reason"] if "reason" in frame else []
    gone += [name for name in frame.columns if str(name).endswith("_lower") and name not in THROUGHPUT]
    if "objective" in frame and any(
        frame["objective"].equals(frame[name]) for name in ("throughput", "total", "cost", target.name) if name in frame
    ):
        gone.append("objective")
    if {"throughput", "total"} <= set(frame) and np.allclose(frame["throughput"] * frame["total"], 1.0):
        gone.append("total")
    if target.throughput and "throughput" in frame:
        # The time is that of one unit of the work, or of a step that nobody measured.
        gone += [target.name, "lower", "upper"]
    elif "throughput" in frame:
        gone += [name for name in THROUGHPUT[1:] if name in frame]
    return gone


def _cell(name: str, value: object, settings: Collection[str]) -> str:
    """Return a cell as text."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if name in settings:
        return f"{value:.15g}"
    if name == "wins":
        return f"{100 * value:.0f} %"
    return duration_text(value) if name == "total" else three_digits(value)
