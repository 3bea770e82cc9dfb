"""A question under the columns of a table or of a model: which column each of its names means, with its value."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from genperf.errors import TableError, listed
from genperf.formula.amounts import amount
from genperf.panel.evidence import words_in
from genperf.panel.machine import is_a_part
from genperf.panel.panel import Panel
from genperf.panel.words import level_counted, machine_in
from genperf.peaks import device_in
from genperf.table.cells import Source, parts_of
from genperf.table.clean import is_number, label, labels, mostly_numbers, number_in
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.names import (
    LEVELS,
    canonical_of,
    counted_noun,
    meant_by,
    named_in_part,
    plain_name,
    plural_of,
)

#: The name of a count that is given without one.
SCALE = "count"
#: Names of a scale that do not say what it counts.
_NAMELESS = any_of("headers.nameless")
#: Several values of a question: `8,16` or `16:128:*2`.
SEVERAL = re.compile(r"[\d.]+[kKMBT]?([,:][\d.*]+[kKMBT]?)+")
#: Between a value of a question and the nearest measured one: `1k` of 8 workers is seven, `13B` of 70 twenty-seven.
MOST_DOUBLINGS = 20.0
#: Signs of Markdown around a value.
MARKS = "`*_"


def column_named(name: str, columns: Collection[str], scale: str | None = None) -> str | None:
    """Return the column that a question means: by its header, however it is written, or by the field's name for it."""
    if name in columns:
        return name
    cores = words_of("headers.cores")
    spellings = (
        *(plain_name, lambda n: counted_noun(n).removesuffix("s"), canonical_of, plural_of),
        lambda n: cores[0] if counted_noun(n) in cores else None,
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


def column_holding(
    text: str,
    columns: Collection[str],
    find: Callable[[Collection[str]], str | None],
    levels: Callable[[str], Collection[str]],
) -> str | None:
    """Return the column that `find` gives of some; for a count not one that holds names: `gpus=32` beside `GPU`.

    `levels` gives the texts in a column, and nothing of a column of numbers.
    """
    column = find(columns)
    if column is None or amount(re.split("[,:]", text)[0]) is None or text in levels(column):
        return column

    of_names = {n for n in columns if levels(n) and all(amount(level) is None for level in levels(n))}
    return find([n for n in columns if n not in of_names]) if column in of_names else column


def count_in(name: str, text: str, source: Source) -> str:
    """Return the column of the count that the names in a column hold, where a number is asked of it.

    It is the only one, or the only one that means what the name of the column does: the devices of `gpu=n2g8`.
    """
    names = source.names.get(column_named(name, source.names) or "")
    made = [*names.columns.values()] if names is not None else []
    made = made if len(made) == 1 else [n for n in made if meant_by(n) == meant_by(name)]
    cells = re.split("[,:]", text)
    return made[0] if len(made) == 1 and made[0] in source.columns and is_number(cells[0]) else name


class Requested(Struct, frozen=True):
    """A question under the columns of a table or of a model."""

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
    absent, constant, wanted = list[str](), list[str](), ""
    for name in [n for n, text in at.items() if not is_number(text) and (n == SCALE or meant_by(n) == "workers")]:
        at, device = _machine_apart(at, name, source)
        absent += [device] if device else []
    out: dict[str, str] = {}
    for name, value_text in at.items():
        column, text, measured = _meant(name, value_text.strip(), source)
        if measured or column is None:
            wanted = wanted or measured
            absent += [] if measured else [name]
            continue
        if column in source.names and text not in labels(source.columns[column]):
            if whole_name := source.names[column].of(text) or source.names[column].of(text.strip(MARKS)):
                out |= {n: label(value) for n, value in whole_name.items() if n not in at and n in source.columns}
                continue
            column, text = _within_names(column, text, source)
        cells = {*labels(source.columns[column]).tolist()} if column in source.columns else set()
        levels, numeric = cells - {""}, mostly_numbers(list(cells))
        if numeric and text not in levels:
            text = number_text(text, [number_in(cell) for cell in levels])
        several = SEVERAL.fullmatch(text) is not None and text not in cells
        if several or column not in source.columns:
            out[column] = text
        elif len(levels) == 1 and len(source) > 1 and is_number(text) and canonical_of(column) is None:
            (only,) = levels
            constant += [] if number_in(only) == number_in(text) else [_always(column, only)]
        elif (
            # A name of a run that nearly each row has another of, beside settings that say which run is meant.
            text not in levels
            and (len(levels) > 0.7 * len(source) > 2 and not numeric)
            and (column not in source.names and len(at) > 1)
        ):
            absent.append(f"{name}={text}")
        elif out.setdefault(column, text) != text:
            what = f"'{name}={text}' and '{column}={out[column]}' name the same column"
            raise TableError(what, hint="give one of them, or the whole name of another column", where=source.name)
    if absent and not out and not constant:
        # Nothing of the question is known: the caller says what there is.
        return Requested({name: at[name] for name in absent if name in at}, wanted=wanted)
    notes = [f"asked, and found nowhere in the runs: {listed(absent)}"] if absent else []
    return Requested(out, (*notes, *constant), wanted)


def _meant(name: str, text: str, source: Source) -> tuple[str | None, str, str]:
    """Return the column of a name with its value, and the measured column that the value is a word of.

    The name itself is the column of a part of the machine that has none; None of what nothing in the table is.
    """
    column, measured = _place_of_value(name, text, source), ""
    is_word = number_text(text) == text and amount(text) is None
    if is_word and (column is None or mostly_numbers(labels(source.columns[column]).tolist())):
        # The column that holds a word, or has it as its name, is meant.
        (holding, text), measured = _cell_with(text, source), _column_of(text, source)
        column = holding or column
    if column is None and (name == SCALE or meant_by(name) in LEVELS or is_a_part(name, source.columns)):
        return name, text, measured
    if column in source.headers:
        # `1 x Pi | 2 x Pi`: the header names the values, and is asked for as the count.
        column = next((count for count in ("devices", "count") if count in source.columns), column)
    return column, text, measured


def _within_names(column: str, text: str, source: Source) -> tuple[str, str]:
    """Return the column of what a column of names that were taken apart holds, with its value.

    That of their words for `test=fsdp`, and that of their count for `instances=32` of `p4d.24xlarge x 8`.
    """
    (holding, cell), count = _cell_with(text, source), count_in(column, text, source)
    of_words = holding and holding == source.names[column].kind_column
    return (holding, cell) if of_words and count == column else (count, text)


def _always(name: str, only: str) -> str:
    """Return what a column of one value was in every run, where a question asks for another one."""
    return f"{name} was always {only}: nothing shows another one"


def of_model(panel: Panel, at: Mapping[str, str], groups: Mapping[str, Collection[str]] | None = None) -> Requested:
    """Return a question under the columns of a model, `groups` the levels of those that name its groups.

    A name that says what another column does is that column's, and a word of the measured column is no setting.
    """
    groups = groups or {}
    levels = {**{f.name: f.levels for f in panel.factors}, **{name: groups.get(name, ()) for name in panel.group}}
    ends = {f.name: (f.lower, f.upper) for f in panel.factors if f.numeric}
    out: dict[str, str] = {}
    constant: list[str] = []
    names_of: dict[str, str] = {}
    for given_name, text in at.items():
        name = panel.along().name if given_name == SCALE and SCALE not in levels else given_name
        column = column_holding(text, levels, partial(column_named, name), levels.__getitem__)
        # A word is no value of a column of numbers.
        is_word = amount(re.split("[,:]", text)[0]) is None and not levels.get(column or "")
        synonym = column_named(name, panel.synonyms) if column is None or is_word else None
        column = column or panel.meant(name)
        if synonym is None and column not in levels and _names_target(panel, column, text):
            continue
        if column in ends:
            text = number_text(text, ends[column])
        of_column = {column: _levels_of(text, levels.get(column, ()))}
        columns = of_column if synonym is None else _of_synonym(panel, synonym, text)
        if columns is None:
            constant.append(_always(str(synonym), *panel.synonyms[str(synonym)]))
            continue
        for meant_column, value in columns.items():
            if not _same(out.setdefault(meant_column, value), value):
                what = f"'{names_of[meant_column]}={out[meant_column]}' and '{name}={text}'"
                hint = "give one of them, or the whole name of another column"
                raise TableError(f"{what} name the same column", hint=hint)
            names_of[meant_column] = given_name
    return Requested(out, tuple(constant))


def _names_target(panel: Panel, name: str, text: str) -> bool:
    """Return whether a word beside a name that the model lacks is one of its measured column: `model=bert`."""
    target = panel.target
    measured = "" if target is None else target.throughput or target.column
    is_known = name in panel.inputs or is_a_part(name, [f.name for f in panel.factors])
    return not is_known and amount(text) is None and bool(words_in(text)) and words_in(text) <= words_in(measured)


def _levels_of(text: str, levels: Collection[str]) -> str:
    """Return a level, or several with commas between, as the runs write them: `TF` is `tf`; others as they are."""
    texts = [text] if text in levels else [value.strip() for value in text.split(",")]
    matched = []
    for value in texts if levels else ():
        alike = [level for level in levels if _same(level, value)]
        matched.append(alike[0] if len(alike) == 1 and value not in levels else value)
    return ",".join(matched) if levels else text


def _of_synonym(panel: Panel, synonym: str, text: str) -> dict[str, str] | None:
    """Return what cells of a column say under the columns of a model; None of a number that no run had."""
    cells = panel.synonyms[synonym]
    texts = [text] if text in cells else [value.strip() for value in text.split(",")]
    matching = [cell for value in texts for cell in cells if _same(cell, value)]
    if len(matching) < len(texts):
        if len(cells) == 1 and is_number(text):
            return None
        raise TableError(f"no run has {synonym}={text}", hint=f"one of {listed([*cells])}")
    return {column: ",".join(cells[cell][column] for cell in matching) for column in cells[matching[0]]}


def _same(cell: str, text: str) -> bool:
    """Return whether a cell is what a question gives, as a number or as a text."""
    return cell.strip().lower() == text.strip().lower() or (amount(cell) is not None and amount(cell) == amount(text))


def _machine_apart(at: Mapping[str, str], name: str, source: Source) -> tuple[Mapping[str, str], str]:
    """Return a question whose machine, `2x8xh100`, is its counts and the cell of its device; and a device of no run."""
    machine, rest = machine_in(at[name])
    if name == SCALE and not machine and (several := level_counted(at[name])) is not None:
        number, level = several
        return {**{n: text for n, text in at.items() if n != SCALE}, level: number}, ""
    if not machine or rest or _cell_with(at[name], source)[0]:
        return at, ""
    column, cell = _cell_with(machine["device"], source)
    if not column:
        # A device of no run, beside others that are named, is refused as `gpu=b200` is.
        named = {n: {*labels(cells).tolist()} for n, cells in source.columns.items() if cells.dtype.kind == "O"}
        of_devices = [n for n, cells in named.items() if all(map(device_in, cells))]
        column, cell = next(iter(of_devices), ""), machine["device"]
    counts = {"nodes": f"{machine['nodes']:g}"} if "nodes" in machine else {}
    counts |= {name: f"{machine['devices']:g}", **({column: cell} if column else {})}
    return {**at, **counts}, "" if column else machine["device"]


def _place_of_value(name: str, text: str, source: Source) -> str | None:
    """Return the column that a key means with its value."""
    if name in source.columns and text in labels(source.columns[name]):
        return name
    column = column_holding(
        text,
        source.columns,
        lambda some: place_of(
            name, replace(source, idle=(*source.idle, *(n for n in source.columns if n not in some)))
        ),
        lambda column: () if column in source.names else {*labels(source.columns[column]).tolist()},
    )
    return column or place_of(name, source)


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
    return named_in_part(name, columns, further=True)


def wanted_name(want: str, source: Source) -> str:
    """Return the column of a quantity that is wanted by another of its names; any other name as it is."""
    if plain_name(want) in map(plain_name, source.columns):
        return want
    return next((column for alias, column in source.aliases.items() if plain_name(alias) == plain_name(want)), want)


def number_text(text: str, measured: Collection[float] = ()) -> str:
    """Return the number in a value that has a word or a unit beside it, each of several; another value as it is.

    A multiple, `13B`, is written out or not as the values that were measured are.

    Examples
    --------
    >>> number_text("13B", [7.0, 70.0]), number_text("13b", [7e9, 70e9]), number_text("80 GB", [16.0, 32.0])
    ('13', '13000000000', '80')
    >>> number_text("7B,13B", [7.0]), number_text("1,024 MB"), number_text("8:64:*2"), number_text("13B")
    ('7,13', '1024', '8:64:*2', '13B')
    """
    plain = text.strip(MARKS)
    cell = parts_of(plain)
    if cell is None or ("," in cell.number and not cell.unit):
        several = plain.split(",")
        return plain if len(several) == 1 else ",".join(number_text(one, measured) for one in several)
    number, whole = cell.number.replace(",", ""), amount(plain) or amount(plain.upper())
    values = [value for value in measured if value > 0.0]
    if not cell.unit or whole is None or not values or not number_in(number) > 0.0:
        return number if amount(plain) is None else plain

    def is_far(text: str) -> bool:
        return min(abs(math.log2(float(text) / value)) for value in values) > MOST_DOUBLINGS

    written_out = f"{whole:.15g}"
    return min((number, written_out) if amount(plain) is None else (written_out, number), key=is_far)
