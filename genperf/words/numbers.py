"""Counts, intervals, durations and quantities as a person reads them."""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from genperf.facts import Interval
from genperf.panel.panel import SECONDS, Target
from genperf.vocabulary import section
from genperf.vocabulary.headers import RELATIVE, SIMULATED, STEP_WORDS, UNNAMED, header_of, in_multiples
from genperf.vocabulary.names import noun_of
from genperf.words import TEXTS

# What is worth a word.
#: Above it an efficiency is doubted: caches give a tenth more. Half, double: experiments/results/settings.md.
MOST_EFFICIENCY = 1.15
#: A part of a smaller share is not named: it would be written as 0 %.
WORDS_LEAST_SHARE = 0.005
#: A share from which it is written as a factor: 12.8 times, and not 1280 %.
LEAST_FACTOR = 10.0

#: A chance between it and the rest of one is called undecided. A convention: one in four.
LEAST_DECIDED = 0.25


def count_text(count: float, name: str, least: float | None = None) -> str:
    """Return a count, or a range of counts, with the name of what is counted: `1 to 16 gpus`, `count=8`."""
    numbers = " to ".join(map(setting_text, [count] if least is None else [least, count]))
    noun = noun_of(name)
    # A name that is no plural in words cannot stand behind a number.
    if not noun.lower().endswith("s") or "_" in noun:
        return f"{name}={numbers}"
    return f"{numbers} {singular(name) if numbers == '1' else noun}"


def singular(name: str) -> str:
    """Return the noun for one of a count: `gpu` of gpus, `process` of processes."""
    noun = noun_of(name)
    return noun.removesuffix("es") if noun.lower().endswith("sses") else noun.removesuffix("s")


def ends_text(lower: str, upper: str, between: str = "–") -> str:
    """Return the ends of an interval: `0.2–0.45`, `8.25–10.7 million`; about one number where both are alike."""
    number, _, multiple = lower.partition(" ")
    least = number if multiple and upper.endswith(f" {multiple}") else lower
    return f"about {lower}" if lower == upper else f"{least}{between}{upper}"


def interval_note(level: float, lower: str, upper: str, middle: str, unit: str = "") -> str:
    """Return an interval in brackets behind its central value, ` (90 %: 51 to 70 %)`; nothing where all read alike."""
    ends = list(dict.fromkeys([lower, upper]))
    return "" if ends == [middle] else f" ({100 * level:g} %: {' to '.join(ends)}{' ' if unit else ''}{unit})"


#: How `--at` and the cells of a table write thousands of millions.
LETTERS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))


def taken_text(taken: Mapping[str, Sequence[Any]]) -> str:
    """Return what a question left open: `not given, and taken at: batch=32; --at sets them`."""
    values = {name: " or ".join(dict.fromkeys(map(setting_text, cells))) for name, cells in taken.items()}
    return f"not given, and taken at: {join_values(values)}; --at sets them"


def join_values(values: Mapping[str, Any]) -> str:
    """Return a configuration as text: `gpus=64, batch=32`."""
    return ", ".join(f"{k}={setting_text(v)}" for k, v in values.items())


def setting_text(value: Any) -> str:
    """Return a value of a factor as `--at` takes it: 8, 0.25, 175B.

    >>> [setting_text(value) for value in (8.0, 0.25, 1.75e11, 4194304.0, "bf16", "13000000000")]
    ['8', '0.25', '175B', '4194304', 'bf16', '13B']
    """
    if isinstance(value, int | np.integer) or (isinstance(value, str) and value.isdecimal() and value[0] != "0"):
        value = float(value)
    if not isinstance(value, float) or not 1e6 <= abs(value) < 1e15:
        return f"{value:g}" if isinstance(value, float) else str(value)
    size, letter = next((size, letter) for size, letter in LETTERS if abs(value) >= size)
    return f"{value / size:g}{letter}" if float(f"{value:.4g}") == value else f"{value:.0f}"


