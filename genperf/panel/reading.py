"""The meaning of each column, from its cells, its header and the question: one score, with its reasons."""

import itertools
import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import Array, Index
from genperf.errors import LISTED, GenperfError, TableError, UnclearTableError, attempted, listed
from genperf.formula import parse, quote_name
from genperf.formula.amounts import amount
from genperf.panel.evidence import (
    CELL_ROUNDING,
    EXTRINSIC,
    LEAST_CHANGE,
    MEASURED_DIGITS,
    MONEY,
    MOST_GROWTH,
    WHOLE,
    Consequence,
    Role,
    TableColumn,
    are_single_runs,
    column_from,
    combination_ids,
    consequences,
    ending_column,
    have_few_counts,
    is_size,
    measurement_of_column,
    ranked,
    repeated_kinds,
    role_by_words,
    words_in,
)
from genperf.panel.machine import PARTS
from genperf.panel.options import MEASURED, FailureRule, Roles, phase_columns, says_failed
from genperf.panel.panel import LEAST_FALL, LEAST_GROWTH, LONGEST_UNCOUNTED, MANY_STEPS, growth_along
from genperf.scaling import BY_GROUP
from genperf.table.cells import Cells, either_reading
from genperf.table.clean import label
from genperf.table.facts import FAILURES, failure_of
from genperf.table.shape import COUNTED, METHODS, names_a_method
from genperf.vocabulary import any_of, section, words_of
from genperf.vocabulary.headers import (
    DEVICE_WORDS,
    OF_A_SINGLE,
    RELATIVE,
    STEP_WORDS,
    TIME_UNITS,
    TIME_WORDS,
    Header,
    bandwidth_of,
    header_of,
    is_price,
    relative_unit,
    unit_of,
)
from genperf.vocabulary.names import (
    EPOCHS,
    LEVELS,
    LOAD,
    PHASES,
    SAMPLES_OF_AN_EPOCH,
    STEPS,
    TITLE_OF_SCALED,
    WAYS,
    WORK_OF_A_RUN,
    WORK_OF_RUNS,
    canonical_of,
    canonical_of_singular,
    column_named,
    column_of,
    counts_cores,
    counts_devices,
    is_batch_of_a_node,
    is_relative,
    meant_by,
    noun_of,
    plain_name,
    words_in_full,
)

#: Columns whose meaning is matched: 1,000 take 3 s, and ten times as many a hundred times as long.
MAX_COLUMNS = 1000
#: In log odds that a column was chosen: a header that is one of the field's names for a setting, against cells
#: that look measured.
NAMED_LOG_ODDS = 4.0
#: Rows of a column that numbers them: fewer are consecutive by chance. A guess.
LEAST_NUMBERED = 4
#: How many times as fast runs of the same numbers are, in the median, whose names then tell more than repeats. A guess.
NAMES_APART = 1.5
#: Share of empty cells above which a column is of no use. Half, double: experiments/results/settings.md.
MAX_EMPTY_CELLS = 0.2
#: Devices of the largest servers that are common: a column of so few, the same on every count of nodes, is of one node.
MOST_DEVICES = 16
#: The exponent from which on a time grows with a number without a name as with a size: workers hold it up by less.
SIZE_GROWTH = 0.5
#: So many times its smallest number is the largest of a size, with which a throughput no longer grows.
WIDE_RANGE = 100.0
#: The logarithm up to which a rate of each, which leaves out when some waited, times the count is that of all.
ABOUT_EQUAL = 0.25
#: Spread of a rate times the time of a step, relative, up to which steps do the same work: both were measured. A guess.
SAME_WORK = 0.05
#: So many batches in a time in every run show that it is no step's. A guess: passes before a step are fewer.
MANY_BATCHES = 10.0
#: An efficiency of the fewest workers above it is in percent.
MOST_EFFICIENT = 2.0
#: Times more steps in the longest run from which on one of them is told: iterations of a solver differ less. A guess.
MANY_TIMES = 2.0
#: Of so few measured columns none is taken for the sum of the others.
LEAST_PHASES = 2
#: The name of the devices that follow from the ways of a layout.
DEVICES = "devices"
#: Share of the combinations of sizes from which on a number that they give is no setting. A guess.
MOST_COMBINATIONS = 2.0 / 3.0
_BATCHES = ("batch", "global_batch")
#: Switches of a run: names of kinds even where they are written 0 and 1.
_SWITCHES = ("zero", "recomputation", "precision", "offload")
#: A run by its number or letter: `run1`, `trial-2`, `a`.
_NUMBERED = re.compile(r"([a-z]*[ _-]?)(\d+|[a-z])")
#: What all cells of a column are that says how each run was scaled.
SCALED = re.compile(any_of("cells.kind_of_scaling"))
_SERIAL = re.compile(any_of("headers.serial"), re.IGNORECASE)
#: Also of one value they say how much a step does: its tokens, its operations.
_SIZES_OF_A_STEP = ("sequence", "parameters", "parameters_billion", "layers", "hidden", "vocabulary")
#: Units of the time of a step, which are no units of a price.
_OF_A_STEP = ("s", "ms", "us", "ns")
#: Kind of a header → why its column is measured.
_KINDS = {"": "none", "time": "a time", "rate": "a rate", "quantity": "an amount of memory, energy or power"}
#: Why a column of numbers is not predicted.
MAY_NAME = "whole numbers without a unit, another one in each row: they may name the runs"
#: Counts of nodes with as many devices, beside fewer on one node, from which on the devices are those of a node. A
#: guess: of two counts the second may spread the same devices.
FEWEST_FULL = 3
#: Seconds of three years, which no run takes: whole numbers above it are those of a clock in nanoseconds.
LONGEST = 1e8
#: Seconds that no step of a training takes: of a longer time a batch is not the work. A guess.
LONGEST_STEP = 1e3
#: Why texts of which each row has another one name kinds.
RUNS_APART = "it tells runs of the same numbers apart"
#: Why a time is that of no step.
OF_MANY_STEPS = "a rate does many batches in it"
#: How much more of them it may do in one run than in another where all did one job: what a start takes. A guess.
ONE_JOB = 1.2
OF_ONE_JOB = "a rate does as much in it in every run"
#: Ratio of the ends of what each worker did in a long time up to which that is one amount. A guess.
SAME_WORK = 1.03
#: Why a setting is predicted.
WANTED = "it is wanted"
#: Headers of one word that are times where something must have been measured, and their units. `h` is a size, `min` the
#: least, as often as a time, and `steps` are counted.
TIME_HEADERS = {word: unit for word, unit in TIME_WORDS.items() if word not in ("h", "min")}
TIME_HEADERS |= dict.fromkeys(("t", *words_of("headers.step")), "s")


