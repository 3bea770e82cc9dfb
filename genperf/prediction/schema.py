"""What a prediction needs of the table a model was fitted to, and requested rows, checked against it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from genperf.arrays import AnyArray, Index, Mask
from genperf.discrepancy.product import NotNegative
from genperf.errors import GenperfError, TableError, did_you_mean, listed, misspelt, suggest
from genperf.formula import Node, names_in, parse, quote_name, render, substitute
from genperf.formula.amounts import amount
from genperf.panel import Panel
from genperf.panel.configurations import completed
from genperf.panel.legend import Legend, legend_of_factors
from genperf.panel.machine import PARTS
from genperf.panel.panel import ONE, TIME, Median, Target, panel_of
from genperf.panel.question import question
from genperf.scaling import Scaling
from genperf.table import Factor, Role
from genperf.table.cells import Source, source_of_columns
from genperf.table.clean import faults_of, label, labels, numbers
from genperf.table.opened import open_source, understood
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import RELATIVE
from genperf.vocabulary.names import canonical_of, column_named, counts_devices, plain_name, words_in

if TYPE_CHECKING:
    import pandas as pd

    from genperf.panel import Table


#: More combinations than this are refused: they are a job for `optimize`.
MOST_ROWS = 1_000_000
#: What a user may do instead, where a level that was not measured has no answer.
ANSWERED = "; predict, explain, ask, compare and optimize answer for it by the spread of these"


class ShareOfPeak(NamedTuple):
    """A measured column that holds the share of its peak that each device reaches."""

    column: str
    unit: str  #: % or x.
    devices: Node  #: How many there are, a formula over the factors.


class Schema(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    """The table behind a model, without its rows: what a prediction, or a picture of one, needs."""

    factors: Annotated[tuple[Factor, ...], msgspec.Meta(min_length=1)]  #: With measured ranges and levels.
    target: Target  #: The measured quantity.
    group: tuple[str, ...] = ()  #: Group columns, where one model was fitted per group.
    derived: dict[str, str] = {}  #: Factors computed from other columns, with their formulas.
    #: `source`, `sha256`: where the rows came from, and a hash of them.
    source: str = ""
    sha256: str = ""
    rows: int = 0
    configurations: int = 0
    rejected: int = 0
    noise: NotNegative | None = None  #: Relative standard deviation of repeats; None where nothing was repeated.
    #: `lowest`, `highest`: range of the measured values, in the target's unit.
    lowest: float = 0.0
    highest: float = 0.0
    medians: tuple[Median, ...] = ()  #: What was measured, for drawing; of very many configurations, some.
    mapping: dict[str, str] = {}  #: Factors by the field's names, with the columns that the user gave for them.
    legend: Legend | None = None  #: What a question may name of the table.
    #: The work of a step over the columns of the whole table, where the target's has a number of its group: its batch.
    work_of_table: str = ""
    #: Options by which the rows were read, beside the roles: a filter, the column of repeats, a unit.
    reading: tuple[tuple[str, str], ...] = ()
    #: As `Table.scaling`. The work of a step is the target's, a formula over the factors.
    scaling: Scaling | None = None
    #: By factor: levels that were not measured and that measured ones replace (`substituted_members`); none in a file.
    substituted: dict[str, tuple[str, ...]] = {}

    @cached_property
    def panel(self) -> Panel:
        """What the factors mean: which one counts the workers, what the work is, what follows what."""
        about = self.factors, self.mapping, self.group, self.scaling
        legend = self.legend or legend_of_factors(self.factors, self.group)
        return panel_of(*about, self.target, self.derived, self.medians, legend)

    @property
    def of_steps(self) -> bool:
        """Whether the predicted value is that of a step, and not of one unit of a measured throughput's work."""
        rate, panel, work = self.target.throughput, self.panel, self.target.work
        if not rate or "work" in dict(self.reading):
            return True
        counted = [panel.axis.factor, *panel.counts]
        counts = {quote_name(factor.name) for factor in counted if factor is not None}
        if panel.counted_node is not None:
            counts.add(render(panel.counted_node))
        sequence, read = panel.find("sequence"), parse(work).names if work else ()
        of_a_batch = self.target.samples in words_of("headers.of_a_batch")
        return (of_a_batch or (sequence is not None and sequence.name in read)) and work not in counts

    @property
    def measured(self) -> tuple[str, Node | None]:
        """The measured column, and the fitted one as a formula over it, `tok/s/gpu*gpus`; None where both are one."""
        fitted = self.target.throughput or self.target.column
        formulas = dict(text.split("=", 1) for option, text in self.reading if option == "let")
        if fitted not in formulas:
            return fitted, None
        node = parse(formulas[fitted]).node
        columns = [*(names_in(node) - {factor.name for factor in self.factors})]
        return (columns[0], node) if len(columns) == 1 else (fitted, None)

    @property
    def ceiling(self) -> float:
        """The most that it can be: 100 of a percentage, 1 of a share; ∞ of others, and where a run has more."""
        target, wholes = self.target, list[float]()
        if target.either_way:
            is_part = not words_in(target.column).isdisjoint(words_of("headers.part_of_a_whole"))
            wholes = [100.0] if "%" in target.unit + target.column else [1.0, 100.0] if is_part else []
        return next((whole for whole in wholes if self.highest <= whole), math.inf)

    @property
    def share_of_peak(self) -> ShareOfPeak | None:
        """The column of each device's share of its peak, where that was measured."""
        column, node = self.measured
        if node is None or not self.target.throughput or self.target.samples != RELATIVE:
            return None
        return ShareOfPeak(column, "%" if "%" in column else "x", substitute(node, {column: ONE}))

    @property
    def varying(self) -> tuple[Factor, ...]:
        """The factors with more than one value."""
        return tuple(f for f in self.factors if f.distinct > 1)


