"""`verify`: new runs beside predictions, how many intervals held, and an alarm at a rate of false alarms that is kept.

Runs are ln T less the mean of their configuration. Two tests, combined as Cauchy variables (Liu and Xie 2020), hold
them against the level that earlier sessions (a day, a commit) predict, or against single runs where nothing names
sessions: of the *mean* of the new runs, and of *each* (Simes 1986), with those that were never measured against the
model. The level is a random walk with a deviation of each session (the local level model of Harvey 1989),
over sessions s with n_s runs:

    m_s = level_s + δ_s + ε_s,   level_s − level_{s−1} ~ N(0, q·σ²),   δ_s ~ N(0, d·σ²),   ε_s ~ N(0, σ²/n_s)

Student's t of the next session is averaged over the ratios d and q by their posterior probability. Slow runs are more
frequent than normal noise has them: a probability of t becomes that of a gamma distribution of the skewness γ of the
earlier runs, of shape k = 4/γ², as many standard deviations out; of a mean of n runs, whose share of its variance is w,
the shape is k·n/w³.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from scipy.special import gammaincc, ndtri, stdtr

from genperf.arrays import Array, Index
from genperf.attribution.answers import PrintedAnswer
from genperf.errors import GenperfError, OnlyFailuresError, TableError, attempted, listed
from genperf.fitting import fit, model_or_table
from genperf.metrics import NOMINAL, coverage_probability, coverage_text
from genperf.panel import Table
from genperf.panel.evidence import ending_column
from genperf.panel.read import recognised
from genperf.panel.table import number_rows
from genperf.prediction.predict import THROUGHPUT
from genperf.prediction.schema import Schema
from genperf.result import FitResult, GroupedResult, is_model, read_as, save_model
from genperf.table.cells import records
from genperf.table.opened import open_files, open_source
from genperf.table.shape import melted
from genperf.vocabulary import any_of
from genperf.vocabulary.names import plain_name
from genperf.words.numbers import digits_text, join_values, rate_unit, texts_in_unit, with_unit

Model: TypeAlias = FitResult | GroupedResult
#: Ratios d and q to the variance of a run, and the prior probability that one is zero; the others share the rest. With
#: 0.8 false alarms of sessions that drift come near 1.5 %, with 0.5 less is found (`experiments/advice/verify.py`).
DEVIATIONS, WALKS, NONE = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0), (0.0, 0.03, 0.1, 0.3, 1.0), 0.7
#: Sessions and degrees of freedom below which there is no reference, and the last sessions that are used.
FEWEST_SESSIONS, FEWEST_FREEDOM, MOST_SESSIONS = 3, 3, 200
#: Deviation of ln T below which times are taken for rounded; probabilities between which a normal deviation is known.
LEAST_NOISE, PROBABILITIES = 1e-4, (1e-300, 1.0 - 1e-15)
#: The weight of *each* beside the *mean*, a run, and at most: a guess of how often one run alone is slower.
EACH, MOST_EACH = 1.0 / 16.0, 0.5
#: Skewness of a gamma distribution that is normal, and standard errors, √(6/n), from which on that of runs is another.
NO_SKEWNESS, SKEWED = 0.02, 2.0
#: A test that finds runs faster does not outweigh one that finds them slower.
MOST_PROBABILITY = 0.99


class History(Struct, frozen=True, eq=False, dict=True):
    """Earlier runs. Without arguments nothing is known of how runs vary."""

    means: Array = np.empty(0)  #: Shape (configurations,): the mean of ln T.
    runs: Array = np.empty(0)  #: Shape (configurations,): the number of runs.
    sd: float = 0.0  #: Of one run.
    residuals: Array = np.empty(0)  #: Shape (runs,): ln T less the mean, of repeated configurations.
    sessions: Index = np.empty(0, dtype=np.int64)  #: Shape (runs,): the session of each, from 0 in their order.

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the deviation of a run; infinite where no run is known."""
        return float(np.sum(self.runs - 1.0)) if self.runs.size else np.inf

    def slower(self, values: Array, runs: int, configurations: Array) -> Array:
        """Return the probability that means of so many `runs` are as slow as `values`, or slower, by chance."""
        centre, variance, spread, weight = self.next_level
        total = spread + 1.0 / runs + np.maximum(configurations - 1.0 / self.runs.sum(), 0.0)
        if_normal = stdtr(self.freedom, (centre - values) / np.sqrt(variance * total))
        deviations = -ndtri(np.clip(if_normal, *PROBABILITIES))
        # A mean is the nearer to a normal one the more runs it has, and the less of its variance is theirs.
        shape = 4.0 / self.skewness**2 * runs * (runs * total) ** 3
        return np.asarray(gammaincc(shape, np.maximum(shape + deviations * np.sqrt(shape), 0.0)).T @ weight)

    @cached_property
    def skewness(self) -> float:
        """The skewness of the noise, where the earlier runs show one."""
        count = max(len(self.residuals), 1)
        sd = max(np.sqrt(np.sum(self.residuals**2) / count), LEAST_NOISE)
        skewness = float(np.sum(self.residuals**3) / count / sd**3)
        return skewness if skewness > SKEWED * np.sqrt(6.0 / count) else NO_SKEWNESS

    @cached_property
    def next_level(self) -> tuple[Array, Array, Array, Array]:
        """The next level by pairs of ratios, (ratios, 1): centre, variance of a run, its own over that; and weights."""
        sizes = np.bincount(self.sessions)[-MOST_SESSIONS:]
        if len(sizes) < FEWEST_SESSIONS:
            unit = np.ones((1, 1))
            return 0.0 * unit, max(self.sd, LEAST_NOISE) ** 2 * unit, unit / self.runs.sum(), unit[0]
        means = np.bincount(self.sessions, weights=self.residuals)[-MOST_SESSIONS:] / sizes
        recent = self.sessions > self.sessions.max() - MOST_SESSIONS
        squares, freedom = np.sum(self.residuals[recent] ** 2) - sizes @ means**2, self.freedom - np.sum(~recent)
        d, q = np.array([*product(DEVIATIONS, WALKS)]).T[:, :, None]
        priors = (np.where(x == 0.0, NONE, (1.0 - NONE) / (len(of) - 1)) for x, of in ((d, DEVIATIONS), (q, WALKS)))
        evidence = np.log(np.prod([*priors], axis=0))
        # The Kalman filter of the walk, which the first session begins: its mean, and its variance over that of a run.
        centre, spread = means[:1], d + q + 1.0 / sizes[0]
        for mean, size in zip(means[1:], sizes[1:], strict=True):
            total = spread + d + 1.0 / size
            squares, evidence = squares + (mean - centre) ** 2 / total, evidence - 0.5 * np.log(total)
            gain = spread / total
            centre, spread = centre + gain * (mean - centre), (1.0 - gain) * spread + q
        freedom = max(freedom, 1.0)
        variance = np.maximum(squares / freedom, LEAST_NOISE**2)
        evidence = evidence - 0.5 * freedom * np.log(variance)
        weight = np.exp(evidence - evidence.max()).ravel()
        return centre, variance, spread + d, weight / weight.sum()


