"""Where a table comes from: files, standard input, a DataFrame or runs themselves → cells, and what they mean.

Several files → one table: tables of the same columns below each other, or a run a file, with its path. Then one fixed
order of changes to a table's shape, each reported in one line.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from genperf.arrays import AnyArray
from genperf.errors import GenperfError, TableError, attempted, counted, listed
from genperf.table import content, documents, facts, shape
from genperf.table.cells import (
    EUROPEAN_GROUPS,
    MOST_NAMES,
    Source,
    parsed_column,
    parts_of,
    source_of,
    source_of_frame,
    step,
)
from genperf.table.clean import is_number, label, labels, mostly_numbers, number_in, seconds_of
from genperf.table.importers import source_of_format
from genperf.table.records import JSON, behind_json, read_records, runs_in_blocks
from genperf.table.text import (
    FIRST_ROWS,
    MOST_TABLES,
    RUNS,
    alike,
    column_names,
    counts_vary,
    cut_table,
    keyed_lines,
    named_numbers,
    plain_table,
    read_delimited,
    rows_below_levels,
    titled_numbers,
    titled_pairs,
    with_units,
)
from genperf.table.unread import with_unread
from genperf.vocabulary import any_of, is_common, late, words_of
from genperf.vocabulary.headers import (
    MOMENT,
    Header,
    bare,
    canonical_time,
    header_of,
    in_another_unit,
    pace_of,
    units_in,
)
from genperf.vocabulary.names import (
    IN_TOKENS,
    LEVELS,
    TITLE_OF_SCALED,
    canonical_of,
    column_of,
    counts_devices,
    counts_scale,
    is_relative,
    meant_by,
    plain_name,
)

if TYPE_CHECKING:
    import pandas as pd


# --- several files ----------------------------------------------------------------------------------------------------


_ENDINGS = frozenset(words_of("columns.ending"))
#: What a file of scalars holds, at the end of its name.
_TAG = late(r"(?:^|[\W_])tag[-_=](.+?)(?:\.\w+)?$")
#: In place of a cell: it is that above.
_DITTO = frozenset(("", *words_of("cells.ditto")))


def joined(files: Sequence[str], name: str, opened: Callable[[str], Source]) -> Source:
    """Return files as one table: where each is a run, a row each, beside what differs between their paths."""
    sources, faults = _opened(dict(zip(files, files, strict=True)), opened)
    sources = {file: _named_by_tag(source, file) for file, source in sources.items()}
    rows = {
        file: _of_scalars(source, file) or facts.source_of_steps(source) or source for file, source in sources.items()
    }
    # Tables with a header are put below each other, also where each has a single row.
    runs = {file: source for file, source in rows.items() if len(source) == 1 and not source.delimiter}
    measured = [file for file in rows if any(facts.is_result(n, rows[file].units.get(n, "")) for n in rows[file].cells)]
    tables = [file for file in measured if file not in runs]
    if runs and (not tables or len(measured) > 2 * len(tables) or len({frozenset(rows[f].cells) for f in tables}) > 1):
        return _beside(runs, name, _left_out([file for file in files if file not in runs]))
    # Beside tables may lie what watched their runs, or tells of them.
    named = [file for file, source in sources.items() if not all(re.fullmatch(r"column\d+", n) for n in source.cells)]
    of_tables = {n for file in tables for n in sources[file].cells}
    of_runs = [file for file in named if not of_tables or of_tables & {*sources[file].cells}] or [*sources]
    endings = {os.path.splitext(file)[1] for file in of_runs}
    broken = [fault for fault in faults if os.path.splitext(str(fault.where))[1] in endings or not of_runs]
    if broken:
        raise broken[0]
    table = beneath({file: sources[file] for file in of_runs}, name, _columns_of_paths(of_runs))
    return replace(table, steps=(*table.steps, *map(step, _left_out([file for file in files if file not in of_runs]))))


def _left_out(files: Sequence[str]) -> list[str]:
    """Return what is reported of files that no run was read from."""
    hold = "that holds" if len(files) == 1 else "that hold"
    names = listed([os.path.basename(file) for file in files], 3)
    return [f"{counted(len(files), 'file')} {hold} no run left out: {names}"] if files else []


def _named_by_tag(source: Source, file: str) -> Source:
    """Return a file of values with the name of these in its own, `run-8gpus-tag-step_time.csv`; others as they are."""
    value, tag = next((n for n in source.cells if n.lower() == "value"), ""), _TAG.search(os.path.basename(file))
    return source.renamed({value: tag[1]}) if value and tag is not None else source


def _of_scalars(source: Source, file: str) -> Source | None:
    """Return a file of numbers, one or a line for each step, as a run of a quantity of its name; else None."""
    name = os.path.basename(file).partition(".")[0]
    if [*source.cells] == ["value"] and len(source) == 1:
        units = dict.fromkeys([name] if source.units else [], "".join(source.units.values()))
        return replace(source, cells={name: source.cells["value"]}, units=units, delimiter="")
    unnamed = all(re.fullmatch(r"column\d", n) for n in source.cells)
    if not facts.is_result(name) or not 1 <= len(source.cells) <= 3 or not unnamed:
        return None
    columns = {n: [number_in(cell) for cell in labels(cells)] for n, cells in source.cells.items()}
    measured = [n for n, values in columns.items() if not facts.numbers_the_lines(values)]
    if len(measured) != 1 or len(source) < 2:
        return None
    return facts.source_of_rows([facts.Run(values={name: columns[measured[0]]})], source.name)


def _opened(texts: Mapping[str, str], opened: Callable[[str], Source]) -> tuple[dict[str, Source], list[GenperfError]]:
    """Return the sources that can be read, by name, and the faults of the others."""
    tried = {name: attempted(opened, text) for name, text in texts.items()}
    sources = {name: source for name, source in tried.items() if not isinstance(source, GenperfError)}
    return sources, [fault for fault in tried.values() if isinstance(fault, GenperfError)]


def beneath(sources: Mapping[str, Source], name: str, origins: Mapping[str, Sequence[str]]) -> Source:
    """Return tables of the same columns below each other, each with where it is from, by the column that says so."""
    top, *_ = opened = list(sources.values())
    names = [*top.cells]
    if all(source.unit == "record" or source.runs for source in opened):
        # A record and a run lack what they do not say.
        names = list(dict.fromkeys(n for source in opened for n in source.cells))
        opened = [replace(s, cells={n: s.cells.get(n, np.full(len(s), "", object)) for n in names}) for s in opened]
    as_written, opened = opened, [_in_names_of(names, source) for source in opened]
    for following, source in zip(as_written, opened, strict=True):
        if {*source.cells} != {*names}:
            what = f"has the columns {listed([*following.cells])}, and {top.name} has {listed(names)}"
            raise TableError(what, hint="files of one table have the same columns", where=following.name)
    cells = {n: np.concatenate([source.cells[n].astype(object) for source in opened]) for n in names}
    counts = Counter(done.text for source in opened for done in source.steps)
    sizes = [len(source) for source in opened]
    source_of_row = np.repeat(np.arange(len(opened)), sizes)
    from_paths = {n: np.array(texts, dtype=object)[source_of_row] for n, texts in origins.items() if n not in cells}
    steps_of_rows = [{n: of_rows[row] for n, of_rows in s.steady.items()} for s in opened for row in range(len(s))]
    return replace(
        top,
        name=name,
        unit="row",
        tables=(),
        cells={**from_paths, **cells},
        lines=np.arange(1, sum(sizes) + 1),
        ragged=tuple(rejection for source in opened for rejection in source.ragged),
        steps=tuple(step(f"{text} (in {count} of {len(opened)} files)") for text, count in counts.items()),
        steady=facts.steady_of(list(cells), steps_of_rows),
    )


def _in_names_of(names: Sequence[str], source: Source) -> Source:
    """Return a table whose columns are called as those of another one that mean the same, `GPUs` as `num_gpus`."""
    lacking, renamed = [name for name in names if name not in source.cells], dict[str, str]()
    for column in source.cells if lacking else ():
        meant, same_unit = canonical_of(column), [n for n in lacking if header_of(n) == header_of(column)]
        alike = [n for n in same_unit if plain_name(n) == plain_name(column) or (meant and canonical_of(n) == meant)]
        alike = alike or [n for n in same_unit if in_another_unit(column, [n])]
        if column not in names and len(alike) == 1 and alike[0] not in renamed.values():
            renamed[column] = alike[0]
    reports = [step(f"'{column}' read as '{name}', as another file calls it") for column, name in renamed.items()]
    return replace(source.renamed(renamed), steps=(*source.steps, *reports)) if renamed else source


def _beside(runs: Mapping[str, Source], name: str, steps: Sequence[str]) -> Source:
    """Return runs as rows, each of a file or of those of a folder, with the settings around it."""
    records: dict[str, dict[str, Any]] = {}
    steady: dict[str, dict[str, Any]] = {}
    units: dict[str, str] = {}
    places = _places_of_runs(runs)
    for place, (_, *paths) in places.items():
        records[place], steady[place] = {}, {}
        for source in (runs[path] for path in paths):
            new = {n: cells[0] for n, cells in source.cells.items() if n not in records[place] and label(cells[0])}
            units |= {n: unit for n, unit in source.units.items() if n not in units}
            scale = {n: facts.in_unit(1.0, source.units.get(n, ""), units.get(n, "")) for n in new}
            records[place] |= {n: cell if scale[n] == 1.0 else cell * scale[n] for n, cell in new.items()}
            steady[place] |= {n: c[0] * [1, scale[n], scale[n], 1] for n, c in source.steady.items() if n in new}
    measured = {p: {n for n in record if facts.is_result(n, units.get(n, ""))} for p, record in records.items()}
    with_result = [place for place in records if measured[place]]
    times_measured = Counter(n for place in with_result for n in measured[place])
    usual = {n for n, count in times_measured.items() if count >= MOST_MEASURE * len(with_result)}
    # Beside runs lie an evaluation, or how the data were prepared, whose quantities no other run has.
    if others := [p for p in with_result if usual and measured[p].isdisjoint(usual) and "status" not in records[p]]:
        others_named = listed([*map(os.path.basename, others)], 3)
        steps = [*steps, f"{counted(len(others), 'run')} of other quantities left out: {others_named}"]
        records = {place: record for place, record in records.items() if place not in others}
        with_result = [place for place in with_result if place not in others]
    # How a run ended may be told in the folder around its result.
    around = {os.path.dirname(place) for place in with_result} - {*with_result}
    with_ending = [p for p, record in records.items() if p not in around and not _ENDINGS.isdisjoint(record)]
    ended = [place for place in records if place in (*with_result, *with_ending)]
    if ended:
        settings = [(os.path.dirname(p) if p in runs else p, records[p]) for p in records if p not in ended]
        records = {place: records[place] for place in ended}
        _share_settings(settings, records)
    columns = list(dict.fromkeys(n for record in records.values() for n in record))
    paths_by_column = _columns_of_paths([places[place][0] for place in records])
    paths_by_column = {n: texts for n, texts in paths_by_column.items() if n not in columns}
    cells = [
        [*(texts[row] for texts in paths_by_column.values()), *(record.get(n, "") for n in columns)]
        for row, record in enumerate(records.values())
    ]
    counts = Counter(done.text for source in runs.values() for done in source.steps)
    notes = [*steps, *(f"{text} (in {count} of {len(runs)} files)" for text, count in counts.items() if count < 2)]
    about: Any = {"units": units, "steps": tuple(map(step, notes)), "runs": True}
    about["steady"] = facts.steady_of(columns, [steady[place] for place in records])
    return source_of(name, [*paths_by_column, *columns], cells, range(1, len(cells) + 1), "file", **about)


#: The share of the runs of a folder that measured a quantity, from which on what shares none with them is another
#: experiment. A guess.
MOST_MEASURE = 0.75
#: A worker's number in the name of its own log: `rank0.log`, `gpu_1.txt`; `8gpus.log` counts.
_MEMBER = late(rf"(?<![^\W\d_]){any_of('log.member', 'headers.device', 'headers.node')}[\W_]?\d", re.IGNORECASE)


def _places_of_runs(runs: Mapping[str, Source]) -> dict[str, list[str]]:
    """Return of each run by its place the path that names it and its files, the longest log first.

    Files of a folder are one run where their names, but for numbers, recur in other folders, unless several of them
    measured the same.
    """
    results = {file: {n for n in s.cells if facts.is_result(n, s.units.get(n, ""))} for file, s in runs.items()}
    lengths = {file: max([0, *(cells[0][0] for cells in source.steady.values())]) for file, source in runs.items()}
    stems = {file: re.sub(r"\d+", "", os.path.basename(file)) for file in runs}
    folders: dict[str, list[str]] = {}
    for file, folder in _folders_of_runs(results).items():
        folders.setdefault(folder, []).append(file)
    times_named = Counter(stem for files in folders.values() for stem in {stems[file] for file in files})
    places: dict[str, list[str]] = {}
    for folder, files in folders.items():
        longest_first = sorted(files, key=lambda file: -lengths[file])
        measured = [file for file in longest_first if results[file]]
        alike = [file for file in files if results[file] and results[file] == results[measured[0]]]
        if len(folders) == 1 or all(times_named[stems[file]] < 2 for file in files):
            places |= {file: [file, file] for file in files}
            continue
        names = [*map(os.path.basename, alike)]
        has_settings = shape.number_in_names(names) is not None
        if len(alike) < 2 or (not has_settings and all(map(_MEMBER.search, names))):
            places[folder] = [folder, *longest_first]
            continue
        # The number of a repeat, or of a job, is no setting.
        has_settings |= len({stems[file] for file in alike}) > 1 or any(
            meant_by(word) in LEVELS for word in re.findall(r"[^\W\d_]+", names[0])
        )
        recur = has_settings and all(times_named[stems[file]] > 1 for file in alike)
        beside = [file for file in longest_first if file not in alike]
        places |= {file: [file if recur else folder, file, *beside] for file in alike}
    return places


def _folders_of_runs(results: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the folder of each file; around one of settings, or of the only results in it, the next with results."""
    with_results = {os.path.dirname(file) for file in results if results[file]}
    parents = {folder: [*map(str, Path(folder).parents)] for folder in map(os.path.dirname, results)}
    inside = Counter(parent for folder in with_results for parent in parents[folder])
    around = {f: next((parent for parent in parents[f] if parent in with_results), f) for f in parents}
    alone = {f for f in parents if f not in with_results or inside[around[f]] == 1}
    return {file: around[f] if (f := os.path.dirname(file)) in alone else f for file in results}


