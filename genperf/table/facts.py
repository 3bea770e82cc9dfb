"""Facts in text: what the lines of a log say → the runs that it tells of, each a row. Shape only, no program by name.

A line holds facts: `key: value unit`, `--flag value`, `Time 0.26 (0.31)`, `1.4 ms per sample`, `16 procs`.
What repeats in a run is measured: its steady median, with the count and the spread of its steps. What is there once, or
never changes, is a setting. A run ends at a heading, or where a count changes after something was measured.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import Array
from genperf.errors import Note, counted, listed
from genperf.table.cells import MOST_NAMES, Source, lists_devices, parts_of, source_of, step
from genperf.table.clean import DURATION, is_number, number_in, seconds_of
from genperf.vocabulary import Patterns, any_of, is_common, late, section, words_of
from genperf.vocabulary.headers import (
    MULTIPLES,
    TIME_UNITS,
    TIME_WORDS,
    bandwidth_of,
    bare,
    canonical_time,
    header_of,
    is_price,
    pace_of,
    units_in,
)
from genperf.vocabulary.names import (
    LEVELS,
    PHASES,
    WAYS,
    canonical_of,
    counted_noun,
    counts_scale,
    is_relative,
    meant_by,
    plain_name,
)

#: Characters of a log that are looked at: some two million lines, which take about ten seconds.
MOST_OF_A_LOG = 256_000_000
#: Characters of them that are read, a line takes half a millisecond: of lines that differ in digits alone some, evenly.
MOST_READ = 600_000
#: Lines alike up to which none is left out of a long log. A guess: more runs than one log tells of.
FEWEST_ALIKE = 64
#: Characters of a line that are read: dumps of configurations are longer, and each fact costs a search.
LONGEST_LINE = 4000
#: Characters of notes that are no log. A guess.
LONGEST_NOTES = 1 << 16
#: Characters of a title of runs, at most. A guess: a line of prose.
LONGEST_TITLE = 80
#: Counts in a line up to which it may tell of several runs.
MOST_OF_A_LINE = 64
#: Characters of a line in which a failure is reported; a paragraph may mention one further behind. A guess.
FAILURE_ENDS = 400
#: Share of the lines that hold a fact, from which on a text that is no table is a log. A guess: warnings and tracebacks
#: of a short run are up to four of five lines.
FACT_SHARE = 0.1
#: Lines below the last result that may tell of all runs; more are a log.
MOST_BELOW = 4
#: Steps up to which a run that failed has not measured anything: it warmed up.
FEWEST_STEPS = 2
#: Why a run has no result.
FAILURES = ("out of memory", "failed")
#: Columns that have the parts of a run's path, or the name over it.
PATHS = ("file", "section", "folder", *(f"folder {n}" for n in range(2, 9)))
#: Steps that a log prints, from which on those behind the first tell by how many it counts. A guess.
LEAST_STEPS = 3
#: Times of so many steps that all rise are those of a clock: by chance one in 120 would.
FEWEST_OF_A_CLOCK = 5
#: Seconds.
DAY = 86_400.0
#: Ticks of a clock of whole seconds that a time is measured by: to 5 %. A guess.
LONG = 20
#: The share of the steps over which a time rises, above which it is that of a clock, which a run may set back once.
MOST_RISES = 0.95
#: The share of the steps over which a time rises by the same amount, above which it is that of what is computed. A
#: guess: a header may hold a time of day under the same key.
MOST_EQUAL = 0.8
#: What a run has done so far: `samples`.
_AMOUNTS = frozenset(
    word + end for name, words in section("counted").items() for word in (name, *words) for end in ("", "s")
)
#: How many times the median a step takes that is reported as slow.
SLOW = 2.0
#: Devices of a node, at most, where only their name says what a product counts.
MOST_OF_A_NODE = 16
#: Digits behind a flag of one letter; more are those of a job, as in `sacct -j 12345671`. A guess.
MOST_OF_A_FLAG = 6
#: Seconds since 1970 of the years 2001 to 2100: a time of day, and none that was measured.
CALENDAR = (1e9, 4.1e9)
#: A slice of TPUs, `v5p-128` or `TPU v6e-256`: its number is of cores, or of chips where these have one.
SLICE = late(rf"(?i)(?<!\w)(?:tpu[ -]?)?({any_of('cells.slices', 'cells.slices_of_cores')})-(\d+)s?(?![\w-])")
#: Chips of the smallest slice that is named by its cores.
FEWEST_CHIPS = 4.0
_WITHOUT_DIGITS = dict.fromkeys(map(ord, "0123456789"))
#: The share of the first values of a run that warm up.
WARM_UP = 0.1

#: Sizes that a line of settings states without a sign: `seq 2048, mbs 4, tp 2`.
SIZES = ("sequence", "batch", "global_batch", "micro_batch", "micro_batches", *WAYS)
_COUNTED_IN_RUNS = (*LEVELS, *WAYS, "threads", "devices_per_node", "servers")
_KINDS_OF_COUNTS = ("factors.workers", "factors.nodes", "factors.threads", "log.counted")
_COUNT_WORDS = frozenset(word for kind in _KINDS_OF_COUNTS for word in words_of(kind) if len(word) > 2)
_SINGULARS = {w.removesuffix("s") for w in _COUNT_WORDS} | {w[:-2] for w in _COUNT_WORDS if w.endswith("xes")}
_NOUNS = "|".join(sorted(_SINGULARS, key=len, reverse=True))
#: What a number stands before without a blank: `8卡`.
_HAN = "|".join(words_of("log.counted_without_blank"))
#: `two GPUs`, `双卡`: numbers in letters before what is counted.
_NUMBERS = {word: digits for digits, words in section("numbers").items() for word in words}
_IN_LETTERS = "|".join(sorted(_NUMBERS, key=len, reverse=True))
#: What stands bare before a time: parts of a step, the time of a request, a statistic.
_TIMED = ("log.part", "headers.response", "headers.statistic", "headers.whole")
_PARTS = frozenset((*chain.from_iterable(PHASES.values()), *chain.from_iterable(map(words_of, _TIMED))))
_COUNTERS = frozenset((*words_of("log.step"), *words_of("log.counter")))
#: `tp8`: ways of a split, whose names are so short that their number stands behind them without a sign.
_WAYS_IN_SHORT = "|".join(w for way in WAYS for w in words_of(f"transformer.{way}") if len(w) < 3)
#: What a line of a log may hold.
FORMS = Patterns(
    Path(__file__).with_name("facts.toml"),
    **{"nouns": _NOUNS, "ways": _WAYS_IN_SHORT, "han": _HAN, "letters": _IN_LETTERS, "duration": DURATION},
    **{"times": "|".join(TIME_WORDS), "counters": "|".join(_COUNTERS), "amounts": "|".join(sorted(_AMOUNTS))},
)
#: The patterns of a fact, in the order in which a line is searched for them.
_NAMES_IN_ORDER = (
    *("member", "listed", "named_devices", "flag", "in_path", "of_a_step", "of_a_count", "pair", "alone", "took", "of"),
    *("elapsed", "counted", "counted_in_han", "bare"),
)
_PATTERNS = [getattr(FORMS, name) for name in _NAMES_IN_ORDER]
#: `TimeLimit = 12:00:00`
_CHOSEN_TIME = re.compile(rf"(?i)time[ _-]?{any_of('headers.chosen_time')}(?![^\W_])")
_LEFT, _SO_FAR = frozenset(words_of("headers.left")), frozenset(words_of("headers.so_far"))
_NAMES_OF_QUANTITIES = {*words_of("headers.time"), *(word for word in words_of("headers.rate") if word[-2:] != "ps")}
_JOINTS = frozenset(words_of("log.joint"))
_BEFORE = frozenset(words_of("log.before_a_key"))
#: What begins a line, and is no part of a run.
_NO_PARTS = _BEFORE | _COUNTERS | {*words_of("log.test"), "train", "training"}


#: Hours and minutes, or minutes and seconds.
_OF_TWO_PARTS = re.compile(r"\d+:\d\d")
#: Where a sentence that asks ends, and another begins.
_QUESTION_ENDS = late(r"(?<=[^\s?]\?)\s+")
_BETWEEN_SENTENCES = late(r"(?<=[^\s\d.][.!?])\s+(?=[A-Z])")
#: What stands between a name and its value, or two words: without it and digits a line, as most headers, has no fact.
_BETWEEN = re.compile(r"[ \t:=>→]|\.{3}")


class Run(Struct):
    """What the lines of one run say."""

    #: The values of each key, in order.
    values: dict[str, list[Any]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    #: Each key as it was first spelled, by its plain name.
    spelled: dict[str, str] = field(default_factory=dict)
    #: The values of each key in lines about a test.
    tested: dict[str, list[Any]] = field(default_factory=dict)
    #: Why the run ended without a result, as its log says.
    failure: str = ""
    line: int = 1
    #: What stands in the heading above its first result.
    heading: str = ""
    #: The numbers of each setting, in order: its value is the last one.
    chosen: dict[str, list[Any]] = field(default_factory=dict)
    #: Of each key that numbers steps: the number, and the second of the day at which the log had come to it.
    moments: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    #: The settings of the run before that it has not said itself.
    carried: set[str] = field(default_factory=set)
    #: The settings that stand before the first result of a run, where they begin the next one with another value.
    head: set[str] = field(default_factory=set)
    #: The counts that stand in one clause with a result.
    of_result: set[str] = field(default_factory=set)
    #: Whether a row of numbers below their names is in it.
    has_row: bool = False
    #: The words of the clause that tells its count and its result at once.
    statement: frozenset[str] = frozenset()

    def add(self, name: str, value: Any, unit: str = "", tested: bool = False) -> None:
        """Add a value to those of its name as that was first spelled, in its first unit, or to those of a test."""
        key = self.spelled.setdefault(_key_meaning(name), name)
        if name != key:
            value = in_unit(value, *(canonical_time(spelled.partition("/")[0]) or "" for spelled in (name, key)))
        # `time (min): 1:30:00` is 90.
        of_key = header_of(key).unit if header_of(key).kind == "time" and canonical_time(unit) else ""
        if unit and (first_unit := self.units.setdefault(key, of_key if of_key not in ("", "s") else unit)) != unit:
            value = in_unit(value, unit, first_unit)
        if str(value)[:1].isalpha() and any(isinstance(earlier, float) for earlier in self.values.get(key, ())):
            return  # `Nodes: gpu[1-2]` below `on 2 nodes`
        if tested:
            self.tested.setdefault(key, []).append(value)
        elif canonical_of(key) is not None and not is_result(key, unit) and plain_name(key) not in _COUNTERS:
            self.values[key] = [value]
            self.carried.discard(key)
            self.chosen.setdefault(key, []).append(value)
        elif key in self.carried:
            self.carried.remove(key)
            self.values[key] = [value]
        elif key in self.values or len(self.values) < MOST_NAMES // 4:  # a text without end has names without end
            self.values.setdefault(key, []).append(value)

    @property
    def measured(self) -> bool:
        """Whether a time, a rate or another quantity was measured; the first step of a run that failed is none."""
        return any(len(self.values[key]) > (FEWEST_STEPS if self.failure else 0) for key in self.results)

    @property
    def results(self) -> list[str]:
        """The keys of times, rates and other quantities, or else of what is relative to them."""
        numeric = [key for key, values in self.values.items() if any(isinstance(value, float) for value in values)]
        measured_keys = [key for key in numeric if is_result(key, self.units.get(key, ""))]
        return measured_keys or [key for key in numeric if is_relative(key)]

    def following(self, line: int) -> "Run":
        """Return the next run of the text, in which the settings go on: keys of one value that measure nothing."""
        measures = {key for key in self.values if is_result(key, self.units.get(key, "")) or is_relative(key)}
        # `Model: resnet50` may have been said again.
        one_value = {k: v[-1:] for k, v in self.values.items() if len(v) == 1 or (_names_method(k) and len({*v}) == 1)}
        settings = {key: values for key, values in one_value.items() if key not in measures}
        counts = self.of_result & settings.keys()
        about: dict[str, Any] = {"carried": {*settings}, "of_result": counts, "head": {*self.head}}
        return Run(settings, dict(self.units), dict(self.spelled), line=line, **about)

    def forget(self, settings: set[str]) -> None:
        """Take settings out that an earlier run alone has: below `4 GPUs, 2 nodes: 12 s` stands `2 GPUs: 20 s`."""
        self.values = {key: values for key, values in self.values.items() if key not in settings}
        self.carried -= settings


@lru_cache(maxsize=20_000)
def _key_meaning(key: str) -> str:
    """Return what keys of one meaning share: `imgs/sec` is `img/sec`, `ms/step` `s/step`, `TP` `tensor-parallel-size`.

    `-N` is not `-n`.
    """
    if len(key) == 1:
        return key
    if (way := meant_by(key)) in WAYS:
        return str(way)
    if plain_name(key) in words_of("headers.processes"):
        return "processes"
    if (noun := counted_noun(key)) != plain_name(key) and _is_count(key):
        return noun if noun[-1] == "s" else f"{noun}s"  # `nGPU` and `num_gpus` are `gpus`
    what, slash, unit = key.partition("/")
    if slash and canonical_time(what) is not None:
        return f"time/{unit}"
    return f"{header_of(key).counted}/{unit}" if slash and what.lower() in _AMOUNTS else plain_name(key)


def in_unit(value: Any, unit: str, other: str) -> Any:
    """Return a time in another unit; unchanged where one of the units is not of time."""
    if not (isinstance(value, float) and {unit, other} <= TIME_UNITS.keys()):
        return value
    return value * float(np.divide(*TIME_UNITS[unit]) / np.divide(*TIME_UNITS[other]))


@lru_cache(maxsize=20_000)
def is_result(key: str, unit: str = "") -> bool:
    """Tell whether a key or its unit is that of a time, a rate or another quantity, and none that is still to come."""
    # `TFLOPS/GPU`
    measures = header_of(key).kind or (unit and _kind_of(unit)) or FORMS.result.match(key.lower())
    measures = measures or (unit and FORMS.bandwidth.fullmatch(key) and bandwidth_of(key, unit))
    return bool(measures) and _LEFT.isdisjoint(_words_of(key)) and not is_price(key)


@lru_cache(maxsize=20_000)
def _kind_of(unit: str) -> str:
    """Return the kind of quantity that a unit has, a time or a rate; empty for a multiple, `M`, and a name, `time`."""
    is_name = re.fullmatch(r"[A-Z]|d|m|it|step", unit) or unit.lower() in _NAMES_OF_QUANTITIES
    kind = "" if is_name else header_of(f"x ({unit})").kind
    # `12.5 serialElapsed`: what comes next.
    return "" if kind == "time" and unit.isalpha() and canonical_time(unit) is None else kind


def _measures(unit: str) -> bool:
    """Tell whether a unit is that of a time, a rate or what follows from one, `TFLOPs per GPU`."""
    return _kind_of(unit) != "" or FORMS.result.match(unit.lower()) is not None


@lru_cache(maxsize=20_000)
def _is_count(key: str) -> bool:
    return counts_scale(key) or meant_by(key) in _COUNTED_IN_RUNS or key.lower().endswith("visible_devices")


@lru_cache(maxsize=20_000)
def _stands_bare(key: str, unit: str = "") -> bool:
    """Tell whether a key may stand beside its number without a sign between them."""
    if key.lower() in _PARTS and canonical_time(unit) is not None:
        return True  # `compute 780 ms`
    # `batch 10` numbers a line, `bs 64` does not.
    is_size = canonical_of(key) in SIZES and plain_name(key) not in _COUNTERS
    names_itself = is_result(key) or plain_name(key) in words_of("one_run.mfu") or is_size
    is_name = re.search("[ _]|[a-z][A-Z]", key) is not None
    return names_itself or (is_name if _is_count(key) else not _words_of(key).isdisjoint(_COUNTERS))


def _number(text: str, multiple: str = "") -> float:
    """Return the number in a fact: `1:02:03` is 3723 seconds, and `1,024` with the multiple `k` is 1,024,000."""
    # `32:40` of a duration are minutes and seconds.
    text = f"0:{text.zfill(5)}" if _OF_TWO_PARTS.fullmatch(text) else text
    # A text that is no duration comes back as it is.
    seconds = seconds_of([text])[0]
    number = seconds if isinstance(seconds, float) else number_in(text.replace(",", ""))
    return float(number) * {**MULTIPLES, "G": 1e9}.get(multiple, 1.0)


def chips_of(tpus: re.Match[str]) -> float:
    """Return the chips of a slice of TPUs."""
    return float(tpus[2]) / (2.0 if tpus[1].lower() in words_of("cells.slices_of_cores") else 1.0)


def names_a_count(key: str) -> bool:
    """Tell whether a key counts devices, perhaps beside other words, or is a size: `A100 cluster, 32 GPUs`, `bs 8`."""
    return any(_is_count(name) or canonical_of(name) in SIZES for name, *_ in facts_of(f"{key}: 1 s"))


def facts_of(line: str) -> Iterator[tuple[str, Any, str]]:
    r"""Iterate over the facts of a line: key, value, unit.

    >>> list(facts_of("Epoch[0] Batch [100] Speed: 326.36 samples/sec accuracy=0.76"))
    [('Speed', 326.36, 'samples/sec'), ('accuracy', 0.76, '')]
    >>> list(facts_of("{'loss': 3.2, 'tokens_per_second': 17975}")), list(facts_of("Time  0.26 ( 0.31)"))
    ([('loss', 3.2, ''), ('tokens_per_second', 17975.0, '')], [('Time', 0.26, '')])
    """
    return iter(_facts_in(line[:LONGEST_LINE]))


#: Something that stands in a line, the pattern of a fact in other words, and the words that the patterns of facts know.
_Spelling = tuple[tuple[str, ...], str, str | Callable[[re.Match[str]], str]]


def _respelled(line: str, spellings: Sequence[_Spelling]) -> str:
    """Return a line in the words that the patterns of facts know."""
    for signs, pattern, words in spellings:
        if any(sign in line for sign in signs):
            line = getattr(FORMS, pattern).sub(words, line)
    return line


@lru_cache(maxsize=1 << 15)
def _facts_in(line: str) -> tuple[tuple[str, Any, str], ...]:
    """Return the facts of a line, which is looked at several times, in the order of the patterns."""
    if line.isascii() and not _BETWEEN.search(line) and not any(map(str.isdigit, line)):
        return ()
    line = line_as_written = _respelled(line, _COUNTS_IN_OTHER_WORDS)
    tpus, product = SLICE.search(line) if "-" in line else None, FORMS.product.search(line)
    line = _in_digits(line) if FORMS.letter.search(line) else line
    line = _respelled(line, _SIZES_IN_OTHER_WORDS)
    size = FORMS.size_before.search(line)
    if size is not None and (size["size"].lower() not in _COUNTERS or FORMS.counted.search(line)):
        line = FORMS.size_before.sub(r"\g<size>=\g<value>", line)
    of_each = FORMS.setting_of_each.fullmatch(line) if ", " in line or " / " in line else None
    if of_each is not None and not _is_count(of_each["key"]):
        return ()
    line = _respelled(line, _RESULTS_IN_OTHER_WORDS)
    several = None if FORMS.of_a_step.match(line) else FORMS.of_several.search(line)
    of_one = None if several is None else _fact_of_several(several)
    if several is not None and of_one is not None:
        line = f"{line[: several.start()]} {line[several.end() :]}"
    of_line = FORMS.unit_of_line.search(line)
    taken: list[tuple[int, int]] = []
    facts: list[tuple[str, Any, str]] = [] if of_one is None else [of_one]
    for pattern in _PATTERNS if any(map(str.isdigit, line)) else ():
        for match in pattern.finditer(line):
            # A unit that is taken is no key of the number behind it.
            start = match.start("key" if pattern is FORMS.bare else "value")
            end = max(match.end(n) for n in ("value", {FORMS.pair: "rate", FORMS.alone: "unit"}.get(pattern, "value")))
            if any(start < right and left < end for left, right in taken):
                continue
            fact = _fact_of_match(pattern, match, "" if of_line is None else of_line[1])
            if fact is not None:
                taken.append((start, max(end, match.end("unit")) if pattern is FORMS.pair and fact[2] else end))
                facts.append(fact)
    takes = FORMS.takes.search(line) if "," in line else None
    if (
        takes is not None
        and canonical_time(takes["unit"]) == "h"
        and any(header_of(k).kind == "rate" for k, *_ in facts)
    ):
        facts.append(("time", _number(takes["value"]), "h"))  # `8 GPUs, 70k tokens/s, 20 hours`
    facts += [(match["key"], match["value"], "") for match in FORMS.named.finditer(line)]
    facts = facts if tpus is None else [("hardware", f"tpu-{tpus[1].lower()}", ""), *facts]
    if product is not None and product[0] not in line:
        # `8x A100 80GB` and `8 V100s` tell the kind as well.
        behind_count = line_as_written[product.end("value") : product.end()]
        facts.insert(0, ("hardware", behind_count.lstrip(" x×*").removesuffix("s"), ""))
    if "h" in line and (price := FORMS.price.search(line)) is not None and (price["sign"] or price["behind"]):
        facts.append((_name_of_price(price, line), float(price["value"]), ""))
    word = None if taken else FORMS.word_alone.match(line)
    return (*facts, *([] if word is None else [(_bare_key(word["key"]), word["value"], "")]))


def _name_of_price(price: re.Match[str], line: str) -> str:
    """Return the header of a price of an hour: of the device or the node that it names, or of the kind in its line."""
    paid = (price["paid"] or price["paid_behind"] or ("gpu" if FORMS.of_a_kind.search(line) else "")).lower()
    of = "" if not paid else "node-" if paid in words_of("headers.node") else "gpu-"
    return f"price per {of}hour ({price['sign'] or price['behind']})"


def _devices_of_a_node(kind: re.Match[str]) -> str:
    """Return `4 devices per node` for `4 V100 each`; of `2 nodes with 4 V100 each` the count as it is."""
    return kind[0] if FORMS.of_each.search(kind.string) else f"{kind['value']} devices per node"


def _ways_apart(ways: re.Match[str]) -> str:
    """Return ways of a split with a sign each, `tp=8, pp=4` for `tp8-pp4`."""
    return re.sub(r"[-_/x]?([a-zA-Z]+)(\d+)", r", \1=\2", ways[0])[2:]


def _batch_of_one(batch: re.Match[str]) -> str:
    """Return a batch of one device with its name before the number, `batch per GPU: 4`; that of all as it is."""
    device = batch["before"] or batch["behind"] or batch["times"]
    return f"batch per {device}: {batch['value']}" if device else batch[0]


def _devices_of_all(nodes: re.Match[str]) -> str:
    """Return nodes and the devices of all, `2 nodes, 8 GPUs` for `2 nodes with 4 GPUs each`."""
    noun = nodes["key"] if FORMS.noun.fullmatch(nodes["key"]) else "devices"
    return f"{nodes['nodes']} {nodes['node']}, {int(nodes['nodes']) * int(nodes['value'])} {noun}"


def _parts_in_unit(time: re.Match[str]) -> str:
    """Return a time and its parts, `812 ms, compute: 780 ms, exchange: 32 ms`; other brackets as they are."""
    matches = [FORMS.part.fullmatch(text) for text in re.split(r"\s?[,;/|+]\s?", time["parts"])]
    named = [
        f", {part['name']}: {part['value']} {part['unit'] or time['unit']}" for part in matches if part is not None
    ]
    return f"{time['space']}{time['unit']}{''.join(named)}" if len(named) == len(matches) > 1 else time[0]


def _fact_of_several(several: re.Match[str]) -> tuple[str, float, str] | None:
    """Return the time of one of several steps, `3000 steps in 50 min`, or a rate of amounts; None without a time."""
    duration, what = several["before"] or several["behind"], several["what"].lower()
    measured = parts_of(duration.strip())
    if measured is None or (measured.unit != "m" and canonical_time(measured.unit) is None):
        seconds = _number(duration.strip())
    else:
        seconds = in_unit(number_in(measured.number), canonical_time(measured.unit) or "min", "s")
    count = _number(several["count"], several["multiple"] or "")
    if not (count > 0.0 and seconds > 0.0):
        return None
    if what in words_of("log.step"):
        return f"{what} time", seconds / count, "s"
    return f"{what}/s", count / seconds, ""


def _pairs_of_lists(lists: re.Match[str]) -> str:
    """Return a list of names and one of as many numbers as facts: `dp=8, tp=2`; others as they are."""
    names, sizes = re.findall(r"\w+", lists["names"]), re.findall(r"\d+", lists["sizes"])
    pairs = (f"{name}={size}" for name, size in zip(names, sizes, strict=False))
    return ", ".join(pairs) if len(names) == len(sizes) else lists[0]


@lru_cache(maxsize=16)
def _in_digits(line: str) -> str:
    """Return a line whose counts in letters, and those before a kind of device, are in digits."""
    if "-" in line:
        line = SLICE.sub(lambda tpus: f"{chips_of(tpus):g} chips", line)
    line = FORMS.before_glued.sub(" ", line) if "_" in line or "-" in line else line
    is_heading = line.startswith("#") or FORMS.glued.match(line) is not None
    line = (FORMS.glued if is_heading else FORMS.glued_in_line).sub(r"\1 ", FORMS.glued_twice.sub(r"\1 \2, \3 ", line))
    kind = FORMS.product.search(line) or FORMS.kind_before.search(line)
    if not (kind or FORMS.one.match(line) or FORMS.spelled_small.search(line.lower())):
        return line
    line = FORMS.one.sub(r"\g<mark>1 ", line)
    plain = FORMS.product.sub(r"\g<value> devices", FORMS.spelled.sub(lambda match: f"{digits_of(match)} ", line))
    plain = FORMS.kind_before.sub(r"\g<value> ", plain)
    announces = line.rstrip(" \t\r*").endswith((":", "：")) or line.startswith(("# ", "## ", "**", "__"))
    if FORMS.uses.match(line) or announces or _has_result(plain):
        return plain
    return FORMS.spelled.sub(lambda match: match[0] if digits_of(match) == "1" else f"{digits_of(match)} ", line)


def _nodes_and_devices(match: re.Match[str]) -> str:
    """Return `2 nodes with 16` before ` GPUs` for `2x8`; `2` for `2x 4090`, which is no number of a node."""
    nodes, of_node = int(match["nodes"]), int(match["value"])
    return f"{nodes} nodes with {nodes * of_node}" if of_node <= MOST_OF_A_NODE else match["nodes"]


def _devices_of_each_node(node: re.Match[str]) -> str:
    """Return `8 devices per node of ` for `each node has 8 `, and `two nodes with 16 ` as it is."""
    is_counted = node.string[: node.start()].rstrip().rpartition(" ")[2].lower() in _NUMBERS
    return node[0] if is_counted else f"{node['value']} devices per node of "


_COUNTS_IN_OTHER_WORDS: tuple[_Spelling, ...] = (
    (("x", "×", "*"), "machines_of_kind", r"\g<value>\g<value_behind> nodes"),
    (("x", "×", "*"), "kind_before_product", r"\g<value>x \g<kind>"),
    (("x", "×", "*"), "nodes_by_devices", _nodes_and_devices),
    ((" every ",), "every", r"\g<step> took "),
    (("/",), "duration_of_each", r"\g<time> per "),
    ((" / s",), "apart", "/"),
    (("",), "kind_in_letters", lambda kind: f"{_NUMBERS[kind['letters'].lower()]}x "),
    (("",), "node_has", _devices_of_each_node),
    ((" each",), "each_of_kind", _devices_of_a_node),
    (("",), "of_a_node", r"\g<value> devices per node"),
)
_SIZES_IN_OTHER_WORDS: tuple[_Spelling, ...] = (
    (("p", "P"), "glued_ways", _ways_apart),
    ((" is ", " was ", " at ", " to ", " stay", " remain"), "size_that_stays", r"\g<size>="),
    (("b", "B"), "batch_of_each", r"batch per \g<device>: \g<value>"),
    (("b", "B"), "batch_of_one", _batch_of_one),
    (("(",), "count_in_brackets", r"(\g<key>=\g<value>)"),
    (("s ", "S "), "plural_before", r"\g<begin>\g<key>=\g<value>"),
)
_RESULTS_IN_OTHER_WORDS: tuple[_Spelling, ...] = (
    ((" at ", " for "), "set_at_counts", ""),
    ((" tokens",), "tokens_of_each", r"\g<batch>\g<value> \g<key>, seq_length=\g<tokens>"),
    (("], [",), "zipped", _pairs_of_lists),
    (("tensor(",), "tensor", r"\g<value>"),
    ((" each", " of ", " x ", " × "), "of_each", _devices_of_all),
    (("srun", "#SBATCH"), "of_slurm", lambda flag: "--nodes=" if flag["nodes"] else "--gpus-per-node="),
    ((" = ",), "comes_to", r"\g<value> \g<unit>"),
    (("%", "B "), "unit_before", r"\g<key>: \g<value>\g<unit>"),
    (("/s)",), "in_short", r"\g<short>"),
    (("(",), "in_parts", _parts_in_unit),
)


def spelled_in_digits(name: str) -> str:
    """Return a name with its numbers in letters before what they count in digits: `two-node`, `单机双卡`."""
    return FORMS.spelled.sub(lambda match: f" {digits_of(match)} ", name)


def digits_of(match: re.Match[str]) -> str:
    """Return a number in letters, and perhaps what stands between it and what it counts, in digits."""
    return _NUMBERS[match[0].rstrip(" \t_-").lower()]


def plain_notes(text: str) -> str:
    r"""Return notes whose lines each say all of a run: the count first, a plain number, its unit, and what varied.

    >>> plain_notes("tok/s:\n2 nodes  1.9\n4 nodes  3.6\n8 nodes  6.9")
    'tok/s:\n2 nodes: 1.9 tok/s\n4 nodes: 3.6 tok/s\n8 nodes: 6.9 tok/s'
    """
    if len(text) > LONGEST_NOTES or not _BETWEEN.search(text):
        return text
    if len({row["count"].lower() for row in FORMS.row_with_count.finditer(text)}) > 1:
        text = _with_nouns_of_first(text)
    for form in (FORMS.named_before_count, FORMS.named_behind_count):
        runs = [(match["name"].lower(), match["count"].lower()) for match in form.finditer(text)]
        names, counts = map(set, zip(*runs, strict=True)) if runs else (set(), set())
        if len(names) > 1 and max(len(counts), len(names)) < len(runs) == len({*runs}):
            text = form.sub(_with_variant_of_count, text)
    text = FORMS.title_of_pairs.sub(lambda of: f"{of['title']}:\n" + re.sub("[,;] (?:and )?", "\n", of["pairs"]), text)
    if len({match["number"] for match in FORMS.count_of_letter.finditer(text)}) > 1:
        text = FORMS.count_of_letter.sub(_count_of_letter, text)
    grids = {match["nodes"]: int(match["value"]) for match in FORMS.grid_of_line.finditer(text)}
    if len(grids) > 1 and len({*grids.values()}) == 1 and max(grids.values()) <= MOST_OF_A_NODE:
        text = FORMS.grid_of_line.sub(r"\g<0> devices", text)
    # `8 GPUs  410` and `np=8: 12.5 s` below a title.
    rows = [*FORMS.row_of_count.finditer(text)]
    # Below `Setup   step time (s)` they are those of a table.
    above = text[: rows[0].start()].rstrip().rpartition("\n")[2].strip() if rows else ""
    is_header = len(cells := re.split(r"\s{2,}|\t", above)) > 1 and bool(header_of(cells[-1]).kind)
    if len({match["number"] for match in rows}) > 2 and not is_header:
        text = FORMS.row_of_count.sub(_count_first, text)
    text = FORMS.thousands_apart.sub(lambda match: match[0].replace(" ", ""), text)
    if not text.isascii():
        text = FORMS.took_in_han.sub(" took ", text)
    if " that " in text:
        text = _with_pronouns_replaced(text)
    if len(FORMS.decimal_comma.findall(text)) > 1 or FORMS.of_decimal_commas.search(text) is not None:
        # `1.310 Bilder/s` and `3,2 it/s`
        text = FORMS.decimal_comma.sub(r"\g<number>.", FORMS.thousands_point.sub(r"\g<number>", text))
    if len(FORMS.decimal_comma_of_row.findall(text)) > 1:
        text = FORMS.decimal_comma_of_row.sub(r"\g<number>.", text)
    if FORMS.bare_number.search(text) is not None:
        text = _with_units_of_titles(text)
    return _with_variants_named(text) if FORMS.count_in_a_sentence.search(text) is not None else text


def _with_variant_of_count(run: re.Match[str]) -> str:
    """Return a run with its count first, what it differs in from others of that count, and what it took or did."""
    took = "took " if canonical_time(run["value"].split(" ")[-1]) and "/" not in run["value"] else ""
    return f"{run['begin']}{run['count']}, variant='{run['name']}', {took}{run['value']}"


def _with_pronouns_replaced(text: str) -> str:
    """Return a text with the name of a time for `that`: `the time on 2 GPUs is 26 min and that on 4 is 16 min`."""
    what = ""

    def named(match: re.Match[str]) -> str:
        nonlocal what
        what = match["what"] or what
        return f"{match['joint']}{what or 'that'}" if match["joint"] else match[0]

    return FORMS.pronoun.sub(named, text)


def _with_nouns_of_first(text: str) -> str:
    r"""Return a text whose rows begin with a count in digits and the noun that the row above them has.

    >>> _with_nouns_of_first("- one node: 410\n- two: 790\n- 4: 1,530")
    '- 1 node: 410\n- 2 node: 790\n- 4 node: 1,530'
    """
    noun, end = "", -1

    def in_digits(row: re.Match[str]) -> str:
        nonlocal noun, end
        noun = row["noun"] or (noun if text.count("\n", end, row.start()) == 1 else "")
        end = row.end()
        count = _NUMBERS.get(row["count"].lower(), row["count"])
        return f"{row['begin']}{count} {noun}{row['behind']}" if noun and end >= 0 else row[0]

    return FORMS.row_with_count.sub(in_digits, text)


def _with_units_of_titles(text: str) -> str:
    r"""Return a text whose counts with a bare number have the unit of the title above them.

    >>> _with_units_of_titles("Throughput (tokens/s):\n8 GPUs: 41,000\n16 GPUs: 80,500 (98%)")
    'Throughput (tokens/s):\n8 GPUs: 41,000 tokens/s\n16 GPUs: 80,500 tokens/s (98%)'
    """
    lines, unit = text.split("\n"), ""
    for number, line in enumerate(lines):
        bare_number = FORMS.bare_number.match(line)
        if bare_number is not None and canonical_of(bare_number["count"].split()[-1]) in SIZES:
            continue  # `2 gpus batch_size=32`
        if bare_number is not None and names_a_count(bare_number["count"]):
            lines[number] = f"{line[: bare_number.end()]} {unit}{line[bare_number.end() :]}" if unit else line
        elif line.strip():
            # `ResNet-50:` between them has the same, and `Loss:` has none.
            is_other = _has_result(line) or header_of(line).kind or FORMS.other_quantity.search(line)
            title = (line if len(line) <= LONGEST_TITLE else line[:LONGEST_TITLE].rpartition(" ")[0]).strip(" \t*#:")
            units = units_in(title) or FORMS.rate_in_words.findall(title)
            unit = next(filter(_measures, units), "" if is_other else unit)
    return "\n".join(lines)


def _count_of_letter(of: re.Match[str]) -> str:
    """Return `4 workers: ` for `n=4: `, behind a comma where it does not begin its line."""
    begins_line = of.string[of.start() - 1 : of.start()] in ("", "\n")
    return f"{of['begin'] if begins_line else ', '}{of['number']} workers: "


def _count_first(row: re.Match[str]) -> str:
    """Return the beginning of a row with its count first, `8 threads: ` for `threads=8  `; another row's as it is."""
    noun = row["noun"] or row["key"]
    if row["key"] and not FORMS.noun.fullmatch(noun):
        noun = "workers" if meant_by(noun) == "workers" else ""
    return f"{row['begin']}{row['number']} {noun}: " if noun else row[0]


