"""`genperf predict`: a fitted model and values of its factors → predictions, intervals, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from genperf.cli.figures import of_predictions, plot_option, write_figure
from genperf.cli.options import grid, names_of, output_options
from genperf.cli.output import csv_pieces, csv_text, records, say, show_frame, show_json
from genperf.cli.writing import raw_option, writable, write_whole

if TYPE_CHECKING:
    from genperf.prediction import Band
    from genperf.result import FitResult, GroupedResult
    from genperf.table.cells import Cells


@dataclass(frozen=True)
class BlockSettings:
    """How many rows are predicted at once.

    Attributes
    ----------
    rows : int
        A row takes about 2 kB for each hundred draws while it is predicted. A guess: blocks of some 100 MB at most.
    """

    rows: int = 10_000


BLOCK = BlockSettings()


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
@click.option("-o", "--output", callback=writable, metavar="CSV", help="Write the predictions here.")
@plot_option("the predictions along the count of workers, with their band")
@output_options
@raw_option
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
    raw: bool,
) -> None:
    """Predict with MODEL, each value with an interval and a verdict: times in seconds, another quantity in its unit."""
    from genperf.result import load_model

    if bool(data) == bool(at):
        raise click.UsageError("give either --data CSV or --at FACTOR=VALUE")
    fitted = load_model(model)
    kind: Band = "confidence" if band == "confidence" else "prediction"
    blocks = _blocks(fitted, data or grid(at, names_of(fitted)), interval, kind)
    if output and not plot and not as_json:
        write_whole(output, csv_pieces(blocks, raw))
        say(f"wrote {output}", quiet)
        return
    predicted = _joined(list(blocks))
    if output:
        write_whole(output, csv_text(predicted, raw))
        say(f"wrote {output}", quiet)
    if plot:
        from genperf.table.cells import frame_of

        write_figure(of_predictions(fitted, frame_of(predicted), interval), plot, quiet)
    if as_json:
        show_json({"predictions": records(predicted)})
    elif not output:
        show_frame(predicted, plain=no_color)


def _blocks(
    fitted: FitResult | GroupedResult, data: str | Mapping[str, Any], interval: float, band: Band
) -> Iterator[dict[str, Cells]]:
    """Yield the predictions of some rows at a time, in the order of the rows.

    Parameters
    ----------
    fitted : FitResult or GroupedResult
    data : str or mapping of str to value
        The path of a table, or values by name.
    interval : float
        Nominal coverage.
    band : {"prediction", "confidence"}
    """
    import numpy as np

    from genperf.prediction import cells_of
    from genperf.result import FitResult

    one = fitted if isinstance(fitted, FitResult) else next(iter(fitted.results.values()), None)
    source = None if one is None else cells_of(data, one.schema)
    if source is None or (not isinstance(fitted, FitResult) and not set(fitted.group) <= set(source.columns)):
        # Every group is asked for every row: the rows of a group stand together.
        yield fitted.predict_columns(data if source is None else source, interval, band)
        return
    for start in range(0, len(source.lines), BLOCK.rows):
        rows = np.arange(start, min(start + BLOCK.rows, len(source.lines)), dtype=np.intp)
        yield fitted.predict_columns(source.take(rows), interval, band)


def _joined(blocks: list[dict[str, Cells]]) -> dict[str, Cells]:
    import numpy as np

    if len(blocks) == 1:
        return blocks[0]
    return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}
