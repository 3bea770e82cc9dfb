"""Which column was measured, by the headers: the time of a step, else a throughput, else another quantity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from genperf.errors import TableError
from genperf.formula import quote_name
from genperf.table import phase_columns
from genperf.table.headers import DEVICE_WORDS, STATISTICS, STEP_WORDS, Header, header_of, is_bandwidth
from genperf.table.measurement import TIME_UNITS
from genperf.table.names import column_of, plain_name
from genperf.table.transformer_names import WAYS

#: What is computed from measurements, or describes their spread: never a factor, and never what was measured.
_RESULTS = re.compile(
    r"(^|.*_)([mh]?mfu|[mh]?hfu|[mhp]?tflops?|pflops?|(peta|tera|giga)_?flops?|gflops|loss|accuracy|speedup|efficiency|std|stdev|stddev|var|ci|p\d\d|"
    r"utilization|util|startup|busbw|algbw|(node|gpu|device|worker|core|cpu|machine)_?(hours?|days?|seconds?))(_.*)?"
)
#: A bandwidth that a collective reached: measured, unlike that of a link.
_COLLECTIVE = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|nccl|measured|achieved")
#: Numbers of a run: `job_id`, `uuid`.
_NUMBER_OF_A_RUN = re.compile(r"(job|slurm_job|exp|experiment|log|wandb|mlflow|uu)?_?id|job|index|timestamp|date")
#: Of several times the one with such a word is that of a whole step or run; another one may be a part of it.
_WHOLE = re.compile(r"(^|_)(time|total|duration|elapsed|runtime|latency|seconds)(_|$)")
#: Statistics of one measurement, the better one to fit first; a name without such a word comes before all.
_RANKED = (*STATISTICS, "min")
_STATISTIC = re.compile(rf"(?<![a-z0-9])({'|'.join(_RANKED)})(?![a-z0-9])")
#: A column for each count, as in a table of a paper: "8 GPUs".
_ONE_COUNT = re.compile(rf"\d+\s*(x|-|_)?\s*({'|'.join(sorted(DEVICE_WORDS))}|nodes?|hosts?|machines?)|\d+")
#: A column for each repeat: `t1`, `run 2`, `time_3`.
_ONE_REPEAT = re.compile(r"([a-z][a-z _-]*?)[ _-]?(\d+)")
#: The name of the step's time that is derived from steps per second.
_STEP = "step_time_s"
#: What a transformer's throughput counts, and the columns that tell how much of it a step has.
_AMOUNTS = ("tokens", "samples", "sequences")
_OF_A_STEP = ("global_batch", "micro_batch", "micro_batches", "sequence", *WAYS)


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
    """Tell whether a column tells of a run what no one chose: an efficiency, a loss, a deviation, its number.

    A name that begins with `_` is one that a tracker wrote for itself.

    Examples
    --------
    >>> names = ("hMFU", "TFLOPs/GPU", "AllReduce (GB/s)", "link (GB/s)", "job_id", "_step", "zero_stage")
    >>> [name for name in names if is_result(name)]
    ['hMFU', 'TFLOPs/GPU', 'AllReduce (GB/s)', 'job_id', '_step']
    """
    plain = plain_name(name).replace("/", "_")
    if plain.startswith("_") or (is_bandwidth(name) and _COLLECTIVE.search(plain)):
        return True
    return bool(_RESULTS.fullmatch(plain) or _NUMBER_OF_A_RUN.fullmatch(plain))


def is_measurement(name: str) -> bool:
    """Tell whether a column is a measurement by its name: a time, a throughput, a memory."""
    return header_of(name).kind != ""


def measured_column(names: Sequence[str], counted: str | None) -> Measured:
    """Return the column that was measured.

    It is the only time of a step; else the only time, the only throughput, the only quantity. A throughput comes before
    a time that no header or batch tells the work of: with it more can be said.

    Parameters
    ----------
    names : sequence of str
        Columns without a role.
    counted : str or None
        The column that counts the workers.

    Raises
    ------
    TableError
        Where several columns may be the measured one, or none.

    Examples
    --------
    >>> measured_column(["gpus", "Time per epoch (min)"], "gpus").roles
    {'time': 'Time per epoch (min)', 'unit': 'min'}
    >>> measured_column(["gpus", "tokens/sec/GPU"], "gpus").derived
    {'tokens per second': '`tokens/sec/GPU`*gpus'}
    >>> measured_column(["dp", "tp", "mbs", "gas", "seq_len", "tok/s/gpu"], None).derived
    {'step_time_s': 'dp*mbs*gas*seq_len/(`tok/s/gpu`*dp*tp)'}
    """
    phases = set(phase_columns(names).values())
    headers = {n: header_of(n) for n in names if n not in phases and not is_result(n)}
    times = [n for n, header in headers.items() if header.kind == "time"]
    rates = [n for n, header in headers.items() if header.kind == "rate"]
    quantities = [n for n in names if header_of(n).kind == "quantity"]
    whole = [n for n in times if headers[n].of or _WHOLE.search(plain_name(n))]
    times = whole if len(whole) == 1 else times
    samples = [n for n in rates if headers[n].counted not in STEP_WORDS]
    rates = samples if len(samples) == 1 else rates
    batched = any(column_of(name, names) for name in ("batch", "global_batch", "micro_batch"))
    vague = len(times) > 1 or not all(headers[n].of for n in times)
    if len(rates) == 1 and (vague or not batched):
        times = []
    for kind, several in (("time", times), ("throughput", rates), ("quantity", quantities)):
        candidates = _one_statistic(several)
        if len(candidates) > 1:
            raise _several(kind, candidates)
        if candidates:
            name, header = candidates[0], header_of(candidates[0])
            of_layout = _step_of_layout(name, header, names, counted) if kind == "throughput" else None
            return of_layout or _taken(kind, name, header, counted)
    raise _none(names)


def _one_statistic(names: Sequence[str]) -> Sequence[str]:
    """Return the one column of several statistics of the same measurement, such as its mean, shortest and longest."""
    spaced = {n: re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", n)).lower() for n in names}
    if len({re.sub(r"\s+", " ", _STATISTIC.sub("", text)).strip() for text in spaced.values()}) != 1:
        return names
    ranks = {n: _RANKED.index(m[1]) if (m := _STATISTIC.search(text)) else -1 for n, text in spaced.items()}
    return [min(names, key=lambda n: ranks[n])]


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


def _several(kind: str, candidates: Sequence[str]) -> TableError:
    count = {2: "two", 3: "three"}.get(len(candidates), str(len(candidates)))
    likely = next((n for n in candidates if re.search("step|iter|epoch|time", n.lower())), candidates[0])
    return TableError(
        f"{count} columns may be the measured {kind}: {', '.join(candidates)}",
        hint=f"name the one that was measured: --{kind} {_quoted(likely)}",
    )


def _none(names: Sequence[str]) -> TableError:
    """Return the error that asks for the measured column."""
    listed = ", ".join(names)
    wide = [n for n in names if _ONE_COUNT.fullmatch(n.strip().lower())]
    if len(wide) > 1:
        return TableError(
            f"no column is known to be a time or a throughput: {', '.join(wide)} hold one count each",
            hint="write a row for each run, with columns such as gpus and images_per_s",
        )
    repeats = [n for n in names if _ONE_REPEAT.fullmatch(n.strip().lower())]
    if len(repeats) > 1 and len({_ONE_REPEAT.sub(r"\1", n.strip().lower()) for n in repeats}) == 1:
        return TableError(
            f"no column is known to be a time or a throughput: {', '.join(repeats)} look like repeats",
            hint="write a row for each run, with columns such as gpus, run and time_s",
        )
    return TableError(
        f"no column is known to be a time or a throughput ({listed})",
        hint="name the measured one: --time COLUMN, --throughput COLUMN or --quantity COLUMN:UNIT",
    )


def _quoted(name: str) -> str:
    """Return a name as a shell reads it."""
    return f"'{name}'" if re.search(r"[^\w./:=+-]", name) else name
