"""Several files → one table: tables of the same columns below each other, or a run a file, with its path."""

from __future__ import annotations

import itertools
import operator
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from genperf.errors import TableError, counted, listed
from genperf.table.cells import Source, source_of, step
from genperf.table.clean import label, labels, number_in
from genperf.table.facts import is_result, source_of_steps, steady_of
from genperf.vocabulary import words_of
from genperf.vocabulary.names import canonical_of, counts_devices

_ENDINGS = frozenset(words_of("columns.ending"))

#: Of a run without steps of a column: their count and quantiles.
NO_STEPS = (0.0, np.nan, np.nan)


def joined(files: Sequence[str], name: str, opened: Callable[[str], Source]) -> Source:
    """Return files as one table: where each is a run, a row each, beside what differs between their paths.

    Raises
    ------
    TableError
        Where none can be read, or tables of several rows have other columns than the first.
    """
    sources: dict[str, Source] = {}
    unread: dict[str, TableError] = {}
    for file in files:
        try:
            sources[file] = opened(file)
        except TableError as error:
            unread[file] = error
    if not sources:
        raise next(iter(unread.values()))
    rows = {file: source_of_steps(source) or source for file, source in sources.items()}
    # Tables with a header are put below each other, also where each has a single row.
    runs = {file: source for file, source in rows.items() if len(source) == 1 and not source.delimiter}
    data_files = [file for file in rows if file not in runs]
    # Beside the runs of a folder may lie what watched them, with columns of its own.
    tables = [file for file in data_files if any(map(is_result, sources[file].cells))]
    alike = len({frozenset(sources[file].cells) for file in data_files}) < 2
    if not runs or (2 * len(runs) <= len(rows) and tables and alike):
        if unread:
            raise next(iter(unread.values()))
        return beneath(sources, name, _paths([*sources]))
    left = [os.path.basename(file) for file in (*unread, *data_files)]
    hold = "that holds" if len(left) == 1 else "that hold"
    text = f"{counted(len(left), 'file')} {hold} no run left out: {listed(left, 3)}"
    return _beside(runs, name, [text] if left else [])


def beneath(sources: Mapping[str, Source], name: str, origins: Mapping[str, Sequence[str]]) -> Source:
    """Return tables of the same columns below each other, each with where it is from, by the column that says so."""
    front, *_ = opened = list(sources.values())
    names = [*front.cells]
    if all(s.unit == "record" for s in opened):
        # A record lacks what it does not say.
        names = list(dict.fromkeys(n for s in opened for n in s.cells))
        opened = [replace(s, cells={n: s.cells.get(n, np.full(len(s), "", object)) for n in names}) for s in opened]
    for following in opened:
        if {*following.cells} != {*names}:
            what = f"has the columns {listed([*following.cells])}, and {front.name} has {listed(names)}"
            raise TableError(what, hint="files of one table have the same columns", where=following.name)
    cells = {n: np.concatenate([s.cells[n].astype(object) for s in opened]) for n in names}
    ragged = tuple(rejection for s in opened for rejection in s.ragged)
    counts = Counter(done.text for s in opened for done in s.steps)
    steps = tuple(step(f"{text} (in {n} of {len(opened)} files)") for text, n in counts.items())
    lines = np.arange(1, sum(map(len, opened)) + 1)
    paths = np.repeat(np.arange(len(opened)), list(map(len, opened)))
    named = {n: np.array(texts, dtype=object)[paths] for n, texts in origins.items() if n not in cells}
    steady = {
        n: np.concatenate([s.steady.get(n, np.full((len(s), 3), NO_STEPS)) for s in opened])
        for n in dict.fromkeys(n for s in opened for n in s.steady)
    }
    return replace(
        front, name=name, cells={**named, **cells}, lines=lines, unit="row", ragged=ragged, steps=steps, steady=steady
    )


