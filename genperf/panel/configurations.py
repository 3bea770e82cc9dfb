"""Configurations: those measured along a factor, the run that stands for open factors, and others that can exist."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.arrays import AnyArray, Array, Columns, Mask
from genperf.errors import GenperfError, TableError, listed
from genperf.formula import Node, Number, evaluate, names_in, parse, render, substitute, values_of
from genperf.formula.parse import Formula
from genperf.panel.axis import several_nodes
from genperf.panel.following import PANEL, PER_NODE
from genperf.panel.panel import Median, Panel
from genperf.panel.step_work import evaluated, kind_of_work
from genperf.panel.work import share
from genperf.scaling import KINDS, Kind, Scaling
from genperf.table import Factor
from genperf.table.clean import numbers
from genperf.vocabulary.names import WAYS

if TYPE_CHECKING:
    from genperf.panel.table import Table


def medians_along(panel: Panel, along: str, rows: Columns, table: Table | None = None) -> list[Median]:
    """Return the measured configurations that agree with a curve in all that is constant along it.

    They are in order of the factor and the measured value. The curve has a row per configuration, where a factor with
    one value in the model's table may be missing. A table has other measurements of the same factors, in the place of
    those the model keeps.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 2], "batch": [8, 8, 16], "s": [1.0, 0.6, 0.9]})
    >>> table = read_table(runs, time="s", extrinsic="workers", intrinsic="batch")
    >>> curve = {"workers": np.array([1, 64]), "batch": np.array([8, 8])}
    >>> [m.values for m in medians_along(table.panel, "workers", curve)]
    [(8.0, 1.0), (8.0, 2.0)]
    """
    names = [f.name for f in (panel if table is None else table).factors]
    medians = panel.medians if table is None else table.median_runs(len(table))
    columns = {n: np.asarray(rows[n]) for n in names if n in rows and n != along}
    constant = {n: cells[0] for n, cells in columns.items() if (cells == cells[0]).all()}
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
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 1], "batch": [8, 16, 16, 32], "s": [1.0, 0.6, 0.9, 2.0]})
    >>> table = read_table(runs, time="s", extrinsic="workers", intrinsic="batch")
    >>> most_measured(table.panel, "workers")
    {'batch': 16.0}
    """
    varying = [f.name for f in panel.factors if f.name != along and f.distinct > 1]
    others = [name for name in varying if along not in panel.settled_by.get(name, ())]
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
    if not repeats:
        return {f.name: f.levels[0] for f in factors} | fixed
    # The levels of a factor are in order of their runs.
    order = {run: tuple(f.levels.index(v) for f, v in zip(factors, run, strict=True)) for run in repeats}
    most = min(repeats, key=lambda run: (-repeats[run], order[run]))
    return {f.name: level for f, level in zip(factors, most, strict=True)}


