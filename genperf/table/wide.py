"""Wide to long: headers that hold counts of one word, or repeats of one measurement, become rows."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.errors import counted, listed
from genperf.table.cells import Source, step
from genperf.table.clean import filled, labels, number_in
from genperf.table.parsed import parts_of
from genperf.vocabulary import any_of, words_of
from genperf.vocabulary.headers import canonical_time, header_of


@dataclass(frozen=True)
class WideSettings:
    """Which headers are taken for counts or repeats."""

    #: Median spread of a row's values, relative to their mean, up to which columns without such a word are
    #: repeats. A guess: counts differ by more, clusters' noise by less.
    scatter: float = 0.15
    #: Numbers in this range are years where all are.
    years: tuple[int, int] = (1900, 2100)


WIDE = WideSettings()
_REPEAT = re.compile(rf"(?<![^\W\d_]){any_of('headers.run_of_several')}s?(?![^\W\d_])", re.IGNORECASE)
_MEASURED = frozenset(words_of("headers.measured"))
_JOINS = rf"(?:{any_of('headers.preposition')}|@)"
_ORDINAL = r"(?:st|nd|rd|th|nda|era|ra|da|ta|er|ere|ère|eme|ème|ª|º|°|\.)"
_WORD = r"[^\W\d_]+"
#: `4 GPUs`, `16nodes`, `n=8`, `nodes_4`, `time @ 4 ranks`, `T(8)`.
_BEFORE = re.compile(rf"(?<![\w.])(?P<number>\d+)\s*[-_]?\s*(?:x\s+|×\s*)?(?P<word>{_WORD})(?![\w.])")
_AFTER = re.compile(rf"(?<![^\W_])(?P<word>{_WORD})(?P<joint>\s*[=:]\s*|[\s_\-]*|\()(?P<number>\d+)(?![\w.])\)?")
#: What is in the place of the number where a header has none beside it.
_VALUE, _COUNT, _RUN = "value", "count", "repeat"


@dataclass(frozen=True)
class Wide:
    """Columns that measure one thing at several counts, or several times."""

    count: str
    value: str
    columns: Mapping[str, int]
    repeated: bool = False


def melted(source: Source, named: Collection[str]) -> Source:
    """Return a table in its long form; as it is where its headers hold no counts and no repeats.

    Where the user named columns, the form changes only if one of them exists only in the other.

    Examples
    --------
    >>> from genperf.table.cells import source_of
    >>> rows = [["a", "10", "38"], ["b", "20", "—"]]
    >>> long = melted(source_of("runs.csv", ["net", "1 GPU", "4 GPUs"], rows, [2, 3]), ())
    >>> {name: cells.tolist() for name, cells in long.cells.items()}, long.lines
    ({'net': ['a', 'a', 'b'], 'GPUs': [1, 4, 1], 'value': ['10', '38', '20']}, array([2, 2, 3]))
    """
    families = _families(source.columns)
    melting = [column for family in families for column in sorted(family.columns, key=family.columns.__getitem__)]
    made = {name for family in families for name in (family.count, family.value)}
    if not families or (named and (not (made - {*source.columns}) & {*named} or {*melting} & {*named})):
        return source
    count, repeated = families[0].count, families[0].repeated
    numbers = sorted({n for family in families for n in family.columns.values()})
    height = len(source)
    long = source.take(np.repeat(np.arange(height), len(numbers)))
    cells = {name: column.astype(object) for name, column in long.columns.items() if name not in melting}
    cells[count] = np.array(numbers * height, dtype=object)
    headers, measured = {}, np.zeros(len(long), dtype=bool)
    for family in families:
        at = {number: column for column, number in family.columns.items()}
        beside = [source.columns[at[n]] if n in at else np.full(height, "", dtype=object) for n in numbers]
        cells[family.value] = np.array(beside, dtype=object).T.reshape(-1)
        headers[family.value] = np.array([at.get(n, "") for n in numbers] * height, dtype=object)
        measured |= filled(cells[family.value])
    shown = listed([f"'{column}'" for column in melting], 4)
    values = " and ".join(f"'{family.value}'" for family in families)
    text = f"{counted(len(melting), 'column')}: {shown} became rows of {values} with '{count}'"
    text += ", the repeat" if repeated else ""
    text += "" if measured.all() else f"; {counted(int((~measured).sum()), 'empty cell')} left out"
    long = replace(long, cells=cells, headers=headers, steps=(*source.steps, step(text)), idle=())
    long = long.take(np.flatnonzero(measured))
    return _spread(long, families[0]) if len(families) == 1 and not repeated else long


def _spread(long: Source, family: Wide) -> Source:
    """Turn rows of several quantities into a column each, where one column names the quantities of a single value."""
    kept = {name: labels(cells) for name, cells in long.cells.items() if name not in (family.count, family.value)}
    named = [name for name, texts in kept.items() if len({*texts}) > 1 and _name_quantities({*texts})]
    if len(named) != 1:
        return long
    (name,) = named
    quantity = kept.pop(name)
    keys = list(zip(*kept.values(), long.cells[family.count], strict=True))
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    place = np.array([places[key] for key in keys])
    levels = list(dict.fromkeys(quantity))
    if len(set(zip(keys, quantity, strict=True))) < len(keys) or {*levels} & {*kept, name, family.count}:
        return long
    wide = long.take(np.unique(place, return_index=True)[1])
    count = name if family.count == _COUNT and name not in ("", "column 1") else family.count
    cells = {n: wide.cells[n] for n in kept} | {count: wide.cells[family.count]}
    headers: dict[str, npt.NDArray[np.object_]] = {}
    for level in levels:
        for columns, values in ((cells, long.cells), (headers, long.headers)):
            columns[level] = np.full(len(wide), "", dtype=object)
            columns[level][place[quantity == level]] = values[family.value][quantity == level]
    shown = listed([f"'{level}'" for level in levels], 4)
    text = f"{counted(len(levels), 'name')} of values in '{name}' became columns: {shown}"
    return replace(wide, cells=cells, headers=headers, steps=(*long.steps, step(text)))


def _name_quantities(levels: set[str]) -> bool:
    """Tell whether most texts of a column are headers of times, rates or other quantities."""
    return 2 * sum(bool(header_of(level).kind) for level in levels) > len(levels) and "" not in levels


def _families(cells: Mapping[str, npt.NDArray[Any]]) -> list[Wide]:
    """Return the columns that differ by a number alone and belong together: values at the same counts, or repeats."""
    alike: dict[tuple[str, str, str], dict[str, tuple[int, str]]] = {}
    for name in cells:
        if (reading := _reading(name)) is not None:
            kind, word, value, number = reading
            alike.setdefault((kind, _stem(word), value), {})[name] = number, word
    candidates = []
    for (kind, stem, value), columns in alike.items():
        numbers, measured = [number for number, _ in columns.values()], [cells[c] for c in columns]
        if not 1 < len(numbers) == len(set(numbers)) or not _numeric(measured):
            continue
        repeated = _are_repeats(kind, stem, numbers, measured)
        if repeated or _are_counts(kind, stem, numbers):
            spelled = max((word for _, word in columns.values()), key=len)
            count = _RUN if repeated else spelled or _COUNT
            candidates.append(Wide(count, _value_name(value), {c: n for c, (n, _) in columns.items()}, repeated))
    chosen: list[Wide] = []
    for wide in sorted(candidates, key=lambda wide: -len(wide.columns)):
        same = not chosen or (wide.count, wide.repeated) == (chosen[0].count, chosen[0].repeated)
        taken = {name for other in chosen for name in (*other.columns, other.value)}
        if same and not {wide.count, wide.value} & {*cells} and not taken & {*wide.columns, wide.value}:
            chosen.append(wide)
    return chosen


def _reading(name: str) -> tuple[str, str, str, int] | None:
    """Return how a header is read: kind, the word that is counted, what is measured, the number; None without one."""
    if name.strip().isdecimal() and name.strip().isascii():
        return "bare", "", "", int(name)
    if (match := re.fullmatch(r"\s*(\d+)\s*[x×]\s*([^\W\d_].*)", name)) is not None:
        return "before", "", _tidy(match[2]), int(match[1])
    if (match := re.search(rf"(?<!\w)#?(\d+){_ORDINAL}(?!\w)", name, re.IGNORECASE)) is not None:
        rest = _REPEAT.sub(" ", name[: match.start()] + " " + name[match.end() :])
        return "ordinal", "", _tidy(rest), int(match[1])
    for kind, pattern in (("before", _BEFORE), ("after", _AFTER)):
        if len(matches := list(pattern.finditer(name))) == 1:
            (match,) = matches
            rest, word, number = (
                _tidy(f"{name[: match.start()]} {name[match.end() :]}"),
                match["word"],
                int(match["number"]),
            )
            if kind == "after" and _stem(word) in _MEASURED:
                return "measured", "", f"{word} {rest}".strip(), number
            given = kind == "after" and re.search("[=:(]", match["joint"])
            return "given" if given else kind, word, rest, number
    return None


def _value_name(rest: str) -> str:
    """Return the name of what is measured; a unit alone in brackets is that of a time or of an unnamed value."""
    unit = re.fullmatch(r"[(\[](.+)[)\]]", rest)
    if unit is None:
        return rest or _VALUE
    return f"{'time' if canonical_time(unit[1]) else _VALUE} ({unit[1]})"


def _are_repeats(kind: str, stem: str, numbers: Sequence[int], columns: Sequence[npt.NDArray[Any]]) -> bool:
    """Tell whether columns are one measurement made again: by a word for a run, or by how little the values differ."""
    if sorted(numbers) not in (list(range(len(numbers))), list(range(1, len(numbers) + 1))):
        return bool(stem and kind == "after" and _REPEAT.fullmatch(stem))
    if kind == "ordinal" or (kind in ("after", "given") and _REPEAT.fullmatch(stem)):
        return True
    if kind != "measured" or len(numbers) < 3:
        return False
    values = np.array([[_float(cell) for cell in column] for column in columns])
    rows = values[:, np.all(np.isfinite(values) & (values > 0.0), axis=0)]
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = rows.std(axis=0) / rows.mean(axis=0)
    return bool(rows.size) and bool(np.median(spreads) < WIDE.scatter)


def _are_counts(kind: str, stem: str, numbers: Sequence[int]) -> bool:
    """Tell whether the numbers of some headers are counts of one thing: each a multiple of the first, and no years."""
    (low, high), smallest = WIDE.years, min(numbers)
    if smallest < 1 or all(low <= n <= high for n in numbers):
        return False
    multiples = all(n % smallest == 0 for n in numbers)
    if kind == "bare":
        return len(numbers) > 2 and multiples
    if kind in ("after", "measured"):
        # layer1, layer2 and top5 are names; the counts of a series are several and grow by a factor.
        return multiples and max(numbers) > len(numbers) > 2 and not (len(stem) == 1 and smallest > 1)
    return kind != "ordinal" and (len(stem) > 1 or multiples)


def _stem(word: str) -> str:
    small = word.lower()
    return small[:-1] if len(small) > 2 and small.endswith("s") and not small.endswith("ss") else small


def _tidy(text: str) -> str:
    """Return what is left of a header: without the words and signs that only joined its number."""
    text = re.sub(rf"\s+{_JOINS}\s*$|^\s*{_JOINS}\s+", "", text.strip(), flags=re.IGNORECASE)
    text = re.sub(r"\(\s*\)|\[\s*\]", "", text).strip(" _-@,:;/|#=")
    return re.sub(r"\s+", " ", text)


def _numeric(columns: Sequence[npt.NDArray[Any]]) -> bool:
    """Tell whether most cells of some columns are numbers, perhaps with a unit; of each at least one."""
    held = [cells[filled(cells)] for cells in columns]
    numbers = [sum(value == value for value in map(_float, cells)) for cells in held]
    enough = 2 * sum(numbers) > sum(map(len, held))
    return enough and all(number or not len(cells) for number, cells in zip(numbers, held, strict=True))


def _float(cell: Any) -> float:
    """Return the number in a cell, perhaps beside a unit; NaN where there is none."""
    number = number_in(cell)
    if number == number or not isinstance(cell, str):
        return number
    parts = parts_of(cell.strip())
    return number_in(parts.number.replace(",", "")) if parts is not None else number
