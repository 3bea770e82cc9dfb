"""`verify`: new runs beside the predictions of a model, or of a history that is fitted."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from genperf.arrays import Index
from genperf.errors import GenperfError, TableError
from genperf.fitting import fit, model_or_table
from genperf.metrics import NOMINAL, coverage_probability, coverage_text
from genperf.panel import Table
from genperf.panel.read import recognised
from genperf.prediction.schema import Schema, roles_of
from genperf.result import FitResult, GroupedResult, is_model, save_model
from genperf.table.cells import Source
from genperf.table.opened import open_files, open_source
from genperf.verification.alarm import FEWEST_FREEDOM, Alarm, History, alarm_of
from genperf.vocabulary import words_of
from genperf.vocabulary.names import plain_name
from genperf.words.numbers import join_values, three_digits, with_unit


@dataclass(frozen=True)
class Checked:
    """One new run beside its prediction, whose verdict is ok, caution or extrapolating-blind."""

    at: dict[str, Any]
    verdict: str
    measured: float
    predicted: float
    lower: float
    upper: float

    @property
    def place(self) -> str:
        """Where it lies: inside the interval, faster or slower."""
        return "faster" if self.measured < self.lower else "slower" if self.measured > self.upper else "inside"


@dataclass(frozen=True)
class Verification:
    """New runs beside their predictions, how many intervals held, and the alarm."""

    model: str
    #: What is measured, and its unit.
    quantity: str
    unit: str
    runs: tuple[Checked, ...]
    alarm: Alarm
    #: Configurations of the new runs, with the predicted values before and after the model was fitted again.
    moved: tuple[tuple[dict[str, Any], float, float], ...] = ()

    @property
    def inside(self) -> int:
        """How many runs lie inside their interval."""
        return sum(run.place == "inside" for run in self.runs)

    @property
    def coverage(self) -> str:
        """The coverage in words."""
        return coverage_text(self.inside, len(self.runs))

    @property
    def judged(self) -> str:
        """The alarm in words."""
        alarm = self.alarm
        tests = ", ".join(f"{name} p = {value:.2g}" for name, value in alarm.tests.items())
        verdict = "slower than predicted" if alarm.raised else "not slower"
        text = f"{verdict}: p = {alarm.probability:.2g} ({tests}); the alarm is at {100 * alarm.level:g} %"
        alone = ", ".join(str(row + 1) for row in alarm.slower) if alarm.raised else ""
        return f"{text}; by themselves: runs {alone}" if alone else text

    @property
    def lines(self) -> list[str]:
        """The answer in lines: a row a run with the running coverage, the coverage, the alarm, and what moved."""
        rows, held = [], 0
        for number, run in enumerate(self.runs, 1):
            held += run.place == "inside"
            value, predicted, lower, upper = map(three_digits, (run.measured, run.predicted, run.lower, run.upper))
            slow = ", slow" if number - 1 in self.alarm.slower and run.place == "inside" else ""
            interval = f"predicted {predicted} ({lower} – {upper}): {run.place}{slow} · {held} of {number}"
            rows.append(f"{number}. {join_values(run.at)}: {with_unit(value, self.unit)}, {interval}")
        for at, before, after in self.moved:
            there = f"{with_unit(three_digits(after), self.unit)} ({100 * (after / before - 1):+.1f} %)"
            rows.append(f"moved: {join_values(at)}: {three_digits(before)} becomes {there}")
        runs = len(self.runs)
        return [*rows[:runs], self.coverage, self.judged, *rows[runs:]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        held = {"inside": self.inside, "runs": len(self.runs), "nominal": NOMINAL}
        return {
            **vars(self),
            "runs": [{**asdict(run), "place": run.place} for run in self.runs],
            "coverage": {**held, "probability": coverage_probability(self.inside, len(self.runs))},
            "alarm": {**vars(self.alarm), "slower": list(self.alarm.slower), "raised": self.alarm.raised},
            "moved": [dict(zip(("at", "before", "after"), one, strict=True)) for one in self.moved],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines)


def verify(
    model: FitResult | GroupedResult | Table | str | Path | pd.DataFrame,
    *sources: str | Path | pd.DataFrame,
    alarm: float = 0.01,
    update: bool = False,
    seed: int = 0,
) -> Verification:
    """Check predictions against what was then measured, and whether runs have become slower.

    Parameters
    ----------
    model : FitResult, Table, path or DataFrame
        The model, or the table of earlier runs, to which `auto` is fitted. With a table the runs of earlier sessions
        (a day, a commit) show how much they vary.
    *sources : path or DataFrame
        The new runs, with the columns of the model's table.
    alarm : float
        The rate of false alarms, above 0 and below 1/2.
    update : bool
        Fit again with what is now known. A model's file is written anew, where the table it was fitted to is there.
    seed : int
        Of the fits.

    Raises
    ------
    GenperfError
        Where the new runs lack a column, or the table of a model to update is not there.

    Examples
    --------
    >>> import pandas as pd
    >>> times = [1.0, 1.1, 1.2, 1.3, 1.01, 1.09, 1.21, 1.3]
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8] * 2, "step_s": times})
    >>> verify(runs, pd.DataFrame({"gpus": [4, 8], "step_s": [1.5, 1.62]})).alarm.raised
    True
    """
    if not 0.0 < alarm < 0.5:
        raise GenperfError(f"the alarm is a rate of false alarms, and {alarm:g} is none", hint="--alarm 0.01")
    if not sources:
        raise GenperfError("no new runs are named", hint="genperf verify MODEL new.csv")
    opened = _model(model)
    earlier = opened if isinstance(opened, Table) else None
    fitted = fit(opened, seed=seed) if isinstance(opened, Table) else opened
    schema = fitted.first.schema
    new, target = _read_as(_opened(sources), schema), schema.target
    inputs = _configurations(new)
    predicted, mean = (fitted.predict_columns(inputs, NOMINAL, kind) for kind in ("prediction", "confidence"))
    centre, lower, upper = (np.asarray(predicted[name], float) for name in (target.name, "lower", "upper"))
    ends, deviations = (upper, np.asarray(mean["upper"], float)), float(norm.ppf(0.5 + 0.5 * NOMINAL))
    spread, shared = (np.log(end / centre) / deviations for end in ends)
    history, configuration = _history(earlier, schema, new)
    raised = alarm_of(history, configuration, np.log(new.measured), (np.log(centre), spread, shared), alarm)
    rows = zip(_records(inputs), predicted["verdict"], new.measured, centre, lower, upper, strict=True)
    checked = tuple(Checked(at, str(verdict), *map(float, numbers)) for at, verdict, *numbers in rows)
    answer = Verification(fitted.first.model, target.name, target.unit, checked, raised)
    return replace(answer, moved=_moved(fitted, earlier, new, model, seed)) if update else answer


def session_column(columns: Iterable[str]) -> str | None:
    """Return the column that names what runs of one occasion have in common; None where none does.

    Examples
    --------
    >>> session_column(["gpus", "Date", "step_s"]), session_column(["gpus"])
    ('Date', None)
    """
    return next((column for column in columns if plain_name(column) in words_of("columns.session")), None)


def _model(
    model: FitResult | GroupedResult | Table | str | Path | pd.DataFrame,
) -> FitResult | GroupedResult | Table:
    """Return the model, or the table of earlier runs, in which a column that names sessions is no factor."""
    if isinstance(model, FitResult | GroupedResult | Table) or (isinstance(model, str | Path) and is_model(model)):
        return model_or_table(model)
    source = _opened((model,))
    return recognised(source, {"repeat": session_column(source.cells), "skip_bad_rows": True}).table()


def _opened(sources: tuple[str | Path | pd.DataFrame, ...]) -> Source:
    """Open files of one table, or a DataFrame."""
    files = [str(source) for source in sources if isinstance(source, str | Path)]
    if len(files) < len(sources) > 1:
        raise TableError("several DataFrames are new runs", hint="verify(model, pandas.concat(frames))")
    return open_files(files) if files else open_source(sources[0])


def _read_as(source: Source, schema: Schema) -> Table:
    """Read new runs with the roles that their columns have in a model."""
    reading = dict(schema.reading)
    roles: dict[str, Any] = {**roles_of(schema), "work": schema.target.work or None}
    roles |= {name: reading[name] for name in ("unit", "where") if reading.get(name)}
    roles["skip_bad_rows"] = "skip-bad-rows" in reading
    lets = {name: text for name, text in schema.derived.items() if name not in source.columns}
    try:
        return recognised(source, {**roles, "let": lets or None}, schema.mapping).table()
    except TableError as error:
        hint = f"{error.hint}; the model's columns: {', '.join(factor.name for factor in schema.factors)}"
        raise TableError(f"not read as the model's table: {error.message}", hint=hint, where=error.where) from None


def _configurations(table: Table) -> pd.DataFrame:
    """Return the configuration of each row."""
    return table.frame[[*table.group, *(factor.name for factor in table.factors)]]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as cells by name."""
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]


