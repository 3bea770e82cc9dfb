"""The shape of a table: counts and repeats in headers become rows, counts inside names become columns beside them.

Headers: `1 GPU | 4 GPUs`, `run 1 | run 2`. Names: `8x A100 80GB`, `n=8, m=32`, `pipeline-4`, `8_worker_4_cores.txt`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Objects
from genperf.errors import counted, listed
from genperf.formula.amounts import amount
from genperf.table.cells import MOST_NAMES, SEPARATOR, Cells, Names, Source, Taken, parts_of, step
from genperf.table.clean import filled, is_number, labels, mostly_numbers, number_in, seconds_of
from genperf.table.facts import FEWEST_CHIPS, MOST_OF_A_NODE, PATHS, SLICE, chips_of, spelled_in_digits
from genperf.vocabulary import any_of, late, words_of
from genperf.vocabulary.headers import MULTIPLES, STATISTIC, canonical_time, header_of, is_price
from genperf.vocabulary.names import (
    LEVELS,
    LOAD_IN_WORDS,
    PHASES,
    WAYS,
    canonical_of,
    column_of,
    counts_devices,
    counts_scale,
    is_relative,
    meant_by,
    noun_of,
    plain_name,
    words_in,
)

#: Median spread of the values of a row over their mean, up to which columns without a word for a run are repeats.
#: A guess: counts differ by more, clusters' noise by less.
SCATTER = 0.15
#: The relative rounding of the mean of repeats.
ROUNDING = 0.005
#: The exponent by which a rate that a device prints grows with their number, from which on it is that of all.
OF_ALL = 0.5
#: `gpu0`, `rank 3`, or the number of a device alone.
_OF_A_DEVICE = late(r"([^\W\d_]*)[\s_\-]?(\d+)")
#: The kind of a name that holds a count alone, beside names with a word: no empty cell, which would be a missing one.
NO_KIND = "(none)"
#: Names for each one with a multiple, `2x A100`, from which on it belongs to the name.
FEW_MULTIPLES = 20
#: Numbers in this range are years where all are.
YEARS = (1900, 2100)
_REPEAT = late(rf"(?<![^\W\d_]){any_of('headers.run_of_several')}s?(?![^\W\d_])", re.IGNORECASE)
_ONE = late(rf"(?<!\w){any_of('headers.one')}(?=[^\W\d_])", re.IGNORECASE)
_SERIAL = late(rf"(?<![^\W_]){any_of('headers.serial')}(?![^\W_])|^single$", re.IGNORECASE)
_JOINS = rf"(?:{any_of('headers.preposition')}|@)"
_NUMBER_OF = any_of("headers.number_of").replace("_", r"[\s_]")
_ORDINAL = r"(?:st|nd|rd|th|nda|era|ra|da|ta|er|ere|ère|eme|ème|ª|º|°|\.)"
_WORD = r"[^\W\d_]+"
#: `4 GPUs`, `16nodes`, `n=8`, `nodes_4`, `time @ 4 ranks`, `T(8)`.
_BEFORE = late(rf"(?<![^\W_])(?<!\.)(?P<number>\d+)\s*[-_]?\s*(?:x\s+|×\s*)?(?P<word>{_WORD})(?![\w.])")
_AFTER = late(rf"(?<![^\W_])(?P<word>{_WORD})(?P<joint>\s*[=:]\s*|[\s_\-]*|\()(?P<number>\d+)(?![\w.])\)?")
#: `Top-1 Acc`, whose number counts neither: what was learned, before a number or with it.
_LEARNED = late(any_of("columns.learned"), re.IGNORECASE)
#: What is in the place of the number where a header has none beside it.
VALUE, _COUNT, _RUN, _MODEL, _DEVICE = "value", "count", "repeat", "model", "device"
_PAIR = late(r"(?<![\w.])(?P<word>[^\W\d]\w*)\s*[=:]\s*(?P<number>[+-]?\d+(?:\.\d+)?)(?![\w.])")
#: What says that a number before it is of each device.
_EACH = late(r"(?<=\d)\s+(?:each|per\s+[^\W\d_]+)(?![^\W_])", re.IGNORECASE)
_KIND = rf"(?={any_of('cells.kinds_of_devices')}s?(?![^\W_]))"
#: `8x A100`, `llama_8xA100`, `8h100`, `A100 x 8`, `V100*8`, `A100 (8x)`; before a blank only at the start: `8 P100s`.
_MULTIPLE = late(
    rf"(?:^|(?<=[\s(_\-/]))(\d+)(?:\s*[x×*]\s*(?=[^\W\d_])|{_KIND})|^(\d+)\s{_KIND}"
    r"|(?:(?<=\w)\s+|(?<=[a-z]\d{2})|(?<=[a-z]\d{3}))[x×*]\s?(\d+)(?!\w)|\((\d+) ?[x×]\)",
    re.IGNORECASE,
)
_MACHINE = late(any_of("cells.kinds_of_machines"), re.IGNORECASE)
_KIND_OF_DEVICE = late(_KIND, re.IGNORECASE)
#: Nodes × devices of each, alone or before the name of the device: `2x8 A100`.
_GRID = late(r"(\d+)\s*[x×*]\s*(\d+)(?:\s*[\sx×*]\s*(\S*[A-Z].*))?")
#: `3x8 GPU` of a header, of as many as both make.
_GRID_OF_DEVICES = late(rf"(\d+)\s?[x×*]\s?(\d+)(?=[\s_\-]*{any_of('cells.devices')}(?![^\W_]))", re.IGNORECASE)
_PLACED = late(
    rf"(?<![^\W_])(\d+)[\s_\-]?{any_of('cells.nodes')}[\s_\-]*(?P<by>[x×*]?),?[\s_\-]*"
    rf"(\d+)[\s_\-]?(?:c|{any_of('cells.devices')}|{any_of('cells.kinds_of_devices')}s?)(?![^\W_])",
    re.IGNORECASE,
)
#: `ddp_2x8`: the same without their words, beside another one.
_UNNAMED = late(r"(?<![^\W_])(\d+)x(\d+)(?![^\W_])")
#: `n2g8`, `N2C16`: the same in another order, where a letter may stand for cards.
_LETTERS_FIRST = late(r"(?<![^\W_])n(\d+)[_\-]?[gc](\d+)(?![^\W_])", re.IGNORECASE)
#: `8worker4pserver`
_GLUED = late(r"(?:\d+[^\W\d_]{3,}){2,}")
#: `9 (36 GPUs)`, `16 GPUs (2 nodes)`, `64 (8x8)`
_IN_BRACKETS = late(
    r"\s*(?P<count>\d+)[^()]*\(\s*(?P<number>\d+)\s*(?:(?P<word>[^\W\d_]{2,})|[x×]\s*(?P<each>\d+))\s*\)\s*"
)
_AT_END = late(r"\s*\(\s*\d+\s*[^\W\d_]+\s*\)\s*$")
#: A count before what is counted: `8xA100`, `2x8xH100`, `4 × V100`, `8 GPUs (NVLink)`.
COUNTED = late(
    rf"(?:\d+\s?[x×*]\s?)+(?=[A-Za-z])|\d+[\s_-]?(?={any_of('cells.nodes', 'cells.devices')}(?![^\W_]))", re.IGNORECASE
)
#: `卡` before what was measured on so many, and `1机` before them.
_HAN = any_of("log.counted_without_blank")
_WITHOUT_BLANK = late(rf"(?<=\d)(\s*{_HAN})(?=[^\W\d_])")
_ON_ONE_NODE = late(rf"(?<!\w)1\s*{any_of('cells.nodes')}\s*(?=\d+\s*{_HAN})")
_FILE_END = late(r"\.(?:txt|log|out|csv|json|dat|err|yaml|yml)$", re.IGNORECASE)
#: `4 cores`, `8_worker`, `064x`, before the word; `pipeline-4`, `nodes_8`, `worker16`, `v3-32` behind it, but `DGX-2`.
_NUMBER_FIRST = late(r"(?<![^\W_])(?<!\d\.)(?P<number>\d+)[\s_\-]?(?P<word>(?!xlarge)[^\W\d_]+)(?![^\W_])")
_WORD_FIRST = late(
    rf"(?<![^\W_])(?!(?i:{any_of('cells.kinds_of_machines')}))(?P<word>[^\W\d_]+(?:\d+[^\W\d_]?(?=[-_]\d))?)"
    r"(?:[\s_\-]+|(?<=[^\W\d_]{3}))(?P<number>\d+)(?!\.\d|[^\W_])"
)
#: `L20`, `p16` between signs that part a name; `A10` and `V100` alone are names of devices.
_LETTER_FIRST = late(r"(?<![^\W_])(?!\A[A-Z]+\d+\Z)(?P<word>[^\W\d_]{1,2})(?P<number>\d+)(?!\.\d|[^\W_])")
#: A word that a sign parts from the number behind it.
_PARTED = late(r"[^\W\d_][\s_\-]+\d")
#: `2026-05-01_14-22-33`, `20260501-142233`: when a run began.
_MOMENT = late(r"(?<!\d)(?:19|20)\d\d([-_.]?)\d\d\1\d\d(?:[-_T ]+\d\d([-_.:]?)\d\d\2\d\d)?(?!\d)")
#: The column of the sizes of networks, `gpt-6.7b` and `opt-125m`, and these in names.
PARAMETERS = "parameters"
_OF_PARAMETERS = late(r"(?<![^\W_])(\d+(?:\.\d+)?)([bm])(?![^\W_])", re.IGNORECASE)
_LAST_NUMBER = late(r"[\s_\-]+(\d+)$")
#: `-v2`
_VERSION = late(r"[\s_\-]+v(\d+)$")
#: `4711023`, `job8123`: the number of a job, where it differs in every name; and a number that is no word's: `n4-900`.
_OF_A_JOB, _WORDLESS = late(r"(?<!\d)(?<!\d\.)\d{4,}(?!\d|\.\d)"), late(r"(?<![^\W_])\d+(?![^\W_])")


_COPY = late(r"(.*[^\W\d].*)\.(\d{1,2})")
#: The column of the variants that headers name, which is made where a user names it.
VARIANT = "variant"
#: The column of the batch of a chip, where that of a core is told.
_BATCH_OF_A_CHIP = "batch per chip"
#: The column of the titles of several tables of the same columns.
TITLES = "table"


class Wide(Struct, frozen=True):
    """Columns that measure one thing at several counts, or several times."""

    count: str
    value: str
    columns: Mapping[str, int]
    repeated: bool = False


#: A header with a number, and a unit behind it, and how long it is at most: longer ones are sentences.
LONGEST_WITH_UNIT = 60
_WITH_UNIT = late(r"(?P<count>[^()\[\]]*\d[^()\[\]]*?)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]")


def melted(source: Source) -> Source:
    """Return a table in its long form; as it is where its headers hold no counts and no repeats."""
    short = (name for name in source.columns if len(name) <= LONGEST_WITH_UNIT)
    counting = {name: of for name in short if (of := _WITH_UNIT.fullmatch(name)) is not None}
    stated = [of for of in counting.values() if header_of(f"x ({of['unit']})").kind]
    if len(stated) == len(counting) == 1:
        # `1 GPU (img/s)` beside `2 GPUs`, `4 GPUs`: the unit is theirs as well.
        ((first, of),) = counting.items()
        texts = {name: re.sub(r"\d+", "#", name).rstrip("s") for name in (*source.columns, of["count"])}
        alike = [n for n in source.columns if n != first and texts[n] == texts[of["count"]]]
        units = {**source.units, **dict.fromkeys((of["count"], *alike), of["unit"])}
        source = replace(source.renamed({first: of["count"]}), units=units) if alike else source
    if any(map(_OF_A_MODEL.fullmatch, source.columns)):
        source = _with_models(source)
    elif any(alone.fullmatch(name) for alone in _NAMED_ALONE.values() for name in source.columns):
        source = _with_names(source)
    families = _families(source.columns)
    if families and families[0].repeated:
        source = _without_summaries(source, families)
    if not families:
        return _with_columns_of_quantities(_melted_names(source))
    corner = next(iter(source.columns))
    below, beside = _parted_corner(corner)
    if beside and meant_by(families[0].count) not in LEVELS and not families[0].repeated:
        # `N\\P | 1 | 2 | 4`: sizes below, and counts beside it.
        source, families = source.renamed({corner: below}), [replace(f, count=beside) for f in families]
        corner = below
    names = labels(source.columns[corner]).tolist()
    names_counts = (
        counts_scale(corner)
        or canonical_of(corner) is not None
        or LOAD_IN_WORDS.fullmatch(plain_name(corner)) is not None
    )
    of_headers = families[0].count == _COUNT and names_counts and "name" not in source.columns
    if of_headers and not mostly_numbers(names) and not any(header_of(name).kind for name in names):
        # `GPUs | 1 | 2 | 4` above named rows: the corner names the headers.
        source = source.renamed({corner: "name"})
        families = [replace(family, count=corner) for family in families]
    count, repeated = families[0].count, families[0].repeated
    counts = sorted({n for family in families for n in family.columns.values()})
    values = {family.value: {n: c for c, n in family.columns.items()} for family in families}
    long = _stacked(source, count, counts, values, ", the repeat" if repeated else "")
    in_brackets = {} if repeated else counts_beside(count, long.headers[families[0].value].tolist())
    long = replace(long, cells={**in_brackets, **long.cells})
    return _spread(long, count, families[0].value) if len(families) == 1 and not repeated else long


def _without_summaries(source: Source, families: Sequence[Wide]) -> Source:
    """Leave out what lies between the repeats beside it in every row, and has no unit of its own: their mean."""
    of_repeats = {column for family in families for column in family.columns}
    columns = {n: np.array([*map(_float, cells)]) for n, cells in source.columns.items() if canonical_of(n) is None}
    repeats = np.array([columns[n] for n in of_repeats if n in columns])
    if len(source) < 2 or len(families) > 1 or len(repeats) < len(of_repeats):
        return source
    least, most = repeats.min(axis=0) * (1.0 - ROUNDING), repeats.max(axis=0) * (1.0 + ROUNDING)
    summaries = [n for n, v in columns.items() if n not in of_repeats and np.all((least <= v) & (v <= most))]
    text = f"{listed([*map(repr, summaries)])} left out: the repeats beside it say it"
    return source.without(summaries).changed(text) if summaries else source


#: `7B`, `Llama-13B (img/s)`, `time (s) 350M`: what stands before the size of a network, that, and a unit behind it.
_OF_A_MODEL = late(r"(.*?)(?<![^\W_])(\d{1,3}(?:\.\d+)?[BbMm])((?:\s*[(\[][^()\[\]]+[)\]])?)")


def _with_models(source: Source) -> Source:
    """Return a table whose headers are sizes of networks, of billions at least once, with a row for each."""
    sized = {name: match.groups() for name in source.columns if (match := _OF_A_MODEL.fullmatch(name)) is not None}
    values: dict[str, dict[str, str]] = {}
    for name, (rest, size, unit) in sized.items():
        # A time or a rate has its name before the size.
        is_value = bool(header_of(_tidy(rest)).kind)
        value, model = (_tidy(rest), size) if is_value else (_value_name(unit.strip()), name.removesuffix(unit))
        values.setdefault(value, {})[model] = name
    models, made = list(dict.fromkeys(m for of_value in values.values() for m in of_value)), {_MODEL, *values}
    are_models = len(models) > 1 and any(model[-1] in "Bb" for model in models)
    if not are_models or made & {*source.columns}:
        return source
    return _stacked(source, _MODEL, models, values) if _numeric([source.columns[name] for name in sized]) else source


#: `PyTorch`, `ResNet-50`, `vgg16`: a framework or a network, and nothing else, by the column that names such.
_NAMED_ALONE = {
    key: late(rf"(?i){any_of(words)}(?:[-_ ]?(?:v?\d+|large|base|lm))?(?: \D.*)?")
    for key, words in zip(
        ("framework", _MODEL, _DEVICE),
        ("cells.frameworks", "cells.networks", "cells.kinds_of_devices"),
        strict=True,
    )
}


def _with_names(source: Source) -> Source:
    """Return a table whose only results stand below frameworks, networks or devices, with a row for each of these."""
    # The first column may be what is scaled, `n`.
    numbers = {n: [*map(number_in, labels(cells).tolist())] for n, cells in source.columns.items()}
    unknown = [n for n in [*source.columns][1:] if canonical_of(n) is None or names_a_method(n, numbers)]
    unknown = [n for n in unknown if not counts_scale(n) or _NAMED_ALONE[_DEVICE].fullmatch(n)]
    names = [n for n in unknown if _numeric([source.columns[n]]) and not re.fullmatch(r"column ?\d+", n)]
    key = next((k for k, alone in _NAMED_ALONE.items() if sum(map(bool, map(alone.fullmatch, names))) > 1), "")
    # Beside a time or a rate they may be switches or versions.
    if not key or key in source.columns or any(header_of(name).kind for name in source.columns):
        return source
    return _stacked(source, key, names, {VALUE: dict(zip(names, names, strict=True))})


def with_variants(source: Source) -> Source:
    """Return a table with a row for each variant that its headers name; as it is where they name none."""
    variants = variants_of(source.columns)
    return _stacked(source, VARIANT, [*next(iter(variants.values()))], variants) if variants else source


def variants_of(columns: Mapping[str, Cells | Sequence[Any]]) -> dict[str, dict[str, str]]:
    """Return the variants of columns (`variants_in`), or those of numbers whose headers say nothing: `gpus,ring,tree`.

    There it is one number of each run, of which no other column is known to have a unit.
    """
    if (variants := variants_in(columns)) or VALUE in columns or any(header_of(name).kind for name in columns):
        return variants
    texts = {n: labels(cells).tolist() for n, cells in columns.items()}
    numbers = {n: [*map(number_in, cells)] for n, cells in texts.items() if mostly_numbers(cells)}
    varied = [n for n, values in numbers.items() if len({*values}) > 1]
    names = [n for n in varied if meant_by(n) is None or names_a_method(n, numbers)]
    is_one = len(numbers) == len(columns) and 1 < len(names) < len(varied)
    return {VALUE: dict(zip(names, names, strict=True))} if is_one else {}


#: Relative error of a rate that is written to three digits.
_ROUNDING = 0.006
#: What a column may count, and a method may be called.
METHODS = ("servers", "zero", *WAYS)


def names_a_method(name: str, numbers: Mapping[str, Sequence[float] | Array]) -> bool:
    """Tell whether `ps`, `fsdp` or `dp` is a method whose results stand below, and no number of servers or of ways.

    Most are fractions, or in every run more than any had workers; nodes may have more ways than there are nodes.
    """
    meaning = meant_by(name)
    if meaning not in METHODS:
        return False
    counting = [column for column in numbers if counts_scale(column)]
    counting = [n for n in counting if meant_by(n) == "workers"] if meaning in WAYS else counting
    counts = (max(numbers[column], default=np.inf) for column in counting)
    are_fractions = 2 * sum(bool(value % 1.0) for value in numbers[name]) > len(numbers[name])
    return are_fractions or (bool(counting) and min(numbers[name], default=0.0) > max(counts))


def variants_in(columns: Collection[str]) -> dict[str, dict[str, str]]:
    """Return what columns of one unit measure, with the column of each variant: their headers differ in its words.

    >>> variants_in(["GPUs", "PyTorch epoch (s)", "JAX epoch (s)"])
    {'epoch (s)': {'PyTorch': 'PyTorch epoch (s)', 'JAX': 'JAX epoch (s)'}}
    """
    # No prices, which are rates of money.
    measured = [name for name in columns if header_of(name).kind in ("time", "rate") and not is_price(name)]
    words_of_name = {name: re.split(r"[\s_]+", name) for name in measured}
    headers = {n: header_of(n) for n, words in words_of_name.items() if not any(map(STATISTIC.fullmatch, words))}
    values: dict[str, dict[str, str]] = {}
    for header in dict.fromkeys(headers.values()):
        alike = {name: words_of_name[name] for name, of_name in headers.items() if of_name == header}
        shared = set.intersection(*map(set, alike.values()))
        value = " ".join(word for word in next(iter(alike.values())) if word in shared)
        variants = {" ".join(w for w in words if w not in shared).strip("()[]"): n for n, words in alike.items()}
        values |= {value: variants} if value and "" not in variants and len(variants) == len(alike) > 1 else {}
    return values


def _stacked(
    source: Source, key: str, keys: Sequence[Any], values: Mapping[str, Mapping[Any, str]], remark: str = ""
) -> Source:
    """Return a table made long, a row for each of some keys; `values` has their wide columns by the new name."""
    melting = [column for of_value in values.values() for k in keys if (column := of_value.get(k)) is not None]
    height = len(source)
    long = source.take(np.repeat(np.arange(height), len(keys)))
    cells = {name: column.astype(object) for name, column in long.columns.items() if name not in melting}
    cells[key] = np.array([*keys] * height, dtype=object)
    headers, measured, empty = {}, np.zeros(len(long), dtype=bool), np.full(height, "", dtype=object)
    units = {name: unit for name, unit in source.units.items() if name not in melting}
    for value, columns in values.items():
        by_key = [source.columns[columns[k]] if k in columns else empty for k in keys]
        cells[value] = np.array(by_key, dtype=object).T.reshape(-1)
        headers[value] = np.array([columns.get(k, "") for k in keys] * height, dtype=object)
        measured |= filled(cells[value])
        of_value = [source.units.get(column, "") for column in columns.values()]
        units |= {value: of_value[0]} if of_value[0] and len({*of_value}) == 1 else {}
    column_list = listed([f"'{column}'" for column in melting], 4)
    text = f"{counted(len(melting), 'column')}: {column_list} became rows of "
    text += " and ".join(f"'{value}'" for value in values) + f" with '{key}'{remark}"
    text += "" if measured.all() else f"; {counted(int((~measured).sum()), 'empty cell')} left out"
    long = long.changed(text, cells=cells, headers=headers, units=units, idle=())
    return long.take(np.flatnonzero(measured))


#: Names of parts of a step: `backward`.
_PHASES = {word for words in PHASES.values() for word in words}


def _parted_corner(corner: str) -> tuple[str, str]:
    r"""Return what a corner says of the rows below it and of the headers beside it: `model \ nodes`, `size/threads`."""
    below, _, beside = (text.strip(" \\") for text in corner.partition("\\" if "\\" in corner else "/"))
    parts_names = "\\" in corner or counts_scale(beside)
    return (below, beside) if parts_names and below and beside else (corner, "")


def _melted_names(source: Source) -> Source:
    """Return a table in its long form where most of its headers are names that hold settings, such as `2S - 8GPU`."""
    # The titles of several tables stand before the corner.
    corner_header, *others = sorted(source.columns, key=lambda name: name == TITLES)
    if all(map(_MULTIPLE.search, source.columns)) or len({re.sub(r"\d+", "", name) for name in source.columns}) == 1:
        # `1x V100 | 4x V100`, `total 1x8 | total 2x8`: no column names the rows.
        corner_header, others = "", [corner_header, *others]
    name_headers = []
    for name in others:
        if re.search(r"\d", name) and not is_number(name) and not header_of(name).kind:
            starts = [re.match(r"[-+~]?[\d.]", text) is not None for text in labels(source.cells[name]) if text]
            name_headers += [name] if 2 * sum(starts) >= len(starts) else []
    # What stands in per cent beside results is none of them: `scaling @4 nodes`.
    shares = [n for n in name_headers if all(text.endswith("%") for text in labels(source.cells[n]) if text)]
    name_headers = [n for n in name_headers if n not in shares] or shares
    if len(name_headers) < 2 or 2 * len(name_headers) < len(others):
        return source
    corner, of_headers = _parted_corner(corner_header)
    if not of_headers and _fill_nodes([_GRID.fullmatch(name) for name in name_headers]):
        of_headers = words_of("columns.nodes_by_devices")[0]
    taken = names_of(of_headers or corner_header, name_headers)
    if taken is None or {*taken.columns} & {*source.cells}:
        return source
    if len(taken.columns) < 2 and not of_headers and not any(meant_by(word) in LEVELS for word in taken.columns):
        return source  # layer1, layer2
    if any((one := _OF_A_DEVICE.fullmatch(n)) and meant_by(one[1]) in LEVELS and one[2] == "0" for n in source.columns):
        return source  # gpu0, gpu1
    row_names = labels(source.cells.get(corner_header, [""])).tolist()
    of_quantities = any(row_names) and all(header_of(text).kind for text in row_names if text)
    (kind, *other_kinds) = {*taken.kind.values()}
    if not of_headers:
        # Rows that are quantities leave the corner to the headers.
        of_headers = corner if of_quantities else "" if other_kinds else kind
    of_headers = of_headers or "setting"
    row_header = "quantity" if of_quantities and of_headers == corner else corner
    source = source.renamed({corner_header: row_header})
    long = _stacked(source, of_headers, name_headers, {VALUE: {n: n for n in name_headers}})
    return _spread(long, of_headers, VALUE)


def _fill_nodes(grids: Sequence[re.Match[str] | None]) -> bool:
    """Tell whether pairs such as `1 x 4`, `1 x 8`, `2 x 8` are nodes and the devices of each: several are full."""
    pairs = [(int(grid[1]), int(grid[2])) for grid in grids if grid is not None]
    of_several = {devices for multiple, devices in pairs if multiple > 1}
    largest = max((devices for _, devices in pairs), default=0)
    return len(pairs) == len(grids) > 1 and of_several <= {largest} and largest <= MOST_OF_A_NODE


def of_all_devices(source: Source) -> Source:
    """Return runs whose rates of each device, `gpu0`, `gpu1`, …, are one throughput: their sum, or what each is of all.

    That of one device grows with their number only where it is that of all.
    """
    alike: dict[str, dict[int, str]] = {}
    for name in source.columns:
        of_one = _OF_A_DEVICE.fullmatch(name) if header_of(f"x ({source.units.get(name, '')})").kind == "rate" else None
        if of_one is not None and (not of_one[1] or meant_by(of_one[1]) in LEVELS):
            alike.setdefault(of_one[1], {})[int(of_one[2])] = name
    for columns in alike.values():
        rates = np.array([[number_in(cell) for cell in source.columns[name]] for name in columns.values()])
        counts = np.isfinite(rates).sum(axis=0)
        if sorted(columns) != [*range(len(columns))] or len({*counts.tolist()}) < 2 or not counts.all():
            continue
        sums = np.nansum(rates, axis=0)
        growth = np.polyfit(np.log(counts), np.log(sums / counts), 1)[0] if np.all(sums > 0.0) else 0.0
        total = sums / counts if growth > OF_ALL else sums
        units = {**source.units, "throughput": source.units[columns[0]]}
        source = source.without(columns.values())
        report = f"the rates of {len(columns)} devices became their throughput"
        source = source.changed(report, read={**source.read, "throughput": total.astype(object)}, units=units)
    return source


def _with_columns_of_quantities(source: Source) -> Source:
    """Turn `metric,value` beside the counts into a column of each metric, with the unit that a column states."""
    words = (VALUE, *words_of("headers.value_of_several"))
    values = [name for name in source.cells if plain_name(name).endswith(words)]
    statistics = [name for name in source.cells if STATISTIC.fullmatch(name.lower())]
    naming = [name for name in source.cells if plain_name(name) in words_of("headers.name_of_quantities")]
    if statistics and len(naming) == 1 and not values:
        # `metric,p50,p99`: each statistic of a metric is a quantity.
        source = _stacked(source, "statistic", statistics, {VALUE: {n: n for n in statistics}})
        pairs = zip(*(labels(source.cells[n]).tolist() for n in (naming[0], "statistic")), strict=True)
        named = {naming[0]: np.array([*map(" ".join, pairs)], dtype=object)}
        source, values = replace(source, cells={**source.without(["statistic"]).cells, **named}), [VALUE]
    stating = [name for name in source.cells if plain_name(name) in words_of("headers.unit_column")]
    beside = [n for n in source.cells if n not in (*values, *stating)]
    counts = [n for n in beside if mostly_numbers(labels(source.cells[n]).tolist())]
    # `1 node x 8 A100` beside `tokens/s`
    counts = counts or ([n for n in beside if n not in naming] if len(naming) == 1 else [])
    if len(values) != 1 or not (counts or stating):
        return source
    (value,) = values
    cells = {name: column for name, column in source.cells.items() if name not in stating}
    for units in (source.cells[name] for name in stating):
        pairs = zip(labels(cells[value]), labels(units), strict=True)
        cells[value] = np.array([f"{text} {unit}".strip() for text, unit in pairs], dtype=object)
    headers = {**source.headers, value: np.full(len(source), value, dtype=object)}
    spread = _spread(replace(source, cells=cells, headers=headers), counts[0], value) if counts else source
    if value not in spread.cells:
        return spread
    # The unit of one quantity may stand beside it as well.
    is_known = all(header_of(f"x ({unit})").kind for name in stating for unit in source.cells[name])
    return replace(source, cells=cells) if is_known else source


def _names_quantities(units: Mapping[str, str]) -> bool:
    """Tell whether most texts of a column are headers of quantities, or have values in a unit of their own."""
    # `13.3 GB` is a number, and names no memory.
    headers = [
        parts_of(text) is None and bool(header_of(text).kind or is_relative(text) or plain_name(text) in _PHASES)
        for text in units
    ]
    several_units = len({*units.values()}) > 1
    named = [header or (several_units and unit != "") for header, unit in zip(headers, units.values(), strict=True)]
    return any(headers) and 2 * sum(named) > len(named)


def _spread(long: Source, count: str, value: str) -> Source:
    """Turn rows of several quantities into a column each, where one column names the quantities of a single value."""
    beside = {name: labels(cells) for name, cells in long.cells.items() if name not in (count, value)}
    # A speed-up, `1.8x`, is one of a quantity.
    relative = [n for n, of in beside.items() if is_relative(n) or all(re.fullmatch(r"[\d.]+ ?[x×]", t) for t in of)]
    key_columns = {name: texts for name, texts in beside.items() if name not in relative}
    units = [cell_parts.unit if (cell_parts := parts_of(str(cell))) else "" for cell in long.cells[value]]
    of_texts = {name: dict(zip(texts.tolist(), units, strict=True)) for name, texts in key_columns.items()}
    naming = [name for name, units_of_text in of_texts.items() if _names_quantities(units_of_text)]
    if len(naming) != 1:
        return long
    (name,) = naming
    quantity = key_columns.pop(name)
    keys = list(zip(*key_columns.values(), long.cells[count], strict=True))
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    place = np.array([places[key] for key in keys])
    levels = list(dict.fromkeys(quantity))
    if len(set(zip(keys, quantity, strict=True))) < len(keys) or {*levels} & {*key_columns, name, count}:
        return long
    wide = long.take(np.unique(place, return_index=True)[1])
    of_quantities = name in ("", "column 1", "name") or plain_name(name) in (
        *words_of("headers.name_of_quantities"),
        *words_of("headers.unit_column"),
    )
    called = name if count == _COUNT and not of_quantities else count
    cells = {n: wide.cells[n] for n in key_columns} | {called: wide.cells[count]}
    headers: dict[str, Objects] = {}
    for level in levels:
        for columns, longer in ((cells, long.cells), (headers, long.headers)):
            columns[level] = np.full(len(wide), "", dtype=object)
            columns[level][place[quantity == level]] = longer[value][quantity == level]
    level_list = listed([f"'{level}'" for level in levels], 4)
    text = f"{counted(len(levels), 'name')} of values in '{name}' became columns: {level_list}"
    text += f"; left out: {listed([*map(repr, relative)])}" if relative else ""
    return wide.changed(text, cells=cells, headers=headers)


def _families(cells: Mapping[str, AnyArray]) -> list[Wide]:
    """Return the columns that differ by a number alone and belong together: values at the same counts, or repeats."""
    # `single device` is of one, beside `2 cards`.
    spelled_out = {n: _GRID_OF_DEVICES.sub(lambda grid: str(int(grid[1]) * int(grid[2])), n) for n in cells}
    plain = {name: _ONE.sub("1 ", _FILE_END.sub("", text)) for name, text in spelled_out.items()}
    # `单机8卡耗时` is of 8.
    plain = {
        n: text if text.isascii() else _WITHOUT_BLANK.sub(r"\1 ", _ON_ONE_NODE.sub("", spelled_in_digits(text)))
        for n, text in plain.items()
    }
    for match in filter(None, map(_COPY.fullmatch, cells)):
        # `time`, `time.1`, `time.2`, as pandas names columns of one name.
        copies = {match[1]: f"{match[1]} 1", match[0]: f"{match[1]} {int(match[2]) + 1}"}
        plain |= copies if f"{match[1]}.2" in cells else {}
    readings = {name: reading for name, text in plain.items() if (reading := _reading(text)) is not None}
    counted_words = {word for kind, word, *_ in readings.values() if kind in ("before", "bare")}
    if len({_stem(word) for word in counted_words}) == 1:
        # So is `sequential`, beside `2 threads` or `2`; `8 GPUs (2 nodes)` is of 8, beside `4 GPUs`.
        single = f"1 {min(counted_words)}"
        others = {n: _reading(_AT_END.sub("", _SERIAL.sub(single, n))) for n in cells if n not in readings}
        readings |= {name: reading for name, reading in others.items() if reading is not None}
    columns_by_pattern: dict[tuple[str, str, str], dict[str, tuple[int, str]]] = {}
    without_value = {reading[:2] for reading in readings.values() if not reading[2]}
    for name in cells:
        if name in readings:
            kind, word, value, number = readings[name]
            if (kind, word) in without_value and re.fullmatch(r"[(\[].*[)\]]", value):
                # `N=4 (scaling)` beside `N=2`
                value = ""
            columns_by_pattern.setdefault((kind, meant_by(word) or _stem(word), value), {})[name] = number, word
    candidates = []
    for (kind, stem, value), columns in columns_by_pattern.items():
        numbers, measured = [number for number, _ in columns.values()], [cells[c] for c in columns]
        if not 1 < len(numbers) == len(set(numbers)) or not _numeric(measured):
            continue
        repeated = _are_repeats(kind, stem, numbers, measured)
        if repeated or _are_counts(kind, stem, numbers):
            words = [word for _, word in columns.values()]
            spelled = max(words, key=lambda word: (words.count(word), len(word)))
            # Beside a column `gpu` of its kind.
            count = _RUN if repeated else _plural(spelled) if spelled in cells else spelled or _COUNT
            candidates.append(Wide(count, _value_name(value), {c: n for c, (n, _) in columns.items()}, repeated))
    chosen: list[Wide] = []
    for wide in sorted(candidates, key=lambda wide: -len(wide.columns)):
        is_alike = not chosen or (wide.count, wide.repeated) == (chosen[0].count, chosen[0].repeated)
        taken = {name for family in chosen for name in (*family.columns, family.value)}
        is_new = {wide.count, wide.value}.isdisjoint({*cells} - {*wide.columns})
        if is_alike and is_new and not taken & {*wide.columns, wide.value}:
            chosen.append(wide)
    return chosen


def _reading(name: str) -> tuple[str, str, str, int] | None:
    """Return the kind of a header, the word counted, what is measured, and the number; None without a number."""
    if (alone := re.fullmatch(r"\s*([0-9]+)(?:\.0+)?\s*", name)) is not None:
        return "bare", "", "", int(alone[1])
    if _GRID.fullmatch(name) is not None:
        return None
    if (match := re.fullmatch(r"\s*(\d+)\s*([x×]?)\s*([^\W\d_].*)", name)) is not None:
        if _KIND_OF_DEVICE.match(match[3]) is not None:
            return None  # `8xV100`, `2 GTX 980` name what ran, and nothing that was measured
        if match[2]:
            return "before", "devices", _tidy(match[3]), int(match[1])
    if (match := re.fullmatch(r"(.*?)\s*[@×]\s*(\d+)", name.strip())) is not None:
        return "given", "", _tidy(match[1]), int(match[2])
    if (match := re.search(rf"(?<!\w)#?(\d+){_ORDINAL}(?!\w)", name, re.IGNORECASE)) is not None:
        return "ordinal", "", _tidy(_REPEAT.sub(" ", f"{name[: match.start()]} {name[match.end() :]}")), int(match[1])
    numbered = [(kind, [*of.finditer(name)]) for kind, of in (("before", _BEFORE), ("after", _AFTER))]
    words = {kind: [_with_the_word_before(m["word"], [name]) for m in matches] for kind, matches in numbered}
    sized = {kind: any(map(canonical_of, of_kind)) for kind, of_kind in words.items()}
    # `gpus-8 - perf/step_time` is of 8 GPUs, and of no 8 perf; `bs 32 time` of a batch, and of no 32 times.
    for kind, matches in sorted(
        numbered, key=lambda of: (not any(meant_by(match["word"]) in LEVELS for match in of[1]), not sized[of[0]])
    ):
        # `7b-8gpu` is of 8 GPUs; the other number is the size of a network.
        matches = [match for match in matches if match["word"].lower() not in ("b", "m")] or matches
        matches = [
            match for match in matches if not _LEARNED.fullmatch(match["word"] if kind == "before" else match[0])
        ]
        if len(matches) == 1:
            (match,) = matches
            # `batch_size 64` is of `batch_size`, as `seq_len 1024` is.
            word = _with_the_word_before(match["word"], [name]) if kind == "after" else match["word"]
            before = name[: match.start()]
            before = before if word == match["word"] else re.sub(rf"{_WORD}[\s_-]$", "", before)
            number, measured = int(match["number"]), _tidy(f"{before} {name[match.end() :]}")
            if kind == "after" and (_stem(word) in words_of("headers.measured") or canonical_time(word)):
                return "measured", "", _tidy(f"{name[: match.end('word')]} {name[match.end() :]}"), number
            if kind == "before" and (STATISTIC.fullmatch(word) or word in words_of("columns.spread")):
                return "bare", "", _tidy(f"{word} {measured}"), number  # `8 mean`, of 8 what the corner says
            is_assigned = kind == "after" and re.search("[=:(]", match["joint"])
            return "given" if is_assigned else kind, word, measured, number
    return None


def _value_name(rest: str) -> str:
    """Return the name of what is measured; a unit alone in brackets is that of a time or of an unnamed value."""
    unit = re.fullmatch(r"[(\[](.+)[)\]]", rest)
    if unit is None:
        return rest or VALUE
    return f"{'time' if canonical_time(unit[1]) else VALUE} ({unit[1]})"


def _are_repeats(kind: str, stem: str, numbers: Sequence[int], columns: Sequence[AnyArray]) -> bool:
    """Tell whether columns repeat one measurement, as `run 1 | run 2` do by their stem `run`, or by like values."""
    named = _REPEAT.fullmatch(stem) is not None
    if not _count_up(numbers):
        return named and kind == "after"  # `run 2 | run 5`: of the repeats some are left
    if kind == "ordinal" or (named and kind in ("after", "given")):
        return True
    # `time 1 | time 2 | time 3` are repeats where the values of a row hardly differ.
    if kind != "measured" or len(numbers) < 3:
        return False
    values = np.array([[_float(cell) for cell in column] for column in columns])
    of_full_rows = values[:, np.all(np.isfinite(values) & (values > 0.0), axis=0)]
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = of_full_rows.std(axis=0) / of_full_rows.mean(axis=0)
    return bool(of_full_rows.size) and bool(np.median(spreads) < SCATTER)


def _count_up(numbers: Sequence[int]) -> bool:
    """Tell whether numbers are 0, 1, … or 1, 2, … in any order; −1, of a name without one, is 1."""
    places = sorted(1 if number == -1 else number for number in numbers)
    return places[0] in (0, 1) and places == [*range(places[0], places[-1] + 1)]


def _are_counts(kind: str, stem: str, numbers: Sequence[int]) -> bool:
    """Tell whether the numbers of some headers of one kind (`_reading`) are counts of one thing, and no years."""
    (low, high), smallest = YEARS, min(numbers)
    if smallest < 1 or all(low <= n <= high for n in numbers):
        return False
    multiples = not any(n % smallest for n in numbers)
    if kind == "bare":
        return len(numbers) > 2 and multiples
    if kind in ("after", "measured"):
        # layer1, layer2 and top5 are names; the counts of a series are several and grow by a factor.
        several = max(numbers) > len(numbers) > 2 - (meant_by(stem) in LEVELS) or canonical_of(stem) in WAYS
        return multiples and several and not (len(stem) == 1 and smallest > 1)
    return kind != "ordinal" and (len(stem) > 1 or multiples)


def _stem(word: str) -> str:
    small = word.lower()
    return small[:-1] if len(small) > 2 and small.endswith("s") and not small.endswith("ss") else small


def _tidy(text: str) -> str:
    """Return what is left of a header: without the words and signs that only joined its number."""
    text = re.sub(rf"\s+{_JOINS}\s*$|^\s*{_JOINS}\s+|^{_NUMBER_OF}$", "", text.strip(), flags=re.IGNORECASE)
    text = re.sub(r"\(\s*\)|\[\s*\]|[(\[]\s*$", "", text).strip(" _-@,:;/|#=")
    return re.sub(r"-(?= - )", "", re.sub(r"\s+", " ", text))


def _numeric(columns: Sequence[AnyArray]) -> bool:
    """Tell whether most cells of some columns are numbers, perhaps with a unit; of each at least one."""
    held = [cells[filled(cells)] for cells in columns]
    numbers = [sum(value == value for value in map(_float, cells)) for cells in held]
    enough = 2 * sum(numbers) > sum(map(len, held))
    return enough and all(number or not len(cells) for number, cells in zip(numbers, held, strict=True))


def _float(cell: Any) -> float:
    """Return the number in a cell, perhaps beside a unit; NaN where there is none."""
    number = number_in(seconds_of([cell])[0])
    if number == number or not isinstance(cell, str):
        return number
    number_parts = parts_of(cell.strip())
    return number_in(SEPARATOR.sub("", number_parts.number)) if number_parts is not None else number


# --- counts inside names ---------------------------------------------------------------------------------------------


def _read_alike(
    reader: Callable[[str], Taken | None], names: Sequence[str], is_grid: bool
) -> tuple[dict[str, Taken], list[str]]:
    """Return what a reader takes from each name, by the same words where it can, and the names that it cannot read."""
    parsed = {name: taken for name in names if (taken := reader(name)) is not None}
    without = [name for name in names if name not in parsed]
    if reader is _multiple and parsed and len(without) < FEW_MULTIPLES * len(parsed):
        # A name without a multiple is of one; one multiple of very many names belongs to its name: `dla102x2`.
        parsed |= {name: ({"devices": 1.0}, name.strip()) for name in without}
        without = []
    if is_grid and parsed and (single := {name: taken for name in without if (taken := _multiple(name))}):
        # `8xH100` beside `2x8xH100` is of one node.
        parsed |= {name: (_on_nodes(1.0, values["devices"]), kind) for name, (values, kind) in single.items()}
        without = [name for name in without if name not in single]
    if len({frozenset(values) for values, _ in parsed.values()}) > 1:
        # `1 GPU` beside `2 GPUs`, `1 process` beside `2 processes`.
        spelled = {w for values, _ in parsed.values() for w in values}
        plural_of = {w: next((p for p in (f"{w}s", f"{w}es") if p in spelled), _plural(w)) for w in spelled}
        plurals = {n: ({plural_of[w]: v for w, v in values.items()}, kind) for n, (values, kind) in parsed.items()}
        parsed = plurals if len({str(taken) for taken in plurals.values()}) == len(parsed) else parsed
    words = {frozenset(values) for values, _ in parsed.values()}
    most = max((values for values, _ in parsed.values()), key=len, default={})
    if reader in (_multiple, _counted) and len(words) == 2 and all({*most} >= some for some in words):
        # `4 GPUs` beside `2 nodes x 4 GPUs` is of one node.
        parsed = {n: ({**dict.fromkeys(most, 1.0), **v}, kind) for n, (v, kind) in parsed.items()}
    return parsed, without


def names_of(column: str, names: list[str]) -> Names | None:
    """Take the different names of a column apart; None where they do not share a pattern.

    Every name must hold the same numbers, but for a baseline; names that only differ by what is no count (`resnet50`,
    `resnet101`; `V100`, `A100`) stay.
    """
    grid = _grid_of(column)
    # `dp8-tp2-mbs4-gbs512`, `8gpus-bs64-run1`: words of the field, each glued to its number.
    glued = [taken for name in names if not _PARTED.search(name) and (taken := _of_all_kinds(name))]
    words = {word for of_name, _ in glued for word in of_name}
    meaningful = {word for word in words if meant_by(word) or plain_name(word) in words_of("columns.repeat")}
    are_known = len(glued) == len(names) and meaningful == words and all(len(of_name) > 1 for of_name, _ in glued)
    parted = () if are_known else (_counted, _parted)
    in_prose = (_levels_of,) if column == TITLES else ()
    readers = (_slice,) if all(map(_slice, names)) else (_placed(names, column in PATHS),)
    for reader in (*readers, grid, _pairs, _multiple, *parted, _of_all_kinds, *in_prose):
        read: Callable[[str], Taken | None] = reader
        parsed, without = _read_alike(reader, names, is_grid=reader is grid)
        keys = {frozenset(values) for values, _ in parsed.values()}
        # One name without a number may be that of a baseline.
        if len(keys) != 1 or len(parsed) < min(2, len(names)) or len(without) > 1:
            continue
        columns = list(next(iter(parsed.values()))[0])
        same = {word for word in columns if len({values[word] for values, _ in parsed.values()}) < 2}
        # One size of a layout is a setting of all runs.
        same = {word for word in same if len(word) == 1 or meant_by(word) is None}
        if reader in (_counted, _parted, _of_all_kinds) and same < {*columns}:
            # `llama3_8b_4gpus`: what is the same in all names is no setting.
            read, columns = _without(reader, same), [word for word in columns if word not in same]
            parsed = {n: ({w: v for w, v in values.items() if w not in same}, k) for n, (values, k) in parsed.items()}
        # A header such as `GPUs` says that `4x RTX 6000` counts.
        headed = reader is _multiple and meant_by(column) in LEVELS
        counts = reader in (_multiple, _counted, _parted, _of_all_kinds) and not headed
        if counts and not _hold_counts(columns, parsed):
            continue
        parsed |= {name: (dict.fromkeys(columns, 1.0), name) for name in without}
        kinds = _without_link(parsed, _without_runs(parsed))
        # `1.3B, 8 GPUs`: what is left is the size of a network.
        of_kinds = PARAMETERS if all(map(_OF_PARAMETERS.fullmatch, kinds.values())) else f"{column} kind"
        kind_column = of_kinds if len(set(kinds.values())) > 1 else ""
        values = {name: numbers for name, (numbers, _) in parsed.items()}
        return Names({word: word for word in columns}, values, kinds, kind_column, read)
    return None


def _without_link(parsed: Mapping[str, Taken], kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the kinds of names without a remark that all runs on several nodes have: `16x A100 (2 nodes, EFA)`."""
    remarks = {name: re.findall(r"\([^()]*\)", kind) for name, kind in kinds.items()}
    nodes = {name: numbers["nodes"] for name, (numbers, _) in parsed.items() if "nodes" in numbers}
    several = {name for name, count in nodes.items() if len(nodes) < len(parsed) or count > min(nodes.values())}
    is_of_nodes = several == {name for name, of_name in remarks.items() if of_name} and several != parsed.keys()
    is_one = len({tuple(of_name) for of_name in remarks.values() if of_name}) == 1
    return {n: re.sub(r"\s*\([^()]*\)", "", k) if is_of_nodes and is_one else k for n, k in kinds.items()}


