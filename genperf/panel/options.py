"""Which column plays which part: what is measured, how the rows are read, which runs failed, further quantities."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Mask, Objects
from genperf.errors import Note, OnlyFailuresError, TableError, did_you_mean, listed, suggest
from genperf.formula.amounts import with_amounts
from genperf.panel.panel import SECONDS, TIME, Panel, Target, panel_of
from genperf.table import Factor, Role
from genperf.table.clean import Reasons, faults_of, filled, labels, numbers, text_numbers
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import TIME_UNITS, header_of
from genperf.vocabulary.names import PHASES

if TYPE_CHECKING:
    import pandas as pd


Kind = Literal["time", "throughput", "quantity"]

#: The micro sign and the Greek letter.
_ALIASES = {"\N{MICRO SIGN}s": "us", "\N{GREEK SMALL LETTER MU}s": "us"}
#: Columns that a prediction writes beside the quantity.
PREDICTION_COLUMNS = ("lower", "upper", "fits", "verdict", "reason")

#: The ending of a phase's column is its unit, seconds: a column `forward` may hold anything.
UNITS = ("s", "seconds")
_SPELLED = [(phase, f"{word}_{unit}") for phase, words in PHASES.items() for word in words for unit in UNITS]

Names = str | Sequence[str]
#: A name in a list: in quotes where it holds a comma, or up to the next comma.
_LISTED = re.compile(r'\s*"([^"]*,[^"]*)"\s*(?=,|$)|([^,]+)')
_STOPPED, _MEMORY = (re.compile(rf"\b{any_of(f'cells.{kind}')}\b") for kind in ("stopped", "memory"))
_RETRIED = re.compile(any_of("cells.retried"))
_FAILED = re.compile(
    "".join(rf"(?<!\b{word} )" for word in words_of("cells.denial")) + rf"\b{any_of('cells.failed')}\b"
)

#: Options that name the measured column.
MEASURED = ("time", "throughput", "quantity")
#: Options of several columns, in the order in which a line of options has them, and those of one column.
SEVERAL = ("extrinsic", "group", "categorical", "intrinsic")
#: Options of `read_table` beside those.
OPTIONS = (
    *(*MEASURED, "unit", "work", "scaling", *SEVERAL, "weight", "repeat", "let", "where"),
    *("skip_bad_rows", "delimiter", "aggregate", "status", "failed", "also"),
)

#: Names that formulas and predictions use already.
_TAKEN = frozenset({TIME, *PREDICTION_COLUMNS, "throughput", "efficiency", "cost", "total", "machines"})


# --- what is measured -------------------------------------------------------------------------------------------------


class Measurement(Struct, frozen=True):
    """The measured column and what it holds."""

    column: str  #: As it is named in the source.
    kind: Kind  #: A throughput becomes a time by the work of a step.
    unit: str  #: Of the column's cells; empty for a throughput, and for a quantity without a unit.
    name: str = ""  #: What predictions call a quantity; its column where empty.

    def target(self, work: str = "") -> Target:
        """Return what a model of it predicts; the time of a throughput is in a column `time`, and keeps the work."""
        if self.kind == "quantity":
            return Target(self.column, self.name or self.column, self.unit)
        if self.kind == "throughput":
            return Target(TIME, throughput=self.column, work=work)
        return Target(self.column)

    @property
    def converted(self) -> bool:
        """Whether the cells are in another unit than the target."""
        return self.kind == "time" and self.unit != SECONDS

    def in_target_unit(self, values: Array) -> Array:
        """Return the cells' numbers in the target's unit; a quantity's stay as they are."""
        if not self.converted:
            return values
        numerator, denominator = TIME_UNITS[self.unit]
        with np.errstate(over="ignore", under="ignore"):
            return values * numerator / denominator

    def notes(self) -> tuple[Note, ...]:
        """Return a note that the column was converted; else none."""
        if not self.converted:
            return ()
        numerator, denominator = TIME_UNITS[self.unit]
        text = f"is converted from {self.unit} to seconds (1 {self.unit} = {numerator / denominator:g} s)"
        return (Note(f"'{self.column}' {text}; filters and formulas read it as it stands in the table", "unit"),)


