"""Which column was measured, by the headers: the time of a step, else a throughput, else another quantity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from genperf.errors import TableError
from genperf.formula import quote_name
from genperf.table.target import TIME_UNITS
from genperf.vocabulary import any_of
from genperf.vocabulary.headers import STATISTICS, STEP_WORDS, Header, header_of, is_bandwidth
from genperf.vocabulary.names import WAYS, column_of, plain_name

_RESULT = re.compile(rf"(^|.*_){any_of('columns.result')}(_.*)?")
_SPREAD = re.compile(rf"(^|.*[_.]){any_of('columns.spread')}(_.*)?")
_COLLECTIVE = re.compile(any_of("columns.collective"))
_NUMBER_OF_A_RUN = re.compile(any_of("columns.number_of_a_run"))
_WHOLE = re.compile(rf"(^|_){any_of('headers.whole')}(_|$)")
#: Statistics of one measurement, the better one to fit first; a name without such a word comes before all.
_RANKED = (*STATISTICS, "min")
#: The name of the step's time that is derived from steps per second.
_STEP = "step_time_s"
#: What a transformer's throughput counts, and the columns that tell how much of it a step has.
_AMOUNTS = ("tokens", "samples", "sequences")
_OF_A_STEP = ("global_batch", "micro_batch", "micro_batches", "sequence", *WAYS)


#: Columns that a message lists.
_SHOWN = 12


@dataclass(frozen=True)
class RateSettings:
    """When a measured column of an unknown header is a throughput."""

    #: The least exponent by which it grows with the count: a time that grows so is read as a rate as well. A guess.
    least_growth: float = 0.2


RATES = RateSettings()


@dataclass(frozen=True)
class Measured:
    """The measured column."""

    #: `time` with its `unit`, `throughput`, or `quantity`.
    roles: dict[str, str]
    #: As it stands in the table.
    column: str
    #: A column that is derived from it and is measured in its place.
    derived: dict[str, str] = field(default_factory=dict)


def is_result(name: str) -> bool:
    """Tell whether a column holds what is computed from measurements: an efficiency, a loss.

    Examples
    --------
    >>> names = ("hMFU", "TFLOPs/GPU", "AllReduce (GB/s)", "link (GB/s)", "zero_stage", "speed up vs 1 GPU")
    >>> [name for name in names if is_result(name)]
    ['hMFU', 'TFLOPs/GPU', 'AllReduce (GB/s)', 'speed up vs 1 GPU']
    """
    plain = plain_name(name).replace("/", "_")
    return bool((is_bandwidth(name) and _COLLECTIVE.search(plain)) or _RESULT.fullmatch(plain))


def is_number_of_a_run(name: str) -> bool:
    """Tell whether a column numbers or dates the runs, or is one that a tracker writes for itself.

    Examples
    --------
    >>> is_number_of_a_run("job_id"), is_number_of_a_run("_step"), is_number_of_a_run("layers")
    (True, True, False)
    """
    plain = plain_name(name).replace("/", "_")
    return plain.startswith("_") or bool(_NUMBER_OF_A_RUN.fullmatch(plain))


def is_spread(name: str) -> bool:
    """Tell whether a column is a deviation of measurements by its name.

    Examples
    --------
    >>> is_spread("thr_std"), is_spread("stddev (ms)"), is_spread("std_lib")
    (True, True, True)
    """
    return bool(_SPREAD.fullmatch(plain_name(name).replace("/", "_")))


def ranked(names: Sequence[str], columns: Sequence[str], headers: Mapping[str, Header] | None = None) -> list[str]:
    """Return measured columns, the likeliest to be what is meant first.

    That is the time of a step where the batch is known; else a throughput, of all workers rather than one; else the
    only time of a whole. Statistics of one measurement come in the order median, mean, …, percentiles last.

    Parameters
    ----------
    columns : sequence of str
        All columns of the table.
    headers : mapping of str to Header, optional
        What each column says of itself; its header alone where omitted.

    Examples
    --------
    >>> ranked(["step_time_s", "images_per_s"], ["gpus", "batch"]), ranked(["step_time_s", "images_per_s"], ["gpus"])
    (['step_time_s', 'images_per_s'], ['images_per_s', 'step_time_s'])
    >>> ranked(["tokens/s/GPU", "p99_ms", "latency_ms", "peak_gb", "tokens/s"], [])
    ['tokens/s', 'tokens/s/GPU', 'latency_ms', 'peak_gb', 'p99_ms']
    """
    headers = headers or {name: header_of(name) for name in names}
    batched = any(column_of(name, columns) for name in ("batch", "global_batch", "micro_batch"))
    times = [n for n in names if headers[n].kind == "time"]
    whole = [n for n in times if headers[n].of or _WHOLE.search(plain_name(n))]
    certain = len(times) == 1 or len([n for n in whole if headers[n].of]) == 1
    first = "time" if batched and certain and any(headers[n].of for n in times) else "rate"

    def key(name: str) -> tuple[float, ...]:
        header = headers[name]
        kinds = (first, "rate" if first == "time" else "time", "", "quantity")
        apart = plain_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", name))
        statistic = next((k for k, word in enumerate(_RANKED, 1) if re.search(rf"(^|_){word}(_|$)", apart)), 0)
        tail = bool(re.search(r"(^|_)p\d\d", apart))
        steps = header.kind == "rate" and header.counted in STEP_WORDS
        part = header.kind == "time" and name not in whole
        return (tail, kinds.index(header.kind), steps, header.shared, part, not header.of, statistic)

    return sorted(names, key=key)


def described(name: str, unit: str) -> Header:
    """Return what a column says of itself: its header, and the unit in its cells.

    Examples
    --------
    >>> described("power_w.min", "").unit
    'W'
    >>> described("Time per Tree", "ms"), described("Throughput", "samples/sec").counted, described("used", "GB").kind
    (Header(kind='time', unit='ms', counted='', shared=False, of=''), 'samples', 'quantity')
    """
    # Behind a dot stands the statistic of a record, and no minutes.
    header = header_of(re.sub(rf"\.({'|'.join(_RANKED)})$", "", name))
    kind = header.kind or "x"
    in_cells = header_of(f"{kind}{unit}" if unit.startswith("/") else f"{kind} ({unit})") if unit else header
    if not in_cells.kind:
        return header
    shared = header.shared or in_cells.shared
    return replace(
        header, kind=in_cells.kind, unit=in_cells.unit, counted=in_cells.counted or header.counted, shared=shared
    )


def measurement_of_column(
    name: str, names: Sequence[str], counted: str | None, growth: float = 0.0, header: Header | None = None
) -> Measured:
    """Return how `read_table` is told of a measured column.

    Parameters
    ----------
    names : sequence of str
        All columns.
    counted : str or None
        The column that counts the workers.
    growth : float
        Where the header is no known one: the exponent by which the column grows with that count. A throughput rises.
    header : Header, optional
        What the column says of itself; its header alone where omitted.

    Examples
    --------
    >>> measurement_of_column("Time per epoch (min)", [], "gpus").roles
    {'time': 'Time per epoch (min)', 'unit': 'min'}
    >>> measurement_of_column("tokens/sec/GPU", [], "gpus").derived
    {'tokens per second': '`tokens/sec/GPU`*gpus'}
    >>> measurement_of_column("tok/s/gpu", ["dp", "tp", "mbs", "gas", "seq_len", "tok/s/gpu"], None).derived
    {'step_time_s': 'dp*mbs*gas*seq_len/(`tok/s/gpu`*dp*tp)'}
    >>> measurement_of_column("resnet50", [], "gpus", 0.95).roles
    {'throughput': 'resnet50'}
    """
    header = header or header_of(name)
    if not header.kind:
        return Measured({"throughput" if growth > RATES.least_growth else "quantity": name}, name)
    kind = {"time": "time", "rate": "throughput", "quantity": "quantity"}[header.kind]
    of_layout = _step_of_layout(name, header, names, column_of("workers", names)) if kind == "throughput" else None
    return of_layout or _taken(kind, name, header, counted)


def not_measured(meanings: Mapping[str, str]) -> TableError:
    """Return the error of a table without a measurement, with what each column is taken for."""
    listed = [f"'{name}' is read as {text}" for name, text in meanings.items()]
    shown = "; ".join(listed[:_SHOWN]) + ("; …" if len(listed) > _SHOWN else "")
    return TableError(
        f"no column is known to be a time, a throughput or another measurement: {shown}",
        hint="name the measured one: --time COLUMN, --throughput COLUMN or --quantity COLUMN:UNIT",
    )


def _taken(kind: str, name: str, header: Header, counted: str | None) -> Measured:
    """Return a column as the measured one, derived where it is told of one worker or of steps."""
    if kind == "time":
        return Measured({"time": name, **({} if header.unit == "s" else {"unit": header.unit})}, name)
    if kind == "quantity":
        return Measured({"quantity": f"{name}:{header.unit}" if header.unit else name}, name)
    quoted = quote_name(name)
    if header.counted in STEP_WORDS and not header.shared:
        seconds = TIME_UNITS[header.unit][0]
        return Measured({"time": _STEP}, name, {_STEP: f"{seconds:g}/{quoted}" if seconds != 1.0 else f"1/{quoted}"})
    whole = f"{header.counted or 'throughput'} per second"
    formula = quoted
    if header.shared and counted is not None:
        formula += f"*{quote_name(counted)}"
    if TIME_UNITS[header.unit][0] != 1.0:
        formula += f"/{TIME_UNITS[header.unit][0]:g}"
    return (
        Measured({"throughput": name}, name)
        if formula == quoted
        else Measured({"throughput": whole}, name, {whole: formula})
    )


def _step_of_layout(name: str, header: Header, names: Sequence[str], counted: str | None) -> Measured | None:
    """Return the time of a step that tokens or samples per second tell of a transformer's layout; None without one."""
    columns = {c: quote_name(n) for c in _OF_A_STEP if (n := column_of(c, [n for n in names if n != name])) is not None}
    passes = [columns.get(c) for c in ("data_parallel", "micro_batch", "micro_batches")]
    ways = [columns[way] for way in WAYS if way in columns]
    if header.counted not in _AMOUNTS or TIME_UNITS[header.unit][0] != 1.0 or "data_parallel" not in columns:
        return None
    factors = [columns["global_batch"]] if "global_batch" in columns else passes
    factors += [columns.get("sequence")] if header.counted == "tokens" else []
    if header.counted != "tokens" and "global_batch" in columns:
        return None  # the work of a step is known without more ado
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return None
    rate = "*".join([quote_name(name), *([quote_name(counted)] if counted else ways)]) if header.shared else ""
    formula = f"{'*'.join(known)}/({rate})" if rate else f"{'*'.join(known)}/{quote_name(name)}"
    return Measured({"time": _STEP}, name, {_STEP: formula})