def typical_run(panel: Panel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measured run that a question refers to which leaves factors open: values that do occur together.

    Its levels are the given ones, else those that most measured runs have with them. Of the runs with these levels it
    is the one nearest to the given numbers, and of equally near ones the one nearest to the centre of the measured
    range. Distances add up over the factors, in parts of each factor's logarithmic range. Without measured runs,
    numbers are the centre of the range, rounded where only whole numbers were measured.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "layers": [24, 24, 48, 96], "width": [512, 512, 768, 1024],
    ...                      "s": [1.0, 0.6, 0.9, 1.2]})
    >>> table = read_table(runs, time="s", extrinsic="gpus", intrinsic="layers,width")
    >>> typical_run(table.panel, {"gpus": 64})
    {'layers': 96.0, 'width': 1024.0, 'gpus': 8.0}
    """
    levels = _measured_levels(panel, given)
    alike = panel.runs_like(levels)
    if not alike:
        centre = {f.name: float(round(f.centre)) if f.integer else f.centre for f in panel.factors if f.numeric}
        return levels | {f.name: min(max(centre[f.name], f.lower), f.upper) for f in panel.factors if f.numeric}
    near, central = np.zeros(len(alike)), np.zeros(len(alike))
    for factor in panel.factors:
        if factor.numeric:
            total = near if factor.name in given else central
            total += _distances(factor, [run[factor.name] for run in alike], given)
    return alike[int(np.lexsort((central.round(9), near.round(9)))[0])]


def range_with_levels(panel: Panel, columns: Columns, factor: Factor) -> tuple[float, float]:
    """Return the range of a factor over the runs with the levels of a first configuration; over all without such."""
    runs = panel.runs_like({name: values[0] for name, values in columns.items()})
    measured = [float(run[factor.name]) for run in runs] or [factor.lower, factor.upper]
    return min(measured), max(measured)


def _distances(factor: Factor, values: Sequence[Any], given: Mapping[str, Any]) -> Array:
    """Return how far values of a factor lie from the given one, or from the centre, in parts of its range."""
    measured, to = np.asarray(values, float), float(given.get(factor.name, factor.centre))
    if factor.positive and to > 0.0:
        measured, to, width = np.log(measured), np.log(to), np.log(factor.upper / factor.lower)
    else:
        width = factor.upper - factor.lower
    return np.abs(measured - to) / (width or 1.0)


# --- configurations that can exist ------------------------------------------------------------------------------------


def following(
    panel: Panel, count: Factor, columns: Columns, given: Collection[str] = (), per_node: float | Array | None = None
) -> dict[str, Array]:
    """Return the columns that follow from the count of workers (or nodes), so that the configurations can exist.

    Parameters
    ----------
    count : Factor
        The factor that is varied.
    columns : mapping of str to ndarray of shape (rows,)
        With that factor, and the others as they are given.
    given : collection of str
        Factors that stay as they are.
    per_node : float or ndarray of shape (rows,), optional
        Devices of a node, where they are not those of the largest measured scale.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 8, 16, 32], "nodes": [1, 1, 2, 4], "s": [1.0, 1.1, 1.2, 1.3]})
    >>> panel = read_table(runs, time="s", extrinsic="gpus,nodes").panel
    >>> following(panel, panel.workers, {"gpus": np.array([4.0, 12.0, 64.0])})
    {'nodes': array([1., 2., 8.])}
    """
    values, out = dict(columns), dict[str, Array]()
    for rule in panel.rules:
        read = names_in(rule.node) - {PER_NODE}
        free = rule.name not in (count.name, *given) and rule.unless not in given and read <= {*values}
        if free and rule.along in (None, count.name) and (rule.beside is None or rule.beside in given):
            held = {PER_NODE: rule.per_node if per_node is None else per_node}
            numbers_read = {name: np.asarray(values[name], float) for name in read}
            values[rule.name] = out[rule.name] = np.asarray(evaluate(rule.node, {**numbers_read, **held}), float)
    return out


def settled(panel: Panel, given: Collection[str]) -> dict[str, Formula]:
    """Return formulas for the columns that some given ones settle; others of one measured value have that.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 8, 16, 32], "nodes": [1, 1, 2, 4], "s": [1.0, 1.1, 1.2, 1.3]})
    >>> panel = read_table(runs, time="s", extrinsic="gpus,nodes").panel
    >>> settled(panel, ["gpus"])["nodes"].text
    'max(1, ceil(gpus/8 - 1e-09))'
    """
    constants = {f.name: Number(f.lower) for f in panel.factors if f.distinct == 1 and f not in panel.counts}
    unknown = {name: number for name, number in constants.items() if name not in given}
    out: dict[str, Formula] = {}
    for rule in panel.rules:
        if rule.settles is not None and rule.name not in given:
            # What is settled settles what follows it.
            node = substitute(rule.settles, {**unknown, **{name: formula.node for name, formula in out.items()}})
            if names_in(node) <= {*given}:
                out[rule.name] = Formula(render(node, "{:g}".format), node)
    return out


def determined(
    panel: Panel, columns: Columns, rows: int, where: str | None = None
) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return every factor of some configurations, and what those are taken as that were left out.

    In this order, a factor is given, computed by its formula, settled by others (`settled`, a `Formula`), or of one
    measured value. `columns` may hold others that factors are derived from, and `where` names the source.

    Raises
    ------
    TableError
        For factors that nothing determines.
    """
    values, taken, absent = dict(columns), dict[str, Any](), list[Factor]()
    formulas = {n: formula for n, formula in settled(panel, columns).items() if n not in panel.derived}
    for factor in [f for f in panel.factors if f.name not in columns and f.name not in formulas]:
        name = factor.name
        if panel.inputs.get(name, {""}) <= {*columns}:
            # A formula of no column, `devices_per_node=8`, is one number.
            computed = evaluate(parse(panel.derived[name]).node, columns)
            values[name] = np.broadcast_to(np.asarray(computed, float), (rows,))
        elif factor.distinct == 1:
            taken[name] = factor.lower if factor.numeric else factor.levels[0]
            values[name] = np.full(rows, taken[name], dtype=float if factor.numeric else object)
        else:
            absent.append(factor)
    if absent:
        raise _missing(absent, where)
    for factor in [f for f in panel.factors if f.name in formulas]:
        values[factor.name] = np.asarray(formulas[factor.name].evaluate(values), float)
        if factor.distinct > 1 or np.any(values[factor.name] != factor.lower):
            taken[factor.name] = formulas[factor.name]
    return {f.name: values[f.name] for f in panel.factors}, taken


