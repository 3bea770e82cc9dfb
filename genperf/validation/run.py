"""`validate`: every model fitted on the training part of every split, and its scores on the held-out configurations."""

import inspect
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct

from genperf.arrays import AnyArray, Array, Integers, Objects
from genperf.attribution.answers import Importance, Line, PrintedAnswer
from genperf.engine import Engine, Lost, run
from genperf.errors import LISTED, FitError, GenperfError, ModelError, Note, counted, did_you_mean, known_name
from genperf.facts import check_interval
from genperf.fitting import fit
from genperf.fitting.auto import AUTO
from genperf.metrics import coverage, fit_errors, relative_width
from genperf.models import MODELS
from genperf.models.network import DEVICES, checked_hints
from genperf.panel import Table
from genperf.panel.panel import TIME, Target
from genperf.panel.table import group_keys
from genperf.prediction import schema_of
from genperf.prediction.predict import combined, new_levels, stand_ins
from genperf.result import predicting_levels
from genperf.result.fit_result import rows_by_group
from genperf.table.cells import records, with_columns
from genperf.table.clean import labels
from genperf.validation.learners import LEARNERS
from genperf.validation.splits import Split, split

#: What `fit` takes.
_OPTIONS = tuple(inspect.signature(fit).parameters)

_METRICS = ("mape", "median_ape", "rmse", "r2", "coverage", "width")
#: The target of a validation that names none.
TIME_TARGET = Target(TIME)


@dataclass(frozen=True, eq=False)
class ModelScore:
    """How well one model predicted held-out configurations."""

    model: str
    #: A row per held-out configuration, in the order of the folds; none if the model failed. `fold`; `measured`, the
    #: median of the repeats, and `predicted`, `lower`, `upper`, in the target's unit, NaN where the model gives none;
    #: `verdict` (``ok``, ``caution``, ``extrapolating-blind``), None for a learner.
    predictions: pd.DataFrame
    seconds: float = 0.0  #: Wall time of all its fits and predictions.
    notes: tuple[Note, ...] = ()  #: Which configurations it left unpredicted, and why.
    failed: str | None = None  #: Why it predicted nothing at all.
    #: `mape`, `median_ape`, `rmse`, `r2`, `coverage`, `width`: over the configurations it predicted: mean and median
    #: absolute error (%), root mean squared error (in the target's unit), coefficient of determination, share of
    #: measured values inside their intervals (%), median width of the intervals relative to the measured value (%).
    #: None where there is nothing to compute it from.
    mape: float | None = field(init=False, default=None)
    median_ape: float | None = field(init=False, default=None)
    rmse: float | None = field(init=False, default=None)
    r2: float | None = field(init=False, default=None)
    coverage: float | None = field(init=False, default=None)
    width: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        points, bands = (self.predictions.dropna(subset=names) for names in (["predicted"], ["lower", "upper"]))
        values: dict[str, float] = {}
        if len(points):
            values |= fit_errors(points["predicted"], points["measured"])
        if len(bands):
            lower, upper, measured = bands["lower"], bands["upper"], bands["measured"]
            values |= {"coverage": coverage(lower, upper, measured), "width": relative_width(lower, upper, measured)}
        for name, value in values.items():
            object.__setattr__(self, name, value if math.isfinite(value) else None)

    @property
    def predicted(self) -> int:
        """How many configurations it predicted."""
        return int(self.predictions["predicted"].count())

    @property
    def metrics(self) -> dict[str, float | None]:
        """The metrics by name."""
        return {name: getattr(self, name) for name in _METRICS}


