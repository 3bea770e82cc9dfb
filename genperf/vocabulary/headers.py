"""What a header says of the numbers below it: a time, a rate, memory; in which unit, of what; and units of cells."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from genperf.vocabulary import any_of, late, section, words_of

#: Units of time, with the one that `read_table` takes: none that is another word in a header.
TIME_WORDS = {
    word: unit
    for unit, spelled in section("time").items()
    for word in spelled
    if word not in words_of("headers.no_time")
}
#: Characters of a header that are looked at: a longer one is a text, and no name.
LONGEST_NAME = 500
#: In brackets, and behind what a rate counts, `d` is a day and `ore` are hours.
_UNITS_OF_TIME = {w: unit for name in ("time", "powers") for unit, listed in section(name).items() for w in listed}
#: What one throughput of many workers may be shared by.
DEVICE_WORDS = frozenset(word + end for word in words_of("headers.device") for end in ("", "s"))
NODE_WORDS = frozenset(word + end for word in words_of("headers.node") for end in ("", "s"))
#: The steps of a training: their time is that of all workers together.
_STEP = words_of("headers.step")
STEP_WORDS = frozenset((*words_of("headers.steps"), *(word + end for word in _STEP for end in ("", "s", "es"))))
JOB_WORDS = frozenset((*words_of("headers.job"), *words_of("headers.epoch")))
_RATES, _TIMES, MEMORY_WORDS = (frozenset(words_of(f"headers.{kind}")) for kind in ("rate", "time", "memory"))
_QUANTITIES = MEMORY_WORDS.union(words_of("headers.quantity"))
_LEFT = frozenset(words_of("headers.left"))
#: `×10³ tokens/s` are `k tokens/s`.
_MULTIPLES = {word: multiple for multiple, spelled in section("multiples").items() for word in spelled}
_IN_DIGITS = {word: number for number, spelled in section("numbers").items() for word in spelled}
#: `10k samples/s`: so many of them.
_TENS = late(r"(10+)([kmb]?)")
#: `单卡吞吐`: the rate of each.
_OF_EACH = late(rf"(?i)\s*(?:{any_of('headers.each_device')}|(?P<node>{any_of('headers.each_node')}))\s*")
#: `Tokens/s (M)`: millions of them.
_MULTIPLE_BEHIND = late(
    rf"(?P<rate>.+[^\W_])(?:\s*(?P<bracket>[(\[])|,? |_)(?:in )?"
    rf"(?P<multiple>[kKMB]|(?i:{'|'.join(map(re.escape, _MULTIPLES))}))\.?(?(bracket)[)\]])"
)
#: Behind a word for a time: what is chosen, and counts of steps.
_CHOSEN_TIME = STEP_WORDS | {*words_of("headers.chosen_time")}
_UNIT_OF_RATE = {
    word: counted
    for counted in ("frames", "tokens", "requests", "words", "iterations")
    for word in words_of(f"headers.rate_of_{counted}")
}
SIMULATED, _OF_A_WORKER = (frozenset(words_of(f"headers.{of}")) for of in ("simulated", "rate_of_a_worker"))
_MEMORY_UNITS = {unit.lower(): unit for unit in words_of("headers.memory_unit")}
_WORDS_OF_UNITS = [words_of(f"headers.{unit}") for unit in ("joule", "watt", "kwh", "kw")]
_UNITS = _MEMORY_UNITS | {word.lower(): words[0] for words in _WORDS_OF_UNITS for word in words}
#: What is counted, as it is spelled and as it is called.
_COUNTED = {word: called for called, spelled in section("counted").items() for word in spelled}
_CALLED = _COUNTED | dict.fromkeys(words_of("headers.iterations"), "iterations")
_NEVER_A_TIME = {*_COUNTED, *_COUNTED.values()} - {*words_of("headers.counted_or_timed")}
_NEVER_A_TIME |= {f"{word}s" for word in _COUNTED if len(word) > 2}
#: `per GPU img/s`, which is `img/s per GPU`.
_PER_DEVICE_FIRST = late(rf"^({any_of('headers.per')}[\s_\-](?:{'|'.join(sorted(DEVICE_WORDS))}))[\s_\-:,]+(.+)")
#: `ktok`, `kimg`, `mcells`: so many of what is counted.
_LONG = "|".join(sorted(word for word in {*_COUNTED, *_COUNTED.values()} if len(word) > 2))
_MANY = late(rf"\b([kmb]|千|百万|十亿)({_LONG})\b")
#: What a time is per: `1b tokens`, `kimg`, `1000 samples`, `image`.
_OF_MANY = late(rf"(\d*)([kmb]?) ?({_LONG})")
_DATA = frozenset(prefix + unit for prefix in ("", "k", "m", "g", "t") for unit in words_of("headers.data")) - {"b"}
_PLAIN = _RATES | {*words_of("headers.plain")}
STATISTICS = words_of("headers.statistic")
#: A word at the end of a header that says which statistic of what was measured it is: `median`, `p99`.
STATISTIC = late(rf"{'|'.join(STATISTICS)}|p\d\d?")
#: `time for 100 steps`, none of them the mean, and `s per 100 steps`.
_OF_STEPS = late(rf"([1-9]\d*|(?=k ))(k?) ?({'|'.join(sorted(STEP_WORDS))})\b")
#: `it_s`, `steps_sec`: so many a second.
_STEPS_A_SECOND = late(
    rf"((?:train_|env_|mean_|avg_)?{any_of('headers.counted_steps')})_(?:s|sec|second)", re.IGNORECASE
)
#: Brackets as wide as a Chinese letter.
_BRACKETS = str.maketrans("（）［］", "()[]")
#: `每秒图片数`: so many images a second.
_EACH_SECOND = late(rf"^{any_of('headers.each_second')}(\w+?)(?:数量?)?$")
#: Where a capital begins a word, but in the name of a framework: `DeepSpeed` is no speed.
_CAPITALS = late(
    rf"(?i:(?<![^\W_]){any_of('cells.frameworks')}(?![^\W_]))|(?<=[a-z0-9])(?=[A-Z][a-z])(?!Wh)|(?<=[A-Z])(?=[A-Z][a-z]{{3}})"
)
_PER = late(rf"/|(?:^|[\s_\-]){any_of('headers.per')}(?=[\s_\-])")
_ABBREVIATION = late(r"\b([A-Z])/([A-Z])\b")
#: `tok_s_gpu`: the rate of one device.
_OF_ONE_DEVICE = late(rf"(?<![^\W_])((?:{_LONG})s?_(?:s|sec|second))_({'|'.join(sorted(DEVICE_WORDS))})$")
#: `num.gpus`, `Step.time..ms.`: what R makes of blanks and signs.
_DOTTED = late(r"[^\W\d_]+(?:\.{1,2}[^\W_]+)+\.*")
_DOTTED_RATE = late(
    rf"(?<![^\W_])(?:(?:{_LONG})s?|{any_of('headers.counted_steps')})\.(?:s|sec|second)\b"
    rf"(?:\.(?:{'|'.join(sorted(DEVICE_WORDS))})\b)?",
    re.IGNORECASE,
)
_SECTION = late(rf"{any_of('headers.section')}[./|](?=[a-z_])", re.IGNORECASE)
#: Behind a header: what is given of its scatter, `step time (s) ± std`.
_SCATTER = late(r"(?<=\S)\s*(?:±|\+/-).*")
#: Behind a header: which way is better, or of how much memory a share is: `%used (80 GiB)`.
_BETTER = late(
    r"\s*(?:[(\[]?(?:lower|higher|less|more|smaller|larger)\W+(?:is\W+)?better[)\]]?|[(\[]?[↓↑][)\]]?"
    r"|[(\[]\d+(?:\.\d+)? ?[GMT]i?B[)\]])\s*$",
    re.I,
)
#: Behind a header: the letter that formulas have for it, and no unit: `Speed-up, S`, `Efficiency E (%)`, `Nodes (N)`.
_SYMBOL = late(
    r"(?<=[^\W\d_])(?:,\s*|\s*[(\[]|\s+(?=[SE]\b))(?![kKMBGTWJshdm]\b)[A-Za-z](?:_\w|\([a-zA-Z]\))?[)\]]?"
    r"(?=\s*(?:[(\[][^()\[\]]*[)\]])?$)"
)
_OF_A_CLOCK = late(r"(d+-)?h{1,2}:mm:ss")
#: Between the parts of a compound, `Epochenzeit`, and between Latin letters and Chinese ones: `每个epoch耗时`.
_COMPOUND = late(
    rf"(?<=[^\W_])(?={any_of('headers.compounded')}(?![^\W\d_]))"
    r"|(?<=[a-z])(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])(?=[a-z])"
)
_YEARS_A_DAY = late(rf"\b{any_of('headers.years_a_day')}\b")
#: `tok/s/H100`
_KIND_OF_DEVICE = late(any_of("cells.kinds_of_devices"))
#: In brackets behind a time: a unit that is not known, `sem.`, `wk`, or so many of one, `0.1 ms`; `(tp)` is a variant.
_OTHER_UNIT = late(
    rf".*[(\[]\s*(?:(?i:{any_of('headers.other_time')})\.?"
    rf"|(?!(?i:{any_of('headers.no_unit')})\b)[^\W\d_]{{3,9}}\."
    rf"|(?:[×x]? ?\d[\d.,^*e-]* ?|{any_of('headers.multiple_of_time')})(?:{'|'.join(map(re.escape, _UNITS_OF_TIME))})"
    r")\s*[)\]]"
)
#: The header of money, and what beside it says that it is that of an hour.
MONEY_IN_NAME = late(rf"(^|.*[\W_]){any_of('columns.money')}([\W_].*|$)")
_HOURLY = late(any_of("headers.hourly"))
#: A time of day: `start_time`, `ended at`.
MOMENT = late(rf"(?:(?P<begun>{any_of('headers.begun')})|{any_of('headers.ended')})(?:[ _](?:time|at|date))?")
_TO_AN_END = late(r"\b(?:time|minutes|hours|days) to (?:train|accuracy|solution|convergence|target|loss)|\bttt\b")
#: One device or node, whose throughput this is: `1 GPU img/s`, `images_per_sec_single_gpu`.
OF_A_SINGLE = late(
    rf"(?<![^\W_])(?:1[\s_\-]?|{any_of('headers.one')})(?:{'|'.join(sorted(DEVICE_WORDS | NODE_WORDS))})(?![^\W_])",
    re.IGNORECASE,
)

Kind = Literal["time", "rate", "quantity", ""]
#: The words of a header on each side of `/` or `per`.
Sides: TypeAlias = tuple[tuple[str, ...], ...]


class Header(Struct, frozen=True):
    """What a column's header says."""

    kind: Kind = ""  #: A rate is a throughput. Empty where the header tells none of them.
    #: Of the cells: of a time one of `TIME_UNITS`, of a rate the unit of time in the
    #: denominator.
    unit: str = ""
    #: What a rate counts, in the plural, and so many of it that a time is of; empty where the header does not say it.
    counted: str = ""
    #: Whether a rate is that of one worker, or of one node; of a time, whether it is the sum over them.
    shared: bool = False
    #: What a time is of: a step, or work that all workers share (an epoch, a job), however many they are.
    of: Literal["step", "job", ""] = ""
    level: Literal["workers", "nodes"] = "workers"  #: What a rate is of one of.
    steps: int = 1  #: Of how many steps together a time is.