def taken_apart(column: str, names: Sequence[str]) -> Names | None:
    """Take the different names of a column apart, in order; None where they hold no numbers in common."""
    taken = names_of(column, [*names]) or _without_jobs(column, names) or _assigned_settings(names)
    return taken if taken is not None or not _OF_PARAMETERS.search(names[0]) else _sized(names)


def _sized(names: Sequence[str]) -> Names | None:
    """Read the parameters of names that differ in nothing else, `gpt-1.3b` and `gpt-6.7b`; None for others."""
    stems = {_OF_PARAMETERS.sub("", name).strip().lower() for name in names}

    def read(name: str) -> Taken | None:
        """Return the parameters that such a name shows; None for any other name."""
        sizes, stem = [*_OF_PARAMETERS.finditer(name)], _OF_PARAMETERS.sub("", name).strip().lower()
        return ({PARAMETERS: _size_of(sizes[0])}, "") if len(sizes) == 1 and stem in stems else None

    values = {name: taken[0] for name in names if (taken := read(name)) is not None}
    # `7b` alone is a number already.
    if len(stems) > 1 or len(values) < max(len(names), 2) or not re.search(r"[^\W\d_]", "".join(stems)):
        return None
    return Names(columns={PARAMETERS: PARAMETERS}, values=values, kind={}, kind_column="", read=read)


