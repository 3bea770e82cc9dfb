"""The meaning of each column, from its cells, its header and the question: one score, with its reasons."""

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import Index
from genperf.errors import TableError, listed
from genperf.formula import parse, quote_name
from genperf.formula.amounts import amount
from genperf.panel.evidence import (
    CELL_ROUNDING,
    EXTRINSIC,
    LEAST_CHANGE,
    LEAST_GROWTH,
    LEAST_NUMBERED,
    MAX_COLUMNS,
    MAX_EMPTY_CELLS,
    NAMED_LOG_ODDS,
    ColumnEvidence,
    Consequence,
    consequences,
    described,
    ending_column,
    evidence_of,
    is_provenance,
    is_repeat,
    is_size,
    is_statistic,
    measurement_of_column,
    names_kinds,
    not_counted,
    not_measured,
    numbered,
    ranked,
    repeated_kinds,
    role_by_words,
    series_columns,
    sparse,
)
from genperf.panel.options import MEASURED, FailureRule, Roles
from genperf.panel.target import phase_columns
from genperf.table.cells import Cells
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import RELATIVE, STEP_WORDS, TIME_UNITS, Header, bandwidth_of, header_of, relative_unit
from genperf.vocabulary.names import (
    LEVELS,
    PHASES,
    WAYS,
    canonical_of,
    column_of,
    counted_noun,
    counts_devices,
    is_relative,
    meant_by,
    noun_of,
    plain_name,
    plural_of,
)

Chosen = Literal["setting", "kind", "repeat", "label", "constant", "empty"]
Measurement = Literal["measured", "spread", "ratio", "consequence", "ending", "phase"]
Role = Chosen | Measurement
#: Devices of the largest servers that are common: a column of so few, the same on every count of nodes, is of one node.
MOST_DEVICES = 16
#: The exponent from which on a time grows with a number without a name as with a size: workers hold it up by less.
SIZE_GROWTH = 0.5
#: The logarithm up to which a rate of each, which leaves out when some waited, times the count is that of all.
ABOUT_EQUAL = 0.25
#: An efficiency above it is in percent.
MOST_EFFICIENT = 2.0
#: Of so few measured columns none is taken for the sum of the others.
LEAST_PHASES = 2
#: The name of the devices that follow from the ways of a layout.
DEVICES = "devices"
#: Switches of a run: names of kinds even where they are written 0 and 1.
_SWITCHES = ("zero", "recomputation", "precision", "offload")
#: Kind of a header → why its column is measured.
_KINDS = {"": "none", "time": "a time", "rate": "a rate", "quantity": "an amount of memory, energy or power"}
#: Names of a scale that do not say what it counts.
_NAMELESS = any_of("headers.nameless")
_HEADERS = {kind: f"its header or its unit is that of {what}" for kind, what in _KINDS.items()}
#: Why a column of numbers is not predicted.
MAY_NAME = "whole numbers without a unit, another one in each row: they may name the runs"
#: Headers of one word that are times where something must have been measured, and their units.
TIME_HEADERS = {"s": "s", "t": "s", "ms": "ms", "us": "us", "ns": "ns"}


class Meaning(Struct, frozen=True):
    """What a column is, and why."""

    role: Role
    reasons: tuple[str, ...] = ()
    #: The arithmetic by which others give it.
    follows: Consequence | None = None

    def __str__(self) -> str:
        arithmetic = (f"= {self.follows}",) if self.follows is not None else ()
        return f"{self.role}: {', '.join([*self.reasons, *arithmetic])}"


