"""`genperf explain`: terms, shares and elasticities of a fitted model."""

from __future__ import annotations

import click

from genperf.cli.options import grid, one_group, output_options
from genperf.cli.output import show_frame, show_json


@click.command("explain")
@click.argument("model")
@click.option("--at", metavar="FACTOR=V,…", multiple=True, help="Where; the centre of the data where omitted.")
@click.option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@output_options
def command(
    model: str, at: tuple[str, ...], group: str | None, interval: float, as_json: bool, quiet: bool, no_color: bool
) -> None:
    """Say what MODEL's time is made of: seconds and share per term, and how each factor moves it."""
    from genperf.attribution import explain
    from genperf.result import load_model

    chosen = one_group(load_model(model), group, model)
    found = explain(chosen, grid(at) if at else None, interval)
    if as_json:
        show_json(found.to_dict())
        return
    click.echo(f"T = {chosen.best.expression.text(chosen.best.values)}")
    show_frame(found.terms, "seconds and share of each term", plain=no_color)
    show_frame(found.elasticities, "elasticity: how many per cent the time moves with one per cent", plain=no_color)
    for a, b in found.aliased:
        click.echo(f"'{a}' and '{b}' cannot be told apart by this data; their sum can")
    for name in chosen.best.unidentified:
        click.echo(f"{name} is not determined by this data")
