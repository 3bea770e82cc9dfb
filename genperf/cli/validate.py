"""`genperf validate`: how well models predict configurations that they were not fitted to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from genperf.cli.declared import declared
from genperf.cli.options import fit_arguments, read
from genperf.cli.output import Output
from genperf.cli.progress import progress

if TYPE_CHECKING:
    from genperf.table import Table
    from genperf.validation import Validation


@declared("validate", "table options", "fit options", "result options")
def command(o: SimpleNamespace, out: Output, **given: Any) -> None:
    """Fit models to parts of TABLE and measure their errors, in per cent, on the held-out configurations."""
    from genperf.plots import predicted_against_measured
    from genperf.validation import validate

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