def _size_of(match: re.Match[str]) -> float:
    """Return the parameters that a size in a name means: 6.7e9 of `6.7b`."""
    return float(match[1]) * MULTIPLES[match[2].upper()]


def _without_jobs(column: str, names: Sequence[str]) -> Names | None:
    """Take names apart without their jobs' numbers and those that are the same in all: `n4_4711023`, `n8_4711038`."""
    jobs = [[int(number) for number in _OF_A_JOB.findall(name)] for name in names]
    differ = all(jobs) and len({*map(tuple, jobs)}) == len(names)
    # Sizes are multiples of the smallest.
    number_jobs = differ and (not min(jobs)[0] or any(numbers[0] % min(jobs)[0] for numbers in jobs))
    same = set.intersection(*({*_WORDLESS.findall(name)} for name in names))

    def stripped(name: str) -> str:
        name = _OF_A_JOB.sub("", name) if number_jobs else name
        return _WORDLESS.sub(lambda match: "" if match[0] in same else match[0], name)

    plain = {name: stripped(name) for name in names}
    different = sorted({*plain.values()})
    if [*plain.values()] == [*plain] or len(different) < 2 or (taken := names_of(column, different)) is None:
        return None
    values, kind = ({n: of[p] for n, p in plain.items() if p in of} for of in (taken.values, taken.kind))
    return replace(taken, values=values, kind=kind, read=lambda name: taken.read(stripped(name)))