def _missing(factors: Sequence[Factor], where: str | None) -> TableError:
    """Return the error that names all factors without a value."""
    if len(factors) == 1:
        (factor,) = factors
        measured = f"measured from {factor.lower:g} to {factor.upper:g}" if factor.numeric else levels_text(factor)
        hint = f"--at {shlex.quote(factor.name)}=VALUE, or a column of that name ({measured})"
        return TableError(f"factor '{factor.name}' is missing", where=where, hint=hint)
    hint = " ".join(f"--at {f.name}={f.upper:g}" if f.numeric else f"--at {f.name}={f.levels[0]}" for f in factors)
    names = ", ".join(f"'{f.name}'" for f in factors[:-1]) + f" and '{factors[-1].name}'"
    hint += ", which were measured, or columns of these names"
    return TableError(f"factors {names} are missing", where=where, hint=hint)


def levels_text(factor: Factor) -> str:
    """Return the measured levels as a hint."""
    return f"one of {listed(factor.levels)}"


def divisible(panel: Panel, columns: Columns) -> Mask:
    """Return which configurations can exist: a transformer's ways divide the devices; shape (rows,).

    Examples
    --------
    >>> from genperf.panel.options import roles_of
    >>> panel = roles_of({"extrinsic": "gpus, dp, tp"}).panel
    >>> divisible(panel, {"gpus": np.array([2.0, 4.0, 6.0]), "dp": np.ones(3), "tp": np.full(3, 4.0)})
    array([False,  True, False])
    """
    data, *others = (panel.columns.get(way) for way in WAYS)
    names = [f.name for f in others if f is not None]
    if panel.workers is None or data is None or not names or not {panel.workers.name, *names} <= {*columns}:
        return np.ones(len(next(iter(columns.values()))), bool)
    product = np.prod([np.asarray(columns[name], float) for name in names], axis=0)
    return np.asarray(np.asarray(columns[panel.workers.name], float) % product == 0.0)


def fills_nodes(panel: Panel, columns: Columns) -> Mask:
    """Return which configurations are on one node or fill their nodes; all where nodes or workers are not counted."""
    nodes, workers, held = panel.nodes, panel.workers, panel.node_size()
    if nodes is None or workers is None or held is None:
        return np.ones(len(next(iter(columns.values()))), bool)
    return np.asarray(~several_nodes(columns[nodes.name]) | (columns[workers.name] == held * columns[nodes.name]))