class Reading(Struct, frozen=True, eq=False, dict=True):
    """What the columns of a table mean, and the roles that say it to `read_table`."""

    meanings: Mapping[str, Meaning]
    evidence: Mapping[str, ColumnEvidence]
    #: What each column says of itself by its header and the unit in its cells.
    headers: Mapping[str, Header]
    #: Measured columns, the likeliest to be the question first.
    quantities: tuple[str, ...]
    roles: Roles
    #: Field's name → column, for counts whose name is in the singular, such as `gpu`, or none of the field's.
    mapping: dict[str, str] = field(default_factory=dict)
    #: The column that counts the workers, or else the nodes; or whatever the runs are scaled by.
    scale: str | None = None
    #: Columns to derive for `read_table`: the throughput of all workers from that of one, the time of a step from
    #: steps per second.
    derived: dict[str, str] = field(default_factory=dict)
    #: The measured columns, the likeliest first, whatever the question wants.
    ranked: tuple[str, ...] = ()

    @cached_property
    def series(self) -> Index:
        """For each row the number of its combination of kinds."""
        kinds = [self.evidence[n].texts for n in self.of("kind")]
        return numbered(kinds or [np.zeros(len(next(iter(self.evidence.values())).texts), object)])

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns in no role."""
        used = self.roles.columns | {*self.quantities[:1]}
        return tuple(n for n in self.meanings if n not in used)

    def of(self, *roles: Role) -> list[str]:
        """Return the columns of some roles."""
        return [name for name, meaning in self.meanings.items() if meaning.role in roles]

    def speedup_of(self, name: str) -> str | None:
        """Return the column that has one time over each of a column: every count did the same work; None without."""
        sizes = self.of("setting", "consequence")
        if any(self.meanings[n].follows == Consequence({str(self.scale): 1}) for n in sizes):
            return None  # the work grew in proportion to the count
        speedups = [(n, self.meanings[n].follows) for n in self.of("ratio") if "speed" in plain_name(n)]
        return next((n for n, follows in speedups if follows is not None and follows.factors == {name: -1}), None)

    @property
    def options(self) -> str:
        """The roles as options of a command, quoted for a shell."""
        pairs = [*self.roles.texts.items(), *(("let", f"{n}={f}") for n, f in self.derived.items())]
        pairs += [("map", f"{name}={column}") for name, column in self.mapping.items()]
        return " ".join(f"--{option} {shlex.quote(value)}" for option, value in pairs)

    def read_as(self) -> dict[str, dict[str, Any]]:
        """Return the role of each column with its reasons, for JSON."""
        scale = {self.scale: "scale"} if self.scale else {}
        return {n: {"role": scale.get(n, m.role), "why": str(m).partition(": ")[2]} for n, m in self.meanings.items()}


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
    """Find what each column of a table is.

    The `roles` that were given, and the `mapping`, win. Columns of a question `at` are settings, also where others give
    them; it may `want` one quantity, by a header or a kind. `units` stood in the cells, `names` were taken apart into
    other columns, and a table `alone` is one of a single run.

    Examples
    --------
    >>> reading = read_columns({"p": [1, 2, 4, 8], "speedup": [1.0, 1.9, 3.6, 6.1], "wall": [9.31, 4.87, 2.59, 1.53]})
    >>> reading.options
    '--time wall --scaling job --extrinsic p --map workers=p'
    >>> print(reading.meanings["wall"])
    measured: its header or its unit is that of a time
    """
    if len(columns) > MAX_COLUMNS:
        what = f"the roles of at most {MAX_COLUMNS:,} columns are recognised, and there are {len(columns):,}"
        hint = "genperf fit with the roles by name: --time COL --extrinsic COL; or a table with fewer columns"
        raise TableError(what, hint=hint)
    given_roles = roles = roles or Roles()
    evidence = {name: evidence_of(cells) for name, cells in columns.items()}
    headers = {name: described(name, (units or {}).get(name, ""), columns) for name in columns}
    # A work of a step is over settings.
    named = [*(at or {}), *(parse(given_roles.work).names if given_roles.work else ())]
    requested = {column for name in named if (column := column_named(name, columns)) is not None}
    meanings = {n: _meaning(n, e, headers[n], n in requested, roles) for n, e in evidence.items()}
    if names:
        meanings |= _names_or_their_numbers(meanings, evidence, requested, names)
    meanings |= _something_measured(meanings, evidence, requested)
    # A header of a measurement that is only a letter or a unit: `s`.
    unnamed = {n: plain_name(n) for n, m in meanings.items() if m.role == "measured" and not headers[n].kind}
    letters = {n: TIME_HEADERS[plain] for n, plain in unnamed.items() if plain in TIME_HEADERS}
    headers |= {n: replace(headers[n], kind="time", unit=unit) for n, unit in letters.items()}
    results = {
        n: bandwidth_of(n, (units or {}).get(n, "")) for n, m in meanings.items() if m.role in ("measured", "ratio")
    }
    headers |= {n: Header("quantity", unit) for n, unit in results.items() if unit and not headers[n].kind}
    meanings |= _names_of_runs(meanings, evidence, headers, requested | {*roles.by_column})
    if not given_roles.failures.columns:
        ending = ending_column(
            {n: columns[n] for n, m in meanings.items() if m.role in ("kind", "label", "setting", "constant")}
        )
        column, _, word = ending.get("failed", "").partition("=")
        roles = replace(roles, failures=FailureRule(ending.get("status"), {column: (word,)} if column else {}))
        ends = (text.partition("=")[0] for text in ending.values())
        meanings |= {name: Meaning("ending", ("it says how a run ended",)) for name in ends}
    phases = set(phase_columns([n for n in columns if meanings[n].role == "measured"]).values())
    meanings |= {n: Meaning("phase", ("a part of a step",)) for n in phases}
    reading = Reading(meanings, evidence, headers, (), roles, dict(mapping or {}))
    reading = _with_scale(_with_consequences(reading, requested), at or {})
    pairs = [(column_named(name, columns), amount(text)) for name, text in (at or {}).items()]
    unmeasured = {n for n, value in pairs if n is not None and value is not None and value not in evidence[n].known}
    return _with_roles(_with_quantities(reading, want), requested, unmeasured, given_roles, alone)


def column_named(name: str, columns: Mapping[str, Any], scale: str | None = None) -> str | None:
    """Return the column that a question means: by its header, however it is written, or by the field's name for it."""
    if name in columns:
        return name
    cores = words_of("headers.cores")
    spellings = (
        *(plain_name, lambda n: counted_noun(n).removesuffix("s"), canonical_of, plural_of),
        lambda n: cores[0] if plain_name(n) in cores else None,
    )
    meant = dict.fromkeys(spelled(name) for spelled in spellings)
    for spelled in spellings:
        there = {spelled(column): column for column in reversed(list(columns))}
        matched = next((there[key] for key in meant if key is not None and key in there), None)
        if matched is not None:
            return matched
    # A scale whose name says nothing counts what the question does.
    unnamed = scale is not None and re.fullmatch(_NAMELESS, plain_name(scale)) is not None
    return scale if unnamed and meant_by(name) in LEVELS else None


