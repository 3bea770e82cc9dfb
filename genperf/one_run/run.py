"""One run, from the words of a command or from the cells of a row: a device, how many, a network, a rate."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from genperf.errors import GenperfError, did_you_mean
from genperf.formula.amounts import DURATIONS, MULTIPLES, amount
from genperf.one_run.networks import Network, network_of
from genperf.peaks import Device, device_in, devices, precision_in
from genperf.table.cells import Source
from genperf.table.clean import is_missing, number_in
from genperf.vocabulary import section, words_of
from genperf.vocabulary.headers import Header, header_of
from genperf.vocabulary.names import canonical_of, plain_name
from genperf.words.numbers import three_digits

_WORDS = section("one_run")
#: What a column of a run means beside the factors.
COLUMNS = ("device", "network", "active", "mfu", "tflops", "recomputation", "adapters")
_NUMBER = r"\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?"
#: 8xh100, 2x8xA100, h100x8.
_MACHINE = re.compile(r"(?:(?P<nodes>\d+)[x×*])?(?P<count>\d+)[x×*](?P<device>[a-z][\w.+-]*)", re.IGNORECASE)
_REVERSED = re.compile(r"(?P<device>[a-z][\w.+-]*?)[x×*](?P<count>\d+)", re.IGNORECASE)
_RATE = re.compile(rf"(?P<number>{_NUMBER})(?P<multiple>[kM]?)(?P<unit>[A-Za-z]+(?:/[A-Za-z]+)*)")
_TFLOPS = re.compile(r"(t|p)flops?(/s(ec)?)?(/[a-z]+)?", re.IGNORECASE)
#: A number that may be a rate: 76800, 76.8k or 76800/s; the 3.1 of a network's name is none.
_BARE = re.compile(rf"\d[\d,]{{2,}}(\.\d+)?[kM]?|{_NUMBER}([kM]|/s|[kM]/s)")
#: How far the printed size of a network lies from its parameters at most: 7B is 6.74 or 7.62 billion.
PRINTED_SIZE = 0.1
#: What a rate counts that is no sample: steps, whose batch must be known.
_STEPS = ("steps", "iterations", "step", "it")


@dataclass(frozen=True)
class Run:
    """One run: what it ran on, what it trained, and how fast."""

    #: None where only a peak is given.
    device: Device | None
    #: Operations per second of a device, dense; None for that of the device and the precision.
    peak: float | None
    devices: float
    nodes: float | None
    network: Network | None
    #: Samples (tokens or images) a second of all devices.
    rate: float | None = None
    #: Operations a second of a device, as the run prints them, and the utilisation that it states.
    printed: float | None = None
    stated: float | None = None
    #: One of `genperf.peaks.PRECISIONS`; None where it is not known, and 16 bits are supposed.
    precision: str | None = None
    sequence: float | None = None
    #: Whether activations are computed again in the backward pass; None where that is not known.
    recomputed: bool | None = None
    #: Whether only adapters are trained (LoRA), which takes about 4·P operations a token.
    adapters: bool = False
    #: Samples of a step of all devices, of tokens each with its length.
    step_samples: float | None = None

    @property
    def step_seconds(self) -> float | None:
        """The time of a step; None where its samples are not known."""
        return None if self.step_samples is None or self.rate is None else self.step_samples / self.rate

    @property
    def dense_peak(self) -> float:
        """Operations per second of a device, dense."""
        if self.peak is not None or self.device is None:
            return self.peak or 0.0
        return self.device.rate(self.precision or "16-bit")

    @property
    def label(self) -> str:
        """The machine as it is written: `8 x H100`."""
        return f"{self.devices:g} x {'device' if self.device is None else self.device.label}"


def machine_of(text: str) -> tuple[float, float | None, Device] | None:
    """Return the devices, the nodes and the device of `2x8xh100`; None for another text, or an unknown device."""
    machine = _MACHINE.fullmatch(text) or _REVERSED.fullmatch(text)
    device = None if machine is None else device_in(machine["device"])
    if machine is None or device is None:
        return None
    nodes = machine.groupdict().get("nodes")
    return float(machine["count"]) * float(nodes or 1.0), float(nodes) if nodes else None, device


def is_run(words: tuple[str, ...]) -> bool:
    """Tell whether words describe one run: the first ones name a number of devices.

    Examples
    --------
    >>> is_run(("8xh100", "7B")), is_run(("runs.csv",)), is_run(("1:410", "2:792")), is_run(("64", "x", "A100"))
    (True, False, False, True)
    """
    text = _spaced(" ".join(words))
    first = text.split(" ")[0] if text else ""
    machine = _MACHINE.fullmatch(first) or _REVERSED.fullmatch(first)
    return machine is not None and "." not in machine["device"]


def run_of_words(words: tuple[str, ...], peak: float | None = None, settings: Mapping[str, Any] | None = None) -> Run:
    """Return the run that words describe: `8xh100 7B 76800tok/s bf16 seq=2048`.

    Parameters
    ----------
    peak : float, optional
        Operations per second of a device, where it is not known by its name.
    settings : mapping, optional
        Further cells of the run by name: `{"model": "7B", "tokens_per_s": 76800}`.

    Raises
    ------
    GenperfError
        For a device or a word that is not known, and a rate whose unit may be two things.

    Examples
    --------
    >>> run = run_of_words(("2x8xh100", "llama3-8b", "180k", "tokens/s", "bf16", "seq=8192"))
    >>> run.devices, run.nodes, run.network.name, run.rate, run.sequence
    (16.0, 2.0, 'Llama 3 8B', 180000.0, 8192.0)
    """
    cells: dict[str, Any] = dict(settings or {})
    names: list[str] = []
    for word in _spaced(" ".join(words)).split():
        name, equals, value = word.partition("=")
        machine = _MACHINE.fullmatch(word) or _REVERSED.fullmatch(word)
        rate = _RATE.fullmatch(word)
        if equals:
            cells[name] = value
        elif machine is not None and "device" not in cells:
            cells |= {"device": machine["device"], "devices": machine["count"]}
            nodes = machine.groupdict().get("nodes")
            if nodes:
                cells |= {"devices": str(float(nodes) * float(machine["count"])), "nodes": nodes}
        elif word.endswith("%"):
            cells["mfu"] = str(number_in(word[:-1]) / 100.0)
        elif precision_in(word):
            cells["precision"] = word
        elif word.lower() in _WORDS["adapters"]:
            cells["adapters"] = word
        elif word.lower() in _WORDS["recomputed"]:
            cells["recomputation"] = word
        elif rate is not None and _column_of_rate(rate["unit"]):
            cells[_column_of_rate(rate["unit"])] = str(
                number_in(rate["number"].replace(",", "")) * MULTIPLES.get(rate["multiple"], 1.0)
            )
        elif _BARE.fullmatch(word):
            raise GenperfError(
                f"'{word}' could be tokens or samples a second, of all devices or of each",
                hint=f"{word.removesuffix('/s')}tok/s of all, {word.removesuffix('/s')}tok/s/gpu of each, or img/s",
            )
        elif word.lower() not in _WORDS["mfu"]:
            names.append(word)
    if names:
        cells["model"] = " ".join(names)
    return run_of_row(cells, peak)


def _spaced(text: str) -> str:
    """Return words with a rate's number and unit as one, and the words of a rate as slashes."""
    text = re.sub(r"\s+per\s+|\s*/\s*", "/", text.strip())
    text = re.sub(r"/(second|sec)(?![a-z])", "/s", text)
    text = re.sub(rf"(?<![\w.])({_NUMBER})\s*[x×*]\s+(?=[A-Za-z])", r"\1x", text)

    def joined(match: re.Match[str]) -> str:
        number, unit = match[1], match[2]
        if unit in ("nodes", "node"):
            return f"nodes={number}"
        if device_in(unit) is not None:
            return f"{number}x{unit}"
        return f"{number}{unit}" if _column_of_rate(unit) else match[0]

    return re.sub(rf"(?<![\w.=])({_NUMBER}[kM]?) ?([A-Za-z][\w/.-]*)", joined, text)