class Alarm(PrintedAnswer, frozen=True, eq=False):
    """Whether runs are slower; the fields of the JSON."""

    level: float  #: The rate of false alarms that is kept.
    probability: float  #: Of such runs, or slower ones, if nothing has changed.
    tests: dict[str, float]  #: The probability of each test by its name.
    slower: tuple[int, ...]  #: The runs that are slower by themselves: Benjamini and Hochberg at the level.
    raised: bool

    @property
    def content(self) -> tuple[str, ...]:
        """The verdict in a sentence."""
        judged = f"p = {self.probability:.2g}; the alarm is at p = {self.level:g}"
        alone = "themselves: runs" if len(self.slower) > 1 else "itself: run"
        slower = f"; by {alone} {', '.join(str(row + 1) for row in self.slower)}" if self.slower else ""
        return (f"slower than predicted: {judged}{slower}" if self.raised else f"not shown to be slower: {judged}",)


def alarm_of(
    history: History, configuration: Index, logarithms: Array, predicted: tuple[Array, Array], level: float
) -> Alarm:
    """Return whether new runs of places in a history, or of −1, are slower, at a rate `level` of false alarms."""
    measured = configuration >= 0
    places = configuration[measured]
    single = np.asarray(stdtr(history.freedom, (predicted[0] - logarithms) / predicted[1]), float)
    residuals = logarithms[measured] - history.means[places]
    if count := len(places):
        single[measured] = history.slower(residuals, 1, 1.0 / history.runs[places])
    # The least of the scaled probabilities is that of Simes, those up to the last low one are slower by themselves.
    ordered = np.sort(single)
    scaled = ordered * (len(single) / np.arange(1, len(single) + 1))
    slower = np.flatnonzero(single <= ordered[scaled <= level].max(initial=0.0))
    tests = {"each": float(scaled.min())}
    probability, weight = tests["each"], min(EACH * len(single), MOST_EACH)
    if count > 1:
        shares = np.bincount(places, minlength=len(history.runs)) / count
        of_mean = np.array([np.sum(shares**2 / history.runs)])
        tests = {"mean": float(history.slower(residuals.mean(keepdims=True), count, of_mean)[0]), **tests}
        quantiles = 1.0 / np.tan(np.pi * np.minimum([*tests.values()], MOST_PROBABILITY))
        probability = float(np.arctan2(1.0, quantiles @ [1.0 - weight, weight]) / np.pi)
    return Alarm(level, probability, tests, tuple(slower.tolist()), probability <= level)


