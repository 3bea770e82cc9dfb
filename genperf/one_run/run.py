"""One run, from the words of a command or from the cells of a row: a device, how many, a network, a rate.

Words become cells by the headers of a table, cells become facts by what their columns mean, and facts become a run.
Networks whose parameters are published stand in `networks.csv`; the name of any other shows its size.
"""

import re
from collections.abc import Mapping
from csv import DictReader
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import replace

from genperf.errors import GenperfError, attempted, did_you_mean
from genperf.formula.amounts import DURATIONS, MULTIPLES, amount, bandwidth
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import several_nodes
from genperf.peaks import UNKNOWN, Device, device_in, devices, precision_in
from genperf.table.cells import Source
from genperf.table.clean import is_missing
from genperf.vocabulary import any_of, section
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import ALIASES, COUNTED, canonical_of, plain_name
from genperf.words.numbers import three_digits

#: What a column of a run means beside the factors, and what of these and the factors is no number.
_WORDS = section("one_run")
NAMES = ("device", "network", "precision", "recomputation", "adapters")
_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
#: 8xh100, 2x8xA100, h100x8, 4x4090.
_DEVICE = r"(?:[a-z]|[2-5]0[6-9]0)[\w+-]*"
_MACHINE = re.compile(rf"(?i)(?:([1-9]\d*)[x×*])?([1-9]\d*)[x×*]({_DEVICE})|([a-z][\w+-]*?)[x×*]([1-9]\d*)")
_TFLOPS = re.compile(r"(?i)(t|p)flops?(/s(ec)?)?(/[a-z]+)?")
#: A number that may be a rate: 76800, 76.8k or 76800/s; the 3.1 of a network's name is none.
_BARE = re.compile(rf"\d[\d,]{{2,}}(\.\d+)?[kM]?|{_NUMBER}([kM]|/s|[kM]/s)")
_ADAPTERS = re.compile(rf"(?<![a-z]){any_of('one_run.adapters')}(?![a-z])")
#: Settings whose number may stand apart from them.
_SETTINGS = "|".join(
    any_of(place)
    for place in (
        "factors.global_batch",
        *map("transformer.{}".format, ("micro_batch", "sequence", "layers", "hidden")),
    )
)
#: What is written as one word: a rate per second, a percentage, `8 x h100`, `2 nodes of 8xh100`, `2 nodes`, `seq 4096`.
_ONE_WORD = {
    r"\s+per\s+|\s*/\s*": "/",
    r"/(second|sec)(?![a-z])": "/s",
    rf"(?<![\w.])({_NUMBER})\s*[x×*]\s+(?=[A-Za-z])": r"\1x",
    rf"^({_NUMBER}) ?nodes? (?:of |with )?(?=\d+[x×*])": r"\1x",
    rf"(?<![\w.=])({_NUMBER}) ?nodes?(?![\w/.-])": r"nodes=\1",
    rf"(?<!\S)({_SETTINGS})[ :]+({_NUMBER}[kM]?)(?!\S)": r"\1=\2",
}
#: What a training of all parameters may be called beside its network.
_TRAININGS = re.compile(r"(?i)((fully?|pre)-?)?(fine-?)?(tun(ed?|ing)|train(ed|ing)?)|sft|full|fine")
#: What the rate or the time of steps counts.
_STEPS = ("seconds", "steps", "iterations", "step", "it")
#: A size as names print it: 7B, 124M, 1.5b; total and active parameters, 30B-A3B; what names a mixture of experts.
_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bmt])(?:-?a(\d+(?:\.\d+)?)b)?(?![a-z0-9])")
_EXPERTS = re.compile(r"\d+x\d+(\.\d+)?b|moe|experts?(?![a-z])|\d+e(?![a-z0-9])")
#: How far the printed size of a network lies from its parameters at most: 7B is 6.74 or 7.62 billion.
PRINTED_SIZE = 0.1


