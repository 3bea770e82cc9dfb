"""The answer about one run, or about a test of collectives: what it uses of the peak or the link, what is normal.

How long a training takes is answered from a table whose only row is the run, as a question of any table is.

The bandwidth of a collective's bus is that of the algorithm by the factor of nccl-tests: over n devices 2(n − 1)/n of
an all-reduce, (n − 1)/n of an all-gather, a reduce-scatter and an all-to-all, else 1.
"""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from msgspec import to_builtins
from msgspec.structs import asdict, replace

from genperf.asking.ask import Question, expectation
from genperf.attribution.answers import PrintedAnswer
from genperf.attribution.derived import reported_of
from genperf.errors import GenperfError, counted
from genperf.facts import ENDS, Interval, PublishedPlace
from genperf.fitting import fit
from genperf.formula.amounts import bandwidth
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS
from genperf.normal.runs import place_of_test
from genperf.one_run.run import TrainingRun, run_of_row
from genperf.one_run.utilisation import Utilisation, conventions_of, share_text, utilisation_of
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.panel.quantities import paid_for
from genperf.panel.question import SCALE, in_columns
from genperf.panel.read import legend_of, read_table
from genperf.panel.words import number_of
from genperf.peaks import device_in, device_of, link_rate
from genperf.table.opened import understood
from genperf.words.growth import price_text
from genperf.words.numbers import texts_in_unit, three_digits
from genperf.words.published import place_text
from genperf.words.verdict import BLIND

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


class OneRun(PrintedAnswer, frozen=True, eq=False):
    """The answer about one run, or about a test of collectives."""

    rows: tuple[tuple[str, str], ...]  #: Labels and texts of the card.
    numbers: dict[str, Any]  #: What is known, by name: the fields of the JSON.

    @property
    def content(self) -> list[str]:
        """The card: at most 14 lines of 80 columns."""
        heads = [(label.ljust(LABEL) if label else "", text) for label, text in self.rows if text]
        wrapped = [(h, textwrap.wrap(h + text, WIDTH, subsequent_indent=" " * len(h))) for h, text in heads]
        lines = [(head, line) for head, lines in wrapped for line in lines]
        # A long card can do without what usually explains it.
        return [line for head, line in lines if len(lines) <= MOST_LINES or " by " not in head][:MOST_LINES]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.numbers, "sentences": {"card": str(self)}}


def about(row: Mapping[str, Any], at: Mapping[str, str] | None = None, question: Question | None = None) -> OneRun:
    """Return the answer about the run of a row; of tokens, also how long they take at the counts of `at`.

    A plan, a deadline or a budget, is refused: one run shows too little of other counts.

    Examples
    --------
    >>> from genperf.panel.words import row_of_words
    >>> print(about(row_of_words(("8xh100", "7B", "76800tok/s", "bf16"))).content[1])
    MFU       40.8 % (37.9 – 61.1 %): 6·P, of 989 TFLOP/s dense
    >>> hinted = Question(hints={BANDWIDTH: "25Gbit/s"})
    >>> about(row_of_words(("2x8xh100", "all_reduce", "38GB/s")), question=hinted).content[1]
    'bus       38 GB/s: 12.2 times 25Gbit/s (3.12 GB/s each way)'
    """
    question = question or Question()
    if "collective" in row:
        return _about_test(row, question.hints.get(BANDWIDTH, ""))
    if question.plan is not None:
        hint = "--tokens 1T --at 64 says how long it takes there; or a run of another count, each in quotes"
        raise GenperfError("a deadline, a budget or samples need runs of several counts", hint=hint)
    training = question.training
    run = run_of_row(row, training.peak or 0.0)
    used = utilisation_of(run, is_planned=training.tokens is not None)
    speed = f"{three_digits(run.rate)} {run.network.sample}/s" if run.rate else ""
    title = " · ".join(filter(None, (run.label, run.network.name, speed, run.precision)))
    rows = [("", title), ("MFU", used.text), *(("⚠", note) for note in used.notes)]
    rows += _placed(used.normal, used.less_by, used.more_by)
    planned: dict[str, Any] | None = None
    if training.tokens is not None:
        text, planned = _trained(run, used, at or {}, question)
        rows += [("training", text), ("⚠ blind", planned["reason"]), ("→ next", planned["next"])]
    elif at:
        rows += [("⚠", "--at is of a training: add --tokens 1T, or a run of another count, each in quotes")]
    return OneRun(tuple(rows), {**to_builtins(used), "training": planned})


