"""`genperf predict`: a fitted model and values of its factors → predictions, intervals, verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from genperf.cli.command import WritingCommand
from genperf.cli.figures import of_predictions, plot_option, write_figure
from genperf.cli.options import output_options
from genperf.cli.output import csv_pieces, records, say, show_json, show_predictions
from genperf.cli.progress import phases_shown
from genperf.cli.shown import first_of, for_people, shows_of, training_of, values_at, with_derived
from genperf.cli.writing import raw_option, writable, write_whole

if TYPE_CHECKING:
    from genperf.prediction import Band
    from genperf.table.cells import Cells


@dataclass(frozen=True)
class BlockSettings:
    """How many rows are written at once."""

    #: A guess: their text takes a few MB.
    rows: int = 10_000


BLOCK = BlockSettings()


@click.command("predict", cls=WritingCommand)
@click.argument("model")
@click.option("--data", metavar="CSV", help="Predict every row of a table (- for standard input).")
@click.option(
    "--at",
    metavar="FACTOR=V,…",
    multiple=True,
    help="Predict at these values (64,128; 16:128:*2; 30B); combined each with each.",
)
@click.option(
    "--show",
    metavar="NAME=FORMULA",
    multiple=True,
    help="Also this, with its interval: of the factors, time, throughput, efficiency, cost; as days=time*1.5M/1d.",
)
@click.option(
    "--price",
    metavar="X/TIME",
    help="Of one worker or --per, as 2/h: shows the cost of a step; of a sample with --throughput.",
)
@click.option(
    "--tokens", metavar="N", help="Of a transformer: days for so many tokens, as 300B; with --price their cost."
)
@click.option("--peak", metavar="DEVICE", help="Of a transformer: MFU, of a device's peak; a100, or 312T operations/s.")
@click.option("--per", metavar="COL", help="What --price is paid for; the workers where omitted.")
@click.option("--interval", default=0.9, show_default=True, type=float, help="Nominal coverage of the interval.")
@click.option(
    "--band",
    default="prediction",
    show_default=True,
    type=click.Choice(["prediction", "confidence"]),
    help="Of a new run, or of the mean.",
)
@click.option("-o", "--output", callback=writable, metavar="CSV", help="Write the predictions here.")
@plot_option("the predictions along the count of workers, with their band")
@output_options
@raw_option
def command(
    model: str,
    data: str | None,
    at: tuple[str, ...],
    show: tuple[str, ...],
    price: str | None,
    tokens: str | None,
    peak: str | None,
    per: str | None,
    interval: float,
    band: str,
    output: str | None,
    plot: str | None,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    raw: bool,
) -> None:
    """Predict with MODEL, each value with an interval and a verdict: times in seconds, another quantity in its unit."""
    from genperf.result import load_model

    if bool(data) == bool(at):
        raise click.UsageError("give either --data CSV or --at FACTOR=VALUE")
    fitted = load_model(model)
    kind: Band = "confidence" if band == "confidence" else "prediction"
    shows = shows_of(show, price)
    if tokens is not None or peak is not None:
        shows = {**training_of(tokens, peak).shows(price is not None), **shows}
    paid = None
    if price is not None:
        from genperf.attribution.derived import price_of

        paid = price_of(price, per)
    with phases_shown(quiet):
        plain = fitted.predict_columns(data or values_at(at, fitted), interval, kind)
    predicted = with_derived(fitted, plain, shows, paid, interval)
    if paid is not None:
        from genperf.attribution.growth import paid_for
        from genperf.words.growth import price_text

        say(f"cost is at {price_text(paid.text, paid_for(first_of(fitted), per)[0])}", quiet)
    if output:
        write_whole(output, csv_pieces(_blocks(predicted), raw))
        say(f"wrote {output}", quiet)
    if as_json:
        show_json({"predictions": records(predicted)})
    elif not output:
        show_predictions(for_people(predicted, fitted, shows), plain=no_color)
    if plot:
        from genperf.table.cells import frame_of

        write_figure(of_predictions(fitted, frame_of(predicted), interval), plot, quiet)


def _blocks(predicted: dict[str, Cells]) -> Iterator[dict[str, Cells]]:
    """Yield the rows of a table some at a time: the text of many rows is large."""
    rows = len(next(iter(predicted.values())))
    for start in range(0, rows, BLOCK.rows):
        yield {name: cells[start : start + BLOCK.rows] for name, cells in predicted.items()}
