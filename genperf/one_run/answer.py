"""The answer about one run, or about a test of collectives: what it uses of the peak or the link, what is normal.

The bandwidth of a collective's bus is that of the algorithm by the factor of nccl-tests: over n devices 2(n − 1)/n of
an all-reduce, (n − 1)/n of an all-gather, a reduce-scatter and an all-to-all, else 1.
"""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace

from genperf.arrays import Array
from genperf.errors import GenperfError, counted
from genperf.facts import ENDS, Paid, Plan, PublishedPlace, Training
from genperf.fitting import fit
from genperf.formula.amounts import amount, bandwidth
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS
from genperf.normal.runs import place_of_test
from genperf.one_run.run import TrainingRun, run_of_row
from genperf.one_run.utilisation import Utilisation, conventions_of, percent, utilisation_of
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.panel.read import read_table
from genperf.panel.words import level_counted, machine_in, number_of
from genperf.peaks import UNKNOWN, device_in, link_rate
from genperf.vocabulary.names import LEVELS, canonical_of, meant_by
from genperf.words.numbers import durations_text, three_digits
from genperf.words.published import place_text

#: Columns of a card and of its labels, and its lines.
WIDTH, LABEL, MOST_LINES = 80, 10, 14
DAY = 86400.0
#: A share of the link, or of published tests where it is not known, below which what usually explains less is named:
#: rings reach 80 to 95 % of a link.
LOW_BUS = 0.6
_INSIDE = "no peer access (ACS, IOMMU), a link that is down"
_NVLINK = "no peer access (ACS, IOMMU), PCIe in the place of NVLink, a link that is down"
_BETWEEN = "sockets in the place of RDMA (NCCL_DEBUG=INFO prints NET/Socket), one of several adapters, no GPUDirect"
_ABOVE = "more than the link carries: another link than the hinted one, several of them, or a sum in the switch (SHARP)"


class OneRun(Struct, frozen=True):
    """The answer about one run, or about a test of collectives."""

    rows: tuple[tuple[str, str], ...]  #: Labels and texts of the card.
    numbers: dict[str, Any]  #: What is known, by name: the fields of the JSON.

    @property
    def lines(self) -> list[str]:
        """The card: at most 14 lines of 80 columns."""
        lines = list[tuple[str, str]]()
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
    row: Mapping[str, Any],
    training: Training | None = None,
    at: Mapping[str, str] | None = None,
    price: Paid | None = None,
    hints: Mapping[str, str] | None = None,
    plan: Plan | None = None,
) -> OneRun:
    """Return the answer about the run of a row; of tokens, also how long they take at the counts of `at`.

    A `plan`, a deadline or a budget, is refused: one run shows too little of other counts.

    Examples
    --------
    >>> from genperf.panel.words import row_of_words
    >>> print(about(row_of_words(("8xh100", "7B", "76800tok/s", "bf16"))).lines[1])
    MFU       40.8 % (37.9 – 61.1 %): 6·P, of 989 TFLOP/s dense
    >>> about(row_of_words(("2x8xh100", "all_reduce", "3.8GB/s")), hints={BANDWIDTH: "25Gbit/s"}).lines[1]
    'bus       3.8 GB/s: 122 % of 25Gbit/s (3.12 GB/s each way)'
    """
    if "collective" in row:
        return _about_test(row, (hints or {}).get(BANDWIDTH, ""))
    training = training or Training()
    if plan is not None:
        hint = "--tokens 1T --at 64 says how long it takes there; or a run of another count, each in quotes"
        raise GenperfError("a deadline, a budget or samples need runs of several counts", hint=hint)
    run = run_of_row(row, training.peak or 0.0)
    network, used = run.network, utilisation_of(run, is_planned=training.tokens is not None)
    speed = f"{three_digits(run.rate)} {network.sample}/s" if run.rate else ""
    title = " · ".join(filter(None, (run.label, network.name, speed, run.precision)))
    rows = [("", title), ("MFU", used.text), *(("⚠", note) for note in used.notes)]
    rows += _placed(used.normal, used.less_by, used.more_by)
    if training.tokens is None:
        rows += (
            [("⚠", "--at is of a training: add --tokens 1T, or a run of another count, each in quotes")] if at else []
        )
        return OneRun(tuple(rows), {**to_builtins(used), "training": None})
    planned = _plan(run, used, training.tokens, at or {}, price, hints or {})
    return OneRun((*rows, *planned.rows), {**to_builtins(used), "training": planned.numbers})