#: From how many seconds a unit suits, its seconds, and its name: ascending.
DURATIONS = (
    (-np.inf, 1.0, "s"),
    (1e-9, 1e-6, "µs"),
    (1e-4, 1e-3, "ms"),
    (0.01, 1.0, "s"),
    (300.0, 60.0, "min"),
    (7_200.0, 3_600.0, "h"),
    (172_800.0, 86_400.0, "d"),
)


def duration_text(seconds: float) -> str:
    """Return a duration as people write it, with three significant digits: `1.5 h`."""
    return " ".join(texts_in_unit(seconds))


def texts_in_unit(reference: float, *others: float, unit: str = SECONDS) -> tuple[str, ...]:
    """Return numbers as texts, and their unit last: durations and rates in the one that suits the first."""
    size, unit = suited_unit(reference, unit)
    return *[three_digits(number / size) for number in (reference, *others)], unit


#: Of a rate below it, as of jobs or trials, the count in an hour is told; images and tokens go on longer by the second.
#: A convention.
LEAST_RATE, LEAST_RATE_OF_DATA = 1.0, 0.1
_DATA = frozenset(section("counted"))


def suited_unit(reference: float, unit: str = SECONDS) -> tuple[float, str]:
    """Return the size and the name of the unit that suits a value: 60 and `min` of 600 s; of 0.02 jobs/s `jobs/h`.

    >>> suited_unit(600.0), suited_unit(0.02, "jobs/s")[1], suited_unit(0.02, "GB/s")[1], suited_unit(0.02, "img/s")[1]
    ((60.0, 'min'), 'jobs/h', 'GB/s', 'img/h')
    """
    if unit == SECONDS:
        _, size, name = DURATIONS[bisect_right(DURATIONS, (reference, np.inf, "")) - 1]
        return size, name
    counted = unit.removesuffix("/s")
    if counted != unit and counted in SIMULATED:
        return 1.0 / 86_400.0, f"{counted}/day"
    least = LEAST_RATE_OF_DATA if in_multiples(counted)[1] in _DATA else LEAST_RATE
    if not (0.0 < reference < least and counted != unit) or counted in STEP_WORDS or counted.endswith("FLOP"):
        return 1.0, unit
    return (1.0 / 3600.0, f"{counted}/h") if header_of(f"x ({unit})").kind == "rate" else (1.0, unit)


def digits_text(value: float, digits: int) -> str:
    """Return a number with so many significant digits, without an exponent where it can be read: `1.5 million`."""
    if not np.isfinite(value) or value == 0.0:
        return f"{value:g}"
    rounded = float(f"{value:.{digits}g}")
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if size <= abs(rounded) < 1e3 * size:
            return f"{rounded / size:.{digits}g} {name}"
    if 1e-4 <= abs(rounded) < 1e6:
        return f"{rounded:,.10f}".rstrip("0").rstrip(".")
    return f"{rounded:.{digits}g}"


#: A number with three significant digits.
three_digits: Callable[[float], str] = partial(digits_text, digits=3)


def whole_percent(value: float) -> str:
    """Return a share in whole per cent, or with one digit below 1 %, without the sign; errors of rounding are zero."""
    value = round(value, 4) or 0.0
    return f"{100 * value:.0f}" if abs(value) >= 0.01 or not value else f"{100 * value:.1g}"


def error_text(percent: float, decimals: int = 0) -> str:
    """Return an error in per cent; the digits of a very large one tell nobody anything."""
    return f"{percent:.{decimals}f} %" if percent <= 100.0 * LEAST_FACTOR else TEXTS["reasons"]["very_large"]