def _with_variants_named(text: str) -> str:
    r"""Return a text whose results with a name each, at one count, state it as a variant.

    >>> _with_variants_named("8 GPUs: ring 410 img/s, tree 455")
    "8 GPUs, variant='ring',  410 img/s\n8 GPUs, variant='tree',  455 img/s"
    >>> _with_variants_named("8 GPUs\n fp32: 1.9k img/s\n fp16: 3.4k img/s")
    "8 GPUs\n, variant='fp32',  1.9k img/s\n, variant='fp16',  3.4k img/s"
    """
    lines, block = text.split("\n"), list[int]()
    for number, line in enumerate((*lines, ".")):
        if block and (result := FORMS.named_result.fullmatch(line)) is not None and result["unit"]:
            block.append(number)
            continue
        for of_block, written in zip(block[1:], _of_variants([lines[k] for k in block[1:]]), strict=False):
            lines[of_block] = written
        counts = [*FORMS.count_in_a_sentence.finditer(line)]
        if len(counts) == 1:
            clauses = FORMS.between_clauses.split(FORMS.count_in_a_sentence.sub("", line))
            lines[number] = "\n".join(_of_variants(clauses, counts[0]["count"])) or line
        block = [number] if counts and not _has_result(line) else block if not line.strip() and block[1:] == [] else []
    return "\n".join(lines)


