"""Cells as people write them → numbers: units, ±, brackets, footnotes, thousands, decimal commas, lists."""

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from genperf.arrays import Objects
from genperf.errors import Note, counted
from genperf.table.cells import step
from genperf.table.clean import MISSING, all_plain, is_number, label, number_in, seconds_of
from genperf.vocabulary.headers import MULTIPLES, SECONDS_IN, canonical_time, header_of, is_other_word, unit_of

_BLANKS = "'’\u00a0\u2009\u202f"
_NUMBER = (
    rf"[+\-−]?(?:[0-9]{{1,3}}(?:[ {_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?|[0-9](?:[0-9.,]*[0-9])?(?:\.(?![^\W\d_]))?"
    r"|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_UNIT = r"(?![eE][+-]?\d)[^\W\d_][^\W\d_.µμ]*\.?(?:\s?[/·]\s?[^\W\d_]+)*|/\s?[^\W\d_]+|[%‰$€£×]|[µμ]s"
#: A number, what it varies by, its unit, a second value in brackets, a footnote.
_CELL = re.compile(
    rf"(?:\*\*)?[~≈]?\s*(?P<before>[$€£])?\s*(?P<number>{_NUMBER})\s*(?P<first>{_UNIT})?"
    rf"(?P<spread>\s*\(?\s*(?:±|\+/[-−]|\+[-−])\s*{_NUMBER}\s*(?:{_UNIT})?\s*\)?)?"
    rf"\s*(?P<unit>{_UNIT})?(?P<second>\s*[(\[{{](?!\^)[^()\[\]{{}}]*[)\]}}])?(?P<note>\s*(?:\[\^?\w+\]|[*†‡¹²³]+))?"
)
#: What stands beside or in a number, and how it is reported that it was taken out.
_EXTRAS = {
    "±": "± and what follows removed from",
    "second value": "second value in brackets removed from",
    "footnote": "footnote removed from",
    "−": "minus sign of typesetting read in",
    ",": "separator of thousands removed from",
}
#: What parts thousands.
SEPARATOR = re.compile(f"[, {_BLANKS}]")
_SERIES = re.compile(r"[\[(][\d.eE+\-\s,;]+[\])]")
_LIST = re.compile(r"\[?\s*[0-9]{1,3}(?:\s*[,;]\s*[0-9]{1,3})*\s*\]?")
#: `hh:mm` and `min:sec` in a header, and such a cell.
_TWO_PARTS = re.compile(r"(?<![\w:])(?:(h{1,2}|hours?)|m{1,2}|min):(?:m{1,2}|min|s{1,2}|sec)(?![\w:])")
_OF_TWO_PARTS = re.compile(r"\d+:[0-5]\d(?:\.\d+)?")
_GROUPS = re.compile(r"[+\-−]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_EUROPEAN_GROUPS = re.compile(r"[+\-−]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]*)?")


class Parts(Struct, frozen=True):
    """A cell taken apart; `extras` are the keys of what stands beside or in the number."""

    number: str
    unit: str = ""
    extras: tuple[str, ...] = ()


@lru_cache(maxsize=100_000)
def parts_of(text: str) -> Parts | None:
    """Take a cell apart; None where it is no number with what people write beside one.

    Examples
    --------
    >>> parts_of("406 ms +/- 2"), parts_of("47.29 GiB (74%)"), parts_of("8[^2126]")
    (Parts(number='406', unit='ms', extras=('±',)), Parts(number='47.29', unit='GiB', extras=('second value',)), \
Parts(number='8', unit='', extras=('footnote',)))
    >>> parts_of("180/s").unit, parts_of("**1,000**").number, parts_of("12.5k tok/s").unit
    ('/s', '1,000', 'k tok/s')
    >>> parts_of("A100 80GB") is None, parts_of("2x V100") is None
    (True, True)
    """
    match = _CELL.fullmatch(text)
    if match is None or (match["first"] and match["unit"] and match["first"] not in MULTIPLES):
        return None
    second = match["second"] or ""
    note = bool(match["note"]) or bool(re.fullmatch(r"\s*\[\d+\]", second) and "." not in second)
    number = match["number"]
    there = (match["spread"], second and not note, note, "−" in number, SEPARATOR.search(number))
    # `12.5k tok/s`: a multiple of a unit.
    unit = " ".join(filter(None, (match["first"], match["unit"])))
    return Parts(number, match["before"] or unit, tuple(itertools.compress(_EXTRAS, there)))


