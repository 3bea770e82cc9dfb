"""Scores of predictions with intervals: rows of `measured`, `time`, `lower`, `upper` and perhaps `verdict`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp
from experiments.shared import markdown
from genperf.prediction.verdict import VERDICTS

#: Added to errors in % before their ratio, so that two tiny ones are alike.
SMALL_ERROR = 0.5
NOMINAL = 0.9


def error(rows: pd.DataFrame, column: str = "time") -> pd.Series:
    """Return |predicted/measured − 1| in per cent."""
    return 100.0 * (rows[column] / rows.measured - 1.0).abs()


def errors_of(fitted: gp.FitResult, asked: gp.Table) -> np.ndarray:
    """Return |predicted/measured − 1| of each configuration of a table, in per cent."""
    return 100.0 * np.abs(fitted.predict(asked.frame)["time"].to_numpy() / asked.measured - 1.0)


def held_out_errors(table: gp.Table, models: Sequence[str] | str, scheme: str, **options: Any) -> dict[str, float]:
    """Return the mean held-out error of each model, in per cent; NaN where it has none."""
    scores = gp.validate(table, models, scheme, seed=0, **options).models
    return {score.model: float("nan") if score.mape is None else score.mape for score in scores}


def inside(rows: pd.DataFrame) -> pd.Series:
    return (rows.lower <= rows.measured) & (rows.measured <= rows.upper)


def width(rows: pd.DataFrame, of: str = "measured") -> pd.Series:
    """Return the width of the intervals over the measured time, or over another column, in per cent."""
    return 100.0 * (rows.upper - rows.lower) / rows[of]


def interval_score(rows: pd.DataFrame) -> float:
    """Return the mean interval score of ln T in per cent: width plus 20 times what lies outside."""
    y, low, high = np.log(rows.measured), np.log(rows.lower), np.log(rows.upper)
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return float(100.0 * (high - low + 2.0 / (1.0 - NOMINAL) * outside).mean())


def pair(errors: pd.Series, digits: int = 1) -> str:
    """Return median and mean."""
    return f"{errors.median():.{digits}f} ({errors.mean():.{digits}f})" if errors.notna().any() else "–"


#: A figure of a table of forecasts → its cell.
FIGURES: Mapping[str, Callable[[pd.DataFrame], str]] = {
    "error": lambda rows: pair(error(rows)),
    "bias": lambda rows: f"{100.0 * np.median(np.log(rows.time / rows.measured)):+.0f}",
    "covers": lambda rows: f"{100.0 * inside(rows).mean():.0f}",
    "width": lambda rows: f"{width(rows).median():.0f}",
    "score": lambda rows: f"{interval_score(rows):.0f}",
}


def cells_of(rows: pd.DataFrame, figures: str, others: Sequence[str] = ()) -> list[str]:
    """Return how many rows there are, some figures of them, and the errors of other models."""
    of_auto = [FIGURES[name](rows) for name in figures.split()]
    return [str(len(rows)), *of_auto, *(pair(error(rows, name)) for name in others)]


def by_verdict(rows: pd.DataFrame, median: bool = True) -> str:
    """Return errors and coverage of the predictions of each verdict, with the median error or without."""
    head = ["verdict", "predictions", "mean error, %", *(["median error, %"] if median else []), "coverage"]
    lines = []
    for verdict in VERDICTS:
        part = rows[rows.verdict == verdict]
        if len(part):
            middle = [f"{error(part).median():.1f}"] if median else []
            covered = f"{100.0 * inside(part).mean():.0f} %"
            lines.append([verdict, str(len(part)), f"{error(part).mean():.1f}", *middle, covered])
    return markdown(head, lines)
