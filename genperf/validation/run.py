"""`validate`: every model fitted on the training part of every split, and compared on the held-out configurations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from genperf.engine import Engine, Lost, run
from genperf.errors import FitError, ModelError, Note, suggest
from genperf.models import MODELS
from genperf.panel import Panel
from genperf.table import Table
from genperf.validation.learners import LEARNERS
from genperf.validation.score import HeldOut, ModelScore, Validation, finite, first_reasons, reasons_in_words
from genperf.validation.splits import Split, split
from genperf.validation.tasks import Outcome, Task, keys_of, outcome_of, refusal

# Characters that a formula has and a name has not.
_FORMULA = re.compile(r"[+*/()]")


@dataclass(frozen=True, eq=False)
class _Fold:
    """One split with its held-out configurations."""

    name: str
    train: Table
    #: Shape (held_out,). Numbers of the configurations.
    held_out: npt.NDArray[np.int64]
    #: Why no model can predict a configuration: its group is not in the training part, or one of its levels is not and
    #: that has one level only.
    unknown: Sequence[str | None]

    @property
    def predictable(self) -> npt.NDArray[np.int64]:
        """The held-out configurations that a model can predict."""
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
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Validation:
    """Measure how well models predict held-out configurations.

    Each model is fitted on the training part of each split alone; its choices, as structure or λ, are made there too.
    The measured value of a configuration is the median of its repeats, which are all on one side of every split.
    In a table with groups, families, formulas and learners are fitted to each group separately.

    Parameters
    ----------
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
        Where the fits run, as for `genperf.fit`.
    progress : callable, optional
        Called with the number of fits done and of all, after each.
    **options
        For `genperf.fit`: structure, loss, penalty, lam, solver, mapping, …; and `address`, that of a cluster.

    Returns
    -------
    Validation
        A model that cannot be applied is reported with its reason, and the others go on. For a categorical level that
        the training part does not have, its levels stand, as in `genperf.predict`, for every model. A configuration of
        a group that it does not have, or of such a level where it has one level only, is left unpredicted, with a note.

    Raises
    ------
    GenperfError
        If a model's name is not known, the table cannot be split so, or no model predicts anything.

    Examples
    --------
    >>> import pandas as pd
    >>> from genperf.table import read_table
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "t": [1.0, 1.1, 1.2, 1.25, 1.3]})
    >>> table = read_table(runs, time="t", extrinsic="workers")
    >>> validate(table, "last-point,linear", "extrapolate:workers").frame().round(2)[["model", "mape"]]
            model  mape
    0  last-point  3.85
    1      linear  5.33
    """
    if not 0 < interval < 1:
        raise ModelError(f"an interval of {interval:g} is not between 0 and 1", hint="0.9")
    address = options.pop("address", None)
    place = Engine(engine, workers, address)
    mapping = options.get("mapping")
    names, notes = choose_models(models, table, mapping)
    medians = table.medians()
    folds = [_fold(table, medians, s) for s in split(table, scheme, seed)]
    if len(names) * len(folds) == 1 and not place.in_process:
        # A single task cannot use several processes: its groups can.
        options, place = {**options, "workers": workers, "engine": engine, "address": address}, Engine()
    tasks = [
        Task(name, fold.train, _configurations(medians, fold.predictable), interval, seed, options)
        for name in names
        for fold in folds
    ]
    outcomes = _outcomes(tasks, place, progress)
    scores, errors = [], []
    for i, name in enumerate(names):
        by_fold = outcomes[i * len(folds) : (i + 1) * len(folds)]
        scores.append(_score(name, medians, folds, by_fold))
        errors += [outcome.error for outcome in by_fold if outcome.error is not None]
    if all(score.failed is not None for score in scores):
        message, hint, where = errors[0] if errors else (str(scores[0].failed), None, table.source)
        raise FitError(message, hint=hint, where=where)
    return Validation(tuple(scores), scheme, interval, seed, table.source, notes, table.target)


def choose_models(
    models: str | Iterable[str], table: Table, mapping: Mapping[str, str] | None = None
) -> tuple[list[str], tuple[Note, ...]]:
    """Return the names of the requested models without repetition, and notes on those left out of ``all``."""
    requested = _split(models) if isinstance(models, str) else list(models)
    names: list[str] = []
    notes: list[Note] = []
    known = dict.fromkeys(["auto", *LEARNERS, *MODELS, "all"])
    factors = Panel(table.factors, mapping or {})
    for name in (str(model).strip() for model in requested):
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
    """Split at commas; those inside brackets belong to a formula."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _fold(table: Table, medians: Table, part: Split) -> _Fold:
    """Gather the held-out configurations of a split, and mark those that no model can predict."""
    train = table.take(part.train)
    held_out = np.unique(table.configuration[part.test])
    groups = set(keys_of(train.frame, train.group))
    levels = {f.name: set(keys_of(train.frame, (*train.group, f.name))) for f in train.categorical}
    frame = medians.frame.iloc[held_out]
    unknown: list[str | None] = [None] * len(held_out)
    for name, trained in levels.items():
        # Several levels of a group can stand for another one.
        count = Counter(key[:-1] for key in trained)
        for i, key in enumerate(keys_of(frame, (*table.group, name))):
            if key not in trained and count[key[:-1]] < 2:
                unknown[i] = f"level '{key[-1]}' of '{name}' is not in the training part, which has one"
    for i, key in enumerate(keys_of(frame, table.group)):
        if key not in groups:
            unknown[i] = "its group has no configuration in the training part"
    return _Fold(part.name, train, held_out, unknown)


