"""Which configurations are fitted and which are predicted; repeats of a configuration always stay together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct

from genperf.arrays import AnyArray, Integers, Mask, Objects
from genperf.errors import TableError, did_you_mean, suggest
from genperf.panel import Table
from genperf.panel.table import number_rows
from genperf.table.clean import label, labels, numbers

#: The schemes, as they are written, with the question that each answers.
SCHEMES: dict[str, str] = {
    "kfold:K": "how well configurations between the measured ones are predicted",
    "leave-one-out": "the same, each configuration from all others",
    "leave-group-out:COLUMN": "how well a kind of runs is predicted from the other kinds",
    "extrapolate:COLUMN[:LIMIT]": "how well configurations beyond the measured ones are predicted",
}


class Split(Struct, frozen=True, eq=False):
    """One fold."""

    name: str  #: What is held out, in words or as a number.
    #: Shape (rows,). Rows of the table; those in neither are not used.
    train: Mask
    test: Mask


def split(table: Table, scheme: str, seed: int = 0) -> tuple[Split, ...]:
    """Split a table's configurations into folds.

    >>> runs = pd.DataFrame({"n": [1, 1, 2, 4, 8], "t": [8.0, 8.1, 4.2, 2.3, 1.4]})
    >>> (fold,) = split(gp.read_table(runs, time="t", extrinsic="n"), "extrapolate:n:2")
    >>> fold.name, fold.train, fold.test
    ('n > 2', array([ True, True, True, False, False]), array([False, False, False, True, True]))
    """
    kind, _, argument = scheme.strip().partition(":")
    if kind == "kfold":
        return _kfold(table, argument, seed)
    if kind == "leave-one-out" and not argument:
        return _by_configuration(table, np.arange(_configurations(table)))
    if kind == "leave-group-out" and argument:
        return _leave_group_out(table, argument)
    if kind == "extrapolate" and argument:
        return _extrapolate(table, argument)
    forms = {s.partition(":")[0]: s for s in SCHEMES}
    near = f"did you mean '{forms[kind]}'?" if kind in forms else did_you_mean(kind, forms)
    schemes_text = "one of " + ", ".join(SCHEMES)
    hint = f"{near}; {schemes_text}" if near else schemes_text
    raise TableError(f"'{scheme}' is not a scheme of validation", hint=hint)


def _kfold(table: Table, text: str, seed: int) -> tuple[Split, ...]:
    """Return so many splits, with the shuffled configurations of every group dealt into the folds in turn."""
    if not (text.isdecimal() and int(text) >= 2):
        raise TableError(f"'kfold:{text}' gives no number of folds (2 or more)", hint="kfold:5")
    count = _configurations(table)
    folds = int(text)
    if folds > count:
        what = f"{folds} folds need at least {folds} configurations, and there are {count}"
        raise TableError(what, hint="leave-one-out, or fewer folds", where=table.source)
    order = np.random.default_rng(seed).permutation(count)
    if table.group:
        _, first_row = np.unique(table.configuration, return_index=True)
        group = number_rows(table.frame, list(table.group))[first_row]
        order = order[np.argsort(group[order], kind="stable")]
    # Each configuration by its place in that order, dealt in turn.
    return _by_configuration(table, np.argsort(order) % folds)


def _by_configuration(table: Table, fold: Integers) -> tuple[Split, ...]:
    """Return the splits for the fold of each configuration, shape (configurations,)."""
    if len(fold) < 2:
        raise TableError("there is only one configuration: nothing can be held out", where=table.source)
    return _held_out_each(fold[table.configuration] + 1, range(1, int(fold.max()) + 2))


def _held_out_each(of_row: AnyArray, folds: Iterable[Any], of: str = "") -> tuple[Split, ...]:
    """Return a split for each fold, which holds out the rows that have it in `of_row`; `of` begins its name."""
    return tuple(Split(f"{of}{fold}", of_row != fold, of_row == fold) for fold in folds)


def _leave_group_out(table: Table, column: str) -> tuple[Split, ...]:
    """Hold out the configurations of each value of a column in turn; an empty cell is no value."""
    values = _column(table, column)
    if column in table.group:
        what = f"each {column} has a model of its own, which cannot predict another {column}"
        raise TableError(what, hint=f"--categorical {column} in place of --group, or kfold:5", where=table.source)
    texts = _same_within_configurations(table, column)
    names = sorted({*texts} - {""}, key=float if pd.api.types.is_numeric_dtype(values) else str)
    if len(names) < 2:
        what = f"column '{column}' has {'one value' if names else 'no value'}: no group can be left out"
        raise TableError(what, hint="kfold:5, or another column", where=table.source)
    return _held_out_each(texts, names, f"{column} = ")


def _extrapolate(table: Table, text: str) -> tuple[Split, ...]:
    """Hold out what is beyond the limit of ``COLUMN:LIMIT``, without one beyond each group's second largest value."""
    column, colon, limit_text = text.rpartition(":")
    limit: float | None = None
    if text in table.frame or not colon:
        # A column may have a colon in its name.
        column = text
    else:
        (limit,), unread = numbers([limit_text])
        if unread:
            raise TableError(f"the limit '{limit_text}' is not a number", hint=f"extrapolate:{column or 'COLUMN'}:8")
    values = pd.to_numeric(_column(table, column), errors="coerce").to_numpy(dtype=float)
    if not (finite := np.isfinite(values)).all():
        cell_text = label(table.frame[column].iloc[int(finite.argmin())]) or "an empty cell"
        what = f"column '{column}' has no order to extrapolate along: '{cell_text}' is not a number"
        raise TableError(what, hint=f"leave-group-out:{column}", where=table.source)
    _same_within_configurations(table, column)
    if limit is not None:
        limits, at, name = np.full(len(table), limit), f" {limit:g}", f"{column} > {limit:g}"
    else:
        group = number_rows(table.frame, list(table.group)) if table.group else np.zeros(len(table), dtype=np.int64)
        # The only value where there is no second.
        limits = pd.Series(values).groupby(group).transform(lambda rows: np.unique(rows)[-2:][0]).to_numpy()
        at, name = " the second largest value", f"largest {column}" if table.group else f"{column} > {limits[0]:g}"
    train, test = values <= limits, values > limits
    if not test.any() or not train.any():
        measured = "one value" if values.min() == values.max() else f"{values.min():g} to {values.max():g}"
        what = f"no configuration has {column} {'up to' if test.any() else 'above'}{at}: the table has {measured}"
        hint = f"extrapolate:{column}:LIMIT with measurements on both sides of the limit"
        raise TableError(what, hint=hint, where=table.source)
    return (Split(name, train, test),)


def _column(table: Table, name: str) -> pd.Series[Any]:
    if name not in table.frame:
        names = [str(c) for c in table.frame.columns]
        raise TableError(f"no column '{name}'", hint=suggest(name, names), where=table.source)
    return table.frame[name]


def _same_within_configurations(table: Table, column: str) -> Objects:
    """Return a column as text; refuse one that would put repeats of one configuration on both sides."""
    texts = labels(table.frame[column])
    if len({*zip(table.configuration.tolist(), texts, strict=True)}) > _configurations(table):
        what = f"column '{column}' differs between repeats of one configuration, which would land on both sides"
        raise TableError(what, hint=f"name '{column}' as a factor, or split by another column", where=table.source)
    return texts


def _configurations(table: Table) -> int:
    """Return how many configurations a table has."""
    return int(table.configuration.max()) + 1