#: `Time (seconds)` of `Time (seconds) N=10000`: a header up to its unit, with words behind it.
_WORDS_BEHIND = late(r"[^()\[\]]*\w[^()\[\]]*[(\[](?P<unit>[^()\[\]]+)[)\]](?=\s+(?:[-–]\s+)?\w)")


#: `step time (DDP)`: a variant in brackets.
_VARIANT = late(r"([^()\[\]]+) ?[(\[][^()\[\]]+[)\]]")
#: `Time1`, `Time2`: repeats beside each other.
_NUMBERED = late(r"((?:.*[\W_])?([^\W\d_]+))\d{1,2}")


def bare(column: str) -> str:
    """Return a header without its section and the unit in brackets at its end, and with a word for `#`.

    >>> bare("Step time [ms]"), bare("# GPUs"), bare("peak memory (GB)"), bare("batch size (per GPU)")
    ('Step time', 'num GPUs', 'peak memory', 'batch size (per GPU)')
    >>> bare("config.world_size"), bare("Elapsed (hh:mm:ss)"), bare("Parallel speed-up, S"), bare("Efficiency E (%)")
    ('world_size', 'Elapsed', 'Parallel speed-up', 'Efficiency (%)')
    """
    text = _without_section(column)
    text = re.sub(r"^(#|n[or]\.)[\s_-]*(of\s+)?(?=[A-Za-z])", "num ", text, flags=re.IGNORECASE)
    return _parted(text)[0]


