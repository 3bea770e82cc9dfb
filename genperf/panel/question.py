"""A question under the columns of a table or of a model, in two steps.

`in_columns` finds the column and the cell that each name and value mean, by the `Legend` of the table. `in_factors`
takes these to the factors, the groups and the parts of the machine of a model. A table is asked by the first before its
columns get their roles, and a model that is fitted to it by the second; a model alone by both, with the legend that it
keeps.

What nothing shows is noted beside what is known, and makes the answer blind; alone, or spelled nearly as a column, it
is refused.
"""

import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from genperf.errors import TableError, did_you_mean, listed, misspelt, suggest
from genperf.formula.amounts import amount, plain_amounts
from genperf.panel.evidence import role_by_words
from genperf.panel.legend import (
    MARKS,
    SCALE,
    Legend,
    NamedColumn,
    cell_with,
    column_by_name,
    column_of_setting,
    in_title,
    legend_of_factors,
    number_text,
    same,
)
from genperf.panel.machine import BATCHES, PARTS, PLACES, USUAL_DEVICES, is_a_part
from genperf.panel.meanings import singular_words
from genperf.panel.panel import Panel, several_nodes
from genperf.panel.phrases import settings_in_words
from genperf.panel.words import GRID, machine_in, wanted_in_words
from genperf.peaks import device_in
from genperf.table.clean import is_number, label
from genperf.table.shape import NO_KIND, TITLES
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import header_of, multiple_in
from genperf.vocabulary.names import (
    LEVELS,
    WORK_OF_RUNS,
    canonical_of,
    column_of,
    command_about,
    counted_noun,
    counts_cores,
    level_with,
    meant_by,
    plain_name,
    words_in,
    words_in_full,
)

#: How a note begins of what stands in no column.
ABSENT = "asked, and found nowhere in the runs"
#: Names of a scale that do not say what it counts.
NAMELESS = re.compile(any_of("headers.nameless"))
#: Columns whose values have a name nowhere: those of titles, and of keys that are numbers.
_UNTOLD = (TITLES, "section", "count")
#: Names of the processes of a node: `nodes,ppn`.
_OF_A_NODE = frozenset(words_of("headers.processes_of_a_node"))
#: Several values of a question: `8,16` or `16:128:*2`.
SEVERAL = re.compile(r"[\d.]+[kKMBT]?([,:][\d.*]+[kKMBT]?)+")
#: The sides of a torus or a mesh of devices: `4x8x8`.
_SIDES = re.compile(r"[1-9]\d*(?:[x×*][1-9]\d*){2,}")
#: Different cells per row above which a column of texts names the runs. A guess.
NAMES_OF_RUNS = 0.7
#: Different values per row up to which a column of numbers without a unit is a setting. A guess.
REPEATED = 0.5


class Requested(Struct, frozen=True):
    """A question under the columns of a table or of a model."""

    at: Mapping[str, str]
    #: What the answer does not heed: what stands in no column, or differs from what a column was in every run.
    notes: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  #: Names and words that stand in no column, of which the first of the notes may be.
    wanted: str = ""  #: The column that a word of the question names: `model=bert` of a column a network.
    names: Mapping[str, str] = field(default_factory=dict)  #: Column → what the question calls it.
    #: The options that stand among the words of the question: {"tokens": "1T"}.
    options: Mapping[str, str] = field(default_factory=dict)

    def of_settings(self) -> Self:
        """Return a question without options among its words; one with options is refused."""
        options = {name: text for name, text in self.options.items() if name != "requested"}
        if options:
            texts = (f"--{name} {shlex.quote(text)}" if text else f"--{name}" for name, text in options.items())
            what = f"no setting of a run: {listed([*options])}"
            raise TableError(what, hint=f"{' '.join(texts)}, where the command has it; ask takes it in words")
        return self


class _Cells(Struct):
    """The settings of a question: column → text and column → its name in the question; and what they leave out."""

    at: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    #: Names and words that stand in no column, and notes on columns that had another value in every run.
    absent: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, column: str, text: str, name: str) -> None:
        """Set the text of a column, which the question calls `name`; refuse a second text for it."""
        earlier, called = self.at.setdefault(column, text), self.names.setdefault(column, name)
        if earlier != text and not same(earlier, text):
            what = f"'{called}={earlier}' and '{name}={text}' name the same column"
            raise TableError(what, hint="give one of them, or the whole name of another column")


