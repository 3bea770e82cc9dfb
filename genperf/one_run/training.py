"""How long a number of tokens takes and what it costs, from one run, or from published runs before there is any."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from genperf.errors import GenperfError
from genperf.facts import Paid
from genperf.formula.amounts import amount
from genperf.growth.hints import tilt_of
from genperf.growth.posterior import Counts, Series, forecast, posterior_of
from genperf.models.network import GRADIENT_BYTES, network_of
from genperf.one_run.published import Place
from genperf.one_run.run import Run, machine_of
from genperf.one_run.utilisation import Utilisation, operations_of
from genperf.panel.axis import several_nodes
from genperf.vocabulary.names import LEVELS, canonical_of

#: Devices of a node, where they are not known and there are more of them.
USUAL_NODE = 8.0
#: Variance of ln of the time of the one run: repeats of a training lie within about 2 %.
RUN_VARIANCE = 0.02**2
#: A whole interval and its centre.
LEVEL = 0.9


@dataclass(frozen=True)
class Training:
    """A number of tokens on a number of devices."""

    tokens: float
    devices: float
    nodes: float
    #: Days, and the ends of nine in ten.
    days: tuple[float, ...]
    price: Paid | None
    #: What the interval rests on.
    reason: str
    #: The run to make next.
    suggestion: str

    @property
    def cost(self) -> tuple[float, ...] | None:
        """The cost with its ends; None without a price."""
        if self.price is None:
            return None
        paid = self.nodes if self.price.per and canonical_of(self.price.per) == "nodes" else self.devices
        return tuple(days * 86400.0 * paid * self.price.per_second for days in self.days)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        cost = dict(zip(("cost", "cost_lower", "cost_upper"), self.cost or (None, None, None), strict=True))
        days = dict(zip(("days", "days_lower", "days_upper"), self.days, strict=True))
        of = {"tokens": self.tokens, "devices": self.devices, "nodes": self.nodes}
        return {**of, **days, **cost, "verdict": "extrapolating-blind", "reason": self.reason, "next": self.suggestion}


def training_of(
    run: Run,
    used: Utilisation | None,
    place: Place | None,
    tokens: float,
    at: Mapping[str, str],
    price: Paid | None,
    hints: Mapping[str, str],
) -> Training:
    """Return how long tokens take: from the run's rate and how others grew, or from published utilisations.

    Raises
    ------
    GenperfError
        For a network that is trained on no tokens, or one that is not named.
    """
    if run.network is None:
        raise GenperfError("how long tokens take needs the network", hint="a size such as 7B")
    if run.network.sample != "tokens":
        hint = "--tokens is of a transformer"
        raise GenperfError(f"{run.network.name} is trained on {run.network.sample}, not on tokens", hint=hint)
    devices, nodes = _target(run, at)
    if run.rate is not None:
        here = _nodes(run, run.devices)
        centre, lower, upper = _growth(run, (run.devices, here), (devices, nodes), hints)
        seconds = tokens / run.rate * run.devices / devices
        days = tuple(seconds * factor / 86400.0 for factor in (centre, lower, upper))
        leaves = here == 1.0 and bool(several_nodes(nodes))
        reason = "one run: what a larger count costs is that of published series"
        if leaves:
            reason = "no run beyond one node: the interval holds networks of which nothing is known"
            if hints:
                reason = "no run beyond one node: what the second costs rests on the hint"
        next_count = min(2.0 * run.devices, devices) if devices > run.devices else run.devices
        suggestion = f"measure {next_count:g} devices" + (" on 2 nodes" if leaves and next_count < devices else "")
        return Training(tokens, devices, nodes, days, price, reason, suggestion)
    if place is None:
        raise GenperfError("nothing measures the speed of the run", hint="add 76800tok/s")
    shares = (place.median, place.high, place.low) if used is None else (used.value,) * 3
    name, operations = operations_of(run)
    days = tuple(tokens * operations / (devices * run.dense_peak * share) / 86400.0 for share in shares)
    reason = f"no run: the interval is that of {place.runs} published {place.among} ({name})"
    return Training(tokens, devices, nodes, days, price, reason, f"measure 1 device, then {min(devices, 8):g}")


def _target(run: Run, at: Mapping[str, str]) -> tuple[float, float]:
    """Return the devices and nodes that are asked about: those of the run where nothing names them."""
    counts: dict[str, float] = {}
    for name, text in at.items():
        machine = machine_of(text)
        meaning = "workers" if name == "count" or machine else canonical_of(name)
        value = machine[0] if machine else amount(text)
        if value is None or meaning not in LEVELS or not value >= 1.0:
            raise GenperfError(f"--at {name}={text} is no count of devices or nodes", hint="--at 64, or --at nodes=8")
        if machine and run.device is not None and machine[2] is not run.device:
            hint = f"{text} without --at and without a rate is answered from published runs"
            raise GenperfError(f"the run is on {run.device.label}, and --at names another device", hint=hint)
        counts[meaning] = value
    each = run.devices / _nodes(run, run.devices)
    devices = counts.get("workers", counts["nodes"] * each if "nodes" in counts else run.devices)
    return devices, counts.get("nodes", _nodes(run, devices))


def _nodes(run: Run, devices: float) -> float:
    """Return the nodes that devices fill."""
    each = min(run.devices, USUAL_NODE) if run.nodes is None else run.devices / run.nodes
    return max(float(np.ceil(devices / max(each, 1.0))), 1.0) if devices > each else 1.0


def _growth(
    run: Run, here: tuple[float, float], there: tuple[float, float], hints: Mapping[str, str]
) -> tuple[float, float, float]:
    """Return what a step takes at other counts over what it takes here, with its ends: the bank's curves."""

    def counts(count: tuple[float, float]) -> Counts:
        return Counts(*(np.array([value]) for value in (*count, 1.0)))

    tilt, network = None, network_of(hints)
    if network is not None and here[1] == 1.0 and run.step_seconds is not None and run.network is not None:
        message = network.each * network.message if isinstance(network.message, float) else None
        exchange = (message or GRADIENT_BYTES * run.network.parameters) / network.bandwidth + 2.0 * network.latency
        tilt = tilt_of(exchange, float(np.log(run.step_seconds)))
    elif network is not None and here[1] == 1.0:
        hint = "the samples of a step of all, and their length: gbs=256 seq=2048"
        raise GenperfError("a hinted network needs the time of a step", hint=hint)
    level = np.log([run.step_seconds or 1.0])
    series = Series(counts(here), level, np.array([RUN_VARIANCE]), tilt)
    centre, lower, upper = forecast([posterior_of(series).draws()], [1.0], [counts(there)]).interval(LEVEL)
    seconds = float(np.exp(level[0]))
    return float(centre[0]) / seconds, float(lower[0]) / seconds, float(upper[0]) / seconds
