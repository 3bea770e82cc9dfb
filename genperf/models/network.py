"""Hints of a user about the network between nodes (`--hint`), and the time that one exchange over it takes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import FitError, Note, suggest
from genperf.formula import Name, Node, Number, evaluate
from genperf.formula.amounts import amount
from genperf.panel import Panel
from genperf.peaks import link_rate
from genperf.table import Table
from genperf.table.axis import several_nodes
from genperf.table.cells import with_columns
from genperf.table.clean import numbers
from genperf.table.factor import measure

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


@dataclass(frozen=True)
class Network:
    """The network between nodes, as a user describes it."""

    #: Bytes per second of a node's link, as a single transfer reaches them.
    bandwidth: float
    #: Seconds that a message takes beside them.
    latency: float = 0.0
    #: Bytes that a worker exchanges in a step, or the column that holds them; None where the table's own factors
    #: (`bytes`, `parameters`) show them.
    message: float | str | None = None
    #: What the column or the number is multiplied by: the bytes of a parameter's gradient, where it counts these.
    each: float = 1.0

    def exchange(self, table: Table, factors: Panel) -> float | None:
        """Return the seconds in which two nodes exchange a message by a ring; None where its bytes are not known.

        A ring all-reduce over n nodes takes 2 (n − 1)/n · bytes/bandwidth + 2 (n − 1) · latency (Patarasuk & Yuan
        2009); here n = 2.

        Examples
        --------
        >>> import pandas as pd
        >>> from genperf.table import read_table
        >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "parameters": [25e6] * 3, "s": [0.30, 0.31, 0.32]})
        >>> table = read_table(runs, time="s", extrinsic="gpus", intrinsic="parameters")
        >>> network_of({"bandwidth": "10Gbit/s"}).exchange(table, Panel(table.factors))
        0.08
        """
        message = self._bytes(table, factors)
        if message is None:
            return None
        seconds = message / self.bandwidth + 2.0 * self.latency
        if not seconds <= LONGEST:
            text = f"--hint: an exchange of {message:.3g} bytes would take {seconds:.3g} s, more than an hour"
            raise FitError(text, hint="look at the units: 25Gbit/s, 100MB, 20us")
        return seconds

    def message_at(self, panel: Panel, columns: Mapping[str, Any]) -> float | None:
        """Return the bytes that a worker exchanges in a step of one configuration; None where they are not known."""
        if isinstance(self.message, float):
            return self.each * self.message
        node = panel.node("bytes") if self.message is None else Name(self.message)
        if node is None or (self.message is not None and self.message not in columns):
            return None
        return self.each * float(np.ravel(evaluate(node, columns))[0])

    def _bytes(self, table: Table, factors: Panel) -> float | None:
        if isinstance(self.message, str):
            if self.message not in table.frame:
                hint = suggest(self.message, list(table.frame.columns)) or f'--hint "{MESSAGE}=100MB"'
                raise FitError(f"--hint: '{self.message}' is neither a number nor a column", hint=hint)
            values, reasons = numbers(table.frame[self.message].to_numpy())
            if reasons or not np.all(values > 0.0):
                raise FitError(f"--hint: column '{self.message}' holds no number of bytes", hint="one above zero a row")
        else:
            node = factors.node("bytes") if self.message is None else Number(self.message)
            if node is None:
                return None
            values = _values(node, table)
        least, most = float(values.min()), float(values.max())
        if least < most:
            raise FitError(
                f"--hint: the message changes along the series, from {least:g} to {most:g}",
                hint=f'--group of the column that names the network trained, or one number: --hint "{MESSAGE}=100MB"',
            )
        return self.each * least


def hint_named(name: str) -> str:
    """Return the full name of a hint.

    Examples
    --------
    >>> hint_named("Bandwidth"), hint_named("message bytes")
    ('bandwidth between nodes', 'message bytes')
    """
    word = " ".join(name.lower().replace("_", " ").split())
    for full, others in HINTS.items():
        if word == full or word in others:
            return full
    known = [word for full, others in HINTS.items() for word in (full, *others)]
    raise FitError(f"unknown hint '{name}'", hint=suggest(word, known) or f"one of {', '.join(HINTS)}")


def checked_hints(given: Mapping[str, str | float]) -> dict[str, str]:
    """Return hints by their full names.

    Examples
    --------
    >>> checked_hints({"bandwidth": "25Gbit/s", "message": "100MB"})
    {'bandwidth between nodes': '25Gbit/s', 'message bytes': '100MB'}
    """
    hints: dict[str, str] = {}
    for name, value in given.items():
        full = hint_named(name)
        if full in hints:
            raise FitError(f"'{full}' is hinted twice", hint="give it once")
        hints[full] = str(value)
    network_of(hints)
    devices_of(hints)
    return hints


def network_of(hints: Mapping[str, str]) -> Network | None:
    """Return the network between nodes from hints; None where they give no bandwidth.

    Examples
    --------
    >>> network_of({"bandwidth": "25Gbit/s", "latency": "1ms", "parameters": "110M"})
    Network(bandwidth=3125000000.0, latency=0.001, message=110000000.0, each=4.0)
    """
    named = {hint_named(name): value for name, value in hints.items()}
    if BANDWIDTH not in named:
        alone = [name for name in (LATENCY, MESSAGE, PARAMETERS) if name in named]
        if alone:
            raise FitError(f"--hint '{alone[0]}' says nothing alone", hint=f'--hint "{BANDWIDTH}=25Gbit/s" beside it')
        return None
    speed = link_rate(named[BANDWIDTH])
    latency = _positive(named.get(LATENCY, "0"), LATENCY, "20us")
    if MESSAGE in named and PARAMETERS in named:
        raise FitError(f"'{MESSAGE}' and '{PARAMETERS}' are both hinted", hint="give one of them")
    for name, each in ((MESSAGE, 1.0), (PARAMETERS, GRADIENT_BYTES)):
        if name in named:
            size = amount(named[name])
            if size is not None and not 0.0 < size < float("inf"):
                raise FitError(f"'{named[name]}' is no number of {name}", hint=f'--hint "{name}=100M"')
            return Network(speed, latency, named[name] if size is None else size, each)
    return Network(speed, latency)


def devices_of(hints: Mapping[str, str]) -> float | None:
    """Return how many devices a node has, from hints; None where they do not give it.

    Examples
    --------
    >>> devices_of({"devices per node": "8"})
    8.0
    """
    text = next((value for name, value in hints.items() if hint_named(name) == DEVICES), None)
    if text is None:
        return None
    count = amount(text)
    if count is None or count < 1.0 or count != int(count):
        raise FitError(f"'{text}' is no number of devices per node", hint=f'--hint "{DEVICES}=8"')
    return count


def about_devices(hints: Mapping[str, str]) -> dict[str, str]:
    """Return the hints that every model reads: how many devices a node has.

    Examples
    --------
    >>> about_devices({"bandwidth": "25Gbit/s", "devices per node": "8"})
    {'devices per node': '8'}
    """
    return {name: value for name, value in hints.items() if hint_named(name) == DEVICES}


def with_devices_per_node(table: Table, hints: Mapping[str, str]) -> Table:
    """Return a table with the hinted devices per node: a factor of one value, where no column counts nodes.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> table = read_table(pd.DataFrame({"gpus": [2, 4, 8], "s": [1.0, 1.1, 1.5]}), time="s", extrinsic="gpus")
    >>> table = with_devices_per_node(table, {"devices per node": "4"})
    >>> [factor.name for factor in table.factors], table.derived
    (['gpus', 'devices_per_node'], {'devices_per_node': '4'})
    """
    count = devices_of(hints)
    if count is None:
        return table
    factors = Panel(table.factors)
    nodes, workers = factors.node("nodes"), factors.node("workers")
    if nodes is not None and workers is not None:
        inside = ~several_nodes(_values(nodes, table))
        most = np.max(_values(workers, table), initial=0.0, where=inside)
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
        further={name: with_devices_per_node(part, hints) for name, part in table.further.items()},
    )


def _values(node: Node, table: Table) -> npt.NDArray[np.float64]:
    """Return a formula over a table's columns at every row."""
    return np.broadcast_to(np.asarray(evaluate(node, table.columns), float), (len(table),))


def _positive(text: str, name: str, example: str) -> float:
    """Return an amount that is zero or more."""
    value = amount(text)
    if value is None or not 0.0 <= value < float("inf"):
        raise FitError(f"'{text}' is no {name.split()[0]}", hint=f'--hint "{name}={example}"')
    return value
