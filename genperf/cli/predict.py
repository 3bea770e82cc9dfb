"""`genperf predict`: a fitted model and values of its factors → predictions, intervals, verdicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from genperf.cli import decorators as shared
from genperf.cli.decorators import option
from genperf.cli.output import Output, progress, show_predictions
from genperf.errors import GenperfError, listed

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from genperf.facts import Paid
    from genperf.panel.panel import Panel
    from genperf.prediction.bands import Band
    from genperf.result import FitResult, GroupedResult
    from genperf.table.cells import Cells


@shared.command("predict")
@shared.source("model", metavar="MODEL|TABLE")
@shared.table_options
@shared.option_group(
    "The question",
    option("--data", metavar="CSV", help="Predict every row of a table (- for standard input)."),
    shared.AT,
    option(
        "--show",
        metavar="NAME=FORMULA",
        multiple=True,
        help="Also this, with its interval: of factors, time, throughput, efficiency, cost; as days=time*1.5M/1d.",
    ),
    shared.PRICE,
    shared.PER,
    shared.TOKENS,
    shared.PEAK,
    shared.INTERVAL,
    option(
        "--band",
        default="prediction",
        type=click.Choice(["prediction", "confidence"]),
        help="Of a new run, or of the mean.",
    ),
)
@shared.shown(
    *shared.RESULT,
    shared.output("CSV", "Write the predictions here."),
    shared.RAW,
    shared.plot("Draw the predictions along the count of workers, with their band"),
)
def predict(
    model: str,
    data: str | None,
    at: tuple[str, ...],
    show: tuple[str, ...],
    price: str | None,
    per: str | None,
    tokens: str | None,
    peak: str | None,
    interval: float,
    band: Band,
    roles: dict[str, Any],
    out: Output,
) -> None:
    """Predict with MODEL, each value with an interval and a verdict: times in seconds, another quantity in its unit."""
    from genperf.cli.options import alternatives, model_or_table, pairs, values_at, with_lists
    from genperf.panel.configurations import forecast_at
    from genperf.panel.quantities import price_of, quantities_of, training_of
    from genperf.prediction.schema import cells_of
    from genperf.table.cells import records
    from genperf.words.numbers import rate_unit, taken_text

    data, at = alternatives(data=data, at=at)
    if bool(data) == bool(at):
        raise click.UsageError("give either --data CSV or --at FACTOR=VALUE")
    fitted, at = with_lists(partial(model_or_table, model, roles), at)
    about = {"price": price, "tokens": tokens, "peak": peak}
    fitted, question = values_at(at, "--at", fitted, about=about)
    price, training = about["price"], training_of(about["tokens"], about["peak"])
    # A name alone is its own formula, and a price shows the cost of a step.
    typed = pairs(tuple(text if "=" in text else f"{text}={text}" for text in show), "--show")
    shows = {**training.shows(price is not None), **typed}
    if price is not None:
        shows.setdefault("cost", "cost")
    shows |= {name: name for name in quantities_of(fitted.first.panel).reported("beside")}
    paid = None if price is None else price_of(price, per)
    # What was the same in every run says no count: as in `ask` it is that of a forecast.
    question = question or ({} if data else forecast_at(fitted.first.panel, {}))
    refused = list[str]()
    with progress(out.quiet):
        cells = cells_of(data, fitted.first.schema) if data else None
        plain = fitted.predict_columns(question if cells is None else cells, interval, band, refused)
    if replaced := [name for name in fitted.first.predicted_names if cells is not None and name in cells.columns]:
        refused.append(f"columns of the data are replaced by the predictions of that name: {listed(replaced)}")
    out.notes(refused)
    if not data and (taken := _taken(fitted.first.panel, plain, question)):
        out.note(taken_text(taken))
    predicted, prices = with_derived(fitted, plain, shows, (paid, per), interval, training.given)
    if "cost" in shows and prices:
        out.note(_price_note(fitted.first, prices, per, is_printed=not (out.as_json or out.output)))
    if not out.written({"predictions": records(predicted)} if out.as_json else {}, predicted) and not out.output:
        printed = rounded(predicted, fitted, shows)
        show_predictions(printed)
        targets = [result.schema.target for result in (fitted.first, *fitted.first.further.values())]
        units = {"throughput": rate_unit(targets[0].samples), **{target.name: target.unit for target in targets}}
        if units_shown := [f"{name} in {unit}" for name, unit in units.items() if name in printed and unit]:
            out.note(", ".join(units_shown))
    out.draw(lambda: _figure(fitted, predicted, interval))


def _taken(panel: Panel, predicted: Mapping[str, Cells], question: Collection[str]) -> dict[str, list[Any]]:
    """Return the values of the factors that a question leaves open, in each of its predictions."""
    from genperf.panel.configurations import left_open

    run = {factor.name: predicted[factor.name][0] for factor in panel.factors if factor.name in predicted}
    open_factors = left_open(panel, {f.name: f.lower for f in panel.factors} | run, question)
    return {name: predicted[name].tolist() for name in open_factors if name in predicted}


def _price_note(model: FitResult, prices: Sequence[Paid], per: str | None, is_printed: bool) -> str:
    """Return what a cost is of, a step or a sample (a million of them in a printed table), and at which prices."""
    from genperf.panel.quantities import paid_for
    from genperf.words.growth import price_text, prices_text
    from genperf.words.numbers import million_of, with_article

    panel = model.panel
    samples = model.schema.target.samples
    unit_of_work = with_article(panel.timed if panel.measured_work is None else samples.removesuffix("s"))
    if is_printed and panel.measured_work is not None:
        unit_of_work = million_of(samples)
    texts = [price_text(price.text, paid_for(panel, per, price)[0]) for price in prices]
    return f"cost is that of {unit_of_work}, at {prices_text(texts)}"


def _figure(fitted: FitResult | GroupedResult, predicted: dict[str, Cells], interval: float) -> Figure:
    """Draw the target along the count of workers with the predictions on it; other factors are those of the first."""
    # What follows needs pandas, which a prediction alone does not.
    from genperf import plots
    from genperf.attribution import scaling
    from genperf.result import answering
    from genperf.table.cells import frame_of

    rows, result = frame_of(predicted), fitted.first
    groups = rows[list(fitted.group)].drop_duplicates()
    if fitted.group and len(groups) != 1:
        example = " ".join(f"--at {k}={v}" for k, v in groups.iloc[0].items())
        raise GenperfError(f"a figure shows one group, and {len(groups)} are predicted", hint=example)
    if fitted.group:
        result = fitted.results[tuple(str(v) for v in groups.iloc[0])]
    first_row = rows[[f.name for f in result.schema.factors if f.name in rows]].head(1).reset_index(drop=True)
    result = answering(result, first_row)
    at, along = result.query(first_row).single("a figure is of one configuration"), result.panel.along()
    upto = max(float(rows[along.name].max()), 2.0 * along.upper) if along.name in rows else None
    return plots.scaling(result, scaling(result, at, upto=upto, interval=interval), predictions=rows)


def with_derived(
    fitted: FitResult | GroupedResult,
    predicted: Mapping[str, Cells],
    shows: Mapping[str, str],
    price: tuple[Paid | None, str | None],
    interval: float,
    training: Mapping[str, float],
) -> tuple[dict[str, Cells], list[Paid]]:
    """Return a prediction with the columns `shows` before its verdict, and the prices: the given or the groups'."""
    if not shows:
        return dict(predicted), []
    import numpy as np

    from genperf.attribution.derived import derived_columns
    from genperf.panel.quantities import paid_by_runs
    from genperf.result.fit_result import rows_by_group
    from genperf.table.clean import labels

    columns: dict[str, npt.NDArray[Any]] = {}
    prices: list[Paid] = []
    (paid_by_user, per), count = price, len(predicted["verdict"])
    for key, rows in rows_by_group({g: labels(predicted[g]) for g in fitted.group}, count).items():
        block = {name: np.asarray(values)[rows] for name, values in predicted.items()}
        result, group = fitted.results[key], dict(zip(fitted.group, key, strict=True))
        paid = paid_by_user or paid_by_runs(result.panel.legend, group, per)
        prices += [paid] if paid is not None else []
        for name, values in derived_columns(result, block, shows, paid, interval, training, group).items():
            columns.setdefault(name, np.full(count, np.nan))[rows] = values
    words = {name: predicted[name] for name in ("verdict", "reason")}
    return {**{name: v for name, v in predicted.items() if name not in words}, **columns, **words}, prices


def rounded(
    columns: Mapping[str, Cells], fitted: FitResult | GroupedResult, shows: Mapping[str, str]
) -> dict[str, Cells]:
    """Return columns to print: what was predicted with three significant digits, without what says nothing here."""
    import numpy as np

    from genperf.words.numbers import three_digits

    target, is_of_samples = fitted.first.schema.target, fitted.first.panel.measured_work is not None
    predicted = {*fitted.first.predicted_names, *(f"{name}{end}" for name in shows for end in ("", "_lower", "_upper"))}
    hidden = {"fits"} if np.all(np.asarray(columns.get("fits", 0.0)) == 1.0) else set()
    # Where a throughput was measured, and no work of a step was given, a time is that of one unit of its work.
    if "throughput" in columns and not fitted.first.schema.of_steps:
        hidden |= {target.name, "lower", "upper"} - set(shows)
    printed = {name: values for name, values in columns.items() if name not in hidden}
    for name, values in printed.items():
        if name in predicted and values.dtype.kind == "f":
            scale = 1e6 if name.removesuffix("_lower").removesuffix("_upper") == "cost" and is_of_samples else 1.0
            printed[name] = np.array([three_digits(scale * value) for value in values.tolist()], dtype=object)
    return printed