def _placed(place: PublishedPlace | None, less: Iterable[str], more: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return the rows of a card about published values, and about what usually explains less, or more."""
    return [("among", place_text(place) if place else ""), ("less by", "; ".join(less)), ("more by", "; ".join(more))]


# --- how long a training takes ----------------------------------------------------------------------------------------


def _plan(
    run: TrainingRun,
    used: Utilisation,
    tokens: float,
    at: Mapping[str, str],
    price: Paid | None,
    hints: Mapping[str, str],
) -> OneRun:
    """Return how long some tokens take, and what they cost, at the counts that are asked about."""
    if not run.network.parameters or run.network.sample != "tokens":
        what = "how much a token takes needs the network"
        what = f"{run.network.name} is trained on {run.network.sample}, not on tokens" if run.network.name else what
        raise GenperfError(what, hint="--tokens is of a transformer: 7B, or llama3-8b")
    devices, nodes = _counts(run, at)
    of_token, reason, suggestion = _of_token(run, used, devices, nodes, hints)
    seconds = tokens * of_token
    numbers: dict[str, Any] = {"tokens": tokens, "devices": devices, "nodes": nodes}
    numbers |= {f"days{end}": value / DAY for end, value in zip(ENDS, seconds.tolist(), strict=True)}
    centre, lower, upper, unit = durations_text(*seconds)
    text = f"{three_digits(tokens)} tokens at {devices:g} x {run.device.label or 'devices'}: "
    text += f"{centre} {unit} ({lower} – {upper})"
    costs: list[Any] = [None] * len(ENDS)
    if price is not None:
        paid = nodes if canonical_of(price.per or "") == "nodes" else devices
        costs = (seconds * paid * price.per_second).tolist()
        text += ", {} ({} – {}) at {}".format(*map(three_digits, costs), price.text)
    numbers |= {f"cost{end}": value for end, value in zip(ENDS, costs, strict=True)}
    rows = ("training", text), ("⚠ blind", reason), ("→ next", suggestion)
    return OneRun(rows, {**numbers, "verdict": "extrapolating-blind", "reason": reason, "next": suggestion})


def _counts(run: TrainingRun, at: Mapping[str, str]) -> tuple[float, float]:
    """Return the devices and nodes that are asked about: those of the run where nothing names them."""
    counts = dict[str | None, float]()
    for name, text in at.items():
        machine, _ = machine_in(text)
        device = device_in(machine.get("device", ""))
        if device is not None and run.device.name not in ("", device.name):
            hint = f"{text} without --at and without a rate is answered from published runs"
            raise GenperfError(f"the run is on {run.device.label}, and --at names another device", hint=hint)
        number, level = level_counted(text) or (text, "workers" if name == "count" else name)
        value, meaning = machine.get("devices", amount(number)), "workers" if machine else meant_by(level)
        if value is None or meaning not in LEVELS or not value >= 1.0:
            raise GenperfError(f"--at {name}={text} is no count of devices or nodes", hint="--at 64, or --at nodes=8")
        counts[meaning] = value
    of_node = max(run.devices / run.nodes if run.nodes else min(run.devices, USUAL_DEVICES), 1.0)
    devices = counts.get("workers", counts.get("nodes", run.used_nodes) * run.devices / run.used_nodes)
    return devices, counts.get("nodes", max(float(np.ceil(devices / of_node)), 1.0))


def _of_token(
    run: TrainingRun, used: Utilisation, devices: float, nodes: float, hints: Mapping[str, str]
) -> tuple[Array, str, str]:
    """Return the seconds of a token with their ends: by the run's rate, its utilisation, or those of published runs."""
    name, (operations, low, high) = next(iter(conventions_of(run).items()))
    if run.rate:
        return _by_growth(run, devices, nodes, hints)
    suggestion = f"measure the tokens a second of {devices:g} devices"
    at_peak = operations / (devices * run.dense_peak)
    if used.mfu is None and (place := used.normal) is not None:
        reason = f"no run: the interval is that of {place.runs} published {place.among} ({name})"
        return at_peak / np.array([place.median, place.high, place.low]), reason, suggestion
    ends = np.array([1.0, low, high]) / np.array([used.mfu, used.mfu_upper, used.mfu_lower], dtype=float)
    if devices == run.devices:
        return at_peak * ends, f"no rate: the interval is what is not known of the operations ({name})", suggestion
    supposed = replace(run, rate=run.devices * run.dense_peak / operations)
    seconds, reason, suggestion = _by_growth(supposed, devices, nodes, hints)
    return seconds * ends, reason, suggestion


def _by_growth(run: TrainingRun, devices: float, nodes: float, hints: Mapping[str, str]) -> tuple[Array, str, str]:
    """Return the same by a fit to the one run, whose rate is known: why the interval is no narrower, the next run."""
    if hints and not run.step_seconds:
        hint = "the samples of a step of all, and their length: gbs=256 seq=2048"
        raise GenperfError("a hinted network needs the time of a step", hint=hint)
    row = pd.DataFrame({"devices": [run.devices], "nodes": [run.used_nodes], "step_s": [run.step_seconds or 1.0]})
    table = read_table(row, time="step_s", extrinsic="devices,nodes", scaling="weak")
    message = {} if MESSAGE in hints else {PARAMETERS: f"{run.network.parameters:g}"}
    fitted = fit(table, hints={**message, **hints} if hints else {})
    predicted = fitted.predict_columns({"devices": [devices], "nodes": [nodes]})
    steps = np.array([predicted[name][0] for name in (table.target.name, "lower", "upper")])
    seconds = steps / table.measured[0] * run.devices / devices / run.rate
    count = min(2.0 * run.devices, devices)
    if run.used_nodes < 2.0 <= nodes:
        unknown = "what the second costs rests on the hint"
        unknown = unknown if hints else "the interval holds networks of which nothing is known"
        suggestion = f"measure {count:g} devices{' on 2 nodes' if count < devices else ''}"
        return seconds, f"no run beyond one node: {unknown}", suggestion
    if devices == run.devices:
        return seconds, "one run: how much its repeats differ is that of published ones", "measure it again"
    return seconds, "one run: what another count costs is that of published series", f"measure {count:g} devices"


# --- a test of a collective -------------------------------------------------------------------------------------------


def _about_test(test: Mapping[str, Any], hinted: str) -> OneRun:
    """Return the answer about a test of a collective, whose devices may not be known."""
    device, speed = device_in(test["device"]) or UNKNOWN, bandwidth(test.get("busbw", ""))
    count, nodes, size = (number_of(test.get(name)) for name in ("devices", "nodes", "size"))
    if speed is None:
        raise GenperfError("a test of collectives needs its bus bandwidth", hint="8xh100 all_reduce 470GB/s")
    nodes, several = nodes or 1.0, bool(several_nodes(nodes or 1.0))
    place = place_of_test(speed, test["collective"], device.family, several)
    link = hinted or ("" if several else device.link)
    rate = link_rate(link) if link else 0.0
    of_size = "" if size is None else f" at {three_digits(size / 1e9)} GB"
    machine = f"{count:g} {device.label}".strip() if count else ""
    compared = "the link is not known: --hint bandwidth=400Gbit/s of a node"
    if rate:
        compared = f"{percent(speed / rate)} % of {link} ({three_digits(rate / 1e9)} GB/s each way)"
    rows = [("", " · ".join(filter(None, (test["collective"] + of_size, machine, counted(int(nodes), "node")))))]
    rows += [("bus", f"{three_digits(speed / 1e9)} GB/s: {compared}")]
    rows += [("⚠", _ABOVE)] if hinted and speed > rate else []
    is_low = speed < LOW_BUS * (rate or (0.0 if place is None else place.median))
    less = _BETWEEN if several else _NVLINK if link.startswith("nvlink") else _INSIDE
    rows += _placed(place, [less] if is_low else [])
    numbers = {"collective": test["collective"], "devices": count or 0.0, "nodes": nodes, "busbw": speed}
    numbers |= {"link": link, "link_rate": rate or None, "share": speed / rate if rate else None}
    return OneRun(tuple(rows), {**numbers, "normal": place and asdict(place)})
