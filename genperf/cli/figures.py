"""`--plot`: the figure that belongs to a command's result, written whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from genperf.cli.options import Command
from genperf.cli.output import say
from genperf.cli.writing import writable, write_whole
from genperf.errors import GenperfError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from genperf.attribution import Explanation
    from genperf.result import FitResult, GroupedResult
    from genperf.validation import Validation

_ENDINGS = ("png", "svg", "pdf")


def _checked(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a file's name whose ending is that of a picture, as click's callback of `--plot`."""
    if value is not None and value.rpartition(".")[2].lower() not in _ENDINGS:
        raise click.BadParameter(f"'{value}' ends in none of {', '.join('.' + e for e in _ENDINGS)}")
    if value is not None and find_spec("matplotlib") is None:
        # Before the work, whose result could not be drawn.
        raise GenperfError("plots need matplotlib", hint='pip install "genperf[plots]"')
    return writable(ctx, param, value)


def plot_option(what: str) -> Callable[[Command], Command]:
    """Return the option `--plot`, which says what is drawn."""
    return click.option("--plot", metavar="FILE", callback=_checked, help=f"Draw {what} (png, svg or pdf).")


def write_figure(figure: Figure, path: str, quiet: bool) -> None:
    """Write a figure in the format of the file's ending.

    Parameters
    ----------
    quiet : bool
        Whether nothing is printed about it.
    """
    from genperf.plots import image, kind_of

    write_whole(path, image(figure, kind_of(path)))
    say(f"wrote {path}", quiet)


def of_predictions(fitted: FitResult | GroupedResult, predicted: pd.DataFrame, interval: float) -> Figure:
    """Draw the target along the count of workers with the predictions on it; other factors are those of the first.

    Parameters
    ----------
    predicted : DataFrame
        What `predict` returned, of one group.
    interval : float
        Nominal coverage of the band.

    Raises
    ------
    GenperfError
        Where several groups are predicted.
    """
    from genperf.attribution import scaling
    from genperf.plots import scaling as drawn
    from genperf.prediction import read_query
    from genperf.result import answering

    result, rows = _one_group(fitted, predicted)
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


def of_explanation(
    explanation: Explanation, result: FitResult, at: Mapping[str, Any] | None, interval: float
) -> Figure:
    """Draw a comparison, or else sensitivities, the efficiency, or the terms along the workers.

    Parameters
    ----------
    explanation : Explanation
        Its first part in that order is drawn.
    at : mapping of str to value, or None
        The configuration; the centre of the data where None.
    interval : float
        Nominal coverage of the bands.
    """
    from genperf import plots
    from genperf.attribution import scaling
    from genperf.result import answering

    if explanation.comparison is not None:
        return plots.waterfall(explanation.comparison)
    if explanation.sensitivity is not None:
        return plots.sobol(explanation.sensitivity)
    if explanation.scaling is not None:
        return plots.efficiency(explanation.scaling)
    result = answering(result, at)
    here = {str(name): value for name, value in result.completed(at).iloc[0].items()}
    return plots.terms(result, scaling(result, here, interval=interval), interval)


def of_validation(validation: Validation) -> Figure:
    """Draw predicted against measured values of the configurations that were held out."""
    from genperf.plots import predicted_against_measured

    return predicted_against_measured(validation)