def _meaning(name: str, evidence: ColumnEvidence, header: Header, requested: bool, roles: Roles) -> Meaning:
    """Return what a column is by itself."""
    role_named = roles.by_column.get(name)
    if role_named is not None:
        fitting: dict[str, Role] = {"repeat": "repeat", "categorical": "kind", "group": "kind", "weight": "label"}
        measured: Role = "measured" if role_named in MEASURED else "setting"
        return Meaning(fitting.get(role_named, measured), (f"given as --{role_named}",))
    # Whole numbers that go on by one from some number to another, each once: a number for each row.
    integers = len(evidence.known) >= LEAST_NUMBERED and bool(np.all(evidence.known % 1.0 == 0.0))
    numbers_rows = integers and bool(np.all(np.diff(np.sort(evidence.known)) == 1.0))
    canonical, texts = meant_by(name), not evidence.numeric or canonical_of(name) in _SWITCHES
    rules: tuple[tuple[bool, Role, str], ...] = (
        (not evidence.levels, "empty", "no cell is filled"),
        (requested, "setting" if evidence.numeric else "kind", "the question names it"),
        (not header.unit and is_repeat(name, evidence.texts), "repeat", "it numbers the repeats of a configuration"),
        *((True, *named) for named in [role_by_words(name)] if named is not None),
        (header.kind != "" and len(evidence.known) > 0, "measured", _HEADERS[header.kind]),
        (evidence.numeric and is_statistic(name), "measured", "its header is that of a statistic"),
        (texts and is_provenance(name), "label", "it says where a run was written down"),
        (texts and not evidence.varies, "constant", "one level"),
        (texts and names_kinds(evidence), "kind", f"{len(evidence.levels)} levels"),
        (texts, "label", "a text for almost each row"),
        (set(evidence.levels) == {"0", "1"}, "kind", "a switch, 0 or 1"),
        (bool(np.mean(evidence.texts == "") > MAX_EMPTY_CELLS), "empty", "many cells are empty"),
        (not evidence.varies and canonical is None, "constant", "one number"),
        (canonical is None and evidence.score()[0] < 0.0 and numbers_rows, "label", "it numbers the rows"),
    )
    role = next((Meaning(role, (reason,)) for holds, role, reason in rules if holds), None)
    if role is not None:
        return role
    score, reasons = evidence.score()
    if canonical is not None:
        score += NAMED_LOG_ODDS
        reasons = [f"its header is a name of {canonical.replace('_', ' ')}", *reasons]
    return Meaning("setting" if score >= 0.0 else "measured", tuple(reasons))


def _names_or_their_numbers(
    meanings: Mapping[str, Meaning],
    evidence: Mapping[str, ColumnEvidence],
    requested: set[str],
    names: Mapping[str, Sequence[str]],
) -> dict[str, Meaning]:
    """Return which of names and what was read from them is no factor: one of them says it.

    Names stay where they are kinds of runs, and hold neither a count nor a size that is known or that is asked about.
    """
    out: dict[str, Meaning] = {}
    for name, made in names.items():
        if name not in meanings or not {*made} <= {*meanings}:
            continue
        meanings_of_columns = {meant_by(n) for n in meanings if n not in made and evidence[n].varies}
        counted = not meanings_of_columns.isdisjoint(LEVELS)
        # `2x p3.16xlarge` beside a column of the GPUs counts machines.
        again = [n for n in made if meant_by(n) in meanings_of_columns and meant_by(n) in LEVELS]
        sizes = [n for n in made if meant_by(n) is not None or n in requested]
        if meanings[name].role == "kind" and counted and not sizes:
            out |= {n: Meaning("label", (f"'{name}' says it as well",)) for n in made}
        elif name not in requested and meanings[name].role in ("kind", "label"):
            out[name] = Meaning("label", (f"taken apart: {listed(made, 6)}",))
            out |= {n: Meaning("label", ("another column counts the same",)) for n in again}
    return out


