"""The configurations that `optimize` evaluates: a grid, also of the splits of a transformer, and what a model reads."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from msgspec import Struct, field

from genperf.arrays import AnyArray, Array, Index
from genperf.errors import FormulaError, GenperfError, Note, TableError, suggest
from genperf.formula import Name, Node, names_read, parse, quote_name, render, substitute, values_of
from genperf.formula.amounts import amount
from genperf.panel import Panel
from genperf.panel.configurations import completed, part_given, sizes_settled
from genperf.prediction import Schema
from genperf.prediction.schema import combine, named_as, query_of
from genperf.result import FitResult
from genperf.table import Factor
from genperf.table.cells import source_of_columns
from genperf.vocabulary.names import WAYS, meant_by

Columns = dict[str, AnyArray]

#: Conditions over canonical names; one is left out where the model lacks a name.
CONDITIONS: tuple[str, ...] = (
    "heads % tensor_parallel == 0",
    "hidden % tensor_parallel == 0",
    "layers % pipeline_parallel == 0",
    "global_batch % (data_parallel*micro_batch) == 0",
    "micro_batches == global_batch/(data_parallel*micro_batch)",
)
# How large a grid may be.
#: Times the largest measured count, up to which the counts go that nobody gave: as far as `explain --knee` looks.
LARGEST_COUNT = 16
#: More are refused. Ten million take about ten seconds (experiments/results/optimize.md).
MAX_CONFIGURATIONS = 20_000_000
#: A range reaches its last value where it is so near to it, in steps: rounding errors.
RELATIVE_SLACK = 1e-9
#: A range of more values is refused without their count: a number of hundreds of digits tells nobody anything.
COUNTABLE_VALUES = 1e18

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"^({_NUMBER})\s*:\s*({_NUMBER})(?:\s*:\s*(\*?)\s*({_NUMBER}))?$")


def usual_grid(results: Iterable[FitResult]) -> tuple[str, ...]:
    """Return the grid where none is given, as texts: the workers, doubled, and all levels; empty for a transformer."""
    panels = [result.panel for result in results]
    # A group of one count has no axis.
    axes = [panel.axis.factor for panel in panels if panel.axis.factor is not None]
    alike = [axis for axis in axes if axis.name == axes[0].name]
    if not alike or min(axis.lower for axis in alike) <= 0.0 or any(panel.machine.splits for panel in panels):
        return ()
    least, most = min(axis.lower for axis in alike), max(axis.upper for axis in alike)
    levels = {f.name: f.levels for panel in panels for f in panel.factors if len(f.levels) > 1}
    texts = [f"{name}={','.join(of_factor)}" for name, of_factor in levels.items() if "," not in "".join(of_factor)]
    return f"{alike[0].name}={least:g}:{LARGEST_COUNT * most:g}:*2", *texts


def read_grid(over: Mapping[str, Any]) -> dict[str, AnyArray]:
    """Return the values of each axis of a grid: floats, or texts for levels."""
    if not over:
        raise GenperfError("nothing is varied", hint="--over workers=1:256")
    axes = {name: _axis(name, values) for name, values in over.items()}
    counts = {name: len(values) for name, values in axes.items()}
    if math.prod(counts.values()) > MAX_CONFIGURATIONS:
        longest = max(counts, key=lambda name: counts[name])
        _refuse_size(counts, longest, axes[longest].min(), axes[longest].max())
    return axes


def _axis(name: str, values: Any) -> AnyArray:
    """Read the values of an axis: numbers, or texts as soon as one is no number."""
    if isinstance(values, str):
        values = values.split(",") if values.strip() else []
    elif not isinstance(values, Sequence | range | np.ndarray | pd.Series | pd.Index):
        values = [values]
    items = [_values(name, item) for item in values]
    if not items:
        raise GenperfError(f"'{name}' is given no value", hint=f"--over {name}=1,2,4")
    if not any(isinstance(item, str) for item in items):
        return np.asarray(pd.unique(np.concatenate(items)))
    texts = [text for item in items for text in ([item] if isinstance(item, str) else [f"{v:g}" for v in item])]
    return np.array(list(dict.fromkeys(texts)), dtype=object)


def _values(name: str, item: Any) -> Array | str:
    """Read one item of an axis: a number or a range, else a text."""
    if isinstance(item, str):
        text = item.strip()
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
            if ":" in text or ".." in text:
                hint = f"{name}=1:256, {name}=0:64:8 or {name}=1:256:*2"
                raise GenperfError(f"'{text}' of '{name}' is not a range", hint=hint) from None
            return text
    if not (isinstance(item, Real) and math.isfinite(item)):
        raise GenperfError(f"'{name}' is given {item}, which is no finite number", hint=f"--over {name}=1:256")
    return np.array([float(item)])


def _range(name: str, match: re.Match[str]) -> Array:
    """Return the values of a range `first:last`, `first:last:step` or `first:last:*factor`."""
    start, last, star, by = match.groups()
    low, high, step, is_geometric = float(start), float(last), float(by or 1.0), star == "*"
    range_ = f"the range {match.string} of '{name}'"
    if high < low:
        raise GenperfError(f"{range_} runs downwards", hint=f"{name}={last}:{start}")
    if is_geometric and (low <= 0 or step <= 1):
        raise GenperfError(f"{range_} needs a start above 0 and a factor above 1", hint=f"{name}=1:256:*2")
    if step <= 0:
        raise GenperfError(f"{range_} needs a step above 0", hint=f"{name}={start}:{last}:1")
    steps = (math.log(high / low) / math.log(step) if is_geometric else (high - low) / step) + RELATIVE_SLACK
    if not steps < COUNTABLE_VALUES:
        most = f"at most {MAX_CONFIGURATIONS:,} are evaluated"
        raise GenperfError(f"{range_} holds too many values: {most}", hint=f"{name}={start}:{last}:*2")
    count = int(steps) + 1
    if count > MAX_CONFIGURATIONS:
        _refuse_size({name: count}, name, low, high)
    counted = np.arange(count, dtype=float)
    return low * step**counted if is_geometric else low + step * counted


def _refuse_size(counts: Mapping[str, int], longest: str, low: float, high: float) -> NoReturn:
    """Refuse a grid that is too large, with a coarser range of its longest axis."""
    size = math.prod(counts.values())
    product = " × ".join(f"{name} ({count:,})" for name, count in counts.items())
    if low > 0:
        coarse, coarse_count = f"{low:g}:{high:.15g}:*2", int(math.log2(high / low)) + 1
    else:
        # No doublings begin at zero: sixteen even steps do.
        coarse, coarse_count = f"{low:g}:{high:.15g}:{(high - low) / 16:.6g}", 17
    raise GenperfError(
        f"{product} make {size:,} configurations; at most {MAX_CONFIGURATIONS:,} are evaluated",
        hint=f"{longest}={coarse} leaves {size // counts[longest] * coarse_count:,}",
    )


class Space(Struct, frozen=True, eq=False, dict=True):
    """Every combination of some values of a model's factors, and of names that only the formulas read."""

    axes: dict[str, AnyArray]  #: The values of each name; the last one runs fastest.
    panel: Panel  #: The columns of the model: other factors follow from the axes, or have one measured value.
    group: dict[str, float | str]  #: The values of the model's group.
    taken: dict[str, float | str] = field(default_factory=dict)  #: What was not given, as `ask` takes it.

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(map(len, self.axes.values()))

    @property
    def size(self) -> int:
        """How many configurations there are."""
        return math.prod(self.shape)

    @property
    def factors(self) -> list[str]:
        """The factors that the model reads."""
        return [f.name for f in self.panel.factors]

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that a configuration has."""
        return tuple(dict.fromkeys((*self.axes, *self.factors, *self.group)))

    @cached_property
    def varied(self) -> set[str]:
        """The names that take several values: on an axis, or because they follow from one that does."""
        varied = {name for name, values in self.axes.items() if len(values) > 1}
        part_names = {factor.name for factor in self.panel.machine.columns.values()}
        if not varied.isdisjoint(part_names):
            # Where one part of a machine varies, those that are not given go with it.
            varied |= part_names - self.axes.keys()
        return varied | {name for name, reads in inputs_of(self.panel, {*self.axes}).items() if reads & varied}

    @property
    def texts(self) -> tuple[str, ...]:
        """The names whose values are text."""
        texts = {name for name, values in self.axes.items() if values.dtype == object}
        texts |= {f.name for f in self.panel.factors if not f.numeric}
        return tuple(texts | {name for name, value in self.group.items() if isinstance(value, str)})

    def take(self, positions: Index) -> Columns:
        """Return the configurations at some positions."""
        places = np.unravel_index(positions, self.shape)
        return self.completed({n: v[place] for (n, v), place in zip(self.axes.items(), places, strict=True)})

    def completed(self, columns: Columns) -> Columns:
        """Return values of the axes together with what follows from them."""
        rows = len(next(iter(columns.values())))
        kinds = {name: object if isinstance(value, str) else float for name, value in self.group.items()}
        group = {name: np.full(rows, value, dtype=kinds[name]) for name, value in self.group.items()}
        return {**group, **columns, **completed(self.panel, columns, rows, fill=True, refuse=False)[0]}


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


def checked_space(
    axes: Mapping[str, AnyArray], schema: Schema, formulas: Sequence[str], group: Mapping[str, str]
) -> Space:
    """Return the configurations of a grid, checked against the model; other factors are as `ask` takes them."""
    following = inputs_of(schema.panel, {*axes})
    factors = [f.name for f in schema.factors]
    read_names = names_read(formulas).union(factors, *following.values())
    machine_axes = [name for name in axes if part_given(schema.panel, name)]
    one_machine = all(len(axes[name]) == 1 for name in machine_axes)
    # Parts of one machine, which may say it twice, are checked against each other below.
    for name in sorted(axes.keys() - read_names - {*(machine_axes if one_machine else ())}):
        raise TableError(f"the model has no factor '{name}', and no formula reads it", hint=suggest(name, factors))
    # Factors without a value: all configurations are of one network, and parts of the machine scale as in the runs.
    absent = [f.name for f in schema.factors if f.name not in axes.keys() | following.keys() and f.distinct != 1]
    of_machine = {factor.name for factor in schema.panel.machine.columns.values()}
    last = _filled(pd.DataFrame({name: values[-1:] for name, values in axes.items()}), schema, refuse=one_machine)
    fixed = {name: last[name] for name in absent if name not in of_machine}
    # As many rows as the longest axis has values hold every value of every axis.
    rows = max(map(len, axes.values()))
    cycled = pd.DataFrame({name: np.resize(values, rows) for name, values in axes.items()})
    # Of the machine the least and the largest of each part are combined each with each.
    ends = {n: values[[0, -1]] if n in machine_axes else values[:1] for n, values in {**axes, **fixed}.items()}
    frame = pd.concat([cycled.assign(**{name: cells[0] for name, cells in fixed.items()}), pd.DataFrame(combine(ends))])
    checked = _filled(frame, schema)
    # The first rows are the cycled axes: of each its values, as the model has them.
    axes = {n: np.asarray(checked[n][: len(values)]) if n in checked else values for n, values in axes.items()}
    # A part of the machine without a value is fixed where all checked configurations agree.
    fixed |= {
        name: checked[name][:1] for name in absent if name in of_machine and (checked[name] == checked[name][0]).all()
    }
    taken = {name: cells.tolist()[0] for name, cells in fixed.items()}
    of_group = {name: text if (number := amount(text)) is None else number for name, text in group.items()}
    return Space({**axes, **fixed}, schema.panel, of_group, taken)


def _filled(frame: pd.DataFrame, schema: Schema, refuse: bool = False) -> dict[str, AnyArray]:
    """Return every factor of configurations: the given columns, and the others from measured runs, as `ask` does."""
    # A unit "" makes messages name the option, `--over gpus`, rather than a row of a table.
    source = source_of_columns({str(name): values.to_numpy() for name, values in frame.items()}, unit="")
    return query_of(named_as(source, schema), schema, fill=True, refuse=refuse).columns


def inputs_of(panel: Panel, names: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the factors that follow from what is given by name, each with what it is computed from."""
    part_by_name = {name: part for name in names if (part := part_given(panel, name))}
    settled = panel.machine.settled({*part_by_name.values()})
    inputs = {f.name: frozenset(part_by_name) for part, f in panel.machine.columns.items() if part in settled}
    inputs |= {name: reads for name, reads in panel.inputs.items() if reads <= {*names}}
    levels = [f.name for f in panel.factors if f.levels and f.name in names]
    inputs |= {size: frozenset([level]) for level in levels for size in sizes_settled(panel, level, names)}
    return {name: reads for name, reads in inputs.items() if name not in names}