def question(panel: Panel, at: Mapping[str, str], groups: Mapping[str, Collection[str]] | None = None) -> Requested:
    """Return a question under the columns of a model, `groups` the levels of those that name its groups."""
    legend = legend_in(panel, groups or {})
    return in_factors(panel, in_columns(legend, at), legend)


# --- under the columns of a table -------------------------------------------------------------------------------------


def in_columns(legend: Legend, at: Mapping[str, str]) -> Requested:
    """Return a question under the columns of a table: settings by column, notes on what no run has, what is wanted.

    >>> from genperf.panel.read import legend_of
    >>> from genperf.table.opened import understood
    >>> runs = understood(pd.DataFrame({"run": ["pipe-1", "pipe-2", "pipe-4"], "lr": 8, "s": [9.1, 5.2, 3.3]}))
    >>> requested = in_columns(legend_of(runs), {"run": "pipe-8", "lr": "`16`", "colour": "red"})
    >>> requested.at, requested.notes
    ({'pipe': '8'}, ('asked, and found nowhere in the runs: colour', 'lr was always 8: nothing shows another one'))
    """
    options, settings, wanted = dict[str, str](), _Cells(), ""
    for name in [n for n in at if n.lower() in words_of("headers.letter_of_workers") and n not in legend.columns]:
        # The `n=32` of runs that count workers is their scale.
        at = {SCALE if n == name and SCALE not in at else n: text for n, text in at.items()}
    if not all(map(is_number, at.values())) or any(name.startswith("--") for name in at):
        at, nameless, options = settings_in_words(legend, at)
        at, settings.absent = _split_machines(legend, at)
        settings.absent += _absent_kinds_and_names(legend, at, nameless, "why" in options)
    for name, value in at.items():
        column, text, measured = _column_of_setting(legend, name, value.strip())
        if measured:
            # `micro batch` without a value is left open.
            has_unit = bool(header_of(measured).kind or role_by_words(measured))
            repeats = legend.columns[measured].distinct <= REPEATED * legend.rows
            if meant_by(measured) is None and (has_unit or not repeats):
                wanted = wanted or measured
                settings.names.setdefault(measured, name)
        elif column is not None:
            _add_setting(legend, settings, name, column, text, at)
        elif "tokens" in options and meant_by(name) == "sequence" and (length := amount(text)) is not None:
            # `1T tokens, seq 4096` of runs that do not say how long a sample is.
            options["let"] = ", ".join(filter(None, (options.get("let"), f"seq_length={length:.15g}")))
        elif _is_batch_of_steps(legend, name) and (size := amount(text)) is not None:
            # `batch 32 per gpu` of runs that say how long a step is alone.
            options["let"] = ", ".join(filter(None, (options.get("let"), f"batch_per_gpu={size:.15g}")))
        elif not in_title(text, legend.title):
            settings.absent.append(name)
    batch = column_of("batch", legend.columns) if column_of("global_batch", legend.columns) else None
    is_open = plain_name(settings.names.get(batch or "", "")) in words_of("columns.batch_of_any")
    for name in [n for n in settings.at if meant_by(n) == "global_batch" or (n == batch and is_open)]:
        _ask_batch_of_device(legend, settings, name)
    scaling = options.get("scaling", "")
    is_heeded = _ask_kept_batch(legend, settings, _KEPT.get(scaling, scaling)) if scaling else False
    if is_heeded or scaling in _KEPT:
        # Where the runs have no batch of all, one that is kept is found nowhere.
        settings.absent += [] if is_heeded else [scaling.replace("_", " ")]
        options = {name: text for name, text in options.items() if name != "scaling"}
    absent = _unexplained(legend, settings, at) if settings.absent else []
    # A rate, `samples/second`, is answered, and the unit of `10 Gbit/s` says no more than its number.
    rates = sorted({word for word in absent if "/" in word and header_of(word).kind == "rate"})
    absent = [w for w in absent if w not in rates and (not w.endswith("/s") or w[0].isdigit())]
    # `requested`: whether the runs count such a thing is told beside the answer.
    requested = ", ".join(filter(None, (options.get("requested", ""), *rates)))
    options |= {"requested": requested} if requested else {}
    cells = [cell for entry in legend.columns.values() for cell in entry.levels]
    for word in [name for name in absent if at.get(name) == name and misspelt(name, cells)]:
        raise TableError(f"no run has '{word}'", hint=did_you_mean(word, cells))
    # Where nothing of the question is known all is refused: it keeps its names, which the next step finds nowhere.
    is_known = bool(settings.at or settings.notes or "why" in options)
    spelled = {*legend.columns, *map(counted_noun, legend.columns)}
    # `Perlmutter` of `Perlmutter time (s)` is part of a name, and not misspelt.
    of_names = {word for name in legend.columns for word in words_in(name)}
    refusing = [n for n in absent if not is_known or (misspelt(n, spelled) and n.lower() not in of_names)]
    refused = {name: at[name] for name in refusing if name in at}
    absent = [] if refused else absent
    notes = (*(notes_of_absent(absent) if absent else ()), *settings.notes)
    return Requested(settings.at | refused, notes, tuple(absent), wanted, settings.names, options)


