"""`genperf fit`: a table → a fitted model."""

from __future__ import annotations

from typing import Any

import click

from genperf.cli.options import fit_arguments, fit_options, output_options, read, table_options
from genperf.cli.output import say, show_frame, write_whole


@click.command("fit")
@click.argument("table")
@table_options
@click.option("--model", default="auto", show_default=True, help="auto, a family (see `genperf models`) or a formula.")
@fit_options
@click.option("-o", "--output", metavar="FILE", help="Write the model here (JSON).")
@output_options
def command(
    table: str, model: str, output: str | None, as_json: bool, quiet: bool, no_color: bool, **given: Any
) -> None:
    """Fit a model to TABLE and say what was found."""
    from genperf.fitting import fit
    from genperf.result import FitResult, dump_model

    measured = read(table, given)
    result = fit(measured, model, **fit_arguments(given))
    written = dump_model(result)
    if output:
        write_whole(output, written)
    if as_json:
        click.echo(written, nl=False)
        return
    if isinstance(result, FitResult):
        for line in str(result).splitlines():
            if not line.startswith("note: "):
                click.echo(line)
        show_frame(result.constants().drop(columns="member" if len(result.members) == 1 else []), plain=no_color)
        for note in result.notes:
            say(f"note: {note}", quiet)
    else:
        click.echo(str(result))
    if measured.unused:
        say(f"left out, in no role: {', '.join(measured.unused)}", quiet)
    if measured.rejected:
        say(f"rejected rows: {len(measured.rejected)}; genperf check lists them", quiet)
    if output:
        say(f"wrote {output}", quiet)
