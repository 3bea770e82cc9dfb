"""What the cells of a column show: settings are chosen, measurements happen, and consequences follow from both."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from genperf.arrays import Array, Index, Mask, Objects
from genperf.table.cells import Cells
from genperf.table.clean import MISSING, labels, mostly_numbers, numbers, seconds_of

Texts = Mapping[Any, Objects]


# When cells look chosen, when a column adds to the others, and when arithmetic is no chance.
#: Columns whose meaning is matched: 1,000 take 3 s, and ten times as many a hundred times as long.
MAX_COLUMNS = 1000
#: In log odds that a column was chosen: a header that is one of the field's names for a setting, against cells
#: that look measured.
NAMED_LOG_ODDS = 4.0
#: The exponent with the count from which on a time falls, or a throughput grows: 13 % less per doubling. Of work
#: of each worker a time does not fall; of work that all share it may fall by as little near the last that helps.
LEAST_GROWTH = 0.2
#: Rows of a column that numbers them: fewer are consecutive by chance. A guess.
LEAST_NUMBERED = 4
#: The share of empty cells above which a column is of no use: its rows would be lost. Half and double
#: answer as many questions (experiments/results/settings.md).
MAX_EMPTY_CELLS = 0.2
#: Different texts per row: a column with more of them numbers or describes the runs. A kind that can be compared
#: has two runs, on average.
MAX_KIND_LEVELS = 0.5
#: Different combinations of kinds per row up to which they may determine another column: half-way between two runs
#: of each, which show it, and one, from which anything follows.
MAX_COMBINATIONS = 0.75
#: Counts of workers in the series of the median run below which the series are rows of one table.
READING_LEAST_COUNTS = 3.0
#: Binary digits of a whole number that is still round: 96 = 11₂·32, 288 = 1001₂·32, 60 = 1111₂·4. Half and
#: double answer as many questions (experiments/results/settings.md).
CHOSEN_BITS = 4
#: Significant digits of a number that is chosen, from `HUNDRED_LOG_ODDS` on, and of one that was measured.
#: One digit and four answer as many questions (experiments/results/settings.md).
CHOSEN_DIGITS = 2
HUNDRED_LOG_ODDS = 100.0
MEASURED_DIGITS = 4
#: The share of cells that must be round, equal to another one, or explained by a formula, to be evidence.
#: 0.4 and 0.85 answer as many questions (experiments/results/settings.md).
CELL_SHARE = 0.7
#: Half a unit of the last digit that is written, as a share: what rounding may change. Cells of three digits.
CELL_ROUNDING = 0.006
#: Least change of a column, as a share, that is worth an explanation: times of weak scaling hardly change.
LEAST_CHANGE = 0.1
#: Rows beyond the first from which it is no chance that a formula with a free constant holds, or that no two cells
#: are equal. One row and four answer as many questions (experiments/results/settings.md).
MORE_ROWS = 2
#: Rows and columns that are looked at for arithmetic: more of them take seconds.
ARITHMETIC_ROWS = 64
ARITHMETIC_COLUMNS = 60


@dataclass(frozen=True, eq=False)
class ColumnEvidence:
    """The cells of a column, and what they say."""

    texts: Objects

    @cached_property
    def values(self) -> Array:
        """The numbers; NaN where a cell is none."""
        return numbers(self.texts)[0]

    @cached_property
    def known(self) -> Array:
        """The cells that are numbers."""
        return self.values[np.isfinite(self.values)]

    @cached_property
    def numeric(self) -> bool:
        """Whether the cells are numbers, but for a few."""
        return mostly_numbers(list(self.texts))

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The different texts, in order of appearance."""
        return tuple(dict.fromkeys(text for text in self.texts.tolist() if text))

    @property
    def varies(self) -> bool:
        """Whether the column has several levels."""
        return len(self.levels) > 1

    def score(self) -> tuple[float, list[str]]:
        """Return the log odds that the numbers were chosen rather than measured, by the cells alone, with reasons."""
        sizes = np.abs(self.known[self.known != 0.0])
        if not len(sizes):
            return 0.0, []
        is_whole = bool(np.all(sizes == np.floor(sizes)))
        digits = np.array([_digits(value) for value in sizes])
        few = (digits == 1) | ((digits <= CHOSEN_DIGITS) & (sizes >= HUNDRED_LOG_ODDS))
        bits = np.ldexp(np.frexp(sizes)[0], CHOSEN_BITS)
        rounded = few | ((sizes == np.floor(sizes)) & (bits == np.floor(bits)))
        different = len(np.unique(sizes))
        repeated = 1.0 - (different - 1) / max(len(sizes) - 1, 1)
        matched: list[tuple[float, str]] = [(1.0, "whole numbers") if is_whole else (-1.0, "fractions")]
        if np.mean(rounded) >= CELL_SHARE:
            matched.append((1.5, "round numbers or powers of two"))
        elif float(np.median(digits)) >= MEASURED_DIGITS:
            matched.append((-1.5, f"{np.median(digits):.0f} significant digits"))
        if len(sizes) > MORE_ROWS:
            if repeated > 1.0 - CELL_SHARE:
                matched.append((1.5, "values that repeat from row to row"))
            elif np.mean(rounded) < CELL_SHARE:
                matched.append((-1.5, "hardly two equal values"))
        return sum(score for score, _ in matched), [reason for _, reason in matched]