def _of_variants(clauses: Sequence[str], count: str = "") -> list[str]:
    """Return clauses of a name and a result each, `ring 410 img/s`, as those of variants; [] for any others."""
    forms = (FORMS.named_result, FORMS.result_of_name)
    matches = [next(filter(None, (form.fullmatch(clause) for form in forms)), None) for clause in clauses]
    results = [match for match in matches if match is not None and (match["unit"] or len(clauses) > 1)]
    results = [*itertools.dropwhile(lambda result: not _measures(result["unit"] or ""), results)]
    other_clauses = (clause for clause, match in zip(clauses, matches, strict=True) if match not in results)
    units = {result["unit"] for result in results} - {None}
    names = [result["name"] for result in results]
    if len({*names}) < max(len(names), 2) or len(units) != 1 or any(map(_has_result, other_clauses)):
        return []
    (unit,) = units
    per_step = "/" in unit or " per " in unit or _kind_of(unit) == "rate"
    if not all(_names_a_variant(name, per_step) for name in names):
        return []
    what = next((result["before"] for result in results if "before" in result.groupdict()), "").strip(" ,:")
    what = what if what or per_step else "time:"
    written = [
        (name.rstrip(".").replace(" ", "_"), r["value"].rstrip(".")) for name, r in zip(names, results, strict=True)
    ]
    return [f"{count}, variant='{name}', {what} {value} {unit}" for name, value in written]


def _names_a_variant(name: str, of_any: bool) -> bool:
    """Tell whether a name before a result says which of several variants has it, and not what was measured there.

    That of a time has a sign of a name, `fp16` or `DDP`: parts of a run are timed as well.
    """
    words = {*re.split(r"[\s_-]+", name.lower())}
    # `bs 8` is a setting.
    is_size = canonical_of(re.sub(r"\W*\d+", "", name)) in SIZES
    measures = is_size or is_result(name) or is_relative(name) or meant_by(name) in LEVELS or "per" in words
    others = {*_NO_PARTS, *words_of("headers.statistic"), *words_of("headers.whole")}
    is_name = of_any or re.search(r"[A-Z\d]", name) or re.search(any_of("cells.frameworks"), name)
    return bool(is_name) and not (measures or words & others or all(map(is_common, words)))


