"""`genperf predict`: a fitted model and values of its factors → predictions, intervals, verdicts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import click

from genperf.cli.declared import declared
from genperf.cli.output import Output, records, results, show_json, show_predictions
from genperf.cli.progress import progress
from genperf.cli.shown import for_people, shows_of, training_of, values_at, with_derived
from genperf.errors import GenperfError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from genperf.result import FitResult, GroupedResult
    from genperf.table.cells import Cells


@declared("predict")
@results(csv="Write the predictions here.", plot="the predictions along the count of workers, with their band")
def command(o: SimpleNamespace, out: Output) -> None:
    """Predict with MODEL, each value with an interval and a verdict: times in seconds, another quantity in its unit."""
    from genperf.result import load_model

    if bool(o.data) == bool(o.at):
        raise click.UsageError("give either --data CSV or --at FACTOR=VALUE")
    fitted = load_model(o.model)
    training = training_of(o.tokens, o.peak)
    shows = {**training.shows(o.price is not None), **shows_of(o.show, o.price)}
    paid = None
    if o.price is not None:
        from genperf.attribution.derived import price_of

        paid = price_of(o.price, o.per)
    with progress(out.quiet):
        plain = fitted.predict_columns(o.data or values_at(o.at, fitted), o.interval, o.band)
    predicted = with_derived(fitted, plain, shows, paid, o.interval, training.given)
    if paid is not None:
        from genperf.panel.derived import paid_for
        from genperf.words.growth import price_text

        out.note(f"cost is at {price_text(paid.text, paid_for(fitted.first.panel, o.per)[0])}")
    out.write(predicted)
    if out.as_json:
        show_json({"predictions": records(predicted)})
    elif not out.output:
        show_predictions(for_people(predicted, fitted, shows), plain=out.no_color)
    out.draw(lambda: _figure(fitted, predicted, o.interval))


def _figure(fitted: FitResult | GroupedResult, predicted: dict[str, Cells], interval: float) -> Figure:
    """Draw the target along the count of workers with the predictions on it; other factors are those of the first."""
    from genperf.attribution import scaling
    from genperf.plots import scaling as drawn
    from genperf.prediction import read_query
    from genperf.result import answering
    from genperf.table.cells import frame_of

    result, rows = _one_group(fitted, frame_of(predicted))
    names = [f.name for f in result.schema.factors if f.name in rows]
    first = rows[names].head(1).reset_index(drop=True)
    result = answering(result, first)
    query = read_query(first, result.schema)
    at = {name: values[0] for name, values in query.columns.items()}
    answer = scaling(result, at, interval=interval)
    largest = float(rows[answer.along].max()) if answer.along in rows else answer.upto
    factor = next(f for f in result.schema.factors if f.name == answer.along)
    upto = max(2.0 * factor.upper, largest)
    return drawn(result, scaling(result, at, upto=upto, interval=interval), predictions=rows)


def _one_group(fitted: FitResult | GroupedResult, predicted: pd.DataFrame) -> tuple[FitResult, pd.DataFrame]:
    from genperf.result import FitResult

    if isinstance(fitted, FitResult):
        return fitted, predicted
    groups = predicted[list(fitted.group)].drop_duplicates()
    if len(groups) != 1:
        some = " ".join(f"--at {k}={v}" for k, v in groups.iloc[0].items())
        raise GenperfError(f"a figure shows one group, and {len(groups)} are predicted", hint=some)
    return fitted[tuple(str(v) for v in groups.iloc[0])], predicted
