"""`genperf explain`: terms, shares and elasticities of a fitted model; on request, knee, sensitivity, comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click

from genperf.cli.figures import of_explanation, plot_option, write_figure
from genperf.cli.options import grid, number, once, one_group, output_options
from genperf.cli.output import show_frame, show_json
from genperf.errors import GenperfError

if TYPE_CHECKING:
    from genperf.attribution import Comparison, Explanation, Importance
    from genperf.result import FitResult, GroupedResult


@click.command("explain")
@click.argument("model")
@click.option("--at", metavar="FACTOR=V,…", multiple=True, help="Where; the centre of the data where omitted.")
@click.option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@click.option("--members", is_flag=True, help="Also the terms of each member of an ensemble by itself.")
@click.option(
    "--versus",
    metavar="FACTOR=V",
    multiple=True,
    help="Why this configuration takes longer: factors (or group columns) in which it differs from --at.",
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
    type=click.Choice(["weak", "strong"]),
    help="Whether one worker's work stays or all together's; what the columns say where omitted.",
)
@click.option(
    "--sobol",
    is_flag=False,
    flag_value="time",
    type=click.Choice(["time", "log"]),
    help="Sobol indices of the time [time] or of its logarithm over the measured domain.",
)
@click.option("--within", metavar="FACTOR=LOW,HIGH", multiple=True, help="Another domain for --sobol; or levels.")
@click.option("--importance", metavar="TABLE", help="Permutation importance for learners on the table that was fitted.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of --sobol and --importance.")
@plot_option("the terms along the count of workers; with --versus, --sobol or --knee what these say")
@output_options
def command(
    model: str,
    at: tuple[str, ...],
    group: str | None,
    interval: float,
    members: bool,
    versus: tuple[str, ...],
    knee: str | None,
    along: str | None,
    up_to: str | None,
    kind: Literal["weak", "strong"] | None,
    sobol: Literal["time", "log"] | None,
    within: tuple[str, ...],
    importance: str | None,
    seed: int,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    no_color: bool,
) -> None:
    """Say what MODEL's time is made of: seconds and share per term, and how each factor moves it."""
    from genperf.attribution import explain
    from genperf.result import load_model

    fitted = load_model(model)
    chosen = one_group(fitted, group, model)
    asked = grid(at) if at else None
    other = once(versus, "--versus")
    across = {name: value for name, value in other.items() if name in chosen.schema.group}
    found = explain(
        chosen,
        asked,
        interval,
        versus=None if across else other or None,
        knee=number(knee, "--knee") if knee is not None else False,
        sobol=sobol or False,
        along=along,
        upto=number(up_to, "--up-to") if up_to is not None else None,
        kind=kind,
        within=grid(within) if within else None,
        seed=seed,
    )
    if across:
        found = replace(found, comparison=_between_groups(fitted, chosen, group, asked, other, across, interval))
    if importance is not None:
        found = replace(found, importance=_importance(chosen, group, importance, seed))
    if plot:
        write_figure(of_explanation(found, chosen, asked, interval), plot, quiet)
    if as_json:
        show_json(found.to_dict())
        return
    _show(found, chosen, members, no_color)


def _between_groups(
    fitted: FitResult | GroupedResult,
    chosen: FitResult,
    group: str | None,
    asked: dict[str, list[str]] | None,
    other: dict[str, str],
    across: dict[str, str],
    interval: float,
) -> Comparison:
    """Compare one group's model with another's."""
    from genperf.attribution import compare, completed

    names = chosen.schema.group
    here = [v.strip() for v in (group or "").split(",")]
    key = tuple(across.get(name, value) for name, value in zip(names, here, strict=True))
    second = fitted[key]  # type: ignore[index]
    a = {str(k): v for k, v in completed(chosen, asked).iloc[0].items()}
    changed = {name: value for name, value in other.items() if name in {f.name for f in second.schema.factors}}
    known = {f.name for f in second.schema.factors if f.numeric or a[f.name] in f.levels}
    b = {**{k: v for k, v in a.items() if k in known and k not in names}, **changed}
    labels = tuple(", ".join(k) for k in (here, key))
    return compare(chosen, a, b, other=second, names=(labels[0], labels[1]), interval=interval)


def _importance(chosen: FitResult, group: str | None, source: str, seed: int) -> Importance:
    """Read the table as the model's was read, and ask the learners."""
    from genperf.table import read_table
    from genperf.validation import importance

    schema = chosen.schema
    roles: dict[str, Any] = {
        role: [f.name for f in schema.factors if f.role == role] for role in ("intrinsic", "extrinsic", "categorical")
    }
    table = read_table(
        source, time=schema.target.column, group=list(schema.group), let=dict(schema.derived) or None, **roles
    )
    if schema.group:
        key = tuple(v.strip() for v in (group or "").split(","))
        parts = dict(table.groups())
        if key not in parts:
            raise GenperfError(f"there is no group {', '.join(key)}", where=source)
        table = read_table(parts[key].frame, time=schema.target.column, **roles)
    return importance(table, seed=seed)


def _show(found: Explanation, chosen: FitResult, members: bool, plain: bool) -> None:
    click.echo(f"T = {chosen.best.expression.text(chosen.best.values)}")
    show_frame(found.terms, "seconds and share of each term", plain=plain)
    if members and len(found.members):
        show_frame(found.members, "the same by each member of the ensemble", plain=plain)
    show_frame(found.elasticities, "elasticity: how many per cent the time moves with one per cent", plain=plain)
    for a, b in found.aliased:
        click.echo(f"'{a}' and '{b}' cannot be told apart by this data; their sum can")
    for name in chosen.best.unidentified:
        click.echo(f"{name} is not determined by this data")
    for note in found.notes:
        click.echo(note)
    if found.scaling is not None:
        scale = found.scaling
        doublings = [scale.reference * 2**k for k in range(64) if scale.reference * 2**k <= scale.upto]
        shown = scale.curve[scale.curve[scale.along].isin([*doublings, scale.upto])]
        show_frame(shown, f"\n{scale.kind} scaling along {scale.along}, relative to {scale.reference:g}", plain=plain)
        for sentence in scale.sentences():
            click.echo(sentence)
    if found.comparison is not None:
        show_frame(found.comparison.terms, "\n" + found.comparison.said, plain=plain)
    if found.sensitivity is not None:
        what = "the time" if found.sensitivity.of == "time" else "the logarithm of the time"
        show_frame(found.sensitivity.indices, f"\nshares of the variance of {what} (Sobol indices)", plain=plain)
        for note in found.sensitivity.notes:
            click.echo(note)
    if found.importance is not None:
        show_frame(found.importance.scores, "\nby how many % the error grows when a factor is shuffled", plain=plain)