class TrainedNetwork(Struct, frozen=True):
    """A network, as far as its name shows it; 0 is not known."""

    name: str
    parameters: float
    active: float  #: Parameters that one token uses: all but of a mixture of experts.
    layers: float = 0.0
    hidden: float = 0.0
    embedding: float = 0.0  #: Words of the input embedding, which multiplies nothing; 0 where the output shares it.
    multiply_adds: float = 0.0  #: Of one image's forward pass, in a network for images.
    published: float = 0.0  #: `active` as published, where the name is that of one network and not only a size.

    @property
    def sample(self) -> str:
        """What its rate counts."""
        return "images" if self.multiply_adds else "tokens"

    @property
    def is_mixture(self) -> bool:
        """Whether a token uses a part of the parameters."""
        return self.active < self.parameters


class TrainingRun(Struct, frozen=True):
    """One run: what it ran on, what it trained, and how fast; 0 is not known."""

    device: Device  #: With the peak that was given in the place of its rates.
    devices: float
    network: TrainedNetwork | None
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


@cache
def networks() -> dict[str, TrainedNetwork]:
    """Return the published networks by the patterns of their names."""
    with Path(__file__).with_name("networks.csv").open(encoding="utf-8") as lines:
        rows = [{name: cell for name, cell in row.items() if cell} for row in DictReader(lines)]
    return {row["pattern"]: convert(row | {"published": row["active"]}, TrainedNetwork, strict=False) for row in rows}


def network_of(text: str) -> TrainedNetwork:
    """Return the network that a name means: one that is published, or a transformer of the size in the name."""
    plain = re.sub(r"[\s_/,()]+", "-", text.strip().lower()).strip("-")
    if (pattern := next((pattern for pattern in networks() if re.fullmatch(pattern, plain)), None)) is not None:
        return networks()[pattern]
    size = _SIZE.search(plain)
    if _EXPERTS.search(plain) and not (size and size[3]):
        what = f"'{text}' is a mixture of experts, and the parameters that a token uses are not known"
        raise GenperfError(what, hint="add active=12.9B")
    if size is None:
        hint = "a size such as 7B, or a network such as llama3-8b, gpt2-xl, resnet50"
        near = did_you_mean(text, [network.name for network in networks().values()], otherwise=hint)
        raise GenperfError(f"'{text}' is no network whose size is known", hint=near)
    parameters = float(size[1]) * MULTIPLES[size[2].upper()]
    return TrainedNetwork(text.strip(), parameters, float(size[3]) * 1e9 if size[3] else parameters)


def machine_in(word: str) -> dict[str, Any]:
    """Return the device, the devices and the nodes of `2x8xh100`; nothing of another word."""
    if (match := _MACHINE.fullmatch(word)) is None:
        return {}
    nodes, count, device, named, times = match.groups()
    machine = {"device": device or named, "devices": float(count or times) * float(nodes or 1.0)}
    return machine | ({"nodes": float(nodes)} if nodes else {})


