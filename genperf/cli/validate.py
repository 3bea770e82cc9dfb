"""`genperf validate`: how well models predict configurations that they were not fitted to."""

from types import SimpleNamespace
from typing import Any

from genperf.cli.options import fit_arguments, read
from genperf.cli.output import Output
from genperf.cli.progress import progress
from genperf.plots import predicted_against_measured
from genperf.table import Table
from genperf.validation import Validation, validate


def run(o: SimpleNamespace, out: Output, **given: Any) -> None:
    """Hold out, fit and print the errors of each model."""
    measured = read(o.table, given)
    arguments = fit_arguments(given)
    seed, workers = arguments.pop("seed"), arguments.pop("workers")
    with progress(out.quiet, "fits") as done:
        outcome = validate(
            measured, o.models, o.scheme, seed=seed, interval=o.interval, workers=workers, progress=done, **arguments
        )
    if not out.written(outcome, outcome.predictions()):
        _show(outcome, measured, o.scheme, out)
    out.draw(lambda: predicted_against_measured(outcome))


def _show(outcome: Validation, measured: Table, scheme: str, out: Output) -> None:
    """Print the errors of the models, then what happened to them."""
    target = measured.target
    rmse = f", rmse in {target.unit}" if target.unit else ""
    title = f"{measured.source}, {scheme}: errors of the predicted {target.name} in %{rmse}"
    out.frame(outcome.frame(), title)
    for score in outcome.models:
        for text in [*score.notes, *([score.failed] if score.failed else [])]:
            out.note(f"{score.model}: {text}")
    out.notes(outcome.notes)
