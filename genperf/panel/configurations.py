"""Configurations: those measured along a factor, the run that stands for open factors, and others that can exist."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from genperf.arrays import AnyArray, Array, Columns, Mask
from genperf.errors import GenperfError, TableError, listed
from genperf.formula import Node, evaluate, names_in, parse, render, values_of
from genperf.panel.machine import BATCHES, PARTS, PLACES, SPLITS, USUAL_DEVICES, Growth, product_of
from genperf.panel.panel import Median, Panel, evaluated, kind_of_work, several_nodes, share
from genperf.scaling import KINDS, Scaling
from genperf.table import Factor
from genperf.table.clean import label
from genperf.vocabulary.names import LEVELS

if TYPE_CHECKING:
    from genperf.panel.table import Table

#: Times the largest measured count that a forecast is of which names none: the nearest question there is.
NEXT_DOUBLING = 2.0


def medians_along(panel: Panel, along: str, rows: Columns, table: Table | None = None) -> list[Median]:
    """Return the measured configurations on a curve `along` a factor, in its order: they have what its rows share."""
    names = [f.name for f in (panel if table is None else table).factors]
    medians = panel.medians if table is None else table.median_runs(len(table))
    columns = {name: np.asarray(rows[name]) for name in names if name in rows and name != along}
    constant = {name: cells[0] for name, cells in columns.items() if (cells == cells[0]).all()}

    def same(measured: float | str, value: Any) -> bool:
        if isinstance(measured, str) or isinstance(value, str):
            return str(measured) == str(value)
        return bool(np.isclose(measured, float(value), rtol=1e-9))

    agreeing = [m for m in medians if all(same(m.values[names.index(n)], value) for n, value in constant.items())]
    return sorted(agreeing, key=lambda m: (float(m.values[names.index(along)]), m.value, m.lowest, m.highest))


def forecast_at(panel: Panel, at: Mapping[str, Any], along: str | None = None) -> dict[str, Any]:
    """Return a configuration at twice the largest measured count, where it names sizes and levels of the runs alone.

    It stays as it is where it names a count or a machine, goes beyond the measured sizes, or no count varied.
    """
    factors = {f.name: f for f in panel.factors}
    for name in at.keys() - {*panel.group}:
        factor, value = factors.get(name), at[name]
        if factor is None or factor.role == "extrinsic":
            return dict(at)
        if factor.numeric and (isinstance(value, str) or not factor.lower <= value <= factor.upper):
            return dict(at)
    axis, read_along = panel.axis.factor, "" if panel.legend is None else panel.legend.scale
    if along is None and (axis is None or axis.distinct < 2) and read_along in factors and not at:
        along = read_along
    count = axis if along is None else factors[along]
    if count is None or count.distinct < 2:
        return dict(at)
    # Of what was measured at one count alone, no other one is asked about.
    named = [(name, factors[name].numeric) for name in at if name in factors]
    of_these = [
        r
        for r in panel.runs
        if all((r[n] == at[n]) if is_number else str(r[n]) == str(at[n]) for n, is_number in named)
    ]
    if named and len(counts := {run[count.name] for run in of_these}) == 1:
        return {**at, count.name: counts.pop()}
    # A count that is computed from given columns, `cores=ranks*threads`, is given by them.
    is_given = not panel.inputs.get(count.name, frozenset()).isdisjoint(at)
    return dict(at) if is_given else {**at, count.name: NEXT_DOUBLING * count.upper}


def _measured_levels(panel: Panel, given: Mapping[str, Any]) -> dict[str, str]:
    """Return levels of the categorical factors, the given ones among them, that were measured together."""
    factors = [f for f in panel.factors if not f.numeric]
    fixed = {f.name: str(given[f.name]) for f in factors if f.name in given}
    sizes = {f.name: float(given[f.name]) for f in panel.factors if f.role == "intrinsic" and f.name in given}
    with_levels = [
        (run, median.repeats)
        for run, median in zip(panel.runs, panel.medians, strict=True)
        if all(str(run[name]) == level for name, level in fixed.items())
    ]
    with_sizes = [(run, repeats) for run, repeats in with_levels if all(run[n] == size for n, size in sizes.items())]
    numbers = [f.name for f in panel.factors if f.numeric and f.name in given]
    of_question = tuple(float(given[name]) for name in numbers)
    # Levels → the given numbers and the repeats of each of their configurations.
    configurations: dict[tuple[str, ...], list[tuple[tuple[float, ...], int]]] = {}
    for run, repeats in with_sizes or with_levels:
        levels = tuple(str(run[f.name]) for f in factors)
        configurations.setdefault(levels, []).append((tuple(float(run[name]) for name in numbers), repeats))
    if not configurations:
        return {f.name: f.levels[0] for f in factors} | fixed

    def rank(levels: tuple[str, ...]) -> tuple[Any, ...]:
        """Return a key that sorts first the levels of the most values, of the given, the farthest, of the most runs."""
        numbers_of_each, repeats = zip(*configurations[levels], strict=True)
        farthest = [-number for number in max(numbers_of_each)]
        # The levels of a factor are in order of their runs.
        order = [f.levels.index(level) for f, level in zip(factors, levels, strict=True)]
        return -len({*numbers_of_each}), of_question not in numbers_of_each, farthest, -sum(repeats), order

    chosen = min(configurations, key=rank)
    return {f.name: level for f, level in zip(factors, chosen, strict=True)}


def typical_run(panel: Panel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of all factors for a question that gives some: those of one measured run, as these fit together.

    Its levels are the given ones, else those of the most runs (`_measured_levels`); of the runs with these levels it is
    the nearest one (`_nearest_run`). Without measured runs it is the centre of the measured ranges. Given sizes that no
    such run has, layers but no batches, are those of another network, which has the other sizes of its runs.
    """
    levels = _measured_levels(panel, given)
    alike = panel.runs_like(levels)
    if not alike and panel.runs:
        # Levels that were never measured together: runs of as many of them as there are.
        shared = [sum(str(run[name]) == level for name, level in levels.items()) for run in panel.runs]
        alike = [{**run, **levels} for run, count in zip(panel.runs, shared, strict=True) if count == max(shared)]
    if not alike:
        centre = {f.name: float(round(f.centre)) if f.integer else f.centre for f in panel.factors if f.numeric}
        return levels | {f.name: min(max(centre[f.name], f.lower), f.upper) for f in panel.factors if f.numeric}
    if panel.workers is not None and panel.workers.name in given:
        # Of a transformer, a run whose split divides the devices that are given.
        columns = {name: np.array([run[name] for run in alike]) for name in alike[0]}
        columns[panel.workers.name] = np.full(len(alike), float(given[panel.workers.name]))
        alike = list(compress(alike, divisible(panel, columns))) or alike
    nearest = _nearest_run(panel, alike, given)
    sizes = [f.name for f in panel.factors if f.numeric and f.role == "intrinsic" and f.name in given]
    given_sizes = {name: float(given[name]) for name in sizes if name not in panel.machine.part_of}
    is_measured = not given_sizes or any(run | given_sizes == run for run in alike)
    return nearest if is_measured else nearest | _usual_sizes(panel, given_sizes)


