"""`genperf explain`: terms, shares and elasticities of a fitted model; with options, knee, sensitivity, comparison."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from genperf.attribution.elasticity import doublings_for_people
from genperf.cli.declared import declared
from genperf.cli.fit import formula_lines, shares_line
from genperf.cli.options import grid, model_or_table, names_of, number, one_group, pairs, read, values_at
from genperf.cli.output import Output, for_people, tell
from genperf.errors import GenperfError
from genperf.words.numbers import samples_called

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from genperf.attribution import Comparison, Explanation
    from genperf.result import FitResult, GroupedResult
    from genperf.table import Table


@declared("explain", "result options")
def command(o: SimpleNamespace, out: Output) -> None:
    """Show which terms MODEL's time, or other quantity, is made of, and how each factor changes it."""
    from genperf.attribution import Knee, Sobol, explain

    if o.why:
        _show_causes(o, out)
        return
    fitted = model_or_table(o.model)
    chosen = one_group(fitted, o.group, o.model)
    if o.as_latex:
        from genperf.reporting.export import export

        tell(export(chosen, "latex"))
        return
    here = values_at(o.at, fitted) if o.at else None
    other = pairs(o.versus, "--versus", names_of(fitted))
    across = any(name in chosen.schema.group for name in other)
    upto = number(o.up_to, "--up-to") if o.up_to is not None else None
    domain = grid(o.within, names_of(fitted)) if o.within else None
    explanation = explain(
        chosen,
        here,
        o.interval,
        versus=None if across else other or None,
        knee=False if o.knee is None else Knee(number(o.knee, "--knee"), o.along, upto, o.scaling),
        sobol=Sobol(o.sobol, domain, seed=o.seed) if o.sobol else False,
    )
    if across:
        explanation = replace(explanation, comparison=_across_groups(fitted, o.group, other, here, o.interval))
    if o.importance is not None:
        from genperf.validation import importance

        table = _read_again(chosen, o.group, o.importance, o.unit)
        explanation = replace(explanation, importance=importance(table, seed=o.seed))
    if not out.written(explanation):
        _show(explanation, chosen, o.members, out)
    out.draw(lambda: _figure(explanation, chosen, here, o.interval))


def _show_causes(o: SimpleNamespace, out: Output) -> None:
    """Print the causes of slow steps; a table is read, and nothing is fitted to it."""
    from genperf.causes import why
    from genperf.result import is_model, load_model

    sound: Any
    if not is_model(o.model):
        slow: Any = read(o.model, {"skip_bad_rows": True})
        names = [*(factor.name for factor in slow.factors), *slow.group]
        sound = pairs(o.versus, "--versus", names)
    else:
        fitted = load_model(o.model)
        slow, names = one_group(fitted, o.group, o.model), names_of(fitted)
        sound = pairs(o.versus, "--versus", names)
        if any(name in slow.schema.group for name in sound):
            key = zip(slow.schema.group, (o.group or "").split(","), strict=True)
            sound = one_group(fitted, ",".join(sound.get(name, value) for name, value in key), o.model)
    diagnosis = why(slow, pairs(o.at, "--at", names), sound=sound or None, hints=pairs(o.hints, "--hint"))
    if not out.written(diagnosis):
        tell(str(diagnosis))


def _across_groups(
    fitted: FitResult | GroupedResult, group: str | None, other: dict[str, str], at: Any, interval: float
) -> Comparison:
    """Compare the model of a group with that of another; `other` has values of group columns, and of factors."""
    from genperf.attribution import compare

    here = tuple(v.strip() for v in (group or "").split(","))
    first = fitted[here]  # type: ignore[index]
    names = first.schema.group
    there = tuple(other.get(name, value) for name, value in zip(names, here, strict=True))
    second = fitted[there]  # type: ignore[index]
    factors = {f.name: f for f in second.schema.factors if f.name not in names}
    a = {str(k): v for k, v in first.completed(at).iloc[0].items()}
    b = {k: v for k, v in a.items() if k in factors and (factors[k].numeric or v in factors[k].levels)}
    b |= {name: v for name, v in other.items() if name in factors}
    return compare(first, a, b, other=second, names=(", ".join(here), ", ".join(there)), interval=interval)


def _read_again(chosen: FitResult, group: str | None, source: str, unit: str | None) -> Table:
    """Read a table with the roles of the model's, and return the rows of the model's group."""
    from genperf.table import read_table

    schema, target = chosen.schema, chosen.schema.target
    roles: dict[str, Any] = {
        role: [f.name for f in schema.factors if f.role == role] for role in ("intrinsic", "extrinsic", "categorical")
    }
    if target.throughput:
        roles |= {"throughput": target.throughput, "work": target.work or None, "unit": unit}
    elif target.is_time:
        roles |= {"time": target.column, "unit": unit}
    else:
        # A colon ends the column's name, whether or not it has one itself.
        roles |= {"quantity": f"{target.column}:{target.unit}", "unit": unit}
    table = read_table(source, group=list(schema.group), let=dict(schema.derived) or None, **roles)
    if not schema.group:
        return table
    key = tuple(v.strip() for v in (group or "").split(","))
    parts = dict(table.groups())
    if key not in parts:
        raise GenperfError(f"there is no group {', '.join(key)}", where=source)
    return replace(parts[key], group=())


