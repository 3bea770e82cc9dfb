"""Configurations: those measured along a factor, the run that stands for open factors, and others that can exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from genperf.formula import parse
from genperf.panel.following import Columns, following, follows
from genperf.panel.panel import Median, Panel, medians_of
from genperf.panel.work import columns_of_work
from genperf.scaling import Scaling
from genperf.table import Factor
from genperf.table.clean import numbers

if TYPE_CHECKING:
    import pandas as pd

    from genperf.table import Table

Array = npt.NDArray[np.float64]


class Point(NamedTuple):
    """A measured configuration on a curve: the factor's value there, and seconds of its repeats."""

    at: float
    value: float
    lowest: float
    highest: float


def measured_along(panel: Panel, along: str, rows: pd.DataFrame, table: Table | None = None) -> list[Point]:
    """Return the measured configurations that agree with a curve in all that is constant along it, in its order.

    The curve has a row per configuration, where a factor with one value in the model's table may be missing. A table
    has other measurements of the same factors, in the place of those the model keeps.

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
    place = [f.name for f in (panel if table is None else table).factors].index(along)
    medians = medians_along(panel, along, rows, table)
    return [Point(float(m.values[place]), m.value, m.lowest, m.highest) for m in medians]


def medians_along(panel: Panel, along: str, rows: pd.DataFrame, table: Table | None = None) -> list[Median]:
    """Return the same configurations with the values of all factors, in order of the factor and the measured value."""
    names = [f.name for f in (panel if table is None else table).factors]
    medians = panel.medians if table is None else medians_of(table, most=len(table))
    constant = {n: rows[n].iloc[0] for n in names if n in rows and n != along and (rows[n] == rows[n].iloc[0]).all()}
    agreeing = [m for m in medians if all(_same(m.values[names.index(n)], v) for n, v in constant.items())]
    return sorted(agreeing, key=lambda m: (float(m.values[names.index(along)]), m.value, m.lowest, m.highest))


def _same(a: float | str, b: Any) -> bool:
    return str(a) == str(b) if isinstance(a, str) or isinstance(b, str) else bool(np.isclose(a, float(b), rtol=1e-9))


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
    varying = [f.name for f in panel.factors if f.name != along and f.distinct > 1]
    others = [name for name in varying if not follows(panel, name, along)]
    # Of each value of `along` one run, in order of appearance.
    pairs = dict.fromkeys((tuple(run[name] for name in others), run[along]) for run in panel.runs)
    values = Counter(value for value, _ in pairs).most_common(1)
    return dict(zip(others, values[0][0], strict=True)) if values else {}


def _measured_levels(panel: Panel, given: Mapping[str, Any]) -> dict[str, str]:
    """Return levels for the categorical factors that were measured together, with the given levels and most often."""
    factors = [f for f in panel.factors if not f.numeric]
    fixed = {f.name: str(given[f.name]) for f in factors if f.name in given}
    repeats: Counter[tuple[str, ...]] = Counter()
    for run, median in zip(panel.runs, panel.medians, strict=True):
        if all(str(run[name]) == level for name, level in fixed.items()):
            repeats[tuple(str(run[f.name]) for f in factors)] += median.repeats
    # The levels of a factor are in order of their runs.
    order = {run: tuple(f.levels.index(v) for f, v in zip(factors, run, strict=True)) for run in repeats}
    most = min(repeats, key=lambda run: (-repeats[run], order[run]), default=None)
    if most is None:
        return {f.name: f.levels[0] for f in factors} | fixed
    return {f.name: level for f, level in zip(factors, most, strict=True)}


def _with_levels(panel: Panel, levels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the measured runs with some levels."""
    return [run for run in panel.runs if all(str(run[name]) == level for name, level in levels.items())]