class Validation(PrintedAnswer, frozen=True, eq=False):
    """The scores of several models on the same held-out configurations.

    >>> point = pd.DataFrame({"fold": "n > 4", "measured": [2.0], "predicted": 2.2, "lower": 1.9, "upper": 2.4})
    >>> score, held_out = ModelScore("ernest", point, seconds=0.1), pd.DataFrame({"n": [8.0]})
    >>> validation = Validation((score,), held_out, "extrapolate:n:4", target=Target("peak_gb", "memory", "GB"))
    >>> print(validation)
    extrapolate:n:4, memory of 1 held-out configuration; errors in %, intervals of 90 %
       model mape median_ape   rmse r2 coverage width seconds
      ernest 10.0       10.0 0.2 GB  -    100.0  25.0    0.10
    >>> validation.to_dict(timing=False)["models"][0]["mape"].__round__(6)
    10.0
    """

    models: tuple[ModelScore, ...]  #: The scores in the requested order.
    #: Groups and factors of the held-out configurations, a row for each of the predictions.
    configurations: pd.DataFrame
    scheme: str
    #: Nominal coverage of the intervals.
    interval: float = 0.9
    seed: int = 0
    source: str = ""  #: Where the table comes from.
    notes: tuple[Note, ...] = ()  #: On the choice of models.
    target: Target = TIME_TARGET  #: The measured quantity.

    def __getitem__(self, model: str) -> ModelScore:
        """Return the score of a model by name."""
        for score in self.models:
            if score.model == model:
                return score
        raise KeyError(model)

    def to_dict(self, *, timing: bool = True) -> dict[str, Any]:
        """Return what strict JSON can hold; without `timing` the same input and seed give the same bytes."""
        models = []
        for m in self.models:
            score: dict[str, Any] = {"model": m.model, **m.metrics, **({"seconds": m.seconds} if timing else {})}
            score |= {"predictions": records(self._held_out(m))}
            score |= {"notes": [str(n) for n in m.notes]} if m.notes else {}
            models.append(score | ({} if m.failed is None else {"failed": m.failed}))
        return {"models": models, "quantity": self.target.name, "unit": self.target.unit}

    def frame(self, *, timing: bool = True) -> pd.DataFrame:
        """Return a row per model: model, the metrics, seconds, predicted (configurations), failed."""
        rows = [
            {"model": m.model, **m.metrics, "seconds": m.seconds, "predicted": m.predicted, "failed": m.failed or ""}
            for m in self.models
        ]
        return pd.DataFrame(rows).astype(dict.fromkeys(_METRICS, float)).drop(columns=[] if timing else "seconds")

    def predictions(self) -> pd.DataFrame:
        """Return a row per model and held-out configuration; a factor named as another column gets a trailing `_`."""
        frames = {m.model: self._held_out(m).rename(columns={"model": "model_"}) for m in self.models if not m.failed}
        return pd.concat(frames, names=["model"]).reset_index("model").reset_index(drop=True)

    def _held_out(self, score: ModelScore) -> pd.DataFrame:
        """Return the held-out configurations beside a model's predictions of them."""
        results = score.predictions.rename(columns={"predicted": self.target.name})
        values = self.configurations.rename(columns=lambda name: f"{name}_" if name in results else name)
        return values.join(results, how="inner")

    @property
    def content(self) -> list[Line]:
        """The headline with the scores, the failures, the notes on single models, those on the choice of models."""
        failures = [f"{m.model} failed: {m.failed}" for m in self.models if m.failed is not None]
        notes = [f"{m.model}: {note}" for m in self.models for note in m.notes]
        texts = [*failures, *notes, *map(str, self.notes)]
        return [(self.headline, self.summary()), *(f"note: {text}" for text in texts)]

    @property
    def headline(self) -> str:
        """The scheme, the target and the number of held-out configurations, in a line."""
        held_out = max((len(m.predictions) for m in self.models), default=0)
        of_what = f"{self.scheme}, {self.target.name} of {counted(held_out, 'held-out configuration')}"
        return f"{of_what}; errors in %, intervals of {100 * self.interval:g} %"

    def summary(self) -> pd.DataFrame:
        """Return a row per model with rounded numbers as text, the root mean squared error with the target's unit."""
        unit = f" {self.target.unit}".rstrip()
        rows = []
        # Errors over different configurations do not compare: the number of each model's is a column then.
        partial = any(m.predicted < len(m.predictions) for m in self.models)
        for m in self.models:
            row = {"model": m.model, **({"predicted": str(m.predicted)} if partial else {})}
            for name, value in m.metrics.items():
                digits = {"rmse": ".3g", "r2": ".3f"}.get(name, ".1f")
                row[name] = "-" if value is None else f"{value:{digits}}{unit if name == 'rmse' else ''}"
            rows.append({**row, "seconds": f"{m.seconds:.2f}"})
        return pd.DataFrame(rows)