class Reading(Struct, eq=False, dict=True):
    """What the columns of a table mean, and the roles that say it to `read_table`."""

    #: The columns of the table, and the devices that follow from the ways of a layout: of the role "made".
    columns: dict[str, TableColumn]
    roles: Roles
    #: Field's name → column, for counts whose name is in the singular, such as `gpu`, or none of the field's.
    mapping: dict[str, str] = field(default_factory=dict)
    #: The columns that the question names, and those of a given work of a step.
    requested: frozenset[str] = frozenset()
    #: Measured columns, the likeliest to be the question first; and whatever the question wants.
    quantities: tuple[str, ...] = ()
    ranked: tuple[str, ...] = ()
    #: The column that counts the workers, or else the nodes; or whatever the runs are scaled by.
    scale: str | None = None
    kinds_alone: bool = False  #: Whether names of kinds vary alone, and no number does.
    #: Columns to derive for `read_table`: the throughput of all workers from that of one, the time of a step from
    #: steps per second.
    derived: dict[str, str] = field(default_factory=dict)

    @property
    def divisors(self) -> set[str]:
        """The columns that count steps, epochs or tokens of a run, and by which what was measured is divided."""
        names = {name for text in self.derived.values() for name in parse(text).names if name in self.columns}
        counting = {n for n in names if any(of.fullmatch(plain_name(n)) for of in WORK_OF_RUNS)}
        return {n for n in counting if self.columns[n].role == "consequence"}

    @property
    def table_columns(self) -> dict[str, TableColumn]:
        """The columns that the table has."""
        return {name: column for name, column in self.columns.items() if column.role != "made"}

    @cached_property
    def series(self) -> Index:
        """For each row the number of its combination of kinds; 0 in every row where there are no kinds."""
        kinds = [column.texts for column in self.with_role("kind")]
        return combination_ids(kinds or [np.zeros(len(next(iter(self.columns.values())).texts), object)])

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns in no role."""
        used = self.roles.columns | {*self.quantities[:1]}
        return tuple(n for n in self.table_columns if n not in used)

    @property
    def synonyms(self) -> dict[str, dict[str, dict[str, str]]]:
        """Column without a role → cell → the cell of another column that it implies: {"host": {"a": {"gpu": "h100"}}}.

        Kinds have the same names by another header. Where the scale is a multiple of a number, as of servers that
        hold eight devices each, only the largest cell is kept: others are in proportion.
        """
        synonyms: dict[str, dict[str, dict[str, str]]] = {}
        names = [self.columns[n] for n in (*self.roles.group, *self.roles.categorical) if n in self.columns]
        for column, name in itertools.product(self.with_role("kind"), names):
            pairs = dict.fromkeys(zip(column.texts.tolist(), name.texts.tolist(), strict=True))
            if column.varies and column not in names and len(pairs) == len(column.levels) == len(name.levels):
                synonyms[column.name] = {cell: {name.name: level} for cell, level in pairs}
        for column in self.with_role("setting", "consequence"):
            multiple = None if column.name in self.roles.columns else self.multiple_of(column)
            if multiple is not None:
                largest = float(np.nanmax(column.values))
                synonyms[column.name] = {label(largest): {str(self.scale): label(largest * multiple)}}
        return synonyms

    def multiple_of(self, column: TableColumn) -> float | None:
        """Return k where the scale is k times a column without a name of the field, as GPUs of racks; else None.

        A run on one rack may fill it in part: four racks of 32 devices, and one with 8.
        """
        scale = None if self.scale is None else self.columns[self.scale]
        if scale is None or scale is column or column.canonical is not None or not (column.numeric and column.varies):
            return None
        both = np.isfinite(scale.values) & np.isfinite(column.values)
        counts, values = scale.values[both], column.values[both]
        if not (len(values) and np.min(counts) > 0.0 and np.min(values) > 0.0):
            return None
        multiples, several = counts / values, values > 1.0
        if np.ptp(multiples) > CELL_ROUNDING * np.max(multiples):
            # Several racks are full ones if k is the same at two counts of them; a single rack may hold fewer.
            is_shown = np.all(values % 1.0 == 0.0) and len(np.unique(values[several])) > 1
            of_full = multiples[several] if is_shown else multiples
            if np.ptp(of_full) > CELL_ROUNDING * np.max(of_full) or np.any(multiples > np.max(of_full)):
                return None
            multiples = of_full
        return float(np.median(multiples))

    def with_role(self, *roles: Role) -> list[TableColumn]:
        """Return the columns of some roles."""
        return [column for column in self.columns.values() if column.role in roles]

    def names_in_role(self, *roles: Role) -> list[str]:
        """Return the names of the columns of some roles."""
        return [column.name for column in self.with_role(*roles)]

    def is_of_no_step(self, name: str) -> bool:
        """Tell whether a time is that of many steps, or of a request, beside a rate of them: `p99_ms` of `req/s`."""
        if OF_MANY_STEPS in self.columns[name].reasons:
            return True
        rates = [column for column in self.with_role("measured") if column.kind == "rate" and not column.header.shared]
        is_of_step = self.columns[name].header.of != ""
        return bool(rates) and not is_of_step and not words_in(name).isdisjoint(words_of("headers.response"))

    def is_of_job(self, name: str) -> bool:
        """Tell whether a time is that of a whole job, by its header or by how much a rate does in it."""
        return self.columns[name].header.of == "job" or OF_ONE_JOB in self.columns[name].reasons

    def is_of_unknown_work(self, name: str) -> bool:
        """Tell whether what elapsed beside a rate is of no job that all runs did, and no step of which each did one."""
        time, rate = self.columns[name], self.columns[self.quantities[0]]
        if time.kind != "time" or time.header.of or rate.kind != "rate" or MANY_STEPS.isdisjoint(words_in(name)):
            return False
        counts = np.ones(len(time.values)) if self.scale is None else self.columns[self.scale].values
        done = _done_in(rate, time) * (counts if rate.header.shared else 1.0)
        is_long = np.nanmedian(time.values) * np.divide(*TIME_UNITS[time.header.unit or "s"]) > LONGEST_UNCOUNTED
        # Of runs of a fixed time what each worker did falls as they grow.
        limits = ((done, ONE_JOB), (done / counts, SAME_WORK if is_long else ONE_JOB))
        return all(np.nanmax(work) > most * np.nanmin(work) for work, most in limits)

    def scaling_by(self, name: str) -> tuple[str, str]:
        """Return the kind of scaling that the columns beside a time show, and why; or nothing.

        The cells say it, or a size of the program grows in proportion to the count. A speed-up of one time over each is
        that of one amount of work, and an efficiency so is of work that grows.
        """
        scale = str(self.scale)
        for column in self.columns.values():
            texts = [level.strip().lower() for level in column.levels]
            stated = [SCALED.fullmatch(text) or TITLE_OF_SCALED.search(text) for text in texts]
            kinds = {match and match[1] for match in stated}
            if len(kinds) == 1 and (kind := kinds.pop()) is not None:
                return kind, f"'{column.name}' is {column.levels[0]}"
        grown = [c.name for c in self.with_role("setting", "consequence") if c.follows == Consequence({scale: 1})]
        size = next((n for n in grown if not words_in(n).isdisjoint(words_of("headers.size"))), None)
        # A size that is scaled counts no workers.
        if size is not None and (scale in self.mapping.values() or canonical_of(scale) is not None):
            return "weak", f"'{size}' grows in proportion to {scale}"
        # Of one amount of work a speed-up is T(1)/T and an efficiency T(1)/nT; of work that grows n times as much.
        shown_by = {("speed", "strong"): {name: -1}, ("speed", "weak"): {scale: 1, name: -1}}
        shown_by |= {("eff", "weak"): {name: -1}, ("eff", "strong"): {scale: -1, name: -1}}
        for column, ((word, kind), powers) in itertools.product(self.with_role("ratio"), shown_by.items()):
            shows = word in plain_name(column.name) and column.follows == Consequence(powers)
            if shows and not (grown and kind == "strong"):
                return kind, f"'{column.name}' is {column.follows}"
        return "", ""

    def is_in_percent(self, name: str) -> bool:
        """Tell whether an efficiency is in percent: that of the fewest workers, since caches may make others large."""
        shares = self.columns[name].values
        counts = np.zeros(len(shares)) if self.scale is None else self.columns[self.scale].values
        shares, counts = shares[np.isfinite(shares)], counts[np.isfinite(shares)]
        return bool(len(shares)) and float(np.median(shares[counts == np.min(counts)])) > MOST_EFFICIENT

    def growths(self, name: str, series: Index) -> Array:
        """Return the exponent by which a column grows along the scale in each of some series of several counts."""
        if self.scale is None:
            return np.empty(0)
        counts, values = (self.columns[n].values for n in (self.scale, name))
        rows = [series == number for number in np.unique(series)]
        growths: Array = np.array([growth_along(counts[of_one], values[of_one]) for of_one in rows])
        return np.asarray(growths[np.isfinite(growths)])

    def growth(self, name: str) -> float:
        """Return the median exponent by which a column grows along the scale in each series; 0 without a series."""
        growths = self.growths(name, self.series)
        return float(np.median(growths)) if len(growths) else 0.0

    @property
    def options(self) -> str:
        """The roles as options of a command, quoted for a shell: `--time t --extrinsic gpus`."""
        pairs = [*self.roles.texts.items(), *(("let", f"{n}={f}") for n, f in self.derived.items())]
        pairs += [("map", f"{name}={column}") for name, column in self.mapping.items()]
        return " ".join(f"--{option} {shlex.quote(value)}" for option, value in pairs)

    def read_as(self) -> dict[str, dict[str, Any]]:
        """Return each column's role and reasons, for JSON: {"gpus": {"role": "scale", "why": "whole numbers"}}."""
        scale = {self.scale: "scale"} if self.scale else {}
        return {
            n: {"role": scale.get(n, c.role), "why": str(c).partition(": ")[2]} for n, c in self.table_columns.items()
        }


def read_columns(
    columns: Mapping[str, Cells | Sequence[Any]],
    roles: Roles | None = None,
    mapping: Mapping[str, str] | None = None,
    at: Mapping[str, str] | None = None,
    want: str | None = None,
    units: Mapping[str, str] | None = None,
    alone: bool = False,
    names: Mapping[str, Sequence[str]] | None = None,
) -> Reading:
    """Find what each column of a table is: by itself first, then beside the others, in steps that build on each other.

    The `roles` that were given, and the `mapping`, win. Columns of a question `at` are settings, also where others give
    them; it may `want` one quantity, by a header or a kind. `units` stood in the cells, `names` were taken apart into
    other columns, and a table `alone` is one of a single run.
    """
    if len(columns) > MAX_COLUMNS:
        what = f"the roles of at most {MAX_COLUMNS:,} columns are recognised, and there are {len(columns):,}"
        hint = "genperf fit with the roles by name: --time COL --extrinsic COL; or a table with fewer columns"
        raise TableError(what, hint=hint)
    given_roles, units, at = roles or Roles(), units or {}, at or {}
    read = {name: column_from(name, cells, units.get(name, ""), columns) for name, cells in columns.items()}
    # A work of a step is over settings.
    requested_names = [*at, *(parse(given_roles.work).names if given_roles.work else ())]
    # What names say that are compared, none of them given, stands in the columns that were read from them.
    requested_names = [name for name in requested_names if at.get(name, name) or name not in (names or {})]
    requested = frozenset(column for name in requested_names if (column := column_named(name, columns)) is not None)
    reading = Reading(read, given_roles, dict(mapping or {}), requested)
    for meaning, name in reading.mapping.items():
        if name in read:
            read[name].canonical = read[name].meant = meaning
    for name, evidence in read.items():
        evidence.becomes(*_role_by_itself(reading, evidence))
        numbers = {n: c.known for n, c in read.items()} if evidence.meant in METHODS else {}
        if numbers and evidence.role != "measured" and names_a_method(name, numbers):
            evidence.becomes("measured", "it counts nothing: no run has so many")
            evidence.canonical = evidence.meant = None
        if want is not None and plain_name(want) == plain_name(name) and evidence.role == "setting":
            evidence.becomes("measured", WANTED)
    if names:
        _settle_names(reading, names)
    _settle_measured(reading, units)
    if not given_roles.failures.columns:
        unmeasured = reading.with_role("kind", "label", "setting", "constant", "empty")
        ending = ending_column({c.name: columns[c.name] for c in unmeasured})
        name, _, word = ending.get("failed", "").partition("=")
        rule = FailureRule(ending.get("status"), {name: (word,)} if name else {})
        reading.roles = replace(given_roles, failures=rule)
    for name in {*reading.roles.failures.columns} & {*read} - {*reading.names_in_role("measured")}:
        read[name].becomes("ending", "it says how a run ended")
    for name in phase_columns(reading.names_in_role("measured")).values():
        read[name].becomes("phase", "a part of a step")
    if given_roles.columns and given_roles.whole:
        for name in {*reading.names_in_role("setting", "kind")} - given_roles.columns - requested:
            read[name].becomes("consequence", "no given role has it")
    _settle_consequences(reading)
    varied = [c for c in reading.with_role("setting", "kind") if c.varies]
    if len(varied) > 2:
        _label_computed_sizes(varied, {*requested, *reading.roles.columns})
    counts = {c.canonical: c for c in reading.with_role("setting") if c.name not in given_roles.by_column}
    if "nodes" not in counts and "servers" in counts:
        _settle_servers(reading, counts)
    if "threads" in counts:
        _derive_cores(reading, counts, words_of("headers.cores")[0] in at)
    if "nodes" in counts:
        _derive_devices(reading, counts)
    _find_scale(reading, at)
    rates = [c for c in reading.with_role("measured") if c.kind == "rate" and not c.header.shared]
    singles = [c for c in rates if OF_A_SINGLE.search(c.name)]
    if singles and reading.scale is not None and read[reading.scale].varies:
        _settle_rates_of_a_single(reading, singles)
    pairs = [(column_named(name, columns), amount(text)) for name, text in at.items()]
    new_values = {n for n, value in pairs if n is not None and value is not None and value not in read[n].known}
    _order_quantities(reading, want)
    _assign_roles(reading, new_values, given_roles, alone)
    if reading.roles.group and (switches := _names_of_failed_series(reading, dict(pairs))):
        # Read again with these numbers as factors, and not as names of series: other series show what to expect.
        roles = replace(given_roles, intrinsic=(*given_roles.intrinsic, *switches))
        return read_columns(columns, roles, mapping, at, want, units, alone, names)
    return reading


def _names_of_failed_series(reading: Reading, requested: Mapping[str | None, float | None]) -> list[str]:
    """Return the numbers that name the requested series, where no run of it ended with a value; else []."""
    names = [n for n in reading.roles.group if n in requested and reading.columns[n].numeric]
    of_series = np.all([reading.columns[n].values == requested[n] for n in names], axis=0)
    measured = reading.columns.get(reading.quantities[0])
    failed = measured is not None and np.any(of_series) and not np.any(of_series & np.isfinite(measured.values))
    return names if failed else []


def _settle_servers(reading: Reading, counts: dict[str | None, TableColumn]) -> None:
    """Read servers as nodes where they hold devices: a column says how many, or each has several and no `workers`."""
    servers, devices = counts["servers"], counts.get("workers")
    holds_devices = "devices_per_node" in counts
    if devices is not None and words_in(devices.name).isdisjoint(("worker", "workers")) and servers.lowest > 0.0:
        on_each = devices.values / servers.values
        holds_devices |= bool(np.min(on_each) > 1.0 and np.ptp(on_each) <= CELL_ROUNDING * np.max(on_each))
    if holds_devices and noun_of(servers.name).lower() == "servers" and "nodes" not in reading.mapping:
        servers.canonical, counts["nodes"], reading.mapping["nodes"] = "nodes", servers, servers.name


def _derive_devices(reading: Reading, counts: Mapping[str | None, TableColumn]) -> None:
    """Derive the devices as nodes times the devices of each, where both vary and no column counts all devices."""
    nodes, per_node, devices = counts["nodes"], counts.get("devices_per_node"), counts.get("workers")
    if per_node is None and devices is not None:
        full = devices.values == max(devices.known, default=0.0)
        always_full = full[nodes.values > 1.0].all() and max(devices.known, default=np.inf) <= MOST_DEVICES
        if devices.varies and always_full and len(np.unique(nodes.values[full])) >= FEWEST_FULL:
            per_node, devices = devices, None
    made = DEVICES if DEVICES not in reading.columns else "workers"
    if devices is not None or "workers" in reading.mapping or made in reading.columns:
        return
    if per_node is not None and nodes.varies and per_node.varies:
        reading.columns[made] = column_from(made, (nodes.values * per_node.values).tolist(), role="made")
        reading.derived = {made: f"{quote_name(nodes.name)}*{quote_name(per_node.name)}"}
        per_node.role, per_node.follows = "consequence", Consequence({made: 1, nodes.name: -1})