def _column_of_rate(unit: str) -> str:
    """Return the header of a rate's or a step time's column by its unit; empty for no such unit."""
    if _TFLOPS.fullmatch(unit):
        return "pflops" if unit[0] in "pP" else "tflops"
    header = header_of(unit)
    return unit if header.kind == "rate" or (header.kind == "time" and "/" in unit) else ""


def run_of_row(cells: Mapping[str, Any], peak: float | None = None) -> Run:
    """Return the run of a row, whose columns are found by their names.

    Raises
    ------
    GenperfError
        Where the device, its number or the network is not known.

    Examples
    --------
    >>> row = {"device": "NVIDIA A100 80GB", "gpus": 64, "model": "Llama 2 7B", "tokens_per_s_per_gpu": 3700}
    >>> run_of_row(row).rate
    236800.0
    """
    filled = {name: cell for name, cell in cells.items() if not is_missing(cell) and str(cell).strip()}
    named: dict[str, Any] = {}
    for column, cell in filled.items():
        meaning = next((of for of in COLUMNS if plain_name(column) in _WORDS[of]), canonical_of(column))
        named.setdefault(meaning or column, cell)
    numbers = {name: _number(cell) for name, cell in named.items()}
    device = _device(str(named.get("device", "")), peak)
    count = numbers.get("workers")
    nodes, each = numbers.get("nodes"), numbers.get("devices_per_node")
    if count is None and nodes and each:
        count = nodes * each
    if nodes is None and count and each:
        nodes = max(count / each, 1.0)
    network = _network(named, numbers)
    sequence = numbers.get("sequence")
    tflops = numbers.get("tflops") or 1e3 * (numbers.get("pflops") or 0.0)
    stated = numbers.get("mfu")
    run = Run(
        device,
        peak,
        count or 1.0,
        nodes,
        network,
        printed=1e12 * tflops if tflops else None,
        stated=stated / 100.0 if stated is not None and stated > 2.0 else stated,
        precision=precision_in(str(named.get("precision", ""))),
        sequence=sequence,
        recomputed=_switched(named.get("recomputation")),
        adapters=_switched(named.get("adapters")) is True or _trains_adapters(filled),
    )
    if device is not None and device.name == "mi250x" and each == 8.0:
        # Frameworks count each of its two dies as a device: eight on a node of four.
        run = replace(run, peak=0.5 * run.dense_peak)
    batch, length = _batch(run, filled, numbers), 1.0 if network and network.sample == "images" else sequence
    run = replace(run, step_samples=batch * length if batch is not None and length is not None else None)
    return replace(run, rate=_rate(run, filled))


