"""Counts inside names: `8x A100 80GB`, `n=8, m=32`, `pipeline-4`, `8_worker_4_cores.txt` → columns beside the name."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import Note, counted, listed
from genperf.table.cells import Source, step
from genperf.table.clean import is_number, label, labels
from genperf.vocabulary import words_of
from genperf.vocabulary.names import meant_by, plain_name


@dataclass(frozen=True)
class LevelSettings:
    """Which names are taken apart."""

    #: Different names of a column: more are texts of single runs, of which only `a=1, b=2` is read. A guess.
    max_levels: int = 1000
    #: Names without a number that a column may have. A guess: a baseline, and one more.
    baselines: int = 1


LEVELS = LevelSettings()
_PAIR = re.compile(r"([^\W\d]\w*)\s*[=:]\s*([+-]?\d+(?:\.\d+)?)(?![\w.])")
_MULTIPLE = re.compile(r"(?:^|(?<=\s))(\d+)\s*[x×]\s*(?=[^\W\d_])|(?<=\w)\s+[x×]\s?(\d+)(?!\w)")
#: Nodes × devices of each.
_GRID = re.compile(r"(\d+)\s*[x×*]\s*(\d+)")
_FILE_END = re.compile(r"\.(?:txt|log|out|csv|json|dat|err|yaml|yml)$", re.IGNORECASE)
#: `4 cores`, `8_worker`, `064x`, before the word; `pipeline-4`, `nodes_8`, `worker16`, `v3-32` behind it.
_NUMBER_FIRST = re.compile(r"(?<![^\W_])(\d+)[\s_\-]?([^\W\d_]+)(?![^\W_])")
_WORD_FIRST = re.compile(r"(?<![^\W_])([^\W\d_]+(?:\d+(?=-))?)(?:[\s_\-]+|(?<=[^\W\d_]{3}))(\d+)(?![^\W_])")
_RUN = re.compile(r"[\s_\-]+(\d+)$")
Values = dict[str, float]
Taken = tuple[Values, str]


@dataclass(frozen=True)
class Names:
    """A column of names that was taken apart."""

    column: str
    #: The word beside each number, and the column that has the numbers.
    columns: Mapping[str, str]
    #: For each name the numbers that it holds, by the word.
    values: Mapping[str, Values]
    #: For each name what is left of it without its numbers.
    kind: Mapping[str, str]
    kind_column: str
    #: Takes a name apart.
    read: Callable[[str], Taken | None]

    def of(self, name: str) -> dict[str, float | str]:
        """Return what a name says, measured or not: its numbers by column, and its kind; empty where it says nothing.

        Examples
        --------
        >>> taken = names_of("run", ["baseline", "pipeline-1", "pipeline-2", "pipeline-4"])
        >>> taken.of("pipeline-8"), taken.of("other")
        ({'pipeline': 8.0, 'run kind': 'pipeline'}, {})
        """
        known = (self.values[name], self.kind[name]) if name in self.values else self.read(name)
        if known is None or set(known[0]) != {*self.columns}:
            return {}
        numbers = {self.columns[word]: value for word, value in known[0].items()}
        return {**numbers, **({self.kind_column: known[1]} if self.kind_column else {})}


def names_of(column: str, names: list[str]) -> Names | None:
    """Take the different names of a column apart; None where they do not share a pattern.

    Every name must hold the same numbers, but for a baseline; names that only differ by what is no count (`resnet50`,
    `resnet101`; `V100`, `A100`) stay.
    """
    for read in (_grid_of(column), _pairs, _multiple, _counted):
        if read is None:
            continue
        parsed = {name: taken for name in names if (taken := read(name)) is not None}
        without = [name for name in names if name not in parsed]
        if read is _multiple and parsed:
            # A name without a multiple is of one.
            parsed |= {name: ({"devices": 1.0}, name.strip()) for name in without}
            without = []
        keys = {frozenset(values) for values, _ in parsed.values()}
        if len(keys) != 1 or len(parsed) < 2 or len(without) > LEVELS.baselines or len(without) >= len(parsed):
            continue
        columns = list(next(iter(parsed.values()))[0])
        if read in (_multiple, _counted) and not _are_counts(columns, parsed):
            continue
        parsed |= {name: (dict.fromkeys(columns, 1.0), name) for name in without}
        kinds = _without_runs(parsed)
        kind_column = f"{column} kind" if len(set(kinds.values())) > 1 else ""
        values = {name: numbers for name, (numbers, _) in parsed.items()}
        return Names(column, {word: word for word in columns}, values, kinds, kind_column, read)
    return None


def with_factors(source: Source) -> Source:
    """Return a table with the columns that names in others hold, and what each column of names was taken apart into.

    A column that is there already with the same values is not made again.
    """
    made: dict[str, npt.NDArray[Any]] = {}
    taken: dict[str, Names] = {}
    steps: list[Note] = []
    for column, values in source.columns.items():
        texts = labels(values).tolist() if values.dtype.kind == "O" else []
        different = sorted({*texts} - {""})
        many = 2 <= len(different) <= LEVELS.max_levels and not all(map(is_number, different))
        names = names_of(column, different) if many else None
        if names is None:
            continue
        new: dict[str, npt.NDArray[Any]] = {}
        renamed: dict[str, str] = {}
        for name in names.columns:
            read = np.array([_whole(names.values[t][name]) if t else "" for t in texts], dtype=object)
            equal = next((other for other, cells in source.columns.items() if _equal(cells, read)), None)
            free = name if name not in {*source.columns, *made, *new} else f"{column} {name}"
            renamed[name] = equal or free
            if equal is None:
                new[free] = read
        if names.kind_column and names.kind_column not in source.columns:
            new[names.kind_column] = np.array([names.kind.get(t, "") for t in texts], dtype=object)
        taken[column] = replace(names, columns=renamed)
        made |= new
        if new:
            filled = counted(sum(map(bool, texts)), "cell")
            steps.append(step(f"{filled}: {listed([repr(n) for n in new], 6)} read from the names in '{column}'"))
    return replace(source, read={**source.read, **made}, names=taken, steps=(*source.steps, *steps))


def _grid_of(column: str) -> Callable[[str], Taken | None] | None:
    """Return what reads `2x4`, where the header names both: `nodes x gpus`, or counts devices or a layout of them."""
    inside = re.sub(r".*[(\[](.*)[)\]]\s*$", r"\1", column)
    words = [word for word in re.split(r"\s*[×*]\s*|\s+(?:x|by)\s+", inside) if word]
    of_nodes = [*map(meant_by, words)] in (["nodes", "workers"], ["workers"], ["nodes"])
    of_nodes |= len(words) == 1 and plain_name(column) in words_of("columns.nodes_by_devices")

    def read(name: str) -> Taken | None:
        match = _GRID.fullmatch(name.strip())
        if match is None:
            return None
        one, other = float(match[1]), float(match[2])
        if of_nodes:
            return {"nodes": one, "devices_per_node": other, "devices": one * other}, ""
        return {words[0]: one, words[1]: other}, ""

    return read if of_nodes or len(words) == 2 else None


def _pairs(name: str) -> Taken | None:
    """Read `n=8, m=32`."""
    pairs = _PAIR.findall(name)
    if not pairs or len({key for key, _ in pairs}) < len(pairs):
        return None
    return {key: float(value) for key, value in pairs}, _left(_PAIR.sub(" ", name))


def _multiple(name: str) -> Taken | None:
    """Read `8x A100 80GB` and `A100 x 8`."""
    matches = _MULTIPLE.findall(name)
    return ({"devices": float("".join(matches[0]))}, _left(_MULTIPLE.sub(" ", name))) if len(matches) == 1 else None


def _counted(name: str) -> Taken | None:
    """Read `pipeline-4`, `a100_064x.txt` and `8_worker_4_cores`."""
    text = _FILE_END.sub("", name.strip())
    number_first = _NUMBER_FIRST.findall(text)
    if number_first:
        values = {word: float(number) for number, word in number_first}
        return (values, _left(_NUMBER_FIRST.sub(" ", text))) if len(values) == len(number_first) else None
    pairs = _WORD_FIRST.findall(text)
    if not pairs or len({word for word, _ in pairs}) < len(pairs):
        return None
    return {word: float(number) for word, number in pairs}, _left(_WORD_FIRST.sub(r"\1", text))


def _are_counts(columns: Sequence[str], parsed: Mapping[str, Taken]) -> bool:
    """Tell whether the numbers of names are counts: each a multiple of the smallest, and not one for each name."""
    numbers = [{values[column] for values, _ in parsed.values()} for column in columns]
    multiples = all(min(n) >= 1 and not any(one % min(n) for one in n) for n in numbers)
    sizes = {"v", "b", "m", "k", "gb", "bit"} & {column.lower() for column in columns}
    shared = len({kind for _, kind in parsed.values()}) < len(parsed)
    return shared and multiples and not sizes and any(len(n) > 1 for n in numbers)


def _without_runs(parsed: Mapping[str, Taken]) -> dict[str, str]:
    """Return what is left of each name, without a last number that only numbers its runs: 0, 1, … of equal ones."""
    runs: dict[tuple[str, tuple[float, ...]], list[int]] = {}
    for values, kind in parsed.values():
        match = _RUN.search(kind)
        runs.setdefault((_RUN.sub("", kind), tuple(values.values())), []).append(int(match[1]) if match else -1)
    numbered = all(sorted(n) in (list(range(len(n))), list(range(1, len(n) + 1))) for n in runs.values())
    repeated = numbered and any(len(n) > 1 for n in runs.values())
    return {name: _RUN.sub("", kind) if repeated else kind for name, (_, kind) in parsed.items()}


def _left(text: str) -> str:
    return re.sub(r"[\s_,;]+$|^[\s_,;\-]+|[\s_\-]+(?=\.)", "", re.sub(r"\s+", " ", text))


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _equal(cells: npt.NDArray[Any], values: npt.NDArray[Any]) -> bool:
    """Tell whether a column has the same values."""
    return all(label(a) == label(b) for a, b in zip(cells, values, strict=True))
