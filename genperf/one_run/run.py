"""One run, from the words of a command or from the cells of a row: a device, how many, a network, a rate.

Words become cells by the headers of a table, cells become facts by what their columns mean, and facts become a run.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.errors import GenperfError, attempted, did_you_mean
from genperf.formula.amounts import DURATIONS, amount, bandwidth
from genperf.networks import TrainedNetwork, network_named
from genperf.panel.machine import SPLITS, USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.peaks import PRECISIONS, UNKNOWN, Device, device_in, devices, precision_in
from genperf.table.cells import Source
from genperf.table.clean import is_missing
from genperf.vocabulary import any_of, section
from genperf.vocabulary.headers import canonical_time, header_of
from genperf.vocabulary.names import ALIASES, COUNTED, canonical_of, plain_name
from genperf.words.numbers import three_digits

#: What a column of a run means beside the factors, and what of these and the factors is no number.
_WORDS = section("one_run")
NAMES = ("device", "network", "precision", "recomputation", "adapters", "collective")
#: `8xh100`, `2x8xA100`, `2 nodes of 8 x a100`, `8 h100s`, `4x4090`; `h100x8`.
_MACHINE = re.compile(
    r"(?i)(?:([1-9]\d*)(?: ?[x×*] ?| nodes? (?:of |with )?))??([1-9]\d*)( ?[x×*] ?| ?(?=[a-wyz]\S*\d))"
    r"((?:[a-z]|[2-5]0[6-9]0)[\w+-]*)(?!\S)|([a-z][\w+-]*?)[x×*]([1-9]\d*)(?!\S)"
)
_N = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
_UNIT = r"[a-z][\w.-]*(?:(?: ?/ ?| per )[a-z]+)*"
#: What words say of a run, each with its column and its cell, in the order in which they are looked for.
_PHRASES = [
    (re.compile(rf"(?i)(?<!\S)(?:{words})(?!\S)"), column, cell)
    for words, column, cell in (
        (rf"(?:{any_of('one_run.mfu')}(?: of|:)? )?({_N} ?%)(?: ?{any_of('one_run.mfu')})?", "mfu", r"\1"),
        (rf"({_N}) ?tflops?(?:/s(?:ec)?)?(?:/[a-z]+)?", "tflops", r"\1"),
        (rf"({_N}) ?pflops?(?:/s(?:ec)?)?(?:/[a-z]+)?", "tflops", r"\1e3"),
        (rf"({_N} ?(?-i:[kMGT]?(?:bit|[bB]))(?:/s|ps))", "busbw", r"\1"),
        *((words, "collective", name) for name, (words,) in section("collectives").items()),
        *((any_of(f"one_run.{name}"), name, r"\g<0>") for name in ("adapters", "recomputation")),
        (rf"(?:{'|'.join(PRECISIONS.values())})(?:[^a-z0-9\s]\S*)?", "precision", r"\g<0>"),
        (rf"({_N}[kMB]?) ?({_UNIT})", r"\2", r"\1"),
        (r"([a-z_][\w./-]*)=(\S*)", r"\1", r"\2"),
        *((rf"({name}):? ({_N}[kMB]?)", r"\1", r"\2") for name in (r"[a-z_]\w* [a-z]\w*", r"[a-z_]\w*")),
        (rf"{any_of('one_run.training')}|\d+ ?gi?b", "", ""),
    )
]
#: A number that may be a rate: 76800, 76.8k or 76800/s; the 3.1 of a network's name is none, nor is 124M.
_BARE = re.compile(rf"\d[\d,]{{2,}}(\.\d+)?k?|{_N}(k|[kM]?/s)")
_ADAPTERS = re.compile(rf"(?<![a-z]){any_of('one_run.adapters')}(?![a-z])")
#: What the rate or the time of steps counts.
_STEPS = ("seconds", "steps", "iterations", "step", "it")
#: How far the printed size of a network lies from its parameters at most: 7B is 6.74 or 7.62 billion.
PRINTED_SIZE = 0.1


class Collective(Struct, frozen=True):
    """A test of a collective: where it ran, the bytes a second of its bus, and the bytes of its largest message."""

    collective: str
    devices: float  #: 0 where it is not known.
    nodes: float
    busbw: float
    device: Device = UNKNOWN
    size: float | None = None


class TrainingRun(Struct, frozen=True):
    """One run: what it ran on, what it trained, and how fast; 0 is not known."""

    device: Device  #: With the peak that was given in the place of its rates.
    devices: float
    network: TrainedNetwork
    nodes: float = 0.0
    rate: float = 0.0  #: Samples (tokens or images) a second of all devices.
    mistakes: tuple[tuple[str, float], ...] = ()  #: Usual mistakes in the given rate, and the factor that mends each.
    step_seconds: float = 0.0
    printed: float = 0.0  #: Operations a second of a device, as the run prints them.
    stated: float = 0.0  #: The utilisation that the run states.
    precision: str | None = None  #: One of `genperf.peaks.PRECISIONS`; None is taken for 16 bits.
    sequence: float = 0.0
    recomputed: bool | None = None  #: Whether activations are computed again in the backward pass.
    adapters: bool = False  #: Whether only adapters are trained (LoRA), which takes about 4·P operations a token.

    @property
    def dense_peak(self) -> float:
        """Operations per second of a device, dense."""
        return self.device.rate(self.precision or "16-bit")

    @property
    def used_nodes(self) -> float:
        """Its nodes: of the usual number of devices where they are not known."""
        return self.nodes or float(np.ceil(max(self.devices, 1.0) / USUAL_DEVICES))

    @property
    def label(self) -> str:
        """The machine as it is written: `8 x H100`."""
        return f"{self.devices:g} x {self.device.label or 'device'}"


def machine_in(text: str) -> tuple[dict[str, Any], str]:
    """Return the device, the devices and the nodes that a text begins with, `2x8xh100`, and what follows."""
    match = _MACHINE.match(text)
    if match is None or (match[4] and not match[3].strip() and device_in(match[4]) is None):
        return {}, text
    nodes, count, _, device, named, times = match.groups()
    machine = {"device": device or named, "devices": float(count or times) * float(nodes or 1.0)}
    return machine | ({"nodes": float(nodes)} if nodes else {}), text[match.end() :]


def row_of_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the cells of a row that words describe, by their columns; nothing where no machine begins.

    What may be two things is asked back.

    Examples
    --------
    >>> row_of_words(("2x8xh100", "llama3-8b", "180k", "tokens/s", "bf16", "seq", "8192"))
    {'device': 'h100', 'devices': 16.0, 'nodes': 2.0, 'precision': 'bf16', 'tokens/s': '180k', 'seq': '8192', \
'model': 'llama3-8b'}
    """
    row, rest = machine_in(" ".join(re.sub(r",(?!\S)", " ", " ".join(words)).split()))
    if not row:
        return {}
    device, count, is_open = row["device"], row["devices"], "nodes" not in row
    for pattern, column, cell in _PHRASES:
        rest = pattern.sub(partial(_taken, row, column, cell), rest)
    if bare := next(filter(_BARE.fullmatch, rest.split()), ""):
        what, number = "could be tokens or samples a second, of all devices or of each", bare.removesuffix("/s")
        raise GenperfError(f"'{bare}' {what}", hint=f"{number}tok/s of all, {number}tok/s/gpu of each, or img/s")
    nodes = _number(row.get("nodes", 0.0)) or 0.0
    if is_open and several_nodes(nodes) and count <= USUAL_DEVICES:
        hint = " or ".join(f"{nodes:g}x{held:g}x{device}" for held in (count, max(count // nodes, 1.0)))
        what = f"{count:g}x{device} on {nodes:g} nodes may be {count:g} devices or {nodes * count:g}"
        raise GenperfError(what, hint=hint)
    return row | ({"model": " ".join(rest.split())} if rest.strip() else {})


def _taken(row: dict[str, Any], column: str, cell: str, match: re.Match[str]) -> str:
    """Put what words say into a row, where their column means something; return what stays of them."""
    name, value = re.sub(" ?/ ?| per ", "/", match.expand(column)), match.expand(cell)
    meaning, header, is_set = _meaning(name), header_of(name), "=" in match[0]
    if is_set and meaning is None and not header.kind:
        settings = [word for spelled in (*ALIASES.values(), *_WORDS.values()) for word in spelled]
        hint = did_you_mean(name, settings, otherwise="such as gbs=256, seq=2048, layers=32, params=7e9, active=12.9B")
        raise GenperfError(f"'{name}' is no setting of a run", hint=hint)
    if is_set and meaning not in NAMES and _number(value) is None:
        raise GenperfError(f"'{name}={value}' holds no number", hint=f"{name}=2048")
    is_time, is_unit = canonical_time(name) in ("s", "ms"), match[0][0].isdigit()
    # `micro_batch 4 seq 4096`: behind a number stands its unit, or what it counts.
    is_named = meaning in COUNTED or header.kind == "rate" if is_unit else meaning not in (None, *NAMES) or header.kind
    if is_set or is_named or is_time or column.isalpha():
        row[f"{canonical_time(name)}/step" if is_time else name] = value
        return " "
    return match[0] if column else " "


def _meaning(column: str) -> str | None:
    """Return what a column or a setting of a run means."""
    return next((of for of, words in _WORDS.items() if plain_name(column) in words), canonical_of(column))


def _number(cell: Any) -> float | None:
    """Return the number of a cell, which may be an amount or a percentage; None for anything else."""
    text = str(cell).replace(",", "").strip()
    number = amount(text.upper() if text[-1:].isalpha() else text.removesuffix("%"))
    return number / 100.0 if number is not None and text.endswith("%") else number


def run_of_words(
    words: Sequence[str], peak: float | None = None, settings: Mapping[str, Any] | None = None
) -> TrainingRun | Collective | None:
    """Return the run, or the test of a collective, that words and settings describe; None where no machine begins."""
    row = row_of_words(words)
    if "collective" in row and row["devices"] < 2.0:
        raise GenperfError(
            f"a collective of one {row['device'].upper()} uses no link", hint="8xh100 all_reduce 470GB/s"
        )
    if "collective" in row:
        return collective_of(row)
    return run_of_row({**(settings or {}), **row}, peak or 0.0) if row else None


def collective_of(row: Mapping[str, Any]) -> Collective:
    """Return the test of a collective of a row, whose devices may not be known."""
    device, speed, size = device_in(row["device"]) or UNKNOWN, bandwidth(row.get("busbw", "")), row.get("size", "")
    if speed is None:
        raise GenperfError("a test of collectives needs its bus bandwidth", hint="8xh100 all_reduce 470GB/s")
    nodes = _number(row.get("nodes")) or 1.0
    return Collective(row["collective"], row.get("devices", 0.0), nodes, speed, device, amount(str(size)))


def run_in(source: Source, peak: float | None = None) -> TrainingRun | GenperfError | None:
    """Return the run of a table of one row that names its device, or why that is none; None of another table."""
    cells = {name: column[0] for name, column in source.cells.items()} if len(source) == 1 else {}
    named = [str(cell) for name, cell in cells.items() if plain_name(name) in _WORDS["device"]]
    if named and (peak or any(map(device_in, named))):
        return run_of_row(cells, peak or 0.0)
    supposed = attempted(run_of_row, cells, 1.0) if named else None
    is_run = isinstance(supposed, TrainingRun) and supposed.rate > 0.0
    return attempted(run_of_row, cells) if is_run else None


def run_of_row(cells: Mapping[str, Any], peak: float = 0.0) -> TrainingRun:
    """Return the run of a row, whose columns are found by their names.

    Examples
    --------
    >>> row = {"device": "NVIDIA A100 80GB", "gpus": 64, "model": "Llama 2 7B", "tokens_per_s_per_gpu": 3700}
    >>> run_of_row(row).rate
    236800.0
    """
    cells = {name: cell for name, cell in cells.items() if not is_missing(cell) and str(cell).strip()}
    # Of two columns of one meaning the first counts.
    named = {_meaning(column) or column: cell for column, cell in reversed(cells.items())}
    numbers = {name: value for name, cell in named.items() if (value := _number(cell)) is not None}
    for column, cell in cells.items():
        name = _meaning(column) or column
        if numbers.get(name, 0.0) < 0.0 or (name in COUNTED and not numbers.get(name, 0.0)):
            raise GenperfError(f"'{column}' of a run is {cell}", hint="a number above zero, or leave it out")
    text, precision = str(named.get("device", "")), precision_in(str(named.get("precision", "")))
    device, stated = device_in(text) or UNKNOWN, numbers.get("mfu", 0.0)
    if device is UNKNOWN and not peak:
        hint = "a device such as a100, h100, mi300x, tpu-v5p, or its peak: --peak 312T"
        what = f"'{text}' is no device whose peak is known" if text else "the device is not named"
        raise GenperfError(what, hint=did_you_mean(text.lower(), [*devices()], otherwise=hint))
    count, nodes, per_node = (numbers.get(name, 0.0) for name in ("workers", "nodes", "devices_per_node"))
    count = count or nodes * per_node
    if device.name == "mi250x" and per_node == 8.0:
        # Frameworks count each of its two dies as a device: eight on a node of four.
        peak = 0.5 * (peak or device.rate(precision or "16-bit"))
    flags = {name: str(named[name]).strip().lower() not in _WORDS["none"] for name in NAMES if name in named}
    run = TrainingRun(
        replace(device, rates={"16-bit": peak}, sparse=1.0) if peak else device,
        count or 1.0,
        _network(named, numbers),
        nodes or (max(count / per_node, 1.0) if count and per_node else 0.0),
        printed=1e12 * numbers.get("tflops", 0.0),
        # A share above 2 is in per cent.
        stated=stated / 100.0 if stated > 2.0 and "%" not in str(named["mfu"]) else stated,
        precision=precision,
        sequence=numbers.get("sequence", 0.0),
        recomputed=flags.get("recomputation"),
        adapters=flags.get("adapters", False) or bool(_ADAPTERS.search(" ".join(map(str, cells.values())).lower())),
    )
    return _with_rate(run, cells, numbers) if run.network.parameters else run


def _network(named: Mapping[str, Any], numbers: Mapping[str, float]) -> TrainedNetwork:
    """Return the network of a row: by its name, or by its parameters, with the shape that columns give."""
    size = numbers.get("parameters") or 1e9 * numbers.get("parameters_billion", 0.0)
    shape: dict[str, Any] = {name: numbers[name] for name in ("active", "layers", "hidden") if name in numbers}
    name = str(named.get("network", f"{three_digits(size)} parameters" if size else ""))
    network = attempted(network_named, name) if "network" in named else TrainedNetwork(name)
    if isinstance(network, TrainedNetwork) and not size and shape.get("layers", network.layers) < network.layers:
        what = f"layers={shape['layers']:g} are fewer than the {network.layers:g} of {network.name}"
        network = GenperfError(what, hint="add the parameters of what ran: params=4B")
    if isinstance(network, GenperfError):
        if not size and not {"tflops", "mfu"} & named.keys():
            raise network
        # Of a run that prints its operations, or its utilisation, the network need not be known.
        network = TrainedNetwork(name if size else "")
    parameters = size or network.parameters
    active = network.active * parameters / network.parameters if network.parameters else parameters
    if abs(parameters - network.parameters) > PRINTED_SIZE * network.parameters:
        # Of another network than the one of the name, fewer layers, say, the shape is not known.
        network = TrainedNetwork(network.name)
    return replace(network, **{"parameters": parameters, "active": active, **shape})


def _with_rate(run: TrainingRun, cells: Mapping[str, Any], numbers: Mapping[str, float]) -> TrainingRun:
    """Return a run with its samples a second and the time of its step: from a rate, or from a step's time."""
    sample, column = run.network.sample, next((name for name in cells if canonical_of(name) == "batch"), "")
    passes = numbers.get("micro_batch", 0.0) * numbers.get("micro_batches", 1.0)
    splits = float(np.prod([numbers.get(way, 1.0) for way in SPLITS]))
    length, batch = run.sequence if sample == "tokens" else 1.0, numbers.get("batch", passes / splits)
    is_open = run.devices > 1.0 and "global_batch" not in numbers and plain_name(column) in ("batch", "batch_size")
    of_a_step = length * numbers.get("global_batch", 0.0 if is_open else batch * run.devices)
    #: Samples of the network in one of what is counted.
    worth = dict.fromkeys(("", "samples", "sequences", "sentences"), length) | dict.fromkeys(_STEPS, of_a_step)
    worth |= dict.fromkeys(("tokens",) if sample == "tokens" else ("images", "frames"), 1.0)
    headers = ((header_of(column), _number(cell)) for column, cell in cells.items())
    rates = [
        ("seconds" if header.kind == "time" else header.counted, header, value)
        for header, value in headers
        if value and header.kind in ("rate", "time") and header.of != "job"
    ]
    for counted, header, value in sorted(rates, key=lambda rate: rate[0] != sample):
        if not (samples := worth.get(counted, 0.0)):
            continue
        timed, in_steps, unit = header.kind == "time", counted in _STEPS, DURATIONS.get(header.unit, 1.0)
        sharing = run.used_nodes if header.level == "nodes" else run.devices
        rate = samples / (value * unit) if timed else samples * value / unit
        rate *= sharing if header.shared else 1.0
        of_all, noun = "global_batch" in numbers if in_steps else not header.shared, "batch" if in_steps else "rate"
        mistakes = (
            (of_all, f"the {noun} is of each device, and not of all", run.devices),
            (not of_all, f"the {noun} is of all devices, and not of each", 1.0 / sharing),
            (timed and header.unit == "ms", "the time is in seconds, and not in milliseconds", 1e-3),
            (timed and header.unit == "s", "the time is in milliseconds, and not in seconds", 1e3),
            (counted == "tokens", "the rate is of sequences, and not of tokens", length or 1.0),
            (samples == length and not in_steps, "the rate is of tokens, and not of sequences", 1.0 / samples),
        )
        usual = tuple((text, factor) for holds, text, factor in mistakes if holds and factor != 1.0)
        return replace(run, rate=rate, mistakes=usual, step_seconds=of_a_step / rate)
    if not rates or run.printed or run.stated:
        return run
    counted, lacking = rates[0][0], [] if length else ["seq=2048"]
    if counted in ("tokens", "images"):
        what = f"{run.network.name} is trained on {sample}, and the rate is of {counted}"
        raise GenperfError(what, hint=f"a rate in {sample}/s, or another network")
    if counted in _STEPS and is_open:
        hint = f"gbs={batch:g} of all, or batch_per_gpu={batch:g} of each"
        raise GenperfError(f"{column}={batch:g} may be of each device or of all", hint=hint)
    lacking += ["gbs=256"] if counted in _STEPS and not numbers.get("global_batch", batch) else []
    what = "the time of a step" if counted == "seconds" else f"{counted or 'a rate without a unit'} a second"
    raise GenperfError(f"{what} may be of any number of {sample}", hint=f"add {' and '.join(lacking)}, or give tok/s")
