"""`genperf validate`: how well models predict configurations that they were not fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from genperf.cli.command import WritingCommand
from genperf.cli.figures import of_validation, plot_option, write_figure
from genperf.cli.options import fit_arguments, fit_options, output_options, read, table_options
from genperf.cli.output import csv_text, say, show_frame, show_json
from genperf.cli.progress import progress_bar
from genperf.cli.writing import raw_option, writable, write_whole

if TYPE_CHECKING:
    from genperf.table import Table
    from genperf.validation import Validation


@click.command("validate", cls=WritingCommand)
@click.argument("table")
@table_options
@click.option(
    "--scheme",
    default="kfold:5",
    show_default=True,
    help="kfold:K, leave-one-out, leave-group-out:COL or extrapolate:COL[:LIMIT].",
)
@click.option("--models", default="all", show_default=True, help="Families and learners, by name, or all.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the intervals.")
@fit_options
@click.option(
    "-o", "--output", callback=writable, metavar="CSV", help="Write every held-out configuration's prediction here."
)
@raw_option
@plot_option("predicted against measured values of the held-out configurations")
@output_options
def command(
    table: str,
    scheme: str,
    models: str,
    interval: float,
    output: str | None,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    raw: bool,
    **given: Any,
) -> None:
    """Fit models to parts of TABLE and measure their errors, in per cent, on the held-out configurations."""
    from genperf.validation import validate

    measured = read(table, given)
    arguments = fit_arguments(given)
    seed, workers = arguments.pop("seed"), arguments.pop("workers")
    with progress_bar("fits", quiet) as progress:
        outcome = validate(
            measured, models, scheme, seed=seed, interval=interval, workers=workers, progress=progress, **arguments
        )
    if output:
        write_whole(output, csv_text(outcome.predictions(), raw))
        say(f"wrote {output}", quiet)
    if as_json:
        show_json(outcome.to_dict())
    else:
        _show(outcome, measured, scheme, quiet, no_color)
    if plot:
        write_figure(of_validation(outcome), plot, quiet)


def _show(outcome: Validation, measured: Table, scheme: str, quiet: bool, plain: bool) -> None:
    """Print the errors of the models, then what happened to them."""
    target = measured.target
    rmse = f", rmse in {target.unit}" if target.unit else ""
    title = f"{measured.source}, {scheme}: errors of the predicted {target.name} in %{rmse}"
    show_frame(outcome.frame(), title, plain=plain)
    for score in outcome.models:
        for text in [*score.notes, *([score.failed] if score.failed else [])]:
            say(f"{score.model}: {text}", quiet)
    for note in outcome.notes:
        say(f"note: {note}", quiet)
