"""One run by itself, or a test of collectives: what it uses of the peak or the link, what is normal, how long it takes.

    MFU = operations of a sample · samples/s ÷ (devices · peak)

Operations of a token are 6·P (Kaplan et al. 2020). With attention they are 6·P + 12·layers·hidden·T, where P lacks an
input embedding that is looked up (PaLM, Chowdhery et al. 2022), or half of the attention where the mask is causal; or
72·layers·hidden² in the place of 6·P, whatever the layers hold (Megatron, Narayanan et al. 2021).
With activations computed again they are four thirds of that, and the share is called HFU.
"""

import os
import re
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Struct, field, to_builtins
from msgspec.structs import asdict, replace

from genperf.asking.ask import Question, expectation, question_of
from genperf.attribution.answers import PrintedAnswer
from genperf.attribution.derived import reported_of
from genperf.errors import GenperfError, attempted, counted
from genperf.facts import ENDS, Interval, PublishedPlace, Training
from genperf.fitting import fit
from genperf.formula import evaluate, parse, values_of
from genperf.formula.amounts import DURATIONS, bandwidth
from genperf.models.network import BANDWIDTH, MESSAGE, PARAMETERS
from genperf.networks import TrainedNetwork, network_named
from genperf.normal.runs import place_of_run, place_of_test
from genperf.panel.legend import SCALE
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import ONE, several_nodes
from genperf.panel.quantities import paid_for, quantities_of
from genperf.panel.question import in_columns
from genperf.panel.read import Recognised, legend_of
from genperf.panel.words import OF_MACHINE, RUN_WORDS, UNREAD, meaning_of, number_of, row_of_cells, row_of_words
from genperf.peaks import Device, device_in, device_of, devices, link_rate, peak_of, precision_in
from genperf.table.cells import Source, source_of_columns
from genperf.table.clean import is_missing
from genperf.table.content import read_text
from genperf.table.opened import understood
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import STEP_WORDS, canonical_time, header_of
from genperf.vocabulary.names import COUNTED, LEVELS, canonical_of, plain_name
from genperf.words.growth import price_text
from genperf.words.numbers import share_text, texts_in_unit, three_digits
from genperf.words.published import place_text
from genperf.words.verdict import BLIND

Rows: TypeAlias = list[tuple[str, str]]
#: Columns of a card and of its labels, and its lines.
WIDTH, LABEL, MOST_LINES = 80, 10, 14
_TABLES = tomllib.loads(Path(__file__).with_name("one_run.toml").read_text("utf-8"))
_ADAPTERS = re.compile(rf"(?<![a-z]){any_of('one_run.adapters')}(?![a-z])")
#: Devices up to which a deadline is looked for, a large cluster; and bytes of a file that may be a note about one run.
MOST_DEVICES, MOST_OF_A_NOTE = 65536.0, 2000
#: How near a stated figure must be to one by a convention to be by it, and what rounding to whole per cents changes a
#: third by: figures are known no better.
SAME, ROUNDED = 0.03, 0.015
#: Parameters of a network over the size in its name: 7B is 6.5 to 7.6 billion (`networks.csv`).
SIZE_LOW, SIZE_HIGH = 0.93, 1.09
#: Operations with activations computed again over those without, and the percentile below which less is explained.
RECOMPUTED, LOW = 4.0 / 3.0, 100.0 / 3.0
#: A utilisation by no convention.
PRINTED, STATED = "TFLOP/s as the run prints them", "as the run states it"
#: Devices by whose peak programs divide, whatever they run on (nanoGPT, nanochat).
USUAL_PEAKS = ("a100", "h100")


class OneRun(PrintedAnswer, frozen=True, eq=False):
    """The answer about one run, or about a test of collectives."""

    rows: tuple[tuple[str, str], ...]  #: Labels and texts of the card.
    numbers: dict[str, Any]  #: What is known, by name: the fields of the JSON.

    @property
    def content(self) -> list[str]:
        """The card: at most 14 lines of 80 columns; what explains a low or a high value is the first to go."""
        heads = [(label, label and label.ljust(LABEL), text) for label, text in self.rows if text]
        texts = {row: textwrap.wrap(row[1] + row[2], WIDTH, subsequent_indent=" " * len(row[1])) for row in heads}
        if len([*chain(*texts.values())]) > MOST_LINES:
            texts = {row: lines for row, lines in texts.items() if row[0] not in ("less by", "more by")}
        return [*chain(*texts.values())][:MOST_LINES]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**self.numbers, "sentences": {"card": str(self)}}


def joint_answer(runs: Sequence[OneRun]) -> OneRun:
    """Return the answer about one run with how long a training takes at the counts of several answers about it."""
    trainings = [row for run in runs for row in run.rows if row[0] == "training"]
    rows = ([row] if row[0] != "training" else trainings for row in runs[0].rows if row[0] != "→ next")
    return replace(runs[0], rows=tuple(chain.from_iterable(rows)))


