"""How long a number of tokens takes and what it costs, from one run, or from published runs before there is any."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from genperf.errors import GenperfError
from genperf.facts import ENDS, Paid
from genperf.formula.amounts import amount
from genperf.growth.hints import tilt_of
from genperf.growth.posterior import Counts, Series, forecast, posterior_of
from genperf.models.network import GRADIENT_BYTES, network_of
from genperf.one_run.published import PublishedPlace
from genperf.one_run.run import TrainingRun, machine_in
from genperf.one_run.utilisation import operations_of
from genperf.panel.axis import several_nodes
from genperf.peaks import device_in
from genperf.vocabulary.names import LEVELS, canonical_of

#: Devices of a node, where they are not known and there are more of them.
USUAL_NODE = 8.0
#: Variance of ln of the time of the one run: repeats of a training lie within about 2 %.
RUN_VARIANCE = 0.02**2
#: Nominal coverage.
LEVEL = 0.9


def training_of(
    run: TrainingRun, used: float | None, place: PublishedPlace | None, tokens: float, at: Mapping[str, str],
    price: Paid | None, hints: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """Return how long tokens take: from the run's rate and how others grew, or from published utilisations."""
    if run.network is None:
        raise GenperfError("how much a token takes needs the network", hint="7B, or llama3-8b")
    if run.network.sample != "tokens":
        hint = "--tokens is of a transformer"
        raise GenperfError(f"{run.network.name} is trained on {run.network.sample}, not on tokens", hint=hint)
    devices, nodes = _target(run, at)
    if run.rate is not None:
        here = _nodes(run, run.devices)
        seconds = tokens / run.rate * run.devices / devices
        days = [seconds * f / 86400.0 for f in _growth(run, (run.devices, here), (devices, nodes), hints)]
        reason, leaves = "one run: what a larger count costs is that of published series", here < 2.0 <= nodes
        if leaves:
            hinted = "what the second costs rests on the hint"
            reason = "the interval holds networks of which nothing is known" if not hints else hinted
            reason = f"no run beyond one node: {reason}"
        count = min(2.0 * run.devices, devices) if devices > run.devices else run.devices
        suggestion = f"measure {count:g} devices" + (" on 2 nodes" if leaves and count < devices else "")
    elif place is None:
        raise GenperfError("nothing measures the speed of the run", hint="add 76800tok/s")
    else:
        name, operations = operations_of(run)
        shares = (place.median, place.high, place.low) if used is None else (used,) * 3
        days = [tokens * operations / (devices * run.dense_peak * share) / 86400.0 for share in shares]
        reason = f"no run: the interval is that of {place.runs} published {place.among} ({name})"
        suggestion = f"measure 1 device, then {min(devices, 8):g}"
    paid = nodes if price is not None and price.per and canonical_of(price.per) == "nodes" else devices
    costs = [None if price is None else end * 86400.0 * paid * price.per_second for end in days]
    return {
        **{"tokens": tokens, "devices": devices, "nodes": nodes},
        **{f"days{end}": value for end, value in zip(ENDS, days, strict=True)},
        **{f"cost{end}": value for end, value in zip(ENDS, costs, strict=True)},
        **{"verdict": "extrapolating-blind", "reason": reason, "next": suggestion},
    }


def _target(run: TrainingRun, at: Mapping[str, str]) -> tuple[float, float]:
    """Return the devices and nodes that are asked about: those of the run where nothing names them."""
    counts: dict[str, float] = {}
    for name, text in at.items():
        machine = machine_in(text)
        device = device_in(machine.get("device", ""))
        meaning = "workers" if name == "count" or device is not None else canonical_of(name)
        value = amount(text) if device is None else machine["devices"]
        if value is None or meaning not in LEVELS or not value >= 1.0:
            raise GenperfError(f"--at {name}={text} is no count of devices or nodes", hint="--at 64, or --at nodes=8")
        if device is not None and run.device is not None and device is not run.device:
            hint = f"{text} without --at and without a rate is answered from published runs"
            raise GenperfError(f"the run is on {run.device.label}, and --at names another device", hint=hint)
        counts[meaning] = value
    each = run.devices / _nodes(run, run.devices)
    devices = counts.get("workers", counts["nodes"] * each if "nodes" in counts else run.devices)
    return devices, counts.get("nodes", _nodes(run, devices))


def _nodes(run: TrainingRun, devices: float) -> float:
    """Return the nodes that devices fill."""
    each = min(run.devices, USUAL_NODE) if run.nodes is None else run.devices / run.nodes
    return max(float(np.ceil(devices / max(each, 1.0))), 1.0) if devices > each else 1.0


def _growth(
    run: TrainingRun, here: tuple[float, float], there: tuple[float, float], hints: Mapping[str, str]
) -> tuple[float, float, float]:
    """Return what a step takes at other counts over what it takes here, with its ends: the bank's curves."""

    def counts(count: tuple[float, float]) -> Counts:
        return Counts(*(np.array([value]) for value in (*count, 1.0)))

    tilt, network, level = None, network_of(hints), np.log([run.step_seconds or 1.0])
    if network is not None and not several_nodes(here[1]):
        if run.step_seconds is None or run.network is None:
            hint = "the samples of a step of all, and their length: gbs=256 seq=2048"
            raise GenperfError("a hinted network needs the time of a step", hint=hint)
        message = network.each * network.message if isinstance(network.message, float) else None
        exchange = (message or GRADIENT_BYTES * run.network.parameters) / network.bandwidth + 2.0 * network.latency
        tilt = tilt_of(exchange, float(level[0]))
    series = Series(counts(here), level, np.array([RUN_VARIANCE]), tilt)
    ends = forecast([posterior_of(series).draws()], [1.0], [counts(there)]).interval(LEVEL)
    centre, lower, upper = (float(end[0] / np.exp(level[0])) for end in ends)
    return centre, lower, upper