def run_in(source: Source) -> Run | None:
    """Return the run of a table of one row that names its device; None for another table.

    Examples
    --------
    >>> from genperf.table.cells import source_of
    >>> cells = ("8", "H100", "7B", "76800")
    >>> run_in(source_of("one.csv", ("gpus", "gpu", "model", "tokens_per_s"), [cells], [1])).rate
    76800.0
    """
    if len(source) != 1:
        return None
    cells = {name: column[0] for name, column in source.cells.items()}
    named = [str(cell) for name, cell in cells.items() if plain_name(name) in _WORDS["device"]]
    return run_of_row(cells) if any(map(device_in, named)) else None


def _number(cell: Any) -> float | None:
    """Return the number of a cell, which may be an amount; None for a text."""
    if isinstance(cell, str):
        return amount(cell.replace(",", "").upper()) if cell[-1:].isalpha() else amount(cell.replace(",", ""))
    return None if isinstance(cell, bool) else float(cell)


def _device(text: str, peak: float | None) -> Device | None:
    """Return the device of a name."""
    device = device_in(text)
    if device is None and peak is None:
        near = did_you_mean(text.lower(), [*devices()]) if text else ""
        known = "a device such as a100, h100, mi300x, tpu-v5p, or its peak: --peak 312T"
        what = f"'{text}' is no device whose peak is known" if text else "the device is not named"
        raise GenperfError(what, hint=f"{near} Or {known}" if near else known)
    return device


