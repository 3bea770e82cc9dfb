"""A model that answers otherwise than it was fitted: for levels that were not measured, for another kind of scaling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from genperf.errors import Note, OnlyFailuresError, TableError, attempted
from genperf.formula import call, parse, quote_name, render
from genperf.formula.amounts import DURATIONS
from genperf.panel.panel import ONE, SECONDS, checked_scaling
from genperf.panel.quantities import quantities_of
from genperf.prediction.predict import substituted_members
from genperf.prediction.schema import Query, Schema, answered, named_as, query_of, roles_of
from genperf.result.fit_result import FitResult, GroupedResult
from genperf.scaling import Scaling
from genperf.table.clean import label
from genperf.vocabulary.headers import STEP_WORDS, TIME_UNITS, header_of, in_another_unit
from genperf.words.numbers import join_values

if TYPE_CHECKING:
    import pandas as pd

    from genperf.panel import Table
    from genperf.table.cells import Source


def read_as(source: Source, schema: Schema, unit: str | None = None, **further_roles: str) -> Table:
    """Read further runs as a model's table was read, with its roles, in its unit, missing columns completed."""
    from genperf.panel.read import recognised
    from genperf.table.opened import understood

    formulas = dict(schema.derived)
    formulas |= dict(text.split("=", 1) for option, text in schema.reading if option == "let")
    source, notes = _completed(named_as(source, schema), schema, formulas)
    measured = schema.target.throughput or schema.target.column
    read = parse(formulas[measured]).names if measured in formulas else {measured}
    lacking = read - {*source.columns, *formulas}
    # They may stand in the table's other form.
    if lacking and not lacking <= {*understood(source, named=lacking).columns}:
        other_unit = in_another_unit(measured, source.columns)
        if other_unit is not None and header_of(other_unit).kind == "time":
            # `step_ms` of a model of `step_s`: named as in the model, and read in its own unit.
            source, unit = source.renamed({other_unit: measured}), unit or header_of(other_unit).unit
        else:
            formulas.pop(measured, None)
            for column, formula in _measured_from(schema, source.columns).items():
                formulas[measured], unit = formula, None if schema.target.throughput else SECONDS
                if in_another_unit(measured, [column]) is None:
                    notes.append(Note(f"no column '{measured}': computed from '{column}'", "taken"))
    roles = {**_roles_in(schema, source, formulas), **further_roles}
    roles["unit"] = unit or roles["unit"]
    try:
        return recognised(source, roles, schema.mapping).table().noted(*notes)
    except OnlyFailuresError:
        raise
    except TableError as error:
        hint = f"{error.hint}; the model's columns: {', '.join(factor.name for factor in schema.factors)}"
        raise TableError(f"not read as the model's table: {error.message}", hint=hint, where=error.where) from None


def _roles_in(schema: Schema, source: Source, formulas: Mapping[str, str]) -> dict[str, Any]:
    """Return the options by which a model's table was read, as far as the columns of further runs allow them."""
    from genperf.panel.options import further_of

    reading, columns = dict(schema.reading), {*source.columns, *formulas}
    # The first of several groups has its own batch, and runs of all are read.
    work = schema.work_of_table
    work = work if work and parse(work).names <= columns else schema.target.work
    also = [text for option, text in schema.reading if option == "also"]
    return {
        **roles_of(schema),
        "work": work,
        "unit": reading.get("unit"),
        "scaling": schema.scaling,
        "where": reading.get("where"),
        "skip_bad_rows": "skip-bad-rows" in reading,
        **{option: reading[option] for option in ("weight", "repeat") if reading.get(option) in source.columns},
        "also": [text for text in also if {m.column for m in further_of(text).values()} <= {*source.columns}],
        "let": {name: text for name, text in formulas.items() if name not in source.columns},
    }


def _completed(source: Source, schema: Schema, formulas: Collection[str]) -> tuple[Source, list[Note]]:
    """Return runs with the factors that they lack, as `predict` completes them, and a note of what is taken."""
    lacking = [f for f in schema.factors if f.name not in {*source.columns, *formulas}]
    of_all = {} if schema.legend is None else schema.legend.columns
    # What each group has its own of is not that of the first.
    differs = any(f.distinct == 1 and (f.name not in of_all or of_all[f.name].distinct > 1) for f in lacking)
    query = attempted(query_of, source, schema, True) if lacking and not (schema.group and differs) else None
    cells = {f.name: query.columns[f.name] for f in lacking} if isinstance(query, Query) else {}
    taken = join_values({f.name: cells[f.name].tolist()[0] for f in lacking if f.distinct == 1 and cells})
    notes = [Note(f"no column has it, and taken as in all runs of the model: {taken}", "taken")] if taken else []
    return msgspec.structs.replace(source, cells={**source.cells, **cells}), notes


