"""`genperf report`: a model, or a table, as one HTML page."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from genperf.cli.options import capacities, configuration, fit_arguments, measured_column, one_group, read
from genperf.cli.output import Output, show_json
from genperf.cli.progress import progress
from genperf.cli.writing import write_whole
from genperf.errors import GenperfError
from genperf.fitting import fit
from genperf.reporting import Job, View, held_out, page, proposal_page
from genperf.reporting.proposal import FORMATS
from genperf.result import is_model, load_model, with_scaling


def run(o: SimpleNamespace, out: Output, **given: Any) -> None:
    """Load or fit, and write the page or the proposal."""
    output = str(out.output)
    kind, workers = kind_of_proposal(output) if o.proposal else "", given["workers"]
    if o.efficiency is not None and not o.proposal:
        raise click.UsageError("--efficiency is that of --proposal")
    if measured_column(given) or not is_model(o.source):
        table = read(o.source, given)
        options = {**fit_arguments(given), "pool": o.pool}
        with progress(out.quiet, "groups" if table.group else "") as done:
            fitted = fit(table, o.model, progress=done, **options)
        checked = None
        if not o.proposal:
            with progress(out.quiet, "fits") as done:
                checked = held_out(table, o.model, scheme=o.scheme, along=o.along, progress=done, **options)
    else:
        fitted, table, checked = with_scaling(load_model(o.source), given["scaling"]), None, None
    if o.only:
        fitted = one_group(fitted, o.only, o.source, "--only")
    # A page cannot contain a byte that is no text.
    title = None if o.title is None else o.title.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    job, most = Job(o.price, o.per, o.samples, o.deadline, o.budget), capacities(o.capacity, fitted)
    view = View(configuration(o.target, "--target", fitted), o.along, o.interval, title, job, most)
    with progress(out.quiet):
        if o.proposal:
            text = proposal_page(fitted, view, kind, o.efficiency)
        else:
            text = page(fitted, table=table, validation=checked, view=view, workers=workers)
    write_whole(output, text)
    if out.as_json:
        show_json({"report": output, "bytes": len(text.encode())})
    page_there = output != "-" and kind not in ("tex", "csv")
    out.note(f"wrote {output}" + (f": open it in a browser ({Path(output).resolve().as_uri()})" if page_there else ""))


def kind_of_proposal(output: str) -> str:
    """Return the format of a proposal by the ending of its file; CSV for a pipe."""
    kind = "csv" if output == "-" else Path(output).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise GenperfError(f"cannot write a proposal to '{output}'", hint="end it in .html, .tex or .csv")
    return kind