def _beside(runs: Mapping[str, Source], name: str, steps: Sequence[str]) -> Source:
    """Return runs as rows; files of one folder whose names recur in others are one run."""
    folders: dict[str, list[str]] = {}
    for file in runs:
        folders.setdefault(os.path.dirname(file), []).append(file)
    alike = Counter(os.path.basename(file) for file in runs)
    several = len(folders) > 1 and all(alike[os.path.basename(file)] > 1 for file in runs)
    groups = folders if several else {file: [file] for file in runs}
    records: list[dict[str, Any]] = []
    steady: list[dict[str, Any]] = []
    units: dict[str, str] = {}
    for paths in groups.values():
        record: dict[str, Any] = {}
        spread: dict[str, Any] = {}
        for source in (runs[path] for path in paths):
            record |= {n: cells[0] for n, cells in source.cells.items() if n not in record and label(cells[0])}
            units |= {n: unit for n, unit in source.units.items() if n not in units}
            spread |= {n: cells[0] for n, cells in source.steady.items()}
        records.append(record)
        steady.append(spread)
    ended = [any(is_result(n, units.get(n, "")) or n in _ENDINGS for n in record) for record in records]
    if any(ended):
        # Files of settings alone are no runs: those of a folder are of the only run in it, or in the folder above.
        ends = dict(itertools.compress(zip(groups, records, strict=True), ended))
        for place, record in itertools.compress(zip(groups, records, strict=True), map(operator.not_, ended)):
            for folder in (place, os.path.dirname(place)):
                inside = [inner for path, inner in ends.items() if f"{path}{os.sep}".startswith(f"{folder}{os.sep}")]
                if several and len(inside) == 1:
                    inside[0].update({n: cell for n, cell in record.items() if n not in inside[0]})
        groups = dict(itertools.compress(groups.items(), ended))
        records, steady = [*itertools.compress(records, ended)], [*itertools.compress(steady, ended)]
    named = {n: texts for n, texts in _paths([*groups]).items() if not any(n in record for record in records)}
    columns = list(dict.fromkeys(n for record in records for n in record))
    cells = [
        [*(texts[i] for texts in named.values()), *(record.get(n, "") for n in columns)]
        for i, record in enumerate(records)
    ]
    spreads = steady_of(columns, steady)
    counts = Counter(done.text for source in runs.values() for done in source.steps)
    notes = [*steps, *(f"{text} (in {n} of {len(runs)} files)" for text, n in counts.items() if n < 2)]
    return source_of(
        name,
        [*named, *columns],
        cells,
        range(1, len(cells) + 1),
        "file",
        units=units,
        steps=tuple(map(step, notes)),
        steady=spreads,
        runs=True,
    )


def _paths(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the parts of paths that differ, as columns: of files their names, of folders theirs."""
    names = [[*os.path.normpath(path).split(os.sep)] for path in paths]
    width = max(map(len, names))
    columns: dict[str, list[str]] = {}
    for place in range(width):
        texts = [row[place] if place < len(row) else "" for row in names]
        if len({*texts}) > 1:
            last = all(place == len(row) - 1 for row in names)
            files = last and any("." in text for text in texts)
            number = sum(n.startswith("folder") for n in columns) + 1
            called = "file" if files else "folder" if number == 1 else f"folder {number}"
            columns[called] = [os.path.splitext(text)[0] for text in texts] if files else texts
    return columns


def tidied(source: Source, named: Collection[str] = ()) -> Source:
    """Return runs without columns that say what another one says: their names are aliases, and they fill it up."""
    if not source.runs or len(source) < 2:
        return source
    texts = {n: labels(cells).tolist() for n, cells in source.columns.items() if n not in source.names}
    chosen = sorted(
        texts, key=lambda n: (n not in named, canonical_of(n) is None, not counts_devices(n), not is_result(n))
    )
    aliases: dict[str, str] = {}
    full: dict[str, list[str]] = {}
    for name in chosen:
        cells = texts[name]
        for further_name in full:
            pairs = [(a, b) for a, b in zip(full[further_name], cells, strict=True) if a and b]
            if name not in named and len({a for a, _ in pairs}) > 1 and all(map(_equal, pairs)):
                aliases[name] = further_name
                full[further_name] = [a or b for a, b in zip(full[further_name], cells, strict=True)]
                break
        else:
            full[name] = cells
    # What only some runs say parts them from the others by no setting.
    partly = {n for n, c in full.items() if not all(c) and n not in named and not (canonical_of(n) or is_result(n))}
    partly = {n for n in partly if not is_result(n, source.units.get(n, "")) and n not in _ENDINGS}
    if not aliases and not partly:
        return source
    gone = {*aliases, *partly}
    cells = {n: column for n, column in source.cells.items() if n not in gone}
    read = {n: column for n, column in source.read.items() if n not in gone}
    for further_name in {*aliases.values()}:
        if full[further_name] != texts[further_name]:
            read[further_name] = np.array(full[further_name], dtype=object)
    names = {
        n: replace(taken, columns={w: aliases.get(c, c) for w, c in taken.columns.items()})
        for n, taken in source.names.items()
    }
    return replace(source, cells=cells, read=read, names=names, aliases={**source.aliases, **aliases})


def _equal(pair: tuple[str, str]) -> bool:
    left, right = pair
    return left == right or abs(number_in(left) - number_in(right)) <= 1e-9 * abs(number_in(left))