def _without(read: Callable[[str], Taken | None], words: Collection[str]) -> Callable[[str], Taken | None]:
    """Return what takes a name apart as another does, without the numbers of some words."""

    def reading(name: str) -> Taken | None:
        taken = read(name)
        return taken and ({word: number for word, number in taken[0].items() if word not in words}, taken[1])

    return reading


def number_in_names(names: Sequence[str]) -> list[int] | None:
    """Return the number by which alone names differ, `r50_8`, `r50_16`; None where more differs or runs are numbered.

    >>> number_in_names(["r50_8", "r50_16", "r50_64"]), number_in_names(["run1", "run2", "run3"])
    ([8, 16, 64], None)
    """
    places = [*zip(*(re.split(r"(\d+)", name) for name in names), strict=False)]
    differ = [k for k, pieces in enumerate(places) if len({*pieces}) > 1]
    if len(differ) != 1 or len({len(re.split(r"\d+", name)) for name in names}) > 1:
        return None
    numbers = [int(piece) if piece.isdecimal() else 0 for piece in places[differ[0]]]
    least, counts_up = min(numbers), max(numbers) - min(numbers) < len({*numbers})
    return None if counts_up or not least or any(number % least for number in numbers) else numbers


def _numbers_the_runs(names: Names, texts: Sequence[str]) -> bool:
    """Tell whether names only number the rows in their order, as `night-1`, `night-2` beside a column of counts do."""
    (word, *further), start = names.columns, 0
    if further or names.kind_column or meant_by(word) is not None:
        return False
    numbers = [names.values.get(text, {}).get(word, start) for text in texts]
    return all(later == number + 1 for number, later in pairwise(numbers)) and numbers[0] in (0, 1)


