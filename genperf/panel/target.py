"""The measured quantity, as the user names it and as a model predicts it; phases of a step that columns measure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
import numpy as np
from msgspec import Struct

from genperf.arrays import Array
from genperf.errors import Note, TableError
from genperf.table.clean import Reasons, faults_of, filled, numbers
from genperf.vocabulary.headers import TIME_UNITS, header_of
from genperf.vocabulary.names import PHASES

if TYPE_CHECKING:
    import pandas as pd

#: The name and the unit of the default target.
TIME, SECONDS = "time", "s"
MEMORY_UNITS = ("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "bytes")


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """The measured quantity that a model predicts."""

    #: The column of the table that holds it.
    column: str
    #: What predictions, messages and pages call it.
    name: str = TIME
    #: The unit of the values in memory and in the model file; empty for a number without one.
    unit: str = SECONDS
    #: Whether every value is above zero, so that its logarithm exists. Every fit works on the logarithm, so that a
    #: table refuses other values today.
    positive: bool = True
    #: The column of the measured throughput that the time was made from; empty where a time was measured.
    throughput: str = ""
    #: The work of a step, the formula that was divided by the throughput; empty where no formula over the factors tells
    #: it.
    work: str = ""

    @property
    def reported(self) -> str:
        """What is reported first of a prediction: the throughput where one was measured."""
        return "throughput" if self.work else self.name

    @property
    def is_time(self) -> bool:
        """Whether it is a time in seconds, so that work per second, efficiency, phases and cost have a meaning."""
        return self.unit == SECONDS

    @property
    def true_seconds(self) -> bool:
        """Whether its values are the seconds of a step: those of a throughput depend on the unit of the work."""
        return self.is_time and not self.throughput

    def __str__(self) -> str:
        return f"{self.name} '{self.column}'" + (f", {self.unit}" if self.unit else "")


Kind = Literal["time", "throughput", "quantity"]

#: The micro sign and the Greek letter.
_ALIASES = {"\N{MICRO SIGN}s": "us", "\N{GREEK SMALL LETTER MU}s": "us"}
#: Columns that a prediction writes beside the quantity.
PREDICTION_COLUMNS = ("lower", "upper", "fits", "verdict", "reason")


class Measurement(Struct, frozen=True):
    """The measured column and what it holds."""

    #: As it is named in the source.
    column: str
    #: A throughput becomes a time by the work of a step.
    kind: Kind
    #: Of the column's cells; empty for a throughput, and for a quantity without a unit.
    unit: str
    #: What predictions call a quantity; its column where empty.
    name: str = ""

    def target(self, work: str = "") -> Target:
        """Return what a model of this measurement predicts.

        The column of a throughput's time is named `time`; it keeps the work of a step.
        """
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
        """Say that the column was converted, or that its name says another unit than seconds."""
        named = header_of(self.column).unit if self.kind == "time" else ""
        if self.converted:
            numerator, denominator = TIME_UNITS[self.unit]
            text = f"is converted from {self.unit} to seconds (1 {self.unit} = {numerator / denominator:g} s)"
            read = "filters and formulas read it as it stands in the table"
            return (Note(f"'{self.column}' {text}; {read}", "unit"),)
        if named not in TIME_UNITS or named == SECONDS:
            return ()
        return (Note(f"'{self.column}' is read in seconds, and its name says {named}: --unit {named}", "unit_named"),)


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
        unit = _ALIASES.get(unit, unit) or SECONDS
        if unit not in TIME_UNITS:
            listed = ", ".join("us (or µs)" if name == "us" else name for name in TIME_UNITS)
            raise TableError(f"'{unit}' is not a known unit of time", hint=f"one of {listed}")
        return Measurement(column, "time", unit)
    if unit:
        hint = "--time COL --unit ms, or --quantity COL:UNIT"
        raise TableError(f"the unit '{unit}' goes with a column of times or with another quantity", hint=hint)
    return Measurement(column, "throughput", "") if kind else None


def _quantity(text: str, unit: str, name: str) -> Measurement:
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


#: The ending of a phase's column is its unit, seconds: a column `forward` may hold anything.
UNITS = ("s", "seconds")
_SPELLED = [(phase, f"{word}_{unit}") for phase, words in PHASES.items() for word in words for unit in UNITS]


def phase_columns(names: Collection[str]) -> dict[str, str]:
    """Return the column that measures each phase: the first of the phase's names among the columns, case ignored."""
    there = {name.lower(): name for name in reversed(list(names))}
    out: dict[str, str] = {}
    for phase, name in _SPELLED:
        if name in there:
            out.setdefault(phase, there[name])
    return out


def phase_seconds(cells: pd.Series[Any]) -> tuple[Array, Reasons]:
    """Return a phase's times, NaN where it has no usable one, and why cells cannot be used.

    An empty cell is no fault: the phase was not measured in that row. A cell that is no time is one.
    """
    seconds, reasons = numbers(cells)
    is_filled = filled(cells)
    faults = faults_of(seconds, count="a time")
    seconds[list(faults)] = np.nan
    return seconds, {**{row: why for row, why in reasons.items() if is_filled[row]}, **faults}


def shown_phases(phases: Mapping[str, str]) -> str:
    """Write the columns with the phases that they measure."""
    return ", ".join(f"{column} ({phase})" for phase, column in phases.items())