def _measured_from(schema: Schema, columns: Collection[str]) -> dict[str, str]:
    """Return a formula of the model's measured column over another measurement: {"img/s": "batch*gpus/`img/s`"}."""
    target, panel, step = schema.target, schema.panel, schema.panel.step
    # What devices share, or is assumed to grow with them, is no amount.
    work = step.total if step.known in ("measured", "columns") else None
    headers = {n: header for n in columns if (header := header_of(n)).kind == "rate" or header.of == "step"}
    rates, alike = [n for n in headers if headers[n].kind == "rate"], in_another_unit(target.throughput, columns)
    name, *others = [alike] if alike else rates or [*headers] or [""]
    # Times of a job and of a step are not of one thing.
    is_alike = target.is_time and panel.timed == "step" and (rates or schema.of_steps)
    if others or not name or not is_alike or (target.throughput and work is None):
        return {}
    header, of_a_step = headers[name], quantities_of(panel, {"work": work, "value": 1.0})
    above, below = TIME_UNITS[header.unit]
    seconds = f"{quote_name(name)}*{above / below / header.steps}"
    if rates:
        tokens = of_a_step.node("tokens_per_s") if of_a_step.has("tokens_per_s") else None
        amounts = {"tokens": tokens, **dict.fromkeys(STEP_WORDS, ONE)}
        # Where the work is in tokens, the samples of a step are these over the tokens of one.
        sequence = panel.node("sequence")
        of_samples = work if work != tokens else call("divide", work, sequence) if work and sequence else None
        amount = amounts.get(header.counted, of_samples)
        of_one = panel.node(header.level) if header.shared else ONE
        if amount is None or of_one is None:
            return {}
        seconds = f"({render(amount)})*{above / below}/({quote_name(name)}*({render(of_one)}))"
    of_target = DURATIONS.get(header_of(target.throughput).unit, 1.0)
    return {name: f"({render(work)})*{of_target}/({seconds})" if work is not None and target.throughput else seconds}


def answering(result: FitResult, *configurations: Mapping[str, Any] | pd.DataFrame | None) -> FitResult:
    """Return the model for configurations with unmeasured levels, for which it predicts the mean of measured ones."""
    new: dict[str, tuple[str, ...]] = dict(result.schema.substituted)
    for factor in result.schema.factors:
        if factor.numeric:
            continue
        given_levels = [label(v) for values in configurations for v in _values(values, factor.name, result)]
        levels = {*factor.levels, *new.get(factor.name, ())}
        added = tuple(level for level in dict.fromkeys(given_levels) if level not in levels and answered(factor, level))
        if added:
            new[factor.name] = (*new.get(factor.name, ()), *added)
    if new == result.schema.substituted:
        return result
    return replace(
        result,
        schema=msgspec.structs.replace(result.schema, substituted=new),
        members=substituted_members(result.schema, result.members, new),
        further={name: answering(further_result, *configurations) for name, further_result in result.further.items()},
    )


def predicting_levels(result: FitResult, data: pd.DataFrame) -> FitResult:
    """Return the model for rows whose unmeasured levels are all meant: `Fp16` beside `fp16` is no misspelling."""
    factors = [f for f in result.schema.factors if not f.numeric and f.name in data]
    levels = {f.name: tuple(sorted({label(v) for v in data[f.name]} - {*f.levels})) for f in factors}
    new = {name: unmeasured for name, unmeasured in levels.items() if unmeasured}
    return replace(result, schema=msgspec.structs.replace(result.schema, substituted=new)) if new else result


def _values(at: Mapping[str, Any] | pd.DataFrame | None, factor: str, result: FitResult) -> list[Any]:
    """Return what a configuration has of a factor, by its name or the one that the user mapped to it."""
    if at is None:
        return []
    values: Any = next((v for name, v in at.items() if result.schema.panel.column(str(name)) == factor), [])
    return [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)


def with_scaling(result: FitResult | GroupedResult, kind: Scaling | None) -> FitResult | GroupedResult:
    """Return a result whose answers take the scaling as weak or strong; None changes nothing."""
    if kind is None:
        return result
    scaled = {}
    for key, group_result in result.results.items():
        work = group_result.schema.target.work
        checked_scaling(kind, group_result.schema.scaling if work else None, work)
        scaled[key] = replace(group_result, schema=msgspec.structs.replace(group_result.schema, scaling=kind))
    return replace(result, results=scaled) if isinstance(result, GroupedResult) else scaled[()]
