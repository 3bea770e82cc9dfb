"""A checked table of measurements: values, factors, groups, weights and repeats; what its rows leave unknown."""

from __future__ import annotations

import hashlib
import itertools
import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, get_args

import msgspec
import numpy as np
import numpy.typing as npt
import pandas as pd
from msgspec import Struct, field
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Integers
from genperf.errors import Note, TableError, counted, listed, suggest
from genperf.formula import Node, Number, names_in, parse, render, substitute
from genperf.panel.legend import Legend
from genperf.panel.machine import rises_with
from genperf.panel.options import phase_columns, phase_seconds
from genperf.panel.panel import LEAST_GROWTH, Median, Panel, Target, growth_along, panel_of
from genperf.scaling import Scaling
from genperf.table import Factor, Role
from genperf.table.cells import measure, with_columns
from genperf.table.clean import Rejection, label, labels, mostly_numbers, numbers, rows_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import LEVELS, counted_by

#: Configurations that a model keeps, at most: enough to draw its data beside it.
MEDIANS = 500
#: The column of `Table.medians().frame` that counts the rows behind each median.
REPEATS = "_repeats"
#: How the summary of a table is written: numbers as one would write them.
_SHOWN: dict[str, Any] = {"index": False, "float_format": "{:g}".format, "na_rep": ""}
#: Kinds of notes that are about a whole table, and not about each of its groups.
WHOLE_TABLE = ("factor_constant", "runs_failed", "groups_failed", "further_measured")

# When a note is worth reading, and when rows with equal factors are hardly repeats.
#: Of the logarithms of two factors, from which on they count as one: a condition index of 45. Above 30 collinearity
#: is strong (Belsley, Kuh and Welsch, Regression Diagnostics, 1980).
COLLINEAR = 0.999
#: Levels and pairs that are named at most.
SHOWN_LEVELS = 3
#: A column in no role with more values than this is taken for a measurement, and not for a setting of the run that
#: was forgotten: settings have few values, measurements as many as rows. Half, double: experiments/results/settings.md.
MAX_SETTING_VALUES = 20
#: Deviations of a configuration's repeats count up to so many usual ones: a bad run does not make a table noisy.
CLIPPED_DEVIATIONS = 3.0
#: The largest of a configuration's values over the smallest, in the median of the configurations, from which on
#: something else than noise parts them. 1 and 4 answer as many questions (experiments/results/settings.md).
REPEATS_APART = 2.0


