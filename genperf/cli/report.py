"""`genperf report`: a model, or a table, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, progress, show_json
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError

#: What a question may ask about that every page answers.
ON_THE_PAGE = ("why", "normal", "cost", "next", "efficiency", "best")


@shared.command("report")
@shared.source("source", metavar="MODEL|TABLE")
@shared.option_group(
    "The question",
    shared.TARGET(help="The configuration that the page answers for: gpus=64."),
    shared.ALONG,
    option("--only", metavar="A,B", help="One group's model alone."),
)
@shared.one_parameter(
    "about",
    dict,
    "The question",
    shared.PRICE,
    shared.PER,
    shared.SAMPLES,
    shared.DEADLINE,
    shared.BUDGET,
    shared.TOKENS,
    shared.PEAK,
    option("--capacity", metavar="NAME=X", multiple=True, help="memory=80: the page shows which runs keep it."),
    shared.INTERVAL,
)
@shared.option_group(
    "The page",
    option("--title", metavar="TEXT", help="Heading of the page."),
    option(
        "--proposal",
        is_flag=True,
        help="A proposal for machine time: speed-up, efficiency, node-hours on two pages; *.html, *.tex or *.csv.",
    ),
    option("--open", "opened", is_flag=True, help="Open the page in the browser."),
    option("--efficiency", metavar="E", type=float, help="Of --proposal: the least efficiency; 0.75 if omitted."),
)
@shared.table_options
@shared.fit_options
@shared.option_group(
    "The fit of a table",
    option("--model", metavar="MODEL", default="auto", help="What to fit."),
    option("--scheme", metavar="SCHEME", help="How to hold out, as for genperf validate."),
    option("--pool", is_flag=True, help="Share scaling between similar groups."),
)
@shared.shown(*shared.RESULT, shared.output("HTML", "Where to write it.", default="report.html"))
def report(
    source: str,
    target: tuple[str, ...],
    along: str | None,
    only: str | None,
    about: dict[str, Any],
    title: str | None,
    proposal: bool,
    opened: bool,
    efficiency: float | None,
    model: str,
    scheme: str | None,
    pool: bool,
    roles: dict[str, Any],
    fitting: dict[str, Any],
    out: Output,
) -> None:
    """Write a page that answers how it scales, where the knee is, what takes the time and what to measure next.

    MODEL is a file of genperf fit. A TABLE (with --time or --quantity and roles, as for fit) is fitted first, and the
    model compared with baselines on what is held out. The page is one file: it needs no network and no server.
    """
    from msgspec.structs import replace

    from genperf.cli.options import capacities, configuration, one_group, read, refuse_roles, single
    from genperf.fitting import fit
    from genperf.reporting import View, held_out, page, proposal_page
    from genperf.reporting.proposal import FORMATS
    from genperf.result import is_model, load_model, with_scaling
    from genperf.search.problem import models_of

    output, kind = str(out.output), ""
    if proposal:
        kind = "csv" if output == "-" else Path(output).suffix.lower().removeprefix(".")
        if kind not in FORMATS:
            raise GenperfError(f"cannot write a proposal to '{output}'", hint="end it in .html, .tex or .csv")
    if efficiency is not None and not proposal:
        raise click.UsageError("--efficiency is that of --proposal")
    if not is_model(source):
        table = read(source, roles, *target)
        options = {**fitting, "pool": pool}
        with progress(out.quiet, "groups" if table.group else "") as done:
            fitted = fit(table, model, progress=done, **options)
        checked = None
        if not proposal:
            with progress(out.quiet, "fits") as done:
                checked = held_out(table, model, scheme=scheme, along=along, progress=done, **options)
    else:
        refuse_roles(source)
        fitted, table, checked = with_scaling(load_model(source), roles["scaling"]), None, None
    fitted, wanted = configuration(target, "--at (--target)", fitted, heeded=ON_THE_PAGE, about=about)
    single(wanted)
    # A page cannot contain a byte that is no text.
    heading = None if title is None else title.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    view = View(wanted, along, title=heading, **about)
    if only or (proposal and fitted.group and len(models_of(fitted, wanted)[0]) == 1):
        key, of_group = one_group(fitted, only, source, wanted, "--only")
        view, fitted = view.priced([(dict(zip(fitted.group, key, strict=True)), of_group)]), of_group
    view = replace(view, capacity=capacities(about["capacity"], fitted))
    with progress(out.quiet):
        if proposal:
            text = proposal_page(fitted, view, kind, efficiency)
        else:
            text = page(fitted, table=table, validation=checked, view=view, workers=fitting["workers"])
    write_whole(output, text)
    if out.as_json:
        show_json({"report": output, "bytes": len(text.encode())})
    page_there = output != "-" and kind not in ("tex", "csv")
    if opened and page_there:
        click.launch(Path(output).resolve().as_uri())
    out.note(f"wrote {output}" + (f": open it in a browser ({Path(output).resolve().as_uri()})" if page_there else ""))