def parsed_column(
    name: str,
    cells: Sequence[Any],
    delimiter: str = "",
    unit: str | None = None,
    comma: bool = False,
    points: bool = False,
) -> tuple[Objects, str, tuple[Note, ...]] | None:
    """Read the cells of a column as numbers where more than half can be, all in one unit; None where they are plain.

    Returned are the numbers, the text where a cell is none, their unit and what was done.

    Parameters
    ----------
    delimiter : str
        Between the columns of the file: one of another kind leaves the comma to decimals.
    unit : str, optional
        Of time, into which times are converted; by default that of the header, else seconds.
    comma : bool
        Whether the headers are of a language with a decimal comma: `1,904` is 1.904 where no cell shows otherwise.
    points : bool
        Whether another column shows that points part thousands: `1.904` is 1904 where all cells can be so.

    Examples
    --------
    >>> cells, unit, steps = parsed_column("Tiempo", ["691931 microsegundos", "0.5 s"])
    >>> cells.tolist(), unit, [str(step) for step in steps]
    ([0.691931, 0.5], 's', ["2 cells: 'microsegundos' and 's' of 'Tiempo' converted to 's'"])
    """
    unique = Counter(cell.strip() for cell in cells if isinstance(cell, str))
    missing = {*MISSING, ""}
    grouped = [text for text in unique if "." in text]
    points = points and bool(grouped) and all(map(_EUROPEAN_GROUPS.fullmatch, grouped))
    plain_cells = all_plain(list(unique)) is not None and not points
    odd = (
        grouped
        if points
        else []
        if plain_cells
        else [t for t in unique if not is_number(t) and t.lower() not in missing]
    )
    if not odd:
        return None
    values, shown_unit = _lists(unique), ""
    lists = values is not None
    if values is not None:
        total = counted(sum(unique[text] for text in values), "cell")
        steps: tuple[Note, ...] = (step(f"{total}: lists of '{name}' replaced by how many they name"),)
    else:
        parts_by_text = {text: text_parts for text in unique if (text_parts := parts_of(text)) is not None}
        # A clock with a part of a second is no time of day.
        seconds = zip(odd, seconds_of(odd), strict=True)
        medians = {t: value for t in odd if not t.isdecimal() and "." in t and (value := median_of(t)) is not None}
        durations = {t: v for t, v in seconds if not isinstance(v, str) and (":" not in t or re.search(r"\.\d", t))}
        durations |= _clock_of(name, odd)
        numbers = sum(bool(label(cell)) for cell in cells if not isinstance(cell, str))
        present = sum(n for text, n in unique.items() if text.lower() not in missing)
        if 2 * (numbers + sum(unique[t] for t in {**parts_by_text, **durations, **medians})) <= numbers + present:
            return None
        plain = {text: text_parts for text, text_parts in parts_by_text.items() if text not in durations}
        sign = points or _decimal_sign([text_parts.number for text_parts in plain.values()], delimiter, comma)
        header = header_of(name)
        of_durations = header.unit if header.kind == "time" and header.unit in ("h", "min") else "s"
        converted = None if sign is None else _converted(name, plain, unique, of_durations if durations else unit, sign)
        if converted is None or (durations and converted[1] not in (of_durations, "")):
            return None
        values, shown_unit, steps = converted
        if medians:
            values = {**values, **medians}
            steps = (*steps, step(f"{counted(len(medians), 'list')} of '{name}' replaced by the median"))
        if points:
            steps = (*steps, step(f"points between thousands removed from '{name}'"))
        if durations:
            shown_unit = of_durations
            values |= {text: value / SECONDS_IN[shown_unit][0] for text, value in durations.items()}
            total = counted(sum(unique[t] for t in durations), "cell")
            steps = (*steps, step(f"{total}: hours, minutes and seconds of '{name}' converted to '{shown_unit}'"))
    if not steps:
        return None
    out = np.empty(len(cells), dtype=object)
    out[:] = [values.get(cell.strip(), cell) if isinstance(cell, str) else 1.0 if lists else cell for cell in cells]
    return out, shown_unit, steps