def roles_of(schema: Schema) -> dict[str, str | list[str]]:
    """Return the options by which the columns of a table get the roles that they have in a model."""
    target = schema.target
    # A colon ends the column's name: it is needed where that has one itself.
    quantity = f"{target.column}:{target.unit}" if target.unit or ":" in target.column else target.column
    measured = {"time": target.column} if target.name == TIME else {"quantity": quantity}
    roles: dict[str, str | list[str]] = {"throughput": target.throughput} if target.throughput else {**measured}
    roles |= {role: [f.name for f in schema.factors if f.role == role] for role in get_args(Role)}
    return {option: role_value for option, role_value in {**roles, "group": [*schema.group]}.items() if role_value}


def schema_of(table: Table) -> Schema:
    """Describe a table."""
    panel, noise = table.panel, table.noise()
    same = ("factors", "group", "source", "sha256", "rows", "reading", "scaling")
    schema = Schema(
        **{name: getattr(table, name) for name in same},
        target=panel.target or table.target,
        derived=dict(panel.derived),
        mapping=dict(table.mapping),
        legend=table.legend,
        work_of_table=table.target.work if table.group else "",
        configurations=len(table.medians()),
        rejected=table.rejected_rows,
        noise=noise if math.isfinite(noise) else None,
        lowest=float(table.extremes[0].min()),
        highest=float(table.extremes[1].max()),
        medians=panel.medians,
    )
    # A model means what its table does.
    schema.__dict__["panel"] = panel
    return schema


class Query(Struct, frozen=True, eq=False):
    """Rows to predict."""

    rows: int
    columns: dict[str, AnyArray]  #: Every factor's values, of shape (rows,).
    #: The columns that were given, factors or not; other factors were filled in or derived.
    given: tuple[str, ...] = ()

    def single(self, what: str) -> dict[str, Any]:
        """Return the factors of the one configuration; `what` needs one."""
        if self.rows != 1:
            raise GenperfError(f"{what}, not {self.rows}", hint="one value for each factor")
        return {name: cells[0] for name, cells in self.columns.items()}

    def take(self, rows: Mask | Index) -> Query:
        """Return some of the rows: those of a mask, or at some positions."""
        count = int(rows.sum()) if rows.dtype == bool else len(rows)
        return replace(self, rows=count, columns={k: v[rows] for k, v in self.columns.items()})


