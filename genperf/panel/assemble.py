"""Unchecked cells and the columns' roles → columns, checked, derived and filtered → a checked `Table`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from msgspec.structs import replace

from genperf.arrays import AnyArray, Array, Mask
from genperf.errors import LISTED, FormulaError, Note, TableError, counted, did_you_mean, listed
from genperf.formula import Formula, Name, call, parse, quote_name, render
from genperf.metrics import coverage_text, median_ape
from genperf.panel.legend import Legend
from genperf.panel.machine import further_ways_of
from genperf.panel.options import Measurement, Roles, refuse_only_failures
from genperf.panel.panel import LEAST_FALL, TIME, checked_scaling, kind_of_work, samples_of
from genperf.panel.table import Table, constant_notes, failure_notes, group_keys, measure_factors, with_repeat_notes
from genperf.scaling import BY_GROUP, KINDS, Scaling
from genperf.table.cells import Factor, Source
from genperf.table.clean import Reasons, Rejection, faults_of, labels, mostly_numbers, numbers, rows_of, seconds_of
from genperf.vocabulary import words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import COUNTED, LEVELS, WAYS, column_of, counted_by, meant_by, noun_of, plain_name

#: How the note of earlier predictions begins.
EARLIER = "earlier predictions"
#: What to do where no cell of a column is a number, by a word of the reason.
_HINTS = {
    "unit": "write plain numbers; --unit ms says what --time is in",
    "thousands": "write 1204.5, neither 1,204.5 nor 1204,5",
}


class Columns:
    """Checked columns of one source, each read once, with those that are derived from them in order.

    Some are `texts` in formulas whatever they hold: categorical ones; others where most cells are no numbers. A cell
    that cannot be used is not an error yet: a filter may leave its row out. Its value is NaN, and `reasons` has its
    row; what is derived from it has none, so that each fault is reported once, where it stands in the file.
    """

    def __init__(self, source: Source, roles: Roles) -> None:
        self.source = source
        self.texts = {f.name for f in roles.factors if not f.numeric}
        self.derived: dict[str, Formula] = {}
        self.reasons: dict[str, Reasons] = {}
        self._numbers: dict[str, Array] = {}
        for name, text in roles.derived.items():
            values = self.derive(name, text)
            # A column that is there may be stated as what it follows from.
            if name in source.cells and not np.allclose(values, numbers(source.cells[name])[0], equal_nan=True):
                hint = "give the derived column a new name"
                raise TableError(f"'{name}' is a column already", hint=hint, where=source.name)

    @property
    def names(self) -> list[str]:
        """All columns: the source's, then the derived ones."""
        return [*(c for c in {**self.source.cells, **self.source.read} if c not in self.derived), *self.derived]

    def number(self, name: str, durations: bool = False) -> Array:
        """Return a column as numbers, NaN where a cell is none; with `durations` hours and minutes become seconds."""
        if name not in self._numbers:
            cells = self.source.read.get(name, self.cells(name))
            values, reasons = numbers(seconds_of(cells) if durations else cells)
            if reasons and len(reasons) == len(values):
                self._refuse_without_numbers(name, self.cells(name), reasons, durations)
            self._numbers[name] = values
            self.reject(name, reasons)
        return self._numbers[name]

    def reject(self, name: str, reasons: Reasons) -> None:
        """Mark rows that cannot be used because of this column; the first reason of a cell stays."""
        self.reasons[name] = {**reasons, **self.reasons.get(name, {})}

    def derive(self, name: str, text: str) -> Array:
        """Add a column computed from others and return it; a value that is not finite is a reason."""
        self.parse(text)
        formula = parse(text, self.names, self.texts, value="number or comparison")
        values = self._evaluate(formula).astype(float)
        inherited = ~self.usable(formula.names - self.texts)
        self.derived[name] = formula
        self._numbers[name] = values
        bad = np.flatnonzero(~np.isfinite(values) & ~inherited)
        self.reject(name, {int(i): f"is not finite ({name} = {text})" for i in bad})
        return values

    def filter(self, text: str | None) -> tuple[Mask, frozenset[str]]:
        """Return which rows a comparison keeps, undecided ones for a report, and the columns it depends on."""
        if text is None:
            return np.ones(len(self.source), dtype=bool), frozenset()
        formula = self.parse(text)
        if not formula.logical:
            raise FormulaError("a filter is a comparison", text=text, column=0, width=len(text), hint="workers > 1")
        fulfils = self._evaluate(formula).astype(bool) | ~self.usable(formula.names - self.texts)
        return fulfils, self.origins(formula.names)

    def rejections(self, keep: Mask) -> list[Rejection]:
        """Return the cells of some rows that cannot be used, row by row."""
        places = enumerate(self.reasons.items())
        faults = sorted((row, place, name) for place, (name, reasons) in places for row in reasons if keep[row])
        return [self.source.rejection(row, n, self.cells(n)[row], self.reasons[n][row]) for row, _, n in faults]

    def origins(self, names: Iterable[str]) -> frozenset[str]:
        """Return the columns, with all those they are made from."""
        origins: set[str] = set()
        for name in names:
            origins |= {name} | self.origins(self.derived[name].names if name in self.derived else ())
        return frozenset(origins)

    def missing(self, name: str, role: str) -> TableError:
        """Return the error for a column that is not there, with the column that may have been meant."""
        names = self.names
        columns = listed([f'"{n}"' if "," in n else n for n in names])
        near = did_you_mean(name, names)
        hint = f"{near}; the columns are {columns}" if near else f"one of {columns}"
        before, _, unit = name.rpartition(":")
        if role == "time" and before in names:
            hint = f"--time COLUMN --unit {unit}: the unit of a time is another option"
        elif len(names) == 1:
            hint = f"the header line was read as one column, '{columns}': --delimiter CHAR says what separates columns"
        elif not numbers(names)[1]:
            hint = f"the first line holds the numbers {columns}: put a header line with names above it"
        return TableError(f"no column '{name}' (named as {role})", hint=hint, where=self.source.name)

    def usable(self, names: Iterable[str] | None = None) -> Mask:
        """Return which rows have no fault in some columns; in any column that was read where none are named."""
        mask = np.ones(len(self.source), dtype=bool)
        for name in self.reasons if names is None else self.origins(names):
            mask[list(self.reasons.get(name, ()))] = False
        return mask

    def cells(self, name: str) -> AnyArray:
        """Return a column as it is written in the source; the numbers of a derived one."""
        made = self._numbers if name in self.derived else {}
        return next(columns[name] for columns in (made, self.source.cells, self.source.read) if name in columns)

    def parse(self, text: str) -> Formula:
        """Read a formula over the columns, in which `16GB` is a text where it is compared, and else a number."""
        # Whether a column is text is decided only where a formula may read it.
        named = {n for n in self.names if n in text} - set(self._numbers)
        self.texts |= {n for n in named - self.texts if not mostly_numbers(seconds_of(self.cells(n).tolist()))}
        with_units = named & self.texts & set(self.source.read) & set(self.source.cells)
        try:
            return parse(text, self.names, self.texts)
        except FormulaError:
            if not with_units:
                raise
            # '16GB' is a text where it is compared with one, and a number in a sum.
            self.texts -= with_units
            return parse(text, self.names, self.texts)

    def _evaluate(self, formula: Formula) -> AnyArray:
        # In the order of the columns, in which their faults are reported. A text may be empty: it can be compared.
        names = [n for n in self.names if n in formula.names]
        columns = {n: labels(self.cells(n)) if n in self.texts else self.number(n, durations=True) for n in names}
        return np.broadcast_to(formula.evaluate(columns), (len(self.source),))

    def _refuse_without_numbers(self, name: str, cells: Any, reasons: Reasons, durations: bool) -> NoReturn:
        """Refuse a column that holds no number at all: leaving rows out would not help."""
        first_filled = next((i for i, text in enumerate(labels(cells)) if text), None)
        if first_filled is None:
            raise TableError(f"column '{name}' is empty", where=self.source.name)
        fault = self.source.rejection(first_filled, name, cells[first_filled], reasons[first_filled])
        advice = f"name another column, or --categorical {shlex.quote(name)} if it names kinds of runs"
        of_day = "a measured time is written in seconds, or as hh:mm:ss"
        hints = {**_HINTS, "time of day": of_day} if durations else _HINTS
        hint = next((text for word, text in hints.items() if word in fault.reason), advice)
        what = f"no cell of the column is a number; the first, '{fault.shown}', {fault.reason}"
        raise TableError(what, hint=hint, where=f"{self.source.name}: {fault.place}")


