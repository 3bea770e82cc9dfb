"""Measured configurations: those on a curve along one factor, and the run that stands for factors left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from genperf.panel.following import follows
from genperf.panel.medians import Median, medians_of
from genperf.panel.panel import Panel
from genperf.table import Factor

if TYPE_CHECKING:
    import pandas as pd

    from genperf.table import Table


class Point(NamedTuple):
    """A measured configuration on a curve: the factor's value there, and seconds of its repeats."""

    at: float
    value: float
    lowest: float
    highest: float


def measured_along(panel: Panel, along: str, rows: pd.DataFrame, table: Table | None = None) -> list[Point]:
    """Return the measured configurations that agree with a curve in all that is constant along it.

    Parameters
    ----------
    along : str
        The factor that the curve is along.
    rows : DataFrame
        The curve's configurations; a factor with one value in the model's table may be missing.
    table : Table, optional
        With other measurements, of the same factors; those the model keeps where omitted.

    Returns
    -------
    list of Point
        In order of the factor.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 2], "batch": [8, 8, 16], "s": [1.0, 0.6, 0.9]})
    >>> table = read_table(runs, time="s", extrinsic="workers", intrinsic="batch")
    >>> panel = Panel(table.factors, medians=medians_of(table))
    >>> [p.at for p in measured_along(panel, "workers", pd.DataFrame({"workers": [1, 64], "batch": 8}))]
    [1.0, 2.0]
    """
    place = [f.name for f in (panel.factors if table is None else table.factors)].index(along)
    medians = medians_along(panel, along, rows, table)
    return [Point(float(m.values[place]), m.value, m.lowest, m.highest) for m in medians]


def medians_along(panel: Panel, along: str, rows: pd.DataFrame, table: Table | None = None) -> list[Median]:
    """Return the same configurations with the values of all factors, in order of the factor and the measured value."""
    names = [f.name for f in (panel.factors if table is None else table.factors)]
    medians = panel.medians if table is None else medians_of(table, most=len(table))
    held = {n: rows[n].iloc[0] for n in names if n in rows and n != along and (rows[n] == rows[n].iloc[0]).all()}
    agreeing = [m for m in medians if all(_same(m.values[names.index(n)], v) for n, v in held.items())]
    return sorted(agreeing, key=lambda m: (float(m.values[names.index(along)]), m.value, m.lowest, m.highest))


def most_measured(panel: Panel, along: str) -> dict[str, Any]:
    """Return the values of the other factors at which most values of one were measured; nothing without medians.

    Factors that were always at one value with each value of `along` (nodes beside devices) follow it, and are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 1], "batch": [8, 16, 16, 32], "s": [1.0, 0.6, 0.9, 2.0]})
    >>> table = read_table(runs, time="s", extrinsic="workers", intrinsic="batch")
    >>> most_measured(Panel(table.factors, medians=medians_of(table)), "workers")
    {'batch': 16.0}
    """
    names = [f.name for f in panel.factors]
    place = names.index(along)
    others = [
        j for j, f in enumerate(panel.factors) if j != place and f.distinct > 1 and not follows(panel, f.name, along)
    ]
    pairs = {(tuple(m.values[j] for j in others), m.values[place]) for m in panel.medians}
    if not pairs or not others:
        return {}
    counts = Counter(held for held, _ in pairs)
    largest = max(counts.values())
    first = next(h for m in panel.medians if counts[h := tuple(m.values[j] for j in others)] == largest)
    return {names[j]: value for j, value in zip(others, first, strict=True)}


def _measured_levels(panel: Panel, given: Mapping[str, Any]) -> dict[str, str]:
    """Return levels for the categorical factors that were measured together, with the given levels and most often."""
    places = [j for j, f in enumerate(panel.factors) if not f.numeric]
    factors = [panel.factors[j] for j in places]
    fixed = {f.name: str(given[f.name]) for f in factors if f.name in given}
    runs: Counter[tuple[str, ...]] = Counter()
    for median in panel.medians:
        levels = tuple(str(median.values[j]) for j in places)
        if all(fixed.get(f.name, level) == level for f, level in zip(factors, levels, strict=True)):
            runs[levels] += median.repeats
    if not runs:
        return {f.name: f.levels[0] for f in factors} | fixed
    # Levels stand in order of their runs.
    most = min(
        runs, key=lambda levels: (-runs[levels], *(f.levels.index(v) for f, v in zip(factors, levels, strict=True)))
    )
    return {f.name: level for f, level in zip(factors, most, strict=True)}


