"""`genperf report`: a model, or a table, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genperf.cli.options import fit_arguments, fit_options, once, one_group, output_options, read, table_options
from genperf.cli.output import say, show_json, write_whole
from genperf.cli.progress import progress_bar

if TYPE_CHECKING:
    from genperf.result import FitResult, GroupedResult
    from genperf.table import Table
    from genperf.validation import Validation


@click.command("report")
@click.argument("source", metavar="MODEL|TABLE")
@click.option("-o", "--output", metavar="HTML", default="report.html", show_default=True, help="Where to write it.")
@click.option("--target", metavar="FACTOR=V", multiple=True, help="What the answers are about, as workers=64.")
@click.option("--along", metavar="FACTOR", help="The factor that counts the workers, where it is not recognised.")
@click.option("--only", metavar="A,B", help="One group's model alone.")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@click.option("--model", default="auto", show_default=True, help="For a table: what to fit.")
@click.option("--scheme", metavar="SCHEME", help="For a table: how to hold out, as genperf validate takes it.")
@table_options
@fit_options
@click.option("--pool", is_flag=True, help="For a table: groups measured less far borrow how the others grew.")
@output_options
def command(
    source: str,
    output: str,
    target: tuple[str, ...],
    along: str | None,
    only: str | None,
    title: str | None,
    interval: float,
    model: str,
    scheme: str | None,
    pool: bool,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    **given: Any,
) -> None:
    """Write a page that answers how it scales, where the knee is, what takes the time and what to measure next.

    MODEL is a file of genperf fit; a TABLE (with --time and roles, as for fit) is fitted first, and the model
    compared with baselines on what is held out. The page is one file: it needs no network and no server.
    """
    from genperf.reporting import page

    if given["time"] or given["throughput"]:
        table = read(source, given)
        what, found = _fitted(table, model, scheme, along, {**fit_arguments(given), "pool": pool}, quiet)
    else:
        from genperf.result import load_model

        what, table, found = load_model(source), None, None
    if only:
        what = one_group(what, only, source)
    text = page(
        what,
        table=table,
        validation=found,
        target=once(target, "--target"),
        along=along,
        interval=interval,
        title=title,
    )
    write_whole(output, text)
    if as_json:
        show_json({"report": output, "bytes": len(text.encode())})
    say(
        f"wrote {output}" + ("" if output == "-" else f": open it in a browser ({Path(output).resolve().as_uri()})"),
        quiet,
    )


def _fitted(
    table: Table, model: str, scheme: str | None, along: str | None, arguments: dict[str, Any], quiet: bool
) -> tuple[FitResult | GroupedResult, Validation | str]:
    from genperf.fitting import fit
    from genperf.reporting import held_out

    with progress_bar("groups", quiet or not table.group) as progress:
        fitted = fit(table, model, progress=progress, **arguments)
    with progress_bar("fits", quiet) as progress:
        found = held_out(table, model, scheme=scheme, along=along, progress=progress, **arguments)
    return fitted, found