def completed(panel: Panel, columns: Columns) -> dict[str, AnyArray]:
    """Return configurations with values for the factors that were left out.

    The values are those of a measured run: of the largest given scale, with the levels that were measured most often
    with the given ones, and otherwise nearest to the centre of the measured range (`typical_run`). A given count of
    workers settles the nodes that hold them, and a given count of nodes the workers on them. `columns` may hold other
    ones that factors are derived from: a factor whose columns are given is not filled in.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.panel import read_table
    >>> runs = pd.DataFrame({"gpus": [1, 8, 16, 32], "nodes": [1, 1, 2, 4], "s": [1.0, 1.1, 1.2, 1.3]})
    >>> panel = read_table(runs, time="s", extrinsic="gpus,nodes").panel
    >>> completed(panel, {"gpus": np.array([8, 64])})
    {'gpus': array([ 8, 64]), 'nodes': array([1., 8.])}
    """
    follow = {n for n, read in panel.inputs.items() if not read.isdisjoint(columns) and n not in columns}
    missing = [f.name for f in panel.factors if f.name not in columns and f.name not in follow]
    names = [f.name for f in panel.factors if not f.numeric and f.name in columns]
    rows = [tuple(map(str, row)) for row in zip(*(columns[name] for name in names), strict=True)]
    rows = rows or [()] * len(next(iter(columns.values())))
    at = {}
    for factor in (f for f in panel.factors if f.numeric and f.name in columns):
        given, bad = numbers(columns[factor.name])
        if len(given) and not bad:
            at[factor.name] = float(np.max(given) if factor.role == "extrinsic" else np.median(given))
    known = {row: typical_run(panel, {**at, **dict(zip(names, row, strict=True))}) for row in set(rows)}
    out = {**columns, **{name: np.array([known[row][name] for row in rows]) for name in missing}}
    # Where the nodes are given and the workers are not, it is the nodes that settle the workers.
    count = next((factor for factor in panel.counts if factor.name in columns), None)
    counts, bad = (np.empty(0), {}) if count is None else numbers(columns[count.name])
    if count is not None and not bad:
        sizes = {row: panel.node_size(run) for row, run in known.items()}
        several = panel.nodes is not None and panel.nodes.distinct > 1
        per_node = np.array([sizes[row] for row in rows], float) if several else None
        after = following(panel, count, {**out, count.name: counts}, columns, per_node)
        out |= {name: values for name, values in after.items() if name in missing}
    return out