def cells_of(data: Source | str | Path | pd.DataFrame | Mapping[str, Any], schema: Schema) -> Source:
    """Return the unchecked cells of the requested rows, as `read_query` takes them."""
    if isinstance(data, Source):
        return data
    if isinstance(data, Mapping):
        return source_of_columns(combine(known_names({str(n): value for n, value in data.items()}, schema)), unit="")
    if isinstance(data, str | Path):
        factors = {factor.name for factor in schema.factors}
        source = understood(data, named=factors)
        source = replace(source, read={n: c for n, c in source.read.items() if n in factors or n in source.cells})
    else:
        source = open_source(data)
    if source.ragged:
        raise TableError(f"{source.ragged[0].complaint}", where=source.name, hint="give every row the same columns")
    return named_as(source, schema)


def named_as(source: Source, schema: Schema) -> Source:
    """Return cells under a model's names: `gpus` or `world_size` for its `GPUs`, `nodes` for a part of its machine."""
    columns = {*schema.group, *(factor.name for factor in schema.factors)}
    lacking = columns - {*source.columns}
    spelled = {spelt: name for name in lacking for spelt in (canonical_of(name), plain_name(name))}
    # A column that the model lacks may name a part of the machine.
    names = {
        name: spelled.get(plain_name(name)) or spelled.get(canonical_of(name) or name) or schema.panel.meant(name, True)
        for name in source.columns
        if name not in columns
    }
    return source.renamed({name: meant for name, meant in names.items() if lacking and meant not in source.columns})


def read_query(data: Source | str | Path | pd.DataFrame | Mapping[str, Any], schema: Schema) -> Query:
    """Check the requested rows, a column for each factor; values by name are combined each with each."""
    return query_of(cells_of(data, schema), schema)


def query_of(
    source: Source, schema: Schema, new_levels: bool = False, fill: bool = False, refuse: bool = True
) -> Query:
    """Check requested rows, perhaps with new levels or machines that cannot exist, and open factors filled in."""
    requested, factors, panel = source.columns, {f.name for f in schema.factors}, schema.panel
    # The columns that are no factors, but from which a factor that is left out is computed.
    read = {name for factor, names in panel.inputs.items() if factor not in requested for name in names}
    inputs = sorted(read & {*requested} - factors)
    columns: dict[str, AnyArray] = {name: numbers(requested[name])[0] for name in inputs}
    columns |= {f.name: _checked(f, source, schema, new_levels) for f in schema.factors if f.name in requested}
    # Other parts of a machine, from which factors follow: each is a number above zero.
    for name in (n for n in requested if n in PARTS and n not in factors and panel.machine.means(n)):
        columns[name] = _checked(Factor(name, "extrinsic", distinct=0, positive=True), source, schema)
    # A file has a name for messages, a frame has none.
    file = source.name if source.name != "DataFrame" else None
    columns, follow = completed(panel, columns, len(source.lines), file, fill, refuse)
    return Query(len(source.lines), columns, (*columns,) if fill else (*requested, *follow))


def combine(values: Mapping[str, Any]) -> dict[str, AnyArray]:
    """Combine values by name, each with each, the last name's values changing fastest."""
    lists = {k: list(v) if is_list(v) else [v] for k, v in values.items()}
    rows = math.prod(len(v) for v in lists.values()) if lists else 0
    if rows > MOST_ROWS:
        raise TableError(f"{rows} combinations are requested, {MOST_ROWS} at most", hint="give fewer values")
    if rows == 0:
        raise TableError("nothing is requested", hint="give values of the factors: workers=32,64")
    columns = zip(*product(*lists.values()), strict=True)
    return {name: np.fromiter(cells, object, rows) for name, cells in zip(lists, columns, strict=True)}


def is_list(value: Any) -> bool:
    """Tell whether a value of a question is several, as a list, an array or a Series has them."""
    # A Series is known by its dimension: nothing need be imported for it.
    return (isinstance(value, Sequence) and not isinstance(value, str)) or getattr(value, "ndim", 0) == 1


def model_names(names: Iterable[str], schema: Schema) -> dict[str, str]:
    """Return each name with the model's name for it."""
    columns: dict[str, str] = {}
    for name in names:
        column = schema.panel.meant(name)
        column_name = next((n for n, held in columns.items() if held == column), None)
        if column_name is not None:
            raise TableError(f"'{column_name}' and '{name}' are one factor of the model", hint="give one of them")
        columns[name] = column
    return columns