def typical_run(panel: Panel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measured run that a question refers to which leaves factors open: values that do occur together.

    Its levels are the given ones, else those that most measured runs have with them. Of the runs with these levels it
    is the one nearest to the given numbers, and of equally near ones the one nearest to the centre of the measured
    range. Distances add up over the factors, in parts of each factor's logarithmic range. Without measured runs,
    numbers are the centre of the range, rounded where only whole numbers were measured.

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
    alike = _with_levels(panel, levels)
    if not alike:
        return {f.name: _centre(f) if f.numeric else levels[f.name] for f in panel.factors}
    near, central = np.zeros(len(alike)), np.zeros(len(alike))
    for factor in panel.factors:
        if factor.numeric:
            total = near if factor.name in given else central
            total += _distances(factor, [run[factor.name] for run in alike], given)
    return alike[int(np.lexsort((central.round(9), near.round(9)))[0])]


def ratio_at_the_largest(panel: Panel, given: Mapping[str, Any], above: str, below: str) -> float | None:
    """Return the ratio of two factors, as of devices and nodes, in the runs with the usual levels; None without runs.

    It is that at the largest measured value of the first factor, and of several runs there the largest.
    """
    runs = _with_levels(panel, _measured_levels(panel, given))
    return max(((float(run[above]), run[above] / run[below]) for run in runs), default=(0.0, None))[1]


def values_with_levels(panel: Panel, at: Mapping[str, Any], along: str) -> list[float]:
    """Return the values of a factor that were measured with the levels of a configuration, rising; all without such."""
    factor = next(f for f in panel.factors if f.name == along)
    runs = _with_levels(panel, {f.name: str(at[f.name]) for f in panel.factors if not f.numeric})
    return sorted({float(run[along]) for run in runs}) or [factor.lower, factor.upper]


def _centre(factor: Factor) -> float:
    centre = float(round(factor.centre)) if factor.integer else factor.centre
    return min(max(centre, factor.lower), factor.upper)


def _distances(factor: Factor, values: Sequence[Any], given: Mapping[str, Any]) -> Array:
    """Return how far values of a factor lie from the given one, or from the centre, in parts of its range."""
    measured, to = np.asarray(values, float), float(given.get(factor.name, factor.centre))
    if factor.positive and to > 0.0:
        measured, to, width = np.log(measured), np.log(to), np.log(factor.upper / factor.lower)
    else:
        width = factor.upper - factor.lower
    return np.abs(measured - to) / (width or 1.0)


# --- configurations that can exist ------------------------------------------------------------------------------------


def completed(panel: Panel, columns: Columns) -> dict[str, npt.NDArray[Any]]:
    """Return configurations with values for the factors that were left out.

    The values are those of a measured run: of the largest given scale, with the levels that were measured most often
    with the given ones, and otherwise nearest to the centre of the measured range (`typical_run`). A given count of
    workers settles the nodes that hold them, and a given count of nodes the workers on them. `columns` may hold other
    ones that factors are derived from: a factor whose columns are given is not filled in.

    Examples
    --------
    >>> gpus = Factor("gpus", "extrinsic", 1, 32, distinct=4, positive=True)
    >>> nodes = Factor("nodes", "extrinsic", 1, 4, distinct=3, positive=True)
    >>> completed(Panel((gpus, nodes)), {"gpus": np.array([8, 64])})
    {'gpus': array([ 8, 64]), 'nodes': array([1., 8.])}
    """
    follow = {n for n, text in panel.derived.items() if {*columns} & {*parse(text).names} and n not in columns}
    missing = [f.name for f in panel.factors if f.name not in columns and f.name not in follow]
    rows = _levels_of(panel, columns)
    largest = {f.name: _representative(columns[f.name], f) for f in panel.factors if f.numeric and f.name in columns}
    at = {name: value for name, value in largest.items() if value is not None}
    known = {row: typical_run(panel, {**at, **dict(row)}) for row in set(rows)}
    out = {**columns, **{name: np.array([known[row][name] for row in rows]) for name in missing}}
    # Where the nodes are given and the workers are not, it is the nodes that settle the workers.
    count = next((factor for factor in panel.counts if factor.name in columns), None)
    counts, bad = (np.empty(0), {}) if count is None else numbers(columns[count.name])
    if count is not None and not bad:
        after = following(panel, count, {**out, count.name: counts}, columns, _full_nodes(panel, rows))
        out |= {name: values for name, values in after.items() if name in missing}
    return out


def at_scale(
    panel: Panel, count: Factor, counts: Array, at: Mapping[str, Any], kind: Scaling | None, given: Collection[str]
) -> dict[str, npt.NDArray[Any]]:
    """Return configurations at some counts, with the work that the kind of scaling gives and what follows from both.

    The counts, of shape (rows,), are those of the factor `count` and rise; `at` has the other factors at the first of
    them, and what is `given` stays although it follows from the count.
    """
    panel = panel.scaled_along(count)
    columns: dict[str, npt.NDArray[Any]] = {count.name: counts}
    columns |= {name: np.full(len(counts), value) for name, value in at.items() if name != count.name}
    columns |= columns_of_work(panel, counts, {n: v for n, v in at.items() if n != count.name}, kind)
    columns |= following(panel, count, columns, given)
    derived = [n for n, text in panel.derived.items() if n not in given and {*parse(text).names} <= {*columns}]
    return {name: values for name, values in columns.items() if name not in derived}


def doubled(panel: Panel, columns: Columns, name: str) -> dict[str, Array]:
    """Return the columns that change where a factor doubles, with their values: the nodes follow their devices."""
    double = {name: 2.0 * np.asarray(columns[name], float)}
    workers, nodes = panel.workers, panel.nodes
    if workers is None or workers.name not in columns:
        return double
    per_node, given = None, {name}
    if nodes is not None and nodes.name in columns:
        count, held = (np.asarray(columns[f.name], float) for f in (workers, nodes))
        # A node that is not full says nothing of how many workers it holds.
        per_node = count / held if np.all(held > 1.0) else None
        given |= set() if name == workers.name else {nodes.name}
    follow = following(panel, workers, {**columns, **double}, given, per_node)
    return double | {n: v for n, v in follow.items() if n in columns and np.any(v != np.asarray(columns[n], float))}


def following_workers(panel: Panel, columns: Columns) -> tuple[str, ...]:
    """Return the factors that grow with the workers at some configurations, such as the nodes that hold them."""
    workers = panel.workers
    if workers is None or workers.name not in columns:
        return ()
    return tuple(n for n in doubled(panel, columns, workers.name) if n != workers.name)


def _levels_of(panel: Panel, columns: Columns) -> list[tuple[tuple[str, str], ...]]:
    """Return the levels of each configuration, with the names of their factors."""
    names = [f.name for f in panel.factors if not f.numeric and f.name in columns]
    cells = [[str(cell) for cell in columns[name]] for name in names]
    rows = len(next(iter(columns.values())))
    return [tuple(zip(names, row, strict=True)) for row in zip(*cells, strict=True)] if names else [()] * rows


def _full_nodes(panel: Panel, rows: Sequence[tuple[tuple[str, str], ...]]) -> Array | None:
    """Return the devices of a node at the largest measured scale of each row's levels, shape (rows,)."""
    workers, nodes = panel.workers, panel.nodes
    if workers is None or nodes is None:
        return None
    full = {row: ratio_at_the_largest(panel, dict(row), workers.name, nodes.name) for row in set(rows)}
    return np.array([full[row] or workers.upper / nodes.upper for row in rows])


def _representative(values: npt.NDArray[Any], factor: Factor) -> float | None:
    """Return the number that represents a column: the largest scale, else the middle; None where one is no number."""
    given, bad = numbers(values)
    if bad or not len(given):
        return None
    return float(np.max(given) if factor.role == "extrinsic" else np.median(given))
