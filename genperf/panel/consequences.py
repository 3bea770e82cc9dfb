"""Columns that others give by arithmetic: a speedup, an efficiency, a global batch, a rate from work and time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ConsequenceSettings:
    """When arithmetic is no chance."""

    #: Half a unit of the last digit that is written, as a share: what rounding may change. Cells of three digits.
    rounding: float = 0.006
    #: Least change of a column, as a share, that is worth an explanation: times of weak scaling hardly change.
    least_change: float = 0.1
    #: Rows beyond the free constant of a formula from which it is no chance. A guess.
    more_rows: int = 2
    #: The share of a column's cells that a formula must explain. A guess.
    filled: float = 0.8
    #: Rows that are looked at, and columns: more of them take seconds.
    max_rows: int = 64
    max_columns: int = 60


CONSEQUENCES = ConsequenceSettings()


@dataclass(frozen=True)
class Consequence:
    """A column as a constant times a product of powers of others: c·a, c/a, c·a·b, c·a/b or c/(a·b)."""

    factors: Mapping[str, int]

    def __str__(self) -> str:
        above = [name for name, power in self.factors.items() if power > 0]
        below = [name for name, power in self.factors.items() if power < 0]
        over = f"({' × '.join(below)})" if len(below) > 1 else "".join(below)
        return f"{' × '.join(above) or 'a constant'}{f' / {over}' if below else ''}"


def consequences(
    columns: Mapping[str, Array], settings: Sequence[str], series: npt.NDArray[np.intp] | None = None
) -> dict[str, Consequence]:
    """Return which columns follow from which others within their rounding.

    A column that follows is not used to explain another one. Settings come first, so that a rate follows from a time
    rather than a batch from a rate.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (rows,)
        Numbers, those that explain best first.
    settings : sequence of str
        Columns that were chosen: they follow from other settings alone.
    series : ndarray of int of shape (rows,), optional
        Which rows share a constant: a speedup has another first time in each series.

    Examples
    --------
    >>> time = np.array([92.0, 46.6, 25.17, 20.9, 37.5])
    >>> given = consequences({"n": np.array([1.0, 2, 4, 8, 16]), "t": time, "speedup": (92 / time).round(2)}, ["n"])
    >>> {name: str(consequence) for name, consequence in given.items()}
    {'speedup': 'a constant / t'}
    """
    usable = {n: v for n, v in columns.items() if np.nanmin(v, initial=1.0) > 0.0 and np.isfinite(v).sum() > 1}
    names = [n for n in usable if len(np.unique(usable[n][np.isfinite(usable[n])])) > 1][: CONSEQUENCES.max_columns]
    rows = np.arange(min(CONSEQUENCES.max_rows, len(next(iter(columns.values()), []))))
    logs = {n: np.log(usable[n][rows]) for n in names}
    parts = np.zeros(len(rows), dtype=np.intp) if series is None else np.unique(series[rows], return_inverse=True)[1]
    matched: dict[str, Consequence] = {}
    for name in sorted(names, key=lambda n: (n in settings, names.index(n)), reverse=True):
        others = [n for n in names if n != name and n not in matched and (n in settings or name not in settings)]
        consequence = _explained(logs[name], {n: logs[n] for n in others}, parts)
        if consequence is not None:
            matched[name] = consequence
    return matched


def _explained(target: Array, others: Mapping[str, Array], parts: npt.NDArray[np.intp]) -> Consequence | None:
    """Return the simplest product of powers of one or two columns that a column is proportional to."""
    names = list(others)
    if not names:
        return None
    matrix = np.stack([others[n] for n in names])
    for powers in ((1,), (-1,), (1, 1), (1, -1), (-1, -1)):
        pairs = np.array(list(itertools.permutations(range(len(names)), len(powers))), dtype=int)
        if len(powers) == 2 and powers[0] == powers[1]:
            pairs = pairs[pairs[:, 0] < pairs[:, 1]] if len(pairs) else pairs
        if not len(pairs):
            continue
        residuals = target - sum(power * matrix[pairs[:, k]] for k, power in enumerate(powers))
        chosen = np.flatnonzero(_constant(np.atleast_2d(residuals), target, parts))
        if len(chosen):
            return Consequence({names[i]: power for i, power in zip(pairs[chosen[0]], powers, strict=True)})
    return None


def _constant(residuals: Array, target: Array, parts: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Tell which rows of residuals are one constant in each series, in enough cells of a column that varies."""
    known = np.isfinite(residuals)
    plain = np.where(known, residuals, 0.0)
    member = np.equal.outer(parts, np.arange(parts.max() + 1)).astype(float)
    counts = known @ member
    means = (plain @ member) / np.maximum(counts, 1.0)
    away = np.where(known, np.abs(plain - means[:, parts]), 0.0).max(axis=1)
    cells, free = known.sum(axis=1), (counts > 0.0).sum(axis=1)
    enough = (cells >= free + CONSEQUENCES.more_rows) & (cells >= CONSEQUENCES.filled * np.isfinite(target).sum())
    changed = np.where(known, target, -np.inf).max(axis=1) - np.where(known, target, np.inf).min(axis=1)
    return np.asarray(enough & (changed >= CONSEQUENCES.least_change) & (away <= CONSEQUENCES.rounding))