def _names_of_runs(
    meanings: Mapping[str, Meaning],
    evidence: Mapping[str, ColumnEvidence],
    headers: Mapping[str, Header],
    settled: set[str],
) -> dict[str, Meaning]:
    """Return the whole numbers that may be names: of no known header, another one in each row of measurements."""
    counts = [n for n, m in meanings.items() if m.role == "setting" and canonical_of(n) in LEVELS]
    # A setting with another value in each run is one only where no count tells the runs apart.
    apart = any(len(evidence[n].levels) == len(evidence[n].texts) for n in counts)
    roles = ("measured",) if apart or not counts else ("measured", "setting")
    unknown = [n for n, m in meanings.items() if m.role in roles and not headers[n].kind and meant_by(n) is None]
    names = [
        n
        for n in unknown
        if n not in settled and not is_statistic(n) and len(evidence[n].texts) >= LEAST_NUMBERED
        if np.all(evidence[n].known % 1.0 == 0.0) and len(np.unique(evidence[n].known)) == len(evidence[n].texts)
    ]
    by_header = any(m.role == "measured" and headers[n].kind for n, m in meanings.items())
    return {n: Meaning("label", (MAY_NAME,)) for n in names} if by_header else {}


def _something_measured(
    meanings: Mapping[str, Meaning], evidence: Mapping[str, ColumnEvidence], requested: set[str]
) -> dict[str, Meaning]:
    """Return the numbers that are most like measurements where none was recognised: a table of runs has some."""
    if any(m.role in ("measured", "ratio") for m in meanings.values()):
        return {}
    settings = [n for n, m in meanings.items() if m.role == "setting"]
    free = [n for n in settings if n not in requested and evidence[n].varies and meant_by(n) is None]
    if not free or len(free) == len(settings):
        return {}
    likeliest = min(free, key=lambda n: evidence[n].score()[0])
    return {likeliest: Meaning("measured", ("no other column can be what was measured",))}


def _with_consequences(reading: Reading, requested: set[str]) -> Reading:
    """Mark the columns that others give by arithmetic; what the question or the header names keeps its role."""
    meanings, evidence, headers = reading.meanings, reading.evidence, reading.headers
    numeric = [n for n, m in meanings.items() if m.role in ("setting", "measured", "ratio") and evidence[n].numeric]
    settings = [n for n in numeric if meanings[n].role == "setting"]
    ordered = [
        *sorted(
            settings, key=lambda n: (n not in requested, canonical_of(n) not in EXTRINSIC, canonical_of(n) is None)
        ),
        *ranked([n for n in numeric if meanings[n].role == "measured"], settings, headers),
        *(n for n in numeric if meanings[n].role == "ratio"),
    ]
    out = dict(meanings)
    for name, consequence in consequences({n: evidence[n].values for n in ordered}, settings, reading.series).items():
        meaning = replace(meanings[name], follows=consequence)
        (base, power), *further_factors = consequence.factors.items()
        both_measured = meaning.role == meanings[base].role == "measured"
        if headers[name].kind:
            out[name] = meaning
        elif not (both_measured and power == 1 and not further_factors):
            # Two networks that scale alike are proportional, and neither is made from the other.
            is_factor = name in requested or canonical_of(name) is not None or meaning.role == "ratio"
            out[name] = meaning if is_factor else replace(meaning, role="consequence")
    if not any(m.role in ("measured", "ratio") for m in out.values()):
        # Something was measured, though it rises as the count does.
        out |= {n: m for n, m in meanings.items() if m.role == "measured"}
    return replace(reading, meanings=out)