class Verification(PrintedAnswer, frozen=True, eq=False):
    """New runs beside their predictions, how many intervals held, and the alarm: the fields of the JSON."""

    model: str
    quantity: str
    unit: str
    #: `at`, `verdict`, `measured`, `predicted`, `lower`, `upper`, and `place`: inside, faster or slower.
    runs: pd.DataFrame
    alarm: Alarm
    moved: pd.DataFrame  #: `at`, `before`, `after`: the predictions since the model was fitted again.
    not_compared: tuple[str, ...]  #: New runs of a new group, those that failed, and rows that cannot be used.
    coverage: dict[str, Any]  #: How many of the `runs` are `inside`, and the probability of that where intervals hold.
    notes: tuple[str, ...] = ()  #: What new runs did not say, and is taken from earlier ones.

    @property
    def findings(self) -> list[tuple[str, str, bool]]:
        """The cases of a report, one a run and one of all at the end: its name, its line, and whether it is slower."""
        findings, inside = list[tuple[str, str, bool]](), 0
        for number, (at, _, *numbers, place) in enumerate(self.runs.itertuples(index=False), 1):
            inside, slow = inside + (place == "inside"), number - 1 in self.alarm.slower
            value, predicted, lower, upper, unit = texts_in_unit(*numbers, unit=self.unit)
            name, but = f"{number}. {join_values(at) or 'the run'}", ", but slower than runs vary by chance"
            line = f"{name}: {with_unit(value, unit)}, predicted {predicted} ({lower} – {upper}): {place}"
            line += but if slow and place == "inside" else ""
            findings.append((name, f"{line} · {inside} of {number}", slow))
        though = self.alarm.raised and inside >= NOMINAL * len(self.runs)
        why = "; an interval also holds what the model may err, the alarm only how runs vary" if though else ""
        return [*findings, ("all runs", f"{self.alarm}{why}", self.alarm.raised)]

    @property
    def content(self) -> list[str]:
        """A row a run with the running coverage, the coverage, the alarm, and what moved."""
        *rows, judged = (line for _, line, _ in self.findings)
        rows += [f"not compared: {text}" for text in self.not_compared]
        rows += [f"note: {text}" for text in self.notes]
        rows += [coverage_text(self.coverage["inside"], len(self.runs)), judged]
        for at, before, after in self.moved.itertuples(index=False):
            # A tenth of a per cent shows in five digits.
            old, new = (digits_text(value, 5) for value in (before, after))
            moved = f"{with_unit(new, self.unit)} ({100 * (after / before - 1):+z,.1f} %)"
            rows.append(f"moved: {join_values(at) or 'the run'}: {old} becomes {moved}")
        return rows