def _share_settings(settings: Sequence[tuple[str, Mapping[str, Any]]], runs: Mapping[str, dict[str, Any]]) -> None:
    """Add settings of a folder to the runs in it, or else in the nearest one around it, unless these are all runs."""
    for place, record in settings:
        inside: list[dict[str, Any]] = []
        while place and not inside:
            inside = [run for path, run in runs.items() if f"{path}{os.sep}".startswith(f"{place}{os.sep}")]
            place = os.path.dirname(place.rstrip(os.sep))
        if len(inside) == 1 or len(inside) < len(runs):
            for run in inside:
                run.update({n: cell for n, cell in record.items() if n not in run})


def _columns_of_paths(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the parts of paths that differ, as columns: `file` without its ending, `folder`, `folder 2` and so on."""
    path_parts = [os.path.normpath(path).split(os.sep) for path in paths]
    columns: dict[str, list[str]] = {}
    for depth, texts in enumerate(itertools.zip_longest(*path_parts, fillvalue="")):
        if len({*texts}) == 1:
            continue
        if all(depth == len(names) - 1 for names in path_parts) and any("." in text for text in texts):
            columns["file"] = [re.sub(r"(?<!^)\.[^\W\d][^.]*$", "", text) for text in texts]
        else:
            columns["folder" if "folder" not in columns else f"folder {len(columns) + 1}"] = list(texts)
    return columns


def tidied(source: Source, named: Collection[str] = ()) -> Source:
    """Return runs without columns that say what another one says: their names are aliases, and they fill it up."""
    if not source.runs or len(source) < 2:
        return source
    in_source = {n: labels(cells).tolist() for n, cells in source.columns.items() if n not in source.names}
    others, of_nodes = _other_counts({n: cells for n, cells in in_source.items() if n not in named})
    reports = [f"{listed([*map(repr, sorted(others))])} left out: no count of a run's devices"] if others else []
    reports += [f"{listed([*map(repr, sorted(of_nodes))])} taken as the devices of each node"] if of_nodes else []
    source = source.without(others).renamed({n: f"{n} per node" for n in of_nodes})
    source = replace(source, steps=(*source.steps, *map(step, reports)))
    in_source = {f"{n} per node" if n in of_nodes else n: c for n, c in in_source.items() if n not in others}
    filled_counts = _devices_of_nodes(in_source) | _nodes_of_devices(in_source)
    full, aliases = _without_repeats(in_source | filled_counts, named)
    # What only some runs say parts them from the others by no setting, but for their network and their method.
    meaningful = {*named, *_ENDINGS, *words_of("one_run.network"), *words_of("log.method")}
    partly = {
        n for n, cells in full.items() if not (all(cells) or n in meaningful or canonical_of(n) or counts_scale(n))
    }
    partly = {n for n in partly if not facts.is_result(n) and not facts.is_result(n, source.units.get(n, ""))}
    filled = {n: np.array(cells, dtype=object) for n, cells in full.items() if cells != in_source[n]}
    source = source.without({*aliases, *partly})
    names = {
        n: replace(
            taken,
            columns={word: aliases.get(c, c) for word, c in taken.columns.items()},
            kind_column=aliases.get(taken.kind_column, taken.kind_column),
        )
        for n, taken in source.names.items()
    }
    return replace(source, read={**source.read, **filled}, names=names, aliases={**source.aliases, **aliases})


def _other_counts(texts: Mapping[str, list[str]]) -> tuple[set[str], set[str]]:
    """Return the columns that count no devices of a run, such as loaders, and those that count a node's devices."""
    levels = {n: level for n in texts if (level := meant_by(n)) in (*LEVELS, "devices_per_node")}
    counts = {n: np.array([number_in(text) for text in texts[n]]) for n in levels}
    workers, nodes, per_node = ([n for n in levels if levels[n] == level] for level in (*LEVELS, "devices_per_node"))
    pairs = {(n, k): np.isfinite(counts[n] + counts[k]) for n, k in itertools.permutations(levels, 2)}
    # Of two columns their cells in the rows that have both.
    both = {(n, k): (counts[n][filled], counts[k][filled]) for (n, k), filled in pairs.items() if filled.any()}
    vary = {n for n in levels if len({*texts[n]} - {""}) > 1}
    products = (np.multiply(*both[n, k]) for n in nodes for k in per_node if (n, k) in both)
    devices_vary = bool(vary & {*workers}) or any(map(np.ptp, products))
    # A count that stays as the devices grow is one of loaders, say, or of the devices that a process has.
    others = {n for n in workers if n not in vary and devices_vary}
    of_nodes = set[str]()
    for (n, k), (cells, other_cells) in both.items():
        is_less = bool(np.any(cells < other_cells))
        # Fewer devices than nodes are those of a node, and so are as many as all others up to the number in a node.
        fills_nodes = is_less and np.array_equal(cells, np.minimum(other_cells, cells.max()))
        is_of_devices, on_more_nodes = levels[n] == "workers", levels[k] == "nodes" and is_less
        if is_of_devices and (on_more_nodes or (levels[k] == "workers" and fills_nodes)):
            of_nodes.add(n)
        # One task that a launcher starts on each node is no device; nor is a node's number of them that of several.
        is_task = {levels[n], levels[k]} == {"devices_per_node"} and n not in vary and max(cells) == 1
        is_of_node = is_of_devices and levels[k] == "devices_per_node" and np.array_equal(cells, other_cells)
        if is_task or (is_of_node and any(np.any(counts[node] > 1.0) for node in nodes)):
            others.add(n)
    of_nodes -= others
    others |= {n for n in of_nodes if per_node or not np.any(counts[n] > 1.0)}
    return others, of_nodes - others


def _devices_of_nodes(texts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the count of devices filled up by nodes and the devices of each, unless a run says another number."""
    names = [column_of(part, texts) for part in ("workers", "nodes", "devices_per_node")]
    if None in names:
        return {}
    count, *factors = (texts[str(name)] for name in names)
    products = [math.prod(map(number_in, cells)) for cells in zip(*factors, strict=True)]
    pairs = [(number_in(text), product) for text, product in zip(count, products, strict=True) if text]
    if not pairs or any(known != product for known, product in pairs):
        return {}
    return {str(names[0]): [t or (f"{p:g}" if p == p else "") for t, p in zip(count, products, strict=True)]}


def _nodes_of_devices(texts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the count of nodes filled up by the devices, where the runs that say both have one number in a node."""
    devices, nodes = (column_of(part, texts) for part in LEVELS)
    if devices is None or nodes is None or all(texts[nodes]):
        return {}
    pairs = [(number_in(text), number_in(count)) for text, count in zip(texts[devices], texts[nodes], strict=True)]
    sizes = {number / count for number, count in pairs if number >= count}
    if not {number for number, count in pairs if count > 1.0}.isdisjoint(n for n, count in pairs if count != count):
        # `4 GPUs` beside `4 GPUs, 2 nodes` are on one.
        sizes = {math.inf}
    elif len(sizes) != 1 or not min(sizes).is_integer():
        return {}
    filled_nodes = [f"{max(1, math.ceil(number / min(sizes)))}" if number == number else "" for number, _ in pairs]
    return {nodes: [text or filled for text, filled in zip(texts[nodes], filled_nodes, strict=True)]}


def _without_repeats(
    texts: Mapping[str, list[str]], named: Collection[str]
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the columns that are kept, filled up from those that repeat them, and the kept one of each left out."""

    def rank(name: str) -> tuple[bool, ...]:
        """Return a key by which the column that is to be kept precedes those that repeat it."""
        is_known = canonical_of(name) is not None or plain_name(name) in words_of("log.counted")
        return name not in named, not is_known, not counts_devices(name), not facts.is_result(name)

    def is_batch(name: str) -> bool:
        return "batch" in str(canonical_of(name))

    def repeats(name: str, kept: str) -> bool:
        """Tell whether a column equals a kept one wherever both are filled; a batch of 1 each counts no devices."""
        pairs = [(a, b) for a, b in zip(full[kept], texts[name], strict=True) if a and b]
        equal = (a == b or abs(number_in(a) - number_in(b)) <= 1e-9 * abs(number_in(a)) for a, b in pairs)
        # The devices of a node are those of the run on one node alone.
        of_node = "devices_per_node" in {meant_by(name), meant_by(kept)} and meant_by(name) != meant_by(kept)
        alike = not of_node or [*map(bool, full[kept])] == [*map(bool, texts[name])]
        # A single value may be equal by chance.
        return len({a for a, _ in pairs}) > 1 and is_batch(name) == is_batch(kept) and alike and all(equal)

    full: dict[str, list[str]] = {}
    aliases: dict[str, str] = {}
    for name in sorted(texts, key=rank):
        cells = texts[name]
        repeated = None if name in named else next((kept for kept in full if repeats(name, kept)), None)
        if repeated is None:
            full[name] = cells
        else:
            aliases[name] = repeated
            full[repeated] = [a or b for a, b in zip(full[repeated], cells, strict=True)]
    return full, aliases


# --- sources ----------------------------------------------------------------------------------------------------------


#: Sequences of a step, and tokens of each, from which on together they are more than any training has. A convention.
MOST_SEQUENCES, LEAST_SEQUENCE = 65536.0, 128.0
#: A step of a job, as a scheduler numbers it.
_JOB_STEP = late(rf"\d+(_\d+)?\.({any_of('cells.step_of_a_job')}|\d+)")
_SECONDS = late(r"(?<![^\W_])s(?:ec(?:ond)?s?)?$", re.IGNORECASE)
#: The end of the name of a file with a job's errors, `job.err` or `job.e17`, or with what it printed.
_ERRORS, _PRINTED = late(r"\.(?:err|stderr|e)(\d*)$"), late(r"\.(?:out|stdout|log|o)(\d*)$")
#: A day with its time.
_TIME_OF_DAY = late(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?")
#: Share of the lines of a log that are rows of a table, below which it is none of the log's runs. A guess.
LEAST_OF_A_TABLE = 0.1
#: Files of which so many are read between two reports.
MANY_FILES = 1000


def open_source(source: str | Path | Sequence[str | Path] | pd.DataFrame, delimiter: str | None = None) -> Source:
    """Read the cells of a file, of standard input ("-") or of a DataFrame, before anything is understood of them.

    Tables of other libraries that have `to_pandas` (polars, pyarrow, cuDF), columns by name, a list of rows that are
    mappings, and a series are read as DataFrames are; an open file is read from where it stands, a list of paths as
    several files of a command.

    Delimited text in UTF-8 (UTF-16 with its mark, cp1252), a drawn table, lines of `name=value`, or JSON, also
    compressed (gzip, bz2, xz, zstd), or Parquet: recognised by content, not by name. Lines that start with `#` are
    comments.
    """
    if not isinstance(source, str | Path):
        return _from_object(source, delimiter)
    if content.names_several(source):
        return open_files([source], delimiter)
    path = Path(os.path.expanduser(source))
    head = content.head_of(str(path)) if path.is_file() and path.stat().st_size > content.MAX_FILE_BYTES else b""
    if head[:4] not in (b"", b"PAR1") and facts.is_log(head.decode("utf-8", "replace")):
        # Of a log that is too long to be read whole the beginning is read.
        with path.open("rb") as file:
            lines = file.read(facts.MOST_OF_A_LOG).decode("utf-8", "replace")
        if (log := facts.source_of_log(lines, str(source), path.stat().st_size)) is not None:
            return log
    name, data = content.read_content(source)
    if data[:4] == b"PAR1":
        return _from_parquet(data, name)
    if documents.EVENTS in data[:64]:
        run = facts.Run(values=dict[str, list[Any]](documents.logged_scalars(name)))
        if not run.measured:
            raise TableError("holds no time, no rate and no two steps to measure a time between", where=name)
        return facts.source_of_rows([run], name, "record")
    if (imported := source_of_format(name, name, data[:64].decode("latin-1"))) is not None:
        return imported
    if b"xl/" in data and zipfile.is_zipfile(io.BytesIO(data)):
        return _from_workbook(data, name)
    text = content.decoded(data, name)
    opened = _from_text(text, name, delimiter)
    opened = with_unread(opened, text) if opened.runs else opened
    if not content.of_windows(data):
        return opened
    return replace(opened, steps=(step("read as text of Windows (cp1252), since it is not UTF-8"), *opened.steps))


#: The names of two counts, the second in brackets or behind a slash, and two counts so.
_TWO_NAMES = late(r"(#? ?[^\W\d_]+) ?[(/] ?(#? ?[^\W\d_]+)\)?")
_TWO_COUNTS = late(r"\s*(\d+) ?[(/] ?(\d+)\)?\s*")
#: The first word of a question.
_ASKS = late(rf"(?i){any_of('headers.asking')}(?!\w)")
#: A question, and the runs that it supposes.
_QUESTION_BEFORE = late(
    rf"(?is)(?P<question>{any_of('headers.asking')}(?!\w).*?)(?:\? |,? {any_of('headers.supposing')} )(?P<runs>.+)"
)
#: A line of a table that is drawn with | + -.
_DRAWN_LINE = late(r"^[ \t]*(?:\||\+[-=]).*$", re.MULTILINE)
#: The characters of frames around cells, as a table drawn with | + - has them.
_FRAMES = (
    dict.fromkeys(range(0x2500, 0x2580), "+")
    | dict.fromkeys(map(ord, "─━═"), "-")
    | dict.fromkeys(map(ord, "│┃║┆┇┊┋╎╏"), "|")
)

#: A line below the names of a data frame that says of which type each column is: `<int> <dbl>`, `| i64 | f64 |`.
_TYPES = late(rf"^(?:[ \t|<>]*{any_of('cells.types')}(?=[ \t|<>]|$)){{2,}}[ \t|<>]*$", re.MULTILINE)

#: `np.array([1, 2, 4])`
_ARRAY = late(r"(?<== )(?:\w+\.)?(?:as)?(?:array|tensor)\((\[[^\[\]]*\])[^()\n]*\)")
#: `610 ± 8`, where blanks may part cells.
_SCATTER = late(r"(?<=\d)[ \t](?:±|\+/-)[ \t]?(?=\d)")
#: `Benchmarks (throughput per GPU, tok/s):` above an empty line, which is no header.
_TITLE = late(r"\A\s*([^\W\d_][^\n:]{8,100}:[ \t]*\r?\n[ \t]*\r?\n)(?=  )")
#: A line with a comma between thousands alone, behind a key.
_THOUSANDS_ALONE = late(r"^[^,\n]*[:=→>] *\d{1,3},\d{3}(?![\d,])[^,\n]*$", re.MULTILINE)
#: What a logger writes before a message: `2026-05-02 11:00:13,120 INFO bench: `.
_STAMP = late(
    r"(?m)^[ \t]*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\]?"
    r"(?:[ \t:|-]+\[?[A-Z]{4,8}\]?)?(?:[ \t|:-]+[\w.]+:)?[ \t|:-]+"
)
#: What a text has that is rows of a name with its numbers each, or pairs below what they are of.
_KEYED = late(rf"(?i)[^\S\n]{{2}}|\t|:\s|=\s?\[|\s{any_of('headers.across')}\s")
#: Lines without a blank one between them: a header and two rows at least.
_PARAGRAPH = late(r"(?:^(?=.*\S).*(?:\n|\Z)){3,}", re.MULTILINE)


def _from_text(text: str, name: str, delimiter: str | None) -> Source:
    """Read a text by what it begins with: events, JSON, a web page, a literal, an outline; else as a table or a log."""
    text = _ARRAY.sub(r"\1", _SCATTER.sub("±", _TYPES.sub("", text.translate(_FRAMES))))
    text = documents.with_tables_of_wiki(text) if "{|" in text else text
    text = documents.with_ruled_tables(text) if re.search(r"-- +--|== +==", text) else text
    if (
        delimiter is None
        and (events := documents.of_events(text)) is not None
        and (log := facts.source_of_log(events, name))
    ):
        return log
    if delimiter is None and (imported := source_of_format(text, name)) is not None:
        return imported
    if JSON.match(text):
        text = documents.notebook_text(text) or text
    elif content.WEB_PAGE.match(text):
        text = documents.drawn_tables(text) or text
    else:
        may_be_pairs = delimiter is None and re.search(r"=|: ", text) is not None
        if may_be_pairs and (runs := _runs_in_pairs(text, name)) is not None:
            return runs
        notes = facts.plain_notes(text) if delimiter is None else text
        if notes != text and (log := facts.source_of_log(notes, name)) is not None and len(log) > 1:
            return log
        text = documents.of_literals(text) or documents.of_outline(text) or _TITLE.sub(r"# \1", text)
        if "<table" in text or "<!--" in text:
            text = documents.with_drawn_tables(text)
    content.refuse_other_text(text, name)
    if delimiter is not None:
        return read_delimited(text, name, delimiter)
    if facts.FORMS.script.match(text) and (
        run := facts.source_of_log(text, name) or facts.source_of_settings(text, name)
    ):
        return run
    is_json = JSON.match(text) is not None
    if is_json and facts.is_log(behind_json(text)):
        # Some logs begin with their settings.
        return facts.source_of_log(text, name) or _table_or_log(text, name)
    may_be_records = "=" in text or is_json
    source = attempted(lambda: (read_records(text, name) if may_be_records else None) or _table_or_log(text, name))
    is_unclear = isinstance(source, GenperfError) or len(source) < 2 or "column1" in source.cells
    if is_unclear and (named := named_numbers(text)) is not None:
        wide = read_delimited(named, name, "\t")
        source = source if shape.melted(wide) is wide else wide
    if isinstance(source, GenperfError):
        raise source
    return source


def _runs_in_pairs(text: str, name: str) -> Source | None:
    """Return runs that have a stamped line or a block each, in pairs with its result and its scale; or None."""
    if len(text) > facts.LONGEST_NOTES:
        return None
    is_stamped = "=" in text and None not in map(_STAMP.match, filter(str.strip, text.splitlines()))
    source = attempted(read_records, _STAMP.sub("", text), name) if is_stamped else runs_in_blocks(text, name)
    if not isinstance(source, Source) or len(source) < 2 or not any(map(facts.is_result, source.cells)):
        return None
    return source if counts_vary(shape.with_factors(source).columns) else None


def _not_delimited(text: str, name: str) -> Source | None:
    """Read a text of no delimiter: titled numbers, one number, a table within, a log, columns; else None."""
    if (titled := titled_numbers(text)) is not None:
        return read_delimited(titled, name, "\t")
    if (number := parts_of(text.strip())) is not None:
        return source_of(name, ["value"], [[text.strip()]], [1], units={"value": number.unit} if number.unit else {})
    if (table_of_paragraph := _table_within(text, name)) is not None:
        return table_of_paragraph
    if facts.is_log(text) and (log := facts.source_of_log(text, name)) is not None:
        return log
    return _cut(text, name)


def _cut(text: str, name: str, above: int = 3) -> Source | None:
    """Read a table in columns whose cells may be empty, below so many lines; None for any other text."""
    table = cut_table(text, above) or rows_below_levels(text)
    return None if table is None else read_delimited(table, name, "\t")


def _table_or_log(text: str, name: str) -> Source:
    """Read a text as a table; one whose lines hold facts and are no rows, as a log."""
    if len(text) > facts.MOST_READ:
        # A long text is what its head is.
        head = attempted(_table_or_log, text[: content.HEAD_BYTES].rpartition("\n")[0], name)
        if not isinstance(head, GenperfError):
            source = facts.source_of_log(text, name) if head.runs else plain_table(text, head)
            if source is not None:
                return source
    first, _, rest = text.partition("\n")
    # pandas prints the names of values above those of the levels, and beyond them.
    has_levels = len(first) - len(first.lstrip(" ")) >= len(rest.partition("\n")[0].rstrip()) > 0
    table = (keyed_lines(text) or titled_pairs(text)) if _KEYED.search(text) else None
    if (table := table or (cut_table(text, 0) if has_levels else None)) is not None:
        return read_delimited(table, name, "\t")
    try:
        source = read_delimited(text, name, None)
    except TableError:
        other = _cut(text, name, 0) or _not_delimited(text, name)
        if other is None:
            raise
        return other
    if source.delimiter in (" ", RUNS) and source.ragged and (uncut := _cut(text, name, 0)) is not None:
        # Rows end before their header does.
        return uncut
    columns = source.cells.values()
    unnamed = source.cells.get("column1")
    holds_no_cells = len(columns) == 1 or (unnamed is not None and not mostly_numbers(labels(unnamed).tolist()))
    if holds_no_cells and (other := _not_delimited(text, name)) is not None:
        return other
    header_may_be_fact = (
        not len(source)
        or (source.delimiter in (" ", RUNS) and any(name.startswith("--") for name in source.cells))
        or source.ragged
        or (any(map(str.isdigit, first)) and facts.begins_as_others(text))
        # `tok/s: 9,820`
        or (source.delimiter == "," and 2 * len(_THOUSANDS_ALONE.findall(rest)) > rest.count(","))
        or sum(any(map(label, cells)) for cells in columns) == 1
        # `410 img/s, NCCL, 8 GPUs`
        or any(all(map(facts.FORMS.alone.fullmatch, (n, *labels(cells[:1])))) for n, cells in source.cells.items())
        # `jobs on the new cluster` above as many cells
        or (source.delimiter == " " and sum(map(is_common, source.cells)) > 1)
        # `GPU available: True (cuda), used: True`
        or first.count(": ") >= len(columns) > 1
        # `Epoch 0: 8%|█ | 1/12 [00:03<00:10, 0.28it/s, train_loss=8.9]`
        or (
            any("|" in header for header in source.cells)
            and 2 * sum(alike([n], labels(cells[:1]).tolist()) for n, cells in source.cells.items()) > len(columns)
        )
    )
    if facts.begins_with_facts(text, source.delimiter in (" ", RUNS)) or (header_may_be_fact and facts.is_log(text)):
        return facts.source_of_log(text, name) or facts.source_of_settings(text, name) or source
    if (
        source.delimiter in (" ", RUNS)
        and len(source) < LEAST_OF_A_TABLE * text.count("\n")
        and not counts_vary(source.cells)
    ):
        # A log may hold a few rows between blanks, as of the energies of a step.
        return facts.source_of_log(text, name) or source
    if source.delimiter != "|":
        return source
    results = (labels(cells) for header, cells in source.cells.items() if facts.is_result(header))
    has_result = any(mostly_numbers(seconds_of(texts)) for texts in results)
    words = (*words_of("headers.name_of_facts"), *words_of("headers.name_of_quantities"))
    tables = (source, *source.tables)
    of_facts = any(not {*map(plain_name, table.cells)}.isdisjoint(words) for table in tables)
    if not of_facts and (has_result or counts_vary(source.cells, named=False) or shape.melted(source) is not source):
        return source
    # A log may hold a drawn table of something else, as of the devices, or of names beside their values.
    log = facts.source_of_log(_DRAWN_LINE.sub("", facts.FORMS.row_of_two.sub(r"\g<key>: \g<value>", text)), name)
    # Several tables of names beside their values tell of one run.
    are_parts = len(tables) > 1 and all(len({*table.cells} - {shape.TITLES}) == 2 for table in tables)
    is_log = log is not None and (log.steady or (of_facts and (len(log) > 1 or are_parts)))
    return replace(log, tables=(source, *source.tables)) if log is not None and is_log else source


def _table_within(text: str, name: str) -> Source | None:
    """Return the first paragraph of a text that by itself is a table of a scale; None without one."""
    several = (match for match in _PARAGRAPH.finditer(text) if match[0].strip() != text.strip())
    for paragraph in itertools.islice(several, MOST_TABLES):
        # Lines are counted in the whole text.
        source = attempted(_table_or_log, "\n" * text.count("\n", 0, paragraph.start()) + paragraph[0], name)
        if not isinstance(source, Source) or len(source) < 2 or source.runs:
            continue
        if counts_vary(shape.with_factors(source).columns):
            return source
    return None


def open_files(
    sources: Sequence[str | Path], delimiter: str | None = None, tell: Callable[[str], None] | None = None
) -> Source:
    """Read files, patterns and folders as one table, of the same columns or a run a file; `tell` reports how far."""
    name = str(sources[0]) + (f" and {len(sources) - 1} more" if len(sources) > 1 else "")
    with content.unpacked(sources) as folders:
        files = [file for source in folders for file in content.files_of(source)]
        if len(files) > 1:
            # A file that there is not is none of those that hold no run.
            for file in (file for file in files if file != "-" and not os.path.lexists(file)):
                open_source(file)
            return _open_each(files, name, delimiter, tell)
        source = open_source(files[0], delimiter)
        return source if folders == [*sources] else replace(source, name=name)


def stated_runs(text: str) -> Source | None:
    """Return the runs that stand in the place of a file, `1 gpu 100 img/s, 2 gpus 190 img/s`; None for fewer than two.

    >>> stated_runs("1 gpu 100 img/s, 2 gpus 190 img/s").columns["gpus"].tolist()
    [1.0, 2.0]
    """
    runs = None if os.path.exists(text) else facts.source_of_log(text, "runs")
    return runs if runs is not None and len(runs) > 1 else None


def runs_and_question(text: str) -> tuple[str, str]:
    """Return stated runs without the question before or behind them, and the question, or nothing.

    >>> runs_and_question("1 gpu 100 img/s, 2 gpus 190 img/s, what about 8?")
    ('1 gpu 100 img/s, 2 gpus 190 img/s', 'what about 8?')
    >>> runs_and_question("how many gpus for 700 img/s if 1 gpu does 100 img/s and 2 gpus 190 img/s")
    ('1 gpu does 100 img/s and 2 gpus 190 img/s', 'how many gpus for 700 img/s')
    """
    before = _QUESTION_BEFORE.match(text)
    if before and stated_runs(before["question"]) is None and stated_runs(before["runs"]) is not None:
        return before["runs"], before["question"]
    cuts = [(text[: cut.start()], text[cut.end() :]) for cut in re.finditer(r"[,;.?]\s+", text)]
    runs = {cut: len(stated) if (stated := stated_runs(cut[0])) is not None else 0 for cut in cuts}
    in_all = stated_runs(text)
    # What states a run is no question, `one node 410 img/s`.
    of_all = [cut for cut in cuts if runs[cut] >= max(2 if in_all is None else len(in_all), *runs.values())]
    asking = [cut for cut in of_all if _ASKS.match(cut[1])]
    # A clause that only ends as one is the last.
    return next(iter(asking or [cut for cut in of_all[-1:] if cut[1].rstrip().endswith("?")]), (text, ""))


def _open_each(files: Sequence[str], name: str, delimiter: str | None, tell: Callable[[str], None] | None) -> Source:
    """Read files as one table; a job's errors are part of what it printed."""
    printed = {_PRINTED.sub(r"\1", file): file for file in files if _PRINTED.search(file)}
    errors = {p: file for file in files if _ERRORS.search(file) and (p := printed.get(_ERRORS.sub(r"\1", file)))}
    files = [file for file in files if file not in errors.values()]
    places = {file: place for place, file in enumerate(files)}

    def opened(file: str) -> Source:
        if tell is not None and len(files) >= MANY_FILES and places[file] % MANY_FILES == 0:
            tell(f"reading {places[file]:,} of {len(files):,} files")
        source = attempted(open_source, file, delimiter)
        if file in errors and (
            isinstance(source, GenperfError) or source.runs or not any(map(facts.is_result, source.cells))
        ):
            # What a job printed and its errors are one log, where both can be read whole.
            both = attempted(lambda: "\n".join(content.read_text(path)[1] for path in (file, errors[file])))
            log = both if isinstance(both, GenperfError) else attempted(_from_text, both, file, delimiter)
            source = source if isinstance(log, GenperfError) else log
        if isinstance(source, GenperfError):
            raise source
        return source

    return joined(files, name, opened)


def _from_workbook(data: bytes, name: str) -> Source:
    """Return the sheets of a workbook as one table: those of the columns of the first that shows a scale."""
    sheets, faults = _opened(
        documents.sheets_of(data, name), lambda text: replace(_table_or_log(text, name), delimiter=",")
    )
    if not sheets:
        raise faults[0]
    of_a_scale = [sheet for sheet, cells in sheets.items() if counts_vary(cells.cells)]
    columns = {*sheets[[*of_a_scale, *sheets][0]].cells}
    alike = {sheet: cells for sheet, cells in sheets.items() if {*cells.cells} == columns}
    source = next(iter(alike.values())) if len(alike) == 1 else beneath(alike, name, {"sheet": [*alike]})
    left_out = [sheet for sheet in sheets if sheet not in alike]
    report = f"sheet {listed([*alike])} read" + (f", {listed(left_out)} left out" if left_out else "")
    others = tuple(sheets[sheet] for sheet in left_out)
    return replace(source, steps=(step(report), *source.steps), tables=(*source.tables, *others))


def _from_parquet(data: bytes, name: str) -> Source:
    """Return the cells of a Parquet file, unless it has more than memory should hold."""
    try:
        import_module("pyarrow")
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise TableError("reading Parquet needs pyarrow", hint='pip install "genperf[parquet]"', where=name) from None
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        rows, columns = file.metadata.num_rows, file.metadata.num_columns
        frame = file.read().to_pandas() if rows * columns <= content.MAX_PARQUET_CELLS else None
    except Exception as error:  # pyarrow's errors have no common class
        reason = str(error).split("\n")[0]
        raise TableError(f"is not a Parquet file that can be read ({reason})", where=name) from None
    if frame is None:
        hint = '--aggregate summarises them while they are read, with pip install "genperf[large]"'
        most = f"at most {content.MAX_PARQUET_CELLS:,} cells are read into memory"
        raise TableError(f"holds {rows:,} rows of {columns} columns; {most}", hint=hint, where=name)
    return _from_frame(frame, name)


def _from_object(source: Any, delimiter: str | None) -> Source:
    """Read what Python hands over: a DataFrame or what becomes one, or an open file."""
    import pandas as pd

    kind = type(source).__name__
    if isinstance(source, list | tuple) and source and all(isinstance(file, str | Path) for file in source):
        return open_files(source, delimiter)
    if hasattr(source, "read"):
        data = source.read()
        return _from_text(data if isinstance(data, str) else content.decoded(data, kind), kind, delimiter)
    frame: Any = source
    try:
        if isinstance(source, pd.Series):
            frame = source.to_frame()
        elif hasattr(source, "to_pandas"):
            frame = source.to_pandas()
        elif isinstance(source, Iterable) and not isinstance(source, pd.DataFrame | str | bytes):
            # Columns or rows by name: mappings, records, named tuples. Without names they are numbered.
            frame = pd.DataFrame(source if isinstance(source, Mapping | np.ndarray) else [*source])
            frame = None if isinstance(frame.columns, pd.RangeIndex) else frame
    except (ValueError, TypeError) as error:
        raise TableError(f"columns by name make no table: {error}", hint="as many values in each column") from error
    except ImportError as error:
        library = type(source).__module__.partition(".")[0]
        raise TableError(
            f"a table of {library} becomes a DataFrame by pyarrow, which is not installed",
            hint='pip install "genperf[parquet]", or .write_csv("runs.csv") and its path',
        ) from error
    if isinstance(frame, pd.DataFrame):
        return _from_frame(frame, "DataFrame")
    hint = "columns by name, {'gpus': [1, 2], 'seconds': [9.0, 5.1]}, a list of such rows and an open file are tables"
    raise TableError(f"a table is read from a path or a DataFrame, not from {kind}", hint=hint)


def _from_frame(frame: pd.DataFrame, name: str) -> Source:
    """Return the cells of a DataFrame, whose named index is a column as well."""
    import pandas as pd

    # A named index is data (as after groupby or set_index); a row number is not, nor what is a column as well.
    named = [label for label in frame.index.names if label is not None]
    frame = frame.reset_index(level=[label for label in named if label in frame.columns], drop=True)
    frame = frame.reset_index() if any(label is not None for label in frame.index.names) else frame
    if not len(frame.columns):
        raise TableError("the table has no columns", where=name)
    # The levels of a name are its sections: `config.gpus`.
    names = [".".join(filter(None, map(str, c))) if isinstance(c, tuple) else str(c) for c in frame.columns]
    columns = column_names(names, name)
    if not len(frame):
        raise TableError("the table has columns and no rows", where=name)
    top = [(0, columns), *((0, [*map(str, row)]) for row in frame.head(2).itertuples(index=False))]
    below_header = with_units(top)
    frame = frame.iloc[len(top) - len(below_header) :].set_axis(pd.Index(below_header[0][1]), axis=1)
    frame = frame.infer_objects()
    # With their unit, which tells a time from a count.
    durations = {
        str(n): [f"{seconds!r} s" if seconds == seconds else "" for seconds in cells.dt.total_seconds().tolist()]
        for n, cells in frame.select_dtypes("timedelta").items()
    }
    source, has_value = source_of_frame(name, frame.assign(**durations)), frame.notna().any(axis=1).to_numpy()
    if has_value.all():
        return source
    report = f"{counted(int((~has_value).sum()), 'row')} without a filled cell left out"
    return source.take(np.flatnonzero(has_value)).changed(report)


def understood(
    source: str | Path | pd.DataFrame | Source,
    delimiter: str | None = None,
    named: Collection[str] = (),
    units: Mapping[str, str] | None = None,
) -> Source:
    """Read a source of any shape: rows, then wide to long, numbers without units, factors inside names.

    Where the user `named` columns, the table keeps its shape, unless some of them exist only in the other. `units` are
    those of time that the user gave for columns: cells with units are converted to them.

    >>> runs = pd.DataFrame({"run": ["baseline", "pipe-2", "pipe-4"], "Time": ["8 s", "5 s", "3000 ms"]})
    >>> source = understood(runs)
    >>> list(source.columns), list(source.columns["Time"]), list(source.columns["pipe"])
    (['run', 'Time', 'pipe', 'run kind'], [8.0, 5.0, 3.0], [1, 2, 4])
    >>> print(source.steps[0])
    3 cells: 's' and 'ms' of 'Time' converted to 's'
    >>> source.names["run"].of("pipe-8")
    {'pipe': 8.0, 'run kind': 'pipe'}
    """
    opened = source if isinstance(source, Source) else open_source(source, delimiter)
    if not named and not opened.runs and not counts_vary(opened.cells):
        opened = facts.source_of_steps(opened) or opened
    opened = _with_duration(opened) if any(MOMENT.fullmatch(name.lower()) for name in opened.cells) else opened
    opened = _with_one_pace(opened) if opened.runs else opened
    table = _with_merged_cells(_without_idle(_without_rows_of_others(opened), named))
    for name, both in [(n, of) for n in table.cells if n not in named and (of := _TWO_NAMES.fullmatch(n)) is not None]:
        pairs = [_TWO_COUNTS.fullmatch(text) for text in labels(table.cells[name]).tolist()]
        if all(meant_by(word) in LEVELS for word in both.groups()) and None not in pairs:
            # `nodes (GPUs)` above `2 (16)`
            parted = {both[k]: np.array([pair[k] for pair in pairs if pair], dtype=object) for k in (1, 2)}
            rest = table.without([name])
            table = replace(rest, cells={**parted, **rest.cells})
    has_blanks = any(
        not _BLANKS.isdisjoint(cells.tolist()) for cells in table.cells.values() if cells.dtype.kind == "O"
    )
    table = _with_failures(_without_empty_rows(table)) if has_blanks else table
    table = shape.with_variants(table) if shape.VARIANT in named and shape.VARIANT not in table.columns else table
    apart = table if named else facts.with_facts(shape.melted(table))
    numeric = _with_numbers(apart, {**dict.fromkeys(named, "s"), **(units or {})})
    scaled = shape.of_all_devices(numeric) if numeric.runs else numeric
    tidy = tidied(shape.with_factors(scaled, named), named)
    if not named and (stated := TITLE_OF_SCALED.search(tidy.caption.lower())) and "scaling" not in tidy.columns:
        tidy = replace(tidy, read={**tidy.read, "scaling": np.full(len(tidy), stated[1], dtype=object)})
    if not named and IN_TOKENS.search(" ".join(tidy.columns)) is not None:
        tidy = _with_length_of_samples(tidy)
    batch, sequence = (column_of(part, tidy.columns) for part in ("global_batch", "sequence"))
    if batch and sequence and batch not in named and IN_TOKENS.search(batch) is None:
        tidy = _with_batch_in_tokens(tidy, batch, sequence)
    if lacking := {*named} - {*tidy.columns}:
        reshaped = understood(opened, units=units)
        if lacking & {*reshaped.columns} and {*named} - {*reshaped.columns} < lacking:
            return reshaped
    return facts.read_back(tidy)


def _with_length_of_samples(source: Source) -> Source:
    """Put the tokens of a sample in place of those of a step, beside the samples of a step or of a device.

    Those of a `batch` are of all, or else of a device, where the tokens of a sample are then the same in every run.
    """
    of_steps = [n for n in source.columns if canonical_of(n) == "global_batch"]
    tokens = next((n for n in of_steps if IN_TOKENS.search(n)), None)
    global_batch = next((n for n in of_steps if not IN_TOKENS.search(n)), None)
    batch, devices = (column_of(part, source.columns) for part in ("batch", "workers"))
    columns = [tokens, *([global_batch] if global_batch else [batch, devices])]
    if None in columns or column_of("sequence", source.columns) is not None:
        return source
    of_step, *sizes = (np.array([number_in(text) for text in labels(source.columns[n or ""])]) for n in columns)
    for samples in np.cumprod(sizes, axis=0):
        lengths = of_step / samples if samples.min() > 0.0 else np.zeros(1)
        alike = global_batch is not None or len({*lengths}) == 1 < len({*sizes[-1]})
        if alike and lengths.min() >= 1.0 and np.array_equal(lengths, lengths.round()):
            rest = source.without({tokens or ""})
            report = f"the tokens of a sample, 'sequence', follow from '{tokens}' and '{global_batch or batch}'"
            return rest.changed(report, cells={**rest.cells, "sequence": lengths})
    return source


def _with_batch_in_tokens(source: Source, batch: str, sequence: str) -> Source:
    """Name the unit of a batch of all that is of tokens: of so long sequences no step has so many samples."""
    samples, lengths = (np.array([number_in(text) for text in labels(source.columns[n])]) for n in (batch, sequence))
    if not (len(source) and samples.min() > MOST_SEQUENCES and lengths.min() >= LEAST_SEQUENCE):
        return source
    report = f"'{batch}' is taken to be in tokens: no step has {samples.min():,.0f} samples of such a length"
    return source.renamed({batch: f"{batch} (tokens)"}).changed(report)


def _unit_of_rows(source: Source, stating: Sequence[str]) -> dict[str, str]:
    """Return the unit that a column states for what was measured beside it: `real_time,time_unit`, `Score,Units`."""
    units = {canonical_time(text) or text for name in stating for text in map(label, source.cells[name])}
    if len(units) != 1:
        return {}
    (unit,) = units
    # `Score`: what no header says anything of, and holds fractions.
    unnamed = [n for n in source.cells if header_of(n) == Header() and meant_by(n) is None]
    texts = {n: labels(source.cells[n]).tolist() for n in unnamed}
    scores = [n for n, cells in texts.items() if mostly_numbers(cells) and any("." in cell for cell in cells)]
    return _of_its_kind(source, unit) or (dict.fromkeys(scores, unit) if header_of(f"x ({unit})").kind else {})


def _of_its_kind(source: Source, unit: str) -> dict[str, str]:
    """Return the columns of the kind of a unit, of times or of rates, whose headers name none, with it."""
    headers, kind = {n: header_of(n) for n in source.cells if bare(n) == n}, header_of(f"x ({unit})").kind
    alike = [n for n, of in headers.items() if of.kind == kind and of.unit == "s" and not (of.counted or of.shared)]
    return {n: unit for n in alike if kind in ("time", "rate") and not _SECONDS.search(n)}


def _with_duration(source: Source) -> Source:
    """Add how long runs took where two columns say when each began and ended, and no header a time or a rate."""
    by_kind = {bool(match["begun"]): n for n in source.cells if (match := MOMENT.fullmatch(n.lower()))}
    texts = {n: [text.strip() for text in labels(source.cells[n]).tolist()] for n in by_kind.values()}
    are_times = all(map(_TIME_OF_DAY.fullmatch, itertools.chain(*texts.values())))
    if len(by_kind) != 2 or not are_times or any(header_of(name).kind in ("time", "rate") for name in source.cells):
        return source
    try:
        start, end = (np.array([text[:19] for text in texts[by_kind[k]]], "datetime64[s]") for k in (True, False))
    except ValueError:  # no day of a calendar
        return source
    report = f"'duration' is '{by_kind[False]}' less '{by_kind[True]}', in seconds"
    return source.changed(report, cells={**source.cells, "duration": (end - start) / np.timedelta64(1, "s")})


def _with_one_pace(source: Source) -> Source:
    """Return runs of which some report the steps of a second and others the seconds of a step, with one of these."""
    for column, other in itertools.combinations([n for n in source.cells if pace_of(n)], 2):
        reported = {n: np.array([label(cell) != "" for cell in source.cells[n]]) for n in (column, other)}
        more, fewer = sorted(reported, key=lambda n: -int(reported[n].sum()))
        taken = reported[fewer]
        paces = np.array([number_in(cell) for cell in source.cells[fewer][taken]])
        if not (facts.inverse(column, other) and taken.any() and np.all(paces > 0.0)) or np.any(reported[more] & taken):
            continue
        cells = {n: cells.copy() for n, cells in source.cells.items() if n != fewer}
        cells[more][taken] = (1.0 / paces).tolist()
        steady = {n: steps.copy() for n, steps in source.steady.items() if n != fewer}
        if fewer in source.steady:
            count, low, high, slow = source.steady[fewer].T
            with np.errstate(divide="ignore"):
                inverted = np.array([count, 1.0 / high, 1.0 / low, slow]).T
            steady[more] = np.where(taken[:, None], inverted, steady.get(more, np.zeros_like(inverted)))
        report = f"{counted(int(taken.sum()), 'cell')} of '{fewer}' read as '{more}'"
        source = source.changed(report, cells=cells, steady=steady)
    return source


_OF_A_CHART = late(rf"{any_of('columns.end_of_a_chart')}$")
#: A count, whatever of: it has not the unit of a title.
_NAMELESS = late(any_of("headers.nameless"))
_STATISTIC = late(rf"{any_of('headers.statistic')}|p\d\d?|min|count|\d+ ?%")
#: `mean`, `std`, `total`: a row about the others.
_MEAN, _SPREAD, _SUM = (
    late(rf"\W*{any_of(words)}\W*", re.IGNORECASE) for words in ("cells.mean", "columns.spread", "cells.sum")
)


def _without_rows_of_others(source: Source) -> Source:
    """Leave out rows about others: the steps of a scheduler's jobs beside the jobs, means of runs, and spreads."""
    for name, cells in source.cells.items():
        different = {*cells.tolist()} if cells.dtype.kind == "O" else set[Any]()
        if plain_name(name) in words_of("columns.job"):
            of_others = {cell for cell in different if _JOB_STEP.fullmatch(str(cell))}
            row, what = "step", "of jobs beside the jobs"
        else:
            texts = different if len(different) <= MOST_NAMES else set[Any]()
            means, spreads, sums = (
                {c for c in texts if isinstance(c, str) and of.fullmatch(c)} for of in (_MEAN, _SPREAD, _SUM)
            )
            # `linear` may be a kind of attention, and no ideal.
            means |= {
                c
                for c in texts
                if isinstance(c, str) and c.strip().lower() in {*words_of("columns.ideal")} - {"linear"}
            }
            # `mean` beside `p95` and `max` is what was measured.
            runs = [c for c in texts - means - spreads if not _STATISTIC.fullmatch(str(c).strip().lower())]
            of_others = means | spreads if runs else spreads
            if sums and _sums_counts(source, np.isin(cells.astype(str), [*sums])):
                of_others |= sums
            row, what = "row", "about the others"
        rows = source.cells[name].tolist() if of_others else []
        is_run = np.array([cell not in of_others for cell in rows], dtype=bool)
        if is_run.any() and not is_run.all():
            examples = f" ({listed(sorted(of_others))} in '{name}')" if row == "row" else ""
            report = f"{counted(int((~is_run).sum()), row)} {what}{examples} left out"
            source = source.take(np.flatnonzero(is_run)).changed(report)
    return source


def _without_empty_rows(source: Source) -> Source:
    """Leave out rows that have neither a count nor a result where the others have both: evaluations beside steps."""
    texts = {n: labels(cells) for n, cells in source.cells.items() if cells.dtype.kind == "O"}
    kinds = [[n for n in texts if of(n)] for of in (counts_scale, lambda n: header_of(n).kind in ("time", "rate"))]
    has_any = [np.any([~np.isin(texts[n], [*_BLANKS]) for n in names], axis=0) for names in kinds]
    is_empty = ~(has_any[0] | has_any[1]) if all(kinds) else np.zeros(len(source), dtype=bool)
    if not is_empty.any() or not (has_any[0] & has_any[1]).any():
        return source
    report = f"{counted(int(is_empty.sum()), 'row')} without a count and a result left out"
    return source.take(np.flatnonzero(~is_empty)).changed(report)


def _sums_counts(source: Source, is_sum: AnyArray) -> bool:
    """Tell whether rows have the sum of the counts above each: the `total` of the phases of a step has their own."""
    counts = [np.array([number_in(cell) for cell in labels(c)]) for n, c in source.cells.items() if counts_scale(n)]
    ends = np.flatnonzero(is_sum).tolist()
    # Subtotals are of the rows since the one before, and a grand total of all.
    runs = [np.flatnonzero(~is_sum[:end]) for end in ends]
    since = [rows[rows > begin] for begin, rows in zip([-1, *ends], runs, strict=False)]
    return any(
        all(
            len(rows) > 1 and c[end] in (c[rows].sum(), c[of].sum())
            for end, rows, of in zip(ends, runs, since, strict=True)
        )
        for c in counts
    )


def _without_idle(source: Source, named: Collection[str]) -> Source:
    """Set aside the columns of texts without a filled cell, and a first one without a name that counts the rows.

    So are the least and the largest of each of several columns beside it, `run-8 - step_time__MIN`, as of a chart.
    """
    ends = [n for n in source.columns if (end := _OF_A_CHART.search(n)) and n[: end.start()] in source.columns]
    source = source.without(ends) if 0 < len(ends) < len(source.columns) else source
    idle = []
    for position, (name, cells) in enumerate(source.columns.items()):
        # Columns that are numbers already, as those of Parquet, have their meaning.
        if name not in named and cells.dtype.kind not in "iufb":
            nameless = position == 0 and (name == "column 1" or re.fullmatch(r"(Unnamed: ?)?[\W\d]*", name))
            from_zero_or_one = [[*map(str, range(start, start + len(cells)))] for start in (0, 1)]
            numbers = [text.lstrip("0") or "0" for text in labels(cells).tolist()]
            if not any(map(label, cells)) or (nameless and numbers in from_zero_or_one):
                idle.append(name)
    return replace(source, idle=tuple(idle)) if len(source) and len(idle) < len(source.cells) else source


def _with_merged_cells(source: Source) -> Source:
    """Fill empty cells and ditto marks of leading columns with what stands above, where rows below each are alike."""
    columns = source.columns
    merged: dict[str, AnyArray] = {}
    for name, column in ((name, column) for name, column in columns.items() if name != shape.TITLES):
        texts = labels(column).tolist()
        is_filled = np.array([text.lower() not in _DITTO for text in texts], dtype=bool)
        if is_filled[:FIRST_ROWS].all():
            break
        starts = np.flatnonzero(is_filled)
        if not 1 < len(starts) < len(column) or starts[0]:
            break
        blocks = np.searchsorted(starts, np.arange(len(column)), side="right") - 1
        if np.mean(np.bincount(blocks) > 1) < 0.5:
            # One empty cell of a full column is no merged one.
            break
        # A count begins again in each block, and is there once in it.
        label_lists = (labels(cells).tolist() for n, cells in columns.items() if n not in (name, *merged))
        again = (
            len({*cells}) < len(cells) == len({*zip(blocks, cells, strict=True)}) for cells in label_lists if all(cells)
        )
        if not any(again):
            break
        merged[name] = column[starts][blocks]
    if not merged:
        return source
    report = f"unfilled cells of {listed([*map(repr, merged)])} take what stands above them"
    return source.changed(report, cells={**source.cells, **merged})


_BLANKS = frozenset(("", *words_of("cells.missing")))


def _with_failures(source: Source) -> Source:
    """Write into the empty results of a row why its run failed, where only another result says it: `OOM` as memory."""
    texts = {n: labels(source.cells[n]).tolist() for n in source.cells if facts.is_result(n)}
    failed = {k: why for cells in texts.values() for k, text in enumerate(cells) if (why := facts.failure_of(text))}
    # A run that measured something did not fail.
    failed = {k: why for k, why in failed.items() if not any(is_number(cells[k]) for cells in texts.values())}
    reasons: dict[str, AnyArray] = {}
    for name, cells in texts.items():
        rows = [k for k in failed if cells[k] in _BLANKS]
        if rows and mostly_numbers(cells):
            reasons[name] = np.array([failed[k] if k in rows else cell for k, cell in enumerate(cells)], dtype=object)
    return replace(source, cells={**source.cells, **reasons}) if reasons else source


def _with_numbers(source: Source, units: Mapping[str, str], points: bool = False) -> Source:
    """Read the numbers of columns of text, beside units, ±, brackets and footnotes, and the unit of each column."""
    # `8gpu.log` is a name that holds a count, and no number with a unit.
    texts = {
        n: cells.tolist() for n, cells in source.columns.items() if cells.dtype.kind == "O" and n not in facts.PATHS
    }
    words = {*re.split(r"[\W\d_]+", " ".join(source.columns).lower())}
    comma = points or not words.isdisjoint(words_of("headers.decimal_comma"))
    first_texts = [cell.strip() for cells in texts.values() for cell in cells[:FIRST_ROWS] if isinstance(cell, str)]
    decimal_point = any("." in text and is_number(text) and not EUROPEAN_GROUPS.fullmatch(text) for text in first_texts)
    # Beside decimal points a comma parts thousands, whatever parts the cells.
    delimiter = "" if decimal_point else source.delimiter
    read, units_in_cells, steps = dict[str, AnyArray](), dict[str, str](), [*source.steps]
    for name, cells in texts.items():
        parsed = parsed_column(name, cells, delimiter, units.get(name), comma, points)
        # `8 GPUs` in a column `config` is a name that holds a count as well, as `1 node (8 GPUs)` is in one of GPUs.
        level, meant = (None, None) if parsed is None else (meant_by(parsed[1]), meant_by(name))
        # `32B model` above a table is its title.
        is_title = name == shape.TITLES and parsed is not None and parsed[1] != ""
        is_count = level in LEVELS and (meant is None or {level, meant} == {*LEVELS})
        if parsed is not None and not is_title and not is_count:
            read[name], unit, notes = parsed
            units_in_cells |= {name: unit} if unit else {}
            steps += notes
    if not (points or decimal_point) and any("decimal comma read" in note.text for note in steps):
        # Beside `1.904,5` and `18,80` the points of other columns part thousands, and no comma does.
        return _with_numbers(source, units, points=True)
    unread = [n for n in texts if n not in read and header_of(n).kind == "rate"]
    for name in unread if not (points or decimal_point) else ():
        dotted = [text for text in texts[name] if isinstance(text, str) and "." in text]
        may_part = source.delimiter == ";" or all(text.endswith("0") for text in dotted)
        if dotted and may_part and all(map(EUROPEAN_GROUPS.fullmatch, dotted)):
            taken = f"{dotted[0]} of '{name}' is read with a decimal point"
            steps.append(step(f"{taken}; where it parts thousands, write the number without it"))
    beside = {n: (name, c) for name in read for n, c in shape.counts_beside(name, texts[name]).items()}
    for made, (name, counts) in beside.items():
        if made not in source.columns:
            read[made] = counts
            steps.append(step(f"{counted(len(counts), 'cell')}: '{made}' read from the brackets in '{name}'"))
    stating = [name for name in source.cells if plain_name(name) in words_of("headers.unit_column")]
    stated = _unit_of_caption(source) if source.caption else {}
    stated |= _unit_of_rows(source, stating) if stating else {}
    source = replace(source, read=read, units={**stated, **source.units, **units_in_cells}, steps=tuple(steps))
    has_both = {header_of(name).kind for name in source.columns} >= {"rate", "time"}
    return replace(source, units={**_unit_by_rates(source), **source.units}) if has_both else source


def _unit_by_rates(source: Source) -> dict[str, str]:
    """Return milliseconds as the unit of times that have none, in which a batch over a time is the rate beside it."""
    rates = [n for n in source.columns if (of := header_of(n)).kind == "rate" and of.counted and not of.shared]
    batch = column_of("global_batch", source.columns) or column_of("batch", source.columns)
    if batch is None or len(rates) != 1:
        return {}
    times = [*_of_its_kind(source, "ms")]
    rate, size, *of_times = ([number_in(text) for text in labels(source.columns[n])] for n in (*rates, batch, *times))
    works = zip(times, (np.multiply(rate, of_time) for of_time in of_times), strict=True)
    return {n: "ms" for n, work in works if np.allclose(work, np.multiply(size, 1000.0), rtol=0.1)}


def _unit_of_caption(source: Source) -> dict[str, str]:
    """Return the unit that a caption states of columns of numbers, where no header says anything of them."""
    # `Weak scaling` is a kind of experiment, and no ratio, and several sentences may speak of one.
    relative = ". " not in source.caption and is_relative(TITLE_OF_SCALED.sub("", source.caption.lower()))
    # `the average number of tokens processed per GPU per second`
    rates = [header_of(text) for text in re.split(r"[.,;:]\s+", source.caption) if not re.search(r"\d", text)]
    spelled = [f"{rate.counted}/s{'/device' * rate.shared}" for rate in rates if rate.kind == "rate" and rate.counted]
    stated = units_in(source.caption) or spelled
    if of_their_kind := {n: unit for text in stated for n, unit in _of_its_kind(source, text).items()}:
        return of_their_kind
    unit = next(iter(stated), "x" if relative else "")
    # Of `throughput in img/s (time in s)` either may be meant.
    kinds = {header_of(f"x ({text})").kind for text in stated}
    if not unit or kinds >= {"rate", "time"} or any(header_of(name).kind for name in source.cells):
        return {}
    # A number may have a mark beside it, and no unit of its own.
    columns = {n: cells for n, cells in source.cells.items() if n == "value" or "value" not in source.cells}
    columns = {n: cells for n, cells in columns.items() if not _NAMELESS.fullmatch(plain_name(n))}
    numeric = {n: cells for n, cells in columns.items() if meant_by(n) is None and not is_relative(n)}
    amounts = {n: [*map(parts_of, map(str, cells))] for n, cells in numeric.items()}
    without_unit = {n: sum(cell is not None and not cell.unit for cell in cells) for n, cells in amounts.items()}
    return {n: unit for n, count in without_unit.items() if 2 * count > len(source)}