def _with_scale(reading: Reading, at: Mapping[str, str]) -> Reading:
    """Find the column by which the runs are scaled: workers, nodes, or what the question goes beyond."""
    settings = reading.of("setting")
    names = {n: c for n in settings if (c := canonical_of(n)) is not None}
    mapped = dict(reading.mapping)
    if not {*LEVELS} & {*names.values(), *mapped}:
        names |= {n: c for n in settings if (c := plural_of(n)) in LEVELS}
        mapped |= {c: n for n, c in names.items() if c in LEVELS and canonical_of(n) is None}
    pairs = [(n, text) for key, text in at.items() for n in settings if n == column_named(key, reading.meanings)]
    ranges = {n: reading.evidence[n].known for n, _ in pairs if len(reading.evidence[n].known)}
    values = [(n, amount(text)) for n, text in pairs if n in ranges]
    beyond = [n for n, value in values if value is not None and not min(ranges[n]) <= value <= max(ranges[n])]
    by_name = [mapped[c] for c in LEVELS if c in mapped]
    by_name += [n for c in LEVELS for n in settings if names.get(n) == c]
    by_name = [n for n in by_name if n in reading.meanings]
    varied = [n for n in by_name if reading.evidence[n].varies]
    devices = [n for n in by_name if n not in varied and names.get(n) == "workers"]
    few = [n for n in devices if max(reading.evidence[n].known) <= MOST_DEVICES]
    if "nodes" in map(names.get, varied) and len(devices) == len(few) == 1 and "devices_per_node" not in names.values():
        # So few devices on every count of nodes are those of one.
        mapped["devices_per_node"] = devices[0]
        by_name.remove(devices[0])
    ways = [n for n in settings if names.get(n) in WAYS]
    extrinsic = [n for n in reading.roles.extrinsic if n in settings]
    requested = [n for n, _ in pairs if reading.evidence[n].varies]
    # Of devices and nodes the devices are the scale, whichever a question names.
    both = {names.get(n) for n in varied} >= {*LEVELS}
    beyond_named = [] if both else [n for n in by_name if n in beyond]
    split = ways if len(ways) == 1 and reading.evidence[ways[0]].varies else []
    choices = [beyond_named, varied, by_name if at and not beyond else [], split]
    if not any(choices):
        # The ways of a layout multiply to its devices, and none of them is the scale.
        choices = [by_name] if len(ways) > 1 else [beyond, extrinsic, requested, _counts(reading), by_name]
    scale = next((columns[0] for columns in choices if columns), None)
    others = [] if scale is None or scale in dict(pairs) else [n for n in beyond if canonical_of(n) is None]
    twin = next((n for n in others if reading.meanings[str(scale)].follows == Consequence({n: 1})), None)
    if twin is not None:
        # The question counts in another column, of which the scale is a multiple.
        meanings = {**reading.meanings, str(scale): replace(reading.meanings[str(scale)], role="consequence")}
        reading, scale = replace(reading, meanings=meanings), twin
    sized = scale is not None and (is_size(scale) or (scale not in mapped.values() and _is_a_size(reading, scale)))
    count = scale is not None and names.get(scale) not in LEVELS and not sized
    if scale is not None and count and "workers" not in mapped:
        mapped["workers"] = scale
    level = None if scale is None or scale in mapped.values() else names.get(scale)
    if scale is not None and level in LEVELS and column_of(str(level), settings) != scale:
        # Another column has the better name, and is the same in every run.
        mapped[str(level)] = scale
    if scale is not None and not sized and "global_batch" not in mapped:
        of_all = _batch_of_all(reading, scale)
        mapped |= {} if of_all is None else {"global_batch": of_all}
    return replace(reading, scale=scale, mapping=mapped)


def _is_a_size(reading: Reading, scale: str) -> bool:
    """Tell whether what the runs are scaled by has no name of a count, and every time grows much with it."""
    if canonical_of(scale) is not None or noun_of(scale) != scale or any(map(meant_by, words_in(scale))):
        return False
    times = [n for n in reading.of("measured") if reading.headers[n].kind == "time"]
    return bool(times) and all(growth(replace(reading, scale=scale), n) > SIZE_GROWTH for n in times)


def _batch_of_all(reading: Reading, scale: str) -> str | None:
    """Return the batch that is that of all workers, though its name leaves it open; None where nothing shows it.

    It is where it grew in proportion to the count, or where a throughput of all times the time of a step makes it.
    """
    names = [n for n in reading.of("setting") if canonical_of(n) in ("batch", "global_batch")]
    open_names = [n for n in names if plain_name(n) in words_of("columns.batch_of_any")]
    if names != open_names or len(names) != 1 or not reading.evidence[names[0]].varies:
        return None
    batch, counts = (reading.evidence[n].values for n in (names[0], scale))
    columns = [(n, reading.headers[n]) for n in reading.of("measured")]
    seconds = [
        TIME_UNITS[h.unit][0] / TIME_UNITS[h.unit][1] * reading.evidence[n].values
        for n, h in columns
        if h.kind == "time"
    ]
    rates = [
        reading.evidence[n].values for n, h in columns if h.kind == "rate" and not h.shared and h.counted != "tokens"
    ]
    if np.nanmax(counts) < 2.0 * np.nanmin(counts):
        return None
    with np.errstate(all="ignore"):
        made = any(np.all(np.abs(np.log(rate * time / batch)) < LEAST_CHANGE) for rate in rates for time in seconds)
        grew = np.ptp(np.log(batch / counts)) < CELL_ROUNDING
    return names[0] if made or grew else None


def _counts(reading: Reading) -> list[str]:
    """Return the settings that may count what the runs are scaled by, without a name of the field: the only one."""
    plain = [n for n in reading.of("setting") if reading.evidence[n].varies]
    unnamed = [n for n in plain if canonical_of(n) is None and np.min(reading.evidence[n].known, initial=1.0) > 0.0]
    return unnamed if len(unnamed) == 1 else plain if len(plain) == 1 else []