def assemble(
    opened: Source, roles: Roles, mapping: Mapping[str, str] | None = None, legend: Legend | None = None
) -> Table:
    """Return the checked table of a source's cells: columns derived, rows filtered, faults and failed runs set apart.

    Where a rate has no work of a step, it follows from the columns, by what `mapping` calls them.
    """
    columns = Columns(opened, roles)
    measurement = require(roles, columns)
    # Which runs failed. A column that is derived holds the words of those that it is made from.
    measured = columns.origins([measurement.column]) - {f.name for f in roles.factors}
    failed, lacked, stopped = roles.failures.endings(opened.cells, len(opened), sorted(measured), opened.name)
    refuse_only_failures(failed, opened.name)
    work = _add_target(measurement, roles, columns, mapping or {})
    keep, read_by_filter = columns.filter(roles.where)
    if roles.where and not keep.any() and not opened.ragged:
        raise TableError(f"no row fulfils the filter {roles.where}", hint="loosen --where", where=opened.name)
    weightless = 0
    if roles.weight:
        # A row of no weight is as if left out: it has no part in ranges, noise or folds, and is not checked.
        counts = columns.number(roles.weight) != 0.0
        weightless, keep = opened.count(keep & ~counts), keep & counts
        if not keep.any() and not opened.ragged:
            raise TableError("all weights are zero", hint="at least one row must count", where=opened.name)
    refuse_only_failures(failed[keep], opened.name)

    # Which rows can be used. A run that failed has no measured value: no fault of it counts outside its settings.
    checked, settings = _checked(roles, measurement, columns), [*(f.name for f in roles.factors), *roles.group]
    for name in {*columns.reasons} - columns.origins(settings) if failed.any() else ():
        columns.reasons[name] = {row: why for row, why in columns.reasons[name].items() if not failed[row]}
    usable, lost = keep & columns.usable() & ~failed, keep & columns.usable(settings) & failed & ~stopped
    faults = columns.rejections(keep) if any(columns.reasons.values()) else []
    rejected = sorted([*faults, *opened.ragged], key=lambda rejection: rejection.line)
    if rejected and not (roles.skip_bad_rows and usable.any()):
        raise _bad_rows(rejected, opened.count(keep) + len(opened.ragged), opened)

    # The rows, and the settings of the runs that failed; one that was stopped may well fit.
    derived = {name: columns.number(name) for name in columns.derived if name not in checked}
    in_no_role = [name for name in opened.cells if name not in checked and name not in columns.derived]
    cells = {name: opened.read.get(name, opened.cells[name]) for name in in_no_role}
    # Of the types that they have: pandas finds no other ones.
    series = {name: pd.Series(column, dtype=column.dtype) for name, column in cells.items()}
    frame = pd.DataFrame({**checked, **derived, **series})[usable].reset_index(drop=True)
    failures = pd.DataFrame({name: checked[name][lost] for name in settings})
    failures = failures.sort_values(sorted(settings), ignore_index=True)
    factors = measure_factors(frame, roles.factors, roles.group)
    kind = _kind_by_throughput(roles, measurement, columns, usable) if measurement.kind == "throughput" else None
    # The notes: on rows and groups that are left out, on the factors, on the work of a step.
    notes = [*opened.steps, *measurement.notes(), *(_rejected_notes(rejected) if rejected else ())]
    if weightless:
        notes.append(Note(f"{counted(weightless, 'row')} left out, of '{roles.weight}' 0", "rows_weightless"))
    if failed.any():
        notes += failure_notes(opened.count(lost), opened.count(keep & stopped))
        notes += _notes_of_failed_groups(frame, failures, roles.group)
    notes += [*constant_notes(factors), *_notes_of_work(factors, work, bool(roles.work), kind)]
    notes += earlier_predictions(opened.columns, measurement.column)

    price = "" if legend is None else legend.price_column
    read = {*read_by_filter, *columns.origins(columns.derived), *roles.failures.columns, price}
    table = Table(
        frame=frame,
        target=measurement.target(work),
        factors=factors,
        group=roles.group,
        weight=roles.weight or None,
        repeat=roles.repeat or None,
        source=opened.name,
        rejected=tuple(rejected),
        unused=tuple(name for name in in_no_role if name not in read),
        derived={name: formula.text for name, formula in columns.derived.items()},
        reading=roles.beside,
        notes=tuple(notes),
        failures=failures,
        lacked_memory=bool((lost & lacked).any()),
        scaling=checked_scaling("" if roles.scaling == BY_GROUP else roles.scaling, kind, work),
        scaled_by_group=roles.scaling == BY_GROUP,
        legend=legend,
    )
    return with_repeat_notes(with_job(table.in_order(), mapping or {}))