def _is_no_fact(pattern: re.Pattern[str], match: re.Match[str], key: str, value: str, unit: str, clock: bool) -> bool:
    """Tell whether what a pattern matched is something else: part of another fact, a source file, a time of day."""
    counts = any(plain_name(key) + ending in _COUNT_WORDS for ending in ("", "s", "es"))
    counts |= " per " in key and _is_count(key)
    # `8 workers, 2 ps` are servers, and no time.
    counts |= meant_by(key) == "servers" and "worker" in match.string.lower()
    key_as_written = match.groupdict().get("key") or ""
    # `using: 0 TPU cores`, which a run does not use.
    is_unused = pattern is FORMS.counted and value == "0" and meant_by(key) in LEVELS
    is_job = pattern is FORMS.flag and len(key) == 1 and len(value) > MOST_OF_A_FLAG
    if value in ("nan", "inf") or is_unused or is_job or (pattern in (FORMS.counted, FORMS.in_path) and not counts):
        return True
    if pattern is FORMS.in_path and is_result(match.string[: match.end("key")].rpartition(" ")[2]):
        return True  # `TFLOPS/GPU=361`
    if unit and _measures(unit) and (counts or ("/" in unit and FORMS.counted.search(key_as_written))):
        return True  # `4 GPUs: 385 img/s`, `on 4 GPUs: 385 img/s`: the count is the fact
    if pattern is FORMS.pair and _is_no_pair(match, key, value, unit, counts):
        return True
    if (pattern is not FORMS.alone and FORMS.source_file.search(key)) or (clock and FORMS.day_and_hour.search(key)):
        return True  # `train.py: 12`, `I1231 01:43:56.9`
    if _OF_TWO_PARTS.fullmatch(value) and (header_of(key).kind != "time" or key.lower() == "time"):
        return True  # `started: 12:40`, but `time per epoch: 12:40`
    if pattern in (FORMS.of, FORMS.elapsed) and header_of(key).kind != "time":
        return True
    if header_of(key).kind == "time" and match.string[match.end("value") :].lstrip().startswith("%"):
        return True  # `time spent waiting: 6.1 %`
    if (unit or pattern is FORMS.bare) and "/" not in key and canonical_time(key) is not None:
        return True  # `0.9 sec = 1.8 hours`
    return pattern is FORMS.bare and (key.lower() in _BEFORE or not (clock or _stands_bare(key, unit)))


def _is_no_pair(match: re.Match[str], key: str, value: str, unit: str, counts: bool) -> bool:
    """Tell whether a key and its value are of a sentence, a bar of progress, or a count before what was measured."""
    behind, is_count, start = match.string[match.end("value") :], _is_count(key), match.start("value")
    # `the answer is 42`, `it was 3 hours ago`; a rate is named by its unit, whatever the words before it.
    of_a_sentence = bool(match["is"]) and not (
        is_count or bandwidth_of(key, unit) or (canonical_time(unit) and not key_of_step(key))
    )
    # `4 GPUs: 95 %`, `4 GPUs: 385 training img/s`, and `Throughput: 1 GPU: 250 img/s`.
    rate = FORMS.alone.match(match.string, start) if counts else None
    is_of_count = counts and ("." in value or behind[:1] == "%" or (rate is not None and _measures(rate["unit"])))
    count = None if is_count else FORMS.counted.match(match.string, start)
    is_before_count = count is not None and _is_count(count["key"])
    return of_a_sentence or is_of_count or is_before_count or behind[:2] == "%|"  # `Epoch 1: 100%|####|`


def _fact_of_match(pattern: re.Pattern[str], match: re.Match[str], unit_of_line: str) -> tuple[str, Any, str] | None:
    """Return the key, the value and the unit that a match of a pattern holds; None where it is no fact."""
    groups = {name: text or "" for name, text in match.groupdict().items()}
    if pattern is FORMS.listed:
        return _listed_devices(groups["key"], groups["value"])
    if pattern is FORMS.named_devices:
        return f"{groups['key'].lower()}s", float(groups["value"].count(",") + 1), ""
    value, written = groups["value"], groups.get("unit", "")
    unit = written if " per " in written else re.sub(r"\s", "", written)
    if pattern is FORMS.alone:
        key_before = FORMS.printed_beside.search(match.string[: match.start()])
        if key_before and FORMS.number_behind.match(match.string, match.end()):
            return None  # `loss 3.2 samples/s 97.9`: what seems a unit is the key of the next number
        if unit[0] != "/" and not _measures(unit) and not is_result(unit):
            return None
        key, unit = unit if unit[0] != "/" else "rate (1/s)", ""
    elif pattern is FORMS.of:
        key = _bare_key(" ".join(match.string[: match.start()].split()[-2:]))
    elif groups.get("step"):
        key = f"{groups['step']} time"
    elif pattern is FORMS.took and (
        step := FORMS.begins_with_step.match(match.string)
        or FORMS.per_step.match(match.string, max(match.end("value"), match.end("unit")))
    ):
        key = f"{step['step']} time"  # `Epoch 1/3 on 2 GPUs took 412 s`
    elif pattern is FORMS.of_a_count:
        unit = "min" if unit == "m" else unit
        key, unit = ("time", unit or "s") if not unit or canonical_time(unit) else (unit, "")
        step = FORMS.each_step.match(match.string, max(match.end("value"), match.end("unit")))
        # `64 gpus: 1.31 s per epoch`, `step 100, 64 gpus: 1.31 s`
        step = step or FORMS.begins_with_step.match(match.string)
        key = f"{step['step']} time" if step and key == "time" else key
    elif pattern is FORMS.member:
        key = "world_size"
    elif groups.get("ended"):
        key = "took"
    elif pattern is FORMS.flag and groups["key"] == "n" and FORMS.launched.search(match.string):
        key = "np"
    else:
        # `2 gpus batch_size=32`: the number counts.
        of_key = FORMS.behind_counted.match(match.string, match.start("key")) if pattern is FORMS.pair else None
        key = _bare_key(groups["key"] if of_key is None else groups["key"][len(of_key[0]) :])
        if pattern is FORMS.flag and is_result(key):
            return None  # `--gpu-memory-utilization 0.9` is what a program is told, and not measured
        if pattern is FORMS.pair and " " in key and match.string[match.end("key") :][:1] == "=":
            # `launching world_size=4`, of a program: the words before are of the sentence.
            last, is_known = key.rsplit(" ", 1)[1], canonical_of(key) or header_of(key).kind or counts_scale(key)
            of_code = canonical_of(last) in SIZES or ("_" in last and _is_count(last) and "worker" not in last)
            key = last if of_code and not is_known else key
    if groups.get("rate") and not unit:
        # `requests: 7482 124.7/s`: how many, and how many a second.
        value, unit = groups["rate"], f"{key.split()[-1]}/s"
    # `1:02:03`, `3 hrs 16 minutes`
    clock = ":" in value or (value[-1].isalpha() and value not in ("nan", "inf"))
    if clock and pattern is FORMS.pair and _is_count(key):
        key = "time"  # `16 nodes: 2h 31m (with checkpoints)`
    if _is_no_fact(pattern, match, key, value, unit, clock):
        return None
    key = "speedup" if unit in ("x", "×") and header_of(key).kind == "rate" else key  # `Speed: 1.92x`
    unit = "min" if unit == "m" and header_of(key).kind == "time" else unit
    unit = unit if unit and (_kind_of(unit) or bandwidth_of(key, unit)) else ""
    if unit and key_of_step(last_words := " ".join(key.split(" ")[-2:])):
        # `epoch 3: 350 images/sec`, and `world: 4 | epoch 3: 33 s`
        timed = canonical_time(unit) is not None
        key, unit = (f"{last_words.rstrip('0123456789 :#')} time", unit) if timed else (unit, "")
    if plain_name(key) in words_of("log.step") and canonical_time(unit) is not None:
        key += " time"  # `epoch 17 min`
    plurals = [ending for ending in ("s", "es") if plain_name(key) + ending in _COUNT_WORDS]
    if pattern is FORMS.counted and plurals:
        key += plurals[0]  # `1 node` and `2 node` count the same
    # `Time: 12:40:07` may be one of the day.
    is_duration = clock and header_of(key).kind == "time" and plain_name(key) not in _COUNTERS
    if not unit and (is_duration or not header_of(key).kind) and not _CHOSEN_TIME.search(key):
        unit = "s" if clock else unit_of_line
    multiple = groups.get("multiple", "")
    if multiple in ("M", "G") and not unit and not _words_of(key).isdisjoint(words_of("headers.memory")):
        multiple, unit = "", f"{multiple}B"
    return key, _number_in(value, multiple, groups.get("upto")), canonical_time(unit) or unit


def _listed_devices(key: str, value: str) -> tuple[str, str, str] | None:
    """Return a fact of devices by number, `gpus 0,1,2` → `[0,1,2]`; None where the key counts something else."""
    counts = meant_by(key) == "workers" or key.lower().endswith("visible_devices")
    return (key, f"[{value.strip('[]')}]", "") if counts and (lists_devices(value) or value.isdecimal()) else None


def _number_in(value: str, multiple: str, upto: str | None) -> float:
    """Return the number of a fact, or the middle of a range `upto` another."""
    number = _number(value, multiple)
    return (number + max(number, _number(upto, multiple))) / 2.0 if upto else number


@lru_cache(maxsize=50_000)
def _bare_key(key: str) -> str:
    """Return a key without the words around it, `INFO train.py using batch size (global)` -> `batch size`."""
    bracket = re.search(r" *\(([^()]*)\)$", key)
    if bracket is not None and not is_result(f"x ({bracket[1]})"):
        key = key[: bracket.start()]
    key = FORMS.sentence_before.sub("", key)
    key = FORMS.other_facts.sub("", FORMS.of_a_counter.sub("", key)) or key
    words = key.strip(" -_.").split(" ")
    # `building a mesh with world_size`, `we saw that the time`: a key behind a sentence.
    joint = max((place for place, word in enumerate(words[:-1]) if word.lower() in _JOINTS), default=-1)
    words = words[joint + 1 :]
    while len(words) > 1 and (words[0].strip(":[]").lower() in _BEFORE or re.search(r"\.\w", words[0])):
        words = words[1:]
    return " ".join(words)


def is_log(text: str) -> bool:
    """Tell whether a text is a log: lines with facts, of all or of those that differ, which no delimiter cuts."""
    lines = [line for line in text[: 1 << 16].splitlines() if line.strip()][:MOST_NAMES]
    different = {line.translate(_WITHOUT_DIGITS): line for line in lines}.values()
    return any(sum(any(facts_of(line)) for line in some) > FACT_SHARE * len(some) for some in (lines, different))


def begins_as_others(text: str) -> bool:
    """Tell whether another line of a text is the first one with other numbers, and tells facts: no header."""
    first_line, *lines_below = [line.strip().translate(_WITHOUT_DIGITS) for line in text[: 1 << 16].splitlines()]
    return first_line in lines_below and any(facts_of(text[:LONGEST_LINE].partition("\n")[0]))


def begins_with_facts(text: str, in_blanks: bool = False) -> bool:
    r"""Tell whether the first line of a text and most others are keys with values, or results: none is a header.

    Between blanks a key with a result is no cell, whatever the first line is.
    """
    lines = [row for row in text[: 1 << 16].splitlines() if row.strip() and not row.startswith("#")][:MOST_NAMES]
    titled = in_blanks and len(lines) > 1 and lines[0].rstrip().endswith(":")
    short = [line[:LONGEST_LINE] for line in (lines[1:] if titled else lines)] or [""]
    begins = FORMS.time_of_day.search(short[0]) is not None or _has_result(short[0])
    if not (begins or in_blanks or _has_pair(short[0])):
        return False
    pairs, keys = [*map(_has_pair, short)], [match["key"] for match in FORMS.pair.finditer(short[0])]
    # `nodes=1  nodes=2  nodes=4` are headers.
    if pairs[0] and 2 * sum(pairs) > len(pairs) and len({*keys}) == len(keys):
        return True
    results = ((begins or pair) and _has_result(line) for line, pair in zip(short, pairs, strict=True))
    return (begins or in_blanks) and 2 * sum(results) > len(short)


def _has_pair(line: str) -> bool:
    """Tell whether a line has a key with a value, a word alone or a failure."""
    return bool(FORMS.pair.search(line) or FORMS.word_alone.match(line) or failure_of(line))


def _has_result(line: str) -> bool:
    """Tell whether a line has a result among its facts."""
    return any(is_result(key, unit) for key, _, unit in facts_of(line))


def runs_of(text: str) -> list[Run]:
    """Return the runs that a text tells of: from one count or chosen size to the next, or under headings if more."""
    text = _with_names_of_parts(FORMS.between_rules.sub(r"# \g<title>", text))
    if (of_blocks := _runs_of_blocks(text)) is not None:
        return of_blocks
    runs = _runs(text)
    size = _chosen_size(runs)
    return runs if size is None else _runs(text, size=size)


def _with_names_of_parts(text: str) -> str:
    r"""Return a text whose keys have the part that begins their line before them, where several parts have one.

    >>> _with_names_of_parts("Prefill. time: 2 s, rate: 9/s\nDecode. time: 1 s, rate: 3/s")
    'Prefill time: 2 s, Prefill rate: 9/s\nDecode time: 1 s, Decode rate: 3/s'
    """
    parted = [match for match in FORMS.part_of.finditer(text) if match["part"].lower() not in _NO_PARTS]
    named = [(line["part"], pair["key"]) for line in parted for pair in FORMS.pair.finditer(line["facts"])]
    # `Ring: time: 3 s` and `Tree: time: 2 s` alone are two runs.
    beginnings = Counter(line["part"] for line in parted if line["sign"] == "." or len(parted) > len({*named}))
    keys = Counter(key for part, key in {*named} if part in beginnings)
    if max(keys.values(), default=0) < 2 or (
        min(beginnings.values()) < 2 and any(line["sign"] == ":" for line in parted)
    ):
        return text

    def with_part(line: re.Match[str]) -> str:
        """Return the facts of a line, each with the part that begins it."""
        is_part = line["part"] in beginnings
        return FORMS.pair.sub(lambda pair: f"{line['part']} {pair[0]}", line["facts"]) if is_part else line[0]

    return FORMS.part_of.sub(with_part, text)


