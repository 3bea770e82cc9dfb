"""What the words of a question mean of a table: headers and cells by their words, and what the runs count and vary."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache, partial

from msgspec import Struct

from genperf.formula.amounts import amount
from genperf.panel.evidence import role_by_words
from genperf.panel.legend import MOST_COMPARED, Legend, cell_with, column_by_name
from genperf.peaks import device_in
from genperf.table.clean import is_number
from genperf.vocabulary import any_of, is_common, section, words_of
from genperf.vocabulary.headers import DEVICE_WORDS, MONEY_IN_NAME, TIME_WORDS, bytes_of, header_of, is_price, unit_of
from genperf.vocabulary.names import (
    IN_FULL,
    LEVELS,
    LOAD,
    LOAD_IN_WORDS,
    TITLE_OF_SCALED,
    WAYS,
    column_of,
    counts_scale,
    meant_by,
    plain_name,
    words_in,
    words_in_full,
)

#: Words that name nothing where no cell has them, those of them that are no part of a name, and what stands before all
#: values of a column.
PROSE, _NO_NAME, EACH = (
    re.compile(f"(?i){any_of(*(f'headers.{of}' for of in places.split()))}")
    for places in ("joining asking question", "joining asking", "each")
)
#: Words of a header that a question leaves out: `8 ranks per node` asks for `Number of Ranks/Node`.
_OF_HEADERS = frozenset({"num", "number", "of", "per"})
#: Words of a header that name a time or a unit of one.
_OF_TIMES = frozenset((*words_of("headers.time"), *TIME_WORDS, "per"))
#: Where a capital begins a word of a header.
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{3})")
#: What a number counts, before another name.
_COUNT_BEFORE = re.compile(rf"(?i){any_of('factors.workers', 'factors.nodes')} (?!per )")
#: The memory in the name of a device.
MEMORY_IN_NAME = re.compile(r"(?i)(?<!\d)(\d{1,3}) ?Gi?B")


class Meanings(Struct, dict=True):
    """What words mean of a table, by its legend."""

    legend: Legend

    @cached_property
    def headers(self) -> dict[frozenset[str], list[tuple[str, str]]]:
        """The columns by the words of their headers, also those that capitals part: `NumSpheres`."""
        names = self.legend.columns
        spelled = ((name, text) for name in names for text in dict.fromkeys((name, _CAPITAL.sub(" ", name))))
        return _grouped_by_words(spelled)

    @cached_property
    def cells(self) -> dict[frozenset[str], list[tuple[str, str]]]:
        """The columns and cells by the words of the cells; a column that is one number in all runs has none."""
        columns = self.legend.columns.items()
        return _grouped_by_words(
            (name, cell) for name, entry in columns for cell in entry.levels if not is_number(cell)
        )

    @cached_property
    def measured(self) -> dict[str, list[str]]:
        """The measured columns by their headers without units and blanks."""
        by_name = dict[str, list[str]]()
        for column in self.legend.columns:
            if (header := header_of(column)).kind:
                by_name.setdefault("".join(_without_unit(column, header.unit)), []).append(column)
        return by_name

    @cached_property
    def sizes(self) -> str | None:
        """The column that holds the sizes of networks, where a question says only `70b`; None without one."""
        columns = self.legend.columns
        named = (n for n, e in columns.items() if e.numeric and plain_name(n) in words_of("one_run.network"))
        meanings = ("parameters", "parameters_billion")
        return next(named, None) or next(filter(None, (column_of(meaning, columns) for meaning in meanings)), None)

    @cached_property
    def load(self) -> str:
        """The only column that counts what loads a machine, users or connections; empty without one."""
        loads = [n for n in self.plain_numbers if LOAD.fullmatch(n) or LOAD_IN_WORDS.fullmatch(plain_name(n))]
        return loads[0] if len(loads) == 1 else ""

    @cached_property
    def kinds(self) -> str:
        """The only column whose cells name devices, `A100` and `H100`; empty without one."""
        columns = [n for n in self.legend.of_names if self.is_compared(n)]
        of_devices = [n for n in columns if any(device_in(cell) is not None for cell in self.legend.columns[n].levels)]
        return of_devices[0] if len(of_devices) == 1 else ""

    @cached_property
    def plain_numbers(self) -> list[str]:
        """The columns of numbers that vary and whose header names no time, rate or other quantity: settings."""
        return [n for n, e in self.legend.columns.items() if e.numeric and e.distinct > 1 and not header_of(n).kind]

    @cached_property
    def message(self) -> tuple[str, float] | None:
        """The only column of the sizes of messages, also beside it in bytes, with those of its unit: (`kb`, 1000)."""
        of_message = {*words_of("headers.message"), *words_of("factors.bytes")}
        columns = [name for name in self.plain_numbers if not words_in(name).isdisjoint(of_message)]
        matches = [re.search(r"(?:^|[_\s(])([kmgt]?)(i?)(?:b|bytes)\)?$", name.lower()) for name in columns]
        sized = [(name, unit) for name, unit in zip(columns, matches, strict=True) if unit is not None]
        if len({name[: unit.start()] for name, unit in sized}) != 1:
            return None  # `size_mib` beside `size_bytes` is the same
        (name, unit), *_ = sized
        return name, (amount(f"1{unit[1].upper()}{unit[2]}B") if unit[1] else None) or 1.0

    @cached_property
    def link(self) -> str:
        """The column that a bandwidth in a question stands in: the only plain numbers without a meaning; else empty."""
        unknown = [name for name in self.plain_numbers if meant_by(name) is None]
        return unknown[0] if len(unknown) == 1 else ""

    @cached_property
    def words_of_headers(self) -> frozenset[str]:
        """The words of all names of columns: what one of these is about is not common English."""
        return frozenset().union(*map(words_in, self.legend.columns))

    @cached_property
    def work_counted(self) -> set[str]:
        """What the runs count: images of a throughput, epochs of their time; no money of prices."""
        headers = {name: header_of(name) for name in self.legend.columns}
        rates = [name for name, header in headers.items() if header.kind == "rate" and header.counted]
        counts = {headers[name].counted for name in rates if not is_price(name)}
        return counts | {"epochs" for _ in self.times_of_epochs}

    @cached_property
    def times_of_epochs(self) -> list[str]:
        """The columns that hold how long an epoch took."""
        epochs = {*words_of("headers.epoch")}
        return [n for n in self.legend.columns if header_of(n).kind == "time" and epochs & words_in(n)]

    @cached_property
    def limits_memory(self) -> bool:
        """Whether cells name devices by their memory, `A100-80GB`, and how much of it is used was measured."""
        cells = (cell for entry in self.legend.columns.values() for cell in entry.levels)
        return any(map(MEMORY_IN_NAME.search, cells)) and any(
            bytes_of(entry.unit or header_of(name).unit) for name, entry in self.legend.columns.items()
        )

    @cached_property
    def measures_power_alone(self) -> bool:
        """Whether a power was measured, and no energy."""
        units = {unit_of(entry.unit or header_of(name).unit)[0] for name, entry in self.legend.columns.items()}
        is_energy = {"J", "Wh"} & units or any("energy" in words_in(name) for name in self.legend.columns)
        return "W" in units and not is_energy

    @cached_property
    def has_ways(self) -> bool:
        """Whether the runs varied the ways in which their devices were split, and these give the devices."""
        varied = {meant_by(name) for name, entry in self.legend.columns.items() if entry.distinct > 1}
        ways = varied & {*WAYS}
        return bool((WAYS[0] in ways or len(ways) > 1) and varied & {*LEVELS, WAYS[0]})

    def is_scale(self, column: str) -> bool:
        """Tell whether a column counts what runs are scaled by: cores where nothing counts devices or nodes.

        Beside devices `num_workers` are those of a loader.
        """
        others = [words_in(name) for name in self.legend.columns if name != column and meant_by(name) == "workers"]
        is_beside_devices = not all(map(DEVICE_WORDS.isdisjoint, others)) and "workers" in words_in(column)
        is_level = meant_by(column) in LEVELS and not is_beside_devices
        # `rollout_workers`, but no `batch_per_gpu`
        names = (column, plain_name(column).rpartition("_")[2] if meant_by(column) is None else column)
        counts = any(counts_scale(name) or meant_by(name) == "servers" for name in names)
        return is_level or (counts and not any(meant_by(name) in LEVELS for name in self.legend.columns))

    def is_compared(self, column: str) -> bool:
        """Tell whether the few values of a column may be compared: none of a count, and none that were measured."""
        entry = self.legend.columns.get(column)
        if entry is None or header_of(column).kind or role_by_words(column):
            return False
        is_scale = entry.numeric and self.is_scale(column)
        return not is_scale and 1 < len(entry.levels or entry.values) == entry.distinct <= MOST_COMPARED

    def name(self, phrase: str) -> str:
        """Return the setting that a phrase names: the header it spells, or the phrase where it means a column; else "".

        A column of a time or a rate was measured, and is no setting.
        """
        if phrase.startswith("per "):
            of = phrase.removeprefix("per ")
            return next((name for name in (f"batch per {of}", f"gpus per {of}") if meant_by(name)), "")
        (spelled, _), is_word = only_match(self.headers, phrase), re.search(r"[\s/]", phrase) is None
        if _COUNT_BEFORE.match(phrase) and ("per" in words_in(spelled or phrase) or meant_by(phrase) == "batch"):
            # `16 gpus batch size 64` of `batch_per_gpu`
            return ""
        others = [word for word in re.split(r"[\s/]", phrase) if word not in _OF_HEADERS]
        is_other = PROSE if is_word else _NO_NAME
        is_other_word = others and (others[-1].lower() in words_of("headers.without") or EACH.fullmatch(others[0]))
        if not spelled and (is_other_word or singular_words(phrase) in self.cells or all(map(PROSE.fullmatch, others))):
            return ""
        if not spelled and any(is_other.fullmatch(word) for word in others):
            return ""
        # `fp16 batch` is no name; but `batch size` is one beside a cell `batch_scaling`, which only has a word of it.
        is_cell = self.cell if meant_by(phrase) is None else partial(only_match, self.cells)
        are_values = (any(is_cell(word) or ()) or self.is_variant(word) for word in others)
        if not (spelled or is_word) and any(are_values):
            return ""
        if not spelled and self.sizes and meant_by(phrase) == "parameters":
            # `model size`
            return self.sizes
        if not spelled and self.load and LOAD_IN_WORDS.fullmatch(phrase):
            # `64 concurrent requests` of `concurrency`
            return self.load
        column = spelled or (column_by_name(self.legend, phrase, self.legend.columns) if is_word else "")
        header = header_of(column or "")
        is_measured = header.kind in ("time", "rate") or "/" in header.unit or _is_of_response(column or "")
        # `90 epochs` are none of `$/epoch`.
        if column and (is_measured or MONEY_IN_NAME.fullmatch(column.lower())):
            return ""
        # `grid size 16` is of a column `grid`.
        size = self.name(phrase.removesuffix(" size")) if phrase.endswith(" size") and not meant_by(phrase) else ""
        return spelled or (phrase if column or meant_by(phrase) else size)

    def is_variant(self, word: str) -> bool:
        """Tell whether a word is the header of numbers, and no name of the field: `fp16` above throughputs."""
        if re.search(r"\d", word) and any(
            word.lower() in words_in(n) for n in self.legend.columns if header_of(n).kind
        ):
            return True  # the `vgg16` of `vgg16 (img/s)`
        entry = self.legend.columns.get(column := only_match(self.headers, word)[0])
        return entry is not None and entry.numeric and meant_by(column) is None and not header_of(column).kind

    def switch(self, phrase: str) -> tuple[str, str, str] | None:
        """Return the column that a phrase spells of something that was off or on, with its two cells; None for none."""
        column, _ = only_match(self.headers, phrase)
        entry = self.legend.columns.get(column)
        cells = () if entry is None or entry.distinct != 2 else entry.levels or entry.values
        words = ({*words_of(f"cells.{state}"), *section("switches")[state]} for state in ("off", "on"))
        off, on = ([cell for cell in cells if cell.lower() in of_state] for of_state in words)
        return (column, off[0], on[0]) if off and on else None

    def column_of_none(self, phrase: str) -> tuple[str, str] | None:
        """Return the column of texts that a phrase spells and its cell of nothing: `compression`, `none`; or None."""
        column, _ = only_match(self.headers, phrase)
        cells = self.legend.columns[column].levels if column in self.legend.of_names else ()
        return next(((column, cell) for cell in cells if cell.lower() in section("switches")["off"]), None)

    def measured_column(self, phrase: str) -> str:
        """Return the measured column whose header of several words a phrase spells, or the only `latency`; else ""."""
        if phrase.lower() in words_of("headers.response"):
            times = [name for name in self.legend.columns if header_of(name).kind == "time"]
            of_word = [name for name in times if phrase.lower() in words_in(name)]
            return of_word[0] if len(of_word) == 1 else ""
        column, _ = only_match(self.headers, phrase)
        if (header_of(column).kind or _is_of_response(column)) and len(words_in(_CAPITAL.sub(" ", column))) > 1:
            return column
        # `max memory` of `MaxMemAllocated` beside `MemAllocated`, `p50 decode` of `p50 decode (tps)`
        words = words_in_full(phrase)
        having = [n for n in self.legend.columns if header_of(n).kind and words <= words_in_full(n)]
        is_name = not header_of(phrase).kind or words & {*words_of("headers.memory")}
        if len(words) > 1 and len(having) == 1 and " " in phrase and is_name:
            return having[0]
        # `checkpoint time` of `ckpt_seconds`, `env steps per second` of `env_steps_per_sec`
        column, kind = self._measured_as(phrase), header_of(phrase).kind
        kind = kind or ("time" if not words_in(phrase).isdisjoint(words_of("headers.response")) else "")
        # `time per step` is no `Runtime`.
        is_of_another = kind == "time" and header_of(phrase).of not in ("", header_of(column).of)
        is_spelled = kind == "time" or len(_without_unit(column)) > 1
        is_named = bool(kind) and header_of(column).kind == kind and is_spelled and not is_of_another
        return column if is_named and re.search("[ -](?!per$)", phrase) else ""

    def measured_work(self, phrase: str) -> str:
        """Return what a rate counts whose header of several words a phrase has: `env steps` of `env_steps_per_sec`."""
        column, kind = self._measured_as(phrase), header_of(phrase).kind
        is_rate = header_of(column).kind == "rate" and " " in phrase and kind in ("rate", "")
        return header_of(column).counted if is_rate and len(_without_unit(column)) > 1 else ""

    def _measured_as(self, phrase: str) -> str:
        """Return the only measured column of a phrase, but for units and blanks; empty without one."""
        columns = self.measured.get("".join(_without_unit(phrase)), [])
        return columns[0] if len(columns) == 1 else ""

    def cell(self, phrase: str) -> tuple[str, str] | None:
        """Return the only cell of some words, with its column; of one word also the cell that holds it."""
        column, cell = only_match(self.cells, phrase)
        column, cell = (column, cell) if cell or " " in phrase else cell_with(self.legend, phrase)
        if not column and phrase.isalpha() and len(phrase) > 2 and not self.only_asks(phrase):
            # The `vgg` of `vgg16`, the only cell that begins so.
            begin = re.compile(rf"{re.escape(phrase)}[\W_]?\d", re.IGNORECASE)
            pairs = [(n, c) for n in self.legend.of_names for c in self.legend.columns[n].levels if begin.match(c)]
            column, cell = pairs[0] if len(pairs) == 1 else ("", "")
        return (column, cell) if column and not is_number(cell) else None

    def scaled_as(self, kind: str) -> tuple[str, str] | None:
        """Return the only cell that speaks of a kind of scaling, `Weak scaling (batch 32)`, with its column."""
        cells = [(name, cell) for name in self.legend.of_names for cell in self.legend.columns[name].levels]
        stated = [(match[1], place) for place in cells if (match := TITLE_OF_SCALED.search(place[1].lower()))]
        alike = [place for of, place in stated if of == kind]
        return alike[0] if len(alike) == 1 else None

    def cells_having(self, word: str) -> list[tuple[str, str]]:
        """Return the cells that have a word, several of the only column with such, with their column; else []."""
        levels = {name: self.legend.columns[name].levels for name in self.legend.of_names}
        having = {name: [cell for cell in cells if word in words_in(cell)] for name, cells in levels.items()}
        having = {name: cells for name, cells in having.items() if 1 < len(cells) <= MOST_COMPARED}
        return [(name, cell) for name, cells in having.items() for cell in cells] if len(having) == 1 else []

    def is_result(self, phrase: str) -> bool:
        """Tell whether a phrase is of a column whose header is that of a result: `accuracy` of `top1_accuracy`."""
        results = (column for column in self.legend.columns if role_by_words(column) is not None)
        return any(singular_words(phrase) <= singular_words(column) for column in results)

    def only_asks(self, word: str) -> bool:
        """Tell whether a word names nothing: it joins others, asks, or is common English and no word of a header."""
        names = {*self.words_of_headers, *words_of("headers.best")}
        # `latency`, where a time was measured.
        is_time = word.lower() in words_of("headers.time")
        is_time = is_time and any(header_of(column).kind == "time" for column in self.legend.columns)
        # The `llama` of `llama-7b` and `llama-13b` is that of all runs.
        levels = [self.legend.columns[name].levels for name in self.legend.names]
        is_of_all = any(word.lower() in set.intersection(*map(words_in, cells)) for cells in levels)
        return is_time or is_of_all or self.is_prose(word.lower()) or (is_common(word) and word.lower() not in names)

    def is_prose(self, word: str) -> bool:
        """Tell whether a word only joins others, or asks and is no cell."""
        return PROSE.fullmatch(word) is not None and singular_words(word) not in self.cells


@lru_cache(maxsize=10_000)
def singular_words(text: str) -> frozenset[str]:
    """Return the words of a text, each in the singular and apart from its numbers: `zero3`, `busbw`."""
    words = (part for word in words_in(plain_name(text)) for part in re.findall(r"\d+|\D+?(?=bw$)|\D+", word))
    singular = (re.sub(r"(?<=ss)es$|(?<=[^s])s$", "", re.sub("(?<=[a-z]{3})ies$", "y", word)) for word in words)
    return frozenset(IN_FULL.get(word, word) for word in singular) - _OF_HEADERS


def _is_of_response(column: str) -> bool:
    """Tell whether a header is that of the time of a request, also without a unit: `Mean TTFT`."""
    return not words_in(column).isdisjoint(words_of("headers.response"))


def _without_unit(text: str, unit: str = "") -> list[str]:
    """Return the words of a header but for its unit, those of a time and what is per one: `ckpt` of `ckpt_seconds`."""
    units = {unit.lower(), *_OF_TIMES}
    words = (word for word in re.split(r"[\W_]+", text.lower()) if word and word not in units)
    return ["".join(sorted(singular_words(word))) for word in words]


def _grouped_by_words(texts: Iterable[tuple[str, str]]) -> dict[frozenset[str], list[tuple[str, str]]]:
    """Return pairs of a column and a text by the words of the texts."""
    by_words = dict[frozenset[str], list[tuple[str, str]]]()
    for column, text in texts:
        by_words.setdefault(singular_words(text), []).append((column, text))
    # A cell of signs alone, `-`, has no words.
    by_words.pop(frozenset(), None)
    return by_words


def only_match(
    by_words: Mapping[frozenset[str], list[tuple[str, str]]], phrase: str, column: str = ""
) -> tuple[str, str]:
    """Return the only pair of the words of a phrase, or the only one of a column; empty without one."""
    pairs = [pair for pair in by_words.get(singular_words(phrase), ()) if not column or pair[0] == column]
    return pairs[0] if len(pairs) == 1 else ("", "")