def _kind_by_throughput(roles: Roles, measurement: Measurement, columns: Columns, usable: Mask) -> Scaling | None:
    """Return the kind of scaling that the work of a step, time · throughput, shows beside the workers or nodes."""
    axis = roles.panel.axis
    if axis.factor is None or axis.counts_other:
        return None
    work = columns.number(TIME)[usable] * columns.number(measurement.column)[usable]
    return kind_of_work(work, columns.number(axis.factor.name)[usable])


def _notes_of_failed_groups(frame: pd.DataFrame, failures: pd.DataFrame, group: tuple[str, ...]) -> list[Note]:
    """Return a note of the groups in which every run failed; none without such."""
    measured_groups = {*group_keys(frame, group)}
    failed_groups = [key for key in dict.fromkeys(group_keys(failures, group)) if key not in measured_groups]
    names = listed([", ".join(key) for key in failed_groups])
    text = f"every run failed of {counted(len(failed_groups), 'group')}, left out: {names}"
    return [Note(text, "groups_failed")] if failed_groups else []


def _notes_of_work(factors: Sequence[Factor], work: str, is_given: bool, kind: Scaling | None) -> list[Note]:
    """Return notes of counts that go down to zero, and of the work of a step: as it is taken, or that all share it."""
    notes = []
    for f in (f for f in factors if f.numeric and f.lower <= 0.0 and counted_by(f.name) in LEVELS):
        text = f"'{f.name}' goes down to {f.lower:g}: what divides by the {counted_by(f.name)} is left out"
        notes.append(Note(f"{text}; --where '{quote_name(f.name)} > 0' leaves these rows out instead", "count_zero"))
    follows = "" if kind is None else f", which is {kind} scaling"
    if work and not is_given:
        notes.append(Note(f"the work of a step is taken as {work}{follows}; --work FORMULA says otherwise", "work"))
    elif work and kind is not None and KINDS[kind].shared:
        notes.append(Note(f"the work of a step, {work}, is the same at every count of workers{follows}", "work"))
    return notes