def _configurations(medians: Table, rows: npt.NDArray[np.int64]) -> pd.DataFrame:
    """Return the groups and factors of some configurations."""
    names = dict.fromkeys([*medians.group, *(f.name for f in medians.factors)])
    return medians.frame.iloc[rows][list(names)].reset_index(drop=True)


def _outcomes(tasks: Sequence[Task], engine: Engine, progress: Callable[[int, int], None] | None) -> list[Outcome]:
    """Run the tasks on an engine."""
    outcomes: dict[int, Outcome] = {}
    for number, outcome in run(outcome_of, tasks, engine):
        outcomes[number] = refusal(tasks[number], FitError(outcome.reason)) if isinstance(outcome, Lost) else outcome
        if progress is not None:
            progress(len(outcomes), len(tasks))
    return [outcomes[i] for i in range(len(tasks))]


def _score(name: str, medians: Table, folds: Sequence[_Fold], outcomes: Sequence[Outcome]) -> ModelScore:
    """Compare a model's predictions with the measured values."""
    predictions: list[HeldOut] = []
    reasons: list[str] = []
    for fold, outcome in zip(folds, outcomes, strict=True):
        configurations = _configurations(medians, fold.held_out).to_dict("records")
        answer, forecast = outcome.answer, outcome.answer.forecast
        row = -1
        for i, unknown in enumerate(fold.unknown):
            measured = float(medians.measured[fold.held_out[i]])
            values = {str(k): v if isinstance(v, str) else float(v) for k, v in configurations[i].items()}
            if unknown is not None:
                reasons.append(unknown)
                predictions.append(HeldOut(values, fold.name, measured))
                continue
            row += 1
            columns = (forecast.predicted, forecast.lower, forecast.upper)
            predicted, lower, upper = (finite(float(column[row])) for column in columns)
            if predicted is None:
                reasons.append(answer.reasons[row] or "a factor is outside what the model can read")
                predictions.append(HeldOut(values, fold.name, measured))
                continue
            predictions.append(HeldOut(values, fold.name, measured, predicted, lower, upper, answer.verdicts[row]))
    seconds = sum(outcome.seconds for outcome in outcomes)
    if len(reasons) == len(predictions):
        return ModelScore(name, (), seconds, failed=first_reasons(reasons))
    return ModelScore(name, tuple(predictions), seconds, reasons_in_words(reasons, len(predictions)))