def letter_of(column: str) -> str | None:
    """Return the letter that formulas have for a column, as its header says: `p` of `Processors, p`; else None."""
    letter = _SYMBOL.search(column)
    return None if letter is None else letter[0].strip(" ,()[]")


#: `(h:mm:ss)`: how the durations below a header are written.
_CLOCK = late(r"\s*[\[(](?:h{1,3}:)?m{1,2}:s{1,2}[\])]$", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def header_of(column: str) -> Header:
    """Return what a header says of the numbers below it.

    >>> header_of("step_ms")
    Header(kind='time', unit='ms', counted='', shared=False, of='step', level='workers', steps=1)
    >>> header_of("Time per epoch (s)").of, header_of("seconds per step").unit, header_of("s/it").of
    ('job', 's', 'step')
    >>> header_of("Tokens/sec/GPU")
    Header(kind='rate', unit='s', counted='tokens', shared=True, of='', level='workers', steps=1)
    >>> header_of("throughput (images/s)").counted, header_of("peak memory (GB)").unit, header_of("layers").kind
    ('images', 'GB', '')
    >>> header_of("GPU-hours"), header_of("hours_to_train").of
    (Header(kind='time', unit='h', counted='', shared=True, of='job', level='workers', steps=1), 'job')
    >>> header_of("Time (%)").kind
    ''
    """
    if (clock := _CLOCK.search(column)) is not None:
        return header_of(f"{column[: clock.start()]} time (s)")
    # Two capitals are an abbreviation, as `P/D`, `R/W`.
    text = _without_section(_ABBREVIATION.sub(r"\1\2", column))
    text = f"{steps[1]}/s" if (steps := _STEPS_A_SECOND.fullmatch(text)) else text
    if not text.isascii() and (each := _OF_EACH.match(text)) and (rate := header_of(text[each.end() :])).kind == "rate":
        return replace(rate, shared=True, **({"level": "nodes"} if each["node"] else {}))
    if multiple := _MULTIPLE_BEHIND.fullmatch(text):
        rate = header_of(f"{_MULTIPLES.get(multiple['multiple'].lower(), multiple['multiple'])} {multiple['rate']}")
        # Behind a blank a capital may name a variant, but for a rate of an hour or a day.
        is_multiple = multiple["bracket"] or rate.unit != "s" or multiple["multiple"] not in ("M", "B")
        if rate.kind == "rate" and is_multiple:
            return rate
    # `throughput/device/samples_per_sec` is a rate at the end of a path.
    path, _, metric = text.rpartition("/")
    sides = _sides_of_ratio(metric) if path else ()
    rate_at_end = _rate(sides, ()) if len(sides) > 1 else None
    if rate_at_end is not None and rate_at_end.counted not in DEVICE_WORDS:
        return replace(rate_at_end, shared=rate_at_end.shared or path.rpartition("/")[-1] in DEVICE_WORDS)
    if rate_at_end is None and sides and path.rpartition("/")[-1].lower() in _RATES:
        # `throughput/step_ms` stands in a section of this name.
        text = metric if (of_time := _time(sides, ())) is not None and of_time.of else text
    name, unit = _parted(text)
    if "/" in unit and (of_unit := header_of(unit)).kind == "time":
        return of_unit  # `speed [s/it]`
    names, last = map(_sides_of_ratio, (name, unit))
    if not names or _is_bandwidth(last or names):
        return Header()
    header = _rate(last, names) or _rate(names, ()) or _time(names, last) or _quantity(names, last) or Header()
    has_no_unit = header.kind in ("", "time") and header.unit in ("", "s") and not last
    if has_no_unit and (behind := _WORDS_BEHIND.match(text)) and _is_unit(behind["unit"]):
        return header_of(behind[0])
    is_other = not ("/" in unit or unit in TIME_UNITS) and _OTHER_UNIT.fullmatch(text) is not None
    if header.kind == "time" and (("%" in column and unit not in TIME_UNITS) or is_other):
        return Header()
    if header.kind != "rate" and _HOURLY.search(text.lower()) and MONEY_IN_NAME.fullmatch(text.lower()):
        return Header("rate", "h")
    if not header.kind and (variant := _VARIANT.fullmatch(text)) and header_of(variant[1]).kind == "time":
        return header_of(variant[1])
    if not header.kind and (numbered := _NUMBERED.fullmatch(text)) and numbered[2].lower() in _TIMES:
        return header_of(numbered[1])
    # What it is per: `GPU` of `Tokens/sec/GPU`.
    shared_by = tuple(unit_words[0] for unit_words in (*names[1:], *last[1:]))
    before_unit = (last or names)[0][-2:-1]
    in_hours = header.unit.partition("/")[0] in ("h", "d") and (header.kind == "time" or header.counted)
    if in_hours and header.kind != "rate" and not (DEVICE_WORDS | NODE_WORDS).isdisjoint(before_unit):
        # `GPU-hours` are those of all devices together.
        shared_by, header = before_unit, replace(header, of=header.of or "job", shared=True)
    of_a_node = header.shared and not NODE_WORDS.isdisjoint(shared_by)
    return replace(header, level="nodes") if of_a_node else header


#: What a speed-up or an efficiency counts.
RELATIVE = "units"
#: What a rate counts whose header is no word of a rate, as a score: it has no unit that could be written.
UNNAMED = "work units"


def relative_unit(column: str) -> str:
    """Return the unit of a speed without a time: an amount of FLOP, else that of a ratio of two speeds.

    >>> relative_unit("TFLOPs"), relative_unit("speed-up"), relative_unit("efficiency")
    ('TFLOP', 'units', 'units')
    """
    words = [word for unit_words in _sides_of_ratio(column) for word in unit_words]
    return next((_COUNTED[word] for word in words if _COUNTED.get(word, "").endswith("FLOP")), RELATIVE)


def time_called(column: str, usual: str) -> str:
    """Return what a time is called: its column, where that says more than what it is the time of, else the `usual`."""
    plain = {*_TIMES, *TIME_WORDS, *STEP_WORDS, *JOB_WORDS, *STATISTICS, *words_of("headers.time_letter")} - {"latency"}
    words = {word for unit_words in _sides_of_ratio(bare(column)) for word in unit_words}
    header = header_of(column)
    is_time = header.kind == "time" or not words.isdisjoint(_TIMES)
    says_more = not words <= plain and not header.shared and header.steps == 1
    return bare(column) if is_time and says_more else usual


def in_another_unit(column: str, others: Iterable[str]) -> str | None:
    """Return the one column that measures what a column does, spelt or in a unit of time otherwise; None for several.

    >>> in_another_unit("step_s", ["gpus", "step_ms"]), in_another_unit("images/s", ["images_per_min", "tokens/min"])
    ('step_ms', 'images_per_min')
    >>> in_another_unit("tokens/s", ["gpus", "tok/s"])
    'tok/s'
    >>> in_another_unit("step_s", ["forward_ms"]), in_another_unit("step_s", ["step_ms", "step_min"])
    (None, None)
    """

    def meaning(name: str) -> tuple[Header, set[str]]:
        """Return what a header says but for its unit, and its words but for those of times and rates."""
        words = {_CALLED.get(word, word) for unit_words in _sides_of_ratio(bare(name)) for word in unit_words}
        return replace(header_of(name), unit=""), words - {*TIME_WORDS, *_TIMES, *_RATES}

    alike = [candidate for candidate in others if header_of(candidate).unit and meaning(candidate) == meaning(column)]
    return alike[0] if len(alike) == 1 and header_of(column).unit else None


@lru_cache(maxsize=20_000)
def pace_of(column: str) -> tuple[str, bool] | None:
    """Return what a header counts per second or has the seconds of, and whether it is the rate; None for another one.

    >>> pace_of("it/s"), pace_of("s/it"), pace_of("steps/sec"), pace_of("tokens/s"), pace_of("ms/step")
    (('it', True), ('it', False), ('step', True), None, None)
    """
    one, _, other = column.lower().partition("/")
    for counted, seconds, is_rate in ((one, other, True), (other, one, False)):
        if canonical_time(seconds) == "s" and {counted, counted.removesuffix("s")} & STEP_WORDS:
            return counted.removesuffix("s"), is_rate
    return None


_OF_EPOCHS = late(rf"(?<![\d.])([1-9]\d*)[ _-]?{any_of('headers.epoch')}(?![^\W_])", re.IGNORECASE)


def epochs_of(column: str) -> float:
    """Return the epochs that a header says a time is of.

    >>> epochs_of("time for 90 epochs"), epochs_of("epoch time (s)")
    (90.0, 1.0)
    """
    stated = _OF_EPOCHS.search(column)
    return 1.0 if stated is None else float(stated[1])


def is_price(column: str) -> bool:
    """Tell whether a header is of money per time: `spot price ($/h)`."""
    return header_of(column).kind == "rate" and MONEY_IN_NAME.fullmatch(column.lower()) is not None


def bandwidth_of(column: str, unit: str = "") -> str:
    """Return the unit of data per second that a header has, or the cells below it; empty where neither has one.

    >>> bandwidth_of("AllReduce (GB/s)"), bandwidth_of("link_gbit_s"), bandwidth_of("bus_gbps")
    ('GB/s', 'gbit/s', 'gbps')
    >>> bandwidth_of("images/s"), bandwidth_of("algo throughput", "Gbps")
    ('', 'Gbps')
    """
    if unit:
        return unit if _is_bandwidth(_sides_of_ratio(unit)) else ""
    text = column.strip()
    start = max(text.rfind("("), text.rfind("["))
    names, last = map(_sides_of_ratio, _parted(text))
    if not _is_bandwidth(last or names):
        return ""
    # In brackets, or the last word with the second behind it: `link_gbit_s`.
    return text[start + 1 : -1] if last else re.sub(r"[\s_]+", "/", re.split(r"[\s_](?!s$|sec$)", text)[-1])


def in_blanks(column: str) -> str:
    """Return a header in words that R has put together by dots, its unit in brackets; another header as it is.

    >>> in_blanks("Step.time..ms."), in_blanks("images.per.sec"), in_blanks("tok.s.gpu"), in_blanks("step.s")
    ('Step time (ms)', 'images per sec', 'tok/s/gpu', 'step s')
    """
    if _DOTTED.fullmatch(column) is None:
        return column
    rated = _DOTTED_RATE.sub(lambda rate: rate[0].replace(".", "/"), column)
    return re.sub(r"\.\.([\w/]+)\.$", r" (\1)", rated).replace(".", " ").rstrip()


def _without_section(column: str) -> str:
    """Return a header without its sections: `config.num_gpus`, `train/perf/step_time`; `train/s` is a rate."""
    text = _SYMBOL.sub("", _BETTER.sub("", _SCATTER.sub("", column[:LONGEST_NAME].strip().translate(_BRACKETS))))
    while (section := _SECTION.match(text)) and text[section.end() :].lower() not in TIME_WORDS:
        text = text[section.end() :]
    # A path such as `model.layers` has no such sign.
    return in_blanks(text) if ".." in text or ".per." in text or _DOTTED_RATE.search(text) else text


def _parted(text: str) -> tuple[str, str]:
    """Return a header in two: what it names, and the unit in brackets or below a line at its end, else empty."""
    start = max(text.rfind("("), text.rfind("["))
    main, inside = text[:start].strip(" _\t"), text[start + 1 : -1].strip()
    closed = start >= 0 and text[-1:] in (")", "]") and not {")", "]"} & {*inside}
    plain = inside.lower().strip(".")
    is_spread = plain in words_of("columns.spread") and not re.search(any_of("headers.before_hours"), main.lower())
    is_spread |= plain == "min" and _without_least(_sides_of_ratio(f"{main} min")) == _sides_of_ratio(main)
    if closed and main and _is_unit(inside) and not is_spread:
        return main, _UNITS_OF_TIME.get(plain, inside)
    # A quantity over its unit is the number below: `Runtime / s`. `images/s` is none, as images are no time.
    quantity, _, unit = map(str.strip, text.rpartition("/"))
    names = _sides_of_ratio(quantity)
    if names and unit.lower() in TIME_WORDS:
        is_over_unit = _time(names, ()) is not None or names[0][-1] in _TIMES
    else:
        is_over_unit = bool(names) and unit.lower() in _UNITS and _quantity(names, ()) is not None
    return (quantity, unit) if is_over_unit else (text, "")


def _is_unit(text: str) -> bool:
    """Tell whether a text in brackets is a unit: `ms`, `img/s`, `s/epoch`, `GB`, `hh:mm:ss`."""
    sides = _sides_of_ratio(text)
    last = sides[-1][-1] if sides else ""
    is_rate = any(per[-1] in TIME_WORDS for per in sides[1:]) or (len(sides) > 1 and sides[0][-1] in TIME_WORDS)
    return is_rate or last in _UNITS_OF_TIME or last in _UNITS or _OF_A_CLOCK.fullmatch(text.lower()) is not None


@lru_cache(maxsize=10_000)
def _sides_of_ratio(text: str) -> Sides:
    """Return the words of a header on each side of `/` or `per`: `step_time ms/epoch` → ((step, time, ms), (epoch))."""
    # `ViT-B/16` is a network, and no ratio.
    named = re.sub(r"(?<=-[A-Z])/(?=\d)", "-", re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))
    spaced = _CAPITALS.sub(lambda inside: inside[0] or " ", _EACH_SECOND.sub(r"\1/s", named)).lower()
    spaced = _COMPOUND.sub(" ", spaced)
    spaced = _YEARS_A_DAY.sub("years per day", spaced)
    # A speed-up is no speed.
    spaced = re.sub(r"speed[\s_.\-]+up(?![a-z])", "speedup", spaced)
    # No seconds are per second: `s/sec` is of samples.
    spaced = re.sub(r"\bs(?=/s(?:ec(?:ond)?)?\b)", "samples", spaced)
    spaced = re.sub(r"^1(000)?000(?= \w+ ?(?:/|per ))", lambda size: "m" if size[1] else "k", spaced)
    spaced = _OF_ONE_DEVICE.sub(r"\1 per \2", _PER_DEVICE_FIRST.sub(r"\2 \1", spaced))
    sides = [re.split(r"[\s_\-.,:()\[\]]+", side) for side in _PER.split(spaced)]
    sides = [[word for word in side if word] for side in sides]
    sides[0] = _MANY.sub(r"\1 \2", " ".join(sides[0])).split()
    # A multiple is one of what stands behind it: `miles/s` are no thousands.
    sides = [[*(_MULTIPLES.get(word, word) for word in side[:-1]), *side[-1:]] for side in sides]
    # `s per ten steps`, and `s/1 epoch`, which is `s/epoch`.
    sides[1:] = [[_IN_DIGITS.get(word, word) for word in side] for side in sides[1:]]
    sides[1:] = [side[1:] if len(side) > 1 and side[0] == "1" else side for side in sides[1:]]
    return tuple(tuple(side) for side in sides if side)


