"""`Panel`: the factors of a table by the field's names, the one along which runs are scaled, and the work of a step.

Which factor counts the workers is decided here alone; a table without roles is first read by `genperf.panel.reading`,
which maps its count as the workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Mask
from genperf.errors import FormulaError, ModelError, TableError, did_you_mean, listed, suggest
from genperf.formula import (
    Name,
    Node,
    Number,
    call,
    chain,
    evaluate,
    names_in,
    parse,
    quote_name,
    render,
    substitute,
    values_of,
)
from genperf.formula.amounts import amount
from genperf.networks import size_of_network
from genperf.panel.legend import Legend
from genperf.panel.machine import PARTS, SAME, Machine, rises_with
from genperf.scaling import KINDS, LISTED, Scaling
from genperf.table import Factor
from genperf.vocabulary import any_of, late, section, words_of
from genperf.vocabulary.headers import DEVICE_WORDS, UNNAMED, epochs_of, header_of, relative_unit
from genperf.vocabulary.names import (
    ALIASES,
    GENERAL,
    IN_TOKENS,
    LEVELS,
    WAYS,
    canonical_of,
    column_of,
    counted_noun,
    counts_cores,
    counts_devices,
    is_relative,
    meant_by,
    named_in_part,
    plain_name,
    words_in,
)

#: The name and the unit of the default target.
TIME, SECONDS = "time", "s"

#: What a factor is counted in; the others are numbers.
UNITS = {factor: unit for unit, factors in section("units").items() for factor in factors}
#: Canonical names of amounts: a column of such a name never counts the workers.
AMOUNTS = frozenset({*UNITS, *words_of("columns.amount")})
#: Factors that are divided by or raised to powers: a column with a zero in it (no servers) is not one of them.
COUNTS = frozenset({*WAYS, *words_of("columns.divisor")})

#: The exponent with the count from which on a time falls, or a throughput grows: 13 % less per doubling. Of work
#: of each worker a time does not fall; of work that all share it may fall by as little near the last that helps.
LEAST_GROWTH = 0.2

#: The ways of a transformer beside data, as products, those of most ways first.
_SPLITS = (
    "tensor_parallel*pipeline_parallel*context_parallel",
    "tensor_parallel*pipeline_parallel",
    "tensor_parallel",
    "pipeline_parallel",
)
#: Cores of the largest machines that are common: two sockets of 64.
MOST_CORES = 128
#: Factors that follow from others → by what, tried in order where a table lacks them.
DERIVED: dict[str, tuple[str, ...]] = {
    "bytes": ("4*parameters",),
    "batch": ("global_batch/workers",),
    "global_batch": ("batch*workers", "micro_batch*micro_batches*data_parallel"),
    "iterations": ("samples/global_batch",),
    "nodes": ("ceil(workers/devices_per_node)",),
    "devices_per_node": ("workers/nodes",),
    "workers": (*(f"data_parallel*{ways}" for ways in _SPLITS), "nodes*devices_per_node"),
    "parameters": ("1e9*parameters_billion", "12*layers*hidden**2 + vocabulary*hidden", "12*layers*hidden**2"),
    "micro_batches": ("global_batch/(data_parallel*micro_batch)",),
    "micro_batch": ("global_batch/(data_parallel*micro_batches)",),
    "data_parallel": (*(f"workers/({ways})" for ways in _SPLITS), "workers"),
}

#: Factors of different tables whose columns are kept by the field's names.
KEPT_COLUMNS = 1024

#: The median of T(fewest workers)/T(most workers), at the same batch, from which on all share one amount of work.
#: Weak scaling has at most 1, but for noise and caches. Half, double: experiments/results/settings.md.
LEAST_FALL = 1.5
#: Seconds above which what elapsed, of which no column counts the steps, is no time of one. A guess.
LONGEST_UNCOUNTED = 10.0
MANY_STEPS = frozenset(words_of("headers.of_many_steps"))
ONE = Number(1.0)

# Where a scale may exhaust what one machine has: cores, memory, slots of a server.
#: Probability that a doubling is the last one that helps. A guess.
LIMIT_CHANCE = 0.2
#: Doublings beyond the largest measured count between which a limit may lie. Guesses.
LIMIT_DOUBLINGS: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0, 3.0)
#: Doublings within which of several measured counts the first alone may be a limit: each costs a posterior. A guess.
LIMIT_STEP = 0.5
#: Powers in which a step grows with the count beyond a limit, each with its probability: in the first power more
#: only wait, and in the second they hinder each other, so that the work in a second falls. Chosen for drawn loads
#: that turn beyond the data (`experiments/accuracy/turning.py`): with no second power 78 % are covered, with half 93 %.
LIMIT_POWERS: tuple[tuple[float, float], ...] = ((1.0, 0.7), (2.0, 0.3))

_SERVED = frozenset(words_of("headers.served"))
_LEARNED = late(rf"(^|.*_){any_of('columns.learned')}(_.*)?")


# --- the axis ---------------------------------------------------------------------------------------------------------


class Axis(Struct, frozen=True):
    """The factor along which the runs of a table are scaled."""

    #: It counts the workers, or the nodes where no column counts workers. None where neither is there.
    factor: Factor | None
    canonical: str = "workers"  #: What the factor counts.
    #: Whether the factor counts the workers only because no other extrinsic factor does: neither its name nor the
    #: mapping says so.
    assumed: bool = False
    counts_other: bool = False  #: Whether its name then says that it counts servers, threads or the devices of a node.


def several_nodes(nodes: npt.ArrayLike) -> Mask:
    """Return which counts of nodes are more than one node."""
    return np.asarray(np.asarray(nodes, float) > 1.0)


def has_zero(factor: Factor, canonical: str) -> bool:
    """Return whether a factor has a zero in it and what it counts is divided by."""
    return canonical in COUNTS and factor.distinct > 0 and not factor.positive


def factor_of(canonical: str, factors: Sequence[Factor], mapping: Mapping[str, str]) -> Factor | None:
    """Return the numeric factor that the mapping or its name makes the canonical one; None without one.

    A transformer's data-parallel ways count the workers where no column does and no other way splits it.
    """
    by_name = {f.name: f for f in factors if f.numeric and not has_zero(f, canonical)}
    if canonical in mapping:
        return by_name.get(mapping[canonical])
    taken = set(mapping.values())
    name = column_of(canonical, (name for name in by_name if name not in taken))
    if name is not None or canonical != "workers":
        return by_name.get(name or "")
    data, *further_axes = (factor_of(way, factors, mapping) for way in WAYS)
    split = data is not None and data.distinct != 1 and all(way is None or way.distinct == 1 for way in further_axes)
    return data if split else None


def axis_of(factors: Sequence[Factor], mapping: Mapping[str, str] | None = None) -> Axis:
    """Return which factor counts the workers: the first of these that varies.

    1. the workers, by the mapping or by the field's names (`genperf.vocabulary.names`);
    2. the nodes, likewise;
    3. the only extrinsic factor above zero whose name has no other meaning: it counts the workers whatever its name.

    If none of them varies, it is the factor of the workers or of the nodes. Without such a factor, it is the only
    extrinsic factor above zero, which may also count servers, threads or the devices of a node; never an amount (a
    batch, bytes). The only factor is the only one that varies, or else the only one at all; one that is not measured
    yet counts as if it varied. Workers that the mapping names exclude an assumed factor.
    """
    mapping = mapping or {}
    levels = {f: name for name in LEVELS if (f := factor_of(name, factors, mapping)) is not None}
    above_zero = [f for f in factors if f.role == "extrinsic" and (f.positive or f.distinct == 0)]
    free = [f for f in above_zero if canonical_of(f.name) not in AMOUNTS and f.name not in mapping.values()]
    counts = [] if "workers" in mapping else free
    # The only one that varies, or else the only one at all: of those without another meaning, and of all counts.
    only_ones = list[Factor | None]()
    for candidates in ([f for f in counts if canonical_of(f.name) not in GENERAL], counts):
        changing = [f for f in candidates if f.distinct != 1]
        only_ones.append(next((choice[0] for choice in (changing, candidates) if len(choice) == 1), None))
    unnamed, only = only_ones
    varying = next((f for f in (*levels, unnamed) if f is not None and f.distinct != 1), None)
    factor = varying or next(iter(levels), None) or only or unnamed
    if factor is None or factor in levels:
        return Axis(factor, "workers" if factor is None else levels[factor])
    return Axis(factor, assumed=True, counts_other=canonical_of(factor.name) in GENERAL)


def growth_along(counts: Array, values: Array) -> float:
    """Return the exponent by which values grow from the smallest to the median count; NaN of a single count."""
    usable = np.isfinite(counts) & np.isfinite(values) & (counts > 0.0) & (values > 0.0)
    scales = np.unique(counts[usable])
    if len(scales) < 2:
        return float("nan")
    ends = scales[[0, max(1, len(scales) // 2)]]
    before, later = (np.median(values[usable & (counts == n)]) for n in ends)
    return float(np.log(later / before) / np.log(ends[1] / ends[0]))


# --- what the factors mean --------------------------------------------------------------------------------------------


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """The measured quantity that a model predicts."""

    column: str  #: The column of the table that holds it.
    name: str = TIME  #: What predictions, messages and pages call it.
    unit: str = SECONDS  #: The unit of the values in memory and in the model file; empty for a number without one.
    #: Whether every value is above zero, so that its logarithm exists. Every fit works on the logarithm, so that a
    #: table refuses other values today.
    positive: bool = True
    #: The column of the measured throughput that the time was made from; empty where a time was measured.
    throughput: str = ""
    #: The work of a step, the formula that was divided by the throughput; empty where no formula over the factors tells
    #: it.
    work: str = ""
    #: What the throughput counts, where its cells say it and its header does not: `2.5M tok/s` below `Throughput`. Of a
    #: time that was made from a rate, what that rate counts.
    counted: str = ""

    @property
    def is_rate(self) -> bool:
        """Whether it is a rate that is predicted as it was measured, with no work of a step: more of it is better."""
        return not self.is_time and header_of(self.column).kind == "rate"

    @property
    def samples(self) -> str:
        """What the throughput counts, in the plural; the unit of a share, and `samples` of a rate that tells it not."""
        header = header_of(self.throughput)
        relative = relative_unit(self.throughput) if is_relative(self.throughput) else ""
        is_unnamed = self.throughput and not header.kind
        return self.counted or header.counted or relative or (UNNAMED if is_unnamed else "samples")

    @property
    def reported(self) -> str:
        """What is reported first of a prediction: the throughput where one was measured."""
        return "throughput" if self.work else self.name

    @property
    def is_time(self) -> bool:
        """Whether it is a time in seconds, so that work per second, efficiency, phases and cost have a meaning."""
        return self.unit == SECONDS

    @property
    def either_way(self) -> bool:
        """Whether overheads may raise or lower it, as a memory or an accuracy: what is no time and no rate."""
        return not (self.is_time or self.is_rate)

    @property
    def is_learned(self) -> bool:
        """Whether it is what a network has learned, as an accuracy or a loss: the machine has no part in it."""
        return self.either_way and _LEARNED.fullmatch(plain_name(self.column)) is not None

    def __str__(self) -> str:
        return f"{self.name} '{self.column}'" + (f", {self.unit}" if self.unit else "")


class Median(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One measured configuration."""

    values: tuple[float | str, ...]  #: In the order of the schema's factors.
    value: float  #: Median of the repeats.
    #: `lowest`, `highest`: of the repeats.
    lowest: float
    highest: float
    repeats: int