class Layouts(Struct, frozen=True):
    """A grid of layouts."""

    over: dict[str, Any]  #: The axes of the grid, as `optimize` takes them.
    where: list[str]  #: Conditions over its names.
    notes: tuple[Note, ...]  #: What was supposed.


class LayoutColumns(Struct, frozen=True):
    """The columns of a model that tell how a transformer is split."""

    ways: dict[str, Factor]  #: The columns of the ways by canonical name.
    #: All devices, a formula over the columns, where data-parallel ways take those that the ways leave; else None.
    devices: Node | None
    inside: int | None  #: The most devices that a node had in a measured run; None where no column tells it.
    conditions: list[str]  #: What a layout must keep beside its devices, over the columns.

    @property
    def varied(self) -> list[Factor]:
        """The ways of which some run had more than one."""
        return [way for way in self.ways.values() if way.distinct > 1 or way.upper > 1.0]


def split_columns(result: FitResult) -> LayoutColumns | None:
    """Return the columns that tell how a transformer is split; None where the model has too few of them."""
    panel = result.panel
    ways = {way: column for way in WAYS if (column := panel.find(way)) is not None}
    if "data_parallel" not in ways and len(ways) < 2:
        return None
    per_node, node_size_formula = panel.find("devices_per_node"), panel.node("devices_per_node")
    node_size = None if per_node is None else int(per_node.upper)
    if per_node is None and node_size_formula is not None and result.schema.medians:
        node_size = max(1, int(np.max(values_of(node_size_formula, panel.measured))))
    named: dict[str, Node] = {name: Name(column.name) for name, column in panel.columns.items()}
    if (samples := panel.node("global_batch")) is not None and "global_batch" in named:
        named["global_batch"] = samples
    devices = None if "data_parallel" in ways else panel.node("workers")
    if devices is not None and (data_ways := panel.node("data_parallel")) is not None:
        named["data_parallel"] = data_ways
    conditions_read = [parse(text) for text in CONDITIONS]
    conditions = [render(substitute(test.node, named)) for test in conditions_read if test.names <= {*named}]
    return LayoutColumns(ways, devices, node_size, conditions)