def _without_least(sides: Sides) -> Sides:
    """Return the words of a header without a `min` beside another unit of time, `min step ms`, which is the least."""
    units = {word for side in sides for word in side if word in TIME_UNITS} - {"min"}
    without = (tuple(word for word in side if not (units and word == "min")) for side in sides)
    return tuple(filter(None, without))


def _is_bandwidth(sides: Sides) -> bool:
    """Tell whether the sides of a ratio are data per second, `gb/s`, `gbps` or `gb_s`: no throughput of a training."""
    if not sides:
        return False
    numerator, *denominators = sides
    if denominators:
        is_per_second = numerator[-1].endswith("bps") or any(words[0] in TIME_WORDS for words in denominators)
        return numerator[-1] in _DATA and is_per_second
    if numerator[-1].endswith("bps"):
        return numerator[-1] in _DATA
    return len(numerator) > 1 and numerator[-1] in TIME_WORDS and numerator[-2] in _DATA


def _rate(sides: Sides, before: Sides) -> Header | None:
    """Return the header of a throughput, by its unit and the words `before` one in brackets, if any; else None."""
    if not sides:
        return None
    numerator, *denominators = sides
    units = [unit_words[0] for unit_words in [*denominators, *before[1:]]]
    shared = any(unit in DEVICE_WORDS | NODE_WORDS or _KIND_OF_DEVICE.fullmatch(unit) for unit in units)
    # A unit may begin with the clock that it was read from, `cpu seconds`, or with what has the time, `GPU hour`.
    before_a_time = {*words_of("headers.clock"), *DEVICE_WORDS, *NODE_WORDS}
    seconds = [unit[1:] if len(unit) > 1 and unit[0] in before_a_time else unit for unit in denominators]
    timed = next((words for words in seconds if words[0] in _UNITS_OF_TIME), None)
    # `M-particle-steps` are millions as well.
    multiple = next((f"{word.upper() if word != 'k' else word} " for word in numerator if word in ("k", "m", "b")), "")
    if len(numerator) == 2 and (tens := _TENS.fullmatch(numerator[0])):
        multiple = f"{int(tens[1]) * MULTIPLES.get(tens[2].upper(), 1.0):.0f} "
    simulated = timed is not None and numerator[-1] in SIMULATED and _UNITS_OF_TIME[timed[0]] in ("h", "d")
    # Here something is per a unit of time that is no such unit itself.
    if timed is not None and (simulated or not (len(numerator) == 1 and numerator[0] in TIME_WORDS)):
        while len(numerator) > 1 and numerator[-1].endswith("ed") and numerator[-1] not in _PLAIN:
            numerator = numerator[:-1]  # samples trained, tokens processed
        if numerator[-1] in _UNITS:
            return Header("quantity", f"{_UNITS[numerator[-1]]}/{_UNITS_OF_TIME[timed[0]]}")
        is_named = simulated or not (numerator[-1] in _PLAIN or numerator[-1] in TIME_WORDS)
        counted = numerator[-1] if is_named else ""
        # `audio hours`, `hours of audio`
        of_time = [word for word in numerator if word in TIME_WORDS and len(word) > len("min")]
        what = [word for word in numerator if word not in {"of", *of_time, *_PLAIN, *before_a_time}]
        counted = f"{what[-1]} {of_time[0]}" if of_time and what else counted
        return Header("rate", _UNITS_OF_TIME[timed[0]], multiple + _CALLED.get(counted, counted), shared)
    if before:
        return None
    numerator = numerator[:-1] if numerator[1:] and STATISTIC.fullmatch(numerator[-1]) else numerator
    # `images_s`, and below names without a time, `throughput`, which are per second.
    if len(numerator) > 1 and TIME_WORDS.get(numerator[-1]) == "s" and numerator[-2] in _NEVER_A_TIME:
        counted = multiple + _COUNTED.get(numerator[-2], numerator[-2])
        return Header("rate", "s", counted, shared)
    if numerator[-1] == "rate" and _PLAIN.issuperset(numerator[:-1]):
        # Neither that of learning nor that of errors.
        return Header("rate", "s", "", shared)
    named = {*numerator} & (_RATES | _OF_A_WORKER)
    if not named or (numerator[0] != "throughput" and not TIME_WORDS.keys().isdisjoint(numerator)):
        return None
    word = min(named)
    # `token_throughput`
    counted_words = [_COUNTED.get(w, w) for w in numerator if len(w) > 2 and {w} & {*_COUNTED, *_CALLED.values()}]
    if len(numerator) > 2 and TIME_WORDS.get(numerator[-1]) == "s" and not {numerator[-2]} & {*_PLAIN, *STATISTICS}:
        # `throughput_mcells_s`
        counted_words = [numerator[-2]]
    counted = _UNIT_OF_RATE.get(word) or next(iter(counted_words), "")
    return Header("rate", "s", counted, shared or word in _OF_A_WORKER)


