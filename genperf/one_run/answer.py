"""What is answered of one run: its utilisation, its place among published runs, what a training takes; on a card."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from genperf.errors import GenperfError, counted
from genperf.facts import ENDS, Paid
from genperf.formula.amounts import amount
from genperf.growth.hints import tilt_of
from genperf.growth.posterior import Counts, Series, forecast, posterior_of
from genperf.models.network import GRADIENT_BYTES, network_of
from genperf.one_run.published import PublishedPlace, place_of
from genperf.one_run.run import TrainingRun, machine_in
from genperf.one_run.utilisation import LORA, RECOMPUTED, Utilisation, conventions_of, default_of, utilisation_of
from genperf.panel.axis import several_nodes
from genperf.panel.machine import USUAL_DEVICES
from genperf.peaks import device_in
from genperf.vocabulary.names import LEVELS, canonical_of
from genperf.words.numbers import durations_text, three_digits

#: Columns of a card and of its labels, and its lines.
WIDTH, LABEL, MOST_LINES = 80, 10, 14
#: A percentile below which what usually explains less is named.
LOW = 50.0
#: The label of what usually explains less, which a long card can do without.
LESS = "less by"
#: Variance of ln of the time of the one run: repeats of a training lie within about 2 %.
RUN_VARIANCE = 0.02**2
DAY = 86400.0
#: Bytes of a parameter that Adam trains in mixed precision (Rajbhandari et al. 2020), or beside which adapters are
#: trained, and those that a device has for them: 64 of 80 GB.
STATE_BYTES, DEVICE_BYTES = (16.0, 2.0), 64e9


class OneRun(Struct, frozen=True):
    """The answer about one run, or about a test of collectives."""

    #: Labels and texts of the card.
    rows: tuple[tuple[str, str], ...]
    #: What is known, by name: the fields of the JSON.
    numbers: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """The card: at most 14 lines of 80 columns."""
        lines = []
        for label, text in self.rows:
            indent = " " * (LABEL if label else 0)
            wrapped = textwrap.wrap(text, WIDTH, initial_indent=label.ljust(len(indent)), subsequent_indent=indent)
            lines += [(label, line) for line in wrapped]
        return [line for label, line in lines if len(lines) <= MOST_LINES or label != LESS][:MOST_LINES]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.numbers, "sentences": {"card": str(self)}}

    def __str__(self) -> str:
        return "\n".join(self.lines)


def about(
    run: TrainingRun,
    tokens: float | None = None,
    at: Mapping[str, str] | None = None,
    price: Paid | None = None,
    hints: Mapping[str, str] | None = None,
) -> OneRun:
    """Return the answer about a run; of tokens, also how long they take at the counts of `at`, before any run as well.

    Examples
    --------
    >>> from genperf.one_run.run import run_of_words
    >>> print(about(run_of_words(("8xh100", "7B", "76800tok/s", "bf16"))).lines[1])
    MFU       40.8 % (38 – 61 %): 6·P, of 989 TFLOP/s dense
    """
    measured = run.rate or run.printed or run.stated
    used = utilisation_of(run) if measured or tokens is None else Utilisation(peak=run.dense_peak)
    place = place_of(run, used.mfu)
    training = None if tokens is None else _training(run, used, place, tokens, at or {}, price, hints or {})
    less_by = _explanations(run, used.mfu, place)
    numbers = {"normal": None if place is None else asdict(place), "less_by": less_by, "training": training}
    return OneRun(tuple(_rows(run, used, place, less_by, training, price)), {**asdict(used), **numbers})


def _rows(
    run: TrainingRun,
    used: Utilisation,
    place: PublishedPlace | None,
    less_by: list[str],
    training: dict[str, Any] | None,
    price: Paid | None,
) -> Iterator[tuple[str, str]]:
    """Yield the rows of a card."""
    network = run.network
    speed = f"{three_digits(run.rate)} {network.sample}/s" if run.rate and network else ""
    yield "", " · ".join(filter(None, (run.label, network.name if network else "", speed, run.precision)))
    if used.mfu is not None:
        low, high = used.mfu_lower or 0.0, used.mfu_upper or 0.0
        ends = f" ({100 * low:.0f} – {100 * high:.0f} %)" if high > 1.01 * low else ""
        hardware = "" if used.hfu is None else f"; HFU {100 * used.hfu:.0f} %"
        peak = f"of {three_digits(used.peak / 1e12)} TFLOP/s dense"
        yield "MFU", f"{100 * used.mfu:.1f} %{ends}: {used.mfu_convention}, {peak}{hardware}"
    yield from (("⚠", note) for note in used.notes)
    if place is not None:
        judged = "" if used.mfu is None else f"{place.judged} of "
        usual = f"nine in ten {100 * place.low:.0f} – {100 * place.high:.0f} %, median {100 * place.median:.0f} %"
        yield "among", f"{judged}{place.runs} published {place.among} from {counted(place.sources, 'source')}: {usual}"
    if less_by:
        yield LESS, "; ".join(less_by)
    if training is not None:
        centre, lower, upper, unit = durations_text(*(DAY * training[f"days{end}"] for end in ENDS))
        device = "devices" if run.device is None else run.device.label
        text = f"{three_digits(training['tokens'])} tokens at {training['devices']:g} x {device}: {centre} {unit}"
        text += f" ({lower} – {upper})"
        if price is not None:
            centre, lower, upper = (three_digits(training[f"cost{end}"]) for end in ENDS)
            text += f", {centre} ({lower} – {upper}) at {price.text}"
        yield "training", text
        yield "⚠ blind", training["reason"]
        yield "→ next", training["next"]


def _explanations(run: TrainingRun, value: float | None, place: PublishedPlace | None) -> list[str]:
    """Return what usually explains a low utilisation of such a run, the likeliest first."""
    if value is None or place is None or place.percentile is None or place.percentile >= LOW:
        return []
    network, of_all = run.network, value * run.devices
    of_each = run.rate and not run.rate_of_each and value < place.low < of_all < place.high
    usual = (
        (of_each, f"a rate of each device and not of all (then {100 * of_all:.0f} %)"),
        (run.devices > 8.0 or several_nodes(run.nodes or 1.0), "an exchange between nodes that nothing hides"),
        (network is not None and network.is_mixture, "the exchange of experts"),
        (network is not None and network.active < 1e9, "products too small for the device"),
        (run.recomputed is not False and RECOMPUTED * value > place.low, "activations computed again (a quarter)"),
        (True, "a small batch of each device, a pipeline's bubble"),
        (True, "input, or a device below its clock"),
    )
    return [text for holds, text in usual if holds][:3]


def _training(
    run: TrainingRun,
    used: Utilisation,
    place: PublishedPlace | None,
    tokens: float,
    at: Mapping[str, str],
    price: Paid | None,
    hints: Mapping[str, str],
) -> dict[str, Any]:
    """Return how long tokens take: from the run's rate and how others grew, or from published utilisations."""
    if run.network is None:
        raise GenperfError("how much a token takes needs the network", hint="7B, or llama3-8b")
    if run.network.sample != "tokens":
        hint = "--tokens is of a transformer"
        raise GenperfError(f"{run.network.name} is trained on {run.network.sample}, not on tokens", hint=hint)
    here, (devices, nodes) = _counts(run, at)
    if run.rate:
        seconds = tokens / run.rate * run.devices / devices
        days = [seconds * factor / DAY for factor in _growth(run, here, (devices, nodes), hints)]
        count = min(2.0 * run.devices, devices)
        reason, suggestion = (
            "one run: what another count costs is that of published series",
            f"measure {count:g} devices",
        )
        if here[1] < 2.0 <= nodes:
            unknown = "the interval holds networks of which nothing is known"
            reason = f"no run beyond one node: {'what the second costs rests on the hint' if hints else unknown}"
            suggestion += " on 2 nodes" if count < devices else ""
        elif devices == run.devices:
            reason, suggestion = "one run: how much its repeats differ is that of published ones", "measure it again"
    elif place is None:
        raise GenperfError("nothing measures the speed of the run", hint="add 76800tok/s")
    else:
        conventions = conventions_of(run)
        name = default_of(conventions)
        shares, factors = (place.median, place.high, place.low), (1.0, 1.0, 1.0)
        reason = f"no run: the interval is that of {place.runs} published {place.among} ({name})"
        smallest = STATE_BYTES[LORA in conventions] * run.network.parameters / DEVICE_BYTES
        count, node = min(2.0 ** np.ceil(np.log2(max(smallest, 1.0))), devices), min(devices, 8.0)
        suggestion = f"measure {counted(int(count), 'device')}" + (f", then {node:g}" if count < node else "")
        if used.mfu and used.mfu_upper and used.mfu_lower:
            shares = used.mfu, used.mfu_upper, used.mfu_lower
            factors = 1.0, conventions[name].low, conventions[name].high
            reason = f"no rate: the interval is what is not known of the operations ({name})"
            suggestion = f"measure the tokens a second of {devices:g} devices"
        training_days = tokens * conventions[name].operations / (devices * run.dense_peak * DAY)
        days = [training_days * factor / share for factor, share in zip(factors, shares, strict=True)]
    paid = nodes if price is not None and price.per and canonical_of(price.per) == "nodes" else devices
    costs = [None if price is None else end * DAY * paid * price.per_second for end in days]
    return {
        **{"tokens": tokens, "devices": devices, "nodes": nodes},
        **{f"days{end}": value for end, value in zip(ENDS, days, strict=True)},
        **{f"cost{end}": value for end, value in zip(ENDS, costs, strict=True)},
        **{"verdict": "extrapolating-blind", "reason": reason, "next": suggestion},
    }