def _absent_kinds_and_names(
    legend: Legend, at: Collection[str], nameless: Sequence[str], asks_why: bool
) -> Iterator[str]:
    """Yield names with another kind of device than the runs', `16 TPUs` of GPUs, and names without a value or column.

    A count or a kind without a value stays open, and so does any column where `asks_why`: it may limit the runs.
    """
    kinds = {*words_of("headers.kinds")}
    kinds_of_runs = kinds & frozenset().union(*map(singular_words, legend.columns))
    yield from (name for name in (*at, *nameless) if kinds_of_runs and kinds & singular_words(name) - kinds_of_runs)
    for name in nameless:
        # `on h100` is of another device, unless the title names it.
        is_count = meant_by(name) in LEVELS and device_in(name) is None
        stays_open = is_count or name in legend.of_names
        if not stays_open and (asks_why or counts_cores(name)):
            stays_open = bool(column_by_name(legend, name, legend.columns))
        if not stays_open and not in_title(name, legend.title) and not legend.is_in_all_names(name):
            yield name


def _add_setting(legend: Legend, settings: _Cells, name: str, column: str, text: str, at: Mapping[str, str]) -> None:
    """Add a setting `name=text` of a question in the cells of its column, or of those that a name of runs holds."""
    column, text = _count_of_grid(legend, column, text) if _SIDES.fullmatch(text) else (column, text)
    in_cells = _cells_in_name(legend, column, text, at) if column in legend.names else [(column, text)]
    for cell_column, cell in in_cells:
        entry = legend.columns.get(cell_column, NamedColumn())
        is_amount = entry.numeric and not is_number(cell) and cell not in entry.levels
        plain = number_text(cell, entry.ends, multiple_in(cell_column)) if is_amount else cell
        is_list = SEVERAL.fullmatch(plain) is not None and plain not in entry.levels
        is_constant = entry.distinct == 1 and legend.rows > 1 and canonical_of(cell_column) is None
        # A job of other work is so much longer.
        is_constant &= not any(of.fullmatch(plain_name(cell_column)) for of in WORK_OF_RUNS)
        # Of three rows or more nearly each has a name of its own, beside settings that say which is meant.
        is_name = not entry.numeric and cell_column not in legend.names
        names_runs = is_name and legend.rows > 2 and entry.distinct > NAMES_OF_RUNS * legend.rows
        if not is_list and is_constant and is_number(plain):
            settings.notes += _note_of_value(cell_column, plain, entry)
        elif not is_list and len(at) > 1 and names_runs and plain not in entry.levels:
            settings.absent.append(f"{name}={plain}")
        else:
            settings.add(cell_column, plain, name)