def known_names(values: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return values by the model's names: of factors, groups, inputs of derived factors, and parts of the machine."""
    factor_names, legend = [f.name for f in schema.factors], schema.panel.legend
    for name in [n for n in values if not {schema.panel.meant(n)} & {*factor_names, *schema.group}]:
        several = is_list(values[name])
        # A multiple of a factor, or one name that holds several, `2x8`, which a list would have to repeat for each.
        stated = [] if legend is None else [*legend.synonyms, *([] if several else legend.names)]
        if column := column_named(name, stated):
            cells = values[name] if several else [values[name]]
            # Each cell means values of the same factors.
            meanings = [question(schema.panel, {column: label(cell)}).at for cell in cells]
            by_factor = {factor: [meaning[factor] for meaning in meanings] for factor in meanings[0]}
            meant_values = by_factor if several else meanings[0]
            values = {**{n: value for n, value in values.items() if n != name}, **meant_values}
    inputs = {name for text in schema.derived.values() for name in parse(text).names}
    # Two names of one factor with one value mean it once: 64, "64" and 64.0 are alike.
    meant = dict[tuple[str, str], str]()
    for name, value in values.items():
        cells = map(str, value if is_list(value) else [value])
        alike = [cell if (number := amount(cell)) is None else number for cell in cells]
        meant.setdefault((schema.panel.meant(name), str(alike)), name)
    values = {name: values[name] for name in meant.values()}
    columns = model_names(values, schema)
    for name in columns.values():
        machine_part = name in PARTS and schema.panel.machine.means(name)
        if name not in factor_names and name not in schema.group and name not in inputs and not machine_part:
            raise TableError(f"the model has no factor '{name}'", hint=suggest(name, factor_names))
    return {columns[name]: value for name, value in values.items()}


def checked_values(values: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return single values by the model's names, numbers and measured levels; a list stays as it is."""
    values_by_factor = known_names(values, schema)
    for factor in schema.factors:
        if factor.name in values_by_factor and not is_list(values_by_factor[factor.name]):
            cells = {factor.name: np.array([values_by_factor[factor.name]], dtype=object)}
            source = source_of_columns(cells, unit="")
            (values_by_factor[factor.name],) = _checked(factor, source, schema).tolist()
    return values_by_factor


def answered(factor: Factor, level: str) -> bool:
    """Tell whether the spread of two measured levels or more answers for a new one, which is no misspelt old one."""
    return len(factor.levels) > 1 and level != "" and not misspelt(level, factor.levels)


def _checked(factor: Factor, source: Source, schema: Schema, new_levels: bool = False) -> AnyArray:
    """Return the cells of a factor as numbers or labels, and refuse what the model cannot take: the first such cell."""
    values: AnyArray
    cells = source.columns[factor.name]
    if factor.numeric:
        values, faults = numbers(cells)
        sizes = {row: amount(label(cells[row])) for row in faults}
        amounts = {row: size for row, size in sizes.items() if size is not None and math.isfinite(size)}
        values[[*amounts]] = [*amounts.values()]
        faults = {row: reason for row, reason in faults.items() if row not in amounts}
        faults |= faults_of(values)
        # Each cell is a number, and then one that a count can have.
        faults = faults or dict.fromkeys(np.flatnonzero(factor.positive & (values <= 0)).tolist(), "is not above zero")
        # Half a device does not run.
        is_whole = factor.integer and counts_devices(factor.name)
        faults = faults or dict.fromkeys(np.flatnonzero(is_whole & (values % 1.0 > 0.0)).tolist(), "is no whole count")
    else:
        values, levels = labels(cells), [*factor.levels, *schema.substituted.get(factor.name, ())]
        unknown = np.flatnonzero(~np.isin(values.astype(str), levels)).tolist()
        refused = {level for level in {values[row] for row in unknown} if not new_levels or not answered(factor, level)}
        faults = {row: "is a level that was never measured" for row in unknown if values[row] in refused}
    if faults:
        row, reason = min(faults.items())
        hint, cell = f"a number; the runs have {factor.lower:g} to {factor.upper:g}", cells[row]
        if not factor.numeric:
            cell = values[row]
            among = f"one of {listed(factor.levels)}" + (ANSWERED if answered(factor, cell) else "")
            hint = did_you_mean(cell, factor.levels) or among
        # A question and a DataFrame are no files.
        where = source.name if source.unit in ("line", "record") else None
        raise TableError(source.rejection(row, factor.name, cell, reason).complaint, hint=hint, where=where)
    return values