class Table(Struct, frozen=True, eq=False, dict=True):
    """Measured values with the factors they may depend on, a row per run.

    Made by `read_table`.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 1, 2, 2], "seconds": [1.0, 1.1, 1.2, 1.2], "run": [0, 1, 0, 1]})
    >>> table = gp.read_table(runs, time="seconds", extrinsic="workers", repeat="run")
    >>> table.configuration
    array([0, 0, 1, 1])
    >>> table.medians().measured
    array([1.05, 1.2 ])
    >>> print(table)
    DataFrame: 4 rows, 2 configurations, noise 4.8 %; time 'seconds' 1 to 1.2 s
       factor      role  min  max  distinct levels
      workers extrinsic    1    2         2
    """

    #: The rows. Numeric factors, measured values, weights and derived columns are float; categorical factors, groups
    #: and repeats are text; columns in no role keep their values.
    frame: pd.DataFrame
    target: Target  #: The measured quantity, and the column of `frame` that holds it.
    factors: tuple[Factor, ...]  #: Intrinsic, then extrinsic, then categorical, as given.
    group: tuple[str, ...] = ()  #: Columns that split the table: one model per combination of their values.
    #: The column of weights, and the one that numbers the repeats of a configuration.
    weight: str | None = None
    repeat: str | None = None
    source: str = "DataFrame"
    rejected: tuple[Rejection, ...] = ()  #: Rows left out because they could not be used.
    unused: tuple[str, ...] = ()  #: Columns in no role.
    #: Columns that were computed, with their formulas.
    derived: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    #: Options by which the rows were read, beside the roles: a filter, the column of repeats, a unit.
    reading: tuple[tuple[str, str], ...] = ()
    #: The runs that failed, a row each: their factors and groups. No fit of the target reads them.
    failures: pd.DataFrame = field(default_factory=pd.DataFrame)
    lacked_memory: bool = False  #: Whether one of them lacked memory, by its words; others may have failed by chance.
    scaling: Scaling | None = None  #: By the work of a step or as the user says; None where neither tells.
    #: Whether the times of each group show its own kind of scaling, once they are parted.
    scaled_by_group: bool = False
    #: Further quantities with the same factors (`--also`) by name, of the rows in which each was measured; `take` and
    #: `medians` leave them out.
    further: Mapping[str, Table] = field(default_factory=dict)
    #: Field's name → column, for counts that have another name, such as `p`; a fit finds them by it.
    mapping: Mapping[str, str] = field(default_factory=dict)
    legend: Legend | None = None  #: What a question may name of the table; None where the table has no source.

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def panel(self) -> Panel:
        """What the columns mean; the work of a step is over the factors alone, empty where they lack it."""
        work, factors = self.target.work, {f.name for f in self.numeric}
        if work:
            # Derived columns are written out, and a column of one value becomes that number. A derived column is made
            # from earlier ones: as many rounds as there are columns are enough.
            node = parse(work).node
            for _ in range(len(self.derived) + 1):
                unknown = names_in(node) - factors
                values: dict[str, Node] = {name: parse(self.derived[name]).node for name in unknown & {*self.derived}}
                for name in (unknown - {*values}) & {*self.frame.columns}:
                    cells = np.unique(numbers(self.frame[name].tolist())[0])
                    if len(cells) == 1 and np.isfinite(cells[0]):
                        values[name] = Number(float(cells[0]))
                node = substitute(node, values)
            work = render(node) if names_in(node) <= factors else ""
        target = msgspec.structs.replace(self.target, work=work)
        derived = {name: text for name, text in self.derived.items() if name in {f.name for f in self.factors}}
        medians = self.median_runs()
        return panel_of(self.factors, self.mapping, self.group, self.scaling, target, derived, medians, self.legend)

    def mapped(self, mapping: Mapping[str, str]) -> Table:
        """Return the table in which further columns are the field's factors; its panel refuses those it lacks."""
        if mapping.items() <= self.mapping.items():
            return self
        further = {name: table.mapped(mapping) for name, table in self.further.items()}
        return replace(self, mapping={**self.mapping, **mapping}, further=further)

    def noted(self, *notes: Note) -> Table:
        """Return the table with further notes, which change nothing of what it means."""
        table = replace(self, notes=(*self.notes, *notes))
        # What was computed already is kept.
        table.__dict__.update({n: self.__dict__[n] for n in ("panel", "configuration") if n in self.__dict__})
        return table

    def without(self, names: Collection[str]) -> Table:
        """Return the table without some factors."""
        factors = tuple(f for f in self.factors if f.name not in names)
        mapping = {canonical: column for canonical, column in self.mapping.items() if column not in names}
        return replace(self, factors=factors, mapping=mapping)

    @property
    def rows(self) -> int:
        """How many rows were measured."""
        return int(self.repeats.sum())

    @property
    def rejected_rows(self) -> int:
        """How many rows were left out."""
        return rows_of(self.rejected)

    @cached_property
    def repeats(self) -> Integers:
        """Rows behind each configuration, shape (configurations,)."""
        return np.bincount(self.configuration)

    @cached_property
    def extremes(self) -> tuple[Array, Array]:
        """The smallest and the largest measured value of each configuration, in the target's unit."""
        if len(self.repeats) == len(self):
            return self.measured, self.measured
        runs = pd.Series(self.measured).groupby(self.configuration)
        return np.asarray(runs.min(), dtype=float), np.asarray(runs.max(), dtype=float)

    @cached_property
    def measured(self) -> Array:
        """The measured values in the target's unit, shape (rows,)."""
        return self.frame[self.target.column].to_numpy(dtype=float)

    @cached_property
    def columns(self) -> dict[str, AnyArray]:
        """The factors' values by name, each of shape (rows,): floats, or texts for a categorical factor."""
        return {f.name: self.frame[f.name].to_numpy(dtype=float if f.numeric else object) for f in self.factors}

    @cached_property
    def grouped(self) -> dict[str, AnyArray]:
        """The cells of the group columns by name, each of shape (rows,)."""
        return {name: self.frame[name].to_numpy() for name in self.group}

    @cached_property
    def weights(self) -> Array:
        """The rows' weights, of mean 1, shape (rows,)."""
        if self.weight is None:
            return np.ones(len(self))
        weights = self.frame[self.weight].to_numpy(dtype=float)
        weights = weights / weights.max()
        return np.asarray(weights / np.mean(weights))

    @cached_property
    def phases(self) -> dict[str, str]:
        """Phase → the column in no role that measures it; {} where the target is no time."""
        named = self._named_phases.items() if self.target.is_time else ()
        return {phase: column for phase, column in named if mostly_numbers(self.frame[column].tolist())}

    @cached_property
    def _named_phases(self) -> dict[str, str]:
        """Phase → the column in no role that has a name of it: {"forward": "forward_s"}."""
        roles = {self.target.column, self.weight, self.repeat, *self.group, *(f.name for f in self.factors)}
        return phase_columns([c for c in self.frame.columns if c not in roles])

    @cached_property
    def sets_apart(self) -> dict[str, int]:
        """Factor that varies → the number of its set: no row differs from the base in factors of two sets.

        The base has the most frequent value of each factor. Whether the effects of two sets add up or multiply, such
        rows do not tell.
        """
        columns = {f.name: self.columns[f.name] for f in varying_apart(self)}
        numbered = (_number_sets(of) for of in (columns, _per_device_columns(self.panel, columns)))
        sets = max(numbered, key=lambda numbers: len({*numbers.values()}))
        # A count that rises with another one is of its set.
        return sets | {name: sets[leader] for name, leader in following_counts(self).items()}

    @cached_property
    def configuration(self) -> Integers:
        """Equal where all factors and groups are; numbered by first appearance, shape (rows,)."""
        return number_rows(self.frame, [f.name for f in self.factors] + list(self.group))

    @cached_property
    def numeric(self) -> tuple[Factor, ...]:
        """The intrinsic and extrinsic factors."""
        return tuple(f for f in self.factors if f.numeric)

    @cached_property
    def categorical(self) -> tuple[Factor, ...]:
        """The categorical factors."""
        return tuple(f for f in self.factors if not f.numeric)

    @cached_property
    def constant(self) -> tuple[str, ...]:
        """Names of the factors with a single value, whose effect no model can learn."""
        return tuple(f.name for f in self.factors if f.distinct == 1)

    def factor(self, name: str) -> Factor:
        """Return a factor by name."""
        factors = {f.name: f for f in self.factors}
        if name in factors:
            return factors[name]
        raise TableError(f"no factor '{name}'", hint=suggest(name, factors), where=self.source)

    def in_order(self) -> Table:
        """Return the table with its rows sorted by groups, factors, what was measured, and then all other cells.

        Folds and replicates are drawn by place, and sums are rounded by it: in this order the same cells give the same
        bytes, however the rows were written. The index of `frame` keeps the place of each row in the source.
        """
        # The last key of `lexsort` is the first to sort by; of a categorical factor it is the place of the level.
        keys = [self.weights, self.measured]
        for factor in by_content(self).factors:
            places = {level: place for place, level in enumerate(factor.levels)}
            cells = self.columns[factor.name]
            keys.append(cells if factor.numeric else np.array([places[str(cell)] for cell in cells]))
        keys += [_sortable(self.frame[name]) for name in reversed(self.group)]
        order = np.lexsort(keys)
        if any(np.all([key[order][1:] == key[order][:-1] for key in keys], axis=0)):
            # What a row has in no role, such as a phase, is read of the first of several equal ones.
            rest = sorted({*self.frame.columns} - {*self.columns, *self.group, self.target.column, self.weight})
            order = np.lexsort([*(_sortable(self.frame[name]) for name in rest), *keys])
        return replace(self, frame=self.frame.iloc[order])

    def take(self, rows: npt.ArrayLike) -> Table:
        """Return rows, by a mask or their positions, as a table; factors are measured from these rows alone."""
        chosen = np.asarray(rows)
        if chosen.dtype == bool and chosen.shape != (len(self),):
            raise ValueError(f"a mask of shape {chosen.shape} for {len(self)} rows")
        chosen = np.arange(len(self))[chosen if chosen.dtype == bool else chosen.astype(int)]
        return self._with(self.frame.iloc[chosen].reset_index(drop=True))

    def medians(self) -> Table:
        """Return one row per configuration, in order of first appearance.

        Its measured value is the median of the repeats and its weight their sum. The column `REPEATS` of the frame
        counts them. Other columns keep the value of the configuration's first row.
        """
        cached: Table | None = self.__dict__.get("_medians")
        if cached is not None:
            return cached
        number = self.configuration
        first_row = np.unique(number, return_index=True)[1]
        repeated = len(first_row) < len(number)
        middle = pd.Series(self.measured).groupby(number).median().to_numpy() if repeated else self.measured
        changed = {self.target.column: middle, REPEATS: self.repeats}
        if self.weight is not None:
            changed[self.weight] = np.bincount(number, self.frame[self.weight].to_numpy(dtype=float))
        medians = self._with(with_columns(self.frame.iloc[first_row].reset_index(drop=True), changed))
        self.__dict__["_medians"] = medians
        return medians

    def median_runs(self, most: int = MEDIANS) -> tuple[Median, ...]:
        """Return the configurations, in order of first appearance; of more than `most`, evenly spaced ones."""
        middle, (lowest, highest) = self.medians(), self.extremes
        every = len(middle) <= most
        rows = slice(None) if every else np.unique(np.linspace(0, len(middle) - 1, most).round().astype(int))
        values = zip(*(middle.columns[f.name][rows].tolist() for f in self.factors), strict=True)
        # In the order of the fields of a `Median`: its values, value, lowest, highest and repeats.
        numbers = (column[rows].tolist() for column in (middle.measured, lowest, highest, self.repeats))
        return tuple(Median(*fields) for fields in zip(values, *numbers, strict=True))

    def noise(self) -> float:
        """Return the relative standard deviation of repeats around their configuration's mean; NaN without repeats.

            s² = Σ f·min(v, (3·r)²) / Σ f,   f = repeats − 1,   v = Σ (t/t̄ − 1)² / f of a configuration

        r² is the median of v over that of χ²/f, and 3 `CLIPPED_DEVIATIONS`.
        """
        freedom, squares = self.repeats - 1, self._scatter
        freedom, squares = freedom[freedom > 0], squares[freedom > 0]
        if not len(freedom):
            return float("nan")
        # Wilson and Hilferty's median of χ²/f.
        usual = float(np.median(squares / freedom / (1.0 - 2.0 / (9.0 * freedom)) ** 3))
        clipped = np.minimum(squares, freedom * CLIPPED_DEVIATIONS**2 * usual)
        return float(np.sqrt(np.sum(clipped) / np.sum(freedom)))

    @property
    def _scatter(self) -> Array:
        """The sum of the squares of t/t̄ − 1 of each configuration."""
        mean = np.bincount(self.configuration, weights=self.measured) / self.repeats
        return np.bincount(self.configuration, (self.measured / mean[self.configuration] - 1.0) ** 2).astype(float)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The values of the group columns of one group, as text; () without group columns."""
        return tuple(label(self.frame[name].iloc[0]) for name in self.group)

    @cached_property
    def group_count(self) -> int:
        """How many groups there are; one where no columns split the table."""
        return int(number_rows(self.frame, self.group).max()) + 1 if self.group else 1

    def groups(self) -> Iterator[tuple[tuple[str, ...], Table]]:
        """Yield the values of the group columns, as text, with their rows, in order of first appearance.

        A table without group columns is one group, of key ().
        """
        yield from _split(self) if self.group else [((), self)]

    def kind_by_times(self, frame: pd.DataFrame) -> Scaling | None:
        """Return the kind of work that all share where times in some rows fall as the count grows; None elsewhere."""
        count, column = self.panel.axis.factor, self.target.column
        times = frame[column].to_numpy(dtype=float)
        if count is None or not growth_along(frame[count.name].to_numpy(dtype=float), times) < -LEAST_GROWTH:
            return None
        return "strong" if header_of(column).of == "step" else "job"

    @cached_property
    def sha256(self) -> str:
        """A hash of what a fit reads: roles, names and values of the columns in a role and of phases, row by row."""
        roles = sorted([f.name, f.role] for f in self.factors)
        roles += [[self.target.column, "time" if self.target.is_time else f"quantity in {self.target.unit}"]]
        roles += [[name, "group"] for name in self.group]
        roles += [[name, role] for name, role in ((self.weight, "weight"), (self.repeat, "repeat")) if name]
        phases = {column: phase_seconds(self.frame[column])[0] for column in self.phases.values()}
        roles += [[name, "phase"] for name in phases]
        settings = [text for text in (self.target.throughput, self.scaling) if text]
        digest = hashlib.sha256(json.dumps([*roles, *settings]).encode())
        cells = {self.target.column: self.measured, **self.grouped, **self.columns, **phases}
        for name, _ in roles:
            column = cells[name] if name in cells else self.frame[name].to_numpy()
            if column.dtype.kind in "biufc":
                # Numbers: + 0.0 makes −0 and 0 one value; little-endian on every machine.
                digest.update((np.asarray(column, dtype=float) + 0.0).astype("<f8").tobytes())
            else:
                digest.update(json.dumps(column.tolist()).encode())
        if len(self.failures):
            digest.update(json.dumps(self.failures.to_dict("list"), sort_keys=True).encode())
        if self.further:
            digest.update(json.dumps({name: table.sha256 for name, table in self.further.items()}).encode())
        return digest.hexdigest()

    def summary(self) -> pd.DataFrame:
        """Return a row per factor: factor, role, min, max, distinct, levels."""
        ends = {f: (f.lower, f.upper) if f.numeric else (np.nan, np.nan) for f in self.factors}
        levels = {f: ", ".join([*f.levels[:6], *(["…"] if len(f.levels) > 6 else [])]) for f in self.factors}
        rows = [(f.name, f.role, *ends[f], f.distinct, levels[f]) for f in self.factors]
        return pd.DataFrame(rows, columns=["factor", "role", "min", "max", "distinct", "levels"])

    def __repr__(self) -> str:
        return f"<Table {self._headline()}>"

    def __str__(self) -> str:
        lines = [f"  {line.rstrip()}" for line in self.summary().to_string(**_SHOWN).splitlines()]
        return "\n".join([self._headline(), *lines, *(f"note: {n}" for n in self.notes)])

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<li>{escape(str(n))}</li>" for n in self.notes)
        table = self.summary().to_html(border=0, **_SHOWN)
        return f"<p>{escape(self._headline())}</p>{table}" + (f"<ul>{notes}</ul>" if notes else "")

    def _headline(self) -> str:
        """Return the source, its rows, configurations and noise, and the measured range in a line."""
        noise = self.noise()
        texts = [counted(self.rows, "row"), counted(len(self.repeats), "configuration")]
        texts += [f"noise {100 * noise:.1f} %"] if np.isfinite(noise) else []
        low, high = self.extremes[0].min(), self.extremes[1].max()
        target = self.target
        measured = f"{target.name} '{target.column}' {low:.4g} to {high:.4g} {target.unit}".rstrip()
        return f"{self.source}: {', '.join(texts)}; {measured}"

    def _with(self, frame: pd.DataFrame) -> Table:
        """Return the same table with other rows: its factors described anew, without further quantities."""
        if frame.empty:
            raise TableError("no rows are left", where=self.source)
        factors = measure_factors(frame, self.factors, self.group)
        other_notes = tuple(n for n in self.notes if n.kind != "factor_constant")
        return replace(self, frame=frame, factors=factors, notes=other_notes + constant_notes(factors), further={})


def _split(table: Table) -> Iterator[tuple[tuple[str, ...], Table]]:
    """Yield each group with its rows and their medians, whose columns are computed once for the whole table."""
    all_medians = table.medians()
    number = number_rows(all_medians.frame, table.group)
    # Sorted by group, configurations keep their order of first appearance: their place in the group is their number.
    number_in_group = pd.Series(number).groupby(number).cumcount().to_numpy(dtype=np.int64)[table.configuration]
    general_notes = tuple(note for note in table.notes if note.kind not in WHOLE_TABLE)
    further = {name: dict(further_table.groups()) for name, further_table in table.further.items()}
    failed = group_keys(table.failures, table.group)
    keys = group_keys(all_medians.frame.iloc[np.unique(number, return_index=True)[1]], table.group)
    sorted_runs = zip(_parted(table, number[table.configuration]), _parted(all_medians, number), keys, strict=True)
    for (frame, places, known_rows), (median_frame, _, known_medians), key in sorted_runs:
        levels = known_medians["columns"]
        factors = tuple(_measured_once(f.name, f.role, tuple(levels[f.name].tolist())) for f in table.factors)
        failures = table.failures
        if failed:
            of_group = np.array([failed_key == key for failed_key in failed], dtype=bool)
            failures = failures[of_group].reset_index(drop=True)
        notes = general_notes + failure_notes(len(failures)) + constant_notes(factors)
        further_of_group = {name: groups[key] for name, groups in further.items() if key in groups}
        kind = table.kind_by_times(median_frame) if table.scaled_by_group else table.scaling
        changes = {"notes": notes, "failures": failures, "scaling": kind, "scaled_by_group": False}
        # What was computed for the whole table is put where the properties of a group's table keep their values.
        medians = replace(table, frame=median_frame, factors=factors, further={}, **changes)
        medians.__dict__.update(known_medians, _named_phases=table._named_phases)
        known_rows |= {"configuration": number_in_group[places], "_medians": medians, "key": key}
        group = replace(medians, frame=frame, further=further_of_group)
        group.__dict__.update(known_rows, _named_phases=table._named_phases)
        yield key, group


def _parted(table: Table, number: Integers) -> Iterator[tuple[pd.DataFrame, Integers, dict[str, Any]]]:
    """Yield for each number its rows as a frame, their places, and the columns that a table of them would compute."""
    order = np.argsort(number, kind="stable")
    frame, group_ends = table.frame.iloc[order], np.cumsum(np.bincount(number)).tolist()
    columns = {name: values[order] for name, values in table.columns.items()}
    grouped = {name: values[order] for name, values in table.grouped.items()}
    measured = table.measured[order]
    for start, end in zip([0, *group_ends], group_ends, strict=False):
        rows, of_group = frame.iloc[start:end], slice(start, end)
        rows.index = _numbered(end - start)
        columns_of_group = {
            name: {column: cells[of_group] for column, cells in source.items()}
            for name, source in (("columns", columns), ("grouped", grouped))
        }
        yield rows, order[of_group], {**columns_of_group, "measured": measured[of_group]}


#: Properties of a table that its cells decide, in whatever order its factors are.
_OF_CELLS = ("columns", "measured", "configuration", "repeats", "extremes", "weights", "_named_phases")
#: Series are often measured at the same values, and as often.
_measured_once, _numbered = lru_cache(maxsize=10_000)(measure), lru_cache(maxsize=100)(pd.RangeIndex)


def measure_factors(frame: pd.DataFrame, factors: Sequence[Factor], group: Sequence[str] = ()) -> tuple[Factor, ...]:
    """Describe the factors of a frame over its distinct configurations; group columns separate these as well."""
    _, first_row = np.unique(number_rows(frame, [*(f.name for f in factors), *group]), return_index=True)
    return tuple(measure(f.name, f.role, frame[f.name].to_numpy()[first_row]) for f in factors)


def by_content(table: Table) -> Table:
    """Return a table with its factors and levels in an order of their contents, which no name and no place decides.

    Factors of a role are in the order of their numbers of values, then of the medians at each. The most frequent level
    comes first, of equally frequent ones that with the least median: the shared constants are those of the first level.
    """
    roles = Counter(f.role for f in table.factors)
    if not table.categorical and max(roles.values(), default=0) < 2:
        return table
    medians, keys = table.medians(), dict[Factor, tuple[Any, ...]]()
    sizes = Counter((f.role, f.distinct) for f in table.factors)
    for factor in table.factors:
        if factor.numeric and sizes[factor.role, factor.distinct] == 1:
            keys[factor] = get_args(Role).index(factor.role), factor.distinct
            continue
        cells = medians.columns[factor.name]
        values, places = np.unique(cells if factor.numeric else cells.astype(str), return_inverse=True)
        counts = np.bincount(places)
        middles = np.array([np.median(medians.measured[places == place]) for place in range(len(values))])
        if not factor.numeric:
            factor = replace(factor, levels=tuple(values[np.lexsort([values, middles, -counts])].tolist()))
        keys[factor] = get_args(Role).index(factor.role), len(values), np.sort(middles).tolist(), factor.name
    factors = tuple(sorted(keys, key=keys.__getitem__))
    ordered = replace(table, factors=factors)
    if not table.categorical:
        # Numbers have no levels in an order: the cells and their medians are those that were computed.
        of_medians = replace(medians, factors=factors)
        for computed, before in ((ordered, table), (of_medians, medians)):
            computed.__dict__.update({name: before.__dict__[name] for name in _OF_CELLS if name in before.__dict__})
        ordered.__dict__["_medians"] = of_medians
    return ordered


def _sortable(cells: pd.Series[Any]) -> AnyArray:
    """Return the cells of a column as numbers where all are, else as texts."""
    # A group's name stands in each of its rows.
    place, distinct = pd.factorize(cells, use_na_sentinel=False)
    values, reasons = numbers(distinct.tolist())
    return values[place] if not reasons else distinct.astype(str).to_numpy(dtype=str)[place]


def constant_notes(factors: Sequence[Factor]) -> tuple[Note, ...]:
    """Return a note for each factor of a single value."""
    values = {f.name: f.levels[0] if f.levels else format(f.lower, "g") for f in factors if f.distinct == 1}
    effect = "its effect cannot be fitted from this table"
    return tuple(Note(f"factor '{name}' has one value, {v}: {effect}", "factor_constant") for name, v in values.items())


def failure_notes(count: int, stopped: int = 0) -> tuple[Note, ...]:
    """Return notes of how many runs failed, and how many were stopped from outside; none where none was."""
    remark = f"{'its' if count == 1 else 'their'} settings are kept as ones that did not fit, without a measured value"
    left_out = "stopped by a limit or a user, and left out: that shows nothing of memory"
    of_stopped = Note(f"{counted(stopped, 'run')} {left_out}", "runs_stopped")
    of_failed = Note(f"{counted(count, 'run')} failed: {remark}", "runs_failed")
    return (*([of_stopped] if stopped else []), *([of_failed] if count else []))


def group_keys(frame: pd.DataFrame, group: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of the group columns in each row as texts, [("bert", "8"), …]; () without group columns."""
    texts = [labels(frame[name]) for name in group] if len(frame) else []
    return list(zip(*texts, strict=True)) if texts else [()] * len(frame)