def _derive_cores(reading: Reading, counts: Mapping[str | None, TableColumn], is_requested: bool) -> None:
    """Count the cores, nodes · processes of a node · threads, where the last two vary: all of them do the work."""
    counts_below = ("workers",) if "workers" in counts else ("nodes", "devices_per_node")
    inside = [counts[part] for part in (*counts_below, "threads") if part in counts]
    processes, names = inside[-2:][0], [c.name for c in inside]
    vary = len(inside) > len(counts_below) and all(c.varies for c in inside[-2:]) and "workers" not in reading.mapping
    if not vary or {"gpu", "gpus"} & words_in(processes.name) or reading.roles.columns.intersection(names):
        return
    cells = np.prod([c.values for c in inside], axis=0)
    others = [c for c in reading.with_role("setting", "consequence") if counts_cores(c.name) and c not in inside]
    column = next((c for c in others if np.allclose(c.values, cells)), None)
    if column is None and (len(counts_below) > 1 or is_requested):
        column = column_from(words_of("headers.cores")[0], cells.tolist(), role="made")
    if column is not None:
        column.role, column.follows = "setting" if column in others else "made", None
        reading.columns[column.name], reading.mapping["workers"] = column, column.name
        reading.derived = {column.name: "*".join(map(quote_name, names))}
        processes.role = "consequence"


def _role_by_itself(reading: Reading, column: TableColumn) -> tuple[Role, *tuple[str, ...]]:
    """Return the role of the first rule that a column fulfils by itself, with the reasons."""
    option = reading.roles.by_column.get(column.name)
    if option is not None:
        fitting: dict[str, Role] = {"repeat": "repeat", "categorical": "kind", "group": "kind", "weight": "label"}
        return fitting.get(option, "measured" if option in MEASURED else "setting"), f"given as --{option}"
    meant, known_values, levels = column.meant, column.known, column.levels
    # Whole numbers that go on by one from some number to another, each once: a number for each row.
    is_whole = column.numeric and bool(np.all(known_values % 1.0 == 0.0))
    numbers_rows = (
        is_whole and len(known_values) >= LEAST_NUMBERED and bool(np.all(np.diff(np.sort(known_values)) == 1.0))
    )
    texts, (score, reasons) = not column.numeric or column.canonical in _SWITCHES, column.score()
    switch = {*levels} == {"0", "1"}
    # `batch_cost` in seconds is no price.
    no_price = (MONEY,) if column.kind == "time" and column.header.unit in _OF_A_STEP else ()
    by_words = role_by_words(column.name, reading.columns)
    of_header = f"its header or its unit is that of {_KINDS[column.kind]}"
    # Repeats have numbers or letters, perhaps behind one and the same word.
    runs = [_NUMBERED.fullmatch(level.lower()) for level in levels]
    counts_runs = bool(runs) and all(runs) and len({run[1] for run in runs if run is not None}) == 1
    has_unit = column.header.unit or header_of(column.name).kind
    plain = plain_name(column.name)
    # A step of 0.21 is the time of one.
    named_repeat = (
        plain in words_of("columns.repeat") and not has_unit and (is_whole or STEP_WORDS.isdisjoint(plain.split("_")))
    )
    either, is_none = either_reading(levels) if texts else "", meant in LEVELS and not any(known_values)
    rules: tuple[tuple[bool, Role, str], ...] = (
        (not levels, "empty", "no cell is filled"),
        (column.name in reading.requested, "kind" if texts or switch else "setting", "the question names it"),
        (named_repeat and (counts_runs or column.numeric), "repeat", "it numbers the repeats of a configuration"),
        (by_words is not None and by_words[1] not in no_price, *(by_words or ("label", ""))),
        (column.kind != "" and len(known_values) > 0, "measured", of_header),
        (column.numeric and column.is_statistic, "measured", "its header is that of a statistic"),
        (column.numeric and plain == "value", "measured", "its header is that of values"),
        (texts and column.is_provenance, "label", "it says where a run was written down"),
        (bool(either), "label", f"the comma in {either} may part thousands or decimals"),
        (texts and sum(column.texts == "") > MAX_EMPTY_CELLS * len(column.texts), "empty", "many cells are empty"),
        (texts and not column.varies, "constant", "one level"),
        (texts and column.names_kinds, "kind", f"{len(levels)} levels"),
        (texts, "label", "a text for almost each row"),
        (switch, "kind", "a switch, 0 or 1"),
        (sum(column.texts == "") > MAX_EMPTY_CELLS * len(column.texts), "empty", "many cells are empty"),
        (not column.varies and (meant is None or is_none), "constant", "one number"),
        (meant is None and score < 0.0 and numbers_rows, "label", "it numbers the rows"),
    )
    for holds, role, reason in rules:
        if holds:
            return role, reason
    if meant is not None:
        score += NAMED_LOG_ODDS
        by_header = "its header is a name of" if meant_by(column.name) == meant else "--map makes it the"
        reasons = [f"{by_header} {meant.replace('_', ' ')}", *reasons]
    return "setting" if score >= 0.0 else "measured", *reasons


def _settle_names(reading: Reading, names: Mapping[str, Sequence[str]]) -> None:
    """Settle whether a column of names, or the numbers read from the names, are factors: the other ones become labels.

    Names stay where they are kinds of runs, and hold no count and no size that has a meaning or is requested.
    """
    columns = reading.columns
    for name, read_names in names.items():
        if name not in columns or not {*read_names} <= {*columns}:
            continue
        others = (
            column
            for column in columns.values()
            if column.name not in (name, *read_names) and column.varies and column.numeric and column.role != "label"
        )
        meanings = {column.meant for column in others}
        # `2x p3.16xlarge` beside a column of the GPUs counts machines.
        counted_elsewhere = [n for n in read_names if columns[n].meant in meanings and columns[n].meant in LEVELS]
        counts_and_sizes = [n for n in read_names if columns[n].meant is not None or n in reading.requested]
        if columns[name].role == "kind" and not meanings.isdisjoint(LEVELS) and not counts_and_sizes:
            for read_name in read_names:
                columns[read_name].becomes("label", f"'{name}' says it as well")
        elif name not in reading.requested and columns[name].role in ("kind", "label"):
            columns[name].becomes("label", f"taken apart: {listed(read_names, 6)}")
            for read_name in counted_elsewhere:
                columns[read_name].becomes("label", "another column counts the same")


def _settle_measured(reading: Reading, units: Mapping[str, str]) -> None:
    """Settle what was measured, in which unit, where headers alone do not say it."""
    settings = reading.with_role("setting")
    if not reading.with_role("measured", "ratio"):
        free = [c for c in settings if c.name not in reading.requested and c.varies and c.meant is None]
        free = [c for c in free if not is_size(c.name)] or free
        # One setting at least is left.
        if free and len(free) < len(settings):
            likeliest = min(free, key=lambda c: c.score()[0])
            likeliest.becomes("measured", "no other column can be what was measured")
    for column in settings:
        if column.name in reading.requested or column.meant is not None or np.all(column.known % 1.0 == 0.0):
            continue
        # Nobody chooses fractions that are about as long as what elapsed: `real` beside `elapsed_time`.
        times = (c.values for c in reading.with_role("measured") if c.kind == "time")
        if any(_are_about_equal(column.values, values) for values in times):
            column.becomes("measured", "it is about as long as a time that was measured")
    for column in reading.with_role("measured", "ratio"):
        unit, plain = units.get(column.name, ""), plain_name(column.name)
        if not column.kind and column.role == "measured" and plain in TIME_HEADERS:
            column.header = replace(column.header, kind="time", unit=TIME_HEADERS[plain])
        elif not column.kind or (unit and column.kind == "rate"):
            # A bandwidth is no throughput, though it is an amount per second.
            bandwidth = bandwidth_of(column.name, unit)
            column.header = Header("quantity", bandwidth) if bandwidth else column.header
    shares = [c for c in reading.with_role("measured") if not c.kind and units.get(c.name) in ("%", "x")]
    if any(is_relative(c.name) or c.kind for c in reading.with_role("measured", "ratio") if c not in shares):
        for column in shares:
            if WANTED not in column.reasons and column.name not in reading.roles.by_column:
                column.becomes("ratio", "its cells are shares of something else")
    else:
        for column in shares:
            if units[column.name] == "x":
                column.header = Header("rate", "s", RELATIVE)
    if not any(c.kind for c in reading.with_role("measured")):
        return
    for column in reading.with_role("measured"):
        too_long = column.known >= LONGEST if column.header == Header("time", "s") else np.zeros(1, dtype=bool)
        if too_long.any() and np.all(column.known % 1.0 == 0.0):
            # Where only some are too long for seconds, the unit of the clock is not known.
            column.header = replace(column.header, unit="ns") if too_long.all() else Header("quantity")
    _settle_labels(reading)
    if reading.with_role("label") or not reading.requested.isdisjoint(reading.names_in_role("kind")):
        _settle_kinds(reading)


def _are_about_equal(values: Array, times: Array) -> bool:
    """Tell whether values are in proportion to times but for a little, in runs that took much different ones."""
    with np.errstate(all="ignore"):
        logarithms = np.log([values, times])
    logarithms = logarithms[:, np.isfinite(logarithms).all(axis=0)]
    if len(logarithms.T) < LEAST_NUMBERED:
        return False
    return bool(np.ptp(logarithms[0] - logarithms[1]) < ABOUT_EQUAL < np.log(2.0) < np.ptp(logarithms[1]))


def _settle_labels(reading: Reading) -> None:
    """Take whole numbers of no known header, another one in each row, for labels of the runs."""
    counts = [c for c in reading.with_role("setting") if c.canonical in LEVELS]
    runs_differ = not counts or any(len(c.levels) == len(c.texts) for c in counts)
    wanted = {c.name for c in reading.columns.values() if WANTED in c.reasons}
    settled = reading.requested | wanted | {*reading.roles.by_column}
    has_speed = any(c.kind in ("time", "rate") for c in reading.with_role("measured"))
    for column in reading.with_role("measured") if runs_differ else reading.with_role("measured", "setting"):
        values, rows = np.unique(column.known), len(column.texts)
        unknown = not column.kind and column.meant is None and column.name not in settled and not column.is_statistic
        numbers_runs = rows >= LEAST_NUMBERED and len(values) == rows and np.all(values % 1.0 == 0.0)
        doubles = column.role == "setting" and np.all(values[1:] >= 2.0 * values[:-1])
        if not (unknown and numbers_runs) or doubles:
            continue
        scales = [c.values for c in counts if c.varies and c.lowest > 0.0 and values[0] > 0.0]
        grow = (growth_along(scale, column.values) for scale in scales)
        # A score that grows with the devices is none where no time and no rate was measured.
        if has_speed or not any(abs(exponent) >= LEAST_GROWTH for exponent in grow):
            column.becomes("label", MAY_NAME)


