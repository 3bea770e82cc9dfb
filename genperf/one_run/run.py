"""One run, from the cells of a row: a device, how many, a network, and samples a second or the time of a step."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.errors import GenperfError, attempted, did_you_mean
from genperf.formula import values_of
from genperf.networks import TrainedNetwork, network_named
from genperf.panel.machine import USUAL_DEVICES
from genperf.panel.panel import ONE
from genperf.panel.quantities import quantities_of
from genperf.panel.read import Recognised
from genperf.panel.words import RUN_WORDS, meaning_of, number_of, row_of_words
from genperf.peaks import Device, device_in, device_of, devices, precision_in
from genperf.table.cells import Source, source_of_columns
from genperf.table.clean import is_missing
from genperf.vocabulary import any_of
from genperf.vocabulary.headers import STEP_WORDS, Header, header_of
from genperf.vocabulary.names import COUNTED, LEVELS, canonical_of, plain_name
from genperf.words.numbers import three_digits

_ADAPTERS = re.compile(rf"(?<![a-z]){any_of('one_run.adapters')}(?![a-z])")
#: A setting that is asked for where nothing gives what the rate in tokens reads.
_LACKING = {"seq=2048": "sequence", "gbs=256": "work"}
#: How far the printed size of a network lies from its parameters at most: 7B is 6.74 or 7.62 billion.
PRINTED_SIZE = 0.1


class TrainingRun(Struct, frozen=True):
    """One run: what it ran on, what it trained, and how fast; 0 is not known."""

    device: Device  #: With the peak that was given in the place of its rates.
    devices: float
    network: TrainedNetwork
    nodes: float  #: Of the usual number of devices where they are not known.
    rate: float = 0.0  #: Samples (tokens or images) a second of all devices.
    mistakes: tuple[tuple[str, float], ...] = ()  #: Usual mistakes in the given rate, and the factor that mends each.
    step_seconds: float = 0.0
    printed: float = 0.0  #: Operations a second of a device, as the run prints them.
    stated: float = 0.0  #: The utilisation that the run states.
    precision: str | None = None  #: As in the vocabulary; None is taken for 16 bits.
    sequence: float = 0.0
    recomputed: bool | None = None  #: Whether activations are computed again in the backward pass.
    adapters: bool = False  #: Whether only adapters are trained (LoRA), which takes about 4·P operations a token.

    @property
    def dense_peak(self) -> float:
        """Operations per second of a device, dense."""
        return self.device.rate(self.precision or "16-bit")

    @property
    def label(self) -> str:
        """The machine as it is written: `8 x H100`."""
        return f"{self.devices:g} x {self.device.label or 'device'}"


def row_in(texts: Sequence[str]) -> dict[str, Any]:
    """Return the row of one run in words, or of the test in a file of nccl-tests; empty for anything else."""
    if not Path(texts[0]).exists():
        return row_of_words(texts)
    # Only here: the formats of other tools are read by nobody else.
    from genperf.importers.nccl_tests import plateau_in

    return plateau_in(texts[0]) if len(texts) == 1 else {}


def row_of_run(source: Source, peak: float | None = None) -> dict[str, Any] | GenperfError | None:
    """Return the only row of a table whose column of devices names one with a known peak, or whose `peak` is given.

    Where the row is a run but for its unknown device, the error that says so; None of any other table.
    """
    row = {name: column[0] for name, column in source.cells.items()} if len(source) == 1 else {}
    device_cells = [str(cell) for name, cell in row.items() if plain_name(name) in RUN_WORDS["device"]]
    if device_cells and (peak or any(map(device_in, device_cells))):
        return row
    # With a supposed peak the row is a run: only the device is at fault.
    supposed = attempted(run_of_row, row, 1.0) if device_cells else None
    error = attempted(run_of_row, row) if isinstance(supposed, TrainingRun) and supposed.rate else None
    return error if isinstance(error, GenperfError) else None


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
    cell_by_name = {meaning_of(column) or column: cell for column, cell in reversed(cells.items())}
    numbers = {name: value for name, cell in cell_by_name.items() if (value := number_of(cell)) is not None}
    for column, cell in cells.items():
        name = meaning_of(column) or column
        if numbers.get(name, 0.0) < 0.0 or (name in COUNTED and not numbers.get(name, 0.0)):
            raise GenperfError(f"'{column}' of a run is {cell}", hint="a number above zero, or leave it out")
    device_text, precision = str(cell_by_name.get("device", "")), precision_in(str(cell_by_name.get("precision", "")))
    device, stated = device_of(device_text), numbers.get("mfu", 0.0)
    if not device.family and not peak:
        hint = "a device such as a100, h100, mi300x, tpu-v5p, or its peak: --peak 312T"
        what = f"'{device_text}' is no device whose peak is known" if device_text else "the device is not named"
        raise GenperfError(what, hint=did_you_mean(device_text.lower(), [*devices()], otherwise=hint))
    count, nodes, per_node = (numbers.get(name, 0.0) for name in ("workers", "nodes", "devices_per_node"))
    count = count or nodes * per_node or 1.0
    if device.name == "mi250x" and per_node == 8.0:
        # Frameworks count each of its two dies as a device: eight on a node of four.
        peak = 0.5 * (peak or device.rate(precision or "16-bit"))
    switched_on = {name: str(cell).strip().lower() not in RUN_WORDS["none"] for name, cell in cell_by_name.items()}
    run = TrainingRun(
        replace(device, rates={"16-bit": peak}, sparse=1.0) if peak else device,
        count,
        _network(cell_by_name, numbers),
        nodes or float(np.ceil(count / (per_node or USUAL_DEVICES))),
        printed=1e12 * numbers.get("tflops", 0.0),
        # A share above 2 is in per cent.
        stated=stated / 100.0 if stated > 2.0 and "%" not in str(cell_by_name["mfu"]) else stated,
        precision=precision,
        sequence=numbers.get("sequence", 0.0),
        recomputed=switched_on.get("recomputation"),
        adapters=switched_on.get("adapters", False)
        or bool(_ADAPTERS.search(" ".join(map(str, cells.values())).lower())),
    )
    return _with_rate(run, cells) if run.network.parameters else run


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


def _with_rate(run: TrainingRun, cells: Mapping[str, Any]) -> TrainingRun:
    """Return a run with the rate that its row shows: that of the network's samples first, a time of no step last."""
    row = {n: number for n, cell in cells.items() if canonical_of(n) not in LEVELS and (number := number_of(cell))}
    row |= {"devices": run.devices, "nodes": run.nodes}
    headers = {n: header for n in row if (header := header_of(n)).kind in ("rate", "time") and header.of != "job"}
    of_no_step = {n for n, header in headers.items() if header.kind == "time" and header.of != "step"}
    errors = []
    for name in sorted(headers, key=lambda n: (headers[n].counted != run.network.sample, n in of_no_step)):
        rated = attempted(_rated, run, row, name, headers[name])
        if isinstance(rated, TrainingRun):
            return rated
        errors.append(rated)
    if errors and not (run.printed or run.stated):
        raise errors[0]
    return run


