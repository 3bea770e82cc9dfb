"""A question in words under the columns of a table: names with their values, and the options of `ask` among them.

The words are read from the first to the last, each phrase as the first of these that it is: a machine (`2x8xh100`), a
number with what it counts (`64 gpus`, `10 days`), a name with its value (`batch size of 32`), a cell (`FSDP`), a word
that only asks, or a number and a name without a blank (`tp8`). Cells are looked at before a word is left out.
"""

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise, product
from typing import TypeAlias, TypeVar

from msgspec import field

from genperf.errors import TableError, listed
from genperf.formula.amounts import amount, without_thousands
from genperf.panel.legend import SCALE, Legend, column_by_name, column_of_setting, number_text, same
from genperf.panel.meanings import EACH, Meanings, only_match, singular_words
from genperf.panel.words import GLUED, GRID, machine_in, words_of_question
from genperf.peaks import device_in
from genperf.table.clean import is_number
from genperf.table.facts import SLICE
from genperf.table.shape import TITLES, VARIANT
from genperf.vocabulary import any_of, section, words_of
from genperf.vocabulary.headers import (
    STEP_WORDS,
    TIME_UNITS,
    bandwidth_of,
    bytes_of,
    canonical_time,
    epochs_of,
    header_of,
    unit_of,
)
from genperf.vocabulary.names import (
    LEVELS,
    WAYS,
    WORK_OF_A_RUN,
    canonical_of_singular,
    column_of,
    command_about,
    counts_scale,
    is_relative,
    level_with,
    meant_by,
    plain_name,
    words_in,
)

T = TypeVar("T")
#: Where a phrase ends, its name and its value; `--deadline` is an option, and a name without a value has "".
Phrase: TypeAlias = tuple[int, str, str]
#: Words of one name in a question, at most.
MOST_WORDS = 5
#: Before a count that is asked for, before what is compared, or those of it that keep a limit; between two values of
#: one name, or two configurations; between a name and its value.
_COUNTING, _WHICH, _LARGEST, _SMALLEST, _BETWEEN, _ALTERNATIVE, _OF_A_VALUE, _JOINING = (
    re.compile(f"(?i){any_of(*(f'headers.{of}' for of in places.split()))}")
    for places in (
        *(
            "how_many which superlative",
            "which superlative",
            "largest",
            "smallest",
            "between",
            "alternative",
            "of_a_value",
            "joining",
        ),
    )
)
#: A column by which runs are of different times; before what something may be at most.
_SESSION = re.compile(any_of("columns.session"))
_BOUNDING = re.compile(any_of("headers.bounding"))
#: Words that ask what costs least.
CHEAPEST = frozenset({"cheapest", *words_of("superlatives.cheapest")})
_LIMITING = re.compile(any_of("headers.limiting"))
#: Before what is asked of several kinds, `which is fastest`.
_OF_KINDS = re.compile(f"(?i){any_of('headers.which')}")
#: A number, an amount, or several.
_NUMBER = re.compile(r"\d[\d.]*(?:e[-+]?\d+)?[kKMBTmb]?(?:[,:][\d.*]+[kKMBT]?)*")
#: A share of one.
_SHARE = re.compile(r"\d{1,2}(?:\.\d+)?%")
#: Columns of titles and of headers, which have no name of their own.
_UNNAMED = ("section", VARIANT, TITLES)
#: `per epoch`, `$/epoch`.
_OF_AN_EPOCH = re.compile(rf"(?i)(?:/|(?<!\w)(?:per|an?|each|every)) ?{any_of('headers.epoch')}(?!\w)")
#: Names of machines that hold several devices.
_MACHINES = re.compile(f"(?i){any_of('cells.kinds_of_machines')}")
#: What a product is too large by at most.
ROUNDING = 1e-9
#: Behind a number of steps that the option of samples has.
OF_STEPS = " steps"
#: The limit that is the memory in the name of a device.
OF_THE_DEVICE = "of the device"
#: What a unit measures that counts nothing.
_PHYSICAL = re.compile("W|Wh|J|Hz|(?:bit|B)/s")
#: A unit of memory, by its capital letters.
_MEMORY = re.compile("[KMGT]i?B")
#: So many times the largest number of the runs, or so many more.
_RELATIVE = re.compile(r"([×+])(\d[\d.]*)")
#: Parameters of a network of a column without a telling name, at least.
_LEAST_SIZE = 1e6
#: A mark or an end, and what stands behind a name.
_SIGNS = frozenset("|=:")
#: What a question may be about, and which of these is about the ways in which devices are split.
TOPICS = ("normal", "why", "cost", "next", "layout")
LAYOUT = "layout"
#: The options of a job.
_OF_A_PLAN = frozenset({"--samples", "--tokens", "--deadline", "--budget", "--price"})
#: What is chosen with a layout.
_OF_LAYOUT = frozenset({*WAYS, "micro_batch"})
#: What a job has so many of, by what a question calls it.
_OF_A_JOB = {*filter(str.islower, section("counted")), *words_of("headers.of_a_batch"), "epochs"}