def _with_quantities(reading: Reading, want: str | None) -> Reading:
    """Order the measured columns, the wanted one or the likeliest first."""
    measured_column = reading.roles.measured_column
    if measured_column is None and not reading.of("measured"):
        reading = _with_relative(reading)
    numeric = [n for n in reading.of("measured") if len(reading.evidence[n].known)]
    # A column with zeros was not measured in each run.
    positive = {n: bool(np.min(reading.evidence[n].known) > 0.0) for n in numeric}
    reading, total = _with_total(reading, numeric)
    likeliest = ranked(numeric, list(reading.meanings), reading.headers)
    names = sorted(likeliest, key=lambda n: (not positive[n], n != total))
    chosen = measured_column if measured_column is not None or want is None else _wanted_column(reading, names, want)
    if chosen is None and not names:
        raise not_measured({n: str(m) for n, m in reading.meanings.items()})
    ordered = names if chosen is None else [chosen, *(n for n in names if n != chosen)]
    # A rate that may be of one device or of all is that of one where devices were added, and it stayed.
    added = reading.scale is not None and counts_devices(reading.scale)
    either = [n for n in names if added and plain_name(n) in words_of("headers.rate_of_one_or_all")]
    of_one = [n for n in either if growth(reading, n) <= LEAST_GROWTH]
    of_one += _parts_of_a_rate(reading, [n for n in names if positive[n]]) if len(names) > 1 else []
    of_a_worker = {n: replace(reading.headers[n], shared=True) for n in of_one}
    headers = {**reading.headers, **of_a_worker}
    if chosen is None and ordered[0] in of_one:
        ordered = names = ranked(names, list(reading.meanings), headers)
    return replace(reading, quantities=tuple(ordered), ranked=tuple(names), headers=headers)


def _parts_of_a_rate(reading: Reading, names: Sequence[str]) -> list[str]:
    """Return the rates that are of one device or thread: times the count they are about another rate."""
    rates = [n for n in names if reading.headers[n].kind == "rate" and not reading.headers[n].shared]
    if reading.scale is None or len(rates) < 2 or not reading.evidence[reading.scale].varies:
        return []
    logs = {n: np.log(reading.evidence[n].values) for n in (*rates, reading.scale)}
    of_all = {n: logs[n] + logs[reading.scale] for n in rates}
    pairs = itertools.permutations(rates, 2)
    return [one for one, total in pairs if np.nanmax(np.abs(of_all[one] - logs[total])) < ABOUT_EQUAL]


def _with_total(reading: Reading, numeric: Sequence[str]) -> tuple[Reading, str | None]:
    """Return the measured column that is the sum of all others in its unit, the phases of a step, or None.

    Where one of them has the name of a phase, columns without a unit are times.
    """
    headers = reading.headers
    for unit in {headers[n].unit: None for n in numeric if headers[n].kind in ("", "time")}:
        names = [n for n in numeric if headers[n].kind in ("", "time") and headers[n].unit == unit]
        values = np.stack([reading.evidence[n].values for n in names])
        with np.errstate(all="ignore"):
            is_sum = np.all(np.abs(values.sum(axis=0) / values - 2.0) < CELL_ROUNDING, axis=1)
        if len(names) > LEAST_PHASES and len(reading.evidence[names[0]].texts) > 1 and is_sum.any():
            if not unit and any(plain_name(n) in words for words in PHASES.values() for n in names):
                headers = {**headers, **{n: replace(headers[n], kind="time", unit="s") for n in names}}
            return replace(reading, headers=headers), names[int(is_sum.argmax())]
    return reading, None


def _with_relative(reading: Reading) -> Reading:
    """Take a speed-up or an efficiency for a throughput, of all devices or of one, where nothing else was measured.

    A bandwidth stays one.
    """
    ratios = [n for n in reading.of("ratio") if is_relative(n) or reading.headers[n].kind]
    relative_values = {n: reading.evidence[n].known for n in ratios}
    grown = {n: growth(reading, n) for n, values in relative_values.items() if len(values) and np.min(values) > 0.0}
    if not grown or reading.scale is None:
        return reading
    name = max(grown, key=lambda n: grown[n])
    header = reading.headers[name]
    if not header.kind:
        per_device = header_of(f"{name}/s")
        by_scale: Literal["workers", "nodes"] = "nodes" if meant_by(reading.scale) == "nodes" else "workers"
        level = per_device.level if per_device.shared else by_scale
        of_one, counted = grown[name] <= LEAST_GROWTH, relative_unit(name)
        in_percent = of_one and counted == RELATIVE and np.max(relative_values[name]) > MOST_EFFICIENT
        header = Header("rate", "%" if in_percent else "s", counted, shared=of_one, level=level)
    meaning = replace(reading.meanings[name], role="measured", reasons=("nothing else was measured",))
    return replace(reading, meanings={**reading.meanings, name: meaning}, headers={**reading.headers, name: header})