def _unexplained(legend: Legend, settings: _Cells, at: Mapping[str, str]) -> list[str]:
    """Return the absent names and words, but for single words that a chosen cell or its column holds.

    The `Llama` of a cell that `7B` chose, `Llama-2-7B`, says nothing more, nor the `loader` of `dataloader_workers`.
    """
    entries = ((legend.columns.get(column, NamedColumn()), text) for column, text in settings.at.items())
    chosen = [words_in(level_with(text, entry.levels) or text) for entry, text in entries if not entry.numeric]
    in_headers = {of for column in settings.at for of in words_in(column)}

    def is_held(word: str) -> bool:
        ends_header = len(word) > 3 and any(of.endswith(word.lower()) for of in in_headers)
        return ends_header or any(words_in(word) <= cell for cell in chosen)

    return [name for name in settings.absent if at.get(name) != name or not is_held(name)]


def notes_of_absent(absent: Collection[str]) -> tuple[str, ...]:
    """Return a note of what stands in no column."""
    command = command_about(" ".join(absent))
    behind = f" (genperf {command} may say it)" if command else ""
    return (f"{ABSENT}: {listed([*absent])}{behind}",) if absent else ()


def _count_of_grid(legend: Legend, column: str, text: str) -> tuple[str, str]:
    """Return the column of the devices and their number for a grid, `4x8x8`, where the runs have such grids."""
    count, levels = column_of("workers", legend.columns) or "", legend.columns.get(column, NamedColumn()).levels
    if not (count and levels and all(map(_SIDES.fullmatch, levels))):
        return column, text
    requested, *measured = (math.prod(map(int, re.split("[x×*]", grid))) for grid in (text, *levels))
    is_count = legend.columns[count].ends == (min(measured), max(measured))
    return (count, str(requested)) if is_count else (column, text)


def _is_batch_of_steps(legend: Legend, name: str) -> bool:
    """Tell whether a name is that of the batch of a device, where times of steps were measured and nothing of work."""
    is_of_device = meant_by(name) == "batch" and plain_name(name) not in words_of("columns.batch_of_any")
    headers = [*map(header_of, legend.columns)]
    has_steps = any((h.kind, h.of) == ("time", "step") for h in headers) and all(h.kind != "rate" for h in headers)
    return is_of_device and has_steps and {*BATCHES}.isdisjoint(map(meant_by, legend.columns))


def _ask_batch_of_device(legend: Legend, settings: _Cells, global_batch: str) -> None:
    """Replace the global batch of a question by that of one device, where the runs had such a batch."""
    batch, count = column_of("batch", legend.columns), column_of("workers", settings.at)
    passes = column_of("micro_batches", legend.columns)
    if batch is None or (batch in settings.at and batch != global_batch) or count is None or passes is not None:
        return
    samples, devices = amount(settings.at[global_batch]), amount(settings.at[count])
    of_one = samples / devices if samples and devices else math.nan
    # A column that names groups has levels in place of ends.
    measured = legend.columns[batch].ends or [amount(level) or 0.0 for level in legend.columns[batch].levels]
    # `batch 1024` is that of all where no device had so large a one.
    is_of_all = batch != global_batch or (samples or 0.0) > max(measured, default=math.inf)
    if is_of_all and min(measured, default=math.inf) <= of_one <= max(measured, default=0.0):
        del settings.at[global_batch]
        settings.add(batch, label(of_one), settings.names[global_batch])


#: The batch that a question keeps → the scaling that keeps it.
_KEPT = {"global_batch": "strong", "batch": "weak"}
#: What makes the devices of a run together.
_MACHINE = ("nodes", "devices_per_node")


def _ask_kept_batch(legend: Legend, settings: _Cells, scaling: str) -> bool:
    """Add the global batch that a question keeps, and the runs did not; tell whether the runs have such a batch.

    `strong scaling` keeps that of the largest runs, where it varied; `weak scaling` that of one worker of these, where
    all runs had one global batch.
    """
    batch = column_of("global_batch", legend.columns)
    if batch is None or batch in settings.at:
        return False
    entry, count = legend.columns[batch], next(filter(None, (column_of(n, settings.at) for n in LEVELS)), "")
    requested, largest = amount(settings.at.get(count, "")), legend.columns.get(count, NamedColumn()).ends[-1:]
    machine = [legend.columns[n].ends[-1:] for n in (column_of(of, legend.columns) for of in _MACHINE) if n]
    if not largest and meant_by(count) == "workers" and len(machine) == len(_MACHINE) and all(machine):
        largest = (math.prod(end for (end,) in machine),)
    if scaling == "strong" and entry.distinct > 1 and entry.ends:
        settings.add(batch, f"{entry.ends[-1]:.15g}", "global_batch")
    elif scaling == "weak" and entry.distinct == 1 and largest and requested:
        settings.add(batch, f"{(amount(entry.levels[0]) or 0.0) * requested / largest[0]:.15g}", "global_batch")
    return True