def settings_in_words(legend: Legend, at: Mapping[str, str]) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """Return the settings that a question in words means, its names without a value, and the options among its words.

    `8 GPU cards for $2/h and tp` is ({"GPU cards": "8"}, ["tp"], {"price": "2/h"}) of columns of these names. A word
    that means nothing is a setting of its own name. Several values of one name are a `SeveralValuesError`.
    """
    options = {name.removeprefix("--"): text for name, text in at.items() if name.startswith("--")}
    text, settings = at.get(SCALE, ""), {n: value for n, value in at.items() if n != SCALE and not n.startswith("--")}
    if not text or is_number(text) or any(text in entry.levels for entry in legend.columns.values()):
        return settings | ({SCALE: text} if text else {}), [], options
    of_runs = next((name for name in legend.names if legend.cells_of_name(name, text)), None)
    machine, remainder = ({}, "") if of_runs is None else machine_in(text)
    if of_runs is not None and not (machine and remainder.strip()):
        # `8n8g` and `v4-32` of a column of such names; a machine is taken apart later.
        return settings | {SCALE if machine and SLICE.match(text) is None else of_runs: text}, [], options
    words = _Words(legend, words_of_question(text))
    phrases = words.with_columns_of_numbers(words.read())
    nameless = [name for name, value in phrases if not value and name[0] != "-"]
    if (f"--{LAYOUT}", "") in phrases:
        # `what tp and pp`
        nameless = [name for name in nameless if meant_by(name) not in _OF_LAYOUT]
    phrases = [(name, value) for name, value in phrases if value or name[0] == "-"]
    columns, values = _values_by_name(legend, settings, phrases)
    if len(limits := values.get("--limit", [])) > 1 and OF_THE_DEVICE in limits:
        # `fit in 40 GB` gives the memory.
        limits.remove(OF_THE_DEVICE)
    is_list = any(len(of_name) > 1 for of_name in values.values())
    several = {columns.get(name, name): len(of_name) for name, of_name in values.items() if len(of_name) > 1}
    if any(n == 2 or name in legend.of_names or meant_by(name) not in (*LEVELS, SCALE) for name, n in several.items()):
        # Levels beside each other show which costs least, and two counts how much faster the larger one is.
        values.pop("--cost", None)
    has_count, has_job = any(meant_by(n) in LEVELS or n == SCALE for n in values), not _OF_A_PLAN.isdisjoint(values)
    best = [n for n in values if n.lower() in words_of("headers.best")]
    if any(words.is_result(n) for n in values if meant_by(n) not in LEVELS):
        # `best accuracy`: which count has it is not known.
        values = {n: of_name for n, of_name in values.items() if n not in best}
    elif best and not (is_list or words.compared):
        # `which is fastest`, where kinds of runs were measured
        has_count_or_kinds = has_count or (
            _OF_A_PLAN.isdisjoint(values.keys() - {"--price"})
            and any(map(_OF_KINDS.fullmatch, words.words))
            and any(legend.columns[n].distinct > 1 for n in legend.of_names)
        )
        values |= _best_wanted(best, {*values}, bool(nameless), has_count_or_kinds)
    if is_list or has_job or has_count or not {f"--{LAYOUT}", "--best", "--each"}.isdisjoint(values):
        # The rows of a list show which is best, of a plan the cheapest count is answered, and of layouts the best one.
        values = {
            n: of_name
            for n, of_name in values.items()
            if of_name != [n] or command_about(n) not in ("compare", "optimize")
        }
    requested = [of for of in section("requested") if re.search(rf"(?i)(?<!\w){any_of(f'requested.{of}')}(?!\w)", text)]
    # `what does fsdp cost` compares, and the `time` of `step time` is that of a step.
    names_time = has_job or "--why" in values or not {"job", "epoch", "step"}.isdisjoint(requested)
    requested = [of for of in requested if not (words.compared if of == "cost" else names_time and of == "time")]
    asks_cheapest = not CHEAPEST.isdisjoint(map(str.lower, words.words))
    requested += ["cost"] if asks_cheapest and (words.compared or "--each" in values) else []
    if "cost" in requested and len(words.times_of_epochs) == 1 and _OF_AN_EPOCH.search(text):
        # What an epoch costs, beside the time of a step.
        values.setdefault("--want", [*words.times_of_epochs])
    values |= {"--requested": [", ".join(requested)]} if requested else {}
    values |= words.extreme_of_measured() if is_list or "--each" in values else {}
    has_deadline_alone = values.keys() & _OF_A_PLAN - {"--price"} == {"--deadline"}
    if has_deadline_alone and has_count and legend.is_of_steps and not (nameless or is_list):
        # `16 nodes for 24 hours`: how much is done until then.
        values["--want"] = [f"work/{values.pop('--deadline')[0]}"]
    if contradiction := _several_values(words, settings, columns, values):
        raise contradiction
    options |= {name.removeprefix("--"): text for name, (text,) in values.items() if name[0] == "-"}
    return {name: text for name, (text,) in values.items() if name[0] != "-"}, nameless, options


def _best_wanted(best: Sequence[str], names: set[str], has_nameless: bool, has_count: bool) -> dict[str, list[str]]:
    """Return the option that a word like `fastest` is: `--best` of all counts, or `--each` setting left open at one."""
    if not (has_nameless or has_count or names > {*best, *_OF_A_PLAN}):
        return {"--best": [best[-1].lower()]} if best[-1].lower() not in words_of("headers.worst") else {}
    # `which is fastest on 64 gpus`, of the settings that are left open
    of_one_count = ("--samples", "--tokens") if any(n == SCALE or meant_by(n) in LEVELS for n in names) else ()
    is_of_open = has_count and not names & {f"--{LAYOUT}", *_OF_A_PLAN} - {"--price", *of_one_count}
    return {"--each": [best[-1].lower()]} if is_of_open else {}


