"""Hints of a user about the network between nodes (`--hint`), and the time that one exchange over it takes."""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Columns
from genperf.errors import FitError, Note, attempted, did_you_mean
from genperf.formula import Name, Node, Number, evaluate, names_in, values_of
from genperf.formula.amounts import amount
from genperf.networks import TrainedNetwork, network_named
from genperf.panel import Panel, Table
from genperf.panel.panel import several_nodes
from genperf.peaks import link_rate
from genperf.table.cells import measure, with_columns
from genperf.table.clean import numbers

#: Hints, with the shorter words that name them as well.
HINTS: dict[str, tuple[str, ...]] = {
    "bandwidth between nodes": ("bandwidth", "link", "network"),
    "latency between nodes": ("latency",),
    "message bytes": ("message", "gradient bytes", "bytes"),
    "parameters": ("params",),
    "devices per node": ("gpus per node", "workers per node"),
}
BANDWIDTH, LATENCY, MESSAGE, PARAMETERS, DEVICES = HINTS
#: Bytes of a parameter's gradient, where the message follows from the parameters: single precision.
GRADIENT_BYTES = 4.0
#: Seconds of an exchange above which a unit is more likely wrong than the hint right.
LONGEST = 3600.0


class Network(Struct, frozen=True):
    """The network between nodes, as a user describes it."""

    bandwidth: float  #: Bytes per second of a node's link, as a single transfer reaches them.
    latency: float = 0.0  #: Seconds that a message takes beside them.
    #: Bytes that a worker exchanges in a step, or the column that holds them; None where the table's own factors
    #: (`bytes`, `parameters`) show them.
    message: float | str | None = None
    #: What the column or the number is multiplied by: the bytes of a parameter's gradient, where it counts these.
    each: float = 1.0

    def exchange(self, table: Table) -> float | None:
        """Return the seconds of a ring between two nodes; None where nothing tells the bytes."""
        message = self._bytes(table)
        if message is None:
            return None
        seconds = self.ring_of_two(message)
        if not seconds <= LONGEST:
            text = f"--hint: an exchange of {message:.3g} bytes would take {seconds:.3g} s, more than an hour"
            raise FitError(text, hint="look at the units: 25Gbit/s, 100MB, 20us")
        return seconds

    def ring_of_two(self, message: float) -> float:
        """Return the seconds in which two nodes exchange a message, message/bandwidth + 2·latency."""
        return message / self.bandwidth + 2.0 * self.latency

    def message_at(self, panel: Panel, columns: Columns) -> float | None:
        """Return the bytes that a worker exchanges in a step of one configuration; None where they are not known."""
        node = self._message(panel)
        if node is None or not names_in(node) <= columns.keys():
            return None
        return self.each * float(np.ravel(evaluate(node, columns))[0])

    def _message(self, panel: Panel) -> Node | None:
        """Return the message as a formula over the columns, without what it is multiplied by."""
        if self.message is None:
            return panel.node("bytes")
        return Name(self.message) if isinstance(self.message, str) else Number(self.message)

    def _bytes(self, table: Table) -> float | None:
        """Return the bytes of a message by the hint or the columns; None where neither tells them."""
        node = self._message(table.panel)
        if isinstance(self.message, str):
            if self.message not in table.frame:
                hint = did_you_mean(self.message, table.frame.columns) or f'--hint "{MESSAGE}=100MB"'
                raise FitError(f"--hint: '{self.message}' is neither a number nor a column", hint=hint)
            values, reasons = numbers(table.frame[self.message].to_numpy())
            if reasons or not np.all(values > 0.0):
                raise FitError(f"--hint: column '{self.message}' holds no number of bytes", hint="one above zero a row")
        elif node is None:
            return None
        else:
            values = values_of(node, table.columns)
        least, most = float(values.min()), float(values.max())
        if least < most:
            hint = f'--group of the column that names the network trained, or one number: --hint "{MESSAGE}=100MB"'
            raise FitError(f"--hint: the message changes along the series, from {least:g} to {most:g}", hint=hint)
        return self.each * least