def _rejected_notes(rejected: Sequence[Rejection]) -> list[Note]:
    """Return a note of how many rows cannot be used, with the reasons of two or the first one of more."""
    count, complaints = rows_of(rejected), [rejection.complaint for rejection in rejected]
    text = f"{counted(count, 'row')} left out because {'it' if count == 1 else 'they'} cannot be used"
    few = len(complaints) == count <= 2
    return [Note(f"{text}{'' if few else '; the first'}: {'; '.join(complaints[: 2 if few else 1])}", "rows_rejected")]


def earlier_predictions(columns: Mapping[str, AnyArray], measured: str) -> list[Note]:
    """Return a note of how many earlier predictions of a measured column held, where a table has them.

    They are a column `predicted`, with `lower` and `upper` where intervals were kept. A column `expected` may be an
    ideal: it is a prediction where it has an interval.
    """
    column_of_word = {plain_name(name): name for name in columns}
    ends = [column_of_word[end] for end in ("lower", "upper") if end in column_of_word]
    words = (*words_of("columns.predicted"), *(words_of("columns.expected") if len(ends) == 2 else ()))
    predicted = next((column_of_word[word] for word in words if word in column_of_word), measured)
    if predicted == measured or measured not in columns:
        return []
    values = np.array([numbers(columns[name])[0] for name in (measured, predicted, *ends)])
    values = values[:, np.isfinite(values[:2]).all(axis=0) & (values[0] > 0.0)]
    if not values.size:
        return []
    runs = values.shape[1]
    text = f"{EARLIER}: median error {median_ape(values[1], values[0]):.1f} % in {counted(runs, 'run')}"
    if len(ends) == 2:
        inside = int(np.sum((values[0] >= values[2]) & (values[0] <= values[3])))
        text += f"; {coverage_text(inside, runs)}"
    return [Note(text, "earlier_predictions")]