def evidence_of(cells: Cells | Sequence[Any]) -> ColumnEvidence:
    """Return the evidence in the cells of a column.

    Examples
    --------
    >>> evidence_of([1, 2, 4, 8]).score()
    (2.5, ['whole numbers', 'round numbers or powers of two'])
    >>> evidence_of([91.44, 127.33, 173.51]).score()[0]
    -4.0
    """
    texts = labels(seconds_of(cells))
    missing = np.array([text.lower() in MISSING for text in texts.tolist()], dtype=bool)
    # Beside numbers, `none` is an empty cell; beside other words it is a level.
    return ColumnEvidence(np.where(missing, "", texts) if mostly_numbers(list(texts[~missing])) else texts)


def names_kinds(evidence: ColumnEvidence) -> bool:
    """Tell whether a column of texts names kinds of runs: several, and not almost one for each row."""
    return 1 < len(evidence.levels) <= max(2.0, MAX_KIND_LEVELS * len(evidence.texts))


def repeated_kinds(columns: Texts, kept: Collection[str] = ()) -> list[str]:
    """Return the columns of kinds that the others determine, such as a name put together from them; none of `kept`."""
    left = dict(columns)
    for name in sorted(columns, key=lambda n: (-int(numbered([columns[n]]).max()), -list(columns).index(n))):
        others = [cells for n, cells in left.items() if n != name]
        # Where nearly every row is another combination, anything follows from them.
        if not others or name in kept or alone(dict(enumerate(others))):
            continue
        if numbered(others).max() == numbered([*others, columns[name]]).max():
            del left[name]
    return [name for name in columns if name not in left]


def alone(columns: Texts) -> bool:
    """Tell whether nearly every row is another combination: a series of one run."""
    series = numbered([*columns.values()])
    return bool(series.max() + 1 > MAX_COMBINATIONS * len(series))


def sparse(columns: Texts, counts: Array) -> bool:
    """Tell whether the series of some kinds have too few counts each, though the table has enough of them."""
    series, scales = numbered([*columns.values()]), np.unique(counts, return_inverse=True)[1]
    counted = np.bincount(np.unique(np.stack([series, scales]), axis=1)[0])
    return len(np.unique(scales)) >= READING_LEAST_COUNTS > float(np.median(counted[series]))


def numbered(columns: Sequence[Objects]) -> Index:
    """Return for each row the number of its combination of texts, sorted; shape (rows,)."""
    codes = [np.unique(cells.astype(str), return_inverse=True)[1] for cells in columns]
    return np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()


def _digits(value: float) -> int:
    """Return the significant digits of a number as it is written shortest."""
    return max(1, len(f"{value:.12g}".partition("e")[0].replace(".", "").strip("0")))