def devices_to_split(result: FitResult, over: Mapping[str, str]) -> int | None:
    """Return the devices of a count alone, which leaves open how they are split; None where the runs had one split."""
    columns, scale = split_columns(result), result.panel.axis.factor
    ways = {} if columns is None else columns.ways
    is_open = any(way.distinct > 1 for name, way in ways.items() if name != "data_parallel")
    if not is_open or scale is None or {*over} != {scale.name} or meant_by(scale.name) != "workers":
        return None
    return int(over[scale.name]) if over[scale.name].isdigit() else None


def layouts(
    result: FitResult, devices: int, over: Mapping[str, Any] | None = None, where: Sequence[str] = ()
) -> Layouts:
    """Propose every split of a transformer over some devices, beside what the user fixes or varies."""
    if devices < 1:
        raise GenperfError(f"{devices} devices cannot be split", hint="--devices 64")
    requested = {result.schema.panel.column(name): values for name, values in (over or {}).items()}
    panel, notes, columns = result.panel, [], split_columns(result)
    if columns is None:
        raise GenperfError(
            "the model has no columns of the ways to split a transformer",
            hint="fit with columns such as data_parallel and tensor_parallel, or --map tensor_parallel=COLUMN",
        )
    axes: dict[str, Any] = dict(requested)
    divisors = [float(k) for k in range(1, devices + 1) if devices % k == 0]
    for way in columns.varied:
        axes.setdefault(way.name, divisors)
    further = [] if panel.machine.further_ways == 1.0 else [f"{panel.machine.further_ways:g}"]
    product = "*".join([*(quote_name(c.name) for c in columns.ways.values()), *further])
    conditions = [*where, f"{product} == {devices}" if columns.devices is None else f"{devices} % ({product}) == 0"]
    if panel.workers is not None:
        axes.setdefault(panel.workers.name, [float(devices)])
    node_size = columns.inside
    if panel.nodes is not None and node_size is not None:
        axes.setdefault(panel.nodes.name, [float(-(-devices // node_size))])
    tensor = columns.ways.get("tensor_parallel")
    if tensor is not None and tensor.name not in requested and not any(tensor.name in text for text in where):
        if node_size is None:
            notes.append(Note("the devices of a node are not known: tensor ways may span nodes", "placement"))
        else:
            conditions.append(f"{quote_name(tensor.name)} <= {node_size}")
            notes.append(Note(f"tensor ways stay inside a node of {node_size} devices", "placement"))
    # Beside a global batch the count of micro-batches varies as well.
    batches = [panel.find("micro_batch"), panel.find("micro_batches") if panel.find("global_batch") else None]
    for batch in batches:
        if batch is not None and batch.distinct > 1:
            doublings = int(np.log2(batch.upper / batch.lower) + 1e-9)
            axes.setdefault(batch.name, [batch.lower * 2.0**k for k in range(doublings + 1)])
    return Layouts(axes, conditions + columns.conditions, tuple(notes))