def _converted(
    name: str, known: dict[str, Parts], unique: Counter[str], unit: str | None, comma: bool
) -> tuple[dict[str, float], str, tuple[Note, ...]] | None:
    """Return the numbers by cell in one unit, the unit and the report; None where the cells are of several kinds."""
    units = Counter[str]()
    for text, text_parts in known.items():
        units[text_parts.unit] += unique[text]
    named = [u for u in units if u]
    multiples = all(u in MULTIPLES for u in named) and not any(re.search(r"\s", t) for t in known)
    sizes = {u: ("", MULTIPLES.get(u, 1.0), 1.0) if multiples or not u else unit_of(u) for u in units}
    kinds = {sizes[u][0] for u in named} or {""}
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    if kind not in ("", "s") and "" in units and header_of(name).kind == "time":
        return None  # a stray letter beside one number of a time is no unit of all
    target, over, under = _target(name, units, kind, unit)
    if kind and "" in units and any(sizes[u][1:] != (over, under) or is_other_word(u) for u in named):
        return None  # whether a plain number beside '5 ms' is in ms or s is not known
    values = {}
    for text, text_parts in known.items():
        plain = re.sub(f"[ {_BLANKS}]", "", text_parts.number).replace("−", "-")
        plain = plain.replace(".", "").replace(",", ".") if comma else plain.replace(",", "")
        value, (_, large, small) = number_in(plain), sizes[text_parts.unit]
        if value != value:
            return None
        converted = text_parts.unit and (large, small) != (over, under)
        values[text] = value * (large * under) / (small * over) if converted else value
    return values, target, _steps(name, known, unique, target, comma)


def _target(name: str, units: Counter[str], kind: str, unit: str | None) -> tuple[str, float, float]:
    """Return the unit that the cells of a column are converted to, with its size."""
    if not kind:
        return "", 1.0, 1.0
    if kind == "s":
        header, spelled = header_of(name), {canonical_time(u) for u in units if u}
        # Of cells in one unit that is the column's, unless its header or the user names another.
        alone = next(iter(spelled)) if len(spelled) == 1 and "" not in units else None
        by_name = header.unit if header.kind == "time" and header.unit != "s" else ""
        target = canonical_time(unit or by_name) or alone or "s"
    else:
        target = header_of(name).unit
        if unit_of(target)[0] != kind:
            target = max((u for u in units if u), key=lambda u: units[u])
            target = kind if unit_of(target)[1:] == (1.0, 1.0) or " " in target else target
    return (target, *unit_of(target)[1:])


def _decimal_sign(tokens: Sequence[str], delimiter: str, comma: bool) -> bool | None:
    """Return whether the comma is the decimal sign; None where the numbers contradict or may be either."""
    if any(t.count(".") > 1 or -1 < t.rfind(".") < t.rfind(",") for t in tokens):
        groups = [t for t in tokens if "." in t or t.count(",") > 1]
        return all(map(_EUROPEAN_GROUPS.fullmatch, groups)) or None
    with_comma = [t for t in tokens if "," in t]
    no_decimals = any("." in t or t.count(",") > 1 for t in tokens)
    if not all(map(_GROUPS.fullmatch, with_comma)):
        return None if no_decimals else True
    if not with_comma or no_decimals:
        return False
    return comma or (None if delimiter == ";" else False)