def require(roles: Roles, columns: Columns) -> Measurement:
    """Return the measurement, once the columns named are known to be there and enough of them are named."""
    where = columns.source.name
    for name, role in roles.named:
        if name not in columns.names:
            raise columns.missing(name, role)
    if roles.measurement is None:
        hint = "--time COL, --throughput COL, or --quantity COL:UNIT"
        raise TableError("no measured column is named", hint=hint, where=where)
    if not roles.factors:
        free = [c for c in columns.names if c not in dict(roles.named)]
        candidates = [c for c in free if c in columns.derived or mostly_numbers(columns.cells(c).tolist())]
        hint = f"--intrinsic or --extrinsic with some of {', '.join(candidates)}" if candidates else "--categorical COL"
        name = roles.measurement.target().name
        raise TableError(f"no factor is named: what may the {name} depend on?", hint=hint, where=where)
    return roles.measurement


def _add_target(measurement: Measurement, roles: Roles, columns: Columns, mapping: Mapping[str, str]) -> str:
    """Check the measured column, and derive the time of a step from a throughput; return the work of a step."""
    column, work = measurement.column, roles.work
    if measurement.kind != "throughput" and work:
        raise TableError("a work formula goes with a throughput", hint="--throughput COL --work FORMULA")
    if measurement.kind == "throughput" and (TIME in dict(roles.named) or TIME in columns.derived):
        raise TableError("the time made from a throughput is named 'time'", hint="name the other column otherwise")
    # Cells may be `2 min`, but in a large table, which was summarised (`counts`) from plain numbers.
    may_have_units = measurement.kind == "time" and not measurement.converted and columns.source.counts is None
    name = measurement.kind if measurement.kind != "quantity" else column
    measured = measurement.in_target_unit(columns.number(column, durations=may_have_units))
    columns.reject(column, faults_of(measured, positive=name))
    if measurement.kind != "throughput":
        return ""
    if not work:
        work = assumed_work(roles, mapping, columns.source.name, header_of(column).counted == "tokens")
    formula = columns.parse(work)  # a caret belongs under the user's text, not under the quotient
    values = columns.derive(TIME, f"({work})/{quote_name(column)}")
    faults = faults_of(np.where(columns.usable([TIME]), values, np.nan), positive=TIME)
    for factor in formula.names - columns.texts:
        # The user wrote this column, and no column of times.
        without_work = {row for row in faults if columns.number(factor)[row] <= 0.0}
        columns.reject(factor, dict.fromkeys(without_work, f"is not above zero, and the work of a step is {work}"))
        faults = {row: why for row, why in faults.items() if row not in without_work}
    columns.reject(TIME, faults)
    return work