# Characters that a formula has and a name has not.
_FORMULA = re.compile(r"[+*/()]")
Key = tuple[str, ...]


class Task(Struct, frozen=True, eq=False):
    """One model on one split: plain data, so that it can be sent to another process."""

    #: A learner, a family, a formula or ``auto``.
    model: str
    train: Table
    data: pd.DataFrame  #: Groups and factors of the held-out configurations.
    #: Nominal coverage.
    interval: float
    seed: int
    options: Mapping[str, Any]  #: Options of `genperf.fit`.


class Outcome(Struct, frozen=True, eq=False):
    """The predictions of a task."""

    #: Shape (5, rows). The prediction and the ends of its interval in the target's unit, the verdict, which a learner
    #: does not give, and the reason for it or for a missing prediction; None where there is none.
    answers: Objects
    error: GenperfError | None = None  #: Why nothing is predicted.
    seconds: float = 0.0  #: Wall time.


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

    Each model is fitted on the training part of each split alone, to each group separately; its choices, as structure
    or λ, are made there too. Repeats of a configuration, whose median is its value, are all on one side of every split.

    Parameters
    ----------
    models : str or iterable of str
        "a,b" or ["a", "b"]: families, formulas, ``auto``, and the learners ``last-point``, ``linear``,
        ``random-forest``, ``gradient-boosting``, ``svr`` and ``gaussian-process``; ``all`` is every one that applies.
    scheme : str
        ``kfold:K``, ``leave-one-out``, ``leave-group-out:COLUMN`` or ``extrapolate:COLUMN[:LIMIT]``.
    seed : int
        For the splits, the fits and the learners.
    interval : float
        Nominal coverage of the intervals, between 0 and 1.
    workers : int
        Processes; the result does not depend on it. −1 takes one per core.
    engine : {"local", "dask"}
        Where the fits run, as for `genperf.fit`.
    progress : callable, optional
        Called with the number of fits done and of all, after each.
    **options
        For `genperf.fit`: structure, loss, penalty, lam, solver, mapping, …; and `address`, that of a cluster.

    Returns
    -------
    Validation
        A model that cannot be applied is reported with its reason. A level that the training part lacks is replaced as
        in `predict`; a configuration of a group that it lacks is left unpredicted, with a note.

    Raises
    ------
    GenperfError
        If a model's name is not known, the table cannot be split so, or no model predicts anything.

    Examples
    --------
    >>> runs = pd.DataFrame({"workers": [1, 2, 4, 8, 16], "t": [1.0, 1.1, 1.2, 1.25, 1.3]})
    >>> table = gp.read_table(runs, time="t", extrinsic="workers")
    >>> validate(table, "last-point,linear", "extrapolate:workers").frame().round(2)[["model", "mape"]]
            model  mape
    0  last-point  3.85
    1      linear  5.33
    """
    check_interval(interval)
    for name in options:
        known_name("option of fit", name, _OPTIONS)
    address = options.pop("address", None)
    place = Engine(engine, workers, address)
    table = table.mapped(options.pop("mapping", None) or {})
    names, notes = choose_models(models, table)
    if table.target.throughput:
        what = f"errors of the time of a step, {table.target.work} over '{table.target.throughput}'"
        notes += (Note(f"{what}: a time 10 % too long is a throughput 9 % too low", "errors_of_time"),)
    medians, splits = table.medians(), split(table, scheme, seed)
    trains = [table.take(fold_split.train) for fold_split in splits]
    held_out = [_held_out(table, medians, fold_split, train) for fold_split, train in zip(splits, trains, strict=True)]
    if len(names) * len(splits) == 1 and not place.in_process:
        # A single task cannot use several processes: its groups can.
        options, place = {**options, "workers": workers, "engine": engine, "address": address}, Engine()
    data = [configurations(medians, rows["number"][rows["reason"].isna()].to_numpy(np.intp)) for rows in held_out]
    tasks = [
        Task(name, train, rows, interval, seed, options)
        for name in names
        for train, rows in zip(trains, data, strict=True)
    ]
    outcomes = _outcomes(tasks, place, progress)
    held = pd.concat(held_out, ignore_index=True)
    numbers, predictable = held["number"].to_numpy(np.intp), held["reason"].isna().to_numpy()
    measured = pd.DataFrame({"fold": held["fold"], "measured": medians.measured[numbers]})
    scores = []
    for i, name in enumerate(names):
        of_model = outcomes[i * len(splits) : (i + 1) * len(splits)]
        answers = np.full((5, len(held)), None, dtype=object)
        answers[4] = held["reason"]
        answers[:, predictable] = np.hstack([outcome.answers for outcome in of_model])
        scores.append(_score(name, measured, answers, sum(outcome.seconds for outcome in of_model)))
    if all(score.failed is not None for score in scores):
        errors = (outcome.error for outcome in outcomes if outcome.error is not None)
        raise next(errors, FitError(str(scores[0].failed), where=table.source))
    configurations_held = configurations(medians, numbers)
    return Validation(tuple(scores), configurations_held, scheme, interval, seed, table.source, notes, table.target)


def choose_models(models: str | Iterable[str], table: Table) -> tuple[list[str], tuple[Note, ...]]:
    """Return the names of the requested models without repetition, and notes on those left out of ``all``."""
    requested = _split_at_commas(models) if isinstance(models, str) else list(models)
    names: list[str] = []
    notes: list[Note] = []
    model_names = dict.fromkeys(["auto", *LEARNERS, *MODELS, "all"])
    factors = table.panel
    for name in (str(model).strip() for model in requested):
        if name == "all":
            missing = {family: MODELS[family].missing(factors) for family in MODELS}
            names += ["auto", *LEARNERS, *(family for family in MODELS if not missing[family])]
            for lacks in dict.fromkeys(tuple(lacks) for lacks in missing.values() if lacks):
                left_out = ", ".join(family for family in MODELS if missing[family] == [*lacks])
                text = f"left out for lack of {' and '.join(map(repr, lacks))}: {left_out}"
                notes.append(Note(text, "not_applicable"))
        elif name in model_names or _FORMULA.search(name):
            names.append(name)
        elif name:
            near = did_you_mean(name, model_names)
            listed = f"one of {', '.join(model_names)}, or a formula"
            raise ModelError(f"no model '{name}'", hint=f"{near}; {listed}" if near else listed)
    if not names:
        raise ModelError("no model is named", hint=f"one or more of {', '.join(model_names)}")
    return list(dict.fromkeys(names)), tuple(notes)


def _split_at_commas(text: str) -> list[str]:
    """Return the names between commas: `usl, f(a,b)` → ["usl", " f(a,b)"]; commas in brackets are a formula's."""
    names, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            names.append("")
        else:
            names[-1] += character
    return names


