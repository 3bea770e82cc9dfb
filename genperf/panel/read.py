"""A source, its columns recognised or their roles and formulas given → a checked `Table`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.errors import GenperfError, Note, TableError, counted, known_name, listed
from genperf.formula import parse
from genperf.formula.amounts import amount
from genperf.networks import size_of_network
from genperf.panel.assemble import Columns, assemble
from genperf.panel.evidence import MONEY, role_by_words
from genperf.panel.large import LargeSource, read_large, worth_aggregating
from genperf.panel.legend import MOST_COMPARED, SCALE, Legend, NamedColumn, in_title
from genperf.panel.meanings import PROSE
from genperf.panel.options import OPTIONS, FailureRule, Roles, phase_columns
from genperf.panel.parts import with_parts
from genperf.panel.prices import with_prices
from genperf.panel.question import ABSENT, NAMELESS, Requested, in_columns, notes_of_absent, wanted_name
from genperf.panel.reading import SCALED, Reading, by_group, measured_roles, read_columns, wanted_column
from genperf.panel.table import Table
from genperf.peaks import device_in
from genperf.table.cells import Source, step
from genperf.table.clean import filled, is_number, label, labels, mostly_numbers, number_in, numbers
from genperf.table.facts import PATHS, is_result
from genperf.table.opened import understood
from genperf.table.shape import VALUE, number_in_names, variants_of, with_variants
from genperf.vocabulary import any_of, late, words_of
from genperf.vocabulary.headers import MONEY_IN_NAME, RELATIVE, STEP_WORDS, bandwidth_of, header_of, is_price
from genperf.vocabulary.names import (
    IN_TOKENS,
    LEVELS,
    STEPS,
    WAYS,
    WORK_OF_RUNS,
    canonical_of,
    column_named,
    column_of,
    counts_devices,
    is_relative,
    meant_by,
    noun_of,
    plain_name,
    words_in,
    words_in_full,
)


def legend_of(
    source: Source,
    derived: Collection[str] = (),
    mapping: Mapping[str, str] | None = None,
    kept: Collection[str] | None = None,
) -> Legend:
    """Return what a question may name of a table: its columns with their levels, `derived` ones, and names for them.

    `mapping` is canonical name → column. A model keeps the levels of the `kept` columns alone, beside those of names
    that were taken apart (`8xA100`) and of columns with one value; None keeps all.
    """
    columns = {name: _of_cells(labels(cells).tolist()) for name, cells in source.columns.items()}
    columns = {name: replace(entry, unit=source.units.get(name, "")) for name, entry in columns.items()}
    columns |= {name: NamedColumn(numeric=True) for name in derived if name not in columns}
    for name, taken in source.names.items():
        # Rows may have been left out since its names were taken apart.
        columns[name] = replace(columns[name], levels=tuple(sorted({*columns[name].levels, *taken.values})))
    if kept is not None:
        for name in columns.keys() - {*kept, *source.names}:
            if columns[name].distinct > 1:
                columns[name] = replace(columns[name], levels=(), values=())
    # Word beside a number → its column; the rest of a name has no word.
    names = {column: {**taken.columns, "": taken.kind_column} for column, taken in source.names.items()}
    mapped = {canonical: column for canonical, column in (mapping or {}).items() if column in columns}
    aliases = {**source.aliases, **mapped}
    # A file's name is a title as well.
    title = f"{source.caption} {Path(source.name).stem}".strip()
    return Legend(columns, len(source), aliases, tuple(source.headers), names, title=title)


def _of_cells(texts: list[str]) -> NamedColumn:
    """Return what a question can say of a column of cells."""
    levels, numeric = sorted({*texts} - {""}), mostly_numbers(texts)
    if not numeric:
        return NamedColumn(False, tuple(levels), len(levels))
    values, reasons = numbers(levels)
    levels_shown = levels if len(levels) < 2 else [levels[place] for place in reasons]
    ascending = [levels[place] for place in np.argsort(values, kind="stable")] if not reasons else []
    compared = tuple(ascending) if 1 < len(levels) <= MOST_COMPARED else ()
    ends = float(np.nanmin(values)), float(np.nanmax(values))
    return NamedColumn(True, tuple(levels_shown), len(levels), ends, compared)


def read_with_roles(
    source: Source | LargeSource, roles: Roles, mapping: Mapping[str, str], legend: Legend | None = None
) -> Table:
    """Read measurements, given which column plays which part; `legend`, what a question may name, stays with them.

    `mapping` has the columns that stand for the names of a formula. A large table is summarised while it is read, and
    has no legend.
    """
    roles.checked()  # refuses a column in two roles
    table = read_large(source, roles) if isinstance(source, LargeSource) else _read(source, roles, mapping, legend)
    batch = column_of("global_batch", [*(f.name for f in table.factors), *table.group])
    if batch is not None and IN_TOKENS.search(batch) and table.panel.step.known == "columns":
        table = replace(table, target=replace(table.target, counted="tokens"))
    table = (_with_further_quantities(table, source, roles) if roles.further else table).mapped(mapping)
    machine = table.panel.machine
    if table.panel.step.of_one_a_node:
        text = f"'{machine.part_name('batch')}' is that of a device, and nothing shows how many devices a node has"
        table = table.noted(Note(f"{text}; --let gpus_per_node=8 says it", "work_grows"))
    if machine.samples_of_one is None:
        return table
    batch, count = (
        machine.part_name("global_batch"),
        machine.part_name("workers" if machine.counts_devices else "nodes"),
    )
    grew = f"the {batch} grew with the {count} in the runs, and is taken to grow in proportion beyond them"
    return table.noted(Note(f"{grew}; --at {batch}=N fixes it", "work_grows"))


def _read(source: Source, roles: Roles, mapping: Mapping[str, str], legend: Legend | None) -> Table:
    """Read the rows of a source with the unit that stands in the measured cells, `12 ms`, and what a rate counts."""
    measured = roles.measurement
    column, kind = ("", "") if measured is None else (measured.column, measured.kind)
    unit, main = source.units.get(column, ""), roles
    # What the unit says in the cells is what it says in a header.
    in_cells = header_of(f"x ({unit})")
    if unit and kind == "quantity" and measured is not None and not measured.unit:
        main = roles.of_measured({"quantity": f"{column}:{unit}"})
    elif unit and kind == "time" and in_cells.kind != "time":
        what = f"the cells of '{column}' are in {unit}, which is no unit of time"
        raise TableError(what, hint=f"--quantity '{column}:{unit}'", where=source.name)
    table = assemble(source, main, mapping, legend)
    counted_work: str | None = None
    if kind == "throughput" and not header_of(column).counted:
        # A rate counts what its header names, or else its cells; `1.9x` is a multiple of another rate.
        counted_work = RELATIVE if unit == "x" else in_cells.counted
    elif kind == "time" and column in roles.derived:
        # A time that is made from a rate, `batch/img_per_s`, counts what the rate does.
        rates = [header_of(made_from) for made_from in parse(roles.derived[column]).names]
        amounts = [h.counted for h in rates if h.kind == "rate" and h.counted not in STEP_WORDS]
        if amounts and (amounts[0] != "tokens" or table.panel.find("sequence") is not None):
            counted_work = amounts[0]
    return table if counted_work is None else replace(table, target=replace(table.target, counted=counted_work))


def _with_further_quantities(table: Table, source: Source | LargeSource, roles: Roles) -> Table:
    """Return a table with its further quantities: each a table of the rows in which it was measured."""
    main, notes, tables = roles.measurement, list[Note](), dict[str, Table]()
    for name, measured in roles.further.items():
        # The factors are the same, and there is no work of a step.
        options = {"quantity": f"{measured.column}:{measured.unit}", "name": measured.name, "work": "", "scaling": ""}
        of_quantity = roles.of_measured(options)
        if isinstance(source, LargeSource):
            tables[name] = read_large(source, replace(of_quantity, skip_bad_rows=True))
        else:
            rows = source
            if measured.column in source.columns:  # else the reader names the columns there are
                columns = [main.column] if main else []
                failed, _, _ = roles.failures.endings(source.cells, len(source), columns, source.name)
                has_value = filled(source.columns[measured.column]) & ~failed
                if not has_value.any():
                    what = f"column '{measured.column}' holds no value of a run that succeeded"
                    raise TableError(what, where=source.name, hint="--also")
                rows = replace(source.take(np.flatnonzero(has_value)), ragged=())
            tables[name] = assemble(rows, replace(of_quantity, failures=FailureRule()))
        if tables[name].rows < table.rows:
            text = f"{name} was measured in {tables[name].rows:,} of {counted(table.rows, 'row')}"
            notes.append(Note(text, "further_measured"))
    further = {name: replace(t, failures=t.failures.iloc[:0], reading=()) for name, t in tables.items()}
    columns_of_further = {measured.column for measured in roles.further.values()}
    unused = tuple(name for name in table.unused if name not in columns_of_further)
    return replace(table, further=further, notes=(*table.notes, *notes), unused=unused)


def _row_named(want: str, legend: Legend) -> dict[str, str]:
    """Return the only cell that has the name of a wanted quantity, {"metric": "throughput"}; else {}.

    A table with a row for each quantity has such cells; where a header has the name or the kind, a column is wanted.
    """
    kind, plain = header_of(want).kind, plain_name(want)
    if any(plain in plain_name(n) or (kind and header_of(n).kind == kind) for n in legend.columns):
        return {}
    texts = {n: column.levels for n, column in legend.columns.items() if not column.numeric}
    cells = [(n, text) for n, levels in texts.items() for text in levels if plain_name(text) == plain]
    return dict(cells) if len(cells) == 1 else {}


def _scaled_as(source: Source, at: Mapping[str, str]) -> Source:
    """Return only the runs that were scaled as a question says, `scaling=weak`, where a table has several kinds."""
    for key, text in at.items():
        wanted = text.strip().lower()
        if not SCALED.fullmatch(wanted) or (column := column_named(key, source.cells)) is None:
            continue
        kinds = [kind.strip().lower() for kind in labels(source.cells[column]).tolist()]
        has_kind = np.array([kind == wanted for kind in kinds], dtype=bool)
        if has_kind.any() and not has_kind.all() and all(map(SCALED.fullmatch, kinds)):
            left_out = step(f"{counted(int((~has_kind).sum()), 'row')} left out that are not of {column}={text}")
            source = replace(source.take(np.flatnonzero(has_kind)), steps=(*source.steps, left_out))
    return source


def _with_utilised(roles: Roles, requested: Requested, columns: Collection[str]) -> tuple[Roles, Requested]:
    """Return roles and a question for an MFU, `of 7B on h100`, with the network and the device that its words name.

    No run says another one: both are absent from the columns, the cells and the title.
    """
    has_size = column_of("parameters", columns) is not None
    networks = {} if has_size else {w: size for w in requested.absent if (size := size_of_network(w)) is not None}
    devices = [word for word in requested.absent if device_in(word) is not None]
    if len(networks) > 1 or len(devices) > 1:
        return roles, requested
    nouns = words_of("one_run.network") if networks else ()
    absent = [w for w in requested.absent if w not in (*networks, *devices) and w.lower() not in nouns]
    notes = [note for note in requested.notes if not note.startswith(ABSENT)]
    peak = requested.options["peak"] or next(iter(devices), "")
    requested = replace(requested, absent=tuple(absent), notes=(*notes_of_absent(absent), *notes))
    derived = {"parameters": f"{next(iter(networks.values())):.15g}"} if networks else {}
    roles = replace(roles, derived={**derived, **roles.derived})
    return roles, replace(requested, options={**requested.options, "peak": peak})


def _with_node_size(roles: Roles, columns: Collection[str], node_size: Mapping[str, str]) -> Roles:
    """Return roles with a question's devices per node, where rates are of each device and only nodes are counted."""
    meanings = {*map(meant_by, columns)}
    rates_of_devices = any(header.shared and header.level == "workers" for header in map(header_of, columns))
    counts_nodes_alone = "nodes" in meanings and meanings.isdisjoint({"workers", "devices_per_node", *WAYS})
    is_open = rates_of_devices and counts_nodes_alone
    return replace(roles, derived={**node_size, **roles.derived}) if is_open else roles


