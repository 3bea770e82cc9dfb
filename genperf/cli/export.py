"""`genperf export`: a fitted expression in another language."""

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.writing import write_whole


@shared.command("export")
@click.argument("model")
@option(
    "--to",
    type=click.Choice(["python", "c", "latex", "javascript", "extra-p"]),
    required=True,
    help="The language.",
)
@shared.GROUP
@shared.output("FILE", "Write here; to standard output where omitted.")
def export(model: str, to: str, group: str | None, output: str | None) -> None:
    """Write the fitted expression of MODEL, with its constants, as a function of its factors.

    The interval and the verdict are not exported.
    """
    from genperf.cli.options import model_or_table, one_group
    from genperf.reporting.export import export as exported

    result = one_group(model_or_table(model), group, model)
    write_whole(output or "-", exported(result, to).rstrip("\n") + "\n")