def _held_out(table: Table, medians: Table, part: Split, train: Table) -> pd.DataFrame:
    """Return the `fold`, the `number` and, where no model can predict it, a `reason` of each held-out configuration."""
    numbers = np.unique(table.configuration[part.test])
    frame, reasons = medians.frame.iloc[numbers], np.full(len(numbers), None, dtype=object)
    groups, groups_held_out = group_keys(train.frame, train.group), group_keys(frame, table.group)
    trained = {*groups}
    for name in (f.name for f in train.categorical):
        levels = {group: set[str]() for group in trained.union(groups_held_out)}
        for group, level in zip(groups, labels(train.frame[name]), strict=True):
            levels[group].add(level)
        for i, (group, level) in enumerate(zip(groups_held_out, labels(frame[name]), strict=True)):
            # Several levels of a group can replace another one.
            if level not in levels[group] and len(levels[group]) < 2:
                reasons[i] = f"level '{level}' of '{name}' is not in the training part, which has one"
    reasons[[group not in trained for group in groups_held_out]] = "its group has no configuration in the training part"
    return pd.DataFrame({"fold": part.name, "number": numbers, "reason": pd.Series(reasons, dtype=object)})


def configurations(medians: Table, rows: Integers) -> pd.DataFrame:
    """Return the groups and factors of some configurations."""
    names = dict.fromkeys([*medians.group, *(f.name for f in medians.factors)])
    return medians.frame.iloc[rows][list(names)].reset_index(drop=True)