#: `best`, `fastest`: one of several is asked for.
_SUPERLATIVE = late(any_of("headers.superlative"))
#: Words of a question that a table of times or of money answers: `how long`, `price of`.
_ASKS = {
    "time": late(rf"(?i)(?<!\w){any_of('requested.time', 'requested.job', 'requested.epoch', 'requested.step')}(?!\w)"),
    "money": late(rf"(?i)(?<!\w){any_of('requested.cost')}(?!\w)"),
}


class Recognised(Struct, frozen=True, eq=False, dict=True):
    """A table and what its columns mean: by the options that were given, or else recognised by headers and cells."""

    source: Source
    #: Roles and how rows are read, where they were given.
    given: Roles = field(default_factory=Roles)
    mapping: Mapping[str, str] = field(default_factory=dict)
    #: The configuration and the quantity of a question: its columns are settings.
    at: Mapping[str, str] = field(default_factory=dict)
    want: str | None = None
    tokens: bool = False  #: Whether a number of tokens is asked about.
    paid: str = ""  #: The column of prices that the question names.
    notes: tuple[str, ...] = ()  #: What of the question is not heeded.
    options: Mapping[str, str] = field(default_factory=dict)  #: The options among the words of the question.
    alone: bool = False  #: Whether the table may be of a single run.
    #: The files of a table that is summarised while it is read; `source` has its first rows.
    files: LargeSource | None = None

    @cached_property
    def reading(self) -> Reading:
        """What each column is; a question of how long so many tokens take reads the measured rate of tokens."""
        columns = Columns(self.source, Roles(derived=self.given.derived))
        if absent := next((named for named in self.given.named if named[0] not in columns.names), None):
            raise columns.missing(*absent)
        further = {measured.column for measured in self.given.further.values()}
        cells = {**self.source.columns, **{name: columns.number(name) for name in columns.derived}}
        cells = {name: values for name, values in cells.items() if name not in further}
        names = {column: taken.made for column, taken in self.source.names.items()}
        units, alone = self.source.units, self.alone
        read = partial(read_columns, cells, self.given, self.mapping, self.at, units=units, alone=alone, names=names)
        reading = read(want=self.want)
        measured = (reading.columns[name] for name in reading.quantities if name in reading.columns)
        rate = next((column.name for column in measured if column.header.counted.endswith("tokens")), None)
        if not self.tokens or self.want is not None or rate in (None, *reading.quantities[:1]):
            return reading
        # Where tokens were measured, how long many of them take follows from these and no length of a sequence.
        return read(want=rate)

    @property
    def line(self) -> str:
        """How the table was read, as options that can be copied."""
        return f"read as: {self.reading.options}"

    def table_named_by(self, at: Mapping[str, str], want: str | None = None) -> Recognised:
        """Return the source's table that has most of the names and texts of a question and of the given roles."""
        asks = {of for of, pattern in _ASKS.items() if pattern.search(at.get(SCALE, ""))}

        def count_named(source: Source) -> int:
            """Count the names and texts of the question that a table has, in its columns or in its title."""
            columns, wanted = source.columns, {header_of(want or "").kind, *asks} - {""}
            measured = [*columns, *map("x ({})".format, source.units.values())]
            kinds = {header_of(name).kind for name in measured} | (
                {"money"} if any(MONEY_IN_NAME.fullmatch(n.lower()) for n in measured) else set()
            )
            words = [(word, word) for word in at.get(SCALE, "").split()]
            counts = [
                (word, number) for number, word in re.findall(r"(\d+)(?![kKMBG]\b) ?([^\W\d_]+)", at.get(SCALE, ""))
            ]
            counts += re.findall(r"([^\W\d_]+)(?: of)? (\d+)(?!\S)", at.get(SCALE, ""))
            named_in_at = [*at.items(), *([*words, *counts] if len(words) > 1 else [])]
            # `devices` count GPUs, and `10s` is a cell of a column in seconds.
            columns_by_meaning = {meant_by(name): name for name in columns if meant_by(name) in LEVELS}
            columns_by_meaning |= {unit: name for name, unit in reversed([*source.units.items()])}
            of_at = [
                (
                    column_named(name, columns) or columns_by_meaning.get(meant_by(name) or name),
                    text,
                    re.split("[,:]", text)[0],
                )
                for name, text in named_in_at
            ]
            # Columns that a name means and that hold its text, or the first of a list; columns by name; texts in the
            # title; what is wanted by its kind, and by its words.
            matches = [
                c is not None and (is_number(start) or not {text, start}.isdisjoint(labels(columns[c]).tolist()))
                for c, text, start in of_at
            ]
            # A number that was measured comes before one that was not.
            matches += [c is not None and text in labels(columns[c]).tolist() for c, text, _ in of_at]
            matches += [column in columns for column in (*at, *self.given.columns)]
            matches += [c is not None for c, word, _ in of_at[len(at) :]]
            matches += [in_title(text, source.caption) for _, text in named_in_at]
            matches += [not wanted.isdisjoint(kinds)]
            matches += [want is not None and any(plain_name(want) in plain_name(c) for c in columns)]
            in_headers = {word for column in columns for word in words_in_full(column)}
            matches += [words_in_full(word) <= in_headers for word, _ in words if not PROSE.fullmatch(word)]
            # `Llama 2 7B fine-tuning`, a cell of several words, is as much as these.
            cells = {
                text for column in columns.values() if column.dtype.kind == "O" for text in labels(column).tolist()
            }
            in_cells = (
                len(text.split())
                for text in cells
                if " " in text and f" {text.lower()} " in f" {at.get(SCALE, '').lower()} "
            )
            return sum(matches) + sum(in_cells)

        further = [understood(table, named=self.given.columns) for table in self.source.tables]
        # A table that became long has results without names.
        of_runs = [
            t
            for t in further
            if t.headers or any(is_result(n, t.units.get(n, "")) or is_relative(n) for n in t.columns)
        ]
        tables = [self.source, *of_runs]
        source = max(tables, key=count_named)
        if source is self.source:
            return self
        left_out = step(f"of {len(tables)} tables that of {listed([*source.cells], 6)} is read: the question names it")
        return replace(self, source=replace(source, steps=(*source.steps, left_out)))

    def counted_in_names(self, at: Mapping[str, str]) -> Recognised:
        """Return runs with a column of the count that a question names, read from their names: `run_8` at 16 gpus.

        They have it where no column counts devices or nodes, or where a letter in the names leaves open what it counts.
        """
        source, counted_words = self.source, re.findall(r"\d ?([^\W\d_]+)", at.get(SCALE, ""))
        names = [name for name in (*at, *counted_words) if meant_by(name) in LEVELS]
        called = {*map(meant_by, (*source.columns, *source.aliases))}
        has_count = not called.isdisjoint((*LEVELS, *WAYS))
        for column in (column for column in PATHS if names and column in source.columns):
            counts = None if has_count else number_in_names(labels(source.columns[column]).tolist())
            if counts is not None:
                read = {**source.read, names[0]: np.array(counts, dtype=object)}
                what = f"'{names[0]}' read from the names in '{column}': the question says what they count"
                note = step(f"{counted(len(counts), 'cell')}: {what}")
                taken = {name: of_name for name, of_name in source.names.items() if name != column}
                source = replace(source.without({column}), read=read, names=taken, steps=(*source.steps, note))
                return replace(self, source=source)
            # `run_N16-bs64`: of several numbers in names one counts, and the question says what.
            apart = source.names.get(column)
            words = {} if apart is None or meant_by(names[0]) in called else apart.columns
            of_counts = [w for w, c in words.items() if w.lower() in words_of("headers.letter_of_workers") and c == w]
            if apart is not None and len(of_counts) == 1:
                renamed = {word: names[0] if word in of_counts else c for word, c in words.items()}
                what = f"'{of_counts[0]}' in the names of '{column}' counts {names[0]}: the question says so"
                taken = {**source.names, column: replace(apart, columns=renamed)}
                return replace(self, source=source.renamed({of_counts[0]: names[0]}).changed(what, names=taken))
        return self

    def with_compared_headers(self, question: str) -> Recognised:
        """Return wide columns of one unit as rows of a `variant`, where a question names two or asks for the best."""
        words = [] if self.given.columns else re.findall(r"[^\s,?]+", question.lower())
        superlatives = [k for k, word in enumerate(words) if _SUPERLATIVE.fullmatch(word)]
        superlatives += [words.index(word) for word in words_of("headers.comparative") if {"which", word} <= {*words}]
        columns = self.source.columns
        # `best batch`, and the best of what a column names, ask for something else.
        asks_another = any(column_named(word, columns) for k in superlatives for word in words[k + 1 : k + 2])
        of_kinds = any(
            cells.dtype.kind == "O" and not mostly_numbers(labels(cells).tolist())
            for name, cells in columns.items()
            if name not in self.source.names
        )
        if asks_another or of_kinds or phase_columns(columns) or not (variants := variants_of(columns)):
            return self
        # The `mxnet` of `MXNet 1.9` names it.
        keys = [{word for word in key.lower().split() if not is_number(word)} for key in next(iter(variants.values()))]
        named = [key for key in keys if key and key <= {*words}]
        # `H100` means both of `2023-11 H100 tok/s` and `2024-02 H100 tok/s`, and no `2023-11 A100 tok/s`.
        of_headers = {n: {*n.lower().split()} for of_value in variants.values() for n in of_value.values()}
        shared = {word for word in words if not header_of(word).kind and any(word in of for of in of_headers.values())}
        meant = [name for name, of_header in of_headers.items() if shared and shared <= of_header]
        # `how much faster is after`, than before.
        is_other = bool(named) and not {*words}.isdisjoint(words_of("headers.comparative"))
        if not (superlatives or is_other) and len(named) < 2 and len(meant) < 2:
            return self
        columns = {n: cells for n, cells in columns.items() if n not in of_headers or n in meant or len(meant) < 2}
        # The words that all of them have are those of a title.
        caption = " ".join(filter(None, (self.source.caption, *variants)))
        return replace(self, source=with_variants(replace(self.source, cells=columns, read={}, caption=caption)))

    def for_question(self, at: Mapping[str, str], want: str | None = None) -> Recognised:
        """Return the table as a question reads it: its values `at` by column, and the column that it wants.

        Of several tables it is the one that the question names most; of weak and strong runs, those it asks about. An
        empty `want` wants nothing, whatever the words say.
        """
        opened = self.table_named_by(at, want) if self.source.tables else self
        opened = opened if self.given.columns else opened.counted_in_names(at)
        if not at and want is None:
            return opened
        wants_nothing = want == ""
        want, at = opened.source.in_rows(want, at) if want else (want, at)
        columns = opened.source.columns
        node_size = {name: text for name, text in at.items() if meant_by(name) == "devices_per_node"}
        roles = _with_node_size(self.given, columns, node_size) if node_size else self.given
        legend = legend_of(opened.source, roles.derived, self.mapping)
        # Below `metric` may stand `throughput`: then what is wanted is a row, and no column.
        row = _row_named(want, legend) if want else {}
        requested = in_columns(legend, {**row, **at})
        if "peak" in requested.options and requested.absent:
            roles, requested = _with_utilised(roles, requested, columns)
        units, cells = opened.source.units, opened.source
        is_nameless = "/" in (want or "") and VALUE in columns and header_of(f"x ({want})").kind
        if is_nameless and not any(is_result(n, units.get(n, "")) for n in columns):
            taken = step(f"'{VALUE}' is taken for {want}: nothing but the question says what it is")
            cells = replace(cells, units={**units, VALUE: str(want)}, steps=(*cells.steps, taken))
        paid = requested.wanted if is_price(requested.wanted) else ""
        requested = replace(requested, wanted="") if paid else requested
        options = dict(requested.options)
        of_words, scaling = options.pop("want", None), options.pop("scaling", "")
        if lets := options.pop("let", ""):
            roles = replace(roles, derived={**dict(let.split("=") for let in lets.split(", ")), **roles.derived})
        if scaling and not (roles.scaling or any(header_of(name).kind == "rate" for name in columns)):
            # Of a rate the efficiency is the same by either kind.
            roles = replace(roles, scaling=scaling)
        want = (of_words if want is None else want) or None
        if "why" in options and plain_name(requested.names.get(requested.wanted, "")) != plain_name(requested.wanted):
            # The `data` of `is data loading the bottleneck` wants no column of a time.
            requested = replace(requested, wanted="")
        column = requested.wanted or (None if want is None or row else wanted_name(want, legend))
        column = None if wants_nothing else column
        is_scaled = any(SCALED.fullmatch(text.strip().lower()) for text in requested.at.values())
        source = _scaled_as(cells, requested.at) if is_scaled and not self.given.columns else cells
        tokens = self.tokens or "tokens" in options
        opened = replace(opened, source=source, given=roles, tokens=tokens, options=options)
        notes = _notes_beside(requested.wanted, requested) if requested.wanted else requested.notes
        opened = replace(opened, at=requested.at, want=column, notes=notes, paid=paid)
        nameless = [n for n in columns if NAMELESS.fullmatch(plain_name(n))]
        scale = (opened.reading.scale or "") if nameless and not self.given.columns else ""
        # Of `n=512 on 8 gpus` the column is a size.
        may_count = scale in {*nameless} - {*requested.at} and opened.legend.may_count_workers(scale)
        if may_count and all(map(str.isdecimal, labels(self.source.cells.get(scale, columns[scale])).tolist())):
            # A scale without a telling name counts what the question does, for the belief in growth as well.
            devices = filter(counts_devices, re.findall(r"[^\W\d_]+", " ".join(at.values())))
            counted = next((n for n in (*requested.at, *devices) if meant_by(n) in LEVELS and n not in columns), "")
            if counted and counted not in roles.derived:
                counting = self.source.changed(f"'{scale}' is taken to count {counted}")
                derived = {**self.given.derived, counted: f"`{scale}`"}
                return replace(self, source=counting, given=replace(self.given, derived=derived)).for_question(at, want)
        # `90 epochs` of a column `epochs` or `epoch`
        spelled = {n: {plain_name(n), f"{plain_name(n)}s"} for n in requested.at}
        if done := [n for n, names in spelled.items() if any(any(map(of.fullmatch, names)) for of in WORK_OF_RUNS)]:
            opened = opened.with_work_of_plan(done)
        of_question = {*options.get("requested", "").split(", ")} if column is None and not wants_nothing else set()
        if {"step", "time", "job"} & of_question:
            opened = opened.with_time_before_others("job" in of_question and {"samples", "tokens"}.isdisjoint(options))
        # `batch=64` gives a value, and wants none.
        words = [name for name in requested.absent if at.get(name, name) == name]
        may_want = column is None and not wants_nothing and words
        return opened.with_want_among(requested, words) if may_want else opened

    def with_work_of_plan(self, names: Sequence[str]) -> Recognised:
        """Return the question with the work of a plan: so many steps, epochs or tokens that one of some columns counts.

        It is work where what was measured is divided by it.
        """
        of_plan = {"samples", "tokens"} & self.options.keys()
        table = replace(self, alone=len(self.source) == 1)
        divisors, measured = table.reading.divisors, table.reading.with_role("measured")
        # Beside a rate of all it is asked how long so many `Tokens seen` take; `seq` is a setting.
        has_rate = any(c.kind == "rate" and not c.header.shared for c in measured)
        of_runs = {n for n in names if has_rate and canonical_of(n) is None and "_" in plain_name(n)}
        # `epoch` numbers those of each run, whose times are of one.
        others = {n: text for n, text in self.at.items() if n not in names}
        timed = frozenset().union(*(words_in(c.name) for c in measured if c.kind == "time"))
        timed |= STEP_WORDS if any({c.header.of, c.header.counted} & STEP_WORDS for c in measured) else set()
        numbering = {*replace(table, at=others).reading.names_in_role("repeat")} & {*names}
        of_runs |= {n for n in numbering if plain_name(n).removesuffix("s") in timed}
        amounts = {n: amount(self.at[n]) for n in names if n in divisors or n in of_runs}
        counted = [(n, number) for n, number in amounts.items() if number is not None]
        if len(counted) != 1 or of_plan:
            return self
        ((name, number),) = counted
        if name not in divisors:
            self = replace(self, at={n: text for n, text in self.at.items() if n != name})
        counts_steps = any(map(STEPS.fullmatch, (plain_name(name), f"{plain_name(name)}s")))
        text = f"{number:.15g} steps" if counts_steps else f"{number:.15g}"
        return replace(self, options={**self.options, "tokens" if IN_TOKENS.search(name) else "samples": text})

    def with_time_before_others(self, of_job: bool) -> Recognised:
        """Return the question with a measured time as what it wants: of a job, or where another quantity is first."""
        with suppress(TableError):
            columns = [self.reading.columns[name] for name in self.reading.quantities]
            if whole := [c.name for c in columns if of_job and c.kind == "time" and self.reading.is_of_job(c.name)]:
                return replace(self, want=whole[0])
            if columns and columns[0].kind not in ("time", "rate"):
                return replace(self, want=next((c.name for c in columns if c.kind == "time"), None))
        return self

    def with_want_among(self, requested: Requested, absent: Sequence[str]) -> Recognised:
        """Return the question with the measured column that its absent words name: the `memory` of `8 gpus memory`."""
        if "why" in self.options:
            # What makes a step slow is asked of its whole time.
            return self
        quantities = self.reading.quantities
        if "step" in self.options.get("requested", "").split(", "):
            # What a whole job takes is no `time per step`.
            quantities = tuple(name for name in quantities if not self.reading.is_of_job(name))

        def column_of(phrase: str) -> str:
            """Return the measured column of a phrase; empty for none, and where there is only one to want."""
            with suppress(TableError):
                if phrase and len(quantities) > 1:
                    return wanted_column(self.reading, quantities, phrase)
            return ""

        by_word = {word: column_of(word) for word in absent}
        spelled = [column for word, column in by_word.items() if column and words_in(word) <= words_in(column)]
        # All words together come first, `p95 latency`, then one that a header spells, then one of its kind.
        by_phrase = "" if len(absent) < 2 or len({*spelled}) == 1 else column_of(" ".join(absent))
        column = next((c for c in (by_phrase, *spelled, *by_word.values()) if c in quantities), "")
        if not column:
            return self
        uses_all_words = column == by_phrase and column not in by_word.values()
        return replace(self, want=column, notes=_notes_beside(column, requested, uses_all_words))

    @cached_property
    def legend(self) -> Legend:
        """What a question may name: the columns, with the scale, those that repeat others, and names for a level."""
        reading, used, synonyms = self.reading, self.reading.roles.columns, self.reading.synonyms
        # A setting in no role says what others do, or the same in every run.
        repeating = [
            n for n in reading.names_in_role("setting", "kind", "consequence", "constant", "made") if n not in used
        ]
        derived, kept = [*self.given.derived, *reading.derived], {*used, *repeating, *synonyms}
        legend = legend_of(self.source, derived, self.mapping, kept)
        legend = replace(legend, scale=reading.scale or "", repeating=tuple(repeating), synonyms=synonyms)
        if any(MONEY in column.reasons for column in reading.columns.values()):
            legend = with_prices(legend, reading, self.source.units, self.paid)
        if len(reading.with_role("measured", "phase")) < 2:
            return legend
        # Where a part is wanted, it is that of a step all the same.
        return with_parts(legend, reading if self.want is None else replace(self, want=None).reading)

    def table(self) -> Table:
        """Return the checked table."""
        if self.given.whole:
            legend = legend_of(self.source, self.given.derived, self.mapping, self.given.columns)
            if any(role_by_words(name) == ("ratio", MONEY) for name in self.source.columns):
                with suppress(GenperfError):
                    legend = with_prices(legend, self.reading, self.source.units)
            if phase_columns(self.source.columns) and {*self.given.columns} <= {*self.source.columns}:
                with suppress(GenperfError):
                    legend = with_parts(legend, self.reading)
            return read_with_roles(self.files or self.source, self.given, self.mapping, legend)
        roles = replace(self.roles(), skip_bad_rows=True)
        return read_with_roles(self.files or self.source, roles, self.reading.mapping, self.legend)

    def roles(self, quantity: str | None = None) -> Roles:
        """Return the roles with a measured column, the likeliest where omitted."""
        reading, roles, derived = self.reading, self.reading.roles, self.reading.derived
        if quantity not in (None, *reading.quantities[:1]):
            options, further_roles = measured_roles(reading, str(quantity), reading.scale, self.given)
            roles = replace(roles, work=self.given.work, scaling=self.given.scaling).of_measured(options)
            roles = by_group(reading, roles, str(quantity))
            derived = {name: text for name, text in derived.items() if name == reading.scale} | further_roles
        work = roles.work if "throughput" in roles.measured else ""
        return replace(roles, work=work, derived={**self.given.derived, **derived})