def with_factors(source: Source, named: Collection[str] = ()) -> Source:
    """Return a table with columns of the numbers in names: of `resnet_8gpu`, `resnet_16gpu` a column `gpu` of 8, 16.

    A column that is there already with the same values is not made again. The source keeps how each name was read. A
    `named` column of names stays one, unless a column of what they say is named as well.
    """
    made: dict[str, AnyArray] = {}
    names_of_columns: dict[str, Names] = {}
    steps, aliases, of_cores = [*source.steps], dict(source.aliases), set[str]()
    is_scaled = any(map(counts_scale, source.columns))
    of_nodes = _node_sizes(source) if "nodes" in map(meant_by, source.columns) else None
    if of_nodes is not None:
        made["devices_per_node"] = of_nodes[1]
        steps.append(step(f"'devices_per_node' read from '{of_nodes[0]}', as only nodes are counted"))
    for column, values in source.columns.items():
        if of_nodes is not None and column == of_nodes[0]:
            continue
        texts = labels(values).tolist() if values.dtype.kind == "O" else []
        different = sorted({*texts} - {""})
        # `A100*N1C8` below `GPUs` is a count, also where all rows have it.
        fewest = 1 if meant_by(column) in LEVELS else 2
        are_names = fewest <= len(different) <= MOST_NAMES and not all(map(is_number, different))
        are_names = are_names and plain_name(column) not in words_of("columns.machine_names")
        # `0 days 00:12:31` is a time.
        are_names = are_names and not all(isinstance(seconds, float) for seconds in seconds_of(different))
        names = taken_apart(column, different) if are_names else None
        if names is not None and is_scaled and _numbers_the_runs(names, texts):
            continue
        sizes = {PARAMETERS, "parameters_billion"} if names is not None and PARAMETERS in names.columns else {}
        if names is None or any(column_of(size, source.columns) for size in sizes):
            continue
        new: dict[str, AnyArray] = {}
        headers: dict[str, str] = {}
        # `N4_n32`, as Slurm has them, are nodes and what runs on all of these.
        has_both = {"N", "n"} <= {*names.columns} and not any(of["n"] % of["N"] for of in names.values.values())
        both = {"N": "nodes", "n": "devices"} if has_both else {}
        for word in names.columns:
            numbers = [names.values.get(text, {}).get(word, "") for text in texts]
            spelled = both.get(word) or _spelled_out(word, column, names.columns)
            called = _with_the_word_before(spelled, different)
            # `2 GPUs` and `x2` in the column `GPUs` are the number itself.
            itself = plain_name(called) == plain_name(column) or (called == "x" and meant_by(column) in LEVELS)
            itself = itself and len(names.columns) == 1 and not names.kind_column
            is_free = called not in {*source.columns, *made, *new}
            free = column if itself else called if is_free else f"{column} {word}"
            equal = _column_of_same_cells(source, numbers, called)
            headers[word] = equal or free
            if equal is None:
                cells = [int(n) if isinstance(n, float) and n.is_integer() else n for n in numbers]
                new[free] = np.array(cells, dtype=object)
            elif free != equal:
                aliases.setdefault(free, equal)
        if column in named and {*named}.isdisjoint((*headers.values(), names.kind_column)):
            continue
        if names.kind_column and names.kind_column not in source.columns:
            kinds = [names.kind.get(t, "") or (t and NO_KIND) for t in texts]
            sizes_of_kinds = [size for kind in kinds if (size := _OF_PARAMETERS.fullmatch(kind))]
            cells = [*map(_size_of, sizes_of_kinds)] if len(sizes_of_kinds) == len(kinds) else kinds
            new[names.kind_column] = np.array(cells, dtype=object)
        names_of_columns[column] = replace(names, columns=headers)
        made |= new
        slices = [SLICE.fullmatch(text.strip()) for text in different]
        if all(match is not None and chips_of(match) < float(match[2]) for match in slices):
            # A chip has two cores, and its batch is that of both.
            of_cores |= {n for n in source.columns if canonical_of(n) == "batch" and "core" in words_in(n)}
        if new:
            filled = counted(sum(map(bool, texts)), "cell")
            steps.append(step(f"{filled}: {listed([repr(n) for n in new], 6)} read from the names in '{column}'"))
    for name in of_cores:
        batches = [2.0 * number_in(cell) for cell in labels(source.columns[name])]
        made[_BATCH_OF_A_CHIP] = np.array(batches, dtype=object)
        steps.append(step(f"'{_BATCH_OF_A_CHIP}' is twice '{name}': a chip of such a slice has two cores"))
    source = source.without(of_cores)
    return replace(source, read={**source.read, **made}, names=names_of_columns, aliases=aliases, steps=tuple(steps))


