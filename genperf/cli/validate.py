"""`genperf validate`: how well models predict configurations that they were not fitted to."""

from types import SimpleNamespace
from typing import Any

from genperf.cli.options import fit_arguments, read
from genperf.cli.output import Output
from genperf.cli.progress import progress
from genperf.plots import predicted_against_measured
from genperf.validation import validate


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
        target = measured.target
        rmse = f", rmse in {target.unit}" if target.unit else ""
        out.frame(outcome.frame(), f"{measured.source}, {o.scheme}: errors of the predicted {target.name} in %{rmse}")
        for score in outcome.models:
            for text in [*score.notes, *filter(None, [score.failed])]:
                out.note(f"{score.model}: {text}")
        out.notes(outcome.notes)
    out.draw(lambda: predicted_against_measured(outcome))
