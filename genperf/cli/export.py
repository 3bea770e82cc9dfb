"""`genperf export`: a fitted expression in another language."""

from __future__ import annotations

import click

from genperf.cli.options import model_or_table, one_group
from genperf.cli.writing import writable, write_whole


@click.command("export")
@click.argument("model")
@click.option(
    "--to", type=click.Choice(["python", "c", "latex", "javascript", "extra-p"]), required=True, help="The language."
)
@click.option("--group", metavar="A,B", help="Which group's model, for a model fitted with --group.")
@click.option("-o", "--output", callback=writable, metavar="FILE", help="Write here; to standard output where omitted.")
def command(model: str, to: str, group: str | None, output: str | None) -> None:
    """Write the fitted expression of MODEL, with its constants, as a function of its factors.

    The interval and the verdict are not exported.
    """
    from genperf.reporting.export import export

    result = one_group(model_or_table(model), group, model)
    write_whole(output or "-", export(result, to).rstrip("\n") + "\n")
