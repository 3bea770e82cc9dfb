"""The configurations that `optimize` evaluates: a grid, and what the model reads at each of its points."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from genperf.arrays import AnyArray, Array, Index
from genperf.errors import FormulaError, GenperfError, TableError, suggest
from genperf.formula import Name, parse, render, substitute
from genperf.formula.amounts import amount
from genperf.panel import Panel
from genperf.panel.configurations import completed, parts_given
from genperf.prediction import Schema, read_query

Columns = dict[str, AnyArray]


# How large a grid may be.
#: More are refused. Ten million take about ten seconds (experiments/results/optimize.md).
MAX_CONFIGURATIONS = 20_000_000
#: A range reaches its last value where it is so near to it, in steps: rounding errors.
RELATIVE_SLACK = 1e-9
#: A range of more values is refused without their count: a number of hundreds of digits tells nobody anything.
COUNTABLE_VALUES = 1e18


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"^({_NUMBER})\s*:\s*({_NUMBER})(?:\s*:\s*(\*?)\s*({_NUMBER}))?$")


@dataclass(frozen=True, eq=False)
class GridAxis:
    """One name and the values it may take: floats, or texts for levels."""

    name: str
    values: AnyArray

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.values.dtype != object


@dataclass(frozen=True, eq=False)
class Grid:
    """Every combination of the axes' values; the last axis runs fastest."""

    axes: tuple[GridAxis, ...]

    @property
    def size(self) -> int:
        """How many configurations there are."""
        return math.prod(len(a.values) for a in self.axes)

    def columns(self, positions: Index) -> dict[str, AnyArray]:
        """Return the configurations at some positions, by name."""
        columns: dict[str, AnyArray] = {}
        left = np.asarray(positions)
        for axis in reversed(self.axes):
            left, place = np.divmod(left, len(axis.values))
            columns[axis.name] = axis.values[place]
        return {a.name: columns[a.name] for a in self.axes}


def read_grid(over: Mapping[str, Any]) -> Grid:
    """Read the values of each axis."""
    if not over:
        raise GenperfError("nothing is varied", hint="--over workers=1:256")
    axes = tuple(_axis(name, given) for name, given in over.items())
    if math.prod(len(axis.values) for axis in axes) > MAX_CONFIGURATIONS:
        longest = max(axes, key=lambda axis: len(axis.values))
        _refuse_size({a.name: len(a.values) for a in axes}, longest.name, longest.values.min(), longest.values.max())
    return Grid(axes)


def _axis(name: str, given: Any) -> GridAxis:
    """Read the values of an axis: numbers, or texts as soon as one is no number."""
    if isinstance(given, str):
        given = given.split(",") if given.strip() else []
    elif not isinstance(given, Sequence | range | np.ndarray | pd.Series | pd.Index):
        given = [given]
    parts = [_values(name, item) for item in given]
    if not parts:
        raise GenperfError(f"'{name}' is given no value", hint=f"--over {name}=1,2,4")
    if not any(isinstance(part, str) for part in parts):
        return GridAxis(name, np.asarray(pd.unique(np.concatenate(parts))))
    texts = [text for part in parts for text in ([part] if isinstance(part, str) else [f"{v:g}" for v in part])]
    return GridAxis(name, np.array(list(dict.fromkeys(texts)), dtype=object))


def _values(name: str, item: Any) -> Array | str:
    """Read one item of an axis: a number or a range, else a text."""
    if isinstance(item, str):
        text = item = item.strip()
        if not text:
            raise GenperfError(f"a value of '{name}' is empty", hint=f"--over {name}=1,2,4")
        if "_" in text or not text.isascii():
            # Python would read 1_000 and the digits of other scripts; a table does not.
            return text
        if match := _RANGE.match(text):
            return _range(name, match)
        try:
            item = float(text)
        except ValueError:
            if ":" in text:
                hint = f"{name}=1:256, {name}=0:64:8 or {name}=1:256:*2"
                raise GenperfError(f"'{text}' of '{name}' is not a range", hint=hint) from None
            return text
    if not math.isfinite(float(item)):
        raise GenperfError(f"'{name}' is given {float(item)}, which is not finite", hint=f"--over {name}=1:256")
    return np.array([float(item)])


def _range(name: str, match: re.Match[str]) -> Array:
    """Return the values of a range `first:last`, `first:last:step` or `first:last:*factor`."""
    first, last, star, by = match.groups()
    low, high, step, power = float(first), float(last), float(by or 1.0), star == "*"
    range_ = f"the range {match.string} of '{name}'"
    if high < low:
        raise GenperfError(f"{range_} runs downwards", hint=f"{name}={last}:{first}")
    if power and (low <= 0 or step <= 1):
        raise GenperfError(f"{range_} needs a start above 0 and a factor above 1", hint=f"{name}=1:256:*2")
    if step <= 0:
        raise GenperfError(f"{range_} needs a step above 0", hint=f"{name}={first}:{last}:1")
    steps = (math.log(high / low) / math.log(step) if power else (high - low) / step) + RELATIVE_SLACK
    if not steps < COUNTABLE_VALUES:
        most = f"at most {MAX_CONFIGURATIONS:,} are evaluated"
        raise GenperfError(f"{range_} holds too many values: {most}", hint=f"{name}={first}:{last}:*2")
    count = int(steps) + 1
    if count > MAX_CONFIGURATIONS:
        _refuse_size({name: count}, name, low, high)
    counted = np.arange(count, dtype=float)
    return low * step**counted if power else low + step * counted