def checked_hints(named: Mapping[str, str | float]) -> dict[str, str]:
    """Return hints by their full names; a file of nccl-tests stands for the bandwidth that it measured."""
    hints: dict[str, str] = {}
    full_names = {word: full for full, spellings in HINTS.items() for word in (full, *spellings)}
    for name, value in named.items():
        word = " ".join(name.lower().replace("_", " ").split())
        if word not in full_names:
            hint = did_you_mean(word, full_names) or f"one of {', '.join(HINTS)}"
            raise FitError(f"unknown hint '{name}'", hint=hint)
        if full_names[word] in hints:
            raise FitError(f"'{full_names[word]}' is hinted twice", hint="give it once")
        hints[full_names[word]] = str(value)
    if Path(hints.get(BANDWIDTH, "")).is_file():
        # Only here: the formats of other tools are read by nobody else.
        from genperf.table.importers.nccl_tests import plateau_in

        hints[BANDWIDTH] = str(plateau_in(hints[BANDWIDTH]).get("busbw", hints[BANDWIDTH]))
    network_of(hints)
    _devices(hints)
    return hints


def network_of(hints: Mapping[str, str]) -> Network | None:
    """Return the network between nodes from hints by their full names; None where they give no bandwidth."""
    if BANDWIDTH not in hints:
        lone_hints = [name for name in (LATENCY, MESSAGE, PARAMETERS) if name in hints]
        if lone_hints:
            text = f"--hint '{lone_hints[0]}' says nothing alone"
            raise FitError(text, hint=f'--hint "{BANDWIDTH}=25Gbit/s" beside it')
        return None
    speed = link_rate(hints[BANDWIDTH])
    latency = amount(hints.get(LATENCY, "0"))
    if latency is None or not 0.0 <= latency < math.inf:
        raise _refused(hints, LATENCY, "latency", "20us")
    if MESSAGE in hints and PARAMETERS in hints:
        raise FitError(f"'{MESSAGE}' and '{PARAMETERS}' are both hinted", hint="give one of them")
    name = MESSAGE if MESSAGE in hints else PARAMETERS
    if name not in hints:
        return Network(speed, latency)
    count, network = amount(hints[name]), attempted(network_named, hints[name])
    if name == PARAMETERS and isinstance(network, TrainedNetwork) and network.published:
        # `llama3-8b` has the parameters that are published of it.
        count = network.parameters
    if count is not None and not 0.0 < count < math.inf:
        raise _refused(hints, name, f"number of {name}", "100M")
    column_or_count = hints[name] if count is None else count
    return Network(speed, latency, column_or_count, GRADIENT_BYTES if name == PARAMETERS else 1.0)


def _refused(hints: Mapping[str, str], name: str, meaning: str, example: str) -> FitError:
    return FitError(f"'{hints[name]}' is no {meaning}", hint=f'--hint "{name}={example}"')


def _devices(hints: Mapping[str, str]) -> float | None:
    """Return how many devices a node has, from hints; None where they do not give it."""
    if DEVICES not in hints:
        return None
    count = amount(hints[DEVICES])
    if count is None or count < 1.0 or not count.is_integer():
        raise _refused(hints, DEVICES, f"number of {DEVICES}", "8")
    return count


def with_devices_per_node(table: Table, hints: Mapping[str, str]) -> Table:
    """Return a table with the hinted devices per node: a factor of one value, where no column counts nodes."""
    count = _devices(hints)
    if count is None:
        return table
    nodes, workers = table.panel.node("nodes"), table.panel.node("workers")
    if nodes is not None and workers is not None:
        inside = ~several_nodes(values_of(nodes, table.columns))
        most = np.max(values_of(workers, table.columns), initial=0.0, where=inside)
        if most <= count:
            return table
        text = f"the hint says {count:g} devices per node; the table has {most:g} on one: the table counts"
        return replace(table, notes=(*table.notes, Note(text, "hint_contradicted")))
    column, values = DEVICES.replace(" ", "_"), np.full(len(table), count)
    if column in table.frame:
        raise FitError(f"'{column}' is a column of the table", hint=f"--extrinsic {column} in the place of the hint")
    failures = table.failures
    return replace(
        table,
        frame=with_columns(table.frame, {column: values}),
        factors=(*table.factors, measure(column, "extrinsic", [count])),
        derived={**table.derived, column: f"{count:g}"},
        failures=with_columns(failures, {column: np.full(len(failures), count)}) if len(failures) else failures,
        further={name: with_devices_per_node(further_table, hints) for name, further_table in table.further.items()},
    )