def _settle_kinds(reading: Reading) -> None:
    """Take the only texts of which each row has another one for kinds where runs of the same numbers differ by much."""
    texts = [c for c in reading.with_role("label", "kind") if c.levels and not c.numeric and not c.is_provenance]
    # One that a question names is a kind already.
    texts = [c for c in texts if c.role == "label" or not (c.names_kinds or c.name in reading.roles.by_column)]
    named = [c for c in texts if not all(map(COUNTED.match, c.levels))]
    results = [c for c in reading.with_role("measured") if c.kind]
    if len(named) == 1 and results:
        others = [c.texts for c in reading.with_role("setting", "kind") if c is not named[0]]
        place = combination_ids(others or [np.zeros(len(named[0].texts), object)])
        values = np.where(results[0].values > 0.0, results[0].values, np.nan)
        groups = [of_run for k in np.unique(place) if np.sum(np.isfinite(of_run := values[place == k])) > 1]
        # A `strategy` names kinds, whatever it changed.
        apart = 1.0 if plain_name(named[0].name) in words_of("log.method") else NAMES_APART
        if groups and np.median([np.nanmax(of_run) / np.nanmin(of_run) for of_run in groups]) > apart:
            named[0].becomes("kind", RUNS_APART)


def _settle_consequences(reading: Reading) -> None:
    """Mark the columns that follow from others by arithmetic; a requested or named column keeps its role."""
    settings, measured, ratios = (
        [c for c in reading.with_role(role) if c.numeric] for role in ("setting", "measured", "ratio")
    )
    named = reading.requested
    in_order = sorted(settings, key=lambda c: (c.name not in named, c.meant not in EXTRINSIC, c.meant is None))
    names = [c.name for c in settings]
    ordered = [*(c.name for c in in_order), *ranked(measured, names), *(c.name for c in ratios)]
    values = {n: reading.columns[n].values for n in ordered}
    before = reading.names_in_role("measured")
    for name, consequence in consequences(values, names, reading.series, {c.name for c in ratios}).items():
        base, *further = consequence.factors
        proportional = not further and consequence.factors[base] == 1
        # Where a count of the field is a multiple of a column without a name of the field, the count follows. So does
        # a batch of all of which each of `executors` has a whole share.
        is_base = proportional and reading.columns[name].meant in LEVELS and reading.columns[base].meant is None
        is_base |= proportional and _divides_global_batch(reading.columns[name], reading.columns[base])
        column, follows = reading.columns[base if is_base else name], Consequence({name: 1}) if is_base else consequence
        # Two networks that scale alike have proportional columns, neither of which follows from the other.
        alike = proportional and name in before and base in before
        if column.kind:
            # So have two variants of one measurement; of what each device has follows what all have.
            column.follows = None if alike and column.header == reading.columns[base].header else follows
        elif not alike:
            # A data set that grew with the workers goes on to grow with them.
            grown = proportional and column.meant == "samples" and reading.columns[base].meant in LEVELS
            is_factor = column.name in named or column.role == "ratio" or (column.meant is not None and not grown)
            column.follows, column.role = follows, column.role if is_factor else "consequence"
    times = [c.values for c in measured if c.kind == "time" and c.header.of not in ("job", "epoch")]
    times = [values for values in times if np.all(values > 0.0)]
    for column in (c for c in settings if STEPS.fullmatch(plain_name(c.name)) and c.name not in named):
        # A benchmark repeats what takes less time more often, `iterations` beside `real_time`.
        longest = [np.ptp(np.log(column.values * time)) for time in times if min(column.known, default=0.0) > 0.0]
        if min(longest, default=np.inf) < np.log(MANY_TIMES) <= np.log(max(column.known) / min(column.known)):
            column.becomes("label", "so many were done in about the same time in every run")
    if not reading.with_role("measured", "ratio"):
        # Something was measured, though it rises as the count does.
        for name in before:
            reading.columns[name].role, reading.columns[name].follows = "measured", None


def _divides_global_batch(column: TableColumn, batch: TableColumn) -> bool:
    """Tell whether a column without a name of the field may count devices: it divides the global batch in every run."""
    nameless = column.meant is None and not column.kind and not is_size(column.name)
    may_be_of_all = batch.canonical == "global_batch" or plain_name(batch.name) in words_of("columns.batch_of_any")
    if not nameless or not may_be_of_all or column.lowest <= 0.0:
        return False
    return bool(np.all(batch.values % column.values == 0.0))


def _label_computed_sizes(varied: Sequence[TableColumn], named: set[str]) -> None:
    """Make labels of numbers that several sizes together determine, as a network's parameters or its operations."""
    # Names without a meaning follow from others rather than the other way round.
    free = sorted(varied, key=lambda c: c.canonical is not None)
    for column in free.copy():
        others = [c for c in free if c is not column]
        is_taken = not column.numeric or column.name in named
        if is_taken or column.canonical not in (None, "parameters") or not _determine(others, column):
            continue
        # The fewest that still determine it: each is left out that is not needed beside the others.
        givers = others
        for other in others:
            fewer = [c for c in givers if c is not other]
            givers = fewer if _determine(fewer, column) else givers
        possible_combinations = math.prod(len(c.levels) for c in givers)
        is_crossed = _combination_count(givers) >= MOST_COMBINATIONS * possible_combinations
        of_network = column.canonical == "parameters" and {"layers", "hidden"} <= {c.canonical for c in givers}
        has_more_values = len(column.levels) > max((len(c.levels) for c in givers), default=0)
        if has_more_values and (is_crossed or of_network) and not any(_determine([c], column) for c in others):
            column.becomes("label", f"{listed([c.name for c in givers], 6)} give it")
            free.remove(column)


def _combination_count(columns: Sequence[TableColumn]) -> int:
    """Return how many different combinations the rows have in some columns."""
    return len({*zip(*(c.texts.tolist() for c in columns), strict=True)})


def _determine(columns: Sequence[TableColumn], column: TableColumn) -> bool:
    """Tell whether some columns determine another one: rows that are equal in these are equal in it."""
    return bool(columns) and _combination_count([*columns, column]) == _combination_count(columns)


def _find_scale(reading: Reading, at: Mapping[str, str]) -> None:
    """Find the column by which the runs are scaled: workers, nodes, or what the question goes beyond."""
    columns, settings, mapped = reading.columns, reading.with_role("made", "setting"), reading.mapping
    # Column → the field's name for it; a count in the singular, such as `gpu`, is mapped as its plural.
    names = {c.name: c.canonical for c in settings if c.canonical is not None}
    if {*LEVELS}.isdisjoint({*names.values(), *mapped}):
        singular = {c.name: level for c in settings if (level := canonical_of_singular(c.name)) in LEVELS}
        mapped |= {level: name for name, level in singular.items() if columns[name].canonical is None}
        names |= singular
    requested_values = {column_named(key, columns): amount(text) for key, text in at.items()}
    requested = [c for name in requested_values for c in settings if c.name == name]
    with_value = [(c, value) for c in requested if len(c.known) and (value := requested_values[c.name]) is not None]
    outside = [c.name for c, value in with_value if not min(c.known) <= value <= max(c.known)]
    scale = _scale_of(reading, names, requested, outside, at)
    if scale is None:
        return
    # Of two columns of one count, `world_size` and `gpus`, the devices or else the first is read, whichever is asked.
    level = names.get(scale)
    of_level = sorted(
        (c for c in settings if level in LEVELS and names.get(c.name) == level), key=lambda c: counts_cores(c.name)
    )
    same_values = [c for c in of_level if np.array_equal(c.values, columns[scale].values)]
    first, *same_counts = [c for c in same_values if c.name not in reading.roles.columns] or [columns[scale]]
    reading.scale = scale = first.name
    for column in same_counts:
        column.role, column.follows = "consequence", Consequence({scale: 1})
    nameless = scale not in mapped.values() and canonical_of(scale) is None
    # A column without a name of a count, with which every time grows much, is a size.
    times = [c.name for c in reading.with_role("measured") if c.kind == "time"]
    # `size (B)`, `message_mb`
    without_unit = re.split(r" \(|[_\s][kmgt]?i?b(?:ytes)?$", scale, flags=re.IGNORECASE)[0]
    counts_nothing = noun_of(without_unit) == without_unit and not any(map(meant_by, words_in(without_unit)))
    times_grow = bool(times) and all(reading.growth(n) > SIZE_GROWTH for n in times)
    sized = is_size(scale) or (nameless and counts_nothing and times_grow)
    if level not in LEVELS and not sized and "workers" not in mapped:
        mapped["workers"] = scale
    if level in LEVELS and scale not in mapped.values() and column_of(str(level), [c.name for c in settings]) != scale:
        # Another column has the better name, and is the same in every run.
        mapped[str(level)] = scale
    if level == "nodes" and "workers" not in {*names.values(), *mapped}:
        # Where nodes alone are counted, each of them is a worker.
        for column in [c for c in columns.values() if c.numeric and is_batch_of_a_node(c.name)]:
            column.role, column.canonical, mapped["batch"] = "setting", "batch", column.name
    for column in reading.with_role("measured"):
        # A time of one amount over what grows with the count: `Perf`, in cells per second, was measured as well.
        over = [n for n, power in (column.follows.factors if column.follows else {}).items() if power == -1]
        rate = columns[over[0]] if len(over) == 1 and column.kind == "time" else column
        unnamed = rate.role == "setting" and rate.meant is None and rate.name not in (scale, *requested_values)
        if unnamed and reading.growth(rate.name) > SIZE_GROWTH:
            rate.role, rate.follows, column.follows = "consequence", Consequence({column.name: -1}), None
    if {c.kind for c in reading.with_role("measured")} >= {"rate", "time"}:
        _settle_times_of_many_steps(reading, scale)
    of_all = None if sized or "global_batch" in mapped else _global_batch(reading, scale)
    if of_all is not None:
        mapped["global_batch"] = of_all


def _scale_of(
    reading: Reading,
    names: Mapping[str, str],
    requested: Sequence[TableColumn],
    outside: list[str],
    at: Collection[str],
) -> str | None:
    """Return the likeliest scale of settings that have `names` of the field; None where nothing shows which it is."""
    columns, mapped, settings = reading.columns, reading.mapping, reading.with_role("made", "setting")
    counts = [mapped[level] for level in LEVELS if mapped.get(level) in columns]
    # Beside devices `num_workers` are those of a loader, whichever stands first.
    by_devices = sorted(settings, key=lambda c: DEVICE_WORDS.isdisjoint(words_in(c.name)))
    counts += [c.name for level in LEVELS for c in by_devices if names.get(c.name) == level]
    varied = [n for n in counts if columns[n].varies]
    devices = [n for n in counts if n not in varied and names.get(n) == "workers"]
    of_node = len(devices) == 1 and "nodes" in map(names.get, varied) and "devices_per_node" not in names.values()
    if of_node and max(columns[devices[0]].known) <= MOST_DEVICES:
        # So few devices on every count of nodes are those of one.
        mapped["devices_per_node"] = devices[0]
        counts.remove(devices[0])
    ways = [c.name for c in settings if names.get(c.name) in WAYS]
    # Of devices and nodes the devices are the scale, whichever a question names.
    counts_outside = [] if {names.get(n) for n in varied} >= {*LEVELS} else [n for n in counts if n in outside]
    only_way = ways if len(ways) == 1 and columns[ways[0]].varies else []
    choices = [counts_outside, varied, counts if at and not outside else [], only_way]
    if not any(choices) and len(ways) > 1:
        # The ways of a layout multiply to its devices, and none of them is the scale.
        choices = [counts]
    elif not any(choices):
        varying = [c.name for c in settings if c.varies]
        # Beside sizes of any name, threads and cores are what runs the program.
        on_cores = [n for n in varying if counts_cores(n) or columns[n].canonical == "threads"]
        extrinsic = [n for n in reading.roles.extrinsic if n in {c.name for c in settings}]
        # Cores come first, then the letter of workers: of `N` and `P` the first one is a size.
        letter, *_ = words_of("headers.letter_of_workers")

        def likelihood(name: str) -> tuple[bool, bool]:
            return not counts_cores(name), name.lower() != letter

        outside.sort(key=likelihood)
        requested_varying = sorted((c.name for c in requested if c.varies), key=likelihood)
        # A letter counts what the question does by another name, `processes=4` of `N` and `P`, or else the only setting
        # without a name of the field that the question leaves open.
        is_absent = any(meant_by(k) in (*LEVELS, "threads") and column_named(k, columns) is None for k in at)
        if is_absent:
            # No fraction counts what the question does.
            varying = [n for n in varying if columns[n].canonical or np.all(columns[n].known % 1.0 == 0.0)]
        unnamed = [n for n in varying if columns[n].canonical is None and columns[n].lowest > 0.0]
        open_settings = [n for n in unnamed if is_absent and n not in requested_varying]
        letters = [n for n in open_settings if len(open_settings) == 1 or noun_of(n) == "workers"]
        # What may count it without a name of the field is the only setting.
        named = [n for n in varying if columns[n].canonical in EXTRINSIC]
        loads = [*filter(LOAD.fullmatch, varying)]
        no_sizes = [n for n in unnamed if not is_size(n)]
        only_one = next((group for group in (named, unnamed, varying, loads, no_sizes) if len(group) == 1), [])
        nameless = [n for n in unnamed if re.fullmatch(any_of("headers.nameless"), plain_name(n))]
        only_nameless = nameless if len(nameless) == 1 else []
        # Counts that do not vary come last.
        choices = [on_cores, letters, outside, extrinsic, requested_varying, only_one, only_nameless, counts]
    return next((candidates[0] for candidates in choices if candidates), None)