def _refuse_size(counts: Mapping[str, int], longest: str, low: float, high: float) -> NoReturn:
    """Refuse a grid that is too large, with a coarser range of its longest axis."""
    size = math.prod(counts.values())
    shown = " × ".join(f"{name} ({count:,})" for name, count in counts.items())
    coarse, left = f"{low:g}:{high:.15g}:{(high - low) / 16:.6g}", 17
    if low > 0:
        coarse, left = f"{low:g}:{high:.15g}:*2", int(math.log2(high / low)) + 1
    raise GenperfError(
        f"{shown} make {size:,} configurations; at most {MAX_CONFIGURATIONS:,} are evaluated",
        hint=f"{longest}={coarse} leaves {size // counts[longest] * left:,}",
    )


@dataclass(frozen=True, eq=False)
class Space:
    """A grid over a model's factors, and over names that only the formulas read."""

    grid: Grid
    #: Of the model: other factors follow from the grid's names, or have one measured value.
    panel: Panel
    #: The values of the model's group.
    group: dict[str, float | str]

    @property
    def factors(self) -> list[str]:
        """What the model reads."""
        return [f.name for f in self.panel.factors]

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that a configuration has."""
        return tuple(dict.fromkeys((*(a.name for a in self.grid.axes), *self.factors, *self.group)))

    @cached_property
    def varied(self) -> set[str]:
        """What takes several values."""
        varied = {a.name for a in self.grid.axes if len(a.values) > 1}
        following = inputs_of(self.panel, {a.name for a in self.grid.axes})
        return varied | {name for name, reads in following.items() if reads & varied}

    @property
    def texts(self) -> tuple[str, ...]:
        """What of it is text."""
        kinds = {f.name for f in self.panel.factors if not f.numeric}
        kinds |= {name for name, value in self.group.items() if isinstance(value, str)}
        return tuple({a.name for a in self.grid.axes if not a.numeric} | kinds)

    def take(self, positions: Index) -> Columns:
        """Return the configurations at some positions."""
        return self.completed(self.grid.columns(positions))

    def completed(self, columns: Columns) -> Columns:
        """Return values of the grid's names together with what follows from them."""
        rows = len(next(iter(columns.values())))
        kinds = {name: object if isinstance(value, str) else float for name, value in self.group.items()}
        group = {name: np.full(rows, value, dtype=kinds[name]) for name, value in self.group.items()}
        return {**group, **columns, **completed(self.panel, columns, rows, refuse=False)[0]}

    def reduced(self, columns: Columns, names: Sequence[str]) -> Columns:
        """Return the configurations with some of the grid's names set to 1."""
        rows = len(next(iter(columns.values())))
        return self.completed({a.name: np.ones(rows) if a.name in names else columns[a.name] for a in self.grid.axes})


def in_model_names(text: str, schema: Schema) -> str:
    """Return a formula over the model's columns, where it is written in the field's names that the user mapped."""
    try:
        formula = parse(text, texts=[f.name for f in schema.factors if not f.numeric])
    except FormulaError:
        # It is refused where it is read, with what may stand in it.
        return text
    mapped = {name: column for name in formula.names if (column := schema.panel.column(name)) != name}
    if not mapped:
        return text
    return render(substitute(formula.node, {name: Name(column) for name, column in mapped.items()}))


def checked_space(grid: Grid, schema: Schema, formulas: Sequence[str], group: Mapping[str, str]) -> Space:
    """Return the configurations, checked against the factors of the model."""
    given = {a.name for a in grid.axes}
    following = inputs_of(schema.panel, given)
    _check_names(given, schema, following, formulas)
    absent = [f for f in schema.factors if f.name not in given | following.keys() and f.distinct != 1]
    if absent:
        measured = [f"{f.lower:g}:{f.upper:g}" if f.numeric else ",".join(f.levels[:6]) for f in absent]
        shown = " ".join(f"--over {f.name}={text}" for f, text in zip(absent, measured, strict=True))
        names = ", ".join(f"'{f.name}'" for f in absent)
        raise TableError(f"no value is given for {names}", hint=f"{shown} (as measured)")
    rows = max(len(a.values) for a in grid.axes)
    # One row per value of the longest axis is enough for every value of every axis to be checked.
    cycled = pd.DataFrame({a.name: np.resize(a.values, rows) for a in grid.axes})
    checked = read_query(cycled, schema, possible=False).columns
    axes = tuple(
        GridAxis(a.name, np.asarray(checked[a.name][: len(a.values)])) if a.name in checked else a for a in grid.axes
    )
    values = {name: text if (number := amount(text)) is None else number for name, text in group.items()}
    return Space(Grid(axes), schema.panel, values)


def inputs_of(panel: Panel, given: set[str]) -> dict[str, frozenset[str]]:
    """Return the factors that follow from what is given, each with what it is computed from."""
    machine, parts = panel.machine, parts_given(panel, dict.fromkeys(given, np.ones(1)))
    named = frozenset(name for name in given if parts_given(panel, {name: np.ones(1)}))
    following = {f.name: named for part, f in machine.columns.items() if part in machine.settled(parts)}
    inputs = following | {name: reads for name, reads in panel.inputs.items() if reads <= given}
    return {name: reads for name, reads in inputs.items() if name not in given}


def _check_names(
    given: set[str], schema: Schema, following: Mapping[str, frozenset[str]], formulas: Sequence[str]
) -> None:
    """Refuse names that neither the model nor a formula reads."""
    known = [f.name for f in schema.factors]
    used = set[str]().union(*following.values())
    for text in formulas:
        # A wrong one is refused where it is read, with what may stand in it.
        with suppress(FormulaError):
            used |= parse(text).names
    for name in sorted(given - used - set(known)):
        raise TableError(
            f"the model has no factor '{name}', and no formula reads it",
            hint=suggest(name, known),
        )