def _node_sizes(source: Source) -> tuple[str, AnyArray] | None:
    """Return the column that states the devices of each node, `8x H100`, where only nodes are counted, or has rates."""
    if {meant_by(column) for column in source.columns} & {*LEVELS, *WAYS, "devices_per_node"} != {"nodes"}:
        return None
    for column, values in source.columns.items():
        texts = labels(values).tolist() if values.dtype.kind == "O" else []
        if not texts or not all(_KIND_OF_DEVICE.search(text) for text in texts):
            continue
        taken = [_multiple(text) for text in texts]
        devices = [of[0].get("devices", 0.0) for of in taken if of is not None and len(of[0]) == 1]
        if len(devices) == len(texts) and 0 < min(devices) <= max(devices) <= MOST_OF_A_NODE:
            return column, np.array([*map(int, devices)], dtype=object)
    return _node_sizes_of_rates(source)


def _node_sizes_of_rates(source: Source) -> tuple[str, AnyArray] | None:
    """Return the column of the rates of one device, and how many of these a node has by the rates of all."""
    headers = {n: header for n in source.columns if (header := header_of(n)).kind == "rate" and header.counted}
    of_one = [n for n, header in headers.items() if header.shared and header.level == "workers"]
    alike = {n: [k for k, of in headers.items() if not of.shared and of.counted == headers[n].counted] for n in of_one}
    for column in (n for n in of_one if len(alike[n]) == 1):
        nodes_column = next(n for n in source.columns if meant_by(n) == "nodes")
        texts = (labels(source.columns[n]) for n in (*alike[column], column, nodes_column))
        total, each, nodes = (np.array([amount(text) or np.nan for text in of_column]) for of_column in texts)
        sizes = total / each / nodes
        size = np.round(np.median(sizes))
        if 1.0 <= size <= MOST_OF_A_NODE and np.all(np.abs(sizes / size - 1.0) < _ROUNDING):
            return column, np.full(len(source), int(size), dtype=object)
    return None