def _split_machines(legend: Legend, at: Mapping[str, str]) -> tuple[Mapping[str, str], list[str]]:
    """Return a question with its machines, `2x8xh100`, as nodes and devices, and the kinds of these that no run has."""
    settings, absent = dict(at), list[str]()
    # Where the devices did not vary, what runs are scaled by, such as the nodes, is no count of devices either.
    devices = legend.columns.get(column_of("workers", legend.columns) or "", NamedColumn())
    counts_others = devices.distinct < 2 and is_a_part("workers", legend.columns)
    for name, text in at.items():
        if is_number(text) or (name != SCALE and meant_by(name) != "workers"):
            continue
        machine, remainder = machine_in(text)
        count = "workers" if name == SCALE and counts_others else name
        # `80GB` may be a cell of a device's name; of a count it is none.
        if cell_with(legend, text)[0] or (name in legend.names and legend.cells_of_name(name, text)):
            continue
        if (grid := GRID.fullmatch(text)) is not None:
            del settings[name]
            settings |= {"nodes": grid[1], count: str(int(grid[1]) * int(grid[2]))}
        elif machine and not remainder:
            nodes = next((amount(t) or 0.0 for n, t in at.items() if meant_by(n) == "nodes"), 0.0)
            count_in_text = machine["devices"]
            if "nodes" not in machine and several_nodes(nodes) and count_in_text <= USUAL_DEVICES:
                what = f"{text} on {nodes:g} nodes may be {count_in_text:g} devices or {nodes * count_in_text:g}"
                raise TableError(what, hint=f"{nodes:g}x{text} in place of both, or the devices in all")
            of_device = _cell_of_device(legend, machine["device"])
            absent += [machine["device"]] if of_device is None else []
            settings |= {"nodes": f"{machine['nodes']:g}"} if "nodes" in machine else {}
            del settings[name]
            settings |= {count: f"{machine['devices']:g}", **(of_device or {})}
        elif name == text and device_in(text) is not None:
            of_device = _cell_of_device(legend, text)
            absent += [text] if of_device is None else []
            del settings[name]
            settings |= of_device or {}
    return settings, absent


def _cell_of_device(legend: Legend, device: str) -> dict[str, str] | None:
    """Return {column: cell} of a device; None where no column names devices."""
    column, cell = cell_with(legend, device)
    if column:
        return {column: cell}
    texts = {n: entry.levels for n, entry in legend.columns.items() if not entry.numeric and entry.levels}
    column = next((n for n, levels in texts.items() if all(map(device_in, levels))), "")
    if not column:
        return {} if legend.is_in_all_names(device) or in_title(device, legend.title) else None
    is_of_all_runs = all(device_in(cell) == device_in(device) for cell in texts[column])
    return {} if is_of_all_runs else {column: device}