@dataclass(frozen=True)
class Consequence:
    """A column as a constant times a product of powers of others: c·a, c/a, c·a·b, c·a/b or c/(a·b)."""

    factors: Mapping[str, int]

    def __str__(self) -> str:
        above = [name for name, power in self.factors.items() if power > 0]
        below = [name for name, power in self.factors.items() if power < 0]
        over = f"({' × '.join(below)})" if len(below) > 1 else "".join(below)
        return f"{' × '.join(above) or 'a constant'}{f' / {over}' if below else ''}"


def consequences(columns: Mapping[str, Array], settings: Sequence[str], series: Index) -> dict[str, Consequence]:
    """Return which columns follow from which others within their rounding.

    A column that follows is not used to explain another one. Settings come first, so that a rate follows from a time
    rather than a batch from a rate; they follow from other settings alone.

    Examples
    --------
    >>> time = np.array([92.0, 46.6, 25.17, 20.9, 37.5])
    >>> columns = {"n": np.array([1.0, 2, 4, 8, 16]), "t": time, "speedup": (92 / time).round(2)}
    >>> given = consequences(columns, ["n"], np.zeros(5, int))
    >>> {name: str(consequence) for name, consequence in given.items()}
    {'speedup': 'a constant / t'}
    """
    usable = {n: v for n, v in columns.items() if np.nanmin(v, initial=1.0) > 0.0 and np.isfinite(v).sum() > 1}
    names = [n for n in usable if len(np.unique(usable[n][np.isfinite(usable[n])])) > 1][:ARITHMETIC_COLUMNS]
    rows = np.arange(min(ARITHMETIC_ROWS, len(next(iter(columns.values()), []))))
    logs = {n: np.log(usable[n][rows]) for n in names}
    series_numbers = np.unique(series[rows], return_inverse=True)[1]
    matched: dict[str, Consequence] = {}
    for name in sorted(names, key=lambda n: (n in settings, names.index(n)), reverse=True):
        others = [n for n in names if n != name and n not in matched and (n in settings or name not in settings)]
        # What is proportional to the count so far may not be further on; to another measurement it is by definition.
        others.sort(key=lambda n: n in settings)
        consequence = _explained(logs[name], {n: logs[n] for n in others}, series_numbers)
        if consequence is not None:
            matched[name] = consequence
    return matched


def _explained(target: Array, others: Mapping[str, Array], parts: Index) -> Consequence | None:
    """Return the simplest product of powers of one or two columns that a column is proportional to."""
    names = list(others)
    if not names:
        return None
    matrix = np.stack([others[n] for n in names])
    for powers in ((1,), (-1,), (1, 1), (1, -1), (-1, -1)):
        of_each = itertools.combinations if len({*powers}) == 1 else itertools.permutations
        pairs = np.array([*of_each(range(len(names)), len(powers))], dtype=int)
        if not len(pairs):
            continue
        residuals = target - sum(power * matrix[pairs[:, k]] for k, power in enumerate(powers))
        chosen = np.flatnonzero(_constant(np.atleast_2d(residuals), target, parts))
        if len(chosen):
            return Consequence({names[i]: power for i, power in zip(pairs[chosen[0]], powers, strict=True)})
    return None


def _constant(residuals: Array, target: Array, parts: Index) -> Mask:
    """Tell which rows of residuals are one constant in each series, in enough cells of a column that varies."""
    finite = np.isfinite(residuals)
    plain = np.where(finite, residuals, 0.0)
    member = np.equal.outer(parts, np.arange(parts.max() + 1)).astype(float)
    counts = finite @ member
    means = (plain @ member) / np.maximum(counts, 1.0)
    away = np.where(finite, np.abs(plain - means[:, parts]), 0.0).max(axis=1)
    cells, free = finite.sum(axis=1), (counts > 0.0).sum(axis=1)
    enough = (cells >= free + MORE_ROWS) & (cells >= CELL_SHARE * np.isfinite(target).sum())
    changed = np.where(finite, target, -np.inf).max(axis=1) - np.where(finite, target, np.inf).min(axis=1)
    return np.asarray(enough & (changed >= LEAST_CHANGE) & (away <= CELL_ROUNDING))