def share_text(share: float, of: str = "", decimals: int = 0) -> str:
    """Return a share in per cent, or how many times the whole it is: `40 % of 25Gbit/s`, `408 times the peak`."""
    if share >= LEAST_FACTOR:
        return f"{three_digits(share)} times {of or 'the peak'}"
    text = f"{100.0 * share:.{decimals}f}"
    # Two digits, where it would be written as zero, or as one behind a point.
    is_written = float(text) and (not decimals or share >= 0.01)
    return f"{text if is_written else f'{100.0 * share:.2g}'} %{' of ' if of else ''}{of}"


def with_unit(number: str, unit: str) -> str:
    """Return a written number with its unit."""
    return f"{number} {unit}".strip()


def rate_unit(counted: str) -> str:
    """Return the unit of a throughput of what is counted; that of a speed-up is x, a rate without a name has none."""
    return {RELATIVE: "x", UNNAMED: ""}.get(counted, f"{counted}/s")


#: A million of so many, in short and in words.
MILLIONS = {
    1.0: ("M", "million"),
    1e3: ("B", "billion"),
    1e6: ("T", "trillion"),
    1e9: ("thousand T", "thousand trillion"),
    1e12: ("million T", "million trillion"),
}


def million_of(counted: str) -> str:
    """Return a million of what a unit of a throughput counts, in words.

    >>> million_of("images"), million_of("k tokens")
    ('a million images', 'a billion tokens')
    """
    multiple, plain = in_multiples(counted)
    return f"a {MILLIONS[multiple][1]} {plain}"


def with_article(noun: str) -> str:
    """Return a noun with its article: `a step`, `an MPI rank`."""
    # Letters of a short form that are said by their names, as in MPI, begin with a vowel.
    is_vowel = noun[0] in "aeioAEIO" or re.match("[FHLMNRSX][B-DF-HJ-NP-TV-Z]", noun)
    return f"{'an' if is_vowel else 'a'} {noun}"


def capitalised(text: str) -> str:
    """Return a sentence that begins with a capital, or with a column as it is spelled, and ends with a full stop.

    >>> capitalised("measure 8 nodes"), capitalised("procs=32 is far.")
    ('Measure 8 nodes.', 'procs=32 is far.')
    """
    text = text.strip().rstrip(".") + "."
    return text if "=" in text.split(" ")[0] else text[:1].upper() + text[1:]


def prose(*sentences: str) -> str:
    """Return sentences as a text, those that are empty left out."""
    return " ".join(capitalised(sentence) for sentence in sentences if sentence)


def heading(target: Target) -> str:
    """Return the quantity with its unit, for axes and headings."""
    return f"{target.name} ({target.unit})" if target.unit else target.name


def with_interval(row: Any, name: str, unit: str) -> str:
    """Return a quantity of a row with the ends of its interval: `31.7 GB (29 to 34)`."""
    value, lower, upper = map(three_digits, Interval.named(row, name).ends)
    return f"{with_unit(value, unit)} ({lower} to {upper})"


def term_column(target: Target) -> str:
    """Return the column that holds the part of each term: the quantity's name, `seconds` for a time in seconds."""
    return "seconds" if target.unit == SECONDS else target.name


def constant_unit(unit: str, target: Target) -> str:
    """Return the unit of a constant: families write it for a time, as `s`, `s/B` or `s*flop`."""
    if unit != SECONDS and not unit.startswith((f"{SECONDS}/", f"{SECONDS}*")):
        return unit
    further = unit[len(SECONDS) :]
    if target.unit:
        return target.unit + further
    return f"1{further}" if further.startswith("/") else further.removeprefix("*")


def only_for_times(what: str, target: Target) -> str:
    """Return the sentence why some parts of an answer are left out."""
    return f"{what} are left out: they need a model of a time, and this one predicts {heading(target)}"


def scaling_question(along: str) -> str:
    """Return the question where nothing shows the kind of scaling."""
    return (
        f"efficiency and knee are left out: is the scaling along {along} weak or strong? "
        "--scaling weak where the work of one stays, --scaling strong where that of all does"
    )