def _checked(roles: Roles, measurement: Measurement, columns: Columns) -> dict[str, AnyArray]:
    """Return the columns in a role, of the types the table promises, and mark the cells that no table may hold."""
    counts = {f.name: counted_by(f.name) for f in roles.factors if f.numeric}
    numeric = {name: f"a count of {count}" if count else "" for name, count in counts.items()}
    numeric |= {roles.weight: "a weight"} if roles.weight else {}
    frame: dict[str, AnyArray] = {}
    for name in (*(f.name for f in roles.factors), *roles.group, roles.repeat, roles.weight):
        if name in numeric:
            frame[name] = columns.number(name)
            columns.reject(name, faults_of(frame[name], count=numeric[name]))
        elif name and name not in frame:
            frame[name] = labels(columns.cells(name))
            if name not in columns.derived:
                columns.reject(name, {int(i): "is empty" for i in np.flatnonzero(frame[name] == "")})
    target = measurement.target().column
    frame[target] = measurement.in_target_unit(columns.number(target))
    # A row contradicts itself whose data-, tensor-, pipeline- and context-parallel ways do not multiply to its devices.
    named: dict[str, str] = {}
    for canonical in ("workers", *WAYS):
        column = column_of(canonical, columns.names)
        # A column without a cell is none.
        cells = columns.source.columns.get(column or "")
        if column is not None and cells is not None and column not in {*columns.texts, *columns.derived}:
            named |= {canonical: column} if mostly_numbers(cells.tolist()) else {}
    ways = [named[way] for way in WAYS if way in named]
    if named.keys() >= {"workers", *WAYS[:3]} and {*ways} & {f.name for f in roles.factors}:
        columns.reject(named["workers"], _contradicting_ways(columns, named["workers"], ways))
    return frame


def _contradicting_ways(columns: Columns, devices: str, ways: Sequence[str]) -> Reasons:
    """Return the rows in which the ways do not multiply to the devices, with their product as the reason."""
    # Read without a check: a cell of a column in no role may be empty.
    values = {name: numbers(columns.source.columns[name])[0] for name in (devices, *ways)}
    product, reasons = np.prod([values[name] for name in ways], axis=0), dict[int, str]()
    # A further way, the same in every run, may have no column.
    made = product * max(1.0, further_ways_of(values[devices], product))
    for row in np.flatnonzero(np.isfinite(made) & np.isfinite(values[devices]) & (made != values[devices])).tolist():
        product_text = " × ".join(f"{values[name][row]:g}" for name in ways)
        reasons[row] = f"is not {' × '.join(ways)} = {product_text} = {product[row]:g}"
    return reasons


def _bad_rows(rejected: Sequence[Rejection], total: int, source: Source) -> TableError:
    """Return the error that lists the first bad rows and says how to go on."""
    lines = rows_of(rejected)
    complaints = [f"  {r.complaint}" for r in rejected[:LISTED]]
    if len(rejected) > len(complaints):
        complaints.append(f"  and {len(rejected) - len(complaints)} more")
    message = "\n".join([f"{lines} of {counted(total, 'row')} cannot be used", *complaints])
    none_left = "no row would be left; check which columns are named"
    hint = none_left if lines == total else "--skip-bad-rows goes on without them"
    if any("true or false" in r.reason for r in rejected):
        hint += "; --categorical takes true and false"
    return TableError(message, hint=hint, where=source.name)


# --- the work of a step -----------------------------------------------------------------------------------------------


