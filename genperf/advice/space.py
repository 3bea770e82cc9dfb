"""The configurations that `optimize` evaluates: a grid, and what the model reads at each of its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.advice.grid import Axis, Grid, read_grid
from genperf.errors import FormulaError, TableError, suggest
from genperf.formula import Formula, Name, parse, render, substitute
from genperf.formula.amounts import amount
from genperf.panel.following import settled
from genperf.prediction import Schema, read_query
from genperf.prediction.query import model_names

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Space:
    """A grid over a model's factors, and over names that only the formulas read."""

    grid: Grid
    #: Factors that follow from the grid's names.
    derived: dict[str, Formula]
    #: Factors with one measured value, which is taken, and the values of the model's group.
    held: dict[str, Any]
    #: What the model reads.
    factors: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Everything that a configuration has."""
        return [*(a.name for a in self.grid.axes), *self.derived, *self.held]

    @property
    def texts(self) -> list[str]:
        """What of it is text."""
        return [
            *(a.name for a in self.grid.axes if not a.numeric),
            *(name for name, value in self.held.items() if isinstance(value, str)),
        ]

    def block(self, start: int, stop: int) -> Columns:
        """Return the configurations from `start` to before `stop`."""
        return self.completed(self.grid.columns(start, stop))

    def take(self, positions: npt.NDArray[np.int64]) -> Columns:
        """Return the configurations at some positions."""
        return self.completed(self.grid.take(positions))

    def completed(self, columns: Columns) -> Columns:
        """Return values of the grid's names together with what follows from them."""
        rows = len(next(iter(columns.values())))
        derived = {
            name: np.asarray(f.evaluate({n: columns[n] for n in f.names}), float) for name, f in self.derived.items()
        }
        filled = {
            name: np.full(rows, value, dtype=object if isinstance(value, str) else float)
            for name, value in self.held.items()
        }
        return {**columns, **derived, **filled}

    def reduced(self, columns: Columns, names: Sequence[str]) -> Columns:
        """Return the configurations with some of the grid's names set to 1."""
        rows = len(next(iter(columns.values())))
        return self.completed({a.name: np.ones(rows) if a.name in names else columns[a.name] for a in self.grid.axes})

    def frame(self, columns: Columns) -> pd.DataFrame:
        """Return the factors of the configurations, for `FitResult.predict`."""
        return pd.DataFrame({name: columns[name] for name in self.factors})


def in_model_names(text: str, schema: Schema) -> str:
    """Return a formula over the model's columns, where it is written in the field's names that the user mapped.

    Examples
    --------
    >>> from genperf.table import Factor, Target
    >>> ranks = Factor("ranks", "extrinsic", 1, 16, distinct=5, positive=True)
    >>> in_model_names("time*workers", Schema((ranks,), Target("step_s"), mapping={"workers": "ranks"}))
    'time*ranks'
    """
    try:
        formula = parse(text, texts=[f.name for f in schema.factors if not f.numeric])
    except FormulaError:
        # It is refused where it is read, with what may stand in it.
        return text
    mapped = {name: column for name in formula.names if (column := schema.column(name)) != name}
    if not mapped:
        return text
    return render(substitute(formula.node, {name: Name(column) for name, column in mapped.items()}))


def read_space(
    over: Mapping[str, Any], schema: Schema, formulas: Sequence[str], group: Mapping[str, str] | None = None
) -> Space:
    """Return the configurations, checked against the factors of the model.

    Parameters
    ----------
    over : mapping of str to values
        As `read_grid` takes them. A name that is not the model's must occur in one of the formulas.
    formulas : sequence of str
        Everything that is minimised or must hold.
    group : mapping of str to str, optional
        The group's values, which the formulas may read: as numbers where they are such.

    Raises
    ------
    TableError
        Where a factor is missing or unknown, or a value is not one the model can take.
    GenperfError
        As `read_grid`.
    """
    columns = model_names(over, schema)
    grid = read_grid({columns[name]: values for name, values in over.items()})
    given = {a.name for a in grid.axes}
    derived = _derived(schema, given)
    _check_names(given, schema, derived, formulas)
    _check_complete(given, schema, derived)
    read = {f.name for f in schema.factors} | {n for f in derived.values() for n in f.names}
    axes_read = [a for a in grid.axes if a.name in read]
    rows = max((len(a.values) for a in axes_read), default=1)
    # One row per value of the longest axis is enough for every value of every axis to be checked.
    cycled = pd.DataFrame({a.name: np.resize(a.values, rows) for a in axes_read}, index=range(rows))
    checked = read_query(cycled, schema).columns if schema.factors else {}
    axes = tuple(
        Axis(a.name, np.asarray(checked[a.name][: len(a.values)])) if a.name in checked else a for a in grid.axes
    )
    held = {
        f.name: (f.lower if f.numeric else f.levels[0])
        for f in schema.factors
        if f.name not in given and f.name not in derived
    }
    for name, text in (group or {}).items():
        value = amount(text)
        held.setdefault(name, text if value is None else value)
    return Space(Grid(axes), derived, held, tuple(f.name for f in schema.factors))


def levels_over(over: Mapping[str, Any], schema: Schema) -> dict[str, list[Any]]:
    """Return the levels of categorical factors that a grid has, measured or not.

    Parameters
    ----------
    over : mapping of str to values
        As `read_grid` takes them.
    """
    kinds = {f.name for f in schema.factors if not f.numeric}
    given = {name: values for name, values in over.items() if schema.column(name) in kinds}
    return {axis.name: axis.values.tolist() for axis in read_grid(given).axes} if given else {}


def _derived(schema: Schema, given: set[str]) -> dict[str, Formula]:
    """Return the formulas of the factors that follow from what is given."""
    texts = {**schema.derived, **settled(schema.settlements, given)}
    formulas = {name: parse(text) for name, text in texts.items()}
    return {name: formula for name, formula in formulas.items() if name not in given and formula.names <= given}


def _check_names(given: set[str], schema: Schema, derived: Mapping[str, Formula], formulas: Sequence[str]) -> None:
    """Refuse names that neither the model nor a formula reads."""
    known = [f.name for f in schema.factors]
    used = {n for f in derived.values() for n in f.names}
    for text in formulas:
        try:
            used |= parse(text).names
        except FormulaError:
            # It is refused where it is read, with what may stand in it.
            continue
    for name in sorted(given - used - set(known)):
        raise TableError(
            f"the model has no factor '{name}', and no formula reads it",
            hint=suggest(name, known) or f"one of {', '.join(known)}",
        )


def _check_complete(given: set[str], schema: Schema, derived: Mapping[str, Formula]) -> None:
    """Refuse a grid that leaves a factor without a value."""
    absent = [f for f in schema.factors if f.name not in given and f.name not in derived and f.distinct != 1]
    if not absent:
        return
    shown = [
        f"--over {f.name}=" + (f"{f.lower:g}:{f.upper:g}" if f.numeric else ",".join(f.levels[:6])) for f in absent
    ]
    if len(absent) > 1:
        names = ", ".join(f"'{f.name}'" for f in absent[:-1]) + f" and '{absent[-1].name}'"
        raise TableError(f"factors {names} are given no value", hint=" ".join(shown) + " (as measured)")
    f = absent[0]
    measured = f"measured from {f.lower:g} to {f.upper:g}" if f.numeric else "or one of its levels"
    raise TableError(f"factor '{f.name}' is given no value", hint=f"{shown[0]} ({measured})")