def _history(earlier: Table | None, schema: Schema, new: Table) -> tuple[History | None, Index]:
    """Return the earlier runs, and the configuration of each new run among theirs; −1 where it was never measured."""
    numbers: dict[tuple[Any, ...], int] = {}
    if earlier is None:
        medians = () if new.group else schema.medians
        numbers = {tuple(map(_key, median.values)): place for place, median in enumerate(medians)}
        means, runs = np.log([m.value for m in medians]), np.array([float(m.repeats) for m in medians])
        sd, rows = schema.noise, tuple[Any, ...]()
    else:
        keys = _configurations(earlier)[_configurations(new).columns].itertuples(index=False)
        place = np.array([numbers.setdefault(tuple(map(_key, row)), len(numbers)) for row in keys])
        runs, logarithms = np.bincount(place).astype(float), np.log(earlier.measured)
        means = np.bincount(place, weights=logarithms) / runs
        residuals = logarithms - means[place]
        sd = float(np.sqrt(np.sum(residuals**2) / max(len(place) - len(runs), 1)))
        session, rows = session_column(map(str, earlier.frame.columns)), tuple[Any, ...]()
        if session is not None:
            # A configuration of one run shows nothing of how runs vary.
            repeated = runs[place] > 1.0
            sessions = pd.factorize(earlier.frame[session].astype(str))[0][repeated]
            rows = residuals[repeated], np.unique(sessions, return_inverse=True)[1]
    configuration = [numbers.get(tuple(map(_key, row)), -1) for row in _configurations(new).itertuples(index=False)]
    freedom = float(np.sum(runs - 1.0))
    if sd is None or freedom < FEWEST_FREEDOM:
        return None, np.full(len(configuration), -1)
    return History(means, runs, sd, freedom, *rows), np.array(configuration)