def verify(
    model: Model | Table | str | Path | pd.DataFrame,
    *sources: str | Path | pd.DataFrame,
    alarm: float = 0.01,
    update: bool = False,
    seed: int = 0,
) -> Verification:
    """Check predictions against what was then measured, and whether runs have become slower.

    Parameters
    ----------
    model : FitResult, Table, path or DataFrame
        The model, or the table of earlier runs, to which `auto` is fitted, and whose sessions show how much runs vary.
    *sources : path or DataFrame
        The new runs, with the columns of the model's table.
    alarm : float
        The rate of false alarms, above 0 and below 1/2.
    update : bool
        Fit again with what is now known. A model's file is written anew, where the table it was fitted to is there.

    Examples
    --------
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8] * 2, "step_s": [1.0, 1.1, 1.2, 1.3, 1.01, 1.09, 1.21, 1.3]})
    >>> answer = verify(runs, pd.DataFrame({"gpus": [4, 8], "step_s": [1.5, 1.62]}))
    >>> answer.alarm.raised, answer.runs["place"].tolist()
    (True, ['slower', 'slower'])
    """
    if not 0.0 < alarm < 0.5:
        raise GenperfError(f"the alarm is a rate of false alarms, and {alarm:g} is none", hint="--alarm 0.01")
    opened = _opened(model)
    earlier, fitted = (opened, fit(opened, seed=seed)) if isinstance(opened, Table) else (None, opened)
    schema, target = fitted.first.schema, fitted.first.schema.target
    new = _new_runs(sources, schema)
    # A benchmark that is new is no level of those that were measured: nothing shows how long it should take.
    groups = [*fitted.results, *fitted.failures]
    # As the source has them: a report numbers the runs.
    written = new.frame.sort_index()
    comparable = np.array([tuple(names) in groups for names in written[[*new.group]].to_numpy()])
    if not comparable.any():
        columns, of_model = ", ".join(new.group), listed([", ".join(names) for names in groups])
        hint = f"runs of {columns} as in {of_model}; or earlier runs, as a table, in the place of a model"
        hint = _hint_of_sessions(schema) or hint
        raise TableError("all runs are new: there is nothing to compare with", hint=hint, where=new.source)
    rows, names = written[comparable], [*new.group, *(factor.name for factor in new.factors)]
    configurations, named = rows[names], [name for name in names if schema.derived.get(name) != "1"]
    times = rows[new.target.column].to_numpy(float)
    predicted = fitted.predict_columns(configurations, NOMINAL)
    centre, upper = (np.log(np.asarray(predicted[name], float)) for name in (target.name, "upper"))
    spread = (upper - centre) / float(ndtri(0.5 + 0.5 * NOMINAL))
    history, configuration = _history(earlier, schema, configurations)
    raised = alarm_of(history, configuration, np.log(times), (centre, spread), alarm)
    # Answers are in what was measured.
    quantity, unit, ends = target.name, target.unit, (target.name, "lower", "upper")
    if target.throughput:
        quantity, unit, ends = target.throughput, rate_unit(target.samples), THROUGHPUT
    runs = pd.DataFrame({"at": records(configurations[named]), "verdict": predicted["verdict"]})
    runs["measured"] = rows[target.throughput or target.column].to_numpy(float)
    runs[["predicted", "lower", "upper"]] = np.transpose([predicted[end] for end in ends])
    outside = [times < predicted["lower"], times > predicted["upper"]]
    runs["place"] = np.select(outside, ("faster", "slower"), "inside")
    changes = pd.DataFrame()
    if update:
        refitted, places = _fitted_again(fitted, earlier, new, seed), configurations.drop_duplicates()
        if earlier is None and isinstance(model, str | Path):
            save_model(refitted, model)
        before, after = (model.predict_columns(places)[ends[0]] for model in (fitted, refitted))
        changes = pd.DataFrame({"at": records(places[named]), "before": before, "after": after})
    # Each by its settings with the reason, then rows that cannot be used.
    without = (("new, nothing to compare with", written[~comparable]), ("the run failed", new.failures))
    texts = [(why, at) for why, frame in without for at in records(frame.reindex(columns=named))]
    not_compared = [f"{join_values(at) or 'the run'}: {why}" for why, at in texts]
    not_compared += [note.text for note in new.notes if note.kind in ("rows_rejected", "runs_stopped")]
    taken = tuple(note.text for note in new.notes if note.kind == "taken")
    inside, count = int((runs["place"] == "inside").sum()), len(runs)
    coverage = {"inside": inside, "runs": count, "nominal": NOMINAL, "probability": coverage_probability(inside, count)}
    model_name = fitted.first.model
    return Verification(model_name, quantity, unit, runs, raised, changes, tuple(not_compared), coverage, taken)