def _runs_of_blocks(text: str) -> list[Run] | None:
    """Return a run of each block between blank lines, where all say the same, a count and a result, in any order."""
    blocks = [*itertools.islice(FORMS.block.finditer(text), MOST_NAMES)]
    runs: list[Run] = []
    for block in blocks if len(blocks) > 1 else ():
        run, *others = _runs(block[0])
        counts = [key for key, values in run.values.items() if _is_count(key) and len(values) == 1]
        if others or not (run.measured and counts) or (runs and {*run.values} != {*runs[0].values}):
            return None
        runs.append(replace(run, line=text.count("\n", 0, block.start()) + 1))
    return _with_headings(runs) or None


def _chosen_size(runs: Sequence[Run]) -> str | None:
    """Return the key of whole numbers that are chosen for each result of runs of several: `size 64`, …; else None."""
    keys: list[str] | None = None
    for run in runs:
        results = [len(values) for key, values in run.values.items() if is_result(key, run.units.get(key, ""))]
        if max(results, default=0) > 2:
            chosen = run.values | run.chosen
            # Most are printed once for each; one may be of several parts, or of some sizes.
            usual = [n for n in {*results} if 2 * results.count(n) > len(results)]
            of_run = [key for key, values in chosen.items() if len(values) in usual and _are_sizes(key, values)]
            keys = [key for key in of_run if keys is None or key in keys]
    return keys[0] if keys else None


def _are_sizes(key: str, values: Sequence[Any]) -> bool:
    """Tell whether values are different whole numbers that measure and count nothing, also no lines of a run."""
    # A log may print its first step, and then every tenth.
    later = values[1:] if values[0] in (0.0, 1.0) and len(values) > LEAST_STEPS else values
    differ = _whole(values) and len({*values}) == len(values) and len({*np.diff(later).tolist()}) > 1
    return differ and not (_is_count(key) or is_result(key)) and _LEFT.isdisjoint(_words_of(key))


def _runs(text: str, size: str = "", only_tests: bool = False) -> list[Run]:
    """Return the runs of a text, each up to where another is announced and it has measured something."""
    runs = [Run()]
    # `rank: 0`: what begins at zero numbers devices, and counts none; but a serial run may have `Threads: 0`.
    from_zero = {match["key"] for match in FORMS.from_zero.finditer(text) if canonical_of(match["key"]) != "threads"}
    numbered = {
        k for k in from_zero if meant_by(k) in _COUNTED_IN_RUNS or plain_name(k) in words_of("headers.number_of_one")
    }
    lines = text.replace("\r", "\n").split("\n")
    before_commands: tuple[Run, bool] | None = None
    titles, heading_text = _titles_of_runs(lines), ""
    for number, (line, names_a_run) in enumerate(_with_names(lines), 1):
        if not line:
            continue
        run = runs[-1]
        if FORMS.code.match(line) or FORMS.prepared.match(line):
            continue
        if FORMS.command.match(line):
            # What the next program measures is of another run; what stands before the first is said of all.
            before_commands = before_commands or (run.following(number), run.measured)
            # Behind several runs, `reproduce with: …`, it is of none in particular.
            if (not before_commands[1] or len(runs) > 1) and (run.measured or run.failure):
                runs.append(run := (run if heading_text else before_commands[0]).following(number))
        heading = FORMS.heading.match(line) if line[:1] in "#*[=-~ \t" and not _has_result(line) else None
        heading_text = line.strip(" \t*#:[]=~-") if heading or number in titles else heading_text
        if (heading or number in titles) and run.measured:
            runs.append(run := run.following(number))
        test, took = FORMS.tested.search(FORMS.remark.sub("", line)), FORMS.took.search(line)
        # `epoch 1 finished in 612 s, val acc 61` is of the training.
        tested = not (only_tests or test is None or (took is not None and took.start() < test.start()))
        tested = tested and FORMS.trained.search(line) is FORMS.both.search(line) is None
        # What a clause measured belongs to the count in it, wherever that stands. A question counts nothing.
        sentences = _QUESTION_ENDS.split(line)
        texts = _clauses(" ".join(text for text in sentences if text[-1:] != "?" or _has_result(text)) or line)
        clauses = [[*facts_of(text)] for text in texts]
        facts = [*chain.from_iterable(clauses)]
        # What is measured below a line of settings alone, `batch: 4, seq_len: 256`, has them.
        of_settings = len(facts) > 1 and all(canonical_of(key) and not is_result(key, unit) for key, _, unit in facts)
        # A setting of each clause begins a run where it changes.
        of_clauses = Counter(
            key for of_clause in clauses for key in {key for key, _, _ in of_clause} if canonical_of(key)
        )
        for text, of_clause in zip(texts, clauses, strict=True):
            counts: set[str] = set()
            # Counts come first, and of these the one that begins a run: of `2 nodes (16 GPUs)` below `8 GPUs` the GPUs;
            # results come last, of `2 GPUs: 0.5 s (batch 64)` as well.
            differ = {key for key, value, _ in of_clause if _differs_from_run(run, key, value)}
            counted_keys = {run.spelled.get(_key_meaning(key), key) for key, _, _ in of_clause if _is_count(key)}
            measured_keys = {run.spelled.get(_key_meaning(k), k) for k, _, unit in of_clause if is_result(k, unit)}
            # `8 GPUs (2 nodes, 10GbE): 4.9 it/s` above `8 GPUs (2 nodes, 100GbE): 7.2 it/s`; what a later sentence says
            # again is of no other run.
            is_step = not {plain_name(key) for key, *_ in of_clause}.isdisjoint(_COUNTERS)
            is_statement = bool(counted_keys and measured_keys and not is_step)
            statement = _words_of_statement(text) if is_statement else frozenset[str]()
            is_other = bool(statement and run.statement and run.statement != statement)
            is_other = is_other and measured_keys <= run.values.keys()
            if is_other and any(_differs_from_run(run, k, value) for k, value, unit in of_clause if is_result(k, unit)):
                runs.append(run := run.following(number))
            methods = {key for key, *_ in of_clause if _names_method(key)}
            settings = {key for key, _, unit in of_clause if not is_result(key, unit)}
            in_order = [{key for key, *_ in of_clause if _is_count(key)}, methods & differ, differ & settings, differ]
            for key, value, unit in sorted(of_clause, key=lambda fact: [fact[0] not in keys for keys in in_order]):
                # `8 GPUs are as slow as 4 GPUs` is about 8.
                second_count = _is_count(key) and _key_meaning(key) in counts
                repeats = second_count or (not _has_result(line) and _repeats_count(run, key, value))
                if key in numbered or repeats:
                    continue
                counts |= {_key_meaning(key)}
                of_a_row = names_a_run and not (is_result(key, unit) or is_relative(key))
                names_next = of_settings or _names_method(key)
                names_next |= _is_count(key) or key == size or (of_a_row and run.has_row)
                names_next |= 1 < len(texts) == of_clauses[key]
                # `8 gpus  bs=64  0.63 s/step` below `8 gpus  bs=32  0.37 s/step`, and `Batch size: 64` alone
                begins = bool(counted_keys) if measured_keys else key in run.head
                names_next |= begins and canonical_of(key) is not None
                # `4 GPUs, 2 nodes: 12 s` below `4 GPUs: 9 s`, and `two nodes: 6 s`
                is_further = _is_count(key) and key not in run.values and measured_keys <= run.values.keys()
                is_further &= bool(counted_keys and measured_keys and run.of_result)
                differs = is_further or _differs_from_run(run, key, value)
                if names_next and differs and (run.measured or run.failure):
                    runs.append(run := run.following(number))
                if counted_keys and measured_keys:
                    run.forget(run.carried & run.of_result - counted_keys)
                if canonical_of(key) is not None and key not in run.head and not run.measured:
                    run.head.add(key)
                run.add(
                    key, value, unit, tested and not of_settings and _words_of(key).isdisjoint(words_of("log.trained"))
                )
                run.heading = run.heading or (heading_text if is_result(key, unit) else "")
            run.of_result |= counted_keys if measured_keys else set()
            run.statement = statement or run.statement
            # `8 nodes: out of memory` below a run of four is of eight.
            if not run.failure and (failure := failure_of(text if len(texts) > 1 else line)):
                # `3 h on 2 GPUs. With more it is OOM`: the sentence with the result is of a run that did not fail.
                sentence = next(filter(_has_result, _BETWEEN_SENTENCES.split(line)), line)
                if len(texts) > 1 or failure_of(sentence):
                    run.failure, run.heading = failure, run.heading or heading_text
        run.has_row |= names_a_run
        if not tested:
            _note_moment(run, line, facts)
    if not (only_tests or any(run.measured for run in runs)) and any(run.tested for run in runs):
        return _runs(text, size, only_tests=True)
    if len(runs) > 1 and not runs[-1].measured and not runs[-1].failure:
        runs.pop()
    for run in runs:
        _add_pace(run)
    _add_devices_of_nodes(runs, lines)
    devices = {match["value"] for match in map(FORMS.used.search, lines[:MOST_NAMES]) if match is not None}
    if len(runs) == len(devices) == 1 and runs[0].measured and not any(map(_is_count, runs[0].values)):
        runs[0].add("devices", float(min(devices)))
    _add_settings_below(runs, lines)
    return _with_headings(_with_one_time(_with_one_result(_without_setup(runs)), lines), lines)


def _words_of_statement(text: str) -> frozenset[str]:
    """Return the words of a clause, without its numbers and what stands behind these: units and what is counted."""
    words = (match for match in FORMS.word_of_statement.finditer(text))
    return frozenset(
        m[0] for m in words if not (m["number"] and (_measures(m["of"]) or _is_count(m["of"]) or len(m["of"]) < 2))
    )


def _add_settings_below(runs: Sequence[Run], lines: Sequence[str]) -> None:
    """Add to all runs of a line each the settings in the few lines below the last result, and a price."""
    below = list(itertools.takewhile(lambda line: not _has_result(line), filter(None, reversed(lines))))
    below = below if len(below) <= MOST_BELOW else below[:1]
    prices = {key: values[-1] for run in runs for key, values in run.values.items() if is_price(key)}
    prices = prices or {key: value for line in below for key, value, _ in facts_of(line) if is_price(key)}
    if len(prices) == 1 and not any(map(is_price, chain.from_iterable(run.values for run in runs[:-1]))):
        # `…, 1024 chips = 4.49M tok/s. Price is $1.35/chip-hour.`
        for run in (run for run in runs if prices.keys().isdisjoint(run.values)):
            run.add(*next(iter(prices.items())))
    of_others = {canonical_of(key) for run in runs[:-1] for key in run.values} - {None}
    for line in below:
        of_each = FORMS.setting_of_each.fullmatch(line)
        if of_each is not None and canonical_of(of_each["key"]) is not None:
            # `Global batch: 1024, 2048, 4096` below three runs.
            values = of_each["values"].replace(" /", ",").split(", ")
            for run, value in zip(runs, values if len(values) == len(runs) else (), strict=False):
                run.add(of_each["key"], float(number_in(value)))
        facts = {key: value for key, value, _ in facts_of(line) if canonical_of(key) and not is_price(key)}
        counts = any(_is_count(key) and meant_by(key) not in (*WAYS, "devices_per_node") for key in facts)
        for key in facts if len(runs) > 2 and not counts else ():
            for run in runs[:-1] if canonical_of(key) not in of_others else ():
                run.add(key, facts[key])