def _done_in(rate: TableColumn, time: TableColumn) -> Array:
    """Return how much a rate does in a time, or in a step of so many a second, in each run."""
    (above, below), (rate_above, rate_below) = (TIME_UNITS[of.header.unit or "s"] for of in (time, rate))
    times = 1.0 / time.values if time.kind == "rate" else time.values
    return np.asarray(rate.values * times * (above * rate_below / (below * rate_above)))


def _settle_times_of_many_steps(reading: Reading, scale: str) -> None:
    """Take a time in which a rate does many batches in every run for one of many steps: `time_this_iter_s`."""
    settings = reading.with_role("setting", "consequence", "constant")
    # Passes before a step are of one step.
    passes = [c.values for c in settings if c.canonical == "micro_batches"]
    batches = [c for c in settings if c.canonical in _BATCHES or (passes and c.canonical == "micro_batch")]
    batches = [c for c in batches if len(c.known) == len(c.texts)]
    rates = [c for c in reading.with_role("measured") if c.kind == "rate" and not c.header.shared]
    rates = [c for c in rates if c.header.counted not in ("tokens", *STEP_WORDS)]
    times = [c for c in reading.with_role("measured") if c.kind == "time" and c.header.of != "job"]
    if not batches or (not passes and any(c.canonical == "micro_batch" for c in settings)):
        return
    counts = reading.columns[scale].values
    largest = np.max([c.values * (1.0 if c.canonical == "global_batch" else counts) for c in batches], axis=0)
    largest = np.prod([largest, *passes], axis=0)
    for rate, time in itertools.product(rates, times):
        done = _done_in(rate, time)
        # Runs that failed have no rate.
        if (has_ended := np.isfinite(done)).any() and np.all((done > MANY_BATCHES * largest)[has_ended]):
            is_one_job = done[has_ended].max() <= ONE_JOB * done[has_ended].min()
            time.header = Header("time", time.header.unit)
            time.reasons = (*time.reasons, OF_ONE_JOB if is_one_job else OF_MANY_STEPS)


def _global_batch(reading: Reading, scale: str) -> str | None:
    """Return the column that is the global batch, though its name leaves it open; None where nothing shows it."""
    counts = reading.columns[scale].values
    batches = [c for c in reading.with_role("setting") if c.canonical in _BATCHES]
    open_names = words_of("columns.batch_of_any")
    if len(batches) > 1 and all(c.canonical != "global_batch" for c in batches):
        # Beside the batch of each device another one may be that of all.
        batches = [c for c in batches if plain_name(c.name) in open_names]
    if len(batches) != 1 or np.nanmax(counts) < 2.0 * np.nanmin(counts):
        return None
    (batch,), measured = batches, reading.with_role("measured")
    # The time of a step, or one that grows with the batch, or steps per second, each with the power of it that is in
    # proportion to the time.
    of_one_count = np.unique(np.stack([reading.series, counts]), axis=1, return_inverse=True)[1].ravel()
    steps = [(c, 1.0) for c in measured if c.kind == "time" and c.header.of == "step"]
    for time in (c for c in measured if c.kind == "time" and c.header.of != "step"):
        rows_of_counts = [of_one_count == number for number in np.unique(of_one_count)]
        of_batch = [growth_along(batch.values[rows], time.values[rows]) for rows in rows_of_counts]
        of_batch = [growth for growth in of_batch if np.isfinite(growth)]
        steps += [(time, 1.0)] if of_batch and np.median(of_batch) > SIZE_GROWTH else []
    steps += [
        (c, -1.0) for c in measured if c.header.counted in STEP_WORDS and c.kind == "rate" and not c.header.shared
    ]
    # For each row the number of its series and its batch together.
    of_one_batch = np.unique(np.stack([reading.series, batch.values]), axis=1, return_inverse=True)[1].ravel()
    growths = [power * growth for step, power in steps for growth in reading.growths(step.name, of_one_batch)]
    # Where passes are counted, fewer of them make a step shorter.
    counts_passes = any(c.canonical == "micro_batches" for c in reading.with_role("setting"))
    takes_shorter = len(growths) > 0 and bool(np.median(growths) < -SIZE_GROWTH) and not counts_passes
    if plain_name(batch.name) not in open_names:
        if takes_shorter and not batch.varies and batch.canonical != "global_batch":
            # A step has fewer passes of it on more workers: it says nothing of the work of a step.
            batch.becomes("constant", "one number, though the steps take shorter")
        return None
    # By the exponent up to the median count, or from the fewest to the most workers.
    falls = [fall**power for step, power in steps for fall in _speedups_of_series(step.values, counts, of_one_batch)]
    if takes_shorter or (falls and not counts_passes and float(np.median(falls)) >= LEAST_FALL):
        return batch.name
    times = [c for c in measured if c.kind == "time"]
    rates = [c for c in measured if c.kind == "rate" and not c.header.shared and c.header.counted != "tokens"]
    with np.errstate(all="ignore"):
        # Samples/s times the seconds of a step, over the batch.
        products = [_done_in(rate, time) / batch.values for rate, time in itertools.product(rates, times)]
        is_product = any(np.all(np.abs(np.log(product)) < LEAST_CHANGE) for product in products)
        series = [reading.series == number for number in np.unique(reading.series)]
        grows = np.array([np.ptp(np.log(batch.values[rows] / counts[rows])) < CELL_ROUNDING for rows in series])
        stays = np.array([np.ptp(np.log(batch.values[rows])) < CELL_ROUNDING for rows in series])
    return batch.name if is_product or (np.any(grows & ~stays) and np.all(grows | stays)) else None


def _speedups_of_series(times: Array, counts: Array, series: Index) -> list[float]:
    """Return the speed-up from fewest to most workers of each series of several counts; nan where a run has no time."""
    falls = []
    times = np.where(times > 0.0, times, np.nan)
    for number in np.unique(series):
        n, t = counts[series == number], times[series == number]
        if n.max() > n.min():
            falls.append(float(np.median(t[n == n.min()]) / np.median(t[n == n.max()])))
    return falls


def _order_quantities(reading: Reading, want: str | None) -> None:
    """Order the measured columns, the wanted one or the likeliest first; `ranked` are those as if none were wanted."""
    measured_column = reading.roles.measured_column
    kinds = {*map(attrgetter("kind"), reading.with_role("measured"))}
    if measured_column is None and kinds <= {"quantity"}:
        _take_relative(reading)
    numeric = [c for c in reading.with_role("measured") if len(c.known)]
    total, columns = _find_total([*numeric, *reading.with_role("phase")]), reading.columns
    parts = [*numeric, *(c for c in reading.with_role("phase") if len(c.known))]
    if total is None and measured_column is None and want is None and len(parts) >= LEAST_PHASES:
        total = _sum_of_phases(reading, parts)
        numeric += [] if total is None else [columns[total]]

    another_varies = any(c.varies and c.kind in ("time", "rate") for c in numeric)

    def order(name: str) -> tuple[bool, bool, bool]:
        """Return a key that puts the total first, and last what was not measured in each run, or cannot be read.

        Behind the others is the time of an epoch of as many steps at every count, beside that of one. Last are a column
        with zeros, in few rows, or with one number of many digits; a rate of one where none counts; the time of the
        sequential program.
        """
        column = columns[name]
        has_zeros, in_few_rows = not np.min(column.known) > 0.0, 2 * len(column.known) < len(column.texts)
        one_number = len(column.known) > 1 and not column.varies
        one_number = one_number and (len(column.levels[0]) > MEASURED_DIGITS or another_varies)
        roles = attempted(measurement_of_column, name, [*columns], reading.scale, 0.0, column.header, reading.mapping)
        serial = column.kind == "time" and any(map(_SERIAL.fullmatch, words_in(name)))
        is_last = has_zeros or in_few_rows or one_number or serial or isinstance(roles, GenperfError)
        is_last |= OF_MANY_STEPS in column.reasons
        steps = [c.values for c in numeric if column.header.of == "job" and (c.kind, c.header.of) == ("time", "step")]
        with np.errstate(all="ignore"):
            of_as_many = any(np.ptp(np.log(column.values / seconds)) < CELL_ROUNDING for seconds in steps)
        return is_last, of_as_many, name != total

    names = sorted(ranked(numeric, list(columns)), key=order)
    # Of a rate and a time that measured the same steps the rate says what they do, but for one of steps.
    rates = [n for n in names[1:] if columns[n].kind == "rate" and columns[n].header.counted not in STEP_WORDS]
    same = [n for n in rates if _work_of_times(reading, n, reading.scale)]
    names = sorted(names, key=same[:1].__contains__, reverse=True)
    chosen = measured_column if measured_column is not None or want is None else wanted_column(reading, names, want)
    if chosen is None and not names:
        raise _unmeasured_error(columns)
    if chosen is not None and plain_name(want or "") == plain_name(chosen):
        columns[chosen].reasons = (*columns[chosen].reasons, WANTED)
    ordered = names if chosen is None else [chosen, *(n for n in names if n != chosen)]
    of_one_device = _rates_of_one(reading, names) if reading.scale is not None and columns[reading.scale].varies else []
    for name in of_one_device:
        columns[name].header = replace(columns[name].header, shared=True)
    if chosen is None and ordered[0] in of_one_device:
        ordered = names = ranked([columns[n] for n in names], list(columns))
    reading.quantities, reading.ranked = tuple(ordered), tuple(names)


