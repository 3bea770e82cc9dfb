"""What the cells of a column say of it: settings are chosen, measurements happen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.table.cells import Cells
from genperf.table.clean import MISSING, labels, mostly_numbers, numbers, seconds_of

Array = npt.NDArray[np.float64]
Texts = Mapping[str, npt.NDArray[np.object_]]


@dataclass(frozen=True)
class EvidenceSettings:
    """When cells look chosen, and when a column says what no other column says."""

    #: The share of empty cells above which a column is of no use: its rows would be lost. A guess.
    max_empty: float = 0.2
    #: Different texts per row: a column with more of them numbers or describes the runs. A guess.
    max_levels: float = 0.5
    #: Different combinations of kinds per row up to which they may determine another column. A guess.
    max_combinations: float = 0.75
    #: Relative difference below which two numbers are one: of rounding.
    same: float = 1e-6
    #: Counts of workers in the median of the series below which they are rows of one table.
    least_counts: float = 3.0
    #: The largest odd part of a number that is still round: 96 = 3·32, 288 = 9·32, 15·4. A guess.
    max_odd_part: int = 15
    #: Significant digits of a number that is chosen, from `hundred` on, and of one that was measured. A guess.
    chosen_digits: int = 2
    hundred: float = 100.0
    measured_digits: int = 4
    #: The share of cells that must be round, or equal to another one, to be evidence. A guess.
    share: float = 0.7
    #: Rows from which it is evidence that no two cells are equal. A guess.
    fewest_rows: int = 3


SETTINGS = EvidenceSettings()


@dataclass(frozen=True, eq=False)
class Evidence:
    """The cells of a column, and what they say."""

    texts: npt.NDArray[np.object_]

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
        whole = bool(np.all(sizes == np.floor(sizes)))
        digits = np.array([_digits(value) for value in sizes])
        few = (digits == 1) | ((digits <= SETTINGS.chosen_digits) & (sizes >= SETTINGS.hundred))
        rounded = few | ((sizes == np.floor(sizes)) & (_odd_part(sizes) <= SETTINGS.max_odd_part))
        different = len(np.unique(sizes))
        repeated = 1.0 - (different - 1) / max(len(sizes) - 1, 1)
        matched: list[tuple[float, str]] = [(1.0, "whole numbers") if whole else (-1.0, "fractions")]
        if np.mean(rounded) >= SETTINGS.share:
            matched.append((1.5, "round numbers or powers of two"))
        elif float(np.median(digits)) >= SETTINGS.measured_digits:
            matched.append((-1.5, f"{np.median(digits):.0f} significant digits"))
        if len(sizes) >= SETTINGS.fewest_rows:
            if repeated > 1.0 - SETTINGS.share:
                matched.append((1.5, "values that repeat from row to row"))
            elif np.mean(rounded) < SETTINGS.share:
                matched.append((-1.5, "hardly two equal values"))
        return sum(score for score, _ in matched), [reason for _, reason in matched]


def evidence_of(cells: Cells | Sequence[Any]) -> Evidence:
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
    return Evidence(np.where(missing, "", texts) if mostly_numbers(list(texts[~missing])) else texts)


def often_empty(texts: npt.NDArray[np.object_]) -> bool:
    """Tell whether a column would lose too many rows: many leave it empty.

    Examples
    --------
    >>> often_empty(labels(["", "", "8"])), often_empty(labels(["4", "", "8", "1", "1"]))
    (True, False)
    """
    return bool(np.mean(texts == "") > SETTINGS.max_empty)


def names_kinds(evidence: Evidence) -> bool:
    """Tell whether a column of texts names kinds of runs: several, and not almost one for each row."""
    return 1 < len(evidence.levels) <= max(2.0, SETTINGS.max_levels * len(evidence.texts))


def repeated_kinds(columns: Texts, kept: Collection[str] = ()) -> list[str]:
    """Return the columns of kinds that the others determine, such as a name put together from them, the finest first.

    Parameters
    ----------
    kept : collection of str
        Columns that are never determined by others.

    Examples
    --------
    >>> net, gpu = (np.array(t * 2, dtype=object) for t in (["a", "a", "b", "b"], ["x", "y", "x", "y"]))
    >>> repeated_kinds({"net": net, "gpu": gpu, "name": net + "-" + gpu})
    ['name']
    """
    codes = {name: np.unique(cells.astype(str), return_inverse=True)[1] for name, cells in columns.items()}
    gone: list[str] = []
    for name in sorted(codes, key=lambda n: (-int(codes[n].max()), -list(codes).index(n))):
        others = [code for n, code in codes.items() if n != name and n not in gone]
        if name in kept or not others:
            continue
        count = _combinations(others)
        # Where nearly every row is a combination of its own, anything follows from them.
        if count <= SETTINGS.max_combinations * len(others[0]) and count == _combinations([*others, codes[name]]):
            gone.append(name)
    return gone


def alone(columns: Texts) -> bool:
    """Tell whether nearly every row is a combination of its own: a series of one run.

    Examples
    --------
    >>> net, line = (np.array(t, dtype=object) for t in (["a", "a", "b", "b"], ["1", "2", "3", "4"]))
    >>> alone({"net": net}), alone({"net": net, "line": line})
    (False, True)
    """
    codes = [np.unique(cells.astype(str), return_inverse=True)[1] for cells in columns.values()]
    return _combinations(codes) > SETTINGS.max_combinations * len(codes[0])


def sparse(columns: Texts, counts: Array) -> bool:
    """Tell whether the series of some kinds have too few counts each, though the table has enough of them.

    Examples
    --------
    >>> net = np.array(["a", "a", "b", "b", "c", "c"], dtype=object)
    >>> sparse({"net": net}, np.array([1, 2, 4, 8, 1, 8])), sparse({"net": net}, np.array([1, 2, 1, 2, 1, 2]))
    (True, False)
    """
    codes = [np.unique(cells.astype(str), return_inverse=True)[1] for cells in columns.values()]
    series = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()
    scales = np.unique(counts, return_inverse=True)[1]
    pairs = np.unique(np.stack([series, scales]), axis=1)
    each = np.bincount(pairs[0])
    return len(np.unique(scales)) >= SETTINGS.least_counts > float(np.median(each))


def _combinations(codes: Sequence[npt.NDArray[np.intp]]) -> int:
    return len(np.unique(np.stack(codes), axis=1).T)


def _digits(value: float) -> int:
    """Return the significant digits of a number as it is written shortest."""
    mantissa = f"{value:.12g}".partition("e")[0].replace(".", "").strip("0")
    return max(1, len(mantissa))


def _odd_part(values: Array) -> Array:
    """Return whole numbers without their factors of two."""
    odd = values.copy()
    for _ in range(60):
        even = (odd % 2 == 0) & (odd > 0)
        if not even.any():
            break
        odd[even] /= 2
    return odd