def _show(explanation: Explanation, chosen: FitResult, members: bool, out: Output) -> None:
    """Print an explanation: terms, elasticities, then what was requested beside them."""
    target = chosen.schema.target
    if chosen.is_formula:
        tell("\n".join(formula_lines(chosen)))
    else:
        tell(f"{target.name}: the average of {shares_line(chosen)}")
    what = f"{'seconds' if target.is_time else target.unit or target.name} and "
    settings, terms = [f.name for f in chosen.schema.factors], explanation.terms
    if (
        samples_called(target.throughput) == "tokens"
        and not chosen.schema.of_steps
        and not chosen.panel.has("sequence")
    ):
        # The throughput counts tokens, the columns samples: their ratio is no time.
        what, terms = "", terms.drop(columns=["seconds", "lower", "upper"])
        lacks = "counts tokens and no column is the sequence length"
        tell(f"no seconds: {target.throughput} {lacks}; fit with --work, the tokens of a step")
    _show_terms(terms, settings, f"{what}share of each term", out)
    if members and len(explanation.members):
        named = explanation.members
        out.frame(named, "the same by each member of the ensemble")
    heading = f"elasticity: the change of {target.name} in %, for one % more of a factor"
    out.frame(for_people(explanation.elasticities, settings)[0], heading)
    if len(explanation.doublings):
        heading = f"by what doubling a factor multiplies the {target.name}, at each level"
        out.frame(doublings_for_people(explanation.doublings), heading)
    for sentence in explanation.trust:
        tell(sentence)
    for a, b in explanation.aliased:
        tell(f"'{a}' and '{b}' cannot be told apart by this data; their sum can")
    read = chosen.best.expression.without_zeros(chosen.best.values).constant_names
    unknown = [name for name in chosen.best.unidentified if name in read]
    if unknown and (members or chosen.is_formula):
        tell(f"not determined by this data: {', '.join(unknown)}")
    for note in explanation.notes:
        tell(note)
    if explanation.scaling is not None:
        scale = explanation.scaling
        doublings = [scale.reference * 2**k for k in range(64) if scale.reference * 2**k <= scale.upto]
        shown = scale.curve[scale.curve[scale.along].isin([*doublings, scale.upto])]
        kind = "" if scale.kind == "unknown" else f"{scale.kind} "
        out.frame(shown, f"\n{kind}scaling along {scale.along}, relative to {scale.reference:g}")
        for sentence in scale.sentences():
            tell(sentence)
    if explanation.comparison is not None:
        out.frame(explanation.comparison.terms, "\n" + explanation.comparison.sentence)
        # With one overlap its row is among the terms already.
        if len(explanation.comparison.hidden) > 1:
            out.frame(explanation.comparison.hidden, "what each overlap hides")
    if explanation.sensitivity is not None:
        logarithm = "" if explanation.sensitivity.of == "time" else "logarithm of the "
        heading = f"\nshares of the variance of the {logarithm}{target.name} (Sobol indices)"
        out.frame(explanation.sensitivity.indices, heading)
        for note in explanation.sensitivity.notes:
            tell(note)
    if explanation.importance is not None:
        heading = "\nby how many % the error grows when a factor is shuffled"
        out.frame(explanation.importance.scores, heading)


def _show_terms(terms: pd.DataFrame, settings: Collection[str], heading: str, out: Output) -> None:
    """Print the configuration that all rows share, then the terms; those that are zero follow in one line."""
    zero = terms.groupby("term", sort=False)["share"].agg(lambda shares: bool((shares == 0.0).all()))
    gone = [str(term) for term, nothing in zero.items() if nothing]
    shown, same = for_people(terms[~terms["term"].isin(gone)], settings)
    if same:
        tell(f"at {same}")
    out.frame(shown, heading)
    if gone:
        tell(f"zero here: {', '.join(gone)}")


def _figure(explanation: Explanation, result: FitResult, at: Mapping[str, Any] | None, interval: float) -> Figure:
    """Draw a comparison, or else sensitivities, the efficiency, or the terms along the workers."""
    from genperf import plots
    from genperf.attribution import scaling
    from genperf.result import answering

    if explanation.comparison is not None:
        return plots.waterfall(explanation.comparison)
    if explanation.sensitivity is not None:
        return plots.sobol(explanation.sensitivity)
    if explanation.scaling is not None:
        return plots.efficiency(explanation.scaling)
    result = answering(result, at)
    here = {str(name): value for name, value in result.completed(at).iloc[0].items()}
    return plots.terms(result, scaling(result, here, interval=interval), interval)