def _unmeasured_error(columns: Mapping[str, TableColumn]) -> TableError:
    """Return the error of a table without a measured column, which lists how each is read."""
    cells = [[label(text) for text in column.texts] for column in columns.values()]
    if any(texts and all(text in FAILURES or failure_of(text) for text in texts) for texts in cells):
        what = "every run failed, and none measured a time or a throughput"
        return TableError(what, hint="add a run that took some steps")
    listed_columns = [f"'{name}' is read as {column}" for name, column in columns.items()]
    listed_columns = [*listed_columns[:LISTED], *(["…"] if listed_columns[LISTED:] else [])]
    what = "no column is known to be a time, a throughput or another measurement"
    hint = "name the measured one: --time COLUMN, --throughput COLUMN or --quantity COLUMN:UNIT"
    either = next(filter(None, (either_reading(c.levels) for c in columns.values() if not c.numeric)), "")
    hint = f"write {either.replace(',', '')} or {either.replace(',', '.')}, in all cells alike" if either else hint
    return UnclearTableError(f"{what}: {'; '.join(listed_columns)}", hint=hint)


def _rates_of_one(reading: Reading, names: Sequence[str]) -> list[str]:
    """Return which measured rates are those of one device or thread, along a scale that varies."""
    columns, scale = reading.columns, str(reading.scale)
    of_devices = counts_devices(scale) or meant_by(scale) in WAYS
    either = [n for n in names if of_devices and plain_name(n) in words_of("headers.rate_of_one_or_all")]
    of_one = [n for n in either if reading.growth(n) <= LEAST_GROWTH]
    rates = [c for c in (columns[n] for n in names) if c.lowest > 0.0 and c.kind == "rate" and not c.header.shared]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_counts = np.log(columns[scale].values)
    for rate, other in itertools.permutations(rates, 2):
        gaps = np.abs(log_counts + np.log(rate.values / other.values))
        # On one device the rates are equal whatever they are of.
        if np.all(gaps[np.isfinite(gaps)] < ABOUT_EQUAL) and np.any(np.isfinite(gaps) & (log_counts > 0.0)):
            of_one.append(rate.name)
    return of_one


def _find_total(measured: Sequence[TableColumn]) -> str | None:
    """Find the measured column that is the sum of all others in its unit: a step beside its phases."""
    timed, phases = [c for c in measured if c.kind in ("", "time")], {word for of in PHASES.values() for word in of}
    units = {c.header.unit: True for c in timed if c.kind} or {"": True}
    for unit in units:
        # `fwd` and `bwd` beside `step time (ms)` are in its unit.
        without = [c for c in timed if not c.kind and len(units) == 1 and (not unit or plain_name(c.name) in phases)]
        columns = [c for c in timed if c in without or (c.kind and c.header.unit == unit)]
        values = np.array([c.values for c in columns])
        with np.errstate(all="ignore"):
            # All together are twice the sum.
            is_sum = np.all(np.abs(values.sum(axis=0) / values - 2.0) < CELL_ROUNDING, axis=-1)
        if len(columns) > LEAST_PHASES and values.shape[1] > 1 and is_sum.any():
            for column in without if any(plain_name(c.name) in phases for c in columns) else ():
                column.header = replace(column.header, kind="time", unit=unit or "s")
            return columns[int(is_sum.argmax())].name
    return None


def _sum_of_phases(reading: Reading, measured: Sequence[TableColumn]) -> str | None:
    """Add the time of a step where its phases alone were measured, and return its name; None of other columns.

    Forward and backward and a third are among them, or the computation and the exchange.
    """
    # `backward_inner` and `backward_allreduce` are parts of `backward`.
    measured = [c for c in measured if not any(words_in(larger.name) < words_in(c.name) for larger in measured)]
    words, units = [words_in(c.name) for c in measured], {c.header.unit for c in measured}
    spelled = {**PHASES, "compute": frozenset(words_of("headers.computation"))}
    phases = {phase for phase, of_phase in spelled.items() if any(not w.isdisjoint(of_phase) for w in words)}
    of_steps = all(c.kind == "time" and not c.header.of for c in measured)
    is_sum = phases >= {"forward", "backward"} and len(measured) > LEAST_PHASES
    is_total = phases >= {"compute", "exchange"} and len(measured) >= LEAST_PHASES
    # `compute time` is no whole.
    others = [c for c, w in zip(measured, words, strict=True) if all(map(w.isdisjoint, spelled.values()))]
    has_whole = any(WHOLE.search(plain_name(c.name)) for c in others)
    sums = np.sum([c.values for c in measured], axis=0)
    if has_whole or not ((is_sum or is_total) and of_steps and len(units) == 1 and np.isfinite(sums).any()):
        return None
    name = f"{'step' if is_sum else 'total'}_{units.pop()}"
    reading.columns[name] = column_from(name, sums.tolist(), role="measured")
    reading.derived[name] = "+".join(quote_name(c.name) for c in measured)
    return name


def _settle_rates_of_a_single(reading: Reading, rates: Sequence[TableColumn]) -> None:
    """Settle throughputs whose header says that they are of one device, `img/s (1 GPU)`, beside runs on more."""
    speeds = [c for c in reading.with_role("measured") if c.kind in ("time", "rate")]
    for rate in rates:
        if not np.allclose(reading.growths(rate.name, reading.series), 0.0):
            rate.header = replace(rate.header, shared=True)
            continue
        rate.becomes("constant", "it was measured on one device, and is the same on more")
        ratio = next((c for c in reading.with_role("measured", "ratio") if is_relative(c.name) and len(c.known)), None)
        if ratio is None or len(speeds) > 1:
            continue
        is_efficiency, in_percent = _efficiency(reading, ratio)
        factors = [rate, ratio, *([reading.columns[str(reading.scale)]] if is_efficiency else [])]
        values = np.prod([c.values for c in factors], axis=0) / (100.0 if in_percent else 1.0)
        name = f"{rate.header.counted or 'samples'} per {rate.header.unit}"
        reading.columns[name] = column_from(name, values.tolist())
        reading.columns[name].becomes("measured", f"the rate of one device makes it with '{ratio.name}'")
        reading.derived[name] = "*".join(quote_name(c.name) for c in factors) + ("/100" if in_percent else "")


def _efficiency(reading: Reading, ratio: TableColumn) -> tuple[bool, bool]:
    """Return whether a throughput over that of one device is an efficiency, which does not grow, and if in percent."""
    of_one = reading.growth(ratio.name) <= LEAST_GROWTH
    return of_one, of_one and relative_unit(ratio.name) == RELATIVE and reading.is_in_percent(ratio.name)


def _take_relative(reading: Reading) -> None:
    """Take a speed-up or an efficiency, but no bandwidth, for a throughput where no other speed was measured.

    Where nothing at all was measured, other results, a loss or a utilisation, are what was.
    """
    results = [c for c in reading.with_role("ratio") if len(c.known) and min(c.known) > 0.0 and not is_price(c.name)]
    ratios = [c for c in results if is_relative(c.name) or c.kind]
    if not ratios and not reading.with_role("measured"):
        for column in results:
            # Money is no rate, however it rises.
            column.header = replace(column.header, kind="quantity") if MONEY in column.reasons else column.header
            column.becomes("measured", "nothing else was measured")
    if not ratios or reading.scale is None:
        return
    # Operations rather than a speed-up, and that rather than an efficiency.
    column = max(ratios, key=lambda c: (relative_unit(c.name) != RELATIVE, reading.growth(c.name)))
    for alike in (
        c for c in ratios if relative_unit(c.name) == relative_unit(column.name) and c.header == column.header
    ):
        alike.becomes("measured", "nothing else was measured")
    if column.kind and (column.kind != "rate" or column.header.counted or bandwidth_of(column.name)):
        return
    # As a rate, `efficiency per GPU` is one of each device.
    per_device = header_of(f"{column.name}/s")
    by_scale: Literal["workers", "nodes"] = "nodes" if meant_by(reading.scale) == "nodes" else "workers"
    is_efficiency, in_percent = _efficiency(reading, column)
    level, counted = per_device.level if per_device.shared else by_scale, relative_unit(column.name)
    column.header = Header("rate", "%" if in_percent else "s", counted, shared=is_efficiency, level=level)


def wanted_column(reading: Reading, names: Sequence[str], want: str) -> str:
    """Return the measured column that is wanted by its header, or by a kind such as `throughput`."""
    plain, header = plain_name(want), header_of(want)
    exact = [n for n in reading.columns if n == want] or [n for n in reading.columns if plain_name(n) == plain]
    if exact and not any(len(reading.columns[n].known) for n in exact):
        cell = next(iter(reading.columns[exact[0]].levels), "")
        raise TableError(f"'{want}' holds no numbers", hint=f"its cells are such as '{cell}'")
    kind, headers = "rate" if plain == "rate" else header.kind, {n: reading.columns[n].header for n in names}
    # Words beside one for a rate are those of one column among several.
    of_one_column = kind == "rate" and not header.counted and plain not in ("rate", *words_of("headers.rate"))
    of_one_column = of_one_column and len(names) > 1

    def measures_steps(measured: Header) -> bool:
        """Tell whether a header is that of the time of a step, or of steps per second."""
        counts_steps = measured.kind == "rate" and measured.counted in STEP_WORDS and not measured.shared
        return measured.of == "step" or counts_steps

    def is_alike(measured: Header) -> bool:
        """Tell whether a header is of the wanted kind: the time of an epoch is not that of a step."""
        counts_same = measured.counted == header.counted or {measured.counted, header.counted} & {"", "samples"}
        dimensions = [unit_of(unit)[0] for unit in (measured.unit, header.unit)]
        named: Sequence[str] = next((of for name, of in section("dimensions").items() if name in words_in(want)), [])
        same_unit = kind != "quantity" or "" in dimensions[:1] or dimensions[0] in (named or dimensions[1:])
        same_unit |= kind == "quantity" and not (named or header.unit)
        return measured.kind == kind and {measured.of, header.of} != {"step", "job"} and bool(counts_same) and same_unit

    letters = re.sub(r"[\W_]", "", want.lower())
    # `mfu` of `mfu_pct`, which is computed from others.
    exact_in_part = [n for n in reading.columns if words_in(want) and words_in(want) <= words_in(n)]
    exact_in_part = [n for n in exact_in_part if n in reading.names_in_role("ratio")]
    is_in_another = any(plain in plain_name(n) for n in reading.columns if n not in names)
    # The first column of the first choice that has one.
    choices = (
        [n for n in exact if len(reading.columns[n].known)],
        [n for n in names if plain and (plain in plain_name(n) or letters == re.sub(r"[\W_]", "", n.lower()))],
        [n for n in names if plain and words_in_full(want) <= words_in_full(n)],
        [n for n in exact_in_part if len(reading.columns[n].known)],
        [n for n in names if header.of == "step" and measures_steps(headers[n])],
        [n for n in names if kind and not of_one_column and is_alike(headers[n])],
        # A name that another column has means no only one.
        [n for n in names if not headers[n].kind and len(names) == 1 and not is_in_another],
    )
    columns = next(filter(None, choices), [])
    # `mean_ttft`, and not `steady_state.mean_ttft`, which has more words.
    chosen = next((n for n in columns if not any(words_in(name) < words_in(n) for name in columns)), None)
    if chosen is None:
        raise TableError(f"no measured column is '{want}'", hint=f"--want with one of {', '.join(names) or 'none'}")
    return chosen


