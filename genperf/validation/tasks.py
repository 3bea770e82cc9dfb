"""The tasks of a validation: one model fitted on one split, and its predictions of the held-out configurations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genperf.errors import FitError, FormulaError, GenperfError
from genperf.fitting import fit
from genperf.fitting.auto import AUTO
from genperf.models.network import about_devices
from genperf.prediction import Query, schema_of
from genperf.prediction.new_levels import combined, new_levels, stand_ins
from genperf.result import FitResult, GroupedResult, predicting_levels
from genperf.table import Table
from genperf.table.clean import label, labels
from genperf.validation.features import Forecast
from genperf.validation.learners import LEARNERS


@dataclass(frozen=True, eq=False)
class Task:
    """One model on one split: plain data, so that it can be sent to another process."""

    #: A learner, a family, a formula or ``auto``.
    model: str
    train: Table
    #: The held-out configurations.
    data: pd.DataFrame
    #: Nominal coverage.
    interval: float
    seed: int
    #: For `genperf.fit`.
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """A model's predictions of some configurations."""

    forecast: Forecast
    #: One a row; None from a learner, which gives none.
    verdicts: Sequence[str | None]
    #: For the verdict, or for a missing prediction.
    reasons: Sequence[str | None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The end of a task."""

    #: Without a single prediction where the model refused.
    answer: Answer
    #: Wall time.
    seconds: float
    #: Message, hint and place of a refusal.
    error: tuple[str, str | None, str | None] | None = None


#: Key of a group, its training rows, its held-out configurations → the predictions.
Predict = Callable[[tuple[str, ...], Table, pd.DataFrame], Answer]


def outcome_of(task: Task) -> Outcome:
    """Fit and predict; a refusal is an outcome too."""
    start = time.perf_counter()
    if task.data.empty:
        return Outcome(Answer(Forecast.missing(0), [], []), 0.0)
    try:
        answer = _by_learner(task) if task.model in LEARNERS else _by_fit(task)
    except GenperfError as error:
        return refusal(task, error, time.perf_counter() - start)
    return Outcome(answer, time.perf_counter() - start)


def refusal(task: Task, error: GenperfError, seconds: float = 0.0) -> Outcome:
    """Return the outcome of a task that predicts nothing."""
    rows = len(task.data)
    # An error with a caret under a place in a formula does not travel between processes: its text does.
    plain = (str(error), None, None) if isinstance(error, FormulaError) else (error.message, error.hint, error.where)
    return Outcome(Answer(Forecast.missing(rows), [None] * rows, [error.message] * rows), seconds, plain)


def keys_of(frame: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of some columns as text, a tuple per row.

    Examples
    --------
    >>> keys_of(pd.DataFrame({"net": ["a", "b"], "gpus": [8, 16]}), ["net", "gpus"])
    [('a', '8'), ('b', '16')]
    """
    columns = [[label(v) for v in frame[name]] for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * len(frame)


def _by_fit(task: Task) -> Answer:
    """Predict by a family, a formula or ``auto``."""
    options = dict(task.options)
    if task.model != AUTO and options.get("hints"):
        # Hints of the network are for `auto` alone.
        options["hints"] = about_devices(options["hints"])
    result = fit(task.train, model=task.model, seed=task.seed, **options)
    if not isinstance(result, GroupedResult):
        return _answer_of(result, task.data, task.interval)

    def predict(key: tuple[str, ...], _: Table, data: pd.DataFrame) -> Answer:
        """Predict by the group's model."""
        if key in result.failures:
            # Without the group's name, so that groups with the same trouble are counted together.
            raise FitError(result.failures[key])
        return _answer_of(result[key], data, task.interval)

    return _by_group(task, task.train, predict)


def _answer_of(result: FitResult, data: pd.DataFrame, interval: float) -> Answer:
    """Predict by a fitted model."""
    frame = predicting_levels(result, data).predict(data, interval=interval)
    verdicts = [None if pd.isna(v) else str(v) for v in frame["verdict"]]
    reasons = [None if pd.isna(r) else str(r) or None for r in frame["reason"]]
    columns = (frame[c].to_numpy(dtype=float) for c in (result.schema.target.name, "lower", "upper"))
    return Answer(Forecast(*columns), verdicts, reasons)


def _by_learner(task: Task) -> Answer:
    """Predict by one of the learners."""
    mapping = task.options.get("mapping")

    def predict(_: tuple[str, ...], train: Table, data: pd.DataFrame) -> Answer:
        """Fit the learner on a group and predict."""
        try:
            forecast = _with_new_levels(train, data, task, mapping)
        except (ValueError, FloatingPointError) as error:
            # The errors of scikit-learn and LAPACK for data that they cannot use.
            raise FitError(f"{task.model} cannot use this data: {error}", where=train.source) from error
        return Answer(forecast, [None] * len(data), [None] * len(data))

    return _by_group(task, task.train.medians(), predict)


def _with_new_levels(train: Table, data: pd.DataFrame, task: Task, mapping: Mapping[str, str] | None) -> Forecast:
    """Predict by a learner; levels of the training part stand for others, as for a fitted model."""

    def learned(rows: pd.DataFrame) -> Forecast:
        return LEARNERS[task.model](train, rows, task.interval, task.seed, mapping)

    schema = schema_of(train)
    query = Query(len(data), {f.name: labels(data[f.name]) for f in train.categorical})
    new = new_levels(schema, query)
    if not new:
        return learned(data)
    stand, unknown = stand_ins(schema, query, new), np.any(list(new.values()), axis=0)
    expanded = data.iloc[stand.rows].reset_index(drop=True).assign(**stand.query.columns)
    whole = learned(pd.concat([data[~unknown], expanded], ignore_index=True))
    known, ways = np.split(np.array([whole.predicted, whole.lower, whole.upper]), [int((~unknown).sum())], axis=1)
    columns = np.empty((3, len(data)))
    columns[:, ~unknown] = known
    answers = (*ways, np.ones(len(stand.rows)))
    columns[:, unknown] = combined(stand, np.flatnonzero(unknown), answers, task.interval)[:3]
    return Forecast(*columns)


def _by_group(task: Task, train: Table, predict: Predict) -> Answer:
    """Predict group by group; a group without predictions does not stop the others."""
    rows = len(task.data)
    columns = np.full((3, rows), np.nan)
    verdicts: list[str | None] = [None] * rows
    reasons: list[str | None] = [None] * rows
    errors: list[GenperfError] = []
    rows_of: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(keys_of(task.data, train.group)):
        rows_of.setdefault(key, []).append(row)
    for key, part in train.groups():
        at = rows_of.get(key, [])
        if not at:
            continue
        try:
            answer = predict(key, part, task.data.iloc[at].reset_index(drop=True))
        except GenperfError as error:
            errors.append(error)
            answer = Answer(Forecast.missing(len(at)), [None] * len(at), [error.message] * len(at))
        forecast = answer.forecast
        columns[:, at] = forecast.predicted, forecast.lower, forecast.upper
        for row, verdict, reason in zip(at, answer.verdicts, answer.reasons, strict=True):
            verdicts[row], reasons[row] = verdict, reason
    if errors and not np.isfinite(columns[0]).any():
        raise errors[0]
    return Answer(Forecast(*columns), verdicts, reasons)
