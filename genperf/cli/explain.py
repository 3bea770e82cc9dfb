"""`genperf explain`: terms, shares and elasticities of a fitted model; with options, knee, sensitivity, comparison."""

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from genperf import plots
from genperf.attribution import Explanation, Knee, Sobol, compare, explain, scaling
from genperf.attribution.comparison import single
from genperf.causes import why
from genperf.cli.fit import formula_lines, shares_line
from genperf.cli.options import (
    configuration,
    group_at,
    model_or_table,
    names_of,
    number,
    one_group,
    pairs,
    read,
    values_at,
)
from genperf.cli.output import Output, tell, tell_all
from genperf.errors import GenperfError
from genperf.panel import Table, read_table
from genperf.reporting.export import export
from genperf.reporting.provenance import roles_of
from genperf.result import FitResult, GroupedResult, answering, is_model, load_model
from genperf.validation import importance
from genperf.words.numbers import samples_called

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(o: SimpleNamespace, out: Output) -> None:
    """Explain, and print or draw what was requested."""
    if o.why:
        _show_causes(o, out)
        return
    fitted = model_or_table(o.model)
    at = values_at(o.at, "--at", fitted)
    o.group = group_at(fitted, o.group, at)
    chosen = one_group(fitted, o.group, o.model)
    if o.as_latex:
        tell(export(chosen, "latex"))
        return
    here = {name: values for name, values in at.items() if name not in fitted.group} or None
    other = configuration(o.versus, "--versus", fitted)
    across = any(name in chosen.schema.group for name in other)
    upto = number(o.up_to, "--up-to") if o.up_to is not None else None
    domain = values_at(o.within, "--within", fitted)
    explanation = explain(
        chosen,
        here,
        o.interval,
        versus=None if across else other or None,
        knee=False if o.knee is None else Knee(number(o.knee, "--knee"), o.along, upto, o.scaling),
        sobol=Sobol(o.sobol, domain, seed=o.seed) if o.sobol else False,
    )
    if across:
        key, second = _other_group(fitted, o.group, other)
        factors = {f.name: f for f in second.schema.factors if f.name not in second.schema.group}
        a = single(chosen.query(here), "groups are compared at one configuration")
        b = {k: v for k, v in a.items() if k in factors and (factors[k].numeric or v in factors[k].levels)}
        b |= {name: v for name, v in other.items() if name in factors}
        names = ", ".join(_key(o.group)), ", ".join(key)
        across_groups = compare(chosen, a, b, other=second, names=names, interval=o.interval)
        explanation = replace(explanation, comparison=across_groups)
    if o.importance is not None:
        table = _read_again(chosen, o.group, o.importance, o.unit)
        explanation = replace(explanation, importance=importance(table, seed=o.seed))
    if not out.written(explanation):
        _show(explanation, chosen, o.members, out)
    out.draw(lambda: _figure(explanation, chosen, here, o.interval))


def _show_causes(o: SimpleNamespace, out: Output) -> None:
    """Print the causes of slow steps; a table is read, and nothing is fitted to it."""
    fitted = load_model(o.model) if is_model(o.model) else None
    slow: Any = read(o.model, {"skip_bad_rows": True}) if fitted is None else one_group(fitted, o.group, o.model)
    names = [*(factor.name for factor in slow.factors), *slow.group] if fitted is None else names_of(fitted)
    sound: Any = pairs(o.versus, "--versus", names)
    if fitted is not None and any(name in slow.schema.group for name in sound):
        _, sound = _other_group(fitted, o.group, sound)
    diagnosis = why(slow, pairs(o.at, "--at", names), sound=sound or None, hints=pairs(o.hints, "--hint"))
    if not out.written(diagnosis):
        tell(str(diagnosis))


def _key(group: str | None) -> tuple[str, ...]:
    """Return the values of `--group`."""
    return tuple(value.strip() for value in (group or "").split(","))


def _other_group(
    fitted: FitResult | GroupedResult, group: str | None, other: Mapping[str, str]
) -> tuple[tuple[str, ...], FitResult]:
    """Return the key and the model of the group that differs from `--group` in some values."""
    key = tuple(other.get(name, value) for name, value in zip(fitted.group, _key(group), strict=True))
    return key, one_group(fitted, ",".join(key), "")


def _read_again(chosen: FitResult, group: str | None, source: str, unit: str | None) -> Table:
    """Read a table with the roles of the model's, and return the rows of the model's group."""
    schema = chosen.schema
    roles: dict[str, Any] = {**roles_of(schema), "work": schema.target.work or None}
    table = read_table(source, let=dict(schema.derived) or None, unit=unit, **roles)
    if not schema.group:
        return table
    key, parts = _key(group), dict(table.groups())
    if key not in parts:
        raise GenperfError(f"there is no group {', '.join(key)}", where=source)
    return replace(parts[key], group=())


def _show(explanation: Explanation, chosen: FitResult, members: bool, out: Output) -> None:
    """Print an explanation below the formula, or the shares of an ensemble."""
    target = chosen.schema.target
    tell_all(formula_lines(chosen) if chosen.is_formula else [f"{target.name}: the average of {shares_line(chosen)}"])
    tokens = samples_called(target.throughput) == "tokens" and not chosen.panel.has("sequence")
    if tokens and not chosen.schema.of_steps:
        # The throughput counts tokens, the columns samples: their ratio is no time.
        explanation = replace(explanation, terms=explanation.terms.drop(columns=["seconds", "lower", "upper"]))
        lacks = "counts tokens and no column is the sequence length"
        tell(f"no seconds: {target.throughput} {lacks}; fit with --work, the tokens of a step")
    read = chosen.best.expression.without_zeros(chosen.best.values).constant_names
    unknown = [name for name in chosen.best.unidentified if name in read]
    if unknown and (members or chosen.is_formula):
        tell(f"not determined by this data: {', '.join(unknown)}")
    out.lines((explanation if members else replace(explanation, members=explanation.members[:0])).content)


def _figure(explanation: Explanation, result: FitResult, at: Mapping[str, Any] | None, interval: float) -> "Figure":
    """Draw a comparison, or else sensitivities, the efficiency, or the terms along the workers."""
    if explanation.comparison is not None:
        return plots.waterfall(explanation.comparison)
    if explanation.sensitivity is not None:
        return plots.sobol(explanation.sensitivity)
    if explanation.scaling is not None:
        return plots.efficiency(explanation.scaling)
    result = answering(result, at)
    here = {name: cells[0] for name, cells in result.query(at).columns.items()}
    return plots.terms(result, scaling(result, here, interval=interval))