def _nearest_run(panel: Panel, runs: Sequence[dict[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the run nearest to the given numbers, of equally near ones that nearest to the centre of the others.

    distance = Σ |ln x − ln x₀|/ln(upper/lower),   over the factors x with the wanted values x₀
    """
    from_given, from_centre = np.zeros(len(runs)), np.zeros(len(runs))
    for factor in panel.factors:
        if not factor.numeric:
            continue
        measured = np.array([float(run[factor.name]) for run in runs])
        wanted, width = float(given.get(factor.name, factor.centre)), factor.upper - factor.lower
        if factor.positive and wanted > 0.0:
            measured, wanted, width = np.log(measured), np.log(wanted), np.log(factor.upper / factor.lower)
        distance = from_given if factor.name in given else from_centre
        distance += np.abs(measured - wanted) / (width or 1.0)
    return runs[int(np.lexsort((from_centre.round(9), from_given.round(9)))[0])]


def _usual_sizes(panel: Panel, given_sizes: Mapping[str, float]) -> dict[str, Any]:
    """Return the other sizes, as layers, that most runs have beside the given ones; {} where no two runs agree."""
    fixed = {*given_sizes, *panel.machine.part_of}
    others = [f.name for f in panel.factors if f.numeric and f.role == "intrinsic" and f.name not in fixed]
    with_sizes = [run for run in panel.runs if all(run[name] == size for name, size in given_sizes.items())]
    beside = Counter(tuple(run[name] for name in others) for run in with_sizes)
    ((most_frequent, count),) = beside.most_common(1) or [((), 0)]
    return dict(zip(others, most_frequent, strict=True)) if count > 1 else {}


# --- configurations that can exist ------------------------------------------------------------------------------------


def completed(
    panel: Panel, columns: Columns, rows: int, where: str | None = None, fill: bool = False, refuse: bool = True
) -> tuple[dict[str, AnyArray], list[str]]:
    """Return every factor of some configurations, and which of the missing ones follow from the given ones.

    The columns, of shape (rows,), are factors, inputs of derived ones, or parts of a machine by the field's name. What
    follows is the machine and its work (`Machine.solved`), derived factors, and factors of one measured value. With
    `fill` the rest is that of a measured run (`typical_run`); else it is refused as missing. Without `refuse` machines
    that cannot exist are let through, which a grid leaves out by its conditions.
    """
    machine, factors = panel.machine, {f.name: f for f in panel.factors}
    columns = _with_inputs_of_runs(panel, columns, rows) if fill and panel.runs and panel.inputs else columns
    requested_parts = parts_given(panel, columns)
    machine.refuse_unknown_node_size(requested_parts)
    settled = machine.settled(requested_parts)
    computed = {n for n, read in panel.inputs.items() if n not in columns and read <= {*columns}}
    columns = {**columns, **_sizes_of_levels(panel, columns)}
    absent = [f for f in panel.factors if f.name not in {*columns, *computed}]
    needed = [f for f in absent if machine.part_of.get(f.name) not in settled and f.distinct != 1]
    if needed and not fill:
        filled, _ = completed(panel, columns, rows, fill=True, refuse=False)
        raise _missing(needed, {name: cells[0] for name, cells in filled.items()}, where)
    values, following, was_measured = dict(columns), list[str](), False
    for name in computed:
        # A formula of no column, `devices_per_node=8`, is one number.
        result = np.asarray(evaluate(parse(panel.derived[name]).node, columns), float)
        values[name] = np.broadcast_to(result, (rows,))
    if absent:
        requested_parts |= parts_given(panel, {name: values[name] for name in computed})
        base, sizes = _runs_of(panel, values, requested_parts, rows)
        grows = machine.grows_like(base) if machine.growth is None else None
        solved_parts = machine.parts_of(base)
        # A machine that was measured stays as it was, whatever its parts multiply to.
        alike = (np.all(solved_parts.get(part, np.nan) == given) for part, given in requested_parts.items())
        was_measured = bool(panel.runs and requested_parts) and all(alike)
        if not was_measured:
            solved_parts = machine.solved(solved_parts, requested_parts, sizes, grows)
        for factor in absent:
            values[factor.name] = solved_parts.get(machine.part_of.get(factor.name, ""), base[factor.name])
            if factor not in needed and (factor.distinct > 1 or np.any(values[factor.name] != base[factor.name])):
                following.append(factor.name)
    if requested_parts and refuse and not was_measured:
        settings = {name: values[name] for name in factors}
        machine.refuse_contradictions({**machine.parts_of(settings), **requested_parts}, requested_parts, where)
    return {name: values[name] for name in factors}, following


def _with_inputs_of_runs(panel: Panel, columns: Columns, rows: int) -> Columns:
    """Return columns with the missing inputs of a derived factor of which only some are given.

    Of `cores=ranks*threads` with the ranks alone, the threads are those of the run with the nearest cores.
    """
    factors = {f.name: f for f in panel.factors}
    for name, inputs in panel.inputs.items():
        inputs_of_runs = (inputs & {*columns}) - {*factors}
        missing = [factors[n] for n in inputs - {*columns} if n in factors]
        if name not in columns and inputs_of_runs and missing:
            node, values = parse(panel.derived[name]).node, {n: float(np.ravel(columns[n])[0]) for n in inputs_of_runs}
            distances = [abs(np.log(evaluate(node, {**run, **values}) / run[name])) for run in panel.runs]
            nearest = panel.runs[int(np.argmin(distances))]
            columns = {**columns, **{f.name: np.full(rows, nearest[f.name]) for f in missing}}
    return columns


def _sizes_of_levels(panel: Panel, columns: Columns) -> dict[str, Array]:
    """Return the sizes, as `layers`, that the levels of some columns settle in every row; no parts of a machine."""
    sizes = {
        size: np.array([of_level.get(level, np.nan) for level in columns[f.name].tolist()])
        for f in panel.factors
        if f.levels and f.name in columns
        for size, of_level in sizes_settled(panel, f.name, columns).items()
        if size not in panel.machine.part_of
    }
    return {size: values for size, values in sizes.items() if np.isfinite(values).all()}


def sizes_settled(panel: Panel, levels: str, names: Collection[str]) -> dict[str, dict[str, float]]:
    """Return the sizes that each level of a factor settles, {"layers": {"bert": 12.0}}, but for those among the names.

    There are none where a name gives a size itself: the configuration is then of another network.
    """
    sizes = {size: of_level for (factor, size), of_level in panel.sizes_of.items() if factor == levels}
    names_another = not (sizes.keys() - panel.machine.part_of.keys()).isdisjoint(names)
    return {} if names_another else {size: of_level for size, of_level in sizes.items() if size not in names}


def part_given(panel: Panel, name: str) -> str:
    """Return the part of a machine that a name gives: that of a column, or one by the field's name; else nothing."""
    machine, is_column = panel.machine, any(f.name == name for f in panel.factors)
    return machine.part_of.get(name) or (name if name in PARTS and not is_column and machine.means(name) else "")


def parts_given(panel: Panel, columns: Columns) -> dict[str, Array]:
    """Return what columns give of a machine, by its part: {"workers": [8, 16]} of `gpus`."""
    return {part: np.asarray(cells, float) for n, cells in columns.items() if (part := part_given(panel, n))}


def kept_beside(
    panel: Panel, at: Mapping[str, Any], complete: Mapping[str, Any], change: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what of a configuration stays beside a change: not the devices, their split or the batches it decides.

    Of the values that were not given, but `complete` it, it has those that the change leaves as they are: of a machine
    where it changes none of its parts, and a level where runs have it beside the changed ones.
    """

    def part(name: str) -> str:
        """Return the part of the machine that a name means, or else its column."""
        column = panel.meant(name)
        return panel.machine.part_of.get(column, column)

    changed, settled_anew = {*map(part, change)}, set[str]()
    if not changed.isdisjoint({*PLACES} - {*SPLITS}):
        settled_anew |= {*LEVELS, "devices_per_node", "data_parallel"}
    if not changed.isdisjoint(SPLITS):
        settled_anew |= {"data_parallel"}
    if not changed.isdisjoint(BATCHES):
        settled_anew |= {"batch", "global_batch", "micro_batches"}
    levels = {panel.meant(name): level for name, level in change.items() if isinstance(level, str)}
    alike = [run for run in panel.runs if all(run.get(name, level) == level for name, level in levels.items())]
    unchanged = {
        name: value
        for name, value in left_open(panel, complete, [*at, *change]).items()
        if part(name) not in changed
        and (changed.isdisjoint(PARTS) or name not in panel.machine.part_of)
        and (not isinstance(value, str) or any(run[name] == value for run in alike))
    }
    return unchanged | {name: value for name, value in at.items() if part(name) not in settled_anew}


def _runs_of(
    panel: Panel, columns: Columns, given: Mapping[str, Array], rows: int
) -> tuple[dict[str, AnyArray], Array | None]:
    """Return the columns of the measured run that stands for each configuration, and the devices of its full nodes."""
    machine, columns_of_runs = panel.machine, dict[str, AnyArray]()
    # Configurations that differ in places and batches alone have one run.
    placed = {f.name for meaning, f in machine.columns.items() if meaning not in SPLITS}
    names = [f.name for f in panel.factors if f.name in columns and f.name not in placed]
    keys = [*zip(*(columns[name].tolist() for name in names), strict=True)] or [()] * rows
    sizes = np.full(rows, np.nan)
    for factor in panel.factors:
        columns_of_runs[factor.name] = np.zeros(rows) if factor.numeric else np.empty(rows, dtype=object)
    for key in dict.fromkeys(keys):
        places = np.array([row for row, of_row in enumerate(keys) if of_row == key]) if len(keys) > 1 else np.arange(1)
        settings = dict(zip(names, key, strict=True))
        run = typical_run(panel, settings)
        node_size = machine.size(run)
        # Of the places and the batches that these configurations have, the largest and the median one choose the run.
        part_values = {meaning: cells[places] for meaning, cells in given.items()}
        if not {*PLACES}.isdisjoint(part_values):
            start = machine.parts_of({name: np.full(len(places), value) for name, value in run.items()})
            solved = machine.solved(start, part_values, node_size)
            levels = [part for part in LEVELS if part in solved and part in machine.columns]
            settings |= {machine.columns[part].name: float(np.max(solved[part])) for part in levels}
        batches = [part for part in BATCHES if part in part_values and part in machine.columns]
        settings |= {machine.columns[part].name: float(np.median(part_values[part])) for part in batches}
        run = typical_run(panel, settings) if settings else run
        sizes[places] = np.nan if node_size is None else node_size
        for name, value in run.items():
            columns_of_runs[name][places] = value
    return columns_of_runs, None if np.isnan(sizes).any() else sizes


def _missing(factors: Sequence[Factor], run: Mapping[str, Any], where: str | None) -> TableError:
    """Return the error that names all factors without a value, with those that `ask` takes."""
    if len(factors) == 1:
        (factor,) = factors
        levels, ends = f"one of {listed(factor.levels)}", f"measured from {factor.lower:g} to {factor.upper:g}"
        hint = f"--at {shlex.quote(factor.name)}=VALUE, or a column of that name ({ends if factor.numeric else levels})"
        return TableError(f"factor '{factor.name}' is missing", where=where, hint=hint)
    hint = f"--at {shlex.quote(','.join(f'{f.name}={label(run[f.name])}' for f in factors))}"
    names = ", ".join(f"'{f.name}'" for f in factors[:-1]) + f" and '{factors[-1].name}'"
    hint += ", as ask takes them, or columns of these names"
    return TableError(f"factors {names} are missing", where=where, hint=hint)


def divisible(panel: Panel, columns: Columns) -> Mask:
    """Return which configurations can exist: the ways beside data divide the devices; shape (rows,)."""
    machine_sizes = panel.machine.parts_of(columns)
    ways = product_of(machine_sizes) if machine_sizes else np.ones(len(next(iter(columns.values()))))
    return np.asarray((ways == 1.0) | (machine_sizes.get("workers", ways) % ways == 0.0))


def fills_nodes(panel: Panel, columns: Columns) -> Mask:
    """Return which configurations are on one node or fill their nodes; all where nodes or workers are not counted."""
    nodes, workers, held = panel.nodes, panel.workers, panel.node_size()
    if nodes is None or workers is None or held is None:
        return np.ones(len(next(iter(columns.values()))), bool)
    return np.asarray(~several_nodes(columns[nodes.name]) | (columns[workers.name] == held * columns[nodes.name]))


def whole_passes(panel: Panel, columns: Columns) -> Mask:
    """Return which configurations split a batch of all into whole passes of all replicas; all where none is counted."""
    sizes = panel.machine.parts_of(columns)
    if not {"global_batch", "micro_batch"} <= sizes.keys() or sizes.keys().isdisjoint(("data_parallel", "workers")):
        return np.ones(len(next(iter(columns.values()))), bool)
    replicas = sizes["data_parallel"] if "data_parallel" in sizes else sizes["workers"] / product_of(sizes)
    return np.asarray(sizes["global_batch"] % (replicas * sizes["micro_batch"]) == 0.0)


def left_open(panel: Panel, target: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """Return the factors of a configuration that vary, were not given and follow no given one, with their values."""
    names, varied = {panel.meant(name) for name in given}, {f.name for f in panel.factors if f.distinct > 1}
    # Of one measured count, it is those that the target goes beyond.
    beyond = {f.name for f in panel.factors if f.distinct == 1 and f.numeric and target[f.name] != f.lower}
    settled = {n for n in varied if not names.isdisjoint(panel.settled_by.get(n, ()))}
    settled_parts = panel.machine.settled({part_given(panel, name) for name in names})
    settled |= {f.name for meaning, f in panel.machine.columns.items() if meaning in settled_parts}
    settled |= {name for name, read in panel.inputs.items() if read and read <= names}
    measured = [f.name for f in panel.factors if f.name in names and target[f.name] in f.levels]
    settled |= {size for level in measured for size in sizes_settled(panel, level, names)}
    open_names = ((varied | beyond) - settled) - names
    ordered = sorted(panel.factors, key=lambda f: f.distinct == 1)
    return {f.name: target[f.name] for f in ordered if f.name in open_names}


def moved(
    panel: Panel, columns: Columns, changes: Mapping[str, AnyArray], size: Any = None, growth: Growth | None = None
) -> dict[str, AnyArray]:
    """Return configurations with the `changes` and all that follows from them: twice the gpus are on twice the nodes.

    A full node has `size` devices and the samples of a step go on with the `growth`, or both as in the runs.
    """
    machine = panel.machine
    changed_parts = parts_given(panel, changes)
    out = {**columns, **changes}
    if changed_parts:
        grows = growth if growth or machine.growth else machine.grows_like(columns)
        solved = machine.solved(machine.parts_of(columns), changed_parts, size, grows)
        out |= {f.name: solved[part] for part, f in machine.columns.items() if part in solved and f.name not in changes}
    derived = [n for n, read in panel.inputs.items() if n not in changes and read <= {*out} and n in columns]
    return out | {n: values_of(parse(panel.derived[n]).node, out) for n in derived}


def at_scale(
    panel: Panel, count: Factor, counts: Array, at: Mapping[str, Any], kind: Scaling | None, size: float | None = None
) -> dict[str, AnyArray]:
    """Return every factor of a complete configuration `at` other counts: weak scaling keeps the work of a worker.

    The counts, of shape (rows,), are those of the factor `count`, the workers or the nodes (`Panel.scaled_along`). At
    its own count the configuration is unchanged. A full node has `size` devices, by default as in the runs.
    """
    columns: dict[str, AnyArray] = {
        name: np.full(len(counts), value, dtype=object if isinstance(value, str) else float)
        for name, value in at.items()
    }
    growth: Growth | None = None
    if kind is not None and not KINDS[kind].whole:
        growth = "strong" if KINDS[kind].shared else "weak"
    changes = {count.name: np.asarray(counts, float)}
    work = panel.find("work")
    if growth == "strong" and work is not None:
        # The workers share one amount of work: what one of them does falls as 1/count.
        changes[work.name] = float(at[work.name]) * float(at[count.name]) / counts
    scaled = moved(panel, columns, changes, panel.machine.size(at) if size is None else size, growth)
    # At its own count the configuration stays as it is given, though its nodes may be filled in another way.
    at_given_count, unchanged = counts == at[count.name], {**columns, count.name: counts}
    return {
        name: np.where(at_given_count, unchanged[name], cells).astype(cells.dtype) for name, cells in scaled.items()
    }


def relative_work(
    panel: Panel, columns: Columns, counts: Array, kind: Scaling | None, given: Node | None = None
) -> tuple[Array | None, str]:
    """Return one worker's work relative to the first count, W(n)/W(n₀), or None, and the kind of scaling that it shows.

    W is the `given` work of a step, or that which was divided by a measured throughput, over n. Without one it is what
    the columns show of one worker (`share`), as its batch; without columns it is constant in weak scaling and ~ 1/n in
    strong. That of a job is shared whatever the columns. The counts n, of shape (rows,), rise.
    """
    given = given or panel.measured_work or (panel.step.total if panel.times_counted_steps else None)
    if given is not None:
        work = evaluated(given, columns, len(counts)) / counts
    else:
        kind, worker_share = kind or panel.kind, share(panel, job=True)
        node = panel.over_columns(worker_share.per_worker)
        if kind is not None and (KINDS[kind].whole or not worker_share.known):
            work = KINDS[kind].relative(counts)
        elif not worker_share.known:
            return None, "unknown"
        else:
            work = values_of(node, columns) if names_in(node) <= {*columns} else KINDS["strong"].relative(counts)
    work = np.asarray(work / work[0])
    by_work = kind_of_work(work * counts, counts) or "mixed"
    if given is not None and kind is not None and len(counts) > 1 and by_work != kind:
        text = render(given)
        what = f"the scaling is given as {kind}, and with the work '{text}' of a step it is {by_work}"
        raise GenperfError(what, hint="leave --scaling out")
    return work, by_work


def doubled(panel: Panel, columns: Columns, name: str) -> dict[str, Array]:
    """Return the columns that change where a factor doubles, with their values: the nodes follow their devices."""
    changes = {name: 2.0 * np.asarray(columns[name], float)}
    workers, nodes = panel.workers, panel.nodes
    if nodes is not None and name == nodes.name and workers is not None:
        # The same devices on more nodes.
        changes[workers.name] = np.asarray(columns[workers.name], float)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*(columns[n].tolist() for n in columns), strict=True)]
    is_count = name in {f.name for f in panel.counts}
    node_sizes = [panel.machine.size(row, as_it_is=True) for row in rows] if is_count else [None]
    known_sizes = [size for size in node_sizes if size is not None]
    after = moved(panel, columns, changes, np.array(known_sizes) if len(known_sizes) == len(rows) else None)
    return {n: v for n, v in after.items() if n == name or (v.dtype != object and np.any(v != columns[n]))}


def each_doubled(panel: Panel, columns: Columns) -> dict[str, dict[str, Array]]:
    """Return by factor the columns that change where it doubles: {"gpus": {"gpus": [16.0], "nodes": [2.0]}}.

    Factors that do not vary, or that follow the workers or other columns, have no doubling of their own.
    """
    count = "" if panel.counted is None else panel.counted.name
    changes = {f.name: doubled(panel, columns, f.name) for f in panel.factors if f.numeric and f.name in columns}
    followers = {*panel.derived, *changes.get(count, ())} - {count}
    varying = [f.name for f in panel.factors if f.positive and f.distinct > 1 and f.name in changes]
    return {name: changes[name] for name in varying if name not in followers}


def devices_and_nodes(panel: Panel, columns: Mapping[str, Any]) -> tuple[Array, Array, float | None]:
    """Return the devices and the nodes of configurations, and the devices taken for a node where none is counted."""
    count, node = panel.along(), panel.node("nodes")
    devices = np.asarray(columns[(panel.workers or count).name], float)
    if panel.workers is None and panel.counted is not None:
        return np.ones(len(devices)), devices, None
    if node is None:
        return devices, np.ceil(devices / USUAL_DEVICES), USUAL_DEVICES
    return devices, np.broadcast_to(np.ceil(np.asarray(evaluate(node, columns), float)), devices.shape), None
