"""The question, read by the same rules as a row: its keys are matched to columns by words, its values taken apart."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from genperf.errors import listed
from genperf.formula.amounts import amount
from genperf.panel.machine import is_a_part
from genperf.panel.reading import column_named
from genperf.table.cells import Source
from genperf.table.clean import is_number, label, labels, mostly_numbers, number_in
from genperf.table.parsed import parts_of
from genperf.vocabulary.names import canonical_of, meant_by, plain_name

#: Signs of Markdown around a value.
_MARKS = re.compile(r"[`*_]*(.*?)[`*_]*")


@dataclass(frozen=True)
class Requested:
    """A question under the columns of a table."""

    at: Mapping[str, str]
    #: What is asked and stands in no column.
    absent: tuple[str, ...] = ()
    #: What is asked of columns that never varied, and is not what they were.
    constant: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What the answer does not heed."""
        notes = [f"asked, and found nowhere in the runs: {listed(self.absent)}"] if self.absent else []
        return notes + [f"{n} was always {value}: nothing shows another one" for n, value in self.constant.items()]


def as_row(source: Source, at: Mapping[str, str]) -> Requested:
    """Return a question under the columns of a table, whose names were taken apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table.opened import understood
    >>> runs = understood(pd.DataFrame({"run": ["pipe-1", "pipe-2", "pipe-4"], "lr": 8, "s": [9.1, 5.2, 3.3]}))
    >>> requested = as_row(runs, {"run": "pipe-8", "lr": "`16`", "colour": "red"})
    >>> requested.at, requested.notes
    ({'pipe': '8'}, ['asked, and found nowhere in the runs: colour', 'lr was always 8: nothing shows another one'])
    """
    out: dict[str, str] = {}
    absent: list[str] = []
    constant: dict[str, str] = {}
    for name, value_text in at.items():
        text = value_text.strip()
        column = place_of(name, source)
        if column is None and is_a_part(name, source.columns):
            out[name] = text
            continue
        if column is None:
            absent.append(name)
            continue
        if column in source.headers and "count" in source.columns:
            column = "count"  # `1 x Pi | 2 x Pi`: the header names the values, and is asked for as the count
        cells = labels(source.columns[column])
        if text not in cells and column in source.names:
            numbers = source.names[column].of(text) or source.names[column].of(plain_value(text))
            if numbers:
                out |= {
                    part: label(value) for part, value in numbers.items() if part not in at and part in source.columns
                }
                continue
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
        out[column] = text
    if absent and not out and not constant:
        # Nothing of the question is known: the caller says what there is.
        return Requested({name: at[name] for name in absent if name in at})
    return Requested(out, tuple(absent), constant)


def place_of(name: str, source: Source) -> str | None:
    """Return the column that a key of a question means: by its name, an alias, or its words."""
    columns = source.columns
    known = column_named(name, columns)
    if known is not None and not _never_varied(source, known):
        return known
    if known is not None:
        # `n_gpu` was 1 in every run; what varied counts the same.
        spelled = {**dict.fromkeys(columns), **source.aliases}
        counts = {spelled[one] or one for one in spelled if meant_by(one) == meant_by(name) == "workers"}
        varied = [one for one in counts if one in columns and not _never_varied(source, one)]
        return varied[0] if len(varied) == 1 else known
    for alias, column in source.aliases.items():
        if column in columns and column_named(name, {alias: ()}) is not None:
            return column
    if is_a_part(name, columns):
        # The devices are no devices of a node, however alike the words.
        return None
    wanted = _words(name)
    near = [
        column
        for column in columns
        if wanted and (wanted <= _words(column) or _words(column) <= wanted) and _words(column)
    ]
    return near[0] if len(near) == 1 else None


def _never_varied(source: Source, column: str) -> bool:
    return len(source) > 1 and len({*labels(source.columns[column])} - {""}) < 2


def wanted_name(want: str, source: Source) -> str:
    """Return the column of a quantity that is wanted by another of its names; any other name as it is."""
    if plain_name(want) in map(plain_name, source.columns):
        return want
    return next((column for alias, column in source.aliases.items() if plain_name(alias) == plain_name(want)), want)


def _words(name: str) -> frozenset[str]:
    return frozenset(
        word for word in re.split(r"[\W_]+", plain_name(name)) if word and word not in ("num", "of", "number")
    )


def plain_value(text: str) -> str:
    """Return a value without the signs of Markdown around it."""
    match = _MARKS.fullmatch(text)
    return match[1] if match is not None else text


def number_text(text: str) -> str:
    """Return the number in a value that has a word or a unit beside it; another value as it is.

    Examples
    --------
    >>> number_text("8 x"), number_text("8卡"), number_text("30B"), number_text("A100")
    ('8', '8', '30B', 'A100')
    """
    plain = plain_value(text)
    if amount(plain) is not None:
        return plain
    cell_parts = parts_of(plain)
    return cell_parts.number.replace(",", "") if cell_parts is not None else plain