def _time(sides: Sides, unit: Sides) -> Header | None:
    """Return the header of a time, by a word for it, a unit at the end or in brackets, or one per step; else None."""
    sides = _without_least(sides) if any("min" in side for side in sides) else sides
    if STATISTIC.fullmatch(sides[-1][-1]) and len(sides[-1]) > 1:
        sides = (*sides[:-1], sides[-1][:-1])
    numerator, *denominators = sides
    words = [word for unit_words in sides for word in unit_words]
    inside = unit[0][-1] if unit else ""
    of = _of([*words, *(word for unit_words in unit for word in unit_words)])
    unit_of_time = _UNITS_OF_TIME.get(inside) or (TIME_WORDS.get(words[-1]) if len(words) > 1 else None)
    # Per step or epoch; a time per sample or token is none of a step.
    per = denominators or unit[1:]
    # `time for 100 steps` and `s per 100 steps` are of all of them, and `mean time of 100 steps` of one.
    amounts = [_OF_STEPS.match(" ".join(unit_words)) for unit_words in per]
    if not per and {*numerator}.isdisjoint(STATISTICS):
        amounts = [amount for amount in _OF_STEPS.finditer(" ".join(numerator)) if amount[3] not in _STEP]
    together = next(filter(None, amounts), None)
    steps = int(together[1] or 1) * int(MULTIPLES.get(together[2], 1)) if together else 1
    if per:
        named_unit = unit_of_time or next((TIME_WORDS[word] for word in numerator if word in TIME_WORDS), None)
        plain = [unit_words[unit_words[0].isdigit() and len(unit_words) > 1] for unit_words in per]
        if together is None and (STEP_WORDS | JOB_WORDS).isdisjoint(plain):
            many = _OF_MANY.fullmatch(" ".join(per[0]))
            number = int(many[1] or 1) * int(MULTIPLES.get(many[2].upper(), 1)) if many else 1
            letter = {1: "", 10**3: "k ", 10**6: "M ", 10**9: "B "}.get(number, f"{number} ")
            counted = letter + _COUNTED.get(many[3], many[3]) if many else ""
            of_what = counted if " " in counted else per[0][-1]
            return None if named_unit is None else Header("quantity", f"{named_unit}/{of_what}", counted)
        if denominators:
            is_time = named_unit or not {*_TIMES, *words_of("headers.time_letter")}.isdisjoint(numerator)
            return Header("time", named_unit or "s", of=of, steps=steps) if is_time else None
    if unit_of_time is None and (words[0] in words_of("headers.time_alone") if len(words) == 1 else words[1] == "to"):
        # `hours_to_train`
        unit_of_time = TIME_WORDS.get(words[0])
    # A header names what stands before a preposition, and not what it is with, without or for.
    behind = {*words_of("headers.preposition"), *words_of("headers.spent")}
    words = words[: next((place for place, word in enumerate(words) if place and word in behind), len(words))]
    if not _LEFT.isdisjoint(words) or words[0] in words_of("headers.share"):
        return None
    if not unit and MOMENT.fullmatch(" ".join(words)):
        return None
    # `t_step` was measured, where a `time step` is that of a simulation.
    by_letter = len(words) > 1 and words[0] in words_of("headers.time_letter")
    chosen = {*words} & (_CHOSEN_TIME - STEP_WORDS if by_letter else _CHOSEN_TIME)
    leading_word = words[1] if len(words) > 1 and words[0] in {*STATISTICS, "total"} else words[0]
    if unit_of_time is None and (words[-1] in _TIMES or ((leading_word in _TIMES or by_letter) and not chosen)):
        unit_of_time = "s"
    return None if unit_of_time is None else Header("time", unit_of_time, of=of, steps=steps)