def _outcomes(tasks: Sequence[Task], engine: Engine, progress: Callable[[int, int], None] | None) -> list[Outcome]:
    """Run the tasks on an engine, and return their outcomes in order; a lost task is a refusal."""
    outcomes: dict[int, Outcome] = {}
    for number, outcome in run(predicted, tasks, engine):
        if isinstance(outcome, Lost):
            answers = np.full((5, len(tasks[number].data)), [[None]] * 4 + [[outcome.reason]], dtype=object)
            outcome = Outcome(answers, FitError(outcome.reason))
        outcomes[number] = outcome
        if progress is not None:
            progress(len(outcomes), len(tasks))
    return [outcomes[i] for i in range(len(tasks))]


def predicted(task: Task) -> Outcome:
    """Fit, and predict group by group, in some time; a group without predictions does not stop the others."""
    start, count, errors = time.perf_counter(), len(task.data), list[GenperfError]()
    answers, refusal = np.full((5, count), None, dtype=object), None
    if not count:
        return Outcome(answers)
    rows_of_group = rows_by_group({name: labels(task.data[name]) for name in task.train.group}, count)
    try:
        predict = (_learner if task.model in LEARNERS else _model)(task)
        for key, rows in rows_of_group.items():
            try:
                answers[:, rows] = predict(key, task.data.iloc[rows].reset_index(drop=True))
            except GenperfError as error:
                errors.append(error)
                answers[4, rows] = error.message
        if errors and len(errors) == len(rows_of_group):
            raise errors[0]
    except GenperfError as error:
        # Of a task that predicts nothing one reason is that of all rows.
        answers[4], refusal = error.message, error
    return Outcome(answers, refusal, time.perf_counter() - start)


def _model(task: Task) -> Callable[[Key, pd.DataFrame], Any]:
    """Fit a model to every group; return (key, rows) → predicted, lower, upper, verdict and reason, of each row."""
    options = dict(task.options)
    if task.model != AUTO and options.get("hints"):
        # Every model reads how many devices a node has; hints of the network are for `auto` alone.
        options["hints"] = {name: v for name, v in checked_hints(options["hints"]).items() if name == DEVICES}
    fitted = fit(task.train, model=task.model, seed=task.seed, **options)

    def predict(key: Key, data: pd.DataFrame) -> Any:
        if key in fitted.failures:
            # Without the group's name, so that groups with the same trouble are counted together.
            raise FitError(fitted.failures[key])
        result = fitted.results[key]
        frame = predicting_levels(result, data).predict(data, interval=task.interval)
        return frame[[result.schema.target.name, "lower", "upper", "verdict", "reason"]].to_numpy(dtype=object).T

    return predict


def _learner(task: Task) -> Callable[[Key, pd.DataFrame], Any]:
    """Return what trains a learner on a group and predicts rows of it; levels replace others as for a fitted model."""
    groups = dict(task.train.medians().groups())

    def predict(key: Key, data: pd.DataFrame) -> Any:
        """Predict rows of a group by the learner that is trained on it."""
        train = groups[key]
        texts: dict[str, AnyArray] = {f.name: labels(data[f.name]) for f in train.categorical}
        schema, columns = schema_of(train), {"row": np.arange(len(data)), **texts}
        ways = stand_ins(schema, columns, new_levels(schema, texts))
        rows = data.iloc[ways.rows].reset_index(drop=True).assign(**{name: ways.columns[name] for name in texts})
        try:
            forecast = LEARNERS[task.model](train, rows, task.interval, task.seed)
            answers = combined(ways, forecast, task.interval)
        except (ValueError, FloatingPointError) as error:
            # The errors of scikit-learn and LAPACK for data that they cannot use.
            raise FitError(f"{task.model} cannot use this data: {error}", where=train.source) from error
        return [*answers, [None] * len(data), [None] * len(data)]

    return predict