def spoken(words: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Return the machine that words begin with, their settings, and the other words."""
    text = " ".join(words).strip()
    for pattern, plain in _ONE_WORD.items():
        text = re.sub(pattern, plain, text)
    first, *items = re.sub(rf"(?<![\w.=])({_NUMBER}[kM]?) ?(%|[A-Za-z][\w/.-]*)", _setting_of, text).split() or [""]
    machine, settings = machine_in(first), dict(word.split("=", 1) for word in items if "=" in word)
    nodes = amount(settings.get("nodes", "")) or 0.0
    if several_nodes(nodes) and machine and "nodes" not in machine and (count := machine["devices"]) <= USUAL_DEVICES:
        hint = " or ".join(f"{nodes:g}x{held:g}x{machine['device']}" for held in (count, max(count // nodes, 1.0)))
        raise GenperfError(f"{first} on {nodes:g} nodes may be {count:g} devices or {nodes * count:g}", hint=hint)
    return machine, settings, [word for word in items if "=" not in word]


def _setting_of(match: re.Match[str]) -> str:
    """Return a number and its unit as one word: a machine, or a setting by the header of such a column."""
    number, unit = match.groups()
    if _TFLOPS.fullmatch(unit):
        return f"tflops={number}{'e3' if unit[0] in 'pP' else ''}"
    header = header_of(unit)
    if header.kind == "rate" or (header.kind == "time" and "/" in unit):
        return f"{unit}={number}"
    if device_in(unit) is not None:
        return f"{number}x{unit}"
    if unit == "%":
        return f"mfu={number}% "
    return f"{number}{unit}" if bandwidth(number + unit) else match[0]


def run_of_words(
    words: tuple[str, ...], peak: float | None = None, settings: Mapping[str, Any] | None = None
) -> TrainingRun | None:
    """Return the run of words and further cells; what may be two things is asked back. None where no machine begins.

    Examples
    --------
    >>> run = run_of_words(("2x8xh100", "llama3-8b", "180k", "tokens/s", "bf16", "seq=8192"))
    >>> run.devices, run.nodes, run.network.name, run.rate, run.sequence
    (16.0, 2.0, 'Llama 3 8B', 180000.0, 8192.0)
    """
    machine, named, items = spoken(words)
    if not machine:
        return None
    for name, value in named.items():
        if (meaning := _meaning(name)) is None and not header_of(name).kind:
            settings_of_runs = [word for spelled in (*ALIASES.values(), *_WORDS.values()) for word in spelled]
            example = "such as gbs=256, seq=2048, layers=32, params=7e9, active=12.9B"
            hint = did_you_mean(name, settings_of_runs, otherwise=example)
            raise GenperfError(f"'{name}' is no setting of a run", hint=hint)
        if meaning not in NAMES and _number(value) is None:
            raise GenperfError(f"'{name}={value}' holds no number", hint=f"{name}=2048")
    cells, network, bare = {**(settings or {}), **machine, **named}, list[str](), list[str]()
    for word in items:
        if precision_in(word):
            cells["precision"] = word
        elif meaning := next((of for of in ("adapters", "recomputation") if word.lower() in _WORDS[of]), None):
            cells[meaning] = word
        elif word.lower() not in _WORDS["mfu"] and not _TRAININGS.fullmatch(word):
            (bare if _BARE.fullmatch(word) else network).append(word)
    is_measured = any(header_of(name).kind or name in ("tflops", "mfu") for name in cells)
    if is_measured and not network and [word[-1] for word in bare] == ["M"]:
        # Beside a speed 124M is a network.
        network, bare = bare, []
    if bare:
        what, number = "could be tokens or samples a second, of all devices or of each", bare[0].removesuffix("/s")
        raise GenperfError(f"'{bare[0]}' {what}", hint=f"{number}tok/s of all, {number}tok/s/gpu of each, or img/s")
    return run_of_row({**cells, "model": " ".join(network)} if network else cells, peak or 0.0)


def _meaning(column: str) -> str | None:
    """Return what a column or a setting of a run means."""
    return next((of for of, words in _WORDS.items() if plain_name(column) in words), canonical_of(column))


def _number(cell: Any) -> float | None:
    """Return the number of a cell, which may be an amount or a percentage; None for anything else."""
    text = str(cell).replace(",", "").strip()
    number = amount(text.upper() if text[-1:].isalpha() else text.removesuffix("%"))
    return number / 100.0 if number is not None and text.endswith("%") else number


def run_in(source: Source, peak: float | None = None) -> TrainingRun | GenperfError | None:
    """Return the run of a table of one row that names its device, or why that is none; None of another table."""
    cells = {name: column[0] for name, column in source.cells.items()} if len(source) == 1 else {}
    named = [str(cell) for name, cell in cells.items() if plain_name(name) in _WORDS["device"]]
    if named and (peak or any(map(device_in, named))):
        return run_of_row(cells, peak or 0.0)
    supposed = attempted(run_of_row, cells, 1.0) if named else None
    is_run = isinstance(supposed, TrainingRun) and supposed.network is not None and supposed.rate > 0.0
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
    if peak:
        device = replace(device, rates={"16-bit": peak}, sparse=1.0)
    flags = {name: str(named[name]).strip().lower() not in _WORDS["none"] for name in NAMES if name in named}
    adapters = flags.get("adapters", False) or _ADAPTERS.search(" ".join(map(str, cells.values())).lower()) is not None
    is_percent = stated > 2.0 and "%" not in str(named["mfu"])
    speeds = {"printed": 1e12 * numbers.get("tflops", 0.0), "stated": stated / 100.0 if is_percent else stated}
    facts = {"precision": precision, "sequence": numbers.get("sequence", 0.0), "recomputed": flags.get("recomputation")}
    nodes = nodes or (max(count / per_node, 1.0) if count and per_node else 0.0)
    run = TrainingRun(device, count or 1.0, _network(named, numbers), nodes)
    run = replace(run, adapters=adapters, **speeds, **facts)
    return run if run.network is None else _with_rate(run, run.network, cells, numbers)


def _network(named: Mapping[str, Any], numbers: Mapping[str, float]) -> TrainedNetwork | None:
    """Return the network of a row: by its name, or by its parameters, with the shape that columns give."""
    size = numbers.get("parameters") or 1e9 * numbers.get("parameters_billion", 0.0)
    shape: dict[str, Any] = {name: numbers[name] for name in ("active", "layers", "hidden") if name in numbers}
    name = str(named.get("network", f"{three_digits(size)} parameters"))
    try:
        network = network_of(name) if "network" in named else None
        if network and not size and shape.get("layers", network.layers) < network.layers:
            what = f"layers={shape['layers']:g} are fewer than the {network.layers:g} of {network.name}"
            raise GenperfError(what, hint="add the parameters of what ran: params=4B")
    except GenperfError:
        # Of a run that prints its operations, or its utilisation, the network need not be known.
        if not size and not {"tflops", "mfu"} & named.keys():
            raise
        network = None
    if network is None:
        return TrainedNetwork(name, size, **{"active": size, **shape}) if size else None
    parameters, active = size or network.parameters, network.active * (size or network.parameters) / network.parameters
    if abs(parameters / network.parameters - 1.0) > PRINTED_SIZE:
        # Of another network than the one of the name, fewer layers, say, the shape is not known.
        network = TrainedNetwork(network.name, parameters, active)
    return replace(network, **{"parameters": parameters, "active": active, **shape})


def _with_rate(
    run: TrainingRun, network: TrainedNetwork, cells: Mapping[str, Any], numbers: Mapping[str, float]
) -> TrainingRun:
    """Return a run with its samples a second and the time of its step: from a rate, or from a step's time."""
    sample, column = network.sample, next((name for name in cells if canonical_of(name) == "batch"), "")
    length, batch = run.sequence if sample == "tokens" else 1.0, numbers.get("batch", 0.0)
    is_open = run.devices > 1.0 and "global_batch" not in numbers and plain_name(column) in ("batch", "batch_size")
    of_a_step = length * numbers.get("global_batch", 0.0 if is_open else batch * run.devices)
    #: Samples of the network in one of what is counted.
    worth = dict.fromkeys(("", "samples", "sequences", "sentences"), length) | dict.fromkeys(_STEPS, of_a_step)
    worth |= dict.fromkeys(("tokens",) if sample == "tokens" else ("images", "frames"), 1.0)
    rates = [
        ("seconds" if header.kind == "time" else header.counted, header, value)
        for header, value in ((header_of(column), _number(cell)) for column, cell in cells.items())
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
    counted, of_samples = rates[0][0], rates[0][0] in ("samples", "sequences", "")
    if counted in ("tokens", "images"):
        what = f"{network.name} is trained on {sample}, and the rate is of {counted}"
        hint = f"a rate in {sample}/s, or another network"
    elif is_open and not of_samples:
        what = f"{column}={batch:g} may be of each device or of all"
        hint = f"gbs={batch:g} of all, or batch_per_gpu={batch:g} of each"
    else:
        what = "the time of a step" if counted == "seconds" else f"{counted or 'a rate without a unit'} a second"
        what = f"{what} may be of any number of {sample}"
        hint = f"add {'seq=2048' if of_samples else 'gbs=256 and seq=2048'}, or give tok/s"
    raise GenperfError(what, hint=hint)