def assumed_work(roles: Roles, mapping: Mapping[str, str], where: str, tokens: bool = False) -> str:
    """Return the work of a step where the user gives none: its samples, as columns show them, or one for each worker.

    Where the throughput counts `tokens`, a step has those of its samples, if a column has the length of a sequence.
    """
    panel = (replace(roles.panel, mapping=mapping) if mapping else roles.panel).with_axis
    names = [*(f.name for f in roles.factors if f.numeric), *roles.group]
    counted, batch = panel.counted_node, column_of("batch", names)
    samples = samples_of(panel, {name: Name(name) for name in roles.group})
    if samples is None and counted is not None and batch is not None:
        samples = call("multiply", Name(batch), counted)
    if samples is not None:
        sequence = column_of("sequence", names) if tokens else None
        return render(samples if sequence is None else call("multiply", samples, Name(sequence)))
    if counted is None:
        what = "no column counts the workers, and a throughput alone does not show the work of a step"
        hint = '--extrinsic with the column of the workers, or --work "batch*workers", the samples of a step'
        raise TableError(what, hint=hint, where=where)
    return render(counted)


def with_job(table: Table, mapping: Mapping[str, str]) -> Table:
    """Take times of epochs and whole jobs as such by their header, else say where times fall as those of jobs do.

    They do where a batch is mapped as that of all. The work of all workers together is then the same at every count,
    whatever the batch of each.
    """
    target, names = table.target, [*(f.name for f in table.numeric), *table.group]
    # What was made from a throughput has the unit of the work, and no seconds.
    if table.scaling is not None or not target.is_time or target.throughput:
        return table
    counts = {
        f.name: f.distinct for f in table.numeric if meant_by(f.name) in COUNTED or f.name == mapping.get("workers")
    }
    if max(counts.values(), default=1) > 1 and header_of(target.column).of == "job":
        read = f"'{target.column}' is read as the time of an epoch or a whole job"
        work = table.panel.step.total if table.panel.times_counted_steps else None
        if work is not None:
            text = f"{read}: its samples are {render(work)}; --scaling job says that they are the same at every count"
            return replace(table, notes=(*table.notes, Note(text, "job")))
        text = f"{read}: its work is the same at every count of workers; --scaling weak says otherwise"
        return replace(table, scaling="job", notes=(*table.notes, Note(text, "job")))
    if table.scaled_by_group:
        return table if table.group else replace(table, scaling=table.kind_by_times(table.frame), scaled_by_group=False)
    axis = table.panel.axis
    if "global_batch" in mapping or column_of("global_batch", names) is not None or axis.factor is None or axis.assumed:
        return table
    # The first and the last time of each series of runs that are alike but for their counts.
    workers, column = axis.factor.name, target.column
    alike = [f.name for f in table.factors if f.name not in {workers, *counts}]
    keys = list(dict.fromkeys([*alike, *table.group]))
    times = table.frame.groupby([*keys, workers], as_index=False, sort=True)[column].median()
    cells = times.groupby(keys or np.zeros(len(times)))[[workers, column]]
    (few, slow), (many, fast) = (ends.to_numpy(dtype=float).T for ends in (cells.first(), cells.last()))
    several = many > few
    if not several.any() or np.median((slow / fast)[several]) < LEAST_FALL:
        return table
    widest = int(np.argmax(np.where(several, many / few, 0.0)))
    scales = f"{few[widest]:g} to {many[widest]:g} {noun_of(workers)}"
    return table.noted(_note_of_fall(slow[widest], fast[widest], scales, column_of("batch", names)))


def _note_of_fall(slowest: float, fastest: float, scales: str, batch: str | None) -> Note:
    """Return the note that times fall from the slowest to the fastest, "1 to 8 gpus", as those of jobs do."""
    slow, fast = (f"{t:,.0f}" if t >= 1000.0 else f"{t:.3g}" for t in (slowest, fastest))
    text = f"the time falls from {slow} to {fast} s from {scales}: too much for a batch each"
    if batch is None:
        return Note(f"{text}; --scaling job for work that all share", "job_likely")
    remedy = f"--scaling job for an epoch, --map global_batch={batch} for a batch of all"
    return Note(f"at the same {batch} {text}; {remedy}", "job_likely")
