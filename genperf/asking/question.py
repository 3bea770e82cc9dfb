"""A question under the columns of a table, read by the rules of a row, and answered by the runs that measured it."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import Mask
from genperf.errors import TableError, counted, listed
from genperf.formula.amounts import amount
from genperf.panel.machine import is_a_part
from genperf.panel.read import Recognised, count_in
from genperf.panel.reading import Reading, column_named, words_in
from genperf.table.cells import Source, parts_of
from genperf.table.clean import is_number, label, labels, mostly_numbers, number_in
from genperf.vocabulary.names import canonical_of, meant_by, plain_name
from genperf.words.numbers import join_values, three_digits, with_unit

#: The name of a count that is given without one.
SCALE = "count"
#: Signs of Markdown around a value.
MARKS = "`*_"


class Requested(Struct, frozen=True):
    """A question under the columns of a table."""

    at: Mapping[str, str]
    #: What the answer does not heed: what stands in no column, or differs from what a column was in every run.
    notes: tuple[str, ...] = ()
    #: The column that a word of the question names: `model=bert` of a column a network.
    wanted: str = ""


def as_row(source: Source, at: Mapping[str, str]) -> Requested:
    """Return a question under the columns of a table, whose names were taken apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table.opened import understood
    >>> runs = understood(pd.DataFrame({"run": ["pipe-1", "pipe-2", "pipe-4"], "lr": 8, "s": [9.1, 5.2, 3.3]}))
    >>> requested = as_row(runs, {"run": "pipe-8", "lr": "`16`", "colour": "red"})
    >>> requested.at, requested.notes
    ({'pipe': '8'}, ('asked, and found nowhere in the runs: colour', 'lr was always 8: nothing shows another one'))
    """
    out: dict[str, str] = {}
    absent: list[str] = []
    constant: dict[str, str] = {}
    wanted = ""
    for name, value_text in at.items():
        text = value_text.strip()
        column = _place_of_value(name, text, source)
        is_word = number_text(text) == text and amount(text) is None
        if is_word and (column is None or mostly_numbers(labels(source.columns[column]).tolist())):
            # The column that holds a word, or has it as its name, is meant.
            (holding, text), of_word = _cell_with(text, source), _column_of(text, source)
            column = holding or column
            wanted = wanted or of_word
            if of_word:
                continue
        if column is None and (name == SCALE or is_a_part(name, source.columns)):
            out[name] = text
            continue
        if column is None:
            absent.append(name)
            continue
        if column in source.headers and "count" in source.columns:
            column = "count"  # `1 x Pi | 2 x Pi`: the header names the values, and is asked for as the count
        cells = labels(source.columns[column])
        if text not in cells and column in source.names:
            numbers = source.names[column].of(text) or source.names[column].of(text.strip(MARKS))
            if numbers:
                out |= {n: label(value) for n, value in numbers.items() if n not in at and n in source.columns}
                continue
            # `test=fsdp`, where the names of tests were taken apart.
            holding, cell = _cell_with(text, source)
            of_kind = holding and holding == source.names[column].kind_column
            # `instances=32` of `p4d.24xlarge x 8`
            count = count_in(column, text, source)
            column, text = (holding, cell) if of_kind and count == column else (count, text)
            cells = labels(source.columns[column])
        filled = {cell for cell in cells.tolist() if cell}
        if text not in filled and mostly_numbers(list(filled)):
            text = number_text(text)
        if len(filled) == 1 and len(source) > 1 and is_number(text) and canonical_of(column) is None:
            (only,) = filled
            if number_in(only) != number_in(text):
                constant[column] = only
            continue
        named = len(filled) > 0.7 * len(source) > 2 and not mostly_numbers(list(filled))
        if named and text not in filled and column not in source.names and len(at) > 1:
            absent.append(f"{name}={text}")
            continue
        if out.get(column, text) != text:
            what = f"'{name}={text}' and '{column}={out[column]}' name the same column"
            raise TableError(what, hint="give one of them, or the whole name of another column", where=source.name)
        out[column] = text
    if absent and not out and not constant:
        # Nothing of the question is known: the caller says what there is.
        return Requested({name: at[name] for name in absent if name in at}, wanted=wanted)
    notes = [f"asked, and found nowhere in the runs: {listed(absent)}"] if absent else []
    notes += [f"{name} was always {only}: nothing shows another one" for name, only in constant.items()]
    return Requested(out, tuple(notes), wanted)


def _place_of_value(name: str, text: str, source: Source) -> str | None:
    """Return the column that a key means with its value: a count is none of a column of names, `accelerator`."""
    if name in source.columns and text in labels(source.columns[name]):
        return name
    column = place_of(name, source)
    if column is None or column in source.names or not is_number(text):
        return column
    cells = {*labels(source.columns[column]).tolist()}
    if text in cells or any(map(is_number, cells)):
        return column
    names = [n for n, values in source.columns.items() if not any(map(is_number, labels(values).tolist()))]
    return place_of(name, replace(source, idle=(*source.idle, *names))) or column


def _cell_with(text: str, source: Source) -> tuple[str, str]:
    """Return the only column of texts that holds a word, and the cell, or its only cell with it among others."""
    columns = {n: {*labels(cells).tolist()} for n, cells in source.columns.items() if cells.dtype.kind == "O"}
    equal = [n for n, cells in columns.items() if text.lower() in (cell.lower() for cell in cells)]
    if equal:
        return (equal[0] if len(equal) == 1 else "", text)
    within = {n: [cell for cell in cells if words_in(text) <= words_in(cell)] for n, cells in columns.items()}
    alone = [(n, cells[0]) for n, cells in within.items() if len(cells) == 1]
    return alone[0] if len(alone) == 1 and words_in(text) else ("", text)


def _column_of(text: str, source: Source) -> str:
    """Return the only column of numbers whose name has a word; empty without one."""
    named = [n for n in source.columns if words_in(text) and words_in(text) <= words_in(n)]
    numeric = [n for n in named if mostly_numbers(labels(source.columns[n]).tolist())]
    return numeric[0] if len(numeric) == 1 else ""


def place_of(name: str, source: Source) -> str | None:
    """Return the column that a key of a question means: by its name, an alias, or its words."""
    columns = source.columns
    named = column_named(name, columns)
    levels = {column: {*labels(cells)} - {""} for column, cells in columns.items()}
    varied = {column for column in columns if len(source) < 2 or len(levels[column]) > 1}
    if named in varied:
        return named
    if named is not None:
        # `n_gpu` was 1 in every run; what varied counts the same.
        spelled = {**dict.fromkeys(columns), **source.aliases}
        counts = {spelled[text] or text for text in spelled if meant_by(text) == meant_by(name) == "workers"}
        counting = [text for text in counts if text in varied]
        return counting[0] if len(counting) == 1 else named
    for alias, column in source.aliases.items():
        if column in columns and column_named(name, {alias: ()}) is not None:
            return column
    if is_a_part(name, columns):
        # The devices are no devices of a node, however alike the words.
        return None
    words = {text: {*re.split(r"[\W_]+", plain_name(text))} - {"", "num", "of", "number"} for text in (name, *columns)}
    wanted = words[name]
    near = [c for c in columns if wanted and words[c] and (wanted <= words[c] or words[c] <= wanted)]
    return near[0] if len(near) == 1 else None


def wanted_name(want: str, source: Source) -> str:
    """Return the column of a quantity that is wanted by another of its names; any other name as it is."""
    if plain_name(want) in map(plain_name, source.columns):
        return want
    return next((column for alias, column in source.aliases.items() if plain_name(alias) == plain_name(want)), want)


def number_text(text: str) -> str:
    """Return the number in a value that has a word or a unit beside it; another value as it is."""
    plain = text.strip(MARKS)
    cell = parts_of(plain) if amount(plain) is None else None
    return plain if cell is None else cell.number.replace(",", "")


# --- what the runs measured -------------------------------------------------------------------------------------------

#: A value, its ends, and how it is known.
Measured = tuple[float, float, float, str]


def only_run(opened: Recognised) -> Reading | None:
    """Return the reading of a table whose runs are all of one configuration, or are scaled by nothing; else None."""
    try:
        reading = opened.reading
    except TableError:
        alone = opened.read(alone=True)
        if not opened.source.runs and len(opened.source) > 1:
            raise
        return alone
    varied = [n for n in reading.of("setting", "kind") if reading.columns[n].varies]
    return None if varied or not (opened.source.runs or len(opened.source) == 1) else reading


def rows_with(reading: Reading, at: Mapping[str, str]) -> Mask:
    """Return which rows have what is asked; a count that was not measured is refused."""
    rows = np.ones(len(next(iter(reading.columns.values())).texts), dtype=bool)
    for name, text in at.items():
        column = reading.scale if name == "count" else column_named(name, reading.columns)
        if column is None:
            what = f"the runs are of one configuration, and no column is '{name}'"
            raise TableError(
                what, hint=f"measure a second scale and name both: genperf ask RUN1 RUN2 --at {name}={text}"
            )
        evidence, value = reading.columns[column], amount(text)
        if value is None or not evidence.numeric:
            same = np.array(
                [level.strip().lower() == text.strip().lower() for level in evidence.texts.tolist()], dtype=bool
            )
        else:
            same = np.isclose(evidence.values, value, rtol=1e-9)
        if not same.any():
            levels = ", ".join(reading.columns[column].levels[:4]) or "nothing"
            what = f"{column} was {levels} in every run: nothing shows how {column}={text} does"
            raise TableError(what, hint=f"measure a second scale, such as {column}={text}, and name both")
        rows &= same
    return rows


def measured(source: Source, reading: Reading, name: str, rows: Mask) -> Measured | None:
    """Return what some rows measured of a column; None where they did not."""
    values = reading.columns[name].values
    rows = rows & np.isfinite(values)
    if not rows.any():
        return None
    value = float(np.median(values[rows]))
    if rows.sum() > 1:
        low, high = float(values[rows].min()), float(values[rows].max())
        return value, low, high, f"median of {counted(int(rows.sum()), 'run')}"
    if name in source.steady and source.steady[name][rows][0][0] > 0:
        steps, low, high, slow = source.steady[name][rows][0].tolist()
        outliers = f", {int(slow)} over twice it" if slow else ""
        return value, low, high, f"median of {counted(int(steps), 'step')}{outliers}, nine in ten"
    return value, value, value, "one value"


def measured_sentences(
    quantity: str, unit: str, measurement: Measured, at: Mapping[str, Any], scale: str | None
) -> dict[str, str]:
    """Return what was measured, and what a second scale would need."""
    value, low, high, how = measurement
    place = f" at {join_values(at)}" if at else ""
    ends = three_digits(low), three_digits(high)
    how, nine, _ = how.partition(", nine in ten")
    spread = "" if ends[0] == ends[1] else f"{nine} from {ends[0]} to {with_unit(ends[1], unit)}"
    count = scale or "gpus"
    return {
        "expect": f"Measured: {quantity} of {with_unit(three_digits(value), unit)}{place} ({how}{spread}).",
        "next": f"One scale was measured: a run at another count of {count} shows how it scales "
        f"(genperf ask RUN1 RUN2 --at {count}=64).",
    }