def _of(words: list[str]) -> Literal["step", "job", ""]:
    """Return what a time is of by the words of its header: `job` of an epoch, `step` of an iteration; else ""."""
    if JOB_WORDS & {*words} or _TO_AN_END.search(" ".join(words)):
        return "job"
    return "step" if STEP_WORDS & {*words} else ""


def _quantity(sides: Sides, unit: Sides) -> Header | None:
    """Return the header of a memory, energy or power; None of anything else, as of a size given: `message_size MB`."""
    words = [word for unit_words in sides for word in unit_words]
    # `peak memory (GB)`, `peak_gb`, `joules per step`.
    last_word = words[-1] if len(words) > 1 else ""
    # `watts` and `kWh` alone are quantities; `GB` alone may be a size that was given.
    is_alone = len(words) == 1 and words[0] in _UNITS and words[0] not in _MEMORY_UNITS and len(words[0]) > 1
    unit_word = unit[0][-1] if unit else words[0] if is_alone else last_word
    above, below = (sides[0][-1], sides[1]) if len(sides) == 2 else ("", ("",))
    # `GB per GPU` may be what a device has; `memory GB per GPU` was measured.
    is_measured = above not in _MEMORY_UNITS or not _QUANTITIES.isdisjoint(words)
    of_devices = DEVICE_WORDS | NODE_WORDS if is_measured else frozenset()
    if above in _UNITS and below[0] in STEP_WORDS | JOB_WORDS | of_devices:
        unit_word = above
    elif not unit and len(below) == 1 and below[0] in _UNITS:
        # `samples per joule`
        return Header("quantity", f"{above}/{_UNITS[below[0]]}")
    if unit_word in _UNITS:
        amount_words = words_of("headers.given_amount" if unit_word in _MEMORY_UNITS else "headers.limited_amount")
        is_amount = any(word in amount_words for word in words)
        is_given = is_amount and (unit_word not in _MEMORY_UNITS or not _QUANTITIES & {*words})
        return None if is_given else Header("quantity", _UNITS[unit_word])
    return Header("quantity") if _QUANTITIES & {*words[:2]} else None