def _rated(run: TrainingRun, row: Mapping[str, float], name: str, header: Header) -> TrainingRun:
    """Return a run with the rate of a column, as the panel reads the row: `tokens_per_s`, or `step_s` and a batch.

    An error asks for what tells the rate of all devices where the row leaves that open.
    """
    sample, counted = run.network.sample, "step" if header.kind == "time" else header.counted
    other_samples = {"images", "frames"} if sample == "tokens" else {"tokens"}
    if counted in other_samples or (header.shared and header.counted in STEP_WORDS):
        what = f"{run.network.name} is trained on {sample}, and the rate is of {counted}"
        raise GenperfError(what, hint=f"a rate in {sample}/s, or another network")
    columns = {n: np.array([v]) for n, v in row.items() if n == name or header_of(n).kind not in ("rate", "time")}
    table = Recognised(source_of_columns(columns, "the run"), want=name, alone=True).table()
    batch, global_batch = table.panel.find("batch"), table.panel.find("global_batch")
    batched = batch.name if batch is not None and global_batch is None and run.devices > 1.0 else ""
    is_open, is_step = plain_name(batched) in ("batch", "batch_size"), counted in STEP_WORDS
    if is_open and is_step:
        what = f"{batched}={row[batched]:g} may be of each device or of all"
        raise GenperfError(what, hint=f"gbs={row[batched]:g} of all, or batch_per_gpu={row[batched]:g} of each")
    quantities = quantities_of(table.panel, {} if sample == "tokens" else {"sequence": ONE})
    if lacking := [setting for setting, read in _LACKING.items() if not quantities.has(read)]:
        speed = f"{counted} a second" if counted else "a rate without a unit"
        what = f"{'the time of a step' if header.kind == 'time' else speed} may be of any number of {sample}"
        raise GenperfError(what, hint=f"add {' and '.join(lacking)}, or give tok/s")
    cells = {**table.columns, table.target.name: table.measured}
    rate = float(values_of(quantities.node("tokens_per_s"), cells)[0])
    samples = None if is_open else table.panel.node("global_batch")
    of_a_step = 0.0 if samples is None else run.sequence * float(values_of(samples, cells)[0])
    mistakes = _usual_mistakes(run, header, is_step, global_batch is not None if is_step else not header.shared)
    return replace(run, rate=rate, step_seconds=of_a_step / rate, mistakes=mistakes)


def _usual_mistakes(run: TrainingRun, header: Header, is_step: bool, is_of_all: bool) -> tuple[tuple[str, float], ...]:
    """Return what is usually mistaken in a rate or a step's time, and the factor on the rate that mends each."""
    is_time, is_tokens, sequence = header.kind == "time", header.counted == "tokens", run.sequence or 1.0
    sharing = run.nodes if header.level == "nodes" else run.devices
    noun = "batch" if is_step else "rate"
    mistakes = (
        (is_of_all, f"the {noun} is of each device, and not of all", run.devices),
        (not is_of_all, f"the {noun} is of all devices, and not of each", 1.0 / sharing),
        (is_time and header.unit == "ms", "the time is in seconds, and not in milliseconds", 1e-3),
        (is_time and header.unit == "s", "the time is in milliseconds, and not in seconds", 1e3),
        (is_tokens, "the rate is of sequences, and not of tokens", sequence),
        (not is_tokens and not is_step, "the rate is of tokens, and not of sequences", 1.0 / sequence),
    )
    return tuple((text, factor) for holds, text, factor in mistakes if holds and factor != 1.0)
