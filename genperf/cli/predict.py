"""`genperf predict`: a fitted model and values of its factors → predictions, intervals, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from genperf.cli.figures import of_predictions, plot_option, write_figure
from genperf.cli.options import grid, output_options
from genperf.cli.output import csv_text, records, say, show_json, show_predictions, write_whole

if TYPE_CHECKING:
    from genperf.prediction import Band


@click.command("predict")
@click.argument("model")
@click.option("--data", metavar="CSV", help="Predict every row of a table (- for standard input).")
@click.option("--at", metavar="FACTOR=V,…", multiple=True, help="Predict at these values; combined each with each.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the interval.")
@click.option(
    "--band",
    default="prediction",
    show_default=True,
    type=click.Choice(["prediction", "confidence"]),
    help="Of a new run, or of the mean.",
)
@click.option("-o", "--output", metavar="CSV", help="Write the predictions here.")
@plot_option("the predictions along the count of workers, with their band")
@output_options
def command(
    model: str,
    data: str | None,
    at: tuple[str, ...],
    interval: float,
    band: str,
    output: str | None,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    no_color: bool,
) -> None:
    """Predict with MODEL, each value with an interval and a verdict: times in seconds, another quantity in its unit."""
    from genperf.result import load_model

    if bool(data) == bool(at):
        raise click.UsageError("give either --data CSV or --at FACTOR=VALUE")
    fitted = load_model(model)
    kind: Band = "confidence" if band == "confidence" else "prediction"
    predicted = fitted.predict_columns(data or grid(at), interval, kind)
    if output:
        write_whole(output, csv_text(predicted))
        say(f"wrote {output}", quiet)
    if plot:
        from genperf.table.cells import frame_of

        write_figure(of_predictions(fitted, frame_of(predicted), interval), plot, quiet)
    if as_json:
        show_json({"predictions": records(predicted)})
    elif not output:
        show_predictions(predicted, plain=no_color)