def _opened(model: Model | Table | str | Path | pd.DataFrame) -> Model | Table:
    """Return a model, or the table of earlier runs, in which a column that names sessions is no factor.

    Of several, a date and a commit, the one with most names counts of which one has several runs.
    """
    if isinstance(model, Model | Table) or (isinstance(model, str | Path) and is_model(model)):
        return model_or_table(model)
    # A column that has a role keeps the shape of a table, and nobody gave these one.
    cells = melted(open_source(model))
    names_in = {column: len({*map(str, cells.cells[column])}) for column in session_columns(cells.cells)}
    session = max(names_in, key=lambda name: (names_in[name] < len(cells), names_in[name]), default=None)
    cells = cells.without(names_in.keys() - {session})
    roles = {"repeat": session, "skip_bad_rows": True}
    table = attempted(lambda: recognised(cells, roles).table())
    if not (isinstance(table, Table) and table.numeric):
        # Benchmarks may have names alone, each compared with itself; else the first error tells what is wrong.
        named = attempted(lambda: recognised(cells, {**roles, "let": "workers=1"}).table())
        table = named if isinstance(named, Table) else table
    if isinstance(table, GenperfError):
        raise table
    return table


def _new_runs(sources: Sequence[str | Path | pd.DataFrame], schema: Schema) -> Table:
    """Return new runs as a table of the model's columns."""
    if not sources:
        raise GenperfError("no new runs are named", hint="genperf verify MODEL new.csv")
    paths = [source for source in sources if isinstance(source, str | Path)]
    if len(sources) > max(len(paths), 1):
        raise TableError("several DataFrames are new runs", hint="verify(model, pandas.concat(frames))")
    source = open_files(paths) if paths else open_source(sources[0])
    try:
        return read_as(source, schema, **ending_column(source.cells))
    except TableError as error:
        if not isinstance(error, OnlyFailuresError):
            error.hint = _hint_of_sessions(schema) or error.hint
            raise
        what = f"{error.message.partition(':')[0]}: none can be compared with its prediction"
        raise TableError(what, hint="see why they failed, then verify runs that succeeded", where=error.where) from None


def _hint_of_sessions(schema: Schema) -> str:
    """Return what to do where sessions, which are repeats of one series, became the groups of a model."""
    sessions = session_columns(schema.group)
    names = ", ".join(sessions) if len(sessions) == len(schema.group) else ""
    return names and f"each {names} is a series of this model: fit with --repeat {names}, or verify a table"