def _wanted_column(reading: Reading, names: Sequence[str], want: str) -> str:
    """Return the measured column that is wanted by its header, or by a kind such as `throughput`."""
    plain = plain_name(want)
    there = [n for n in reading.meanings if n == want] or [n for n in reading.meanings if plain_name(n) == plain]
    kind = "rate" if plain == "rate" else header_of(want).kind
    headers = reading.headers
    per_second = {n for n in names if headers[n].kind == "rate" and headers[n].counted in STEP_WORDS}
    of_steps = {n for n in names if headers[n].of == "step" or (n in per_second and not headers[n].shared)}
    choices = (
        [n for n in there if len(reading.evidence[n].known)],
        [n for n in names if plain and plain in plain_name(n)],
        [n for n in names if plain and words_in(want) <= words_in(n)],
        [n for n in names if header_of(want).of == "step" and n in of_steps],
        # The time of an epoch is none of a step.
        [
            n
            for n in names
            if kind and headers[n].kind == kind and {headers[n].of, header_of(want).of} != {"step", "job"}
        ],
        [n for n in names if not reading.headers[n].kind and len(names) == 1],
    )
    chosen = next((columns[0] for columns in choices if columns), None)
    if chosen is None:
        raise TableError(f"no measured column is '{want}'", hint=f"--want with one of {', '.join(names) or 'none'}")
    return chosen


def words_in(name: str) -> set[str]:
    """Return the words of a name: `step_ms.p50` is `step`, `ms` and `p50`."""
    return {*re.split(r"[\W_]+", name.lower())} - {""}