def measured_roles(
    reading: Reading, name: str, scale: str | None, given: Roles
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of `read_table` for a measured column, and the columns to derive for them, with formulas.

    The options are `time` with its `unit`, `throughput` or `quantity`, and where cells or headers show them the `work`
    of a step and the `scaling`. A user gives some of these, `given`.
    """
    header, growth = reading.columns[name].header, reading.growth(name)
    # Beside a time or a rate a number without a unit is no rate, though it grows. Steps per second of a batch of all
    # are a time, though more of them are done on more workers.
    beside = {c.kind for c in reading.with_role("measured") if not header.kind} & {"time", "rate"}
    has_batch_of_all = "global_batch" in reading.mapping or column_of("global_batch", reading.columns) is not None
    # So they are where the batch of one falls as the workers grow.
    batches = [c for c in reading.with_role("setting") if c.canonical in ("batch", "micro_batches") and c.numeric]
    shares_batch = any(reading.growth(c.name) < -LEAST_GROWTH for c in batches)
    of_all = header.counted in STEP_WORDS and (has_batch_of_all or shares_batch)
    # Of work that grows with the workers, what grows less than half as fast may be a time.
    slow = not header.kind and growth < SIZE_GROWTH and reading.scaling_by(name)[0] == "weak"
    # Of a larger program a time grows as its size does; a throughput reaches its most.
    takes_longer = not header.kind and any(
        _grows_with(c.values, reading.columns[name].values)
        for c in reading.with_role("setting")
        if c.numeric and c.varies and c.name != scale and c.canonical not in (*EXTRINSIC, *_BATCHES)
    )
    names, growth_of_rate = list(reading.table_columns), 0.0 if beside or of_all or slow or takes_longer else growth
    if not header.kind and scale is not None and meant_by(scale) is None and np.ptp(reading.series) == 0:
        # What grows faster than such a number at last is no throughput of it.
        counts, values = reading.columns[scale].values, reading.columns[name].values
        larger = counts >= np.nanmedian(counts)
        at_last = growth_along(counts[larger], values[larger])
        growth_of_rate = at_last if at_last > MOST_GROWTH else growth_of_rate
    roles, derived = measurement_of_column(name, names, scale, growth_of_rate, header, reading.mapping)
    steps, epochs = (
        [c for n, c in reading.table_columns.items() if of.fullmatch(plain_name(n))] for of in (STEPS, EPOCHS)
    )
    if not MANY_STEPS.isdisjoint(words_in(name)):
        # `global_step` of 1000 in all runs, beside what has elapsed by then.
        repeats = [c for c in reading.with_role("repeat") if not c.varies and c.known[:1] > 1.0]
        for column in (c for c in repeats if words_in(c.name) & STEP_WORDS):
            column.becomes("constant", "one number")
            steps.append(column)
    many = steps or epochs
    is_of_many = OF_MANY_STEPS in reading.columns[name].reasons
    if roles.get("time") == name and not (header.of or is_of_many) and len(many) == 1 and len(many[0].known):
        # What elapsed in so many steps, or epochs.
        (times,), made = many, f"{'step' if steps else 'epoch'}_time_{header.unit}"
        differ = max(times.known) >= MANY_TIMES * min(times.known) > 0.0 and times.name not in given.columns
        differ = differ and _is_of_a_run(name, header)
        # Another number of them than that of all runs is asked for.
        differ |= times.name in reading.requested and not times.varies and times.name not in given.columns
        if differ or (steps and not times.varies and times.known[0] > 1.0):
            divisor = quote_name(times.name) if differ else f"{times.known[0]:g}"
            times.role, derived = "consequence" if differ else times.role, {made: f"{quote_name(name)}/{divisor}"}
            roles, header, growth = {**roles, "time": made}, header_of(made), growth - reading.growth(times.name)
    elif roles.get("time") == name and not header.of and (amounts := _work_of_runs(reading, name)) is not None:
        # Tokens in all over the time that they took.
        above, below = TIME_UNITS[header.unit]
        made = f"{header_of(f'{amounts.name}/s').counted or 'samples'} per second"
        derived = {made: f"{below / above!r}*{quote_name(amounts.name)}/{quote_name(name)}"}
        amounts.role, roles, header = "consequence", {"throughput": made}, header_of(made)
    sized = reading.kinds_alone or (scale is not None and is_size(scale))
    batches = [c for c in reading.with_role("setting") if "batch" in str(c.canonical)]
    states_work = sized or header_of(name).of == "job" or given.scaling or given.work
    of_epoch = [c for c in reading.with_role("constant") if SAMPLES_OF_AN_EPOCH.fullmatch(plain_name(c.name))]
    if "time" in roles and header.of == "job" and len(of_epoch) == 1 and not (given.work or derived):
        # `samples_per_epoch`, the same in all runs, beside the time of an epoch.
        roles |= {"work": f"{of_epoch[0].known[0]:.15g}"}
    if "throughput" in roles and sized:
        # A step does a batch; another size shows nothing of the samples of a step.
        work = scale is not None and "batch" in str(canonical_of(scale))
        roles |= {"work": quote_name(str(scale))} if work else {"quantity": roles.pop("throughput")}
    if "throughput" in roles and reading.quantities[1:] and not states_work:
        roles |= _work_of_times(reading, name, scale)
    # The time of a step falls as the steps per second rise; at one split of the network, which shortens it as well.
    splits = [c for c in reading.with_role("setting") if c.canonical in WAYS[1:] and c.varies and c.name != scale]
    of_one_split = [c.texts for c in (*splits, *reading.with_role("kind"))]
    if splits and len(growths := reading.growths(name, combination_ids(of_one_split))):
        growth = float(np.median(growths))
    falls = (growth if "time" in roles and header.kind == "rate" else -growth) > LEAST_GROWTH
    # Runs that failed may have had another one.
    ended, status = np.isfinite(reading.columns[name].values), reading.columns.get(reading.roles.failures.status or "")
    ended &= status is None or ~np.array([says_failed(text) for text in status.texts])
    of_workers = all(c.canonical == "batch" and len({*c.texts[ended]}) < 2 for c in batches)
    # The seconds of a unit are a quotient; those of a rate are not looked at.
    above, below = TIME_UNITS[header.unit] if header.kind == "time" else (0.0, 1.0)
    is_long = not header.of and float(np.median(reading.columns[name].known)) * above / below > LONGEST_STEP
    # The unit in its cells may be that of an epoch.
    is_job = header.of == "job" or OF_ONE_JOB in reading.columns[name].reasons or bool(is_long and batches)
    if "time" in roles and (of_workers or is_job) and not states_work and not reading.is_of_no_step(name):
        kind = reading.scaling_by(name)[0] or ("strong" if falls or is_job else "")
        of_steps = header.of == "step" or header.kind == "rate"
        roles |= {"scaling": "job" if kind == "strong" and not of_steps else kind} if kind else {}
    return roles, derived


def _is_of_a_run(name: str, header: Header) -> bool:
    """Tell whether a time is that of a whole run, by its words or its unit: no step takes hours."""
    return not MANY_STEPS.isdisjoint(words_in(name)) or header.unit in ("min", "h", "d")


def _work_of_runs(reading: Reading, name: str) -> TableColumn | None:
    """Return the column of how much was done in all in a time of whole runs, or of which another amount is asked for.

    None where the runs show how the time grows with it.
    """
    columns = [c for n, c in reading.table_columns.items() if WORK_OF_A_RUN.fullmatch(plain_name(n))]
    is_of_a_run = _is_of_a_run(name, reading.columns[name].header)
    # Beside a measured rate, or wanted by its name, it stays the time.
    stays = WANTED in reading.columns[name].reasons or any(reading.columns[n].kind == "rate" for n in reading.ranked)
    if len(columns) != 1 or not is_of_a_run or stays or reading.scale in (None, columns[0].name):
        return None
    (amounts,), counts = columns, reading.columns[str(reading.scale)]
    is_crossed = len({*zip(counts.texts, amounts.texts, strict=True)}) > len({*counts.texts})
    is_known = len(amounts.known) == len(amounts.texts) and min(amounts.known) > 0.0
    is_work = amounts.varies or amounts.name in reading.requested
    return amounts if is_known and is_work and counts.varies and not is_crossed else None


def _grows_with(sizes: Array, values: Array) -> bool:
    """Tell whether values grow much with a size over its whole range, which is wide."""
    valid = np.isfinite(values) & (values > 0.0) & (sizes > 0.0)
    if not valid.any() or (least := np.min(sizes[valid])) * WIDE_RANGE > (most := np.max(sizes[valid])):
        return False
    first, last = (np.median(values[valid & (sizes == size)]) for size in (least, most))
    return bool(np.log(last / first) > SIZE_GROWTH * np.log(most / least))


def _batches_of_all(reading: Reading, counts: TableColumn) -> Iterator[tuple[TableColumn, ...]]:
    """Yield the columns that multiply to the batch of all workers, or that of their replicas, in a table."""
    settings = {str(c.canonical): c for c in reading.with_role("setting", "constant") if c.numeric}
    passes = (settings["micro_batches"],) if "micro_batches" in settings else ()
    of_all = [(settings["global_batch"],)] if "global_batch" in settings else []
    of_one = [settings[name] for name in ("micro_batch", "batch") if name in settings]
    # Beside a batch of all one of a pass is not that of a step.
    of_pass = [
        c for c in of_one if of_all and not passes and plain_name(c.name) in section("transformer")["micro_batch"]
    ]
    yield from ((column, *passes, counts) for column in of_one if column not in of_pass)
    yield from of_all


def _work_of_times(reading: Reading, name: str, scale: str | None) -> dict[str, str]:
    """Return the work of a step that a rate of all has beside steps or their time; nothing where no one work fits."""
    rate, measured = reading.columns[name], reading.with_role("measured")
    times = [c for c in measured if c.kind == "time" and c.header.of == "step"]
    times += [c for c in measured if c.kind == "rate" and c.header.counted in STEP_WORDS and not c.header.shared]
    is_of_steps = rate.header.shared or rate.header.counted in STEP_WORDS
    if not times or scale is None or is_of_steps or not reading.columns[scale].varies:
        return {}
    work, counts = _done_in(rate, times[0]), reading.columns[scale]
    # In proportion to the batch of all, the same in every run, or in proportion to the count.
    for columns in (*_batches_of_all(reading, counts), (), (counts,)):
        amounts = work / np.prod([column.values for column in columns], axis=0)
        formula = "*".join(["{}", *(quote_name(column.name) for column in columns)])
        amounts = amounts[np.isfinite(amounts)]
        if len(amounts) > 1 and np.max(amounts) < (1.0 + SAME_WORK) * np.min(amounts):
            amount = float(np.median(amounts))
            rounded = round(amount)
            if columns and rounded == 1 and abs(amount - 1.0) < 0.01:
                return {"work": ""}  # the batch of all is the work by itself
            return {"work": formula.format(rounded if abs(rounded - amount) < 0.01 * amount else f"{amount:.4g}")}
    return {}


def by_group(reading: Reading, roles: Roles, name: str) -> Roles:
    """Return roles in which each group has its own kind of scaling, where times fall in some groups alone."""
    if not roles.group or roles.scaling not in ("strong", "job") or reading.scaling_by(name)[0]:
        return roles
    falls = reading.growths(name, combination_ids([reading.columns[n].texts for n in roles.group])) < -LEAST_GROWTH
    return replace(roles, scaling=BY_GROUP) if falls.any() and not falls.all() else roles


def _assign_roles(reading: Reading, unmeasured: set[str], given: Roles, single: bool) -> None:
    """Give the columns the roles of `read_table` for the first quantity; refuse a table in which nothing is scaled."""
    columns = reading.columns
    roles = replace(reading.roles, repeat=reading.roles.repeat or next(iter(reading.names_in_role("repeat")), ""))
    # Constant counts of the machine are no settings: the nodes, where the devices of each are scaled; all counts of
    # nodes and devices, where threads or the like are.
    canonical_scale, of_machine = None if reading.scale is None else canonical_of(reading.scale), tuple[str, ...]()
    if reading.scale is not None and reading.mapping.get("workers") == reading.scale and canonical_scale not in LEVELS:
        of_machine = (*LEVELS, "devices_per_node")
    elif canonical_scale == "devices_per_node":
        of_machine = ("nodes",)
    stated = {*reading.requested, *roles.extrinsic, reading.scale}
    all_settings = reading.with_role("made", "setting")
    settings = [c for c in all_settings if c.varies or c.name in stated or c.canonical not in of_machine]
    names = [*roles.extrinsic, *(c.name for c in settings)]
    # Column → the factor of how a run is executed that it is, by its name or by the mapping.
    execution = {n: c for n in names if (c := canonical_of(n)) in EXTRINSIC}
    executed = {n: c for c, n in reading.mapping.items() if c in (*EXTRINSIC, *_BATCHES)}
    execution |= {n: c for n, c in executed.items() if n in {c.name for c in settings}}
    ways = [n for n, canonical in execution.items() if canonical in WAYS]
    # Nodes alone do not count the devices: one of them may be filled in part.
    counted = {"workers", "devices_per_node"} & {*execution.values(), *reading.mapping}
    scaled_by_ways = len(ways) > 1 and not counted and DEVICES not in columns
    if reading.scale is None and not roles.extrinsic and not single:
        reading.kinds_alone = not any(c.varies for c in settings) and any(c.varies for c in reading.with_role("kind"))
    if roles.measured_column is None:
        scale = None if scaled_by_ways else reading.scale
        measured, derived = measured_roles(reading, reading.quantities[0], scale, given)
        reading.derived = {**reading.derived, **derived}
        roles = roles.of_measured({**measured, **roles.measured})
        settings = [c for c in settings if c.role in ("made", "setting")]
    elif "time" in roles.measured and "unit" not in roles.measured:
        # A derived column has its header alone.
        name = roles.measured["time"]
        unit = (columns[name].header if name in columns else header_of(name)).unit
        roles = replace(roles, measured={**roles.measured, **({"unit": unit} if unit not in ("", "s") else {})})
    if scaled_by_ways:
        reading.scale = _devices_of_ways(reading, [columns[n] for n in ways])
        execution[DEVICES], settings = "workers", [columns[DEVICES], *settings]
    if reading.scale is None and not roles.extrinsic and not single and not reading.kinds_alone:
        varied = [c.name for c in settings if c.varies and is_size(c.name)]
        if len(varied) < len([c for c in settings if c.varies]) or not varied:
            raise _no_scale_error(reading, [c.name for c in settings])
        # All ran on one worker: a question goes along the batch, or else the size of most values.
        reading.scale = max(varied, key=lambda n: (columns[n].canonical in _BATCHES, len(columns[n].levels), n))
    column = columns.get(reading.scale or "")
    if column is not None and column.follows is not None and column.name not in reading.derived:
        reading.derived |= _product_of_settings(reading, column, column.follows)
    counts = [n for c in settings if (n := c.name) in execution or (n == reading.scale and not is_size(n))]
    counts = [n for n in counts if n not in roles.intrinsic]
    roles = replace(roles, extrinsic=tuple(dict.fromkeys([*roles.extrinsic, *counts])))
    roles = _with_series(reading, roles, settings, unmeasured)
    reading.roles = by_group(reading, roles, reading.quantities[0]) if roles.group else roles


def _devices_of_ways(reading: Reading, ways: Sequence[TableColumn]) -> str:
    """Add the devices that the ways of a layout multiply to, and return their name."""
    faulty = next((way for way in ways if way.lowest <= 0.0), None)
    if faulty is not None:
        what = f"column '{faulty.name}' goes down to {faulty.lowest:g}, and the ways of a layout multiply"
        raise TableError(f"{what} to its devices", hint="write 1 where nothing is split that way")
    cells = np.prod([way.values for way in ways], axis=0).tolist()
    reading.columns[DEVICES] = column_from(DEVICES, cells, role="made")
    reading.derived[DEVICES] = "*".join(quote_name(way.name) for way in ways)
    return DEVICES


def _no_scale_error(reading: Reading, numeric: Sequence[str]) -> TableError:
    """Return the error of a table in which no column counts the workers."""
    texts = reading.with_role("kind", "label", "constant")
    hint = f"name the one that does: --extrinsic {shlex.quote(numeric[0]) if numeric else 'COLUMN'}"
    hint += "; or say that all ran on one: --let devices=1" if numeric else ""
    # A header that begins with a number is none.
    named = next((c for c in texts if len(c.levels) > 1 and not c.name[0].isdigit()), None)
    if named is not None and not numeric:
        hint = f"ask about one of the runs: --at {shlex.quote(f'{named.name}={named.levels[0]}')}"
    worded_counts = next((c.name for c in texts if c.levels and all(map(COUNTED.match, c.levels))), None)
    if worded_counts is not None:
        hint = f"'{worded_counts}' tells counts among words: write them as numbers in another column, such as gpus"
    return TableError(f"no column is known to count the workers ({', '.join(numeric) or 'no numbers'})", hint=hint)


def _product_of_settings(reading: Reading, column: TableColumn, follows: Consequence) -> dict[str, str]:
    """Return a count as the product of settings, `processes*threads`; {} where it is no such product."""
    factors = [reading.columns[n] for n in follows.factors]
    of_machine = any(c.canonical in (*LEVELS, *WAYS, "devices_per_node") for c in factors)
    are_settings = not of_machine and all(c.role == "setting" and c.numeric for c in factors)
    if len(factors) < 2 or not are_settings or {*follows.factors.values()} != {1}:
        return {}
    is_product = np.allclose(np.prod([c.values for c in factors], axis=0), column.values)
    return {column.name: "*".join(quote_name(c.name) for c in factors)} if is_product else {}


def _with_series(reading: Reading, roles: Roles, settings: Sequence[TableColumn], unmeasured: set[str]) -> Roles:
    """Return roles with the group columns, whose combinations are series, or else the levels; the rest is intrinsic."""
    columns, scale = reading.columns, reading.scale
    # The texts that name kinds, then the numbers that are free to be factors, and the batches among these.
    kinds = [c for c in reading.with_role("kind") if c.name not in roles.group]
    kinds = [c for c in kinds if c.name in reading.requested or not _names_the_serial_run(c, columns.get(scale or ""))]
    repeated = repeated_kinds({c.name: c.texts for c in kinds if not c.is_provenance}, reading.requested)
    texts = [c.name for c in kinds if c.name not in repeated]
    # A remark beside some runs parts none of them, nor do notes of how they went.
    remarks = [c for c in reading.with_role("label") if plain_name(c.name) not in words_of("columns.ending")]
    texts += [c.name for c in remarks if c.is_provenance and c.names_kinds and all(c.texts)]
    free = [c for c in settings if c.name not in roles.extrinsic and not _repeats_the_scale(reading, c)]
    of_a_worker = column_of("batch", columns)
    batches = [c.name for c in free if c.name == of_a_worker or c.canonical in _BATCHES]
    series: dict[str, Any] = {}
    only_scale_varies = not any(c.varies for c in free if c.name not in batches)
    if texts and only_scale_varies and not reading.kinds_alone and not roles.categorical and not roles.group:
        per_worker = [n for n in batches if columns[n].canonical != "global_batch" and columns[n].varies]
        per_worker = [n for n in per_worker if n not in roles.intrinsic and n != scale]
        per_worker = [n for n in per_worker if n not in unmeasured or len(batches) > 1]
        # Column → its cells; an empty mapping from here on means that there are no series.
        series = {n: columns[n].texts for n in [*texts, *per_worker]}
        counts = np.empty(0) if scale is None else columns[scale].values
        for name in [n for n in texts if columns[n].is_provenance and n not in reading.requested]:
            few = len(series) > 1 and len(counts) and have_few_counts(series, counts)
            # Nor where no count was run at two of them.
            apart = bool(scale) and _combination_count([columns[name], columns[str(scale)]]) == len(np.unique(counts))
            if series and (are_single_runs(series) or few or apart or columns[name].is_of_one_day):
                del series[name]  # nearly each run is of another place or day: that separates no series
        if {*texts}.isdisjoint(series):
            series = {}  # batches alone name none
        tells_apart = any(RUNS_APART in columns[n].reasons for n in series)
        few = bool(series and len(counts)) and have_few_counts(series, counts, per_worker) and not tells_apart
        # Along a batch, one run of each name is no series.
        if few or (series and scale in batches and are_single_runs(series)):
            series = {}
    if series:
        of_series = not {*series}.isdisjoint(batches)
        constants = {*batches, *(c.name for c in free if c.canonical in _SIZES_OF_A_STEP)}
        free = [c for c in free if c.name not in series and (c.name in constants or c.varies)]
        free = [c for c in free if not (of_series and c.canonical == "global_batch")]
        roles = replace(roles, group=tuple(series))
    elif texts:
        levels = [n for n in texts if not columns[n].is_provenance or n in reading.requested]
        roles = replace(roles, categorical=tuple(dict.fromkeys([*roles.categorical, *levels])))
    return replace(roles, intrinsic=tuple(dict.fromkeys([*roles.intrinsic, *(c.name for c in free)])))


def _names_the_serial_run(kind: TableColumn, scale: TableColumn | None) -> bool:
    """Tell whether names only set the sequential run apart, that of the smallest count: `SEQ` beside `MPI`."""
    serial = [level for level in kind.levels if _SERIAL.fullmatch(level)]
    if scale is None or len(kind.levels) != 2 or len(serial) != 1:
        return False
    return bool(np.array_equal(kind.rows_with(serial[0]), scale.values == scale.lowest))


def _is_global_batch(reading: Reading, batch: TableColumn, scale: TableColumn) -> bool:
    """Tell whether a batch is what other columns make: batch·workers, or micro-batch·passes·data-parallel ways."""
    settings = [c.name for c in reading.with_role("setting", "consequence") if c.numeric and c is not batch]
    part_columns = {part: column_of(part, settings) for part in PARTS}
    part_values = {part: reading.columns[column].values for part, column in part_columns.items() if column is not None}
    if "micro_batches" not in part_values:
        factors = {} if batch.follows is None else batch.follows.factors
        follows_batch = any(canonical_of(name) == "batch" for name in factors)
        return follows_batch or np.allclose(batch.values, part_values.get("batch", np.nan) * scale.values)
    if "micro_batch" not in part_values:
        return False
    # The data-parallel ways are the devices over those that split one network.
    split = np.prod([part_values[way] for way in WAYS[1:] if way in part_values], axis=0)
    ways = part_values.get("data_parallel", scale.values / split)
    return np.allclose(batch.values, part_values["micro_batch"] * part_values["micro_batches"] * ways)


def _repeats_the_scale(reading: Reading, column: TableColumn) -> bool:
    """Tell whether a setting follows from the scale and the batch of a worker."""
    if reading.scale in (None, column.name):
        # Where no column counts workers, the scale is a size.
        return False
    scale, factors = reading.columns[str(reading.scale)], {} if column.follows is None else column.follows.factors
    if column.canonical == "batch" and column.varies:
        fixed = [c for n, c in reading.columns.items() if column_of("batch", [n]) == n and not c.varies and c.numeric]
        return any(np.allclose(column.values, scale.values * c.values[0]) for c in fixed)
    if column.canonical == "global_batch":
        return _is_global_batch(reading, column, scale)
    if column.canonical not in (None, "bytes") or not column.varies:
        return False
    if column.name in reading.requested:
        return scale.name in factors or reading.multiple_of(column) is not None
    return _combination_count([scale, column]) == _combination_count([scale])