def left_open(panel: Panel, target: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Return the factors of a configuration that vary, were not given and follow no given one, with their values."""
    names, varied = {panel.column(name) for name in given}, {f.name for f in panel.factors if f.distinct > 1}
    # Of one measured count, it is those that the target goes beyond.
    beyond = {f.name for f in panel.factors if f.distinct == 1 and f.numeric and target[f.name] != f.lower}
    settled = {n for n in varied if not names.isdisjoint(panel.settled_by.get(n, ()))}
    if panel.workers is not None and panel.workers.name in names:
        settled |= panel.followers & varied
    kept = (varied - settled | beyond) - names
    ordered = sorted(panel.factors, key=lambda f: f.distinct == 1)
    return {f.name: target[f.name] for f in ordered if f.name in kept}


def at_scale(
    panel: Panel, count: Factor, counts: Array, at: Mapping[str, Any], kind: Scaling | None, given: Collection[str]
) -> dict[str, AnyArray]:
    """Return every factor at some counts, with the work that the kind of scaling gives and what follows from both.

    The counts, of shape (rows,), are those of the factor `count` and rise; in the panel it counts the workers or the
    nodes (`Panel.scaled_along`). `at` has the other factors at the first count, and what is `given` stays although it
    follows from the count.
    """
    columns: dict[str, AnyArray] = {
        name: np.full(len(counts), value, dtype=object if isinstance(value, str) else float)
        for name, value in at.items()
    }
    columns[count.name] = counts
    changes = {} if kind is None or KINDS[kind].whole else _changes_of_work(panel, counts, KINDS[kind])
    for name, change in changes.items():
        if name in at and name != count.name and not np.allclose(change, 1.0):
            columns[name] = float(at[name]) * change
    columns |= following(panel, count, columns, given)
    derived = [n for n, read in panel.inputs.items() if n not in given and read <= {*columns}]
    return determined(panel, {n: values for n, values in columns.items() if n not in derived}, len(counts))[0]


def _changes_of_work(panel: Panel, counts: Array, kind: Kind) -> dict[str, Array]:
    """Return by how much a kind of scaling multiplies the columns of work along rising counts.

    The batch (and the operations) of one worker change as its work, the global batch as that of all, where no column
    holds the batch of one worker: strong scaling lets the first fall as 1/n, weak scaling the second grow as n.
    """
    each = kind.relative(counts)
    changes = dict.fromkeys(("batch", "work"), each)
    if panel.find("batch") is None:
        changes["global_batch"] = each * (counts / counts[0])
    return {f.name: change for name, change in changes.items() if (f := panel.find(name)) is not None}


def relative_work(
    panel: Panel, columns: Columns, counts: Array, kind: Scaling | None, given: Node | None = None
) -> Array | None:
    """Return one worker's work W(n)/W(n₀), relative to that at the first count; None where nothing shows it.

    W is the work of a step that is given or was divided by a throughput, over n. Without one it is `samples/workers`
    for times of whole jobs, then the operations or the samples of one worker's step (`share`). Where no column shows
    it, it is constant in weak scaling, and W(n) ~ 1/n in strong. That of a job is shared whatever the columns. The
    counts of workers, of shape (rows,), rise.

    Raises
    ------
    GenperfError
        Where the user gives another kind than the work of a step.
    """
    given = given or panel.measured_work
    if given is not None:
        work = evaluated(given, columns, len(counts)) / counts
        work = np.asarray(work / work[0])
        by_work = kind_of_work(work * counts, counts) or "mixed"
        if kind is not None and len(counts) > 1 and by_work != kind:
            raise GenperfError(
                f"the scaling is given as {kind}, and with the work '{render(given)}' of a step it is {by_work}",
                hint="leave --scaling out",
            )
        return work
    kind, worker_share = kind or panel.kind, share(panel, job=True)
    if kind is not None and (KINDS[kind].whole or not worker_share.known):
        return KINDS[kind].relative(counts)
    if not worker_share.known:
        return None
    node = panel.over_columns(worker_share.per_worker)
    if not names_in(node) <= {*columns}:
        return KINDS["strong"].relative(counts)
    work = values_of(node, columns)
    return np.asarray(work / work[0])


def doubled(panel: Panel, columns: Columns, name: str) -> dict[str, Array]:
    """Return the columns that change where a factor doubles, with their values: the nodes follow their devices."""
    double = {name: 2.0 * np.asarray(columns[name], float)}
    workers, nodes = panel.counted, panel.nodes
    if workers is not None and workers.name in columns:
        per_node, given = None, {name}
        if nodes is not None and nodes != workers and nodes.name in columns:
            count, held = (np.asarray(columns[f.name], float) for f in (workers, nodes))
            # A node that is not full says nothing of how many workers it holds.
            per_node = count / held if np.all(held > 1.0) else None
            given |= set() if name == workers.name else {nodes.name}
        follow = following(panel, workers, {**columns, **double}, given, per_node)
        double |= {n: v for n, v in follow.items() if n in columns and np.any(v != np.asarray(columns[n], float))}
    derived = [n for n, read in panel.inputs.items() if not read.isdisjoint(double) and read <= {*columns}]
    moved = {**columns, **double}
    return double | {n: values_of(parse(panel.derived[n]).node, moved) for n in derived if n in columns}


def each_doubled(panel: Panel, columns: Columns) -> dict[str, dict[str, Array]]:
    """Return what changes where a factor doubles, for each that varies and follows from no other, such as the nodes."""
    count = "" if panel.counted is None else panel.counted.name
    changes = {f.name: doubled(panel, columns, f.name) for f in panel.factors if f.numeric and f.name in columns}
    follow = {*panel.derived, *changes.get(count, ())} - {count}
    varying = [f.name for f in panel.factors if f.positive and f.distinct > 1 and f.name in changes]
    return {name: changes[name] for name in varying if name not in follow}


def devices_and_nodes(panel: Panel, columns: Mapping[str, Any]) -> tuple[Array, Array, float | None]:
    """Return the devices and the nodes of configurations, and the devices taken for a node where none is counted."""
    count, node = panel.along(), panel.node("nodes")
    devices = np.asarray(columns[(panel.workers or count).name], float)
    if panel.workers is None and panel.counted is not None:
        return np.ones(len(devices)), devices, None
    if node is None:
        return devices, np.ceil(devices / PANEL.usual_devices), PANEL.usual_devices
    return devices, np.broadcast_to(np.ceil(np.asarray(evaluate(node, columns), float)), devices.shape), None


def devices_on_several(panel: Panel, columns: Mapping[str, Any], count: Factor) -> float | None:
    """Return how many workers a full node holds at a configuration on several nodes; None elsewhere.

    Its columns have shape (1,), and `count` is the factor of the workers. The last node need not be full.
    """
    nodes = panel.nodes
    if nodes is None or nodes == count or not several_nodes(columns[nodes.name])[0]:
        return None
    workers, held = float(columns[count.name][0]), float(columns[nodes.name][0])
    usual = panel.scaled_along(count).node_size() or held
    return usual if math.ceil(workers / usual) == held else float(math.ceil(workers / held))