def session_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns that name what runs of one occasion have in common."""
    return [name for name in columns if re.fullmatch(any_of("columns.session"), plain_name(name))]


def _history(earlier: Table | None, schema: Schema, new: pd.DataFrame) -> tuple[History, Index]:
    """Return the earlier runs, and the configuration of each new run among theirs; −1 where it was never measured."""
    if earlier is None:
        medians = () if schema.group else schema.medians
        before = pd.DataFrame([median.values for median in medians], columns=[f.name for f in schema.factors])
        means, runs = np.log([m.value for m in medians]), np.array([float(m.repeats) for m in medians])
        history = History(means, runs, schema.noise or 0.0)
    else:
        before, place, runs = earlier.frame, earlier.configuration, earlier.repeats.astype(float)
        means = np.bincount(place, weights=np.log(earlier.measured)) / runs
        residuals, sessions = np.log(earlier.measured) - means[place], session_columns(map(str, before.columns))
        sd = float(np.sqrt(np.sum(residuals**2) / max(len(place) - len(runs), 1)))
        # A configuration of one run shows nothing of how runs vary, and without a column all are of one session.
        names = before[sessions[0]].astype(str).to_numpy() if sessions else np.full(len(place), "")
        repeated = np.argsort(before.index)
        repeated = repeated[runs[place[repeated]] > 1.0]
        repeated = repeated[:: -1 if _is_newest_first(pd.unique(names[repeated])) else 1]
        history = History(means, runs, sd, residuals[repeated], pd.factorize(names[repeated])[0])
    if not history.runs.size or history.freedom < FEWEST_FREEDOM:
        return History(), np.full(len(new), -1)
    number = number_rows(pd.concat([before[new.columns], new]), [*new.columns])[len(before) :]
    return history, np.where(number < len(history.runs), number, -1)


def _is_newest_first(names: Iterable[str]) -> bool:
    """Return whether sessions follow each other backwards, by the dates or the numbers that are their names."""
    numbers = [[*map(int, re.findall(r"\d+", name))] for name in names]
    are_dates = all(re.fullmatch(r"[^\W\d]*\W?\d[\d\WTZ]*", name) for name in names)
    # `20/11/2026` and `11/20/2026`.
    falls = [sorted(of, reverse=True) == of for of in (numbers, [number[::-1] for number in numbers])]
    return len(numbers) > 1 and are_dates and any(falls)


def _fitted_again(fitted: Model, earlier: Table | None, new: Table, seed: int) -> Model:
    """Return a model of the same kind and quantities that is fitted to earlier runs and new ones."""
    first_result, schema = fitted.first, fitted.first.schema
    table = earlier if earlier is not None else attempted(lambda: read_as(open_files([schema.source]), schema))
    # Of groups a model has no hash of all rows.
    if not isinstance(table, Table) or (earlier is None and not new.group and schema.sha256 not in ("", table.sha256)):
        what = f"the table of the model ({schema.source}) is not there as it was fitted"
        raise GenperfError(what, hint="verify TABLE new.csv --update, or fit the table of all runs")
    options = {name: option for name, option in first_result.options.items() if name in ("loss", "penalty", "solver")}
    also = {name: result.model for name, result in first_result.further.items()}
    return fit(_with_runs(table, new), first_result.model, seed=seed, also_models=also, **options)


def _with_runs(table: Table, new: Table) -> Table:
    """Return a table with further runs, and with those of its further quantities."""
    frame = pd.concat([table.frame, new.frame[new.frame.columns.intersection(table.frame.columns)]], ignore_index=True)
    if table.weight is not None:
        # A run without a weight counts as earlier ones do in the mean.
        frame[table.weight] = frame[table.weight].fillna(table.frame[table.weight].mean())
    further = {n: _with_runs(t, new.further[n]) if n in new.further else t for n, t in table.further.items()}
    return replace(table._with(frame).in_order(), further=further)