class WorkFormula(NamedTuple):
    """A possible formula of the work that one worker does in a step."""

    formula: str  #: Over canonical names; `1` is work that stays constant as the scale grows.
    from_table: bool  #: Whether a column of the table gives it. Otherwise it is an assumption.
    #: What divides the steps of a job, over canonical names; `1` where as many are done on any count.
    divides: str = "1"


#: Epochs or jobs that a plan has at most: a larger number is that of samples.
MOST_WHOLE = 1e5


class StepWork(Struct, frozen=True):
    """The work of a step: what a throughput is the work per second of."""

    #: Its samples, over the factors; one where all workers share one amount; None where nothing shows them.
    total: Node | None = None
    #: What it is in proportion to along the workers; None where all share one amount, and where nothing shows it.
    proportional: Node | None = None
    #: What it counts: samples, images; or the whole in the singular where all workers share it: an epoch, a job.
    unit: str = "samples"
    #: How it is known: `given` by a user, `measured` with a throughput, of the `columns`, by the kind of `scaling`,
    #: `shared` by all workers, in proportion to the columns' of what `elapsed` in nobody knows how many steps, or
    #: `assumed`: nothing shows it, and each worker is taken to keep its own.
    known: str = ""
    #: Whether `proportional` is the work of one device of each node, as nothing shows how many a node has.
    of_one_a_node: bool = False

    @property
    def whole(self) -> bool:
        """Whether all workers share one amount of work whose samples are not known."""
        return self.known == "shared"

    def at(self, columns: Mapping[str, AnyArray]) -> Array | None:
        """Return the samples of a step at some configurations; one where all share one amount of work."""
        return None if self.total is None else values_of(self.total, columns)

    def check_sized(self, size: float | None = None) -> None:
        """Raise `ModelError` where the unit of a job's size is unknown, or it counts samples and runs time epochs."""
        if self.unit == UNNAMED:
            hint = "--let images_per_s=COLUMN --throughput images_per_s, with what it counts"
            raise ModelError("the size of a job needs what the throughput counts: its column names no unit", hint=hint)
        if self.whole and size is not None and size > MOST_WHOLE:
            what = f"the runs time one {self.unit}, and nothing shows how many samples it has"
            raise ModelError(what, hint=f"--samples 90, of {self.unit}s; or --work 1281167, the samples of one")

    @property
    def assumption(self) -> str:
        """What is assumed, in words; empty where the work is known."""
        if self.of_one_a_node:
            return "nothing shows how many devices a node has, and throughput and cost are those of one a node"
        text = "nothing shows the work of a step, and each device is taken to keep its own"
        return text if self.known == "assumed" else ""


