"""The measured configurations of a table or a model, as the laws of slow steps read them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.causes.laws import CAUSES, Array, Runs
from genperf.errors import GenperfError, suggest
from genperf.formula import evaluate, names_in, parse
from genperf.models.network import checked_hints, network_of
from genperf.panel.configurations import devices_and_nodes
from genperf.panel.panel import Median, Panel
from genperf.panel.reading import column_named
from genperf.prediction.schema import Schema
from genperf.scaling import KINDS, is_whole
from genperf.table import Table
from genperf.table.axis import measure
from genperf.table.cells import with_columns
from genperf.table.clean import numbers
from genperf.table.target import phase_seconds
from genperf.vocabulary.names import counts_devices
from genperf.words.numbers import join_values

#: What a step is scaled by and what a device works on: all other factors are held.
_SCALED = ("workers", "nodes", "devices_per_node", "batch", "global_batch")
#: The parts of a step in the laws: the phases that must be columns, and those that are added where they are.
_PHASES = {
    "computation": (("forward", "backward"), ()),
    "exchange": (("exchange",), ()),
    "input": (("input",), ("transfer",)),
}


def measured(
    schema: Schema,
    at: Mapping[str, Any] | None = None,
    *,
    work: str | None = None,
    hints: Mapping[str, str] | None = None,
    table: Table | None = None,
) -> Runs:
    """Return the measured steps at given levels; of factors left open, those with most configurations.

    Parameters
    ----------
    work : str, optional
        The samples of a step; what the schema and the columns show where omitted.
    table : Table, optional
        The runs behind the schema, which have phases.

    Raises
    ------
    GenperfError
        For other quantities than times, and where no run has the levels.
    """
    if not schema.target.is_time:
        raise GenperfError(f"causes are of a slow step, and '{schema.target.column}' is no time", hint="--time COLUMN")
    panel = schema.panel.with_axis
    count = panel.along()
    if not counts_devices(count.name):
        text = f"'{count.name}' counts no devices, and the causes are of steps that several devices make together"
        raise GenperfError(text, hint="a column such as gpus or nodes")
    chosen = _chosen(panel, dict(at or {}))
    medians = [panel.medians[j] for j in chosen]
    columns = {f.name: np.array([m.values[j] for m in medians]) for j, f in enumerate(panel.factors)}
    devices, nodes, _ = devices_and_nodes(panel, columns)
    # A node that is not told from its devices is one.
    devices = np.maximum(devices, nodes)
    varied = [count.name, *(n for n in _scaled(panel) if n != count.name and len(np.unique(columns[n])) > 1)]
    in_seconds = schema.of_steps or work is not None or panel.samples is not None
    return Runs(
        devices,
        nodes,
        _batch(schema, panel, columns, devices, work),
        np.array([m.value for m in medians]),
        np.array([_scatter(m) for m in medians]),
        np.ones(len(medians), dtype=bool),
        _exchange(panel, columns, hints or {}) if in_seconds else None,
        is_whole(schema.scaling),
        {part: np.full(len(chosen), np.nan) if table is None else _phase(table, part, chosen) for part in _PHASES},
        tuple(join_values({n: columns[n][j] for n in varied}) for j in range(len(medians))),
    )


def beside(slow: Runs, sound: Runs) -> Runs:
    """Return slow runs with sound ones of the same program beside them."""
    names = ("devices", "nodes", "batch", "seconds", "scatter")
    both: dict[str, Any] = {name: np.concatenate([getattr(slow, name), getattr(sound, name)]) for name in names}
    phases = {name: np.concatenate([values, sound.phases[name]]) for name, values in slow.phases.items()}
    rows = np.repeat([True, False], [len(slow.places), len(sound.places)])
    return replace(slow, **both, slow=rows, phases=phases, places=slow.places + sound.places)


def with_groups(table: Table) -> Table:
    """Return a table whose groups are factors: their levels are compared, and a batch among them is one."""
    columns, factors = {}, list(table.factors)
    for name in table.group:
        cells = table.frame[name].to_numpy()
        values, reasons = numbers(cells)
        columns[name] = cells if reasons else values
        factors.append(measure(name, "categorical" if reasons else "intrinsic", columns[name]))
    return replace(table, frame=with_columns(table.frame, columns), factors=tuple(factors), group=())


def _scaled(panel: Panel) -> list[str]:
    """Return the columns that count devices and nodes, and that tell the work of a device."""
    nodes = (panel.node(name) for name in _SCALED)
    return [name for node in nodes if node is not None for name in sorted(names_in(node))]


def _chosen(panel: Panel, at: dict[str, Any]) -> list[int]:
    """Return the places of the configurations at some levels, the most frequent ones where a factor is left open."""
    names = [f.name for f in panel.factors]
    given: dict[str, Any] = {}
    for name, value in at.items():
        column = column_named(panel.column(name), dict.fromkeys(names))
        if column is None:
            hint = suggest(name, names) or f"one of {', '.join(names)}"
            raise GenperfError(f"no factor is called '{name}'", hint=hint)
        given[column] = value
    rows = [dict(zip(names, m.values, strict=True)) for m in panel.medians]
    fits = [j for j, row in enumerate(rows) if all(_same(row[n], value) for n, value in given.items())]
    if not fits:
        raise GenperfError(f"no run has {join_values(given)}", hint="measured values of the factors")
    scaled = {*_scaled(panel), panel.along().name}
    held = [f.name for f in panel.factors if f.distinct > 1 and f.name not in scaled]
    levels = {j: tuple(rows[j][name] for name in held) for j in fits}
    most = Counter(levels.values()).most_common(1)[0][0]
    places = [j for j in fits if levels[j] == most]
    if len(places) > CAUSES.most_runs:
        places.sort(key=lambda j: [float(rows[j][name]) for name in names if name in scaled])
        places = [places[int(k)] for k in np.linspace(0, len(places) - 1, CAUSES.most_runs).round()]
    return places


def _same(value: float | str, given: Any) -> bool:
    """Tell whether a measured value is a given one, which may be text."""
    try:
        return bool(np.isclose(float(value), float(given)))
    except ValueError:
        return str(value) == str(given)


def _batch(
    schema: Schema, panel: Panel, columns: Mapping[str, npt.NDArray[Any]], devices: Array, work: str | None
) -> Array:
    """Return what one device works on in a step: its samples, or a share of one amount; one where that is not known."""
    node = None if panel.of_jobs or work else panel.node("batch")
    whole = parse(work, list(columns)).node if work else panel.measured_work or panel.samples
    shared = schema.scaling is not None and KINDS[schema.scaling].shared
    if node is not None:
        values = np.asarray(evaluate(node, columns), float)
    elif whole is not None and not panel.of_jobs:
        values = np.asarray(evaluate(whole, columns), float) / devices
    else:
        values = 1.0 / devices if shared else np.ones(1)
    return np.array(np.broadcast_to(values, devices.shape))


def _exchange(panel: Panel, columns: Mapping[str, npt.NDArray[Any]], hints: Mapping[str, str]) -> float | None:
    """Return the least seconds in which two nodes exchange the message, by hints."""
    network = network_of(checked_hints(hints))
    message = None if network is None else network.message_at(panel, {n: cells[:1] for n, cells in columns.items()})
    return None if network is None or message is None else message / network.bandwidth + 2.0 * network.latency


def _scatter(median: Median) -> float:
    """Return the standard deviation of ln T among repeats, from their range; nan without repeats.

    σ ≈ (ln max - ln min)/d₂(k)     d₂(2) = 1.13, d₂(3) = 1.69, d₂(5) = 2.33, about √k up to ten
    """
    if median.repeats < 2:
        return float("nan")
    return float(np.log(median.highest / median.lowest) / min(np.sqrt(median.repeats), 3.0))


def _phase(table: Table, part: str, chosen: list[int]) -> Array:
    """Return the median seconds of a part of a step at some configurations, nan where it was not measured."""
    needed, further = _PHASES[part]
    if not table.phases.keys() >= {*needed}:
        return np.full(len(chosen), np.nan)
    columns = [table.phases[phase] for phase in (*needed, *further) if phase in table.phases]
    seconds = pd.Series(np.sum([phase_seconds(table.frame[column])[0] for column in columns], axis=0))
    return seconds.groupby(table.configuration).median().reindex(chosen).to_numpy(float)