def run_answer(row: Mapping[str, Any], at: Mapping[str, str] | None = None, question: Question | None = None) -> OneRun:
    """Return the answer about the run of a row; of given tokens also how long they take at the counts of `at`."""
    question, unread = question or Question(), str(row.get(UNREAD, ""))
    # `is it normal` names no machine.
    at = {name: text for name, text in (at or {}).items() if name != SCALE or re.search(r"\d", text)}
    at = at or ({SCALE: str(row[OF_MACHINE])} if OF_MACHINE in row else {})
    row = {name: cell for name, cell in row.items() if name != OF_MACHINE}
    if options := {name.removeprefix("--"): row[name] for name in row if name.startswith("--")}:
        of_words = question_of(**{"tokens": question.training.tokens or row.get("tokens"), **options})
        training = replace(of_words.training, peak=question.training.peak or of_words.training.peak)
        price, plan = question.price or of_words.price, question.plan or of_words.plan
        question = replace(question, price=price, plan=plan, training=training)
    is_planned = "collective" not in row and (question.training.tokens or row.get("tokens"))
    if is_planned and not at and re.match(r"\d+(?!\S)", unread):
        what = f"'{unread}' is not read, and may be the machine that is asked about"
        raise GenperfError(what, hint="--at 64xh100, of the device that ran")
    try:
        rows, numbers = (_about_test if "collective" in row else _about_run)(row, at, question)
    except GenperfError as error:
        error.hint = f"{error.hint}; not read: {unread}" if unread else error.hint
        raise
    return OneRun((*rows[:2], (UNREAD, unread), *rows[2:]), {**numbers, "not_read": unread})


def _about_run(row: Mapping[str, Any], at: dict[str, str], question: Question) -> tuple[Rows, dict[str, Any]]:
    """Return the card of the run of a row, and its numbers."""
    run, plan = run_of_row(row, question.training.peak or 0.0), question.plan
    # Tokens of a row whose time is not known are asked about, and a deadline is theirs.
    question = replace(question, training=replace(question.training, tokens=question.training.tokens or run.tokens))
    tokens, sample, network = question.training.tokens, run.network.sample, run.network.name
    if plan is not None and (plan.budget is not None or not (plan.of_tokens or (plan.of_job and tokens))):
        hint = "--tokens 1T --deadline 30d says how many devices it takes; or a run of another count, each in quotes"
        raise GenperfError("a budget, samples or the deadline of a job need runs of several counts", hint=hint)
    used, label = utilisation_of(run, is_planned=tokens is not None), run.device.label or "device"
    machine = label if plan is not None and not at and run.devices == 1.0 else f"{run.devices:g} x {label}"
    speed = f"{three_digits(run.rate)} {sample}/s" if run.rate else ""
    title = " · ".join(filter(None, (machine, network, speed, run.precision)))
    rows = [("", title), ("MFU", used.text), *(("⚠", note) for note in used.notes)]
    if used.mfu is not None and not run.rate and conventions_of(run):
        rate = _rate_of(run, used)
        value, low, high, of_each = map(three_digits, (*rate.ends, rate.value / run.devices))
        speed = f"{value} {sample}/s{f' ({low} – {high})' if low != high else ''} by that share"
        rows.append(("speed", f"{speed}: {of_each} of each device" if run.devices > 1.0 else speed))
    of_images = "no published run of images is bundled: what is usual is not known"
    rows += [("among", place_text(used.normal) if used.normal else of_images)]
    rows += [("less by", "; ".join(used.less_by)), ("more by", "; ".join(used.more_by))]
    if tokens is None:
        add = "" if sample == "images" else "add --tokens 1T, or "
        of_a_training = f"--at and --price are of a training: {add}a run of another count, each in quotes"
        return [*rows, ("⚠", of_a_training if at or question.price else "")], {**to_builtins(used), "training": None}
    counts = [run.devices * 2.0**power for power in range(-17, 18)] if plan is not None and not at else []
    machines = [{SCALE: f"{count:g}"} for count in counts if count.is_integer() and count <= MOST_DEVICES]
    trainings = _trainings(run, used, machines or [at], question)
    limit = np.inf if plan is None or plan.deadline is None else plan.deadline / DURATIONS["d"]
    # The fewest devices of which it is expected, and from how many on the upper end keeps it.
    surely_in_time = [f"from {of['devices']:g} devices on" for of in trainings.values() if of["days_upper"] <= limit]
    in_time = [text for text, training in trainings.items() if training["days"] <= limit]
    text = [*in_time, *reversed(trainings)][0]
    by_upper_end = [*surely_in_time, "at no count that was tried"][0]
    verdict = f"kept as expected; by the upper end {by_upper_end}" if in_time else "not kept"
    rows += [("training", text), ("deadline", verdict if plan else "")]
    rows += [("⚠ blind", trainings[text]["reason"]), ("→ next", trainings[text]["next"])]
    return rows, {**to_builtins(used), "training": trainings[text]}