def _column_of_setting(legend: Legend, name: str, text: str) -> tuple[str | None, str, str]:
    """Return the column that a setting of a question means, its value, and the measured column that the value names."""
    entry, measured = legend.columns.get(name, NamedColumn()), ""
    column = name if entry.numeric and entry.distinct > 1 else column_of_setting(legend, name, text)
    # A number without a name may be a cell all the same: `80GB` of `A100 80GB`.
    is_word = amount(text) is None and number_text(text) == text
    is_word |= name in (SCALE, text) and not is_number(text) and bool(cell_with(legend, text)[0])
    if is_word and (column is None or legend.columns[column].numeric):
        # The column that holds a word, or has it as its name, is meant.
        (holding, text), measured = cell_with(legend, text), _measured_column_named(legend, text)
        # A word alone, `step`, is no value of the column `steps`.
        column = holding or (column if text != name else None)
    is_level = meant_by(name) in LEVELS
    counts = is_level or meant_by(name) == "threads"
    is_nameless = counts and NAMELESS.fullmatch(plain_name(legend.scale)) is not None
    if column is None and (name == SCALE or (is_nameless and legend.may_count_workers(legend.scale))):
        # A scale without a telling name is taken to count what the question counts.
        column = legend.scale or name
    elif column is None and counts and (nameless := legend.nameless_counts):
        # Of several columns without names the one of the smallest numbers is the count.
        column = min(nameless, key=lambda n: legend.columns[n].ends[:1])
    elif column is None and (is_level or is_a_part(name, legend.columns)):
        column = name
    elif column is None and counts_cores(name) and not _OF_A_NODE.isdisjoint(map(plain_name, legend.columns)):
        # Each process has a core.
        column = "processes"
    elif column is None and counted_noun(name) in words_of("headers.cores") and _runs_threads(legend):
        column = words_of("headers.cores")[0]
    untold = [n for n in _UNTOLD if text in legend.columns.get(n, NamedColumn()).values]
    if column is None and not counts and len(untold) == 1:
        # `batch 128` of a table below the title `128`, or of runs within such a key
        column = untold[0]
    if column in legend.headers:
        # `1 x Pi | 2 x Pi`: the header names the values, and is asked for as the count.
        column = next((count for count in ("devices", "count") if count in legend.columns), column)
    return column, text, measured


def _runs_threads(legend: Legend) -> bool:
    """Tell whether the runs varied processes and the threads of each, which together are the cores."""
    columns = (column_of(part, legend.columns) for part in ("workers", "threads"))
    return all(column is not None and legend.columns[column].distinct > 1 for column in columns)


def _measured_column_named(legend: Legend, text: str) -> str:
    """Return the only column of numbers whose name has a word, the first of several memories; empty without one."""
    words = singular_words(text)
    is_name = words and words.isdisjoint(words_of("headers.best"))
    numeric = [name for name, entry in legend.columns.items() if is_name and entry.numeric]
    named = [name for name in numeric if words <= singular_words(name)]
    named = named or [n for n in numeric if header_of(n).kind and words_in_full(text) <= words_in_full(n)]
    return named[0] if len(named) == 1 or {header_of(name).kind for name in named} == {"quantity"} else ""