def _key(cell: Any) -> Any:
    """Return a cell as a key: a number with nine digits."""
    return float(f"{cell:.9g}") if isinstance(cell, float | int) else str(cell)


def _moved(
    fitted: FitResult | GroupedResult, earlier: Table | None, new: Table, model: Any, seed: int
) -> tuple[tuple[dict[str, Any], float, float], ...]:
    """Fit again with the new runs, write the model's file anew, and return what is predicted before and after."""
    table, schema = earlier, fitted.first.schema
    if table is None:
        missing = f"the table of the model ({schema.source}) is not there as it was fitted"
        hint = "verify TABLE new.csv --update, or fit the table of all runs"
        try:
            table = _read_as(open_files([schema.source]), schema)
        except (TableError, OSError):
            raise GenperfError(missing, hint=hint) from None
        if schema.sha256 and not new.group and table.sha256 != schema.sha256:
            raise GenperfError(missing, hint=hint)
    columns = [c for c in table.frame.columns if c in new.frame.columns]
    again = fit(table._with(pd.concat([table.frame[columns], new.frame[columns]], ignore_index=True)), seed=seed)
    if earlier is None and isinstance(model, str | Path):
        save_model(again, model)
    inputs, target = _configurations(new).drop_duplicates(), schema.target.name
    before, after = (np.asarray(one.predict_columns(inputs)[target], float).tolist() for one in (fitted, again))
    return tuple(zip(_records(inputs), before, after, strict=True))