def number_rows(frame: pd.DataFrame, names: Sequence[str]) -> Integers:
    """Return for each row the number of its combination of values, by first appearance: 0, 1, 0 of a, b, a."""
    columns = [pd.factorize(frame[name].to_numpy(), use_na_sentinel=False) for name in dict.fromkeys(names)]
    number = columns[0][0] if columns else np.zeros(len(frame), dtype=np.int64)
    for codes, values in columns[1:]:
        # Numbering anew after each column keeps the product below rows², so it never overflows.
        number = pd.factorize(number * len(values) + codes)[0]
    return number.astype(np.int64)


def following_counts(table: Table) -> dict[str, str]:
    """Return {"nodes": "devices"}: extrinsic factors that rise with another one, of at least as many levels."""
    counts = sorted((f for f in table.factors if f.role == "extrinsic" and f.distinct > 1), key=lambda f: -f.distinct)
    followed: dict[str, str] = {}
    for f, g in itertools.combinations(counts, 2):
        if g.name not in followed and rises_with(table.columns[g.name], table.columns[f.name]):
            followed[g.name] = f.name
    return followed


def varying_apart(table: Table) -> list[Factor]:
    """Return the factors that vary, without counts that rise with another one."""
    following = following_counts(table)
    return [f for f in table.factors if f.distinct > 1 and f.name not in following]


