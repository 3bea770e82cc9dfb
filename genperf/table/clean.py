"""Cells to checked numbers and labels; every cell that cannot be used is named with its reason."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from genperf.arrays import Array, Mask, Objects
from genperf.vocabulary import late, words_of

MISSING = frozenset(words_of("cells.missing"))
#: Blanks that stand between thousands; a spreadsheet writes those that do not break a line.
_GAP = " \u00a0\u2009\u202f"
#: `hh:mm:ss`, perhaps behind days; `mm:ss.s`, whose decimals show that it is no hour.
_CLOCK = late(
    r"(?:(?:(\d+)(?:-|\s*days?,?\s+))?(\d+):(?=[0-5]\d:)|(?=\d+:\d\d\.\d))(\d+):([0-5]\d(?:\.\d+)?|\d\.\d+)", re.ASCII
)
#: Numbers with units of time, the larger ones first: `8h20m`, `1 d 2 h`, `2'42"`.
_UNITS = "d(?:ays?)?", "h(?:rs?|ours?)?", "(?:m(?:in(?:ute)?s?)?|['′])", '(?:s(?:ec(?:ond)?s?)?|["″])'
_PARTS = dict(zip(_UNITS, (86400.0, 3600.0, 60.0, 1.0), strict=True))
_BETWEEN_PARTS = r"[\s,]*(?:and\s+)?"
_SEVERAL_UNITS = late(_BETWEEN_PARTS.join(rf"(?:(\d+(?:\.\d+)?)\s*{unit}(?![^\W\d_]))?" for unit in _PARTS), re.ASCII)
#: A duration in several units, the longest first: `6 hrs and 12 minutes`.
DURATION = "|".join(
    rf"\d+(?:\.\d+)?\s?{unit}(?:{_BETWEEN_PARTS}\d+(?:\.\d+)?\s?(?:{'|'.join([*_PARTS][place:])}))+(?![^\W\d_])"
    for place, unit in enumerate([*_PARTS][:-1], 1)
)
#: `PT8H20M`, `P1DT2H`, without their letters in front; and `8:20 h`, `8h 20`.
_ISO = late(r"^p(\d+d)?t(?=\d)")
_HOURS = late(r"^(\d+)(?::(?=\d\d ?h)| ?h ?(?=\d\d$))([0-5]\d)(?: ?h(?:rs?|ours?)?)?$")
#: Patterns of cells that are no number, in small letters, and what each is instead; the first that fits counts.
_FAULTS = (
    (r"", "is empty"),
    (r"nan", "is NaN"),
    ("|".join(map(re.escape, sorted(MISSING))), "is a missing value, not a number"),
    (
        rf"[+-]?\d[\d.'’{_GAP}]*(,\d+)+(\.\d+)?(e[+-]?\d+)?|[+-]?\d{{1,3}}(['’{_GAP}]\d{{3}})+(\.\d+)?",
        "is not a number (write the decimal sign as '.', and nothing between thousands)",
    ),
    (
        r"\d{4}-\d\d?-\d\d?([t ].*)?|\d\d?[./]\d\d?[./]\d{4}([t ].*)?|(\d+:)?\d\d?:\d\d?(\.\d+)?",
        "is a date or a time of day, not a number",
    ),
    (
        r"(?!0[xob])[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*([^\W\d_]|[%$€/])[\w%/]*",
        "is not a plain number (write it without its unit)",
    ),
    (r"[+\-−]*(\d+\.?\d*|\.\d+)", "is not a number in the digits 0 to 9, with '-' for minus"),
    (r"true|false", "is not a number but true or false"),
    (r"(?s).*", "is not a number"),
)

Reasons = dict[int, str]


class Rejection(Struct, frozen=True):
    """One cell, or one row, that cannot be used."""

    #: The file as it was given.
    source: str
    #: Where the row starts in the file, from 1. For a DataFrame or Parquet the row's position, from 0.
    line: int
    #: The column; empty where the whole row is at fault.
    column: str
    #: The cell's text.
    value: str
    #: What is wrong with it.
    reason: str
    #: What `line` counts: "line" or "row"; empty for a question, whose values have no rows.
    unit: str = "line"
    #: How many rows of the file are so.
    rows: int = 1

    @property
    def place(self) -> str:
        """Where it is inside the file; of a question the name of the value."""
        if not self.unit:
            return self.column
        return f"{self.unit} {self.line}" + (f", column '{self.column}'" if self.column else "")

    @property
    def shown(self) -> str:
        """What the cell holds, or how it begins, on one line."""
        return shortened(self.value, 40)

    @property
    def complaint(self) -> str:
        """The cell and its fault, without the file."""
        subject = f"'{self.shown}' " if self.shown else "the cell "
        return f"{self.place}: {subject if self.column else ''}{self.reason}"

    def __str__(self) -> str:
        return f"{self.source}: {self.complaint}"


def shortened(text: str, letters: int = 60) -> str:
    """Return a text on one line, cut where it is longer than so many letters."""
    line = " ".join(text.split())
    return line if len(line) <= letters else line[: letters - 3] + "…"


def rows_of(rejected: Iterable[Rejection]) -> int:
    """Return how many rows cannot be used; one may have several faults."""
    return sum({rejection.line: rejection.rows for rejection in rejected}.values())


#: Sizes of a number that is read and is not zero. Squares and products of a few such numbers still fit in a double,
#: whose sizes are 1e-308 to 1e308; no measurement is near either end.
SMALLEST, LARGEST = 1e-30, 1e30


def faults_of(values: Array, positive: str = "", count: str = "") -> Reasons:
    """Return why numbers cannot be used, by position: their size, or their sign. NaN has a reason already.

    They must be above zero where `positive` names what they are, and not negative where `count` does.
    """
    small, large = (values > 0.0) & (values < SMALLEST), np.abs(values) > LARGEST
    faults = [(large, f"is larger than {LARGEST:g} in size")]
    if positive:
        faults.insert(0, (small, f"is nearer to zero than {SMALLEST:g}"))
        must = f"({positive} must be above zero)"
        faults += [(values == 0.0, f"is zero {must}"), (values < 0.0, f"is negative {must}")]
    elif count:
        faults.append((values < 0.0, f"is negative ({count} must not be)"))
    return {row: why for mask, why in faults for row in np.flatnonzero(mask).tolist()}


def numbers(cells: Iterable[Any]) -> tuple[Array, Reasons]:
    """Read cells as numbers, correctly rounded; NaN where one is not finite, with the reason by its position."""
    cells = list(cells)
    values = text_numbers(cells)
    if values is None:
        values = np.array([number_in(cell) for cell in cells], dtype=float)
    bad = np.flatnonzero(~np.isfinite(values)).tolist()
    values[bad] = np.nan
    reasons: Reasons = {}
    for i in bad:
        # A missing cell of a DataFrame is written NaN there, an empty one of a file is nothing at all.
        text = label(cells[i]).lower() or ("nan" if isinstance(cells[i], float) else "")
        why = (reason for pattern, reason in _FAULTS if re.fullmatch(pattern, text))
        reasons[i] = "is infinite" if math.isinf(number_in(cells[i])) else next(why)
    return values, reasons


def seconds_of(cells: Iterable[Any]) -> list[Any]:
    """Return cells with the seconds in the place of a duration in several units, or as a clock has it.

    A number with one unit stays: that belongs to the header, or to `--unit`. Beside others `28m` are minutes.

    >>> seconds_of(["00:01:30", "1-02:00:00", "2:03:04.5", "0:00:1.39", "3:04.5", "12:30", 7.5])
    [90.0, 93600.0, 7384.5, 1.39, 184.5, '12:30', 7.5]
    >>> seconds_of(["PT8H20M", "P1DT2H", "8:20 h", "8h 20"])
    [30000.0, 93600.0, 30000.0, 30000.0]
    >>> seconds_of(["8h20m", "1 d 2 h", "3min 20.5s", "6 hrs and 12 minutes", "28m", "5 s", "3 epochs", ""])
    [30000.0, 93600.0, 200.5, 22320.0, 1680.0, '5 s', '3 epochs', '']
    >>> seconds_of(["0 days 00:01:30", "1 day, 2:03:04.5"]), seconds_of(["28m", "5 s"]), seconds_of(["1.5h", "28m"])
    ([90.0, 93784.5], ['28m', '5 s'], [5400.0, 1680.0])
    """
    out = list(cells)
    if text_numbers(out) is not None:
        return out
    texts = [cell.strip().lower() if isinstance(cell, str) else "" for cell in out]
    texts = [_HOURS.sub(r"\1h\2m", _ISO.sub(r"\1 ", text)) for text in texts]
    clocks, durations = ([form.fullmatch(text) for text in texts] for form in (_CLOCK, _SEVERAL_UNITS))
    units = [0 if match is None else sum(map(bool, match.groups())) for match in durations]
    # `1.9h` beside `33m`
    ends = {text[-1] for text, count in zip(texts, units, strict=True) if count == 1}
    of_hours = {"h", "m"} <= ends <= {"h", "m", "s", "d"}
    for place, match in enumerate(durations):
        # What `m` is by itself, its neighbours tell.
        is_among_others = units[place] == 1 and max(units) > 1 and texts[place].endswith("m")
        alike = is_among_others or (of_hours and units[place] == 1)
        matched = clocks[place] or (match if units[place] > 1 or alike else None)
        if matched is not None:
            amounts = zip(matched.groups(), _PARTS.values(), strict=True)
            out[place] = sum(float(amount) * size for amount, size in amounts if amount)
    return out


def labels(cells: Iterable[Any]) -> Objects:
    """Read cells as texts."""
    listed = list(cells)
    try:
        # Most columns of a file hold nothing but texts.
        return np.array([*map(str.strip, listed)], dtype=object)
    except TypeError:
        return np.array([label(cell) for cell in listed], dtype=object)


def label(cell: Any) -> str:
    """Write a cell as text: whole numbers without a decimal point, a missing cell as the empty text."""
    if isinstance(cell, str):
        return cell.strip()
    if is_missing(cell):
        return ""
    if isinstance(cell, float | np.floating):
        value = float(cell)
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(cell).strip()


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is empty: None, NaN, or what pandas writes for either. A text is not."""
    return cell is None or (not isinstance(cell, str) and str(cell) in {"nan", "<NA>", "NaT"})


def finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by None, and numpy's by Python's."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def filled(cells: Iterable[Any]) -> Mask:
    """Return which cells hold something: no blanks, and no word for a missing value."""
    return np.array([label(cell).lower() not in MISSING | {""} for cell in cells], dtype=bool)


def mostly_numbers(cells: Sequence[Any]) -> bool:
    """Tell whether at least half of the filled cells are numbers: a few bad cells do not make a text column."""
    values = text_numbers(cells)
    if values is not None:
        return bool(len(values)) and 2 * int(np.isfinite(values).sum()) >= len(values)
    filled = [cell for cell in cells if label(cell)]
    return bool(filled) and 2 * sum(map(is_number, filled)) >= len(filled)


def text_numbers(cells: Sequence[Any] | Objects) -> Array | None:
    """Return the numbers of cells at once, as `number_in` reads them; None unless all are texts and numbers."""
    try:
        # `join` raises TypeError at a cell that is no text.
        together = "".join(cells)
        return np.array(cells, dtype=object).astype(float) if together.isascii() and "_" not in together else None
    except (TypeError, ValueError):
        return None


def number_in(cell: Any) -> float:
    """Return the number in a cell, infinite if it is, else NaN."""
    if isinstance(cell, bool | np.bool_):
        return math.nan
    try:
        # Python also reads 1_000 and digits of other scripts; a measurement file means something else by them.
        if isinstance(cell, str) and ("_" in cell or not cell.isascii()):
            return math.nan
        return float(cell)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf


def is_number(cell: Any) -> bool:
    """Tell whether a cell is a finite number."""
    return math.isfinite(number_in(cell))