def measurement_of(options: Mapping[str, str]) -> Measurement | None:
    """Return the measurement that `time`, `throughput` or `quantity`, and `unit`, name; None where they name none."""
    named = {kind: text for kind in get_args(Kind) if (text := options.get(kind, "").strip())}
    if len(named) > 1:
        both = "both" if len(named) == 2 else "all"
        raise TableError(f"{' and '.join(named)} are {both} named", hint="name the one that was measured")
    kind, column = next(iter(named.items()), ("", ""))
    unit = options.get("unit", "").strip()
    if kind == "quantity":
        return _quantity(column, unit, options.get("name", ""))
    if kind == "time":
        # Without --unit its name says it, and else it is in seconds.
        by_name = header_of(column).unit
        unit = _ALIASES.get(unit, unit) or (by_name if by_name in TIME_UNITS else SECONDS)
        if unit not in TIME_UNITS:
            listed = ", ".join("us (or µs)" if name == "us" else name for name in TIME_UNITS)
            raise TableError(f"'{unit}' is not a known unit of time", hint=f"one of {listed}")
        return Measurement(column, "time", unit)
    if unit:
        hint = "--time COL --unit ms, or --quantity COL:UNIT"
        raise TableError(f"the unit '{unit}' goes with a column of times or with another quantity", hint=hint)
    return Measurement(column, "throughput", "") if kind else None


def _quantity(text: str, unit: str, name: str) -> Measurement:
    """Read `COL` or `COL:UNIT` of --quantity, with the unit of --unit."""
    column, colon, suffix = (piece.strip() for piece in text.rpartition(":"))
    if not colon:
        column, suffix = text, ""
    if not column:
        raise TableError(f"'{text}' names no column", hint="--quantity COL or --quantity COL:UNIT")
    if suffix and unit and suffix != unit:
        what = f"the unit of '{column}' is given twice: '{suffix}' and '{unit}'"
        raise TableError(what, hint="give it once: --quantity COL:UNIT")
    if column == TIME or column in PREDICTION_COLUMNS:
        hint = "--time time, with --unit for other units than seconds" if column == TIME else "rename the column"
        raise TableError(f"a quantity cannot be named '{column}': predictions have a column of that name", hint=hint)
    if not (suffix or unit).isprintable():
        raise TableError(f"the unit of '{column}' holds characters that cannot be printed", hint="--quantity COL:UNIT")
    return Measurement(column, "quantity", suffix or unit, name)


def phase_columns(names: Collection[str]) -> dict[str, str]:
    """Return phase → its column, {"forward": "Forward_s"}: the first of the phase's names, in any case."""
    there = {name.lower(): name for name in reversed(list(names))}
    out: dict[str, str] = {}
    for phase, name in _SPELLED:
        if name in there:
            out.setdefault(phase, there[name])
    return out


def phase_seconds(cells: pd.Series[Any]) -> tuple[Array, Reasons]:
    """Return a phase's times, NaN where it has none, and why cells cannot be used; an empty cell is no fault."""
    seconds, reasons = numbers(cells)
    is_filled = filled(cells)
    faults = faults_of(seconds, count="a time")
    seconds[list(faults)] = np.nan
    return seconds, {**{row: why for row, why in reasons.items() if is_filled[row]}, **faults}


def shown_phases(phases: Mapping[str, str]) -> str:
    """Return columns with the phases that they measure as a text: `fw_s (forward), bw_s (backward)`."""
    return ", ".join(f"{column} ({phase})" for phase, column in phases.items())


# --- which runs failed ------------------------------------------------------------------------------------------------