def _column_of_same_cells(source: Source, numbers: Sequence[Any], called: str) -> str | None:
    """Return the column that has some numbers already; None where it counts processes and they count devices."""
    texts = labels(numbers).tolist()
    equal = next((name for name, cells in source.columns.items() if labels(cells).tolist() == texts), None)
    of_processes = equal is not None and meant_by(equal) in LEVELS and not counts_devices(equal)
    # `processes` in the log of `gpus_8`: they are devices, and stay under this name.
    return None if of_processes and source.runs and counts_devices(called) else equal


def _with_the_word_before(word: str, names: Sequence[str]) -> str:
    """Return a word of names with the one before it, where these together are a factor: `world_size`, `batch-size`."""
    if canonical_of(word) is not None:
        return word
    pairs = (re.search(rf"(?<![^\W_])({_WORD})[\s_-]{re.escape(word)}(?![^\W\d_])", name) for name in names)
    counts = {text for pair in pairs if pair and canonical_of(text := f"{pair[1]}_{word}") is not None}
    return counts.pop() if len(counts) == 1 else word


def counts_beside(column: str, cells: Sequence[Any]) -> dict[str, AnyArray]:
    """Return what brackets in cells of a count count as well: the GPUs of `9 (36 GPUs)`, the nodes of `64 (8x8)`.

    Without brackets as few devices as one node has, `8 GPUs` beside `16 GPUs (2 nodes)`, are of one.
    """
    matches = [_IN_BRACKETS.fullmatch(str(cell)) for cell in cells]
    counts = [(int(m["count"]), int(m["number"]), m["each"]) for m in matches if m is not None]
    words = {(m["word"] or "node").lower().removesuffix("s") for m in matches if m is not None}
    word = next((m["word"] or "nodes" for m in matches if m is not None), "")
    are_grids = all(count == number * int(each) for count, number, each in counts if each)
    if len(words) != 1 or not are_grids or meant_by(word) not in LEVELS or meant_by(word) == meant_by(column):
        return {}
    single = [re.match(r"\d+", str(cell)) for cell, match in zip(cells, matches, strict=True) if match is None]
    sizes = {count / number for count, number, _ in counts}
    of_one = len(sizes) == 1 and all(of is not None and int(of[0]) <= min(sizes) for of in single)
    if single and not (of_one and meant_by(word) == "nodes"):
        return {}
    return {_plural(word): np.array([1 if match is None else int(match["number"]) for match in matches], dtype=object)}


def _spelled_out(word: str, column: str, words: Collection[str]) -> str:
    """Return the word of a column's name that a letter stands for; a server that holds devices is a node."""
    begun = [name for name in re.findall(_WORD, column) if name.lower().startswith(word.lower()) and meant_by(name)]
    if len(word) > 1 or len(begun) != 1:
        return word
    beside = any(meant_by(further_word) == "workers" for further_word in words if further_word != word)
    return "nodes" if meant_by(begun[0]) == "servers" and beside else begun[0]


def _placed(names: Sequence[str], of_path: bool) -> Callable[[str], Taken | None]:
    """Return what reads `2n8g`, `n2g8`, `resnet50 2n x 8g` and `ddp_2x8`: nodes, and the devices of each."""
    # `2x8` of a cell is what its header says, and of a folder nodes as well.
    may_be = of_path or not any(map(_GRID.fullmatch, names))
    unnamed = may_be and _fill_nodes([_UNNAMED.search(name) for name in names])

    def in_order(name: str) -> str:
        name = _UNNAMED.sub(r"\1n\2g", name) if unnamed else name
        return _LETTERS_FIRST.sub(r"\1n\2g", spelled_in_digits(name))

    matches = [match for name in names if (match := _PLACED.search(in_order(name))) is not None]
    most: dict[int, int] = {}
    for nodes, _, devices in (match.groups() for match in matches):
        most[int(nodes)] = max(most.get(int(nodes), 0), int(devices))
    # Devices that grow as the nodes do are those of all nodes. One node may be that of a baseline, of fewer devices.
    several = {*most} - {0, 1}
    per_node = {most[nodes] / nodes for nodes in several}
    grows = len(per_node) == 1 and (
        most.get(1) in per_node or (max(most.get(1, 0), *per_node) in per_node and len(several) > 1)
    )
    of_all = grows and not any(match["by"] for match in matches)

    def read(name: str) -> Taken | None:
        """Return the nodes and the devices of each that a name holds, and the rest of it; None without such a pair."""
        name = in_order(name)
        match = _PLACED.search(name)
        if match is None or not int(match[1]):
            return None
        nodes, devices = float(match[1]), float(match[3])
        each = devices / nodes if of_all else devices
        # `2 nodes, 16 GPUs (2x8)` says it twice.
        repeated_product = re.compile(rf"[(（]\s*{nodes:g}\s*[x×*]\s*{each:g}\s*[)）]")
        left = _left(repeated_product.sub(" ", _PLACED.sub(" ", _FILE_END.sub("", name))))
        return _on_nodes(nodes, each), left

    return read


def _on_nodes(nodes: float, each: float) -> dict[str, float]:
    """Return the counts of nodes with `each` so many devices."""
    return {"nodes": nodes, "devices_per_node": each, "devices": nodes * each}


def _grid_of(column: str) -> Callable[[str], Taken | None]:
    """Return what reads `2x4` by its header (`nodes x gpus`, devices, or any two factors), or ways by `TP/PP/DP`."""
    # What stands in brackets behind a name: `Layout (nodes x gpus)`.
    inside = re.sub(r".*[(\[](.*)[)\]]\s*$", r"\1", column)
    words = [word for word in re.split(r"\s*[×*:]\s*|[\s_]+(?:[xX]|by)[\s_]+", inside) if word]
    meanings = [*map(meant_by, words)]
    # `1 : 8` is a clock, but for one below `PS : Worker`.
    sign = ":" if ":" in inside and any(meanings) else "x"
    ways = inside.split("/") if {*map(canonical_of, inside.split("/"))} <= {*WAYS} else []
    says_both = len(words) == 1 and plain_name(column) in words_of("columns.nodes_by_devices")
    nodes_by_devices = says_both or meanings in (["nodes", "workers"], ["workers"], ["nodes"])

    def read_ways(name: str) -> Taken | None:
        """Return the numbers of `4/2/8` by the ways of a header `TP/PP/DP`; None for another name."""
        numbers = re.split(r"\s*[/,×x-]\s*", name.strip())
        one_each = len(numbers) == len(ways) > 1 and all(map(str.isdecimal, numbers))
        return (dict(zip(ways, map(float, numbers), strict=True)), "") if one_each else None

    def read(name: str) -> Taken | None:
        """Return the two numbers of `2x4` by what the header says of each, and the device behind them, if any."""
        match = _GRID.fullmatch(name.strip().replace(sign, "x"))
        if match is None:
            return read_ways(name)
        first, second, device = float(match[1]), float(match[2]), match[3] or ""
        if nodes_by_devices or (device and second <= MOST_OF_A_NODE):
            return _on_nodes(first, second), device
        return ({words[0]: first, words[1]: second}, device) if len(words) == 2 else None

    return read