def design_notes(table: Table) -> list[Note]:
    """Name levels that were measured once, factors that vary at one level only, and pairs that rise together."""
    medians = table.medians()
    findings = (_levels_measured_once, _numbers_at_one_level, _correlated_pairs, _no_joint_run)
    return [Note(text, "design") for finding in findings for text in finding(medians)]


def _no_joint_run(medians: Table) -> Iterator[str]:
    """Say of which factors a sum of effects cannot be told from their product, and which run would tell."""
    sets: dict[int, list[Factor]] = {}
    for factor in varying_apart(medians):
        sets.setdefault(medians.sets_apart[factor.name], []).append(factor)
    if len(sets) > 1:
        # Of each set its first number, or its first factor where it has none.
        firsts = [next((f for f in factors if f.numeric), factors[0]) for factors in sets.values()]
        firsts.sort(key=lambda f: not f.numeric)
        largest = [medians.columns[f.name] == f.upper for f in firsts[:2] if f.numeric]
        if len(largest) == 2 and np.any(largest[0] & largest[1]):
            # Nodes apart from the devices of each, for which their product stands: the runs have both.
            return
        both = " and ".join(f"{f.name}={f.upper:g}" if f.numeric else f"another {f.name}" for f in firsts[:2])
        apart = " or ".join(f.name for f in next(iter(sets.values())))
        what = "two factors together" if one_at_a_time(medians) else f"{apart} together with another factor"
        yield f"no run varies {what}: effects that add up look like those that multiply; measure {both}"