class FailureRule(Struct, frozen=True):
    """By which columns and words a run failed."""

    status: str | None = None  #: A column that says how each run ended.
    #: Columns with the values of runs that failed, in place of the usual words.
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the user named."""
        return (*self.values, *([self.status] if self.status else []))

    def columns_of(self, names: Collection[str], measured: Sequence[str], where: str) -> list[str]:
        """Return the columns that say how runs ended: those that the user named, and the measured ones."""
        absent = next((name for name in self.columns if name not in names), None)
        if absent is not None:
            what = f"no column '{absent}' that says which runs failed"
            raise TableError(what, hint=suggest(absent, names), where=where)
        return list(dict.fromkeys([*self.columns, *(name for name in measured if name in names)]))

    def says(self, name: str, texts: Sequence[str] | Objects, where: str) -> Mask:
        """Return which texts of a column say that a run failed: those that the user gave, or by the usual words."""
        by_casefold = {text.casefold(): text for text in texts}
        failing = {small for small in by_casefold if says_failed(small)}
        if name in self.values:
            failing = {word.casefold() for word in self.values[name]}
            for word in self.values[name]:
                if word.casefold() not in by_casefold:
                    near, levels = did_you_mean(word, [*by_casefold.values()]), map("'{}'".format, by_casefold.values())
                    hint = f"{f'{near}; ' if near else ''}its values are {listed([*levels])}"
                    what = f"no cell of column '{name}' is '{word}', the word of a failed run"
                    raise TableError(what, hint=hint, where=where)
        return np.array([text.casefold() in failing for text in texts], dtype=bool)

    def endings(
        self, cells: Mapping[str, AnyArray], rows: int, measured: Sequence[str], where: str
    ) -> tuple[Mask, Mask, Mask]:
        """Return which runs failed by their cells, which of these lacked memory, and which were stopped from outside.

        Those that were stopped, by a limit of time, by a user, by a lost node, may well fit.
        """
        failed, lacked_memory, stopped = np.zeros((3, rows), dtype=bool)
        for name in self.columns_of(cells, measured, where):
            user_gave_words = name in self.values
            # A column of numbers says no ending by the usual words.
            if not user_gave_words and cells[name].dtype.kind in "iufb":
                continue
            texts = labels(cells[name])
            if not user_gave_words and (numbers := text_numbers(texts)) is not None and np.isfinite(numbers).all():
                continue
            failing = self.says(name, texts, where)
            words = [re.sub(r"[\s_-]+", " ", text.lower()) for text in texts]
            of_memory = np.array([lacks_memory(w) for w in words], dtype=bool) | lacks_memory(name)
            failed, lacked_memory = failed | failing, lacked_memory | (failing & of_memory)
            if not user_gave_words:
                stopped |= np.array([bool(_STOPPED.search(w)) for w in words], dtype=bool) & ~of_memory
        return failed, lacked_memory, failed & stopped


def lacks_memory(text: str) -> bool:
    """Tell whether the text of a run that failed, or its column, names memory."""
    return bool(_MEMORY.search(re.sub(r"[\s_-]+", " ", text.lower())))


def says_failed(text: str) -> bool:
    """Tell whether a text says that a run failed, and not that it was made again."""
    plain = re.sub(r"[\s_-]+", " ", text.lower())
    return _FAILED.search(plain) is not None and _RETRIED.search(plain) is None


def parse_failure_rule(status: str | None, failed: Mapping[str, Names] | Names | None) -> FailureRule:
    """Return the rule of `status`, a column of endings, and `failed`: `state=OOM,killed`, or {"state": ["OOM"]}."""
    name = (status or "").strip() or None
    if isinstance(failed, Mapping):
        pairs = {str(c).strip(): (v,) if isinstance(v, str) else tuple(map(str, v)) for c, v in failed.items()}
        return FailureRule(name, pairs)
    values: dict[str, tuple[str, ...]] = {}
    for column, words in pairs_of(failed, "COLUMN=VALUE,…", "status=OOM,killed"):
        values[column] = (*values.get(column, ()), *(word.strip() for word in words.split(",") if word.strip()))
    return FailureRule(name, values)


def pairs_of(given: Mapping[str, str] | Names | None, form: str, example: str) -> list[tuple[str, str]]:
    """Return names with their texts, of a mapping or of `name=text`, one or several; form and example for messages."""
    if isinstance(given, Mapping):
        return [(str(name).strip(), str(text).strip()) for name, text in given.items()]
    pairs = []
    for item in [given] if isinstance(given, str) else given or ():
        name, _, text = item.partition("=")
        # "a==b" is a comparison that somebody forgot to name.
        if not name.strip() or not text.strip(" ,") or text.startswith("="):
            raise TableError(f"'{item}' is not of the form {form}", hint=f'for example "{example}"')
        pairs.append((name.strip(), text.strip()))
    return pairs


def refuse_only_failures(failed: Mask, where: str) -> None:
    """Refuse runs that all failed."""
    if len(failed) and failed.all():
        what = "the one run" if len(failed) == 1 else f"all {len(failed)} runs"
        hint = "add runs that succeeded, or name other words with --failed COLUMN=VALUE"
        raise OnlyFailuresError(f"{what} failed: there is no measured value to fit", hint=hint, where=where)


# --- which column plays which part ------------------------------------------------------------------------------------


class Roles(Struct, frozen=True, dict=True):
    """Which column plays which part, as a user names them or their cells and headers show, and how rows are read."""

    #: `time`, `throughput` or `quantity` with its column, and `unit`, as texts; none where none is named. Of a further
    #: quantity its `name` as well.
    measured: Mapping[str, str] = field(default_factory=dict)
    work: str = ""  #: A formula: the work of a step, to make a time from a throughput.
    #: "weak", "strong" or "job", where no column shows it.
    scaling: str = ""
    weight: str = ""
    repeat: str = ""
    extrinsic: tuple[str, ...] = ()
    #: Columns that split the table.
    group: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    intrinsic: tuple[str, ...] = ()
    derived: Mapping[str, str] = field(default_factory=dict)  #: Derived columns with their formulas, in order.
    where: str | None = None  #: A comparison that the rows must fulfil.
    skip_bad_rows: bool = False  #: Whether rows that cannot be used are left out instead of refused.
    failures: FailureRule = field(default_factory=FailureRule)  #: Which runs failed.
    #: Further quantities, by the name that predictions call each.
    further: Mapping[str, Measurement] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Read the options of `read_table`; texts are read once, here."""
        several: dict[str, Any] = {role: tuple(names_of(options.get(role) or ())) for role in SEVERAL}
        for role, names in several.items():
            if repeated := [name for name in names if names.count(name) > 1]:
                raise TableError(f"column '{repeated[0]}' is named twice as {role}", hint="give it one role")
        single = {name: str(options.get(name) or "").strip() for name in ("work", "scaling", "weight", "repeat")}
        single["work"] = single["work"] and with_amounts(single["work"])
        derived: dict[str, str] = {}
        for name, text in pairs_of(options.get("let"), "name=formula", "flops=batch*layers"):
            if (column := name.strip("`")) in derived:
                raise TableError(f"'{column}' is derived twice", hint="give each derived column another name")
            derived[column] = text
        return cls(
            {name: str(options[name]) for name in (*MEASURED, "unit") if options.get(name)},
            **{**single, **several},
            derived=derived,
            where=options.get("where") or None,
            skip_bad_rows=bool(options.get("skip_bad_rows")),
            failures=parse_failure_rule(options.get("status"), options.get("failed")),
            further=further_of(options.get("also")),
        )

    def of_measured(self, options: Mapping[str, str]) -> Self:
        """Return the roles with the options of another measured column, its work and its scaling."""
        measured = {name: text for name, text in options.items() if name not in ("work", "scaling")}
        work, scaling = options.get("work", self.work), options.get("scaling", self.scaling)
        return replace(self, measured=measured, work=work, scaling=scaling)

    @property
    def measured_column(self) -> str | None:
        """The measured column, without a unit; None where none is known."""
        return None if self.measurement is None else self.measurement.column

    @property
    def whole(self) -> bool:
        """Whether they name what was measured and a factor: then no other column has a role."""
        return self.measured_column is not None and bool(self.factors)

    @cached_property
    def measurement(self) -> Measurement | None:
        """The measured column and what it holds; None where none is named."""
        return measurement_of(self.measured) if {*MEASURED} & {*self.measured} else None

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """Intrinsic, then extrinsic, then categorical factors."""
        return tuple(Factor(name, role) for role in get_args(Role) for name in getattr(self, role))

    @cached_property
    def panel(self) -> Panel:
        """What the columns mean by their names alone."""
        return panel_of(self.factors, {}, self.group)

    @cached_property
    def named(self) -> list[tuple[str, str]]:
        """Every column that was named, with its role in words: [("gpus", "extrinsic"), ("s", "time")]."""
        measured = [(self.measurement.column, str(self.measurement.kind))] if self.measurement else []
        extra_roles = [(name, role) for name, role in ((self.weight, "weight"), (self.repeat, "repeat")) if name]
        factors = [(f.name, f.role) for f in self.factors]
        return [*factors, *((name, "group") for name in self.group), *measured, *extra_roles]

    @cached_property
    def by_column(self) -> dict[str, str]:
        """The role of each column; of several roles that of a factor."""
        return dict(reversed(self.named))

    @property
    def columns(self) -> set[str]:
        """All columns in a role, those that say how runs ended, and those of further quantities."""
        return {*self.by_column, *self.failures.columns, *(m.column for m in self.further.values())}

    def checked(self) -> Self:
        """Return the roles, where each column plays one part and further quantities have names of their own."""
        taken: dict[str, str] = {}
        for name, role in self.named:
            if role == "group" and taken.get(name) in get_args(Role):
                continue
            if name in taken:
                twice = f"twice as {role}" if taken[name] == role else f"both as {taken[name]} and as {role}"
                raise TableError(f"column '{name}' is named {twice}", hint="give it one role")
            taken[name] = role
        main = self.measurement
        role_of = {name: role for name, role in self.named if main is None or name != main.column}
        for name, measured in self.further.items():
            if name in role_of or (main is not None and name == main.target().name):
                hint = "--also NAME=COLUMN:UNIT with another name"
                raise TableError(f"'{name}' is a factor, a group or the measured quantity already", hint=hint)
            if measured.column in role_of:
                both = f"both as {role_of[measured.column]} and as quantity"
                raise TableError(f"column '{measured.column}' is named {both}", hint="give it one role")
        return self

    @property
    def texts(self) -> dict[str, str]:
        """The options of columns that have a value, as texts; names with commas in quotes."""
        texts = {**self.measured, "work": self.work if "throughput" in self.measured else "", "scaling": self.scaling}
        failed = [f"{column}={','.join(words)}" for column, words in self.failures.values.items()]
        # Of several columns there is no one text.
        texts |= {"status": self.failures.status or "", "failed": failed[0] if len(failed) == 1 else ""}
        texts |= {"weight": self.weight, "repeat": self.repeat}
        for role in SEVERAL:
            texts[role] = ",".join(f'"{name}"' if "," in name else name for name in getattr(self, role))
        return {option: text for option, text in texts.items() if text}

    @property
    def beside(self) -> tuple[tuple[str, str], ...]:
        """The options beside the roles that a model keeps, with their values: ("work", "32*gpus"); a flag has none."""
        measured = self.measurement
        values = [
            *(("let", f"{name}={text}") for name, text in self.derived.items()),
            ("throughput", measured.column if measured and measured.kind == "throughput" else None),
            ("work", self.work or None),
            ("unit", measured.unit if measured and measured.converted else None),
            *(("weight", self.weight or None), ("repeat", self.repeat or None), ("where", self.where)),
            ("skip-bad-rows", "" if self.skip_bad_rows else None),
            *(("also", f"{name}={m.column}{f':{m.unit}' if m.unit else ''}") for name, m in self.further.items()),
        ]
        return tuple((option, value) for option, value in values if value is not None)


