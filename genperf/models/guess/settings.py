"""Which columns of a table say something of a run that no other column says, judged by their cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genperf.table.cells import Cells
from genperf.table.clean import labels, numbers

Texts = Mapping[str, npt.NDArray[np.object_]]


@dataclass(frozen=True)
class SettingSettings:
    """When a column is taken for a setting of the runs."""

    #: The share of empty cells above which a column is of no use: its rows would be lost. A guess.
    max_empty: float = 0.2
    #: Different combinations of kinds per row up to which they may tell another column: with more of them any column
    #: seems to follow. A guess.
    max_combinations: float = 0.75
    #: Relative difference below which a batch of all workers is that of one worker times their number: of rounding.
    same_product: float = 1e-6
    #: Counts of workers in the median of the series below which they are rows of one table: from two no curve is told.
    least_counts: float = 3.0
    #: Columns of a table whose roles are guessed: 1,000 take 3 s, and ten times as many a hundred times as long.
    max_columns: int = 1000


SETTINGS = SettingSettings()


def often_empty(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column would lose too many rows: many leave it empty, as it belongs to another kind of run.

    Examples
    --------
    >>> often_empty(["", "", "8"]), often_empty(["4", "", "8", "1", "1"])
    (True, False)
    """
    return bool(np.mean(labels(cells) == "") > SETTINGS.max_empty)


def is_switch(cells: Cells | Sequence[Any]) -> bool:
    """Tell whether a column of numbers says on or off: 0 and 1 and nothing else.

    Examples
    --------
    >>> is_switch(["0", "1", "1"]), is_switch(["1", "2"]), is_switch(["0", "0"])
    (True, False, False)
    """
    return {*labels(cells).tolist()} - {""} == {"0", "1"}


def repeated_kinds(columns: Texts, kept: Collection[str] = ()) -> list[str]:
    """Return the columns of kinds that the others tell, such as a name put together from them, the finest first.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
    kept : collection of str
        Columns that are never told by others.

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

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)

    Examples
    --------
    >>> net, line = (np.array(t, dtype=object) for t in (["a", "a", "b", "b"], ["1", "2", "3", "4"]))
    >>> alone({"net": net}), alone({"net": net, "line": line})
    (False, True)
    """
    codes = [np.unique(cells.astype(str), return_inverse=True)[1] for cells in columns.values()]
    return _combinations(codes) > SETTINGS.max_combinations * len(codes[0])


def sparse(columns: Texts, counts: Cells | Sequence[Any]) -> bool:
    """Tell whether the series of some kinds have too few counts each, though the table has enough of them.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        Each combination of their levels is a series.
    counts : sequence
        Of workers, in the same rows.

    Examples
    --------
    >>> net = np.array(["a", "a", "b", "b", "c", "c"], dtype=object)
    >>> sparse({"net": net}, [1, 2, 4, 8, 1, 8]), sparse({"net": net}, [1, 2, 1, 2, 1, 2])
    (True, False)
    """
    codes = [np.unique(cells.astype(str), return_inverse=True)[1] for cells in columns.values()]
    series = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()
    scales = np.unique(numbers(counts)[0], return_inverse=True)[1]
    pairs = np.unique(np.stack([series, scales]), axis=1)
    each = np.bincount(pairs[0])
    return len(np.unique(scales)) >= SETTINGS.least_counts > float(np.median(each))


def _combinations(codes: Sequence[npt.NDArray[np.intp]]) -> int:
    return len(np.unique(np.stack(codes), axis=1).T)


def same_numbers(cells: Cells | Sequence[Any], others: Cells | Sequence[Any]) -> bool:
    """Tell whether two columns hold the same numbers in all rows, and more than one of them.

    Examples
    --------
    >>> same_numbers([1, 2, 4], ["1", "2", "4"]), same_numbers([1, 2, 4], [1, 2, 8]), same_numbers([4, 4], [4, 4])
    (True, False, False)
    """
    values, repeated = numbers(cells)[0], numbers(others)[0]
    return bool(np.array_equal(values, repeated) and len(np.unique(values)) > 1)


def is_product(whole: Cells | Sequence[Any], *factors: Cells | Sequence[Any]) -> bool:
    """Tell whether a column is the product of others wherever all are numbers.

    Examples
    --------
    >>> is_product([64, 128, 256], [32, 32, 64], [2, 4, 4]), is_product([64, 64], [32, 32], [2, 4])
    (True, False)
    """
    values, *parts = (numbers(cells)[0] for cells in (whole, *factors))
    product = np.prod(np.stack(parts), axis=0)
    known = np.isfinite(values) & np.isfinite(product)
    return bool(
        known.any() and np.all(np.abs(values - product)[known] <= SETTINGS.same_product * np.abs(values)[known])
    )