#: A column of the devices that each replica, worker or the like has: `gpus_per_worker`, `gpusPerReplica`.
_DEVICES_OF_EACH = late(
    rf"(?i)(?<![^\W_]){any_of('cells.devices')}[ _]?(?:{any_of('headers.per')}|/)[ _]?"
    rf"(?P<holder>{any_of('headers.holder')})s?$"
)


def recognised(
    table: str | Path | pd.DataFrame | Source,
    given: Mapping[str, Any] | None = None,
    mapping: Mapping[str, str] | None = None,
    at: Mapping[str, str] | None = None,
    tokens: bool = False,
) -> Recognised:
    """Read the cells of a table of any shape, whose columns are to be recognised for a question; given options win."""
    options = given or {}
    for name in options:
        known_name("option of a table", name, OPTIONS, TableError)
    roles, delimiter, aggregate = Roles.of(options), options.get("delimiter") or None, options.get("aggregate")
    path = str(table) if isinstance(table, str | Path) and str(table) != "-" else ""
    if aggregate and not path:
        raise TableError("only files are aggregated while they are read", hint="name a file or a pattern")
    if aggregate or (aggregate is None and path and worth_aggregating(path)):
        large = LargeSource(path, delimiter)
        return Recognised(large.sample(), roles, mapping or {}, at or {}, tokens=tokens, files=large)
    units = {roles.measured["time"]: roles.measured["unit"]} if {"time", "unit"} <= {*roles.measured} else None
    named = roles.columns - {*roles.derived}
    if named:
        named = named.union(*(parse(text).names for text in roles.derived.values()))
    source = understood(table, delimiter, named, units)
    for name in () if named else [name for name in source.columns if meant_by(name) in LEVELS]:
        is_zero = np.array([text in ("0", "0.0") for text in labels(source.columns[name]).tolist()], dtype=bool)
        if 0 < 2 * is_zero.sum() < len(source):
            left_out = step(f"{counted(int(is_zero.sum()), 'row')} left out of no {name}: no law of the scale has them")
            source = replace(source.take(np.flatnonzero(~is_zero)), steps=(*source.steps, left_out))
    source = source if named else _with_all_nodes(source)
    of_each = [name for name in source.columns if _DEVICES_OF_EACH.search(name)] if not (named or mapping) else []
    mapping = _held_by_each(source, of_each) if of_each else mapping or {}
    return Recognised(source, roles, mapping, tokens=tokens).for_question(at or {})