def _values_by_name(
    legend: Legend, settings: Mapping[str, str], phrases: Sequence[tuple[str, str]]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the column of each name of settings and phrases, and the different values of each name."""
    columns = {name: column_of_setting(legend, name, text) or name for name, text in (*settings.items(), *phrases)}
    # A device alone counts none.
    columns |= {name: name for name, text in phrases if name == text and device_in(name) is not None}
    values = {name: [value] for name, value in settings.items()}
    for name, value in phrases:
        earlier = next((other for other in values if columns[other] == columns[name]), name)
        # Words that are of one header, `PyTorch distributed`, are no two values of it.
        is_of_header = earlier != name == value
        if not is_of_header and not any(same(other, value) for other in values.setdefault(earlier, [])):
            values[earlier].append(value)
    return columns, values


def _several_values(
    words: "_Words", settings: Mapping[str, str], columns: Mapping[str, str], values: Mapping[str, list[str]]
) -> "SeveralValuesError | None":
    """Return the error of the first name that has several values; None without one."""
    name = next((name for name, of_name in values.items() if len(of_name) > 1), None)
    places = words.alternatives(columns, values)
    if name is None and not places:
        return None
    if name is None:
        what = " and ".join(", ".join(f"{n}={value}" for n, value in place.items()) for place in places)
        return SeveralValuesError(f"the question has both {what}", hint="one of them", places=places)
    what = " and ".join(f"{columns[name]}={value}" for value in values[name])
    # What an option says is no list with the words beside it.
    if name in settings or name[0] == "-":
        return SeveralValuesError(f"the question has both {what}", hint="one of them", places=[])
    listed_values = (f"{columns.get(of, of)}={','.join(each)}" for of, each in values.items() if of[0] != "-")
    hint = f"one, or genperf ask TABLE --at {' --at '.join(map(shlex.quote, listed_values))}"
    places = places or [dict(zip(values, of, strict=True)) for of in product(*values.values())]
    return SeveralValuesError(f"the question has both {what}", hint=hint, places=places)


class SeveralValuesError(TableError):
    """The words of a question have several values of one name, `64 or 128 gpus`, which `ask` answers one by one."""

    def __init__(self, message: str, *, hint: str | None = None, places: list[dict[str, str]]) -> None:
        super().__init__(message, hint=hint)
        #: The configurations; none where the values contradict each other.
        self.places = places

    @property
    def lists(self) -> dict[str, list[str]]:
        """The values of each name where the configurations are all combinations of them; else none."""
        names = list(dict.fromkeys(chain(*self.places)))
        values = {name: list(dict.fromkeys(place.get(name, "") for place in self.places)) for name in names}
        is_grid = math.prod(map(len, values.values())) == len({tuple(place.items()) for place in self.places})
        return values if is_grid and not any("," in text for texts in values.values() for text in texts) else {}


class _Words(Meanings, dict=True):
    """The words of a question, which are read from the first to the last under the columns of a table."""

    words: list[str]
    #: Names and values; a word that means nothing is its own name.
    phrases: list[tuple[str, str]] = field(default_factory=list)
    compared: str = ""  #: The column whose values are compared: `which framework`.
    sought: str = ""  #: The column of numbers of which one is asked for: `largest batch`, `how many replicas`.
    #: How many phrases stand before each word that parts two configurations, `vs`.
    ends: list[int] = field(default_factory=list)

    def read(self) -> list[tuple[str, str]]:
        """Return the names with their values that the words say; the first reading that fits a phrase decides it."""
        kinds = (
            *(self.read_sign, self.read_relative, self.read_machine, self.read_counted, self.read_rate_of_one),
            *(self.read_what, self.read_switch, self.read_named),
        )
        place = 0
        while place < len(self.words):
            is_parted = _ALTERNATIVE.fullmatch(self.words[place]) is not None
            place, name, value = next(
                phrase for kind in (*kinds, self.read_cell_or_prose, self.split_glued) if (phrase := kind(place))
            )
            self.phrases += [(name, value)] if name else []
            self.ends += [len(self.phrases)] if is_parted and not name else []
        self.replace_words_of_cells()
        self.find_compared()
        self.add_compared_levels()
        return self.phrases

    def replace_words_of_cells(self) -> None:
        """Put the cells that have a word in its place: `BSP` is `BSP-A2A` and `BSP-PS`.

        A word stays where another phrase names one of these cells: the `Llama` of `Llama-2-7B`, which `7B` chose.
        """
        for word in [name for name, value in self.phrases if name == value and name not in self.legend.columns]:
            cells, place = self.cells_having(word.lower()), self.phrases.index((word, word))
            others = [self.cell(value) or (name, value) for name, value in self.phrases if name != word and value]
            if cells and not any((name, cell) in cells for name, cell in others):
                self.phrases[place : place + 1] = cells

    def add_compared_levels(self) -> None:
        """Add all levels of the columns that are compared, unless the words give values of the first one."""

        def column_of(name: str) -> str | None:
            return column_by_name(self.legend, name, self.legend.columns)

        # Of `which gpu at 64 GPUs` the number is none of the kinds.
        is_text = self.compared in self.legend.of_names
        settings = [name for name, value in self.phrases if not (is_text and is_number(value))]
        if not self.compared or self.compared in map(column_of, settings):
            return
        # `which batch and precision` compares both.
        nameless = (column_of(name) for name, value in self.phrases if not value)
        beside = (name for name in nameless if name is not None and self.is_compared(name))
        for name in dict.fromkeys([self.compared, *beside]):
            entry = self.legend.columns[name]
            self.phrases += [(name, level) for level in entry.levels or entry.values]

    def find_compared(self) -> None:
        """Find what a question compares without `which`: `how much faster is X`, `is it getting faster`, a limit."""
        words, entries = [word.lower() for word in self.words], self.legend.columns
        counts = [value for name, value in self.phrases if meant_by(name) in (*LEVELS, SCALE)]
        if self.add_numbers_at_limit() or self.compared or self.ends:
            return
        # `which network is faster`, of lists below titles, which say what they are of and not what that is called.
        untold = [name for name in entries if name in _UNNAMED and self.is_compared(name)]
        places = [place for place, word in enumerate(words) if place and _WHICH.fullmatch(words[place - 1])]
        # `which GPU kernel`
        places += [place + 1 for place in places if not self.is_prose(words[place])]
        nouns = [(word, word) for word in map(self.word, places) if (word, word) in self.phrases]
        if len(untold) == 1 and nouns:
            self.phrases.remove(nouns[0])
            self.compared = untold[0]
        if not {*words}.isdisjoint(words_of("headers.comparative")):
            # `how much faster is pytorch`, than the others.
            levels = {name: entry.levels for name, entry in entries.items() if self.is_compared(name)}
            cells = [(name, text) for name, text in self.phrases if text in levels.get(name, ())]
            if len(cells) == 1:
                self.phrases.remove(cells[0])
                self.compared = cells[0][0]
            # `is it getting faster`, of runs by date
            dates = [name for name in levels if _SESSION.fullmatch(plain_name(name))]
            self.compared = self.compared or (dates[0] if len(dates) == 1 and not cells else "")
            # `how much faster is it on 64 gpus`, than on the fewest.
            is_multiple = " ".join(words[:3]) in words_of("headers.multiple") and not (cells or dates)
            self.phrases += [("--want", "speedup")] if is_multiple and len(counts) == 1 else []

    def extreme_of_measured(self) -> dict[str, list[str]]:
        """Return the option of a word that asks for the largest or smallest value that was measured; {} without one."""
        extremes, measured = (
            {"--highest_value": _LARGEST, "--lowest_value": _SMALLEST},
            [n for n in self.legend.columns if header_of(n).kind],
        )
        for word, behind in pairwise(self.words):
            option = next((option for option, pattern in extremes.items() if pattern.fullmatch(word.lower())), "")
            if option and (
                header_of(behind).kind or any(singular_words(behind) <= singular_words(n) for n in measured)
            ):
                return {option: [word.lower()]}
        return {}

    def add_numbers_at_limit(self) -> bool:
        """Add the numbers of what is sought that keeps a limit: `how many replicas for p99 under 200 ms`.

        They are those that were measured, and three doublings of the largest. The least of a speed is such a limit of
        what is no count of the machine, `what batch for 5000 img/s on 16 gpus`, as is that of a load without a number.
        """
        columns = [(column_by_name(self.legend, n, self.legend.columns), v in ("", n)) for n, v in self.phrases]
        column = self.sought or (self.load if (self.load, True) in columns else "")
        names = {name for name, is_open in columns if not is_open}
        has_limit = any(name == "--limit" for name, _ in self.phrases)
        has_limit |= ("--deadline", "1s") in self.phrases and not self.is_scale(column)
        if not column or column in names or not has_limit:
            return False
        entry = self.legend.columns[column]
        doublings = (f"{entry.ends[-1] * multiple:.15g}" for multiple in (2, 4, 8))
        self.phrases = [phrase for phrase, of in zip(self.phrases, columns, strict=True) if of != (column, True)]
        # `largest` says nothing more.
        self.phrases = [(n, v) for n, v in self.phrases if not (n == v and n.lower() in words_of("headers.best"))]
        self.phrases += [(column, value) for value in (*entry.values, *doublings)]
        self.compared = ""
        return True

    def with_columns_of_numbers(self, phrases: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return phrases in which a number without a name has that of the only setting with this value: `8 gpus 32`."""
        if not any(meant_by(name) in LEVELS for name, value in phrases if value):
            return [*phrases]
        settings = {n: self.legend.columns[n].values for n in self.plain_numbers if meant_by(n) not in LEVELS}
        having = {
            value: [n for n, values in settings.items() if number_text(value, [*map(float, values)]) in values]
            for _, value in phrases
        }
        return [(having[v][0] if n == SCALE and len(having[v]) == 1 else n, v) for n, v in phrases]

    def alternatives(self, columns: Mapping[str, str], values: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
        """Return the configurations that a question names beside each other, `tp 8 pp 1 vs tp 4 pp 2`; else none.

        Each has all names that vary. Without a word such as `vs` the next begins where a name that varies comes again.
        Of `64 gpus vs 2 nodes` each has its own count of the machine.
        """
        varying = {columns.get(name, name) for name, of_name in values.items() if len(of_name) > 1}
        named, ends, part = [(columns.get(n, n), value) for n, value in self.phrases], self.ends, set[str]()
        for place, (column, _) in enumerate(() if self.ends else named):
            ends, part = ([*ends, place], {column}) if column in part & varying else (ends, part | {column})
        settings = [dict(named[begin:end]) for begin, end in pairwise([0, *ends, len(named)])]
        names = self.legend.of_names  # a `gpu` of their kinds counts none
        counts = [
            {n for n in of_part if n == SCALE or (meant_by(n) in LEVELS and n not in names)} for of_part in settings
        ]
        machines = (
            set().union(*counts) if self.ends and all(counts) and any(of != counts[0] for of in counts) else set()
        )
        is_whole = all(varying - machines <= of_part.keys() for of_part in settings)
        if len(settings) < 2 or not is_whole or (len(varying) < 2 and not machines):
            return []
        apart = {name: columns.get(name, name) for name in values if columns.get(name, name) in varying | machines}
        common = {name: of_name[0] for name, of_name in values.items() if name not in apart}
        return [common | {n: of_part[c] for n, c in apart.items() if c in of_part} for of_part in settings]

    def read_sign(self, place: int) -> Phrase | None:
        """Read an option, `--price=$2/h`, or a sign, which says nothing by itself; refuse what is denied."""
        is_parted = self.words[place][:2] == "--" and self.word(place + 1) == "="
        option = "".join(self.words[place : place + 3]) if is_parted else self.words[place]
        name, sign, value = option.partition("=")
        is_denied = name.lower() in words_of("headers.without") and self.word(place + 1) != "of"
        switch, end = self.longest(place + 1, self.switch) if is_denied else (None, place)
        if switch is not None:
            return end, switch[0], switch[1]
        column, end = self.longest(place + 1, self.column_of_none) if is_denied else (None, place)
        if column:
            return end, *column
        if is_denied and any(self.longest(place + 1, of)[0] for of in (self.cell, self.name, self._measured_as)):
            raise TableError(f"'{name} {self.word(place + 1)}' leaves open what else", hint="name what is meant")
        if self.words[place] in _SIGNS:
            return place + 1, "", ""
        if name == "--scaling" and (kind := self.cell(value) or self.scaled_as(value)):
            # `weak scaling` of a column that says how the runs were scaled, or of titles that do
            return place + 1 + 2 * is_parted, *kind
        if name == "--scaling" and any(value in words_in(header) for header in self.legend.columns):
            # `Weak time | Strong time`
            return place + 1 + 2 * is_parted, value, value
        is_option = sign and name.startswith("--")
        return (place + 1 + 2 * is_parted, name, value.replace(",", "")) if is_option else None

    def read_relative(self, place: int) -> Phrase | None:
        """Read a count that is relative to the largest one of the runs: `×2 gpus`, `+16 gpus`."""
        if (change := _RELATIVE.fullmatch(self.words[place])) is None:
            return None
        name, end = self.longest(place + 1, self.name)
        if name is None and self.word(place + 1) in words_of("headers.nameless"):
            # `10x the scale`
            name, end = next((n for n in self.legend.columns if meant_by(n) in LEVELS), None), place + 2
        column = column_by_name(self.legend, name or "", self.legend.columns)
        if column is None and meant_by(name or "") == "batch":
            column = name = column_of("global_batch", self.legend.columns)
        if column is None and change[1] == "×" and meant_by(name or "") == "workers":
            # Twice the devices are those of twice the nodes.
            column = name = column_of("nodes", self.legend.columns)
        if name is None or column is None or not self.legend.columns[column].ends:
            noun = self.word(place + 1)
            raise TableError(f"no column of the runs counts {noun}, to have more of them", hint=f"such as 64 {noun}")
        largest, number = self.legend.columns[column].ends[-1], float(change[2])
        requested = largest * number if change[1] == "×" else largest + number
        # A tenth more than 8 nodes are 9.
        is_more = requested > largest and meant_by(column) in LEVELS
        return end, name, f"{math.ceil(requested - ROUNDING) if is_more else requested:.15g}"

    def read_machine(self, place: int) -> Phrase | None:
        """Read a machine: `2x8xh100`, `64 A100 GPUs`, `16x8`."""
        sign = next((k for k in range(place, len(self.words)) if self.words[k] in _SIGNS), len(self.words))
        device, rest = machine_in(" ".join(self.words[place:sign]))
        if (not device and GRID.fullmatch(self.words[place]) is None) or self.longest(place, self.cell)[0]:
            return None
        if device and self.is_prose(device["device"].lower()):
            # `3x the tokens`
            return None
        end = sign - len(rest.split()) if device else place + 1
        of_device = self.cell(device["device"]) if device and _ALTERNATIVE.fullmatch(self.word(end)) else None
        beside = self.longest(end + 1, self.cell)[0]
        if of_device and beside and of_device[0] == beside[0] and "nodes" not in device:
            # `8 gpus A100 vs H100`: the count is of both.
            self.phrases.append(of_device)
            return end, "devices", f"{device['devices']:g}"
        return end, SCALE, " ".join(self.words[place:end])

    def read_counted(self, place: int) -> Phrase | None:
        """Read a number with what it counts: `64 gpus`, `16 per gpu`, `64 fast gpus`, `10 days`, `1B images`."""
        value, noun = without_thousands(self.words[place]), self.word(place + 1)
        if _SHARE.fullmatch(value) and not {w.lower() for w in self.words}.isdisjoint(words_of("headers.efficiency")):
            return place + 1, "--efficiency", value
        if not _NUMBER.fullmatch(value) or self.longest(place, self.cell)[1] > place + 2:
            # `7B gen 128` is a cell, and counts nothing.
            return None
        if self.link and bandwidth_of(noun, noun):
            return place + 2, self.link, value
        kind, end = self.longest(place + 1, self.cell)
        if kind and (level := self.level_of_machines(kind[1], end, value)) is not None:
            return place + 1, level, value if level else ""
        work, end = self.longest(place + 1, self.measured_work)
        if work and (number := amount(value)) is not None:
            # `200k env steps/second` is a speed, `1B env steps` is work.
            is_speed = header_of(" ".join(self.words[place + 1 : end])).kind == "rate"
            self.phrases += [("--deadline", "1s")] if is_speed else []
            return end, self.work_option(work, value), value if is_speed else f"{number:.15g}"
        if limited := self.limited_by(place, value, noun):
            return place + 2, *limited
        if _PHYSICAL.fullmatch(unit_of(noun)[0]) and not self.cell(noun):
            # `at 90 W` of runs without a power.
            text = f"{value} {noun}"
            return place + 2, text, text
        name, end = self.longest(place + 1, self.name)
        if name and self.has_value(end):
            # `32 workers batch 64` is not of a batch of workers.
            starts = [k for k in range(end - 1, place + 1, -1) if self.longest(k, self.name, end)[1] == end]
            # The last word of `16 gpus batch per gpu 64` begins no name.
            starts = [k for k in starts if "per" not in self.words[k - 1 : k + 1]]
            shorter = ((self.longest(place + 1, self.name, k)[0], k) for k in starts)
            if self.cell(self.words[place]):
                # The 13B of `13B seq len 8192` is a network.
                return None
            if self.sizes and value[-1] in "BbMm" and meant_by(name) != "parameters":
                return self.read_size(place, place + 1, None, value)
            name, end = next(((n, k) for n, k in shorter if n), (name, end))
        done = [n for n in self.legend.columns if WORK_OF_A_RUN.fullmatch(plain_name(n)) and noun in words_in(n)]
        if not name and len(done) == 1 and noun not in self.work_counted:
            # `5B tokens` of runs that tell their `total_tokens`
            name, end = done[0], place + 2
        if noun.lower() in STEP_WORDS and column_by_name(self.legend, name or noun, self.legend.columns) is None:
            return place + 2, *self.read_steps(value)
        # Of a count `gpus` is no column of their kinds, `gpu`.
        name = " ".join(self.words[place + 1 : end]) if name in self.legend.of_names else name
        is_size = value[-1] in "BbMmT"
        # `13B model` beside a column of sizes, whose runs have no such name.
        is_size_of_name = is_size and self.sizes and name in self.legend.of_names and not self.cell(value)
        # `50M sequences` of runs that tell sequences/s at one `seq`
        is_work = noun in self.work_counted and noun not in self.legend.columns
        if name and not (is_size and meant_by(name) == "parameters") and not is_size_of_name and not is_work:
            return end, name, value
        if option := self.read_job(value, noun):
            return place + 2, *option
        if is_size:
            return self.read_size(place, end, name, value)
        if _BETWEEN.fullmatch(noun) or noun == "|" or _NUMBER.fullmatch(noun):
            return self.read_listed(place, value)
        if noun.isalpha() and not (self.is_prose(noun) or self.only_asks(noun)):
            behind, end = self.longest(place + 2, self.name)
            if behind and not self.has_value(end):
                # What is between is read for itself.
                del self.words[place + 2 : end]
                return place + 1, behind, value
            if not self.longest(place + 1, self.cell)[0]:
                return place + 2, noun, value
        if _LIMITING.fullmatch(limit := self.word(place - 1).lower()):
            # `when does throughput drop below 300`
            if not {word.lower() for word in self.words}.isdisjoint(words_of("headers.efficiency")):
                number = amount(value) or 0.0
                return place + 1, "--efficiency", f"{100.0 * number if number <= 1.0 else number:.15g}%"
            raise TableError(f"'{limit} {value}' says no unit", hint=f"{limit} {value} images/s, or {limit} {value} ms")
        return place + 1, self.name_before(place), value

    def level_of_machines(self, cell: str, end: int, value: str) -> str | None:
        """Return what a number before a cell counts, where a word behind it or its name says so; else None.

        The 4 of `4 p5 nodes`, whose last word is taken out, are nodes, as are those of `4 p5.48xlarge`; "" of one
        machine, where nothing counts them.
        """
        noun, end_of_noun = self.longest(end, self.name)
        level = None if noun is None or self.has_value(end_of_noun) else meant_by(noun)
        if level in LEVELS:
            del self.words[end:end_of_noun]
            return column_of(level, self.legend.columns) or level
        if _MACHINES.match(cell) is None:
            return None
        nodes = column_of(LEVELS[-1], self.legend.columns)
        if nodes is None and value != "1":
            raise TableError(f"several of '{cell}', and no column counts the nodes", hint="their gpus, such as 64 gpus")
        return nodes or ""

    def read_size(self, place: int, end: int, name: str | None, value: str) -> Phrase | None:
        """Read the size of a network, `7b`, of the column of sizes, the name behind it, or the only column it fits."""
        number = amount(value.upper()) or 0.0
        ends = {n: e.ends for n, e in self.legend.columns.items() if e.ends and e.ends[0] >= _LEAST_SIZE}
        fitting = [n for n, (least, largest) in ends.items() if least <= number <= largest]
        only_fitting = fitting[0] if len(fitting) == 1 else None
        if not (self.sizes or name or only_fitting) and self.cell(self.words[place]):
            # `7b` of the cell `llama-7b`
            return None
        return end if name else place + 1, self.sizes or name or only_fitting or value, value.upper()

    def read_listed(self, place: int, value: str) -> Phrase:
        """Read a number of a list, whose name stands behind the last one: `64, 128 or 256 gpus`."""
        last = len(self.words)
        end = next((k for k in range(place + 1, last) if not self.is_listed(k)), last)
        name = self.longest(end, self.name)[0] if _NUMBER.fullmatch(self.word(end - 1)) else None
        if name and name not in self.legend.columns and device_in(name) is not None:
            # `16 and 64 A100s`
            return place + 1, SCALE, f"{value} {name}"
        return place + 1, name or self.name_before(place), value

    def is_listed(self, place: int) -> bool:
        """Tell whether a word is a number of a list, or stands between two of them."""
        word = self.word(place)
        return word == "|" or any(pattern.fullmatch(word) for pattern in (_BETWEEN, _NUMBER))

    def name_before(self, place: int) -> str:
        """Return the name of a number alone: `batch 32 or 64` has two of one name, any other is the count."""
        is_second = self.phrases and _BETWEEN.fullmatch(self.word(place - 1)) and _NUMBER.fullmatch(self.phrases[-1][1])
        return self.phrases[-1][0] if is_second else SCALE

    def read_job(self, value: str, noun: str) -> tuple[str, str] | None:
        """Return how much is to be done, or by when, as an option; what the runs do not count is refused."""
        unit, counted = canonical_time(noun), header_of(f"{noun}/s").counted if noun.isalpha() else ""
        counted = noun if noun in self.work_counted else counted
        if (rate := header_of(noun)).kind == "rate":
            number = amount(value)
            if rate.shared or number is None or rate.unit not in TIME_UNITS:
                what = f"'{value} {noun}' is a speed of one device, which is answered and not asked for"
                raise TableError(what, hint="a count of devices, or the speed of all of them")
            # A speed is so much work within its unit of time.
            above, below = TIME_UNITS[rate.unit]
            is_short = rate.unit not in ("h", "d")
            amount_text = f"{number * (below / above if is_short else 1.0):.15g}"
            if rate.counted in STEP_WORDS and is_short and STEP_WORDS.isdisjoint(self.work_counted):
                # So many steps a second are one within a share of it.
                self.phrases.append(("--deadline", f"{1.0 / float(amount_text):.15g}s"))
                return "--samples", f"1{OF_STEPS}"
            self.phrases.append(("--deadline", "1s" if is_short else f"1{rate.unit}"))
            if rate.counted in STEP_WORDS and not STEP_WORDS.isdisjoint(self.work_counted):
                return "--samples", amount_text
            return self.work_option(rate.counted, f"{value} {noun}"), amount_text
        if unit in ("d", "h", "min", "s", "ms"):
            # `a clip of 10s` of runs whose `Clip` is 5 s, 10 s and 20 s.
            levels = [n for n, e in self.legend.columns.items() if e.unit == unit and value in e.values]
            settings = [name for name in levels if header_of(name).kind == "" and plain_name(name) != "value"]
            return (settings[0], value) if len(settings) == 1 else ("--deadline", f"{value}{unit}")
        counted = "epochs" if noun.lower() in words_of("headers.epoch") else counted
        if counted not in {*_OF_A_JOB, *self.work_counted, "steps"}:
            return None
        if counted == "steps":
            return self.read_steps(value)
        option = self.work_option(counted, f"{value} {noun}")
        # `300 epochs` of a `time for 90 epochs`
        of_one = epochs_of(self.times_of_epochs[0]) if counted == "epochs" and self.times_of_epochs else 1.0
        return option, value if of_one == 1.0 else f"{(amount(value) or 0.0) / of_one:.15g}"

    def read_steps(self, value: str) -> tuple[str, str]:
        """Return so many steps as an option, plain where the runs count nothing else."""
        return "--samples", value if self.work_counted == {"steps"} else f"{value}{OF_STEPS}"

    def limited_by(self, place: int, value: str, noun: str) -> tuple[str, str] | None:
        """Read a limit with what keeps it: `under 5 kW`, `40 GB`, `p99 below 300 ms`; None where it is none.

        A memory is also the size of a message, and a time is a limit behind the name of one that was measured.
        """
        (kind, *_), is_memory = unit_of(noun), _MEMORY.fullmatch(noun) is not None
        if is_memory and (noun in self.legend.columns or self.longest(place, self.cell)[0]):
            # `gb` is the batch of all.
            return None
        if is_memory and self.message is not None:
            # `512 MB` of sizes that are powers of two
            (column, size), units = self.message, (noun, re.sub(r"(?i)(?<=[kmgt])(?=b)", "i", noun))
            texts = [f"{(amount(f'{value}{unit}') or 0.0) / size:.15g}" for unit in units]
            return column, next((text for text in texts if text in self.legend.columns[column].values), texts[0])
        headers = {n: header_of(n) for n in self.legend.columns}
        alike = [
            n for n, h in headers.items() if h.kind in ("time", "quantity") and h.unit and unit_of(h.unit)[0] == kind
        ]
        passed = (k for k in range(place - 1, -1, -1) if _BOUNDING.fullmatch(self.words[k].lower()) is None)
        before = next((k for k in passed if not self.is_prose(self.words[k].lower())), place)
        named = [n for n in alike if before < place - 1 and singular_words(self.words[before]) <= singular_words(n)]
        behind = singular_words(self.word(place + 2))
        of_behind = [n for n in alike if behind and not named and behind <= singular_words(n)]
        if len(of_behind) == 1:
            # `within 300 ms ttft`
            named = of_behind
            del self.words[place + 2]
        if is_memory and not any(bytes_of(header.unit) for header in headers.values()):
            return f"{value} {noun}", f"{value} {noun}"
        limited = "memory" if is_memory else next(iter(named if len(named) == 1 else alike if kind != "s" else ()), "")
        if not limited or (not named and not is_memory and len(alike) > 1):
            return None
        if named and self.phrases[-1:] == [(self.words[before], self.words[before])]:
            self.phrases.pop()
        self.phrases.append(("--limit", f"{value}{noun}"))
        return "--want", limited

    def work_option(self, counted: str, text: str) -> str:
        """Return the option of an amount of work; what the runs do not count is refused."""
        counts = self.work_counted
        # A sample may be an image, or anything but a token or an epoch.
        may_be_samples = "samples" in counts and counted != "epochs"
        if counted not in {*counts, "tokens", "samples"} and (counts or counted == "epochs") and not may_be_samples:
            what = f"'{text}' are asked, and the runs count {listed(sorted(counts)) or 'no work'}"
            of_each = f", as in {text} of 1.28M samples" if counted == "epochs" else ""
            raise TableError(what, hint=f"--samples, of what the runs count{of_each}")
        measured = [n for n in self.legend.columns if header_of(n).kind in ("time", "rate")]
        if counted == "epochs" and len(self.times_of_epochs) == 1 < len(measured):
            # Beside the time of a step that of an epoch says how long so many take.
            self.phrases.append(("--want", self.times_of_epochs[0]))
        return "--tokens" if counted == "tokens" else "--samples"

    def read_rate_of_one(self, place: int) -> Phrase | None:
        """Read `per gpu`: behind or before a rate that of each device is wanted."""
        noun = self.word(place + 1)
        if self.word(place) != "per" or not counts_scale(f"{noun}s") or self.has_value(place + 2):
            return None
        before = self.word(place - 1).lower()
        # `tokens per gpu` are those of a second.
        beside = f"{before}/s" if before in {*_OF_A_JOB, *self.work_counted} else before
        rates = [word for word in (beside, self.word(place + 2)) if header_of(word).kind == "rate"]
        if rates or any(map(_ALTERNATIVE.fullmatch, self.words)):
            # `tokens per second per gpu`, `per gpu throughput`, `slower per gpu than`
            rate = rates[0] if rates and header_of(rates[0]).counted else "samples/s"
            if self.phrases[-1:] == [(self.word(place - 1), self.word(place - 1))]:
                # That of all is not wanted.
                self.phrases.pop()
            return place + 2, "--want", f"{rate}/{noun}"
        # `memory per gpu`
        return place + 2, "", ""

    def read_what(self, place: int) -> Phrase | None:
        """Read what is compared or wanted without a value: `which gpu`, `env steps per second`, `best layout`."""
        name, end = self.longest(place, self.name)
        if _WHICH.fullmatch(self.word(place - 1)) and (kinds := self.kinds_named(place, self.has_value(end))):
            self.compared = kinds
            return max(end, place + 1), "", ""
        measured, end_of_measured = self.longest(place, self.measured_column)
        is_longer = not (name or self.word(place + 1) == "=") or end_of_measured > max(end, place + 1)
        if measured and is_longer and not self.has_value(end_of_measured):
            return end_of_measured, "--want", measured
        # `layout_stated` is another column.
        is_layout = self.has_ways and self.word(place).lower() in words_of("headers.layout")
        return (place + 1, f"--{LAYOUT}", "") if is_layout and name not in self.legend.columns else None

    def kinds_named(self, place: int, has_value: bool) -> str:
        """Return the column that `which gpu`, `which strategy` or `which run is faster` compares; else empty.

        A level of the cluster means the kinds of devices, a word such as `strategy` the only other column of texts.
        """
        word = self.word(place).lower()
        if canonical_of_singular(word) in LEVELS:
            return "" if has_value else self.kinds
        column = column_by_name(self.legend, word, self.legend.columns)
        compared = [n for n in self.legend.of_names if self.is_compared(n)]
        if word in words_of("columns.repeat"):
            judged = {*words_of("headers.comparative"), *words_of("headers.best")}
            is_judged = not judged.isdisjoint(w.lower() for w in self.words[place + 1 :])
            return column if column in compared and is_judged else ""
        # By another name, where one column alone has texts.
        others = [n for n in compared if n != self.kinds and plain_name(n) not in words_of("one_run.network")]
        return others[0] if len(others) == 1 and column is None and word in words_of("log.method") else ""

    def read_switch(self, place: int) -> Phrase | None:
        """Read something that was off or on: `with offload`, `does offload help`."""
        switch, end = self.longest(place, self.switch)
        # `which run next` asks.
        is_verb = all(map(self.is_prose, self.words[place:end]))
        if switch is None or is_verb or self.has_value(end) or self.word(end) in switch:
            return None
        before, behind = self.word(place - 1), self.word(end).lower()
        is_judged = behind in ("cost", *words_of("headers.cost"), *words_of("headers.judged"))
        if EACH.fullmatch(before) or _WHICH.fullmatch(before) or is_judged:
            self.compared = switch[0]
            return end + is_judged, "", ""
        is_off, is_on = (behind in section("switches")[state] for state in ("off", "on"))
        return end + (is_off or is_on), switch[0], switch[1 if is_off else 2]

    def read_named(self, place: int) -> Phrase | None:
        """Read a name with its value behind it: `batch 32`, `batch size of 32`, `strategy FSDP`, `bs = 16`."""
        name, end = self.longest(place, self.name)
        if not name and self.word(place + 1) == "=":
            # The `n=32` of runs that count workers is their scale.
            word = self.words[place]
            name, end = SCALE if word.lower() in words_of("headers.nameless") else word, place + 1
        # `which run next` asks, and compares no runs.
        is_verb = not self.has_value(end) and all(map(self.is_prose, self.words[place:end]))
        # The number of `B200 64 gpus` or `H100 7B` is no count of this device.
        is_device = name not in self.legend.columns and device_in(self.words[place]) is not None
        if not name or is_verb or (is_device and self.has_value(place + 1)) or self.longest(place, self.cell)[1] > end:
            return None
        column = column_by_name(self.legend, name, self.legend.columns) or ""
        if (extreme := self.read_extreme(place, end, name, column)) is not None:
            return extreme
        if (compared := self.read_compared(place, end, name, column)) is not None:
            return compared
        start, is_set = end, self.word(end) in _SIGNS - {"|"}
        while self.word(start) in ("=", ":") or _OF_A_VALUE.fullmatch(self.word(start)):
            start += 1
        # `memory of the 70B`, `memory of 16 GPUs`: the number is that of something else.
        is_size = self.sizes not in (None, column) and self.word(start)[-1:] in ("B", "M", "T")
        is_count = self.has_value(start) and meant_by(self.word(start + 1)) in LEVELS
        is_of_another = column != "" and meant_by(name) is None and (is_size or is_count)
        has_of = end > place + 1 and _OF_A_VALUE.fullmatch(self.word(end - 1)) is not None
        if not is_set and (start > end or has_of) and (header_of(column).kind or is_of_another):
            # `energy of 100 epochs` wants what was measured.
            start = len(self.words)
        if (value := self.read_value(place, end, start, name, column)) is not None:
            return value
        if self.longest(place, self.cell)[1] >= end:
            return None
        # `how many gpus`, and `cost on 64 gpus` of what may be measured.
        before = self.word(place - 1)
        is_counted = place > 0 and _COUNTING.fullmatch(before) is not None
        is_counted |= self.is_scale(column) and _LARGEST.fullmatch(before) is not None and not self.has_value(end)
        is_numeric = bool(column) and self.legend.columns[column].numeric
        may_be_wanted = is_numeric and not meant_by(name) and not self.is_scale(column)
        phrase = " ".join(self.words[place:end])
        if may_be_wanted and has_of:
            return end, "--want", column
        return (end, phrase, phrase) if may_be_wanted else (end, "" if is_counted else name, "")

    def read_compared(self, place: int, end: int, name: str, column: str) -> Phrase | None:
        """Read a name whose values are compared: `which tp`, `each framework`, `step time vs framework`."""
        before = "" if self.has_value(end) else self.word(place - 1)
        entry = self.legend.columns.get(column)
        if entry and entry.numeric and 1 < entry.distinct == len(entry.values) and not header_of(column).kind:
            is_sought = any(pattern.fullmatch(before) for pattern in (_COUNTING, _WHICH, _LARGEST, _SMALLEST))
            self.sought = self.sought or column * is_sought
        if _WHICH.fullmatch(before) and self.has_ways and meant_by(name) in _OF_LAYOUT:
            # The best of one depends on the others.
            return end, f"--{LAYOUT}", ""
        is_varied = any(pattern.fullmatch(before) for pattern in (_COUNTING, EACH, _LARGEST))
        is_varied |= before.lower() in words_of("headers.across")
        if is_varied and self.is_compared(column):
            self.compared = column
            return end, "", ""
        return None

    def read_extreme(self, place: int, end: int, name: str, column: str) -> Phrase | None:
        """Read the least or the largest number of a setting, `with the largest batch`; what it asks for is none."""
        before, of = self.word(place - 1), place - 2 - (self.word(place - 2).lower() == "the")
        if not column and meant_by(name) == "batch":
            column = column_of("global_batch", self.legend.columns) or ""
        ends = self.legend.columns[column].ends if column and not self.has_value(end) else ()
        extremes = {_SMALLEST: ends[:1], _LARGEST: ends[-1:]}
        number = next((number for pattern, number in extremes.items() if pattern.fullmatch(before)), ())
        if not number or meant_by(column) in LEVELS or not (self.word(of) == "|" or _JOINING.fullmatch(self.word(of))):
            return None
        if self.phrases[-1:] == [(before, before)]:
            self.phrases.pop()
        return end, column, f"{number[0]:.15g}"

    def read_value(self, place: int, end: int, start: int, name: str, column: str) -> Phrase | None:
        """Read the value that starts behind the end of a name: a cell, a number, or a word of a column of texts."""
        levels = self.legend.columns[column].levels if column else ()

        def cell_of_column(phrase: str) -> str:
            return only_match(self.cells, phrase, column)[1] or level_with(phrase, levels)

        cell, cell_end = self.longest(start, cell_of_column)
        if cell:
            return cell_end, column, cell
        other, cell_end = self.longest(start, self.cell)
        if other and singular_words(" ".join(self.words[place:end])) <= singular_words(other[0]):
            # `GPU H100` of a column `GPU type`
            return cell_end, *other
        value, is_set, is_text = self.word(start), self.word(end) in _SIGNS - {"|"}, column in self.legend.of_names
        counted, counted_end = self.longest(start + 1, self.name)
        if meant_by(name) is None and meant_by(counted or "") in LEVELS and not (is_set or self.has_value(counted_end)):
            # `fp16 8 gpus` of columns `fp16` and `fp32`
            return None
        if _NUMBER.fullmatch(value) and (is_set or not is_text):
            unit, of_one = self.word(start + 1), f"{name} {' '.join(self.words[start + 1 : start + 3])}"
            if unit == "per" and meant_by(of_one):
                return start + 3, of_one, value
            with_unit = self.word(end) == "=" and unit.isalpha() and amount(f"{value}{unit}") is not None
            return start + 1 + with_unit, name, value + unit * with_unit
        # Behind `fp16 precision: ` the cell of another column stands for itself, and `config is fastest` asks.
        is_text &= other is None and (is_set or value.lower() not in words_of("headers.best"))
        if value and (self.word(end) == "=" or (is_text and value not in _SIGNS and not self.only_asks(value))):
            return start + 1, name, value
        return None

    def read_cell_or_prose(self, place: int) -> Phrase | None:
        """Read a cell, with its column's name behind it, `FSDP strategy`, or pass over a word that names nothing."""
        cell, end = self.longest(place, self.cell)
        if cell is not None and end == place + 1 and _JOINING.fullmatch(self.words[place]) and self.has_value(end):
            # The `on` of `on 64 gpus` is no cell of a switch.
            return end, "", ""
        if cell is None or (end == place + 1 and self.is_prose(self.words[place].lower())):
            return self.read_prose(place)
        behind = words_in(self.word(end))
        return end + bool(behind and behind <= words_in(cell[0]) and not self.has_value(end + 1)), *cell

    def read_prose(self, place: int) -> Phrase | None:
        """Read a word that is an option by itself, `knee` or `normal`, or pass over one that only asks."""
        word = self.words[place].lower()
        # `is it normal` is an option.
        topics = TOPICS if self.has_ways else TOPICS[: TOPICS.index(LAYOUT)]
        topic = next((f"--{name}" for name in topics if word in words_of(f"headers.{name}")), "")
        before = self.phrases[-1][0] if self.phrases and not self.is_prose(self.word(place - 1)) else ""
        before = column_by_name(self.legend, before, self.legend.columns) or before
        if (topic == "--cost" or word in words_of("headers.judged")) and self.is_compared(before):
            # `is fsdp worth it` compares it with the others.
            self.compared = before
            self.phrases.pop()
            return place + 1, "", ""
        if word in ("fit", "fits") and self.limits_memory:
            self.phrases.append(("--limit", OF_THE_DEVICE))
            return place + 1, "memory", ""
        if word in words_of("one_run.mfu"):
            self.phrases.append(("--want", word))
            return place + 1, "--peak", ""
        if word in words_of("headers.energy") and self.measures_power_alone:
            return place + 1, "--want", "energy"
        if word in words_of("headers.knee"):
            return place + 1, "--efficiency", "50%"
        rate, rates = header_of(word), {n: header_of(n) for n in self.legend.columns if header_of(n).kind == "rate"}
        alike = [n for n, of in rates.items() if of.counted == rate.counted and not of.shared]
        if rate.kind == "rate" and "/" in word and not rate.shared and len(alike) == 1 < len(rates):
            # `requests/s`, where tokens/s were measured as well.
            return place + 1, "--want", alike[0]
        if (is_relative(word) and "speed" in word) or (rate.shared and rate.kind == "rate" and "/" in word):
            return place + 1, "--want", word
        return (place + 1, topic, "") if topic or self.only_asks(self.words[place]) else None

    def split_glued(self, place: int) -> Phrase:
        """Take a number and a name apart, `64gpus`, `tp8`; any other word is a setting of its own name."""
        word, glued = self.words[place], GLUED.fullmatch(self.words[place])
        # The `p95` of `p95_ms` is no count, nor is the `p3` of `p3.2xlarge` and `p3.8xlarge`.
        is_of_header = any(words_in(word) <= words_in(name) for name in self.legend.columns)
        is_of_header |= bool(self.cells_having(word.lower()))
        glued = None if (is_of_header and words_in(word)) or device_in(word) else glued
        number, noun, name, value = glued.groups("") if glued else [""] * 4
        nouns = (noun, f"{noun} {self.word(place + 1)}")
        if (noun and (any(map(self.name, nouns)) or canonical_time(noun))) or self.name(name):
            self.words[place : place + 1] = [number or name, noun or value]
            return place, "", ""
        holding = next((n for n in self.legend.names if self.legend.cells_of_name(n, word)), "")
        head, _, size = word.rpartition("-")
        if head and not holding and self.sizes and re.fullmatch(r"(?i)\d[\d.]*[bm]", size):
            # `llama-7b` of a column of sizes.
            self.words[place : place + 1] = [head, size]
            return place, "", ""
        # `8xp3.16xlarge` alone is a count that no run has.
        return place + 1, holding or (SCALE if word[0].isdigit() and len(self.words) == 1 else word), word

    def word(self, place: int) -> str:
        """Return the word of a place; empty beyond the last."""
        return self.words[place] if 0 <= place < len(self.words) else ""

    def has_value(self, place: int) -> bool:
        """Tell whether a value may begin at a place: a number, or a sign before one."""
        return self.word(place) in ("=", ":") or _NUMBER.fullmatch(self.word(place)) is not None

    def longest(self, place: int, meaning: Callable[[str], T | None], last: int | None = None) -> tuple[T | None, int]:
        """Return what the longest phrase that begins at a place means, and where it ends: at `last` at most."""
        for end in range(min(place + MOST_WORDS, len(self.words)) if last is None else last, place, -1):
            phrase = self.words[place:end]
            if _SIGNS.isdisjoint(phrase) and (meant := meaning(" ".join(phrase))):
                # The 4 of `gemma-4 4 gpus` says nothing more of the cell, that of `gemma 4 on 8 gpus` is its own.
                words, words_before = (singular_words(" ".join(part)) for part in (phrase, phrase[:-1]))
                is_more = _NUMBER.fullmatch(phrase[-1]) is None or meaning(" ".join(phrase[:-1])) != meant
                is_more |= words in self.cells and words != words_before
                return meant, end if is_more or len(phrase) == 1 else end - 1
        return None, place
