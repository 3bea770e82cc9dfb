"""The answer about one run, or about a test of collectives: what it uses of the peak or the link, what is normal.

The bandwidth of a collective's bus is that of the algorithm by the factor of nccl-tests: over n devices 2(n − 1)/n of
an all-reduce, (n − 1)/n of an all-gather, a reduce-scatter and an all-to-all, else 1.
"""

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from genperf import datasets, peaks
from genperf.errors import GenperfError, attempted, counted
from genperf.facts import ENDS, Paid
from genperf.formula.amounts import amount, bandwidth
from genperf.growth.hints import tilt_of
from genperf.growth.posterior import Counts, Series, forecast, posterior_of
from genperf.models.network import BANDWIDTH, GRADIENT_BYTES, network_of
from genperf.one_run.run import TrainedNetwork, TrainingRun, machine_in, spoken
from genperf.one_run.utilisation import PublishedPlace, causes_of, conventions_of, default_of, place_of, utilisation_of
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.peaks import UNKNOWN, Device, device_in, link_rate
from genperf.table.opened import read_text
from genperf.vocabulary import section
from genperf.vocabulary.names import LEVELS, canonical_of
from genperf.words.numbers import durations_text, three_digits

#: Columns of a card and of its labels, and its lines.
WIDTH, LABEL, MOST_LINES = 80, 10, 14
#: Variance of ln of the time of the one run: repeats of a training lie within about 2 %.
RUN_VARIANCE = 0.02**2
DAY = 86400.0
#: Bytes of a parameter that Adam trains in mixed precision (Rajbhandari et al. 2020), or beside which adapters are
#: trained, and those that a device has for them: 64 of 80 GB.
STATE_BYTES, DEVICE_BYTES = (16.0, 2.0), 64e9
#: Sizes down to this share of the largest one are on the plateau.
PLATEAU = 0.25
#: A share of the link, or of published tests where it is not known, below which what usually explains less is named:
#: rings reach 80 to 95 % of a link.
LOW_BUS = 0.6
_INSIDE = "no peer access (ACS, IOMMU), PCIe in the place of NVLink, a link that is down"
_BETWEEN = "sockets in the place of RDMA (NCCL_DEBUG=INFO prints NET/Socket), one of several adapters, no GPUDirect"
_ABOVE = "more than the link carries: another link than the hinted one, several of them, or a sum in the switch (SHARP)"
#: Devices and nodes; and days with their ends, why these are not known better, and the run to make next.
Machine: TypeAlias = tuple[float, float]
Plan: TypeAlias = tuple[list[float], str, str]


class OneRun(Struct, frozen=True):
    """The answer about one run, or about a test of collectives."""

    rows: tuple[tuple[str, str], ...]  #: Labels and texts of the card.
    numbers: dict[str, Any]  #: What is known, by name: the fields of the JSON.

    @property
    def lines(self) -> list[str]:
        """The card: at most 14 lines of 80 columns."""
        lines = []
        for label, text in self.rows:
            head = label.ljust(LABEL) if label else ""
            wrapped = textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
            lines += [(label, line) for line in wrapped]
        # A long card can do without what usually explains it.
        return [line for label, line in lines if len(lines) <= MOST_LINES or not label.endswith(" by")][:MOST_LINES]

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
    network, used = run.network, utilisation_of(run, is_planned=tokens is not None)
    place = place_of(run, used.mfu)
    speed = f"{three_digits(run.rate)} {network.sample}/s" if run.rate and network else ""
    rows = [("", " · ".join(filter(None, (run.label, network.name if network else "", speed, run.precision))))]
    rows += [] if used.mfu is None else [("MFU", used.text)]
    rows += [("⚠", note) for note in used.notes]
    causes, training = causes_of(run, used.mfu, place), dict[str, Any]()
    rows += _placed(place, causes)
    if tokens is not None:
        here, (devices, nodes) = _counts(run, at or {})
        shares = (used.mfu, used.mfu_upper, used.mfu_lower)
        if run.rate and network:
            days, reason, suggestion = _by_growth(run, network, tokens, here, (devices, nodes), hints or {})
        else:
            days, reason, suggestion = _by_published(run, shares, place, tokens, devices)
        paid = nodes if price is not None and price.per and canonical_of(price.per) == "nodes" else devices
        costs = [None if price is None else end * DAY * paid * price.per_second for end in days]
        ends = dict(zip((f"{name}{end}" for name in ("days", "cost") for end in ENDS), (*days, *costs), strict=True))
        training |= {"tokens": tokens, "devices": devices, "nodes": nodes, **ends}
        training |= {"verdict": "extrapolating-blind", "reason": reason, "next": suggestion}
        centre, lower, upper, unit = durations_text(*(DAY * end for end in days))
        machine = f"{devices:g} x {run.device.label or 'devices'}"
        text = f"{three_digits(tokens)} tokens at {machine}: {centre} {unit} ({lower} – {upper})"
        if price is not None:
            centre, lower, upper = (three_digits(end or 0.0) for end in costs)
            text += f", {centre} ({lower} – {upper}) at {price.text}"
        rows += [("training", text), ("⚠ blind", reason), ("→ next", suggestion)]
    normal = place and asdict(place)
    return OneRun(tuple(rows), {**asdict(used), "normal": normal, **causes, "training": training or None})