def _held_by_each(source: Source, of_each: Sequence[str]) -> dict[str, str]:
    """Return replicas or workers as nodes, where a column says that each has several devices: `gpus_per_replica`."""
    nouns = {noun_of(n).lower().rsplit(".", 1)[-1].removesuffix("s"): n for n in source.columns if n not in of_each}
    for name in of_each:
        match, cells = _DEVICES_OF_EACH.search(name), labels(source.columns[name]).tolist()
        holder = nouns.get(match["holder"].lower()) if match is not None else None
        if holder is not None and mostly_numbers(cells) and min(map(number_in, cells)) > 1.0:
            return {"nodes": holder, "devices_per_node": name}
    return {}


def _with_all_nodes(source: Source) -> Source:
    """Return cells whose empty nodes follow from the devices, where all other rows have as many devices on a node."""
    name, counting = (column_of(meaning, source.columns) for meaning in ("nodes", "workers"))
    if name is None or counting is None or (is_given := filled(source.columns[name])).all():
        return source
    nodes, devices = (numbers(labels(source.columns[column]).tolist())[0] for column in (name, counting))
    sizes = {*(devices / nodes)[nodes > 1.0].tolist()}
    if len(sizes) != 1 or np.isnan([*nodes[is_given], *devices, *sizes]).any():
        return source
    (size,) = sizes
    follow = np.where(is_given, nodes, np.where(devices <= size, 1.0, devices / size))
    if (follow % 1.0).any():
        return source
    report = f"{name} of {counted(int(np.sum(~is_given)), 'row')} follow from {size:g} {counting} on each"
    return source.changed(report, read={**source.read, name: np.array([*map(label, follow)], dtype=object)})


