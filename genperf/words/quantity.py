"""How a predicted quantity is named and printed: `time (s)`, `memory_gb (GB)`, `3.2 s`."""

from collections.abc import Mapping
from typing import Any

from genperf.panel.target import SECONDS, Target
from genperf.words.numbers import three_digits, with_unit


def heading(target: Target) -> str:
    """Return the quantity with its unit, for axes and headings."""
    return f"{target.name} ({target.unit})" if target.unit else target.name


def further_words(units: Mapping[str, str], row: Any) -> list[str]:
    """Return what one row of a prediction holds of further quantities; nothing of one that is unknown there."""
    names = [name for name in units if float(row[name]) == float(row[name])]
    return [f"{name} {with_interval(row, name, units[name])}" for name in names]


def with_interval(row: Any, name: str, unit: str) -> str:
    """Return a quantity of a row with the ends of its interval: `31.7 GB (29 to 34)`."""
    value, lower, upper = (three_digits(float(row[f"{name}{end}"])) for end in ("", "_lower", "_upper"))
    return f"{with_unit(value, unit)} ({lower} to {upper})"


def term_column(target: Target) -> str:
    """Return the column that holds the part of each term: the quantity's name, `seconds` for a time in seconds."""
    return "seconds" if target.unit == SECONDS else target.name


def constant_unit(unit: str, target: Target) -> str:
    """Return the unit of a constant: families write it for a time, as `s`, `s/B` or `s*flop`."""
    if unit != SECONDS and not unit.startswith((f"{SECONDS}/", f"{SECONDS}*")):
        return unit
    further = unit[len(SECONDS) :]
    if target.unit:
        return target.unit + further
    return f"1{further}" if further.startswith("/") else further.removeprefix("*")


def only_for_times(parts: str, target: Target) -> str:
    """Return the sentence why some parts of an answer are left out."""
    return f"{parts} are left out: they need a model of a time, and this one predicts {heading(target)}"


def scaling_question(along: str) -> str:
    """Return the question where nothing shows the kind of scaling."""
    return (
        f"efficiency and knee are left out: is the scaling along {along} weak or strong? "
        "--scaling weak where the work of one stays, --scaling strong where that of all does"
    )