class TrainingRun(Struct, frozen=True):
    """One run: what it ran on, what it trained, and how fast; 0 is not known."""

    device: Device  #: With the peak that was given in the place of its rates.
    dense_peak: float  #: Operations per second of a device.
    devices: float
    nodes: float  #: Of the usual number of devices where they are not known.
    network: TrainedNetwork
    claims: dict[str, float]  #: Utilisations that the run prints and states, by how it does.
    precision: str | None = None  #: As in the vocabulary; None is taken for 16 bits.
    sequence: float = 0.0
    recomputed: bool | None = None  #: Whether activations are computed again in the backward pass.
    adapters: bool = False  #: Whether only adapters are trained (LoRA), which takes about 4·P operations a token.
    tokens: float | None = None  #: Of a training whose time is not known.
    rate: float = 0.0  #: Samples (tokens or images) a second of all devices.
    step_seconds: float = 0.0
    #: What of the rate may be wrong, as the formulas of `one_run.toml` read it; {} where nothing is.
    reading: dict[str, Any] = field(default_factory=dict)


def row_in(texts: Sequence[str]) -> dict[str, Any]:
    """Return the row of one run in words, or of the test in a file of nccl-tests; empty for anything else."""
    if not os.path.exists(texts[0]):
        return row_of_words(texts)
    from genperf.table.importers.nccl_tests import plateau_in  # sentences need no reader of files

    return plateau_in(texts[0]) if len(texts) == 1 else {}


def row_of_note(files: Sequence[str]) -> dict[str, Any]:
    """Return the row of the run that a short note states, with its network and its speed; {} for other files."""
    if len(files) > 1 or not os.path.isfile(files[0]) or os.path.getsize(files[0]) > MOST_OF_A_NOTE:
        return {}
    try:
        row = row_of_words([" | ".join(read_text(files[0])[1].splitlines())])
        run = run_of_row(row)
    except GenperfError:
        return {}
    # An amount that nothing reads, `for 2 days`, may be of another run.
    is_one = {"model", "device"} <= row.keys() and not re.search(r"[^\W\d]", row.get(UNREAD, ""))
    return row if is_one and (run.rate or run.claims) else {}


def row_of_run(source: Source, peak: float | None = None) -> dict[str, Any] | GenperfError | None:
    """Return the row of a table of one run, the error where only its device or network is unknown; None for others."""
    row = row_of_cells({name: column[0] for name, column in source.cells.items()})
    if "collective" in row and not row.keys().isdisjoint(("busbw", "algbw")):
        return row
    device = next((str(cell) for name, cell in row.items() if plain_name(name) in RUN_WORDS["device"]), "")
    if not device:
        return None
    if isinstance(no_peak := peak or attempted(peak_of, device), GenperfError):
        # With a supposed peak the row is a run: only the device is at fault.
        supposed = attempted(run_of_row, row, 1.0)
        return no_peak if isinstance(supposed, TrainingRun) and supposed.rate else None
    run = attempted(run_of_row, row, peak or 0.0)
    if isinstance(run, GenperfError) or run.network.parameters or peak:
        return row
    used = attempted(utilisation_of, run)
    return used if isinstance(used, GenperfError) else row


def run_of_row(cells: Mapping[str, Any], peak: float = 0.0) -> TrainingRun:
    """Return the run of a row, whose columns are found by their names."""
    filled = {name: cell for name, cell in cells.items() if not is_missing(cell) and str(cell).strip()}
    cells = _with_rate_of_training({n: filled[n] for n in filled if n != UNREAD and not n.startswith("--")})
    for column in [name for name in cells if meaning_of(name) == "sequence"]:
        if (in_thousands := str(cells[column])[-1] in "kK") or canonical_of(column) is None:
            # `4k` tokens are 4096.
            cells["sequence"] = (1.024 if in_thousands else 1.0) * float(number_of(cells.pop(column)) or 0.0)
    # Of two columns of one meaning the first counts.
    named = {meaning_of(column) or column: cell for column, cell in reversed(cells.items())}
    numbers = {name: value for name, cell in named.items() if (value := number_of(cell)) is not None}
    for column, cell in cells.items():
        name = meaning_of(column) or column
        if numbers.get(name, 0.0) < 0.0 or (name in COUNTED and not numbers.get(name, 0.0)):
            raise GenperfError(f"'{column}' of a run is {cell}", hint="a number above zero, or leave it out")
    precision = precision_in(str(named.get("precision", "")))
    device = device_of(str(named.get("device", "")))
    if not peak and not device.family:
        peak = peak_of(device.name)
    count, nodes, per_node = (numbers.get(name, 0.0) for name in ("workers", "nodes", "devices_per_node"))
    count = count or nodes * per_node or 1.0
    if device.name == "mi250x" and per_node == 8.0:
        # Frameworks count each of its two dies as a device: eight on a node of four.
        device, peak = devices()["mi250x-gcd"], 0.5 * peak
    if peak:
        device = replace(device, rates=dict.fromkeys(("16-bit", precision or "16-bit"), peak), sparse=1.0)
    dense_peak = device.rate(precision or "16-bit")
    printed, stated = 1e12 * numbers.get("tflops", 0.0) / dense_peak, numbers.get("mfu", 0.0)
    if stated > 2.0 and "%" not in str(named["mfu"]):
        # Such a share is in per cent.
        stated /= 100.0
    if printed > 1.0 and abs(printed / count - stated) <= SAME * stated:
        # The TFLOP/s are of all devices.
        printed /= count
    claims = {how: share for how, share in {PRINTED: printed, STATED: stated}.items() if share}
    switched_on = {name for name, cell in named.items() if str(cell).strip().lower() not in RUN_WORDS["none"]}
    recomputed = "recomputation" in switched_on if "recomputation" in named else None
    adapters = "adapters" in switched_on or bool(_ADAPTERS.search(" ".join(map(str, cells.values())).lower()))
    nodes = nodes or float(np.ceil(count / (per_node or USUAL_DEVICES)))
    network, sequence = _network(named, numbers), numbers.get("sequence", 0.0)
    settings = precision, sequence, recomputed, adapters, numbers.get("tokens")
    run = TrainingRun(device, dense_peak, count, nodes, network, claims, *settings)
    run = _with_rate(run, cells) if network.parameters else run
    agreed = printed if count > 1.0 and stated and abs(printed / stated - 1.0) <= SAME else 0.0
    shares = [run.rate * operations / dense_peak for operations, *_ in conventions_of(run).values()]
    if any(abs(share - agreed) <= SAME * agreed for share in shares if agreed):
        # Two shares that agree say that a rate without its unit, `tps`, is that of each device.
        run = replace(run, rate=run.rate * count, reading={})
    return run