def read_table(source: str | Path | pd.DataFrame, *, mapping: Mapping[str, str] | None = None, **roles: Any) -> Table:
    """Read measurements; the roles of the columns are recognised where no measured column and factor are named.

    Parameters
    ----------
    source : path or DataFrame
        Of any shape: delimited text, also compressed; Parquet; a pattern of such files (`logs/*.csv`); "-" for standard
        input; or a DataFrame.
    time : str, optional
        The column of times, in seconds or in `unit`.
    throughput, work : str, optional
        Instead of `time`: the column of speeds (samples/s) and a formula for the work of a step (samples). The time
        is then work / throughput, in a column "time". Without `work` it is a column of a global batch, or one worker's
        batch (one sample where no column has it) times the workers; a note of kind "work" says which. The predicted
        throughput does not depend on the unit of the work.
    scaling : {"weak", "strong", "job", "group"}, optional
        Whether the work of one worker or that of all stays as the workers grow, where no column and no `work` shows it;
        "group": all share it in the groups whose times fall.
    quantity : str, optional
        Instead of `time`: the column of another positive quantity, as `"memory_gb"` or with its unit as
        `"memory_gb:GB"`. Its values stay as they are, and predictions have its name.
    unit : str, optional
        With `time`, what the column is in: s, ms, us (µs), ns, min or h. Its values become seconds under the same name,
        and a note of kind "unit" says so; formulas and filters read the column as it stands in the source. With
        `quantity`, its unit.
    intrinsic, extrinsic, categorical : str or sequence of str
        The factors: properties of the program, how it is run, and names without an order. "a,b" or ["a", "b"].
    group : str or sequence of str
        Columns that split the table; they may be factors as well.
    weight : str, optional
        A column of weights ≥ 0.
    repeat : str, optional
        The column that numbers the repeats of a configuration.
    let : mapping of str to str, or "name=formula" or a sequence of such
        Derived columns, in order; a later one may use an earlier one.
    where : str, optional
        A comparison: only the rows for which it holds are used, and only they are checked.
    skip_bad_rows : bool
        Leave out the rows that cannot be used, and record them in `Table.rejected`, instead of raising. Where the roles
        are recognised they are left out, and a note says so.
    delimiter : str, optional
        Recognised where omitted. One character, or "tab", "space", "comma", "semicolon", "pipe".
    aggregate : bool, optional
        Count and summarise the rows of each configuration while they are read, in bounded memory: an
        `AggregatedTable`. Where omitted, files of more than 64 MB together are.
    status : str, optional
        A column that says how each run ended. A run failed where it, or the measured column, says so: OOM, out of
        memory, failed, killed, timeout, … Its settings are kept in `Table.failures`.
    failed : "COLUMN=VALUE,…", sequence of such or mapping, optional
        The values of runs that failed, in place of the usual words.
    also : "NAME=COLUMN:UNIT", sequence of such or mapping, optional
        Further positive quantities with the same factors, such as `"memory=peak_gb:GB"`: each is a table in
        `Table.further`, of the rows in which it was measured.
    mapping : mapping of str to str, optional
        Field's name → column, such as `{"workers": "p"}`.

    Raises
    ------
    TableError
        Where nothing was measured, nothing is scaled, or an option is unknown; naming file, line, column and value,
        with what to try.
    FormulaError
        If a formula is refused, with a caret under the place.

    Examples
    --------
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "images/s": [410.2, 792.5, 1530.0]})
    >>> read_table(runs)
    <Table DataFrame: 3 rows, 3 configurations; time 'time' 0.002438 to 0.002614 s>
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4], "batch": [32, 32, 32], "images_per_s": [320.0, 600.0, 1100.0]})
    >>> roles = {"extrinsic": "gpus", "let": "total=batch*gpus"}
    >>> table = read_table(runs, throughput="images_per_s", work="batch*gpus", **roles)
    >>> table.target.column, table.measured.round(4)
    ('time', array([0.1   , 0.1067, 0.1164]))
    >>> runs = pd.DataFrame({"batch": [8, 16, 32], "seconds": [1.0, 1.9, "CUDA out of memory"]})
    >>> read_table(runs, time="seconds", intrinsic="batch").failures
       batch
    0   32.0
    """
    return recognised(source, roles, mapping).table()


def table_of(source: Table | str | Path | pd.DataFrame, at: Mapping[str, Any] | None = None) -> Table:
    """Return a table as it is, or read with its columns recognised; rows that cannot be read are left out."""
    if isinstance(source, Table):
        return source
    texts = {name: str(value) for name, value in (at or {}).items()}
    return recognised(source, {"skip_bad_rows": True}, at=texts).table()


def _notes_beside(column: str, requested: Requested, uses_all_words: bool = False) -> tuple[str, ...]:
    """Return the notes of a question without the words that mean the wanted column: its own, and those of its kind."""
    first_of_others = len(notes_of_absent(requested.absent))
    kind = header_of(column).kind
    of_kind = {word for word in requested.absent if kind and header_of(word).kind == kind}
    of_kind |= {word for word in requested.absent if bandwidth_of(column) and word.lower() == "bandwidth"}
    others = [
        word for word in requested.absent if not (word in of_kind or words_in_full(word) <= words_in_full(column))
    ]
    return (*notes_of_absent([] if uses_all_words else others), *requested.notes[first_of_others:])