def names_of(names: Names) -> list[str]:
    """Return "a,b" or a sequence as a list of names; a name that holds a comma stands in quotes."""
    texts = [quoted or plain for quoted, plain in _LISTED.findall(names)] if isinstance(names, str) else names
    return [n.strip() for n in texts if n.strip()]


def further_of(also: Mapping[str, str] | str | Sequence[str] | None) -> dict[str, Measurement]:
    """Read further quantities, `NAME=COLUMN` or `NAME=COLUMN:UNIT`, by the name that predictions call each."""
    if isinstance(also, Mapping):
        pairs = [(str(name), str(text)) for name, text in also.items()]
    else:
        texts = [also] if isinstance(also, str) else also or ()
        # A column alone is its name as well.
        pairs = [(n, t) if equals else ("", n) for n, equals, t in (item.partition("=") for item in texts)]
    measurements: dict[str, Measurement] = {}
    for name, text in pairs:
        measured = measurement_of({"quantity": text})
        called = name.strip() or (measured.column if measured else "")
        if measured is None or not re.fullmatch(r"[^\W\d]\w*", called) or called in _TAKEN:
            hint = "--also NAME=COLUMN:UNIT with another name, as memory=peak_gb:GB"
            raise TableError(f"a further quantity cannot be named '{called}'", hint=hint)
        if called in measurements:
            raise TableError(f"two further quantities are named '{called}'", hint="give each another name")
        measurements[called] = replace(measured, name=called)
    return measurements