def _cells_in_name(legend: Legend, column: str, text: str, at: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns with their cells that a name holds, of a column whose names were taken apart."""
    columns_of_words, entry = legend.names[column], legend.columns[column]
    # A name that was measured is a kind of runs, but for one that counts devices, or is nothing else than its numbers:
    # these are sizes where they have a name of the field, or no other column counts what the runs are scaled by.
    numbers_in = {n for word, n in columns_of_words.items() if word}
    counts_level, is_size = any(meant_by(n) in LEVELS for n in numbers_in), any(map(meant_by, numbers_in))
    counted = any(meant_by(n) in LEVELS and e.distinct > 1 for n, e in legend.columns.items() if n not in numbers_in)
    has_rest = columns_of_words.get("") or (counted and not is_size)
    is_kind = text in entry.levels and has_rest and not counts_level
    cells = {} if is_kind else legend.cells_of_name(column, text) or legend.cells_of_name(column, text.strip(MARKS))
    if cells:
        # A name without a word leaves open which kind is meant, where each of the runs has one.
        columns = {n: e.levels for n, e in legend.columns.items() if n not in at}
        in_runs = ((n, cell) for n, cell in cells.items() if n in columns)
        yield from ((n, cell) for n, cell in in_runs if cell != NO_KIND or cell in columns[n])
        return
    counts = [n for word, n in columns_of_words.items() if word]
    counts = counts if len(counts) == 1 else [n for n in counts if meant_by(n) == meant_by(column)]
    if {meant_by(column), *map(meant_by, counts)} == {*LEVELS}:
        # Below `gpus` machines are counted, `2x DGX`: of the devices nothing is known.
        yield str(meant_by(column)), text
        return
    if len(counts) == 1 and counts[0] in legend.columns and is_number(re.split("[,:]", text)[0]):
        yield counts[0], text
        return
    holding, cell = cell_with(legend, text)
    is_remainder = holding and holding == columns_of_words.get("") and text not in entry.levels
    yield (holding, cell) if is_remainder else (column, text)


def _note_of_value(name: str, text: str, entry: NamedColumn) -> list[str]:
    """Return a note where a question asks for another value than the constant one of a column; else []."""
    (only,) = entry.levels
    return [] if same(only, text) else [f"{name} was always {only}: nothing shows another one"]


def wanted_name(want: str, legend: Legend) -> str:
    """Return the column of a quantity that is wanted by another of its names; any other name in its usual form."""
    if plain_name(want) in map(plain_name, legend.columns):
        return want
    by_alias = (column for alias, column in legend.aliases.items() if plain_name(alias) == plain_name(want))
    return next(by_alias, wanted_in_words(want))


# --- under the columns of a model -------------------------------------------------------------------------------------


def legend_in(panel: Panel, groups: Mapping[str, Collection[str]]) -> Legend:
    """Return the legend of a model's table, with its factors, the groups that it has and what the user mapped."""
    of_factors = legend_of_factors(panel.factors, panel.group)
    legend = panel.legend or of_factors
    ascending = {n: sorted(levels, key=lambda text: (amount(text) or 0.0, text)) for n, levels in groups.items()}
    of_groups = {name: NamedColumn(levels=tuple(levels), distinct=len(levels)) for name, levels in ascending.items()}
    mapped = {canonical: column for canonical, column in panel.mapping.items() if column not in legend.headers}
    columns = {**of_factors.columns, **legend.columns, **of_groups}
    return replace(legend, columns=columns, aliases={**legend.aliases, **mapped})


def in_factors(panel: Panel, requested: Requested, legend: Legend | None = None) -> Requested:
    """Return a question with only what a model knows: its factors, its groups and the parts of its machine.

    Of gpus=64 and host=a a model of gpus takes gpus=64, and notes that the host is none of its factors. A column that
    only repeats others is read as these, or left out.
    """
    legend = legend or panel.legend or legend_in(panel, {})
    settings, notes, ignored, multiples = _Cells(), list[str](), list[str](), dict[str, str]()
    if wanted := requested.wanted:
        # `model=bert` of a column a network: only a model of that column answers.
        measured = "" if panel.target is None else panel.target.throughput or panel.target.column
        if not words_in(wanted) <= words_in(measured):
            what = f"it names '{wanted}', and the model predicts '{measured}'"
            raise _no_factor(panel, requested.names[wanted], what)
    levels = {f.name: f.levels for f in panel.factors}
    levels |= {name: legend.columns.get(name, NamedColumn()).levels for name in panel.group}
    for column, text in requested.at.items():
        name, entry = requested.names.get(column, column), legend.columns.get(column, NamedColumn())
        setting = _setting_of(panel, legend, column, text)
        if setting is not None and (levels.get(setting) or setting in panel.group):
            settings.add(setting, _level_of(text, levels[setting]), name)
        elif setting is not None:
            settings.add(setting, text if is_number(text) else plain_amounts(text), name)
        elif column in legend.synonyms and entry.numeric:
            # It is heeded below, if nothing else says the count.
            multiples[column] = text
        elif column in legend.synonyms:
            for other, cell in _cells_of_synonym(legend, column, text).items():
                settings.add(other, cell, name)
        elif column not in legend.columns:
            raise _no_factor(panel, name)
        # What a column was in every run is heeded by a note, or refused where it is a text.
        elif entry.distinct == 1 and is_number(text):
            notes += _note_of_value(column, text, entry)
        elif entry.distinct == 1 and not words_in(text) <= words_in(entry.levels[0]):
            raise TableError(f"no run has {column}={text}", hint=f"one of {entry.levels[0]}")
        elif entry.distinct != 1 and (column not in legend.repeating or len(requested.at) == 1):
            ignored.append(name)
    ignored += _add_multiples(panel, legend, settings, multiples, requested.names) if multiples else []
    if ignored and not settings.at and not notes:
        raise _no_factor(panel, ignored[0])
    notes += [f"asked, and no factor of the model: {listed(ignored)}"] if ignored else []
    return replace(requested, at=settings.at, notes=(*requested.notes, *notes), names=settings.names)


def _add_multiples(
    panel: Panel, legend: Legend, settings: _Cells, multiples: Mapping[str, str], names: Mapping[str, str]
) -> list[str]:
    """Add counts of columns that are multiples of the scale, 4 `servers` of 8 gpus, where nothing else says the count.

    Return the names of those that contradict the count in the question.
    """
    contradicting = []
    for column, text in multiples.items():
        name = names.get(column, column)
        ((count, amount_text),) = _in_counts_of_scale(legend, column, text).items()
        if {*PLACES}.isdisjoint(map(panel.meant, settings.at)) and count not in settings.at:
            settings.add(count, amount_text, name)
        elif count in settings.at and not same(settings.at[count], amount_text):
            contradicting.append(name)
    return contradicting


def _no_factor(panel: Panel, name: str, hint: str = "") -> TableError:
    """Return the error of a name that the model knows nothing of."""
    return TableError(f"the model has no factor '{name}'", hint=hint or suggest(name, [f.name for f in panel.factors]))


def _setting_of(panel: Panel, legend: Legend, column: str, text: str) -> str | None:
    """Return the factor, the group or the part of the machine that a column is; None for another column."""
    settings, value = {*(f.name for f in panel.factors), *panel.group}, amount(text)
    inside = panel.machine.columns.get("devices_per_node")
    if inside is not None and inside.name == column and meant_by(column) == "workers" and (value or 0.0) > inside.upper:
        # More devices than a node of the runs has are those of all nodes.
        return "workers"
    if column in settings:
        return column
    if column == SCALE:
        return panel.along().name
    entry = legend.columns.get(column)
    if entry is not None and not entry.numeric:
        return None
    meant = panel.meant(column, in_table=entry is not None)
    if meant in PARTS and meant not in settings and panel.machine.means(meant):
        # A part of the machine without a column is called as in the question: `gpus` of a layout's ways.
        return column
    return meant if meant in settings or any(meant in read for read in panel.inputs.values()) else None


def _level_of(text: str, levels: Collection[str]) -> str:
    """Return levels between commas as the runs write them, `TF` as `tf`, or by their words; others as they are."""
    texts = [text] if text in levels else [value.strip() for value in text.split(",")]
    matched, names = [], [level for level in levels if amount(level) is None]
    for value in texts:
        alike = [level for level in levels if same(level, value)] or [level_with(value, names) or value]
        matched.append(alike[0] if len(alike) == 1 and value not in levels else value)
    return ",".join(matched)


def _cells_of_synonym(legend: Legend, column: str, text: str) -> dict[str, str]:
    """Return what cells of a column say under the columns of a model: {"gpu": "h100"} of `host=a`."""
    cells = legend.synonyms[column]
    texts = [text] if text in cells else [value.strip() for value in text.split(",")]
    matching = [cell for value in texts for cell in cells if same(cell, value)]
    if len(matching) < len(texts):
        raise TableError(f"no run has {column}={text}", hint=f"one of {listed([*cells])}")
    return {name: ",".join(cells[cell][name] for cell in matching) for name in cells[matching[0]]}


def _in_counts_of_scale(legend: Legend, column: str, text: str) -> dict[str, str]:
    """Return counts of a column in the scale's, of which each has several: {"gpus": "8:32:*2"} of `servers=1:4:*2`."""
    ((largest, at_largest),) = legend.synonyms[column].items()
    ((count, counted),) = at_largest.items()
    times, pieces = float(counted) / float(largest), re.split("([,:])", text)
    for place, piece in enumerate(pieces):
        if (number := amount(piece)) is not None:
            pieces[place] = label(number * times)
        elif piece not in ",:" and not piece.startswith("*"):
            raise TableError(f"{column} is a number, and not {text}", hint=f"--at {column}={largest}")
    return {count: "".join(pieces)}