def one_at_a_time(medians: Table) -> bool:
    """Tell whether no configuration differs from the base of `Table.sets_apart` in two factors, of two or more."""
    numbers = [medians.sets_apart[f.name] for f in varying_apart(medians)]
    return len(numbers) > 1 and len({*numbers}) == len(numbers)


def _number_sets(columns: Mapping[str, AnyArray]) -> dict[str, int]:
    """Return the number of each column's set: two are of one where a row has neither's most frequent value."""
    texts = [cells.astype(str) for cells in columns.values()]
    differs = np.column_stack([cells != pd.Series(cells).mode()[0] for cells in texts] or [np.zeros(0)])
    joined = (differs.T.astype(int) @ differs > 0) | np.eye(len(texts), dtype=bool)
    for _ in texts:
        # Sets of columns that are joined to a third.
        joined = joined @ joined
    return dict(zip(columns, joined.argmax(axis=1).tolist(), strict=True))


def _per_device_columns(panel: Panel, columns: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the columns, with a device's batch and a node's devices in place of the totals where both vary."""
    shared, parts = dict(columns), [panel.find("global_batch"), panel.workers, panel.nodes]
    for of_all, count in itertools.pairwise(part.name if part is not None else "" for part in parts):
        if of_all in columns and count in columns:
            of_one = columns[of_all] / columns[count]
            # What grows in proportion to the count varies with it.
            shared[of_all] = columns[of_all] if len(np.unique(of_one)) == 1 else of_one
    return shared


def _levels_measured_once(medians: Table) -> Iterator[str]:
    """Name the levels that only one configuration has."""
    for factor in medians.categorical:
        levels, counts = np.unique(medians.columns[factor.name].astype(str), return_counts=True)
        once = levels[counts == 1].tolist()
        if factor.distinct > 1 and len(once) == len(medians):
            yield f"'{factor.name}' has another level in each configuration: it tells nothing of the next one"
        elif factor.distinct > 1 and once:
            named = f"measured in one configuration each, of '{factor.name}': {listed(once, SHOWN_LEVELS)}"
            yield f"{named}; what is particular to such a level cannot be separated from noise"


def _numbers_at_one_level(medians: Table) -> Iterator[str]:
    """Name the numbers that vary only at one level of a categorical factor."""
    for number in medians.numeric:
        for text in medians.categorical:
            by_level = pd.Series(medians.columns[number.name]).groupby(medians.columns[text.name].astype(str))
            varies = [level for level, values in by_level if np.ptp(values) > 0.0]
            if len(varies) == 1 and len(text.levels) > 1:
                only = f"'{number.name}' varies only where {text.name} = {varies[0]}"
                yield f"{only}: its effect there is taken for that at the other levels"


def _correlated_pairs(medians: Table) -> Iterator[str]:
    """Name pairs of numbers whose logarithms are correlated nearly fully; workers and the nodes they fill are none."""
    values = {factor.name: medians.columns[factor.name] for factor in medians.numeric if factor.distinct > 1}
    scaled = {name: np.log(cells) if medians.factor(name).positive else cells for name, cells in values.items()}
    columns = pd.DataFrame(scaled)
    pairs = [pair for pair in itertools.combinations(values, 2) if len({*map(counted_by, pair)} & {*LEVELS}) < 2]
    correlations = [(first, second, columns[first].corr(columns[second])) for first, second in pairs]
    correlated = [pair for pair in correlations if abs(pair[2]) >= COLLINEAR]
    for first, second, correlation in correlated[:SHOWN_LEVELS]:
        relation = "rise together" if correlation > 0.0 else "are tied, one falls as the other rises"
        separated = "their effects cannot be separated; leave one out"
        yield f"'{first}' and '{second}' {relation} (correlation {correlation:.3f}): {separated}"


def with_repeat_notes(table: Table) -> Table:
    """Say where rows that count as repeats differ in a setting that is in no role, or by more than noise."""
    names = [*(f.name for f in table.factors), *table.group, *([table.repeat] if table.repeat else [])]
    _, first_row, configuration = np.unique(number_rows(table.frame, names), return_index=True, return_inverse=True)
    if len(first_row) == len(table.frame):
        return table
    notes, runs = [], table.frame.groupby(configuration)
    unmapped = [name for name in table.unused if name not in table.phases.values()]
    settings = [n for n in unmapped if table.frame[n].nunique(dropna=False) <= MAX_SETTING_VALUES]
    mixed = [f"'{name}'" for name in settings if runs[name].nunique(dropna=False).gt(1).any()]
    if mixed:
        differ = f"rows with equal factors, taken for repeats, differ in {listed(mixed)}"
        repeat = "" if table.repeat is not None else ", or the number of the run as --repeat"
        notes.append(Note(f"{differ}: name what matters as a factor or --group{repeat}", "configuration_mixed"))
    measured = runs[table.target.column]
    ratio = float((measured.max() / measured.min())[measured.size() > 1].median())
    if ratio >= REPEATS_APART:
        apart = f"repeats of a configuration differ by a factor of {ratio:.2g} in the median"
        several = "if the table holds runs of two clusters or programs"
        hint = "name the column that tells them apart (--group), or add one"
        notes.append(Note(f"{apart}: {several}, {hint}", "repeats_apart"))
    return table.noted(*notes)


def parting_notes(table: Table, scale: str) -> list[Note]:
    """Name the columns in no role that change once along a scale: its smaller counts may be of other machines."""
    notes, counts = [], table.columns[scale].astype(float)
    order = np.argsort(counts, kind="stable")
    # A summarised table names the columns in no role, and does not keep them.
    for name, cells in ((name, table.frame[name].to_numpy()) for name in table.unused if name in table.frame):
        # What the column has at the smallest and at the largest count, such as `a100` and `h100`.
        before, after = cells[order[[0, -1]]]
        if {type(cell) for cell in cells} != {str} or {*cells} != {before, after} or mostly_numbers([before, after]):
            # It has other values, numbers such as a loss, or empty cells.
            continue
        first_counts, last_counts = (np.unique(counts[cells == machine]) for machine in (before, after))
        if first_counts[-1] < last_counts[0] and min(len(first_counts), len(last_counts)) > 1:
            change = f"'{name}' is {before} up to {scale}={first_counts[-1]:g} then {after} from {last_counts[0]:g}"
            hint = f"if they are different machines, --group {shlex.quote(name)} parts them"
            notes.append(Note(f"{change}: {hint}", "mixture"))
    return notes
