"""`genperf validate`: how well models predict configurations that they were not fitted to."""

from typing import Any

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, progress


@shared.command("validate")
@shared.source("table")
@shared.option_group(
    "The question",
    option(
        "--scheme",
        metavar="SCHEME",
        default="kfold:5",
        help="kfold:K, leave-one-out, leave-group-out:COL or extrapolate:COL[:LIMIT].",
    ),
    option(
        "--models",
        metavar="A,B",
        default="all",
        shell_complete=shared.complete_models,
        help="Families and learners, by name, or all.",
    ),
    shared.INTERVAL,
)
@shared.table_options
@shared.fit_options
@shared.shown(
    *shared.RESULT,
    shared.output("CSV", "Write every held-out configuration's prediction here."),
    shared.RAW,
    shared.plot("Draw predicted against measured values of the held-out configurations"),
)
def validate(
    table: str, scheme: str, models: str, interval: float, roles: dict[str, Any], fitting: dict[str, Any], out: Output
) -> None:
    """Fit models to parts of TABLE and measure their errors, in per cent, on the held-out configurations."""
    from genperf import validation
    from genperf.cli.options import read
    from genperf.plots import predicted_against_measured

    measured = read(table, roles)
    with progress(out.quiet, "fits") as done:
        outcome = validation.validate(measured, models, scheme, interval=interval, progress=done, **fitting)
    if not out.written(outcome, outcome.predictions()):
        target = measured.target
        rmse = f", rmse in {target.unit}" if target.unit else ""
        scores, fitted = outcome.frame(), [score for score in outcome.models if score.failed is None]
        scores_of_fitted = scores[scores["failed"] == ""].drop(columns="failed")
        out.frame(scores_of_fitted, f"{measured.source}, {scheme}: errors of the predicted {target.name} in %{rmse}")
        for score in fitted:
            for text in score.notes:
                out.note(f"{score.model}: {text}")
        if failed := [score for score in outcome.models if score.failed is not None]:
            names = ", ".join(score.model for score in failed)
            out.note(f"left out, --json says why each: {names} ({failed[0].failed})")
        out.notes(outcome.notes)
    out.draw(lambda: predicted_against_measured(outcome))
