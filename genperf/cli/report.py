"""`genperf report`: a model, or a table, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from genperf.cli.options import fit_arguments, fit_options, measured_column, one_group, read, table_options
from genperf.cli.output import Output, results, show_json
from genperf.cli.progress import progress
from genperf.cli.shown import capacities, target_of
from genperf.cli.writing import writable, write_whole
from genperf.errors import GenperfError


@click.command("report")
@click.argument("source", metavar="MODEL|TABLE")
@click.option(
    "-o",
    "--output",
    callback=writable,
    metavar="HTML",
    default="report.html",
    show_default=True,
    help="Where to write it.",
)
@click.option(
    "--target", metavar="FACTOR=V", multiple=True, help="The configuration that the page answers for, as workers=64."
)
@click.option("--along", metavar="FACTOR", help="The factor that counts the workers, where it is not recognised.")
@click.option("--only", metavar="A,B", help="One group's model alone.")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--price", metavar="X/TIME", help="Of one worker or --per, as 2/h: the page then shows costs.")
@click.option("--per", metavar="COL", help="What --price is paid for; the workers where omitted.")
@click.option("--samples", metavar="N", help="The work in all, in the unit of the throughput or batch: 300B.")
@click.option("--deadline", metavar="TIME", help="Of --samples: 5d; the page then says how many workers that takes.")
@click.option("--budget", metavar="X", help="Of --samples: the money that it may cost.")
@click.option(
    "--proposal",
    is_flag=True,
    help="A proposal for machine time: speed-up, efficiency, node-hours on two pages; *.html, *.tex or *.csv.",
)
@click.option("--efficiency", metavar="E", type=float, help="Of --proposal: the least efficiency; 0.75 if omitted.")
@click.option("--capacity", metavar="NAME=X", multiple=True, help="memory=80: the page shows which runs keep it.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@click.option("--model", default="auto", show_default=True, help="For a table: what to fit.")
@click.option("--scheme", metavar="SCHEME", help="For a table: how to hold out, as for genperf validate.")
@table_options
@fit_options
@click.option("--pool", is_flag=True, help="For a table: share scaling between similar groups.")
@results()
def command(
    source: str,
    output: str,
    target: tuple[str, ...],
    along: str | None,
    only: str | None,
    title: str | None,
    price: str | None,
    per: str | None,
    samples: str | None,
    deadline: str | None,
    budget: str | None,
    proposal: bool,
    efficiency: float | None,
    capacity: tuple[str, ...],
    interval: float,
    model: str,
    scheme: str | None,
    pool: bool,
    out: Output,
    **given: Any,
) -> None:
    """Write a page that answers how it scales, where the knee is, what takes the time and what to measure next.

    MODEL is a file of genperf fit. A TABLE (with --time or --quantity and roles, as for fit) is fitted first, and the
    model compared with baselines on what is held out. The page is one file: it needs no network and no server.
    """
    from genperf.fitting import fit
    from genperf.reporting import Job, View, held_out, page, proposal_page
    from genperf.result import is_model, load_model, with_scaling

    kind = kind_of_proposal(output) if proposal else ""
    if efficiency is not None and not proposal:
        raise click.UsageError("--efficiency is that of --proposal")
    if measured_column(given) or not is_model(source):
        table = read(source, given)
        options = {**fit_arguments(given), "pool": pool}
        with progress(out.quiet, "groups" if table.group else "") as done:
            fitted = fit(table, model, progress=done, **options)
        checked = None
        if not proposal:
            with progress(out.quiet, "fits") as done:
                checked = held_out(table, model, scheme=scheme, along=along, progress=done, **options)
    else:
        fitted, table, checked = with_scaling(load_model(source), given["scaling"]), None, None
    if only:
        fitted = one_group(fitted, only, source, "--only")
    # A page cannot contain a byte that is no text.
    title = None if title is None else title.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    job, most = Job(price, per, samples, deadline, budget), capacities(capacity, fitted)
    view = View(target_of(target, fitted), along, interval, title, job, most)
    with progress(out.quiet):
        if proposal:
            text = proposal_page(fitted, view, kind, efficiency)
        else:
            text = page(fitted, table=table, validation=checked, view=view)
    write_whole(output, text)
    if out.as_json:
        show_json({"report": output, "bytes": len(text.encode())})
    page_there = output != "-" and kind not in ("tex", "csv")
    out.note(f"wrote {output}" + (f": open it in a browser ({Path(output).resolve().as_uri()})" if page_there else ""))


def kind_of_proposal(output: str) -> str:
    """Return the format of a proposal by the ending of its file; CSV for a pipe."""
    from genperf.reporting.proposal import FORMATS

    kind = "csv" if output == "-" else Path(output).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise GenperfError(f"cannot write a proposal to '{output}'", hint="end it in .html, .tex or .csv")
    return kind
