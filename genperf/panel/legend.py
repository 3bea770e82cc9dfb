"""The legend of a table: what a question may name of it, gathered when it is read and kept with the models of it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import cached_property
from typing import Any

from msgspec import Struct

from genperf.facts import StepPart
from genperf.formula.amounts import amount
from genperf.panel.machine import is_a_part
from genperf.table.cells import Factor, parts_of
from genperf.table.clean import is_number, label, number_in
from genperf.table.shape import NO_KIND, taken_apart
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import (
    LEVELS,
    column_named,
    column_of,
    level_with,
    meant_by,
    named_in_part,
    plain_name,
    words_in,
)

#: The name of a count that is given without one.
SCALE = "count"
#: Workers of the smallest run, at most: a column that begins above it holds sizes.
MOST_WORKERS = 1_000_000
#: Values of one column that a question compares, at most.
MOST_COMPARED = 8
#: Between a value of a question and the nearest measured one: `1k` of 8 workers is seven, `13B` of 70 twenty-seven.
MOST_DOUBLINGS = 20.0
#: Signs of Markdown around a value.
MARKS = "`*_"


class NamedColumn(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a question can say of one column."""

    numeric: bool = False  #: Whether most of its cells are numbers.
    #: Its different cells; of numbers those that are none, and the only one of a column that never changes.
    levels: tuple[str, ...] = ()
    distinct: int = 0  #: How many different cells it has.
    ends: tuple[float, ...] = ()  #: The least and the largest of its numbers.
    values: tuple[str, ...] = ()  #: Its numbers, ascending, where they are so few that a question may compare them.
    unit: str = ""  #: That of its cells, `3.1 kW`.


