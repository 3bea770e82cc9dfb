"""Configurations that can exist: completed from a few factors, taken to other scales, with one factor doubled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.formula import parse
from genperf.panel.following import following
from genperf.panel.panel import Panel
from genperf.panel.typical import ratio_at_the_largest, typical_run
from genperf.panel.work import columns_of_work
from genperf.scaling import Scaling
from genperf.table import Factor
from genperf.table.clean import numbers

Array = npt.NDArray[np.float64]
#: Columns of configurations by name, each of shape (rows,).
Columns = Mapping[str, npt.NDArray[Any]]


def completed(panel: Panel, columns: Columns) -> dict[str, npt.NDArray[Any]]:
    """Return configurations with values for the factors that were left out.

    The values are those of a measured run: of the largest given scale, with the levels that were measured most often
    with the given ones, and otherwise nearest to the centre of the measured range (`typical_run`). A given count of
    workers settles the nodes that hold them, and a given count of nodes the workers on them. A factor that is derived
    from columns which are given is not filled in.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        The given factors, and other columns that factors are derived from.

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

    Parameters
    ----------
    count : Factor
        The factor that counts the workers.
    counts : ndarray of shape (rows,)
        Its values, rising.
    at : mapping of str to value
        The other factors at the first count.
    given : collection of str
        The factors that stay although they follow from the count.
    """
    panel = panel.scaled_along(count)
    columns: dict[str, npt.NDArray[Any]] = {count.name: counts}
    columns |= {name: np.full(len(counts), value) for name, value in at.items() if name != count.name}
    columns |= columns_of_work(panel, counts, {n: v for n, v in at.items() if n != count.name}, kind)
    columns |= following(panel, count, columns, given)
    derived = [n for n, text in panel.derived.items() if n not in given and {*parse(text).names} <= {*columns}]
    return {name: values for name, values in columns.items() if name not in derived}


def doubled(panel: Panel, columns: Columns, name: str) -> dict[str, Array]:
    """Return the columns that change where a factor doubles, with their values: the nodes follow their devices.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        The configurations.
    """
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
    """Return the factors that grow with the workers at some configurations, such as the nodes that hold them.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        The configurations.
    """
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