def _placed(place: PublishedPlace | None, less: Iterable[str], more: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return the rows of a card about published values, and about what usually explains less, or more."""
    return [("among", place_text(place) if place else ""), ("less by", "; ".join(less)), ("more by", "; ".join(more))]


def _trained(
    run: TrainingRun, utilisation: Utilisation, at: Mapping[str, str], question: Question
) -> tuple[str, dict[str, Any]]:
    """Return how long the tokens of a question take and what they cost, in words and by name.

    The run is a table of one row, and the question is answered from it as from any other.
    """
    network, training, price, hints = run.network, replace(question.training, peak=None), question.price, question.hints
    if not network.parameters or network.sample != "tokens" or training.tokens is None:
        what = "how much a token takes needs the network"
        what = f"{network.name} is trained on {network.sample}, not on tokens" if network.name else what
        raise GenperfError(what, hint="--tokens is of a transformer: 7B, or llama3-8b")
    if hints and not run.step_seconds:
        hint = "the samples of a step of all, and their length: gbs=256 seq=2048"
        hint = hint if run.rate else f"a run, such as 76800tok/s, with {hint}"
        raise GenperfError("a hinted network needs the time of a step", hint=hint)
    rate, convention = _rate_of(run, utilisation)
    step, length = run.step_seconds or 1.0, run.sequence or 1.0
    of_device = {"batch_per_device": rate.value * step / run.devices / length, "seq_length": length}
    row = {"device": run.device.label, "devices": run.devices, "nodes": run.nodes, **of_device, "step_s": step}
    frame = pd.DataFrame([row])
    table = read_table(frame, time="step_s", intrinsic=[*of_device], extrinsic="devices,nodes", scaling="weak")
    message = {} if MESSAGE in hints else {PARAMETERS: f"{network.parameters:g}"}
    fitted = fit(table, hints={**message, **hints} if hints else {}).first
    query = fitted.query(_machine(run, in_columns(legend_of(understood(frame[["device", "devices", "nodes"]])), at).at))
    devices, nodes = (float(query.columns[name][0]) for name in ("devices", "nodes"))
    expected, _ = expectation(fitted, query, question.interval)
    if run.rate or utilisation.mfu is not None:
        value, (reason, suggestion) = expected.value, _why(run, devices, nodes, bool(hints))
    elif (place := utilisation.normal) is not None:
        # Published runs were made at such counts: their range holds what other counts cost.
        value, suggestion = Interval(step, step, step), f"measure the tokens a second of {devices:g} devices"
        reason = f"no run: the interval is that of {place.runs} published {place.among} ({convention})"
    seconds = Interval(value.value, value.lower * rate.value / rate.upper, value.upper * rate.value / rate.lower)
    amounts = reported_of(fitted, query, replace(expected, value=seconds), training, price)
    *days, unit = texts_in_unit(*(DAY * end for end in Interval.named(amounts, "days").ends))
    text = f"{three_digits(training.tokens)} tokens at {devices:g} x {run.device.label or 'devices'}: "
    text += "{} {} ({} – {})".format(days[0], unit, *days[1:])
    if price is not None:
        costs = map(three_digits, Interval.named(amounts, "training_cost").ends)
        paid, _ = paid_for(fitted.panel, question.per, price)
        text += ", {} ({} – {}) at {}".format(*costs, price_text(price.text, paid))
    numbers: dict[str, Any] = {"tokens": training.tokens, "devices": devices, "nodes": nodes}
    for called, name in (("days", "days"), ("cost", "training_cost")):
        numbers |= {f"{called}{end}": amounts.get(f"{name}{end}") for end in ENDS}
    return text, {**numbers, "verdict": BLIND, "reason": reason, "next": suggestion}


def _rate_of(run: TrainingRun, used: Utilisation) -> tuple[Interval, str]:
    """Return the tokens a second of a run, as measured, by its utilisation or that of published runs; the convention.

    The interval holds what is not known of a stated utilisation and of the operations of a token.
    """
    convention, (operations, low, high) = next(iter(conventions_of(run).items()))
    if run.rate:
        return Interval(run.rate, run.rate, run.rate), convention
    shares = np.array([used.mfu, used.mfu_lower, used.mfu_upper], dtype=float) / (1.0, high, low)
    if used.mfu is None and (place := used.normal) is not None:
        shares = np.array([place.median, place.low, place.high])
    return Interval(*(run.devices * run.dense_peak / operations * shares).tolist()), convention


def _machine(run: TrainingRun, requested: Mapping[str, str]) -> dict[str, Any]:
    """Return the machine that a question names, under the columns of the run; its device is that of the run."""
    machine: dict[str, Any] = {"devices" if name == SCALE else name: text for name, text in requested.items()}
    if others := machine.keys() - {"device", "devices", "nodes", "devices_per_node"}:
        raise GenperfError(f"--at {min(others)} is no count of devices or nodes", hint="--at 64, or --at nodes=8")
    if (device_in(machine.pop("device", "")) or run.device).name != run.device.name:
        hint = "without --at and without a rate it is answered from published runs"
        raise GenperfError(f"the run is on {run.device.label}, and --at names another device", hint=hint)
    of_node = {"devices_per_node": np.ceil(run.devices / run.nodes)}
    return machine if "devices" in machine or not machine else of_node | machine


def _why(run: TrainingRun, devices: float, nodes: float, is_hinted: bool) -> tuple[str, str]:
    """Return why the interval of a training at some counts is no narrower, and the run to make next."""
    count = min(2.0 * run.devices, devices)
    if run.nodes < 2.0 <= nodes:
        unknown = "the interval holds networks of which nothing is known"
        unknown = "what the second costs rests on the hint" if is_hinted else unknown
        second = 2.0 if count < devices else nodes
        return f"no run beyond one node: {unknown}", f"measure {count:g} devices on {second:g} nodes"
    if devices == run.devices:
        return "one run: how much its repeats differ is that of published ones", "measure it again"
    return "one run: what another count costs is that of published series", f"measure {count:g} devices"


# --- a test of a collective -------------------------------------------------------------------------------------------


def _about_test(test: Mapping[str, Any], hinted: str) -> OneRun:
    """Return the answer about a test of a collective, whose devices may not be known."""
    device, speed = device_of(test["device"]), bandwidth(test.get("busbw", ""))
    count, nodes, size = (number_of(test.get(name, 0.0)) or 0.0 for name in ("devices", "nodes", "size"))
    nodes = nodes or float(np.ceil(count / USUAL_DEVICES))
    spans_nodes = bool(several_nodes(nodes))
    if speed is None:
        raise GenperfError("a test of collectives needs its bus bandwidth", hint="8xh100 all_reduce 470GB/s")
    published = place_of_test(speed, test["collective"], device.family, spans_nodes)
    link = hinted or ("" if spans_nodes else device.link)
    rate = link_rate(link) if link else 0.0
    of_size = f" at {three_digits(size / 1e9)} GB" if size else ""
    machine = "devices and nodes not known: no rank is printed"
    if count:
        machine = f"{count:g} {device.label or 'devices'} · {counted(int(nodes), 'node')}"
    compared = "the link is not known: --hint bandwidth=400Gbit/s of a node"
    if rate:
        compared = f"{share_text(speed / rate, link)} ({three_digits(rate / 1e9)} GB/s each way)"
    rows = [("", f"{test['collective']}{of_size} · {machine}")]
    rows += [("bus", f"{three_digits(speed / 1e9)} GB/s: {compared}")]
    rows += [("⚠", _ABOVE)] if hinted and speed > rate else []
    is_low = speed < LOW_BUS * (rate or (0.0 if published is None else published.median))
    usual_cause = _BETWEEN if spans_nodes else _NVLINK if link.startswith("nvlink") else _INSIDE
    rows += _placed(published, [usual_cause] if is_low else [])
    numbers = {"collective": test["collective"], "devices": count or None, "nodes": nodes or None, "busbw": speed}
    numbers |= {"link": link, "link_rate": rate or None, "share": speed / rate if rate else None}
    return OneRun(tuple(rows), {**numbers, "normal": published and asdict(published)})