def _with_rate_of_training(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return cells with a rate in the place of tokens or samples and of the time, or hours of a device, they took."""
    work = next((name for name in cells if meaning_of(name) in ("tokens", "samples") and number_of(cells[name])), "")
    headers = {name: header_of(f"time ({name})" if canonical_time(name) else name) for name in cells}
    lasted = {name: header.unit for name, header in headers.items() if header.kind == "time" and header.of != "step"}
    seconds = {name: DURATIONS.get(unit, 0.0) * (number_of(cells[name]) or 0.0) for name, unit in lasted.items()}
    time = next(filter(seconds.get, seconds), "")
    if not (work and time) or any(header.kind == "rate" for header in headers.values()):
        return dict(cells)
    of_device = "/gpu" if headers[time].shared or device_in(time) is not None else ""
    settings = {name: cell for name, cell in cells.items() if name not in (time, work)}
    return settings | {f"{meaning_of(work)}/s{of_device}": (number_of(cells[work]) or 0.0) / seconds[time]}


def _network(named: Mapping[str, Any], numbers: Mapping[str, float]) -> TrainedNetwork:
    """Return the network of a row: by its name, or by its parameters, with the shape that columns give."""
    size = numbers.get("parameters") or 1e9 * numbers.get("parameters_billion", 0.0)
    shape: dict[str, Any] = {name: numbers[name] for name in ("active", "layers", "hidden") if name in numbers}
    name = str(named.get("network", f"{three_digits(size)} parameters" if size else ""))
    network = attempted(network_named, name, "active" in shape) if "network" in named else TrainedNetwork(name)
    layers, hidden = (numbers.get(of, 0.0) for of in ("layers", "hidden"))
    if layers * hidden and not size and (isinstance(network, GenperfError) or not network.parameters):
        # A layer has 12·hidden² parameters.
        size = 12.0 * layers * hidden**2 + numbers.get("vocabulary", 0.0) * hidden
        name = name or f"{layers:g} layers of {hidden:g}"
    if isinstance(network, TrainedNetwork) and not size and shape.get("layers", network.layers) < network.layers:
        what = f"layers={shape['layers']:g} are fewer than the {network.layers:g} of {network.name}"
        network = GenperfError(what, hint="add the parameters of what ran: params=4B")
    if isinstance(network, GenperfError):
        if not size and not {"tflops", "mfu"} & named.keys():
            raise network
        # Of a run that prints its operations, or its utilisation, the network need not be known.
        network = TrainedNetwork(name if size else "")
    parameters = size or network.parameters
    # The share first: of a dense network it is 1, whatever rounding does.
    active = parameters * (network.active / network.parameters if network.parameters else 1.0)
    if not SIZE_LOW * parameters <= network.parameters <= SIZE_HIGH * parameters:
        # Of another network than the one of the name, fewer layers, say, the shape is not known.
        network = TrainedNetwork(name)
    network = replace(network, **{"parameters": parameters, "active": active, **shape})
    if parameters and not 0.0 < network.active <= SIZE_HIGH * parameters:
        what = f"active={three_digits(network.active)} is no part of {three_digits(parameters)} parameters"
        raise GenperfError(what, hint="active= has the parameters that one token uses, params= all of them")
    return network


def _with_rate(run: TrainingRun, cells: Mapping[str, Any]) -> TrainingRun:
    """Return a run with the rate that its row shows: samples of the network first, a time last."""
    row = {n: number for n, cell in cells.items() if canonical_of(n) not in LEVELS and (number := number_of(cell))}
    headers = {n: header for n in row if (header := header_of(n)).kind in ("rate", "time") and header.of != "job"}
    errors = list[GenperfError]()
    times_last = sorted(headers, key=lambda n: headers[n].kind == "time" and headers[n].of != "step")
    for column in sorted(times_last, key=lambda n: headers[n].counted != run.network.sample):
        rated = attempted(_with_rate_of_column, run, row | {"devices": run.devices, "nodes": run.nodes}, column)
        if isinstance(rated, TrainingRun):
            return rated
        errors.append(rated)
    if errors and not run.claims:
        raise errors[0]
    return run


def _with_rate_of_column(run: TrainingRun, row: Mapping[str, float], name: str) -> TrainingRun:
    """Return a run with the rate that the panel reads in a column; an error asks for what the row leaves open."""
    sample, header = run.network.sample, header_of(name)
    counted = "step" if header.kind == "time" else header.counted
    is_step, other_samples = counted in STEP_WORDS, {"images", "frames"} if sample == "tokens" else {"tokens"}
    is_other = counted in other_samples or (header.shared and header.counted in STEP_WORDS)
    columns = {n: np.array([v]) for n, v in row.items() if n == name or header_of(n).kind not in ("rate", "time")}
    table = Recognised(source_of_columns(columns, "the run"), want=name, alone=True).table()
    batch, global_batch = table.panel.find("batch"), table.panel.find("global_batch")
    batched = batch.name if batch is not None and global_batch is None and run.devices > 1.0 else ""
    is_open = plain_name(batched) in words_of("columns.batch_of_any")
    quantities = quantities_of(table.panel, {} if sample == "tokens" else {"sequence": ONE})
    lacking = [setting for setting, of in _TABLES["settings"].items() if not quantities.has(of)]
    facts = {"name": run.network.name, "sample": sample, "counted": counted, "lacking": " and ".join(lacking)}
    are = {"is_time": header.kind == "time", "is_other": is_other, "is_open": is_open and is_step}
    unit = "tok" if sample == "tokens" else "img"
    _refuse("unknown_rate", {**facts, **are, "unit": unit, "batch": batched, "of_batch": row.get(batched)})
    rate = float(values_of(quantities.node("tokens_per_s"), {**table.columns, table.target.name: table.measured})[0])
    samples = None if is_open else table.panel.node("global_batch")
    of_a_step = 0.0 if samples is None else run.sequence * float(values_of(samples, table.columns)[0])
    noun, is_of_all = ("batch", global_batch is not None) if is_step else ("rate", not header.shared)
    sharing = run.nodes if header.level == "nodes" else run.devices
    reading = {"noun": noun, "is_of_all": is_of_all, "sharing": sharing, "in_ms": header.unit == "ms"}
    reading["counts_samples"] = not is_step and counted != "tokens"
    return replace(run, rate=rate, step_seconds=of_a_step / rate, reading=reading)


class Utilisation(Struct, frozen=True):
    """How much of the dense peak a run uses, with the ends of what is not known, in fractions: fields of the JSON."""

    mfu: float | None = None
    mfu_lower: float | None = None
    mfu_upper: float | None = None
    mfu_convention: str | None = None
    mfu_by_convention: dict[str, float] = field(default_factory=dict)  #: By all for which enough is known.
    hfu: float | None = None  #: With recomputation counted, where the run does that.
    peak: float = 0.0  #: Operations per second of a device, dense.
    notes: tuple[str, ...] = ()  #: A mistake of the stated figure, what was supposed.
    normal: PublishedPlace | None = None
    less_by: tuple[str, ...] = ()  #: What usually explains less.
    more_by: tuple[str, ...] = ()  #: What usually explains more.

    @property
    def text(self) -> str:
        """The utilisation with its ends, its convention and its peak; empty for a plan."""
        if self.mfu is None or self.mfu_lower is None or self.mfu_upper is None:
            return ""
        middle, low, high = (share_text(of, decimals=1) for of in (self.mfu, self.mfu_lower, self.mfu_upper))
        is_open = self.mfu_upper > 1.01 * self.mfu_lower and low != high
        ends = f" ({low.removesuffix(' %')} – {high})" if is_open else ""
        hardware = "" if self.hfu is None else f"; HFU {share_text(self.hfu)}"
        return f"{middle}{ends}: {self.mfu_convention}, of {three_digits(self.peak / 1e12)} TFLOP/s dense{hardware}"


def utilisation_of(run: TrainingRun, is_planned: bool = False) -> Utilisation:
    """Return the utilisation of a run, by the convention that it states within 3 % or the first, or as it states it."""
    conventions, network, facts = conventions_of(run), run.network, _facts_of(run)
    scale = run.rate / (run.devices * run.dense_peak)
    computed = {name: scale * operations for name, (operations, *_) in conventions.items() if scale}
    utilisations = computed or dict([*run.claims.items()][:1])
    _refuse("unknown_speed", facts | {"is_open": not utilisations and not is_planned})
    notes = [text for text, _ in _rows_of("notes", facts)]
    convention = next(iter(utilisations), "")
    if claimed := next((how for how in run.claims if how not in utilisations), ""):
        errors = {name: abs(share / run.claims[claimed] - 1.0) for name, share in utilisations.items()}
        nearest = min(errors, key=errors.__getitem__)
        if errors[nearest] <= SAME:
            convention = nearest
        else:
            notes.append(_usual_mistake(run, utilisations, claimed, nearest))
    if run.recomputed and not computed:
        notes.append("if recomputation is counted this is HFU, and the MFU is three quarters of it")
    value, place = utilisations.get(convention), None
    if network.sample != "images":
        place = place_of_run(value, run.device.family, network.active, run.precision or "16-bit", network.is_mixture)
    if value is None:
        return Utilisation(peak=run.dense_peak, normal=place)
    less, more = _causes(run, value, place)
    if value > 1.0:
        hint = "; ".join(f"{number}. {cause}" for number, cause in enumerate(more, 1))
        of = f"the peak of {run.devices:g} x {run.device.label or 'device'}"
        raise GenperfError(f"an MFU cannot be {share_text(value, of)}", hint=hint)
    # What a run states or prints counts recomputation or does not.
    _, low, high = conventions.get(convention, (0.0, 1.0 / RECOMPUTED if run.recomputed else 1.0, 1.0))
    ends = value, low * value, min(high * value, 1.0)
    hfu = RECOMPUTED * value if run.recomputed and computed else None
    return Utilisation(*ends, convention, computed, hfu, run.dense_peak, tuple(notes), place, less, more)


def _causes(run: TrainingRun, value: float, place: PublishedPlace | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what usually explains a utilisation that is low among published ones, and one that is high."""
    low, high = (0.0, 1.0) if place is None else (place.low, place.high)
    mended = [(text, value * factor) for text, (factor,) in _rows_of("mistakes", _facts_of(run))]
    usual = [f"{text} (then {share_text(mfu)})" for text, mfu in mended if low < mfu < high]
    facts = _facts_of(run) | {"mfu": value, "usual_low": low, "explained": len(usual)}
    facts["peak"] = three_digits(run.dense_peak / 1e12)
    less, more = ([text for text, _ in _rows_of(table, facts)] for table in ("less", "more"))
    is_low = place is not None and (place.percentile or 0.0) < LOW
    of_low = [*(usual if value < low else ()), *less][:3]
    return tuple(of_low if is_low else ()), tuple([*usual, *more] if value > high else ())


def _facts_of(run: TrainingRun) -> dict[str, Any]:
    """Return what the formulas of `one_run.toml` read of a run, by name."""
    facts = {"noun": "", "is_of_all": -1.0, "sharing": 1.0, "in_ms": 0.0, "counts_samples": 0.0, **run.reading}
    facts |= asdict(run.network) | asdict(run) | {"precision": run.precision or "", "label": run.device.label}
    facts |= {"printed": run.claims.get(PRINTED, 0.0), "stated": run.claims.get(STATED, 0.0)}
    facts |= {"spans_nodes": several_nodes(run.nodes), "may_recompute": run.recomputed is not False}
    facts |= {"peak_of_a100": devices()["a100"].rates["16-bit"], "has_fp32": "fp32" in run.device.rates}
    facts |= {"peak_of_fp8": run.device.rate("fp8"), "size_low": SIZE_LOW, "size_high": SIZE_HIGH}
    for name, formula in _TABLES["derived"].items():
        facts[name] = evaluate(parse(formula).node, facts)
    return facts


def _rows_of(table: str, facts: Mapping[str, Any]) -> list[tuple[str, list[float]]]:
    """Return the texts of a table of `one_run.toml` of which the last formula holds, with the values of the others."""
    rows = [row for row in _TABLES[table]["rows"] if evaluate(parse(row[-1]).node, facts)]
    return [(text.format(**facts), [float(evaluate(parse(of).node, facts)) for of in more]) for text, *more, _ in rows]


def _refuse(table: str, facts: Mapping[str, Any]) -> None:
    """Raise the first error of a table of `one_run.toml` that holds: what is wrong, and after a bar what to try."""
    if rows := _rows_of(table, facts):
        what, hint = rows[0][0].split(" | ")
        raise GenperfError(what, hint=hint)


def _usual_mistake(run: TrainingRun, utilisations: Mapping[str, float], claimed: str, nearest: str) -> str:
    """Return which usual mistakes, as the sparse peak, explain a stated figure that fits no convention: one or two."""
    claim, device, precision = run.claims[claimed], run.device, run.precision or "16-bit"
    figure, share = (share_text(of, decimals=int(claim < 0.1)) for of in (claim, utilisations[nearest]))
    figure = f"the {'printed' if claimed == PRINTED else 'stated'} {figure}"
    # Variants of a device, an H100 on PCIe, have peaks of their own.
    variants = [of for of in devices().values() if of.family == device.family]
    dense = [*variants, *map(devices().__getitem__, USUAL_PEAKS)]
    sparse = "is of the sparse peak ({} TFLOP/s): training uses the dense one"
    peaks = [(sparse, device.sparse * run.dense_peak), ("is of the 16-bit peak ({} TFLOP/s)", device.rates["16-bit"])]
    peaks += [(f"fits the peak of {of.label} ({{}} TFLOP/s)", of.rate(precision)) for of in dense]
    peaks += [(f"fits the sparse peak of {of.label} ({{}} TFLOP/s)", of.sparse * of.rate(precision)) for of in variants]
    of_peaks = [(fits.format(three_digits(peak / 1e12)), run.dense_peak / peak) for fits, peak in peaks]
    likely, elsewhere = of_peaks[:2], [("is HFU: recomputation is counted in it", RECOMPUTED), *of_peaks[2:]]
    rate_is_wrong = [(f"fits where {text}", by) for text, (by,) in _rows_of("mistakes", _facts_of(run))]
    for mistakes in (combinations(likely + elsewhere + rate_is_wrong, 1), combinations(likely + rate_is_wrong, 2)):
        factors = {"; and it ".join(text for text, _ in made): np.prod([by for _, by in made]) for made in mistakes}
        values = np.array([*utilisations.values()])
        errors = {text: np.abs(values * by / claim - 1.0).min() for text, by in factors.items() if by != 1.0}
        # Of those that rounding leaves open the first, which is the likeliest.
        mistake = min(errors, key=lambda text: max(errors[text], ROUNDED), default="")
        if errors.get(mistake, 1.0) <= SAME:
            return f"{figure} {mistake}"
    ends = [utilisations.get(name, 0.0) * end for name, (_, *both) in conventions_of(run).items() for end in both]
    of_shape = {"seq=": run.sequence, "layers=": run.network.layers, "hidden=": run.network.hidden}
    lacking = ", ".join(setting for setting, value in of_shape.items() if not value)
    is_between = bool(lacking) and min(ends, default=1.0) < claim < max(ends, default=0.0)
    facts = {"figure": figure, "share": share, "nearest": nearest, "lacking": lacking, "is_between": is_between}
    return _rows_of("unexplained", facts | {"is_printed": nearest == PRINTED})[0][0]


def conventions_of(run: TrainingRun) -> dict[str, list[float]]:
    """Return known operations of a sample and factors of their ends, the usual first: {"6·P": [4.2e10, 1.0, 1.2]}."""
    return dict(_rows_of("conventions", _facts_of(run))) if run.network.parameters else {}


def _trainings(
    run: TrainingRun, used: Utilisation, machines: Sequence[Mapping[str, str]], question: Question
) -> dict[str, dict[str, Any]]:
    """Return how long tokens take on machines and what they cost, by name, from a table whose only row is the run."""
    price, hints, tokens = question.price, question.hints, question.training.tokens or 0.0
    facts = _facts_of(run) | {"is_run": used.mfu is not None, "is_hinted": bool(hints), "place": used.normal}
    _refuse("unknown_training", facts)
    rate, step = _rate_of(run, used), run.step_seconds or 1.0
    of_run = pd.DataFrame([{"device": run.device.label, "devices": run.devices, "nodes": run.nodes}])
    # The samples of a step are its tokens.
    frame = of_run.assign(batch_per_device=rate.value * step / run.devices, seq_length=1.0, step_s=step)
    of_device, counts = "batch_per_device,seq_length", "devices,nodes"
    if hints and MESSAGE not in hints:
        hints = {PARAMETERS: f"{run.network.parameters:g}", **hints}
    fitted = fit(frame, time="step_s", intrinsic=of_device, extrinsic=counts, scaling="weak", hints=hints).first
    legend, trainings = legend_of(understood(of_run)), dict[str, dict[str, Any]]()
    facts["convention"] = next(iter(conventions_of(run)))
    for requested in machines:
        at: dict[str, Any] = {**in_columns(legend, requested).of_settings().at}
        machine = {"devices" if name == SCALE else name: text for name, text in at.items() if name != "device"}
        if (device_in(at.get("device", "")) or run.device).name != run.device.name:
            hint = "without --at and without a rate it is answered from published runs"
            raise GenperfError(f"the run is on {run.device.label}, and --at names another device", hint=hint)
        if uncounted := machine.keys() - {"devices", "nodes", "devices_per_node"}:
            raise GenperfError(
                f"--at {min(uncounted)} is no count of devices or nodes", hint="--at 64, or --at nodes=8"
            )
        of_node = {} if "devices" in machine or not machine else {"devices_per_node": np.ceil(run.devices / run.nodes)}
        query = fitted.query(of_node | machine)
        devices, nodes = (float(query.columns[name][0]) for name in ("devices", "nodes"))
        expected, _ = expectation(fitted, query, question.interval)
        # Published runs were made at such counts: their range holds what other counts cost.
        value = Interval(step, step, step) if used.mfu is None else expected.value
        seconds = Interval(value.value, value.lower * rate.value / rate.upper, value.upper * rate.value / rate.lower)
        expected = replace(expected, value=seconds)
        amounts = reported_of(fitted, fitted.panel, query, expected, Training(tokens), price)
        ends = (DURATIONS["d"] * end for end in Interval.named(amounts, "days").ends)
        time, soonest, latest, unit = texts_in_unit(*ends)
        text = f"{three_digits(tokens)} tokens at {devices:g} x {run.device.label or 'devices'}: "
        text += f"{time} {unit} ({soonest} – {latest})"
        if price is not None:
            costs = map(three_digits, Interval.named(amounts, "training_cost").ends)
            paid, _ = paid_for(fitted.panel, question.per, price)
            text += ", cost {} ({} – {}) at {}".format(*costs, price_text(price.text, paid))
        numbers: dict[str, Any] = {"tokens": tokens, "devices": devices, "nodes": nodes}
        numbers |= {f"days{end}": amounts[f"days{end}"] for end in ENDS}
        numbers |= {f"cost{end}": amounts.get(f"training_cost{end}") for end in ENDS}
        tried = {"few": USUAL_DEVICES, "on_two": 2.0 * np.ceil(devices / nodes), "twice": 2.0 * run.devices}
        facts |= {name: counted(int(min(count, devices)), "device") for name, count in tried.items()}
        facts |= {"at": devices, "at_nodes": nodes}
        reason, suggestion = _rows_of("wide", facts)[0][0].split(" | ")
        trainings[text] = {**numbers, "verdict": BLIND, "reason": reason, "next": suggestion}
    return trainings


def _rate_of(run: TrainingRun, used: Utilisation) -> Interval:
    """Return tokens a second of a run: as measured, else MFU·devices·peak/operations with its MFU or published ones."""
    if run.rate:
        return Interval(run.rate, run.rate, run.rate)
    operations, low, high = next(iter(conventions_of(run).values()))  # or `low` to `high` times as many
    utilisation = np.array([used.mfu, used.mfu_lower, used.mfu_upper], dtype=float) / (1.0, high, low)
    if used.mfu is None and (place := used.normal) is not None:
        utilisation = np.array([place.median, place.low, place.high])
    return Interval(*(run.devices * run.dense_peak / operations * utilisation).tolist())


def _about_test(test: Mapping[str, Any], at: Mapping[str, str], question: Question) -> tuple[Rows, dict[str, Any]]:
    """Return the card of a test of a collective, whose devices may not be known, and its numbers."""
    if at or question.price or question.plan or question.training.tokens:
        hint = "its link is --hint bandwidth=400Gbit/s; of a run, such as 8xh100 7B 76800tok/s, they are answered"
        raise GenperfError("a test of collectives has no tokens, no other counts and no price", hint=hint)
    named = {meaning_of(name) or name: cell for name, cell in test.items()}
    device, collective = device_of(str(named.get("device", ""))), test["collective"]
    speed, of_algorithm = (bandwidth(str(test.get(name, ""))) for name in ("busbw", "algbw"))
    names = (*LEVELS, "devices_per_node", "size")
    count, nodes, of_node, size = (number_of(named.get(name, 0.0)) or 0.0 for name in names)
    count = count or nodes * of_node
    if speed is None and of_algorithm is not None and count:
        # The factors of nccl-tests, doc/PERFORMANCE.md.
        times = {"all_reduce": 2.0, "broadcast": 0.0, "sendrecv": 0.0}.get(collective, 1.0)
        speed = of_algorithm * (times * (count - 1.0) / count or 1.0)
    if speed is None:
        raise GenperfError("a test needs its bus bandwidth, with the unit", hint="8xh100 all_reduce 470GB/s")
    nodes = nodes or float(np.ceil(count / (of_node or USUAL_DEVICES)))
    spans_nodes = bool(several_nodes(nodes))
    # Inside a node devices of one family may have other links: an H800, an H100 on PCIe.
    alike = spans_nodes or device.link == devices().get(device.family, device).link
    published = place_of_test(speed, collective, device.family if alike else "", spans_nodes)
    link = question.hints.get(BANDWIDTH, "") or ("" if spans_nodes else device.link)
    rate = link_rate(link) if link else 0.0
    machine = f"{count:g} {device.label or 'devices'} · {counted(int(nodes), 'node')}"
    machine = machine if count else "devices and nodes not known: no rank is printed"
    bus = f"{three_digits(speed / 1e9)} GB/s"
    bus += f" (algbw {three_digits(of_algorithm / 1e9)})" if of_algorithm is not None else ""
    of_link = f"{share_text(speed / rate, link)} ({three_digits(rate / 1e9)} GB/s each way)" if rate else ""
    facts = {"bus": speed, "rate": rate, "usual": 0.0 if published is None else published.median}
    facts |= {"spans_nodes": spans_nodes, "is_nvlink": link.startswith("nvlink")}
    less, more = (_rows_of(table, facts)[0][0] for table in ("less_of_a_test", "more_of_a_test"))
    rows = [
        ("", f"{collective}{f' at {three_digits(size / 1e6)} MB' if size else ''} · {machine}"),
        ("bus", f"{bus}: {of_link or 'the link is not known: --hint bandwidth=400Gbit/s of a node'}"),
        ("⚠", more),
        ("among", place_text(published) if published else ""),
        ("less by", less),
    ]
    fields = {"collective": collective, "devices": count or None, "nodes": nodes or None, "busbw": speed}
    fields |= {"link": link, "link_rate": rate or None, "share": speed / rate if rate else None}
    return rows, {**fields, "normal": to_builtins(published)}