def _score(name: str, measured: pd.DataFrame, answers: Objects, seconds: float) -> ModelScore:
    """Compare a model's answers with the measured values; see `Outcome`."""
    missing = ~np.isfinite(answers[0].astype(float))
    answers[:4, missing] = None
    numbers = answers[:3].astype(float)
    value, lower, upper = np.where(np.isfinite(numbers), numbers, np.nan)
    predictions = measured.assign(predicted=value, lower=lower, upper=upper, verdict=answers[3])
    reasons = [reason or "a factor is outside what the model can read" for reason in answers[4, missing]]
    if missing.all():
        distinct = list(dict.fromkeys(reasons))
        more = f"; and {len(distinct) - LISTED} more" if len(distinct) > LISTED else ""
        return ModelScore(name, predictions[:0], seconds, failed="; ".join(distinct[:LISTED]) + more)
    # Why configurations were left unpredicted, one note a reason, the most frequent first.
    counts, unpredicted = Counter(reasons).most_common(), f"of {len(missing)} configurations left unpredicted"
    texts = [f"{count} {unpredicted}: {reason}" for reason, count in counts[:LISTED]]
    unlisted = sum(count for _, count in counts[LISTED:])
    texts += [f"{unlisted} {unpredicted} for other reasons"] if unlisted else []
    return ModelScore(name, predictions, seconds, tuple(Note(text, "unpredicted") for text in texts))


#: The learners without readable coefficients.
BLACK_BOXES = ("random-forest", "gradient-boosting", "svr", "gaussian-process")


def importance(
    table: Table, models: str | Sequence[str] = BLACK_BOXES, *, folds: int = 5, repeats: int = 5, seed: int = 0
) -> Importance:
    """Return by how much held-out errors grow when a factor's values are shuffled among them (Breiman 2001)."""
    if table.group:
        what = "importance is computed for one group, and the table has several"
        raise GenperfError(what, hint="choose it: --group VALUES")
    if repeats < 1:
        raise GenperfError(f"{repeats} repeats shuffle nothing", hint="5")
    medians = table.medians()
    factors = [f.name for f in medians.factors if f.distinct > 1]
    if not factors:
        raise GenperfError("no factor varies", where=table.source)
    splits = split(table, f"kfold:{min(folds, len(medians))}", seed)
    tables = []
    for name in choose_models(models, table)[0]:
        plain, *shuffled = _mean_errors(name, table, splits, factors, repeats, seed)
        grown = np.exp(np.mean(shuffled, axis=1)) - np.exp(plain.mean())
        scores = {"importance": 100 * grown, "deviation": 100 * np.exp(shuffled).std(axis=1)}
        tables.append(pd.DataFrame({"model": name, "factor": factors, **scores, "error": 100 * np.expm1(plain.mean())}))
    return Importance(pd.concat(tables, ignore_index=True), len(splits), repeats)


def _mean_errors(
    model: str, table: Table, splits: Sequence[Split], factors: Sequence[str], repeats: int, seed: int
) -> Array:
    """Return the mean |ln(predicted/measured)| plain, then with each factor shuffled, shape (1 + factors, repeats)."""
    medians = table.medians()
    errors, counts = np.zeros((2, 1 + len(factors), repeats))
    for number, fold in enumerate(splits):
        held, rng = medians.take(np.unique(table.configuration[fold.test])), np.random.default_rng([seed, number])
        plain = held.frame[[f.name for f in medians.factors]]
        copies = [plain]
        for factor in factors:
            orders = [rng.permutation(len(plain)) for _ in range(repeats)]
            copies += [with_columns(plain, {factor: plain[factor].to_numpy()[order]}) for order in orders]
        rows = pd.concat(copies, ignore_index=True)
        outcome = predicted(Task(model, table.take(fold.train), rows, 0.9, seed, {}))
        if outcome.error is not None:
            raise outcome.error
        with np.errstate(all="ignore"):
            logarithms = np.log(outcome.answers[0].astype(float).reshape(-1, len(held)) / held.measured)
        # The plain rows are predicted once, and stand for each of the repeats.
        of_copies = np.abs(np.vstack([logarithms[:1].repeat(repeats, axis=0), logarithms[1:]]))
        of_copies = of_copies.reshape(-1, repeats, len(held))
        usable = np.isfinite(of_copies)
        errors += np.where(usable, of_copies, 0.0).sum(axis=2)
        counts += usable.sum(axis=2)
    return np.asarray(errors / np.maximum(counts, 1))