def measured_roles(
    reading: Reading, name: str, scale: str | None, given: Roles
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the roles of a measured column, its work and its scaling, and what is derived for them."""
    header, grows = reading.headers[name], growth(reading, name)
    # Beside a time or a rate a number without a unit is no rate, though it grows.
    beside = {reading.headers[n].kind for n in reading.of("measured") if not header.kind} & {"time", "rate"}
    names = list(reading.meanings)
    roles, derived = measurement_of_column(name, names, scale, 0.0 if beside else grows, header, reading.mapping)
    sized = scale is not None and is_size(scale)
    batches = {canonical_of(n): reading.evidence[n] for n in reading.of("setting") if "batch" in str(canonical_of(n))}
    if "throughput" in roles and scale is not None and sized:
        # A step does a batch; another size shows nothing of the samples of a step.
        work = "batch" in str(canonical_of(scale))
        roles |= {"work": quote_name(scale)} if work else {"quantity": roles.pop("throughput")}
    # The time of a step falls as the steps per second rise.
    grows = -grows if "time" in roles and header.kind == "rate" else grows
    of_workers = all(batch == "batch" and not evidence.varies for batch, evidence in batches.items())
    states_work = sized or header.of == "job" or given.scaling or given.work
    shared = grows < -LEAST_GROWTH or reading.speedup_of(name) is not None
    if "time" in roles and of_workers and not states_work and shared:
        roles["scaling"] = "strong" if header.of == "step" else "job"
    return roles, derived


def _with_roles(reading: Reading, requested: set[str], unmeasured: set[str], given: Roles, alone: bool) -> Reading:
    """Return the reading with the roles of `read_table` for its first quantity.

    The only batch, where an `unmeasured` value of it is asked, is a factor and names no series.
    """
    roles, evidence, scale = reading.roles, dict(reading.evidence), reading.scale
    columns = {n: e.texts for n, e in evidence.items()}
    roles = replace(roles, repeat=roles.repeat or next(iter(reading.of("repeat")), ""))
    mapped, settings, derived = reading.mapping, reading.of("setting"), dict[str, str]()
    if scale is not None and canonical_of(scale) == "devices_per_node":
        # Of one count of nodes the devices of each are those of the run.
        varied = [n for n in settings if canonical_of(n) != "nodes" or evidence[n].varies or n in requested]
        settings = [n for n in settings if n in varied or n in roles.extrinsic]
    if scale is not None and mapped.get("workers") == scale and canonical_of(scale) not in LEVELS:
        # Beside threads, or another count, the same machine in every run is no part of it.
        of_machine = {n for n in settings if canonical_of(n) in (*LEVELS, "devices_per_node")} - {*requested, scale}
        settings = [n for n in settings if n not in of_machine or evidence[n].varies or n in roles.extrinsic]
    named = {n: c for n in [*roles.extrinsic, *settings] if (c := canonical_of(n)) in EXTRINSIC}
    named |= {column: name for name, column in mapped.items() if column in settings}
    ways = [n for n in named if named[n] in WAYS]
    devices = len(ways) > 1 and not {*LEVELS} & {*named.values(), *mapped} and DEVICES not in columns
    if roles.measured_column is None:
        measured, derived = measured_roles(reading, reading.quantities[0], None if devices else scale, given)
        roles = roles.of_measured({**measured, **roles.measured})
    elif "time" in roles.measured and "unit" not in roles.measured:
        # A derived column has its header alone.
        unit = (reading.headers.get(roles.measured["time"]) or header_of(roles.measured["time"])).unit
        roles = replace(roles, measured={**roles.measured, **({"unit": unit} if unit not in ("", "s") else {})})
    if devices:
        # The ways of a layout multiply to its devices.
        none = next((n for n in ways if np.min(evidence[n].known, initial=1.0) <= 0.0), None)
        if none is not None:
            what = f"column '{none}' goes down to {np.min(evidence[none].known):g}, and the ways of a layout multiply"
            raise TableError(f"{what} to its devices", hint="write 1 where nothing is split that way")
        evidence[DEVICES] = evidence_of(np.prod([evidence[n].values for n in ways], axis=0).tolist())
        derived = {**derived, DEVICES: "*".join(map(quote_name, ways))}
        named[DEVICES] = "workers"
        settings, scale = [DEVICES, *settings], DEVICES
        reading = replace(reading, evidence=evidence)
    if scale is None and not roles.extrinsic and not alone:
        raise not_counted(settings, {n: evidence[n].levels for n in reading.of("kind", "label", "constant")})
    counts = [n for n in settings if n in named or (n == scale and not is_size(n))]
    roles = replace(roles, extrinsic=tuple(dict.fromkeys([*roles.extrinsic, *counts])))
    names = [n for n in settings if n not in roles.extrinsic]
    texts = [n for n in reading.of("kind") if n not in roles.group]
    cells_of_kinds = {n: columns[n] for n in texts if not is_provenance(n)}
    repeated = repeated_kinds(cells_of_kinds, requested) if cells_of_kinds else []
    texts = [n for n in texts if n not in repeated]
    texts += [n for n in reading.of("label") if is_provenance(n) and names_kinds(evidence[n])]
    names = [
        n for n in names if not _repeats_the_scale(reading, n, scale, requested) and not _is_of_all(reading, n, scale)
    ]
    of_a_worker = column_of("batch", columns)
    batches = [n for n in names if n == of_a_worker or canonical_of(n) in ("batch", "global_batch")]
    varying = [n for n in names if n not in batches and evidence[n].varies]
    series: dict[str, Any] = {}
    if texts and not varying and not roles.categorical and not roles.group:
        # Nothing but the scale varies within these names: each combination is a series.
        per_worker = [n for n in batches if canonical_of(n) != "global_batch" and evidence[n].varies]
        per_worker = [n for n in per_worker if n not in unmeasured or len(batches) > 1]
        series = series_columns({n: columns[n] for n in [*texts, *per_worker]}, texts, requested)
        if scale is not None and sparse(series, evidence[scale].values):
            series = {}
    if series:
        roles = replace(roles, group=tuple(series))
        names = [n for n in names if n not in series and (n in batches or evidence[n].varies)]
        names = [n for n in names if not (set(series) & set(batches) and canonical_of(n) == "global_batch")]
    elif texts:
        kinds = [n for n in texts if not is_provenance(n)]
        roles = replace(roles, categorical=tuple(dict.fromkeys([*roles.categorical, *kinds])))
    roles = replace(roles, intrinsic=tuple(dict.fromkeys([*roles.intrinsic, *names])))
    return replace(reading, roles=roles, derived=derived, scale=scale, evidence=evidence)


def growth(reading: Reading, name: str) -> float:
    """Return the median exponent by which a column grows from the smallest to the median count of each series."""
    if reading.scale is None:
        return 0.0
    counts, values = (reading.evidence[n].values for n in (reading.scale, name))
    usable = np.isfinite(counts) & np.isfinite(values) & (counts > 0.0) & (values > 0.0)
    slopes = []
    for number in np.unique(reading.series):
        rows = usable & (reading.series == number)
        scales = np.unique(counts[rows])
        if len(scales) > 1:
            ends = scales[[0, max(1, len(scales) // 2)]]
            before, later = (np.median(values[rows & (counts == n)]) for n in ends)
            slopes.append(np.log(later / before) / np.log(ends[1] / ends[0]))
    return float(np.median(slopes)) if slopes else 0.0


def _is_of_all(reading: Reading, name: str, scale: str | None) -> bool:
    """Tell whether a batch is that of all workers, by its name of one: the other one there, times the count."""
    if scale is None or canonical_of(name) != "batch" or not reading.evidence[name].varies:
        return False
    counts_of_workers = [
        n for n in reading.evidence if n != name and column_of("batch", [n]) == n and not reading.evidence[n].varies
    ]
    counts, values = (reading.evidence[n].values for n in (scale, name))
    return any(
        np.allclose(values, counts * reading.evidence[n].values[0])
        for n in counts_of_workers
        if reading.evidence[n].numeric
    )


def _repeats_the_scale(reading: Reading, name: str, scale: str | None, requested: set[str]) -> bool:
    """Tell whether a setting changes with the scale alone, or is the batch of all where that of one is there."""
    follows, canonical = reading.meanings[name].follows, canonical_of(name)
    if scale is None or (canonical is not None and name in requested):
        return False
    if canonical == "global_batch":
        return follows is not None and any(canonical_of(n) == "batch" for n in follows.factors)
    if canonical not in (None, "bytes") or not reading.evidence[name].varies:
        return False
    counts, cells = reading.evidence[scale].texts.tolist(), reading.evidence[name].texts.tolist()
    constant = len({*zip(counts, cells, strict=True)}) == len({*counts})
    return follows is not None and scale in follows.factors if name in requested else constant