def _assigned_settings(names: Sequence[str]) -> Names | None:
    """Read settings of three different values or more, as `batch=64`, `batch=128`, …, as columns; None without one."""
    settings = [match for name in names if (match := _PAIR.match(name)) is not None]
    different = dict.fromkeys((match["word"], match["number"]) for match in settings)
    varied = {word: word for word, count in Counter(word for word, _ in different).items() if count > 2}

    def read(name: str) -> Taken | None:
        """Return the value of the varied setting that begins a name; None for any other name."""
        match = _PAIR.match(name)
        return ({match["word"]: float(match["number"])}, "") if match is not None and match["word"] in varied else None

    values = {name: taken[0] for name in names if (taken := read(name)) is not None}
    return Names(columns=varied, values=values, kind={}, kind_column="", read=read) if varied else None


def _slice(name: str) -> Taken | None:
    """Read `v5e-16` and `v4-32`, slices of TPUs, as their chips."""
    match = SLICE.fullmatch(name.strip())
    return None if match is None or chips_of(match) < FEWEST_CHIPS else ({"chips": chips_of(match)}, match[1])


def _pairs(name: str) -> Taken | None:
    """Read `n=8, m=32`, `2 GPUs, batch=32 each` and `8xA100 bs=4`."""
    taken = _with_counts(_taken(_EACH.sub("", name), (_PAIR, " ")))
    multiple = _multiple(taken[1]) if taken is not None else None
    return (multiple[0] | taken[0], multiple[1]) if taken is not None and multiple is not None else taken


def _multiple(name: str) -> Taken | None:
    """Read `8x A100 80GB`, `A100 x 8`, `8x A100 (2 nodes)`, and `2x p4d.24xlarge`, which are nodes."""
    matches, kind = _MULTIPLE.findall(name), _left(_MULTIPLE.sub(" ", name))
    multiplied = "nodes" if _MACHINE.match(kind) else "devices"
    return _with_counts(({multiplied: float("".join(matches[0]))}, kind)) if len(matches) == 1 else None


def _with_counts(taken: Taken | None) -> Taken | None:
    """Return what was taken from a name with the devices and nodes that what is left of it counts."""
    counts = None if taken is None else _counted(taken[1])
    if taken is None or counts is None or not all(meant_by(word) in LEVELS for word in counts[0]):
        return taken
    return counts[0] | taken[0], counts[1]


def _counted(name: str) -> Taken | None:
    """Read `pipeline-4`, `a100_064x.txt`, `8_worker_4_cores` and `8worker4pserver`."""
    name = spelled_in_digits(name)
    name = re.sub(r"(?<=[^\W\d_])(?=\d)", " ", name) if _GLUED.fullmatch(name.strip()) else name
    # Beside each pattern is what stays of a name in the place of its number and word.
    patterns = (_NUMBER_FIRST, " "), (_WORD_FIRST, r"\g<word>"), (_LETTER_FIRST, " ")
    return _taken(_FILE_END.sub("", _MOMENT.sub(" ", name.strip())), *patterns)


def _of_all_kinds(name: str) -> Taken | None:
    """Read `8 GPUs, bs 256`, `2 nodes (16xA100)` and `tp2_pp1_dp4`: numbers before and behind words, each word once."""
    values: dict[str, float] = {}
    left = _FILE_END.sub("", _MOMENT.sub(" ", name.strip()))
    for pattern in (_MULTIPLE, _NUMBER_FIRST, _WORD_FIRST, _LETTER_FIRST):
        for match in pattern.finditer(left):
            word = match["word"] if pattern is not _MULTIPLE else "devices"
            if word in values:
                return None
            number = match["number"] if pattern is not _MULTIPLE else "".join(filter(None, match.groups()))
            values[word] = float(number)
        left = pattern.sub(" ", left)
    return (values, _left(left)) if values else None


def _levels_of(title: str) -> Taken | None:
    """Read `Table 3: an 8B model. 128 GPUs. Batch size 2.`: of a title the counts of devices and nodes alone."""
    matches = [match for match in _NUMBER_FIRST.finditer(title) if meant_by(match["word"]) in LEVELS]
    values = {match["word"]: float(match["number"]) for match in matches}
    return (values, "") if matches and len(values) == len(matches) else None


def _plural(word: str) -> str:
    """Return what is counted in the plural: `GPUs`."""
    return word if word.lower().endswith("s") or meant_by(word) not in LEVELS else noun_of(word)


def _parted(name: str) -> Taken | None:
    """Read `BM_Sum/8/1024`: numbers between slashes, by their place."""
    pieces = name.split("/")
    numbers = {f"n{k}" if k > 1 else "n": float(text) for k, text in enumerate(pieces) if k and text.isdecimal()}
    return (numbers, "/".join(text for text in pieces if not text.isdecimal())) if numbers else None


def _taken(text: str, *patterns: tuple[re.Pattern[str], str]) -> Taken | None:
    """Return the numbers beside words by the pattern that takes most of them, where one counts by one that counts."""
    matched = [(pattern, left, matches) for pattern, left in patterns if (matches := [*pattern.finditer(text)])]
    counting = [candidate for candidate in matched if any(meant_by(match["word"]) in LEVELS for match in candidate[2])]
    if not matched:
        return None
    # `dp-16_tp-2_pp-1`: the numbers before words are one fewer.
    pattern, left, matches = max(counting or matched, key=lambda candidate: len(candidate[2]))
    values = {match["word"]: float(match["number"]) for match in matches}
    return (values, _left(pattern.sub(left, text))) if len(values) == len(matches) else None


def _hold_counts(columns: Sequence[str], parsed: Mapping[str, Taken]) -> bool:
    """Tell whether the numbers of names are counts, multiples, or of settings of the field; not one for each name."""
    numbers = [{values[column] for values, _ in parsed.values()} for column in columns]
    of_settings = {column for column in columns if len(columns) > 1 and meant_by(column) not in (None, *LEVELS)}
    of_counts = [n for column, n in zip(columns, numbers, strict=True) if column not in of_settings]
    multiples = all(min(n) >= 1 and not any(k % min(n) for k in n) for n in of_counts)
    # `V100 16G` and `7b`, but `n2_g8` and `run_b64_g2`.
    sizes = {"v", "b", "m", "k", "gb", "bit", "fp", "bf"} & {column.lower() for column in columns} or {"G"} & {*columns}
    sizes -= {"b"} if "b" in columns and all("_b" in name for name in parsed) else {""}
    # A count of devices may be beside one of nodes; a batch has its own word.
    named = all(canonical_of(column) is not None and meant_by(column) not in LEVELS for column in columns)
    # `1 GPU`, `8 GPUs (NVLink)` begin with what they count.
    counts_first = all(COUNTED.match(name) for name in parsed)
    shared = named or counts_first or len({kind for _, kind in parsed.values()}) < len(parsed)
    return shared and multiples and not sizes and any(len(n) > 1 for n in numbers)


def _without_runs(parsed: Mapping[str, Taken]) -> dict[str, str]:
    """Return what is left of each name, without a last number that only numbers its runs: 0, 1, … of equal ones."""
    runs: dict[tuple[str, tuple[float, ...]], list[int]] = {}
    stems = {name: _LAST_NUMBER.sub("", kind).rstrip(" -") for name, (_, kind) in parsed.items()}
    for name, (values, kind) in parsed.items():
        match = _LAST_NUMBER.search(kind)
        runs.setdefault((stems[name], tuple(values.values())), []).append(int(match[1]) if match else -1)
    repeated = all(map(_count_up, runs.values())) and any(len(n) > 1 for n in runs.values())
    return stems if repeated else _without_versions({name: kind for name, (_, kind) in parsed.items()}, parsed)


def _without_versions(kinds: Mapping[str, str], parsed: Mapping[str, Taken]) -> dict[str, str]:
    """Return what is left of names without a version that one of several runs has: it was run again, `r-32-v3`."""
    versions: dict[tuple[float, ...], list[str]] = {}
    for name, (values, _) in parsed.items():
        versions.setdefault(tuple(values.values()), []).append(kinds[name])
    repeats = sum(len(of_run) > 1 for of_run in versions.values())
    earliest = {min(of_run) for of_run in versions.values()}
    plain = {name: _VERSION.sub("", kind) for name, kind in kinds.items()}
    is_rerun = repeats == 1 < len(versions) - 1 and len(earliest) == 1
    return plain if is_rerun and len({*plain.values()}) == 1 < len({*kinds.values()}) else {**kinds}


def _left(text: str) -> str:
    """Return what is left of a name from which words were taken, without the empty brackets and marks around them."""
    alone = re.sub(r"\(\s*\)|(?<=[,;])\s*[,;]", "", re.sub(r"\s+", " ", text))
    return re.sub(r"[\s_,;&]+$|^[\s_,;&\-]+|[\s_\-]+(?=\.)", "", alone)