def _network(named: Mapping[str, Any], numbers: Mapping[str, float | None]) -> Network | None:
    """Return the network of a row: by its name, or by its parameters, with the shape that columns give."""
    name, parameters = named.get("network"), numbers.get("parameters")
    active, layers, hidden = (numbers.get(column) for column in ("active", "layers", "hidden"))
    if parameters is None and numbers.get("parameters_billion"):
        parameters = 1e9 * (numbers["parameters_billion"] or 0.0)
    try:
        network = network_of(str(name)) if name is not None else None
    except GenperfError:
        # Of a run that prints its operations, or its utilisation, the network need not be known.
        if parameters is None and not {"tflops", "mfu"} & named.keys():
            raise
        network = None
    if network is None:
        if parameters is None:
            return None
        return Network(
            str(name or f"{three_digits(parameters)} parameters"), parameters, active or parameters, layers, hidden
        )
    if layers and network.layers and layers < network.layers and parameters is None:
        if {"tflops", "mfu"} & named.keys():
            return None
        what = f"layers={layers:g} are fewer than the {network.layers:g} of {network.name}"
        raise GenperfError(what, hint="add the parameters of what ran: params=4B")
    size = parameters or network.parameters
    if abs(size / network.parameters - 1.0) > PRINTED_SIZE:
        # Another network than the one of the name: fewer layers, say.
        return Network(network.name, size, active or size * network.active / network.parameters, layers, hidden)
    active = active or network.active * size / network.parameters
    layers, hidden = layers or network.layers, hidden or network.hidden
    return replace(network, parameters=size, active=active, layers=layers, hidden=hidden)


def _switched(cell: Any) -> bool | None:
    """Return whether a cell names something that is used; None where it is empty."""
    return None if cell is None else str(cell).strip().lower() not in _WORDS["none"]


def _trains_adapters(cells: Mapping[str, Any]) -> bool:
    """Return whether a text of a row says that adapters are trained."""
    text = " ".join(str(cell) for cell in cells.values()).lower()
    return re.search(rf"(?<![a-z])({'|'.join(words_of('one_run.adapters'))})(?![a-z])", text) is not None


def _rate(run: Run, cells: Mapping[str, Any]) -> float | None:
    """Return the samples a second of all devices: from a rate, or from a step's time and its batch."""
    rates: dict[str, tuple[Header, float]] = {}
    for column, cell in cells.items():
        header, value = header_of(column), _number(cell)
        if header.kind in ("rate", "time") and value is not None and (header.kind == "rate" or header.of != "job"):
            rates.setdefault(header.counted if header.kind == "rate" else "seconds", (header, value))
    network = run.network
    if not rates or network is None:
        return None
    # Samples of the network in one of what is counted.
    samples, of_step = 1.0 if network.sample == "images" else run.sequence, run.step_samples
    worth = {"": samples, **dict.fromkeys(("samples", "sequences", "sentences"), samples)}
    worth |= {network.sample: 1.0, "seconds": of_step, **dict.fromkeys(_STEPS, of_step)}
    if network.sample == "images":
        worth["frames"] = 1.0
    for counted, (header, value) in sorted(rates.items(), key=lambda one: one[0] != network.sample):
        each = worth.get(counted)
        if each is not None and value > 0.0:
            per_second = each / (value * DURATIONS[header.unit]) if header.kind == "time" else each * value
            shared = run.devices if header.shared else 1.0
            return per_second * shared / (1.0 if header.kind == "time" else DURATIONS.get(header.unit, 1.0))
    if run.printed is not None or run.stated is not None:
        return None
    counted = next(iter(rates))
    if counted in ("tokens", "images"):
        what = f"{network.name} is trained on {network.sample}, and the rate is of {counted}"
        raise GenperfError(what, hint=f"a rate in {network.sample}/s, or another network")
    lacks = "seq=2048" if counted in ("samples", "sequences", "") else "gbs=256 and seq=2048"
    what = "the time of a step" if counted == "seconds" else f"{counted or 'a rate without a unit'} a second"
    raise GenperfError(f"{what} may be of any number of {network.sample}", hint=f"add {lacks}, or give tok/s")


def _batch(run: Run, cells: Mapping[str, Any], numbers: Mapping[str, float | None]) -> float | None:
    """Return the samples of a step of all devices; None where they are not known, or are of one device or of all."""
    of_each = next((column for column in cells if canonical_of(column) == "batch"), None)
    if numbers.get("global_batch") or of_each is None or numbers.get("batch") is None:
        return numbers.get("global_batch")
    if run.devices > 1.0 and plain_name(of_each) in ("batch", "batch_size"):
        what = f"{of_each}={numbers['batch']:g} may be of each device or of all"
        raise GenperfError(what, hint=f"gbs={numbers['batch']:g} of all, or batch_per_gpu={numbers['batch']:g} of each")
    return (numbers["batch"] or 0.0) * run.devices