def _steps(name: str, known: dict[str, Parts], unique: Counter[str], target: str, comma: bool) -> tuple[Note, ...]:
    """Report what was taken out of the cells of a column, a line for each kind."""
    made, taken = [], Counter[str]()
    for text, p in known.items():
        taken.update(dict.fromkeys((*p.extras, *(["unit"] if p.unit else [])), unique[text]))
    if taken["unit"]:
        count = counted(taken["unit"], "cell")
        unit, *further_units = spelled = list(dict.fromkeys(p.unit for p in known.values() if p.unit))
        units_text = " and ".join(f"'{u}'" for u in spelled)
        if target in (unit, unit_of(unit)[0]) and not further_units and unit_of(target) == unit_of(unit):
            made.append(f"{count}: unit {units_text} removed from '{name}'")
        elif target:
            made.append(f"{count}: {units_text} of '{name}' converted to '{target}'")
        else:
            made.append(f"{count}: {units_text} of '{name}' written out as thousands, millions or billions")
    for extra, words in _EXTRAS.items():
        if taken[extra]:
            words = "decimal comma read in" if comma and extra == "," else words
            made.append(f"{counted(taken[extra], 'cell')}: {words} '{name}'")
    return tuple(map(step, made))


def is_european(cell: Any) -> bool:
    """Tell whether a cell shows that points part thousands, and a comma decimals: `1.904,5`."""
    return (
        isinstance(cell, str) and "," in cell and "." in cell and _EUROPEAN_GROUPS.fullmatch(cell.strip()) is not None
    )


def median_of(text: str) -> float | None:
    """Return the median of numbers that are listed in brackets: the steps of one run."""
    listed = text.strip("[()]").replace(";", ",").split(",") if _SERIES.fullmatch(text) else []
    numbers = [number_in(number.strip()) for number in listed]
    return statistics.median(numbers) if len(numbers) > 1 and all(map(math.isfinite, numbers)) else None


def _clock_of(name: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the seconds of `41:10`, where the header, or `1:05:30` beside it, says what stands before the colon."""
    match, header = _TWO_PARTS.search(name.lower()), header_of(name)
    whole = {text: value for text, value in zip(texts, seconds_of(texts), strict=True) if not isinstance(value, str)}
    if match is not None:
        size = 3600.0 if match[1] else 60.0
    elif header.kind == "time" and (whole or header.unit in ("h", "min")):
        size = 3600.0 if header.unit == "h" and not whole else 60.0
    else:
        return {}
    pairs = {text: text.partition(":") for text in texts if _OF_TWO_PARTS.fullmatch(text)}
    seconds = {text: size * float(first) + size / 60.0 * float(second) for text, (first, _, second) in pairs.items()}
    return seconds | whole if match is None and (seconds or header.unit in ("h", "min")) else seconds


def lists_devices(text: str) -> bool:
    """Tell whether a text lists devices by number."""
    listed = [int(n) for n in re.findall(r"\d+", text)] if _LIST.fullmatch(text) else []
    return len(listed) > 1 and listed == sorted({*listed}) and listed[-1] - listed[0] < 2 * len(listed)


def _lists(unique: Counter[str]) -> dict[str, float] | None:
    """Return how many devices each cell lists, where a column lists them by number: `0`, `0,1`, `0,1,2`."""
    filled = [text for text in unique if text and text.lower() not in MISSING]
    lists = [[int(n) for n in re.findall(r"\d+", text)] for text in filled if _LIST.fullmatch(text)]
    if len(lists) < len(filled) or max(map(len, lists), default=0) < 2:
        return None
    rising = all(numbers == sorted(set(numbers)) for numbers in lists)
    # 0,1 alone may be a decimal: a list of three, or two that begin with device 0, shows that it is none.
    certain = any(len(numbers) > 2 and max(numbers) - min(numbers) < 2 * len(numbers) for numbers in lists)
    certain = certain or all(text.startswith("[") for text in filled)
    return {t: float(len(numbers)) for t, numbers in zip(filled, lists, strict=True)} if rising and certain else None