def typical_run(panel: Panel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measured run that a question refers to which leaves factors open: values that do occur together.

    Its levels are the given ones, else those that most measured runs have with them. Of the runs with these levels it
    is the one nearest to the given numbers, and of equally near ones the one nearest to the centre of the measured
    range. Distances add up over the factors, in parts of each factor's logarithmic range.

    Parameters
    ----------
    given : mapping
        Values of some of the factors.

    Returns
    -------
    dict
        A value for every factor. Without measured runs, numbers are the centre of the range, rounded where only whole
        numbers were measured.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "layers": [24, 24, 48, 96], "width": [512, 512, 768, 1024],
    ...                      "s": [1.0, 0.6, 0.9, 1.2]})
    >>> table = read_table(runs, time="s", extrinsic="gpus", intrinsic="layers,width")
    >>> typical_run(Panel(table.factors, medians=medians_of(table)), {"gpus": 64})
    {'layers': 96.0, 'width': 1024.0, 'gpus': 8.0}
    """
    levels = _measured_levels(panel, given)
    names = [f.name for f in panel.factors]
    alike = _with_levels(panel, levels)
    if not alike:
        return {f.name: _centre(f) if f.numeric else levels[f.name] for f in panel.factors}
    near, central = np.zeros(len(alike)), np.zeros(len(alike))
    for j, factor in enumerate(panel.factors):
        if factor.numeric:
            total = near if factor.name in given else central
            total += _distances(factor, [m.values[j] for m in alike], given)
    chosen = alike[int(np.lexsort((np.arange(len(alike)), central.round(9), near.round(9)))[0])]
    return dict(zip(names, chosen.values, strict=True))


def ratio_at_the_largest(panel: Panel, given: Mapping[str, Any], above: str, below: str) -> float | None:
    """Return the ratio of two factors, as of devices and nodes, in the runs with the usual levels; None without runs.

    It is that at the largest measured value of the first factor, and of several runs there the largest.
    """
    names = [f.name for f in panel.factors]
    alike = _with_levels(panel, _measured_levels(panel, given))
    pairs = [tuple(float(m.values[names.index(name)]) for name in (above, below)) for m in alike]
    return max(((a, a / b) for a, b in pairs), default=(0.0, None))[1]


def values_with_levels(panel: Panel, at: Mapping[str, Any], along: str) -> list[float]:
    """Return the values of a factor that were measured with the levels of a configuration, rising; all without such."""
    factor = next(f for f in panel.factors if f.name == along)
    place = panel.factors.index(factor)
    levels = {f.name: str(at[f.name]) for f in panel.factors if not f.numeric}
    measured = {float(m.values[place]) for m in _with_levels(panel, levels)}
    return sorted(measured) or [factor.lower, factor.upper]


def _with_levels(panel: Panel, levels: Mapping[str, str]) -> list[Median]:
    places = [[f.name for f in panel.factors].index(name) for name in levels]
    return [m for m in panel.medians if [str(m.values[j]) for j in places] == list(levels.values())]


def _centre(factor: Factor) -> float:
    centre = float(round(factor.centre)) if factor.integer else factor.centre
    return min(max(centre, factor.lower), factor.upper)


def _distances(factor: Factor, values: Sequence[Any], given: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """Return how far values of a factor lie from the given one, or from the centre, in parts of its range."""
    measured, to = np.asarray(values, float), float(given.get(factor.name, factor.centre))
    if factor.positive and to > 0.0:
        measured, to, width = np.log(measured), np.log(to), np.log(factor.upper / factor.lower)
    else:
        width = factor.upper - factor.lower
    return np.abs(measured - to) / (width or 1.0)


def _same(a: float | str, b: Any) -> bool:
    return str(a) == str(b) if isinstance(a, str) or isinstance(b, str) else bool(np.isclose(a, float(b), rtol=1e-9))
