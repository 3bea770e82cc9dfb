"""`verify`: new runs beside the predictions of a model, or of a history that is fitted."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, norm

from genperf.arrays import Index
from genperf.errors import GenperfError, TableError
from genperf.fitting import fit, model_or_table
from genperf.panel import Table
from genperf.panel.tables import recognised
from genperf.prediction.schema import Schema, roles_of
from genperf.result import FitResult, GroupedResult, is_model, save_model
from genperf.table.cells import Source, with_columns
from genperf.table.opened import open_files, open_source
from genperf.verification.alarm import FEWEST_FREEDOM, Alarm, History, alarm_of
from genperf.vocabulary import words_of
from genperf.vocabulary.names import plain_name
from genperf.words.numbers import join_values, three_digits, with_unit

#: Nominal coverage of the intervals that are checked.
COVERAGE = 0.9
#: A probability below which the coverage is no longer that of the intervals.
INCOMPATIBLE = 0.05


@dataclass(frozen=True)
class Checked:
    """One new run beside its prediction."""

    at: dict[str, Any]
    #: Of the prediction: ok, caution, extrapolating-blind.
    verdict: str
    measured: float
    predicted: float
    lower: float
    upper: float

    @property
    def place(self) -> str:
        """Where it lies: inside the interval, faster or slower."""
        return "faster" if self.measured < self.lower else "slower" if self.measured > self.upper else "inside"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return {**vars(self), "place": self.place}


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
    def compatible(self) -> float:
        """The probability of a coverage as far from nominal, where the intervals hold: an exact binomial test."""
        return float(binomtest(self.inside, len(self.runs), COVERAGE).pvalue)

    @property
    def coverage(self) -> str:
        """The coverage in words."""
        fits = "is compatible" if self.compatible >= INCOMPATIBLE else "is not compatible"
        text = f"{self.inside} of {len(self.runs)} inside {100 * COVERAGE:.0f} %"
        return f"{text}, which {fits} with {100 * COVERAGE:.0f} % (p = {self.compatible:.2g}, exact binomial)"

    @property
    def judged(self) -> str:
        """The alarm in words."""
        alarm = self.alarm
        tests = ", ".join(f"{name} p = {value:.2g}" for name, value in alarm.tests.items())
        limit = f"the alarm is at {100 * alarm.level:g} %"
        if not alarm.raised:
            return f"not slower: p = {alarm.probability:.2g} ({tests}); {limit}"
        some = f"; by themselves: runs {', '.join(str(row + 1) for row in alarm.slower)}" if alarm.slower else ""
        return f"slower than predicted: p = {alarm.probability:.2g} ({tests}); {limit}{some}"

    @property
    def lines(self) -> list[str]:
        """The answer in lines: a row a run, the coverage, the alarm, and what moved."""
        rows = []
        held = 0
        for number, run in enumerate(self.runs, 1):
            held += run.place == "inside"
            value, predicted, lower, upper = map(three_digits, (run.measured, run.predicted, run.lower, run.upper))
            unit = with_unit(value, self.unit)
            place = f"{run.place}, slow" if number - 1 in self.alarm.slower and run.place == "inside" else run.place
            rows.append(
                f"{number}. {join_values(run.at)}: {unit}, predicted {predicted} ({lower} – {upper}): {place}"
                f" · {held} of {number}"
            )
        moved = [
            f"moved: {join_values(at)}: {three_digits(before)} becomes {with_unit(three_digits(after), self.unit)}"
            f" ({100 * (after / before - 1):+.1f} %)"
            for at, before, after in self.moved
        ]
        return [*rows, self.coverage, self.judged, *moved]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        alarm = self.alarm
        return {
            "model": self.model,
            "quantity": self.quantity,
            "unit": self.unit,
            "runs": [run.to_dict() for run in self.runs],
            "coverage": {
                "inside": self.inside,
                "runs": len(self.runs),
                "nominal": COVERAGE,
                "probability": self.compatible,
            },
            "alarm": {**vars(alarm), "slower": list(alarm.slower), "raised": alarm.raised},
            "moved": [{"at": at, "before": before, "after": after} for at, before, after in self.moved],
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
    new = _read_as(_opened(sources), schema)
    inputs = new.frame[[*new.group, *(factor.name for factor in new.factors)]]
    predicted = fitted.predict_columns(inputs, COVERAGE)
    mean = fitted.predict_columns(inputs, COVERAGE, "confidence")
    centre, lower, upper = (np.asarray(predicted[name], float) for name in (schema.target.name, "lower", "upper"))
    half = float(norm.ppf(0.5 + 0.5 * COVERAGE))
    spreads = [np.log(np.asarray(band["upper"], float) / centre) / half for band in (predicted, mean)]
    history, configuration = _history(earlier, fitted, new)
    logarithms = np.log(new.measured)
    result = alarm_of(history, configuration, logarithms, (np.log(centre), spreads[0], spreads[1]), alarm)
    rows = zip(_cells(inputs), predicted["verdict"], new.measured, centre, lower, upper, strict=True)
    checked = tuple(Checked(at, str(verdict), *map(float, numbers)) for at, verdict, *numbers in rows)
    target = schema.target
    answer = Verification(fitted.first.model, target.name, target.unit, checked, result)
    return replace(answer, moved=_moved(fitted, earlier, new, model, seed)) if update else answer


def _model(
    model: FitResult | GroupedResult | Table | str | Path | pd.DataFrame,
) -> FitResult | GroupedResult | Table:
    """Return the model, or the table of earlier runs, in which a column that names sessions is no factor."""
    if isinstance(model, FitResult | GroupedResult | Table) or (isinstance(model, str | Path) and is_model(model)):
        return model_or_table(model)
    source = _opened((model,))
    session = session_column(source.cells)
    if session is None:
        return recognised(source, {"skip_bad_rows": True}).table()
    # A session's name may hold a number, as `build-12`, which is no factor either.
    others = {name: column for name, column in source.cells.items() if name != session}
    table = recognised(replace(source, cells=others), {"skip_bad_rows": True}).table()
    if len(table) < len(source):
        return recognised(source, {"repeat": session, "skip_bad_rows": True}).table()
    return replace(table, frame=with_columns(table.frame, {session: source.cells[session].astype(str)}))


def session_column(columns: Iterable[str]) -> str | None:
    """Return the column that names what runs of one occasion have in common; None where none does.

    Examples
    --------
    >>> session_column(["gpus", "Date", "step_s"]), session_column(["gpus"])
    ('Date', None)
    """
    words = words_of("columns.session")
    return next((column for column in columns if plain_name(str(column)) in words), None)


def _opened(sources: tuple[str | Path | pd.DataFrame, ...]) -> Source:
    """Open the new runs: files of one table, or a DataFrame."""
    frames = [source for source in sources if not isinstance(source, str | Path)]
    if frames and len(sources) > 1:
        raise TableError("several DataFrames are new runs", hint="verify(model, pandas.concat(frames))")
    return open_source(frames[0]) if frames else open_files([str(source) for source in sources])


def _read_as(source: Source, schema: Schema) -> Table:
    """Read new runs with the roles that their columns have in a model."""
    roles: dict[str, Any] = {**roles_of(schema), "work": schema.target.work or None}
    reading = dict(schema.reading)
    roles |= {name: reading[name] for name in ("unit", "where") if reading.get(name)}
    if "skip-bad-rows" in reading:
        roles["skip_bad_rows"] = True
    lets = {name: text for name, text in schema.derived.items() if name not in source.columns}
    try:
        return recognised(source, {**roles, "let": lets or None}, schema.mapping).table()
    except TableError as error:
        hint = f"{error.hint}; the model's columns: {', '.join(factor.name for factor in schema.factors)}"
        raise TableError(f"not read as the model's table: {error.message}", hint=hint, where=error.where) from None


def _history(earlier: Table | None, fitted: FitResult | GroupedResult, new: Table) -> tuple[History | None, Index]:
    """Return the earlier runs, and the configuration of each new run among theirs; −1 where it was never measured."""
    names = [*new.group, *(factor.name for factor in new.factors)]
    keys = _keys(new.frame, names)
    if earlier is None:
        schema = fitted.first.schema
        medians = schema.medians if not new.group else ()
        places = {tuple(map(_key, median.values)): place for place, median in enumerate(medians)}
        configuration = np.array([places.get(key, -1) for key in keys])
        means = np.log([median.value for median in medians])
        runs = np.array([float(median.repeats) for median in medians])
        freedom = float(np.sum(runs - 1.0))
        if schema.noise is None or freedom < FEWEST_FREEDOM:
            return None, np.full(len(keys), -1)
        return History(means, runs, schema.noise, freedom), configuration
    numbers: dict[tuple[Any, ...], int] = {}
    place = np.array([numbers.setdefault(key, len(numbers)) for key in _keys(earlier.frame, names)])
    runs = np.bincount(place).astype(float)
    logarithms = np.log(earlier.measured)
    means = np.bincount(place, weights=logarithms) / runs
    residuals, freedom = logarithms - means[place], float(np.sum(runs - 1.0))
    if freedom < FEWEST_FREEDOM:
        return None, np.full(len(keys), -1)
    sd = float(np.sqrt(np.sum(residuals**2) / freedom))
    sessions = _sessions(earlier.frame, names)
    # A configuration of one run shows nothing of how runs vary.
    repeated = runs[place] > 1.0
    configuration = np.array([numbers.get(key, -1) for key in keys])
    if sessions is not None:
        _, ordered = np.unique(sessions[repeated], return_inverse=True)
        return History(means, runs, sd, freedom, residuals[repeated], ordered), configuration
    return History(means, runs, sd, freedom), configuration


def _sessions(frame: pd.DataFrame, factors: list[str]) -> Index | None:
    """Return the session of each row, numbered by first appearance; None where no column names any."""
    column = session_column(c for c in map(str, frame.columns) if c not in factors)
    return None if column is None else np.asarray(pd.factorize(frame[column].astype(str))[0])


def _keys(frame: pd.DataFrame, names: list[str]) -> list[tuple[Any, ...]]:
    """Return the configuration of each row."""
    return [tuple(map(_key, row)) for row in frame[names].itertuples(index=False)]


def _key(cell: Any) -> Any:
    """Return a cell as a key: a number with nine digits."""
    return float(f"{cell:.9g}") if isinstance(cell, float | int) else str(cell)


def _moved(
    fitted: FitResult | GroupedResult, earlier: Table | None, new: Table, model: Any, seed: int
) -> tuple[tuple[dict[str, Any], float, float], ...]:
    """Fit again with the new runs, write the model's file anew, and return what is predicted before and after."""
    table = earlier
    if table is None:
        schema = fitted.first.schema
        try:
            table = _read_as(open_files([schema.source]), schema)
        except (TableError, OSError):
            table = None
        if table is None or (schema.sha256 and not new.group and table.sha256 != schema.sha256):
            what = f"the table of the model ({schema.source}) is not there as it was fitted"
            raise GenperfError(what, hint="verify TABLE new.csv --update, or fit the table of all runs")
    columns = [c for c in table.frame.columns if c in new.frame.columns]
    joined = pd.concat([table.frame[columns], new.frame[columns]], ignore_index=True)
    again = fit(table._with(joined), seed=seed)
    if earlier is None and isinstance(model, str | Path):
        save_model(again, model)
    inputs = new.frame[[*new.group, *(factor.name for factor in new.factors)]].drop_duplicates()
    target = fitted.first.schema.target.name
    before, after = (np.asarray(one.predict_columns(inputs)[target], float) for one in (fitted, again))
    return tuple(zip(_cells(inputs), before.tolist(), after.tolist(), strict=True))


def _cells(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the configuration of each row."""
    return [{str(name): cell for name, cell in row.items()} for row in frame.to_dict("records")]