def names_a_network(column: str) -> bool:
    """Return whether a column's name is one of the networks that were trained: `model`."""
    return plain_name(column) in words_of("one_run.network")


def panel_of(
    factors: tuple[Factor, ...],
    mapping: Mapping[str, str],
    group: tuple[str, ...] = (),
    scaling: Scaling | None = None,
    target: Target | None = None,
    derived: Mapping[str, str] | None = None,
    medians: tuple[Median, ...] = (),
    legend: Legend | None = None,
) -> Panel:
    """Make the panel of a table, of a model's schema or of roles, whose columns are not read yet; these keep it."""
    names = [f.name for f in factors]
    for canonical, column in mapping.items():
        if canonical not in ALIASES:
            raise ModelError(f"no family has a factor '{canonical}'", hint=suggest(canonical, sorted(ALIASES)))
        if column not in names:
            fault = f"'{canonical}' is mapped to '{column}', which is not a factor of the table"
            raise ModelError(fault, hint=suggest(column, names))
    return Panel(factors, mapping, frozenset(), group, scaling, target, derived or {}, medians, legend)


class Panel(Struct, frozen=True, dict=True):
    """What the factors of a table mean; `panel_of` makes it."""

    factors: tuple[Factor, ...]
    mapping: Mapping[str, str] = field(default_factory=dict)  #: Canonical name → column, as the user mapped it.
    phases: frozenset[str] = frozenset()  #: The phases with a measured column.
    group: tuple[str, ...] = ()  #: The columns whose values name the groups, each of one value within a group.
    scaling: Scaling | None = None  #: The kind of scaling, where the user or the work of a step shows it.
    target: Target | None = None  #: The measured quantity, where it is known.
    #: Factors that are computed from other columns, with their formulas.
    derived: Mapping[str, str] = field(default_factory=dict)
    medians: tuple[Median, ...] = ()  #: What was measured; known of a fitted model.
    legend: Legend | None = None  #: What a question may name of the table; None where the table is not known.
    #: Columns of one value that are no factors, such as the batch of a group.
    constants: Mapping[str, float] = field(default_factory=dict)

    def within(self, group: Mapping[str, Any]) -> Panel:
        """Return the panel of one group, which has values of the group columns, as text or numbers."""
        values = {
            name: size_of_network(f"{value}") if names_a_network(name) else amount(f"{value}")
            for name, value in group.items()
        }
        return replace(self, constants={name: value for name, value in values.items() if value is not None})

    @property
    def of_jobs(self) -> bool:
        """Whether the times are of an epoch or a whole job, whose work all workers share whatever their batch."""
        return self.scaling is not None and KINDS[self.scaling].whole

    @property
    def workers(self) -> Factor | None:
        """The factor that is the workers by the mapping or its name."""
        return self.find("workers")

    @property
    def nodes(self) -> Factor | None:
        """The factor that is the nodes by the mapping or its name."""
        return self.find("nodes")

    @property
    def counted(self) -> Factor | None:
        """The workers, or else the nodes, whether they vary or not; never an assumed factor."""
        return next(iter(self.counts), None)

    @property
    def counted_node(self) -> Node | None:
        """The workers, or else the nodes, as a formula over the columns."""
        return None if self.counted_as is None else self.node(self.counted_as)

    @property
    def counted_as(self) -> str | None:
        """The finest level of the cluster that the columns count; None without one."""
        return next(filter(self.has, LEVELS), None)

    @property
    def counts(self) -> tuple[Factor, ...]:
        """The workers and the nodes, those that are there."""
        return tuple(f for f in map(self.find, LEVELS) if f is not None)

    @cached_property
    def axis(self) -> Axis:
        """The factor along which the runs are scaled: see `axis_of`."""
        return axis_of(self.factors, self.mapping)

    def along(self, name: str | None = None) -> Factor:
        """Return the factor of a name as the count of workers, else the axis; refuse a constant, a text, a zero."""
        numeric = {f.name: f for f in self.factors if f.numeric}
        if name is None:
            factor = self.axis.factor
            if factor is None or factor.distinct < 2:
                but = "" if factor is None else f" but '{factor.name}', which was measured at {factor.upper:g} only"
                others = [name for name, other in numeric.items() if other.positive and other is not factor]
                zero = next((name for name, other in numeric.items() if not other.positive), None)
                hint = "measure a second count" if zero is None else f'--where "{quote_name(zero)} > 0"'
                hint = f"--along COLUMN, one of {', '.join(others)}" if others else hint
                raise TableError(f"no factor of the model counts the workers{but}", hint=hint)
            return factor
        if self.column(name) not in numeric:
            raise TableError(f"the model has no numeric factor '{name}'", hint=suggest(name, numeric))
        factor = numeric[self.column(name)]
        if not factor.positive:
            what = f"'{factor.name}' counts no workers: it goes down to {factor.lower:g}"
            raise TableError(what, hint="--along COLUMN")
        return factor

    def scaled_along(self, factor: Factor) -> Panel:
        """Return the panel in which a factor counts the workers, unless it is the nodes beside other workers."""
        if self.workers is not None and factor in self.counts:
            return self
        return replace(self, mapping={**self.mapping, "workers": factor.name})

    @cached_property
    def with_axis(self) -> Panel:
        """The panel in which a factor that is assumed to count the workers is mapped as them."""
        axis = self.axis
        return self.scaled_along(axis.factor) if axis.factor is not None and axis.assumed else self

    def of_factors(self, factors: Sequence[Factor]) -> Panel:
        """Return the panel of some of the factors; its runs are not known."""
        names = {f.name for f in factors}
        mapping = {canonical: column for canonical, column in self.mapping.items() if column in names}
        return replace(self, factors=tuple(factors), mapping=mapping, medians=())

    def column(self, name: str) -> str:
        """Return the column that a name stands for: another name of the field, or one that the user mapped."""
        # Where the user mapped the workers, what a formula reads is that column: the `ranks` of `cores=ranks*threads`.
        # Else the `devices` of `workers=nodes*devices` are all devices.
        read_by_formulas = {*self.group}.union(*self.inputs.values()) if "workers" in self.mapping else {*self.group}
        if name in {*(f.name for f in self.factors), *read_by_formulas}:
            return name
        if name in self.mapping:
            return self.mapping[name]
        factor = self.machine.columns.get(meant_by(name) or "")
        if factor is None and plain_name(name) in words_of("columns.batch_of_any"):
            # Beside no batch of a device, a `batch` is that of all.
            factor = self.machine.columns.get("global_batch")
        return name if factor is None else factor.name

    def meant(self, name: str, in_table: bool = False) -> str:
        """Return the column that a name stands for, or the part of the machine that the columns show without one.

        A question may have a part of a factor's words, `threads` of `OpenMP Threads`; a column `in_table` may not. A
        name that stands for none of these is returned as it is.
        """
        column, meaning, names = self.column(name), meant_by(name), [*(f.name for f in self.factors), *self.group]
        if column != name or column in {*names, *self.derived}.union(*self.inputs.values()):
            return column
        if meaning in PARTS:
            return meaning if self.machine.means(meaning) else column
        return (None if in_table else named_in_part(name, names)) or column

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """The measured configurations, each with its factors by name: [{"gpus": 8.0, "net": "bert"}, …]."""
        return [dict(zip((f.name for f in self.factors), m.values, strict=True)) for m in self.medians]

    @cached_property
    def measured(self) -> dict[str, AnyArray]:
        """The factors of the measured configurations, numbers or levels, by name; each of shape (medians,)."""
        return {f.name: np.array([run[f.name] for run in self.runs]) for f in self.factors}

    def runs_at(self, columns: Mapping[str, AnyArray]) -> list[Median | None]:
        """Return what was measured at each of some configurations; None where nothing was."""
        medians = {median.values: median for median in self.medians}
        configurations = zip(*(columns[f.name].tolist() for f in self.factors), strict=True)
        return [medians.get(configuration) for configuration in configurations]

    def runs_like(self, run: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the measured configurations that have the same level of each categorical factor as a run."""
        levels = {f.name: str(run[f.name]) for f in self.factors if not f.numeric}
        return [r for r in self.runs if all(str(r[name]) == level for name, level in levels.items())]

    def node_size(self) -> float | None:
        """Return the workers of a full node: see `Machine.size`; None where workers or nodes are not counted."""
        return None if self.workers is None or self.nodes is None else self.machine.size()

    @cached_property
    def machine(self) -> Machine:
        """The parts of the machine and of its work, and how each follows from others."""
        return Machine(self.columns, self.factors, self.runs, (*self.derived,), self.batch_is_of_a_pass)

    @cached_property
    def columns(self) -> dict[str, Factor]:
        """Name of the field → the column that is this factor: {"workers": `gpus`, "batch": `bs`}."""
        columns, target = _columns(self.factors, tuple(self.mapping.items())), self.target
        if "samples" in {*columns} - {*self.mapping} and target is not None and not self.of_jobs:
            # The samples of a data set are no work of a step, nor of a second.
            of_a_step = target.throughput or header_of(target.column).of == "step"
            return {name: column for name, column in columns.items() if name != "samples" or not of_a_step}
        return columns

    @cached_property
    def inputs(self) -> dict[str, frozenset[str]]:
        """Derived factor → the columns from which it is computed: {"total": {"batch", "gpus"}}."""
        return {name: parse(text).names for name, text in self.derived.items()}

    @cached_property
    def settled_by(self) -> dict[str, frozenset[str]]:
        """Extrinsic factor → the factors that settle it: itself, and what it rises with, as nodes do with devices."""
        counts, runs = [f.name for f in self.factors if f.role == "extrinsic"], self.measured
        return {n: frozenset(name for name in runs if rises_with(runs[n], runs[name])) for n in counts}

    @cached_property
    def sizes_of(self) -> dict[tuple[str, str], dict[str, float]]:
        """Categorical factor, size → that size of each level, where it has one: {("net", "layers"): {"bert": 12}}."""
        sizes = [f.name for f in self.factors if f.role == "intrinsic" and f.distinct > 1]
        runs, names = self.measured, [(f.name, size) for f in self.factors if f.levels for size in sizes]
        pairs = {(f, size): {*zip(runs[f].tolist(), runs[size].tolist(), strict=True)} for f, size in names}
        return {key: dict(of_level) for key, of_level in pairs.items() if 0 < len(of_level) == len(dict(of_level))}

    @cached_property
    def growing(self) -> dict[str, str]:
        """Factor that grows with the workers, as the nodes that hold them do → the workers: {"nodes": "gpus"}.

        The samples of a step are such where they grew in proportion, all else alike.
        """
        count, split = self.counted, None if self.workers is None else self.find("data_parallel")
        batch = self.find("global_batch") if self.machine.growth == "weak" else None
        growing = [f.name for f in (*self.counts, split, batch) if f is not None and f != count]
        return {} if count is None else dict.fromkeys(growing, count.name)

    @property
    def only_node(self) -> str | None:
        """The column of the nodes, where no run has more than one of them; None elsewhere."""
        return None if self.nodes is None or several_nodes(self.nodes.upper) else self.nodes.name

    @cached_property
    def one_machine(self) -> Factor | None:
        """The count of threads or processes that may all lie on one machine.

        None for devices, more than `MOST_CORES`, several nodes, or a trainer, whose processes are one a GPU.
        """
        factor = self.axis.factor
        if factor is None or not counts_cores(factor.name) or factor.upper > MOST_CORES:
            return None
        on_nodes = self.nodes is not None and self.only_node is None
        if on_nodes or self.target is None or not self.target.is_time:
            return None
        of_training = {canonical_of(f.name) for f in self.factors}.intersection(words_of("columns.training"))
        is_trained = of_training or self.counted_by_throughput in section("counted")
        return None if is_trained and counted_noun(factor.name) in words_of("headers.processes") else factor

    @property
    def kind(self) -> Scaling | None:
        """The kind of scaling that is known; by a group column else, `strong` of a global batch, `weak` of a batch."""
        if self.scaling is not None or column_of("global_batch", self.group) is not None:
            return self.scaling or "strong"
        return None if column_of("batch", self.group) is None else "weak"

    @cached_property
    def counted_by_throughput(self) -> str:
        """What the measured throughput counts, such as tokens; empty where none was measured, or it is not known."""
        return "" if self.target is None else self.target.counted or header_of(self.target.throughput).counted

    @cached_property
    def measured_work(self) -> Node | None:
        """The work of a step that was divided by a measured throughput; None where a time was measured."""
        return parse(self.target.work).node if self.target is not None and self.target.work else None

    @cached_property
    def step(self) -> StepWork:
        """The work of a step: a formula where a throughput or the columns show it, else in proportion to n^(1 + p).

        n are the workers, or else the nodes, and p is the power of the kind of scaling. Where nothing shows the kind,
        weak scaling is assumed, unless the times of n fall as those of shared work do.
        """
        target, unknown = self.target, StepWork()
        if target is None or not target.is_time:
            return unknown
        constants = {name: Number(value) for name, value in self.constants.items()}
        work = self.measured_work if target.work else samples_of(self, constants)
        sequence = self.find("sequence")
        if work is not None and not target.work and target.counted == "tokens" and sequence is not None:
            work = call("multiply", work, Name(sequence.name))
        if work is not None:
            work = substitute(work, constants)
            source_of_work, batch = "measured" if target.work else "columns", self.find("batch")
            counts_devices = bool(target.work) or self.find("global_batch") is not None or self.has("workers")
            # The batch of a device shows how the work of nodes of unknown size grows, and not how much it is.
            is_open = not counts_devices and batch is not None and not DEVICE_WORDS.isdisjoint(words_in(batch.name))
            # What elapsed, `total_time_s`, may be of any number of steps, and so much of more than one.
            is_whole = not header_of(target.column).of and not words_in(target.column).isdisjoint(MANY_STEPS)
            if is_whole and not target.work and np.median([m.value for m in self.medians]) > LONGEST_UNCOUNTED:
                return StepWork(None, work, known="elapsed")
            return StepWork(None if is_open else work, work, known=source_of_work, of_one_a_node=is_open)
        if self.scaling is not None and KINDS[self.scaling].shared:
            return StepWork(ONE, None, self.timed, "shared")
        counted, n = self.counted, self.counted_node
        if counted is None or n is None or target.throughput or (self.kind is not None and KINDS[self.kind].shared):
            return unknown
        if self.kind is None and not self._may_scale_weakly(counted.name):
            return unknown
        p = KINDS[self.kind or "weak"].power
        work = n if p == 0.0 else call("power", n, 1.0 + p)
        return StepWork(None, work, known="assumed" if self.kind is None else "scaling")

    @property
    def work_option(self) -> str:
        """The option that shows the samples of a step, where nothing does."""
        workers = "gpus" if self.counted_node is None else render(self.counted_node)
        if self.step.known == "elapsed" and self.step.proportional is not None:
            return f"--work '500*{render(self.step.proportional)}'"
        return "--let gpus_per_node=8" if self.step.of_one_a_node else f"--work '32*{workers}'"

    def _may_scale_weakly(self, workers: str) -> bool:
        """Return whether devices or nodes have times that fall less, from fewest to most, than by shared work."""
        if not counts_devices(workers) or len({median.values for median in self.medians}) < 2:
            return False
        counts, times = self.measured[workers], np.array([median.value for median in self.medians])
        time_at_fewest, time_at_most = (np.median(times[counts == end]) for end in (counts.min(), counts.max()))
        return bool(time_at_fewest / time_at_most < LEAST_FALL)

    def work_of_step(self, given: str | None = None, unit: str = "") -> StepWork:
        """Return the work of a step: the formula that a user gives, or what the table shows, in its unit."""
        unit = unit or ("samples" if self.target is None else self.target.samples)
        if not given or self.target is None or not self.target.is_time:
            return self.step if self.step.whole else replace(self.step, unit=unit)
        node, names = self.over_columns(given), {*(f.name for f in self.factors), *self.constants}
        unknown = min(names_in(node) - names, default=None)
        if unknown is not None:
            hint = did_you_mean(unknown, names) or f"--intrinsic {unknown}, or one of {listed(sorted(names))}"
            what = f"'{unknown}' of the work of a step is no factor of the model"
            raise FormulaError(what, text=given, column=max(given.find(unknown), 0), width=len(unknown), hint=hint)
        node = substitute(node, {name: Number(value) for name, value in self.constants.items()})
        return StepWork(node, node, unit, "given")

    @cached_property
    def work_of_worker(self) -> tuple[WorkFormula, ...]:
        """What one worker may do in a step, the most specific formula first; a single one where the table decides.

        Workers share an epoch or a whole job: they divide its steps where each of them keeps its batch, what is done in
        a step where the batch of all is shared, and either where nothing shows it: of a job without a batch all that a
        worker does may shrink with its part, or the work alone. Otherwise it is the batch of all over the
        workers, or the batch of one; else by the kind of scaling constant, `1`, or shared, `1/workers`, and either
        where nothing shows the kind. A node takes the place of a worker where nodes alone are counted; along nodes a
        worker does what it did.
        """
        panel = self.with_axis
        fixed_workers, counted = panel.axis.canonical != "workers" and panel.workers is not None, panel.counted_as
        # A batch of one pass alone does not say how many passes a step has.
        is_whole = panel.find("batch") is not None and not panel.batch_is_of_a_pass
        batched = panel.has("batch") and (is_whole or panel.find("micro_batches") is not None)
        if counted is not None and panel.of_jobs and not fixed_workers:
            shared, divided = WorkFormula(f"1/{counted}", True), WorkFormula("1", True, counted)
            return {None: (shared, divided), True: (divided,), False: (shared,)}[panel.keep_batch]
        if counted is not None and panel.find("global_batch") is not None:
            return (WorkFormula(f"global_batch/{counted}", True),)
        if batched or counted is None or fixed_workers:
            return (WorkFormula("batch" if batched else "1", batched),)
        possible: tuple[Scaling, ...] = ("weak", "strong") if panel.kind is None else (panel.kind,)
        return tuple(WorkFormula(KINDS[name].over(counted), False) for name in possible)

    @property
    def keep_batch(self) -> bool | None:
        """Whether a worker keeps its batch as more join; None where no batch shows it."""
        batch, batch_of_all = self.find("batch"), self.find("global_batch")
        # A column `batch` may be that of one or of all.
        is_open = batch is None or plain_name(batch.name) in words_of("columns.batch_of_any")
        is_same = batch is None or (batch.distinct == 1 and not self.batch_is_of_a_pass)
        if (is_same and not is_open) or (batch_of_all is not None and self.machine.growth == "weak"):
            return True
        return None if is_open and is_same and batch_of_all is None else False

    @property
    def times_counted_steps(self) -> bool:
        """Whether a time is that of as many steps as a column counts, each of a batch that is known."""
        counted = self.find("iterations") is not None and self.has("global_batch")
        return counted and self.header_times == "job" and not self.of_jobs

    @property
    def header_times(self) -> str:
        """What the header of a time says that it is of: `step`, `job`, or nothing."""
        return header_of(self.target.column).of if self.target is not None and self.target.is_time else ""

    @property
    def timed(self) -> str:
        """What a time is of: a step, or an epoch or a job."""
        if not self.of_jobs and not self.times_counted_steps:
            return "step"
        column = "" if self.target is None else self.target.column.lower()
        is_epoch = epochs_of(column) == 1.0 and any(word in column for word in words_of("headers.epoch"))
        return "epoch" if is_epoch else "job"

    def find(self, canonical: str) -> Factor | None:
        """Return the column that is the factor, or None."""
        return self.columns.get(canonical)

    def named(self, canonical: str) -> Factor | None:
        """Return the factor of a canonical name: its numeric column, else its column of text; None without either."""
        numeric = self.find(canonical)
        # A name that the mapping gives is that column or none.
        if numeric is not None or canonical in self.mapping:
            return numeric
        texts = {f.name: f for f in self.factors if not f.numeric}
        return texts.get(column_of(canonical, texts) or "")

    def has(self, canonical: str) -> bool:
        """Tell whether the table has the factor, or others that it follows from."""
        return self.node(canonical) is not None

    def varies(self, canonical: str, values: int = 2) -> bool:
        """Tell whether the factor was measured at that many different values; an unmeasured one counts as if it was."""
        node = self.node(canonical)
        if node is None:
            return False
        names = names_in(node)
        distinct = [f.distinct for f in self.factors if f.name in names]
        return 0 in distinct or max(distinct) >= values

    def node(self, canonical: str, trying: frozenset[str] = frozenset()) -> Node | None:
        """Return a factor as a formula over the table's columns: its column, or else the first derivation they allow.

        `trying` are the factors that are being derived from this one: it cannot follow from them in turn.
        """
        factor = self.find(canonical)
        if factor is not None and not (canonical == "batch" and self.batch_is_of_a_pass):
            name = Name(factor.name)
            return over_sequence(self, name) if canonical == "global_batch" and IN_TOKENS.search(factor.name) else name
        tried = trying | {canonical}
        for text in () if canonical in trying else self._derivations(canonical):
            formula = parse(text)
            if any(self.find(name) is None and (name in tried or name not in DERIVED) for name in formula.names):
                continue
            inputs = {name: self.node(name, tried) for name in formula.names}
            known_inputs = {name: node for name, node in inputs.items() if node is not None}
            if len(known_inputs) == len(inputs):
                return substitute(formula.node, known_inputs)
        # Where nothing counts workers, what follows from them is that of one.
        return ONE if canonical == "workers" and trying and self.axis.factor is None and not self.of_jobs else None

    def _derivations(self, canonical: str) -> Iterator[str]:
        """Yield the formulas by which a factor may follow from others here: `nodes*devices_per_node` of the workers."""
        for text in DERIVED.get(canonical, ()):
            if (canonical, text) == ("data_parallel", "workers"):
                # Devices are data-parallel ways in runs in passes of micro-batches, without other ways.
                counts_passes = self.find("micro_batches") is not None or self.batch_is_of_a_pass
                is_transformer = all(map(self.find, ("layers", "hidden", "sequence")))
                if not (counts_passes or is_transformer) or any(map(self.find, WAYS[1:])):
                    continue
            if not (text == "batch*workers" and self.batch_is_of_a_pass):
                yield text

    def formula(self, name: str) -> Node | None:
        """Return what one of the field's names stands for as a formula over the columns; the axis for the workers."""
        node = self.node(name)
        if node is None and name == "workers":
            return ONE if self.axis.factor is None else Name(self.along().name)
        return node

    def over_columns(self, formula: str) -> Node:
        """Return a formula over canonical names as one over the table's columns."""
        node = parse(formula).node
        return substitute(node, {n: column for n in names_in(node) if (column := self.node(n)) is not None})

    @cached_property
    def batch_is_of_a_pass(self) -> bool:
        """Whether the batch is that of one pass: several devices share it, or a step has several."""
        batch, of_all = self.find("batch"), self.find("global_batch")
        if batch is None or batch != self.find("micro_batch"):
            return False
        if any(map(self.find, ("tensor_parallel", "pipeline_parallel"))):
            return True
        counts = [self.find("workers")] if self.find("workers") else [*map(self.find, ("nodes", "devices_per_node"))]
        if of_all is None or not self.medians or None in counts:
            return self.find("micro_batches") is not None
        at_once = np.prod([self.measured[f.name] for f in (batch, *counts) if f is not None], axis=0)
        return bool(np.any(self.measured[of_all.name] > at_once * (1.0 + SAME)))


@lru_cache(maxsize=KEPT_COLUMNS)
def _columns(factors: tuple[Factor, ...], mapping: tuple[tuple[str, str], ...]) -> dict[str, Factor]:
    """Return `Panel.columns`, which groups of a table with the same factors share."""
    out, by_user = {}, dict(mapping)
    for canonical in ALIASES:
        factor = factor_of(canonical, factors, by_user)
        if factor is not None:
            out[canonical] = factor
    return out


# --- the work of a step -----------------------------------------------------------------------------------------------


def over_sequence(panel: Panel, tokens: Node) -> Node:
    """Return the samples of a batch in tokens, or its tokens where nothing tells those of a sample."""
    sequence = panel.find("sequence")
    return tokens if sequence is None else call("divide", tokens, Name(sequence.name))


def samples_of(panel: Panel, values: Mapping[str, Node]) -> Node | None:
    """Return the samples of a step over the columns, or constant `values` such as a group's batch; None if unknown."""
    global_batch, batch = panel.find("global_batch"), panel.find("batch")
    if panel.of_jobs:
        return None
    if panel.times_counted_steps:
        return panel.over_columns("iterations*global_batch")
    passes = panel.batch_is_of_a_pass
    counts_steps = bool(global_batch or passes or panel.find("micro_batches")) or not panel.has("samples")
    node = panel.node("global_batch") if counts_steps else None
    if node is None and batch is not None and not passes and not panel.has("samples"):
        node = chain("multiply", [Name(f.name) for f in (batch, panel.counted) if f is not None])
    total, batch_of_one = column_of("global_batch", values), column_of("batch", values)
    if node is None and total is not None:
        node = over_sequence(panel, values[total]) if IN_TOKENS.search(total) else values[total]
    if node is None and batch_of_one is not None and (workers := panel.node("workers")) is not None:
        node = call("multiply", values[batch_of_one], workers)
    return node


class Share(Struct, frozen=True):
    """The work that one worker does, as families write it."""

    per_worker: str  #: One worker's work, as a formula over canonical names.
    whole: str  #: All workers' work.

    @property
    def known(self) -> bool:
        """Whether the table says how much work there is; if not, a fixed amount is shared."""
        return self.per_worker != "1/workers"

    def of(self, coefficient: str) -> str:
        """Return the time of one worker's work, as a formula with a coefficient of seconds per unit of work."""
        if self.per_worker == "1":
            return coefficient
        return f"{coefficient}*{self.per_worker}" if self.known else f"{coefficient}/workers"


def share(panel: Panel, job: bool = False) -> Share:
    """Return what one worker's computation is proportional to, from the factors of the table.

    The first that the table has: the operations of one worker's step (`work`); its samples (`batch`, also
    `global_batch/workers`); otherwise a fixed amount shared by the workers (`1/workers`). A table with a factor
    `samples` has times of a whole job or epoch. For laws of whole jobs (`job`), `samples/workers` then comes first.

    A batch per worker that is constant along a series is weak scaling, one that falls as `1/workers` strong scaling;
    the same formula holds for both and for series in between.
    """
    if job and panel.has("samples"):
        return Share("samples/workers", "samples")
    for name in ("work", "batch"):
        if panel.has(name):
            return Share(name, f"{name}*workers")
    return Share("1/workers", "1")


def limits(panel: Panel, counts: Array) -> tuple[tuple[float, float], ...]:
    """Return the counts at which the machine's cores or slots may end, each with its probability; none where none end.

        P(no limit up to n) = (1 − LIMIT_CHANCE)^(log₂ n/n₁),   n₁ the smallest measured count

    Threads, processes, users or environments share one machine, whose cores or slots end somewhere, and so do workers
    that serve requests; devices and nodes bring further ones, and so do processes on several nodes.
    """
    factor = panel.axis.factor
    if factor is None or (panel.nodes is not None and panel.only_node is None):
        return ()
    if counts_devices(factor.name) and panel.counted_by_throughput not in _SERVED:
        return ()
    measured = np.unique(counts)
    doublings = np.log2(measured / measured[0])
    _, first_of_step = np.unique(np.floor(doublings[:-1] / LIMIT_STEP), return_index=True)
    inside = doublings[first_of_step]
    beyond = doublings[-1] + np.array(LIMIT_DOUBLINGS)
    no_limit = (1.0 - LIMIT_CHANCE) ** np.concatenate([inside, beyond])
    # Within the measured range a limit lies at a count, beyond it in the middle between two numbers of doublings.
    places = measured[0] * 2.0 ** np.concatenate([inside, 0.5 * (beyond[1:] + beyond[:-1])])
    return tuple(zip(places.tolist(), (-np.diff(no_limit)).tolist(), strict=True))


def kind_of_work(work: Array, counts: Array) -> Scaling | None:
    """Return the kind of scaling that the work of a step shows in every row; None where none or several fit."""
    if not len(work) or not np.all(np.isfinite(work)) or np.any(counts <= 0.0) or np.any(work <= 0.0):
        return None
    relative = {name: work / counts / kind.relative(counts) for name, kind in KINDS.items() if not kind.whole}
    fitting = [name for name, values in relative.items() if np.ptp(np.log(values)) < SAME]
    return fitting[0] if len(fitting) == 1 else None


def checked_scaling(scaling: str, by_work: Scaling | None, work: str) -> Scaling | None:
    """Return the kind of scaling that the user gives or the work of a step shows; None where neither does."""
    if not scaling:
        return by_work
    named = next((kind for kind in KINDS if kind == scaling), None)
    if named is None:
        raise TableError(f"unknown kind of scaling '{scaling}'", hint=LISTED)
    if by_work is not None and named != by_work:
        what = f"the scaling is given as {named}, and with the work '{work}' of a step it is {by_work}"
        raise TableError(what, hint="leave --scaling out, or give the --work of a step")
    return named


def evaluated(work: Node, columns: Mapping[str, Array], rows: int) -> Array:
    """Return the work of a step, a formula over the columns, in each row; refuse one that is not above zero."""
    values = np.broadcast_to(np.asarray(evaluate(work, columns), float), (rows,))
    if not np.all(values > 0.0):
        text = render(work)
        raise FormulaError("the work of a step is not above zero here", text=text, column=0, width=len(text))
    return values
