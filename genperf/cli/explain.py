"""`genperf explain`: terms, shares and elasticities of a fitted model; with options, knee, sensitivity, comparison."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click

from genperf.attribution.elasticity import doublings_for_people
from genperf.cli.fitted import formula_lines, shares_line
from genperf.cli.messages import tell
from genperf.cli.options import grid, model_or_table, names_of, number, once, one_group
from genperf.cli.output import Output, for_people, results, show_json
from genperf.cli.shown import values_at
from genperf.errors import GenperfError
from genperf.scaling import NAMES, Scaling
from genperf.words.numbers import samples_called

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from genperf.attribution import Comparison, Explanation
    from genperf.result import FitResult, GroupedResult
    from genperf.table import Table


@click.command("explain")
@click.argument("model", metavar="MODEL|TABLE")
@click.option(
    "--at", metavar="FACTOR=V,…", multiple=True, help="The configuration; the centre of the data where omitted."
)
@click.option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@click.option("--latex", "as_latex", is_flag=True, help="Print the fitted formula for LaTeX, and nothing else.")
@click.option("--members", is_flag=True, help="Also the terms of each member of an ensemble by itself.")
@click.option(
    "--versus",
    metavar="FACTOR=V",
    multiple=True,
    help="Explain the difference to this configuration: factors, or group columns, in which it differs from --at.",
)
@click.option(
    "--knee",
    metavar="LEVEL",
    is_flag=False,
    flag_value="0.5",
    help="Efficiency, the count at which it falls below a level [0.5], where more workers are slower, crossovers.",
)
@click.option("--along", metavar="FACTOR", help="The factor that counts the workers, where it is not recognised.")
@click.option("--up-to", metavar="N", help="How far to look for the knee; 16 times the largest measured where omitted.")
@click.option(
    "--scaling",
    "kind",
    type=click.Choice(NAMES),
    help="weak: work per worker is fixed; strong: the work of all is. Where no column and no --work of fit shows it.",
)
@click.option(
    "--sobol",
    is_flag=False,
    flag_value="time",
    type=click.Choice(["time", "log"]),
    help="Sobol indices of the time (or other quantity) [time] or of its logarithm, over the measured domain.",
)
@click.option("--within", metavar="FACTOR=LOW,HIGH", multiple=True, help="Another domain for --sobol; or levels.")
@click.option("--importance", metavar="TABLE", help="Permutation importance for learners on the table that was fitted.")
@click.option("--unit", metavar="UNIT", help="Of the times in the TABLE of --importance; seconds where omitted.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of --sobol and --importance.")
@results(plot="the terms along the count of workers; or what --versus, --sobol or --knee compute")
def command(
    model: str,
    at: tuple[str, ...],
    group: str | None,
    interval: float,
    as_latex: bool,
    members: bool,
    versus: tuple[str, ...],
    knee: str | None,
    along: str | None,
    up_to: str | None,
    kind: Scaling | None,
    sobol: Literal["time", "log"] | None,
    within: tuple[str, ...],
    importance: str | None,
    unit: str | None,
    seed: int,
    out: Output,
) -> None:
    """Show which terms MODEL's time, or other quantity, is made of, and how each factor changes it."""
    from genperf.attribution import Knee, Sobol, explain

    fitted = model_or_table(model)
    chosen = one_group(fitted, group, model)
    if as_latex:
        from genperf.reporting.export import export

        tell(export(chosen, "latex"))
        return
    here = values_at(at, fitted) if at else None
    other = once(versus, "--versus", names_of(fitted))
    across = any(name in chosen.schema.group for name in other)
    upto = number(up_to, "--up-to") if up_to is not None else None
    explanation = explain(
        chosen,
        here,
        interval,
        versus=None if across else other or None,
        knee=False if knee is None else Knee(number(knee, "--knee"), along, upto, kind),
        sobol=Sobol(sobol, grid(within, names_of(fitted)) if within else None, seed=seed) if sobol else False,
    )
    if across:
        explanation = replace(explanation, comparison=_across_groups(fitted, group, other, here, interval))
    if importance is not None:
        from genperf.validation import importance as permutation_importance

        table = _read_again(chosen, group, importance, unit)
        explanation = replace(explanation, importance=permutation_importance(table, seed=seed))
    if out.as_json:
        show_json(explanation.to_dict())
    else:
        _show(explanation, chosen, members, out)
    out.draw(lambda: _figure(explanation, chosen, here, interval))


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