# --- units as people write them, in several languages ----------------------------------------------------------------

#: Exact seconds in a unit of time, as numerator and denominator: 250 ms is divided by 1000, and so exactly 0.25 s.
TIME_UNITS = {
    "s": (1.0, 1.0),
    "ms": (1.0, 1e3),
    "us": (1.0, 1e6),
    "ns": (1.0, 1e9),
    "min": (60.0, 1.0),
    "h": (3600.0, 1.0),
    "d": (86400.0, 1.0),
}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_PREFIXES |= {"ki": 2.0**10, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_PER_STEP = late(rf"(?: ?/ ?| per )(?:{'|'.join(sorted(STEP_WORDS))})$")
#: Units that take a prefix, each with what it measures.
_PREFIXED = late(r"([kKMGTP]i?)?(B|o|bytes?|bit|bits|b|FLOPS|FLOP|Flops|W|J|Wh|Hz)(/s|/sec|ps)?")
#: Behind a number without a blank: so many thousands, millions or billions of whatever the column counts.
MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


#: `All times in ms.`, `unit: k tokens/s`, `all numbers are images/s`.
_IN_A_UNIT = late(
    r"(?:\b(?:in|are)|\bunits?[:=])\s+((?:[kKMB] )?[^\W\d_]+(?:(?:/| per )[^\W\d_]+)*)"
    r"(?=\s*(?:$|[:：(\[.,;]|(?:by|vs|versus|against|over)\s))",
    re.IGNORECASE,
)


#: Names of what is learned, or computed from measurements: sections of the words.
COMPUTED = ("columns.learned", "columns.result", "columns.relative", "columns.efficiency")
#: `samples per second, higher is better`, `tokens/s per GPU`
_ONE_RATE = late(r"^\s*([^\W\d_]+(?:(?:/| per )[^\W\d_]+){1,2})\s*(?:$|[,;.(])")


def units_in(caption: str) -> list[str]:
    """Return the units in a caption, in brackets perhaps behind a word for them, or that it is: `(unit: images/s)`.

    >>> units_in("Throughput (images/s)"), units_in("Time in seconds"), units_in("unit: ms"), units_in("total_time_s")
    (['images/s'], ['s'], ['ms'], ['s'])
    """
    brackets = re.findall(r"[(\[（](?:[^()\[\]（）]*[:：])?\s*([^()\[\]（）:：]+)[)\]）]", caption)
    # `(images/s, batch 64 per GPU)`
    stated = [text for bracket in brackets for text in re.split(r"[,;]\s+", bracket)]
    stated += _IN_A_UNIT.findall(caption)
    last = re.split(r"[\s_]", caption.strip())[-1]
    if not stated and (last == caption.strip() or (header_of(caption).kind == "time" and canonical_time(last))):
        # The caption is a unit, or a name with one: `images/sec`, `total_time_s`.
        stated = [last] if "/" in last or canonical_time(last) else []
    stated = stated or _ONE_RATE.findall(caption)
    return [canonical_time(unit) or unit for unit in stated if header_of(f"x ({unit})").kind]


def in_multiples(counted: str) -> tuple[float, str]:
    """Return how many of what one unit of a rate counts: an `M tokens` is a million of `tokens`."""
    multiple, _, plain = counted.partition(" ")
    size = float(multiple) if multiple.isdecimal() else MULTIPLES.get(multiple)
    return (size, plain) if plain and size else (1.0, counted)


def multiple_in(name: str) -> float:
    """Return in how many of one the numbers of a column are, by a word of its name.

    >>> multiple_in("rows_millions"), multiple_in("params (billion)"), multiple_in("rows")
    (1000000.0, 1000000000.0, 1.0)
    """
    multiples = (_MULTIPLES.get(word) for word in re.split(r"[\W_]+", name.lower()))
    return next((MULTIPLES[multiple.upper()] for multiple in multiples if multiple), 1.0)


@lru_cache(maxsize=10_000)
def bytes_of(unit: str) -> float:
    """Return the bytes of a unit of memory; zero for another unit.

    >>> bytes_of("GB"), bytes_of("MiB"), bytes_of("s")
    (1000000000.0, 1048576.0, 0.0)
    """
    if unit.lower() not in _MEMORY_UNITS:
        return 0.0
    return (1024.0 if "i" in unit.lower() else 1000.0) ** (" kmgt".index(unit[0].lower()))


def unit_of(text: str) -> tuple[str, float, float]:
    """Return what a unit measures, and its size as numerator and denominator; units of one kind convert into another.

    >>> unit_of("microsegundos"), unit_of("GiB"), unit_of("kW"), unit_of("samples/sec"), unit_of("×")
    (('s', 1.0, 1000000.0), ('B', 1073741824.0, 1.0), ('W', 1000.0, 1.0), ('samples/s', 1.0, 1.0), ('x', 1.0, 1.0))
    """
    multiple, _, unit_text = text.partition(" ")
    if multiple in MULTIPLES and unit_text:
        kind, above, below = unit_of(unit_text)
        return kind, above * MULTIPLES[multiple], below
    time = _UNITS_OF_TIME.get(text) or canonical_time(text)
    if time is not None and text not in ("H", "D", "S"):
        return ("s", *TIME_UNITS[time])
    if text in ("x", "X", "×"):
        return "x", 1.0, 1.0
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed is not None:
        prefix, base, rate = prefixed.groups(default="")
        usual = {"o": "B", "byte": "B", "bytes": "B", "bits": "bit", "b": "bit", "FLOP": "FLOPS", "Flops": "FLOPS"}
        base = usual.get(base, base)
        rated = f"{base}/s" if rate and base != "FLOPS" else base
        return rated, _PREFIXES[prefix], 1.0
    return re.sub(r"/(?:sec|second|seg|segundo|sekunde|seconde)s?\b", "/s", re.sub(r"\s*/\s*", "/", text)), 1.0, 1.0


def canonical_time(text: str) -> str | None:
    """Return the short name of a unit of time, `ms` for `milliseconds` and `ms/step`; None for other units."""
    return _UNITS_OF_TIME.get(_PER_STEP.sub("", text.lower()))


def is_other_word(text: str) -> bool:
    """Tell whether a word behind a number is no unit that is known: what it counts may be anything."""
    kind = unit_of(text)[0]
    return kind == text and not re.fullmatch(r"s|x|[%‰$€£]|.*/.*", text) and _PREFIXED.fullmatch(text) is None
