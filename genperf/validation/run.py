"""`validate`: every model fitted on the training part of every split, and asked about the rest."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.engine import Engine, Lost, run
from genperf.errors import FitError, FormulaError, GenperfError, ModelError, Note, suggest
from genperf.fitting import fit
from genperf.models import MODELS
from genperf.models.family import Factors
from genperf.result import FitResult, GroupedResult
from genperf.table import Table
from genperf.table.clean import label
from genperf.validation.features import Forecast
from genperf.validation.learners import LEARNERS
from genperf.validation.score import HeldOut, ModelScore, Validation, finite, reasons_in_words
from genperf.validation.splits import Split, split

#: A forecast with a verdict and a reason per row.
_Said = tuple[Forecast, list[str | None], list[str | None]]

_SHOWN = 3
# Characters that a formula has and a name has not.
_FORMULA = re.compile(r"[+*/()]")


@dataclass(frozen=True, eq=False)
class _Task:
    """One model on one split: plain data, so that it can be sent to another process."""

    model: str
    train: Table
    data: pd.DataFrame
    interval: float
    seed: int
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Answer:
    """What came back; `error` where the model said no."""

    forecast: Forecast
    verdicts: Sequence[str | None]
    seconds: float
    reasons: Sequence[str | None]
    error: tuple[str, str | None, str | None] | None = None


@dataclass(frozen=True, eq=False)
class _Fold:
    """One split with what is held out and can be asked about."""

    name: str
    train: Table
    held_out: npt.NDArray[np.int64]
    unknown: Sequence[str | None]

    @property
    def asked(self) -> npt.NDArray[np.int64]:
        """The configurations that the models are asked about."""
        return self.held_out[[u is None for u in self.unknown]]


def validate(
    table: Table,
    models: str | Iterable[str] = ("generic",),
    scheme: str = "kfold:5",
    *,
    seed: int = 0,
    interval: float = 0.9,
    workers: int = 1,
    engine: str = "local",
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Validation:
    """Measure how well models predict configurations that they have not seen.

    Each model is fitted on the training part of each split alone; its choices, as structure or λ, are made there too.
    The measured time of a configuration is the median of its repeats, which are all on one side of every split.
    In a table with groups each group has a model of its own, and so has each group of a learner.

    Parameters
    ----------
    table : Table
    models : str or iterable of str
        Families, formulas, and the learners ``last-point``, ``linear``, ``random-forest``, ``gradient-boosting``,
        ``svr`` and ``gaussian-process``; ``auto``; ``all`` is ``auto``, every learner and every family that applies.
        "a,b" or ["a", "b"].
    scheme : str
        How to split, see `genperf.validation.split`: ``kfold:K``, ``leave-one-out``, ``leave-group-out:COLUMN``,
        ``extrapolate:COLUMN[:LIMIT]``.
    seed : int
        For the splits, the fits and the learners.
    interval : float
        Nominal coverage of the intervals, between 0 and 1.
    workers : int
        Processes; the result does not depend on it. −1 takes one per core.
    engine : {"local", "dask", "ray"}
    address : str, optional
        Where the fits run, as for `genperf.fit`.
    progress : callable, optional
        Called with the number of fits done and of all, after each.
    **options
        For `genperf.fit`: structure, loss, penalty, lam, solver, mapping, ….

    Returns
    -------
    Validation
        A model that cannot be applied is reported with its reason, and the others go on. A configuration of a group or
        with a categorical level that the training part does not have is left unpredicted, with a note.

    Raises
    ------
    GenperfError
        If a model's name is not known, the table cannot be split so, or no model predicts anything.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "t": [1.0, 1.1, 1.2, 1.25, 1.3]})
    >>> found = validate(read_table(runs, time="t", extrinsic="workers"), "last-point,linear", "extrapolate:workers")
    >>> found.frame().round(2)[["model", "mape"]]
            model  mape
    0  last-point  3.85
    1      linear  5.33
    """
    if not 0 < interval < 1:
        raise ModelError(f"an interval of {interval:g} is not between 0 and 1", hint="0.9")
    place = Engine(engine, workers, address)
    mapping = options.get("mapping")
    names, notes = choose_models(models, table, mapping)
    medians = table.medians()
    folds = [_fold(table, medians, s) for s in split(table, scheme, seed)]
    if len(names) * len(folds) == 1 and not place.in_process:
        # One task has no company to share the processes with: its groups get them.
        options, place = {**options, "workers": workers, "engine": engine, "address": address}, Engine()
    tasks = [
        _Task(name, fold.train, _asked(medians, fold.asked), interval, seed, options)
        for name in names
        for fold in folds
    ]
    answers = _answers(tasks, place, progress)
    scores, errors = [], []
    for i, name in enumerate(names):
        own = answers[i * len(folds) : (i + 1) * len(folds)]
        scores.append(_score(name, medians, folds, own))
        errors += [a.error for a in own if a.error is not None]
    if all(score.failed is not None for score in scores):
        message, hint, where = errors[0] if errors else (str(scores[0].failed), None, table.source)
        raise FitError(message, hint=hint, where=where)
    return Validation(tuple(scores), scheme, interval, seed, table.source, notes)


def choose_models(
    models: str | Iterable[str], table: Table, mapping: Mapping[str, str] | None = None
) -> tuple[list[str], tuple[Note, ...]]:
    """Return the names of the models asked for, each once, and notes on those left out of ``all``.

    Raises
    ------
    ModelError
        If a name is none of a learner, a family or a formula.
    """
    asked = _split(models) if isinstance(models, str) else list(models)
    names: list[str] = []
    notes: list[Note] = []
    known = dict.fromkeys(["auto", *LEARNERS, *MODELS, "all"])
    factors = Factors(table.factors, mapping or {})
    for name in (str(a).strip() for a in asked):
        if name == "all":
            names += ["auto", *LEARNERS]
            for family in MODELS:
                missing = MODELS[family].missing(factors)
                names += [] if missing else [family]
                if missing:
                    needs = " and ".join(f"'{m}'" for m in missing)
                    notes.append(Note(f"family '{family}' is left out: it needs {needs}", "not_applicable"))
        elif name in known or _FORMULA.search(name):
            names.append(name)
        elif name:
            near = suggest(name, list(known))
            listed = f"one of {', '.join(known)}, or a formula"
            raise ModelError(f"no model '{name}'", hint=f"{near}; {listed}" if near else listed)
    if not names:
        raise ModelError("no model is named", hint=f"one or more of {', '.join(known)}")
    return list(dict.fromkeys(names)), tuple(notes)


def _split(text: str) -> list[str]:
    """Split at commas; those inside brackets belong to a formula.

    Examples
    --------
    >>> _split("svr,max(a, min(b, n))")
    ['svr', 'max(a, min(b, n))']
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _fold(table: Table, medians: Table, part: Split) -> _Fold:
    """Gather what a split holds out, and say which of it nobody can be asked about."""
    train = table.take(part.train)
    held_out = np.unique(table.configuration[part.test])
    seen_groups = set(_keys(train.frame, train.group))
    seen = {f.name: set(_keys(train.frame, (*train.group, f.name))) for f in train.categorical}
    frame = medians.frame.iloc[held_out]
    unknown: list[str | None] = [None] * len(held_out)
    for name, pairs in seen.items():
        for i, key in enumerate(_keys(frame, (*table.group, name))):
            if key not in pairs:
                unknown[i] = f"level '{key[-1]}' of '{name}' is not in the training part"
    for i, key in enumerate(_keys(frame, table.group)):
        if key not in seen_groups:
            unknown[i] = "its group has no configuration in the training part"
    return _Fold(part.name, train, held_out, unknown)


