"""`genperf demo`: the whole path on the bundled measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from genperf.cli import decorators as shared
from genperf.cli.output import Output, tell_all
from genperf.cli.writing import made_folder, write_whole

if TYPE_CHECKING:
    import pandas as pd

    from genperf.panel import Table

#: The files that it writes.
WRITTEN = ("model.json", "generic.json", "predictions.csv", "constants.csv", "validation.csv", "report.html")
FRAMEWORKS = {"tensorflow1": "TensorFlow", "tensorflow2": "TensorFlow", "mxnet": "MXNet", "pytorch": "PyTorch"}


@shared.command("demo")
@click.argument("folder", metavar="[DIR]", default="genperf-demo")
@shared.SEED
@shared.WORKERS
@shared.shown(shared.QUIET, shared.NO_COLOR)
def demo(folder: str, seed: int, workers: int, out: Output) -> None:
    """Fit the bundled TensorFlow, MXNet and PyTorch measurements, predict 32 devices from at most 16, and explain.

    Writes the models and the tables to DIR.
    """
    from genperf.attribution import explain, written_lines
    from genperf.datasets import load
    from genperf.fitting import fit
    from genperf.reporting import View, page
    from genperf.result import FitResult, dump_model
    from genperf.table.cells import csv_pieces
    from genperf.validation import validate

    place = made_folder(folder, WRITTEN)
    # What a group has before it rents more, and the largest count that many series have.
    most, more = 16, 32
    out.note(f"1. published series: fit up to {most} GPUs, predict {more} (data/dlperf.csv)")
    series = _series()
    measured = series.take(series.frame["devices"].to_numpy() <= most)
    fitted = fit(measured, "auto", seed=seed, workers=workers)
    rows = series.medians().frame.query(f"devices == {more}")
    predicted = _beside_last_point(fitted.predict(rows), rows, measured)
    out.frame(_errors(predicted), f"predicting {more} GPUs from at most {most}: median (mean) error")

    out.note("\n2. measured networks: the generic model (data/pytorch_cpu.csv)")
    table = load("pytorch_cpu")
    generic = fit(table, "generic", seed=seed)
    if not isinstance(generic, FitResult):
        raise TypeError("a table without groups gives one model")
    tell_all(written_lines(generic))
    out.frame(explain(generic).terms, "what a step at the centre of the data is made of")
    scores = validate(table, "generic,last-point,random-forest,svr", "kfold:5", seed=seed, workers=workers)
    out.frame(scores.frame(timing=False), "5-fold cross-validation: errors in %")

    title = f"Published training runs: measured up to {most} GPUs, predicted for {more}"
    contents = (
        dump_model(fitted),
        dump_model(generic),
        csv_pieces(predicted),
        csv_pieces(generic.constants()),
        csv_pieces(scores.predictions()),
        page(fitted, View(title=title), table=measured),
    )
    for name, content in zip(WRITTEN, contents, strict=True):
        write_whole(place / name, content)
    out.note(f"\nwrote report.html, model.json, generic.json, and the tables they hold as CSV, to {place}")
    out.note(f"open {(place / 'report.html').resolve().as_uri()} in a browser")


def _series() -> Table:
    """Return the series of the three frameworks that have five device counts, a group each: four are fitted."""
    from genperf.datasets import load

    table = load("dlperf", categorical="", group="config,batch_per_device")
    frame = table.frame
    counts = frame.groupby(list(table.group))["devices"].transform("nunique")
    return table.take((frame["framework"].isin(list(FRAMEWORKS)) & (counts >= 5)).to_numpy())


def _beside_last_point(predicted: pd.DataFrame, rows: pd.DataFrame, measured: Table) -> pd.DataFrame:
    """Put the measured times, and those of the largest scale that was fitted, beside the predictions."""
    import pandas as pd

    keys = list(measured.group)
    last = measured.medians().frame.sort_values("devices", kind="stable").groupby(keys)[measured.target.column].last()
    columns = [*keys, "framework", "devices", measured.target.name, "lower", "upper", "verdict", "reason"]
    groups = pd.MultiIndex.from_frame(rows[keys])
    times, last_times = rows[measured.target.column].to_numpy(), last.loc[groups].to_numpy()
    return predicted[columns].assign(measured=times, last_point=last_times)


def _errors(predicted: pd.DataFrame) -> pd.DataFrame:
    """Return a row per framework and one for all: errors in % of genperf and of last point, and the coverage."""
    import pandas as pd

    from genperf.panel.panel import TIME
    from genperf.validation import ModelScore

    rows, framework = [], predicted["framework"].map(FRAMEWORKS)
    for name in (*dict.fromkeys(FRAMEWORKS.values()), "all"):
        runs = predicted if name == "all" else predicted[framework == name]
        columns = {"genperf": TIME, "last point": "last_point"}
        scores = {model: ModelScore(model, runs.assign(predicted=runs[column])) for model, column in columns.items()}
        errors = {model: f"{score.median_ape:.1f} ({score.mape:.1f}) %" for model, score in scores.items()}
        covered = f"{scores['genperf'].coverage:.0f} %"
        rows.append({"framework": name, "series": len(runs), **errors, "90 % interval covers": covered})
    return pd.DataFrame(rows)
