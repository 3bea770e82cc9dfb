"""`verify`: new runs beside the predictions of a model, or of a history that is fitted."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from scipy.stats import norm

from genperf.arrays import Index
from genperf.attribution.answers import records
from genperf.errors import GenperfError, OnlyFailuresError, TableError, attempted
from genperf.fitting import fit, model_or_table
from genperf.metrics import NOMINAL, coverage_probability, coverage_text
from genperf.panel import Table
from genperf.panel.evidence import ending_column
from genperf.panel.read import recognised
from genperf.panel.table import number_rows
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.schema import Schema
from genperf.result import FitResult, GroupedResult, is_model, read_as, save_model
from genperf.table.opened import open_files, open_source
from genperf.verification.alarm import FEWEST_FREEDOM, Alarm, History, alarm_of
from genperf.vocabulary import any_of
from genperf.vocabulary.names import plain_name
from genperf.words.numbers import join_values, rate_unit, samples_called, three_digits, with_unit


class Checked(Struct, frozen=True):
    """One new run beside its prediction, whose verdict is ok, caution or extrapolating-blind."""

    at: dict[str, Any]
    verdict: str
    measured: float
    predicted: float
    lower: float
    upper: float
    place: str  #: inside the interval, faster or slower.


class Verification(Struct, frozen=True):
    """New runs beside their predictions, how many intervals held, and the alarm: the fields of the JSON."""

    model: str
    quantity: str
    unit: str
    runs: tuple[Checked, ...]
    alarm: Alarm
    moved: tuple[dict[str, Any], ...]  #: `at`, `before`, `after`: the predictions since the model was fitted again.
    not_compared: tuple[str, ...]  #: New runs that failed, and rows that cannot be used.
    coverage: dict[str, Any]  #: How many of the `runs` are `inside`, and the probability of that where intervals hold.

    @property
    def findings(self) -> list[tuple[str, str, bool]]:
        """The name, the line and whether it is slower of each run, and of all at the end: the cases of a report."""
        alarm, findings, inside = self.alarm, [], 0
        for number, run in enumerate(self.runs, 1):
            inside, slow = inside + (run.place == "inside"), number - 1 in alarm.slower
            value, predicted, lower, upper = map(three_digits, (run.measured, run.predicted, run.lower, run.upper))
            name, also = f"{number}. {join_values(run.at)}", ", slow" if slow and run.place == "inside" else ""
            interval = f"predicted {predicted} ({lower} – {upper}): {run.place}{also} · {inside} of {number}"
            findings.append((name, f"{name}: {with_unit(value, self.unit)}, {interval}", slow))
        tests = ", ".join(f"{name} p = {value:.2g}" for name, value in alarm.tests.items())
        judged = f"p = {alarm.probability:.2g} ({tests}); the alarm is at {100 * alarm.level:g} %"
        if alarm.raised and alarm.slower:
            alone = "themselves: runs" if len(alarm.slower) > 1 else "itself: run"
            judged += f"; by {alone} {', '.join(str(row + 1) for row in alarm.slower)}"
        verdict = "slower than predicted" if alarm.raised else "not slower"
        return [*findings, ("all runs", f"{verdict}: {judged}", alarm.raised)]

    @property
    def lines(self) -> list[str]:
        """The answer in lines: a row a run with the running coverage, the coverage, the alarm, and what moved."""
        *rows, judged = (line for _, line, _ in self.findings)
        rows += [f"not compared: {text}" for text in self.not_compared]
        rows += [coverage_text(self.coverage["inside"], len(self.runs)), judged]
        for at, before, after in (moved.values() for moved in self.moved):
            there = f"{with_unit(three_digits(after), self.unit)} ({100 * (after / before - 1):+.1f} %)"
            rows.append(f"moved: {join_values(at)}: {three_digits(before)} becomes {there}")
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return dict(msgspec.to_builtins(self, enc_hook=lambda number: number.item()))

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

    Examples
    --------
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8] * 2, "step_s": [1.0, 1.1, 1.2, 1.3, 1.01, 1.09, 1.21, 1.3]})
    >>> verify(runs, pd.DataFrame({"gpus": [4, 8], "step_s": [1.5, 1.62]})).alarm.raised
    True
    """
    if not 0.0 < alarm < 0.5:
        raise GenperfError(f"the alarm is a rate of false alarms, and {alarm:g} is none", hint="--alarm 0.01")
    if not sources:
        raise GenperfError("no new runs are named", hint="genperf verify MODEL new.csv")
    if len(sources) > 1 and not all(isinstance(source, str | Path) for source in sources):
        raise TableError("several DataFrames are new runs", hint="verify(model, pandas.concat(frames))")
    if isinstance(model, pd.DataFrame) or (isinstance(model, str | Path) and not is_model(model)):
        # A column that names sessions is no factor.
        cells = open_source(model)
        model = recognised(cells, {"repeat": session_column(cells.cells), "skip_bad_rows": True}).table()
    opened = model_or_table(model)
    earlier, fitted = (opened, fit(opened, seed=seed)) if isinstance(opened, Table) else (None, opened)
    schema, target = fitted.first.schema, fitted.first.schema.target
    try:
        source = open_source(sources[0]) if len(sources) == 1 else open_files([str(source) for source in sources])
        new = read_as(source, schema, **ending_column(source.cells))
    except OnlyFailuresError as error:
        what = f"{error.message.partition(':')[0]}: none can be compared with its prediction"
        raise TableError(what, hint="see why they failed, then verify runs that succeeded", where=error.where) from None
    inputs = new.frame[[*new.group, *(factor.name for factor in new.factors)]]
    predicted, mean = (fitted.predict_columns(inputs, NOMINAL, kind) for kind in ("prediction", "confidence"))
    centre, lower, upper = (np.asarray(predicted[name], float) for name in (target.name, "lower", "upper"))
    deviations = float(norm.ppf(0.5 + 0.5 * NOMINAL))
    spread, shared = (np.log(np.asarray(band["upper"], float) / centre) / deviations for band in (predicted, mean))
    history, configuration = _history(earlier, schema, inputs)
    raised = alarm_of(history, configuration, np.log(new.measured), (np.log(centre), spread, shared), alarm)
    place = np.select([new.measured < lower, new.measured > upper], ["faster", "slower"], "inside").tolist()
    quantity, unit, answered, values = target.name, target.unit, target.name, [new.measured, centre, lower, upper]
    if target.throughput:
        # Answers are in what was measured.
        quantity, unit, answered = target.throughput, rate_unit(samples_called(target.throughput)), THROUGHPUT[0]
        values = [np.asarray(cells, float) for cells in (new.frame[quantity], *(predicted[n] for n in THROUGHPUT))]
    columns = (records(inputs), map(str, predicted["verdict"]), *(column.tolist() for column in values), place)
    moved: list[dict[str, Any]] = []
    if update:
        again, places = _fitted_again(fitted, earlier, new, seed), inputs.drop_duplicates()
        if earlier is None and isinstance(model, str | Path):
            save_model(again, model)
        ends = (np.asarray(m.predict_columns(places)[answered], float).tolist() for m in (fitted, again))
        rows = zip(records(places), *ends, strict=True)
        moved = [{"at": at, "before": before, "after": after} for at, before, after in rows]
    missing = [f"{join_values(at)}: the run failed" for at in records(new.failures)]
    missing += [note.text for note in new.notes if note.kind in ("rows_rejected", "runs_stopped")]
    runs, inside, count = tuple(map(Checked, *columns)), place.count("inside"), len(place)
    held = {"inside": inside, "runs": count, "nominal": NOMINAL, "probability": coverage_probability(inside, count)}
    return Verification(fitted.first.model, quantity, unit, runs, raised, tuple(moved), tuple(missing), held)