def _keys(frame: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the values of some columns as text, a tuple per row."""
    columns = [[label(v) for v in frame[name]] for name in names]
    return list(zip(*columns, strict=True)) if columns else [()] * len(frame)


def _asked(medians: Table, rows: npt.NDArray[np.int64]) -> pd.DataFrame:
    names = dict.fromkeys([*medians.group, *(f.name for f in medians.factors)])
    return medians.frame.iloc[rows][list(names)].reset_index(drop=True)


def _answers(tasks: Sequence[_Task], engine: Engine, progress: Callable[[int, int], None] | None) -> list[_Answer]:
    """Return the tasks' answers in their order, wherever they were computed."""
    answers: dict[int, _Answer] = {}
    for number, answer in run(_answer, tasks, engine):
        answers[number] = _no_answer(tasks[number], answer.reason) if isinstance(answer, Lost) else answer
        if progress is not None:
            progress(len(answers), len(tasks))
    return [answers[i] for i in range(len(tasks))]


def _no_answer(task: _Task, why: str, seconds: float = 0.0, error: GenperfError | None = None) -> _Answer:
    rows = len(task.data)
    nothing = Forecast(*(np.full(rows, np.nan) for _ in range(3)))
    return _Answer(nothing, [None] * rows, seconds, [why] * rows, _plain(error or FitError(why)))


def _answer(task: _Task) -> _Answer:
    """Fit and predict; a refusal is an answer too."""
    start = time.perf_counter()
    if task.data.empty:
        return _Answer(Forecast(*(np.zeros(0) for _ in range(3))), [], 0.0, [])
    try:
        ask = _ask_learner if task.model in LEARNERS else _ask_fit
        forecast, verdicts, reasons = ask(task)
    except GenperfError as error:
        return _no_answer(task, error.message, time.perf_counter() - start, error)
    return _Answer(forecast, verdicts, time.perf_counter() - start, reasons)


def _ask_fit(task: _Task) -> _Said:
    result = fit(task.train, model=task.model, seed=task.seed, **task.options)
    if not isinstance(result, GroupedResult):
        return _said_by(result, task.data, task.interval)

    def ask(key: tuple[str, ...], _: Table, data: pd.DataFrame) -> _Said:
        if key in result.failures:
            # Without the group's name, so that groups with the same trouble are counted together.
            raise FitError(result.failures[key])
        return _said_by(result[key], data, task.interval)

    return _by_group(task, task.train, ask)


def _said_by(result: FitResult, data: pd.DataFrame, interval: float) -> _Said:
    found = result.predict(data, interval=interval)
    verdicts = [None if pd.isna(v) else str(v) for v in found["verdict"]]
    reasons = [None if pd.isna(r) else str(r) or None for r in found["reason"]]
    times = (found[c].to_numpy(dtype=float) for c in ("time", "lower", "upper"))
    return Forecast(*times), verdicts, reasons


def _ask_learner(task: _Task) -> _Said:
    mapping = task.options.get("mapping")

    def ask(_: tuple[str, ...], train: Table, data: pd.DataFrame) -> _Said:
        try:
            found = LEARNERS[task.model](train, data, task.interval, task.seed, mapping)
        except (ValueError, FloatingPointError) as error:
            # What scikit-learn and LAPACK raise about data that they cannot use.
            raise FitError(f"{task.model} cannot use this data: {error}", where=train.source) from error
        return found, [None] * len(data), [None] * len(data)

    return _by_group(task, task.train.medians(), ask)


def _by_group(task: _Task, train: Table, ask: Callable[[tuple[str, ...], Table, pd.DataFrame], _Said]) -> _Said:
    """Ask about each group's rows apart; a group that cannot be answered does not stop the others."""
    rows = len(task.data)
    time_, lower, upper = (np.full(rows, np.nan) for _ in range(3))
    verdicts: list[str | None] = [None] * rows
    reasons: list[str | None] = [None] * rows
    errors: list[GenperfError] = []
    at_key: dict[tuple[str, ...], list[int]] = {}
    for i, key in enumerate(_keys(task.data, train.group)):
        at_key.setdefault(key, []).append(i)
    for key, part in train.groups():
        at = at_key.get(key, [])
        if not at:
            continue
        try:
            found, said, why = ask(key, part, task.data.iloc[at].reset_index(drop=True))
        except GenperfError as error:
            errors.append(error)
            said, why = [None] * len(at), [error.message] * len(at)
        else:
            time_[at], lower[at], upper[at] = found.time, found.lower, found.upper
        for i, verdict, reason in zip(at, said, why, strict=True):
            verdicts[i], reasons[i] = verdict, reason
    if errors and not np.isfinite(time_).any():
        raise errors[0]
    return Forecast(time_, lower, upper), verdicts, reasons


def _score(name: str, medians: Table, folds: Sequence[_Fold], answers: Sequence[_Answer]) -> ModelScore:
    predictions: list[HeldOut] = []
    reasons: list[str] = []
    for fold, answer in zip(folds, answers, strict=True):
        given = _asked(medians, fold.held_out).to_dict("records")
        position = -1
        for i, unknown in enumerate(fold.unknown):
            measured = float(medians.measured[fold.held_out[i]])
            values = {str(k): v if isinstance(v, str) else float(v) for k, v in given[i].items()}
            if unknown is not None:
                reasons.append(unknown)
                predictions.append(HeldOut(values, fold.name, measured))
                continue
            position += 1
            found = answer.forecast
            point, lower, upper = (finite(float(a[position])) for a in (found.time, found.lower, found.upper))
            if point is None:
                reasons.append(answer.reasons[position] or "a factor is outside what the model can read")
                predictions.append(HeldOut(values, fold.name, measured))
                continue
            predictions.append(HeldOut(values, fold.name, measured, point, lower, upper, answer.verdicts[position]))
    seconds = sum(a.seconds for a in answers)
    if len(reasons) == len(predictions):
        return ModelScore(name, (), seconds, failed=_first_few(reasons))
    return ModelScore(name, tuple(predictions), seconds, reasons_in_words(reasons, len(predictions)))


def _first_few(reasons: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(reasons))
    more = f"; and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
    return "; ".join(distinct[:_SHOWN]) + more


def _plain(error: GenperfError) -> tuple[str, str | None, str | None]:
    """Return an error as message, hint and place: one with a caret does not travel between processes as it is."""
    if isinstance(error, FormulaError):
        return str(error), None, None
    return error.message, error.hint, error.where