class RunPrice(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What runs cost, by a column of money per hour."""

    text: str  #: As a user gives it: `3.06$/h`.
    per: str | None = None  #: The column that counts what is paid for; the workers where None.
    levels: dict[str, str] = {}  #: The levels of the group columns of these runs; none where all runs have one price.


class Legend(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    """What a question may name of a table, and what each name means."""

    #: The columns of the source, and those that are computed from them.
    columns: dict[str, NamedColumn] = {}
    rows: int = 0
    aliases: dict[str, str] = {}  #: Other names of columns: those that had the same cells.
    #: Columns whose header names the values in them, as `1 x Pi | 2 x Pi`; a count stands for it.
    headers: tuple[str, ...] = ()
    #: Column of names that were taken apart → word → the column that holds its numbers; of no word that of the rest.
    names: dict[str, dict[str, str]] = {}
    scale: str = ""  #: The column along which the runs are scaled, once it is known.
    #: Columns in no role that say what others do, so that an answer need not heed them.
    repeating: tuple[str, ...] = ()
    #: Column in no role → cell → what it says under factors and groups: the same names by another header.
    synonyms: dict[str, dict[str, dict[str, str]]] = {}
    title: str = ""  #: The title above the table.
    #: The column of the prices, and the prices of the groups.
    price_column: str = ""
    prices: tuple[RunPrice, ...] = ()
    parts: tuple[StepPart, ...] = ()  #: The measured parts of a step, those of each group after another.

    @cached_property
    def constants(self) -> dict[str, str]:
        """The columns that were the same in all runs, with the only cell of each."""
        return {n: entry.levels[0] for n, entry in self.columns.items() if entry.distinct == 1 and entry.levels}

    @cached_property
    def is_of_steps(self) -> bool:
        """Whether columns have rates or times of steps, and none those of work that all workers share."""
        headers = [header_of(name) for name in self.columns]
        of_jobs = any(header.kind == "time" and header.of == "job" for header in headers)
        return not of_jobs and any(h.kind == "rate" or (h.kind, h.of) == ("time", "step") for h in headers)

    @cached_property
    def of_names(self) -> frozenset[str]:
        """The columns of texts, none of which is an amount, that hold no numbers."""
        texts = {n: column.levels for n, column in self.columns.items() if n not in self.names and not column.numeric}
        return frozenset(n for n, levels in texts.items() if levels and all(amount(level) is None for level in levels))

    def is_in_all_names(self, word: str) -> bool:
        """Tell whether every cell of a column of names has a word: the `A100` of `1xA100`, `2xA100`."""
        pattern = re.compile(rf"(?i)(?:(?<![^\W_])|(?<=\d)x|(?<=\dx)){re.escape(word)}(?![^\W_])")
        levels = (self.columns[name].levels for name in self.names if name in self.columns)
        return len(word) > 2 and any(of_name and all(map(pattern.search, of_name)) for of_name in levels)

    @cached_property
    def nameless_counts(self) -> tuple[str, ...]:
        """Those of several columns without a header, `column1`, that may count workers; the last was measured."""
        numeric = [n for n, column in self.columns.items() if column.numeric and column.distinct > 1]
        *others, _ = [n for n in numeric if re.fullmatch(r"column\d+", n)] or [""]
        return tuple(n for n in others if self.may_count_workers(n))

    def may_count_workers(self, column: str) -> bool:
        """Tell whether the numbers of a column may be those of workers: whole ones, and few in the smallest run."""
        ends = self.columns[column].ends if column in self.columns else ()
        return ends[:1] <= (MOST_WORKERS,) and all(end % 1.0 == 0.0 for end in ends)

    def cells_of_name(self, column: str, name: str) -> dict[str, str]:
        """Return what a name in a column of names says, {"pipe": "8"} of `pipe-8`; {} where it holds no such names."""
        words, levels = self.names[column], [*self.columns[column].levels]
        taken = taken_apart(column, levels)
        numbers: dict[str, Any] = {} if taken is None else taken.of(name)
        kind = "" if taken is None else taken.kind_column
        return {words["" if word == kind else word]: label(value) or NO_KIND for word, value in numbers.items()}


def column_of_setting(legend: Legend, name: str, text: str) -> str | None:
    """Return the column that a name means with its value: with a number, `gpus=32`, one of texts, `GPU`, comes last."""
    columns = legend.columns
    if name in columns and text in columns[name].levels:
        return name
    column = column_by_name(legend, name, columns)
    levels = columns[column].levels if column is not None else ()
    # `80GB` is `A100 80GB`; of a column of texts numbers, or a list such as `8,16`, which begins with one, are no cell.
    is_level = text in levels or (not is_number(text) and bool(level_with(text, levels)))
    if column not in legend.of_names or is_level or amount(re.split("[,:]", text)[0]) is None:
        return column
    # Of a number no name is the column, where a count is meant: `8 gpus` beside `gpu`, that of their kinds.
    counted = column_by_name(legend, name, [n for n in columns if n not in legend.of_names])
    return counted or (None if meant_by(name) in LEVELS else column)


def column_by_name(legend: Legend, name: str, columns: Collection[str]) -> str | None:
    """Return which of some columns a name means: by the column's name, an alias, or its words; None for none of them.

    A count of devices that was the same in all runs, as `n_gpu`, always 1, gives way to the only one that varied.
    """
    named = column_named(name, columns)
    counts_nodes = named is not None and named == legend.aliases.get("nodes") and meant_by(name) == "workers"
    if counts_nodes and plain_name(name) not in plain_name(str(named)):
        return None  # `gpus` are not the `num_workers` that have several each
    # Of one run nothing varies: every column counts as varied.
    varied = [n for n, entry in legend.columns.items() if entry.distinct > 1 or legend.rows < 2]
    if named is not None and meant_by(name) in LEVELS and plain_name(name) not in plain_name(named).split("_"):
        # `workers` are the `dataloader_workers` beside `gpus`.
        numeric = [n for n in varied if n in columns and n in legend.columns and legend.columns[n].numeric]
        ending = [n for n in numeric if plain_name(n).split("_")[1:][-1:] == [plain_name(name)]]
        named = ending[0] if len(ending) == 1 and meant_by(ending[0]) is None else named
    if named is not None:
        spelled = {**{column: column for column in columns}, **legend.aliases} if named not in varied else {}
        counts = {column for text, column in spelled.items() if meant_by(text) == meant_by(name) == "workers"}
        counting = [column for column in varied if column in counts]
        return counting[0] if len(counting) == 1 else named
    for alias, column in legend.aliases.items():
        if column in columns and column_named(name, [alias]) is not None:
            return column
    if plain_name(name).rstrip("s") == "server" and (nodes := column_of("nodes", columns)) is not None:
        # Runs that count no servers call their nodes so.
        return nodes
    # `devices` alone is never found inside `devices_per_node`, and a number alone, the scale, not in `param_count`.
    return None if name == SCALE or is_a_part(name, columns) else named_in_part(name, columns, further=True)


def cell_with(legend: Legend, text: str) -> tuple[str, str]:
    """Return the only column with a word as a cell or in one, `h100` in `NVIDIA H100`, and the cell; else ""."""
    levels = {name: entry.levels for name, entry in legend.columns.items()}
    equal = [name for name, cells in levels.items() if text.lower() in (cell.lower() for cell in cells)]
    if equal:
        return (equal[0] if len(equal) == 1 else "", text)
    within = [(name, cell) for name, cells in levels.items() if (cell := level_with(text, cells))]
    # A cell and the name of a run from which it was taken, `vit_b16-`, say the same.
    is_one = len({frozenset(words_in(cell)) for _, cell in within}) == 1
    return min(within, key=lambda pair: len(pair[1])) if is_one else ("", text)


def same(cell: str, text: str) -> bool:
    """Return whether a cell is what a question gives, as a number or as a text."""
    return cell.strip().lower() == text.strip().lower() or (amount(cell) is not None and amount(cell) == amount(text))


def newest_first(level: str) -> tuple[int, str]:
    """Return a key by which levels are sorted: dates the latest one first, others by their names.

    >>> sorted(["2026-01-31", "2026-03-01"], key=newest_first), sorted(["b", "a"], key=newest_first)
    (['2026-03-01', '2026-01-31'], ['a', 'b'])
    """
    date = re.match(r"(\d{4})-(\d\d)(?:-(\d\d))?(?!\d)", level)
    return (-int("".join(date.groups("00"))) if date else 0), level


def in_title(text: str, title: str) -> bool:
    """Return whether a title has the words of a text: `bert` of `BERT-Large, 512 tokens`; numbers tell nothing."""
    return amount(text) is None and level_with(text, [title]) != ""


def legend_of_factors(factors: Collection[Factor], groups: Collection[str]) -> Legend:
    """Return the legend of factors and groups, where that of their table is not known."""
    columns = dict.fromkeys(groups, NamedColumn(distinct=2))
    for f in factors:
        levels = f.levels or ((label(f.lower),) if f.distinct == 1 else ())
        columns[f.name] = NamedColumn(f.numeric, levels, f.distinct, (f.lower, f.upper) if f.numeric else ())
    # As of two rows, so that groups and factors may vary.
    return Legend(columns, rows=2)


def number_text(text: str, measured: Collection[float] = (), multiple: float = 1.0) -> str:
    """Return the number in a value that has a word or a unit beside it, each of several; another value as it is.

    A multiple, `13B`, is written out or not as the values that were measured are, in the `multiple` of a column's name.

    >>> number_text("13B", [7.0, 70.0]), number_text("~13b", [7e9, 70e9]), number_text("80 GB", [16.0, 32.0])
    ('13', '13000000000', '80')
    >>> number_text("32k", [8192.0, 65536.0]), number_text("32k", [8000.0, 65536.0])
    ('32768', '32000')
    >>> number_text("1B", [10.0, 200.0], 1e6), number_text("10", [10.0, 200.0], 1e6)
    ('1000', '10')
    >>> number_text("7B,13B", [7.0]), number_text("1,024 MB"), number_text("8:64:*2"), number_text("13B")
    ('7,13', '1024', '8:64:*2', '13B')
    """
    plain = text.strip(MARKS).lstrip("~≈")
    cell = parts_of(plain)
    if cell is None or ("," in cell.number and not cell.unit):
        several = plain.split(",")
        return plain if len(several) == 1 else ",".join(number_text(item, measured, multiple) for item in several)
    number, in_full = cell.number.replace(",", ""), amount(plain) or amount(plain.upper())
    values = [value for value in measured if value > 0.0]
    if multiple > 1.0 and cell.unit and in_full is not None and amount(plain) is not None:
        return f"{in_full / multiple:.15g}"
    if cell.unit.lower() == "k" and values and not any(value % 1024.0 for value in values):
        # `32k` of lengths such as 32768.
        return f"{1024.0 * number_in(number):.15g}"
    if not cell.unit or in_full is None or not values or not number_in(number) > 0.0:
        return number if amount(plain) is None else plain

    def is_far(text: str) -> bool:
        """Tell whether a number is far from all that were measured; of two alike the first is taken."""
        return min(abs(math.log2(float(text) / value)) for value in values) > MOST_DOUBLINGS

    written_out = f"{in_full:.15g}"
    return min((number, written_out) if amount(plain) is None else (written_out, number), key=is_far)