def _placed(place: PublishedPlace | None, causes: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """Return the rows of a card about published values, and about what usually explains less, or more."""
    rows = {"among": place.text if place else "", **{name: "; ".join(texts) for name, texts in causes.items()}}
    return [(name.replace("_", " "), text) for name, text in rows.items() if text]


def _counts(run: TrainingRun, at: Mapping[str, str]) -> tuple[Machine, Machine]:
    """Return the devices and nodes of the run, and those that are asked about: its own where nothing names them."""
    if run.network is None:
        raise GenperfError("how much a token takes needs the network", hint="7B, or llama3-8b")
    if (sample := run.network.sample) != "tokens":
        what = f"{run.network.name} is trained on {sample}, not on tokens"
        raise GenperfError(what, hint="--tokens is of a transformer")
    nodes, counts = run.used_nodes, dict[str | None, float]()
    for name, text in at.items():
        device = device_in((machine := machine_in(text)).get("device", ""))
        meaning = "workers" if name == "count" or device is not None else canonical_of(name)
        value = amount(text) if device is None else machine["devices"]
        if value is None or meaning not in LEVELS or not value >= 1.0:
            raise GenperfError(f"--at {name}={text} is no count of devices or nodes", hint="--at 64, or --at nodes=8")
        if device is not None and run.device.name not in ("", device.name):
            hint = f"{text} without --at and without a rate is answered from published runs"
            raise GenperfError(f"the run is on {run.device.label}, and --at names another device", hint=hint)
        counts[meaning] = value
    held = max(run.devices / nodes if run.nodes else min(run.devices, USUAL_DEVICES), 1.0)
    devices = counts.get("workers", counts["nodes"] * run.devices / nodes if "nodes" in counts else run.devices)
    return (run.devices, nodes), (devices, counts.get("nodes", max(float(np.ceil(devices / held)), 1.0)))


def _by_growth(
    run: TrainingRun, network: TrainedNetwork, tokens: float, here: Machine, there: Machine, hints: Mapping[str, str]
) -> Plan:
    """Return how long tokens take at other counts by the rate of a run and the curves of the bank."""
    tilt, link, level = None, network_of(hints), np.log([run.step_seconds or 1.0])
    if link is not None and not several_nodes(here[1]):
        if not run.step_seconds:
            hint = "the samples of a step of all, and their length: gbs=256 seq=2048"
            raise GenperfError("a hinted network needs the time of a step", hint=hint)
        message = link.each * link.message if isinstance(link.message, float) else GRADIENT_BYTES * network.parameters
        tilt = tilt_of(message / link.bandwidth + 2.0 * link.latency, float(level[0]))
    at_here, at_there = (Counts(*(np.array([value]) for value in (*count, 1.0))) for count in (here, there))
    posterior = posterior_of(Series(at_here, level, np.array([RUN_VARIANCE]), tilt))
    ends = forecast([posterior.draws()], [1.0], [at_there]).interval()
    seconds = tokens / run.rate * run.devices / there[0]
    days = [seconds * float(end[0] / np.exp(level[0])) / DAY for end in ends]
    count, leaves_node = min(2.0 * run.devices, there[0]), here[1] < 2.0 <= there[1]
    measure = f"measure {count:g} devices{' on 2 nodes' if leaves_node and count < there[0] else ''}"
    if leaves_node:
        of = (
            "what the second costs rests on the hint"
            if hints
            else "the interval holds networks of which nothing is known"
        )
        return days, f"no run beyond one node: {of}", measure
    if there[0] == run.devices:
        return days, "one run: how much its repeats differ is that of published ones", "measure it again"
    return days, "one run: what another count costs is that of published series", measure


def _by_published(
    run: TrainingRun, shares: tuple[float | None, ...], place: PublishedPlace | None, tokens: float, devices: float
) -> Plan:
    """Return how long tokens take by the utilisation that a run states, or by those of published runs."""
    if place is None or run.network is None:
        raise GenperfError("nothing measures the speed of the run", hint="add 76800tok/s")
    name = default_of(conventions := conventions_of(run))
    operations, low, high = conventions[name]
    longest, unknown = tokens * operations / (devices * run.dense_peak * DAY), (1.0, low, high)
    reason = f"no rate: the interval is what is not known of the operations ({name})"
    suggestion = f"measure the tokens a second of {devices:g} devices"
    if not all(shares):
        shares, unknown = (place.median, place.high, place.low), (1.0, 1.0, 1.0)
        smallest = STATE_BYTES[run.adapters] * run.network.parameters / DEVICE_BYTES
        count, node = min(2.0 ** np.ceil(np.log2(max(smallest, 1.0))), devices), min(devices, 8.0)
        suggestion = f"measure {counted(int(count), 'device')}" + (f", then {node:g}" if count < node else "")
        reason = f"no run: the interval is that of {place.runs} published {place.among} ({name})"
    return (
        [longest * factor / (share or 1.0) for factor, share in zip(unknown, shares, strict=True)],
        reason,
        suggestion,
    )


class Collective(Struct, frozen=True):
    """A test of a collective: where it ran, the bytes a second of its bus, and the bytes of its largest message."""

    collective: str
    devices: float
    nodes: float
    busbw: float
    device: Device = UNKNOWN
    size: float | None = None


def bus_named(words: tuple[str, ...], hints: Mapping[str, str]) -> OneRun | None:
    """Return the answer about the test that words describe or whose file they name; None where they do neither.

    Examples
    --------
    >>> bus_named(("2x8xh100", "all_reduce", "3.8GB/s"), {"bandwidth between nodes": "25Gbit/s"}).lines[1]
    'bus       3.8 GB/s: 122 % of 25Gbit/s (3.12 GB/s each way)'
    """
    test = (_test_in(words[0]) if len(words) == 1 else None) or _test_of(words)
    if test is None:
        return None
    several, hinted, place = bool(several_nodes(test.nodes)), hints.get(BANDWIDTH, ""), _place(test)
    link = hinted or ("" if several else test.device.link)
    rate = link_rate(link) if link else 0.0
    size = "" if test.size is None else f" at {three_digits(test.size / 1e9)} GB"
    machine = f"{test.devices:g} {test.device.label}".strip()
    compared = "the link is not known: --hint bandwidth=400Gbit/s of a node"
    if rate:
        compared = f"{100 * test.busbw / rate:.0f} % of {link} ({three_digits(rate / 1e9)} GB/s each way)"
    rows = [("", f"{test.collective}{size} · {machine} · {counted(int(test.nodes), 'node')}")]
    rows.append(("bus", f"{three_digits(test.busbw / 1e9)} GB/s: {compared}"))
    rows += [("⚠", _ABOVE)] if hinted and test.busbw > rate else []
    is_low = test.busbw < LOW_BUS * (rate or (0.0 if place is None else place.median))
    rows += _placed(place, {"less_by": [_BETWEEN if several else _INSIDE] if is_low else []})
    numbers = {name: value for name, value in asdict(test).items() if name not in ("device", "size")}
    numbers |= {"link": link, "link_rate": rate or None, "share": test.busbw / rate if rate else None}
    return OneRun(tuple(rows), {**numbers, "normal": place and asdict(place)})


def measured_links(hints: Mapping[str, str]) -> dict[str, str]:
    """Return hints, where a file of nccl-tests stands for the bandwidth that it measured."""
    tests = {name: _test_in(text) for name, text in hints.items()}
    return {name: hints[name] if test is None else f"{test.busbw / 1e9:.6g}GB/s" for name, test in tests.items()}


def _collective_in(text: str) -> str | None:
    """Return the collective that a text names."""
    return next((name for name, (words,) in section("collectives").items() if re.search(words, text.lower())), None)


def _test_of(words: tuple[str, ...]) -> Collective | None:
    """Return the test that words describe."""
    name = _collective_in(" ".join(words[1:]))
    machine, settings, items = spoken(words) if name else ({}, {}, [])
    device = device_in(machine.get("device", ""))
    if device is None or name is None:
        return None
    speed = next(filter(None, map(bandwidth, items)), None)
    if speed is None or machine["devices"] < 2.0:
        what = f"a collective of one {device.label} uses no link"
        what = what if machine["devices"] < 2.0 else "a test of collectives needs its bus bandwidth"
        raise GenperfError(what, hint="8xh100 all_reduce 470GB/s")
    nodes = amount(settings.get("nodes", "")) or machine.get("nodes", 1.0)
    return Collective(name, machine["devices"], nodes, speed, device, amount(settings.get("size", "")))


def _test_in(path: str) -> Collective | None:
    """Return the test in a file, as nccl-tests and rccl-tests print it; None of another file."""
    opened = attempted(read_text, path) if Path(path).is_file() else ("", "")
    name, text = ("", "") if isinstance(opened, GenperfError) else opened
    if re.search(r"\bbusbw\b|\bnThread\b", text) is None:
        return None  # without an import of the formats of other tools
    from genperf.importers.nccl_tests import RANK, ROW, SIGNATURE

    cells = [(row[1], *row[5].split()[1:3]) for row in map(ROW.fullmatch, text.splitlines()) if row is not None]
    if not cells or not re.search(SIGNATURE, text):
        return None
    sizes, algorithm, bus = np.array([row for row in cells if len(row) == 3], dtype=float).T
    plateau, ranks = sizes >= PLATEAU * sizes.max(), RANK.findall(text)
    ratio, speed = float(np.median((bus / np.maximum(algorithm, 1e-9))[plateau])), 1e9 * float(np.median(bus[plateau]))
    by_factor = "all_reduce" if ratio > 1.0 else "all_gather" if ratio < 1.0 else "broadcast"
    called = _collective_in(f"{name} {text[:2000]}") or by_factor
    count, nodes = max(len(ranks), 1.0), max(len({host for host, _ in ranks}), 1.0)
    device = (device_in(ranks[0][1]) if ranks else None) or UNKNOWN
    return Collective(called, count, nodes, speed, device, float(sizes.max()))


def _place(test: Collective) -> PublishedPlace | None:
    """Return where a test lies among published ones of the same device, in one node or over several as well."""
    table, several, family = datasets.collectives(), bool(several_nodes(test.nodes)), test.device.family
    families = table["device"].map(lambda device: getattr(device_in(str(device)), "family", None))
    is_several = several_nodes(table["nodes"].to_numpy()) == several
    rows = table[(table["collective"] == test.collective) & is_several & (families == family)]
    if rows.empty:
        return None
    values, speed = rows["busbw_GBps"].to_numpy() * 1e9, test.busbw
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95]).tolist()
    among = f"{'over several nodes' if several else 'in one node'} of {peaks.devices()[family].label}"
    below = 100.0 * float(np.mean(values < speed) + 0.5 * np.mean(values == speed))
    return PublishedPlace("busbw", speed, below, median, low, high, len(rows), rows["repository"].nunique(), among)