def _counts(run: TrainingRun, at: Mapping[str, str]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the devices and nodes of the run, and those that are asked about: its own where nothing names them."""
    held = max(run.devices / run.nodes if run.nodes else min(run.devices, USUAL_DEVICES), 1.0)
    here = run.devices, max(float(np.ceil(run.devices / held)), 1.0)
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
    devices = counts.get("workers", counts["nodes"] * here[0] / here[1] if "nodes" in counts else run.devices)
    return here, (devices, counts.get("nodes", max(float(np.ceil(devices / held)), 1.0)))


def _growth(
    run: TrainingRun, here: tuple[float, float], there: tuple[float, float], hints: Mapping[str, str]
) -> list[float]:
    """Return what a step takes at other counts over what it takes here, with its ends: the bank's curves."""
    at_here, at_there = (Counts(*(np.array([value]) for value in (*count, 1.0))) for count in (here, there))
    tilt, network, level = None, network_of(hints), np.log([run.step_seconds or 1.0])
    if network is not None and not several_nodes(here[1]):
        if not run.step_seconds or run.network is None:
            hint = "the samples of a step of all, and their length: gbs=256 seq=2048"
            raise GenperfError("a hinted network needs the time of a step", hint=hint)
        message = network.each * network.message if isinstance(network.message, float) else None
        exchange = (message or GRADIENT_BYTES * run.network.parameters) / network.bandwidth + 2.0 * network.latency
        tilt = tilt_of(exchange, float(level[0]))
    posterior = posterior_of(Series(at_here, level, np.array([RUN_VARIANCE]), tilt))
    ends = forecast([posterior.draws()], [1.0], [at_there]).interval()
    return [float(end[0] / np.exp(level[0])) for end in ends]