def _add_devices_of_nodes(runs: Sequence[Run], lines: Sequence[str]) -> None:
    """Add to runs that count nodes alone the devices of each, as another run or the text tells them: `DGX, 8x A100`."""
    keys = [{meant_by(k): k for k in run.values if meant_by(k) in _COUNTED_IN_RUNS} for run in runs]
    counts = [{of: run.values[k][-1] for of, k in names.items()} for run, names in zip(runs, keys, strict=True)]
    are_counts = all(isinstance(count, float) and count > 0.0 for of_run in counts for count in of_run.values())
    # `1 GPU: 58 images/s` above `1 node: 221 images/s (4 GPUs)` ran on a part of a node.
    of_devices = [of_run["workers"] for of_run in counts if "nodes" not in of_run and "workers" in of_run]
    of_nodes = [of_run for of_run in counts if "nodes" in of_run]
    are_nodes = all(of_run.keys() <= {*LEVELS, *WAYS} for of_run in counts)
    are_nodes &= len(runs) == len(of_nodes) + len(of_devices) > len(of_devices)
    if len(runs) < 2 or not are_counts or not are_nodes:
        return
    texts = [line for line in lines[:MOST_NAMES] if not _has_result(line)]
    of_both = [of_run["workers"] / of_run["nodes"] for of_run in of_nodes if "workers" in of_run]
    # `1 node (8x A100): 22 images/s` above `2 nodes: 43 images/s`, and `4 nodes, 8 GPUs each` above runs on fewer.
    of_each = {float(match["value"]) for match in map(FORMS.of_each.search, texts) if match}
    sizes = {*of_both} if 0 < len(of_both) < len(runs) else of_each
    products = [] if sizes or of_both else [m for m in map(FORMS.product.search, texts) if m]
    sizes = sizes or {float(match["value"]) for match in products}
    if len(sizes) != 1 or not 1.0 <= max(sizes) <= MOST_OF_A_NODE or not max(sizes).is_integer():
        return
    if max(of_devices, default=0.0) > max(sizes):
        return
    devices = next((names["workers"] for names in keys if of_both and "workers" in names), "devices")
    # `8xA100-80G per node`
    kinds = {match[0][len(match["value"]) :].lstrip(" x×*").removesuffix("s") for match in products}
    for run in runs if len(kinds) == 1 else ():
        run.add("hardware", min(kinds))
    for run, names, of_run in zip(runs, keys, counts, strict=True):
        if names.get("workers") in run.carried:
            run.values[names["workers"]] = [of_run["nodes"] * max(sizes)]
        elif of_each == sizes and names.get("workers") in run.of_result and names["nodes"] not in run.of_result:
            # `16 GPUs: 31 s` below a cluster of `4 nodes x 8 V100` ran on two.
            run.values[names["nodes"]] = [float(-(-of_run["workers"] // max(sizes)))]
            run.forget({key for key in run.values.keys() - run.of_result if meant_by(key) == "workers"})
        elif "nodes" not in names:
            run.add(next(of_other["nodes"] for of_other in keys if "nodes" in of_other), 1.0)
        elif "workers" not in names:
            run.add(*((devices, of_run["nodes"] * max(sizes)) if of_both else ("devices per node", max(sizes))))


def _note_moment(run: Run, line: str, facts: Sequence[tuple[str, Any, str]]) -> None:
    """Note when a log came to a step: the time of day in a line and the numbers of steps in it."""
    of_steps = [(k, v) for k, v, _ in facts if plain_name(k) in words_of("log.step") and isinstance(v, float)]
    moment = FORMS.moment.search(line) if of_steps else None
    if moment is None:
        return
    seconds = sum(float(moment[n].replace(",", ".")) * s for n, s in (("hours", 3600), ("minutes", 60), ("seconds", 1)))
    for key, number in of_steps:
        run.moments.setdefault(key, []).append((number, seconds))


def _add_pace(run: Run) -> None:
    """Add what a step took between two lines to a run that says neither a time of its steps nor a rate."""
    kinds = {k: {header_of(k).kind, _kind_of(run.units.get(k, "") or "x")} for k in run.results}
    if not run.moments or any({"time", "rate"} & kinds[k] and not _is_clock(run.values[k], k) for k in kinds):
        return
    paces = {key: _pace(np.array(moments)) for key, moments in run.moments.items()}
    key = max(paces, key=lambda k: len(paces[k]))
    if len(paces[key]) >= FEWEST_OF_A_CLOCK:
        step = next((word for word in words_of("log.step") if word in _words_of(key)), key).removesuffix("s")
        run.values[f"{step} time"], run.units[f"{step} time"] = paces[key], "s"


def _pace(moments: Array) -> list[float]:
    """Return the seconds of a step between lines, of several lines together where a clock has whole seconds."""
    numbers, seconds = moments.T
    # Behind midnight a clock begins again.
    seconds = seconds + DAY * np.cumsum(np.diff(seconds, prepend=seconds[0]) < -DAY / 2)
    begins_step = np.diff(numbers, prepend=numbers[0] - 1.0) != 0.0  # several lines may tell of a step
    numbers, seconds = numbers[begins_step], seconds[begins_step]
    tick = 1.0 if np.all(seconds % 1.0 == 0.0) else 0.0
    mean = float(seconds[-1] - seconds[0]) / max(len(seconds) - 1, 1)
    stride = max(1, int(np.ceil(LONG * tick / mean))) if mean else 1
    steps, took = np.diff(numbers[::stride]), np.diff(seconds[::stride])
    return [float(value) for value in (took / np.where(steps > 0.0, steps, np.nan)) if value > 0.0]


def _with_one_time(runs: list[Run], lines: Sequence[str]) -> list[Run]:
    """Return runs of a time each under one name, where only some say what of, or a title does: `it took 5 s`."""
    kinds = [{key: header_of(key).kind or _kind_of(run.units.get(key, "")) for key in run.results} for run in runs]
    times = [[key for key, kind in of_run.items() if kind == "time"] for of_run in kinds]
    names = {key for of_run in times for key in of_run}
    named = [key for key in names if key != "time" and key not in words_of("log.took")]
    if names and not named:
        titles = (FORMS.time_of.search(line) for line in lines[:MOST_NAMES])
        matches = [title.groupdict() for title in titles if title is not None]
        # `time for 500 steps` is that of all of them.
        named = [
            f"time for {steps}"
            if (steps := match["steps"] or match["trained"])
            else f"{match['step'] or match['of_step']} time"
            for match in matches
        ]
        # `8 GPUs took 5 h, 16 GPUs 3 h` is all of one time.
        named = [*dict.fromkeys(map(str.lower, named))] or (["time"] if len(names) > 1 else [])
    if len(named) > 1 and len({header_of(key).of for key in named}) == 1:
        # `1m31s per epoch` and `48 s/epoch`
        named = [min(named, key=lambda key: (-sum(key in of_run for of_run in times), key))]
    if len(named) == 1 and {*named} != names and {*map(len, times)} == {1}:
        # `23 min per epoch` has its unit in its name.
        unit_of_name = header_of(named[0]).unit
        for run, (key,) in zip(runs, times, strict=True):
            values, unit = run.values.pop(key), run.units.pop(key, "") or header_of(key).unit or "s"
            run.values[named[0]] = [in_unit(value, unit, unit_of_name or "s") for value in values]
            run.units[named[0]] = unit_of_name or "s"
    return runs


def _with_headings(runs: list[Run], lines: Sequence[str] = ()) -> list[Run]:
    """Return runs with the heading above each, or the name in its line, where settings do not tell them all apart."""
    measures = {key for run in runs for key in run.values if key in run.results or FORMS.other_quantity.search(key)}
    # A file that a run wrote sets nothing.
    of_runs = [{k: str(v[-1]) for k, v in run.values.items() if k not in measures} for run in runs]
    settings = [str({k: v for k, v in of.items() if not FORMS.file_name.search(v)}) for of in of_runs]
    under_headings = {(run.heading, setting) for run, setting in zip(runs, settings, strict=True) if run.heading}
    # Each heading stands above a series, whose counts alone vary.
    varied = {key for key in {*chain(*of_runs)} if len({of.get(key) for of in of_runs}) > 1}
    headings = Counter(run.heading for run in runs)
    of_series = len(headings) > 1 and min(headings.values()) > 1 and all(map(_is_count, varied))
    if len(under_headings) == len(runs) and (len({*settings}) < len(runs) or of_series):
        for run in runs:
            run.values.setdefault("section", [run.heading])
    elif len({*settings}) < len(runs) and len({run.line for run in runs}) == sum(map(_has_result, lines)):
        by_line = _names_in_lines({run.line: lines[run.line - 1] for run in runs})
        names = [by_line[run.line] for run in runs]
        is_each_apart = len({*zip(names, settings, strict=True)}) == len(runs) >= 2 * len({*names})
        for run, name in zip(runs, names if is_each_apart and all(names) else (), strict=False):
            run.values["name"] = [name]
    return runs


def _names_in_lines(lines: Mapping[int, str]) -> dict[int, str]:
    """Return the words of each line that not all have, without units and what is counted.

    >>> _names_in_lines({1: "DDP 1 GPU: 410 img/s", 2: "DDP 8 GPUs: 3100 img/s", 4: "FSDP 8 GPUs: 2900 img/s"})
    {1: 'DDP', 2: 'DDP', 4: 'FSDP'}
    """
    words = {k: FORMS.word_of_line.findall(FORMS.before_glued.sub(" ", line)) for k, line in lines.items()}
    shared = set.intersection(*map(set, words.values()))
    names_nothing = {w for of_line in words.values() for w in of_line if _is_count(w) or canonical_time(w)} | shared
    return {k: " ".join(w for w in of_line if w not in names_nothing) for k, of_line in words.items()}


def _with_one_result(runs: list[Run]) -> list[Run]:
    """Return runs of a result each with what stands before it as their name, where it names no quantity: `ddp: 9 s`."""
    keys = [[*run.results] for run in runs]
    if not all(len(of_run) == 1 for of_run in keys) or not 1 < len({key for (key,) in keys}) <= len(runs) // 2:
        return runs
    units = [run.units.get(key, "") for run, (key,) in zip(runs, keys, strict=True)]
    if any(header_of(key).kind for (key,) in keys) or len({*map(_kind_of, units)}) > 1 or not _kind_of(units[0]):
        return runs
    is_time = _kind_of(units[0]) == "time"
    if not is_time and len({*units}) > 1:
        return runs
    for run, (key,), unit in zip(runs, keys, units, strict=True):
        name, shared_unit = ("time", units[0]) if is_time else (unit, "")
        run.values[name] = [in_unit(value, unit, units[0]) for value in run.values.pop(key)]
        run.values["name"], run.units[name] = [key], shared_unit
        del run.units[key]
    return runs


def _titles_of_runs(lines: Sequence[str]) -> set[int]:
    """Return the lines, by number, that are titles of lists of results or of counts with theirs, each another one."""
    titles, above = dict[int, str](), 0
    for number, line in enumerate(lines, 1):
        keys, is_item, has_result = [key for key, *_ in facts_of(line)], bool(FORMS.item.match(line)), _has_result(line)
        counts = any(map(_is_count, keys))
        if has_result and (is_item or counts) and {*map(plain_name, keys)}.isdisjoint(words_of("log.step")):
            titles |= {above: lines[above - 1].strip(" \t:*#")} if above else {}
            above = 0
        elif FORMS.letter.search(line):
            is_text = not (is_item or counts or has_result) and FORMS.time_of_day.search(line) is None
            above = number if is_text and len(line) < LONGEST_TITLE else 0
    return {*titles} if len({*titles.values()}) == len(titles) > 1 else set()


@lru_cache(maxsize=20_000)
def _names_method(key: str) -> bool:
    """Tell whether a key names what runs are compared by: a method, a network, a precision."""
    meanings = ("log.method", "one_run.network", "transformer.precision")
    return plain_name(key) in chain.from_iterable(map(words_of, meanings))


def _differs_from_run(run: Run, key: str, value: Any) -> bool:
    """Tell whether a fact is another number, list of devices or method than the run has under its key."""
    before = run.values.get(run.spelled.get(_key_meaning(key), key), [])
    tells = isinstance(value, float) or _is_count(key) or _names_method(key)
    return value not in before[-1:] and bool(before) and tells


def _without_setup(runs: Sequence[Run]) -> list[Run]:
    """Return runs where what was timed before the first step, such as loading, belongs to the run that follows."""
    merged_runs = list(runs[-1:])
    for run in reversed(runs[:-1]):
        following = merged_runs[0]
        steps = {key for key in following.results if len(following.values[key]) >= FEWEST_OF_A_CLOCK}
        if run.failure or not steps - {*run.values} or any(len(run.values[key]) > FEWEST_STEPS for key in run.results):
            merged_runs.insert(0, run)
            continue
        # A part of the program that is alone counts one.
        several = {k: v for k, v in run.values.items() if _is_count(k) and following.values.get(k) == [1.0]}
        values, units = {**run.values, **following.values, **several}, {**run.units, **following.units}
        merged_runs[0] = Run(values, units, following.spelled, following.tested, following.failure, run.line)
    return merged_runs


def _with_names(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield lines, those of numbers below their names as facts, and whether such a row is of a run, not of a step."""
    above, ruled, title = "", False, ""
    for line in lines:
        if not line or FORMS.rule.fullmatch(line):
            ruled, title = ruled or bool(line), ""
            yield "", False
            continue
        key = FORMS.key_alone.fullmatch(line)
        title = title if FORMS.duration_first.match(line) else key["key"] if key and is_result(key["key"]) else ""
        if title and key is None:
            # `Training time:` above `1 h 50 min`
            yield f"{title}: {line.lstrip()}", False
            continue
        names, values = above.split(), line.split()
        named = {n: v for n, v in zip(names, values, strict=False) if FORMS.digits.fullmatch(v)}
        if ruled and len(names) == len(values) > 3 and 2 * len(named) > len(names) and any(map(is_result, named)):
            numbers_steps = any(plain_name(name) in words_of("log.step") for name in named)
            yield " | ".join(f"{n}: {v}" for n, v in named.items()), not numbers_steps
            continue
        yield _under_heads(above, line), False
        above, ruled = line, False


def _under_heads(above: str, line: str) -> str:
    """Return a line of numbers below the line of their names as `name: value | name: value`; another line as it is."""
    match = FORMS.under_heads.fullmatch(line)
    if match is None or FORMS.heads.fullmatch(above) is None:
        return line
    heads, values = re.split(r"\s{2,}", above.strip()), match["values"].split()
    if len(heads) != len(values):
        return line
    # Where a name is a unit alone, the key before the numbers is what it measures.
    named = [head if head[0] != "(" else f"{match['key']} {head}" for head in heads]
    pairs = [(name, value) for name, value in zip(named, values, strict=True) if "%" not in name]
    # Of names that mean the same the first counts: in reverse order it is assigned last.
    facts = {_key_meaning(name): f"{name}: {value}" for name, value in reversed(pairs)}
    return " | ".join(fact for fact in reversed(facts.values()) if is_result(fact.partition(": ")[0]))


def _clauses(line: str) -> list[str]:
    """Return the parts of a line, each with a count and what was measured there, where it tells of several runs."""
    as_written = FORMS.nodes_by_devices.sub(_nodes_and_devices, _with_words_of_first(line[:LONGEST_LINE]))
    behind = FORMS.settings_behind.search(as_written)
    facts_behind = () if behind is None else facts_of(behind[0])
    if behind is not None and any(canonical_of(key) and not is_result(key, unit) for key, _, unit in facts_behind):
        clauses = _clauses(as_written[: behind.start()])
        return [f"{behind['settings']}, {clause}" for clause in clauses] if len(clauses) > 1 else [as_written]
    sizes = [*FORMS.size_with_result.finditer(as_written)]
    if len({match["key"] for match in sizes}) == 1 < len(sizes) and canonical_of(sizes[0]["key"]) is not None:
        # `8 GPUs: bs=64 -> 2890 img/s, bs=128 -> 3010 img/s`
        starts = [match.start() for match in sizes]
        of_sizes = itertools.pairwise([*starts, len(as_written)])
        return [f"{as_written[: starts[0]]}{as_written[start:end]}" for start, end in of_sizes]
    line = _in_digits(as_written)
    lists = [[f"{v} {m['unit']}" for v in FORMS.numeral.findall(m["values"])] for m in FORMS.enumerated.finditer(line)]
    clauses = [line]
    if len(lists) > 1 and len({*map(len, lists)}) == 1:
        # What else the sentence says, and the kind of the devices, is of all.
        product, of_all = FORMS.product.search(as_written), FORMS.enumerated.sub("", line)
        kind = "" if product is None else as_written[product.end("value") : product.end()]
        clauses = [", ".join((*row, of_all)) for row in zip(*lists, strict=True)]
        clauses = [clause.replace(" devices", kind, 1) for clause in clauses] if kind else clauses
    elif len(FORMS.counted.findall(line)) + len(FORMS.flag.findall(line)) > 1:
        # Each with the kind of its devices, `8x V100: 300 img/s, 8x A100: 700 img/s`.
        clauses = FORMS.between_clauses.split(as_written)
    if len(clauses) > 1 and (of_runs := _clauses_of_runs(clauses)) is not None:
        return of_runs
    # A count, its result, the next count: without a sign between.
    counted_there = (*FORMS.counted.finditer(line), *FORMS.counted_in_han.finditer(line))
    starts = sorted(match.start() for match in counted_there)
    if len(starts) > MOST_OF_A_LINE:
        return [as_written]
    pieces = [""]
    for start, end in itertools.pairwise([*starts, len(line)]):
        # `2 nodes (16 GPUs): 40 images/s`: counts before one result are of one run.
        if _has_result(pieces[-1]):
            pieces.append("")
        pieces[-1] += line[start:end]
    if (of_pieces := _clauses_of_runs(pieces) if len(pieces) > 1 else None) is not None:
        return of_pieces
    # `1 node is 5it/s and 2 nodes 2.5it/s. The throughput is 40 img/s.`: each sentence tells of its own runs.
    sentences = _BETWEEN_SENTENCES.split(as_written)
    several = len(starts) > 1 and sum(map(_has_result, sentences)) > 1
    return [*chain.from_iterable(map(_clauses, sentences))] if several else [as_written]


def _with_words_of_first(line: str) -> str:
    """Return a line of several counts and results, each count first, and with the words of the first pair in each.

    >>> _with_words_of_first("8 GPUs: 410 img/s, 16: 790"), _with_words_of_first("0.5 s at 4 nodes, 0.7 s at 8")
    ('8 GPUs: 410 img/s, 16 GPUs: 790 img/s', '4 nodes: 0.5 s, 8 nodes: 0.7 s')
    """
    if FORMS.letter.search(line):
        line = FORMS.behind_in_letters.sub(lambda of: f"{of['preposition']}{_NUMBERS[of['letters'].lower()]}", line)
    plain = spelled_in_digits(line)
    for full_pair, further in ((FORMS.of_count, FORMS.of_further_count), (FORMS.at_count, FORMS.at_further_count)):
        words = full_pair.search(plain)
        if words is not None and further.search(plain, words.end()):
            begin, pairs = plain[: words.start()], plain[words.end() :]

            def pair(match: re.Match[str], words: re.Match[str] = words) -> str:
                """Return a pair with the words of the first."""
                return f"{match['count']} {words['noun']}: {match['value']} {match['unit'] or words['unit']}"

            return f"{begin}{pair(words)}{further.sub(lambda match: f', {pair(match)}', pairs)}"
    return line


def _clauses_of_runs(clauses: Sequence[str]) -> list[str] | None:
    """Return the clauses with a count and a result or a failure; None for fewer than two, or one of other facts."""
    of_runs, of_all = list[str](), list[str]()
    for clause in dict.fromkeys(clauses):
        facts = list(facts_of(clause))
        measures = any(is_result(key, unit) for key, _, unit in facts)
        if facts and not any(_is_count(key) for key, _, _ in facts):
            # `batch 4 per GPU` behind several runs is of all.
            if measures or any(canonical_of(key) is None for key, _, _ in facts):
                return None
            of_all.append(clause.strip(" .)("))
        elif measures or (facts and failure_of(clause)):
            of_runs.append(clause)
    return [", ".join((*of_all, clause)) for clause in of_runs] if len(of_runs) > 1 else None


def _repeats_count(run: Run, key: str, value: Any) -> bool:
    """Tell whether the run has a count already, by another name: `on 4 GPU(s)` after `Number of GPUs: 4`."""
    if not _is_count(key):
        return False
    name, meaning = run.spelled.get(_key_meaning(key), key), meant_by(key)
    return any(k != name and v[-1] == value and _is_count(k) and meant_by(k) == meaning for k, v in run.values.items())


def failure_of(line: str) -> str:
    """Return why a run failed, in the words of its log; empty where a line does not say so, or what came of a retry."""
    line = "" if len(line) > LONGEST_LINE else line[:FAILURE_ENDS]
    reason = FAILURES[0] if FORMS.memory.search(line) else FAILURES[1] if FORMS.crash.search(line) else ""
    return "" if reason and FORMS.retried.search(line) and _has_result(line) else reason


#: How many steps there were, their 5 and 95 % quantiles, and how many were slow.
Steps = tuple[int, float, float, int]


def summary(values: Sequence[Any], rate: bool = False) -> tuple[Any, Steps | None]:
    """Return the median of a key's values after the warm-up, and its `Steps`; of texts, or all alike, the last one."""
    numbers = [v for v in values if isinstance(v, float) and np.isfinite(v)]
    if len(numbers) < len(values) or len({*values}) == 1:
        return values[-1], None
    steady = numbers[max(1, int(WARM_UP * len(numbers))) :]
    low, middle, high = np.quantile(steady, (0.05, 0.5, 0.95)).tolist()
    slow = sum(SLOW * v < middle if rate else v > SLOW * middle for v in steady)
    return middle, (len(steady), round(low, 12), round(high, 12), slow)


def _is_clock(values: Sequence[Any], key: str = "") -> bool:
    """Tell whether times run on from step to step, but where one is set back: the last one is that of the run."""
    if len(values) < 2 or not all(isinstance(value, float) for value in values):
        return False
    rises = float(np.mean(np.diff(values) >= 0.0))
    # Of a time whose name says that it is so far, two that rise suffice.
    if not _SO_FAR.isdisjoint(_words_of(key)) and not header_of(key).of:
        return rises == 1.0
    return len(values) >= FEWEST_OF_A_CLOCK and rises > MOST_RISES and values[-1] > SLOW * values[0]


def key_of_step(key: str) -> bool:
    """Tell whether a key numbers a step of a run: `epoch 3`."""
    return FORMS.numbered.fullmatch(key) is not None


def is_counter(key: str, values: Sequence[Any], unit: str = "") -> bool:
    """Tell whether a key numbers the lines of a run: its values rise, and measure nothing."""
    numbers = [v for v in values if isinstance(v, float) and np.isfinite(v)]
    if len(numbers) < 2 or _words_of(key).isdisjoint(_COUNTERS):
        return False
    of_a_calendar = CALENDAR[0] < min(numbers) and max(numbers) < CALENDAR[1]
    rises = np.diff(numbers)
    # `throughput/total_tokens` counts what was done so far, and `time/batch` too: what is measured of a step does not
    # rise by one amount from step to step.
    is_even = len(numbers) >= FEWEST_OF_A_CLOCK and rises[0] > 0.0 and np.mean(rises == rises[0]) > MOST_EQUAL
    is_amount = bool(is_even) and (header_of(key).kind == "rate" or header_of(key).of != "")
    counts_lines = of_a_calendar or is_amount or not is_result(key, unit)
    return len({*numbers}) > 1 and float(np.mean(rises >= 0.0)) > 0.7 and counts_lines


def numbers_the_lines(values: Sequence[float]) -> bool:
    """Tell whether numbers without a name are times of a calendar, also in milliseconds, or rise evenly."""
    numbers, rises = np.asarray(values, float), np.diff(values)
    of_a_calendar = any(np.all((CALENDAR[0] < numbers / s) & (numbers / s < CALENDAR[1])) for s in (1.0, 1e3))
    return bool(of_a_calendar or (len(rises) and np.all(rises == rises[0]) and rises[0] > 0.0 and not numbers[0] % 1.0))


def _is_simulated(key: str, values: Sequence[Any], unit: str) -> bool:
    """Tell whether `Time = 0.1`, `Time = 0.2`, … go on by the same amount, as no time does that is measured."""
    if unit or bare(key) != key or plain_name(key) not in _COUNTERS or len(values) < FEWEST_OF_A_CLOCK:
        return False
    rises = np.round(np.diff([v for v in values if isinstance(v, float)]), 9)
    return bool(len(rises) and rises[-1] > 0.0 and np.mean(rises == rises[-1]) > MOST_EQUAL)


#: Cells by which a column is known to hold several facts each: all of a million would take seconds.
FIRST_CELLS = 200


def with_facts(source: Source) -> Source:
    """Return a table whose cells of facts are a column of each: `18 samples/sec 2.9 tflops/gpu`, `took = 4 min 8 s`."""
    cells: dict[str, Any] = {}
    units = dict(source.units)
    steps = []
    for name, column in source.cells.items():
        texts = [text if isinstance(text, str) else "" for text in column.tolist()] if column.dtype.kind == "O" else []
        first_texts = [text for text in texts[:FIRST_CELLS] if text]
        of_facts = [not is_number(text) and any(facts_of(text)) and parts_of(text) is None for text in first_texts]
        hold_facts = 2 * sum(of_facts) > len(first_texts)
        facts = [{key: (value, unit) for key, value, unit in facts_of(text)} for text in texts] if hold_facts else []
        stated = [fact for text, fact in zip(texts, facts, strict=False) if fact and parts_of(text) is None]
        keys = list(dict.fromkeys(key for fact in stated for key in fact))
        has_result = any(is_result(key, unit) for fact in stated for key, (_, unit) in fact.items())
        if 2 * len(stated) <= sum(map(bool, texts)) or not has_result or {*keys} & {*source.cells, *cells}:
            cells[name] = column
            continue
        for key in keys:
            cells[key] = np.array([fact.get(key, ("", ""))[0] for fact in facts], dtype=object)
            units_of_key = [unit for fact in facts if (unit := fact.get(key, ("", ""))[1])]
            units |= {key: units_of_key[-1]} if units_of_key else {}
        steps.append(step(f"{counted(len(stated), 'cell')} of '{name}' taken apart: {listed(keys, 6)}"))
    return replace(source, cells=cells, units=units, steps=(*source.steps, *steps)) if steps else source


def _words_of(key: str) -> set[str]:
    return {*re.split(r"[_/.]", plain_name(key))}


def _whole(values: Sequence[Any]) -> bool:
    return all(isinstance(value, float) and value.is_integer() for value in values)


def source_of_records(records: Sequence[Mapping[str, Any]], name: str) -> Source | None:
    """Return records that log one run, step by step, as one row; None where they are of several runs."""
    run = Run()
    for record in records:
        for key, cell in record.items():
            number = number_in(cell)
            if number != number and isinstance(cell, str) and ":" in cell and is_result(key):
                number = seconds_of([cell])[0]
                run.units[key] = "s"
            elif number != number and (measured := parts_of(str(cell))) and (unit := canonical_time(measured.unit)):
                number = in_unit(number_in(measured.number), unit, run.units.setdefault(key, unit))
            if number == number or (isinstance(cell, str) and cell.strip()):
                run.values.setdefault(key, []).append(number if number == number else cell)
    progressed = _with_progress(run)
    rising = [key for key, values in run.values.items() if is_counter(key, values, run.units.get(key, ""))]
    clocks = [k for k, values in run.values.items() if header_of(k).kind == "time" and _is_clock(values, k)]
    if len(clocks) == 1:
        unit = run.units.get(clocks[0]) or header_of(clocks[0]).unit
        seconds = np.array(run.values[clocks[0]]) * np.divide(*TIME_UNITS[unit])
        numbers = [key for key in rising if not _words_of(key).isdisjoint(words_of("log.step"))]
        at_each_moment = [key for key in numbers if len(run.values[key]) == len(seconds)]
        run.moments = {key: [*zip(run.values[key], seconds.tolist(), strict=True)] for key in at_each_moment}
        _add_pace(run)
    varied = [key for key, values in run.values.items() if key not in rising and len({*values}) > 1]
    texts = [key for key in varied if not isinstance(run.values[key][0], float)]
    settings = [key for key in varied if canonical_of(key) is not None]
    # Whole numbers that vary and count nothing were chosen, unless they go on by one amount from line to line.
    chosen = [key for key in varied if key not in texts and not is_result(key) and _whole(run.values[key])]
    are_many = len(records) >= FEWEST_OF_A_CLOCK and bool(rising)
    for key in [key for key in chosen if are_many and _is_no_count_of_steps(key, run.values[key])]:
        chosen.remove(key)
        del run.values[key]
    settings += [key for key in chosen if not (are_many and numbers_the_lines(run.values[key]))]
    # A text for each step, such as the time of day, is no setting.
    settings += [key for key in texts if len({*run.values[key]}) < 0.5 * len(run.values[key])]
    # A batch from zero on, `batch` 0, 1, 2, …, is no size.
    from_zero = [key for key in rising if meant_by(key) == "batch" and run.values[key][0] == 0.0]
    numbered = [key for key in rising if not _words_of(key).isdisjoint(words_of("log.step"))] + from_zero
    if not (numbered or progressed) or settings or not run.measured:
        return None
    return source_of_rows([run], name, "record")


def _is_no_count_of_steps(key: str, values: Sequence[float]) -> bool:
    """Tell whether a name of one device, `gpu`, says at each step how busy it is, or which it is, and counts none."""
    least = min(values)
    return canonical_of(key) is None and meant_by(key) in LEVELS and (least < 1.0 or any(v % least for v in values))


def _with_progress(run: Run) -> bool:
    """Put rates in the place of counts that rise with a clock, read at even intervals: `time,samples`."""
    clocks = [k for k, values in run.values.items() if header_of(k).kind == "time" and _is_clock(values)]
    seconds = np.diff(run.values[clocks[0]]) if len(clocks) == 1 else np.zeros(1)
    amounts = [k for k, v in run.values.items() if plain_name(k) in _AMOUNTS and len(v) == len(seconds) + 1]
    amounts = [key for key in amounts if _is_clock(run.values[key])]
    if not amounts or np.ptp(seconds) > 0.01 * seconds[0]:
        return False
    seconds *= np.divide(*TIME_UNITS[header_of(clocks[0]).unit])
    run.values |= {f"{key}/s": (np.diff(run.values.pop(key)) / seconds).tolist() for key in amounts}
    del run.values[clocks[0]]
    return True


def source_of_log(text: str, name: str, size: int = 0) -> Source | None:
    """Return the runs of a text as rows; None where nothing was measured and none failed.

    Of a log of more than `MOST_OF_A_LOG` characters only the beginning is read; `size` is that of the whole file.
    """
    if "**" in text:
        text = FORMS.emphasis.sub(lambda match: match["text"] or match["last"], text)
    size = max(size, len(text)) if size > MOST_OF_A_LOG else len(text)
    if (named := _runs_of_lines(text)) is not None:
        return source_of_rows(_with_one_time(named, text.split("\n")), name)
    text = text if size <= MOST_OF_A_LOG else text[:MOST_OF_A_LOG].rpartition("\n")[0]
    thinned, stride = thinned_out(text)
    runs = runs_of(thinned)
    if not any(run.measured or (run.failure and run.values) for run in runs):
        return None
    # A run that logs nothing but the numbers of its steps has no cells.
    source = source_of_rows([run for run in runs if run.measured or run.failure], name)
    cut = f"only the first {MOST_OF_A_LOG // 1_000_000} of {size / 1e6:.0f} MB of the log are read"
    sampled = f"of lines alike one of {stride} is read"
    notes = [note for note, holds in ((cut, len(text) < size), (sampled, stride > 1)) if holds]
    return replace(source, steps=(*source.steps, *map(step, notes))) if source.cells else None


def _runs_of_lines(text: str) -> list[Run] | None:
    """Return what a short text tells behind names that repeat, or of several runs each: `VGG, 8 GPUs, 700 img/s`."""
    lines = [(number, line.strip(" \t\r*-")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(text) > MOST_READ or len(lines) > MOST_NAMES:
        return None
    lines = [*itertools.dropwhile(lambda line: not _has_result(line[1]), lines)]
    # `exp A (no accumulation), 8 GPUs: 0.61 s` names what `exp A, 16 GPUs: 0.66 s` does.
    plain = [FORMS.remark_on_name.sub("", line, 1) for _, line in lines]
    beginnings = [FORMS.behind_a_name.split(line, maxsplit=1)[0] for line in plain]
    remarked = [name for name, (_, line), text in zip(beginnings, lines, plain, strict=True) if line != text]
    if len({*remarked}) == len(remarked) > 0 and min(Counter(beginnings).values()) > 1:
        lines = [(number, text) for (number, _), text in zip(lines, plain, strict=True)]
    pieces = [(number, clause.strip(" ,;")) for number, line in lines for clause in _clauses(line)]
    for behind, named in itertools.product((FORMS.behind_a_name, FORMS.behind_a_colon), (lines, pieces)):
        parted = [(number, [*behind.split(line, maxsplit=1), ""]) for number, line in named]
        names = Counter(name for _, (name, *_) in parted)
        are_names = all(FORMS.letter.search(name) and not FORMS.pair.search(name) for name in names)
        are_names &= not all(map(FORMS.counted.fullmatch, names)) and not all(map(FORMS.numbered.fullmatch, names))
        clauses = [_clauses(of_name) for _, (_, of_name, *_) in parted]
        if len(names) > 1 and are_names and (min(names.values()) > 1 or min(map(len, clauses)) > 1):
            of_names = zip(parted, clauses, strict=True)
            runs = [_run_of_clause(name, clause, k) for (k, (name, *_)), of_name in of_names for clause in of_name]
            return None if None in runs else [run for run in runs if run is not None]
    return _runs_of_results(lines)


def _runs_of_results(lines: Sequence[tuple[int, str]]) -> list[Run] | None:
    """Return lines that begin with their results, `830 img/s, PyTorch, 2 GPUs`, as runs named by what only they say."""
    results = [(number, line, of) for number, line in lines if (of := FORMS.result_first.fullmatch(line)) is not None]
    units = {of["unit"] for _, _, of in results}
    if len(results) < 2 or len(units) > 1 or not _measures(min(units)):
        return None
    parts = [[part.strip() for part in FORMS.behind_a_name.split(of["others"])] for _, _, of in results]
    common = set.intersection(*map(set, parts))
    names = [
        ", ".join(p for p in of_line if p and p not in common and not re.search(r"\d|\([^)]*$|^[^(]*\)", p))
        for of_line in parts
    ]
    runs = [Run({"variant": [name]}, line=number) for name, (number, *_) in zip(names, results, strict=True)]
    for run, (_, line, _) in zip(runs, results, strict=True):
        for key, value, unit in facts_of(line):
            run.add(key, value, unit)
    for key in {
        key for run in runs for key in run.values if _is_count(key) and not all(key in of.values for of in runs)
    }:
        # What only some lines count tells them apart no better than their names.
        for run in runs:
            run.forget({key})
    return None if "" in names or len({*names}) < 2 else runs


def _run_of_clause(name: str, clause: str, number: int) -> Run | None:
    """Return what a clause says as a run that has the name before it; None without a count and a result there."""
    word = FORMS.word_alone.match(name)
    run = Run({"name": [name]} if word is None else {word["key"]: [word["value"]]}, line=number)
    for key, value, unit in facts_of(clause):
        run.add(key, value, unit)
    return run if run.measured and any(map(_is_count, run.values)) else None


def thinned_out(text: str) -> tuple[str, int]:
    """Return a long text with every so many of its lines that differ in digits alone, the others empty, and how many.

    Of lines that occur twice as often twice as many are left out; of each kind the first and the last stay, or a few.
    """
    if len(text) <= MOST_READ:
        return text, 1
    lines = text.split("\n")
    alike: dict[bytes, list[int]] = {}
    for k, line in enumerate(lines):
        alike.setdefault(line.encode().translate(None, b"0123456789"), []).append(k)
    lengths = {kind: len(lines[places[0]]) for kind, places in alike.items()}
    most = 1 << len(lines).bit_length()
    while most > FEWEST_ALIKE and sum(min(len(p), most) * lengths[kind] for kind, p in alike.items()) > MOST_READ:
        most //= 2
    strides = {kind: -(-len(places) // most) for kind, places in alike.items()}
    sampled = {k for kind, places in alike.items() for k in (*places[:: strides[kind]], places[-1])}
    return "\n".join(line if k in sampled else "" for k, line in enumerate(lines)), max(strides.values())


def source_of_settings(text: str, name: str) -> Source | None:
    """Return a script, or keys with values and no result, as a row: the settings of a run; None for another text."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "["))]
    are_keys = (FORMS.setting.match(line) or FORMS.pair.search(line) for line in lines[:MOST_NAMES])
    if not (FORMS.script.match(text) or all(are_keys)):
        return None
    source = source_of_rows(_runs(text)[:1], name)
    return replace(source, delimiter="") if source.cells else None


def source_of_steps(source: Source) -> Source | None:
    """Return a table that logs one run, step by step, as one row; None for another table.

    Two rows show no clock or counter that runs on. The row is no line of the file, so that it has no delimiter.
    """
    if len(source) < 3:
        return None
    records = [dict(zip(source.cells, row, strict=True)) for row in zip(*source.cells.values(), strict=True)]
    run = source_of_records(records, source.name)
    return None if run is None else replace(run, steps=(*source.steps, *run.steps), delimiter="")


def source_of_rows(runs: Sequence[Run], name: str, unit: str = "line") -> Source:
    """Return runs as rows: of each key its setting or the median of its steps, and apart what the steps spread."""
    rows: list[dict[str, Any]] = []
    spreads: list[dict[str, Steps]] = []
    units: dict[str, str] = {}
    for run in runs:
        _merge_paces(run)
        row: dict[str, Any] = {}
        spread = {}
        unmeasured_keys = run.results if run.failure and not run.measured else ()
        for key, logged in {**run.tested, **run.values}.items():
            given_unit = run.units.get(key, "")
            is_remaining = not _LEFT.isdisjoint(_words_of(key))
            # `batch: 64` is a setting; with each step `batch: 10`, `batch: 20`, … a counter
            is_set = len(logged) < FEWEST_OF_A_CLOCK and canonical_of(key) is not None and plain_name(key) in _COUNTERS
            values = [in_unit(v, given_unit, units.get(key, given_unit)) for v in (logged[-1:] if is_set else logged)]
            if not values or is_remaining or is_counter(key, values, given_unit) or key in unmeasured_keys:
                continue
            if _is_simulated(key, values, given_unit) and any(key != result for result in run.results):
                continue
            kinds = (header_of(key).kind, given_unit and _kind_of(given_unit))
            is_clock = "time" in kinds and _is_clock(values, key)
            row[key], steps = summary(values[-1:] if is_clock else values, "rate" in kinds)
            if row[key] == 0.0 and {"time", "rate"} & {*kinds}:
                del row[key]  # not measured
                continue
            if steps is not None:
                spread[key] = steps
        if run.failure and not run.measured:
            row["status"] = run.failure
        units = {k: u for k, u in run.units.items() if k in row} | units
        rows.append(row)
        spreads.append(spread)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(column, "") for column in columns] for row in rows]
    options = {"units": units, "steady": steady_of(columns, spreads), "runs": True}
    return source_of(name, columns, cells, [run.line for run in runs], unit, **options)


def _merge_paces(run: Run) -> None:
    """Put `1.2 s/it` of a bar of progress below the `1.3 it/s` that it shows where a step takes less than a second."""
    for key, other in itertools.combinations([key for key in run.values if pace_of(key)], 2):
        more, fewer = sorted((key, other), key=lambda k: -len(run.values[k]))
        if inverse(more, fewer) and len(run.values[more]) > len(run.values[fewer]):
            run.values[more] += [1.0 / value for value in run.values.pop(fewer) if isinstance(value, float) and value]


def inverse(column: str, other: str) -> bool:
    """Tell whether one column has the steps of a second, and the other the seconds of such a step."""
    paces = {pace_of(column), pace_of(other)} - {None}
    return len(paces) == 2 and len({pace[0] for pace in paces if pace}) == 1


def steady_of(columns: Sequence[str], spreads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the steps of each column spread, a row a run; zeros where it was not measured in steps."""
    nothing = (0, np.nan, np.nan, 0)
    return {n: np.array([s.get(n, nothing) for s in spreads]) for n in columns if any(n in s for s in spreads)}


def read_back(source: Source) -> Source:
    """Return runs whose first step reports in one line how they were read."""
    if not source.runs:
        return source
    of_files = source.unit == "file"
    texts = [f"{counted(len(source), 'file')}, a run each" if of_files else counted(len(source), "run")]
    of_paths = (taken.columns.values() for column, taken in source.names.items() if column in PATHS)
    if made := [name for names in of_paths for name in names if name in source.read]:
        texts.append(f"{listed(made, 3)} from their names")
    failed = [text for text in source.columns.get("status", ()) if text in FAILURES]
    if failed:
        texts.append(f"{len(failed)} without a result ({', '.join(dict.fromkeys(failed))})")
    measured = [n for n in source.steady if n in source.columns and is_result(n, source.units.get(n, ""))]
    if measured:
        # A log's columns are measured in the same steps: those of the first are counted.
        counts, _, _, slow_steps = source.steady[measured[0]].T
        slow = int(slow_steps.sum())
        least, most = int(min(counts[counts > 0])), int(max(counts))
        steps = counted(most, "step") if least == most else f"{least} to {most} steps"
        texts += [f"{listed(measured, 3)}: median of {steps}"] if most > 1 else []
        texts += [f"{slow} of {int(counts.sum())} took over twice as long"] if slow else []
    return replace(source, steps=(Note("; ".join(texts), "read_back"), *source.steps))