def session_column(columns: Iterable[str]) -> str | None:
    """Return the column that names what runs of one occasion have in common; None where none does."""
    session = re.compile(any_of("columns.session"))
    return next((column for column in columns if session.fullmatch(plain_name(column))), None)


def _history(earlier: Table | None, schema: Schema, new: pd.DataFrame) -> tuple[History, Index]:
    """Return the earlier runs, and the configuration of each new run among theirs; −1 where it was never measured."""
    rows, names = tuple[Any, ...](), [*new.columns]
    if earlier is None:
        medians, sd = () if schema.group else schema.medians, schema.noise or 0.0
        before = pd.DataFrame([median.values for median in medians], columns=[f.name for f in schema.factors])
        means, runs = np.log([m.value for m in medians]), np.array([float(m.repeats) for m in medians])
    else:
        before, place, runs = earlier.frame, earlier.configuration, earlier.repeats.astype(float)
        means = np.bincount(place, weights=np.log(earlier.measured)) / runs
        residuals = np.log(earlier.measured) - means[place]
        sd = float(np.sqrt(np.sum(residuals**2) / max(len(place) - len(runs), 1)))
        if (session := session_column(map(str, before.columns))) is not None:
            # A configuration of one run shows nothing of how runs vary.
            repeated = runs[place] > 1.0
            rows = (
                residuals[repeated],
                pd.factorize(pd.factorize(before[session].astype(str))[0][repeated], sort=True)[0],
            )
    if (freedom := float(np.sum(runs - 1.0))) < FEWEST_FREEDOM:
        return History(), np.full(len(new), -1)
    number = number_rows(pd.concat([before[names], new]), names)[len(before) :]
    return History(means, runs, sd, freedom, *rows), np.where(number < len(runs), number, -1)


def _fitted_again(
    fitted: FitResult | GroupedResult, earlier: Table | None, new: Table, seed: int
) -> FitResult | GroupedResult:
    """Return a model of the same kind and quantities that is fitted to earlier runs and new ones."""
    first, schema = fitted.first, fitted.first.schema
    table = earlier if earlier is not None else attempted(lambda: read_as(open_files([schema.source]), schema))
    # Of groups a model has no hash of all rows.
    if not isinstance(table, Table) or (earlier is None and not new.group and schema.sha256 not in ("", table.sha256)):
        what = f"the table of the model ({schema.source}) is not there as it was fitted"
        raise GenperfError(what, hint="verify TABLE new.csv --update, or fit the table of all runs")
    options = {name: option for name, option in first.options.items() if name in ("loss", "penalty", "solver")}
    also = {name: result.model for name, result in first.further.items()}
    return fit(_with_runs(table, new), first.model, seed=seed, also_models=also, **options)


def _with_runs(table: Table, new: Table) -> Table:
    """Return a table with further runs, and with those of its further quantities."""
    rows = new.frame[[column for column in new.frame.columns if column in table.frame.columns]]
    if table.weight is not None and table.weight not in rows:
        # A run without a weight counts as earlier ones do in the mean.
        rows = rows.assign(**{table.weight: table.frame[table.weight].mean()})
    further = {n: _with_runs(t, new.further[n]) if n in new.further else t for n, t in table.further.items()}
    return replace(table._with(pd.concat([table.frame, rows], ignore_index=True)), further=further)
